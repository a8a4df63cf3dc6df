"""ChaCha20-Poly1305 on ARM, for every length: the loop of a kernel over long texts, by induction.

    induction.chacha_arm [--quick] [--planted] [--jobs N] [--queries FOLDER] OBJECT...

As in gcm.py, the invariant is computed, and then proved. A cell is a register, a word of a vector register, or four
bytes of scratch or stack. Where the loop starts again, a cell is one of these:

    kept    as the run from the first instruction left it
    moving  the value in a run from the first instruction that continues a packet at block X, where X is the first block
            of this pass: any 32-bit number. Runs that start a packet must have the value of such a run.
    place   a pointer to text, which moves by a pass; a pointer to the text of the call; or the remaining length
    limb    a limb of the accumulator: any number within a bound, which is computed too
    dead    counts as never written

    base    from the first instruction until the second or third pass of the loop, by classes of the length where
            necessary
    step    from any such state with enough remaining bytes. A cell that is not as required becomes dead, and the step
            is tried again.
    exit    from any such state, for each number of remaining bytes without such a step, to the return

On 32-bit ARM, lengths and pointers are 32-bit numbers.
"""

import spec
from induction import engine
from induction.engine import SHAPES, Way, anew, find, instructions, text_named
from isa import arm32, arm64
from run.kernels import AD, SCRATCH, text_symbols
from run.packets import CHACHA, chacha_left, h_before, key_symbols, put_chacha, residue
from spec.args import FIRST, LAST
from values import linear, terms
from values.terms import P, Unproved, add_modular, cat, const, cut, extend, same, symbol

LONGEST = {64: (1 << 38) - 64, 32: (1 << 30) - 64}  # bytes of text: RFC 8439, 2.8; half of the 32-bit address space
ADS = (1, 13, 16, 40)


def general(n):
    return "general", n


def scratch(offset):
    return "memory", SCRATCH + offset


class Loop:
    """step: bytes of a pass. enough: the fewest remaining bytes for a pass. arrivals: how often the start of the loop
    is reached before the induction starts. least: the shortest text that is proved. limbs: (cell, position of its
    lowest bit). left, message: their cells. pending: whether a block was added to the accumulator that has not been
    multiplied. classes: residues modulo 256 of a packet's length with which a call starts in the same way."""

    def __init__(self, head, step, enough, arrivals, least, limbs, left, message, pending=False, classes=(None,), opens=(False, True)):
        self.head, self.step, self.enough, self.arrivals, self.least, self.limbs = head, step, enough, arrivals, least, limbs
        self.left, self.message, self.pending, self.classes, self.opens = left, message, pending, classes, opens
        self.blocks = step // 64


def ahead_of(kernel, text, before):
    """Returns the address of the instruction that is `before` instructions ahead of the first one with this text."""
    found = instructions(kernel)
    return found[found.index(next(i for i in found if f"{i.mnemonic} {i.op_str}".startswith(text))) - before].address


X19 = [(general(19), 0), (general(20), 64), (general(21), 128)]
LOOPS = {
    # .Lrounds, and .Lnext_counts
    (arm64, "neon"): Loop(lambda k: ahead_of(k, "cmp x8, #0xa0", 2), 256, 512, 3, 960, X19, general(4), general(22)),
    (arm64, "neon6"): Loop(lambda k: find(k, "add v31.4s, v31.4s, v30.4s", 1).address, 384, 641, 3, 1409, X19, general(4), general(22)),
    # .Lmore. When opening, Poly1305 is faster than ChaCha20, so its lead grows.
    (arm32, "neon"): Loop(lambda k: ahead_of(k, "ldr r8, [r1, #-0x18]", 1), 256, 257, 3, 960,
                          [(general(2), 0), (general(3), 32), (general(4), 64), (general(6), 96), (general(5), 128)],
                          scratch(320 - 56), scratch(320 - 24), True,
                          tuple(tuple(n % 256 for n in range(i + 1, i + 65)) for i in range(0, 256, 64)), (False,)),
}


