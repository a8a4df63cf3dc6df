package accelerate

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	source "github.com/sealane/sealane/internal"
)

const wireguardDevice = "golang.zx2c4.com/wireguard/device"

// workersSource is added to wireguard-go's package device.
//
//go:embed workers.go.txt
var workersSource []byte

// workers are wireguard-go's loops that seal and open packets, and the call in each.
var workers = []struct{ file, function, method, constructor string }{
	{"send.go", "RoutineEncryption", "Seal", "newBatchSealer"},
	{"receive.go", "RoutineDecryption", "Open", "newBatchOpener"},
}

// batchWorkers copies the program's wireguard-go, makes the copy's workers pass all available packets to sealane in one
// call, and puts it in the modfile.
func (b *build) batchWorkers(device, fork *module, tests bool) error {
	if device == nil && fork != nil {
		return fmt.Errorf("the workers of %s use each packet as soon as it is sealed, and cannot take batches: build without --batch", forkDevice)
	}
	if device == nil {
		return fmt.Errorf("%s does not use %s, and only its workers can take batches", b.program, wireguardDevice)
	}
	b.workers = versioned(device.Path, device.Version)
	copied, err := moduleSource(device.Dir, tests)
	if err != nil {
		return fmt.Errorf("cannot copy %s: %w", device.Path, err)
	}
	if copied["device/sealane_workers.go"], err = inLanguage(workersSource, source.Go); err != nil {
		return err
	}
	copied["go.mod"] = append(copied["go.mod"], b.require...)
	for _, w := range workers {
		content, err := patchWorker(w.file, copied["device/"+w.file], w.function, w.method, w.constructor)
		if err != nil {
			return fmt.Errorf("this version of %s cannot take batches, build it without --batch: %w", wireguardDevice, err)
		}
		copied["device/"+w.file] = content
	}
	return b.replaceModule(device, copied)
}

// patchWorker changes a worker's loop in four places. The loop creates our worker, receives containers through it,
// and leaves it to process packets and unlock containers.
func patchWorker(name string, content []byte, function, method, constructor string) ([]byte, error) {
	if content == nil {
		return nil, fmt.Errorf("it has no %s", name)
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, content, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	at := func(p token.Pos) int { return files.Position(p).Offset }
	text := func(n ast.Node) string { return string(content[at(n.Pos()):at(n.End())]) }
	type edit struct {
		from, to int
		text     string
	}
	var edits []edit
	replace := func(n ast.Node, with string) { edits = append(edits, edit{at(n.Pos()), at(n.End()), with}) }
	var loops, packets, unlocks int
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != function || f.Body == nil {
			continue
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.RangeStmt:
				if s, ok := n.X.(*ast.SelectorExpr); ok && s.Sel.Name == "c" && n.Key != nil && n.Value == nil {
					loops++
					start := at(f.Body.Lbrace) + 1
					edits = append(edits, edit{start, start, "\n\tsealane := " + constructor + "(" + text(n.X) + ")"})
					next := text(n.Key) + ", more := sealane.next()"
					edits = append(edits, edit{at(n.Key.Pos()), at(n.X.End()), next + "; more; " + strings.Replace(next, ":", "", 1)})
				}
			case *ast.AssignStmt:
				call, ok := n.Rhs[0].(*ast.CallExpr)
				if !ok {
					break
				}
				if s, ok := call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == method && len(call.Args) == 4 {
					packets++
					start := at(call.Pos())
					edits = append(edits, edit{start, at(call.Args[0].Pos()), "sealane.add(&" + text(n.Lhs[0]) + ", " + text(s.X) + ", "})
					if method == "Open" {
						end := at(call.Rparen) + 1
						edits = append(edits, edit{end, end, ", nil"})
					}
				}
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Unlock" {
					unlocks++
					replace(n, "sealane.done("+text(s.X)+")")
				}
			}
			return true
		})
	}
	if loops != 1 || packets != 1 || unlocks != 1 {
		return nil, fmt.Errorf("%s in %s is not the loop that sealane knows", function, name)
	}
	slices.SortFunc(edits, func(a, b edit) int { return a.from - b.from })
	var out bytes.Buffer
	last := 0
	for _, e := range edits {
		out.Write(content[last:e.from])
		out.WriteString(e.text)
		last = e.to
	}
	out.Write(content[last:])
	_, err = parser.ParseFile(token.NewFileSet(), name, out.Bytes(), parser.SkipObjectResolution)
	return out.Bytes(), err
}
