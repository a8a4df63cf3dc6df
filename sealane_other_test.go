//go:build !linux

package sealane_test

import "syscall"

func asUser(id uint32) *syscall.SysProcAttr { return nil }
