"""x86-64: the effect of each instruction on registers, flags and memory, in terms of values.

Capstone decodes. The semantics follow Intel's manual (SDM, volume 2). tests/semantics.py compares them with the CPU.
An instruction becomes a function of the machine, which is made once for each address. An unknown instruction stops
the run.
"""
import functools
import re

import capstone
from capstone import x86_const as X
from isa.code import Flags, carry_set, known, less, overflow_of, tests, top
from isa.lanes import by_elements, each, elements, interleave, look_up, split
from spec import reverse
from values import linear, terms
from values.terms import (Unproved, add, add_modular, aes_inverse_round, aes_round, both, carryless, cat, const, cut,
    either, equal,
    extend, invert, mix_columns, product, rotate_left, select, shift_left, shift_right, sign_fill, subtract, undefined, xor)


NAMES64 = "rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15".split()
GENERAL = {}  # name -> (number, lowest bit, width)
for _i, _n in enumerate(NAMES64):
    GENERAL[_n] = (_i, 0, 64)
    if _i < 8:
        GENERAL["e" + _n[1:]] = (_i, 0, 32)
        GENERAL[_n[1:]] = (_i, 0, 16)
    else:
        GENERAL[_n + "d"], GENERAL[_n + "w"], GENERAL[_n + "b"] = (_i, 0, 32), (_i, 0, 16), (_i, 0, 8)
for _i, _n in enumerate("al cl dl bl spl bpl sil dil".split()):
    GENERAL[_n] = (_i, 0, 8)
for _i, _n in enumerate("ah ch dh bh".split()):
    GENERAL[_n] = (_i, 8, 8)
RSP, RBP = 4, 5

POINTER = 64
MACHINE = "EM_X86_64"
ARGUMENTS = (7, 6, 2)  # rdi, rsi, rdx


class Machine(Flags):
    TESTS = tests("b ae,e ne,be a,l ge,le g,s ns,o no", carry_set, Flags.zero, lambda m: either(m.bit(m.carry), m.zero()), less,
                  lambda m: either(less(m), m.zero()), Flags.sign, lambda m: m.bit(m.overflow))

    def __init__(self, memory):
        super().__init__(memory)
        self.general = [undefined(64)] * 16
        self.untouched = (undefined(32),) * 16
        self.vector = [self.untouched] * 32
        self.mask = [undefined(64)] * 8

    def fill_vectors(self, name):
        self.vector = [tuple(name(f"vector {i} {j}", 32) for j in range(16)) for i in range(32)]

    def set_word(self, r, i, v):
        """Sets word i of a vector register."""
        self.vector[r] = (*self.vector[r][:i], v, *self.vector[r][i + 1:])


def decoder():
    md = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    md.detail = True
    return md


# ---- Operands -------------------------------------------------------------------------------------------------------

def general(insn, op):
    name = insn.reg_name(op.reg)
    if name not in GENERAL:
        raise Unproved(f"register {name} is not known: {insn.mnemonic} {insn.op_str}")
    n = GENERAL[name]
    if n[0] in (RSP, RBP):
        raise Unproved(f"the stack or frame pointer in {insn.mnemonic} {insn.op_str}")
    return n


def address_parts(insn, op):
    """Returns the (register, scale) pairs of an address."""
    m = op.mem
    if m.segment or m.base == X.X86_REG_RIP:
        raise Unproved(f"a segment, or data beside the code: {insn.mnemonic} {insn.op_str}")
    found = [(GENERAL[insn.reg_name(reg)], scale) for reg, scale in ((m.base, 1), (m.index, m.scale)) if reg]
    if any(width != 64 or n in (RSP, RBP) for (n, _, width), _ in found):
        raise Unproved(f"address {insn.op_str}")
    return [(n, scale) for (n, _, _), scale in found]


def address(insn, op):
    """Returns a function of the machine that computes an address."""
    parts, disp = address_parts(insn, op), op.mem.disp

    def at(machine):
        a = disp
        for n, scale in parts:
            c = machine.general[n].constant
            if c is None:
                c = machine.known(machine.general[n], "an address")
                if len(parts) > 1:
                    linear.one_pointer(*(machine.general[i] for i, _ in parts))
                if scale > 1 and linear.any_place(machine.general[n]):
                    raise Unproved("an address that is a multiple of a pointer")
            a += c * scale
        return a & ((1 << 64) - 1)
    return at


