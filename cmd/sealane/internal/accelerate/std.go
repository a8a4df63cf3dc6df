package accelerate

import (
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The standard library's packages that are changed. The second reads the schedule of the third.
const (
	stdCipher = "vendor/golang.org/x/crypto/chacha20poly1305"
	stdGCM    = "crypto/internal/fips140/aes/gcm"
	stdAES    = "crypto/internal/fips140/aes"
)

// stdFiles are what is put into the packages of AES-GCM and AES.
//
//go:embed std/*.txt
var stdFiles embed.FS

// A stdVersion is what some releases of Go have in the three packages: the first 12 bytes of SHA-256, as hashFolder makes
// it. Others are refused, since what the replacement relies on may be otherwise there: fields, functions, the order of bytes
// in a key schedule, and the checks before it. TestStdVersions tells when a new release changes them.
type stdVersion struct{ releases, cipher, gcm, aes string }

var stdVersions = []stdVersion{
	{"1.24", "ef5096b00a8fb493743c92e0", "34066ebd4fd1fab7aec62862", "cf5b715a223e34298916f1e9"},
	{"1.25", "ef5096b00a8fb493743c92e0", "34066ebd4fd1fab7aec62862", "d8d12b58368df1bf4137fccb"},
	{"1.26", "79f722bc8b7c905f9dec978d", "9a554bed55610895c4f9d584", "ed8312d84142dd20bb535058"},
	{"1.27", "0bd17ad40a9a2223c1fcc8bf", "697b22497cd54de7abe9e06f", "ed8312d84142dd20bb535058"},
}

func knownReleases() string {
	var names []string
	for _, v := range stdVersions {
		names = append(names, v.releases)
	}
	return strings.Join(names, ", ")
}

// hashFolder names what a package of the standard library is built from: its Go and assembly files.
func hashFolder(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	field := func(p []byte) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		h.Write(p)
	}
	for _, e := range entries {
		if ext := path.Ext(e.Name()); e.IsDir() || ext != ".go" && ext != ".s" || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", err
		}
		field([]byte(e.Name()))
		field(content)
	}
	return hex.EncodeToString(h.Sum(nil)[:12]), nil
}

func (b *build) std(pkg string) string {
	return filepath.Join(b.env.GOROOT, "src", filepath.FromSlash(pkg))
}

// checkStd refuses what the standard library cannot be changed for.
func (b *build) checkStd() error {
	switch f := b.env.GOFIPS140; {
	case f != "" && f != "off":
		return fmt.Errorf("GOFIPS140=%s asks for a FIPS 140-3 module, and sealane's AES-GCM is not validated: build without --std, or with GOFIPS140=off", f)
	case slices.Contains(strings.Split(b.env.GOEXPERIMENT, ","), "boringcrypto"):
		return errors.New("GOEXPERIMENT=boringcrypto takes AES-GCM from BoringSSL: build without --std, or without the experiment")
	case len(gcmKernels(b.env.GOARCH)) == 0:
		return fmt.Errorf("sealane has no kernel for %s: build without --std", b.env.GOARCH)
	case b.env.GOARCH == "arm64" && !slices.Contains([]string{"linux", "android", "darwin", "ios"}, b.env.GOOS):
		return fmt.Errorf("what the CPU has is found out on %s/arm64 by a module that the standard library cannot import: build without --std", b.env.GOOS)
	}
	var has stdVersion
	var err error
	for pkg, hash := range map[string]*string{stdCipher: &has.cipher, stdGCM: &has.gcm, stdAES: &has.aes} {
		if *hash, err = hashFolder(b.std(pkg)); err != nil {
			return fmt.Errorf("the standard library of %s is not as expected: %w; build without --std", b.env.GOVERSION, err)
		}
	}
	if !slices.ContainsFunc(stdVersions, func(v stdVersion) bool {
		return v.cipher == has.cipher && v.gcm == has.gcm && v.aes == has.aes
	}) {
		return fmt.Errorf("the cryptography of %s in %s is not that of any release of Go that this sealane knows (%s): build with one of these (GOTOOLCHAIN=go%s.0), update sealane, or build without --std",
			b.env.GOVERSION, b.env.GOROOT, knownReleases(), stdVersions[len(stdVersions)-1].releases)
	}
	return nil
}

// linkRoot reaches a GOROOT below the module cache, where GOTOOLCHAIN leaves what it fetches, by a symbolic link: the go
// command replaces no files in its module cache. The link has one place, so that what was compiled is found again.
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
			link = partial // on another file system
		}
	}
	b.env.GOROOT = link
	b.program0 = filepath.Join(link, "bin", "go")
	b.environ = append(b.environ, "GOROOT="+link, "GOTOOLCHAIN=local")
	return nil
}

