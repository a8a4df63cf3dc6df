"""Every length at once, of ChaCha20-Poly1305 in the integer registers of MIPS and RISC-V, by the induction of chacha_armv6.py.

    induction.chacha_risc [--quick] [--planted] [--jobs N] [--queries FOLDER] OBJECT...

These kernels go other ways where texts are aligned and where they are not. Each call is shown for both, of input and of output.
"""
import itertools

from induction import chacha_armv6
from induction.chacha_arm import general, scratch
from induction.chacha_armv6 import LEAST, Layout, Loop, induction, leave
from induction.engine import SHAPES, Way, anew, find
from run.kernels import AD, IN, OUT, Call
from spec.args import LAST, WHOLE

STATE, POLY_H = 256, 256 + 64 + 64
COUNTER = scratch(STATE + 48)


class Mips(Layout):
    phase, phase_text, block_0 = general(1), 1, False

    def __init__(self, bits, big):
        self.bits, self.big, self.word = bits, big, bits // 8
        self.ad_cases = cases(self.word, AD)

    def loops(self, shape):
        half = [i ^ 1 if self.big else i for i in range(6 if self.bits == 64 else 5)]
        weights = [32 * i for i in range(len(half))]
        e = Loop(("lw $t0, 0x100($a1)", 1), 64, [scratch(POLY_H + 4 * i) for i in half],
                 {general(2): "in", general(3): "out", general(7): "left", COUNTER: "counter"}, weights)
        aligned = Call.cases[IN + 1 if shape.opens or shape.in_place else OUT + 3][1] == (0,)
        first = ("lw $s4, ($v0)" if aligned else "lwl $s4, ($v0)" if self.big else "lwr $s4, ($v0)") if self.bits == 32 else \
            ("ld $t6, ($v0)" if aligned else "ldl $t6, ($v0)" if self.big else "ldr $t6, ($v0)")
        limbs, at = (range(8, 13), range(0, 160, 32)) if self.bits == 32 else (range(8, 11), range(0, 192, 64))
        a = Loop((first, 0), 16, [general(r) for r in (*limbs, 24)],  # and the carry
                 {general(2): "message", general(3): "limit", general(7): "rest", COUNTER: "counter"}, [*at, 128], True)
        return e, a


def cases(modulus, address):
    """Call.cases of a pointer, aligned and not."""
    return [{address: (modulus, of)} for of in ((0,), tuple(range(1, modulus)))]


def layout(kernel):
    return Mips(kernel.isa.POINTER, kernel.isa.big)


def least(kernel):
    return LEAST if kernel.isa.BY_INDUCTION.get(kernel.name.removeprefix("sealane_")) == LEAST else None


def tasks(kernel, args):
    found = []
    for shape in SHAPES[3:4] if args.quick else SHAPES:
        for each in itertools.product(cases(layout(kernel).word, IN + 1), [{}] if shape.in_place else cases(layout(kernel).word, OUT + 3)):
            case = {k: v for d in each for k, v in d.items()}
            aligned = ["aligned" if of == (0,) else "not aligned" for _, of in case.values()]
            found.append((f"{shape}, {', '.join(aligned)}", shape, case))
    return found[::3] if args.quick else found


def prepared(kernel, case):
    anew()
    Call.cases, kernel.head = case, None
    chacha_armv6.LAYOUTS[kernel.name] = layout(kernel)


def one(kernel, task, args, found):
    _, shape, case = task
    prepared(kernel, case)
    state, *more = induction(kernel, shape)
    found.add(*more)
    ends = (range(1, 65) if shape.opens else range(16)) if shape.flags & LAST else (64 if shape.opens else 0,)
    for n in ends[5::9] if args.quick else ends:
        found.end(f"end, {n} bytes", leave, kernel, shape, state, n, args.queries)


def planted(kernel, args, attempt):
    case = {address: (layout(kernel).word, (0,)) for address in (IN + 1, OUT + 3)}

    def wrong(what, text=None, number=0, opens=False, **change):
        def show():
            prepared(kernel, case)
            state, _, _ = induction(kernel, Way(WHOLE, opens), **change)
            leave(kernel, Way(WHOLE, opens), state, 5)
        attempt(what, show, text and find(kernel, text, number))
    wrong("the counter goes on by two", blocks=2)
    wrong("blocks of 32 bytes are authenticated", step=32)
