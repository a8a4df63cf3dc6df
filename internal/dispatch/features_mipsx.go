//go:build mips || mipsle || mips64 || mips64le

package dispatch

// detect determines the CPU's release of MIPS32 or MIPS64. Go programs require only release 1.
func detect() []feature {
	name := "mips32r2"
	if ^uint(0)>>63 == 1 {
		name = "mips64r2"
	}
	return []feature{{name, hasRelease2(basePlatform())}}
}

// hasRelease2 parses Linux's name of a CPU (arch/mips/kernel/cpu-probe.c): mips32r2, mips64r5. Release 6 lacks some
// instructions of release 2.
func hasRelease2(platform string) bool {
	return len(platform) == 8 && (platform[:7] == "mips32r" || platform[:7] == "mips64r") && platform[7] >= '2' && platform[7] <= '5'
}
