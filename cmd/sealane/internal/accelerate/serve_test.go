package accelerate

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	modpath "golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// TestChangedVersion expects each changed version to sort right after the original.
func TestChangedVersion(t *testing.T) {
	const hash = "0123456789ab"
	for _, c := range []struct{ version, want, next string }{
		{"v0.48.0", "v0.48.1-0.sealane-0123456789ab", "v0.48.1"},
		{"v1.2.9", "v1.2.10-0.sealane-0123456789ab", "v1.2.10"},
		{"v0.0.0-20260522210424-ecfc5a8d5446", "v0.0.0-20260522210424-ecfc5a8d5446.0.sealane-0123456789ab", "v0.0.0-20260522210425-000000000000"},
		{"v1.3.0-rc.1", "v1.3.0-rc.1.0.sealane-0123456789ab", "v1.3.0-rc.2"},
		{"v2.0.0+incompatible", "v2.0.1-0.sealane-0123456789ab", "v2.0.1"},
		{"", "v0.0.0-0.sealane-0123456789ab", "v0.0.0"},
	} {
		got := changedVersion(c.version, hash)
		if got != c.want || semver.Canonical(got) != got || !ours.MatchString(got) {
			t.Errorf("%s: %s, want %s", c.version, got, c.want)
		}
		if c.version != "" && semver.Compare(got, c.version) <= 0 || semver.Compare(got, c.next) >= 0 {
			t.Errorf("%s is not between %s and %s", got, c.version, c.next)
		}
	}
	for _, foreign := range []string{"v0.48.0", "v0.0.0-20260522210424-ecfc5a8d5446", "v1.0.0-sealane", "v1.0.0-0.sealane-xyz", "../v1.0.0-0.sealane-0123456789ab"} {
		if ours.MatchString(foreign) {
			t.Errorf("%s is taken for one of ours", foreign)
		}
	}
}

// workPlace writes the plain program to a new folder and changes to it.
func workPlace(t *testing.T) string {
	dir := t.TempDir()
	for name, content := range plain() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return dir
}

func mustBuild(t *testing.T, job Job) {
	t.Helper()
	var messages bytes.Buffer
	job.Stderr, job.AllowPortable = &messages, true
	if _, err := Build(context.Background(), job); err != nil {
		t.Fatalf("%v\n%s", err, &messages)
	}
}

// TestReproducible builds in two homes, with different folder names everywhere. It expects the same bytes, and
// modules with versions and sums in them.
func TestReproducible(t *testing.T) {
	if !*long {
		t.Skip("NOT RUN: part of make test-long") // -trimpath compiles the standard library anew
	}
	var programs [2][]byte
	for i := range programs {
		moduleCache(t)
		home := t.TempDir()
		t.Setenv("HOME", home)
		t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
		file := filepath.Join(workPlace(t), "thing")
		mustBuild(t, Job{Output: file, Flags: []string{"-trimpath"}})
		var err error
		if programs[i], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			if !bytes.Equal(programs[0], programs[1]) {
				t.Error("the programs differ")
			}
			checkModules(t, file)
		}
	}
}

// checkModules parses the output of go version -m.
func checkModules(t *testing.T, file string) {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, m := range info.Deps {
		if m.Path != cryptoModule && m.Path != sealaneModule {
			continue
		}
		seen++
		if r := m.Replace; r == nil || r.Path != m.Path || !ours.MatchString(r.Version) || !strings.HasPrefix(r.Sum, "h1:") || !semver.IsValid(m.Version) {
			t.Errorf("%s %s => %+v", m.Path, m.Version, m.Replace)
		}
		if m.Path == cryptoModule && cryptoVersion != cryptoModule+" "+m.Version {
			t.Errorf("x/crypto %s, want %s", m.Version, cryptoVersion)
		}
	}
	if seen != 2 {
		t.Errorf("%d of the two modules are in\n%v", seen, info)
	}
}

// TestAtOnce has builds start at once where nothing was built before.
func TestAtOnce(t *testing.T) {
	moduleCache(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := workPlace(t)
	var group sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		group.Add(1)
		go func() {
			defer group.Done()
			var messages bytes.Buffer
			if _, err := Build(context.Background(), Job{Output: filepath.Join(dir, fmt.Sprint("thing", i)), Stderr: &messages, AllowPortable: true}); err != nil {
				errs[i] = fmt.Errorf("%w\n%s", err, &messages)
			}
		}()
	}
	group.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("build %d: %v", i, err)
		}
	}
}

