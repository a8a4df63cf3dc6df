package accelerate

import (
	"bytes"
	"fmt"
	"go/build/constraint"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/sealane/sealane"
)

const (
	cryptoModule  = "golang.org/x/crypto"
	cipherPath    = cryptoModule + "/chacha20poly1305"
	sealaneModule = "github.com/sealane/sealane"
	sealaneCipher = sealaneModule + "/chacha20poly1305"
	sealaneKernel = sealaneModule + "/internal/kernel"
	sysModule     = "golang.org/x/sys"
)

// oldestSys is the first tagged version of x/sys, and sealane builds with it.
const oldestSys = "v0.1.0"

// A tree is the files of a module, by their names with slashes.
type tree map[string][]byte

// sealaneSource returns sealane's packages as a module that makes no demands on the program: no newer modules, and no
// newer language version, which would change what the program's own code means.
func sealaneSource() (tree, error) {
	language, err := goDirective()
	if err != nil {
		return nil, err
	}
	t := tree{"go.mod": []byte("module " + sealaneModule + "\n\ngo 1.17\n")}
	err = fs.WalkDir(sealane.Source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || name == "go.mod" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		content, err := sealane.Source.ReadFile(name)
		if err != nil {
			return err
		}
		if path.Ext(name) == ".go" {
			content, err = inLanguage(content, language)
		}
		t[name] = content
		return err
	})
	return t, err
}

// goDirective returns the Go version, like go1.24, that sealane's source is written for.
func goDirective() (string, error) {
	mod, err := sealane.Source.ReadFile("go.mod")
	if err != nil {
		return "", err
	}
	m := regexp.MustCompile(`(?m)^go (1\.\d+)`).FindSubmatch(mod)
	if m == nil {
		return "", fmt.Errorf("no go line in sealane's go.mod")
	}
	return "go" + string(m[1]), nil
}

// inLanguage has a build constraint set the language version of a file, whatever its module says.
func inLanguage(content []byte, version string) ([]byte, error) {
	var out bytes.Buffer
	constrained, header := false, true
	for _, line := range bytes.SplitAfter(content, []byte("\n")) {
		if header && constraint.IsGoBuild(string(line)) {
			expr, err := constraint.Parse(string(bytes.TrimSpace(line)))
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&out, "//go:build (%s) && %s\n", expr, version)
			constrained = true
			continue
		}
		header = header && !bytes.HasPrefix(line, []byte("package "))
		out.Write(line)
	}
	if constrained {
		return out.Bytes(), nil
	}
	return append([]byte("//go:build "+version+"\n\n"), content...), nil
}

// Kernels returns the levels that sealane has assembly for on an architecture, best first.
func Kernels(goarch string) []string {
	var levels []string
	text := regexp.MustCompile(`(?m)^TEXT ·ChaCha20Poly1305(\w+)\(SB\)`)
	for _, level := range []string{"avx512", "avx512vl", "avx2", "ssse3", "neon6", "neon", "armv6"} {
		names, _ := fs.Glob(sealane.Source, "internal/kernel/*_"+goarch+".s")
		for _, name := range names {
			content, err := sealane.Source.ReadFile(name)
			if err != nil {
				continue
			}
			for _, m := range text.FindAllSubmatch(content, -1) {
				if strings.EqualFold(string(m[1]), level) {
					levels = append(levels, level)
				}
			}
		}
	}
	return levels
}
