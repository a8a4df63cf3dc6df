package packet

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/sealane/sealane/gateway/internal/wrap"
)

// frameFor puts an IP packet in a frame.
func frameFor(ip []byte) []byte { return wrap.Ether(wrap.Type(ip), ip) }

func shuffled(r *rand.Rand, all [][]byte) [][]byte {
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// Fragments of any size in any order, in tunnels and of tunnels, with copies, are the segment that was cut.
func TestWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	var p Parser
	for round := range 3000 {
		frame, ip := plainFrame(r)
		var want, s Segment
		Parse(&want, LinkEthernet, frame)
		var frames [][]byte
		zone := false
		switch round % 4 {
		case 0, 1:
			for _, f := range wrap.Split(ip, 8+r.IntN(len(ip)), uint16(round)) {
				frames = append(frames, frameFor(f))
			}
		case 2: // of a tunnel: the mirror's packets were too long
			i := r.IntN(len(wrap.Tunnels))
			out := ipLike(wrap.Tunnels[i].Around(frame, 9))
			if out == nil {
				continue
			}
			zone = wrap.Tunnels[i].Zone
			for _, f := range wrap.Split(out, 8+r.IntN(len(out)), uint16(round)) {
				frames = append(frames, frameFor(f))
			}
		case 3: // in a tunnel
			i := r.IntN(len(wrap.Tunnels))
			zone = wrap.Tunnels[i].Zone
			for _, f := range wrap.Split(ip, 8+r.IntN(len(ip)), uint16(round)) {
				frames = append(frames, wrap.Tunnels[i].Around(frameFor(f), 9))
			}
		}
		if len(frames) < 2 || len(frames) > 100 {
			continue
		}
		frames = append(shuffled(r, frames[:len(frames)-1]), frames[len(frames)-1])
		frames = append([][]byte{frames[r.IntN(len(frames)-1)]}, frames...)
		for i, f := range frames {
			v := p.Parse(&s, LinkEthernet, f, int64(round))
			if i < len(frames)-1 && v != Fragment || i == len(frames)-1 && v != TCP {
				t.Fatalf("round %d: fragment %d of %d is %v", round, i, len(frames), v)
			}
		}
		if s.Tuple.Zone != 0 != zone {
			t.Errorf("zone %d", s.Tuple.Zone)
		}
		var again Segment
		if v := p.Parse(&again, LinkWhole, s.AppendFrame(nil), 0); v != TCP || again.Tuple != s.Tuple || !bytes.Equal(again.Link, s.Link) || !bytes.Equal(again.Payload, s.Payload) {
			t.Errorf("from another core it is %v %+v, not %+v", v, again, s)
		}
		s.Tuple.Zone = 0
		if s.Tuple != want.Tuple || s.Seq != want.Seq || !bytes.Equal(s.Payload, want.Payload) || !s.Whole || s.Sum() != SumGood {
			t.Fatalf("round %d: %+v, not %+v", round, s, want)
		}
		p.Release()
	}
	st := p.Fragments
	if st.Whole == 0 || st.Duplicates < st.Whole || st.Overlaps+st.Bad+st.Expired+st.Evicted != 0 {
		t.Errorf("%+v", st)
	}
	p.parts.check(t, 0)
}

// check looks whether all memory is accounted for, with held datagrams.
func (f *fragments) check(t *testing.T, held int) {
	t.Helper()
	pieces, grams := 0, 0
	for n := f.freePiece; n != 0; n = f.piece(n).next {
		pieces++
	}
	for n := f.freeGram; n != 0; n = f.datagram(n).chain {
		grams++
	}
	sum := 0
	for _, n := range f.pairs {
		sum += int(n)
	}
	used, listed := 0, 0
	for n := f.oldest; n != 0; n = f.datagram(n).newer {
		listed++
		used += int(f.datagram(n).parts)
	}
	// The lists by addresses are the same, from both ends.
	for pair := range f.firsts {
		last, n := uint32(0), 0
		for k := f.firsts[pair]; k != 0; last, k = k, f.datagram(k).next {
			g := f.datagram(k)
			pieces, end := int(g.parts), 0
			for _, s := range g.slots[:g.parts] {
				if int(s.at) < end || s.n == 0 {
					t.Fatalf("datagram %d: slots %v", k, g.slots[:g.parts])
				}
				end = s.end()
			}
			if n += 1 + pieces; g.before != last || int(g.pair) != pair || int(g.parts) != pieces {
				t.Fatalf("datagram %d: after %d, not %d; of pair %d, in the list of %d; %d pieces, not %d", k, g.before, last, g.pair, pair, g.parts, pieces)
			}
		}
		if f.lasts[pair] != last || n != int(f.pairs[pair]) {
			t.Fatalf("pair %d: %d is the last, not %d; %d in all, not %d", pair, f.lasts[pair], last, f.pairs[pair], n)
		}
	}
	if pieces+used != maxPieces || grams+listed != maxDatagrams || sum != used+listed || held >= 0 && listed != held {
		t.Fatalf("%d+%d pieces, %d+%d datagrams, by pairs %d, %d to be held", pieces, used, grams, listed, sum, held)
	}
}

