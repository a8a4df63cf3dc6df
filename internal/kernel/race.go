//go:build race

package kernel

import (
	"runtime"
	"unsafe"
)

// The race detector does not see the memory accesses of assembly, so these wrappers report them.

func raceRead(p unsafe.Pointer, bytes uint64) {
	if bytes > 0 {
		runtime.RaceReadRange(p, int(bytes))
	}
}

func raceWrite(p unsafe.Pointer, bytes uint64) {
	if bytes > 0 {
		runtime.RaceWriteRange(p, int(bytes))
	}
}

func raceArgs(a *PacketArgs) {
	raceRead(a.In, a.Bytes)
	raceRead(a.Key, 32)
	raceRead(a.Nonce, 12)
	if a.Flags&FlagFirst != 0 {
		raceRead(a.AD, a.ADBytes)
	}
	raceWrite(a.Out, a.Bytes)
	if a.Flags&FlagLast != 0 {
		raceWrite(a.Tag, 16)
	}
}

func raceGCMArgs(a *PacketArgs) {
	if a.Flags&FlagSetup != 0 {
		raceWrite(a.Key, asmGcmKeyBytes)
		if a.Flags&FlagNonce != 0 {
			raceRead(a.Nonce, 16)
		}
		return
	}
	raceRead(a.In, a.Bytes)
	raceRead(a.Key, asmGcmKeyBytes)
	if a.Flags&FlagFirst != 0 {
		raceRead(a.AD, a.ADBytes)
	}
	if a.Flags&FlagLast != 0 {
		raceWrite(a.Tag, 16)
	}
	if a.Flags&FlagPolyval != 0 {
		return
	}
	if a.Flags&FlagFirst != 0 {
		raceRead(a.Nonce, 12)
	}
	raceWrite(a.Out, a.Bytes)
}

// aesKeyRead is the part of an AESKey that kernels read; the rest pads it to a multiple of 64 bytes.
const aesKeyRead = 2*asmAESKeyInverse - asmAESKeySchedule

func raceAESArgs(a *ModeArgs) {
	switch a.Operation {
	case AESSetup:
		raceWrite(a.Key, asmAESKeyBytes)
		return
	case AESCBCEncrypt, AESMasks:
		bytes := (*ModeLanesArgs)(unsafe.Pointer(a)).BytesEach
		if a.Operation == AESMasks {
			bytes = 16
		}
		for _, l := range a.lanes() {
			raceRead(l.In, bytes)
			raceRead(l.Key, aesKeyRead)
			raceWrite(l.Out, bytes)
			if a.Operation == AESCBCEncrypt {
				raceWrite(unsafe.Pointer(l.Chain), 16)
			}
		}
		return
	case AESECBEncrypt, AESECBDecrypt:
	default:
		raceWrite(unsafe.Pointer(a.State), 16)
	}
	raceRead(a.In, a.Bytes)
	raceRead(a.Key, aesKeyRead)
	raceWrite(a.Out, a.Bytes)
}

func raceMasks(a *ModeArgs) {
	for _, l := range a.lanes() {
		raceRead(l.In, 16)
		raceRead(l.Key, 32)
		raceWrite(l.Out, 8)
	}
}

func raceBatch(a *BatchArgs) {
	for _, l := range a.lanes() {
		raceRead(l.In, l.Bytes)
		raceRead(l.Key, 32)
		raceRead(l.Nonce, 12)
		raceRead(l.AD, l.ADBytes)
		raceWrite(l.Out, l.Bytes)
		raceWrite(l.Tag[0], 16)
	}
}

const raceEnabled = true
