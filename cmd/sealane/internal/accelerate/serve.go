package accelerate

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	modpath "golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// hash identifies a tree by its content.
func (t tree) hash() string {
	h := sha256.New()
	field := func(p []byte) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		h.Write(p)
	}
	for _, name := range slices.Sorted(maps.Keys(t)) {
		field([]byte(name))
		field(t[name])
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// changedVersion returns the version of a changed module. It sorts immediately after the original version, and before
// any other. Go versions cannot have +sealane; a pre-release of the next patch takes its place, as in versions of
// untagged commits. So tools that match vulnerabilities by version give the same answer as for the original.
func changedVersion(version, hash string) string {
	version = strings.TrimSuffix(semver.Canonical(version), "+incompatible")
	switch {
	case version == "":
		version = "v0.0.0-0"
	case semver.Prerelease(version) != "":
		version += ".0"
	default:
		var major, minor, patch uint64
		fmt.Sscanf(version, "v%d.%d.%d", &major, &minor, &patch)
		version = fmt.Sprintf("v%d.%d.%d-0", major, minor, patch+1)
	}
	return version + ".sealane-" + hash
}

// ours matches the versions that changedVersion makes, and no others.
var ours = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+-.*\bsealane-[0-9a-f]{12}$`)

// serve makes the go command accept a tree as a version of a module. The go command fetches it into its module cache
// from a proxy that is a local folder. Existing content of the module cache is not changed. The checksums go to the
// modfile's go.sum. serve returns the value of a -replace flag after its =.
func (b *build) serve(path, version string, t tree) (string, error) {
	v := modpath.Version{Path: path, Version: changedVersion(version, t.hash())}
	if err := modpath.Check(v.Path, v.Version); err != nil {
		return "", fmt.Errorf("cannot serve the copy of %s: %w", path, err)
	}
	sum, modSum, err := t.sums(v)
	if err != nil {
		return "", err
	}
	dir, err := b.cached(v)
	if err != nil {
		return "", err
	}
	intact := func() bool {
		has, err := dirhash.HashDir(dir, v.String(), dirhash.Hash1)
		return err == nil && has == sum
	}
	// The go command waits for others that are fetching the same version; until then the folder may be incomplete.
	if missing := b.downloadServed(v, "off"); missing != nil || !intact() {
		if missing == nil {
			if err := removeCached(dir); err != nil {
				return "", fmt.Errorf("%s was changed, and cannot be removed: %w", dir, err)
			}
		}
		if err := b.fetchServed(v, t); err != nil {
			return "", fmt.Errorf("cannot add the copy of %s to the module cache %s (GOMODCACHE can name another): %w", v.Path, b.env.GOMODCACHE, err)
		}
		if !intact() {
			return "", fmt.Errorf("%s does not hold what sealane gave the go command: remove that folder", dir)
		}
	}
	b.keep(v)
	sums, err := os.OpenFile(b.sumFile(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(sums, "%s %s %s\n%s %s/go.mod %s\n", v.Path, v.Version, sum, v.Path, v.Version, modSum)
	if closing := sums.Close(); err == nil {
		err = closing
	}
	return v.String(), err
}

// sumFile is the go.sum next to the modfile.
func (b *build) sumFile() string {
	if b.workspace() {
		return b.modfile + ".sum"
	}
	return strings.TrimSuffix(b.modfile, ".mod") + ".sum"
}

// sums returns the go.sum entries of the tree.
func (t tree) sums(v modpath.Version) (sum, modSum string, err error) {
	open := func(name string) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(t[strings.TrimPrefix(name, v.String()+"/")])), nil
	}
	var names []string
	for name := range t {
		names = append(names, v.String()+"/"+name)
	}
	if sum, err = dirhash.Hash1(names, open); err == nil {
		modSum, err = dirhash.Hash1([]string{"go.mod"}, open)
	}
	return sum, modSum, err
}

// cached returns the folder of a version in the module cache.
func (b *build) cached(v modpath.Version) (string, error) {
	path, err := modpath.EscapePath(v.Path)
	if err != nil {
		return "", err
	}
	version, err := modpath.EscapeVersion(v.Version)
	return filepath.Join(b.env.GOMODCACHE, filepath.FromSlash(path)+"@"+version), err
}

// A treeFile is a file of a tree, in the form that package zip requires.
type treeFile struct {
	name    string
	content []byte
}

func (f treeFile) Path() string                 { return f.name }
func (f treeFile) Lstat() (os.FileInfo, error)  { return f, nil }
func (f treeFile) Open() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(f.content)), nil }
func (f treeFile) Name() string                 { return filepath.Base(f.name) }
func (f treeFile) Size() int64                  { return int64(len(f.content)) }
func (f treeFile) Mode() fs.FileMode            { return 0o644 }
func (f treeFile) ModTime() time.Time           { return time.Time{} }
func (f treeFile) IsDir() bool                  { return false }
func (f treeFile) Sys() any                     { return nil }

// fetchServed writes a tree in the layout of a module proxy, and makes the go command fetch it.
func (b *build) fetchServed(v modpath.Version, t tree) error {
	proxy := filepath.Join(b.scratch, "proxy")
	path, err := modpath.EscapePath(v.Path)
	if err != nil {
		return err
	}
	files := filepath.Join(proxy, filepath.FromSlash(path), "@v")
	if err := os.MkdirAll(files, 0o777); err != nil {
		return err
	}
	var contents []zip.File
	for _, name := range slices.Sorted(maps.Keys(t)) {
		contents = append(contents, treeFile{name, t[name]})
	}
	var archive bytes.Buffer
	if err := zip.Create(&archive, v, contents); err != nil {
		return fmt.Errorf("cannot serve the copy of %s: %w", v.Path, err)
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{v.Version, time.Unix(0, 0).UTC()})
	if err != nil {
		return err
	}
	for ext, content := range map[string][]byte{".info": info, ".mod": t["go.mod"], ".zip": archive.Bytes()} {
		if err := os.WriteFile(filepath.Join(files, v.Version+ext), content, 0o666); err != nil {
			return err
		}
	}
	return b.downloadServed(v, fileURL(proxy))
}

// downloadServed makes the go command fetch a changed version from a proxy.
func (b *build) downloadServed(v modpath.Version, proxy string) error {
	g := b.goCommand
	g.dir = b.scratch
	flags := "-mod=mod"
	if strings.Contains(b.env.GOFLAGS, "-modcacherw") {
		flags += " -modcacherw"
	}
	g.environ = append(g.environ[:len(g.environ):len(g.environ)], "GOWORK=off", "GOFLAGS="+flags, "GOPROXY="+proxy, "GOSUMDB=off",
		"GONOPROXY=none", "GOPRIVATE=", "GONOSUMDB=")
	_, err := g.output("mod", "download", v.String())
	return err
}

// fileURL converts a folder to the form that GOPROXY requires.
func fileURL(dir string) string {
	dir = filepath.ToSlash(dir)
	if !strings.HasPrefix(dir, "/") {
		dir = "/" + dir
	}
	return "file://" + strings.NewReplacer("%", "%25", " ", "%20", "#", "%23", "?", "%3F", ",", "%2C", "|", "%7C").Replace(dir)
}

// removeCached removes a folder of the module cache, which is read-only.
func removeCached(dir string) error {
	filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			os.Chmod(file, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// kept is how long a changed version stays in the module cache after its last use.
const kept = 30 * 24 * time.Hour

// keep records the use of a version, and removes changed versions that have not been used for that time. It ignores
// failures.
func (b *build) keep(v modpath.Version) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return
	}
	notes := filepath.Join(cache, "sealane", "served")
	if os.MkdirAll(notes, 0o700) != nil {
		return
	}
	name := sha256.Sum256([]byte(b.env.GOMODCACHE + "\n" + v.String()))
	note := filepath.Join(notes, hex.EncodeToString(name[:12]))
	os.WriteFile(note, []byte(b.env.GOMODCACHE+"\n"+v.Path+"\n"+v.Version+"\n"), 0o600)
	all, err := os.ReadDir(notes)
	if err != nil {
		return
	}
	for _, entry := range all {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > kept {
			forget(filepath.Join(notes, entry.Name()))
		}
	}
}

// forget removes the version that a note names from the module cache, and then the note.
func forget(note string) {
	content, err := os.ReadFile(note)
	if err != nil {
		return
	}
	defer os.Remove(note)
	lines := strings.Split(string(content), "\n")
	if len(lines) < 3 || !filepath.IsAbs(lines[0]) || !ours.MatchString(lines[2]) || modpath.Check(lines[1], lines[2]) != nil {
		return
	}
	b := build{env: environment{GOMODCACHE: lines[0]}}
	dir, err := b.cached(modpath.Version{Path: lines[1], Version: lines[2]})
	if err != nil {
		return
	}
	if removeCached(dir) != nil {
		return
	}
	path, _ := modpath.EscapePath(lines[1])
	version, _ := modpath.EscapeVersion(lines[2])
	downloads := filepath.Join(lines[0], "cache", "download", filepath.FromSlash(path), "@v")
	for _, ext := range []string{".info", ".mod", ".zip", ".ziphash", ".lock"} {
		os.Remove(filepath.Join(downloads, version+ext))
	}
}

// write writes a tree for a module that is built in place: the main module.
func (t tree) write(dir string) error {
	for name, content := range t {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o666); err != nil {
			return err
		}
	}
	return nil
}
