package quic

import (
	"slices"
)

// Stream bytes come from authenticated packets, so only their sender can contradict them; then the first copy counts.

const (
	pieceCost  = 64       // memory of a piece in addition to its bytes
	pieceBytes = 64 << 10 // approximate size of a piece
	maxPieces  = 256      // per stream, which limits the work for a frame
)

// A piece is held until the bytes before it arrive.
type piece struct {
	offset uint64
	data   []byte
	time   int64 // arrival
}

func (p *piece) end() uint64 { return p.offset + uint64(len(p.data)) }

// An assembler orders the bytes of one direction of a stream.
type assembler struct {
	next  uint64 // bytes delivered or given up
	held  []piece
	size  uint64 // final size, if known
	known bool   // size is
	reset bool   // the sender has given up the rest
}

// done reports whether all bytes have been delivered.
func (a *assembler) done() bool { return a.known && a.next >= a.size || a.reset }

// insert adds bytes. It calls deliver for those that are next, and returns the change of the held bytes.
func (a *assembler) insert(offset uint64, data []byte, now int64, deliver func([]byte)) (grown int) {
	if a.known && offset+uint64(len(data)) > a.size {
		data = data[:max(a.size, offset)-offset] // the sender contradicts itself
	}
	if end := offset + uint64(len(data)); end <= a.next {
		return 0
	}
	if offset < a.next {
		data = data[a.next-offset:]
		offset = a.next
	}
	if offset == a.next {
		n := len(data)
		if len(a.held) > 0 && a.held[0].offset < offset+uint64(n) {
			n = int(a.held[0].offset - offset)
		}
		if n > 0 {
			a.next += uint64(n)
			deliver(data[:n])
		}
		if len(a.held) == 0 {
			return 0
		}
		grown = a.drain(deliver)
		if n < len(data) {
			return grown + a.insert(offset+uint64(n), data[n:], now, deliver)
		}
		return grown
	}
	i, _ := slices.BinarySearchFunc(a.held, offset, func(p piece, o uint64) int {
		if p.end() <= o {
			return -1
		}
		return 1
	})
	// held[i] is the first piece that ends after offset.
	for len(data) > 0 {
		if i < len(a.held) && a.held[i].offset <= offset {
			skip := min(a.held[i].end()-offset, uint64(len(data)))
			data, offset = data[skip:], offset+skip
			i++
			continue
		}
		n := uint64(len(data))
		if i < len(a.held) {
			n = min(n, a.held[i].offset-offset)
		}
		if i > 0 && a.held[i-1].end() == offset && len(a.held[i-1].data) < pieceBytes {
			p := &a.held[i-1]
			grown -= cap(p.data)
			p.data = append(p.data, data[:n]...)
			grown += cap(p.data)
		} else {
			p := piece{offset, append([]byte(nil), data[:n]...), now}
			a.held = slices.Insert(a.held, i, p)
			grown += cap(p.data) + pieceCost
			i++
		}
		data, offset = data[n:], offset+n
	}
	return grown
}

// drain delivers the pieces that are next, and returns the change of the held bytes, which is negative.
func (a *assembler) drain(deliver func([]byte)) (grown int) {
	n := 0
	for n < len(a.held) && a.held[n].offset <= a.next {
		p := &a.held[n]
		if p.end() > a.next {
			data := p.data[a.next-p.offset:]
			a.next = p.end()
			deliver(data)
		}
		grown -= cap(p.data) + pieceCost
		clear(p.data)
		p.data = nil
		n++
	}
	if n == len(a.held) {
		a.held = nil
	} else {
		a.held = slices.Delete(a.held, 0, n)
	}
	return grown
}

// skip gives up the hole, and returns its length.
func (a *assembler) skip() uint64 {
	to := a.next
	switch {
	case len(a.held) > 0:
		to = a.held[0].offset
	case a.known:
		to = max(a.next, a.size)
	}
	n := to - a.next
	a.next = to
	return n
}

// drop discards the held bytes, and returns their change, which is negative.
func (a *assembler) drop() (grown int) {
	for i := range a.held {
		grown -= cap(a.held[i].data) + pieceCost
		clear(a.held[i].data)
	}
	a.held = nil
	return grown
}

// A span is the numbers from low up to but excluding high.
type span struct{ low, high uint64 }

// spans are numbers that do not occur again, such as those of ended streams. If there are too many holes between them,
// the first hole is included too.
type spans []span

const maxSpans = 1024

func (s spans) has(n uint64) bool {
	i, _ := slices.BinarySearchFunc(s, n, func(x span, n uint64) int {
		if x.high <= n {
			return -1
		}
		return 1
	})
	return i < len(s) && s[i].low <= n
}

func (s *spans) add(n uint64) {
	t := *s
	i, _ := slices.BinarySearchFunc(t, n, func(x span, n uint64) int {
		if x.high < n {
			return -1
		}
		return 1
	})
	switch {
	case i < len(t) && t[i].low <= n && n < t[i].high:
		return
	case i < len(t) && t[i].high == n:
		t[i].high++
		if i+1 < len(t) && t[i+1].low == t[i].high {
			t[i].high = t[i+1].high
			t = slices.Delete(t, i+1, i+2)
		}
	case i < len(t) && t[i].low == n+1:
		t[i].low--
	default:
		t = slices.Insert(t, i, span{n, n + 1})
		if len(t) > maxSpans {
			t[0].high = t[1].high
			t = slices.Delete(t, 1, 2)
		}
	}
	*s = t
}
