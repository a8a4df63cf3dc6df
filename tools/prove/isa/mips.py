"""MIPS32 and MIPS64, release 2, in both byte orders: the effect of each instruction on registers and memory.

Encodings and semantics follow MIPS's manuals (MD00086, MD00087). tests/semantics.py compares them with an
emulator. Only instructions of the kernels are known; another one stops the run. A branch and its delay slot are one
step.
"""
import functools

import capstone
from isa.integer import (Registers, decoded, encodings, equals, from_word, is_word, less, low_bits, minus, of_pointers,
    of_registers, of_words, plus, signed, text_of)
from spec.args import A
from values import terms
from values.terms import Unproved, add, both, cat, const, cut, extend, invert, product, rotate_left, select, shift_left, shift_right, sign_fill, xor

MACHINE = "EM_MIPS"
RESERVED = (23, *range(26, 32))  # by Go's assembler and the calling conventions

# Fields of an encoding: s, t and d are registers; a and e have 5 bits, i has 16.
ENCODINGS = """
addu   000000 s t d 00000 100001    subu   000000 s t d 00000 100011    and    000000 s t d 00000 100100
or     000000 s t d 00000 100101    xor    000000 s t d 00000 100110    nor    000000 s t d 00000 100111
sltu   000000 s t d 00000 101011    movz   000000 s t d 00000 001010    mul    011100 s t d 00000 000010
daddu  000000 s t d 00000 101101    dsubu  000000 s t d 00000 101111
addiu  001001 s t i                 daddiu 011001 s t i                 sltiu  001011 s t i
andi   001100 s t i                 ori    001101 s t i                 xori   001110 s t i
lui    001111 00000 t i
sll    000000 00000 t d a 000000    srl    000000 00000 t d a 000010    sra    000000 00000 t d a 000011
rotr   000000 00001 t d a 000010    dsll   000000 00000 t d a 111000    dsrl   000000 00000 t d a 111010
dsll32 000000 00000 t d a 111100    dsrl32 000000 00000 t d a 111110    drotr32 000000 00001 t d a 111110
wsbh   011111 00000 t d 00010 100000    dsbh 011111 00000 t d 00010 100100    dshd 011111 00000 t d 00101 100100
ins    011111 s t e a 000100        dinsu  011111 s t e a 000110
multu  000000 s t 00000 00000 011001    dmultu 000000 s t 00000 00000 011101    maddu 011100 s t 00000 00000 000001
mfhi   000000 00000 00000 d 00000 010000    mflo 000000 00000 00000 d 00000 010010
lbu    100100 s t i    lw     100011 s t i    ld     110111 s t i    sb     101000 s t i    sw     101011 s t i
sd     111111 s t i    lwl    100010 s t i    lwr    100110 s t i    swl    101010 s t i    swr    101110 s t i
ldl    011010 s t i    ldr    011011 s t i    sdl    101100 s t i    sdr    101101 s t i
beq    000100 s t i    bne    000101 s t i    bgez   000001 s 00001 i
jr     000000 11111 00000 00000 00000 001000
"""
WIDTHS = {**dict.fromkeys("stdae", 5), "i": 16}
BRANCHES = {"beq": equals, "bne": lambda x, y: invert(equals(x, y)), "bgez": lambda x, _: invert(cut(x, x.width - 1, 1))}
KNOWN = encodings(ENCODINGS, WIDTHS)


def swapped(v, width, size):
    """Reverses the order of the parts of `size` bits in each `width` bits."""
    return cat(*(p for at in range(0, v.width, width) for p in reversed(terms.parts_of(cut(v, at, width), size))))


ARGS_AT = 4  # the register of the arguments
POINTERS = {A["ARG_" + name] for name in "OUT IN AD KEY NONCE TAG STATE".split()}


