"""AES-GCM, for every length: the loop of a kernel over long texts, by induction.

    induction.gcm [--quick] [--planted] [--jobs N] OBJECT...

As in chacha_loop.py, there are base, step and exit, and the invariant is computed, and then proved. A cell is a
register, a word of a vector register, a mask register, or four bytes of scratch or stack. The loop starts at the
target of its last jump. There a cell is one of these:

    kept    as the run from the first instruction left it
    moving  the value in that run if the counter is any X; after a pass, the value if the counter is X + n, where n is
            the number of blocks of a pass
    place   a pointer to text, which moves by a pass; the number of passes from this one on; the length left after the
            last one. Both must be of the same division of the length, so they are right for the text that follows.
    hash    GHASH so far: any 128 bits for each lane. The specification's Y is the sum of lane i / H^i.
    dead    counts as never written

A step from any such state must lead to such a state. The counters of kept and of moving cells are independent. A
cell with another value becomes dead, and the step is tried again, until nothing changes. So the remaining cells are
proved, however they were found. Then each exit starts from that state.
"""
from typing import NamedTuple

import spec
from induction import engine
from induction.engine import BOTH, PARTS, anew, find, instructions, text_named
from isa import x86
from run.kernels import AD, NONCE, SCRATCH, STATE, text_symbols
from run.packets import GCM, gcm_key, gcm_left, nonce_symbols
from spec.args import A, FIRST, LAST, WHOLE
from values import linear, terms
from values.terms import Unproved, add_modular, cat, const, cut, field_power, field_product, same, symbol

LONGEST = (1 << 36) - 32  # bytes of text, SP 800-38D, 5.2.1.1
ADS = (1, 13, 16, 40)


def longest(kernel):
    return min(LONGEST, (1 << kernel.isa.POINTER - 2) - 32)


class Shape(NamedTuple):
    flags: int = WHOLE
    opens: bool = False
    in_place: bool = False
    bits: int = 128
    j0: bool = False

    def __str__(self):
        more = (", any J0" if self.j0 else "") + (", in place" if self.in_place else "")
        return f"AES-{self.bits}, {'open' if self.opens else 'seal'}{PARTS[self.flags]}{more}"


