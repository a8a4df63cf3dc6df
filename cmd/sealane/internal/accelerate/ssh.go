package accelerate

import (
	_ "embed"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"strings"

	source "github.com/sealane/sealane/internal"
)

const sshPath = cryptoModule + "/ssh"

// sshFile is the file of x/crypto that contains the cipher.
const sshFile = "ssh/cipher.go"

// sshSource is added to x/crypto's package ssh.
//
//go:embed ssh.go.txt
var sshSource []byte

// sshDeclarations implement chacha20-poly1305@openssh.com in x/crypto/ssh: two methods whose calls change. Their
// handling of lengths, padding and errors is not changed.
var sshDeclarations = []declaration{
	{"", "chacha20Poly1305Cipher", "struct{ lengthKey, contentKey [32]byte }", relied},
	{"", "chacha20Poly1305Cipher.readCipherPacket", "func(seqNum uint32, r io.Reader) ([]byte, error)", taken},
	{"", "chacha20Poly1305Cipher.writeCipherPacket", "func(seqNum uint32, w io.Writer, rand io.Reader, payload []byte) error", taken},
}

// patchSSH makes SSH's ChaCha20-Poly1305 call sealane. An error is the reason why this release's cipher is not
// replaced.
func (t tree) patchSSH() error {
	content, ok := t[sshFile]
	if !ok {
		return errors.New("it has no " + sshFile)
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, sshFile, content, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	imported := map[string]bool{}
	for _, i := range file.Imports {
		imported[strings.Trim(i.Path.Value, `"`)] = i.Name == nil
	}
	for _, pkg := range []string{streamPath, cryptoModule + "/internal/poly1305"} {
		if !imported[pkg] {
			return fmt.Errorf("%s does not import %s by its own name", sshFile, pkg)
		}
	}
	all := declared(file)
	var edits []edit
	for i := range sshDeclarations {
		d := &sshDeclarations[i]
		var has *ast.Ident
		for ident, o := range all {
			if o.name == d.name {
				has = ident
			}
		}
		if has == nil || !d.fits(all[has].typ) {
			return fmt.Errorf("%s has no %s %s", sshFile, d.name, d.typ)
		}
		if d.change != taken {
			continue
		}
		for _, f := range file.Decls {
			if f, ok := f.(*ast.FuncDecl); ok && f.Name == has {
				calls, err := sshCalls(f)
				if err != nil {
					return fmt.Errorf("%s in %s %w", d.name, sshFile, err)
				}
				for n, with := range calls {
					edits = append(edits, edit{files.Position(n.Pos()).Offset, files.Position(n.End()).Offset, with})
				}
			}
		}
	}
	// Keeps the imports in use.
	edits = append(edits, edit{len(content), len(content), "\nvar _ chacha20.Cipher\n\nconst _ = poly1305.TagSize\n"})
	t[sshFile] = apply(content, edits)
	t[path.Dir(sshFile)+"/sealane.go"], err = inLanguage(sshSource, source.Go)
	return err
}

// sshCalls returns the replacements of a method's calls. The method must make two streams from the halves of the key
// and take the one-time key from the start of the second half's stream. It must use that key for one sum, and do
// nothing else.
func sshCalls(f *ast.FuncDecl) (map[ast.Node]string, error) {
	if f.Body == nil || len(f.Recv.List[0].Names) != 1 {
		return nil, errors.New("has no body, or no name for its receiver")
	}
	c := f.Recv.List[0].Names[0].Name
	calls := map[ast.Node]string{}
	streams := map[string]string{} // by name of the key
	var sums, oneTime []string
	strange := ""
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if call, ok := n.Rhs[0].(*ast.CallExpr); ok && types.ExprString(call.Fun) == "chacha20.NewUnauthenticatedCipher" && len(call.Args) == 2 && len(n.Lhs) == 2 {
				streams[types.ExprString(call.Args[0])] = types.ExprString(n.Lhs[0])
			}
		case *ast.CallExpr:
			switch name := types.ExprString(n.Fun); name {
			case "chacha20.NewUnauthenticatedCipher":
				calls[n.Fun] = "sealaneNewStream"
			case "poly1305.Sum", "poly1305.Verify":
				if len(n.Args) == 3 {
					calls[n.Fun] = strings.TrimPrefix(name, "poly1305")
					sums = append(sums, types.ExprString(n.Args[2]))
				}
			default:
				if stream, ok := strings.CutSuffix(name, ".XORKeyStream"); ok && len(n.Args) == 2 && stream == streams[c+".contentKey[:]"] && len(oneTime) < 2 {
					oneTime = append(oneTime, types.ExprString(n.Args[0]), types.ExprString(n.Args[1]))
				}
			}
		case *ast.SelectorExpr:
			name := types.ExprString(n)
			if pkg, _, _ := strings.Cut(name, "."); (pkg == "chacha20" || pkg == "poly1305") && calls[n] == "" && name != "poly1305.TagSize" {
				strange = name
			}
		}
		return true
	})
	stream := streams[c+".contentKey[:]"]
	switch {
	case strange != "":
		return nil, fmt.Errorf("uses %s", strange)
	case len(streams) != 2 || stream == "" || streams[c+".lengthKey[:]"] == "" || len(calls) != 3:
		return nil, errors.New("does not make one stream of each key")
	case len(sums) != 1 || len(oneTime) != 2 || sums[0] != "&"+strings.TrimSuffix(oneTime[0], "[:]") || oneTime[0] != oneTime[1]:
		return nil, errors.New("does not take the key of its one sum from the beginning of a stream")
	}
	for n, with := range calls {
		if strings.HasPrefix(with, ".") {
			calls[n] = stream + with
		}
	}
	return calls, nil
}
