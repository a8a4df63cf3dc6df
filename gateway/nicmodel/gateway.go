package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// The gateway's data for each connection, and the time to reach it.
// The prediction from the caches stands beside the measured times of its own structures (gateway/internal/engine,
// TestPlacement: make nicmodel-gateway). gateway.json has the least of three rounds for each latency and place, and
// the sizes of the structures. TestPlacementSizes there fails when these no longer match the gateway.

type gatewayPlaces struct {
	Sizes   gatewaySizes
	Latency []float64 // ns: L1, L2, L3, half of the last level's size, memory
	Places  []gatewayPlace
}

// gatewaySizes are in bytes.
type gatewaySizes struct{ Slot, Line, Entry, Key, State, HalfOpen int }

type gatewayPlace struct {
	Flows, IndexBytes, HalfOpenBytes int
	// ns
	Index, Entry, Side, Key, State float64
	HalfOpenIndex, HalfOpenEntry   float64
}

func readGateway(path string) (g gatewayPlaces, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &g)
	}
	return g, err
}

// Sizes of the machine's caches, as it reports them. The last level is shared. This core's share of it follows from
// the latency at half its size, as in measurements.core.
const (
	gatewayL1 = 48 << 10
	gatewayL2 = 1 << 20
	gatewayL3 = 32 << 20
)

func (g *gatewayPlaces) memories() []memory {
	l := g.Latency
	share := min(1, max(0, (l[4]-l[3])/max(l[4]-l[2], 1)))
	return []memory{{name: "L1", bytes: gatewayL1, latency: l[0]}, {name: "L2", bytes: gatewayL2, latency: l[1]},
		{name: "L3", bytes: int(gatewayL3 / 2 * share), latency: l[2]}, {name: "memory", latency: l[4]}}
}

// A layer is one kind of the gateway's data, with the bytes of the lines that packets touch. The data touched most often for its size is
// nearest.
type layer struct {
	name   string
	bytes  int
	shares []float64 // of it, by memory

	beside   bool    // after the previous layer's line, and so fetched with it
	measured float64 // ns to come to it
}

// lay gives each layer its share of the memories, in order.
func lay(memories []memory, layers []layer) {
	at, left := 0, memories[0].bytes
	for i := range layers {
		l := &layers[i]
		l.shares = make([]float64, len(memories))
		if l.beside {
			l.bytes, l.shares = 0, layers[i-1].shares
			continue
		}
		for rest := l.bytes; rest > 0; {
			n := rest
			if at < len(memories)-1 {
				n = min(rest, left)
			}
			l.shares[at] += float64(n) / float64(l.bytes)
			rest -= n
			if left -= n; left <= 0 && at < len(memories)-1 {
				at++
				left = memories[at].bytes
			}
		}
	}
}

func (l *layer) latency(memories []memory) (ns float64) {
	if l.beside {
		return memories[0].latency
	}
	for i, share := range l.shares {
		ns += share * memories[i].latency
	}
	return ns
}

func (g *gatewayPlaces) text(b *strings.Builder) {
	if len(g.Places) == 0 {
		return
	}
	memories := g.memories()
	b.WriteString("\n## The gateway's own data\n\nMeasured together, the least of three rounds on a shared machine: ")
	for i, m := range memories {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(m.name)
		if m.bytes > 0 {
			fmt.Fprintf(b, " %d KiB", m.bytes>>10)
		}
		fmt.Fprintf(b, " %.1f ns", m.latency)
	}
	b.WriteString(".\n\n| flows | data | KiB | L1, % | L2, % | L3, % | memory, % | predicted, ns | measured, ns |\n|--:|---|--:|--:|--:|--:|--:|--:|--:|\n")
	first := g.chains(0)[0][0]
	before := g.Places[0].Index - first.latency(memories) // the hash, and choosing the connection
	for n, p := range g.Places {
		for _, chain := range g.chains(n) {
			predicted := before
			for _, l := range chain {
				predicted += l.latency(memories)
				if l.measured == 0 {
					continue // another chain has it
				}
				fmt.Fprintf(b, "| %d | %s | ", p.Flows, l.name)
				if l.beside {
					b.WriteString("beside it |")
				} else {
					fmt.Fprintf(b, "%d |", l.bytes>>10)
				}
				for _, s := range l.shares {
					fmt.Fprintf(b, " %.0f |", 100*s)
				}
				fmt.Fprintf(b, " %.0f | %.0f |\n", predicted, l.measured)
			}
		}
	}
}

// chains are those of the n-th place: to reach a layer, a packet passes all layers before it. A fetch of a line
// brings its neighbor, so an entry counts as a whole. Of data in more than three lines, the first two count.
// Half-open connections have a table of their own, whose entries are not whole lines.
func (g *gatewayPlaces) chains(n int) [][]layer {
	p, size := g.Places[n], g.Sizes
	lines := func(bytes int) int { return (bytes + size.Line - 1) / size.Line }
	index := layer{name: "slot of the index", bytes: p.IndexBytes, measured: p.Index}
	entry := layer{name: "connection, first line", bytes: size.Entry * p.Flows, measured: p.Entry}
	side := layer{name: "connection, line of the direction", measured: p.Side, beside: true}
	key := layer{name: fmt.Sprintf("key of AES-GCM, first of %d lines", lines(size.Key)), bytes: 2 * size.Line * p.Flows, measured: p.Key}
	state := layer{name: fmt.Sprintf("rest of its state, first of %d lines", lines(size.State)), bytes: 2 * size.Line * p.Flows, measured: p.State}
	chains := [][]layer{
		{index, entry, side, key},
		{index, entry, side, state},
		{
			{name: "slot of the half-open", bytes: p.HalfOpenBytes, measured: p.HalfOpenIndex},
			{name: "half-open connection", bytes: size.HalfOpen * p.Flows, measured: p.HalfOpenEntry},
		},
	}
	for i := range chains {
		lay(g.memories(), chains[i])
	}
	for i := range chains[1][:3] {
		chains[1][i].measured = 0
	}
	return chains
}
