"""x86-64 and ARM for semantics.py: how to execute an instruction on this CPU or in qemu with a given state, and which state is allowed.

The test skips branches (branches.py has them) and instructions with the stack pointer.
"""
import re

import numpy as np
from capstone import x86_const as X
from isa import arm64, x86
from isa.code import STOPS
from mutation.machine import WINDOW, Server, assemble
from run.memory import Memory
from values.terms import Unproved, const

BUFFER, RECORDS = 0x30000800, 0x40000000  # addresses: the memory that an instruction may access, and the records
AIM = BUFFER + 128  # where addresses point


class Machine:
    """An instruction set, and a machine that has it. A record of 64-bit words holds the state around one instruction:

        general registers, masks and flags (`slots` words, the flags in the last), vectors, and WINDOW bytes of memory

    A place is a part of a record: g0 .. general registers, k0 .. masks, v0 .. words of vectors, m0 .. memory, carry.
    Subclasses define the data below and

        enter, leave     assembly that keeps argument 0, a record's address, and that returns
        moves()          (load, store) of each part of the state; a load may change what follows, and a store what precedes
        decode(code)     the instruction, or None;  form(insn): its form, or None if the test skips it
        prepare(insn, rng, records)   sets addresses, counts and controls in the first record of a group, and returns the
                         places that must be equal in the whole group. With self.aligned, addresses are aligned
    """

    by, slots, masks, vectors, lanes = "the emulator", 34, 0, 0, 1  # vectors: number of words; lanes: words of a register
    flag_bits, set_flags = {}, 0  # the bits of the flags' word, and those that are always set
    spoiled = 8  # the register that --plant changes
    aligned, hidden = False, frozenset()

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

    def more_places(self):
        return {}

    def code(self, insn):
        return bytes(insn.bytes)

    def step(self, insn):
        """A function that executes the instruction."""
        return self.isa.meaning(self.code(insn), 0)[0]

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
            code = self.code(insn)
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

    def moves(self):
        vectors = [("vmovdqu64", f"zmm{i}", 26 + 8 * i) for i in range(32)] if WIDE else [("vmovdqu", f"ymm{i}", 26 + 8 * i) for i in range(16)]
        vectors += [("kmovq", f"k{i}", 16 + i) for i in range(8 if WIDE else 0)]
        move = lambda op, r, at: (f"{op} {r}, [rbp + {8 * at}]", f"{op} [rbp + {8 * at}], {r}")
        return [*(move(*v) for v in vectors), ("push qword ptr [rbp + 200]\npopfq", "pushfq\npop qword ptr [rbp + 200]"),
                *(move("mov", x86.NAMES64[i], i) for i in self.free)]

    def made(self, insn, get):
        m = super().made(insn, get)
        m.mask = [get(f"k{i}", 64) for i in range(8)]
        if not insn.mnemonic.startswith(("cmov", "set")):
            m.result = None  # only these read zero and sign
        return m

    def values(self, m):
        return super().values(m) | {f"k{i}": v for i, v in enumerate(m.mask)}

    def prepare(self, insn, rng, records):
        """Counts stay in the range that the manual defines, as in kernels."""
        self.random_flags(rng, records)
        first, fixed = records[0], set()
        name, ops = insn.mnemonic, insn.operands

        def put(register, value):
            first[register] = value % (1 << 64)
            fixed.add(f"g{register}")
        if name in ("shl", "shr", "sar", "rol", "ror", "shrd", "shld"):
            first[1] = rng.randrange(8 * ops[0].size)
        if name in ("bsr", "bsf"):
            for i in self.free:
                first[i] |= np.uint64(1 << rng.randrange(8 * ops[1].size))
        for o in ops:
            if o.type == X.X86_OP_MEM and name != "lea":
                base, index = (x86.GENERAL[insn.reg_name(r)][0] if r else None for r in (o.mem.base, o.mem.index))
                aim = BUFFER + rng.choice((0, 64, 128, 192) if self.aligned else (0, 5, 64, 77, 130, 192)) - o.mem.disp
                if base is not None and base == index:
                    raise Unproved("base and index are one register")
                if index is not None:
                    put(index, rng.randrange(16) if base is not None else aim // o.mem.scale)
                    aim -= int(first[index]) * o.mem.scale
                if base is not None:
                    put(base, aim)
        return fixed

    def form(self, insn):
        if insn.mnemonic.startswith("j") or insn.mnemonic in ("ret", "endbr64", "nop", "lfence") or \
                re.search(r"\b([re]?[sb]p|[sb]pl|rip)\b", insn.op_str):
            return None
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


SKIPPED = re.compile(r"(b|b\..*|b(eq|ne|cs|hs|lo|cc|mi|pl|hi|ls|gt|lt|ge|le)|cbn?z|tbn?z|ret|bx|v?push|v?pop)$")


class Arm(Machine):
    flag_bits = {"carry": 29, "overflow": 28, "zero": 30, "sign": 31}

    def form(self, insn):
        """Shifts, lanes and lists of registers are part of the form."""
        text = insn.op_str
        if SKIPPED.match(insn.mnemonic) or "sp" in re.split(r"\W+", text):
            return None
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
        first, fixed, find = records[0], set(), self.isa.number
        name, text = insn.mnemonic, insn.op_str

        def put(register, value):
            first[register] = value % (1 << self.bits)
            fixed.add(f"g{register}")
        one = re.search(r"\[([a-z][^\]]*)\](!?)", text) if re.match(r"v?(ld|st)", name) else None
        many = re.match(r"(\w+)!?, \{", text) if re.match(r"v?(ldm|stm)", name) else None
        if many:
            put(find(many[1]), AIM)
        elif one:
            inside = [o.strip() for o in one[1].split(",")]
            base, aim = find(inside[0].split(":")[0]), AIM + (0 if ":" in inside[0] or name in ("ldrd", "strd") else rng.choice((0, 0, 1, 3)))
            if name.startswith(("vldr", "vstr")):
                aim &= ~3
            index = inside[1] if len(inside) > 1 else text[one.end():].strip(" ,")
            if len(inside) > 1 and index.startswith("#"):
                aim -= int(index[1:], 0)
            elif re.fullmatch(r"-?[a-z]\w*", index.split(",")[0]):
                i, value = find(index.split(",")[0].lstrip("-")), rng.randrange(16)
                if i == base:
                    raise Unproved("base and index are one register")
                put(i, value)
                if len(inside) > 1:
                    by = int(inside[2].split("#")[1], 0) if len(inside) > 2 and "#" in inside[2] else 0
                    aim -= (value << by) * (-1 if index.startswith("-") else 1)
            put(base, aim)
        bytes_ = first.view(np.uint8)[8 * self.slots:]
        if name.startswith(("tbl", "tbx", "vtbl", "vtbx")):
            at, size = int(re.search(r"(\d+)(\.\w+)?$", text)[1]), 16 if self.isa is arm64 else 8
            bytes_[size * at:size * (at + 1)] = [rng.choice((rng.randrange(16), rng.randrange(80), 255)) for _ in range(size)]
        if name.startswith("vshl.u32") and "#" not in text:
            at = 16 * int(re.search(r"q(\d+)$", text)[1])
            bytes_[at:at + 16].view(np.int32)[:] = [rng.choice((-31, -7, 0, 5, 31, -40, 40)) for _ in range(4)]
        return fixed


class Arm64(Arm):
    vectors, lanes = 128, 4
    free = [i for i in range(31) if i not in (18, 28, 29, 30)]
    enter, leave = ("mov x28, x0",), ("ret",)

    def moves(self):
        move = lambda r, at: (f"ldr {r}, [x28, #{at}]", f"str {r}, [x28, #{at}]")
        return [("ldr x1, [x28, #264]\nmsr nzcv, x1", "mrs x1, nzcv\nstr x1, [x28, #264]"),
                *(move(f"q{i}", 272 + 16 * i) for i in range(32)), *(move(f"x{i}", 8 * i) for i in self.free)]


class Arm32(Arm):
    slots, vectors = 18, 64
    free = [i for i in range(13) if i != 10]
    enter, leave = ("push {r10, lr}", "mov r10, r0"), ("pop {r10, pc}",)

    def moves(self):
        vectors = "add r0, r10, #144\nv{0}mia r0!, {{d0-d15}}\nv{0}mia r0, {{d16-d31}}"
        return [("ldr r1, [r10, #136]\nmsr cpsr_f, r1", "mrs r1, cpsr\nstr r1, [r10, #136]"), (vectors.format("ld"), vectors.format("st")),
                *((f"ldr r{i}, [r10, #{8 * i}]", f"str r{i}, [r10, #{8 * i}]") for i in self.free)]
