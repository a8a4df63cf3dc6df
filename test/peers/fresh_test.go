package peers

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"testing"

	peer "golang.org/x/crypto/chacha20poly1305"

	"github.com/sealane/sealane/aesgcm"
	"github.com/sealane/sealane/chacha20poly1305"
)

// BenchmarkFresh seals one packet in a new goroutine, whose stack grows to the size that the call needs. The peers
// are x/crypto and the standard library, and a goroutine that does nothing.
func BenchmarkFresh(b *testing.B) {
	key := make([]byte, chacha20poly1305.KeySize)
	block, err := aes.NewCipher(key[:16])
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		new  func() (cipher.AEAD, error)
	}{
		{"nothing", func() (cipher.AEAD, error) { return nil, nil }},
		{"chacha20poly1305", func() (cipher.AEAD, error) { return chacha20poly1305.New(key) }},
		{"x-crypto", func() (cipher.AEAD, error) { return peer.New(key) }},
		{"aesgcm", func() (cipher.AEAD, error) { return aesgcm.New(key[:16]) }},
		{"crypto-cipher", func() (cipher.AEAD, error) { return cipher.NewGCM(block) }},
	} {
		a, err := c.new()
		if err != nil {
			b.Fatal(err)
		}
		for _, size := range []int{64, 1420} {
			b.Run(fmt.Sprintf("%s/%d", c.name, size), func(b *testing.B) {
				buf, nonce := make([]byte, size, size+aesgcm.Overhead), make([]byte, aesgcm.NonceSize)
				done := make(chan struct{})
				for b.Loop() {
					go func() {
						if a != nil {
							a.Seal(buf[:0], nonce, buf, nil)
						}
						done <- struct{}{}
					}()
					<-done
				}
			})
		}
	}
}
