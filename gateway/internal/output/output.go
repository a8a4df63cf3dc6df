// Package output writes the plaintext of connections, as captures with synthetic TCP or as raw streams.
package output

import (
	"net/netip"
	"sync/atomic"

	"github.com/sealane/sealane/gateway/internal/about"
	"github.com/sealane/sealane/gateway/internal/packet"
)

// A Flow is a connection as outputs see it.
type Flow struct {
	Time  *int64 // time of the current packet, in nanoseconds since 1970; shared by all flows of a core
	synth *synth
	files *files

	Client, Server netip.AddrPort
	IPv6           bool
	Link           [12]byte // Ethernet addresses of packets to the server: destination, source

	About *about.Connection // additional information, or nil if no output needs it
}

// A Sink receives the plaintext of many connections. It belongs to one core.
type Sink interface {
	// Data receives the next bytes from one side, tls.Client or tls.Server. It does not keep data.
	Data(f *Flow, side uint8, data []byte)
	// Gap reports that about n bytes are missing.
	Gap(f *Flow, side uint8, n int)
	// End reports that no more data will come.
	End(f *Flow)
	// Flush passes on the written data.
	Flush()
}

// Counts are the frames sent on interfaces and those that could not be sent, and the bytes that readers of a Server
// lost.
type Counts struct{ Sent, Dropped, Unread atomic.Uint64 }

// Many is a Sink that passes everything to several Sinks.
type Many []Sink

// Data implements Sink.
func (m Many) Data(f *Flow, side uint8, data []byte) {
	for _, s := range m {
		s.Data(f, side, data)
	}
}

// Gap implements Sink.
func (m Many) Gap(f *Flow, side uint8, n int) {
	for _, s := range m {
		s.Gap(f, side, n)
	}
}

// End implements Sink.
func (m Many) End(f *Flow) {
	for _, s := range m {
		s.End(f)
	}
}

// Flush implements Sink.
func (m Many) Flush() {
	for _, s := range m {
		s.Flush()
	}
}

// Packets is a destination of frames.
type Packets interface {
	// Room returns memory for a frame of n bytes. Commit submits the frame.
	Room(n int) []byte
	Commit(n int, time int64)
	Flush()
}

// Options describe the generated packets.
type Options struct {
	Segment     int               // most plaintext bytes in one packet
	Ports       map[uint16]uint16 // server ports as shown to tools
	VLAN        uint16            // VLAN tag of the packets, if not 0
	MAC         [6]byte           // Ethernet source of the packets, if not 0
	NoChecksums bool
}

// DefaultSegment holds a TLS record; captures with offloaded segmentation have such packets.
const DefaultSegment = 1 << 14

// A synth is the synthetic TCP connection around plaintext.
type synth struct {
	of    *Synthetic
	and   *synth             // those of other sinks
	to    [2]packet.Template // from client, from server
	seq   [2]uint32
	acked [2]uint32 // acknowledged bytes of each side
	due   bool      // an acknowledgement is pending, and Flush will send it
	id    uint16
	time  int64
}

const (
	// Intrusion detection ignores segments outside the receiver's window. With the largest unit, 2^14 bytes, no hole
	// exceeds the window.
	windowScale = 14
	// It also examines only acknowledged data.
	ackBytes = 48 << 10
	maxDue   = 1024
)

// Synthetic is a Sink that generates TCP connections with the plaintext in them. Each side acknowledges the other's
// data every few segments, and before Flush returns.
type Synthetic struct {
	out Packets
	o   Options
	due []*synth
}

// NewSynthetic returns a Sink that writes packets to out.
func NewSynthetic(out Packets, o Options) *Synthetic {
	if o.Segment <= 0 || o.Segment > packet.MaxPayload {
		o.Segment = DefaultSegment
	}
	return &Synthetic{out: out, o: o}
}

func (s *Synthetic) find(f *Flow) *synth {
	c := f.synth
	for c != nil && c.of != s {
		c = c.and
	}
	return c
}

