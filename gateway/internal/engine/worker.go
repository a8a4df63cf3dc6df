// Package engine turns frames into plaintext. It parses them, finds their connection, orders segments, and opens
// records. Each core has its own Worker, and cores share only the store of keys.
package engine

import (
	"unsafe"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/flow"
	"github.com/sealane/sealane/gateway/internal/h3"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/quic"
	"github.com/sealane/sealane/gateway/internal/reassembly"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// Options of a Worker. The zero value of each field except KeyWait and Idle selects that of DefaultOptions.
type Options struct {
	Flows    int   // limit of connections in the table
	Room     int   // connections for which memory is allocated at once; the table grows to Flows
	KeyWait  int64 // how long ciphertext waits for keys, in nanoseconds; 0: all keys are there already
	HoleWait int64 // how long later segments wait for an earlier one
	Idle     int64 // after this time without packets a connection has ended; 0: it is kept while the table has room
	Queued   int   // limit of bytes in out-of-order segments of all connections
	TLS      tls.Limits
	Keys     *Keys // keys given with addresses, or nil
	Memory   int   // limit of unread bytes of all connections; 0: the separate limits of Queued and TLS
	Gate     *Gate // forward data that was read, and traffic that rules allow; or nil

	OneNetwork bool // see packet.Parser
	About      bool // fill in output.Flow.About
	// Chain, if set, gets the certificates of connections: see about.Connection.
	Chain func(fingerprint string, certificates [][]byte)
}

// DefaultOptions are for capture files.
var DefaultOptions = Options{
	Flows: 1 << 16, HoleWait: 2e9, Queued: 64 << 20, TLS: tls.DefaultLimits,
}

// Stats count the events of a Worker.
type Stats struct {
	Frames      uint64
	Bytes       uint64 // of frames
	Verdicts    [packet.Verdicts]uint64
	Flows       uint64 // connections whose start was seen
	Ignored     uint64 // of these, connections without TLS
	Active      uint64 // in the table now
	Evicted     uint64 // removed because the table was full
	Decrypted   uint64 // with at least one record opened
	Undecrypted uint64 // TLS, ended without a record opened
	Unsupported uint64 // of these, with a version or suite that has no supported AEAD
	Unrelated   uint64 // segments of no connection
	Joined      uint64 // connections without a captured start, with records that open with secrets of the key log
	Waiting     uint64 // connections that had to wait for keys
	Late        uint64 // of these, connections whose keys came in time
	Cut         uint64 // payload bytes that the capture omitted
	Reclaims    uint64 // how often the memory budget was used up
	Paid        uint64 // connections that lost data because of that
	Doubtful    uint64 // possibly forged FINs, RSTs and SYNs
	// Directions of TLS connections at their end, by state and by reason of a loss.
	Directions [tls.Directions][tls.Reasons]uint64
	Ends       [flow.Ends]uint64 // ends of connections with a ClientHello
	Gate       GateStats
	Prefaced   uint64 // connections with other data before TLS: a PROXY header, STARTTLS, CONNECT and similar
	Tunnels    packet.TunnelStats
	Fragments  packet.FragmentStats
	reassembly.Stats
	TLS   tls.Stats
	QUIC  quic.Stats
	HTTP3 h3.Stats
}

const lotFrames = 32

// A Worker belongs to one goroutine.
type Worker struct {
	Stats Stats

	// Opened and Ended, if set, are called for decrypted connections.
	Opened func(f *output.Flow, suite, version uint16)
	Ended  func(f *output.Flow, c *tls.Conn, how flow.Life)
	// EndedQUIC is Ended for QUIC connections. Opened covers both.
	EndedQUIC func(f *output.Flow, c *quic.Conn, how quic.Life)

	// Ring is the origin of the frames for Frames, for use by a Gate.
	Ring uint8

	o            Options
	table        *flow.Table[tls.Line]
	embryos      *flow.Table[[0]byte] // connections without data
	dec          *tls.Decrypter
	quic         *quic.Decrypter
	sink         output.Sink
	order        *reassembly.Reassembler
	clock        clock
	now          int64 // by clock
	swept        int64
	polled       int64
	waited       int64 // when all connections that wait for keys were last checked
	sought       int64 // the same for missing data
	unstalled    int64 // the same for incomplete records at a gate
	changes      uint64
	waiting      []*conn
	queued       []*conn
	free         []*conn
	conns        [][]conn
	shift        uint // from numbers to slabs
	given        map[packet.Tuple][]*Key
	orphans      map[packet.Tuple]*orphan
	orphanList   []*orphan // the same, in order
	orphanWork   int       // bytes that may be tried for them
	orphanSpared int64     // when that was computed
	givenSeen    uint64
	reported     int64
	parser       packet.Parser
	lots         [4]lot
	lines        [2 * lotFrames]unsafe.Pointer
	newborn      entry
	holders      []holder // for reclaim
	gateBytes    int
	polling      bool    // the lists are being processed
	looked       uint64  // connections checked in them so far
	leaving      int     // upper bound of ended connections in a list
	dirty        []*gate // with data that may pass
	stalled      []*gate // with an incomplete record
	freeGates    []*gate
}

// NewWorker returns a Worker that takes secrets from store and writes plaintext to sink.
func NewWorker(store *keys.Store, sink output.Sink, o Options) *Worker {
	def := DefaultOptions
	def.KeyWait = o.KeyWait
	def.Room, def.Idle = o.Room, o.Idle
	if o.Flows > 0 {
		def.Flows = o.Flows
	}
	if o.HoleWait > 0 {
		def.HoleWait = o.HoleWait
	}
	if o.Queued > 0 {
		def.Queued = o.Queued
	}
	if o.TLS != (tls.Limits{}) {
		def.TLS = o.TLS
	}
	w := &Worker{
		o: def, sink: sink, table: flow.New[tls.Line](def.Flows, def.Room), dec: tls.NewDecrypter(store),
		embryos: flow.New[[0]byte](max(def.Flows/4, 16), 0), orphans: make(map[packet.Tuple]*orphan),
	}
	for w.shift = 4; w.shift < 15 && 16<<w.shift < def.Flows; {
		w.shift++
	}
	if w.o.Memory = o.Memory; o.Memory > 0 {
		// These limits must not be reached before Memory.
		w.o.Queued, w.o.TLS.Held, w.o.TLS.Partial = 2*o.Memory, 2*o.Memory, 2*o.Memory
		def = w.o
	}
	w.order = reassembly.New(w.dec, def.Queued)
	w.dec.Dispute = !trusting
	w.dec.Disputed = func(c *tls.Conn) {
		if c := connOf(c); c.used {
			c.entry.Flags |= flow.Queued0 | flow.Queued1
			w.list(c)
		}
	}
	w.dec.Limits = def.TLS
	w.dec.Expect(def.Flows)
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
		connOf(c).entry.Happens(flow.Opened)
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
	w.readQUIC(store)
	if w.o.Keys = o.Keys; o.Keys != nil {
		o.Keys.join(w)
	}
	w.embryos.Evict = func(*embryo) { w.Stats.Evicted++ }
	w.table.Evict = func(e *entry) {
		w.Stats.Evicted++
		w.finish(e, flow.NoRoom)
	}
	return w
}

// A lot is a group of packets on its way through the steps of Frames.
type lot struct {
	frames   []capture.Frame
	segments [lotFrames]packet.Segment
	hashes   [lotFrames]uint64
	entries  [lotFrames]*entry
	verdicts [lotFrames]packet.Verdict
}

// Frames handles frames in order.
//
// Groups of a few dozen frames go through four steps. Each step prefetches memory for the next one, and it arrives
// while other groups are processed. That memory is the index of the table, connections, and their other data.
func (w *Worker) Frames(frames []capture.Frame) {
	const steps = len(w.lots)
	n := (len(frames) + lotFrames - 1) / lotFrames
	for i := range n + steps - 1 {
		if i < n {
			l := &w.lots[i%steps]
			l.frames = frames[i*lotFrames : min((i+1)*lotFrames, len(frames))]
			if i < steps-1 {
				w.headers(frames[i*lotFrames : min((i+1)*lotFrames, len(frames))])
			}
			w.parse(l)
		}
		if i >= 1 && i-1 < n {
			w.locate(&w.lots[(i-1)%steps])
		}
		if i >= 2 && i-2 < n {
			w.ready(&w.lots[(i-2)%steps])
		}
		if i >= 3 {
			w.handle(&w.lots[(i-3)%steps], &w.lots[(i-2)%steps], frames[min((i+1)*lotFrames, len(frames)):])
		}
	}
	w.dec.FlushAll()
	w.quic.Flush()
	if w.o.Gate != nil {
		w.settleGates()
	}
	w.parser.Release()
}

// parse is the first step.
func (w *Worker) parse(l *lot) {
	lines := w.lines[:0]
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

// headersAtOnce is large enough to overlap the page table walks that each header may need.
const headersAtOnce = 8

// headers prefetches the headers of frames that will be parsed.
func (w *Worker) headers(frames []capture.Frame) {
	lines := w.lines[:0]
	for i := range frames {
		if f := frames[i].Data; len(f) > 0 { // an acknowledgement has 54 bytes
			lines = append(lines, unsafe.Pointer(&f[0]), unsafe.Pointer(&f[min(len(f)-1, 64)]))
		}
	}
	flow.Prefetch(lines)
}

// handle is the fourth step. With each packet it prefetches the payload of one in the next lot. Every few packets it
// prefetches the headers of frames that will be parsed next. If they were prefetched earlier, the keys of all these
// packets would evict them from the cache.
func (w *Worker) handle(l, next *lot, later []capture.Frame) {
	for i := range l.frames {
		if i < len(next.frames) && (next.verdicts[i] == packet.TCP || next.verdicts[i] == packet.UDP) {
			flow.PrefetchBytes(next.segments[i].Payload[:min(len(next.segments[i].Payload), 4096)])
		}
		if i%headersAtOnce == 0 && i < len(later) {
			w.headers(later[i:min(i+headersAtOnce, len(later))])
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
			if l.verdicts[i] == packet.UDP {
				w.datagram(&l.segments[i], f.Time)
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

// Close ends all connections.
func (w *Worker) Close() {
	w.table.All(func(e *entry) { w.finish(e, flow.Over) })
	w.quic.Close()
	w.sink.Flush()
	w.Snapshot()
}

// Snapshot updates Stats.
func (w *Worker) Snapshot() Stats {
	w.Stats.Active = uint64(w.table.Count() + w.embryos.Count() + w.quic.Active())
	w.Stats.TLS, w.Stats.QUIC = w.dec.Stats, w.quic.Stats
	w.Stats.Stats = w.order.Stats
	w.Stats.Tunnels, w.Stats.Fragments = w.parser.Tunnels, w.parser.Fragments
	return w.Stats
}

// Add adds the counts of another worker.
func (s *Stats) Add(o *Stats) {
	// All fields are consecutive counters.
	const n = unsafe.Sizeof(Stats{}) / 8
	to, from := (*[n]uint64)(unsafe.Pointer(s)), (*[n]uint64)(unsafe.Pointer(o))
	for i := range to {
		to[i] += from[i]
	}
}

// Flush passes on all available plaintext.
func (w *Worker) Flush() { w.sink.Flush() }
