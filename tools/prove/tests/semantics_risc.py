"""What isa/mips.py and isa/riscv.py say of an instruction, beside what an emulator does: every form of the kernels' instructions, as
semantics_arm.py does it.

    tests.semantics_risc [--inputs N] [--seed S] [--plant] OBJECT...

A form is a name, which of its registers are the same, and its constants. Two accesses to the parts of a word at any address
are one form. A branch is one with its delay slot, and instructions that tell whether it was taken. --plant makes one
form in ten wrong, which must be found.
"""
import argparse
import copy
import itertools
import random
import subprocess
import tempfile

import numpy as np
from isa import integer, mips, riscv
from isa.code import STOPS, known
from run import kernels
from run.memory import Memory
from tests import columns
from tests.semantics_arm import AIM, BUFFER, BYTES, FROM, SEEN, C
from values import terms
from values.terms import Unproved, const

HI, LO, SIZE = 32, 33, 34 * 8  # where a record has HI and LO, behind the registers; its bytes before memory
PARTIAL = set(mips.HALVES)
HALVED = "add", "addi", "xor"
ACCESSES, BRANCHES = {*PARTIAL, *mips.SIZES, *riscv.SIZES}, {*mips.BRANCHES, *riscv.BRANCHES}


class Mips:
    """Assembly around a form, with the record's address in $30."""

    free = [i for i in range(1, 26) if i != 23]
    take = 8  # a register to which a branch's delay slot and the instructions behind it add

    def __init__(self, isa):
        self.bits, self.big = isa.POINTER, isa.big
        word = "d" if self.bits == 64 else "w"
        self.load, self.store, self.at = f"l{word}", f"s{word}", 4 if self.bits == 32 and self.big else 0
        self.add = "daddiu" if self.bits == 64 else "addiu"
        name = "mips" + ("64" if self.bits == 64 else "") + ("" if self.big else "el")
        self.compiler, self.emulator = f"{name}-linux-gnu{'abi64' if self.bits == 64 else ''}-gcc", (f"qemu-{name}",)

    def assembly(self, forms):
        saved, op = [*range(16, 24), 30, 31], self.bits // 8
        out = [".set noreorder", ".set noat", ".set nomacro", ".text"]
        for k, codes in enumerate(forms):
            out += [f"form{k}:", f"{self.add} $29, $29, -96"] + [f"{self.store} ${r}, {op * i}($29)" for i, r in enumerate(saved)]
            out += ["move $30, $4", f"{self.load} $1, {8 * HI + self.at}($30)", "mthi $1", f"{self.load} $1, {8 * LO + self.at}($30)", "mtlo $1"]
            out += [f"{self.load} ${r}, {8 * r + self.at}($30)" for r in self.free] + [f".word {c:#x}" for c in codes]
            out += [f"{self.store} ${r}, {8 * r + self.at}($30)" for r in self.free]
            out += ["mfhi $1", f"{self.store} $1, {8 * HI + self.at}($30)", "mflo $1", f"{self.store} $1, {8 * LO + self.at}($30)"]
            out += [f"{self.load} ${r}, {op * i}($29)" for i, r in enumerate(saved)] + ["jr $31", f"{self.add} $29, $29, 96"]
        return out

    def counted(self, number):
        """An instruction that adds a number to `take`."""
        return (0x19 if self.bits == 64 else 9) << 26 | self.take << 21 | self.take << 16 | number



class RiscV:
    """The same with s11."""

    bits, big, compiler, emulator = 64, False, "riscv64-linux-gnu-gcc", ("qemu-riscv64",)
    free = [i for i in range(5, 32) if i != 27]
    take = 8

    def __init__(self, isa):
        pass

    def assembly(self, forms):
        saved = [1, 8, 9, *range(18, 28)]
        out = [".option norvc", ".text"]
        for k, codes in enumerate(forms):
            out += [f"form{k}:", "addi sp, sp, -128"] + [f"sd x{r}, {8 * i}(sp)" for i, r in enumerate(saved)] + ["mv x27, a0"]
            out += [f"ld x{r}, {8 * r}(x27)" for r in self.free] + [f".word {c:#x}" for c in codes] + [f"sd x{r}, {8 * r}(x27)" for r in self.free]
            out += [f"ld x{r}, {8 * i}(sp)" for i, r in enumerate(saved)] + ["addi sp, sp, 128", "ret"]
        return out

    def counted(self, number):
        return number << 20 | self.take << 15 | self.take << 7 | 0x13



