package aead

import (
	"sync"
	"unsafe"

	"github.com/sealane/sealane/internal/alias"
	"github.com/sealane/sealane/internal/kernel"
)

// A workspace holds the data of a call for one chunk. It is too large to be zeroed on the stack for each call. In the
// pool, it keeps the packets of its last call reachable until the garbage collector clears the pool.
type workspace struct {
	lanes, sorted [chunk]kernel.Lane
	tags          [chunk]tag   // when opening: the computed tags
	packet        [chunk]uint8 // index of a lane's packet, before sorting
	count         int          // number of lanes
	once          [chunk]oneTime
	derived       int
	memory        kernel.BatchMemory
	running       bool // a kernel is running, or has left tags

	// The padding makes the object start at a page, so each lane is one cache line. Smaller objects with pointers have
	// a header word.
	_ [12 << 10]byte
}

type tag [tagSize]byte

var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// done wipes secrets. It is deferred, because a caller's mistake makes a batch panic, and an unmapped page makes a
// kernel fault.
func (w *workspace) done() {
	clear(w.once[:w.derived])
	if w.running {
		w.running = false
		clear(w.tags[:])
		clear(w.memory[:])
	}
	workspaces.Put(w)
}

// fill gives lanes to plain packets from index i on, and returns the index of the first packet that needs more checks.
// Such a packet may be valid.
func (w *workspace) fill(ops []Op, i int, p *planner) int {
	n := 0
	switch {
	case i == len(ops):
	case p.direction == kernel.FlagOpen:
		n = fill[[tagSize]byte](w, ops[i:], p)
	default:
		n = fill[[0]byte](w, ops[i:], p)
	}
	copy(w.packet[w.count:], numbers[i:i+n])
	w.count += n
	return i + n
}

// numbers is 0, 1, 2, ...
var numbers = func() (n [chunk]uint8) {
	for i := range n {
		n[i] = uint8(i)
	}
	return n
}()

// fill gives lanes to the first packets, as long as they are plain and of a length with lanes, and returns their
// number. The compiler instantiates it twice, with and without tags at the end of Src.
func fill[srcTag [0]byte | [tagSize]byte](w *workspace, ops []Op, p *planner) int {
	var none srcTag
	tagIn := uint(unsafe.Sizeof(none))
	op, l := &ops[0], &w.lanes[w.count%chunk]
	left, tag := len(ops), unsafe.Pointer(&w.tags[w.count%chunk])
	level, plan := p.level, p.plan
	for {
		k, ok := op.AEAD.(*chaCha20Poly1305)
		if !ok || k.level != level {
			break
		}
		srcBytes := uint(len(op.Src))
		n := srcBytes - tagIn
		size := n + tagSize - tagIn // output size; not 0, since an empty output may have no address
		total := uint(len(op.Dst)) + size
		if len(op.Nonce) != nonceSize || n >= uint(plan.Below) || plan.From[n/64%kernel.BatchClasses] == 0 || total > uint(cap(op.Dst)) || tagIn != 0 && size == 0 {
			break
		}
		// All addresses come first, then all stores, so that the stores share one write barrier check.
		out, in := unsafe.Add(unsafe.Pointer(unsafe.SliceData(op.Dst)), len(op.Dst)), unsafe.Pointer(unsafe.SliceData(op.Src))
		ad, adBytes := unsafe.Pointer(unsafe.SliceData(op.AD)), uint(len(op.AD))
		// [x, x + n) and [out, out + size) overlap if x - out + n-1 < size + n-1, modulo 2^32 or 2^64. For n = 0 this
		// may also be true without an overlap.
		if in != out && uint(uintptr(in)-uintptr(out))+(srcBytes-1) < size+(srcBytes-1) ||
			adBytes != 0 && uint(uintptr(ad)-uintptr(out))+(adBytes-1) < size+(adBytes-1) {
			break
		}
		l.Bytes, l.ADBytes = uint64(n), uint64(adBytes)
		if tagIn == 0 {
			tag = unsafe.Add(out, n)
		}
		l.Out, l.In, l.AD, l.Key, l.Nonce, l.Tag[0] = out, in, ad, unsafe.Pointer(&k.key), unsafe.Pointer(unsafe.SliceData(op.Nonce)), tag
		op.Out, op.Err = op.Dst[:total], nil
		left--
		if left == 0 {
			break
		}
		op, l = (*Op)(unsafe.Add(unsafe.Pointer(op), unsafe.Sizeof(*op))), (*kernel.Lane)(unsafe.Add(unsafe.Pointer(l), unsafe.Sizeof(*l)))
		if tagIn != 0 {
			tag = unsafe.Add(tag, tagIn)
		}
	}
	return len(ops) - left
}

// addSpecial processes any other packet unless it gets a lane, and returns 1 if it succeeded.
//
//go:noinline
func (w *workspace) addSpecial(ops []Op, i int, p *planner) (good int) {
	op := &ops[i]
	key, level, nonceBytes := laneKey(op.AEAD)
	if key == nil || level != p.level || len(op.Nonce) != nonceBytes || !p.hasLane(op) {
		return op.alone(p.direction)
	}
	n := len(op.Src) - p.tagIn
	op.Out, op.Err = extend(op.Dst, n+p.tagOut), nil
	out, in := op.Out[len(op.Dst):], op.Src[:n] // the plaintext may overwrite the tag
	if alias.Inexact(out, in) || alias.Overlap(out, op.AD) || alias.Overlap(out, op.Src[n:]) {
		return op.alone(p.direction) // panics, unless out only covers the tag, which would be lost before its comparison
	}
	count := w.count % chunk
	l := &w.lanes[count]
	l.Bytes, l.ADBytes = uint64(n), uint64(len(op.AD))
	l.Out, l.In = unsafe.Pointer(unsafe.SliceData(out)), unsafe.Pointer(unsafe.SliceData(in))
	l.AD, l.Key, l.Nonce = unsafe.Pointer(unsafe.SliceData(op.AD)), unsafe.Pointer(key), unsafe.Pointer(unsafe.SliceData(op.Nonce))
	if nonceBytes == nonceSizeX {
		o := &w.once[w.derived%chunk]
		w.derived++
		o.derive(key, (*[nonceSizeX]byte)(op.Nonce))
		l.Key, l.Nonce = unsafe.Pointer(&o.key), unsafe.Pointer(&o.nonce)
	}
	if p.tagIn != 0 {
		l.Tag[0] = unsafe.Pointer(&w.tags[count])
	} else {
		l.Tag[0] = unsafe.Pointer(&out[n])
	}
	w.packet[count] = uint8(i)
	w.count++
	return 0
}
