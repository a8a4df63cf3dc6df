// Package engine takes frames to plaintext: it parses them, finds their connection, puts segments in order, and has the
// records opened. Each core has a Worker of its own, and shares nothing with the others but the store of keys.
package engine

import (
	"unsafe"

	"github.com/sealane/sealane/gateway/internal/about"
	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/flow"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/reassembly"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// Options of a Worker. The zero value of each field stands for what DefaultOptions has, but for KeyWait.
type Options struct {
	Flows    int   // connections in the table
	Room     int   // for so many memory is taken at once; the table grows to Flows
	KeyWait  int64 // how long ciphertext waits for keys, in nanoseconds; 0: keys are all there
	HoleWait int64 // how long later segments wait for an earlier one
	Idle     int64 // a connection without packets for so long is over
	Queued   int   // bytes of segments held out of order, of all connections
	TLS      tls.Limits
	Keys     *Keys // given with addresses, or nil
	Memory   int   // bytes that all connections may hold of what is not read yet; 0: as much as Queued and TLS allow each for itself
	Gate     *Gate // forward what is read, and nothing else but what rules allow; or nil

	OneNetwork bool // see packet.Parser
	About      bool // have output.Flow.About
	// Chain, if set, gets the certificates of connections: see about.Connection.
	Chain func(fingerprint string, certificates [][]byte)
}

// DefaultOptions are for files.
var DefaultOptions = Options{
	Flows: 1 << 16, HoleWait: 2e9, Idle: 300e9, Queued: 64 << 20, TLS: tls.DefaultLimits,
}

// A connection without a handshake, as SYN floods leave, is given up sooner.
const embryonicIdle = 30e9

// So does one that a FIN or RST may have ended.
const closingIdle = 5e9

// What the receiver has not acknowledged is waited for so many times longer.
const patience = 10

// Stats count what a Worker saw.
type Stats struct {
	Frames      uint64
	Bytes       uint64 // of frames
	Verdicts    [packet.Verdicts]uint64
	Flows       uint64 // connections seen to begin
	Ignored     uint64 // of these, not TLS
	Active      uint64 // in the table now
	Evicted     uint64 // removed because the table was full
	Decrypted   uint64 // with at least one record opened
	Undecrypted uint64 // TLS, ended without a record opened
	Unsupported uint64 // of these, with a version or suite that has no AEAD here
	Unrelated   uint64 // segments of no connection
	Waiting     uint64 // connections that had to wait for keys
	Late        uint64 // of these, keys came in time
	Cut         uint64 // bytes of payload that the capture left out
	Reclaims    uint64 // times that the budget of memory was used up
	Paid        uint64 // connections that lost something by that
	Doubtful    uint64 // FINs, RSTs and SYNs that may be forged
	// Directions of connections that were TLS at their end: what state they were in, and why what was lost of them was.
	Directions [tls.Directions][tls.Reasons]uint64
	Gate       GateStats
	Prefaced   uint64 // connections that began with something else before TLS: a PROXY header, or STARTTLS, CONNECT and the like
	Tunnels    packet.TunnelStats
	Fragments  packet.FragmentStats
	reassembly.Stats
	TLS tls.Stats
}

type entry = flow.Entry[tls.Line]

// conn is what hangs on an entry, once there is something to read. A packet that is one record does without it.
type conn struct {
	number uint32 // of this
	client uint8  // the side of the tuple that is the client
	used   bool   // in the table
	listed uint8
	given  bool // its keys came with its addresses
	linked bool // flow.Link is known
	_      [8]byte
	tls    tls.Conn
	flow   output.Flow
	pair   reassembly.Pair
	gate   *gate // if the gateway is closed
	entry  *entry
	tuple  packet.Tuple
	hash   uint64
	keys   [2]*Key // given, by side of the tuple
}

// The lists that a conn can be on; it may be freed when it is on none.
const (
	listWaiting = 1 << iota
	listQueued
)

const lotFrames = 32

// A Worker belongs to one goroutine.
type Worker struct {
	Stats Stats

	// Opened and Ended, if set, are told about connections that are decrypted.
	Opened func(f *output.Flow, suite, version uint16)
	Ended  func(f *output.Flow, c *tls.Conn)

	// Ring is where the frames of Frames come from, for a Gate.
	Ring uint8

	o         Options
	table     *flow.Table[tls.Line]
	embryos   *flow.Table[[0]byte] // connections without data
	dec       *tls.Decrypter
	sink      output.Sink
	order     *reassembly.Reassembler
	clock     clock
	now       int64 // by clock
	swept     int64
	polled    int64
	changes   uint64
	waiting   []*conn
	queued    []*conn
	free      []*conn
	conns     [][]conn
	shift     uint // of their numbers, to slabs
	given     map[packet.Tuple][]*Key
	givenSeen uint64
	reported  int64
	parser    packet.Parser
	lots      [4]lot
	lines     [2 * lotFrames]unsafe.Pointer
	newborn   entry
	holders   []holder // of reclaim
	gateBytes int
	polling   bool    // the lists are gone through
	leaving   int     // connections that are over and in a list, at most
	dirty     []*gate // something of them may pass
	stalled   []*gate // a record of them is not whole
	freeGates []*gate
}

// NewWorker returns a Worker that takes secrets from store and gives plaintext to sink.
func NewWorker(store *keys.Store, sink output.Sink, o Options) *Worker {
	def := DefaultOptions
	def.KeyWait = o.KeyWait
	def.Room = o.Room
	if o.Flows > 0 {
		def.Flows = o.Flows
	}
	if o.HoleWait > 0 {
		def.HoleWait = o.HoleWait
	}
	if o.Idle > 0 {
		def.Idle = o.Idle
	}
	if o.Queued > 0 {
		def.Queued = o.Queued
	}
	if o.TLS != (tls.Limits{}) {
		def.TLS = o.TLS
	}
	w := &Worker{
		o: def, sink: sink, table: flow.New[tls.Line](def.Flows, def.Room), dec: tls.NewDecrypter(store),
		embryos: flow.New[[0]byte](max(def.Flows/4, 16), 0),
	}
	for w.shift = 4; w.shift < 15 && 16<<w.shift < def.Flows; {
		w.shift++
	}
	if w.o.Memory = o.Memory; o.Memory > 0 {
		// None of these may be the first that is full.
		w.o.Queued, w.o.TLS.Held, w.o.TLS.Partial = 2*o.Memory, 2*o.Memory, 2*o.Memory
		def = w.o
	}
	w.order = reassembly.New(w.dec, def.Queued)
	w.dec.Disputed = func(c *tls.Conn) {
		if c := connOf(c); c.used {
			c.entry.Flags |= flow.Queued0 | flow.Queued1
			w.list(c)
		}
	}
	w.dec.Limits = def.TLS
	w.dec.Wait = def.KeyWait > 0
	w.dec.Batch = true
	w.dec.Plaintext = func(c *tls.Conn, side uint8, data []byte) {
		w.sink.Data(&connOf(c).flow, side, data)
	}
	w.dec.Lost = func(c *tls.Conn, side uint8, n int) {
		w.sink.Gap(&connOf(c).flow, side, n)
	}
	w.dec.Opened = func(c *tls.Conn) {
		w.Stats.Decrypted++
		connOf(c).entry.Flags |= flow.Proven
		if w.Opened != nil {
			suite, version := c.Suite()
			w.Opened(&connOf(c).flow, suite, version)
		}
	}
	if w.o.Gate = o.Gate; o.Gate != nil {
		w.dec.Read = func(c *tls.Conn, side uint8, record []byte) { w.gateRead(connOf(c), side, record) }
		w.dec.Again = func(c *tls.Conn, side uint8) { w.gateAgain(connOf(c), side) }
		w.dec.Hello = func(c *tls.Conn, body []byte) { w.gateHello(connOf(c), body) }
	}
	w.parser.OneNetwork = o.OneNetwork
	if w.o.About, w.o.Chain = o.About, o.Chain; o.About {
		w.tellAbout(store)
	}
	if w.o.Keys = o.Keys; o.Keys != nil {
		o.Keys.join(w)
	}
	w.embryos.Evict = func(*embryo) { w.Stats.Evicted++ }
	w.table.Evict = func(e *entry) {
		w.Stats.Evicted++
		w.finish(e)
	}
	return w
}

// A lot is some packets on their way through the steps of Frames.
type lot struct {
	frames   []capture.Frame
	segments [lotFrames]packet.Segment
	hashes   [lotFrames]uint64
	entries  [lotFrames]*entry
	verdicts [lotFrames]packet.Verdict
}

// Frames handles frames, in their order.
//
// Each lot of a few dozen goes through four steps, and each asks memory for what the next one needs, which comes while other
// lots go through theirs: the index of the table, connections, and what they need besides.
func (w *Worker) Frames(frames []capture.Frame) {
	const steps = len(w.lots)
	n := (len(frames) + lotFrames - 1) / lotFrames
	for i := range n + steps - 1 {
		if i < n {
			l := &w.lots[i%steps]
			l.frames = frames[i*lotFrames : min((i+1)*lotFrames, len(frames))]
			w.parse(l, frames[min((i+1)*lotFrames, len(frames)):])
		}
		if i >= 1 && i-1 < n {
			w.locate(&w.lots[(i-1)%steps])
		}
		if i >= 2 && i-2 < n {
			w.ready(&w.lots[(i-2)%steps])
		}
		if i >= 3 {
			w.handle(&w.lots[(i-3)%steps], &w.lots[(i-2)%steps])
		}
	}
	w.dec.FlushAll()
	if w.o.Gate != nil {
		w.settleGates()
	}
	w.parser.Release()
}

// parse is the first step.
func (w *Worker) parse(l *lot, later []capture.Frame) {
	lines := w.lines[:0]
	for i := range later[:min(lotFrames, len(later))] {
		if f := later[i].Data; len(f) > 64 {
			lines = append(lines, unsafe.Pointer(&f[0]), unsafe.Pointer(&f[64]))
		}
	}
	flow.Prefetch(lines)
	lines = lines[:0]
	now := w.now
	if now == 0 && len(l.frames) > 0 {
		now = l.frames[0].Time
	}
	for i := range l.frames {
		s := &l.segments[i]
		l.verdicts[i] = w.parser.Parse(s, l.frames[i].Link, l.frames[i].Data, now)
		if l.verdicts[i] == packet.TCP {
			l.hashes[i] = s.Tuple.Hash()
			lines = append(lines, w.table.Home(l.hashes[i]))
		}
	}
	flow.Prefetch(lines)
}

// locate is the second step.
func (w *Worker) locate(l *lot) {
	lines := w.lines[:0]
	for i := range l.frames {
		if l.verdicts[i] != packet.TCP {
			continue
		}
		e := w.table.Likely(l.hashes[i])
		l.entries[i] = e
		if e != nil {
			lines = append(lines, unsafe.Pointer(e))
			if s := &l.segments[i]; len(s.Payload) > 0 {
				lines = append(lines, unsafe.Pointer(&e.Side[s.Side]))
			}
		}
	}
	flow.Prefetch(lines)
}

// ready is the third step.
func (w *Worker) ready(l *lot) {
	for i := range l.frames {
		if s := &l.segments[i]; l.verdicts[i] == packet.TCP && len(s.Payload) > 0 {
			if e := l.entries[i]; e != nil && e.Conn != 0 {
				w.dec.Ahead(&e.Side[s.Side], &w.conn(e.Conn).tls)
			}
		}
	}
}

// handle is the fourth step. With each packet it asks for the payload of one of the next lot.
func (w *Worker) handle(l, next *lot) {
	for i := range l.frames {
		if i < len(next.frames) && next.verdicts[i] == packet.TCP {
			flow.PrefetchBytes(next.segments[i].Payload[:min(len(next.segments[i].Payload), 4096)])
		}
		f := &l.frames[i]
		w.Stats.Frames++
		w.Stats.Bytes += uint64(len(f.Data))
		w.Stats.Verdicts[l.verdicts[i]]++
		w.now = w.clock.pass(f.Time)
		if l.verdicts[i] != packet.TCP {
			if w.o.Gate != nil {
				w.pass(f, &l.segments[i], false, 0)
			}
			continue
		}
		s := &l.segments[i]
		e := l.entries[i]
		if !e.Is(&s.Tuple) {
			e = w.table.Find(l.hashes[i], &s.Tuple)
		}
		w.dec.Mark = f.Time
		w.segment(s, l.hashes[i], e, w.now)
		if w.o.Gate != nil {
			w.pass(f, s, true, l.hashes[i])
		}
		if w.o.Memory > 0 && w.held() > w.o.Memory {
			w.reclaim()
		}
	}
	l.frames = nil
	w.due()
}

func started(side uint8) uint16 { return flow.Started0 << side }
func ended(side uint8) uint16   { return flow.Fin0 << side }

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
	if s.Flags&(packet.SYN|packet.RST) != 0 {
		if e = w.control(s, hash, e, time); e == nil {
			return
		}
	}
	if s.Missing > 0 {
		w.Stats.Cut += uint64(s.Missing)
	}
	if len(s.Payload) > 0 {
		seq := s.Seq
		if s.Flags&packet.SYN != 0 {
			seq++ // TCP fast open
		}
		// The usual case: the segment is the one that is due.
		if e.Conn != 0 && seq == e.Next[side] && e.Flags&(started(side)|flow.Queued0<<side) == started(side) {
			e.Next[side] += uint32(len(s.Payload))
			if c := w.conn(e.Conn); !w.dec.Take(&e.Side[side], &c.tls, s.Payload) {
				w.dec.Feed(&c.tls, side^c.client, s.Payload)
				w.fed(c)
			}
		} else {
			w.unusual(s, hash, e, seq, time)
		}
	}
	if s.Flags&packet.FIN != 0 {
		w.fin(s, e)
	}
	if e.Flags&finished == finished {
		w.over(e)
	} else if e.Flags&flow.Renewing != 0 {
		w.renew(s, hash, e, time)
	}
}

