package readme

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
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

// TestPlots: the front page shows one of the plots of make bench.
func TestPlots(t *testing.T) {
	front, measured := images(read(t, root+"/README.md")), images(read(t, root+"/bench/results/README.md"))
	if len(front) != 1 || !slices.Contains(measured, front[0]) {
		t.Errorf("README.md has the plots %q, bench/results/README.md %q", front, measured)
	}
}

// results are the files of make bench by the names that the front page gives their CPUs.
var results = map[string]string{
	"AMD Zen 5":                        "amd-epyc-family-26-model-2",
	"AMD Zen 4":                        "amd-epyc-family-25-model-17",
	"Intel Xeon (family 6, model 207)": "intel-r-xeon-r-processor-family-6-model-207",
	"Intel Sapphire Rapids to Granite Rapids": "intel-r-xeon-r-processor-family-6-model-207",
	"Intel Alder Lake":                        "intel-r-xeon-r-processor-family-6-model-207",
}

// sealing returns how many times as fast as a library a level seals 1420 bytes, by a file of make bench.
func sealing(t *testing.T, file, language, library, level string) float64 {
	t.Helper()
	var raw struct {
		Tables map[string]struct {
			Candidates []struct{ Name, Library, Level string }
			Cells      []struct {
				Op                     string
				Bytes, AD, Keys, Batch int
				Ns                     map[string]float64
			}
		}
	}
	if err := json.Unmarshal([]byte(read(t, root+"/bench/results/"+file+".json")), &raw); err != nil {
		t.Fatal(err)
	}
	least := func(ns map[string]float64, library, level string) float64 {
		best := math.Inf(1)
		for _, c := range raw.Tables[language].Candidates {
			if c.Library == library && c.Level == level {
				best = min(best, ns[c.Name])
			}
		}
		return best
	}
	for _, c := range raw.Tables[language].Cells {
		if c.Op == "seal" && c.Bytes == 1420 && c.AD == 0 && c.Keys == 1 && c.Batch == 0 {
			return least(c.Ns, library, "") / least(c.Ns, "sealane", level)
		}
	}
	return 0
}

var peerIn = map[string]string{"ChaCha20-Poly1305": "x/crypto", "AES-128-GCM": "standard library"}

