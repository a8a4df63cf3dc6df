// Package h3 reads HTTP/3 (RFC 9114) from the streams of a QUIC connection.
// It writes it as HTTP/2 (RFC 9113), which tools understand: one TCP connection, in which each request has a stream.
//
// Header blocks contain only static entries and literals, so a reader that joins late understands them. Settings,
// priorities and flow control have other meanings in HTTP/3, and are omitted.
package h3

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/net/http2/hpack"
)

var be = binary.BigEndian

// Stats are counters.
type Stats struct {
	Headers    uint64 // field sections
	Unreadable uint64 // of these, unreadable for QPACK: malformed, or parts of the dynamic table are missing
	Bytes      uint64 // of bodies
	Cut        uint64 // streams that could not be read further because data is missing or malformed
	Pushes     uint64 // server push streams, which are not delivered
}

// Roles.
const (
	client = 0
	server = 1
)

// Frames, stream types and settings of HTTP/3 (RFC 9114, section 7.2).
const (
	frameData     = 0
	frameHeaders  = 1
	frameSettings = 4

	typeControl = 0
	typePush    = 1
	typeEncoder = 2

	settingTable = 1 // SETTINGS_QPACK_MAX_TABLE_CAPACITY
)

// Frames of HTTP/2 (RFC 9113, section 6), and flags.
const (
	http2Data         = 0
	http2Headers      = 1
	http2Reset        = 3
	http2Settings     = 4
	http2Continuation = 9

	endStream  = 1
	endHeaders = 4

	http2Frame    = 1 << 14 // limit of a frame in bytes
	internalError = 2
)

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// A Conn is one connection. It belongs to one goroutine.
type Conn struct {
	// Emit receives the bytes of a side in HTTP/2. It does not keep them.
	Emit  func(role uint8, b []byte)
	Stats *Stats

	streams map[uint64]*stream
	tables  [2]table  // indexed by the side whose encoder stream makes them
	offered [2]uint64 // the largest table, by the reading side
	begun   [2]bool
	encoder [2]*hpack.Encoder
	block   bytes.Buffer
	out     []byte
	blocked [2][]uint64 // streams that wait for entries of a side's table
	held    int
}

// A stream has two halves.
type stream struct{ half [2]half }

// A half is one side of a stream.
type half struct {
	head   []byte // the start of a frame, or a whole frame if it is kept
	left   uint64 // remaining bytes of the frame
	kind   uint64 // type of the frame, or of a unidirectional stream
	state  state
	waits  bool // for entries of the dynamic table
	ended  bool // no more data will come
	reset  bool
	headed bool // a header was written
	over   bool // trailers were written, which end the stream
}

// A state is the next part of a half.
type state uint8

const (
	opening  state = iota // the type of a unidirectional stream
	framing               // type and length of a frame
	inFrame               // content of a frame
	encoding              // content of an encoder stream
	ignoring              // unused data
)

// maxKept is the limit of stream bytes that wait for entries of the dynamic table.
const maxKept = 4 << 20

// maxBlocked is the limit of such streams per side (RFC 9204, section 5: endpoints allow 100 or fewer).
const maxBlocked = 256

// New returns a connection.
func New(stats *Stats, emit func(role uint8, b []byte)) *Conn {
	c := &Conn{Emit: emit, Stats: stats, streams: make(map[uint64]*stream)}
	for role := range c.encoder {
		c.encoder[role] = hpack.NewEncoder(&c.block)
		c.encoder[role].SetMaxDynamicTableSize(0)
	}
	return c
}

// Held returns the number of bytes that the connection keeps.
func (c *Conn) Held() int { return c.held + c.tables[0].bytes + c.tables[1].bytes }

const oneWay = 2

func (c *Conn) find(n uint64) *stream {
	s := c.streams[n]
	if s == nil {
		s = new(stream)
		if n&oneWay == 0 {
			s.half[0].state, s.half[1].state = framing, framing
		}
		c.streams[n] = s
	}
	return s
}

// Data processes the next bytes of a stream.
func (c *Conn) Data(n uint64, role uint8, b []byte) {
	s := c.find(n)
	h := &s.half[role]
	if h.waits {
		if c.held+len(b) > maxKept {
			c.cut(n, role, h)
			return
		}
		c.keep(h, b)
		return
	}
	c.read(n, role, h, b)
}

// keep appends bytes to those that are kept.
func (c *Conn) keep(h *half, b []byte) {
	c.held -= cap(h.head)
	h.head = append(h.head, b...)
	c.held += cap(h.head)
}

