package dispatch

// cpuHas reads the features that Linux reports (arch/arm64/include/uapi/asm/hwcap.h).
func cpuHas() (neon, aes, pmull bool) {
	hwcap, _ := hwcaps()
	return hwcap>>1&1 != 0, hwcap>>3&1 != 0, hwcap>>4&1 != 0
}
