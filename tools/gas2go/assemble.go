package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// object is an assembled .S file.
type object struct {
	functions []*function
	constants []*constants
}

// scratchEndSymbol has the value of a file's scratch_end statement.
const scratchEndSymbol = cPrefix + "scratch_end"

type function struct {
	name string
	code []byte
	body []instruction // see decode

	scratchEnd int // of the scratch memory that it uses, as its file states; 0 if it states nothing
}

type constants struct {
	name string
	data []byte
}

// assembler is an installed program that turns a .S into an object.
type assembler struct {
	name    string
	command []string
	gnu     bool // switches extensions off, so the one that enforces the isa line
}

// assemblers returns the installed assemblers for t, GNU as first, and a line for each missing one.
func (t *target) assemblers() (found []assembler, missing []string) {
	for _, name := range t.gnu {
		if drivesGNU(name, t.isa) {
			found = append(found, assembler{"GNU as", append([]string{name, "-Wa,--fatal-warnings"}, t.gnuOptions...), true})
			break
		}
	}
	if found == nil {
		missing = append(missing, "GNU as for "+t.isa+" (one of "+strings.Join(t.gnu, ", ")+")")
	}
	if path, err := exec.LookPath(t.clang[0]); err == nil {
		found = append(found, assembler{"clang", append([]string{path}, append(t.clang[1:], "-fintegrated-as")...), false})
	} else {
		missing = append(missing, "clang")
	}
	return found, missing
}

// drivesGNU reports whether a compiler driver of that name is installed, makes ELF code for isa and calls GNU as.
func drivesGNU(name, isa string) bool {
	path, err := exec.LookPath(name)
	if err != nil {
		return false
	}
	machine, err := exec.Command(path, "-dumpmachine").Output()
	if err != nil || !strings.HasPrefix(string(machine), isa+"-") || !strings.Contains(string(machine), "linux") {
		return false
	}
	version, err := exec.Command(path, "--version").Output()
	return err == nil && !bytes.Contains(version, []byte("clang"))
}

// assemble assembles source and takes the result apart.
func (t *target) assemble(as assembler, source string) (*object, error) {
	dir, err := os.MkdirTemp("", "gas2go")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "kernel.o")
	args := append(as.command[1:len(as.command):len(as.command)], "-x", "assembler-with-cpp", "-DSEALANE_GO", "-c", "-o", out, source)
	cmd := exec.Command(as.command[0], args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s refuses %s:\n%s", as.name, source, bytes.TrimSpace(text))
	}
	f, err := elf.Open(out)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	o, err := t.takeApart(f)
	if err != nil {
		return nil, fmt.Errorf("%s, by %s: %w", source, as.name, err)
	}
	return o, nil
}

// takeApart finds the functions and constants of an object, and refuses any other content that would be loaded.
func (t *target) takeApart(f *elf.File) (*object, error) {
	if f.Class != t.class || f.Machine != t.machine {
		return nil, fmt.Errorf("object is %v %v, want %v %v", f.Class, f.Machine, t.class, t.machine)
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	var errs []error
	resolved := make(map[elf.SectionIndex][]byte)
	for _, s := range f.Sections {
		if (s.Type == elf.SHT_RELA || s.Type == elf.SHT_REL) && int(s.Info) < len(f.Sections) && f.Sections[s.Info].Flags&elf.SHF_ALLOC != 0 {
			code, found := t.relocate(f, s, symbols)
			resolved[elf.SectionIndex(s.Info)] = code
			errs = append(errs, found...)
		}
	}
	o := new(object)
	for i, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || s.Size == 0 || s.Type == elf.SHT_NOTE || s.Type >= elf.SHT_LOPROC && s.Type <= elf.SHT_HIPROC {
			continue
		}
		text := s.Flags&elf.SHF_EXECINSTR != 0
		kind, prefix := elf.STT_OBJECT, ".rodata."
		if text {
			kind, prefix = elf.STT_FUNC, ".text."
		}
		if s.Flags&elf.SHF_WRITE != 0 || s.Type != elf.SHT_PROGBITS || !strings.HasPrefix(s.Name, prefix) {
			errs = append(errs, fmt.Errorf("section %s: only function and constants make sections, .text.NAME and .rodata.NAME", s.Name))
			continue
		}
		name := strings.TrimPrefix(s.Name, prefix)
		data, err := s.Data()
		if err != nil {
			return nil, err
		}
		if code := resolved[elf.SectionIndex(i)]; code != nil {
			data = code
		}
		if text {
			data = t.withoutFill(data, symbols, elf.SectionIndex(i), s.Addralign)
		}
		if err := wholeSection(symbols, elf.SectionIndex(i), s.Name, uint64(len(data)), kind, name, t.rules.dataSymbols); err != nil {
			errs = append(errs, err)
			continue
		}
		if text {
			o.functions = append(o.functions, &function{name: name, code: data})
		} else {
			o.constants = append(o.constants, &constants{name: name, data: data})
		}
	}
	if err := o.statedScratch(symbols); err != nil {
		errs = append(errs, err)
	}
	if len(o.functions) == 0 && len(errs) == 0 {
		errs = append(errs, errors.New("no function in it"))
	}
	sort.Slice(o.functions, func(i, j int) bool { return o.functions[i].name < o.functions[j].name })
	sort.Slice(o.constants, func(i, j int) bool { return o.constants[i].name < o.constants[j].name })
	return o, errors.Join(errs...)
}

