// Package chacha20 implements the original ChaCha20 (D. J. Bernstein, "ChaCha, a variant of Salsa20", 2008), which has
// a 64-bit counter and a 64-bit nonce; RFC 8439 has 32 and 96 bits. It uses the kernels of package chacha20poly1305, is
// constant-time, and does not allocate.
//
// ChaCha20 alone does not authenticate. Use package chacha20poly1305 unless a protocol or format requires this cipher;
// in that case verify a MAC over the ciphertext before decrypting.
package chacha20

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/sealane/sealane/internal/aead"
	"github.com/sealane/sealane/internal/alias"
	"github.com/sealane/sealane/internal/kernel"
	"github.com/sealane/sealane/internal/keystream"
)

const (
	// KeySize is the size of the key, in bytes.
	KeySize = 32

	// NonceSize is the size of the nonce, in bytes.
	NonceSize = 8

	// BlockSize is the size of a block of keystream, in bytes.
	BlockSize = 64
)

var (
	errKeySize = errors.New("chacha20: bad key length")
	errFIPS    = errors.New("chacha20: use of ChaCha20 is not allowed in FIPS 140-only mode")
)

// A Cipher is a ChaCha20 key. It is safe for concurrent use.
type Cipher struct {
	key   [KeySize]byte
	level kernel.Level
}

// New returns a cipher with a copy of the given 32-byte key.
func New(key []byte) (*Cipher, error) {
	level, err := aead.ChaCha20Poly1305Level()
	if err != nil {
		return nil, err
	}
	return newAt(level, key)
}

func newAt(level kernel.Level, key []byte) (*Cipher, error) {
	if aead.FIPS140Only() {
		return nil, errFIPS
	}
	if len(key) != KeySize {
		return nil, errKeySize
	}
	return &Cipher{[KeySize]byte(key), level}, nil
}

// Implementation returns the name of the level that c uses.
func (c *Cipher) Implementation() string { return kernel.ChaCha20Poly1305Levels.Name(uint8(c.level)) }

// XOR encrypts or decrypts src, which is the same operation, and writes the result to dst. counter is the number of the
// first 64-byte block, usually 0. A text may be split over several calls; each call except the last takes whole blocks.
// Never use a block twice with one nonce.
//
// XOR panics, with nothing written, if the nonce is not 8 bytes or the counter after the text would be 2^64. It
// also panics if dst is shorter than src, or overlaps src without starting at the same byte.
func (c *Cipher) XOR(dst, src, nonce []byte, counter uint64) {
	if len(nonce) != NonceSize {
		panic("chacha20: bad nonce length")
	}
	if len(dst) < len(src) {
		panic("chacha20: output smaller than input")
	}
	dst = dst[:len(src)]
	if alias.Inexact(dst, src) {
		panic("chacha20: invalid buffer overlap")
	}
	if (uint64(len(src))+BlockSize-1)/BlockSize > math.MaxUint64-counter {
		panic("chacha20: counter overflow")
	}
	// The first 4 bytes of an RFC 8439 nonce hold the upper half of the counter here. Kernels count with 32 bits, so
	// each part ends where that counter wraps around.
	var long [12]byte
	copy(long[4:], nonce)
	for len(src) > 0 {
		blocks := 1<<32 - counter&math.MaxUint32
		n := len(src)
		if uint64(n) > BlockSize*blocks {
			n = int(BlockSize * blocks)
		}
		binary.LittleEndian.PutUint32(long[:], uint32(counter>>32))
		keystream.Crypt(c.level, &c.key, &long, uint32(counter), dst[:n], src[:n])
		counter += blocks // the next iteration only follows a whole part
		dst, src = dst[n:], src[n:]
	}
}
