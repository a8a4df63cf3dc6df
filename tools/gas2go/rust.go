package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// The third output is for the crate in rust/sealane: each kernel's machine code as rows of data for global_asm!, and
// its constants as a static. rust/sealane/src/kernel/mod.rs adds prologue and return.

const (
	rustDir    = "rust/sealane/src/kernel"
	rustLayout = rustDir + "/layout.rs"

	versionSource = "include/sealane.h"
)

var versionLine = regexp.MustCompile(`(?m)^#define SEALANE_VERSION "([0-9A-Za-z.]+)"`)

// readVersion returns the library's version.
func readVersion(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(versionSource)))
	if err != nil {
		return "", err
	}
	m := versionLine.FindSubmatch(text)
	if m == nil {
		return "", errors.New(versionSource + ": no SEALANE_VERSION")
	}
	return string(m[1]), nil
}

// rustSymbol is the linker's name of a kernel. It contains the version, so that two versions link into one program.
func rustSymbol(kernel, version string) string {
	return cPrefix + strings.ReplaceAll(version, ".", "_") + "_" + strings.TrimPrefix(kernel, cPrefix)
}

// rustAssembly makes the rows of the kernel in one .S.
func (t *target) rustAssembly(source string, k *kernel) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%sfrom %s; DO NOT EDIT.\n", generatedMarker, source)
	if t.units[0] == 4 {
		t.writeRows(&b, k.function, t.rustWords, "")
	} else {
		t.writeRustBytes(&b, k.function)
	}
	return b.Bytes()
}

// rustWords writes instructions of four bytes. ARM's directive marks them as code; RISC-V has no such directive.
func (t *target) rustWords(code []byte) string {
	directive := ".inst "
	if t == riscv64 {
		directive = ".4byte "
	}
	var parts []string
	for ; len(code) >= 4; code = code[4:] {
		parts = append(parts, fmt.Sprintf("0x%08x", binary.LittleEndian.Uint32(code)))
	}
	return directive + strings.Join(parts, ",")
}

// rustRowBytes is how many bytes of instructions share a row. LLVM parses rows several times in each build of a
// crate, and rows of single bytes take it four times as long as words do.
const rustRowBytes = 16

// writeRustBytes writes instructions of any length. A row has whole instructions, and a jump's target begins a row.
func (t *target) writeRustBytes(b *bytes.Buffer, f *function) {
	var code []byte
	var texts []string
	flush := func() {
		if len(code) > 0 {
			fmt.Fprintf(b, "%s // %s\n", rustData(code), strings.Join(texts, "; "))
		}
		code, texts = nil, nil
	}
	for _, r := range t.rows(f) {
		if r.target {
			flush()
			fmt.Fprintf(b, "// %#x:\n", r.offset)
		}
		if len(r.code) > 0 {
			code, texts = append(code, r.code...), append(texts, r.text)
		}
		if len(code) >= rustRowBytes {
			flush()
		}
	}
	flush()
}

// rustData writes bytes as words of eight, and the rest byte by byte.
func rustData(code []byte) string {
	var words, rest []string
	for ; len(code) >= 8; code = code[8:] {
		words = append(words, fmt.Sprintf("0x%016x", binary.LittleEndian.Uint64(code)))
	}
	for _, c := range code {
		rest = append(rest, fmt.Sprintf("0x%02x", c))
	}
	var statements []string
	if words != nil {
		statements = append(statements, ".quad "+strings.Join(words, ","))
	}
	if rest != nil {
		statements = append(statements, ".byte "+strings.Join(rest, ","))
	}
	return strings.Join(statements, "; ")
}

// rustModule makes the Rust file that declares all of a target's kernels and has their constants.
func (t *target) rustModule(kernels []*kernel, dir, version string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%sfrom %s/*.S; DO NOT EDIT.\n\n", generatedMarker, dir)
	b.WriteString("#[allow(unused_imports)] // where no kernel has any\nuse super::Constants;\n\n#[rustfmt::skip]\nkernels! {\n")
	fmt.Fprintf(&b, "    %q;\n", t.ABI())
	for _, k := range kernels {
		fmt.Fprintf(&b, "    %s, %q, %q, %q;\n", strings.TrimPrefix(k.name, cPrefix), rustSymbol(k.name, version),
			t.isa+"/"+rustFile(k.source), k.extensions)
	}
	b.WriteString("}\n")
	for _, k := range kernels {
		if k.constants == nil {
			continue
		}
		data := k.constants.data
		fmt.Fprintf(&b, "\n#[rustfmt::skip]\npub(crate) static %s: Constants<%d> = Constants([\n",
			strings.ToUpper(strings.TrimPrefix(k.constants.name, cPrefix)), len(data))
		for len(data) > 0 {
			n := min(16, len(data))
			var parts []string
			for _, c := range data[:n] {
				parts = append(parts, fmt.Sprintf("0x%02x", c))
			}
			fmt.Fprintf(&b, "    %s,\n", strings.Join(parts, ", "))
			data = data[n:]
		}
		b.WriteString("]);\n")
	}
	return b.Bytes()
}

func rustFile(source string) string { return strings.TrimSuffix(path.Base(source), ".S") + ".s" }

// rustLayout makes the Rust file with all definitions of asm/args.h, and the structures.
func (l *layout) rustLayout() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%sfrom %s; DO NOT EDIT.\n\n", generatedMarker, layoutSource)
	b.WriteString("//! Layout of the kernels' arguments: offsets and sizes in bytes, and flags. Every slot has 8 bytes, and pointers are\n//! addresses in them.\n")
	b.WriteString("#![allow(dead_code, unused_doc_comments, clippy::doc_markdown)]\n\n")
	for _, d := range l.defines {
		if d.comment != "" {
			fmt.Fprintf(&b, "// %s\n", d.comment)
		}
		fmt.Fprintf(&b, "pub(crate) const %s: usize = %d;\n", d.name, d.value)
	}
	b.WriteString(l.rustStructures())
	return b.Bytes()
}

// addRust adds a target's files for the crate.
func (r *report) addRust(t *target, kernels []*kernel, dir string) error {
	for _, k := range kernels {
		name := rustDir + "/" + t.isa + "/" + rustFile(k.source)
		if r.files[name] != nil {
			return fmt.Errorf("%s: has more than one kernel", k.source)
		}
		r.files[name] = t.rustAssembly(k.source, k)
	}
	r.files[rustDir+"/"+t.isa+".rs"] = t.rustModule(kernels, dir, r.version)
	return nil
}
