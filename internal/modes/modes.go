// Package modes is AES-CTR and AES-CBC for the standard library. sealane build --std makes crypto/internal/fips140/aes
// call it for texts of some length. That package checks lengths and overlaps, expands the key, and processes short
// texts itself. This package imports only the core, because nearly everything in the standard library depends on its
// caller.
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

	// partBytes is the most that one kernel call processes, in some microseconds, so that it does not delay the
	// scheduler and the garbage collector. CBC encryption takes thirty times as long.
	partBytes       = 64 << 10
	serialPartBytes = 4 << 10

	never = int(^uint(0) >> 1)

	levels = dispatch.LevelEnd // includes none
)

// least has the smallest texts in bytes for a level's kernel. For shorter texts, the standard library's code is as
// fast, because its calls need less preparation.
type least struct{ ctr, decrypt, encrypt int }

// leasts is indexed by level. Values were measured on Zen 5; those for ARM are estimates with some margin. Kernels
// whose keys are not the round keys of FIPS 197 byte by byte are not called. The standard library's key would have to
// be expanded again. Portable code is not called, because the standard library's own is faster.
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

// ctrLeast is the smallest text in bytes for CTR: at first the minimum of all levels, then the value of the chosen one.
var ctrLeast atomic.Uintptr

// CTRLeast returns ctrLeast.
func CTRLeast() int { return int(ctrLeast.Load()) }

// chosen returns the level of this process; the first call runs the known-answer tests.
func chosen() uint8 {
	level, ok := kernel.AESLevels.Choose()
	if !ok {
		return 0
	}
	return level % levels
}

// CTR XORs keystream into the whole blocks at the start of src, writes the result to dst, and returns their number of
// bytes. The first counter block is hi and lo, big-endian, and wraps around. key points to 8 bytes with the number of
// rounds, 8 unused bytes, and 240 bytes each of round keys for encryption and decryption. They have the form of
// aesenc and aesdec. dst is at least as long as src, and equal to it or disjoint from it. CTR returns 0 and does
// nothing if the caller should use its own code.
//
//go:noinline
func CTR(key unsafe.Pointer, dst, src []byte, lo, hi uint64) int {
	level := chosen()
	if len(src) < leasts[level].ctr {
		ctrLeast.Store(uintptr(leasts[level].ctr))
		return 0
	}
	// This is rare: kernels count with 32 bits.
	n := len(src) &^ (blockBytes - 1)
	if n > partBytes || uint64(uint32(lo))+partBytes/blockBytes > 1<<32 {
		return ctrInParts(kernel.Level(level), key, dst, src, lo, hi)
	}
	state := [2]uint64{bits.ReverseBytes64(hi), bits.ReverseBytes64(lo)} // two separate stores; CPUs with kernels are little-endian
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
		// A part ends where the 32-bit counter wraps around.
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

// CBCDecrypt decrypts the whole blocks of src to dst, leaves the last block of src in iv, and returns true. Otherwise
// it does nothing and returns false. dst is at least as long as src, and equal to it or disjoint from it. key is as
// in CTR.
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

// CBCEncrypt is the inverse. It leaves the last block of dst in iv.
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
