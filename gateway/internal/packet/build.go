package packet

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// leastWide is the smallest length in bytes for which sumWide is faster than the loop.
const leastWide = 192

// sum adds b to a one's complement sum (RFC 1071), 8 bytes at a time. Such sums do not depend on byte order, so bytes
// are swapped once at the end.
func sum(s uint64, b []byte) uint64 {
	le := binary.LittleEndian
	var c uint64
	i, n := 0, len(b)
	begin := unsafe.Pointer(unsafe.SliceData(b))
	switch {
	case wide && n >= leastWide:
		s, c = bits.Add64(s, sumWide(begin, n/64), 0)
		s += c
		i = n &^ 63
	case n >= 64:
		var t uint64
		for ; i+64 <= n; i += 64 { // two carry chains, which a CPU adds in parallel
			x := (*[64]byte)(unsafe.Add(begin, i)) // like b[i:], in fewer instructions
			s, c = bits.Add64(s, le.Uint64(x[0:]), 0)
			s, c = bits.Add64(s, le.Uint64(x[8:]), c)
			s, c = bits.Add64(s, le.Uint64(x[16:]), c)
			s, c = bits.Add64(s, le.Uint64(x[24:]), c)
			s += c
			t, c = bits.Add64(t, le.Uint64(x[32:]), 0)
			t, c = bits.Add64(t, le.Uint64(x[40:]), c)
			t, c = bits.Add64(t, le.Uint64(x[48:]), c)
			t, c = bits.Add64(t, le.Uint64(x[56:]), c)
			t += c
		}
		s, c = bits.Add64(s, t, 0)
		s += c
	}
	rest := b[i:]
	if len(rest) >= 32 {
		s, c = bits.Add64(s, le.Uint64(rest[0:]), 0)
		s, c = bits.Add64(s, le.Uint64(rest[8:]), c)
		s, c = bits.Add64(s, le.Uint64(rest[16:]), c)
		s, c = bits.Add64(s, le.Uint64(rest[24:]), c)
		s += c
		rest = rest[32:]
	}
	if len(rest) >= 16 {
		s, c = bits.Add64(s, le.Uint64(rest[0:]), 0)
		s, c = bits.Add64(s, le.Uint64(rest[8:]), c)
		s += c
		rest = rest[16:]
	}
	if len(rest) >= 8 {
		s, c = bits.Add64(s, le.Uint64(rest), 0)
		s += c
		rest = rest[8:]
	}
	if len(rest) == 0 {
		return s
	}
	last := uint64(0)
	if k := len(rest); len(b) >= 8 {
		last = le.Uint64(b[len(b)-8:]) >> (64 - 8*k) // the last bytes, without those already added
	} else {
		for at, x := range rest {
			last |= uint64(x) << (8 * at)
		}
	}
	s, c = bits.Add64(s, last, 0)
	return s + c
}

// word returns the sum of a two-byte number.
func word(n uint16) uint64 { return uint64(bits.ReverseBytes16(n)) }

// partly folds a sum far enough that words can be added without a carry.
func partly(s uint64) uint64 { return s>>32 + s&0xffffffff }

func fold(s uint64) uint16 {
	s = partly(partly(s))
	s = s>>16 + s&0xffff
	s = s>>16 + s&0xffff
	return bits.ReverseBytes16(uint16(s))
}

// Sum1 returns the one's complement sum of b as input for Checksum. The length of b is a multiple of 8 bytes.
func Sum1(b []byte) uint64 { return sum(0, b) }

// Checksum returns the Internet checksum of b, continuing from an earlier sum.
func Checksum(before uint64, b []byte) uint16 { return ^fold(sum(before, b)) }

// HeaderBytes is the most that Build writes before the payload.
const HeaderBytes = 14 + 4 + 40 + 20

// A Template makes frames of one direction of a connection.
type Template struct {
	size   int // total size of the headers
	ip     int // offset of the IP header
	tcp    int
	pseudo uint64 // sum of the addresses and the protocol
	own    uint64 // sum of the IPv4 header without length, identifier and checksum
	head   [HeaderBytes]byte
}