// overlayStd writes the overlay by which the go command sees our files in the standard library. It adds to the user's own.
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
	// AES-GCM and AES: what there is stays, some of it under other names, for CPUs that sealane has no kernel for.
	for _, f := range []struct {
		pkg, name string
		patch     func(name string, content []byte) ([]byte, error)
	}{
		{stdGCM, "gcm_asm.go", renameGCM}, {stdGCM, "gcm_noasm.go", renameGCM},
		{stdAES, "aes.go", patchBlock}, {stdAES, "ctr.go", patchCTR}, {stdAES, "cbc.go", patchCBC},
	} {
		content, err := os.ReadFile(filepath.Join(b.std(f.pkg), f.name))
		if err == nil {
			content, err = f.patch(f.name, content)
		}
		if err == nil {
			err = put(f.pkg, f.name, content)
		}
		if err != nil {
			return fmt.Errorf("%s cannot be replaced: %w", f.pkg, err)
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
	// ChaCha20-Poly1305: New and NewX, as in x/crypto.
	names, err := filepath.Glob(filepath.Join(b.std(stdCipher), "*.go"))
	if err != nil {
		return err
	}
	changed := 0
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		patched, functions, err := patchFile(name, content)
		if err != nil {
			return fmt.Errorf("%s cannot be replaced: %w", stdCipher, err)
		}
		if changed += len(functions); len(functions) > 0 {
			if err := put(stdCipher, filepath.Base(name), patched); err != nil {
				return err
			}
		}
	}
	if changed != 2 {
		return fmt.Errorf("%s cannot be replaced: it has %d of the functions New and NewX", stdCipher, changed)
	}
	content, err := json.Marshal(struct{ Replace map[string]string }{replace})
	if err != nil {
		return err
	}
	b.overlay = filepath.Join(b.scratch, "overlay.json")
	return os.WriteFile(b.overlay, content, 0o666)
}

// renameGCM renames what a file declares for others of its package under names that ours take.
func renameGCM(name string, content []byte) ([]byte, error) {
	return renameStock(name, content, "gcmPlatformData", "initGCM", "seal", "open")
}

// renameStock renames a file's declarations: x becomes stockX.
func renameStock(name string, content []byte, taken ...string) ([]byte, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, content, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []*ast.Ident
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && slices.Contains(taken, d.Name.Name) {
				found = append(found, d.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if t, ok := s.(*ast.TypeSpec); ok && slices.Contains(taken, t.Name.Name) {
					found = append(found, t.Name)
				}
			}
		}
	}
	if len(found) != len(taken) {
		return nil, fmt.Errorf("%s declares %d of the %d names that sealane takes", name, len(found), len(taken))
	}
	var out []byte
	last := 0
	for _, ident := range found {
		at := files.Position(ident.Pos()).Offset
		out = append(append(out, content[last:at]...), "stock"+strings.ToUpper(ident.Name[:1])+ident.Name[1:]...)
		last = at + len(ident.Name)
	}
	return append(out, content[last:]...), nil
}

// patchBlock has a key be where a kernel looks for it: its round keys 16 bytes behind the number of rounds.
func patchBlock(name string, content []byte) ([]byte, error) {
	return patchOnce(name, content, "\ntype blockExpanded struct {\n\trounds int", "; _ [sealanePad]int", "\n")
}

// patchCTR has the loop over eight blocks let sealane do all whole blocks, if it does.
func patchCTR(name string, content []byte) ([]byte, error) {
	return patchOnce(name, content, "\n\tfor len(src) >= 8*BlockSize {",
		" if len(src) >= sealaneCTRLeast() { if n := sealaneCTR(&c.b, dst, src, ivlo, ivhi); n > 0 {"+
			" dst, src = dst[n:], src[n:]; ivlo, ivhi = add128(ivlo, ivhi, uint64(n)/BlockSize); continue } }",
		"\n\t\tctrBlocks8(")
}

// patchCBC has sealane do texts, if it does.
func patchCBC(name string, content []byte) (_ []byte, err error) {
	for _, direction := range []string{"En", "De"} {
		content, err = patchOnce(name, content, "\n\t\treturn\n\t}\n\t",
			"if len(src) >= sealaneLeast && sealane"+direction+"crypt(&c.b, &c.iv, dst, src) { return }; ", "cryptBlocks"+direction+"c(")
		if err != nil {
			return nil, err
		}
	}
	return content, nil
}

// patchOnce inserts a text between two others, which stand together once. It has no new line: lines keep their numbers.
func patchOnce(name string, content []byte, before, insert, behind string) ([]byte, error) {
	if n := strings.Count(string(content), before+behind); n != 1 {
		return nil, fmt.Errorf("%s has %d of the one place that sealane changes", name, n)
	}
	return []byte(strings.Replace(string(content), before+behind, before+insert+behind, 1)), nil
}

// inFolder makes a path absolute that is relative to where we are.
func (b *build) inFolder(file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(b.started, file)
}

// gcmKernels returns the levels of AES-GCM, as Kernels does.
func gcmKernels(goarch string) []string {
	return kernelsOf("AESGCM", goarch)
}
