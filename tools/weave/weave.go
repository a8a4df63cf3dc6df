package main

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// value is one write of a unit. Each read must see the same value as in the order of the source.
type value int

// thread is an input with its instructions, and the values that each reads and writes, in the order of the source.
type thread struct {
	letter string
	ops    []op
	reads  [][]value
	writes [][]value
	fx     []effects
	next   []int // those not yet issued
}

// machine tracks which value is in which register while instructions are issued.
type machine struct {
	s          *source
	m          *macro
	threads    []*thread
	place      map[string]string // vector by word
	content    map[string]value  // by unit; vectors as d registers
	pending    map[value]int     // how often it is still read, once more if it is a result
	freed      map[string]int    // when a vector's last value was read for the last time
	clock      int
	final      map[string]value
	steps      []step
	initial    map[string]value
	halfLoaded string // the word of which only one half has been loaded
	count      value
}

func (s *source) start(m *macro) (*machine, error) {
	w := &machine{s: s, m: m, place: map[string]string{}, content: map[string]value{}, pending: map[value]int{},
		freed: map[string]int{}, initial: map[string]value{}}
	latest := map[string]value{}
	read := func(unit string) value {
		if _, ok := latest[unit]; !ok {
			w.count++
			latest[unit], w.initial[unit] = w.count, w.count
		}
		return latest[unit]
	}
	for word, register := range m.in {
		w.place[word] = register
		for i, half := range []string{".lo", ".hi"} {
			w.content[s.units(register)[i]] = read(word + half)
		}
	}
	for _, in := range m.inputs {
		ops, err := s.expand(in.call)
		if err != nil {
			return nil, err
		}
		t := &thread{letter: in.letter, ops: ops}
		for i, o := range ops {
			reader := s
			if o.physical {
				reader = s.physical()
			}
			fx, err := reader.effects(o.text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", o.text, err)
			}
			var reads, writes []value
			for _, u := range fx.reads {
				v := read(u)
				reads = append(reads, v)
				w.pending[v]++
			}
			if fx.memory.load {
				for _, word := range fx.memory.words {
					reads = append(reads, read("memory "+word))
				}
			}
			targets := fx.writes
			if o.renamed != "" {
				targets = s.units(o.renamed)
			}
			for _, u := range targets {
				w.count++
				latest[u] = w.count
				writes = append(writes, w.count)
			}
			if fx.memory.store {
				for _, word := range fx.memory.words {
					w.count++
					latest["memory "+word] = w.count
					writes = append(writes, w.count)
				}
			}
			t.reads, t.writes, t.fx = append(t.reads, reads), append(t.writes, writes), append(t.fx, fx)
			t.next = append(t.next, i)
		}
		w.threads = append(w.threads, t)
	}
	for unit, v := range w.initial {
		if !strings.Contains(unit, ".") {
			w.content[unit] = v
		}
	}
	w.final = latest
	for word := range m.out {
		for _, half := range []string{".lo", ".hi"} {
			w.pending[latest[word+half]]++
		}
	}
	return w, nil
}

// at returns the current unit of a unit of the source. The unit of a word lies in the word's vector.
func (w *machine) at(unit string) (string, error) {
	word, half, ok := strings.Cut(unit, ".")
	if !ok {
		return unit, nil
	}
	register := w.place[word]
	if register == "" {
		return "", fmt.Errorf("%s is in no register", word)
	}
	return w.s.units(register)[map[string]int{"lo": 0, "hi": 1}[half]], nil
}

var wordToken = regexp.MustCompile(`[A-Za-z_][A-Za-z_0-9]*('|\.lo|\.hi|\[\])?`)

