package quic

import (
	"crypto/subtle"
	"net/netip"
	"slices"

	protect "github.com/sealane/sealane/quic"

	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/packet"
)

// Roles.
const (
	client = 0
	server = 1
)

// A level is an encryption level. The keys of Initial packets are public, so they have no level here.
type level uint8

const (
	early level = iota
	handshake
	application
	levels
)

// labels are the labels of the secrets, by role and level. A server has no early secret.
var labels = [2][levels]keys.Label{
	{keys.Early, keys.ClientHandshake, keys.ClientTraffic},
	{keys.Early, keys.ServerHandshake, keys.ServerTraffic},
}

// A Life is the state of a connection, or how it ended.
type Life uint8

// Lives. A connection is opening until one of its packets opens with keys of the key log, and closing after a side has
// closed it.
const (
	Opening Life = iota
	Open
	Closing
	Closed
	Reset   // by a stateless reset (RFC 9000, section 10.3)
	Idle    // no packets for long
	Evicted // removed to make room
	Over    // the capture ended
	lives
)

// Ends is the number of ends. Stats.Ends counts them, starting with Closed.
const Ends = int(lives - Closed)

var lifeNames = [...]string{"opening", "open", "closing", "closed", "reset", "idle", "evicted", "over"}

func (l Life) String() string { return lifeNames[l] }

// An id is a connection ID.
type id struct {
	size  uint8
	bytes [maxID]byte
}

func idOf(b []byte) (i id) {
	i.size = uint8(copy(i.bytes[:], b))
	return i
}

// is reports whether b starts with the ID.
func (i *id) is(b []byte) bool {
	return len(b) >= int(i.size) && string(i.bytes[:i.size]) == string(b[:i.size])
}

// ids are the connection IDs of one side, which its peer uses as destination.
type ids struct {
	known  []id   // from authentic packets, or for the client from its first packet
	hints  []id   // from packets that may be forged; empty once known is not
	tokens []byte // for stateless resets, concatenated
}

const (
	maxIDs   = 32 // the oldest is dropped
	maxHints = 4
)

// match returns the size of the ID at the start of a packet to this side, and whether there is one.
func (s *ids) match(b []byte) (size int, ok bool) {
	for i := range s.known {
		if s.known[i].is(b) {
			return int(s.known[i].size), true
		}
	}
	for i := range s.hints {
		if s.hints[i].is(b) {
			return int(s.hints[i].size), true
		}
	}
	return 0, false
}

// usual returns the size of the IDs.
func (s *ids) usual() int {
	switch {
	case len(s.known) > 0:
		return int(s.known[0].size)
	case len(s.hints) > 0:
		return int(s.hints[0].size)
	}
	return 0
}

func (s *ids) exactly(b []byte) bool {
	i := idOf(b)
	return slices.Contains(s.known, i) || slices.Contains(s.hints, i)
}

func (s *ids) hint(b []byte) {
	if i := idOf(b); len(s.hints) < maxHints && !s.exactly(b) {
		s.hints = append(s.hints, i)
	}
}

func (s *ids) token(b []byte) {
	for i := 0; i < len(s.tokens); i += resetToken {
		if string(s.tokens[i:i+resetToken]) == string(b) {
			return
		}
	}
	if len(s.tokens) == maxIDs*resetToken {
		s.tokens = slices.Delete(s.tokens, 0, resetToken)
	}
	s.tokens = append(s.tokens, b...)
}

// resets reports whether the packet ends with a token.
func (s *ids) resets(b []byte) bool {
	if len(b) < 5+resetToken {
		return false
	}
	found := 0
	for i := 0; i < len(s.tokens); i += resetToken {
		found |= subtle.ConstantTimeCompare(s.tokens[i:i+resetToken], b[len(b)-resetToken:])
	}
	return found == 1
}

// A candidate is a set of keys that may be right. It comes from a random and a secret in the key log, and a suite
// whose hash has the size of the secret.
type candidate struct {
	keys    *protect.Keys
	next    *protect.Keys // for application data: keys of the next key phase
	random  [32]byte
	suite   protect.Suite
	version protect.Version
}

const maxCandidates = 16

func (k *candidate) wipe() {
	k.keys.Wipe()
	k.next.Wipe()
}

