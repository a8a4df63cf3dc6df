package aead

import (
	"crypto/cipher"
	"crypto/rand"

	"github.com/sealane/sealane/internal/alias"
	"github.com/sealane/sealane/internal/kernel"
)

const gcmBadRandomNonce = "crypto/cipher: non-empty nonce passed to GCMWithRandomNonce"

// randomNonceGCM is AES-GCM whose packets start with their nonce.
type randomNonceGCM struct{ gcm *aesGCM }

// NewAESGCMWithRandomNonce replaces cipher.NewGCMWithRandomNonce, at a level whose features the CPU has.
func NewAESGCMWithRandomNonce(level kernel.Level, key []byte) (cipher.AEAD, error) {
	a, err := NewAESGCM(level, key, gcmNonceSize, tagSize)
	if err != nil {
		return nil, err
	}
	return randomNonceGCM{a.(*aesGCM)}, nil
}

func (g randomNonceGCM) NonceSize() int { return 0 }
func (g randomNonceGCM) Overhead() int  { return gcmNonceSize + tagSize }

// Implementation returns the name of the level that g uses.
func (g randomNonceGCM) Implementation() string { return g.gcm.Implementation() }

func (g randomNonceGCM) Seal(dst, nonce, plaintext, additionalData []byte) []byte {
	if len(nonce) != 0 {
		panic(gcmBadRandomNonce)
	}
	if uint64(len(plaintext)) > gcmMaxText {
		panic(gcmTooLarge)
	}
	ret := extend(dst, gcmNonceSize+len(plaintext)+tagSize)
	out := ret[len(dst):]
	checkGCMOverlap(out, plaintext, additionalData)
	text := plaintext
	if alias.Overlap(out, plaintext) { // both start at one address: move the text to make room for the nonce
		text = out[gcmNonceSize:][:len(plaintext)]
		copy(text, plaintext)
	}
	_, _ = rand.Read(out[:gcmNonceSize]) // ends the process instead of returning an error
	g.gcm.Seal(out[gcmNonceSize:gcmNonceSize], out[:gcmNonceSize], text, additionalData)
	return ret
}

func (g randomNonceGCM) Open(dst, nonce, ciphertext, additionalData []byte) ([]byte, error) {
	if len(nonce) != 0 {
		panic(gcmBadRandomNonce)
	}
	n := len(ciphertext) - gcmNonceSize - tagSize
	if n < 0 || uint64(n) > gcmMaxText {
		return nil, errGCMOpen
	}
	ret := extend(dst, n)
	out := ret[len(dst):]
	checkGCMOverlap(out, ciphertext, additionalData)
	first := [gcmNonceSize]byte(ciphertext)
	sealed := ciphertext[gcmNonceSize:]
	if alias.Overlap(out, ciphertext) { // both start at one address: the text moves over the nonce
		copy(ciphertext, sealed)
		sealed = ciphertext[:len(sealed)]
	}
	if _, err := g.gcm.Open(out[:0], first[:], sealed, additionalData); err != nil {
		return nil, err
	}
	return ret, nil
}