// render writes an instruction with vectors for words, and inside braces as pairs of d registers.
func (w *machine) render(text string, place func(word string) string) string {
	mnemonic, rest, _ := strings.Cut(text, " ")
	depth := 0
	var out strings.Builder
	last := 0
	for _, at := range wordToken.FindAllStringIndex(rest, -1) {
		depth += strings.Count(rest[last:at[0]], "{") - strings.Count(rest[last:at[0]], "}")
		out.WriteString(rest[last:at[0]])
		last = at[1]
		name := rest[at[0]:at[1]]
		base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, ".lo"), ".hi"), "[]")
		if !w.s.words[strings.TrimSuffix(base, "'")] {
			out.WriteString(name)
			continue
		}
		register := place(base)
		n, _ := strconv.Atoi(register[1:])
		lanes := ""
		if strings.HasSuffix(name, "[]") {
			lanes = "[]"
		}
		switch {
		case strings.HasSuffix(name, ".lo"):
			fmt.Fprintf(&out, "d%d", 2*n)
		case strings.HasSuffix(name, ".hi"):
			fmt.Fprintf(&out, "d%d", 2*n+1)
		case depth > 0:
			fmt.Fprintf(&out, "d%d%s, d%d%s", 2*n, lanes, 2*n+1, lanes)
		default:
			out.WriteString(register)
		}
	}
	out.WriteString(rest[last:])
	if rest == "" {
		return mnemonic
	}
	return mnemonic + " " + out.String()
}

// exchanges reports whether an instruction leaves results in the registers of both operands.
func exchanges(text string) bool {
	return strings.HasPrefix(text, "vswp") || strings.HasPrefix(text, "vtrn")
}

// targets returns the words that an instruction makes, in vectors that the order chooses, and whether it also reads the
// first one.
func (t *thread) targets(i int) (words []string, isRead bool) {
	if exchanges(t.ops[i].text) {
		return nil, false
	}
	for _, u := range t.fx[i].writes {
		if name, _, ok := strings.Cut(u, "."); ok && !slices.Contains(words, name) {
			words = append(words, name)
		}
	}
	for _, u := range t.fx[i].reads {
		name, _, _ := strings.Cut(u, ".")
		isRead = isRead || len(words) > 0 && name == words[0]
	}
	return words, isRead
}

func (w *machine) isFree(register string) bool {
	for _, u := range w.s.units(register) {
		if w.pending[w.content[u]] > 0 {
			return false
		}
	}
	return true
}

// automatic chooses the vector of a result: its present vector, or else the one freed last. The second half of a word
// goes into the same vector as the first.
func (w *machine) automatic(t *thread, i int) (string, error) {
	words, isRead := t.targets(i)
	if len(words) == 0 {
		return "", nil
	}
	now := w.place[words[0]]
	isHalf := len(t.fx[i].writes) == 1 && strings.Contains(t.fx[i].writes[0], ".")
	if now != "" && isHalf && w.halfLoaded == words[0] {
		return now, nil
	}
	if now != "" && (isRead || w.isFree(now)) {
		return now, nil
	}
	best := ""
	for n := range 16 {
		q := fmt.Sprintf("q%d", n)
		if w.isFree(q) && (best == "" || w.freed[q] > w.freed[best]) {
			best = q
		}
	}
	if best == "" {
		return "", fmt.Errorf("no vector is free for %s", words[0])
	}
	return best, nil
}

// written returns the instruction with vectors for words. The results are in vector to and the following ones.
func (w *machine) written(t *thread, i int, to string) string {
	if t.ops[i].physical {
		return t.ops[i].text
	}
	words, _ := t.targets(i)
	seen := map[string]bool{}
	return w.render(t.ops[i].text, func(name string) string {
		if k := slices.Index(words, name); k >= 0 && !seen[name] {
			seen[name] = true
			return vectorAfter(to, k)
		}
		if w.place[name] == "" {
			return "q?"
		}
		return w.place[name]
	})
}

func vectorAfter(q string, k int) string {
	n, _ := strconv.Atoi(q[1:])
	return fmt.Sprintf("q%d", n+k)
}

