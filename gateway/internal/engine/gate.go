package engine

import (
	"bytes"
	"encoding/binary"

	"github.com/sealane/sealane/gateway/internal/capture"
	"github.com/sealane/sealane/gateway/internal/flow"
	"github.com/sealane/sealane/gateway/internal/held"
	"github.com/sealane/sealane/gateway/internal/packet"
	"github.com/sealane/sealane/gateway/internal/rules"
	"github.com/sealane/sealane/gateway/internal/tls"
)

// A closed gateway forwards only data that it has read. It does not forward segments. Once a record has opened, it
// sends the record's bytes in its own segments, which resemble the sender's last one. It keeps the bytes until they
// are acknowledged, and retransmits from there. So only authenticated data passes, byte for byte, whatever other
// copies existed.
//
//	direction is           what passes
//	starting               plaintext handshake records, once they are complete and plausible, at most 128 KiB
//	reading                each record after it has opened. Of an incomplete record, the available part if the rest does not arrive: the
//	                       sender may be waiting for an acknowledgement, and the receiver cannot use the part without the rest
//	waiting for keys       nothing
//	lost, not TLS          nothing, permanently
//	of no connection       nothing
//
// Segments without payload pass unchanged, except for FINs, which are sent after the data that they end, and for bytes between or after
// their headers. Traffic that a rule allows passes unchanged.

// A Way is a destination of frames, each with the header that capture.Whole describes. A frame must not change between
// Send and Flush.
type Way interface {
	Send(frame []byte)
	Room(n int) []byte
	Commit(n int, time int64)
	Flush()
}

// A Gate makes a Worker forward.
type Gate struct {
	Ways  [2]Way // indexed by the ring that a frame came from
	Rules *rules.Set
}

// GateStats count the actions of a gate.
type GateStats struct {
	Forwarded uint64 // frames that passed unchanged
	Sent      uint64 // segments with data that was read
	Resent    uint64 // of these, again
	Allowed   uint64 // frames with payload that a rule allowed
	Denied    uint64 // frames that a rule denied
	Refused   uint64 // frames that no rule allowed: neither TCP nor required by the link; fragments; tunnels
	Unread    uint64 // segments with payload of no connection, or of a lost or non-TLS one
	Early     uint64 // bytes of incomplete records that passed before the rest
	Shut      uint64 // directions that are permanently blocked
}

// Blocked returns the number of frames that were blocked and whose data will not pass later.
func (s *GateStats) Blocked() uint64 { return s.Denied + s.Refused + s.Unread }

const (
	// The limit of plaintext that passes before a record opens.
	maxPlain = 128 << 10
	// The limit of unacknowledged data kept for a direction.
	maxUnacknowledged = 4 << 20
	// How long the rest of a record may take before the available part passes.
	stallWait = 2e6
	// The size of super-frames that the kernel cuts into segments.
	maxSuper = 60000
)

// A passage is the gate's state for the data of a direction.
//
//	passage   data                      next states
//	unbegun   none was read yet         passing: a record was read
//	passing   is sent in segments       shut: the direction is lost; sent and read data differ; a rule lets everything pass unchanged
//	shut      is not the gate's         none
//	shut      is not the gate's         nothing
type passage uint8

const (
	unbegun passage = iota
	passing
	shut
)

// A gateHalf is one direction.
type gateHalf struct {
	partAt  uint32 // start of the record of which a part was last sent
	part    []byte // that part, including the available header
	sent    uint32 // everything before this was sent
	passage passage
	plain   int
	buf     []byte // read since the last call of settle
	mem     []byte // sent but not acknowledged
	memAt   uint32

	head    []byte // headers of the last segment with payload, from Ethernet to TCP options
	ip, tcp int
	mss     int // payload and options of the longest segment
	way     uint8
	known   bool // head is

	ack       uint32
	window    uint16
	fin       uint32
	finishing bool
	again     bool // data from againAt on was retransmitted
	againAt   uint32
	againEnd  uint32
	stalled   int64 // since when a record is incomplete, or 0
}

