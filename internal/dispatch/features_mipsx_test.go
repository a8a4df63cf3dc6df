//go:build mips || mipsle || mips64 || mips64le

package dispatch

import "testing"

func TestRelease2(t *testing.T) {
	for platform, want := range map[string]bool{
		"mips32r2": true, "mips64r2": true, "mips32r5": true, "mips64r5": true, "mips32": false, "mips64": false, "mips32r6": false,
		"mips64r6": false, "mips32r1": false, "": false, "octeon2x": false, "mips32r20": false,
	} {
		if got := hasRelease2(platform); got != want {
			t.Errorf("%q: %v", platform, got)
		}
	}
}
