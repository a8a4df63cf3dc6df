package keystream

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sealane/sealane/internal/kernel"
	"github.com/sealane/sealane/internal/randomseed"
)

// TestStream compares every level with portable code, which other tests compare with the standards. It tries
// pieces of many lengths, in place and separate, and tags of texts of all lengths. A wrong bit in a tag or text
// must be detected.
func TestStream(t *testing.T) {
	seed := randomseed.Of()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	fill := func(p []byte) {
		for i := range p {
			p[i] = byte(random.Uint32())
		}
	}
	var key [32]byte
	var nonce [12]byte
	text := make([]byte, partBytes+277)
	fill(key[:])
	fill(nonce[:])
	fill(text)
	want := make([]byte, len(text))
	Crypt(kernel.Portable, &key, &nonce, 0, want, text)
	for _, row := range kernel.ChaCha20Poly1305Levels.Rows {
		t.Run(row.Name, func(t *testing.T) {
			if lacks := row.Lacks(); lacks != nil {
				t.Skipf("NOT RUN: needs %v, which this CPU lacks", lacks)
			}
			var s Stream
			level := kernel.Level(row.Level)
			for _, first := range [][]int{{32, 32, 35000}, {4}, {32, 32}, {64, 1}, {63, 1, 64}, {65, 65, 62}, nil} {
				s.init(level, key[:], nonce[:])
				got := bytes.Clone(text)
				for at := 0; at < len(got); {
					n := random.IntN(1 << random.IntN(18))
					if len(first) > 0 {
						n, first = first[0], first[1:]
					}
					n = min(n, len(got)-at)
					part := got[at:][:n]
					if random.IntN(2) == 0 {
						s.XORKeyStream(part, part)
					} else {
						s.XORKeyStream(part, bytes.Clone(part))
					}
					if at += n; !bytes.Equal(got[:at], want[:at]) {
						t.Fatalf("%d bytes after byte %d are wrong", n, at-n)
					}
				}
			}
			for n := 0; n < len(text); n += 1 + n/20 {
				var tag, oracle [tagBytes]byte
				s.Sum(&tag, text[:n])
				Authenticate(kernel.Portable, &key, &nonce, &oracle, text[:n])
				if tag != oracle || !s.Verify(&tag, text[:n]) {
					t.Fatalf("the tag of %d bytes is %x, want %x", n, tag, oracle)
				}
				tag[random.IntN(tagBytes)] ^= 1 << random.IntN(8)
				if s.Verify(&tag, text[:n]) || n > 0 && s.Verify(&oracle, text[1:n]) {
					t.Fatalf("a forgery of %d bytes", n)
				}
			}
		})
	}
}

// TestStreamMisuse checks for the panics of x/crypto's cipher, with nothing written, and no allocation.
func TestStreamMisuse(t *testing.T) {
	var s Stream
	for keyBytes := range 40 {
		for nonceBytes := range 30 {
			if s.Init(make([]byte, keyBytes), make([]byte, nonceBytes)) && (keyBytes != 32 || nonceBytes != 12) {
				t.Fatalf("a key of %d bytes with a nonce of %d", keyBytes, nonceBytes)
			}
		}
	}
	key, nonce := make([]byte, 32), make([]byte, 12)
	level, _ := kernel.ChaCha20Poly1305Levels.Choose()
	if s.Init(key, nonce) != (kernel.Level(level) != kernel.Portable) {
		t.Error("the level decides otherwise")
	}
	s.init(kernel.Portable, key, nonce)
	memory := bytes.Repeat([]byte{7}, 300)
	mustPanic := func(want string, f func()) {
		t.Helper()
		defer func() {
			if got := recover(); fmt.Sprint(got) != want {
				t.Errorf("panic %q, want %q", got, want)
			}
		}()
		f()
	}
	mustPanic("chacha20: output smaller than input", func() { s.XORKeyStream(memory[:9], make([]byte, 10)) })
	mustPanic("chacha20: invalid buffer overlap", func() { s.XORKeyStream(memory[1:100], memory[:99]) })
	s.at = mostBytes - 100
	mustPanic("chacha20: counter overflow", func() { s.XORKeyStream(memory[:101], memory[:101]) })
	if !bytes.Equal(memory, bytes.Repeat([]byte{7}, 300)) {
		t.Error("a call that is refused has written")
	}
	s.XORKeyStream(memory[:100], memory[:100])
	mustPanic("chacha20: counter overflow", func() { s.XORKeyStream(memory[:1], memory[:1]) })
	if n := testing.AllocsPerRun(10, func() {
		var s Stream
		if !s.Init(key, nonce) {
			s.init(kernel.Portable, key, nonce)
		}
		var tag [tagBytes]byte
		s.XORKeyStream(memory[:32], memory[:32])
		s.Sum(&tag, memory)
		s.Verify(&tag, memory)
	}); n != 0 && !raceEnabled {
		t.Errorf("%v allocations", n)
	}
}
