package kernel

import (
	"unsafe"

	"github.com/sealane/sealane/internal/dispatch"
)

// A BatchPlan says when a batch kernel pays: for packets of each number of whole blocks from how many on, up to
// BatchFromMax, they are faster side by side; 0 says never. Unlike packets pay if the sum of 1/from is 1 or more. The plans of levels are in asm/levels.json.
type BatchPlan struct {
	From  [BatchClasses]uint8
	Few   int     // fewer packets never pay
	Below uintptr // nor do packets of this many bytes
}

// newBatchPlan has pairs: a number of packets, and for how many classes, one after the other.
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

// The plans of a primitive's levels.
type batchPlans [dispatch.LevelEnd]*BatchPlan

// BatchFromMax is the largest number in a BatchPlan.
const BatchFromMax = 16

// BatchClasses is the number of classes of packets with the same number of whole blocks.
const BatchClasses = 32

var portableBatchPlan = newBatchPlan([][2]int{{2, 16}})

// ChaCha20Poly1305BatchPlan returns the plan of a level, nil if it has no batch kernel that works.
func ChaCha20Poly1305BatchPlan(level Level) *BatchPlan {
	plan := chaCha20Poly1305BatchPlans[level]
	if plan == nil || !ChaCha20Poly1305BatchLevels.Works(uint8(level)) {
		return nil
	}
	return plan
}

// AESGCMBatchPlan is the same for AES-GCM.
func AESGCMBatchPlan(level Level) *BatchPlan {
	plan := aesGCMBatchPlans[level]
	if plan == nil || !AESGCMBatchLevels.Works(uint8(level)) {
		return nil
	}
	return plan
}

// ChaCha20Poly1305BatchPortable is the batch kernel of the portable level.
func ChaCha20Poly1305BatchPortable(a *BatchArgs) {
	for i := range a.lanes() {
		packet := a.packet(i)
		ChaCha20Poly1305Portable(&packet)
	}
}

// AESGCMBatchPortable is the batch kernel of the portable level. Nonces have 12 bytes.
func AESGCMBatchPortable(a *BatchArgs) {
	for i := range a.lanes() {
		packet := a.packet(i)
		packet.Flags |= FlagNonce
		AESGCMPortable(&packet)
	}
}

// packet returns the arguments of a batch's packet by itself.
func (a *BatchArgs) packet(i int) PacketArgs {
	l := &a.lanes()[i]
	return PacketArgs{
		Out: l.Out, In: l.In, Bytes: l.Bytes, AD: l.AD, ADBytes: l.ADBytes, Key: l.Key, Nonce: l.Nonce, Tag: l.Tag[0],
		Total: l.Bytes, Flags: a.Flags | FlagFirst | FlagLast,
	}
}

// The tags of all tags; TestBatchAnswer computes them with other implementations.
var (
	chaCha20Poly1305BatchAnswer = [16]byte{0x9f, 0x17, 0xba, 0xec, 0xc0, 0x3b, 0x80, 0xd2, 0x26, 0xe3, 0xa7, 0x8e, 0x01, 0x62, 0x47, 0x2d}
	aesGCMBatchAnswer           = [16]byte{0x13, 0xf0, 0x65, 0x2a, 0xdc, 0x12, 0x36, 0xf0, 0xdd, 0x44, 0xe9, 0x90, 0x93, 0xb0, 0xdd, 0xb6}
)

// BatchScratch is what a batch kernel works in, aligned to 64 bytes. It wipes what it wrote there.
type BatchScratch [asmBatchScratchBytes]byte

// BatchMemory has room for a BatchScratch.
type BatchMemory [asmBatchScratchBytes + 63]byte

// Scratch returns the one in m.
func (m *BatchMemory) Scratch() *BatchScratch {
	return (*BatchScratch)(unsafe.Add(unsafe.Pointer(m), -uintptr(unsafe.Pointer(m))&63))
}

const squares = 33

// chaCha20Poly1305BatchTest is the known-answer test of a level's batch kernel: packets of 0, 1, 4, 9, ... 1024 bytes,
// each with its own key, nonce and associated data, are sealed and opened together. The same test is in the C library.
func chaCha20Poly1305BatchTest(level Level, corrupt bool) bool {
	keys := squareKeys()
	tag, ok := sealSquares(func(a *BatchArgs) { ChaCha20Poly1305Batch(level, a, new(BatchMemory).Scratch()) },
		func(n int) unsafe.Pointer { return unsafe.Pointer(&keys[n]) }, corrupt)
	return ok && tag == chaCha20Poly1305BatchAnswer
}

// aesGCMBatchTest alternates keys of the three lengths, all prefixes of one key.
func aesGCMBatchTest(level Level, corrupt bool) bool {
	var keys [3]GCMKey
	for i := range keys {
		AESGCMSetup(level, &keys[i], squareKeys()[0][:16+8*i])
	}
	tag, ok := sealSquares(func(a *BatchArgs) { AESGCMBatch(level, a, new(BatchMemory).Scratch()) },
		func(n int) unsafe.Pointer { return unsafe.Pointer(&keys[n%3]) }, corrupt)
	return ok && tag == aesGCMBatchAnswer
}

func squareKeys() *[squares][32]byte {
	var keys [squares][32]byte
	for n := range keys {
		for j := range keys[n] {
			keys[n][j] = byte(0x80 + j + n)
		}
	}
	return &keys
}

// sealSquares returns the tag of all tags, and whether the packets were opened again.
func sealSquares(batch func(*BatchArgs), key func(n int) unsafe.Pointer, corrupt bool) (tag [16]byte, ok bool) {
	var (
		lanes  [squares]Lane
		keys   = squareKeys()
		nonces [squares][12]byte
		tags   [2][squares][16]byte
		text   [squares - 1][(squares - 1) * (squares - 1)]byte
	)
	direction := func(i int) {
		for n := range lanes {
			l := &lanes[n]
			l.Out = unsafe.Pointer(&text[max(n, 1)-1])
			l.In, l.Bytes = l.Out, uint64(n*n)
			l.AD, l.ADBytes = unsafe.Pointer(keys), uint64(n)
			l.Key, l.Nonce, l.Tag[0] = key(n), unsafe.Pointer(&nonces[n]), unsafe.Pointer(&tags[i][n])
		}
		a := Batch(lanes[:], uint64(i)*FlagOpen)
		batch(&a)
	}
	for n := range squares {
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
	for n := range squares {
		for j, b := range text[max(n, 1)-1][:n*n] {
			if b != byte(7*j+n) {
				return tag, false
			}
		}
	}
	ChaCha20Poly1305Portable(&PacketArgs{
		AD: unsafe.Pointer(&tags[0]), ADBytes: uint64(unsafe.Sizeof(tags[0])), Key: unsafe.Pointer(keys),
		Nonce: unsafe.Pointer(&nonces), Tag: unsafe.Pointer(&tag), Flags: FlagFirst | FlagLast,
	})
	return tag, tags[0] == tags[1]
}
