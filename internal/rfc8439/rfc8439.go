// Package rfc8439 implements ChaCha20-Poly1305 and XChaCha20-Poly1305 as RFC 8439 and draft-irtf-cfrg-xchacha-03
// describe them, with big integers for Poly1305. It is the reference for tests. It is slow, and its running time
// depends on secrets, so no program may use it. Module test/peers compares it with golang.org/x/crypto, including
// errors and panics.
package rfc8439

import (
	"bytes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"math/big"
	"math/bits"

	"github.com/sealane/sealane/internal/alias"
)

const tagSize = 16

type aead struct {
	key       [32]byte
	nonceSize int
}

// New returns ChaCha20-Poly1305.
func New(key []byte) (cipher.AEAD, error) { return newAEAD(key, 12) }

// NewX returns XChaCha20-Poly1305.
func NewX(key []byte) (cipher.AEAD, error) { return newAEAD(key, 24) }

func newAEAD(key []byte, nonceSize int) (cipher.AEAD, error) {
	if len(key) != 32 {
		return nil, errors.New("chacha20poly1305: bad key length")
	}
	return &aead{[32]byte(key), nonceSize}, nil
}

func (a *aead) NonceSize() int { return a.nonceSize }
func (a *aead) Overhead() int  { return tagSize }

func (a *aead) Seal(dst, nonce, plaintext, ad []byte) []byte {
	if len(nonce) != a.nonceSize {
		panic("chacha20poly1305: bad nonce length passed to Seal")
	}
	if uint64(len(plaintext)) > 1<<38-64 {
		panic("chacha20poly1305: plaintext too large")
	}
	ret := append(dst, make([]byte, max(0, len(plaintext)+tagSize-(cap(dst)-len(dst))))...)[:len(dst)+len(plaintext)+tagSize]
	out := ret[len(dst):]
	refuseOverlap(out, plaintext, ad)
	key, short := a.derive(nonce)
	sealed := xor(key, short, plaintext)
	tag := authenticate(key, short, sealed, ad)
	copy(out, sealed)
	copy(out[len(sealed):], tag)
	return ret
}

func (a *aead) Open(dst, nonce, ciphertext, ad []byte) ([]byte, error) {
	if len(nonce) != a.nonceSize {
		panic("chacha20poly1305: bad nonce length passed to Open")
	}
	n := len(ciphertext) - tagSize
	if n < 0 {
		return nil, errors.New("chacha20poly1305: message authentication failed")
	}
	if uint64(n) > 1<<38-64 {
		panic("chacha20poly1305: ciphertext too large")
	}
	ret := append(dst, make([]byte, max(0, n-(cap(dst)-len(dst))))...)[:len(dst)+n]
	out := ret[len(dst):]
	refuseOverlap(out, ciphertext, ad)
	key, short := a.derive(nonce)
	if !bytes.Equal(authenticate(key, short, ciphertext[:n], ad), ciphertext[n:]) {
		clear(out)
		return nil, errors.New("chacha20poly1305: message authentication failed")
	}
	copy(out, xor(key, short, ciphertext[:n]))
	return ret, nil
}

// refuseOverlap panics if out overlaps ad, or overlaps in without starting at the same byte.
func refuseOverlap(out, in, ad []byte) {
	if alias.Inexact(out, in) {
		panic("chacha20poly1305: invalid buffer overlap of output and input")
	}
	if alias.Overlap(out, ad) {
		panic("chacha20poly1305: invalid buffer overlap of output and additional data")
	}
}

// derive returns the key and the 12-byte nonce of a packet. For an extended nonce, HChaCha20 mixes its first 16 bytes
// into the key (draft-irtf-cfrg-xchacha-03, section 2.3).
func (a *aead) derive(nonce []byte) (key [32]byte, short [12]byte) {
	if len(nonce) == 12 {
		return a.key, [12]byte(nonce)
	}
	s := rounds(state(a.key, [16]byte(nonce)))
	for i, word := range append(s[:4:4], s[12:]...) {
		binary.LittleEndian.PutUint32(key[4*i:], word)
	}
	copy(short[4:], nonce[16:])
	return key, short
}

