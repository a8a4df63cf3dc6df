package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sealane/sealane/tools/internal/gas"
)

// An instruction as far as an order depends on it: the values it reads and writes, and the core resources it uses.
//
// A unit is a place for a value: a general register (r0 .. r12), the flags, or a word of memory at r1 plus a fixed
// offset. A unit can also be half of a vector (d0 .. d31, or w.lo and w.hi of a vector with a name).
type effects struct {
	reads, writes []string
	memory        access
	kind          kind
	beats         int    // of a load or store: registers; of a vector one, units of 64 bits
	accumulates   bool   // a product is added to what is written
	address       string // the register that an address is in, if it is written too
}

type access struct {
	load, store bool
	words       []string // memory that is known by name, or nil: an offset from r1; on arm64, 8 bytes each at a separate base
}

const flagsUnit = "flags"

// Mnemonics without condition and type, longest first where one begins another.
var integers = []string{"umlal", "umull", "mul", "ldrd", "ldrb", "ldr", "strd", "strb", "str", "ldm", "stm",
	"adc", "add", "sbc", "sub", "rsb", "and", "orr", "eor", "bic", "mov", "mvn", "cmp", "cmn", "tst"}

var conditions = map[string]bool{"eq": true, "ne": true, "hs": true, "lo": true, "mi": true, "pl": true, "hi": true,
	"ls": true, "ge": true, "lt": true, "gt": true, "le": true}

var registerName = regexp.MustCompile(`^[rqd][0-9]+$`)

// units returns the units of a register: halves of a vector, or itself. For any other operand it returns nil.
func (s *source) units(name string) []string {
	if s.arm64 {
		return s.units64(name)
	}
	if r, ok := s.aliases[name]; ok {
		name = r
	}
	base := strings.TrimSuffix(name, "[]")
	switch {
	case strings.HasSuffix(base, ".lo") || strings.HasSuffix(base, ".hi"):
		return []string{base}
	case s.words[strings.TrimSuffix(base, "'")]:
		return []string{base + ".lo", base + ".hi"}
	case !registerName.MatchString(base):
		return nil
	case base[0] == 'q':
		var n int
		fmt.Sscanf(base, "q%d", &n)
		return []string{fmt.Sprintf("d%d", 2*n), fmt.Sprintf("d%d", 2*n+1)}
	}
	return []string{base}
}

func (s *source) braced(text string) []string {
	var list []string
	for _, name := range strings.Split(strings.Trim(text, "{}"), ",") {
		list = append(list, s.units(strings.TrimSpace(name))...)
	}
	return list
}

// addressOf adds the registers that an address reads, and those that it writes by ! or by a register or constant after
// it.
func (s *source) addressOf(e *effects, args []string) error {
	at := -1
	for i, a := range args {
		if strings.HasPrefix(a, "[") {
			at = i
		}
	}
	if at < 0 {
		return fmt.Errorf("no address")
	}
	text := args[at]
	updated := strings.HasSuffix(text, "!") || at+1 < len(args)
	inner := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(text, "["), "!"), "]")
	parts := strings.Split(inner, ",")
	base := s.units(strings.TrimSpace(strings.Split(parts[0], ":")[0]))
	if len(base) != 1 {
		return fmt.Errorf("address %s", text)
	}
	e.reads = append(e.reads, base[0])
	if at+1 < len(args) {
		e.reads = append(e.reads, s.units(args[at+1])...)
	}
	if updated {
		e.writes = append(e.writes, base[0])
		e.address = base[0]
	} else if base[0] == "r1" {
		e.memory.words = []string{"0"}
		if len(parts) > 1 {
			e.memory.words[0] = strings.TrimPrefix(strings.TrimSpace(parts[1]), "#")
		}
	}
	return nil
}

