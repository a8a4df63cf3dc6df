package quic

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	protect "github.com/sealane/sealane/quic"

	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/seed"
)

var suites = []protect.Suite{protect.AES128GCM, protect.AES256GCM, protect.ChaCha20Poly1305}

// give has a listener take datagrams of a connection, 1 ms apart.
func (l *listener) give(m *maker, now *int64, all ...sent) {
	for _, s := range all {
		*now += 1e6
		l.d.Datagram(m.segment(s), *now, *now)
	}
	l.d.Flush()
	l.d.Tick(*now)
}

// All suites, all sizes of connection IDs, key updates of either side at any time.
func TestSuites(t *testing.T) {
	r := rand.New(rand.NewPCG(seed.Of(t), 0))
	for i := range 60 {
		m := newMaker(t, r, suites[i%3], []int{0, 1, 4, 8, 20}[i%5], []int{0, 8, 4, 20}[i%4])
		l := newListener(m.log())
		now := int64(1e18)
		l.give(m, &now, m.handshake()...)
		var want [2][]byte
		for range 100 {
			role := uint8(r.IntN(2))
			text := bytesOf(r, r.IntN(1200))
			if r.IntN(10) == 0 {
				m.update(role)
			}
			l.give(m, &now, sent{role, m.short(role, streamOf(0, uint64(len(want[role])), text, false))})
			want[role] = append(want[role], text...)
		}
		l.d.Close()
		if len(l.conns) != 1 || !bytes.Equal(l.conns[0].streams[0][0], want[0]) || !bytes.Equal(l.conns[0].streams[0][1], want[1]) || l.d.Stats.Refused > 0 {
			t.Fatalf("%#x, IDs of %d and %d bytes: %+v", uint16(m.suite), len(m.ids[0]), len(m.ids[1]), l.d.Stats)
		}
	}
}

// Packets that arrive before their keys wait, at most as long as Wait.
func TestLateKeys(t *testing.T) {
	for _, c := range []struct {
		after int64 // milliseconds
		opens bool
	}{{50, true}, {300, true}, {700, false}} {
		r := rand.New(rand.NewPCG(1, 2))
		m := newMaker(t, r, protect.AES128GCM, 8, 8)
		l := newListener(nil)
		l.d.Wait = 500e6
		now := int64(1e18)
		l.give(m, &now, m.handshake()...)
		l.give(m, &now, sent{client, m.short(client, streamOf(0, 0, []byte("early bird"), false))})
		for range c.after {
			now += 1e6
			l.d.Tick(now)
		}
		log := keys.Log{Store: l.d.Store}
		log.Write(m.log())
		l.d.Tick(now + 1e6)
		now += 20e6
		l.give(m, &now, sent{client, m.short(client, streamOf(4, 0, []byte("later"), true))})
		l.give(m, &now, sent{server, m.long(server, handshake, cryptoOf(0, extensionsOf("test", false)), m.ids[client])})
		l.give(m, &now, sent{client, m.short(client, streamOf(8, 0, []byte("last"), true))})
		l.d.Close()
		if len(l.conns) != 1 {
			t.Fatalf("%d ms: %d connections, %+v", c.after, len(l.conns), l.d.Stats)
		}
		got := l.conns[0].streams
		if (got[0] != nil) != c.opens || got[8] == nil || l.d.held != 0 {
			t.Errorf("%d ms: %v, %+v", c.after, got, l.d.Stats)
		}
	}
}

// 0-RTT packets wait for the server's verdict.
func TestEarly(t *testing.T) {
	for _, accepts := range []bool{true, false} {
		r := rand.New(rand.NewPCG(1, 2))
		m := newMaker(t, r, protect.AES128GCM, 8, 8)
		l := newListener(m.log())
		now := int64(1e18)
		l.give(m, &now, m.hello(), sent{client, m.long(client, early, streamOf(0, 0, []byte("said early"), true), m.dcid)})
		if len(l.conns) != 0 {
			t.Fatal("0-RTT data came before the verdict")
		}
		l.give(m, &now, sent{server, m.long(server, handshake, cryptoOf(0, extensionsOf("test", accepts)), m.ids[client])})
		l.give(m, &now, sent{client, m.long(client, early, streamOf(4, 0, []byte("and more"), true), m.dcid)})
		l.d.Close()
		got := fmt.Sprint(len(l.conns[0].streams), l.d.Stats.EarlyRejected, l.d.Stats.Packets[early])
		if want := map[bool]string{true: "2 0 2", false: "0 2 0"}[accepts]; got != want {
			t.Errorf("accepted %v: %s, want %s", accepts, got, want)
		}
	}
}

