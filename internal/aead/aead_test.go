package aead

import (
	"bytes"
	"crypto/cipher"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/sealane/sealane/internal/kernel"
	"github.com/sealane/sealane/internal/packet"
)

// TestPeer compares with x/crypto around the lengths where the code takes another way.
func TestPeer(t *testing.T) {
	lengths := []int{0, 1, 63, 64, 65, 1420, 16384, packet.PartBytes - 1, packet.PartBytes, packet.PartBytes + 1, packet.PartBytes + 63, packet.PartBytes + 64,
		2*packet.PartBytes - 1, 2 * packet.PartBytes, 2*packet.PartBytes + 1, 3*packet.PartBytes + 100, 200 << 10}
	few := []int{0, 1, 65, 1420, packet.PartBytes + 65}
	forEach(t, func(t *testing.T, v variant, level kernel.Level) {
		r := newRand()
		lengths := lengths
		if testing.Short() || raceEnabled || !v.usual() {
			lengths = few
		}
		for i, n := range lengths {
			adLengths := []int{0, 13, 100}
			if n >= packet.PartBytes-1 { // one is enough where each pass takes long
				adLengths = adLengths[i%3:][:1]
			}
			for _, adBytes := range adLengths {
				key, nonce, text, ad := random(r, v.keySize), random(r, v.nonceSize), random(r, n), random(r, adBytes)
				ours, err := v.ours(level, key)
				ours = must(t, ours, err)
				peer, err := v.peer(key)
				peer = must(t, peer, err)

				want := peer.Seal(nil, nonce, text, ad)
				if got := ours.Seal(nil, nonce, text, ad); !bytes.Equal(got, want) {
					t.Fatalf("%d bytes: sealed differs", n)
				}
				if got, err := ours.Open(nil, nonce, want, ad); err != nil || !bytes.Equal(got, text) {
					t.Fatalf("%d bytes: opened differs, %v", n, err)
				}
				buffer := append(make([]byte, 0, n+v.tagSize), text...)
				if got := ours.Seal(buffer[:0], nonce, buffer, ad); !bytes.Equal(got, want) || &got[0] != &buffer[:1][0] {
					t.Fatalf("%d bytes: sealed in place differs", n)
				}
				sealed := buffer[:n+v.tagSize]
				if got, err := ours.Open(sealed[:0], nonce, sealed, ad); err != nil || !bytes.Equal(got, text) {
					t.Fatalf("%d bytes: opened in place differs, %v", n, err)
				}
			}
		}
	})
}

// TestAppend checks where the output goes.
func TestAppend(t *testing.T) {
	forEach(t, func(t *testing.T, v variant, level kernel.Level) {
		a, err := v.ours(level, make([]byte, v.keySize))
		a = must(t, a, err)
		nonce, text := make([]byte, v.nonceSize), []byte("text")
		sealed := a.Seal(nil, nonce, text, nil)

		full := []byte("head")
		full = full[:len(full):len(full)]
		if got := a.Seal(full, nonce, text, nil); string(got) != "head"+string(sealed) || &got[0] == &full[0] {
			t.Errorf("Seal to a full slice: %x", got)
		}
		roomy := append(make([]byte, 0, 64), "head"...)
		roomy[:64][4+len(sealed)] = 0xa5
		if got := a.Seal(roomy, nonce, text, nil); string(got) != "head"+string(sealed) || &got[0] != &roomy[0] || roomy[:64][len(got)] != 0xa5 {
			t.Errorf("Seal to a roomy slice: %x", got)
		}
		roomy[:64][8] = 0xa5
		if got, err := a.Open(roomy, nonce, sealed, nil); err != nil || string(got) != "headtext" || &got[0] != &roomy[0] || roomy[:64][8] != 0xa5 {
			t.Errorf("Open to a roomy slice: %x, %v", got, err)
		}
		if got, err := a.Open(full, nonce, sealed, nil); err != nil || string(got) != "headtext" {
			t.Errorf("Open to a full slice: %x, %v", got, err)
		}
		if v.table == &kernel.AESGCMLevels {
			return
		}
		// The plaintext may go after the ciphertext, over the tag; crypto/cipher does not allow it.
		buffer := append(make([]byte, 0, 64), sealed...)
		if got, err := a.Open(buffer[:len(text)], nonce, buffer, nil); err != nil || string(got[len(text):]) != string(text) {
			t.Errorf("Open over the tag: %x, %v", got, err)
		}
	})
}

