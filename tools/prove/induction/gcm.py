"""AES-GCM, for every length: the loop of a kernel over long texts, by induction.

    induction.gcm [--quick] [--planted] [--jobs N] OBJECT...

As in chacha_x86.py, there are base, step and exit. But here the invariant is computed, and then proved. A cell is a
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
    of GHASH so far, and its number of lanes. behind: the register that determines what is authenticated next, for
    planted faults. passes: with fewer, a text may take another path."""

    counts_bytes = False  # whether the remaining length is in bytes, with the pass that starts, or in passes
    begin = None  # the first instruction of the loop
    arrivals = 1, 1  # how often it is reached before the induction starts, in the first part and in later ones
    before_ad = 0  # how often it is reached before the associated data

    def __init__(self, step, over, register, lanes, behind, passes=2):
        self.step, self.register, self.lanes, self.behind = step, register, lanes, behind
        self.least = passes * step + over  # bytes of the shortest text that is proved
        self.blocks, self.lag = step // 16, step  # step of the counter; how far authentication is behind when sealing

    def hash_cells(self):
        """A block for each lane, with its bytes reversed."""
        return [("vector", self.register, i) for i in range(4 * self.lanes)]


class Crypto32(Loop):
    """32-bit ARM: GHASH so far is in memory, with the bytes of each half reversed. Authentication is never behind."""

    counts_bytes, begin, arrivals, before_ad = True, "str r4, [r1, #0x154]", (2, 1), 1

    def __init__(self):
        self.step, self.lanes, self.blocks, self.lag, self.y = 128, 1, 8, 0, SCRATCH + 272
        self.least = 256

    def hash_cells(self):
        return [("memory", self.y + o) for o in (8, 12, 0, 4)]


LOOPS = {
    "sealane_aesgcm_aesni": Loop(128, 1, 11, 1, "r12", 3),
    "sealane_aesgcm_aesniavx": Loop(128, 1, 11, 1, "r12", 3),
    "sealane_aesgcm_avx2": Loop(256, 1, 11, 2, "r10"),
    "sealane_aesgcm_avx512": Loop(512, 304, 19, 4, "r10", 3),
    "sealane_aesgcm_ce32": Crypto32(),
}


# For ARM: instructions after the start of the loop that planted faults omit: (name of the fault, mnemonic, operands,
# which of them).
LEFT_OUT = {
    "sealane_aesgcm_ce32": [("the counter does not go on", "str", "[r1, #0x148]", 0), ("the text does not move", "str", "r3, [r1, #0x13c]", 0),
                            ("the output does not move", "str", "r4, [r1, #0x140]", 0), ("the remaining length does not change", "str", "ip, [r1, #0x144]", 0),
                            ("a product is left out", "mull.p64", "", 3), ("a round is left out", "aese.8", "", 9),
                            ("GHASH is not kept", "st1.8", "[r7]", 0)],
}


def head(kernel):
    """Returns the start of the loop: the target of the longest jump back over AES rounds and products. The code is
    used only to find it; the proof shows that each pass reaches it once."""
    if kernel.head is None and LOOPS[kernel.name].begin:
        kernel.head = find(kernel, LOOPS[kernel.name].begin).address
    if kernel.head is None:
        pc, found = 0, []
        while pc < len(kernel.code):
            insn = kernel.isa.decode(kernel.code, pc)
            if insn.mnemonic == "jne" and insn.operands[0].imm < pc:
                found.append((pc - insn.operands[0].imm, insn.operands[0].imm))
            pc += insn.size
        kernel.head = max(found)[1]
    return kernel.head


class Shape(NamedTuple):
    flags: int = WHOLE
    opens: bool = False
    in_place: bool = False
    bits: int = 128
    j0: bool = False

    def __str__(self):
        return f"AES-{self.bits}, {'open' if self.opens else 'seal'}{PARTS[self.flags]}{', any J0' if self.j0 else ''}{', in place' if self.in_place else ''}"


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

    def hash_of(self, loop):
        """Returns GHASH so far, as an element of the field."""
        cells = self.cells()
        words = [cells[c] for c in loop.hash_cells()]
        inverse, factor, y = field_power(self.h, (1 << 128) - 2), 1, 0
        for i in range(loop.lanes):
            lane = cat(*words[4 * i:4 * i + 4])
            if not lane.defined:
                raise Unproved("GHASH so far is not there")
            y ^= field_product(field_product(terms.X127, lane.image), factor)
            factor = field_product(factor, inverse)
        return y


