package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

// The tables of levels in three languages.
const (
	cTables     = "src/tables.c"
	goNames     = "internal/dispatch/names.go"
	goLines     = "internal/dispatch/names_%s.go"
	goLevelType = outputDir + "/names.go"
	goTables    = outputDir + "/levels_%s.go"
	goPortable  = outputDir + "/levels_portable.go"
	goOther     = "internal/dispatch/features_other.go"
	rustNames   = rustDir + "/names.rs"
	rustTables  = rustDir + "/rows_%s.rs"
)

func levelHeader() string { return generatedMarker + "from " + levelSource + "; DO NOT EDIT.\n\n" }

// tableData is the input of the templates.
type tableData struct {
	*levelData
	Primitives []*primitiveData
	Targets    []*target
	Target     *target  // of a file for one
	Asserted   []string // statements about structures
}

// Of returns the levels of an instruction set, possibly an empty list.
func (d tableData) Of(t *target, p *primitiveData) []*level {
	if t == nil {
		return nil
	}
	return d.Levels[t.isa][p.Name]
}

// HasSIV reports whether all AES code supports AES-GCM-SIV. Portable code does.
func (d tableData) HasSIV() bool {
	if d.Target == nil {
		return true
	}
	levels := d.Levels[d.Target.isa]
	return len(levels["aesgcm"])+len(levels["aes"]) == 0 || slices.Contains(d.SIV, d.Target.isa)
}

// NoTarget is Go's constraint of architectures without kernels.
func (d tableData) NoTarget() string {
	var not []string
	for _, t := range d.Targets {
		not = append(not, "!"+t.goarch)
	}
	slices.Sort(not)
	return strings.Join(not, " && ")
}

func (d tableData) Lines(t *target) []*microarchitecture { return d.Microarchitectures[t.isa] }

// OwnNames are the names of the levels of an instruction set.
func (d tableData) OwnNames(t *target) (names []string) {
	for _, name := range d.Names {
		has := func(l *level) bool { return l.Name == name }
		if name == portableLevel || slices.ContainsFunc(primitives, func(p *primitiveData) bool {
			return slices.ContainsFunc(d.Of(t, p), has)
		}) {
			names = append(names, name)
		}
	}
	return names
}

// A feature has the same name in C and Rust. Every x86-64 CPU has SSE2, so SSE2 has no name.
func features(prefix string, needs []string) string {
	var words []string
	for _, need := range needs {
		if need != "sse2" {
			words = append(words, prefix+strings.ToUpper(strings.NewReplacer(".", "", "_", "").Replace(need)))
		}
	}
	return strings.Join(words, " | ")
}

func joined(numbers []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ", "), "[]")
}

// VendorNumber is the number by which a CPU reports its vendor. On x86 it is the first four letters, which CPUID
// returns in EBX.
func (m *microarchitecture) VendorNumber() string {
	if n, err := strconv.ParseUint(m.Vendor, 0, 32); err == nil || m.Vendor == "" {
		return fmt.Sprintf("%#x", n)
	}
	name := m.Vendor + "\x00\x00\x00"
	return fmt.Sprintf("%#x", uint32(name[0])|uint32(name[1])<<8|uint32(name[2])<<16|uint32(name[3])<<24)
}

func (m *microarchitecture) Range() string {
	from, to := m.From, m.To
	if from == "" {
		from = "0"
	}
	if to == "" {
		to = "0xffff"
	}
	return from + ", " + to
}

func (t *target) Macro() string { return t.macro }

func (t *target) Prefix() string { return t.feature }

func (t *target) ABI() string {
	if t == amd64 {
		return "sysv64"
	}
	return "C"
}

func (t *target) ISA() string { return t.isa }

