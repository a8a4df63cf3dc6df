package flow

import "unsafe"

// Slab returns zeroed memory for n values, aligned to cache lines, and in huge pages if it is large. T must not contain
// pointers: the garbage collector would not see them.
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
