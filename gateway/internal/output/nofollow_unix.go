//go:build unix

package output

import "golang.org/x/sys/unix"

// noFollow has a file not opened if its name is a link.
const noFollow = unix.O_NOFOLLOW
