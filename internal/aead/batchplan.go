package aead

import (
	"crypto/cipher"

	"github.com/sealane/sealane/internal/kernel"
)

// laneKey returns what a kernel needs to know of a key, nil for ciphers that have no lanes.
func laneKey(a cipher.AEAD) (key *[keySize]byte, level kernel.Level, nonceBytes int) {
	switch k := a.(type) {
	case *chaCha20Poly1305:
		return &k.key, k.level, nonceSize
	case *xChaCha20Poly1305:
		return &k.key, k.level, nonceSizeX
	}
	return nil, 0, 0
}

// A planner is what packets that share a call of a kernel have in common.
type planner struct {
	plan      *kernel.BatchPlan
	direction uint64
	level     kernel.Level
	tagIn     int // bytes of tag in Src
	tagOut    int // and in Out
}

// find is whether there are batches for one of the packets; then the planner is for the first such one. Others are nearly
// always of that level, as a process has but one.
func (p *planner) find(ops []Op, direction uint64) bool {
	for i := range ops {
		if key, level, _ := laneKey(ops[i].AEAD); key != nil {
			*p = planner{plan: kernel.ChaCha20Poly1305BatchPlan(level), direction: direction, level: level, tagOut: tagSize}
			if direction == kernel.FlagOpen {
				p.tagIn, p.tagOut = tagSize, 0
			}
			return p.plan != nil
		}
	}
	return false
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
