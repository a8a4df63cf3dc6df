//go:build arm || arm64 || riscv64

package dispatch

// hwcaps returns the two words of CPU features from Linux.
func hwcaps() (hwcap, hwcap2 uintptr) {
	const (
		atHwcap  = 16
		atHwcap2 = 26
	)
	hwcap, _ = auxiliary(atHwcap)
	hwcap2, _ = auxiliary(atHwcap2)
	return hwcap, hwcap2
}
