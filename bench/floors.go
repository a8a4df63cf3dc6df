package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
)

// A floor is the least ratio of throughputs, sealane's to a peer's, that is accepted at each size; for one key and no
// associated data. The numbers hold for CPUs with AVX-512 IFMA of the Zen 5 class.
type floor struct {
	Title    string
	Language string
	Level    string
	Peer     string
	AtLeast  map[string]float64 `json:"at_least"`
}

//go:embed floors.json
var floorsJSON []byte

const (
	keySetupLimitNs = 50 // of sealane, in C and in Go
	sweepFloor      = 1  // at every size
)

// An outcome is one floor at one size.
type outcome struct {
	Title string  `json:"title"`
	Op    string  `json:"op"`
	Bytes int     `json:"bytes"`
	Limit float64 `json:"limit"`
	Got   float64 `json:"got"`   // 0: not run
	State string  `json:"state"` // pass, fail, or why it was not run
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

// outcomes compares what was measured with the floors.
func (r *results) outcomes() ([]outcome, error) {
	var floors []floor
	if err := json.Unmarshal(floorsJSON, &floors); err != nil {
		return nil, fmt.Errorf("floors.json: %w", err)
	}
	var all []outcome
	for _, f := range floors {
		t := r.tables[f.Language]
		for _, op := range []string{"seal", "open"} {
			for _, size := range sizes {
				limit, ok := f.AtLeast[strconv.Itoa(size)]
				if !ok {
					continue
				}
				var got float64
				if t != nil {
					got = t.ratio(cell{op, size, 0, 1}, f.Level, f.Peer)
				}
				all = append(all, ratioOutcome(f.Title, op, size, got, limit, f.Level+" or "+f.Peer+" is not here"))
			}
		}
	}
	for _, language := range languages {
		o := outcome{Title: language + ", key set-up in ns, at most", Op: "setup", Limit: keySetupLimitNs,
			State: "not run: no level of sealane is here"}
		if t := r.tables[language]; t != nil && len(t.levels()) > 0 {
			o.Got = t.libraryNs(cell{"setup", 0, 0, 1}, "sealane", t.levels()[0])
			o.State = "pass"
			if o.Got > keySetupLimitNs {
				o.State = "fail"
			}
		}
		all = append(all, o)
	}
	for _, s := range r.Sweep {
		all = append(all, ratioOutcome("Go, best level, against x/crypto, smallest ratio of all sizes from 0 to 16384",
			s.Op, s.LeastAt, s.Least, sweepFloor, ""))
	}
	return all, nil
}

// ratio returns how many times as fast as a peer's fastest interface a level of sealane is; 0 if either is not there.
func (t *table) ratio(c cell, level, peer string) float64 {
	ours, theirs := t.libraryNs(c, "sealane", level), t.libraryNs(c, peer, "")
	if ours == 0 || theirs == 0 {
		return 0
	}
	return theirs / ours
}
