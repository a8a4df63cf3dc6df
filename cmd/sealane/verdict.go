package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/sealane/sealane/internal/dispatch"
)

// noise is how much slower than the peer, or than another level, the level in use may be before that is reported.
const noise = 0.02

// Final errors of bench --check. The exit status is then 3.
var (
	errSlower = errors.New("a level in use is slower than its peer")
	errLine   = errors.New("the table of CPUs does not choose the fastest level for this CPU")
)

// losses returns the results of levels in use that are slower than the peer.
func losses(results []result) (slower []result) {
	for _, r := range results {
		if r.Chosen && r.Ratio < 1-noise {
			slower = append(slower, r)
		}
	}
	return slower
}

// A wrongLine is a cipher for which another level is faster over all measurements than the one in use.
type wrongLine struct {
	cipher, chosen, best string
	ratio                float64 // ratio of the geometric means of throughput
}

func (l wrongLine) String() string {
	return fmt.Sprintf("%s: %s is %.2f times as fast as %s over all measurements, but the table of CPUs says: %s",
		l.cipher, l.best, l.ratio, l.chosen, lineOf(l.cipher))
}

// wrongLines returns the ciphers for which the table entry is wrong on this CPU. If a level was named, it returns
// nil.
func wrongLines(results []result, named bool) (wrong []wrongLine) {
	if named {
		return nil
	}
	chosen, logs := map[string]string{}, map[string]map[string]float64{}
	work := map[string]int{}
	for _, r := range results {
		switch {
		case r.Peer:
			work[r.Cipher]++
			continue
		case r.Chosen:
			chosen[r.Cipher] = r.Level
		}
		if logs[r.Cipher] == nil {
			logs[r.Cipher] = map[string]float64{}
		}
		logs[r.Cipher][r.Level] += math.Log(r.Ratio)
	}
	for _, cipher := range slices.Sorted(maps.Keys(chosen)) {
		of := logs[cipher]
		best := chosen[cipher]
		for _, level := range slices.Sorted(maps.Keys(of)) {
			if of[level] > of[best] {
				best = level
			}
		}
		if ratio := math.Exp((of[best] - of[chosen[cipher]]) / float64(work[cipher])); ratio > 1+noise {
			wrong = append(wrong, wrongLine{cipher, chosen[cipher], best, ratio})
		}
	}
	return wrong
}

// levelNamed reports whether the user named the level in use, so that the CPU table did not decide.
func levelNamed() bool {
	return dispatch.Getenv("SEALANE_CPU") != "" || dispatch.Getenv("SEALANE_ASM") == "0"
}

// verdict reports whether the levels in use are fast enough, and returns the final error of bench --check.
func verdict(w io.Writer, results []result, named bool) error {
	slower, wrong := losses(results), wrongLines(results, named)
	var errs []error
	if len(slower) == 0 {
		fmt.Fprintf(w, "\nNo level in use is slower than its peer by more than %.0f %%.\n", 100*noise)
	} else {
		errs = append(errs, errSlower)
		fmt.Fprintf(w, "\nSLOWER than the peer, by ratio of throughput:\n")
		for _, r := range slower {
			fmt.Fprintf(w, "  %s at level %s: %s, %d bytes, %d of associated data, keys %d: %.2f\n", r.Cipher, r.Level, r.Op, r.Size, r.AD, r.Keys, r.Ratio)
		}
	}
	if len(wrong) != 0 {
		errs = append(errs, errLine)
		fmt.Fprintf(w, "\nWRONG LINE for this CPU in asm/levels.json; please report it, with sealane bench --report:\n")
		for _, l := range wrong {
			fmt.Fprintf(w, "  %s\n", l)
		}
	}
	return errors.Join(errs...)
}

// writeReport prints the results as one block of text to paste, which names the CPU but not the machine.
func writeReport(w io.Writer, results []result, named bool) {
	m := thisMachine()
	fmt.Fprintf(w, "---- sealane bench --report ----\nsealane %s, %s, %s/%s; x/crypto %s\n", m.Version, m.Go, m.GOOS, m.GOARCH, stockVersion())
	fmt.Fprintln(w, strings.Join(append([]string{m.CPU}, cpuFields()...), ", "))
	for _, c := range m.Ciphers {
		fmt.Fprintf(w, "%s line: %s\n", c.Name, c.Line)
		for _, l := range c.Levels {
			used := ""
			if l.Chosen {
				used = "*"
			}
			fmt.Fprintf(w, "%s %s%s: self-test %s; %s\n", c.Name, l.Name, used, l.SelfTest, l.Why)
		}
	}
	for _, l := range wrongLines(results, named) {
		fmt.Fprintf(w, "WRONG LINE: %s\n", l)
	}
	fmt.Fprintln(w, "ns for a packet, * the level in use:")
	for i := 0; i < len(results); {
		first := results[i]
		fmt.Fprintf(w, "%s %s %d+%d, keys %d:", first.Cipher, first.Op, first.Size, first.AD, first.Keys)
		for ; i < len(results) && results[i].sameWork(first); i++ {
			used := ""
			if results[i].Chosen {
				used = "*"
			}
			fmt.Fprintf(w, " %s%s %.1f", results[i].Level, used, results[i].NS)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, "---- end ----")
}

// sameWork reports whether r and s are different implementations of the same work.
func (r result) sameWork(s result) bool {
	return r.Cipher == s.Cipher && r.Op == s.Op && r.Size == s.Size && r.AD == s.AD && r.Keys == s.Keys
}

// cpuFields returns what Linux reports about the first CPU in addition to its name.
func cpuFields() (fields []string) {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return nil
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan() && s.Text() != ""; {
		name, value, _ := strings.Cut(s.Text(), ":")
		switch name = strings.TrimSpace(name); name {
		case "vendor_id", "cpu family", "model", "stepping", "microcode", "CPU implementer", "CPU architecture", "CPU part", "CPU revision":
			fields = append(fields, name+" "+strings.TrimSpace(value))
		}
	}
	return fields
}
