package main

import (
	"fmt"
	"slices"
)

// An algorithm is the subject of one run.
type algorithm struct {
	Name         string // the same in the C program
	Standard     string
	KeyBytes     int
	SetupLimitNs float64 // limit for sealane's key set-up, in C and Go; 0: no limit
	Batches      bool    // sealane has batch kernels
	Peer         string  // peer for the comparison at all sizes in Go
	Suffix       string  // suffix of the result files
}

var (
	algorithms = []algorithm{
		{"ChaCha20-Poly1305", "RFC 8439", 32, 50, true, "x/crypto", ""},
		{"AES-128-GCM", "NIST SP 800-38D", 16, 0, true, "standard library", "-aes-128-gcm"},
		{"AES-256-GCM", "NIST SP 800-38D", 32, 0, true, "standard library", "-aes-256-gcm"},
	}
	alg = algorithms[0] // algorithm of this run
)

// The measurements. The C program (c/bench.c) and the Rust program (../rust/bench/src/rows.rs) have the same lists.
var (
	sizes   = []int{64, 256, 576, 1024, 1420, 4096, 8192, 16384}
	adSizes = []int{0, 13}

	// Batches have no associated data. The Internet mix has 7 packets of 64, 4 of 576 and 1 of 1420 bytes, interleaved.
	batchSizes = []int{64, 128, 256, 576, 1420, mixed}
	mix        = []int{64, 576, 64, 64, 576, 64, 1420, 64, 576, 64, 64, 576}
)

const (
	manyKeys = 64
	maxBytes = 16384
	batched  = 64 // packets in one call
	mixed    = 0  // as a size: the Internet mix
)

// A cell is one row of the measurement: an operation and the shape of its packets.
type cell struct {
	Op    string // seal, open, setup
	Bytes int
	AD    int
	Keys  int // used in rotation
	Batch int // packets in one call; 0: single-packet calls
}

func (c cell) String() string {
	if c.Op == "setup" {
		return "key set-up"
	}
	if c.Batch > 0 {
		return fmt.Sprintf("%s %s bytes, %d keys, %d packets a call", c.Op, sizeName(c.Bytes), c.Keys, c.Batch)
	}
	return fmt.Sprintf("%s %d bytes, %d of associated data, %d keys", c.Op, c.Bytes, c.AD, c.Keys)
}

func sizeName(bytes int) string {
	if bytes == mixed {
		return "mix"
	}
	return fmt.Sprint(bytes)
}

func cells() []cell {
	var all []cell
	for _, op := range []string{"seal", "open"} {
		for _, ad := range adSizes {
			for _, n := range sizes {
				all = append(all, cell{op, n, ad, 1, 0})
			}
		}
		for _, n := range sizes {
			all = append(all, cell{op, n, 0, manyKeys, 0})
		}
		if !alg.Batches {
			continue
		}
		for _, n := range batchSizes {
			all = append(all, cell{op, n, 0, 1, batched}, cell{op, n, 0, manyKeys, batched})
		}
		all = append(all, cell{op, 64, 0, 1, 1})
	}
	return append(all, setup)
}

var setup = cell{"setup", 0, 0, 1, 0}

// A candidate is one implementation, as named in the results.
type candidate struct {
	Name    string `json:"name"`
	Library string `json:"library"` // the library that a user installs; its fastest candidate represents it
	Version string `json:"version"`
	How     string `json:"how"` // which interface of the library
	Level   string `json:"level,omitempty"`
}

// A table is the measurement in one language: the minimum time per packet over all repetitions, in ns.
type table struct {
	Candidates  []candidate
	ClockGHz    float64
	Repetitions int
	Level       string // the level that programs get
	Ns          map[cell]map[string]float64
}

// merge takes the smaller times of u, and returns how many of how many times changed by more than stable.
func (t *table) merge(u *table) (moved, of int) {
	t.Candidates = u.Candidates
	t.ClockGHz = max(t.ClockGHz, u.ClockGHz)
	t.Repetitions += u.Repetitions
	if t.Ns == nil {
		t.Ns = make(map[cell]map[string]float64)
	}
	for c, row := range u.Ns {
		if t.Ns[c] == nil {
			t.Ns[c] = make(map[string]float64)
		}
		for name, ns := range row {
			old, known := t.Ns[c][name]
			of++
			if known && old <= ns {
				continue
			}
			if !known || old/ns > stable {
				moved++
			}
			t.Ns[c][name] = ns
		}
	}
	return moved, of
}

// libraryNs returns the time of a library's fastest interface for a cell, or of one sealane level; 0 if there is none.
func (t *table) libraryNs(c cell, library, level string) (best float64) {
	for _, k := range t.Candidates {
		if k.Library != library || k.Level != level {
			continue
		}
		if ns := t.Ns[c][k.Name]; ns > 0 && (best == 0 || ns < best) {
			best = ns
		}
	}
	return best
}

// peers returns the libraries other than sealane, in the order of the candidates.
func (t *table) peers() []string {
	var names []string
	seen := map[string]bool{}
	for _, k := range t.Candidates {
		if k.Level == "" && !seen[k.Library] {
			seen[k.Library] = true
			names = append(names, k.Library)
		}
	}
	return names
}

// level returns the level that programs get, or the first measured level if that one was not measured.
func (t *table) level() string {
	levels := t.levels()
	if len(levels) == 0 || slices.Contains(levels, t.Level) {
		return t.Level
	}
	return levels[0]
}

// levels returns the measured levels of sealane, best first.
func (t *table) levels() []string {
	var names []string
	for _, k := range t.Candidates {
		if k.Level != "" {
			names = append(names, k.Level)
		}
	}
	return names
}
