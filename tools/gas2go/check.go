package main

import (
	"errors"
	"fmt"
)

// check decodes f with every disassembler and holds each result against the convention. The first disassembler's
// instructions stay in f.body; the others must find the same boundaries and jumps.
func (t *target) check(f *function, with []disassembler, l *layout) error {
	var errs []error
	for i, d := range with {
		body, err := t.decode(d, f.code)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.name, err))
			continue
		}
		if i > 0 && f.body != nil {
			if err := sameDecoding(f, body, with[0].name, d.name); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		if found := t.checkBody(&function{name: f.name, code: f.code, body: body, scratchEnd: f.scratchEnd}, l); len(errs) == 0 {
			errs = append(errs, found...) // a second decoder's complaints of the same would only repeat
		}
		if i == 0 {
			f.body = body
		}
	}
	return errors.Join(errs...)
}

func sameDecoding(f *function, other []instruction, nameA, nameB string) error {
	for i, a := range f.body {
		if i >= len(other) || other[i].offset != a.offset || len(other[i].code) != len(a.code) || other[i].target != a.target {
			return fmt.Errorf("%s+%#x: decoders differ: %s: %s; %s: %s", f.name, a.offset, nameA, f.at(i), nameB,
				(&function{body: other}).at(i))
		}
	}
	if len(other) != len(f.body) {
		return fmt.Errorf("%s: decoders differ: %s finds %d instructions, %s %d", f.name, nameA, len(f.body), nameB, len(other))
	}
	return nil
}

// checkBody holds one decoded function against t's rules.
func (t *target) checkBody(f *function, l *layout) []error {
	if len(f.body) == 0 {
		return []error{fmt.Errorf("%s: empty", f.name)}
	}
	var errs []error
	for i := range f.body {
		if reason := t.refuse(f, i); reason != "" {
			errs = append(errs, f.errorAt(i, reason))
		}
	}
	if last := t.end(f); last < 0 || !t.rules.ret.MatchString(f.body[last].text) || t.delay && !t.rules.nop.MatchString(f.body[last+1].text) {
		errs = append(errs, f.errorAt(max(last, 0), "ends without ret"))
	}
	reached := t.reach(f)
	for i := range f.body {
		if !reached[i] && !t.rules.nop.MatchString(f.body[i].text) {
			errs = append(errs, f.errorAt(i, "data in text, or dead code: nothing leads here"))
			break
		}
	}
	if t.rules.dataflow != nil && len(errs) == 0 {
		errs = append(errs, t.rules.dataflow(t, f, l)...)
	}
	return errs
}

func (f *function) errorAt(i int, reason string) error {
	return fmt.Errorf("%s+%#x: %s: %s", f.name, f.body[i].offset, f.body[i].text, reason)
}

// end is the index of the instruction that must be the return: the last, or the one before a delay slot.
func (t *target) end(f *function) int {
	if t.delay {
		return len(f.body) - 2
	}
	return len(f.body) - 1
}

// refuse returns why instruction i of f breaks the convention, or "".
func (t *target) refuse(f *function, i int) string {
	ins, r := &f.body[i], &t.rules
	if r.nop.MatchString(ins.text) {
		return ""
	}
	if r.ret.MatchString(ins.text) {
		if i != t.end(f) {
			return "ret before the end; jump to the end instead"
		}
		return ""
	}
	jump := r.jump.MatchString(ins.mnemonic)
	if jump {
		if t.delay && i+1 < len(f.body) && r.jump.MatchString(f.body[i+1].mnemonic) {
			return "a jump in its delay slot"
		}
		switch {
		case ins.target < 0:
			return "indirect jump"
		case ins.target >= len(f.code):
			return "jumps out of the function"
		case f.index(ins.target) < 0:
			return "jumps into the middle of an instruction"
		}
	}
	for _, no := range r.refused {
		if no.mnemonic.MatchString(ins.mnemonic) && (no.operands == nil || no.operands.MatchString(ins.operands)) {
			return no.reason
		}
	}
	for _, name := range word.FindAllString(ins.operands, -1) {
		if reason, ok := r.reserved[name]; ok {
			return name + ": " + reason
		}
	}
	if !jump && !r.allowed.MatchString(ins.mnemonic) && !r.vector.MatchString(ins.operands) {
		return "not among the instructions that a kernel may use (see rules.allowed in tools/gas2go/target.go)"
	}
	return ""
}

// index returns which instruction starts at offset, or -1.
func (f *function) index(offset int) int {
	low, high := 0, len(f.body)
	for low < high {
		if mid := (low + high) / 2; f.body[mid].offset < offset {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low < len(f.body) && f.body[low].offset == offset {
		return low
	}
	return -1
}

// successors returns the instructions that may run after instruction i.
func (t *target) successors(f *function, i int) []int {
	ins := &f.body[i]
	var next []int
	if t.delay { // the delay slot runs next, and after it the instruction found here
		if t.rules.jump.MatchString(ins.mnemonic) {
			return []int{i + 1}[:min(1, len(f.body)-1-i)]
		}
		if i > 0 && t.rules.jump.MatchString(f.body[i-1].mnemonic) {
			ins = &f.body[i-1]
		}
	}
	if t.rules.ret.MatchString(ins.text) {
		return nil
	}
	if ins.target >= 0 {
		if to := f.index(ins.target); to >= 0 {
			next = append(next, to)
		}
	}
	if !t.rules.always.MatchString(ins.mnemonic) && i+1 < len(f.body) {
		next = append(next, i+1)
	}
	return next
}

// reach marks the instructions that can run.
func (t *target) reach(f *function) []bool {
	reached := make([]bool, len(f.body))
	reached[0] = true
	for todo := []int{0}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, next := range t.successors(f, i) {
			if !reached[next] {
				reached[next] = true
				todo = append(todo, next)
			}
		}
	}
	return reached
}
