package aead

import (
	"crypto/cipher"
	"encoding/binary"
	"runtime"
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

// Packets that are planned together. More fill the lanes better when lengths are mixed: an Internet mix has about 36
// packets of 64 bytes, 20 of 576 and 5 of 1420 in 64.
const chunk = 64

// SealBatch is batch.SealBatch.
func SealBatch(ops []Op) {
	if len(ops) == 1 {
		ops[0].seal()
		return
	}
	runBatch(ops, 0)
}

// OpenBatch is batch.OpenBatch.
func OpenBatch(ops []Op) (opened int) {
	if len(ops) == 1 {
		return ops[0].open()
	}
	return runBatch(ops, kernel.FlagOpen)
}

// runBatch returns how many packets succeeded.
func runBatch(ops []Op, direction uint64) (good int) {
	for len(ops) > 0 {
		n := min(len(ops), chunk)
		good += runChunk(ops[:n], direction)
		ops = ops[n:]
	}
	return good
}

// alone does a packet by itself, and returns 1 if it succeeded.
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
		if k.lanes != 0 {
			return unsafe.Pointer(&k.key), k.level, gcmLane
		}
	}
	return nil, 0, noLane
}

// An iface is an interface value in memory.
type iface struct{ table, data unsafe.Pointer }

func ifaceOf(a *cipher.AEAD) *iface { return (*iface)(unsafe.Pointer(a)) }

// In memory, ciphers with lanes are a key and the level of the lanes.
var (
	plainCipher cipher.AEAD = (*chaCha20Poly1305)(nil)
	gcmCipher   cipher.AEAD = (*aesGCM)(nil)

	_ = [1]byte{}[unsafe.Offsetof(chaCha20Poly1305{}.key)]
	_ = [1]byte{}[unsafe.Offsetof(aesGCM{}.key)]
)

// A planner is what packets that share a call of a kernel have in common.
type planner struct {
	plan      *kernel.BatchPlan
	direction uint64
	table     unsafe.Pointer // of the interface's methods: which cipher it is
	levelAt   uintptr        // where in the cipher its level is
	level     kernel.Level
	gcm       bool
	below     uintptr // bytes of text for which there are lanes
	tagIn     uintptr // bytes of tag in Src
	tagOut    uintptr // and in Out
}

// plannerFor returns the planner for the first of the packets that have one. Others of the primitive are nearly always of
// that level, as a process has but one.
func plannerFor(ops []Op, direction uint64) (p planner, ok bool) {
	without, last := noLane, kernel.Level(0) // the last that had none
	for i := range ops {
		_, level, kind := laneKey(ops[i].AEAD)
		if kind == without && level == last || kind == noLane {
			continue
		}
		if p.use(level, kind.gcm()) {
			p.direction, p.tagOut = direction, tagSize
			if direction == kernel.FlagOpen {
				p.tagIn, p.tagOut = tagSize, 0
			}
			return p, true
		}
		without, last = kind, level
	}
	return p, false
}

// use is whether a primitive's level does batches.
func (p *planner) use(level kernel.Level, gcm bool) bool {
	p.level, p.gcm = level, gcm
	if gcm {
		p.plan, p.table, p.levelAt = kernel.AESGCMBatchPlan(level), ifaceOf(&gcmCipher).table, unsafe.Offsetof(aesGCM{}.lanes)
	} else {
		p.plan, p.table, p.levelAt = kernel.ChaCha20Poly1305BatchPlan(level), ifaceOf(&plainCipher).table, unsafe.Offsetof(chaCha20Poly1305{}.level)
	}
	if p.plan == nil {
		return false
	}
	p.below = uintptr(p.plan.Below())
	return true
}

// A lane is a kernel.Lane that the collector overlooks, so that filling it takes no write barriers. It holds nothing but
// what is in the Ops, too, which live as long as the call; none of it is on a stack, which moves, since they are passed to
// methods of an interface.
type lane struct{ out, in, bytes, ad, adBytes, key, nonce, tag slot }

type slot [8 / unsafe.Sizeof(uintptr(0))]uintptr // the first; the other stays 0

var _ = [1]byte{}[unsafe.Sizeof(lane{})-unsafe.Sizeof(kernel.Lane{})]

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// A workspace is what a call needs for a chunk. It is too large to be zeroed for each on the stack.
type workspace struct {
	lanes, sorted [chunk]lane
	packet        [chunk]uint8 // of the lane; not sorted
	count         int          // of lanes
	differ        uintptr      // bits in which lengths of text differ
	once          [chunk]oneTime
	derived       int
	tags          [chunk]tag // open: what they ought to be
	putOff        [chunk]uint8
	later         int // packets of the other primitive
}

type tag [tagSize]byte

var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// done forgets secrets.
func (w *workspace) done() {
	clear(w.once[:w.derived])
	workspaces.Put(w)
}

