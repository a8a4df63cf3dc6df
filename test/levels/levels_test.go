// Package levels sees that a level stands in each file that is written by hand and has to have it, and in no other list.
// src/level.c is the master: what else has the names of levels is generated from it (make gen) or derived.
package levels

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sealane/sealane/internal/dispatch"
)

const root = "../.."

// An isa is an instruction set: its folder in asm, what other places call it, and the page that says which CPU has which
// level.
type isa struct{ folder, define, goarch, page string }

var isas = []isa{
	{"x86_64", "X86_64", "amd64", "docs/performance.md"},
	{"aarch64", "AARCH64", "arm64", "docs/arm.md"},
	{"arm", "ARM", "arm", "docs/arm.md"},
}

// Where the levels of a primitive stand: the function in Go, the heading above a table of levels or of a column of levels on
// a page. The pages have ciphers only.
type primitive struct{ goRows, heading string }

var primitives = map[string]primitive{
	"chacha20poly1305": {"chaCha20Poly1305Rows", "ChaCha20-Poly1305"},
	"aesgcm":           {"aesGCMRows", "AES-GCM"},
	"aes":              {goRows: "aesLevelRows"},
	"chacha20masks":    {goRows: "chaCha20MasksRows"},
}

const master = "src/level.c"

func goFile(i isa) string { return "internal/kernel/levels_" + i.goarch + ".go" }

func (i isa) source(primitive, level string) string {
	return "asm/" + i.folder + "/" + primitive + "_" + level + ".S"
}

var (
	row       = regexp.MustCompile(`^\s+(?:TIMED_)?LEVEL\((\w+), (\w+),`)
	composed  = regexp.MustCompile(`(?m)^COMPOSED\((\w+), (\w+), \w+, (\d+), (\d+), (\d+), \w+\)$`)
	goName    = regexp.MustCompile(`(?m)^\t\t\tName:\s+"(\w+)",$`)
	pageName  = regexp.MustCompile("`(\\w+)`")
	knownName = regexp.MustCompile(`"(\w+)"`)
)

// between returns the text from one mark to the next that follows, "" if there is none.
func between(text, from, to string) string {
	_, text, found := strings.Cut(text, from)
	if !found {
		return ""
	}
	text, _, _ = strings.Cut(text, to)
	return text
}

// onPage returns the cells of a page that name the levels of a primitive.
func onPage(text, heading string) string {
	var cells strings.Builder
	column, below := 0, false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		row := strings.Split(line, "|")
		switch {
		case line == heading+":":
			below = true
		case line != "" && len(row) < 3:
			column, below = 0, false
		case below && len(row) > 1:
			cells.WriteString(row[1] + "\n")
		case column == 0:
			column = max(0, slices.IndexFunc(row, func(cell string) bool { return strings.TrimSpace(cell) == heading }))
		case len(row) > column:
			cells.WriteString(row[column] + "\n")
		}
	}
	return cells.String()
}

func has(name *regexp.Regexp, text, level string) bool {
	return slices.ContainsFunc(name.FindAllStringSubmatch(text, -1), func(m []string) bool { return m[1] == level })
}