# Instructions after the start of the loop that planted faults omit: (name of the fault, start of their text).
LEFT_OUT = {
    (arm64, "neon"): [("the text does not move", "add x2, x2, #0x100"), ("the output does not move", "add x3, x3, #0x100"),
                      ("the remaining length does not change", "sub x4, x4, #0x100"), ("the counter does not go on", "add v31.4s, v31.4s"),
                      ("a product is left out", "umulh"), ("a carry is dropped", "adc x"), ("a rotation is left out", "sri v"),
                      ("a wipe is left out", "stp q0, q0, [x1, #0x170]")],
    (arm64, "neon6"): [("the remaining length does not change", "subs x4, x4, #0x40", 1), ("the counter does not go on", "add v31.4s, v31.4s"),
                       ("a product is left out", "umulh"), ("a carry is dropped", "adc x"), ("a rotation is left out", "sri v"),
                       ("a wipe is left out", "stp q0, q0, [x1, #0x170]")],
    (arm32, "neon"): [("the text does not move", "str r7, [r1, #-0x34]"), ("the output does not move", "str sb, [r1, #-0x30]"),
                      ("the remaining length does not change", "str r8, [r1, #-0x38]"), ("a product is left out", "umlal"),
                      ("a carry is dropped", "adc r"), ("a rotation is left out", "vsri.32"), ("the counter does not go on", "str r0, [r1, #0x90]")],
}


def loop_of(kernel):
    return LOOPS.get((kernel.isa, kernel.name.removeprefix("sealane_chacha20poly1305_")))


def head(kernel, loop):
    if kernel.head is None:
        kernel.head = loop.head(kernel)
    return kernel.head


class Part(engine.Part):
    def __init__(self, kernel, shape, texts, done=None, ad_bytes=0, counter=None):
        """counter: of the part's first block, 32 bits."""
        super().__init__(kernel, shape, CHACHA, texts, done, ad_bytes)
        self.set(total=symbol("total", 64))
        self.counter = const(1, 32) if shape.flags & FIRST else counter
        self.r, self.s = put_chacha(self, shape.flags, extend(self.counter, 64))

    def length(self, name, least, **more):
        return linear.Base(name, least, LONGEST[self.width], width=self.width, **more)

    def get(self, cell):
        if cell[0] == "general":
            return self.machine.general[cell[1]]
        return self.memory.number(cell[1], 4)

    def set_cell(self, cell, v):
        if cell[0] == "general":
            self.machine.general[cell[1]] = extend(v, self.width)
        else:
            self.memory.put_number(cell[1], extend(v, 32))

    def limbs(self, loop):
        found = []
        for cell, _ in loop.limbs:
            v = self.get(cell)
            if cell[0] == "memory" and self.width == 64:
                v = cat(v, self.get((cell[0], cell[1] + 4)))
            found.append(v)
        if not all(v.defined for v in found):
            raise Unproved("the accumulator is not there")
        return found

    def accumulated(self, loop):
        h = residue(self.limbs(loop), [w for _, w in loop.limbs])
        return h * self.r.residue % P if loop.pending else h

    def cipher(self, blocks, text):
        """The specification's result for text that starts `blocks` blocks after the counter."""
        key, nonce = key_symbols()
        return spec.cipher_text(key, add_modular(self.counter, const(blocks, 32)), nonce, text) if text else None


def place_of(call, v):
    """Returns a pointer or length as (kind, offset), or None."""
    found = linear.place(v)
    if found is None:
        return None
    base, offset = found
    for kind, other in (("in", call.source), ("out", call.target), ("begin in", call.begin_in), ("begin out", call.begin_out), ("left", call.left)):
        if base is other:
            return kind, offset
    return "unknown", 0


