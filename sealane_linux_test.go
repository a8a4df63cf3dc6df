package sealane_test

import "syscall"

// asUser starts a process as that user, without groups.
func asUser(id uint32) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
}
