package accelerate

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// longTests returns the tests of this package that do more, or anything at all, if -long is given.
func longTests(t *testing.T) map[string]bool {
	files := token.NewFileSet()
	tests := map[string]bool{}
	for _, name := range glob("*_test.go") {
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Test") {
				ast.Inspect(f, func(n ast.Node) bool {
					if star, ok := n.(*ast.StarExpr); ok {
						if x, ok := star.X.(*ast.Ident); ok && x.Name == "long" {
							tests[f.Name.Name] = true
						}
					}
					return true
				})
			}
		}
	}
	return tests
}

// notOnce returns the tests that the suites of make test-long do not run exactly once.
func notOnce(t *testing.T, tests map[string]bool, makefile string) (wrong []string) {
	var suites []*regexp.Regexp
	for _, line := range strings.Split(makefile, "\n") {
		if m := regexp.MustCompile(`cmd/sealane \./internal/accelerate .*-run (\S+) -args -long`).FindStringSubmatch(line); m != nil {
			suites = append(suites, regexp.MustCompile(strings.Trim(m[1], "'")))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		run := 0
		for _, s := range suites {
			if s.MatchString(name) {
				run++
			}
		}
		if run != 1 {
			wrong = append(wrong, name)
		}
	}
	return wrong
}

// TestLongSuites: every test here that needs -long is run with it by exactly one suite.
func TestLongSuites(t *testing.T) {
	content, err := os.ReadFile("../../../../test/long.mk")
	if os.IsNotExist(err) {
		t.Skip("NOT RUN: this is not the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	tests := longTests(t)
	if len(tests) < 6 || !tests["TestTailscaled"] || tests["TestLongSuites"] {
		t.Errorf("found %v", tests)
	}
	if wrong := notOnce(t, tests, string(content)); wrong != nil {
		t.Errorf("no suite of test/long.mk runs these, or more than one: %v", wrong)
	}
	// One that is left out, and one that two suites run, are noticed.
	if wrong := notOnce(t, tests, strings.Replace(string(content), "Tailscaled", "None", 1)); !slices.Equal(wrong, []string{"TestTailscaled", "TestTailscaledDevice"}) {
		t.Errorf("left out: %v", wrong)
	}
	if wrong := notOnce(t, tests, strings.Replace(string(content), "-run Govulncheck", "-run Govulncheck|Tailscaled", 1)); !slices.Equal(wrong, []string{"TestTailscaled", "TestTailscaledDevice"}) {
		t.Errorf("run twice: %v", wrong)
	}
}
