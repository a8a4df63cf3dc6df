package capture

import (
	"fmt"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/sealane/sealane/gateway/internal/packet"
)

// setPlacement makes the kernel distribute the frames of a fan-out group by p, with a classic BPF program (packet(7),
// PACKET_FANOUT_CBPF). Members of a group are numbered in the order of joining, and when one leaves, the last gets its
// number. So a reader must check whether frames are at the right place.
//
//	a frame with                                            is distributed by
//	a whole TCP packet, in at most one tunnel               its addresses and ports
//	other IP: fragments, nested tunnels                     the outermost addresses: one core gets all packets between two endpoints, in
//	                                                        both directions and in order, and can distribute them again
//	other protocols                                         nothing: the first core gets it
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

// placement is packet.Placement in BPF. Scratch memory: 0 and 1 are the addresses, folded, 2 and 3 the ports, and 4
// to 7 the words of an address. 8 is the start of the packet, and 9 its EtherType. 10 to 12 are used for tunnels.
//
// A load beyond the end of a frame ends the program with 0, so truncated and forged frames go to the first core.
func placement(p *packet.Placement) []bpf.Instruction {
	var b assembler
	const outgoing = 4 // PACKET_OUTGOING
	k := p.Keys

	// Incoming packets start with the IP header, outgoing ones with the Ethernet header.
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

// intoTunnel looks into one tunnel. If it contains a whole TCP packet, 8 and 9 become those of that packet; otherwise
// they do not change. It handles the tunnels that mirrors and networks use, like packet.Parser, except for rare cases,
// which the reader handles.
//
// X is the start of the next header, 10 the protocol in IP or the flags of GRE, 11 is scratch, and 12 the EtherType of
// the tunnel's content.
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
	b.skip(4) // a control word, then Ethernet
	b.always(&ether)

	// UDP, and tunnels identified by port.
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
	b.here(&extended) // at most one header, which must be the last
	b.jump(&plain, bpf.JumpBitsSet, 3)
	b.skip(20)
	b.add(word(0, 1), bpf.ALUOpConstant{Op: bpf.ALUOpShiftLeft, Val: 2})
	b.forward()
	b.add(word(^uint32(0), 1)) // the byte before
	b.jump(&plain, bpf.JumpNotEqual, 0)
	b.always(&ip)

	// GRE with optional fields, and ERSPAN.
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
	b.add(kept(10), bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 9}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 8}) // type I has no sequence number
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

// An assembler builds a program in which all jumps go forward.
type assembler struct {
	all []bpf.Instruction
}

// A label is the target of jumps.
type label struct{ from []int }

func (b *assembler) add(more ...bpf.Instruction) { b.all = append(b.all, more...) }

// jump jumps to a label if cond holds for A and val.
func (b *assembler) jump(to *label, cond bpf.JumpTest, val uint32) {
	to.from = append(to.from, len(b.all))
	b.add(bpf.JumpIf{Cond: cond, Val: val})
}

func (b *assembler) always(to *label) {
	to.from = append(to.from, len(b.all))
	b.add(bpf.Jump{})
}

// here defines a label.
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

// word loads from an offset after X.
func word(off uint32, size int) bpf.Instruction { return bpf.LoadIndirect{Off: off, Size: size} }

func keep(n int) bpf.Instruction { return bpf.StoreScratch{Src: bpf.RegA, N: n} }
func kept(n int) bpf.Instruction { return bpf.LoadScratch{Dst: bpf.RegA, N: n} }

// skip moves X forward by n.
func (b *assembler) skip(n uint32) {
	b.add(bpf.TXA{}, bpf.ALUOpConstant{Op: bpf.ALUOpAdd, Val: n}, bpf.TAX{})
}

// skipIPv4 moves X past the IPv4 header.
func (b *assembler) skipIPv4() {
	b.add(word(0, 1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 15}, bpf.ALUOpConstant{Op: bpf.ALUOpShiftLeft, Val: 2})
	b.forward()
}

// forward moves X forward by A.
func (b *assembler) forward() { b.add(bpf.ALUOpX{Op: bpf.ALUOpAdd}, bpf.TAX{}) }
