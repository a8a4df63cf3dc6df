"""AES-GCM with arm64's AES instructions, for every length, by induction.

    induction.gcm_ce [--quick] [--planted] [--jobs N] OBJECT...

This is like gcm.py, with the same kinds of cells, except for three properties of aesgcm_ce:

- Blocks that do not fill a group of eight come first, and the text's last block is read before the loop. So the
length modulo 128
  determines how the call starts, and its last four bits how it ends. There is a class of lengths for each.
- If the caller declares the counter public, the kernel branches on its last byte. That shows whether a higher byte
  changes in the next group. So the loop has a state for each value of that byte, with any upper three. A step leads from
  each to the one 8 later.
- GHASH so far is three sums of products that are not reduced yet.
"""
import spec
from induction import engine, gcm
from induction.engine import BOTH, anew, find, text_named
from induction.gcm import ADS, LONGEST, Shape
from run import kernels
from run.kernels import AD, STATE, text_symbols
from run.packets import gcm_left, nonce_symbols
from spec.args import A, FIRST, LAST
from values import linear, terms
from values.terms import Unproved, add_modular, carryless, cat, const, cut, field_product, same, symbol, xor

NAME = "sealane_aesgcm_ce"
GROUP, LEAST = 128, 256
END = 0x800000  # distance from the start to the end of a text in a run that starts a call
HASH = [("vector", r, i) for r in (8, 9, 10) for i in range(4)]
POLY = const(0xc200000000000000, 64)
GROUPS = ("general", 21)


def head(kernel, shape):
    """Returns the start of the loop that seals or opens. There the code tests for the rounds of longer keys; the other
    such tests belong to the four kinds of starts."""
    if kernel.head is None:
        kernel.head = [find(kernel, "tbz w22, #2", number).address for number in (4, 5)]
    return kernel.head[shape.opens]


class Part(gcm.Part):
    """done: bytes before this text, a multiple of 128; None: the call starts here."""

    def __init__(self, kernel, shape, texts, j0, given, ad_bytes=0, done=None, tail=0):
        pieces = list(texts[0])
        if tail and done is None:
            pieces.append((END - tail, tail, True, False))
        super().__init__(kernel, shape, (pieces, texts[1]), const(1, 32), given, ad_bytes, done)
        self.j0 = j0
        self.memory.poke(kernels.NONCE, cut(j0, 0, 96 if given and shape.flags & FIRST else 128))
        self.mask = spec.aes(self.schedule, j0) if shape.flags & FIRST else self.mask
        if not shape.flags & FIRST:
            self.memory.poke(STATE + A["GCM_STATE_COUNTER"], j0)

    def known(self, v, what):
        found = linear.place(v)
        if what == "an address" and found and self.bytes and found[0].sum and self.bytes in found[0].sum and self.source in found[0].sum:
            return self.source.address + END + found[1]
        return super().known(v, what)

    def accumulated(self):
        """Returns GHASH so far, as an element of the field: the kernel's reduction of the three sums."""
        cells = self.cells()
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


def counter_block(word):
    return cat(*nonce_symbols(), spec.reverse(word))


def y_before(shape):
    return 0 if shape.flags & FIRST else spec.field_element(cat(*(symbol(f"y before {i}", 32) for i in range(4))))


def begin(kernel, shape, word, given, residue=0, ad_bytes=0, name="a", section=None):
    """Runs from the first instruction to the loop, for texts whose length modulo 128 is the residue. word: the counter
    of J0, or of the first block of a part. section: associated data of any length (ad.py)."""
    blocks, tail, opens = (residue + 15) // 16 % 8, residue % 16, shape.opens
    size = 16 * blocks
    texts = ([(0, size, True, shape.in_place)] if size else []), [] if shape.in_place or not size else [(0, size, True, True)]
    call = Part(kernel, shape, texts, counter_block(word), given, ad_bytes, None, tail)
    call.bytes = linear.Base("bytes", LEAST + residue, LONGEST - GROUP + residue, modulus=GROUP, of=(residue,))
    call.set(bytes=call.bytes + 0, total=symbol("total", 64), ad_bytes=const(ad_bytes, 64))
    text, ad = text_named(name, size) if size else None, text_symbols(f"ad {name} ", ad_bytes)
    if ad:
        call.memory.poke(AD, ad)
    if text:
        call.memory.poke(call.source.address, text)
    if tail:
        call.memory.poke(call.source.address + END - tail, text_symbols("text at the end ", tail))
    if section:
        section.arguments(call)
        behind_ad = section.through(call, head(kernel, shape))
    else:
        kernel.program().run(call.machine, None, 0, head(kernel, shape))
    call.done_bytes, first = size, 1 if shape.flags & FIRST else 0
    result = spec.gcm_text(call.schedule, call.j0, first, text)
    call.expect("the text", call.target.address, result)
    y = behind_ad if section else spec.ghash(y_before(shape), call.h, ad) if shape.flags & FIRST else y_before(shape)
    y = spec.ghash(y, call.h, text if opens else result)
    if call.accumulated() != y:
        raise Unproved("GHASH is not that of the specification where the loop begins")
    return call


