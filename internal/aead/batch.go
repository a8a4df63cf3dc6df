package aead

import (
	"crypto/cipher"
	"sync"

	"github.com/sealane/sealane/internal/kernel"
)

// Op is batch.Op.
type Op struct {
	AEAD cipher.AEAD

	Dst, Nonce, Src, AD []byte

	Out []byte
	Err error
}

// SideBySide is an AEAD with its own batch implementation. All packets given to Batch have such an AEAD; it returns how
// many succeeded.
type SideBySide struct {
	cipher.AEAD
	Batch func(ops []Op, open bool) (good int)
}

func (op *Op) isSideBySide() bool {
	_, is := op.AEAD.(*SideBySide)
	return is
}

// copies are packets for Batch. With the caller's own packets, the compiler would move them from the stack to the heap,
// because it cannot analyze the indirect call.
var copies = sync.Pool{New: func() any { return new([chunk]Op) }}

// sideBySide processes at most chunk packets that all have such an AEAD, and returns how many succeeded.
func sideBySide(ops []Op, direction uint64) int {
	c := copies.Get().(*[chunk]Op)
	defer func() {
		clear(c[:len(ops)])
		copies.Put(c)
	}()
	copy(c[:], ops)
	good := c[0].AEAD.(*SideBySide).Batch(c[:len(ops)], direction == kernel.FlagOpen)
	for i := range ops {
		ops[i].Out, ops[i].Err = c[i].Out, c[i].Err
	}
	return good
}

// chunk is the number of packets that are planned together. More packets fill the lanes better when lengths are
// mixed. Of 64 packets, an Internet mix has about 36 of 64 bytes, 20 of 576 and 5 of 1420.
const chunk = 64

// SealBatch implements batch.SealBatch.
func SealBatch(ops []Op) {
	if len(ops) == 1 {
		ops[0].seal()
		return
	}
	runBatch(ops, 0)
}

// OpenBatch implements batch.OpenBatch.
func OpenBatch(ops []Op) (opened int) {
	if len(ops) == 1 {
		return ops[0].open()
	}
	return runBatch(ops, kernel.FlagOpen)
}

// runBatch runs a batch, and returns how many packets succeeded.
func runBatch(ops []Op, direction uint64) (good int) {
	for len(ops) > 0 {
		n := 0
		for n < min(len(ops), chunk) && ops[n].isSideBySide() {
			n++
		}
		if n > 0 {
			good += sideBySide(ops[:n], direction)
		} else {
			n = min(len(ops), chunk)
			good += runChunk(ops[:n], direction)
		}
		ops = ops[n:]
	}
	return good
}

// alone processes a packet individually, and returns 1 if it succeeded.
func (op *Op) alone(direction uint64) int {
	if direction == kernel.FlagOpen {
		return op.open()
	}
	op.seal()
	return 1
}

func (op *Op) seal() {
	op.Out, op.Err = op.AEAD.Seal(op.Dst, op.Nonce, op.Src, op.AD), nil
}

func (op *Op) open() int {
	op.Out, op.Err = op.AEAD.Open(op.Dst, op.Nonce, op.Src, op.AD)
	if op.Err != nil {
		return 0
	}
	return 1
}

// runChunk processes packets of one level side by side where that is faster, and the others individually.
func runChunk(ops []Op, direction uint64) (good int) {
	var p planner
	if !p.find(ops, direction) || len(ops) < p.plan.Few || !p.anyLane(ops) {
		for i := range ops {
			good += ops[i].alone(direction)
		}
		return good
	}
	w := workspaces.Get().(*workspace)
	defer w.done()
	w.count, w.derived = 0, 0
	for i := w.fill(ops, 0, &p); i < len(ops); i = w.fill(ops, i, &p) {
		if p.hasLane(&ops[i]) {
			good += w.addSpecial(ops, i, &p)
			i++
		}
		for ; i < len(ops) && !p.hasLane(&ops[i]); i++ {
			good += ops[i].alone(direction)
		}
	}
	return good + w.carryOut(ops, &p)
}
