package accelerate

import (
	"bytes"
	"fmt"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"

	source "github.com/sealane/sealane/internal"
	"github.com/sealane/sealane/internal/dispatch"
)

const (
	cryptoModule  = "golang.org/x/crypto"
	cipherPath    = cryptoModule + "/chacha20poly1305"
	sealaneModule = "github.com/sealane/sealane"
	sealaneCipher = sealaneModule + "/chacha20poly1305"
	streamPath    = cryptoModule + "/chacha20"
	sealaneStream = sealaneModule + "/chacha20"
	sealaneKernel = sealaneModule + "/internal/kernel"
	sysModule     = "golang.org/x/sys"
)

// oldestSys is the first tagged version of x/sys. sealane builds with it.
const oldestSys = "v0.1.0"

// A tree is the files of a module, by their slash-separated names.
type tree map[string][]byte

// Public packages of the module that programs are built with: only those that the copies of x/crypto and wireguard-go
// call.
var publicPackages = map[string]string{
	"chacha20poly1305/chacha20poly1305.go": `// Package chacha20poly1305 takes the place of golang.org/x/crypto's in programs of sealane build.
package chacha20poly1305

import (
	"crypto/cipher"

	"github.com/sealane/sealane/internal/aead"
	"github.com/sealane/sealane/internal/kernel"
)

// New returns ChaCha20-Poly1305, or nil if the caller's own is to be used: on CPUs without a sealane kernel, or if
// the environment disables sealane.
func New(key []byte) (cipher.AEAD, error) {
	level, err := aead.ChaCha20Poly1305Level()
	if err != nil || level == kernel.Portable {
		return nil, nil
	}
	return aead.NewChaCha20Poly1305(level, key)
}

// NewX does the same for XChaCha20-Poly1305.
func NewX(key []byte) (cipher.AEAD, error) {
	level, err := aead.ChaCha20Poly1305Level()
	if err != nil || level == kernel.Portable {
		return nil, nil
	}
	return aead.NewXChaCha20Poly1305(level, key)
}
`,
	"chacha20/chacha20.go": `// Package chacha20 is called by golang.org/x/crypto/chacha20 in programs of sealane build.
package chacha20

import "github.com/sealane/sealane/internal/keystream"

// XOR adds key stream to whole blocks, and reports whether it did.
func XOR(key *[8]uint32, nonce *[3]uint32, counter uint32, dst, src []byte) bool {
	return keystream.XOR(key, nonce, counter, dst, src)
}
`,
	"openssh/openssh.go": `// Package openssh is called by golang.org/x/crypto/ssh in programs of sealane build.
package openssh

import "github.com/sealane/sealane/internal/keystream"

// A Stream is the key stream of a packet, with the one-time key of its tag.
type Stream = keystream.Stream
`,
	"batch/batch.go": `// Package batch is called by the workers of wireguard-go in programs of sealane build --batch.
package batch

import "github.com/sealane/sealane/internal/aead"

// An Op is one packet.
type Op = aead.Op

// SealBatch seals packets.
func SealBatch(ops []Op) { aead.SealBatch(ops) }

// OpenBatch opens packets, and returns how many are authentic.
func OpenBatch(ops []Op) int { return aead.OpenBatch(ops) }
`,
}

// sealaneSource returns sealane's packages as a module without requirements on the program. It requires neither newer
// modules nor a newer language version, which would change the meaning of the program's code.
func sealaneSource() (tree, error) {
	license, err := source.Internal.ReadFile("LICENSE")
	if err != nil {
		return nil, err
	}
	t := tree{"go.mod": []byte("module " + sealaneModule + "\n\ngo 1.17\n"), "LICENSE": license}
	for name, content := range publicPackages {
		if t[name], err = inLanguage([]byte(content), source.Go); err != nil {
			return nil, err
		}
	}
	if err := t.addInternal("aead"); err != nil {
		return nil, err
	}
	if err := t.addInternal("keystream"); err != nil {
		return nil, err
	}
	// The standard library's packages are below crypto, which cannot import internal packages of another module.
	for _, pkg := range []string{"gcm", "modes"} {
		if err := t.addInternal(pkg); err != nil {
			return nil, err
		}
		file := pkg + "/" + pkg + ".go"
		t[file] = t["internal/"+file]
		delete(t, "internal/"+file)
	}
	return t, nil
}

// addInternal adds one of sealane's internal packages, and the internal packages that it imports.
func (t tree) addInternal(pkg string) error {
	files, err := fs.ReadDir(source.Internal, pkg)
	if err != nil {
		return err
	}
	for _, f := range files {
		name := path.Join(pkg, f.Name())
		if f.IsDir() || strings.HasSuffix(name, "_test.go") || t["internal/"+name] != nil {
			continue
		}
		content, err := source.Internal.ReadFile(name)
		if err != nil {
			return err
		}
		var imported []string
		if path.Ext(name) == ".go" {
			if imported, err = internalImports(name, content); err != nil {
				return err
			}
			if content, err = inLanguage(content, source.Go); err != nil {
				return err
			}
		}
		t["internal/"+name] = content
		for _, other := range imported {
			if err := t.addInternal(other); err != nil {
				return err
			}
		}
	}
	return nil
}

// internalImports returns the folders below internal that a file imports.
func internalImports(name string, content []byte) (folders []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, content, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	for _, i := range file.Imports {
		imported, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return nil, err
		}
		if folder, ok := strings.CutPrefix(imported, sealaneModule+"/internal/"); ok {
			folders = append(folders, folder)
		}
	}
	return folders, nil
}

// inLanguage adds a build constraint that sets the language version of a file, independent of its module.
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

// streamReplaced reports whether x/crypto's plain ChaCha20 is replaced: where it has no assembly, and sealane has.
func streamReplaced(goarch string) bool { return goarch == "amd64" || goarch == "arm" }

// Kernels returns the levels for which sealane has assembly on an architecture, best first.
func Kernels(goarch string) []string {
	return kernelsOf("ChaCha20Poly1305", goarch)
}

func kernelsOf(primitive, goarch string) (levels []string) {
	found := map[string]bool{}
	names, _ := fs.Glob(source.Internal, "kernel/*_"+goarch+".s")
	begin := []byte("\nTEXT ·" + primitive)
	for _, name := range names {
		content, err := source.Internal.ReadFile(name)
		if err != nil {
			continue
		}
		for {
			at := bytes.Index(content, begin)
			if at < 0 {
				break
			}
			content = content[at+len(begin):]
			level, _, _ := bytes.Cut(content, []byte("(SB)"))
			found[strings.ToLower(string(level))] = true
		}
	}
	for _, level := range dispatch.AllLevels() {
		if found[level] {
			levels = append(levels, level)
		}
	}
	return levels
}
