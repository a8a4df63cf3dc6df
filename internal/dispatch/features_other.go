//go:build !amd64 && !arm && !arm64

package dispatch

var features map[string]*bool

// levels are the names of the levels of all primitives, best first.
var levels = []string{"portable"}
