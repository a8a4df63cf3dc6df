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
	target   int // target of a direct jump, or -1
}

// disassembler is an installed program that decodes.
type disassembler struct {
	name    string
	command []string
}

// disassemblers returns the installed disassemblers for t: GNU objdump first, whose text becomes the comments.
func (t *target) disassemblers() (found []disassembler, missing []string) {
	n := 0
	for n < len(t.objdump) && !strings.HasPrefix(t.objdump[n], "-") {
		n++
	}
	for _, name := range t.objdump[:n] {
		if t.decodedBy(name) {
			found = append(found, disassembler{"GNU objdump", append([]string{name, "-d", "-z", "-w"}, t.objdump[n:]...)})
			break
		}
	}
	if found == nil {
		missing = append(missing, "GNU objdump for "+t.isa)
	}
	if t.llvm == nil {
		return found, missing
	}
	if path, err := exec.LookPath("llvm-objdump"); err == nil {
		found = append(found, disassembler{"llvm-objdump", append([]string{path, "-d", "-z"}, t.llvm...)})
	} else {
		missing = append(missing, "llvm-objdump")
	}
	return found, missing
}

// decodedBy reports whether that GNU objdump is installed and supports the machine.
func (t *target) decodedBy(name string) bool {
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
	if os.WriteFile(path, t.bareObject(make([]byte, 16)), 0o600) != nil {
		return false
	}
	out, err := exec.Command(name, "-d", path).CombinedOutput()
	return err == nil && bytes.Contains(out, []byte("<.text>:"))
}

var (
	decodedLine = regexp.MustCompile(`^ *([0-9a-f]+): *\t?((?:[0-9a-f]{2,8} )*[0-9a-f]{2,8}) *\t(.*)$`)
	spaces      = regexp.MustCompile(`[ \t]+`)
	unknown     = regexp.MustCompile(`\(bad\)|<unknown>|\.[248]?byte|\.word|\.ins[tn]|UNDEFINED|(?i:<unpredictable>)`)
	encoding    = regexp.MustCompile(`^\{(?:vex[23]?|evex)\} `)
)

// decode splits code into instructions. It sees only the bytes, without symbols, so that labels cannot make it
// restart in the middle of an instruction.
func (t *target) decode(d disassembler, code []byte) ([]instruction, error) {
	dir, err := os.MkdirTemp("", "gas2go")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "kernel.o")
	if err := os.WriteFile(path, t.bareObject(code), 0o600); err != nil {
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
		if t.units[len(t.units)-1] == 1 { // fixed-width machines print words, in the byte order of the decoder
			if raw, _ := hex.DecodeString(strings.ReplaceAll(m[2], " ", "")); !bytes.Equal(raw, ins.code) {
				return nil, fmt.Errorf("%s+%#x: decoded other bytes than given", d.name, at)
			}
		}
		next += n
		text := m[3]
		if unknown.MatchString(text) {
			if text = ""; t.rules.decode != nil {
				text = t.rules.decode(ins.code)
			}
			if text == "" {
				return nil, fmt.Errorf("+%#x: % x does not decode (%s)", at, ins.code, d.name)
			}
		}
		ins.text = strings.TrimSpace(spaces.ReplaceAllString(t.rules.comment.ReplaceAllString(text, ""), " "))
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
func (t *target) bareObject(code []byte) []byte {
	const names = "\x00.text\x00.shstrtab\x00.riscv.attributes\x00"
	order, data := binary.ByteOrder(binary.LittleEndian), elf.ELFDATA2LSB
	if t.bigEndian {
		order, data = binary.BigEndian, elf.ELFDATA2MSB
	}
	ident := [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(t.class), byte(data), byte(elf.EV_CURRENT)}
	var b bytes.Buffer
	put := func(v any) { // the buffer takes everything and the types have fixed sizes
		if err := binary.Write(&b, order, v); err != nil {
			panic(err)
		}
	}
	type section struct {
		name, typ, flags uint32
		data             []byte
	}
	sections := []section{{}, {1, uint32(elf.SHT_PROGBITS), uint32(elf.SHF_ALLOC | elf.SHF_EXECINSTR), code},
		{7, uint32(elf.SHT_STRTAB), 0, []byte(names)}}
	if t.attributes != "" {
		sections = append(sections, section{17, uint32(elf.SHT_LOPROC) + 3, 0, riscvAttributes(t.attributes)})
	}
	header, entry := 64, 64
	if t.class == elf.ELFCLASS32 {
		header, entry = 52, 40
	}
	at := header
	for _, s := range sections {
		at += len(s.data)
	}
	at = (at + 7) &^ 7
	if t.class == elf.ELFCLASS64 {
		put(elf.Header64{Ident: ident, Type: uint16(elf.ET_REL), Machine: uint16(t.machine), Version: 1, Shoff: uint64(at), Flags: t.flags,
			Ehsize: uint16(header), Shentsize: uint16(entry), Shnum: uint16(len(sections)), Shstrndx: 2})
	} else {
		put(elf.Header32{Ident: ident, Type: uint16(elf.ET_REL), Machine: uint16(t.machine), Version: 1, Shoff: uint32(at), Flags: t.flags,
			Ehsize: uint16(header), Shentsize: uint16(entry), Shnum: uint16(len(sections)), Shstrndx: 2})
	}
	for _, s := range sections {
		b.Write(s.data)
	}
	b.Write(make([]byte, at-b.Len()))
	from := header
	for i, s := range sections {
		align := min(i, 1) // the first section is empty
		if t.class == elf.ELFCLASS64 {
			put(elf.Section64{Name: s.name, Type: s.typ, Flags: uint64(s.flags), Off: uint64(from), Size: uint64(len(s.data)), Addralign: uint64(align)})
		} else {
			put(elf.Section32{Name: s.name, Type: s.typ, Flags: s.flags, Off: uint32(from), Size: uint32(len(s.data)), Addralign: uint32(align)})
		}
		from += len(s.data)
	}
	return b.Bytes()
}
