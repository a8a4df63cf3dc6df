package main

import (
	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/exchange"
	"github.com/sealane/sealane/gateway/internal/packet"
)

// placing is the state of a core if there are several. Each connection belongs to one core, but its packets may arrive
// at any ring. The kernel delivers most packets to the right core. Cores hand the others over: packets from fragments,
// from nested tunnels, and those that arrive while rings join or leave.
type placing struct {
	*packet.Placement
	port   *exchange.Port[handed]
	parser packet.Parser // for unusual packets
	found  packet.Segment
	keep   []capture.Frame
	taken  []capture.Frame
	whole  []byte // packets reassembled from fragments
}

// kernels returns the placement for the kernel; tests replace it with another one.
var kernels = func(p *packet.Placement) *packet.Placement { return p }

// handed is information about a packet from another core.
type handed struct {
	time int64
	link packet.LinkType
	ring uint8
}

// place hands the frames of a ring that belong to other cores over, and returns the rest.
func (c *core) place(ring int, frames []capture.Frame) []capture.Frame {
	p := c.placing
	if p == nil {
		return frames
	}
	p.keep, p.whole = p.keep[:0], p.whole[:0]
	for _, f := range frames {
		to := c.group
		if h, ok := p.Usual(f.Data); ok {
			to = int(h % uint32(c.live.workers))
		} else if c.gate == nil { // a closed gate reads neither tunnels nor fragments
			to = c.look(&f)
		}
		if to == c.group {
			p.keep = append(p.keep, f)
			continue
		}
		data := f.Data
		if c.across != nil && f.Link == packet.LinkEthernet {
			data = capture.Whole(&f)
		}
		p.port.Give(to, data, handed{f.Time, f.Link, uint8(ring)})
	}
	p.port.Flush()
	p.parser.Release()
	return p.keep
}

// look returns the core of a frame. If the frame is a fragment that completes a packet, look replaces it by that
// packet.
func (c *core) look(f *capture.Frame) int {
	p := c.placing
	s := &p.found
	switch p.parser.Parse(s, f.Link, f.Data, f.Time) {
	case packet.TCP:
		if s.Whole {
			begin := len(p.whole)
			p.whole = s.AppendFrame(p.whole)
			f.Data, f.Link = p.whole[begin:len(p.whole):len(p.whole)], packet.LinkWhole
		}
		return int(p.Hash(&s.Tuple) % uint32(c.live.workers))
	case packet.Fragment:
		f.Link = packet.LinkPart
	}
	return c.group
}

// take reads packets that other cores have handed over.
func (c *core) take(items []exchange.Item[handed]) {
	p := c.placing
	for len(items) > 0 {
		n, ring := 0, items[0].About.ring
		p.taken = p.taken[:0]
		for n < len(items) && items[n].About.ring == ring {
			f := capture.Frame{Time: items[n].About.time, Data: items[n].Data, Link: items[n].About.link}
			if c.across != nil && f.Link == packet.LinkEthernet {
				f.Data = capture.Bare(f.Data)
			}
			p.taken = append(p.taken, f)
			n++
		}
		c.read(int(ring), p.taken)
		items = items[n:]
	}
}