// versions returns the folders and download files of our versions in a module cache.
func versions(t *testing.T, cache string) (folders, files []string) {
	t.Helper()
	err := filepath.WalkDir(cache, func(file string, entry fs.DirEntry, err error) error {
		_, version, _ := strings.Cut(entry.Name(), "@")
		switch base := strings.TrimSuffix(entry.Name(), filepath.Ext(entry.Name())); {
		case err != nil:
		case entry.IsDir() && ours.MatchString(version):
			folders = append(folders, file)
			return filepath.SkipDir
		case !entry.IsDir() && ours.MatchString(base):
			files = append(files, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return folders, files
}

// TestTamperedModule changes our modules in the module cache. The change must be noticed, and the modules replaced.
func TestTamperedModule(t *testing.T) {
	cache := moduleCache(t)
	dir := workPlace(t)
	mustBuild(t, Job{})
	want, err := os.ReadFile(filepath.Join(dir, "thing"))
	if err != nil {
		t.Fatal(err)
	}
	folders, _ := versions(t, cache)
	if len(folders) != 2 {
		t.Fatalf("the module cache has %v", folders)
	}
	for _, folder := range folders {
		file := filepath.Join(folder, "chacha20poly1305", "evil.go")
		os.Chmod(filepath.Dir(file), 0o777)
		if err := os.WriteFile(file, []byte("package chacha20poly1305\n\nfunc init() { println(\"evil\") }\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		mustBuild(t, Job{})
		if _, err := os.Stat(file); err == nil {
			t.Error("the change stays")
		}
		if got, err := os.ReadFile(filepath.Join(dir, "thing")); err != nil || !bytes.Equal(got, want) {
			t.Errorf("another program is built: %v", err)
		}
	}
}

// TestPrune checks that our long-unused versions are removed from the module cache, and nothing else.
func TestPrune(t *testing.T) {
	cache, notes := moduleCache(t), t.TempDir()
	t.Setenv("XDG_CACHE_HOME", notes)
	workPlace(t)
	mustBuild(t, Job{})
	before := hashTree(t, filepath.Join(cache, "golang.org"))
	all := glob(filepath.Join(notes, "sealane", "served", "*"))
	if len(all) != 2 {
		t.Fatalf("notes: %v", all)
	}
	// An old note of a module that is not ours, and one of a folder elsewhere, do nothing.
	for i, content := range []string{cache + "\n" + strings.Replace(cryptoVersion, " ", "\n", 1) + "\n", cache + "\n../../x\nv1.0.0-0.sealane-0123456789ab\n", "garbage"} {
		note := filepath.Join(notes, "sealane", "served", fmt.Sprint("foreign", i))
		if err := os.WriteFile(note, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		all = append(all, note)
	}
	long := time.Now().Add(-kept - time.Hour)
	for _, note := range all {
		if err := os.Chtimes(note, long, long); err != nil {
			t.Fatal(err)
		}
	}
	b := build{env: environment{GOMODCACHE: "/elsewhere"}}
	b.keep(modpath.Version{Path: "example.org/x", Version: "v1.0.0-0.sealane-0123456789ab"})
	folders, files := versions(t, cache)
	if len(folders)+len(files) > 0 {
		t.Errorf("still there: %v %v", folders, files)
	}
	after := hashTree(t, filepath.Join(cache, "golang.org"))
	for file, content := range before {
		if !strings.Contains(file, ".sealane-") && after[file] != content {
			t.Errorf("%s changed", file)
		}
	}
	if left := glob(filepath.Join(notes, "sealane", "served", "*")); len(left) != 1 {
		t.Errorf("notes: %v", left)
	}
	mustBuild(t, Job{}) // and it is made again
}

// TestNoModuleCache has a module cache that takes nothing new.
func TestNoModuleCache(t *testing.T) {
	cache := moduleCache(t)
	workPlace(t)
	if err := os.WriteFile(filepath.Join(cache, "github.com"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := Build(context.Background(), Job{Stderr: os.Stderr, AllowPortable: true})
	if err == nil || !strings.Contains(err.Error(), "cannot add the copy of "+sealaneModule+" to the module cache "+cache) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}
