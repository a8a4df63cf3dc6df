package dispatch

import "syscall"

// savedOnDemand: macOS enables 512-bit vectors for a thread that has used them, and saves them rightly from version 21.3 of
// its kernel on (golang.org/issue/49233).
func savedOnDemand() bool {
	has, err := syscall.SysctlUint32("hw.optional.avx512f")
	if err != nil || has == 0 {
		return false
	}
	release, err := syscall.Sysctl("kern.osrelease")
	return err == nil && atLeast(release, 21, 3)
}
