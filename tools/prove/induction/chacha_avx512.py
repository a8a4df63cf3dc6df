"""Long texts of chacha20poly1305_avx512, by induction.

    induction.chacha_avx512 [--quick] [--planted] [--jobs N] [--all] OBJECT...

A pass processes 2048 bytes, and Poly1305 24 blocks at a time. So the state repeats after three passes: the loop has
three phases (loop.py). After associated data, opening starts in one of them. The accumulator has 24 limbs in eight
lanes. When sealing and when opening, base and step are proved for every length. The exits from each of the phases are
proved for the numbers of remaining bytes in the report.
"""
from induction import chacha_loop, loop as loops
from induction.chacha_loop import general, head
from induction.engine import SHAPES, Way
from induction.loop import attempts, prove
from run.kernels import SCRATCH
from spec.args import LAST, WHOLE
from values.terms import P

NAME = "sealane_chacha20poly1305_avx512"
PASS, LEAST = 2048, 2048 + 1
OPTIONS = (("all", "every exit"),)
ACC, BUFFER = SCRATCH + 384, SCRATCH + 2240
ORDER = (0, 4, 1, 5, 2, 6, 3, 7)  # the block of each lane


def limbs(call):
    return [[call.memory.peek(ACC + 64 * i + 8 * j, 8) for j in range(8)] for i in range(3)]


def accumulated(call, r):
    """Returns the polynomial of the lanes, to which the next block has not been added."""
    h = 0
    for i, row in enumerate(limbs(call)):
        for j, v in enumerate(row):
            h += (v.residue << 44 * i) * pow(r.residue, 8 - ORDER[j], P)
    return h % P


class Part(chacha_loop.Part):
    def accumulated(self, loop):
        self.limbs(loop)
        return accumulated(self, self.r)


class Phases(chacha_loop.Loop):
    """The start of the loop is the last instruction in the code that increases the counter. r10 counts the remaining
    bytes, and r12 points to what is authenticated."""

    part, phases, ahead = Part, 3, 384

    def __init__(self):
        cells = [(("memory8", ACC + 64 * i + 8 * j), 44 * i) for i in range(3) for j in range(8)]
        super().__init__(("add dword ptr [rsi + 0x100], 0x10", -1), PASS, None, 1, LEAST, cells, general(10),
                         2 * [general(12)])

    def sizes(self, shape, of, absorbs):
        """When opening after long associated data, Poly1305 processes more before the loop."""
        more = 256 if shape.opens and absorbs else 0
        return PASS + more, LEAST + more

    def ads(self, i):
        return 200, *loops.ADS

    def fewest(self, at):
        """When opening, authentication is ahead of the text. Then at least that many bytes exist."""
        return max(1, at.mac)

    def rests(self, shape, at, args):
        """With --all, these are all, for whole packets with separate output and for parts before others. Otherwise,
        whole packets have those near each multiple of 64, in one phase each, and other calls some."""
        found, phase = range(self.fewest(at), PASS + self.fewest(at.following)), at.phase
        if args.quick:
            return [577]
        if not shape.flags & LAST:
            return [n for n in found if n % 64 == 0 and (args.all or n % 960 == 64 + 320 * phase)]
        if shape.flags != WHOLE or shape.in_place:
            return [n + 320 * phase for n in (1, 64, 577)]
        return found if args.all else [n for n in found if n % 64 in (0, 1, 63)][phase::3]


LOOP = Phases()


def least(kernel):
    return LEAST if kernel.name == NAME else None


def tasks(kernel, args):
    return [(str(shape), shape, (i, 4 if args.all else 1))
            for shape in SHAPES[:1 if args.quick else None] for i in range(4 if args.all else 1)]


def one(kernel, task, args, found):
    _, shape, part = task
    prove(kernel, LOOP, shape, args, found, part, 1_500_000)


# Instructions that planted faults omit: (name of the fault, start of their text).
LEFT_OUT = [("the counter does not go on", "add dword ptr [rsi + 0x100]"), ("what is authenticated does not move", "add r12"),
            ("a product is left out", "vpmadd52huq"), ("a limb is not cut", "vpandq zmm26, zmm26")]


def planted(kernel, args, attempt):
    global ORDER
    proof = attempts(kernel, LOOP, Way())
    right = ORDER
    ORDER = tuple(range(8))
    attempt("lanes in another order", proof())
    ORDER = right
    attempt.without(LEFT_OUT, proof(), head(kernel, LOOP))
    attempt.without([("the bytes left do not change", "sub r10, rcx")], proof())
    if not args.quick:
        attempt.without([("a part's blocks are not counted", "shr r11, 6")], attempts(kernel, LOOP, Way(0))())
