//go:build gc && !purego

package dispatch

// HasDIT reports whether the CPU has PSTATE.DIT: older ones have not, and to ask takes packages that may not be imported here.
func HasDIT() bool { return false }