def begin(kernel, loop, shape, word, nonce_given, name, ad_bytes=0, section=None):
    """Runs from the first instruction to the loop. section: associated data of any length (ad.py). Returns the call,
    and the number of output bytes."""
    opens, size = shape.opens, 3 * loop.step
    texts = [(0, size, True, shape.in_place)], [] if shape.in_place else [(0, size, True, True)]
    call = Part(kernel, shape, texts, word, nonce_given, ad_bytes)
    bytes_ = call.bytes = call.length("bytes", loop.least)
    call.set(bytes=bytes_ + 0, total=bytes_ + 0, ad_bytes=const(ad_bytes, 64))
    text, ad = text_named(name, size), text_symbols(f"ad {name} ", ad_bytes)
    if ad:
        call.memory.poke(AD, ad)
    call.memory.poke(call.source.address, text)
    place = head(kernel)
    if section:
        section.arguments(call)
        behind_ad = section.through(call, place)
    else:
        call.kernel.program().run(call.machine, None, 0, place)
    for _ in range(loop.arrivals[0 if shape.flags & FIRST else 1] - 1 - (loop.before_ad if section else 0)):
        call.kernel.program().run(call.machine, None, place, place)
    if loop.counts_bytes:
        done = [-p[1] for v in call.cells().values() if (p := linear.place(v)) and p[0] is bytes_]
        done = max(done, default=None)
    else:
        done = max((p[1] for v in call.machine.general if (p := linear.place(v)) and p[0] is call.source), default=None)
    if done is None or not 0 <= done <= size or done % (16 if loop.counts_bytes else loop.step):
        raise Unproved(f"{done} bytes were read before the loop")
    result = spec.gcm_text(call.schedule, call.j0, 1 if shape.flags & FIRST else 0, cut(text, 0, 8 * done) if done else None)
    call.expect("the text", call.target.address, result)
    y = behind_ad if section else spec.ghash(0, call.h, ad) if shape.flags & FIRST else \
        spec.field_element(cat(*(symbol(f"y before {i}", 32) for i in range(4))))
    hashed = done - (0 if opens else loop.lag)
    y = spec.ghash(y, call.h, cut(text if opens else result, 0, 8 * hashed) if hashed else None)
    if call.hash_of(loop) != y:
        raise Unproved("GHASH is not that of the specification where the loop begins")
    return call, done


def start(kernel, loop, shape, state, ahead, name, steps, left, nonce_given, kept_word, moving_word):
    """Starts a run at the loop, with `ahead` bytes of text from there on. Returns the call, the earlier output that is
    not yet authenticated, the text, its specification and GHASH so far."""
    opens = shape.opens
    before = 0 if opens else loop.lag
    if shape.in_place:
        texts = ([(-before, before, True, False)] if before else []) + [(0, ahead, True, True)], []
    else:
        texts = [(0, ahead, True, False)], ([(-before, before, True, False)] if before else []) + [(0, ahead, not opens, True)]
    call = Part(kernel, shape, texts, kept_word, nonce_given)
    cells = {}
    for cell, v in state.items():
        if isinstance(v, tuple):
            kind, offset = v
            v = {"in": call.source, "out": call.target}[kind] + offset if kind in ("in", "out") else steps if kind == "steps" else \
                const(left + offset, call.width) if isinstance(left, int) else left + offset if kind == "bytes" else left
        cells[cell] = v
    call.put(cells)
    call.change({cell: symbol(f"hash {i}", 32) for i, cell in enumerate(loop.hash_cells())})
    y = call.hash_of(loop)
    waiting = text_named("before", before) if before else None
    if waiting:
        call.memory.poke(call.target.address - before, waiting)
    text = text_named(name, ahead)
    call.memory.poke(call.source.address, text)
    blocks = state.done // 16
    moving = cat(*nonce_symbols(), spec.reverse(moving_word))
    result = spec.gcm_text(call.schedule, moving, blocks + (1 if shape.flags & FIRST else 0), text)
    return call, waiting, text, result, y


class State(dict):
    """Cell -> value, or (kind, offset) of a place. done: bytes before it in the first run. written: addresses in
    scratch."""


def place_of(call, v, done):
    found = linear.place(v)
    if found is None:
        return None
    base, offset = found
    if base is call.source:
        return "in", offset - done
    if base is call.target:
        return "out", offset - done
    if base is call.bytes:
        return "bytes", offset + done
    if base.quotient:
        return "steps", None
    if base.rest and offset == 0:
        return "left", None
    return "unknown", None


