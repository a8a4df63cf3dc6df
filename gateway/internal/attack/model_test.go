package attack

import (
	"bytes"
	"flag"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/engine"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/seed"
)

var (
	runs  = flag.Int("runs", 5000, "random attackers")
	first = flag.Int("first", 0, "begin with this one")
	long  = flag.Duration("long", 0, "no new random attackers after that time; 0: all")
)

func enough(begin time.Time) bool { return *long > 0 && time.Since(begin) > *long }

// A receiver models TCP's for the bytes of one side (RFC 9293, section 3.10.7.4; RFC 5961). The first copy of each
// byte counts, if it is in the window.
type receiver struct {
	next   uint32
	isn    uint32
	bytes  []byte // accepted
	ahead  []piece
	fin    uint32 // position of a FIN, or 0
	closed bool   // all bytes before the FIN have arrived
	before int    // the number of these bytes
}

// A piece is early data. The pieces of a receiver are in order and do not touch.
type piece struct {
	seq uint32
	b   []byte
}

const receiveWindow = 256 << 10

func (r *receiver) begin(isn uint32) {
	*r = receiver{next: isn, isn: isn, bytes: r.bytes[:0], ahead: r.ahead[:0]}
}

// read returns the bytes that the application gets: none after a FIN, forged or not. The receiver follows the sender's
// bytes nevertheless, because the other side's packets confirm them, and an observer sees only these packets.
func (r *receiver) read() []byte {
	if r.closed {
		return r.bytes[:r.before]
	}
	return r.bytes
}

// close closes the receiver if all bytes before the FIN have arrived.
func (r *receiver) close() {
	if !r.closed && r.fin != 0 && r.next == r.fin {
		r.closed, r.before = true, len(r.bytes)
	}
}

func (r *receiver) data(seq uint32, p []byte) {
	// The part of it inside the window.
	if at := int32(seq - r.next); at < 0 {
		skip := min(-int(at), len(p))
		seq, p = seq+uint32(skip), p[skip:]
	}
	if len(p) == 0 || seq-r.next >= receiveWindow {
		return
	}
	p = p[:min(len(p), receiveWindow-int(seq-r.next))]
	// Existing data stays.
	for i := 0; len(p) > 0; i++ {
		gap := len(p)
		if i < len(r.ahead) {
			o := &r.ahead[i]
			if over := int(int32(o.seq + uint32(len(o.b)) - seq)); over <= 0 {
				continue
			} else if gap = int(int32(o.seq - seq)); gap <= 0 {
				skip := min(over, len(p))
				seq, p = seq+uint32(skip), p[skip:]
				continue
			}
			gap = min(gap, len(p))
		}
		r.ahead = slices.Insert(r.ahead, i, piece{seq, p[:gap]})
		seq, p = seq+uint32(gap), p[gap:]
	}
	n := 0
	for ; n < len(r.ahead) && r.ahead[n].seq == r.next; n++ {
		r.bytes = append(r.bytes, r.ahead[n].b...)
		r.next += uint32(len(r.ahead[n].b))
	}
	r.ahead = slices.Delete(r.ahead, 0, n)
	r.close()
}

// The receiver matches its definition, byte by byte.
func TestReceiver(t *testing.T) {
	begun := seed.Or(t, 9293)
	for i := range uint64(300) {
		g := rand.New(rand.NewPCG(begun, i))
		var r receiver
		isn := g.Uint32() | g.Uint32() // often near the end of all numbers
		r.begin(isn)
		next, ahead, accepted := isn, map[uint32]byte{}, []byte(nil)
		for range 1 + g.IntN(60) {
			p := make([]byte, g.IntN(1+g.IntN(40)))
			for k := range p {
				p[k] = byte(g.Uint32())
			}
			seq := next + uint32(g.IntN(100)) - uint32(g.IntN(60))
			switch g.IntN(12) {
			case 0:
				seq = next + receiveWindow - uint32(g.IntN(60)) // half in the window
			case 1:
				seq = g.Uint32()
			}
			r.data(seq, p)
			for k, b := range p {
				at := seq + uint32(k)
				if _, there := ahead[at]; !there && at-next < receiveWindow {
					ahead[at] = b
				}
			}
			for b, there := ahead[next]; there; b, there = ahead[next] {
				delete(ahead, next)
				accepted = append(accepted, b)
				next++
			}
			n := 0
			for _, x := range r.ahead {
				for k, b := range x.b {
					if c, there := ahead[x.seq+uint32(k)]; !there || c != b {
						t.Fatalf("run %d: %d of a piece at %d is %d, and %d, %v", i, k, x.seq-isn, b, c, there)
					}
					n++
				}
			}
			if r.next != next || !bytes.Equal(r.bytes, accepted) || n != len(ahead) {
				t.Fatalf("run %d: %d bytes accepted and %d ahead, it should be %d and %d", i, len(r.bytes), n, len(accepted), len(ahead))
			}
		}
	}
}

