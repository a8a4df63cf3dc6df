package reassembly

import (
	"hash/maphash"
	"math"
	"slices"

	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// A branch is a way through the copies of a place: up to its end, the last part of it those of a segment.
type branch struct {
	from *branch
	of   *segment
	end  int    // bytes
	hash uint64 // of these, as they are cut
}

const (
	// What a way through copies costs, in steps that are unlikely: a segment breaks off another or begins within it, or is not like the one
	// before, or the first not like those that were authenticated.
	maxCost     = 12
	maxBranches = 512
	// What a branch costs, in bytes that are opened, and each segment that is looked at for it.
	perBranch  = 512
	perOverlap = 8
)

// unlike tells how much a packet is unlike those that were authenticated, or one before it.
func (c Class) unlike(o Class) int {
	n := 0
	if o.Known && c.Known && c.TTL != o.TTL {
		n++
	}
	if o.Known && c.Known && c.Sum != o.Sum {
		n += 2
	}
	return n
}

// bytes returns those of a branch, from a place on.
func (b *branch) bytes(at uint32) []byte {
	all := make([]byte, b.end)
	for ; b.from != nil; b = b.from {
		copy(all[b.from.end:b.end], b.of.from(at+uint32(b.from.end)))
	}
	return all
}

// alternatives calls each with the different bytes that the copies of a place give, n of them from at on, the likeliest first, until it
// returns false: segments that follow on each other before such as break each other off, and those like the packets that were
// authenticated before others. Between segments that are as likely the last ones come first.
func (r *Reassembler) alternatives(d *Direction, usual Class, at uint32, n int, each func(b []byte) bool) {
	var queue [maxCost + 1][]*branch
	queue[0] = []*branch{{}}
	seen, whole := make(map[uint64]struct{}), make(map[uint64]struct{})
	var over []*segment
	limit := maxBranches
	if d.deep {
		limit = 8 * maxBranches
	}
	for cost, made := 0, 0; cost <= maxCost; {
		q := queue[cost]
		if len(q) == 0 {
			cost++
			continue
		}
		b := q[len(q)-1]
		queue[cost] = q[:len(q)-1]
		if b.end == n {
			all := b.bytes(at)
			sum := maphash.Bytes(r.seed, all)
			if _, there := whole[sum]; there {
				continue
			}
			if whole[sum] = struct{}{}; !each(all) {
				return
			}
			continue
		}
		if _, there := seen[b.hash]; there {
			continue
		}
		seen[b.hash] = struct{}{}
		if made >= limit || d.credit < 0 {
			continue // those that are whole come yet
		}
		place, looked := at+uint32(b.end), 0
		over = over[:0]
		for i := d.held.near(place); i < len(d.held.segs) && !After(d.held.segs[i].seq, place); i++ {
			if looked++; d.held.segs[i].from(place) != nil {
				over = append(over, d.held.segs[i])
			}
		}
		// The largest are tried first: a real segment is rarely the smallest.
		slices.SortStableFunc(over, func(a, b *segment) int { return int(int32(a.end() - b.end())) })
		for _, s := range over {
			more := 0
			if b.from != nil {
				more = s.class.unlike(b.of.class)
				if s.seq != place {
					more++
				}
			} else if more = s.class.unlike(usual); !usual.Known && s.class.Known && s.class.Sum != packet.SumGood {
				more += 2
			}
			if cost+more > maxCost {
				continue
			}
			grow := func(end int, more int) {
				if end = min(end, n); cost+more <= maxCost && made < 2*limit {
					made++
					const odd = 0x9e3779b97f4a7c15
					x := &branch{from: b, of: s, end: end, hash: (b.hash+maphash.Bytes(r.seed, s.from(place)[:end-b.end]))*odd + uint64(end)}
					d.credit -= perBranch + (end-b.end)/4
					queue[cost+more] = append(queue[cost+more], x)
				}
			}
			last := place
			for i := d.held.near(place); i < len(d.held.segs); i++ {
				o := d.held.segs[i]
				if !After(s.end(), o.seq) || !After(at+uint32(n), o.seq) {
					break
				}
				if looked++; !After(o.seq, last) {
					continue
				}
				if x := s.from(o.seq); same(x, o.buf) < min(len(x), len(o.buf)) {
					last = o.seq
					grow(int(last-at), more+1)
				}
			}
			grow(int(s.end()-at), more)
		}
		d.credit -= looked * perOverlap
	}
}

// A chain is what a direction may have begun with, record by record, as far as they are in plain text. Only what matters is told apart:
// hellos by what follows from them, other records by their headers.
type chain struct {
	origin  uint32
	bytes   []byte
	hello   uint64 // what follows from its hellos
	cost    int
	changed bool // ChangeCipherSpec was seen
}

const (
	maxChains = 24
	maxHellos = 8
	maxWalk   = 96
)

// chains returns what a direction may have begun with up to where its bytes are protected, or are not there, of at most so many bytes.
func (r *Reassembler) chains(p *Pair, d *Direction, side uint8, origins []uint32, most int) (all []chain) {
	usual := p.Usual[side]
	type state struct {
		at, origin uint32
		hello      uint64
		changed    bool
	}
	seen := make(map[state]struct{})
	var open []chain
	for i, origin := range origins {
		open = append(open, chain{origin: origin, cost: i})
	}
	for walked := 0; len(open) > 0 && len(all) < maxChains && walked < maxWalk && d.credit >= 0; walked++ {
		best := 0
		for i := range open {
			if open[i].cost < open[best].cost {
				best = i
			}
		}
		c := open[best]
		open = slices.Delete(open, best, best+1)
		at := c.origin + uint32(len(c.bytes))
		s := state{at, c.origin, c.hello, c.changed}
		if _, there := seen[s]; there {
			continue
		}
		seen[s] = struct{}{}
		left := int(d.held.covered(at, most-len(c.bytes), math.MaxUint64) - at)
		if left < 5 {
			all = append(all, c)
			continue
		}
		var heads [][]byte
		ended, order := false, 0
		r.alternatives(d, usual, at, min(left, 9), func(head []byte) bool {
			// 20 to 23: ChangeCipherSpec, an alert, a record of the handshake, and one that is protected.
			n := frame(head)
			if n == 0 || slices.ContainsFunc(heads, func(o []byte) bool { return sameHead(o, head, side) }) {
				return len(heads) < maxHellos
			}
			heads = append(heads, head)
			order++
			greets := looksLikeHello(head, side)
			if head[0] == 23 || c.changed && !greets {
				if !ended {
					all = append(all, c)
				}
				ended = true
				return len(heads) < maxHellos
			}
			next := c
			next.cost += order - 1
			if n > left {
				if !ended {
					all = append(all, next)
				}
				ended = true
				return len(heads) < maxHellos
			}
			b := r.withHead(d, usual, at, n, head)
			next.changed = next.changed || head[0] == 20
			next.bytes = append(slices.Clip(c.bytes), b...)
			if !greets || len(head) < 9 || 9+size24(head) > n {
				open = append(open, next)
				return len(heads) < maxHellos
			}
			var hellos []uint64
			r.alternatives(d, usual, at, 9+size24(head), func(hello []byte) bool {
				if !sameHead(hello[:9], head, side) {
					return true
				}
				is, ok := r.hello(hello, side)
				if !ok || slices.Contains(hellos, is) {
					return len(hellos) < maxHellos
				}
				x := next
				x.bytes = slices.Clone(next.bytes)
				copy(x.bytes[len(c.bytes):], hello)
				x.hello = c.hello*31 + is
				x.cost += len(hellos)
				hellos = append(hellos, is)
				open = append(open, x)
				return len(hellos) < maxHellos
			})
			if len(hellos) == 0 && c.changed && !ended { // it is protected, and looks so by chance
				all, ended = append(all, c), true
			}
			return len(heads) < maxHellos
		})
	}
	return all
}

// withHead returns the likeliest record with a header.
func (r *Reassembler) withHead(d *Direction, usual Class, at uint32, n int, head []byte) (found []byte) {
	tried := 0
	r.alternatives(d, usual, at, n, func(b []byte) bool {
		if tried++; slices.Equal(b[:min(n, len(head))], head[:min(n, len(head))]) {
			found = b
		}
		return found == nil && tried < 4*maxHellos
	})
	if found == nil {
		found = make([]byte, n)
		d.credit -= d.paint(r.arrange(d, usual, at, at+uint32(n), d.policy), at, found)
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

// hello returns a number for what follows from a hello. It returns false if it is none.
func (r *Reassembler) hello(b []byte, side uint8) (uint64, bool) {
	what, ok := tls.Salient(b[5:], side)
	if !ok {
		return 0, false
	}
	return maphash.Bytes(r.seed, what), true
}
