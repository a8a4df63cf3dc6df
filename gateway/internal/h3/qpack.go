package h3

import (
	"errors"

	"golang.org/x/net/http2/hpack"
)

// A field is a line of a header.
type field struct{ name, value string }

// size returns its size in the dynamic table (RFC 9204, section 3.2.1).
func (f *field) size() int { return len(f.name) + len(f.value) + 32 }

// Errors of QPACK. errBlocked means that entries are missing that may still arrive.
var (
	errQPACK   = errors.New("h3: QPACK cannot be read")
	errBlocked = errors.New("h3: entries of the dynamic table are missing")
)

// maxTable is the largest dynamic table. Endpoints offer 4 to 64 KiB.
const maxTable = 256 << 10

// A table is the dynamic table of one direction, built from its encoder stream (RFC 9204, section 3.2). quic-go's QPACK
// module has no dynamic table, so QPACK is implemented here.
type table struct {
	entries  []field
	dropped  uint64 // number of dropped entries
	bytes    int
	capacity int
	most     int // the largest capacity so far; used if the decoder's setting was not seen
	partial  []byte
	broken   bool
}

// inserted returns the number of entries inserted so far.
func (t *table) inserted() uint64 { return t.dropped + uint64(len(t.entries)) }

func (t *table) evict(to int) {
	n := 0
	for ; n < len(t.entries) && t.bytes > to; n++ {
		t.bytes -= t.entries[n].size()
	}
	clear(t.entries[:n])
	t.entries = t.entries[n:]
	t.dropped += uint64(n)
}

// insert adds an entry.
func (t *table) insert(f field) bool {
	if f.size() > t.capacity {
		return false
	}
	t.evict(t.capacity - f.size())
	t.entries = append(t.entries, f)
	t.bytes += f.size()
	return true
}

// at returns the entry with an absolute index.
func (t *table) at(index uint64) (field, bool) {
	if index < t.dropped || index-t.dropped >= uint64(len(t.entries)) {
		return field{}, false
	}
	return t.entries[index-t.dropped], true
}

// instructions processes bytes of the encoder stream (RFC 9204, section 4.3).
func (t *table) instructions(b []byte) {
	if t.broken {
		return
	}
	if len(t.partial) > 0 {
		b = append(t.partial, b...)
	}
	for len(b) > 0 {
		r := prefixed{b: b}
		ok := t.instruction(&r)
		if r.short && len(b) <= maxTable {
			break
		}
		if !ok || r.short {
			t.broken, t.partial = true, nil
			return
		}
		b = r.b
	}
	t.partial = append([]byte(nil), b...)
}

func (t *table) instruction(r *prefixed) bool {
	switch first := r.b[0]; {
	case first&0x80 != 0: // with an existing name
		static := first&0x40 != 0
		index := r.integer(6)
		value := r.text(7)
		if r.short || r.bad {
			return false
		}
		f, ok := t.relative(static, index)
		return ok && t.insert(field{f.name, value})
	case first&0x40 != 0: // with a new name
		name, value := r.text(5), r.text(7)
		return !r.short && !r.bad && t.insert(field{name, value})
	case first&0x20 != 0: // capacity
		n := r.integer(5)
		if r.short || r.bad || n > maxTable {
			return false
		}
		t.capacity = int(n)
		t.most = max(t.most, t.capacity)
		t.evict(t.capacity)
		return true
	default: // duplicate
		index := r.integer(5)
		if r.short || r.bad {
			return false
		}
		f, ok := t.relative(false, index)
		return ok && t.insert(f)
	}
}

// relative returns an entry by its distance from the newest.
func (t *table) relative(static bool, index uint64) (field, bool) {
	if static {
		if index >= uint64(len(staticTable)) {
			return field{}, false
		}
		return staticTable[index], true
	}
	if index >= t.inserted() {
		return field{}, false
	}
	return t.at(t.inserted() - 1 - index)
}

