package aead

import (
	"crypto/cipher"
	"encoding/binary"
	"sync"
	"unsafe"

	"github.com/sealane/sealane/internal/kernel"
)

// Op is batch.Op.
type Op struct {
	AEAD cipher.AEAD

	Dst, Nonce, Src, AD []byte

	Out []byte
	Err error
}

// Packets that are planned together. More fill the lanes better when lengths are mixed, and take stack: an Internet mix
// has about 36 packets of 64 bytes, 20 of 576 and 5 of 1420 in 64. On 32-bit processors a quarter of it: there zeroing the
// stack costs more than that gains.
const chunk = 16 << (2 * (^uintptr(0) >> 63))

// SealBatch is batch.SealBatch.
func SealBatch(ops []Op) {
	for len(ops) > 1 {
		n := min(len(ops), chunk)
		for todo := everyOf(n); todo != 0; {
			todo = sealChunk(ops[:n], todo)
		}
		ops = ops[n:]
	}
	if len(ops) > 0 {
		ops[0].seal()
	}
}

// OpenBatch is batch.OpenBatch.
func OpenBatch(ops []Op) (opened int) {
	for len(ops) > 1 {
		n := min(len(ops), chunk)
		for todo, good := everyOf(n), 0; todo != 0; {
			good, todo = openChunk(ops[:n], todo)
			opened += good
		}
		ops = ops[n:]
	}
	if len(ops) > 0 {
		opened += ops[0].open()
	}
	return opened
}

// A set is packets of a chunk.
type set uint64

func everyOf(n int) set { return set(1)<<(n-1)<<1 - 1 }

func (s set) has(i int) bool { return s>>(i%chunk)&1 != 0 }

// seal does a packet by itself.
func (op *Op) seal() {
	op.Out, op.Err = op.AEAD.Seal(op.Dst, op.Nonce, op.Src, op.AD), nil
}

// open does a packet by itself, and returns 1 if it is authentic.
func (op *Op) open() int {
	op.Out, op.Err = op.AEAD.Open(op.Dst, op.Nonce, op.Src, op.AD)
	if op.Err != nil {
		return 0
	}
	return 1
}

// A cipherKind is a cipher that lanes are for.
type cipherKind uint8

const (
	noLane cipherKind = iota
	plainLane
	extendedLane
	gcmLane
)

func (k cipherKind) gcm() bool { return k == gcmLane }

// laneKey returns what a kernel needs to know of a key, and noLane for ciphers that have no lanes: those that are not of
// this package, and AES-GCM with nonces or tags of an uncommon size.
func laneKey(a cipher.AEAD) (key unsafe.Pointer, level kernel.Level, kind cipherKind) {
	switch k := a.(type) {
	case *chaCha20Poly1305:
		return unsafe.Pointer(&k.key), k.level, plainLane
	case *xChaCha20Poly1305:
		return unsafe.Pointer(&k.key), k.level, extendedLane
	case *aesGCM:
		if k.nonceSize == gcmNonceSize && k.tagSize == tagSize {
			return unsafe.Pointer(&k.key), k.level, gcmLane
		}
	}
	return nil, 0, noLane
}

// planFor returns the plan for the first of the packets that have one, and its level and primitive. Others of the
// primitive are nearly always of that level, as a process has but one.
func planFor(ops []Op, todo set) (plan *kernel.BatchPlan, level kernel.Level, gcm bool) {
	without, last := noLane, kernel.Level(0) // the last that had none
	for i := range ops {
		if !todo.has(i) {
			continue
		}
		_, level, kind := laneKey(ops[i].AEAD)
		if kind == without && level == last || kind == noLane {
			continue
		}
		without, last = kind, level
		if kind.gcm() {
			plan = kernel.AESGCMBatchPlan(level)
		} else {
			plan = kernel.ChaCha20Poly1305BatchPlan(level)
		}
		if plan != nil {
			return plan, level, kind.gcm()
		}
	}
	return nil, 0, false
}

// gains is whether packets of that length are ever faster side by side.
func gains(plan *kernel.BatchPlan, bytes int) bool {
	return bytes < 64*kernel.BatchClasses && plan.From[bytes/64%kernel.BatchClasses] != 0
}

// What a packet counts towards a batch that pays: pays / from, rounded up.
const pays = 240

var weights = [kernel.BatchFromMax + 1]uint8{0, 240, 120, 80, 60, 48, 40, 35, 30, 27, 24, 22, 20, 19, 18, 16, 15}