// A hole in a stream is given up after holeWait, when the connection ends, and when too much waits after it.
func TestHoles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	m := newMaker(t, r, protect.ChaCha20Poly1305, 8, 8)
	l := newListener(m.log())
	now := int64(1e18)
	l.give(m, &now, m.handshake()...)
	part := make([]byte, 1000)
	l.give(m, &now, sent{client, m.short(client, streamOf(0, 100, part, false))})
	if l.d.held < 1000 || l.conns[0].lost != 0 {
		t.Fatalf("%d bytes are held", l.d.held)
	}
	now += holeWait + 2e6
	l.d.Tick(now)
	if c := l.conns[0]; c.lost != 100 || len(c.streams[0][0]) != 1000 {
		t.Fatalf("%d bytes are lost", c.lost)
	}
	for at := uint64(2000); l.conns[0].lost == 100; at += 1000 {
		if l.give(m, &now, sent{client, m.short(client, streamOf(4, at, part, false))}); l.d.held > maxHeld+pieceBytes+2*connCost || at > 2*maxHeld {
			t.Fatalf("%d bytes are held", l.d.held)
		}
	}
	if l.conns[0].lost != 2100 || l.d.Stats.Holes != 2 {
		t.Errorf("%d bytes in %d holes", l.conns[0].lost, l.d.Stats.Holes)
	}
	l.give(m, &now, sent{client, m.short(client, streamOf(8, 50, part, true))})
	l.d.Close()
	if c := l.conns[0]; c.lost != 2150 || !c.ended[8][0] || l.d.held != 0 {
		t.Errorf("%d bytes are lost; %d are held", c.lost, l.d.held)
	}
}

// The memory of connections stays within the limit, whatever they do. Open ones are evicted last.
func TestMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const limit = 2 << 20
	var log []byte
	var makers []*maker
	for range 20 {
		m := newMaker(t, r, protect.AES128GCM, 8, 8)
		makers = append(makers, m)
		log = append(log, m.log()...)
	}
	l := newListener(log)
	l.d.Limits.Memory, l.d.Limits.Conns = limit, 10000
	now := int64(1e18)
	for _, m := range makers {
		l.give(m, &now, m.handshake()...)
	}
	for i := range 600 { // strangers
		m := newMaker(t, r, protect.AES128GCM, 8, 8)
		if l.give(m, &now, m.hello()); l.d.held > limit {
			t.Fatalf("%d bytes after %d hellos", l.d.held, i)
		}
	}
	if n := len(l.d.conns[1]); n != len(makers) {
		t.Fatalf("%d connections are open, of %d", n, len(makers))
	}
	part := make([]byte, 1000)
	for i := range uint64(400) { // and all of them hold more and more
		for _, m := range makers {
			if l.give(m, &now, sent{client, m.short(client, streamOf(0, 10+i*1000, part, false))}); l.d.held > limit {
				t.Fatalf("%d bytes", l.d.held)
			}
		}
	}
	if l.d.Stats.Reclaims == 0 || l.d.Stats.Holes == 0 || len(l.d.conns[1]) != len(makers) {
		t.Errorf("%+v, %d connections", l.d.Stats, len(l.d.conns[1]))
	}
	l.d.Close()
	if l.d.held != 0 {
		t.Errorf("%d bytes are left", l.d.held)
	}
}

// A download is a stream of the server, in packets of any size, after a handshake with connection IDs of one length.
type download struct {
	*maker
	l    *listener
	r    *rand.Rand
	ids  int
	now  int64
	text []byte
}

func newDownload(t *testing.T, ids int) *download {
	r := rand.New(rand.NewPCG(1, 2))
	m := newMaker(t, r, protect.AES128GCM, ids, 8)
	d := &download{maker: m, l: newListener(m.log()), r: r, ids: ids, now: 1e18}
	d.l.give(m, &d.now, m.handshake()...)
	return d
}

// packet has n bytes in all.
func (d *download) packet(n int) []byte {
	text := bytesOf(d.r, n-1-d.ids-4-16-17)
	d.text = append(d.text, text...)
	return d.short(server, streamOf(0, uint64(len(d.text)-len(text)), text, false))
}

func (d *download) give(datagrams ...[]byte) {
	for _, b := range datagrams {
		d.l.give(d.maker, &d.now, sent{server, b})
	}
}

func (d *download) check(t *testing.T) {
	t.Helper()
	if got := d.l.conns[0].streams[0][server]; !bytes.Equal(got, d.text) || d.l.d.Stats.Refused > 0 {
		t.Errorf("IDs of %d bytes: %d bytes of %d; %+v", d.ids, len(got), len(d.text), d.l.d.Stats)
	}
}