// maxHeader is the limit of a header's lines in bytes, counted as in the table.
const maxHeader = 256 << 10

// decode reads a field section (RFC 9204, section 4.5) with the table's entries. decoderMost is the largest table that
// the decoder has offered.
func (t *table) decode(b []byte, decoderMost uint64, each func(f field)) error {
	r := prefixed{b: b}
	encoded := r.integer(8)
	if r.short {
		return errQPACK
	}
	required := uint64(0)
	if encoded != 0 {
		entries := decoderMost / 32
		if entries == 0 {
			entries = uint64(t.most) / 32
		}
		if entries == 0 {
			return errBlocked
		}
		full := 2 * entries
		if encoded > full {
			return errQPACK
		}
		top := t.inserted() + entries
		required = top/full*full + encoded - 1
		if required > top {
			if required <= full {
				return errQPACK
			}
			required -= full
		}
		if required == 0 {
			return errQPACK
		}
	}
	if len(r.b) == 0 {
		return errQPACK
	}
	negative := r.b[0]&0x80 != 0
	base := r.integer(7)
	if r.short || r.bad {
		return errQPACK
	}
	if negative {
		if base >= required {
			return errQPACK
		}
		base = required - base - 1
	} else {
		base += required
	}
	if required > t.inserted() {
		return errBlocked
	}
	total := 0
	for len(r.b) > 0 {
		f, ok := t.line(&r, base)
		if total += f.size(); !ok || r.short || r.bad || total > maxHeader {
			return errQPACK
		}
		each(f)
	}
	return nil
}

func (t *table) line(r *prefixed, base uint64) (f field, ok bool) {
	before := func(index uint64) (field, bool) {
		if index >= base {
			return field{}, false
		}
		return t.at(base - 1 - index)
	}
	switch first := r.b[0]; {
	case first&0x80 != 0:
		index := r.integer(6)
		if first&0x40 != 0 {
			return t.relative(true, index)
		}
		return before(index)
	case first&0x40 != 0:
		if index := r.integer(4); first&0x10 != 0 {
			f, ok = t.relative(true, index)
		} else {
			f, ok = before(index)
		}
		f.value = r.text(7)
		return f, ok
	case first&0x20 != 0:
		return field{r.text(3), r.text(7)}, true
	case first&0x10 != 0:
		return t.at(base + r.integer(4))
	default:
		f, ok = t.at(base + r.integer(3))
		f.value = r.text(7)
		return f, ok
	}
}

// prefixed reads integers and strings that start within a byte (RFC 9204, section 4.1).
type prefixed struct {
	b          []byte
	short, bad bool
}

func (r *prefixed) integer(bits uint) uint64 {
	if len(r.b) == 0 {
		r.short = true
		return 0
	}
	mask := uint64(1)<<bits - 1
	n := uint64(r.b[0]) & mask
	r.b = r.b[1:]
	if n < mask {
		return n
	}
	for shift := uint(0); ; shift += 7 {
		if len(r.b) == 0 {
			r.short = true
			return 0
		}
		x := r.b[0]
		r.b = r.b[1:]
		if shift > 55 {
			r.bad = true
			return 0
		}
		n += uint64(x&0x7f) << shift
		if x&0x80 == 0 {
			return n
		}
	}
}

// text reads a string. Its length starts in the low bits of the first byte; the next higher bit means Huffman coding.
func (r *prefixed) text(bits uint) string {
	if len(r.b) == 0 {
		r.short = true
		return ""
	}
	huffman := r.b[0]>>bits&1 != 0
	n := r.integer(bits)
	if r.short || r.bad {
		return ""
	}
	if n > maxTable {
		r.bad = true
		return ""
	}
	if n > uint64(len(r.b)) {
		r.short = true
		return ""
	}
	b := r.b[:n]
	r.b = r.b[n:]
	if !huffman {
		return string(b)
	}
	s, err := hpack.HuffmanDecodeToString(b)
	r.bad = r.bad || err != nil
	return s
}
