package main

import (
	"encoding/binary"
	"testing"
)

// riscvKernels are like armKernels.
var riscvKernels = []testKernel{
	{riscv64, "m", "1: addi a3, a3, -1\n lwu a4, 8(a2)\n mulhu a5, a4, a3\n bnez a3, 1b\n beqz a4, 2f\n slliw a5, a5, 7\n j 2f\n2: nop", ""},
	{riscv64, "m, zbb", "roriw_zbb a3, a4, 25", ""},
	{riscv64, "m", "addi a3, a1, 320\n sd zero, -64(a3)\n mv a4, a3\n lbu a5, 3(a4)", ""},
	{riscv64, "m, v", "vsetvli a3, a4, e8, m8, ta, ma\n vle8.v v0, (a2)\n vxor.vv v8, v8, v0\n add a5, a5, a3\n vse8.v v8, (a5)", ""},
	{riscv64, "m, v", "addi a3, a1, 256\n vmv.v.x v3, a3\n vse8.v v0, (a3)", ""},
	{riscv64, "m, v, zvkned", "vsetivli zero, 4, e32, m1, ta, ma\n vaesem_vs_zvkned 20, 6\n vse32.v v20, (a2)", ""},
	{riscv64, "m, v", "vaesem_vs_zvkned 20, 6", "refuses"},
	{riscv64, "m, v", ".insn r 0x77, 2, 0x53, x20, x6, x6", "does not decode"},
	{riscv64, "m, v", "vse32.v v1, (a1)", "bytes 0 to 4 of scratch memory"},
	{riscv64, "m, v, zvkb", "vsetivli zero, 4, e32, m1, ta, ma\n vror_vi_zvkb v15, 25", ""},
	{riscv64, "m, v", "vror_vi_zvkb v15, 25", "refuses"},
	{riscv64, "m", "mv s11, a0", "s11: holds Go's goroutine"},
	{riscv64, "m", "ld a3, 8(s11)", "s11: holds Go's goroutine"},
	{riscv64, "m", "add a3, a4, s11", "s11: holds Go's goroutine"},
	{riscv64, "m", "bne a3, s11, 1f\n1:", "s11: holds Go's goroutine"},
	{riscv64, "m", "sd a3, -8(sp)", "sp: belongs to the caller's stack"},
	{riscv64, "m", "addi sp, sp, -16", "sp: belongs to the caller's stack"},
	{riscv64, "m", "mv a3, gp", "gp: belongs to the system"},
	{riscv64, "m", "ld a3, 0(tp)", "tp: belongs to the system"},
	{riscv64, "m", "mv ra, a3", "ra: holds the return address"},
	{riscv64, "m", "jal 1f\n1:", "ra: holds the return address"},
	{riscv64, "m", "call memcpy", "relocation against memcpy"},
	{riscv64, "m", "j sealane_other_neon", "relocation against sealane_other_neon"},
	{riscv64, "m", "lla a3, elsewhere", "relocation against elsewhere"},
	{riscv64, "m", "jr a3", "indirect jump"},
	{riscv64, "m", "beqz a3, 1f\n ret\n1:", "ret before the end"},
	{riscv64, "m", "1: j 1b + 64", "jumps out of the function"},
	{riscv64, "m", "1: beqz a3, 1b - 64", "jumps out of the function"},
	{riscv64, "m", "auipc a3, 0", "reads text"},
	{riscv64, "m", "j 1f\n nop\n add a3, a3, a4\n1:", "dead code: nothing leads here"},
	{riscv64, "m", "j 1f\n .word 0\n1:", "data in text: $d"},
	{riscv64, "m", "divu a3, a4, a5", "takes a time that depends on its data"},
	{riscv64, "m", "remw a3, a4, a5", "takes a time that depends on its data"},
	{riscv64, "m", "fadd.d fa0, fa1, fa2", "floating-point state"},
	{riscv64, "m", "fld fa0, 0(a2)", "floating-point state"},
	{riscv64, "m", "ecall", "traps, talks to the system"},
	{riscv64, "m", "ebreak", "traps, talks to the system"},
	{riscv64, "m", "fence", "traps, talks to the system"},
	{riscv64, "m", "amoadd.d a3, a4, (a2)", "not among the instructions"},
	{riscv64, "m", "roriw_zbb a3, a4, 25", "refuses"},
	{riscv64, "m", "roriw a3, a4, 25", "refuses"},
	{riscv64, "neon", "nop", "refuses"},
	{riscv64, "m", "vadd.vv v0, v0, v1", "refuses"},
	{riscv64, "m, v", "vadd.vx v0, v0, s11", "s11: holds Go's goroutine"},
	{riscv64, "m, v", "vluxei32.v v0, (a2), v8", "not among the instructions"},
	{riscv64, "m, v", "vdivu.vv v0, v0, v1", "not among the instructions"},
	{riscv64, "m, v", "vfadd.vv v0, v0, v1", "not among the instructions"},
	{riscv64, "m, v", "vse8.v v0, (a1)", "bytes 0 to 1 of scratch memory"},
	{riscv64, "m, v", "vsetvli a1, a3, e8, m1, ta, ma", "may not point to scratch here"},
	{riscv64, "m", "sd a3, 248(a1)", "bytes 248 to 256 of scratch memory"},
	{riscv64, "m", "addi a3, a1, 2040\n addi a3, a3, 2040\n sw a3, 16(a3)", "bytes 4096 to 4100 of scratch memory"},
	{riscv64, "m", "mv a3, a1\n lbu a3, 0(a3)", "bytes 0 to 1 of scratch memory"},
	{riscv64, "m", "mv a1, a3", "may not point to scratch here"},
	{riscv64, "m", "ld a1, 0(a2)", "may not point to scratch here"},
	{riscv64, "m", "add a1, a1, a3", "may not point to scratch here"},
	{riscv64, "m", "1: addi a1, a1, 8\n bnez a3, 1b", "may not point to scratch here"},
	{riscv64, "m", "addi a1, a1, 64", "points 64 bytes past scratch"},
}

