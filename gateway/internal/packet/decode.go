package packet

// A Parser finds segments in the frames of one core. In contrast to Parse, it reassembles fragments, and counts. Its
// zero value is ready for use. It is not safe for concurrent use.
//
// If frames have tags or come through tunnels, equal addresses may belong to different machines. Tuple.Zone
// distinguishes these. It is a number for all identifiers of a frame that are the same in both directions. Those are
// VLAN, VXLAN and GENEVE network, GRE key, ERSPAN session and PPPoE session. MPLS labels and GTP-U endpoints differ
// by direction, and are ignored.
type Parser struct {
	OneNetwork bool // no zones: for mirrors that tag only one direction
	Tunnels    TunnelStats
	Fragments  FragmentStats

	parts fragments
}

// TunnelStats count packets by encapsulation. All fields are counters.
type TunnelStats struct {
	VXLAN, GENEVE, GTP, GRE, ERSPAN, IPinIP, MPLS, PPPoE, LLC uint64
	Deep                                                      uint64 // frames with more nested tunnels than the limit
	SharedZones                                               uint64 // frames in a zone that shares its number with others
}

// Parse fills s from a frame that arrived at now, in nanoseconds. If the verdict is not TCP, s is undefined. A frame
// that completes a fragmented packet has the verdict of that packet.
func (p *Parser) Parse(s *Segment, link LinkType, frame []byte, now int64) Verdict {
	if link == LinkEthernet {
		if v := usual(s, frame); v != Other {
			return v
		}
	}
	d := decoder{s: s, parser: p, now: now}
	return d.frame(link, frame)
}

// Release frees the packets that Parse has reassembled.
func (p *Parser) Release() { p.parts.release() }

// EtherTypes.
const (
	TypeIPv4     = 0x0800
	TypeIPv6     = 0x86dd
	TypeVLAN     = 0x8100
	TypeQinQ     = 0x88a8
	TypeOldQ     = 0x9100
	TypeNewQ     = 0x9200
	TypeMPLS     = 0x8847
	TypeMPLSMany = 0x8848
	TypePPPoE    = 0x8864
	TypeEthernet = 0x6558 // in tunnels
	TypeERSPAN   = 0x88be // type I and II
	TypeERSPAN3  = 0x22eb
)

// IP protocols.
const (
	ProtoIPv4     = 4
	ProtoTCP      = 6
	ProtoUDP      = 17
	ProtoIPv6     = 41
	ProtoGRE      = 47
	protoFragment = 44
	protoMPLS     = 137
)

// UDP ports of tunnels. Linux first used another port for VXLAN.
const (
	PortGTP      = 2152
	PortVXLAN    = 4789
	portVXLANGPE = 4790
	PortOldVXLAN = 8472
	PortGENEVE   = 6081
)

const (
	// Two tags are common; four is the limit.
	maxTags = 4
	// Mirrored tunnel traffic has two tunnels; each may have its own headers.
	maxTunnels = 4
	maxLabels  = 8
	maxHeaders = 8 // extension headers of IPv6 and GTP-U
)

// A decoder decodes one frame.
type decoder struct {
	s      *Segment
	parser *Parser // nil: no state is kept
	now    int64
	zone   uint64 // hash of all identifiers of the zone
	depth  int8   // tunnels
	joined int8   // tunnels around the last reassembled packet, plus 1; it is not a fragment itself (RFC 8200, section 4.1)
	tags   int8
}

// in records an identifier of the frame's zone.
func (d *decoder) in(kind uint8, identifier uint32) {
	d.zone = mixZone(d.zone, uint64(kind)<<32|uint64(identifier))
}

// deeper counts a tunnel, and reports whether to decode it.
func (d *decoder) deeper(count func(t *TunnelStats) *uint64) bool {
	d.depth++
	if d.parser != nil {
		if d.depth > maxTunnels {
			d.parser.Tunnels.Deep++
		} else {
			*count(&d.parser.Tunnels)++
		}
	}
	return d.depth <= maxTunnels
}