// addPlain gives lanes to the packets from number i on that need nothing else, and returns the first that is not such. Some
// without a mistake are among those.
func (w *workspace) addPlain(ops []Op, i int, p *planner) int {
	count, differ := w.count, w.differ
	first := w.lanes[0].bytes[0]
	for ; i < len(ops) && count < chunk; i++ {
		op := &ops[i]
		a := ifaceOf(&op.AEAD)
		n := uintptr(len(op.Src)) - p.tagIn // huge if that is too short
		if a.table != p.table || *(*kernel.Level)(unsafe.Add(a.data, p.levelAt)) != p.level || len(op.Nonce) != nonceSize || n >= p.below {
			break
		}
		size := n + p.tagOut
		end := uintptr(len(op.Dst)) + size
		if end > uintptr(cap(op.Dst)) {
			break
		}
		out, in, ad := address(op.Dst)+uintptr(len(op.Dst)), address(op.Src), address(op.AD)
		// [x, x + n) and [out, out + size) have a byte in common if x - out + n-1 < size + n-1, modulo 2^32 or 2^64, or so it seems if
		// n is 0.
		inBefore, adBefore := uintptr(len(op.Src))-1, uintptr(len(op.AD))-1
		if in != out && in-out+inBefore < size+inBefore || ad-out+adBefore < size+adBefore {
			break
		}
		l := &w.lanes[count]
		l.out[0], l.in[0], l.bytes[0] = out, in, n
		l.ad[0], l.adBytes[0] = ad, uintptr(len(op.AD))
		l.key[0], l.nonce[0] = uintptr(a.data), address(op.Nonce)
		if p.tagIn == 0 {
			l.tag[0] = out + n
		} else {
			l.tag[0] = uintptr(unsafe.Pointer(&w.tags[count]))
		}
		w.packet[count] = uint8(i)
		if count == 0 {
			first = n
		}
		differ |= n ^ first
		count++
		op.Out, op.Err = op.Dst[:end], nil
	}
	w.count, w.differ = count, differ
	return i
}

// addSpecial does any other packet, unless it gets a lane or is put off, and returns 1 if it succeeded.
//
//go:noinline
func (w *workspace) addSpecial(ops []Op, i int, p *planner) (good int) {
	op := &ops[i]
	key, level, kind := laneKey(op.AEAD)
	if kind != noLane && kind.gcm() != p.gcm {
		w.putOff[w.later%chunk] = uint8(i)
		w.later++
		return 0
	}
	n := len(op.Src) - int(p.tagIn)
	if kind == noLane || level != p.level || n < 0 || n >= int(p.below) {
		return op.alone(p.direction)
	}
	op.checkNonce(kind, p)
	op.Out, op.Err = extend(op.Dst, n+int(p.tagOut)), nil
	out := op.Out[len(op.Dst):]
	in := op.Src
	if !p.gcm { // the plaintext may lie over the tag; crypto/cipher does not allow it
		in = in[:n]
	}
	checkOverlap(out, in, op.AD, p.gcm)
	if overlap(out, op.Src[n:]) {
		return op.alone(p.direction) // the tag is gone when it is to be compared
	}
	count := w.count % chunk
	l := &w.lanes[count]
	l.out[0], l.in[0], l.bytes[0] = address(out), address(in), uintptr(n)
	l.ad[0], l.adBytes[0] = address(op.AD), uintptr(len(op.AD))
	l.key[0], l.nonce[0] = uintptr(key), address(op.Nonce)
	if kind == extendedLane {
		o := &w.once[w.derived%chunk]
		w.derived++
		o.derive((*[keySize]byte)(key), (*[nonceSizeX]byte)(op.Nonce))
		l.key[0], l.nonce[0] = uintptr(unsafe.Pointer(&o.key)), uintptr(unsafe.Pointer(&o.nonce))
	}
	l.tag[0] = l.out[0] + l.bytes[0]
	if p.tagIn != 0 {
		l.tag[0] = uintptr(unsafe.Pointer(&w.tags[count]))
	}
	w.packet[count] = uint8(i)
	w.differ |= l.bytes[0] ^ w.lanes[0].bytes[0]
	w.count++
	return 0
}

// What a packet counts towards a batch that pays: pays / from, rounded up.
const pays = 240

var weights = [kernel.BatchFromMax + 1]uint8{0, 240, 120, 80, 60, 48, 40, 35, 30, 27, 24, 22, 20, 19, 18, 16, 15}

// alone returns how many of the packets are better done by themselves.
func (w *workspace) alone(plan *kernel.BatchPlan) int {
	if w.count < kernel.BatchFromMax {
		weight := 0
		for i := range w.lanes[:w.count] {
			weight += int(weights[plan.From[w.lanes[i].class()]%uint8(len(weights))])
		}
		if weight < pays {
			return w.count
		}
	}
	if plan.Group > 0 && w.count%plan.Group < 3 {
		return w.count % plan.Group
	}
	return 0
}

