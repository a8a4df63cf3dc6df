//go:build unix

// Command wireguard shows the effect of sealane on a program. It downloads a file through a WireGuard tunnel,
// alternately with the stock ciphers, with sealane, and with sealane in batches. It reports the cost of each
// download.
//
// The programs are built from the same source, tunnel/, with go build, sealane build and sealane build --batch. With
// -tls they are ../https, built with go build and sealane build --std, and the download uses HTTPS.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

func main() {
	size := flag.Float64("size", 1, "size of the file, in GiB")
	rounds := flag.Int("rounds", 2, "downloads with each program")
	limit := flag.Duration("limit", 75*time.Second, "start no further round that would end after this time")
	asJSON := flag.Bool("json", false, "print the figures as JSON")
	stock := flag.String("stock", "", "program built by go build")
	sealane := flag.String("sealane", "", "program built by sealane build")
	batch := flag.String("batch", "", "program built by sealane build --batch; none if empty")
	suite := flag.String("tls", "", "the programs download by HTTPS, with this cipher suite of TLS 1.3")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	bytes := int64(*size * (1 << 30))
	if *stock == "" || *sealane == "" || bytes <= 0 || *rounds < 1 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "wireguard: -stock and -sealane name the two programs, -size and -rounds are positive (see -help)")
		os.Exit(2)
	}
	d := demonstration{programs: []program{{name: "x/crypto", file: *stock}, {name: "sealane", file: *sealane}}, bytes: bytes, suite: *suite}
	if *suite != "" {
		d.programs[0].name = "go build"
		for i := range d.programs {
			d.programs[i].suite = *suite
		}
	}
	if *batch != "" {
		d.programs = append(d.programs, program{name: "batches", file: *batch})
	}
	if err := d.run(ctx, *rounds, *limit); err != nil {
		fmt.Fprintln(os.Stderr, "wireguard: "+err.Error())
		os.Exit(1)
	}
	if *asJSON {
		d.json(os.Stdout)
	} else {
		d.report(os.Stdout)
	}
}

// A demonstration alternates between programs.
type demonstration struct {
	programs []program
	bytes    int64
	suite    string // TLS cipher suite; empty: the tunnel
}

type program struct {
	name, file, suite string
	downloads         []download
}

// A download is the measurement of one run of a program.
type download struct {
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu_seconds"`
	SHA256  string  `json:"sha256"`
	Spent   costs   `json:"cpu_spent"`
}

func (d *demonstration) run(ctx context.Context, rounds int, limit time.Duration) error {
	scratch, err := os.MkdirTemp("", "sealane-tunnel-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	start := time.Now()
	for round := range rounds {
		began := time.Now()
		for i := range d.programs {
			// Every other round has the opposite order, so that a machine that slows down or speeds up favors no
			// program.
			p := &d.programs[i]
			if round%2 == 1 {
				p = &d.programs[len(d.programs)-1-i]
			}
			got, err := p.download(ctx, d.bytes, filepath.Join(scratch, "profile"), fmt.Sprintf("round %d of %d", round+1, rounds))
			if err != nil {
				return fmt.Errorf("the download with %s failed: %w", p.name, err)
			}
			p.downloads = append(p.downloads, *got)
		}
		if now := time.Now(); now.Sub(start)+now.Sub(began) > limit {
			break
		}
	}
	return nil
}

func (p *program) download(ctx context.Context, bytes int64, profileFile, round string) (*download, error) {
	args := []string{fmt.Sprintf("-size=%d", bytes), "-profile=" + profileFile}
	if p.suite != "" {
		args = append(args, "-suite="+p.suite)
	}
	cmd := exec.CommandContext(ctx, p.file, args...)
	if strings.Contains(p.suite, "CHACHA20") {
		// Makes crypto/tls believe that the CPU lacks instructions for AES-GCM; it then prefers ChaCha20-Poly1305.
		feature := map[string]string{"amd64": "pclmulqdq", "arm64": "pmull"}[runtime.GOARCH]
		cmd.Env = append(os.Environ(), "GODEBUG=cpu."+feature+"=off")
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	bar := newBar(fmt.Sprintf("%-8s %s", p.name, round))
	var got download
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var line struct {
			Done, Of int64
			download
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, err
		}
		if line.Of > 0 {
			bar.show(line.Done, line.Of)
		} else {
			got = line.download
		}
	}
	bar.clear()
	if err := cmd.Wait(); err != nil {
		return nil, err
	}
	f, err := os.Open(profileFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	prof, err := profile.Parse(f)
	if err != nil {
		return nil, err
	}
	got.Spent = spent(prof)
	return &got, nil
}

// A bar shows the progress of a download, if there is a terminal.
type bar struct {
	label string
	start time.Time
	on    bool
}

func newBar(label string) *bar {
	info, err := os.Stderr.Stat()
	b := &bar{label: label, start: time.Now(), on: err == nil && info.Mode()&os.ModeCharDevice != 0}
	if !b.on {
		fmt.Fprintln(os.Stderr, label)
	}
	return b
}

func (b *bar) show(done, of int64) {
	if !b.on {
		return
	}
	const width = 30
	full := int(done * width / of)
	fmt.Fprintf(os.Stderr, "\r%s  [%s%s] %4d MiB  %.0f s ", b.label, strings.Repeat("#", full), strings.Repeat(".", width-full),
		done>>20, time.Since(b.start).Seconds())
}

func (b *bar) clear() {
	if b.on {
		fmt.Fprint(os.Stderr, "\r\033[K")
	}
}