// A space has the state for packets of one side at one level.
type space struct {
	keys           *protect.Keys
	before, next   *protect.Keys // for application data: keys of the adjacent key phases
	candidates     []candidate   // used until the keys are known
	expect         uint64        // largest packet number + 1
	acked          uint64        // largest acknowledged packet number + 1
	asked, changes uint64        // states of the connection and of the key log when candidates was made
	looked         int64         // when the store was last asked
}

// drop wipes the candidates, except for keys that the space uses.
func (s *space) drop() {
	for i := range s.candidates {
		if k := &s.candidates[i]; k.keys != s.keys {
			k.wipe()
		}
	}
	s.candidates = nil
}

// wipe wipes all keys.
func (s *space) wipe() {
	s.drop()
	for _, k := range []*protect.Keys{s.keys, s.before, s.next} {
		k.Wipe()
	}
	s.keys, s.before, s.next = nil, nil, nil
}

// An initial is the Destination Connection ID of a client's first packet, or of the first one after a Retry. Its keys
// are derived from that ID.
type initial struct {
	dcid    id
	version protect.Version
	keys    *protect.Keys
}

const (
	maxInitials = 8
	maxOpens    = 64 // limit of Initial packets of a client
	maxAnswers  = 8  // limit of Initial packets of a server
)

// A stream has two halves, one per sender.
type stream struct {
	half  [2]assembler
	ended [2]bool
}

// A Conn is one connection. Its exported fields are for the functions of a Decrypter. After it is Open, only User and
// Protocol change.
type Conn struct {
	Client, Server netip.AddrPort // at its start
	IPv6           bool
	Link           [12]byte // Ethernet addresses of packets to the server, or zeroes
	Random         [32]byte // client random
	Suite          uint16   // TLS 1.3 number
	Version        uint32   // of QUIC
	Protocol       string   // ALPN choice of the server; until it is known, the client's first offer
	User           any

	d        *Decrypter
	index    int // index in d.conns
	life     Life
	begun    int64 // time of its first packet
	seen     int64
	closed   int64 // time of its close
	greeting greeting
	answer   greeting // the server's, if it is needed
	initials []initial
	opens    int
	answers  int
	versions []protect.Version
	ids      [2]ids
	paths    []packet.Tuple
	merges   [2]merge // by sender
	spaces   [2][levels]space
	verdict  verdict
	crypto   [2]messages
	streams  map[uint64]*stream
	done     [4]spans // streams, by kind
	waiting  []held
	holds    int
	listed   uint8
	hopeless bool // packets have waited for keys without success
}

// A verdict is the server's decision on 0-RTT packets.
type verdict uint8

const (
	undecided verdict = iota
	accepted
	rejected
)

// A held is a packet that waits for keys, or for the verdict on 0-RTT.
type held struct {
	arrival
	level   level
	version protect.Version
	at      int // offset of the packet number
	bytes   []byte
}

// An arrival describes where and when a packet arrived.
type arrival struct {
	tuple *packet.Tuple
	time  int64
	role  uint8 // sender
	side  uint8 // side of tuple
	known bool  // the tuple belongs to the connection
}

// An outcome is the result for a packet.
type outcome uint8

const (
	opened outcome = iota
	refused
	keyless
)

// proven reports whether a packet of the connection has opened.
func (c *Conn) proven() bool { return c.life != Opening }

func (c *Conn) over() bool { return c.life >= Closed }

func (c *Conn) grow(n int) {
	if !c.over() {
		c.holds += n
		c.d.held += n
	}
}

// Charge adds n bytes, possibly negative, that the user of the connection holds for it.
func (c *Conn) Charge(n int) { c.grow(n) }

