// Package quic reads QUIC versions 1 and 2 (RFC 9000, 9001, 9369) from observed datagrams. It finds connections by
// their IDs and addresses, opens packets with keys from a key log, and reassembles streams.
//
// QUIC authenticates each packet, so all stream data that is kept comes from an endpoint. Until the first packet of a
// connection opens, everything about the connection may be forged. Until then the Decrypter keeps a few contradicting
// client randoms, and the key that opens a packet decides. Packets with short headers of open connections are opened in
// batches.
package quic

import (
	"bytes"
	"math/rand/v2"
	"slices"

	"golang.org/x/crypto/cryptobyte"

	protect "github.com/sealane/sealane/quic"

	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/packet"
)

type cryptobyteString = cryptobyte.String

// Limits of a Decrypter. A zero value selects that of DefaultLimits.
type Limits struct {
	Conns   int // connections; at most a quarter of them may be opening
	Waiting int // packet bytes of one connection that wait for keys
	Memory  int // bytes that all connections hold
}

// DefaultLimits are for capture files.
var DefaultLimits = Limits{Conns: 1 << 16, Waiting: 4 << 20, Memory: 256 << 20}

// Stats are counters of a Decrypter.
type Stats struct {
	Connections    uint64         // connections whose start was seen
	Decrypted      uint64         // of these, connections with an opened packet
	Undecrypted    uint64         // connections with a client random and no opened packet
	Packets        [levels]uint64 // opened packets: 0-RTT, handshake, 1-RTT
	Refused        uint64         // packets that did not open with existing keys: forged, damaged, or with other keys
	Unrelated      uint64         // possible QUIC packets of no connection
	Waited         uint64         // connections that had to wait for keys
	WaitingDropped uint64         // packets that waited for keys without success
	EarlyRejected  uint64         // 0-RTT packets that the server rejected
	KeyUpdates     uint64
	Migrations     uint64 // connections that changed their addresses
	Merged         uint64 // connections that turned out to be another one
	Retries        uint64
	Negotiations   uint64 // Version Negotiation packets
	BadFrames      uint64 // packets with an unknown or truncated frame
	Streams        uint64
	StreamBytes    uint64 // delivered stream bytes
	StreamsRefused uint64 // frames of streams beyond the limit
	Holes          uint64 // holes in streams that were given up
	HoleBytes      uint64
	Datagrams      uint64 // DATAGRAM frames (RFC 9221), which are not delivered
	DatagramBytes  uint64
	Reclaims       uint64       // how often connections exceeded the memory limit
	Ends           [Ends]uint64 // connections by their end
}

// packetsAtOnce packets are opened side by side. With one-byte packet numbers, the numbers of a connection may differ
// by at most 128 (RFC 9000, section 17.1). Half of that is reserved for missing packets.
const packetsAtOnce = 32

// A Decrypter belongs to one goroutine. It calls the functions that are set at each event. They must not keep the data.
type Decrypter struct {
	Stats  Stats
	Store  *keys.Store
	Wait   int64 // how long packets wait for keys, in nanoseconds
	Limits Limits
	Mark   int64 // time of the current packet

	Opened  func(c *Conn)                                        // a packet of a connection has opened
	Message func(c *Conn, role, kind uint8, body []byte)         // a handshake message
	Stream  func(c *Conn, stream uint64, role uint8, b []byte)   // the next stream bytes
	Lost    func(c *Conn, stream uint64, role uint8, n uint64)   // n bytes are missing
	End     func(c *Conn, stream uint64, role uint8, reset bool) // end of one side of a stream
	Ended   func(c *Conn, how Life)                              // end of the connection

	now     int64
	paths   map[packet.Tuple]*path
	names   map[id]named
	sizes   [maxID + 1]int     // number of IDs in names, by size
	randoms map[[32]byte]*Conn // open connections, or nil for the latest ended ones
	past    [][32]byte         // ended ones, a ring
	oldest  int                // index of the oldest in past
	conns   [2][]*Conn         // opening, and other connections
	secrets keys.Secrets
	held    int

	batch    [packetsAtOnce]protect.Packet
	queue    [packetsAtOnce]queued
	queued   int
	buffer   []byte // output of the packets in the batch
	used     int
	one      []byte // buffer of try
	single   [1]protect.Packet
	trials   uint64
	strays   [maxStrays]stray
	stray    int
	searched int64 // up to this time, searches for sizes of merged datagrams are used up
	deliver  func([]byte)
	stream   struct {
		c    *Conn
		id   uint64
		role uint8
	}
	numbers []uint64
	lists   [2][]*Conn
	polled  int64
	swept   int64
	next    int // next connection to sweep
	changes uint64
	random  *rand.Rand
}

