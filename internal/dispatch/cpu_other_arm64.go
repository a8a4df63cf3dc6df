//go:build !linux && !darwin && !ios

package dispatch

import "golang.org/x/sys/cpu"

// cpuHas: each of these systems tells in its own way, which package cpu knows. It imports package os.
func cpuHas() (neon, aes, pmull bool) {
	return cpu.ARM64.HasASIMD, cpu.ARM64.HasAES, cpu.ARM64.HasPMULL
}
