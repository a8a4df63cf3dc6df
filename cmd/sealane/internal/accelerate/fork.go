package accelerate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"

	source "github.com/sealane/sealane/internal"
)

// forkDevice is the package of tailscale's wireguard-go that seals and opens packets. On architectures with assembly,
// it takes the cipher from its own package tsasm; otherwise from x/crypto.
const forkDevice = "github.com/tailscale/wireguard-go/device"

// forkConstructor is its function that makes the cipher. Files named aead_*.go have one for each architecture.
const forkConstructor = "chacha20poly1305New"

// plainConstructor always uses x/crypto, which calls sealane.
const plainConstructor = `package device

import (
	"crypto/cipher"

	"golang.org/x/crypto/chacha20poly1305"
)

func chacha20poly1305New(key []byte) (cipher.AEAD, error) { return chacha20poly1305.New(key) }
`

// replaceFork copies the program's tailscale/wireguard-go, makes it use x/crypto's cipher on every architecture, and
// puts the copy in the modfile.
func (b *build) replaceFork(device *module, tests bool) error {
	if device == nil {
		return nil
	}
	copied, err := moduleSource(device.Dir, tests)
	if err != nil {
		return fmt.Errorf("cannot copy %s: %w", device.Path, err)
	}
	changed, err := copied.patchFork()
	if err != nil {
		return fmt.Errorf("this version of %s cannot be replaced: %w", device.Path, err)
	}
	if !changed {
		return nil
	}
	b.fork = versioned(device.Path, device.Version)
	return b.replaceModule(device, copied)
}

// patchFork reports whether it changed anything.
func (t tree) patchFork() (changed bool, err error) {
	var constructors []string
	uses := false
	for name, content := range t {
		if path.Dir(name) != "device" || path.Ext(name) != ".go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, content, parser.SkipObjectResolution)
		if err != nil {
			return false, err
		}
		tsasm := slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return strings.Contains(i.Path.Value, "/tsasm/") })
		if strings.HasSuffix(name, "_test.go") {
			if tsasm {
				delete(t, name) // it tests the removed choice
			}
			continue
		}
		uses = uses || tsasm
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == forkConstructor {
				constructors = append(constructors, name)
			}
		}
	}
	switch {
	case !uses:
		return false, nil
	case len(constructors) == 0:
		return false, fmt.Errorf("it uses tsasm, but has no function %s", forkConstructor)
	}
	for _, name := range constructors {
		if !strings.HasPrefix(path.Base(name), "aead_") {
			return false, fmt.Errorf("it has %s in %s, together with other code", forkConstructor, name)
		}
		delete(t, name)
	}
	t["device/aead_sealane.go"], err = inLanguage([]byte(plainConstructor), source.Go)
	return true, err
}
