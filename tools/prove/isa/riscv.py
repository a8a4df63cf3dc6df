"""64-bit RISC-V with M, and roriw of Zbb: the effect of each instruction on registers and memory.

Encodings and semantics follow the RISC-V manual, volume I. tests/semantics.py compares them with an emulator.
Only instructions of the kernels in integer registers are known; another one stops the run. riscv_vector.py adds
vectors.

ChaCha20's words are in the lower halves of registers. The upper half of a sum of such registers counts as any
number.
"""
import importlib
import sys

import capstone
from isa.integer import (Registers, decoded, encodings, equals, from_word, is_word, less, low_bits, minus, of_pointers,
    of_registers, of_words, plus, signed, text_of)
from values import terms
from values.terms import cat, const, cut, extend, invert, product, rotate_left, shift_left, shift_right, xor

MACHINE, POINTER, COUNTER = "EM_RISCV", 64, 32  # COUNTER: bits of ChaCha20's counter
ARGUMENTS = (10, 11, 12)
BY_INDUCTION = {"chacha20poly1305_rv64": 128, "chacha20poly1305_zbb": 128}  # run/lists.py
RESERVED = (1, 2, 3, 4, 27)

# Fields of an encoding: s, t and d are registers; a and w have 6 and 5 bits; i has 12. h and l have 7 and 5 bits, which
# form a number of 12; j has 20.
ENCODINGS = """
add   0000000 t s 000 d 0110011    sub   0100000 t s 000 d 0110011    sltu  0000000 t s 011 d 0110011
xor   0000000 t s 100 d 0110011    or    0000000 t s 110 d 0110011    and   0000000 t s 111 d 0110011
mul   0000001 t s 000 d 0110011    mulhu 0000001 t s 011 d 0110011
addi  i s 000 d 0010011            sltiu i s 011 d 0010011            andi  i s 111 d 0010011
xori  i s 100 d 0010011
slli  000000 a s 001 d 0010011     srli  000000 a s 101 d 0010011
slliw 0000000 w s 001 d 0011011    srliw 0000000 w s 101 d 0011011    roriw 0110000 w s 101 d 0011011
lbu   i s 100 d 0000011    lw    i s 010 d 0000011    lwu   i s 110 d 0000011    ld    i s 011 d 0000011
sb    h t s 000 l 0100011    sw    h t s 010 l 0100011    sd    h t s 011 l 0100011
beq   h t s 000 l 1100011    bne   h t s 001 l 1100011    bltu  h t s 110 l 1100011    bgeu  h t s 111 l 1100011
jal   j 00000 1101111        jalr  000000000000 00001 000 00000 1100111
"""
WIDTHS = {**dict.fromkeys("stdwl", 5), "a": 6, "h": 7, "i": 12, "j": 20}
KNOWN = encodings(ENCODINGS, WIDTHS)
SIZES = {"lbu": 1, "sb": 1, "lw": 4, "lwu": 4, "sw": 4, "ld": 8, "sd": 8}


class Machine(Registers):
    def __init__(self, memory):
        super().__init__(memory, POINTER)


def decoder():
    md = capstone.Cs(capstone.CS_ARCH_RISCV, capstone.CS_MODE_RISCV64)
    md.skipdata = True  # capstone does not know Zbb
    return md


_halves = terms.memo()  # values with any upper half
_results = terms.memo()  # (operation, operands) -> result


def remembered(f):
    """Returns f, with its results kept. So the same operation on the same registers has the same upper half."""
    def of(x, y):
        r = _results.get((f, x, y))
        if r is None:
            r = _results[f, x, y] = f(x, y)
        return r
    return of


def half(v):
    """A register with the word v in its lower half, and any upper half."""
    r = cat(v, terms.fresh(32))
    _halves[r] = True
    return r


def is_half(v):
    return v in _halves or is_word(v) and cut(v, 31, 1).constant is None


@remembered
def add(x, y):
    if is_half(x) or is_half(y):
        return half(terms.add_modular(cut(x, 0, 32), cut(y, 0, 32)))
    return plus(x, y)


@remembered
def exclusive_or(x, y):
    if x in _halves or y in _halves:
        return half(xor(cut(x, 0, 32), cut(y, 0, 32)))
    return of_words(xor)(x, y)


def on_word(f):
    """Returns f for the lower half of a register."""
    return remembered(lambda v, n: from_word(f(cut(v, 0, 32), n), 64))


def access(name, size):
    if name[0] == "l":
        return lambda s, d, i: lambda m: m.load(d, s, signed(i, 12), size, from_word if name == "lw" else extend)
    return lambda h, t, s, l: lambda m: m.store(t, s, signed(h << 5 | l, 12), size)


def of_constant(f):
    return lambda s, d, i: lambda m: m.write(d, f(m.read(s), const(signed(i, 12), 64)))


def of_number(f):
    return lambda s, d, a=0, w=0: lambda m: m.write(d, f(m.read(s), a or w))


MEANINGS = {
    "add": of_registers(add), "sub": of_registers(minus), "sltu": of_registers(less), "xor": of_registers(exclusive_or),
    "or": of_registers(remembered(of_words(of_pointers))), "and": of_registers(low_bits),
    "mul": of_registers(lambda x, y: cut(product(x, y), 0, 64)),
    "mulhu": of_registers(lambda x, y: cut(product(x, y), 64, 64)),
    "addi": of_constant(add), "sltiu": of_constant(less), "andi": of_constant(low_bits),
    "xori": of_constant(exclusive_or),
    "slli": of_number(remembered(shift_left)), "slliw": of_number(on_word(shift_left)),
    "srli": of_number(remembered(shift_right)),
    "srliw": of_number(on_word(shift_right)), "roriw": of_number(on_word(lambda v, n: rotate_left(v, 32 - n))),
    **{name: access(name, size) for name, size in SIZES.items()},
}
BRANCHES = {"beq": equals, "bne": lambda x, y: invert(equals(x, y)), "bltu": lambda x, y: cut(less(x, y), 0, 1),
            "bgeu": lambda x, y: invert(cut(less(x, y), 0, 1))}


def fields(code, pc):
    return decoded(code, pc, KNOWN, WIDTHS, RESERVED)


def meaning(code, pc):
    name, f = fields(code, pc)
    text = text_of(name, f)
    if name == "jalr":
        return None, None, None, text
    if name == "jal":
        j = f["j"]
        return (lambda m: None), pc + signed((j >> 19) << 20 | (j & 0xff) << 12 | (j >> 8 & 1) << 11 | (j >> 9 & 0x3ff) << 1, 21), None, text
    if name in BRANCHES:
        h, low, test = f["h"], f["l"], BRANCHES[name]
        target = pc + signed((h >> 6) << 12 | (low & 1) << 11 | (h & 0x3f) << 5 | (low >> 1) << 1, 13)
        return None, pc + 4, (lambda m: test(m.read(f["s"]), m.read(f["t"])), target), text
    return MEANINGS[name](**f), pc + 4, None, text


def of(elf):
    """The instruction set of an object. Files that only kernels with vectors need are not imported for others, whose
    records (all.py) do not depend on them."""
    symbols = elf.get_section_by_name(".symtab")
    if not any(s.name.startswith("sealane_") and s.name.endswith(("_rvv", "_zvkb", "_zvkned")) for s in symbols.iter_symbols()):
        return sys.modules[__name__]
    return importlib.import_module("isa.riscv_vector").of_symbols(symbols)