def source(insn, op, width=None):
    """Returns a function of the machine that computes an operand of a general instruction."""
    width = width or 8 * op.size
    if op.type == X.X86_OP_IMM:
        v = op.imm & ((1 << width) - 1)
        return lambda machine: const(v, width)
    if op.type == X.X86_OP_REG:
        n, low, w = general(insn, op)
        if low == 0 and w == 64:
            return lambda machine: machine.general[n]
        return lambda machine: cut(machine.general[n], low, w)
    at, size = address(insn, op), op.size
    return lambda machine: machine.memory.load(at(machine), size)


def target(insn, op):
    if op.type == X.X86_OP_REG:
        n, low, w = general(insn, op)
        if w == 64:
            def put(machine, v):
                machine.general[n] = v
        elif w == 32:
            def put(machine, v):
                machine.general[n] = extend(v, 64)
        else:
            def put(machine, v):
                old = machine.general[n]
                machine.general[n] = cat(*([cut(old, 0, low)] if low else []), v, cut(old, low + w, 64 - low - w))
        return put
    at = address(insn, op)

    def store(machine, v):
        machine.memory.store(at(machine), v)
    return store


# ---- General instructions -------------------------------------------------------------------------------------------

HANDLERS = {}  # mnemonic -> function of an instruction, which returns a function of the machine


def handles(names):
    def note(f):
        HANDLERS.update(dict.fromkeys(names.split(), f))
        return f
    return note


@handles("add adc sub sbb cmp neg inc dec")
def arithmetic(insn):
    name, ops = insn.mnemonic, insn.operands
    width, put = 8 * ops[0].size, target(insn, ops[0])
    a, b = source(insn, ops[0]), source(insn, ops[-1], width)
    with_carry, adds, by_one = name in ("adc", "sbb"), name in ("add", "adc", "inc"), name in ("inc", "dec")
    if name == "neg":
        a = lambda m: const(0, width)
    if by_one:
        b = lambda m: const(1, width)

    def run(m):
        x, y, before = a(m), b(m), m.carry
        c = m.bit(before) if with_carry else None
        r, m.carry = add(width, x, y, carry=c) if adds else subtract(width, x, y, c)
        if width == 32 and c is None and (adds or y.constant is not None):
            r = add_modular(x, y if adds else const(-y.constant, 32))
        if by_one:
            m.carry = before
        m.overflow, m.result = overflow_of(x, y, r, not adds), r
        if name != "cmp":
            put(m, r)
    return run


@handles("and or xor test")
def logic(insn):
    name, (o1, o2) = insn.mnemonic, insn.operands
    width = 8 * o1.size
    a, b, put = source(insn, o1), source(insn, o2, width), target(insn, o1)
    operation = {"and": both, "test": both, "or": either, "xor": xor}[name]
    zero = name == "xor" and o1.type == o2.type == X.X86_OP_REG and o1.reg == o2.reg

    def run(m):
        r = const(0, width) if zero else operation(a(m), b(m))
        m.carry = m.overflow = const(0, 1)
        m.result = r
        if name != "test":
            put(m, r)
    return run


def count_of(n, width):
    return known(n, "the count of a shift") & (63 if width == 64 else 31)


def deposit(v, mask):
    """pdep: the lowest bits of v, at the places of the ones of a mask."""
    places = [i for i in range(v.width) if known(mask, "a mask of bits") >> i & 1]
    found = [const(0, 1)] * v.width
    for i, at in enumerate(places):
        found[at] = cut(v, i, 1)
    return cat(*found)


# Instructions that compute their first operand from the last ones, and need no flags.
PLAIN = {
    **dict.fromkeys(("mov", "movabs", "movzx"), lambda v: v), "not": invert, "bswap": reverse, "pdep": deposit,
    "shlx": lambda v, n: shift_left(v, count_of(n, v.width)), "shrx": lambda v, n: shift_right(v, count_of(n, v.width)),
    "imul": lambda x, y: cut(product(x, y), 0, x.width),
}


