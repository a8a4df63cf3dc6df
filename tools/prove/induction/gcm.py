"""AES-GCM, for every length: the loop of a kernel over long texts, by induction.

    induction.gcm [--quick] [--planted] [--jobs N] OBJECT...

As in chacha_loop.py, there are base, step and exit, and the invariant is computed, and then proved. A cell is a
register, a word of a vector register, a mask register, or four bytes of scratch or stack. The loop starts at the
target of its last jump. There a cell is one of these:

    kept    as the run from the first instruction left it
    moving  the value in that run if the counter is any X; after a pass, the value if the counter is X + n, where n is
            the number of blocks of a pass
    place   a pointer to text, which moves by a pass; the number of further passes minus one; the length left after the
            last one
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


class Loop:
    """step: bytes of a pass. over: the fewest bytes that remain after the passes. register, lanes: the vector register
    of GHASH so far, and its number of lanes. passes: with fewer, a text may take another path."""

    counts_bytes = False  # whether the remaining length is in bytes, with the pass that starts, or in passes
    begin = None  # the first instruction of the loop
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


class Crypto32(Loop):
    """32-bit ARM: GHASH so far is in memory, with the bytes of each half reversed. Authentication is never behind."""

    counts_bytes, begin, arrivals, before_ad = True, "str r4, [r1, #0x154]", (2, 1), 1

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


def head(kernel):
    """Returns the start of the loop: the target of the longest jump back over AES rounds and products. The code is
    used only to find it; the proof shows that each pass reaches it once."""
    if kernel.head is None and (begin := LOOPS[kernel.name].begin):
        kernel.head = find(kernel, begin).address
    if kernel.head is None:
        jumps = [(i.address, i.operands[0].imm) for i in instructions(kernel) if i.mnemonic == "jne"]
        kernel.head = max((at - target, target) for at, target in jumps)[1]
    return kernel.head


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
        memory, self.bytes, cells = self.memory, None, gcm_key(kernel, shape.bits)[0]
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

    def length(self, name, least, most=LONGEST):
        return linear.Base(name, least, min(most, (1 << self.width - 2) - 32), width=self.width)

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
        if base.quotient:
            return "steps", offset
        return ("left" if base.rest and offset == 0 else "unknown"), 0


def counter_block(word):
    return cat(*nonce_symbols(), spec.reverse(word))


def y_before(shape):
    return 0 if shape.flags & FIRST else spec.field_element(cat(*(symbol(f"y before {i}", 32) for i in range(4))))


def regions(shape, size):
    """The regions of input and output for a run of `size` bytes."""
    return [(0, size, True, shape.in_place)] if size else [], [] if shape.in_place or not size else [(0, size, True, True)]


def first_counter(shape):
    """Whether the call has a nonce of 12 bytes, and the last word of its J0 or counter block."""
    given = bool(shape.flags & FIRST) and not shape.j0
    return given, const(1, 32) if given else symbol("counter", 32)


def begin(kernel, loop, shape, word, nonce_given, name, ad_bytes=0, section=None):
    """Runs from the first instruction to the loop. section: associated data of any length (ad.py). Returns the call,
    and the number of output bytes."""
    size = 3 * loop.step
    call = Part(kernel, shape, regions(shape, size), word, nonce_given, ad_bytes)
    bytes_ = call.bytes = call.length("bytes", loop.least)
    call.set(bytes=bytes_ + 0, total=bytes_ + 0, ad_bytes=const(ad_bytes, 64))
    text, place = call.text(name, size), head(kernel)
    y = call.to_loop(place, name, ad_bytes, section)
    for _ in range(loop.arrivals[0 if shape.flags & FIRST else 1] - 1 - (loop.before_ad if section else 0)):
        call.go(place, place)
    values, base, sign = (call.cells().values(), bytes_, -1) if loop.counts_bytes else (call.machine.general, call.source, 1)
    done = max((sign * p[1] for v in values if (p := linear.place(v)) and p[0] is base), default=None)
    if done is None or not 0 <= done <= size or done % (16 if loop.counts_bytes else loop.step):
        raise Unproved(f"{done} bytes were read before the loop")
    call.begun(loop, y, text, done, done - (0 if shape.opens else loop.lag))
    return call, done


def start(kernel, loop, shape, state, ahead, steps, left):
    """Starts a run at the loop, with `ahead` bytes of text from there on. Returns the call, the earlier output that is
    not yet authenticated, the text, its specification and GHASH so far."""
    before = 0 if shape.opens else loop.lag
    earlier = [(-before, before, True, False)] if before else []
    source, target = regions(shape, ahead)
    if shape.in_place:
        source = earlier + source
    else:
        target = earlier + [(0, ahead, not shape.opens, True)]
    given, word = first_counter(shape)
    call = Part(kernel, shape, (source, target), word, given)
    y = call.enter(loop, state, {"steps": lambda _: steps, "left": lambda _: left,
                                 "bytes": lambda offset: const(left + offset, call.width) if isinstance(left, int) else left + offset})
    waiting = text_named("before", before) if before else None
    if waiting:
        call.memory.poke(call.target.address - before, waiting)
    text = call.text("now", ahead)
    moving = counter_block(symbol("any counter", 32))
    result = spec.gcm_text(call.schedule, moving, state.done // 16 + (1 if shape.flags & FIRST else 0), text)
    return call, waiting, text, result, y


class State(dict):
    """Cell -> value, or (kind, offset) of a place. kinds: of cells. done: bytes before it in the first run. written:
    addresses in scratch."""

    def __init__(self):
        super().__init__()
        self.kinds, self.written = {}, set()

    def keep(self, good):
        """Removes the cells for which good(cell, value) is false. Returns whether there are such."""
        wrong = [cell for cell, v in self.items() if not good(cell, v)]
        for cell in wrong:
            del self[cell]
        return bool(wrong)

    def writes(self, call):
        self.written |= {cell[1] for cell in call.cells() if cell[0] == "memory"}


def induction(kernel, loop, shape, blocks=None):
    """Finds the kept cells, by as many steps as necessary. Returns the state, without dead cells, and the number of
    instructions."""
    given, word = first_counter(shape)
    x, step = symbol("any counter", 32), loop.step
    # As called; with any counter X; with X + blocks; and with the J0 of a 12-byte nonce, if the call has one.
    called, done = begin(kernel, loop, shape, word, given, "a")
    any_, done2 = begin(kernel, loop, shape, x, False, "b")
    more, done3 = begin(kernel, loop, shape, add_modular(x, const(blocks or loop.blocks, 32)), False, "c")
    if not done == done2 == done3:
        raise Unproved("how far the first pass goes depends on the counter")
    first, moved, moved_more = called.cells(), any_.cells(), more.cells()
    actual = begin(kernel, loop, shape, word, False, "d")[0].cells() if given else None
    state = State()
    kind, state.done, state.first = state.kinds, done, first
    state.writes(called)
    hash_cells = set(loop.hash_cells())
    for cell, v in first.items():
        if cell in hash_cells or not v.defined:
            continue
        place, other = called.place_of(v, done), moved.get(cell)
        if place is not None:
            if place[0] != "unknown" and other is not None and any_.place_of(other, done) == place:
                state[cell], kind[cell] = place, "place"
        elif other is not None and other.defined and v is not other and linear.place(other) is None and \
                (actual is None or same(v, actual.get(cell, terms.undefined(1)))):
            state[cell], kind[cell] = other, "moving"
        else:
            state[cell], kind[cell] = v, "kept"
    steps = called.length("steps", 2)
    left = called.length("left", 2 * step) if loop.counts_bytes else linear.Base("left", *rest_bounds(called))
    instructions_, changed = called.machine.steps, True
    for ad_bytes in ADS if shape.flags & FIRST else ():
        instructions_ += with_ad(kernel, loop, shape, state, ad_bytes)
    while changed:
        call, waiting, text, result, y = start(kernel, loop, shape, state, step, steps + 0, left if loop.counts_bytes else left + 0)
        total = call.length("total", step)
        call.set(bytes=total + 0, total=total + 0, ad_bytes=symbol("ad bytes", 64))
        place = head(kernel)
        call.go(place, place)
        instructions_ += call.machine.steps
        after = call.cells()
        after_pass = {"in": (call.source, step), "out": (call.target, step), "steps": (steps, -1), "left": (left, 0), "bytes": (left, -step)}

        def good(cell, v):
            new = after[cell]
            if kind[cell] == "place":
                base, by = after_pass[v[0]]
                return linear.place(new) == (base, by + (v[1] if v[0] in ("in", "out", "bytes") else 0))
            if kind[cell] == "kept":
                return new is v
            if new.defined and same(new, moved_more[cell]):
                return True
            if new is v:
                unmoved.append(cell)
            return new is v
        unmoved = []
        changed = state.keep(good) or bool(unmoved)
        for cell in unmoved:
            state[cell], kind[cell] = first[cell], "kept"
        state.writes(call)
    call.require(loop, result, spec.ghash(y, call.h, text if shape.opens else waiting if loop.lag else result), "after a pass")
    if not any(kind[cell] == "place" and v[0] == ("bytes" if loop.counts_bytes else "steps") for cell, v in state.items()):
        raise Unproved("nothing counts the passes")
    state.rests = (0, step - 1) if loop.counts_bytes else rest_bounds(called)
    return state, instructions_


def with_ad(kernel, loop, shape, state, ad_bytes, section=None):
    """Runs a call with associated data. Cells with other values than without them become dead."""
    given, word = first_counter(shape)
    call, done = begin(kernel, loop, shape, word, given, "a", ad_bytes, section)
    if done != state.done:
        raise Unproved("how far the first pass goes depends on the associated data")
    found = call.cells()
    state.keep(lambda cell, v: call.place_of(found[cell], done) == v if state.kinds[cell] == "place" else same(found[cell], state.first[cell]))
    state.writes(call)
    return call.machine.steps


def rest_bounds(call):
    for v in call.machine.general:
        found = linear.place(v)
        if found and found[0].rest and found[1] == 0:
            return found[0].least, found[0].most
    raise Unproved("no cell tells the length left after the loop")


def leave(kernel, loop, shape, state, rest):
    """Proves the run of one more pass, and `rest` bytes, to the end."""
    n, more = loop.step + rest, 1 if shape.flags & FIRST else 0
    call, waiting, text, result, y = start(kernel, loop, shape, state, n, const(1, 64), n if loop.counts_bytes else const(rest, 64))
    total = call.length("total", n)
    ad_bytes, packet = symbol("ad bytes", 61), total + 0 if kernel.isa is x86 else symbol("packet bytes", 61)
    call.set(bytes=total + 0, total=packet, ad_bytes=terms.extend(ad_bytes, 64))
    y = spec.ghash(spec.ghash(y, call.h, waiting), call.h, text if shape.opens else result)
    # The counter of the loop plus the rest, or that at the call's start plus its blocks: both are the same number.
    moving = spec.counter_block(counter_block(symbol("any counter", 32)), (state.done + n) // 16 + more)
    _, word = first_counter(shape)
    counted = add_modular(add_modular(word, cut(linear.shift(total + 0, 4, True), 0, 32)), const(more, 32)) if not shape.flags & LAST else word
    return call.ended(state, head(kernel), result, y, (ad_bytes, packet), [counter_block(counted), moving])


# ---- All of it -----------------------------------------------------------------------------------------------------------

SHAPES = [Shape(opens=o) for o in BOTH] + [Shape(opens=o, bits=b, in_place=b == 256) for b in (192, 256) for o in BOTH] + \
    [Shape(opens=o, j0=True) for o in BOTH] + [Shape(f, opens=o, j0=j) for f in (FIRST, 0, LAST) for o in BOTH for j in ((False, True)
                                                                                                                    if f == FIRST else (True,))]


def rests(shape, state, quick):
    """The remaining bytes for which an exit is run. With keys of 128 bits and separate output, whole packets and last
    parts have every possible number; other ones have some. Parts before others have multiples of 64 bytes."""
    low, high = state.rests
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
    state, steps = induction(kernel, loop, shape)
    found.add(0 if part else 2 + (len(ADS) if shape.flags & FIRST else 0), steps)
    for rest in list(rests(shape, state, args.quick))[part::of]:
        if len(terms.ATOMS) > 600_000:
            anew()
            state, _ = induction(kernel, loop, shape)
        found.end(f"{rest} bytes left", leave, kernel, loop, shape, state, rest)


def planted(kernel, args, attempt):
    right = LOOPS[kernel.name]

    def wrong(what, insn=None, **change):
        loop = engine.changed(right, **change)

        def show():
            anew()
            for shape in (Shape(), Shape(opens=True)):
                state, _ = induction(kernel, loop, shape)
                leave(kernel, loop, shape, state, state.rests[0] + 1)
        attempt(what, show, insn)

    wrong("the counter goes on by one block more", blocks=right.blocks + 1)
    wrong("a pass has 16 bytes more", step=right.step + 16)
    wrong("authentication is another block behind", lag=right.lag - 16 if right.lag else 16)
    if kernel.isa is x86:
        wrong("GHASH is in another register", register=right.register - 2)
        wrong("GHASH is in another number of lanes", lanes={1: 2, 2: 4, 4: 1}[right.lanes])
    else:
        wrong("GHASH is elsewhere", y=right.y + 16)
    for what, text, *number in LEFT_OUT[kernel.name]:
        wrong(what, find(kernel, text, *number, behind=head(kernel)))
