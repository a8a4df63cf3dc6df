//go:build unix

package keys

import "syscall"

func umask(mask int) int { return syscall.Umask(mask) }
