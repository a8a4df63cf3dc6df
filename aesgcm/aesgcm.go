// Package aesgcm implements AES-GCM (NIST SP 800-38D).
//
// It has the rules of [crypto/cipher]'s AES-GCM, with the same panics, errors and overlap rules, and takes the key at
// once: aesgcm.New(key) is cipher.NewGCM of aes.NewCipher(key). A whole packet is done by one assembly kernel, chosen
// for the CPU when the first key of the process is made and after the kernel has given a known answer; package
// github.com/sealane/sealane tells which. The environment variable SEALANE_CPU limits the choice, SEALANE_ASM=0 forces
// portable code.
//
// On every CPU, also those without AES instructions, it is constant-time: tables are never indexed by secrets.
//
// The returned ciphers are safe for concurrent use. Seal and Open do not allocate if dst has the capacity, run in a
// time that depends only on the lengths, and wipe their intermediate values.
package aesgcm

import (
	"crypto/cipher"

	"github.com/sealane/sealane/internal/aead"
	"github.com/sealane/sealane/internal/offload"
)

const (
	// NonceSize is the standard size of the nonce, in bytes. It is too short for random nonces if a key seals more than
	// 2^32 packets.
	NonceSize = 12

	// Overhead is the standard size of the tag, in bytes: how much longer a ciphertext is than its plaintext.
	Overhead = 16
)

// New returns an AES-GCM AEAD with nonces of 12 bytes and tags of 16. The key, which is copied, has 16, 24 or 32 bytes, for
// AES-128, AES-192 or AES-256.
//
// Its Seal panics if the nonce is not 12 bytes or the plaintext is longer than 2^36 - 32 bytes; Open panics if the nonce
// is not 12 bytes. Both panic, with nothing written, if the output overlaps the additional data, or the input elsewhere
// than exactly at its start. If Open fails, the bytes that the plaintext would have filled are zero.
func New(key []byte) (cipher.AEAD, error) {
	a, err := newAEAD(key, NonceSize, Overhead)
	if offload.New != nil && err == nil {
		a = offload.New("aesgcm", key, a)
	}
	return a, err
}

// NewWithNonceSize is like [New], with nonces of the given size, which must not be 0. It is
// [cipher.NewGCMWithNonceSize]. Other sizes than 12 are slower, and for compatibility with existing systems only.
func NewWithNonceSize(key []byte, size int) (cipher.AEAD, error) {
	return newAEAD(key, size, Overhead)
}

// NewWithTagSize is like [New], with tags of the given size, from 12 to 16 bytes. It is [cipher.NewGCMWithTagSize]. Short
// tags are easier to forge, and for compatibility with existing systems only.
func NewWithTagSize(key []byte, tagSize int) (cipher.AEAD, error) {
	return newAEAD(key, NonceSize, tagSize)
}

// NewWithRandomNonce returns an AES-GCM AEAD that makes the nonces itself, as [cipher.NewGCMWithRandomNonce] does: Seal
// prepends a random one of 12 bytes to the ciphertext, Open reads it there. Its NonceSize is 0, and nonces given to it must be
// empty; its Overhead is 28. For in-place operation dst is plaintext[:0] or ciphertext[:0], as with the others; the contents of
// dst up to its capacity may be overwritten. A key must not seal more than 2^32 packets, by which two of them share a nonce
// with a probability of 2^-33.
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
