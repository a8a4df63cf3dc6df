package gas

import (
	"slices"
	"testing"
)

func TestOperands(t *testing.T) {
	for text, want := range map[string][]string{
		"":                          {""},
		"r2":                        {"r2"},
		"r2, r3,#4":                 {"r2", "r3", "#4"},
		"{d6, d7}, [r5]!":           {"{d6, d7}", "[r5]!"},
		"v0.16b, {v1.16b}, v2.16b":  {"v0.16b", "{v1.16b}", "v2.16b"},
		" r8 , [ r1, #-16 ] , r9 ":  {"r8", "[ r1, #-16 ]", "r9"},
		"{v0.s, v1.s}[2], [x0], #8": {"{v0.s, v1.s}[2]", "[x0]", "#8"},
	} {
		if got := Operands(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