// Datagrams that a network card will cut, or has merged, are split, whatever the connection IDs are.
func TestMerged(t *testing.T) {
	for _, ids := range []int{0, 3, 8} {
		d := newDownload(t, ids)
		d.give(d.packet(1252), d.packet(1400), d.packet(300))
		for i := range 20 {
			size := []int{1252, 1400}[i/10]
			var b []byte
			for range 1 + i {
				b = append(b, d.packet(size)...)
			}
			d.give(append(b, d.packet(100+i)...))
		}
		d.give(d.packet(9000))                         // not merged
		for _, size := range []int{1333, 1345, 1390} { // unknown sizes, all within a microsecond
			d.l.d.Datagram(d.segment(sent{server, append(d.packet(size), d.packet(size)...)}), d.now, d.now)
		}
		d.l.d.Close()
		d.check(t)
	}
}

// So are merged acknowledgements, between datagrams of other sizes. None of them counts as refused. Sizes that IDs do
// not reveal are searched for as often as the limit allows.
func TestMergedSmall(t *testing.T) {
	for _, ids := range []int{0, 3, 8} {
		d := newDownload(t, ids)
		for i := range 40 {
			var b []byte
			for range 2 + d.r.IntN(20) { // often more than one large datagram
				b = append(b, d.packet(60+i/4)...)
			}
			d.give(append(b, d.packet(50)...), d.packet(1252), append(d.packet(700+i), d.packet(60)...))
		}
		d.check(t)
		before := d.l.d.trials
		const forged = 2000
		for range forged {
			b := d.packet(1000)
			b[500]++
			d.l.d.Datagram(d.segment(sent{server, b}), d.now, d.now)
		}
		d.l.d.Flush()
		if n := d.l.d.trials - before; d.l.d.Stats.Refused != forged || n > forged*4+searchBurst {
			t.Errorf("IDs of %d bytes: %d openings for %d forged packets, %d refused", ids, n, forged, d.l.d.Stats.Refused)
		}
	}
}

// A datagram longer than possible, as in a forged capture, is ignored.
func TestTooLong(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	m := newMaker(t, r, protect.AES128GCM, 8, 8)
	l := newListener(m.log())
	now := int64(1e18)
	l.give(m, &now, m.handshake()...)
	at := uint64(0)
	for _, n := range []int{100, 300 << 10, 300 << 10, maxDatagram + 1, maxDatagram, maxDatagram, 1000} {
		text := make([]byte, n-(1+8+4+17+protect.TagSize))
		packet := m.short(server, streamOf(0, at, text, false))
		if len(packet) != n {
			t.Fatalf("made %d bytes for %d", len(packet), n)
		}
		if l.give(m, &now, sent{server, packet}); n <= maxDatagram {
			at += uint64(len(text))
		}
	}
	if got := len(l.conns[0].streams[0][server]); uint64(got) != at {
		t.Errorf("%d bytes of %d: %+v", got, at, l.d.Stats)
	}
}

// Keys are wiped when others take their place, and when the connection is over.
func TestWiped(t *testing.T) {
	for _, suite := range suites {
		r := rand.New(rand.NewPCG(1, 2))
		m := newMaker(t, r, suite, 8, 8)
		l := newListener(m.log())
		now := int64(1e18)
		l.give(m, &now, m.handshake()...)
		c := l.d.conns[1][0]
		var old []*protect.Keys
		for i := range uint64(4) {
			l.give(m, &now, sent{client, m.short(client, streamOf(0, 4*i, []byte("text"), false))})
			old = append(old, c.spaces[client][application].keys)
			m.update(client)
		}
		usable := func(k *protect.Keys) bool {
			_, err := k.Mask(make([]byte, 16))
			return err == nil
		}
		for i, k := range old { // the newest has those of the phase before
			if usable(k) != (i >= 2) {
				t.Errorf("%#x: keys of phase %d are usable: %v", uint16(suite), i, usable(k))
			}
		}
		l.give(m, &now, sent{client, m.short(client, []byte{frameCloseApp, 0, 0})})
		last := []*protect.Keys{c.spaces[client][handshake].keys, c.spaces[server][handshake].keys, c.spaces[client][application].before,
			c.spaces[client][application].keys, c.spaces[client][application].next}
		for _, k := range last {
			if !usable(k) {
				t.Errorf("%#x: keys are wiped too early", uint16(suite))
			}
		}
		l.d.Close()
		for _, k := range last {
			if usable(k) {
				t.Errorf("%#x: keys are left", uint16(suite))
			}
		}
	}
}

// A packet with unknown frames is counted; the frames before are read.
func TestUnknownFrame(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	m := newMaker(t, r, protect.AES128GCM, 8, 8)
	l := newListener(m.log())
	now := int64(1e18)
	l.give(m, &now, m.handshake()...)
	payload := append([]byte{frameMaxData, 1, frameStream | streamLength, 0, 2, 'o', 'k'}, 0x3f, 1, 2, 3)
	l.give(m, &now, sent{client, m.short(client, payload)})
	if string(l.conns[0].streams[0][0]) != "ok" || l.d.Stats.BadFrames != 1 {
		t.Errorf("%+v", l.d.Stats)
	}
}