type gate struct {
	half   [2]gateHalf // by side of TLS
	rule   rules.Verdict
	named  bool // a server name decided
	dirty  bool
	listed bool // it is in stalled
	conn   *conn
}

// openGate gives a connection a gate.
func (w *Worker) openGate(c *conn) {
	var g *gate
	if n := len(w.freeGates); n > 0 {
		g = w.freeGates[n-1]
		w.freeGates = w.freeGates[:n-1]
	} else {
		g = new(gate)
	}
	p := rules.Of(&c.entry.Tuple)
	g.conn, g.rule = c, w.o.Gate.Rules.Packet(&p)
	c.gate = g
}

// closeGate sends the data that was read, and discards the rest.
func (w *Worker) closeGate(c *conn) {
	g := c.gate
	if g == nil {
		return
	}
	w.settleGate(g)
	c.gate, g.conn = nil, nil
	if !g.listed && !g.dirty {
		w.freeGate(g)
	}
}

func (w *Worker) freeGate(g *gate) {
	for i := range g.half {
		h := &g.half[i]
		w.gateBytes -= len(h.mem)
		*h = gateHalf{buf: h.buf[:0], mem: h.mem[:0], head: h.head[:0]}
		if cap(h.mem) > 64<<10 {
			h.mem = nil
		}
		if cap(h.buf) > 64<<10 {
			h.buf = nil
		}
	}
	*g = gate{half: g.half}
	if len(w.freeGates) < 1<<12 {
		w.freeGates = append(w.freeGates, g)
	}
}

// gateHello handles a ClientHello.
func (w *Worker) gateHello(c *conn, body []byte) {
	if g := c.gate; g != nil {
		p := rules.Of(&c.entry.Tuple)
		g.rule, g.named = w.o.Gate.Rules.Name(&p, tls.ServerName(body)), true
	}
}

func (w *Worker) gateRead(c *conn, side uint8, record []byte) {
	if g := c.gate; g != nil && g.half[side].passage != shut {
		h := &g.half[side]
		h.buf = append(h.buf, record...)
		w.dirtyGate(g)
	}
}

func (w *Worker) gateAgain(c *conn, side uint8) {
	if g := c.gate; g != nil {
		g.half[side].buf = g.half[side].buf[:0]
	}
}

func (w *Worker) dirtyGate(g *gate) {
	if !g.dirty {
		g.dirty = true
		w.dirty = append(w.dirty, g)
	}
}

// pass is called for each frame after it was read.
//
//	a frame                                          passes
//	that a rule denies, or allows                    not, or unchanged
//	without TCP in its own packet                    not
//	of no connection                                 without payload
//	of one: a SYN or RST, or neither payload nor FIN without payload; its information is recorded
//	of one: with payload or FIN                      not: settleGate sends the data that was read
func (w *Worker) pass(f *capture.Frame, s *packet.Segment, isTCP bool, hash uint64) {
	p, ip, tcp, ok := packet.OuterOf(f.Data)
	own := ok && isTCP && tcp != 0
	var c *conn
	if own {
		c = w.gated(s, hash)
	}
	rule := rules.None
	if c != nil {
		rule = c.gate.rule
	} else if ok {
		rule = w.o.Gate.Rules.Packet(&p)
	}
	switch {
	case rule == rules.Deny:
		w.Stats.Gate.Denied++
	case rule == rules.Allow:
		if c != nil && c.gate.named {
			// From here on, it is this connection. The data from before its name was known is sent first.
			w.handOver(c.gate)
		}
		w.Stats.Gate.Forwarded++
		if own && len(s.Payload) > 0 {
			w.Stats.Gate.Allowed++
		}
		w.o.Gate.Ways[w.Ring].Send(capture.Whole(f))
	case !own:
		w.Stats.Gate.Refused++
	case c != nil:
		w.noted(c, f, s, ip, tcp)
	case len(s.Payload) == 0 || s.Flags&packet.SYN != 0:
		w.withoutPayload(f, ip, tcp, len(s.Payload) > 0)
	default:
		w.Stats.Gate.Unread++
	}
}

