package attack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/engine"
	"github.com/sealane/sealane/gateway/internal/keys"
)

// A clash makes the k-th forged packet of a connection in the name of a side. It contradicts the real ones.
type clash struct {
	name  string
	bytes func(side uint8, k int, f *forgery)
}

// other changes bytes of a hello on which the keys depend.
func other(k int, f *forgery) {
	binary.BigEndian.PutUint32(f.data[60+4*(k%20):], uint32(k)*0x01010101)
	if k%3 == 2 { // pieces that begin anywhere
		f.seq, f.data = f.seq+uint32(k), f.data[k:]
	}
}

var clashes = []clash{
	{"none", func(uint8, int, *forgery) {}},
	{"after what is real", func(_ uint8, k int, f *forgery) {
		if k > 0 {
			other(k, f)
		}
	}},
	{"nothing is real", func(_ uint8, k int, f *forgery) { other(k+1, f) }},
	{"records after hellos", func(side uint8, k int, f *forgery) {
		if side == 0 {
			f.data = append(f.data, append([]byte{23, 3, 3, 0, 60}, bytes.Repeat([]byte{byte(k)}, 60)...)...)
		}
		binary.BigEndian.PutUint32(f.data[len(f.data)-40:], uint32(k+1)*0x01010101)
		other(k+1, f)
	}},
	{"without keys", func(side uint8, k int, f *forgery) {
		if side == 0 {
			f.data[20] ^= 0x55 // the client random
		}
		other(k+1, f)
	}},
}

// ends returns the processor time for each packet of connections that contradict themselves in many places at once.
// Once the maximum number of connections is reached, each ends because others need its place.
func (c *clash) ends(v *victim, flows, copies int) (time.Duration, engine.Stats) {
	store := keys.NewStore(100)
	log := keys.Log{Store: store}
	log.Write(v.keyLog)
	const most = 256
	w := engine.NewWorker(store, discard{}, engine.Options{Flows: most, KeyWait: 50e6, HoleWait: 200e6})
	hello, flight := like(&v.segs[v.firstData(v.client)]), like(&v.segs[v.server[0]])
	var frames []capture.Frame
	took, counted, at := time.Duration(0), 0, v.frames[0].Time
	for i := range most + flows {
		for k := range copies {
			for side, f := range []forgery{hello, flight} {
				f.data = bytes.Clone(f.data)
				c.bytes(uint8(side), k, &f)
				at += 20e3
				x := v.forge(at, f)
				from := 14 + 12 + 4*side // the client's address
				x.Data[from+1], x.Data[from+2] = byte(i>>8), byte(i)
				frames = append(frames, x)
			}
		}
		if len(frames) < burst && i != most-1 && i != most+flows-1 {
			continue
		}
		begin := processor()
		for n := 0; n < len(frames); n += 32 {
			w.Frames(frames[n:min(n+32, len(frames))])
		}
		if i >= most {
			took += processor() - begin
			counted += len(frames)
		}
		frames = frames[:0]
	}
	return took / time.Duration(counted), w.Snapshot()
}

// beside compares the processor time of connections that contradict themselves with two others. It returns
// the ratio to one such connection that carries as many ordinary bytes, and the ratio to ordinary packets of
// the same length.
func (c *clash) beside(v *victim, flows, copies int) (times, absolute float64, did engine.Stats) {
	one, _ := c.ends(v, flows, 1)
	plain := ordinary(650, 1<<13)
	took, did := c.ends(v, flows, copies)
	n := float64(2 * copies)
	return n * float64(took) / (2*float64(one) + (n-2)*float64(plain)), float64(took) / float64(plain), did
}

// The median of several runs; TestForgedEnds takes the minimum.
func BenchmarkForgedEnds(b *testing.B) {
	v := load(b, "s-aes256")
	const flows, turns = 2000, 9
	for _, c := range clashes[1:] {
		for _, copies := range []int{2, 5, 16, 40} {
			b.Run(fmt.Sprintf("%s, %d copies", c.name, copies), func(b *testing.B) {
				var times []float64
				for range b.N * turns {
					x, _, _ := c.beside(v, flows, copies)
					times = append(times, x)
				}
				slices.Sort(times)
				b.ReportMetric(times[len(times)/2], "times/op")
			})
		}
	}
}

