package dispatch

import (
	"syscall"
	"unsafe"
)

// extensions returns the extensions that all processors have, or 0. Linux reports them since 6.5. The auxiliary vector
// reports whether this process may use vectors, but some vendors' kernels set its bit for another vector version.
func extensions() uint64 {
	const (
		hwprobe    = 258     // system call number
		extensions = 4       // RISCV_HWPROBE_KEY_IMA_EXT_0
		v          = 1 << 2  // RISCV_HWPROBE_IMA_V
		vectors    = 1 << 21 // COMPAT_HWCAP_ISA_V
	)
	pair := struct {
		key   int64
		value uint64
	}{key: extensions}
	_, _, failed := syscall.RawSyscall6(hwprobe, uintptr(unsafe.Pointer(&pair)), 1, 0, 0, 0, 0)
	if failed != 0 || pair.key != extensions {
		return 0
	}
	if hwcap, _ := hwcaps(); hwcap&vectors == 0 {
		return pair.value &^ v
	}
	return pair.value
}
