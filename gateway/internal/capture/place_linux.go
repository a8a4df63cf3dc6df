package capture

import (
	"fmt"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/sealane/sealane/gateway/internal/packet"
)

// setPlacement has the kernel deal out the frames of a fan-out group by p, with a classic BPF program (packet(7), PACKET_FANOUT_CBPF).
// Members of a group are numbered as they came, and the last one gets the number of one that goes: who reads has to look whether
// frames are at the right place.
//
//	a frame has                                             is dealt out by
//	a whole packet of TCP, in one tunnel at most            its addresses and ports
//	something else over IP: fragments, tunnels in tunnels   the outermost addresses: one core gets all between two endpoints, of both
//	                                                        directions in their order, and can deal it out again
//	something else                                          nothing: the first core gets it
func (l *Live) setPlacement(p *packet.Placement) error {
	program, err := bpf.Assemble(placement(p))
	if err != nil {
		return err
	}
	filters := make([]unix.SockFilter, len(program))
	for i, in := range program {
		filters[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	if err := unix.SetsockoptSockFprog(l.fd, unix.SOL_PACKET, unix.PACKET_FANOUT_DATA, &unix.SockFprog{Len: uint16(len(filters)), Filter: &filters[0]}); err != nil {
		return fmt.Errorf("fan-out program: %w", err)
	}
	return nil
}

// placement is packet.Placement in BPF. Scratch memory: 0 and 1 have the addresses, folded, 2 and 3 the ports, 4 to 7 the words of
// an address, 8 is where the packet begins, and 9 its EtherType; 10 to 12 are those of the search in tunnels.
//
// A load behind the end of a frame ends the program, with 0: what is cut or forged so goes to the first core.
func placement(p *packet.Placement) []bpf.Instruction {
	var b assembler
	const outgoing = 4 // PACKET_OUTGOING
	k := p.Keys

	// Incoming packets begin with the IP header, outgoing ones with the Ethernet header.
	var in, out label
	b.add(bpf.LoadExtension{Num: bpf.ExtType})
	b.jump(&out, bpf.JumpEqual, outgoing)
	b.add(bpf.LoadConstant{Dst: bpf.RegX, Val: 0})
	b.always(&in)
	b.here(&out)
	b.add(bpf.LoadConstant{Dst: bpf.RegX, Val: 14})
	b.here(&in)
	b.add(bpf.StoreScratch{Src: bpf.RegX, N: 8}, bpf.LoadExtension{Num: bpf.ExtProto}, bpf.StoreScratch{Src: bpf.RegA, N: 9})
	b.intoTunnel()

	var other, v6, end label
	b.add(bpf.LoadConstant{Dst: bpf.RegA, Val: 0}, bpf.StoreScratch{Src: bpf.RegA, N: 2}, bpf.StoreScratch{Src: bpf.RegA, N: 3},
		bpf.LoadScratch{Dst: bpf.RegX, N: 8}, bpf.LoadScratch{Dst: bpf.RegA, N: 9})
	b.jump(&v6, bpf.JumpEqual, packet.TypeIPv6)
	b.jump(&other, bpf.JumpNotEqual, packet.TypeIPv4)

	// IPv4.
	for i, off := range []uint32{12, 16} {
		b.add(word(off, 4), bpf.ALUOpConstant{Op: bpf.ALUOpAdd, Val: 0xffff * k[0]}, bpf.StoreScratch{Src: bpf.RegA, N: i})
	}
	b.add(word(6, 2))
	b.jump(&end, bpf.JumpBitsSet, 0x3fff)
	b.add(word(9, 1))
	b.jump(&end, bpf.JumpNotEqual, packet.ProtoTCP)
	b.skipIPv4()
	for i, off := range []uint32{0, 2} {
		b.add(word(off, 2), bpf.StoreScratch{Src: bpf.RegA, N: 2 + i})
	}
	b.always(&end)

	// IPv6.
	b.here(&v6)
	for i, off := range []uint32{8, 24} {
		b.add(bpf.LoadScratch{Dst: bpf.RegX, N: 8})
		for w := range 4 {
			b.add(word(off+4*uint32(w), 4), bpf.StoreScratch{Src: bpf.RegA, N: 4 + w})
		}
		b.add(bpf.LoadScratch{Dst: bpf.RegA, N: 4})
		for w := 1; w < 4; w++ {
			b.add(bpf.ALUOpConstant{Op: bpf.ALUOpMul, Val: k[0]}, bpf.LoadScratch{Dst: bpf.RegX, N: 4 + w}, bpf.ALUOpX{Op: bpf.ALUOpAdd})
		}
		b.add(bpf.StoreScratch{Src: bpf.RegA, N: i})
	}
	b.add(bpf.LoadScratch{Dst: bpf.RegX, N: 8}, word(6, 1))
	b.jump(&end, bpf.JumpNotEqual, packet.ProtoTCP)
	for i, off := range []uint32{40, 42} {
		b.add(word(off, 2), bpf.StoreScratch{Src: bpf.RegA, N: 2 + i})
	}

	b.here(&end)
	for i := range 2 {
		b.add(bpf.LoadScratch{Dst: bpf.RegA, N: 2 + i}, bpf.ALUOpConstant{Op: bpf.ALUOpMul, Val: k[1]},
			bpf.LoadScratch{Dst: bpf.RegX, N: i}, bpf.ALUOpX{Op: bpf.ALUOpXor}, bpf.ALUOpConstant{Op: bpf.ALUOpMul, Val: k[2]},
			bpf.TAX{}, bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 15}, bpf.ALUOpX{Op: bpf.ALUOpXor}, bpf.ALUOpConstant{Op: bpf.ALUOpMul, Val: k[0]},
			bpf.StoreScratch{Src: bpf.RegA, N: i})
	}
	b.add(bpf.LoadScratch{Dst: bpf.RegA, N: 0}, bpf.LoadScratch{Dst: bpf.RegX, N: 1}, bpf.ALUOpX{Op: bpf.ALUOpAdd},
		bpf.TAX{}, bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 16}, bpf.ALUOpX{Op: bpf.ALUOpXor}, bpf.RetA{})
	b.here(&other)
	b.add(bpf.RetConstant{Val: 0})
	return b.all
}

