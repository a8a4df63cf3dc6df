package held

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/sealane/sealane/gateway/internal/packet"
)

// A Maker assembles bytes from segments. It belongs to one core.
type Maker struct {
	Arena
	Seed maphash.Seed
	list []Seat
	ways ways // memory of Ways
}

// A branch is a path through copies, up to its end. It extends another branch by bytes of one segment.
type branch struct {
	from int    // index of the branch that it extends; the empty branch has its own
	of   Seat   // segment of its last bytes
	end  int    // length in bytes
	hash uint64 // of the bytes and of the pieces' ends
}

// ways is the memory of Ways. The next call reuses it, so calls cannot be nested.
type ways struct {
	queue       [maxCost + 1][]int // by cost: indices of branches
	all         []branch
	seen, whole Set
	over        []Seat
}

// A Set is a set of hashes.
type Set map[uint64]struct{}

// reset empties a Set. It replaces a large one, because clearing it would cost time at each use.
func (s Set) reset() Set {
	if s == nil || len(s) > 64 {
		return Set{}
	}
	clear(s)
	return s
}

// Add inserts a hash, and reports whether it is new.
func (s Set) Add(hash uint64) bool {
	n := len(s)
	s[hash] = struct{}{}
	return len(s) > n
}

// An Arena is memory for the bytes of one search. Restoring an earlier value of the Arena frees what was taken since.
// Taken memory is not cleared.
type Arena []byte

// ArenaBlock is the size of the blocks that an Arena allocates.
const ArenaBlock = 256 << 10

func (a *Arena) Take(n int) []byte {
	used := len(*a)
	if cap(*a)-used < n {
		*a, used = make([]byte, 0, max(n, ArenaBlock)), 0
	}
	*a = (*a)[:used+n]
	return (*a)[used : used+n : used+n]
}

// Join returns x followed by y.
func (a *Arena) Join(x, y []byte) []byte {
	return append(append(a.Take(len(x) + len(y))[:0], x...), y...)
}

const (
	// The greatest cost of a path. These unlikely steps add to it: a segment interrupts another, is entered in its middle,
	// or differs in class from the previous segment. The class of the first segment is compared with that of the
	// authenticated packets.
	maxCost     = 12
	MaxBranches = 512
	// The cost of a branch, and of each segment that is examined for it.
	PerBranch  = 512
	PerOverlap = 8
)

// bytes returns the bytes of a branch that starts at sequence number at.
func (w *ways) bytes(b branch, into *Arena, at uint32) []byte {
	all := into.Take(b.end)
	for b.end > 0 {
		before := w.all[b.from]
		copy(all[before.end:b.end], b.of.From(at+uint32(before.end)))
		b = before
	}
	return all
}

// Ways calls each with the distinct strings of n bytes that paths through the copies from at on give, until each
// returns false. The likeliest paths come first: those whose segments follow each other without interruption and
// resemble the authenticated packets. Among equally likely ones, those with long segments come first, then those with
// late ones. If many, more paths are examined. The strings belong to the Arena. Ways subtracts the cost from credit.
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
			continue // complete paths are still passed to each
		}
		place, looked := at+uint32(b.end), 0
		over := w.over[:0]
		for _, s := range h.At(place) {
			if looked++; s.From(place) != nil {
				over = append(over, s)
			}
		}
		w.over = over
		// The queue is last in, first out, so the longest segments are tried first: a real segment is rarely the
		// shortest.
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
