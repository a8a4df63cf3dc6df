package dispatch_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sealane/sealane/internal/dispatch"
	"github.com/sealane/sealane/internal/report"
)

// table returns a table whose levels a and b the CPU runs, and c not.
func table(passes map[string]bool) *dispatch.Table {
	row := func(level uint8, name string, needs ...string) dispatch.Row {
		return dispatch.Row{Level: level, Name: name, Needs: needs, Test: func(corrupt bool) bool { return passes[name] && !corrupt }}
	}
	return &dispatch.Table{Primitive: "test", Rows: []dispatch.Row{row(4, "c", "no such feature"), row(3, "a"), row(2, "b"), row(1, "portable")}}
}

// env is SEALANE_CPU and SEALANE_ASM.
type env struct{ cpu, asm string }

func TestChoice(t *testing.T) {
	dispatch.SetLevels(t, "c", "a0", "a", "a1", "b", "b0", "portable")
	all := map[string]bool{"a": true, "b": true, "c": true, "portable": true}
	but := func(names ...string) map[string]bool {
		m := make(map[string]bool)
		for name := range all {
			m[name] = true
		}
		for _, name := range names {
			m[name] = false
		}
		return m
	}
	const (
		chosen, lesser, failed, capped, no = report.Chosen, report.Lesser, report.Failed, report.Capped, report.Unsupported
	)
	cases := []struct {
		name    string
		env     env
		corrupt string
		passes  map[string]bool
		want    uint8
		status  []report.Status
		err     string
	}{
		{"best", env{}, "", all, 3, []report.Status{no, chosen, lesser, lesser}, ""},
		{"capped to best", env{cpu: "a"}, "", all, 3, []report.Status{no, chosen, lesser, lesser}, ""},
		{"capped", env{cpu: "b"}, "", all, 2, []report.Status{no, capped, chosen, lesser}, ""},
		{"capped to portable", env{cpu: "portable"}, "", all, 1, []report.Status{no, capped, capped, chosen}, ""},
		{"capped to what the CPU lacks", env{cpu: "c"}, "", all, 3, []report.Status{no, chosen, lesser, lesser}, ""},
		{"capped to another primitive's best", env{cpu: "a0"}, "", all, 3, []report.Status{no, chosen, lesser, lesser}, ""},
		{"capped to another primitive's level between", env{cpu: "a1"}, "", all, 2, []report.Status{no, capped, chosen, lesser}, ""},
		{"capped to another primitive's least", env{cpu: "b0"}, "", all, 1, []report.Status{no, capped, capped, chosen}, ""},
		{"no assembly", env{asm: "0"}, "", all, 1, []report.Status{no, capped, capped, chosen}, ""},
		{"no assembly and a cap", env{asm: "0", cpu: "a"}, "", all, 1, []report.Status{no, capped, capped, chosen}, ""},
		{"assembly", env{asm: "1"}, "", all, 3, []report.Status{no, chosen, lesser, lesser}, ""},
		{"unknown level", env{cpu: "sse9"}, "", all, 3, []report.Status{no, chosen, lesser, lesser}, `SEALANE_CPU="sse9" has no effect: the levels here are c a0 a a1 b b0 portable`},
		{"unknown switch", env{asm: "no"}, "", all, 3, []report.Status{no, chosen, lesser, lesser}, `SEALANE_ASM="no" has no effect: it may be 0 or 1`},
		{"failing", env{}, "", but("a"), 2, []report.Status{no, failed, chosen, lesser}, ""},
		{"corrupted", env{}, "a", all, 2, []report.Status{no, failed, chosen, lesser}, ""},
		{"lesser fails", env{}, "", but("b"), 3, []report.Status{no, chosen, failed, lesser}, ""},
		{"two fail", env{}, "", but("a", "b"), 1, []report.Status{no, failed, failed, chosen}, ""},
		{"all fail", env{}, "", but("a", "b", "portable"), 0, []report.Status{no, failed, failed, failed}, ""},
		{"capped one fails", env{cpu: "b"}, "b", all, 1, []report.Status{no, capped, failed, chosen}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dispatch.SetEnvironment(t, c.env.cpu, c.env.asm)
			dispatch.Corrupt = c.corrupt
			defer func() { dispatch.Corrupt = "" }()
			table := table(c.passes)
			for range 2 {
				if got, ok := table.Choose(); got != c.want || ok != (c.want != 0) {
					t.Errorf("chose %d, %v, want %d", got, ok, c.want)
				}
			}
			var status []report.Status
			for _, r := range report.Levels(table) {
				status = append(status, r.Status)
				if r.Why == "" || r.Tested != (r.Name != "c") || r.Passed != (r.Tested && c.passes[r.Name] && r.Name != c.corrupt) {
					t.Errorf("%+v", r)
				}
			}
			if !reflect.DeepEqual(status, c.status) {
				t.Errorf("status %d, want %d", status, c.status)
			}
			if err := report.Environment(table); (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
				t.Errorf("environment: %v", err)
			}
		})
	}
}

