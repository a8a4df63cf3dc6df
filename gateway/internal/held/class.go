package held

import "github.com/sealane/sealane/gateway/internal/packet"

// A Class is what a packet says about its way: who is not on the path of the sender has the same only by chance.
type Class struct {
	TTL     uint8
	Sum     packet.Sum
	Known   bool
	Stamped bool
}

// A Source is the packet that bytes came in. Its class is computed when it decides something.
type Source struct {
	packet *packet.Segment // nil: class is there
	class  Class
}

// From is the source of the bytes of a packet; nil says that nothing is known of their way.
func From(p *packet.Segment) Source { return Source{packet: p} }

// As is a source of a class.
func As(c Class) Source { return Source{class: c} }

// Class returns it.
func (o *Source) Class() Class {
	if o.packet != nil {
		s := o.packet
		o.class, o.packet = Class{s.TTL(), s.Sum(), true, s.Stamped()}, nil
	}
	return o.class
}

// above tells whether its rank is higher than one.
func (o *Source) above(rank int, usual Class) bool {
	return rank < maxRank && o.Class().Rank(usual) > rank
}

const maxRank = 3

// Rank tells how much a packet is like those that were authenticated in its direction, at most maxRank.
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
