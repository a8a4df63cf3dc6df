package aead

import (
	"crypto/cipher"

	"github.com/sealane/sealane/internal/kernel"
)

// laneKey returns the parts of a key that a kernel needs, or nil for ciphers without lanes.
func laneKey(a cipher.AEAD) (key *[keySize]byte, level kernel.Level, nonceBytes int) {
	switch k := a.(type) {
	case *chaCha20Poly1305:
		return &k.key, k.level, nonceSize
	case *xChaCha20Poly1305:
		return &k.key, k.level, nonceSizeX
	}
	return nil, 0, 0
}

// A planner holds the common properties of packets that share a kernel call.
type planner struct {
	plan      *kernel.BatchPlan
	direction uint64
	level     kernel.Level
	tagIn     int // size of the tag in Src
	tagOut    int // size of the tag in Out
}

// find looks for the first packet whose level has batches, and sets up the planner for it. The other packets nearly
// always have the same level, because a process uses only one.
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

// hasLane reports whether packets of that length can be faster side by side.
func (p *planner) hasLane(op *Op) bool {
	n := uint(len(op.Src) - p.tagIn) // huge if Src is too short
	return n < uint(p.plan.Below) && p.plan.From[n/64%kernel.BatchClasses] != 0
}

// anyLane reports whether one of the packets has such a length.
func (p *planner) anyLane(ops []Op) bool {
	for i := range ops {
		if p.hasLane(&ops[i]) {
			return true
		}
	}
	return false
}

// The weight of a packet is pays / from, rounded up. The batch kernel is used if the weights reach pays.
const pays = 240

var weights = [kernel.BatchFromMax + 1]uint8{0, 240, 120, 80, 60, 48, 40, 35, 30, 27, 24, 22, 20, 19, 18, 16, 15}

// pay reports whether the packets in the lanes are faster side by side.
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

// class returns the number of whole blocks of text.
func class(l *kernel.Lane) uint { return uint(l.Bytes) / 64 % kernel.BatchClasses }