// A workspace is what a call needs for a chunk. It is too large to be zeroed for each on the stack.
type workspace struct {
	lanes, sorted [chunk]kernel.Lane
	packet        [chunk]uint8 // of the lane; not sorted
	class         [chunk]uint8 // its whole blocks
	count         int          // of lanes
	weight        int
	once          [chunk]oneTime
	derived       int
	tags, came    [chunk][2]uint64 // open: what the tags ought to be, and are
}

var workspaces = sync.Pool{New: func() any { return new(workspace) }}

func newWorkspace() *workspace {
	w := workspaces.Get().(*workspace)
	w.count, w.weight, w.derived = 0, 0, 0
	return w
}

// done forgets secrets. What the lanes point to is forgotten when the next call overwrites them, or the collector empties
// the pool.
func (w *workspace) done(opened int) {
	clear(w.once[:w.derived])
	clear(w.tags[:opened])
	workspaces.Put(w)
}

// next returns the next lane, for a packet with a text of so many bytes.
func (w *workspace) next(packet, bytes int, plan *kernel.BatchPlan) *kernel.Lane {
	i, class := w.count%chunk, bytes/64%kernel.BatchClasses
	w.count++
	w.packet[i], w.class[i] = uint8(packet), uint8(class)
	w.weight += int(weights[plan.From[class]%uint8(len(weights))])
	return &w.lanes[i]
}

// extend gives a lane the key and nonce that XChaCha20-Poly1305 makes.
func (w *workspace) extend(l *kernel.Lane, key unsafe.Pointer, nonce []byte) {
	o := &w.once[w.derived%chunk]
	w.derived++
	o.derive((*[keySize]byte)(key), (*[nonceSizeX]byte)(nonce))
	l.Key, l.Nonce = unsafe.Pointer(&o.key), unsafe.Pointer(&o.nonce)
}

// alone returns how many of the packets are better done by themselves.
func (w *workspace) alone(plan *kernel.BatchPlan) int {
	if w.weight < pays {
		return w.count
	}
	if plan.Group > 0 && w.count%plan.Group < 3 {
		return w.count % plan.Group
	}
	return 0
}

// pop takes back the packet that was added last.
func (w *workspace) pop() (packet uint8) {
	w.count--
	return w.packet[w.count%chunk]
}

// run has the kernel do the lanes, longest first: a counting sort by whole blocks, left out where there is nothing to do.
func (w *workspace) run(level kernel.Level, gcm bool, flags uint64) {
	lanes := w.lanes[:w.count]
	inOrder := true
	for i := 1; i < w.count; i++ {
		inOrder = inOrder && w.class[i%chunk] <= w.class[(i-1)%chunk]
	}
	if !inOrder {
		var place [kernel.BatchClasses]uint8
		for _, class := range w.class[:w.count] {
			place[class%kernel.BatchClasses]++
		}
		next := uint8(0)
		for class := len(place) - 1; class >= 0; class-- {
			size := place[class]
			place[class] = next
			next += size
		}
		for i, class := range w.class[:w.count] {
			at := &place[class%kernel.BatchClasses]
			w.sorted[*at%chunk] = lanes[i]
			*at++
		}
		lanes = w.sorted[:w.count]
	}
	args := kernel.Batch(lanes, flags)
	if gcm {
		kernel.AESGCMBatch(level, &args)
	} else {
		kernel.ChaCha20Poly1305Batch(level, &args)
	}
}

// sealChunk seals packets side by side where that pays, and returns those that are left to do, of another primitive.
func sealChunk(ops []Op, todo set) (left set) {
	plan, level, gcm := planFor(ops, todo)
	if plan == nil {
		for i := range ops {
			if todo.has(i) {
				ops[i].seal()
			}
		}
		return 0
	}
	w := newWorkspace()
	for i := range ops {
		if !todo.has(i) {
			continue
		}
		op := &ops[i]
		key, l, kind := laneKey(op.AEAD)
		if kind != noLane && kind.gcm() != gcm {
			left |= 1 << i
			continue
		}
		n := len(op.Src)
		if kind == noLane || l != level || !gains(plan, n) {
			op.seal()
			continue
		}
		checkNonce(op.Nonce, kind, "chacha20poly1305: bad nonce length passed to Seal")
		op.Out, op.Err = extend(op.Dst, n+tagSize), nil
		out := op.Out[len(op.Dst):]
		checkOverlap(out, op.Src, op.AD, gcm)
		lane := w.next(i, n, plan)
		lane.Out, lane.In, lane.Bytes = unsafe.Pointer(unsafe.SliceData(out)), unsafe.Pointer(unsafe.SliceData(op.Src)), uint64(n)
		lane.AD, lane.ADBytes = unsafe.Pointer(unsafe.SliceData(op.AD)), uint64(len(op.AD))
		lane.Key, lane.Nonce, lane.Tag[0] = key, unsafe.Pointer(unsafe.SliceData(op.Nonce)), unsafe.Pointer(&out[n])
		if kind == extendedLane {
			w.extend(lane, key, op.Nonce)
		}
	}
	for range w.alone(plan) {
		ops[w.pop()].seal()
	}
	if w.count > 0 {
		w.run(level, gcm, 0)
	}
	w.done(0)
	return left
}

