package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A measured is the part of a result file that the page of plots needs.
type measured struct {
	Machine   machine `json:"machine"`
	Algorithm string  `json:"algorithm"`
	Date      string  `json:"date"`
	name      string  // file name without .json
}

// readMeasured returns the ChaCha20-Poly1305 results of make bench in a folder, by CPU. The newest of a CPU is first.
func readMeasured(dir string) ([]measured, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var found []measured
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		m := measured{name: strings.TrimSuffix(filepath.Base(name), ".json")}
		if err := json.Unmarshal(text, &m); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if m.Machine.CPU != "" && m.Algorithm == "ChaCha20-Poly1305" {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b measured) int {
		return cmp.Or(cmp.Compare(a.Machine.CPU, b.Machine.CPU), cmp.Compare(b.Date, a.Date), cmp.Compare(a.name, b.name))
	})
	return found, nil
}

// writeCPUs writes the page with the newest plot for each measured CPU, and lists the older ones.
func writeCPUs(dir string) error {
	found, err := readMeasured(dir)
	if err != nil {
		return err
	}
	w := &report{}
	w.line("# Measured, by CPU\n")
	w.line("Written by `make bench`; do not edit. It has one plot for each CPU, the latest.")
	w.line("Modeled figures are in x86-modelled.md, x86-before-avx2.md and arm-modelled.txt.\n")
	for i, m := range found {
		if i == 0 || m.Machine.CPU != found[i-1].Machine.CPU {
			w.line("## %s\n", m.Machine.CPU)
			w.line("![How many times as fast as each peer sealane is on %s, by packet size](%s.svg)\n", m.Machine.CPU, m.name)
		}
		w.line("- [%s](%s.md)\n", m.Date, m.name)
	}
	return os.WriteFile(filepath.Join(dir, "README.md"), []byte(strings.TrimRight(w.String(), "\n")+"\n"), 0o644)
}