// A model has the receivers of both sides of a connection.
type model struct {
	r    [2]receiver // by the sender's side of the tuple
	dead bool
}

func (m *model) packet(f *forgery) {
	r := &m.r[f.side]
	if m.dead {
		return
	}
	switch {
	case f.flags&packet.SYN != 0:
		return // in the window it is answered with an acknowledgement, outside as well
	case f.flags&packet.RST != 0:
		if f.seq == r.next {
			m.dead = true
		}
		return
	}
	r.data(f.seq, f.data)
	if at := f.seq + uint32(len(f.data)); f.flags&packet.FIN != 0 && !r.closed && at-r.next < receiveWindow {
		r.fin = at
		r.close()
	}
}

// milestones maps the length of a side's stream to the length of its plaintext.
func (v *victim) milestones(t *testing.T) (all [2][][2]int) {
	for n := range v.frames {
		sg := &v.segs[n]
		if len(sg.Payload) == 0 {
			continue
		}
		got, _ := run(v, v.frames[:n+1], nil)
		side := sg.Side ^ v.client
		isn := v.isn(sg.Side)
		plain := 0
		if p := got.plain[v.id]; p != nil {
			plain = len(p[side])
		}
		all[side] = append(all[side], [2]int{int(sg.Seq + uint32(len(sg.Payload)) - isn), plain})
	}
	return all
}

func (v *victim) isn(side uint8) uint32 {
	for i := range v.segs {
		if v.segs[i].Side == side && v.segs[i].Flags&packet.SYN != 0 {
			return v.segs[i].Seq + 1
		}
	}
	panic("no SYN")
}

// stream returns the data sent by a side of the tuple.
func (v *victim) stream(side uint8) (b []byte) {
	for i := range v.segs {
		if s := &v.segs[i]; s.Side == side {
			if off := int(s.Seq - v.isn(side)); len(s.Payload) > 0 && off == len(b) {
				b = append(b, s.Payload...)
			}
		}
	}
	return b
}

// An event is a packet of the capture.
type event struct {
	f      forgery
	forged bool
	pause  bool
	// Segments are reordered. While some are missing, silence would decide.
	reordered bool
}