def instances(kernel, loop, shape, blocks):
    """Makes the first runs: as called; with any counter X; with X + blocks; and with the J0 of a 12-byte nonce, if the
    call has one."""
    given = bool(shape.flags & FIRST) and not shape.j0
    x, one = symbol("any counter", 32), const(1, 32)
    called = begin(kernel, loop, shape, one if given else symbol("counter", 32), given, "a")
    any_ = begin(kernel, loop, shape, x, False, "b")
    more = begin(kernel, loop, shape, add_modular(x, const(blocks, 32)), False, "c")
    instance = begin(kernel, loop, shape, one, False, "d")[0] if given else None
    return called, any_, more, instance


def induction(kernel, loop, shape, blocks=None):
    """Finds the kept cells, by as many steps as necessary. Returns the state, without dead cells, and the number of
    instructions."""
    step_ = loop.step
    (called, done), (any_, done2), (more, done3), instance = instances(kernel, loop, shape, blocks or loop.blocks)
    if not done == done2 == done3:
        raise Unproved("how far the first pass goes depends on the counter")
    first, moved, moved_more = called.cells(), any_.cells(), more.cells()
    actual = instance.cells() if instance else None
    state = State()
    kind = state.kind = {}
    state.done, state.first = done, first
    state.written = {cell[1] for cell in first if cell[0] == "memory"}
    hash_cells = set(loop.hash_cells())
    for cell, v in first.items():
        if cell in hash_cells or not v.defined:
            continue
        place = place_of(called, v, done)
        other = moved.get(cell)
        if place is not None:
            if place[0] != "unknown" and other is not None and place_of(any_, other, done) == place:
                state[cell], kind[cell] = place, "place"
        elif other is None or not other.defined or v is other:
            state[cell], kind[cell] = v, "kept"
        elif linear.place(other) is None and (actual is None or same(v, actual.get(cell, terms.undefined(1)))):
            state[cell], kind[cell] = other, "moving"
        else:
            state[cell], kind[cell] = v, "kept"
    steps, left = called.length("steps", 2), called.length("left", 2 * step_) if loop.counts_bytes else linear.Base("left", *rest_bounds(called))
    instructions = called.machine.steps
    for ad_bytes in ADS if shape.flags & FIRST else ():
        instructions += with_ad(kernel, loop, shape, state, kind, ad_bytes)
    given = bool(shape.flags & FIRST) and not shape.j0
    word = const(1, 32) if given else symbol("counter", 32)
    while True:
        call, waiting, text, result, y = start(kernel, loop, shape, state, step_, "now", steps + 0, left if loop.counts_bytes else left + 0, given,
                                               word, symbol("any counter", 32))
        total = call.length("total", step_)
        call.set(bytes=total + 0, total=total + 0, ad_bytes=symbol("ad bytes", 64))
        place = head(kernel)
        kernel.program().run(call.machine, None, place, place)
        instructions += call.machine.steps
        after, changed = call.cells(), False
        for cell, v in list(state.items()):
            new = after[cell]
            if kind[cell] == "place":
                what, offset = v
                found = linear.place(new)
                base, at = {"in": (call.source, offset), "out": (call.target, offset), "steps": (steps, -1), "left": (left, 0),
                            "bytes": (left, offset)}[what]
                good = found == (base, at + {"in": step_, "out": step_, "bytes": -step_}.get(what, 0))
            elif kind[cell] == "moving":
                good = new.defined and (new is moved_more[cell] or same(new, moved_more[cell]))
                if not good and new is v:
                    state[cell], kind[cell], changed = first[cell], "kept", True
                    continue
            else:
                good = new is v
            if not good:
                del state[cell]
                changed = True
        state.written |= {cell[1] for cell in after if cell[0] == "memory"}
        if not changed:
            break
    call.expect("the text", call.target.address, result)
    y = spec.ghash(y, call.h, text if shape.opens else waiting if loop.lag else result)
    if call.hash_of(loop) != y:
        raise Unproved("GHASH is not that of the specification after a pass")
    if not any(k == "place" and state[c][0] == ("bytes" if loop.counts_bytes else "steps") for c, k in kind.items() if c in state):
        raise Unproved("nothing counts the passes")
    state.rests = (0, step_ - 1) if loop.counts_bytes else rest_bounds(called)
    return state, instructions


