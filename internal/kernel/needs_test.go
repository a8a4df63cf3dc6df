//go:build gc && !purego && (amd64 || arm64 || arm)

package kernel

import (
	"slices"
	"strings"
	"testing"

	"github.com/sealane/sealane/internal/dispatch"
)

// Levels of two kernels, and their batch kernels.
var composedOf = map[string][]string{
	"chacha20poly1305_avx512mix":       {"chacha20poly1305_avx512vl", "chacha20poly1305_avx512"},
	"chacha20poly1305_batch_avx512mix": {"chacha20poly1305_batch_avx512"},
}

// TestNeeds compares the features that a level asks for with the extensions that its kernels are assembled with. A row
// without a batch kernel of its own shares that of a row below.
func TestNeeds(t *testing.T) {
	rows := 0
	for _, table := range []*dispatch.Table{&ChaCha20Poly1305Levels, &AESGCMLevels, &AESLevels, &ChaCha20MasksLevels,
		&ChaCha20Poly1305BatchLevels, &AESGCMBatchLevels} {
		kernel := strings.ReplaceAll(table.Primitive, " ", "_") + "_"
		for i, row := range table.Rows {
			if row.Name == "portable" {
				if len(row.Needs) != 0 {
					t.Errorf("%s: portable code needs %q", table.Primitive, row.Needs)
				}
				continue
			}
			extensions, own := generatedExtensions[kernel+row.Name]
			for _, part := range composedOf[kernel+row.Name] {
				for _, extension := range strings.Fields(generatedExtensions[part]) {
					if !slices.Contains(strings.Fields(extensions), extension) {
						extensions = strings.TrimSpace(extensions + " " + extension)
					}
				}
				own = true
			}
			for j := i; !own && strings.HasSuffix(kernel, "_batch_") && j < len(table.Rows); j++ {
				if shared, ok := generatedExtensions[kernel+table.Rows[j].Name]; ok {
					extensions = shared
					break
				}
			}
			if got := strings.Join(row.Needs, " "); !sameWords(got, extensions) {
				t.Errorf("%s: level %s needs %q, and its kernel may use %q", table.Primitive, row.Name, row.Needs, extensions)
			}
			rows++
		}
	}
	if rows == 0 {
		t.Error("no rows")
	}
}

func sameWords(a, b string) bool {
	words := func(s string) []string { return slices.Sorted(slices.Values(strings.Fields(s))) }
	return slices.Equal(words(a), words(b))
}
