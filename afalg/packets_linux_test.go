package afalg

import (
	"bytes"
	"crypto/cipher"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
)

// need skips the test if the kernel lacks the algorithm, except in the virtual machines, whose kernels must have it.
func need(t testing.TB, algorithm Algorithm) {
	t.Helper()
	for _, s := range Available() {
		if s.Algorithm == algorithm && !s.Usable {
			if os.Getenv("SEALANE_AFALG_REQUIRED") != "" {
				t.Fatal(s.Why)
			}
			t.Skip("NOT RUN: " + s.Why)
		}
	}
}

// pair returns the same key in the kernel and in the process.
func pair(t testing.TB, algorithm Algorithm, key []byte) (*AEAD, cipher.AEAD) {
	t.Helper()
	need(t, algorithm)
	a, err := New(algorithm, key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	b, err := inProcessOf(algorithm, key)
	if err != nil {
		t.Fatal(err)
	}
	return a, b
}

// inKernel fails the test unless the kernel processed every packet.
func inKernel(t testing.TB, a *AEAD) {
	t.Helper()
	if n := a.InProcess(); n != 0 {
		t.Errorf("%d packets were done in the process", n)
	}
}

func each(t *testing.T, f func(t *testing.T, algorithm Algorithm)) {
	for _, a := range []Algorithm{ChaCha20Poly1305, AESGCM} {
		t.Run(string(a), func(t *testing.T) { f(t, a) })
	}
}

func fill(n int, r *rand.Rand) []byte {
	b := make([]byte, n)
	var word uint64
	for i := range b {
		if i%8 == 0 {
			word = r.Uint64()
		}
		b[i] = byte(word >> (8 * (i % 8)))
	}
	return b
}

func TestLengths(t *testing.T) {
	each(t, func(t *testing.T, algorithm Algorithm) {
		r := rand.New(rand.NewPCG(1, 2))
		sizes := []int{16, 24, 32}
		if algorithm == ChaCha20Poly1305 {
			sizes = []int{32}
		}
		for _, size := range sizes {
			kernel, process := pair(t, algorithm, fill(size, r))
			var lengths [][2]int // text, associated data
			step := 1
			if size == 24 || size == 16 {
				step = 37
			}
			for n := 0; n <= 2048; n += step {
				lengths = append(lengths, [2]int{n, n % 21})
				if n == 300 { // longer texts only repeat blocks
					step = 7
				}
			}
			for _, ad := range []int{0, 1, 5, 13, 15, 16, 17, 64, 255, 256, 1000, 4096, 9000} {
				for _, n := range []int{0, 1, 63, 1420, 4096, 16384} {
					lengths = append(lengths, [2]int{n, ad})
				}
			}
			lengths = append(lengths, [2]int{MaxPacket - tagSize, 0}, [2]int{MaxPacket - 100, 84})
			inAndOut(t, kernel, process, lengths)
			inKernel(t, kernel)
			long := fill(MaxPacket+1, r)
			nonce := fill(nonceSize, r)
			if !bytes.Equal(kernel.Seal(nil, nonce, long, nil), process.Seal(nil, nonce, long, nil)) || kernel.InProcess() != 1 {
				t.Error("a packet over the limit is not sealed in the process")
			}
		}
	})
}

// inAndOut seals and opens packets of these lengths (text, associated data), and compares kernel and process.
func inAndOut(t *testing.T, kernel *AEAD, process cipher.AEAD, lengths [][2]int) {
	t.Helper()
	r := rand.New(rand.NewPCG(14, 15))
	for i, l := range lengths {
		text, ad, nonce := fill(l[0], r), fill(l[1], r), fill(nonceSize, r)
		want := process.Seal(nil, nonce, text, ad)
		if got := kernel.Seal([]byte("head"), nonce, text, ad); string(got[:4]) != "head" || !bytes.Equal(got[4:], want) {
			t.Fatalf("%d bytes with %d of associated data: sealed wrongly", l[0], l[1])
		}
		if got, err := kernel.Open(nil, nonce, want, ad); err != nil || !bytes.Equal(got, text) {
			t.Fatalf("%d bytes with %d of associated data: opened wrongly: %v", l[0], l[1], err)
		}
		if i%5 != 0 {
			continue
		}
		inPlace := append(make([]byte, 0, len(want)), text...)
		if got := kernel.Seal(inPlace[:0], nonce, inPlace, ad); !bytes.Equal(got, want) || l[0] > 0 && &got[0] != &inPlace[0] {
			t.Fatalf("%d bytes with %d of associated data: sealed wrongly in place", l[0], l[1])
		}
		if got, err := kernel.Open(want[:0], nonce, want, ad); err != nil || !bytes.Equal(got, text) {
			t.Fatalf("%d bytes with %d of associated data: opened wrongly in place: %v", l[0], l[1], err)
		}
	}
}

type hexBytes []byte

func (h *hexBytes) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text)+" ", "%x ", (*[]byte)(h))
	if len(text) == 0 {
		*h, err = nil, nil
	}
	return err
}

