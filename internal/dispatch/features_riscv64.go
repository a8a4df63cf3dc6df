package dispatch

// detect asks Linux (Documentation/arch/riscv/hwprobe.rst). Every CPU that Go's programs run on has M.
func detect() []feature {
	const v, zbb = 1 << 2, 1 << 4 // RISCV_HWPROBE_IMA_V, RISCV_HWPROBE_EXT_ZBB
	has := extensions()
	return []feature{{"m", true}, {"zbb", has&zbb != 0}, {"v", has&v != 0}}
}
