package dispatch

// detect asks Linux (Documentation/arch/riscv/hwprobe.rst). Every CPU that Go's programs run on has M.
func detect() []feature {
	const zbb = 1 << 4
	return []feature{{"m", true}, {"zbb", extensions()&zbb != 0}}
}
