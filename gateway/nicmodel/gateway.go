package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// What the gateway keeps of connections, and how long it takes to come to it: predicted from the caches, beside what its own table
// took (gateway/internal/flow, TestPlacement: make nicmodel-gateway). gateway.json has the least of three runs for each figure, latencies as
// well as places.

type gatewayPlaces struct {
	Latency []float64 // ns: L1, L2, L3, half of the last level's size, memory
	Places  []struct {
		Flows, IndexBytes       int
		Index, Entry, Side, Key float64
	}
}

func readGateway(path string) (g gatewayPlaces, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &g)
	}
	return g, err
}

// Sizes of the caches of the machine, as it reports them: the last level is shared, and how much of it is this core's follows from
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

// A layer is one kind of the gateway's data: so many bytes of lines that packets touch. What is touched most often for its size is
// nearest.
type layer struct {
	name   string
	bytes  int
	shares []float64 // of it, by memory
}

// lay gives each layer its share of the memories, in order.
func lay(memories []memory, layers []layer) {
	at, left := 0, memories[0].bytes
	for i := range layers {
		l := &layers[i]
		l.shares = make([]float64, len(memories))
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
	b.WriteString("\n## The gateway's own data\n\nMeasured with it, the least of three runs on a machine that others used as well: ")
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
	b.WriteString(".\n\n| flows | what | KiB | L1, % | L2, % | L3, % | memory, % | predicted, ns | measured, ns |\n|--:|---|--:|--:|--:|--:|--:|--:|--:|\n")
	first := g.Places[0]
	base := []float64{first.Index, first.Entry, first.Side, first.Key}
	var before float64
	for n, p := range g.Places {
		measured := []float64{p.Index, p.Entry, p.Side, p.Key}
		predicted := 0.0
		for step, l := range g.layers(n) {
			predicted += l.latency(memories)
			if n == 0 && step == 0 {
				before = base[0] - predicted // the hash, and choosing the connection
			}
			fmt.Fprintf(b, "| %d | %s | %d |", p.Flows, l.name, l.bytes>>10)
			for _, s := range l.shares {
				fmt.Fprintf(b, " %.0f |", 100*s)
			}
			fmt.Fprintf(b, " %.0f | %.0f |\n", before+predicted, measured[step])
		}
	}
}

// layers are those of the n-th place. To come to one, all before it are gone through. Of an entry's three lines each is a layer;
// of the two directions' lines both count.
func (g *gatewayPlaces) layers(n int) []layer {
	p := g.Places[n]
	all := []layer{
		{name: "slot of the index", bytes: p.IndexBytes},
		{name: "connection, first line", bytes: 64 * p.Flows},
		{name: "connection, line of the direction", bytes: 64 * p.Flows},
		{name: "key of AES-GCM, first of 15 lines", bytes: 64 * p.Flows},
	}
	lay(g.memories(), all)
	return all
}