func (c *Conn) drop(h *half) {
	c.held -= cap(h.head)
	h.head = nil
}

// cut gives up a half.
func (c *Conn) cut(n uint64, role uint8, h *half) {
	c.drop(h)
	h.waits = false
	if h.state == ignoring {
		return
	}
	h.state = ignoring
	c.Stats.Cut++
	if n&3 == 0 {
		c.reset(n, role, internalError)
	}
}

// read processes bytes in order.
func (c *Conn) read(n uint64, role uint8, h *half, b []byte) {
	for len(b) > 0 {
		switch h.state {
		case ignoring:
			return
		case opening, framing:
			had, from := len(h.head), b
			if had > 0 {
				c.keep(h, b[:min(len(b), 16-had)]) // two integers have at most 16 bytes
				from = h.head
			}
			kind, size := varint(from)
			length, more := uint64(0), 0
			if size > 0 && h.state == framing {
				length, more = varint(from[size:])
			}
			if size == 0 || h.state == framing && more == 0 {
				if had == 0 {
					c.keep(h, b)
				}
				return
			}
			b = b[size+more-had:]
			c.drop(h)
			if h.state == opening {
				c.open(h, kind)
				continue
			}
			h.kind, h.left, h.state = kind, length, inFrame
			if h.left > maxHeader && (h.kind == frameHeaders || h.kind == frameSettings) {
				c.cut(n, role, h)
				return
			}
			if h.left == 0 {
				h.state = framing
				c.frame(n, role, h, nil)
			}
		case encoding:
			c.table(role, b)
			return
		case inFrame:
			part := b[:min(uint64(len(b)), h.left)]
			b = b[len(part):]
			switch h.kind {
			case frameData:
				h.left -= uint64(len(part))
				if n&3 == 0 {
					if !h.headed {
						c.cut(n, role, h)
						return
					}
					c.body(n, role, part)
				}
			case frameHeaders, frameSettings:
				h.left -= uint64(len(part))
				if h.left > 0 || len(h.head) > 0 {
					c.keep(h, part)
					part = h.head
				}
				if h.left > 0 {
					return
				}
				if !c.frame(n, role, h, part) {
					// It waits, and so do the bytes after it.
					if len(h.head) == 0 {
						c.keep(h, part)
					}
					h.left = uint64(len(part))
					c.keep(h, b)
					h.waits = true
					c.blocked[role] = append(c.blocked[role], n)
					return
				}
				c.drop(h)
			default:
				h.left -= uint64(len(part))
			}
			if h.left == 0 {
				h.state = framing
			}
		}
	}
}

// open processes the type of a unidirectional stream.
func (c *Conn) open(h *half, kind uint64) {
	switch kind {
	case typeControl:
		h.state = framing
	case typeEncoder:
		h.state = encoding
	case typePush:
		c.Stats.Pushes++
		h.state = ignoring
	default:
		h.state = ignoring
	}
}

// table processes bytes of a side's encoder stream. Streams that wait for entries continue.
func (c *Conn) table(role uint8, b []byte) {
	c.tables[role].instructions(b)
	waiting := c.blocked[role]
	c.blocked[role] = nil
	for _, n := range waiting {
		s := c.streams[n]
		if s == nil || !s.half[role].waits {
			continue
		}
		h := &s.half[role]
		all, size := h.head, h.left
		h.head, h.waits = nil, false
		c.held -= cap(all)
		if !c.frame(n, role, h, all[:size]) {
			h.head, h.waits = all, true
			c.held += cap(all)
			c.blocked[role] = append(c.blocked[role], n)
			continue
		}
		h.left, h.state = 0, framing
		c.read(n, role, h, all[size:])
		if h.ended && !h.waits {
			c.end(n, role, h)
		}
		c.tidy(n, s)
	}
}

// frame processes a whole frame. It returns false if the frame waits for entries of the dynamic table.
func (c *Conn) frame(n uint64, role uint8, h *half, b []byte) bool {
	switch {
	case h.kind == frameSettings && n&oneWay != 0:
		for len(b) > 0 {
			id, k := varint(b)
			value, m := varint(b[k:])
			if k == 0 || m == 0 {
				break
			}
			if b = b[k+m:]; id == settingTable {
				c.offered[role] = min(value, maxTable)
			}
		}
	case h.kind == frameHeaders && n&3 == 0:
		return c.header(n, role, h, b)
	}
	return true
}

