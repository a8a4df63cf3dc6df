package main

import "golang.org/x/sys/unix"

// stay has this thread run on one processor only: number i of those that the process may use.
func stay(i int) error {
	var may, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return err
	}
	for cpu := range len(may) * 64 {
		if may.IsSet(cpu) {
			if i == 0 {
				set.Set(cpu)
				break
			}
			i--
		}
	}
	return unix.SchedSetaffinity(0, &set)
}