// Init sets all constant fields. link is destination and source address. A vlan of 0 means no tag.
func (t *Template) Init(link *[12]byte, vlan uint16, ipv6 bool, src, dst *[16]byte, srcPort, dstPort uint16) {
	h := &t.head
	*h = [HeaderBytes]byte{}
	copy(h[:], link[:])
	n := 12
	if vlan != 0 {
		be.PutUint16(h[n:], TypeVLAN)
		be.PutUint16(h[n+2:], vlan)
		n += 4
	}
	kind := uint16(TypeIPv4)
	if ipv6 {
		kind = TypeIPv6
	}
	be.PutUint16(h[n:], kind)
	t.ip = n + 2
	ip := h[t.ip:]
	if ipv6 {
		ip[0] = 6 << 4
		ip[6], ip[7] = 6, 64
		copy(ip[8:], src[:])
		copy(ip[24:], dst[:])
		t.pseudo = sum(0, ip[8:40])
		t.tcp = t.ip + 40
	} else {
		ip[0] = 4<<4 | 5
		ip[6] = 0x40 // don't fragment
		ip[8], ip[9] = 64, 6
		copy(ip[12:], src[12:])
		copy(ip[16:], dst[12:])
		t.pseudo, t.own = sum(0, ip[12:20]), sum(0, ip[:20])
		t.tcp = t.ip + 20
	}
	tcp := h[t.tcp:]
	be.PutUint16(tcp, srcPort)
	be.PutUint16(tcp[2:], dstPort)
	be.PutUint16(tcp[14:], 0xffff) // window
	t.pseudo, t.own = partly(t.pseudo)+word(ProtoTCP), partly(t.own)
	t.size = t.tcp + 20
}

// Size returns the number of bytes before the payload.
func (t *Template) Size() int { return t.size }

// MaxPayload is the largest payload of an IP packet from Build.
const MaxPayload = 0xffff - 40 - 20

// SYNBytes are the options of a frame that BuildSYN writes.
const SYNBytes = 4

// BuildSYN is Build for a SYN that announces the window unit of its side, 2^scale bytes (RFC 7323, section 2.2).
func (t *Template) BuildSYN(b []byte, seq, ack uint32, flags uint8, id uint16, scale uint8, checksums bool) int {
	return t.build(b, seq, ack, flags, id, 20+SYNBytes, []byte{1, 3, 3, scale}, checksums)
}

// Build writes a frame to b, which must have room for Size()+len(payload) bytes, and returns its size. The payload may
// already be in place.
func (t *Template) Build(b []byte, seq, ack uint32, flags uint8, id uint16, payload []byte, checksums bool) int {
	return t.build(b, seq, ack, flags, id, 20, payload, checksums)
}

// build adds options in the bytes after the 20 bytes common to all TCP headers.
func (t *Template) build(b []byte, seq, ack uint32, flags uint8, id uint16, header int, payload []byte, checksums bool) int {
	copy(b, t.head[:t.size])
	ip, tcp := b[t.ip:], b[t.tcp:]
	size := 20 + len(payload)
	if ip[0]>>4 == 6 {
		be.PutUint16(ip[4:], uint16(size))
	} else {
		be.PutUint16(ip[2:], uint16(20+size))
		be.PutUint16(ip[4:], id)
		if checksums {
			be.PutUint16(ip[10:], ^fold(t.own+word(uint16(20+size))+word(id)))
		}
	}
	be.PutUint32(tcp[4:], seq)
	be.PutUint32(tcp[8:], ack)
	tcp[12] = uint8(header / 4 << 4)
	tcp[13] = flags
	copy(tcp[20:], payload)
	if checksums {
		be.PutUint16(tcp[16:], Checksum(t.pseudo+word(uint16(size)), tcp[:size]))
	}
	return t.tcp + size
}