func (d *decoder) frame(link LinkType, frame []byte) Verdict {
	s := d.s
	s.Link, s.VLAN, s.Tuple.Zone, s.Whole = nil, 0, 0, false
	switch link {
	case LinkEthernet:
		return d.ethernet(frame)
	case LinkRaw, LinkRawBSD, LinkRawOpen, LinkIPv4, LinkIPv6:
		return d.ip(frame)
	case LinkNull, LinkLoop:
		// The family has the byte order of the capturing machine, and IPv6's number differs between systems.
		if len(frame) < 5 {
			return Malformed
		}
		return d.ip(frame[4:])
	case LinkLinuxSLL:
		if len(frame) < 16 {
			return Malformed
		}
		return d.etherType(be.Uint16(frame[14:]), frame[16:])
	case LinkLinuxSLL2:
		if len(frame) < 20 {
			return Malformed
		}
		return d.etherType(be.Uint16(frame), frame[20:])
	case LinkPart:
		return Fragment
	case LinkWhole:
		return d.whole(frame)
	}
	return Other
}

func (d *decoder) ethernet(b []byte) Verdict {
	if len(b) < 14 {
		return Malformed
	}
	d.s.Link = b[:12:12]
	return d.etherType(be.Uint16(b[12:]), b[14:])
}

// ip determines the IP version itself.
func (d *decoder) ip(b []byte) Verdict {
	if len(b) < 1 {
		return Malformed
	}
	if b[0]>>4 == 6 {
		return d.ipv6(b)
	}
	return d.ipv4(b)
}

// IsTag reports whether an EtherType is a VLAN tag: IEEE 802.1Q, 802.1ad, or one of two older ones.
func IsTag(kind uint16) bool {
	return kind == TypeVLAN || kind == TypeQinQ || kind == TypeOldQ || kind == TypeNewQ
}

func (d *decoder) etherType(kind uint16, b []byte) Verdict {
	for {
		switch {
		case kind == TypeIPv4:
			return d.ipv4(b)
		case kind == TypeIPv6:
			return d.ipv6(b)
		case IsTag(kind):
			if len(b) < 4 || d.tags == maxTags {
				return Malformed
			}
			d.tags++
			id := be.Uint16(b) & 0xfff
			if d.tags == 1 && d.depth == 0 {
				d.s.VLAN = id
			}
			if id != 0 { // otherwise only a priority
				d.in(1, uint32(id))
			}
			kind, b = be.Uint16(b[2:]), b[4:]
		case kind == TypeMPLS || kind == TypeMPLSMany:
			return d.mpls(b)
		case kind == TypePPPoE:
			return d.pppoe(b)
		default:
			if kind <= 1500 {
				return d.llc(int(kind), b)
			}
			return Other
		}
	}
}

// llc decodes a frame with a length instead of a type (IEEE 802.2, RFC 1042).
func (d *decoder) llc(size int, b []byte) Verdict {
	if size < len(b) {
		b = b[:size]
	}
	switch {
	case len(b) < 3:
		return Malformed
	case b[0] == 6 && b[1] == 6 && b[2] == 3: // IP by its own SAP number
		if d.deeper(func(t *TunnelStats) *uint64 { return &t.LLC }) {
			return d.ipv4(b[3:])
		}
	case b[0] == 0xaa && b[1] == 0xaa && b[2] == 3:
		if len(b) < 8 {
			return Malformed
		}
		kind := be.Uint16(b[6:])
		if b[3] != 0 || b[4] != 0 || b[5] != 0 && b[5] != 0xf8 || kind <= 1500 {
			return Other
		}
		if d.deeper(func(t *TunnelStats) *uint64 { return &t.LLC }) {
			return d.etherType(kind, b[8:])
		}
	}
	return Other
}

