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
		if plan, level := planFor(ops[:n]); plan == nil {
			for i := range ops[:n] {
				ops[i].seal()
			}
		} else {
			sealChunk(ops[:n], plan, level)
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
		if plan, level := planFor(ops[:n]); plan == nil {
			for i := range ops[:n] {
				opened += ops[i].open()
			}
		} else {
			opened += openChunk(ops[:n], plan, level)
		}
		ops = ops[n:]
	}
	if len(ops) > 0 {
		opened += ops[0].open()
	}
	return opened
}

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

// planFor returns the level of the first key that has one, and its plan. The others are nearly always of that level, as
// a process has but one.
func planFor(ops []Op) (*kernel.BatchPlan, kernel.Level) {
	for i := range ops {
		if key, level, _ := chaCha20Key(ops[i].AEAD); key != nil {
			return kernel.ChaCha20Poly1305BatchPlan(level), level
		}
	}
	return nil, 0
}

// chaCha20Key returns the key and level of this package's ciphers, and for others nil.
func chaCha20Key(a cipher.AEAD) (key *[keySize]byte, level kernel.Level, extended bool) {
	switch k := a.(type) {
	case *chaCha20Poly1305:
		return &k.key, k.level, false
	case *xChaCha20Poly1305:
		return &k.key, k.level, true
	}
	return nil, 0, false
}

// gains is whether packets of that length are ever faster side by side.
func gains(plan *kernel.BatchPlan, bytes int) bool {
	return bytes < 64*kernel.BatchClasses && plan[bytes/64%kernel.BatchClasses] != 0
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
	o.weight += int(weights[min(plan[class], kernel.BatchFromMax)])
	o.packet[o.count%chunk] = uint8(packet)
	o.class[o.count%chunk] = uint8(class)
	o.place[class]++
	o.count++
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

// sealChunk seals packets side by side where that pays. Pointers to what is on its stack may be stored in arrays of its
// own only, or they would escape.
func sealChunk(ops []Op, plan *kernel.BatchPlan, level kernel.Level) {
	var o order
	for i := range ops {
		op := &ops[i]
		key, l, extended := chaCha20Key(op.AEAD)
		if key == nil || l != level || !gains(plan, len(op.Src)) {
			op.seal()
			continue
		}
		checkNonce(op.Nonce, extended, "chacha20poly1305: bad nonce length passed to Seal")
		op.Out, op.Err = extend(op.Dst, len(op.Src)+tagSize), nil
		checkOverlap(op.Out[len(op.Dst):], op.Src, op.AD)
		o.add(i, len(op.Src), plan)
	}
	if o.weight < pays {
		for i := range o.count {
			ops[o.packet[i]].seal()
		}
		return
	}

	var lanes [chunk]kernel.Lane
	var once [chunk]oneTime
	derived := 0
	o.sort()
	for i := range o.count {
		packet, lane := o.next(i)
		op := &ops[packet]
		key, _, extended := chaCha20Key(op.AEAD)
		n := len(op.Src)
		l := &lanes[lane]
		l.Key, l.Nonce = unsafe.Pointer(key), unsafe.Pointer(unsafe.SliceData(op.Nonce))
		if extended {
			once[derived].derive(key, (*[nonceSizeX]byte)(op.Nonce))
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
	kernel.ChaCha20Poly1305Batch(level, &args)
	clear(once[:derived])
}

// openChunk opens packets side by side where that pays, and returns how many are authentic.
func openChunk(ops []Op, plan *kernel.BatchPlan, level kernel.Level) (opened int) {
	var o order
	for i := range ops {
		op := &ops[i]
		key, l, extended := chaCha20Key(op.AEAD)
		n := len(op.Src) - tagSize
		if key == nil || l != level || n < 0 || !gains(plan, n) {
			opened += op.open()
			continue
		}
		checkNonce(op.Nonce, extended, "chacha20poly1305: bad nonce length passed to Open")
		op.Out, op.Err = extend(op.Dst, n), nil
		checkOverlap(op.Out[len(op.Dst):], op.Src[:n], op.AD)
		o.add(i, n, plan)
	}
	if o.weight < pays {
		for i := range o.count {
			opened += ops[o.packet[i]].open()
		}
		return opened
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
		key, _, extended := chaCha20Key(op.AEAD)
		n := len(op.Src) - tagSize
		l := &lanes[lane]
		l.Key, l.Nonce = unsafe.Pointer(key), unsafe.Pointer(unsafe.SliceData(op.Nonce))
		if extended {
			once[derived].derive(key, (*[nonceSizeX]byte)(op.Nonce))
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
	kernel.ChaCha20Poly1305Batch(level, &args)
	clear(once[:derived])
	for lane := range o.count {
		if (tags[lane][0]^want[lane][0])|(tags[lane][1]^want[lane][1]) != 0 {
			op := &ops[packets[lane]]
			clear(op.Out[len(op.Dst):])
			op.Out, op.Err = nil, errOpen
			continue
		}
		opened++
	}
	clear(tags[:o.count])
	return opened
}

func checkNonce(nonce []byte, extended bool, message string) {
	size := nonceSize
	if extended {
		size = nonceSizeX
	}
	if len(nonce) != size {
		panic(message)
	}
}

func checkOverlap(out, in, ad []byte) {
	if inexactOverlap(out, in) {
		panic(overlapsInput)
	}
	if overlap(out, ad) {
		panic(overlapsAD)
	}
}
