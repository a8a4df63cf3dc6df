package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// A machine is what the figures belong to.
type machine struct {
	CPU  string `json:"cpu"` // with family and model, as the name alone may say little
	OS   string `json:"os"`
	Arch string `json:"arch"`

	// Class is what floors go by: on x86-64 the best set of features that a level may need, and how many cycles a vector
	// addition takes, which the C program measures: avx512/2. Empty elsewhere, and where there is no C program.
	Class string `json:"class,omitempty"`
}

func thisMachine() machine {
	m := machine{CPU: "unknown CPU", OS: runtime.GOOS, Arch: runtime.GOARCH}
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return m
	}
	defer f.Close()
	field := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan() && s.Text() != ""; {
		name, value, _ := strings.Cut(s.Text(), ":")
		field[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	if name := field["model name"]; name != "" {
		m.CPU = name
	}
	if family := field["cpu family"]; family != "" {
		m.CPU += fmt.Sprintf(" (family %s, model %s)", family, field["model"])
	}
	return m
}

// fileName makes a name for the result files.
func (m machine) fileName() string {
	name := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(m.CPU), "-")
	return strings.Trim(name, "-")
}

// clockGHz returns the core's clock: dependent additions and exclusive ors of registers take one cycle each on every
// CPU there is.
func clockGHz() float64 {
	const rounds, chain = 1000, 16
	best := time.Duration(1 << 62)
	for repeat := range 200 {
		x, y := uint64(repeat), chainOperand
		start := time.Now()
		for range rounds {
			x += y
			x ^= y
			x += y
			x ^= y
			x += y
			x ^= y
			x += y
			x ^= y
			x += y
			x ^= y
			x += y
			x ^= y
			x += y
			x ^= y
			x += y
			x ^= y
		}
		best = min(best, time.Since(start))
		runtime.KeepAlive(x)
	}
	return rounds * chain / float64(best)
}

// Unknown to the compiler, so that it cannot shorten the chain.
var chainOperand uint64 = 0x9e3779b97f4a7c15
