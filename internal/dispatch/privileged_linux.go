package dispatch

import "syscall"

// privileged says whether the process has more rights than whoever started it: set-uid, set-gid or file capabilities.
func privileged() bool {
	const atSecure = 23
	if secure, ok := auxiliary(atSecure); ok {
		return secure != 0
	}
	return syscall.Getuid() != syscall.Geteuid() || syscall.Getgid() != syscall.Getegid()
}
