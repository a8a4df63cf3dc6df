package aes

import (
	"crypto/subtle"
	"encoding/binary"
	"hash"

	"github.com/sealane/sealane/internal/kernel"
)

// absorbBytes is how much a kernel chains in one call for a MAC. Its output needs as much room, and nothing but the
// last block of it is of use.
const absorbBytes = 512

// A mac chains blocks as CBC does, and keeps the last one.
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

// absorbPadded does the same, and behind the whole blocks one that is filled up with zeroes.
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
	held [BlockSize]byte // what waits: a subkey is added to the last block, whole or not
	n    int             // its bytes
}

// NewCMAC returns AES-CMAC (NIST SP 800-38B, RFC 4493) under the key. Its MACs have 16 bytes, of which protocols with
// shorter ones take the first. It is for one goroutine at a time. Compare MACs by [crypto/subtle.ConstantTimeCompare]
// or [crypto/hmac.Equal]. Of the text, nothing but the block that waits is left behind after a Write, and nothing
// after Reset.
func (c *Cipher) NewCMAC() hash.Hash { return &cmac{c: c} }

func (h *cmac) Size() int      { return BlockSize }
func (h *cmac) BlockSize() int { return BlockSize }

// Reset begins another text.
func (h *cmac) Reset() { h.mac, h.held, h.n = mac{}, [BlockSize]byte{}, 0 }

// Write adds to the text; it returns no error.
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

// Sum appends the MAC of the text written so far to b. It leaves the state unchanged.
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

// addLast turns E(0) into the last block: last, whole or filled up, with a subkey added to it (SP 800-38B, section 6.2).
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
