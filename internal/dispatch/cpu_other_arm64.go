//go:build !linux && !darwin && !ios

package dispatch

import "golang.org/x/sys/cpu"

// cpuHas uses package cpu, which knows how each of these systems reports features. That package imports os.
func cpuHas() (neon, aes, pmull bool) {
	return cpu.ARM64.HasASIMD, cpu.ARM64.HasAES, cpu.ARM64.HasPMULL
}
