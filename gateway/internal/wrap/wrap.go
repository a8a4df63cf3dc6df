// Package wrap puts headers around packets, for tests: tunnels and fragments as networks make them.
package wrap

import (
	"bytes"
	"encoding/binary"
)

var be = binary.BigEndian

const (
	typeIPv4     = 0x0800
	typeIPv6     = 0x86dd
	typeVLAN     = 0x8100
	typeQinQ     = 0x88a8
	typeNewQ     = 0x9200
	typeMPLSMany = 0x8848
	typeMPLS     = 0x8847
	typePPPoE    = 0x8864
	typeEthernet = 0x6558
	typeERSPAN3  = 0x22eb
	typeERSPAN   = 0x88be
	protoIPv4    = 4
	protoTCP     = 6
	protoUDP     = 17
	protoIPv6    = 41
	protoGRE     = 47
	portGTP      = 2152
	portVXLANGPE = 4790
	portVXLAN    = 4789
	portOldVXLAN = 8472
	portGENEVE   = 6081
)

func checksum(b []byte) uint16 {
	s := uint32(0)
	for i := 0; i+1 < len(b); i += 2 {
		s += uint32(be.Uint16(b[i:]))
	}
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return ^uint16(s)
}

// A Tunnel puts headers around a packet.
type Tunnel struct {
	Name  string
	Ether bool // its content is an Ethernet frame, not an IP packet
	Zone  bool // it has an identifier of the network
	wrap  func(b []byte, id uint32) []byte
}

// Around puts a frame, or the IP packet in it if the tunnel takes that, into a frame of the network id. The frame has
// no tags.
func (t *Tunnel) Around(frame []byte, id uint32) []byte {
	if t.Ether {
		return t.wrap(frame, id)
	}
	ip := frame[14:]
	if ip[0]>>4 == 4 {
		ip = ip[:be.Uint16(ip[2:])] // without Ethernet's padding of short frames
	} else {
		ip = ip[:40+be.Uint16(ip[4:])]
	}
	return t.wrap(ip, id)
}

// Tunnels are all supported kinds, each written by hand from its specification.
var Tunnels = []Tunnel{
	{"VLAN", false, true, func(b []byte, id uint32) []byte { return Ether(typeVLAN, Words(uint16(id&0xfff), Type(b)), b) }},
	{"QinQ", false, true, func(b []byte, id uint32) []byte {
		return Ether(typeQinQ, Words(100, typeVLAN, uint16(id&0xfff), Type(b)), b)
	}},
	{"QinQ of 0x9200", false, true, func(b []byte, id uint32) []byte {
		return Ether(typeNewQ, Words(100, typeVLAN, uint16(id&0xfff), Type(b)), b)
	}},
	{"VXLAN", true, true, func(b []byte, id uint32) []byte {
		return Ether(typeIPv4, UDPv4(portVXLAN, be.AppendUint32([]byte{8, 0, 0, 0}, id<<8), b))
	}},
	{"VXLAN over IPv6", true, true, func(b []byte, id uint32) []byte {
		return Ether(typeIPv6, UDPv6(portOldVXLAN, be.AppendUint32([]byte{8, 0, 0, 0}, id<<8), b))
	}},
	{"VXLAN-GPE with IP", false, true, func(b []byte, id uint32) []byte {
		next := byte(1)
		if b[0]>>4 == 6 {
			next = 2
		}
		return Ether(typeIPv4, UDPv4(portVXLANGPE, be.AppendUint32([]byte{12, 0, 0, next}, id<<8), b))
	}},
	{"GENEVE", true, true, func(b []byte, id uint32) []byte {
		options := []byte{1, 2, 3, 1, 0xaa, 0xbb, 0xcc, 0xdd}
		h := append(be.AppendUint32(append([]byte{byte(len(options) / 4), 0}, Words(typeEthernet)...), id<<8), options...)
		return Ether(typeIPv4, UDPv4(portGENEVE, h, b))
	}},
	{"GENEVE with IP", false, true, func(b []byte, id uint32) []byte {
		return Ether(typeIPv4, UDPv4(portGENEVE, be.AppendUint32(append([]byte{0, 0}, Words(Type(b))...), id<<8), b))
	}},
	{"GRE", false, false, func(b []byte, _ uint32) []byte { return Ether(typeIPv4, IPv4(protoGRE, Words(0, Type(b)), b)) }},
	{"GRE with all fields", false, true, func(b []byte, id uint32) []byte {
		return Ether(typeIPv6, IPv6(protoGRE, be.AppendUint32(be.AppendUint32(Words(0xb000, Type(b), 0, 0), id), 7), b))
	}},
	{"GRE with Ethernet", true, false, func(b []byte, _ uint32) []byte {
		return Ether(typeIPv4, IPv4(protoGRE, Words(0, typeEthernet), b))
	}},
	{"ERSPAN I", true, false, func(b []byte, _ uint32) []byte { return Ether(typeIPv4, IPv4(protoGRE, Words(0, typeERSPAN), b)) }},
	{"ERSPAN II", true, true, func(b []byte, id uint32) []byte {
		return Ether(typeIPv4, IPv4(protoGRE, Words(0x1000, typeERSPAN, 0, 1, 0x1007, uint16(id&0x3ff), 0, 9), b))
	}},
	{"ERSPAN III", true, true, func(b []byte, id uint32) []byte {
		return Ether(typeIPv4, IPv4(protoGRE, Words(0x1000, typeERSPAN3, 0, 1, 0x2007, uint16(id&0x3ff), 0, 9, 0, 0), b))
	}},
	{"ERSPAN III with a subheader", true, true, func(b []byte, id uint32) []byte {
		return Ether(typeIPv4, IPv4(protoGRE, Words(0x1000, typeERSPAN3, 0, 1, 0x2007, uint16(id&0x3ff), 0, 9, 0, 1, 0x0c00, 0, 0, 0), b))
	}},
	{"MPLS", false, false, func(b []byte, _ uint32) []byte {
		return Ether(typeMPLS, []byte{0, 1, 0, 64, 0, 2, 0x11, 64}, b)
	}},
	{"MPLS with Ethernet", true, false, func(b []byte, _ uint32) []byte {
		return Ether(typeMPLSMany, []byte{0, 2, 0x21, 64, 0, 0, 0, 0}, b)
	}},
	{"MPLS in GRE", false, false, func(b []byte, _ uint32) []byte {
		return Ether(typeIPv4, IPv4(protoGRE, append(Words(0, typeMPLS), 0, 2, 0x11, 64), b))
	}},
	{"PPPoE", false, true, func(b []byte, id uint32) []byte {
		kind := uint16(0x21)
		if b[0]>>4 == 6 {
			kind = 0x57
		}
		return Ether(typePPPoE, Words(0x1100, uint16(id), uint16(len(b)+2), kind), b)
	}},
	{"LLC/SNAP", false, false, func(b []byte, _ uint32) []byte {
		if len(b) > 1400 {
			return Ether(Type(b), b)
		}
		return Ether(uint16(8+len(b)), append([]byte{0xaa, 0xaa, 3, 0, 0, 0}, Words(Type(b))...), b)
	}},
	{"IP in IPv4", false, false, func(b []byte, _ uint32) []byte { return Ether(typeIPv4, IPv4(protoOf(b), nil, b)) }},
	{"IP in IPv6", false, false, func(b []byte, _ uint32) []byte { return Ether(typeIPv6, IPv6(protoOf(b), nil, b)) }},
	{"GTP-U", false, false, func(b []byte, id uint32) []byte {
		return Ether(typeIPv4, UDPv4(portGTP, be.AppendUint32(append([]byte{0x30, 255}, Words(uint16(len(b)))...), id), b))
	}},
	{"GTP-U with an extension header", false, false, func(b []byte, id uint32) []byte {
		h := be.AppendUint32(append([]byte{0x34, 255}, Words(uint16(len(b)+8))...), id)
		return Ether(typeIPv4, UDPv4(portGTP, append(h, 0, 0, 0, 0x85, 1, 0x10, 9, 0), b)) // a PDU session container
	}},
}