// attacker makes a capture of an authentic connection with a random attacker's packets, reordered as in networks.
func attacker(r *rand.Rand, v *victim, streams *[2][]byte) (all []event) {
	type placed struct {
		at float64
		e  event
	}
	var p []placed
	reorder := r.IntN(3) == 0
	for i := range v.segs {
		s := &v.segs[i]
		at := float64(i)
		f := like(s)
		if reorder && len(f.data) > 0 && r.IntN(5) == 0 {
			// An answer does not overtake its question.
			last := i + 1
			for last < len(v.segs) && !(v.segs[last].Side != s.Side && len(v.segs[last].Payload) > 0) {
				last++
			}
			at = min(at+r.Float64()*6, float64(last)-0.01)
		}
		if len(f.data) > 1 && r.IntN(10) == 0 {
			n := 1 + r.IntN(len(f.data)-1)
			g := f
			g.data, g.flags = f.data[:n], packet.ACK
			p = append(p, placed{at - 0.001, event{f: g}})
			f.seq, f.data = f.seq+uint32(n), f.data[n:]
		}
		p = append(p, placed{at, event{f: f}})
		if len(f.data) > 0 && r.IntN(10) == 0 {
			p = append(p, placed{at + r.Float64()*10, event{f: f}}) // again
		}
	}
	ways := []string{"bad TCP checksum", "bad IP checksum", "low TTL", "all good"}
	way := wrong[ways[r.IntN(len(ways))]]
	mixed := r.IntN(2) == 0
	for range 1 + r.IntN(1+r.IntN(30)) {
		s := &v.segs[r.IntN(len(v.segs))]
		f := like(s)
		whole := streams[s.Side]
		switch r.IntN(12) {
		case 0, 1, 2: // a copy with a few other bytes
			for range 1 + r.IntN(3) {
				if len(f.data) > 0 {
					f.data[r.IntN(len(f.data))] ^= byte(1 + r.IntN(255))
				}
			}
		case 3: // other bytes at all
			f.data = junk(f.data)
		case 4, 5: // a piece of any place
			off := r.IntN(len(whole))
			n := min(1+r.IntN(1+r.IntN(3000)), len(whole)-off)
			f.seq, f.data, f.flags = v.isn(s.Side)+uint32(off), junk(whole[off:off+n]), packet.ACK
		case 6: // ahead
			f.seq += uint32(r.IntN(1 + r.IntN(1<<uint(r.IntN(31)))))
			f.data = []byte{byte(r.Uint32())}
		case 7:
			f.flags, f.data = packet.FIN|packet.ACK, nil
			f.seq += uint32(r.IntN(3)) * uint32(r.IntN(100000))
		case 8:
			f.flags, f.data = packet.RST, nil
			f.seq += uint32(r.IntN(3)) * uint32(r.IntN(100000))
		case 9:
			f.flags, f.data, f.seq = packet.SYN, nil, r.Uint32()
			if s.Side != v.client {
				f.flags |= packet.ACK
			}
		case 10: // a record
			size := 1 + r.IntN(16640)
			f.data = append([]byte{byte(20 + r.IntN(4)), 3, 3, byte(size >> 8), byte(size)}, make([]byte, min(size, 1400))...)
		case 11:
			f.data, f.flags = nil, packet.ACK
			f.ack += uint32(r.IntN(1 << 20))
		}
		if mixed {
			way = wrong[ways[r.IntN(len(ways))]]
		}
		way(&f)
		p = append(p, placed{float64(r.IntN(len(v.segs)+1)) - 0.5, event{f: f, forged: true, pause: !reorder && r.IntN(20) == 0}})
	}
	for i := 1; i < len(p); i++ {
		for j := i; j > 0 && p[j].at < p[j-1].at; j-- {
			p[j], p[j-1] = p[j-1], p[j]
		}
	}
	for i := range p {
		p[i].e.reordered = reorder
		all = append(all, p[i].e)
	}
	return all
}

// seedOf returns the seed of a test of attackers: a fixed one in short runs, and a fresh one in long runs.
func seedOf(t *testing.T) uint64 {
	if *long > 0 {
		return seed.Of(t)
	}
	return seed.Or(t, 8446)
}

// known is a victim with its streams and milestones.
type known struct {
	*victim
	streams [2][]byte
	marks   [2][][2]int
}

func learn(t *testing.T, names ...string) (all []known) {
	for _, name := range names {
		v := load(t, name)
		all = append(all, known{v, [2][]byte{v.stream(0), v.stream(1)}, v.milestones(t)})
	}
	return all
}

// A toll counts the effects of attackers.
type toll struct {
	tried, dead                int
	sent, accepted, delivered  int // bytes of plaintext
	undecided, unread, foreign int // directions that lost one record, and more; attackers who caused unsent output
}

const maxIdle = 600e9

// idle returns how long a connection is silent: mostly zero, otherwise from a millisecond to ten minutes.
func idle(r *rand.Rand) int64 {
	if r.IntN(40) > 0 {
		return 0
	}
	return int64(1e6 * math.Pow(maxIdle/1e6, r.Float64()))
}

