// Weave writes the woven texts that kernels include. They interleave instructions of several independent
// computations, so that in-order cores are kept busy.
//
//	weave gen                   write the *_woven.h of every asm/*/*.weave
//	weave check                 compare them with gen's output
//	weave cycles                print each macro's modeled cycles on the cores of the machine table
//	weave order FILE MACRO      read instructions in another order from standard input, print that order for the .weave file
//
// A .weave file has streams and macros. A stream has instructions in an understandable order, with names for
// registers and the formula beside them. A macro says which streams it weaves, and in what order. Weave checks that
// order: it follows each value from where it is made to where it is used. It refuses an order in which an instruction
// would read other values than in the streams one after the other. It also refuses one in which results are missing.
// Then it improves the order. It moves single instructions as long as a core of the machine table
// (tools/armcost/cores.json) needs fewer cycles for it and none needs more. README.md describes the language.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const coresFile = "tools/armcost/cores.json"

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("weave", flag.ContinueOnError)
	flags.SetOutput(stderr)
	root := flags.String("root", ".", "the repository's root `directory`")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: weave [-root directory] gen | check | cycles | order FILE MACRO")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return 2
	}
	var err error
	switch {
	case flags.NArg() == 1 && flags.Arg(0) == "gen":
		err = gen(*root, stdout)
	case flags.NArg() == 1 && flags.Arg(0) == "check":
		err = check(*root)
	case flags.NArg() == 1 && flags.Arg(0) == "cycles":
		err = printCycles(*root, stdout)
	case flags.NArg() == 3 && flags.Arg(0) == "order":
		err = printOrder(flags.Arg(1), flags.Arg(2), stdin, stdout)
	default:
		flags.Usage()
		return 2
	}
	if err != nil {
		fmt.Fprintf(stderr, "weave: %v\n", err)
		return 1
	}
	return 0
}

