//go:build !gc || purego

package dispatch

// Without assembly there are no kernels that need features, and no way to detect them.

func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32) { return }

func xgetbv() (eax, edx uint32) { return }