// The lists that may contain a Conn, as bits.
const (
	listWaiting = 1 << iota
	listHoles
)

// A path is a pair of addresses with the connections that use it.
type path struct{ conns []member }

type member struct {
	c      *Conn
	client uint8 // side of the tuple that is the client
}

const (
	maxOnPath = 32
	maxPaths  = 8 // of a connection: the first one and the latest ones
)

// A named is a connection, with the side that has an ID.
type named struct {
	c    *Conn
	role uint8
}

// A queued is a packet in the batch.
type queued struct {
	arrival
	from packet.Tuple // tuple of arrival
	c    *Conn
	keys *protect.Keys
	at   int
}

const (
	maxDatagram = 1<<16 - 1 - 8 // bytes after the UDP header
	bufferBytes = 128 << 10     // has room for any datagram
)

// connCost is the memory of a connection without the data that it holds.
const connCost = 4 << 10

// New returns a Decrypter that takes secrets from store.
func New(store *keys.Store, limits Limits) *Decrypter {
	if limits.Conns <= 0 {
		limits.Conns = DefaultLimits.Conns
	}
	if limits.Waiting <= 0 {
		limits.Waiting = DefaultLimits.Waiting
	}
	if limits.Memory <= 0 {
		limits.Memory = DefaultLimits.Memory
	}
	d := &Decrypter{Store: store, Limits: limits, paths: make(map[packet.Tuple]*path), names: make(map[id]named), randoms: make(map[[32]byte]*Conn),
		random: rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))}
	d.deliver = func(b []byte) {
		d.Stats.StreamBytes += uint64(len(b))
		if d.Stream != nil {
			d.Stream(d.stream.c, d.stream.id, d.stream.role, b)
		}
	}
	return d
}

// Held returns the number of bytes that connections take.
func (d *Decrypter) Held() int { return d.held }

// Active returns the number of connections.
func (d *Decrypter) Active() int { return len(d.conns[0]) + len(d.conns[1]) }

// maxCoalesced is the limit of packets per datagram.
const maxCoalesced = 8

// leastDatagram is the size to which a client pads its Initial packets (RFC 9000, section 14.1).
const leastDatagram = 1200

// Datagram processes a datagram, whose payload must not change until Flush. time is that of the packet, and now that of
// the clock.
func (d *Decrypter) Datagram(s *packet.Segment, time, now int64) {
	b := s.Payload
	d.now = now
	if len(b) > maxDatagram {
		return // corrupt or forged
	}
	whole := len(b)
	for n := 0; len(b) > 0 && n < maxCoalesced; n++ {
		if b[0]&0x80 == 0 {
			if n == 0 || b[0] != 0 { // some senders pad datagrams
				d.short(s, b, time)
			}
			return
		}
		h, err := protect.ParseHeader(b, 0)
		if err != nil || h.Size > len(b) || h.Size == 0 {
			return
		}
		if len(h.DCID) <= maxID && len(h.SCID) <= maxID {
			d.long(s, &h, b[:h.Size], whole, time)
		}
		b = b[h.Size:]
	}
}

// short processes a packet with a short header. If connections have no IDs, it may belong to one of several.
func (d *Decrypter) short(s *packet.Segment, b []byte, time int64) {
	const least = 1 + 4 + 16
	if len(b) < least || len(d.paths) == 0 {
		return
	}
	p := d.paths[s.Tuple]
	tried := false
	var a arrival
	a.tuple, a.time, a.side, a.known = &s.Tuple, time, s.Side, true
	if p != nil {
		if d.queued > 0 && !p.names(s.Side, b[1:]) {
			d.flush() // a packet in the batch may announce the ID
			if p = d.paths[s.Tuple]; p == nil {
				return
			}
		}
		// Opening connections may be forged. They get packets that no other connection accepts.
		waits := false
		for _, proven := range []bool{true, false} {
			for i := 0; i < len(p.conns); i++ {
				m := &p.conns[i]
				role := s.Side ^ m.client
				if m.c.proven() != proven {
					continue
				}
				size, ok := m.c.ids[1-role].match(b[1:])
				if !ok {
					continue
				}
				a.role = role
				switch d.data(m.c, &a, b, 1+size) {
				case opened:
					return
				case keyless:
					waits = true
				}
				tried = true
			}
			if waits {
				return
			}
		}
		// The peer may have received an ID in packets that cannot be read.
		for i, tries := 0, 0; i < len(p.conns) && tries < maxGuesses; i++ {
			m := p.conns[i]
			role := s.Side ^ m.client
			size := m.c.ids[1-role].usual()
			if !m.c.proven() || size == 0 || len(b) < 1+size {
				continue
			}
			tries++
			a.role = role
			switch m.c.take(&a, application, 0, b, 1+size) {
			case opened:
				if !m.c.over() {
					m.c.newID(1-role, b[1:1+size], nil)
				}
				return
			case keyless:
				m.c.wait(&a, application, 0, b, 1+size)
				return
			}
			tried = true
		}
		for i := range p.conns {
			m := &p.conns[i]
			if role := s.Side ^ m.client; m.c.proven() && m.c.ids[role].resets(b) {
				d.flush()
				m.c.finish(Reset)
				return
			}
		}
	}
	// The sender or the peer has changed its address.
	for size := maxID; size > 0; size-- {
		if d.sizes[size] == 0 || len(b) < 1+size {
			continue
		}
		if to, ok := d.names[idOf(b[1:1+size])]; ok {
			a.role = 1 - to.role
			if a.known = d.isOn(to.c, &s.Tuple); a.known {
				continue // already tried
			}
			if d.data(to.c, &a, b, 1+size) != refused {
				return
			}
			tried = true
		}
	}
	if tried {
		d.Stats.Refused++
	} else {
		d.Stats.Unrelated++
	}
}

