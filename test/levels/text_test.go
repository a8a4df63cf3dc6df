package levels

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

const (
	equalLines = 6   // consecutive equal lines that ought to be one macro
	longest    = 120 // characters of a line
)

// Such a register name does not describe its content. GHASH's Y is the standard's name.
var hiding = regexp.MustCompile(`^(?:#define|alias) ([a-xz]|from|to|left|right)\s`)

var comments = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)

// Faults in the text of kernel sources. They are lines that are too long and names that do not describe the content.
// A third fault is six equal consecutive lines in two places, apart from blank lines, comments and spaces. Output of
// tools/weave from a .weave file may repeat itself.
func textFaults(t *testing.T, tree fs.FS) (faults []string) {
	t.Helper()
	first := map[string]string{} // six lines: where they are
	var sources []string
	for _, pattern := range []string{"*.[Sh]", "*/*.[Sh]", "*/*.weave"} {
		found, err := fs.Glob(tree, pattern)
		if err != nil || len(found) == 0 {
			t.Fatal("no sources", pattern, err)
		}
		sources = append(sources, found...)
	}
	for _, file := range sources {
		data, err := fs.ReadFile(tree, file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(data), "\n") {
			if len([]rune(line)) > longest {
				faults = append(faults, fmt.Sprintf("%s:%d: %d characters", file, i+1, len([]rune(line))))
			}
			if name := hiding.FindStringSubmatch(line); name != nil {
				faults = append(faults, fmt.Sprintf("%s:%d: the name %s says nothing", file, i+1, name[1]))
			}
		}
		if made, ok := strings.CutSuffix(file, "_woven.h"); ok {
			if _, err := fs.Stat(tree, made+".weave"); err == nil {
				continue
			}
		}
		code := comments.ReplaceAllStringFunc(string(data), func(comment string) string {
			return strings.Repeat("\n", strings.Count(comment, "\n"))
		})
		var lines, places []string
		for i, line := range strings.Split(code, "\n") {
			if line = strings.Join(strings.Fields(line), ""); line != "" {
				lines = append(lines, line)
				places = append(places, fmt.Sprintf("%s:%d", file, i+1))
			}
		}
		for i := range len(lines) - equalLines + 1 {
			run := strings.Join(lines[i:i+equalLines], "\n")
			if before, ok := first[run]; ok {
				faults = append(faults, places[i]+" stands at "+before+" too")
			} else {
				first[run] = places[i]
			}
		}
	}
	return faults
}

// Code that two kernels share stands once, in a header.
func TestText(t *testing.T) {
	folder := filepath.Join(root, "asm")
	for _, fault := range textFaults(t, os.DirFS(folder)) {
		t.Error(fault)
	}
	text := "\tmov rax, rbx\n\tadd rax, 1\n\n\tadd rax, 2 /* two */\n\tadd rax, 3\n\tadd rax, 4\n"
	again := strings.ReplaceAll(text, "/* two */", "// again")
	for name, c := range map[string]struct {
		a, b   string
		faults int
	}{
		"six lines":            {text + "\tret\n", "\tnop\n" + again + "\tret\n", 1},
		"six lines, one file":  {text + "\tret\n" + again + "\tret\n", "\tnop\n", 1},
		"five lines":           {text + "\tret\n", again + "\tnop\n", 0},
		"121 characters":       {"\tnop\n", "/* " + strings.Repeat("é", 115) + " */\n", 1},
		"120 characters":       {"\tnop\n", "/* " + strings.Repeat("é", 114) + " */\n", 0},
		"a letter for a name":  {"#define x r0\n", "#define xy r0\n", 1},
		"a long comment twice": {"/*\n1\n2\n3\n4\n5\n6\n*/\n", "/*\n1\n2\n3\n4\n5\n6\n*/\n", 0},
	} {
		tree := fstest.MapFS{"a.S": {Data: []byte(c.a)}, "isa/b.h": {Data: []byte(c.b)}, "isa/c.weave": {Data: []byte("|\n")},
			"isa/c_woven.h": {Data: []byte(text + text)}}
		if faults := textFaults(t, tree); len(faults) != c.faults {
			t.Errorf("%s: %d faults, want %d: %v", name, len(faults), c.faults, faults)
		}
	}
}