// attackers runs the attackers with these numbers, each against a new gateway. Half of the timed ones include silence.
func attackers(t *testing.T, all []known, begun uint64, from, to int, timed bool, set func(*engine.Options)) (sum toll) {
	defer debug.SetGCPercent(debug.SetGCPercent(1000))
	begin := time.Now()
	var m model
	for i := from; i < to && !enough(begin); i++ {
		sum.tried++
		r := rand.New(rand.NewPCG(begun, uint64(i)))
		k := &all[r.IntN(len(all))]
		v := k.victim
		events := attacker(r, v, &k.streams)
		silence := rand.New(rand.NewPCG(begun, ^uint64(i)))
		idles := timed && silence.IntN(2) == 0
		m.dead = false
		for side := range m.r {
			m.r[side].begin(v.isn(uint8(side)))
		}
		var frames []capture.Frame
		at := v.frames[0].Time
		for j := range events {
			e := &events[j]
			if at += 50e3; e.pause {
				at += 1e9
			}
			if idles && (!e.reordered || len(m.r[0].ahead)+len(m.r[1].ahead) == 0) {
				at += idle(silence)
			}
			frames = append(frames, v.forge(at, e.f))
			if e.f.reaches() {
				m.packet(&e.f)
			}
		}
		got, w := run(v, frames, set)
		n, only := v.sent(got)
		if !only {
			sum.foreign++
			t.Logf("seed %d, run %d, %s: something came out that was not sent: %+v", begun, i, v.name, w.Stats)
		}
		for tuple := range m.r {
			side := uint8(tuple) ^ v.client
			// The accepted data, as far as it was really sent.
			b := m.r[tuple].read()
			same := 0
			for same < len(b) && same < len(k.streams[tuple]) && b[same] == k.streams[tuple][same] {
				same++
			}
			want := 0
			for _, mark := range k.marks[side] {
				if mark[0] <= same {
					want = max(want, mark[1])
				}
			}
			have := 0
			if p := got.plain[v.id]; p != nil {
				have = len(p[side])
				if !bytes.HasPrefix(p[side], v.plain[side][:min(want, have)]) {
					have = 0
				}
			}
			sum.accepted += want
			if p := got.plain[v.id]; have < want && p != nil && want-len(p[side]) <= 1<<14 && w.Stats.TLS.LostBytes > 0 {
				// One record is missing: too many copies differ in it, and not all of their orders were tried.
				sum.undecided++
				t.Logf("seed %d, run %d, %s, side %d: %d bytes of %d that were accepted", begun, i, v.name, side, len(p[side]), want)
				continue
			}
			if have < want {
				sum.unread++
				t.Logf("seed %d, run %d, %s, side %d: %d bytes of %d that were accepted, %d were sent: %+v", begun, i, v.name, side, have, want, len(v.plain[side]), w.Stats)
			}
		}
		if m.dead {
			sum.dead++
		}
		sum.delivered, sum.sent = sum.delivered+n, sum.sent+v.bytes
	}
	t.Logf("%d attackers in %v, %d cost a record, %d a direction: of %d bytes sent, receivers accepted %d, %d came out; %d connections were reset", sum.tried, time.Since(begin).Round(time.Millisecond),
		sum.undecided, sum.unread, sum.sent, sum.accepted, sum.delivered, sum.dead)
	return sum
}

// Against a random attacker, all data that a receiver accepted is delivered, and no other. Short runs always use the
// same attackers; the seeds of others are logged.
func TestRandomAttackers(t *testing.T) {
	begun := seedOf(t)
	sum := attackers(t, learn(t, known6...), begun, *first, *runs, true, nil)
	if sum.foreign > 0 {
		t.Errorf("%d of %d attackers had something come out that was not sent", sum.foreign, sum.tried)
	}
	if sum.unread > 0 {
		t.Errorf("%d directions of %d connections were not read", sum.unread, sum.tried)
	}
	if sum.undecided > 0 {
		t.Errorf("%d of %d attackers cost a record", sum.undecided, sum.tried)
	}
}

// These attackers of long runs once cost a direction or a record.
func TestAttackersAgain(t *testing.T) {
	all := learn(t, known6...)
	for _, x := range []struct {
		seed uint64
		run  int
	}{
		{1795449980025919778, 38968}, // a forged segment that begins like the ClientHello, which comes in two
		{1795454398458986832, 53217}, // equal plaintext beginnings, one followed by a forged header
		{1795453915679164083, 50028}, // another ClientHello between the keys and the first record that opens with them
	} {
		if sum := attackers(t, all, x.seed, x.run, x.run+1, false, nil); sum.unread+sum.undecided+sum.foreign > 0 {
			t.Errorf("seed %d, run %d: %+v", x.seed, x.run, sum)
		}
	}
}

var known6 = []string{"s-12gcm", "s-12chacha", "s-hrr", "s-keyupdate", "s-padding", "s-aes256"}

// These attackers with silence once cost a direction or a record.
func TestSilentAttackersAgain(t *testing.T) {
	all := learn(t, known6...)
	for _, x := range []struct {
		seed uint64
		run  int
	}{
		{8446, 24903}, {8446, 25749}, {8446, 70697}, // one copy apart from the order of all others
		{20261126, 5486},  // a RST whose number later becomes the next one
		{20261126, 40472}, // a forged acknowledgement, silence, and a segment that arrives after the next one
		{20261126, 46287}, // after a HelloRetryRequest, forged handshake packets come first
		{20261126, 58172}, // a valid ChangeCipherSpec after a beginning that does not open
		// Forged bytes come early and are acknowledged. After silence, a record arrives just before them.
		{20261126, 215103}, {20261126, 282032},
		{20261126, 215873},            // bytes after a beginning that was read again open during the search
		{1795790041537067700, 91309},  // an abandoned handshake record, followed by the only sign that its keys end
		{1795790041537067700, 167473}, // silence after the SYNs, and a segment with the first byte of the ClientHello
		{1795790041537067700, 180882}, // a forged FIN, and silence in the ClientHello
		{1795791816129890606, 236849}, // a segment whose bytes two forged ones have, the first half and the second
		{1795790867668469003, 315370}, // a forged FIN, and a forged RST, both of which nothing tells from real ones
	} {
		if sum := attackers(t, all, x.seed, x.run, x.run+1, true, nil); sum.unread+sum.undecided+sum.foreign > 0 {
			t.Errorf("seed %d, run %d: %+v", x.seed, x.run, sum)
		}
	}
}

