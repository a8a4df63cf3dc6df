// Package dispatch chooses, for each primitive, the best implementation that this process may use: one whose CPU
// features are there, that the environment does not rule out, and that has just passed its known-answer test.
//
// This package and package kernel are the core: they import so little that any package of the standard library could
// import them. What they have to tell people is in package report.
package dispatch

import (
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

	// Samples do a short and a long packet. Which row with samples is fastest depends on a CPU's pipeline, which no feature
	// tells: their times decide. Nothing is measured where the choice is to be the same each time: SEALANE_CPU is set, the
	// program set a level, or it has more rights than who started it.
	Samples Samples
}

// Samples are the work that rows are compared by: short and long packets.
type Samples [2]func()

// Times are the shortest times of a row's samples.
type Times [2]time.Duration

// A Table lists the implementations of one primitive, best first. The last needs no feature: it is portable code.
type Table struct {
	Primitive string
	Rows      []Row

	works  [16]atomic.Uint32 // by level: what Works knows
	chosen atomic.Uint32     // a level; 0 before the choice, none if no row passed
	mu     sync.Mutex
	tests  map[string]bool  // outcomes of the known-answer tests that have run
	times  map[string]Times // if samples were compared
}

const none = 1 << 8

// Corrupt names a level whose known-answer tests fail. Only tests set it, before the level is first tested.
var Corrupt string

// Package report sets these when it is initialised. Nothing is reported without it.
var (
	OnChoice  func(t *Table)             // after a table's environment was read, before its choice
	OnFailure func(t *Table, failed Row) // of a known-answer test
)

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
	if OnChoice != nil {
		OnChoice(t)
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
		t.tellFailed(r)
	}
	t.chosen.Store(chosen)
	return chosen
}

// Each row runs its samples in turn with its rivals. The shortest time counts: interruptions only add. No turn but the first
// two begins if the turns before it, by the shortest times, took more than the limit, so that all ends within twice that where
// the choice matters and nothing else runs meanwhile. From the second turn on a sample is run several times in a row if that
// takes little: programs seal one packet after the other by the same code, and what ran before it tells on the first.
const (
	turns        = 4
	turnsAtLeast = 2
	inARow       = 8  // at most,
	rowShare     = 32 // and in no more than this part of the limit
	measureLimit = 30 * time.Microsecond
	rivalLimit   = 15 * time.Microsecond // of Beaten, which comes on top
)

// now is the time since some moment.
var now = func() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}()

// Clock is the time since some moment, to measure by.
func Clock() time.Duration { return now() }

// MeasureLimit is the time after which a measurement begins no turn that it can do without.
const MeasureLimit = measureLimit

// fastest returns row i, which has passed its known-answer test, or of those behind it that have samples too one with a
// clearly smaller product of its times. The caller holds mu.
func (t *Table) fastest(i int) Row {
	rows := t.rivals(i)
	if len(rows) < 2 {
		return t.Rows[i]
	}
	samples := make([]Samples, len(rows))
	for j, r := range rows {
		samples[j] = r.Samples
	}
	times := measure(samples, measureLimit)
	best := 0
	t.times = make(map[string]Times)
	for j, r := range rows {
		t.times[r.Name] = times[j]
		if times[j].clearlyBelow(times[best]) {
			best = j
		}
	}
	if best > 0 && total(times) <= measureLimit/8 {
		// By what runs beside it a measurement may be wrong, and it holds for the life of the process: a second one of both, where
		// that is quick.
		both := measure([]Samples{samples[0], samples[best]}, measureLimit/2)
		t.times[rows[0].Name], t.times[rows[best].Name] = both[0], both[1]
		if !both[1].clearlyBelow(both[0]) {
			best = 0
		}
	}
	return rows[best]
}

func total(times []Times) (sum time.Duration) {
	for _, t := range times {
		sum += t[0] + t[1]
	}
	return sum
}

// measure has all samples take turns and returns the shortest times. Interruptions leave it its turns: they do not count
// towards the limit.
func measure(samples []Samples, limit time.Duration) []Times {
	times := make([]Times, len(samples))
	runs := [len(Times{})]time.Duration{1, 1} // in a row
	shortest := time.Duration(0)              // of a turn
	for turn := 0; turn < turnsAtLeast || turn < turns && time.Duration(turn)*shortest <= limit; turn++ {
		shortest = 0
		for j, pair := range samples {
			for k, sample := range pair {
				for run := range runs[k] {
					began := now()
					sample()
					if took := now() - began; turn+int(run) == 0 || took < times[j][k] {
						times[j][k] = took
					}
				}
				shortest += runs[k] * times[j][k]
			}
		}
		for k := range runs {
			least := times[0][k]
			for _, t := range times {
				least = min(least, t[k])
			}
			runs[k] = 1
			if least > 0 { // else the clock is too coarse
				runs[k] = min(max(limit/rowShare/least, 1), inARow)
			}
		}
	}
	return times
}

// product is a figure to compare rows by: half the time for a short packet makes up for twice that for a long one.
func (t Times) product() float64 { return float64(t[0]) * float64(t[1]) }

// clearlyBelow says whether the product is below the other by more than what noise makes of equals.
func (t Times) clearlyBelow(other Times) bool {
	return t.product() < other.product()-other.product()/16
}

// Beaten says whether theirs, which do what ours of the chosen level do, are clearly faster, by the rule for rows with
// samples, and what both took. Theirs are what a program has that does not come from a table. It does not compare them, and ours
// stand, where the choice is to be the same each time. Ours stand too where the clock is too coarse to tell. Theirs must be faster
// in two measurements: by what runs beside it one may be wrong, and it holds for the life of the process.
func Beaten(ours, theirs Samples) (beaten, compared bool, took [2]Times) {
	if environment().fixed() {
		return false, false, took
	}
	for range 2 {
		times := measure([]Samples{ours, theirs}, rivalLimit)
		took = [2]Times{times[0], times[1]}
		if beaten = times[1].product() > 0 && times[1].clearlyBelow(times[0]); !beaten {
			break
		}
	}
	return beaten, true, took
}

// rivals returns row i and those behind it that its samples are to be compared with; row i alone if nothing is to be measured.
func (t *Table) rivals(i int) []Row {
	rows := []Row{t.Rows[i]}
	if t.Rows[i].Samples[0] == nil || environment().fixed() {
		return rows
	}
	for _, r := range t.Rows[i+1:] {
		switch {
		case r.Samples[0] == nil || len(r.Lacks()) > 0:
		case t.test(r):
			rows = append(rows, r)
		default:
			t.tellFailed(r)
		}
	}
	return rows
}

func (t *Table) tellFailed(r Row) {
	if OnFailure != nil {
		OnFailure(t, r)
	}
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
				t.tellFailed(r)
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

// An Outcome is what became of a row.
type Outcome struct {
	Row
	Lacking  []string // features: with any, the CPU cannot run it, and it is not tested
	Passed   bool     // its known-answer test
	Capped   bool     // the environment rules it out
	Compared bool     // with others by their samples
	Took     Times
}

// Outcomes makes the choice if it was not made, runs the known-answer tests that the CPU can run and that have not run,
// and returns the level that was chosen, 0 if none, and the outcome of each row.
func (t *Table) Outcomes() (chosen uint8, outcomes []Outcome) {
	chosen, _ = t.Choose()
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, row := range t.Rows {
		o := Outcome{Row: row, Lacking: row.Lacks(), Capped: t.capped(i)}
		o.Passed = len(o.Lacking) == 0 && t.test(row)
		o.Took, o.Compared = t.times[row.Name]
		outcomes = append(outcomes, o)
	}
	return chosen, outcomes
}
