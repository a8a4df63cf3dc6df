//go:build !gc || purego

package dispatch

// Without assembly there is no kernel that would need a feature, and no way to ask for one.

func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32) { return }

func xgetbv() (eax, edx uint32) { return }