var functions = template.FuncMap{
	"features": features, "joined": joined, "levelName": levelName, "goName": goName, "upper": strings.ToUpper,
	"backward": func(names []string) []string {
		names = slices.Clone(names)
		slices.Reverse(names)
		return names
	},
	"kernels": func(p *primitiveData, l *level) []string {
		var kernels []string
		if l.Composition == nil {
			kernels = append(kernels, p.Name+"_"+l.Name)
		}
		return kernels
	},
	"batches": func(p *primitiveData, levels []*level) (kernels []string) {
		for _, l := range levels {
			if l.Batch != nil && !slices.Contains(kernels, p.Name+"_batch_"+l.Batch.Kernel) {
				kernels = append(kernels, p.Name+"_batch_"+l.Batch.Kernel)
			}
		}
		return kernels
	},
	"quoted": func(words []string) string { return fmt.Sprintf("%#v", words) },
	"runs": func(runs [][2]int) string {
		return strings.NewReplacer("[[", "{{", "]]", "}}", "[", "{", "]", "}", "} {", "}, {", " ", ", ").Replace(fmt.Sprint(runs))
	},
}

func (r *report) execute(name, text string, data tableData) error {
	var b bytes.Buffer
	b.WriteString(levelHeader())
	if strings.HasSuffix(name, ".c") {
		b.Reset()
		b.WriteString("/* " + strings.TrimSpace(levelHeader())[3:] + " */\n")
	}
	if err := template.Must(template.New(name).Funcs(functions).Parse(text)).Execute(&b, data); err != nil {
		return err
	}
	if strings.HasSuffix(name, ".go") {
		return r.addGo(name, b.Bytes())
	}
	r.files[name] = b.Bytes()
	return nil
}

// addTables adds the tables.
func (r *report) addTables(d *levelData) error {
	all := tableData{levelData: d, Primitives: primitives, Targets: targets}
	errs := []error{
		r.execute(cTables, cTemplate, tableData{levelData: d, Primitives: primitives, Targets: byISA(targets), Asserted: r.layout.asserted()}), r.execute(goNames, goNamesTemplate, all), r.execute(goLevelType, goLevelTemplate, all),
		r.execute(rustNames, rustNamesTemplate, all), r.execute(goPortable, goTemplate, all),
		r.execute(goOther, goOtherTemplate, all),
	}
	for _, t := range targets {
		all.Target = t
		errs = append(errs, r.execute(fmt.Sprintf(goLines, t.goarch), goLinesTemplate, all),
			r.execute(fmt.Sprintf(goTables, t.goarch), goTemplate, all))
		if t.rust {
			errs = append(errs, r.execute(fmt.Sprintf(rustTables, t.isa), rustTemplate, all))
		}
	}
	return errors.Join(errs...)
}

const goNamesTemplate = `package dispatch

// allLevels are the names of the levels of all architectures, best first.
var allLevels = {{quoted .Names}}

// LevelEnd is above the numbers of all levels.
const LevelEnd = {{len .Names}} + 1
`

const goLevelTemplate = `package kernel

// A Level is a way to run a primitive. Keys carry one.
type Level uint8

// The levels of all architectures, the best last; 0 is no level.
const (
{{range $i, $name := backward .Names}}	{{levelName $name}}{{if not $i}} Level = 1 + iota{{end}}
{{end}})
`

const goLinesTemplate = `package dispatch

// levels are the names of the levels of all primitives, best first.
var levels = {{quoted (.OwnNames .Target)}}

var microarchitectures = []Microarchitecture{
{{range .Lines .Target}}	{ {{printf "%q" .Name}}, {{.VendorNumber}}, {{.Range}}, map[string]string{ {{range $p, $l := .First}}{{printf "%q: %q, " $p $l}}{{end}} }},
{{end}}}
`

const goOtherTemplate = `//go:build {{.NoTarget}}

package dispatch

func detect() []feature { return nil }

// levels are the names of the levels of all primitives, best first.
var levels = []string{"portable"}

var microarchitectures = []Microarchitecture{ {Name: "any CPU"} }
`

