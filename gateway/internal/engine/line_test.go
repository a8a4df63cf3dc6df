package engine

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/keys"
	"github.com/sealane/sealane/gateway/internal/output"
	"github.com/sealane/sealane/gateway/internal/traffic"
)

// told is a Sink that records all calls, in order.
type told []string

func (s *told) Data(f *output.Flow, side uint8, data []byte) {
	*s = append(*s, fmt.Sprintf("%v %d at %d: %s", f.Client, side, *f.Time, data))
}
func (s *told) Gap(f *output.Flow, side uint8, n int) {
	*s = append(*s, fmt.Sprintf("%v %d: %d missing", f.Client, side, n))
}
func (s *told) End(f *output.Flow) { *s = append(*s, fmt.Sprintf("%v ends", f.Client)) }
func (s *told) Flush()             {}

// TestLines mixes small records with everything that takes a direction out of its Line. These are key changes,
// records in several packets, several records in one, and forged, lost and repeated ones. The output of each
// connection and its order do not depend on how many packets are handled together, nor on Lines.
func TestLines(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 5))
		var frames []capture.Frame
		var log []byte
		lossy := seed%2 != 0 // when a hole is given up depends on how many packets are handled together
		const conns = 4
		var sessions [conns]*traffic.Session
		var cs [conns]*traffic.Conn
		for i := range conns {
			sessions[i] = traffic.NewSession([]uint16{traffic.AES128, traffic.ChaCha20, traffic.AES256}[r.IntN(3)], r)
			log = append(log, sessions[i].KeyLog()...)
			cs[i] = traffic.NewConn(i, &frames)
			cs[i].Handshake(sessions[i], 500)
		}
		sent := 0
		for n := range 400 {
			i, side := r.IntN(conns), r.IntN(2)
			text := func() []byte { sent++; return fmt.Appendf(nil, "text %d", sent) }
			s, c := sessions[i], cs[i]
			c.Time = cs[0].Time + int64(n)
			switch r.IntN(30) {
			case 0:
				c.Send(side, s.KeyUpdate(side))
			case 1: // in two packets
				b := s.Data(side, text(), 100)
				c.Send(side, b[:7])
				c.Send(side, b[7:])
			case 2: // two in one
				c.Send(side, append(s.Data(side, text(), 100), s.Data(side, text(), 100)...))
			case 3: // forged, before the one that is due
				before := len(frames)
				c.Send(side, s.Data(side, text(), 100))
				forged := frames[before]
				forged.Data = append([]byte(nil), forged.Data...)
				forged.Data[len(forged.Data)-1] ^= 1
				frames = append(frames[:before:before], append([]capture.Frame{forged}, frames[before:]...)...)
			case 4: // lost
				before := len(frames)
				c.Send(side, s.Data(side, text(), 100))
				if lossy {
					frames = frames[:before]
				}
			case 5: // again
				frames = append(frames, frames[len(frames)-1-r.IntN(5)])
			case 6: // nothing but padding is not sent, but tickets are
				c.Send(traffic.Server, s.Tickets())
			default:
				before := len(frames)
				c.Send(side, s.Data(side, text(), 100))
				frames = frames[:before+1] // without the acknowledgement
			}
		}
		var want map[string]string
		for _, how := range []struct {
			each  int
			batch bool
		}{{1, false}, {1, true}, {17, true}, {len(frames), true}} {
			var got told
			store := keys.NewStore(100)
			(&keys.Log{Store: store}).Write(log)
			w := NewWorker(store, &got, Options{Flows: 10, HoleWait: 1})
			w.dec.Batch = how.batch
			for rest := frames; len(rest) > 0; {
				n := min(how.each, len(rest))
				w.Frames(rest[:n])
				rest = rest[n:]
			}
			w.Close()
			each := make(map[string]string)
			for _, s := range got {
				name := s[:len("10.0.0.0:1024")]
				if lossy {
					name = s[:len("10.0.0.0:1024 0")]
					s = s[strings.LastIndex(s, ": ")+1:]
				}
				each[name] += s + "\n"
			}
			if want == nil {
				if want = each; len(want) < conns || len(got) < 200 {
					t.Fatalf("seed %d: %d pieces of %d connections", seed, len(got), len(want))
				}
			}
			for name, w := range want {
				if each[name] != w {
					t.Fatalf("seed %d, %d at once, batches %v:\n%s\nwant\n%s", seed, how.each, how.batch, each[name], w)
				}
			}
		}
	}
}
