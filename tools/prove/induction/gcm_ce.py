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
from induction import engine, gcm
from induction.engine import BOTH, anew, find, text_named
from induction.gcm import ADS, LONGEST, Shape, State, counter_block, regions
from run.kernels import text_symbols
from spec.args import FIRST, LAST
from values import linear, terms
from values.terms import Unproved, add_modular, carryless, cat, const, cut, field_product, same, symbol, xor

NAME = "sealane_aesgcm_ce"
GROUP, LEAST = 128, 256
END = 0x800000  # distance from the start to the end of a text in a run that starts a call
HASH = [("vector", r, i) for r in (8, 9, 10) for i in range(4)]
POLY = const(0xc200000000000000, 64)
GROUPS = ("general", 21)
PLACES = "in", "out", "steps"  # steps: groups that have not been started


def head(kernel, shape):
    """Returns the start of the loop that seals or opens. There the code tests for the rounds of longer keys; the other
    such tests belong to the four kinds of starts."""
    if kernel.head is None:
        kernel.head = [find(kernel, "tbz w22, #2", number).address for number in (4, 5)]
    return kernel.head[shape.opens]


class Part(gcm.Part):
    def known(self, v, what):
        found = linear.place(v)
        if what == "an address" and found and self.bytes and found[0].sum and self.bytes in found[0].sum and self.source in found[0].sum:
            return self.source.address + END + found[1]
        return super().known(v, what)


class Sums:
    """GHASH so far, for gcm.Part."""

    @staticmethod
    def hash_cells():
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


def begin(kernel, shape, word, given, residue=0, ad_bytes=0, name="a", section=None):
    """Runs from the first instruction to the loop, for texts whose length modulo 128 is the residue. word: the counter
    of J0, or of the first block of a part. section: associated data of any length (ad.py)."""
    size, tail = (residue + 15) // 16 % 8 * 16, residue % 16
    source, target = regions(shape, size)
    call = Part(kernel, shape, (source + [(END - tail, tail, True, False)] if tail else source, target), word, given, ad_bytes)
    call.bytes = linear.Base("bytes", LEAST + residue, LONGEST - GROUP + residue, modulus=GROUP, of=(residue,))
    call.set(bytes=call.bytes + 0, total=symbol("total", 64), ad_bytes=const(ad_bytes, 64))
    text = call.text(name, size)
    if tail:
        call.memory.poke(call.source.address + END - tail, text_symbols("text at the end ", tail))
    y = call.to_loop(head(kernel, shape), name, ad_bytes, section)
    call.done_bytes = size
    call.begun(Sums, y, text, size, size)
    return call


def start(kernel, shape, state, words, n, groups, given, word):
    """Starts a run at the loop, with n bytes of text. words: the values of moving cells. word: the counter of this
    text."""
    done = linear.Base("done", GROUP, LONGEST, modulus=16)
    first = const(1, 32) if given and shape.flags & FIRST else symbol("counter", 32)
    call = Part(kernel, shape, regions(shape, n), first, given, 0, done)
    now = {cell: words[cell] if state.kinds[cell] == "moving" else v for cell, v in state.items()}
    number = groups if isinstance(groups, linear.Base) else None
    call.y = call.enter(Sums, now, {"steps": lambda offset: number + (offset + 1) if number else const(groups + offset + 1, 64)})
    call.ad_bytes = symbol("ad bytes", 61)
    call.set(total=terms.extend(symbol("packet bytes", 61), 64), ad_bytes=terms.extend(call.ad_bytes, 64))
    return call, done


class Words:
    """The values of cells for each counter with which the loop may start a pass. The counter is given by its last
    byte, or None for any. A run that continues a packet at that counter has these values."""

    def __init__(self, kernel, shape, given):
        self.kernel, self.given, self.memo = kernel, given, {}
        self.shape = Shape(shape.flags & LAST, shape.opens, shape.in_place, shape.bits)

    def word(self, last):
        return symbol("any counter", 32) if last is None else cat(const(last, 8), symbol("upper bytes of any counter", 24))

    def cells(self, word):
        if word not in self.memo:
            self.memo[word] = begin(self.kernel, self.shape, word, self.given, name="b").cells()
        return self.memo[word]


def next_word(word, blocks=8):
    """The next counter. Its last byte is a constant if that of word is."""
    return add_modular(word, const(blocks, 32))