// openChunk opens packets side by side where that pays, and returns how many are authentic, and those that are left to do.
func openChunk(ops []Op, todo set) (opened int, left set) {
	plan, level, gcm := planFor(ops, todo)
	if plan == nil {
		for i := range ops {
			if todo.has(i) {
				opened += ops[i].open()
			}
		}
		return opened, 0
	}
	w := newWorkspace()
	for i := range ops {
		if !todo.has(i) {
			continue
		}
		op := &ops[i]
		key, l, kind := laneKey(op.AEAD)
		if kind != noLane && kind.gcm() != gcm {
			left |= 1 << i
			continue
		}
		n := len(op.Src) - tagSize
		if kind == noLane || l != level || n < 0 || !gains(plan, n) {
			opened += op.open()
			continue
		}
		checkNonce(op.Nonce, kind, "chacha20poly1305: bad nonce length passed to Open")
		op.Out, op.Err = extend(op.Dst, n), nil
		out, in := op.Out[len(op.Dst):], op.Src
		if !gcm { // the plaintext may lie over the tag; crypto/cipher does not allow it
			in = in[:n]
		}
		checkOverlap(out, in, op.AD, gcm)
		// The tag is read first: the output may cover it, if it begins where the ciphertext ends.
		at := w.count % chunk
		w.came[at] = [2]uint64{binary.NativeEndian.Uint64(op.Src[n:]), binary.NativeEndian.Uint64(op.Src[n+8:])}
		lane := w.next(i, n, plan)
		lane.Out, lane.In, lane.Bytes = unsafe.Pointer(unsafe.SliceData(out)), unsafe.Pointer(unsafe.SliceData(in)), uint64(n)
		lane.AD, lane.ADBytes = unsafe.Pointer(unsafe.SliceData(op.AD)), uint64(len(op.AD))
		lane.Key, lane.Nonce, lane.Tag[0] = key, unsafe.Pointer(unsafe.SliceData(op.Nonce)), unsafe.Pointer(&w.tags[at])
		if kind == extendedLane {
			w.extend(lane, key, op.Nonce)
		}
	}
	for range w.alone(plan) {
		opened += ops[w.pop()].open()
	}
	if w.count > 0 {
		w.run(level, gcm, kernel.FlagOpen)
		opened += w.authenticate(ops, gcm)
	}
	w.done(w.count)
	return opened, left
}

// authenticate compares the tags of all packets, zeroes what forgeries have left, and returns the number of the others.
func (w *workspace) authenticate(ops []Op, gcm bool) (authentic int) {
	for lane := range w.count {
		tag, came := &w.tags[lane%chunk], &w.came[lane%chunk]
		if (tag[0]^came[0])|(tag[1]^came[1]) == 0 {
			authentic++
			continue
		}
		op := &ops[w.packet[lane%chunk]]
		clear(op.Out[len(op.Dst):])
		op.Out, op.Err = nil, errOpen
		if gcm {
			op.Err = errGCMOpen
		}
	}
	return authentic
}

func checkNonce(nonce []byte, kind cipherKind, message string) {
	switch {
	case kind == gcmLane && len(nonce) != gcmNonceSize:
		panic(gcmBadNonce)
	case kind == plainLane && len(nonce) != nonceSize, kind == extendedLane && len(nonce) != nonceSizeX:
		panic(message)
	}
}

func checkOverlap(out, in, ad []byte, gcm bool) {
	switch {
	case inexactOverlap(out, in) && gcm:
		panic(gcmOverlapsInput)
	case inexactOverlap(out, in):
		panic(overlapsInput)
	case overlap(out, ad) && gcm:
		panic(gcmOverlapsAD)
	case overlap(out, ad):
		panic(overlapsAD)
	}
}
