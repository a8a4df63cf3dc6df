package keystream

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sealane/sealane/internal/kernel"
	"github.com/sealane/sealane/internal/rfc8439"
)

// TestXOR compares every level with ChaCha20 from RFC 8439, whose ChaCha20-Poly1305 starts at block 1. Near the
// last counter it compares with portable code. It tries many lengths, in place and separate.
func TestXOR(t *testing.T) {
	seed := [32]byte{1}
	random := rand.NewChaCha8(seed)
	var key [32]byte
	var nonce [12]byte
	random.Read(key[:])
	random.Read(nonce[:])
	keyWords, nonceWords := (*[8]uint32)(unsafe.Pointer(&key)), (*[3]uint32)(unsafe.Pointer(&nonce))
	text := make([]byte, 3*partBytes)
	random.Read(text)
	const skipped = 5 // blocks before the text
	aead, err := rfc8439.New(key[:])
	if err != nil {
		t.Fatal(err)
	}
	want := aead.Seal(nil, nonce[:], append(make([]byte, skipped*blockBytes), text...), nil)[skipped*blockBytes:]
	for _, row := range kernel.ChaCha20Poly1305Levels.Rows {
		t.Run(row.Name, func(t *testing.T) {
			if lacks := row.Lacks(); lacks != nil {
				t.Skipf("NOT RUN: needs %v, which this CPU lacks", lacks)
			}
			level := kernel.Level(row.Level)
			for blocks := 1; blocks*blockBytes <= len(text); blocks += 1 + blocks/20 {
				n := blocks * blockBytes
				out := append(text[:n:n], "behind"...)
				Crypt(level, &key, &nonce, 1+skipped, out[:n], out[:n])
				if !bytes.Equal(out[:n], want[:n]) || string(out[n:]) != "behind" {
					t.Fatalf("%d bytes in place are wrong", n)
				}
				out = make([]byte, n)
				last, oracle := uint32(1<<32-uint64(blocks)), make([]byte, n)
				Crypt(level, &key, &nonce, last, out, text[:n])
				Crypt(kernel.Portable, &key, &nonce, last, oracle, text[:n])
				if !bytes.Equal(out, oracle) {
					t.Fatalf("%d bytes up to the last block are wrong", n)
				}
			}
		})
	}
	level, _ := kernel.ChaCha20Poly1305Levels.Choose()
	for _, n := range []int{blockBytes, leastBytes} {
		out := make([]byte, n)
		did := XOR(keyWords, nonceWords, 1+skipped, out, text[:n])
		if did != (n == leastBytes && kernel.Level(level) != kernel.Portable) || did && !bytes.Equal(out, want[:n]) || !did && !bytes.Equal(out, make([]byte, n)) {
			t.Errorf("%d bytes: %v", n, did)
		}
	}
	if n := testing.AllocsPerRun(10, func() { XOR(keyWords, nonceWords, 0, text, text) }); n != 0 && !raceEnabled {
		t.Errorf("%v allocations", n)
	}
}