class State(dict):
    """Cell -> value, or (kind, offset). kinds: of cells. written: addresses in scratch."""


def place_of(call, v, done):
    found = linear.place(v)
    if found is None:
        return None
    base, offset = found
    if base is call.source:
        return "in", offset - done
    if base is call.target:
        return "out", offset - done
    if base.quotient:
        return "groups", offset + 1  # one has been started
    return "unknown", 0


def start(kernel, shape, state, moving, n, groups, given, word):
    """Starts a run at the loop, with n bytes of text. moving: the values of moving cells. word: the counter of this
    text."""
    texts = [(0, n, True, shape.in_place)], [] if shape.in_place else [(0, n, True, True)]
    done = linear.Base("done", GROUP, LONGEST, modulus=16)
    call = Part(kernel, shape, texts, counter_block(const(1, 32) if given and shape.flags & FIRST else symbol("counter", 32)), given, 0, done)
    cells = {}
    for cell, v in state.items():
        if isinstance(v, tuple):
            kind, offset = v
            v = {"in": call.source, "out": call.target}[kind] + offset if kind in ("in", "out") else \
                groups + offset if isinstance(groups, linear.Base) else const(groups + offset, 64)
        cells[cell] = moving[cell] if state.kinds[cell] == "moving" else v
    call.put(cells)
    call.machine.vector = [list(v) for v in call.machine.vector]
    call.change({cell: symbol(f"hash {i}", 32) for i, cell in enumerate(HASH)})
    call.y = call.accumulated()
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
    state.kinds, state.words = {}, words
    hash_cells = set(HASH)
    for cell, v in first.items():
        if cell in hash_cells or not v.defined:
            continue
        place = place_of(called, v, called.done_bytes)
        if place is not None:
            if place[0] != "unknown":
                state[cell], state.kinds[cell] = place, "place"
        elif cell in other and other[cell].defined and linear.place(other[cell]) is None and cell in exact and same(v, exact[cell]) and \
                not (v is other[cell] and same(v, after[cell])):
            state[cell], state.kinds[cell] = v, "moving"
        else:
            state[cell], state.kinds[cell] = v, "kept"
    state.written = set()
    # Each class of lengths keeps its own tail.
    state.by_residue = {}
    for call, at in calls:
        found, exact, tails = call.cells(), words.cells(at), {}
        for cell, v in list(state.items()):
            new, kind = found.get(cell, terms.undefined(32)), state.kinds[cell]
            good = place_of(call, new, call.done_bytes) == v if kind == "place" else \
                new.defined and same(new, exact[cell]) if kind == "moving" else new.defined and (new is v or same(new, v))
            if not good and kind == "kept" and linear.place(new) is None:
                tails[cell] = new
            elif not good:
                del state[cell]
        residue = call.bytes.of[0]
        state.by_residue.setdefault(residue, {}).update(tails)
        state.written |= {c[1] for c in found if c[0] == "memory"}
    differing = {c for t in state.by_residue.values() for c in t}
    kept_of = {residue: None for residue in residues}
    for call, _ in calls:
        found = call.cells()
        mine = {c: found[c] for c in differing if c in found}
        old = kept_of[call.bytes.of[0]]
        if old is not None:  # with associated data, and without
            mine = {c: v for c, v in mine.items() if c in old and old[c].defined and same(old[c], v)}
        kept_of[call.bytes.of[0]] = mine
    # A cell is undefined if it has not been written, or differs with associated data.
    state.by_residue = {r: {c: kept_of[r].get(c, terms.undefined(first[c].width)) for c in differing} for r in residues}
    # In a step, such a cell has any value, and must keep it.
    for cell in differing:
        state[cell], state.kinds[cell] = symbol(f"kept {cell}", first[cell].width), "kept"
    place, changed, cases = head(kernel, shape), True, 0
    begun = [call.cells() for call, _ in calls]
    everywhere = lambda cell: (found.get(cell, terms.undefined(1)) for found in begun)
    while changed:
        changed, cases = False, len(calls)
        for last in lasts:
            word = words.word(last)
            following = words.cells(next_word(word, blocks))
            groups = linear.Base("groups", 2, LONGEST)
            call, _ = start(kernel, shape, state, words.cells(word), GROUP, groups, given, word)
            text = text_named("now", GROUP)
            call.memory.poke(call.source.address, text)
            call.set(bytes=linear.Base("any bytes", GROUP, LONGEST) + 0)
            kernel.program().run(call.machine, None, place, place)
            steps, cases, found = steps + call.machine.steps, cases + 1, call.cells()
            for cell, v in list(state.items()):
                new, kind = found.get(cell, terms.undefined(32)), state.kinds[cell]
                if kind == "place":
                    what, offset = v
                    p = linear.place(new)
                    base, by = {"in": (call.source, GROUP), "out": (call.target, GROUP), "groups": (groups, -1)}[what]
                    good = p is not None and p[0] is base and p[1] == offset + by
                elif kind == "moving":
                    good = new.defined and same(new, following[cell])
                    if not good and new is words.cells(word)[cell] and all(same(new_, v) for new_ in everywhere(cell)):
                        state.kinds[cell], changed = "kept", True  # it equaled the value of a continuing run by chance
                        continue
                else:
                    good = new.defined and (new is v or same(new, v))
                if not good:
                    del state[cell]
                    changed = True
            state.written |= {c[1] for c in found if c[0] == "memory"}
            result = spec.gcm_text(call.schedule, counter_block(word), 0, text)
            call.expect("the text", call.target.address, result)
            if call.accumulated() != spec.ghash(call.y, call.h, text if shape.opens else result):
                raise Unproved("GHASH is not that of the specification after a pass")
    if state.get(GROUPS, ("",))[0] != "groups":
        raise Unproved("nothing counts the groups")
    return state, cases, steps


