package accelerate

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// cryptoSource returns the x/crypto in dir, with its ChaCha20-Poly1305 calling sealane. With ours, its plain ChaCha20
// and SSH's cipher call sealane too. ours is false if the program itself requires sealane, whose packages must not be
// changed. kept is the reason why SSH's cipher is not replaced.
func cryptoSource(dir string, tests, ours bool) (t tree, kept, err error) {
	if t, err = moduleSource(dir, tests); err != nil {
		return nil, nil, fmt.Errorf("cannot copy %s: %w", cryptoModule, err)
	}
	kept = errors.New("the program requires sealane itself")
	if ours {
		kept = t.patchSSH()
	}
	return t, kept, t.patch(ours)
}

// moduleSource returns the module in dir.
func moduleSource(dir string, tests bool) (tree, error) {
	t := tree{}
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if entry.IsDir() {
			if name == "." {
				return nil
			}
			base := entry.Name()
			_, nested := os.Stat(filepath.Join(file, "go.mod"))
			if base == "testdata" && !tests || strings.HasPrefix(base, ".") || nested == nil {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || strings.HasSuffix(name, "_test.go") && !tests {
			return nil
		}
		t[name], err = os.ReadFile(file)
		return err
	})
	return t, err
}

// patch makes New and NewX call sealane. The rest of the package, including its checks, stays unchanged. With ours,
// plain ChaCha20 calls sealane too, in versions whose state is known.
func (t tree) patch(ours bool) error {
	found := false
	if name := "chacha20/chacha_noasm.go"; ours && t.knownStream() {
		if patched, ok := patchStream(name, t[name]); ok {
			t[name] = patched
		}
	}
	for name, content := range t {
		if path.Dir(name) != "chacha20poly1305" || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		patched, functions, err := patchFile(name, content)
		if err != nil {
			return fmt.Errorf("this version of %s cannot be replaced: %w", cipherPath, err)
		}
		t[name] = patched
		found = found || slices.Contains(functions, "New")
	}
	if !found {
		return fmt.Errorf("this version of %s cannot be replaced: it has no function New", cipherPath)
	}
	return nil
}

// patchFile makes New and NewX call sealane after their initial argument checks, and returns which of them it found.
// The original code remains for CPUs without a kernel. The calls go through functions that the linker keeps if and only
// if the program calls them.
func patchFile(name string, content []byte) (patched []byte, functions []string, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, content, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	at := func(p token.Pos) int { return files.Position(p).Offset }
	var out bytes.Buffer
	var markers strings.Builder
	last := 0
	insert := func(p token.Pos, text string) {
		out.Write(content[last:at(p)])
		out.WriteString(text)
		last = at(p)
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Name.Name != "New" && f.Name.Name != "NewX" {
			continue
		}
		key, err := parameter(f)
		if err != nil {
			return nil, nil, err
		}
		body := f.Body.List
		for len(body) > 0 && isCheck(body[0]) {
			body = body[1:]
		}
		if len(body) == 0 {
			return nil, nil, fmt.Errorf("%s does nothing that sealane understands", f.Name.Name)
		}
		if len(functions) == 0 {
			insert(file.Name.End(), "; import sealane "+strconv.Quote(sealaneCipher))
		}
		insert(body[0].Pos(), fmt.Sprintf("if c, err := sealane%s(%s); c != nil || err != nil { return c, err }; ", f.Name.Name, key))
		results := content[at(f.Type.Results.Pos()):at(f.Type.Results.End())]
		fmt.Fprintf(&markers, "\n//go:noinline\nfunc sealane%s(key []byte) %s { return sealane.%[1]s(key) }\n", f.Name.Name, results)
		functions = append(functions, f.Name.Name)
	}
	if len(functions) == 0 {
		return content, nil, nil
	}
	out.Write(content[last:])
	out.WriteString(markers.String())
	if _, err := parser.ParseFile(token.NewFileSet(), name, out.Bytes(), parser.SkipObjectResolution); err != nil {
		return nil, nil, err
	}
	return out.Bytes(), functions, nil
}

// streamFields are the fields that the state of x/crypto's plain ChaCha20 must have.
var streamFields = map[string]string{"key": "[8]uint32", "counter": "uint32", "nonce": "[3]uint32"}

// knownStream reports whether the state of x/crypto's plain ChaCha20 has the known fields.
func (t tree) knownStream() bool {
	file, err := parser.ParseFile(token.NewFileSet(), "chacha_generic.go", t["chacha20/chacha_generic.go"], parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	known := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != "Cipher" {
			return true
		}
		if state, ok := spec.Type.(*ast.StructType); ok {
			for _, f := range state.Fields.List {
				if want := streamFields[f.Names[0].Name]; len(f.Names) == 1 && want != "" && types.ExprString(f.Type) == want {
					known++
				}
			}
		}
		return false
	})
	return known == len(streamFields)
}

// patchStream makes the method for whole blocks call sealane, on architectures where it has no assembly.
func patchStream(name string, content []byte) ([]byte, bool) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, content, parser.SkipObjectResolution)
	if err != nil {
		return nil, false
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != "xorKeyStreamBlocks" || f.Recv == nil || f.Type.Params.NumFields() != 2 {
			continue
		}
		name, body := files.Position(file.Name.End()).Offset, files.Position(f.Body.Lbrace).Offset+1
		signature := string(content[files.Position(f.Pos()).Offset:body])
		if signature != "func (s *Cipher) xorKeyStreamBlocks(dst, src []byte) {" {
			return nil, false
		}
		var out bytes.Buffer
		out.Write(content[:name])
		out.WriteString("; import sealane " + strconv.Quote(sealaneStream))
		out.Write(content[name:body])
		out.WriteString(" if sealaneXOR(&s.key, &s.nonce, s.counter, dst, src) { s.counter += uint32(len(src) / 64); return };")
		out.Write(content[body:])
		out.WriteString("\n//go:noinline\nfunc sealaneXOR(key *[8]uint32, nonce *[3]uint32, counter uint32, dst, src []byte) bool {\n" +
			"\treturn sealane.XOR(key, nonce, counter, dst, src)\n}\n")
		return out.Bytes(), true
	}
	return nil, false
}

// parameter returns the name of the parameter in func(key []byte) (cipher.AEAD, error).
func parameter(f *ast.FuncDecl) (string, error) {
	p, r := f.Type.Params, f.Type.Results
	if p.NumFields() == 1 && len(p.List[0].Names) == 1 && r.NumFields() == 2 && f.Body != nil {
		return p.List[0].Names[0].Name, nil
	}
	return "", errors.New("its " + f.Name.Name + " is not func(key []byte) (cipher.AEAD, error)")
}

// isCheck reports whether s is an if statement that returns.
func isCheck(s ast.Stmt) bool {
	i, ok := s.(*ast.IfStmt)
	if !ok || i.Else != nil || len(i.Body.List) == 0 {
		return false
	}
	_, ok = i.Body.List[len(i.Body.List)-1].(*ast.ReturnStmt)
	return ok
}