// These attackers once cost a direction or a record.
func TestAttackersOfOld(t *testing.T) {
	all := learn(t, known6...)
	for _, of := range []struct {
		seed uint64
		run  int
		what string
	}{
		{1795408054543059154, 4317, "a ClientHello and another record in its place, and three forged copies after it"},
		{1795408054543059154, 6152, "a HelloRetryRequest, and a record over it and over what follows"},
		{1795408054543059154, 6051, "five copies of one record"},
		{8446, 2506, "a forged ServerHello that says the same, from elsewhere; then five copies of one record"},
		{8446, 7549, "six copies of one record"},
		{8446, 9791, "the same"},
		{13, 1537, "what looks like a ClientHello in the name of the server, before the SYN"},
		{15, 6737, "nine copies of one record, four of them of one place"},
		{20261123, 9359, "a hello in two segments, of which a forged one before has the first as well"},
		{20261124, 52354, "a byte as of a hello far ahead, and then segments where the client began"},
		{555, 18763, "the first two bytes of a hello, after one byte that was none"},
	} {
		if sum := attackers(t, all, of.seed, of.run, of.run+1, false, nil); sum.unread+sum.undecided+sum.foreign > 0 {
			t.Errorf("seed %d, run %d (%s): %+v", of.seed, of.run, of.what, sum)
		}
	}
}

// The same attackers find faults that gateways could have. One gateway gives up waiting data for lack of memory, and
// another accepts a forged byte. A third leaves out a record, and a fourth delivers a byte twice.
func TestRandomAttackersCanFail(t *testing.T) {
	all := learn(t, "s-12gcm", "s-12chacha", "s-hrr")
	const some = 40
	if sum := attackers(t, all, 8446, 0, some, true, nil); sum.unread+sum.undecided+sum.foreign > 0 {
		t.Errorf("without a fault: %+v", sum)
	}
	if sum := attackers(t, all, 8446, 0, some, true, func(o *engine.Options) { o.Memory = 1000 }); sum.unread == 0 {
		t.Errorf("no memory: %+v", sum)
	}
	if sum := attackers(t, all, 8446, 0, some, true, func(o *engine.Options) { o.Idle = 5e9 }); sum.unread == 0 {
		t.Errorf("no patience: %+v", sum)
	}
	defer func() { spoiled = nil }()
	for name, c := range map[string]struct {
		spoils func(p *[2][]byte)
		found  func(toll) bool
	}{
		"a forged byte":      {func(p *[2][]byte) { p[1][len(p[1])/2] ^= 1 }, func(s toll) bool { return s.foreign > 0 }},
		"a byte said twice":  {func(p *[2][]byte) { p[1] = append(p[1][:100:100], p[1][99:]...) }, func(s toll) bool { return s.foreign > 0 }},
		"nothing of one":     {func(p *[2][]byte) { p[1] = p[1][:0] }, func(s toll) bool { return s.unread > 0 }},
		"a record left out":  {func(p *[2][]byte) { p[1] = append(p[1][:2000:2000], p[1][3000:]...) }, func(s toll) bool { return s.unread+s.undecided > 0 }},
		"the end is missing": {func(p *[2][]byte) { p[1] = p[1][:len(p[1])-1] }, func(s toll) bool { return s.unread+s.undecided > 0 }},
	} {
		spoiled = func(p *[2][]byte) {
			if len(p[1]) > 4000 {
				c.spoils(p)
			}
		}
		if sum := attackers(t, all, 8446, 0, some, true, nil); !c.found(sum) {
			t.Errorf("%s: %+v", name, sum)
		}
	}
}

// spoiled, if set, changes the output of a connection: a planted fault of the gateway.
var spoiled func(p *[2][]byte)