def with_ad(kernel, loop, shape, state, kind, ad_bytes, section=None):
    """Runs a call with associated data. Cells with other values than without them become dead."""
    given = not shape.j0
    word = const(1, 32) if given else symbol("counter", 32)
    call, done = begin(kernel, loop, shape, word, given, "a", ad_bytes, section)
    if done != state.done:
        raise Unproved("how far the first pass goes depends on the associated data")
    found = call.cells()
    for cell, v in list(state.items()):
        if not (place_of(call, found[cell], done) == v if kind[cell] == "place" else same(found[cell], state.first[cell])):
            del state[cell]
    state.written |= {cell[1] for cell in found if cell[0] == "memory"}
    return call.machine.steps


def rest_bounds(call):
    for v in call.machine.general:
        found = linear.place(v)
        if found and found[0].rest and found[1] == 0:
            return found[0].least, found[0].most
    raise Unproved("no cell tells the length left after the loop")


def leave(kernel, loop, shape, state, rest):
    """Proves the run of one more pass, and `rest` bytes, to the end."""
    opens, n = shape.opens, loop.step + rest
    given = bool(shape.flags & FIRST) and not shape.j0
    word = const(1, 32) if given else symbol("counter", 32)
    call, waiting, text, result, y = start(kernel, loop, shape, state, n, "now", const(1, 64), n if loop.counts_bytes else const(rest, 64), given,
                                           word, symbol("any counter", 32))
    total = call.length("total", n)
    ad_bytes, packet = symbol("ad bytes", 61), total + 0 if kernel.isa is x86 else symbol("packet bytes", 61)
    call.set(bytes=total + 0, total=packet, ad_bytes=terms.extend(ad_bytes, 64))
    kernel.program().run(call.machine, None, head(kernel), None)
    call.left_behind()
    call.wiped(state.written)
    call.expect("the text", call.target.address, result)
    y = spec.ghash(y, call.h, waiting)
    y = spec.ghash(y, call.h, text if opens else result)
    # The counter of the loop plus the rest, or that at the call's start plus its blocks: both are the same number.
    more = 1 if shape.flags & FIRST else 0
    moving = spec.counter_block(cat(*nonce_symbols(), spec.reverse(symbol("any counter", 32))), (state.done + n) // 16 + more)
    counted = add_modular(add_modular(word, cut(linear.shift(total + 0, 4, True), 0, 32)), const(more, 32)) if not shape.flags & LAST else word
    gcm_left(call, shape.flags, y, call.h, call.mask, (terms.extend(ad_bytes, 64), terms.extend(packet, 64)),
             [cat(cut(call.j0, 0, 96), spec.reverse(counted)), cat(cut(call.j0, 0, 96), cut(moving, 96, 32))])
    return call.machine.steps


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
    right, after = LOOPS[kernel.name], {}
    for insn in instructions(kernel, head(kernel)):
        after.setdefault(insn.mnemonic.removeprefix("v"), []).append(insn)

    def wrong(what, insn=None, **change):
        loop = engine.changed(right, **change)

        def show():
            anew()
            for shape in (Shape(), Shape(opens=True)):
                state, _ = induction(kernel, loop, shape)
                leave(kernel, loop, shape, state, state.rests[0] + 1)
        attempt(what, show, insn)

    def one_of(mnemonic, text="", number=0):
        return [i for i in after[mnemonic] if text in i.op_str][number]

    wrong("the counter goes on by one block more", blocks=right.blocks + 1)
    wrong("a pass has 16 bytes more", step=right.step + 16)
    if kernel.isa is not x86:
        wrong("authentication is a block behind", lag=16)
        wrong("GHASH is elsewhere", y=right.y + 16)
        for what, *which in LEFT_OUT[kernel.name]:
            wrong(what, one_of(*which))
        return
    wrong("authentication is a block less behind", lag=right.lag - 16)
    wrong("GHASH is in another register", register=right.register - 2)
    wrong("GHASH is in twice as many lanes" if right.lanes < 4 else "GHASH is in one lane", lanes=2 if right.lanes == 1 else 4 if right.lanes == 2 else 1)
    wrong("what is authenticated does not move", one_of("sub" if right.step == 128 else "add", right.behind))
    wrong("the text does not move", one_of("sub" if right.step == 128 else "add", "r8"))
    wrong("the passes are not counted", one_of("dec"))
    wrong("a product of the loop is left out", one_of("pclmulqdq" if "pclmulqdq" in after else "pclmullqlqdq"))
    wrong("a round is left out", one_of("aesenc", number=9))
