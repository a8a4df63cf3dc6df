// Package readme runs the examples and the commands of README.md and of the pages in docs.
package readme

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sealane/sealane/internal/dispatch"
)

const root = "../.."

// The most lines of pages that are read first.
var mostLines = map[string]int{"README.md": 140, "CONTRIBUTING.md": 80, "rust/README.md": 40, "rust/sealane/README.md": 40, "rust/rustls-sealane/README.md": 40}

func pages(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(docs) == 0 {
		t.Fatalf("no pages in docs: %v", err)
	}
	return append([]string{filepath.Join(root, "README.md")}, docs...)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A block is fenced code of a page.
type block struct{ page, language, text string }

var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)\n```$")

func blocks(t *testing.T, language string) (found []block) {
	t.Helper()
	for _, page := range pages(t) {
		for _, m := range fence.FindAllStringSubmatch(read(t, page), -1) {
			if m[1] == language {
				found = append(found, block{strings.TrimPrefix(page, root+"/"), m[1], m[2] + "\n"})
			}
		}
	}
	return found
}

// run runs a command in the root directory and returns its standard output.
func run(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, stderr.String())
	}
	return string(out)
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// The output of the examples of a language, in the order of the pages.
func examples(t *testing.T, language string, printed map[string]string, try func(t *testing.T, b block) string) {
	all := blocks(t, language)
	if len(all) != len(printed) {
		t.Errorf("%d examples, and it is known of %d what they print", len(all), len(printed))
	}
	for _, b := range all {
		t.Run(b.page, func(t *testing.T) {
			want, known := printed[b.page]
			if !known {
				t.Fatal("the expected output is not in the table")
			}
			if got := try(t, b); !regexp.MustCompile(want).MatchString(got) {
				t.Errorf("printed %q, want %s", got, want)
			}
		})
	}
}

func TestGo(t *testing.T) {
	examples(t, "go", map[string]string{
		"README.md":       `^24 bytes: a packet, <nil>\n$`,
		"docs/batches.md": `^31 of 32 are authentic; packet 7: chacha20poly1305: message authentication failed\n$`,
	}, func(t *testing.T, b block) string {
		return run(t, nil, "go", "run", write(t, filepath.Join(t.TempDir(), "main.go"), b.text))
	})
}

// openFile runs the example's function on streams: an authentic file, and a forged one.
const openFile = `
int main(int argc, char **argv)
{
    static uint8_t text[100000], sealed[sizeof text + SEALANE_TAG_BYTES], opened[sizeof text + 1];
    static const uint8_t secret[32], nonce[12];
    sealane_key key;
    char from[4096], to[4096], left[4200];
    (void)argc;
    snprintf(from, sizeof from, "%s/sealed", argv[1]);
    snprintf(to, sizeof to, "%s/text", argv[1]);
    snprintf(left, sizeof left, "%s.unverified", to);
    memset(text, 'a', sizeof text);
    if (sealane_key_init(&key, SEALANE_CHACHA20_POLY1305, secret, sizeof secret) ||
        sealane_seal(&key, sealed, sealed + sizeof text, nonce, 12, NULL, 0, text, sizeof text))
        return 1;
    for (int forged = 1; forged >= 0; forged--) {
        sealed[70000] ^= (uint8_t)forged;
        FILE *f = fopen(from, "wb");
        if (!f || fwrite(sealed, 1, sizeof sealed, f) != sizeof sealed || fclose(f))
            return 2;
        sealed[70000] ^= (uint8_t)forged;
        int result = open_file(&key, nonce, from, to);
        size_t n = 0;
        if ((f = fopen(to, "rb"))) {
            n = fread(opened, 1, sizeof opened, f);
            fclose(f);
        }
        printf("%d %zu %d %s;", result, n, memcmp(opened, text, n), (f = fopen(left, "rb")) ? "left" : "gone");
    }
}
`

func compiler(t *testing.T) string {
	t.Helper()
	name := os.Getenv("CC")
	if name == "" {
		name = "cc"
	}
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("NOT RUN: %v", err)
	}
	return name
}

// buildFolder is the folder of one build of the C library, which all tests share.
var buildFolder string

func TestMain(m *testing.M) {
	var err error
	if buildFolder, err = os.MkdirTemp("", "readme"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	os.RemoveAll(buildFolder)
	os.Exit(status)
}

func TestC(t *testing.T) {
	cc, library := compiler(t), filepath.Join(buildFolder, "libsealane.a")
	run(t, nil, "make", "B="+buildFolder, "CFLAGS=-O1", library)
	examples(t, "c", map[string]string{
		"README.md":       `^a packet, by (` + strings.Join(dispatch.AllLevels(), "|") + `)\n$`,
		"docs/batches.md": `^31 of 32 are authentic; packet 7: not authentic\n$`,
		"docs/c.md":       `^-1 0 0 gone;0 100000 0 gone;$`,
	}, func(t *testing.T, b block) string {
		if !strings.Contains(b.text, "int main(") {
			b.text += openFile
		}
		dir := t.TempDir()
		source, program := write(t, filepath.Join(dir, "example.c"), b.text), filepath.Join(dir, "example")
		run(t, nil, cc, "-std=c11", "-Wall", "-Wextra", "-Werror", "-Iinclude", "-o", program, source, library)
		return run(t, nil, program, dir)
	})
}

// Names the test of each command that is not run here, because it takes minutes, or an installed system. The text
// must be in the file, so that a command without a test is noticed.
var elsewhere = map[string]struct{ file, text string }{
	"make run":   {"test/fresh", "make run"},
	"make test":  {"test/fresh", "make test"},
	"make bench": {"Makefile", "bench-check"},
	"make bench-measure BENCH_ALGORITHMS=AES-128-GCM BENCH_GCM_TIME=1m": {"Makefile", "bench-check"},
	"make bench-arm":                    {"tools/armcost/armcost.mk", "test_armcost.py"},
	"make test-vm":                      {"afalg/afalg.mk", "test-vm"},
	"make wireguard-demo":               {"examples/wireguard/wireguard.mk", "demonstration -size"},
	"make https-demo":                   {"examples/https/https.mk", "demonstration -tls $$s -size 0.125"},
	"make gateway && sudo gateway/demo": {"gateway/gateway.mk", "gateway/demo $(B)/sealane-gateway"},
	"git clone https://github.com/sealane/sealane && cd sealane/rust": {"rust/check", "--example levels"},
	"cargo run --release --example levels":                            {"rust/check", "--example levels"},
	"go test -run NONE -bench . github.com/sealane/sealane/afalg":     {"afalg/packets_linux_test.go", "func Benchmark"},
}

// These run in place of commands that need the reader's environment: a release, root, a system to write to.
var substitutes = map[string]string{
	"go install github.com/sealane/sealane/cmd/sealane@latest": `go build -C "$SEALANE_ROOT/cmd/sealane" -o "$GOBIN/sealane" .`,

	"sealane build ./cmd/thing -- -ldflags=-s": `cd $HOME/module && sealane build ./cmd/thing -- -ldflags=-s && ./thing`,
	"sealane build --std ./cmd/thing":          `cd $HOME/module && sealane build --std ./cmd/thing && ./thing`,
	"sealane info --binary thing":              `cd $HOME/module && sealane info --binary thing | grep 'runs on sealane'`,
	"sealane test ./...":                       `cd $HOME/module && sealane test ./...`,

	// Three ciphers and both directions, as make run has it in full.
	"sealane bench": "sealane bench --size 64,1420 --repeats 3",

	"sudo ldconfig":                      `PATH=$PATH:/sbin:/usr/sbin ldconfig -n $HOME/usr/lib`,
	"make lib":                           `make -C "$SEALANE_ROOT" lib B=$B`,
	"sudo make install":                  `make -C "$SEALANE_ROOT" install B=$B PREFIX=$HOME/usr`,
	"make install PREFIX=$HOME/.local":   `make -C "$SEALANE_ROOT" install B=$B PREFIX=$HOME/.local`,
	"make uninstall PREFIX=$HOME/.local": `make -C "$SEALANE_ROOT" uninstall B=$B PREFIX=$HOME/.local; ! find $HOME/.local -type f -o -type l | grep .`,
	"make provider && sudo make install-provider && sudo sealane-openssl on": `make -C "$SEALANE_ROOT" install-provider B=$B PREFIX=$HOME/usr
		cp /etc/ssl/openssl.cnf $HOME; export OPENSSL_CONF=$HOME/openssl.cnf
		$HOME/usr/bin/sealane-openssl on $HOME/openssl.cnf; openssl list -providers | grep sealane`,
}

const thing = `package main

