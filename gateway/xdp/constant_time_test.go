//go:build linux

package xdp

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// Public in struct work: its counter and the number of bytes. The rest is secret: state, text, Poly1305. Of
// struct flow, the beginning is secret: key and IV.
const (
	secretTo = 32 + 12

	publicFrom, publicTo = 32*4 + (5+1+4+4+4)*4 + 2*8 + 2*8, 32*4 + (5+1+4+4+4)*4 + 2*8 + 2*8 + 8
)

// A word is the knowledge about a register or a place on the stack.
type word struct {
	secret bool
	kind   uint8 // its target
	known  bool  // offset is
	offset int64
}

const (
	number uint8 = iota
	toContext
	toPublic // packets as they arrived, and tables without secrets
	flowsMap
	worksMap
	toFlow
	toWork
	toStack
)

// A machine is the state before an instruction: the registers, and the stack in bytes.
type machine struct {
	registers [11]word
	stack     [512]word
}

func join(a, b word) word {
	w := word{secret: a.secret || b.secret, kind: a.kind}
	if a.kind != b.kind { // a pointer or not: the more suspect of the two
		w.kind = max(a.kind, b.kind)
	}
	w.known = a.known && b.known && a.offset == b.offset && a.kind == b.kind
	if w.known {
		w.offset = a.offset
	}
	return w
}

// secretBranches follows the secrets through a function and returns where a branch depends on one, or an address does.
func secretBranches(body asm.Instructions) (found []string) {
	at := make(map[asm.RawInstructionOffset]int)
	for it := body.Iterate(); it.Next(); {
		at[it.Offset] = it.Index
	}
	offsets := make([]asm.RawInstructionOffset, len(body))
	for offset, index := range at {
		offsets[index] = offset
	}
	states := make([]*machine, len(body))
	start := new(machine)
	start.registers[10] = word{kind: toStack, known: true, offset: 512}
	start.registers[1] = word{kind: toContext, known: true} // a call-back has a number there, and no use for it
	states[0] = start
	reported := make(map[int]bool)
	report := func(i int, what string) {
		if !reported[i] {
			reported[i] = true
			line := i
			for line > 0 && body[line].Source() == nil {
				line--
			}
			found = append(found, fmt.Sprintf("%d: %v: %s: %v", i, body[i], what, body[line].Source()))
		}
	}
	flow := func(to int, m machine) bool {
		if states[to] == nil {
			states[to] = &m
			return true
		}
		merged := *states[to]
		for i := range merged.registers {
			merged.registers[i] = join(merged.registers[i], m.registers[i])
		}
		for i := range merged.stack {
			merged.stack[i] = join(merged.stack[i], m.stack[i])
		}
		if merged == *states[to] {
			return false
		}
		*states[to] = merged
		return true
	}
	for todo := []int{0}; len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		m, ins := *states[i], body[i]
		size := int64(0)
		if c := ins.OpCode.Class(); c.IsLoad() || c.IsStore() {
			size = int64(ins.OpCode.Size().Sizeof())
		}
		place := func(base asm.Register) (word, bool) { // address of a load or store
			p := m.registers[base]
			if p.secret {
				report(i, "an address depends on a secret")
			}
			p.offset += int64(ins.Offset)
			return p, p.kind == toStack && p.known && p.offset >= 0 && p.offset+size <= 512
		}
		next := []int{i + 1}
		switch class := ins.OpCode.Class(); {
		case ins.OpCode.IsDWordLoad():
			m.registers[ins.Dst] = word{known: !ins.IsLoadFromMap(), offset: ins.Constant}
			switch {
			case !ins.IsLoadFromMap():
			case ins.Reference() == "works":
				m.registers[ins.Dst].kind = worksMap
			case ins.Reference() == "flows":
				m.registers[ins.Dst].kind = flowsMap
			default:
				m.registers[ins.Dst].kind = toPublic
			}
		case class.IsLoad():
			p, onStack := place(ins.Src)
			var w word
			switch {
			case onStack:
				w = m.stack[p.offset]
				for j := p.offset; j < p.offset+size; j++ {
					w = join(w, m.stack[j])
				}
				if size != 8 {
					w.kind, w.known = number, false
				}
			case p.kind == toContext:
				w.kind = toPublic
			case p.kind == toPublic:
			case p.kind == toFlow:
				w.secret = !p.known || p.offset < secretTo
			default:
				w.secret = p.kind != toWork || !p.known || p.offset < publicFrom || p.offset+size > publicTo
			}
			m.registers[ins.Dst] = w
		case class.IsStore():
			value := word{known: true, offset: ins.Constant}
			if class == asm.StXClass {
				value = m.registers[ins.Src]
			}
			if p, onStack := place(ins.Dst); onStack {
				for j := p.offset; j < p.offset+size; j++ {
					m.stack[j] = value
				}
			} else if p.kind == toStack {
				report(i, "a store on the stack at an unknown place")
			} else if value.secret && (p.kind == toFlow || p.kind == toWork && p.known && p.offset < publicTo && p.offset+size > publicFrom) {
				report(i, "a secret becomes public")
			}
		case class == asm.ALUClass || class == asm.ALU64Class:
			m.registers[ins.Dst] = calculate(ins, m.registers)
		case ins.IsFunctionCall() || ins.IsBuiltinCall() || ins.OpCode.JumpOp() == asm.Call:
			table := m.registers[1].kind
			clear(m.registers[:6])
			if ins.IsBuiltinCall() && asm.BuiltinFunc(ins.Constant) == asm.FnMapLookupElem {
				kinds := map[uint8]uint8{worksMap: toWork, flowsMap: toFlow}
				m.registers[0] = word{kind: max(toPublic, kinds[table]), known: true}
			}
		case ins.OpCode.JumpOp() == asm.Exit:
			next = nil
		default:
			target := at[offsets[i]+asm.RawInstructionOffset(ins.Offset)+1]
			if ins.OpCode.JumpOp() == asm.Ja {
				if class == asm.Jump32Class {
					target = at[offsets[i]+asm.RawInstructionOffset(ins.Constant)+1]
				}
				next = []int{target}
				break
			}
			next = append(next, target)
			if m.registers[ins.Dst].secret || ins.OpCode.Source() == asm.RegSource && m.registers[ins.Src].secret {
				report(i, "a branch depends on a secret")
			}
		}
		for _, to := range next {
			if to < len(body) && flow(to, m) {
				todo = append(todo, to)
			}
		}
	}
	return found
}

