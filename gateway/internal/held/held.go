// Package held keeps the segments of one direction of TCP that are not read yet, copies side by side, and makes bytes of them: in an
// order of copies, or in all ways through them. Their meaning is the caller's.
package held

import (
	"bytes"
	"math"
	"slices"
	"unsafe"
)

// After tells whether sequence number a comes after b (RFC 9293, section 3.4).
func After(a, b uint32) bool { return int32(a-b) > 0 }

// A Pool recycles segments, and bounds their memory. It belongs to one core.
type Pool struct {
	Limit int // bytes that all directions may hold
	Held  int
	free  [len(sizes)][]*Segment
}

// Sizes of buffers. What is longer gets a buffer of its own.
var sizes = [...]int{64, 256, 2048}

// SegmentBytes is what a segment takes besides its buffer, and its place in a list.
const SegmentBytes = int(unsafe.Sizeof(Segment{})) + 2*8

// sizeOf returns how long a buffer for n bytes is, and which of sizes that is, or len(sizes).
func sizeOf(n int) (size, class int) {
	for i, s := range sizes {
		if n <= s {
			return s, i
		}
	}
	return n, len(sizes)
}

func (p *Pool) Room(n int) bool {
	size, _ := sizeOf(n)
	return p.Held+size+SegmentBytes <= p.Limit
}

// take returns a segment with n bytes.
func (p *Pool) Take(n int) (s *Segment) {
	size, class := sizeOf(n)
	p.Held += size + SegmentBytes
	if class < len(sizes) {
		if f := p.free[class]; len(f) > 0 {
			s, p.free[class] = f[len(f)-1], f[:len(f)-1]
			s.Buf = s.Buf[:n]
			return s
		}
	}
	return &Segment{Buf: make([]byte, n, size)}
}

func (p *Pool) Drop(s *Segment) {
	size, class := sizeOf(cap(s.Buf))
	p.Held -= size + SegmentBytes
	if class < len(sizes) && len(p.free[class]) < 1<<12 {
		p.free[class] = append(p.free[class], s)
	}
}

type Segment struct {
	Buf   []byte // of the pool
	Order uint64 // of arrival
	Mark  int64
	Class Class
}

// A Seat is where a segment lies among others: what is asked of many is here.
type Seat struct {
	Seq, End uint32
	*Segment
}

// From returns the bytes of s from a place on, or nil.
func (s Seat) From(at uint32) []byte {
	if at-s.Seq < s.End-s.Seq {
		return s.Buf[at-s.Seq:]
	}
	return nil
}

// Overlap returns the bytes that s has where b has some, and those of b, which begins at a place.
func (s Seat) Overlap(at uint32, b []byte) (own, others []byte) {
	own = s.Buf
	if d := int(int32(s.Seq - at)); d >= 0 {
		b = b[min(d, len(b)):]
	} else {
		own = own[min(-d, len(own)):]
	}
	n := min(len(own), len(b))
	return own[:n], b[:n]
}

// Within tells whether some of its bytes are between two places.
func (s Seat) Within(at, end uint32) bool { return After(s.End, at) && After(end, s.Seq) }

// rivals tells whether it is one of the copies of a place. Small ones are not, which may lie beside each other.
func (s Seat) rivals(at, end uint32) bool { return s.Within(at, end) && (s.End-s.Seq)*2 >= end-at }

// held are segments of one direction, by sequence number and then by arrival. They may overlap, where copies differ.
type List struct {
	Segs    []Seat // of the pool
	Bytes   int
	longest int  // no segment has more bytes
	hand    int  // where crowded looked last
	Doubt   bool // copies differ, or it is not known where they begin
	// There is no hole between these two places, and one behind the second, if they differ.
	solid [2]uint32
}

const (
	MaxBytes = 1 << 20
	// MaxSegments are held of one direction: 23 MB of segments of 1,400 bytes.
	MaxSegments = 1 << 14
	// MaxAhead is the largest window of TCP (RFC 7323, section 2.3). What is further ahead is not of this stream.
	MaxAhead = 1 << 30
	// MaxRecord is how long a record of TLS may be, with its header. At most MaxCrowd segments begin within that length.
	MaxRecord = 5 + 1<<14 + 2048
	MaxCrowd  = 1024
	MaxCopies = 64 // of a place
	few       = 8  // are looked at for the worst of many
)

