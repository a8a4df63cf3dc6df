package reassembly

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// check holds segments that data describes, four bytes each, and compares them with a model.
func check(t *testing.T, data []byte) {
	var h held
	p := Pool{Limit: 1 << 20}
	usual := Class{TTL: 64, Sum: packet.SumGood, Known: true}
	base := ^uint32(0) - 100 // around the place where numbers begin anew
	const room = 400
	copies := make([][]byte, room) // what came, by place
	for order := uint64(1); len(data) >= 4; order++ {
		at, n, fill, bad := int(data[0]), int(data[1])%64+1, data[2]%3, data[3]%4 == 0
		data = data[4:]
		class := usual
		if bad {
			class.Sum = packet.SumBad
		}
		b := bytes.Repeat([]byte{fill}, n)
		for i := range b {
			b[i] += byte((at + i) * 3)
			copies[at+i] = append(copies[at+i], b[i])
		}
		x := h.novel(base+uint32(at), b, &source{class: class}, usual)
		if seq, rest := x.from, x.rest; len(rest) > 0 {
			if !bytes.Contains(b, rest) || int32(seq-base) < int32(at) {
				t.Fatal("new bytes are no part of the segment")
			}
			h.insert(&p, seq, class, order, 0, rest)
		}
	}
	sound(t, &h)
	sum := 0
	for i := range h.segs {
		s := h.segs[i]
		sum += len(s.buf)
		if i > 0 && After(h.segs[i-1].seq, s.seq) {
			t.Fatal("not in order")
		}
		for k, x := range s.buf {
			if !bytes.Contains(copies[int(s.seq-base)+k], []byte{x}) {
				t.Fatal("a byte that never came")
			}
		}
	}
	if sum != h.bytes {
		t.Fatalf("%d bytes are held, and %d counted", sum, h.bytes)
	}
	for at, all := range copies {
		for _, x := range all {
			found := false
			for i := range h.segs {
				if b := h.segs[i].from(base + uint32(at)); b != nil && b[0] == x {
					found = true
				}
			}
			if !found {
				t.Fatalf("a copy of place %d is not held", at)
			}
		}
		covered := h.covered(base+uint32(at), 1, 1<<62) != base+uint32(at)
		if covered != (len(all) > 0) {
			t.Fatalf("place %d: covered %v, %d copies", at, covered, len(all))
		}
	}
	h.prune(&p, base+room)
	if len(h.segs) != 0 || h.bytes != 0 || p.Held != 0 {
		t.Fatalf("%d bytes are held after all was let go", p.Held)
	}
}

// sound checks what a held knows about its segments.
func sound(t *testing.T, h *held) {
	t.Helper()
	for i, s := range h.segs {
		if len(s.buf) > h.longest || i > 0 && After(h.segs[i-1].seq, s.seq) {
			t.Fatalf("segment %d of %d is longer than what is said, or not in order", i, len(h.segs))
		}
	}
	if at := h.solid[0]; at != h.solid[1] && h.covered(at, 600, 1<<62) != h.solid[1] {
		t.Fatal("there is a hole in what is said to be unbroken, or none behind it")
	}
}

// plainly tells what is new in bytes, by a look at all segments.
func plainly(h *held, seq uint32, data []byte, class, usual Class) novelty {
	k := *h
	k.longest = 1 << 20
	return k.novel(seq, data, &source{class: class}, usual)
}

// However segments come and go, long and short, nothing that matters is passed over.
func TestHeldLengths(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	usual := Class{TTL: 64, Sum: packet.SumGood, Known: true}
	conflicts := 0
	for range 30 {
		var h held
		p := Pool{Limit: 1 << 24}
		base := r.Uint32()
		for order := uint64(1); order < 400; order++ {
			seq, data := base+r.Uint32N(600), make([]byte, 1+r.IntN(1+r.IntN(1+r.IntN(300))))
			for i := range data {
				data[i] = byte(r.IntN(2))
			}
			x := h.novel(seq, data, &source{class: usual}, usual)
			if y := plainly(&h, seq, data, usual, usual); x.from != y.from || len(x.rest) != len(y.rest) || x.conflict != y.conflict || x.copies != y.copies || x.worst != y.worst {
				t.Fatalf("%+v, and without blocks %+v", x, y)
			}
			if x.conflict {
				conflicts++
			}
			if len(x.rest) > 0 {
				h.insert(&p, x.from, usual, order, 0, x.rest)
			}
			switch at := base + r.Uint32N(600); r.IntN(40) {
			case 0:
				h.prune(&p, base+r.Uint32N(100))
			case 1:
				h.prune(&p, base+600) // without longer ones
			case 2, 3, 4, 5:
				h.remove(&p, h.segs[r.IntN(len(h.segs))])
			default:
				limit := r.IntN(600)
				end := at
				for end-at < uint32(limit) && slices.ContainsFunc(h.segs, func(s seat) bool { return s.from(end) != nil }) {
					end++
				}
				h.unbroken(at, 600)
				if h.covered(at, limit, 1<<62) != end {
					t.Fatal("what is covered is not what some segment has")
				}
			}
			if len(h.segs) == 0 {
				h.insert(&p, base, usual, order, 0, []byte{1})
			}
			sound(t, &h)
		}
	}
	if conflicts < 1000 {
		t.Errorf("%d conflicts", conflicts)
	}
}

// Of every place all copies that came are held, whatever their order and rank.
func TestHeld(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := make([]byte, 4*(1+r.IntN(40)))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		check(t, b)
	}
}

func FuzzHeld(f *testing.F) {
	f.Add([]byte{0, 20, 0, 1, 10, 20, 1, 0, 5, 3, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) { check(t, data[:min(len(data), 400)]) })
}

// Where others hold all that there is, and the one that held most has gone, a direction that holds nothing has nothing to let go of: what
// comes for it is dropped.
func TestNoRoomForAnybody(t *testing.T) {
	const limit = 10 << 10
	r := New(tls.NewDecrypter(keys.NewStore(1)), limit)
	pairs := make([]Pair, 3)
	conns, next := make([]tls.Conn, len(pairs)), make([][2]uint32, len(pairs))
	send := func(i int, seq uint32, n int) Result {
		return r.Segment(&pairs[i], tls.Server, seq, bytes.Repeat([]byte{22}, n), nil, 1)
	}
	for i := range pairs {
		p := &pairs[i]
		p.TLS = &conns[i]
		p.Next = [2]*uint32{&next[i][0], &next[i][1]}
		r.Begin(p)
	}
	for k := range uint32(2) { // the first one holds most
		send(0, 100+k*1000, 700)
	}
	for k := range uint32(2) {
		send(1, 100+k*1000, 600)
	}
	if r.largest != pairs[0].Dir[tls.Server] || r.Pool.room(700) {
		t.Fatalf("%d bytes of %d are held", r.Pool.Held, limit)
	}
	r.Pool.Limit = r.Pool.Held / 2
	r.Release(&pairs[0])
	if r.largest != nil || r.Pool.room(700) {
		t.Fatalf("%d bytes of %d are held by who is left", r.Pool.Held, r.Pool.Limit)
	}
	evicted := r.Stats.Evicted
	if send(2, 100, 700); r.Stats.Evicted == evicted || len(pairs[2].Dir[tls.Server].held.segs) != 0 {
		t.Errorf("it is held all the same: %+v", r.Stats)
	}
}
