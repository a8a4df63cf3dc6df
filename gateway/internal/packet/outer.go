package packet

import "net/netip"

// An Outer has the outermost headers of an Ethernet frame, without decoding tunnels or fragments.
type Outer struct {
	Proto int // IP protocol, or one of the numbers below
	Addr  [2]netip.Addr
	Port  [2]uint16 // for TCP and UDP
	Local bool      // required by the link: ARP and neighbor discovery, with no room for other data
}

// Protocols without an IP protocol number.
const (
	OuterARP      = 256
	OuterFragment = 257
)

const (
	typeARP     = 0x0806
	protoICMPv6 = 58
	outerTags   = 2
)

// OuterOf decodes a frame. It returns false if the frame is neither IP nor ARP, or malformed. ip is the offset of the
// IP or ARP header. tcp is the offset of the TCP header if TCP is in a packet of its own, otherwise 0.
func OuterOf(b []byte) (o Outer, ip, tcp int, ok bool) {
	if len(b) < 14 {
		return o, 0, 0, false
	}
	kind, at := be.Uint16(b[12:]), 14
	for tags := 0; IsTag(kind); tags++ {
		if len(b) < at+4 || tags == outerTags {
			return o, 0, 0, false
		}
		kind, at = be.Uint16(b[at+2:]), at+4
	}
	ip = at
	switch h := b[at:]; kind {
	case typeARP:
		o.Proto = OuterARP
		// 28 bytes, and Ethernet padding.
		o.Local = len(h) >= 28 && len(h) <= 46 && be.Uint16(h) == 1 && be.Uint16(h[2:]) == TypeIPv4
		if o.Local {
			for _, x := range h[28:] {
				o.Local = o.Local && x == 0
			}
		}
		return o, ip, 0, true
	case TypeIPv4:
		size := headerIPv4(h)
		if size == 0 {
			return o, 0, 0, false
		}
		o.Addr = [2]netip.Addr{netip.AddrFrom4([4]byte(h[12:])), netip.AddrFrom4([4]byte(h[16:]))}
		if o.Proto = int(h[9]); fragmentedIPv4(h) {
			o.Proto = OuterFragment
			return o, ip, 0, true
		}
		at += size
	case TypeIPv6:
		if len(h) < 40 || h[0]>>4 != 6 {
			return o, 0, 0, false
		}
		o.Addr = [2]netip.Addr{netip.AddrFrom16([16]byte(h[8:])), netip.AddrFrom16([16]byte(h[24:]))}
		// No packet may have these addresses (RFC 6890, section 2.2.3), and rules could mistake them for IPv4
		// addresses.
		if o.Addr[0].Is4In6() || o.Addr[1].Is4In6() {
			return o, 0, 0, false
		}
		next := h[6]
		at += 40
		for n := 0; next == 0 || next == 43 || next == 60; n++ { // others are protocols that a rule can name
			if len(b) < at+8 || n == maxHeaders {
				return o, 0, 0, false
			}
			next, at = b[at], at+extension(next, b[at+1])
		}
		if o.Proto = int(next); next == protoFragment {
			o.Proto = OuterFragment
			return o, ip, 0, true
		}
		// Neighbor discovery packets never leave their link (RFC 4861), and have no other headers.
		o.Local = h[6] == protoICMPv6 && len(b) >= at+8 && h[7] == 255 && b[at] >= 133 && b[at] <= 136 && len(b) <= at+88
	default:
		return o, 0, 0, false
	}
	if at > len(b) {
		return o, 0, 0, false
	}
	switch o.Proto {
	case ProtoTCP:
		if headerTCP(b[at:]) == 0 {
			return o, 0, 0, false
		}
		tcp = at
		fallthrough
	case ProtoUDP:
		if len(b) < at+8 {
			return o, 0, 0, false
		}
		o.Port = [2]uint16{be.Uint16(b[at:]), be.Uint16(b[at+2:])}
	}
	return o, ip, tcp, true
}

// headerIPv4 returns the length of the IPv4 header, or 0 if it is invalid or incomplete.
func headerIPv4(b []byte) int {
	if len(b) < 20 || b[0]>>4 != 4 {
		return 0
	}
	if n := int(b[0]&15) * 4; n >= 20 && n <= len(b) {
		return n
	}
	return 0
}

func fragmentedIPv4(b []byte) bool { return be.Uint16(b[6:])&0x3fff != 0 }

// extension returns the length of an IPv6 extension header from its length field (RFC 8200, section 4), or 0 for other
// headers.
func extension(kind, units uint8) int {
	switch kind {
	case 0, 43, 60, 135, 139, 140: // hop-by-hop, routing, destination, mobility, HIP, shim6
		return int(units)*8 + 8
	case 51: // authentication, in units of 4 bytes
		return int(units)*4 + 8
	}
	return 0
}

// headerTCP returns the length of the TCP header, or 0 if it is invalid or incomplete.
func headerTCP(b []byte) int {
	if len(b) < 20 {
		return 0
	}
	if n := int(b[12]>>4) * 4; n >= 20 && n <= len(b) {
		return n
	}
	return 0
}