// derive makes candidates for a space if there are new secrets.
func (c *Conn) derive(role uint8, l level) {
	s := &c.spaces[role][l]
	randoms := c.greeting.randoms
	if c.proven() {
		randoms = [][32]byte{c.Random}
	}
	asked := uint64(len(randoms)+1)<<8 | uint64(len(c.versions))<<1
	if c.proven() {
		asked |= 1
	}
	d := c.d
	if s.asked == asked {
		if d.now-s.looked < askAgain {
			return
		}
		if s.changes == d.Store.Changes() {
			s.looked = d.now
			return
		}
	}
	s.looked = d.now
	s.asked, s.changes = asked, d.Store.Changes()
	s.drop()
	for i := range randoms {
		if !d.Store.Get(&randoms[i], &d.secrets) {
			continue
		}
		for n := 0; ; n++ {
			secret := d.secrets.Candidate(labels[role][l], n)
			if secret == nil {
				break
			}
			suites := []protect.Suite{protect.AES128GCM, protect.ChaCha20Poly1305}
			if len(secret) == 48 {
				suites = []protect.Suite{protect.AES256GCM}
			}
			for _, suite := range suites {
				if l != early && c.proven() && uint16(suite) != c.Suite {
					continue
				}
				for _, v := range c.versions {
					if l == application && c.proven() && uint32(v) != c.Version || len(s.candidates) == maxCandidates {
						continue
					}
					k, err := protect.NewKeys(v, suite, secret)
					if err != nil {
						continue
					}
					s.candidates = append(s.candidates, candidate{keys: k, random: randoms[i], suite: suite, version: v})
					if l == application {
						s.candidates[len(s.candidates)-1].next, _ = k.Update()
					}
				}
			}
		}
		d.secrets.Wipe()
	}
}

// askAgain is the minimum interval at which a connection without keys looks for them when packets arrive, in
// nanoseconds.
const askAgain = 10e6

// number returns the expected number of the next packet.
func (s *space) number() uint64 { return max(s.expect, s.acked) }

// take opens a packet without changing its bytes, and handles its contents.
func (c *Conn) take(a *arrival, l level, version protect.Version, raw []byte, at int) outcome {
	s := &c.spaces[a.role][l]
	if l == early && c.verdict != accepted {
		if c.verdict == rejected {
			c.d.Stats.EarlyRejected++
			return opened
		}
		return keyless
	}
	if s.keys == nil {
		if c.derive(a.role, l); len(s.candidates) == 0 {
			return keyless
		}
		for i := range s.candidates {
			k := &s.candidates[i]
			if version != 0 && k.version != version {
				continue
			}
			p := c.d.try(k.keys, k.next, raw, at, s.number())
			if p.Err != nil {
				continue
			}
			s.keys, s.next = k.keys, k.next
			found := *k
			if other, known := c.d.randoms[found.random]; l != early && known && other != c {
				return c.merge(other, a, l, version, raw, at)
			}
			s.drop()
			c.hopeless = false
			if l != early {
				c.prove(&found)
			}
			c.opened(a, l, p)
			return opened
		}
		return refused
	}
	p := c.d.try(s.keys, s.next, raw, at, s.number())
	if p.Err != nil {
		return c.second(a, l, raw, at)
	}
	c.opened(a, l, p)
	return opened
}

// second tries the previous phase's keys on a packet that did not open, since a late packet may have them.
func (c *Conn) second(a *arrival, l level, raw []byte, at int) outcome {
	s := &c.spaces[a.role][l]
	if s.before == nil {
		return refused
	}
	p := c.d.try(s.before, nil, raw, at, s.number())
	if p.Err != nil {
		return refused
	}
	c.contents(a, l, p)
	return opened
}

// merge ends a connection that turns out to be another one on other addresses, because someone resends its first
// packets. If other is nil, the other connection has ended, and no more of it is read.
func (c *Conn) merge(other *Conn, a *arrival, l level, version protect.Version, raw []byte, at int) outcome {
	d, waiting := c.d, c.waiting
	d.remove(c)
	c.wipe()
	d.held -= c.holds
	c.life, c.holds, c.waiting = Over, 0, nil
	d.Stats.Merged++
	if other == nil {
		return refused
	}
	was := other.take(a, l, version, raw, at)
	if !d.isOn(other, a.tuple) && !other.over() {
		d.join(other, a.tuple, a.side^a.role)
	}
	for i := range waiting {
		if h := &waiting[i]; !other.over() {
			other.take(&h.arrival, h.level, h.version, h.bytes, h.at)
		}
	}
	return was
}

