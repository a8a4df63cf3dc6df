package engine

import (
	"unsafe"

	"github.com/sealane/sealane/gateway/internal/about"
	"github.com/sealane/sealane/gateway/internal/flow"
	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/reassembly"
	"github.com/sealane/sealane/gateway/internal/tls"
)

type entry = flow.Entry[tls.Line]

// A conn is the additional state of an entry, once there is something to read. A packet that is a single record does
// not need it.
type conn struct {
	number uint32 // number of this conn
	client uint8  // the side of the tuple that is the client
	used   bool   // in the table
	listed uint8
	given  bool // its keys were given with its addresses
	linked bool // flow.Link is known
	doubt  doubt
	_      [8]byte
	tls    tls.Conn
	flow   output.Flow
	pair   reassembly.Pair
	gate   *gate // if the gateway is closed
	entry  *entry
	keys   [2]*Key   // given keys, by side of the tuple
	turned int64     // when it was last read with the sides exchanged
	fins   [2]finish // by side of the tuple, if flow.Late0 or Late1
}

// The lists that may contain a conn. It can be freed when no list contains it.
const (
	listWaiting = 1 << iota
	listQueued
)

// begin makes an entry for a new connection, or returns nil if the first packet is not useful.
func (w *Worker) begin(s *packet.Segment, hash uint64, time int64) *entry {
	syn := s.Flags&(packet.SYN|packet.RST) == packet.SYN
	hello := tls.MayBeHello(s.Payload[tls.ProxyHeader(s.Payload):], tls.Client)
	var given []*Key
	if len(w.given) > 0 {
		given = w.given[anywhere(s.Tuple)]
	}
	var before *embryo
	if given == nil && s.Tuple.Zone&rivalZone == 0 {
		if w.embryos.Count() > 0 {
			before = w.embryos.Find(hash, &s.Tuple)
		}
		if len(s.Payload) == 0 && (before != nil || w.table.Count() >= w.o.Flows/8) {
			w.embryonic(s, hash, before, time)
			return nil
		}
	}
	if before != nil {
		e := w.table.Insert(hash, &s.Tuple)
		e.Begin(before.Flags, before.Seen, before.Next, before.Acked)
		w.embryos.Remove(before)
		return e
	}
	if !syn && !hello && (given == nil || len(s.Payload) == 0) {
		if e := w.orphaned(s, hash, time); e != nil {
			return e
		}
		w.Stats.Unrelated++
		return nil
	}
	w.Stats.Flows++
	e := w.table.Insert(hash, &s.Tuple)
	e.Seen = flow.Tick(time)
	if !syn {
		// The capture started after the connection. A ClientHello is a good point to start reading.
		w.setClient(e, s.Side)
		e.Next[s.Side] = s.Seq
		e.Flags |= started(s.Side)
		if s.Flags&packet.ACK != 0 {
			e.Next[1-s.Side] = s.Ack
			e.Flags |= started(1 - s.Side)
		}
	}
	if given != nil {
		w.beginGiven(e, hash, given, time, syn)
	}
	return e
}

// An embryo is a connection without data yet. When an eighth of the table is in use, embryos get their own table,
// because a SYN costs the sender nothing.
type embryo = flow.Entry[[0]byte]

// embryonic handles a segment without data on a connection without data so far.
func (w *Worker) embryonic(s *packet.Segment, hash uint64, m *embryo, time int64) {
	if m == nil {
		if s.Flags&(packet.SYN|packet.RST) != packet.SYN {
			w.Stats.Unrelated++
			return
		}
		w.Stats.Flows++
		m = w.embryos.Insert(hash, &s.Tuple)
	}
	e := &w.newborn
	e.Tuple, e.Conn = m.Tuple, 0
	e.Begin(m.Flags, flow.Tick(time), m.Next, m.Acked)
	if s.Flags&packet.ACK != 0 {
		e.Acked[1-s.Side] = s.Ack
		e.Flags |= flow.Acked0 << (1 - s.Side)
	}
	if s.Flags&(packet.SYN|packet.RST) == packet.SYN {
		w.syn(s, e, time)
	}
	m.Begin(e.Flags, e.Seen, e.Next, e.Acked)
}

