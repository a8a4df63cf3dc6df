package attack

import (
	"math/rand/v2"
	"testing"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/traffic"
)

// download is a connection whose server sends the given number of bytes, in segments of mss.
func download(t testing.TB, bytes, mss int) *victim {
	t.Helper()
	r := rand.New(rand.NewPCG(505, uint64(bytes)))
	s := traffic.NewSession(traffic.AES128, r)
	v := &victim{name: "a download", keyLog: s.KeyLog()}
	c := traffic.NewConn(11, &v.frames)
	c.MSS = mss
	c.Handshake(s, 1000)
	data := make([]byte, bytes)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	c.Send(traffic.Client, s.Data(traffic.Client, []byte("GET / HTTP/1.1\r\n\r\n"), 1<<14))
	c.Send(traffic.Server, s.Data(traffic.Server, data, 1<<14))
	c.Send(traffic.Client, s.Data(traffic.Client, []byte("GET /again HTTP/1.1\r\n\r\n"), 1<<14))
	c.Close()
	v.know(t)
	return v
}

// An attacker knows where data will come, and sends much other data there at once. Once he stops, all complete
// records are read. The exception is a place of which 64 copies came before the real one, because at most 64 copies
// are held.
func TestBurst(t *testing.T) {
	v := download(t, 505<<10, 1400)
	const segments = 200 // 280 KB
	first, last := v.server[60], v.server[60+segments-1]
	for name, change := range wrong {
		for _, c := range []struct{ before, after, most int }{
			{1, 0, 0}, {4, 0, 0}, {16, 0, 0}, {40, 0, 0}, {0, 4, 0}, {0, 40, 0}, {1, 1, 0},
			{2, 2, 0}, {7, 3, 0}, {20, 20, 0}, {40, 40, 0}, {62, 62, 0}, {64, 1, segments * 1400},
		} {
			r := rand.New(rand.NewPCG(uint64(c.before), uint64(c.after)))
			forged := func(copies int) (all []forgery) {
				for range copies {
					for _, i := range v.server[60:][:segments] {
						f := like(&v.segs[i])
						for k := range f.data {
							f.data[k] = byte(r.Uint32())
						}
						change(&f)
						all = append(all, f)
					}
				}
				return all
			}
			s := v.script()
			s.before[first], s.after[last] = forged(c.before), forged(c.after)
			if c.after > 0 {
				// The next data is missing until all of that has arrived.
				s.late = map[int]int{first: last}
			}
			got, w := run(v, s.frames(), nil)
			lost := v.bytes - v.authentic(t, name, got)
			// Copies with bad checksums are not held, because no receiver accepts them. The first segment is not checked.
			if bad := name == "bad TCP checksum" || name == "bad IP checksum"; bad != (w.Stats.BadSums >= uint64((c.before+c.after)*(segments-12))) {
				t.Errorf("%s, %d copies before and %d after: %d were dropped for their checksum", name, c.before, c.after, w.Stats.BadSums)
			}
			if name != "all good" {
				c.most = 0
			}
			// The next record at the beginning may be lost as well, and the one in which it ended.
			if c.most > 0 {
				c.most += 2 << 14
			}
			if lost > c.most {
				t.Errorf("%s, %d copies before and %d after: %d of %d bytes are missing: deferred %d, evicted %d",
					name, c.before, c.after, lost, v.bytes, w.Stats.Deferred, w.Stats.Stats.Evicted)
			}
		}
	}
}

// One segment is lost, and sent again after the rest of the window has arrived.
func TestWindow(t *testing.T) {
	for _, c := range []struct{ ahead, mss int }{
		{1 << 20, 1400}, {4 << 20, 1400}, {4 << 20, 9000}, {16 << 20, 9000}, {1 << 20, 100},
	} {
		v := download(t, c.ahead+40*c.mss+1<<17, c.mss)
		lost := v.server[20]
		last := lost
		for int(v.segs[last].Seq-v.segs[lost].Seq) <= c.ahead || v.segs[last].Side == v.client {
			last++
		}
		s := v.script()
		s.late = map[int]int{lost: last}
		got, w := run(v, s.frames(), nil)
		if n := v.authentic(t, "a lost segment", got); n != v.bytes {
			t.Errorf("%d bytes after a hole, in segments of %d: %d of %d are missing: evicted %d, lost %d",
				c.ahead, c.mss, v.bytes-n, v.bytes, w.Stats.Stats.Evicted, w.Stats.TLS.LostBytes)
		}
	}
}

// A sender may split hellos into any number of segments.
func TestSmallSegments(t *testing.T) {
	for _, name := range victims {
		v := load(t, name)
		for _, side := range []uint8{0, 1} {
			first := v.firstData(side ^ v.client)
			var frames []capture.Frame
			for i, f := range v.frames {
				if s := &v.segs[i]; s.Side == side^v.client && i >= first && i < first+10 && s.Flags&packet.SYN == 0 && len(s.Payload) > 0 {
					for k := range s.Payload {
						x := like(s)
						x.seq, x.data = s.Seq+uint32(k), x.data[k:k+1]
						frames = append(frames, v.forge(f.Time, x))
					}
					continue
				}
				frames = append(frames, f)
			}
			got, w := run(v, frames, nil)
			if n := v.authentic(t, "one byte at a time", got); n != v.bytes {
				t.Errorf("%s, side %d: %d bytes of %d: evicted %d", name, side, n, v.bytes, w.Stats.Stats.Evicted)
			}
		}
	}
}
