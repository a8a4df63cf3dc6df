package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The crate's tables of levels are those of src/level.c: names, features, kernels and numbers of batches. Each instruction
// set gets a file of them.
const rustRowsFile = rustDir + "/rows_%s.rs"

var (
	cComment    = regexp.MustCompile(`(?s)/\*.*?\*/`)
	cGuard      = regexp.MustCompile(`^#if defined\(HAVE_(\w+)_KERNELS\)$`)
	listDefine  = regexp.MustCompile(`(?m)^#define (\w+) (\w+(?:, \w+)+)\n`) // of numbers, or of lists before it
	batchDefine = regexp.MustCompile(`(?m)^#define (\w+)\s+BATCH\((\w+), (\w+), (\d+), (\d+), ([\d, ]+)\)$`)
	levelRow    = regexp.MustCompile(`(TIMED_)?LEVEL\((\w+), (\w+),\s+([A-Z0-9_|\s]+),\s+([A-Z0-9_]+)\),`)
	rowStart    = regexp.MustCompile(`(?m)^    (?:TIMED_)?LEVEL\(`)
	composition = regexp.MustCompile(`(?m)^COMPOSED\((\w+), (\w+), (\w+), (\d+), (\d+), (\d+), (\w+)\)$`)
	feature     = regexp.MustCompile(`^SEALANE_(?:X86|ARM)_([A-Z0-9]+)$`)
)

// rustTables are the primitives that have a table, and its name. There, AES alone is a feature.
var rustTables = []struct{ primitive, table string }{
	{"chacha20poly1305", "CHACHA20POLY1305"}, {"aesgcm", "AESGCM"}, {"aes", "AES_BLOCKS"}, {"chacha20masks", "CHACHA20MASKS"},
}

// sourceOf returns the text of src/level.c that is compiled for t, without comments, a definition in one line each.
func (t *target) sourceOf(text []byte) string {
	text = cComment.ReplaceAll(text, nil)
	text = regexp.MustCompile(`[ \t]*\\\n[ \t]*`).ReplaceAll(text, []byte(" "))
	var out strings.Builder
	var compiled []bool // of each #if that is open; those that are not of kernels change nothing
	for line := range strings.Lines(string(text)) {
		directive := strings.TrimSpace(line)
		switch m := cGuard.FindStringSubmatch(directive); {
		case m != nil:
			compiled = append(compiled, strings.ToLower(m[1]) == t.isa)
		case strings.HasPrefix(directive, "#if"):
			compiled = append(compiled, true)
		case strings.HasPrefix(directive, "#else") && len(compiled) > 0:
			compiled[len(compiled)-1] = !compiled[len(compiled)-1]
		case strings.HasPrefix(directive, "#endif") && len(compiled) > 0:
			compiled = compiled[:len(compiled)-1]
		case !slices.Contains(compiled, false):
			out.WriteString(line)
		}
	}
	return out.String()
}

