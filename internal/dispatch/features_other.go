//go:build !amd64 && !arm && !arm64

package dispatch

var features map[string]*bool
