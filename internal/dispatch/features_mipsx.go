//go:build mips || mipsle || mips64 || mips64le

package dispatch

// detect asks which release of MIPS32 or MIPS64 the CPU has. Go's programs run from the first on.
func detect() []feature {
	name := "mips32r2"
	if ^uint(0)>>63 == 1 {
		name = "mips64r2"
	}
	return []feature{{name, hasRelease2(basePlatform())}}
}

// hasRelease2 takes what Linux calls a CPU (arch/mips/kernel/cpu-probe.c): mips32r2, mips64r5. Release 6 lacks some of release 2's
// instructions.
func hasRelease2(platform string) bool {
	return len(platform) == 8 && (platform[:7] == "mips32r" || platform[:7] == "mips64r") && platform[7] >= '2' && platform[7] <= '5'
}
