//go:build !amd64 && !arm && !arm64

package dispatch

func detect() []feature { return nil }

// levels are the names of the levels of all primitives, best first.
var levels = []string{"portable"}

var microarchitectures = []Microarchitecture{{Name: "any CPU"}}
