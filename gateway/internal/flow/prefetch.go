//go:build amd64 || arm64

package flow

import "unsafe"

// Prefetch requests the cache lines at these addresses without waiting for them, so that packets can be processed while
// the memory for later ones arrives.
//
//go:noescape
func Prefetch(lines []unsafe.Pointer)

// PrefetchBytes requests all of b for the second-level cache.
//
//go:noescape
func PrefetchBytes(b []byte)
