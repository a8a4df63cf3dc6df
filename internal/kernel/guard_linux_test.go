package kernel

import (
	"syscall"
	"testing"
)

// guarded returns whole pages of memory with an inaccessible page before and after.
func guarded(t testing.TB, bytes int) []byte {
	t.Helper()
	page := syscall.Getpagesize()
	bytes = (bytes + page - 1) / page * page
	m, err := syscall.Mmap(-1, 0, bytes+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	for _, guard := range [][]byte{m[:page], m[page+bytes:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { syscall.Munmap(m) })
	return m[page : page+bytes : page+bytes]
}

const isGuarded = true
