package quic

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/sealane/sealane/gateway/internal/seed"
)

// Frames of a stream in any order, overlapping and again, give its bytes once, and nothing is held at the end.
func TestAssembler(t *testing.T) {
	r := rand.New(rand.NewPCG(seed.Of(t), 0))
	for range 500 {
		want := make([]byte, 1+r.IntN(3000))
		for i := range want {
			want[i] = byte(r.Uint32())
		}
		var a assembler
		var got []byte
		held := 0
		deliver := func(b []byte) { got = append(got, b...) }
		frame := func(begin, end int) {
			held += a.insert(uint64(begin), want[begin:end], 0, deliver)
			if int(a.next) != len(got) {
				t.Fatalf("%d bytes came, and %d are due", len(got), a.next)
			}
		}
		for range 40 {
			begin := r.IntN(len(want))
			frame(begin, begin+r.IntN(min(len(want)-begin, 200)+1))
		}
		for len(got) < len(want) { // the missing range
			frame(len(got), min(len(got)+1+r.IntN(100), len(want)))
		}
		if !bytes.Equal(got, want) || held != 0 || len(a.held) != 0 {
			t.Fatalf("%d bytes of %d, the same: %v; %d bytes are held in %d pieces", len(got), len(want), bytes.Equal(got, want), held, len(a.held))
		}
	}
}

// An abandoned hole is exactly as long as the missing range.
func TestSkip(t *testing.T) {
	var a assembler
	var got []byte
	deliver := func(b []byte) { got = append(got, b...) }
	grown := a.insert(0, []byte("abc"), 1, deliver) + a.insert(10, []byte("klm"), 2, deliver) + a.insert(13, []byte("nop"), 3, deliver) + a.insert(30, []byte("z"), 4, deliver)
	if len(a.held) != 2 || a.held[0].time != 2 {
		t.Fatalf("%d pieces", len(a.held))
	}
	if n := a.skip(); n != 7 {
		t.Errorf("a hole of %d bytes", n)
	}
	grown += a.drain(deliver)
	if n := a.skip(); n != 14 {
		t.Errorf("a hole of %d bytes", n)
	}
	if grown += a.drain(deliver); grown != 0 || string(got) != "abcklmnopz" || a.next != 31 {
		t.Errorf("%q, %d bytes are held", got, grown)
	}
}

func TestSpans(t *testing.T) {
	r := rand.New(rand.NewPCG(seed.Of(t), 0))
	for range 100 {
		var s spans
		model := map[uint64]bool{}
		for range 300 {
			n := uint64(r.IntN(200))
			s.add(n)
			model[n] = true
			for i := 1; i < len(s); i++ {
				if s[i-1].high >= s[i].low {
					t.Fatalf("spans %v", s)
				}
			}
		}
		for n := range uint64(210) {
			if s.has(n) != model[n] {
				t.Fatalf("%d is there: %v; %v", n, s.has(n), s)
			}
		}
	}
	var many spans
	for n := range uint64(2 * maxSpans) {
		many.add(2 * n)
	}
	if len(many) > maxSpans {
		t.Errorf("%d spans", len(many))
	}
}

// The random of a ClientHello is found in any order of its pieces, and among any forged ones.
func TestGreeting(t *testing.T) {
	r := rand.New(rand.NewPCG(seed.Of(t), 0))
	for range 300 {
		hello := make([]byte, 4+300+r.IntN(2000))
		for i := range hello {
			hello[i] = byte(r.Uint32())
		}
		hello[0], hello[1], hello[2], hello[3] = clientHello, 0, byte((len(hello)-4)>>8), byte(len(hello)-4)
		var g greeting
		var cuts []int
		for at := 0; at < len(hello); at += 50 + r.IntN(500) {
			cuts = append(cuts, at)
		}
		for _, i := range r.Perm(len(cuts)) {
			end := len(hello)
			if i+1 < len(cuts) {
				end = cuts[i+1]
			}
			g.add(uint64(cuts[i]), hello[cuts[i]:end])
		}
		random := [32]byte(hello[randomAt:])
		if len(g.randoms) != 1 || g.randoms[0] != random || !bytes.Equal(g.message(&random), hello[4:]) {
			t.Fatalf("%d randoms", len(g.randoms))
		}
		for i := range 10 { // forged
			other := bytes.Clone(hello)
			other[randomAt+i]++
			g.add(0, other)
		}
		if len(g.randoms) != maxRandoms || g.randoms[0] != random {
			t.Fatalf("%d randoms", len(g.randoms))
		}
	}
}
