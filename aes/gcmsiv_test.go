package aes

import (
	"bytes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/sealane/sealane/internal/kernel"
)

// refPOLYVAL implements RFC 8452, section 3, bit by bit, with little-endian polynomials and the product times x^-128.
func refPOLYVAL(h [16]byte, data []byte) (sum [16]byte) {
	var low, high uint64
	for ; len(data) > 0; data = data[16:] {
		v0, v1 := low^binary.LittleEndian.Uint64(data), high^binary.LittleEndian.Uint64(data[8:])
		low, high = 0, 0
		for bit := 127; bit >= 0; bit-- {
			// Divide v by x. The inverse of x is x^127 + x^126 + x^125 + x^120.
			odd := v0 & 1
			v0, v1 = v0>>1|v1<<63, v1>>1^odd*(0xe1<<56)
			if h[bit/8]>>(bit%8)&1 == 1 {
				low, high = low^v0, high^v1
			}
		}
	}
	binary.LittleEndian.PutUint64(sum[:8], low)
	binary.LittleEndian.PutUint64(sum[8:], high)
	return sum
}

// refGCMSIV implements RFC 8452, section 4.
func refGCMSIV(t *testing.T, key, nonce, text, ad []byte) []byte {
	generating := theirs(t, key)
	var keys []byte
	for i := range 2 + len(key)/8 {
		block := append(binary.LittleEndian.AppendUint32(nil, uint32(i)), nonce...)
		generating.Encrypt(block, block)
		keys = append(keys, block[:8]...)
	}
	pad := func(b []byte) []byte { return append(bytes.Clone(b), make([]byte, -len(b)&15)...) }
	data := append(pad(ad), pad(text)...)
	data = binary.LittleEndian.AppendUint64(data, 8*uint64(len(ad)))
	data = binary.LittleEndian.AppendUint64(data, 8*uint64(len(text)))
	tag := refPOLYVAL([16]byte(keys), data)
	for i, x := range nonce {
		tag[i] ^= x
	}
	tag[15] &= 0x7f
	message := theirs(t, keys[16:])
	message.Encrypt(tag[:], tag[:])
	counter, out := tag, bytes.Clone(text)
	counter[15] |= 0x80
	for at := 0; at < len(out); at += 16 {
		var stream [16]byte
		message.Encrypt(stream[:], counter[:])
		for i := 0; i < 16 && at+i < len(out); i++ {
			out[at+i] ^= stream[i]
		}
		binary.LittleEndian.PutUint32(counter[:], binary.LittleEndian.Uint32(counter[:])+1)
	}
	return append(out, tag[:]...)
}

// forEachGCMLevel runs f for every level of AES-GCM, combined with the CPU's best level of AES and with the portable
// one.
func forEachGCMLevel(t *testing.T, f func(t *testing.T, make func(key []byte) (cipher.AEAD, error))) {
	best, _ := kernel.AESLevels.Choose()
	for _, row := range kernel.AESGCMLevels.Rows {
		t.Run(row.Name, func(t *testing.T) {
			if lacks := row.Lacks(); lacks != nil {
				t.Skipf("NOT RUN: level %s lacks %v", row.Name, lacks)
			}
			for _, level := range []kernel.Level{kernel.Level(best), kernel.Portable} {
				f(t, func(key []byte) (cipher.AEAD, error) { return newGCMSIVAt(level, kernel.Level(row.Level), key) })
			}
		})
	}
}

func TestGCMSIVAllLengths(t *testing.T) {
	type packet struct{ key, nonce, text, ad, want []byte }
	var packets []packet
	r := newRand(t)
	for n := range some(300) {
		p := packet{random(r, 16+16*(n%2)), random(r, 12), random(r, n), random(r, r.IntN(40)), nil}
		if n%100 == 7 {
			p.ad, p.text = random(r, r.IntN(6000)), random(r, r.IntN(6000))
		}
		p.want = refGCMSIV(t, p.key, p.nonce, p.text, p.ad)
		packets = append(packets, p)
	}
	forEachGCMLevel(t, func(t *testing.T, make func(key []byte) (cipher.AEAD, error)) {
		for _, p := range packets {
			text, want, nonce, ad := p.text, p.want, p.nonce, p.ad
			a, err := make(p.key)
			if err != nil {
				t.Fatal(err)
			}
			if got := a.Seal([]byte("prefix"), nonce, text, ad); !bytes.Equal(got[6:], want) || string(got[:6]) != "prefix" {
				t.Fatalf("%d bytes of text, %d of additional data: %x, want %x", len(text), len(ad), got, want)
			}
			place := append(bytes.Clone(text), random(r, 16)...)
			if got := a.Seal(place[:0], nonce, place[:len(text)], ad); !bytes.Equal(got, want) {
				t.Fatalf("%d bytes in place: %x, want %x", len(text), got, want)
			}
			if got, err := a.Open(place[:0], nonce, place, ad); err != nil || !bytes.Equal(got, text) {
				t.Fatalf("%d bytes: opened to %x, %v", len(text), got, err)
			}
			for _, part := range [][]byte{want, nonce, ad} {
				if len(part) == 0 {
					continue
				}
				bit := r.IntN(8 * len(part))
				part[bit/8] ^= 1 << (bit % 8)
				room := bytes.Repeat([]byte{0xa5}, len(text)+1)
				if _, err := a.Open(room[:0], nonce, want, ad); err != errSIVOpen {
					t.Fatalf("a forgery: %v", err)
				}
				if len(bytes.TrimLeft(room[:len(text)], "\x00")) != 0 || room[len(text)] != 0xa5 {
					t.Fatal("a forgery's text is not zeroed")
				}
				part[bit/8] ^= 1 << (bit % 8)
			}
		}
	})
}

