package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// trackedFiles are the files that git tracks, sorted.
func trackedFiles() ([]string, error) {
	list, err := output("git", "ls-files", "-z")
	if err != nil {
		return nil, err
	}
	files := strings.Split(strings.TrimSuffix(list, "\x00"), "\x00")
	slices.Sort(files)
	return files, nil
}

// archive is a compressed archive of files and symbolic links below dir, each named prefix/name.
func archive(dir, prefix string, files []string, date time.Time) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	for _, name := range files {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if err != nil {
			return nil, err
		}
		h := &tar.Header{Name: prefix + "/" + filepath.ToSlash(name), Mode: 0o644, ModTime: date}
		var content []byte
		if info.Mode()&fs.ModeSymlink != 0 {
			h.Typeflag, h.Mode = tar.TypeSymlink, 0o777
			h.Linkname, err = os.Readlink(path)
		} else {
			content, err = os.ReadFile(path)
			h.Size = int64(len(content))
			if info.Mode()&0o100 != 0 {
				h.Mode = 0o755
			}
		}
		if err != nil {
			return nil, err
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// filesBelow lists the regular files below a folder, in the order of their names.
func filesBelow(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		files = append(files, name)
		return err
	})
	slices.Sort(files)
	return files, err
}

// writeArtifacts writes all files of the release to the folder out.
func writeArtifacts(out, version string, files []string, n notes) error {
	work, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	tree := filepath.Join(work, "tree")
	if err := copyFiles(tree, files); err != nil {
		return err
	}
	made := map[string][]byte{}
	name := "sealane-" + version
	if made[name+".tar.gz"], err = archive(".", name, files, n.date); err != nil {
		return err
	}
	if made[name+"-go.tar.gz"], err = vendorGo(tree, version, n.date); err != nil {
		return err
	}
	if made[name+"-rust.tar.gz"], err = vendorRust(tree, n.date); err != nil {
		return err
	}
	sum := sha256.Sum256(made[name+".tar.gz"])
	if made[name+".cdx.json"], err = bill(tree, version, hex.EncodeToString(sum[:]), n.date); err != nil {
		return err
	}
	templates, err := filesBelow("packaging/templates")
	if err != nil {
		return err
	}
	for _, template := range templates {
		content, err := os.ReadFile(filepath.Join("packaging/templates", template))
		if err != nil {
			return err
		}
		fill := strings.NewReplacer("@VERSION@", version, "@SHA256@", hex.EncodeToString(sum[:]),
			"@DATE@", n.date.Format(time.DateOnly), "@RPM_DATE@", n.date.Format("Mon Jan 02 2006"), "@MAINTAINER@", maintainer)
		made[template] = []byte(fill.Replace(string(content)))
	}
	made["notes.md"] = []byte(n.text)
	var sums strings.Builder
	for _, name := range slices.Sorted(maps.Keys(made)) {
		path := filepath.Join(out, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, made[name], 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(made[name]), name)
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// debianSource writes the archives of Debian's source package: the files, and beside them the Go modules.
func debianSource(out string) error {
	said, err := output("dpkg-parsechangelog", "-STimestamp")
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(said), 10, 64)
	if err != nil {
		return err
	}
	said, err = output("dpkg-parsechangelog", "-SVersion")
	if err != nil {
		return err
	}
	version, _, _ := strings.Cut(said, "-")
	files, err := trackedFiles()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := copyFiles(work, files); err != nil {
		return err
	}
	date := time.Unix(seconds, 0).UTC()
	source, err := archive(".", "sealane-"+version, files, date)
	if err != nil {
		return err
	}
	modules, err := vendorGo(work, version, date)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(out, "sealane_"+version+".orig.tar.gz"), source, 0o644),
		os.WriteFile(filepath.Join(out, "sealane_"+version+".orig-vendor-go.tar.gz"), modules, 0o644))
}

func copyFiles(to string, files []string) error {
	for _, name := range files {
		path := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if target, err := os.Readlink(name); err == nil {
			if err := os.Symlink(target, path); err != nil {
				return err
			}
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// The workspace of the modules that users build, with all that they need beside it.
const workspace = `// Builds sealane's commands without a network: GOWORK=$PWD/vendor-go/go.work go build -mod=vendor ./cmd/sealane
go 1.24.0

use (
	..
	../cmd/sealane
	../gateway
)

replace github.com/sealane/sealane v%s => ../
`

func vendorGo(tree, version string, date time.Time) ([]byte, error) {
	dir := filepath.Join(tree, "vendor-go")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	work := filepath.Join(dir, "go.work")
	if err := os.WriteFile(work, fmt.Appendf(nil, workspace, version), 0o644); err != nil {
		return nil, err
	}
	if err := run(dir, []string{"GOWORK=" + work, "GOFLAGS=-modcacherw"}, "go", "work", "vendor"); err != nil {
		return nil, err
	}
	return archiveFolder(tree, "vendor-go", date)
}

// The settings by which cargo takes crates from the folder: cargo --config vendor-rust/config.toml.
const cargoConfig = `[source.crates-io]
replace-with = "vendored-sources"

[source.vendored-sources]
directory = "crates"
`

func vendorRust(tree string, date time.Time) ([]byte, error) {
	err := run(filepath.Join(tree, "rust"), nil, "cargo", "vendor", "--locked", "--quiet",
		"--sync", "rustls-sealane/Cargo.toml", "--sync", "sealane-ring/Cargo.toml", "../vendor-rust/crates")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(tree, "vendor-rust", "config.toml"), []byte(cargoConfig), 0o644); err != nil {
		return nil, err
	}
	return archiveFolder(tree, "vendor-rust", date)
}

func archiveFolder(tree, folder string, date time.Time) ([]byte, error) {
	files, err := filesBelow(filepath.Join(tree, folder))
	if err != nil {
		return nil, err
	}
	return archive(filepath.Join(tree, folder), folder, files, date)
}

func run(dir string, env []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}
