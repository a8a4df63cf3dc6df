package flow

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Huge asks the kernel to put s in huge pages. Random accesses then miss only in the cache, and not also in the page
// tables. Without huge pages the program also works, at half the speed for a million connections.
func Huge[T any](s []T) {
	const page = 2 << 20
	var t T
	begin := uintptr(unsafe.Pointer(unsafe.SliceData(s)))
	end := begin + uintptr(len(s))*unsafe.Sizeof(t)
	skip := -begin & (page - 1)
	if begin+skip+page > end {
		return
	}
	size := (end - begin - skip) &^ (page - 1)
	unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(s)), skip)), size), unix.MADV_HUGEPAGE)
}
