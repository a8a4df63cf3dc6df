package held

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/sealane/sealane/gateway/internal/packet"
)

// A Maker makes bytes of segments. It belongs to one core.
type Maker struct {
	Arena
	Seed maphash.Seed
	list []Seat
	ways ways // of the last walk
}

// A branch is a way through the copies of a place: up to its end, the last part of it those of a segment.
type branch struct {
	from int // number of the branch before, or itself
	of   Seat
	end  int    // bytes
	hash uint64 // of these, as they are cut
}

// ways is what a walk through copies needs. The next one uses it again, so a walk has to end before.
type ways struct {
	queue       [maxCost + 1][]int // numbers of branches
	all         []branch
	seen, whole Set
	over        []Seat
}

// A Set is one of hashes.
type Set map[uint64]struct{}

// reset empties a Set. What many have made large does not stay so: the next one would pay for it.
func (s Set) reset() Set {
	if s == nil || len(s) > 64 {
		return Set{}
	}
	clear(s)
	return s
}

// Add tells whether a hash is new.
func (s Set) Add(hash uint64) bool {
	n := len(s)
	s[hash] = struct{}{}
	return len(s) > n
}

// An Arena is memory for bytes that one search needs: who keeps it as it was gives back what was taken since. What is taken is not cleared.
type Arena []byte

// ArenaBlock is how much it takes at a time.
const ArenaBlock = 256 << 10

func (a *Arena) Take(n int) []byte {
	used := len(*a)
	if cap(*a)-used < n {
		*a, used = make([]byte, 0, max(n, ArenaBlock)), 0
	}
	*a = (*a)[:used+n]
	return (*a)[used : used+n : used+n]
}

// Join returns pieces in a row.
func (a *Arena) Join(x, y []byte) []byte {
	return append(append(a.Take(len(x) + len(y))[:0], x...), y...)
}

const (
	// What a way through copies costs, in steps that are unlikely: a segment breaks off another or begins within it, or is not like the one
	// before, or the first not like those that were authenticated.
	maxCost     = 12
	MaxBranches = 512
	// What a branch costs, in bytes that are opened, and each segment that is looked at for it.
	PerBranch  = 512
	PerOverlap = 8
)

// bytes returns those of a branch, from a place on.
func (w *ways) bytes(b branch, into *Arena, at uint32) []byte {
	all := into.Take(b.end)
	for b.end > 0 {
		before := w.all[b.from]
		copy(all[before.end:b.end], b.of.From(at+uint32(before.end)))
		b = before
	}
	return all
}

// Ways calls each with the different bytes that the copies of a place give, n of them from at on, the likeliest first, until it
// returns false: segments that follow on each other before such as break each other off, and those like the packets that were
// authenticated before others. Between segments that are as likely the last ones come first. The bytes are the Arena's. What
// it costs, in bytes that are opened, is taken from credit.
func (m *Maker) Ways(h *List, usual Class, at uint32, n int, many bool, credit *int, each func(b []byte) bool) {
	w := &m.ways
	for i := range w.queue {
		w.queue[i] = w.queue[i][:0]
	}
	w.all, w.seen, w.whole = w.all[:0], w.seen.reset(), w.whole.reset()
	w.all, w.queue[0] = append(w.all, branch{}), append(w.queue[0], 0)
	limit := MaxBranches
	if many {
		limit = 8 * MaxBranches
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
			if all := w.bytes(b, &m.Arena, at); w.whole.Add(maphash.Bytes(m.Seed, all)) && !each(all) {
				return
			}
			continue
		}
		if !w.seen.Add(b.hash) || made >= limit || *credit < 0 {
			continue // those that are whole come yet
		}
		place, looked := at+uint32(b.end), 0
		over := w.over[:0]
		for _, s := range h.At(place) {
			if looked++; s.From(place) != nil {
				over = append(over, s)
			}
		}
		w.over = over
		// The largest are tried first: a real segment is rarely the smallest.
		slices.SortStableFunc(over, func(a, b Seat) int { return int(int32(a.End - b.End)) })
		for _, s := range over {
			more, class := 0, s.Class
			if b.end > 0 {
				more = class.unlike(b.of.Class)
				if s.Seq != place {
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
					hash := b.hash + maphash.Bytes(m.Seed, s.From(place)[:end-b.end])
					*credit -= PerBranch + (end-b.end)/4
					w.queue[cost+more] = append(w.queue[cost+more], len(w.all))
					w.all = append(w.all, branch{from, s, end, hash*odd + uint64(end)})
				}
			}
			last := place
			for _, o := range h.Segs[h.Find(place+1):] {
				if !After(s.End, o.Seq) || !After(at+uint32(n), o.Seq) {
					break
				}
				if looked++; o.Seq == last {
					continue
				}
				if own, others := o.Overlap(s.Seq, s.Buf); !bytes.Equal(own, others) {
					last = o.Seq
					grow(int(last-at), more+1)
				}
			}
			grow(int(s.End-at), more)
		}
		*credit -= looked * PerOverlap
	}
}
