"""MIPS and RISC-V for semantics.py, in qemu.

A form is a name, which of its registers are equal, and its constants. The two halves of an unaligned access are one form. A branch has its
delay slot, and instructions that show whether it was taken. An instruction on vectors has several numbers of elements, set before it.
"""
import copy
import itertools

from isa import integer, mips, riscv, riscv_vector
from mutation.machine import cryptography
from tests.machines import TAKE, Machine
from values import terms

HI, LO = 32, 33  # words of a record
HALVED = "add", "addi", "xor"
BLOCK = riscv_vector.BLOCK
ACCESSES = {*mips.HALVES, *mips.SIZES, *riscv.SIZES, "vle8.v", "vle32.v", "vse8.v", "vse32.v", "vssseg8e32.v"}
BRANCHES = {*mips.BRANCHES, *riscv.BRANCHES}


class Form:
    """words: registers that must hold a sign-extended word, on MIPS64. halves: registers of RISC-V with a known lower half only; the test then
    ignores the result's upper half."""

    def __init__(self, machine, name, fields, codes):
        self.mnemonic, self.op_str, self.fields, self.codes, self.size = name, str(fields), fields, codes, 4
        self.sources = {fields[f] for f in "st" if f in fields} - {0}
        self.words = self.sources if machine.bits == 64 and (name in mips.OF_WORDS or name == "ins") else set()
        self.halves = set()
        self.setting = None  # vtype and vl


class Risc(Machine):
    registers = "std"  # fields

    def code(self, insn):
        return b"".join(c.to_bytes(4, "big" if self.big else "little") for c in insn.codes)

    def forms(self, kernel):
        for pc in range(0, len(kernel.code), 4):
            name, fields = self.isa.fields(kernel.code, pc)
            registers = [fields[f] for f in self.registers if f in fields]
            if name in ("jr", "jal", "jalr") or name == "beq" and fields["s"] == fields["t"] or name in BRANCHES and TAKE in registers or \
                    name in mips.HALVES and fields["s"] == fields["t"]:
                continue
            same = tuple((registers.index(r), r == 0) for r in registers)
            constants = () if name in BRANCHES or name in ACCESSES else tuple(v for f, v in sorted(fields.items()) if f not in self.registers)
            code = int.from_bytes(kernel.code[pc:pc + 4], "big" if self.big else "little")
            for k, form in enumerate(self.kinds(Form(self, name, fields, self.sequence(name, fields, code)))):
                yield (name, same, constants, form.setting or k), form

    def kinds(self, form):
        return [form]

    def sequence(self, name, fields, code):
        return [code]

    def made(self, insn, get):
        integer._words.clear()
        riscv._halves.clear()
        riscv._results.clear()
        m = super().made(insn, get)
        self.insn, general = insn, m.general
        integer._words.update((general[i], True) for i in insn.words)
        riscv._halves.update((general[i], True) for i in insn.halves)
        return m

    def prepare(self, insn, rng, records):
        for r in insn.words:
            low = records[:, r] & 0xffffffff
            records[:, r] = low | (-(low >> 31) & 0xffffffff) << 32


