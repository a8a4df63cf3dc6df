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

// A Pool recycles segments, and bounds their memory. It belongs to one core.
type Pool struct {
	Limit int // bytes that all directions may hold
	Held  int
	free  [len(sizes)][]*segment
}

// Sizes of buffers. What is longer gets a buffer of its own.
var sizes = [...]int{64, 256, 2048}

// segmentBytes is what a segment takes besides its buffer, and its place in a list.
const segmentBytes = int(unsafe.Sizeof(segment{})) + 2*8

// sizeOf returns how long a buffer for n bytes is, and which of sizes that is, or len(sizes).
func sizeOf(n int) (size, class int) {
	for i, s := range sizes {
		if n <= s {
			return s, i
		}
	}
	return n, len(sizes)
}

func (p *Pool) room(n int) bool {
	size, _ := sizeOf(n)
	return p.Held+size+segmentBytes <= p.Limit
}

// take returns a segment with n bytes.
func (p *Pool) take(n int) (s *segment) {
	size, class := sizeOf(n)
	p.Held += size + segmentBytes
	if class < len(sizes) {
		if f := p.free[class]; len(f) > 0 {
			s, p.free[class] = f[len(f)-1], f[:len(f)-1]
			s.buf = s.buf[:n]
			return s
		}
	}
	return &segment{buf: make([]byte, n, size)}
}