@handles(" ".join(PLAIN))
def compute(insn):
    name, ops = insn.mnemonic, insn.operands
    if name == "imul" and len(ops) == 1:
        raise Unproved("imul with one operand")
    if name == "bswap" and ops[0].size < 4:
        raise Unproved("bswap of 16 bits")
    f, width, put = PLAIN[name], 8 * ops[0].size, target(insn, ops[0])
    sources = [source(insn, o, width) for o in (ops[-2:] if name == "imul" else ops[1:] or ops)]

    def run(m):
        put(m, extend(f(*[s(m) for s in sources]), width))
        if name == "imul":
            m.carry = m.overflow = m.result = None
    return run


@handles("lea")
def load_address(insn):
    o1, o2 = insn.operands
    parts, disp, width, put = address_parts(insn, o2), o2.mem.disp, 8 * o1.size, target(insn, o1)

    def run(m):
        values = [shift_left(m.general[n], s.bit_length() - 1) for n, s in parts]
        if width == 32:  # as 32-bit additions, so counters have the same form as theirs
            r = functools.reduce(lambda total, v: add_modular(extend(v, 32), total), values, const(disp, 32))
        elif disp < 0 and len(values) == 1 and values[0].constant is None:
            r = subtract(64, values[0], const(-disp, 64))[0]
        else:
            r = add(64, *values, const(disp, 64))[0]
        put(m, extend(r, width))
    return run


@handles("shl shr sar rol ror shld shrd")
def shift(insn):
    name, ops = insn.mnemonic, insn.operands
    width, a, put = 8 * ops[0].size, source(insn, ops[0]), target(insn, ops[0])
    n = source(insn, ops[-1], 8) if len(ops) > 1 else lambda m: const(1, 8)
    b = source(insn, ops[1]) if name in ("shld", "shrd") else None
    f, left = {"shl": shift_left, "shr": shift_right, "sar": sign_fill}.get(name), name in ("shl", "rol", "shld")

    def run(m):
        v, c = a(m), count_of(n(m), width)
        if c == 0:  # leaves the flags, but clears the upper half of a 32-bit register
            put(m, v)
            return
        m.overflow = None
        if name in ("rol", "ror"):
            r = rotate_left(v, c if left else width - c % width)
            m.carry = cut(r, 0, 1) if left else top(r)
            put(m, r)
            return
        if c > width:
            raise Unproved("a shift by more than the width")
        m.carry = cut(v, width - c if left else c - 1, 1)
        if b:
            m.result = cut(cat(b(m), v), width - c, width) if left else cut(cat(v, b(m)), c, width)
        elif width == 64 and name != "sar" and (r := linear.shift(v, c, not left)) is not None:
            m.carry, m.result = None, r
        else:
            m.result = f(v, c)
        put(m, m.result)
    return run


@handles("mul mulx")
def multiply(insn):
    ops, name = insn.operands, insn.mnemonic
    width, b = 8 * ops[0].size, source(insn, ops[-1])
    if width not in (32, 64):
        raise Unproved("mul of this width")
    if name == "mulx":
        x, low, high = 2, target(insn, ops[1]), target(insn, ops[0])
    else:
        x, low, high = 0, *(lambda m, v, r=r: m.general.__setitem__(r, extend(v, 64)) for r in (0, 2))

    def run(m):
        r = extend(product(cut(m.general[x], 0, width), b(m)), 2 * width)
        low(m, cut(r, 0, width))
        high(m, cut(r, width, width))
        if name == "mul":
            m.carry = m.overflow = m.result = None
    return run


@handles("andn bzhi")
def bits(insn):
    o1, o2, o3 = insn.operands
    a, b, put, width, complements = source(insn, o2), source(insn, o3), target(insn, o1), 8 * o1.size, insn.mnemonic == "andn"

    def run(m):
        if complements:
            r, m.carry = both(invert(a(m)), b(m)), const(0, 1)
        else:
            x, n = a(m), known(b(m), "a count of bits") & 0xff
            r, m.carry = cut(cut(x, 0, min(n, width)), 0, width) if n else const(0, width), const(n > width - 1, 1)
        m.overflow, m.result = const(0, 1), r
        put(m, r)
    return run


def move_if(insn):
    code, (o1, o2) = insn.mnemonic.removeprefix("cmov"), insn.operands
    a, b, put = source(insn, o1), source(insn, o2), target(insn, o1)
    return lambda m: put(m, select(m.condition(code), b(m), a(m)))


# ---- Vectors --------------------------------------------------------------------------------------------------------

