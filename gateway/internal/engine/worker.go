// Package engine takes frames to plaintext: it parses them, finds their connection, puts segments in order, and has the
// records opened. Each core has a Worker of its own, and shares nothing with the others but the store of keys.
package engine

import (
	"unsafe"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/flow"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/tcp"
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
	Verdicts bool  // have Worker.Block say what must not pass if only what is read may
}

// DefaultOptions are for files.
var DefaultOptions = Options{
	Flows: 1 << 16, HoleWait: 2e9, Idle: 300e9, Queued: 64 << 20, TLS: tls.DefaultLimits,
}

// A connection without a handshake, as SYN floods leave, is given up sooner.
const embryonicIdle = 30e9

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
	Repeated    uint64 // segments seen before
	Reordered   uint64 // segments that came before their turn
	Conflicts   uint64 // segments that contradict bytes held for the same place
	Holes       uint64 // holes that were given up
	HoleBytes   uint64
	Unrelated   uint64 // segments of no connection, or outside its window
	Waiting     uint64 // connections that had to wait for keys
	Late        uint64 // of these, keys came in time
	Cut         uint64 // bytes of payload that the capture left out
	TLS         tls.Stats
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
	hasFin [2]bool
	fin    [2]uint32 // sequence numbers of FINs that came before their turn
	renew  uint32    // that of the SYN for a new connection
	tls    tls.Conn
	flow   output.Flow
	queue  [2]tcp.Queue // by side of the tuple
	tuple  packet.Tuple
	hash   uint64
	keys   [2]*Key // given, by side of the tuple
	_      [24]byte
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
	Ended  func(f *output.Flow, state tls.State)

	// Block has, after Frames and with Options.Verdicts, for each frame whether it carries data of a connection that is TLS
	// and is not read, or that began before anybody looked.
	Block []bool

	o         Options
	table     *flow.Table[tls.Line]
	dec       *tls.Decrypter
	sink      output.Sink
	pool      tcp.Pool
	now       int64
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
	lots      [4]lot
	lines     [2 * lotFrames]unsafe.Pointer
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
	w := &Worker{o: def, sink: sink, table: flow.New[tls.Line](def.Flows, def.Room), dec: tls.NewDecrypter(store)}
	for w.shift = 4; w.shift < 15 && 16<<w.shift < def.Flows; {
		w.shift++
	}
	w.pool.Limit = def.Queued
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
		if w.Opened != nil {
			suite, version := c.Suite()
			w.Opened(&connOf(c).flow, suite, version)
		}
	}
	w.o.Verdicts = o.Verdicts
	if w.o.Keys = o.Keys; o.Keys != nil {
		o.Keys.join(w)
	}
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
	w.Block = w.Block[:0]
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
	for i := range l.frames {
		s := &l.segments[i]
		l.verdicts[i] = packet.Parse(s, l.frames[i].Link, l.frames[i].Data)
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
		if f.Time > w.now {
			w.now = f.Time
		}
		if l.verdicts[i] != packet.TCP {
			if w.o.Verdicts {
				w.Block = append(w.Block, false)
			}
			continue
		}
		s := &l.segments[i]
		e := l.entries[i]
		if !e.Is(&s.Tuple) {
			e = w.table.Find(l.hashes[i], &s.Tuple)
		}
		w.segment(s, l.hashes[i], e, f.Time)
		if w.o.Verdicts {
			w.Block = append(w.Block, w.blocks(s, l.hashes[i]))
		}
	}
	l.frames = nil
	w.Tick(w.now)
}

func (w *Worker) blocks(s *packet.Segment, hash uint64) bool {
	if len(s.Payload) == 0 {
		return false
	}
	e := w.table.Find(hash, &s.Tuple)
	if e == nil || e.Conn == 0 {
		return e == nil || e.Flags&flow.Unread != 0
	}
	c := w.conn(e.Conn)
	return c.tls.State() == tls.Undecryptable && !c.tls.Waiting()
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
	w.dec.Mark = time
	if len(s.Payload) > 0 && e.Flags&flow.Ignored == 0 {
		seq := s.Seq
		if s.Flags&packet.SYN != 0 {
			seq++ // TCP fast open
		}
		// The usual case: the segment is the one that is due.
		if e.Conn != 0 && seq == e.Next[side] && e.Flags&(started(side)|flow.Queued0<<side) == started(side) {
			e.Next[side] += uint32(len(s.Payload))
			if c := w.conn(e.Conn); !w.dec.Take(&e.Side[side], &c.tls, s.Payload) {
				c.link(s)
				w.feed(c, side, s.Payload)
				w.drop(e)
			}
		} else {
			w.unusual(s, hash, e, seq, time)
			w.drop(e)
		}
	}
	if s.Flags&packet.FIN != 0 {
		w.fin(s, e)
	}
}

