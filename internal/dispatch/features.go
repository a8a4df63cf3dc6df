package dispatch

import "sync"

// A feature is an instruction set extension. Its name is that in the kernels' isa lines, without the dot.
type feature struct {
	name string
	has  bool // supported by the CPU, and by the operating system where that matters
}

var features = sync.OnceValue(detect)

// Has reports whether the CPU has a feature, and the operating system supports it where that matters.
func Has(name string) bool {
	for _, f := range features() {
		if f.name == name {
			return f.has
		}
	}
	return false
}