// prove records that a packet opened with keys.
func (c *Conn) prove(k *candidate) {
	if c.proven() {
		return
	}
	d := c.d
	c.Random, c.Suite, c.Version = k.random, uint16(k.suite), uint32(k.version)
	d.rank(c, Open)
	d.Stats.Decrypted++
	d.Store.Use(&c.Random)
	d.randoms[c.Random] = c
	body := c.greeting.message(&c.Random)
	if body != nil {
		c.Protocol = offered(body)
	}
	if d.Message != nil && body != nil {
		d.Message(c, client, clientHello, body)
	}
	if d.Message != nil {
		c.answer.answered(c.Suite, func(body []byte) { d.Message(c, server, serverHello, body) })
	}
	if d.Opened != nil {
		d.Opened(c)
	}
	c.grow(-cap(c.greeting.bytes) - cap(c.answer.bytes))
	c.greeting, c.answer = greeting{}, greeting{}
	for i := range c.initials {
		c.initials[i].keys = nil
	}
	for role := range c.spaces {
		for l := range c.spaces[role] {
			c.spaces[role][l].drop()
			c.spaces[role][l].asked = 0
		}
	}
}

// opened handles a packet that opened with the current or the next keys.
func (c *Conn) opened(a *arrival, l level, p *protect.Packet) {
	s := &c.spaces[a.role][l]
	if p.Number >= s.expect {
		s.expect = p.Number + 1
		if l == application && p.Keys == s.keys && p.Dst[0]&keyPhase != 0 != s.keys.Phase() {
			// The sender has updated its keys. The previous keys are kept for late packets.
			s.before.Wipe()
			s.before, s.keys = s.keys, s.next
			s.next, _ = s.keys.Update()
			c.d.Stats.KeyUpdates++
		}
		if !a.known && !c.d.isOn(c, a.tuple) {
			c.d.join(c, a.tuple, a.side^a.role)
			c.d.Stats.Migrations++
		}
	}
	c.contents(a, l, p)
}

const keyPhase = 0x04 // bit in the first byte of a short header

// contents handles the frames of an authentic packet.
func (c *Conn) contents(a *arrival, l level, p *protect.Packet) {
	d := c.d
	d.Mark = a.time
	d.Stats.Packets[l]++
	c.seen = d.now
	if p.Dst[0]&0x80 != 0 && l == handshake {
		if h, err := protect.ParseHeader(p.Dst, 0); err == nil {
			c.named(a.role, &h)
		}
	}
	r := reader{b: p.Payload}
	var f frame
	for !c.over() && r.next(&f) {
		switch f.kind {
		case frameACK, frameACKECN:
			if s := &c.spaces[1-a.role][l]; f.number <= maxVarint {
				s.acked = max(s.acked, f.number+1)
			}
		case frameCrypto:
			if l == handshake {
				c.message(a.role, &f)
			}
		case frameStream:
			if l != handshake {
				c.stream(a.role, &f)
			}
		case frameReset, frameResetAt:
			if l != handshake {
				c.resetStream(a.role, &f)
			}
		case frameNewID:
			if l != handshake {
				c.newID(a.role, f.id, f.token)
			}
		case frameDatagram:
			if l != handshake {
				d.Stats.Datagrams++
				d.Stats.DatagramBytes += uint64(len(f.data))
			}
		case frameClose, frameCloseApp:
			if c.life == Open {
				c.closed = d.now
				d.rank(c, Closing)
			}
		}
	}
	if r.bad {
		d.Stats.BadFrames++
	}
}

// named records the IDs in an authentic long header.
func (c *Conn) named(role uint8, h *protect.Header) {
	c.newID(role, h.SCID, nil)
	if role == client {
		c.newID(server, h.DCID, nil)
	}
}

// newID records an ID of a side, and the token of a stateless reset for it.
func (c *Conn) newID(role uint8, b, token []byte) {
	s, i := &c.ids[role], idOf(b)
	s.hints = nil
	if token != nil {
		s.token(token)
	}
	if slices.Contains(s.known, i) {
		return
	}
	if len(s.known) == maxIDs {
		c.d.unname(c, role, s.known[0])
		s.known = slices.Delete(s.known, 0, 1)
	}
	s.known = append(s.known, i)
	c.d.name(c, role, i)
}

