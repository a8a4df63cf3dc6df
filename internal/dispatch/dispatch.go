// Package dispatch chooses, for each primitive, the best implementation that this process may use: one whose CPU
// features are there, that the environment does not rule out, and that has just passed its known-answer test.
//
// This package and package kernel are the core: they import so little that any package of the standard library could
// import them. What they have to tell people is in package report.
package dispatch

import (
	"sync"
	"sync/atomic"
)

// A Row is one implementation of a primitive.
type Row struct {
	Level   uint8 // not 0
	Name    string
	Summary string                  // what it is, in one line
	Needs   []string                // CPU features, as Has takes them
	Test    func(corrupt bool) bool // the known-answer test; told to corrupt the answer, it must fail
}

// A Table lists the implementations of one primitive, best first. The last needs no feature: it is portable code.
type Table struct {
	Primitive string
	Rows      []Row

	mu      sync.Mutex
	chosen  atomic.Uint32           // a level; 0 before the choice, none if no row passed
	results [LevelEnd]atomic.Uint32 // of the known-answer tests, by level: 0 before a test, passed or failed
}

const none = 1 << 8

// Corrupt names a level whose known-answer tests fail. Only tests set it, before the level is first tested.
var Corrupt string

// Choose returns the level to use, and whether there is one: there is none if even the portable code failed. The
// first call tests and chooses, the others read the outcome.
func (t *Table) Choose() (level uint8, ok bool) {
	chosen := t.chosen.Load()
	if chosen == 0 {
		chosen = t.choose()
	}
	return uint8(chosen), chosen != none
}

func (t *Table) choose() uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if chosen := t.chosen.Load(); chosen != 0 {
		return chosen
	}
	chosen := uint32(none)
	for _, r := range t.Rows[t.start():] {
		if len(r.Lacks()) == 0 && t.test(r) {
			chosen = uint32(r.Level)
			break
		}
	}
	t.chosen.Store(chosen)
	return chosen
}

// test runs the known-answer test of r, once. The caller holds mu.
func (t *Table) test(r Row) bool {
	result := &t.results[r.Level]
	if result.Load() == 0 {
		if r.Test(Corrupt == r.Name) {
			result.Store(passed)
		} else {
			result.Store(failed)
		}
	}
	return result.Load() == passed
}

const passed, failed = 1, 2 // values of results

// Works says whether the table has that level and its known-answer test passed. The first call for a level tests, the
// others read the outcome. It is for keys that have a level already, which the CPU can run.
func (t *Table) Works(level uint8) bool {
	return t.results[level].Load() == passed || t.testWorks(level)
}

func (t *Table) testWorks(level uint8) bool {
	if t.results[level].Load() == failed {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.Rows {
		if r.Level == level {
			return t.test(r)
		}
	}
	return false
}

// index returns the row of that name, or -1.
func (t *Table) index(name string) int {
	for i, r := range t.Rows {
		if r.Name == name {
			return i
		}
	}
	return -1
}

// Name returns the name of a level.
func (t *Table) Name(level uint8) string {
	for _, r := range t.Rows {
		if r.Level == level {
			return r.Name
		}
	}
	return ""
}

// Lacks returns the features that the CPU lacks: with any, it cannot run the row.
func (r Row) Lacks() []string {
	var lacks []string
	for _, f := range r.Needs {
		if !Has(f) {
			lacks = append(lacks, f)
		}
	}
	return lacks
}

// An Outcome is what became of a row.
type Outcome struct {
	Row
	Lacking []string // features: with any, the CPU cannot run it, and it is not tested
	Passed  bool     // its known-answer test
	Capped  bool     // the environment or the program rules it out
	Skipped bool     // on this microarchitecture a level behind it is faster
}

// Outcomes makes the choice if it was not made, runs the known-answer tests that the CPU can run and that have not run,
// and returns the level that was chosen, 0 if none, and the outcome of each row.
func (t *Table) Outcomes() (chosen uint8, outcomes []Outcome) {
	chosen, _ = t.Choose()
	t.mu.Lock()
	defer t.mu.Unlock()
	start, capped := t.start(), t.capped()
	for i, row := range t.Rows {
		o := Outcome{Row: row, Lacking: row.Lacks(), Capped: i < capped, Skipped: i < start}
		o.Passed = len(o.Lacking) == 0 && t.test(row)
		outcomes = append(outcomes, o)
	}
	return chosen, outcomes
}
