package packet

import (
	"crypto/rand"
	"encoding/binary"
)

// A Placement determines which of several cores has a connection; both directions go to the same core. It is computed from addresses
// and ports with 32-bit arithmetic only, because the kernel computes it too, in a program that capture makes from Keys.
//
// Each endpoint is mixed separately, and the results are added:
//
//	words w0 to w3 of the address (IPv4 is mapped into IPv6)
//	a = ((w0 K0 + w1) K0 + w2) K0 + w3
//	e = (a xor port K1) K2;  e = (e xor e >> 15) K0
//	h = e(one) + e(other);   h = h xor h >> 16;   core h mod n
type Placement struct {
	Keys [3]uint32 // odd and secret: with them an attacker can direct all connections to one core
}

// NewPlacement returns a Placement with random keys.
func NewPlacement() *Placement {
	var b [12]byte
	rand.Read(b[:])
	p := new(Placement)
	for i := range p.Keys {
		p.Keys[i] = binary.LittleEndian.Uint32(b[4*i:]) | 1
	}
	return p
}

func (p *Placement) end(a uint32, port uint16) uint32 {
	e := (a ^ uint32(port)*p.Keys[1]) * p.Keys[2]
	return (e ^ e>>15) * p.Keys[0]
}

func join(a, b uint32) uint32 {
	h := a + b
	return h ^ h>>16
}

func (p *Placement) address(b []byte) uint32 {
	k := p.Keys[0]
	return ((be.Uint32(b)*k+be.Uint32(b[4:]))*k+be.Uint32(b[8:]))*k + be.Uint32(b[12:])
}

// Hash returns h of a connection.
func (p *Placement) Hash(t *Tuple) uint32 {
	return join(p.end(p.address(t.Addr[0][:]), t.Port[0]), p.end(p.address(t.Addr[1][:]), t.Port[1]))
}

// Usual returns h for an Ethernet frame with at most one VLAN tag and a whole TCP packet directly inside. For other
// frames ok is false, and a Parser is needed.
func (p *Placement) Usual(frame []byte) (h uint32, ok bool) {
	if len(frame) < 18+40+20 {
		return 0, false
	}
	kind, b := be.Uint16(frame[12:]), frame[14:]
	if kind == TypeVLAN {
		kind, b = be.Uint16(frame[16:]), frame[18:]
	}
	switch {
	case kind == TypeIPv4 && b[0] == 4<<4|5 && b[9] == ProtoTCP && be.Uint16(b[6:])&0x3fff == 0:
		mapped := 0xffff * p.Keys[0]
		return join(p.end(mapped+be.Uint32(b[12:]), be.Uint16(b[20:])), p.end(mapped+be.Uint32(b[16:]), be.Uint16(b[22:]))), true
	case kind == TypeIPv6 && b[0]>>4 == 6 && b[6] == ProtoTCP:
		return join(p.end(p.address(b[8:]), be.Uint16(b[40:])), p.end(p.address(b[24:]), be.Uint16(b[42:]))), true
	}
	return 0, false
}

// Add adds the counters of another parser.
func (s *FragmentStats) Add(o *FragmentStats) {
	s.Seen += o.Seen
	s.Whole += o.Whole
	s.Duplicates += o.Duplicates
	s.Overlaps += o.Overlaps
	s.Bad += o.Bad
	s.Expired += o.Expired
	s.Evicted += o.Evicted
}