// message handles a CRYPTO frame of the handshake.
func (c *Conn) message(role uint8, f *frame) {
	c.grow(c.crypto[role].feed(f.offset, f.data, c.d.now, func(kind uint8, body []byte) {
		if role == server && kind == encryptedExtensions && c.verdict == undecided {
			c.verdict = rejected
			extensions(body, func(kind uint16, value cryptobyteString) {
				switch kind {
				case extEarlyData:
					c.verdict = accepted
				case extProtocols:
					c.Protocol = protocol(value)
				case extParameters:
					c.parameters(value)
				}
			})
		}
		if c.d.Message != nil {
			c.d.Message(c, role, kind, body)
		}
	}))
}

// stream handles a STREAM frame.
func (c *Conn) stream(role uint8, f *frame) {
	s := c.find(role, f.stream)
	if s == nil {
		return
	}
	d, a := c.d, &s.half[role]
	if a.reset {
		return
	}
	if f.fin && !a.known {
		a.known, a.size = true, max(f.offset+uint64(len(f.data)), a.next)
	}
	d.stream.c, d.stream.id, d.stream.role = c, f.stream, role
	if n := a.insert(f.offset, f.data, d.now, d.deliver); n != 0 {
		c.grow(n)
	}
	for len(a.held) > maxPieces || len(a.held) > 0 && c.holds > maxHeld {
		c.skip(f.stream, role, a)
	}
	if len(a.held) > 0 {
		d.list(c, listHoles)
	}
	c.tidy(f.stream, s)
}

// skip gives up the first hole of a half.
func (c *Conn) skip(n uint64, role uint8, a *assembler) {
	d := c.d
	lost := a.skip()
	d.Stats.Holes++
	d.Stats.HoleBytes += lost
	if d.Lost != nil {
		d.Lost(c, n, role, lost)
	}
	d.stream.c, d.stream.id, d.stream.role = c, n, role
	c.grow(a.drain(d.deliver))
}

// resetStream handles a RESET_STREAM frame.
func (c *Conn) resetStream(role uint8, f *frame) {
	s := c.find(role, f.stream)
	if s == nil || s.ended[role] {
		return
	}
	a := &s.half[role]
	if f.kind == frameResetAt && f.offset > a.next {
		a.known, a.size = true, f.offset // the stream ends there
		return
	}
	c.grow(a.drop())
	a.reset = true
	c.tidy(f.stream, s)
}

// find returns a stream, or nil if it has ended, cannot be the sender's, or exceeds the limit.
func (c *Conn) find(role uint8, n uint64) *stream {
	if s := c.streams[n]; s != nil {
		return s
	}
	const serverStarts, oneWay = 1, 2
	if n&oneWay != 0 && n&serverStarts != uint64(role) || c.done[n&3].has(n>>2) {
		return nil
	}
	if len(c.streams) == maxStreams {
		c.d.Stats.StreamsRefused++
		return nil
	}
	s := new(stream)
	if n&oneWay != 0 {
		s.ended[1-role] = true
	}
	if c.streams == nil {
		c.streams = make(map[uint64]*stream)
	}
	c.streams[n] = s
	c.grow(streamCost)
	c.d.Stats.Streams++
	return s
}

const (
	maxStreams = 4096
	streamCost = 256
	maxHeld    = 16 << 20 // limit of bytes held by one connection
)

// tidy reports halves that have ended, and removes streams whose halves have both ended.
func (c *Conn) tidy(n uint64, s *stream) {
	for role := range uint8(2) {
		a := &s.half[role]
		if s.ended[role] || !a.done() {
			continue
		}
		s.ended[role] = true
		c.grow(a.drop())
		if c.d.End != nil {
			c.d.End(c, n, role, a.reset)
		}
	}
	if s.ended[0] && s.ended[1] {
		delete(c.streams, n)
		c.done[n&3].add(n >> 2)
		c.grow(-streamCost)
	}
}

