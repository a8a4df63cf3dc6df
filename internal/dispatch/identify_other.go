//go:build !amd64 && !(arm64 && linux && gc && !purego)

package dispatch

// identify returns zeroes: the CPU is unknown.
func identify() (vendor, model uint32) { return 0, 0 }