// cellsOf returns the cells of a line of a table.
func cellsOf(line string) []string {
	cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// TestMeasured holds the front page's measured figures to the results of make bench.
func TestMeasured(t *testing.T) {
	front, compared := read(t, root+"/README.md"), 0
	compare := func(cpu, algorithm, language, library, level, said string) {
		file := results[cpu]
		if algorithm == "AES-128-GCM" {
			file += "-aes-128-gcm"
		}
		compared++
		if got := fmt.Sprintf("%.1f", sealing(t, file, language, library, level)); got != said {
			t.Errorf("%s, %s in %s at %s against %s: README.md says %s, the results %s", cpu, algorithm, language, level, library, said, got)
		}
	}
	chacha := map[string]string{"AMD Zen 5": "avx512"}
	var cpus []string
	for line := range strings.Lines(front) {
		cells := cellsOf(line)
		if m := regexp.MustCompile(`^(\S+) in (Go|C), against (?:the )?(x/crypto|standard library|OpenSSL)`).FindStringSubmatch(cells[0]); m != nil {
			for i, cpu := range cpus {
				level := "avx512"
				if m[1] == "ChaCha20-Poly1305" {
					level = cmp.Or(chacha[cpu], "avx512mix")
				}
				compare(cpu, m[1], m[2], m[3], level, cells[i+1])
			}
		} else if strings.HasPrefix(cells[0], "times as fast") {
			cpus = cells[1:]
		} else if len(cells) == 4 && strings.HasPrefix(cells[3], "measured") && results[cells[0]] != "" {
			for i, algorithm := range []string{"ChaCha20-Poly1305", "AES-128-GCM"} {
				level, said, _ := strings.Cut(cells[i+1], " ")
				compare(cells[0], algorithm, "Go", peerIn[algorithm], strings.Trim(level, "`"), said)
			}
		}
	}
	if compared != 12+8 {
		t.Errorf("%d figures compared, want 20", compared)
	}
}

// models are the CPUs of the front page's table as bench/results/x86-modelled.md calls them.
var models = map[string]string{
	"Intel Ice Lake server": "icelake-server", "AMD Zen 3": "znver3", "Zen 2": "znver2", "Intel Haswell": "haswell", "Skylake": "skylake",
}

// modeled returns the ratios for sealing 1420 bytes in Go by CPU: by the model alone, and corrected.
func modeled(text, algorithm string) (plain, corrected map[string]string) {
	plain, corrected = map[string]string{}, map[string]string{}
	section, column := "", -1
	for line := range strings.Lines(text) {
		cells := cellsOf(line)
		switch {
		case strings.HasPrefix(line, "#"):
			section = strings.TrimSpace(line)
		case section != "### "+algorithm+", Go":
		case cells[0] == "bytes":
			column = slices.Index(cells, "1420")
		case column > 0 && column < len(cells):
			if cpu, seal := strings.CutSuffix(cells[0], ", seal"); seal {
				if m := regexp.MustCompile(`^(\S+) .*\((\S+)\)$`).FindStringSubmatch(cells[column]); m != nil {
					plain[cpu], corrected[cpu] = m[1], m[2]
				}
			}
		}
	}
	return plain, corrected
}

// wrongRows compares the modeled rows of x86-64 in the front page's table with the results. It returns the
// differences, and how many figures it compared.
func wrongRows(front, results string) (wrong []string, compared int) {
	for line := range strings.Lines(front) {
		cells := cellsOf(line)
		if len(cells) != 4 || !strings.HasPrefix(cells[3], "modeled") {
			continue
		}
		for i, algorithm := range []string{"ChaCha20-Poly1305", "AES-128-GCM"} {
			ratio, corrected := modeled(results, algorithm)
			if strings.HasSuffix(cells[3], "corrected") {
				ratio = corrected
			}
			figures := regexp.MustCompile(`[0-9]\.[0-9]`).FindAllString(cells[i+1], -1)
			for j, cpu := range strings.Split(cells[0], "; ") {
				model := models[cpu]
				if model == "" || len(figures) == 0 {
					continue
				}
				compared++
				var value float64
				fmt.Sscan(ratio[model], &value)
				if got := figures[min(j, len(figures)-1)]; got != fmt.Sprintf("%.1f", value) {
					wrong = append(wrong, fmt.Sprintf("%s, %s: README.md has %s, x86-modelled.md %s", cpu, algorithm, got, ratio[model]))
				}
			}
		}
	}
	return wrong, compared
}

// TestModeled holds the front page's modeled figures of x86-64 against bench/results/x86-modelled.md.
func TestModeled(t *testing.T) {
	front, results := read(t, root+"/README.md"), read(t, root+"/bench/results/x86-modelled.md")
	wrong, compared := wrongRows(front, results)
	if compared != 2*len(models) {
		t.Errorf("%d figures compared, want %d", compared, 2*len(models))
	}
	for _, w := range wrong {
		t.Error(w)
	}
	for _, planted := range []string{"skylake, seal", "icelake-server, seal"} {
		if found, _ := wrongRows(front, strings.ReplaceAll(results, planted, "other, seal")); len(found) != 2 {
			t.Errorf("planted %q: %q", planted, found)
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
		modeled := figures[strings.Join([]string{cipher, level, bytes, goarch, core}, " ")]
		compared++
		if modeled == 0 || said != (modeled+packets/2)/packets {
			wrong = append(wrong, fmt.Sprintf("%s: %s is %d in the results", strings.TrimSpace(line), cell, modeled/packets))
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

// TestARM compares the figures of docs/arm.md with the output of make bench-arm.
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
