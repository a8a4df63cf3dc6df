package kernel

import (
	"math/bits"
)

// GHASH (NIST SP 800-38D, section 6.4) with the integer multiplier of any CPU.
//
// Carry-less products are computed from integer products. An operand is split into four lanes that each keep every
// fourth bit. In a product of two lanes, a column sum is at most 15, so no carry reaches the next column, and its
// lowest bit is the sum modulo 2.
//
// A block is read as a 128-bit number, whose bit 127-i is the coefficient of x^i. In the 256-bit product, the
// coefficient of x^i is then bit 254-i. Multiplying H by 1/x beforehand moves it to bit 255-i, so the upper half of the
// product is added as it is. The lower half is multiplied by x^128 = 1 + x + x^2 + x^7.
type ghash struct {
	low, high uint64
}

// ghashKey is H/x in prepared form: its lower half, its upper half and their sum.
type ghashKey [3]ghashFactor

// ghashFactor is 64 bits of H/x. With 32-bit words, the rows are the lanes of its lower half, its upper half and their
// sum. With 64-bit words, the first row has its lanes without bits 60 to 63, because sixteen ones in a lane could meet
// sixteen. The second row has masks for those bits.
type ghashFactor [3][4]uint

const ghashLane = 0x1111111111111111 // every fourth bit

func (f *ghashFactor) init(h uint64) {
	low, high := uint32(h), uint32(h>>32)
	for i := range 4 {
		if bits.UintSize == 64 {
			f[0][i] = uint(h & (1<<60 - 1) & (ghashLane << i))
			f[1][i] = uint(-(h >> (60 + i) & 1))
		} else {
			const lane = ghashLane & 0xffffffff
			f[0][i], f[1][i], f[2][i] = uint(low&(lane<<i)), uint(high&(lane<<i)), uint((low^high)&(lane<<i))
		}
	}
}

// mul returns the carry-less product with a.
func (f *ghashFactor) mul(a uint64) (high, low uint64) {
	if bits.UintSize == 64 {
		return f.mul64(a)
	}
	return f.mul32(a)
}

func (f *ghashFactor) mul64(a uint64) (high, low uint64) {
	const m0, m1, m2, m3 = ghashLane, ghashLane << 1, ghashLane << 2, ghashLane << 3 & (1<<64 - 1)
	a0, a1, a2, a3 := a&m0, a&m1, a&m2, a&m3
	b0, b1, b2, b3 := uint64(f[0][0]), uint64(f[0][1]), uint64(f[0][2]), uint64(f[0][3])

	h0, l0 := bits.Mul64(a0, b0)
	h1, l1 := bits.Mul64(a1, b3)
	h2, l2 := bits.Mul64(a2, b2)
	h3, l3 := bits.Mul64(a3, b1)
	high, low = (h0^h1^h2^h3)&m0, (l0^l1^l2^l3)&m0

	h0, l0 = bits.Mul64(a0, b1)
	h1, l1 = bits.Mul64(a1, b0)
	h2, l2 = bits.Mul64(a2, b3)
	h3, l3 = bits.Mul64(a3, b2)
	high, low = high|(h0^h1^h2^h3)&m1, low|(l0^l1^l2^l3)&m1

	h0, l0 = bits.Mul64(a0, b2)
	h1, l1 = bits.Mul64(a1, b1)
	h2, l2 = bits.Mul64(a2, b0)
	h3, l3 = bits.Mul64(a3, b3)
	high, low = high|(h0^h1^h2^h3)&m2, low|(l0^l1^l2^l3)&m2

	h0, l0 = bits.Mul64(a0, b3)
	h1, l1 = bits.Mul64(a1, b2)
	h2, l2 = bits.Mul64(a2, b1)
	h3, l3 = bits.Mul64(a3, b0)
	high, low = high|(h0^h1^h2^h3)&m3, low|(l0^l1^l2^l3)&m3

	t0, t1, t2, t3 := a&uint64(f[1][0]), a&uint64(f[1][1]), a&uint64(f[1][2]), a&uint64(f[1][3])
	return high ^ t0>>4 ^ t1>>3 ^ t2>>2 ^ t3>>1, low ^ t0<<60 ^ t1<<61 ^ t2<<62 ^ t3<<63
}

