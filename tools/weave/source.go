package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// line is an instruction and the formula beside it.
type line struct {
	text, comment string
}

// op is an instruction of a stream. A rotation in two instructions makes its result in another register than its operand:
// the second of them moves the name (renamed, "d'" to d). An exchange swaps the registers of two words.
type op struct {
	line
	physical bool // its vectors are chosen already
	renamed  string
	exchange [2]string
}

// stream is instructions in an understandable order: a quarter round, the steps of a multiplication.
type stream struct {
	name   string
	params []string
	body   []string // lines as written: instructions, "use", "rotate", "exchange"
}

// input is a stream that takes part in a macro, under the letter by which the order calls it.
type input struct {
	letter string
	call   string
}

// macro is the text written for the assembler: streams, and the order of their instructions.
type macro struct {
	name, params string
	doc          []string
	in, out      map[string]string // the vectors that words are in before and after
	inputs       []input
	order        string
	times        int    // how often the model runs it one after the other: 3 for a loop
	fixed        bool   // the order stays
	begin, end   []step // instructions that stay first and last
	at           string // file and line, for error messages
}

// source is one .weave file with those that it includes.
type source struct {
	file      string
	arm64     bool
	apart     map[string]bool   // registers whose memory is separate from that of the others; results may still depend on it
	aliases   map[string]string // register by name
	words     map[string]bool   // names of vectors whose registers are chosen by the order
	lets      map[string]string
	places    map[string]map[string]string
	streams   map[string]*stream
	groups    map[string][]input // inputs that several macros have
	macros    map[string]*macro
	woven     map[string][]step // in the order of the source
	asWritten map[string][]step // and with the first and last instructions of a macro
	improved  map[string][]step
	sequence  []*macro // unchanged, those of included files too
	parts     []any    // the output in order: a string unchanged, or a *macro
	files     []string
}

func newSource(file string) *source {
	return &source{file: file, arm64: filepath.Base(filepath.Dir(file)) == "aarch64", apart: map[string]bool{}, aliases: map[string]string{}, words: map[string]bool{}, lets: map[string]string{},
		places: map[string]map[string]string{}, streams: map[string]*stream{}, groups: map[string][]input{}, macros: map[string]*macro{},
		woven: map[string][]step{}, improved: map[string][]step{}, asWritten: map[string][]step{}}
}

// physical reads instructions whose vectors are already chosen: there d0 is a register, not a word.
func (s *source) physical() *source {
	return &source{aliases: s.aliases, arm64: s.arm64, apart: s.apart, lets: s.lets}
}

var commentStart = regexp.MustCompile(`\s*// ?`)

// readSource reads a file. Included files provide names, streams and macros, but no output.
func readSource(file string) (*source, error) {
	s := newSource(file)
	return s, s.read(file, false)
}

