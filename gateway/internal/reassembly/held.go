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

// segmentBytes is what a segment takes besides its buffer, and its places in lists.
const segmentBytes = int(unsafe.Sizeof(segment{})) + 6*8

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
	b := p.buffer(len(data))
	return b[:copy(b, data)]
}

// buffer returns one for n bytes.
func (p *Pool) buffer(n int) []byte {
	size, class := sizeOf(n)
	p.Held += size + segmentBytes
	if class >= 0 {
		if f := p.free[class]; len(f) > 0 {
			p.free[class] = f[:len(f)-1]
			return f[len(f)-1][:size]
		}
	}
	return make([]byte, size)
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
	segs   []*segment // of the pool
	bytes  int
	far    []far    // a heap of segments further ahead than all of segs, except those that reach over
	beside int      // bytes of these
	newest uint64   // when the last one came
	tops   []uint32 // no segment of a block ends after its top
	stale  bool     // tops are not right
	// There is no hole between these two places, if they differ.
	solid [2]uint32
}

// What one direction has at hand: see keep.
const (
	MaxBytes    = 1 << 20
	MaxSegments = 1024
	// And as many are far: 23 MB of segments of 1,400 bytes.
	MaxFar = 1 << 14
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

// Segments of a block, which are skipped together if they end too early.
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
	// Of the copies held for the same place, without small ones, which may lie beside each other: their number, and the last of
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

// made returns a segment that is in none of the lists.
func (h *held) made(p *Pool, seq uint32, class Class, order uint64, mark int64, data []byte) (s *segment) {
	if n := len(p.segs); n > 0 {
		s, p.segs = p.segs[n-1], p.segs[:n-1]
	} else {
		s = new(segment)
	}
	s.seq, s.class, s.due, s.order, s.mark, s.buf = seq, class, false, order, mark, p.take(data)
	h.newest = max(h.newest, order)
	return s
}

func (h *held) insert(p *Pool, seq uint32, class Class, order uint64, mark int64, data []byte) *segment {
	s := h.made(p, seq, class, order, mark, data)
	h.bytes += len(data)
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

// prune drops the segments before a place.
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

// Like tells whether a packet is like those that were authenticated; false if there were none.
func (c Class) Like(usual Class) bool {
	return usual.Known && c.TTL == usual.TTL && c.Stamped == usual.Stamped &&
		(usual.Sum != packet.SumGood || c.Sum == packet.SumGood)
}

// empty tells whether nothing is held.
func (h *held) empty() bool { return len(h.segs)+len(h.far) == 0 }

// all returns how many bytes are held.
func (h *held) all() int { return h.bytes + h.beside }

// full tells whether n more bytes are too much to have at hand.
func (h *held) full(n int) bool {
	return h.bytes+n > MaxBytes && len(h.segs) > 0 || len(h.segs) >= MaxSegments
}

// beyond tells whether a place is behind the nearest that is far.
func (h *held) beyond(seq uint32) bool { return len(h.far) > 0 && !After(h.far[0].seq, seq) }

// A far is a segment that is, with its place beside it.
type far struct {
	seq uint32
	*segment
}

// before is the order of the heap.
func (s *far) before(o *far) bool {
	return After(o.seq, s.seq) || o.seq == s.seq && s.order < o.order
}

// later puts a segment among those that are far. Where these are too many, it takes the place of a smaller one, or goes
// itself. It returns how many went.
func (h *held) later(p *Pool, s *segment) (gone uint64) {
	if h.crowded(len(s.buf)) {
		p.drop(s)
		return 1
	} else if len(h.far) >= MaxFar {
		h.letGo(p)
		gone = 1
	}
	h.beside += len(s.buf)
	h.far = append(h.far, far{s.seq, s})
	for i := len(h.far) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.far[i].before(&h.far[up]) {
			break
		}
		h.far[i], h.far[up] = h.far[up], h.far[i]
		i = up
	}
	return gone
}

// crowded tells whether there is no place for a segment of n bytes among those that are far.
func (h *held) crowded(n int) bool {
	return len(h.far) >= MaxFar && len(h.far[len(h.far)-1].buf) >= n
}

// nearest takes the first of those that are far.
func (h *held) nearest() *segment {
	s, n := h.far[0].segment, len(h.far)-1
	h.beside -= len(s.buf)
	h.far[0], h.far[n] = h.far[n], far{}
	h.far = h.far[:n]
	for i := 0; ; {
		down := 2*i + 1
		if down+1 < n && h.far[down+1].before(&h.far[down]) {
			down++
		}
		if down >= n || !h.far[down].before(&h.far[i]) {
			return s
		}
		h.far[i], h.far[down] = h.far[down], h.far[i]
		i = down
	}
}

// spill makes the last half of the segments at hand far, except those that begin before a place. It returns false if these are
// nearly all. It also returns how many were dropped because too many are far.
func (h *held) spill(p *Pool, from uint32) (ok bool, gone uint64) {
	n := len(h.segs) / 2
	for n < len(h.segs) && !After(h.segs[n].seq, from) {
		n++
	}
	if n > len(h.segs)*7/8 {
		return false, 0
	}
	for i, s := range h.segs[n:] {
		h.bytes -= len(s.buf)
		gone += h.later(p, s)
		h.segs[n+i] = nil
	}
	h.segs = h.segs[:n]
	h.stale, h.solid = true, [2]uint32{}
	return true, gone
}

// letGo drops one of those that are furthest ahead.
func (h *held) letGo(p *Pool) {
	if n := len(h.far) - 1; n >= 0 {
		h.beside -= len(h.far[n].buf)
		p.drop(h.far[n].segment)
		h.far[n], h.far = far{}, h.far[:n]
	} else {
		h.remove(p, len(h.segs)-1)
	}
}

// joins adds bytes to the last segment, if there are many, both are small, alike and follow on each other, and nothing
// came in between: not of the other side either, of which the last came when other says.
func (h *held) joins(p *Pool, seq uint32, of *source, order, other uint64, data []byte) bool {
	n := len(h.segs)
	if n < MaxSegments/2 {
		return false
	}
	s := h.segs[n-1]
	follows := s.end() == seq && s.order == h.newest && other <= s.order
	if !follows || len(s.buf)+len(data) > sizes[1] || s.Class() != of.Class() || !p.room(len(data)) {
		return false
	}
	if old := s.buf; len(old)+len(data) > cap(old) {
		s.buf = p.buffer(len(old) + len(data))
		s.buf = s.buf[:copy(s.buf, old)]
		p.give(old)
	}
	s.buf = append(s.buf, data...)
	h.bytes += len(data)
	h.newest, s.order = order, order
	h.reaches(n - 1)
	h.top(n - 1)
	return true
}

// ends tells whether nothing is held behind a place, or with a hole before it.
func (h *held) ends(at uint32) bool {
	n := len(h.segs)
	return n == 0 || h.segs[n-1].end() == at
}
