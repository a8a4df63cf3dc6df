package engine

import (
	"math/bits"

	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// The first packets show which side is the client, but they may be forged. Until a record opens, the other side may be the client.
//
//	the client is              then there arrives                           and then
//	the sender of SYN or hello a ClientHello of the other side;             it is in doubt; provisionally the other side if that has not sent a
//	                           a ServerHello of the client                  hello of this kind either
//	in doubt                   more segments: after 1, 2, 4 and so on,      it is read with the sides exchanged, permanently if a record opens
//	                           after HoleWait, and at the end

// A doubt counts segments since the client side became doubtful; it saturates. 0: no segment has contradicted it.
type doubt uint8

// doubted reports whether the client side is in doubt.
func (w *Worker) doubted(c *conn) bool {
	return c.doubt > 0 && c.tls.State() != tls.Readable && w.order.CanTurn(&c.pair)
}

// greeted checks a segment for a hello that belongs to the other side.
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

// heard is called after a segment, which may show that the other side is the client.
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

// tryTurned reads a connection without an opened record with its sides exchanged. If no record opens, it restores the
// state.
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
