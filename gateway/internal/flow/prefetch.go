//go:build amd64 || arm64

package flow

import "unsafe"

// Prefetch asks for the cache lines at these addresses. It does not wait for them, so that packets can be handled while the
// memory that later ones need is on its way.
//
//go:noescape
func Prefetch(lines []unsafe.Pointer)

// PrefetchBytes asks for all of b, to lie in the second level of the cache.
//
//go:noescape
func PrefetchBytes(b []byte)