// statedScratch reads the value that a scratch_end statement left: a symbol outside all sections.
func (o *object) statedScratch(symbols []elf.Symbol) error {
	for _, s := range symbols {
		if s.Name != scratchEndSymbol {
			continue
		}
		if s.Section != elf.SHN_ABS || s.Value == 0 || s.Value > 1<<16 {
			return fmt.Errorf("%s is %#x in section %v: scratch_end takes a number of bytes", s.Name, s.Value, s.Section)
		}
		for _, f := range o.functions {
			f.scratchEnd = int(s.Value)
		}
	}
	return nil
}

// withoutFill cuts off the nops by which GNU as for RISC-V ends a section at a multiple of its alignment.
func (t *target) withoutFill(data []byte, symbols []elf.Symbol, index elf.SectionIndex, align uint64) []byte {
	for _, s := range symbols {
		size := uint64(len(data))
		if t.fill == nil || s.Section != index || elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Value != 0 || s.Size >= size || size-s.Size >= align {
			continue
		}
		if rest := data[s.Size:]; bytes.Equal(rest, bytes.Repeat(t.fill, len(rest)/len(t.fill))) {
			return data[:s.Size]
		}
	}
	return data
}

// wholeSection checks that the symbol name spans exactly a section of that name and size. No other symbol may declare
// a part of it as data.
func wholeSection(symbols []elf.Symbol, index elf.SectionIndex, section string, size uint64, kind elf.SymType, name string, dataSymbols *regexp.Regexp) error {
	found := false
	for _, sym := range symbols {
		if sym.Section != index {
			continue
		}
		typ := elf.ST_TYPE(sym.Info)
		switch {
		case sym.Name == name && typ == kind:
			if sym.Value != 0 || sym.Size != size {
				return fmt.Errorf("%s: has offset %d and size %d in a section of %d bytes (is the function or constants block closed?)",
					name, sym.Value, sym.Size, size)
			}
			found = true
		case typ == elf.STT_OBJECT && kind == elf.STT_FUNC, kind == elf.STT_FUNC && dataSymbols != nil && dataSymbols.MatchString(sym.Name):
			return fmt.Errorf("%s: data in text: %s at +%#x", name, sym.Name, sym.Value)
		case typ == elf.STT_FUNC || typ == elf.STT_OBJECT:
			return fmt.Errorf("%s: a second symbol in its section: %s", name, sym.Name)
		}
	}
	if !found {
		return fmt.Errorf("section %s: no symbol %s of type %v", section, name, kind)
	}
	return nil
}

// relocate returns the contents of the section that r is for with jumps inside it resolved, and an error for each other
// relocation.
func (t *target) relocate(f *elf.File, r *elf.Section, symbols []elf.Symbol) (code []byte, errs []error) {
	data, err := r.Data()
	if err != nil {
		return nil, []error{err}
	}
	if code, err = f.Sections[r.Info].Data(); err != nil {
		return nil, []error{err}
	}
	entry := map[elf.SectionType]map[elf.Class]int{
		elf.SHT_RELA: {elf.ELFCLASS64: 24, elf.ELFCLASS32: 12},
		elf.SHT_REL:  {elf.ELFCLASS64: 16, elf.ELFCLASS32: 8},
	}[r.Type][f.Class]
	for ; len(data) >= entry; data = data[entry:] {
		var offset, sym, addend uint64
		var kind uint32
		if f.Class == elf.ELFCLASS64 {
			info := f.ByteOrder.Uint64(data[8:])
			offset, sym, kind = f.ByteOrder.Uint64(data), info>>32, uint32(info)
		} else {
			info := f.ByteOrder.Uint32(data[4:])
			offset, sym, kind = uint64(f.ByteOrder.Uint32(data)), uint64(info>>8), info&255
		}
		against := "an absolute address"
		if sym > 0 && sym <= uint64(len(symbols)) {
			s := symbols[sym-1]
			if entry == 24 {
				addend = f.ByteOrder.Uint64(data[16:])
			}
			if t.rules.resolve != nil && s.Section == elf.SectionIndex(r.Info) && t.rules.resolve(code, offset, s.Value+addend, kind) {
				continue
			}
			if s.Name != "" {
				against = s.Name
			} else if int(s.Section) < len(f.Sections) {
				against = f.Sections[s.Section].Name
			}
		}
		errs = append(errs, fmt.Errorf("%s+%#x: relocation against %s, but kernels have no relocations", f.Sections[r.Info].Name, offset, against))
	}
	return code, errs
}

