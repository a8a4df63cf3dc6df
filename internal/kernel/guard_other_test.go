//go:build !linux

package kernel

import "testing"

// guarded returns memory; only Linux builds have guard pages.
func guarded(t testing.TB, bytes int) []byte {
	return make([]byte, (bytes+4095)/4096*4096)
}

const isGuarded = false
