package reassembly

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/sealane/sealane/gateway/internal/packet"
)

// After tells whether sequence number a comes after b (RFC 9293, section 3.4).
func After(a, b uint32) bool { return int32(a-b) > 0 }

// A Pool recycles the memory of segments, and bounds it. It belongs to one core.
type Pool struct {
	Limit int // bytes that all directions may hold
	Held  int
	free  [len(sizes)][][]byte
	segs  []*segment // free
}

// Sizes of buffers. What is longer gets a buffer of its own.
var sizes = [...]int{64, 256, 2048}

// segmentBytes is what a segment takes besides its buffer.
const segmentBytes = 64

func sizeOf(n int) (size, class int) {
	for i, s := range sizes {
		if n <= s {
			return s, i
		}
	}
	return n, -1
}

func (p *Pool) room(n int) bool {
	size, _ := sizeOf(n)
	return p.Held+size+segmentBytes <= p.Limit
}

func (p *Pool) take(data []byte) []byte {
	size, class := sizeOf(len(data))
	p.Held += size + segmentBytes
	if class >= 0 {
		if f := p.free[class]; len(f) > 0 {
			b := f[len(f)-1]
			p.free[class] = f[:len(f)-1]
			return b[:copy(b[:size], data)]
		}
	}
	b := make([]byte, size)
	return b[:copy(b, data)]
}

func (p *Pool) give(b []byte) {
	size, class := cap(b), -1
	for i, s := range sizes {
		if s == size {
			class = i
		}
	}
	p.Held -= size + segmentBytes
	if class >= 0 && len(p.free[class]) < 1<<12 {
		p.free[class] = append(p.free[class], b[:0])
	}
}

// A Class is what a packet says about its way: who is not on the path of the sender has the same only by chance.
type Class struct {
	TTL     uint8
	Sum     packet.Sum
	Known   bool
	Stamped bool
}

// ClassOf computes it. It looks at all of the packet.
func ClassOf(s *packet.Segment) Class { return Class{s.TTL(), s.Sum(), true, s.Stamped()} }

// A source is the packet that bytes came in. Its class is computed when it decides something.
type source struct {
	packet *packet.Segment // nil: class is there
	class  Class
}

// Class returns it.
func (o *source) Class() Class {
	if o.packet != nil {
		o.class, o.packet = ClassOf(o.packet), nil
	}
	return o.class
}

// above tells whether its rank is higher than one.
func (o *source) above(rank int, usual Class) bool {
	return rank < maxRank && o.Class().rank(usual) > rank
}

const maxRank = 3

// rank tells how much a packet is like those that were authenticated in its direction, at most maxRank.
func (c Class) rank(usual Class) int {
	n := 0
	if c.Sum == packet.SumGood || usual.Known && usual.Sum != packet.SumGood || !c.Known {
		n += 2
	}
	if !usual.Known || !c.Known || c.TTL == usual.TTL {
		n++
	}
	return n
}

type segment struct {
	seq   uint32
	class Class
	due   bool   // its checksum is not computed: head is there for that
	reach uint32 // the furthest end of this segment and those before it
	head  packet.HeadSum
	buf   []byte // of the pool
	order uint64 // of arrival
	mark  int64
}

var _ = [1]struct{}{}[unsafe.Sizeof(segment{})-segmentBytes]

// Class returns what the packet says about its way.
func (s *segment) Class() Class {
	if s.due {
		s.due, s.class.Sum = false, s.head.With(s.buf)
	}
	return s.class
}

func (s *segment) end() uint32 { return s.seq + uint32(len(s.buf)) }

// covers returns the bytes of s from a place on, or nil.
func (s *segment) from(at uint32) []byte {
	if n := at - s.seq; uint64(n) < uint64(len(s.buf)) {
		return s.buf[n:]
	}
	return nil
}

// held are segments of one direction, by sequence number and then by arrival. They may overlap, where copies differ.
type held struct {
	segs  []*segment // of the pool
	bytes int
	tops  []uint32 // no segment of a block ends after its top
	stale bool     // tops are not right
	// There is no hole between these two places, if they differ.
	solid [2]uint32
}

// Limits of one direction.
const (
	MaxBytes    = 1 << 20
	MaxSegments = 1024
	// MaxAhead is the largest window of TCP (RFC 7323, section 2.3). What is further ahead is not of this stream.
	MaxAhead = 1 << 30
)

// near returns the first segment that may reach beyond at.
func (h *held) near(at uint32) int {
	i, j := 0, len(h.segs)
	for i < j {
		if m := int(uint(i+j) >> 1); After(h.segs[m].reach, at) {
			j = m
		} else {
			i = m + 1
		}
	}
	return i
}

