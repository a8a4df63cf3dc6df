package engine

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/seed"
)

// drain is a Sink that keeps nothing.
type drain struct{ bytes uint64 }

func (d *drain) Data(_ *output.Flow, _ uint8, data []byte) { d.bytes += uint64(len(data)) }
func (d *drain) Gap(*output.Flow, uint8, int)              {}
func (d *drain) End(*output.Flow)                          {}
func (d *drain) Flush()                                    {}

// TestSoak opens and closes many connections, damaged in all ways, with keys that are early, late or missing, in a
// table that is too small. Memory does not grow. It runs for the time given by -long, and at least for a fixed number
// of connections.
func TestSoak(t *testing.T) {
	const least, samples = 1500, 50
	all := originals(t)
	r := rand.New(rand.NewPCG(seed.Of(t), 0))
	store := keys.NewStore(200)
	log := keys.Log{Store: store}
	sink := &drain{}
	w := NewWorker(store, sink, Options{Flows: 100, KeyWait: 20e6, HoleWait: 50e6, Idle: 1e9, Queued: 4 << 20})
	type connection struct {
		frames []capture.Frame
		keyLog []byte
		keysAt int
	}
	var open [128]connection
	var now int64 = 1700000000e9
	var most, first uint64
	begin, measured, connections := time.Now(), 0, 0
	for connections < least || time.Since(begin) < *long {
		c := &open[r.IntN(len(open))]
		if len(c.frames) == 0 {
			o := all[r.IntN(len(all))]
			o.segments = append([]packet.Segment(nil), o.segments...)
			address := r.Uint32()
			for i := range o.segments {
				s := &o.segments[i]
				client := s.Side
				if s.Tuple.Port[1-s.Side] >= 1024 && s.Tuple.Port[s.Side] < 1024 {
					client = 1 - s.Side
				}
				copy(s.Tuple.Addr[client][13:], []byte{byte(address), byte(address >> 8), byte(address >> 16)})
			}
			f := faults{split: r.IntN(70), merge: r.IntN(100), repeat: r.IntN(30), reorder: r.IntN(40), overlap: r.IntN(20),
				drop: r.IntN(6), forge: r.IntN(6), flip: r.IntN(6), truncate: r.IntN(4) == 0}
			*c = connection{frames: mangle(r, &o, f), keyLog: o.keyLog, keysAt: r.IntN(8)}
			connections++
		}
		for range min(1+r.IntN(20), len(c.frames)) {
			if c.keysAt--; c.keysAt == 0 && r.IntN(10) > 0 {
				log.Write(c.keyLog)
			}
			now += int64(r.IntN(20e3))
			f := c.frames[0]
			f.Time = now
			w.Frames([]capture.Frame{f})
			c.frames = c.frames[1:]
		}
		// The progress of the samples.
		if at := int(min(float64(connections)/least, float64(time.Since(begin))/float64(max(*long, 1))) * samples); at > measured {
			measured = at
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			if first == 0 || at <= samples/2 {
				first = max(first, m.HeapAlloc)
			}
			most = max(most, m.HeapAlloc)
		}
	}
	w.Close()
	t.Logf("%d connections, %d decrypted, %d MB of plaintext; memory at most %d MB in the first half, %d MB in all",
		connections, w.Stats.Decrypted, sink.bytes>>20, first>>20, most>>20)
	if most > first+first/4+8<<20 {
		t.Errorf("memory grew from %d to %d bytes", first, most)
	}
	if w.Stats.Decrypted < uint64(connections)/10 || w.order.Pool.Held != 0 || w.dec.Held() != 0 {
		t.Errorf("%d connections decrypted of %d, %d bytes still held", w.Stats.Decrypted, connections, w.order.Pool.Held+w.dec.Held())
	}
}
