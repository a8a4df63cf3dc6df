package aead

import (
	"syscall"
	"testing"
)

// zeroes returns memory that takes none: it can only be read.
func zeroes(t testing.TB, bytes int) []byte {
	m, err := syscall.Mmap(-1, 0, bytes, syscall.PROT_READ, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(m) })
	return m
}
