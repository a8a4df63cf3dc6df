// Package chacha20 implements ChaCha20 as it was first (D. J. Bernstein, "ChaCha, a variant of Salsa20", 2008), with 64 bits of
// counter and 64 of nonce, by the kernels of package chacha20poly1305. RFC 8439 has 32 and 96. It is constant-time and
// does not allocate.
//
// It does not authenticate. Use package chacha20poly1305 unless a protocol or format has this cipher, and then compare
// a MAC over the ciphertext before it is decrypted.
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

// A Cipher is a key, safe for concurrent use.
type Cipher struct {
	key   [KeySize]byte
	level kernel.Level
}

// New returns a cipher for a key of 32 bytes, which is copied.
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

// Implementation returns the name of the level that c runs at.
func (c *Cipher) Implementation() string { return kernel.ChaCha20Poly1305Levels.Name(uint8(c.level)) }

// XOR encrypts or decrypts src, which is the same, and writes it to dst. counter is the number of its first block, usually 0.
// A text may come in several calls: those before the last one take whole blocks. No block may be used twice with one nonce.
// XOR panics, with nothing written, if the nonce does not have 8 bytes, if dst is shorter than src, if it overlaps src
// elsewhere than exactly at its start, or if the counter behind the text would be 2^64.
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
	// RFC 8439's nonce begins with the upper half of the counter here. Kernels count with 32 bits: a part ends where they
	// wrap around.
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
		counter += blocks // used only after a whole part
		dst, src = dst[n:], src[n:]
	}
}