// fed is called when TLS got bytes.
func (w *Worker) fed(c *conn) {
	if (c.tls.Waiting() || c.pair.Contested()) && c.listed&listWaiting == 0 {
		c.listed |= listWaiting
		c.tls.Since = w.now
		w.waiting = append(w.waiting, c)
		if c.tls.Waiting() {
			w.Stats.Waiting++
		}
	}
}

// begin makes an entry for a connection that is new, or returns nil if its first packet says nothing of use.
func (w *Worker) begin(s *packet.Segment, hash uint64, time int64) *entry {
	syn := s.Flags&(packet.SYN|packet.RST) == packet.SYN
	hello := tls.LooksLikeClientHello(s.Payload[tls.ProxyHeader(s.Payload):])
	var given []*Key
	if len(w.given) > 0 {
		given = w.given[anywhere(s.Tuple)]
	}
	var before *embryo
	if given == nil && s.Tuple.Zone&rivalZone == 0 {
		if w.embryos.Count() > 0 {
			before = w.embryos.Find(hash, &s.Tuple)
		}
		if len(s.Payload) == 0 {
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
		w.Stats.Unrelated++
		return nil
	}
	w.Stats.Flows++
	e := w.table.Insert(hash, &s.Tuple)
	e.Seen = flow.Tick(time)
	if !syn {
		// The capture began after the connection. A ClientHello is a good place to join.
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

// An embryo is a connection of which no data came. There is a table of its own for them, since nothing is cheaper than a SYN.
type embryo = flow.Entry[[0]byte]

// embryonic handles a segment without data of a connection that has none yet.
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
	*e = entry{Tuple: m.Tuple}
	e.Begin(m.Flags, flow.Tick(time), m.Next, m.Acked)
	if s.Flags&packet.ACK != 0 {
		e.Acked[1-s.Side] = s.Ack
		e.Flags |= flow.Acked0 << (1 - s.Side)
	}
	if s.Flags&(packet.SYN|packet.RST) != 0 {
		w.control(s, hash, e, time)
	}
	if s.Flags&packet.FIN != 0 {
		w.fin(s, e)
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

// What is so far from the bytes that are due is of another connection, if there may be one.
const farAway = 1 << 20

// rivalZone marks the connection that may take the place of another with the same tuple.
const rivalZone = 1 << 15

// control handles SYN and RST. It returns nil if the connection is over.
//
//	             nothing was sent yet                     data was sent
//	RST          over if nothing more comes for a while   over if nothing more comes for a while
//	SYN          the connection begins there              a rival begins, which takes over when a record of it opens
//	SYN-ACK      if it answers the SYN, begins there      for the rival only
func (w *Worker) control(s *packet.Segment, hash uint64, e *entry, time int64) *entry {
	side := s.Side
	if s.Flags&packet.RST != 0 {
		w.Stats.Doubtful++
		e.Flags |= flow.Closing
		return e
	}
	next := s.Seq + 1
	known := e.Flags&started(side) != 0
	switch {
	case e.Conn != 0:
		if c := w.conn(e.Conn); s.Flags&packet.ACK != 0 {
			c.pair.Maybe(side^c.client, next)
		}
		if known && e.Next[side] != next && s.Flags&packet.ACK == 0 {
			w.Stats.Doubtful++
			if e.Tuple.Zone&rivalZone == 0 {
				e.Flags |= flow.Renewing
			} else if w.conn(e.Conn).tls.State() != tls.Readable {
				// A rival of which nothing was read has no rights.
				tuple := e.Tuple
				w.end(e)
				w.Stats.Flows++
				e = w.table.Insert(hash, &tuple)
				e.Seen, e.Next[side] = flow.Tick(time), next
				e.Flags |= started(side)
				w.setClient(e, side)
			}
		}
	case s.Flags&packet.ACK == 0:
		if known && e.Next[side] != next {
			e.Flags &^= flow.Started0 | flow.Started1 | finished | flow.Ignored
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

// rivalOf returns the connection that may take the place of another, or nil.
func (w *Worker) rivalOf(e *entry) *entry {
	tuple := e.Tuple
	tuple.Zone |= rivalZone
	return w.table.Find(tuple.Hash(), &tuple)
}

// renew gives a segment to the rival of a connection as well. Once a record of the rival opens, it takes over.
func (w *Worker) renew(s *packet.Segment, hash uint64, e *entry, time int64) {
	t := *s
	t.Tuple.Zone |= rivalZone
	rivalHash := t.Tuple.Hash()
	rival := w.table.Find(rivalHash, &t.Tuple)
	// It gets what can be none of this connection.
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
		w.end(rival) // it is the same again
		e.Flags &^= flow.Renewing
	case r.tls.State() == tls.Readable:
		w.end(e)
	}
}

// succeed gives a rival the place of its connection, which is over.
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
	c.tuple, c.hash = tuple, hash
	w.attach(c, e)
	for side := range e.Side {
		c.tls.Move(uint8(side)^c.client, &e.Side[side])
	}
}

// unusual handles a segment that is not simply the next one.
func (w *Worker) unusual(s *packet.Segment, hash uint64, e *entry, seq uint32, time int64) {
	side := s.Side
	p := s.Payload
	if e.Conn == 0 && e.Flags&flow.Ignored == 0 && seq == e.Next[side] && e.Flags&started(side) != 0 {
		if n := tls.ProxyHeader(p); n > 0 {
			// A balancer says whose connection it is. What follows begins another stream.
			w.Stats.Prefaced++
			e.Next[side] += uint32(n)
			if seq, p = seq+uint32(n), p[n:]; len(p) == 0 {
				return
			}
		}
	}
	if e.Flags&flow.Ignored != 0 || e.Conn == 0 {
		hello := len(p) >= 6 && tls.LooksLikeClientHello(p) ||
			seq == e.Next[side] && p[0] == 22 && (len(p) < 3 || tls.LooksLikeClientHello(p)) && e.Flags&flow.Ignored != 0
		if e.Flags&flow.Ignored != 0 {
			if !hello {
				return
			}
			// It was not TLS until now, or not all that came was of the connection.
			e.Flags &^= flow.Ignored
			w.Stats.Ignored--
			w.Stats.Prefaced++
		}
		if hello {
			// Whatever the SYN said.
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
		// Neither SYN nor an acknowledgement of it was captured.
		if !tls.LooksLikeClientHello(p) && e.Flags&flow.ClientKnown == 0 {
			w.ignore(e)
			return
		}
		e.Next[side] = seq
		e.Flags |= started(side)
	}
	if e.Conn == 0 {
		if seq == e.Next[side] && (p[0] != 22 || len(p) > 1 && p[1] != 3) {
			w.ignore(e) // all of TLS begins with a handshake record
			return
		}
		w.open(e, hash, time)
		w.order.Begin(&w.conn(e.Conn).pair)
	}
	c := w.conn(e.Conn)
	c.link(s)
	w.order.Segment(&c.pair, side^c.client, seq, p, reassembly.ClassOf(s), w.now)
	w.fed(c)
	w.mark(c, e)
	if c.tls.State() == tls.NotTLS && !c.tls.Hello() && !c.pair.Contested() {
		for side := range uint8(2) {
			if at, ok := c.pair.Origin(side ^ c.client); ok {
				e.Next[side] = at // what is there may come yet
			}
		}
		w.ignore(e)
	}
}

// mark says in the entry whether segments are held.
func (w *Worker) mark(c *conn, e *entry) {
	e.Flags &^= flow.Queued0 | flow.Queued1
	for side := range uint8(2) {
		if s := side ^ c.client; !c.pair.Idle(s) {
			e.Flags |= flow.Queued0 << side
			if c.pair.Stalled(s) || c.tls.InDispute(s) {
				w.list(c)
			}
		}
	}
}

// list has a connection looked at from time to time, because something is missing.
func (w *Worker) list(c *conn) {
	if c.listed&listQueued == 0 {
		c.listed |= listQueued
		w.queued = append(w.queued, c)
	}
}

// fin notes that a side says it has sent its last byte. It has if all before is here, and the packet is like those that were
// authenticated.
func (w *Worker) fin(s *packet.Segment, e *entry) {
	side := s.Side
	if e.Conn == 0 {
		e.Flags |= ended(side)
		return
	}
	c := w.conn(e.Conn)
	at := s.Seq + uint32(len(s.Payload)+s.Missing)
	if s.Flags&packet.SYN != 0 {
		at++
	}
	if at == e.Next[side] && e.Flags&(flow.Queued0<<side) == 0 && reassembly.ClassOf(s).Like(c.pair.Usual[side^c.client]) {
		e.Flags |= ended(side)
		return
	}
	w.Stats.Doubtful++
	e.Flags |= flow.Closing
}

const finished = flow.Fin0 | flow.Fin1

// over ends a connection whose sides have said so and have acknowledged it, or leaves it until its keys come.
func (w *Worker) over(e *entry) {
	if e.Conn == 0 {
		e.Flags |= flow.Closing
		return
	}
	for side := range e.Next {
		if e.Flags&(flow.Acked0<<side) == 0 || e.Acked[side] != e.Next[side]+1 {
			return
		}
	}
	w.dec.Flush(&w.conn(e.Conn).tls)
	if !w.conn(e.Conn).tls.Waiting() && e.Flags&(flow.Queued0|flow.Queued1) == 0 {
		w.end(e)
	}
}

// open gives an entry the state that TLS needs.
func (w *Worker) open(e *entry, hash uint64, time int64) {
	if len(w.free) == 0 {
		w.grow()
	}
	n := len(w.free)
	c := w.free[n-1]
	w.free = w.free[:n-1]
	*c = conn{number: c.number}
	c.tuple, c.hash, c.used = e.Tuple, hash, true
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

// attach tells a connection where its entry is.
func (w *Worker) attach(c *conn, e *entry) {
	c.entry = e
	for side := range e.Next {
		c.pair.Next[uint8(side)^c.client] = &e.Next[side]
	}
}

// link notes the Ethernet addresses.
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

// ignore forgets all of a connection but that there is nothing to do.
func (w *Worker) ignore(e *entry) {
	w.Stats.Ignored++
	w.finish(e)
	e.Flags |= flow.Ignored
}

// end removes a connection.
func (w *Worker) end(e *entry) {
	var rival *entry
	if e.Flags&flow.Renewing != 0 {
		rival = w.rivalOf(e)
	}
	tuple := e.Tuple
	w.finish(e)
	w.table.Remove(e)
	if rival != nil {
		w.succeed(rival, tuple)
	}
}

// finish delivers what can still be had and wipes the keys.
func (w *Worker) finish(e *entry) {
	if e.Conn == 0 {
		return
	}
	c := w.conn(e.Conn)
	w.closeGate(c)
	for side := range uint8(2) {
		w.order.Finish(&c.pair, side^c.client, w.now)
		// What the receiver has and the capture lacks, but for the number that a FIN takes.
		if acked := e.Acked[side] - 1; e.Flags&(flow.Acked0<<side) != 0 && e.Flags&ended(side) == 0 &&
			reassembly.After(acked, e.Next[side]) && acked-e.Next[side] <= reassembly.MaxBytes {
			n := int(acked - e.Next[side])
			w.Stats.Holes++
			w.Stats.HoleBytes += uint64(n)
			e.Next[side] = acked
			w.dec.Lose(&c.tls, side^c.client, n)
		}
	}
	w.dec.Expire(&c.tls)
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
	if c.tls.Hello() {
		for side := range uint8(2) {
			state, why := c.tls.Direction(side)
			w.Stats.Directions[state][why]++
		}
	}
	if w.Ended != nil {
		w.Ended(&c.flow, &c.tls)
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

// unlist takes connections that are over out of the lists, if there are many, as time may stand still.
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

// grow makes room for more connections. The memory stays: there is never more of it than the table asked for.
func (w *Worker) grow() {
	slab := make([]conn, 1<<w.shift)
	flow.Huge(slab)
	for i := len(slab) - 1; i >= 0; i-- {
		slab[i].number = uint32(len(w.conns)<<w.shift + i + 1)
		w.free = append(w.free, &slab[i])
	}
	w.conns = append(w.conns, slab)
}

// conn returns the connection with a number, which begin with 1.
func (w *Worker) conn(number uint32) *conn {
	number--
	return &w.conns[number>>w.shift][number&(1<<w.shift-1)]
}

// The lines of tls.Conn are lines.
var _ = [1]struct{}{}[(unsafe.Offsetof(conn{}.tls)+tls.Before)%flow.Line+unsafe.Sizeof(conn{})%flow.Line]

// connOf returns what a connection is part of.
func connOf(c *tls.Conn) *conn {
	return (*conn)(unsafe.Add(unsafe.Pointer(c), -int(unsafe.Offsetof(conn{}.tls))))
}

// Tick does what is due at a time: it gives up waiting for keys and segments, and looks for idle connections. Frames
// calls it with the time of packets.
func (w *Worker) Tick(now int64) {
	w.now = w.clock.pass(now)
	w.due()
}

func (w *Worker) due() {
	if now := w.now; now-w.polled >= 1e6 {
		w.polled = now
		w.pollGiven()
		if len(w.given) > 0 && now-w.reported >= 1e8 {
			w.reported = now
			for tuple := range w.given {
				if e := w.findAnywhere(tuple); e != nil && e.Conn != 0 && w.conn(e.Conn).given {
					w.reportGiven(w.conn(e.Conn), false)
				}
			}
		}
		w.polling = true
		if len(w.waiting) > 0 {
			w.pollWaiting(now)
		}
		if len(w.queued) > 0 {
			w.pollQueued(now)
		}
		w.polling, w.leaving = false, 0
		if w.o.Gate != nil {
			w.settleGates()
			w.pollStalled(now)
		}
		// The whole table is looked at about once in ten seconds.
		const round = 10e9
		if n := int64(w.table.Made()) * min(now-w.swept, round) / round; n > 0 {
			w.swept = now
			w.table.Sweep(int(n), flow.Tick(now), w.age, w.end)
			w.embryos.Sweep(int(n), flow.Tick(now), func(m *embryo) uint32 {
				if m.Flags&flow.Closing != 0 || m.Flags&finished == finished {
					return flow.Tick(closingIdle)
				}
				return flow.Tick(embryonicIdle)
			}, w.embryos.Remove)
		}
	}
}

func (w *Worker) age(e *entry) uint32 {
	if e.Conn == 0 && e.Flags&flow.Closing == 0 {
		return flow.Tick(embryonicIdle)
	}
	if e.Conn == 0 {
		return flow.Tick(closingIdle)
	}
	if e.Flags&(flow.Closing|flow.Fin0|flow.Fin1) != 0 && !w.conn(e.Conn).tls.Waiting() {
		return flow.Tick(closingIdle)
	}
	return flow.Tick(w.o.Idle)
}

func (w *Worker) pollWaiting(now int64) {
	changes := w.dec.Store.Changes()
	news := changes != w.changes
	w.changes = changes
	kept := w.waiting[:0]
	for _, c := range w.waiting {
		if c.used {
			if news {
				w.dec.Mark = w.clock.last
				w.dec.Retry(&c.tls)
				w.order.Retry(&c.pair, now)
				w.mark(c, c.entry)
			}
			switch {
			case !c.tls.Waiting() && !c.pair.Contested():
				w.Stats.Late++
			case now-c.tls.Since >= w.o.KeyWait:
				w.dec.Expire(&c.tls)
				w.order.Retry(&c.pair, now)
				w.mark(c, c.entry)
			default:
				kept = append(kept, c)
				continue
			}
			if c.entry.Flags&finished == finished {
				w.over(c.entry)
			}
		}
		c.listed &^= listWaiting
		if !c.used && c.listed == 0 {
			w.release(c)
		}
	}
	clear(w.waiting[len(kept):])
	w.waiting = kept
}

func (w *Worker) pollQueued(now int64) {
	kept := w.queued[:0]
	for _, c := range w.queued {
		if c.used {
			e := c.entry
			w.dec.Mark = w.clock.last
			for side := range uint8(2) {
				if c.pair.Stalled(side) || c.tls.InDispute(side) {
					wait := w.o.HoleWait
					if of := side ^ c.client; e.Flags&(flow.Acked0<<of) != 0 && !reassembly.After(e.Acked[of], e.Next[of]) {
						wait *= patience // the receiver has not got it either: it will be sent again
					}
					w.order.Tick(&c.pair, side, now, wait)
				}
			}
			w.mark(c, e)
			if c.pair.Stalled(0) || c.pair.Stalled(1) || c.tls.InDispute(0) || c.tls.InDispute(1) {
				kept = append(kept, c)
				continue
			}
			if e.Flags&finished == finished {
				w.over(e)
			}
		}
		c.listed &^= listQueued
		if !c.used && c.listed == 0 {
			w.release(c)
		}
	}
	clear(w.queued[len(kept):])
	w.queued = kept
}

// Close ends all connections.
func (w *Worker) Close() {
	w.table.All(func(e *entry) { w.finish(e) })
	w.sink.Flush()
	w.Snapshot()
}

// Snapshot brings Stats up to date.
func (w *Worker) Snapshot() Stats {
	w.Stats.Active = uint64(w.table.Count() + w.embryos.Count())
	w.Stats.TLS = w.dec.Stats
	w.Stats.Stats = w.order.Stats
	w.Stats.Tunnels, w.Stats.Fragments = w.parser.Tunnels, w.parser.Fragments
	return w.Stats
}

// Add adds the counts of another worker.
func (s *Stats) Add(o *Stats) {
	// All fields are counts, one behind the other.
	const n = unsafe.Sizeof(Stats{}) / 8
	to, from := (*[n]uint64)(unsafe.Pointer(s)), (*[n]uint64)(unsafe.Pointer(o))
	for i := range to {
		to[i] += from[i]
	}
}

// Flush passes on all plaintext there is.
func (w *Worker) Flush() { w.sink.Flush() }
