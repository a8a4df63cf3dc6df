//go:build !amd64 && !arm64

package flow

import "unsafe"

// Prefetch does nothing on this CPU.
func Prefetch(lines []unsafe.Pointer) {}

// PrefetchBytes does nothing on this CPU.
func PrefetchBytes(b []byte) {}