class Machine(Registers):
    def __init__(self, memory, bits):
        super().__init__(memory, bits)
        self.product = terms.undefined(2 * bits)  # HI and LO

    def address(self, r, offset, size=1):
        """With pointers of 32 bits, big-endian C has them elsewhere in their slots than Go. linked.py finds the loads of
        pointers by their code, so no other code may read these slots."""
        a = super().address(r, offset, size)
        if self.bits == 32:
            region = self.memory.at(a)
            of_pointer = region is not None and region.name == "args" and (a - region.start) & -8 in POINTERS
            if of_pointer and not (r == ARGS_AT and size == 4 and offset in POINTERS):
                raise Unproved("a load from a pointer's slot that C's form does not adapt")
        return a

    def half_access(self, loads, size, r, base, offset, first):
        region = self.memory.at(self.address(base, offset))
        if region is not None and region.name == "args":
            raise Unproved("a part of an argument")
        super().half_access(loads, size, r, base, offset, first)


def word(v):
    """The operand of a 32-bit instruction, which must be a sign-extended word."""
    if not is_word(v):
        raise Unproved("an operand of 32 bits whose bits 63 to 31 may differ")
    return cut(v, 0, 32)


def of_constant(f, number=lambda i: signed(i, 16)):
    return lambda s, t, i: lambda m: m.write(t, f(m.read(s), const(number(i), m.bits)))


def of_one(f):
    return lambda t, d, a=0: lambda m: m.write(d, f(m.read(t), a))


def on_words(f):
    """Returns f of the lower 32 bits. MIPS64 sign-extends the result. sll and sra allow operands with any upper half,
    which the prover refuses."""
    return lambda x, y: from_word(f(word(x), word(y) if isinstance(y, terms.Value) else y), x.width)


def multiply_words(s, t, d):
    def run(m):
        m.write(d, from_word(cut(product(word(m.read(s)), word(m.read(t))), 0, 32), m.bits))
        m.product = terms.tainted(2 * m.bits)  # HI and LO are then unpredictable
    return run


def multiply(s, t, adds=False):
    def run(m):
        p = extend(product(m.read(s), m.read(t)), 2 * m.bits)
        m.product = add(2 * m.bits, m.product, p)[0] if adds else p
    return run


def insert(s, t, e, a, wide=False):
    low, size = a + 32 * wide, e + 1 - a
    if size <= 0:
        raise Unproved("an insertion of no bits")

    def run(m):
        width, x, y = (64, m.read(s), m.read(t)) if wide else (32, word(m.read(s)), word(m.read(t)))
        r = cat(*(p for p in (cut(y, 0, low), cut(x, 0, size), cut(y, low + size, width - low - size)) if p.width))
        m.write(t, from_word(r, m.bits))
    return run


def half_access(kind, size, side):
    loads, left = kind == "l", side == "l"
    return lambda s, t, i: lambda m: m.half_access(loads, size, t, s, signed(i, 16), left == m.memory.big)


def access(name, size):
    if name[0] == "l":
        return lambda s, t, i: lambda m: m.load(t, s, signed(i, 16), size, from_word if name == "lw" else extend)
    return lambda s, t, i: lambda m: m.store(t, s, signed(i, 16), size)


HALVES = {f"{kind}{size}{side}": (kind, bytes_, side)
          for kind in "ls" for size, bytes_ in (("w", 4), ("d", 8)) for side in "lr"}
