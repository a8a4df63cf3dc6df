// Package keystream provides the two halves of ChaCha20-Poly1305 (RFC 8439) for ciphers that combine them differently,
// such as SSH's. sealane build makes x/crypto's packages chacha20 and ssh call it.
package keystream

import (
	"unsafe"

	"github.com/sealane/sealane/internal/kernel"
)

const (
	blockBytes = 64
	tagBytes   = 16

	// leastBytes is the smallest text for a kernel; for shorter texts, x/crypto's portable code is as fast.
	leastBytes = 2 * blockBytes

	// partBytes is the most that one kernel call processes, so that it does not delay the scheduler.
	partBytes = 64 << 10
)

// XOR XORs keystream into src, starting with the block at counter, writes the result to dst, and returns true. If src
// is short, or this process has no kernel for the CPU, it does nothing and returns false. src has whole blocks, at most
// as many as there are counter values. dst has the same length, and is equal to src or disjoint from it. Key and nonce
// are words of ChaCha20's state.
func XOR(key *[8]uint32, nonce *[3]uint32, counter uint32, dst, src []byte) bool {
	if len(src) < leastBytes {
		return false
	}
	level, ok := kernel.ChaCha20Poly1305Levels.Choose()
	if !ok || kernel.Level(level) == kernel.Portable {
		return false
	}
	// CPUs with kernels, on which x/crypto uses its portable code for whole blocks, are little-endian.
	Crypt(kernel.Level(level), (*[32]byte)(unsafe.Pointer(key)), (*[12]byte)(unsafe.Pointer(nonce)), counter, dst, src)
	return true
}

// Crypt XORs keystream into in, starting with the block at counter. out has the same length, and is equal to in or
// disjoint from it. A ChaCha20-Poly1305 kernel processes the text as a later part of a packet, whose authentication has
// a zero key and yields nothing.
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

// Authenticate writes the Poly1305 tag of in, whose one-time key is the first half of block 0. The kernel takes in as
// associated data.
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
