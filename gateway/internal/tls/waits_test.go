package tls

import (
	"math/rand/v2"
	"testing"

	"github.com/sealane/sealane/gateway/internal/seed"
)

// Bytes that are noted again keep their place, and all bytes of both directions are accounted for.
func TestNote(t *testing.T) {
	var c Conn
	for i := range 10 {
		c.note(uint8(i%2), 1+i, int64(i))
	}
	want := append([]part(nil), c.waits.order...)
	c.drop(1)
	for i := 1; i < 10; i += 2 {
		c.note(1, 1+i, int64(i))
	}
	for i := range want {
		if c.waits.order[i] != want[i] {
			t.Fatalf("%v, and it was %v", c.waits.order, want)
		}
	}
	r := rand.New(rand.NewPCG(seed.Of(t), 0))
	for range 20 {
		var c Conn
		var sum, got [2]int
		memory := 0
		for i := range 2000 {
			side := uint8(r.IntN(2))
			if r.IntN(200) == 0 {
				memory -= len(c.waitsOrder()) * partBytes
				c.drop(side)
				memory += len(c.waitsOrder()) * partBytes
				sum[side] = 0
				continue
			}
			n := 1 + r.IntN(9)
			sum[side] += n
			memory += c.note(side, n, int64(i-r.IntN(50)))
		}
		for _, p := range c.waitsOrder() {
			got[p.side] += int(p.n)
		}
		if got != sum || memory != len(c.waitsOrder())*partBytes || len(c.waitsOrder()) > maxParts+2 {
			t.Fatalf("%d bytes of %d, %d parts, %d bytes of memory", got, sum, len(c.waitsOrder()), memory)
		}
	}
}

func (c *Conn) waitsOrder() []part {
	if c.waits == nil {
		return nil
	}
	return c.waits.order
}
