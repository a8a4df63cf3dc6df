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

// A level is what keys packets have. Initial packets have none that anybody lacks.
type level uint8

const (
	early level = iota
	handshake
	application
	levels
)

// labels of the secrets, by role and level. A server sends nothing early.
var labels = [2][levels]keys.Label{
	{keys.Early, keys.ClientHandshake, keys.ClientTraffic},
	{keys.Early, keys.ServerHandshake, keys.ServerTraffic},
}

// A Life is what state a connection is in, or how it ended.
type Life uint8

// Lives. A connection is opening until one of its packets opens with keys of the key log, and closing when a side has closed it.
const (
	Opening Life = iota
	Open
	Closing
	Closed
	Reset   // statelessly (RFC 9000, section 10.3)
	Idle    // nothing came for long
	Evicted // others needed the room
	Over    // the capture ended
	lives
)

// Ends is how many of them are ends. Stats.Ends counts them from Closed on.
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

// is tells whether b begins with the ID.
func (i *id) is(b []byte) bool {
	return len(b) >= int(i.size) && string(i.bytes[:i.size]) == string(b[:i.size])
}

// ids are the connection IDs of one side. Its peer writes them into packets as their destination.
type ids struct {
	known  []id   // said in authentic packets, or, of the client, in the first one
	hints  []id   // said in packets that may be forged; there are none once something is known
	tokens []byte // for stateless resets, one behind the other
}

const (
	maxIDs   = 32 // the oldest goes
	maxHints = 4
)

// match returns how many bytes the ID has with which a packet to this side begins, and whether there is one.
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

// usual returns how many bytes the IDs have.
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

// resets tells whether the packet ends in a token.
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

// A candidate is keys that may be the right ones: of a random and a secret in the key log, with a suite whose hash has the secret's size.
type candidate struct {
	keys    *protect.Keys
	next    *protect.Keys // of application data: those of the next key phase
	random  [32]byte
	suite   protect.Suite
	version protect.Version
}

const maxCandidates = 16

func (k *candidate) wipe() {
	k.keys.Wipe()
	k.next.Wipe()
}

// A space is the packets of one side with keys of one level.
type space struct {
	keys           *protect.Keys
	before, next   *protect.Keys // of the key phases around, of application data
	candidates     []candidate   // while there are no keys
	expect         uint64        // 1 more than the largest number
	acked          uint64        // the same, as the peer says
	asked, changes uint64        // the state of the connection and of the key log that the candidates follow from
	looked         int64         // when the store was asked
}

// drop wipes the candidates but those keys that the space has.
func (s *space) drop() {
	for i := range s.candidates {
		if k := &s.candidates[i]; k.keys != s.keys {
			k.wipe()
		}
	}
	s.candidates = nil
}

// wipe forgets all keys.
func (s *space) wipe() {
	s.drop()
	for _, k := range []*protect.Keys{s.keys, s.before, s.next} {
		k.Wipe()
	}
	s.keys, s.before, s.next = nil, nil, nil
}

// An initial is the Destination Connection ID of a client's first packet, or of that after a Retry, and the keys that follow from it.
type initial struct {
	dcid    id
	version protect.Version
	keys    *protect.Keys
}

const (
	maxInitials = 8
	maxOpens    = 64 // Initial packets of a client
	maxAnswers  = 8  // those of a server
)

// A stream has two halves, one for each sender.
type stream struct {
	half  [2]assembler
	ended [2]bool
}

// A Conn is one connection. Its exported fields are for the functions of a Decrypter. Once it is Open, only User and Protocol change.
type Conn struct {
	Client, Server netip.AddrPort // when it began
	IPv6           bool
	Link           [12]byte // Ethernet addresses of packets to the server, or zeroes
	Random         [32]byte // of the client
	Suite          uint16   // as TLS 1.3 numbers them
	Version        uint32   // of QUIC
	Protocol       string   // that the server chose (ALPN), or before that is known the first that the client offered
	User           any

	d        *Decrypter
	index    int // in d.conns
	life     Life
	begun    int64 // time of the packet
	seen     int64
	closed   int64 // when it was
	greeting greeting
	answer   greeting // the server's, for those who want to know it
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
	hopeless bool // packets have waited for keys in vain
}

