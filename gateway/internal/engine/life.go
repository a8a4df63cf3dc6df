package engine

import (
	"math"

	"github.com/sealane/sealane/gateway/internal/flow"
	"github.com/sealane/sealane/gateway/internal/held"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// Events of flow.Life, and how long each state may be silent.

const (
	// A connection without data, as in SYN floods.
	embryonicIdle = 30e9
	// A connection without an opened record.
	openingIdle = 900e9
	// A connection that ends unless a record opens.
	endingIdle = 5e9
)

// age returns how long a connection may be silent.
func (w *Worker) age(e *entry) uint32 {
	switch life := e.Life(); {
	case e.Conn == 0:
		return flow.Tick(embryonicIdle)
	case life.Ending() && !w.conn(e.Conn).tls.Waiting():
		return flow.Tick(endingIdle)
	case !life.Proven():
		return flow.Tick(openingIdle)
	case w.o.Idle == 0:
		return math.MaxUint32
	}
	return flow.Tick(w.o.Idle)
}

// last handles a FIN or RST, or both. It counts only if it seems to be the sender's. All earlier data must have
// arrived without doubt, and it must resemble the authenticated packets. Without keys nothing can be lost, so it
// always counts.
func (w *Worker) last(s *packet.Segment, e *entry) {
	if e.Conn == 0 {
		return // the connection will end soon anyway
	}
	c, side := w.conn(e.Conn), s.Side
	fin := flow.Fin0 + flow.Event(side)
	at, x := s.Seq+uint32(len(s.Payload)+s.Missing), fin
	if s.Flags&packet.RST != 0 {
		x = flow.Rst
		life, early := e.Life(), &c.fins[side]
		late := e.Flags&(flow.Late0<<side) != 0 && early.is == fin && early.at+1 == at
		if late || life == flow.Closing || life == flow.Half0+flow.Life(side) {
			at-- // its FIN has a sequence number
		}
	} else if s.Flags&packet.SYN != 0 {
		at++
	}
	f := finish{at, held.Class{TTL: s.TTL(), Known: true, Stamped: s.Stamped()}, x}
	if c.pair.Usual[side^c.client].Sum == packet.SumGood {
		f.like.Sum = s.Sum()
	}
	switch {
	case !e.Life().Proven() && w.order.Keyless(&c.pair):
		e.Happens(flow.Rst)
	case w.isLast(c, e, side, f):
		e.Happens(x)
		return
	default:
		w.Stats.Doubtful++
	}
	if x == flow.Rst && at != e.Next[side] {
		return // no receiver accepts it (RFC 5961, section 3.2); a FIN waits for earlier data
	}
	f.like.Sum = s.Sum()
	c.fins[side] = f
	e.Flags |= flow.Late0 << side
}

// A finish is a FIN or RST that arrived before the data that it ends was read.
type finish struct {
	at   uint32
	like held.Class
	is   flow.Event
}

// isLast reports whether all data of a side before a FIN or RST was read, and the segment resembles the authenticated
// ones.
func (w *Worker) isLast(c *conn, e *entry, side uint8, f finish) bool {
	if f.at != e.Next[side] || e.Flags&(flow.Queued0<<side) != 0 {
		return false
	}
	w.dec.Flush(&c.tls)
	usual := c.pair.Usual[side^c.client]
	if f.is == flow.Rst {
		f.like.Stamped = usual.Stamped // RSTs may lack timestamps
	}
	return trusting || !c.tls.Waiting() && f.at == w.order.Confirmed(&c.pair, side^c.client) && f.like.Like(usual)
}

// late checks FINs and RSTs that arrived too early.
func (w *Worker) late(e *entry) {
	for side := range uint8(2) {
		if e.Conn == 0 || e.Flags&(flow.Late0<<side) == 0 {
			continue
		}
		c := w.conn(e.Conn)
		if f := c.fins[side]; w.isLast(c, e, side, f) {
			e.Happens(f.is)
		} else if !held.After(e.Next[side], f.at) {
			continue // the data may still arrive
		}
		e.Flags &^= flow.Late0 << side
	}
}

// over ends a connection whose last bytes both sides have acknowledged, or keeps it until its keys arrive.
func (w *Worker) over(e *entry) {
	for side := range e.Next {
		if e.Flags&(flow.Acked0<<side) == 0 || e.Acked[side] != e.Next[side]+1 {
			return
		}
	}
	w.dec.Flush(&w.conn(e.Conn).tls)
	if !w.conn(e.Conn).tls.Waiting() && e.Flags&(flow.Queued0|flow.Queued1) == 0 {
		w.end(e, flow.Over)
	}
}

// alive handles data of a connection that ends unless a record opens.
func (w *Worker) alive(s *packet.Segment, hash uint64, e *entry, seq uint32, time int64) {
	w.dec.FlushAll()
	records := w.dec.Stats.Records
	w.unusual(s, hash, e, seq, time)
	if w.dec.FlushAll(); w.dec.Stats.Records != records {
		e.Happens(flow.Opened)
	} else if e.Life() == flow.Leaving && e.Conn != 0 && !w.order.Keyless(&w.conn(e.Conn).pair) {
		e.Happens(flow.Keyed)
	}
}

// end removes a connection. x is the event that ended it.
func (w *Worker) end(e *entry, x flow.Event) {
	var rival *entry
	if e.Flags&flow.Renewing != 0 {
		rival = w.rivalOf(e)
	}
	tuple := e.Tuple
	w.finish(e, x)
	w.table.Remove(e)
	if rival != nil {
		w.succeed(rival, tuple)
	}
}

// finish delivers the remaining data, and wipes the keys.
func (w *Worker) finish(e *entry, x flow.Event) {
	if e.Conn == 0 {
		return
	}
	c := w.conn(e.Conn)
	w.closeGate(c)
	// Only keys that are already there count.
	w.dec.Expire(&c.tls)
	w.order.Retry(&c.pair, w.now, true)
	if w.order.Search(&c.pair, w.now, 0, true); w.doubted(c) {
		w.tryTurned(c, true, true)
	}
	for side := range uint8(2) {
		w.order.Finish(&c.pair, side^c.client, w.now)
		// Bytes that the receiver has but the capture lacks, without the sequence number of a FIN.
		if acked := e.Acked[side] - 1; e.Flags&(flow.Acked0<<side) != 0 &&
			held.After(acked, e.Next[side]) && acked-e.Next[side] <= held.MaxBytes {
			n := int(acked - e.Next[side])
			w.Stats.Holes++
			w.Stats.HoleBytes += uint64(n)
			e.Next[side] = acked
			w.dec.Lose(&c.tls, side^c.client, n)
		}
	}
	if c.given {
		w.reportGiven(c, true)
	}
	switch state := c.tls.State(); state {
	case tls.Unsupported:
		w.Stats.Unsupported++
		w.Stats.Undecrypted++
	case tls.Undecryptable, tls.Starting:
		w.Stats.Undecrypted++
	}
	how := e.Life().After(x)
	if c.tls.Hello() {
		w.Stats.Ends[how-flow.Ended]++
		for side := range uint8(2) {
			state, why := c.tls.Direction(side)
			w.Stats.Directions[state][why]++
		}
	}
	if w.Ended != nil {
		w.Ended(&c.flow, &c.tls, how)
	}
	w.dec.Close(&c.tls)
	w.order.Release(&c.pair)
	w.sink.End(&c.flow)
	e.Conn, c.used = 0, false
	if c.listed == 0 {
		w.release(c)
	} else if w.leaving++; !w.polling && w.leaving > 1024 && w.leaving > w.o.Flows/8 {
		w.unlist()
	}
}