func (s *source) read(file string, included bool) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	s.files = append(s.files, file)
	var current *stream
	var inMacro *macro
	var inOrder bool
	group := ""
	for number, raw := range strings.Split(string(text), "\n") {
		at := fmt.Sprintf("%s:%d", filepath.Base(file), number+1)
		fail := func(format string, args ...any) error {
			return fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...))
		}
		if verbatim, ok := strings.CutPrefix(raw, "|"); ok {
			if !included {
				s.parts = append(s.parts, strings.TrimPrefix(verbatim, " "))
			}
			continue
		}
		indented := strings.HasPrefix(raw, "    ")
		words := strings.Fields(raw)
		if len(words) == 0 || !indented && strings.HasPrefix(words[0], "//") {
			continue
		}
		if indented && current != nil {
			current.body = append(current.body, strings.TrimSpace(raw))
			continue
		}
		if indented && inMacro != nil {
			if strings.HasPrefix(raw, "        ") && inOrder {
				inMacro.order += " " + strings.TrimSpace(raw)
				continue
			}
			inOrder = words[0] == "order"
			rest := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(raw), words[0]))
			switch {
			case words[0] == "//":
				inMacro.doc = append(inMacro.doc, rest)
			case words[0] == "order" && len(words) == 2:
				if s.macros[words[1]] == nil {
					return fail("no macro %s before this one", words[1])
				}
				inMacro.order = s.macros[words[1]].order
			case words[0] == "order":
			case words[0] == "in" || words[0] == "out":
				m, err := s.parsePlaces(words[1:])
				if err != nil {
					return fail("%v", err)
				}
				if words[0] == "in" {
					inMacro.in = m
				} else {
					inMacro.out = m
				}
			case words[0] == "with" && len(words) == 2 && s.groups[words[1]] != nil:
				inMacro.inputs = append(inMacro.inputs, s.groups[words[1]]...)
			case words[0] == "fixed":
				inMacro.fixed = true
			case words[0] == "loop":
				inMacro.times = 3
			case words[0] == "begin" || words[0] == "end":
				l := splitComment(rest)
				fx, err := s.physical().effects(l.text)
				if err != nil {
					return fail("%v", err)
				}
				if words[0] == "begin" {
					inMacro.begin = append(inMacro.begin, newStep(l, fx))
				} else {
					inMacro.end = append(inMacro.end, newStep(l, fx))
				}
			case len(words) > 2 && words[1] == "=":
				inMacro.inputs = append(inMacro.inputs, input{words[0], strings.Join(words[2:], " ")})
			default:
				return fail("%q is no line of a macro", words[0])
			}
			continue
		}
		if indented && group != "" && len(words) > 2 && words[1] == "=" {
			s.groups[group] = append(s.groups[group], input{words[0], strings.Join(words[2:], " ")})
			continue
		}
		if indented {
			return fail("indented, but nothing it belongs to")
		}
		current, inMacro, inOrder, group = nil, nil, false, ""
		switch {
		case words[0] == "include" && len(words) == 2:
			if err := s.read(filepath.Join(filepath.Dir(file), words[1]), true); err != nil {
				return err
			}
		case words[0] == "alias" && len(words) == 3:
			s.aliases[words[1]] = words[2]
			if !included {
				s.parts = append(s.parts, "#define "+words[1]+" "+words[2])
			}
		case words[0] == "header" && len(words) == 2:
			if err := s.readHeader(filepath.Join(filepath.Dir(file), words[1])); err != nil {
				return err
			}
		case words[0] == "apart" && s.arm64:
			for _, name := range words[1:] {
				units := s.units(name)
				if len(units) != 1 {
					return fail("%s is no register", name)
				}
				s.apart[units[0]] = true
			}
		case words[0] == "words":
			for _, w := range words[1:] {
				s.words[w] = true
			}
		case words[0] == "places" && len(words) > 2:
			m, err := s.parsePlaces(words[2:])
			if err != nil {
				return fail("%v", err)
			}
			s.places[words[1]] = m
		case words[0] == "stream" && len(words) >= 2:
			current = &stream{name: words[1], params: words[2:]}
			if s.streams[current.name] != nil {
				return fail("stream %s stands twice", current.name)
			}
			s.streams[current.name] = current
		case words[0] == "group" && len(words) == 2:
			if group = words[1]; s.groups[group] != nil {
				return fail("group %s stands twice", group)
			}
		case words[0] == "macro" && len(words) >= 2:
			inMacro = &macro{name: words[1], params: strings.Join(words[2:], " "), times: 1, at: at}
			if s.macros[inMacro.name] != nil {
				return fail("macro %s stands twice", inMacro.name)
			}
			s.macros[inMacro.name] = inMacro
			s.sequence = append(s.sequence, inMacro)
			if !included {
				s.parts = append(s.parts, inMacro)
			}
		default:
			return fail("%q is not understood", raw)
		}
	}
	return nil
}

var definition = regexp.MustCompile(`(?m)^#define (\w+) (?:([rxwv][0-9]+)|([0-9]+))(?: |$)`)

// readHeader takes names of registers and numbers from a header that the written text includes.
func (s *source) readHeader(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	s.files = append(s.files, file)
	for _, d := range definition.FindAllStringSubmatch(string(text), -1) {
		if d[2] != "" {
			s.aliases[d[1]] = d[2]
		} else {
			s.lets[d[1]] = d[3]
		}
	}
	return nil
}

func (s *source) parsePlaces(words []string) (map[string]string, error) {
	m := map[string]string{}
	for _, w := range words {
		name, register, ok := strings.Cut(w, ":")
		if !ok {
			named, known := s.places[w]
			if !known {
				return nil, fmt.Errorf("places %s are not known", w)
			}
			for k, v := range named {
				m[k] = v
			}
			continue
		}
		if register == "-" {
			delete(m, name)
			continue
		}
		if !s.words[name] || !registerName.MatchString(register) || register[0] != 'q' {
			return nil, fmt.Errorf("%s: a word and its vector", w)
		}
		m[name] = register
	}
	return m, nil
}

