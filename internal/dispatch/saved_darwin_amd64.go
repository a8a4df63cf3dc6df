package dispatch

import "syscall"

// savedOnDemand reports whether 512-bit vectors are usable. macOS enables them for a thread on first use, and saves
// them correctly since version 21.3 of its kernel (golang.org/issue/49233).
func savedOnDemand() bool {
	has, err := syscall.SysctlUint32("hw.optional.avx512f")
	if err != nil || has == 0 {
		return false
	}
	release, err := syscall.Sysctl("kern.osrelease")
	return err == nil && atLeast(release, 21, 3)
}
