package kernel

import (
	"bytes"
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

// TestBatchAnswer does the same for the known-answer test of batches.
func TestBatchAnswer(t *testing.T) {
	seal := func(n int, text, ad []byte) []byte {
		peer, err := chacha20poly1305.New(batchKeys()[32*n:][:32])
		if err != nil {
			t.Fatal(err)
		}
		return peer.Seal(nil, bytes.Repeat([]byte{byte(n)}, 12), text, ad)[len(text):]
	}
	var tags []byte
	for n := range 33 {
		text := make([]byte, n*n)
		for j := range text {
			text[j] = byte(7*j + n)
		}
		tags = append(tags, seal(n, text, batchKeys()[:n])...)
	}
	if answer := seal(0, nil, tags); [16]byte(answer) != chaCha20Poly1305BatchAnswer {
		t.Errorf("the answer is %x, the constant %x", answer, chaCha20Poly1305BatchAnswer)
	}
}

// batchKeys returns the keys of its 33 packets, one behind the other.
func batchKeys() (keys []byte) {
	for n := range 33 {
		for j := range 32 {
			keys = append(keys, byte(0x80+j+n))
		}
	}
	return keys
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