// class is the number of whole blocks of text.
func (l *lane) class() uintptr { return l.bytes[0] / 64 % kernel.BatchClasses }

// longestFirst returns the lanes by falling class: a counting sort, left out where there is nothing to do.
func (w *workspace) longestFirst() *lane {
	lanes := w.lanes[:w.count]
	inOrder := true
	if w.differ >= 64 {
		for i := 1; i < len(lanes); i++ {
			inOrder = inOrder && lanes[i].class() <= lanes[i-1].class()
		}
	}
	if inOrder {
		return &w.lanes[0]
	}
	var place [kernel.BatchClasses]uint8
	for i := range lanes {
		place[lanes[i].class()]++
	}
	next := uint8(0)
	for class := len(place) - 1; class >= 0; class-- {
		size := place[class]
		place[class] = next
		next += size
	}
	for i := range lanes {
		at := &place[lanes[i].class()]
		w.sorted[*at%chunk] = lanes[i]
		*at++
	}
	return &w.sorted[0]
}

// carryOut does what was planned, and returns how many packets succeeded.
func (w *workspace) carryOut(ops []Op, p *planner) (good int) {
	for range w.alone(p.plan) {
		w.count--
		good += ops[w.packet[w.count%chunk]].alone(p.direction)
	}
	if w.count == 0 {
		return good
	}
	w.callKernel(p)
	runtime.KeepAlive(ops)
	if p.direction != kernel.FlagOpen {
		return good + w.count
	}
	return good + w.authenticate(ops, p)
}

func (w *workspace) callKernel(p *planner) {
	var args kernel.Args
	args.In, args.Bytes, args.Flags = unsafe.Pointer(w.longestFirst()), uint64(w.count), p.direction
	if p.gcm {
		kernel.AESGCMBatch(p.level, &args)
	} else {
		kernel.ChaCha20Poly1305Batch(p.level, &args)
	}
}

// authenticate compares the tags of all packets, zeroes what forgeries have left, and returns the number of the others.
func (w *workspace) authenticate(ops []Op, p *planner) (authentic int) {
	tags := w.tags[:w.count]
	for i := range tags {
		op := &ops[w.packet[i]]
		came := op.Src[len(op.Src)-tagSize:]
		if tags[i].differs(came) == 0 {
			authentic++
			continue
		}
		clear(op.Out[len(op.Dst):])
		op.Out, op.Err = nil, errOpen
		if p.gcm {
			op.Err = errGCMOpen
		}
	}
	clear(tags)
	return authentic
}

// differs is not 0 if a tag is another.
func (t *tag) differs(came []byte) uint64 {
	return (binary.NativeEndian.Uint64(t[:]) ^ binary.NativeEndian.Uint64(came)) |
		(binary.NativeEndian.Uint64(t[8:]) ^ binary.NativeEndian.Uint64(came[8:]))
}

// runChunk does packets of a level side by side where that pays, and then those of the other primitive; the rest by
// themselves.
func runChunk(ops []Op, direction uint64) (good int) {
	p, ok := plannerFor(ops, direction)
	if !ok {
		for i := range ops {
			good += ops[i].alone(direction)
		}
		return good
	}
	w := workspaces.Get().(*workspace)
	w.count, w.differ, w.derived, w.later = 0, 0, 0, 0
	for i := w.addPlain(ops, 0, &p); i < len(ops); i = w.addPlain(ops, i+1, &p) {
		good += w.addSpecial(ops, i, &p)
	}
	good += w.carryOut(ops, &p)
	if w.later > 0 {
		good += w.runPutOff(ops, &p)
	}
	w.done()
	return good
}

// runPutOff does the packets of the other primitive.
func (w *workspace) runPutOff(ops []Op, p *planner) (good int) {
	_, level, kind := laneKey(ops[w.putOff[0]].AEAD)
	works := p.use(level, kind.gcm())
	w.count, w.differ = 0, 0
	for _, i := range w.putOff[:w.later] {
		if i := int(i); !works {
			good += ops[i].alone(p.direction)
		} else if w.addPlain(ops[:i+1], i, p) == i {
			good += w.addSpecial(ops, i, p)
		}
	}
	if !works {
		return good
	}
	return good + w.carryOut(ops, p)
}

func (op *Op) checkNonce(kind cipherKind, p *planner) {
	switch {
	case kind == gcmLane && len(op.Nonce) != gcmNonceSize:
		panic(gcmBadNonce)
	case kind == plainLane && len(op.Nonce) != nonceSize, kind == extendedLane && len(op.Nonce) != nonceSizeX:
		if p.direction == kernel.FlagOpen {
			panic("chacha20poly1305: bad nonce length passed to Open")
		}
		panic("chacha20poly1305: bad nonce length passed to Seal")
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