// names reports whether a packet from a side has an ID of a connection on the path.
func (p *path) names(side uint8, b []byte) bool {
	for i := range p.conns {
		m := &p.conns[i]
		if _, ok := m.c.ids[1^side^m.client].match(b); ok {
			return true
		}
	}
	return false
}

// maxGuesses is the number of connections with which a packet with an unknown ID is tried.
const maxGuesses = 2

// data processes a packet with a short header for a connection. A packet that goes into the batch counts as opened.
func (d *Decrypter) data(c *Conn, a *arrival, b []byte, at int) outcome {
	s := &c.spaces[a.role][application]
	if s.keys == nil {
		is := c.takeMerged(a, b, at)
		if is == keyless {
			c.wait(a, application, 0, b, at)
		}
		return is
	}
	if size := c.merges[a.role].size; size > 0 && len(b) > largestDatagram && len(b) > size {
		d.flush()
		if c.over() {
			return opened
		}
		if c.take(a, application, 0, b[:size], at) != opened {
			return c.takeMerged(a, b, at)
		}
		for b = b[size:]; at < len(b) && !c.over(); b = b[min(size, len(b)):] {
			d.enqueue(c, a, b[:min(size, len(b))], at)
		}
		return opened
	}
	d.enqueue(c, a, b, at)
	return opened
}

// enqueue adds a packet to the batch.
func (d *Decrypter) enqueue(c *Conn, a *arrival, b []byte, at int) {
	if d.queued == packetsAtOnce || d.used+len(b) > bufferBytes {
		d.flush()
		if c.over() {
			return
		}
	}
	if d.buffer == nil {
		d.buffer = make([]byte, bufferBytes)
	}
	s := &c.spaces[a.role][application]
	// Assigned field by field: a CPU stalls when it copies a structure whose fields are still in its store buffer.
	p, q := &d.batch[d.queued], &d.queue[d.queued]
	p.Keys, p.Other, p.Bytes, p.PNOffset, p.Number = s.keys, s.next, b, at, s.number()
	p.Dst = d.buffer[d.used:][:len(b):len(b)]
	q.from = *a.tuple
	q.tuple, q.time, q.role, q.side, q.known = &q.from, a.time, a.role, a.side, a.known
	q.c, q.keys, q.at = c, s.keys, at
	d.queued++
	d.used += len(b)
}

// A merge describes how a sender's datagrams are merged. A capture on the host of the sender or the receiver may have
// many in one. The network card splits them later (UDP GSO), or has merged them (GRO). All except the last have the
// same size, which the capture does not show.
type merge struct {
	size  int    // size in the last merged datagram of at least leastDatagram bytes
	small int    // the same for smaller datagrams, such as acknowledgements
	sizes [8]int // different sizes of single datagrams
	next  int
}

// largestDatagram is the largest payload over Ethernet, without the IP and UDP headers. A larger datagram is probably
// merged.
const largestDatagram = 1500 - 20 - 8

// single records the size of a datagram that is not merged.
func (m *merge) single(n int) {
	if n >= leastDatagram && n <= largestDatagram && !slices.Contains(m.sizes[:], n) {
		m.sizes[m.next] = n
		m.next = (m.next + 1) % len(m.sizes)
	}
}

// takeMerged is take for a packet with a short header, which may start a merged datagram.
func (c *Conn) takeMerged(a *arrival, b []byte, at int) outcome {
	switch is := c.take(a, application, 0, b, at); {
	case is == opened:
		c.merges[a.role].single(len(b))
	case is == refused && c.unmerge(a, b, at):
	default:
		return is
	}
	return opened
}

