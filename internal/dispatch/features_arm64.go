package dispatch

import "golang.org/x/sys/cpu"

var features = map[string]*bool{
	"neon": &cpu.ARM64.HasASIMD,
}
