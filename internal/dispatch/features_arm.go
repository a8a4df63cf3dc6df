package dispatch

// detect reads the features that Linux reports (arch/arm/include/uapi/asm/hwcap.h). Other systems report none.
func detect() []feature {
	hwcap, hwcap2 := hwcaps()
	const (
		neon     = 1 << 12
		vfpv3    = 1 << 13
		vfpv3d16 = 1 << 14
		tls      = 1 << 15
		aes2     = 1 << 0
		pmull2   = 1 << 1
	)
	// Builds for ARMv6 and later require ARMv6. Other builds detect features that came with ARMv6: the thread register,
	// or later floating-point units, which earlier CPUs never report.
	return []feature{
		{"neon", hwcap&neon != 0},
		{"armv6", builtForARMv6 || hwcap&(neon|vfpv3|vfpv3d16|tls) != 0},
		{"aes", hwcap2&aes2 != 0},
		{"pmull", hwcap2&pmull2 != 0},
	}
}
