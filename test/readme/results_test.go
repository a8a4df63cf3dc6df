package readme

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var image = regexp.MustCompile(`!\[[^]]*\]\((?:bench/results/)?([\w-]+\.svg)\)`)

func images(text string) (found []string) {
	for _, m := range image.FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

// TestPlots compares the front page's plots with those of make bench: one for each class of CPU that was measured.
func TestPlots(t *testing.T) {
	front, measured := images(read(t, root+"/README.md")), images(read(t, root+"/bench/results/README.md"))
	if len(measured) == 0 || !slices.Equal(front, measured) {
		t.Errorf("README.md has the plots %q, bench/results/README.md %q", front, measured)
	}
}

// models are the CPUs of the front page's table as bench/results/x86-modelled.md calls them.
var models = map[string]string{
	"AMD Zen 4": "znver4", "Intel Ice Lake server": "icelake-server", "AMD Zen 3": "znver3", "Intel Alder Lake": "alderlake",
	"AMD Zen 2": "znver2", "Intel Haswell": "haswell", "Skylake": "skylake",
}

// modelled returns the ratio for sealing 1420 bytes in Go by CPU, and each CPU's level.
func modelled(text, algorithm string) (ratio, level map[string]string) {
	ratio, level = map[string]string{}, map[string]string{}
	levels, _, _ := strings.Cut(text[max(strings.Index(text, "Levels: "), 0):], "\n\n")
	for _, part := range strings.Split(strings.Join(strings.Fields(levels), " "), "; ") {
		if m := regexp.MustCompile(algorithm + ` (\w+) on ([\w, -]+)`).FindStringSubmatch(part); m != nil {
			for _, cpu := range strings.Split(m[2], ", ") {
				level[cpu] = m[1]
			}
		}
	}
	section, column := "", -1
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		switch {
		case strings.HasPrefix(line, "#"):
			section = strings.TrimSpace(line)
		case section != "### "+algorithm+", Go":
		case cells[0] == "| bytes":
			column = slices.Index(cells, "1420")
		case column > 0 && column < len(cells):
			if cpu, seal := strings.CutSuffix(strings.TrimPrefix(cells[0], "| "), ", seal"); seal {
				ratio[cpu], _, _ = strings.Cut(cells[column], " ")
			}
		}
	}
	return ratio, level
}

// wrongRows returns what differs between the rows of x86-64 in the front page's table and the modelled results, and how many
// CPUs it compared.
func wrongRows(front, results string) (wrong []string, compared int) {
	for line := range strings.Lines(front) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "| "), " | ")
		if len(cells) != 4 || cells[3] != "modelled" {
			continue
		}
		cpus := strings.Split(cells[0], "; ")
		for i, algorithm := range []string{"ChaCha20-Poly1305", "AES-128-GCM"} {
			name, figures, _ := strings.Cut(cells[i+1], " ")
			stated := strings.Split(figures, "; ")
			ratio, level := modelled(results, algorithm)
			for j, cpu := range cpus {
				model := models[cpu]
				if model == "" {
					continue
				}
				compared++
				var value float64
				fmt.Sscan(ratio[model], &value)
				want := fmt.Sprintf("%s %.1f", level[model], value)
				if got := strings.Trim(name, "`") + " " + stated[min(j, len(stated)-1)]; got != want {
					wrong = append(wrong, fmt.Sprintf("%s, %s: README.md has %s, x86-modelled.md %s", cpu, algorithm, got, want))
				}
			}
		}
	}
	return wrong, compared
}

// TestModelled holds the front page's modelled figures of x86-64 against bench/results/x86-modelled.md.
func TestModelled(t *testing.T) {
	front, results := read(t, root+"/README.md"), read(t, root+"/bench/results/x86-modelled.md")
	wrong, compared := wrongRows(front, results)
	if compared != 2*len(models) {
		t.Errorf("%d figures compared, want %d", compared, 2*len(models))
	}
	for _, w := range wrong {
		t.Error(w)
	}
	// Planted: another figure, another level.
	for _, planted := range [][2]string{{", seal | ", ", seal | 9.99 x/crypto | "}, {"avx2 on ", "ssse3 on "}} {
		if found, _ := wrongRows(front, strings.ReplaceAll(results, planted[0], planted[1])); len(found) == 0 {
			t.Errorf("%q is not found", planted[1])
		}
	}
}

