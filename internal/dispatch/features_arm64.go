package dispatch

import "golang.org/x/sys/cpu"

var features = map[string]*bool{
	"neon":  &cpu.ARM64.HasASIMD,
	"aes":   &cpu.ARM64.HasAES,
	"pmull": &cpu.ARM64.HasPMULL,
}

// levels are the names of the levels of all primitives, best first.
var levels = []string{"ce", "neon6", "neon", "portable"}
