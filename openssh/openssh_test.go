package openssh

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
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

// refStream returns a block of the original ChaCha20 (Bernstein 2008), with 64 bits each of counter and nonce.
func refStream(key, nonce []byte, counter uint64) []byte {
	x := [16]uint32{0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}
	for i := range 8 {
		x[4+i] = binary.LittleEndian.Uint32(key[4*i:])
	}
	x[12], x[13] = uint32(counter), uint32(counter>>32)
	x[14], x[15] = binary.LittleEndian.Uint32(nonce), binary.LittleEndian.Uint32(nonce[4:])
	start := x
	quarter := func(a, b, c, d int) {
		for _, n := range [][4]int{{a, b, d, 16}, {c, d, b, 12}, {a, b, d, 8}, {c, d, b, 7}} {
			x[n[0]] += x[n[1]]
			x[n[2]] = bits.RotateLeft32(x[n[2]]^x[n[0]], n[3])
		}
	}
	for range 10 {
		for i := range 4 {
			quarter(i, 4+i, 8+i, 12+i)
		}
		for i := range 4 {
			quarter(i, 4+(i+1)%4, 8+(i+2)%4, 12+(i+3)%4)
		}
	}
	var out []byte
	for i := range x {
		out = binary.LittleEndian.AppendUint32(out, x[i]+start[i])
	}
	return out
}

func number(b []byte) *big.Int {
	b = bytes.Clone(b)
	slices.Reverse(b)
	return new(big.Int).SetBytes(b)
}

// refSeal implements PROTOCOL.chacha20poly1305, with Poly1305 from its definition.
func refSeal(key []byte, sequence uint32, packet []byte) []byte {
	nonce := binary.BigEndian.AppendUint64(nil, uint64(sequence))
	out := bytes.Clone(packet)
	for i, x := range refStream(key[32:], nonce, 0)[:4] {
		out[i] ^= x
	}
	for at := 4; at < len(out); at += 64 {
		stream := refStream(key[:32], nonce, 1+uint64(at-4)/64)
		for i := 0; i < 64 && at+i < len(out); i++ {
			out[at+i] ^= stream[i]
		}
	}
	oneTime := refStream(key[:32], nonce, 0)
	for _, i := range []int{3, 7, 11, 15} {
		oneTime[i] &= 15
	}
	for _, i := range []int{4, 8, 12} {
		oneTime[i] &= 252
	}
	p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 130), big.NewInt(5))
	h, r := new(big.Int), number(oneTime[:16])
	for _, block := range slices.Collect(slices.Chunk(out, 16)) {
		h.Add(h, number(append(bytes.Clone(block), 1)))
		h.Mod(h.Mul(h, r), p)
	}
	tag := make([]byte, 17)
	h.Add(h, number(oneTime[16:32])).Mod(h, new(big.Int).Lsh(big.NewInt(1), 128)).FillBytes(tag)
	slices.Reverse(tag)
	return append(out, tag[:16]...)
}

func TestAllLengths(t *testing.T) {
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	type one struct {
		key, packet, want []byte
		sequence          uint32
	}
	var all []one
	for n := LengthSize; n <= 300; n++ {
		c := one{random(r, KeySize), random(r, n), nil, r.Uint32()}
		if n%100 == 50 {
			c.packet = random(r, 35000)
		}
		c.want = refSeal(c.key, c.sequence, c.packet)
		all = append(all, c)
	}
	const most = 64 << 10 // the most that one kernel call authenticates
	all = append(all, one{make([]byte, 64), make([]byte, most+100), refSeal(make([]byte, 64), 9, make([]byte, most+100)), 9})
	masks, _ := kernel.ChaCha20MasksLevels.Choose()
	for _, row := range kernel.ChaCha20Poly1305Levels.Rows {
		t.Run(row.Name, func(t *testing.T) {
			if lacks := row.Lacks(); lacks != nil {
				t.Skipf("NOT RUN: level %s lacks %v", row.Name, lacks)
			}
			for _, v := range all {
				c, err := newAt(kernel.Level(row.Level), kernel.Level(masks), v.key)
				if err != nil {
					t.Fatal(err)
				}
				n := len(v.packet)
				if got := c.Seal([]byte("prefix"), v.sequence, v.packet); !bytes.Equal(got[6:], v.want) || string(got[:6]) != "prefix" {
					t.Fatalf("%d bytes are sealed otherwise", n)
				}
				place := append(bytes.Clone(v.packet), make([]byte, Overhead)...)
				if !bytes.Equal(c.Seal(place[:0], v.sequence, place[:n]), v.want) {
					t.Fatalf("%d bytes in place are sealed otherwise", n)
				}
				if got := c.Length(v.sequence, place); got != binary.BigEndian.Uint32(v.packet) {
					t.Fatalf("length %#x", got)
				}
				if got, err := c.Open(place[:0], v.sequence, place); err != nil || !bytes.Equal(got, v.packet) {
					t.Fatalf("%d bytes are opened otherwise: %v", n, err)
				}
				bit := r.IntN(8 * len(v.want))
				forged := bytes.Clone(v.want)
				forged[bit/8] ^= 1 << (bit % 8)
				room := bytes.Repeat([]byte{0xa5}, n+1)
				for _, f := range []one{{packet: forged, sequence: v.sequence}, {packet: v.want, sequence: v.sequence + 1}} {
					if _, err := c.Open(room[:0], f.sequence, f.packet); err != errOpen || room[n] != 0xa5 || len(bytes.Trim(room[:n], "\x00")) != 0 {
						t.Fatalf("a forgery of %d bytes: %v", n, err)
					}
				}
			}
		})
	}
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
	memory := bytes.Repeat([]byte{7}, 100)
	mustPanic := func(want string, f func()) {
		t.Helper()
		defer func() {
			if got := recover(); fmt.Sprint(got) != want {
				t.Errorf("panic %q, want %q", got, want)
			}
		}()
		f()
	}
	mustPanic("openssh: a packet without its length", func() { c.Seal(nil, 1, memory[:3]) })
	mustPanic("openssh: invalid buffer overlap", func() { c.Seal(memory[:0], 1, memory[1:40]) })
	mustPanic("openssh: invalid buffer overlap", func() { _, _ = c.Open(memory[1:1], 1, memory[:40]) })
	for n := range 21 {
		if _, err := c.Open(nil, 1, memory[:n]); err != errOpen {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if !bytes.Equal(memory, bytes.Repeat([]byte{7}, 100)) {
		t.Error("a call that is refused has written")
	}
	if raceEnabled {
		return // fewer values stay on the stack under the race detector
	}
	room := make([]byte, 2000, 2000+Overhead)
	if n := testing.AllocsPerRun(20, func() {
		sealed := c.Seal(room[:0], 1, room)
		c.Length(1, sealed)
		if _, err := c.Open(sealed[:0], 1, sealed); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func Example() {
	c, err := New(make([]byte, KeySize))
	if err != nil {
		panic(err)
	}
	sealed := c.Seal(nil, 0, []byte("\x00\x00\x00\x08a packet"))
	n := c.Length(0, sealed) // not authentic yet
	packet, err := c.Open(nil, 0, sealed)
	fmt.Printf("%d %q %v\n", n, packet[LengthSize:], err)
	// Output: 8 "a packet" <nil>
}
