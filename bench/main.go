// Command bench compares sealane with the alternatives for its users, in Go, C and Rust, and writes a table, the raw
// figures and a plot.
//
// The C, Rust and Go programs measure alternately, pinned to the same CPU. They stop when the minimum times no longer
// change or the time is up.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"time"
)

var languages = []string{"Go", "C", "Rust"}

// results are all results of a run.
type results struct {
	Machine   machine           `json:"machine"`
	Algorithm string            `json:"algorithm"`
	Date      string            `json:"date"`
	Go        string            `json:"go"` // version
	Seconds   float64           `json:"seconds"`
	Rounds    int               `json:"rounds"`
	Moved     float64           `json:"moved"` // share of the minimum times that the last round reduced by more than 1 %
	Sweep     []sweepSummary    `json:"sweep"`
	Passes    int               `json:"sweep_passes"`
	tables    map[string]*table // by language
}

type options struct {
	seconds     time.Duration
	program     string
	rust        string
	dir         string
	name        string
	fault       string
	alg         string
	strict      bool
	region      string
	bytes       int
	open        bool
	list        bool
	cpus, class bool
}

const (
	roundC     = 4 * time.Second
	roundRust  = 4 * time.Second
	roundGo    = 4 * time.Second
	roundSweep = 4 * time.Second
	minRounds  = 3
	stable     = 1.01 // a time that changes by less is stable
	mayMove    = 0.01 // the share of times that may still change in the last round
)

func main() {
	var o options
	flag.DurationVar(&o.seconds, "time", 4*time.Minute, "measure at most `this long`")
	flag.StringVar(&o.program, "c", "", "the C `program`, built from c/; without it C is not measured")
	flag.StringVar(&o.rust, "rust", "", "the Rust `program`, built from ../rust/bench; without it Rust is not measured")
	flag.StringVar(&o.dir, "out", "results", "`directory` for the results")
	flag.StringVar(&o.name, "name", "", "`name` of the result files (default: made from the CPU's name)")
	flag.StringVar(&o.fault, "fault", "", "spoil the output of this Go `candidate`, to see that the check finds it")
	flag.StringVar(&o.alg, "alg", alg.Name, "the `algorithm`: ChaCha20-Poly1305, AES-128-GCM or AES-256-GCM")
	flag.BoolVar(&o.strict, "strict", false, "exit with 1 if a floor is missed")
	flag.StringVar(&o.region, "region", "", "measure nothing; have this Go `candidate` seal packets for tools/x86cost to watch")
	flag.BoolVar(&o.list, "list", false, "measure nothing; name the Go candidates")
	flag.BoolVar(&o.class, "class", false, "measure nothing; name the class of this CPU, which floors go by")
	flag.BoolVar(&o.cpus, "cpus", false, "measure nothing; write the page of plots by CPU")
	flag.IntVar(&o.bytes, "bytes", 1420, "`size` of those packets")
	flag.BoolVar(&o.open, "open", false, "open them")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	chosen := slices.IndexFunc(algorithms, func(a algorithm) bool { return a.Name == o.alg })
	if chosen < 0 {
		return fmt.Errorf("there is no algorithm %q", o.alg)
	}
	alg = algorithms[chosen]
	if o.list {
		for _, c := range goCandidates() {
			fmt.Println(c.Name)
		}
		return nil
	}
	if o.class {
		fmt.Println(thisMachine().Class)
		return nil
	}
	if o.cpus {
		return writeCPUs(o.dir)
	}
	debug.SetGCPercent(-1) // the garbage collector runs between passes
	if o.region != "" {
		return region(o.region, o.open, o.bytes)
	}
	cpu := pin()
	candidates := goCandidates()
	b, err := newGoBench(candidates, o.fault)
	if err != nil {
		return err
	}
	r := &results{Machine: thisMachine(), Algorithm: alg.Name, Date: time.Now().UTC().Format("2006-01-02"), Go: runtime.Version(),
		tables: make(map[string]*table)}
	if o.name == "" {
		o.name = r.Machine.fileName() + alg.Suffix
	}
	if err := r.measure(o, b, cpu); err != nil {
		return err
	}
	outcomes, err := r.outcomes()
	if err != nil {
		return err
	}
	if err := r.write(filepath.Join(o.dir, o.name), outcomes); err != nil {
		return err
	}
	if err := writeCPUs(o.dir); err != nil {
		return err
	}
	failed := printOutcomes(os.Stdout, outcomes)
	if o.strict && failed > 0 {
		return errors.New("a floor is missed")
	}
	return nil
}

// measure alternates between the languages until the minimum times are stable.
func (r *results) measure(o options, b *goBench, cpu int) error {
	start := time.Now()
	left := func() time.Duration { return o.seconds - time.Since(start) }
	round := roundGo + roundSweep
	if o.program != "" {
		round += roundC
	}
	if o.rust != "" {
		round += roundRust
	}
	scale := min(1, float64(o.seconds)/float64(minRounds*round))
	part := func(d time.Duration) time.Duration { return time.Duration(float64(d) * scale) }

	s, err := sweepAgainst(b, alg.Peer)
	if err != nil {
		return err
	}
	for r.Moved > mayMove || r.Rounds < minRounds {
		if r.Rounds > 0 && left() < part(round)*3/4 {
			break
		}
		moved, of := 0, 0
		merge := func(language string, t *table) {
			if r.tables[language] == nil {
				r.tables[language] = &table{Level: b.level()}
			}
			m, n := r.tables[language].merge(t)
			moved, of = moved+m, of+n
		}
		if o.program != "" {
			t, err := runProgram(o.program, part(roundC), cpu)
			if err != nil {
				return err
			}
			merge("C", t)
		}
		if o.rust != "" {
			t, err := runProgram(o.rust, part(roundRust), cpu)
			if err != nil {
				return err
			}
			merge("Rust", t)
		}
		t, err := b.pass(part(roundGo))
		if err != nil {
			return err
		}
		merge("Go", t)
		if s != nil {
			if err := s.run(part(roundSweep)); err != nil {
				return err
			}
		}
		runtime.GC()
		r.Rounds++
		r.Moved = float64(moved) / float64(of)
		fmt.Fprintf(os.Stderr, "round %d: %.0f s, %.1f %% of the times moved by more than 1 %%\n",
			r.Rounds, time.Since(start).Seconds(), r.Moved*100)
	}
	if s != nil {
		if err := s.settle(part(roundSweep) * 2); err != nil {
			return err
		}
		r.Sweep = []sweepSummary{summary("seal", s.seal[:]), summary("open", s.open[:])}
		r.Passes = s.Passes
	}
	r.Seconds = time.Since(start).Seconds()
	return nil
}

// sweepAgainst sets up the sweep of the default level, or returns nil if the sweep is empty.
func sweepAgainst(b *goBench, peer string) (*sweep, error) {
	var ours, theirs *goCandidate
	for i, c := range b.candidates {
		switch {
		case c.chosen:
			ours = &b.candidates[i]
		case c.Name == peer:
			theirs = &b.candidates[i]
		}
	}
	if ours == nil || theirs == nil {
		return nil, nil
	}
	return newSweep(b, *ours, *theirs)
}
