// Package packet does packets of any length with the kernels: what is long is fed in parts, between which the scheduler can
// stop a goroutine and the collector need not wait. Like package kernel it belongs to the core.
package packet

import (
	"unsafe"

	"github.com/sealane/sealane/internal/kernel"
)

// PartBytes is what a kernel is given at most in one call. A packet that has no more, of text and of associated data, needs
// nothing of this package.
const PartBytes = 64 << 10

// SlowPartBytes is the same of text for AES-GCM at levels whose AES is slow.
const SlowPartBytes = 4 << 10

// GCMPart is how much text AES-GCM is given at most in one call.
func GCMPart(level kernel.Level) uint64 {
	if level.SlowAES() {
		return SlowPartBytes
	}
	return PartBytes
}

// absorbBytes is how much associated data a call takes behind the first PartBytes.
const absorbBytes = 4096

// ChaCha20Poly1305 does a packet: a has FlagFirst and FlagLast, and maybe FlagOpen.
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

// AESGCM does a packet: a has FlagFirst and FlagLast, and maybe FlagOpen. Its nonce has nonceBytes, which is not 0.
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

// run does a packet of either cipher in parts of some size. part has the flags of the first one.
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

// absorb takes a packet's associated data into its state. The first PartBytes go the usual way; the rest is opened like
// ciphertext, which is how a kernel authenticates what it is given, and the outcome thrown away: it tells keystream.
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
		// The hash key is the encrypted block of zeroes: the mask for a J0 of zeroes.
		var zero [16]byte
		key := kernel.PacketArgs{Key: part.Key, Nonce: unsafe.Pointer(&zero), State: hash.State(), Flags: kernel.FlagFirst}
		kernel.AESGCM(level, &key)
		gcmState.Absorb(&hash.Mask, rest)
	default:
		state.Absorb(rest)
	}
}
