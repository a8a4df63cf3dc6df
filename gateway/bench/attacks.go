package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
)

var timesOf = regexp.MustCompile(`([0-9.]+) times/op`)

// forged returns how many times the processor time of ordinary packets forged ones as long take: those of the kind that takes most,
// of the kinds that the suite of attacks has.
func forged() (most float64, ok bool) {
	if *attack == "" {
		return 0, false
	}
	cmd := exec.Command(*goTool, "test", "-C", *attack, "-count=1", "-run", "^$", "-bench", "^BenchmarkForgedTimes$", "-benchtime", "1x", ".")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	must(err == nil, "%s\n%v", out, err)
	for _, m := range timesOf.FindAllSubmatch(out, -1) {
		v, err := strconv.ParseFloat(string(m[1]), 64)
		must(err == nil, "%v", err)
		most = max(most, v)
	}
	return most, most > 0
}
