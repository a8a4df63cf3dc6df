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
	"as many as there may be of each packet, in order": func(i int) []byte {
		return part(1, uint16(i/250), i%250*8, true, 8)
	},
	"the same, each between two of others": func(i int) []byte {
		k := i % 250 * 2
		if k >= 250 {
			k = 499 - k
		}
		return part(1, uint16(i/250), k*8, true, 8)
	},
	"packets in packets": nested,
	"of many addresses":  func(i int) []byte { return part(byte(i), uint16(i), 0, true, 1400) },
}

// nested returns fragments of IPv6. With each, one more packet is complete, and each packet is a fragment of the
// next.
func nested(i int) []byte {
	const depth, size, each = 200, 60000, 1400
	const last = (size + each - 1) / each
	id := uint32(i / (depth + last))
	at := func(level uint32, offset int, more bool, data []byte) []byte {
		f := uint16(offset)
		if more {
			f |= 1
		}
		h := append([]byte{44, 0}, byte(f>>8), byte(f))
		return append(binary.BigEndian.AppendUint32(h, id<<16|level), data...)
	}
	packet := func(b []byte) []byte {
		ip := make([]byte, 40, 40+len(b))
		ip[0], ip[6], ip[7], ip[8], ip[24], ip[39] = 0x60, 44, 64, 0x20, 0x20, 1
		binary.BigEndian.PutUint16(ip[4:], uint16(len(b)))
		return append(append(make([]byte, 12, 14+len(ip)+len(b)), 0x86, 0xdd), append(ip, b...)...)
	}
	k := i % (depth + last)
	if k < depth { // the first 8 bytes of each: the header of the next one's second part
		return packet(at(uint32(k), 0, true, at(uint32(k+1), 8, false, nil)))
	}
	k -= depth // the second part of the outermost, as the second parts of all
	n := min(each, size-k*each)
	return packet(at(0, 8+k*each, k < last-1, make([]byte, n)))
}

// The cost of fragments.
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

// A packet has a limited number of pieces, or it is refused: more of them would only cost time.
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
				pieces += int(p.parts.datagrams[k].parts)
			}
			most = max(most, pieces)
		}
		if whole := p.Fragments.Whole == 1; whole != c.whole || most > maxParts {
			t.Errorf("%s: %d pieces at most, whole %v: %+v", name, most, whole, p.Fragments)
		}
	}
}

// A complete packet is not a fragment of another one. Otherwise one fragment would cause many packets to be copied,
// one after the other.
func TestNestedFragments(t *testing.T) {
	var p Parser
	var s Segment
	for i := range 243 {
		if v := p.Parse(&s, LinkEthernet, nested(i), 1); v != Fragment {
			t.Fatalf("fragment %d is %v", i, v)
		}
	}
	if st := p.Fragments; st.Whole != 1 || st.Bad != 1 || st.Seen != 244 {
		t.Errorf("%+v", st)
	}
	p.parts.check(t, 199)
}