// Words are 16 bits each.
func Words(w ...uint16) (b []byte) {
	for _, x := range w {
		b = be.AppendUint16(b, x)
	}
	return b
}

// Type is the EtherType of the frame that carries an IP packet.
func Type(b []byte) uint16 {
	if b[0]>>4 == 6 {
		return typeIPv6
	}
	return typeIPv4
}

func protoOf(b []byte) byte {
	if b[0]>>4 == 6 {
		return protoIPv6
	}
	return protoIPv4
}

// Ether is a frame of parts.
func Ether(kind uint16, parts ...[]byte) []byte {
	b := append([]byte{2, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 4}, Words(kind)...)
	return append(b, bytes.Join(parts, nil)...)
}

// IPv4 is a packet of parts.
func IPv4(proto byte, parts ...[]byte) []byte {
	rest := bytes.Join(parts, nil)
	b := []byte{0x45, 0, 0, 0, 0, 0, 0, 0, 64, proto, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2}
	be.PutUint16(b[2:], uint16(20+len(rest)))
	be.PutUint16(b[10:], checksum(b))
	return append(b, rest...)
}

// IPv6 is a packet of parts.
func IPv6(proto byte, parts ...[]byte) []byte {
	rest := bytes.Join(parts, nil)
	b := make([]byte, 40)
	b[0], b[6], b[7], b[8], b[24], b[39] = 0x60, proto, 64, 0x20, 0x20, 1
	be.PutUint16(b[4:], uint16(len(rest)))
	return append(b, rest...)
}

func udp(port uint16, parts ...[]byte) []byte {
	rest := bytes.Join(parts, nil)
	return append(Words(40000, port, uint16(8+len(rest)), 0), rest...)
}

// UDPv4 is a datagram to a port.
func UDPv4(port uint16, parts ...[]byte) []byte { return IPv4(protoUDP, udp(port, parts...)) }

// UDPv6 is a datagram to a port.
func UDPv6(port uint16, parts ...[]byte) []byte { return IPv6(protoUDP, udp(port, parts...)) }

// Split cuts an IP packet into fragments with at most `most` bytes of data.
func Split(ip []byte, most int, id uint16) (all [][]byte) {
	most = max(most&^7, 8)
	if ip[0]>>4 == 4 {
		head := int(ip[0]&15) * 4
		for at := head; at < len(ip); at += most {
			end := min(at+most, len(ip))
			f := append(bytes.Clone(ip[:head]), ip[at:end]...)
			field := uint16((at - head) / 8)
			if end < len(ip) {
				field |= 0x2000
			}
			be.PutUint16(f[2:], uint16(len(f)))
			be.PutUint16(f[4:], id)
			be.PutUint16(f[6:], field)
			be.PutUint16(f[10:], 0)
			be.PutUint16(f[10:], checksum(f[:head]))
			all = append(all, f)
		}
		return all
	}
	for at := 40; at < len(ip); at += most {
		end := min(at+most, len(ip))
		field := uint16(at - 40)
		if end < len(ip) {
			field |= 1
		}
		f := append(bytes.Clone(ip[:40]), ip[6], 0)
		f = be.AppendUint32(be.AppendUint16(f, field), uint32(id))
		f[6] = 44
		f = append(f, ip[at:end]...)
		be.PutUint16(f[4:], uint16(len(f)-40))
		all = append(all, f)
	}
	return all
}
