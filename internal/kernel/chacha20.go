package kernel

import (
	"math/bits"
)

// ChaCha20 (RFC 8439, section 2): a state of 16 words
//
//	constant constant constant constant
//	key      key      key      key
//	key      key      key      key
//	counter  nonce    nonce    nonce
//
// is permuted by 10 double rounds of quarter rounds on its columns and its diagonals; a block is the permuted state
// plus the state, in little-endian bytes.
type chaCha20 [16]uint32

// "expand 32-byte k"
const (
	chaCha20Constant0 = 0x61707865
	chaCha20Constant1 = 0x3320646e
	chaCha20Constant2 = 0x79622d32
	chaCha20Constant3 = 0x6b206574
)

// init sets the key and the last four words: a counter and a nonce, or HChaCha20's nonce.
func (c *chaCha20) init(key *[32]byte, last *[16]byte) {
	c[0], c[1], c[2], c[3] = chaCha20Constant0, chaCha20Constant1, chaCha20Constant2, chaCha20Constant3
	for i := range 8 {
		c[4+i] = leUint32(key[4*i:])
	}
	for i := range 4 {
		c[12+i] = leUint32(last[4*i:])
	}
}

func quarterRound(a, b, c, d uint32) (uint32, uint32, uint32, uint32) {
	a += b
	d = bits.RotateLeft32(d^a, 16)
	c += d
	b = bits.RotateLeft32(b^c, 12)
	a += b
	d = bits.RotateLeft32(d^a, 8)
	c += d
	b = bits.RotateLeft32(b^c, 7)
	return a, b, c, d
}

// permute sets x to the permuted state, without the addition.
func (c *chaCha20) permute(x *[16]uint32) {
	x0, x1, x2, x3 := c[0], c[1], c[2], c[3]
	x4, x5, x6, x7 := c[4], c[5], c[6], c[7]
	x8, x9, x10, x11 := c[8], c[9], c[10], c[11]
	x12, x13, x14, x15 := c[12], c[13], c[14], c[15]
	for range 10 {
		x0, x4, x8, x12 = quarterRound(x0, x4, x8, x12)
		x1, x5, x9, x13 = quarterRound(x1, x5, x9, x13)
		x2, x6, x10, x14 = quarterRound(x2, x6, x10, x14)
		x3, x7, x11, x15 = quarterRound(x3, x7, x11, x15)

		x0, x5, x10, x15 = quarterRound(x0, x5, x10, x15)
		x1, x6, x11, x12 = quarterRound(x1, x6, x11, x12)
		x2, x7, x8, x13 = quarterRound(x2, x7, x8, x13)
		x3, x4, x9, x14 = quarterRound(x3, x4, x9, x14)
	}
	x[0], x[1], x[2], x[3] = x0, x1, x2, x3
	x[4], x[5], x[6], x[7] = x4, x5, x6, x7
	x[8], x[9], x[10], x[11] = x8, x9, x10, x11
	x[12], x[13], x[14], x[15] = x12, x13, x14, x15
}

// block sets x to the next block's words and counts.
func (c *chaCha20) block(x *[16]uint32) {
	c.permute(x)
	for i := range x {
		x[i] += c[i]
	}
	c[12]++
}

// xor XORs keystream into in, starting with the next block. out is equal to in or disjoint from it. Only the last call
// for a packet may have a length that is not a multiple of 64.
func (c *chaCha20) xor(out, in []byte) {
	var x [16]uint32
	for len(in) >= 64 {
		c.block(&x)
		o, i := out[:64], in[:64]
		for j := 0; j < 16; j += 2 {
			w := uint64(x[j]) | uint64(x[j+1])<<32
			lePutUint64(o[4*j:4*j+8], w^leUint64(i[4*j:4*j+8]))
		}
		out, in = out[64:], in[64:]
	}
	if len(in) > 0 {
		c.block(&x)
		for j := range in {
			out[j] = in[j] ^ byte(x[j/4]>>(8*(j%4)))
		}
	}
	clear(x[:])
}

// HChaCha20 sets subkey to HChaCha20(key, nonce) (draft-irtf-cfrg-xchacha-03, section 2.2): the first and the last
// row of the permuted state.
func HChaCha20(subkey, key *[32]byte, nonce *[16]byte) {
	var c chaCha20
	var x [16]uint32
	c.init(key, nonce)
	c.permute(&x)
	for i := range 4 {
		lePutUint32(subkey[4*i:], x[i])
		lePutUint32(subkey[16+4*i:], x[12+i])
	}
	clear(c[:])
	clear(x[:])
}
