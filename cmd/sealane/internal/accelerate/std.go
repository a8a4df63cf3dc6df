package accelerate

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	gobuild "go/build"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The packages of the standard library that are changed. The second reads the schedule of the third.
const (
	stdCipher = "vendor/golang.org/x/crypto/chacha20poly1305"
	stdGCM    = "crypto/internal/fips140/aes/gcm"
	stdAES    = "crypto/internal/fips140/aes"
)

// stdFiles are added to the packages of AES-GCM and AES.
//
//go:embed std/*.txt
var stdFiles embed.FS

// A declaration of the standard library that sealane replaces or relies on. It must exist with this name and type; the
// rest of the file does not matter. Types do not show the byte order of a key schedule, so the program checks that at
// its first key: std/aes_sealane.go.txt.
type declaration struct {
	pkg, name string // for a method with the receiver's type before it
	typ       string // of a function; for a struct its first fields; empty: any
	change    change
}

type change int

const (
	relied change = iota // it is not changed
	taken                // x is renamed to stockX, and ours becomes x
	padded               // gets padding after the first field: kernels expect round keys 16 bytes after the start of a key
	asked                // its file gets sealaneHardware: whether AES instructions expand keys, which tests disable
)

var stdDeclarations = []declaration{
	{stdGCM, "gcmPlatformData", "struct{}", taken},
	{stdGCM, "initGCM", "func(g *GCM)", taken},
	{stdGCM, "seal", "func(out []byte, g *GCM, nonce, plaintext, data []byte)", taken},
	{stdGCM, "open", "func(out []byte, g *GCM, nonce, ciphertext, data []byte) error", taken},
	{stdGCM, "GCM", "struct{ cipher aes.Block; nonceSize, tagSize int; gcmPlatformData }", relied},
	{stdGCM, "gcmTagSize", "", relied},
	{stdGCM, "errOpen", "", relied},
	{stdAES, "cryptBlocksEnc", "func(b *Block, civ *[BlockSize]byte, dst, src []byte)", taken},
	{stdAES, "cryptBlocksDec", "func(b *Block, civ *[BlockSize]byte, dst, src []byte)", taken},
	{stdAES, "CTR.XORKeyStreamAt", "func(dst, src []byte, offset uint64)", taken},
	{stdAES, "CTR", "struct{ b Block; ivlo, ivhi uint64 }", relied},
	{stdAES, "add128", "func(lo, hi, x uint64) (uint64, uint64)", relied},
	{stdAES, "New", "func(key []byte) (*Block, error)", relied},
	{stdAES, "BlockSize", "", relied},
	{stdAES, "Block", "struct{ block }", relied},
	{stdAES, "block", "struct{ blockExpanded }", asked},
	{stdAES, "blockExpanded", "struct{ rounds int; enc, dec [60]uint32 }", padded},
}

func (b *build) std(pkg string) string {
	return filepath.Join(b.env.GOROOT, "src", filepath.FromSlash(pkg))
}

// checkStd returns an error if the standard library cannot be changed.
func (b *build) checkStd() error {
	switch f := b.env.GOFIPS140; {
	case f != "" && f != "off":
		return fmt.Errorf("GOFIPS140=%s asks for a FIPS 140-3 module, and sealane's AES-GCM is not validated: build without --std, or with GOFIPS140=off", f)
	case slices.Contains(strings.Split(b.env.GOEXPERIMENT, ","), "boringcrypto"):
		return errors.New("GOEXPERIMENT=boringcrypto takes AES-GCM from BoringSSL: build without --std, or without the experiment")
	case len(gcmKernels(b.env.GOARCH)) == 0:
		return fmt.Errorf("sealane has no kernel for %s: build without --std", b.env.GOARCH)
	case b.env.GOARCH == "arm64" && !slices.Contains([]string{"linux", "android", "darwin", "ios"}, b.env.GOOS):
		return fmt.Errorf("on %s/arm64 a module finds the CPU's features that the standard library cannot import: build without --std", b.env.GOOS)
	}
	var err error
	if b.stdPatched, err = b.patchStd(); err != nil {
		return fmt.Errorf("sealane cannot change the standard library of %s: %w: build with an older Go (as GOTOOLCHAIN=go1.26.0), with a newer sealane, or without --std",
			b.env.GOVERSION, err)
	}
	return nil
}