// Contradictory fragments are refused, and remain so. None of their data is delivered.
func TestRefusedFragments(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	for _, version := range []byte{4, 6} {
		var ip []byte
		for ip == nil || ip[0]>>4 != version || len(ip) < 400 {
			_, ip = plainFrame(r)
		}
		parts := wrap.Split(ip, 120, 1)
		last := len(parts) - 1
		field := func(b []byte, add int) []byte { // the same at another offset
			b = bytes.Clone(b)
			if version == 4 {
				be.PutUint16(b[6:], uint16(int(be.Uint16(b[6:]))+add/8))
				be.PutUint16(b[10:], 0)
				be.PutUint16(b[10:], Checksum(0, b[:int(b[0]&15)*4]))
			} else {
				be.PutUint16(b[42:], uint16(int(be.Uint16(b[42:]))+add))
			}
			return b
		}
		other := bytes.Clone(parts[1])
		other[len(other)-1] ^= 1
		odd := bytes.Clone(parts[0][:len(parts[0])-1])
		if version == 4 {
			be.PutUint16(odd[2:], uint16(len(odd)))
			be.PutUint16(odd[10:], 0)
			be.PutUint16(odd[10:], Checksum(0, odd[:int(odd[0]&15)*4]))
		} else {
			be.PutUint16(odd[4:], uint16(len(odd)-40))
		}
		for name, c := range map[string]struct {
			extra    []byte
			overlaps uint64
			bad      uint64
			whole    bool
		}{
			"another copy":        {other, 1, uint64(last), false},
			"half over the next":  {field(parts[1], 64), 1, uint64(last), false},
			"after the end":       {field(parts[0], 8000), 1, 0, false},
			"another end":         {field(parts[last], 800), 1, 0, false},
			"beyond 65535":        {field(parts[0], 65480), 0, 1, true},
			"an odd number":       {odd, 0, 1, true},
			"the same":            {parts[1], 0, 0, true},
			"cut by the capture":  {parts[0][:len(parts[0])-4], 0, 1, true},
			"of another datagram": {wrap.Split(ip, 120, 2)[0], 0, 0, true},
			"another copy that goes less far": {func() []byte {
				b := bytes.Clone(other)
				if version == 6 {
					b[7] = 3
					return b
				}
				b[8] = 3
				be.PutUint16(b[10:], 0)
				be.PutUint16(b[10:], Checksum(0, b[:int(b[0]&15)*4]))
				return b
			}(), 0, 0, true},
			"wrong header checksum": {func() []byte { b := bytes.Clone(other); b[10] ^= 1; return b }(), 0, 1, version == 4},
		} {
			if version == 6 && name == "wrong header checksum" {
				continue // no fragment
			}
			var p Parser
			var s Segment
			whole := false
			for i, f := range append([][]byte{parts[0], parts[1], c.extra}, parts[2:]...) {
				whole = whole || p.Parse(&s, LinkEthernet, frameFor(f), int64(i)) == TCP
			}
			if whole != c.whole || p.Fragments.Overlaps != c.overlaps || p.Fragments.Bad > c.bad || p.Fragments.Bad == 0 && c.bad > 0 {
				t.Errorf("IPv%d, %s: whole %v, %+v", version, name, whole, p.Fragments)
			}
			p.parts.check(t, -1)
		}
	}
}

// A fragment missing for too long is forgotten, and its number may then belong to another datagram.
func TestFragmentTime(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	var p Parser
	var s Segment
	_, ip := plainFrame(r)
	for len(ip) < 200 {
		_, ip = plainFrame(r)
	}
	parts := wrap.Split(ip, len(ip)/2, 1)
	p.Parse(&s, LinkEthernet, frameFor(parts[0]), 0)
	p.Parse(&s, LinkEthernet, frameFor(parts[1]), fragmentWait+1)
	if p.Fragments.Expired != 1 || p.Fragments.Whole != 0 {
		t.Errorf("%+v", p.Fragments)
	}
	p.parts.check(t, 1)
}

