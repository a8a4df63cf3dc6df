package held

import "github.com/sealane/sealane/gateway/internal/packet"

// A Class holds the properties of a packet that depend on its sender and path. An attacker off that path matches them
// only by chance.
type Class struct {
	TTL     uint8
	Sum     packet.Sum
	Known   bool
	Stamped bool
}

// ClassOf returns the class of a packet, or for nil a class that is not Known.
func ClassOf(p *packet.Segment) Class {
	if p == nil {
		return Class{}
	}
	return Class{p.TTL(), p.Sum(), true, p.Stamped()}
}

// Rank returns how closely a packet resembles the authenticated packets of its direction, from 0 to 3.
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

// Like reports whether a packet resembles the authenticated packets. It returns false if there are none.
func (c Class) Like(usual Class) bool {
	return usual.Known && c.TTL == usual.TTL && c.Stamped == usual.Stamped &&
		(usual.Sum != packet.SumGood || c.Sum == packet.SumGood)
}

// unlike returns how much a packet differs from the authenticated packets, or from the preceding segment: from 0 to 3.
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
