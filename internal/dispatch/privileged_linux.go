package dispatch

import (
	"encoding/binary"
	"os"
	"strconv"
	"syscall"
)

// privileged says whether the process has more rights than whoever started it: set-uid, set-gid or file capabilities.
// The kernel tells in the auxiliary vector: pairs of words, getauxval(3).
func privileged() bool {
	const atSecure = 23
	if vector, err := os.ReadFile("/proc/self/auxv"); err == nil {
		const size = strconv.IntSize / 8
		word := func(b []byte) uint64 {
			if size == 4 {
				return uint64(binary.NativeEndian.Uint32(b))
			}
			return binary.NativeEndian.Uint64(b)
		}
		for ; len(vector) >= 2*size; vector = vector[2*size:] {
			if word(vector) == atSecure {
				return word(vector[size:]) != 0
			}
		}
	}
	return syscall.Getuid() != syscall.Geteuid() || syscall.Getgid() != syscall.Getegid()
}