// One instruction set's, or without a target those of systems for which there are no kernels.
const goTemplate = `
{{- $d := .}}//go:build {{if .Target}}gc && !purego{{else}}({{.NoTarget}}) || !gc || purego{{end}}

package kernel

import "github.com/sealane/sealane/internal/dispatch"

// HasSIV reports whether the kernels have POLYVAL and AESCTRLittle, for AES-GCM-SIV.
const HasSIV = {{.HasSIV}}
{{range $p := .Primitives}}{{$levels := $d.Of $d.Target $p}}{{$go := goName $p.Name}}
{{if $levels}}var {{$p.Rows}}Rows = []dispatch.Row{
{{range $levels}}	{Level: uint8({{levelName .Name}}), Name: "{{.Name}}", Summary: {{printf "%q" .Summary}}, Needs: {{quoted .Needs}}},
{{end}}}
{{else}}var {{$p.Rows}}Rows []dispatch.Row
{{end}}
// {{$go}} runs a level's kernel. The CPU must have the level's features.
func {{$go}}(level Level, a *{{$p.Args}}) {
{{if $levels}}	switch level {
{{range $levels}}	case {{levelName .Name}}:
		{{$go}}{{levelName .Name}}(a)
{{end}}	default:
		{{$go}}Portable(a)
	}
{{else}}	{{$go}}Portable(a)
{{end}}	{{$p.Race}}(a)
}
{{range $levels}}{{if .Composition}}
// {{$go}}{{levelName .Name}} is two kernels: whole packets leave no state.
func {{$go}}{{levelName .Name}}(a *{{$p.Args}}) {
	const whole = FlagFirst | FlagLast
{{- if .Composition.Opened}}
	opened := a.Flags&FlagOpen != 0 && a.Bytes > {{.Composition.Above}} && a.Bytes <= {{.Composition.Opened}}
	if a.Flags&whole == whole && (a.Bytes <= {{.Composition.Most}} || opened) {
{{- else}}
	if a.Flags&whole == whole && a.Bytes <= {{.Composition.Most}} {
{{- end}}
		{{$go}}{{levelName .Composition.Short}}(a)
	} else {
		{{$go}}{{levelName .Composition.Long}}(a)
	}
}
{{end}}{{end}}{{if $p.Batch}}
var {{$p.Rows}}BatchRows = []dispatch.Row{ {{- range $levels}}{{if .Batch}}
	{Level: uint8({{levelName .Name}}), Name: "{{.Name}}", Needs: {{quoted .Batch.Needs}}},
{{- end}}{{end}}
}

var {{$p.Rows}}BatchPlans = batchPlans{ {{- range $levels}}{{if .Batch}}
	{{levelName .Name}}: newBatchPlan([][2]int{{runs .Batch.GoFrom}}),
{{- end}}{{end}}
}

// {{$go}}Batch runs a level's batch kernel, which must exist. The CPU must have the level's features.
func {{$go}}Batch(level Level, a *BatchArgs, scratch *BatchScratch) {
	{{$p.Batch}}(a)
	switch level { {{- range $levels}}{{if .Batch}}
	case {{levelName .Name}}:
		{{$go}}Batch{{levelName .Batch.Kernel}}(a, scratch)
{{- end}}{{end}}
	default:
		panic("sealane: a level without a batch kernel")
	}
}
{{end}}{{end}}`

const rustNamesTemplate = `/// Every name that may be asked for on any build and of any primitive, best first.
#[rustfmt::skip]
pub(crate) const NAMES: [&str; {{len .Names}}] = [
{{range .Names}}    "{{.}}",
{{end}}];
`