class Mips(Risc):
    """$30 has the record's address."""

    free = [i for i in range(1, 26) if i != 23]

    def more_places(self):
        return {f"g{i}": (self.bits, 2 * i) for i in (HI, LO)}

    def __init__(self, isa, folder):
        word, add = ("d", "daddiu") if isa.POINTER == 64 else ("w", "addiu")
        self.enter = f"{add} $29, $29, -16", f"s{word} $30, 0($29)", f"s{word} $31, 8($29)", "move $30, $4"
        self.leave = f"l{word} $30, 0($29)", f"l{word} $31, 8($29)", "jr $31", f"{add} $29, $29, 16"
        super().__init__(isa, folder)

    def moves(self):
        """A 32-bit register is the last half of a big-endian word."""
        word, half = ("d", 0) if self.bits == 64 else ("w", 4 * self.big)
        move = lambda op, r, place: f"{op}{word} ${r}, {8 * place + half}($30)"
        return [*((f"{move('l', 1, at)}\nmt{name} $1", f"mf{name} $1\n{move('s', 1, at)}") for name, at in (("hi", HI), ("lo", LO))),
                *((move("l", r, r), move("s", r, r)) for r in self.free)]

    def sequence(self, name, fields, code):
        if name in BRANCHES:  # over two instructions; the delay slot adds too
            add = (0x19 if self.bits == 64 else 9) << 26 | TAKE << 21 | TAKE << 16
            return [code & ~0xffff | 3, add | 1, add | 2, add | 4, add | 8]
        if name in mips.HALVES:
            size, left = 8 if name[1] == "d" else 4, name[2] == "l"
            other = fields["i"] + (size - 1) * (1 if left == self.big else -1)
            opcode = next(match for _, match, known_, _ in mips.KNOWN if known_ == name[:2] + ("r" if left else "l"))
            return [code, opcode | code & 0x3ff0000 | other & 0xffff]
        return [code]

    def made(self, insn, get):
        m = super().made(insn, get)
        m.product = terms.cat(get(f"g{LO}", self.bits), get(f"g{HI}", self.bits))
        return m

    def values(self, m):
        found = super().values(m)
        if self.insn.mnemonic != "mul":  # after it, HI and LO are undefined
            found |= {f"g{LO}": terms.cut(m.product, 0, self.bits), f"g{HI}": terms.cut(m.product, self.bits, self.bits)}
        return found

    def prepare(self, insn, rng, records):
        if self.bits == 64 and insn.mnemonic in ("and", "or", "xor", "nor"):
            insn.words = rng.choice((set(), insn.sources))
        return super().prepare(insn, rng, records)


class RiscV(Risc):
    """s11 has the record's address."""

    free = [i for i in range(5, 32) if i != 27]
    enter = "addi sp, sp, -16", "sd s11, 0(sp)", "sd ra, 8(sp)", "mv s11, a0"
    leave = "ld s11, 0(sp)", "ld ra, 8(sp)", "addi sp, sp, 16", "ret"

    def more_places(self):
        return {f"low{i}": (32, 2 * i) for i in self.free}

    def moves(self):
        return [(f"ld x{r}, {8 * r}(s11)", f"sd x{r}, {8 * r}(s11)") for r in self.free]

    def sequence(self, name, fields, code):
        add = TAKE << 15 | TAKE << 7 | 0x13
        return [code & ~(0x7f << 25 | 0x1f << 7) | 12 << 7, *(n << 20 | add for n in (2, 4, 8))] if name in BRANCHES else [code]

    def kinds(self, form):
        """The form also with words as sources, or with sources whose lower half alone is known."""
        yield form
        n = len(form.sources) if form.mnemonic in HALVED else 0
        for words, halves in [(form.sources, ())] * bool(n) + [((), h) for k in range(n) for h in itertools.combinations(form.sources, k + 1)]:
            other = copy.copy(form)
            other.words, other.halves = set(words), set(halves)
            other.op_str += f", halves {halves}" if halves else ""
            yield other

    def values(self, m):
        found = super().values(m)
        self.hidden = frozenset(name for name, v in found.items() if v in riscv._halves)
        return found | {f"low{i}": terms.cut(m.general[i], 0, 32) for i in self.free}


