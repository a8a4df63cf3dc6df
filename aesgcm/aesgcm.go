// Package aesgcm implements AES-GCM (NIST SP 800-38D).
//
// Panics, errors and overlap rules are those of AES-GCM in [crypto/cipher]. aesgcm.New(key) replaces cipher.NewGCM of
// aes.NewCipher(key). One assembly kernel processes a whole packet. The first key of the process selects the kernel for
// the CPU, after a known-answer test; package github.com/sealane/sealane reports the choice. The environment variable
// SEALANE_CPU limits the choice, and SEALANE_ASM=0 forces portable code.
//
// The code is constant-time on every CPU, including those without AES instructions: secrets never index a table.
//
// The returned ciphers are safe for concurrent use. Seal and Open do not allocate if dst has enough capacity. Their
// running time depends only on the lengths, and they wipe their intermediate values.
package aesgcm

import (
	"crypto/cipher"

	"github.com/sealane/sealane/internal/aead"
	"github.com/sealane/sealane/internal/offload"
)

const (
	// NonceSize is the standard size of the nonce, in bytes. It is too short for random nonces if one key seals more
	// than 2^32 packets.
	NonceSize = 12

	// Overhead is the standard size of the tag, in bytes. A ciphertext is this much longer than its plaintext.
	Overhead = 16
)

// New returns an AES-GCM AEAD with 12-byte nonces and 16-byte tags. The key has 16, 24 or 32 bytes, for AES-128,
// AES-192 or AES-256, and is copied.
//
// Seal panics if the nonce is not 12 bytes or the plaintext is longer than 2^36 - 32 bytes. Open panics if the nonce is
// not 12 bytes. Both panic, with nothing written, if the output overlaps the additional data, or overlaps the input
// without starting at the same byte. If Open fails, the bytes that the plaintext would have filled are zero.
func New(key []byte) (cipher.AEAD, error) {
	a, err := newAEAD(key, NonceSize, Overhead)
	if offload.New != nil && err == nil {
		a = offload.New("aesgcm", key, a)
	}
	return a, err
}

// NewWithNonceSize is like [New], with nonces of the given size in bytes, which must not be 0. It corresponds to
// [cipher.NewGCMWithNonceSize]. Nonces of other than 12 bytes are slower; use them only for compatibility with existing
// systems.
func NewWithNonceSize(key []byte, size int) (cipher.AEAD, error) {
	return newAEAD(key, size, Overhead)
}

// NewWithTagSize is like [New], with tags of the given size, from 12 to 16 bytes. It corresponds to
// [cipher.NewGCMWithTagSize]. Short tags are easier to forge; use them only for compatibility with existing systems.
func NewWithTagSize(key []byte, tagSize int) (cipher.AEAD, error) {
	return newAEAD(key, NonceSize, tagSize)
}

// NewWithRandomNonce returns an AES-GCM AEAD that generates its nonces, like [cipher.NewGCMWithRandomNonce]. Seal
// prepends a random 12-byte nonce to the ciphertext, and Open reads it there. Its NonceSize is 0, and callers pass an
// empty nonce. Its Overhead is 28 bytes.
//
// To work in place, pass plaintext[:0] or ciphertext[:0] as dst. The contents of dst up to its capacity may be
// overwritten. Do not seal more than 2^32 packets with one key: at that number, two packets share a nonce with a
// probability of 2^-33.
func NewWithRandomNonce(key []byte) (cipher.AEAD, error) {
	level, err := aead.AESGCMLevel()
	if err != nil {
		return nil, err
	}
	return aead.NewAESGCMWithRandomNonce(level, key)
}

func newAEAD(key []byte, nonceSize, tagSize int) (cipher.AEAD, error) {
	level, err := aead.AESGCMLevel()
	if err != nil {
		return nil, err
	}
	return aead.NewAESGCM(level, key, nonceSize, tagSize)
}
