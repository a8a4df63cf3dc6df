// Package alias detects slices that share memory.
package alias

import "unsafe"

// Touch reports whether x, of xBytes, and y, of yBytes, share memory. Neither may be empty.
func Touch(x unsafe.Pointer, xBytes int, y unsafe.Pointer, yBytes int) bool {
	before := uintptr(xBytes - 1)
	return uintptr(x)-uintptr(y)+before < before+uintptr(yBytes)
}

// Overlap reports whether x and y share memory.
func Overlap(x, y []byte) bool {
	return len(x) > 0 && len(y) > 0 && Touch(unsafe.Pointer(unsafe.SliceData(x)), len(x), unsafe.Pointer(unsafe.SliceData(y)), len(y))
}

// Inexact reports whether x and y share memory but start at different addresses.
func Inexact(x, y []byte) bool {
	return unsafe.SliceData(x) != unsafe.SliceData(y) && Overlap(x, y)
}
