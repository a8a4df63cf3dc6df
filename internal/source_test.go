package source

import (
	"os"
	"regexp"
	"testing"
)

// TestCopies compares duplicated code with the original.
func TestCopies(t *testing.T) {
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod); m == nil || "go"+string(m[1]) != Go {
		t.Errorf("go.mod is for %s, the constant says %s", m, Go)
	}
	license, err := os.ReadFile("../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	if copied, err := Internal.ReadFile("LICENSE"); err != nil || string(copied) != string(license) {
		t.Errorf("internal/LICENSE is not LICENSE: %v", err)
	}
}