// patchStd returns the changed files of the standard library, by package and name.
func (b *build) patchStd() (map[[2]string][]byte, error) {
	patched := map[[2]string][]byte{}
	for _, pkg := range []string{stdGCM, stdAES} {
		if err := b.patchDeclarations(pkg, patched); err != nil {
			return nil, err
		}
	}
	// ChaCha20-Poly1305: New and NewX, as in x/crypto.
	names, err := b.stdSources(stdCipher)
	if err != nil {
		return nil, err
	}
	changed := 0
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(b.std(stdCipher), name))
		if err != nil {
			return nil, err
		}
		content, functions, err := patchFile(name, content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", stdCipher, err)
		}
		if changed += len(functions); len(functions) > 0 {
			patched[[2]string{stdCipher, name}] = content
		}
	}
	if changed != 2 {
		return nil, fmt.Errorf("%s has %d of the functions New and NewX", stdCipher, changed)
	}
	return patched, nil
}

// stdSources returns the names of a package's Go files, including those for other systems, without tests.
func (b *build) stdSources(pkg string) (names []string, err error) {
	entries, err := os.ReadDir(b.std(pkg))
	for _, e := range entries {
		if path.Ext(e.Name()) == ".go" && !strings.HasSuffix(e.Name(), "_test.go") {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// patchDeclarations adds the changed files of a package. Files for other systems may have other declarations; they are
// changed only where they have the same.
func (b *build) patchDeclarations(pkg string, patched map[[2]string][]byte) error {
	names, err := b.stdSources(pkg)
	if err != nil {
		return err
	}
	target := gobuild.Default
	target.GOOS, target.GOARCH, target.CgoEnabled = b.env.GOOS, b.env.GOARCH, false
	found := map[string]bool{}
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(b.std(pkg), name))
		if err != nil {
			return err
		}
		built, err := target.MatchFile(b.std(pkg), name)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, content, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		var edits []edit
		all := declared(file)
		for ident, has := range all {
			d := declarationOf(pkg, has.name)
			if d == nil {
				continue
			}
			if !d.fits(has.typ) {
				if built {
					return fmt.Errorf("%s has %s %s, and sealane knows %s", pkg, d.name, types.ExprString(has.typ), d.typ)
				}
				continue
			}
			found[d.name] = found[d.name] || built
			switch at := func(p token.Pos) int { return files.Position(p).Offset }; d.change {
			case taken:
				edits = append(edits, edit{at(ident.Pos()), at(ident.End()), "stock" + strings.ToUpper(ident.Name[:1]) + ident.Name[1:]})
			case padded:
				end := at(has.typ.(*ast.StructType).Fields.List[0].End())
				edits = append(edits, edit{end, end, "; _ [sealanePad]byte"}) // no new line, so that line numbers do not change
			case asked:
				hardware := "false"
				for _, other := range all {
					if other.name == "supportsAES" {
						hardware = other.name
					}
				}
				edits = append(edits, edit{len(content), len(content), "\nfunc sealaneHardware() bool { return " + hardware + " }\n"})
			}
		}
		if len(edits) > 0 {
			patched[[2]string{pkg, name}] = apply(content, edits)
		}
	}
	for _, d := range stdDeclarations {
		if d.pkg == pkg && !found[d.name] {
			return fmt.Errorf("%s has no %s", pkg, strings.TrimSpace(d.name+" "+d.typ))
		}
	}
	return nil
}

func declarationOf(pkg, name string) *declaration {
	for i, d := range stdDeclarations {
		if d.pkg == pkg && d.name == name {
			return &stdDeclarations[i]
		}
	}
	return nil
}

// An object is a declaration in a file; typ is nil for constants and variables.
type object struct {
	name string
	typ  ast.Expr
}

func declared(file *ast.File) map[*ast.Ident]object {
	all := map[*ast.Ident]object{}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				receiver := d.Recv.List[0].Type
				if star, ok := receiver.(*ast.StarExpr); ok {
					receiver = star.X
				}
				name = types.ExprString(receiver) + "." + name
			}
			all[d.Name] = object{name, d.Type}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					all[s.Name] = object{s.Name.Name, s.Type}
				case *ast.ValueSpec:
					for _, n := range s.Names {
						all[n] = object{n.Name, nil}
					}
				}
			}
		}
	}
	return all
}

// fits reports whether a type matches d.
func (d *declaration) fits(typ ast.Expr) bool {
	if d.typ == "" {
		return typ == nil
	}
	want, err := parser.ParseExpr(d.typ)
	if err != nil {
		panic(err)
	}
	switch want := want.(type) {
	case *ast.FuncType:
		has, ok := typ.(*ast.FuncType)
		return ok && slices.Equal(fields(has.Params, false), fields(want.Params, false)) && slices.Equal(fields(has.Results, false), fields(want.Results, false))
	case *ast.StructType:
		has, ok := typ.(*ast.StructType)
		if !ok {
			return false
		}
		first, all := fields(want.Fields, true), fields(has.Fields, true)
		return len(all) >= len(first) && slices.Equal(all[:len(first)], first)
	}
	panic(d.typ)
}

