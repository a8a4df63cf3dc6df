package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/sealane/sealane/tools/internal/gas"
)

// Facts about arm64, for the instructions in the existing streams. The registers that a stream names are one unit
// each: x0 .. x30, also as w, and v0 .. v31, also as q and d. So a write to a part of a vector is not an instruction
// here.

var registerName64 = regexp.MustCompile(`^([xwvqd])([0-9]+)$`)

// Instructions whose first operand is the result of the others.
var results64 = map[string]bool{"add": true, "and": true, "eor": true, "ext": true, "mov": true, "rev": true, "sub": true, "trn1": true, "trn2": true}

func (s *source) units64(name string) []string {
	base, _, _ := strings.Cut(name, ".")
	if r, ok := s.aliases[base]; ok {
		base = r
	}
	m := registerName64.FindStringSubmatch(base)
	switch {
	case m == nil:
		return nil
	case m[1] == "x" || m[1] == "w":
		return []string{"x" + m[2]}
	}
	return []string{"v" + m[2]}
}

func (s *source) allUnits64(names []string) (units []string, isVector bool) {
	for _, name := range names {
		units = append(units, s.units64(name)...)
	}
	for _, u := range units {
		isVector = isVector || u[0] == 'v'
	}
	return units, isVector
}

func (s *source) effects64(text string) (effects, error) {
	mnemonic, rest, _ := strings.Cut(text, " ")
	args := gas.Operands(rest)
	e := effects{kind: integer, beats: 1}
	operands, isVector := s.allUnits64(args)
	if strings.Contains(args[0], "]") && mnemonic != "st1" {
		return e, fmt.Errorf("%s writes a part of a vector", text)
	}
	switch {
	case results64[mnemonic]:
		e.writes, e.reads = operands[:1], operands[1:]
		if isVector {
			e.kind = vector128
		}
	case mnemonic == "cmp":
		e.writes, e.reads = []string{flagsUnit}, operands
	case mnemonic == "pmull" || mnemonic == "pmull2":
		e.kind, e.writes, e.reads = vectorMultiply, operands[:1], operands[1:]
	case mnemonic == "aese":
		e.kind, e.writes, e.reads = aes, operands[:1], operands
	case mnemonic == "aesmc":
		e.kind, e.writes, e.reads = aesMix, operands[:1], operands[1:]
	case mnemonic == "ldp" || mnemonic == "ldr" || mnemonic == "stp" || mnemonic == "str":
		return s.transfer64(mnemonic, args)
	case mnemonic == "st1" && len(args) == 3: // a word of a vector; the address moves on by a register
		name, _, _ := strings.Cut(strings.Trim(args[0], "{}"), ".")
		base := s.units64(strings.Trim(args[1], "[]"))
		e.kind, e.beats, e.memory.store = vectorStore, 2, true
		e.reads = append(append(s.units64(name), base...), s.units64(args[2])...)
		if len(e.reads) != 3 {
			return e, fmt.Errorf("%s: a vector, an address, a register", text)
		}
		e.writes, e.address = base, base[0]
	default:
		return e, fmt.Errorf("unknown instruction %q", mnemonic)
	}
	if e.kind == integer {
		switch {
		case regexp.MustCompile(`, (lsl|lsr|ror|asr) #`).MatchString(rest):
			e.kind = integerShifted
		case strings.Contains(rest, "#") || mnemonic == "mov":
			e.kind = integerSimple
		}
	}
	return e, nil
}

// transfer64 is a load or store of one or two registers at [base, #offset].
func (s *source) transfer64(mnemonic string, args []string) (effects, error) {
	registers := 1
	if mnemonic[2] == 'p' {
		registers = 2
	}
	if len(args) != registers+1 || !strings.HasPrefix(args[registers], "[") || !strings.HasSuffix(args[registers], "]") {
		return effects{}, fmt.Errorf("%s %s: not at a fixed offset", mnemonic, strings.Join(args, ", "))
	}
	moved, isVector := s.allUnits64(args[:registers])
	base, offset, _ := strings.Cut(strings.Trim(args[registers], "[]"), ",")
	address := s.units64(strings.TrimSpace(base))
	if len(moved) != registers || len(address) != 1 {
		return effects{}, fmt.Errorf("%s %s: unknown registers", mnemonic, strings.Join(args, ", "))
	}
	e := effects{kind: load, beats: 1, reads: address, memory: access{load: true}}
	isStore := mnemonic[0] == 's'
	bytes := 8
	switch {
	case isVector && isStore:
		e.kind, e.beats, bytes = vectorStore, 2*registers, 16
	case isVector:
		e.kind, e.beats, bytes = vectorLoad, 2*registers, 16
	case isStore:
		e.kind = store
	}
	if isVector && args[0][0] == 'd' {
		bytes = 8
	}
	if isStore {
		e.memory, e.reads = access{store: true}, append(e.reads, moved...)
	} else {
		e.writes = moved
	}
	if s.apart[address[0]] {
		at, err := s.sum(offset)
		if err != nil {
			return e, err
		}
		for n := 0; n < registers*bytes; n += 8 {
			e.memory.words = append(e.memory.words, fmt.Sprintf("%s+%d", address[0], at+n))
		}
	}
	return e, nil
}

// sum is the value of a text like "#HASH + 32*3"; of empty text, 0.
func (s *source) sum(text string) (int, error) {
	total := 0
	text = strings.TrimPrefix(strings.TrimSpace(text), "#")
	if text == "" {
		return 0, nil
	}
	for _, term := range strings.Split(text, "+") {
		product := 1
		for _, factor := range strings.Split(term, "*") {
			factor = strings.TrimSpace(factor)
			if value, ok := s.lets[factor]; ok {
				factor = value
			}
			n, err := strconv.Atoi(factor)
			if err != nil {
				return 0, fmt.Errorf("%q is no sum of numbers", text)
			}
			product *= n
		}
		total += product
	}
	return total, nil
}
