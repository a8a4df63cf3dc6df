package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/sealane/sealane/tools/internal/gas"
)

// place is the known content of a register: whether it points into scratch memory, and how many bytes after its
// start.
type place struct {
	scratch bool
	offset  int
}

// places has the general registers of either ARM.
type places [32]place

var (
	armRegister    = pattern(`(?:r|x|w)([0-9]+)|(sl)|(fp)|(ip)`)
	armVector      = pattern(`([qdshbv])([0-9]+)(?:\.(?:([0-9]+)?([bhsdq]))?(?:\[[0-9]+\])?)?(?:\[\]|\[[0-9]+\])?`)
	armSuffix      = regexp.MustCompile(`(?:` + armConditions + `)$`)
	armNoResult    = regexp.MustCompile(`^(?:cmp|cmn|tst|teq|ccmp|ccmn|st|vst|b$|b[a-z]{2}$|b\.|cbn?z|tbn?z|pld|prfm|nop)`)
	armTwoResults  = regexp.MustCompile(`^(?:[us]mull|[us]mlal|umaal|ldrd|ldn?p|ldpsw)`)
	armBlock       = regexp.MustCompile(`^v?(ldm|stm)(ia|ib|da|db|fd|ea|ed|fa)?`)
	armVectorMoves = regexp.MustCompile(`^(?:vmov|umov|smov|fmov)`)
)

// checkARMState finds faults that span instructions: accesses to scratch memory outside the kernel's part, and a
// scratch pointer that is not restored.
func checkARMState(t *target, f *function, l *layout) []error {
	_, errs := armScratchUse(t, f, l)
	return errs
}

// armScratchUse returns the end of the scratch memory that f uses. It follows the scratch address through every
// general register. It returns -1 if an access uses a register that got this address in another way than by adding
// and subtracting constants. It also returns errors for accesses outside the kernel's part, and if r1 or x1 does not
// point to scratch at the end.
func armScratchUse(t *target, f *function, l *layout) (end int, errs []error) {
	var entry places
	entry[1] = place{scratch: true}
	at := forward(t, f, entry, moveARM, func(a, b places) places {
		for i := range a {
			if a[i] != b[i] {
				a[i] = place{}
			}
		}
		return a
	})
	hidden := false
	for i := range f.body {
		ins := &f.body[i]
		after := moveARM(ins, at[i])
		for r := range after { // r1 or x1 no longer has a known address in scratch memory
			hidden = hidden || at[i][r].scratch && !after[r].scratch && r == 1
		}
		base, from, bytes, ok := armAccess(ins)
		if base < 0 || !at[i][base].scratch {
			continue
		}
		if !ok {
			hidden = true
			continue
		}
		from += at[i][base].offset
		to := from + bytes
		if from < l.scratchSave || to > l.scratchEnd(f) {
			errs = append(errs, f.errorAt(i, fmt.Sprintf("bytes %d to %d of scratch memory; a kernel's part is %d to %d", from, to, l.scratchSave, l.scratchEnd(f))))
		}
		end = max(end, to)
	}
	last := len(f.body) - 1
	switch p := at[last][1]; {
	case !p.scratch:
		errs = append(errs, f.errorAt(last, "the second argument's register may not point to scratch here, as it must at the end"))
	case p.offset != 0:
		errs = append(errs, f.errorAt(last, fmt.Sprintf("the second argument's register points %d bytes past scratch, where it must point at the end", p.offset)))
	}
	if hidden {
		end = -1
	}
	return end, errs
}

// registerNumber returns which general register a word is, or -1.
func registerNumber(word string) int {
	m := armRegister.FindStringSubmatch(strings.TrimSuffix(strings.TrimSpace(word), "!"))
	switch {
	case m == nil:
		return -1
	case m[2] != "":
		return 10
	case m[3] != "":
		return 11
	case m[4] != "":
		return 12
	}
	n, err := strconv.Atoi(m[1])
	if err != nil || n > 31 {
		return -1
	}
	return n
}

// constant parses #4, #-4 and #0x10, the forms of all decoders.
func constant(word string) (int, bool) {
	text, ok := strings.CutPrefix(strings.TrimSpace(word), "#")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 0, 32)
	return int(n), err == nil
}

