package main

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// A machine describes where the figures were measured.
type machine struct {
	CPU  string `json:"cpu"` // with family and model, because the name alone may be ambiguous
	OS   string `json:"os"`
	Arch string `json:"arch"`

	// Class determines the floors: vendor, family and widest vectors of an x86-64 CPU, such as "AMD family 26, AVX-512
	// IFMA". It is empty for other CPUs.
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
		m.Class = class(field["vendor_id"], family, strings.Fields(field["flags"]))
	}
	return m
}

// class names a group of CPUs with the same floors. flags are those of /proc/cpuinfo.
func class(vendor, family string, flags []string) string {
	vendor = cmp.Or(map[string]string{"AuthenticAMD": "AMD", "GenuineIntel": "Intel"}[vendor], vendor)
	for _, w := range []struct{ flag, name string }{
		{"avx512ifma", "AVX-512 IFMA"}, {"avx512vl", "AVX-512"}, {"avx2", "AVX2"}, {"ssse3", "SSSE3"},
	} {
		if slices.Contains(flags, w.flag) {
			return fmt.Sprintf("%s family %s, %s", vendor, family, w.name)
		}
	}
	return ""
}

// fileName returns the base name of the result files.
func (m machine) fileName() string {
	name := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(m.CPU), "-")
	return strings.Trim(name, "-")
}

// clockGHz returns the core's clock. Dependent register additions and XORs take one cycle each on every CPU.
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

// The compiler does not know the value, so it cannot shorten the chain.
var chainOperand uint64 = 0x9e3779b97f4a7c15
