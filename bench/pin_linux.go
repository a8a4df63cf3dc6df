package main

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// pin pins the calling goroutine to the last CPU that this process may use, and returns its number, or -1 on failure.
func pin() int {
	runtime.LockOSThread()
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return -1
	}
	cpu := -1
	for i := range len(set) * 64 {
		if set.IsSet(i) {
			cpu = i
		}
	}
	set.Zero()
	set.Set(cpu)
	if unix.SchedSetaffinity(0, &set) != nil {
		return -1
	}
	return cpu
}