// giveUp gives up holes older than before, and reports whether there are others.
func (c *Conn) giveUp(before int64) (more bool) {
	d := c.d
	d.numbers = d.numbers[:0]
	for n, s := range c.streams {
		if len(s.half[0].held) > 0 || len(s.half[1].held) > 0 {
			d.numbers = append(d.numbers, n)
		}
	}
	slices.Sort(d.numbers)
	for _, n := range d.numbers {
		s := c.streams[n]
		for role := range uint8(2) {
			a := &s.half[role]
			for len(a.held) > 0 && a.held[0].time <= before {
				c.skip(n, role, a)
			}
			more = more || len(a.held) > 0
		}
		c.tidy(n, s)
	}
	return more
}

// wait holds a packet until there are keys.
func (c *Conn) wait(a *arrival, l level, version protect.Version, raw []byte, at int) {
	d := c.d
	if len(c.waiting) >= maxWaiting || c.holds+len(raw)+waitCost > d.Limits.Waiting || c.hopeless && l != early {
		d.Stats.WaitingDropped++
		return
	}
	if d.list(c, listWaiting) {
		d.Stats.Waited++
	}
	from := *a
	tuple := *a.tuple
	from.tuple = &tuple
	c.waiting = append(c.waiting, held{from, l, version, at, slices.Clone(raw)})
	c.grow(len(raw) + waitCost)
}

const (
	maxWaiting = 1 << 13
	waitCost   = 128
	maxPasses  = 3 // a packet may open others by its keys or the verdict
)

// retry processes waiting packets, for which there may be keys now.
func (c *Conn) retry() {
	for n := 0; n < maxPasses && c.pass(); n++ {
	}
}

// pass processes the waiting packets once, and reports whether some opened and others did not.
func (c *Conn) pass() (again bool) {
	waiting := c.waiting
	c.waiting = nil
	for i := range waiting {
		h := &waiting[i]
		if c.over() {
			return false
		}
		h.known = c.d.isOn(c, h.tuple)
		is := keyless
		if h.level == application {
			is = c.takeMerged(&h.arrival, h.bytes, h.at)
		} else {
			is = c.take(&h.arrival, h.level, h.version, h.bytes, h.at)
		}
		switch is {
		case keyless:
			c.waiting = append(c.waiting, *h)
			continue
		case refused:
			c.d.Stats.Refused++
		case opened:
			again = true
		}
		c.grow(-len(h.bytes) - waitCost)
	}
	return again && len(c.waiting) > 0
}

// expire drops packets that have waited for long enough, and reports whether there are others.
func (c *Conn) expire(now int64) (more bool) {
	kept := c.waiting[:0]
	for _, h := range c.waiting {
		patience := max(c.d.Wait, leastWait)
		if h.level == early {
			patience = max(patience, earlyWait)
		}
		if now-h.time < patience {
			kept = append(kept, h)
			continue
		}
		if h.level == early {
			c.d.Stats.EarlyRejected++
		} else {
			c.d.Stats.WaitingDropped++
			c.hopeless = true
		}
		c.grow(-len(h.bytes) - waitCost)
	}
	clear(c.waiting[len(kept):])
	if c.waiting = kept; len(kept) == 0 {
		c.waiting = nil
	}
	return len(c.waiting) > 0
}

const (
	leastWait = 100e6 // for a late packet of the ClientHello
	earlyWait = 5e9   // for the server's verdict, which takes a round trip
)

// wipe wipes the keys of a connection.
func (c *Conn) wipe() {
	for role := range c.spaces {
		for l := range c.spaces[role] {
			c.spaces[role][l].wipe()
		}
	}
}

// finish ends a connection, and delivers the held data of streams.
func (c *Conn) finish(how Life) {
	d := c.d
	if c.over() {
		return
	}
	if c.proven() {
		c.giveUp(d.now)
		d.Store.Forget(&c.Random)
		d.forget(c)
	} else if len(c.greeting.randoms) > 0 {
		d.Stats.Undecrypted++
	}
	was := c.life
	d.remove(c)
	c.wipe()
	c.life = how
	d.Stats.Ends[how-Closed]++
	d.held -= c.holds
	c.holds = 0
	for _, s := range c.streams {
		s.half[0].drop()
		s.half[1].drop()
	}
	c.crypto[0].drop()
	c.crypto[1].drop()
	c.streams, c.waiting = nil, nil
	if was != Opening && d.Ended != nil {
		d.Ended(c, how)
	}
}
