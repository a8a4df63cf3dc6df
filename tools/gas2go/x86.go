package main

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	upperHalves  = regexp.MustCompile(`\b[yz]mm(?:[0-9]|1[0-5])\b`) // 16 to 31 have no upper half that SSE code would have to keep
	scratchName  = pattern(`rsi|esi|si|sil`)
	memory       = regexp.MustCompile(`\[([^\]]*)\]`)
	readsOnly    = pattern(`cmp|test|bt|mulx?`)
	secondToo    = pattern(`mulx|xchg`)
	operandBytes = []struct {
		name  string
		bytes int
	}{ // longest names first, since dword is part of no other but word is part of dword
		{"zmmword", 64}, {"ymmword", 32}, {"xmmword", 16}, {"qword", 8}, {"dword", 4}, {"word", 2}, {"byte", 1},
	}
)

// checkX86State finds what one instruction alone does not show: vector upper halves that are not zero at the end, and
// scratch accesses outside the kernel's part of it.
func checkX86State(t *target, f *function, l *layout) []error {
	errs := checkUpperHalves(t, f)
	_, scratchErrs := scratchUse(f, l)
	return append(errs, scratchErrs...)
}

// checkUpperHalves follows all paths; an upper half is dirty after any mention of a ymm or zmm register.
func checkUpperHalves(t *target, f *function) []error {
	dirty := make([]bool, len(f.body)) // before instruction i, on some path
	seen := make([]bool, len(f.body))
	seen[0] = true
	for todo := []int{0}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		ins := &f.body[i]
		after := dirty[i]
		if ins.mnemonic == "vzeroupper" || ins.mnemonic == "vzeroall" {
			after = false
		} else if upperHalves.MatchString(ins.operands) {
			after = true
		}
		for _, next := range t.successors(f, i) {
			if !seen[next] || after && !dirty[next] {
				seen[next], dirty[next] = true, dirty[next] || after
				todo = append(todo, next)
			}
		}
	}
	if last := len(f.body) - 1; dirty[last] {
		return []error{f.errorAt(last, "vector upper halves may be dirty here; vzeroupper is missing on some path")}
	}
	return nil
}

// scratchUse returns the end of the scratch memory that f uses, and errors for accesses below or above the kernel's part.
// It sees accesses as [rsi + constant], and returns -1 if rsi changes or is indexed, so that it cannot say.
func scratchUse(f *function, l *layout) (end int, errs []error) {
	for i := range f.body {
		if writesScratchPointer(&f.body[i]) {
			return -1, nil
		}
	}
	indexed := false
	for i := range f.body {
		ins := &f.body[i]
		m := memory.FindStringSubmatch(ins.operands)
		if m == nil || ins.mnemonic == "lea" || strings.HasPrefix(ins.mnemonic, "prefetch") || strings.Contains(ins.text, "nop ") {
			continue
		}
		at, plain := scratchOffset(m[1])
		if !plain {
			indexed = indexed || strings.Contains(m[1], "rsi")
			continue
		}
		to := at + accessBytes(ins.operands)
		if at < l.scratchSave || to > l.scratch {
			errs = append(errs, f.errorAt(i, "outside the kernel's scratch memory, bytes "+
				strconv.Itoa(l.scratchSave)+" to "+strconv.Itoa(l.scratch)))
		}
		end = max(end, to)
	}
	if indexed {
		end = -1
	}
	return end, errs
}

func writesScratchPointer(ins *instruction) bool {
	if readsOnly.MatchString(ins.mnemonic) && !secondToo.MatchString(ins.mnemonic) {
		return false
	}
	for i, operand := range strings.Split(memory.ReplaceAllString(ins.operands, ""), ",") {
		if scratchName.MatchString(strings.TrimSpace(operand)) && (i == 0 || i == 1 && secondToo.MatchString(ins.mnemonic)) {
			return true
		}
	}
	return false
}

// scratchOffset parses "rsi", "rsi+0x40" and "rsi + 64".
func scratchOffset(address string) (int, bool) {
	base, rest, found := strings.Cut(strings.ReplaceAll(address, " ", ""), "+")
	if !found {
		base, rest, found = strings.Cut(base, "-")
		if found {
			rest = "-" + rest
		}
	}
	if base != "rsi" {
		return 0, false
	}
	if !found {
		return 0, true
	}
	n, err := strconv.ParseInt(rest, 0, 64)
	return int(n), err == nil
}

// accessBytes is what the operand's size says; of a broadcast, both dialects name the size of one element.
func accessBytes(operands string) int {
	for _, o := range operandBytes {
		if strings.Contains(operands, o.name+" ") {
			return o.bytes
		}
	}
	return 1
}