// state is section 2.3 of RFC 8439, with counter and nonce in one argument.
func state(key [32]byte, counterNonce [16]byte) (s [16]uint32) {
	words := append([]byte("expand 32-byte k"), append(key[:], counterNonce[:]...)...)
	for i := range s {
		s[i] = binary.LittleEndian.Uint32(words[4*i:])
	}
	return s
}

// rounds is inner_block of section 2.3, ten times.
func rounds(s [16]uint32) [16]uint32 {
	quarter := func(a, b, c, d int) {
		s[a] += s[b]
		s[d] = bits.RotateLeft32(s[d]^s[a], 16)
		s[c] += s[d]
		s[b] = bits.RotateLeft32(s[b]^s[c], 12)
		s[a] += s[b]
		s[d] = bits.RotateLeft32(s[d]^s[a], 8)
		s[c] += s[d]
		s[b] = bits.RotateLeft32(s[b]^s[c], 7)
	}
	for range 10 {
		for i := range 4 {
			quarter(i, 4+i, 8+i, 12+i)
		}
		for i := range 4 {
			quarter(i, 4+(i+1)%4, 8+(i+2)%4, 12+(i+3)%4)
		}
	}
	return s
}

// Block returns one block of keystream (section 2.3).
func Block(key []byte, nonce []byte, counter uint32) [64]byte {
	return block([32]byte(key), [12]byte(nonce), counter)
}

// block is the ChaCha20 block function (section 2.3).
func block(key [32]byte, nonce [12]byte, counter uint32) (out [64]byte) {
	s := state(key, [16]byte(append(binary.LittleEndian.AppendUint32(nil, counter), nonce[:]...)))
	for i, word := range rounds(s) {
		binary.LittleEndian.PutUint32(out[4*i:], word+s[i])
	}
	return out
}

// xor is section 2.4, starting at block 1.
func xor(key [32]byte, nonce [12]byte, text []byte) []byte {
	out := bytes.Clone(text)
	for at := 0; at < len(out); at += 64 {
		stream := block(key, nonce, uint32(1+at/64))
		for i := range out[at:min(at+64, len(out))] {
			out[at+i] ^= stream[i]
		}
	}
	return out
}

// authenticate is sections 2.5 and 2.8: Poly1305 of data and text, each padded to blocks, and of their lengths.
func authenticate(key [32]byte, nonce [12]byte, text, ad []byte) []byte {
	oneTime := block(key, nonce, 0)
	r, s := number(oneTime[:16]), number(oneTime[16:32])
	clamp, _ := new(big.Int).SetString("0ffffffc0ffffffc0ffffffc0fffffff", 16)
	r.And(r, clamp)
	p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 130), big.NewInt(5))
	sum, n, product, quotient := new(big.Int), new(big.Int), new(big.Int), new(big.Int)
	for _, part := range [][]byte{ad, text, binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(len(ad))), uint64(len(text)))} {
		for len(part) > 0 {
			// Section 2.5.1: a little-endian number with an additional bit; big.Int uses the other byte order.
			var b [17]byte
			b[0] = 1
			for i, x := range part[:min(16, len(part))] {
				b[16-i] = x
			}
			part = part[min(16, len(part)):]
			quotient.QuoRem(product.Mul(sum.Add(sum, n.SetBytes(b[:])), r), p, sum)
		}
	}
	sum.Add(sum, s)
	little := sum.FillBytes(make([]byte, 32))
	reverse(little)
	return little[:tagSize]
}

// number reads a little-endian number.
func number(b []byte) *big.Int {
	big := new(big.Int)
	b = bytes.Clone(b)
	reverse(b)
	return big.SetBytes(b)
}

func reverse(b []byte) {
	for i := range len(b) / 2 {
		b[i], b[len(b)-1-i] = b[len(b)-1-i], b[i]
	}
}
