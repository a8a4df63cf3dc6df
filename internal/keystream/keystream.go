// Package keystream has the two halves of ChaCha20-Poly1305 (RFC 8439), for ciphers that combine them in another way, as SSH
// does. sealane build has x/crypto's packages chacha20 and ssh call it.
package keystream

import (
	"unsafe"

	"github.com/sealane/sealane/internal/kernel"
)

const (
	blockBytes = 64
	tagBytes   = 16

	// leastBytes is what a kernel is called for: of less, x/crypto's portable code is as fast.
	leastBytes = 2 * blockBytes

	// partBytes is the most that is done in one call of a kernel, so that the scheduler need not wait for long.
	partBytes = 64 << 10
)

// XOR adds the keystream that begins with the block of that counter to src, writes the sum to dst, and returns true. Or it
// does nothing and returns false: if src is short, or if this process has no kernel for the CPU. src is whole blocks, no more
// than there are counters for; dst is as long, and src's memory or disjoint from it. Key and nonce are words as ChaCha20's
// state has them.
func XOR(key *[8]uint32, nonce *[3]uint32, counter uint32, dst, src []byte) bool {
	if len(src) < leastBytes {
		return false
	}
	level, ok := kernel.ChaCha20Poly1305Levels.Choose()
	if !ok || kernel.Level(level) == kernel.Portable {
		return false
	}
	// The CPUs that have kernels and x/crypto's portable code for whole blocks are little-endian.
	Crypt(kernel.Level(level), (*[32]byte)(unsafe.Pointer(key)), (*[12]byte)(unsafe.Pointer(nonce)), counter, dst, src)
	return true
}

// Crypt adds the keystream that begins with the block of that counter to in. out is as long, and in's memory or disjoint
// from it. A level's kernel for ChaCha20-Poly1305 takes the text for a later part of a packet, whose authentication has the
// key zero and comes to nothing.
func Crypt(level kernel.Level, key *[32]byte, nonce *[12]byte, counter uint32, out, in []byte) {
	var nothing [tagBytes]byte
	var state kernel.State
	var a kernel.PacketArgs
	state.Counter = uint64(counter)
	a.Key, a.Nonce, a.State, a.Tag = unsafe.Pointer(key), unsafe.Pointer(nonce), &state, unsafe.Pointer(&nothing)
	for len(in) > 0 {
		n := min(len(in), partBytes)
		if n == len(in) {
			a.Flags = kernel.FlagLast
		}
		a.Out, a.In, a.Bytes = unsafe.Pointer(unsafe.SliceData(out)), unsafe.Pointer(unsafe.SliceData(in)), uint64(n)
		kernel.ChaCha20Poly1305(level, &a)
		out, in = out[n:], in[n:]
	}
}

// Authenticate writes Poly1305 of in, with the first half of block 0 as its one-time key. A kernel takes in for associated data.
func Authenticate(level kernel.Level, key *[32]byte, nonce *[12]byte, tag *[tagBytes]byte, in []byte) {
	var state kernel.State
	var a kernel.PacketArgs
	first := min(len(in), partBytes) &^ 15
	a.AD, a.ADBytes = unsafe.Pointer(unsafe.SliceData(in)), uint64(first)
	a.Key, a.Nonce, a.State, a.Flags = unsafe.Pointer(key), unsafe.Pointer(nonce), &state, kernel.FlagFirst
	kernel.ChaCha20Poly1305(level, &a)
	rest := in[first:]
	whole := len(rest) &^ 15
	if whole > 0 {
		state.Absorb(rest[:whole])
	}
	state.Finish(rest[whole:], tag)
	state = kernel.State{}
}