// A search for the size of merged datagrams takes hundreds of trials, and forged datagrams can cause it. One trial is
// allowed per searchEach nanoseconds. Unused ones accumulate up to searchBurst: while a sender probes the path for its
// largest datagram, sizes change within microseconds.
const (
	searchEach  = 4e3
	searchBurst = 8000
)

// leastPacket is the size of the smallest packet with a short header, without its connection ID.
const leastPacket = 1 + 4 + 16

// unmerge finds the size of the packets in a merged datagram, and processes them. It reports whether one opens.
func (c *Conn) unmerge(a *arrival, b []byte, at int) bool {
	d, m := c.d, &c.merges[a.role]
	const leastID = 4 // an ID of this size does not occur by chance
	least := at - 1 + leastPacket
	most := min(len(b)-least, largestDatagram)
	if most < least {
		return false
	}
	guesses := [len(m.sizes) + 3]int{m.size, m.small}
	copy(guesses[3:], m.sizes[:])
	if at-1 >= leastID {
		if i := bytes.Index(b[at:], b[1:at]); i > 0 {
			guesses[2] = at + i - 1
		}
	}
	for _, size := range guesses {
		if size >= least && c.cut(a, b, at, size) {
			return true
		}
	}
	if at-1 >= leastID && most < leastDatagram && guesses[2] == 0 {
		return false // the ID would occur again
	}
	d.searched = max(d.searched, d.now-searchBurst*searchEach)
	for _, sizes := range [][2]int{{leastDatagram, most}, {least, min(most, leastDatagram-1)}} {
		for size := sizes[0]; size <= sizes[1]; size++ {
			if d.searched > d.now {
				return false
			}
			d.searched += searchEach
			if c.cut(a, b, at, size) {
				return true
			}
		}
	}
	return false
}

// cut processes the packets of a merged datagram if the first one has this size.
func (c *Conn) cut(a *arrival, b []byte, at, size int) bool {
	if size >= len(b) || c.take(a, application, 0, b[:size], at) != opened {
		return false
	}
	if m := &c.merges[a.role]; size >= leastDatagram {
		m.size = size
	} else {
		m.small = size
	}
	for b = b[size:]; len(b) > at && !c.over(); b = b[min(size, len(b)):] {
		if c.take(a, application, 0, b[:min(size, len(b))], at) == refused {
			c.d.Stats.Refused++
		}
	}
	return true
}

// Flush opens the packets in the batch, and delivers their contents. Then connections drop data beyond Limits.Memory.
func (d *Decrypter) Flush() {
	d.flush()
	for before := 0; d.held > d.Limits.Memory && d.held != before; {
		before = d.held
		d.Pay(d.held - d.Limits.Memory/8*7)
	}
}

func (d *Decrypter) flush() {
	n := d.queued
	if n == 0 {
		return
	}
	protect.Unprotect(d.batch[:n])
	d.queued = 0
	for i := range n {
		q, p := &d.queue[i], &d.batch[i]
		if q.c.over() {
			continue
		}
		if p.Err == nil {
			q.c.merges[q.role].single(len(p.Bytes))
			q.c.opened(&q.arrival, application, p)
		} else {
			d.doubtful(q, p.Bytes)
		}
	}
	d.used = 0
	clear(d.queue[:n])
	clear(d.batch[:n])
}

// doubtful handles a packet that did not open with the current keys.
func (d *Decrypter) doubtful(q *queued, raw []byte) {
	s := &q.c.spaces[q.role][application]
	if s.keys != q.keys {
		// The keys may have been updated since, even several times.
		if q.c.take(&q.arrival, application, 0, raw, q.at) == opened {
			return
		}
	} else if q.c.second(&q.arrival, application, raw, q.at) == opened {
		return
	}
	if q.c.ids[q.role].resets(raw) {
		q.c.finish(Reset)
		return
	}
	// If connections have no IDs, it may belong to another one on this path.
	var others []member
	if p := d.paths[*q.tuple]; p != nil {
		others = slices.Clone(p.conns)
	}
	keep := others[:0]
	for _, m := range others {
		a := q.arrival
		a.role = a.side ^ m.client
		size, ok := m.c.ids[1-a.role].match(raw[1:])
		if !ok || m.c == q.c || m.c.over() {
			continue
		}
		switch m.c.take(&a, application, 0, raw, 1+size) {
		case opened:
			return
		case keyless:
			keep = append(keep, m)
		}
	}
	if q.c.unmerge(&q.arrival, raw, q.at) {
		return
	}
	for _, m := range keep {
		a := q.arrival
		a.role = a.side ^ m.client
		if size, ok := m.c.ids[1-a.role].match(raw[1:]); ok && !m.c.over() {
			m.c.wait(&a, application, 0, raw, 1+size)
		}
	}
	d.Stats.Refused++
}

