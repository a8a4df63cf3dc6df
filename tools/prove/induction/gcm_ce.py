"""AES-GCM with arm64's AES instructions, for every length, by induction.

    induction.gcm_ce [--quick] [--planted] [--jobs N] OBJECT...

This is like gcm.py, except for three properties of aesgcm_ce:

- Blocks that do not fill a group of eight come first, and the text's last block is read before the loop. So the
  length modulo 128 determines how the call starts, and its last four bits how it ends. There is a class of lengths for
  each.
- If the caller declares the counter public, the kernel branches on its last byte. That shows whether a higher byte
  changes in the next group. So a step is proved for each value of that byte, with any upper three. It leads to the
  state with the value 8 later.
- GHASH so far is three sums of products that are not reduced yet.
"""
from induction import engine, gcm, loop as loops
from induction.engine import BOTH, anew, find
from induction.gcm import LONGEST, Shape
from induction.loop import induction
from run.kernels import text_symbols
from run.memory import Near
from spec.args import FIRST, LAST
from values import linear, terms
from values.terms import Unproved, carryless, cat, const, cut, field_product, xor

NAME = "sealane_aesgcm_ce"
GROUP, LEAST = 128, 256
END = 0x800000  # distance from the start to the end of a text in a run that starts a call
HASH = [("vector", r, i) for r in (8, 9, 10) for i in range(4)]
POLY = const(0xc200000000000000, 64)


class Part(gcm.Part):
    """tail: bytes of the last block, if it is not full. They are read before the loop."""

    def put_text(self, n, lag=0):
        """In a run from the first instruction, the last block is far from its text. In one to the end, it follows."""
        n, tail = n - self.tail if self.done else n, text_symbols("text at the end ", self.tail)
        text, waiting = super().put_text(n, lag)
        self.poke(self.source.address + (n if self.done else END - self.tail), tail)
        return cat(text, tail) if tail and self.done else text, waiting

    def known(self, v, what):
        found = linear.place(v)
        if what == "an address" and found and self.left and {self.left, self.source} == set(found[0].sum or ()):
            return Near(self.source.address + END, found[1])
        return super().known(v, what)

    def here(self, v):
        found = linear.place(v)
        length, offset, bits = found and found[0].quotient or (None, 0, 0)
        if length and length is self.left and 1 << bits == GROUP:
            # Relative to the groups of the loop. The last one is not full if the residue is above that of 7 blocks.
            residue, = self.left.of
            return "steps", found[1] + (residue + offset) // GROUP - (residue > GROUP - 16)
        return super().here(v)


class Groups(gcm.Loop):
    """given: whether the caller declares the counter public. An exit starts with two groups."""

    part, places, step, blocks, least = Part, ("in", "out", "steps"), GROUP, GROUP // 16, LEAST
    further = 3 << 8 | 8  # also with other upper bytes
    splits, tail = True, 0

    def __init__(self, given):
        self.given = given

    def place(self, kernel, shape):
        """Returns the start of the loop that seals or opens. There the code tests for the rounds of longer keys; the
        other such tests belong to the four kinds of starts."""
        if kernel.head is None:
            kernel.head = [find(kernel, "tbz w22, #2", number).address for number in (4, 5)]
        return kernel.head[shape.opens]

    def sizes(self, shape, of, absorbs):
        residue = of or 0
        return (residue + 15) // 16 % 8 * 16, LEAST + residue

    def make(self, *args, **more):
        call = super().make(*args, given=self.given, **more)
        call.tail = self.tail
        return call

    def regions(self, shape, size, least):
        source, target = super().regions(shape, size, least)
        return [*source, (END - least % 16, least % 16, True, False)], target

    def lay_out(self, kernel, shape, size, least, of, **more):
        """For texts whose length modulo 128 is the residue `of`."""
        call = super().lay_out(kernel, shape, size, least, (least % GROUP,), **more)
        call.tail = least % 16
        return call

    def hash_cells(self):
        return HASH

    @staticmethod
    def hash_of(call):
        """Returns GHASH so far, as an element of the field: the kernel's reduction of the three sums."""
        cells = call.cells()
        words = [cells[c] for c in HASH]
        if not all(v.defined for v in words):
            raise Unproved("GHASH so far is not there")
        low, mid, high = (cat(*words[i:i + 4]) for i in (0, 4, 8))
        swap = lambda v: cat(cut(v, 64, 64), cut(v, 0, 64))
        half = lambda v: carryless(cut(v, 0, 64), POLY)
        mid, low = xor(xor(mid, low), high), xor(swap(low), half(low))
        mid = xor(mid, low)
        y = xor(swap(xor(high, half(mid))), mid)
        return field_product(terms.X127, swap(y).image)

    def processed(self, call):
        size, _ = self.sizes(call.shape, call.left.of[0], False)
        return size

    def fewest(self, at):
        """Two groups, of whose last block there may be one byte."""
        return 2 * GROUP - 15

    def remains(self, call, at, rest, enough):
        if rest is not None:
            return {"steps": 2}
        call.steps = linear.Base("steps", 3, LONGEST >> 4)
        return {"steps": call.steps}


