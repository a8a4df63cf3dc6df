package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// instruction is one decoded instruction of a function.
type instruction struct {
	offset   int
	code     []byte
	text     string // as printed, one space after the mnemonic, no comments
	mnemonic string
	operands string
	target   int // where a direct jump goes, or -1
}

// disassembler is an installed program that decodes.
type disassembler struct {
	name    string
	command []string
}

// disassemblers returns what is installed for t: GNU objdump first, whose text becomes the comments.
func (t *target) disassemblers() (found []disassembler, missing []string) {
	n := 0
	for n < len(t.objdump) && !strings.HasPrefix(t.objdump[n], "-") {
		n++
	}
	for _, name := range t.objdump[:n] {
		if decodesELF(name, t.class, t.machine) {
			found = append(found, disassembler{"GNU objdump", append([]string{name, "-d", "-z", "-w"}, t.objdump[n:]...)})
			break
		}
	}
	if found == nil {
		missing = append(missing, "GNU objdump for "+t.isa)
	}
	if path, err := exec.LookPath("llvm-objdump"); err == nil {
		found = append(found, disassembler{"llvm-objdump", append([]string{path, "-d", "-z"}, t.llvm...)})
	} else {
		missing = append(missing, "llvm-objdump")
	}
	return found, missing
}

// decodesELF reports whether that GNU objdump is installed and knows the machine.
func decodesELF(name string, class elf.Class, machine elf.Machine) bool {
	version, err := exec.Command(name, "--version").Output()
	if err != nil || !bytes.Contains(version, []byte("GNU objdump")) {
		return false
	}
	dir, err := os.MkdirTemp("", "gas2go")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "empty.o")
	if os.WriteFile(path, bareObject(class, machine, make([]byte, 16)), 0o600) != nil {
		return false
	}
	out, err := exec.Command(name, "-d", path).CombinedOutput()
	return err == nil && bytes.Contains(out, []byte("<.text>:"))
}

var (
	decodedLine = regexp.MustCompile(`^ *([0-9a-f]+): *\t?((?:[0-9a-f]{2,8} )*[0-9a-f]{2,8}) *\t(.*)$`)
	spaces      = regexp.MustCompile(`[ \t]+`)
	unknown     = regexp.MustCompile(`\(bad\)|<unknown>|\.byte|\.word|\.inst|UNDEFINED|(?i:<unpredictable>)`)
	encoding    = regexp.MustCompile(`^\{(?:vex[23]?|evex)\} `)
)

// decode splits code into instructions. It sees the bytes alone, without symbols, so that labels cannot make it start
// afresh in the middle of an instruction.
func (t *target) decode(d disassembler, code []byte) ([]instruction, error) {
	dir, err := os.MkdirTemp("", "gas2go")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "kernel.o")
	if err := os.WriteFile(path, bareObject(t.class, t.machine, code), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(d.command[0], append(d.command[1:len(d.command):len(d.command)], path)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	var body []instruction
	next := 0
	for _, line := range strings.Split(string(out), "\n") {
		m := decodedLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		at, err := strconv.ParseInt(m[1], 16, 32)
		if err != nil {
			return nil, err
		}
		n := len(strings.ReplaceAll(m[2], " ", "")) / 2
		if int(at) != next || next+n > len(code) {
			return nil, fmt.Errorf("%s: skips from +%#x to +%#x", d.name, next, at)
		}
		ins := instruction{offset: next, code: code[next : next+n], target: -1}
		if t.units[len(t.units)-1] == 1 { // fixed-width machines print words, whose order is the decoder's affair
			if raw, _ := hex.DecodeString(strings.ReplaceAll(m[2], " ", "")); !bytes.Equal(raw, ins.code) {
				return nil, fmt.Errorf("%s+%#x: decoded other bytes than given", d.name, at)
			}
		}
		next += n
		if unknown.MatchString(m[3]) {
			return nil, fmt.Errorf("+%#x: % x does not decode (%s)", at, ins.code, d.name)
		}
		ins.text = strings.TrimSpace(spaces.ReplaceAllString(t.rules.comment.ReplaceAllString(m[3], ""), " "))
		plain := encoding.ReplaceAllString(strings.ToLower(ins.text), "")
		ins.mnemonic, ins.operands, _ = strings.Cut(plain, " ")
		if t.rules.jump.MatchString(ins.mnemonic) {
			if m := t.rules.jumpTarget.FindStringSubmatch(ins.operands); m != nil {
				to, err := strconv.ParseUint(m[1], 16, 64)
				if err != nil {
					return nil, err
				}
				ins.target = int(min(to, 1<<31-1))
			}
		}
		body = append(body, ins)
	}
	if next != len(code) {
		return nil, fmt.Errorf("+%#x: the last %d bytes do not decode (%s)", next, len(code)-next, d.name)
	}
	return body, nil
}

// bareObject is the smallest ELF object whose .text is code: no symbols, no relocations.
func bareObject(class elf.Class, machine elf.Machine, code []byte) []byte {
	names := "\x00.text\x00.shstrtab\x00"
	ident := [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(class), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)}
	var b bytes.Buffer
	put := func(v any) { // the buffer takes everything and the types have fixed sizes
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
	if class == elf.ELFCLASS64 {
		const header, section = 64, 64
		sections := uint64(header + len(code) + len(names))
		put(elf.Header64{Ident: ident, Type: uint16(elf.ET_REL), Machine: uint16(machine), Version: 1, Shoff: sections,
			Ehsize: header, Shentsize: section, Shnum: 3, Shstrndx: 2})
		b.Write(code)
		b.WriteString(names)
		put(elf.Section64{})
		put(elf.Section64{Name: 1, Type: uint32(elf.SHT_PROGBITS), Flags: uint64(elf.SHF_ALLOC | elf.SHF_EXECINSTR), Off: header,
			Size: uint64(len(code)), Addralign: 1})
		put(elf.Section64{Name: 7, Type: uint32(elf.SHT_STRTAB), Off: uint64(header + len(code)), Size: uint64(len(names)), Addralign: 1})
		return b.Bytes()
	}
	const header, section = 52, 40
	sections := uint32(header + len(code) + len(names))
	put(elf.Header32{Ident: ident, Type: uint16(elf.ET_REL), Machine: uint16(machine), Version: 1, Shoff: sections,
		Ehsize: header, Shentsize: section, Shnum: 3, Shstrndx: 2})
	b.Write(code)
	b.WriteString(names)
	put(elf.Section32{})
	put(elf.Section32{Name: 1, Type: uint32(elf.SHT_PROGBITS), Flags: uint32(elf.SHF_ALLOC | elf.SHF_EXECINSTR), Off: header,
		Size: uint32(len(code)), Addralign: 4})
	put(elf.Section32{Name: 7, Type: uint32(elf.SHT_STRTAB), Off: header + uint32(len(code)), Size: uint32(len(names)), Addralign: 1})
	return b.Bytes()
}
