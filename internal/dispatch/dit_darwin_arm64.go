//go:build gc && !purego && !ios

package dispatch

// HasDIT reports whether the CPU has PSTATE.DIT: that of every Mac has.
func HasDIT() bool { return true }