// mpls decodes a stack of labels (RFC 3032). Only the first four bits after it show the content (RFC 4928): IP, or the
// control word of a pseudowire with Ethernet (RFC 4448).
func (d *decoder) mpls(b []byte) Verdict {
	for labels := 0; ; labels++ {
		if len(b) < 5 || labels == maxLabels {
			return Malformed
		}
		bottom := b[2]&1 != 0
		if b = b[4:]; bottom {
			break
		}
	}
	if !d.deeper(func(t *TunnelStats) *uint64 { return &t.MPLS }) {
		return Other
	}
	switch b[0] >> 4 {
	case 4:
		return d.ipv4(b)
	case 6:
		return d.ipv6(b)
	case 0:
		if len(b) < 4 {
			return Malformed
		}
		return d.ethernet(b[4:])
	}
	return Other
}

// pppoe decodes a session packet (RFC 2516).
func (d *decoder) pppoe(b []byte) Verdict {
	if len(b) < 8 || b[0] != 0x11 {
		return Malformed
	}
	size := int(be.Uint16(b[4:]))
	if b[1] != 0 {
		return Other
	}
	if size < 2 {
		return Malformed
	}
	d.in(2, uint32(be.Uint16(b[2:])))
	if b = b[6:]; size < len(b) {
		b = b[:size]
	}
	kind, n := be.Uint16(b), 2
	if b[0]&1 != 0 { // compressed (RFC 1661, section 6.5)
		kind, n = uint16(b[0]), 1
	}
	if !d.deeper(func(t *TunnelStats) *uint64 { return &t.PPPoE }) {
		return Other
	}
	switch b = b[n:]; kind {
	case 0x21:
		return d.ipv4(b)
	case 0x57:
		return d.ipv6(b)
	case 0x281:
		return d.mpls(b)
	}
	return Other
}

func (d *decoder) ipv4(b []byte) Verdict {
	header := headerIPv4(b)
	if header == 0 {
		return Malformed
	}
	total := int(be.Uint16(b[2:]))
	if total == 0 {
		total = len(b) // a super-frame whose length the network card would set
	}
	if total < header {
		return Malformed
	}
	missing := 0
	if total < len(b) {
		b = b[:total] // Ethernet pads short frames
	} else {
		missing = total - len(b)
	}
	if fragmentedIPv4(b) {
		return d.fragmentIPv4(b, header, missing)
	}
	if b[9] == ProtoTCP || b[9] == ProtoUDP {
		const mapped = 0xffff
		s := d.s
		src, dst := be.Uint32(b[12:]), be.Uint32(b[16:])
		be.PutUint64(s.Tuple.Addr[0][:], 0)
		be.PutUint64(s.Tuple.Addr[0][8:], mapped<<32|uint64(src))
		be.PutUint64(s.Tuple.Addr[1][:], 0)
		be.PutUint64(s.Tuple.Addr[1][8:], mapped<<32|uint64(dst))
		s.IPv6 = false
		if b[9] == ProtoTCP {
			return d.tcp(b, header, missing)
		}
	}
	return d.tunnel(b[9], b[header:])
}

// ipv6 skips extension headers (RFC 8200, section 4).
func (d *decoder) ipv6(b []byte) Verdict {
	if len(b) < 40 || b[0]>>4 != 6 {
		return Malformed
	}
	total := int(be.Uint16(b[4:]))
	missing := 0
	switch {
	case total == 0: // a super-frame, or a jumbogram
	case 40+total < len(b):
		b = b[:40+total]
	default:
		missing = 40 + total - len(b)
	}
	next, nextAt, at := b[6], 6, 40
	for headers := 0; ; headers++ {
		if next == ProtoTCP || next == ProtoUDP {
			s := d.s
			s.Tuple.Addr[0] = [16]byte(b[8:24])
			s.Tuple.Addr[1] = [16]byte(b[24:40])
			s.IPv6 = true
			if next == ProtoTCP {
				return d.tcp(b, at, missing)
			}
		}
		rest := b[at:]
		if next != protoFragment && extension(next, 0) == 0 {
			return d.tunnel(next, rest)
		}
		if len(rest) < 8 {
			return Malformed
		}
		size := 8 // an atomic fragment is a whole packet (RFC 6946)
		if next != protoFragment {
			size = extension(next, rest[1])
		} else if be.Uint16(rest[2:])&0xfff9 != 0 {
			return d.fragmentIPv6(b, nextAt, at, missing)
		}
		if len(rest) < size || headers == maxHeaders {
			return Malformed
		}
		next, nextAt = rest[0], at
		at += size
	}
}

