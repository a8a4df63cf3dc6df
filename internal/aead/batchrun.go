package aead

import (
	"encoding/binary"
	"runtime"
	"unsafe"

	"github.com/sealane/sealane/internal/kernel"
)

// longestFirst sorts the lanes by descending class (counting sort), unless they are in order already.
func (w *workspace) longestFirst() []kernel.Lane {
	lanes := w.lanes[:w.count]
	inOrder := true
	for i := 1; i < len(lanes); i++ {
		inOrder = inOrder && class(&lanes[i]) <= class(&lanes[i-1])
	}
	if inOrder {
		return lanes
	}
	var place [kernel.BatchClasses]uint8
	for i := range lanes {
		place[class(&lanes[i])]++
	}
	next := uint8(0)
	for class := len(place) - 1; class >= 0; class-- {
		size := place[class]
		place[class] = next
		next += size
	}
	for i := range lanes {
		at := &place[class(&lanes[i])]
		w.sorted[*at%chunk] = lanes[i]
		*at++
	}
	return w.sorted[:len(lanes)]
}

// carryOut runs the planned calls, and returns how many packets succeeded.
func (w *workspace) carryOut(ops []Op, p *planner) (good int) {
	if !w.pay(p.plan) {
		for _, i := range w.packet[:w.count] {
			good += ops[i].alone(p.direction)
		}
		return good
	}
	w.running = true
	w.callKernel(p)
	if p.direction != kernel.FlagOpen {
		good += w.count
	} else {
		good += w.authenticate(ops, p)
	}
	w.running = false
	return good
}

func (w *workspace) callKernel(p *planner) {
	args := kernel.Batch(w.longestFirst(), p.direction)
	kernel.ChaCha20Poly1305Batch(p.level, &args, w.memory.Scratch())
}

// authenticate compares the tags of all packets, zeroes the output of forgeries, and returns the number of authentic
// packets.
func (w *workspace) authenticate(ops []Op, p *planner) int {
	// For 32-bit ARM, the compiler assumes that words can be loaded only from multiples of 4. CPUs with kernels have no
	// such limit.
	byWords := runtime.GOARCH == "arm" && p.level != kernel.Portable
	lanes := w.lanes[:w.count]
	tags := w.tags[:len(lanes)]
	forged := 0
	for i := range lanes {
		l := &lanes[i]
		came := (*tag)(unsafe.Add(l.In, uintptr(l.Bytes)))
		if byWords && tags[i].sameWords(came) || !byWords && tags[i].same(came) {
			continue
		}
		ops[w.packet[i%chunk]].reject()
		forged++
	}
	clear(tags)
	return len(lanes) - forged
}

// reject handles an op whose tag was wrong.
//
//go:noinline
func (op *Op) reject() {
	clear(op.Out[len(op.Dst):])
	op.Out, op.Err = nil, errOpen
}

func (t *tag) same(u *tag) bool {
	return (binary.NativeEndian.Uint64(t[:])^binary.NativeEndian.Uint64(u[:]))|
		(binary.NativeEndian.Uint64(t[8:])^binary.NativeEndian.Uint64(u[8:])) == 0
}

func (t *tag) sameWords(u *tag) bool {
	x, y := (*[4]uint32)(unsafe.Pointer(t)), (*[4]uint32)(unsafe.Pointer(u))
	return (x[0]^y[0])|(x[1]^y[1])|(x[2]^y[2])|(x[3]^y[3]) == 0
}
