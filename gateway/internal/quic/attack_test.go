package quic

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	protect "github.com/sealane/sealane/quic"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/seed"
)

var (
	long = flag.Duration("long", 0, "how long random attackers try")
	runs = flag.Int("runs", 300, "random attackers, unless -long is given")
)

// An attacker sees all datagrams of a capture and sends others. It knows everything except the key log.
type attacker struct {
	*rand.Rand
	l       *listener
	now     int64
	seen    []packet.Segment
	dcid    []byte // of the first Initial packet
	version protect.Version
	first   *protect.Keys // of that packet
	other   *protect.Keys // the same, of the server's
	scid    [2][]byte
	short   [2][]byte // the newest packet with a short header, by side
	sent    uint64    // datagrams, with those of the endpoints
	begin   int64     // time of the first
	began   int       // connections
}

func (a *attacker) send(s *packet.Segment) {
	if a.sent++; a.begin == 0 {
		a.begin = a.now
	}
	a.l.d.Datagram(s, a.now, a.now)
}

// clone is a copy of a datagram that the attacker may change.
func (a *attacker) clone() packet.Segment {
	s := a.seen[a.IntN(len(a.seen))]
	s.Payload = bytes.Clone(s.Payload)
	return s
}

func (a *attacker) bytes(n int) []byte { return bytesOf(a.Rand, n) }

// initial is an Initial packet that opens, of either side.
func (a *attacker) initial(k *protect.Keys, dcid, scid, payload []byte, size int) []byte {
	m := &maker{t: panicking{}, version: a.version, initial: [2]*protect.Keys{k, k}, ids: [2][]byte{scid, scid}}
	if n := size - 60 - len(payload); n > 0 {
		payload = append(payload, make([]byte, n)...)
	}
	m.number[0][levels] = uint64(a.IntN(200))
	return m.long(client, levels, payload, dcid)
}

// panicking stands in for a test where a maker needs one. Nothing in it may fail.
type panicking struct{ testing.TB }

