package main

import "os"

// beside returns the ratio of a figure to the same in a build without authenticated reassembly, which accepts
// segments as they arrive (engine/trusting_on.go). The two builds alternate, each in a process of its own; the best
// of each counts.
func beside(name string) []value {
	self, err := os.Executable()
	if *without == "" || err != nil {
		return nil
	}
	turns := 6
	if *short {
		turns = 1
	}
	var best [2]float64
	for turn := range turns {
		for k := range best {
			i := (turn + k) % 2
			best[i] = max(best[i], measured([]string{self, *without}[i], name)[0].Value)
		}
	}
	return one(best[0] / best[1])
}
