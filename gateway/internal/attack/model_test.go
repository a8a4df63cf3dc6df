package attack

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/seed"
)

var (
	runs  = flag.Int("runs", 2000, "random attackers")
	first = flag.Int("first", 0, "begin with this one")
	long  = flag.Duration("long", 0, "no new random attackers after that time; 0: all")
)

func enough(begin time.Time) bool { return *long > 0 && time.Since(begin) > *long }

// A receiver is TCP's, for the bytes that one side sends (RFC 9293, section 3.10.7.4; RFC 5961): of each place the first copy
// counts, if it is in the window.
type receiver struct {
	next   uint32
	isn    uint32
	bytes  []byte // accepted
	ahead  map[uint32]byte
	closed bool
}

const receiveWindow = 256 << 10

func (r *receiver) data(seq uint32, p []byte) {
	if r.closed {
		return
	}
	for i, b := range p {
		at := seq + uint32(i) - r.next
		if at >= receiveWindow {
			continue
		}
		if _, there := r.ahead[seq+uint32(i)]; !there {
			r.ahead[seq+uint32(i)] = b
		}
	}
	for {
		b, there := r.ahead[r.next]
		if !there {
			return
		}
		delete(r.ahead, r.next)
		r.bytes = append(r.bytes, b)
		r.next++
	}
}

// A model is both ends of a connection.
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
	if f.flags&packet.FIN != 0 && f.seq+uint32(len(f.data)) == r.next {
		r.closed = true
	}
}

// milestones tell how much plaintext a side has said with so many bytes of its stream.
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

// stream returns what a side of the tuple sent.
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

// An event is a packet at a place in the capture.
type event struct {
	f      forgery
	forged bool
	pause  bool
}

// attacker makes a capture of an authentic connection and what a random attacker adds, with loss of order as networks have it.
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
		all = append(all, p[i].e)
	}
	return all
}

// seedOf returns the seed of a test of attackers: the same ones in every short run, in long ones always others.
func seedOf(t *testing.T) uint64 {
	if *runs > 2000 {
		return seed.Of(t)
	}
	return seed.Or(t, 8446)
}

// Whatever a random attacker sends, all that a receiver accepted comes out, and nothing that was not sent. Of the attackers of short runs
// none costs anything; of others one in a thousand may cost a record, which is counted, and one in five thousand a direction. Their
// seeds are logged.
func TestRandomAttackers(t *testing.T) {
	begun := seedOf(t)
	type known struct {
		*victim
		streams [2][]byte
		marks   [2][][2]int
	}
	var all []known
	for _, name := range []string{"s-12gcm", "s-12chacha", "s-hrr", "s-keyupdate", "s-padding", "s-aes256"} {
		v := load(t, name)
		all = append(all, known{v, [2][]byte{v.stream(0), v.stream(1)}, v.milestones(t)})
	}
	accepted, delivered, sent, dead, undecided, unread := 0, 0, 0, 0, 0, 0
	begin := time.Now()
	tried := 0
	for i := *first; i < *runs && !enough(begin); i++ {
		tried++
		r := rand.New(rand.NewPCG(begun, uint64(i)))
		k := &all[r.IntN(len(all))]
		v := k.victim
		events := attacker(r, v, &k.streams)
		m := model{}
		for side := range m.r {
			isn := v.isn(uint8(side))
			m.r[side] = receiver{next: isn, isn: isn, ahead: make(map[uint32]byte)}
		}
		var frames []capture.Frame
		at := v.frames[0].Time
		for j := range events {
			e := &events[j]
			if at += 50e3; e.pause {
				at += 1e9
			}
			frames = append(frames, v.forge(at, e.f))
			if e.f.reaches() {
				m.packet(&e.f)
			}
		}
		got, w := run(v, frames, nil)
		n := v.authentic(t, "", got)
		for tuple := range m.r {
			side := uint8(tuple) ^ v.client
			// What was accepted, as far as it is what was sent.
			b := m.r[tuple].bytes
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
			accepted += want
			if p := got.plain[v.id]; have < want && p != nil && want-len(p[side]) <= 1<<14 && w.Stats.TLS.LostBytes > 0 {
				// One record: so many copies differ in it that not all of their orders were tried.
				undecided++
				t.Logf("seed %d, run %d, %s, side %d: %d bytes of %d that were accepted", begun, i, v.name, side, len(p[side]), want)
				continue
			}
			if have < want {
				unread++
				t.Logf("seed %d, run %d, %s, side %d: %d bytes of %d that were accepted, %d were sent: %+v", begun, i, v.name, side, have, want, len(v.plain[side]), w.Stats)
			}
		}
		if m.dead {
			dead++
		}
		delivered, sent = delivered+n, sent+v.bytes
		if t.Failed() {
			t.FailNow()
		}
	}
	may := func(rate int) int { // one may always be met where attackers are new
		if *long > 0 {
			return max(1, tried/rate)
		}
		return tried / rate
	}
	if unread > may(5000) {
		t.Errorf("%d directions of %d connections were not read", unread, tried)
	}
	if undecided > may(1000) {
		t.Errorf("%d of %d attackers cost a record", undecided, tried)
	}
	t.Logf("%d attackers in %v, %d cost a record, %d a direction: of %d bytes sent, receivers accepted %d, %d came out; %d connections were reset", tried, time.Since(begin).Round(time.Millisecond), undecided, unread,
		sent, accepted, delivered, dead)
}
