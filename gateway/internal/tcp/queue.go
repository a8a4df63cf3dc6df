// Package tcp keeps segments that came before their turn.
package tcp

import "bytes"

// After tells whether sequence number a comes after b (RFC 9293, section 3.4).
func After(a, b uint32) bool { return int32(a-b) > 0 }

// A Pool recycles the memory of segments, and bounds it. It belongs to one core.
type Pool struct {
	Limit int // bytes that all queues may hold
	Held  int
	free  [][]byte
}

const bufferBytes = 2048

func (p *Pool) take(data []byte) ([]byte, bool) {
	size := max(len(data), bufferBytes)
	if p.Held+size > p.Limit {
		return nil, false
	}
	p.Held += size
	if size == bufferBytes {
		if n := len(p.free); n > 0 {
			b := p.free[n-1]
			p.free = p.free[:n-1]
			return b[:copy(b[:bufferBytes], data)], true
		}
	}
	b := make([]byte, size)
	return b[:copy(b, data)], true
}

func (p *Pool) give(b []byte) {
	b = b[:0]
	p.Held -= cap(b)
	if cap(b) == bufferBytes && len(p.free) < 1<<14 {
		p.free = append(p.free, b)
	}
}

type segment struct {
	seq uint32
	buf []byte // of the pool
	off int    // bytes of it that are done with
}

func (s *segment) data() []byte { return s.buf[s.off:] }
func (s *segment) end() uint32  { return s.seq + uint32(len(s.buf)-s.off) }

// A Queue holds the segments of one direction that came before their turn, in order and without overlap.
//
// What is held stays, whatever comes for the same place: the first copy wins. Bytes delivered are never replaced either.
// A segment that is due is delivered whole, although parts of it may be held.
type Queue struct {
	Since int64 // when the oldest hole was seen; for the user
	segs  []segment
	bytes int
}

// Limits of one queue.
const (
	MaxBytes    = 1 << 20
	MaxSegments = 1024
	// MaxAhead is the largest window of TCP (RFC 7323, section 2.3). What is further ahead is not of this stream.
	MaxAhead = 1 << 30
)

// A Result is what became of a segment.
type Result uint8

// Results.
const (
	Kept Result = iota
	Repeated
	Conflict // kept in part or not at all; the bytes held for its place differ
	Full     // the queue or the pool has no room
)

// Empty tells whether nothing is held.
func (q *Queue) Empty() bool { return len(q.segs) == 0 }

// Bytes returns how many bytes are held.
func (q *Queue) Bytes() int { return q.bytes }

// Put holds a segment that lies ahead of what is due.
func (q *Queue) Put(p *Pool, seq uint32, data []byte) Result {
	result := Repeated
	for i := 0; len(data) > 0; i++ {
		if i < len(q.segs) && !After(q.segs[i].end(), seq) {
			continue
		}
		// Up to the next held segment, data is new.
		fresh := len(data)
		if i < len(q.segs) {
			fresh = 0
			if After(q.segs[i].seq, seq) {
				fresh = min(len(data), int(q.segs[i].seq-seq))
			}
		}
		if fresh > 0 {
			if q.bytes+fresh > MaxBytes || len(q.segs) >= MaxSegments {
				return Full
			}
			buf, ok := p.take(data[:fresh])
			if !ok {
				return Full
			}
			q.segs = append(q.segs, segment{})
			copy(q.segs[i+1:], q.segs[i:])
			q.segs[i] = segment{seq: seq, buf: buf}
			q.bytes += fresh
			seq += uint32(fresh)
			data = data[fresh:]
			if result == Repeated {
				result = Kept
			}
			continue
		}
		held := q.segs[i].data()[seq-q.segs[i].seq:]
		n := min(len(held), len(data))
		if !bytes.Equal(held[:n], data[:n]) {
			result = Conflict
		}
		seq += uint32(n)
		data = data[n:]
	}
	return result
}

// Next returns the bytes held for sequence number next, or nil. They are valid until Drop.
func (q *Queue) Next(p *Pool, next uint32) []byte {
	for len(q.segs) > 0 {
		s := &q.segs[0]
		if After(s.seq, next) {
			return nil
		}
		if After(s.end(), next) {
			n := int(next - s.seq)
			s.off += n
			s.seq = next
			q.bytes -= n
			return s.data()
		}
		q.Drop(p)
	}
	return nil
}

// Drop lets go of the first segment.
func (q *Queue) Drop(p *Pool) {
	q.bytes -= len(q.segs[0].data())
	p.give(q.segs[0].buf)
	n := copy(q.segs, q.segs[1:])
	q.segs[n] = segment{}
	q.segs = q.segs[:n]
}

// First returns the sequence number of the first byte held. There must be one.
func (q *Queue) First() uint32 { return q.segs[0].seq }

// Clear lets go of everything.
func (q *Queue) Clear(p *Pool) {
	for len(q.segs) > 0 {
		n := len(q.segs) - 1
		p.give(q.segs[n].buf)
		q.segs[n] = segment{}
		q.segs = q.segs[:n]
	}
	q.bytes = 0
}
