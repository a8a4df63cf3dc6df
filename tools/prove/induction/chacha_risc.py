"""Every length at once, of ChaCha20-Poly1305 in the integer registers of MIPS and RISC-V, by the induction of chacha_armv6.py.

    induction.chacha_risc [--quick] [--planted] [--jobs N] [--queries FOLDER] OBJECT...

These kernels go other ways where input, output, key or nonce are not aligned. Each way is shown by itself, from the first instruction to
the return: a task has classes of residues of these pointers.
"""
import itertools

from induction import chacha_armv6
from induction.chacha_arm import general, scratch
from induction.chacha_armv6 import LEAST, Layout, Loop, induction, leave
from induction.engine import SHAPES, Way, anew, find
from run.kernels import AD, IN, KEY, NONCE, OUT, Call
from spec.args import LAST, WHOLE

STATE = 256
POLY_H = STATE + 128
COUNTER = scratch(STATE + 48)


def cases(address, modulus, *classes):
    """Call.cases of a pointer: classes of residues, as a rule the multiples and the others."""
    return [{address: (modulus, of)} for of in classes or ((0,), tuple(range(1, modulus)))]


def encrypting(begin, registers, words, big=False):
    """The loop that encrypts. The accumulator is in scratch, in numbers of 64 bits; registers: of input, output, bytes left."""
    return Loop(begin, 64, [scratch(POLY_H + 4 * (i ^ big)) for i in range(words)],
                {**{general(r): what for r, what in zip(registers, ("in", "out", "left"))}, COUNTER: "counter"}, [32 * i for i in range(words)])


def authenticating(begin, registers, limbs, weights, carries=False):
    return Loop(begin, 16, [general(r) for r in limbs],
                {**{general(r): what for r, what in zip(registers, ("message", "limit", "rest"))}, COUNTER: "counter"}, weights, carries)


def of_message(shape):
    """Residues of the address of the authenticated text."""
    return Call.cases[IN + 1 if shape.opens or shape.in_place else OUT + 3][1]


class Mips(Layout):
    phase, phase_text, block_0, callers = general(1), 1, False, [{}]

    def __init__(self, isa):
        self.bits, self.big = isa.POINTER, isa.big
        self.ad_cases = self.texts(AD)

    def texts(self, address):
        return cases(address, self.bits // 8)

    def loops(self, shape):
        # $24 is a carry.
        load, first, limbs = ("lw", "$s4", [*range(8, 13), 24]) if self.bits == 32 else ("ld", "$t6", [*range(8, 11), 24])
        side = "" if of_message(shape) == (0,) else "l" if self.big else "r"
        weights = [*range(0, 129, self.bits), 128]
        return (encrypting(("lw $t0, 0x100($a1)", 1), (2, 3, 7), 5 if self.bits == 32 else 6, self.big),
                authenticating((f"{load}{side} {first}, ($v0)", 0), (2, 3, 7), limbs, weights, True))


class RiscV(Layout):
    phase, phase_text = general(15), 1
    callers = [dict(t) for t in ({**k, **n} for k in cases(KEY, 4) for n in cases(NONCE, 4) if k[KEY][1] == (0,) or n[NONCE][1] == (0,))]

    def __init__(self, isa):
        self.ad_cases = self.texts(AD)

    def texts(self, address):
        return cases(address, 8, (0,), (4,), (1, 2, 3, 5, 6, 7))

    def loops(self, shape):
        load = {(0,): "ld", (4,): "lwu"}.get(of_message(shape), "lbu")
        return encrypting(("lw t0, 0x100(a1)", 0), (24, 25, 26), 6), authenticating((f"{load} s5, 0(a2)", 0), (12, 13, 14), (5, 6, 7), (0, 64, 128))


LAYOUTS = {"EM_MIPS": Mips, "EM_RISCV": RiscV}


def least(kernel):
    return LEAST if getattr(kernel.isa, "BY_INDUCTION", {}).get(kernel.name.removeprefix("sealane_")) == LEAST else None


def tasks(kernel, args):
    found, layout = [], LAYOUTS[kernel.isa.MACHINE](kernel.isa)
    for shape in SHAPES[3:4] if args.quick else SHAPES:
        for each in itertools.product(layout.texts(IN + 1), [{}] if shape.in_place else layout.texts(OUT + 3), layout.callers):
            case = {k: v for d in each for k, v in d.items()}
            found.append((f"{shape}, residues " + ", ".join(f"{of} of {n}" for n, of in case.values()), shape, case))
    return found[::3] if args.quick else found


def prepared(kernel, case):
    anew()
    Call.cases, kernel.head = case, None
    chacha_armv6.LAYOUTS[kernel.name] = LAYOUTS[kernel.isa.MACHINE](kernel.isa)


def one(kernel, task, args, found):
    _, shape, case = task
    prepared(kernel, case)
    state, *more = induction(kernel, shape)
    found.add(*more)
    ends = (range(1, 65) if shape.opens else range(16)) if shape.flags & LAST else (64 if shape.opens else 0,)
    for n in ends[5::9] if args.quick else ends:
        found.end(f"end, {n} bytes", leave, kernel, shape, state, n, args.queries)


# Instructions that a planted fault leaves out: what that is, how they begin, which one of those.
LEFT_OUT = {
    ("EM_MIPS", 32): [("the text does not move", "addiu $v0, $v0, 0x40", 0), ("a product is left out", "maddu", 2), ("a carry is dropped", "sltu", 4),
                      ("a rotation is left out", "rotr", 40), ("a wipe is left out", "sw $zero, 0x110($a1)", 0)],
    ("EM_MIPS", 64): [("the text does not move", "daddiu $v0, $v0, 0x40", 0), ("a product is left out", "dmultu", 1), ("a carry is dropped", "sltu", 2),
                      ("a rotation is left out", "rotr", 40), ("a wipe is left out", "sd $zero, 0x110($a1)", 0)],
    ("EM_RISCV", 64): [("the text does not move", "addi s8, s8, 0x40", 0), ("a product is left out", "mulhu", 2), ("a carry is dropped", "sltu", 2),
                       ("a wipe is left out", "sd zero, 0x110(a1)", 0)],
}


def planted(kernel, args, attempt):
    case = {address: (8, (0,)) for address in (IN + 1, OUT + 3, KEY, NONCE)}

    def wrong(what, text=None, number=0, **change):
        def show():
            prepared(kernel, case)
            state, _, _ = induction(kernel, Way(WHOLE), **change)
            leave(kernel, Way(WHOLE), state, 5)
        attempt(what, show, text and find(kernel, text, number))
    wrong("the counter goes on by two", blocks=2)
    wrong("blocks of 32 bytes are authenticated", step=32)
    for what, text, number in LEFT_OUT[kernel.isa.MACHINE, kernel.isa.POINTER]:
        wrong(what, text, number)