class Form:
    """codes: of the instructions. name, fields: of the first. words: registers that have to be a word each, on MIPS64. halves: registers
    of RISC-V of which only the lower half is known; the result's upper half is then not compared."""

    def __init__(self, arch, name, fields, code):
        self.name, self.fields, self.codes = name, fields, [code]
        self.branch = name in BRANCHES
        wide = arch.bits == 64 and isinstance(arch, Mips)
        sources = {fields[f] for f in "st" if f in fields} - {0}
        self.words = sources if wide and (name in mips.OF_WORDS or name == "ins") else set()
        self.base, self.halves = fields["s"] if name in ACCESSES else None, set()

    def kinds(self):
        """The form with sources that are words, or of which only the lower half is known, where isa/riscv.py asks for that."""
        sources = sorted({self.fields[f] for f in "st" if f in self.fields} - {0}) if self.name in HALVED else []
        for words, halves in [(sources, ()), *((set(), h) for n in range(1, len(sources) + 1) for h in itertools.combinations(sources, n))] if sources else ():
            other = copy.copy(self)
            other.words, other.halves = set(words), set(halves)
            yield other


def sequence(arch, form):
    """The codes of a form: of a half of a load the other half too, of a branch what tells whether it is taken."""
    code = form.codes[0]
    if form.name in PARTIAL:
        size, left = 8 if form.name[1] == "d" else 4, form.name[2] == "l"
        i = form.fields["i"]
        other = i + (size - 1) * (1 if left == arch.big else -1)
        opcode = next(match for _, match, name, _ in mips.KNOWN if name == form.name[:2] + ("r" if left else "l"))
        return [code, opcode | code & 0x3ff0000 | other & 0xffff]
    if form.branch:  # three instructions further, with a slot counted
        if isinstance(arch, Mips):
            return [code & ~0xffff | 3, arch.counted(1), arch.counted(2), arch.counted(4), arch.counted(8)]
        return [code & ~(0x7f << 25 | 0x1f << 7) | 12 << 7, arch.counted(2), arch.counted(4), arch.counted(8)]
    return [code]


