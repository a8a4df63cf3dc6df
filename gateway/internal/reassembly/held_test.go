package reassembly

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/sealane/sealane/gateway/internal/packet"
)

// check holds segments that data describes, four bytes each, and compares with what each place was said to be.
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
		if seq, rest, _ := h.novel(base+uint32(at), b, class, usual); len(rest) > 0 {
			if !bytes.Contains(b, rest) || int32(seq-base) < int32(at) {
				t.Fatal("what is new is not a part of what came")
			}
			h.insert(&p, segment{seq: seq, class: class, order: order}, rest)
		}
	}
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
