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
	tagIn     int // bytes of tag in Src
	tagOut    int // and in Out
}

// find is whether one of the packets has a plan; then the planner is for the first such one. Of two primitives the packets of
// one get lanes: ChaCha20-Poly1305's, which gain more. Others of the cipher are nearly always of that level, as a process has
// but one.
func (p *planner) find(ops []Op, direction uint64) bool {
	gcm := -1
	for i := range ops {
		switch k := ops[i].AEAD.(type) {
		case *aesGCM:
			if gcm < 0 && k.lanes != 0 {
				gcm = i
			}
		case *chaCha20Poly1305:
			return p.use(k.level, plainLane, direction)
		case *xChaCha20Poly1305:
			return p.use(k.level, extendedLane, direction)
		}
	}
	if gcm < 0 {
		return false
	}
	_, level, kind := laneKey(ops[gcm].AEAD)
	return p.use(level, kind, direction)
}

// use is whether there are batches for a cipher; then the planner is for it.
func (p *planner) use(level kernel.Level, kind cipherKind, direction uint64) bool {
	if kind.gcm() {
		p.plan = kernel.AESGCMBatchPlan(level)
	} else {
		p.plan = kernel.ChaCha20Poly1305BatchPlan(level)
	}
	p.direction, p.level, p.gcm = direction, level, kind.gcm()
	p.tagIn, p.tagOut = 0, tagSize
	if direction == kernel.FlagOpen {
		p.tagIn, p.tagOut = tagSize, 0
	}
	return p.plan != nil
}

// hasLane is whether packets of that length are ever faster side by side.
func (p *planner) hasLane(op *Op) bool {
	n := uint(len(op.Src) - p.tagIn) // huge if that is too short
	return n < uint(p.plan.Below) && p.plan.From[n/64%kernel.BatchClasses] != 0
}

// anyLane is whether one of the packets is of such a length.
func (p *planner) anyLane(ops []Op) bool {
	for i := range ops {
		if p.hasLane(&ops[i]) {
			return true
		}
	}
	return false
}

// What a packet counts towards a batch that pays: pays / from, rounded up.
const pays = 240

var weights = [kernel.BatchFromMax + 1]uint8{0, 240, 120, 80, 60, 48, 40, 35, 30, 27, 24, 22, 20, 19, 18, 16, 15}

// pay is whether the lanes' packets are faster side by side.
func (w *workspace) pay(plan *kernel.BatchPlan) bool {
	if w.count >= kernel.BatchFromMax {
		return true
	}
	weight := 0
	for i := range w.lanes[:w.count] {
		weight += int(weights[plan.From[class(&w.lanes[i])]%uint8(len(weights))])
	}
	return weight >= pays
}

// class is the number of whole blocks of text.
func class(l *kernel.Lane) uint { return uint(l.Bytes) / 64 % kernel.BatchClasses }