def induction(kernel, shape, residues, lasts, given, blocks=8, section=None):
    """Finds the kept cells, for lengths with these residues, and for counters that end with these bytes. section:
    includes associated data of any length (ad.py). Returns the state, and the numbers of cases and instructions."""
    words = Words(kernel, shape, given)
    calls, steps = [], 0
    for i, residue in enumerate(residues):
        first = const(1, 32) if given else symbol("counter", 32)
        if not shape.flags & FIRST:
            first = words.word(lasts[0])
        ads = [(n, None) for n in (ADS if shape.flags & FIRST and i == 0 else ())] + ([(0, section)] if section else [])
        for ad_bytes, any_ in [*ads, (0, None)]:
            call = begin(kernel, shape, first, given, residue, ad_bytes, section=any_)
            # The counter of the loop's first text.
            calls.append((call, add_modular(first, const(call.done_bytes // 16 + (1 if shape.flags & FIRST else 0), 32))))
            steps += call.machine.steps
    called, at = calls[-1]
    first, other, exact = called.cells(), words.cells(words.word(lasts[0])), words.cells(at)
    after = words.cells(next_word(words.word(lasts[0]), 3 << 8 | 8))  # with other upper bytes, too
    state = State()
    state.words, kinds, hash_cells = words, state.kinds, set(HASH)
    for cell, v in first.items():
        if cell in hash_cells or not v.defined:
            continue
        place = called.place_of(v, called.done_bytes)
        if place is not None:
            if place[0] in PLACES:
                state[cell], kinds[cell] = place, "place"
        elif cell in other and other[cell].defined and linear.place(other[cell]) is None and cell in exact and same(v, exact[cell]) and \
                not (v is other[cell] and same(v, after[cell])):
            state[cell], kinds[cell] = v, "moving"
        else:
            state[cell], kinds[cell] = v, "kept"
    # A kept cell may have another value for each class of lengths.
    begun, differing = [call.cells() for call, _ in calls], set()
    for (call, at), found in zip(calls, begun):
        exact = words.cells(at)

        def good(cell, v):
            new, kind = found.get(cell, terms.undefined(32)), kinds[cell]
            if kind == "place":
                return call.place_of(new, call.done_bytes) == v
            if new.defined and same(new, exact[cell] if kind == "moving" else v):
                return True
            if kind == "kept" and linear.place(new) is None:
                differing.add(cell)
                return True
            return False
        state.keep(good)
        state.writes(call)
    kept_of = {}
    for (call, _), found in zip(calls, begun):
        mine, old = {c: found[c] for c in differing if c in found}, kept_of.get(call.bytes.of[0])
        if old is not None:  # with associated data, and without
            mine = {c: v for c, v in mine.items() if c in old and old[c].defined and same(old[c], v)}
        kept_of[call.bytes.of[0]] = mine
    # A cell is undefined if it has not been written, or differs with associated data.
    state.by_residue = {r: {c: kept_of[r].get(c, terms.undefined(first[c].width)) for c in differing} for r in residues}
    # In a step, such a cell has any value, and must keep it.
    for cell in differing:
        state[cell], kinds[cell] = symbol(f"kept {cell}", first[cell].width), "kept"
    place, changed, cases = head(kernel, shape), True, 0
    while changed:
        changed, cases = False, len(calls)
        for last in lasts:
            word = words.word(last)
            now, following = words.cells(word), words.cells(next_word(word, blocks))
            groups = linear.Base("groups", 2, LONGEST)
            call, _ = start(kernel, shape, state, now, GROUP, groups, given, word)
            text = call.text("now", GROUP)
            call.set(bytes=linear.Base("any bytes", GROUP, LONGEST) + 0)
            call.go(place, place)
            steps, cases, found = steps + call.machine.steps, cases + 1, call.cells()
            after_pass = {"in": (call.source, GROUP), "out": (call.target, GROUP), "steps": (groups, 0)}

            def good(cell, v):
                new, kind = found.get(cell, terms.undefined(32)), kinds[cell]
                if kind == "place":
                    base, by = after_pass[v[0]]
                    return linear.place(new) == (base, v[1] + by)
                if new.defined and same(new, following[cell] if kind == "moving" else v):
                    return True
                if kind == "moving" and new is now[cell] and all(same(cells.get(cell, terms.undefined(1)), v) for cells in begun):
                    unmoved.append(cell)  # it equaled the value of a continuing run by chance
                    return True
                return False
            unmoved = []
            changed |= state.keep(good) or bool(unmoved)
            kinds.update(dict.fromkeys(unmoved, "kept"))
            state.writes(call)
            result = spec.gcm_text(call.schedule, counter_block(word), 0, text)
            call.require(Sums, result, spec.ghash(call.y, call.h, text if shape.opens else result), "after a pass")
    if state.get(GROUPS, ("",))[0] != "steps":
        raise Unproved("nothing counts the groups")
    return state, cases, steps


def leave(kernel, shape, state, residue, last, given):
    """Proves the run of the next group and the last one, to the end, for a text of such a length."""
    words, word, opens = state.words, state.words.word(last), shape.opens
    tail, n = residue % 16, 2 * GROUP - 16 + (residue % 16 or 16)
    call, done = start(kernel, shape, state, words.cells(word), n, 1, given, word)
    call.change({c: v for c, v in state.by_residue[residue].items() if c in state})
    text = text_named("now", n - tail)
    text = cat(text, text_symbols("text at the end ", tail)) if tail else text
    call.memory.poke(call.source.address, text)
    call.set(bytes=done + n)
    result = spec.gcm_text(call.schedule, counter_block(word), 0, text)
    y = spec.ghash(call.y, call.h, text if opens else result)
    return call.ended(state, head(kernel, shape), result, y, (call.ad_bytes, symbol("packet bytes", 61)), [counter_block(next_word(word, (n + 15) // 16))])


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
    state, *more = induction(kernel, shape, residues, lasts, given)
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
            state, _, _ = induction(kernel, shape, [64, 59], list(lasts), True, **change)
            for residue in (64, 59):
                leave(kernel, shape, state, residue, lasts[0], True)
        attempt(what, show, text and find(kernel, text, number, head(kernel, shape)))
    wrong("the counter goes on by one block more", blocks=9)
    right = HASH
    HASH = right[4:] + right[:4]
    wrong("sums of GHASH in another order")
    HASH = right
    for fault in LEFT_OUT[:2] if args.quick else LEFT_OUT:
        wrong(*fault)
    if not args.quick:
        wrong("the last byte's border is one later", "add w10, w25, #7", lasts=(241, 249))
