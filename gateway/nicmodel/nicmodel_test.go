package main

import (
	"bytes"
	"math"
	"math/big"
	"os"
	"slices"
	"testing"

	"github.com/sealane/sealane/chacha20poly1305"
)

// TestReference: what is counted is the AEAD, and its key stream is ChaCha's.
func TestReference(t *testing.T) {
	for n := range 300 {
		secret, nonce, aad, message := testInput(n)
		sealed, tag, _ := seal(20, &secret, &nonce, aad[:], message)
		a, err := chacha20poly1305.New(secret[:])
		if err != nil {
			t.Fatal(err)
		}
		want := a.Seal(nil, nonce[:], message, aad[:])
		if got := append(sealed, tag[:]...); !bytes.Equal(got, want) {
			t.Fatalf("%d bytes: got %x\nwant %x", n, got, want)
		}
		alone, _ := chacha(20, &secret, &nonce, 1, message)
		if !bytes.Equal(alone, want[:n]) {
			t.Fatalf("%d bytes: ChaCha20 alone differs", n)
		}
	}
}

// TestReferenceEdges: sums next to 2^130 - 5, and long carries.
func TestReferenceEdges(t *testing.T) {
	p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 130), big.NewInt(5))
	number := func(words []uint32) *big.Int {
		n := new(big.Int)
		for i := len(words) - 1; i >= 0; i-- {
			n.Or(n.Lsh(n, 32), big.NewInt(int64(words[i])))
		}
		return n
	}
	const f = 0xffffffff
	hs := [][5]uint32{{}, {1}, {0xfffffffa, f, f, f, 3}, {0xfffffffb, f, f, f, 3}, {0xfffffffc, f, f, f, 3}, {f, f, f, f, 3}, {4, 0, 0, 0, 4}}
	rs := [][4]uint32{{1}, {4}, {0x0fffffff, 0x0ffffffc, 0x0ffffffc, 0x0ffffffc}, {0, 0, 0, 0x0ffffffc}}
	for _, h := range hs {
		for _, r := range rs {
			tr := treatment{h: h, r: r, block: [5]uint64{f, f, f, f, 1}}
			tr.absorb()
			want := new(big.Int).Add(number(h[:]), number([]uint32{f, f, f, f, 1}))
			want.Mod(want.Mul(want, number(r[:])), p)
			if got := number(tr.h[:]); got.Mod(got, p).Cmp(want) != 0 {
				t.Errorf("h %x, r %x: %x, want %x", h, r, got, want)
			}
		}
		tr := treatment{h: h, pad: [4]uint32{f, f, f, f}}
		var tag [16]byte
		tr.finish(&tag)
		want := new(big.Int).Mod(number(h[:]), p)
		want.Add(want, number(tr.pad[:]))
		slices.Reverse(tag[:])
		if got := new(big.Int).SetBytes(tag[:]); got.Cmp(want.SetBit(want, 128, 0).And(want, number([]uint32{f, f, f, f}))) != 0 {
			t.Errorf("h %x: tag %x, want %x", h, got, want)
		}
	}
}

// TestProfile: the counts that can be said without counting.
func TestProfile(t *testing.T) {
	secret, nonce, _, _ := testInput(0)
	var a, b treatment
	a.begin(&secret, &nonce, 0)
	b.begin(&secret, &nonce, 0)
	a.keystream(20)
	b.keystream(10)
	// A quarter round is twelve instructions, a loop's end three.
	if got, want := a.instructions-b.instructions, 40*12+5*2; got != want {
		t.Errorf("ten rounds are %d instructions, want %d", got, want)
	}
	if got, want := a.accesses[working]-b.accesses[working], 40*24; got != want {
		t.Errorf("ten rounds access %d words, want %d", got, want)
	}
	p, q := profileOf(512), profileOf(1024)
	if got := q.accesses[packet] - p.accesses[packet]; got != 2*512/4 {
		t.Errorf("512 bytes more are %d accesses to the packet", got)
	}
}