// try opens a packet without changing it. The result is valid until the next call.
func (d *Decrypter) try(k, other *protect.Keys, raw []byte, at int, expect uint64) *protect.Packet {
	d.trials++
	if d.one == nil {
		d.one = make([]byte, bufferBytes)
	}
	d.single[0] = protect.Packet{Keys: k, Other: other, Bytes: raw, PNOffset: at, Dst: d.one[:len(raw)], Number: expect}
	protect.Unprotect(d.single[:])
	return &d.single[0]
}

// long processes a packet with a long header.
func (d *Decrypter) long(s *packet.Segment, h *protect.Header, b []byte, datagram int, time int64) {
	p := d.paths[s.Tuple]
	switch h.Type {
	case protect.Initial:
		d.initial(s, p, h, b, datagram, time)
		return
	case protect.VersionNegotiation:
		if p != nil {
			d.Stats.Negotiations++
		}
		return
	case protect.Retry:
		d.sentAgain(s, p, h, b)
		return
	}
	l := handshake
	if h.Type == protect.ZeroRTT {
		l = early
	}
	seen, found := keyless, false
	var members []member
	if p != nil {
		d.flush() // a packet in the batch may announce the ID
		if p = d.paths[s.Tuple]; p != nil {
			members = slices.Clone(p.conns)
		}
	}
	for _, m := range members {
		c, role := m.c, s.Side^m.client
		if l == early && role == server || !c.addressed(1-role, h.DCID) || c.over() {
			continue
		}
		found = true
		if role == server && !c.proven() {
			c.ids[server].hint(h.SCID)
			c.speaks(h.Version)
		}
		a := arrival{role: role, side: s.Side, tuple: &s.Tuple, time: time, known: true}
		was := c.proven()
		switch seen = c.take(&a, l, h.Version, b, h.PNOffset); seen {
		case opened:
			if !was && c.proven() {
				d.first(p, c)
			}
			if !was || l == handshake {
				c.retry()
			}
			return
		case keyless:
			c.wait(&a, l, h.Version, b, h.PNOffset)
		}
	}
	switch {
	case seen == refused:
		d.Stats.Refused++
	case !found:
		d.Stats.Unrelated++
		if l == early {
			d.strays[d.stray] = stray{s.Tuple, s.Side, time, append(d.strays[d.stray].bytes[:0], b...)}
			d.stray = (d.stray + 1) % maxStrays
		}
	}
}

// A stray is a 0-RTT packet that arrived before the Initial packet of its connection.
type stray struct {
	tuple packet.Tuple
	side  uint8
	time  int64
	bytes []byte
}

const maxStrays = 32

// gather processes the 0-RTT packets that arrived before the first packet of a connection.
func (d *Decrypter) gather(s *packet.Segment) {
	for i := range d.strays {
		t := &d.strays[i]
		if len(t.bytes) == 0 || t.tuple != s.Tuple || t.side != s.Side {
			continue
		}
		if h, err := protect.ParseHeader(t.bytes, 0); err == nil {
			b := slices.Clone(t.bytes)
			t.bytes = t.bytes[:0]
			d.long(s, &h, b, len(b), t.time)
		}
	}
}

// first moves a connection to the front of its path: without IDs, the newest one is tried first.
func (d *Decrypter) first(p *path, c *Conn) {
	i := slices.IndexFunc(p.conns, func(m member) bool { return m.c == c })
	if i > 0 {
		m := p.conns[i]
		copy(p.conns[1:i+1], p.conns[:i])
		p.conns[0] = m
	}
}

// addressed reports whether a long header's destination is a side of the connection.
func (c *Conn) addressed(role uint8, dcid []byte) bool {
	if c.ids[role].exactly(dcid) {
		return true
	}
	return role == server && slices.ContainsFunc(c.initials, func(n initial) bool { return n.dcid == idOf(dcid) })
}

// speaks records a version in the packets of a connection.
func (c *Conn) speaks(v protect.Version) {
	if len(c.versions) < 2 && !slices.Contains(c.versions, v) {
		c.versions = append(c.versions, v)
	}
}