// difference returns where two assemblers disagree, or "".
func (t *target) difference(a, b *object, nameA, nameB string) string {
	if len(a.functions) != len(b.functions) || len(a.constants) != len(b.constants) {
		return fmt.Sprintf("%s makes %d functions and %d constants, %s %d and %d", nameA, len(a.functions), len(a.constants),
			nameB, len(b.functions), len(b.constants))
	}
	for i, c := range a.constants {
		if d := b.constants[i]; c.name != d.name || !bytes.Equal(c.data, d.data) {
			return fmt.Sprintf("%s: constants differ between %s and %s", c.name, nameA, nameB)
		}
	}
	for i, f := range a.functions {
		g := b.functions[i]
		if f.name != g.name {
			return fmt.Sprintf("%s makes %s, %s %s", nameA, f.name, nameB, g.name)
		}
		if bytes.Equal(f.code, g.code) || t.commuted(f, g) {
			continue
		}
		return strings.Join(t.differences(f, g, nameA, nameB), "\n")
	}
	return ""
}

// differences lists the instructions that differ between f and g, up to the first difference in length. Padding comes
// last. A jump that differs only in its target results from other differences, and is named only if it is the only
// one.
func (t *target) differences(f, g *function, nameA, nameB string) []string {
	var causes, jumps []string
	times := make(map[string]int)
	x, y := t.withoutPadding(f), t.withoutPadding(g)
	line := func(i int, f, g *function) string {
		return fmt.Sprintf("%s+%#x: assemblers differ: %s: %s; %s: %s", f.name, f.offset(i), nameA, f.at(i), nameB, g.at(i))
	}
	for i := range max(len(x.body), len(y.body)) {
		if times[x.at(i)+y.at(i)]++; times[x.at(i)+y.at(i)] > 1 {
			continue // a macro makes the same difference many times; one line is enough
		}
		switch {
		case x.at(i) == y.at(i):
		case i >= len(x.body) || i >= len(y.body) || len(x.body) != len(y.body) && x.body[i].mnemonic != y.body[i].mnemonic:
			return append(causes, line(i, x, y)) // out of step
		case x.body[i].target >= 0 && y.body[i].target >= 0 && len(x.body[i].code) == len(y.body[i].code):
			jumps = append(jumps, line(i, x, y))
		default:
			causes = append(causes, line(i, x, y))
		}
	}
	if len(causes) == 0 {
		causes = jumps
	}
	for i := range max(len(f.body), len(g.body)) {
		if f.at(i) == g.at(i) {
			continue
		}
		if len(f.body) != len(g.body) || len(causes) == 0 || t.rules.nop.MatchString(f.body[i].text) {
			causes = append(causes, line(i, f, g)+" (padding? use .skip)")
		}
		break
	}
	return causes
}

// commutative are the instructions whose sources LLVM's assembler, since version 16, exchanges if that saves a byte.
var commutative = regexp.MustCompile(`^vp(x?or|and|add[bwdq]|mul(u?dq|[lh]w|ld))$`)

// commuted reports whether f and g differ only by exchanged sources and their consequences. A shorter encoding changes padding
// and the distances of jumps, which go to the same instructions.
func (t *target) commuted(f, g *function) bool {
	x, y := t.withoutPadding(f), t.withoutPadding(g)
	if len(x.body) != len(y.body) {
		return false
	}
	toX, toY := x.indices(), y.indices()
	exchanged := false
	for i, a := range x.body {
		b := y.body[i]
		switch {
		case a.mnemonic != b.mnemonic:
			return false
		case a.target >= 0 && b.target >= 0:
			if toX(a.target) != toY(b.target) {
				return false
			}
		case x.at(i) == y.at(i):
		default:
			p, q := strings.Split(a.operands, ","), strings.Split(b.operands, ",")
			if !commutative.MatchString(a.mnemonic) || len(p) != 3 || len(q) != 3 || p[0] != q[0] || p[1] != q[2] || p[2] != q[1] {
				return false
			}
			exchanged = true
		}
	}
	return exchanged
}

// indices returns the index of the first instruction of f at or after an offset.
func (f *function) indices() func(offset int) int {
	return func(offset int) int {
		return sort.Search(len(f.body), func(i int) bool { return f.body[i].offset >= offset })
	}
}

func (t *target) withoutPadding(f *function) *function {
	g := &function{name: f.name, code: f.code}
	for _, ins := range f.body {
		if !t.rules.nop.MatchString(ins.text) {
			g.body = append(g.body, ins)
		}
	}
	return g
}

// at describes instruction i, if there is one.
func (f *function) at(i int) string {
	if i >= len(f.body) {
		return "(end)"
	}
	return fmt.Sprintf("% x %s", f.body[i].code, f.body[i].text)
}

func (f *function) offset(i int) int {
	if i >= len(f.body) {
		return len(f.code)
	}
	return f.body[i].offset
}
