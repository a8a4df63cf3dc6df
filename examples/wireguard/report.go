//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
)

// best returns the download with the least CPU time, because other programs can only add to it.
func (p *program) best() download {
	return slices.MinFunc(p.downloads, func(a, b download) int {
		if a.CPU < b.CPU {
			return -1
		}
		return 1
	})
}

// spent returns the shares of CPU time over all downloads; a single profile has too few samples.
func (p *program) spent() costs {
	all := costs{Kernel: p.best().Spent.Kernel, Parts: map[string]float64{}}
	total := 0.0
	for _, d := range p.downloads {
		all.Samples += d.Spent.Samples
		total += d.CPU
	}
	for _, d := range p.downloads {
		for part, share := range d.Spent.Parts {
			all.Parts[part] += share * d.CPU / total
		}
	}
	all.AEAD = all.Parts[aead]
	return all
}

// seconds returns the times of the fastest and the slowest download.
func (p *program) seconds() (fastest, slowest float64) {
	fastest = math.Inf(1)
	for _, d := range p.downloads {
		fastest, slowest = min(fastest, d.Seconds), max(slowest, d.Seconds)
	}
	return fastest, slowest
}

// A row is the report on one program.
type row struct {
	Name      string     `json:"name"`
	MBs       float64    `json:"mb_per_second"` // of the fastest download
	Spread    float64    `json:"spread"`        // ratio of the fastest to the slowest download, minus 1
	CPU       float64    `json:"cpu_seconds_per_gib"`
	AEAD      float64    `json:"aead_cpu_seconds_per_gib"`
	Share     float64    `json:"aead_share_of_cpu"`
	Samples   float64    `json:"aead_samples"` // of the CPU profile
	Kernel    string     `json:"kernel"`
	Downloads []download `json:"downloads"`
}

func (d *demonstration) rows() []row {
	var rows []row
	gib := float64(d.bytes) / (1 << 30)
	for _, p := range d.programs {
		b, spent := p.best(), p.spent()
		fastest, slowest := p.seconds()
		rows = append(rows, row{
			Name:      p.name,
			MBs:       float64(d.bytes) / 1e6 / fastest,
			Spread:    slowest/fastest - 1,
			CPU:       b.CPU / gib,
			AEAD:      b.CPU / gib * spent.AEAD,
			Share:     spent.AEAD,
			Samples:   spent.AEAD * float64(spent.Samples),
			Kernel:    kernelName(spent.Kernel),
			Downloads: p.downloads,
		})
	}
	return rows
}

// kernelName shortens the name of the function that does the work.
func kernelName(function string) string {
	for _, primitive := range []string{"ChaCha20Poly1305", "AESGCM"} {
		if level, ok := strings.CutPrefix(function, "github.com/sealane/sealane/internal/kernel."+primitive); ok {
			return "sealane " + strings.ToLower(level)
		}
	}
	if function, ok := strings.CutPrefix(function, "golang.org/x/crypto/chacha20poly1305.chacha20Poly1305"); ok {
		return "x/crypto assembly (" + function + ")"
	}
	for _, pkg := range []string{"crypto/internal/fips140/aes/gcm.", "vendor/golang.org/x/crypto/chacha20poly1305."} {
		if function, ok := strings.CutPrefix(function, pkg); ok {
			return "Go's assembly (" + function + ")"
		}
	}
	if function == "" {
		return "not seen: too few samples"
	}
	return function
}

func (d *demonstration) json(w io.Writer) {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.Encode(struct {
		Bytes      int64    `json:"bytes"`
		Programs   []row    `json:"programs"`
		Conclusion []string `json:"conclusion"`
	}{d.bytes, d.rows(), conclusions(d.rows())})
}

