package aead

import (
	"crypto/cipher"
	"unsafe"

	"github.com/sealane/sealane/internal/kernel"
)

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

// A planner is what packets that share a call of a kernel have in common.
type planner struct {
	plan      *kernel.BatchPlan
	direction uint64
	level     kernel.Level
	gcm       bool
	tagIn     int  // bytes of tag in Src
	tagOut    int  // and in Out
	below     uint // bytes of text for which there are lanes

	// Packets for lanes have span different lengths of Src, from least on: those of one class, until one of another class is met.
	least, span uint
}

// find is whether one of the packets has a plan; then the planner is for the first of them. Others of the cipher are nearly
// always of that level, as a process has but one.
func (p *planner) find(ops []Op, direction uint64) bool {
	return p.use(&ops[0], direction) || p.findLater(ops, direction)
}

//go:noinline
func (p *planner) findLater(ops []Op, direction uint64) bool {
	_, level, kind := laneKey(ops[0].AEAD) // of packets of this kind there is no plan
	for i := range ops {
		_, l, k := laneKey(ops[i].AEAD)
		if k == noLane || k == kind && l == level {
			continue
		}
		if p.use(&ops[i], direction) {
			return true
		}
		level, kind = l, k
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
		p.plan = kernel.AESGCMBatchPlan(level)
	default:
		p.plan = kernel.ChaCha20Poly1305BatchPlan(level)
	}
	if p.plan == nil || p.plan.Below == 0 {
		return false
	}
	p.direction, p.level, p.gcm = direction, level, kind.gcm()
	p.tagIn, p.tagOut = 0, tagSize
	if direction == kernel.FlagOpen {
		p.tagIn, p.tagOut = tagSize, 0
	}
	p.below = uint(p.plan.Below)
	p.least, p.span = 0, 0
	if p.hasLane(op) {
		p.least, p.span = uint(len(op.Src)-p.tagIn)&^63+uint(p.tagIn), 64
	}
	return true
}

// hasLane is whether packets of that length are ever faster side by side.
func (p *planner) hasLane(op *Op) bool {
	n := uint(len(op.Src) - p.tagIn) // huge if that is too short
	return n < p.below && p.plan.From[n/64%kernel.BatchClasses] != 0
}

// neverLane is whether a packet is of the planner's cipher, but of a length that is as fast by itself.
func (p *planner) neverLane(op *Op) bool {
	if p.hasLane(op) {
		return false
	}
	if p.gcm {
		_, ok := op.AEAD.(*aesGCM)
		return ok
	}
	_, ok := op.AEAD.(*chaCha20Poly1305)
	return ok
}

// mix is for packets of all classes.
func (p *planner) mix() { p.least, p.span = uint(p.tagIn), p.below }

// What a packet counts towards a batch that pays: pays / from, rounded up.
const pays = 240

var weights = [kernel.BatchFromMax + 1]uint8{0, 240, 120, 80, 60, 48, 40, 35, 30, 27, 24, 22, 20, 19, 18, 16, 15}

// alone returns how many of the packets that have lanes are better done by themselves.
func (w *workspace) alone(plan *kernel.BatchPlan) int {
	if w.count < kernel.BatchFromMax {
		weight := 0
		for i := range w.lanes[:w.count] {
			weight += int(weights[plan.From[class(&w.lanes[i])]%uint8(len(weights))])
		}
		if weight < pays {
			return w.count
		}
	}
	return 0
}

// class is the number of whole blocks of text.
func class(l *kernel.Lane) uint { return uint(l.Bytes) / 64 % kernel.BatchClasses }