def begin(kernel, loop, shape, counter=None, ad_bytes=0, of=None, section=None):
    """Runs from the first instruction to the loop. section: associated data of any length (ad.py). Returns the call,
    with the number of processed bytes."""
    opens, size = shape.opens, loop.arrivals * loop.step + loop.step
    texts = [(0, size, True, shape.in_place)], [] if shape.in_place else [(0, size, not opens, True)]
    call = Part(kernel, shape, texts, None, ad_bytes, counter)
    call.left = call.length("bytes", loop.least, **({"modulus": 256, "of": of} if of else {}))
    call.set(bytes=call.left + 0, ad_bytes=const(ad_bytes, 64))
    text, ad = text_named("a", size), text_symbols("ad ", ad_bytes)
    if ad:
        call.memory.poke(AD, ad)
    call.memory.poke(call.source.address, text)
    place = head(kernel, loop)
    if section:
        section.arguments(call)
        behind_ad = section.through(call, place)
    else:
        call.go(0, place)
    for _ in range(loop.arrivals - 1):
        call.go(place, place)
    kind, offset = place_of(call, call.get(loop.left)) or (None, 0)
    call.done = -offset
    if kind != "left" or not 0 <= call.done <= size or call.done % 64:
        raise Unproved(f"the remaining length before the loop is not known: {kind} {offset}")
    if loop.least - call.done < loop.enough - loop.step:
        raise Unproved("the loop begins with less than the exits are for")
    result = call.cipher(0, cut(text, 0, 8 * call.done))
    call.expect("the text", call.target.address, result)
    kind, offset = place_of(call, call.get(loop.message)) or (None, 0)
    if kind != ("in" if opens or shape.in_place else "out") or not 0 <= offset <= size or offset % 16:
        raise Unproved(f"what is authenticated next is not known: {kind} {offset}")
    if offset > call.done and not opens:
        raise Unproved("what has not been sealed is authenticated")
    h = 0 if shape.flags & FIRST else residue(h_before())
    h = behind_ad if section else spec.poly1305(h, call.r, spec.pad16(ad) if ad else None)
    if offset:
        h = spec.poly1305(h, call.r, cut(text if opens else result, 0, 8 * offset))
    if call.accumulated(loop) != h:
        raise Unproved("the accumulator is not that of the specification where the loop begins")
    return call


class State(dict):
    """Cell -> value, or (kind, offset) of a place, relative to the start of the loop. kinds: of each cell. template:
    for any counter. limbs: bounds. mac: offset of the next authenticated byte. written: addresses in scratch."""


def relative(place, done):
    """Returns a place relative to the start of the loop."""
    kind, offset = place
    return kind, offset - done if kind in ("in", "out") else offset + done if kind == "left" else offset


def here(call, v, done):
    found = place_of(call, v)
    return relative(found, done) if found else None


def start(kernel, loop, shape, state, ahead, more, left, counter):
    """Starts a run at the loop. Returns the call, the text, the bytes before it that are still to be authenticated,
    and the accumulator."""
    lag = max(0, -state.mac)
    before, done = [(-lag, lag, True, False)] if lag else [], None
    if shape.in_place:
        texts = before + [(0, ahead + more, True, True)], []
    else:
        texts = (before if shape.opens else []) + [(0, ahead + more, True, False)], \
            ([] if shape.opens else before) + ([(0, ahead, not shape.opens, True)] if ahead else [])
    done = linear.Base("done", 64, LONGEST[kernel.isa.POINTER] - 64, modulus=64, width=kernel.isa.POINTER)
    call = Part(kernel, shape, texts, done, 0, symbol("state counter", 32))
    call.left, call.all_done = None, done
    if left is None:
        call.left = left = call.length("left", loop.enough)
    call.set(bytes=call.length("bytes", 1) + 0, ad_bytes=symbol("ad bytes", 64))
    cells, bases = {}, {"in": call.source, "out": call.target, "begin in": call.begin_in, "begin out": call.begin_out}
    for cell, v in state.items():
        if isinstance(v, tuple):
            kind, offset = v
            v = bases[kind] + offset if kind != "left" else left + offset if isinstance(left, linear.Base) else const(left + offset, call.width)
        cells[cell] = v
    call.put(cells)
    for (cell, _), most in zip(loop.limbs, state.limbs):
        v = extend(symbol(f"{cell} at most {most}", most.bit_length(), most), call.width)
        if cell[0] == "general":
            call.machine.general[cell[1]] = v
        else:
            call.memory.poke(cell[1], v)
    call.counter = counter
    text, waiting = text_named("now", ahead + more), text_named("before", lag)
    if text:
        call.memory.poke(call.source.address, text)
    if waiting:
        call.memory.poke((call.source if shape.opens or shape.in_place else call.target).address - lag, waiting)
    return call, text, waiting, call.accumulated(loop)


def authenticated(h, r, waiting, mac, text, n):
    """Returns the accumulator after n more bytes. The next authenticated byte is `mac` bytes after the start of the
    run."""
    values = [v for v in (waiting, cut(text, 8 * max(mac, 0), text.width - 8 * max(mac, 0)) if text else None) if v and v.width]
    return spec.poly1305(h, r, cut(cat(*values), 0, 8 * n)) if n else h