func (s *Synthetic) open(f *Flow) *synth {
	if c := s.find(f); c != nil {
		return c
	}
	c := &synth{of: s, and: f.synth}
	f.synth = c
	port := f.Server.Port()
	if p, ok := s.o.Ports[port]; ok {
		port = p
	}
	link := f.Link
	if link == [12]byte{} {
		// Locally administered addresses for captures without Ethernet addresses.
		link = [12]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}
	}
	var back [12]byte
	copy(back[:6], link[6:])
	copy(back[6:], link[:6])
	if s.o.MAC != [6]byte{} {
		copy(link[6:], s.o.MAC[:])
		copy(back[6:], s.o.MAC[:])
	}
	client, server := f.Client.Addr().As16(), f.Server.Addr().As16()
	c.to[0].Init(&link, s.o.VLAN, f.IPv6, &client, &server, f.Client.Port(), port)
	c.to[1].Init(&back, s.o.VLAN, f.IPv6, &server, &client, port, f.Client.Port())
	c.seq, c.acked = [2]uint32{1, 1}, [2]uint32{1, 1}
	s.syn(f, c, 0, 0, packet.SYN)
	s.syn(f, c, 1, 1, packet.SYN|packet.ACK)
	s.packet(*f.Time, c, 0, packet.ACK, nil)
	return c
}

func (s *Synthetic) syn(f *Flow, c *synth, side uint8, ack uint32, flags uint8) {
	t := &c.to[side]
	n := t.Size() + packet.SYNBytes
	c.id++
	t.BuildSYN(s.out.Room(n), 0, ack, flags, c.id, windowScale, !s.o.NoChecksums)
	s.out.Commit(n, *f.Time)
}

func (s *Synthetic) packet(time int64, c *synth, side uint8, flags uint8, data []byte) {
	t := &c.to[side]
	n := t.Size() + len(data)
	c.id++
	t.Build(s.out.Room(n), c.seq[side], c.seq[1-side], flags, c.id, data, !s.o.NoChecksums)
	s.out.Commit(n, time)
	c.seq[side] += uint32(len(data))
	c.acked[1-side] = c.seq[1-side]
}

// Data implements Sink.
func (s *Synthetic) Data(f *Flow, side uint8, data []byte) {
	c := s.open(f)
	for len(data) > 0 {
		n := min(len(data), s.o.Segment)
		flags := uint8(packet.ACK)
		if n == len(data) {
			flags |= packet.PSH
		}
		s.packet(*f.Time, c, side, flags, data[:n])
		data = data[n:]
		if c.seq[side]-c.acked[side] >= ackBytes {
			s.packet(*f.Time, c, 1-side, packet.ACK, nil)
		}
	}
	if c.time = *f.Time; !c.due {
		if len(s.due) == maxDue {
			s.acknowledge() // files are flushed only at their end
		}
		c.due = true
		s.due = append(s.due, c)
	}
}

// Gap implements Sink. It skips sequence numbers, as if a packet had been lost.
func (s *Synthetic) Gap(f *Flow, side uint8, n int) {
	if c := s.find(f); c != nil {
		c.seq[side] += uint32(n)
	}
}

// End implements Sink.
func (s *Synthetic) End(f *Flow) {
	c := s.find(f)
	if c == nil {
		return
	}
	for side := range uint8(2) {
		s.packet(*f.Time, c, side, packet.FIN|packet.ACK, nil)
		c.seq[side]++
	}
	s.packet(*f.Time, c, 0, packet.ACK, nil)
	c.of = nil // freed together with the flow
}

// Flush implements Sink.
func (s *Synthetic) Flush() {
	s.acknowledge()
	s.out.Flush()
}

func (s *Synthetic) acknowledge() {
	for _, c := range s.due {
		for side := range uint8(2) {
			if c.of != nil && c.seq[side] != c.acked[side] {
				s.packet(c.time, c, 1-side, packet.ACK, nil)
			}
		}
		c.due = false
	}
	clear(s.due)
	s.due = s.due[:0]
}
