package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/sealane/sealane/tools/internal/gas"
)

// RISC-V and MIPS have in common that an address is a register and a constant, and the first operand is the result.

// loadStore holds the differences between such instruction sets.
type loadStore struct {
	scratch  string         // the register that points to scratch memory
	add      *regexp.Regexp // mnemonic: adds a constant
	move     *regexp.Regexp // mnemonic: copies the register in its second operand if the third is zero
	zero     string
	noResult *regexp.Regexp // mnemonic: the first operand is only read
	vector   *regexp.Regexp // operand: a vector, which holds no address; or nil
	bytes    map[string]int // of loads and stores, by mnemonic
}

var address = regexp.MustCompile(`^(-?(?:0x)?[0-9a-f]*)\((\w+)\)$`)

// check finds faults that span instructions: accesses to scratch memory outside the kernel's part, and a scratch
// pointer that is not restored.
func (ls *loadStore) check(t *target, f *function, l *layout) []error {
	_, errs := ls.scratchUse(t, f, l)
	return errs
}

// scratchUse returns the end of the scratch memory that f uses, and errors for accesses outside the kernel's part. It
// returns -1 if the address was changed in other ways than by adding constants. It follows the address through all
// registers.
func (ls *loadStore) scratchUse(t *target, f *function, l *layout) (end int, errs []error) {
	names := make(map[string]int) // registers, numbered as they come
	number := func(name string) int {
		n, ok := names[name]
		if !ok {
			n = len(names)
			names[name] = n
		}
		return min(n, len(places{})-1)
	}
	var entry places
	entry[number(ls.scratch)] = place{scratch: true}
	step := func(ins *instruction, before places) places {
		after := before
		parts := gas.Operands(ins.operands)
		if ls.vector != nil && ls.vector.MatchString(parts[0]) || ls.noResult.MatchString(ins.mnemonic) || t.rules.jump.MatchString(ins.mnemonic) || parts[0] == "" || parts[0] == ls.zero {
			return after
		}
		var to place
		if ins.mnemonic == "move" && len(parts) == 2 {
			to = before[number(parts[1])]
		}
		if len(parts) == 3 {
			from := before[number(parts[1])]
			n, err := strconv.ParseInt(parts[2], 0, 32)
			switch {
			case ls.add.MatchString(ins.mnemonic) && err == nil && from.scratch:
				to = place{true, from.offset + int(n)}
			case ls.move.MatchString(ins.mnemonic) && parts[2] == ls.zero:
				to = from
			}
		}
		after[number(parts[0])] = to
		return after
	}
	at := forward(t, f, entry, step, func(a, b places) places {
		for i := range a {
			if a[i] != b[i] {
				a[i] = place{}
			}
		}
		return a
	})
	for i := range f.body {
		ins := &f.body[i]
		bytes, access := ls.bytes[ins.mnemonic]
		parts := gas.Operands(ins.operands)
		m := address.FindStringSubmatch(parts[len(parts)-1])
		if !access || m == nil || !at[i][number(m[2])].scratch {
			continue
		}
		n, err := strconv.ParseInt(m[1], 0, 32)
		if err != nil && m[1] != "" {
			errs = append(errs, f.errorAt(i, "an address that is not a constant and a register"))
			continue
		}
		from := at[i][number(m[2])].offset + int(n)
		to := from + bytes
		if from < l.scratchSave || to > l.scratchEnd(f) {
			errs = append(errs, f.errorAt(i, fmt.Sprintf("bytes %d to %d of scratch memory; a kernel's part is %d to %d", from, to, l.scratchSave, l.scratchEnd(f))))
		}
		end = max(end, to)
	}
	last := t.end(f)
	switch p := at[last][number(ls.scratch)]; {
	case !p.scratch:
		errs = append(errs, f.errorAt(last, "the second argument's register may not point to scratch here, as it must at the end"))
	case p.offset != 0:
		errs = append(errs, f.errorAt(last, fmt.Sprintf("the second argument's register points %d bytes past scratch, where it must point at the end", p.offset)))
	}
	if strings.Contains(fmt.Sprint(errs), "may not point") {
		end = -1
	}
	return end, errs
}
