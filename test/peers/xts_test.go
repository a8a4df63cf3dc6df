package peers

import (
	"bytes"
	"crypto/aes"
	"math/rand/v2"
	"testing"

	sealane "github.com/sealane/sealane/aes"
	"golang.org/x/crypto/xts"
)

// TestXTS has sectors of whole blocks beside x/crypto's, which takes no others.
func TestXTS(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	for range 300 {
		key, sector, number := random(32+32*r.IntN(2)), random(16*(1+r.IntN(300))), r.Uint64()
		ours, err := sealane.NewXTS(key)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := xts.NewCipher(aes.NewCipher, key)
		if err != nil {
			t.Fatal(err)
		}
		want, got := make([]byte, len(sector)), make([]byte, len(sector))
		theirs.Encrypt(want, sector, number)
		ours.Encrypt(got, sector, number)
		if !bytes.Equal(got, want) {
			t.Fatalf("%d bytes differ", len(sector))
		}
		theirs.Decrypt(want, sector, number)
		ours.Decrypt(got, sector, number)
		if !bytes.Equal(got, want) {
			t.Fatalf("%d bytes differ, decrypted", len(sector))
		}
	}
}

func BenchmarkXTS(b *testing.B) {
	key, sector := make([]byte, 32), make([]byte, 4096)
	key[0] = 1
	ours, _ := sealane.NewXTS(key)
	theirs, _ := xts.NewCipher(aes.NewCipher, key)
	b.Run("sealane", func(b *testing.B) {
		for range b.N {
			ours.Encrypt(sector, sector, 1)
		}
	})
	b.Run("x/crypto", func(b *testing.B) {
		for range b.N {
			theirs.Encrypt(sector, sector, 1)
		}
	})
}