// drop ignores a connection from now on if TLS says that there is nothing to read.
func (w *Worker) drop(e *entry) {
	if e.Conn != 0 {
		if s := w.conn(e.Conn).tls.State(); s == tls.NotTLS || s == tls.Unsupported {
			w.ignore(e)
		}
	}
}

// feed gives bytes to TLS.
func (w *Worker) feed(c *conn, side uint8, p []byte) {
	w.dec.Feed(&c.tls, side^c.client, p)
	if c.tls.Waiting() && c.listed&listWaiting == 0 {
		c.listed |= listWaiting
		c.tls.Since = w.now
		w.waiting = append(w.waiting, c)
		w.Stats.Waiting++
	}
}

// begin makes an entry for a connection that is new, or returns nil if its first packet says nothing of use.
func (w *Worker) begin(s *packet.Segment, hash uint64, time int64) *entry {
	syn := s.Flags&(packet.SYN|packet.RST) == packet.SYN
	hello := tls.LooksLikeClientHello(s.Payload)
	var given []*Key
	if len(w.given) > 0 {
		given = w.given[s.Tuple]
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

func (w *Worker) setClient(e *entry, side uint8) {
	e.Flags |= flow.ClientKnown
	e.Flags &^= flow.ClientIs1
	if side == 1 {
		e.Flags |= flow.ClientIs1
	}
}

// control handles SYN and RST. It returns nil if the connection is over.
func (w *Worker) control(s *packet.Segment, hash uint64, e *entry, time int64) *entry {
	side := s.Side
	if s.Flags&packet.RST != 0 {
		// Only one that is due ends the connection: others may be forged.
		if e.Flags&started(side) == 0 || s.Seq == e.Next[side] || e.Conn == 0 {
			w.over(e)
			return nil
		}
		return e
	}
	next := s.Seq + 1
	if s.Flags&packet.ACK == 0 {
		if e.Flags&started(side) != 0 && e.Next[side] != next {
			if e.Conn != 0 && e.Flags&(flow.Fin0|flow.Fin1) == 0 {
				// A SYN alone must not end a connection that is alive; the answer to it does.
				w.conn(e.Conn).renew = s.Seq
				e.Flags |= flow.Renewing
				return e
			}
			w.end(e)
			w.Stats.Flows++
			e = w.table.Insert(hash, &s.Tuple)
			e.Seen = flow.Tick(time)
		}
		w.setClient(e, side)
		e.Next[side] = next
		e.Flags |= started(side)
		return e
	}
	if e.Flags&flow.Renewing != 0 && e.Conn != 0 && s.Ack == w.conn(e.Conn).renew+1 {
		w.end(e)
		w.Stats.Flows++
		e = w.table.Insert(hash, &s.Tuple)
		e.Seen = flow.Tick(time)
	}
	if e.Flags&started(side) == 0 {
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
	return e
}

// unusual handles a segment that is not simply the next one.
func (w *Worker) unusual(s *packet.Segment, hash uint64, e *entry, seq uint32, time int64) {
	side := s.Side
	p := s.Payload
	if e.Flags&started(side) == 0 {
		// Neither SYN nor an acknowledgement of it was captured.
		if !tls.LooksLikeClientHello(p) && e.Flags&flow.ClientKnown == 0 {
			w.ignore(e)
			return
		}
		e.Next[side] = seq
		e.Flags |= started(side)
	}
	ahead := seq - e.Next[side]
	if e.Conn == 0 {
		if ahead == 0 && (p[0] != 22 || len(p) > 1 && p[1] != 3) {
			w.ignore(e) // all of TLS begins with a handshake record
			return
		}
		w.open(e, hash, time)
	}
	c := w.conn(e.Conn)
	c.link(s)
	switch {
	case int32(ahead) < 0:
		old := e.Next[side] - seq
		if uint64(old) >= uint64(len(p)) {
			w.Stats.Repeated++
			return
		}
		p = p[old:]
		fallthrough
	case ahead == 0:
		e.Next[side] += uint32(len(p))
		w.feed(c, side, p)
		w.drain(c, e, side)
	case ahead > tcp.MaxAhead:
		w.Stats.Unrelated++
	default:
		q := &c.queue[side]
		if q.Empty() {
			q.Since = w.now
		}
		w.Stats.Reordered++
		r := q.Put(&w.pool, seq, p)
		if r == tcp.Full {
			// What is missing is not coming. Make room, once.
			w.hole(c, e, side)
			r = w.again(c, e, side, seq, p)
		}
		switch r {
		case tcp.Conflict:
			w.Stats.Conflicts++
		case tcp.Repeated:
			w.Stats.Repeated++
		}
		w.mark(c, e, side)
	}
}

// again puts in a segment after room was made for it.
func (w *Worker) again(c *conn, e *entry, side uint8, seq uint32, p []byte) tcp.Result {
	for {
		ahead := int32(seq - e.Next[side])
		if ahead <= 0 {
			old := e.Next[side] - seq
			if uint64(old) >= uint64(len(p)) {
				return tcp.Repeated
			}
			p = p[old:]
			seq += old
			e.Next[side] += uint32(len(p))
			w.feed(c, side, p)
			w.drain(c, e, side)
			return tcp.Kept
		}
		if r := c.queue[side].Put(&w.pool, seq, p); r != tcp.Full {
			return r
		}
		if c.queue[side].Empty() {
			// Others hold all the memory there is.
			w.lose(c, e, side, seq)
			continue
		}
		w.hole(c, e, side)
	}
}

// mark says in the entry whether segments are held.
func (w *Worker) mark(c *conn, e *entry, side uint8) {
	if c.queue[side].Empty() {
		e.Flags &^= flow.Queued0 << side
		return
	}
	e.Flags |= flow.Queued0 << side
	w.list(c)
}

// list has a connection looked at from time to time, because of a hole.
func (w *Worker) list(c *conn) {
	if c.listed&listQueued == 0 {
		c.listed |= listQueued
		w.queued = append(w.queued, c)
	}
}

// drain delivers what is held and now due.
func (w *Worker) drain(c *conn, e *entry, side uint8) {
	q := &c.queue[side]
	for {
		p := q.Next(&w.pool, e.Next[side])
		if p == nil {
			break
		}
		e.Next[side] += uint32(len(p))
		w.feed(c, side, p)
		w.dec.Flush(&c.tls) // p goes back to the pool
		q.Drop(&w.pool)
	}
	q.Since = w.now
	w.mark(c, e, side)
	if c.hasFin[side] && c.fin[side] == e.Next[side] {
		e.Flags |= ended(side)
	}
}

// lose gives up what is missing before seq.
func (w *Worker) lose(c *conn, e *entry, side uint8, seq uint32) {
	n := int(seq - e.Next[side])
	w.Stats.Holes++
	w.Stats.HoleBytes += uint64(n)
	e.Next[side] = seq
	w.dec.Lose(&c.tls, side^c.client, n)
}

// hole gives up what is missing before the first segment held, or before the end.
func (w *Worker) hole(c *conn, e *entry, side uint8) {
	if q := &c.queue[side]; !q.Empty() {
		w.lose(c, e, side, q.First())
	} else {
		w.lose(c, e, side, c.fin[side])
	}
	w.drain(c, e, side)
}

// incomplete tells whether a direction has a hole.
func (c *conn) incomplete(e *entry, side uint8) bool {
	return !c.queue[side].Empty() || c.hasFin[side] && tcp.After(c.fin[side], e.Next[side])
}

func (w *Worker) fin(s *packet.Segment, e *entry) {
	side := s.Side
	if e.Conn == 0 {
		e.Flags |= ended(side)
	} else {
		at := s.Seq + uint32(len(s.Payload)+s.Missing)
		switch c := w.conn(e.Conn); {
		case at == e.Next[side]:
			e.Flags |= ended(side)
		case tcp.After(at, e.Next[side]):
			c.fin[side], c.hasFin[side] = at, true
			if c.queue[side].Empty() {
				c.queue[side].Since = w.now
			}
			w.list(c)
		}
	}
	if e.Flags&finished == finished {
		w.over(e)
	}
}

const finished = flow.Fin0 | flow.Fin1

// over ends a connection, or leaves it until its keys come.
func (w *Worker) over(e *entry) {
	e.Flags |= finished
	if e.Conn == 0 || !w.conn(e.Conn).tls.Waiting() {
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
	queues := c.queue
	*c = conn{queue: queues, number: c.number} // their memory is of use again
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
	e.Conn = c.number
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
	if e.Conn != 0 && w.conn(e.Conn).tls.State() == tls.Unsupported {
		e.Flags |= flow.Unread
	}
	w.finish(e)
	e.Flags |= flow.Ignored
}

// end removes a connection.
func (w *Worker) end(e *entry) {
	w.finish(e)
	w.table.Remove(e)
}

// finish delivers what can still be had and wipes the keys.
func (w *Worker) finish(e *entry) {
	if e.Conn == 0 {
		return
	}
	c := w.conn(e.Conn)
	for side := range uint8(2) {
		for c.incomplete(e, side) {
			w.hole(c, e, side)
		}
		// What the receiver has and the capture lacks, but for the number that a FIN takes.
		if acked := e.Acked[side] - 1; e.Flags&(flow.Acked0<<side) != 0 && e.Flags&ended(side) == 0 &&
			tcp.After(acked, e.Next[side]) && acked-e.Next[side] <= tcp.MaxAhead {
			w.lose(c, e, side, acked)
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
	if w.Ended != nil {
		w.Ended(&c.flow, c.tls.State())
	}
	w.dec.Close(&c.tls)
	w.sink.End(&c.flow)
	e.Conn, c.used = 0, false
	if c.listed == 0 {
		w.release(c)
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
	if now > w.now {
		w.now = now
	}
	if now := w.now; now-w.polled >= 1e6 || now < w.polled {
		w.polled = now
		w.pollGiven()
		if len(w.given) > 0 && now-w.reported >= 1e8 {
			w.reported = now
			for tuple := range w.given {
				if e := w.table.Find(tuple.Hash(), &tuple); e != nil && e.Conn != 0 && w.conn(e.Conn).given {
					w.reportGiven(w.conn(e.Conn), false)
				}
			}
		}
		if len(w.waiting) > 0 {
			w.pollWaiting(now)
		}
		if len(w.queued) > 0 {
			w.pollQueued(now)
		}
		// The whole table is looked at about once in ten seconds.
		const round = 10e9
		if n := int64(w.table.Made()) * min(now-w.swept, round) / round; n > 0 || now < w.swept {
			w.swept = now
			w.table.Sweep(int(n), flow.Tick(now), w.age, w.end)
		}
	}
}

func (w *Worker) age(e *entry) uint32 {
	if e.Conn == 0 {
		return flow.Tick(embryonicIdle)
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
				w.dec.Mark = now
				w.dec.Retry(&c.tls)
			}
			switch {
			case !c.tls.Waiting():
				w.Stats.Late++
			case now-c.tls.Since >= w.o.KeyWait:
				w.dec.Expire(&c.tls)
			default:
				kept = append(kept, c)
				continue
			}
			if e := w.entryOf(c); e != nil && e.Flags&finished == finished {
				w.end(e)
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

// entryOf returns the entry of a connection, or nil if it is over.
func (w *Worker) entryOf(c *conn) *entry {
	if c.used {
		if e := w.table.Find(c.hash, &c.tuple); e != nil && e.Conn == c.number {
			return e
		}
	}
	return nil
}

func (w *Worker) pollQueued(now int64) {
	kept := w.queued[:0]
	for _, c := range w.queued {
		if e := w.entryOf(c); e != nil {
			for side := range uint8(2) {
				if c.incomplete(e, side) && now-c.queue[side].Since >= w.o.HoleWait {
					w.hole(c, e, side)
				}
			}
			if c.incomplete(e, 0) || c.incomplete(e, 1) {
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
	w.Stats.Active = uint64(w.table.Count())
	w.Stats.TLS = w.dec.Stats
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