const rustTemplate = `//! The levels of this instruction set, best first.
#![allow(unused_imports)] // unused where no row needs one

use super::layout::*;
use super::{ {{- .Target.ISA}} as k, AesBlocks, AesGcm, Args, Batch, ChaCha20Masks, ChaCha20Poly1305, Level, Microarchitecture};
use crate::cpu::*;

#[rustfmt::skip]
pub(crate) static MICROARCHITECTURES: &[Microarchitecture] = &[
{{range .Lines .Target}}    Microarchitecture { vendor: {{.VendorNumber}}, models: ({{.Range}}), first: &[
{{- range $p, $l := .First}}("{{$p}}", "{{$l}}"){{end}}] }, // {{.Name}}
{{end}}];
{{$d := .}}{{range $p := .Primitives}}{{$levels := $d.Of $d.Target $p}}{{range $levels}}{{if .Composition}}
/// Whole packets of at most {{.Composition.Most}} bytes{{if .Composition.Opened}}, and opened of more than {{.Composition.Above}} and at most {{.Composition.Opened}}{{end}}, by {{.Composition.Short}}; others by {{.Composition.Long}}.
#[allow(unsafe_code)]
#[rustfmt::skip]
unsafe extern "{{$d.Target.ABI}}" fn {{$p.Name}}_{{.Name}}(args: *const Args, scratch: *mut u8, constants: *const u8) {
    const WHOLE: u64 = (FLAG_FIRST | FLAG_LAST) as u64;
    // SAFETY: the caller's arguments are those of a packet.
    let PacketArgs { flags, bytes, .. } = unsafe { *(args as *const PacketArgs) };
{{- if .Composition.Opened}}
    let opened = flags & FLAG_OPEN as u64 != 0 && bytes > {{.Composition.Above}} && bytes <= {{.Composition.Opened}};
    if flags & WHOLE == WHOLE && (bytes <= {{.Composition.Most}} || opened) {
{{- else}}
    if flags & WHOLE == WHOLE && bytes <= {{.Composition.Most}} {
{{- end}}
        let constants = k::{{upper $p.Name}}_{{upper .Composition.Short}}_CONSTANTS.0.as_ptr();
        // SAFETY: the same; the CPU has this level's features too.
        unsafe { k::{{$p.Name}}_{{.Composition.Short}}(args, scratch, constants) };
    } else {
        // SAFETY: the same.
        unsafe { k::{{$p.Name}}_{{.Composition.Long}}(args, scratch, constants) };
    }
}
{{end}}{{end}}
#[rustfmt::skip]
pub(crate) static {{$p.Rust}}: [Level<{{$p.Type}}>; {{len $levels}}] = [{{range $levels}}
    Level {
        name: "{{.Name}}",
        needs: {{features "" .Needs}},
        kernel: kernel!({{if .Composition}}{{$p.Name}}_{{.Name}}{{else}}k::{{$p.Name}}_{{.Name}}{{end}}, k::{{upper $p.Name}}_{{if .Composition}}{{upper .Composition.Long}}{{else}}{{upper .Name}}{{end}}_CONSTANTS),
        batch: {{if .Batch}}Some(Batch {
            kernel: kernel!(k::{{$p.Name}}_batch_{{.Batch.Kernel}}, k::{{upper $p.Name}}_BATCH_{{upper .Batch.Kernel}}_CONSTANTS),
            few: {{.Batch.Few}},
            from: &[{{joined .Batch.Packets}}],
        }){{else}}None{{end}},
    },{{end}}{{if $levels}}
{{end}}];
{{end}}`