func (d *demonstration) report(w io.Writer) {
	rows := d.rows()
	what, whole := "through two wireguard-go devices and UDP on 127.0.0.1, SHA-256 right each time", "both devices, TCP, HTTP, generating the file and its SHA-256"
	if d.suite != "" {
		what = "by HTTPS, " + d.suite + ", server and client in one process, TCP on 127.0.0.1, every byte compared"
		whole = "server and client, TCP in the operating system, making the file and comparing it"
	}
	fmt.Fprintf(w, "\nA file of %.4g GiB %s:\n\n", float64(d.bytes)/(1<<30), what)
	fmt.Fprintln(w, "| built with | downloads | MB/s, fastest | CPU s/GiB, least | AEAD of that | AEAD s/GiB | kernel |")
	fmt.Fprintln(w, "|------------|----------:|--------------:|-----------------:|-------------:|-----------:|--------|")
	for _, r := range rows {
		fmt.Fprintf(w, "| %-10s | %9d | %13.1f | %16.2f | %10.1f %% | %10.2f | %s |\n", r.Name, len(r.Downloads), r.MBs, r.CPU, 100*r.Share, r.AEAD, r.Kernel)
	}
	if len(rows) > 2 {
		fmt.Fprint(w, "\nbatches: wireguard-go with two loops changed by sealane build --batch; else it is unmodified.\n")
	}
	fmt.Fprintf(w, "\nCPU time is the whole process's: %s. Where it goes:\n\n", whole)
	fmt.Fprintf(w, "| %-32s |", "share of CPU time")
	for _, r := range rows {
		fmt.Fprintf(w, " %8s |", r.Name)
	}
	fmt.Fprintf(w, "\n|%s|%s\n", strings.Repeat("-", 34), strings.Repeat("---------:|", len(rows)))
	first := d.programs[0].spent().Parts
	all := maps.Clone(first)
	for _, p := range d.programs[1:] {
		for part := range p.spent().Parts {
			all[part] += 0
		}
	}
	for _, part := range slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		if first[a] != first[b] {
			return int(math.Copysign(1, first[b]-first[a]))
		}
		return strings.Compare(a, b)
	}) {
		fmt.Fprintf(w, "| %-32s |", part)
		for _, p := range d.programs {
			fmt.Fprintf(w, " %6.1f %% |", 100*p.spent().Parts[part])
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	for _, line := range conclusions(rows) {
		fmt.Fprintln(w, line)
	}
}

const fewestSamples = 20

// conclusions explains in words each program's figures compared with the previous one's.
func conclusions(rows []row) []string {
	lines := conclusion(rows[0], rows[1])
	if len(rows) > 2 {
		lines = append(lines, "", "The same of batches beside packets one by one:")
		lines = append(lines, conclusion(rows[1], rows[2])...)
	}
	return lines
}

// conclusion explains two programs' figures.
func conclusion(before, after row) []string {
	if min(before.Samples, after.Samples) < fewestSamples {
		return []string{"The downloads were too short for a CPU profile: nothing can be said of the AEAD. Take a larger -size."}
	}
	var lines []string
	aead := before.AEAD / after.AEAD
	switch {
	case aead >= 1.05:
		lines = append(lines, fmt.Sprintf("The AEAD takes %.2f instead of %.2f CPU seconds per GiB, 1/%.1f of it; its share of all CPU time goes from %.1f %% to %.1f %%.",
			after.AEAD, before.AEAD, aead, 100*before.Share, 100*after.Share))
	default:
		lines = append(lines, fmt.Sprintf("The AEAD takes %.2f CPU seconds per GiB, before %.2f: sealane does not help here.", after.AEAD, before.AEAD))
	}
	saved := 1 - after.CPU/before.CPU
	switch {
	case saved >= 0.01:
		lines = append(lines, fmt.Sprintf("The whole transfer takes %.1f %% less CPU time, of at most %.1f %% that an AEAD for free would save.", 100*saved, 100*before.Share))
	case saved > -0.01:
		lines = append(lines, fmt.Sprintf("The CPU time of the whole transfer hardly moves (%+.1f %%).", -100*saved))
	default:
		lines = append(lines, fmt.Sprintf("The whole transfer took %.1f %% more CPU time: other work on the machine, or sealane is no gain here.", -100*saved))
	}
	faster, spread := after.MBs/before.MBs-1, max(before.Spread, after.Spread)
	switch {
	case math.Abs(faster) < 0.05:
		lines = append(lines, fmt.Sprintf("Throughput hardly moves (%+.1f %%): the AEAD was only %.1f %% of the CPU time, the rest is what the tunnel does besides.", 100*faster, 100*before.Share))
	case math.Abs(faster) < spread:
		lines = append(lines, fmt.Sprintf("Throughput differs by %+.1f %%, but downloads with the same program differ by %.1f %% too: nothing can be claimed of it.", 100*faster, 100*spread))
	case faster < 0:
		lines = append(lines, fmt.Sprintf("Throughput fell by %.1f %%, which the AEAD does not explain: other work on the machine disturbed the measurement.", -100*faster))
	case faster > 2*before.Share:
		lines = append(lines, fmt.Sprintf("Throughput rose by %.1f %%, more than the AEAD's %.1f %% of the CPU time explain: other work on the machine disturbed the measurement.", 100*faster, 100*before.Share))
	default:
		lines = append(lines, fmt.Sprintf("Throughput rises by %.1f %%.", 100*faster))
	}
	return lines
}
