//go:build !amd64

package dispatch

var features map[string]*bool
