package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// released are the modules that a release sets a tag for, by their folders, and a program of each.
var released = map[string]string{".": "", "cmd/sealane": "", "gateway": "/cmd/sealane-gateway"}

const repository = "../.."

// TestModules expects one version everywhere, no replace directive, and a root module that requires only x/sys.
func TestModules(t *testing.T) {
	header, err := os.ReadFile(filepath.Join(repository, "include/sealane.h"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^#define SEALANE_VERSION "(.*)"`).FindSubmatch(header)
	if m == nil {
		t.Fatal("include/sealane.h has no version")
	}
	version := "v" + string(m[1])
	for _, dir := range []string{".", "cmd/sealane", "gateway", "gateway/nicmodel", "bench", "test/peers", "examples/wireguard", "examples/https"} {
		content, err := os.ReadFile(filepath.Join(repository, dir, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		mod, err := modfile.Parse(dir+"/go.mod", content, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(mod.Replace) > 0 {
			t.Errorf("%s/go.mod replaces %s: go install would refuse it", dir, mod.Replace[0].Old.Path)
		}
		for _, r := range mod.Require {
			if strings.HasPrefix(r.Mod.Path, "github.com/sealane/sealane") && r.Mod.Version != version {
				t.Errorf("%s/go.mod requires %s, want %s", dir, r.Mod, version)
			}
			if dir == "." && r.Mod.Path != "golang.org/x/sys" {
				t.Errorf("the library asks its users for %s", r.Mod)
			}
		}
	}
	// In a checkout, packages may import modules that another module of the workspace requires. Users have no
	// workspace.
	list := exec.Command("go", "list", "-test", "-deps", "./...")
	list.Dir, list.Env = repository, append(os.Environ(), "GOWORK=off")
	if out, err := list.CombinedOutput(); err != nil {
		t.Errorf("the library alone: %v\n%s", err, out[max(0, len(out)-1000):])
	}
	for _, file := range []string{"go.work", "bench/go.work", "gateway/nicmodel/go.work"} {
		content, err := os.ReadFile(filepath.Join(repository, file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(content), "\nreplace github.com/sealane/sealane "+version+" => ") {
			t.Errorf("%s does not replace version %s", file, version)
		}
	}
}

var long = flag.Bool("long", false, "run tests that take minutes")

// TestInstall makes a module proxy of the files that git tracks, as tags of a release would. The go command then
// installs the programs from it by name. make test-long also compiles the gateway; this test only looks for its
// packages and their files.
func TestInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN: builds the command")
	}
	out, err := exec.Command("git", "-C", repository, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Skipf("NOT RUN: git ls-files: %v", err)
	}
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	const version = "v0.1.0"
	proxy, home := t.TempDir(), t.TempDir()
	for dir := range released {
		var files []zip.File
		for _, name := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			if inner, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(inner) && inModule(root, dir, name) {
				files = append(files, file{filepath.Join(root, name), filepath.ToSlash(inner)})
			}
		}
		path := strings.TrimSuffix("github.com/sealane/sealane/"+dir, "/.")
		var archive bytes.Buffer
		if err := zip.Create(&archive, module.Version{Path: path, Version: version}, files); err != nil {
			t.Fatal(err)
		}
		mod, err := os.ReadFile(filepath.Join(root, dir, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(proxy, path, "@v")
		if err := os.MkdirAll(at, 0o777); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string][]byte{
			"list": []byte(version + "\n"), version + ".mod": mod, version + ".zip": archive.Bytes(),
			version + ".info": []byte(`{"Version":"` + version + `","Time":"2026-01-01T00:00:00Z"}`),
		} {
			if err := os.WriteFile(filepath.Join(at, name), content, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	lines := strings.Split(run(t, "go", "env", "GOMODCACHE", "GOPROXY", "GOCACHE"), "\n")
	environ := append(os.Environ(), "HOME="+home, "GOBIN="+home, "GOCACHE="+lines[2], "GOMODCACHE="+home+"/mod", "GOWORK=off", "CGO_ENABLED=0",
		"GOPROXY=file://"+proxy+",file://"+lines[0]+"/cache/download,"+lines[1], "GONOSUMDB=github.com/sealane", "GOFLAGS=-modcacherw", "GOTOOLCHAIN=local")
	command := func(args ...string) {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = home, environ
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	command("install", "github.com/sealane/sealane/cmd/sealane@latest")
	const gateway = "github.com/sealane/sealane/gateway/cmd/sealane-gateway"
	switch {
	case runtime.GOOS != "linux":
	case *long:
		command("install", gateway+"@latest")
	default:
		command("mod", "init", "example.org/user")
		command("get", gateway+"@latest")
		command("list", "-deps", gateway)
	}
	if out := run(t, filepath.Join(home, "sealane"), "--version"); !strings.Contains(out, version) {
		t.Errorf("what was installed says that it is %s", out)
	}
}

// inModule reports whether a file is in the module of a folder, and not in a nested one.
func inModule(root, dir, name string) bool {
	for at := filepath.Dir(name); at != dir; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(root, at, "go.mod")); err == nil || at == "." {
			return false
		}
	}
	info, err := os.Stat(filepath.Join(root, name))
	return err == nil && info.Mode().IsRegular()
}

// A file is one of a module, in the form that package zip expects.
type file struct{ on, name string }

func (f file) Path() string                 { return f.name }
func (f file) Lstat() (os.FileInfo, error)  { return os.Lstat(f.on) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(f.on) }
