package packet

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestSumBytes compares with a sum of 16 bits at a time, of bytes at random and of those that carry most.
func TestSumBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for n := range 2 * leastWide {
		for _, fill := range []int{-1, 0, 0xff} {
			b := make([]byte, n)
			for i := range b {
				if b[i] = byte(fill); fill < 0 {
					b[i] = byte(r.Uint32())
				}
			}
			for _, before := range []uint64{0, 1, 0xffff, 1<<64 - 1, r.Uint64()} {
				want := uint64(fold(before))
				for i, x := range b {
					want += uint64(x) << (8 * (1 - i%2))
				}
				for want > 0xffff {
					want = want>>16 + want&0xffff
				}
				if got := fold(sum(before, b)); uint64(got)%0xffff != want%0xffff || got == 0 && want != 0 {
					t.Fatalf("%d bytes of %d after %x: %x, want %x", n, fill, before, got, want)
				}
			}
		}
	}
}

// TestSegmentSum has checksums that are right, of IP and of TCP, and all that a changed bit of the packet makes of them.
func TestSegmentSum(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	for _, ipv6 := range []bool{false, true} {
		for n := range 200 {
			var to Template
			link, src, dst := [12]byte{1}, [16]byte{10: 255, 11: 255, 12: 10, 15: byte(n)}, [16]byte{10: 255, 11: 255, 12: 192, 15: 1}
			if ipv6 {
				binary.BigEndian.PutUint64(src[:], r.Uint64())
				binary.BigEndian.PutUint64(dst[:], r.Uint64())
			}
			to.Init(&link, 0, ipv6, &src, &dst, uint16(r.Uint32()), 443)
			payload := make([]byte, n)
			for i := range payload {
				payload[i] = byte(r.Uint32())
			}
			b := make([]byte, to.Size()+n)
			to.Build(b, r.Uint32(), r.Uint32(), ACK, uint16(n), payload, true)
			var s Segment
			if Parse(&s, LinkEthernet, b) != TCP || s.Sum() != SumGood {
				t.Fatalf("%d bytes, IPv6 %v: %v", n, ipv6, s.Sum())
			}
			for range 20 {
				at := 14 + r.IntN(len(b)-14)
				b[at] ^= 1 << r.IntN(8)
				// Of IPv6's header only the addresses count.
				covered := !ipv6 || at >= 14+8
				if Parse(&s, LinkEthernet, b) == TCP && s.Missing == 0 && len(s.ip) == len(b)-14 && (s.Sum() == SumGood) == covered {
					t.Fatalf("%d bytes, IPv6 %v: byte %d changed: %v", n, ipv6, at, s.Sum())
				}
				to.Build(b, binary.BigEndian.Uint32(b[to.tcp+4:]), binary.BigEndian.Uint32(b[to.tcp+8:]), ACK, uint16(n), payload, true)
			}
		}
	}
}

// BenchmarkSum measures the checksums of a packet.
func BenchmarkSum(b *testing.B) {
	for _, n := range []int{0, 100, 600, 1460} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var to Template
			to.Init(&[12]byte{1}, 0, false, &[16]byte{10: 255, 11: 255, 12: 10}, &[16]byte{10: 255, 11: 255, 12: 192}, 1000, 443)
			frame := make([]byte, to.Size()+n)
			to.Build(frame, 1, 2, ACK, 3, make([]byte, n), true)
			var s Segment
			Parse(&s, LinkEthernet, frame)
			b.SetBytes(int64(len(frame)))
			for range b.N {
				if s.Sum() != SumGood {
					b.Fatal("wrong")
				}
			}
		})
	}
}

// Checksums left to a network card, and packets that the kernel has merged, do not count as forged.
func TestOpenSum(t *testing.T) {
	for n := range 200 {
		var to Template
		ipv6 := n&1 != 0
		to.Init(&[12]byte{1}, 0, ipv6, &[16]byte{10: 255, 11: 255, 12: 10}, &[16]byte{10: 255, 11: 255, 12: 192}, 1000, 443)
		b := make([]byte, to.Size()+n)
		to.Build(b, 1, 2, ACK, uint16(n), bytes.Repeat([]byte{7}, n), true)
		tcp, addresses := b[to.tcp:], b[14+12:14+20]
		if ipv6 {
			addresses = b[14+8 : 14+40]
		}
		pseudo := uint32(ProtoTCP + len(tcp))
		for i := 0; i < len(addresses); i += 2 {
			pseudo += uint32(binary.BigEndian.Uint16(addresses[i:]))
		}
		pseudo = pseudo>>16 + pseudo&0xffff
		for _, c := range []struct {
			says uint16
			want Sum
		}{
			{binary.BigEndian.Uint16(tcp[16:]), SumGood}, {uint16(pseudo>>16 + pseudo), SumOpen}, {0, SumOpen},
			{binary.BigEndian.Uint16(tcp[16:]) ^ 0x55, SumBad}, {uint16(pseudo>>16+pseudo) + 1, SumBad},
		} {
			binary.BigEndian.PutUint16(tcp[16:], c.says)
			var s Segment
			if Parse(&s, LinkEthernet, b) != TCP || s.Sum() != c.want {
				t.Errorf("%d bytes, IPv6 %v, %04x: %v, want %v", n, ipv6, c.says, s.Sum(), c.want)
			}
		}
		if !ipv6 {
			b[14+10], b[14+11] = 0, 0
			var s Segment
			if Parse(&s, LinkEthernet, b); s.Sum() != SumOpen {
				t.Errorf("no checksum of IP: %v", s.Sum())
			}
		}
	}
}