func (panicking) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// ways lists the possible attacks.
var ways = map[string]func(a *attacker){
	"replay": func(a *attacker) { s := a.clone(); a.send(&s) },
	"replay from elsewhere": func(a *attacker) {
		s := a.clone()
		s.Tuple.Port[a.IntN(2)] = uint16(a.Uint32())
		a.send(&s)
	},
	"from the other side": func(a *attacker) { s := a.clone(); s.Side = 1 - s.Side; a.send(&s) },
	"flip": func(a *attacker) {
		s := a.clone()
		s.Payload[a.IntN(len(s.Payload))] ^= 1 << a.IntN(8)
		a.send(&s)
	},
	"truncate": func(a *attacker) { s := a.clone(); s.Payload = s.Payload[:a.IntN(len(s.Payload))]; a.send(&s) },
	"append": func(a *attacker) {
		s := a.clone()
		s.Payload = append(s.Payload, a.bytes(1+a.IntN(100))...)
		if s.Payload[0]&0x80 != 0 {
			a.send(&s)
		}
	},
	"junk": func(a *attacker) { s := a.clone(); s.Payload = a.bytes(1 + a.IntN(1400)); a.send(&s) },
	"short with its ID": func(a *attacker) {
		s := a.clone()
		if known := a.short[s.Side]; known != nil {
			n := min(len(known), 9)
			s.Payload = append(bytes.Clone(known[:n]), a.bytes(20+a.IntN(1200))...)
			a.send(&s)
		}
	},
	"another hello with the same ID": func(a *attacker) {
		hello := helloOf([32]byte(a.bytes(32)))
		if a.IntN(2) == 0 {
			hello = a.bytes(200)
		}
		s := a.seen[0]
		s.Payload = a.initial(a.first, a.dcid, a.scid[client], cryptoOf(uint64(a.IntN(3)*a.IntN(100)), hello), 1250)
		a.send(&s)
	},
	"close": func(a *attacker) {
		s := a.seen[0]
		s.Payload = a.initial(a.first, a.dcid, a.scid[client], []byte{frameClose, 0, 0, 0}, 1250)
		a.send(&s)
	},
	"a server's Initial with another ID": func(a *attacker) {
		s := a.seen[0]
		s.Side = 1 - s.Side
		s.Payload = a.initial(a.other, a.scid[client], a.bytes(8), []byte{framePing}, 1250)
		a.send(&s)
	},
	"another connection": func(a *attacker) {
		if a.began++; a.began > maxOnPath/2 {
			return
		}
		dcid := a.bytes(8 + a.IntN(12))
		k, _, err := protect.InitialKeys(a.version, dcid)
		if err != nil {
			panic(err)
		}
		scid := a.bytes(a.IntN(20))
		if a.IntN(2) == 0 {
			scid = a.scid[client]
		}
		s := a.seen[0]
		s.Payload = a.initial(k, dcid, scid, cryptoOf(0, helloOf([32]byte(a.bytes(32)))), 1250)
		a.send(&s)
	},
	"retry": func(a *attacker) {
		b := []byte{0xf0, 0, 0, 0, 1, byte(len(a.scid[client]))}
		b = append(append(b, a.scid[client]...), 8)
		b = append(b, a.bytes(30)...)
		tag, err := protect.RetryTag(protect.Version1, a.dcid, b)
		if err != nil {
			panic(err)
		}
		s := a.seen[0]
		s.Side = 1 - s.Side
		s.Payload = append(b, tag[:]...)
		a.send(&s)
	},
	"version negotiation": func(a *attacker) {
		s := a.seen[0]
		s.Side = 1 - s.Side
		s.Payload = append([]byte{0x80, 0, 0, 0, 0, byte(len(a.scid[client]))}, a.scid[client]...)
		s.Payload = append(append(s.Payload, byte(len(a.dcid))), a.dcid...)
		s.Payload = append(s.Payload, 0x6b, 0x33, 0x43, 0xcf)
		a.send(&s)
	},
	"handshake packets without end": func(a *attacker) {
		s := a.clone()
		s.Payload = nil
		for range 60 {
			b := append([]byte{0xe0, 0, 0, 0, 1, byte(len(a.scid[client]))}, a.scid[client]...)
			s.Payload = append(append(b, 0, 0x15), a.bytes(0x15)...)
		}
		s.Side = 1 - a.seen[0].Side
		a.send(&s)
	},
	"reset": func(a *attacker) {
		s := a.clone()
		s.Payload = append([]byte{0x40 | byte(a.Uint32()&0x3f)}, a.bytes(40)...)
		a.send(&s)
	},
}

var wayNames = slices.Sorted(maps.Keys(ways))

// sees learns from a datagram.
func (a *attacker) sees(s *packet.Segment) {
	b := s.Payload
	c := *s
	c.Payload = bytes.Clone(b)
	a.seen = append(a.seen, c)
	if b[0]&0x80 == 0 {
		a.short[s.Side] = c.Payload
		return
	}
	h, err := protect.ParseHeader(c.Payload, 0)
	if err != nil {
		return
	}
	if a.dcid == nil {
		a.dcid, a.version = h.DCID, h.Version
		if a.first, a.other, err = protect.InitialKeys(h.Version, h.DCID); err != nil {
			panic(err)
		}
		a.scid[client] = h.SCID
	}
}

// attack has frames read with datagrams of an attacker between them, and datagrams of the endpoints in another order.
func attack(l *listener, r *rand.Rand, frames []capture.Frame, density int) *attacker {
	a := &attacker{Rand: r, l: l}
	frames = slices.Clone(frames)
	for i := 2; i+1 < len(frames); i++ { // the first announces the connection, and is not overtaken
		if r.IntN(10) == 0 && frames[i].Time != frames[i+1].Time {
			frames[i].Data, frames[i+1].Data = frames[i+1].Data, frames[i].Data
		}
	}
	for i, f := range frames {
		var s packet.Segment
		if packet.Parse(&s, f.Link, f.Data) != packet.UDP {
			continue
		}
		a.now = f.Time
		a.sees(&s)
		a.send(&s)
		if r.IntN(8) == 0 {
			a.send(&s) // the network repeats it
		}
		for range density {
			if r.IntN(3) == 0 {
				ways[wayNames[r.IntN(len(wayNames))]](a)
			}
		}
		if i%20 == 19 || r.IntN(10) == 0 {
			l.d.Flush()
			l.d.Tick(f.Time)
		}
	}
	l.d.Flush()
	return a
}

