package kernel

import (
	"testing"
	"time"
	"unsafe"
)

// directions calls f for sealing and opening, apart and in place.
func directions(p *packet, f func()) {
	for i := range 4 {
		p.open, p.inPlace = i&1 != 0, i&2 != 0
		f()
	}
}

func TestAllLengths(t *testing.T) {
	forEach(t, func(t *testing.T, c *primitive, level Level) {
		r, b := newRand(), newBench(t)
		for n := range 1101 {
			p := c.newPacket(r, n, n%33)
			directions(p, func() {
				for _, p.offset = range []int{-1, 0} {
					if !b.leftOut() {
						b.must(t, c.atLevel(level), p)
					}
				}
			})
		}
	})
}

func TestAllAlignments(t *testing.T) {
	forEach(t, func(t *testing.T, c *primitive, level Level) {
		r, b := newRand(), newBench(t)
		for _, n := range []int{0, 1, 15, 16, 17, 63, 64, 65, 200, 320, 576, 1023, 1420, 2080} {
			for offset := range 64 {
				p := c.newPacket(r, n, 13)
				p.offset = offset
				directions(p, func() {
					if !b.leftOut() {
						b.must(t, c.atLevel(level), p)
					}
				})
			}
		}
	})
}

func TestAssociatedData(t *testing.T) {
	forEach(t, func(t *testing.T, c *primitive, level Level) {
		r, b := newRand(), newBench(t)
		lengths := []int{80, 95, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1000, 1024, 2047, 2048, 4000, 5001, maxAD}
		for n := range 66 {
			lengths = append(lengths, n)
		}
		for _, ad := range lengths {
			for _, n := range []int{0, 1, 16, 64, 100, 600, 1420} {
				p := c.newPacket(r, n, ad)
				directions(p, func() { b.must(t, c.atLevel(level), p) })
			}
		}
	})
}

func TestRandomLengths(t *testing.T) {
	cases := 400
	if testing.Short() || raceEnabled {
		cases = 40
	}
	forEach(t, func(t *testing.T, c *primitive, level Level) {
		r, b := newRand(), newBench(t)
		for i, begin := 0, time.Now(); i < cases || time.Since(begin) < *long; i++ {
			p := c.newPacket(r, r.IntN(1<<(1+r.IntN(18))), r.IntN(1<<(1+r.IntN(12))))
			p.open, p.inPlace, p.offset = r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(65)-1
			for left := len(p.text) / 64; r.IntN(4) != 0; {
				part := r.IntN(left + 1)
				p.parts = append(p.parts, 64*part)
				left -= part
			}
			b.must(t, c.atLevel(level), p)
		}
	})
}

// TestParts feeds short packets in two and three parts, cut at every block.
func TestParts(t *testing.T) {
	forEach(t, func(t *testing.T, c *primitive, level Level) {
		r, b := newRand(), newBench(t)
		for _, n := range []int{0, 5, 64, 191, 1023, 1024, 2112} {
			for first := 0; first <= n; first += 64 {
				for second := 0; first+second <= n; second += 64 * (1 + n/512) {
					p := c.newPacket(r, n, 20)
					p.parts = []int{first, second}
					directions(p, func() { b.must(t, c.atLevel(level), p) })
				}
			}
		}
	})
}

// TestStateIsShared feeds a packet to all levels in turn: the state between parts means the same to each.
func TestStateIsShared(t *testing.T) {
	r, b := newRand(), newBench(t)
	for _, c := range []*primitive{ofChaCha20, ofAESGCM} {
		var levels []Level
		c.forEachLevel(t, func(t *testing.T, level Level) { levels = append(levels, level) })
		if len(levels) == 0 { // -skip has left them out
			continue
		}
		for range 200 {
			p := c.newPacket(r, 64*16+r.IntN(1024), r.IntN(40))
			p.open = r.IntN(2) == 0
			for range 16 {
				p.parts = append(p.parts, 64)
			}
			b.must(t, func(a *PacketArgs) {
				level, of := levels[r.IntN(len(levels))], *a
				if c.gcm && a.Flags&FlagSetup == 0 { // keys are a level's own
					var key GCMKey
					p.setup(c.atLevel(level), unsafe.Pointer(&key))
					of.Key = unsafe.Pointer(&key)
				}
				c.run(level, &of)
			}, p)
		}
	}
}

// TestEdgeBytes uses keys, nonces and texts of equal bytes, and texts whose ciphertext is all ones or zero.
func TestEdgeBytes(t *testing.T) {
	forEach(t, func(t *testing.T, c *primitive, level Level) {
		r, b := newRand(), newBench(t)
		set := func(p []byte, v byte) {
			for i := range p {
				p[i] = v
			}
		}
		for _, n := range []int{16, 17, 64, 128, 192, 256, 300, 512, 1024, 1420, 2048, 4096} {
			for _, v := range []byte{0, 0x7f, 0x80, 0xff} {
				p := c.newPacket(r, n, n%50)
				set(p.text, v)
				set(p.ad, v)
				directions(p, func() { b.must(t, c.atLevel(level), p) })
				set(p.key[:], v)
				directions(p, func() { b.must(t, c.atLevel(level), p) })
				set(p.nonce[:], v)
				directions(p, func() { b.must(t, c.atLevel(level), p) })
				p.open = true
				set(p.text, v)
				p.text, _ = p.want() // seals to all v
				directions(p, func() { b.must(t, c.atLevel(level), p) })
			}
		}
	})
}

// TestNonceInOutput has the output cover the nonce: it is read before anything is written.
func TestNonceInOutput(t *testing.T) {
	forEach(t, func(t *testing.T, c *primitive, level Level) {
		r := newRand()
		for _, n := range []int{12, 64, 100, 576, 1420, 5000, 64 << 10} {
			for _, at := range []int{0, (n - 12) / 2, n - 12} {
				p := c.newPacket(r, n, 16)
				p.j0 = false
				wantOut, wantTag := p.want()
				out, tag := make([]byte, n), [16]byte{}
				copy(out[at:], p.nonce[:12])
				var key GCMKey
				p.setup(c.atLevel(level), unsafe.Pointer(&key))
				c.run(level, &PacketArgs{
					Out: unsafe.Pointer(&out[0]), In: unsafe.Pointer(&p.text[0]), Bytes: uint64(n),
					AD: unsafe.Pointer(&p.ad[0]), ADBytes: 16, Key: unsafe.Pointer(&key), Nonce: unsafe.Pointer(&out[at]),
					Tag: unsafe.Pointer(&tag), Total: uint64(n), Flags: p.flags() | FlagLast,
				})
				if string(out) != string(wantOut) || tag != wantTag {
					t.Fatalf("%d bytes with the nonce at %d differ", n, at)
				}
			}
		}
	})
}
