package engine

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/traffic"
)

// processor returns the processor time of this process.
func processor() time.Duration {
	var t unix.Timespec
	unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t)
	return time.Duration(t.Nano())
}

// deaf is a Sink that counts bytes.
type deaf struct{ bytes int }

func (d *deaf) Data(_ *output.Flow, _ uint8, data []byte) { d.bytes += len(data) }
func (d *deaf) Gap(*output.Flow, uint8, int)              {}
func (d *deaf) End(*output.Flow)                          {}
func (d *deaf) Flush()                                    {}

// BenchmarkConnections measures a short connection that lies in the cache: a handshake, a request, an answer of 1 KB,
// an end. With -tags trusting it is the same without authenticated reassembly.
func BenchmarkConnections(b *testing.B) {
	for name, suite := range map[string]uint16{"AES128": traffic.AES128, "AES256": traffic.AES256, "ChaCha20": traffic.ChaCha20} {
		b.Run(name, func(b *testing.B) {
			const n = 50
			r := rand.New(rand.NewPCG(1, 1))
			var frames []capture.Frame
			var log []byte
			for i := range n {
				s, c := traffic.NewSession(suite, r), traffic.NewConn(i, &frames)
				log = append(log, s.KeyLog()...)
				c.Handshake(s, 1000)
				c.Send(traffic.Server, s.Tickets())
				c.Send(traffic.Client, s.Data(traffic.Client, make([]byte, 100), 1<<14))
				c.Send(traffic.Server, s.Data(traffic.Server, make([]byte, 1000), 1<<14))
				c.Send(traffic.Client, s.CloseNotify(traffic.Client))
				c.Close()
			}
			store, sink := keys.NewStore(1<<22), &deaf{}
			store.Linger = time.Hour // each round has the same keys
			(&keys.Log{Store: store}).Write(log)
			w := NewWorker(store, sink, Options{Flows: 1000})
			b.ReportAllocs()
			b.ResetTimer()
			var each []float64
			for i := 0; i < b.N; i += n {
				begin := processor()
				w.Frames(frames)
				each = append(each, float64(processor()-begin)/n)
			}
			// Neither the least, because that clock is sometimes wrong, nor a figure that other programs have slowed.
			slices.Sort(each)
			b.ReportMetric(each[len(each)/10], "cpu-ns/op")
			if rounds := (b.N + n - 1) / n; sink.bytes != rounds*n*1100 || w.Stats.Flows != uint64(rounds*n) {
				b.Errorf("%d bytes of %d", sink.bytes, rounds*n*1100)
			}
		})
	}
}