// calculate is the result of an arithmetic instruction for its destination.
func calculate(ins asm.Instruction, r [11]word) word {
	operand := word{known: true, offset: ins.Constant}
	if ins.OpCode.Source() == asm.RegSource {
		operand = r[ins.Src]
	}
	d := r[ins.Dst]
	switch op := ins.OpCode.ALUOp(); {
	case op == asm.Mov && ins.OpCode.Class() == asm.ALU64Class:
		return operand
	case op == asm.Mov:
		return word{secret: operand.secret}
	case op == asm.Add && d.kind == number && operand.kind != number:
		d, operand = operand, d
		fallthrough
	case op == asm.Add && d.kind != number:
		return word{secret: d.secret || operand.secret, kind: d.kind, known: d.known && operand.known, offset: d.offset + operand.offset}
	case op == asm.Neg || op == asm.Swap:
		return word{secret: d.secret}
	case (op == asm.Xor || op == asm.Sub) && ins.OpCode.Source() == asm.RegSource && ins.Src == ins.Dst:
		return word{}
	}
	return word{secret: d.secret || operand.secret}
}

// functions returns the program's functions by name.
func functions(t *testing.T) map[string]asm.Instructions {
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]asm.Instructions)
	name := ""
	for _, ins := range spec.Programs["sealane"].Instructions {
		if s := ins.Symbol(); s != "" {
			name = s
		}
		found[name] = append(found[name], ins)
	}
	return found
}