import (
	"fmt"

	"golang.org/x/crypto/chacha20poly1305"
)

func main() {
	a, err := chacha20poly1305.New(make([]byte, 32))
	fmt.Println(a.Overhead(), err)
}
`

// prepare makes the files that the commands expect: a folder for programs in PATH, a Go module and a C program.
func prepare(t *testing.T) (env []string) {
	t.Helper()
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	write(t, home+"/module/go.mod", "module example.org/thing\n\ngo 1.24.0\n")
	write(t, home+"/module/cmd/thing/main.go", thing)
	write(t, home+"/thing.c", "#include <sealane.h>\n#include <stdio.h>\nint main(void) { return puts(SEALANE_VERSION) < 0; }\n")
	write(t, home+"/bin/none", "")
	cache := func(name string) string { return name + "=" + strings.TrimSpace(run(t, nil, "go", "env", name)) }
	env = []string{
		cache("GOCACHE"), cache("GOMODCACHE"), cache("GOPATH"), cache("GOPROXY"), cache("GONOSUMDB"), cache("GOFLAGS"), cache("GOSUMDB"),
		"HOME=" + home, "B=" + buildFolder, "CFLAGS=-O1", "GOBIN=" + home + "/bin", "SEALANE_ROOT=" + top, "CGO_ENABLED=0", "MAKEFLAGS=",
		"PATH=" + home + "/bin:" + os.Getenv("PATH"),
	}
	version := strings.Fields(run(t, nil, "go", "list", "-m", "golang.org/x/crypto"))[1]
	cmd := exec.Command("go", "get", "golang.org/x/crypto/chacha20poly1305@"+version)
	cmd.Dir, cmd.Env = home+"/module", append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("NOT RUN: no x/crypto for a module of one's own: %v\n%s", err, out)
	}
	return env
}

// Every line of a block of commands is run here, or the name of the test that runs it is listed. Equal blocks run
// once.
func TestCommands(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT RUN: the commands are those of Linux")
	}
	cc := compiler(t)
	env := prepare(t)
	home := strings.TrimPrefix(env[slices.IndexFunc(env, func(s string) bool { return strings.HasPrefix(s, "HOME=") })], "HOME=")
	run(t, env, "sh", "-c", `go build -C "$SEALANE_ROOT/cmd/sealane" -o "$GOBIN/sealane" .`)
	used, done := map[string]bool{}, map[string]bool{}
	for _, b := range blocks(t, "sh") {
		t.Run(b.page, func(t *testing.T) {
			var script []string
			for line := range strings.Lines(b.text) {
				line = strings.TrimSpace(line)
				if i := strings.Index(line, " # "); i >= 0 {
					line = strings.TrimSpace(line[:i])
				}
				if where, ok := elsewhere[line]; ok {
					used[line] = true
					if !strings.Contains(read(t, filepath.Join(root, where.file)), where.text) {
						t.Errorf("%s: nothing of %q in %s, where it was run", line, where.text, where.file)
					}
					continue
				}
				if instead, ok := substitutes[line]; ok {
					used[line], line = true, instead
				}
				script = append(script, strings.ReplaceAll(line, "cc thing.c", cc+" thing.c"))
			}
			text := strings.Join(script, "\n")
			if done[text] || text == "" {
				return
			}
			done[text] = true
			cmd := exec.Command("sh", "-exc", text)
			cmd.Dir, cmd.Env = home, append(os.Environ(), env...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	for _, line := range slices.Concat(slices.Collect(maps.Keys(elsewhere)), slices.Collect(maps.Keys(substitutes))) {
		if !used[line] {
			t.Errorf("%s: no page has this command any more", line)
		}
	}
}

// Every other block is in a language that a test here runs. The exception is the Rust of the front page, which is run
// beside its crate.
func TestLanguages(t *testing.T) {
	if !strings.Contains(read(t, filepath.Join(root, "rust", "check")), "front_page ../README.md") {
		t.Error("rust/check does not run the front page's example")
	}
	for _, page := range pages(t) {
		for _, m := range fence.FindAllStringSubmatch(read(t, page), -1) {
			if m[1] == "rust" && page == filepath.Join(root, "README.md") {
				continue
			}
			if !slices.Contains([]string{"go", "c", "sh", "cmake"}, m[1]) {
				t.Errorf("%s: nothing runs a block of language %q", page, m[1])
			}
		}
	}
}

// A project with the lines of CMake finds an installed library.
func TestCMake(t *testing.T) {
	compiler(t)
	if _, err := exec.LookPath("cmake"); err != nil {
		t.Skipf("NOT RUN: %v", err)
	}
	found := blocks(t, "cmake")
	if len(found) != 1 {
		t.Fatalf("%d blocks of CMake, 1 is known", len(found))
	}
	dir := t.TempDir()
	run(t, nil, "make", "install-files", "B="+buildFolder, "PREFIX="+dir+"/usr", "CFLAGS=-O1")
	write(t, dir+"/thing.c", "#include <sealane.h>\nint main(void) { return sealane_impl_name(0) == 0; }\n")
	write(t, dir+"/CMakeLists.txt", "cmake_minimum_required(VERSION 3.13)\nproject(thing C)\nadd_executable(thing thing.c)\n"+found[0].text)
	run(t, nil, "cmake", "-S", dir, "-B", dir+"/thing", "-DCMAKE_PREFIX_PATH="+dir+"/usr")
	run(t, nil, "cmake", "--build", dir+"/thing")
	run(t, nil, dir+"/thing/thing")
}

func TestShort(t *testing.T) {
	for page, most := range mostLines {
		if n := strings.Count(read(t, filepath.Join(root, page)), "\n"); n > most {
			t.Errorf("%s has %d lines, at most %d are wanted", page, n, most)
		}
	}
}

// place is a path, with the name that docs/kernels.md places in it: a label, a macro or the words of a comment.
var place = regexp.MustCompile("`(?:comment )?([^`]+)`")

// missingPlaces returns the labels, macros and comments of a page's table that are missing from the kernel's files.
func missingPlaces(page string, text string) (missing []string, count int) {
	_, rest, _ := strings.Cut(page, "| Step | Where |")
	body, _, _ := strings.Cut(rest, "\n\n")
	for line := range strings.Lines(body) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 2 || !strings.Contains(cells[1], "`") {
			continue
		}
		for _, m := range place.FindAllStringSubmatch(cells[1], -1) {
			count++
			if !strings.Contains(text, m[1]) {
				missing = append(missing, m[1])
			}
		}
	}
	return missing, count
}

// TestKernelPage finds each label, macro and comment that docs/kernels.md names in the kernel's files.
func TestKernelPage(t *testing.T) {
	page := read(t, filepath.Join(root, "docs", "kernels.md"))
	files, err := filepath.Glob(filepath.Join(root, "asm", "aarch64", "chacha20poly1305_neon*"))
	if err != nil || len(files) == 0 {
		t.Fatal("no kernel", err)
	}
	var text strings.Builder
	for _, file := range files {
		text.WriteString(filepath.Base(file) + "\n" + read(t, file))
	}
	missing, count := missingPlaces(page, text.String())
	if len(missing) > 0 || count < 10 {
		t.Errorf("of %d places these are missing: %q", count, missing)
	}
	if missing, _ := missingPlaces(page, strings.ReplaceAll(text.String(), ".Lsave", ".Lkeep")); !slices.Equal(missing, []string{".Lsave"}) {
		t.Errorf("planted: %q is missing", missing)
	}
}

// anchor is the name that a heading gets: small letters, dashes for spaces, no punctuation.
func anchor(heading string) string {
	heading = strings.ToLower(strings.TrimSpace(heading))
	return strings.ReplaceAll(regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(heading, ""), " ", "-")
}

func TestLinks(t *testing.T) {
	link, heading := regexp.MustCompile(`\]\(([^):]*)\)`), regexp.MustCompile(`(?m)^#+ (.*)$`)
	names, err := exec.Command("git", "-C", root, "ls-files", "-co", "--exclude-standard", "*.md").Output()
	files := strings.Fields(string(names))
	if err != nil {
		files = nil
		for _, page := range pages(t) {
			files = append(files, strings.TrimPrefix(page, root+"/"))
		}
	}
	checked := 0
	for _, name := range files {
		for _, m := range link.FindAllStringSubmatch(read(t, filepath.Join(root, name)), -1) {
			target, section, _ := strings.Cut(m[1], "#")
			path := filepath.Join(root, filepath.Dir(name), target)
			if target == "" {
				path = filepath.Join(root, name)
			}
			checked++
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s: link to %s: %v", name, m[1], err)
				continue
			}
			if section == "" {
				continue
			}
			anchors := []string{}
			for _, h := range heading.FindAllStringSubmatch(read(t, path), -1) {
				anchors = append(anchors, anchor(h[1]))
			}
			if !slices.Contains(anchors, section) {
				t.Errorf("%s: %s has no section %q", name, path, section)
			}
		}
	}
	if checked == 0 {
		t.Error(fmt.Errorf("no links in %d files", len(files)))
	}
}

