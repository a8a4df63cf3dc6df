package flow

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

var placement = flag.String("placement", "", "measure how long it takes to come to the data of connections, and write it to this file")

// A place is how long one packet of a connection taken at random takes to come to its data, each step waiting for the one before.
type place struct {
	Flows      int
	IndexBytes int
	Index      float64 // ns: the slot
	Entry      float64 // and the connection's first line
	Side       float64 // and that of the direction
	Key        float64 // and the first line of a key of AES-GCM, of a kilobyte
}

// places are what was measured on one machine, and what its memories took in the same minute.
type places struct {
	Latency []float64 // ns, of a step through 24 KiB, 512 KiB, 4, 16 and 64 MiB in no order: each of the three caches, half of the last, memory
	Places  []place
}

// latencies are of a chain of lines.
func latencies() (all []float64) {
	for _, size := range []int{24 << 10, 512 << 10, 4 << 20, 16 << 20, 64 << 20} {
		lines := Slab[[16]uint32](size / Line) // as the table's memory is
		order := rand.New(rand.NewPCG(1, 2)).Perm(len(lines))
		for i, at := range order {
			lines[at][0] = uint32(order[(i+1)%len(order)])
		}
		const steps = 100_000
		best := time.Duration(1 << 62)
		at := uint32(0)
		for range 24 {
			start := time.Now()
			for range steps {
				at = lines[at][0]
			}
			best = min(best, time.Since(start))
		}
		if at > uint32(len(lines)) {
			panic("never")
		}
		all = append(all, float64(best.Nanoseconds())/steps)
	}
	return all
}

// TestPlacement is what nicmodel holds its prediction against (make nicmodel-gateway). With few connections it runs always, so that
// it cannot rot.
func TestPlacement(t *testing.T) {
	counts := []int{1000}
	if *placement != "" {
		counts = []int{1000, 100_000, 1_000_000}
	}
	var out places
	if *placement != "" {
		out.Latency = latencies()
	}
	for _, n := range counts {
		table := New[[Line]byte](n, n)
		keys := Slab[[1024]byte](n)
		for i := range uint32(n) {
			tuple := tupleOf(i)
			e := table.Insert(tuple.Hash(), &tuple)
			e.Conn, e.Side[0][0] = i, byte(i)
			keys[i][0] = byte(i)
		}
		p := place{Flows: n, IndexBytes: 8 * len(table.index)}
		for step, into := range []*float64{&p.Index, &p.Entry, &p.Side, &p.Key} {
			*into = chase(table, keys, n, step)
		}
		if p.Index <= 0 || p.Key < p.Index/2 {
			t.Errorf("%+v", p)
		}
		out.Places = append(out.Places, p)
	}
	if *placement == "" {
		return
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err == nil {
		err = os.WriteFile(*placement, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// chase is the least ns over some runs of a step, of connections in no order. Which comes next depends on what was read.
func chase(table *testTable, keys [][1024]byte, n, step int) float64 {
	const steps = 10_000
	best := time.Duration(1 << 62)
	random := uint64(88172645463325252)
	for range max(60, 3*n/steps) {
		start := time.Now()
		for range steps {
			random ^= random << 13
			random ^= random >> 7
			random ^= random << 17
			tuple := tupleOf(uint32(random % uint64(n)))
			hash := tuple.Hash()
			var seen uint64
			switch step {
			case 0:
				seen = *(*uint64)(table.Home(hash))
			case 1:
				seen = uint64(table.Find(hash, &tuple).Conn)
			case 2:
				e := table.Find(hash, &tuple)
				seen = uint64(e.Side[e.Conn>>31][0])
			default:
				e := table.Find(hash, &tuple)
				seen = uint64(keys[e.Conn+uint32(e.Side[e.Conn>>31][1])][0])
			}
			random += seen & 1
		}
		best = min(best, time.Since(start))
	}
	return float64(best.Nanoseconds()) / steps
}