// TestTamper flips every bit of short packets, one at a time, and expects an error, no plaintext, and a zeroed
// output.
func TestTamper(t *testing.T) {
	lengths := []int{0, 1, 15, 16, 17, 64, 100}
	if testing.Short() || raceEnabled {
		lengths = []int{0, 17}
	}
	forEach(t, func(t *testing.T, v variant, level kernel.Level) {
		r := newRand()
		for _, n := range lengths {
			key, nonce, text, ad := random(r, v.keySize), random(r, v.nonceSize), random(r, n), random(r, 13)
			a, err := v.ours(level, key)
			a = must(t, a, err)
			sealed := a.Seal(nil, nonce, text, ad)
			out, inPlace := make([]byte, n+8), make([]byte, len(sealed))
			rejected := func(what string, i int) {
				t.Helper()
				for j := range out {
					out[j] = 0xa5
				}
				got, err := a.Open(out[:8:len(out)], nonce, sealed, ad)
				if err != v.errOpen || got != nil {
					t.Fatalf("%d bytes: opened with bit %d of the %s flipped", n, i, what)
				}
				if !bytes.Equal(out[8:], make([]byte, n)) || out[7] != 0xa5 {
					t.Fatalf("%d bytes: a failed Open leaves %x", n, out)
				}
				copy(inPlace, sealed)
				got, err = a.Open(inPlace[:0], nonce, inPlace, ad)
				if err != v.errOpen || got != nil || !bytes.Equal(inPlace[:n], make([]byte, n)) || !bytes.Equal(inPlace[n:], sealed[n:]) {
					t.Fatalf("%d bytes: a failed Open in place leaves %x", n, inPlace)
				}
			}
			for _, target := range []struct {
				what string
				b    []byte
			}{{"ciphertext", sealed[:n]}, {"tag", sealed[n:]}, {"nonce", nonce}, {"associated data", ad}} {
				for i := range 8 * len(target.b) {
					target.b[i/8] ^= 1 << (i % 8)
					rejected(target.what, i)
					target.b[i/8] ^= 1 << (i % 8)
				}
			}
			// Without a flipped bit, the same check must fail.
			if got, err := a.Open(out[:8:len(out)], nonce, sealed, ad); err != nil || !bytes.Equal(got[8:], text) {
				t.Fatalf("%d bytes: the untouched packet is rejected", n)
			}
			for short := range sealed {
				if _, err := a.Open(nil, nonce, sealed[:short], ad); err != v.errOpen {
					t.Fatalf("%d bytes: opened when cut to %d", n, short)
				}
			}
		}
		// Long packets are written in parts before the tag is known.
		text := random(r, 2*packet.PartBytes+100)
		nonce := make([]byte, v.nonceSize)
		a, err := v.ours(level, make([]byte, v.keySize))
		a = must(t, a, err)
		sealed := a.Seal(nil, nonce, text, nil)
		for _, at := range []int{0, packet.PartBytes, 2 * packet.PartBytes, len(sealed) - 1} {
			sealed[at] ^= 1
			out := random(r, len(text))
			if _, err := a.Open(out[:0], nonce, sealed, nil); err != v.errOpen || !bytes.Equal(out, make([]byte, len(out))) {
				t.Fatalf("long packet with byte %d flipped: %v, or the output is not zeroed", at, err)
			}
			sealed[at] ^= 1
		}
	})
}