class Emulated(columns.Machines):
    by, spoiled = "the emulator", "g8"

    def __init__(self, isa, arch, forms, folder):
        self.isa, self.arch = isa, arch
        pointer = ".quad" if arch.bits == 64 else ".word"
        out = [*arch.assembly([f.codes for f in forms]), ".section .data.rel.ro,\"aw\"", ".globl forms", ".p2align 3", "forms:"]
        with open(folder + "/f.s", "w") as f:
            f.write("\n".join([*out, *(f"{pointer} form{k}" for k in range(len(forms)))]) + "\n")
        with open(folder + "/m.c", "w") as f:
            f.write(C % {"size": SIZE, "buffer": BUFFER, "bytes": BYTES, "from": FROM, "seen": SEEN, "most": columns.PER_GROUP})
        subprocess.run([arch.compiler, "-O1", "-static", "-o", folder + "/t", folder + "/m.c", folder + "/f.s"], check=True)
        self.process = subprocess.Popen([*arch.emulator, folder + "/t"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.words = (SIZE + SEEN) // 8
        self.places = {f"g{i}": (arch.bits, 2 * i) for i in (*arch.free, *((HI, LO) if isinstance(arch, Mips) else ()))}
        self.halves = set()
        self.places |= {f"low{i}": (32, 2 * i) for i in (arch.free if isinstance(arch, RiscV) else ())}
        self.places |= {f"m{j}": (32, (SIZE + j) // 4) for j in range(0, SEEN, 4)}
        self.compared = np.array(sorted({at // 2 for _, at in self.places.values()}))

    def close(self):
        self.process.stdin.close()
        if self.process.wait():
            raise SystemExit("the emulated program failed")

    def seen(self, name):
        return name not in self.halves

    def made(self, get):
        arch = self.arch
        m = self.isa.Machine(Memory(arch.big))
        integer._words.clear()
        riscv._halves.clear()
        for i in arch.free:
            m.general[i] = get(f"g{i}", arch.bits)
            if i in self.form.words:
                integer._words[m.general[i]] = True
            if i in self.form.halves:
                riscv._halves[m.general[i]] = True
        if isinstance(arch, Mips):
            m.product = terms.cat(get(f"g{LO}", arch.bits), get(f"g{HI}", arch.bits))
        m.memory.region("buffer", BUFFER + FROM, SEEN, True, True, 64)
        m.memory.cells = {BUFFER + FROM + j: get(f"m{j}", 32) for j in range(0, SEEN, 4)}
        return m

    def values(self, m):
        found = {f"g{i}": m.general[i] for i in self.arch.free}
        self.halves = {name for name, v in found.items() if v in riscv._halves}
        found |= {name: terms.cut(m.general[int(name[3:])], 0, 32) for name in self.places if name.startswith("low")}
        if isinstance(self.arch, Mips) and self.form.name != "mul":  # which leaves there what nothing says
            bits = self.arch.bits
            found |= {f"g{LO}": terms.cut(m.product, 0, bits), f"g{HI}": terms.cut(m.product, bits, bits)}
        found.update((f"m{j}", m.memory.cells[BUFFER + FROM + j]) for j in range(0, SEEN, 4))
        return found

    def flags(self, m, records):
        return []

    def run(self, which, records):
        def swapped(r):
            if self.arch.big:
                r = r.copy()
                r[:, :SIZE // 8] = r[:, :SIZE // 8].byteswap()
            return r
        order = ">u4" if self.arch.big else "<u4"
        self.process.stdin.write(np.array([which, len(records)], dtype=order).tobytes() + swapped(records).tobytes())
        self.process.stdin.flush()
        got = self.process.stdout.read(records.nbytes)
        if len(got) != records.nbytes:
            raise SystemExit("the emulator did not answer every question")
        return swapped(np.frombuffer(got, dtype=np.uint64).reshape(records.shape).copy())

    def spoil(self, m):
        m.general[8] = terms.xor(m.general[8], const(1, self.arch.bits))

    def prepare(self, insn, rng, records):
        if self.arch.bits == 64 and isinstance(self.arch, Mips) and insn.name in ("and", "or", "xor", "nor"):
            insn.words = rng.choice((set(), {insn.fields["s"], insn.fields["t"]} - {0}))
        for r in insn.words:
            low = records[:, r] & 0xffffffff
            records[:, r] = low | (-(low >> 31) & 0xffffffff) << 32
        if insn.base is None:
            return set()
        i = insn.fields.get("i", insn.fields.get("h", 0) << 5 | insn.fields.get("l", 0))
        bits = 12 if isinstance(self.arch, RiscV) else 16
        at = BUFFER + AIM - (i - (i >> bits - 1 << bits)) + (rng.randrange(8) if insn.name in PARTIAL else 0)
        records[0, insn.base] = at & (1 << self.arch.bits) - 1
        return {f"g{insn.base}"}


def forms_of(kernel, arch):
    """(what) -> form, of a kernel."""
    isa, found = kernel.isa, {}
    for pc in range(0, len(kernel.code), 4):
        name, fields = isa.fields(kernel.code, pc)
        if name in ("jr", "jal", "jalr") or (name == "beq" and fields["s"] == fields["t"]):
            continue
        registers = [fields[f] for f in "std" if f in fields and not (name in ("ins", "dinsu") and f == "d")]
        same = tuple((registers.index(r), r == 0) for r in registers)
        branch = name in BRANCHES
        constants = () if branch or name in ACCESSES else tuple(v for f, v in sorted(fields.items()) if f not in "std" or name in ("ins", "dinsu") and f == "d")
        what = name, same, constants
        code = int.from_bytes(kernel.code[pc:pc + 4], "big" if arch.big else "little")
        if what in found or branch and arch.take in registers or name in PARTIAL and fields["s"] == fields["t"]:
            continue
        found[what] = Form(arch, name, fields, code)
    return found


def meaning(isa, arch, form):
    """What a form does to a machine."""
    code = b"".join(c.to_bytes(4, "big" if arch.big else "little") for c in form.codes)

    def step(m):
        pc = 0
        while pc < len(code):
            f, pc, branch, _ = isa.meaning(code, pc)
            if branch:
                pc = branch[1] if known(branch[0](m), "a branch") else pc
            else:
                f(m)
    return step


def test(kernels_, args, numbers):
    """Of kernels of one instruction set. Returns how many forms passed and failed."""
    rng, isa = random.Random(args.seed), kernels_[0].isa
    arch, found = (RiscV if isa.MACHINE == "EM_RISCV" else Mips)(isa), {}
    for kernel in kernels_:
        found = {**forms_of(kernel, arch), **found}
    forms, passed, failed = [f for k in sorted(found) for f in (found[k], *(found[k].kinds() if isinstance(arch, RiscV) else ()))], 0, 0
    for form in forms:
        form.codes = sequence(arch, form)
    terms.forget()
    with tempfile.TemporaryDirectory() as folder:
        emulated = Emulated(isa, arch, forms, folder)
        for k, form in enumerate(forms):
            if len(terms.ATOMS) > 50_000:
                terms.forget()
            emulated.form = form
            try:
                wrong, _ = columns.compare(emulated, k, form, meaning(isa, arch, form), numbers, rng, args.inputs, args.plant and k % 10 == 7)
            except (Unproved, *STOPS) as e:
                wrong = f"stopped: {e}"
            passed, failed = passed + (not wrong), failed + bool(wrong)
            if wrong:
                print(f"FAIL {form.name} {form.fields}{f', halves {form.halves}' if form.halves else ''}: {wrong}")
        emulated.close()
    print(f"{isa.__name__.removeprefix('isa.')}: {passed} of {passed + failed} forms, with {args.inputs} inputs each, seed {args.seed}")
    return passed, failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=1000, help="of each form, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plant", action="store_true")
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    by, numbers = {}, columns.pool(args.seed)
    for kernel in map(kernels.Kernel, args.objects):
        by.setdefault(kernel.isa.__name__, []).append(kernel)
    counts = [test(of, args, numbers) for of in by.values()]
    passed, failed = (sum(n) for n in zip(*counts))
    print(f"semantics: {passed} passed, {failed} failed, 0 not run")
    return 1 if failed else 0