// intoTunnel looks into one tunnel. If there is a whole packet of TCP in it, 8 and 9 become that packet's; else they stay. It knows
// what mirrors and networks use, as packet.Parser does, without what is rare: who reads looks for itself.
//
// X is where the next header begins, 10 is what IP carries or the flags of GRE, 11 is scratch, and 12 what is in the tunnel, as an
// EtherType.
func (b *assembler) intoTunnel() {
	var plain, v6, transport, tag, labels, session label
	b.jump(&v6, bpf.JumpEqual, packet.TypeIPv6)
	b.jump(&tag, bpf.JumpEqual, packet.TypeVLAN)
	b.jump(&tag, bpf.JumpEqual, packet.TypeQinQ)
	b.jump(&tag, bpf.JumpEqual, packet.TypeOldQ)
	b.jump(&tag, bpf.JumpEqual, packet.TypeNewQ)
	b.jump(&labels, bpf.JumpEqual, packet.TypeMPLS)
	b.jump(&labels, bpf.JumpEqual, packet.TypeMPLSMany)
	b.jump(&session, bpf.JumpEqual, packet.TypePPPoE)
	b.jump(&plain, bpf.JumpNotEqual, packet.TypeIPv4)

	var udp, gre, four, six, ip, ether, inner label
	b.add(word(6, 2))
	b.jump(&plain, bpf.JumpBitsSet, 0x3fff)
	b.add(word(9, 1))
	b.jump(&plain, bpf.JumpEqual, packet.ProtoTCP)
	b.add(keep(10))
	b.skipIPv4()
	b.always(&transport)
	b.here(&v6)
	b.add(word(6, 1))
	b.jump(&plain, bpf.JumpEqual, packet.ProtoTCP)
	b.add(keep(10))
	b.skip(40)
	b.here(&transport)
	b.add(kept(10))
	b.jump(&udp, bpf.JumpEqual, packet.ProtoUDP)
	b.jump(&gre, bpf.JumpEqual, packet.ProtoGRE)
	b.jump(&four, bpf.JumpEqual, packet.ProtoIPv4)
	b.jump(&six, bpf.JumpEqual, packet.ProtoIPv6)
	b.always(&plain)

	b.here(&tag) // one that the kernel has left there, or two
	b.add(word(2, 2), keep(12))
	b.skip(4)
	b.add(kept(12))
	b.jump(&inner, bpf.JumpNotEqual, packet.TypeVLAN)
	b.add(word(2, 2), keep(12))
	b.skip(4)
	b.always(&inner)

	b.here(&session)
	b.add(word(6, 2), keep(11))
	b.skip(8)
	b.add(kept(11))
	b.jump(&four, bpf.JumpEqual, 0x21)
	b.jump(&six, bpf.JumpEqual, 0x57)
	b.always(&plain)

	var bottom label
	b.here(&labels)
	for range 4 {
		b.add(word(2, 1), keep(11))
		b.skip(4)
		b.add(kept(11))
		b.jump(&bottom, bpf.JumpBitsSet, 1)
	}
	b.always(&plain)
	b.here(&bottom)
	b.add(word(0, 1))
	b.jump(&ip, bpf.JumpBitsSet, 0xf0)
	b.skip(4) // a control word, and Ethernet
	b.always(&ether)

	// UDP, and tunnels known by their port.
	var vxlan, gtp, extended label
	b.here(&udp)
	b.add(word(2, 2))
	b.jump(&vxlan, bpf.JumpEqual, packet.PortVXLAN)
	b.jump(&vxlan, bpf.JumpEqual, packet.PortOldVXLAN)
	b.jump(&gtp, bpf.JumpEqual, packet.PortGTP)
	b.jump(&plain, bpf.JumpNotEqual, packet.PortGENEVE)
	b.add(word(10, 2), keep(12), word(8, 1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0x3f}, bpf.ALUOpConstant{Op: bpf.ALUOpShiftLeft, Val: 2})
	b.forward()
	b.skip(16)
	b.add(kept(12))
	b.jump(&ether, bpf.JumpEqual, packet.TypeEthernet)
	b.always(&inner)
	b.here(&vxlan)
	b.skip(16)
	b.always(&ether)
	b.here(&gtp)
	b.add(word(8, 1))
	b.jump(&extended, bpf.JumpBitsSet, 7)
	b.skip(16)
	b.always(&ip)
	b.here(&extended) // one header at most, and it has to be said that none follows
	b.jump(&plain, bpf.JumpBitsSet, 3)
	b.skip(20)
	b.add(word(0, 1), bpf.ALUOpConstant{Op: bpf.ALUOpShiftLeft, Val: 2})
	b.forward()
	b.add(word(^uint32(0), 1)) // the last byte before
	b.jump(&plain, bpf.JumpNotEqual, 0)
	b.always(&ip)

	// GRE, with fields that are there or not, and ERSPAN.
	var second, third label
	b.here(&gre)
	b.add(word(2, 2), keep(12), word(0, 2), keep(10))
	b.jump(&plain, bpf.JumpBitsSet, 0x4007)
	for _, bit := range []uint32{15, 13, 12} { // checksum, key, sequence number: four bytes each
		b.add(kept(10), bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: bit - 2}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 4})
		b.forward()
	}
	b.skip(4)
	b.add(kept(12))
	b.jump(&ether, bpf.JumpEqual, packet.TypeEthernet)
	b.jump(&second, bpf.JumpEqual, packet.TypeERSPAN)
	b.jump(&third, bpf.JumpEqual, packet.TypeERSPAN3)
	b.always(&inner)
	b.here(&second)
	b.add(kept(10), bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 9}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 8}) // of type I there is none
	b.forward()
	b.always(&ether)
	b.here(&third)
	b.add(word(10, 2), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 1}, bpf.ALUOpConstant{Op: bpf.ALUOpShiftLeft, Val: 3})
	b.forward()
	b.skip(12)
	b.always(&ether)

	// IP of either version.
	b.here(&ip)
	b.add(word(0, 1), bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 4})
	b.jump(&four, bpf.JumpEqual, 4)
	b.jump(&six, bpf.JumpEqual, 6)
	b.always(&plain)
	b.here(&four)
	b.add(bpf.LoadConstant{Dst: bpf.RegA, Val: packet.TypeIPv4}, keep(12))
	b.always(&inner)
	b.here(&six)
	b.add(bpf.LoadConstant{Dst: bpf.RegA, Val: packet.TypeIPv6}, keep(12))
	b.always(&inner)

	// An Ethernet frame, with a tag or without.
	var untagged, inner6, found label
	b.here(&ether)
	b.add(word(12, 2))
	b.jump(&untagged, bpf.JumpNotEqual, packet.TypeVLAN)
	b.skip(4)
	b.add(word(12, 2))
	b.here(&untagged)
	b.add(keep(12))
	b.skip(14)

	b.here(&inner)
	b.add(kept(12))
	b.jump(&inner6, bpf.JumpEqual, packet.TypeIPv6)
	b.jump(&plain, bpf.JumpNotEqual, packet.TypeIPv4)
	b.add(word(6, 2))
	b.jump(&plain, bpf.JumpBitsSet, 0x3fff)
	b.add(word(9, 1))
	b.jump(&plain, bpf.JumpNotEqual, packet.ProtoTCP)
	b.always(&found)
	b.here(&inner6)
	b.add(word(6, 1))
	b.jump(&plain, bpf.JumpNotEqual, packet.ProtoTCP)
	b.here(&found)
	b.add(bpf.StoreScratch{Src: bpf.RegX, N: 8}, kept(12), keep(9))
	b.here(&plain)
}

