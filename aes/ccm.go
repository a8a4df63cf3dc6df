package aes

import (
	"crypto/cipher"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"slices"

	"github.com/sealane/sealane/internal/aead"
	"github.com/sealane/sealane/internal/alias"
)

var (
	errCCMNonceSize = errors.New("aes: a nonce of CCM has 7 to 13 bytes")
	errCCMTagSize   = errors.New("aes: a tag of CCM has 4, 6, 8, 10, 12, 14 or 16 bytes")
	errCCMOpen      = errors.New("aes: message authentication failed")
)

// ccm is AES-CCM (NIST SP 800-38C, RFC 3610).
type ccm struct {
	c                  *Cipher
	nonceSize, tagSize int
}

// NewCCM returns AES-CCM (NIST SP 800-38C, RFC 3610) with the key c, for protocols that require it. Those are TLS
// (12-byte nonces with tags of 16 bytes, or 8 in CCM_8 suites), 802.11, Bluetooth and Matter. Elsewhere prefer
// AES-GCM, which is several times as fast.
//
// A nonce has 7 to 13 bytes and must be used only once. A tag has an even number of bytes from 4 to 16; a forgery
// passes a 4-byte tag with a probability of 2^-32. Seal panics if the nonce has another size, or if the plaintext has
// 2^(8 * (15 - nonceSize)) bytes or more. That is 64 KiB with 13-byte nonces and 16 MiB with 12-byte nonces. Open
// panics if the nonce has another size. Both panic, with nothing written, if the output overlaps the additional data,
// or overlaps the input without starting at the same byte. If Open fails, the bytes that the plaintext would have
// filled are zero.
//
// The returned AEAD is safe for concurrent use. Package batch runs its packets side by side; give them their own
// batches.
func (c *Cipher) NewCCM(nonceSize, tagSize int) (cipher.AEAD, error) {
	if nonceSize < 7 || nonceSize > 13 {
		return nil, errCCMNonceSize
	}
	if tagSize < 4 || tagSize > 16 || tagSize%2 != 0 {
		return nil, errCCMTagSize
	}
	return &aead.SideBySide{AEAD: &ccm{c, nonceSize, tagSize}, Batch: ccmBatch}, nil
}

func (k *ccm) NonceSize() int { return k.nonceSize }
func (k *ccm) Overhead() int  { return k.tagSize }

// fits reports whether the length n fits in the length field, which has 15 - nonceSize bytes.
func (k *ccm) fits(n int) bool {
	return k.nonceSize == 7 || uint64(n)>>(8*(15-k.nonceSize)) == 0
}

// sealing checks the arguments of Seal, and returns dst extended by the output, and that output.
func (k *ccm) sealing(dst, nonce, plaintext, additionalData []byte) (ret, out []byte) {
	if len(nonce) != k.nonceSize {
		panic("crypto/cipher: incorrect nonce length given to CCM")
	}
	if !k.fits(len(plaintext)) {
		panic("crypto/cipher: message too large for CCM")
	}
	n := len(plaintext) + k.tagSize
	ret = slices.Grow(dst, n)[:len(dst)+n]
	out = ret[len(dst):]
	checkAEAD(out, plaintext, additionalData)
	return ret, out
}

func (k *ccm) Seal(dst, nonce, plaintext, additionalData []byte) []byte {
	ret, out := k.sealing(dst, nonce, plaintext, additionalData)
	n := len(plaintext)
	var p ccmPacket
	p.begin(k, nonce, additionalData, uint64(n))
	p.run(k.c, out[:n], plaintext, false)
	copy(out[n:], p.mask[:])
	p = ccmPacket{}
	return ret
}

// opening is the counterpart of sealing for Open. It returns false if the ciphertext is too short or too long.
func (k *ccm) opening(dst, nonce, ciphertext, additionalData []byte) (ret, out []byte, ok bool) {
	if len(nonce) != k.nonceSize {
		panic("crypto/cipher: incorrect nonce length given to CCM")
	}
	n := len(ciphertext) - k.tagSize
	if n < 0 || !k.fits(n) {
		return nil, nil, false
	}
	ret = slices.Grow(dst, n)[:len(dst)+n]
	out = ret[len(dst):]
	checkAEAD(out, ciphertext, additionalData)
	return ret, out, true
}