// Find returns the first segment that begins at a place or behind it.
func (h *List) Find(at uint32) (i int) {
	n := len(h.Segs)
	if n == 0 || !After(at, h.Segs[0].Seq) {
		return 0
	} else if After(at, h.Segs[n-1].Seq) {
		return n
	}
	for n > 0 { // without a branch that depends on what is read: it would be mispredicted half the time
		half := (n + 1) / 2
		i += half & int(int32(h.Segs[i+half-1].Seq-at)>>31)
		n -= half
	}
	return i
}

// Over returns the segments that may have bytes between two places. Where hellos are all around the circle of sequence numbers there is no
// right order: others are among them, and some are not.
func (h *List) Over(at, end uint32) []Seat {
	i := h.Find(at - uint32(max(h.longest-1, 0)))
	j := i
	for j < len(h.Segs) && After(end, h.Segs[j].Seq) {
		if j++; j == i+few { // there may be many
			return h.Segs[i:max(j, h.Find(end))]
		}
	}
	return h.Segs[i:j]
}

// At returns the segments that may have the byte at a place.
func (h *List) At(place uint32) []Seat { return h.Over(place, place+1) }

// A Novelty is what bytes that came are beside those that are held.
type Novelty struct {
	Known    bool // one segment that counts no less has them all, and no more if others differ
	Conflict bool // for the same place others are held
	Copies   int  // held for the same place
	over     []Seat
}

// Novel compares bytes with the segments for their place. With MaxCopies it does not: then they are taken for others.
func (h *List) Novel(seq uint32, data []byte, class, usual Class) (x Novelty) {
	end, rank := seq+uint32(len(data)), class.Rank(usual)
	x.over = h.Over(seq, end)
	for _, s := range x.over {
		if s.rivals(seq, end) {
			x.Copies++
		}
	}
	if x.Conflict = x.Copies >= MaxCopies; x.Conflict {
		return x
	}
	for _, s := range x.over {
		if own, b := s.Overlap(seq, data); !bytes.Equal(own, b) {
			x.Conflict = true
		} else if len(b) == len(data) && s.Class.Rank(usual) >= rank {
			if x.Known = true; len(own) == len(s.Buf) {
				return Novelty{Known: true}
			}
		}
	}
	x.Known = x.Known && !x.Conflict // else it says where one copy may break off another
	return x
}

// Insert adds bytes.
func (h *List) Insert(p *Pool, seq uint32, class Class, order uint64, mark int64, data []byte) {
	s := p.Take(len(data))
	copy(s.Buf, data)
	s.Order, s.Mark, s.Class = order, mark, class
	h.Bytes += len(data)
	h.longest = max(h.longest, len(data))
	i := len(h.Segs)
	if i > 0 && !After(seq, h.Segs[i-1].Seq) {
		i = h.Find(seq + 1)
		for i > 0 && h.Segs[i-1].Seq == seq && h.Segs[i-1].Order > order {
			i--
		}
	}
	end := seq + uint32(len(data))
	h.Segs = slices.Insert(h.Segs, i, Seat{seq, end, s})
	if !After(seq, h.solid[1]) && After(end, h.solid[1]) {
		h.solid = [2]uint32{}
	}
}

// Remove drops a segment.
func (h *List) Remove(p *Pool, s Seat) {
	i := h.Find(s.Seq)
	for i == len(h.Segs) || h.Segs[i].Segment != s.Segment {
		if i++; i >= len(h.Segs) {
			i = 0
		}
	}
	h.Bytes -= len(s.Buf)
	h.Segs, h.solid = slices.Delete(h.Segs, i, i+1), [2]uint32{}
	p.Drop(s.Segment)
}

// Prune drops the segments before a place.
func (h *List) Prune(p *Pool, base uint32) {
	n := 0
	for n < len(h.Segs) && After(base, h.Segs[n].Seq) {
		n++
	}
	if n == 0 {
		return
	}
	for i := n - 1; i >= 0; i-- {
		if s := h.Segs[i]; After(s.End, base) {
			n--
			h.Segs[n] = s
		} else {
			h.Bytes -= len(s.Buf)
			p.Drop(s.Segment)
		}
	}
	h.solid = [2]uint32{}
	if n > len(h.Segs)/2 || len(h.Segs) < 64 {
		h.Segs = slices.Delete(h.Segs, 0, n)
	} else { // there are many, and few go
		clear(h.Segs[:n])
		h.Segs = h.Segs[n:]
	}
	if len(h.Segs) == 0 {
		h.longest, h.Doubt = 0, false
	}
}

// Covered returns the end of the bytes that are held without a hole from a place on, at most limit of them, of those segments
// that came no later than order.
func (h *List) Covered(at uint32, limit int, order uint64) uint32 {
	end := at
	for _, s := range h.Over(at, at+uint32(limit)) {
		if After(s.Seq, end) {
			break
		}
		if After(s.End, end) && s.Order <= order {
			end = s.End
		}
	}
	return at + min(end-at, uint32(limit))
}

