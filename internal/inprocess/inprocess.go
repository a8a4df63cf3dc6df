// Package inprocess makes the ciphers that run in the process, whatever the environment says of others.
package inprocess

import (
	"crypto/cipher"

	"github.com/sealane/sealane/internal/aead"
)

// ChaCha20Poly1305 returns what package chacha20poly1305 would.
func ChaCha20Poly1305(key []byte) (cipher.AEAD, error) {
	level, err := aead.ChaCha20Poly1305Level()
	if err != nil {
		return nil, err
	}
	return aead.NewChaCha20Poly1305(level, key)
}

// AESGCM returns what aesgcm.New would.
func AESGCM(key []byte) (cipher.AEAD, error) {
	level, err := aead.AESGCMLevel()
	if err != nil {
		return nil, err
	}
	return aead.NewAESGCM(level, key, 12, 16)
}