// moveARM applies an instruction to the places of the general registers.
func moveARM(ins *instruction, before places) places {
	after := before
	set := func(r int, p place) {
		if r >= 0 {
			after[r] = p
		}
	}
	parts := gas.Operands(ins.operands)
	if block := armBlock.FindStringSubmatch(ins.mnemonic); block != nil {
		if strings.HasSuffix(parts[0], "!") {
			r := registerNumber(parts[0])
			bytes, ok := listBytes(parts[1])
			if block[2] == "db" || block[2] == "da" {
				bytes = -bytes
			}
			if r >= 0 {
				set(r, place{before[r].scratch && ok, before[r].offset + bytes}.orNothing())
			}
		}
		if block[1] == "ldm" && !strings.HasPrefix(ins.mnemonic, "v") {
			for _, r := range listed(parts[1]) {
				set(r, place{})
			}
		}
		return conditional(ins, before, after)
	}
	base, _, _, _ := armAccess(ins)
	if base >= 0 {
		if step, writes := writeBack(ins, parts); writes {
			p := place{}
			if n, ok := step(); ok {
				p = place{before[base].scratch, before[base].offset + n}.orNothing()
			}
			set(base, p)
		}
	}
	switch {
	case armNoResult.MatchString(ins.mnemonic):
	case armTwoResults.MatchString(ins.mnemonic) && len(parts) > 1:
		set(registerNumber(parts[0]), place{})
		set(registerNumber(parts[1]), place{})
	case armVectorMoves.MatchString(ins.mnemonic):
		for _, part := range parts {
			if registerNumber(part) < 0 {
				break // the general registers before the vector are written, those after it read
			}
			set(registerNumber(part), place{})
		}
	default:
		if to := registerNumber(parts[0]); to >= 0 {
			set(to, sum(ins.mnemonic, parts, before))
		}
	}
	return conditional(ins, before, after)
}

// orNothing makes all places outside scratch the same.
func (p place) orNothing() place {
	if !p.scratch {
		return place{}
	}
	return p
}

// conditional joins the places before and after an instruction that may not run. A suffix that only looks like a condition
// merely loses knowledge.
func conditional(ins *instruction, before, after places) places {
	if strings.HasPrefix(ins.mnemonic, "v") || !armSuffix.MatchString(ins.mnemonic) || strings.Contains(ins.operands, "x") {
		return after
	}
	for i := range after {
		if after[i] != before[i] {
			after[i] = place{}
		}
	}
	return after
}

// sum returns the result of mov, add or sub of a constant as a place, or nothing.
func sum(mnemonic string, parts []string, before places) place {
	sign := 1
	switch mnemonic {
	case "mov":
		if from := armRegister.FindString(parts[len(parts)-1]); len(parts) == 2 && from != "" && from[0] != 'w' {
			return before[registerNumber(from)]
		}
		return place{}
	case "sub", "subs":
		sign = -1
	case "add", "adds":
	default:
		return place{}
	}
	if len(parts) == 2 { // add r1, #4
		parts = []string{parts[0], parts[0], parts[1]}
	}
	from := registerNumber(parts[1])
	n, ok := constant(parts[2])
	if len(parts) == 4 {
		ok = ok && (parts[3] == "lsl #12" || parts[3] == "lsl #0xc")
		n <<= 12
	}
	if from < 0 || !ok || !before[from].scratch || strings.HasPrefix(parts[1], "w") {
		return place{}
	}
	return place{true, before[from].offset + sign*n}
}

// armAccess returns the base register of a memory operand, the first byte relative to the base, and the number of
// bytes. base is -1 without such an operand; ok is false if the address is not base plus constant.
func armAccess(ins *instruction) (base, from, bytes int, ok bool) {
	parts := gas.Operands(ins.operands)
	if block := armBlock.FindStringSubmatch(ins.mnemonic); block != nil {
		bytes, ok = listBytes(parts[1])
		switch block[2] {
		case "ib":
			from = 4
		case "db":
			from = -bytes
		case "da":
			from = 4 - bytes
		case "fd", "ea", "ed", "fa":
			ok = false
		}
		return registerNumber(parts[0]), from, bytes, ok
	}
	m := memory.FindStringSubmatch(strings.Join(memoryPart(parts), ""))
	if m == nil {
		return -1, 0, 0, false
	}
	inside := strings.Split(m[1], ",")
	name, _, _ := strings.Cut(inside[0], ":") // r2:128 is an alignment
	base = registerNumber(name)
	ok = base >= 0
	for _, word := range inside[1:] {
		if strings.HasPrefix(strings.TrimSpace(word), ":") {
			continue
		}
		n, plain := constant(word)
		from += n
		ok = ok && plain
	}
	bytes, known := operandsBytes(ins, parts)
	return base, from, bytes, ok && known
}

