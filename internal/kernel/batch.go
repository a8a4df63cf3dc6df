package kernel

import (
	"unsafe"

	"github.com/sealane/sealane/internal/dispatch"
)

// A BatchPlan decides when to use a batch kernel. For each number of whole blocks, it has the number of packets from
// which on the kernel is faster. That number is at most BatchFromMax, or 0 for never. Packets of mixed lengths use
// it if the sum of 1/from is at least 1. The plans of the levels are in asm/levels.json.
type BatchPlan struct {
	From  [BatchClasses]uint8
	Few   int     // a smaller batch never uses the kernel
	Below uintptr // packets of this size in bytes or longer never use the kernel
}

// newBatchPlan makes a plan from runs: pairs of a number of packets, and the number of consecutive classes that it
// applies to.
func newBatchPlan(runs [][2]int) *BatchPlan {
	p := &BatchPlan{Few: BatchFromMax}
	class := 0
	for _, run := range runs {
		if run[0] != 0 {
			p.Few = min(p.Few, run[0])
		}
		for end := class + run[1]; class < end; class++ {
			p.From[class] = uint8(run[0])
		}
	}
	p.Below = uintptr(64 * class)
	return p
}

// batchPlans are the plans of a primitive's levels.
type batchPlans [dispatch.LevelEnd]*BatchPlan

// BatchFromMax is the largest value in a BatchPlan.
const BatchFromMax = 16

// BatchClasses is the number of classes; a class is a number of whole blocks.
const BatchClasses = 32

// ChaCha20Poly1305BatchPlan returns the plan of a level, or nil if it has no working batch kernel.
func ChaCha20Poly1305BatchPlan(level Level) *BatchPlan {
	plan := chaCha20Poly1305BatchPlans[level]
	if plan == nil || !ChaCha20Poly1305BatchLevels.Works(uint8(level)) {
		return nil
	}
	return plan
}

// chaCha20Poly1305BatchAnswer is the tag over all tags; TestBatchAnswer computes it with another implementation.
var chaCha20Poly1305BatchAnswer = [16]byte{0x9f, 0x17, 0xba, 0xec, 0xc0, 0x3b, 0x80, 0xd2, 0x26, 0xe3, 0xa7, 0x8e, 0x01, 0x62, 0x47, 0x2d}

// BatchScratch is the scratch memory of a batch kernel, aligned to 64 bytes. The kernel wipes what it writes there.
type BatchScratch [asmBatchScratchBytes]byte

// BatchMemory has room for a BatchScratch.
type BatchMemory [asmBatchScratchBytes + 63]byte

// Scratch returns the aligned BatchScratch in m.
func (m *BatchMemory) Scratch() *BatchScratch {
	return (*BatchScratch)(unsafe.Add(unsafe.Pointer(m), -uintptr(unsafe.Pointer(m))&63))
}

const squares = 33

// chaCha20Poly1305BatchTest is the known-answer test of a level's batch kernel. It seals and opens packets of 0, 1, 4,
// 9, ... 1024 bytes together, each with its own key, nonce and associated data. The C library has the same test.
func chaCha20Poly1305BatchTest(level Level, corrupt bool) bool {
	var (
		lanes  [squares]Lane
		keys   [squares][32]byte
		nonces [squares][12]byte
		tags   [2][squares][16]byte
		text   [squares - 1][(squares - 1) * (squares - 1)]byte
		tag    [16]byte
	)
	for n := range squares {
		for j := range keys[n] {
			keys[n][j] = byte(0x80 + j + n)
		}
		for j := range nonces[n] {
			nonces[n][j] = byte(n)
		}
		pattern(text[max(n, 1)-1][:n*n], n)
	}
	for i := range tags {
		for n := range lanes {
			l := &lanes[n]
			l.Out = unsafe.Pointer(&text[max(n, 1)-1])
			l.In, l.Bytes = l.Out, uint64(n*n)
			l.AD, l.ADBytes = unsafe.Pointer(&keys), uint64(n)
			l.Key, l.Nonce, l.Tag[0] = unsafe.Pointer(&keys[n]), unsafe.Pointer(&nonces[n]), unsafe.Pointer(&tags[i][n])
		}
		a := Batch(lanes[:], uint64(i)*FlagOpen)
		ChaCha20Poly1305Batch(level, &a, new(BatchMemory).Scratch())
	}
	for n := range squares {
		for j, b := range text[max(n, 1)-1][:n*n] {
			if b != byte(7*j+n) {
				return false
			}
		}
	}
	ChaCha20Poly1305Portable(&PacketArgs{
		AD: unsafe.Pointer(&tags[0]), ADBytes: uint64(unsafe.Sizeof(tags[0])), Key: unsafe.Pointer(&keys),
		Nonce: unsafe.Pointer(&nonces), Tag: unsafe.Pointer(&tag), Flags: FlagFirst | FlagLast,
	})
	if corrupt {
		tag[0] ^= 1
	}
	return tags[0] == tags[1] && tag == chaCha20Poly1305BatchAnswer
}