// TestConstantTime: no branch and no address depends on a key, a text or a tag. The exceptions are the verdict, and the padding
// of an authentic record.
func TestConstantTime(t *testing.T) {
	all := functions(t)
	for name, allowed := range map[string][]string{
		"chacha20_blocks": nil,
		"sealane":         {"if (poly1305_end())", "return wrong != 0", "if (type)", "return type == 23"},
	} {
		body := all[name]
		if len(body) < 1000 {
			t.Fatalf("%s has %d instructions", name, len(body))
		}
		seen := 0
		for _, f := range secretBranches(body) {
			if !slices.ContainsFunc(allowed, func(line string) bool { return strings.Contains(f, line) }) {
				t.Errorf("%s: %s", name, f)
			}
			seen++
		}
		if seen == 0 && len(allowed) > 0 {
			t.Errorf("%s: not even the verdict was seen", name)
		}
		t.Logf("%s: %d instructions, %d branches on what is known to be authentic or not", name, len(body), seen)
	}
}

// TestConstantTimePlanted: a branch and an address that depend on a secret are found, directly and by way of the stack.
func TestConstantTimePlanted(t *testing.T) {
	body := functions(t)["chacha20_blocks"]
	lookup := 0
	for i, ins := range body {
		if ins.IsBuiltinCall() && lookup == 0 {
			lookup = i
		}
	}
	with := func(extra ...asm.Instruction) asm.Instructions {
		return append(append(asm.Instructions{}, body[:lookup+1]...), append(extra, asm.Return())...)
	}
	for name, c := range map[string]struct {
		body asm.Instructions
		want int
	}{
		"nothing":       {with(asm.LoadMem(asm.R1, asm.R0, publicFrom, asm.Word), asm.Instruction{OpCode: asm.JEq.Op(asm.ImmSource), Dst: asm.R1, Offset: 0}), 0},
		"branch":        {with(asm.LoadMem(asm.R1, asm.R0, 0, asm.Word), asm.Instruction{OpCode: asm.JEq.Op(asm.ImmSource), Dst: asm.R1, Offset: 0}), 1},
		"by the stack":  {with(asm.LoadMem(asm.R1, asm.R0, 16, asm.Word), asm.StoreMem(asm.R10, -32, asm.R1, asm.Word), asm.LoadMem(asm.R2, asm.R10, -32, asm.Byte), asm.Instruction{OpCode: asm.JGT.Op(asm.ImmSource), Dst: asm.R2, Offset: 0}), 1},
		"by arithmetic": {with(asm.LoadMem(asm.R1, asm.R0, 300, asm.DWord), asm.Mov.Imm(asm.R3, 1), asm.Xor.Reg(asm.R3, asm.R1), asm.Instruction{OpCode: asm.JNE.Op(asm.ImmSource), Dst: asm.R3, Offset: 0}), 1},
		"address":       {with(asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord), asm.And.Imm(asm.R1, 63), asm.Add.Reg(asm.R1, asm.R0), asm.LoadMem(asm.R2, asm.R1, 0, asm.Byte)), 1},
		"made public":   {with(asm.LoadMem(asm.R1, asm.R0, 0, asm.Word), asm.StoreMem(asm.R0, publicFrom, asm.R1, asm.Word)), 1},
	} {
		if found := secretBranches(c.body); len(found) != c.want {
			t.Errorf("%s: %q", name, found)
		}
	}

	// Of a flow in the table, the key is secret, the mode is not.
	body = functions(t)["sealane"]
	lookup = slices.IndexFunc(body, func(ins asm.Instruction) bool { return ins.IsLoadFromMap() && ins.Reference() == "flows" }) + 1
	for offset, want := range map[int16]int{0: 1, 40: 1, 44: 0} {
		if found := secretBranches(with(asm.LoadMem(asm.R1, asm.R0, offset, asm.Word), asm.Instruction{OpCode: asm.JEq.Op(asm.ImmSource), Dst: asm.R1, Offset: 0})); len(found) != want {
			t.Errorf("byte %d of a flow: %q", offset, found)
		}
	}
}