// sentAgain counts Retry packets. The client's next Initial packet has another DCID, and the same SCID and random.
func (d *Decrypter) sentAgain(s *packet.Segment, p *path, h *protect.Header, b []byte) {
	if p == nil {
		return
	}
	for _, m := range p.conns {
		if s.Side == m.client || !m.c.ids[client].exactly(h.DCID) || len(m.c.initials) == 0 {
			continue
		}
		if dcid := &m.c.initials[0].dcid; protect.CheckRetry(h.Version, dcid.bytes[:dcid.size], b) {
			d.Stats.Retries++
			return
		}
	}
}

// initial processes an Initial packet. Anyone can make those, so they prove nothing. A client's contain the
// ClientHello; of a server's, only the audit needs more than the header.
func (d *Decrypter) initial(s *packet.Segment, p *path, h *protect.Header, b []byte, datagram int, time int64) {
	var of *Conn
	if p != nil {
		for _, m := range p.conns {
			c := m.c
			if s.Side != m.client {
				if c.ids[client].exactly(h.DCID) {
					if !c.proven() {
						c.ids[server].hint(h.SCID)
						c.speaks(h.Version)
						c.answered(h, b)
					}
					return
				}
				continue
			}
			if c.addressed(server, h.DCID) {
				if !c.proven() {
					c.hello(h, b)
				}
				return
			}
			if of == nil && !c.proven() && c.ids[client].exactly(h.SCID) {
				of = c
			}
		}
	}
	const leastDCID = 8 // RFC 9000, section 7.2
	if datagram < leastDatagram || len(h.DCID) < leastDCID {
		d.Stats.Unrelated++
		return
	}
	k, _, err := protect.InitialKeys(h.Version, h.DCID)
	if err != nil || d.try(k, nil, b, h.PNOffset, 0).Err != nil {
		d.Stats.Unrelated++
		return
	}
	if of != nil && len(of.initials) == maxInitials {
		return
	}
	if of == nil {
		of = d.begin(s, h, time)
	}
	of.initials = append(of.initials, initial{idOf(h.DCID), h.Version, k})
	of.hello(h, b)
	d.gather(s)
}

// begin makes a connection.
func (d *Decrypter) begin(s *packet.Segment, h *protect.Header, time int64) *Conn {
	if len(d.conns[0]) >= max(d.Limits.Conns/4, 16) {
		d.evict(0)
	}
	if d.Active() >= max(d.Limits.Conns, 64) {
		d.evict(1)
	}
	c := &Conn{d: d, seen: d.now, begun: time, IPv6: s.IPv6, Client: s.Tuple.Endpoint(s.Side), Server: s.Tuple.Endpoint(1 - s.Side)}
	if s.Link != nil {
		c.Link = [12]byte(s.Link)
	}
	c.index = len(d.conns[0])
	d.conns[0] = append(d.conns[0], c)
	c.grow(connCost)
	c.ids[client].known = []id{idOf(h.SCID)}
	d.Stats.Connections++
	d.join(c, &s.Tuple, s.Side)
	return c
}

// hello processes an Initial packet of the client.
func (c *Conn) hello(h *protect.Header, b []byte) {
	d := c.d
	if c.opens++; c.opens > maxOpens {
		return
	}
	c.speaks(h.Version)
	for i := 0; i < len(c.initials); i++ {
		k := c.initials[i].keys
		if v := c.initials[i].version; v != h.Version {
			// A server may choose another version, so keys are derived for both (RFC 9369, section 4.1).
			dcid := c.initials[i].dcid
			other := slices.IndexFunc(c.initials, func(n initial) bool { return n.dcid == dcid && n.version == h.Version })
			if other >= 0 || len(c.initials) == maxInitials {
				continue
			}
			var err error
			if k, _, err = protect.InitialKeys(h.Version, dcid.bytes[:dcid.size]); err != nil {
				continue
			}
			c.initials = append(c.initials, initial{dcid, h.Version, k})
		}
		p := d.try(k, nil, b, h.PNOffset, 0)
		if p.Err != nil {
			continue
		}
		randoms := len(c.greeting.randoms)
		c.hear(&c.greeting, p.Payload)
		if len(c.greeting.randoms) > randoms {
			c.retry()
		}
		return
	}
}

// answered processes an Initial packet of the server, if its contents are needed.
func (c *Conn) answered(h *protect.Header, b []byte) {
	if c.d.Message == nil || c.answers == maxAnswers {
		return
	}
	c.answers++
	for i := range c.initials {
		dcid := &c.initials[i].dcid
		_, k, err := protect.InitialKeys(h.Version, dcid.bytes[:dcid.size])
		if err != nil {
			continue
		}
		if p := c.d.try(k, nil, b, h.PNOffset, 0); p.Err == nil {
			c.hear(&c.answer, p.Payload)
			return
		}
	}
}

