package main

import (
	"debug/elf"
	"regexp"
)

// target is one architecture: where its kernels lie, the programs that assemble and decode them, and their rules.
type target struct {
	gnuOptions []string // further options of GNU as

	isa     string // asm/<isa>/*.S
	goarch  string // internal/kernel/*_<goarch>.s
	class   elf.Class
	machine elf.Machine

	bigEndian  bool
	flags      uint32 // of the ELF header
	fill       []byte // GNU as ends sections with it
	attributes string // RISC-V: the extensions that decoders need to know of

	macro   string // C: defined where there are the kernels
	feature string // C: prefix of its feature names
	rust    bool   // the crate has the kernels, too

	delay bool // a jump's next instruction runs before its target

	gnu   []string // names of a compiler driver that uses GNU as; the first installed one is used
	clang []string // clang and the option that makes it assemble for this target

	objdump []string // names of GNU objdump for this target, and its options
	llvm    []string // llvm-objdump's options

	rules rules

	bodyAlign int    // alignment of a kernel's first instruction in Go
	apart     bool   // the machine code is a separate function: Go's assembler would put literal pools into it
	units     []int  // bytes per data directive of Go's assembler, largest first
	epilogue  string // runs after the machine code
	top       int    // bytes at the frame's top for prologue and epilogue
	prologue  string // text/template over prologueData; puts args, scratch and consts into the convention's registers

	budget int // bytes of machine code of all levels of one primitive together
}

// rules is the kernel convention as far as it can be seen in one instruction's disassembly; both disassemblers' dialects
// must match. Patterns see lower case text without comments.
type rules struct {
	comment     *regexp.Regexp // suffixes that the disassembler adds to an instruction
	nop         *regexp.Regexp // whole instruction: padding, allowed where nothing runs
	ret         *regexp.Regexp // whole instruction: the one way out
	jump        *regexp.Regexp // mnemonic: continues at its operand
	always      *regexp.Regexp // mnemonic of a jump that never falls through
	jumpTarget  *regexp.Regexp // operands of a direct jump; group 1 is the target in hexadecimal
	refused     []refusal      // mnemonics refused with a separate reason
	allowed     *regexp.Regexp // mnemonics that touch no state but their operands and the flags
	vector      *regexp.Regexp // operands that make any other mnemonic acceptable
	reserved    map[string]string
	dataSymbols *regexp.Regexp                                         // mapping symbols that announce data or another instruction set in text, or nil
	decode      func(code []byte) string                               // instructions that disassemblers may not know, or ""; or nil
	resolve     func(code []byte, offset, to uint64, kind uint32) bool // applies a jump's relocation; nil if assemblers leave no relocation
	dataflow    func(*target, *function, *layout) []error              // checks that need the whole function
	scratch     func(*target, *function, *layout) (int, []error)
}

// word finds the names in an operand list. The x of 0x30 does not start a name.
var word = regexp.MustCompile(`\b[a-z_][a-z0-9_]*`)

type refusal struct {
	mnemonic *regexp.Regexp
	reason   string
	operands *regexp.Regexp // only with these, or nil
}

// prologueData is what a target's prologue template may use.
type prologueData struct {
	Constants string // symbol of the constants, or ""
	Batch     bool   // scratch is an argument
	Frame     bool   // scratch is in the frame, without the part that saves registers
	Save      int    // bytes of that part
}

// Below is the distance below the stack pointer of the scratch memory's address, before that is rounded down to a
// multiple of scratchAlign. The part after the saved registers then starts at least first bytes above the stack
// pointer.
func (d prologueData) Below(first int) int { return d.Save - first - (scratchAlign - 1) }

func pattern(s string) *regexp.Regexp { return regexp.MustCompile("^(?:" + s + ")$") }

func reserve(reason string, registers ...string) map[string]string {
	m := make(map[string]string)
	for _, r := range registers {
		m[r] = reason
	}
	return m
}

