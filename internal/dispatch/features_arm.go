package dispatch

// detect reads what Linux tells of the CPU (arch/arm/include/uapi/asm/hwcap.h). Other systems tell nothing.
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
	// Builds for ARMv6 and later know it of themselves. Others ask for what came with ARMv6: the system tells of the thread
	// register or of later floating-point units, and never of them before.
	return []feature{
		{"neon", hwcap&neon != 0},
		{"armv6", builtForARMv6 || hwcap&(neon|vfpv3|vfpv3d16|tls) != 0},
		{"aes", hwcap2&aes2 != 0},
		{"pmull", hwcap2&pmull2 != 0},
	}
}
