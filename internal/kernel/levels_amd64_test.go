//go:build gc && !purego

package kernel

import (
	"strings"
	"testing"
)

// TestNeeds compares the features that a level asks for with the extensions that its kernel is assembled with.
func TestNeeds(t *testing.T) {
	generated := map[string]string{
		"avx512":   ChaCha20Poly1305AVX512Extensions,
		"avx512vl": ChaCha20Poly1305AVX512VLExtensions,
		"avx2":     ChaCha20Poly1305AVX2Extensions,
		"ssse3":    ChaCha20Poly1305SSSE3Extensions,
	}
	for _, row := range ChaCha20Poly1305Levels.Rows {
		extensions := generated[row.Name]
		if got := strings.Join(row.Needs, " "); got != extensions {
			t.Errorf("level %s needs %q, and its kernel may use %q", row.Name, row.Needs, extensions)
		}
	}
	generated = map[string]string{
		"avx512":   AESGCMAVX512Extensions,
		"avx2":     AESGCMAVX2Extensions,
		"aesniavx": AESGCMAESNIAVXExtensions,
		"aesni":    AESGCMAESNIExtensions,
	}
	for _, row := range AESGCMLevels.Rows {
		extensions := generated[row.Name]
		if got := strings.Join(row.Needs, " "); got != extensions {
			t.Errorf("AES-GCM at level %s needs %q, and its kernel may use %q", row.Name, row.Needs, extensions)
		}
	}
	generated = map[string]string{
		"avx512": AESAVX512Extensions,
		"avx2":   AESAVX2Extensions,
		"aesni":  AESAESNIExtensions,
	}
	for _, row := range AESLevels.Rows {
		if got, extensions := strings.Join(row.Needs, " "), generated[row.Name]; got != extensions {
			t.Errorf("AES at level %s needs %q, and its kernel may use %q", row.Name, row.Needs, extensions)
		}
	}
	for _, row := range ChaCha20MasksLevels.Rows {
		extensions := map[string]string{"avx512": ChaCha20MasksAVX512Extensions, "avx2": ChaCha20MasksAVX2Extensions}[row.Name]
		if got := strings.Join(row.Needs, " "); got != extensions {
			t.Errorf("masks at level %s need %q, and their kernel may use %q", row.Name, row.Needs, extensions)
		}
	}
	for _, row := range ChaCha20Poly1305BatchLevels.Rows {
		extensions := map[string]string{
			"avx512":   ChaCha20Poly1305BatchAVX512Extensions,
			"avx512vl": ChaCha20Poly1305BatchAVX2Extensions,
			"avx2":     ChaCha20Poly1305BatchAVX2Extensions,
		}[row.Name]
		if got := strings.Join(row.Needs, " "); got != extensions {
			t.Errorf("batches at level %s need %q, and their kernel may use %q", row.Name, row.Needs, extensions)
		}
	}
	for _, row := range AESGCMBatchLevels.Rows {
		extensions := map[string]string{"avx512": AESGCMBatchAVX512Extensions}[row.Name]
		if got := strings.Join(row.Needs, " "); got != extensions {
			t.Errorf("batches of AES-GCM at level %s need %q, and their kernel may use %q", row.Name, row.Needs, extensions)
		}
	}
}