func (w *Worker) setClient(e *entry, side uint8) {
	e.Flags |= flow.ClientKnown
	e.Flags &^= flow.ClientIs1
	if side == 1 {
		e.Flags |= flow.ClientIs1
	}
}

// A segment at such a distance from the next expected byte belongs to another connection, if there may be one.
const farAway = 1 << 20

// rivalZone marks a connection that may replace another one with the same tuple.
const rivalZone = 1 << 15

// syn handles a SYN. It returns the entry of its connection, which may be another one.
//
//	             no data was sent yet                     data was sent
//	SYN          the connection starts there              a rival starts, which takes over when one of its records opens
//	SYN-ACK      starts there if it answers the SYN       applies only to the rival
func (w *Worker) syn(s *packet.Segment, e *entry, time int64) *entry {
	side := s.Side
	next := s.Seq + 1
	known := e.Flags&started(side) != 0
	switch {
	case e.Conn != 0:
		if c := w.conn(e.Conn); s.Flags&packet.ACK != 0 {
			c.pair.Maybe(side^c.client, next)
			if !known {
				// Only the other side sent data, or someone forged data in its name.
				e.Next[side] = next
				e.Flags |= started(side)
			}
		}
		if known && e.Next[side] != next && s.Flags&packet.ACK == 0 {
			w.Stats.Doubtful++
			if e.Tuple.Zone&rivalZone == 0 {
				e.Flags |= flow.Renewing
			} else if w.conn(e.Conn).tls.State() != tls.Readable {
				// A rival that has not been read has no priority.
				tuple := e.Tuple
				w.end(e, flow.Over)
				w.Stats.Flows++
				e = w.table.Insert(tuple.Hash(), &tuple)
				e.Seen, e.Next[side] = flow.Tick(time), next
				e.Flags |= started(side)
				w.setClient(e, side)
			}
		}
	case s.Flags&packet.ACK == 0:
		if known && e.Next[side] != next {
			e.Flags &^= flow.Started0 | flow.Started1 | flow.Ignored
		}
		w.setClient(e, side)
		e.Next[side] = next
		e.Flags |= started(side)
	default:
		if !known || s.Ack == e.Next[1-side] {
			e.Next[side] = next
			e.Flags |= started(side)
		}
		if e.Flags&flow.ClientKnown == 0 {
			w.setClient(e, 1-side)
		}
		if e.Flags&started(1-side) == 0 {
			e.Next[1-side] = s.Ack
			e.Flags |= started(1 - side)
		}
	}
	return e
}

// rivalOf returns the connection that may replace another, or nil.
func (w *Worker) rivalOf(e *entry) *entry {
	tuple := e.Tuple
	tuple.Zone |= rivalZone
	return w.table.Find(tuple.Hash(), &tuple)
}

// renew also gives a segment to the rival of a connection. When a record of the rival opens, the rival takes over.
func (w *Worker) renew(s *packet.Segment, hash uint64, e *entry, time int64) {
	t := *s
	t.Tuple.Zone |= rivalZone
	rivalHash := t.Tuple.Hash()
	rival := w.table.Find(rivalHash, &t.Tuple)
	// The rival gets segments that cannot belong to this connection.
	far := s.Seq - e.Next[s.Side] + farAway
	if s.Flags&packet.SYN == 0 && (far < 2*farAway || rival == nil) || rival == nil && s.Flags&(packet.ACK|packet.RST) != 0 {
		return
	}
	w.segment(&t, rivalHash, rival, time)
	if rival = w.table.Find(rivalHash, &t.Tuple); rival == nil || rival.Conn == 0 || e.Conn == 0 {
		return
	}
	switch r := w.conn(rival.Conn); {
	case !r.tls.Hello():
	case r.tls.Random() == w.conn(e.Conn).tls.Random():
		w.end(rival, flow.Over) // it is the same connection
		e.Flags &^= flow.Renewing
	case r.tls.State() == tls.Readable:
		w.end(e, flow.Over)
	}
}