// TestPublished: within 15 % of all three published figures, if sizes are those of messages, and within 25 if they are those of frames.
func TestPublished(t *testing.T) {
	r := newReport(new(measurements), gatewayPlaces{})
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got/want-1) > 0.15 {
			t.Errorf("%s: %.3g, published %.3g", what, got, want)
		}
	}
	for _, s := range r.sizes {
		if want := publishedPackets[s.bytes]; want > 0 {
			near("packets", s.published, want)
			near("with contention", s.contended, want)
			if off := s.frameReading/want - 1; off < 0 || off > 0.25 {
				t.Errorf("%d bytes of frame: %.3g, published %.3g", s.bytes, s.frameReading, want)
			}
		}
		if !networkProcessor.fits(publishedPlacement, s.bytes) || !networkProcessor.fits(s.where, s.bytes) {
			t.Errorf("%d bytes: a placement does not fit", s.bytes)
		}
		// The published one has no registers left for temporaries, the best one has.
		if s.best < 0.9*s.published {
			t.Errorf("%d bytes: the best placement is much slower than the published one", s.bytes)
		}
	}
	near("ChaCha10", r.chacha10, publishedChaCha10)
}

// TestPlacements: what does not fit is refused, and what is slower is seen to be.
func TestPlacements(t *testing.T) {
	p := &networkProcessor
	work := profileOf(1024)
	good := p.rate(p.evaluate(&work, publishedPlacement))
	for name, c := range map[string]struct {
		change func(*placement)
		fits   bool
	}{
		"text in registers":           {func(w *placement) { w[workText] = 0 }, false},
		"the packet in local memory":  {func(w *placement) { w[packet] = 1 }, false},
		"the key in local memory":     {func(w *placement) { w[key] = 1 }, false},
		"working state in local":      {func(w *placement) { w[working] = 1 }, true},
		"sums and carry far away":     {func(w *placement) { w[sums], w[carry] = 3, 3 }, true},
		"the initial state in CLS":    {func(w *placement) { w[initial] = 2 }, true},
		"everything in packet memory": {func(w *placement) { *w = placement{3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3} }, true},
	} {
		where := publishedPlacement
		c.change(&where)
		if got := p.fits(where, 1024); got != c.fits {
			t.Errorf("%s: fits %v", name, got)
		}
		if rate := p.rate(p.evaluate(&work, where)); c.fits && rate >= good {
			t.Errorf("%s: %.0f packets a second, the published placement %.0f", name, rate, good)
		}
	}
}

// TestHiding: threads hide waits until the engine is always busy, and no longer.
func TestHiding(t *testing.T) {
	p := processor{engines: 1, threads: 4}
	for _, c := range []struct{ busy, wait, want float64 }{{100, 0, 1e7}, {100, 300, 1e7}, {100, 700, 5e6}} {
		if got := p.rate(cost{c.busy, c.wait}); got != c.want {
			t.Errorf("busy %v, wait %v: %v, want %v", c.busy, c.wait, got, c.want)
		}
	}
}

func TestFlows(t *testing.T) {
	for _, n := range []int{64, 1024} {
		last := math.Inf(1)
		for _, flows := range flowCounts {
			rate := dpuCore.rate(n, flows)
			if rate > last {
				t.Errorf("%d flows are faster than fewer", flows)
			}
			last = rate
		}
	}
	if got := dpuCore.wait(100); got != 0 {
		t.Errorf("100 flows lie in the first level, and wait %v", got)
	}
}

// TestResults: what is written down is what the model says.
func TestResults(t *testing.T) {
	m, err := readMeasurements("measured.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("results.md")
	if err != nil {
		t.Fatal(err)
	}
	gateway, err := readGateway("gateway.json")
	if err != nil {
		t.Fatal(err)
	}
	if newReport(m, gateway).text() != string(want) {
		t.Error("results.md is out of date: make nicmodel")
	}
}