def leave(kernel, shape, state, residue, last, given):
    """Proves the run of the next group and the last one, to the end, for a text of such a length."""
    words, word, opens = state.words, state.words.word(last), shape.opens
    tail, n = residue % 16, 2 * GROUP - 16 + (residue % 16 or 16)
    call, done = start(kernel, shape, state, words.cells(word), n, 1, given, word)
    mine = state.by_residue[residue]
    call.change({c: v for c, v in mine.items() if c in state})
    text = text_named("now", n - tail)
    text = cat(text, text_symbols("text at the end ", tail)) if tail else text
    call.memory.poke(call.source.address, text)
    call.set(bytes=done + n)
    kernel.program().run(call.machine, None, head(kernel, shape), None)
    call.left_behind()
    call.wiped(state.written)
    result = spec.gcm_text(call.schedule, counter_block(word), 0, text)
    call.expect("the text", call.target.address, result)
    y = spec.ghash(call.y, call.h, text if opens else result)
    gcm_left(call, shape.flags, y, call.h, call.mask, (terms.extend(call.ad_bytes, 64), terms.extend(symbol("packet bytes", 61), 64)),
             [cat(*nonce_symbols(), spec.reverse(add_modular(word, const((n + 15) // 16, 32))))])
    return call.machine.steps


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
    wrong("the text does not move", "add x3, x3, #0x80")
    wrong("the output does not move", "add x4, x4, #0x80")
    if args.quick:
        return
    wrong("the groups are not counted", "sub x21, x21, #1")
    wrong("the counter does not go on", "add w25, w25, #8")
    wrong("first columns do not go on", "add v30")
    wrong("the last byte's border is one later", "add w10, w25, #7", lasts=(241, 249))
    wrong("a product is left out", "pmull2")
    wrong("a round is left out", "aese", 40)
