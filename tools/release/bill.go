package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The parts of CycloneDX 1.6 that a bill has (https://cyclonedx.org/docs/1.6/json/).
type (
	component struct {
		Type     string    `json:"type"`
		Ref      string    `json:"bom-ref"`
		Name     string    `json:"name"`
		Version  string    `json:"version"`
		Licenses []license `json:"licenses,omitempty"`
		Hashes   []hash    `json:"hashes,omitempty"`
		Purl     string    `json:"purl"`
	}
	license struct {
		Expression string `json:"expression"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	dependency struct {
		Ref  string   `json:"ref"`
		Uses []string `json:"dependsOn,omitempty"`
	}
	document struct {
		Format   string `json:"bomFormat"`
		Spec     string `json:"specVersion"`
		Version  int    `json:"version"`
		Metadata struct {
			Timestamp string    `json:"timestamp"`
			Component component `json:"component"`
		} `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
)

var (
	vendored = regexp.MustCompile(`(?m)^# (\S+) (v\S+)$`)
	locked   = regexp.MustCompile(`(?m)^name = "(.*)"\nversion = "(.*)"\nsource = ".*"\nchecksum = "(.*)"$`)
	treeLine = regexp.MustCompile(`^(\S+) v(\S+)(?: \(.*\))*\|(.*)$`)
)

// bill lists the Go modules and the crates that users of the commands and the crates get. tree has both vendored.
func bill(tree, version, sum string, date time.Time) ([]byte, error) {
	modules, err := os.ReadFile(filepath.Join(tree, "vendor-go/vendor/modules.txt"))
	if err != nil {
		return nil, err
	}
	found := map[string]component{}
	add := func(c component) { c.Type, c.Ref = "library", c.Purl; found[c.Purl] = c }
	for _, m := range vendored.FindAllStringSubmatch(string(modules), -1) {
		add(component{Name: m[1], Version: m[2], Purl: "pkg:golang/" + m[1] + "@" + m[2]})
	}
	checksums := map[string]string{}
	for _, dir := range []string{"rust", "rust/rustls-sealane"} {
		lock, err := os.ReadFile(filepath.Join(tree, dir, "Cargo.lock"))
		if err != nil {
			return nil, err
		}
		for _, m := range locked.FindAllStringSubmatch(string(lock), -1) {
			checksums[m[1]+" "+m[2]] = m[3]
		}
		uses, err := output("cargo", "tree", "--locked", "--manifest-path", filepath.Join(tree, dir, "Cargo.toml"),
			"--edges", "normal", "--target", "all", "--all-features", "--prefix", "none", "--no-dedupe", "--format", "{p}|{l}")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(uses) {
			m := treeLine.FindStringSubmatch(strings.TrimSpace(line))
			if m == nil {
				return nil, fmt.Errorf("cargo tree says %q", line)
			}
			checksum, ok := checksums[m[1]+" "+m[2]]
			if !ok {
				continue // a crate of ours
			}
			add(component{Name: m[1], Version: m[2], Licenses: []license{{strings.ReplaceAll(m[3], "/", " OR ")}},
				Hashes: []hash{{"SHA-256", checksum}}, Purl: "pkg:cargo/" + m[1] + "@" + m[2]})
		}
	}
	var d document
	d.Format, d.Spec, d.Version = "CycloneDX", "1.6", 1
	d.Metadata.Timestamp = date.Format(time.RFC3339)
	d.Metadata.Component = component{Type: "library", Name: "sealane", Version: version, Licenses: []license{{"BSD-3-Clause"}},
		Hashes: []hash{{"SHA-256", sum}}, Purl: "pkg:github/sealane/sealane@v" + version}
	d.Metadata.Component.Ref = d.Metadata.Component.Purl
	uses := slices.Sorted(maps.Keys(found))
	for _, purl := range uses {
		d.Components = append(d.Components, found[purl])
	}
	d.Dependencies = []dependency{{d.Metadata.Component.Purl, uses}}
	text, err := json.MarshalIndent(d, "", "  ")
	return append(text, '\n'), err
}