// ghashMul32 returns the carry-less product of a and the number whose lanes are in b.
func ghashMul32(a uint32, b *[4]uint) uint64 {
	const m0, m1, m2, m3 = ghashLane, ghashLane << 1, ghashLane << 2, ghashLane << 3 & (1<<64 - 1)
	a0, a1, a2, a3 := uint64(a&(m0>>32)), uint64(a&(m1>>32)), uint64(a&(m2>>32)), uint64(a&(m3>>32))
	b0, b1, b2, b3 := uint64(uint32(b[0])), uint64(uint32(b[1])), uint64(uint32(b[2])), uint64(uint32(b[3]))
	return (a0*b0^a1*b3^a2*b2^a3*b1)&m0 | (a0*b1^a1*b0^a2*b3^a3*b2)&m1 |
		(a0*b2^a1*b1^a2*b0^a3*b3)&m2 | (a0*b3^a1*b2^a2*b1^a3*b0)&m3
}

// mul32 uses Karatsuba: (a1 X + a0) (b1 X + b0) = z2 X^2 + ((a1 + a0) (b1 + b0) + z2 + z0) X + z0.
func (f *ghashFactor) mul32(a uint64) (high, low uint64) {
	a0, a1 := uint32(a), uint32(a>>32)
	z0, z2 := ghashMul32(a0, &f[0]), ghashMul32(a1, &f[1])
	z1 := ghashMul32(a0^a1, &f[2]) ^ z0 ^ z2
	return z2 ^ z1>>32, z0 ^ z1<<32
}

func (k *ghashKey) init(h *[16]byte) {
	high, low := beUint64(h[:8]), beUint64(h[8:])
	// A bit shifted out at the low end becomes 1/x = x^127 + x^6 + x + 1.
	carry := -(high >> 63)
	k.set((high<<1|low>>63)^carry&0xc200000000000000, low<<1^carry&1)
}

// initPolyval is init for a POLYVAL hash key (RFC 8452, section 3). POLYVAL is GHASH of byte-reversed blocks, and its H
// is that of GHASH times x (appendix A).
func (k *ghashKey) initPolyval(h *[16]byte) { k.set(leUint64(h[8:]), leUint64(h[:8])) }

func (k *ghashKey) set(high, low uint64) {
	k[0].init(low)
	k[1].init(high)
	k[2].init(low ^ high)
}

// blocks absorbs b, whose length is a multiple of 16: g = (g + block) H for each block.
func (g *ghash) blocks(k *ghashKey, b []byte) {
	high, low := g.high, g.low
	for len(b) >= 16 {
		high ^= beUint64(b[0:8])
		low ^= beUint64(b[8:16])
		v1, v0 := k[0].mul(low)
		v3, v2 := k[1].mul(high)
		m1, m0 := k[2].mul(low ^ high)
		v1, v2 = v1^m0^v0^v2, v2^m1^v1^v3

		v1 ^= v0<<63 ^ v0<<62 ^ v0<<57
		v2 ^= v0 ^ v0>>1 ^ v0>>2 ^ v0>>7
		low = v2 ^ v1<<63 ^ v1<<62 ^ v1<<57
		high = v3 ^ v1 ^ v1>>1 ^ v1>>2 ^ v1>>7
		b = b[16:]
	}
	g.high, g.low = high, low
}

// padded absorbs b, padded with zeroes to a multiple of 16 bytes.
func (g *ghash) padded(k *ghashKey, b []byte) {
	whole := len(b) &^ 15
	g.blocks(k, b[:whole])
	if whole < len(b) {
		var last [16]byte
		copy(last[:], b[whole:])
		g.blocks(k, last[:])
		clear(last[:])
	}
}

// reversed is padded with the bytes of each block reversed.
func (g *ghash) reversed(k *ghashKey, b []byte) {
	var block [16]byte
	for len(b) > 0 {
		n := min(len(b), 16)
		block = [16]byte{}
		for i, x := range b[:n] {
			block[15-i] = x
		}
		g.blocks(k, block[:])
		b = b[n:]
	}
	block = [16]byte{}
}

// lengths absorbs a block of two lengths in bytes.
func (g *ghash) lengths(k *ghashKey, ad, text uint64) {
	var last [16]byte
	bePutUint64(last[0:], 8*ad)
	bePutUint64(last[8:], 8*text)
	g.blocks(k, last[:])
}