def induction(kernel, loop, shape, of=None, section=None):
    """Finds the kept cells, by as many steps as necessary. section: includes associated data of any length. Returns
    the state, and the numbers of cases and instructions."""
    step, x = loop.step, symbol("any counter", 32)
    going_on = Way(shape.flags & LAST, shape.opens, shape.in_place)
    template = begin(kernel, loop, going_on, x)
    blocks = template.done // 64
    following = begin(kernel, loop, going_on, add_modular(x, const(loop.blocks, 32)))
    steps, cases = template.machine.steps + following.machine.steps, 1
    if shape.flags & FIRST:
        called = begin(kernel, loop, shape, of=of)
        instance = begin(kernel, loop, going_on, const(1 + called.done // 64 - blocks, 32))
        steps += called.machine.steps + instance.machine.steps
    else:
        called = instance = template
    moved, after_pass, exact = template.cells(), following.cells(), instance.cells()
    first = called.cells()
    state, kinds = State(), {}
    state.written = {c[1] for c in first if c[0] == "memory"} | {c[1] for c in moved if c[0] == "memory"}
    state.limbs = [v.most for v in called.limbs(loop)]
    limbs = {(kind, a + o) for (kind, a), _ in loop.limbs for o in ((0, 4) if kind == "memory" and called.width == 64 else (0,))}
    for cell, v in first.items():
        if cell in limbs or not v.defined:
            continue
        at = here(called, v, called.done)
        other = moved.get(cell)
        if at is not None:
            if at[0] != "unknown":
                state[cell], kinds[cell] = at, "place"
        elif other is not None and other.defined and v is not other and linear.place(other) is None and same(v, exact[cell]):
            state[cell], kinds[cell] = other, "moving"
        elif shape.flags & FIRST or other is not v or after_pass[cell] is v:
            state[cell], kinds[cell] = v, "kept"
        else:
            state[cell], kinds[cell] = v, "moving"
    state.mac = here(called, called.get(loop.message), called.done)[1]
    ads = [(n, None) for n in ADS] + ([(0, section)] if section else [])
    for ad_bytes, any_ in ads if shape.flags & FIRST else ():
        other = begin(kernel, loop, shape, ad_bytes=ad_bytes, of=of, section=any_)
        found = other.cells()
        if other.done != called.done or here(other, other.get(loop.message), other.done)[1] != state.mac:
            raise Unproved("how far the first passes go depends on associated data")
        for cell, v in list(state.items()):
            if not (here(other, found[cell], other.done) == v if kinds[cell] == "place" else same(found[cell], first[cell])):
                del state[cell]
        state.limbs = [max(a, b.most) for a, b in zip(state.limbs, other.limbs(loop))]
        state.written |= {c[1] for c in found if c[0] == "memory"}
        steps, cases = steps + other.machine.steps, cases + 1
    while True:
        ahead = max(0, state.mac)
        call, text, waiting, h = start(kernel, loop, shape, state, step, ahead, None, add_modular(x, const(blocks, 32)))
        place = head(kernel, loop)
        call.go(place, place)
        steps += call.machine.steps
        found, changed = call.cells(), False
        for cell, v in list(state.items()):
            new = found[cell]
            if kinds[cell] == "place":
                kind, offset = v
                good = place_of(call, new) == (kind, offset + {"in": step, "out": step, "left": -step}.get(kind, 0))
            elif kinds[cell] == "moving":
                good = new.defined and (new is after_pass[cell] or same(new, after_pass[cell]))
                if not good and new is v:
                    state[cell], kinds[cell], changed = first[cell], "kept", True
                    continue
            else:
                good = new is v or same(new, v)
            if not good:
                del state[cell]
                changed = True
        wider = [max(a, b.most) for a, b in zip(state.limbs, call.limbs(loop))]
        changed = changed or wider != state.limbs
        state.limbs = wider
        state.written |= {c[1] for c in found if c[0] == "memory"}
        if not changed:
            break
    if state.get(loop.left, ("",))[0] != "left":
        raise Unproved("no cell counts the remaining length")
    if state.get(loop.message, ("",))[0] not in ("in", "out"):
        raise Unproved("what is authenticated does not move with the text")
    result = call.cipher(0, cut(text, 0, 8 * step))
    call.expect("the text", call.target.address, result)
    if authenticated(h, call.r, waiting, state.mac, text if shape.opens else result, step) != call.accumulated(loop):
        raise Unproved("the accumulator is not that of the specification after a pass")
    state.counter = add_modular(x, const(blocks, 32))
    return state, cases + 1, steps


def leave(kernel, loop, shape, state, rest, folder=None):
    """Proves the run to the end, with `rest` remaining bytes."""
    call, text, waiting, h = start(kernel, loop, shape, state, rest, 0, rest, state.counter)
    bytes_ = call.all_done + rest
    call.set(bytes=bytes_)
    call.go(head(kernel, loop), None)
    call.left_behind()
    call.wiped(state.written)
    result = call.cipher(0, text)
    call.expect("the text", call.target.address, result)
    padded = spec.pad16(text if shape.opens else result)
    h = authenticated(h, call.r, waiting, state.mac, padded, padded.width // 8 - state.mac)
    # The counter at the call's start plus the blocks of the call, or that of the loop plus the rest: both are the same
    # number.
    before = const(1, 32) if shape.flags & FIRST else symbol("state counter", 32)
    blocks = terms.shift_right(bytes_, 6) if kernel.isa is arm64 else linear.shift(bytes_, 6, True)
    whole = terms.add(64, extend(before, 64), blocks)[0] if kernel.isa is arm64 else extend(add_modular(before, blocks), 64)
    chacha_left(call, shape.flags, h, call.r, call.s, (symbol("ad bytes", 64), symbol("total", 64)),
                [whole, extend(add_modular(state.counter, const(rest // 64, 32)), 64)], folder)
    return call.machine.steps


# ---- All of it -----------------------------------------------------------------------------------------------------------

def rests(loop, shape, quick):
    """The remaining bytes for which an exit is proved: every number without a step. For parts before others, multiples
    of 64 bytes."""
    found = range(loop.enough - loop.step, loop.enough)
    if not shape.flags & LAST:
        return [n for n in found if n % 64 == 0]
    return found[5::101] if quick else found


def least(kernel):
    loop = loop_of(kernel)
    return loop and loop.least


def tasks(kernel, args):
    """For each call: the number of its shape, and residues of the length, or None."""
    loop = loop_of(kernel)
    return [(str(SHAPES[i]), i, of) for i in ((0, 3) if args.quick else range(len(SHAPES))) if SHAPES[i].opens in loop.opens
            for of in (loop.classes[-1:] if args.quick else loop.classes if SHAPES[i].flags & FIRST else (None,))]


def one(kernel, task, args, found):
    _, number, of = task
    loop, shape = loop_of(kernel), SHAPES[number]
    anew()
    state, *more = induction(kernel, loop, shape, of)
    found.add(*more)
    # All exits of one class of lengths, and some of the others, because the state is the same.
    for rest in rests(loop, shape, args.quick)[::1 if of == (loop.classes if shape.flags & FIRST else (None,))[0] else 17]:
        if len(terms.ATOMS) > 600_000:
            anew()
            state, _, _ = induction(kernel, loop, shape, of)
        found.end(f"{rest} bytes left", leave, kernel, loop, shape, state, rest, args.queries)


def planted(kernel, args, attempt):
    right = loop_of(kernel)
    place, of = head(kernel, right), right.classes[0]

    def wrong(what, insn=None, **change):
        loop = engine.changed(right, **change)

        def show():
            anew()
            state, _, _ = induction(kernel, loop, Way(), of)
            leave(kernel, loop, Way(), state, loop.enough - 59)
        attempt(what, show, insn)
    wrong("the counter goes on by one more", blocks=right.blocks + 1)
    wrong("a pass has 64 bytes more", step=right.step + 64)
    wrong("limbs are in another order", limbs=[(right.limbs[1][0], right.limbs[0][1]), (right.limbs[0][0], right.limbs[1][1]), *right.limbs[2:]])
    wrong("there is a pass with a pass less", enough=right.enough - right.step)
    for what, text, *number in LEFT_OUT[kernel.isa, kernel.name.removeprefix("sealane_chacha20poly1305_")]:
        wrong(what, find(kernel, text, *number, behind=place))
