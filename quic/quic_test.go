package quic

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/sealane/sealane/internal/aead"
	"github.com/sealane/sealane/internal/dispatch"
	"github.com/sealane/sealane/internal/kernel"
	"github.com/sealane/sealane/internal/randomseed"
)

var seed = randomseed.Of()

func newRand(t testing.TB) *rand.Rand {
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func random(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

type hexBytes []byte

func (h *hexBytes) UnmarshalJSON(j []byte) (err error) {
	var s string
	if err = json.Unmarshal(j, &s); err == nil {
		*h, err = hex.DecodeString(s)
	}
	return err
}

type sample struct {
	Secret, Key, IV, HP, KU hexBytes
	Number                  uint64
	Header, Payload, Packet hexBytes
	PayloadSize             int
}

type appendix struct {
	Source         string
	Version        Version
	DCID, Retry    hexBytes
	Client, Server sample
	ChaCha         sample
}

func appendices(t *testing.T) (all []appendix) {
	data, err := os.ReadFile("../test/vectors/quic/appendix_a.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &all); err != nil || len(all) != 2 {
		t.Fatal(err, len(all))
	}
	return all
}

// pnOffset returns the offset of the packet number, given an unprotected header.
func pnOffset(header []byte) int { return len(header) - int(header[0]&3) - 1 }

// protect returns the protected packet of a header and a payload.
func protect(t *testing.T, k *Keys, header, payload []byte, number uint64) []byte {
	t.Helper()
	b := append(append(bytes.Clone(header), payload...), make([]byte, TagSize)...)
	clear(b[pnOffset(header):len(header)]) // filled in
	p := []Packet{{Keys: k, Bytes: b, PNOffset: pnOffset(header), Number: number}}
	if Protect(p); p[0].Err != nil {
		t.Fatal(p[0].Err)
	}
	return b
}

// TestAppendixA checks the examples of RFC 9001 and RFC 9369 at every level of the masks. They are keys (A.1), client
// and server Initials (A.2, A.3), a Retry (A.4), and a short header with ChaCha20-Poly1305 and its key update (A.5).
func TestAppendixA(t *testing.T) {
	for _, a := range appendices(t) {
		t.Run(a.Source, func(t *testing.T) {
			client, server, err := InitialKeys(a.Version, a.DCID)
			if err != nil {
				t.Fatal(err)
			}
			chacha, err := NewKeys(a.Version, ChaCha20Poly1305, a.ChaCha.Secret)
			if err != nil {
				t.Fatal(err)
			}
			next, err := chacha.Update()
			if err != nil || !bytes.Equal(next.secret, a.ChaCha.KU) || !next.Phase() {
				t.Errorf("updated secret %x, %v; want %x", next.secret, err, a.ChaCha.KU)
			}
			for _, x := range []struct {
				name  string
				suite Suite
				keys  *Keys
				s     sample
			}{{"client", AES128GCM, client, a.Client}, {"server", AES128GCM, server, a.Server}, {"ChaCha20", ChaCha20Poly1305, chacha, a.ChaCha}} {
				if !bytes.Equal(x.keys.secret, x.s.Secret) {
					t.Errorf("%s: secret %x, want %x", x.name, x.keys.secret, x.s.Secret)
				}
				derived, err := NewKeysFrom(x.suite, x.s.Key, x.s.IV, x.s.HP)
				if err != nil {
					t.Fatal(err)
				}
				forEachMask(t, derived, x.s.HP, func(t *testing.T, derived *Keys) {
					payload := append(bytes.Clone(x.s.Payload), make([]byte, x.s.PayloadSize-len(x.s.Payload))...)
					for _, k := range []*Keys{x.keys, derived} {
						packet := protect(t, k, x.s.Header, payload, x.s.Number)
						if !bytes.Equal(packet, x.s.Packet) {
							t.Errorf("%s: protected %x, want %x", x.name, packet, x.s.Packet)
						}
						h, err := ParseHeader(packet, 0)
						if err != nil || h.PNOffset != pnOffset(x.s.Header) || h.Size != len(packet) {
							t.Errorf("%s: header %+v, %v", x.name, h, err)
						}
						p := []Packet{{Keys: k, Bytes: packet, PNOffset: h.PNOffset, Number: x.s.Number}}
						if Unprotect(p) != 1 || !bytes.Equal(p[0].Payload, payload) || p[0].Number != x.s.Number || !bytes.HasPrefix(packet, x.s.Header) {
							t.Errorf("%s: unprotected %x, number %d, %v", x.name, packet, p[0].Number, p[0].Err)
						}
					}
				})
			}
			n := len(a.Retry) - TagSize
			if tag, err := RetryTag(a.Version, a.DCID, a.Retry[:n]); err != nil || !bytes.Equal(tag[:], a.Retry[n:]) {
				t.Errorf("Retry: tag %x, %v", tag, err)
			}
			if h, err := ParseHeader(a.Retry, 0); err != nil || h.Type != Retry || h.PNOffset != 0 {
				t.Errorf("Retry: header %+v, %v", h, err)
			}
			for i := range a.Retry {
				a.Retry[i] ^= 1
				if CheckRetry(a.Version, a.DCID, a.Retry) {
					t.Errorf("Retry with byte %d changed is accepted", i)
				}
				a.Retry[i] ^= 1
			}
			if !CheckRetry(a.Version, a.DCID, a.Retry) || CheckRetry(a.Version, a.DCID, a.Retry[:10]) {
				t.Error("Retry is not checked")
			}
		})
	}
}

// TestMask checks the samples and masks printed in RFC 9001 (A.2, A.3, A.5) and those of both RFCs' packets. A key
// update keeps the mask.
func TestMask(t *testing.T) {
	printed := map[string]string{
		"d1b1c98dd7689fb8ec11d242b123dc9b": "437b9aec36",
		"2cd0991cd25b0aac406a5816b6394100": "2ec0d8356a",
		"5e5cd55c41f69080575d7999c25a5bfb": "aefefe7d03",
	}
	for _, a := range appendices(t) {
		for _, x := range []struct {
			suite Suite
			s     sample
		}{{AES128GCM, a.Client}, {AES128GCM, a.Server}, {ChaCha20Poly1305, a.ChaCha}} {
			keys, err := NewKeys(a.Version, x.suite, x.s.Secret)
			if err != nil {
				t.Fatal(err)
			}
			next, err := keys.Update()
			if err != nil {
				t.Fatal(err)
			}
			at := pnOffset(x.s.Header)
			size := len(x.s.Header) - at
			sample := x.s.Packet[at+4:][:16]
			want := []byte{x.s.Header[0] ^ x.s.Packet[0]}
			for i := range size {
				want = append(want, x.s.Header[at+i]^x.s.Packet[at+i])
			}
			check := func(t *testing.T, k *Keys) {
				before := bytes.Clone(sample)
				mask, err := k.Mask(sample)
				if err != nil || mask[0]&protectedBits(x.s.Header[0]) != want[0] || !bytes.Equal(mask[1:1+size], want[1:]) || !bytes.Equal(sample, before) {
					t.Errorf("sample %x: mask %x, %v; want %x", sample, mask, err, want)
				}
				if p := printed[hex.EncodeToString(sample)]; p != "" && p != hex.EncodeToString(mask[:]) {
					t.Errorf("sample %x: mask %x, want %s", sample, mask, p)
				}
			}
			forEachMask(t, keys, x.s.HP, check)
			check(t, next)
			if a.Version == Version1 && printed[hex.EncodeToString(sample)] == "" {
				t.Errorf("RFC 9001 has no sample %x", sample)
			}
		}
	}
}

// TestMaskByDefinition compares masks of random samples with crypto/aes and portable ChaCha20 at every level, and with
// the effect of Protect on a header.
func TestMaskByDefinition(t *testing.T) {
	r := newRand(t)
	for i := range 9 {
		suite := []Suite{AES128GCM, AES256GCM, ChaCha20Poly1305}[i%3]
		_, size := suite.hash()
		hp := random(r, size)
		k, err := NewKeysFrom(suite, random(r, size), random(r, 12), hp)
		if err != nil {
			t.Fatal(err)
		}
		definition := func(sample []byte) []byte {
			if suite == ChaCha20Poly1305 {
				mask := referenceMask(k, sample)
				return mask[:5]
			}
			block, err := aes.NewCipher(hp)
			if err != nil {
				t.Fatal(err)
			}
			want := make([]byte, 16)
			block.Encrypt(want, sample)
			return want[:5]
		}
		forEachMask(t, k, hp, func(t *testing.T, k *Keys) {
			for range 10 {
				sample := random(r, 16)
				if mask, err := k.Mask(sample); err != nil || !bytes.Equal(mask[:], definition(sample)) {
					t.Errorf("%#x: mask %x, %v; want %x", uint16(suite), mask, err, definition(sample))
				}
			}
		})
		for range 10 {
			p := []Packet{somePacket(r, k)}
			first, at := p[0].Bytes[0], p[0].PNOffset
			Protect(p)
			mask, err := k.Mask(p[0].Bytes[at+4:][:16])
			if err != nil || p[0].Err != nil {
				t.Fatal(err, p[0].Err)
			}
			number := uint64(0)
			for j := range int(first&3) + 1 {
				number = number<<8 | uint64(p[0].Bytes[at+j]^mask[1+j])
			}
			if p[0].Bytes[0]^mask[0]&protectedBits(first) != first || number != p[0].Number {
				t.Errorf("mask %x makes %#x and %d of %#x and %d", mask, p[0].Bytes[0], number, first, p[0].Number)
			}
		}
	}
}

func TestMaskErrors(t *testing.T) {
	k := someKeys(t, newRand(t))
	for n := range 33 {
		mask, err := k.Mask(make([]byte, n))
		if n != 16 && (err != ErrSample || mask != [MaskSize]byte{}) || n == 16 && err != nil {
			t.Errorf("sample of %d bytes: %x, %v", n, mask, err)
		}
	}
	for _, k := range []*Keys{nil, {}} {
		if mask, err := k.Mask(make([]byte, 16)); err != errNoKeys || mask != [MaskSize]byte{} {
			t.Errorf("no keys: %x, %v", mask, err)
		}
	}
}

// TestPayload protects payloads separately from headers, in place and elsewhere, with any AEAD, and compares with
// Protect and Unprotect.
func TestPayload(t *testing.T) {
	r := newRand(t)
	for i := range 60 {
		k := someKeys(t, r)
		if i%4 == 0 {
			k.aead = struct{ cipher.AEAD }{k.aead} // an AEAD of another module
		}
		p := somePacket(r, k)
		header := p.PNOffset + int(p.Bytes[0]&3) + 1
		payload := bytes.Clone(p.Bytes[header : len(p.Bytes)-TagSize])
		packets := []Packet{p}
		Protect(packets)
		want := bytes.Clone(p.Bytes[header:])
		mask, err := k.Mask(p.Bytes[p.PNOffset+4:][:16])
		if err != nil {
			t.Fatal(err)
		}
		plain := bytes.Clone(p.Bytes[:header])
		plain[0] ^= mask[0] & protectedBits(plain[0])
		for j := range plain[p.PNOffset:] {
			plain[p.PNOffset+j] ^= mask[1+j]
		}
		before := bytes.Clone(plain)
		sealed, err := k.Seal([]byte("before"), p.Number, payload, plain)
		if err != nil || !bytes.Equal(sealed[6:], want) || string(sealed[:6]) != "before" {
			t.Fatalf("%d: sealed %x, %v; want %x", i, sealed, err, want)
		}
		buffer := append(bytes.Clone(payload), make([]byte, TagSize)...)
		if sealed, err = k.Seal(buffer[:0], p.Number, buffer[:len(payload)], plain); err != nil || !bytes.Equal(buffer, want) || &sealed[0] != &buffer[0] {
			t.Fatalf("%d: sealed in place %x, %v; want %x", i, sealed, err, want)
		}
		opened, err := k.Open([]byte("before"), p.Number, sealed, plain)
		if err != nil || !bytes.Equal(opened[6:], payload) {
			t.Fatalf("%d: opened %x, %v; want %x", i, opened, err, payload)
		}
		for _, forge := range []func(number *uint64, sealed, header []byte){
			func(number *uint64, sealed, header []byte) { *number ^= 1 << r.IntN(62) },
			func(number *uint64, sealed, header []byte) { sealed[r.IntN(len(sealed))] ^= 1 << r.IntN(8) },
			func(number *uint64, sealed, header []byte) { header[r.IntN(len(header))] ^= 1 << r.IntN(8) },
		} {
			number, sealed, forged := p.Number, bytes.Clone(sealed), bytes.Clone(plain)
			forge(&number, sealed, forged)
			opened, err := k.Open(sealed[:0], number, sealed, forged)
			if err != ErrAuthentication || opened != nil || !bytes.Equal(sealed[:len(payload)], make([]byte, len(payload))) {
				t.Fatalf("%d: forged: opened %x of %x, %v", i, opened, sealed, err)
			}
		}
		if !bytes.Equal(plain, before) {
			t.Errorf("%d: the header is changed", i)
		}
	}
	for _, c := range []struct {
		k      *Keys
		number uint64
		want   error
	}{{nil, 1, errNoKeys}, {&Keys{}, 1, errNoKeys}, {someKeys(t, r), 1 << 62, ErrNumber}} {
		b := make([]byte, 40)
		if sealed, err := c.k.Seal(b[:0], c.number, b[:10], nil); err != c.want || sealed != nil {
			t.Errorf("sealed %x, %v; want %v", sealed, err, c.want)
		}
		if opened, err := c.k.Open(b[:0], c.number, b, nil); err != c.want || opened != nil || !bytes.Equal(b, make([]byte, 40)) {
			t.Errorf("opened %x, %v; want %v", opened, err, c.want)
		}
	}
}

// forEachMask runs f for keys with every level of masks.
func forEachMask(t *testing.T, k *Keys, hp []byte, f func(t *testing.T, k *Keys)) {
	table := &kernel.AESLevels
	if k.kind.chacha {
		table = &kernel.ChaCha20MasksLevels
	}
	forEachLevel(t, table, func(t *testing.T, level kernel.Level) {
		at := *k
		at.setMask(level, hp)
		f(t, &at)
	})
}

func forEachLevel(t *testing.T, table *dispatch.Table, f func(t *testing.T, level kernel.Level)) {
	for _, row := range table.Rows {
		t.Run(row.Name, func(t *testing.T) {
			if lacks := row.Lacks(); lacks != nil {
				t.Skipf("NOT RUN: level %s needs %s, which this CPU lacks", row.Name, strings.Join(lacks, " "))
			}
			f(t, kernel.Level(row.Level))
		})
	}
}

func someKeys(t testing.TB, r *rand.Rand) *Keys {
	suite := []Suite{AES128GCM, AES256GCM, ChaCha20Poly1305}[r.IntN(3)]
	h, _ := suite.hash()
	k, err := NewKeys([]Version{Version1, Version2}[r.IntN(2)], suite, random(r, h().Size()))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// somePacket returns an unprotected packet with a long or a short header.
func somePacket(r *rand.Rand, k *Keys) Packet {
	header := []byte{0xc0 | byte(r.IntN(4)), 0, 0, 0, 1, 4, 1, 2, 3, 4, 0, 0, 0x44, 0x00}
	if r.IntN(2) == 0 {
		header = append([]byte{0x40 | byte(r.IntN(4)) | byte(r.IntN(2))<<5}, random(r, r.IntN(21))...)
		if k.phase {
			header[0] |= 4
		}
	}
	size := int(header[0]&3) + 1
	payload := max(4-size, r.IntN(1500))
	p := Packet{Keys: k, PNOffset: len(header), Number: r.Uint64N(1 << (8*size - 1))}
	p.Bytes = append(append(header, random(r, size+payload)...), make([]byte, TagSize)...)
	return p
}

// TestBatches protects a mix of keys, headers and lengths, compares with individual packets, forges some, and
// unprotects.
func TestBatches(t *testing.T) {
	r := newRand(t)
	for _, n := range []int{0, 1, 2, 3, 16, 17, 63, 64, 65, 130, 200} {
		keys := make([]*Keys, 1+r.IntN(9))
		for i := range keys {
			keys[i] = someKeys(t, r)
		}
		packets, want, plain := make([]Packet, n), make([][]byte, n), make([][]byte, n)
		for i := range packets {
			packets[i] = somePacket(r, keys[r.IntN(len(keys))])
			p := packets[i]
			if r.IntN(12) == 0 { // a caller's mistake
				packets[i].Bytes = p.Bytes[:p.PNOffset+r.IntN(20)]
				want[i] = bytes.Clone(packets[i].Bytes)
				continue
			}
			want[i] = reference(p)
			plain[i] = bytes.Clone(p.Bytes[p.PNOffset+int(p.Bytes[0]&3)+1 : len(p.Bytes)-TagSize])
		}
		Protect(packets)
		good := 0
		for i := range packets {
			if !bytes.Equal(packets[i].Bytes, want[i]) || (packets[i].Err == nil) != (plain[i] != nil) || plain[i] == nil && packets[i].Err != ErrShort {
				t.Fatalf("packet %d of %d differs, %v", i, n, packets[i].Err)
			}
			if plain[i] == nil {
				continue
			}
			if r.IntN(6) == 0 {
				b := packets[i].Bytes
				b[r.IntN(len(b))] ^= 1 << r.IntN(8)
				packets[i].Err = errors.New("forged")
				continue
			}
			good++
		}
		forged := make([]bool, n)
		numbers := make([]uint64, n)
		for i := range packets {
			forged[i] = packets[i].Err != nil && plain[i] != nil
			numbers[i] = packets[i].Number
		}
		if got := Unprotect(packets); got != good {
			t.Fatalf("%d of %d are opened, not %d", got, n, good)
		}
		for i, p := range packets {
			switch {
			case plain[i] == nil:
				if p.Err != ErrShort || !bytes.Equal(p.Bytes, want[i]) {
					t.Fatalf("short packet: %v", p.Err)
				}
			case forged[i]:
				if p.Err != ErrAuthentication || p.Payload != nil || p.Number != numbers[i] {
					t.Fatalf("forged packet: %v", p.Err)
				}
			case p.Err != nil || !bytes.Equal(p.Payload, plain[i]) || p.Number != numbers[i]:
				t.Fatalf("packet %d: %v, number %d, not %d", i, p.Err, p.Number, numbers[i])
			}
		}
	}
}

// TestOne: a single packet gives the same result as in a batch: protected, and unprotected, forged or not, in either
// phase.
func TestOne(t *testing.T) {
	r := newRand(t)
	for i := range 300 {
		k := someKeys(t, r)
		next, err := k.Update()
		if err != nil {
			t.Fatal(err)
		}
		of := []*Keys{k, next}[r.IntN(2)]
		p := somePacket(r, of)
		if r.IntN(20) == 0 {
			p.Bytes = p.Bytes[:p.PNOffset+r.IntN(20)]
		}
		if r.IntN(40) == 0 {
			p.Number = 1<<62 + r.Uint64N(9)
		}
		p.Bytes[0] |= byte(r.IntN(20)) / 19 << 3 // sometimes sets a reserved bit
		same := func(what string, f func(packets []Packet)) {
			one, two := p, []Packet{somePacket(r, k), p}
			two[1].Bytes = bytes.Clone(p.Bytes)
			ones := []Packet{one}
			f(ones)
			f(two)
			if ones[0].Err != two[1].Err || ones[0].Number != two[1].Number || !bytes.Equal(ones[0].Payload, two[1].Payload) || !bytes.Equal(ones[0].Bytes, two[1].Bytes) {
				t.Fatalf("%d: %s: by itself %v, number %d, in a batch %v, number %d", i, what, ones[0].Err, ones[0].Number, two[1].Err, two[1].Number)
			}
			p = ones[0]
		}
		same("protect", Protect)
		p.Keys, p.Other = k, next
		if r.IntN(3) == 0 {
			p.Bytes[r.IntN(len(p.Bytes))] ^= 1 << r.IntN(8)
		}
		apart, before := p, bytes.Clone(p.Bytes)
		apart.Bytes, apart.Dst = bytes.Clone(before), random(r, len(before))
		aside := []Packet{apart, somePacket(r, k)}[:1+r.IntN(2)]
		Unprotect(aside)
		same("unprotect", func(packets []Packet) { Unprotect(packets) })
		apart = aside[0]
		if apart.Err != p.Err || apart.Number != p.Number || !bytes.Equal(apart.Payload, p.Payload) || !bytes.Equal(apart.Bytes, before) {
			t.Fatalf("%d: in place %v, number %d, to Dst %v, number %d", i, p.Err, p.Number, apart.Err, apart.Number)
		}
		if end := len(before) - TagSize; (p.Err == nil || p.Err == ErrAuthentication) && !bytes.Equal(apart.Dst[:end], p.Bytes[:end]) {
			t.Fatalf("%d: in place %x, to Dst %x", i, p.Bytes[:end], apart.Dst[:end])
		}
	}
	for _, p := range []Packet{{}, {Keys: &Keys{}}, {Keys: someKeys(t, r), Other: &Keys{}}} {
		p.Bytes, p.PNOffset = make([]byte, 100), 1
		for n := range 3 {
			packets := make([]Packet, n+1)
			for i := range packets {
				packets[i] = p
			}
			if Protect(packets); packets[n].Err != errNoKeys || !bytes.Equal(p.Bytes, make([]byte, 100)) {
				t.Errorf("protected without keys: %v", packets[n].Err)
			}
			if Unprotect(packets) != 0 || packets[n].Err != errNoKeys {
				t.Errorf("unprotected without keys: %v", packets[n].Err)
			}
		}
	}
}

// reference protects a packet step by step, following RFC 9001, sections 5.3 and 5.4.
func reference(p Packet) []byte {
	b := bytes.Clone(p.Bytes)
	size := int(b[0]&3) + 1
	header := p.PNOffset + size
	for i := range size {
		b[p.PNOffset+i] = byte(p.Number >> (8 * (size - 1 - i)))
	}
	nonce := p.Keys.iv
	for i := range 8 {
		nonce[4+i] ^= byte(p.Number >> (8 * (7 - i)))
	}
	sealed := p.Keys.aead.Seal(nil, nonce[:], b[header:len(b)-TagSize], b[:header])
	b = append(b[:header:header], sealed...)
	mask := referenceMask(p.Keys, b[p.PNOffset+4:][:16])
	if b[0]&0x80 != 0 {
		b[0] ^= mask[0] & 0x0f
	} else {
		b[0] ^= mask[0] & 0x1f
	}
	for i := range size {
		b[p.PNOffset+i] ^= mask[1+i]
	}
	return b
}

func referenceMask(k *Keys, sample []byte) (mask [16]byte) {
	var lanes [1]kernel.ModeLane
	s := [16]byte(sample)
	lanes[0].Out, lanes[0].In, lanes[0].Key = unsafe.Pointer(&mask), unsafe.Pointer(&s), unsafe.Pointer(&k.mask)
	if k.kind.chacha {
		lanes[0].Key = unsafe.Pointer(&k.hp)
	}
	a := kernel.ModeLanes(lanes[:], kernel.AESMasks)
	if k.kind.chacha {
		kernel.ChaCha20MasksPortable(a.Mode())
		return mask
	}
	if k.kind.level != kernel.Portable {
		kernel.AES(k.kind.level, a.Mode()) // the key belongs to this level; TestAppendixA compares levels
	} else {
		kernel.AESPortable(a.Mode())
	}
	return mask
}

// TestKeyPhase unprotects packets of two key phases.
func TestKeyPhase(t *testing.T) {
	r := newRand(t)
	for range 50 {
		k := someKeys(t, r)
		next, err := k.Update()
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range []*Keys{k, next} {
			p := somePacket(r, of)
			for p.Bytes[0]&0x80 != 0 {
				p = somePacket(r, of)
			}
			packets := []Packet{p}
			Protect(packets)
			b := bytes.Clone(packets[0].Bytes)
			packets[0] = Packet{Keys: k, Other: next, Bytes: b, PNOffset: p.PNOffset, Number: p.Number}
			if Unprotect(packets) != 1 {
				t.Fatalf("%v, phase %v", packets[0].Err, of.Phase())
			}
		}
	}
	if _, err := (&Keys{}).Update(); err == nil {
		t.Error("keys without a secret are updated")
	}
}

// TestReserved: an authentic packet with nonzero reserved bits has another error than a forgery.
func TestReserved(t *testing.T) {
	r := newRand(t)
	for _, first := range []byte{0x48, 0x50, 0xc4, 0xc8} {
		packets := []Packet{{Keys: someKeys(t, r), Bytes: append([]byte{first}, make([]byte, 60)...), PNOffset: 1}}
		Protect(packets)
		if Unprotect(packets) != 0 || packets[0].Err != ErrReserved {
			t.Errorf("%#x: %v", first, packets[0].Err)
		}
	}
}

// TestNumbers checks the example of RFC 9000, appendix A.3, and all corner cases against the definition: the number
// closest to the expected one.
func TestNumbers(t *testing.T) {
	if n := decode(0xa82f30ea+1, 0x9b32, 2); n != 0xa82f9b32 {
		t.Errorf("%#x", n)
	}
	for _, expected := range []uint64{0, 1, 127, 128, 129, 255, 256, 1000, 65535, 65536, 1 << 31, 1<<32 - 1, 1 << 32, maxNumber - 300, maxNumber - 1, maxNumber} {
		for truncated := range uint64(256) {
			want, best := uint64(0), ^uint64(0)
			for _, base := range []uint64{expected&^255 - 256, expected &^ 255, expected&^255 + 256} {
				n := base | truncated
				if base > maxNumber { // also wrapped below 0
					continue
				}
				if d := max(n, expected) - min(n, expected); d < best || d == best && n > want {
					want, best = n, d
				}
			}
			if n := decode(expected, uint64(byte(truncated)), 1); n != want {
				t.Errorf("expected %d, %d: %d, want %d", expected, truncated, n, want)
			}
		}
	}
}

func TestParameters(t *testing.T) {
	if _, err := NewKeys(2, AES128GCM, make([]byte, 32)); err != ErrVersion {
		t.Error(err)
	}
	if _, err := NewKeys(Version1, 0x1304, make([]byte, 32)); err != ErrSuite {
		t.Error(err)
	}
	if _, err := NewKeys(Version1, AES256GCM, make([]byte, 32)); err == nil {
		t.Error("a secret that is too short is taken")
	}
	if _, err := NewKeysFrom(AES128GCM, make([]byte, 16), make([]byte, 12), make([]byte, 32)); err == nil {
		t.Error("a header protection key that is too long is taken")
	}
	k := someKeys(t, newRand(t))
	p := []Packet{{Keys: k, Bytes: make([]byte, 100), PNOffset: 1, Number: 1 << 62}, {Keys: k, PNOffset: -1}, {Keys: k, PNOffset: 5}}
	Protect(p)
	if p[0].Err != ErrNumber || p[1].Err != ErrShort || p[2].Err != ErrShort {
		t.Errorf("%v, %v, %v", p[0].Err, p[1].Err, p[2].Err)
	}
}

// TestCoalesced parses a datagram of three packets.
func TestCoalesced(t *testing.T) {
	r := newRand(t)
	client, _, err := InitialKeys(Version2, []byte{1, 2, 3, 4})
	if err != nil {
		t.Fatal(err)
	}
	handshake, short := someKeys(t, r), someKeys(t, r)
	long := func(first byte, token []byte, payload int) []byte {
		h := []byte{first, 0x6b, 0x33, 0x43, 0xcf, 4, 1, 2, 3, 4, 2, 9, 9}
		if token != nil {
			h = append(append(h, byte(len(token))), token...)
		}
		n := 2 + payload + TagSize
		return append(h, 0x40|byte(n>>8), byte(n), 0, 0)
	}
	initial := protect(t, client, long(0xd1, []byte("token"), 300), make([]byte, 300), 7)
	hs := protect(t, handshake, long(0xf1, nil, 500), make([]byte, 500), 1)
	one := protect(t, short, []byte{0x40, 1, 2, 3, 4, 0}, make([]byte, 100), 3)
	datagram := append(append(bytes.Clone(initial), hs...), one...)
	var got []Packet
	for rest, i := datagram, 0; len(rest) > 0; i++ {
		h, err := ParseHeader(rest, 4)
		if err != nil || h.Type != []PacketType{Initial, Handshake, OneRTT}[i] || !bytes.Equal(h.DCID, []byte{1, 2, 3, 4}) {
			t.Fatalf("packet %d: %+v, %v", i, h, err)
		}
		got = append(got, Packet{Keys: []*Keys{client, handshake, short}[i], Bytes: rest[:h.Size:h.Size], PNOffset: h.PNOffset, Number: 1})
		rest = rest[h.Size:]
	}
	if Unprotect(got) != 3 || len(got[0].Payload) != 300 || len(got[1].Payload) != 500 || len(got[2].Payload) != 100 || got[0].Number != 7 {
		t.Errorf("%+v", got)
	}
}

// FuzzParseHeader: for any input, the fields of a header lie within the datagram.
func FuzzParseHeader(f *testing.F) {
	f.Add([]byte{0xc0, 0, 0, 0, 1, 0, 0, 0, 0x40, 0x20}, 0)
	f.Add([]byte{0xd0, 0x6b, 0x33, 0x43, 0xcf, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 8)
	f.Add([]byte{0x40}, 1<<31-1)
	f.Fuzz(func(t *testing.T, b []byte, dcid int) {
		h, err := ParseHeader(b, dcid)
		if err != nil {
			if fmt.Sprint(h) != fmt.Sprint(Header{}) {
				t.Errorf("%+v beside %v", h, err)
			}
			return
		}
		if h.Size < 1 || h.Size > len(b) || h.PNOffset > h.Size || len(h.DCID)+len(h.SCID)+len(h.Token) >= len(b) {
			t.Errorf("%+v of %d bytes", h, len(b))
		}
		if h.PNOffset == 0 {
			return
		}
		k, _, _ := InitialKeys(Version1, h.DCID)
		p := []Packet{{Keys: k, Bytes: bytes.Clone(b[:h.Size]), PNOffset: h.PNOffset}}
		Unprotect(p)
	})
}

func TestNoAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("NOT RUN: the pool drops what it holds under the race detector")
	}
	r := newRand(t)
	packets := make([]Packet, 100)
	for i := range packets {
		packets[i] = somePacket(r, someKeys(t, r))
	}
	if n := testing.AllocsPerRun(50, func() { Protect(packets); Unprotect(packets) }); n > 0.5 {
		t.Errorf("%v allocations", n)
	}
	for _, suite := range []Suite{AES128GCM, AES256GCM, ChaCha20Poly1305} {
		_, size := suite.hash()
		hp, sample := random(r, size), make([]byte, 16)
		k, err := NewKeysFrom(suite, random(r, size), make([]byte, 12), hp)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 100+TagSize)
		if n := testing.AllocsPerRun(50, func() {
			sealed, _ := k.Seal(b[:0], 1, b[:100], hp)
			if _, err := k.Open(b[:0], 1, sealed, hp); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%#x: %v allocations for a payload", uint16(suite), n)
		}
		forEachMask(t, k, hp, func(t *testing.T, k *Keys) {
			if n := testing.AllocsPerRun(50, func() {
				mask, _ := k.Mask(sample)
				sample[0] ^= mask[0]
			}); n != 0 {
				t.Errorf("%#x: %v allocations for a mask", uint16(suite), n)
			}
		})
	}
}

func BenchmarkMask(b *testing.B) {
	for _, suite := range []Suite{AES128GCM, AES256GCM, ChaCha20Poly1305} {
		_, size := suite.hash()
		k, err := NewKeysFrom(suite, make([]byte, size), make([]byte, 12), make([]byte, size))
		if err != nil {
			b.Fatal(err)
		}
		sample := make([]byte, 16)
		b.Run(fmt.Sprintf("%#x", uint16(suite)), func(b *testing.B) {
			for range b.N {
				mask, err := k.Mask(sample)
				if err != nil {
					b.Fatal(err)
				}
				sample[0] ^= mask[0]
			}
		})
	}
}

func BenchmarkProtect(b *testing.B) {
	for _, suite := range []Suite{AES128GCM, AES256GCM, ChaCha20Poly1305} {
		h, _ := suite.hash()
		k, err := NewKeys(Version1, suite, make([]byte, h().Size()))
		if err != nil {
			b.Fatal(err)
		}
		packets := make([]Packet, 64)
		for i := range packets {
			packets[i] = Packet{Keys: k, Bytes: make([]byte, 1200), PNOffset: 9}
		}
		b.Run(fmt.Sprintf("%#x", uint16(suite)), func(b *testing.B) {
			b.SetBytes(64 * 1200)
			for range b.N {
				Protect(packets)
			}
		})
	}
}

// TestWipe: after Wipe nothing of the key is left, and its methods and packets return an error. Derived keys remain
// valid.
func TestWipe(t *testing.T) {
	for _, suite := range []Suite{AES128GCM, AES256GCM, ChaCha20Poly1305} {
		secret := make([]byte, 32)
		if suite == AES256GCM {
			secret = make([]byte, 48)
		}
		k, err := NewKeys(Version1, suite, secret)
		if err != nil {
			t.Fatal(err)
		}
		next, err := k.Update()
		if err != nil {
			t.Fatal(err)
		}
		held := k.secret
		copy(held, "a secret")
		var inner []byte
		switch a := k.aead.(type) {
		case *aead.AESGCM:
			inner = unsafe.Slice((*byte)(unsafe.Pointer(a)), unsafe.Sizeof(*a))
		case *aead.ChaCha20Poly1305:
			inner = unsafe.Slice((*byte)(unsafe.Pointer(a)), unsafe.Sizeof(*a))
		default:
			t.Skipf("not run: the cipher is a %T, which has its keys elsewhere", a)
		}
		empty := func(b []byte) bool { return bytes.Count(b, []byte{0}) == len(b) }
		outer := unsafe.Slice((*byte)(unsafe.Pointer(k)), unsafe.Sizeof(*k))
		if empty(held) || empty(inner) || empty(outer) {
			t.Fatal("there is no key to be wiped")
		}
		k.Wipe()
		if !empty(held) || !empty(inner) || !empty(outer) {
			t.Errorf("%#x: something is left", uint16(suite))
		}
		k.Wipe()
		(*Keys)(nil).Wipe()
		p := []Packet{{Keys: k, Bytes: make([]byte, 64), PNOffset: 1}, {Keys: next, Bytes: make([]byte, 64), PNOffset: 1}}
		if Protect(p); p[0].Err == nil || p[1].Err != nil {
			t.Errorf("%#x: packets have %v and %v", uint16(suite), p[0].Err, p[1].Err)
		}
		if _, err := k.Mask(make([]byte, 16)); err == nil {
			t.Errorf("%#x: wiped keys make a mask", uint16(suite))
		}
		if _, err := k.Update(); err == nil {
			t.Errorf("%#x: wiped keys are updated", uint16(suite))
		}
	}
}
