// Package inprocess makes ciphers that run in the process, even if the environment asks for others.
package inprocess

import (
	"crypto/cipher"

	"github.com/sealane/sealane/internal/aead"
)

// ChaCha20Poly1305 makes the cipher of package chacha20poly1305.
func ChaCha20Poly1305(key []byte) (cipher.AEAD, error) {
	level, err := aead.ChaCha20Poly1305Level()
	if err != nil {
		return nil, err
	}
	return aead.NewChaCha20Poly1305(level, key)
}

// AESGCM makes the cipher of aesgcm.New.
func AESGCM(key []byte) (cipher.AEAD, error) {
	level, err := aead.AESGCMLevel()
	if err != nil {
		return nil, err
	}
	return aead.NewAESGCM(level, key, 12, 16)
}
