package main

import (
	"debug/elf"
	"regexp"
)

const (
	armConditions = `(?:eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|al)`

	stackReason    = "belongs to the caller's stack"
	linkReason     = "holds the return address"
	goroutine      = "holds Go's goroutine"
	leafReason     = "a kernel is a leaf: no calls"
	divideReason   = "takes a time that depends on its data"
	systemReason   = "traps, talks to the system or touches its state"
	floatReason    = "floating-point state belongs to the caller"
	literalReason  = "reads text; constants come through the third argument"
	stackUseReason = "uses the stack, which a kernel may not touch"
)

// arm is 32-bit ARM, without Thumb. Go's assembler keeps literal pools within 4 KiB of their use, so the machine code is a
// function apart.
var arm = &target{
	isa:     "arm",
	goarch:  "arm",
	class:   elf.ELFCLASS32,
	machine: elf.EM_ARM,

	macro:   "SEALANE_ARM_KERNELS",
	feature: "SEALANE_ARM_",
	rust:    true,

	gnu:     []string{"arm-linux-gnueabihf-gcc", "arm-linux-gnueabi-gcc", "gcc", "cc"},
	clang:   []string{"clang", "--target=armv7-linux-gnueabihf"},
	objdump: []string{"arm-linux-gnueabihf-objdump", "arm-linux-gnueabi-objdump", "objdump", "-m", "arm"}, // bare objects name no architecture
	llvm:    []string{"--triple=armv8-linux-gnueabihf", "--mattr=+neon,+aes"},

	rules: rules{
		comment:    regexp.MustCompile(` *(?:<[^>]*>|[@;].*)`),
		nop:        pattern(`nop(?: \{0\})?|mov r0, r0`),
		ret:        pattern(`bx lr`),
		jump:       pattern(`b` + armConditions + `?|bxj?` + armConditions + `?`),
		always:     pattern(`b|bal|bx`),
		jumpTarget: pattern(`(?:0x)?([0-9a-f]+)`),
		refused: []refusal{
			{pattern(`blx?` + armConditions + `?`), leafReason, nil},
			{pattern(`v?(?:push|pop)[a-z]*`), stackUseReason, nil},
			{pattern(`adr[a-z]*`), literalReason, nil},
			{pattern(`(?:ldr|str)d[a-z]*|ldrexd[a-z]*`), "r13: " + stackReason, regexp.MustCompile(`^(?:ip|r12), \[`)},
			{pattern(`[su]div[a-z]*|v(?:div|sqrt)[a-z]*(?:\.[a-z0-9]+)*`), divideReason, nil},
			{pattern(`v[a-z0-9]+(?:\.[a-z0-9]+)*\.f(?:16|32|64)(?:\.[a-z0-9]+)*`), floatReason, nil},
			{pattern(`v(?:mrs|msr)[a-z]*|fm[rx]+[a-z]*`), floatReason, nil},
			{pattern(`(?:svc|swi|smc|hvc|bkpt|hlt|udf|mrs|msr|cps|setend|srs|rfe|wf[ei]|sevl?|yield|mcrr?2?|mrrc2?|mrc2?|cdp2?|ldc2?l?|stc2?l?|swpb?|clrex|dmb|dsb|isb|[cd]sdb|ssbb|eret)[a-z]*`),
				systemReason, nil},
		},
		allowed: pattern(`(?:(?:mov|mvn|add|adc|sub|sbc|rsb|rsc|and|bic|orr|eor|lsl|lsr|asr|ror|rrx|mul|mla|umull|umlal|smull|smlal)s?|` +
			`cmp|cmn|tst|teq|movw|movt|umaal|mls|clz|rev|rev16|revsh|rbit|bfi|bfc|[us]bfx|[us]xta?[bh]|[us]xta?b16|pkhbt|pkhtb|` +
			`[us]?u?(?:add|sub)(?:8|16)|sel|smul[bt][bt]|smla[bt][bt]|smulw[bt]|smlaw[bt]|smmulr?|` +
			`(?:ldr|str)(?:b|h|d|sb|sh)?|(?:ldm|stm)(?:ia|ib|da|db|fd|ea|ed|fa)?|pldw?)` + armConditions + `?`),
		vector: regexp.MustCompile(`\b(?:q(?:1[0-5]|[0-9])|[ds](?:[12]?[0-9]|3[01]))\b`),
		reserved: merge(
			reserve(goroutine, "r10", "sl"),
			reserve(stackReason, "r13", "sp"),
			reserve(linkReason, "r14", "lr"),
			reserve("the program counter is for branches; constants come through r2", "r15", "pc"),
		),
		dataSymbols: regexp.MustCompile(`^\$[dt]`),
		dataflow:    checkARMState,
		scratch:     armScratchUse,
	},

	bodyAlign: 4,
	apart:     true,
	units:     []int{4},
	prologue: `	MOVW a+0(FP), R0
{{- if .Batch}}
	MOVW scratch+4(FP), R1
{{- else if .Frame}}
	SUB ${{.Below 4}}, R13, R1
	BIC $63, R1
{{- end}}
{{- if .Constants}}
	MOVW ${{.Constants}}<>(SB), R2
{{- end}}
`,
	budget: 32 << 10,
}

