//go:build gc && !purego && !ios

package dispatch

// HasDIT reports whether the CPU has PSTATE.DIT. Every Mac has it.
func HasDIT() bool { return true }