// missing returns what each file lacks of the levels that src/level.c has, and src/level.c of the kernels there are.
func missing(t *testing.T, tree fs.FS) map[string][]string {
	t.Helper()
	lacks := map[string][]string{}
	add := func(file, format string, args ...any) {
		if what := fmt.Sprintf(format, args...); !slices.Contains(lacks[file], what) {
			lacks[file] = append(lacks[file], what)
		}
	}
	text := func(file string) string {
		content, err := fs.ReadFile(tree, file)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	names := between(text(master), "known_names[] = {", "};")
	for _, i := range isas {
		rows, guarded := map[string]bool{}, false
		for line := range strings.Lines(text(master)) {
			switch {
			case strings.HasPrefix(line, "#if"):
				guarded = strings.Contains(line, "defined(HAVE_"+i.define+"_KERNELS)")
			case strings.HasPrefix(line, "#e"):
				guarded = false
			}
			m := row.FindStringSubmatch(line)
			if m == nil || !guarded {
				continue
			}
			p, level := primitives[m[1]], m[2]
			if p.goRows == "" {
				t.Fatalf("%s: nothing is known of the primitive %s", master, m[1])
			}
			source := i.source(m[1], level)
			rows[source] = true
			ofOthers := slices.ContainsFunc(composed.FindAllStringSubmatch(text(master), -1), func(c []string) bool {
				return c[1] == m[1] && c[2] == level
			})
			if _, err := fs.Stat(tree, source); err != nil && !ofOthers {
				add(source, "the file")
			}
			if !has(knownName, names, level) {
				add(master, "%s among known_names", level)
			}
			if !has(goName, between(text(goFile(i)), "func "+p.goRows+"(", "\n}\n"), level) {
				add(goFile(i), "a row of %s in %s", level, p.goRows)
			}
			if call := strings.ToLower("\t\t" + m[1] + level + "("); !strings.Contains(strings.ToLower(text(goFile(i))), call) {
				add(goFile(i), "a call of the kernel of %s at level %s", m[1], level)
			}
			for _, c := range composed.FindAllStringSubmatch(text(master), -1) {
				for _, which := range []string{"a.Bytes <= " + c[3] + " ", "a.Bytes > " + c[4] + " && a.Bytes <= " + c[5] + "\n"} {
					if c[1] == m[1] && c[2] == level && !strings.Contains(text(goFile(i)), which) {
						add(goFile(i), "the bytes of %s at level %s: %s", m[1], level, which)
					}
				}
			}
			if p.heading != "" && !has(pageName, onPage(text(i.page), p.heading), level) {
				add(i.page, "%s in a table of %s", level, p.heading)
			}
		}
		sources, err := fs.Glob(tree, "asm/"+i.folder+"/*.S")
		if err != nil || len(sources) == 0 || len(rows) == 0 {
			t.Fatalf("%s: %d kernels, %d rows, %v", i.folder, len(sources), len(rows), err)
		}
		for _, source := range sources {
			if !rows[source] && !strings.Contains(source, "_batch_") {
				add(master, "a row for %s", source)
			}
		}
	}
	return lacks
}

// copied is the part of the tree that missing reads, to be changed.
func copied(t *testing.T) fstest.MapFS {
	t.Helper()
	tree, copies := os.DirFS(root), fstest.MapFS{}
	for _, pattern := range []string{master, "docs/*.md", "internal/kernel/levels_*.go", "asm/*/*.S"} {
		names, err := fs.Glob(tree, pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range names {
			content, err := fs.ReadFile(tree, name)
			if err != nil {
				t.Fatal(err)
			}
			copies[name] = &fstest.MapFile{Data: content}
		}
	}
	return copies
}

// files are those that somebody has to write or change for a level: four. Rust's rows, and all lists of names, are
// generated from src/level.c.
func (i isa) files(primitive, level string) [4]string {
	return [...]string{i.source(primitive, level), master, goFile(i), i.page}
}

func inOrder(files [4]string) []string { return slices.Sorted(slices.Values(files[:])) }

func TestEveryLevel(t *testing.T) {
	for file, what := range missing(t, os.DirFS(root)) {
		t.Errorf("%s lacks %s", file, strings.Join(what, ", "))
	}
}

// TestNewLevel gives each instruction set a level in the table alone: what is missing are the files that CONTRIBUTING.md
// names, and no more.
func TestNewLevel(t *testing.T) {
	contributing, err := os.ReadFile(root + "/CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	section := between(string(contributing), "\n### Adding one\n", "\n## ")
	for _, i := range isas {
		tree := copied(t)
		text := string(tree[master].Data)
		guard := "aesgcm_levels[] = {"
		at := strings.Index(text, guard)
		if at < 0 {
			t.Fatalf("%s: no %s", master, guard)
		}
		line := "#if defined(HAVE_" + i.define + "_KERNELS)\n"
		tree[master].Data = []byte(text[:at] + strings.Replace(text[at:], line, line+"    LEVEL(aesgcm, other, 0, NO_BATCH),\n", 1))
		found := slices.Sorted(maps.Keys(missing(t, tree)))
		if want := inOrder(i.files("aesgcm", "other")); !slices.Equal(found, want) {
			t.Errorf("%s: missing in %q, want %q", i.folder, found, want)
		}
		for _, file := range (isa{folder: "<isa>", goarch: "<arch>", page: i.page}).files("<primitive>", "<level>") {
			if !strings.Contains(section, "`"+file+"`") {
				t.Errorf("CONTRIBUTING.md, Adding one: nothing of %s", file)
			}
		}
	}
}

// TestPlanted takes a level out of each file in turn.
func TestPlanted(t *testing.T) {
	for _, c := range []struct{ file, old, changed string }{
		{master, "    LEVEL(aesgcm, aesniavx,", "    LEVEL(aesgcm, aesni,"},
		{master, `"aesniavx",`, ""},
		{goFile(isas[0]), `"aesniavx",`, `"aesni",`},
		{goFile(isas[0]), "\t\tAESGCMAESNIAVX(a)", ""},
		{isas[0].page, "| `aesniavx` |", "| aesniavx |"},
		{goFile(isas[0]), "\t\tChaCha20Poly1305AVX512Mix(a)", ""},
		{goFile(isas[0]), "a.Bytes <= 320", "a.Bytes <= 321"},
		{goFile(isas[0]), "a.Bytes > 512", "a.Bytes >= 512"},
		{isas[1].page, "`ce32`", "ce32"},
		{goFile(isas[1]), `"neon6"`, `"neon"`},
	} {
		tree := copied(t)
		text := string(tree[c.file].Data)
		if !strings.Contains(text, c.old) {
			t.Fatalf("%s: no %s", c.file, c.old)
		}
		tree[c.file].Data = []byte(strings.Replace(text, c.old, c.changed, 1))
		if found := slices.Collect(maps.Keys(missing(t, tree))); !slices.Equal(found, []string{c.file}) {
			t.Errorf("%s without %s: missing in %q", c.file, c.old, found)
		}
	}
	tree := copied(t)
	delete(tree, "asm/arm/aesgcm_ce32.S")
	tree["asm/x86_64/aesgcm_other.S"] = &fstest.MapFile{}
	if found := slices.Sorted(maps.Keys(missing(t, tree))); !slices.Equal(found, []string{"asm/arm/aesgcm_ce32.S", master}) {
		t.Errorf("one kernel gone, another new: missing in %q", found)
	}
}

// Lists that have their reason.
var lists = map[string]string{
	master:            "the master",
	"sealane_test.go": "of each architecture, those that a measurement chooses from",

	"afalg/driver_linux.go":    "words of the names of Linux's drivers",
	"tools/armcost/armcost.mk": "which core is modelled with which level",
}

const tooMany = 4

// isList says whether a line of a program has so many names of levels that it must be a list of them.
func isList(line string) bool {
	words := regexp.MustCompile(`\w+`).FindAllString(line, -1)
	count := 0
	for _, level := range dispatch.AllLevels() {
		if level != "portable" && slices.Contains(words, level) {
			count++
		}
	}
	return count >= tooMany
}

// TestNoOtherList looks for lists of levels that somebody would have to keep. Pages for readers and results are none.
func TestNoOtherList(t *testing.T) {
	if !isList(`LEVELS := avx512 avx2 aesni ssse3`) || isList(`{"avx512", "avx2", "aesni", "portable"}`) {
		t.Error("a list is not told from what is none")
	}
	out, err := exec.Command("git", "-C", root, "ls-files", "-co", "--exclude-standard").Output()
	if err != nil {
		t.Skipf("NOT RUN: no list of files: %v", err)
	}
	used := map[string]bool{}
	for _, name := range strings.Fields(string(out)) {
		if slices.Contains([]string{".md", ".json", ".s", ".S", ".svg", ".txt", ".csv"}, path.Ext(name)) || strings.HasPrefix(name, "test/levels/") {
			continue
		}
		content, err := os.ReadFile(root + "/" + name)
		if err != nil || strings.Contains(string(content[:min(len(content), 200)]), "Code generated by tools/gas2go") {
			continue
		}
		number := 0
		for line := range strings.Lines(string(content)) {
			number++
			if len(line) > 1000 || !isList(line) {
				continue
			}
			used[name] = true
			if lists[name] == "" {
				t.Errorf("%s:%d is a list of levels that a new one would have to go into: derive it", name, number)
			}
		}
	}
	for name := range lists {
		if !used[name] {
			t.Errorf("%s has no list any more", name)
		}
	}
}