class Part(engine.Part):
    def __init__(self, kernel, shape, texts, word, nonce_given, ad_bytes=0, done=None):
        """word: the last word of J0, or of the state's counter block, as an integer."""
        nonce_bytes = (12 if nonce_given else 16) if shape.flags & FIRST else 0
        super().__init__(kernel, shape, (GCM[0], nonce_bytes, GCM[2]), texts, done, ad_bytes, A["FLAG_NONCE"] if nonce_given else 0)
        memory, self.bytes, self.rest, cells = self.memory, None, None, gcm_key(kernel, shape.bits)[0]
        memory.cells.update(cells)
        self.schedule = spec.key_schedule(cat(*(symbol(f"key{i}", 32) for i in range(shape.bits // 32))))
        self.h = spec.field_element(spec.aes(self.schedule, const(0, 128)))
        self.j0 = cat(*nonce_symbols(), spec.reverse(word))
        memory.poke(NONCE, cut(self.j0, 0, 96 if nonce_given else 128))
        self.mask = spec.aes(self.schedule, self.j0) if shape.flags & FIRST else cat(*(symbol(f"mask{i}", 32) for i in range(4)))
        if not shape.flags & FIRST:
            memory.poke(STATE + A["GCM_STATE_Y"], cat(*(symbol(f"y before {i}", 32) for i in range(4))))
            memory.poke(STATE + A["GCM_STATE_COUNTER"], self.j0)
            memory.poke(STATE + A["GCM_STATE_MASK"], self.mask)

    def length(self, name, least):
        return linear.Base(name, least, longest(self.kernel), width=self.width)

    def text(self, name, size):
        """Puts text at the start of the input, and returns it."""
        if not size:
            return None
        text = text_named(name, size)
        self.memory.poke(self.source.address, text)
        return text

    def to_loop(self, place, name, ad_bytes, section):
        """Runs from the first instruction to the loop. Returns Y of the associated data."""
        if section:
            section.arguments(self)
            return section.through(self, place)
        ad = text_symbols(f"ad {name} ", ad_bytes)
        if ad:
            self.memory.poke(AD, ad)
        self.go(0, place)
        return spec.ghash(y_before(self.shape), self.h, ad)

    def begun(self, loop, y, text, done, hashed):
        """Requires the specification's text and GHASH where the loop begins."""
        result = spec.gcm_text(self.schedule, self.j0, 1 if self.shape.flags & FIRST else 0, cut(text, 0, 8 * done) if done else None)
        y = spec.ghash(y, self.h, cut(text if self.shape.opens else result, 0, 8 * hashed) if hashed else None)
        self.require(loop, result, y, "where the loop begins")

    def require(self, loop, result, y, where):
        self.expect("the text", self.target.address, result)
        if loop.hash_of(self) != y:
            raise Unproved(f"GHASH is not that of the specification {where}")

    def ended(self, state, place, result, y, lengths, blocks):
        """Runs from the loop to the end, and requires the specification's results."""
        self.go(place, None)
        self.left_behind()
        self.wiped(state.written)
        self.expect("the text", self.target.address, result)
        gcm_left(self, self.shape.flags, y, self.h, self.mask, [terms.extend(v, 64) for v in lengths], blocks)
        return self.machine.steps

    def enter(self, loop, state, places):
        """Sets the state where the loop begins. places: kind -> function of an offset. Returns GHASH so far."""
        places = {"in": lambda offset: self.source + offset, "out": lambda offset: self.target + offset, **places}
        self.put({cell: places[v[0]](v[1]) if isinstance(v, tuple) else v for cell, v in state.items()})
        self.change({cell: symbol(f"hash {i}", 32) for i, cell in enumerate(loop.hash_cells())})
        return loop.hash_of(self)

    def place_of(self, v, done):
        """Returns what v is relative to the text behind `done` bytes, as (kind, offset), or None if no place."""
        found = linear.place(v)
        if found is None:
            return None
        base, offset = found
        if base is self.source or base is self.target:
            return "in" if base is self.source else "out", offset - done
        if base is self.bytes:
            return "bytes", offset + done
        if self.rest and base.quotient == self.rest.rest[2]:
            return "steps", offset + (done >> base.quotient[2])
        return ("left" if base is self.rest and offset == 0 else "unknown"), 0


class Loop:
    """step: bytes of a pass. over: the fewest bytes that remain after the passes. register, lanes: the vector register
    of GHASH so far, and its number of lanes. passes: with fewer, a text may take another path."""

    part, passes = Part, 1  # passes: those of an exit
    places = "in", "out", "steps", "left"  # the kinds of places
    counts_bytes = False  # whether the remaining length is in bytes, with the pass that starts, or in passes
    first = None  # the first instruction of the loop
    arrivals = 1, 1  # how often it is reached before the induction starts, in the first part and in later ones
    before_ad = 0  # how often it is reached before the associated data

    def __init__(self, step, over, register, lanes, passes=2):
        self.step, self.register, self.lanes = step, register, lanes
        self.least = passes * step + over  # bytes of the shortest text that is proved
        self.blocks, self.lag = step // 16, step  # step of the counter; how far authentication is behind when sealing

    def hash_cells(self):
        """A block for each lane, with its bytes reversed."""
        return [("vector", self.register, i) for i in range(4 * self.lanes)]

    def hash_of(self, call):
        """Returns GHASH so far, as an element of the field."""
        cells = call.cells()
        words = [cells[c] for c in self.hash_cells()]
        inverse, factor, y = field_power(call.h, (1 << 128) - 2), 1, 0
        for i in range(self.lanes):
            lane = cat(*words[4 * i:4 * i + 4])
            if not lane.defined:
                raise Unproved("GHASH so far is not there")
            y ^= field_product(field_product(terms.X127, lane.image), factor)
            factor = field_product(factor, inverse)
        return y

    def head(self, kernel, shape=None):
        """Returns the start of the loop: the target of the longest jump back over AES rounds and products. The code is
        used only to find it; the proof shows that each pass reaches it once."""
        if kernel.head is None and self.first:
            kernel.head = find(kernel, self.first).address
        if kernel.head is None:
            jumps = [(i.address, i.operands[0].imm) for i in instructions(kernel) if i.mnemonic == "jne"]
            kernel.head = max((at - target, target) for at, target in jumps)[1]
        return kernel.head

    def word(self, shape):
        """Whether the call has a nonce of 12 bytes, and the last word of its J0 or counter block."""
        given = bool(shape.flags & FIRST) and not shape.j0
        return given, const(1, 32) if given else symbol("counter", 32)

    def continued(self, kernel, shape, word, name):
        """Runs to the loop with any counter."""
        return self.begin(kernel, shape, word, False, name=name)

    def begin(self, kernel, shape, word, given, residue=None, ad_bytes=0, name="a", section=None):
        """Runs from the first instruction to the loop. word: the counter of J0, or of the first block of a part.
        section: associated data of any length (ad.py)."""
        size = 3 * self.step
        call = Part(kernel, shape, regions(shape, size), word, given, ad_bytes)
        bytes_ = call.bytes = call.length("bytes", self.least)
        call.set(bytes=bytes_ + 0, total=bytes_ + 0, ad_bytes=const(ad_bytes, 64))
        text, place = call.text(name, size), self.head(kernel)
        y = call.to_loop(place, name, ad_bytes, section)
        for _ in range(self.arrivals[0 if shape.flags & FIRST else 1] - 1 - (self.before_ad if section else 0)):
            call.go(place, place)
        values, base, sign = (call.cells().values(), bytes_, -1) if self.counts_bytes else (call.machine.general, call.source, 1)
        done = call.done = max((sign * p[1] for v in values if (p := linear.place(v)) and p[0] is base), default=None)
        if done is None or not 0 <= done <= size or done % (16 if self.counts_bytes else self.step):
            raise Unproved(f"{done} bytes were read before the loop")
        call.begun(self, y, text, done, done - (0 if shape.opens else self.lag))
        call.rest = None if self.counts_bytes else self.rest_of(call)
        if self.least - done < self.step + (call.rest.least if call.rest else 0):
            raise Unproved("the loop begins with less than a pass")
        return call

    def rest_of(self, call):
        """Returns the length left after the loop: the remainder of the length's division by that of a pass."""
        for v in call.machine.general:
            found = linear.place(v)
            if found and found[0].rest and found[1] == 0:
                base, offset, (_, _, n) = found[0].rest
                if base is call.bytes and offset == 0 and 1 << n == self.step:
                    return found[0]
        raise Unproved("no cell tells the length left after the loop")


class Crypto32(Loop):
    """32-bit ARM: GHASH so far is in memory, with the bytes of each half reversed. Authentication is never behind."""

    places = "in", "out", "bytes"
    counts_bytes, first, arrivals, before_ad = True, "str r4, [r1, #0x154]", (2, 1), 1

    def __init__(self):
        self.step, self.lanes, self.blocks, self.lag, self.y = 128, 1, 8, 0, SCRATCH + 272
        self.least = 256

    def hash_cells(self):
        return [("memory", self.y + o) for o in (8, 12, 0, 4)]


LOOPS = {
    "sealane_aesgcm_aesni": Loop(128, 1, 11, 1, 3),
    "sealane_aesgcm_aesniavx": Loop(128, 1, 11, 1, 3),
    "sealane_aesgcm_avx2": Loop(256, 1, 11, 2),
    "sealane_aesgcm_avx512": Loop(512, 304, 19, 4, 3),
    "sealane_aesgcm_ce32": Crypto32(),
}


# Instructions of the loop that planted faults omit: (name of the fault, their text, which of them).
_EVERY = [("the passes are not counted", "dec"), ("a product of the loop is left out", ("pclmulqdq", "vpclmullqlqdq", "vpclmulqdq")),
          ("a round is left out", ("aesenc ", "vaesenc "), 9)]
_XMM = [("what is authenticated does not move", "sub r12"), ("the text does not move", "sub r8"), *_EVERY]
_WIDE = [("what is authenticated does not move", "add r10"), ("the text does not move", "add r8"), *_EVERY]
LEFT_OUT = {
    "sealane_aesgcm_aesni": _XMM, "sealane_aesgcm_aesniavx": _XMM, "sealane_aesgcm_avx2": _WIDE, "sealane_aesgcm_avx512": _WIDE,
    "sealane_aesgcm_ce32": [("the counter does not go on", "str r3, [r1, #0x148]"), ("the text does not move", "str r3, [r1, #0x13c]"),
                            ("the output does not move", "str r4, [r1, #0x140]"), ("the remaining length does not change", "str ip, [r1, #0x144]"),
                            ("a product is left out", "vmull.p64", 3), ("a round is left out", "aese.8", 9),
                            ("GHASH is not kept", "vst1.8 {d30, d31}, [r7]")],
}


def counter_block(word):
    return cat(*nonce_symbols(), spec.reverse(word))


def y_before(shape):
    return 0 if shape.flags & FIRST else spec.field_element(cat(*(symbol(f"y before {i}", 32) for i in range(4))))


def regions(shape, size):
    """The regions of input and output for a run of `size` bytes."""
    return [(0, size, True, shape.in_place)] if size else [], [] if shape.in_place or not size else [(0, size, True, True)]


def start(kernel, loop, shape, state, word, ahead, steps, left=None):
    """Starts a run at the loop, with `ahead` bytes of text from there on, behind any number. word: where the counters
    of moving cells begin. Returns the call, the earlier output that is not yet authenticated, and GHASH so far."""
    before = 0 if shape.opens else loop.lag
    earlier = [(-before, before, True, False)] if before else []
    source, target = regions(shape, ahead)
    if shape.in_place:
        source = earlier + source
    else:
        target = earlier + [(0, ahead, not shape.opens, True)]
    given, first = loop.word(shape)
    done = linear.Base("done", 0, longest(kernel), modulus=16, width=kernel.isa.POINTER)
    call = loop.part(kernel, shape, (source, target), first, given, 0, done)
    call.done = done
    number = lambda base: lambda offset: const(base + offset, call.width) if isinstance(base, int) else base + offset
    now = state.words.cells(word)
    cells = {cell: now[cell] if state.kinds[cell] == "moving" else v for cell, v in state.items()}
    y = call.enter(loop, cells, {"steps": number(steps), "left": number(left), "bytes": number(left)})
    waiting = text_named("before", before) if before else None
    if waiting:
        call.memory.poke(call.target.address - before, waiting)
    call.set(total=terms.extend(symbol("packet bytes", 61), 64), ad_bytes=terms.extend(symbol("ad bytes", 61), 64))
    return call, waiting, y


class Words:
    """The values of cells for each counter with which the loop may start a pass. The counter is given by its last
    byte, or None for any. A run that continues a packet at that counter has these values."""

    def __init__(self, kernel, loop, shape):
        self.kernel, self.loop, self.shape, self.memo = kernel, loop, shape, {}

    def word(self, last):
        return symbol("any counter", 32) if last is None else cat(const(last, 8), symbol("upper bytes of any counter", 24))

    def call(self, word):
        if word not in self.memo:
            call = self.loop.continued(self.kernel, self.shape, word, f"continued {len(self.memo)} ")
            self.memo[word] = call, call.cells()
        return self.memo[word][0]

    def cells(self, word):
        self.call(word)
        return self.memo[word][1]


def blocks_before(call):
    """The blocks from a call's counter to that of the loop."""
    return call.done // 16 + (1 if call.shape.flags & FIRST else 0)


class State(dict):
    """Cell -> value, or (kind, offset) of a place. kinds: of cells. skipped: blocks from the counter of a word to the
    loop. written: addresses in scratch. by_residue: the values of kept cells that depend on the length."""

    def __init__(self, words=None):
        super().__init__()
        self.words, self.kinds, self.written, self.by_residue = words, {}, set(), {}

    def keep(self, good):
        """Removes the cells for which good(cell, value) is false. Returns whether there are such."""
        wrong = [cell for cell, v in self.items() if not good(cell, v)]
        for cell in wrong:
            del self[cell]
        return bool(wrong)

    def arrive(self, call, exact, found, differing=None):
        """Keeps the cells that a call has where the loop begins. exact: the values of moving ones. differing: collects
        kept cells with another value."""
        def good(cell, v):
            new, kind = found.get(cell, terms.undefined(32)), self.kinds[cell]
            if kind == "place":
                return call.place_of(new, call.done) == v
            if new.defined and same(new, exact[cell] if kind == "moving" else v):
                return True
            if kind == "kept" and differing is not None and linear.place(new) is None:
                differing.add(cell)
                return True
            return False
        self.writes(call)
        return self.keep(good)

    def writes(self, call):
        self.written |= {cell[1] for cell in call.cells() if cell[0] == "memory"}


def next_word(word, blocks):
    """A later counter. Its last byte is a constant if that of word is."""
    return add_modular(word, const(blocks, 32))


def induction(kernel, loop, shape, residues=(None,), lasts=(None,), blocks=None, section=None):
    """Finds the kept cells, by as many steps as necessary. residues: of the text's length; lasts: of counters, their
    last bytes (gcm_ce.py). section: includes associated data of any length (ad.py). Returns the state, without dead
    cells, and the numbers of cases and instructions."""
    words, (given, word) = Words(kernel, loop, shape), loop.word(shape)
    state, x, calls, place = State(words), words.word(lasts[0]), [], loop.head(kernel, shape)
    state.skipped = blocks_before(words.call(x))
    if given and not shape.flags & FIRST:
        word = x
    for i, residue in enumerate(residues):
        ads = [(n, None) for n in (ADS if shape.flags & FIRST and i == 0 else ())] + ([(0, section)] if section else [])
        for ad_bytes, any_ in [*ads, (0, None)]:
            call = loop.begin(kernel, shape, word, given, residue, ad_bytes, section=any_)
            calls.append((call, call.cells(), next_word(word, blocks_before(call) - state.skipped)))
            if residue is None and call.done != words.call(x).done:
                raise Unproved("how far the first pass goes depends on the counter or on associated data")
    called, first, exact = calls[-1]
    state.rest, kinds, hash_cells, steps = called.rest, state.kinds, set(loop.hash_cells()), sum(call.machine.steps for call, *_ in calls)
    # Also with other upper bytes.
    moved, further, exact = words.cells(x), words.cells(next_word(x, 3 << 8 | 8)), words.cells(exact)
    for cell, v in first.items():
        if cell in hash_cells or not v.defined:
            continue
        at, other = called.place_of(v, called.done), moved.get(cell)
        if at is not None:
            if at[0] in loop.places:
                state[cell], kinds[cell] = at, "place"
        elif other is not None and other.defined and linear.place(other) is None and same(v, exact.get(cell, terms.undefined(1))) and \
                not (v is other and same(v, further[cell])):
            state[cell], kinds[cell] = v, "moving"
        else:
            state[cell], kinds[cell] = v, "kept"
    # A kept cell may have another value for each class of lengths.
    differing, kept_of = set() if len(residues) > 1 else None, {}
    for call, found, at in calls:
        state.arrive(call, words.cells(at), found, differing)
    for call, found, _ in calls if differing else ():
        mine, old = {c: found[c] for c in differing if c in found}, kept_of.get(call.bytes.of[0])
        if old is not None:  # with associated data, and without
            mine = {c: v for c, v in mine.items() if c in old and old[c].defined and same(old[c], v)}
        kept_of[call.bytes.of[0]] = mine
    # A cell is undefined if it has not been written, or differs with associated data. In a step, it has any value, and
    # must keep it.
    for cell in differing or ():
        width = first[cell].width
        for r in residues:
            state.by_residue.setdefault(r, {})[cell] = kept_of[r].get(cell, terms.undefined(width))
        state[cell], kinds[cell] = symbol(f"kept {cell}", width), "kept"
    begun, changed = [found for _, found, _ in calls], True
    number = linear.Base("steps", loop.passes + 1, LONGEST >> 4)
    rest = called.rest
    left = linear.Base("left", rest.least, rest.most) if rest else called.length("left", 2 * loop.step)
    while changed:
        changed, cases = False, len(calls)
        for last in lasts:
            word = words.word(last)
            now, following = words.cells(word), words.cells(next_word(word, blocks or loop.blocks))
            call, waiting, y = start(kernel, loop, shape, state, word, loop.step, number, left)
            text = call.text("now", loop.step)
            call.set(bytes=call.length("any bytes", loop.step) + 0)
            call.go(place, place)
            steps, cases, after, unmoved = steps + call.machine.steps, cases + 1, call.cells(), []
            after_pass = {"in": (call.source, loop.step), "out": (call.target, loop.step), "steps": (number, -1), "left": (left, 0),
                          "bytes": (left, -loop.step)}

            def good(cell, v):
                new, kind = after.get(cell, terms.undefined(32)), kinds[cell]
                if kind == "place":
                    base, by = after_pass[v[0]]
                    return linear.place(new) == (base, v[1] + by)
                if new.defined and same(new, following[cell] if kind == "moving" else v):
                    return True
                if kind == "moving" and new is now[cell] and all(same(cells.get(cell, terms.undefined(1)), v) for cells in begun):
                    unmoved.append(cell)  # it equaled the value of a continuing run by chance
                    return True
                return False
            changed |= state.keep(good) or bool(unmoved)
            kinds.update(dict.fromkeys(unmoved, "kept"))
            state.writes(call)
            result = spec.gcm_text(call.schedule, counter_block(word), state.skipped, text)
            call.require(loop, result, spec.ghash(y, call.h, text if shape.opens else waiting if loop.lag else result), "after a pass")
    if not any(kinds[cell] == "place" and v[0] in ("steps", "bytes") for cell, v in state.items()):
        raise Unproved("nothing counts the passes")
    return state, cases, steps


def leave(kernel, loop, shape, state, rest):
    """Proves the run of one more pass, and `rest` bytes, to the end."""
    n, x = loop.step + rest, state.words.word(None)
    call, waiting, y = start(kernel, loop, shape, state, x, n, 1, n if loop.counts_bytes else rest)
    text = call.text("now", n)
    result = spec.gcm_text(call.schedule, counter_block(x), state.skipped, text)
    total = call.length("total", n)
    packet = total + 0 if kernel.isa is x86 else symbol("packet bytes", 61)
    call.set(bytes=total + 0, total=packet)
    y = spec.ghash(spec.ghash(y, call.h, waiting), call.h, text if shape.opens else result)
    # The counter of the loop plus the rest, or that at the call's start plus its blocks: both are the same number.
    moving = spec.counter_block(counter_block(x), n // 16 + state.skipped)
    _, word = loop.word(shape)
    more = const(1 if shape.flags & FIRST else 0, 32)
    counted = add_modular(add_modular(word, cut(linear.shift(total + 0, 4, True), 0, 32)), more) if not shape.flags & LAST else word
    return call.ended(state, loop.head(kernel), result, y, (symbol("ad bytes", 61), packet), [counter_block(counted), moving])


# ---- All of it -----------------------------------------------------------------------------------------------------------

SHAPES = [Shape(opens=o) for o in BOTH] + [Shape(opens=o, bits=b, in_place=b == 256) for b in (192, 256) for o in BOTH] + \
    [Shape(opens=o, j0=True) for o in BOTH] + [Shape(f, opens=o, j0=j) for f in (FIRST, 0, LAST) for o in BOTH for j in ((False, True)
                                                                                                                    if f == FIRST else (True,))]


def rests(loop, shape, state, quick):
    """The remaining bytes for which an exit is run. With keys of 128 bits and separate output, whole packets and last
    parts have every possible number; other ones have some. Parts before others have multiples of 64 bytes."""
    low, high = (state.rest.least, state.rest.most) if state.rest else (0, loop.step - 1)
    if not shape.flags & LAST:
        return [n for n in range(low, high + 1) if n % 64 == 0]
    few = sorted({low, low + 1, 16, 63, 64, 65, (low + high) // 2, high - 1, high} & set(range(low, high + 1)))
    if quick:
        return few[2::3]
    return range(low, high + 1) if shape.bits == 128 and not shape.in_place else few


def least(kernel):
    return LOOPS[kernel.name].least if kernel.name in LOOPS else None


def tasks(kernel, args):
    """The tasks. The first two shapes have the most exits."""
    return [(str(SHAPES[i]), i, part, parts) for i in ((0, 3, 10) if args.quick else range(len(SHAPES)))
            for parts in (1 if args.quick or i > 1 else 4,) for part in range(parts)]


def one(kernel, task, args, found):
    _, number, part, of = task
    loop, shape = LOOPS[kernel.name], SHAPES[number]
    anew()
    state, cases, steps = induction(kernel, loop, shape)
    found.add(0 if part else cases, steps)
    for rest in list(rests(loop, shape, state, args.quick))[part::of]:
        if len(terms.ATOMS) > 600_000:
            anew()
            state, _, _ = induction(kernel, loop, shape)
        found.end(f"{rest} bytes left", leave, kernel, loop, shape, state, rest)


def planted(kernel, args, attempt):
    right = LOOPS[kernel.name]

    def wrong(what, insn=None, before=anew, **change):
        loop = engine.changed(right, **change)

        def show():
            before()
            for shape in (Shape(), Shape(opens=True)):
                state, _, _ = induction(kernel, loop, shape)
                leave(kernel, loop, shape, state, rests(loop, shape, state, False)[1])
        attempt(what, show, insn)

    def counted_twice():
        anew()
        program = kernel.program()
        place = [i.address for i in instructions(kernel) if i.address < right.head(kernel) and i.mnemonic == "dec"][-1]
        once, *more = program.meaning(program.code, place)
        program.steps[place] = (lambda m: (once(m), once(m)), *more)

    wrong("the counter goes on by one block more", blocks=right.blocks + 1)
    wrong("a pass has 16 bytes more", step=right.step + 16)
    wrong("authentication is another block behind", lag=right.lag - 16 if right.lag else 16)
    if kernel.isa is x86:
        wrong("the pass before the loop counts as two", before=counted_twice)
        wrong("GHASH is in another register", register=right.register - 2)
        wrong("GHASH is in another number of lanes", lanes={1: 2, 2: 4, 4: 1}[right.lanes])
    else:
        wrong("GHASH is elsewhere", y=right.y + 16)
    for what, text, *number in LEFT_OUT[kernel.name]:
        wrong(what, find(kernel, text, *number, behind=right.head(kernel)))
