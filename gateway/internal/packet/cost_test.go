package packet

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// part returns a fragment of IPv4 as an Ethernet frame.
func part(src byte, id uint16, at int, more bool, n int) []byte {
	b := make([]byte, 14+20+n)
	b[12], b[13] = 8, 0
	ip := b[14:]
	ip[0], ip[8], ip[9] = 0x45, 64, 17
	binary.BigEndian.PutUint16(ip[2:], uint16(20+n))
	binary.BigEndian.PutUint16(ip[4:], id)
	field := uint16(at / 8)
	if more {
		field |= 0x2000
	}
	binary.BigEndian.PutUint16(ip[6:], field)
	copy(ip[12:], []byte{10, 0, 0, src, 10, 0, 1, 1})
	binary.BigEndian.PutUint16(ip[10:], Checksum(0, ip[:20]))
	return b
}

var order8000 = rand.New(rand.NewPCG(1, 2)).Perm(8000)

var fragmentFloods = map[string]func(i int) []byte{
	"ordinary": func(i int) []byte { return part(1, uint16(i/2), i%2*1400, i%2 == 0, 1400) },
	"many small ones of a packet, in any order": func(i int) []byte { return part(1, uint16(i/8000), order8000[i%8000]*8, true, 8) },
	"older ones of others": func(i int) []byte {
		if i < 1000 {
			return part(byte(2+i%100), uint16(i), 0, true, 8)
		}
		return part(1, uint16(i), 0, true, 8)
	},
	"of many addresses": func(i int) []byte { return part(byte(i), uint16(i), 0, true, 1400) },
}

// What fragments cost.
func BenchmarkFragments(b *testing.B) {
	for name, make := range fragmentFloods {
		b.Run(name, func(b *testing.B) {
			var p Parser
			var s Segment
			var frames [][]byte
			for i := range 1 << 14 {
				frames = append(frames, make(i))
			}
			for i := range 1 << 14 {
				p.Parse(&s, LinkEthernet, frames[i], 1)
				p.Release()
			}
			for i := 0; b.Loop(); i++ {
				p.Parse(&s, LinkEthernet, frames[i%len(frames)], 1)
				p.Release()
			}
		})
	}
}

// A packet is in so many pieces at most, or it is refused: who makes more of them wants others to look for their places.
func TestFragmentPieces(t *testing.T) {
	for name, c := range map[string]struct {
		each  int // bytes
		whole bool
	}{"as on the worst of links": {496, true}, "of 8 bytes": {8, false}, "of 64 bytes": {64, false}} {
		var p Parser
		var s Segment
		const size = 60000
		n := (size + c.each - 1) / c.each
		most := 0
		for i := range n {
			p.Parse(&s, LinkEthernet, part(1, 7, (n-1-i)*c.each, i > 0, min(c.each, size-(n-1-i)*c.each)), 1)
			pieces := 0
			for k := range p.parts.datagrams {
				for x := p.parts.datagrams[k].first; x != 0; x = p.parts.piece(x).next {
					pieces++
				}
			}
			most = max(most, pieces)
		}
		if whole := p.Fragments.Whole == 1; whole != c.whole || most > maxParts {
			t.Errorf("%s: %d pieces at most, whole %v: %+v", name, most, whole, p.Fragments)
		}
	}
}