// TestResolveRISCV compares with the encodings of the instruction set manual, chapter 2.5, at both ends of the ranges.
func TestResolveRISCV(t *testing.T) {
	for _, c := range []struct {
		word     uint32
		distance int64
		kind     uint32
		want     uint32 // 0: refused
	}{
		{0x00068063, 4094, 16, 0x7e068fe3}, {0x00068063, -4096, 16, 0x80068063}, {0x00068063, 4096, 16, 0}, {0x00068063, 3, 16, 0},
		{0x0000006f, 0xffffe, 17, 0x7ffff06f}, {0x0000006f, -0x100000, 17, 0x8000006f}, {0x0000006f, 0x100000, 17, 0}, {0x0000006f, 4, 18, 0},
	} {
		const at = 1 << 21
		code := make([]byte, at+4)
		binary.LittleEndian.PutUint32(code[at:], c.word)
		ok := resolveRISCV(code, at, uint64(at+c.distance), c.kind)
		if got := binary.LittleEndian.Uint32(code[at:]); ok != (c.want != 0) || ok && got != c.want {
			t.Errorf("%#x by %d: %#x, %v", c.word, c.distance, got, ok)
		}
	}
	if resolveRISCV(make([]byte, 8), 6, 0, 16) {
		t.Error("a jump past the end went unnoticed")
	}
}

// TestDecodeRISCV compares with the encodings of the instructions' chapters ("RISC-V Cryptography Extensions Volume II", 3).
func TestDecodeRISCV(t *testing.T) {
	for word, want := range map[uint32]string{
		0x4bf4afd7: "vrev8.v v31,v31", 0xb3ca2c77: "vghsh.vv v24,v28,v20", 0xa3c8ac77: "vgmul.vv v24,v28", 0xa613aa77: "vaesz.vs v20,v1",
		0xa6212a77: "vaesem.vs v20,v2", 0xa6f1aa77: "vaesef.vs v20,v15", 0x8a252177: "vaeskf1.vi v2,v2,10", 0xaa3721f7: "vaeskf2.vi v3,v3,14",
		0x524cb257: "vror.vi v4,v4,25", 0x4a642257: "vbrev8.v v4,v6", 0xa6e02e77: "vaesdm.vs v28,v14", 0xa610ae77: "vaesdf.vs v28,v1",
		0xa2612a77: "", // vaesem.vv
		0xa4612a77: "", // masked
		0x564cb257: "", // vror.vi by 32 or more
		0xa6632a77: "", // not defined
	} {
		if got := decodeRISCV(binary.LittleEndian.AppendUint32(nil, word)); got != want {
			t.Errorf("%#x: %q, want %q", word, got, want)
		}
	}
}
