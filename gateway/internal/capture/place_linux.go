package capture

import (
	"fmt"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/sealane/sealane/gateway/internal/packet"
)

// setPlacement has the kernel deal out the frames of a fan-out group by p, with a classic BPF program (packet(7), PACKET_FANOUT_CBPF).
// Members of a group are numbered as they came, and the last one gets the number of one that goes: who reads has to look whether
// frames are at the right place. Tunnels and fragments are dealt out by their outer addresses alone: so one core gets all between two
// endpoints, of both directions in their order, and can deal it out again.
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
// an address, and 8 is where the packet begins.
func placement(p *packet.Placement) (all []bpf.Instruction) {
	add := func(more ...bpf.Instruction) { all = append(all, more...) }
	type label struct{ from []int }
	// jump goes somewhere behind if A is, or with not is not, val.
	jump := func(to *label, cond bpf.JumpTest, val uint32) {
		to.from = append(to.from, len(all))
		add(bpf.JumpIf{Cond: cond, Val: val})
	}
	here := func(l *label) {
		for _, at := range l.from {
			j := all[at].(bpf.JumpIf)
			j.SkipTrue = uint8(len(all) - at - 1)
			all[at] = j
		}
	}
	word := func(off uint32, size int) bpf.Instruction { return bpf.LoadIndirect{Off: off, Size: size} }
	const outgoing = 4 // PACKET_OUTGOING
	k := p.Keys

	// What comes in begins with its IP header, what goes out with the Ethernet header.
	var other, v6, in, out, end label
	add(bpf.LoadExtension{Num: bpf.ExtType})
	jump(&out, bpf.JumpEqual, outgoing)
	add(bpf.LoadConstant{Dst: bpf.RegX, Val: 0}, bpf.LoadConstant{Dst: bpf.RegA, Val: 0})
	jump(&in, bpf.JumpEqual, 0)
	here(&out)
	add(bpf.LoadConstant{Dst: bpf.RegX, Val: 14})
	here(&in)
	add(bpf.StoreScratch{Src: bpf.RegX, N: 8})
	add(bpf.LoadConstant{Dst: bpf.RegA, Val: 0}, bpf.StoreScratch{Src: bpf.RegA, N: 2}, bpf.StoreScratch{Src: bpf.RegA, N: 3})
	add(bpf.LoadExtension{Num: bpf.ExtProto})
	jump(&v6, bpf.JumpEqual, 0x86dd)
	jump(&other, bpf.JumpNotEqual, 0x0800)

	// IPv4.
	for i, off := range []uint32{12, 16} {
		add(word(off, 4), bpf.ALUOpConstant{Op: bpf.ALUOpAdd, Val: 0xffff * k[0]}, bpf.StoreScratch{Src: bpf.RegA, N: i})
	}
	add(word(6, 2))
	jump(&end, bpf.JumpBitsSet, 0x3fff)
	add(word(9, 1))
	jump(&end, bpf.JumpNotEqual, 6)
	add(word(0, 1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 15}, bpf.ALUOpConstant{Op: bpf.ALUOpShiftLeft, Val: 2}, bpf.ALUOpX{Op: bpf.ALUOpAdd}, bpf.TAX{})
	for i, off := range []uint32{0, 2} {
		add(word(off, 2), bpf.StoreScratch{Src: bpf.RegA, N: 2 + i})
	}
	add(bpf.LoadConstant{Dst: bpf.RegA, Val: 0})
	jump(&end, bpf.JumpEqual, 0)

	// IPv6.
	here(&v6)
	for i, off := range []uint32{8, 24} {
		add(bpf.LoadScratch{Dst: bpf.RegX, N: 8})
		for w := range 4 {
			add(word(off+4*uint32(w), 4), bpf.StoreScratch{Src: bpf.RegA, N: 4 + w})
		}
		add(bpf.LoadScratch{Dst: bpf.RegA, N: 4})
		for w := 1; w < 4; w++ {
			add(bpf.ALUOpConstant{Op: bpf.ALUOpMul, Val: k[0]}, bpf.LoadScratch{Dst: bpf.RegX, N: 4 + w}, bpf.ALUOpX{Op: bpf.ALUOpAdd})
		}
		add(bpf.StoreScratch{Src: bpf.RegA, N: i})
	}
	add(bpf.LoadScratch{Dst: bpf.RegX, N: 8}, word(6, 1))
	jump(&end, bpf.JumpNotEqual, 6)
	for i, off := range []uint32{40, 42} {
		add(word(off, 2), bpf.StoreScratch{Src: bpf.RegA, N: 2 + i})
	}

	here(&end)
	for i := range 2 {
		add(bpf.LoadScratch{Dst: bpf.RegA, N: 2 + i}, bpf.ALUOpConstant{Op: bpf.ALUOpMul, Val: k[1]},
			bpf.LoadScratch{Dst: bpf.RegX, N: i}, bpf.ALUOpX{Op: bpf.ALUOpXor}, bpf.ALUOpConstant{Op: bpf.ALUOpMul, Val: k[2]},
			bpf.TAX{}, bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 15}, bpf.ALUOpX{Op: bpf.ALUOpXor}, bpf.ALUOpConstant{Op: bpf.ALUOpMul, Val: k[0]},
			bpf.StoreScratch{Src: bpf.RegA, N: i})
	}
	add(bpf.LoadScratch{Dst: bpf.RegA, N: 0}, bpf.LoadScratch{Dst: bpf.RegX, N: 1}, bpf.ALUOpX{Op: bpf.ALUOpAdd},
		bpf.TAX{}, bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 16}, bpf.ALUOpX{Op: bpf.ALUOpXor}, bpf.RetA{})
	here(&other)
	add(bpf.RetConstant{Val: 0})
	return all
}
