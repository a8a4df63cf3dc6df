package dispatch

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// privileged says whether the process has more rights than whoever started it: set-uid, set-gid or file capabilities.
func privileged() bool {
	const atSecure = 23
	if vector, err := unix.Auxv(); err == nil {
		for _, entry := range vector {
			if entry[0] == atSecure {
				return entry[1] != 0
			}
		}
	}
	return syscall.Getuid() != syscall.Geteuid() || syscall.Getgid() != syscall.Getegid()
}
