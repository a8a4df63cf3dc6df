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

// An opWords is an Op in memory.
type opWords struct {
	aead                     ifaceWords
	dst, nonce, src, ad, out sliceWords
	err                      ifaceWords
}

type (
	ifaceWords struct {
		table uintptr // of the dynamic type's methods
		data  unsafe.Pointer
	}
	sliceWords struct {
		data     unsafe.Pointer
		len, cap uintptr
	}
)

var (
	_ = [1]byte{}[unsafe.Sizeof(Op{})-unsafe.Sizeof(opWords{})]
	_ = [1]byte{}[unsafe.Offsetof(Op{}.Out)-unsafe.Offsetof(opWords{}.out)]
	_ = [1]byte{}[unsafe.Offsetof(Op{}.Src)-unsafe.Offsetof(opWords{}.src)]
)

// methods returns what tells the dynamic type of an interface value.
func methods(a *cipher.AEAD) uintptr { return (*ifaceWords)(unsafe.Pointer(a)).table }

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
	table     uintptr // of the cipher's methods: which cipher it is
	levelAt   uintptr // where in the cipher its level is
	level     kernel.Level
	gcm       bool
	tagIn     uintptr // bytes of tag in Src
	tagOut    uintptr // and in Out
	below     uintptr // bytes of text for which there are lanes

	// Packets for lanes have span different lengths of Src, from least on: those of one class, until one of another class is met.
	least, span uintptr
}

// find is whether one of the packets has a plan; then the planner is for the first of them. Others of the cipher are nearly
// always of that level, as a process has but one.
func (p *planner) find(ops []Op, direction uint64) bool {
	without := uintptr(0)
	for i := range ops {
		if table := methods(&ops[i].AEAD); table != without {
			if p.use(&ops[i], direction) {
				return true
			}
			without = table
		}
	}
	return false
}

// use is whether there are batches for a packet's cipher; then the planner is for it.
func (p *planner) use(op *Op, direction uint64) bool {
	_, level, kind := laneKey(op.AEAD)
	switch kind {
	case noLane:
		return false
	case gcmLane:
		p.plan, p.table, p.levelAt = kernel.AESGCMBatchPlan(level), methods(&gcmCipher), unsafe.Offsetof(aesGCM{}.lanes)
	default:
		p.plan, p.table, p.levelAt = kernel.ChaCha20Poly1305BatchPlan(level), methods(&plainCipher), unsafe.Offsetof(chaCha20Poly1305{}.level)
	}
	if p.plan == nil {
		return false
	}
	p.direction, p.level, p.gcm = direction, level, kind.gcm()
	p.tagIn, p.tagOut = 0, tagSize
	if direction == kernel.FlagOpen {
		p.tagIn, p.tagOut = tagSize, 0
	}
	p.below = p.plan.Below
	p.least, p.span = 0, 0
	if p.hasLane(op) {
		p.least, p.span = (uintptr(len(op.Src))-p.tagIn)&^63+p.tagIn, 64
	}
	return true
}

// hasLane is whether packets of that length are ever faster side by side.
func (p *planner) hasLane(op *Op) bool {
	n := uintptr(len(op.Src)) - p.tagIn // huge if that is too short
	return n < p.below && p.plan.From[n/64%kernel.BatchClasses] != 0
}

// neverLane is whether a packet is of the planner's cipher, but of a length that is as fast by itself.
func (p *planner) neverLane(op *Op) bool { return methods(&op.AEAD) == p.table && !p.hasLane(op) }

// mix is for packets of all classes.
func (p *planner) mix() { p.least, p.span = p.tagIn, p.below }

// A lane is a kernel.Lane that the collector overlooks, so that filling it takes no write barriers. It holds nothing but
// what is in the Ops, too, which live as long as the call; none of it is on a stack, which moves, since they are passed to
// methods of an interface.
type lane struct {
	out, in         slot
	bytes           uint64
	ad              slot
	adBytes         uint64
	key, nonce, tag slot
}

type slot [8 / unsafe.Sizeof(uintptr(0))]uintptr // the first

