//go:build gc && !purego

package dispatch

import "golang.org/x/sys/cpu"

func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)

// x/sys/cpu tells of these only where there is AVX-512. Vectors of 256 bits are enough, and those who have AVX2 have the
// leaf.
func init() {
	if cpu.X86.HasAVX2 {
		_, _, ecx, _ := cpuid(7, 0)
		hasVAES = ecx&(1<<9) != 0
		hasVPCLMULQDQ = ecx&(1<<10) != 0
	}
}