// header writes a field section as HEADERS.
func (c *Conn) header(n uint64, role uint8, h *half, b []byte) bool {
	c.block.Reset()
	e := c.encoder[role]
	trailers := h.headed
	err := c.tables[role].decode(b, c.offered[1-role], func(f field) {
		trailers = trailers && f.name[:min(len(f.name), 1)] != ":"
		e.WriteField(hpack.HeaderField{Name: f.name, Value: f.value})
	})
	if err == errBlocked && !c.tables[role].broken && len(c.blocked[role]) < maxBlocked {
		return false
	}
	c.Stats.Headers++
	if err != nil {
		c.Stats.Unreadable++
		c.cut(n, role, h)
		return true
	}
	c.begin(role)
	h.headed, h.over = true, trailers
	block := c.block.Bytes()
	flags := uint8(0)
	if trailers {
		flags = endStream
	}
	for kind := uint8(http2Headers); ; kind, flags = http2Continuation, 0 {
		part := block[:min(len(block), http2Frame)]
		block = block[len(part):]
		if len(block) == 0 {
			flags |= endHeaders
		}
		c.put(role, kind, flags, n, part)
		if len(block) == 0 {
			return true
		}
	}
}

// body writes bytes as DATA.
func (c *Conn) body(n uint64, role uint8, b []byte) {
	c.Stats.Bytes += uint64(len(b))
	c.begin(role)
	for len(b) > 0 {
		part := b[:min(len(b), http2Frame)]
		b = b[len(part):]
		c.put(role, http2Data, 0, n, part)
	}
}

func (c *Conn) reset(n uint64, role uint8, code uint32) {
	c.begin(role)
	c.put(role, http2Reset, 0, n, be.AppendUint32(nil, code))
}

// begin writes the start of an HTTP/2 connection: the client's preface, and empty settings.
func (c *Conn) begin(role uint8) {
	if c.begun[role] {
		return
	}
	if role == server {
		c.begin(client)
	}
	c.begun[role] = true
	c.out = c.out[:0]
	if role == client {
		c.out = append(c.out, preface...)
	}
	c.out = append(c.out, 0, 0, 0, http2Settings, 0, 0, 0, 0, 0)
	c.Emit(role, c.out)
}

// put writes a frame.
func (c *Conn) put(role uint8, kind, flags uint8, n uint64, b []byte) {
	// HTTP/2 streams of the client have odd numbers.
	id := uint32(n/2+1) & (1<<31 - 1)
	c.out = append(c.out[:0], byte(len(b)>>16), byte(len(b)>>8), byte(len(b)), kind, flags)
	c.out = append(be.AppendUint32(c.out, id), b...)
	c.Emit(role, c.out)
}

// Lost reports missing bytes of a stream. Later bytes are not read.
func (c *Conn) Lost(n uint64, role uint8) {
	s := c.find(n)
	if s.half[role].state == encoding {
		c.tables[role].broken = true
		c.table(role, nil) // waiting streams fail
	}
	c.cut(n, role, &s.half[role])
}

// End reports the end of a side's data, possibly by a reset of the stream.
func (c *Conn) End(n uint64, role uint8, reset bool) {
	s := c.find(n)
	h := &s.half[role]
	if h.ended {
		return
	}
	h.ended, h.reset = true, reset
	if !h.waits {
		c.end(n, role, h)
	}
	c.tidy(n, s)
}

func (c *Conn) end(n uint64, role uint8, h *half) {
	const cancelled = 8
	switch {
	case n&3 != 0 || h.state == ignoring:
	case h.reset:
		c.reset(n, role, cancelled)
	case h.headed && !h.over:
		c.put(role, http2Data, endStream, n, nil)
	}
}

// tidy removes a stream that has ended.
func (c *Conn) tidy(n uint64, s *stream) {
	for role := range s.half {
		h := &s.half[role]
		if h.waits || !h.ended && (n&oneWay == 0 || uint64(role) == n&1) {
			return
		}
	}
	c.drop(&s.half[0])
	c.drop(&s.half[1])
	delete(c.streams, n)
}

// varint reads a variable-length integer (RFC 9000, section 16), and returns its size in bytes, or 0 if it is
// incomplete.
func varint(b []byte) (n uint64, size int) {
	if len(b) == 0 {
		return 0, 0
	}
	size = 1 << (b[0] >> 6)
	if len(b) < size {
		return 0, 0
	}
	n = uint64(b[0] & 0x3f)
	for _, x := range b[1:size] {
		n = n<<8 | uint64(x)
	}
	return n, size
}
