package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func files(t *testing.T) []string {
	t.Helper()
	all, err := trackedFiles()
	if err != nil {
		t.Skipf("NOT RUN: no checkout of git: %v", err)
	}
	return slices.DeleteFunc(all, func(name string) bool { info, err := os.Lstat(name); return err != nil || !info.Mode().IsRegular() })
}

// forgotten are the lines that state version in connection with sealane once it was replaced at every place.
func forgotten(name string, content []byte, version string) (lines []string) {
	stated := regexp.MustCompile(`(^|[^\w.])v?` + regexp.QuoteMeta(version) + `($|[^\w.])`)
	for line := range strings.Lines(string(content)) {
		if stated.MatchString(line) && strings.Contains(strings.ToLower(line), "sealane") {
			lines = append(lines, name+": "+strings.TrimSpace(line))
		}
	}
	return lines
}

// TestPlaces expects the header's version at every place. After a change of version the old one must be gone.
func TestPlaces(t *testing.T) {
	header, err := os.ReadFile("include/sealane.h")
	if err != nil {
		t.Fatal(err)
	}
	version := string(regexp.MustCompile(`SEALANE_VERSION "(.*)"`).FindSubmatch(header)[1])
	met := map[string]bool{}
	for _, name := range files(t) {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		same, err := replaced(name, content, version)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(same, content) {
			t.Errorf("%s states a version other than include/sealane.h, %s", name, version)
		}
		changed, _ := replaced(name, content, "0.98.7")
		for _, p := range places {
			if p.holds(name) && !bytes.Equal(changed, content) {
				met[p.files] = true
			}
		}
		skip := strings.HasSuffix(name, "_test.go") || path.Base(name) == "NEWS.md" || name == "debian/changelog" || strings.HasPrefix(name, "bench/results/")
		if lines := forgotten(name, changed, version); !skip && len(lines) > 0 {
			t.Errorf("no place of tools/release sets this:\n%s", strings.Join(lines, "\n"))
		}
	}
	for _, p := range places {
		if !met[p.files] {
			t.Errorf("no file is set by the place %s", p.files)
		}
	}
	if forgotten("planted", []byte("sealane 0.1.0\n"), "0.1.0") == nil || forgotten("planted", []byte("sealane 10.1.0\n"), "0.1.0") != nil {
		t.Error("a line that was forgotten is not found, or another is")
	}
	if _, err := replaced("include/sealane.h", []byte("#define OTHER\n"), version); err == nil {
		t.Error("a header without a version is taken")
	}
}

func TestVersions(t *testing.T) {
	for version, want := range map[string]bool{"0.1.0": true, "1.20.3": true, "": false, "1.2": false, "v1.2.3": false, "2.0.0": false, "1.02.3": false, "1.2.3-rc1": false} {
		if isVersion(version) != want {
			t.Errorf("%q: %t, want %t", version, !want, want)
		}
	}
}

func TestNotes(t *testing.T) {
	news := "# News\n\n## 1.1.0 (2026-12-01)\n\nFaster.\n\n## 1.0.0 (2026-11-01)\n\nFirst.\n"
	n, err := parseNotes(news, "1.1.0")
	if err != nil || n.text != "Faster.\n" || n.date.Format(time.DateOnly) != "2026-12-01" {
		t.Errorf("%+v, %v", n, err)
	}
	for _, bad := range []string{"## 1.1.0\n\nFaster.\n", "## 1.1.0 (2026-13-01)\n\nFaster.\n", "## 1.1.0 (2026-12-01)\n\n## 1.0.0 (2026-11-01)\n\nFirst.\n"} {
		if _, err := parseNotes(bad, "1.1.0"); err == nil {
			t.Errorf("taken: %q", bad)
		}
	}
}

func TestChangelog(t *testing.T) {
	day := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	first := changelog(nil, "1.0.0", day)
	second := changelog(first, "1.1.0", day)
	if !bytes.HasSuffix(second, append([]byte("\n"), first...)) || bytes.Count(second, []byte("\n -- ")) != 2 {
		t.Errorf("a new version:\n%s", second)
	}
	again := changelog(second, "1.1.0", day.AddDate(0, 0, 1))
	if want := bytes.Replace(second, []byte("Tue, 01 Dec"), []byte("Wed, 02 Dec"), 1); !bytes.Equal(again, want) {
		t.Errorf("the same version at another date:\n%s", again)
	}
}

// TestArchive checks that archives depend only on names, contents and the executable bit.
func TestArchive(t *testing.T) {
	day := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	pack := func(mode os.FileMode, modified time.Time, content string) []byte {
		dir := t.TempDir()
		name := filepath.Join(dir, "file")
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, modified, modified); err != nil {
			t.Fatal(err)
		}
		b, err := archive(dir, "prefix", []string{"file"}, day)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	one := pack(0o644, day, "text")
	if !bytes.Equal(one, pack(0o600, day.AddDate(1, 0, 0), "text")) {
		t.Error("the archive depends on the file's time or on rights other than that to execute")
	}
	dir := t.TempDir()
	if err := os.Symlink("elsewhere", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	linked, err := archive(dir, "prefix", []string{"link"}, day)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(linked))
	if err != nil {
		t.Fatal(err)
	}
	if h, err := tar.NewReader(z).Next(); err != nil || h.Typeflag != tar.TypeSymlink || h.Linkname != "elsewhere" {
		t.Errorf("a symbolic link is packed as %+v, %v", h, err)
	}
	if bytes.Equal(one, pack(0o755, day, "text")) || bytes.Equal(one, pack(0o644, day, "texT")) {
		t.Error("the archive does not depend on the content, or on the right to execute")
	}
}