// A verdict is what the server says of 0-RTT packets.
type verdict uint8

const (
	undecided verdict = iota
	accepted
	rejected
)

// held is a packet that waits for keys, or, of 0-RTT, for the verdict.
type held struct {
	arrival
	level   level
	version protect.Version
	at      int // of the packet number
	bytes   []byte
}

// An arrival is where and when a packet came.
type arrival struct {
	tuple *packet.Tuple
	time  int64
	role  uint8 // who sent it
	side  uint8 // of tuple
	known bool  // the tuple is one of the connection's
}

// An outcome is what became of a packet.
type outcome uint8

const (
	opened outcome = iota
	refused
	keyless
)

// proven tells whether a packet opened.
func (c *Conn) proven() bool { return c.life != Opening }

func (c *Conn) over() bool { return c.life >= Closed }

func (c *Conn) grow(n int) {
	if !c.over() {
		c.holds += n
		c.d.held += n
	}
}

// Charge adds n bytes, which may be negative, to what the connection holds: its user keeps them for it.
func (c *Conn) Charge(n int) { c.grow(n) }

// derive makes candidates for a space, if there is something new to make them of.
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

// askAgain is after how long a connection without keys looks for them again when a packet comes, in nanoseconds.
const askAgain = 10e6

// number is what the next packet's is expected to be.
func (s *space) number() uint64 { return max(s.expect, s.acked) }

// take opens a packet, whose bytes it leaves as they are, and handles what is in it.
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

// second tries a packet that did not open with the keys of the phase before, which late packets have.
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

// merge ends a connection that turns out to be another one, seen on other addresses: somebody sends its first packets again. If the other one is
// over, which nil says, nothing more of it is read.
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

// prove says that a packet opened with keys.
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

// opened handles a packet with the keys that there are or the next ones.
func (c *Conn) opened(a *arrival, l level, p *protect.Packet) {
	s := &c.spaces[a.role][l]
	if p.Number >= s.expect {
		s.expect = p.Number + 1
		if l == application && p.Keys == s.keys && p.Dst[0]&keyPhase != 0 != s.keys.Phase() {
			// The sender has updated its keys. The keys of the phase before are for packets that are late.
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

const keyPhase = 0x04 // in the first byte of a short header

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

// named notes the IDs in a long header that is authentic.
func (c *Conn) named(role uint8, h *protect.Header) {
	c.newID(role, h.SCID, nil)
	if role == client {
		c.newID(server, h.DCID, nil)
	}
}

// newID notes an ID of a side, and the token that a stateless reset to the peer would have.
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

// message takes a CRYPTO frame of the handshake.
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

// stream takes a STREAM frame.
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

// resetStream takes a RESET_STREAM frame.
func (c *Conn) resetStream(role uint8, f *frame) {
	s := c.find(role, f.stream)
	if s == nil || s.ended[role] {
		return
	}
	a := &s.half[role]
	if f.kind == frameResetAt && f.offset > a.next {
		a.known, a.size = true, f.offset // as if it ended there
		return
	}
	c.grow(a.drop())
	a.reset = true
	c.tidy(f.stream, s)
}

// find returns a stream, or nil if it is over, is not the sender's, or is one too many.
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
	maxHeld    = 16 << 20 // bytes that one connection holds
)

// tidy tells of halves that have ended, and forgets streams of which both have.
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

// giveUp gives up holes that were there before a time, and tells whether there are others.
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
	maxPasses  = 3 // a packet that opens has keys or the verdict for others
)

// retry takes the packets that wait, of which some may have keys now.
func (c *Conn) retry() {
	for n := 0; n < maxPasses && c.pass(); n++ {
	}
}

// pass takes the packets that wait once, and tells whether some opened and others did not.
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

// expire drops packets that have waited for long enough, and tells whether there are others.
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
	leastWait = 100e6 // for the ClientHello, of which a packet may be late
	earlyWait = 5e9   // for the server's verdict, which takes a round trip
)

// wipe forgets the keys of a connection.
func (c *Conn) wipe() {
	for role := range c.spaces {
		for l := range c.spaces[role] {
			c.spaces[role][l].wipe()
		}
	}
}

// finish ends a connection: what is held of streams is delivered.
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
