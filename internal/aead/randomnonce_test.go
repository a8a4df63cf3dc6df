package aead

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"testing"

	"github.com/sealane/sealane/internal/kernel"
)

// forEachRandomNonce runs f for every level, with crypto/cipher's as the peer.
func forEachRandomNonce(t *testing.T, f func(t *testing.T, ours, peer cipher.AEAD)) {
	for _, row := range kernel.AESGCMLevels.Rows {
		for _, keyBytes := range []int{16, 24, 32} {
			t.Run(fmt.Sprintf("%s/%d", row.Name, 8*keyBytes), func(t *testing.T) {
				skipUnsupported(t, row)
				key := random(newRand(), keyBytes)
				ours, err := NewAESGCMWithRandomNonce(kernel.Level(row.Level), key)
				ours = must(t, ours, err)
				block, err := aes.NewCipher(key)
				if err != nil {
					t.Fatal(err)
				}
				peer, err := cipher.NewGCMWithRandomNonce(block)
				f(t, ours, must(t, peer, err))
			})
		}
	}
}

// TestRandomNonce opens packets that crypto/cipher seals and the other way round, apart, appended and in place.
func TestRandomNonce(t *testing.T) {
	lengths := []int{0, 1, 11, 12, 13, 28, 64, 100, 1420, 70000}
	if testing.Short() {
		lengths = []int{0, 13, 1420}
	}
	forEachRandomNonce(t, func(t *testing.T, ours, peer cipher.AEAD) {
		if ours.NonceSize() != peer.NonceSize() || ours.Overhead() != peer.Overhead() {
			t.Errorf("sizes %d and %d, want %d and %d", ours.NonceSize(), ours.Overhead(), peer.NonceSize(), peer.Overhead())
		}
		r := newRand()
		for _, n := range lengths {
			text, ad, prefix := random(r, n), random(r, n%40), random(r, 5)
			for _, c := range []struct{ sealer, opener cipher.AEAD }{{ours, peer}, {peer, ours}, {ours, ours}} {
				check := func(how string, sealed []byte, inPlace bool) {
					t.Helper()
					sealed = bytes.Clone(sealed)
					whole := bytes.Clone(sealed)
					dst := bytes.Clone(prefix)
					if inPlace {
						dst = sealed[:0]
					}
					opened, err := c.opener.Open(dst, nil, sealed, ad)
					if err != nil || !bytes.Equal(opened[len(dst):], text) || !inPlace && !bytes.Equal(opened[:len(dst)], prefix) {
						t.Fatalf("%d bytes, %s, opened in place %v: %v", n, how, inPlace, err)
					}
					for _, at := range []int{0, 11, len(whole) - 1} {
						wrong := bytes.Clone(whole)
						wrong[at] ^= 1
						if inPlace {
							dst = wrong[:0]
						}
						if opened, err := c.opener.Open(dst, nil, wrong, ad); opened != nil || err == nil || err.Error() != errGCMOpen.Error() {
							t.Fatalf("%d bytes, %s: byte %d is not authentic: %v", n, how, at, err)
						} else if inPlace && c.opener == ours && !bytes.Equal(wrong[:n], make([]byte, n)) {
							t.Fatalf("%d bytes: a failed open leaves other than zeroes", n)
						}
					}
				}
				buf := append(make([]byte, 0, n+28), text...)
				for _, inPlace := range []bool{false, true} {
					check("apart", c.sealer.Seal(nil, nil, text, ad), inPlace)
					check("appended", c.sealer.Seal(bytes.Clone(prefix), nil, text, ad)[len(prefix):], inPlace)
					check("in place", c.sealer.Seal(append(buf[:0], text...)[:0], nil, buf[:n], ad), inPlace)
				}
			}
		}
	})
}

// TestRandomNoncesDiffer seals the same packet often.
func TestRandomNoncesDiffer(t *testing.T) {
	forEachRandomNonce(t, func(t *testing.T, ours, _ cipher.AEAD) {
		seen := make(map[string]bool)
		for range 1000 {
			nonce := string(ours.Seal(nil, nil, nil, nil)[:gcmNonceSize])
			if seen[nonce] {
				t.Fatal("a nonce came twice")
			}
			seen[nonce] = true
		}
	})
}

// TestRandomNonceBadInput expects crypto/cipher's panics and errors.
func TestRandomNonceBadInput(t *testing.T) {
	forEachRandomNonce(t, func(t *testing.T, ours, peer cipher.AEAD) {
		space := make([]byte, 300)
		for name, call := range map[string]func(a cipher.AEAD){
			"a nonce, sealing":                  func(a cipher.AEAD) { a.Seal(nil, space[:12], nil, nil) },
			"a nonce, opening":                  func(a cipher.AEAD) { _, _ = a.Open(nil, space[:1], space[:100], nil) },
			"output over the input, sealing":    func(a cipher.AEAD) { a.Seal(space[1:1], nil, space[:100], nil) },
			"output over the input, opening":    func(a cipher.AEAD) { _, _ = a.Open(space[1:1], nil, space[:100], nil) },
			"text where the ciphertext will be": func(a cipher.AEAD) { a.Seal(space[:0], nil, space[12:112], nil) },
			"output over the associated data":   func(a cipher.AEAD) { a.Seal(space[:0], nil, nil, space[20:30]) },
			"the same, opening":                 func(a cipher.AEAD) { _, _ = a.Open(space[:0], nil, space[150:250], space[10:20]) },
			"nothing wrong":                     func(a cipher.AEAD) { a.Seal(space[:0], nil, space[:100], space[200:]) },
			"all is nil":                        func(a cipher.AEAD) { a.Seal(nil, nil, nil, nil) },
		} {
			if got, want := panics(func() { call(ours) }), panics(func() { call(peer) }); got != want {
				t.Errorf("%s: panic %q, want %q", name, got, want)
			}
		}
		for n := range 40 {
			got, err := ours.Open(nil, nil, space[:n], nil)
			if _, want := peer.Open(nil, nil, space[:n], nil); got != nil || err == nil || err.Error() != want.Error() {
				t.Errorf("%d bytes: %v, want %v", n, err, want)
			}
		}
	})
	for _, n := range []int{0, 15, 17, 33} {
		_, err := NewAESGCMWithRandomNonce(kernel.Portable, make([]byte, n))
		if _, want := aes.NewCipher(make([]byte, n)); err == nil || err.Error() != want.Error() {
			t.Errorf("a key of %d bytes: %v, want %v", n, err, want)
		}
	}
}

func TestRandomNonceAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("NOT RUN: the race detector allocates")
	}
	forEachRandomNonce(t, func(t *testing.T, ours, _ cipher.AEAD) {
		buf, packet := make([]byte, 2000), ours.Seal(nil, nil, make([]byte, 1420), nil)
		if n := testing.AllocsPerRun(100, func() { ours.Seal(buf[:0], nil, buf[:1420], nil) }); n > 0 {
			t.Errorf("Seal: %v allocations", n)
		}
		if n := testing.AllocsPerRun(100, func() { _, _ = ours.Open(buf[:0], nil, packet, nil) }); n > 0 {
			t.Errorf("Open: %v allocations", n)
		}
	})
}