// byTurns returns samples that take what took says of a turn, and factor times that, however often they run in a row.
// begun is called when a turn begins.
func byTurns(clock *time.Duration, factor time.Duration, took func(turn int) time.Duration, begun func()) dispatch.Samples {
	turn, over := -1, true
	return dispatch.Samples{
		func() {
			if over {
				turn, over = turn+1, false
				begun()
			}
			*clock += took(turn)
		},
		func() { over = true; *clock += factor * took(turn) },
	}
}

// TestTwice has a rival that is faster in one measurement only, and one that is in both.
func TestTwice(t *testing.T) {
	for want, later := range map[string]time.Duration{"a": 100, "b": 200} {
		dispatch.SetEnvironment(t, "", "")
		clock := time.Duration(0)
		dispatch.SetClock(t, func() time.Duration { return clock })
		row := func(level uint8, name string, took func(turn int) time.Duration) dispatch.Row {
			return dispatch.Row{Level: level, Name: name, Test: func(bool) bool { return true },
				Samples: byTurns(&clock, 2, took, func() {})}
		}
		table := &dispatch.Table{Primitive: "test", Rows: []dispatch.Row{
			row(3, "a", func(turn int) time.Duration {
				if turn < dispatch.Turns {
					return 200 // disturbed
				}
				return later
			}),
			row(2, "b", func(int) time.Duration { return 120 }),
		}}
		if level, _ := table.Choose(); table.Name(level) != want {
			t.Errorf("chose %s, want %s", table.Name(level), want)
		}
	}
}

// TestInARow has a sample that takes ten times as long when another ran before it: where the limit has room, it runs
// several times in a row.
func TestInARow(t *testing.T) {
	for _, c := range []struct {
		took time.Duration
		want string
	}{{9, "cold"}, {9000, "other"}} {
		dispatch.SetEnvironment(t, "", "")
		clock, last := time.Duration(0), ""
		dispatch.SetClock(t, func() time.Duration { return clock })
		row := func(level uint8, name string, took, first time.Duration) dispatch.Row {
			sample := func(which string) func() {
				return func() {
					if last != name+which {
						clock += first
					}
					last = name + which
					clock += took
				}
			}
			return dispatch.Row{Level: level, Name: name, Test: func(bool) bool { return true },
				Samples: dispatch.Samples{sample("short"), sample("long")}}
		}
		table := &dispatch.Table{Primitive: "test", Rows: []dispatch.Row{row(3, "cold", c.took, 9*c.took), row(2, "other", 2*c.took, 0)}}
		if level, _ := table.Choose(); table.Name(level) != c.want {
			t.Errorf("samples of %v: chose %s, want %s", c.took, table.Name(level), c.want)
		}
	}
}

