// Package dispatch chooses, for each primitive, the best implementation that this process may use.
// The CPU must have its features, the environment must not exclude it, and it must just have passed its
// known-answer test.
//
// Packages dispatch and kernel are the core: they import so little that any package of the standard library could
// import them. Package report produces the texts for users.
package dispatch

import (
	"sync"
	"sync/atomic"
)

// A Row is one implementation of a primitive.
type Row struct {
	Level   uint8 // not 0
	Name    string
	Summary string                  // one-line description
	Needs   []string                // CPU features, by the names that Has takes
	Test    func(corrupt bool) bool // known-answer test; with corrupt set it must fail
}

// A Table lists the implementations of one primitive, best first. The last is portable code, which needs no feature.
type Table struct {
	Primitive string
	Rows      []Row

	mu      sync.Mutex
	chosen  atomic.Uint32           // a level; 0 before the choice; the constant none if no row passed
	results [LevelEnd]atomic.Uint32 // results of the known-answer tests by level: 0 before a test, passed or failed
}

const none = 1 << 8

// Corrupt names a level whose known-answer tests fail. Only tests set it, before the first test of the level.
var Corrupt string

// Choose returns the level to use, and whether there is one: there is none if even the portable code failed. The first
// call tests and chooses; later calls return its result.
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

// test runs the known-answer test of r once. The caller holds mu.
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

// Works reports whether the table has that level and its known-answer test passed. The first call for a level runs the
// test; later calls return its result. It is for keys that already have a level, which the CPU can run.
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

// index returns the index of the row with that name, or -1.
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

// Lacks returns the required features that the CPU lacks. The CPU can run the row only if there are none.
func (r Row) Lacks() []string {
	var lacks []string
	for _, f := range r.Needs {
		if !Has(f) {
			lacks = append(lacks, f)
		}
	}
	return lacks
}

// An Outcome is the result of the choice for one row.
type Outcome struct {
	Row
	Lacking []string // missing CPU features; if there are any, the row is not tested
	Passed  bool     // the known-answer test passed
	Capped  bool     // the environment or the program excludes it
	Skipped bool     // a lower level is faster on this microarchitecture
}

// Outcomes makes the choice and runs all known-answer tests that the CPU can run, unless they have run before. It
// returns the chosen level, or 0 if there is none, and the outcome of each row.
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