// hear adds the CRYPTO frames of a payload to a hello.
func (c *Conn) hear(g *greeting, payload []byte) {
	before := cap(g.bytes)
	r := reader{b: payload}
	for f := (frame{}); r.next(&f); {
		if f.kind == frameCrypto {
			g.add(f.offset, f.data)
		}
	}
	c.grow(cap(g.bytes) - before)
}

// join adds a connection to a path.
func (d *Decrypter) join(c *Conn, t *packet.Tuple, clientSide uint8) {
	p := d.paths[*t]
	if p == nil {
		p = new(path)
		d.paths[*t] = p
	}
	if len(p.conns) == maxOnPath {
		d.makeRoom(p)
		if d.paths[*t] == nil {
			d.paths[*t] = p
		}
	}
	p.conns = append(p.conns, member{c, clientSide})
	if len(c.paths) == maxPaths {
		d.leave(c, c.paths[1])
		c.paths = slices.Delete(c.paths, 1, 2)
	}
	c.paths = append(c.paths, *t)
}

// makeRoom ends a connection of a path. Opening connections without secrets in the key log are ended first. The choice
// among equals is random, so that an attacker with many connections cannot control it.
func (d *Decrypter) makeRoom(p *path) {
	at, best, ties := 0, -1, 0
	for i, m := range p.conns {
		worth := 2
		if !m.c.proven() {
			if worth = 0; m.c.claimed() {
				worth = 1
			}
		}
		if best < 0 || worth < best {
			at, best, ties = i, worth, 1
		} else if worth == best {
			if ties++; d.random.IntN(ties) == 0 {
				at = i
			}
		}
	}
	d.flush()
	if at < len(p.conns) {
		p.conns[at].c.finish(Evicted)
	}
}

// claimed reports whether a connection's random is in the key log, and the connection is among the first with it. An
// attacker cannot see the random before it is on the wire.
func (c *Conn) claimed() bool {
	for i := range c.greeting.randoms {
		if first, known := c.d.Store.Claim(&c.greeting.randoms[i], c.begun); first && known {
			return true
		}
	}
	return false
}

func (d *Decrypter) isOn(c *Conn, t *packet.Tuple) bool { return slices.Contains(c.paths, *t) }

// leave removes a connection from a path.
func (d *Decrypter) leave(c *Conn, t packet.Tuple) {
	p := d.paths[t]
	if p == nil {
		return
	}
	p.conns = slices.DeleteFunc(p.conns, func(m member) bool { return m.c == c })
	if len(p.conns) == 0 {
		delete(d.paths, t)
	}
}

// name makes a connection known by an ID on any path.
func (d *Decrypter) name(c *Conn, role uint8, i id) {
	if i.size == 0 {
		return
	}
	if _, ok := d.names[i]; !ok {
		d.sizes[i.size]++
	}
	d.names[i] = named{c, role}
}

func (d *Decrypter) unname(c *Conn, role uint8, i id) {
	if n, ok := d.names[i]; ok && n.c == c && n.role == role {
		delete(d.names, i)
		d.sizes[i.size]--
	}
}

// rank records the new state of a connection that continues.
func (d *Decrypter) rank(c *Conn, life Life) {
	if c.life == Opening {
		d.unlist(c)
		c.index = len(d.conns[1])
		d.conns[1] = append(d.conns[1], c)
		for role := range uint8(2) {
			for _, i := range c.ids[role].known {
				d.name(c, role, i)
			}
		}
	}
	c.life = life
}

// maxPast is the number of ended connections that are remembered.
const maxPast = 1 << 12

// forget records the end of an open connection.
func (d *Decrypter) forget(c *Conn) {
	d.randoms[c.Random] = nil
	if len(d.past) < maxPast {
		d.past = append(d.past, c.Random)
		return
	}
	delete(d.randoms, d.past[d.oldest])
	d.past[d.oldest] = c.Random
	d.oldest = (d.oldest + 1) % maxPast
}

// unlist removes a connection from conns.
func (d *Decrypter) unlist(c *Conn) {
	list := &d.conns[0]
	if c.life != Opening {
		list = &d.conns[1]
	}
	last := len(*list) - 1
	(*list)[c.index] = (*list)[last]
	(*list)[c.index].index = c.index
	(*list)[last] = nil
	*list = (*list)[:last]
}

// remove removes a connection.
func (d *Decrypter) remove(c *Conn) {
	d.unlist(c)
	for _, t := range c.paths {
		d.leave(c, t)
	}
	for role := range uint8(2) {
		for _, i := range c.ids[role].known {
			d.unname(c, role, i)
		}
	}
}

// samples is the number of connections that are compared to find one to evict.
const samples = 16