// gated returns the connection of a segment, or nil.
func (w *Worker) gated(s *packet.Segment, hash uint64) *conn {
	e := w.table.Find(hash, &s.Tuple)
	if e != nil && e.Flags&flow.Renewing != 0 {
		// A segment far from one of them belongs to the other.
		if rival := w.rivalOf(e); rival != nil && rival.Conn != 0 && s.Seq-e.Next[s.Side]+farAway >= 2*farAway {
			e = rival
		}
	}
	if e == nil || e.Conn == 0 {
		return nil
	}
	return w.conn(e.Conn)
}

// noted records the fields of a segment for the segments that replace it.
func (w *Worker) noted(c *conn, f *capture.Frame, s *packet.Segment, ip, tcp int) {
	side := s.Side ^ c.client
	h, n := &c.gate.half[side], len(s.Payload)
	h.way = w.Ring
	if s.Flags&(packet.SYN|packet.RST) != 0 || n == 0 && s.Flags&packet.FIN == 0 {
		w.withoutPayload(f, ip, tcp, n > 0)
	}
	if s.Flags&packet.SYN != 0 {
		return
	}
	if s.Flags&packet.ACK != 0 {
		h.ack, h.window = s.Ack, binary.BigEndian.Uint16(f.Data[tcp+14:])
		w.acknowledged(&c.gate.half[1-side], s.Ack)
	}
	if n > 0 || !h.known {
		h.head, h.tcp = appendHeaders(h.head[:0], f.Data, ip, tcp)
		h.ip, h.known = ip, true
	}
	if n > 0 {
		size := n
		if v := capture.Whole(f); v[1] != 0 { // coalesced segments of this size
			size = min(n, int(binary.NativeEndian.Uint16(v[4:])))
		}
		h.mss = max(h.mss, size+int(f.Data[tcp+12]>>4)*4)
		if h.passage == shut {
			w.Stats.Gate.Unread++
		}
		h.repeated(s.Seq, s.Seq+uint32(n))
	}
	if s.Flags&packet.FIN != 0 {
		h.fin, h.finishing = s.Seq+uint32(n), true
	}
	w.dirtyGate(c.gate)
}

// repeated records a retransmission by the sender, if that data was sent.
func (h *gateHalf) repeated(from, to uint32) {
	if h.passage != passing || !held.After(h.sent, from) {
		return
	}
	if !h.again {
		h.again, h.againAt, h.againEnd = true, from, to
		return
	}
	if held.After(h.againAt, from) {
		h.againAt = from
	}
	if held.After(to, h.againEnd) {
		h.againEnd = to
	}
}

// appendHeaders appends the headers of a frame, from Ethernet to TCP options. It omits IPv4 options and IPv6 extension
// headers, which may contain kilobytes of unread data. It returns the offset of the TCP header.
func appendHeaders(to, frame []byte, ip, tcp int) ([]byte, int) {
	head := tcp + int(frame[tcp+12]>>4)*4
	if frame[ip]>>4 == 4 {
		to = append(to, frame[:ip+20]...)
		to[ip] = 4<<4 | 5
	} else {
		to = append(to, frame[:ip+40]...)
		to[ip+6] = 6
	}
	return append(to, frame[tcp:head]...), len(to)
}

// bare reports whether a frame has only these headers, and at most Ethernet padding.
func bare(frame []byte, ip, tcp int) bool {
	head := tcp + int(frame[tcp+12]>>4)*4
	if frame[ip]>>4 == 4 && tcp != ip+20 || frame[ip]>>4 == 6 && tcp != ip+40 || len(frame) > max(head, 60) {
		return false
	}
	for _, x := range frame[head:] {
		if x != 0 {
			return false
		}
	}
	return true
}

