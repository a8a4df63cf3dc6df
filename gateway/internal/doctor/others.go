package doctor

import (
	"encoding/binary"
	"fmt"

	"github.com/sealane/sealane/gateway/internal/packet"
)

// Protocols that may contain TCP (https://www.iana.org/assignments, IEEE 802). QUIC is not a tunnel.
const quic = "QUIC"

var etherTypes = map[uint16]string{
	0x0806: "ARP", 0x88e5: "MACsec", 0x88e7: "802.1ah (PBB)", 0x894f: "NSH", 0x8926: "VN-tag", 0x8903: "FabricPath", 0x22f3: "TRILL", 0x88cc: "LLDP",
}

var protocols = map[uint8]string{
	1: "ICMP", 2: "IGMP", 50: "IPsec ESP", 51: "IPsec AH", 58: "ICMPv6", 89: "OSPF", 97: "EtherIP", 115: "L2TPv3", 132: "SCTP",
}

var udpPorts = map[uint16]string{
	500: "IPsec IKE", 4500: "IPsec in UDP", 1194: "OpenVPN", 1701: "L2TP", 3544: "Teredo", 4754: "GRE in UDP", 6080: "GUE", 6635: "MPLS in UDP",
	37008: "TZSP", 51820: "WireGuard", 53: "DNS", 67: "DHCP", 68: "DHCP", 5353: "DNS",
}

// Tunnels that the gateway does not decode. They may contain TCP.
var tunnels = map[string]string{
	"MACsec": encrypted, "IPsec ESP": encrypted, "IPsec in UDP": encrypted, "OpenVPN": encrypted, "WireGuard": encrypted,
	"802.1ah (PBB)": unknown, "NSH": unknown, "VN-tag": unknown, "FabricPath": unknown, "TRILL": unknown, "IPsec AH": unknown, "EtherIP": unknown,
	"L2TPv3": unknown, "L2TP": unknown, "Teredo": unknown, "GRE in UDP": unknown, "GUE": unknown, "MPLS in UDP": unknown, "TZSP": unknown,
}

const (
	encrypted = "an encrypted tunnel: capture where it has been decrypted"
	unknown   = "a tunnel that the gateway does not look into: capture past its end, or have the mirror send VXLAN, GRE or ERSPAN"
)

// nameOf returns the name of a frame without recognized TCP.
func nameOf(link packet.LinkType, b []byte) string {
	kind := uint16(0)
	switch link {
	case packet.LinkEthernet:
		if len(b) < 14 {
			return "short frame"
		}
		kind, b = binary.BigEndian.Uint16(b[12:]), b[14:]
		for tags := 0; packet.IsTag(kind) && len(b) >= 4 && tags < 4; tags++ {
			kind, b = binary.BigEndian.Uint16(b[2:]), b[4:]
		}
	case packet.LinkRaw, packet.LinkRawBSD, packet.LinkRawOpen, packet.LinkIPv4, packet.LinkIPv6:
	case packet.LinkNull, packet.LinkLoop:
		b = b[min(len(b), 4):]
	case packet.LinkLinuxSLL:
		if len(b) >= 16 {
			kind, b = binary.BigEndian.Uint16(b[14:]), b[16:]
		}
	case packet.LinkLinuxSLL2:
		if len(b) >= 20 {
			kind, b = binary.BigEndian.Uint16(b), b[20:]
		}
	default:
		return fmt.Sprintf("link type %d", link)
	}
	if name := etherTypes[kind]; name != "" {
		return name
	}
	switch kind {
	case 0:
	case 0x0800, 0x86dd:
	default:
		return fmt.Sprintf("EtherType %#04x", kind)
	}
	var protocol uint8
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		protocol, b = b[9], b[min(len(b), int(b[0]&15)*4):]
	case len(b) >= 40 && b[0]>>4 == 6:
		protocol, b = b[6], b[40:]
	default:
		return "not IP"
	}
	const udp = 17
	if protocol != udp {
		if name := protocols[protocol]; name != "" {
			return name
		}
		return fmt.Sprintf("IP protocol %d", protocol)
	}
	if len(b) < 8 {
		return "UDP"
	}
	from, to := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	if from == 443 || to == 443 {
		return quic
	}
	for _, port := range []uint16{to, from} {
		if name := udpPorts[port]; name != "" {
			return name
		}
	}
	return "UDP"
}
