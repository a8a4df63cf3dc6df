package kernel

import (
	"encoding/hex"
	"testing"

	"golang.org/x/crypto/chacha20poly1305"
)

// TestAnswer computes the constant of the known-answer test with an implementation that is not ours.
func TestAnswer(t *testing.T) {
	var key [32]byte
	for i := range key {
		key[i] = byte(0x80 + i)
	}
	peer, err := chacha20poly1305.New(key[:])
	if err != nil {
		t.Fatal(err)
	}
	nonce := []byte{7, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47}
	prev := make([]byte, 16)
	seal := func(n, adBytes int) {
		text := make([]byte, n+32)
		for j := range text {
			text[j] = byte(7*j + n)
		}
		ad := append(prev, text[:adBytes]...)
		prev = peer.Seal(nil, nonce, text[:n], ad)[n:]
	}
	for _, n := range []int{0, 1, 16, 31, 64, 65, 127, 128, 192, 256, 257, 511, 512, 1023, 1024, 1420, 1472, 1536, 1537, 2100, 3200} {
		seal(n, n%33)
	}
	seal(3200, 0)
	if [16]byte(prev) != chaCha20Poly1305Answer {
		t.Errorf("the answer is %x, the constant %x", prev, chaCha20Poly1305Answer)
	}
}

// TestHChaCha20 has the example of draft-irtf-cfrg-xchacha-03, section 2.2.1.
func TestHChaCha20(t *testing.T) {
	var key, subkey [32]byte
	for i := range key {
		key[i] = byte(i)
	}
	nonce := [16]byte{0, 0, 0, 9, 0, 0, 0, 0x4a, 0, 0, 0, 0, 0x31, 0x41, 0x59, 0x27}
	HChaCha20(&subkey, &key, &nonce)
	if got, want := hex.EncodeToString(subkey[:]), "82413b4227b27bfed30e42508a877d73a0f9e4d58a74a853c12ec41326d3ecdc"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
