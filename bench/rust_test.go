//go:build rust

package main

import (
	"os"
	"slices"
	"testing"
	"time"
)

// TestRustProgram has the program that SEALANE_BENCH_RUST names measure all cells with all its candidates.
func TestRustProgram(t *testing.T) { forAll(t, testRustProgram) }

func testRustProgram(t *testing.T) {
	found, err := runProgram(os.Getenv("SEALANE_BENCH_RUST"), time.Millisecond, -1)
	if err != nil {
		t.Fatal(err)
	}
	// ring, aws-lc-rs, RustCrypto twice, OpenSSL, and graviola on CPUs that it knows.
	if n := len(found.peers()); n < 5 || n > 6 || len(found.levels()) == 0 || found.ClockGHz <= 0 {
		t.Errorf("peers %q, levels %q, %v GHz", found.peers(), found.levels(), found.ClockGHz)
	}
	for _, c := range cells() {
		for _, k := range found.Candidates {
			ns, ok := found.Ns[c][k.Name]
			if !ok && c == setup && k.Level != "" {
				continue // not the level of the process
			}
			// A packet takes some cycles, and no packet a second; some keys are nothing but their bytes.
			if ns > 1e9 || ns <= 0 || c != setup && ns < 2 {
				t.Errorf("%s, %s: %v ns", k.Name, c, ns)
			}
		}
	}
	if !slices.ContainsFunc(found.levels(), func(level string) bool { return found.libraryNs(setup, "sealane", level) > 0 }) {
		t.Error("key set-up is measured at no level")
	}
	for _, k := range found.Candidates {
		if k.Version == "" || k.How == "" {
			t.Errorf("%+v says less than it should", k)
		}
	}
}
