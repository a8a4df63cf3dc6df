package main

import (
	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/exchange"
	"github.com/sealane/sealane/gateway/internal/packet"
)

// placing is what a core has if there are several: each connection is one core's, whichever ring its packets come from. The kernel puts
// most of them there. The others (out of fragments, in tunnels in tunnels, and those that come while rings join or leave) are given from
// core to core.
type placing struct {
	*packet.Placement
	port   *exchange.Port[handed]
	parser packet.Parser // of unusual packets
	found  packet.Segment
	keep   []capture.Frame
	taken  []capture.Frame
	whole  []byte // packets put together from fragments
}

// kernels is what the kernel is told of a placement: tests tell it something else.
var kernels = func(p *packet.Placement) *packet.Placement { return p }

// handed is what is known of a packet that another core has given.
type handed struct {
	time int64
	link packet.LinkType
	ring uint8
}

// place gives other cores the frames of a ring that are theirs, and returns those that stay.
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

// look returns whose a frame is, and has in its place what it completes, if it is a fragment.
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

// take reads what others have given.
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
