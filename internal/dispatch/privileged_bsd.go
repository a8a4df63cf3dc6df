//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package dispatch

import "syscall"

// privileged reports whether the process is set-uid or set-gid.
func privileged() bool {
	return syscall.Issetugid()
}