// fields renders fields individually, with or without their names.
func fields(list *ast.FieldList, named bool) (all []string) {
	if list == nil {
		return nil
	}
	for _, f := range list.List {
		typ := types.ExprString(f.Type)
		if len(f.Names) == 0 {
			all = append(all, typ)
		}
		for _, n := range f.Names {
			if named {
				all = append(all, n.Name+" "+typ)
			} else {
				all = append(all, typ)
			}
		}
	}
	return all
}

// An edit replaces some bytes by a text.
type edit struct {
	from, to int
	text     string
}

func apply(content []byte, edits []edit) []byte {
	slices.SortFunc(edits, func(a, b edit) int { return a.from - b.from })
	var out []byte
	last := 0
	for _, e := range edits {
		out = append(append(out, content[last:e.from]...), e.text...)
		last = e.to
	}
	return append(out, content[last:]...)
}

// linkRoot makes a symbolic link to a GOROOT in the module cache, where GOTOOLCHAIN downloads go. The go command
// cannot replace files in its module cache. The link always has the same path, so that compiled packages are found
// again.
func (b *build) linkRoot() error {
	inside, err := filepath.Rel(b.env.GOMODCACHE, b.env.GOROOT)
	if err != nil || !filepath.IsLocal(inside) {
		return nil
	}
	base := b.scratch
	if cache, err := os.UserCacheDir(); err == nil && os.MkdirAll(filepath.Join(cache, "sealane", "goroot"), 0o700) == nil {
		base = filepath.Join(cache, "sealane", "goroot")
	}
	name := sha256.Sum256([]byte(b.env.GOROOT))
	link := filepath.Join(base, filepath.Base(b.env.GOROOT)+"-"+hex.EncodeToString(name[:4]))
	if to, err := os.Readlink(link); err != nil || to != b.env.GOROOT {
		partial := filepath.Join(b.scratch, "goroot")
		if err := os.Symlink(b.env.GOROOT, partial); err != nil {
			return err
		}
		if err := os.Rename(partial, link); err != nil {
			link = partial // different file system
		}
	}
	b.env.GOROOT = link
	b.program0 = filepath.Join(link, "bin", "go")
	b.environ = append(b.environ, "GOROOT="+link, "GOTOOLCHAIN=local")
	return nil
}

// overlayStd writes the overlay that adds our files to the standard library, together with the user's own overlay.
func (b *build) overlayStd() error {
	replace := map[string]string{}
	if b.userOverlay != "" {
		content, err := os.ReadFile(b.inFolder(b.userOverlay))
		if err != nil {
			return err
		}
		var theirs struct{ Replace map[string]string }
		if err := json.Unmarshal(content, &theirs); err != nil {
			return fmt.Errorf("-overlay=%s: %w", b.userOverlay, err)
		}
		for from, to := range theirs.Replace {
			if to != "" {
				to = b.inFolder(to)
			}
			replace[b.inFolder(from)] = to
		}
	}
	dir := filepath.Join(b.scratch, "std")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	put := func(pkg, name string, content []byte) error {
		file := filepath.Join(dir, path.Base(pkg)+"_"+name)
		replace[filepath.Join(b.std(pkg), name)] = file
		return os.WriteFile(file, content, 0o666)
	}
	if b.job.plantStd != nil {
		b.job.plantStd(b.stdPatched)
	}
	for at, content := range b.stdPatched {
		if err := put(at[0], at[1], content); err != nil {
			return err
		}
	}
	ours, err := stdFiles.ReadDir("std")
	if err != nil {
		return err
	}
	for _, f := range ours {
		content, err := stdFiles.ReadFile("std/" + f.Name())
		if err != nil {
			return err
		}
		pkg := stdAES
		if strings.HasPrefix(f.Name(), "gcm_") {
			pkg = stdGCM
		}
		if err := put(pkg, strings.TrimSuffix(f.Name(), ".txt"), content); err != nil {
			return err
		}
	}
	content, err := json.Marshal(struct{ Replace map[string]string }{replace})
	if err != nil {
		return err
	}
	b.overlay = filepath.Join(b.scratch, "overlay.json")
	return os.WriteFile(b.overlay, content, 0o666)
}

// inFolder makes a path absolute that is relative to the current folder.
func (b *build) inFolder(file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(b.started, file)
}

// gcmKernels is Kernels for AES-GCM.
func gcmKernels(goarch string) []string {
	return kernelsOf("AESGCM", goarch)
}
