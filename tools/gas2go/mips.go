package main

import (
	"debug/elf"
	"regexp"
	"slices"
	"strings"
)

var mipsAccess = &loadStore{
	scratch:  "a1",
	add:      pattern(`d?addiu`),
	move:     pattern(`d?addu|or`),
	zero:     "zero",
	noResult: pattern(`s[bhwd]|s[wd][lr]|maddu|d?multu|mtlo|mthi`),
	bytes:    map[string]int{"lbu": 1, "lb": 1, "sb": 1, "lhu": 2, "lh": 2, "sh": 2, "lw": 4, "lwu": 4, "sw": 4, "ld": 8, "sd": 8},
}

const mipsAllowed = `l[bh]u?|lw[lr]?|s[bhw]|sw[lr]|lui|li|move|addi?u|subu|xori?|ori?|andi?|nor|slti?u?|s[rl]lv?|srav?|ror|rotrv?|wsbh|ins|ext|` +
	`multu|maddu|mul|m[ft](?:lo|hi)|movn|movz|clz|se[bh]`

// mips is MIPS32 release 2, big-endian, without 16-bit instructions.
var mips = &target{
	isa:     "mips",
	goarch:  "mips",
	class:   elf.ELFCLASS32,
	machine: elf.EM_MIPS,

	bigEndian: true,
	flags:     0x70001000, // EF_MIPS_ARCH_32R2, EF_MIPS_ABI_O32
	fill:      []byte{0, 0, 0, 0},

	macro:   "SEALANE_MIPS_KERNELS",
	feature: "SEALANE_MIPS_",
	delay:   true,

	gnu:        []string{"mips-linux-gnu-gcc", "gcc", "cc"},
	gnuOptions: []string{"-EB"},
	clang:      []string{"clang", "--target=mips-linux-gnu"},
	objdump:    []string{"mips-linux-gnu-objdump", "objdump"},
	// No llvm: some versions print the distance of jumps, others the target.

	rules: rules{
		comment:    regexp.MustCompile(` *(?:<[^>]*>|#.*)`),
		nop:        pattern(`nop`),
		ret:        pattern(`jr ra`),
		jump:       pattern(`b(?:eqz?|nez?|[gl][et]z|c1.*|posge.*)?l?|b[gl][et]zall?|j|jalr?(?:\.hb)?|jr(?:\.hb)?|jalx|b(?:al)?c?`),
		always:     pattern(`b|j|jr`),
		jumpTarget: pattern(`(?:[a-z][a-z0-9]*,){0,2}(?:0x)?([0-9a-f]+)`),
		refused: []refusal{
			{pattern(`jal.*|bal.*|b..zall?`), leafReason, nil},
			{pattern(`b.*l`), "a branch whose delay slot may not run", regexp.MustCompile(`,`)},
			{pattern(`d?divu?|modu?`), divideReason, nil},
			{pattern(`syscall|break|t(?:eq|ne|ge|lt)i?u?|[emd][rf]?ret|wait|sync.*|rdhwr|d?m[ft]c.*|cache|eret|d?i|ll|sc|pref|pause`), systemReason, nil},
			{pattern(`[a-z0-9]+\.[sdwl]|[ls][wd]x?c1|c[tf]c1`), floatReason, nil},
		},
		allowed: pattern(mipsAllowed),
		vector:  regexp.MustCompile(`\b\B`), // matches nothing
		reserved: merge(
			reserve("belongs to Go's assembler", "s7"),
			reserve("belongs to the system", "k0", "k1", "gp"),
			reserve(stackReason, "sp"),
			reserve(goroutine, "s8", "fp"),
			reserve(linkReason, "ra"),
		),
		dataflow: mipsAccess.check,
		scratch:  mipsAccess.scratchUse,
	},

	bodyAlign: 4,
	units:     []int{4},
	prologue: `	MOVW a+0(FP), R4
{{- if .Batch}}
	MOVW scratch+4(FP), R5
{{- else if .Frame}}
	ADDU $-{{.Below 4}}, R29, R5
	MOVW $-64, R6
	AND R6, R5
{{- end}}
{{- if .Constants}}
	MOVW ${{.Constants}}<>(SB), R6
{{- end}}
`,
	budget: 32 << 10,
}

// mipsle is mips for the other byte order.
var mipsle = func() *target {
	t := *mips
	t.goarch, t.bigEndian = "mipsle", false
	t.gnuOptions = []string{"-EL"}
	t.clang = []string{"clang", "--target=mipsel-linux-gnu"}
	return &t
}()

// mips64 is MIPS64 release 2, big-endian.
var mips64 = func() *target {
	t := *mips
	t.isa, t.goarch = "mips64", "mips64"
	t.class, t.flags = elf.ELFCLASS64, 0x80000000 // EF_MIPS_ARCH_64R2; the ABI n64 has no flag
	t.macro = "SEALANE_MIPS64_KERNELS"
	t.gnu = []string{"mips64-linux-gnuabi64-gcc", "gcc", "cc"}
	t.clang = []string{"clang", "--target=mips64-linux-gnuabi64"}
	t.objdump = []string{"mips64-linux-gnuabi64-objdump", "objdump"}
	t.rules.allowed = pattern(mipsAllowed + `|lwu|[ls]d[lr]?|daddi?u|dsubu|ds[rl]l(?:32)?|dror(?:32)?|ds[bh][hd]|d(?:ins|ext)[mu]?|dmultu`)
	t.prologue = strings.NewReplacer("MOVW", "MOVV", "ADDU", "ADDVU", "+4(FP)", "+8(FP)", ".Below 4", ".Below 8").Replace(mips.prologue)
	return &t
}()

// mips64le is mips64 for the other byte order.
var mips64le = func() *target {
	t := *mips64
	t.goarch, t.bigEndian = "mips64le", false
	t.gnuOptions = []string{"-EL"}
	t.clang = []string{"clang", "--target=mips64el-linux-gnuabi64"}
	return &t
}()

// byISA are the targets with separate instruction sets.
func byISA(all []*target) (some []*target) {
	for _, t := range all {
		if !slices.ContainsFunc(some, func(s *target) bool { return s.isa == t.isa }) {
			some = append(some, t)
		}
	}
	return some
}
