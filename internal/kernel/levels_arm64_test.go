//go:build gc && !purego

package kernel

import (
	"strings"
	"testing"
)

// TestNeeds compares the features that a level asks for with the extensions that its kernel is assembled with.
func TestNeeds(t *testing.T) {
	generated := map[string]string{
		"neon6": ChaCha20Poly1305NEON6Extensions,
		"neon":  ChaCha20Poly1305NEONExtensions,
	}
	for _, row := range ChaCha20Poly1305Levels.Rows {
		extensions := generated[row.Name]
		if got := strings.ReplaceAll(strings.Join(row.Needs, " "), ".", " "); got != strings.ReplaceAll(extensions, ".", " ") {
			t.Errorf("level %s needs %q, and its kernel may use %q", row.Name, row.Needs, extensions)
		}
	}
	generated = map[string]string{
		"ce":   AESGCMCEExtensions,
		"neon": AESGCMNEONExtensions,
	}
	for _, row := range AESGCMLevels.Rows {
		extensions := generated[row.Name]
		if got := strings.Join(row.Needs, " "); got != extensions {
			t.Errorf("AES-GCM at level %s needs %q, and its kernel may use %q", row.Name, row.Needs, extensions)
		}
	}
	generated = map[string]string{
		"ce":   AESCEExtensions,
		"neon": AESNEONExtensions,
	}
	for _, row := range AESLevels.Rows {
		if got, extensions := strings.Join(row.Needs, " "), generated[row.Name]; got != extensions {
			t.Errorf("AES at level %s needs %q, and its kernel may use %q", row.Name, row.Needs, extensions)
		}
	}
	for _, row := range ChaCha20Poly1305BatchLevels.Rows {
		extensions := map[string]string{"neon6": ChaCha20Poly1305BatchNEONExtensions, "neon": ChaCha20Poly1305BatchNEONExtensions}[row.Name]
		if got := strings.ReplaceAll(strings.Join(row.Needs, " "), ".", " "); got != strings.ReplaceAll(extensions, ".", " ") {
			t.Errorf("batches at level %s need %q, and their kernel may use %q", row.Name, row.Needs, extensions)
		}
	}
}