// reaches brings segments up to date from one on that is new, or whose predecessor is.
func (h *held) reaches(i int) {
	for first := i; i < len(h.segs); i++ {
		s := h.segs[i]
		far := s.end()
		if i > 0 && After(h.segs[i-1].reach, far) {
			far = h.segs[i-1].reach
		}
		if s.reach == far && i > first {
			return
		}
		s.reach = far
	}
}

// recompute is reaches for all.
func (h *held) recompute() {
	h.stale, h.solid = true, [2]uint32{}
	for i, s := range h.segs {
		s.reach = s.end()
		if i > 0 && After(h.segs[i-1].reach, s.reach) {
			s.reach = h.segs[i-1].reach
		}
	}
}

// same returns how many bytes two slices have in common, from the front.
func same(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// A block is so many segments, of which those are passed over together that end too early.
const block = 16

// top keeps tops right when segments from one on have moved by one place.
func (h *held) top(i int) {
	if h.stale {
		return
	}
	n := (len(h.segs) + block - 1) / block
	h.tops = h.tops[:min(n, len(h.tops))]
	for b := i / block; b < n; b++ {
		// Of others than the first block one segment came, at one of its ends.
		lo, hi := b*block, min(b*block+block, len(h.segs))
		if b == len(h.tops) {
			h.tops = append(h.tops, h.segs[lo].end())
		}
		for _, k := range [...]int{lo, hi - 1, min(max(i, lo), hi-1)} {
			if end := h.segs[k].end(); After(end, h.tops[b]) {
				h.tops[b] = end
			}
		}
	}
}

// build makes tops anew.
func (h *held) build() {
	h.stale, h.tops = false, h.tops[:0]
	for i, s := range h.segs {
		if b := i / block; b == len(h.tops) {
			h.tops = append(h.tops, s.end())
		} else if After(s.end(), h.tops[b]) {
			h.tops[b] = s.end()
		}
	}
}

// past returns the first segment from i on, a multiple of block, whose block may have one that ends after a place.
func (h *held) past(i int, at uint32) int {
	if h.stale {
		h.build()
	}
	for i+block <= len(h.segs) && !After(h.tops[i/block], at) {
		i += block
	}
	return i
}

// A novelty is what is new in bytes that came.
type novelty struct {
	from     uint32
	rest     []byte
	conflict bool // for the same place others are held
	// Of those that are held for the same place, but for small ones, which may lie beside each other: how many there are, and the last of
	// those that are least like the rest.
	copies, worst int
}

// novel tells what of some bytes is new. Where nothing is in doubt it cuts off from both ends what is held already; else a copy is kept
// whole, as its parts belong together, unless one that counts no less has it all.
func (h *held) novel(seq uint32, data []byte, of *source, usual Class) (x novelty) {
	first := h.near(seq)
	end := seq + uint32(len(data))
	from, last, least := -1, first, math.MaxInt
	for i := first; i < len(h.segs); i++ {
		if i%block == 0 {
			if i = h.past(i, seq); i == len(h.segs) {
				break
			}
		}
		s := h.segs[i]
		if !After(end, s.seq) {
			break
		}
		if !After(s.end(), seq) {
			continue
		}
		if last = i + 1; from < 0 {
			from = i
		}
		a, b, inside := s.buf, data, false
		if at := int32(s.seq - seq); at > 0 {
			b = b[at:]
		} else {
			a, inside = a[-at:], true
		}
		n := min(len(a), len(b))
		rank := s.Class().rank(usual)
		if same(a[:n], b[:n]) < n {
			x.conflict = true
		} else if inside && n == len(data) && !of.above(rank, usual) {
			return novelty{from: seq}
		}
		if len(s.buf)*2 >= len(data) {
			x.copies++
			if rank < least || rank == least && s.order > h.segs[x.worst].order {
				x.worst, least = i, rank
			}
		}
	}
	if x.conflict || from < 0 {
		x.from, x.rest = seq, data
		return x
	}
	for i := from; i < len(h.segs) && !After(h.segs[i].seq, seq); i++ {
		if s := h.segs[i]; !of.above(s.Class().rank(usual), usual) && After(s.end(), seq) {
			n := min(int(s.end()-seq), len(data))
			seq, data = seq+uint32(n), data[n:]
		}
	}
	for i := last - 1; i >= from && len(data) > 0; i-- {
		s := h.segs[i]
		if After(end, s.seq) && !After(end, s.end()) && !of.above(s.Class().rank(usual), usual) {
			n := min(int(end-s.seq), len(data))
			data, end = data[:len(data)-n], end-uint32(n)
		}
	}
	x.from, x.rest = seq, data
	return x
}

func (h *held) insert(p *Pool, seq uint32, class Class, order uint64, mark int64, data []byte) *segment {
	h.bytes += len(data)
	var s *segment
	if n := len(p.segs); n > 0 {
		s, p.segs = p.segs[n-1], p.segs[:n-1]
	} else {
		s = new(segment)
	}
	s.seq, s.class, s.due, s.order, s.mark, s.buf = seq, class, false, order, mark, p.take(data)
	i, j := 0, len(h.segs)
	if j == 0 || After(s.seq, h.segs[j-1].seq) {
		// The usual case: it is the last.
		h.segs = append(h.segs, s)
		if s.reach = s.end(); j > 0 && After(h.segs[j-1].reach, s.reach) {
			s.reach = h.segs[j-1].reach
		}
		if b := j / block; !h.stale && b == len(h.tops) {
			h.tops = append(h.tops, s.end())
		} else if !h.stale && After(s.end(), h.tops[b]) {
			h.tops[b] = s.end()
		}
		return s
	}
	for i < j {
		m := int(uint(i+j) >> 1)
		if o := h.segs[m]; After(s.seq, o.seq) || o.seq == s.seq && o.order <= s.order {
			i = m + 1
		} else {
			j = m
		}
	}
	h.segs = slices.Insert(h.segs, i, s)
	h.reaches(i)
	h.top(i)
	return s
}

// lazily is insert for all of the payload of a packet, whose checksum is computed when it decides something.
func (h *held) lazily(p *Pool, from *packet.Segment, seq uint32, order uint64, mark int64) {
	s := h.insert(p, seq, Class{TTL: from.TTL(), Known: true, Stamped: from.Stamped()}, order, mark, from.Payload)
	s.due, s.head = true, from.HeadSum()
}

// drop gives back the memory of a segment.
func (p *Pool) drop(s *segment) {
	p.give(s.buf)
	s.buf = nil
	if len(p.segs) < 1<<12 {
		p.segs = append(p.segs, s)
	}
}

func (h *held) remove(p *Pool, i int) {
	h.bytes -= len(h.segs[i].buf)
	p.drop(h.segs[i])
	h.segs = slices.Delete(h.segs, i, i+1)
	h.solid = [2]uint32{}
	h.reaches(i)
	h.top(i)
}

// prune lets go of what lies before a place.
func (h *held) prune(p *Pool, base uint32) {
	// Only those that begin before it can.
	n, kept := 0, 0
	for ; n < len(h.segs) && After(base, h.segs[n].seq); n++ {
		if s := h.segs[n]; After(s.end(), base) {
			h.segs[kept] = s
			kept++
		} else {
			h.bytes -= len(s.buf)
			p.drop(s)
		}
	}
	switch {
	case kept < n && n == len(h.segs):
		clear(h.segs[kept:])
		h.segs = h.segs[:kept]
		h.stale, h.solid = true, [2]uint32{}
	case kept < n:
		h.segs = slices.Delete(h.segs, kept, n)
		h.stale, h.solid = true, [2]uint32{}
	}
}

// covered returns the end of the bytes that are held without a hole from a place on, at most limit of them, of those segments
// that came no later than order.
func (h *held) covered(at uint32, limit int, order uint64) uint32 {
	end := at
	for i := h.near(at); i < len(h.segs) && !After(h.segs[i].seq, end); i++ {
		if s := h.segs[i]; After(s.end(), end) && s.order <= order {
			end = s.end()
		}
		if int(end-at) >= limit {
			return at + uint32(limit)
		}
	}
	return end
}

// unbroken is covered for all segments, at a place where it is asked for again when more have come.
func (h *held) unbroken(at uint32, limit int) uint32 {
	if h.solid[0] != at || h.solid[1]-at > uint32(limit) {
		h.solid = [2]uint32{at, at}
	}
	h.solid[1] = h.covered(h.solid[1], limit-int(h.solid[1]-at), math.MaxUint64)
	return h.solid[1]
}

// Like tells whether a packet is like those that were authenticated; false if there were none. RSTs may be without timestamps.
func Like(s *packet.Segment, usual Class) bool {
	return usual.Known && s.TTL() == usual.TTL && (s.Stamped() == usual.Stamped || s.Flags&packet.RST != 0) &&
		(usual.Sum != packet.SumGood || s.Sum() == packet.SumGood)
}

// ends tells whether nothing is held behind a place, or with a hole before it.
func (h *held) ends(at uint32) bool {
	n := len(h.segs)
	return n == 0 || h.segs[n-1].end() == at
}
