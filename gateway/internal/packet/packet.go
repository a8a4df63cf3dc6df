// Package packet finds the TCP segment in a captured frame, through tunnels and IP fragments, and builds frames with
// segments.
//
// The parser is hand-written because it runs for every packet: it reads each header once, keeps no layers and does not
// allocate.
package packet

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"net/netip"
	"unsafe"
)

// A LinkType is the type of a frame's first header; the numbers are those of pcap
// (https://www.tcpdump.org/linktypes.html).
type LinkType uint16

// The link types that Parse supports.
const (
	LinkNull      LinkType = 0   // BSD loopback
	LinkEthernet  LinkType = 1   //
	LinkRawBSD    LinkType = 12  // IP, as some BSDs number it
	LinkRawOpen   LinkType = 14  // IP, as OpenBSD numbers it
	LinkRaw       LinkType = 101 // IP
	LinkLoop      LinkType = 108 // OpenBSD loopback
	LinkLinuxSLL  LinkType = 113 // Linux "any" device
	LinkIPv4      LinkType = 228
	LinkIPv6      LinkType = 229
	LinkLinuxSLL2 LinkType = 276
)

// TCP flags.
const (
	FIN = 1 << 0
	SYN = 1 << 1
	RST = 1 << 2
	PSH = 1 << 3
	ACK = 1 << 4
	URG = 1 << 5
)

// A Tuple is a connection: two endpoints, sorted, so that both directions have the same tuple. IPv4 addresses are
// mapped into IPv6.
type Tuple struct {
	Addr [2][16]byte
	Port [2]uint16
	Zone uint16 // distinguishes equal addresses in different networks: see Parser
}

// Endpoint returns the address and port of one side.
func (t *Tuple) Endpoint(side uint8) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom16(t.Addr[side]).Unmap(), t.Port[side])
}

// TupleOf returns the tuple of a connection, and the side of the first endpoint.
func TupleOf(from, to netip.AddrPort) (t Tuple, side uint8) {
	a, b := from.Addr().As16(), to.Addr().As16()
	t = Tuple{Addr: [2][16]byte{a, b}, Port: [2]uint16{from.Port(), to.Port()}}
	if t.swapped() {
		t.swap()
		side = 1
	}
	return t, side
}

func (t *Tuple) swapped() bool {
	for i := 0; i < 16; i += 8 {
		a, b := binary.BigEndian.Uint64(t.Addr[0][i:]), binary.BigEndian.Uint64(t.Addr[1][i:])
		if a != b {
			return a > b
		}
	}
	return t.Port[0] > t.Port[1]
}

func (t *Tuple) swap() {
	for i := 0; i < 16; i += 8 { // in the size of the last writes: larger loads would stall
		a, b := be.Uint64(t.Addr[0][i:]), be.Uint64(t.Addr[1][i:])
		be.PutUint64(t.Addr[0][i:], b)
		be.PutUint64(t.Addr[1][i:], a)
	}
	t.Port[0], t.Port[1] = t.Port[1], t.Port[0]
}

// Each process has another seed, so that an attacker cannot choose connections with equal hashes in the flow table.
var seed = maphash.MakeSeed()

// Hash returns the same number for both directions of a connection.
func (t *Tuple) Hash() uint64 {
	return maphash.Bytes(seed, unsafe.Slice((*byte)(unsafe.Pointer(t)), unsafe.Sizeof(*t)))
}

// A Segment is the TCP information of a frame, or UDP where applicable. Payload points into the frame.
type Segment struct {
	Tuple   Tuple
	Side    uint8 // the sender is Tuple.Addr[Side]
	Flags   uint8
	IPv6    bool
	VLAN    uint16 // identifier of the outermost tag, or 0
	Seq     uint32
	Ack     uint32
	Payload []byte
	Missing int    // payload bytes that the capture omitted
	Link    []byte // Ethernet destination and source, or nil
	Whole   bool   // reassembled from fragments: its bytes are valid until Parser.Release

	ip   []byte // from the IP header to the end of the packet
	head int    // offset of the TCP header in ip
}

// A Verdict is the result of Parse for a frame.
type Verdict uint8

// Verdicts.
const (
	TCP       Verdict = iota // a segment
	Other                    // neither TCP nor UDP over IP
	Fragment                 // a part of an IP packet
	Malformed                // shorter than its headers say, or headers that contradict each other
	UDP                      // a datagram without a tunnel: the fields of a Segment except TCP's
	verdicts
)

// Verdicts is the number of different verdicts.
const Verdicts = int(verdicts)

var verdictNames = [...]string{"tcp", "other", "fragment", "malformed", "udp"}

func (v Verdict) String() string { return verdictNames[v] }

var be = binary.BigEndian

// Parse fills s from a frame, without keeping anything: an IP fragment is a Fragment. If the verdict is not TCP, s is undefined.
func Parse(s *Segment, link LinkType, frame []byte) Verdict {
	if link == LinkEthernet {
		if v := usual(s, frame); v != Other {
			return v
		}
	}
	d := decoder{s: s}
	return d.frame(link, frame)
}

