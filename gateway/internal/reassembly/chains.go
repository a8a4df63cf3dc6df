package reassembly

import (
	"hash/maphash"
	"math"
	"slices"

	"github.com/sealane/sealane/gateway/internal/held"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// A chain is what a direction may have begun with, record by record, as far as they are in plain text. Only what matters is told apart:
// hellos by what follows from them, other records by their headers.
type chain struct {
	origin  uint32
	bytes   []byte
	hello   uint64 // what follows from its hellos
	cost    int
	changed bool // ChangeCipherSpec was seen
}

// A fork is what decides about what follows from a chain.
type fork struct {
	at, origin uint32
	hello      uint64
	changed    bool
}

const (
	maxChains = 24
	maxHellos = 8
	maxWalk   = 96
)

// chains returns the possible beginnings of a direction, up to protected or missing bytes.
func (r *Reassembler) chains(p *Pair, d *Direction, side uint8, origins []uint32, deep bool) (all []chain) {
	usual := p.Usual[side]
	seen := map[fork]bool{}
	var open []chain
	for i, origin := range origins {
		open = append(open, chain{origin: origin, cost: i})
	}
	for walked := 0; len(open) > 0 && len(all) < maxChains && walked < maxWalk && d.credit >= 0; walked++ {
		slices.SortStableFunc(open, func(a, b chain) int { return a.cost - b.cost })
		c := open[0]
		open = open[1:]
		at := c.origin + uint32(len(c.bytes))
		is := fork{at, c.origin, c.hello, c.changed}
		if seen[is] {
			continue
		}
		seen[is] = true
		left := int(d.held.Covered(at, maxStart-len(c.bytes), math.MaxUint64) - at)
		if left < 5 {
			all = append(all, c)
			continue
		}
		var heads [][]byte
		ended, order := false, 0
		end := func(c chain) bool { // once
			if !ended {
				all, ended = append(all, c), true
			}
			return len(heads) < maxHellos
		}
		r.alternatives(d, usual, at, min(left, 9), deep, func(head []byte) bool {
			// 20 to 23: ChangeCipherSpec, an alert, a record of the handshake, and one that is protected.
			n := tls.Frame(head)
			if n == 0 || slices.ContainsFunc(heads, func(o []byte) bool { return sameHead(o, head, side) }) {
				return len(heads) < maxHellos
			}
			heads = append(heads, head)
			order++
			greets := looksLikeHello(head, side)
			if head[0] == 23 || c.changed && !greets {
				return end(c)
			}
			next := c
			next.cost += order - 1
			if n > left {
				return end(next)
			}
			b := r.withHead(d, usual, at, n, head, deep)
			next.changed = next.changed || head[0] == 20
			next.bytes = r.make.Join(c.bytes, b)
			if !greets || len(head) < 9 || 9+size24(head) > n {
				open = append(open, next)
				return len(heads) < maxHellos
			}
			var hellos []uint64
			r.alternatives(d, usual, at, 9+size24(head), deep, func(hello []byte) bool {
				if !sameHead(hello[:9], head, side) {
					return true
				}
				what, ok := tls.Salient(hello[5:], side)
				is := maphash.Bytes(r.make.Seed, what) // a number for what follows from it
				if !ok || slices.Contains(hellos, is) {
					return len(hellos) < maxHellos
				}
				x := next
				x.bytes = r.make.Join(next.bytes, nil)
				copy(x.bytes[len(c.bytes):], hello)
				x.hello = c.hello*31 + is
				x.cost += len(hellos)
				hellos = append(hellos, is)
				open = append(open, x)
				return len(hellos) < maxHellos
			})
			if len(hellos) == 0 && c.changed { // it is protected, and looks so by chance
				return end(c)
			}
			return len(heads) < maxHellos
		})
	}
	return all
}

// withHead returns the likeliest record with a header: a gateway that is closed passes it.
func (r *Reassembler) withHead(d *Direction, usual held.Class, at uint32, n int, head []byte, deep bool) (found []byte) {
	tried := 0
	r.alternatives(d, usual, at, n, deep, func(b []byte) bool {
		if tried++; slices.Equal(b[:min(n, len(head))], head[:min(n, len(head))]) {
			found = b
		}
		return found == nil && tried < 4*maxHellos
	})
	if found == nil {
		found = r.make.Take(n)
		r.paint(d, usual, d.policy, at, found)
		copy(found, head)
	}
	return found
}

// size24 returns how long the message is with whose header a record begins.
func size24(head []byte) int { return int(head[6])<<16 + int(head[7])<<8 + int(head[8]) }

// sameHead tells whether two headers of records say the same, and so do those of their messages if they are hellos.
func sameHead(a, b []byte, side uint8) bool {
	n := 5
	if len(a) >= 6 && len(b) >= 6 && (looksLikeHello(a, side) || looksLikeHello(b, side)) {
		n = min(len(a), len(b))
	}
	return a[0] == b[0] && slices.Equal(a[3:n], b[3:n])
}