// tcp decodes an IP packet whose TCP header starts at head.
func (d *decoder) tcp(b []byte, head, missing int) Verdict {
	s := d.s
	if d.zone != 0 {
		s.Tuple.Zone = d.number()
	}
	s.ip, s.head = b, head
	return parseTCP(s, b[head:], missing)
}

// number returns the number of the zone.
func (d *decoder) number() uint16 {
	if d.parser != nil && d.parser.OneNetwork {
		return 0
	}
	n, shared := zoneNumber(d.zone)
	if shared && d.parser != nil {
		d.parser.Tunnels.SharedZones++
	}
	return n
}

// tunnel decodes the content of an IP packet that is not TCP.
func (d *decoder) tunnel(proto uint8, b []byte) Verdict {
	switch proto {
	case ProtoUDP:
		return d.udp(b)
	case ProtoGRE:
		return d.gre(b)
	case ProtoIPv4, ProtoIPv6: // RFC 2003, RFC 2473, RFC 4213
		if !d.deeper(func(t *TunnelStats) *uint64 { return &t.IPinIP }) {
			return Other
		}
		if proto == ProtoIPv6 {
			return d.ipv6(b)
		}
		return d.ipv4(b)
	case protoMPLS: // RFC 4023
		return d.mpls(b)
	}
	return Other
}

func (d *decoder) udp(b []byte) Verdict {
	if len(b) < 8 {
		return Malformed
	}
	port := be.Uint16(b[2:])
	if !tunneled(port) {
		if d.zone != 0 {
			d.s.Tuple.Zone = d.number()
		}
		d.s.datagram(b)
		return UDP
	}
	if size := int(be.Uint16(b[4:])); size >= 8 && size < len(b) {
		b = b[:size]
	}
	b = b[8:]
	switch port {
	case PortGTP:
		return d.gtp(b)
	case PortGENEVE:
		return d.geneve(b)
	}
	return d.vxlan(b, port == portVXLANGPE)
}

// tunneled reports whether a UDP port belongs to a tunnel.
func tunneled(port uint16) bool {
	switch port {
	case PortGTP, PortVXLAN, portVXLANGPE, PortOldVXLAN, PortGENEVE:
		return true
	}
	return false
}

// datagram decodes UDP outside tunnels, for an IP packet whose addresses are known.
func (s *Segment) datagram(b []byte) {
	if size := int(be.Uint16(b[4:])); size >= 8 && size < len(b) {
		b = b[:size]
	}
	s.Payload = b[8:]
	s.ports(b)
}

// vxlan decodes VXLAN (RFC 7348), or its extension that states the protocol of the content (draft-ietf-nvo3-vxlan-gpe).
func (d *decoder) vxlan(b []byte, generic bool) Verdict {
	if len(b) < 8 {
		return Malformed
	}
	const hasNetwork, hasNext = 8, 4
	if b[0]&hasNetwork == 0 {
		return Other
	}
	d.in(3, be.Uint32(b[4:])>>8)
	if !d.deeper(func(t *TunnelStats) *uint64 { return &t.VXLAN }) {
		return Other
	}
	if generic && b[0]&hasNext != 0 {
		switch b[3] {
		case 1:
			return d.ipv4(b[8:])
		case 2:
			return d.ipv6(b[8:])
		case 3:
		default:
			return Other
		}
	}
	return d.inner(b[8:])
}

// inner decodes an Ethernet frame in a tunnel, which may have tags.
func (d *decoder) inner(b []byte) Verdict {
	d.tags = 0
	return d.ethernet(b)
}

