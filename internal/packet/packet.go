// Package packet processes packets of any length with the kernels. It splits long packets into parts, between which the
// scheduler and the garbage collector can run. Like package kernel it belongs to the core.
package packet

import (
	"unsafe"

	"github.com/sealane/sealane/internal/kernel"
)

// PartBytes is the most that one kernel call gets. A packet with no more text and associated data does not need this
// package.
const PartBytes = 64 << 10

// SlowPartBytes is the most text per call for AES-GCM at levels with slow AES.
const SlowPartBytes = 4 << 10

// GCMPart returns the most text that one AES-GCM call gets.
func GCMPart(level kernel.Level) uint64 {
	if level.SlowAES() {
		return SlowPartBytes
	}
	return PartBytes
}

// absorbBytes is the most associated data that a call takes after the first PartBytes.
const absorbBytes = 4096

// ChaCha20Poly1305 processes a packet. a has FlagFirst and FlagLast, and optionally FlagOpen.
func ChaCha20Poly1305(level kernel.Level, a *kernel.PacketArgs) {
	var state kernel.State
	defer func() { state = kernel.State{} }()
	// The first parts may overwrite a nonce that lies in the output.
	nonce := *(*[12]byte)(a.Nonce)
	part := *a
	part.Nonce, part.State = unsafe.Pointer(&nonce), &state
	part.Flags &^= kernel.FlagLast
	run(level, part, PartBytes, false)
}

// AESGCM processes a packet. a has FlagFirst and FlagLast, and optionally FlagOpen. Its nonce has nonceBytes, which is
// not 0.
func AESGCM(level kernel.Level, a *kernel.PacketArgs, nonceBytes int) {
	var state kernel.GCMState
	var j0 [16]byte
	defer func() { state, j0 = kernel.GCMState{}, [16]byte{} }()
	part := *a
	part.Flags = kernel.FlagFirst | a.Flags&kernel.FlagOpen
	if nonceBytes == 12 {
		// The first parts may overwrite a nonce that lies in the output.
		copy(j0[:], (*[12]byte)(a.Nonce)[:])
		part.Flags |= kernel.FlagNonce
	} else {
		kernel.AESGCMNonce(level, (*kernel.GCMKey)(a.Key), &j0, unsafe.Slice((*byte)(a.Nonce), nonceBytes))
	}
	part.Nonce, part.State = unsafe.Pointer(&j0), state.State()
	run(level, part, GCMPart(level), true)
}

func call(level kernel.Level, part *kernel.PacketArgs, gcm bool) {
	if gcm {
		kernel.AESGCM(level, part)
	} else {
		kernel.ChaCha20Poly1305(level, part)
	}
}

// run processes a packet of either cipher in parts of size bytes. part has the flags of the first one.
func run(level kernel.Level, part kernel.PacketArgs, size uint64, gcm bool) {
	later := part.Flags &^ kernel.FlagFirst
	if part.ADBytes > PartBytes {
		absorb(level, part, gcm)
		part.Flags = later
	}
	part.Bytes = size
	left := part.Total
	for ; left > size; left -= size {
		call(level, &part, gcm)
		part.Out, part.In = unsafe.Add(part.Out, size), unsafe.Add(part.In, size)
		part.Flags = later
	}
	part.Bytes = left
	part.Flags |= kernel.FlagLast
	call(level, &part, gcm)
}

// absorb absorbs a packet's associated data into its state. The first PartBytes are passed as usual. The rest is opened
// as if it were ciphertext, because kernels authenticate that. The output is discarded; it would reveal keystream.
func absorb(level kernel.Level, part kernel.PacketArgs, gcm bool) {
	var opened [absorbBytes]byte
	var hash kernel.GCMState
	defer func() { opened, hash = [absorbBytes]byte{}, kernel.GCMState{} }()
	state := part.State
	gcmState := (*kernel.GCMState)(unsafe.Pointer(state))
	ad, left := unsafe.Add(part.AD, PartBytes), part.ADBytes-PartBytes
	part.Flags &^= kernel.FlagOpen
	part.Bytes, part.ADBytes = 0, PartBytes
	call(level, &part, gcm)
	counter, gcmCounter := state.Counter, gcmState.Counter
	part.Out, part.Flags = unsafe.Pointer(&opened), part.Flags&kernel.FlagNonce|kernel.FlagOpen
	for left >= 64 {
		part.In, part.Bytes = ad, min(left, absorbBytes)&^63
		call(level, &part, gcm)
		if gcm {
			gcmState.Counter = gcmCounter
		} else {
			state.Counter = counter
		}
		if left -= part.Bytes; left > 0 {
			ad = unsafe.Add(ad, part.Bytes)
		}
	}
	rest := unsafe.Slice((*byte)(ad), left)
	switch {
	case left == 0:
	case gcm:
		// The hash key is the encrypted zero block: the mask for a zero J0.
		var zero [16]byte
		key := kernel.PacketArgs{Key: part.Key, Nonce: unsafe.Pointer(&zero), State: hash.State(), Flags: kernel.FlagFirst}
		kernel.AESGCM(level, &key)
		gcmState.Absorb(&hash.Mask, rest)
	default:
		state.Absorb(rest)
	}
}