func merge(ms ...map[string]string) map[string]string {
	all := make(map[string]string)
	for _, m := range ms {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}

// targets are all architectures that kernels are translated for.
var targets = []*target{amd64, arm64, arm, riscv64, mips, mipsle, mips64, mips64le}

var amd64 = &target{
	isa:     "x86_64",
	goarch:  "amd64",
	class:   elf.ELFCLASS64,
	machine: elf.EM_X86_64,

	macro:   "SEALANE_X86_64_KERNELS",
	feature: "SEALANE_X86_",
	rust:    true,

	gnu:        []string{"x86_64-linux-gnu-gcc", "gcc", "cc"},
	gnuOptions: []string{"-Wa,-O0", "-Wa,-mx86-used-note=no"},
	clang:      []string{"clang", "--target=x86_64-linux-gnu"},
	objdump:    []string{"x86_64-linux-gnu-objdump", "objdump", "-M", "intel"},
	llvm:       []string{"--x86-asm-syntax=intel"},

	rules: rules{
		comment:    regexp.MustCompile(` *(?:<[^>]*>|#.*)`),
		nop:        pattern(`(?:(?:data16|cs) )*nop(?: .*)?`),
		ret:        pattern(`retq?`),
		jump:       pattern(`j[a-z]+|loopn?[ez]?`),
		always:     pattern(`jmpq?`),
		jumpTarget: pattern(`(?:0x)?([0-9a-f]+)`),
		refused: []refusal{
			{pattern(`l?call[a-z]*`), "a kernel is a leaf: no calls", nil},
			{pattern(`push[a-z]*|pop(?:[adfq]|ad|aw|fd|fq|fw|w)?|enter[a-z]*|leave[a-z]*`), "uses the stack, which a kernel may not touch", nil},
			{pattern(`retf?[a-z]*|l?ret[a-z]*|iret[a-z]*`), "only a plain ret ends a kernel", nil},
			{pattern(`syscall|sysenter|sysexit[a-z]*|sysret[a-z]*|int[0-9o]?|int1|icebp|hlt|ud[012][a-z]*|in[sbwld]*|out[sbwld]*|[cs]ti|cpuid|rdtscp?|rdpmc|rdrand|rdseed|xgetbv`),
				"traps, talks to the system or reads a clock", nil},
			{pattern(`i?div[bwlq]?`), "takes a time that depends on its data", nil},
		},
		allowed: pattern(`mov(?:abs|zx|sx|sxd|be|nti)?|lea|add|adc|adcx|adox|sub|sbb|inc|dec|neg|mul|imul|mulx|and|andn|or|xor|not|` +
			`cmp|test|shl|shr|sal|sar|shld|shrd|shlx|shrx|sarx|rol|ror|rorx|rcl|rcr|bt|btc|btr|bts|bsf|bsr|bswap|bzhi|bextr|blsi|blsr|` +
			`blsmsk|pext|pdep|popcnt|lzcnt|tzcnt|cmov[a-z]+|set[a-z]+|xchg|cbw|cwde|cdqe|cwd|cdq|cqo|clc|stc|cmc|prefetch[a-z0-9]+|` +
			`vzeroupper|vzeroall|[sml]fence`),
		vector: regexp.MustCompile(`\b(?:[xyz]mm(?:[12]?[0-9]|3[01])|k[0-7])\b`),
		reserved: merge(
			reserve("belongs to the caller's stack", "rsp", "esp", "sp", "spl", "rbp", "ebp", "bp", "bpl"),
			reserve("segment registers belong to the system", "cs", "ds", "es", "fs", "gs", "ss"),
			reserve("reads text or needs a relocation; constants come through rdx", "rip", "eip"),
			reserve("x87 and MMX state belongs to the caller", "st", "mm0", "mm1", "mm2", "mm3", "mm4", "mm5", "mm6", "mm7"),
		),
		dataflow: checkX86State,
		scratch:  scratchUse,
	},

	bodyAlign: 64,
	units:     []int{8, 4, 2, 1},
	prologue: `	MOVQ a+0(FP), DI
{{- if .Batch}}
	MOVQ scratch+8(FP), SI
{{- else if .Frame}}
	LEAQ -{{.Below 0}}(SP), SI
	ANDQ $-64, SI
{{- end}}
{{- if .Constants}}
	LEAQ {{.Constants}}<>(SB), DX
{{- end}}
`,
	budget: 64 << 10,
}
