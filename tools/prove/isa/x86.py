"""x86-64: the effect of each instruction on registers, flags and memory, in terms of values.

Capstone decodes. The semantics follow Intel's manual (SDM, volume 2). tests/semantics.py compares them with the CPU.
An instruction becomes a function of the machine, which is made once for each address. An unknown instruction stops
the run.
"""
import re

import capstone
from capstone import x86_const as X
from isa.code import known, pairs, split
from values import bits as bitwise, linear, terms
from values.terms import (Unproved, add, add_modular, aes_inverse_round, aes_round, atom, both, carryless, cat, const, cut, either, equal,
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
BITWISE = "ssse3"  # levels with bit-sliced AES
ARGUMENTS = (7, 6, 2)  # rdi, rsi, rdx


class Machine:
    def __init__(self, memory):
        self.memory = memory
        self.general = [undefined(64)] * 16
        self.vector = [(undefined(32),) * 16] * 32
        self.mask = [undefined(64)] * 8
        self.carry = self.overflow = None  # one bit, or None if the manual leaves it undefined
        self.result = None  # determines the zero and sign flags
        self.steps = 0

    def set_word(self, r, i, v):
        """Sets word i of a vector register."""
        self.vector[r] = (*self.vector[r][:i], v, *self.vector[r][i + 1:])

    def flag_zero(self):
        if self.result is None:
            raise Unproved("a flag that the manual leaves undefined")
        return equal(self.result, const(0, self.result.width))

    def flag_sign(self):
        if self.result is None:
            raise Unproved("a flag that the manual leaves undefined")
        return cut(self.result, self.result.width - 1, 1)

    def flag(self, v):
        if v is None:
            raise Unproved("a flag that the manual leaves undefined")
        return v

    def condition(self, code):
        """The condition as one bit."""
        negate = code in ("ae", "nc", "nb", "ne", "nz", "a", "nbe", "ge", "nl", "g", "nle", "ns", "no")
        base = {"ae": "b", "nc": "b", "nb": "b", "c": "b", "nae": "b", "ne": "e", "nz": "e", "z": "e", "a": "be", "nbe": "be",
                "na": "be", "ge": "l", "nl": "l", "nge": "l", "g": "le", "nle": "le", "ng": "le", "ns": "s", "no": "o"}.get(code, code)
        if base == "b":
            v = self.flag(self.carry)
        elif base == "e":
            v = self.flag_zero()
        elif base == "be":
            v = either(self.flag(self.carry), self.flag_zero())
        elif base == "l":
            v = xor(self.flag_sign(), self.flag(self.overflow))
        elif base == "le":
            v = either(xor(self.flag_sign(), self.flag(self.overflow)), self.flag_zero())
        elif base == "s":
            v = self.flag_sign()
        elif base == "o":
            v = self.flag(self.overflow)
        else:
            raise Unproved(f"condition {code} is not known")
        return invert(v) if negate else v

    def known(self, v, what):
        c = v.constant
        return known(v, what) if c is None else c


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


def address(insn, op):
    """Returns a function of the machine that computes an address."""
    m = op.mem
    if m.segment:
        raise Unproved("a segment")
    if m.base == X.X86_REG_RIP:
        raise Unproved(f"data beside the code: {insn.mnemonic} {insn.op_str}")
    parts = []
    for reg, scale in ((m.base, 1), (m.index, m.scale)):
        if reg:
            n, low, width = GENERAL[insn.reg_name(reg)]
            if width != 64 or n in (RSP, RBP):
                raise Unproved(f"address {insn.op_str}")
            parts.append((n, scale))
    disp = m.disp

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

def sign(v):
    return cut(v, v.width - 1, 1)


def overflow_add(a, b, r):
    x, y, z = a.constant, b.constant, r.constant
    if x is None or y is None or z is None:
        return None
    return const(((x ^ z) & (y ^ z)) >> (a.width - 1), 1)


def overflow_subtract(a, b, r):
    x, y, z = a.constant, b.constant, r.constant
    if x is None or y is None or z is None:
        return None
    return const(((x ^ y) & (x ^ z)) >> (a.width - 1), 1)


def arithmetic(insn):
    name, (o1, o2) = insn.mnemonic, insn.operands
    width = 8 * o1.size
    a, b, put = source(insn, o1), source(insn, o2, width), target(insn, o1)
    with_carry, adds = name in ("adc", "sbb"), name in ("add", "adc")

    def run(m):
        x, y = a(m), b(m)
        c = m.flag(m.carry) if with_carry else None
        if adds:
            r, m.carry = add(width, x, y, carry=c)
            if width == 32 and c is None:
                r = add_modular(x, y)
            m.overflow = overflow_add(x, y, r)
        else:
            r, m.carry = subtract(width, x, y, c)
            if width == 32 and c is None and y.constant is not None:
                r = add_modular(x, const(-y.constant, 32))
            m.overflow = overflow_subtract(x, y, r)
        m.result = r
        if name != "cmp":
            put(m, r)
    return run


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


def step_one(insn):
    o, = insn.operands
    width = 8 * o.size
    a, put, up = source(insn, o), target(insn, o), insn.mnemonic == "inc"

    def run(m):
        x, y = a(m), const(1, width)
        r = add_modular(x, const(1 if up else -1, 32)) if width == 32 else add(width, x, y)[0] if up else subtract(width, x, y)[0]
        m.overflow = (overflow_add if up else overflow_subtract)(x, y, r)
        m.result = r
        put(m, r)
    return run


def negate(insn):
    o, = insn.operands
    a, put, width = source(insn, o), target(insn, o), 8 * o.size

    def run(m):
        x, zero = a(m), const(0, width)
        r, m.carry = subtract(width, zero, x)
        m.overflow = overflow_subtract(zero, x, r)
        m.result = r
        put(m, r)
    return run


def complement(insn):
    o, = insn.operands
    a, put = source(insn, o), target(insn, o)
    return lambda m: put(m, invert(a(m)))


def move(insn):
    o1, o2 = insn.operands
    b, put = source(insn, o2, 8 * o1.size), target(insn, o1)
    return lambda m: put(m, b(m))


def move_extended(insn):
    o1, o2 = insn.operands
    b, put, width, signed = source(insn, o2), target(insn, o1), 8 * o1.size, insn.mnemonic.startswith("movsx")

    def run(m):
        v = b(m)
        put(m, cat(v, *[sign(v)] * (width - v.width)) if signed else extend(v, width))
    return run


def load_address(insn):
    o1, o2 = insn.operands
    mem, width, put = o2.mem, 8 * o1.size, target(insn, o1)
    parts = [(GENERAL[insn.reg_name(r)][0], s) for r, s in ((mem.base, 1), (mem.index, mem.scale)) if r]
    disp = mem.disp & ((1 << 64) - 1)

    def run(m):
        if width == 32:  # as 32-bit additions, so counters have the same form as theirs
            values = [cut(shift_left(m.general[n], s.bit_length() - 1), 0, 32) for n, s in parts]
            total = const(disp, 32)
            for v in values:
                total = add_modular(v, total)
            put(m, total)
            return
        values = [shift_left(m.general[n], s.bit_length() - 1) for n, s in parts]
        if mem.disp < 0 and len(values) == 1 and values[0].constant is None:
            put(m, cut(subtract(64, values[0], const(-mem.disp, 64))[0], 0, width))
        else:
            put(m, cut(add(64, *values, const(disp, 64))[0], 0, width))
    return run


def shift(insn):
    name, ops = insn.mnemonic, insn.operands
    o1, o2 = ops[0], ops[1] if len(ops) > 1 else None
    width = 8 * o1.size
    a, put = source(insn, o1), target(insn, o1)
    n = source(insn, o2, 8) if o2 is not None else lambda m: const(1, 8)

    def run(m):
        v = a(m)
        c = m.known(n(m), "the count of a shift") & (63 if width == 64 else 31)
        if c == 0:  # leaves the flags, but clears the upper half of a 32-bit register
            put(m, v)
            return
        if name in ("rol", "ror"):
            r = rotate_left(v, c if name == "rol" else width - c % width)
            m.carry = cut(r, 0, 1) if name == "rol" else sign(r)
            m.overflow = None
            put(m, r)
            return
        if c > width:
            raise Unproved("a shift by more than the width")
        if terms.lengths and width == 64 and name != "sar" and (r := terms.lengths.shift(v, c, name == "shr")) is not None:
            m.carry, m.overflow, m.result = None, None, r
            put(m, r)
            return
        if name == "shl":
            r, m.carry = shift_left(v, c), cut(v, width - c, 1)
        elif name == "shr":
            r, m.carry = shift_right(v, c), cut(v, c - 1, 1)
        else:
            r, m.carry = sign_fill(v, c), cut(v, c - 1, 1)
        m.overflow, m.result = None, r
        put(m, r)
    return run


def shift_double(insn):
    o1, o2, o3 = insn.operands
    a, b, n, put, width = source(insn, o1), source(insn, o2), source(insn, o3, 8), target(insn, o1), 8 * o1.size
    right = insn.mnemonic == "shrd"

    def run(m):
        c = m.known(n(m), "the count of a shift") & (63 if width == 64 else 31)
        if c == 0:
            put(m, a(m))
            return
        x, y = a(m), b(m)
        r = cut(cat(x, y), c, width) if right else cut(cat(y, x), width - c, width)
        m.carry, m.overflow, m.result = cut(x, c - 1 if right else width - c, 1), None, r
        put(m, r)
    return run


def shift_without_flags(insn):
    o1, o2, o3 = insn.operands
    a, n, put, width = source(insn, o2), source(insn, o3), target(insn, o1), 8 * o1.size
    operation = {"shlx": shift_left, "shrx": shift_right, "sarx": sign_fill}.get(insn.mnemonic)
    if insn.mnemonic == "rorx":
        return lambda m: put(m, rotate_left(a(m), width - m.known(n(m), "a count") % width))
    return lambda m: put(m, operation(a(m), m.known(n(m), "the count of a shift") & (width - 1)))


def multiply(insn):
    """mulx, mul and imul."""
    ops, name = insn.operands, insn.mnemonic
    width = 8 * ops[0].size
    if name == "mulx":
        high, low, b = target(insn, ops[0]), target(insn, ops[1]), source(insn, ops[2])

        def run(m):
            r = extend(product(cut(m.general[2], 0, width), b(m)), 2 * width)
            low(m, cut(r, 0, width))
            high(m, cut(r, width, width))
        return run
    if name == "mul":
        b = source(insn, ops[0])
        if width not in (32, 64):
            raise Unproved("mul of this width")

        def run(m):
            r = extend(product(cut(m.general[0], 0, width), b(m)), 2 * width)
            m.general[0], m.general[2] = extend(cut(r, 0, width), 64), extend(cut(r, width, width), 64)
            m.carry = m.overflow = m.result = None
        return run
    if len(ops) == 1:
        raise Unproved("imul with one operand")
    a, b, put = source(insn, ops[-2]), source(insn, ops[-1], width), target(insn, ops[0])

    def run(m):
        m.carry = m.overflow = m.result = None
        put(m, cut(product(a(m), b(m)), 0, width))
    return run


def bits(insn):
    """bswap, bzhi, andn, pdep, bsr, lzcnt, tzcnt, bsf."""
    name, ops = insn.mnemonic, insn.operands
    width, put = 8 * ops[0].size, target(insn, ops[0])
    s = [source(insn, o) for o in ops]
    if name == "bswap":
        return lambda m: put(m, (lambda v: cat(*(cut(v, i, 8) for i in range(width - 8, -8, -8))))(s[0](m)))

    def run(m):
        if name != "pdep":  # pdep leaves the flags
            m.overflow = const(0, 1)
        if name == "bzhi":
            n = m.known(s[2](m), "a count of bits") & 0xff
            r = cut(cut(s[1](m), 0, min(n, width)), 0, width) if n else const(0, width)
            m.carry = const(n > width - 1, 1)
        elif name == "andn":
            r, m.carry = both(invert(s[1](m)), s[2](m)), const(0, 1)
        elif name == "pdep":
            v, mask, out, at = s[1](m), m.known(s[2](m), "a mask of bits"), [], 0
            for i in range(width):
                if (mask >> i) & 1:
                    out.append(cut(v, at, 1))
                    at += 1
                else:
                    out.append(const(0, 1))
            put(m, cat(*out))
            return
        elif name in ("bsr", "bsf", "lzcnt", "tzcnt"):
            v = m.known(s[1](m), "a number whose bits are counted")
            if name in ("bsr", "bsf") and v == 0:
                raise Unproved(f"{name} of zero")
            r = {"bsr": lambda: v.bit_length() - 1, "bsf": lambda: (v & -v).bit_length() - 1,
                 "lzcnt": lambda: width - v.bit_length(), "tzcnt": lambda: (v & -v).bit_length() - 1 if v else width}[name]()
            put(m, const(r, width))
            # The zero flag shows whether there was a bit. The other flags are undefined.
            m.carry = m.overflow = None
            m.result = None
            return
        m.result = r
        put(m, r)
    return run


def conditional(insn, prefix):
    code, ops = insn.mnemonic[len(prefix):], insn.operands
    put = target(insn, ops[0])
    if prefix == "set":
        return lambda m: put(m, extend(m.condition(code), 8))
    a, b = source(insn, ops[0]), source(insn, ops[1])
    return lambda m: put(m, select(m.condition(code), b(m), a(m)))


# ---- Vectors ----------------------------------------------------------------------------------------------------------

MASKED_MOVES = {"vmovdqu8": 1, "vmovdqu16": 2, "vmovdqu32": 4, "vmovdqa32": 4, "vmovdqu64": 8, "vmovdqa64": 8}


def element_bytes(name):
    """The size of an EVEX instruction's elements, as far as masks require it."""
    if name in MASKED_MOVES:
        return MASKED_MOVES[name]
    if name in ("vpunpckldq", "vpunpckhdq"):
        return 4
    for end, n in (("8", 1), ("b", 1), ("w", 2), ("d", 4), ("q", 8), ("32x4", 4), ("64x2", 8), ("64x4", 8)):
        if name.endswith(end):
            return n
    return 4


class Vectors:
    """The operands of a vector instruction, as lists of 32-bit words."""

    def __init__(self, insn):
        self.insn = insn
        self.name = insn.mnemonic
        self.vex = self.name.startswith("v")
        ops = list(insn.operands)
        self.mask = None
        self.zeroing = "{z}" in insn.op_str  # capstone 5 has neither this nor broadcasts in its operands
        self.broadcast = "{1to" in insn.op_str
        if len(ops) > 1 and ops[1].type == X.X86_OP_REG and insn.reg_name(ops[1].reg).startswith("k") \
                and not self.name.startswith(("k", "vpmovm2")):
            self.mask = int(insn.reg_name(ops[1].reg)[1:])
            del ops[1]
        self.ops = ops
        self.element = element_bytes(self.name)

    def is_vector(self, i):
        o = self.ops[i]
        return o.type == X.X86_OP_REG and self.insn.reg_name(o.reg)[1:3] == "mm"

    def number(self, i):
        return int(self.insn.reg_name(self.ops[i].reg)[3:])

    def words(self, i):
        """The number of words of register i."""
        return {"x": 4, "y": 8, "z": 16}[self.insn.reg_name(self.ops[i].reg)[0]]

    def read(self, i, n=None):
        o = self.ops[i]
        if o.type == X.X86_OP_REG:
            r = self.number(i)
            n = n or self.words(i)
            return lambda m: m.vector[r][:n]
        n = n or self.words(0)
        at = address(self.insn, o)
        if self.broadcast:
            w = o.size // 4
            return lambda m: m.memory.load_words(at(m), w) * (n // w)
        aligned = 4 * n if not self.vex or "dqa" in self.name or self.name.endswith("aps") else 0
        if self.name in ("movdqu", "movups", "lddqu", "movlps", "movhps") or self.name.startswith("movdqu"):
            aligned = 0
        element, mask = self.element, self.mask

        def load(m):
            a = at(m)
            if aligned:
                m.memory.aligned(a, aligned)
            if mask is None:
                return m.memory.load_words(a, n)
            # An access skips the elements that the mask excludes.
            k, out = m.known(m.mask[mask], "the mask of an access"), []
            for e in range(4 * n // element):
                out.append(m.memory.load(a + e * element, element) if (k >> e) & 1 else undefined(8 * element))
            v = cat(*out)
            return tuple(cut(v, 32 * j, 32) for j in range(n))
        return load

    def write(self, i=0):
        o = self.ops[i]
        element, mask, zeroing = self.element, self.mask, self.zeroing
        if o.type == X.X86_OP_REG:
            r, vex, zeroes = self.number(i), self.vex, (const(0, 32),) * 16

            def put(m, words):
                # The old value is read only if a part of it remains.
                old = m.vector[r] if not vex or mask is not None and not zeroing else ()
                if mask is not None:
                    k = m.mask[mask]
                    new, was = cat(*words), None if zeroing else cat(*old[:len(words)])
                    out = []
                    for e in range(4 * len(words) // element):
                        x = cut(new, 8 * element * e, 8 * element)
                        y = const(0, 8 * element) if zeroing else cut(was, 8 * element * e, 8 * element)
                        out.append(select(cut(k, e, 1), x, y))
                    v = cat(*out)
                    words = [cut(v, 32 * j, 32) for j in range(len(words))]
                m.vector[r] = (*words, *(zeroes[len(words):] if vex else old[len(words):]))
            return put
        at = address(self.insn, o)
        aligned = self.name in ("movdqa", "movaps") or (self.vex and ("dqa" in self.name or self.name == "vmovaps"))

        def store(m, words):
            a = at(m)
            if aligned:
                m.memory.aligned(a, 4 * len(words))
            if mask is None:
                m.memory.store_words(a, words)
                return
            k, v = m.known(m.mask[mask], "the mask of an access"), cat(*words)
            for e in range(4 * len(words) // element):
                if (k >> e) & 1:
                    m.memory.store(a + e * element, cut(v, 8 * element * e, 8 * element))
        return store


def halves(values):
    out = []
    for v in values:
        out.append(cut(v, 0, 32))
        out.append(cut(v, 32, 32))
    return out


def lanes(words):
    return [words[i:i + 4] for i in range(0, len(words), 4)]


def two_sources(insn, operation):
    """dst = operation(src1, src2), lists of words."""
    v = Vectors(insn)
    first = 1 if len(v.ops) > 2 else 0
    n = v.words(0)
    a, b, put = v.read(first, n), v.read(first + 1, n), v.write()
    o1, o2 = v.ops[first], v.ops[first + 1]
    if o1.type == o2.type == X.X86_OP_REG and o1.reg == o2.reg and (ones := {"xor": 0, "cmpeq": -1}.get(
            re.search(r"xor|cmpeq|$", insn.mnemonic)[0])) is not None:
        return lambda m: put(m, [const(ones, 32)] * n)  # of any register
    return lambda m: put(m, operation(m, a(m), b(m)))


def remembered(f):
    """Returns f, with its results kept: the operation reads only its operands."""
    memo = terms.memo()

    def run(m, *operands):
        r = memo.get(operands)
        if r is None:
            r = memo[operands] = tuple(f(m, *operands))
        return r
    return run


def remembered_of_one(f):
    memo = terms.memo()

    def run(a):
        r = memo.get(a)
        if r is None:
            r = tuple(f(a))
            memo[a] = r
        return r
    return run


def by_words(f):
    return remembered(lambda m, a, b: [f(x, y) for x, y in zip(a, b)])


def by_pairs(f):
    return remembered(lambda m, a, b: halves([f(x, y) for x, y in zip(pairs(a), pairs(b))]))


def unpack(high, wide):
    def run(m, a, b):
        out = []
        for x, y in zip(lanes(a), lanes(b)):
            if wide:
                out += (x[2:] + y[2:]) if high else (x[:2] + y[:2])
            else:
                o = 2 if high else 0
                out += [x[o], y[o], x[o + 1], y[o + 1]]
        return out
    return run


def shuffle_bytes(m, a, b):
    """Looks up bytes by bits 0 to 3 of each index; with bit 7 set, the byte is 0. The index may be data, because the
    whole table is read."""
    out = []
    for x, y in zip(lanes(a), lanes(b)):
        v, control = cat(*x), cat(*y)
        table, picked = [cut(v, 8 * i, 8) for i in range(16)], []
        for i in range(16):
            c = cut(control, 8 * i, 8)
            if (n := c.constant) is not None:
                picked.append(const(0, 8) if n & 0x80 else table[n & 15])
            elif not all(e.defined for e in (c, *table)):
                picked.append(terms.tainted(8))
            else:
                all_ = [*table * 8, *[const(0, 8)] * 128]
                picked.append(bitwise.look_up(all_, c, const(0, 8)) if terms.bitwise else atom("look", (c, const(0, 8), *all_), None, 8, 255))
        out += split(picked)
    return out


def constant_pair(f, words=False):
    """Comparisons and similar operations on constants."""
    def run(m, a, b):
        if words:
            return [const(f(m.known(x, "a comparison"), m.known(y, "a comparison")), 32) for x, y in zip(a, b)]
        return halves([const(f(m.known(x, "a comparison"), m.known(y, "a comparison")), 64) for x, y in zip(pairs(a), pairs(b))])
    return run


def signed(v, width):
    return v - (1 << width) if v >> (width - 1) else v


TWO_SOURCES = {
    "paddd": by_words(add_modular), "paddq": by_pairs(lambda x, y: add(64, x, y)[0]),
    "psubd": by_words(lambda x, y: subtract(32, x, y)[0]),
    "psubq": by_pairs(lambda x, y: subtract(64, x, y)[0]),
    "pxor": by_words(xor), "pand": by_words(both), "por": by_words(either),
    "pandn": by_words(lambda x, y: both(invert(x), y)),
    "pmuludq": by_pairs(lambda x, y: extend(product(cut(x, 0, 32), cut(y, 0, 32)), 64)),
    "pmulld": by_words(lambda x, y: cut(product(x, y), 0, 32)),
    "punpckldq": unpack(False, False), "punpckhdq": unpack(True, False),
    "punpcklqdq": unpack(False, True), "punpckhqdq": unpack(True, True),
    "pshufb": remembered(shuffle_bytes),
    "pmaxsq": constant_pair(lambda x, y: x if signed(x, 64) > signed(y, 64) else y),
    "pminuq": constant_pair(min), "pmaxuq": constant_pair(max),
    "pminud": constant_pair(min, True), "pmaxud": constant_pair(max, True),
    "pcmpeqd": by_words(lambda x, y: cat(*[equal(x, y)] * 32)),
    "pcmpeqq": by_pairs(lambda x, y: cat(*[equal(x, y)] * 64)),
    "psllvq": by_pairs(lambda x, y: None), "psrlvq": None,
    "aesenc": remembered(lambda m, a, b: split([aes_round(cat(*x), cat(*y)) for x, y in zip(lanes(a), lanes(b))])),
    "aesenclast": remembered(lambda m, a, b: split([aes_round(cat(*x), cat(*y), True) for x, y in zip(lanes(a), lanes(b))])),
    "aesdec": remembered(lambda m, a, b: split([aes_inverse_round(cat(*x), cat(*y)) for x, y in zip(lanes(a), lanes(b))])),
    "aesdeclast": remembered(lambda m, a, b: split([aes_inverse_round(cat(*x), cat(*y), True) for x, y in zip(lanes(a), lanes(b))])),
}


def variable_shift(f, wide):
    def run(m, a, b):
        if wide:
            return halves([f(x, m.known(y, "the count of a shift")) for x, y in zip(pairs(a), pairs(b))])
        return [f(x, m.known(y, "the count of a shift")) for x, y in zip(a, b)]
    return run


TWO_SOURCES["psllvq"] = variable_shift(lambda v, n: shift_left(v, min(n, 64)), True)
TWO_SOURCES["psrlvq"] = variable_shift(lambda v, n: shift_right(v, min(n, 64)), True)
TWO_SOURCES["psllvd"] = variable_shift(lambda v, n: shift_left(v, min(n, 32)), False)
TWO_SOURCES["psrlvd"] = variable_shift(lambda v, n: shift_right(v, min(n, 32)), False)
for _n in ("pxor", "pand", "por", "pandn"):
    for _w in "dq":
        TWO_SOURCES[_n + _w] = TWO_SOURCES[_n]
for _n, _f in (("xorps", "pxor"), ("andps", "pand"), ("orps", "por")):
    TWO_SOURCES[_n] = TWO_SOURCES[_f]

SHIFTS = {"psll": shift_left, "psrl": shift_right, "psra": sign_fill, "prol": rotate_left,
          "pror": lambda v, n: rotate_left(v, v.width - n % v.width)}


def vector_shift(insn):
    name = insn.mnemonic.removeprefix("v")
    v = Vectors(insn)
    if v.ops[-1].type != X.X86_OP_IMM:
        raise Unproved(f"{insn.mnemonic} by a register")
    n, count, put = v.words(0), v.ops[-1].imm & 0xff, v.write()
    a = v.read(1 if len(v.ops) > 2 else 0, n)
    if name in ("pslldq", "psrldq"):
        count = min(count, 16)
        f = (lambda x: shift_left(x, 8 * count)) if name == "pslldq" else (lambda x: shift_right(x, 8 * count))
        whole = remembered_of_one(lambda v: split([f(cat(*x)) for x in lanes(v)]))
        return lambda m: put(m, whole(a(m)))
    if name[4:] not in ("d", "q"):
        raise Unproved(f"{insn.mnemonic} is not known")
    f = SHIFTS[name[:4]]
    if name.endswith("q"):
        count = min(count, 64) if not name.startswith("pro") else count
        wide = remembered_of_one(lambda v: halves([f(x, count) for x in pairs(v)]))
        return lambda m: put(m, wide(a(m)))
    count = min(count, 32) if not name.startswith("pro") else count
    narrow = remembered_of_one(lambda v: [f(x, count) for x in v])
    return lambda m: put(m, narrow(a(m)))


def with_immediate(insn, f, sources=1):
    """dst = f(src..., imm)."""
    v = Vectors(insn)
    n, imm, put = v.words(0), v.ops[-1].imm & 0xff, v.write()
    if sources == 1:
        a = v.read(len(v.ops) - 2, n)
        return lambda m: put(m, f(a(m), imm))
    first = len(v.ops) - 3
    a, b = v.read(max(first, 0), n), v.read(first + 1, n)
    return lambda m: put(m, f(a(m), b(m), imm))


def shuffle_words(a, imm):
    return [x[(imm >> 2 * i) & 3] for x in lanes(a) for i in range(4)]


def permute_pairs(a, imm):
    out = []
    for o in range(0, len(a), 8):
        for i in range(4):
            j = o + 2 * ((imm >> 2 * i) & 3)
            out += a[j:j + 2]
    return out


def permute_halves(a, b, imm):
    out, source_ = [], lanes(a) + lanes(b)
    for c in (imm & 15, imm >> 4):
        out += [const(0, 32)] * 4 if c & 8 else source_[c & 3]
    return out


def shuffle_lanes(a, b, imm):
    x, y, out = lanes(a), lanes(b), []
    if len(x) == 4:
        for i in range(4):
            out += (x if i < 2 else y)[(imm >> 2 * i) & 3]
    else:
        out = x[imm & 1] + y[(imm >> 1) & 1]
    return out


def align_right(a, b, imm):
    return split([cut(cat(*y, *x), 8 * imm, 128) for x, y in zip(lanes(a), lanes(b))])


def blend_words(a, b, imm):
    return [y if (imm >> i) & 1 else x for i, (x, y) in enumerate(zip(a, b))]


def polynomial_product(which=None):
    def run(a, b, imm):
        out = []
        for x, y in zip(lanes(a), lanes(b)):
            out.append(carryless(cat(*x[2:]) if imm & 1 else cat(*x[:2]), cat(*y[2:]) if imm & 16 else cat(*y[:2])))
        return split(out)
    return run


def clmul(insn):
    name = insn.mnemonic.removeprefix("v")
    imm = {"pclmullqlqdq": 0, "pclmulhqlqdq": 1, "pclmullqhqdq": 16, "pclmulhqhqdq": 17}.get(name)
    f = polynomial_product()
    if imm is None:
        return with_immediate(insn, f, 2)
    return two_sources(insn, lambda m, a, b: f(a, b, imm))


def by_normal_form(table):
    """Returns a function of three bits as an exclusive or of products. Its value for x, y, z is bit 4x + 2y + z of the
    table."""
    form = table
    for step in (1, 2, 4):
        for i in range(8):
            if i & step:
                form ^= ((form >> (i ^ step)) & 1) << i

    def f(x, y, z):
        r = const(0, 32)
        for i in range(8):
            if (form >> i) & 1:
                t = const(-1, 32)
                for bit, v in ((4, x), (2, y), (1, z)):
                    if i & bit:
                        t = both(t, v)
                r = xor(r, t)
        return r
    return f


def ternary_logic(insn):
    """vpternlog: any function of three bits. The functions in kernels have direct formulas."""
    v = Vectors(insn)
    n, imm, put = v.words(0), v.ops[-1].imm & 0xff, v.write()
    a, b, c = v.read(0, n), v.read(1, n), v.read(2, n)
    A, B, C = 0xf0, 0xcc, 0xaa
    known = {A ^ B ^ C: lambda x, y, z: xor(xor(x, y), z), A ^ B: lambda x, y, z: xor(x, y), A ^ C: lambda x, y, z: xor(x, z),
             B ^ C: lambda x, y, z: xor(y, z), A ^ (B & C): lambda x, y, z: xor(x, both(y, z)), 0xff: lambda x, y, z: const(-1, 32),
             (A & B) | C: lambda x, y, z: either(both(x, y), z), (A & C) | B: lambda x, y, z: either(both(x, z), y),
             (B & C) | A: lambda x, y, z: either(both(y, z), x), A | B | C: lambda x, y, z: either(either(x, y), z),
             (A & B) | (~A & 0xff & C): lambda x, y, z: either(both(x, y), both(invert(x), z)),
             (B & A) | (~B & 0xff & C): lambda x, y, z: either(both(y, x), both(invert(y), z)),
             (C & A) | (~C & 0xff & B): lambda x, y, z: either(both(z, x), both(invert(z), y)),
             (A ^ B) & C: lambda x, y, z: both(xor(x, y), z), A & (B | C): lambda x, y, z: both(x, either(y, z)),
             A & B & C: lambda x, y, z: both(both(x, y), z), A ^ (B | C): lambda x, y, z: xor(x, either(y, z)),
             A | (B ^ C): lambda x, y, z: either(x, xor(y, z))}
    f = known.get(imm) or by_normal_form(imm)
    operation = remembered(lambda m, *operands: [f(x, y, z) for x, y, z in zip(*operands)])
    return lambda m: put(m, operation(m, a(m), b(m), c(m)))


def multiply_52(insn):
    v = Vectors(insn)
    n, put, high = v.words(0), v.write(), insn.mnemonic == "vpmadd52huq"
    acc, a, b = v.read(0, n), v.read(1, n), v.read(2, n)

    @remembered
    def run(m, *operands):
        out = []
        for s, x, y in zip(*map(pairs, operands)):
            p = product(cut(x, 0, 52), cut(y, 0, 52))
            out.append(add(64, s, extend(cut(p, 52, 52) if high else cut(p, 0, 52), 64))[0])
        return halves(out)
    return lambda m: put(m, run(m, acc(m), a(m), b(m)))


def broadcast(insn):
    v = Vectors(insn)
    name = insn.mnemonic
    n, put = v.words(0), v.write()
    w = 4 if name.endswith(("128", "32x4", "64x2")) else 8 if name.endswith("64x4") else 2 if name.endswith("q") else 1
    if v.ops[1].type == X.X86_OP_REG and not v.is_vector(1):
        s = source(insn, v.ops[1])
        return lambda m: put(m, split([s(m)] * (n // w)))
    if v.ops[1].type == X.X86_OP_MEM and v.mask is not None:
        k, at, each = v.mask, address(insn, v.ops[1]), 4 * w // v.element  # the elements that are read

        def run(m):
            mask, read = m.known(m.mask[k], "the mask of an access"), 0
            for e in range(4 * n // v.element):
                read |= ((mask >> e) & 1) << (e % each)
            a, out = at(m), []
            for e in range(each):
                out.append(m.memory.load(a + e * v.element, v.element) if (read >> e) & 1 else undefined(8 * v.element))
            put(m, split(out) * (n // w))
        return run
    a = v.read(1, w)
    return lambda m: put(m, a(m) * (n // w))


def insert_lane(insn):
    v = Vectors(insn)
    n, imm, put = v.words(0), v.ops[3].imm, v.write()
    w = 8 if insn.mnemonic.endswith("64x4") else 4
    a, b = v.read(1, n), v.read(2, w)

    def run(m):
        x = list(a(m))
        i = imm & (n // w - 1)
        x[w * i:w * i + w] = b(m)
        put(m, x)
    return run


def extract_lane(insn):
    v = Vectors(insn)
    n, imm, put = v.words(1), v.ops[2].imm, v.write()
    w = 8 if insn.mnemonic.endswith("64x4") else 4
    a = v.read(1, n)

    def run(m):
        i = imm & (n // w - 1)
        put(m, a(m)[w * i:w * i + w])
    return run


def insert_element(insn):
    v = Vectors(insn)
    wide = insn.mnemonic.endswith("q")
    imm, put = v.ops[-1].imm, v.write()
    a = v.read(1 if len(v.ops) > 3 else 0, 4)
    o = v.ops[-2]
    s = source(insn, o)

    def run(m):
        x = list(a(m))
        e = s(m)
        if wide:
            x[2 * (imm & 1):2 * (imm & 1) + 2] = [cut(e, 0, 32), cut(e, 32, 32)]
        else:
            x[imm & 3] = cut(e, 0, 32)
        put(m, x)
    return run


def insert_single(insn):
    """insertps: moves one word, and zeroes some."""
    v = Vectors(insn)
    imm, put = v.ops[-1].imm, v.write()
    a = v.read(1 if len(v.ops) > 3 else 0, 4)
    memory = v.ops[-2].type == X.X86_OP_MEM
    b = source(insn, v.ops[-2]) if memory else v.read(len(v.ops) - 2, 4)

    def run(m):
        x = list(a(m))
        x[(imm >> 4) & 3] = b(m) if memory else b(m)[imm >> 6]
        put(m, [const(0, 32) if (imm >> i) & 1 else w for i, w in enumerate(x)])
    return run


def extract_element(insn):
    v = Vectors(insn)
    wide, imm, put = insn.mnemonic.endswith("q"), v.ops[2].imm, target(insn, v.ops[0])
    a, size = v.read(1, 4), 8 * v.ops[0].size

    def run(m):
        x = a(m)
        put(m, cat(*x[2 * (imm & 1):2 * (imm & 1) + 2]) if wide else extend(x[imm & 3], size))
    return run


def move_vector(insn):
    v = Vectors(insn)
    n = v.words(0) if v.is_vector(0) else v.words(1)
    a, put = v.read(1, n), v.write()
    return lambda m: put(m, a(m))


def inverse_mix(insn):
    v = Vectors(insn)
    a, put = v.read(1, 4), v.write()
    return lambda m: put(m, split([mix_columns(cat(*a(m)), True)]))


def align_elements(insn):
    """valignq: the concatenation of both sources, with the second one below, from an element on."""
    v = Vectors(insn)
    n, imm, put = v.words(0), v.ops[-1].imm, v.write()
    a, b, first = v.read(1, n), v.read(2, n), 2 * (imm & (n // 2 - 1))
    return lambda m: put(m, (b(m) + a(m))[first:first + n])


def move_scalar(insn):
    """movd and movq: move one or two low words, and zero the words above."""
    v = Vectors(insn)
    words = 2 if insn.mnemonic.endswith("q") else 1
    if v.is_vector(0):
        s = v.read(1, words) if v.is_vector(1) else None
        g = None if s else source(insn, v.ops[1])
        put, zero = v.write(), const(0, 32)

        def run(m):
            w = s(m) if s else split([g(m)])
            put(m, (*w, *[zero] * 4)[:4])
        return run
    a, put = v.read(1, words), target(insn, v.ops[0])
    return lambda m: put(m, cat(*a(m)))


def move_half(insn):
    """movlps and movhps: move a half of a register from or to memory."""
    v = Vectors(insn)
    high = "h" in insn.mnemonic.removeprefix("v")[3:5]
    if v.is_vector(0):
        a, b, put = v.read(1 if len(v.ops) > 2 else 0, 4), v.read(len(v.ops) - 1, 2), v.write()
        return lambda m: put(m, a(m)[:2] + b(m) if high else b(m) + a(m)[2:])
    a, at = v.read(1, 4), address(insn, v.ops[0])
    return lambda m: m.memory.store_words(at(m), a(m)[2:] if high else a(m)[:2])


def permute(insn):
    """vpermd and vpermq by register: dst = b[a]. vpermi2* and vpermt2*: the same with two tables."""
    v = Vectors(insn)
    name, n, put = insn.mnemonic, v.words(0), v.write()
    w = 2 if name.endswith("q") else 1
    a, b, c = v.read(0, n), v.read(1, n), v.read(2, n)

    def pick(m, table, control):
        out = []
        for x in (pairs(control) if w == 2 else control):
            if not x.defined:
                out += [terms.tainted(32)] * w
                continue
            i = m.known(x, "the control of a permutation") & (len(table) // w - 1)
            out += table[w * i:w * i + w]
        return out
    if name.startswith("vpermi2"):
        return lambda m: put(m, pick(m, b(m) + c(m), a(m)))
    if name.startswith("vpermt2"):
        return lambda m: put(m, pick(m, a(m) + c(m), b(m)))
    return lambda m: put(m, pick(m, c(m), b(m)))


def blend_mask(insn):
    v = Vectors(insn)
    n, k, e, zeroing = v.words(0), v.mask, 8 * v.element, v.zeroing
    v.mask = None
    a, b, put = v.read(1, n), v.read(2, n), v.write()

    def run(m):
        x, y = cat(*a(m)), cat(*b(m))
        out = []
        for i in range(x.width // e):
            out.append(select(cut(m.mask[k], i, 1), cut(y, e * i, e), const(0, e) if zeroing else cut(x, e * i, e)))
        put(m, split(out))
    return run


COMPARE = {"eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "neq": lambda x, y: x != y, "lt": lambda x, y: x < y,
           "le": lambda x, y: x <= y, "gt": lambda x, y: x > y, "nle": lambda x, y: x > y, "nlt": lambda x, y: x >= y, "ge": lambda x, y: x >= y}
COMPARE_IMM = ["eq", "lt", "le", "false", "neq", "nlt", "nle", "true"]


def compare_to_mask(insn):
    """vpcmp*, vptestm* and vptestnm* to a mask register."""
    v = Vectors(insn)
    name = v.name
    k = int(insn.reg_name(v.ops[0].reg)[1:])
    wide = name.endswith("q")
    if not wide and not name.endswith("d"):
        raise Unproved(f"{name} is not known")
    n = v.words(1)
    w = 64 if wide else 32
    v.element = w // 8
    rest = [i for i, o in enumerate(v.ops) if o.type != X.X86_OP_IMM]
    a, b = v.read(rest[1], n), v.read(rest[2], n)
    masked = v.mask
    if name.startswith("vptest"):
        none = "nm" in name
        f = lambda x, y: (not x & y) if none else bool(x & y)
        unsigned = True
    else:
        body = name.removeprefix("vpcmp")[:-1]
        unsigned = body.endswith("u")
        body = body.removesuffix("u")
        if not body:
            body = COMPARE_IMM[v.ops[-1].imm & 7]
        if body not in COMPARE:
            raise Unproved(f"{name} is not known")
        f = COMPARE[body]

    def symbolic(p, q):
        """Compares data, as far as kernels need it: one bit."""
        if not (p.defined and q.defined):
            return terms.tainted(1)
        if name.startswith("vptest"):
            none_set = equal(both(p, q), const(0, w))
            return none_set if none else invert(none_set)
        if body in ("eq", "neq", "ne"):
            return equal(p, q) if body == "eq" else invert(equal(p, q))
        if not unsigned:
            raise Unproved("a comparison of signed numbers depends on data")
        less = subtract(w, *((p, q) if body in ("lt", "nlt", "ge") else (q, p)))[1]
        return less if body in ("lt", "gt", "nle") else invert(less)

    def run(m):
        x, y = (pairs(a(m)), pairs(b(m))) if wide else (a(m), b(m))
        out = []
        for p, q in zip(x, y):
            cp, cq = p.constant, q.constant
            if cp is None or cq is None:
                out.append(symbolic(p, q))
            else:
                out.append(const(f(cp, cq) if unsigned else f(signed(cp, w), signed(cq, w)), 1))
        r = extend(cat(*out), 64)
        m.mask[k] = r if masked is None else both(r, m.mask[masked])
    return run


def mask_register(insn):
    """kmov, knot, kshift, kand, kor, kxor, kortest."""
    name = insn.mnemonic
    width = {"b": 8, "w": 16, "d": 32, "q": 64}[name[-1]]
    ops = insn.operands

    def get(o):
        if o.type == X.X86_OP_REG and insn.reg_name(o.reg).startswith("k"):
            n = int(insn.reg_name(o.reg)[1:])
            return lambda m: cut(m.mask[n], 0, width)
        s = source(insn, o)
        return lambda m: extend(cut(s(m), 0, min(width, 8 * o.size)), width)
    dst = ops[0]
    if name.startswith("kmov"):
        s = get(ops[1])
        if insn.reg_name(dst.reg).startswith("k") if dst.type == X.X86_OP_REG else False:
            k = int(insn.reg_name(dst.reg)[1:])

            def run(m):
                m.mask[k] = extend(s(m), 64)
            return run
        put, w = target(insn, dst), 8 * dst.size
        return lambda m: put(m, extend(s(m), w))
    if name.startswith("kortest"):
        a, b = get(ops[0]), get(ops[1])

        def test(m):
            r = cat(either(a(m), b(m)), const(0, 1))  # the sign flag is clear
            m.result, m.carry, m.overflow = r, equal(cut(r, 0, width), const(-1, width)), const(0, 1)
        return test
    k = int(insn.reg_name(dst.reg)[1:])
    if name.startswith("kshift"):
        a, n, f = get(ops[1]), ops[2].imm, shift_right if name.startswith("kshiftr") else shift_left

        def run(m):
            m.mask[k] = extend(f(a(m), min(n, width)), 64)
        return run
    if name.startswith("knot"):
        a = get(ops[1])

        def run(m):
            m.mask[k] = extend(invert(a(m)), 64)
        return run
    f = {"kand": both, "kor": either, "kxor": xor}.get(name[:-1])
    if f is None:
        raise Unproved(f"{name} is not known")
    a, b = get(ops[1]), get(ops[2])

    def run(m):
        m.mask[k] = extend(f(a(m), b(m)), 64)
    return run


def zero_vectors(insn):
    everything = insn.mnemonic == "vzeroall"

    def run(m):
        zero = const(0, 32)
        for i in range(16):
            m.vector[i] = (zero,) * 16 if everything else m.vector[i][:4] + (zero,) * 12
    return run


def nothing(insn):
    return lambda m: None


EXACT = {
    **dict.fromkeys("add adc sub sbb cmp".split(), arithmetic), **dict.fromkeys("and or xor test".split(), logic),
    **dict.fromkeys("inc dec".split(), step_one), "neg": negate, "not": complement, "mov": move, "movabs": move,
    **dict.fromkeys("movzx movsx movsxd".split(), move_extended), "lea": load_address,
    **dict.fromkeys("shl shr sar rol ror".split(), shift), **dict.fromkeys("shrd shld".split(), shift_double),
    **dict.fromkeys("shlx shrx sarx rorx".split(), shift_without_flags), **dict.fromkeys("mulx mul imul".split(), multiply),
    **dict.fromkeys("bswap bzhi andn pdep bsr bsf lzcnt tzcnt".split(), bits),
    **dict.fromkeys("nop lfence endbr64".split(), nothing), **dict.fromkeys("vzeroupper vzeroall".split(), zero_vectors),
    **dict.fromkeys("movdqa movdqu movups movaps vmovdqa vmovdqu vmovups vmovaps".split() + list(MASKED_MOVES), move_vector),
    **dict.fromkeys("movd movq vmovd vmovq".split(), move_scalar),
    **dict.fromkeys("movlps movhps vmovlps vmovhps".split(), move_half),
    **dict.fromkeys("pinsrd pinsrq vpinsrd vpinsrq".split(), insert_element), "insertps": insert_single, "vinsertps": insert_single,
    **dict.fromkeys("pextrd pextrq vpextrd vpextrq".split(), extract_element),
    **dict.fromkeys("vpbroadcastd vpbroadcastq vbroadcasti128 vbroadcasti32x4 vbroadcasti64x2 vbroadcasti64x4".split(), broadcast),
    **dict.fromkeys("vinserti128 vinserti32x4 vinserti64x2 vinserti64x4".split(), insert_lane),
    **dict.fromkeys("vextracti128 vextracti32x4 vextracti64x2 vextracti64x4".split(), extract_lane),
    "aesimc": inverse_mix, "vaesimc": inverse_mix, "valignq": align_elements,
    "vpermd": permute, "vpermi2d": permute, "vpermi2q": permute, "vpermt2d": permute, "vpermt2q": permute,
    "vpternlogd": ternary_logic, "vpternlogq": ternary_logic, "vpmadd52luq": multiply_52, "vpmadd52huq": multiply_52,
    "vpblendmd": blend_mask, "vpblendmq": blend_mask, "vpblendmb": blend_mask,
    "pshufd": lambda i: with_immediate(i, shuffle_words), "vpshufd": lambda i: with_immediate(i, shuffle_words),
    "vperm2i128": lambda i: with_immediate(i, permute_halves, 2), "vpblendd": lambda i: with_immediate(i, blend_words, 2),
    "vshufi32x4": lambda i: with_immediate(i, shuffle_lanes, 2), "vshufi64x2": lambda i: with_immediate(i, shuffle_lanes, 2),
    "palignr": lambda i: with_immediate(i, align_right, 2), "vpalignr": lambda i: with_immediate(i, align_right, 2),
}


def step(insn):
    """Returns the function of an instruction that does not branch."""
    name = insn.mnemonic
    if name in EXACT:
        return EXACT[name](insn)
    if name == "vpermq":
        return with_immediate(insn, permute_pairs) if insn.operands[-1].type == X.X86_OP_IMM else permute(insn)
    if name.startswith("set"):
        return conditional(insn, "set")
    if name.startswith("cmov"):
        return conditional(insn, "cmov")
    if name.startswith("k"):
        return mask_register(insn)
    if "pclmul" in name:
        return clmul(insn)
    body = name.removeprefix("v")
    first = insn.operands[0] if insn.operands else None
    if first is not None and first.type == X.X86_OP_REG and insn.reg_name(first.reg).startswith("k"):
        return compare_to_mask(insn)
    if body in TWO_SOURCES:
        return two_sources(insn, TWO_SOURCES[body])
    if body[:4] in SHIFTS or body in ("pslldq", "psrldq"):
        return vector_shift(insn)
    raise Unproved(f"instruction {name} {insn.op_str} is not known")


def no_instruction(insn):
    """Whether the encoding is no instruction, although capstone decodes it.

    In EVEX, zeroing needs a mask, and a destination that is neither a mask nor memory. Rounding shares its bit with
    broadcasts. There are no mask registers above k7, and no vectors of a fourth length.
    """
    code = bytes(insn.bytes)
    if code[0] != 0x62 or not insn.operands:
        return False
    zeroing, register, broadcast = code[3] & 0x80, insn.operands[0].type == X.X86_OP_REG, code[3] & 0x10
    to_mask = register and insn.reg_name(insn.operands[0].reg).startswith("k")
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
