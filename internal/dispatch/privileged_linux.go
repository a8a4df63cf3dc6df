package dispatch

import "syscall"

// privileged reports whether the process has elevated privileges: set-uid, set-gid or file capabilities.
func privileged() bool {
	const atSecure = 23
	if secure, ok := auxiliary(atSecure); ok {
		return secure != 0
	}
	return syscall.Getuid() != syscall.Geteuid() || syscall.Getgid() != syscall.Getegid()
}
