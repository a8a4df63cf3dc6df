package kernel

import "unsafe"

// ChaCha20Poly1305Portable is the kernel (RFC 8439, section 2.8) in constant-time Go, for every CPU. It is the fallback
// level, and the reference for tests of the others.
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

	// In pieces that stay in the first-level cache for both passes.
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

// answerSizes are the packet sizes of the known-answer tests, and answerParts the sizes of the last packet's parts.
var (
	answerSizes = [...]int{0, 1, 16, 31, 64, 65, 127, 128, 192, 256, 257, 511, 512, 700, 1023, 1024, 1200, 1420, 1472, 1536, 1537, 2100, 3200}
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

// answerTexts contains the plaintexts of the known-answer tests: byte j of text n is 7j + n.
type answerTexts [answerMost + 255]byte

const answerMost = 3200

// of returns text n, with room for answerMost bytes: 183 is the inverse of 7 modulo 256.
func (t *answerTexts) of(n int) *[answerMost]byte { return (*[answerMost]byte)(t[byte(183*n):]) }

// An answerChain is a known-answer test. It seals and opens packets of critical sizes, each with the previous tag as
// associated data, and processes the last packet in three parts.
type answerChain struct {
	level  Level
	gcm    bool
	keys   [3]unsafe.Pointer // used in rotation
	key    [32]byte
	texts  answerTexts
	sealed [answerMost]byte
	ad     [16 + 32]byte
	j0     [16]byte // starts with the nonce
	tag    [16]byte
}

func (c *answerChain) init() {
	for i := range c.key {
		c.key[i] = byte(0x80 + i)
	}
	c.j0 = [16]byte{7, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47}
	pattern(c.texts[:], 0)
}

// run processes packet number i, or a part of it.
func (c *answerChain) run(i int, a PacketArgs) {
	a.Key, a.Nonce, a.AD = c.keys[i%3], unsafe.Pointer(&c.j0), unsafe.Pointer(&c.ad)
	if !c.gcm {
		ChaCha20Poly1305(c.level, &a)
		return
	}
	if i%2 == 0 {
		a.Flags |= FlagNonce
	} else {
		bePutUint32(c.j0[12:], -uint32(i))
	}
	AESGCM(c.level, &a)
}

// packets processes all packets except the last, and reports whether they opened.
func (c *answerChain) packets() bool {
	for i, n := range answerSizes {
		var opened [16]byte
		plain := c.texts.of(n)
		copy(c.ad[:], c.tag[:])
		copy(c.ad[16:], plain[:])
		a := PacketArgs{ADBytes: uint64(16 + n%33), Bytes: uint64(n), Total: uint64(n), Flags: FlagFirst | FlagLast}
		a.In, a.Out, a.Tag = unsafe.Pointer(plain), unsafe.Pointer(&c.sealed), unsafe.Pointer(&c.tag)
		c.run(i, a)
		a.Flags |= FlagOpen
		a.In, a.Tag = a.Out, unsafe.Pointer(&opened)
		c.run(i, a)
		if opened != c.tag || string(c.sealed[:n]) != string(plain[:n]) {
			return false
		}
	}
	return true
}

// parts processes the last packet in one direction, and writes its tag.
func (c *answerChain) parts(in *[answerMost]byte, tag *[16]byte, direction int) {
	var state State
	for _, part := range answerParts {
		a := PacketArgs{ADBytes: 16, Total: answerMost, Bytes: uint64(part.bytes), State: &state, Flags: uint64(part.flags | direction)}
		a.In, a.Out, a.Tag = unsafe.Pointer(&in[part.at]), unsafe.Pointer(&c.sealed[part.at]), unsafe.Pointer(tag)
		c.run(len(answerSizes), a)
	}
}

// gives reports whether everything succeeds and the last tag is answer. With corrupt, it flips one bit of the level's
// output.
func (c *answerChain) gives(answer *[16]byte, corrupt bool) bool {
	if !c.packets() {
		return false
	}
	var sealed [16]byte
	copy(c.ad[:], c.tag[:])
	c.parts(c.texts.of(answerMost), &sealed, 0)
	opened := sealed
	if c.gcm {
		c.parts(&c.sealed, &opened, FlagOpen)
	}
	if corrupt {
		opened[0] ^= 1
	}
	return sealed == *answer && opened == *answer
}

// chaCha20Poly1305Answer is the last tag; TestAnswer computes it with another implementation.
var chaCha20Poly1305Answer = [16]byte{0x73, 0xbc, 0xd4, 0x2e, 0x83, 0x83, 0xf2, 0xbf, 0x5e, 0x3d, 0xd9, 0xcc, 0x7e, 0x57, 0x53, 0xab}

// chaCha20Poly1305Test is the known-answer test of a level. The C library has the same test.
func chaCha20Poly1305Test(level Level, corrupt bool) bool {
	c := answerChain{level: level}
	c.init()
	for i := range c.keys {
		c.keys[i] = unsafe.Pointer(&c.key)
	}
	return c.gives(&chaCha20Poly1305Answer, corrupt)
}
