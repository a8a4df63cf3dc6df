// Package capture reads pcap and pcapng files and streams in large blocks.
package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/sealane/sealane/gateway/internal/packet"
)

// A Frame is a captured packet. Data points into the Block that it was read into.
type Frame struct {
	Time int64 // nanoseconds since 1970
	Data []byte
	Link packet.LinkType
}

// A Block is memory with frames in it. Its zero value is ready for use. It can be reused when its frames are no longer
// needed.
type Block struct {
	Frames []Frame
	buf    []byte
}

const (
	blockBytes = 256 << 10
	// The longest frames are those of Linux's BIG TCP, 512 KiB. A longer length means corruption.
	maxFrame = 1 << 20
	// Longer pcapng blocks without packets are skipped.
	maxOther = 16 << 20
)

// ErrTruncated means that the capture ends within a packet. All earlier packets have been read.
var ErrTruncated = errors.New("capture ends within a packet")

// A Reader reads a capture. It is not safe for concurrent use.
type Reader struct {
	// Secrets, if set, gets each decryption secrets block of a pcapng capture that holds a TLS key log. It is called
	// between blocks: the frames of the next Block may need the keys.
	Secrets func(keyLog []byte)

	// Frames, if set, gets the frames of each block.
	Frames func([]Frame)

	// Read is the number of bytes read so far.
	Read int64

	r       io.Reader
	rest    []byte // read but not parsed, in the memory of the last block
	ended   bool
	pcapng  bool
	order   binary.ByteOrder
	little  bool
	link    packet.LinkType
	perUnit int64 // pcap: nanoseconds per unit of the fraction
	faces   []face
	discard int64
	stopped bool // parsing stopped before it needed more input
}

type face struct {
	link   packet.LinkType
	snap   uint32
	scale  timescale
	offset int64
}

// timescale converts units of a power of ten or two to nanoseconds.
type timescale struct {
	mul   uint64
	div   uint64
	shift uint8
	units uint64 // per second
}

// NewReader returns a reader for a pcap or pcapng capture; the first bytes tell the format.
func NewReader(r io.Reader) (*Reader, error) {
	c := &Reader{r: r}
	var head [24]byte
	n, err := io.ReadFull(r, head[:4])
	c.Read = int64(n)
	if err != nil {
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil, errors.New("not a capture: it is empty")
		}
		return nil, err
	}
	switch binary.LittleEndian.Uint32(head[:]) {
	case 0xa1b2c3d4:
		c.order, c.perUnit, c.little = binary.LittleEndian, 1000, true
	case 0xa1b23c4d:
		c.order, c.perUnit, c.little = binary.LittleEndian, 1, true
	case 0xd4c3b2a1:
		c.order, c.perUnit = binary.BigEndian, 1000
	case 0x4d3cb2a1:
		c.order, c.perUnit = binary.BigEndian, 1
	case 0x0a0d0d0a:
		c.pcapng = true
		c.rest = append(make([]byte, 0, 4), head[:4]...)
		return c, nil
	default:
		return nil, fmt.Errorf("neither pcap nor pcapng: it begins with %#x", head[:4])
	}
	n, err = io.ReadFull(r, head[4:])
	c.Read += int64(n)
	if err != nil {
		return nil, fmt.Errorf("pcap header: %w", err)
	}
	c.link = packet.LinkType(c.order.Uint32(head[20:]) & 0xffff)
	return c, nil
}

