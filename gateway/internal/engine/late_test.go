package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/tls"
	"github.com/sealane/sealane/gateway/internal/traffic"
)

// Keys that come while ciphertext waits for them cost nothing; later, or with more ciphertext than may wait, something is
// missing, and that is reported.
func TestLateKeys(t *testing.T) {
	const wait = 50e6
	for _, c := range []struct {
		late  int64 // nanoseconds after the first packet
		bytes int
		held  int // that may wait
		whole bool
	}{
		{0, 30000, 1 << 20, true},
		{10e6, 30000, 1 << 20, true},
		{40e6, 30000, 1 << 20, true},
		{60e6, 30000, 1 << 20, false},
		{1e9, 30000, 1 << 20, false},
		{40e6, 100000, 50000, false},
	} {
		for _, suite := range []uint16{traffic.AES128, traffic.AES256, traffic.ChaCha20} {
			t.Run(fmt.Sprintf("%d ms, %d bytes of %d, %#x", c.late/1e6, c.bytes, c.held, suite), func(t *testing.T) {
				var frames []capture.Frame
				s, conn := traffic.NewSession(suite, rand.New(rand.NewPCG(1, 1))), traffic.NewConn(1, &frames)
				conn.Step = 100e3
				conn.Handshake(s, 1000)
				conn.Send(traffic.Server, s.Data(traffic.Server, make([]byte, c.bytes), 1<<14))
				conn.Time = frames[0].Time + 2e9
				conn.Send(traffic.Server, s.Data(traffic.Server, make([]byte, 777), 1<<14))
				conn.Close()
				limits := tls.DefaultLimits
				limits.HeldFlow = c.held
				store, got := keys.NewStore(10), &collector{}
				w := NewWorker(store, got, Options{Flows: 10, KeyWait: wait, TLS: limits})
				come := frames[0].Time + c.late
				for _, f := range frames {
					if come > 0 && f.Time > come {
						w.Tick(come)
						(&keys.Log{Store: store}).Write(s.KeyLog())
						w.Tick(come + 2e6)
						come = 0
					}
					w.Frames([]capture.Frame{f})
				}
				w.Close()
				if len(got.streams) != 1 {
					t.Fatalf("%d streams: %+v", len(got.streams), w.Stats)
				}
				n, gaps := len(got.streams[0].bytes(1)), got.streams[0].gaps()
				if whole := n == c.bytes+777 && gaps == 0; whole != c.whole {
					t.Errorf("%d bytes of %d, %d gaps: %+v", n, c.bytes+777, gaps, w.Stats)
				}
				if !c.whole && (n < 777 || gaps == 0) {
					t.Errorf("%d bytes, %d gaps: %+v", n, gaps, w.Stats)
				}
			})
		}
	}
}
