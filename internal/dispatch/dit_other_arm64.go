//go:build gc && !purego && !linux && !darwin && !ios

package dispatch

import "golang.org/x/sys/cpu"

// HasDIT reports whether the CPU has PSTATE.DIT, according to package cpu.
func HasDIT() bool { return cpu.ARM64.HasDIT }
