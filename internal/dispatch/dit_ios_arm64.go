//go:build gc && !purego

package dispatch

// HasDIT reports whether the CPU has PSTATE.DIT. It returns false: older CPUs lack it, and detection would need
// packages that must not be imported here.
func HasDIT() bool { return false }
