package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The names of the levels stand once, best first, in src/level.c. Go and Rust get their lists of names from there, and
// which of them an architecture has from its kernels' names: a level composed of two kernels there where both are.
const (
	levelSource    = "src/level.c"
	levelNamesFile = "internal/dispatch/names.go"
	levelsFile     = "internal/dispatch/names_%s.go" // of an architecture
	levelTypeFile  = outputDir + "/names.go"
	rustNames      = rustDir + "/names.rs"
	portableLevel  = "portable"
)

var (
	levelNames = regexp.MustCompile(`(?s)\bknown_names\[\] = \{(.*?)\};`)
	levelWord  = regexp.MustCompile(`^"([a-z0-9]+)"$`)
	composed   = regexp.MustCompile(`(?m)^COMPOSED\(\w+, (\w+), (\w+), \d+, \d+, \d+, (\w+)\)$`)
)

// readLevels returns the names of all levels, best first.
func readLevels(root string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(levelSource)))
	if err != nil {
		return nil, err
	}
	m := levelNames.FindSubmatch(text)
	if m == nil {
		return nil, errors.New(levelSource + ": no known_names")
	}
	var names []string
	for _, word := range strings.Split(string(m[1]), ",") {
		name := levelWord.FindStringSubmatch(strings.TrimSpace(word))
		if name == nil || slices.Contains(names, name[1]) {
			return nil, fmt.Errorf("%s: known_names: want names, each once: %s", levelSource, word)
		}
		names = append(names, name[1])
	}
	if names[len(names)-1] != portableLevel {
		return nil, fmt.Errorf("%s: known_names: the last is not %s", levelSource, portableLevel)
	}
	return names, nil
}

func levelHeader() string { return generatedMarker + "from " + levelSource + "; DO NOT EDIT.\n\n" }

// addLevels adds the files with the names of all levels.
func (r *report) addLevels(names []string) error {
	var dispatch, levels, rust bytes.Buffer
	fmt.Fprintf(&dispatch, "%spackage dispatch\n\n// allLevels are the names of the levels of all architectures, best first.\nvar allLevels = %#v\n",
		levelHeader(), names)
	fmt.Fprintf(&levels, "%spackage kernel\n\n// A Level is a way to run a primitive. Keys carry one.\ntype Level uint8\n\n"+
		"// The levels of all architectures, the last of "+levelSource+" first: 0 is none.\nconst (\n", levelHeader())
	for i, name := range slices.Backward(names) {
		fmt.Fprintf(&levels, "%s", levelName(name))
		if i == len(names)-1 {
			levels.WriteString(" Level = 1 + iota")
		}
		levels.WriteString("\n")
	}
	levels.WriteString(")\n")
	fmt.Fprintf(&rust, "%s/// Every name that may be asked for on any build and of any primitive, best first.\n#[rustfmt::skip]\n"+
		"pub(crate) const NAMES: [&str; %d] = [\n", levelHeader(), len(names))
	for _, name := range names {
		fmt.Fprintf(&rust, "    %q,\n", name)
	}
	rust.WriteString("];\n")
	r.files[rustNames] = rust.Bytes()
	return errors.Join(r.addGo(levelNamesFile, dispatch.Bytes()), r.addGo(levelTypeFile, levels.Bytes()))
}

// addLevelsOfTargets adds the files with the names that each architecture has kernels for. A kernel whose level has no name
// would never be asked for.
func (r *report) addLevelsOfTargets(root string, names []string) error {
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(levelSource)))
	if err != nil {
		return err
	}
	var errs []error
	for _, t := range r.targets {
		found := map[string]bool{portableLevel: true}
		for _, k := range r.kernels {
			if k.target != t {
				continue
			}
			found[k.level()] = true
			if !slices.Contains(names, k.level()) {
				errs = append(errs, fmt.Errorf("%s: %s: known_names of %s has no level %q", k.source, k.name, levelSource, k.level()))
			}
		}
		for _, m := range composed.FindAllSubmatch(source, -1) {
			found[string(m[1])] = found[string(m[1])] || found[string(m[2])] && found[string(m[3])]
		}
		var own []string
		for _, name := range names {
			if found[name] {
				own = append(own, name)
			}
		}
		text := fmt.Sprintf("%spackage dispatch\n\n// levels are the names of the levels of all primitives, best first.\nvar levels = %#v\n", levelHeader(), own)
		errs = append(errs, r.addGo(fmt.Sprintf(levelsFile, t.goarch), []byte(text)))
	}
	return errors.Join(errs...)
}

// addGo adds a Go file.
func (r *report) addGo(name string, text []byte) error {
	formatted, err := format.Source(text)
	r.files[name] = formatted
	return err
}
