"""x86-64 and ARM for semantics.py: how to execute an instruction on this CPU or in qemu with a given state, and which
state is allowed.

A branch has instructions behind it that show whether it was taken. The test skips instructions with the stack pointer.
"""
import re

import numpy as np
from capstone import x86_const as X
from isa import arm64, x86
from isa.code import STOPS, Code
from mutation.machine import WINDOW, Server, assemble
from run.memory import Memory
from values.terms import Unproved, const

BUFFER, RECORDS = 0x30000800, 0x40000000  # addresses: the memory that an instruction may access, and the records
AIM = BUFFER + 128  # where addresses point
TAKE = 8  # the register that instructions after a branch increase, and that --plant changes


class Machine:
    """An instruction set, and a machine that has it. A record of 64-bit words holds the state around one instruction:

        general registers, masks and flags (`slots` words, the flags in the last), vectors, and WINDOW bytes of memory

    A place is a part of a record: g0 .. general registers, k0 .. masks, v0 .. words of vectors, m0 .. memory, carry.
    Subclasses define the data below and

        enter, leave     assembly that keeps argument 0, a record's address, and that returns
        moves()          (load, store) of each part of the state; a load may change what follows, and a store what precedes
        decode(code)     the instruction, or None;  form(insn): its form, or None if the test skips it
        prepare(insn, rng, records)   sets counts and controls in the first record of a group, and returns the places
                         that must be equal in the whole group, except pointers; or None
    """

    by, slots, masks, vectors, lanes = "the emulator", 34, 0, 0, 1  # vectors: number of words; lanes: words of a register
    flag_bits, set_flags = {}, 0  # the bits of the flags' word, and those that are always set
    hidden = frozenset()

    def __init__(self, isa, folder):
        self.isa, self.bits, self.big, self.server = isa, isa.POINTER, getattr(isa, "big", False), Server(isa, folder)
        loads, stores = zip(*self.moves())
        self.frame = [assemble(isa, "\n".join(text), folder) for text in ((*self.enter, *loads), (*reversed(stores), *self.leave))]
        self.places = {f"g{i}": (self.bits, 2 * i) for i in self.free} | {f"k{i}": (64, 32 + 2 * i) for i in range(self.masks)}
        self.places |= {f"v{j}": (32, 2 * self.slots + j) for j in range(self.vectors)}
        self.places |= self.more_places()
        self.words = self.slots + self.vectors // 2 + WINDOW // 8
        self.places |= {f"m{j}": (32, 2 * self.words + (j - WINDOW) // 4) for j in range(0, WINDOW, 4)}
        self.compared = np.array(sorted({at // 2 for name, (_, at) in self.places.items() if name not in self.hidden}))
        if self.flag_bits:
            self.places["carry"] = 1, 64 * (self.slots - 1) + self.flag_bits["carry"]

    def column(self, records, name):
        width, at = self.places[name]
        if width == 1:
            return (records.view(np.uint32)[:, at // 32] >> (at % 32) & 1).astype(np.uint64)
        return records[:, at // 2] if width == 64 else records.view(np.uint32)[:, at].astype(np.uint64)

    def fix(self, records, name):
        """Gives all records the first one's content of a place."""
        width, at = self.places[name]
        if width == 1:
            words = records.view(np.uint32)[:, at // 32]
            words &= ~np.uint32(1 << at % 32) & 0xffffffff
            words |= np.uint32(int(words[0]) & 1 << at % 32)
        else:
            words = records.view(np.uint32)[:, at:at + width // 32]
            words[:] = words[0].copy()

    def put(self, records, name, value):
        """Sets a place of the first record."""
        width, at = self.places[name]
        if width == 64:
            records[0, at // 2] = value % (1 << 64)
        else:
            records.view(np.uint32)[0, at] = value % (1 << 32)

    def more_places(self):
        return {}

    def code(self, insn):
        """The instruction. After a branch, which goes over one instruction: two that increase register TAKE."""
        code = bytes(insn.bytes)
        return self.over_one(insn, code) + 2 * self.increase if self.conditional.fullmatch(insn.mnemonic) else code

    def step(self, insn):
        """A function that executes the instruction."""
        code = self.code(insn)
        program = Code(code, self.isa.meaning)
        program.steps[0] = self.isa.meaning(code, 0)
        return lambda m: program.run(m, stop=len(code))

    def lacks(self, insn):
        """The feature that this machine lacks, or None."""

    def forms(self, kernel):
        """(form, instruction) of a kernel."""
        for insn in self.isa.decoder().disasm(kernel.code, 0):
            yield self.form(insn), insn

    def decode(self, code):
        return next(self.isa.decoder().disasm(code, 0), None)

    def made(self, insn, get):
        """A machine of the prover whose places hold get(place, width)."""
        m = self.isa.Machine(Memory(self.big))
        for i in self.free:
            m.general[i] = get(f"g{i}", self.bits)
        words = [get(f"v{j}", 32) for j in range(self.vectors)]
        if words:
            one = type(m.vector[0])
            m.vector = words if self.lanes == 1 else [one(words[i:i + self.lanes]) for i in range(0, len(words), self.lanes)]
        if self.flag_bits:
            m.carry, m.overflow, m.result = get("carry", 1), const(self.overflow, 1), const(self.result, 64)
        m.memory.region("buffer", BUFFER, WINDOW, True, True, 64)
        m.memory.cells = {BUFFER + j: get(f"m{j}", 32) for j in range(0, WINDOW, 4)}
        return m

    def values(self, m):
        """Place -> value, except the carry."""
        found = {f"g{i}": m.general[i] for i in self.free}
        words = m.vector if self.lanes == 1 else [w for v in m.vector for w in v]
        found.update((f"v{j}", words[j]) for j in range(self.vectors))
        found.update((f"m{j}", m.memory.cells[BUFFER + j]) for j in range(0, WINDOW, 4))
        return found

    def flags(self, m, records):
        """(flag, value or None, column) of the flags after the instruction."""
        if not self.flag_bits:
            return []
        word = records[:, self.slots - 1]
        found = {"carry": m.carry, "overflow": m.overflow}
        found |= {"zero": m.zero(), "sign": m.sign()} if m.result is not None else {}
        return [(flag, v, word >> self.flag_bits[flag] & 1) for flag, v in found.items()]

    def random_flags(self, rng, records):
        """One choice of the flags for all records, except the carry. The prover derives zero and sign from one result."""
        zero, sign, self.overflow = *rng.choice(((0, 0), (0, 1), (1, 0))), rng.randrange(2)
        self.result = 0 if zero else 1 << 63 if sign else 1
        bit, word = self.flag_bits, self.slots - 1
        given = self.set_flags | zero << bit["zero"] | sign << bit["sign"] | self.overflow << bit["overflow"]
        records[:, word] = records[:, word] & (1 << bit["carry"]) | given

    def run(self, insn, records):
        """What the machine makes of the records, or None."""
        def ordered(r):
            if self.big:
                r = r.copy()
                r[:, :self.slots] = r[:, :self.slots].byteswap()
            return r
        code = self.frame[0] + self.code(insn) + self.frame[1]
        parts = [(BUFFER, bytes(WINDOW), False, False), (RECORDS, ordered(records).tobytes(), True, False)]
        got = self.server.call(code, (RECORDS, 0, 0), parts, len(records), 8 * self.words, BUFFER)
        return got and ordered(np.frombuffer(bytearray(got[1]), dtype=np.uint64).reshape(records.shape))

    def neighbors(self, forms):
        found = {}
        for insn in forms.values():
            code = bytes(insn.bytes)
            for bit in range(8 * len(code)):
                other = self.decode((int.from_bytes(code, "little") ^ 1 << bit).to_bytes(len(code), "little"))
                if other is None or other.size != len(code) or self.lacks(other):
                    continue
                what = self.form(other)
                if what is None or what in forms or what in found:
                    continue
                try:
                    self.step(other)
                except (Unproved, *STOPS):
                    continue
                found[what] = other
        return found


with open("/proc/cpuinfo") as _f:
    CPU = next((set(line.split(":")[1].split()) for line in _f if line.startswith("flags")), set())
WIDE = "avx512bw" in CPU
# Capstone's names of instruction sets, and Linux's of features.
NEEDS = {"avx": "avx", "avx2": "avx2", "bmi": "bmi1", "bmi1": "bmi1", "bmi2": "bmi2", "avx512": "avx512f", "ifma": "avx512ifma",
         "vlx": "avx512vl", "bwi": "avx512bw", "dqi": "avx512dq", "aes": "aes", "pclmul": "pclmulqdq", "sse41": "sse4_1",
         "ssse3": "ssse3", "sse2": "sse2", "sse1": "sse"}


class Cpu(Machine):
    by, slots, masks, vectors, lanes = "the CPU", 26, 8, 512, 16
    free = [i for i in range(16) if i not in (x86.RSP, x86.RBP)]
    flag_bits, set_flags = {"carry": 0, "zero": 6, "sign": 7, "overflow": 11}, 2
    hidden = frozenset() if WIDE else frozenset([*(f"v{j}" for j in range(512) if j >= 256 or j % 16 > 7), *(f"k{i}" for i in range(8))])

    enter, leave = ("push rbp", "mov rbp, rdi"), ("vzeroupper", "pop rbp", "ret")
    conditional, increase = re.compile(r"j(?!mp)\w+"), bytes.fromhex("4d8d4001")  # lea r8, [r8 + 1]

    def over_one(self, insn, code):
        return code[:1] + b"\4" if len(code) == 2 else code[:2] + b"\4\0\0\0"

    def moves(self):
        vectors = [("vmovdqu64", f"zmm{i}", 26 + 8 * i) for i in range(32)] if WIDE else [("vmovdqu", f"ymm{i}", 26 + 8 * i) for i in range(16)]
        vectors += [("kmovq", f"k{i}", 16 + i) for i in range(8 if WIDE else 0)]
        move = lambda op, r, at: (f"{op} {r}, [rbp + {8 * at}]", f"{op} [rbp + {8 * at}], {r}")
        return [*(move(*v) for v in vectors), ("push qword ptr [rbp + 200]\npopfq", "pushfq\npop qword ptr [rbp + 200]"),
                *(move("mov", x86.NAMES64[i], i) for i in self.free)]

    def made(self, insn, get):
        m = super().made(insn, get)
        m.mask = [get(f"k{i}", 64) for i in range(8)]
        if not insn.mnemonic.startswith(("cmov", "set", "j")):
            m.result = None  # only these read zero and sign
        return m

    def values(self, m):
        return super().values(m) | {f"k{i}": v for i, v in enumerate(m.mask)}

    def prepare(self, insn, rng, records):
        """Counts stay in the range that the manual defines, as in kernels."""
        self.random_flags(rng, records)
        first, name, ops = records[0], insn.mnemonic, insn.operands
        if name in ("shl", "shr", "sar", "rol", "ror", "shrd", "shld"):
            first[1] = rng.randrange(8 * ops[0].size)
        if name in ("bsr", "bsf"):
            for i in self.free:
                first[i] |= np.uint64(1 << rng.randrange(8 * ops[1].size))

    def form(self, insn):
        skipped = insn.mnemonic in ("jmp", "ret", "endbr64", "nop", "lfence")
        if skipped or re.search(r"\b([re]?[sb]p|[sb]pl|rip)\b", insn.op_str):
            return None
        if self.conditional.fullmatch(insn.mnemonic):
            return insn.mnemonic, str(insn.size)
        kinds, registers = [], [o.reg for o in insn.operands if o.type == X.X86_OP_REG]
        for o in insn.operands:
            if o.type == X.X86_OP_REG:
                n = insn.reg_name(o.reg)
                kinds.append(n[:3] if n[1:3] == "mm" else "k" if n[0] == "k" else f"r{8 * o.size}")
            elif o.type == X.X86_OP_MEM:
                kinds.append(f"m{8 * o.size}" + ("b" if "{1to" in insn.op_str else ""))
            else:  # controls and truth tables are part of the form; other constants are data
                kinds.append(f"i{o.imm}" if insn.mnemonic.startswith(("v", "p", "insertps", "sh", "ro", "k")) else "i")
        return insn.mnemonic, *kinds, "{z}" if "{z}" in insn.op_str else "", "same" if len(set(registers)) < len(registers) else ""

    def lacks(self, insn):
        name, needs = insn.mnemonic, {NEEDS[g] for g in map(insn.group_name, insn.groups) if g in NEEDS}
        if name.startswith(("vaes", "vpclmul")) and any(o.size >= 32 for o in insn.operands):
            needs |= {"vaes", "vpclmulqdq"}
        if "52" in name:
            needs.add("avx512ifma")
        return min(needs - CPU, default=None)


class Arm(Machine):
    flag_bits = {"carry": 29, "overflow": 28, "zero": 30, "sign": 31}
    conditional = re.compile(r"b\.\w\w|b(eq|ne|cs|hs|lo|cc|mi|pl|vs|vc|hi|ls|gt|lt|ge|le)|cbn?z|tbn?z")

    def form(self, insn):
        """Shifts, lanes and lists of registers are part of the form."""
        text = insn.op_str
        if re.fullmatch("b|ret|bx|v?push|v?pop", insn.mnemonic) or "sp" in re.split(r"\W+", text):
            return None
        if self.conditional.fullmatch(insn.mnemonic):
            return insn.mnemonic, re.sub(r"\d*(, )?#\w+$", "", text)
        names = re.findall(r"\b[wxvqdsr]\d+\b|\b(?:sb|fp|ip)\b", re.sub(r"\[[^\]]*\]", "", text))
        same = "same" if len(set(names)) < len(names) else ""
        short = re.sub(r"\b(?:sb|fp|ip)\b", "r", re.sub(r"\b([wxvqdsr])\d+(?!\w)", r"\1", text))
        if not re.search(r"lsl|lsr|asr|ror|ext|shr|shl|sli|sri|rsb|\bv|^v", insn.mnemonic + " " + short):
            short = re.sub(r"#-?(0x)?[0-9a-f]+", "#", short)
        elif "[" in short and "{" not in short or insn.mnemonic in ("mov", "and", "orr", "add", "sub"):
            short = re.sub(r"(\[\w+, )#-?(0x)?[0-9a-f]+", r"\1#", short)
        return insn.mnemonic, short, same

    def prepare(self, insn, rng, records):
        """Counts and controls are those of kernels."""
        self.random_flags(rng, records)
        first, name, text = records[0], insn.mnemonic, insn.op_str
        if name in ("cbz", "cbnz") and rng.random() < 0.5:
            first[self.isa.number(text.split(",")[0])] = 0
        bytes_ = first.view(np.uint8)[8 * self.slots:]
        if name.startswith(("tbl", "tbx", "vtbl", "vtbx")):
            at, size = int(re.search(r"(\d+)(\.\w+)?$", text)[1]), 16 if self.isa is arm64 else 8
            bytes_[size * at:size * (at + 1)] = [rng.choice((rng.randrange(16), rng.randrange(80), 255)) for _ in range(size)]
        if name.startswith("vshl.u32") and "#" not in text:
            at = 16 * int(re.search(r"q(\d+)$", text)[1])
            bytes_[at:at + 16].view(np.int32)[:] = [rng.choice((-31, -7, 0, 5, 31, -40, 40)) for _ in range(4)]


class Arm64(Arm):
    vectors, lanes = 128, 4
    free = [i for i in range(31) if i not in (18, 28, 29, 30)]
    enter, leave, increase = ("mov x28, x0",), ("ret",), bytes.fromhex("08050091")  # add x8, x8, #1

    def over_one(self, insn, code):
        of_bit = insn.mnemonic.startswith("tb")
        return (int.from_bytes(code, "little") & ~((0x3fff if of_bit else 0x7ffff) << 5) | 2 << 5).to_bytes(4, "little")

    def moves(self):
        move = lambda r, at: (f"ldr {r}, [x28, #{at}]", f"str {r}, [x28, #{at}]")
        return [("ldr x1, [x28, #264]\nmsr nzcv, x1", "mrs x1, nzcv\nstr x1, [x28, #264]"),
                *(move(f"q{i}", 272 + 16 * i) for i in range(32)), *(move(f"x{i}", 8 * i) for i in self.free)]


class Arm32(Arm):
    slots, vectors = 18, 64
    free = [i for i in range(13) if i != 10]
    enter, leave = ("push {r10, lr}", "mov r10, r0"), ("pop {r10, pc}",)
    increase = bytes.fromhex("018088e2")  # add r8, r8, #1

    def over_one(self, insn, code):
        return bytes(3) + code[3:]

    def moves(self):
        vectors = "add r0, r10, #144\nv{0}mia r0!, {{d0-d15}}\nv{0}mia r0, {{d16-d31}}"
        return [("ldr r1, [r10, #136]\nmsr cpsr_f, r1", "mrs r1, cpsr\nstr r1, [r10, #136]"), (vectors.format("ld"), vectors.format("st")),
                *((f"ldr r{i}, [r10, #{8 * i}]", f"str r{i}, [r10, #{8 * i}]") for i in self.free)]