// succeed replaces a connection, which has ended, by its rival.
func (w *Worker) succeed(rival *entry, tuple packet.Tuple) {
	w.dec.FlushAll()
	moved := *rival
	moved.Tuple = tuple
	w.table.Remove(rival)
	hash := tuple.Hash()
	e := w.table.Insert(hash, &tuple)
	*e = moved
	if e.Conn == 0 {
		return
	}
	c := w.conn(e.Conn)
	w.attach(c, e)
	for side := range e.Side {
		c.tls.Move(uint8(side)^c.client, &e.Side[side])
	}
}

// open gives an entry the state for TLS.
func (w *Worker) open(e *entry) {
	if len(w.free) == 0 {
		w.grow()
	}
	n := len(w.free)
	c := w.free[n-1]
	w.free = w.free[:n-1]
	*c = conn{number: c.number}
	c.used = true
	if e.Flags&flow.ClientIs1 != 0 {
		c.client = 1
	}
	for side := range e.Side {
		c.tls.Attach(uint8(side)^c.client, &e.Side[side])
	}
	client := e.Tuple.Endpoint(c.client)
	c.flow = output.Flow{
		Client: client, Server: e.Tuple.Endpoint(1 - c.client),
		IPv6: client.Addr().Is6(), Time: &w.dec.Mark,
	}
	if w.o.About {
		c.flow.About = &about.Connection{Chain: w.o.Chain}
	}
	e.Conn = c.number
	c.pair.TLS = &c.tls
	w.attach(c, e)
	if w.o.Gate != nil {
		w.openGate(c)
	}
}

// attach links a conn to its entry.
func (w *Worker) attach(c *conn, e *entry) {
	c.entry = e
	for side := range e.Next {
		c.pair.Next[uint8(side)^c.client] = &e.Next[side]
	}
}

// link records the Ethernet addresses.
func (c *conn) link(s *packet.Segment) {
	if c.linked || s.Link == nil {
		return
	}
	c.linked, c.flow.Link = true, [12]byte(s.Link)
	if s.Side != c.client {
		copy(c.flow.Link[:6], s.Link[6:])
		copy(c.flow.Link[6:], s.Link[:6])
	}
}

// ignore discards the state of a connection, and marks it as ignored.
func (w *Worker) ignore(e *entry) {
	w.Stats.Ignored++
	w.finish(e, flow.Over)
	e.Flags |= flow.Ignored
}

// unlist removes ended connections from the lists if there are many, because the time may not advance.
func (w *Worker) unlist() {
	w.leaving = 0
	for _, l := range []struct {
		list *[]*conn
		bit  uint8
	}{{&w.waiting, listWaiting}, {&w.queued, listQueued}} {
		kept := (*l.list)[:0]
		for _, c := range *l.list {
			if c.used {
				kept = append(kept, c)
			} else if c.listed &^= l.bit; c.listed == 0 {
				w.release(c)
			}
		}
		clear((*l.list)[len(kept):])
		*l.list = kept
	}
}

func (w *Worker) release(c *conn) { w.free = append(w.free, c) }

// grow makes room for more connections. The memory is kept; it never exceeds what the table needs.
func (w *Worker) grow() {
	slab := make([]conn, 1<<w.shift)
	flow.Huge(slab)
	for i := len(slab) - 1; i >= 0; i-- {
		slab[i].number = uint32(len(w.conns)<<w.shift + i + 1)
		w.free = append(w.free, &slab[i])
	}
	w.conns = append(w.conns, slab)
}

// conn returns the connection with a number; numbers start at 1.
func (w *Worker) conn(number uint32) *conn {
	number--
	return &w.conns[number>>w.shift][number&(1<<w.shift-1)]
}

// Checks that the cache lines of tls.Conn are aligned in a conn.
var _ = [1]struct{}{}[flow.Wide*((unsafe.Offsetof(conn{}.tls)+tls.Before)%flow.Line+unsafe.Sizeof(conn{})%flow.Line)]

// connOf returns the conn that contains c.
func connOf(c *tls.Conn) *conn {
	return (*conn)(unsafe.Add(unsafe.Pointer(c), -int(unsafe.Offsetof(conn{}.tls))))
}
