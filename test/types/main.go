// Command types checks the types of packages for another system. This takes a tenth of the time of compiling, because
// the function bodies of imported packages are left out.
//
//	go run ./test/types GOOS/GOARCH PACKAGE...
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A listed package is one entry in the output of go list.
type listed struct {
	Dir, ImportPath string
	GoFiles         []string
	ImportMap       map[string]string
	DepOnly         bool
	Module          *struct{ GoVersion string }
	Error           *struct{ Err string }
}

// checked has the packages by their import paths. It resolves imports for a package that has an import map.
type checked map[string]*types.Package

type importer struct {
	checked
	mapped map[string]string
}

func (i importer) Import(path string) (*types.Package, error) {
	if to, ok := i.mapped[path]; ok {
		path = to
	}
	if p := i.checked[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("no package %s", path)
}

// check returns how many of the packages named were checked.
func check(system, processor string, patterns []string) (named int, err error) {
	sizes := types.SizesFor("gc", processor)
	if sizes == nil {
		return 0, fmt.Errorf("no processor %q", processor)
	}
	list := exec.Command("go", append([]string{"list", "-deps", "-json=Dir,ImportPath,GoFiles,ImportMap,DepOnly,Module,Error"}, patterns...)...)
	list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor)
	list.Stderr = os.Stderr
	out, err := list.StdoutPipe()
	if err == nil {
		err = list.Start()
	}
	if err != nil {
		return 0, err
	}
	files, packages := token.NewFileSet(), checked{"unsafe": types.Unsafe}
	var wrong []error
	for decoder := json.NewDecoder(out); ; {
		var p listed
		if err := decoder.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return 0, err
		}
		if p.Error != nil {
			wrong = append(wrong, errors.New(p.Error.Err))
		}
		if !p.DepOnly {
			named++
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		config := types.Config{Importer: importer{packages, p.ImportMap}, Sizes: sizes, IgnoreFuncBodies: p.DepOnly,
			Error: func(err error) { wrong = append(wrong, err) }}
		if p.Module != nil && p.Module.GoVersion != "" {
			config.GoVersion = "go" + p.Module.GoVersion
		}
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				wrong = append(wrong, err)
				continue
			}
			parsed = append(parsed, file)
		}
		packages[p.ImportPath], _ = config.Check(p.ImportPath, files, parsed, nil) // its errors are in wrong
	}
	return named, errors.Join(append(wrong, list.Wait())...)
}

func main() {
	system, processor, ok := "", "", len(os.Args) > 2
	if ok {
		system, processor, ok = strings.Cut(os.Args[1], "/")
	}
	if !ok {
		fmt.Fprintln(os.Stderr, "usage: types GOOS/GOARCH PACKAGE...")
		os.Exit(2)
	}
	n, err := check(system, processor, os.Args[2:])
	if err != nil || n == 0 {
		fmt.Fprintf(os.Stderr, "types: %s: %d packages: %v\n", os.Args[1], n, err)
		os.Exit(1)
	}
	fmt.Printf("%s: the types of %d packages are right\n", os.Args[1], n)
}
