package engine

import (
	"github.com/sealane/sealane/gateway/internal/flow"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/tls"
)

func started(side uint8) uint16 { return flow.Started0 << side }

// segment handles one segment.
func (w *Worker) segment(s *packet.Segment, hash uint64, e *entry, time int64) {
	if e == nil {
		if e = w.begin(s, hash, time); e == nil {
			return
		}
	}
	side := s.Side
	e.Seen = flow.Tick(time)
	if s.Flags&packet.ACK != 0 {
		e.Acked[1-side] = s.Ack
		e.Flags |= flow.Acked0 << (1 - side)
	}
	if s.Flags&(packet.SYN|packet.RST) == packet.SYN {
		e = w.syn(s, e, time)
	}
	if s.Missing > 0 {
		w.Stats.Cut += uint64(s.Missing)
	}
	if len(s.Payload) > 0 {
		seq := s.Seq
		if s.Flags&packet.SYN != 0 {
			seq++ // TCP fast open
		}
		// The usual case: the segment is the next one.
		if e.Conn != 0 && seq == e.Next[side] && s.Flags&packet.URG == 0 && e.Flags&(started(side)|flow.Queued0<<side|flow.IsEnding) == started(side) {
			e.Next[side] += uint32(len(s.Payload))
			if c := w.conn(e.Conn); !w.dec.Take(&e.Side[side], &c.tls, s.Payload) {
				w.dec.Feed(&c.tls, side^c.client, s.Payload)
				w.fed(c)
			}
		} else if e.Life().Ending() {
			w.alive(s, hash, e, seq, time)
		} else {
			w.unusual(s, hash, e, seq, time)
		}
	}
	if s.Flags&(packet.FIN|packet.RST) != 0 {
		w.last(s, e)
	}
	if e.Flags&(flow.Late0|flow.Late1) != 0 {
		w.late(e)
	}
	if e.Life() == flow.Closing {
		w.over(e)
	} else if e.Flags&flow.Renewing != 0 {
		w.renew(s, hash, e, time)
	}
}

// fed is called after TLS got bytes.
func (w *Worker) fed(c *conn) {
	if c.listed&listWaiting == 0 && (c.tls.Waiting() || c.pair.Contested()) {
		c.listed |= listWaiting
		c.tls.Since = w.now
		w.waiting = append(w.waiting, c)
		if c.tls.Waiting() {
			w.Stats.Waiting++
		}
	}
}

// unusual handles a segment that is not simply the next one.
func (w *Worker) unusual(s *packet.Segment, hash uint64, e *entry, seq uint32, time int64) {
	side := s.Side
	p := s.Payload
	if e.Conn == 0 && e.Flags&flow.Ignored == 0 && seq == e.Next[side] && e.Flags&started(side) != 0 {
		if n := tls.ProxyHeader(p); n > 0 {
			// A balancer's header names the connection. The data after it starts another stream.
			w.Stats.Prefaced++
			e.Next[side] += uint32(n)
			if seq, p = seq+uint32(n), p[n:]; len(p) == 0 {
				return
			}
		}
	}
	before, begun := e.Next, e.Flags
	if e.Flags&flow.Ignored != 0 || e.Conn == 0 {
		ignored := e.Flags&flow.Ignored != 0
		hello := tls.MayBeHello(p, tls.Client) && (len(p) >= 6 || ignored)
		if e.Flags&flow.Ignored != 0 {
			if !hello {
				return
			}
			// It was not TLS so far, or some of its data belonged to another connection.
			e.Flags &^= flow.Ignored
			w.Stats.Ignored--
			w.Stats.Prefaced++
		}
		if hello {
			// Regardless of the SYN.
			w.setClient(e, side)
			e.Next[side] = seq
			e.Flags |= started(side)
			if s.Flags&packet.ACK != 0 {
				e.Next[1-side] = s.Ack
				e.Flags |= started(1 - side)
			}
		}
	}
	if e.Flags&started(side) == 0 {
		// Neither the SYN nor its acknowledgement was captured.
		if !tls.MayBeHello(p, tls.Client) && e.Flags&flow.ClientKnown == 0 {
			w.ignore(e)
			return
		}
		e.Next[side] = seq
		e.Flags |= started(side)
	}
	if e.Conn == 0 {
		if seq == e.Next[side] && (p[0] != 22 || len(p) > 1 && p[1] != 3) {
			w.ignore(e) // TLS always starts with a handshake record
			return
		}
		w.open(e)
		if !trusting {
			w.order.Begin(&w.conn(e.Conn).pair)
			for side, at := range before {
				// The SYN may still be right.
				if c := w.conn(e.Conn); begun&started(uint8(side)) != 0 && at != e.Next[side] {
					c.pair.Maybe(uint8(side)^c.client, at)
				}
			}
		}
	}
	c := w.conn(e.Conn)
	c.link(s)
	if trusting {
		w.trust(c, e, side, seq, p)
		return
	}
	w.greeted(c, s, p)
	w.tellAck(c, side^c.client)
	w.order.Segment(&c.pair, side^c.client, seq, p, s, w.now)
	w.heard(c)
	w.fed(c)
	w.mark(c, e)
	if c.tls.State() == tls.NotTLS && !c.tls.Hello() && !c.pair.Contested() && !c.pair.Greeting() && !w.doubted(c) {
		for side := range uint8(2) {
			if at, ok := c.pair.Origin(side ^ c.client); ok {
				e.Next[side] = at // the missing data may still arrive
			}
		}
		w.ignore(e)
	}
}

// trust accepts a segment if it is the next one.
func (w *Worker) trust(c *conn, e *entry, side uint8, seq uint32, p []byte) {
	if seq == e.Next[side] {
		e.Next[side] += uint32(len(p))
		w.dec.Feed(&c.tls, side^c.client, p)
		w.fed(c)
	}
}

// mark records in the entry whether segments are held.
func (w *Worker) mark(c *conn, e *entry) {
	e.Flags &^= flow.Queued0 | flow.Queued1
	for side := range uint8(2) {
		if s := side ^ c.client; !c.pair.Idle(s) {
			e.Flags |= flow.Queued0 << side
			if c.listed&listQueued == 0 && (c.tls.InDispute(s) || c.pair.Stalled(s)) {
				w.list(c)
			}
		}
	}
}

// list adds a connection to those that are checked regularly, because data is missing.
func (w *Worker) list(c *conn) {
	if c.listed&listQueued == 0 {
		c.listed |= listQueued
		w.queued = append(w.queued, c)
	}
}
