//go:build race

package afalg

import (
	"runtime"
	"unsafe"
)

// The race detector does not see the kernel's memory accesses, so these functions report them.

func raceRead(buffers ...[]byte) {
	for _, b := range buffers {
		if len(b) > 0 {
			runtime.RaceReadRange(unsafe.Pointer(&b[0]), len(b))
		}
	}
}

func raceWrite(b []byte) {
	if len(b) > 0 {
		runtime.RaceWriteRange(unsafe.Pointer(&b[0]), len(b))
	}
}