class Vectors(RiscV):
    """Only what scalar kernels do not have. Elements and groups are those of the vsetvli before an instruction, if it takes such."""

    registers = "stdxyz"
    known_here = {*riscv_vector.MEANINGS, "and", "xori"}
    whole, unknown = True, frozenset()  # whether an instruction's sources are known in full; words that it leaves unknown then

    def __init__(self, isa, folder):
        self.vectors, self.lanes = isa.vlen, isa.vlen // 32
        super().__init__(isa, folder)

    def moves(self):
        """32 registers of vectors, by way of t0 and t1."""
        moved = lambda op: "\n".join([f"addi t0, s11, {8 * self.slots}\nli t1, {self.isa.vlen}",
                                      *(f"{op} v{r}, (t0)\nadd t0, t0, t1" for r in (0, 8, 16, 24))])
        return [(moved("vl8re8.v"), moved("vs8r.v")), *super().moves()]

    def lacks(self, insn):
        needs = insn.codes[-1] & 0x7f == 0x77 or insn.mnemonic in ("vror.vi", "vrev8.v", "vbrev8.v")
        return "no such emulator" if needs and not cryptography() else None

    def forms(self, kernel):
        self.vtype = None
        return ((what, insn) for what, insn in super().forms(kernel) if insn.mnemonic in self.known_here)

    def sequence(self, name, fields, code):
        """vl is what vid.v leaves."""
        if name not in ("vsetvli", "vsetivli"):
            return super().sequence(name, fields, code)
        self.vtype = fields.get("v", fields.get("e"))
        return [code | (TAKE << 7 if fields["d"] == 0 else 0), 0x5208a057 | 8 << 7]

    def kinds(self, form):
        name = form.mnemonic
        if name not in riscv_vector.MEANINGS or name.startswith(("vset", "srli")):
            return super().kinds(form)
        size = 32 if name in ("vle32.v", "vse32.v") or form.codes[-1] & 0x7f == 0x77 else 8 if name in ("vle8.v", "vse8.v") else None
        vtype = self.vtype if size in (None, 8 << (self.vtype >> 3 & 7)) else {8: 0xc0, 32: 0xd0}[size]
        return [self.with_length(form, vtype, vl, kept) for vl, kept in self.lengths(form, vtype)]

    def lengths(self, form, vtype):
        """Numbers of elements, and whether the elements after them stay unchanged."""
        name, size = form.mnemonic, 8 << (vtype >> 3 & 7)
        most = (self.isa.vlen << (vtype & 7)) // size
        if form.codes[-1] & 0x7f == 0x77:
            return [(vl, vl == BLOCK) for vl in sorted({BLOCK, 2 * BLOCK, most}) if vl <= most]
        if name == "vssseg8e32.v":
            return [(1, False), (2, False)]
        if name in ACCESSES:
            most = min(most, 120 * 8 // size)
        return [(vl, name == "vmv.s.x" or vl % 2 == 1) for vl in sorted({0, 1, most // 2 + 1, most}) if vl <= most]

    def with_length(self, form, vtype, vl, kept):
        other, vtype = copy.copy(form), vtype & ~64 | (0 if kept else 64)
        free = next(r for r in self.free if r not in form.fields.values())
        other.codes = [0x3 << 30 | vtype << 20 | vl << 15 | 0x7057] if vl < 32 else [vl << 20 | free << 7 | 0x13, vtype << 20 | free << 15 | 0x7057]
        other.codes += form.codes
        other.setting = vtype, vl
        other.op_str += f", vtype {vtype:#x}, vl {vl}"
        return other

    def made(self, insn, get):
        m = super().made(insn, get)
        self.whole = all(w.defined for words in m.vector for w in words)
        return m

    def values(self, m):
        """Words of unknown elements are not compared."""
        found = super().values(m)
        if self.whole:
            self.unknown = frozenset(name for name, v in found.items() if name[0] == "v" and not v.defined)
        self.hidden |= self.unknown
        return found

    def prepare(self, insn, rng, records):
        name, s, t = insn.mnemonic, insn.fields.get("s"), insn.fields.get("t")
        if name == "vsetvli" and s or name == "vslidedown.vx":
            records[0, s] = rng.randrange(self.isa.vlen // 2)
            return {f"g{s}"}
        if name == "vssseg8e32.v":
            records[0, t] = rng.choice((32, 36, 64))
        return super().prepare(insn, rng, records)
