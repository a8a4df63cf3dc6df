package dispatch_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sealane/sealane/internal/dispatch"
	"github.com/sealane/sealane/internal/report"
)

// table returns a table with levels a and b, which the CPU supports, and c, which it does not.
func table(passes map[string]bool) *dispatch.Table {
	row := func(level uint8, name string, needs ...string) dispatch.Row {
		return dispatch.Row{Level: level, Name: name, Needs: needs, Test: func(corrupt bool) bool { return passes[name] && !corrupt }}
	}
	return &dispatch.Table{Primitive: "test", Rows: []dispatch.Row{row(4, "c", "no such feature"), row(3, "a"), row(2, "b"), row(1, "portable")}}
}

// env is the values of SEALANE_CPU and SEALANE_ASM.
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

// TestMicroarchitecture uses an entry that starts the choice at another level than the table.
func TestMicroarchitecture(t *testing.T) {
	dispatch.SetLevels(t, "c", "a", "a1", "b", "portable")
	passes := map[string]bool{"a": true, "b": true, "c": true, "portable": true}
	const whyB = "the best level on cpus of the test"
	for _, c := range []struct{ first, cpu, max, want, whyA, whyB string }{
		{"b", "", "", "b", "slower on cpus of the test", whyB},
		{"c", "", "", "a", "the best level that this CPU runs", "a better level was chosen"},
		{"", "", "", "a", "the best level that this CPU runs", "a better level was chosen"},
		{"b", "a", "", "a", "SEALANE_CPU=a names it", "a better level was chosen"},
		{"b", "", "a", "a", "SetMaxLevel(a) names it", "a better level was chosen"},
		{"b", "b", "", "b", "SEALANE_CPU=b rules it out", "SEALANE_CPU=b names it"},
		{"b", "a1", "", "b", "SEALANE_CPU=a1 rules it out", "the best level that SEALANE_CPU=a1 allows"},
		{"a", "a1", "", "b", "SEALANE_CPU=a1 rules it out", "the best level that SEALANE_CPU=a1 allows"},
		{"b", "bogus", "", "b", "slower on cpus of the test", whyB},
		{"b", "portable", "", "portable", "SEALANE_CPU=portable rules it out", "SEALANE_CPU=portable rules it out"},
	} {
		if c.max != "" {
			dispatch.SetCap(t, c.max)
		} else {
			dispatch.SetEnvironment(t, c.cpu, "")
		}
		dispatch.SetMicroarchitecture(t, dispatch.Microarchitecture{Name: "cpus of the test", First: map[string]string{"test": c.first}})
		table := table(passes)
		if level, _ := table.Choose(); table.Name(level) != c.want {
			t.Errorf("first %q, SEALANE_CPU=%s, max %q: chose %s, want %s", c.first, c.cpu, c.max, table.Name(level), c.want)
		}
		if levels := report.Levels(table); levels[1].Why != c.whyA || levels[2].Why != c.whyB {
			t.Errorf("first %q, SEALANE_CPU=%s, max %q: why a %q, want %q; b %q, want %q", c.first, c.cpu, c.max,
				levels[1].Why, c.whyA, levels[2].Why, c.whyB)
		}
	}
}

// TestTestsOnce counts known-answer tests: none runs twice, and none below the chosen level runs before a report.
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
