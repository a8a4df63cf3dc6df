// Package held keeps the unread segments of one direction of a TCP connection, including differing copies of the same
// bytes. It assembles bytes from the segments, in one order of copies or along all paths through them. The caller
// interprets the bytes.
package held

import (
	"bytes"
	"math"
	"slices"
	"unsafe"
)

// After reports whether sequence number a comes after b (RFC 9293, section 3.4).
func After(a, b uint32) bool { return int32(a-b) > 0 }

// A Pool recycles segments and limits their memory. It belongs to one core.
type Pool struct {
	Limit int // maximum of Held
	Held  int
	free  [len(sizes)][]*Segment
}

// Sizes of recycled buffers. Longer segments have buffers of their exact size.
var sizes = [...]int{64, 256, 2048}

// SegmentBytes is the memory of a segment without its buffer, including its entry in a List.
const SegmentBytes = int(unsafe.Sizeof(Segment{})) + 2*8

// sizeOf returns the length of a buffer for n bytes, and its index in sizes, or len(sizes).
func sizeOf(n int) (size, class int) {
	for i, s := range sizes {
		if n <= s {
			return s, i
		}
	}
	return n, len(sizes)
}

// Room reports whether the limit allows another segment of n bytes.
func (p *Pool) Room(n int) bool {
	size, _ := sizeOf(n)
	return p.Held+size+SegmentBytes <= p.Limit
}

// Take returns a segment with n bytes.
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

// Drop returns a segment to the pool.
func (p *Pool) Drop(s *Segment) {
	size, class := sizeOf(cap(s.Buf))
	p.Held -= size + SegmentBytes
	if class < len(sizes) && len(p.free[class]) < 1<<12 {
		p.free[class] = append(p.free[class], s)
	}
}

type Segment struct {
	Buf   []byte // memory of the pool
	Order uint64 // number in order of arrival
	Mark  int64  // time of arrival
	Class Class
}

// A Seat is a segment and its range of sequence numbers. Searches read only the range of most segments, so it is stored
// in the list.
type Seat struct {
	Seq, End uint32
	*Segment
}

// From returns the bytes of s from a sequence number on, or nil.
func (s Seat) From(at uint32) []byte {
	if at-s.Seq < s.End-s.Seq {
		return s.Buf[at-s.Seq:]
	}
	return nil
}

// Overlap returns the bytes of s and of b where both have some. b starts at sequence number at.
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

// Within reports whether some bytes of s are between two sequence numbers.
func (s Seat) Within(at, end uint32) bool { return After(s.End, at) && After(end, s.Seq) }

// rivals reports whether s counts as a copy of a range: it overlaps the range, and is at least half as long. Several
// shorter segments may lie side by side in the range.
func (s Seat) rivals(at, end uint32) bool { return s.Within(at, end) && (s.End-s.Seq)*2 >= end-at }

// A List holds the segments of one direction, sorted by sequence number, then by arrival. Differing copies overlap.
type List struct {
	Segs    []Seat // Drop returns them to the pool
	Bytes   int    // sum of their lengths
	longest int    // upper bound of the segments' lengths
	hand    int    // where Crowded stopped last time
	Doubt   bool   // copies differ, or the start of the stream is uncertain
	// The range without a hole that Unbroken found last; a hole follows it. If both are equal, there is none.
	solid [2]uint32
}

const (
	MaxBytes = 1 << 20
	// MaxSegments is the most segments of one direction: 23 MB if each has 1,400 bytes.
	MaxSegments = 1 << 14
	// MaxAhead is the largest window of TCP (RFC 7323, section 2.3). Segments further ahead do not belong to the
	// stream.
	MaxAhead = 1 << 30
	// MaxRecord is the length of the longest TLS record, including its header. At most MaxCrowd segments start within
	// that length.
	MaxRecord = 5 + 1<<14 + 2048
	MaxCrowd  = 1024
	MaxCopies = 64 // most copies of a range
	few       = 8  // how many segments are compared to find one to drop
)