// Random attackers neither remove nor add data of the endpoints. Their datagrams cause a bounded number of
// decryptions.
func TestRandomAttackers(t *testing.T) {
	of := []string{"q-v1", "q-v2", "q-idle-ids", "q-migration", "q-chacha", "q-aes256", "q-py0rtt", "q-pyupdate", "q-retry"}
	want := map[string]string{}
	frames := map[string][]capture.Frame{}
	for _, name := range of {
		l := newListener(keysOf(t, name))
		frames[name] = framesOf(t, name)
		l.read(frames[name])
		l.d.Close()
		want[name] = l.text()
	}
	// Loss is noticed.
	l := newListener(keysOf(t, "q-v1"))
	l.read(slices.Delete(slices.Clone(frames["q-v1"]), 20, 30))
	if l.d.Close(); l.text() == want["q-v1"] {
		t.Fatal("without ten datagrams the text is the same")
	}
	first := seed.Of(t)
	begin := time.Now()
	for i := uint64(0); i < uint64(*runs) || time.Since(begin) < *long; i++ {
		name := of[i%uint64(len(of))]
		r := rand.New(rand.NewPCG(first, i))
		l := newListener(keysOf(t, name))
		a := attack(l, r, frames[name], 1+r.IntN(5))
		if l.d.held > 4<<20 {
			t.Fatalf("seed %d, attacker %d of %s: %d bytes are held", first, i, name, l.d.held)
		}
		l.d.Close()
		if got := l.text(); got != want[name] {
			t.Fatalf("seed %d, attacker %d of %s: got\n%swant\n%s%+v", first, i, name, got, want[name], l.d.Stats)
		}
		const each = 12 // openings of a datagram, on average
		if most := each*a.sent + uint64((a.now-a.begin)/searchEach); l.d.trials > most || l.d.held != 0 {
			t.Fatalf("seed %d, attacker %d of %s: %d openings for %d datagrams, %d bytes are left", first, i, name, l.d.trials, a.sent, l.d.held)
		}
	}
}

// text is the data of each connection and stream.
func (l *listener) text() (s string) {
	for i, c := range l.conns {
		for _, n := range slices.Sorted(maps.Keys(c.streams)) {
			b := c.streams[n]
			s += fmt.Sprintf("%d stream %d: %d %x, %d %x, lost %d\n", i, n, len(b[0]), sum(b[0]), len(b[1]), sum(b[1]), c.lost)
		}
	}
	return s
}

func sum(b []byte) (s uint32) {
	for _, x := range b {
		s = s*16777619 ^ uint32(x)
	}
	return s
}

// An attacker floods the addresses of a connection with other connections, before and after it. Once its keys are
// known, the connection is not evicted.
func TestFlood(t *testing.T) {
	for _, before := range []bool{true, false} {
		frames := framesOf(t, "q-v1")
		l := newListener(keysOf(t, "q-v1"))
		r := rand.New(rand.NewPCG(seed.Of(t), 0))
		a := &attacker{Rand: r, l: l, version: protect.Version1}
		flood := func(tuple packet.Tuple, side uint8, random *[32]byte) {
			for range 200 {
				m := newMaker(t, r, protect.AES128GCM, 8, 8)
				if m.tuple, m.client = tuple, side; random != nil {
					m.random = *random
					a.now++
				}
				s := m.segment(m.hello())
				a.send(s)
			}
		}
		for i, f := range frames {
			var s packet.Segment
			packet.Parse(&s, f.Link, f.Data)
			a.now = f.Time
			if i == 0 && before {
				flood(s.Tuple, s.Side, nil)
			}
			a.send(&s)
			if i == 0 {
				var first *Conn
				for _, c := range l.d.conns[0] {
					if c.claimed() {
						first = c
					}
				}
				flood(s.Tuple, s.Side, nil)
				flood(s.Tuple, s.Side, &first.greeting.randoms[0]) // that it has seen
			}
			l.d.Flush()
		}
		l.d.Close()
		if len(l.conns) != 1 || len(l.conns[0].streams) != 4 || l.d.Stats.Ends[Evicted-Closed] == 0 {
			t.Errorf("flooded before: %v: %d connections, %+v", before, len(l.conns), l.d.Stats)
		}
	}
}