def mask_of(insn, op):
    """The number of a mask register, or None."""
    name = insn.reg_name(op.reg) if op.type == X.X86_OP_REG else ""
    return int(name[1:]) if name.startswith("k") else None


def element_bytes(name):
    """The size of an EVEX instruction's elements, as far as masks require it."""
    if name in ("vpunpckldq", "vpunpckhdq"):
        return 4
    if name == "vpalignr":
        return 1
    return next((n for end, n in (("8", 1), ("16", 2), ("64", 8), ("64x2", 8), ("64x4", 8), ("b", 1), ("w", 2), ("q", 8)) if name.endswith(end)), 4)


@terms.kept
def zeroes(n):
    return (const(0, 32),) * n


class Vectors:
    """The operands of a vector instruction, as sequences of 32-bit words. ops: without a mask and the immediate."""

    def __init__(self, insn):
        self.insn, self.name, ops = insn, insn.mnemonic, list(insn.operands)
        self.vex = self.name.startswith("v")
        self.zeroing = "{z}" in insn.op_str  # capstone 5 has neither this nor broadcasts in its operands
        self.broadcast = "{1to" in insn.op_str
        self.mask = mask_of(insn, ops[1])
        if self.mask is not None:
            del ops[1]
        self.imm = ops.pop().imm & 0xff if ops[-1].type == X.X86_OP_IMM else None
        self.ops = ops
        self.element = element_bytes(self.name)

    def is_vector(self, i):
        o = self.ops[i]
        return o.type == X.X86_OP_REG and self.insn.reg_name(o.reg)[1:3] == "mm"

    def words(self, i):
        """The number of words of register i."""
        return {"x": 4, "y": 8, "z": 16}[self.insn.reg_name(self.ops[i].reg)[0]]

    def chosen(self, m):
        """The elements that the mask selects: an access skips the others."""
        return known(m.mask[self.mask], "the mask of an access")

    def read(self, i, n=None):
        o = self.ops[i]
        if o.type == X.X86_OP_REG:
            r = int(self.insn.reg_name(o.reg)[3:])
            n = n or self.words(i)
            return lambda m: m.vector[r][:n]
        n = n or self.words(0)
        at = address(self.insn, o)
        if self.broadcast:
            w = o.size // 4
            return lambda m: m.memory.load_words(at(m), w) * (n // w)
        aligned = "dqa" in self.name or not self.vex and n >= 4 and self.name not in ("movdqu", "movups")
        whole = self.mask is None or "movdq" not in self.name  # shuffles, for example, read what their mask leaves out

        def load(m):
            a = at(m)
            if aligned:
                m.memory.aligned(a, 4 * n)
            if whole:
                return m.memory.load_words(a, n)
            return load_elements(m, a, 4 * n // self.element, self.element, self.chosen(m))
        return load

    def part(self, i, n):
        """As read, of the lowest n words, which may also be in a general register."""
        if self.ops[i].type == X.X86_OP_MEM or self.is_vector(i):
            return self.read(i, n)
        s = source(self.insn, self.ops[i])
        return lambda m: split([s(m)])

    def write_part(self):
        """Writes words to a general register or to memory."""
        put, width = target(self.insn, self.ops[0]), 8 * self.ops[0].size
        return lambda m, words: put(m, extend(cat(*words), width))

    def write(self):
        o, element, mask, zeroing = self.ops[0], self.element, self.mask, self.zeroing
        if o.type == X.X86_OP_REG:
            r, vex = int(self.insn.reg_name(o.reg)[3:]), self.vex

            def put(m, words):
                # The old value is read only if a part of it remains.
                old = m.vector[r] if not vex or mask is not None and not zeroing else ()
                if mask is not None:
                    words = blend(m.mask[mask], words, old, element)
                m.vector[r] = (*words, *(zeroes(16 - len(words)) if vex else old[len(words):]))
            return put
        at = address(self.insn, o)
        if mask is not None and "movdq" not in self.name:
            raise Unproved(f"a store of a part with a mask: {self.name}")

        def store(m, words):
            a = at(m)
            if "dqa" in self.name:
                m.memory.aligned(a, 4 * len(words))
            if mask is None:
                m.memory.store_words(a, words)
                return
            k = self.chosen(m)
            for e, v in enumerate(elements(words, 8 * element)):
                if k >> e & 1:
                    m.memory.store(a + e * element, v)
        return store


def load_elements(m, at, count, size, chosen):
    """Loads the elements whose bits are set in a mask. The others are undefined."""
    return tuple(split([m.memory.load(at + e * size, size) if chosen >> e & 1 else undefined(8 * size) for e in range(count)]))


def blend(mask, words, old, size):
    """Takes the elements of `words` whose bits are set in a mask, and others from `old`, or zeroes without it."""
    new = elements(words, 8 * size)
    was = elements(old[:len(words)], 8 * size) if old else [const(0, 8 * size)] * len(new)
    return split([select(cut(mask, i, 1), x, y) for i, (x, y) in enumerate(zip(new, was))])


def in_lanes(n, f):
    """Returns the function of two lists that applies f to each lane of n elements."""
    return lambda a, b: [e for i in range(0, len(a), n) for e in f(a[i:i + n], b[i:i + n])]


def shuffle_bytes(v, control):
    """Looks up bytes by bits 0 to 3 of each index; with bit 7 set, the byte is 0."""
    return cat(*look_up([*terms.parts_of(v, 8) * 8, *[const(0, 8)] * 128], terms.parts_of(control, 8)))


def greater(x, y):
    x, y = known(x, "a comparison"), known(y, "a comparison")
    return const(max(x, y, key=lambda v: v ^ 1 << 63), 64)  # of signed numbers


def by_count(f):
    return each(lambda v, n: f(v, known(n, "the count of a shift")))


def by_number(f):
    return lambda vector, n: [f(v, n) for v in vector]


def shuffle(vector, imm):
    """Takes elements of each four."""
    return [vector[i & ~3 | imm >> 2 * (i & 3) & 3] for i in range(len(vector))]


def permute_halves(a, b, imm):
    return [const(0, 128) if c & 8 else (a + b)[c & 3] for c in (imm & 15, imm >> 4)]


def shuffle_lanes(a, b, imm):
    n = len(a) // 2  # lanes from each source, and bits of the immediate for each
    return [(a if i < n else b)[imm >> n * i & (1 << n) - 1] for i in range(2 * n)]


def insert_single(a, b, imm):
    """insertps: moves one word, and zeroes some."""
    moved = [b[imm >> 6] if i == imm >> 4 & 3 else w for i, w in enumerate(a)]
    return [const(0, 32) if imm >> i & 1 else w for i, w in enumerate(moved)]


def polynomial_product(a, b, imm):
    return [carryless(cut(x, 64 * (imm & 1), 64), cut(y, 64 * (imm >> 4 & 1), 64)) for x, y in zip(a, b)]


TERNARY = {0x96: lambda x, y, z: xor(xor(x, y), z), 0xa8: lambda x, y, z: both(either(x, y), z), 0xff: lambda x, y, z: const(-1, 32)}


def ternary_logic(a, b, c, imm):
    """vpternlog: a function of three bits, whose value for x, y, z is bit 4x + 2y + z of the immediate."""
    if imm not in TERNARY:
        raise Unproved(f"the ternary function {imm:#x} is not known")
    return list(map(TERNARY[imm], a, b, c))


def multiply_52(low):
    """Adds 52 bits of the product of numbers of 52 bits, from bit `low` on."""
    return each(lambda s, x, y: add(64, s, extend(cut(product(cut(x, 0, 52), cut(y, 0, 52)), low, 52), 64))[0])


def permute(table, control):
    """The elements of a table at the low bits of a control's elements."""
    return [table[known(x, "the control of a permutation") & len(table) - 1] if x.defined else terms.tainted(x.width)
            for x in control]


# Instructions that compute vectors from vectors: the width of elements, the number of sources, a function of these.
FUNCTIONS = {
    "paddd": (32, 2, each(add_modular)), "paddq": (64, 2, each(lambda x, y: add(64, x, y)[0])),
    "psubq": (64, 2, each(lambda x, y: subtract(64, x, y)[0])),
    **{name: (32, 2, each(f)) for names, f in (
        ("pand pandq", both), ("pandn pandnq", lambda x, y: both(invert(x), y)), ("por porq", either),
        ("pxor pxord pxorq", xor)) for name in names.split()},
    "punpckldq": (32, 2, in_lanes(4, interleave("zip", 0))), "punpckhdq": (32, 2, in_lanes(4, interleave("zip", 1))),
    "punpcklqdq": (64, 2, in_lanes(2, interleave("zip", 0))), "punpckhqdq": (64, 2, in_lanes(2, interleave("zip", 1))),
    "pshufb": (128, 2, each(shuffle_bytes)), "pcmpeqd": (32, 2, each(lambda x, y: cat(*[equal(x, y)] * 32))),
    "pmaxsq": (64, 2, each(greater)),
    "psllvq": (64, 2, by_count(shift_left)), "psrlvq": (64, 2, by_count(shift_right)),
    "permd": (32, 2, lambda b, c: permute(c, b)), "permq": (64, 2, lambda b, c: permute(c, b)),
    "permi2d": (32, 3, lambda a, b, c: permute(b + c, a)), "permi2q": (64, 3, lambda a, b, c: permute(b + c, a)),
    "permt2d": (32, 3, lambda a, b, c: permute(a + c, b)), "pmadd52luq": (64, 3, multiply_52(0)),
    "pmadd52huq": (64, 3, multiply_52(52)),
    "aesenc": (128, 2, each(aes_round)), "aesenclast": (128, 2, each(lambda x, y: aes_round(x, y, True))),
    "aesdec": (128, 2, each(aes_inverse_round)),
    "aesdeclast": (128, 2, each(lambda x, y: aes_inverse_round(x, y, True))),
    "aesimc": (128, 1, each(lambda x: mix_columns(x, True))),
}
# The same with an immediate, which is the function's last argument.
WITH_IMMEDIATE = {
    "pslld": (32, 1, by_number(shift_left)), "psllq": (64, 1, by_number(shift_left)),
    "psrld": (32, 1, by_number(shift_right)), "psrlq": (64, 1, by_number(shift_right)),
    "pslldq": (128, 1, by_number(lambda v, n: shift_left(v, 8 * n))),
    "psrldq": (128, 1, by_number(lambda v, n: shift_right(v, 8 * n))),
    "psrad": (32, 1, by_number(lambda v, n: sign_fill(v, min(n, 32)))), "prold": (32, 1, by_number(rotate_left)),
    "pshufd": (32, 1, shuffle), "permq": (64, 1, shuffle), "perm2i128": (128, 2, permute_halves),
    "shufi32x4": (128, 2, shuffle_lanes), "shufi64x2": (128, 2, shuffle_lanes),
    "palignr": (128, 2, lambda a, b, imm: [cut(cat(y, x), 8 * imm, 128) for x, y in zip(a, b)]),
    "alignq": (64, 2, lambda a, b, imm: (b + a)[imm & len(a) - 1:][:len(a)]),
    "pblendd": (32, 2, lambda a, b, imm: [y if imm >> i & 1 else x for i, (x, y) in enumerate(zip(a, b))]),
    "insertps": (32, 2, insert_single), "pclmulqdq": (128, 2, polynomial_product),
    "pternlogd": (32, 3, ternary_logic), "pternlogq": (32, 3, ternary_logic),
}
for _table in FUNCTIONS, WITH_IMMEDIATE:
    _table.update({name: (count, by_elements(width, f)) for name, (width, count, f) in _table.items()})


def vector_function(insn):
    v = Vectors(insn)
    found = (FUNCTIONS if v.imm is None else WITH_IMMEDIATE).get(v.name.removeprefix("v"))
    if found is None or "insertps" in v.name and not v.is_vector(-1):  # from memory, it moves the only word there
        raise Unproved(f"instruction {v.name} {insn.op_str} is not known")
    n, put, imm, (count, f) = v.words(0), v.write(), () if v.imm is None else (v.imm,), found
    sources = [v.read(i, n) for i in range(-count, 0)]
    if re.search("xor|cmpeq", v.name) and all(o.type == X.X86_OP_REG and o.reg == v.ops[-1].reg for o in v.ops[-2:]):
        ones = 0 if "xor" in v.name else -1
        return lambda m: put(m, [const(ones, 32)] * n)  # whatever the register has
    if count == 2:
        a, b = sources
        return lambda m: put(m, f((a(m), b(m)), *imm))
    return lambda m: put(m, f([s(m) for s in sources], *imm))


def part_words(name):
    """The number of words of the part that an instruction moves or repeats."""
    return {"d": 1, "q": 2, "s": 2}.get(name[-1]) or (8 if name.endswith("64x4") else 4)


@handles("vpbroadcastd vpbroadcastq vbroadcasti128 vbroadcasti32x4")
def broadcast(insn):
    v = Vectors(insn)
    n, w, put = v.words(0), part_words(v.name), v.write()
    if v.ops[1].type == X.X86_OP_MEM and v.mask is not None:
        at, count = address(insn, v.ops[1]), 4 * w // v.element

        def run(m):
            chosen, read = v.chosen(m), 0
            for e in range(0, 4 * n // v.element, count):
                read |= chosen >> e  # an element is read if any of its copies is written
            put(m, load_elements(m, at(m), count, v.element, read) * (n // w))
        return run
    a = v.part(1, w)
    return lambda m: put(m, (*a(m),) * (n // w))


@handles("movd movq vmovd vmovq movhps vmovlps vmovhps "
         "pinsrd pinsrq vpinsrd vpinsrq vinserti128 vinserti32x4 vinserti64x4 "
         "pextrq vpextrd vpextrq vextracti128 vextracti32x4 vextracti64x4")
def move_part(insn):
    """Moves a part of a vector: the lowest words (movd, movq), a half (movlps, movhps), or the part at an immediate."""
    v = Vectors(insn)
    w, moves, extracts = part_words(v.name), "mov" in v.name, "extr" in v.name or not v.is_vector(0)
    n = v.words(1 if extracts else 0)
    first = 2 * ("h" in v.name) if moves else w * (v.imm & n // w - 1)
    if extracts:
        a, put = v.read(1, n), v.write() if w >= 4 else v.write_part()
        return lambda m: put(m, a(m)[first:first + w])
    b, put = v.part(-1, w), v.write()
    if moves and v.name[-1] != "s":  # zeroes the words above
        return lambda m: put(m, (*b(m), *zeroes(4 - w)))
    a = v.read(-2, n)
    return lambda m: put(m, (*(x := a(m))[:first], *b(m), *x[first + w:]))


@handles("movdqa movdqu movups vmovdqa vmovdqu vmovdqa64 vmovdqu64 vmovdqu8")
def move_vector(insn):
    v = Vectors(insn)
    a, put = v.read(1, v.words(0 if v.is_vector(0) else 1)), v.write()
    return lambda m: put(m, a(m))


@handles("vpblendmq")
def blend_mask(insn):
    v = Vectors(insn)
    n, k, v.mask = v.words(0), v.mask, None
    a, b, put = v.read(1, n), v.read(2, n), v.write()
    return lambda m: put(m, blend(m.mask[k], b(m), () if v.zeroing else a(m), v.element))


@handles("vzeroupper")
def zero_vectors(insn):
    def run(m):
        m.vector[:16] = [v[:4] + zeroes(12) for v in m.vector[:16]]
    return run


@handles("nop lfence")
def nothing(insn):
    return lambda m: None


# ---- Masks ------------------------------------------------------------------------------------------------------------

def lower(x, y):
    return subtract(x.width, x, y)[1]


def nothing_common(x, y):
    return equal(both(x, y), const(0, x.width))


def signed(v):
    """A value whose order as an unsigned number is that of v as a signed one."""
    return xor(v, const(1 << v.width - 1, v.width))


COMPARISONS = {"vpcmpeqd": equal, "vpcmpltuq": lower, "vpcmpleud": lambda x, y: invert(lower(y, x)),
               "vpcmpleq": lambda x, y: invert(lower(signed(y), signed(x))),
               "vptestnmq": nothing_common, "vptestmq": lambda x, y: invert(nothing_common(x, y))}


def compare_to_mask(insn):
    if insn.mnemonic not in COMPARISONS:
        raise Unproved(f"{insn.mnemonic} is not known")
    v, f, width = Vectors(insn), COMPARISONS[insn.mnemonic], 64 if insn.mnemonic.endswith("q") else 32
    k, masked = mask_of(insn, v.ops[0]), v.mask
    a, b = v.read(1), v.read(2, v.words(1))

    def run(m):
        found = [f(x, y) if x.defined and y.defined else terms.tainted(1) for x, y in zip(elements(a(m), width), elements(b(m), width))]
        r = extend(cat(*found), 64)
        m.mask[k] = r if masked is None else both(r, m.mask[masked])
    return run


def mask_register(insn):
    """kmov, knot, kshiftr, kortest."""
    name, ops = insn.mnemonic[:-1], insn.operands
    width = {"b": 8, "w": 16, "d": 32, "q": 64}[insn.mnemonic[-1]]

    def get(o):
        n = mask_of(insn, o)
        if n is not None:
            return lambda m: cut(m.mask[n], 0, width)
        s = source(insn, o)
        return lambda m: extend(cut(s(m), 0, min(width, 8 * o.size)), width)
    k, b = mask_of(insn, ops[0]), get(ops[1])
    if name == "kortest":
        a = get(ops[0])

        def test(m):
            r = either(a(m), b(m))
            m.result, m.carry, m.overflow = cat(r, const(0, 1)), equal(r, const(-1, width)), const(0, 1)  # the sign flag is clear
        return test
    f = {"kmov": lambda v: v, "knot": invert, "kshiftr": lambda v: shift_right(v, min(ops[2].imm, width))}.get(name)
    if f is None:
        raise Unproved(f"{insn.mnemonic} is not known")
    if k is None:
        put, w = target(insn, ops[0]), 8 * ops[0].size
        return lambda m: put(m, extend(f(b(m)), w))

    def run(m):
        m.mask[k] = extend(f(b(m)), 64)
    return run


def step(insn):
    """Returns the function of an instruction that does not branch."""
    name = insn.mnemonic
    if name in HANDLERS:
        return HANDLERS[name](insn)
    if name.startswith("cmov"):
        return move_if(insn)
    if name.startswith("k"):
        return mask_register(insn)
    if len(insn.operands) < 2:
        raise Unproved(f"instruction {name} {insn.op_str} is not known")
    if mask_of(insn, insn.operands[0]) is not None:
        return compare_to_mask(insn)
    return vector_function(insn)


def no_instruction(insn):
    """Whether the encoding is no instruction, although capstone decodes it.

    In EVEX, zeroing needs a mask, and a destination that is neither a mask nor memory. Rounding shares its bit with
    broadcasts. There are no mask registers above k7, and no vectors of a fourth length.
    """
    code = bytes(insn.bytes)
    rest = code.lstrip(PREFIXES)
    if rest[0] in (0xc4, 0xc5, 0x62) and set(code[:len(code) - len(rest)]) & {0x66, 0xf0, 0xf2, 0xf3, *range(0x40, 0x50)}:
        return True  # VEX and EVEX allow none of these before them
    if code[0] != 0x62 or not insn.operands:
        return False
    zeroing, register, broadcast = code[3] & 0x80, insn.operands[0].type == X.X86_OP_REG, code[3] & 0x10
    to_mask = mask_of(insn, insn.operands[0]) is not None
    return zeroing and (not code[3] & 7 or to_mask or not register) or broadcast and "{1to" not in insn.op_str \
        or to_mask and code[1] & 0x90 != 0x90 or code[3] & 0x60 == 0x60


_md = decoder()


def decode(code, pc):
    return next(_md.disasm(code[pc:pc + 16], pc), None)

PREFIXES = bytes.fromhex("f0 f2 f3 2e 36 3e 26 64 65 66 67") + bytes(range(0x40, 0x50))


def meaning(code, pc):
    insn = decode(code, pc) if pc >= 0 else None
    if insn is None:
        raise Unproved(f"no instruction at {pc:#x}")
    name, after, text = insn.mnemonic, insn.address + insn.size, f"{insn.mnemonic} {insn.op_str}"
    if name == "ret" and bytes(insn.bytes) == b"\xc3":
        return None, None, None, text
    if name.startswith("j") and insn.bytes[0] in PREFIXES:
        raise Unproved(f"{text} with a prefix")
    if name == "jmp" and insn.operands[0].type == X.X86_OP_IMM:
        return None, insn.operands[0].imm, None, text
    if name.startswith("j"):
        if insn.operands[0].type != X.X86_OP_IMM:
            raise Unproved("an indirect jump")
        return None, after, (lambda m: m.condition(name[1:]), insn.operands[0].imm), text
    if no_instruction(insn):
        raise Unproved(f"{text} is no instruction")
    return step(insn), after, None, text