func (p *Pool) drop(s *segment) {
	size, class := sizeOf(cap(s.buf))
	p.Held -= size + segmentBytes
	if class < len(sizes) && len(p.free[class]) < 1<<12 {
		p.free[class] = append(p.free[class], s)
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
	class Class
	due   bool // its checksum is not computed: head is there for that
	head  packet.HeadSum
	buf   []byte // of the pool
	order uint64 // of arrival
	mark  int64
}

// Class returns what the packet says about its way.
func (s *segment) Class() Class {
	if s.due {
		s.due, s.class.Sum = false, s.head.With(s.buf)
	}
	return s.class
}

// A seat is where a segment lies among others: what is asked of many is here.
type seat struct {
	seq, end uint32
	*segment
}

// from returns the bytes of s from a place on, or nil.
func (s seat) from(at uint32) []byte {
	if at-s.seq < s.end-s.seq {
		return s.buf[at-s.seq:]
	}
	return nil
}

// within tells whether some of its bytes are between two places.
func (s seat) within(at, end uint32) bool { return After(s.end, at) && After(end, s.seq) }

// held are segments of one direction, by sequence number and then by arrival. They may overlap, where copies differ.
type held struct {
	segs    []seat // of the pool
	bytes   int
	longest int    // no segment has more bytes
	newest  uint64 // when the last one came
	hand    int    // where crowded looked last
	// There is no hole between these two places, and one behind the second, if they differ.
	solid [2]uint32
}

const (
	MaxBytes = 1 << 20
	// MaxSegments are held of one direction: 23 MB of segments of 1,400 bytes.
	MaxSegments = 1 << 14
	// MaxAhead is the largest window of TCP (RFC 7323, section 2.3). What is further ahead is not of this stream.
	MaxAhead = 1 << 30
	// The most that begin within the length of a record.
	maxCrowd = 1024
)

// find returns the first segment that begins at a place or behind it.
func (h *held) find(at uint32) int {
	i, j := 0, len(h.segs)
	if j == 0 || !After(at, h.segs[0].seq) {
		return 0
	} else if After(at, h.segs[j-1].seq) {
		return j
	}
	for i < j {
		if m := int(uint(i+j) >> 1); After(at, h.segs[m].seq) {
			i = m + 1
		} else {
			j = m
		}
	}
	return i
}

// over returns the segments that may have bytes between two places. Where hellos are all around the circle of sequence numbers there is no
// right order: others are among them, and some are not.
func (h *held) over(at, end uint32) []seat {
	i := h.find(at - uint32(max(h.longest-1, 0)))
	j := i
	for j < len(h.segs) && After(end, h.segs[j].seq) {
		j++
	}
	return h.segs[i:j]
}

// at returns the segments that may have the byte at a place.
func (h *held) at(place uint32) []seat { return h.over(place, place+1) }

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

// A novelty is what is new in bytes that came.
type novelty struct {
	from     uint32
	rest     []byte
	conflict bool // for the same place others are held
	// Of the copies held for the same place, without small ones, which may lie beside each other: their number, and the last of
	// those that are least like the rest.
	copies int
	worst  seat
}

// novel tells what of some bytes is new. Where nothing is in doubt it cuts off from both ends what is held already; else a copy is kept
// whole, as its parts belong together, unless one that counts no less has it all.
func (h *held) novel(seq uint32, data []byte, of *source, usual Class) (x novelty) {
	end, least := seq+uint32(len(data)), math.MaxInt
	over := h.over(seq, end)
	for _, s := range over {
		if !s.within(seq, end) {
			continue
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
			if rank < least || rank == least && s.order > x.worst.order {
				x.worst, least = s, rank
			}
		}
	}
	if !x.conflict {
		for _, s := range over {
			if !After(s.seq, seq) && After(s.end, seq) && !of.above(s.Class().rank(usual), usual) {
				n := min(int(s.end-seq), len(data))
				seq, data = seq+uint32(n), data[n:]
			}
		}
		for _, s := range slices.Backward(over) {
			if len(data) > 0 && After(end, s.seq) && !After(end, s.end) && !of.above(s.Class().rank(usual), usual) {
				n := min(int(end-s.seq), len(data))
				data, end = data[:len(data)-n], end-uint32(n)
			}
		}
	}
	x.from, x.rest = seq, data
	return x
}

func (h *held) insert(p *Pool, seq uint32, class Class, order uint64, mark int64, data []byte) *segment {
	s := p.take(len(data))
	copy(s.buf, data)
	s.class, s.due, s.order, s.mark = class, false, order, mark
	h.bytes += len(data)
	h.longest, h.newest = max(h.longest, len(data)), max(h.newest, order)
	i := len(h.segs)
	if i > 0 && !After(seq, h.segs[i-1].seq) {
		i = h.find(seq + 1)
		for i > 0 && h.segs[i-1].seq == seq && h.segs[i-1].order > order {
			i--
		}
	}
	end := seq + uint32(len(data))
	h.segs = slices.Insert(h.segs, i, seat{seq, end, s})
	if !After(seq, h.solid[1]) && After(end, h.solid[1]) {
		h.solid = [2]uint32{}
	}
	return s
}

// lazily is insert for all of the payload of a packet, whose checksum is computed when it decides something.
func (h *held) lazily(p *Pool, from *packet.Segment, seq uint32, order uint64, mark int64) {
	s := h.insert(p, seq, Class{TTL: from.TTL(), Known: true, Stamped: from.Stamped()}, order, mark, from.Payload)
	s.due, s.head = true, from.HeadSum()
}

// remove drops a segment.
func (h *held) remove(p *Pool, s seat) {
	i := h.find(s.seq)
	for i == len(h.segs) || h.segs[i].segment != s.segment {
		i = (i + 1) % len(h.segs)
	}
	h.bytes -= len(s.buf)
	h.segs, h.solid = slices.Delete(h.segs, i, i+1), [2]uint32{}
	p.drop(s.segment)
}

// prune drops the segments before a place.
func (h *held) prune(p *Pool, base uint32) {
	n := 0
	for n < len(h.segs) && After(base, h.segs[n].seq) {
		n++
	}
	if n == 0 {
		return
	}
	for i := n - 1; i >= 0; i-- {
		if s := h.segs[i]; After(s.end, base) {
			n--
			h.segs[n] = s
		} else {
			h.bytes -= len(s.buf)
			p.drop(s.segment)
		}
	}
	h.solid = [2]uint32{}
	if n > len(h.segs)/2 || len(h.segs) < 64 {
		h.segs = slices.Delete(h.segs, 0, n)
	} else { // there are many, and few go
		clear(h.segs[:n])
		h.segs = h.segs[n:]
	}
	if len(h.segs) == 0 {
		h.longest = 0
	}
}

// covered returns the end of the bytes that are held without a hole from a place on, at most limit of them, of those segments
// that came no later than order.
func (h *held) covered(at uint32, limit int, order uint64) uint32 {
	end := at
	for _, s := range h.over(at, at+uint32(limit)) {
		if After(s.seq, end) {
			break
		}
		if After(s.end, end) && s.order <= order {
			end = s.end
		}
	}
	return at + min(end-at, uint32(limit))
}

// unbroken is covered for all segments, at a place where it is asked for again and again.
func (h *held) unbroken(at uint32, limit int) uint32 {
	if h.solid[0] != at || h.solid[1] == at {
		h.solid = [2]uint32{at, h.covered(at, limit, math.MaxUint64)}
	}
	return h.solid[1]
}

// Like tells whether a packet is like those that were authenticated; false if there were none.
func (c Class) Like(usual Class) bool {
	return usual.Known && c.TTL == usual.TTL && c.Stamped == usual.Stamped &&
		(usual.Sum != packet.SumGood || c.Sum == packet.SumGood)
}

// crowded tells whether there are too many segments within the length of a record to take another one, of n bytes. If it counts more than
// the worst of the next few of these, that one goes: what is least like the rest, then the smallest.
func (h *held) crowded(p *Pool, whole bool, seq uint32, n int, of *source, usual Class) bool {
	near := h.segs
	if !whole && len(near) >= maxCrowd {
		j := h.find(seq + maxRecord/2)
		near = near[min(h.find(seq-maxRecord/2), j):j]
	}
	if len(near) < maxCrowd {
		return false
	}
	const few = 16
	var worst seat
	rank := of.Class().rank(usual)
	for range few {
		h.hand = (h.hand + 1) % len(near)
		s := near[h.hand]
		x := s.Class().rank(usual)
		if x < rank || x == rank && len(s.buf) < n {
			worst, rank, n = s, x, len(s.buf)
		}
	}
	if worst.segment == nil {
		return true
	}
	h.remove(p, worst)
	return false
}

// joins adds bytes to the last segment, if there are many, both are small, alike and follow on each other, and nothing
// came in between: not of the other side either, of which the last came when other says.
func (h *held) joins(p *Pool, seq uint32, of *source, order, other uint64, data []byte) bool {
	n := len(h.segs)
	if n < maxCrowd/2 {
		return false
	}
	s := &h.segs[n-1]
	follows := s.end == seq && s.order == h.newest && other <= s.order
	if !follows || len(s.buf)+len(data) > cap(s.buf) || cap(s.buf) > sizes[1] || s.Class() != of.Class() {
		return false
	}
	s.buf = append(s.buf, data...)
	s.end += uint32(len(data))
	h.solid = [2]uint32{}
	h.bytes += len(data)
	h.newest, s.order, h.longest = order, order, max(h.longest, len(s.buf))
	return true
}

// ends tells whether nothing is held behind a place, or with a hole before it.
func (h *held) ends(at uint32) bool {
	n := len(h.segs)
	return n == 0 || h.segs[n-1].end == at
}
