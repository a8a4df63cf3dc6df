package held

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sealane/sealane/gateway/internal/packet"
)

// check inserts segments and compares the list with a model. data has four bytes for each segment.
func check(t *testing.T, data []byte) {
	var h List
	p := Pool{Limit: 1 << 20}
	usual := Class{TTL: 64, Sum: packet.SumGood, Known: true}
	base := ^uint32(0) - 100 // near the end of the sequence numbers, which then start at 0 again
	const room = 400
	copies := make([][]byte, room) // the bytes that arrived, by sequence number
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
		x := h.Novel(base+uint32(at), b, class, usual)
		if !x.Known {
			h.Insert(&p, base+uint32(at), class, order, 0, b)
		}
	}
	sound(t, &h)
	sum := 0
	for i := range h.Segs {
		s := h.Segs[i]
		sum += len(s.Buf)
		if i > 0 && After(h.Segs[i-1].Seq, s.Seq) {
			t.Fatal("not in order")
		}
		for k, x := range s.Buf {
			if !bytes.Contains(copies[int(s.Seq-base)+k], []byte{x}) {
				t.Fatal("a byte that never came")
			}
		}
	}
	if sum != h.Bytes {
		t.Fatalf("%d bytes are held, and %d counted", sum, h.Bytes)
	}
	for at, all := range copies {
		for _, x := range all {
			found := false
			for i := range h.Segs {
				if b := h.Segs[i].From(base + uint32(at)); b != nil && b[0] == x {
					found = true
				}
			}
			if !found {
				t.Fatalf("a copy of place %d is not held", at)
			}
		}
		covered := h.Covered(base+uint32(at), 1, 1<<62) != base+uint32(at)
		if covered != (len(all) > 0) {
			t.Fatalf("place %d: covered %v, %d copies", at, covered, len(all))
		}
	}
	h.Prune(&p, base+room)
	if len(h.Segs) != 0 || h.Bytes != 0 || p.Held != 0 {
		t.Fatalf("%d bytes are held after all was let go", p.Held)
	}
}

// sound checks the fields of a list that follow from its segments.
func sound(t *testing.T, h *List) {
	t.Helper()
	for i, s := range h.Segs {
		if len(s.Buf) > h.longest || i > 0 && After(h.Segs[i-1].Seq, s.Seq) {
			t.Fatalf("segment %d of %d is longer than what is said, or not in order", i, len(h.Segs))
		}
	}
	if at := h.solid[0]; at != h.solid[1] && h.Covered(at, 600, 1<<62) != h.solid[1] {
		t.Fatal("there is a hole in what is said to be unbroken, or none after it")
	}
}

// plainly does the same as Novel, but looks at all segments.
func plainly(h *List, seq uint32, data []byte, class, usual Class) Novelty {
	k := *h
	k.longest = 1 << 20
	return k.Novel(seq, data, class, usual)
}

// Novel and Covered skip no relevant segment, whatever long and short segments are added and removed.
func TestHeldLengths(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	usual := Class{TTL: 64, Sum: packet.SumGood, Known: true}
	conflicts := 0
	for range 30 {
		var h List
		p := Pool{Limit: 1 << 24}
		base := r.Uint32()
		for order := uint64(1); order < 400; order++ {
			seq, data := base+r.Uint32N(600), make([]byte, 1+r.IntN(1+r.IntN(1+r.IntN(300))))
			for i := range data {
				data[i] = byte(r.IntN(2))
			}
			x := h.Novel(seq, data, usual, usual)
			if y := plainly(&h, seq, data, usual, usual); x.Known != y.Known || x.Conflict != y.Conflict || x.Copies != y.Copies {
				t.Fatalf("%+v, and without blocks %+v", x, y)
			}
			if x.Conflict {
				conflicts++
			}
			if !x.Known {
				h.Insert(&p, seq, usual, order, 0, data)
			}
			switch at := base + r.Uint32N(600); r.IntN(40) {
			case 0:
				h.Prune(&p, base+r.Uint32N(100))
			case 1:
				h.Prune(&p, base+600) // removes nearly all segments
			case 2, 3, 4, 5:
				h.Remove(&p, h.Segs[r.IntN(len(h.Segs))])
			default:
				limit := r.IntN(600)
				end := at
				for end-at < uint32(limit) && slices.ContainsFunc(h.Segs, func(s Seat) bool { return s.From(end) != nil }) {
					end++
				}
				h.Unbroken(at, 600)
				if h.Covered(at, limit, 1<<62) != end {
					t.Fatal("what is covered is not what some segment has")
				}
			}
			if len(h.Segs) == 0 {
				h.Insert(&p, base, usual, order, 0, []byte{1})
			}
			sound(t, &h)
		}
	}
	if conflicts < 1000 {
		t.Errorf("%d conflicts", conflicts)
	}
}

// All copies of each place are held, with any order and rank.
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
