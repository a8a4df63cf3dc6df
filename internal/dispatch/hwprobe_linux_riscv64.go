package dispatch

import (
	"syscall"
	"unsafe"
)

// extensions returns those that all processors have, or 0: Linux tells since 6.5.
func extensions() uint64 {
	const (
		hwprobe    = 258 // the system call
		extensions = 4   // RISCV_HWPROBE_KEY_IMA_EXT_0
	)
	pair := struct {
		key   int64
		value uint64
	}{key: extensions}
	_, _, failed := syscall.RawSyscall6(hwprobe, uintptr(unsafe.Pointer(&pair)), 1, 0, 0, 0, 0)
	if failed != 0 || pair.key != extensions {
		return 0
	}
	return pair.value
}