var _ = [1]byte{}[unsafe.Sizeof(lane{})-unsafe.Sizeof(kernel.Lane{})]

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// A workspace is what a call needs for a chunk. It is too large to be zeroed for each on the stack.
type workspace struct {
	lanes, sorted [chunk]lane
	tags          [chunk]tag   // open: what they ought to be
	packet        [chunk]uint8 // of the lane; not sorted
	skipped       bool         // whether these are other than 0, 1, 2, ...
	count         int          // of lanes
	once          [chunk]oneTime
	derived       int
	putOff        [chunk]uint8
	later         int // packets of the other primitive
	memory        kernel.BatchMemory
}

type tag [tagSize]byte

var workspaces = sync.Pool{New: func() any { return &workspace{skipped: true} }}

// clear is for a new plan.
func (w *workspace) clear() {
	w.count = 0
	if w.skipped {
		w.skipped = false
		for i := range w.packet {
			w.packet[i] = uint8(i)
		}
	}
}

// done forgets secrets.
func (w *workspace) done() {
	clear(w.once[:w.derived])
	workspaces.Put(w)
}

// addPlain gives lanes to the packets from number i on that need nothing else, and returns the first that is not such. Some
// without a mistake are among those.
func (w *workspace) addPlain(ops []Op, i int, p *planner) int {
	for i < len(ops) {
		n := 0
		if p.direction == kernel.FlagOpen {
			n = fillLanes[[tagSize]byte](w, ops[i:], p)
		} else {
			n = fillLanes[[0]byte](w, ops[i:], p)
		}
		if w.count != i {
			w.skip(i, n)
		}
		w.count += n
		i += n
		if i == len(ops) || p.span == p.below || !p.hasLane(&ops[i]) {
			break
		}
		p.mix()
	}
	return i
}

// fillLanes gives lanes to the first packets, as far as they are plain and their lengths in the planner's span, and returns
// how many they are. It stands twice in the program, with tags at the end of Src or not.
func fillLanes[srcTag [0]byte | [tagSize]byte](w *workspace, ops []Op, p *planner) int {
	var none srcTag
	tagIn := unsafe.Sizeof(none)
	op, l := (*opWords)(unsafe.Pointer(&ops[0])), &w.lanes[w.count%chunk]
	left, tag := len(ops), uintptr(unsafe.Pointer(&w.tags[w.count%chunk]))
	table, levelAt, level, least, span := p.table, p.levelAt, p.level, p.least, p.span
	for {
		srcBytes := op.src.len
		if op.aead.table != table || op.nonce.len != nonceSize || srcBytes-least >= span {
			break
		}
		if *(*kernel.Level)(unsafe.Add(op.aead.data, levelAt)) != level {
			break
		}
		n := srcBytes - tagIn
		size := n + tagSize - tagIn
		total := op.dst.len + size
		if total > op.dst.cap {
			break
		}
		in, ad, adBytes := uintptr(op.src.data), uintptr(op.ad.data), op.ad.len
		out := uintptr(op.dst.data) + op.dst.len
		// [x, x + n) and [out, out + size) have a byte in common if x - out + n-1 < size + n-1, modulo 2^32 or 2^64, or so it seems if
		// n is 0.
		if in != out && in-out+(srcBytes-1) < size+(srcBytes-1) || adBytes != 0 && ad-out+(adBytes-1) < size+(adBytes-1) {
			break
		}
		l.out[0], l.in[0], l.bytes = out, in, uint64(n)
		l.ad[0], l.adBytes = ad, uint64(adBytes)
		l.key[0], l.nonce[0] = uintptr(op.aead.data), uintptr(op.nonce.data)
		if tagIn == 0 {
			l.tag[0] = out + n
		} else {
			l.tag[0] = tag
			tag += tagIn
		}
		op.out.len, op.out.cap, op.err.table = total, op.dst.cap, 0
		op.out.data, op.err.data = op.dst.data, nil
		left--
		if left == 0 {
			break
		}
		op = (*opWords)(unsafe.Add(unsafe.Pointer(op), unsafe.Sizeof(*op)))
		l = (*lane)(unsafe.Add(unsafe.Pointer(l), unsafe.Sizeof(*l)))
	}
	return len(ops) - left
}

