//go:build !linux

package dispatch

func hwcaps() (hwcap, hwcap2 uintptr) { return 0, 0 }
