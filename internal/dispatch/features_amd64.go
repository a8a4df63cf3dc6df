package dispatch

import "golang.org/x/sys/cpu"

var hasVAES, hasVPCLMULQDQ = cpu.X86.HasAVX512VAES, cpu.X86.HasAVX512VPCLMULQDQ

var features = map[string]*bool{
	"sse2":         &cpu.X86.HasSSE2,
	"sse4.1":       &cpu.X86.HasSSE41,
	"ssse3":        &cpu.X86.HasSSSE3,
	"aes":          &cpu.X86.HasAES,
	"pclmul":       &cpu.X86.HasPCLMULQDQ,
	"avx":          &cpu.X86.HasAVX,
	"avx2":         &cpu.X86.HasAVX2,
	"adx":          &cpu.X86.HasADX,
	"bmi":          &cpu.X86.HasBMI1,
	"bmi2":         &cpu.X86.HasBMI2,
	"avx512f":      &cpu.X86.HasAVX512F,
	"avx512vl":     &cpu.X86.HasAVX512VL,
	"avx512bw":     &cpu.X86.HasAVX512BW,
	"avx512dq":     &cpu.X86.HasAVX512DQ,
	"avx512ifma":   &cpu.X86.HasAVX512IFMA,
	"avx512_vbmi":  &cpu.X86.HasAVX512VBMI,
	"avx512_vbmi2": &cpu.X86.HasAVX512VBMI2,
	"vaes":         &hasVAES,
	"vpclmulqdq":   &hasVPCLMULQDQ,
}

// levels are the names of the levels of all primitives, best first.
var levels = []string{"avx512", "avx512vl", "avx2", "aesni", "ssse3", "portable"}