// withoutPayload forwards the headers of a segment.
func (w *Worker) withoutPayload(f *capture.Frame, ip, tcp int, payload bool) {
	way := w.o.Gate.Ways[w.Ring]
	w.Stats.Gate.Forwarded++
	if !payload && bare(f.Data, ip, tcp) {
		way.Send(capture.Whole(f))
		return
	}
	most := virtio + tcp + int(f.Data[tcp+12]>>4)*4
	b := way.Room(most)
	clear(b[:virtio])
	frame, tcp := appendHeaders(b[virtio:virtio], f.Data, ip, tcp)
	finishHeaders(frame, ip, tcp, 0)
	way.Commit(virtio+len(frame), f.Time)
}

const virtio = 10

// finishHeaders sets the lengths and checksums of a frame with n bytes of payload.
func finishHeaders(b []byte, ip, tcp, n int) {
	be := binary.BigEndian
	head := tcp + int(b[tcp+12]>>4)*4
	segment := b[tcp : head+n]
	be.PutUint16(b[tcp+16:], 0)
	var pseudo [40]byte
	be.PutUint32(pseudo[32:], uint32(len(segment)))
	pseudo[39] = 6
	if b[ip]>>4 == 4 {
		be.PutUint16(b[ip+2:], uint16(head-ip+n))
		be.PutUint16(b[ip+10:], 0)
		be.PutUint16(b[ip+10:], packet.Checksum(0, b[ip:ip+int(b[ip]&15)*4]))
		copy(pseudo[:], b[ip+12:ip+20])
	} else {
		be.PutUint16(b[ip+4:], uint16(head-ip-40+n))
		copy(pseudo[:], b[ip+8:ip+40])
	}
	be.PutUint16(b[tcp+16:], packet.Checksum(packet.Sum1(pseudo[:]), segment))
}

// acknowledged discards data that the receiver has.
func (w *Worker) acknowledged(h *gateHalf, ack uint32) {
	if h.passage != passing || held.After(ack, h.sent+1) {
		return
	}
	n := int(int32(ack - h.memAt))
	if n <= 0 || len(h.mem) == 0 {
		return
	}
	n = min(n, len(h.mem))
	w.gateBytes -= n
	h.mem, h.memAt = h.mem[n:], h.memAt+uint32(n)
}

// settleGates sends the data that was read.
func (w *Worker) settleGates() {
	for i := 0; i < len(w.dirty); i++ {
		g := w.dirty[i]
		g.dirty = false
		if g.conn == nil {
			if !g.listed {
				w.freeGate(g)
			}
			continue
		}
		w.settleGate(g)
	}
	clear(w.dirty)
	w.dirty = w.dirty[:0]
}

func (w *Worker) settleGate(g *gate) {
	c := g.conn
	w.dec.Flush(&c.tls)
	if g.rule == rules.Deny {
		return
	}
	for side := range g.half {
		w.settleHalf(g, c, uint8(side))
	}
	if g.rule == rules.Allow && g.named {
		w.handOver(g)
	}
}

func (w *Worker) settleHalf(g *gate, c *conn, side uint8) {
	h := &g.half[side]
	read := w.order.Confirmed(&c.pair, side)
	state, _ := c.tls.Direction(side)
	if c.tls.GaveUp(side) {
		// At the start of a stream there may be other copies of the data, with which it is read again.
		if _, begins := c.pair.Origin(side); !begins && h.passage == passing {
			w.shut(h)
		}
	} else if len(h.buf) > 0 && h.passage != shut {
		start := read - uint32(len(h.buf))
		if h.passage == unbegun {
			h.passage, h.sent, h.memAt = passing, start, start
		}
		if !c.tls.Opened(side) {
			h.plain += len(h.buf)
		}
		switch at := int32(h.sent - start); {
		case at < 0 || h.plain > maxPlain || !h.agrees(start):
			w.shut(h) // earlier data was not read, or differs from the data sent
		case int(at) < len(h.buf):
			if h.known {
				w.send(h, h.buf[at:])
			} else {
				w.shut(h)
			}
		}
		h.buf = h.buf[:0]
	}
	if h.again {
		h.again = false
		if h.passage != shut {
			w.resend(h)
		}
	}
	if h.finishing && h.known && h.passage != shut {
		if at := h.sent; h.passage == passing && at == h.fin || h.passage == unbegun && *c.pair.Next[side] == h.fin {
			h.finishing = false
			w.segment1(h, h.fin, nil, packet.FIN|packet.ACK)
		} else if h.passage == passing && h.fin+1 == at {
			h.finishing = false
		}
	}
	// A record is incomplete.
	if h.stalled = 0; h.passage == passing && (state == tls.DirReading || state == tls.DirStarting) && held.After(*c.pair.Next[side], h.sent) {
		h.stalled = max(w.now, 1)
		if !g.listed {
			g.listed = true
			w.stalled = append(w.stalled, g)
		}
	}
}

