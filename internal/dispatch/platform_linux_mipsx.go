//go:build mips || mipsle || mips64 || mips64le

package dispatch

import "unsafe"

// basePlatform returns AT_BASE_PLATFORM, or "" before Linux 5.0.
func basePlatform() string {
	const tag = 24
	address, ok := auxiliary(tag)
	if !ok || address == 0 {
		return ""
	}
	text := *(*unsafe.Pointer)(unsafe.Pointer(&address)) // system memory, not part of Go's heap
	n := 0
	for n < 16 && *(*byte)(unsafe.Add(text, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(text), n))
}
