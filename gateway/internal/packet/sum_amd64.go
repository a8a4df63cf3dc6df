package packet

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// wide reports whether the CPU has the instructions of sumWide.
var wide = cpu.X86.HasAVX2

// sumWide returns the sum of blocks of 64 bytes, at least one and fewer than 2^28.
//
//go:noescape
func sumWide(p unsafe.Pointer, blocks int) uint64
