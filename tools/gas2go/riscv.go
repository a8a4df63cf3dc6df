package main

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"regexp"
)

var riscvAccess = &loadStore{
	scratch:  "a1",
	vector:   riscvVector,
	add:      pattern(`addi`),
	move:     pattern(`add|or`),
	zero:     "zero",
	noResult: pattern(`s[bhwd]`),
	// For vectors, these are the bytes of the first element.
	bytes: map[string]int{"vle8.v": 1, "vse8.v": 1, "vle32.v": 4, "vse32.v": 4, "lb": 1, "lbu": 1, "sb": 1, "lh": 2, "lhu": 2, "sh": 2, "lw": 4, "lwu": 4, "sw": 4, "ld": 8, "sd": 8},
}

var riscvVector = regexp.MustCompile(`\bv(?:[12]?[0-9]|3[01])\b`)

// riscv64 is RV64 without 16-bit instructions. Go's assembler compresses its own instructions, not the data of kernels.
var riscv64 = &target{
	isa:     "riscv64",
	goarch:  "riscv64",
	class:   elf.ELFCLASS64,
	machine: elf.EM_RISCV,

	fill:       []byte{0x13, 0, 0, 0},
	attributes: "rv64i2p1_m2p0_a2p1_f2p2_d2p2_v1p0_zicsr2p0_zbb1p0",

	macro:   "SEALANE_RISCV64_KERNELS",
	feature: "SEALANE_RISCV_",
	rust:    true,

	gnu:     []string{"riscv64-linux-gnu-gcc", "gcc", "cc"},
	clang:   []string{"clang", "--target=riscv64-linux-gnu"},
	objdump: []string{"riscv64-linux-gnu-objdump", "objdump", "-M", "no-aliases"},
	llvm:    []string{"--triple=riscv64-linux-gnu", "--mattr=+m,+a,+f,+d,+zbb,+v", "-M", "no-aliases"},

	rules: rules{
		comment:    regexp.MustCompile(` *(?:<[^>]*>|#.*)`),
		nop:        pattern(`addi zero, ?zero, ?0`),
		ret:        pattern(`jalr zero, ?(?:0|0x0)\(ra\)`),
		jump:       pattern(`jalr?|beq|bne|bltu?|bgeu?`),
		always:     pattern(`jalr?`),
		jumpTarget: pattern(`(?:[a-z][a-z0-9]*, ?){1,2}(?:0x)?([0-9a-f]+)`),
		refused: []refusal{
			{pattern(`div[uw]*|rem[uw]*`), divideReason, nil},
			{pattern(`ecall|ebreak|[ums]ret|wfi|fence.*|csr.*|sfence.*|c\..*|unimp|pause`), systemReason, nil},
			{pattern(`auipc`), literalReason, nil},
			{pattern(`f[a-z].*`), floatReason, nil},
		},
		// Only vector instructions whose time does not depend on data (Zvkt), with addresses a constant apart, are
		// allowed.
		allowed: pattern(`vseti?vli|v[ls]e(?:8|32)\.v|vssseg8e32\.v|v(?:add|xor|or|sll|srl)\.v[vxi]|vmv\.v\.[vxi]|vid\.v|vmv1r\.v|vmv\.(?:x\.s|s\.x)|vslide1?down\.vx|vslideup\.vi|` +
			`vror\.vi|vb?rev8\.v|vghsh\.vv|vgmul\.vv|vaes(?:z|em|ef|dm|df)\.vs|vaeskf[12]\.vi|` +
			`l[bhw]u?|ld|s[bhwd]|lui|addi?w?|subw?|xori?|ori?|andi?|slti?u?|s[rl]li?w?|srai?w?|mul|mulhu|mulw|rori?w?|rolw?|andn|orn|xnor|rev8`),
		vector: regexp.MustCompile(`\b\B`), // matches nothing
		reserved: merge(
			reserve(linkReason, "ra"),
			reserve(stackReason, "sp"),
			reserve("belongs to the system", "gp", "tp"),
			reserve(goroutine, "s11"),
		),
		dataSymbols: pattern(`\$d.*`),
		decode:      decodeRISCV,
		resolve:     resolveRISCV,
		dataflow:    riscvAccess.check,
		scratch:     riscvAccess.scratchUse,
	},

	bodyAlign: 64,
	units:     []int{4},
	prologue: `	MOV a+0(FP), X10
{{- if .Batch}}
	MOV scratch+8(FP), X11
{{- else if .Frame}}
	ADD $-{{.Below 8}}, X2, X11
	AND $-64, X11, X11
{{- end}}
{{- if .Constants}}
	MOV ${{.Constants}}<>(SB), X12
{{- end}}
`,
	budget: 32 << 10,
}

