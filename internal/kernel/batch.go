package kernel

import (
	"unsafe"

	"github.com/sealane/sealane/internal/dispatch"
)

// ChaCha20Poly1305BatchLevels lists the levels that do many packets in one call. A level that is not here, or fails its
// known-answer test, does them one by one.
var ChaCha20Poly1305BatchLevels = dispatch.Table{
	Primitive: "chacha20poly1305 batch",
	Rows: append(chaCha20Poly1305BatchRows(), dispatch.Row{
		Level:   uint8(Portable),
		Name:    "portable",
		Summary: "one packet after the other",
		Test:    chaCha20Poly1305BatchTestOf(Portable),
	}),
}

// A BatchPlan says when a batch kernel pays: for packets of each number of whole blocks from how many on, up to
// BatchFromMax, they are faster side by side; 0 says never, which holds for packets longer than any class, too. Unlike
// packets pay if the sum of 1/from is 1 or more. src/level.c tells how to measure one.
type BatchPlan [BatchClasses]uint8

// BatchFromMax is the largest number in a BatchPlan.
const BatchFromMax = 16

// BatchClasses is the number of classes of packets with the same number of whole blocks.
const BatchClasses = 32

var portableBatchPlan = BatchPlan{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}

// ChaCha20Poly1305BatchPlan returns the plan of a level, nil if it has no batch kernel that works.
func ChaCha20Poly1305BatchPlan(level Level) *BatchPlan {
	if !ChaCha20Poly1305BatchLevels.Works(uint8(level)) {
		return nil
	}
	if level == Portable {
		return &portableBatchPlan
	}
	return chaCha20Poly1305BatchPlan(level)
}

// ChaCha20Poly1305BatchPortable is the batch kernel of the portable level.
func ChaCha20Poly1305BatchPortable(a *Args) {
	for _, l := range a.lanes() {
		ChaCha20Poly1305Portable(&Args{
			Out: l.Out, In: l.In, Bytes: l.Bytes, AD: l.AD, ADBytes: l.ADBytes, Key: l.Key, Nonce: l.Nonce, Tag: l.Tag[0],
			Total: l.Bytes, Flags: a.Flags | FlagFirst | FlagLast,
		})
	}
}

// chaCha20Poly1305BatchAnswer is the tag of all tags; TestBatchAnswer computes it with another implementation.
var chaCha20Poly1305BatchAnswer = [16]byte{0x9f, 0x17, 0xba, 0xec, 0xc0, 0x3b, 0x80, 0xd2, 0x26, 0xe3, 0xa7, 0x8e, 0x01, 0x62, 0x47, 0x2d}

func chaCha20Poly1305BatchTestOf(level Level) func(bool) bool {
	return func(corrupt bool) bool { return chaCha20Poly1305BatchTest(level, corrupt) }
}

// chaCha20Poly1305BatchTest is the known-answer test of a level's batch kernel: packets of 0, 1, 4, 9, ... 1024 bytes,
// each with its own key, nonce and associated data, are sealed and opened together. The same test is in the C library.
func chaCha20Poly1305BatchTest(level Level, corrupt bool) bool {
	const packets = 33
	var (
		lanes  [packets]Lane
		keys   [packets][32]byte
		nonces [packets][12]byte
		tags   [2][packets][16]byte
		text   [packets - 1][(packets - 1) * (packets - 1)]byte
	)
	direction := func(i int) {
		for n := range lanes {
			l := &lanes[n]
			l.Out = unsafe.Pointer(&text[max(n, 1)-1])
			l.In, l.Bytes = l.Out, uint64(n*n)
			l.AD, l.ADBytes = unsafe.Pointer(&keys), uint64(n)
			l.Key, l.Nonce, l.Tag[0] = unsafe.Pointer(&keys[n]), unsafe.Pointer(&nonces[n]), unsafe.Pointer(&tags[i][n])
		}
		a := Batch(lanes[:], uint64(i)*FlagOpen)
		ChaCha20Poly1305Batch(level, &a)
	}
	for n := range packets {
		for j := range keys[n] {
			keys[n][j] = byte(0x80 + j + n)
		}
		for j := range nonces[n] {
			nonces[n][j] = byte(n)
		}
		pattern(text[max(n, 1)-1][:n*n], n)
	}
	direction(0)
	if corrupt {
		tags[0][0][0] ^= 1
	}
	direction(1)
	for n := range packets {
		for j, b := range text[max(n, 1)-1][:n*n] {
			if b != byte(7*j+n) {
				return false
			}
		}
	}
	var tag [16]byte
	ChaCha20Poly1305Portable(&Args{
		AD: unsafe.Pointer(&tags[0]), ADBytes: uint64(unsafe.Sizeof(tags[0])), Key: unsafe.Pointer(&keys),
		Nonce: unsafe.Pointer(&nonces), Tag: unsafe.Pointer(&tag), Flags: FlagFirst | FlagLast,
	})
	return tags[0] == tags[1] && tag == chaCha20Poly1305BatchAnswer
}