func (k *ccm) Open(dst, nonce, ciphertext, additionalData []byte) ([]byte, error) {
	ret, out, ok := k.opening(dst, nonce, ciphertext, additionalData)
	if !ok {
		return nil, errCCMOpen
	}
	n := len(out)
	var p ccmPacket
	p.begin(k, nonce, additionalData, uint64(n))
	p.run(k.c, out, ciphertext[:n], true)
	same := subtle.ConstantTimeCompare(p.mask[:k.tagSize], ciphertext[n:])
	p = ccmPacket{}
	if same != 1 {
		clear(out)
		return nil, errCCMOpen
	}
	return ret, nil
}

func checkAEAD(out, in, ad []byte) {
	if alias.Inexact(out, in) {
		panic("crypto/cipher: invalid buffer overlap of output and input")
	}
	if alias.Overlap(out, ad) {
		panic("crypto/cipher: invalid buffer overlap of output and additional data")
	}
}

// A ccmPacket is a packet in progress.
type ccmPacket struct {
	mac
	ctr  ctr
	mask [BlockSize]byte // mask of the tag; finally the tag
}

// begin absorbs the lengths and the associated data, and sets the counter.
func (p *ccmPacket) begin(k *ccm, nonce, ad []byte, n uint64) {
	var first [2 * BlockSize]byte
	head, ad := k.lengths(&first, nonce, ad, n)
	p.absorb(k.c, head)
	p.absorbPadded(k.c, ad)
	k.counters(&p.ctr, &p.mask, nonce)
}

// counters sets the counter (SP 800-38C, appendix A.3), and makes the mask of the tag. mask is zero before the call.
func (k *ccm) counters(s *ctr, mask *[BlockSize]byte, nonce []byte) {
	s.c = k.c
	s.counter[0] = byte(14 - k.nonceSize)
	copy(s.counter[1:], nonce)
	s.whole(mask[:], mask[:])
}

// lengths returns the first blocks to chain (appendix A.2), and the rest of the associated data. first is zero before
// the call and holds these blocks afterwards.
func (k *ccm) lengths(first *[2 * BlockSize]byte, nonce, ad []byte, n uint64) (head, rest []byte) {
	lengthBytes := 15 - k.nonceSize
	binary.BigEndian.PutUint64(first[8:], n)
	first[0] = byte((k.tagSize-2)/2<<3 | (lengthBytes - 1))
	copy(first[1:], nonce)
	if len(ad) == 0 {
		return first[:BlockSize], nil
	}
	first[0] |= 0x40
	second := first[BlockSize:]
	prefix := 2
	switch size := uint64(len(ad)); {
	case size < 0xff00:
		binary.BigEndian.PutUint16(second, uint16(size))
	case size <= math.MaxUint32:
		prefix = 6
		binary.BigEndian.PutUint16(second, 0xfffe)
		binary.BigEndian.PutUint32(second[2:], uint32(size))
	default:
		prefix = 10
		binary.BigEndian.PutUint16(second, 0xffff)
		binary.BigEndian.PutUint64(second[2:], size)
	}
	with := copy(second[prefix:], ad)
	return first[:], ad[with:]
}

// run processes the text, and leaves the tag in mask. An x86-64 CPU with AES instructions encrypts four blocks while it
// waits for the CBC-MAC chain of the previous four. Both fit in its reorder buffer, so CTR costs no time. Other CPUs do
// not look so far ahead, and are faster with more blocks at a time.
func (p *ccmPacket) run(c *Cipher, out, in []byte, open bool) {
	part := absorbBytes
	if runtime.GOARCH == "amd64" && !c.level.SlowAES() {
		part = 64
	}
	for len(in) > 0 {
		n := min(len(in), part)
		if !open {
			p.absorbPadded(c, in[:n])
		}
		p.ctr.XORKeyStream(out[:n], in[:n])
		if open {
			p.absorbPadded(c, out[:n])
		}
		out, in = out[n:], in[n:]
	}
	for i := range p.mask {
		p.mask[i] ^= p.chain[i]
	}
}