// Spoofed addresses do not take a connection's place on its own.
func TestManyAddresses(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	m := newMaker(t, r, protect.AES128GCM, 8, 8)
	l := newListener(m.log())
	now := int64(1e18)
	l.give(m, &now, m.handshake()...)
	for i := range uint64(100) {
		s := m.segment(sent{client, m.short(client, streamOf(0, 2*i, []byte("ab"), false))})
		there := *s
		there.Tuple, there.Side = packet.TupleOf(netip.MustParseAddrPort(fmt.Sprintf("198.51.100.%d:%d", i, 1000+i)), netip.MustParseAddrPort("192.0.2.2:443"))
		now += 1e6
		l.d.Datagram(&there, now, now) // somebody was faster
		l.d.Flush()
		l.d.Datagram(s, now, now)
		l.d.Flush()
	}
	c := l.conns[0]
	if len(c.streams[0][0]) != 200 || len(c.conn.paths) > maxPaths || len(l.d.paths) > maxPaths {
		t.Errorf("%d bytes, %d paths", len(c.streams[0][0]), len(l.d.paths))
	}
}

// FuzzDatagram gives datagrams of any bytes to a Decrypter with an open connection.
func FuzzDatagram(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	m := newMaker(f, r, protect.AES128GCM, 8, 8)
	all := m.handshake()
	for _, s := range all {
		f.Add(s.b, s.role)
	}
	f.Add(m.short(client, streamOf(0, 0, []byte("hello"), true)), uint8(0))
	f.Add([]byte("\xf0\x00\x00\x00\x01\x00\x00token and tag of a Retry"), uint8(1))
	f.Add([]byte("\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"), uint8(1))
	log := m.log()
	f.Fuzz(func(t *testing.T, b []byte, side uint8) {
		l := newListener(log)
		now := int64(1e18)
		l.give(m, &now, all...)
		before := l.d.trials
		l.give(m, &now, sent{side & 1, b})
		if l.d.trials-before > 100+largestDatagram || l.d.held > 1<<20 {
			t.Fatalf("%d openings, %d bytes are held", l.d.trials-before, l.d.held)
		}
		l.d.Close()
		if l.d.held != 0 || len(l.d.paths) != 0 || len(l.d.names) != 0 {
			t.Fatalf("%d bytes, %d paths and %d IDs are left", l.d.held, len(l.d.paths), len(l.d.names))
		}
	})
}

// FuzzFrames lets an endpoint send any data in authentic packets, on each level.
func FuzzFrames(f *testing.F) {
	f.Add(streamOf(0, 5, []byte("hello"), true), streamOf(0, 0, []byte("01234"), false))
	f.Add(append([]byte{frameNewID, 1, 0, 8}, make([]byte, 8+resetToken)...), []byte{frameCloseApp, 0, 0})
	f.Add([]byte{frameReset, 0, 0, 5, frameResetAt, 4, 0, 9, 3}, []byte{frameACKECN, 9, 0, 1, 0, 0, 0, 1, 2, 3, frameDatagramLength, 1, 'x'})
	f.Add(cryptoOf(0, extensionsOf("h3", true)), []byte{frameMaxData, 1, framePathChallenge, 1, 2, 3, 4, 5, 6, 7, 8, frameNewToken, 1, 2})
	f.Fuzz(func(t *testing.T, one, two []byte) {
		if len(one) > 60000 || len(two) > 60000 {
			return
		}
		r := rand.New(rand.NewPCG(1, 2))
		m := newMaker(t, r, protect.AES128GCM, 8, 8)
		l := newListener(m.log())
		now := int64(1e18)
		l.give(m, &now, m.handshake()...)
		for i, b := range [][]byte{one, two, one} {
			role := uint8(i & 1)
			l.give(m, &now, sent{role, m.short(role, b)}, sent{role, m.long(role, handshake, b[:min(len(b), 10000)], m.ids[1-role])})
		}
		now += 10e9
		l.d.Tick(now)
		l.d.Close()
		if l.d.held != 0 || len(l.d.paths) != 0 || len(l.d.names) != 0 {
			t.Fatalf("%d bytes, %d paths and %d IDs are left", l.d.held, len(l.d.paths), len(l.d.names))
		}
	})
}
