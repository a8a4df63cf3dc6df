package dispatch

import (
	"testing"

	"golang.org/x/sys/cpu"
)

// TestAgainstSys compares with package cpu of x/sys.
func TestAgainstSys(t *testing.T) {
	theirs := map[string]bool{"m": true, "zbb": cpu.RISCV64.HasZbb, "v": cpu.RISCV64.HasV, "zvkb": cpu.RISCV64.HasZvkb || cpu.RISCV64.HasZvbb,
		"zvkg": cpu.RISCV64.HasZvkg}
	for _, f := range features() {
		if f.name == "zvkned" { // x/sys does not report it
			continue
		}
		if want, known := theirs[f.name]; !known || f.has != want {
			t.Errorf("%s: %v, want %v", f.name, f.has, want)
		}
	}
}