func TestWycheproof(t *testing.T) {
	files := map[Algorithm]string{ChaCha20Poly1305: "chacha20_poly1305_test.json", AESGCM: "aes_gcm_test.json"}
	each(t, func(t *testing.T, algorithm Algorithm) {
		need(t, algorithm)
		content, err := os.ReadFile("../test/vectors/wycheproof/" + files[algorithm])
		if err != nil {
			t.Fatal(err)
		}
		var suite struct {
			TestGroups []struct {
				IVSize, TagSize int
				Tests           []struct {
					ID                         int `json:"tcId"`
					Result                     string
					Key, IV, AAD, Msg, CT, Tag hexBytes
				}
			}
		}
		if err := json.Unmarshal(content, &suite); err != nil {
			t.Fatal(err)
		}
		ran := 0
		for _, group := range suite.TestGroups {
			if group.IVSize != 8*nonceSize || group.TagSize != 8*tagSize {
				continue // a cipher with other nonces
			}
			for _, test := range group.Tests {
				ran++
				a, err := New(algorithm, test.Key)
				if err != nil {
					t.Fatalf("%d: %v", test.ID, err)
				}
				sealed := append(bytes.Clone(test.CT), test.Tag...)
				opened, err := a.Open(nil, test.IV, sealed, test.AAD)
				resealed := a.Seal(nil, test.IV, test.Msg, test.AAD)
				if valid := test.Result == "valid"; valid != (err == nil) || valid != bytes.Equal(resealed, sealed) || valid && !bytes.Equal(opened, test.Msg) {
					t.Errorf("%d: %s, opened with %v", test.ID, test.Result, err)
				}
				inKernel(t, a)
				if err := a.Close(); err != nil {
					t.Error(err)
				}
			}
		}
		if ran < 60 {
			t.Errorf("only %d tests ran", ran)
		}
	})
}

func TestTamper(t *testing.T) {
	each(t, func(t *testing.T, algorithm Algorithm) {
		a, _ := pair(t, algorithm, fill(32, rand.New(rand.NewPCG(3, 4))))
		tamper(t, a)
		inKernel(t, a)
		if _, err := a.Open(nil, make([]byte, nonceSize), make([]byte, tagSize-1), nil); err == nil || err.Error() != errOpen.Error() {
			t.Errorf("shorter than a tag: %v", err)
		}
	})
}

