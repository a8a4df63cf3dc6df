package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// beside returns the ratio of a figure to the same in a build without authenticated reassembly, which takes segments as they come
// (engine/trusting_on.go). The two builds alternate, each in a process of its own; the best of each counts.
func beside(name string) func() (float64, bool) {
	return func() (float64, bool) {
		self, err := os.Executable()
		if *without == "" || err != nil {
			return 0, false
		}
		turns := 6
		if *short {
			turns = 1
		}
		var best [2]float64
		for turn := range turns {
			for k := range best {
				i := (turn + k) % 2
				out, err := exec.Command([]string{self, *without}[i], "-figure", name, "-short="+strconv.FormatBool(*short)).Output()
				must(err == nil, "%s: %v", name, err)
				v, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
				must(err == nil, "%s: %v", name, err)
				best[i] = max(best[i], v)
			}
		}
		return best[0] / best[1], true
	}
}
