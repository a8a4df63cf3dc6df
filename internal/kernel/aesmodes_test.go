package kernel

import (
	"strings"
	"testing"

	"github.com/sealane/sealane/internal/dispatch"
)

// TestModesAnswers checks that every level's known-answer test passes, and fails when it corrupts the answer.
func TestModesAnswers(t *testing.T) {
	for _, table := range []*dispatch.Table{&AESLevels, &ChaCha20MasksLevels} {
		for _, row := range table.Rows {
			t.Run(table.Primitive+"/"+row.Name, func(t *testing.T) {
				if lacks := row.Lacks(); lacks != nil {
					t.Skipf("NOT RUN: level %s needs %s, which this CPU lacks", row.Name, strings.Join(lacks, " "))
				}
				if !row.Test(false) {
					t.Error("the answers are wrong")
				}
				if row.Test(true) {
					t.Error("a corrupted answer passes")
				}
			})
		}
	}
}
