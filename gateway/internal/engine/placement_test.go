package engine

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
	"unsafe"

	"github.com/sealane/sealane/gateway/internal/flow"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/tls"
)

var placement = flag.String("placement", "", "measure how long it takes to come to the data of connections, and write it to this file")

// nicmodel stores the last measurement here.
const placementFile = "../../nicmodel/gateway.json"

// A place is the time that one packet of a random connection takes to reach its data, when each step waits for the
// one before.
type place struct {
	Flows         int
	IndexBytes    int
	Index         float64 // ns: the slot
	Entry         float64 // and the connection's first line
	Side          float64 // and that of the direction
	Key           float64 // and the first line of a key of AES-GCM
	State         float64 // or, in place of the key, the first line of the connection's other state
	HalfOpenBytes int     // of the index of half-open connections
	HalfOpenIndex float64 // the slot in it
	HalfOpenEntry float64 // and the connection
}

// structures are sizes in bytes.
type structures struct{ Slot, Line, Entry, Key, State, HalfOpen int }

func sizes() structures {
	return structures{
		Slot: flow.SlotBytes, Line: int(unsafe.Sizeof(tls.Line{})), Entry: int(unsafe.Sizeof(entry{})), Key: tls.KeyBytes,
		State: int(unsafe.Sizeof(conn{})), HalfOpen: int(unsafe.Sizeof(embryo{})),
	}
}

// places has the measurements of one machine, and the latencies of its caches and memory in the same minute.
type places struct {
	Sizes   structures
	Latency []float64 // ns, of a step through 24 KiB, 512 KiB, 4, 16 and 512 MiB in no order: each of the three caches, half of the last, memory
	Places  []place
}

// chains are lists of cache lines, each linked to the next. There is one for each size whose latency is measured.
func chains() (all [][][16]uint32) {
	for _, size := range []int{24 << 10, 512 << 10, 4 << 20, 16 << 20, 512 << 20} {
		lines := flow.Slab[[16]uint32](size / flow.Line) // as the table's memory is
		order := rand.New(rand.NewPCG(1, 2)).Perm(len(lines))
		for i, at := range order {
			lines[at][0] = uint32(order[(i+1)%len(order)])
		}
		all = append(all, lines)
	}
	return all
}

// latencies are of chains.
func latencies(chains [][][16]uint32) (all []float64) {
	for _, lines := range chains {
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

func tupleOf(n uint32) (t packet.Tuple) {
	binary.LittleEndian.PutUint32(t.Addr[0][:], n)
	return t
}

// A crowd is a Worker's table of connections, and their state.
type crowd struct {
	w    *Worker
	keys [][tls.KeyBytes]byte // in slabs, as those are that have the same size
}

func newCrowd(n int) *crowd {
	c := &crowd{w: NewWorker(keys.NewStore(1), &deafTo{}, Options{Flows: 4 * n, Room: n}), keys: flow.Slab[[tls.KeyBytes]byte](n)}
	for i := range uint32(n) {
		tuple := tupleOf(i)
		hash := tuple.Hash()
		e := c.w.table.Insert(hash, &tuple)
		c.w.embryos.Insert(hash, &tuple).Conn = i
		if len(c.w.free) == 0 {
			c.w.grow()
		}
		x := c.w.free[len(c.w.free)-1]
		c.w.free = c.w.free[:len(c.w.free)-1]
		x.client, e.Conn = byte(i), x.number
		*(*byte)(unsafe.Pointer(&e.Side[0])) = byte(i)
		c.keys[x.number-1][0] = byte(i)
	}
	return c
}

// deafTo is a Sink that drops everything.
type deafTo struct{ told }

// TestPlacement measures the figures that nicmodel compares its prediction with (make nicmodel-gateway). With few
// connections it always runs, so that it keeps working.
func TestPlacement(t *testing.T) {
	counts, rounds := []int{1000}, 1
	out := places{Sizes: sizes()}
	var through [][][16]uint32
	if *placement != "" {
		counts, rounds = []int{1000, 100_000, 1_000_000}, 3
		through = chains()
		out.Latency = latencies(through)
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
	}
	for _, n := range counts {
		runtime.GC()
		c := newCrowd(n)
		p := place{Flows: n, IndexBytes: c.w.table.IndexBytes(), HalfOpenBytes: c.w.embryos.IndexBytes()}
		for round := range rounds {
			for step, into := range []*float64{&p.Index, &p.Entry, &p.Side, &p.Key, &p.State, &p.HalfOpenIndex, &p.HalfOpenEntry} {
				if took := c.chase(n, step); round == 0 || took < *into {
					*into = took
				}
			}
			if *placement != "" {
				for i, took := range latencies(through) { // others use the last level as well, at times
					out.Latency[i] = min(out.Latency[i], took)
				}
			}
		}
		if p.Index <= 0 || p.Key < p.Index/2 || p.HalfOpenEntry < p.HalfOpenIndex/2 {
			t.Errorf("%+v", p)
		}
		out.Places = append(out.Places, p)
		debug.FreeOSMemory()
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

// nicmodel predicts from the sizes of the actual structures.
func TestPlacementSizes(t *testing.T) {
	text, err := os.ReadFile(placementFile)
	if err != nil {
		t.Fatal(err)
	}
	var kept places
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	if now := sizes(); kept.Sizes != now {
		t.Errorf("%s was measured with %+v bytes, now it is %+v: make nicmodel-gateway nicmodel", placementFile, kept.Sizes, now)
	}
	for _, p := range kept.Places {
		table, open := flow.New[tls.Line](p.Flows, p.Flows), flow.New[[0]byte](p.Flows, p.Flows)
		if p.IndexBytes != table.IndexBytes() || p.HalfOpenBytes != open.IndexBytes() {
			t.Errorf("%s: %d connections with an index of %d and %d bytes, now it is %d: make nicmodel-gateway nicmodel", placementFile,
				p.Flows, p.IndexBytes, p.HalfOpenBytes, table.IndexBytes())
		}
	}
}

// chase returns the least ns per step over some runs, through connections in random order. Each step depends on the
// data just read.
func (c *crowd) chase(n, step int) float64 {
	const steps = 10_000
	best := time.Duration(1 << 62)
	random := uint64(88172645463325252)
	w := c.w
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
				seen = *(*uint64)(w.table.Home(hash))
			case 1:
				seen = uint64(w.table.Find(hash, &tuple).Conn)
			case 2:
				e := w.table.Find(hash, &tuple)
				seen = uint64(*(*byte)(unsafe.Pointer(&e.Side[e.Conn>>31])))
			case 3:
				e := w.table.Find(hash, &tuple)
				seen = uint64(c.keys[e.Conn-1+uint32(*(*byte)(unsafe.Add(unsafe.Pointer(&e.Side[e.Conn>>31]), 1)))][0])
			case 4:
				e := w.table.Find(hash, &tuple)
				seen = uint64(w.conn(e.Conn + uint32(*(*byte)(unsafe.Add(unsafe.Pointer(&e.Side[e.Conn>>31]), 1)))).client)
			case 5:
				seen = *(*uint64)(w.embryos.Home(hash))
			default:
				seen = uint64(w.embryos.Find(hash, &tuple).Conn)
			}
			random += seen & 1
		}
		best = min(best, time.Since(start))
	}
	return float64(best.Nanoseconds()) / steps
}
