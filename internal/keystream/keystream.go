// Package keystream adds the key stream of ChaCha20 (RFC 8439, section 2.4) to whole blocks, for programs that use the cipher
// without ChaCha20-Poly1305 around it, as SSH does. sealane build has x/crypto/chacha20 call it.
package keystream

import (
	"unsafe"

	"github.com/sealane/sealane/internal/kernel"
)

const (
	blockBytes = 64

	// leastBytes is what a kernel is called for: of less, x/crypto's portable code is as fast.
	leastBytes = 2 * blockBytes

	// partBytes is the most that is done in one call of a kernel, so that the scheduler need not wait for long.
	partBytes = 64 << 10
)

// XOR adds the key stream that begins with the block of that counter to src, writes the sum to dst, and returns true. Or it
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
	xor(kernel.Level(level), key, nonce, counter, dst, src)
	return true
}

// xor gives the text to a level's kernel for ChaCha20-Poly1305 as a middle part of a packet, whose authentication has the
// key zero: it comes to nothing, and its sum is zero. The CPUs that have kernels are little-endian.
func xor(level kernel.Level, key *[8]uint32, nonce *[3]uint32, counter uint32, dst, src []byte) {
	var state kernel.State
	var args kernel.PacketArgs
	args.Key, args.Nonce, args.State = unsafe.Pointer(key), unsafe.Pointer(nonce), &state
	for {
		n := min(len(src), partBytes)
		args.Out, args.In, args.Bytes = unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src)), uint64(n)
		state.Counter = uint64(counter)
		kernel.ChaCha20Poly1305(level, &args)
		if src, dst = src[n:], dst[n:]; len(src) == 0 {
			return
		}
		counter += uint32(n / blockBytes)
	}
}
