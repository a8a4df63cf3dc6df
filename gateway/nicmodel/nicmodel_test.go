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

// TestReference: the counted code is the AEAD, and its key stream is ChaCha's.
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

// TestProfile: the counts that are known without counting.
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

// TestPublished: within 25 % of all three published figures, too fast rather than too slow, and within 15 if sizes are those of messages.
func TestPublished(t *testing.T) {
	r := newReport(new(measurements), gatewayPlaces{})
	near := func(what string, got, want, low, high float64) {
		t.Helper()
		if off := got/want - 1; off < low || off > high {
			t.Errorf("%s: %.3g, published %.3g", what, got, want)
		}
	}
	for _, s := range r.sizes {
		if want := publishedPackets[s.bytes]; want > 0 {
			near("packets", s.published, want, 0, 0.25)
			near("with contention", s.contended, want, 0, 0.25)
			near("messages", s.messageReading, want, -0.15, 0.15)
		}
		if !networkProcessor.fits(publishedPlacement, s.bytes-frameOverhead) || !networkProcessor.fits(s.where, s.bytes-frameOverhead) {
			t.Errorf("%d bytes: a placement does not fit", s.bytes)
		}
		// The published one has no registers left for temporaries, the best one has.
		if s.best < 0.9*s.published {
			t.Errorf("%d bytes: the best placement is much slower than the published one", s.bytes)
		}
	}
	near("ChaCha10", r.chacha10, publishedChaCha10, 0, 0.25)
}

// TestProgram: the declarations of the published source. It leaves one register word, and has room in local memory.
func TestProgram(t *testing.T) {
	used := map[int]int{}
	for o, n := range sizesFor(0) {
		used[publishedPlacement[o]] += n
	}
	if used[0] != 16*4+5*4+5*8 || used[1] != 16*4+8*4+5*8+8+16*4+2*4 {
		t.Errorf("%d bytes of registers, %d of local memory", used[0], used[1])
	}
	alone, both := profileOfChaCha(20, 64), profileOf(64)
	// Packet words are turned around when they are read and when they are written; without authentication the key stream is.
	if swaps := both.instructions - alone.instructions; swaps < 16*7 {
		t.Errorf("%d instructions more with authentication", swaps)
	}
	if got := profileOf(0).accesses[associated]; got != 4 {
		t.Errorf("%d words of associated data are read", got)
	}
}

// TestPlacements: a placement that does not fit is refused, and a slower one has a lower rate.
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

// TestResults: the stored results match the model.
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
