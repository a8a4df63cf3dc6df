package rfc8439

import (
	"encoding/hex"
	"testing"
)

// TestVectors checks the examples of RFC 8439, section 2.8.2, and draft-irtf-cfrg-xchacha-03, appendix A.3.1.
func TestVectors(t *testing.T) {
	const text = "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it."
	var key [32]byte
	for i := range key {
		key[i] = byte(0x80 + i)
	}
	ad, _ := hex.DecodeString("50515253c0c1c2c3c4c5c6c7")
	nonce, _ := hex.DecodeString("070000004041424344454647")
	a, err := New(key[:])
	if err != nil {
		t.Fatal(err)
	}
	sealed := a.Seal(nil, nonce, []byte(text), ad)
	if got := hex.EncodeToString(sealed[len(text):]); got != "1ae10b594f09e26a7e902ecbd0600691" {
		t.Errorf("tag %s", got)
	}
	if got := hex.EncodeToString(sealed[:16]); got != "d31a8d34648e60db7b86afbc53ef7ec2" {
		t.Errorf("ciphertext %s", got)
	}
	nonce, _ = hex.DecodeString("404142434445464748494a4b4c4d4e4f5051525354555657")
	x, err := NewX(key[:])
	if err != nil {
		t.Fatal(err)
	}
	sealed = x.Seal(nil, nonce, []byte(text), ad)
	if got := hex.EncodeToString(sealed[len(text):]); got != "c0875924c1c7987947deafd8780acf49" {
		t.Errorf("tag %s", got)
	}
	if opened, err := x.Open(sealed[:0], nonce, sealed, ad); err != nil || string(opened) != text {
		t.Errorf("%q, %v", opened, err)
	}
	sealed = a.Seal(nil, nonce[:12], []byte(text), ad)
	sealed[3] ^= 1
	if opened, err := a.Open(nil, nonce[:12], sealed, ad); err == nil || opened != nil {
		t.Errorf("opens a forgery: %q, %v", opened, err)
	}
}
