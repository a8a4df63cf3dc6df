// Package peers compares the ciphers with those of golang.org/x/crypto: outputs, errors and panics.
// This module requires x/crypto so that the library's module need not. It also compares the reference of the
// library's own tests.
package peers

import (
	"bytes"
	"crypto/cipher"
	"fmt"
	"math/rand/v2"
	"testing"

	peer "golang.org/x/crypto/chacha20poly1305"

	"github.com/sealane/sealane/chacha20poly1305"
	"github.com/sealane/sealane/internal/randomseed"
	"github.com/sealane/sealane/internal/rfc8439"
)

type constructor func(key []byte) (cipher.AEAD, error)

var pairs = []struct {
	name       string
	ours, peer constructor
}{
	{"ChaCha20-Poly1305", chacha20poly1305.New, peer.New},
	{"XChaCha20-Poly1305", chacha20poly1305.NewX, peer.NewX},
	{"reference of ChaCha20-Poly1305", rfc8439.New, peer.New},
	{"reference of XChaCha20-Poly1305", rfc8439.NewX, peer.NewX},
}

// outcome is the result of f: its return value or its panic.
func outcome(f func() ([]byte, error)) (s string) {
	defer func() {
		if r := recover(); r != nil {
			s = fmt.Sprint("panic: ", r)
		}
	}()
	out, err := f()
	return fmt.Sprintf("%x %v", out, err)
}

// TestRandom compares packets of random lengths, nonces of wrong lengths, overlaps and forgeries.
func TestRandom(t *testing.T) {
	seed := randomseed.Of()
	t.Logf("seed %d", seed)
	for _, p := range pairs {
		t.Run(p.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			random := func(n int) []byte {
				b := make([]byte, n)
				for i := range b {
					b[i] = byte(r.Uint32())
				}
				return b
			}
			for n := range 65 {
				_, got := p.ours(make([]byte, n))
				if _, want := p.peer(make([]byte, n)); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("key of %d bytes: %v, want %v", n, got, want)
				}
			}
			for i := range 2000 {
				key := random(32)
				ours, err := p.ours(key)
				if err != nil {
					t.Fatal(err)
				}
				theirs, err := p.peer(key)
				if err != nil {
					t.Fatal(err)
				}
				if ours.NonceSize() != theirs.NonceSize() || ours.Overhead() != theirs.Overhead() {
					t.Fatal("sizes differ")
				}
				nonce, text, ad := random(ours.NonceSize()), random(r.IntN(1+r.IntN(2000))), random(r.IntN(1+r.IntN(100)))
				if i%20 == 0 {
					nonce = random(r.IntN(30))
				}
				if i%500 == 0 {
					text = random(150000)
				}
				same := func(what string, f func(a cipher.AEAD) ([]byte, error)) {
					t.Helper()
					got, want := outcome(func() ([]byte, error) { return f(ours) }), outcome(func() ([]byte, error) { return f(theirs) })
					if got != want {
						t.Fatalf("%s of %d bytes, nonce of %d, data of %d: %.200s, want %.200s", what, len(text), len(nonce), len(ad), got, want)
					}
				}
				same("Seal", func(a cipher.AEAD) ([]byte, error) { return a.Seal([]byte("x"), nonce, text, ad), nil })
				if len(nonce) != ours.NonceSize() {
					same("Open", func(a cipher.AEAD) ([]byte, error) { return a.Open(nil, nonce, text, ad) })
					continue
				}
				sealed := theirs.Seal(nil, nonce, text, ad)
				same("Open in place", func(a cipher.AEAD) ([]byte, error) {
					b := bytes.Clone(sealed)
					return a.Open(b[:0], nonce, b, ad)
				})
				forged := bytes.Clone(sealed)
				forged[r.IntN(len(forged))] ^= 1 << r.IntN(8)
				same("Open of a forgery", func(a cipher.AEAD) ([]byte, error) {
					out := make([]byte, 0, len(text))
					opened, err := a.Open(out, nonce, forged, ad)
					return append(opened, out[:len(text)]...), err // the content of the buffer after a failure, too
				})
				if len(text) > 1 {
					same("Seal over its input", func(a cipher.AEAD) ([]byte, error) {
						b := append(bytes.Clone(text), make([]byte, 20)...)
						return a.Seal(b[1:1], nonce, b[:len(text)], ad), nil
					})
				}
			}
		})
	}
}
