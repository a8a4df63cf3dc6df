package aes

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"testing"
)

// BenchmarkStandardLibrary has this package beside crypto/aes, by the same calls.
func BenchmarkStandardLibrary(b *testing.B) {
	key, iv := make([]byte, 16), make([]byte, 16)
	std, _ := aes.NewCipher(key)
	ours, err := NewCipher(key)
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{16, 20, 32, 48, 64, 100, 128, 256, 576, 1024, 1424, 4096, 8192, 16384} {
		text := make([]byte, n)
		for _, m := range []struct {
			name string
			of   func(c cipher.Block) func()
		}{
			{"CTR", func(c cipher.Block) func() {
				s := cipher.NewCTR(c, iv)
				return func() { s.XORKeyStream(text, text) }
			}},
			{"CBC-decryption", func(c cipher.Block) func() {
				m := cipher.NewCBCDecrypter(c, iv)
				return func() { m.CryptBlocks(text, text) }
			}},
			{"CBC-encryption", func(c cipher.Block) func() {
				m := cipher.NewCBCEncrypter(c, iv)
				return func() { m.CryptBlocks(text, text) }
			}},
		} {
			if m.name != "CTR" && n%16 != 0 {
				continue
			}
			for i, c := range []cipher.Block{ours, std} {
				b.Run(fmt.Sprintf("%s/%d/%s", m.name, n, []string{"sealane", "crypto"}[i]), func(b *testing.B) {
					f := m.of(c)
					b.SetBytes(int64(n))
					for range b.N {
						f()
					}
				})
			}
		}
	}
}