// issue emits instruction i of thread t, with its result in vector to, or in the one that automatic chooses. It
// checks that the instruction reads the same values as in the source's order, and overwrites no value that is still
// needed. If a check fails, it changes nothing.
func (w *machine) issue(t *thread, i int, to string) (string, error) {
	o, fx := t.ops[i], t.fx[i]
	words, _ := t.targets(i)
	if to == "" {
		var err error
		if to, err = w.automatic(t, i); err != nil {
			return "", err
		}
	}
	isSwap := exchanges(o.text)
	text := w.written(t, i, to)
	if strings.Contains(text, "q?") {
		return "", fmt.Errorf("%s: a word is in no register", o.text)
	}
	for n, u := range fx.reads {
		at, err := w.at(u)
		if err != nil {
			return text, err
		}
		if w.content[at] != t.reads[i][n] {
			return text, fmt.Errorf("%s (%s): %s differs from its value in the order of the source", text, o.text, u)
		}
	}
	if fx.memory.load {
		for n, word := range fx.memory.words {
			if w.content["memory "+word] != t.reads[i][len(fx.reads)+n] {
				return text, fmt.Errorf("%s: memory differs from its content in the order of the source", text)
			}
		}
	}
	// The written operands, as units of registers.
	var targets []string
	for _, u := range fx.writes {
		name, half, isWord := strings.Cut(u, ".")
		if !isWord {
			targets = append(targets, u)
			continue
		}
		register := w.place[name]
		if !isSwap {
			register = vectorAfter(to, slices.Index(words, name))
		}
		targets = append(targets, w.s.units(register)[map[string]int{"lo": 0, "hi": 1}[half]])
	}
	for n := range fx.reads {
		w.pending[t.reads[i][n]]--
	}
	for _, u := range targets {
		if w.pending[w.content[u]] > 0 {
			for n := range fx.reads {
				w.pending[t.reads[i][n]]++
			}
			return text, fmt.Errorf("%s (%s) overwrites %s, which is still needed", text, o.text, u)
		}
	}
	w.clock++
	for _, u := range fx.reads {
		if at, _ := w.at(u); at[0] == 'd' { // not on arm64, where the order chooses no vector
			var d int
			fmt.Sscanf(at, "d%d", &d)
			if q := fmt.Sprintf("q%d", d/2); w.isFree(q) {
				w.freed[q] = w.clock
			}
		}
	}
	for n, u := range targets {
		w.content[u] = t.writes[i][n]
	}
	if fx.memory.store {
		for n, word := range fx.memory.words {
			w.content["memory "+word] = t.writes[i][len(fx.writes)+n]
		}
	}
	for k, word := range words {
		w.place[word] = vectorAfter(to, k)
	}
	if len(words) > 0 && len(targets) == 1 && w.halfLoaded != words[0] {
		w.halfLoaded = words[0]
	} else if len(words) > 0 && w.halfLoaded == words[0] {
		w.halfLoaded = ""
	}
	if o.renamed != "" {
		w.place[o.renamed] = to
		delete(w.place, o.renamed+"'")
	}
	if x, y := o.exchange[0], o.exchange[1]; x != "" {
		w.place[x], w.place[y] = w.place[y], w.place[x]
		for n, u := range fx.writes { // the values were exchanged, and so were the names
			at, _ := w.at(u)
			w.content[at] = t.writes[i][n]
		}
	}
	physical, err := w.s.physical().effects(text)
	if err != nil {
		return text, err
	}
	w.steps = append(w.steps, newStep(line{text, o.comment}, physical))
	t.next = slices.Delete(t.next, slices.Index(t.next, i), slices.Index(t.next, i)+1)
	return text, nil
}

func newStep(l line, e effects) step {
	st := step{line: l, reads: setOf(e.reads), writes: setOf(e.writes), accumulates: e.accumulates, kind: e.kind,
		beats: e.beats, memory: e.memory}
	if e.address != "" {
		st.address = bitOf(e.address)
	}
	return st
}

var orderToken = regexp.MustCompile(`^([0-9]*)([A-Za-z])(?:\+([0-9]+))?(?:@([0-9]+))?$`)

// weave issues a macro's instructions in its order, and checks the result.
func (s *source) weave(m *macro) ([]step, error) {
	w, err := s.start(m)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", m.at, m.name, err)
	}
	fail := func(err error) ([]step, error) {
		return nil, fmt.Errorf("%s: %s: after %d instructions: %w", m.at, m.name, len(w.steps), err)
	}
	tokens := strings.Fields(m.order)
	if m.order == "" {
		for _, t := range w.threads {
			tokens = append(tokens, fmt.Sprintf("%d%s", len(t.ops), t.letter))
		}
	}
	for _, tok := range tokens {
		parts := orderToken.FindStringSubmatch(tok)
		if parts == nil {
			return fail(fmt.Errorf("%q is no part of an order", tok))
		}
		at := slices.IndexFunc(w.threads, func(t *thread) bool { return t.letter == parts[2] })
		if at < 0 {
			return fail(fmt.Errorf("%q: no such stream", tok))
		}
		count, skip, to := 1, 0, ""
		if parts[1] != "" {
			count, _ = strconv.Atoi(parts[1])
		}
		if parts[3] != "" {
			skip, _ = strconv.Atoi(parts[3])
		}
		if parts[4] != "" {
			to = "q" + parts[4]
		}
		for range count {
			t := w.threads[at]
			if skip >= len(t.next) {
				return fail(fmt.Errorf("%q: stream %s has no more instructions", tok, t.letter))
			}
			if _, err := w.issue(t, t.next[skip], to); err != nil {
				return fail(err)
			}
		}
	}
	return w.steps, w.done()
}