var (
	armTitle  = regexp.MustCompile(`^(\w+) at level (\w+), seal, (.*) bytes, GOARCH=(arm|arm64)7?, CPU`)
	armFigure = regexp.MustCompile(`^(instructions|[a-z]+-\w+) +([0-9]+)`)
	armRow    = regexp.MustCompile("^\\| (?:(32-bit|arm64) )?`(\\w+)`, ([\\w -]+?)(?: \\(counted\\))? \\| ([0-9,]+) \\| ([0-9,]*)")
)

// armFigures reads bench/results/arm-modelled.txt: cipher, level, bytes, GOARCH, core or "instructions".
func armFigures(text string) map[string]int {
	figures, title := map[string]int{}, ""
	for line := range strings.Lines(text) {
		if m := armTitle.FindStringSubmatch(line); m != nil {
			title = strings.Join(m[1:], " ")
		} else if m := armFigure.FindStringSubmatch(line); m != nil && title != "" {
			figures[title+" "+m[1]], _ = strconv.Atoi(m[2])
		} else if strings.TrimSpace(line) == "" {
			title = ""
		}
	}
	return figures
}

// wrongOnARM compares docs/arm.md's columns of sealane with them.
func wrongOnARM(page, results string) (wrong []string, compared int) {
	figures, cipher, bytes := armFigures(results), "", ""
	compare := func(line, cell, bytes, m1, level, core string, packets int) {
		goarch := "arm"
		if m1 == "arm64" || level == "ce" {
			goarch = "arm64"
		}
		core = strings.ToLower(strings.ReplaceAll(core, " ", "-"))
		said, _ := strconv.Atoi(strings.ReplaceAll(cell, ",", ""))
		modelled := figures[strings.Join([]string{cipher, level, bytes, goarch, core}, " ")]
		compared++
		if modelled == 0 || said != (modelled+packets/2)/packets {
			wrong = append(wrong, fmt.Sprintf("%s: %s is %d in the results", strings.TrimSpace(line), cell, modelled/packets))
		}
	}
	for line := range strings.Lines(page) {
		switch {
		case strings.HasPrefix(line, "## ChaCha20-Poly1305,"):
			cipher, bytes = "chacha", "1420"
		case strings.HasPrefix(line, "## AES-128-GCM,"):
			cipher, bytes = "gcm128", "1420"
		case strings.HasPrefix(line, "## Batches"):
			cipher, bytes = "chacha", "64"
		case strings.HasPrefix(line, "## "):
			cipher = ""
		}
		m := armRow.FindStringSubmatch(line)
		if m == nil || cipher == "" {
			continue
		}
		if bytes == "64" {
			compare(line, m[4], "a batch of 32 times 64", m[1], m[2], m[3], 32)
			compare(line, m[5], bytes, m[1], m[2], m[3], 1)
		} else {
			compare(line, m[4], bytes, m[1], m[2], m[3], 1)
		}
	}
	return wrong, compared
}

// TestARM: what docs/arm.md says of sealane is what make bench-arm wrote.
func TestARM(t *testing.T) {
	page, results := read(t, root+"/docs/arm.md"), read(t, root+"/bench/results/arm-modelled.txt")
	wrong, compared := wrongOnARM(page, results)
	if compared != 27 {
		t.Errorf("%d figures compared, want 27", compared)
	}
	for _, w := range wrong {
		t.Error(w)
	}
	for _, planted := range [][2]string{{"cortex-a72  ", "cortex-a72 1"}, {"level ce,", "level cf,"}, {"batch of 32", "batch of 33"}} {
		if found, _ := wrongOnARM(page, strings.ReplaceAll(results, planted[0], planted[1])); len(found) == 0 {
			t.Errorf("%q is not found", planted[1])
		}
	}
}