def leave(kernel, shape, state, residue, last, given):
    """Proves the run of the next group and the last one, to the end, for a text of such a length."""
    loop, of_class = engine.changed(Groups(given), tail=residue % 16), engine.changed(state)
    of_class.update({c: v for c, v in state.by_class.get((residue,), {}).items() if c in state})
    return loops.leave(kernel, loop, shape, of_class, 2 * GROUP - 16 + (residue % 16 or 16), None, last)


# ---- All of it -----------------------------------------------------------------------------------------------------------

SHAPES = [(Shape(opens=o), True) for o in BOTH] + [(Shape(opens=o, bits=b, in_place=b == 256), True) for b in (192, 256) for o in BOTH] + \
    [(Shape(opens=o, j0=True), False) for o in BOTH] + [(Shape(f, opens=o), g) for f in (FIRST, 0, LAST) for o in BOTH for g in BOTH] + \
    [(Shape(f, opens=o, bits=b), True) for f in (FIRST, 0, LAST) for o in BOTH for b in (192, 256)]
# Last bytes of counters: those near a carry, and some others.
SOME = (0, 7, 8, 9, 15, 100, 128, 201, 232, *range(239, 256))


def tasks_of(quick):
    """Returns (number of the call, residues of the length, last bytes, (residue, last byte) of the exits)."""
    found = []
    for i, (shape, given) in enumerate(SHAPES):
        whole = i < 2
        if quick and i not in (0, 7):
            continue
        for blocks in ((3,) if quick else range(8)):
            residues = [(16 * blocks - k) % 128 for k in range(16)] if shape.flags & LAST else [16 * blocks] if blocks % 4 == 0 else []
            if quick:
                residues = residues[:1] + residues[5:6]
            if not residues:
                continue
            begins = 2 + blocks if shape.flags & FIRST and given else blocks
            lasts = [(begins + 8 * k) % 256 for k in range(32)] if given else [None]
            if given and not whole:
                lasts = lasts[:1] + lasts[28:]
            if quick:
                lasts = lasts[:1] + lasts[-2:]
            ends = [(r, lasts[(5 * j + k) % len(lasts)]) for j, r in enumerate(residues) for k in range(1 if quick or not given else 2)]
            found.append((i, residues, lasts, ends))
    return found


def least(kernel):
    return LEAST if kernel.name == NAME else None


def tasks(kernel, args):
    found = []
    for task in tasks_of(args.quick):
        shape, given = SHAPES[task[0]]
        found.append((str(shape) + (", any J0" if not given and not shape.j0 else "") + f", {task[1][0]} bytes more than groups", *task))
    return found


def one(kernel, task, args, found):
    _, number, residues, lasts, ends = task
    shape, given = SHAPES[number]
    anew()
    state, *more = induction(kernel, Groups(given), shape, residues, lasts)
    found.add(*more)
    for residue, last in ends:
        found.end(f"end, {residue} bytes, counter ends with {last}", leave, kernel, shape, state, residue, last, given)


# Instructions of the loop that planted faults omit: (name of the fault, their text, which of them).
LEFT_OUT = [("the text does not move", "add x3, x3, #0x80"), ("the output does not move", "add x4, x4, #0x80"),
            ("the groups are not counted", "sub x21, x21, #1"), ("the counter does not go on", "add w25, w25, #8"),
            ("first columns do not go on", "add v30"), ("a product is left out", "pmull2"), ("a round is left out", "aese", 40)]


def planted(kernel, args, attempt):
    global HASH
    shape = Shape()

    def wrong(what, text=None, number=0, lasts=(8 * 30 + 6, 254), **change):
        def show():
            anew()
            state, _, _ = induction(kernel, engine.changed(Groups(True), **change), shape, [64, 59], list(lasts))
            for residue in (64, 59):
                leave(kernel, shape, state, residue, lasts[0], True)
        attempt(what, show, text and find(kernel, text, number, Groups(True).place(kernel, shape)))
    wrong("the counter goes on by one block more", blocks=9)
    right = HASH
    HASH = right[4:] + right[:4]
    wrong("sums of GHASH in another order")
    HASH = right
    for fault in LEFT_OUT[:2] if args.quick else LEFT_OUT:
        wrong(*fault)
    if not args.quick:
        wrong("the last byte's border is one later", "add w10, w25, #7", lasts=(241, 249))
