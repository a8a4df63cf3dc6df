// Gas2go translates the kernels in asm/ into Go assembly and for Rust's global_asm!, and checks that they keep the kernel
// convention.
//
//	gas2go gen      write internal/kernel, rust/sealane/src/kernel and the tables of levels
//	gas2go check    compare them with gen's output, and hold the machine code's size against the budget
//	gas2go size     report machine code sizes
//
// It assembles each .S with GNU as and, where installed, with clang, which must agree byte for byte. (They differ in
// padding by .p2align and a few instructions with two encodings, unless GNU as is told to optimize. So Go runs the
// very bytes that a C build assembles.) It decodes the result with GNU objdump and, where installed, llvm-objdump,
// which must agree on boundaries and jumps. It refuses code that breaks the convention of asm/asm.S. It emits the
// machine code as Plan 9 assembly, and as rows of bytes, neither of which needs a C compiler.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Exit statuses beside 0 and 1.
const (
	exitUsage  = 2
	exitNotRun = 3 // nothing could be checked
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("gas2go", flag.ContinueOnError)
	flags.SetOutput(stderr)
	root := flags.String("root", ".", "the repository's root `directory`")
	all := flags.Bool("all", false, "fail where a target or tool is missing, instead of saying \"not run\"")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: gas2go [-root directory] [-all] gen | check | size")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return exitUsage
	}
	commands := map[string]func(*report, io.Writer) error{"gen": (*report).write, "check": (*report).compare, "size": (*report).sizes}
	command, ok := commands[flags.Arg(0)]
	if !ok || flags.NArg() != 1 {
		flags.Usage()
		return exitUsage
	}
	r, err := translate(*root, targets)
	if err != nil {
		fmt.Fprintf(stderr, "gas2go: %v\n", err)
		return 1
	}
	err = command(r, stdout)
	for _, line := range r.notRun {
		fmt.Fprintf(stdout, "not run: %s\n", line)
	}
	switch {
	case err != nil:
		fmt.Fprintf(stderr, "gas2go: %v\n", err)
		return 1
	case *all && len(r.notRun) > 0:
		fmt.Fprintln(stderr, "gas2go: -all was given, and not all could be run")
		return 1
	case r.skipped && len(r.kernels) == 0:
		return exitNotRun
	}
	return 0
}

// write writes all generated files that changed, and removes those whose source is gone.
func (r *report) write(out io.Writer) error {
	if r.skipped || r.ungated {
		return errors.New("a target could not be translated: " + strings.Join(r.notRun, "; "))
	}
	for _, name := range r.names() {
		path := filepath.Join(r.root, filepath.FromSlash(name))
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, r.files[name]) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, r.files[name], 0o644); err != nil {
			return err
		}
		fmt.Fprintln(out, "wrote", name)
	}
	stale, err := r.stale()
	for _, name := range stale {
		if err := os.Remove(filepath.Join(r.root, filepath.FromSlash(name))); err != nil {
			return err
		}
		fmt.Fprintln(out, "removed", name)
	}
	return errors.Join(append(r.differ, err)...)
}

// compare lists the committed files that differ from the output of write, and which kernels are too large together.
func (r *report) compare(out io.Writer) error {
	var errs []error
	for _, name := range r.names() {
		old, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(name)))
		switch {
		case errors.Is(err, os.ErrNotExist):
			errs = append(errs, fmt.Errorf("%s is missing; run make gen", name))
		case err != nil:
			errs = append(errs, err)
		case bytes.Equal(old, r.files[name]):
			fmt.Fprintf(out, "same: %s\n", name)
		case bytes.Equal(withoutComments(name, old), withoutComments(name, r.files[name])):
			fmt.Fprintf(out, "same except comments (by another version of objdump?): %s\n", name)
		default:
			errs = append(errs, fmt.Errorf("%s:%d: differs from its source; run make gen", name, firstDifference(old, r.files[name])))
		}
	}
	stale, err := r.stale()
	for _, name := range stale {
		errs = append(errs, fmt.Errorf("%s has no source any more; run make gen", name))
	}
	return errors.Join(append(append(errs, err, r.sizes(io.Discard)), r.differ...)...)
}

// withoutComments drops the disassembly from a .s, which depends on the disassembler's version. It keeps a comment with a carriage
// return, where LLVM ends the comment and goes on with the next statement.
func withoutComments(name string, text []byte) []byte {
	if !strings.HasSuffix(name, ".s") {
		return text
	}
	lines := bytes.Split(text, []byte("\n"))
	for i, line := range lines {
		if n := bytes.Index(line, []byte(" // ")); n > 0 && !bytes.HasPrefix(line, []byte("//")) && !bytes.ContainsRune(line, '\r') {
			lines[i] = line[:n]
		}
	}
	return bytes.Join(lines, []byte("\n"))
}

// firstDifference returns the number of the first line that differs.
func firstDifference(a, b []byte) int {
	as, bs := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range as {
		if i >= len(bs) || !bytes.Equal(as[i], bs[i]) {
			return i + 1
		}
	}
	return len(as) + 1
}

// sizes prints the machine code of each kernel, and fails if a primitive's kernels exceed its target's budget together.
func (r *report) sizes(out io.Writer) error {
	var errs []error
	fmt.Fprintf(out, "%-10s %-40s %8s %10s %8s\n", "target", "kernel", "code", "constants", "scratch")
	for _, t := range r.targets {
		total := make(map[string]int)
		var order []string
		for _, k := range r.kernels {
			if k.target != t {
				continue
			}
			constants := 0
			if k.constants != nil {
				constants = len(k.constants.data)
			}
			scratch := "unknown" // some addresses are not a constant distance from its start
			if end, _ := t.rules.scratch(t, k.function, r.layout); end >= 0 {
				scratch = fmt.Sprint(end)
			}
			fmt.Fprintf(out, "%-10s %-40s %8d %10d %8s\n", t.goarch, k.name, len(k.code), constants, scratch)
			if k.primitive() != "" && total[k.primitive()] == 0 {
				order = append(order, k.primitive())
			}
			total[k.primitive()] += len(k.code)
		}
		for _, p := range order {
			fmt.Fprintf(out, "%-10s %-40s %8d of at most %d\n", t.goarch, p+" together", total[p], t.budget)
			if total[p] > t.budget {
				errs = append(errs, fmt.Errorf("%s: %s kernels have %d bytes of machine code together, at most %d allowed", t.goarch, p, total[p], t.budget))
			}
		}
	}
	return errors.Join(errs...)
}
