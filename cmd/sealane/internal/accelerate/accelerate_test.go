package accelerate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	modpath "golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/sealane/sealane/cmd/sealane/internal/binary"
)

// program prints the packets, errors and panics of both ciphers of x/crypto. It also prints the effect of its module's
// language version: whether a loop has one variable.
const program = `package main

import (
	"fmt"
	"golang.org/x/crypto/chacha20poly1305"
)

var stamp = "plain"

func main() {
	defer func() { fmt.Println("panic:", recover()) }()
	var f []func() int
	for i := 0; i < 3; i++ {
		f = append(f, func() int { return i })
	}
	fmt.Println(stamp, f[0](), chacha20poly1305.Overhead)
	key := make([]byte, chacha20poly1305.KeySize)
	_, err := chacha20poly1305.New(key[1:])
	fmt.Println(err)
	a, _ := chacha20poly1305.New(key)
	x, _ := chacha20poly1305.NewX(key)
	sealed := a.Seal(nil, key[:chacha20poly1305.NonceSize], []byte("text"), []byte("data"))
	fmt.Printf("%x %x\n", sealed, x.Seal(nil, key[:chacha20poly1305.NonceSizeX], key, nil))
	fmt.Println(a.Open(nil, key[:12], sealed, []byte("data")))
	fmt.Println(a.Open(nil, key[:12], sealed, []byte("date")))
	a.Seal(nil, key[:11], nil, nil)
}
`

const mod = "module example.org/thing/v2\n\ngo 1.24.0\n"

// versions of the modules that are certainly in the module cache: they are sealane's own.
var cryptoVersion, sysVersion, goSum string

// online is the GOPROXY from before TestMain set it to off. The user's module cache comes first.
var online string

// downloads is the user's module cache as a proxy.
var downloads string

func requires(modules ...string) string {
	var out strings.Builder
	for _, m := range modules {
		fmt.Fprintf(&out, "\nrequire %s\n", m)
	}
	return out.String()
}

