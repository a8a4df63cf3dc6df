package held

import "github.com/sealane/sealane/gateway/internal/packet"

// A Class is what a packet says about its way: who is not on the path of the sender has the same only by chance.
type Class struct {
	TTL     uint8
	Sum     packet.Sum
	Known   bool
	Stamped bool
}

// ClassOf returns what a packet says; without one nothing is known.
func ClassOf(p *packet.Segment) Class {
	if p == nil {
		return Class{}
	}
	return Class{p.TTL(), p.Sum(), true, p.Stamped()}
}

// Rank tells how much a packet is like those that were authenticated in its direction, at most 3.
func (c Class) Rank(usual Class) int {
	n := 0
	if c.Sum == packet.SumGood || usual.Known && usual.Sum != packet.SumGood || !c.Known {
		n += 2
	}
	if !usual.Known || !c.Known || c.TTL == usual.TTL {
		n++
	}
	return n
}

// Like tells whether a packet is like those that were authenticated; false if there were none.
func (c Class) Like(usual Class) bool {
	return usual.Known && c.TTL == usual.TTL && c.Stamped == usual.Stamped &&
		(usual.Sum != packet.SumGood || c.Sum == packet.SumGood)
}

// unlike tells how much a packet is unlike those that were authenticated, or one before it.
func (c Class) unlike(o Class) int {
	n := 0
	if o.Known && c.Known && c.TTL != o.TTL {
		n++
	}
	if o.Known && c.Known && c.Sum != o.Sum {
		n += 2
	}
	return n
}
