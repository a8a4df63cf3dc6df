//go:build gc && !purego

package kernel

import (
	"strings"
	"testing"
)

// TestNeeds compares the features that a level asks for with the extensions that its kernel is assembled with.
func TestNeeds(t *testing.T) {
	generated := map[string]string{
		"neon":  ChaCha20Poly1305NEONExtensions,
		"armv6": ChaCha20Poly1305ARMv6Extensions,
	}
	for _, row := range ChaCha20Poly1305Levels.Rows {
		extensions := generated[row.Name]
		if got := strings.ReplaceAll(strings.Join(row.Needs, " "), ".", " "); got != strings.ReplaceAll(extensions, ".", " ") {
			t.Errorf("level %s needs %q, and its kernel may use %q", row.Name, row.Needs, extensions)
		}
	}
	generated = map[string]string{
		"ce32":  AESGCMCE32Extensions,
		"neon":  AESGCMNEONExtensions,
		"armv6": AESGCMARMv6Extensions,
	}
	for _, row := range AESGCMLevels.Rows {
		extensions := generated[row.Name]
		if got := strings.ReplaceAll(strings.Join(row.Needs, " "), ".", " "); got != strings.ReplaceAll(extensions, ".", " ") {
			t.Errorf("AES-GCM at level %s needs %q, and its kernel may use %q", row.Name, row.Needs, extensions)
		}
	}
	generated = map[string]string{
		"ce32":  AESCE32Extensions,
		"neon":  AESNEONExtensions,
		"armv6": AESARMv6Extensions,
	}
	for _, row := range AESLevels.Rows {
		if got, extensions := strings.Join(row.Needs, " "), generated[row.Name]; got != extensions {
			t.Errorf("AES at level %s needs %q, and its kernel may use %q", row.Name, row.Needs, extensions)
		}
	}
}
