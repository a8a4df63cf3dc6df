package main

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dropRoot reduces the privileges of a gateway started by root to the capabilities that it needs. These are
// CAP_NET_RAW and CAP_NET_ADMIN, because interfaces may disappear and return, and CAP_DAC_OVERRIDE if it opens
// files later. Child processes get no more. For users other than root, nothing changes.
func dropRoot(files bool) error {
	if os.Geteuid() != 0 {
		return nil
	}
	keep := uint64(1<<unix.CAP_NET_RAW | 1<<unix.CAP_NET_ADMIN)
	if files {
		keep |= 1 << unix.CAP_DAC_OVERRIDE
	}
	header, data := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, new([2]unix.CapUserData)
	var pins runtime.Pinner
	pins.Pin(header)
	pins.Pin(data)
	defer pins.Unpin()
	if err := unix.Capget(header, &data[0]); err != nil {
		return err
	}
	all := func(trap, a, b, c uintptr) error {
		if _, _, err := syscall.AllThreadsSyscall6(trap, a, b, c, 0, 0, 0); err != 0 {
			return err
		}
		return nil
	}
	for c := uintptr(0); c < 64; c++ {
		if keep>>c&1 == 0 {
			if err := all(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0); errors.Is(err, unix.EINVAL) {
				break // no more capabilities
			} else if err != nil {
				return err
			}
		}
	}
	for i := range data {
		have := data[i].Permitted & uint32(keep>>(32*i))
		data[i] = unix.CapUserData{Effective: have, Permitted: have}
	}
	return errors.Join(
		all(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0),
		all(unix.SYS_CAPSET, uintptr(unsafe.Pointer(header)), uintptr(unsafe.Pointer(data)), 0),
		all(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0),
	)
}