// agrees reports whether the data read from a position on equals the data already sent, as far as it is still stored.
func (h *gateHalf) agrees(start uint32) bool {
	from := start
	if held.After(h.memAt, from) {
		from = h.memAt
	}
	n := int(int32(h.sent - from))
	if n <= 0 || int(from-h.memAt) > len(h.mem) {
		return true
	}
	a, b := h.mem[from-h.memAt:], h.buf[min(int(from-start), len(h.buf)):]
	n = min(n, len(a), len(b))
	return bytes.Equal(a[:n], b[:n])
}

func (w *Worker) shut(h *gateHalf) {
	if h.passage != shut {
		w.Stats.Gate.Shut++
		w.gateBytes -= len(h.mem)
		h.passage, h.buf, h.mem, h.finishing = shut, h.buf[:0], h.mem[:0], false
	}
}

// pollStalled sends available parts of records whose rest does not arrive.
func (w *Worker) pollStalled(now int64) {
	if now-w.unstalled < int64(len(w.stalled))*eachLook {
		return
	}
	w.unstalled = now
	kept := w.stalled[:0]
	for _, g := range w.stalled {
		keep := false
		for side := range g.half {
			h := &g.half[side]
			if g.conn == nil || h.stalled == 0 || h.passage == shut {
				continue
			}
			if now-h.stalled < stallWait {
				keep = true
				continue
			}
			h.stalled = 0
			w.early(g, uint8(side))
		}
		if g.listed = keep; keep {
			kept = append(kept, g)
		} else if g.conn == nil && !g.dirty {
			w.freeGate(g)
		}
	}
	clear(w.stalled[len(kept):])
	w.stalled = kept
}

// early sends the available part of an incomplete record.
func (w *Worker) early(g *gate, side uint8) {
	c, h := g.conn, &g.half[side]
	w.dec.Flush(&c.tls)
	if state, _ := c.tls.Direction(side); c.tls.Waiting() || state != tls.DirReading && state != tls.DirStarting || g.rule == rules.Deny ||
		!h.known || !c.tls.Partial(side) || !c.tls.Protected(side) && state == tls.DirReading {
		return
	}
	pending := w.dec.Pending(&c.tls, side)
	read := w.order.Confirmed(&c.pair, side)
	if len(pending) > 0 && pending[0] == 23 && !c.tls.Protected(side) {
		return // there may never be keys
	}
	if at := int32(h.sent - read); at >= 0 && int(at) < len(pending) {
		// If something was sent, it was a part of this record. If other copies now make it a different record, these
		// bytes are not trustworthy.
		if at > 0 && (h.partAt != read || !bytes.HasPrefix(pending, h.part)) {
			return
		}
		h.partAt, h.part = read, append(h.part[:0], pending[:min(len(pending), 5)]...)
		if !c.tls.Opened(side) {
			if h.plain += len(pending) - int(at); h.plain > maxPlain {
				w.shut(h)
				return
			}
		}
		w.Stats.Gate.Early += uint64(len(pending) - int(at))
		w.send(h, pending[at:])
	}
}

