// Package modes is AES-CTR and AES-CBC for the standard library: what sealane build --std has crypto/internal/fips140/aes call for
// texts of some length. That package has checked lengths and overlaps, expanded the key, and does what is short itself; this one
// imports nothing but the core, as what it is called from is below nearly everything else.
package modes

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/sealane/sealane/internal/dispatch"
	"github.com/sealane/sealane/internal/kernel"
)

const (
	blockBytes = 16

	// partBytes is the most that is done in one call of a kernel, some microseconds' worth, so that the scheduler and the
	// garbage collector need not wait for long. Encryption by CBC takes thirty times as long.
	partBytes       = 64 << 10
	serialPartBytes = 4 << 10

	never = int(^uint(0) >> 1)

	levels = dispatch.LevelEnd // none included
)

// least is from how many bytes on a level's kernel is called. Of less, the standard library's code is as fast: its calls have
// less to prepare.
type least struct{ ctr, decrypt, encrypt int }

// leasts is by level, measured on Zen 5; not measured on ARM, so that it leaves some room there. Kernels whose keys are not FIPS 197's round keys byte by byte are not called, as the standard
// library's key would have to be expanded a second time; nor is portable code, as the standard library's own is faster.
var leasts = [levels]least{
	kernel.AVX512: {ctr: 256, decrypt: 32, encrypt: 32},
	kernel.AVX2:   {ctr: 256, decrypt: 32, encrypt: 32},
	kernel.AESNI:  {ctr: 2048, decrypt: 32, encrypt: 32},
	kernel.CE:     {ctr: 1024, decrypt: 64, encrypt: 64},
}

func init() {
	first := never
	for level := range leasts {
		l := &leasts[level]
		if l.ctr == 0 {
			*l = least{never, never, never}
		}
		first = min(first, l.ctr)
	}
	ctrLeast.Store(uintptr(first))
}

// ctrLeast is from how many bytes on CTR is to be called: as no level would do it at first, and then as that does that was chosen.
var ctrLeast atomic.Uintptr

// CTRLeast returns it.
func CTRLeast() int { return int(ctrLeast.Load()) }

// chosen returns the level that this process has chosen; the first call finds out which passes its known-answer test.
func chosen() uint8 {
	level, ok := kernel.AESLevels.Choose()
	if !ok {
		return 0
	}
	return level % levels
}

// CTR adds keystream to the whole blocks that src begins with, writes the sum to dst, and returns how many bytes that were.
// The first counter block is hi and lo, big-endian, and wraps around. key points to 8 bytes with the number of rounds, 8 that are not
// looked at, and 240 each for the round keys of encryption and decryption, as aesenc and aesdec take them. dst is src, or disjoint from it, and
// not shorter. It returns 0, and has done nothing, where the caller's own code is to be used.
//
//go:noinline
func CTR(key unsafe.Pointer, dst, src []byte, lo, hi uint64) int {
	level := chosen()
	if len(src) < leasts[level].ctr {
		ctrLeast.Store(uintptr(leasts[level].ctr))
		return 0
	}
	// Kernels count with 32 bits, and this is seldom.
	n := len(src) &^ (blockBytes - 1)
	if n > partBytes || uint64(uint32(lo))+partBytes/blockBytes > 1<<32 {
		return ctrInParts(kernel.Level(level), key, dst, src, lo, hi)
	}
	state := [2]uint64{bits.ReverseBytes64(hi), bits.ReverseBytes64(lo)} // in two stores: CPUs that have kernels are little-endian
	var a kernel.ModeArgs
	a.Out, a.In, a.Bytes = unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src)), uint64(n)
	a.Key, a.State, a.Operation = key, (*[blockBytes]byte)(unsafe.Pointer(&state)), kernel.AESCTR
	kernel.AES(kernel.Level(level), &a)
	return n
}

//go:noinline
func ctrInParts(level kernel.Level, key unsafe.Pointer, dst, src []byte, lo, hi uint64) int {
	var state [2]uint64
	var a kernel.ModeArgs
	a.Key, a.State, a.Operation = key, (*[blockBytes]byte)(unsafe.Pointer(&state)), kernel.AESCTR
	a.Out, a.In = unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src))
	for left := uint64(len(src) &^ (blockBytes - 1)); ; {
		// A part ends where the 32 bits wrap around.
		n := min(left, partBytes, (1<<32-uint64(uint32(lo)))*blockBytes)
		state = [2]uint64{bits.ReverseBytes64(hi), bits.ReverseBytes64(lo)}
		a.Bytes = n
		kernel.AES(level, &a)
		if left -= n; left == 0 {
			return len(src) &^ (blockBytes - 1)
		}
		a.Out, a.In = unsafe.Add(a.Out, n), unsafe.Add(a.In, n)
		if lo += n / blockBytes; lo < n/blockBytes {
			hi++
		}
	}
}

// CBCDecrypt decrypts src, whole blocks, into dst, which is src or disjoint from it and not shorter, leaves the last block of src
// in iv, and returns true. Or it does nothing and returns false. key is as in CTR.
//
//go:noinline
func CBCDecrypt(key unsafe.Pointer, dst, src []byte, iv *[blockBytes]byte) bool {
	level := chosen()
	if len(src) < leasts[level].decrypt {
		return false
	}
	var a kernel.ModeArgs
	a.Key, a.State, a.Operation = key, iv, kernel.AESCBCDecrypt
	a.Out, a.In = unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src))
	for left := len(src); ; {
		n := min(left, partBytes)
		a.Bytes = uint64(n)
		kernel.AES(kernel.Level(level), &a)
		if left -= n; left == 0 {
			return true
		}
		a.Out, a.In = unsafe.Add(a.Out, n), unsafe.Add(a.In, n)
	}
}

// CBCEncrypt is its inverse, and leaves the last block of dst in iv.
//
//go:noinline
func CBCEncrypt(key unsafe.Pointer, dst, src []byte, iv *[blockBytes]byte) bool {
	level := chosen()
	if len(src) < leasts[level].encrypt {
		return false
	}
	var lane [1]kernel.ModeLane
	lane[0].Out, lane[0].In = unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src))
	lane[0].Key, lane[0].Chain = key, iv
	a := kernel.ModeLanes(lane[:], kernel.AESCBCEncrypt)
	for left := len(src); ; {
		n := min(left, serialPartBytes)
		a.BytesEach = uint64(n)
		kernel.AES(kernel.Level(level), a.Mode())
		if left -= n; left == 0 {
			return true
		}
		lane[0].Out, lane[0].In = unsafe.Add(lane[0].Out, n), unsafe.Add(lane[0].In, n)
	}
}
