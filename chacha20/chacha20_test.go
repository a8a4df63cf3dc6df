package chacha20

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sealane/sealane/internal/kernel"
	"github.com/sealane/sealane/internal/randomseed"
)

var seed = randomseed.Of()

func random(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// onLevels runs a test at each level of this CPU, with a constructor for that level.
func onLevels(t *testing.T, run func(t *testing.T, newCipher func(key []byte) *Cipher)) {
	for _, row := range kernel.ChaCha20Poly1305Levels.Rows {
		t.Run(row.Name, func(t *testing.T) {
			if lacks := row.Lacks(); lacks != nil {
				t.Skipf("NOT RUN: level %s lacks %v", row.Name, lacks)
			}
			run(t, func(key []byte) *Cipher {
				c, err := newAt(kernel.Level(row.Level), key)
				if err != nil {
					t.Fatal(err)
				}
				return c
			})
		})
	}
}

// TestPublished checks the vectors of draft-agl-tls-chacha20poly1305-04, section 7.
func TestPublished(t *testing.T) {
	zeros := strings.Repeat("00", 31)
	const counting = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	vectors := []struct{ key, nonce, stream string }{
		{zeros + "00", "0000000000000000", "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7da41597c5157488d7724e03fb8d84a37" +
			"6a43b8f41518a11cc387b669"},
		{zeros + "01", "0000000000000000", "4540f05a9f1fb296d7736e7b208e3c96eb4fe1834688d2604f450952ed432d41bbe2a0b6ea7566d2a5d1e7e20d42af2c" +
			"53d792b1c43fea817e9ad275ae546963"},
		{zeros + "00", "0000000000000001", "de9cba7bf3d69ef5e786dc63973f653a0b49e015adbff7134fcb7df137821031e85a050278a7084527214f73efc7fa5b" +
			"5277062eb7a0433e445f41e3"},
		{zeros + "00", "0100000000000000", "ef3fdfd6c61578fbf5cf35bd3dd33b8009631634d21e42ac33960bd138e50d32111e4caf237ee53ca8ad6426194a8854" +
			"5ddc497a0b466e7d6bbdb0041b2f586b"},
		{counting, "0001020304050607", "f798a189f195e66982105ffb640bb7757f579da31602fc93ec01ac56f85ac3c134a4547b733b46413042c9440049176905d3" +
			"be59ea1c53f15916155c2be8241a38008b9a26bc35941e2444177c8ade6689de95264986d95889fb60e84629c9bd9a5acb1cc118be563eb9b3a4a472" +
			"f82e09a7e778492b562ef7130e88dfe031c79db9d4f7c7a899151b9a475032b63fc385245fe054e3dd5a97a5f576fe064025d3ce042c566ab2c507b1" +
			"38db853e3d6959660996546cc9c4a6eafdc777c040d70eaf46f76dad3979e5c5360c3317166a1c894c94a371876a94df7628fe4eaaf2ccb27d5aaae0" +
			"ad7ad0f9d4b6ad3b54098746d4524d38407a6deb3ab78fab78c9"},
	}
	onLevels(t, func(t *testing.T, newCipher func([]byte) *Cipher) {
		for i, v := range vectors {
			key, _ := hex.DecodeString(v.key)
			nonce, _ := hex.DecodeString(v.nonce)
			got := make([]byte, len(v.stream)/2)
			newCipher(key).XOR(got, got, nonce, 0)
			if hex.EncodeToString(got) != v.stream {
				t.Errorf("vector %d: %x", i, got)
			}
		}
	})
}

// block computes one block of keystream from the definition.
func block(key, nonce []byte, counter uint64) (out []byte) {
	x := [16]uint32{0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}
	for i := range 8 {
		x[4+i] = binary.LittleEndian.Uint32(key[4*i:])
	}
	x[12], x[13] = uint32(counter), uint32(counter>>32)
	x[14], x[15] = binary.LittleEndian.Uint32(nonce), binary.LittleEndian.Uint32(nonce[4:])
	first := x
	for range 10 {
		for i := range 8 {
			a, b, c, d := i%4, 4+(i+i/4)%4, 8+(i+2*(i/4))%4, 12+(i+3*(i/4))%4
			for _, n := range [][4]int{{a, b, d, 16}, {c, d, b, 12}, {a, b, d, 8}, {c, d, b, 7}} {
				x[n[0]] += x[n[1]]
				x[n[2]] = bits.RotateLeft32(x[n[2]]^x[n[0]], n[3])
			}
		}
	}
	for i := range x {
		out = binary.LittleEndian.AppendUint32(out, x[i]+first[i])
	}
	return out
}

// TestCounters encrypts texts of all lengths, across a carry into the upper half of the counter and up to its end.
func TestCounters(t *testing.T) {
	t.Logf("seed %d", seed)
	onLevels(t, func(t *testing.T, newCipher func([]byte) *Cipher) {
		r := rand.New(rand.NewPCG(seed, 1))
		for i := range 500 {
			n := i
			if i >= 400 {
				n = r.IntN(20000)
			}
			blocks := uint64(n+BlockSize-1) / BlockSize
			counter := uint64(r.Uint32())<<32 | math.MaxUint32 - r.Uint64N(blocks+1)
			switch i % 4 {
			case 0:
				counter = r.Uint64() >> 1
			case 1:
				counter = -blocks - 1
			}
			key, nonce, text := random(r, KeySize), random(r, NonceSize), random(r, n)
			want := bytes.Clone(text)
			for at := range want {
				if at%BlockSize == 0 {
					stream := block(key, nonce, counter+uint64(at)/BlockSize)
					for j := 0; j < BlockSize && at+j < n; j++ {
						want[at+j] ^= stream[j]
					}
				}
			}
			c := newCipher(key)
			apart := bytes.Repeat([]byte{0xa5}, n+1)
			c.XOR(apart, text, nonce, counter)
			cut := BlockSize * r.IntN(n/BlockSize+1)
			c.XOR(text, text[:cut], nonce, counter)
			c.XOR(text[cut:], text[cut:], nonce, counter+uint64(cut)/BlockSize)
			if !bytes.Equal(apart[:n], want) || apart[n] != 0xa5 || !bytes.Equal(text, want) {
				t.Fatalf("%d bytes from block %#x on are wrong", n, counter)
			}
		}
	})
}

func TestMisuse(t *testing.T) {
	for n := range 70 {
		if _, err := New(make([]byte, n)); (err == nil) != (n == KeySize) || err != nil && err != errKeySize {
			t.Errorf("key of %d: %v", n, err)
		}
	}
	c, err := New(make([]byte, KeySize))
	if err != nil {
		t.Fatal(err)
	}
	if c.Implementation() == "" {
		t.Error("no name")
	}
	memory, nonce := bytes.Repeat([]byte{7}, 200), make([]byte, NonceSize)
	mustPanic := func(want string, f func()) {
		t.Helper()
		defer func() {
			if got := recover(); fmt.Sprint(got) != want {
				t.Errorf("panic %q, want %q", got, want)
			}
		}()
		f()
	}
	mustPanic("chacha20: bad nonce length", func() { c.XOR(memory, memory, memory[:12], 0) })
	mustPanic("chacha20: output smaller than input", func() { c.XOR(memory[:9], memory, nonce, 0) })
	mustPanic("chacha20: invalid buffer overlap", func() { c.XOR(memory[1:], memory[:9], nonce, 0) })
	mustPanic("chacha20: counter overflow", func() { c.XOR(memory, memory[:65], nonce, math.MaxUint64-1) })
	if !bytes.Equal(memory, bytes.Repeat([]byte{7}, 200)) {
		t.Error("a call that is refused has written")
	}
	c.XOR(nil, nil, nonce, math.MaxUint64)
	c.XOR(memory, memory[:64], nonce, math.MaxUint64-1)
	if raceEnabled {
		return // fewer values stay on the stack under the race detector
	}
	if n := testing.AllocsPerRun(20, func() { c.XOR(memory, memory, nonce, math.MaxUint32) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func Example() {
	c, err := New(make([]byte, KeySize)) // use your own key
	if err != nil {
		panic(err)
	}
	text := []byte("a text")
	c.XOR(text, text, []byte("a nonce "), 0)
	c.XOR(text, text, []byte("a nonce "), 0)
	fmt.Printf("%s\n", text)
	// Output: a text
}
