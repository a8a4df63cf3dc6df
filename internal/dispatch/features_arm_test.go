package dispatch

import (
	"testing"

	"golang.org/x/sys/cpu"
)

// TestAgainstSys compares with package cpu of x/sys.
func TestAgainstSys(t *testing.T) {
	armv6 := builtForARMv6 || cpu.ARM.HasTLS || cpu.ARM.HasVFPv3 || cpu.ARM.HasVFPv3D16 || cpu.ARM.HasNEON
	theirs := map[string]bool{"neon": cpu.ARM.HasNEON, "armv6": armv6, "aes": cpu.ARM.HasAES, "pmull": cpu.ARM.HasPMULL}
	for _, f := range features() {
		if want, known := theirs[f.name]; !known || f.has != want {
			t.Errorf("%s: %v, want %v", f.name, f.has, want)
		}
	}
}