SIZES = {"lbu": 1, "sb": 1, "lw": 4, "sw": 4, "ld": 8, "sd": 8}
# On MIPS64, the operands of these must be words.
OF_WORDS = "addu", "addiu", "subu", "mul", "sll", "srl", "sra", "rotr", "wsbh"
MEANINGS = {
    "and": of_registers(of_words(both)), "or": of_registers(of_words(of_pointers)), "xor": of_registers(of_words(xor)),
    "nor": of_registers(of_words(lambda x, y: invert(terms.either(x, y)))),
    "sltu": of_registers(less), "daddu": of_registers(plus), "dsubu": of_registers(minus),
    "addu": of_registers(on_words(plus)), "subu": of_registers(on_words(minus)), "mul": multiply_words,
    "sltiu": of_constant(less), "daddiu": of_constant(plus), "addiu": of_constant(on_words(plus)),
    "andi": of_constant(low_bits, int), "ori": of_constant(terms.either, int), "xori": of_constant(xor, int),
    "sll": of_one(on_words(shift_left)), "srl": of_one(on_words(shift_right)), "sra": of_one(on_words(sign_fill)),
    "rotr": of_one(on_words(lambda v, n: rotate_left(v, 32 - n))),
    "wsbh": of_one(on_words(lambda v, _: swapped(v, 16, 8))),
    "dsll": of_one(shift_left), "dsll32": of_one(lambda v, n: shift_left(v, n + 32)),
    "dsrl": of_one(shift_right), "dsrl32": of_one(lambda v, n: shift_right(v, n + 32)),
    "drotr32": of_one(lambda v, n: rotate_left(v, 32 - n)),
    "dsbh": of_one(lambda v, _: swapped(v, 16, 8)), "dshd": of_one(lambda v, _: swapped(v, 64, 16)),
    "lui": lambda t, i: lambda m: m.write(t, from_word(const(i << 16, 32), m.bits)),
    "movz": lambda s, t, d: lambda m: m.write(d, select(equals(m.read(t), const(0, m.bits)), m.read(s), m.read(d))),
    "ins": insert, "dinsu": functools.partial(insert, wide=True), "multu": multiply, "dmultu": multiply,
    "maddu": functools.partial(multiply, adds=True),
    "mfhi": lambda d: lambda m: m.write(d, cut(m.product, m.bits, m.bits)),
    "mflo": lambda d: lambda m: m.write(d, cut(m.product, 0, m.bits)),
    **{name: half_access(*how) for name, how in HALVES.items()},
    **{name: access(name, size) for name, size in SIZES.items()},
}
WIDE = {name for name in MEANINGS if name[0] == "d" or name[:2] in ("ld", "sd")}  # of MIPS64
NARROW = "multu", "maddu"  # MIPS64's kernels do not have these


class Isa:
    """MIPS of 32 or 64 bits, in either byte order."""

    MACHINE, ARGUMENTS, COUNTER = MACHINE, (4, 5, 6), 32  # COUNTER: bits of ChaCha20's counter
    BY_INDUCTION = {"chacha20poly1305_mips32r2": 128, "chacha20poly1305_mips64r2": 128}  # run/lists.py
    BRANCHES = BRANCHES

    def __init__(self, bits, big):
        self.known = [k for k in KNOWN if k[2] not in (NARROW if bits == 64 else WIDE)]
        self.POINTER, self.big, self.__name__ = bits, big, f"isa.mips{'64' if bits == 64 else ''}{'' if big else 'el'}"

    def Machine(self, memory):
        return Machine(memory, self.POINTER)

    def decoder(self):
        return capstone.Cs(capstone.CS_ARCH_MIPS, (capstone.CS_MODE_MIPS64 if self.POINTER == 64 else capstone.CS_MODE_MIPS32) |
                           (capstone.CS_MODE_BIG_ENDIAN if self.big else 0))

    def fields(self, code, pc):
        return decoded(code, pc, self.known, WIDTHS, RESERVED, self.big)

    def meaning(self, code, pc):
        name, f = self.fields(code, pc)
        text = text_of(name, f)
        if name != "jr" and name not in BRANCHES:
            return MEANINGS[name](**f), pc + 4, None, text
        slot, g = self.fields(code, pc + 4)
        if slot == "jr" or slot in BRANCHES:
            raise Unproved("a branch in the delay slot of another")
        run = MEANINGS[slot](**g)
        text += "; " + text_of(slot, g)
        if name == "jr":
            if (slot, *g.values()) != ("sll", 0, 0, 0):
                raise Unproved("a return with something in its delay slot")
            return None, None, None, text
        target, s, t, test = pc + 4 + 4 * signed(f["i"], 16), f["s"], f.get("t", 0), BRANCHES[name]
        if name == "beq" and s == t:
            return run, target, None, text

        def decide(m):
            taken = test(m.read(s), m.read(t))
            run(m)
            return taken
        return None, pc + 8, (decide, target), text


def of(elf):
    """Returns the instruction set of an object."""
    return Isa(elf.elfclass, not elf.little_endian)
