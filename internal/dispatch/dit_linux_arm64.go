//go:build gc && !purego

package dispatch

// HasDIT reports whether the CPU has PSTATE.DIT. Some emulators have it but report it only in the ID register, which
// Linux lets programs read if it says so.
func HasDIT() bool {
	const cpuid, dit = 1 << 11, 1 << 24 // HWCAP_CPUID, HWCAP_DIT
	hwcap, _ := hwcaps()
	return hwcap&dit != 0 || hwcap&cpuid != 0 && pfr0()>>48&15 != 0
}
