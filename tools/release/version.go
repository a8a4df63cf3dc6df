package main

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// isVersion accepts no major version above 1: the paths of Go modules would have to end with it.
var isVersion = regexp.MustCompile(`^[01]\.(0|[1-9]\d*)\.(0|[1-9]\d*)$`).MatchString

// A place states the version: files whose path matches, and in each the text between the parts that pattern captures.
type place struct {
	files   string // a pattern of path.Match, for the whole path or, without a slash, for its last element
	pattern *regexp.Regexp
	part    int // 0: the whole version; 1, 2, 3: its major, minor, patch number
	must    bool
}

var places = []place{
	{"include/sealane.h", regexp.MustCompile(`(#define SEALANE_VERSION ")[^"]*(")`), 0, true},
	{"include/sealane.h", regexp.MustCompile(`(#define SEALANE_VERSION_MAJOR )\d+()`), 1, true},
	{"include/sealane.h", regexp.MustCompile(`(#define SEALANE_VERSION_MINOR )\d+()`), 2, true},
	{"include/sealane.h", regexp.MustCompile(`(#define SEALANE_VERSION_PATCH )\d+()`), 3, true},
	{"go.mod", regexp.MustCompile(`(\bgithub\.com/sealane/sealane(?:/cmd/sealane|/gateway)? v)\d[^\s]*()`), 0, false},
	{"go.work", regexp.MustCompile(`(\bgithub\.com/sealane/sealane(?:/cmd/sealane|/gateway)? v)\d[^\s]*( =>)`), 0, false},
	{"rust/sealane/Cargo.toml", regexp.MustCompile(`(?m)(^version = ")[^"]*(")`), 0, true},
	{"rust/rustls-sealane/Cargo.toml", regexp.MustCompile(`(?m)(^version = ")[^"]*(")`), 0, true},
	{"Cargo.toml", regexp.MustCompile(`(?m)(^(?:rustls-)?sealane = \{ version = ")[^"]*(", path)`), 0, false},
	{"Cargo.lock", regexp.MustCompile(`(?m)(^name = "(?:rustls-)?sealane"\nversion = ")[^"]*(")`), 0, false},
	{"packaging/container/daemonset.yaml", regexp.MustCompile(`(image: sealane-gateway:)\S+()`), 0, true},
	{"provider/README.md", regexp.MustCompile(`(?m)(^ +(?:version|build info): )\d+\.\d+\.\d+()`), 0, true},
}

func (p place) holds(name string) bool {
	if !strings.Contains(p.files, "/") {
		name = path.Base(name)
	}
	ok, _ := path.Match(p.files, name)
	return ok
}

// replaced is content with the version set at every place of the file of that name.
func replaced(name string, content []byte, version string) ([]byte, error) {
	parts := append([]string{version}, strings.Split(version, ".")...)
	for _, p := range places {
		if !p.holds(name) {
			continue
		}
		if p.must && !p.pattern.Match(content) {
			return nil, fmt.Errorf("%s does not state the version: %s", name, p.pattern)
		}
		content = p.pattern.ReplaceAll(content, []byte("${1}"+parts[p.part]+"${2}"))
	}
	return content, nil
}

// setVersion writes the version to every place, adds it to Debian's changelog, and returns the files that changed.
func setVersion(files []string, version string, n notes) (set []string, err error) {
	for _, p := range places {
		if p.must && !slices.ContainsFunc(files, p.holds) {
			return nil, fmt.Errorf("git tracks no %s", p.files)
		}
	}
	for _, name := range files {
		if _, err := os.Readlink(name); err == nil {
			continue // its target is a separate file
		}
		before, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		after, err := replaced(name, before, version)
		if err != nil {
			return nil, err
		}
		if name == "debian/changelog" {
			after = changelog(before, version, n.date)
		}
		if bytes.Equal(before, after) {
			continue
		}
		if err := os.WriteFile(name, after, 0o666); err != nil {
			return nil, err
		}
		set = append(set, name)
	}
	return set, nil
}

const maintainer = "The sealane authors <sealane@users.noreply.github.com>"

// changelog has the version's entry at its head.
func changelog(content []byte, version string, date time.Time) []byte {
	entry := fmt.Sprintf("sealane (%s-1) unstable; urgency=medium\n\n  * New upstream release: see NEWS.md.\n\n -- %s  %s\n",
		version, maintainer, date.Format("Mon, 02 Jan 2006 15:04:05 -0700"))
	head, rest, _ := bytes.Cut(content, []byte("\n"))
	if !bytes.HasPrefix(head, []byte("sealane ("+version+"-")) {
		return append([]byte(entry+"\n"), content...)
	}
	// This version again: its date may have changed.
	_, rest, _ = bytes.Cut(rest, []byte("\n -- "))
	_, rest, _ = bytes.Cut(rest, []byte("\n"))
	return append([]byte(entry), rest...)
}

// notes is the text of NEWS.md about a version.
type notes struct {
	date time.Time
	text string
}

func readNotes(version string) (notes, error) {
	content, err := os.ReadFile("NEWS.md")
	if err != nil {
		return notes{}, err
	}
	return parseNotes(string(content), version)
}

func parseNotes(news, version string) (notes, error) {
	section := regexp.MustCompile(`(?m)^## ` + regexp.QuoteMeta(version) + ` \((\d{4}-\d{2}-\d{2})\)$`).FindStringSubmatchIndex(news)
	if section == nil {
		return notes{}, fmt.Errorf(`NEWS.md has no section "## %s (YEAR-MONTH-DAY)" with the date of the release`, version)
	}
	date, err := time.Parse(time.DateOnly, news[section[2]:section[3]])
	if err != nil {
		return notes{}, fmt.Errorf("NEWS.md: %w", err)
	}
	text, _, _ := strings.Cut(news[section[1]:], "\n## ")
	if strings.TrimSpace(text) == "" {
		return notes{}, fmt.Errorf("NEWS.md has no section about %s", version)
	}
	return notes{date, strings.TrimSpace(text) + "\n"}, nil
}