// skip notes that the next n lanes are for the packets from number i on, and not for those of their own number.
func (w *workspace) skip(i, n int) {
	w.skipped = true
	for j := range n {
		w.packet[(w.count+j)%chunk] = uint8(i + j)
	}
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
	if kind == noLane || level != p.level || !p.hasLane(op) {
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
	l.out[0], l.in[0], l.bytes = address(out), address(in), uint64(n)
	l.ad[0], l.adBytes = address(op.AD), uint64(len(op.AD))
	l.key[0], l.nonce[0] = uintptr(key), address(op.Nonce)
	if kind == extendedLane {
		o := &w.once[w.derived%chunk]
		w.derived++
		o.derive((*[keySize]byte)(key), (*[nonceSizeX]byte)(op.Nonce))
		l.key[0], l.nonce[0] = uintptr(unsafe.Pointer(&o.key)), uintptr(unsafe.Pointer(&o.nonce))
	}
	l.tag[0] = l.out[0] + uintptr(n)
	if p.tagIn != 0 {
		l.tag[0] = uintptr(unsafe.Pointer(&w.tags[count]))
	}
	if count != i {
		w.skip(i, 1)
	}
	w.count++
	p.mix()
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
func (l *lane) class() uintptr { return uintptr(l.bytes) / 64 % kernel.BatchClasses }

// longestFirst returns the lanes by falling class: a counting sort, left out where there is nothing to do.
func (w *workspace) longestFirst(p *planner) *lane {
	lanes := w.lanes[:w.count]
	inOrder := true
	if p.span != 64 {
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
	args.In, args.Bytes, args.Flags = unsafe.Pointer(w.longestFirst(p)), uint64(w.count), p.direction
	if p.gcm {
		kernel.AESGCMBatch(p.level, &args, w.memory.Scratch())
	} else {
		kernel.ChaCha20Poly1305Batch(p.level, &args, w.memory.Scratch())
	}
}

// authenticate compares the tags of all packets, zeroes what forgeries have left, and returns the number of the others.
func (w *workspace) authenticate(ops []Op, p *planner) int {
	// Of 32-bit ARM the compiler knows that old ones load words from multiples of 4 only, but not that there are others.
	byWords := runtime.GOARCH == "arm" && p.level != kernel.Portable
	lanes := w.lanes[:w.count]
	tags := w.tags[:len(lanes)]
	forged := 0
	for i := range lanes {
		l := (*kernel.Lane)(unsafe.Pointer(&lanes[i]))
		came := (*tag)(unsafe.Add(l.In, uintptr(l.Bytes)))
		if byWords && tags[i].sameWords(came) || !byWords && tags[i].same(came) {
			continue
		}
		ops[w.packet[i%chunk]].reject(p)
		forged++
	}
	clear(tags)
	return len(lanes) - forged
}

// reject is for an op whose tag was wrong.
//
//go:noinline
func (op *Op) reject(p *planner) {
	clear(op.Out[len(op.Dst):])
	op.Out, op.Err = nil, errOpen
	if p.gcm {
		op.Err = errGCMOpen
	}
}

func (t *tag) same(u *tag) bool {
	return (binary.NativeEndian.Uint64(t[:])^binary.NativeEndian.Uint64(u[:]))|
		(binary.NativeEndian.Uint64(t[8:])^binary.NativeEndian.Uint64(u[8:])) == 0
}

func (t *tag) sameWords(u *tag) bool {
	x, y := (*[4]uint32)(unsafe.Pointer(t)), (*[4]uint32)(unsafe.Pointer(u))
	return (x[0]^y[0])|(x[1]^y[1])|(x[2]^y[2])|(x[3]^y[3]) == 0
}

// runChunk does packets of a level side by side where that pays, and then those of the other primitive; the rest by
// themselves.
func runChunk(ops []Op, direction uint64) (good int) {
	var p planner
	if !p.find(ops, direction) || len(ops) < p.plan.Few {
		for i := range ops {
			good += ops[i].alone(direction)
		}
		return good
	}
	w := workspaces.Get().(*workspace)
	w.clear()
	w.derived, w.later = 0, 0
	for i := w.addPlain(ops, 0, &p); i < len(ops); i = w.addPlain(ops, i, &p) {
		if !p.neverLane(&ops[i]) {
			good += w.addSpecial(ops, i, &p)
			i++
		}
		for ; i < len(ops) && p.neverLane(&ops[i]); i++ {
			good += ops[i].alone(direction)
		}
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
	works := p.use(&ops[w.putOff[0]], p.direction)
	w.clear()
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