var arm64 = &target{
	isa:     "aarch64",
	goarch:  "arm64",
	class:   elf.ELFCLASS64,
	machine: elf.EM_AARCH64,

	macro:   "SEALANE_AARCH64_KERNELS",
	feature: "SEALANE_ARM_",
	rust:    true,

	gnu:     []string{"aarch64-linux-gnu-gcc", "gcc", "cc"},
	clang:   []string{"clang", "--target=aarch64-linux-gnu"},
	objdump: []string{"aarch64-linux-gnu-objdump", "objdump"},
	llvm:    []string{"--triple=aarch64-linux-gnu", "--mattr=+aes"},

	rules: rules{
		comment:    regexp.MustCompile(` *(?:<[^>]*>|//.*)`),
		nop:        pattern(`nop`),
		ret:        pattern(`ret`),
		jump:       pattern(`bc?(?:\.[a-z]+)?|cbn?z|tbn?z|bra?[ab]?z?`),
		always:     pattern(`b|br[a-z]*`),
		jumpTarget: pattern(`(?:[wx][0-9]+, (?:#(?:0x)?[0-9a-f]+, )?)?(?:0x)?([0-9a-f]+)`),
		refused: []refusal{
			{pattern(`blr?[a-z]*`), leafReason, nil},
			{pattern(`e?ret[a-z]*|drps`), "only a plain ret ends a kernel", nil},
			{pattern(`adrp?`), literalReason, nil},
			{pattern(`ldr[a-z]*|prfm`), literalReason, regexp.MustCompile(`^[^\[]*$`)},
			{pattern(`[su]div`), divideReason, nil},
			{pattern(`f(?:[a-ln-z]|m[a-np-z])[a-z0-9]*|[su]cvtf`), floatReason, nil},
			{pattern(`svc|hvc|smc|brk|hlt|udf|mrs|msr|sysl?|dc|ic|at|tlbi|wf[ei]t?|sevl?|yield|isb|dsb|dmb|sb|hint|bti|pac[a-z0-9]*|aut[a-z0-9]*|xpac[a-z]*|esb|psb|csdb|clrex|dcps[123]`),
				systemReason, nil},
		},
		allowed: pattern(`mov|movz|movn|movk|mvn|adds?|adcs?|subs?|sbcs?|negs?|ngcs?|ands?|bics?|orr|orn|eor|eon|lsl|lsr|asr|ror|extr|` +
			`lslv|lsrv|asrv|rorv|mul|madd|msub|mneg|umull|umulh|smull|smulh|umaddl|umsubl|smaddl|smsubl|umnegl|smnegl|` +
			`cmp|cmn|tst|ccmp|ccmn|csel|csinc|csinv|csneg|cset|csetm|cinc|cinv|cneg|rev|rev16|rev32|rbit|clz|cls|` +
			`[us]?bfm|bfi|bfxil|bfc|[us]bfi?z|[us]bfx|[us]xt[bhw]|ldu?r[bh]?|ldu?rs[bhw]|stu?r[bh]?|ldn?p|ldpsw|stn?p|prfm|fmov`),
		vector: regexp.MustCompile(`\b[vqdshb](?:[12]?[0-9]|3[01])\b`),
		reserved: merge(
			reserve(stackReason, "sp", "wsp", "x29", "w29", "fp"),
			reserve("belongs to the system", "x18", "w18"),
			reserve(goroutine, "x28", "w28"),
			reserve(linkReason, "x30", "w30", "lr"),
		),
		dataSymbols: regexp.MustCompile(`^\$d`),
		dataflow:    checkARMState,
		scratch:     armScratchUse,
	},

	bodyAlign: 64,
	units:     []int{4},
	top:       16,
	prologue: `	MOVBU ·hasDIT(SB), R3
	MOVD $0x1000000, R4
	CBZ R3, ready
	WORD $0xd53b42a4 // mrs x4, dit
	WORD $0xd503415f // msr dit, #1
ready:
	MOVD R4, dit-8(SP)
	MOVD a+0(FP), R0
{{- if .Batch}}
	MOVD scratch+8(FP), R1
{{- else if .Frame}}
	SUB ${{.Below 8}}, RSP, R1
	AND $~63, R1
{{- end}}
{{- if .Constants}}
	MOVD ${{.Constants}}<>(SB), R2
{{- end}}
`,
	epilogue: `	MOVD dit-8(SP), R4
	TBNZ $24, R4, done
	WORD $0xd503405f // msr dit, #0
done:
`,
	budget: 32 << 10,
}