// handOver sends the waiting data of a connection that its name allows. The rest of the connection passes unchanged.
func (w *Worker) handOver(g *gate) {
	for side := range g.half {
		h := &g.half[side]
		if h.passage != passing {
			continue
		}
		pending := w.dec.Pending(&g.conn.tls, uint8(side))
		read := w.order.Confirmed(&g.conn.pair, uint8(side))
		if at := int32(h.sent - read); at >= 0 && int(at) < len(pending) && h.known {
			w.send(h, pending[at:])
		}
		w.gateBytes -= len(h.mem)
		h.passage, h.mem = shut, h.mem[:0]
	}
}

// send sends the next bytes of a direction.
func (w *Worker) send(h *gateHalf, data []byte) {
	if len(h.mem)+len(data) > maxUnacknowledged {
		n := min(len(h.mem), len(data))
		w.gateBytes -= n
		h.mem, h.memAt = h.mem[n:], h.memAt+uint32(n) // it will hardly be needed again
	}
	if len(h.mem) == 0 {
		h.mem, h.memAt = h.mem[:0], h.sent
	}
	h.mem = append(h.mem, data...)
	w.gateBytes += len(data)
	at := h.sent
	h.sent += uint32(len(data))
	w.segments(h, at, data)
}

// resend retransmits bytes, as the sender has done.
func (w *Worker) resend(h *gateHalf) {
	from, to := h.againAt, h.againEnd
	if held.After(to, h.sent) {
		to = h.sent
	}
	if held.After(h.memAt, from) {
		from = h.memAt
	}
	if !held.After(to, from) || int(from-h.memAt) > len(h.mem) || !h.known {
		if h.known {
			w.segment1(h, h.sent-1, nil, packet.ACK) // makes the receiver repeat its acknowledgement
		}
		return
	}
	b := h.mem[from-h.memAt:]
	b = b[:min(len(b), int(to-from))]
	w.Stats.Gate.Resent++
	w.segments(h, from, b)
}

// segments sends bytes from a position on.
func (w *Worker) segments(h *gateHalf, seq uint32, data []byte) {
	for len(data) > 0 {
		n := min(len(data), maxSuper)
		flags := uint8(packet.ACK)
		if n == len(data) {
			flags |= packet.PSH
		}
		w.segment1(h, seq, data[:n], flags)
		seq, data = seq+uint32(n), data[n:]
	}
}

// segment1 sends a segment, which the kernel may split.
func (w *Worker) segment1(h *gateHalf, seq uint32, data []byte, flags uint8) {
	way := w.o.Gate.Ways[h.way]
	head := len(h.head)
	options := head - h.tcp
	most := max(h.mss-options, 64)
	b := way.Room(virtio + head + len(data))
	v, f := b[:virtio], b[virtio:]
	clear(v)
	copy(f, h.head)
	copy(f[head:], data)
	be, ne := binary.BigEndian, binary.NativeEndian
	be.PutUint32(f[h.tcp+4:], seq)
	be.PutUint32(f[h.tcp+8:], h.ack)
	f[h.tcp+13] = flags
	be.PutUint16(f[h.tcp+14:], h.window)
	be.PutUint16(f[h.tcp+18:], 0) // no urgent data
	finishHeaders(f, h.ip, h.tcp, len(data))
	if len(data) > most {
		const needsChecksum, tcp4, tcp6 = 1, 1, 4
		v[0], v[1] = needsChecksum, tcp4
		if f[h.ip]>>4 == 6 {
			v[1] = tcp6
		}
		ne.PutUint16(v[2:], uint16(head))
		ne.PutUint16(v[4:], uint16(most))
		ne.PutUint16(v[6:], uint16(h.tcp))
		ne.PutUint16(v[8:], 16)
		// Segmentation fills in the rest.
		var pseudo [40]byte
		be.PutUint32(pseudo[32:], uint32(options+len(data)))
		pseudo[39] = 6
		if v[1] == tcp4 {
			copy(pseudo[:], f[h.ip+12:h.ip+20])
		} else {
			copy(pseudo[:], f[h.ip+8:h.ip+40])
		}
		be.PutUint16(f[h.tcp+16:], ^packet.Checksum(0, pseudo[:]))
	}
	w.Stats.Gate.Sent++
	way.Commit(len(b), w.now)
}
