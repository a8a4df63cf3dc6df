package reassembly

import (
	"bytes"
	"hash/maphash"
	"math"
	"slices"

	"github.com/sealane/sealane/gateway/internal/held"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// A chain is a possible beginning of a direction: a sequence of unprotected records. Chains differ only in relevant
// properties: those of hellos that determine keys and epochs, and the headers of other records.
type chain struct {
	fork
	bytes []byte
	cost  int
}

// A fork has the properties of a chain on which its continuations depend.
type fork struct {
	origin, end uint32
	hello       uint64 // hash of its hellos' relevant properties
	changed     bool   // it has a ChangeCipherSpec
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
		open = append(open, chain{fork: fork{origin: origin, end: origin}, cost: i})
	}
	for walked := 0; len(open) > 0 && len(all) < maxChains && walked < maxWalk && d.credit >= 0; walked++ {
		slices.SortStableFunc(open, func(a, b chain) int { return a.cost - b.cost })
		c := open[0]
		open = open[1:]
		if seen[c.fork] {
			continue
		}
		seen[c.fork] = true
		at := c.end
		left := int(d.held.Covered(at, maxStart-len(c.bytes), math.MaxUint64) - at)
		if left < 5 {
			all = append(all, c)
			continue
		}
		ends := false
		heads := held.Set{}
		says := func(head []byte) bool { return tls.Frame(head) > 0 && heads.Add(r.header(head, side)) }
		for order, head := range r.some(d, usual, at, min(left, 9), maxHellos, deep, says) {
			n, greets := tls.Frame(head), looksLikeHello(head, side)
			if head[0] == 23 || c.changed && !greets || n > left {
				ends = true
				continue
			}
			next := c
			next.cost += order
			next.changed = next.changed || head[0] == 20
			begin := head[:min(n, len(head))]
			likeliest := r.some(d, usual, at, n, 1, deep, func(b []byte) bool { return bytes.HasPrefix(b, begin) })
			if len(likeliest) == 0 {
				ends = true
				continue
			}
			next.bytes, next.end = r.make.Join(c.bytes, likeliest[0]), c.end+uint32(n)
			if !greets || len(head) < 9 || 9+size24(head) > n {
				open = append(open, next)
				continue
			}
			var follows []uint64 // hashes of the relevant properties of each hello
			differs := func(hello []byte) bool {
				what, ok := tls.Salient(hello[5:], side)
				is := maphash.Bytes(r.make.Seed, what)
				if !ok || r.header(hello[:9], side) != r.header(head, side) || slices.Contains(follows, is) {
					return false
				}
				follows = append(follows, is)
				return true
			}
			for i, hello := range r.some(d, usual, at, 9+size24(head), maxHellos, deep, differs) {
				x := next
				x.bytes = r.make.Join(next.bytes, nil)
				copy(x.bytes[len(c.bytes):], hello)
				x.hello = c.hello*31 + follows[i]
				x.cost += i
				open = append(open, x)
			}
			ends = ends || len(follows) == 0 && c.changed // a protected record, which resembles a hello by chance
		}
		if ends {
			all = append(all, c)
		}
	}
	return all
}

// size24 returns the length of the message that starts a record.
func size24(head []byte) int { return int(head[6])<<16 + int(head[7])<<8 + int(head[8]) }

// header returns a hash of a record's header, and of the message header if it is a hello.
func (r *Reassembler) header(b []byte, side uint8) uint64 {
	n := 5
	if looksLikeHello(b, side) {
		n = len(b)
	}
	return maphash.Bytes(r.make.Seed, b[3:n])<<8 | uint64(b[0])
}
