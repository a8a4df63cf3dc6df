package main

import (
	"math"
	"strings"
	"testing"
)

// Shares are whole, nearer memories are filled first, and more flows never wait less.
func TestLay(t *testing.T) {
	g := gatewayPlaces{Sizes: gatewaySizes{8, 64, 192, 1024, 1024, 68}, Latency: []float64{1, 4, 12, 80, 150}}
	for _, n := range []int{1000, 100_000, 1_000_000} {
		g.Places = append(g.Places, gatewayPlace{Flows: n, IndexBytes: 16 * n, HalfOpenBytes: 16 * n})
	}
	m := g.memories()
	if want := 16 << 20 * 70 / 138; math.Abs(float64(m[2].bytes-want)) > 1<<20 {
		t.Errorf("%d bytes of the last level, of which half take 80 ns", m[2].bytes)
	}
	var last [3]float64
	for n := range g.Places {
		for k, chain := range g.chains(n) {
			var used [4]float64
			sum := 0.0
			for _, l := range chain {
				whole := 0.0
				for i, s := range l.shares {
					whole += s
					used[i] += s * float64(l.bytes)
				}
				if math.Abs(whole-1) > 1e-9 {
					t.Errorf("%s: shares %v", l.name, l.shares)
				}
				sum += l.latency(m)
			}
			for i := range m[:3] {
				if used[i] > float64(m[i].bytes)+1 || used[i+1] > 0 && used[i] < float64(m[i].bytes)-1 {
					t.Errorf("%d flows: %.0f bytes in %s of %d", g.Places[n].Flows, used[i], m[i].name, m[i].bytes)
				}
			}
			if sum < last[k] {
				t.Errorf("%d flows wait %v, fewer wait %v", g.Places[n].Flows, sum, last[k])
			}
			last[k] = sum
		}
	}
}

// The measured values match the predicted ones, within the limits of README.md.
func TestPredicted(t *testing.T) {
	g, err := readGateway("gateway.json")
	if err != nil {
		t.Fatal(err)
	}
	m := g.memories()
	before := g.Places[0].Index - g.chains(0)[0][0].latency(m)
	for n, p := range g.Places {
		for _, chain := range g.chains(n) {
			predicted := before
			for _, l := range chain {
				predicted += l.latency(m)
				if l.measured > 0 && (l.measured > 1.6*predicted || l.measured < predicted/2) {
					t.Errorf("%d flows, %s: %.0f ns, %.0f were predicted", p.Flows, l.name, l.measured, predicted)
				}
			}
		}
	}
}

// Contention never gains; it costs nothing without other users, and a memory that is too slow for all decides the rate.
func TestContention(t *testing.T) {
	p := networkProcessor
	p.memories = append([]memory(nil), p.memories...)
	work := profileOf(1024)
	alone := p.rate(p.evaluate(&work, publishedPlacement))
	last := math.Inf(1)
	for _, serves := range []float64{0, 1.25, 5, 20, 200} {
		p.memories[2].serves, p.memories[3].serves = serves, serves
		rate := p.contended(&work, publishedPlacement)
		if rate > last*1.000001 || serves == 0 && math.Abs(rate/alone-1) > 1e-6 {
			t.Errorf("served in %v ns: %v packets a second, faster ones %v, alone %v", serves, rate, last, alone)
		}
		last = rate
	}
	bound := float64(p.engines) / float64(p.island) / (float64(work.accesses[packet]+work.accesses[associated]) * 200e-9)
	if last > bound || last < 0.9*bound {
		t.Errorf("%v packets a second of at most %v", last, bound)
	}
}

// The best placement has registers for temporaries, and each choice is tried on both sides.
func TestChoices(t *testing.T) {
	p := &networkProcessor
	for _, n := range frameSizes {
		work := profileOf(n)
		where, _ := p.best(&work, n)
		used := 0
		for o, size := range sizesFor(n) {
			if where[o] == 0 {
				used += size
			}
		}
		if used > p.memories[0].bytes-p.reserved {
			t.Errorf("%d bytes: %d of registers", n, used)
		}
	}
	before := work
	all := sensitivity()
	if work != before {
		t.Error("the constants have changed")
	}
	for _, c := range all {
		if c.low > c.at || c.high < c.at || c.low == c.high || c.lowest[1] > 0 || c.highest[1] < 0 {
			t.Errorf("%+v", c.name)
		}
		// Local memory in one cycle instead of three makes 1024 bytes about a third faster.
		if strings.HasPrefix(c.name, "local") && (c.highest[1] < 0.2 || c.highest[1] > 0.4) {
			t.Errorf("%s: %v", c.name, c.highest)
		}
	}
}