// An assembler makes a program of which all jumps go forward.
type assembler struct {
	all []bpf.Instruction
}

// A label is where jumps go to.
type label struct{ from []int }

func (b *assembler) add(more ...bpf.Instruction) { b.all = append(b.all, more...) }

// jump goes to a label if A is, or with not is not, val.
func (b *assembler) jump(to *label, cond bpf.JumpTest, val uint32) {
	to.from = append(to.from, len(b.all))
	b.add(bpf.JumpIf{Cond: cond, Val: val})
}

func (b *assembler) always(to *label) {
	to.from = append(to.from, len(b.all))
	b.add(bpf.Jump{})
}

// here puts a label.
func (b *assembler) here(l *label) {
	for _, at := range l.from {
		n := len(b.all) - at - 1
		switch j := b.all[at].(type) {
		case bpf.Jump:
			j.Skip = uint32(n)
			b.all[at] = j
		case bpf.JumpIf:
			if n > 255 {
				panic("a jump of a BPF program is too long")
			}
			j.SkipTrue = uint8(n)
			b.all[at] = j
		}
	}
}

// word loads from so far behind X.
func word(off uint32, size int) bpf.Instruction { return bpf.LoadIndirect{Off: off, Size: size} }

func keep(n int) bpf.Instruction { return bpf.StoreScratch{Src: bpf.RegA, N: n} }
func kept(n int) bpf.Instruction { return bpf.LoadScratch{Dst: bpf.RegA, N: n} }

// skip moves X forward.
func (b *assembler) skip(n uint32) {
	b.add(bpf.TXA{}, bpf.ALUOpConstant{Op: bpf.ALUOpAdd, Val: n}, bpf.TAX{})
}

// skipIPv4 moves X behind the header of IPv4.
func (b *assembler) skipIPv4() {
	b.add(word(0, 1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 15}, bpf.ALUOpConstant{Op: bpf.ALUOpShiftLeft, Val: 2})
	b.forward()
}

// forward moves X forward by A.
func (b *assembler) forward() { b.add(bpf.ALUOpX{Op: bpf.ALUOpAdd}, bpf.TAX{}) }
