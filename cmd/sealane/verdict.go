package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// noise is how much slower than the peer a level in use may seem before it is said to lose.
const noise = 0.02

// errSlower is the end of bench --check where a level in use loses to a peer. The command's exit status is then 3.
var errSlower = errors.New("a level in use is slower than what it replaces")

// losses are the results of levels in use that are slower than the peer.
func losses(results []result) (slower []result) {
	for _, r := range results {
		if r.Chosen && r.Ratio < 1-noise {
			slower = append(slower, r)
		}
	}
	return slower
}

// verdict says whether the levels in use are worth it.
func verdict(w io.Writer, results []result) {
	slower := losses(results)
	if len(slower) == 0 {
		fmt.Fprintf(w, "\nNo level in use is slower than its peer by more than %.0f %%.\n", 100*noise)
		return
	}
	fmt.Fprintf(w, "\nSLOWER than what it replaces, by ratio of throughput:\n")
	for _, r := range slower {
		fmt.Fprintf(w, "  %s at level %s: %s, %d bytes, %d of associated data, keys %d: %.2f\n", r.Cipher, r.Level, r.Op, r.Size, r.AD, r.Keys, r.Ratio)
	}
}

// writeReport prints what a run found as one block of text to paste, which names the CPU but not the machine.
func writeReport(w io.Writer, results []result) {
	m := thisMachine()
	fmt.Fprintf(w, "---- sealane bench --report ----\nsealane %s, %s, %s/%s; x/crypto %s\n", m.Version, m.Go, m.GOOS, m.GOARCH, stockVersion())
	fmt.Fprintln(w, strings.Join(append([]string{m.CPU}, cpuFields()...), ", "))
	for _, c := range m.Ciphers {
		for _, l := range c.Levels {
			used := ""
			if l.Chosen {
				used = "*"
			}
			fmt.Fprintf(w, "%s %s%s: self-test %s; %s\n", c.Name, l.Name, used, l.SelfTest, l.Why)
		}
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

// sameWork says whether r and s are of different implementations that do the same.
func (r result) sameWork(s result) bool {
	return r.Cipher == s.Cipher && r.Op == s.Op && r.Size == s.Size && r.AD == s.AD && r.Keys == s.Keys
}

// cpuFields are what Linux says of the first CPU besides its name, which may say little.
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
