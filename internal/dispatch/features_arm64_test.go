package dispatch

import (
	"runtime"
	"testing"

	"golang.org/x/sys/cpu"
)

// TestAgainstSys compares with package cpu of x/sys, which does not detect features on Apple systems.
func TestAgainstSys(t *testing.T) {
	apple := runtime.GOOS == "darwin" || runtime.GOOS == "ios"
	theirs := map[string]bool{"neon": cpu.ARM64.HasASIMD, "aes": cpu.ARM64.HasAES || apple, "pmull": cpu.ARM64.HasPMULL || apple}
	for _, f := range features() {
		if want, known := theirs[f.name]; !known || f.has != want {
			t.Errorf("%s: %v, want %v", f.name, f.has, want)
		}
	}
}