// geneve decodes GENEVE (RFC 8926).
func (d *decoder) geneve(b []byte) Verdict {
	if len(b) < 8 {
		return Malformed
	}
	if b[0]>>6 != 0 {
		return Other // another version
	}
	n := 8 + int(b[0]&0x3f)*4
	if len(b) < n {
		return Malformed
	}
	kind := be.Uint16(b[2:])
	d.in(4, be.Uint32(b[4:])>>8)
	if !d.deeper(func(t *TunnelStats) *uint64 { return &t.GENEVE }) {
		return Other
	}
	if kind == TypeEthernet {
		return d.inner(b[n:])
	}
	if kind <= 1500 {
		return Other
	}
	return d.etherType(kind, b[n:])
}

// gtp decodes user data of mobile networks (3GPP TS 29.281, section 5).
func (d *decoder) gtp(b []byte) Verdict {
	if len(b) < 8 {
		return Malformed
	}
	const gpdu = 255
	if b[0]>>5 != 1 || b[0]&0x10 == 0 || b[1] != gpdu {
		return Other
	}
	at := 8
	if b[0]&7 != 0 { // sequence number, N-PDU number and first extension type: if one is present, all are
		if len(b) < 12 {
			return Malformed
		}
		at = 12
		if b[0]&4 != 0 {
			next := b[11]
			for headers := 0; next != 0; headers++ {
				if at >= len(b) || headers == maxHeaders {
					return Malformed
				}
				n := int(b[at]) * 4
				if n == 0 || at+n > len(b) {
					return Malformed
				}
				at += n
				next = b[at-1]
			}
		}
	}
	if !d.deeper(func(t *TunnelStats) *uint64 { return &t.GTP }) {
		return Other
	}
	if b = b[at:]; len(b) > 0 && b[0]>>4 != 4 && b[0]>>4 != 6 {
		return Other // Ethernet, or an unknown type
	}
	return d.ip(b)
}

// gre decodes GRE (RFC 2784, RFC 2890), including ERSPAN (draft-foschiano-erspan).
func (d *decoder) gre(b []byte) Verdict {
	if len(b) < 4 {
		return Malformed
	}
	const hasChecksum, hasRouting, hasKey, hasSequence = 0x80, 0x40, 0x20, 0x10
	if b[1]&7 != 0 || b[0]&hasRouting != 0 {
		return Other
	}
	kind, at := be.Uint16(b[2:]), 4
	if b[0]&hasChecksum != 0 {
		at += 4
	}
	if b[0]&hasKey != 0 {
		if len(b) < at+4 {
			return Malformed
		}
		d.in(5, be.Uint32(b[at:]))
		at += 4
	}
	if b[0]&hasSequence != 0 {
		at += 4
	}
	if len(b) < at {
		return Malformed
	}
	sequence := b[0]&hasSequence != 0
	b = b[at:]
	switch kind {
	case TypeERSPAN, TypeERSPAN3:
		return d.erspan(kind, sequence, b)
	}
	if !d.deeper(func(t *TunnelStats) *uint64 { return &t.GRE }) {
		return Other
	}
	if kind == TypeEthernet {
		return d.inner(b)
	}
	if kind <= 1500 {
		return Other
	}
	return d.etherType(kind, b)
}

func (d *decoder) erspan(kind uint16, sequence bool, b []byte) Verdict {
	if !d.deeper(func(t *TunnelStats) *uint64 { return &t.ERSPAN }) {
		return Other
	}
	if kind == TypeERSPAN && !sequence {
		return d.inner(b) // type I has no header
	}
	if len(b) < 8 {
		return Malformed
	}
	d.in(6, uint32(be.Uint16(b[2:])&0x3ff))
	switch {
	case kind == TypeERSPAN && b[0]>>4 == 1:
		return d.inner(b[8:])
	case kind == TypeERSPAN3 && b[0]>>4 == 2:
		n := 12
		if len(b) < n {
			return Malformed
		}
		last := be.Uint16(b[10:])
		if last&1 != 0 { // platform-specific subheader
			n += 8
		}
		if len(b) < n {
			return Malformed
		}
		switch last >> 10 & 0x1f { // type of the content
		case 0:
			return d.inner(b[n:])
		case 2:
			return d.ip(b[n:])
		}
	}
	return Other
}