// done reports whether all instructions are issued and the results are in their places.
func (w *machine) done() error {
	var list []error
	for _, t := range w.threads {
		if len(t.next) > 0 {
			list = append(list, fmt.Errorf("%s: %s: %d instructions of stream %s are missing", w.m.at, w.m.name, len(t.next), t.letter))
		}
	}
	for _, word := range slices.Sorted(maps.Keys(w.m.out)) {
		register := w.m.out[word]
		if w.place[word] != register {
			list = append(list, fmt.Errorf("%s: %s: %s ends in %s, not in %s", w.m.at, w.m.name, word, w.place[word], register))
			continue
		}
		for i, half := range []string{".lo", ".hi"} {
			if w.content[w.s.units(register)[i]] != w.final[word+half] {
				list = append(list, fmt.Errorf("%s: %s: %s does not end with its value", w.m.at, w.m.name, word))
			}
		}
	}
	for _, unit := range slices.Sorted(maps.Keys(w.final)) {
		v := w.final[unit]
		if !strings.Contains(unit, ".") && !strings.HasPrefix(unit, "memory") && w.content[unit] != v {
			list = append(list, fmt.Errorf("%s: %s: %s ends with another value than in the order of the source", w.m.at, w.m.name, unit))
		}
	}
	return errors.Join(list...)
}

// readOrder is the inverse: it finds the order of a macro from its instructions in lines.
func (s *source) readOrder(m *macro, lines []string) (string, error) {
	w, err := s.start(m)
	if err != nil {
		return "", err
	}
	var tokens []string
	for n, text := range lines {
		found := ""
		var near []string
	search:
		for _, t := range w.threads {
			for skip := 0; skip < len(t.next) && skip < 60; skip++ {
				i := t.next[skip]
				if mnemonic, _, _ := strings.Cut(t.ops[i].text, " "); !strings.HasPrefix(text, mnemonic+" ") {
					continue
				}
				tries := []string{""}
				if words, _ := t.targets(i); len(words) > 0 {
					for q := range 16 {
						tries = append(tries, fmt.Sprintf("q%d", q))
					}
				}
				for _, to := range tries {
					at, err := to, error(nil)
					if to == "" {
						if at, err = w.automatic(t, i); err != nil {
							continue
						}
					}
					if w.written(t, i, at) != text {
						continue
					}
					if _, err := w.issue(t, i, to); err != nil {
						near = append(near, err.Error())
						continue
					}
					found = t.letter
					if skip > 0 {
						found += fmt.Sprintf("+%d", skip)
					}
					if to != "" {
						found += "@" + to[1:]
					}
					break search
				}
			}
		}
		if found == "" {
			return "", fmt.Errorf("%s: instruction %d, %s, is in no stream: %s", m.name, n+1, text, strings.Join(near, "; "))
		}
		tokens = append(tokens, found)
	}
	if err := w.done(); err != nil {
		return "", err
	}
	return counted(tokens), nil
}

// counted writes n equal consecutive parts as one.
func counted(tokens []string) string {
	var out []string
	for i := 0; i < len(tokens); {
		n := 1
		for len(tokens[i]) == 1 && i+n < len(tokens) && tokens[i+n] == tokens[i] {
			n++
		}
		if n > 1 {
			out = append(out, fmt.Sprintf("%d%s", n, tokens[i]))
		} else {
			out = append(out, tokens[i])
		}
		i += n
	}
	return strings.Join(out, " ")
}