// TestFastest compares rows by a clock that only their samples move: a counts the first time, which is not its shortest.
// A long packet takes a hundred times as long as a short one.
func TestFastest(t *testing.T) {
	type times = [dispatch.Turns]time.Duration
	const slow = 100 * time.Microsecond // ends after the turns that there are at least
	cases := []struct {
		name     string
		cpu      string
		a, b, c  times
		fails    string
		want     string
		whyA     string
		compared bool
	}{
		{"first", "", times{5, 5, 5, 5}, times{6, 6, 6, 6}, times{9, 9, 9, 9}, "", "a", "the fastest on this CPU: 5ns for a short packet, 500ns for a long one", true},
		{"second", "", times{5, 5, 5, 5}, times{6, 4, 6, 6}, times{9, 9, 9, 9}, "", "b", "slower on this CPU: 5ns for a short packet, 500ns for a long one", true},
		{"late", "", times{9, 9, 9, 3}, times{4, 4, 4, 4}, times{9, 9, 9, 9}, "", "a", "the fastest on this CPU: 3ns for a short packet, 300ns for a long one", true},
		{"too late", "", times{9 * slow, 9 * slow, 3, 3}, times{4, 4, 4, 4}, times{9, 9, 9, 9}, "", "b", "slower on this CPU: 900µs for a short packet, 90ms for a long one", true},
		{"interrupted", "", times{4, 4, 4, 4}, times{9 * slow, 3, 9, 9}, times{9, 9, 9, 9}, "", "b", "slower on this CPU: 4ns for a short packet, 400ns for a long one", true},
		{"alike", "", times{}, times{}, times{}, "", "a", "the fastest on this CPU: 0s for a short packet, 0s for a long one", true},
		{"hardly faster", "", times{100, 100, 100, 100}, times{98, 98, 98, 98}, times{99, 99, 99, 99}, "", "a", "the fastest on this CPU: 100ns for a short packet, 10µs for a long one", true},
		{"named", "a", times{5, 5, 5, 5}, times{4, 4, 4, 4}, times{1, 1, 1, 1}, "", "a", "SEALANE_CPU=a names it", false},
		{"capped", "b", times{1, 1, 1, 1}, times{4, 4, 4, 4}, times{1, 1, 1, 1}, "", "b", "SEALANE_CPU=b rules it out", false},
		{"privileged", "set-uid", times{5, 5, 5, 5}, times{4, 4, 4, 4}, times{1, 1, 1, 1}, "", "a", "the best level that this CPU runs", false},
		{"failing", "", times{5, 5, 5, 5}, times{1, 1, 1, 1}, times{6, 6, 6, 6}, "b", "a", "the fastest on this CPU: 5ns for a short packet, 500ns for a long one", true},
		{"rival fails first", "", times{1, 1, 1, 1}, times{5, 5, 5, 5}, times{4, 4, 4, 4}, "a", "c", "its known-answer test failed", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.cpu == "set-uid" {
				dispatch.SetPrivileged(t)
			} else {
				dispatch.SetEnvironment(t, c.cpu, "")
			}
			clock := time.Duration(0)
			dispatch.SetClock(t, func() time.Duration { return clock })
			ran := false
			row := func(level uint8, name string, took times) dispatch.Row {
				return dispatch.Row{
					Level: level, Name: name,
					Test:    func(bool) bool { return name != c.fails },
					Samples: byTurns(&clock, 100, func(turn int) time.Duration { return took[turn%len(took)] }, func() { ran = true }),
				}
			}
			table := &dispatch.Table{Primitive: "test", Rows: []dispatch.Row{
				row(4, "a", c.a), row(3, "b", c.b),
				{Level: 5, Name: "untimed", Test: func(bool) bool { return true }},
				row(2, "c", c.c), {Level: 1, Name: "portable", Test: func(bool) bool { return true }},
			}}
			level, _ := table.Choose()
			if got := table.Name(level); got != c.want || ran != c.compared {
				t.Errorf("chose %s, compared %v; want %s, %v", got, ran, c.want, c.compared)
			}
			if why := report.Levels(table)[0].Why; why != c.whyA {
				t.Errorf("why %q, want %q", why, c.whyA)
			}
		})
	}
}

