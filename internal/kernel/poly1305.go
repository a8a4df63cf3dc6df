package kernel

import (
	"math/bits"
)

// Poly1305 (RFC 8439, section 2.5). For each 16-byte block m,
//
//	h = (h + m + 2^128) * r mod p, p = 2^130 - 5
//
// The tag is h + s mod 2^128. Numbers are in 64-bit limbs; h has three of them and is only partly reduced. The low two
// bits of r1 are clear, so r1 = 4q. Since 2^130 = 5 mod p, a product with r1 at 2^128 equals one with 5q = r1 + r1/4 at
// 1:
//
//	d0 = h0 r0 + h1 5q          at 1
//	d1 = h0 r1 + h1 r0 + h2 5q  at 2^64
//	d2 = h2 r0                  at 2^128
type poly1305 struct {
	h    [3]uint64
	r, s [2]uint64
}

// init takes the one-time key: the first half of block 0 of the keystream.
func (p *poly1305) init(x *[16]uint32) {
	p.h = [3]uint64{}
	p.r[0] = (uint64(x[0]) | uint64(x[1])<<32) & 0x0ffffffc0fffffff
	p.r[1] = (uint64(x[2]) | uint64(x[3])<<32) & 0x0ffffffc0ffffffc
	p.s[0] = uint64(x[4]) | uint64(x[5])<<32
	p.s[1] = uint64(x[6]) | uint64(x[7])<<32
}

// blocks absorbs b, whose length is a multiple of 16.
func (p *poly1305) blocks(b []byte) {
	h0, h1, h2 := p.h[0], p.h[1], p.h[2]
	r0, r1 := p.r[0], p.r[1]
	q5 := r1 + r1>>2
	var carry uint64
	for len(b) >= 16 {
		h0, carry = bits.Add64(h0, leUint64(b[0:8]), 0)
		h1, carry = bits.Add64(h1, leUint64(b[8:16]), carry)
		h2 += carry + 1

		// h2 < 10 and r0, r1, 5q < 2^61: no sum overflows 128 bits, and h2 r0 not 64.
		d0hi, d0lo := bits.Mul64(h0, r0)
		hi, lo := bits.Mul64(h1, q5)
		d0lo, carry = bits.Add64(d0lo, lo, 0)
		d0hi, _ = bits.Add64(d0hi, hi, carry)

		d1hi, d1lo := bits.Mul64(h0, r1)
		hi, lo = bits.Mul64(h1, r0)
		d1lo, carry = bits.Add64(d1lo, lo, 0)
		d1hi, _ = bits.Add64(d1hi, hi, carry)
		d1lo, carry = bits.Add64(d1lo, h2*q5, 0)
		d1hi += carry

		d2 := h2 * r0

		// Carry, and add the part above 2^130 back five times: d2 = 4c + h2, c + 4c.
		d1lo, carry = bits.Add64(d1lo, d0hi, 0)
		d2 += d1hi + carry
		h2 = d2 & 3
		h0, carry = bits.Add64(d0lo, d2>>2+d2&^3, 0)
		h1, carry = bits.Add64(d1lo, 0, carry)
		h2 += carry
		b = b[16:]
	}
	p.h = [3]uint64{h0, h1, h2}
}

// padded absorbs b, padded with zeroes to a multiple of 16 bytes.
func (p *poly1305) padded(b []byte) {
	whole := len(b) &^ 15
	p.blocks(b[:whole])
	if whole < len(b) {
		var last [16]byte
		copy(last[:], b[whole:])
		p.blocks(last[:])
		clear(last[:])
	}
}

// lengths absorbs the final block of a packet.
func (p *poly1305) lengths(ad, text uint64) {
	var last [16]byte
	lePutUint64(last[0:], ad)
	lePutUint64(last[8:], text)
	p.blocks(last[:])
}

// sum writes the tag. After a block h < 2^130 + 2^66 < 2p, so one conditional subtraction reduces it.
func (p *poly1305) sum(tag *[16]byte) {
	t0, borrow := bits.Sub64(p.h[0], 0xfffffffffffffffb, 0)
	t1, borrow := bits.Sub64(p.h[1], 0xffffffffffffffff, borrow)
	_, borrow = bits.Sub64(p.h[2], 3, borrow)
	keep := -borrow // all ones if h < p
	h0 := p.h[0]&keep | t0&^keep
	h1 := p.h[1]&keep | t1&^keep
	h0, carry := bits.Add64(h0, p.s[0], 0)
	h1, _ = bits.Add64(h1, p.s[1], carry)
	lePutUint64(tag[0:], h0)
	lePutUint64(tag[8:], h1)
}

// Finish absorbs the rest, less than 16 bytes, with plain Poly1305's padding: a one and then zeroes. It writes the tag.
// An AEAD of RFC 8439 ends with a block of lengths instead.
func (s *State) Finish(rest []byte, tag *[16]byte) {
	p := poly1305{s.H, s.R, s.S}
	// Reduce h, which a kernel leaves below 2^131, to slightly above 2^130.
	var carry uint64
	p.h[0], carry = bits.Add64(p.h[0], 5*(p.h[2]>>2), 0)
	p.h[1], carry = bits.Add64(p.h[1], 0, carry)
	p.h[2] = p.h[2]&3 + carry
	if len(rest) > 0 {
		var last [16]byte
		copy(last[:], rest)
		last[len(rest)] = 1
		// The block lacks 2^128, which is therefore subtracted from h beforehand: 3 2^128 - 5 is -2^128 modulo p.
		p.h[0], carry = bits.Sub64(p.h[0], 5, 0)
		p.h[1], carry = bits.Sub64(p.h[1], 0, carry)
		p.h[2] += 3 - carry
		p.blocks(last[:])
		clear(last[:])
	}
	p.sum(tag)
	p = poly1305{}
}

// Absorb adds b, padded with zeroes to whole blocks, to the authenticated data. It is portable code for data that is
// too short for a kernel.
func (s *State) Absorb(b []byte) {
	p := poly1305{s.H, s.R, s.S}
	p.padded(b)
	s.H = p.h
	p = poly1305{}
}
