package quic

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// processorTime returns how much of it this thread has had, in nanoseconds.
func processorTime() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

// BenchmarkOpen has packets of 1200 bytes of one connection, in lots as the engine has them. It reports the least processor time of many
// rounds, so other processes matter little; and the same for packets that are forged.
func BenchmarkOpen(b *testing.B) {
	for _, suite := range suites {
		for _, forged := range []bool{false, true} {
			b.Run(fmt.Sprintf("%#x,forged=%v", uint16(suite), forged), func(b *testing.B) {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				r := rand.New(rand.NewPCG(1, 2))
				m := newMaker(b, r, suite, 8, 8)
				l := newListener(m.log())
				l.d.Stream = func(*Conn, uint64, uint8, []byte) {}
				now := int64(1e18)
				l.give(m, &now, m.handshake()...)
				const size, lots, lot = 1200, 16, 32
				packets := make([]sent, lots*lot)
				for i := range packets {
					packets[i] = sent{server, m.short(server, streamOf(0, uint64(i)*(size-46), make([]byte, size-1-8-4-16-17), false))}
					if forged {
						packets[i].b[600]++
					}
				}
				s := m.segment(packets[0])
				least := int64(1 << 62)
				for b.Loop() {
					begin := processorTime()
					for i, p := range packets {
						s.Payload = p.b
						l.d.Datagram(s, now, now)
						if i%lot == lot-1 {
							l.d.Flush()
						}
					}
					least = min(least, processorTime()-begin)
					c := l.d.conns[1][0] // the same stream again
					c.streams, c.spaces[server][application].expect = nil, 0
				}
				if (l.d.Stats.Refused > 0) != forged {
					b.Fatalf("%+v", l.d.Stats)
				}
				each := float64(least) / float64(len(packets))
				b.ReportMetric(each, "ns/packet")
				b.ReportMetric(size*8/each, "Gbit/s")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
