package modes

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sealane/sealane/internal/kernel"
)

// TestPeer compares with the standard library at the chosen level. It tries texts in place and separate, of all
// relevant lengths, and counters that wrap around within them. Texts below a threshold must be left unchanged.
func TestPeer(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 0))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	level := kernel.Level(chosen())
	l := leasts[level]
	t.Logf("level %s: %+v", kernel.AESLevels.Name(uint8(level)), l)
	for i, n := range []int{0, 15, 16, 32, 48, 255, 256, 257, 1023, 1024, 2047, 2048, 2064, 4096, 4112, 8192, 65535, 65536, 65552, 70001, 131072, 200000} {
		for keyBytes := 16; keyBytes <= 32; keyBytes += 8 {
			raw, text := random(keyBytes), random(n)
			block, err := aes.NewCipher(raw)
			if err != nil {
				t.Fatal(err)
			}
			var key kernel.AESKey
			kernel.AESKeySetup(level, &key, raw)
			p := unsafe.Pointer(&key)
			out := func() []byte { // text itself, or separate memory
				if i%2 == 0 {
					return bytes.Clone(text)
				}
				return random(n)
			}
			in := func(out []byte) []byte {
				if i%2 == 0 {
					return out
				}
				return text
			}

			for _, lo := range []uint64{r.Uint64(), 1<<32 - 7, ^uint64(n / 32)} {
				var counter [16]byte
				hi := r.Uint64()
				binary.BigEndian.PutUint64(counter[:], hi)
				binary.BigEndian.PutUint64(counter[8:], lo)
				want, got := make([]byte, n), out()
				left := bytes.Clone(got)
				cipher.NewCTR(block, counter[:]).XORKeyStream(want, text)
				done := CTR(p, got, in(got), lo, hi)
				if n < l.ctr && done != 0 || n >= l.ctr && done != n&^15 {
					t.Errorf("CTR of %d bytes: did %d", n, done)
				}
				if !bytes.Equal(got[:done], want[:done]) || !bytes.Equal(got[done:], left[done:]) {
					t.Errorf("CTR of %d bytes from %x differs", n, counter)
				}
			}

			text = text[:n&^15]
			n := len(text)
			for _, c := range []struct {
				name  string
				peer  func(cipher.Block, []byte) cipher.BlockMode
				ours  func(unsafe.Pointer, []byte, []byte, *[16]byte) bool
				least int
				chain func(in, out []byte) []byte
			}{
				{"decryption", cipher.NewCBCDecrypter, CBCDecrypt, l.decrypt, func(in, _ []byte) []byte { return in }},
				{"encryption", cipher.NewCBCEncrypter, CBCEncrypt, l.encrypt, func(_, out []byte) []byte { return out }},
			} {
				iv := [16]byte(random(16))
				left := iv
				want, got := make([]byte, n), out()[:n]
				c.peer(block, iv[:]).CryptBlocks(want, text)
				switch did := c.ours(p, got, in(got)[:n], &left); {
				case did != (n >= c.least):
					t.Errorf("CBC %s of %d bytes: done %v", c.name, n, did)
				case did && (!bytes.Equal(got, want) || !bytes.Equal(left[:], c.chain(text, want)[n-16:])):
					t.Errorf("CBC %s of %d bytes differs", c.name, n)
				case !did && left != iv:
					t.Errorf("CBC %s of %d bytes: the initial value changed", c.name, n)
				}
			}
		}
	}
	if got := CTRLeast(); l.ctr != never && got > l.ctr {
		t.Errorf("CTR is called from %d bytes on, and is for %d", got, l.ctr)
	}
}

// TestAllocations checks that nothing allocates.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("NOT RUN: the race detector is told which bytes assembly reads and writes, which allocates")
	}
	var key kernel.AESKey
	kernel.AESKeySetup(kernel.Level(chosen()), &key, make([]byte, 16))
	text, iv := make([]byte, 100000), [16]byte{}
	if n := testing.AllocsPerRun(10, func() {
		CTR(unsafe.Pointer(&key), text, text, 1<<32-4, 0)
		CTR(unsafe.Pointer(&key), text, text[:4096], 0, 0)
		CBCDecrypt(unsafe.Pointer(&key), text[:16000], text[:16000], &iv)
		CBCEncrypt(unsafe.Pointer(&key), text[:16000], text[:16000], &iv)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestLeasts: a level with a threshold has keys in the layout of the standard library, and the first threshold is low
// enough for all levels.
func TestLeasts(t *testing.T) {
	raw := []byte("0123456789abcdef")
	for _, row := range kernel.AESLevels.Rows {
		l := leasts[row.Level]
		if row.Name == "portable" && l.ctr != never {
			t.Error("portable code takes the standard library's place")
		}
		if row.Lacks() != nil || l.ctr == never {
			continue
		}
		var key kernel.AESKey
		kernel.AESKeySetup(kernel.Level(row.Level), &key, raw)
		// FIPS 197, sections 5.2 and 5.3.5: the last round key of encryption comes first in decryption, unchanged.
		if !bytes.Equal(key.Schedule[:16], raw) || !bytes.Equal(key.Inverse[:16], key.Schedule[160:176]) || !bytes.Equal(key.Inverse[160:176], raw) {
			t.Errorf("%s: the round keys are not plain", row.Name)
		}
	}
	if leasts[0].ctr != never || leasts[0].decrypt != never || leasts[0].encrypt != never {
		t.Error("no level, and yet a threshold")
	}
}
