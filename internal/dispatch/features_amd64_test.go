package dispatch

import (
	"testing"

	"golang.org/x/sys/cpu"
)

// TestAgainstSys compares with package cpu of x/sys, which reports VAES and VPCLMULQDQ only with AVX-512.
func TestAgainstSys(t *testing.T) {
	if highest, _, _, _ := cpuid(0, 0); highest == 0 {
		t.Skip("NOT RUN: built without assembly")
	}
	theirs := map[string]bool{
		"sse2": cpu.X86.HasSSE2, "sse4.1": cpu.X86.HasSSE41, "ssse3": cpu.X86.HasSSSE3, "aes": cpu.X86.HasAES,
		"pclmul": cpu.X86.HasPCLMULQDQ, "avx": cpu.X86.HasAVX, "avx2": cpu.X86.HasAVX2, "adx": cpu.X86.HasADX,
		"bmi": cpu.X86.HasBMI1, "bmi2": cpu.X86.HasBMI2, "avx512f": cpu.X86.HasAVX512F, "avx512vl": cpu.X86.HasAVX512VL,
		"avx512bw": cpu.X86.HasAVX512BW, "avx512dq": cpu.X86.HasAVX512DQ, "avx512ifma": cpu.X86.HasAVX512IFMA,
		"avx512_vbmi": cpu.X86.HasAVX512VBMI, "avx512_vbmi2": cpu.X86.HasAVX512VBMI2,
	}
	if cpu.X86.HasAVX512F {
		theirs["vaes"], theirs["vpclmulqdq"] = cpu.X86.HasAVX512VAES, cpu.X86.HasAVX512VPCLMULQDQ
	}
	for _, f := range features() {
		want, known := theirs[f.name]
		if !known && (f.name == "vaes" || f.name == "vpclmulqdq") {
			continue
		}
		if !known || f.has != want {
			t.Errorf("%s: %v, want %v", f.name, f.has, want)
		}
	}
}

func TestAtLeast(t *testing.T) {
	for release, want := range map[string]bool{
		"21.3.0": true, "21.3": true, "21.4.0": true, "22.0.0": true, "21.30.0": true, "210.0.0": true, "21.2.9": false,
		"20.9.9": false, "21": false, "22": true, "": false, "21.x": false, "99999999999999999999.1": false, "-22.1": false,
	} {
		if got := atLeast(release, 21, 3); got != want {
			t.Errorf("%q: %v", release, got)
		}
	}
}
