package aes

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sealane/sealane/internal/kernel"
	"github.com/sealane/sealane/internal/randomseed"
)

var seed = randomseed.Of()

func newRand(t *testing.T) *rand.Rand {
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

// forEachLevel runs f for every level of AES, and skips levels that the CPU lacks.
func forEachLevel(t *testing.T, f func(t *testing.T, level kernel.Level)) {
	for _, row := range kernel.AESLevels.Rows {
		t.Run(row.Name, func(t *testing.T) {
			if lacks := row.Lacks(); lacks != nil {
				t.Skipf("NOT RUN: level %s needs %s, which this CPU lacks", row.Name, strings.Join(lacks, " "))
			}
			f(t, kernel.Level(row.Level))
		})
	}
}

func ours(t *testing.T, level kernel.Level, key []byte) *Cipher {
	t.Helper()
	c, err := newAt(level, key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func theirs(t *testing.T, key []byte) cipher.Block {
	t.Helper()
	b, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// NIST SP 800-38A, appendix F: one text, three keys.
const nistText = "6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51 30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710"

var nist = []struct{ key, ecb, cbc, ctr string }{
	{"2b7e151628aed2a6abf7158809cf4f3c",
		"3ad77bb40d7a3660a89ecaf32466ef97 f5d3d58503b9699de785895a96fdbaaf 43b1cd7f598ece23881b00e3ed030688 7b0c785e27e8ad3f8223207104725dd4",
		"7649abac8119b246cee98e9b12e9197d 5086cb9b507219ee95db113a917678b2 73bed6b8e3c1743b7116e69e22229516 3ff1caa1681fac09120eca307586e1a7",
		"874d6191b620e3261bef6864990db6ce 9806f66b7970fdff8617187bb9fffdff 5ae4df3edbd5d35e5b4f09020db03eab 1e031dda2fbe03d1792170a0f3009cee"},
	{"8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
		"bd334f1d6e45f25ff712a214571fa5cc 974104846d0ad3ad7734ecb3ecee4eef ef7afd2270e2e60adce0ba2face6444e 9a4b41ba738d6c72fb16691603c18e0e",
		"4f021db243bc633d7178183a9fa071e8 b4d9ada9ad7dedf4e5e738763f69145a 571b242012fb7ae07fa9baac3df102e0 08b0e27988598881d920a9e64f5615cd",
		"1abc932417521ca24f2b0459fe7e6e0b 090339ec0aa6faefd5ccc2c6f4ce8e94 1e36b26bd1ebc670d1bd1d665620abf7 4f78a7f6d29809585a97daec58c6b050"},
	{"603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
		"f3eed1bdb5d2a03c064b5a7e3db181f8 591ccb10d410ed26dc5ba74a31362870 b6ed21b99ca6f4f9f153e7b1beafed1d 23304b7a39f9f3ff067d8d8f9e24ecc7",
		"f58c4c04d6e5f1ba779eabfb5f7bfbd6 9cfc4e967edb808d679f777bc6702c7d 39f23369a9d9bacfa530e26304231461 b2eb05e2c39be9fcda6c19078c6a9d1b",
		"601ec313775789a5b7a7f504bbf3d228 f443e3ca4d62b59aca84e990cacaf5c5 2b0930daa23de94ce87017ba2d84988d dfc9c58db67aada613c2dd08457941a6"},
}

func TestNIST(t *testing.T) {
	text, iv, counter := unhex(t, nistText), unhex(t, "000102030405060708090a0b0c0d0e0f"), unhex(t, "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
	forEachLevel(t, func(t *testing.T, level kernel.Level) {
		for _, v := range nist {
			c := ours(t, level, unhex(t, v.key))
			for _, x := range []struct {
				name, want string
				f          func(dst, src []byte)
				back       func(dst, src []byte)
			}{
				{"ECB", v.ecb, c.EncryptBlocks, c.DecryptBlocks},
				{"CBC", v.cbc, cipher.NewCBCEncrypter(c, iv).CryptBlocks, cipher.NewCBCDecrypter(c, iv).CryptBlocks},
				{"CTR", v.ctr, cipher.NewCTR(c, counter).XORKeyStream, c.NewCTR(counter).XORKeyStream},
			} {
				out := make([]byte, len(text))
				x.f(out, text)
				if want := unhex(t, x.want); !bytes.Equal(out, want) {
					t.Errorf("%s, key of %d: %x, want %x", x.name, len(v.key)/2, out, want)
				}
				x.back(out, out)
				if !bytes.Equal(out, text) {
					t.Errorf("%s, key of %d: decrypts to %x", x.name, len(v.key)/2, out)
				}
			}
		}
	})
}

// TestRFC3686 checks its test vectors 1 to 9. The counter block is nonce, initialization vector, 1.
func TestRFC3686(t *testing.T) {
	text := make([]byte, 36)
	for i := range text {
		text[i] = byte(i)
	}
	single := []byte("Single block msg")
	vectors := []struct {
		key, block string
		text       []byte
		want       string
	}{
		{"ae6852f8121067cc4bf7a5765577f39e", "00000030 0000000000000000", single, "e4095d4fb7a7b3792d6175a3261311b8"},
		{"7e24067817fae0d743d6ce1f32539163", "006cb6db c0543b59da48d90b", text[:32], "5104a106168a72d9790d41ee8edad388eb2e1efc46da57c8fce630df9141be28"},
		{"7691be035e5020a8ac6e618529f9a0dc", "00e0017b 27777f3f4a1786f0", text[:36], "c1cf48a89f2ffdd9cf4652e9efdb72d74540a42bde6d7836d59a5ceaaef3105325b2072f"},
		{"16af5b145fc9f579c175f93e3bfb0eed863d06ccfdb78515", "00000048 36733c147d6d93cb", single, "4b55384fe259c9c84e7935a003cbe928"},
		{"7c5cb2401b3dc33c19e7340819e0f69c678c3db8e6f6a91a", "0096b03b 020c6eadc2cb500d", text[:32], "453243fc609b23327edfaafa7131cd9f8490701c5ad4a79cfc1fe0ff42f4fb00"},
		{"02bf391ee8ecb159b959617b0965279bf59b60a786d3e0fe", "0007bdfd 5cbd60278dcc0912", text[:36], "96893fc55e5c722f540b7dd1ddf7e758d288bc95c69165884536c811662f2188abee0935"},
		{"776beff2851db06f4c8a0542c8696f6c6a81af1eec96b4d37fc1d689e6c1c104", "00000060 db5672c97aa8f0b2", single, "145ad01dbf824ec7560863dc71e3e0c0"},
		{"f6d66d6bd52d59bb0796365879eff886c66dd51a5b6a99744b50590c87a23884", "00faac24 c1585ef15a43d875", text[:32], "f05e231b3894612c49ee000b804eb2a9b8306b508f839d6a5530831d9344af1c"},
		{"ff7a617ce69148e4f1726e2f43581de2aa62d9f805532edff1eed687fb54153d", "001cc5b7 51a51d70a1c11148", text[:36], "eb6c52821d0bbbf7ce7594462aca4faab407df866569fd07f48cc0b583d6071f1ec0e6b8"},
	}
	forEachLevel(t, func(t *testing.T, level kernel.Level) {
		for i, v := range vectors {
			out := make([]byte, len(v.text))
			ours(t, level, unhex(t, v.key)).NewCTR32(unhex(t, v.block+"00000001")).XORKeyStream(out, v.text)
			if got := hex.EncodeToString(out); got != v.want {
				t.Errorf("vector %d: %s, want %s", i+1, got, v.want)
			}
		}
	})
}

// TestXTSVectors checks vectors 1 to 3 and 15 to 18 of IEEE 1619, appendix B.
func TestXTSVectors(t *testing.T) {
	count := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%02x", i)
		}
		return b.String()
	}
	const steal = "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0"
	vectors := []struct {
		key    string
		sector uint64
		text   string
		want   string
	}{
		{strings.Repeat("11", 16) + strings.Repeat("22", 16), 0x3333333333, strings.Repeat("44", 32),
			"c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0"},
		{"fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0" + strings.Repeat("22", 16), 0x3333333333, strings.Repeat("44", 32),
			"af85336b597afc1a900b2eb21ec949d292df4c047e0b21532186a5971a227a89"},
		{steal, 0x123456789a, count(17), "6c1625db4671522d3d7599601de7ca09ed"},
		{steal, 0x123456789a, count(18), "d069444b7a7e0cab09e24447d24deb1fedbf"},
		{steal, 0x123456789a, count(19), "e5df1351c0544ba1350b3363cd8ef4beedbf9d"},
		{steal, 0x123456789a, count(20), "9d84c813f719aa2c7be3f66171c7c5c2edbf9dac"},
	}
	forEachLevel(t, func(t *testing.T, level kernel.Level) {
		for i, v := range vectors {
			x, err := newXTSAt(level, unhex(t, v.key))
			if err != nil {
				t.Fatal(err)
			}
			text := unhex(t, v.text)
			out := make([]byte, len(text))
			x.Encrypt(out, text, v.sector)
			if got := hex.EncodeToString(out); got != v.want {
				t.Errorf("vector %d: %s, want %s", i, got, v.want)
			}
			x.Decrypt(out, out, v.sector)
			if !bytes.Equal(out, text) {
				t.Errorf("vector %d decrypts to %x", i, out)
			}
		}
	})
}

type wycheproofTest struct {
	TcID                    int
	Key, IV, Tweak, Msg, Ct string
	Result                  string
}

func wycheproof(t *testing.T, name string, f func(v wycheproofTest)) {
	data, err := os.ReadFile(filepath.Join("..", "test", "vectors", "wycheproof", name))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		TestGroups []struct{ Tests []wycheproofTest }
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, g := range file.TestGroups {
		for _, v := range g.Tests {
			f(v)
			count++
		}
	}
	if count == 0 {
		t.Errorf("%s has no tests", name)
	}
}

// unpad removes PKCS #7 padding like a caller that has already verified a MAC.
func unpad(b []byte) ([]byte, bool) {
	if len(b) == 0 {
		return nil, false
	}
	n := int(b[len(b)-1])
	if n == 0 || n > BlockSize || !bytes.Equal(b[len(b)-n:], bytes.Repeat([]byte{byte(n)}, n)) {
		return nil, false
	}
	return b[:len(b)-n], true
}

func TestWycheproofCBC(t *testing.T) {
	forEachLevel(t, func(t *testing.T, level kernel.Level) {
		wycheproof(t, "aes_cbc_pkcs5_test.json", func(v wycheproofTest) {
			c, iv, ct := ours(t, level, unhex(t, v.Key)), unhex(t, v.IV), unhex(t, v.Ct)
			if len(ct)%BlockSize != 0 {
				mustPanic(t, "crypto/cipher: input not full blocks", func() { c.NewCBCDecrypter(iv).CryptBlocks(ct, ct) })
				return
			}
			out := make([]byte, len(ct))
			c.NewCBCDecrypter(iv).CryptBlocks(out, ct)
			text, ok := unpad(out)
			if want := v.Result == "valid"; ok != want || ok && !bytes.Equal(text, unhex(t, v.Msg)) {
				t.Errorf("%d: %x, padding %v, is %s", v.TcID, out, ok, v.Result)
			}
			if !ok {
				return
			}
			c.NewCBCEncrypter(iv).CryptBlocks(out, out)
			if !bytes.Equal(out, ct) {
				t.Errorf("%d: encrypts to %x", v.TcID, out)
			}
		})
	})
}

func TestWycheproofXTS(t *testing.T) {
	forEachLevel(t, func(t *testing.T, level kernel.Level) {
		wycheproof(t, "aes_xts_test.json", func(v wycheproofTest) {
			key, text, ct := unhex(t, v.Key), unhex(t, v.Msg), unhex(t, v.Ct)
			x, err := newXTSAt(level, key)
			if err != nil {
				if v.Result == "valid" && len(key) != 48 { // IEEE 1619 has no AES-192-XTS
					t.Errorf("%d: a key of %d is refused: %v", v.TcID, len(key), err)
				}
				return
			}
			tweak := unhex(t, v.Tweak)
			if len(tweak) == 0 {
				tweak = unhex(t, v.IV)
			}
			var block [BlockSize]byte
			copy(block[:], tweak)
			if len(tweak) > BlockSize || len(text) < BlockSize {
				if v.Result == "valid" {
					t.Errorf("%d: tweak of %d, text of %d", v.TcID, len(tweak), len(text))
				}
				return
			}
			out := make([]byte, len(text))
			x.EncryptTweak(out, text, block)
			if bytes.Equal(out, ct) != (v.Result == "valid") {
				t.Errorf("%d: %x, is %s", v.TcID, out, v.Result)
			}
			x.DecryptTweak(out, out, block)
			if !bytes.Equal(out, text) {
				t.Errorf("%d: decrypts to %x", v.TcID, out)
			}
		})
	})
}

// TestAgainstStandardLibrary encrypts random texts in random pieces, apart and in place, with counters that carry far.
func TestAgainstStandardLibrary(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	forEachLevel(t, func(t *testing.T, level kernel.Level) {
		r := newRand(t)
		for range rounds {
			key := random(r, 16+8*r.IntN(3))
			iv := random(r, 16)
			if r.IntN(2) == 0 {
				for i := r.IntN(16); i < 15; i++ {
					iv[i] = 0xff
				}
				binary.BigEndian.PutUint32(iv[12:], -uint32(1+r.IntN(300)))
			}
			c, std := ours(t, level, key), theirs(t, key)
			text := random(r, r.IntN(1<<(2+r.IntN(14))))
			want, got := make([]byte, len(text)), make([]byte, len(text))
			cipher.NewCTR(std, iv).XORKeyStream(want, text)
			stream := c.NewCTR(iv)
			inPlace := r.IntN(2) == 0
			if inPlace {
				copy(got, text)
			}
			for at := 0; at < len(text); {
				n := min(len(text)-at, r.IntN(1<<(1+r.IntN(13))))
				in := text[at : at+n]
				if inPlace {
					in = got[at : at+n]
				}
				stream.XORKeyStream(got[at:at+n], in)
				at += n
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("CTR of %d bytes differs; key %x, iv %x", len(text), key, iv)
			}
			whole := text[:len(text)&^15]
			for _, m := range []struct {
				name string
				want func(iv []byte) cipher.BlockMode
				got  func(iv []byte) cipher.BlockMode
			}{
				{"CBC encryption", func(iv []byte) cipher.BlockMode { return cipher.NewCBCEncrypter(std, iv) }, c.NewCBCEncrypter},
				{"CBC decryption", func(iv []byte) cipher.BlockMode { return cipher.NewCBCDecrypter(std, iv) }, c.NewCBCDecrypter},
			} {
				m.want(iv).CryptBlocks(want, whole)
				mode := m.got(random(r, 16))
				mode.(interface{ SetIV([]byte) }).SetIV(iv)
				copy(got, whole)
				for at := 0; at < len(whole); {
					n := min(len(whole)-at, 16*r.IntN(1<<(1+r.IntN(9))))
					in := whole[at : at+n]
					if inPlace {
						in = got[at : at+n]
					}
					mode.CryptBlocks(got[at:at+n], in)
					at += n
				}
				if !bytes.Equal(got[:len(whole)], want[:len(whole)]) {
					t.Fatalf("%s of %d bytes differs; key %x, iv %x", m.name, len(whole), key, iv)
				}
			}
			gcm, err := cipher.NewGCM(c)
			if err != nil {
				t.Fatal(err)
			}
			stdGCM, err := cipher.NewGCM(std)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(gcm.Seal(nil, iv[:12], text, nil), stdGCM.Seal(nil, iv[:12], text, nil)) {
				t.Fatal("GCM differs")
			}
		}
	})
}

// TestEncryptCBC encrypts texts of many lengths and keys side by side.
func TestEncryptCBC(t *testing.T) {
	forEachLevel(t, func(t *testing.T, level kernel.Level) {
		r := newRand(t)
		for n := range 40 {
			texts, want, ivs := make([]CBCText, n), make([][]byte, n), make([][16]byte, n)
			size := 16 + 8*r.IntN(3)
			for i := range texts {
				if r.IntN(6) == 0 {
					size = 16 + 8*r.IntN(3)
				}
				key, src := random(r, size), random(r, 16*r.IntN(1<<r.IntN(10)))
				ivs[i] = [16]byte(random(r, 16))
				want[i] = make([]byte, len(src))
				cipher.NewCBCEncrypter(theirs(t, key), ivs[i][:]).CryptBlocks(want[i], src)
				dst := src
				if r.IntN(2) == 0 {
					dst = make([]byte, len(src))
				}
				texts[i] = CBCText{ours(t, level, key), &ivs[i], dst, src}
			}
			EncryptCBC(texts)
			for i := range texts {
				if !bytes.Equal(texts[i].Dst, want[i]) {
					t.Fatalf("text %d of %d, of %d bytes, differs", i, n, len(want[i]))
				}
				if l := len(want[i]); l > 0 && ivs[i] != [16]byte(want[i][l-16:]) {
					t.Fatalf("text %d of %d leaves %x", i, n, ivs[i])
				}
			}
		}
	})
}

// refXTS is XTS from its definition (IEEE 1619, section 5.3), with single blocks of the standard library.
func refXTS(data, tweakKey cipher.Block, dst, src []byte, tweak [16]byte, decrypt bool) {
	f := data.Encrypt
	if decrypt {
		f = data.Decrypt
	}
	tweakKey.Encrypt(tweak[:], tweak[:])
	var tweaks [][16]byte
	for range len(src)/16 + 1 {
		tweaks = append(tweaks, tweak)
		carry := byte(0)
		for j, x := range tweak {
			tweak[j] = x<<1 | carry
			carry = x >> 7
		}
		tweak[0] ^= 0x87 * carry
	}
	block := func(dst, src []byte, t [16]byte) {
		var b [16]byte
		for i := range b {
			b[i] = src[i] ^ t[i]
		}
		f(b[:], b[:])
		for i := range b {
			dst[i] = b[i] ^ t[i]
		}
	}
	m, rest := len(src)/16, len(src)%16
	whole := m
	if rest != 0 {
		whole--
	}
	for i := range whole {
		block(dst[16*i:], src[16*i:], tweaks[i])
	}
	if rest != 0 {
		first, second := tweaks[m-1], tweaks[m]
		if decrypt {
			first, second = second, first
		}
		var cc, pp [16]byte
		block(cc[:], src[16*(m-1):], first)
		copy(pp[:], src[16*m:])
		copy(pp[rest:], cc[rest:])
		block(dst[16*(m-1):], pp[:], second)
		copy(dst[16*m:], cc[:rest])
	}
}

func TestXTSAllLengths(t *testing.T) {
	forEachLevel(t, func(t *testing.T, level kernel.Level) {
		r := newRand(t)
		lengths := []int{512, 520, 4096, 4097, 4111, 65536, 65555, 70001}
		for n := 16; n <= 700; n += 1 + r.IntN(2) {
			lengths = append(lengths, n)
		}
		for _, n := range lengths {
			key, text := random(r, 32+32*r.IntN(2)), random(r, n)
			half := len(key) / 2
			x, err := newXTSAt(level, key)
			if err != nil {
				t.Fatal(err)
			}
			data, tweakKey, tweak := theirs(t, key[:half]), theirs(t, key[half:]), [16]byte(random(r, 16))
			want, got := make([]byte, n), make([]byte, n+16)
			for i := n; i < len(got); i++ {
				got[i] = 0xa5
			}
			refXTS(data, tweakKey, want, text, tweak, false)
			x.EncryptTweak(got, text, tweak)
			if !bytes.Equal(got[:n], want) {
				t.Fatalf("%d bytes differ", n)
			}
			x.DecryptTweak(got, got[:n], tweak)
			if !bytes.Equal(got[:n], text) {
				t.Fatalf("%d bytes do not decrypt in place", n)
			}
			x.EncryptTweak(got, got[:n], tweak)
			if !bytes.Equal(got[:n], want) {
				t.Fatalf("%d bytes differ in place", n)
			}
			refXTS(data, tweakKey, want, text, tweak, true)
			x.DecryptTweak(got, text, tweak)
			if !bytes.Equal(got[:n], want) {
				t.Fatalf("decryption of %d bytes differs", n)
			}
			if !bytes.Equal(got[n:], bytes.Repeat([]byte{0xa5}, 16)) {
				t.Fatalf("%d bytes: written past the end", n)
			}
		}
	})
}

func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := recover(); fmt.Sprint(got) != want {
			t.Errorf("panic %q, want %q", got, want)
		}
	}()
	f()
}

// TestPanics compares the panics of the standard library with those of this package, and checks the additional ones
// here. Nothing may be written.
func TestPanics(t *testing.T) {
	c, err := NewCipher(make([]byte, 16))
	if err != nil {
		t.Fatal(err)
	}
	x, err := NewXTS(append(make([]byte, 16), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
	if err != nil {
		t.Fatal(err)
	}
	iv, memory := make([]byte, 16), bytes.Repeat([]byte{7}, 100)
	for _, b := range []cipher.Block{c, theirs(t, make([]byte, 16))} {
		mustPanic(t, "crypto/aes: input not full block", func() { b.Encrypt(memory, memory[:15]) })
		mustPanic(t, "crypto/aes: output not full block", func() { b.Decrypt(memory[:15], memory) })
		mustPanic(t, "crypto/aes: invalid buffer overlap", func() { b.Encrypt(memory[1:], memory) })
		mustPanic(t, "cipher.NewCBCEncrypter: IV length must equal block size", func() { cipher.NewCBCEncrypter(b, iv[:15]) })
		mustPanic(t, "cipher.NewCBCDecrypter: IV length must equal block size", func() { cipher.NewCBCDecrypter(b, iv[:15]) })
		for _, m := range []cipher.BlockMode{cipher.NewCBCEncrypter(b, iv), cipher.NewCBCDecrypter(b, iv)} {
			mustPanic(t, "crypto/cipher: input not full blocks", func() { m.CryptBlocks(memory, memory[:17]) })
			mustPanic(t, "crypto/cipher: output smaller than input", func() { m.CryptBlocks(memory[:16], memory[:32]) })
			mustPanic(t, "crypto/cipher: invalid buffer overlap", func() { m.CryptBlocks(memory[1:], memory[:16]) })
			mustPanic(t, "cipher: incorrect length IV", func() { m.(interface{ SetIV([]byte) }).SetIV(iv[:8]) })
		}
		mustPanic(t, "bad IV length", func() { cipher.NewCTR(b, iv[:15]) })
		mustPanic(t, "crypto/aes: len(dst) < len(src)", func() { cipher.NewCTR(b, iv).XORKeyStream(memory[:15], memory[:16]) })
		mustPanic(t, "crypto/aes: invalid buffer overlap", func() { cipher.NewCTR(b, iv).XORKeyStream(memory[1:], memory[:16]) })
	}
	ours := c.(*Cipher)
	mustPanic(t, "crypto/cipher: input not full blocks", func() { ours.EncryptBlocks(memory, memory[:17]) })
	mustPanic(t, "crypto/cipher: invalid buffer overlap", func() {
		EncryptCBC([]CBCText{{ours, new([16]byte), memory[64:], memory[64:96]}, {ours, new([16]byte), memory[1:], memory[:16]}})
	})
	mustPanic(t, "xts: output is smaller than input", func() { x.Encrypt(memory[:31], memory[:32], 0) })
	mustPanic(t, "xts: input has less than 16 bytes or more than 2^24", func() { x.Encrypt(memory, memory[:15], 0) })
	mustPanic(t, "xts: input has less than 16 bytes or more than 2^24", func() { x.Decrypt(memory, nil, 0) })
	mustPanic(t, "xts: invalid buffer overlap", func() { x.Decrypt(memory[1:], memory[:32], 0) })
	last := bytes.Clone(iv)
	binary.BigEndian.PutUint32(last[12:], 1<<32-2)
	stream := ours.NewCTR32(last)
	const wraps = "aes: the 32-bit counter would wrap around"
	mustPanic(t, wraps, func() { ours.NewCTR32(last).XORKeyStream(memory, memory[:33]) })
	if !bytes.Equal(memory, bytes.Repeat([]byte{7}, 100)) {
		t.Error("a call that panics has written")
	}
	stream.XORKeyStream(memory, memory[:20])
	stream.XORKeyStream(memory, memory[:12])
	stream.XORKeyStream(memory, nil)
	mustPanic(t, wraps, func() { stream.XORKeyStream(memory, memory[:1]) })
	for _, n := range []int{0, 15, 17, 23, 25, 31, 33} {
		if _, err := NewCipher(make([]byte, n)); err != KeySizeError(n) {
			t.Errorf("key of %d: %v", n, err)
		}
	}
	for _, n := range []int{0, 16, 48, 63, 65} {
		if _, err := NewXTS(make([]byte, n)); err != errXTSKeySize {
			t.Errorf("XTS key of %d: %v", n, err)
		}
	}
	for _, n := range []int{32, 64} {
		if _, err := NewXTS(make([]byte, n)); err != errXTSHalves {
			t.Errorf("XTS key of %d with equal halves: %v", n, err)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("NOT RUN: with the race detector less stays on the stack")
	}
	forEachLevel(t, func(t *testing.T, level kernel.Level) {
		c := ours(t, level, make([]byte, 16))
		x, _ := newXTSAt(level, random(newRand(t), 32))
		b, iv := make([]byte, 1000), new([16]byte)
		stream, enc, dec := c.NewCTR(iv[:]), c.NewCBCEncrypter(iv[:]), c.NewCBCDecrypter(iv[:])
		texts := []CBCText{{c, iv, b[:64], b[:64]}, {c, new([16]byte), b[64:256], b[64:256]}}
		if n := testing.AllocsPerRun(20, func() {
			stream.XORKeyStream(b, b)
			enc.CryptBlocks(b, b[:160])
			dec.CryptBlocks(b, b[:160])
			x.Encrypt(b, b, 1)
			x.Decrypt(b, b, 1)
			c.Encrypt(b, b)
			c.DecryptBlocks(b, b[:160])
			EncryptCBC(texts)
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

// TestRandomNonce checks the comment of NewGCM: the constructor in crypto/cipher accepts only standard library keys,
// and package aesgcm has one for keys of this module.
func TestRandomNonce(t *testing.T) {
	c, err := NewCipher(make([]byte, 16))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cipher.NewGCMWithRandomNonce(c); err == nil {
		t.Error("crypto/cipher takes a key of this package: say so in the comment of NewGCM")
	}
	for name, f := range map[string]func() (cipher.AEAD, error){
		"NewGCM":              func() (cipher.AEAD, error) { return cipher.NewGCM(c) },
		"NewGCMWithNonceSize": func() (cipher.AEAD, error) { return cipher.NewGCMWithNonceSize(c, 16) },
		"NewGCMWithTagSize":   func() (cipher.AEAD, error) { return cipher.NewGCMWithTagSize(c, 12) },
	} {
		if _, err := f(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
