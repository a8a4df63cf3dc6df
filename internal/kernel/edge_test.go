package kernel

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestAccumulatorEdges opens texts from states that make the Poly1305 accumulator end next to 0, 2^128 or p.
// There, errors in carries and in the last reduction show first. The expected results are computed with big
// integers.
func TestAccumulatorEdges(t *testing.T) {
	one := big.NewInt(1)
	two128, p := new(big.Int).Lsh(one, 128), new(big.Int).Sub(new(big.Int).Lsh(one, 130), big.NewInt(5))
	forEachLevel(t, func(t *testing.T, level Level) {
		r := newRand()
		for _, n := range []int{0, 1, 16, 64, 100, 256, 600, 1024, 1420, 2500} {
			for _, target := range []*big.Int{new(big.Int), two128, p} {
				for delta := int64(-6); delta <= 6; delta++ {
					for try := range 6 {
						key := newPacket(r, n, 0)
						state, clamped := edgeState(r, try)
						end := new(big.Int).Add(target, big.NewInt(delta))
						end.Mod(end, p)

						// Back from the last block to the first: h = end / r - m - 2^128.
						inverse := new(big.Int).ModInverse(clamped, p)
						h := new(big.Int).Set(end)
						blocks := poly1305Blocks(key.text)
						for i := len(blocks) - 1; i >= 0; i-- {
							h.Mul(h, inverse)
							h.Sub(h, blocks[i])
							h.Sub(h, two128)
							h.Mod(h, p)
						}
						if try&1 != 0 { // an accumulator that is not reduced
							h.Add(h, p)
						}
						state.H = words(h)
						s := new(big.Int).Lsh(new(big.Int).SetUint64(state.S[1]), 64)
						s.Or(s, new(big.Int).SetUint64(state.S[0]))
						sum := words(new(big.Int).Add(end, s))
						var want, got [16]byte
						binary.LittleEndian.PutUint64(want[0:], sum[0])
						binary.LittleEndian.PutUint64(want[8:], sum[1])

						out := make([]byte, n)
						ChaCha20Poly1305(level, &PacketArgs{
							Out: unsafe.Pointer(unsafe.SliceData(out)), In: unsafe.Pointer(unsafe.SliceData(key.text)), Bytes: uint64(n),
							Key: unsafe.Pointer(&key.key), Nonce: unsafe.Pointer(&key.nonce), Tag: unsafe.Pointer(&got),
							State: &state, Total: uint64(n), Flags: FlagLast | FlagOpen,
						})
						if got != want {
							t.Fatalf("%d bytes, r %x, accumulator from %x to %x: tag %x, want %x", n, clamped, h, end, got, want)
						}
					}
				}
			}
		}
	})
}

// edgeState returns a state with an r and an s of the given kind.
func edgeState(r *rand.Rand, kind int) (s State, clamped *big.Int) {
	s.Counter = 1 + uint64(r.Uint32()>>1)
	switch kind / 2 {
	case 0:
		s.R = [2]uint64{1, 0}
		s.S = [2]uint64{^uint64(0), ^uint64(0)}
	case 1:
		s.R = [2]uint64{0x0ffffffc0fffffff, 0x0ffffffc0ffffffc}
		s.S = [2]uint64{0, 1 << 63}
	default:
		s.R = [2]uint64{r.Uint64() & 0x0ffffffc0fffffff, r.Uint64() & 0x0ffffffc0ffffffc}
		s.S = [2]uint64{r.Uint64(), r.Uint64()}
	}
	clamped = new(big.Int).Lsh(new(big.Int).SetUint64(s.R[1]), 64)
	return s, clamped.Or(clamped, new(big.Int).SetUint64(s.R[0]))
}

// poly1305Blocks returns the numbers, without their 2^128, as which a text without associated data is absorbed.
func poly1305Blocks(text []byte) (blocks []*big.Int) {
	padded := make([]byte, (len(text)+15)/16*16+16)
	copy(padded, text)
	binary.LittleEndian.PutUint64(padded[len(padded)-8:], uint64(len(text)))
	for ; len(padded) > 0; padded = padded[16:] {
		m := new(big.Int).Lsh(new(big.Int).SetUint64(binary.LittleEndian.Uint64(padded[8:])), 64)
		blocks = append(blocks, m.Or(m, new(big.Int).SetUint64(binary.LittleEndian.Uint64(padded))))
	}
	return blocks
}

func words(h *big.Int) (w [3]uint64) {
	mask := new(big.Int).SetUint64(^uint64(0))
	for i := range w {
		w[i] = new(big.Int).And(new(big.Int).Rsh(h, uint(64*i)), mask).Uint64()
	}
	return w
}

// TestLastCounters ends a packet with the highest block counters that a packet can reach, up to 2^32 - 1.
func TestLastCounters(t *testing.T) {
	forEachLevel(t, func(t *testing.T, level Level) {
		r := newRand()
		for _, n := range []int{1, 64, 65, 256, 512, 513, 1024, 1025, 1420, 2048, 3000, 4096} {
			for before := range uint64(3) {
				p := newPacket(r, n, 0)
				state, _ := edgeState(r, 4)
				state.Counter = 1<<32 - uint64(n+63)/64 - before
				for _, open := range []uint64{0, FlagOpen} {
					run := func(level Level) string {
						s, out, tag := state, make([]byte, n), [16]byte{}
						ChaCha20Poly1305(level, &PacketArgs{
							Out: unsafe.Pointer(&out[0]), In: unsafe.Pointer(&p.text[0]), Bytes: uint64(n),
							Key: unsafe.Pointer(&p.key), Nonce: unsafe.Pointer(&p.nonce), Tag: unsafe.Pointer(&tag),
							State: &s, Total: 1<<38 - 64, Flags: FlagLast | open,
						})
						return fmt.Sprintf("%x %x", out, tag)
					}
					if got, want := run(level), run(Portable); got != want {
						t.Fatalf("%d bytes from counter %#x: %s, want %s", n, state.Counter, got, want)
					}
				}
			}
		}
	})
}
