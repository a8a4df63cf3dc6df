// Command release makes the files of a release from a checkout:
//
//	go run ./tools/release [-out FOLDER] VERSION
//
// It checks that the checkout has no uncommitted changes and that NEWS.md describes VERSION. It sets the version in
// every file that states it, and writes to FOLDER (build/release/VERSION):
//
//	sealane-VERSION.tar.gz        all files that git tracks
//	sealane-VERSION-go.tar.gz     the Go modules that the commands and the gateway need, to be unpacked in the former
//	sealane-VERSION-rust.tar.gz   the crates that the Rust crates and their tests need, to be unpacked there, too
//	sealane-VERSION.cdx.json      a software bill of materials (CycloneDX 1.6)
//	sealane.rb, sealane.spec ...  the files of packaging/templates, with the version and the SHA-256 of the source
//	notes.md                      the release's notes: its section of NEWS.md
//	SHA256SUMS                    of all of these
//
// With -debian FOLDER it writes only the archives of a Debian source package, under the names that dpkg-source
// expects. Version and date come from debian/changelog.
//
// Every byte depends only on the files' contents: two runs write the same. The time in archives is the release's date.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	out := flag.String("out", "", "the folder to write to (default build/release/VERSION)")
	debian := flag.String("debian", "", "write the archives of a Debian source package to this folder")
	flag.Parse()
	var err error
	if *debian != "" {
		err = debianSource(*debian)
	} else {
		err = release(flag.Arg(0), *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release: "+err.Error())
		os.Exit(1)
	}
}

func release(version, out string) error {
	if !isVersion(version) {
		return fmt.Errorf("the version is %q, want three numbers like 1.2.3, the first of them 0 or 1", version)
	}
	if out == "" {
		out = filepath.Join("build", "release", version)
	}
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	changed, err := output("git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return errors.New("commit or stash these changes first:\n" + changed)
	}
	notes, err := readNotes(version)
	if err != nil {
		return err
	}
	files, err := trackedFiles()
	if err != nil {
		return err
	}
	set, err := setVersion(files, version, notes)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if err := writeArtifacts(out, version, files, notes); err != nil {
		return err
	}
	fmt.Printf("%s: all files of release %s\n", out, version)
	if len(set) > 0 {
		fmt.Printf("The version was set in %s.\nCommit that, then run make test and set the tags: docs/releasing.md.\n", strings.Join(set, ", "))
	}
	return nil
}

// output runs a command in the root of the checkout.
func output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return "", fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return string(out), nil
}
