package engine

import (
	"math/bits"

	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// The first packets say which side is the client, and they may be forged. Until a record opens it may be the other one.
//
//	the client is              then there come                              and then
//	the sender of SYN or hello a hello of the other one, as clients say;    it is in doubt, and for now the other one if it has said
//	                           a hello of the client, as servers say        none as well
//	in doubt                   more segments: at 1, 2, 4 and so on,         it is read the other way round, and stays so if a record opens
//	                           after HoleWait, and at the end

// A doubt counts segments since the client's side was in doubt, and stays at its end. 0: no segment contradicted it.
type doubt uint8

// doubted tells whether it is in doubt who is the client.
func (w *Worker) doubted(c *conn) bool {
	return c.doubt > 0 && c.tls.State() != tls.Readable && w.order.CanTurn(&c.pair)
}

// greeted looks at a segment for a hello in the name of the other side.
func (w *Worker) greeted(c *conn, s *packet.Segment, p []byte) {
	says, ok := tls.Greets(p)
	if !ok || says == s.Side^c.client || c.given || c.tls.State() == tls.Readable || !w.order.CanTurn(&c.pair) {
		return
	}
	if c.doubt > 0 {
		return
	}
	c.doubt, c.turned = 1, w.now
	w.list(c)
	if says == tls.Client && !c.pair.Greeting() {
		w.turn(c)
	}
}

// heard is called after a segment: it may show that the client is the other side.
func (w *Worker) heard(c *conn) {
	if c.doubt == 0 || !w.doubted(c) {
		return
	}
	if c.doubt++; c.doubt == 0 {
		c.doubt--
	} else if bits.OnesCount8(uint8(c.doubt-1)) == 1 {
		w.tryTurned(c, false, false)
	}
}

// tryTurned reads a connection of which no record has opened the other way round. If none opens so, it is as before.
func (w *Worker) tryTurned(c *conn, patient, end bool) {
	c.turned = w.now
	wait := w.o.HoleWait
	if end {
		wait = 0
	}
	for range 2 {
		w.turn(c)
		if patient {
			w.order.Search(&c.pair, w.now, wait, end)
		} else {
			w.order.Retry(&c.pair, w.now, false)
		}
		if c.tls.State() == tls.Readable || !w.order.CanTurn(&c.pair) {
			return
		}
	}
}

// turn makes the other side the client.
func (w *Worker) turn(c *conn) {
	w.order.Turn(&c.pair)
	c.client ^= 1
	w.setClient(c.entry, c.client)
	c.flow.Client, c.flow.Server = c.flow.Server, c.flow.Client
	if c.linked {
		l := c.flow.Link
		copy(c.flow.Link[:6], l[6:])
		copy(c.flow.Link[6:], l[:6])
	}
	for side := range c.entry.Side {
		c.tls.Attach(uint8(side)^c.client, &c.entry.Side[side])
	}
	if g := c.gate; g != nil {
		g.half[0], g.half[1] = g.half[1], g.half[0]
	}
}