// TestBeaten compares ours with theirs by a clock that only their samples move, as TestFastest does. Noise only adds to times:
// equals stay equals, and who is clearly faster stays that, if each has one quiet turn.
func TestBeaten(t *testing.T) {
	type times = [dispatch.Turns]time.Duration
	same := func(d time.Duration) times { return times{d, d, d, d} }
	const late = time.Millisecond // of an interruption
	for _, c := range []struct {
		name         string
		cpu, asm     string
		ours, theirs times
		want         bool
	}{
		{"ours is faster", "", "", same(100), same(200), false},
		{"theirs is faster", "", "", same(200), same(100), true},
		{"alike", "", "", same(100), same(100), false},
		{"within the margin", "", "", same(200), same(194), false}, // the product is 0.94 of ours
		{"beyond the margin", "", "", same(200), same(192), true},
		{"noise, alike", "", "", times{140, 103, 109, 250}, times{180, 100, 130, 101}, false},
		{"noise, theirs is faster", "", "", times{260, 203, 209, 250}, times{380, 100, 230, 101}, true},
		{"ours is interrupted", "", "", times{100 + late, 101, 100, 100}, same(150), false},
		{"theirs is interrupted", "", "", same(150), times{100 + late, 101, 100, 100}, true},
		{"warming up", "", "", times{500, 400, 100, 100}, same(150), false},
		{"too coarse a clock", "", "", same(100), times{}, false},
		{"a level is named", "a", "", same(200), same(100), false},
		{"a level is ruled out", "b", "", same(200), same(100), false},
		{"portable", "", "0", same(200), same(100), false},
		{"assembly", "", "1", same(200), same(100), true},
		{"privileged", "set-uid", "", same(200), same(100), false},
		{"capped by the program", "max", "", same(200), same(100), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			switch c.cpu {
			case "set-uid":
				dispatch.SetPrivileged(t)
			case "max":
				dispatch.SetCap(t, "a")
			default:
				dispatch.SetEnvironment(t, c.cpu, c.asm)
			}
			fixed := c.cpu != "" || c.asm == "0"
			clock := time.Duration(0)
			dispatch.SetClock(t, func() time.Duration { return clock })
			ran := 0
			samples := func(took times) dispatch.Samples {
				return byTurns(&clock, 7, func(turn int) time.Duration { return took[turn%len(took)] }, func() { ran++ })
			}
			beaten, compared, took := dispatch.Beaten(samples(c.ours), samples(c.theirs))
			if beaten != c.want || compared == fixed || fixed != (ran == 0) || !fixed && ran != 2*dispatch.Turns*(1+map[bool]int{true: 1}[c.want]) {
				t.Errorf("beaten %v, compared %v, want %v, %v; %d turns of both, took %v", beaten, compared, c.want, !fixed, ran, took)
			}
			if compared && (took[0][1] != 7*took[0][0] || took[1][1] != 7*took[1][0]) {
				t.Errorf("took %v", took)
			}
		})
	}
	// Who is faster in one measurement only is not.
	for _, ours := range [][2]time.Duration{{200, 100}, {100, 200}} {
		dispatch.SetEnvironment(t, "", "")
		clock := time.Duration(0)
		dispatch.SetClock(t, func() time.Duration { return clock })
		add := func(short time.Duration) dispatch.Samples {
			return dispatch.Samples{func() { clock += short }, func() { clock += 7 * short }}
		}
		changing := byTurns(&clock, 7, func(turn int) time.Duration { return ours[turn/dispatch.Turns] }, func() {})
		if beaten, _, took := dispatch.Beaten(changing, add(150)); beaten {
			t.Errorf("ours %v, theirs 150: beaten, %v", ours, took)
		}
	}
	// Where samples are long there are but two turns.
	dispatch.SetEnvironment(t, "", "")
	clock, ran := time.Duration(0), 0
	dispatch.SetClock(t, func() time.Duration { return clock })
	long := dispatch.Samples{func() { clock += 10 * time.Microsecond; ran++ }, func() { clock += 10 * time.Microsecond; ran++ }}
	if dispatch.Beaten(long, long); ran != 8 {
		t.Errorf("%d samples of 10 µs ran", ran)
	}
}

// TestTestsOnce counts known-answer tests: none twice, and none below the chosen level before a report.
func TestTestsOnce(t *testing.T) {
	dispatch.SetEnvironment(t, "", "")
	var ran []string
	count := func(name string) func(bool) bool {
		return func(bool) bool { ran = append(ran, name); return name != "a" }
	}
	table := &dispatch.Table{Rows: []dispatch.Row{{Level: 3, Name: "a", Test: count("a")}, {Level: 2, Name: "b", Test: count("b")}, {Level: 1, Name: "portable", Test: count("portable")}}}
	table.Choose()
	table.Choose()
	if got := strings.Join(ran, " "); got != "a b" {
		t.Errorf("tested %s", got)
	}
	report.Levels(table)
	report.Levels(table)
	if got := strings.Join(ran, " "); got != "a b portable" {
		t.Errorf("tested %s", got)
	}
}

func TestName(t *testing.T) {
	if table := table(nil); table.Name(2) != "b" || table.Name(9) != "" {
		t.Error("wrong names")
	}
}
