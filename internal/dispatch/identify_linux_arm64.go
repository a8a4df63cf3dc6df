//go:build gc && !purego

package dispatch

// identify returns the implementer and the part of the current core. Programs may read them if Linux says so
// (Documentation/arch/arm64/cpu-feature-registers.rst).
func identify() (implementer, part uint32) {
	const cpuid = 1 << 11 // HWCAP_CPUID
	if hwcap, _ := hwcaps(); hwcap&cpuid == 0 {
		return 0, 0
	}
	register := midr()
	return uint32(register >> 24 & 0xff), uint32(register >> 4 & 0xfff)
}