const cTemplate = `#include "aesgcm.h"
#include "aesmodes.h"
#include "cpu.h"
#include "key.h"
#include "level.h"
#include "portable.h"

/* clang-format off */
{{range .Asserted}}{{.}}
{{end}}
{{define "constants"}}sealane_{{.Primitive.Name}}_{{if .Composition}}{{.Composition.Long}}{{else}}{{.Name}}{{end}}_constants{{end}}
enum { WHOLE = SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST };
{{$d := .}}{{range $t := .Targets}}
#if defined({{$t.Macro}})
{{range $p := $d.Primitives}}{{$levels := $d.Of $t $p}}{{range $l := $levels}}{{range kernels $p $l}}extern sealane_kernel sealane_{{.}};
extern const uint8_t sealane_{{.}}_constants[];
{{end}}{{end}}{{range batches $p $levels}}extern sealane_kernel sealane_{{.}};
extern const uint8_t sealane_{{.}}_constants[];
{{end}}{{range $levels}}{{if .Composition}}
/* Two kernels as one level: whole packets leave no state. */
static void SEALANE_KERNEL_ABI sealane_{{$p.Name}}_{{.Name}}(const void *args, void *scratch, const void *consts)
{
    const sealane_packet_args *a = args;
{{- if .Composition.Opened}}
    const int opened = (a->flags & SEALANE_FLAG_OPEN) && a->bytes > {{.Composition.Above}} && a->bytes <= {{.Composition.Opened}};
    if ((a->flags & WHOLE) == WHOLE && (a->bytes <= {{.Composition.Most}} || opened))
{{- else}}
    if ((a->flags & WHOLE) == WHOLE && a->bytes <= {{.Composition.Most}})
{{- end}}
        sealane_{{$p.Name}}_{{.Composition.Short}}(a, scratch, sealane_{{$p.Name}}_{{.Composition.Short}}_constants);
    else
        sealane_{{$p.Name}}_{{.Composition.Long}}(a, scratch, consts);
}

{{end}}{{end}}{{end}}#endif
{{end}}
{{range $p := .Primitives}}static const sealane_level {{$p.Name}}_levels[] = {
{{range $t := $d.Targets}}{{$levels := $d.Of $t $p}}{{if $levels}}#if defined({{$t.Macro}})
{{range $levels}}    {"{{.Name}}",
     {{features $t.Prefix .Needs}},
     sealane_{{$p.Name}}_{{.Name}}, {{template "constants" .}},
{{if .Batch}}     {sealane_{{$p.Name}}_batch_{{.Batch.Kernel}}, sealane_{{$p.Name}}_batch_{{.Batch.Kernel}}_constants, {{.Batch.Few}}, {{len .Batch.Packets}},
      { {{- joined .Batch.Packets -}} }},
{{else}}     {NULL, NULL, 0, 0, {0}},
{{end}}     {{$p.KeyAt}}, {{$p.Flags}}},
{{end}}#endif
{{end}}{{end}}    {"portable", 0, sealane_{{$p.Name}}_portable, NULL,
     {NULL, NULL, 0, 0, {0}},
     {{$p.KeyAt}}, {{$p.Flags}}},
};

{{end}}#define COUNT(levels) (sizeof(levels) / sizeof(levels)[0])
{{range .Primitives}}_Static_assert(COUNT({{.Name}}_levels) <= SEALANE_LEVELS_MAX, "too many levels");
{{end}}
const sealane_table sealane_tables[SEALANE_ALL_TABLES] = {
{{range .Primitives}}    [SEALANE_{{upper .Name}}] = {"{{.Name}}", {{.Name}}_levels, COUNT({{.Name}}_levels), sealane_{{.Name}}_selftest,
                   {{if .Batch}}sealane_{{.Name}}_batch_selftest{{else}}NULL{{end}}},
{{end}}};

/* By the numbers of algorithms, 0 to 7. */
_Static_assert(SEALANE_CHACHA20_POLY1305 == 1 && SEALANE_XCHACHA20_POLY1305 == 2 && SEALANE_AES_128_GCM == 3 &&
                   SEALANE_AES_256_GCM == 4 && SEALANE_AES_192_GCM == 5, "an algorithm has another's place");
#define LEVEL_AT(levels, i) ((i) < COUNT(levels) ? &(levels)[i] : NULL)
#define GCM_AT(i) LEVEL_AT(aesgcm_levels, i)
#define PLAIN_AT(i) NULL, LEVEL_AT(chacha20poly1305_levels, i), NULL, GCM_AT(i), GCM_AT(i), GCM_AT(i), NULL, NULL
const sealane_level *const sealane_plain_levels[PLAIN_KEYS] = {
    PLAIN_AT(0), PLAIN_AT(1), PLAIN_AT(2), PLAIN_AT(3), PLAIN_AT(4), PLAIN_AT(5), PLAIN_AT(6), PLAIN_AT(7),
};

const char *const sealane_level_names[] = { {{- range $i, $name := .Names}}{{if $i}}, {{end}}"{{$name}}"{{end -}} };
const unsigned sealane_level_name_count = COUNT(sealane_level_names);

const sealane_microarchitecture sealane_microarchitectures[] = {
{{range $i, $t := .Targets}}#{{if $i}}elif{{else}}if{{end}} defined({{$t.Macro}})
{{range $d.Lines $t}}    {"{{.Name}}", {{.VendorNumber}}, {{.Range}}, { {{- range $p, $l := .First}}[SEALANE_{{upper $p}}] = "{{$l}}"{{else}}NULL{{end -}} }},
{{end}}{{end}}#else
    {"any CPU", 0, 0, 0xffff, {0}},
#endif
};
`
