package dispatch

import "sync"

// A feature is an instruction set extension, by its name in the kernels' isa lines without the dot.
type feature struct {
	name string
	has  bool // the CPU, and the operating system where it matters
}

var features = sync.OnceValue(detect)

// Has says whether the CPU, and the operating system where it matters, has a feature.
func Has(name string) bool {
	for _, f := range features() {
		if f.name == name {
			return f.has
		}
	}
	return false
}
