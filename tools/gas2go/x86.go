package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	upperHalves  = regexp.MustCompile(`\b[yz]mm(?:[0-9]|1[0-5])\b`) // 16 to 31 have no upper half that SSE code would have to keep
	scratchName  = pattern(`rsi|esi|si|sil`)
	memory       = regexp.MustCompile(`\[([^\]]*)\]`)
	noResult     = pattern(`cmp|test|bt|mul|nop`) // the first operand is only read
	twoResults   = pattern(`mulx|xchg`)
	noAccess     = pattern(`lea|nop|prefetch[a-z0-9]+`)
	operandBytes = []struct {
		name  string
		bytes int
	}{ // longest names first: each word is part of those before it
		{"zmmword", 64}, {"ymmword", 32}, {"xmmword", 16}, {"qword", 8}, {"dword", 4}, {"word", 2}, {"byte", 1},
	}
)

// checkX86State finds faults that span instructions. They are nonzero upper vector halves at the end,
// a scratch pointer that is not restored, and accesses outside the kernel's scratch memory.
func checkX86State(t *target, f *function, l *layout) []error {
	_, errs := scratchUse(t, f, l)
	last := len(f.body) - 1
	dirty := forward(t, f, false, dirtyUpperHalves, func(a, b bool) bool { return a || b })
	if dirty[last] {
		errs = append(errs, f.errorAt(last, "vector upper halves may be dirty here; vzeroupper is missing on some path"))
	}
	return errs
}

// forward returns the state before each instruction, joined over all paths that lead there.
func forward[S comparable](t *target, f *function, entry S, step func(*instruction, S) S, join func(a, b S) S) []S {
	before := make([]S, len(f.body))
	seen := make([]bool, len(f.body))
	before[0], seen[0] = entry, true
	for todo := []int{0}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		after := step(&f.body[i], before[i])
		for _, next := range t.successors(f, i) {
			state := after
			if seen[next] {
				state = join(before[next], after)
			}
			if !seen[next] || state != before[next] {
				before[next], seen[next] = state, true
				todo = append(todo, next)
			}
		}
	}
	return before
}

func dirtyUpperHalves(ins *instruction, dirty bool) bool {
	if ins.mnemonic == "vzeroupper" || ins.mnemonic == "vzeroall" {
		return false
	}
	return dirty || upperHalves.MatchString(ins.operands)
}

// pointer is the position of rsi: the bytes after the start of scratch, if that is known.
type pointer struct {
	offset  int
	unknown bool
}

// scratchUse returns the end of the scratch memory that f uses, and errors for accesses below or above the kernel's
// part. It sees [rsi + constant], also after constants were added to rsi. It returns -1 if there are other accesses
// by rsi.
func scratchUse(t *target, f *function, l *layout) (end int, errs []error) {
	at := forward(t, f, pointer{}, moveScratch, func(a, b pointer) pointer {
		if a != b {
			return pointer{unknown: true}
		}
		return a
	})
	hidden := false
	for i := range f.body {
		ins := &f.body[i]
		m := memory.FindStringSubmatch(ins.operands)
		if m == nil || noAccess.MatchString(ins.mnemonic) || !strings.Contains(m[1], "rsi") {
			continue
		}
		offset, plain := scratchOffset(m[1])
		if !plain || at[i].unknown {
			hidden = true
			continue
		}
		from := at[i].offset + offset
		to := from + accessBytes(ins.operands)
		if from < l.scratchSave || to > l.scratchEnd(f) {
			errs = append(errs, f.errorAt(i, fmt.Sprintf("bytes %d to %d of scratch memory; a kernel's part is %d to %d", from, to, l.scratchSave, l.scratchEnd(f))))
		}
		end = max(end, to)
	}
	if last := len(f.body) - 1; at[last].unknown {
		hidden = true
	} else if at[last].offset != 0 {
		errs = append(errs, f.errorAt(last, fmt.Sprintf("rsi points %d bytes past scratch, where it must point at the end", at[last].offset)))
	}
	if hidden {
		end = -1
	}
	return end, errs
}

// moveScratch applies an instruction to rsi.
func moveScratch(ins *instruction, p pointer) pointer {
	operands := strings.Split(strings.ReplaceAll(ins.operands, " ", ""), ",")
	if len(operands) > 1 && twoResults.MatchString(ins.mnemonic) && scratchName.MatchString(operands[1]) {
		return pointer{unknown: true}
	}
	if noResult.MatchString(ins.mnemonic) || !scratchName.MatchString(operands[0]) {
		return p
	}
	if p.unknown || operands[0] != "rsi" || len(operands) != 2 {
		return pointer{unknown: true}
	}
	n, err := strconv.ParseInt(operands[1], 0, 64)
	if err != nil { // GNU objdump prints negative numbers as 64-bit ones
		var u uint64
		u, err = strconv.ParseUint(operands[1], 0, 64)
		n = int64(u)
	}
	plain := err == nil
	switch ins.mnemonic {
	case "add":
	case "sub":
		n = -n
	case "lea":
		var offset int
		m := memory.FindStringSubmatch(operands[1])
		if m != nil {
			offset, plain = scratchOffset(m[1])
		}
		n = int64(offset)
	default:
		plain = false
	}
	if !plain {
		return pointer{unknown: true}
	}
	return pointer{offset: p.offset + int(n)}
}

// scratchOffset parses "rsi", "rsi+0x40" and "rsi - 64".
func scratchOffset(address string) (int, bool) {
	displacement, found := strings.CutPrefix(strings.ReplaceAll(address, " ", ""), "rsi")
	if !found || displacement == "" {
		return 0, found
	}
	n, err := strconv.ParseInt(displacement, 0, 32)
	return int(n), err == nil && strings.ContainsAny(displacement[:1], "+-")
}

// accessBytes returns the size of the operand; of a broadcast, both dialects name the size of one element.
func accessBytes(operands string) int {
	for _, o := range operandBytes {
		if strings.Contains(operands, o.name+" ") {
			return o.bytes
		}
	}
	return 1
}