// memoryPart returns the operand in brackets, if any.
func memoryPart(parts []string) []string {
	for i, p := range parts {
		if strings.HasPrefix(p, "[") {
			return parts[i : i+1]
		}
	}
	return nil
}

// writeBack reports whether the base register changes, and by how much, if that is known.
func writeBack(ins *instruction, parts []string) (step func() (int, bool), writes bool) {
	for i, p := range parts {
		if !strings.HasPrefix(p, "[") {
			continue
		}
		switch {
		case i+1 < len(parts): // [r2], #4 or [r2], r3
			return func() (int, bool) { return constant(parts[i+1]) }, true
		case strings.HasSuffix(p, "!"):
			return func() (int, bool) {
				_, from, bytes, ok := armAccess(ins)
				if strings.HasPrefix(parts[0], "{") { // [r2]!: by the bytes transferred
					return bytes, ok
				}
				return from, ok
			}, true
		}
	}
	return nil, false
}

// listed returns the general registers of {r3-r5, r7}.
func listed(list string) []int {
	var registers []int
	for _, word := range strings.Split(strings.Trim(list, "{}"), ",") {
		first, last, isRange := strings.Cut(word, "-")
		a := registerNumber(first)
		b := a
		if isRange {
			b = registerNumber(last)
		}
		for r := a; a >= 0 && r <= b; r++ {
			registers = append(registers, r)
		}
	}
	return registers
}

// listBytes returns the bytes of the registers in braces.
func listBytes(list string) (int, bool) {
	if general := listed(list); len(general) > 0 {
		return 4 * len(general), true
	}
	inside, _, ok := strings.Cut(strings.TrimPrefix(list, "{"), "}")
	if !ok {
		return 0, false
	}
	total := 0
	for _, word := range strings.Split(inside, ",") {
		first, last, isRange := strings.Cut(word, "-")
		a := armVector.FindStringSubmatch(strings.TrimSpace(first))
		if a == nil {
			return 0, false
		}
		n := 1
		if isRange {
			b := armVector.FindStringSubmatch(strings.TrimSpace(last))
			if b == nil {
				return 0, false
			}
			from, _ := strconv.Atoi(a[2])
			to, _ := strconv.Atoi(b[2])
			n = to - from + 1
		}
		total += n * vectorBytes(a)
	}
	return total, true
}

// vectorBytes returns the size of a register in a list, its elements' number and size being part of the name on arm64.
func vectorBytes(m []string) int {
	sizes := map[string]int{"b": 1, "h": 2, "s": 4, "d": 8, "q": 16}
	if m[1] != "v" {
		return sizes[m[1]]
	}
	n, err := strconv.Atoi(m[3])
	if err != nil {
		return sizes[m[4]] // one lane
	}
	return n * sizes[m[4]]
}

// operandsBytes returns how many bytes a load or store moves.
func operandsBytes(ins *instruction, parts []string) (int, bool) {
	if strings.HasPrefix(parts[0], "{") {
		n, ok := listBytes(parts[0])
		if lane := strings.Contains(parts[0], "["); lane && !strings.Contains(parts[0], "v") { // {d0[1]} of vld1.32
			_, width, found := strings.Cut(ins.mnemonic, ".")
			bits, err := strconv.Atoi(width)
			return bits / 8, found && err == nil && strings.HasPrefix(ins.mnemonic, "v")
		} else if lane {
			n = 0
			m := regexp.MustCompile(`\.([bhsd])`).FindStringSubmatch(parts[0])
			if m == nil {
				return 0, false
			}
			n = map[string]int{"b": 1, "h": 2, "s": 4, "d": 8}[m[1]] * (1 + strings.Count(parts[0], ","))
		}
		return n, ok
	}
	name := armSuffix.ReplaceAllString(ins.mnemonic, "")
	switch {
	case strings.HasPrefix(name, "pld"), strings.HasPrefix(name, "prfm"):
		return 0, true
	case strings.HasSuffix(name, "rb"), strings.HasSuffix(name, "rsb"):
		return 1, true
	case strings.HasSuffix(name, "rh"), strings.HasSuffix(name, "rsh"):
		return 2, true
	case strings.HasSuffix(name, "rsw"):
		return 4, true
	case strings.HasSuffix(name, "rd"):
		return 8, true
	}
	n := 4
	switch first := parts[0]; first[0] {
	case 'x', 'd':
		n = 8
	case 'q':
		n = 16
	case 'h':
		n = 2
	case 'b':
		n = 1
	}
	if strings.HasSuffix(name, "p") {
		n *= 2
	}
	return n, true
}
