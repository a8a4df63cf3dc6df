package flow

import "unsafe"

// Slab returns memory for n values, all zero, in whole cache lines, and if it is large in huge pages. T has no pointers:
// the collector would not see them.
func Slab[T any](n int) []T {
	const page = 2 << 20
	var t T
	size, align := n*int(unsafe.Sizeof(t)), Line
	if size >= page {
		align = page
	}
	b := make([]byte, size+align)
	begin := unsafe.Pointer(unsafe.SliceData(b))
	b = b[-uintptr(begin)&uintptr(align-1):][:size]
	Huge(b)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}
