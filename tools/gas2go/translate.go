package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// report is the outcome of translating everything.
type report struct {
	root    string
	targets []*target
	layout  *layout
	kernels []translated
	files   map[string][]byte // by slash-separated name relative to root
	notRun  []string          // what could not be checked because a tool is missing
	skipped bool              // a whole target was not run
	ungated bool              // isa lines were not enforced
	differ  []error           // where assemblers disagree; the first one's code is taken, for work in progress, but it is an error
	ran     map[*target]bool
}

type translated struct {
	*kernel
	target *target
}

func (k translated) primitive() string { return primitive(k.name) }

// primitive is a kernel's name without prefix and level.
func primitive(kernel string) string {
	name := strings.TrimPrefix(kernel, cPrefix)
	if i := strings.LastIndexByte(name, '_'); i > 0 {
		return name[:i]
	}
	return name
}

const (
	outputDir     = "internal/kernel"
	outputPackage = "kernel"
	offsetsFile   = outputDir + "/offsets.go"
)

// translate assembles, checks and translates all kernels under root.
func translate(root string, targets []*target) (*report, error) {
	l, err := readLayout(root)
	if err != nil {
		return nil, err
	}
	offsets, err := l.offsets()
	if err != nil {
		return nil, err
	}
	r := &report{root: root, targets: targets, layout: l, files: map[string][]byte{offsetsFile: offsets}, ran: make(map[*target]bool)}
	var errs []error
	for _, t := range targets {
		errs = append(errs, r.translateTarget(t))
	}
	return r, errors.Join(errs...)
}

func (r *report) translateTarget(t *target) error {
	dir := "asm/" + t.isa
	sources, err := filepath.Glob(filepath.Join(r.root, filepath.FromSlash(dir), "*.S"))
	if err != nil || len(sources) == 0 {
		r.ran[t] = err == nil
		return err
	}
	assemblers, noAssembler := t.assemblers()
	disassemblers, noDisassembler := t.disassemblers()
	for _, m := range append(noAssembler, noDisassembler...) {
		r.notRun = append(r.notRun, fmt.Sprintf("%s: with %s: not installed", t.goarch, m))
	}
	if len(assemblers) == 0 || len(disassemblers) == 0 {
		r.skipped = true
		r.notRun = append(r.notRun, t.goarch+": nothing was assembled or checked")
		return nil
	}
	if !assemblers[0].gnu {
		r.notRun = append(r.notRun, t.goarch+": isa lines, which only GNU as enforces")
		r.ungated = true
	}
	r.ran[t] = true
	var kernels []*kernel
	var errs []error
	for _, file := range sources {
		source := dir + "/" + filepath.Base(file)
		found, differ, err := t.kernels(file, source, assemblers, disassemblers, r.layout)
		if differ != nil {
			r.differ = append(r.differ, differ)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		text, err := t.assembly(source, found, r.layout)
		if err != nil {
			return err
		}
		base := strings.TrimSuffix(path.Base(source), ".S")
		r.files[outputDir+"/"+base+"_"+t.goarch+".s"] = text
		kernels = append(kernels, found...)
	}
	for _, k := range kernels {
		r.kernels = append(r.kernels, translated{k, t})
	}
	if len(kernels) > 0 {
		text, err := t.declarations(kernels, dir, outputPackage)
		if err != nil {
			return err
		}
		r.files[outputDir+"/kernels_"+t.goarch+".go"] = text
		if text, err = t.testTable(kernels, dir, outputPackage); err != nil {
			return err
		}
		r.files[outputDir+"/kernels_"+t.goarch+"_test.go"] = text
	}
	return errors.Join(errs...)
}

var isaLine = regexp.MustCompile(`(?m)^[ \t]*isa[ \t]+([a-z0-9_., \t]+?)[ \t]*(?:/\*.*)?$`)

// kernels assembles one .S with all assemblers and checks what comes out. It says apart where the assemblers differ.
func (t *target) kernels(file, source string, assemblers []assembler, disassemblers []disassembler, l *layout) (found []*kernel, differ, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	isa := isaLine.FindAllSubmatch(text, -1)
	if len(isa) != 1 {
		return nil, nil, fmt.Errorf("%s: has %d lines \"isa .extension, ...\", want one", source, len(isa))
	}
	var first *object
	for i, as := range assemblers {
		o, err := t.assemble(as, file)
		if err != nil {
			return nil, nil, err
		}
		if i == 0 {
			first = o
			var errs []error
			for _, f := range o.functions {
				errs = append(errs, t.check(f, disassemblers, l))
			}
			if err := errors.Join(errs...); err != nil {
				return nil, nil, fmt.Errorf("%s:\n%w", source, err)
			}
			continue
		}
		for _, f := range o.functions { // for the message only; the bytes decide
			if f.body, err = t.decode(disassemblers[0], f.code); err != nil {
				return nil, nil, fmt.Errorf("%s, by %s: %s: %w", source, as.name, f.name, err)
			}
		}
		if d := t.difference(first, o, assemblers[0].name, as.name); d != "" {
			differ = fmt.Errorf("%s: %s", source, d)
		}
	}
	found, err = pair(first, source, extensionNames(string(isa[0][1])))
	return found, differ, err
}

// extensionNames makes "sse4.1 aes" of ".sse4.1, .aes".
func extensionNames(list string) string {
	names := strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(", \t", r) })
	for i, name := range names {
		names[i] = strings.TrimPrefix(name, ".")
	}
	return strings.Join(names, " ")
}

// pair gives each function its constants.
func pair(o *object, source, extensions string) ([]*kernel, error) {
	constants := make(map[string]*constants)
	for _, c := range o.constants {
		constants[c.name] = c
	}
	var kernels []*kernel
	for _, f := range o.functions {
		if !strings.HasPrefix(f.name, cPrefix) {
			return nil, fmt.Errorf("%s: %s: the name must start with %s", source, f.name, cPrefix)
		}
		kernels = append(kernels, &kernel{function: f, source: source, extensions: extensions, constants: constants[f.name+constantsSuffix]})
		delete(constants, f.name+constantsSuffix)
	}
	for name := range constants {
		return nil, fmt.Errorf("%s: %s: constants of no function (want FUNCTION%s)", source, name, constantsSuffix)
	}
	return kernels, nil
}

// names returns the generated files' names, sorted.
func (r *report) names() []string {
	names := make([]string, 0, len(r.files))
	for name := range r.files {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// stale returns the generated files that lie in the output directory without a source, but for targets not run.
func (r *report) stale() ([]string, error) {
	var stale []string
	for _, t := range r.targets {
		if !r.ran[t] {
			continue
		}
		for _, form := range []string{"*_" + t.goarch + ".s", "kernels_" + t.goarch + "*.go"} {
			found, err := filepath.Glob(filepath.Join(r.root, filepath.FromSlash(outputDir), form))
			if err != nil {
				return nil, err
			}
			for _, file := range found {
				name := outputDir + "/" + filepath.Base(file)
				text, err := os.ReadFile(file)
				if err != nil {
					return nil, err
				}
				if r.files[name] == nil && strings.HasPrefix(string(text), "// Code generated by tools/gas2go ") {
					stale = append(stale, name)
				}
			}
		}
	}
	return stale, nil
}