// resolveRISCV applies the relocations that assemblers leave for jumps inside a function, since linkers may remove
// code (RISC-V ELF psABI, 8.4). .option norelax forbids that, so the distance is final.
func resolveRISCV(code []byte, offset, to uint64, kind uint32) bool {
	const branch, jal = 16, 17 // R_RISCV_BRANCH, R_RISCV_JAL
	if offset+4 > uint64(len(code)) {
		return false
	}
	word := binary.LittleEndian.Uint32(code[offset:])
	distance := int64(to - offset)
	d := uint32(distance)
	switch {
	case distance&1 != 0:
		return false
	case kind == branch && distance == distance<<51>>51:
		word = word&0x01fff07f | d>>12&1<<31 | d>>5&0x3f<<25 | d>>1&15<<8 | d>>11&1<<7
	case kind == jal && distance == distance<<43>>43:
		word = word&0xfff | d>>20&1<<31 | d>>1&0x3ff<<21 | d>>11&1<<20 | d>>12&0xff<<12
	default:
		return false
	}
	binary.LittleEndian.PutUint32(code[offset:], word)
	return true
}

// riscvAttributes is the section that lists the extensions for decoders: vendor riscv, of the whole file,
// Tag_RISCV_arch (psABI, 8.6).
func riscvAttributes(arch string) []byte {
	const wholeFile, tagArch = 1, 5
	tags := append([]byte{tagArch}, arch+"\x00"...)
	file := append(binary.LittleEndian.AppendUint32([]byte{wholeFile}, uint32(5+len(tags))), tags...)
	vendor := append([]byte("riscv\x00"), file...)
	return append(binary.LittleEndian.AppendUint32([]byte{'A'}, uint32(4+len(vendor))), vendor...)
}

// riscvVectorCryptography are the instructions of Zvkb, Zvkg and Zvkned in kernels ("RISC-V Cryptography Extensions
// Volume II", version 1.0, chapter 3). Disassemblers support them from GNU binutils 2.42 and LLVM 18 on. An entry
// gives the fields that are not operands, and how the operands vd (bits 7 to 11), vs1 (15 to 19) and vs2 (20 to 24)
// are printed.
var riscvVectorCryptography = []struct {
	mask, word uint32
	format     string
}{
	{0xfe00707f, 0x52003057, "vror.vi v%[1]d,v%[3]d,%[2]d"},
	{0xfe0ff07f, 0x4a04a057, "vrev8.v v%[1]d,v%[3]d"},
	{0xfe0ff07f, 0x4a042057, "vbrev8.v v%[1]d,v%[3]d"},
	{0xfe00707f, 0xb2002077, "vghsh.vv v%[1]d,v%[3]d,v%[2]d"},
	{0xfe0ff07f, 0xa208a077, "vgmul.vv v%[1]d,v%[3]d"},
	{0xfe0ff07f, 0xa603a077, "vaesz.vs v%[1]d,v%[3]d"},
	{0xfe0ff07f, 0xa6012077, "vaesem.vs v%[1]d,v%[3]d"},
	{0xfe0ff07f, 0xa601a077, "vaesef.vs v%[1]d,v%[3]d"},
	{0xfe0ff07f, 0xa6002077, "vaesdm.vs v%[1]d,v%[3]d"},
	{0xfe0ff07f, 0xa600a077, "vaesdf.vs v%[1]d,v%[3]d"},
	{0xfe00707f, 0x8a002077, "vaeskf1.vi v%[1]d,v%[3]d,%[2]d"},
	{0xfe00707f, 0xaa002077, "vaeskf2.vi v%[1]d,v%[3]d,%[2]d"},
}

func decodeRISCV(code []byte) string {
	word := binary.LittleEndian.Uint32(code)
	for _, i := range riscvVectorCryptography {
		if word&i.mask == i.word {
			return fmt.Sprintf(i.format+"%.[4]s", word>>7&31, word>>15&31, word>>20&31, "")
		}
	}
	return ""
}
