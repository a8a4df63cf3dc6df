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
	from int // number of the branch before, or itself
	of   seat
	end  int    // bytes
	hash uint64 // of these, as they are cut
}

// ways is what a walk through copies needs, used again by the next one.
type ways struct {
	queue       [maxCost + 1][]int // numbers of branches
	all         []branch
	seen, whole set
	over        []seat
}

// begins returns ways for a walk: walks may be in each other.
func (r *Reassembler) begins() *ways {
	n := len(r.ways)
	if n == 0 {
		return &ways{seen: set{}, whole: set{}}
	}
	w := r.ways[n-1]
	r.ways = r.ways[:n-1]
	for i := range w.queue {
		w.queue[i] = w.queue[i][:0]
	}
	w.all, w.seen, w.whole = w.all[:0], w.seen.reset(), w.whole.reset()
	return w
}

// A set is one of hashes.
type set map[uint64]struct{}

// reset empties a set. What many have made large does not stay so: the next one would pay for it.
func (s set) reset() set {
	if len(s) > 64 {
		return set{}
	}
	clear(s)
	return s
}

// add tells whether a hash is new.
func (s set) add(hash uint64) bool {
	n := len(s)
	s[hash] = struct{}{}
	return len(s) > n
}

// An arena is memory for bytes that one search needs: who keeps it as it was gives back what was taken since. What is taken is not cleared.
type arena []byte

const arenaBlock = 256 << 10

func (a *arena) take(n int) []byte {
	used := len(*a)
	if cap(*a)-used < n {
		*a, used = make([]byte, 0, max(n, arenaBlock)), 0
	}
	*a = (*a)[:used+n]
	return (*a)[used : used+n : used+n]
}

// join returns two pieces in a row.
func (a *arena) join(x, y []byte) []byte {
	b := a.take(len(x) + len(y))
	copy(b[copy(b, x):], y)
	return b
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
func (w *ways) bytes(b branch, into *arena, at uint32) []byte {
	all := into.take(b.end)
	for b.end > 0 {
		before := w.all[b.from]
		copy(all[before.end:b.end], b.of.from(at+uint32(before.end)))
		b = before
	}
	return all
}

// alternatives calls each with the different bytes that the copies of a place give, n of them from at on, the likeliest first, until it
// returns false: segments that follow on each other before such as break each other off, and those like the packets that were
// authenticated before others. Between segments that are as likely the last ones come first. The bytes are the arena's.
func (r *Reassembler) alternatives(d *Direction, usual Class, at uint32, n int, each func(b []byte) bool) {
	w := r.begins()
	defer func() { r.ways = append(r.ways, w) }()
	w.all, w.queue[0] = append(w.all, branch{}), append(w.queue[0], 0)
	limit := maxBranches
	if d.deep {
		limit = 8 * maxBranches
	}
	for cost, made := 0, 0; cost <= maxCost; {
		q := w.queue[cost]
		if len(q) == 0 {
			cost++
			continue
		}
		from := q[len(q)-1]
		b := w.all[from]
		w.queue[cost] = q[:len(q)-1]
		if b.end == n {
			if all := w.bytes(b, &r.arena, at); w.whole.add(maphash.Bytes(r.seed, all)) && !each(all) {
				return
			}
			continue
		}
		if !w.seen.add(b.hash) || made >= limit || d.credit < 0 {
			continue // those that are whole come yet
		}
		place, looked := at+uint32(b.end), 0
		over := w.over[:0]
		for _, s := range d.held.at(place) {
			if looked++; s.from(place) != nil {
				over = append(over, s)
			}
		}
		w.over = over
		// The largest are tried first: a real segment is rarely the smallest.
		slices.SortStableFunc(over, func(a, b seat) int { return int(int32(a.end - b.end)) })
		for _, s := range over {
			more, class := 0, s.Class()
			if b.end > 0 {
				more = class.unlike(b.of.Class())
				if s.seq != place {
					more++
				}
			} else if more = class.unlike(usual); !usual.Known && class.Known && class.Sum != packet.SumGood {
				more += 2
			}
			if cost+more > maxCost {
				continue
			}
			grow := func(end int, more int) {
				if end = min(end, n); cost+more <= maxCost && made < 2*limit {
					made++
					const odd = 0x9e3779b97f4a7c15
					hash := b.hash + maphash.Bytes(r.seed, s.from(place)[:end-b.end])
					d.credit -= perBranch + (end-b.end)/4
					w.queue[cost+more] = append(w.queue[cost+more], len(w.all))
					w.all = append(w.all, branch{from, s, end, hash*odd + uint64(end)})
				}
			}
			last := place
			for _, o := range d.held.segs[d.held.find(place+1):] {
				if !After(s.end, o.seq) || !After(at+uint32(n), o.seq) {
					break
				}
				if looked++; o.seq == last {
					continue
				}
				if x := s.from(o.seq); same(x, o.buf) < min(len(x), len(o.buf)) {
					last = o.seq
					grow(int(last-at), more+1)
				}
			}
			grow(int(s.end-at), more)
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

// state returns a number for what follows from a chain, up to a place.
func (c *chain) state(at uint32) uint64 {
	const odd = 0x9e3779b97f4a7c15
	n := (uint64(at)<<32|uint64(c.origin))*odd ^ c.hello
	if c.changed {
		n = ^n
	}
	n *= odd
	return n ^ n>>29
}

const (
	maxChains = 24
	maxHellos = 8
	maxWalk   = 96
)

// chains returns the possible beginnings of a direction, up to protected or missing bytes, of at most `most` bytes.
func (r *Reassembler) chains(p *Pair, d *Direction, side uint8, origins []uint32, most int) (all []chain) {
	usual := p.Usual[side]
	w := r.begins()
	defer func() { r.ways = append(r.ways, w) }()
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
		if !w.seen.add(c.state(at)) {
			continue
		}
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
			next.bytes = r.arena.join(c.bytes, b)
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
				x.bytes = r.arena.join(next.bytes, nil)
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
		found = r.arena.take(n)
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
