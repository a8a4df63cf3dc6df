//go:build aix || solaris

package dispatch

import "syscall"

// privileged reports whether the process is set-uid or set-gid.
func privileged() bool {
	return syscall.Getuid() != syscall.Geteuid() || syscall.Getgid() != syscall.Getegid()
}
