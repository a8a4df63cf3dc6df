package dispatch

// detect asks Linux (Documentation/arch/riscv/hwprobe.rst). Every CPU that runs Go programs has M.
func detect() []feature {
	const v, zbb, zvbb, zvkb, zvkg, zvkned = 1 << 2, 1 << 4, 1 << 17, 1 << 19, 1 << 20, 1 << 21 // RISCV_HWPROBE_*
	has := extensions()
	return []feature{{"m", true}, {"zbb", has&zbb != 0}, {"v", has&v != 0}, {"zvkb", has&(zvbb|zvkb) != 0}, {"zvkg", has&zvkg != 0},
		{"zvkned", has&zvkned != 0}}
}