func (s *source) effects(text string) (effects, error) {
	if s.arm64 {
		return s.effects64(text)
	}
	mnemonic, rest, _ := strings.Cut(text, " ")
	args := gas.Operands(rest)
	if strings.HasPrefix(mnemonic, "v") {
		return s.vectorEffects(strings.Split(mnemonic, ".")[0], args)
	}
	if conditions[strings.TrimPrefix(mnemonic, "b")] && mnemonic[0] == 'b' {
		return effects{kind: branch, beats: 1, reads: []string{flagsUnit}}, nil
	}
	base, suffix := "", ""
	for _, name := range integers {
		if strings.HasPrefix(mnemonic, name) {
			base, suffix = name, mnemonic[len(name):]
			break
		}
	}
	e := effects{kind: integer, beats: 1}
	setsFlags := suffix == "s" && base[0] != 'l'
	conditional := conditions[suffix]
	if base == "" || !setsFlags && !conditional && suffix != "" && base != "ldm" && base != "stm" {
		return e, fmt.Errorf("unknown instruction %q", mnemonic)
	}
	all := func(args []string) (list []string) {
		for _, a := range args {
			list = append(list, s.units(strings.Fields(a + " .")[len(strings.Fields(a))-1])...)
		}
		return list
	}
	var err error
	switch base {
	case "ldr", "ldrb", "ldrd":
		registers := map[string]int{"ldrd": 2}[base] + map[string]int{"ldr": 1, "ldrb": 1}[base]
		e.kind, e.memory.load = load, true
		e.writes = all(args[:registers])
		if err = s.addressOf(&e, args); base != "ldr" {
			e.memory.words = nil
		}
	case "str", "strb", "strd":
		registers := map[string]int{"strd": 2}[base] + map[string]int{"str": 1, "strb": 1}[base]
		e.kind, e.memory.store = store, true
		e.reads = all(args[:registers])
		if err = s.addressOf(&e, args); base != "str" {
			e.memory.words = nil
		}
	case "ldm", "stm":
		address := s.units(strings.TrimSuffix(args[0], "!"))
		moved := s.braced(args[1])
		e.reads, e.beats = append(e.reads, address...), len(moved)
		if strings.HasSuffix(args[0], "!") {
			e.writes, e.address = append(e.writes, address...), address[0]
		}
		if base == "ldm" {
			e.kind, e.memory.load, e.writes = load, true, append(e.writes, moved...)
		} else {
			e.kind, e.memory.store, e.reads = store, true, append(e.reads, moved...)
		}
	case "umull", "umlal":
		e.kind = multiply
		e.writes, e.reads = all(args[:2]), all(args[2:])
		if base == "umlal" {
			e.reads, e.accumulates = append(e.reads, e.writes...), true
		}
	case "mul":
		e.kind, e.writes, e.reads = multiply, all(args[:1]), all(args[1:])
	case "cmp", "cmn", "tst":
		e.reads, e.writes = all(args), []string{flagsUnit}
	default:
		e.writes, e.reads = all(args[:1]), all(args[1:])
		if setsFlags {
			e.writes = append(e.writes, flagsUnit)
		}
		if base == "adc" || base == "sbc" {
			e.reads = append(e.reads, flagsUnit)
		}
	}
	if conditional {
		e.reads = append(append(e.reads, flagsUnit), e.writes...)
	}
	if e.kind == integer {
		shifted := regexp.MustCompile(`, (lsl|lsr|ror|asr) #`).MatchString(rest)
		switch {
		case shifted && base != "mov":
			e.kind = integerShifted
		case strings.Contains(rest, "#") || mnemonic == "mov":
			e.kind = integerSimple
		}
	}
	return e, err
}

func (s *source) vectorEffects(base string, args []string) (effects, error) {
	e := effects{kind: vector64, beats: 1}
	for _, a := range args {
		if len(s.units(a)) == 2 {
			e.kind = vector128
		}
	}
	var err error
	switch base {
	case "vadd", "vsub", "veor", "vand", "vext", "vrev32", "vshl", "vmov":
		e.writes = s.units(args[0])
		for _, a := range args[1:] {
			e.reads = append(e.reads, s.units(a)...)
		}
	case "vtbl":
		e.kind, e.writes = vector128, s.units(args[0])
		e.reads = append(s.braced(args[1]), s.units(args[2])...)
	case "vsri", "vbsl":
		e.writes = s.units(args[0])
		for _, a := range args[1:] {
			e.reads = append(e.reads, s.units(a)...)
		}
		e.reads = append(e.reads, e.writes...)
	case "vswp", "vtrn":
		e.writes = append(s.units(args[0]), s.units(args[1])...)
		e.reads = append([]string{}, e.writes...)
	case "vld1", "vldr":
		moved := s.braced(args[0])
		e.kind, e.memory.load, e.beats = vectorLoad, true, len(moved)
		e.writes = moved
		err = s.addressOf(&e, args)
	case "vst1", "vstr":
		moved := s.braced(args[0])
		e.kind, e.memory.store, e.beats = vectorStore, true, len(moved)
		e.reads = moved
		err = s.addressOf(&e, args)
	case "vldmia", "vstmia":
		moved := s.braced(args[1])
		e.beats, e.memory.words = len(moved), []string{"0"}
		if args[0] != "r1" {
			return e, fmt.Errorf("%s of other memory than r1's", base)
		}
		e.reads = []string{"r1"}
		if base == "vldmia" {
			e.kind, e.memory.load, e.writes = vectorLoad, true, moved
		} else {
			e.kind, e.memory.store, e.reads = vectorStore, true, append(e.reads, moved...)
		}
	default:
		return e, fmt.Errorf("unknown instruction %q", base)
	}
	if base == "vld1" || base == "vst1" {
		e.memory.words = nil
	}
	return e, err
}

// set is registers and flags as bits: r0 .. r15 or x0 .. x30, flags, d0 .. d31 or v0 .. v31.
type set uint64

func bitOf(unit string) set {
	var n int
	switch {
	case unit == flagsUnit:
		return 1 << 31
	case unit[0] == 'r' || unit[0] == 'x':
		fmt.Sscanf(unit[1:], "%d", &n)
		return 1 << n
	}
	fmt.Sscanf(unit[1:], "%d", &n)
	return 1 << (32 + n)
}

func setOf(units []string) set {
	var b set
	for _, u := range units {
		b |= bitOf(u)
	}
	return b
}

// Two accesses to memory keep their order if one is a store, unless both are to different words known by name.
func (a access) conflicts(b access) bool {
	if !a.store && !b.store || !(a.load || a.store) || !(b.load || b.store) {
		return false
	}
	for _, word := range a.words {
		if slices.Contains(b.words, word) {
			return true
		}
	}
	return a.words == nil || b.words == nil
}
