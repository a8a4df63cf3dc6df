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
	open := a.Flags & kernel.FlagOpen
	part.Flags = kernel.FlagFirst | open
	if a.ADBytes > PartBytes {
		chaChaAD(level, &part)
		part.Flags = open
	}
	part.Bytes = PartBytes
	left := a.Total
	for ; left > PartBytes; left -= PartBytes {
		kernel.ChaCha20Poly1305(level, &part)
		part.Out, part.In = unsafe.Add(part.Out, PartBytes), unsafe.Add(part.In, PartBytes)
		part.Flags = open
	}
	part.Bytes = left
	part.Flags |= kernel.FlagLast
	kernel.ChaCha20Poly1305(level, &part)
}

// chaChaAD absorbs the associated data of a packet into its state. The first PartBytes go the usual way; the rest is opened
// like ciphertext, which is how a kernel authenticates what it is given, and the outcome thrown away: it tells keystream.
func chaChaAD(level kernel.Level, packet *kernel.PacketArgs) {
	var opened [absorbBytes]byte
	defer func() { clear(opened[:]) }()
	part, state := *packet, packet.State
	part.Flags, part.Bytes, part.ADBytes = kernel.FlagFirst, 0, PartBytes
	kernel.ChaCha20Poly1305(level, &part)
	counter := state.Counter
	ad, left := unsafe.Add(packet.AD, PartBytes), packet.ADBytes-PartBytes
	part.Out, part.Flags = unsafe.Pointer(&opened), kernel.FlagOpen
	for left >= 64 {
		part.In, part.Bytes = ad, min(left, absorbBytes)&^63
		kernel.ChaCha20Poly1305(level, &part)
		state.Counter = counter
		left -= part.Bytes
		if left > 0 {
			ad = unsafe.Add(ad, part.Bytes)
		}
	}
	if left > 0 {
		state.Absorb(unsafe.Slice((*byte)(ad), left))
	}
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
	later := part.Flags &^ kernel.FlagFirst
	if a.ADBytes > PartBytes {
		gcmAD(level, &part, &state)
		part.Flags = later
	}
	size := GCMPart(level)
	part.Bytes = size
	left := a.Total
	for ; left > size; left -= size {
		kernel.AESGCM(level, &part)
		part.Out, part.In = unsafe.Add(part.Out, size), unsafe.Add(part.In, size)
		part.Flags = later
	}
	part.Bytes = left
	part.Flags |= kernel.FlagLast
	kernel.AESGCM(level, &part)
}

// gcmAD is chaChaAD for AES-GCM.
func gcmAD(level kernel.Level, packet *kernel.PacketArgs, state *kernel.GCMState) {
	var opened [absorbBytes]byte
	var hash kernel.GCMState
	defer func() { opened, hash = [absorbBytes]byte{}, kernel.GCMState{} }()
	part := *packet
	part.Flags, part.Bytes, part.ADBytes = packet.Flags&^kernel.FlagOpen, 0, PartBytes
	kernel.AESGCM(level, &part)
	counter := state.Counter
	ad, left := unsafe.Add(packet.AD, PartBytes), packet.ADBytes-PartBytes
	part.Out, part.Flags = unsafe.Pointer(&opened), packet.Flags&kernel.FlagNonce|kernel.FlagOpen
	for left >= 64 {
		part.In, part.Bytes = ad, min(left, absorbBytes)&^63
		kernel.AESGCM(level, &part)
		state.Counter = counter
		left -= part.Bytes
		if left > 0 {
			ad = unsafe.Add(ad, part.Bytes)
		}
	}
	if left == 0 {
		return
	}
	// The hash key is the encrypted block of zeroes: the mask for a J0 of zeroes.
	var zero [16]byte
	key := kernel.PacketArgs{Key: packet.Key, Nonce: unsafe.Pointer(&zero), State: hash.State(), Flags: kernel.FlagFirst}
	kernel.AESGCM(level, &key)
	state.Absorb(&hash.Mask, unsafe.Slice((*byte)(ad), left))
}
