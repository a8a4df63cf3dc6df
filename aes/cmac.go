package aes

import (
	"crypto/subtle"
	"encoding/binary"
	"hash"

	"github.com/sealane/sealane/internal/kernel"
)

// absorbBytes is the most that one kernel call chains for a MAC. The kernel writes as many bytes, of which only the
// last block is used.
const absorbBytes = 512

// A mac chains blocks like CBC, and keeps the last one.
type mac struct {
	chain  [BlockSize]byte
	unused [absorbBytes]byte
}

// absorb chains whole blocks.
func (m *mac) absorb(c *Cipher, in []byte) {
	var lane [1]kernel.ModeLane
	for len(in) > 0 {
		n := min(len(in), absorbBytes)
		lane[0] = laneOf(c, m.unused[:n], in[:n], &m.chain)
		runLanes(c.level, lane[:], n)
		in = in[n:]
	}
}

// absorbPadded is absorb for any length: it pads the last block with zeroes.
func (m *mac) absorbPadded(c *Cipher, in []byte) {
	whole := len(in) &^ (BlockSize - 1)
	m.absorb(c, in[:whole])
	if whole < len(in) {
		var last [BlockSize]byte
		copy(last[:], in[whole:])
		m.absorb(c, last[:])
		clear(last[:])
	}
}

// cmac is AES-CMAC (NIST SP 800-38B, RFC 4493).
type cmac struct {
	c    *Cipher
	mac  mac
	held [BlockSize]byte // input not yet chained: the last block, whole or not, needs a subkey
	n    int             // bytes in held
}

// NewCMAC returns AES-CMAC (NIST SP 800-38B, RFC 4493) with the key c. A MAC has 16 bytes; protocols with shorter MACs
// use the first bytes. The hash is not safe for concurrent use. Compare MACs with [crypto/subtle.ConstantTimeCompare]
// or [crypto/hmac.Equal]. After Write, it keeps only the last block of the text; after Reset, none.
func (c *Cipher) NewCMAC() hash.Hash { return &cmac{c: c} }

func (h *cmac) Size() int      { return BlockSize }
func (h *cmac) BlockSize() int { return BlockSize }

// Reset starts a new text.
func (h *cmac) Reset() { h.mac, h.held, h.n = mac{}, [BlockSize]byte{}, 0 }

// Write adds p to the text. It never returns an error.
func (h *cmac) Write(p []byte) (int, error) {
	size := len(p)
	n := copy(h.held[h.n:], p)
	h.n += n
	if p = p[n:]; len(p) == 0 {
		return size, nil
	}
	h.mac.absorb(h.c, h.held[:])
	whole := (len(p) - 1) &^ (BlockSize - 1)
	h.mac.absorb(h.c, p[:whole])
	h.n = copy(h.held[:], p[whole:])
	clear(h.mac.unused[:])
	return size, nil
}

// Sum appends the MAC of the text written so far to b. It does not change the state.
func (h *cmac) Sum(b []byte) []byte {
	var last, m mac
	last.absorb(h.c, last.chain[:])
	addLast(&last.chain, h.held[:h.n])
	m.chain = h.mac.chain
	m.absorb(h.c, last.chain[:])
	b = append(b, m.chain[:]...)
	last, m = mac{}, mac{}
	return b
}

// addLast turns E(0) into the final block: last, padded if it is not whole, XOR a subkey (SP 800-38B, section 6.2).
func addLast(block *[BlockSize]byte, last []byte) {
	double(block)
	if len(last) < BlockSize {
		double(block)
		block[len(last)] ^= 0x80
	}
	subtle.XORBytes(block[:], block[:], last)
}

// double multiplies by x in GF(2^128), big-endian (SP 800-38B, section 5.3).
func double(block *[BlockSize]byte) {
	high, low := binary.BigEndian.Uint64(block[:8]), binary.BigEndian.Uint64(block[8:])
	binary.BigEndian.PutUint64(block[:8], high<<1|low>>63)
	binary.BigEndian.PutUint64(block[8:], low<<1^0x87&-(high>>63))
}
