// Package chacha20poly1305 implements the ChaCha20-Poly1305 AEAD (RFC 8439) and its variant with an extended nonce,
// XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03).
//
// The API is that of golang.org/x/crypto/chacha20poly1305, with the same panics, errors and overlap rules. To migrate,
// change the import path. One assembly kernel processes a whole packet. The first key of the process selects the kernel
// for the CPU, after a known-answer test; package github.com/sealane/sealane reports the choice. The environment
// variable SEALANE_CPU limits the choice, and SEALANE_ASM=0 forces portable code.
//
// The returned ciphers are safe for concurrent use. Seal and Open do not allocate if dst has enough capacity. Their
// running time depends only on the lengths, and they wipe their intermediate values.
package chacha20poly1305

import (
	"crypto/cipher"

	"github.com/sealane/sealane/internal/aead"
	"github.com/sealane/sealane/internal/offload"
)

const (
	// KeySize is the size of the key, in bytes.
	KeySize = 32

	// NonceSize is the size of a ChaCha20-Poly1305 nonce, in bytes. It is too short for random nonces if one key seals
	// more than 2^32 packets.
	NonceSize = 12

	// NonceSizeX is the size of an XChaCha20-Poly1305 nonce, in bytes.
	NonceSizeX = 24

	// Overhead is the size of the tag, in bytes. A ciphertext is this much longer than its plaintext.
	Overhead = 16
)

// New returns a ChaCha20-Poly1305 AEAD that uses a copy of the given 32-byte key.
//
// Seal panics if the nonce is not 12 bytes or the plaintext is longer than 2^38 - 64 bytes. Open panics for the same
// reasons. Both panic, with nothing written, if the output overlaps the additional data, or overlaps the input
// without starting at the same byte. If Open fails, the bytes that the plaintext would have filled are zero.
func New(key []byte) (cipher.AEAD, error) {
	level, err := aead.ChaCha20Poly1305Level()
	if err != nil {
		return nil, err
	}
	a, err := aead.NewChaCha20Poly1305(level, key)
	if offload.New != nil && err == nil {
		a = offload.New("chacha20poly1305", key, a)
	}
	return a, err
}

// NewX returns an XChaCha20-Poly1305 AEAD that uses a copy of the given 32-byte key. Its nonces have 24 bytes, long
// enough to be random for any number of packets. Otherwise it behaves like the AEAD that [New] returns.
func NewX(key []byte) (cipher.AEAD, error) {
	level, err := aead.ChaCha20Poly1305Level()
	if err != nil {
		return nil, err
	}
	return aead.NewXChaCha20Poly1305(level, key)
}
