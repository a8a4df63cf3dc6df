package aead

import (
	"syscall"
	"testing"
)

// zeroes returns read-only memory that takes no physical pages.
func zeroes(t testing.TB, bytes int) []byte {
	m, err := syscall.Mmap(-1, 0, bytes, syscall.PROT_READ, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(m) })
	return m
}
