// Package dispatch chooses, for each primitive, the best implementation that this process may use: one whose CPU
// features are there, that the environment does not rule out, and that has just passed its known-answer test.
package dispatch

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Row is one implementation of a primitive.
type Row struct {
	Level   uint8 // not 0
	Name    string
	Summary string                  // what it is, in one line
	Needs   []string                // CPU features, as Has takes them
	Test    func(corrupt bool) bool // the known-answer test; told to corrupt the answer, it must fail

	// Sample does a typical packet. Rows that have it follow each other, and which of them is fastest depends on a CPU's
	// pipeline, which no feature tells: the times of their samples decide, unless the environment names one of them.
	Sample func()
}

// A Table lists the implementations of one primitive, best first. The last needs no feature: it is portable code.
type Table struct {
	Primitive string
	Rows      []Row

	works  [16]atomic.Uint32 // by level: what Works knows
	chosen atomic.Uint32     // a level; 0 before the choice, none if no row passed
	mu     sync.Mutex
	tests  map[string]bool          // outcomes of the known-answer tests that have run
	times  map[string]time.Duration // of samples, if they were compared
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
	if err := t.Environment(); err != nil {
		warn(err.Error())
	}
	chosen := uint32(none)
	for i, r := range t.Rows {
		if t.capped(i) || len(r.Lacks()) > 0 {
			continue
		}
		if t.test(r) {
			chosen = uint32(t.fastest(i).Level)
			break
		}
		t.warnFailed(r)
	}
	t.chosen.Store(chosen)
	return chosen
}

// turns is how often each row runs its sample, in turn with its rivals. The shortest time counts: interruptions only add.
const turns = 3

// now is the time since some moment.
var now = func() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}()

// fastest returns row i, which has passed its known-answer test, or a faster one of those that follow and have samples
// like it. The caller holds mu.
func (t *Table) fastest(i int) Row {
	if t.Rows[i].Sample == nil || environment().cpu == t.Rows[i].Name {
		return t.Rows[i]
	}
	var rows []Row
	for _, r := range t.Rows[i:] {
		if r.Sample == nil {
			break
		}
		if len(r.Lacks()) > 0 {
			continue
		}
		if !t.test(r) {
			t.warnFailed(r)
			continue
		}
		rows = append(rows, r)
	}
	if len(rows) == 1 {
		return rows[0]
	}
	best := 0
	t.times = make(map[string]time.Duration)
	for range turns {
		for j, r := range rows {
			start := now()
			r.Sample()
			took := now() - start
			if least, ran := t.times[r.Name]; !ran || took < least {
				t.times[r.Name] = took
			}
			if t.times[r.Name] < t.times[rows[best].Name] {
				best = j
			}
		}
	}
	return rows[best]
}

func (t *Table) warnFailed(r Row) {
	warn(t.Primitive + ": level " + r.Name + " fails its known-answer test and is not used")
}

// test runs the known-answer test of r, once. The caller holds mu.
func (t *Table) test(r Row) bool {
	passed, done := t.tests[r.Name]
	if !done {
		if t.tests == nil {
			t.tests = make(map[string]bool)
		}
		passed = r.Test(Corrupt == r.Name)
		t.tests[r.Name] = passed
	}
	return passed
}

// Works says whether the table has that level and its known-answer test passed. The first call for a level tests, the
// others read the outcome. It is for keys that have a level already, which the CPU can run.
func (t *Table) Works(level uint8) bool {
	return t.works[level].Load() == yes || t.testWorks(level)
}

const yes, no = 1, 2 // of what Works knows

func (t *Table) testWorks(level uint8) bool {
	known := t.works[level].Load()
	if known == 0 {
		known = no
		if t.testLevel(level) {
			known = yes
		}
		t.works[level].Store(known)
	}
	return known == yes
}

func (t *Table) testLevel(level uint8) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.Rows {
		if r.Level == level {
			if _, done := t.tests[r.Name]; t.test(r) {
				return true
			} else if !done {
				t.warnFailed(r)
			}
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

// Has says whether the CPU, and the operating system where it matters, has a feature. The names are those of the
// kernels' isa lines, without the dot.
func Has(feature string) bool {
	has := features[feature]
	return has != nil && *has
}

// A Status says what became of a level.
type Status uint8

const (
	Chosen      Status = iota + 1
	Lesser             // a better level was chosen
	Failed             // its known-answer test failed
	Capped             // the environment rules it out
	Unsupported        // the CPU lacks a feature
)

// A Report is what became of a row.
type Report struct {
	Row
	Status Status
	Tested bool // the CPU can run it
	Passed bool
	Why    string // the status in words
}

// Report makes the choice if it was not made, runs the known-answer tests that the CPU can run and that have not run,
// and says for each row what became of it.
func (t *Table) Report() []Report {
	chosen, _ := t.Choose()
	t.mu.Lock()
	defer t.mu.Unlock()
	var reports []Report
	for i, row := range t.Rows {
		r := Report{Row: row}
		lacks := row.Lacks()
		if lacks == nil {
			r.Tested, r.Passed = true, t.test(row)
		}
		switch {
		case lacks != nil:
			r.Status, r.Why = Unsupported, "the CPU lacks "+strings.Join(lacks, ", ")
		case !r.Passed:
			r.Status, r.Why = Failed, "its known-answer test failed"
		case t.capped(i):
			r.Status, r.Why = Capped, environment().limit()+" rules it out"
		case row.Level != chosen:
			r.Status, r.Why = Lesser, "a better level was chosen"
			if took, compared := t.times[row.Name]; compared {
				r.Why = fmt.Sprintf("slower on this CPU: %v for a packet", took)
			}
		case row.Sample != nil && row.Name == environment().cpu:
			r.Status, r.Why = Chosen, environment().limit()+" names it"
		case len(t.times) > 0:
			r.Status, r.Why = Chosen, fmt.Sprintf("the fastest on this CPU: %v for a packet", t.times[row.Name])
		case i > 0 && t.capped(i-1):
			r.Status, r.Why = Chosen, "the best level that "+environment().limit()+" allows"
		default:
			r.Status, r.Why = Chosen, "the best level that this CPU runs"
		}
		reports = append(reports, r)
	}
	return reports
}