func TestMain(m *testing.M) {
	os.Exit(func() int {
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", cryptoModule, sysModule).Output()
		if err == nil {
			versions := strings.Fields(string(out))
			cryptoVersion, sysVersion = cryptoModule+" "+versions[0], sysModule+" "+versions[1]
			var sum []byte
			sum, err = os.ReadFile("../../go.sum")
			goSum = string(sum)
		}
		if err == nil {
			var proxy []byte
			proxy, err = exec.Command("go", "env", "GOMODCACHE", "GOPROXY").Output()
			modules, rest, _ := strings.Cut(strings.TrimSpace(string(proxy)), "\n")
			downloads = fileURL(filepath.Join(modules, "cache", "download"))
			online = downloads + "," + rest
		}
		var cache []byte
		if err == nil {
			cache, err = exec.Command("go", "env", "GOCACHE").Output()
		}
		copies, failed := os.MkdirTemp("", "sealane-copies-")
		if err != nil || failed != nil {
			fmt.Fprintln(os.Stderr, err, failed)
			return 1
		}
		defer removeCached(copies)
		if err := download(filepath.Join(copies, "mod")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		for name, value := range map[string]string{
			"GOCACHE": strings.TrimSpace(string(cache)), "XDG_CACHE_HOME": copies, "GOMODCACHE": filepath.Join(copies, "mod"), "GOPROXY": "off", "GOFLAGS": "", "GOWORK": "",
			"GOTOOLCHAIN": "local", "GOOS": "", "GOARCH": "", "CGO_ENABLED": "0", "SEALANE_CPU": "", "SEALANE_ASM": "",
		} {
			os.Setenv(name, value)
		}
		return m.Run()
	}())
}

// download makes a module cache that has x/crypto and x/sys.
func download(dir string) error {
	cmd := exec.Command("go", "mod", "download", strings.Replace(cryptoVersion, " ", "@", 1), strings.Replace(sysVersion, " ", "@", 1))
	cmd.Env = append(os.Environ(), "GOMODCACHE="+dir, "GOPROXY="+downloads, "GOSUMDB=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// moduleDir returns the folder of a version in the module cache.
func moduleDir(version string) string {
	return filepath.Join(os.Getenv("GOMODCACHE"), filepath.FromSlash(strings.Replace(version, " ", "@", 1)))
}

// moduleCache gives a test a module cache of its own.
func moduleCache(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "mod")
	t.Cleanup(func() { removeCached(dir) })
	if err := download(dir); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOMODCACHE", dir)
	return dir
}

// hashTree names every file and folder below dir, its mode and its content.
func hashTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		files[file] = info.Mode().String()
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(content)
			files[file] += hex.EncodeToString(sum[:])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func mustRun(t *testing.T, dir string, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return string(out)
}

// A testCase is a program and the expected result.
type testCase struct {
	name  string
	files map[string]string
	setUp func(t *testing.T, dir string)
	in    string // the folder to build in, of files
	job   Job
	want  string // of the error; if empty, the program builds and prints the same as the stock one
	built string // the file, if it is not as in the job
}

func plain(edit ...string) map[string]string {
	files := map[string]string{
		"go.mod":  mod + requires(cryptoVersion, sysVersion+" // indirect"),
		"go.sum":  goSum,
		"main.go": program,
	}
	for i := 0; i < len(edit); i += 2 {
		files[edit[i]] = edit[i+1]
	}
	return files
}

// fork gives the program a changed x/crypto of its own.
func fork(change func(t *testing.T, dir string)) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		from := moduleDir(cryptoVersion)
		copied := filepath.Join(dir, "fork")
		if err := os.CopyFS(copied, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		change(t, copied)
	}
}

const oldModules = "\nrequire (\n\tgolang.org/x/crypto v0.1.0\n\tgolang.org/x/sys v0.1.0\n)\n\nreplace golang.org/x/crypto => ./fork\n\nreplace golang.org/x/sys => ./sys\n"

// oldFork gives the program modules whose go.mod files declare a Go version before generics.
func oldFork(t *testing.T, dir string) {
	fork(func(t *testing.T, dir string) {
		if err := os.WriteFile(dir+"/go.mod", []byte("module golang.org/x/crypto\n\ngo 1.17\n\nrequire golang.org/x/sys v0.1.0\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	})(t, dir)
	from := moduleDir(sysVersion)
	if err := os.CopyFS(dir+"/sys", os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	for _, file := range slices.Concat(glob(dir+"/sys/cpu/*.go"), glob(dir+"/sys/unix/*.go")) {
		content, err := os.ReadFile(file)
		if err == nil {
			content, err = inLanguage(content, "go1.24") // they are not really that old
		}
		if err == nil {
			err = os.WriteFile(file, content, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/sys/go.mod", []byte("module golang.org/x/sys\n\ngo 1.18\n"), 0o666); err != nil {
		t.Fatal(err)
	}
}

func glob(pattern string) []string {
	files, _ := filepath.Glob(pattern)
	return files
}

func TestBuild(t *testing.T) {
	// A program that can be built with other.mod only.
	otherModfile := plain("go.mod", mod, "go.sum", "", "other.mod", mod+requires(cryptoVersion, sysVersion), "other.sum", goSum)
	repository, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	cases := []testCase{
		{name: "module", files: plain(), built: "thing"},
		{name: "output", files: plain(), job: Job{Output: "out/name"}, setUp: func(t *testing.T, dir string) { os.Mkdir(filepath.Join(dir, "out"), 0o777) }, built: "out/name"},
		{name: "output folder", files: plain("out/file", ""), job: Job{Output: "out"}, built: "out/thing"},
		{name: "no output folder", files: plain(), job: Job{Output: "none/name"}, want: "none is not a folder"},
		{name: "old language", files: plain("go.mod", strings.Replace(mod, "1.24.0", "1.17", 1)+oldModules), setUp: oldFork, built: "thing"},
		{name: "Go 1.21", files: plain("go.mod", strings.Replace(mod, "1.24.0", "1.21", 1)+oldModules), setUp: oldFork, built: "thing"},
		{name: "no language", files: plain("go.mod", "module example.org/thing/v2\n"+oldModules), setUp: oldFork, built: "thing"},
		{name: "path", files: plain("main.go", "package thing\n", "cmd/other/main.go", program), job: Job{Package: "./cmd/other"}, built: "other"},
		{name: "import path", files: plain("main.go", "package thing\n", "cmd/other/main.go", program), job: Job{Package: "example.org/thing/v2/cmd/other"}, built: "other"},
		{name: "subfolder", files: plain("main.go", "package thing\n", "cmd/other/main.go", program), in: "cmd/other", built: "other"},
		{name: "through a package", files: plain("main.go", "package main\n\nimport \"example.org/thing/v2/inner\"\n\nfunc main() { inner.Main() }\n",
			"inner/inner.go", strings.NewReplacer("package main", "package inner", "func main", "func Main").Replace(program)), built: "thing"},
		{name: "flags", files: plain("tagged.go", "//go:build special\n\npackage main\n\nfunc init() { stamp = \"special \" + stamp }\n"),
			job: Job{Flags: []string{"-tags", "special", "-ldflags=-s -w -X main.stamp=linked"}}, built: "thing"},
		{name: "GOFLAGS", files: plain("tagged.go", "//go:build special\n\npackage main\n\nfunc init() { stamp = \"special \" + stamp }\n"),
			setUp: func(t *testing.T, _ string) { t.Setenv("GOFLAGS", "-mod=mod -tags=special") }, built: "thing"},
		{name: "replaced by a fork", files: plain("go.mod", mod+requires(cryptoVersion, sysVersion)+"\nreplace "+cryptoModule+" => ./fork\n",
			"extra.go", "package main\n\nimport \"golang.org/x/crypto/chacha20poly1305\"\n\nfunc init() { stamp = chacha20poly1305.Extra() }\n"),
			setUp: fork(func(t *testing.T, dir string) {
				if err := os.WriteFile(dir+"/chacha20poly1305/extra.go", []byte("package chacha20poly1305\n\nfunc Extra() string { return \"extra\" }\n"), 0o666); err != nil {
					t.Fatal(err)
				}
			}), built: "thing"},
		{name: "replaced at one version", files: plain("go.mod", mod+requires(cryptoVersion, sysVersion)+"\nreplace "+cryptoVersion+" => ./fork\n"),
			setUp: fork(func(*testing.T, string) {}), built: "thing"},
		{name: "fork without New", files: plain("go.mod", mod+requires(cryptoVersion, sysVersion)+"\nreplace "+cryptoModule+" => ./fork\n",
			"main.go", "package main\n\nimport \"golang.org/x/crypto/chacha20poly1305\"\n\nfunc main() { println(chacha20poly1305.Overhead) }\n"),
			setUp: fork(func(t *testing.T, dir string) {
				os.RemoveAll(dir + "/chacha20poly1305")
				os.Mkdir(dir+"/chacha20poly1305", 0o777)
				os.WriteFile(dir+"/chacha20poly1305/a.go", []byte("package chacha20poly1305\n\nconst Overhead = 16\n"), 0o666)
			}), want: "it has no function New"},
		{name: "workspace", files: map[string]string{
			"go.work":     "go 1.24.0\n\nuse (\n\t./app\n\t./lib\n)\n",
			"app/go.mod":  "module example.org/app\n\ngo 1.24.0\n",
			"app/main.go": "package main\n\nimport \"example.org/lib\"\n\nfunc main() { lib.Main() }\n",
			"lib/go.mod":  "module example.org/lib\n\ngo 1.24.0\n" + requires(cryptoVersion, sysVersion),
			"lib/go.sum":  goSum,
			"lib/lib.go":  strings.NewReplacer("package main", "package lib", "func main", "func Main").Replace(program),
		}, in: "app", built: "app"},
		{name: "workspace with -mod=mod", files: map[string]string{"go.work": "go 1.24.0\n\nuse .\n", "go.mod": mod, "main.go": program},
			job: Job{Flags: []string{"-mod=mod"}}, want: "set GOWORK=off"},
		{name: "broken workspace", files: plain("go.work", "go 1.24.0\n\nuse ./none\nfrobnicate\n"), want: "go.work:4: unknown directive: frobnicate"},
		{name: "vendored", files: plain(), setUp: vendor, want: "-mod=mod"},
		{name: "vendored, with -mod=mod", files: plain(), setUp: vendor, job: Job{Flags: []string{"-mod=mod"}}, built: "thing"},
		{name: "vendored workspace", files: plain("go.work", "go 1.24.0\n\nuse .\n"), setUp: vendorWork, want: "add -- -mod=readonly"},
		{name: "vendored workspace, with -mod=readonly", files: plain("go.work", "go 1.24.0\n\nuse .\n"), setUp: vendorWork, job: Job{Flags: []string{"-mod=readonly"}}, built: "thing"},
		{name: "-mod=vendor", files: plain(), job: Job{Flags: []string{"-mod=vendor"}}, want: "-mod=mod"},
		{name: "-modfile", files: otherModfile, job: Job{Flags: []string{"-modfile=other.mod"}}, built: "thing"},
		{name: "-modfile of a subfolder", files: otherModfile, setUp: intoFolder, in: "cmd", job: Job{Flags: []string{"--modfile=../other.mod"}}, built: "cmd"},
		{name: "GOFLAGS=-modfile", files: otherModfile, setUp: func(t *testing.T, _ string) { t.Setenv("GOFLAGS", "-modfile=other.mod") }, built: "thing"},
		{name: "GOFLAGS with quotes", files: rename(otherModfile, "other", "an other"),
			setUp: func(t *testing.T, _ string) {
				t.Setenv("GOFLAGS", "'-modfile=an other.mod' \"-ldflags=-s -X=main.stamp=quoted\" -mod=mod")
			}, built: "thing"},
		{name: "GOFLAGS with half a quote", files: plain(), setUp: func(t *testing.T, _ string) { t.Setenv("GOFLAGS", "'-ldflags=-s") }, want: "unterminated ' string"},
		{name: "no such -modfile", files: plain(), job: Job{Flags: []string{"-modfile=none.mod"}}, want: "none.mod: no such file"},
		{name: "-modfile of another name", files: plain(), job: Job{Flags: []string{"-modfile=go.sum"}}, want: "name must end in .mod"},
		{name: "-modfile without =", files: plain(), job: Job{Flags: []string{"-modfile", "other.mod"}}, want: "write -modfile other.mod with ="},
		{name: "-modfile in a workspace", files: plain("go.work", "go 1.24.0\n\nuse .\n"), job: Job{Flags: []string{"-modfile=go.mod"}}, want: "set GOWORK=off"},
		{name: "sealane by itself", files: plain("go.mod", mod+requires(cryptoVersion, sysVersion, sealaneModule+" v0.1.0")+"\nreplace "+sealaneModule+" => "+repository+"\n",
			"main.go", "package main\n\nimport (\n\t_ \"golang.org/x/crypto/chacha20poly1305\"\n\n\t\"github.com/sealane/sealane/chacha20poly1305\"\n)\n\nfunc main() {\n\ta, _ := chacha20poly1305.New(make([]byte, 32))\n\tprintln(a.Overhead())\n}\n"),
			want: "never seals or opens"},
		{name: "another package's cipher", files: plain("main.go", "package main\n\nimport (\n\t_ \"golang.org/x/crypto/chacha20poly1305\"\n\n\t\"example.org/thing/v2/chacha20poly1305\"\n)\n\nfunc main() { println(len(chacha20poly1305.New().Seal(nil, nil, nil, nil))) }\n",
			"chacha20poly1305/own.go", ownCipher), want: "seals and opens with example.org/thing/v2/chacha20poly1305, which sealane does not replace"},
		{name: "both ciphers", files: plain("own.go", "package main\n\nimport own \"example.org/thing/v2/chacha20poly1305\"\n\nfunc init() { stamp += string(rune('0' + len(own.New().Seal(nil, nil, nil, nil)))) }\n",
			"chacha20poly1305/own.go", ownCipher), built: "thing"},
		{name: "-o passed on", files: plain(), job: Job{Flags: []string{"-o", "x"}}, want: "use sealane's own -o"},
		{name: "without x/crypto", files: map[string]string{"go.mod": mod, "main.go": "package main\n\nfunc main() {}\n"}, want: "does not use " + cipherPath},
		{name: "only TLS", files: map[string]string{"go.mod": mod, "main.go": "package main\n\nimport _ \"crypto/tls\"\n\nfunc main() {}\n"}, want: "--std replaces those"},
		{name: "never called", files: plain("main.go", "package main\n\nimport _ \"golang.org/x/crypto/chacha20poly1305\"\n\nfunc main() {}\n"), want: "never seals or opens"},
		{name: "library", files: plain("main.go", "package thing\n\nimport _ \"golang.org/x/crypto/chacha20poly1305\"\n"), want: "is a library"},
		{name: "several programs", files: plain("other/main.go", program), job: Job{Package: "./..."}, want: "matches 2 packages"},
		{name: "no package", files: plain(), job: Job{Package: "./none"}, want: "directory not found"},
		{name: "no module", files: map[string]string{"main.go": program}, want: "is not in a module"},
		{name: "no go.mod line", files: plain("go.mod", mod+"\nfrobnicate\n"), want: "go.mod:5: unknown directive: frobnicate"},
		{name: "module not required", files: plain("go.mod", mod), want: "no required module provides package"},
		{name: "no go.sum", files: map[string]string{"go.mod": mod + requires(cryptoVersion, sysVersion), "main.go": program}, want: "missing go.sum entry"},
		{name: "offline", files: plain("go.mod", mod+requires(cryptoModule+" v0.1.0", sysVersion),
			"go.sum", "golang.org/x/crypto v0.1.0 h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\ngolang.org/x/crypto v0.1.0/go.mod h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"+goSum), want: "this needs the network"},
		{name: "offline, latest", files: plain(), job: Job{Package: "golang.zx2c4.com/wireguard@latest"}, want: "this needs the network"},
		{name: "path with version", files: plain(), job: Job{Package: "./cmd@latest"}, want: "needs an import path"},
		{name: "compile error", files: plain("wrong.go", "package main\n\nvar x int = \"\"\n"), want: "go build failed"},
		{name: "newer Go", files: plain("go.mod", strings.Replace(mod, "1.24.0", "1.99", 1)), want: "1.99"},
		{name: "bare ChaCha20", files: plain("main.go", streamProgram), built: "thing"},
		// GOARM as in the suite go-arm1176, for which the standard library is compiled anyway.
		{name: "bare ChaCha20 for ARM", files: plain("main.go", streamProgram), setUp: func(t *testing.T, _ string) { t.Setenv("GOARM", "5") },
			job: Job{GOOS: "linux", GOARCH: "arm"}, built: "thing"},
		{name: "bare ChaCha20, which has assembly", files: plain("main.go", streamProgram), job: Job{GOOS: "linux", GOARCH: "arm64"}, want: "does not use"},
		{name: "architecture without kernels", files: plain(), job: Job{GOOS: "linux", GOARCH: "loong64"}, want: "no kernel for loong64"},
	}
	if len(Kernels(runtime.GOARCH)) > 0 {
		cases = append(cases,
			testCase{name: "kernels left out", files: plain(), job: Job{Flags: []string{"-tags=purego"}}, want: "has only the levels portable of"},
			testCase{name: "kernels left out, portable", files: plain(), job: Job{Flags: []string{"-tags=purego"}, AllowPortable: true}, built: "thing"})
	}
	if *long { // each builds the standard library anew
		cases = append(cases,
			testCase{name: "-trimpath", files: plain(), job: Job{Flags: []string{"-trimpath"}}, built: "thing"},
			testCase{name: "other system", files: plain(), job: Job{GOOS: "windows", GOARCH: "amd64"}, built: "thing.exe"},
			testCase{name: "for MIPS", files: plain(), job: Job{GOOS: "linux", GOARCH: "mips"}, built: "thing"},
			testCase{name: "for MIPS64", files: plain(), job: Job{GOOS: "linux", GOARCH: "mips64"}, built: "thing"},
			testCase{name: "for RISC-V", files: plain(), job: Job{GOOS: "linux", GOARCH: "riscv64"}, built: "thing"},
			testCase{name: "PIE", files: plain(), job: Job{Flags: []string{"-buildmode=pie"}}, built: "thing"},
			testCase{name: "other stripped system", files: plain(), job: Job{GOOS: "darwin", GOARCH: "amd64", Flags: []string{"-ldflags=-s -w"}}, built: "thing"},
			testCase{name: "architecture without kernels, portable", files: plain(), job: Job{GOOS: "linux", GOARCH: "s390x", AllowPortable: true}, built: "thing"})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.test(t) })
	}
}

// ownCipher is a package with a cipher of that name.
const ownCipher = `package chacha20poly1305

import "crypto/cipher"

type aead struct{}

func (*aead) NonceSize() int                                                  { return 12 }
func (*aead) Overhead() int                                                   { return 5 }
//go:noinline
func (*aead) Seal(dst, nonce, plaintext, additionalData []byte) []byte          { return dst }
func (*aead) Open(dst, nonce, ciphertext, additionalData []byte) ([]byte, error) { return dst, nil }

func New() cipher.AEAD { return &aead{} }
`

func rename(files map[string]string, from, to string) map[string]string {
	renamed := map[string]string{}
	for name, content := range files {
		renamed[strings.Replace(name, from, to, 1)] = content
	}
	return renamed
}

func intoFolder(t *testing.T, dir string) {
	if err := os.MkdirAll(dir+"/cmd", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir+"/main.go", dir+"/cmd/main.go"); err != nil {
		t.Fatal(err)
	}
}

func vendor(t *testing.T, dir string) { mustRun(t, dir, "go", "mod", "vendor") }

func vendorWork(t *testing.T, dir string) { mustRun(t, dir, "go", "work", "vendor") }

func (c *testCase) test(t *testing.T) {
	dir, scratch := t.TempDir(), t.TempDir()
	for name, content := range c.files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if c.setUp != nil {
		c.setUp(t, dir)
	}
	where := filepath.Join(dir, c.in)
	t.Chdir(where)
	before := hashTree(t, dir)
	t.Setenv("TMPDIR", scratch)
	job := c.job
	if len(Kernels(runtime.GOARCH)) == 0 && job.GOARCH == "" {
		job.AllowPortable = true
	}
	var messages bytes.Buffer
	job.Stderr = &messages
	result, err := Build(context.Background(), job)
	after := hashTree(t, dir)
	if left, _ := os.ReadDir(scratch); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if c.want != "" {
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line with %q", err, c.want)
		} else if strings.Contains(err.Error(), scratch) {
			t.Errorf("the error names a file of ours: %v", err)
		}
		if !maps.Equal(before, after) {
			t.Error("files changed")
		}
		return
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, &messages)
	}
	built := filepath.Join(where, c.built)
	if _, ok := after[built]; !ok {
		t.Fatalf("%s was not written", c.built)
	}
	delete(after, built)
	if !maps.Equal(before, after) {
		t.Error("files changed besides the program")
	}
	c.compare(t, built, result)
}

// compare runs the program and the stock one, and looks into both.
func (c *testCase) compare(t *testing.T, built string, result *Result) {
	found, err := binary.Read(built)
	if err != nil {
		t.Fatal(err)
	}
	streams := c.files["main.go"] == streamProgram
	calls := found.Called || found.Stream == binary.OnSealane
	if !slices.Equal(found.Levels, result.Levels) || !slices.Contains(found.Levels, "portable") || found.Stock || calls != found.Private || !c.job.Std && !calls ||
		streams && (found.Called || found.Stream != binary.OnSealane) || result.Stream != (found.Stream == binary.OnSealane) {
		t.Errorf("built %+v, reported %v", found, result.Levels)
	}
	_, usesTLS := c.files["tls.go"]
	if usesTLS = usesTLS || c.files["main.go"] == tlsProgram; c.job.Std {
		want := ""
		if usesTLS {
			want = binary.OnSealane
		}
		if found.StdGCM != want || found.StdCipher != want || result.StdGCM != usesTLS || result.StdCipher != usesTLS ||
			found.GOARCH != "arm" && (found.StdModes != want || result.StdModes != usesTLS) {
			t.Errorf("built %+v, reported %+v, want %q", found, result, want)
		}
	}
	stock := filepath.Join(t.TempDir(), "stock")
	pkg := c.job.Package
	if pkg == "" {
		pkg = "."
	}
	for name, value := range map[string]string{"GOOS": c.job.GOOS, "GOARCH": c.job.GOARCH} {
		if value != "" {
			t.Setenv(name, value)
		}
	}
	mustRun(t, ".", append(append([]string{"go", "build", "-o", stock}, c.job.Flags...), pkg)...)
	if found, err := binary.Read(stock); err != nil || len(found.Levels) > 0 || !found.Stock && !usesTLS && !streams || streams && found.Stream != binary.Stock || usesTLS && found.StdGCM != binary.Stock {
		t.Errorf("stock build: %+v, %v", found, err)
	}
	if c.job.GOOS != "" {
		return
	}
	if got, want := mustRun(t, ".", built), mustRun(t, ".", stock); got != want {
		t.Errorf("prints\n%swant\n%s", got, want)
	}
}

// TestTest runs go test on sealane: on x/crypto's own tests, on a module's, and on one that fails.
func TestTest(t *testing.T) {
	const test = "package main\n\nimport \"testing\"\n\nfunc Test(t *testing.T) { if stamp != %q { t.Fatal(stamp) } }\n"
	module, version, _ := strings.Cut(cryptoVersion, " ")
	for _, c := range []struct{ name, test, pkg, want string }{
		{"passes", fmt.Sprintf(test, "plain"), "./...", ""},
		{"fails", fmt.Sprintf(test, "other"), "./...", "go test failed"},
		{"x/crypto", "", module + "/chacha20poly1305@" + version, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.Contains(c.pkg, "@") { // which module has a package of that path is asked of the proxy
				t.Setenv("GOPROXY", online)
			}
			dir := t.TempDir()
			for name, content := range plain("main_test.go", c.test) {
				if content == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(dir)
			before := hashTree(t, dir)
			var out bytes.Buffer
			_, err := Test(context.Background(), Job{Package: c.pkg, Flags: []string{"-count=1"}, Stdout: &out, Stderr: &out})
			if got := fmt.Sprint(err); err != nil && (c.want == "" || got != c.want) || err == nil && c.want != "" {
				t.Errorf("error %v, want %q\n%s", err, c.want, &out)
			}
			if !maps.Equal(before, hashTree(t, dir)) {
				t.Error("files changed")
			}
		})
	}
}

// TestPatchStream has x/crypto's bare ChaCha20 as it is and could be.
func TestPatchStream(t *testing.T) {
	const method = "package chacha20\n\nconst bufSize = blockSize\n\nfunc (s *Cipher) xorKeyStreamBlocks(dst, src []byte) {\n\ts.xorKeyStreamBlocksGeneric(dst, src)\n}\n"
	if got, ok := patchStream("a.go", []byte(method)); !ok || !strings.Contains(string(got), "{ if sealaneXOR(&s.key, &s.nonce, s.counter, dst, src) { s.counter += uint32(len(src) / 64); return };\n\ts.xor") {
		t.Errorf("%v\n%s", ok, got)
	}
	for _, other := range []string{strings.Replace(method, "dst, src []byte", "src, dst []byte", 1), strings.Replace(method, "s *Cipher", "c *Cipher", 1), "package chacha20\n"} {
		if got, ok := patchStream("a.go", []byte(other)); ok {
			t.Errorf("of\n%sthis is made:\n%s", other, got)
		}
	}
	const state = "package chacha20\n\ntype Cipher struct {\n\tkey [8]uint32\n\tcounter uint32\n\tnonce [3]uint32\n\tbuf [bufSize]byte\n\tp1, p5 uint32\n}\n"
	for source, want := range map[string]bool{state: true, strings.Replace(state, "counter uint32", "counter uint64", 1): false,
		strings.Replace(state, "\tnonce [3]uint32\n", "", 1): false, "": false} {
		if got := (tree{"chacha20/chacha_generic.go": []byte(source)}).knownStream(); got != want {
			t.Errorf("%v of\n%s", got, source)
		}
	}
}

// streamProgram prints the output of plain ChaCha20 for texts in pieces, and at its last counters.
const streamProgram = `package main

import (
	"crypto/sha256"
	"fmt"

	"golang.org/x/crypto/chacha20"
)

func main() {
	key, text := make([]byte, 32), make([]byte, 200000)
	for i := range text {
		text[i] = byte(i * i >> 3)
	}
	c, _ := chacha20.NewUnauthenticatedCipher(key, text[:12])
	for _, n := range []int{4, 60, 64, 100, 128, 1000, 65536, 65600, 150000, 3, 5000} {
		c.XORKeyStream(text[:n], text[:n])
		fmt.Printf("%d %x\n", n, sha256.Sum256(text))
	}
	defer func() { fmt.Printf("%v %x\n", recover(), sha256.Sum256(text)) }()
	c.SetCounter(1<<32 - 100)
	c.XORKeyStream(text[:6400], text[:6400])
	fmt.Printf("%x\n", sha256.Sum256(text))
	c.XORKeyStream(text[:200], text[:200])
}
`

// TestNewerGo builds a program that needs a newer Go. The build uses that Go if the go command may fetch it, and
// otherwise explains the remedy.
func TestNewerGo(t *testing.T) {
	proxy := filepath.Join(t.TempDir(), "example.org", "newer", "@v")
	if err := os.MkdirAll(proxy, 0o777); err != nil {
		t.Fatal(err)
	}
	const mod = "module example.org/newer\n\ngo 1.99\n"
	var archive bytes.Buffer
	version := modpath.Version{Path: "example.org/newer", Version: "v1.0.0"}
	err := zip.Create(&archive, version, []zip.File{treeFile{"go.mod", []byte(mod)}, treeFile{"main.go", []byte("package main\n\nfunc main() {}\n")}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"v1.0.0.info": `{"Version":"v1.0.0"}`, "v1.0.0.mod": mod, "v1.0.0.zip": archive.String()} {
		if err := os.WriteFile(filepath.Join(proxy, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	moduleCache(t)
	t.Setenv("GOPROXY", fileURL(filepath.Join(proxy, "..", "..", "..")))
	t.Setenv("GOSUMDB", "off")
	for toolchain, want := range map[string]string{"local": "GOTOOLCHAIN=go1.99.0 or GOTOOLCHAIN=auto fetches that Go", "auto": "go1.99.0"} {
		t.Setenv("GOTOOLCHAIN", toolchain)
		_, err := Build(context.Background(), Job{Package: "example.org/newer@v1.0.0"})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || toolchain == "auto" && strings.Contains(err.Error(), "requires go") {
			t.Errorf("GOTOOLCHAIN=%s: error %v, want one line with %q", toolchain, err, want)
		}
	}
	for said, want := range map[string]string{"x@v1 requires go >= 1.27.3 (running go 1.26.8)": "go1.27.3", "requires go >= 1.28rc1": "go1.28rc1", "no such host": ""} {
		if got := neededToolchain(errors.New(said)); got != want {
			t.Errorf("%s: %q", said, got)
		}
	}
}

// TestVerify shows that programs without the kernels are refused.
func TestVerify(t *testing.T) {
	all := append(Kernels("amd64"), "portable")
	for _, c := range []struct {
		levels   []string
		called   bool
		portable bool
		ok       bool
	}{
		{all, true, false, true},
		{all, false, false, false},
		{all[1:], true, false, false},
		{all[len(all)-1:], true, false, false},
		{all[len(all)-1:], true, true, true},
		{nil, true, true, false},
	} {
		if err := verify(&binary.Program{Levels: c.levels, Called: c.called}, "amd64", Job{AllowPortable: c.portable}); (err == nil) != c.ok {
			t.Errorf("%v: %v", c.levels, err)
		}
	}
	if err := verify(&binary.Program{Levels: all, Stock: true}, "amd64", Job{}); err == nil {
		t.Error("the stock cipher is called")
	}
	if err := verify(&binary.Program{Levels: all, Uses: true}, "amd64", Job{}); err == nil {
		t.Error("only the program itself uses sealane")
	}
}

// TestPatch has versions of x/crypto's New as they were and could be.
func TestPatch(t *testing.T) {
	const head = "package chacha20poly1305\n\nimport (\n\t\"crypto/cipher\"\n\t\"errors\"\n\t\"encoding/binary\"\n)\n\n"
	const check = "\tif len(key) != 32 {\n\t\treturn nil, errors.New(\"bad\")\n\t}\n"
	for _, c := range []struct {
		name, source string
		want         string
		wantError    string
	}{
		{"calls sealane", head + "func New(key []byte) (_ cipher.AEAD, err error) {\n" + check + "\tk := binary.LittleEndian.Uint32(key)\n\treturn &aead{k}, nil\n}\n",
			"\n//go:noinline\nfunc sealaneNew(key []byte) (_ cipher.AEAD, err error) { return sealane.New(key) }\n", ""},
		{"checks stay", head + "func New(key []byte) (cipher.AEAD, error) {\n" + check + "\tk := binary.LittleEndian.Uint32(key)\n\treturn &aead{k}, nil\n}\n",
			check + "\tif c, err := sealaneNew(key); c != nil || err != nil { return c, err }; k := binary.", ""},
		{"other name", head + "func NewX(secret []byte) (cipher.AEAD, error) {\n\treturn nil, nil\n}\n", "if c, err := sealaneNewX(secret); c != nil", ""},
		{"method", head + "func (a *x) New(key []byte) (cipher.AEAD, error) {\n\treturn nil, nil\n}\n", "return nil, nil", ""},
		{"other signature", head + "func New(key []byte, n int) (cipher.AEAD, error) {\n\treturn nil, nil\n}\n", "", "its New is not"},
		{"only checks", head + "func New(key []byte) (cipher.AEAD, error) {\n" + check + "}\n", "", "does nothing that sealane understands"},
		{"syntax", "package", "", "expected"},
	} {
		got, _, err := patchFile(c.name, []byte(c.source))
		if c.wantError != "" {
			if err == nil || !strings.Contains(err.Error(), c.wantError) {
				t.Errorf("%s: error %v, want %q", c.name, err, c.wantError)
			}
		} else if err != nil || !strings.Contains(string(got), c.want) {
			t.Errorf("%s: %v, want %q in\n%s", c.name, err, c.want, got)
		}
	}
}

// TestInLanguage keeps the constraints that a file has.
func TestInLanguage(t *testing.T) {
	for source, want := range map[string]string{
		"package a\n":                                         "//go:build go1.24\n\npackage a\n",
		"//go:build a || b\n\npackage a\n":                    "//go:build (a || b) && go1.24\n\npackage a\n",
		"// Text.\n\n//go:build !go1.26\n\npackage a\n":       "// Text.\n\n//go:build (!go1.26) && go1.24\n\npackage a\n",
		"package a\n\nconst s = `\n//go:build x\n`\n":         "//go:build go1.24\n\npackage a\n\nconst s = `\n//go:build x\n`\n",
		"// Code generated by x; DO NOT EDIT.\n\npackage a\n": "//go:build go1.24\n\n// Code generated by x; DO NOT EDIT.\n\npackage a\n",
	} {
		if got, err := inLanguage([]byte(source), "go1.24"); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", source, got, err)
		}
	}
}
