package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// forAll runs a test for every algorithm.
func forAll(t *testing.T, test func(t *testing.T)) {
	defer func(before algorithm) { alg = before }(alg)
	for _, a := range algorithms {
		alg = a
		t.Run(a.Name, test)
	}
}

func TestCandidatesAgree(t *testing.T) { forAll(t, testCandidatesAgree) }

func testCandidatesAgree(t *testing.T) {
	candidates := goCandidates()
	b, err := newGoBench(candidates, "")
	if err != nil {
		t.Fatal(err)
	}
	found, err := b.pass(time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cells() {
		for _, k := range candidates {
			if found.Ns[c][k.Name] <= 0 {
				t.Errorf("%s, %s: no time", k.Name, c)
			}
		}
	}
	for _, c := range candidates {
		if _, err := newGoBench(candidates, c.Name); err == nil || !strings.Contains(err.Error(), c.Name) {
			t.Errorf("a wrong byte from %s: got error %v", c.Name, err)
		}
	}
}

func TestFastestInterfaceStandsForALibrary(t *testing.T) {
	c := cell{"seal", 64, 0, 1, 0}
	var all table
	moved, of := all.merge(&table{
		Candidates: []candidate{{Name: "slow", Library: "peer"}, {Name: "fast", Library: "peer"},
			{Name: "ours", Library: "sealane", Level: "best"}},
		Ns: map[cell]map[string]float64{c: {"slow": 300, "fast": 200, "ours": 100}},
	})
	if moved != 3 || of != 3 {
		t.Errorf("first round: moved %d of %d, want 3 of 3", moved, of)
	}
	moved, _ = all.merge(&table{Candidates: all.Candidates,
		Ns: map[cell]map[string]float64{c: {"slow": 310, "fast": 150, "ours": 99.5}}})
	if moved != 1 {
		t.Errorf("second round: moved %d, want 1", moved)
	}
	if got, want := all.ratio(c, "best", "peer"), 150/99.5; got != want {
		t.Errorf("ratio %v, want %v", got, want)
	}
	if got := all.ratio(c, "best", "stranger"); got != 0 {
		t.Errorf("ratio to a peer that was not measured: %v, want 0", got)
	}
}

func TestFloors(t *testing.T) {
	measured := func(peer string, oursNs float64) *results {
		tab := &table{Candidates: []candidate{{Name: peer, Library: peer},
			{Name: "sealane avx512", Library: "sealane", Level: "avx512"}}, Ns: map[cell]map[string]float64{}}
		for _, c := range cells() {
			tab.Ns[c] = map[string]float64{peer: 1000, "sealane avx512": oursNs}
		}
		return &results{Machine: machine{Class: zen5}, tables: map[string]*table{"Go": tab}}
	}
	type sums struct{ pass, fail, notRun int }
	type wanted struct {
		oursNs float64
		sums
	}
	for i, all := range [][]wanted{
		{
			{10, sums{29, 0, 62}},
			{500, sums{8, 21, 62}}, // twice as fast: sizes 64, 256 and 576 in both directions, and a batch of one; key set-up is too slow
			{2000, sums{2, 27, 62}},
		},
		// 3.33 times as fast: 64 and 256 in both directions, of batches also the mix, and a batch of one
		{{10, sums{22, 0, 56}}, {300, sums{12, 10, 56}}},
		{{10, sums{14, 0, 40}}, {300, sums{6, 8, 40}}},
	} {
		defer func(before algorithm) { alg = before }(alg)
		alg = algorithms[i]
		for _, want := range all {
			outcomes, err := measured(alg.Peer, want.oursNs).outcomes()
			if err != nil {
				t.Fatal(err)
			}
			var got sums
			for _, o := range outcomes {
				switch o.State {
				case "pass":
					got.pass++
				case "fail":
					got.fail++
				default:
					got.notRun++
				}
			}
			if got != want.sums {
				t.Errorf("%s takes %v ns: %+v, want %+v", alg.Name, want.oursNs, got, want.sums)
			}
		}
	}
}

const (
	zen5 = "AMD family 26, AVX-512 IFMA"
	zen3 = "AMD family 25, AVX2"
)

// TestFloorsOfAClass holds rows to the CPUs that they are for, and against the fastest of all peers.
func TestFloorsOfAClass(t *testing.T) {
	tab := &table{Candidates: []candidate{{Name: "slow", Library: "OpenSSL"}, {Name: "fast", Library: "libgcrypt"},
		{Name: "sealane avx2", Library: "sealane", Level: "avx2"}}, Ns: map[cell]map[string]float64{}}
	for _, c := range cells() {
		tab.Ns[c] = map[string]float64{"slow": 1000, "fast": 125, "sealane avx2": 100}
	}
	states := func(class string) (fastest map[int]string) {
		r := &results{Machine: machine{Class: class}, tables: map[string]*table{"C": tab}}
		outcomes, err := r.outcomes()
		if err != nil {
			t.Fatal(err)
		}
		fastest = map[int]string{}
		for _, o := range outcomes {
			if strings.HasPrefix(o.Title, "C, avx2, against the fastest peer") && o.Op == "seal" {
				fastest[o.Bytes] = o.State
			}
		}
		return fastest
	}
	for _, class := range []string{"", zen5, "AMD family 23, AVX2"} {
		if got := states(class); len(got) != 0 {
			t.Errorf("class %q has the rows of Zen 3: %v", class, got)
		}
	}
	got := states(zen3) // 1.25 times as fast as libgcrypt
	if len(got) != 7 || got[64] != "pass" || got[1024] != "pass" || got[1420] != "fail" {
		t.Errorf("the class of Zen 3: %v", got)
	}
}

// TestRustIsALanguage checks a report with Rust's table and one without: floors, Rust's section, and the note that
// Rust was not measured.
func TestRustIsALanguage(t *testing.T) {
	tab := &table{Candidates: []candidate{{Name: "ring", Library: "ring"}, {Name: "aws-lc-rs", Library: "aws-lc-rs"},
		{Name: "sealane avx512", Library: "sealane", Level: "avx512"}}, Ns: map[cell]map[string]float64{}}
	for _, c := range cells() {
		tab.Ns[c] = map[string]float64{"ring": 300, "aws-lc-rs": 270, "sealane avx512": 100}
	}
	for _, test := range []struct {
		tables map[string]*table
		states map[string]string
		wanted string
	}{
		{map[string]*table{"Rust": tab}, map[string]string{"ring": "pass", "aws-lc-rs": "fail"}, "| avx512 ÷ ring, seal | 3.00 |"},
		{nil, map[string]string{"ring": "not run", "aws-lc-rs": "not run"}, "Rust was not measured."},
	} {
		r := &results{Machine: machine{Class: zen5}, tables: test.tables}
		outcomes, err := r.outcomes()
		if err != nil {
			t.Fatal(err)
		}
		for peer, want := range test.states {
			count := 0
			for _, o := range outcomes {
				if strings.HasPrefix(o.Title, "Rust, avx512, against "+peer) {
					if count++; !strings.HasPrefix(o.State, want) {
						t.Errorf("%s: %s, want %s", o.Title, o.State, want)
					}
				}
			}
			if count != 2 {
				t.Errorf("%d floors against %s, want one for each direction", count, peer)
			}
		}
		if page := r.markdown("name", outcomes); !strings.Contains(page, test.wanted) {
			t.Errorf("the report has no %q:\n%s", test.wanted, page)
		}
	}
}

// TestProgramsMustMeasureAll has programs that print less than they should.
func TestProgramsMustMeasureAll(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	for script, want := range map[string]string{
		"echo nothing":                        "invalid character",
		`echo '{"candidates":[],"cells":[]}'`: "does not measure",
		"echo ring: other bytes >&2; exit 1":  "ring: other bytes",
	} {
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := runProgram(program, time.Millisecond, -1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", script, err, want)
		}
	}
}

func TestSweepFindsASlowerSize(t *testing.T) {
	pairs := make([]pair, maxBytes+1)
	for i := range pairs {
		pairs[i] = pair{ours: 1, peer: 2}
	}
	pairs[77].ours = 2.5
	s := summary("seal", pairs)
	if s.Slower != 1 || s.FirstSlower[0] != 77 || s.LeastAt != 77 || s.Least != 0.8 || s.Median != 2 {
		t.Errorf("got %+v", s)
	}
	if got := s.LeastOfEach64[1]; got != 0.8 {
		t.Errorf("least of sizes 64 to 127: %v, want 0.8", got)
	}
}

// TestCPUs has two results of one CPU and one of another. Each CPU gets one plot, of its newest result. Modeled
// figures get none.
func TestCPUs(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"old":      `{"machine": {"cpu": "One"}, "algorithm": "ChaCha20-Poly1305", "date": "2026-01-01"}`,
		"new":      `{"machine": {"cpu": "One"}, "algorithm": "ChaCha20-Poly1305", "date": "2026-02-01"}`,
		"other":    `{"machine": {"cpu": "Other"}, "algorithm": "ChaCha20-Poly1305", "date": "2025-01-01"}`,
		"gcm":      `{"machine": {"cpu": "One"}, "algorithm": "AES-128-GCM", "date": "2026-03-01"}`,
		"modelled": `{"about": "modelled", "cells": []}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeCPUs(dir); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var plots []string
	for _, m := range regexp.MustCompile(`\]\((\w+)\.svg\)`).FindAllStringSubmatch(string(page), -1) {
		plots = append(plots, m[1])
	}
	if !slices.Equal(plots, []string{"new", "other"}) || !strings.Contains(string(page), "[2026-01-01](old.md)") {
		t.Errorf("plots %q:\n%s", plots, page)
	}
	if err := os.WriteFile(filepath.Join(dir, "broken.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeCPUs(dir); err == nil {
		t.Error("a broken file was read")
	}
}

// TestCommittedResults holds the floors of each class to the results in the tree, at the level that programs get on that CPU.
func TestCommittedResults(t *testing.T) {
	defer func(before algorithm) { alg = before }(alg)
	for file, class := range map[string]string{
		"amd-epyc-family-26-model-2":                  zen5,
		"amd-epyc-family-25-model-17":                 "AMD family 25, AVX-512 IFMA",
		"intel-r-xeon-r-processor-family-6-model-167": "Intel family 6, AVX-512 IFMA",
		"intel-r-xeon-r-processor-family-6-model-207": "Intel family 6, AVX-512 IFMA",
	} {
		for _, alg = range algorithms {
			r, err := readResults(filepath.Join("results", file+alg.Suffix+".json"))
			if err != nil {
				t.Fatal(err)
			}
			r.Machine.Class = class
			outcomes, err := r.outcomes()
			if err != nil {
				t.Fatal(err)
			}
			held := 0
			for _, o := range outcomes {
				if o.Op == "setup" || o.Batch == 1 { // of this tree's code, not of its CPU
					continue
				}
				if held++; o.State != "pass" {
					t.Errorf("%s, %s: %s", file, alg.Name, o)
				}
			}
			if held < 40 {
				t.Errorf("%s, %s: %d floors", file, alg.Name, held)
			}
		}
	}
}

// readResults parses the output of raw.
func readResults(path string) (*results, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var raw struct {
		Machine machine
		Tables  map[string]struct {
			Candidates []candidate
			Cells      []struct {
				cell
				Ns map[string]float64
			}
		}
	}
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	r := &results{Machine: raw.Machine, tables: map[string]*table{}}
	for language, from := range raw.Tables {
		to := &table{Candidates: from.Candidates, Ns: map[cell]map[string]float64{}}
		for _, c := range from.Cells {
			to.Ns[c.cell] = c.Ns
		}
		r.tables[language] = to
	}
	return r, nil
}