// ReadBlock replaces the contents of b with the next frames. It returns io.EOF, with no frames, at the end.
func (c *Reader) ReadBlock(b *Block) error {
	b.Frames = b.Frames[:0]
	for {
		if err := c.fill(b); err != nil {
			return err
		}
		data := c.rest
		var used int
		var err error
		if c.pcapng {
			used, err = c.parsePcapng(b, data)
		} else {
			used, err = c.parsePcap(b, data)
		}
		c.rest = data[used:]
		if len(b.Frames) > 0 {
			// An error after these frames is returned by the next call, which encounters it again.
			if c.Frames != nil {
				c.Frames(b.Frames)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if c.ended && len(c.rest) == 0 {
			return io.EOF
		}
		if c.ended && used == 0 {
			c.rest = nil
			return ErrTruncated
		}
	}
}

// fill puts the rest and more input into b's memory.
func (c *Reader) fill(b *Block) error {
	if cap(b.buf) < len(c.rest)+blockBytes/2 {
		b.buf = make([]byte, max(blockBytes, len(c.rest)+blockBytes))
	}
	b.buf = b.buf[:cap(b.buf)]
	n := copy(b.buf, c.rest)
	for !c.ended && !c.stopped {
		m, err := c.r.Read(b.buf[n:])
		c.Read += int64(m)
		if c.discard > 0 {
			skip := int(min(c.discard, int64(m)))
			c.discard -= int64(skip)
			copy(b.buf[n:], b.buf[n+skip:n+m])
			m -= skip
		}
		n += m
		if err == io.EOF {
			c.ended = true
		} else if err != nil {
			return err
		}
		// A pipe returns the available data, so it is used without waiting for more.
		if m > 0 {
			break
		}
	}
	c.rest, c.stopped = b.buf[:n], false
	return nil
}

func (c *Reader) parsePcap(b *Block, data []byte) (used int, err error) {
	for len(data)-used >= 16 {
		h := data[used:]
		var sec, frac, size uint32
		if c.little {
			sec, frac, size = binary.LittleEndian.Uint32(h), binary.LittleEndian.Uint32(h[4:]), binary.LittleEndian.Uint32(h[8:])
		} else {
			sec, frac, size = binary.BigEndian.Uint32(h), binary.BigEndian.Uint32(h[4:]), binary.BigEndian.Uint32(h[8:])
		}
		if size > maxFrame {
			return used, fmt.Errorf("corrupt capture: a packet of %d bytes, the limit is %d", size, maxFrame)
		}
		end := 16 + int(size)
		if len(h) < end {
			return used, nil
		}
		b.Frames = append(b.Frames, Frame{
			Time: int64(sec)*1e9 + int64(frac)*c.perUnit,
			Data: h[16:end:end],
			Link: c.link,
		})
		used += end
	}
	return used, nil
}

// Block types of pcapng.
const (
	blockSection   = 0x0a0d0d0a
	blockInterface = 1
	blockPacket    = 2
	blockSimple    = 3
	blockEnhanced  = 6
	blockSecrets   = 10
)

// secretsTLS is "TLSK": the secrets are an NSS key log.
const secretsTLS = 0x544c534b

func (c *Reader) parsePcapng(b *Block, data []byte) (used int, err error) {
	for len(data)-used >= 12 {
		h := data[used:]
		kind := binary.LittleEndian.Uint32(h)
		if kind == blockSection {
			switch binary.LittleEndian.Uint32(h[8:]) {
			case 0x1a2b3c4d:
				c.order = binary.LittleEndian
			case 0x4d3c2b1a:
				c.order = binary.BigEndian
			default:
				return used, fmt.Errorf("corrupt capture: byte order magic %#x", h[8:12])
			}
		} else {
			kind = c.order.Uint32(h)
		}
		total := c.order.Uint32(h[4:])
		if total < 12 || total%4 != 0 {
			return used, fmt.Errorf("corrupt capture: a block of %d bytes", total)
		}
		if total > maxOther {
			if kind == blockEnhanced || kind == blockPacket || kind == blockSimple || kind == blockSection {
				return used, fmt.Errorf("corrupt capture: a block of %d bytes, the limit is %d", total, maxOther)
			}
			skip := min(int(total), len(h))
			c.discard = int64(total) - int64(skip)
			used += skip
			continue
		}
		size := int(total)
		if len(h) < size {
			return used, nil
		}
		// Keys precede the packets that need them, so return the earlier frames first.
		if kind == blockSecrets && len(b.Frames) > 0 {
			c.stopped = true
			return used, nil
		}
		if err := c.block(b, kind, h[8:size-4]); err != nil {
			return used, err
		}
		used += size
	}
	return used, nil
}

func (c *Reader) block(b *Block, kind uint32, body []byte) error {
	o := c.order
	switch kind {
	case blockSection:
		c.faces = c.faces[:0]
	case blockInterface:
		if len(body) < 8 {
			return errors.New("corrupt capture: a short interface block")
		}
		if len(c.faces) >= 1<<16 {
			return errors.New("corrupt capture: more than 65536 interfaces")
		}
		f := face{link: packet.LinkType(o.Uint16(body)), snap: o.Uint32(body[4:])}
		f.resolution(6)
		c.options(body[8:], func(code uint16, value []byte) {
			switch {
			case code == 9 && len(value) >= 1:
				f.resolution(value[0])
			case code == 14 && len(value) >= 8:
				f.offset = int64(o.Uint64(value))
			}
		})
		c.faces = append(c.faces, f)
	case blockEnhanced, blockPacket:
		if len(body) < 20 {
			return errors.New("corrupt capture: a short packet block")
		}
		id := o.Uint32(body)
		if kind == blockPacket {
			id = uint32(o.Uint16(body))
		}
		size := o.Uint32(body[12:])
		if uint64(size) > uint64(len(body)-20) || size > maxFrame {
			return fmt.Errorf("corrupt capture: a packet of %d bytes in a block of %d", size, len(body)+12)
		}
		if uint64(id) >= uint64(len(c.faces)) {
			return fmt.Errorf("corrupt capture: a packet of interface %d, and there are %d", id, len(c.faces))
		}
		f := &c.faces[id]
		stamp := uint64(o.Uint32(body[4:]))<<32 | uint64(o.Uint32(body[8:]))
		b.Frames = append(b.Frames, Frame{
			Time: f.scale.nanoseconds(stamp) + f.offset*1e9,
			Data: body[20 : 20+size : 20+size],
			Link: f.link,
		})
	case blockSimple:
		if len(body) < 4 || len(c.faces) == 0 {
			return errors.New("corrupt capture: a simple packet block without interface or length")
		}
		size := min(o.Uint32(body), uint32(len(body)-4))
		if snap := c.faces[0].snap; snap != 0 {
			size = min(size, snap)
		}
		b.Frames = append(b.Frames, Frame{Data: body[4 : 4+size : 4+size], Link: c.faces[0].link})
	case blockSecrets:
		if len(body) < 8 {
			return errors.New("corrupt capture: a short secrets block")
		}
		size := o.Uint32(body[4:])
		if uint64(size) > uint64(len(body)-8) {
			return fmt.Errorf("corrupt capture: %d bytes of secrets in a block of %d", size, len(body)+12)
		}
		if o.Uint32(body) == secretsTLS && c.Secrets != nil {
			c.Secrets(body[8 : 8+size])
		}
	}
	return nil
}

func (c *Reader) options(b []byte, each func(code uint16, value []byte)) {
	for len(b) >= 4 {
		code, size := c.order.Uint16(b), int(c.order.Uint16(b[2:]))
		padded := (size + 3) &^ 3
		if code == 0 || len(b) < 4+padded {
			return
		}
		each(code, b[4:4+size])
		b = b[4+padded:]
	}
}

// resolution parses if_tsresol: a negative power of ten or, with the highest bit set, of two.
func (f *face) resolution(v uint8) {
	switch {
	case v&0x80 != 0:
		f.scale = timescale{shift: min(v&0x7f, 63), units: 1 << min(v&0x7f, 63)}
	case v <= 9:
		f.scale = timescale{mul: pow10(9 - v), units: pow10(v)}
	default:
		f.scale = timescale{div: pow10(min(v, 19) - 9), units: pow10(min(v, 19))}
	}
}

func pow10(n uint8) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}

func (t *timescale) nanoseconds(stamp uint64) int64 {
	sec, frac := stamp/t.units, stamp%t.units
	var ns uint64
	switch {
	case t.mul != 0:
		ns = frac * t.mul
	case t.div != 0:
		ns = frac / t.div
	default:
		ns = uint64(float64(frac) / math.Ldexp(1, int(t.shift)) * 1e9)
	}
	return int64(sec*1e9 + ns)
}
