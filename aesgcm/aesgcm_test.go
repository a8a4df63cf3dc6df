package aesgcm_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/sealane/sealane"
	"github.com/sealane/sealane/aesgcm"
)

// A maker is a function of this package with its counterpart in crypto/cipher.
type maker struct {
	name       string
	ours, peer func(key []byte) (cipher.AEAD, error)
}

func makers() []maker {
	all := []maker{{"New", aesgcm.New, func(key []byte) (cipher.AEAD, error) { return standard(key, cipher.NewGCM) }}}
	for _, n := range []int{-1, 0, 1, 7, 8, 11, 12, 13, 16, 17, 60, 112, 113, 128, 1000} {
		all = append(all, maker{fmt.Sprint("NewWithNonceSize ", n),
			func(key []byte) (cipher.AEAD, error) { return aesgcm.NewWithNonceSize(key, n) },
			func(key []byte) (cipher.AEAD, error) {
				return standard(key, func(b cipher.Block) (cipher.AEAD, error) { return cipher.NewGCMWithNonceSize(b, n) })
			}})
	}
	for _, n := range []int{-1, 0, 4, 8, 11, 12, 13, 14, 15, 16, 17} {
		all = append(all, maker{fmt.Sprint("NewWithTagSize ", n),
			func(key []byte) (cipher.AEAD, error) { return aesgcm.NewWithTagSize(key, n) },
			func(key []byte) (cipher.AEAD, error) {
				return standard(key, func(b cipher.Block) (cipher.AEAD, error) { return cipher.NewGCMWithTagSize(b, n) })
			}})
	}
	return all
}

func standard(key []byte, mode func(cipher.Block) (cipher.AEAD, error)) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return mode(block)
}

func random(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// TestStandardLibrary compares with crypto/cipher: refused keys and sizes, error texts, sealed packets, and accepted packets.
func TestStandardLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, m := range makers() {
		for _, keySize := range []int{0, 8, 15, 16, 17, 24, 31, 32, 33, 64} {
			key := random(r, keySize)
			ours, err := m.ours(key)
			peer, want := m.peer(key)
			if fmt.Sprint(err) != fmt.Sprint(want) {
				t.Errorf("%s, key of %d bytes: error %q, want %q", m.name, keySize, err, want)
			}
			if err != nil || want != nil {
				continue
			}
			if ours.NonceSize() != peer.NonceSize() || ours.Overhead() != peer.Overhead() {
				t.Errorf("%s: sizes %d and %d, want %d and %d", m.name, ours.NonceSize(), ours.Overhead(), peer.NonceSize(), peer.Overhead())
			}
			for _, n := range []int{0, 1, 15, 16, 17, 63, 64, 65, 255, 256, 257, 576, 1420, 5000} {
				comparePacket(t, m.name, ours, peer, random(r, ours.NonceSize()), random(r, n), random(r, r.IntN(100)))
			}
		}
	}
}

func comparePacket(t *testing.T, name string, ours, peer cipher.AEAD, nonce, text, ad []byte) {
	t.Helper()
	want := peer.Seal(nil, nonce, text, ad)
	if got := ours.Seal(nil, nonce, text, ad); !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes sealed to\n%x, want\n%x", name, len(text), got, want)
	}
	if got, err := ours.Open(nil, nonce, want, ad); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%s: %d bytes not opened, %v", name, len(text), err)
	}
	for _, wrong := range [][]byte{flipped(want, 0), flipped(want, len(want)-1), want[:len(want)-1], want[:ours.Overhead()-1], nil} {
		got, err := ours.Open(nil, nonce, wrong, ad)
		_, wantErr := peer.Open(nil, nonce, wrong, ad)
		if got != nil || err == nil || err.Error() != wantErr.Error() {
			t.Errorf("%s: a wrong packet of %d bytes: %x, %v, want %v", name, len(wrong), got, err, wantErr)
		}
	}
}

func flipped(p []byte, i int) []byte {
	p = bytes.Clone(p)
	p[i] ^= 1
	return p
}

// TestPanics compares the panics with those of crypto/cipher.
func TestPanics(t *testing.T) {
	key, space := make([]byte, 16), make([]byte, 200)
	ours, err := aesgcm.New(key)
	if err != nil {
		t.Fatal(err)
	}
	peer, err := standard(key, cipher.NewGCM)
	if err != nil {
		t.Fatal(err)
	}
	nonce := make([]byte, 12)
	for name, call := range map[string]func(a cipher.AEAD){
		"a short nonce, sealing":           func(a cipher.AEAD) { a.Seal(nil, nonce[:11], nil, nil) },
		"a short nonce, opening":           func(a cipher.AEAD) { _, _ = a.Open(nil, nonce[:11], space[:20], nil) },
		"no nonce":                         func(a cipher.AEAD) { a.Seal(nil, nil, nil, nil) },
		"output over the input, sealing":   func(a cipher.AEAD) { a.Seal(space[1:1], nonce, space[:100], nil) },
		"output over the input, opening":   func(a cipher.AEAD) { _, _ = a.Open(space[1:1], nonce, space[:100], nil) },
		"output over the associated data":  func(a cipher.AEAD) { a.Seal(space[:0], nonce, nil, space[10:20]) },
		"output over them while opening":   func(a cipher.AEAD) { _, _ = a.Open(space[:0], nonce, space[100:150], space[10:20]) },
		"nothing wrong":                    func(a cipher.AEAD) { a.Seal(space[:0], nonce, space[:100], space[150:]) },
		"nothing wrong, everything is nil": func(a cipher.AEAD) { a.Seal(nil, nonce, nil, nil) },
	} {
		if got, want := panicOf(call, ours), panicOf(call, peer); got != want {
			t.Errorf("%s: panic %q, want %q", name, got, want)
		}
	}
}

func panicOf(call func(cipher.AEAD), a cipher.AEAD) (message string) {
	defer func() {
		if r := recover(); r != nil {
			message = fmt.Sprint(r)
		}
	}()
	call(a)
	return ""
}

// TestLevel checks that the level is the best one that the CPU has and SEALANE_CPU allows. A name that only another
// cipher has selects the next lower level, which other tests cover.
func TestLevel(t *testing.T) {
	a, err := aesgcm.New(make([]byte, 16))
	if err != nil {
		t.Fatal(err)
	}
	got := a.(interface{ Implementation() string }).Implementation()
	t.Log("level", got)
	for _, c := range sealane.Ciphers() {
		if c.Name != "aesgcm" {
			continue
		}
		levels, named := c.Levels, os.Getenv("SEALANE_CPU")
		if named != "" {
			levels = levels[max(slices.IndexFunc(levels, func(l sealane.Level) bool { return l.Name == named }), 0):]
		}
		if len(levels) == len(c.Levels) && named != "" && named != levels[0].Name {
			return
		}
		best := levels[slices.IndexFunc(levels, func(l sealane.Level) bool { return l.Supported })]
		if got != best.Name || !best.Chosen {
			t.Errorf("level %s, want %s", got, best.Name)
		}
		return
	}
	t.Error("AES-GCM is not among the ciphers")
}
