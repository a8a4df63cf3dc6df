package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
)

var timesOf = regexp.MustCompile(`([0-9.]+) times/op`)

// forged returns the processor time of forged packets relative to ordinary ones of the same length. It takes the most
// expensive of the kinds in the suite of attacks.
func forged() []value {
	if *attack == "" {
		return nil
	}
	cmd := exec.Command(*goTool, "test", "-C", *attack, "-count=1", "-run", "^$", "-bench", "^BenchmarkForgedTimes$", "-benchtime", "1x", ".")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	must(err == nil, "%s\n%v", out, err)
	most := 0.0
	for _, m := range timesOf.FindAllSubmatch(out, -1) {
		v, err := strconv.ParseFloat(string(m[1]), 64)
		must(err == nil, "%v", err)
		most = max(most, v)
	}
	must(most > 0, "no kind of forged packets in %s", out)
	return one(most)
}
