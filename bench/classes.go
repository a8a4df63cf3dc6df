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

// measured is what the page of plots wants of a result file.
type measured struct {
	Machine   machine `json:"machine"`
	Algorithm string  `json:"algorithm"`
	Date      string  `json:"date"`
	name      string  // of the file, without .json
}

// class is that of floors; where none was found out, each CPU is its own.
func (m measured) class() string { return cmp.Or(m.Machine.Class, m.Machine.CPU) }

// readMeasured returns the results of ChaCha20-Poly1305 in a folder, by class, and in one the newest first. What make bench did
// not measure is not among them.
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
		return cmp.Or(cmp.Compare(a.class(), b.class()), cmp.Compare(b.Date, a.Date), cmp.Compare(a.name, b.name))
	})
	return found, nil
}

// writeClasses writes the page that has one plot for each class of CPU that was measured, the newest, and names the others.
func writeClasses(dir string) error {
	found, err := readMeasured(dir)
	if err != nil {
		return err
	}
	w := &report{}
	w.line("# Measured, by class of CPU\n")
	w.line("Written by `make bench`; do not edit. One plot for each class that it ran on, the latest; the front page shows the same.")
	w.line("What is modelled is not here: see x86-modelled.md and arm-modelled.txt.\n")
	for i, m := range found {
		if i == 0 || m.class() != found[i-1].class() {
			w.line("## %s\n", m.class())
			w.line("![How many times as fast as each peer sealane is on %s, by packet size](%s.svg)\n", m.Machine.CPU, m.name)
		}
		w.line("- [%s](%s.md), %s\n", m.Machine.CPU, m.name, m.Date)
	}
	return os.WriteFile(filepath.Join(dir, "README.md"), []byte(strings.TrimRight(w.String(), "\n")+"\n"), 0o644)
}