// tamper flips each bit of a packet.
func tamper(t *testing.T, a *AEAD) {
	t.Helper()
	r := rand.New(rand.NewPCG(16, 17))
	nonce, ad, text := fill(nonceSize, r), fill(7, r), fill(33, r)
	sealed := a.Seal(nil, nonce, text, ad)
	for _, part := range [][]byte{sealed, nonce, ad} {
		for bit := range 8 * len(part) {
			part[bit/8] ^= 1 << (bit % 8)
			out := bytes.Repeat([]byte{0xa5}, 40)
			if got, err := a.Open(out[:0], nonce, sealed, ad); got != nil || err == nil || err.Error() != errOpen.Error() {
				t.Fatalf("bit %d: opened, %v", bit, err)
			}
			if !bytes.Equal(out[:33], make([]byte, 33)) || !bytes.Equal(out[33:], bytes.Repeat([]byte{0xa5}, 7)) {
				t.Fatalf("bit %d: left %x", bit, out)
			}
			inPlace := bytes.Clone(sealed)
			if _, err := a.Open(inPlace[:0], nonce, inPlace, ad); err == nil || !bytes.Equal(inPlace[:33], make([]byte, 33)) {
				t.Fatalf("bit %d: in place: %v, left %x", bit, err, inPlace)
			}
			part[bit/8] ^= 1 << (bit % 8)
		}
	}
	if got, err := a.Open(nil, nonce, sealed, ad); err != nil || !bytes.Equal(got, text) {
		t.Errorf("after all that: %v", err)
	}
}

func TestPanics(t *testing.T) {
	each(t, func(t *testing.T, algorithm Algorithm) {
		a, _ := pair(t, algorithm, make([]byte, 32))
		b := make([]byte, 100)
		for what, f := range map[string]func(){
			"Seal, nonce":         func() { a.Seal(nil, b[:11], b, nil) },
			"Open, nonce":         func() { _, _ = a.Open(nil, b[:13], b, nil) },
			"Seal, overlap":       func() { a.Seal(b[1:1], b[80:92], b[:20], nil) },
			"Open, overlap":       func() { _, _ = a.Open(b[1:1], b[80:92], b[:40], nil) },
			"Seal, overlap of AD": func() { a.Seal(b[:0], b[80:92], b[40:50], b[20:30]) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: no panic", what)
					}
				}()
				f()
			}()
		}
	})
}

func TestNoAllocations(t *testing.T) {
	each(t, func(t *testing.T, algorithm Algorithm) {
		a, _ := pair(t, algorithm, make([]byte, 32))
		nonce, text, ad := make([]byte, nonceSize), make([]byte, 1420), make([]byte, 13)
		out := make([]byte, 0, 1436)
		plain := make([]byte, 0, 1420)
		if n := testing.AllocsPerRun(20, func() {
			out = a.Seal(out[:0], nonce, text, ad)
			if _, err := a.Open(plain[:0], nonce, out, ad); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

func TestKeySize(t *testing.T) {
	for algorithm, sizes := range map[Algorithm][]int{ChaCha20Poly1305: {0, 16, 31, 33}, AESGCM: {0, 8, 15, 17, 33}} {
		for _, n := range sizes {
			if _, err := New(algorithm, make([]byte, n)); !errors.Is(err, ErrKeySize) {
				t.Errorf("%s with a key of %d bytes: %v", algorithm, n, err)
			}
		}
	}
	if _, err := New("gcm(rot13)", make([]byte, 32)); !errors.Is(err, ErrUnsupported) {
		t.Errorf("an unknown algorithm: %v", err)
	}
}

// BenchmarkSeal compares both alternatives: this package and the in-process cipher.
func BenchmarkSeal(b *testing.B) {
	for _, algorithm := range []Algorithm{ChaCha20Poly1305, AESGCM} {
		key := make([]byte, 32)
		for _, size := range []int{64, 1420, 16384} {
			for _, side := range []string{"kernel", "process"} {
				b.Run(fmt.Sprintf("%s/%d/%s", algorithm, size, side), func(b *testing.B) {
					kernel, process := pair(b, algorithm, key)
					var a cipher.AEAD = kernel
					if side == "process" {
						a = process
					}
					text, out, nonce := make([]byte, size), make([]byte, 0, size+tagSize), make([]byte, nonceSize)
					b.SetBytes(int64(size))
					b.ReportAllocs()
					for b.Loop() {
						out = a.Seal(out[:0], nonce, text, nil)
					}
					inKernel(b, kernel)
				})
			}
		}
	}
}