// TestGenerated: .gitattributes marks the files whose first line says that a tool wrote them, and no others except
// results.
func TestGenerated(t *testing.T) {
	git := func(args ...string) []string {
		cmd := exec.Command("git", append([]string{"-C", root}, args...)...)
		out, err := cmd.Output()
		if err != nil {
			t.Skipf("NOT RUN: %s: %v", cmd, err)
		}
		return strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	written := git("grep", "-lE", "^(//|/\\*|//!) ?Code generated by .*DO NOT EDIT", "--", ":!bench/results")
	marked := git("ls-files", ":(attr:linguist-generated)", ":!bench/results")
	if !slices.Equal(written, marked) || len(written) < 100 {
		t.Errorf("%d files say that a tool wrote them, %d are marked: only one of both has %q", len(written), len(marked), difference(written, marked))
	}
}

// difference returns the elements that only one of two lists has.
func difference(a, b []string) (only []string) {
	for _, name := range slices.Concat(a, b) {
		if !slices.Contains(a, name) || !slices.Contains(b, name) {
			only = append(only, name)
		}
	}
	return only
}

// TestStack: sealane.h and docs/api.md have the figures that test/residue.c holds calls to.
func TestStack(t *testing.T) {
	figures := regexp.MustCompile(`\{"(a [^"]*)", (\d+), (\d+)\}`).FindAllStringSubmatch(read(t, filepath.Join(root, "test", "residue.c")), -1)
	if len(figures) < 6 {
		t.Fatalf("test/residue.c has %d figures", len(figures))
	}
	header := strings.Join(strings.Fields(strings.ReplaceAll(read(t, filepath.Join(root, "include", "sealane.h")), "\n *", " ")), " ")
	api := read(t, filepath.Join(root, "docs/api.md"))
	for _, f := range figures {
		if want := fmt.Sprintf("%s %s (%s)", f[1], f[2], f[3]); !strings.Contains(header, want) {
			t.Errorf("include/sealane.h has no %q", want)
		}
		if want := fmt.Sprintf("\n| %s | %s | %s |\n", f[1], f[2], f[3]); !strings.Contains(api, want) {
			t.Errorf("docs/api.md has no %q", want)
		}
	}
}