func sources(root string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(root, "asm", "*", "*.weave"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no asm/*/*.weave in %s", root)
	}
	return files, err
}

func output(file string) string { return strings.TrimSuffix(file, ".weave") + "_woven.h" }

func gen(root string, stdout io.Writer) error {
	return each(root, func(file string, text []byte) error {
		old, err := os.ReadFile(output(file))
		if err == nil && bytes.Equal(old, text) {
			return nil
		}
		fmt.Fprintf(stdout, "wrote %s\n", output(file))
		return os.WriteFile(output(file), text, 0o644)
	})
}

func check(root string) error {
	var stale []error
	err := each(root, func(file string, text []byte) error {
		if old, err := os.ReadFile(output(file)); err != nil || !bytes.Equal(old, text) {
			stale = append(stale, fmt.Errorf("%s differs from the output of %s: run make gen", output(file), filepath.Base(file)))
		}
		return nil
	})
	return errors.Join(append(stale, err)...)
}

func each(root string, use func(file string, text []byte) error) error {
	files, err := sources(root)
	if err != nil {
		return err
	}
	cores, table, err := readCores(filepath.Join(root, coresFile))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := generate(file, cores, table)
		if err == nil {
			err = use(file, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// weaveAll weaves the macros of a file, and those of included files that they use, in the order in which they stand. A macro
// that takes another's instructions takes them in the order of the source, before improvement.
func (s *source) weaveAll(cores []core) error {
	cores = s.coresOf(cores)
	for _, m := range s.sequence {
		steps, err := s.weave(m)
		if err != nil {
			return err
		}
		s.woven[m.name] = steps
		all := slices.Concat(m.begin, steps, m.end)
		s.improved[m.name] = slices.Clone(all)
		if m.order != "" && !m.fixed && slices.Contains(s.parts, any(m)) {
			improve(s.improved[m.name], len(m.begin), len(m.end), cores, m.times)
		}
		if err := pairs(s.improved[m.name]); err != nil {
			return fmt.Errorf("%s: %s: %w", m.at, m.name, err)
		}
		s.asWritten[m.name] = all
	}
	return nil
}

// pairs reports whether each AESMC directly follows its AESE. Cores issue such a pair as one instruction.
func pairs(steps []step) error {
	for i, s := range steps {
		if s.kind == aesMix && (i == 0 || steps[i-1].kind != aes || steps[i-1].writes != s.writes) {
			return fmt.Errorf("%s does not follow its aese", s.text)
		}
	}
	return nil
}

// generate makes the text of one file.
func generate(file string, cores []core, table []byte) ([]byte, error) {
	s, err := readSource(file)
	if err != nil {
		return nil, err
	}
	if err := s.weaveAll(cores); err != nil {
		return nil, err
	}
	digest := sha256.New()
	var names []string
	for _, f := range s.files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		digest.Write(text)
		names = append(names, filepath.Base(f))
	}
	digest.Write(table)
	var out bytes.Buffer
	fmt.Fprintf(&out, "/* Generated by tools/weave. DO NOT EDIT: change the source, then make gen.\n *\n * source     %s\n * cores      %s\n"+
		" * SHA-256    %x\n */\n", wrapped(names), coresFile, digest.Sum(nil))
	for _, part := range s.parts {
		m, ok := part.(*macro)
		if !ok {
			fmt.Fprintln(&out, part)
			continue
		}
		fmt.Fprintln(&out)
		if len(m.doc) > 0 {
			fmt.Fprintf(&out, "/* %s */\n", strings.Join(m.doc, "\n * "))
		}
		fmt.Fprintf(&out, "%s\n", strings.TrimSpace(".macro "+m.name+" "+m.params))
		for _, st := range s.improved[m.name] {
			writeLine(&out, st.line)
		}
		fmt.Fprintln(&out, ".endm")
	}
	return out.Bytes(), nil
}

// wrapped lists names in lines of the comment above a generated file.
func wrapped(names []string) string {
	text, length := "", 0
	for i, name := range names {
		separator := ", "
		if i == 0 {
			separator = ""
		} else if length+len(name) > 100 {
			separator, length = ",\n *            ", 0
		}
		text, length = text+separator+name, length+len(separator)+len(name)
	}
	return text
}

func writeLine(out *bytes.Buffer, l line) {
	if l.comment == "" {
		fmt.Fprintf(out, "    %s\n", l.text)
	} else {
		fmt.Fprintf(out, "    %-39s /* %s */\n", l.text, l.comment)
	}
}

func printCycles(root string, stdout io.Writer) error {
	files, err := sources(root)
	if err != nil {
		return err
	}
	cores, _, err := readCores(filepath.Join(root, coresFile))
	if err != nil {
		return err
	}
	for _, file := range files {
		s, err := readSource(file)
		if err != nil {
			return err
		}
		if err := s.weaveAll(cores); err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%-24s%14s%s\n", filepath.Base(file), "instructions", "   modeled cycles as written, improved")
		for _, part := range s.parts {
			m, ok := part.(*macro)
			if !ok {
				continue
			}
			fmt.Fprintf(stdout, "%-24s%14d", m.name, len(s.asWritten[m.name]))
			for _, c := range s.coresOf(cores) {
				fmt.Fprintf(stdout, "%14s %6.1f %6.1f", c.name, float64(c.cycles(s.asWritten[m.name], m.times))/float64(m.times),
					float64(c.cycles(s.improved[m.name], m.times))/float64(m.times))
			}
			fmt.Fprintln(stdout)
		}
	}
	return nil
}

func printOrder(file, name string, stdin io.Reader, stdout io.Writer) error {
	s, err := readSource(file)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(s.sequence, func(m *macro) bool { return m.name == name })
	if at < 0 {
		return fmt.Errorf("%s has no macro %s", file, name)
	}
	for _, m := range s.sequence[:at] {
		steps, err := s.weave(m)
		if err != nil {
			return err
		}
		s.woven[m.name] = steps
	}
	var lines []string
	m := s.sequence[at]
	without := map[string]bool{}
	for _, l := range append(slices.Clone(m.begin), m.end...) {
		without[l.text] = true
	}
	for in := bufio.NewScanner(stdin); in.Scan(); {
		text, _, _ := strings.Cut(in.Text(), "/*")
		if text = strings.Join(strings.Fields(text), " "); text != "" && !without[text] {
			lines = append(lines, text)
		}
	}
	order, err := s.readOrder(m, lines)
	if err != nil {
		return err
	}
	for len(order) > 0 {
		cut := len(order)
		if cut > 112 {
			cut = strings.LastIndex(order[:112], " ")
		}
		fmt.Fprintf(stdout, "        %s\n", order[:cut])
		order = strings.TrimSpace(order[cut:])
	}
	return nil
}
