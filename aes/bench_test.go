package aes

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"testing"

	"github.com/sealane/sealane/batch"
)

// BenchmarkStandardLibrary compares this package with crypto/aes, through the same calls.
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

// BenchmarkSideBySide processes eight CCM packets or CMAC texts in one call, and in eight calls.
func BenchmarkSideBySide(b *testing.B) {
	c, err := New(make([]byte, 16))
	if err != nil {
		b.Fatal(err)
	}
	ccm, _ := c.NewCCM(12, 16)
	mac, nonce, ad := c.NewCMAC(), make([]byte, 12), make([]byte, 13)
	for _, n := range []int{48, 240, 1408} {
		texts, ops := make([]CMACText, 8), make([]batch.Op, 8)
		for i := range ops {
			text := make([]byte, n)
			texts[i] = CMACText{Cipher: c, Text: text}
			ops[i] = batch.Op{AEAD: ccm, Dst: make([]byte, 0, n+16), Nonce: nonce, Src: text, AD: ad}
		}
		for _, m := range []struct {
			name string
			f    func()
		}{
			{"CCM/batch", func() { batch.SealBatch(ops) }},
			{"CCM/each", func() {
				for i := range ops {
					ccm.Seal(ops[i].Dst, nonce, ops[i].Src, ad)
				}
			}},
			{"CMAC/batch", func() { SumCMAC(texts) }},
			{"CMAC/each", func() {
				for i := range texts {
					mac.Reset()
					mac.Write(texts[i].Text)
					mac.Sum(nonce[:0])
				}
			}},
		} {
			b.Run(fmt.Sprintf("%s/%d", m.name, n), func(b *testing.B) {
				for range b.N {
					m.f()
				}
			})
		}
	}
}