// usual takes frames that most are like, whole TCP segments and datagrams in IP without anything between: others are Other.
func usual(s *Segment, frame []byte) Verdict {
	if len(frame) < 14+40 {
		return Other
	}
	b := frame[14:]
	head, proto := 20, b[9]
	switch {
	case frame[12] == TypeIPv4>>8 && frame[13] == 0 && b[0] == 4<<4|5 && (proto == ProtoTCP || proto == ProtoUDP) && be.Uint16(b[6:])&0x3fff == 0:
		total := int(be.Uint16(b[2:]))
		if total < 40 || total > len(b) {
			return Other
		}
		const mapped = 0xffff
		src, dst := be.Uint32(b[12:]), be.Uint32(b[16:])
		be.PutUint64(s.Tuple.Addr[0][:], 0)
		be.PutUint64(s.Tuple.Addr[0][8:], mapped<<32|uint64(src))
		be.PutUint64(s.Tuple.Addr[1][:], 0)
		be.PutUint64(s.Tuple.Addr[1][8:], mapped<<32|uint64(dst))
		s.IPv6 = false
		b = b[:total]
	case frame[12] == TypeIPv6>>8 && frame[13] == TypeIPv6&0xff && b[0]>>4 == 6 && (b[6] == ProtoTCP || b[6] == ProtoUDP):
		total := 40 + int(be.Uint16(b[4:]))
		if total < 60 || total > len(b) {
			return Other
		}
		s.Tuple.Addr[0] = [16]byte(b[8:24])
		s.Tuple.Addr[1] = [16]byte(b[24:40])
		s.IPv6 = true
		b, head, proto = b[:total], 40, b[6]
	default:
		return Other
	}
	s.Link, s.VLAN, s.Tuple.Zone, s.Whole = frame[:12:12], 0, 0, false
	if proto == ProtoUDP {
		if tunneled(be.Uint16(b[head+2:])) {
			return Other
		}
		s.datagram(b[head:])
		return UDP
	}
	s.ip, s.head = b, head
	if parseTCP(s, b[head:], 0) != TCP {
		return Other
	}
	return TCP
}

func parseTCP(s *Segment, b []byte, missing int) Verdict {
	header := headerTCP(b)
	if header == 0 {
		return Malformed
	}
	s.Seq, s.Ack, s.Flags = be.Uint32(b[4:]), be.Uint32(b[8:]), b[13]
	s.Payload = b[header:]
	s.Missing = missing
	s.ports(b)
	return TCP
}

// ports reads the ports at the start of TCP and UDP, and tells which side the sender is.
func (s *Segment) ports(b []byte) {
	s.Tuple.Port = [2]uint16{be.Uint16(b), be.Uint16(b[2:])}
	s.Side = 0
	if s.Tuple.swapped() {
		s.Tuple.swap()
		s.Side = 1
	}
}

// TTL returns the time to live, or hop limit, of the packet.
func (s *Segment) TTL() uint8 {
	if s.IPv6 {
		return s.ip[7]
	}
	return s.ip[8]
}

// Urgent returns the position of a segment's urgent byte, if it has one. That byte is not part of the stream, unless
// the receiver has asked for it there (RFC 6093, section 3).
func (s *Segment) Urgent() (seq uint32, is bool) {
	n := be.Uint16(s.ip[s.head+18:])
	return s.Seq + uint32(n) - 1, s.Flags&URG != 0 && n > 0
}

// Stamped reports whether a segment has the timestamps option. If both sides agreed to it, all segments except RSTs
// have it (RFC 7323, section 3.2).
func (s *Segment) Stamped() bool {
	b := s.ip[s.head+20 : len(s.ip)-len(s.Payload)]
	for len(b) > 0 && b[0] != 0 {
		switch {
		case b[0] == 1:
			b = b[1:]
			continue
		case len(b) < 2 || b[1] < 2 || int(b[1]) > len(b):
			return false
		case b[0] == 8:
			return b[1] == 10
		}
		b = b[b[1]:]
	}
	return false
}

// Sum is the result of a packet's checksums.
type Sum uint8

// Sums.
const (
	SumUnknown Sum = iota // a part of the packet is missing
	SumGood
	SumOpen // a network card is to compute it, or the kernel put the packet together: it is 0, or that of the pseudo header
	SumBad
)

// Sum computes the checksums of IP and TCP. On a host whose network card computes them, its own packets seem to have
// wrong ones.
func (s *Segment) Sum() Sum {
	pseudo, says := s.aroundTCP()
	if tcp := s.ip[s.head:]; says == SumGood && !good(sum(pseudo, tcp)) {
		if at := be.Uint16(tcp[16:]); at != 0 && at != fold(pseudo) {
			return SumBad
		}
		return SumOpen
	}
	return says
}

// aroundTCP begins the sum of TCP with the pseudo header: addresses, protocol and length (RFC 9293, section 3.1;
// RFC 8200, section 8.1). It returns the result for a valid TCP checksum.
func (s *Segment) aroundTCP() (uint64, Sum) {
	if s.Missing > 0 {
		return 0, SumUnknown
	}
	ip, le := s.ip, binary.LittleEndian
	pseudo := uint64(ProtoTCP)<<8 + uint64(bits.ReverseBytes32(uint32(len(ip)-s.head)))
	if s.IPv6 {
		return sum(pseudo, ip[8:40]), SumGood
	}
	a, b, c := le.Uint64(ip), le.Uint64(ip[8:]), le.Uint32(ip[16:])
	own, carry := bits.Add64(a, b, 0)
	own, carry = bits.Add64(own, uint64(c), carry)
	if own += carry; ip[0]&15 > 5 {
		own = sum(own, ip[20:int(ip[0]&15)*4])
	}
	if !good(own) {
		if ip[10]|ip[11] == 0 {
			return 0, SumOpen
		}
		return 0, SumBad
	}
	return pseudo + b>>32 + uint64(c), SumGood
}

// good reports whether a one's complement sum is that of bytes with their right checksum.
func good(sum uint64) bool { return fold(sum) == 0xffff }