// Unbroken is covered for all segments, at a place where it is asked for again and again.
func (h *List) Unbroken(at uint32, limit int) uint32 {
	if h.solid[0] != at || h.solid[1] == at {
		h.solid = [2]uint32{at, h.Covered(at, limit, math.MaxUint64)}
	}
	return h.solid[1]
}

// Crowded tells whether there are too many segments within the length of a record to take another one, of n bytes. If it counts more than
// the worst of the next few of these, that one goes: what is least like the rest, then the smallest.
func (h *List) Crowded(p *Pool, whole bool, seq uint32, n int, class, usual Class) bool {
	near := h.Segs
	if !whole {
		near = near[h.Find(seq-MaxRecord/2):]
	}
	if len(near) < MaxCrowd || !whole && !After(seq+MaxRecord/2, near[MaxCrowd-1].Seq) {
		return false
	}
	if h.hand += few; h.hand > MaxCrowd {
		h.hand = few
	}
	return !h.dropWorst(p, near[h.hand-few:h.hand], class.Rank(usual), n, usual)
}

// dropWorst drops the first one of a few segments that count least. Less than rank they have to count, or as much with fewer than n bytes. It returns
// false if none does.
func (h *List) dropWorst(p *Pool, some []Seat, rank, n int, usual Class) bool {
	var worst Seat
	for _, s := range some {
		if x, size := s.Class.Rank(usual), int(s.End-s.Seq); x < rank || x == rank && size < n {
			worst, rank, n = s, x, min(n, size)
		}
	}
	if worst.Segment != nil {
		h.Remove(p, worst)
	}
	return worst.Segment != nil
}

// Joins adds bytes to the last segment, if there are many, both are small, alike and follow on each other, and nothing
// came in between: not of the other side either, as newest says.
func (h *List) Joins(p *Pool, seq uint32, class Class, order, newest uint64, data []byte) bool {
	n := len(h.Segs)
	if n < MaxCrowd/2 {
		return false
	}
	s := &h.Segs[n-1]
	if s.End != seq || s.Order != newest || len(s.Buf)+len(data) > cap(s.Buf) || cap(s.Buf) > sizes[1] || s.Class != class {
		return false
	}
	s.Buf = append(s.Buf, data...)
	s.End += uint32(len(data))
	h.solid = [2]uint32{}
	h.Bytes += len(data)
	s.Order, h.longest = order, max(h.longest, len(s.Buf))
	return true
}

// Behind tells whether something is held behind a place.
func (h *List) Behind(at uint32) bool {
	n := len(h.Segs)
	return n > 0 && After(h.Segs[n-1].End, at)
}

// Said returns when all of some bytes had come: a sender of only the first bytes of a hello does not come first.
func (h *List) Said(at uint32, b []byte) int64 {
	when := int64(math.MinInt64)
	for i := range b {
		first := int64(math.MaxInt64)
		for _, s := range h.At(at + uint32(i)) {
			if x := s.From(at + uint32(i)); x != nil && x[0] == b[i] {
				first = min(first, s.Mark)
			}
		}
		when = max(when, first)
	}
	return when
}

// Had tells whether some bytes were there so long ago. What came later than now came before the clock was set back.
func (h *List) Had(at uint32, b []byte, now, ago int64) bool {
	end, all := at, at+uint32(len(b))
	for _, s := range h.Over(at, all) {
		if s.Mark > now-ago && s.Mark <= now {
			continue
		}
		for x := s.From(end); len(x) > 0 && end != all && x[0] == b[end-at]; x = x[1:] {
			end++
		}
	}
	return end == all
}

// Replace makes way for another copy of a place that has MaxCopies: of the last few copies the last of those least like the rest goes. So the
// first ones stay, and the last. Small copies have to be better, and those of a beginning, because each hello is read. It returns false if
// none goes.
func (h *List) Replace(p *Pool, x *Novelty, seq uint32, n int, class, usual Class, beginning bool) bool {
	rank := class.Rank(usual) + 1
	if beginning || n < sizes[0] {
		rank--
	}
	last := make([]Seat, 0, few)
	for i := len(x.over) - 1; i >= 0 && len(last) < few; i-- {
		if x.over[i].rivals(seq, seq+uint32(n)) {
			last = append(last, x.over[i])
		}
	}
	return h.dropWorst(p, last, rank, 0, usual)
}
