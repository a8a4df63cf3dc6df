"""AES-GCM with arm64's AES instructions, for every length, by induction.

    induction.gcm_ce [--quick] [--planted] [--jobs N] OBJECT...

This is like gcm.py, with the same kinds of cells, except for three properties of aesgcm_ce:

- Blocks that do not fill a group of eight come first, and the text's last block is read before the loop. So the
  length modulo 128 determines how the call starts, and its last four bits how it ends. There is a class of lengths for
  each.
- If the caller declares the counter public, the kernel branches on its last byte. That shows whether a higher byte
  changes in the next group. So the loop has a state for each value of that byte, with any upper three. A step leads from
  each to the one 8 later.
- GHASH so far is three sums of products that are not reduced yet.
"""
import spec
from induction import gcm
from induction.engine import BOTH, anew, find, text_named
from induction.gcm import LONGEST, Shape, counter_block, induction, next_word, regions, start
from run.kernels import text_symbols
from spec.args import FIRST, LAST
from values import linear, terms
from values.terms import Unproved, carryless, cat, const, cut, field_product, symbol, xor

NAME = "sealane_aesgcm_ce"
GROUP, LEAST = 128, 256
END = 0x800000  # distance from the start to the end of a text in a run that starts a call
HASH = [("vector", r, i) for r in (8, 9, 10) for i in range(4)]
POLY = const(0xc200000000000000, 64)


class Part(gcm.Part):
    def known(self, v, what):
        found = linear.place(v)
        if what == "an address" and found and self.bytes and found[0].sum and self.bytes in found[0].sum and self.source in found[0].sum:
            return self.source.address + END + found[1]
        return super().known(v, what)

    def place_of(self, v, done):
        found = linear.place(v)
        if found and found[0].quotient and found[0].quotient[0] is self.bytes and 1 << found[0].quotient[2] == GROUP:
            # Relative to the groups of the loop. The last one is not full if the residue is above that of 7 blocks.
            (residue,), offset = self.bytes.of, found[0].quotient[1]
            return "steps", found[1] + (residue + offset) // GROUP - (residue > GROUP - 16)
        return super().place_of(v, done)


class Groups(gcm.Loop):
    """given: whether the caller declares the counter public."""

    part, counts_bytes, places, passes, rest = Part, False, ("in", "out", "steps"), 2, None
    step, lag, blocks = GROUP, 0, GROUP // 16

    def __init__(self, given):
        self.given = given

    def head(self, kernel, shape):
        """Returns the start of the loop that seals or opens. There the code tests for the rounds of longer keys; the
        other such tests belong to the four kinds of starts."""
        if kernel.head is None:
            kernel.head = [find(kernel, "tbz w22, #2", number).address for number in (4, 5)]
        return kernel.head[shape.opens]

    def word(self, shape):
        return self.given, const(1, 32) if self.given and shape.flags & FIRST else symbol("counter", 32)

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

    def continued(self, kernel, shape, word, name):
        return self.begin(kernel, Shape(shape.flags & LAST, shape.opens, shape.in_place, shape.bits), word, self.given, name=name)

    def begin(self, kernel, shape, word, given, residue=0, ad_bytes=0, name="a", section=None):
        """For texts whose length modulo 128 is the residue."""
        size, tail = (residue + 15) // 16 % 8 * 16, residue % 16
        source, target = regions(shape, size)
        call = Part(kernel, shape, (source + [(END - tail, tail, True, False)] if tail else source, target), word, given, ad_bytes)
        call.bytes = linear.Base("bytes", LEAST + residue, LONGEST - GROUP + residue, modulus=GROUP, of=(residue,))
        call.set(bytes=call.bytes + 0, total=symbol("total", 64), ad_bytes=const(ad_bytes, 64))
        text = call.text(name, size)
        if tail:
            call.memory.poke(call.source.address + END - tail, text_symbols("text at the end ", tail))
        y = call.to_loop(self.head(kernel, shape), name, ad_bytes, section)
        call.done = size
        call.begun(self, y, text, size, size)
        return call


def leave(kernel, shape, state, residue, last, given):
    """Proves the run of the next group and the last one, to the end, for a text of such a length."""
    loop, word, opens = Groups(given), state.words.word(last), shape.opens
    tail, n = residue % 16, 2 * GROUP - 16 + (residue % 16 or 16)
    call, _, y = start(kernel, loop, shape, state, word, n, 2)
    call.change({c: v for c, v in state.by_residue.get(residue, {}).items() if c in state})
    text = text_named("now", n - tail)
    text = cat(text, text_symbols("text at the end ", tail)) if tail else text
    call.memory.poke(call.source.address, text)
    call.set(bytes=call.done + n)
    result = spec.gcm_text(call.schedule, counter_block(word), 0, text)
    y = spec.ghash(y, call.h, text if opens else result)
    lengths = symbol("ad bytes", 61), symbol("packet bytes", 61)
    return call.ended(state, loop.head(kernel, shape), result, y, lengths, [counter_block(next_word(word, (n + 15) // 16))])


# ---- All of it -----------------------------------------------------------------------------------------------------------

SHAPES = [(Shape(opens=o), True) for o in BOTH] + [(Shape(opens=o, bits=b, in_place=b == 256), True) for b in (192, 256) for o in BOTH] + \
    [(Shape(opens=o, j0=True), False) for o in BOTH] + [(Shape(f, opens=o), g) for f in (FIRST, 0, LAST) for o in BOTH for g in BOTH]
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
            state, _, _ = induction(kernel, Groups(True), shape, [64, 59], list(lasts), **change)
            for residue in (64, 59):
                leave(kernel, shape, state, residue, lasts[0], True)
        attempt(what, show, text and find(kernel, text, number, Groups(True).head(kernel, shape)))
    wrong("the counter goes on by one block more", blocks=9)
    right = HASH
    HASH = right[4:] + right[:4]
    wrong("sums of GHASH in another order")
    HASH = right
    for fault in LEFT_OUT[:2] if args.quick else LEFT_OUT:
        wrong(*fault)
    if not args.quick:
        wrong("the last byte's border is one later", "add w10, w25, #7", lasts=(241, 249))