// Connections that contradict themselves in many places and end cost little more than one with a single contradiction
// and as many bytes. The bound leaves room for other work on the machine, as that of TestForgedCost does. How often
// handshakes are read again does not depend on that.
func TestForgedEnds(t *testing.T) {
	v := load(t, "s-aes256")
	const flows, turns, aim, most = 500, 7, 3, 12
	for _, c := range clashes[1:] {
		for _, copies := range []int{2, 5, 16, 40} {
			ratio, absolute := math.Inf(1), math.Inf(1)
			for turn := 0; turn < turns && ratio > aim; turn++ {
				times, beside, did := c.beside(v, flows, copies)
				if did.Replays > 4*did.Flows {
					t.Fatalf("%s, %d copies: %d handshakes read again in %d connections", c.name, copies, did.Replays, did.Flows)
				}
				ratio, absolute = min(ratio, times), min(absolute, beside)
			}
			t.Logf("%s, %d copies: %.1f times what one and ordinary packets cost, %.1f times ordinary packets",
				c.name, copies, ratio, absolute)
			if ratio > most {
				t.Errorf("%s, %d copies: %.1f times what one and ordinary packets cost", c.name, copies, ratio)
			}
		}
	}
}

// throng contradicts an authentic connection in every place, among many forged ones that name its client random and
// are contradicted as well. The forged ones come all before the first authentic one, or after its ClientHello. It
// returns how much of the connection was delivered.
func throng(t *testing.T, v *victim, flows int, before bool) int {
	var others []capture.Frame
	for i := range flows {
		for k := range 8 {
			for side, f := range []forgery{like(&v.segs[v.firstData(v.client)]), like(&v.segs[v.server[0]])} {
				clashes[3].bytes(uint8(side), k, &f)
				x := v.forge(0, f)
				from := 14 + 12 + 4*side
				x.Data[from+1], x.Data[from+2] = byte(i>>8), byte(i)
				others = append(others, x)
			}
		}
	}
	var frames []capture.Frame
	at := v.frames[0].Time
	add := func(all ...capture.Frame) {
		for _, f := range all {
			at += 1e3
			f.Time = at
			frames = append(frames, f)
		}
	}
	if before {
		add(others...)
	}
	for i := range v.segs {
		f := like(&v.segs[i])
		for k := range 12 {
			if len(f.data) > 200 {
				g := f
				at := k * 15
				g.seq, g.data = f.seq+uint32(at), junk(f.data[at:])
				if k%3 == 0 {
					g.data = bytes.Clone(f.data[at:])
					g.data[min(k*20, len(g.data)-1)] ^= 1
				}
				add(v.forge(0, g))
			}
		}
		add(v.frames[i])
		if i == v.firstData(v.client) && !before {
			add(others...)
		}
	}
	got, _ := run(v, frames, func(o *engine.Options) { o.Flows = 1 << 14 })
	return v.authentic(t, "in a throng", got)
}

// The first connection that names a random gets the available work, however many name it later. An earlier
// connection with that random would get it instead.
func TestThrong(t *testing.T) {
	needed := 0
	for _, name := range []string{"s-aes256", "s-12gcm", "s-hrr"} {
		v := load(t, name)
		after, before := throng(t, v, 1500, false), throng(t, v, 1500, true)
		t.Logf("%s: of %d bytes %d come out, and %d if others named the random before", name, v.bytes, after, before)
		if after != v.bytes {
			t.Errorf("%s: %d bytes of %d", name, after, v.bytes)
		}
		if before < v.bytes {
			needed++
		}
	}
	if needed == 0 {
		t.Error("no connection needs the work that the others may not have")
	}
}
