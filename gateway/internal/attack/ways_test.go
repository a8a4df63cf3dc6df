package attack

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/sealane/sealane/gateway/internal/capture"
)

// mixed returns frames with forged copies of some of a server's segments, before or after the real ones.
func (v *victim) mixed(r *rand.Rand, first, segments, copies int) (frames []capture.Frame) {
	n := 0
	for i := range v.segs {
		s := &v.segs[i]
		var before, after []capture.Frame
		if s.Side != v.client && len(s.Payload) > 0 {
			if n >= first && n < first+segments {
				for range copies {
					f := like(s)
					f.data = bytes.Clone(f.data)
					f.data[r.IntN(len(f.data))] ^= byte(1 + r.IntN(255))
					x := v.forge(v.frames[i].Time, f)
					if r.IntN(2) == 0 {
						before = append(before, x)
					} else {
						after = append(after, x)
					}
				}
			}
			n++
		}
		frames = append(append(append(frames, before...), v.frames[i]), after...)
	}
	return frames
}

// A record is found among all candidates if each of its segments has one or two forged copies. With more copies
// than the work limit allows, the affected records are lost, and counted. The records before and after them are
// delivered.
func TestWays(t *testing.T) {
	const record = 1 << 14
	for _, name := range victims {
		v := load(t, name)
		for _, c := range []struct {
			segments, copies int
			records          int // that may be lost
		}{{4, 1, 0}, {8, 2, 0}, {12, 1, 0}, {12, 2, 0}, {16, 2, 0}, {1000, 1, 0}, {1000, 2, 0}, {10, 3, 0}, {5, 12, 2}} {
			for seed := range uint64(3) {
				r := rand.New(rand.NewPCG(seed, uint64(c.segments)))
				got, w := run(v, v.mixed(r, 3, c.segments, c.copies), nil)
				missing := v.bytes - v.authentic(t, "many ways", got)
				if missing > c.records*record {
					t.Errorf("%s, %d copies of %d segments: %d bytes of %d are missing", name, c.copies, c.segments, missing, v.bytes)
				}
				if st := &w.Stats.TLS; missing > 0 && (st.LostBytes < uint64(missing) || st.BadRecords == 0) {
					t.Errorf("%s, %d copies of %d segments: %d bytes are missing, counted are %d in %d records",
						name, c.copies, c.segments, missing, st.LostBytes, st.BadRecords)
				}
			}
		}
	}
}

// More copies cost records; otherwise this test could not fail.
func TestWaysCanFail(t *testing.T) {
	v := load(t, "s-aes256")
	r := rand.New(rand.NewPCG(1, 2))
	got, w := run(v, v.mixed(r, 3, 1000, 12), nil)
	if n := v.authentic(t, "too many ways", got); n > v.bytes/2 || w.Stats.TLS.LostBytes < uint64(v.bytes-n) {
		t.Errorf("%d bytes of %d, %d counted as lost", n, v.bytes, w.Stats.TLS.LostBytes)
	}
}

// A ClientHello in two segments is read although an attacker sent all of the first one earlier, with another
// continuation. The first segment is then a copy of a held one, and the hello begins in a segment that does not look
// like one.
func TestHelloInTwo(t *testing.T) {
	for _, name := range victims {
		v := load(t, name)
		first := v.firstData(v.client)
		for cut := 1; cut < len(v.segs[first].Payload); cut += 1 + cut/12*40 {
			var frames []capture.Frame
			for i, f := range v.frames {
				if i != first {
					frames = append(frames, f)
					continue
				}
				one, two := like(&v.segs[i]), like(&v.segs[i])
				forged := like(&v.segs[i])
				copy(forged.data[cut:], junk(forged.data[cut:]))
				one.data, two.seq, two.data = one.data[:cut], two.seq+uint32(cut), two.data[cut:]
				for _, x := range []forgery{forged, one, two} {
					frames = append(frames, v.forge(f.Time, x))
				}
			}
			if got, w := run(v, frames, nil); v.authentic(t, "a hello in two", got) != v.bytes {
				t.Errorf("%s, %d bytes and the rest: not all came out: %+v", name, cut, w.Stats)
			}
		}
	}
}
