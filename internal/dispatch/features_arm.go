package dispatch

import "golang.org/x/sys/cpu"

var features = map[string]*bool{
	"neon":  &cpu.ARM.HasNEON,
	"armv6": &hasARMv6,
	"aes":   &cpu.ARM.HasAES,
	"pmull": &cpu.ARM.HasPMULL,
}

// hasARMv6 is known to builds for ARMv6 and later. Others ask for what came with ARMv6: the system tells of the thread
// register or of later floating-point units, and never of them before.
var hasARMv6 = builtForARMv6 || cpu.ARM.HasTLS || cpu.ARM.HasVFPv3 || cpu.ARM.HasVFPv3D16 || cpu.ARM.HasNEON

// levels are the names of the levels of all primitives, best first.
var levels = []string{"ce32", "neon", "armv6", "portable"}
