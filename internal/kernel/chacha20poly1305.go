package kernel

import "unsafe"

// ChaCha20Poly1305Portable is the kernel (RFC 8439, section 2.8) in constant-time Go, for every CPU: the level that
// is always there, and the oracle that the others are tested against.
func ChaCha20Poly1305Portable(a *PacketArgs) {
	var c chaCha20
	var p poly1305
	var last [16]byte
	copy(last[4:], unsafe.Slice((*byte)(a.Nonce), 12))
	c.init((*[32]byte)(a.Key), &last)

	if a.Flags&FlagFirst != 0 {
		var x [16]uint32
		c.block(&x)
		p.init(&x)
		clear(x[:])
		p.padded(unsafe.Slice((*byte)(a.AD), int(a.ADBytes)))
	} else {
		p.h, p.r, p.s = a.State.H, a.State.R, a.State.S
		c[12] = uint32(a.State.Counter)
	}

	// In pieces that stay in the first-level cache between the two passes.
	out, in := unsafe.Slice((*byte)(a.Out), int(a.Bytes)), unsafe.Slice((*byte)(a.In), int(a.Bytes))
	for len(in) > 0 {
		n := min(len(in), 4096)
		if a.Flags&FlagOpen != 0 {
			p.padded(in[:n])
			c.xor(out[:n], in[:n])
		} else {
			c.xor(out[:n], in[:n])
			p.padded(out[:n])
		}
		out, in = out[n:], in[n:]
	}

	if a.Flags&FlagLast != 0 {
		p.lengths(a.ADBytes, a.Total)
		p.sum((*[16]byte)(a.Tag))
	} else {
		*a.State = State{H: p.h, R: p.r, S: p.s, Counter: uint64(c[12])}
	}
	clear(c[:])
	p = poly1305{}
}

// answerSizes are the packets of the known-answer tests, and answerParts those of the last one.
var (
	answerSizes = [...]int{0, 1, 16, 31, 64, 65, 127, 128, 192, 256, 257, 511, 512, 1023, 1024, 1420, 1472, 1536, 1537, 2100, 3200}
	answerParts = [...]struct{ at, bytes, flags int }{{0, 1024, FlagFirst}, {1024, 1024, 0}, {2048, 1152, FlagLast}}
)

// pattern fills p with byte j = 7j + first, which repeats after 256 bytes.
func pattern(p []byte, first int) {
	for j := range p[:min(len(p), 256)] {
		p[j] = byte(7*j + first)
	}
	for at := 256; at < len(p); at *= 2 {
		copy(p[at:], p[:at])
	}
}

// answerTexts has the plaintexts of the known-answer tests: byte j of text n is 7j + n.
type answerTexts [answerMost + 255]byte

const answerMost = 3200

// of returns text n, with room for answerMost bytes: 183 is the inverse of 7 modulo 256.
func (t *answerTexts) of(n int) *[answerMost]byte { return (*[answerMost]byte)(t[byte(183*n):]) }

// chaCha20Poly1305Answer is the last tag; TestAnswer computes it with another implementation.
var chaCha20Poly1305Answer = [16]byte{0x8b, 0x9b, 0xa7, 0x78, 0x69, 0x59, 0x51, 0x4d, 0x2f, 0xca, 0x03, 0xaf, 0x99, 0x8d, 0x62, 0xab}

// chaCha20Poly1305Test is the known-answer test of a level: packets of telling lengths are sealed and opened, each
// under the tag of the one before as associated data, and the last is sealed in three parts. The same test is in the
// C library. With corrupt one bit of the level's output is flipped, and the test must fail.
func chaCha20Poly1305Test(level Level, corrupt bool) bool {
	var key [32]byte
	for i := range key {
		key[i] = byte(0x80 + i)
	}
	nonce := [12]byte{7, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47}
	var texts answerTexts
	var sealed [answerMost]byte
	var ad [16 + 32]byte
	var prev, tag [16]byte
	pattern(texts[:], 0)
	a := PacketArgs{Key: unsafe.Pointer(&key), Nonce: unsafe.Pointer(&nonce), AD: unsafe.Pointer(&ad)}
	for _, n := range answerSizes {
		plain := texts.of(n)
		copy(ad[:], prev[:])
		copy(ad[16:], plain[:n%33])
		a.ADBytes, a.Bytes, a.Total = uint64(16+n%33), uint64(n), uint64(n)

		a.Flags = FlagFirst | FlagLast
		a.In, a.Out, a.Tag = unsafe.Pointer(plain), unsafe.Pointer(&sealed), unsafe.Pointer(&prev)
		ChaCha20Poly1305(level, &a)

		a.Flags |= FlagOpen
		a.In, a.Tag = unsafe.Pointer(&sealed), unsafe.Pointer(&tag)
		ChaCha20Poly1305(level, &a)
		if tag != prev || string(sealed[:n]) != string(plain[:n]) {
			return false
		}
	}

	var state State
	copy(ad[:], prev[:])
	plain := texts.of(answerMost)
	a.ADBytes, a.Total, a.State = 16, answerMost, &state
	a.Tag = unsafe.Pointer(&tag)
	for _, part := range answerParts {
		a.In, a.Out = unsafe.Pointer(&plain[part.at]), unsafe.Pointer(&sealed[part.at])
		a.Bytes, a.Flags = uint64(part.bytes), uint64(part.flags)
		ChaCha20Poly1305(level, &a)
	}
	if corrupt {
		tag[0] ^= 1
	}
	return tag == chaCha20Poly1305Answer
}
