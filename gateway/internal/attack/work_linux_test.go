package attack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/engine"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/traffic"
)

// discard is a Sink that drops everything.
type discard struct{}

func (discard) Data(*output.Flow, uint8, []byte) {}
func (discard) Gap(*output.Flow, uint8, int)     {}
func (discard) End(*output.Flow)                 {}
func (discard) Flush()                           {}

// processor returns the processor time of this process.
func processor() time.Duration {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t)
	return time.Duration(t.Nano())
}

// A nuisance is a packet that an attacker sends again and again.
type nuisance struct {
	name string
	make func(n uint32) forgery
}

func nuisances(v *victim) []nuisance {
	i := v.server[len(v.server)/3]
	at := like(&v.segs[i])
	junk := make([]byte, 1400)
	hello := like(&v.segs[v.firstData(v.client)])
	flight := like(&v.segs[v.server[0]])
	return []nuisance{
		{"nearer each time", func(n uint32) forgery {
			f := at
			f.seq, f.data = at.seq+900000-n*200, junk[:150]
			return f
		}},
		{"many records in a segment", func(n uint32) forgery {
			f := at
			f.seq, f.data = at.seq+20000+n*1400, bytes.Repeat([]byte{23, 3, 3, 0, 17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 63)
			return f
		}},
		{"copies of a byte", func(n uint32) forgery {
			f := at
			f.seq, f.data = at.seq+n%1300, []byte{byte(n >> 8)}
			return f
		}},
		{"hellos", func(n uint32) forgery {
			f := hello
			f.data = bytes.Clone(f.data)
			binary.BigEndian.PutUint32(f.data[20:], n)
			return f
		}},
		{"hellos in the name of the server", func(n uint32) forgery {
			f := hello
			f.side, f.seq, f.ack, f.data = 1-f.side, flight.seq, hello.seq, bytes.Clone(f.data)
			binary.BigEndian.PutUint32(f.data[20:], n)
			return f
		}},
		{"hellos in anybody's name", func(n uint32) forgery {
			f := hello
			if n&1 != 0 {
				f = flight
			}
			if n&2 != 0 {
				f.side, f.seq, f.ack = 1-f.side, f.ack, f.seq
			}
			f.data = bytes.Clone(f.data)
			binary.BigEndian.PutUint32(f.data[20:], n)
			return f
		}},
		{"copies of the server's first", func(n uint32) forgery {
			f := flight
			f.data = bytes.Clone(f.data)
			binary.BigEndian.PutUint32(f.data[20+n%100:], n)
			return f
		}},
		{"bytes of a hello", func(n uint32) forgery {
			f := hello
			f.seq, f.data = f.seq+n%200, []byte{byte(n)}
			return f
		}},
		{"records ahead", func(n uint32) forgery {
			f := at
			f.seq, f.data = at.seq+20000+n%700*1400, append([]byte{23, 3, 3, 5, 0x73}, junk[:1395]...)
			f.badTCP = true
			return f
		}},
		{"single bytes ahead", func(n uint32) forgery {
			f := at
			f.seq, f.data, f.badTCP = at.seq+20000+n*7%900000, []byte{byte(n)}, true
			return f
		}},
		{"copies that differ", func(n uint32) forgery {
			f := at
			f.data, f.badTCP = bytes.Clone(junk), true
			binary.BigEndian.PutUint32(f.data[100:], n)
			copy(f.data, []byte{23, 3, 3, 5, 0x73})
			return f
		}},
	}
}

const burst = 4096 // frames

// cost returns the processor time per packet, and the worker's counters.
func (c *nuisance) cost(v *victim, packets int) (time.Duration, engine.Stats) {
	store := keys.NewStore(100)
	log := keys.Log{Store: store}
	log.Write(v.keyLog)
	w := engine.NewWorker(store, discard{}, engine.Options{Flows: 1000, KeyWait: 50e6, HoleWait: 200e6})
	i := v.server[len(v.server)/3]
	if f := c.make(0); f.side != v.segs[i].Side || f.seq-v.segs[i].Seq >= 1<<30 {
		i = v.firstData(v.client) + 1 // no record has opened
	}
	w.Frames(v.frames[:i])
	var frames []capture.Frame
	for n := range uint32(burst) {
		frames = append(frames, v.forge(v.frames[i].Time+int64(n)*20e3, c.make(n)))
	}
	begin := processor()
	for n := 0; n < packets; n += 32 {
		w.Frames(frames[n%burst : n%burst+32])
	}
	return (processor() - begin) / time.Duration(packets), w.Snapshot()
}

// ordinary returns the processor time of authentic segments of this size.
func ordinary(size, packets int) time.Duration {
	var frames []capture.Frame
	s, c := traffic.NewSession(traffic.AES256, rand.New(rand.NewPCG(1, 1))), traffic.NewConn(1, &frames)
	store := keys.NewStore(10)
	log := keys.Log{Store: store}
	log.Write(s.KeyLog())
	w := engine.NewWorker(store, discard{}, engine.Options{Flows: 1000, KeyWait: 50e6, HoleWait: 200e6})
	c.Handshake(s, 1000)
	w.Frames(frames)
	stream := make([]byte, 1<<14)
	took := time.Duration(0)
	for n := 0; n < packets; {
		frames = frames[:0]
		c.MSS = size
		for len(frames) < burst {
			c.Send(traffic.Server, s.Data(traffic.Server, stream, 1<<14))
		}
		kept := frames[:0]
		for _, f := range frames {
			if len(f.Data) > 54 {
				kept = append(kept, f) // without acknowledgements
			}
		}
		begin := processor()
		for len(kept) > 0 && n < packets {
			k := min(32, len(kept))
			w.Frames(kept[:k])
			kept, n = kept[k:], n+k
		}
		took += processor() - begin
	}
	return took / time.Duration(packets)
}

// The cost of forged packets, and of ordinary ones of the same length.
func BenchmarkForged(b *testing.B) {
	v := load(b, "s-aes256")
	for _, c := range nuisances(v) {
		b.Run(c.name, func(b *testing.B) {
			took, _ := c.cost(v, b.N)
			b.ReportMetric(float64(took), "cpu-ns/op")
		})
	}
	for _, size := range []int{1, 150, 517, 793, 1400} {
		b.Run(fmt.Sprintf("ordinary, %d bytes", size), func(b *testing.B) { b.ReportMetric(float64(ordinary(size, b.N)), "cpu-ns/op") })
	}
}

// The processor time of forged packets relative to ordinary ones of the same length: the least of several runs of
// each, as everywhere here. make bench-gateway has a row for it, with its maximum.
func BenchmarkForgedTimes(b *testing.B) {
	v := load(b, "s-aes256")
	const packets, turns = 1 << 17, 7
	for _, c := range nuisances(v) {
		size := len(c.make(0).data)
		b.Run(c.name, func(b *testing.B) {
			least := [2]float64{math.Inf(1), math.Inf(1)}
			for range b.N * turns {
				forged, _ := c.cost(v, packets)
				least[0] = min(least[0], float64(forged))
				least[1] = min(least[1], float64(ordinary(size, packets)))
			}
			b.ReportMetric(least[0]/least[1], "times/op")
		})
	}
}

// An attacker does not cause much more work than an authentic sender of as many bytes. The bound leaves room for
// other work on the machine, and for differences between machines. BenchmarkForged measures the ratio.
func TestForgedCost(t *testing.T) {
	v := load(t, "s-aes256")
	const packets, most = 1 << 14, 30
	for _, c := range nuisances(v) {
		f := c.make(0)
		ratio := math.Inf(1)
		for range 5 {
			took, did := c.cost(v, packets)
			// On any machine, few copies of a flood are kept, and bytes that were read are not read again for the
			// others.
			if did.Replays > packets/4 || did.TLS.Trials > 16*packets {
				t.Fatalf("%s: %d handshakes read again and %d records tried for %d packets", c.name, did.Replays, did.TLS.Trials, packets)
			}
			ratio = min(ratio, float64(took)/float64(ordinary(len(f.data), packets)))
			if ratio < 3 {
				break
			}
		}
		if ratio > most {
			t.Errorf("%s: %.1f times what an ordinary packet costs", c.name, ratio)
		}
		t.Logf("%s: %.1f times what an ordinary packet of %d bytes costs", c.name, ratio, len(f.data))
	}
}

// Junk on an established connection causes bounded work, and no loss.
func TestWork(t *testing.T) {
	v := load(t, "s-aes256")
	i := v.server[len(v.server)/3]
	const packets = 20000
	measure := func(make func(n uint32) forgery) time.Duration {
		store, s := keys.NewStore(100), &sink{}
		log := keys.Log{Store: store}
		log.Write(v.keyLog)
		w := engine.NewWorker(store, s, engine.Options{Flows: 1000, KeyWait: 50e6, HoleWait: 200e6})
		w.Frames(v.frames[:i])
		var frames []capture.Frame
		for n := range uint32(packets) {
			frames = append(frames, v.forge(v.frames[i].Time+int64(n)*20e3, make(n)))
		}
		begin := processor()
		for len(frames) > 0 {
			n := min(32, len(frames))
			w.Frames(frames[:n])
			frames = frames[n:]
		}
		took := processor() - begin
		w.Frames(v.frames[i:])
		w.Close()
		if n := v.authentic(t, "work", s); n != v.bytes {
			t.Errorf("%d bytes of %d: %+v", n, v.bytes, w.Stats)
		}
		return took / packets
	}
	at := like(&v.segs[i])
	junk := make([]byte, 1400)
	for name, f := range map[string]func(n uint32) forgery{
		"records ahead": func(n uint32) forgery {
			f := at
			f.seq, f.data = at.seq+20000+n%700*1400, append([]byte{23, 3, 3, 5, 0x73}, junk[:1395]...)
			f.badTCP = true
			return f
		},
		"single bytes ahead": func(n uint32) forgery {
			f := at
			f.seq, f.data, f.badTCP = at.seq+20000+n*7%900000, []byte{byte(n)}, true
			return f
		},
		"copies that differ": func(n uint32) forgery {
			f := at
			f.data, f.badTCP = bytes.Clone(junk), true
			binary.BigEndian.PutUint32(f.data[100:], n)
			copy(f.data, []byte{23, 3, 3, 5, 0x73})
			return f
		},
	} {
		took := measure(f)
		t.Logf("%s: %v for a packet", name, took)
		// The limit is far above the measured time, and far below the time of trials without a bound.
		if took > 100*time.Microsecond {
			t.Errorf("%s: %v for a packet", name, took)
		}
	}
}