// rustRows makes the tables of one instruction set.
func (t *target) rustRows(level []byte) ([]byte, error) {
	text := t.sourceOf(level)
	for m := listDefine.FindStringSubmatch(text); m != nil; m = listDefine.FindStringSubmatch(text) {
		text = strings.Replace(text, m[0], "", 1)
		text = regexp.MustCompile(`\b`+m[1]+`\b`).ReplaceAllString(text, m[2])
	}
	batches, mixed := map[string][]string{}, map[string][]string{}
	for _, m := range batchDefine.FindAllStringSubmatch(text, -1) {
		batches[m[1]] = m
	}
	for _, m := range composition.FindAllStringSubmatch(text, -1) {
		mixed[m[1]+"_"+m[2]] = m
	}
	rows := levelRow.FindAllStringSubmatch(text, -1)
	if starts := len(rowStart.FindAllString(text, -1)); len(rows) == 0 || len(rows) != starts {
		return nil, fmt.Errorf("%s: %d rows of %s, of which %d are understood", levelSource, starts, t.isa, len(rows))
	}
	tables := map[string][]string{}
	var functions bytes.Buffer
	for _, m := range rows {
		timed, primitive, name, needs, batch := m[1] != "", m[2], m[3], m[4], m[5]
		var features []string
		for _, word := range strings.FieldsFunc(needs, func(r rune) bool { return strings.ContainsRune("| \n", r) }) {
			f := feature.FindStringSubmatch(word)
			if f == nil {
				return nil, fmt.Errorf("%s: %s of %s needs %q: no feature", levelSource, name, primitive, word)
			}
			features = append(features, f[1])
		}
		kernel := rustKernel(primitive + "_" + name)
		if c := mixed[primitive+"_"+name]; c != nil {
			t.writeMixed(&functions, c)
			kernel = fmt.Sprintf("Kernel { code: %s_%s, constants: &k::%s_CONSTANTS.0 }", primitive, name, strings.ToUpper(primitive+"_"+c[7]))
		}
		row := fmt.Sprintf("    Level {\n        name: %q,\n        needs: %s,\n        kernel: Some(%s),\n", name, strings.Join(features, " | "), kernel)
		if b := batches[batch]; b != nil {
			row += fmt.Sprintf("        batch: Some(Batch {\n            kernel: %s,\n            group: %s,\n            few: %s,\n            from: &[%s],\n        }),\n",
				rustKernel(b[2]+"_batch_"+b[3]), b[4], b[5], b[6])
		} else if batch == "NO_BATCH" {
			row += "        batch: None,\n"
		} else {
			return nil, fmt.Errorf("%s: %s of %s: no %s for %s", levelSource, name, primitive, batch, t.isa)
		}
		tables[primitive] = append(tables[primitive], row+fmt.Sprintf("        timed: %v,\n    },\n", timed))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s//! The levels of this instruction set, best first.\n#![allow(unused_imports)] // where no row wants one\n\n"+
		"use super::layout::*;\nuse super::{%s as k, Args, Kernel};\nuse crate::cpu::*;\nuse crate::level::{Batch, Level};\n", levelHeader(), t.isa)
	b.Write(functions.Bytes())
	for _, table := range rustTables {
		list := tables[table.primitive]
		delete(tables, table.primitive)
		fmt.Fprintf(&b, "\n#[rustfmt::skip]\npub(crate) static %s: [Level; %d] = [", table.table, len(list))
		if len(list) > 0 {
			b.WriteString("\n")
		}
		b.WriteString(strings.Join(list, "") + "];\n")
	}
	for primitive := range tables {
		return nil, fmt.Errorf("%s: Rust has no table of %s", levelSource, primitive)
	}
	return b.Bytes(), nil
}

// rustKernel names a kernel and its constants.
func rustKernel(name string) string {
	return fmt.Sprintf("Kernel { code: k::%s, constants: &k::%s_CONSTANTS.0 }", name, strings.ToUpper(name))
}

// writeMixed makes the function of a level of two kernels. Whole packets leave no state, so one of them does those of at
// most that many bytes, and those that are opened between two numbers, and the other all else.
func (t *target) writeMixed(b *bytes.Buffer, c []string) {
	abi := "C"
	if t == amd64 {
		abi = "sysv64"
	}
	primitive, name, little, most, above, opened, large := c[1], c[2], c[3], c[4], c[5], c[6], c[7]
	fmt.Fprintf(b, "\n/// Whole packets of at most %s bytes, and opened of more than %s and at most %s, by `%s`, all else by `%s`.\n"+
		"#[allow(unsafe_code)]\n#[rustfmt::skip]\n"+
		"unsafe extern %q fn %s_%s(args: *const Args, scratch: *mut u8, constants: *const u8) {\n",
		most, above, opened, little, large, abi, primitive, name)
	fmt.Fprintf(b, "    const WHOLE: u64 = (FLAG_FIRST | FLAG_LAST) as u64;\n    let slots = &(*args).0;\n"+
		"    let (flags, bytes) = (slots[ARG_FLAGS / 8], slots[ARG_BYTES / 8]);\n"+
		"    let opened = flags & FLAG_OPEN as u64 != 0 && bytes > %s && bytes <= %s;\n"+
		"    if flags & WHOLE == WHOLE && (bytes <= %s || opened) {\n", above, opened, most)
	fmt.Fprintf(b, "        k::%s_%s(args, scratch, k::%s_CONSTANTS.0.as_ptr());\n    } else {\n        k::%s_%s(args, scratch, constants);\n    }\n}\n",
		primitive, little, strings.ToUpper(primitive+"_"+little), primitive, large)
}

// addRustRows adds the tables of all instruction sets.
func (r *report) addRustRows() error {
	text, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(levelSource)))
	if err != nil {
		return err
	}
	for _, t := range r.targets {
		rows, err := t.rustRows(text)
		if err != nil {
			return err
		}
		r.files[fmt.Sprintf(rustRowsFile, t.isa)] = rows
	}
	return nil
}
