package aes

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sealane/sealane/internal/kernel"
)

type cavpCase struct {
	mode, name              string // ECB, CBC or XTS; file and position in it
	key, iv, text, sealed   []byte
	isNumber                bool // the tweak of XTS is a data unit number
	number                  uint64
	encrypt, decrypt, count func(dst, src []byte) // functions of a key; count is for CTR
}

// cavp parses NIST's files: a paragraph per case, a line per field.
func cavp(t *testing.T) (cases []cavpCase) {
	files, err := filepath.Glob("../test/vectors/nist/aes/*.rsp")
	if err != nil || len(files) != 34 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		base := strings.TrimSuffix(filepath.Base(file), ".rsp")
		for _, paragraph := range strings.Split(string(content), "\n\n") {
			f := map[string]string{}
			for line := range strings.Lines(paragraph) {
				name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " = ")
				f[strings.ToUpper(name)] = value
			}
			if f["KEY"] == "" {
				continue
			}
			c := cavpCase{mode: base[:3], name: fmt.Sprintf("%s, case at %d", base, len(cases)), key: unhex(t, f["KEY"]), iv: unhex(t, f["IV"]+f["I"]),
				text: unhex(t, f["PLAINTEXT"]+f["PT"]), sealed: unhex(t, f["CIPHERTEXT"]+f["CT"])}
			if n := f["DATAUNITSEQNUMBER"]; n != "" {
				if c.number, err = strconv.ParseUint(n, 10, 64); err != nil {
					t.Fatal(err)
				}
				c.isNumber, c.iv = true, binary.LittleEndian.AppendUint64(make([]byte, 0, 16), c.number)
				c.iv = append(c.iv, make([]byte, 8)...)
			}
			if n := f["DATAUNITLEN"]; n != "" && n != strconv.Itoa(8*len(c.text)) {
				t.Fatalf("%s: %d bytes of %s bits", c.name, len(c.text), n)
			}
			cases = append(cases, c)
		}
	}
	return cases
}

// at sets up the key at a level.
func (c *cavpCase) at(level kernel.Level) error {
	if c.mode == "XTS" {
		x, err := newXTSAt(level, c.key)
		if err != nil {
			return err
		}
		tweak := [BlockSize]byte(c.iv)
		c.encrypt = func(dst, src []byte) { x.EncryptTweak(dst, src, tweak) }
		c.decrypt = func(dst, src []byte) { x.DecryptTweak(dst, src, tweak) }
		if c.isNumber {
			c.encrypt = func(dst, src []byte) { x.Encrypt(dst, src, c.number) }
			c.decrypt = func(dst, src []byte) { x.Decrypt(dst, src, c.number) }
		}
		return nil
	}
	k, err := newAt(level, c.key)
	if err != nil {
		return err
	}
	if c.mode == "CBC" {
		c.encrypt = func(dst, src []byte) { k.NewCBCEncrypter(c.iv).CryptBlocks(dst, src) }
		c.decrypt = func(dst, src []byte) { k.NewCBCDecrypter(c.iv).CryptBlocks(dst, src) }
		return nil
	}
	c.encrypt, c.decrypt = k.EncryptBlocks, k.DecryptBlocks
	c.count = func(dst, src []byte) { k.NewCTR(c.text[:BlockSize]).XORKeyStream(dst, src) }
	return nil
}

// check runs a case in both directions, apart and in place, and returns the first error.
func (c *cavpCase) check() error {
	for _, way := range []struct {
		name     string
		f        func(dst, src []byte)
		in, want []byte
	}{{"encrypts", c.encrypt, c.text, c.sealed}, {"decrypts", c.decrypt, c.sealed, c.text}} {
		out := make([]byte, len(way.in))
		way.f(out, way.in)
		if !bytes.Equal(out, way.want) {
			return fmt.Errorf("%s: %s to %x, want %x", c.name, way.name, out, way.want)
		}
		copy(out, way.in)
		if way.f(out, out); !bytes.Equal(out, way.want) {
			return fmt.Errorf("%s: %s in place to %x, want %x", c.name, way.name, out, way.want)
		}
	}
	if c.count == nil {
		return nil
	}
	out := make([]byte, BlockSize) // the ECB output of a block is the CTR key stream of that counter
	if c.count(out, out); !bytes.Equal(out, c.sealed[:BlockSize]) {
		return fmt.Errorf("%s: a key stream of %x, want %x", c.name, out, c.sealed[:BlockSize])
	}
	return nil
}

// TestCAVP runs NIST's vectors for ECB, CBC and XTS. Each case must also fail with one bit of its ciphertext, text or
// initial value flipped.
func TestCAVP(t *testing.T) {
	cases := cavp(t)
	if len(cases) != 1438 {
		t.Fatalf("%d cases, want 1438", len(cases))
	}
	forEachLevel(t, func(t *testing.T, level kernel.Level) {
		for i, c := range cases {
			if err := c.at(level); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if err := c.check(); err != nil {
				t.Error(err)
			}
			planted := [][]byte{c.text, c.sealed}
			if len(c.iv) > 0 && !c.isNumber {
				planted = append(planted, c.iv)
			}
			for _, b := range planted {
				b[i%len(b)] ^= 1 << (i % 8)
				if err := c.at(level); err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
				if c.check() == nil {
					t.Errorf("%s: a wrong vector was not found", c.name)
				}
				b[i%len(b)] ^= 1 << (i % 8)
			}
		}
	})
}
