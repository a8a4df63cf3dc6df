package aead

import (
	"bytes"
	"testing"

	"github.com/sealane/sealane/internal/kernel"
)

// FuzzPeer seals and opens at every level and with x/crypto, and compares; then it opens altered packets. The text is
// repeated, so that short inputs give long packets.
func FuzzPeer(f *testing.F) {
	for _, n := range []int{0, 1, 16, 63, 64, 65, 320, 1420} {
		f.Add(make([]byte, keySize), make([]byte, nonceSizeX), make([]byte, n), make([]byte, n%40), uint16(n%3), uint32(8*n))
	}
	f.Add(make([]byte, keySize), make([]byte, nonceSizeX), make([]byte, 1000), make([]byte, 13), uint16(0xffff), uint32(800000))
	f.Fuzz(func(t *testing.T, key, nonce, text, ad []byte, repeat uint16, flip uint32) {
		if times := 1 + int(repeat)%8; len(text) > 0 {
			if repeat >= 0xff00 { // rare, because these are slow
				times = 1 + (200<<10)/len(text)
			}
			text = bytes.Repeat(text, times)
		}
		for _, v := range variants {
			key := append(bytes.Clone(key), make([]byte, v.keySize)...)[:v.keySize]
			nonce := append(bytes.Clone(nonce), make([]byte, v.nonceSize)...)[:v.nonceSize]
			peer, err := v.peer(key)
			want := must(t, peer, err).Seal(nil, nonce, text, ad)
			for _, row := range v.table.Rows {
				if row.Lacks() != nil {
					continue // covered by TestPeer
				}
				a, err := v.ours(kernel.Level(row.Level), key)
				a = must(t, a, err)
				got := a.Seal(nil, nonce, text, ad)
				if !bytes.Equal(got, want) {
					t.Fatalf("%s %s: sealed %x, want %x", v.name, row.Name, got, want)
				}
				if opened, err := a.Open(got[:0], nonce, got, ad); err != nil || !bytes.Equal(opened, text) {
					t.Fatalf("%s %s: opened %x, %v", v.name, row.Name, opened, err)
				}
				altered := bytes.Clone(want)
				altered[int(flip/8)%len(altered)] ^= 1 << (flip % 8)
				if opened, err := a.Open(altered[:0], nonce, altered, ad); err == nil || opened != nil {
					t.Fatalf("%s %s: opened what was altered", v.name, row.Name)
				}
				if !bytes.Equal(altered[:len(text)], make([]byte, len(text))) {
					t.Fatalf("%s %s: a failed Open leaves %x", v.name, row.Name, altered[:len(text)])
				}
			}
		}
	})
}
