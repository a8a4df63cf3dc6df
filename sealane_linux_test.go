package sealane_test

import "syscall"

// asUser starts a process with that user ID and no supplementary groups.
func asUser(id uint32) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
}