// Find returns the index of the first segment that starts at or after a sequence number.
func (h *List) Find(at uint32) (i int) {
	n := len(h.Segs)
	if n == 0 || !After(at, h.Segs[0].Seq) {
		return 0
	} else if After(at, h.Segs[n-1].Seq) {
		return n
	}
	for n > 0 { // no branch depends on the segments: it would be mispredicted half the time
		half := (n + 1) / 2
		i += half & int(int32(h.Segs[i+half-1].Seq-at)>>31)
		n -= half
	}
	return i
}

// Over returns the segments that may have bytes between two sequence numbers. If hellos are spread over all sequence
// numbers, the list has no correct order. The result then may lack some segments, and have others that do not overlap
// the range.
func (h *List) Over(at, end uint32) []Seat {
	i := h.Find(at - uint32(max(h.longest-1, 0)))
	j := i
	for j < len(h.Segs) && After(end, h.Segs[j].Seq) {
		if j++; j == i+few { // there may be many, so Find is faster
			return h.Segs[i:max(j, h.Find(end))]
		}
	}
	return h.Segs[i:j]
}

// At returns the segments that may have the byte at a sequence number.
func (h *List) At(place uint32) []Seat { return h.Over(place, place+1) }

// A Novelty is the result of comparing new bytes with the held segments.
type Novelty struct {
	Known    bool // a segment of at least the same rank has them all; on a conflict, exactly them
	Conflict bool // a held segment has different bytes
	Copies   int  // held copies of the range
	over     []Seat
}

// Novel compares bytes with the segments that overlap them. If there are MaxCopies, it reports a conflict without
// comparing.
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
	x.Known = x.Known && !x.Conflict // otherwise its ends show where one copy may replace another
	return x
}

// Insert adds a segment with a copy of data.
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

// Prune drops the segments that end at or before a sequence number.
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
	} else { // dropping few of many: do not move the others
		clear(h.Segs[:n])
		h.Segs = h.Segs[n:]
	}
	if len(h.Segs) == 0 {
		h.longest, h.Doubt = 0, false
	}
}

// Covered returns the end of the bytes that are held without a hole from a sequence number on, but at most limit bytes.
// It ignores segments that arrived after order.
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

// Unbroken is Covered for all segments. It keeps its last result, because callers repeat the same question.
func (h *List) Unbroken(at uint32, limit int) uint32 {
	if h.solid[0] != at || h.solid[1] == at {
		h.solid = [2]uint32{at, h.Covered(at, limit, math.MaxUint64)}
	}
	return h.solid[1]
}

// Crowded reports whether a new segment of n bytes must be dropped, because MaxCrowd segments start within the length
// of a record. If whole, all segments of the list count. If the new segment is better than the worst of the next few,
// Crowded drops that one instead.
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

// dropWorst drops the segment with the lowest rank, and prefers small ones. It drops only a segment of a lower rank
// than the given one, or of the same rank with fewer than n bytes. It reports whether it dropped one.
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

// Joins appends bytes to the last segment if there are many segments, both are small and of one class, and the bytes
// are adjacent. newest, the order of the last segment kept in either direction, shows that none was kept in between.
// Joins reports whether it did.
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

// Behind reports whether bytes after a sequence number are held.
func (h *List) Behind(at uint32) bool {
	n := len(h.Segs)
	return n > 0 && After(h.Segs[n-1].End, at)
}

// Said returns when all bytes of b had arrived. So a sender of only the first bytes of a hello is not first.
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

// Had reports whether all bytes of b arrived at least ago before now. Arrival times after now count, because the clock
// was then set back.
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

// Replace drops one copy of a range that has MaxCopies, to make room for a new copy of n bytes. Among the last few
// copies, it drops the last one of the lowest rank. So the range keeps its first copies and the newest. A new copy of
// the same rank is enough, except for small copies and at the beginning of a direction, because every hello is read.
// Replace reports whether it dropped a copy.
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
