// Package readme runs the examples of README.md.
package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// example writes the only code block of a language to a file and returns its path.
func example(t *testing.T, language, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)\n```"+language+"\n(.*?)\n```\n").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 1 {
		t.Fatalf("README.md has %d %s blocks, want 1", len(blocks), language)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(blocks[0][1]+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs a command in the root directory and returns its standard output.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.String())
	}
	return string(out)
}

func TestGo(t *testing.T) {
	if got, want := run(t, "go", "run", example(t, "go", "main.go")), "24 bytes: a packet, <nil>\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

func TestC(t *testing.T) {
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("NOT RUN: %v", err)
	}
	source, build := example(t, "c", "example.c"), t.TempDir()
	library, program := filepath.Join(build, "libsealane.a"), filepath.Join(build, "example")
	run(t, "make", "B="+build, "CFLAGS=-O1", library)
	run(t, compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-Iinclude", "-o", program, source, library)
	if got := run(t, program); !regexp.MustCompile(`^a packet, by (avx512|avx2|ssse3|portable)\n$`).MatchString(got) {
		t.Errorf("printed %q", got)
	}
}

func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	for _, name := range []string{"README.md", "API.md", "NEWS.md", "SECURITY.md", "CONTRIBUTING.md"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Error(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s: link to %s: %v", name, m[1], err)
			}
		}
	}
}