// A flood of fragments stays within the memory limit, at the expense of its sender. Other fragments are still
// delivered.
func TestFragmentFlood(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	var p Parser
	var s Segment
	whole, tried := 0, 0
	for i := range 200 {
		_, ip := plainFrame(r)
		parts := wrap.Split(ip, max(len(ip)/3, 64), uint16(i))
		if len(parts) < 2 {
			continue
		}
		tried++
		for _, part := range parts {
			// One sender, tens of pieces each.
			for j := range 40 {
				junk := wrap.IPv4(ProtoTCP, make([]byte, 64))
				be.PutUint16(junk[4:], uint16(r.Uint32()))
				be.PutUint16(junk[6:], 0x2000|uint16(j))
				be.PutUint16(junk[10:], 0)
				be.PutUint16(junk[10:], Checksum(0, junk[:20]))
				p.Parse(&s, LinkEthernet, frameFor(junk), int64(i))
			}
			if p.Parse(&s, LinkEthernet, frameFor(part), int64(i)) == TCP {
				whole++
			}
		}
		p.Release()
	}
	if whole != tried || p.Fragments.Evicted == 0 {
		t.Errorf("%d of %d came through; %+v", whole, tried, p.Fragments)
	}
	p.parts.check(t, -1)
}

// Neither tunnels nor fragments allocate, once there is memory for fragments.
func TestNoAllocation(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 30))
	var frames [][]byte
	for i := range wrap.Tunnels {
		frame, ip := plainFrame(r)
		frames = append(frames, frame, wrap.Tunnels[i].Around(frame, 5))
		for _, f := range wrap.Split(ip, 200, uint16(i)) {
			frames = append(frames, frameFor(f))
		}
	}
	var p Parser
	var s Segment
	if n := testing.AllocsPerRun(100, func() {
		for _, f := range frames {
			p.Parse(&s, LinkEthernet, f, 0)
		}
		p.Release()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if p.Fragments.Whole == 0 {
		t.Error("nothing was put together")
	}
}

// FuzzFragments takes its input as instructions on the fragments of a packet, and then as a packet: the output is the
// packet, or nothing.
func FuzzFragments(f *testing.F) {
	f.Add(uint8(0), []byte{0, 0, 1, 0, 2, 0, 3, 0})
	f.Add(uint8(1), []byte{3, 0, 2, 1, 1, 2, 0, 3, 0, 7})
	f.Add(uint8(0), []byte{0, 0, 1, 7, 1, 0, 2, 0, 3, 0})                         // another offset: they overlap
	f.Add(uint8(2), []byte{0, 0, 1, 0, 1, 30, 2, 0, 3, 0})                        // the same place, other bytes
	f.Add(uint8(4), []byte{9, 6, 0, 0, 1, 0, 200, 6, 2, 0})                       // two ends
	f.Add(uint8(3), bytes.Repeat([]byte{0, 43, 1, 44, 2, 45, 3, 46, 4, 47}, 200)) // endless
	r := rand.New(rand.NewPCG(31, 32))
	var packets [][]byte
	for len(packets) < 8 {
		if _, ip := plainFrame(r); len(ip) > 300 && (int(ip[0]>>4) == 4) == (len(packets)%2 == 0) {
			packets = append(packets, ip)
		}
	}
	var p Parser
	now := int64(0)
	f.Fuzz(func(t *testing.T, which uint8, program []byte) {
		ip := packets[int(which)%len(packets)]
		parts := wrap.Split(ip, 64, 1)
		now += fragmentWait + 1 // earlier state is forgotten
		var s Segment
		changed := false
		for ; len(program) >= 2; program = program[2:] {
			b := bytes.Clone(parts[int(program[0])%len(parts)])
			if x := program[1]; x > 4 {
				b[int(x)%len(b)] ^= x
				changed = true
			}
			v := p.Parse(&s, LinkEthernet, frameFor(b), now)
			if v == TCP && !changed && !bytes.Equal(s.ip[s.head:], ip[len(ip)-len(s.ip[s.head:]):]) {
				t.Errorf("%x came out of %x", s.ip, ip)
			}
		}
		p.Release()
		p.parts.check(t, -1)
	})
}
