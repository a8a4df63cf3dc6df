package aead

import (
	"crypto/cipher"
	"encoding/binary"
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
// has about 36 packets of 64 bytes, 20 of 576 and 5 of 1420 in 64.
const chunk = 64

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
	for i := range ops {
		if !todo.has(i) {
			continue
		}
		_, level, kind := laneKey(ops[i].AEAD)
		if kind == noLane {
			continue
		}
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

// order is a counting sort of packets by their whole blocks, longest first.
type order struct {
	count  int
	weight int
	packet [chunk]uint8 // those that get a lane
	class  [chunk]uint8 // blocks of each
	place  [kernel.BatchClasses]uint8
}

func (o *order) add(packet, bytes int, plan *kernel.BatchPlan) {
	class := bytes / 64 % kernel.BatchClasses
	o.weight += int(weights[min(plan.From[class], kernel.BatchFromMax)])
	o.packet[o.count%chunk] = uint8(packet)
	o.class[o.count%chunk] = uint8(class)
	o.place[class]++
	o.count++
}

// alone returns how many of the packets are better done by themselves.
func (o *order) alone(plan *kernel.BatchPlan) int {
	if o.weight < pays {
		return o.count
	}
	if plan.Group > 0 && o.count%plan.Group < 3 {
		return o.count % plan.Group
	}
	return 0
}

// pop takes back the packet that was added last.
func (o *order) pop() (packet uint8) {
	o.count--
	o.place[o.class[o.count%chunk]%kernel.BatchClasses]--
	return o.packet[o.count%chunk]
}

// sort turns the sizes of the classes into the lane of each one's first packet.
func (o *order) sort() {
	place := uint8(0)
	for class := len(o.place) - 1; class >= 0; class-- {
		size := o.place[class]
		o.place[class] = place
		place += size
	}
}

// next returns the i-th packet that was added, and its lane.
func (o *order) next(i int) (packet, lane int) {
	class := o.class[i%chunk] % kernel.BatchClasses
	lane = int(o.place[class])
	o.place[class]++
	return int(o.packet[i%chunk]), lane % chunk
}

// sealChunk seals packets side by side where that pays, and returns those that are left to do, of another primitive.
// Pointers to what is on its stack may be stored in arrays of its own only, or they would escape.
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
	var o order
	for i := range ops {
		if !todo.has(i) {
			continue
		}
		op := &ops[i]
		_, l, kind := laneKey(op.AEAD)
		if kind != noLane && kind.gcm() != gcm {
			left |= 1 << i
			continue
		}
		if kind == noLane || l != level || !gains(plan, len(op.Src)) {
			op.seal()
			continue
		}
		checkNonce(op.Nonce, kind, "chacha20poly1305: bad nonce length passed to Seal")
		op.Out, op.Err = extend(op.Dst, len(op.Src)+tagSize), nil
		checkOverlap(op.Out[len(op.Dst):], op.Src, op.AD, gcm)
		o.add(i, len(op.Src), plan)
	}
	for range o.alone(plan) {
		ops[o.pop()].seal()
	}
	if o.count == 0 {
		return left
	}

	var lanes [chunk]kernel.Lane
	var once [chunk]oneTime
	derived := 0
	o.sort()
	for i := range o.count {
		packet, lane := o.next(i)
		op := &ops[packet]
		key, _, kind := laneKey(op.AEAD)
		n := len(op.Src)
		l := &lanes[lane]
		l.Key, l.Nonce = key, unsafe.Pointer(unsafe.SliceData(op.Nonce))
		if kind == extendedLane {
			once[derived].derive((*[keySize]byte)(key), (*[nonceSizeX]byte)(op.Nonce))
			lanes[lane].Key, lanes[lane].Nonce = unsafe.Pointer(&once[derived].key), unsafe.Pointer(&once[derived].nonce)
			derived++
		}
		out := op.Out[len(op.Dst):]
		l.Out = unsafe.Pointer(unsafe.SliceData(out))
		l.In = unsafe.Pointer(unsafe.SliceData(op.Src))
		l.Bytes = uint64(n)
		l.AD = unsafe.Pointer(unsafe.SliceData(op.AD))
		l.ADBytes = uint64(len(op.AD))
		l.Tag[0] = unsafe.Pointer(&out[n])
	}
	args := kernel.Batch(lanes[:o.count], 0)
	runLanes(level, gcm, &args)
	clear(once[:derived])
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
	var o order
	for i := range ops {
		if !todo.has(i) {
			continue
		}
		op := &ops[i]
		_, l, kind := laneKey(op.AEAD)
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
		src := op.Src
		if !gcm { // the plaintext may lie over the tag; crypto/cipher does not allow it
			src = src[:n]
		}
		checkOverlap(op.Out[len(op.Dst):], src, op.AD, gcm)
		o.add(i, n, plan)
	}
	for range o.alone(plan) {
		opened += ops[o.pop()].open()
	}
	if o.count == 0 {
		return opened, left
	}

	var lanes [chunk]kernel.Lane
	var once [chunk]oneTime
	var tags, want [chunk][2]uint64
	var packets [chunk]uint8
	derived := 0
	o.sort()
	for i := range o.count {
		packet, lane := o.next(i)
		op := &ops[packet]
		key, _, kind := laneKey(op.AEAD)
		n := len(op.Src) - tagSize
		l := &lanes[lane]
		l.Key, l.Nonce = key, unsafe.Pointer(unsafe.SliceData(op.Nonce))
		if kind == extendedLane {
			once[derived].derive((*[keySize]byte)(key), (*[nonceSizeX]byte)(op.Nonce))
			lanes[lane].Key, lanes[lane].Nonce = unsafe.Pointer(&once[derived].key), unsafe.Pointer(&once[derived].nonce)
			derived++
		}
		// The tag is read first: the output may cover it, if it begins where the ciphertext ends.
		want[lane] = [2]uint64{binary.NativeEndian.Uint64(op.Src[n:]), binary.NativeEndian.Uint64(op.Src[n+8:])}
		packets[lane] = uint8(packet)
		l.Out = unsafe.Pointer(unsafe.SliceData(op.Out[len(op.Dst):]))
		l.In = unsafe.Pointer(unsafe.SliceData(op.Src))
		l.Bytes = uint64(n)
		l.AD = unsafe.Pointer(unsafe.SliceData(op.AD))
		l.ADBytes = uint64(len(op.AD))
		lanes[lane].Tag[0] = unsafe.Pointer(&tags[lane])
	}
	args := kernel.Batch(lanes[:o.count], kernel.FlagOpen)
	runLanes(level, gcm, &args)
	clear(once[:derived])
	for lane := range o.count {
		if (tags[lane][0]^want[lane][0])|(tags[lane][1]^want[lane][1]) != 0 {
			op := &ops[packets[lane]]
			clear(op.Out[len(op.Dst):])
			op.Out, op.Err = nil, errOpen
			if gcm {
				op.Err = errGCMOpen
			}
			continue
		}
		opened++
	}
	clear(tags[:o.count])
	return opened, left
}

func runLanes(level kernel.Level, gcm bool, args *kernel.Args) {
	if gcm {
		kernel.AESGCMBatch(level, args)
	} else {
		kernel.ChaCha20Poly1305Batch(level, args)
	}
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