// TestBadInput expects x/crypto's panics and errors, and nothing written.
func TestBadInput(t *testing.T) {
	forEach(t, func(t *testing.T, v variant, level kernel.Level) {
		for n := range 65 {
			_, err := v.ours(level, make([]byte, n))
			_, want := v.peer(make([]byte, n))
			if (err == nil) != (want == nil) || err != nil && err.Error() != want.Error() {
				t.Errorf("key of %d bytes: %v, want %v", n, err, want)
			}
		}
		ours, err := v.ours(level, make([]byte, v.keySize))
		ours = must(t, ours, err)
		peer, err := v.peer(make([]byte, v.keySize))
		peer = must(t, peer, err)
		for n := range 33 {
			got := panics(func() { ours.Seal(nil, make([]byte, n), nil, nil) })
			if want := panics(func() { peer.Seal(nil, make([]byte, n), nil, nil) }); got != want {
				t.Errorf("Seal with a nonce of %d bytes: %q, want %q", n, got, want)
			}
			got = panics(func() { ours.Open(nil, make([]byte, n), make([]byte, 16), nil) })
			if want := panics(func() { peer.Open(nil, make([]byte, n), make([]byte, 16), nil) }); got != want {
				t.Errorf("Open with a nonce of %d bytes: %q, want %q", n, got, want)
			}
		}
		if ours.NonceSize() != peer.NonceSize() || ours.Overhead() != peer.Overhead() {
			t.Error("sizes differ")
		}
		if unsafe.Sizeof(uintptr(0)) == 8 && !raceEnabled {
			// Slices that are too long, over memory that is not there: they must be refused unread.
			var b [1]byte
			nonce := make([]byte, v.nonceSize)
			long := func(n uint64) []byte { return unsafe.Slice(&b[0], int(n)) }
			got, want := panics(func() { ours.Seal(nil, nonce, long(v.maxText+1), nil) }), panics(func() { peer.Seal(nil, nonce, long(v.maxText+1), nil) })
			if got == "" || got != want {
				t.Errorf("Seal of too much: %q, want %q", got, want)
			}
			// x/crypto panics, the standard library returns an error.
			open := func(a cipher.AEAD) (err error) {
				defer func() {
					if r := recover(); r != nil {
						err = fmt.Errorf("panic: %v", r)
					}
				}()
				_, err = a.Open(nil, nonce, long(v.maxText+uint64(v.tagSize)+1), nil)
				return err
			}
			if got, want := open(ours), open(peer); got == nil || got.Error() != want.Error() {
				t.Errorf("Open of too much: %q, want %q", got, want)
			}
		}
	})
}

// TestOverlap tries every overlap of two slices of one buffer, and expects x/crypto's behavior.
func TestOverlap(t *testing.T) {
	forEach(t, func(t *testing.T, v variant, level kernel.Level) {
		ours, err := v.ours(level, make([]byte, v.keySize))
		ours = must(t, ours, err)
		peer, err := v.peer(make([]byte, v.keySize))
		peer = must(t, peer, err)
		nonce, text := make([]byte, v.nonceSize), []byte("twenty bytes of text")
		compare := func(what string, f func(seal, open func(dst, in, ad []byte), buffer []byte)) {
			t.Helper()
			run := func(a interface {
				Seal(dst, nonce, plaintext, ad []byte) []byte
				Open(dst, nonce, ciphertext, ad []byte) ([]byte, error)
			}) (string, []byte) {
				buffer := make([]byte, 128)
				peer.Seal(buffer[40:40], nonce, text, nil)
				before := bytes.Clone(buffer)
				message := panics(func() {
					f(func(dst, in, ad []byte) { a.Seal(dst, nonce, in, ad) }, func(dst, in, ad []byte) { a.Open(dst, nonce, in, ad) }, buffer)
				})
				if message != "" && !bytes.Equal(buffer, before) {
					t.Errorf("%s: written before the panic", what)
				}
				return message, buffer
			}
			message, buffer := run(ours)
			wantMessage, wantBuffer := run(peer)
			if message != wantMessage || message == "" && !bytes.Equal(buffer, wantBuffer) {
				t.Errorf("%s: %q, want %q; or the output differs", what, message, wantMessage)
			}
		}
		for at := range 90 {
			compare("Seal over input", func(seal, open func(dst, in, ad []byte), b []byte) { seal(b[at:at:at+36], b[40:60], nil) })
			if at < 60 || at > 75 || v.table == &kernel.AESGCMLevels { // over the tag x/crypto's portable code opens and its assembly does not: see TestAppend
				compare("Open over input", func(seal, open func(dst, in, ad []byte), b []byte) { open(b[at:at:at+20], b[40:76], nil) })
			}
			compare("Seal over AD", func(seal, open func(dst, in, ad []byte), b []byte) { seal(b[at:at:at+36], text, b[40:60]) })
			compare("Open over AD", func(seal, open func(dst, in, ad []byte), b []byte) {
				open(b[at:at:at+20], peer.Seal(nil, nonce, text, nil), b[40:40+at%3])
			})
			compare("Seal of nothing over input", func(seal, open func(dst, in, ad []byte), b []byte) { seal(b[at:at:at+36], b[40:40], b[50:50]) })
		}
	})
}

func TestNoAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("NOT RUN: the race detector allocates")
	}
	forEach(t, func(t *testing.T, v variant, level kernel.Level) {
		a, err := v.ours(level, make([]byte, v.keySize))
		a = must(t, a, err)
		for _, n := range []int{0, 64, 1420, packet.PartBytes + 1000} {
			buffer := make([]byte, n, n+v.tagSize)
			nonce, ad := make([]byte, v.nonceSize), make([]byte, 13)
			runs := 20
			if n > 1420 {
				runs = 2
			}
			// On the stack. Escaping values would be moved to the heap.
			if allocations := testing.AllocsPerRun(runs, func() {
				sealed := a.Seal(buffer[:0], nonce, buffer[:n], ad)
				if _, err := a.Open(sealed[:0], nonce, sealed, ad); err != nil {
					t.Fatal(err)
				}
				sealed = a.Seal(buffer[:0], nonce, buffer[:n], ad)
				sealed[0] ^= 1
				if _, err := a.Open(sealed[:0], nonce, sealed, ad); err == nil {
					t.Fatal("opened")
				}
			}); allocations != 0 {
				t.Errorf("%d bytes: %v allocations", n, allocations)
			}
		}
		key := make([]byte, v.keySize)
		fresh := testing.AllocsPerRun(20, func() {
			if _, err := v.ours(level, key); err != nil {
				t.Fatal(err)
			}
		})
		if fresh > 1 {
			t.Errorf("a key makes %v allocations", fresh)
		}
	})
}

// TestConcurrent uses one key from many goroutines.
func TestConcurrent(t *testing.T) {
	forEach(t, func(t *testing.T, v variant, level kernel.Level) {
		a, err := v.ours(level, make([]byte, v.keySize))
		a = must(t, a, err)
		var wait sync.WaitGroup
		for i := range 2 * runtime.GOMAXPROCS(0) {
			wait.Add(1)
			go func() {
				defer wait.Done()
				nonce, text := make([]byte, v.nonceSize), make([]byte, 100+i)
				for j := range 200 {
					nonce[0], nonce[len(nonce)-1], text[0] = byte(i), byte(j), byte(j)
					got, err := a.Open(nil, nonce, a.Seal(nil, nonce, text, nonce), nonce)
					if err != nil || !bytes.Equal(got, text) {
						t.Errorf("%v, or other text", err)
						return
					}
				}
			}()
		}
		wait.Wait()
	})
}

// TestKeyIsCopied changes the key's slice after use.
func TestKeyIsCopied(t *testing.T) {
	forEach(t, func(t *testing.T, v variant, level kernel.Level) {
		key, nonce := make([]byte, v.keySize), make([]byte, v.nonceSize)
		a, err := v.ours(level, key)
		a = must(t, a, err)
		want := a.Seal(nil, nonce, nil, nil)
		key[0] = 1
		if !bytes.Equal(a.Seal(nil, nonce, nil, nil), want) {
			t.Error("the key is not copied")
		}
	})
}
