package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// A floor is the minimum ratio of throughputs, sealane's to a peer's, at each size. It applies to one key unless Keys
// is set, to packets without associated data, and to ChaCha20-Poly1305 unless Algorithm is set. With Batch it applies
// to that many packets in one call. Peer is a library, or any: the fastest of all in that language. It applies to
// CPUs of one class, or of all classes.
type floor struct {
	Class     string // machine.Class
	NotHeld   bool   `json:"not_held"` // no run of make bench on such a CPU has met it yet
	Algorithm string
	Title     string
	Language  string
	Level     string
	Peer      string
	Keys      int
	Batch     int
	AtLeast   map[string]float64 `json:"at_least"`
}

//go:embed floors.json
var floorsJSON []byte

const (
	batchOfOneNs = 12 // beyond the call for a single packet; an Intel Xeon needs 11.1
	sweepFloor   = 1  // at all sizes
	anyPeer      = "any"
)

// An outcome is the result of one floor at one size.
type outcome struct {
	Title string  `json:"title"`
	Op    string  `json:"op"`
	Bytes int     `json:"bytes"`
	Batch int     `json:"batch,omitempty"` // packets in one call
	Limit float64 `json:"limit"`
	Got   float64 `json:"got"`   // 0: not run
	State string  `json:"state"` // pass, fail, or the reason why it was not run
}

func (f *floor) sizes() []int {
	if f.Batch > 0 {
		return batchSizes
	}
	return sizes
}

func ratioOutcome(title, op string, size int, got, floor float64, missing string) outcome {
	o := outcome{Title: title, Op: op, Bytes: size, Limit: floor, Got: got, State: "pass"}
	switch {
	case got == 0:
		o.State = "not run: " + missing
	case got < floor:
		o.State = "fail"
	}
	return o
}

// outcomes compares the measurements with the floors.
func (r *results) outcomes() ([]outcome, error) {
	var floors []floor
	if err := json.Unmarshal(floorsJSON, &floors); err != nil {
		return nil, fmt.Errorf("floors.json: %w", err)
	}
	var all []outcome
	for _, f := range floors {
		if f.Algorithm == "" {
			f.Algorithm = algorithms[0].Name
		}
		if f.Algorithm != alg.Name {
			continue
		}
		if f.Class != "" && f.Class != r.Machine.Class {
			continue
		}
		if f.NotHeld {
			f.Title += " (not held by a run yet)"
		}
		t := r.tables[f.Language]
		for _, op := range []string{"seal", "open"} {
			for _, size := range f.sizes() {
				limit, ok := f.AtLeast[sizeName(size)]
				if !ok {
					continue
				}
				var got float64
				if t != nil {
					got = t.ratio(cell{op, size, 0, max(f.Keys, 1), f.Batch}, f.Level, f.Peer)
				}
				o := ratioOutcome(f.Title, op, size, got, limit, f.Level+" or "+f.Peer+" is not here")
				o.Batch = f.Batch
				all = append(all, o)
			}
		}
	}
	for _, language := range languages {
		if alg.SetupLimitNs > 0 {
			all = append(all, r.setupOutcome(language))
		}
		if !alg.Batches {
			continue
		}
		for _, op := range []string{"seal", "open"} {
			o := outcome{Title: language + ", a batch of one takes more than the packet by itself, in ns, at most", Op: op,
				Bytes: 64, Batch: 1, Limit: batchOfOneNs, State: "not run: no level of sealane is here"}
			if t := r.tables[language]; t != nil && len(t.levels()) > 0 {
				level := t.level()
				o.Got = t.libraryNs(cell{op, 64, 0, 1, 1}, "sealane", level) - t.libraryNs(cell{op, 64, 0, 1, 0}, "sealane", level)
				o.State = "pass"
				if o.Got > batchOfOneNs {
					o.State = "fail"
				}
			}
			all = append(all, o)
		}
	}
	for _, s := range r.Sweep {
		all = append(all, ratioOutcome("Go, the level that programs get, against "+alg.Peer+", smallest ratio of all sizes from 0 to 16384",
			s.Op, s.LeastAt, s.Least, sweepFloor, ""))
	}
	return all, nil
}

// rustSetupLimitNs is for Rust, which moves a key when it makes it, and then wipes 8 KiB of stack.
const rustSetupLimitNs = 170

func (r *results) setupOutcome(language string) outcome {
	o := outcome{Title: language + ", key set-up in ns, at most", Op: "setup", Limit: alg.SetupLimitNs,
		State: "not run: no level of sealane is here"}
	if language == "Rust" {
		o.Limit = rustSetupLimitNs
	}
	t := r.tables[language]
	if t == nil {
		return o
	}
	if o.Got = t.libraryNs(setup, "sealane", t.level()); o.Got > 0 {
		o.State = "pass"
		if o.Got > o.Limit {
			o.State = "fail"
		}
	}
	return o
}

// ratio returns the ratio of throughput of a sealane level to a peer's fastest interface, or 0 if either is missing.
func (t *table) ratio(c cell, level, peer string) float64 {
	ours, theirs := t.libraryNs(c, "sealane", level), t.libraryNs(c, peer, "")
	if peer == anyPeer {
		for _, p := range t.peers() {
			if ns := t.libraryNs(c, p, ""); ns > 0 && (theirs == 0 || ns < theirs) {
				theirs = ns
			}
		}
	}
	if ours == 0 || theirs == 0 {
		return 0
	}
	return theirs / ours
}