func splitComment(text string) line {
	if at := commentStart.FindStringIndex(text); at != nil {
		return line{strings.TrimSpace(text[:at[0]]), strings.TrimSpace(text[at[1]:])}
	}
	return line{strings.TrimSpace(text), ""}
}

var token = regexp.MustCompile(`[A-Za-z_][A-Za-z_0-9]*`)
var difference = regexp.MustCompile(`#32-([0-9]+)\b`)

// substitute replaces names by values, and 32-x by its value.
func substitute(text string, values map[string]string) string {
	text = token.ReplaceAllStringFunc(text, func(name string) string {
		if v, ok := values[name]; ok {
			return v
		}
		return name
	})
	return difference.ReplaceAllStringFunc(text, func(d string) string {
		n, _ := strconv.Atoi(d[len("#32-"):])
		return fmt.Sprintf("#%d", 32-n)
	})
}

// expand makes the instructions of "name arguments [from N] [to M]": those numbered N .. M-1.
func (s *source) expand(call string) ([]op, error) {
	words := strings.Fields(call)
	name, args := words[0], words[1:]
	from, to := 0, -1
	for len(args) >= 2 {
		n, err := strconv.Atoi(args[len(args)-1])
		switch word := args[len(args)-2]; {
		case err == nil && word == "from":
			from = n
		case err == nil && word == "to":
			to = n
		default:
			n = -1
		}
		if n < 0 {
			break
		}
		args = args[:len(args)-2]
	}
	var ops []op
	if woven, ok := s.woven[name]; ok {
		for _, st := range woven {
			ops = append(ops, op{line: st.line, physical: true})
		}
	} else {
		st := s.streams[name]
		if st == nil {
			return nil, fmt.Errorf("no stream %s, nor a macro before this one", name)
		}
		if len(args) != len(st.params) {
			return nil, fmt.Errorf("stream %s takes %d names, not %d", name, len(st.params), len(args))
		}
		values := map[string]string{}
		for k, v := range s.lets {
			if !s.arm64 { // there the text keeps them
				values[k] = v
			}
		}
		for i, p := range st.params {
			values[p] = args[i]
		}
		for _, body := range st.body {
			more, err := s.expandLine(body, values)
			if err != nil {
				return nil, fmt.Errorf("stream %s: %w", name, err)
			}
			ops = append(ops, more...)
		}
	}
	if to < 0 {
		to = len(ops)
	}
	if from > to || to > len(ops) {
		return nil, fmt.Errorf("%s has %d instructions", call, len(ops))
	}
	return ops[from:to], nil
}

func (s *source) expandLine(body string, values map[string]string) ([]op, error) {
	l := splitComment(body)
	l.text, l.comment = strings.Join(strings.Fields(substitute(l.text, values)), " "), substitute(l.comment, values)
	if l.text == "" {
		return nil, nil // a comment alone stays in the source
	}
	words := strings.Fields(strings.ReplaceAll(l.text, ",", " "))
	switch words[0] {
	case "use":
		return s.expand(strings.Join(words[1:], " "))
	case "rotate": // rotate x, n: to the left
		if len(words) != 3 {
			return nil, fmt.Errorf("%s: rotate takes a word and a number", l.text)
		}
		x := words[1]
		n, err := strconv.Atoi(words[2])
		if err != nil || n < 1 || n > 31 {
			return nil, fmt.Errorf("%s: a rotation is by 1 to 31 bits", l.text)
		}
		comment := fmt.Sprintf("%s <<< %d", x, n)
		if n == 16 {
			return []op{{line: line{fmt.Sprintf("vrev32.16 %s, %s", x, x), comment}}}, nil
		}
		return []op{{line: line{fmt.Sprintf("vshl.i32 %s', %s, #%d", x, x, n), comment}},
			{line: line{fmt.Sprintf("vsri.32 %s', %s, #%d", x, x, 32-n), x}, renamed: x}}, nil
	case "exchange":
		if len(words) != 3 || !s.words[words[1]] || !s.words[words[2]] {
			return nil, fmt.Errorf("%s: exchange takes two words", l.text)
		}
		return []op{{line: line{fmt.Sprintf("vswp %s, %s", words[1], words[2]), l.comment}, exchange: [2]string{words[1], words[2]}}}, nil
	}
	return []op{{line: l}}, nil
}