// evict ends an opening connection (0), or another one (1): the least important one of a random sample.
func (d *Decrypter) evict(which int) {
	d.flush()
	list := d.conns[which]
	if len(list) == 0 {
		if list = d.conns[1-which]; len(list) == 0 {
			return
		}
	}
	var worst *Conn
	claimed := false
	for range min(samples, len(list)) {
		c := list[d.random.IntN(len(list))]
		claims := which == 0 && c.claimed()
		if worst == nil || claimed && !claims || claimed == claims && c.seen < worst.seen {
			worst, claimed = c, claims
		}
	}
	worst.finish(Evicted)
}

// Pay makes connections drop about n bytes: first opening ones, then the largest holders.
func (d *Decrypter) Pay(n int) {
	d.flush()
	d.Stats.Reclaims++
	target := d.held - n
	for len(d.conns[0]) > 0 && d.held > target {
		d.evict(0)
	}
	if d.held <= target {
		return
	}
	all := slices.Clone(d.conns[1])
	slices.SortFunc(all, func(a, b *Conn) int { return b.holds - a.holds })
	for _, c := range all {
		if d.held <= target {
			return
		}
		c.giveUp(d.now)
		for i := range c.waiting {
			c.grow(-len(c.waiting[i].bytes) - waitCost)
		}
		d.Stats.WaitingDropped += uint64(len(c.waiting))
		c.waiting = nil
	}
	for _, c := range all {
		if d.held <= target {
			return
		}
		c.finish(Evicted)
	}
}

// list adds a connection to a list that is checked regularly. It reports whether it was not in the list before.
func (d *Decrypter) list(c *Conn, bit uint8) bool {
	if c.listed&bit != 0 {
		return false
	}
	c.listed |= bit
	d.lists[bit>>1] = append(d.lists[bit>>1], c)
	return true
}

const (
	pollEach  = 1e6
	lookCost  = 2000  // assumed nanoseconds to check a connection
	holeWait  = 2e9   // for retransmitted packets
	closeWait = 1e9   // for packets in transit when a side closed
	idleWait  = 300e9 // longer than the idle timeout of endpoints
	openWait  = 60e9  // for the first packet that opens
)

// Tick does the work that is due at a time of the clock: packets whose keys have arrived, old holes, and idle
// connections.
func (d *Decrypter) Tick(now int64) {
	d.now = now
	if now-d.polled < max(pollEach, int64(len(d.lists[0])+len(d.lists[1]))*lookCost) {
		return
	}
	d.polled = now
	d.flush()
	changes := d.Store.Changes()
	news := changes != d.changes
	d.changes = changes
	d.poll(listWaiting, func(c *Conn) bool {
		if news {
			for role := range c.spaces {
				for l := range c.spaces[role] {
					c.spaces[role][l].looked = 0
				}
			}
			c.retry()
		}
		return !c.over() && c.expire(now)
	})
	d.poll(listHoles, func(c *Conn) bool { return c.giveUp(now - holeWait) })
	const round = 10e9
	if n := d.Active(); n > 0 {
		due := int(int64(n) * min(now-d.swept, round) / round)
		if due == 0 {
			return
		}
		for range due {
			d.sweep(now)
		}
	}
	d.swept = now
}

// poll processes a list; connections for which look returns false leave it.
func (d *Decrypter) poll(bit uint8, look func(c *Conn) bool) {
	list := d.lists[bit>>1]
	d.lists[bit>>1] = nil
	kept := list[:0]
	for _, c := range list {
		c.listed &^= bit
		if !c.over() && look(c) && c.listed&bit == 0 {
			c.listed |= bit
			kept = append(kept, c)
		}
	}
	clear(list[len(kept):])
	d.lists[bit>>1] = append(kept, d.lists[bit>>1]...)
}

// sweep checks the next connection.
func (d *Decrypter) sweep(now int64) {
	if d.next >= d.Active() {
		d.next = 0
	}
	list, i := d.conns[0], d.next
	if i >= len(list) {
		list, i = d.conns[1], i-len(list)
	}
	if i >= len(list) {
		return
	}
	c := list[i]
	d.next++
	switch silent := now - c.seen; {
	case c.life == Closing && now-c.closed >= closeWait:
		c.finish(Closed)
	case c.life == Opening && silent >= openWait, silent >= idleWait:
		c.finish(Idle)
	}
}

// Close ends all connections.
func (d *Decrypter) Close() {
	d.flush()
	for which := range d.conns {
		for len(d.conns[which]) > 0 {
			c := d.conns[which][0]
			how := Over
			if c.life == Closing {
				how = Closed
			}
			c.finish(how)
		}
	}
	clear(d.buffer)
	clear(d.one)
}
