package report

import (
	"os"
	"strings"
	"testing"

	"github.com/sealane/sealane/internal/dispatch"
)

// TestWarnings wants each message once.
func TestWarnings(t *testing.T) {
	defer func() { stderr = os.Stderr }()
	var text strings.Builder
	stderr = &text
	for range 2 {
		Warn("one")
		Warn("two")
	}
	if text.String() != "sealane: one\nsealane: two\n" {
		t.Errorf("%q", &text)
	}
}

// TestHooks wants a warning of each level that fails its test.
func TestHooks(t *testing.T) {
	defer func() { stderr = os.Stderr }()
	var text strings.Builder
	stderr = &text
	fails := dispatch.Row{Level: 2, Name: "a", Test: func(bool) bool { return false }}
	works := dispatch.Row{Level: 1, Name: "portable", Test: func(bool) bool { return true }}
	table := &dispatch.Table{Primitive: "test", Rows: []dispatch.Row{fails, works}}
	if level, ok := table.Choose(); !ok || level != 1 {
		t.Errorf("chose %d, %v", level, ok)
	}
	if os.Getenv("SEALANE_CPU") == "" && os.Getenv("SEALANE_ASM") == "" &&
		text.String() != "sealane: test: level a fails its known-answer test and is not used\n" {
		t.Errorf("%q", &text)
	}
}
