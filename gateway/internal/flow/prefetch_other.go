//go:build !amd64 && !arm64

package flow

import "unsafe"

// Prefetch does nothing here.
func Prefetch(lines []unsafe.Pointer) {}

// PrefetchBytes does nothing here.
func PrefetchBytes(b []byte) {}
