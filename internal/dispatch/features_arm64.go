package dispatch

import (
	"runtime"

	"golang.org/x/sys/cpu"
)

// Every processor of Apple's has the crypto extensions, and package cpu does not ask there.
const apple = runtime.GOOS == "darwin" || runtime.GOOS == "ios"

var (
	aes   = apple || cpu.ARM64.HasAES
	pmull = apple || cpu.ARM64.HasPMULL
)

var features = map[string]*bool{
	"neon":  &cpu.ARM64.HasASIMD,
	"aes":   &aes,
	"pmull": &pmull,
}

// levels are the names of the levels of all primitives, best first.
var levels = []string{"ce", "neon6", "neon", "portable"}