// TestWycheproofGCMSIV also covers the vectors of RFC 8452, appendix C.
func TestWycheproofGCMSIV(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "test", "vectors", "wycheproof", "aes_gcm_siv_test.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		TestGroups []struct {
			Tests []struct {
				TcID                               int
				Key, IV, AAD, Msg, Ct, Tag, Result string
			}
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	forEachGCMLevel(t, func(t *testing.T, make func(key []byte) (cipher.AEAD, error)) {
		count := 0
		for _, g := range file.TestGroups {
			for _, v := range g.Tests {
				count++
				valid := v.Result == "valid"
				a, err := make(unhex(t, v.Key))
				if err != nil {
					t.Fatal(err)
				}
				nonce, ad, msg, sealed := unhex(t, v.IV), unhex(t, v.AAD), unhex(t, v.Msg), unhex(t, v.Ct+v.Tag)
				got, err := a.Open(nil, nonce, sealed, ad)
				if (err == nil) != valid || valid && !bytes.Equal(got, msg) {
					t.Errorf("%d is %s: %x, %v", v.TcID, v.Result, got, err)
				}
				if valid && !bytes.Equal(a.Seal(nil, nonce, msg, ad), sealed) {
					t.Errorf("%d is sealed otherwise", v.TcID)
				}
			}
		}
		if count != 202 {
			t.Errorf("%d vectors", count)
		}
	})
}

func TestGCMSIVMisuse(t *testing.T) {
	for n := range 40 {
		if _, err := NewGCMSIV(make([]byte, n)); (err == nil) != (n == 16 || n == 32) || err != nil && err != errSIVKeySize {
			t.Errorf("key of %d: %v", n, err)
		}
	}
	a, err := NewGCMSIV(make([]byte, 32))
	if err != nil || a.NonceSize() != 12 || a.Overhead() != 16 {
		t.Fatal(a, err)
	}
	memory, nonce := bytes.Repeat([]byte{7}, 200), make([]byte, 13)
	const (
		badNonce = "crypto/cipher: incorrect nonce length given to GCM-SIV"
		input    = "crypto/cipher: invalid buffer overlap of output and input"
		data     = "crypto/cipher: invalid buffer overlap of output and additional data"
	)
	mustPanic(t, badNonce, func() { a.Seal(nil, nonce, memory[:9], nil) })
	mustPanic(t, badNonce, func() { _, _ = a.Open(nil, nonce[:11], memory[:40], nil) })
	mustPanic(t, input, func() { a.Seal(memory[:0], nonce[:12], memory[1:40], nil) })
	mustPanic(t, input, func() { _, _ = a.Open(memory[1:1], nonce[:12], memory[:40], nil) })
	mustPanic(t, data, func() { a.Seal(memory[:0], nonce[:12], memory[100:140], memory[55:60]) })
	mustPanic(t, data, func() { _, _ = a.Open(memory[:0], nonce[:12], memory[100:140], memory[23:60]) })
	for _, n := range []int{0, 15, 16, 40} {
		if _, err := a.Open(nil, nonce[:12], memory[:n], nil); err != errSIVOpen {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if !bytes.Equal(memory, bytes.Repeat([]byte{7}, len(memory))) {
		t.Error("a call that is refused has written")
	}
	if raceEnabled {
		return
	}
	room := make([]byte, 3000, 3016)
	if n := testing.AllocsPerRun(20, func() {
		sealed := a.Seal(room[:0], nonce[:12], room, nonce)
		if _, err := a.Open(sealed[:0], nonce[:12], sealed, nonce); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
