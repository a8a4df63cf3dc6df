package dispatch_test

import (
	"slices"
	"testing"

	"github.com/sealane/sealane/internal/dispatch"
	"github.com/sealane/sealane/internal/kernel"
)

// TestFeatures checks that dispatch detects every feature that a kernel needs: with a misspelled name, the level would
// never run.
func TestFeatures(t *testing.T) {
	for _, row := range slices.Concat(kernel.ChaCha20Poly1305Levels.Rows, kernel.AESGCMLevels.Rows, kernel.ChaCha20Poly1305BatchLevels.Rows) {
		if (len(row.Needs) == 0) != (row.Name == "portable") {
			t.Errorf("level %s needs %q", row.Name, row.Needs)
		}
		for _, feature := range row.Needs {
			if !dispatch.Known(feature) {
				t.Errorf("level %s needs %q, which no CPU has", row.Name, feature)
			}
		}
	}
}
