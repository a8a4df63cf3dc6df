"""ChaCha20-Poly1305 on x86-64 and ARM, for every length: the loop of a kernel over long texts, by induction.

    induction.chacha_loop [--quick] [--planted] [--jobs N] [--queries FOLDER] OBJECT...

As in gcm.py, the invariant is computed, and then proved. A cell is a register, a word of a vector register, or four
bytes of scratch or stack. Pointers and limbs in memory may have eight. Where the loop starts again, a cell is one of
these:

    kept    as the run from the first instruction left it
    moving  the value in a run from the first instruction that continues a packet at block X, where X is the first block
            of this pass: any 32-bit number. Runs that start a packet must have the value of such a run.
    place   a pointer to text, which moves by a pass; a pointer to the text of the call; or the remaining length
    limb    a limb of the accumulator: any number within a bound, which is computed too
    dead    counts as never written

    base    from the first instruction until the first, second or third pass of the loop, by classes of the length where
            necessary
    step    from any such state with enough remaining bytes. A cell that is not as required becomes dead, and the step
            is tried again.
    exit    from any such state, for each number of remaining bytes without such a step, to the return

On 32-bit ARM, lengths and pointers are 32-bit numbers.
"""

import spec
from induction import engine
from induction.engine import SHAPES, Way, anew, find, instructions, text_named
from isa import arm32, arm64, x86
from run.kernels import AD, SCRATCH, text_symbols
from run.packets import CHACHA, chacha_left, h_before, key_symbols, put_chacha, residue
from spec.args import A, FIRST, LAST
from values import linear, terms
from values.terms import P, Unproved, add_modular, cat, const, cut, extend, same, symbol

LONGEST = {64: (1 << 38) - 64, 32: (1 << 30) - 64}  # bytes of text: RFC 8439, 2.8; half of the 32-bit address space
ADS = (0, 1, 13, 16, 40)
FRAME = A["SCRATCH_SAVE_BYTES"] + 128  # of x86-64's rsi in scratch


def general(n):
    return "general", n


def scratch(offset):
    return "memory", SCRATCH + offset


def frame(offset):
    """Eight bytes."""
    return "memory8", SCRATCH + FRAME + offset


def in_row(cells, bits):
    """The limbs of an accumulator: (cell, position of its lowest bit)."""
    return [(c, bits * i) for i, c in enumerate(cells)]


def registers(numbers, bits):
    return in_row(map(general, numbers), bits)


class Loop:
    """head: the text of an instruction, which of those it is, and perhaps how many instructions ahead of it the loop
    starts. step: bytes of a pass. enough: the fewest remaining bytes for a pass. arrivals: how often the start of the
    loop is reached before the induction starts. least: the shortest text that is proved. limbs: of in_row(). left: a
    cell. message: its cells when sealing and when opening, as of classes. pending: whether a block was added to the
    accumulator that has not been multiplied. classes: residues modulo `step` of a packet's length with which a call
    starts in the same way. lead: how many bytes the output is ahead of `left` and, when opening, of `message`.
    in_place: the remaining bytes for which calls in place are proved, if not all."""

    def __init__(self, head, step, enough, arrivals, least, limbs, left, message, pending=False, classes=((None,), (None,)),
                 opens=(False, True), lead=0, in_place=None):
        self.head, self.step, self.enough, self.arrivals, self.least, self.limbs = head, step, enough, arrivals, least, limbs
        self.left, self.message, self.pending, self.classes, self.opens = left, message, pending, classes, opens
        self.lead, self.in_place, self.blocks = lead, in_place, step // 64


def x86_loop(step, arrivals, least):
    """A pass that seals authenticates the previous pass's output. One that opens authenticates its own input, and the
    size of the first depends on the length."""
    classes = tuple(tuple(r for r in range(step) if (r + 63) // 64 * 64 % step == first) for first in range(0, step, 64))
    return Loop(("mov rcx, qword ptr [rsi - 0x58]", -1), step, step, arrivals, least, in_row([frame(8 * i) for i in range(3)], 64),
                frame(-96), (frame(-104), frame(-112)), classes=((None,), classes), lead=step,
                in_place=(0, 1, 17, 63, 64, 65, step // 2 + 1, step - 1))


X19 = registers(range(19, 22), 64)
LOOPS = {
    (x86, "ssse3"): x86_loop(256, 2, 448),
    (x86, "avx2"): x86_loop(512, 3, 1472),
    (x86, "avx512vl"): x86_loop(512, 3, 1472),
    # .Lrounds, and .Lnext_counts
    (arm64, "neon"): Loop(("cmp x8, #0xa0", 0, 2), 256, 512, 3, 960, X19, general(4), 2 * [general(22)]),
    (arm64, "neon6"): Loop(("add v31.4s, v31.4s, v30.4s", 1), 384, 641, 3, 1409, X19, general(4), 2 * [general(22)]),
    # .Lmore. When opening, Poly1305 is faster than ChaCha20, so its lead grows.
    (arm32, "neon"): Loop(("ldr r8, [r1, #-0x18]", 0, 1), 256, 257, 3, 960, registers((2, 3, 4, 6, 5), 32),
                          scratch(320 - 56), 2 * [scratch(320 - 24)], True,
                          2 * [tuple(tuple(n % 256 for n in range(i + 1, i + 65)) for i in range(0, 256, 64))], (False,)),
}

# Instructions after the start of the loop that planted faults omit: (name of the fault, start of their text).
TEXT, OUTPUT = "the text does not move", "the output does not move"
LEFT, COUNTER = "the remaining length does not change", "the counter does not go on"
PRODUCT, CARRY = "a product is left out", "a carry is dropped"
ROTATION, WIPE = "a rotation is left out", "a wipe is left out"
_X86 = [(TEXT, "add qword ptr [rsi - 0x70]"), (COUNTER, "add dword ptr [rsi + 0x30]"), (LEFT, "mov qword ptr [rsi - 0x60]"), (CARRY, "adc"),
        (WIPE, ("movdqa xmmword ptr [rax", "vmovdqa ymmword ptr [rax"), -1)]
_ARM64 = [(COUNTER, "add v31.4s, v31.4s"), (PRODUCT, "umulh"), (CARRY, "adc x"), (ROTATION, "sri v"), (WIPE, "stp q0, q0, [x1, #0x170]")]
LEFT_OUT = {
    (x86, "ssse3"): _X86, (x86, "avx2"): _X86, (x86, "avx512vl"): _X86,
    (arm64, "neon"): [(TEXT, "add x2, x2, #0x100"), (OUTPUT, "add x3, x3, #0x100"), (LEFT, "sub x4, x4, #0x100"), *_ARM64],
    (arm64, "neon6"): [(LEFT, "subs x4, x4, #0x40", 1), *_ARM64],
    (arm32, "neon"): [(TEXT, "str r7, [r1, #-0x34]"), (OUTPUT, "str sb, [r1, #-0x30]"), (LEFT, "str r8, [r1, #-0x38]"), (PRODUCT, "umlal"),
                      (CARRY, "adc r"), (ROTATION, "vsri.32"), (COUNTER, "str r0, [r1, #0x90]")],
}


def name_of(kernel):
    return kernel.isa, kernel.name.removeprefix("sealane_chacha20poly1305_")


def loop_of(kernel):
    return LOOPS.get(name_of(kernel))


def head(kernel, loop):
    """The address where a pass of the loop begins."""
    kernel.head = kernel.head or {}
    if loop.head not in kernel.head:
        text, number, *before = loop.head
        found = [i.address for i in instructions(kernel)]
        kernel.head[loop.head] = found[found.index(find(kernel, text, number).address) - sum(before)]
    return kernel.head[loop.head]


def texts(shape, n, more=0, lag=0, again=None):
    """The regions of a run that processes n bytes of text, and reads `more` after them. It authenticates `lag` bytes
    ahead of them, too. again: whether it reads its output; None: when sealing."""
    before, source = (-lag, lag, True, False), (0, n + more, True, shape.in_place)
    if shape.in_place:
        return [before, source], []
    target = (0, n, not shape.opens if again is None else again, True)
    return ([before, source], [target]) if shape.opens else ([source], [before, target])


def alike(new, v):
    """Whether a cell has the value v."""
    return None not in (new, v) and new.defined and (new is v or same(new, v))


class Part(engine.Part):
    def __init__(self, kernel, shape, regions, done=None, ad_bytes=0, counter=None):
        """counter: of the part's first block, 32 bits."""
        super().__init__(kernel, shape, CHACHA, regions, done, ad_bytes)
        self.set(total=symbol("total", 64), ad_bytes=symbol("ad bytes", 64))
        self.begins = self.counter = const(1, 32) if shape.flags & FIRST else counter or symbol("state counter", 32)
        self.r, self.s = put_chacha(self, shape.flags, extend(self.counter, 64))

    def length(self, name, least, **more):
        return linear.Base(name, least, LONGEST[self.width], width=self.width, **more)

    def poke(self, address, text):
        """text: may be None."""
        if text:
            self.memory.poke(address, text)

    def cells(self):
        """Of pointers and lengths in 64 bits of memory, the halves are no cells."""
        found = super().cells()
        for kind, a, *_ in list(found) if self.width == 64 else ():
            if kind == "memory" and a % 8 == 0 and linear.place(v := self.memory.peek(a, 8)):
                del found[kind, a], found[kind, a + 4]
                found["memory8", a] = v
        return found

    def get(self, cell):
        kind, n = cell
        return self.machine.general[n] if kind == "general" else self.memory.number(n, 8 if kind == "memory8" else 4)

    def set_cell(self, cell, v):
        kind, n = cell
        if kind == "general":
            self.machine.general[n] = extend(v, self.width)
        else:
            self.memory.put_number(n, extend(v, 64 if kind == "memory8" else 32))

    def put(self, cells):
        super().put({c: v for c, v in cells.items() if c[0] != "memory8"})
        for c, v in cells.items():
            if c[0] == "memory8":
                self.set_cell(c, v)

    def written(self):
        """The addresses in scratch that the run has written, or that it started with."""
        return {a for a in self.memory.cells if SCRATCH <= a < SCRATCH + self.scratch_bytes}

    def limbs(self, loop):
        found = [self.get(cell) for cell, _ in loop.limbs]
        if not all(v.defined for v in found):
            raise Unproved("the accumulator is not there")
        return found

    def accumulated(self, loop):
        h = residue(self.limbs(loop), [w for _, w in loop.limbs])
        return h * self.r.residue % P if loop.pending else h

    def put_text(self, n, lag=0):
        """Names n bytes of text, and `lag` bytes before them that are still to be authenticated. Returns both."""
        text, waiting = text_named("now", n), text_named("before", lag)
        self.poke(self.source.address, text)
        self.poke((self.source if self.shape.opens or self.shape.in_place else self.target).address - lag, waiting)
        return text, waiting

    def expect_output(self, text):
        """Requires that the output is the specification's result for this text. Returns it."""
        key, nonce = key_symbols()
        result = spec.cipher_text(key, self.counter, nonce, text) if text else None
        self.expect("the text", self.target.address, result)
        return result

    def enter(self, stop, ad_bytes=0, section=None):
        """Runs from the first instruction to `stop`. section: associated data of any length (ad.py). Returns the
        specification's accumulator after associated data."""
        self.set(ad_bytes=const(ad_bytes, 64))
        if section:
            section.arguments(self)
            return section.through(self, stop)
        ad = text_symbols("ad ", ad_bytes)
        self.poke(AD, ad)
        self.go(0, stop)
        return spec.poly1305(0 if self.shape.flags & FIRST else residue(h_before()), self.r, ad and spec.pad16(ad))

    def counted(self, n):
        """The counter after a call of n bytes, a length."""
        blocks = terms.shift_right(n, 6) if self.kernel.isa is arm64 else linear.shift(n, 6, True)
        return add_modular(self.begins, blocks) if self.width == 32 else terms.add(64, extend(self.begins, 64), blocks)[0]

    def finish(self, h, counters, written, folder=None):
        """Checks the results of the call. h: the accumulator after all text. counters: as for chacha_left."""
        self.left_behind()
        self.wiped(written)
        lengths = symbol("ad bytes", 64), symbol("total", 64)
        chacha_left(self, self.shape.flags, h, self.r, self.s, lengths, [extend(c, 64) for c in counters], folder)


def inside(kernel, shape, regions, least=64, most=None):
    """A run that starts in the middle of a call, `least` to `most` bytes after its start, with any counter."""
    width = kernel.isa.POINTER
    done = linear.Base("done", least, (most or LONGEST[width]) - 64, modulus=64, width=width)
    call = Part(kernel, shape, regions, done)
    call.done, call.counter = done, symbol("any counter", 32)
    return call


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
    """Runs from the first instruction to the loop. Returns the call, with the number of processed bytes."""
    opens, size = shape.opens, min((loop.arrivals + 1) * loop.step, loop.least)
    call = Part(kernel, shape, texts(shape, size), None, ad_bytes, counter)
    call.left = call.length("bytes", loop.least, **({"modulus": loop.step, "of": of} if of else {}))
    call.set(bytes=call.left + 0)
    text, _ = call.put_text(size)
    place = head(kernel, loop)
    h = call.enter(place, ad_bytes, section)
    for _ in range(loop.arrivals - 1):
        call.go(place, place)
    kind, offset = place_of(call, call.get(loop.left)) or (None, 0)
    call.done = loop.lead - offset
    if kind != "left" or not 0 <= call.done <= size or call.done % 64:
        raise Unproved(f"the remaining length before the loop is not known: {kind} {offset}")
    if loop.least - call.done < loop.enough - loop.step:
        raise Unproved("the loop begins with less than the exits are for")
    result = call.expect_output(cut(text, 0, 8 * call.done))
    kind, offset = place_of(call, call.get(loop.message[opens])) or (None, 0)
    offset += loop.lead if opens else 0
    if kind != ("in" if opens or shape.in_place else "out") or not 0 <= offset <= size or offset % 16:
        raise Unproved(f"what is authenticated next is not known: {kind} {offset}")
    if offset > call.done and not opens:
        raise Unproved("what has not been sealed is authenticated")
    call.mac = offset - call.done
    if call.accumulated(loop) != spec.poly1305(h, call.r, cut(text if opens else result, 0, 8 * offset) if offset else None):
        raise Unproved("the accumulator is not that of the specification where the loop begins")
    return call


class State(dict):
    """Cell -> value, or (kind, offset) of a place, relative to the start of the loop. limbs: bounds. done: the fewest
    bytes before it. mac: offset of the next authenticated byte. written: addresses in scratch. counter: that of the
    run's first block."""


def here(call, v):
    """In a run from the first instruction, a place relative to the start of the loop; or None."""
    kind, offset = place_of(call, v) or (None, 0)
    return kind and (kind, offset + {"in": -call.done, "out": -call.done, "left": call.done}.get(kind, 0))


def start(kernel, loop, shape, state, ahead, more, left=None):
    """Starts a run at the loop. Returns the call, the text, the bytes before it that are still to be authenticated,
    and the accumulator."""
    lag = max(0, -state.mac)
    call = inside(kernel, shape, texts(shape, ahead, more, lag), state.done)
    call.left = left if left is not None else call.length("left", loop.enough)
    call.set(bytes=call.length("bytes", 1) + 0 if left is None else call.done + left)
    bases = {"in": call.source, "out": call.target, "begin in": call.begin_in, "begin out": call.begin_out, "left": call.left}
    cells = {c: bases[v[0]] + v[1] if isinstance(v, tuple) else v for c, v in state.items()}
    call.put({c: const(v, call.width) if isinstance(v, int) else v for c, v in cells.items()})
    for (cell, _), most in zip(loop.limbs, state.limbs):
        call.set_cell(cell, symbol(f"{cell} at most {most}", max(1, most.bit_length()), most))
    call.counter = state.counter
    return call, *call.put_text(ahead + more, lag), call.accumulated(loop)


def authenticated(h, r, waiting, mac, text, n):
    """Returns the accumulator after n more bytes. The next authenticated byte is `mac` bytes after the start of the
    run."""
    values = [v for v in (waiting, cut(text, 8 * max(mac, 0), text.width - 8 * max(mac, 0)) if text else None) if v and v.width]
    return spec.poly1305(h, r, cut(cat(*values), 0, 8 * n)) if n else h


def beginnings(kernel, loop, shape, section):
    """Yields all runs from the first instruction to the loop."""
    for i, of in enumerate(loop.classes[shape.opens] if shape.flags & FIRST else (None,)):
        for ad_bytes in (0,) if not shape.flags & FIRST else ADS if not i or loop.pending else (ADS[1 + i % 4],):
            yield begin(kernel, loop, shape, None, ad_bytes, of)
        if section:
            yield begin(kernel, loop, shape, None, 0, of, section)


def induction(kernel, loop, shape, section=None):
    """Finds the kept cells, by as many steps as necessary. section: includes associated data of any length. Returns
    the state, and the numbers of cases and instructions."""
    step, x, place = loop.step, symbol("any counter", 32), head(kernel, loop)
    later = Way(shape.flags & LAST, shape.opens, shape.in_place)
    template, following = (begin(kernel, loop, later, add_modular(x, const(n, 32))) for n in (0, loop.blocks))
    blocks, moved, after_pass = template.done // 64, template.cells(), following.cells()
    runs, called, instances = [template, following], [template], {template.done: template}
    if shape.flags & FIRST:
        called = list(beginnings(kernel, loop, shape, section))
        instances = {n: begin(kernel, loop, later, const(1 + n // 64 - blocks, 32)) for n in dict.fromkeys(c.done for c in called)}
        runs += [*called, *instances.values()]
    arrived = [(call, call.cells(), instances[call.done].cells()) for call in called]
    first, state, kinds = arrived[0][1], State(), {}
    state.done, state.mac, state.counter = min(instances), called[0].mac, add_modular(x, const(blocks, 32))
    state.written = template.written().union(*(call.written() for call in called))
    state.limbs = [max(v.most for v in limb) for limb in zip(*(call.limbs(loop) for call in called))]
    if any(call.mac != state.mac for call in called):
        raise Unproved("where authentication is when the loop begins depends on the length or on associated data")
    limbs = {c for c, _ in loop.limbs} | {("memory", a + o) for (kind, a), _ in loop.limbs if kind == "memory8" for o in (0, 4)}
    for cell, v in first.items():
        if cell in limbs or not v.defined:
            continue
        at, other = here(called[0], v), moved.get(cell)
        if at:
            if at[0] != "unknown" and all(here(call, found.get(cell)) == at for call, found, _ in arrived):
                state[cell], kinds[cell] = at, "place"
        elif other is not after_pass.get(cell) and not linear.place(other) and \
                all(alike(found.get(cell), exact.get(cell)) for _, found, exact in arrived):
            state[cell], kinds[cell] = other, "moving"
        elif all(alike(found.get(cell), v) for _, found, _ in arrived):
            state[cell], kinds[cell] = v, "kept"
    changed = True
    while changed:
        call, text, waiting, h = start(kernel, loop, shape, state, step, max(0, state.mac))
        call.go(place, place)
        runs.append(call)
        found, changed = call.cells(), False
        for cell, v in list(state.items()):
            new = found.get(cell)
            if kinds[cell] == "place":
                kind, offset = v
                good = place_of(call, new) == (kind, offset + {"in": step, "out": step, "left": -step}.get(kind, 0))
            else:
                good = alike(new, after_pass.get(cell) if kinds[cell] == "moving" else v)
            if good:
                continue
            changed = True
            if kinds[cell] == "moving" and new is v and all(alike(found.get(cell), first[cell]) for _, found, _ in arrived):
                state[cell], kinds[cell] = first[cell], "kept"
            else:
                del state[cell]
        wider = [max(a, b.most) for a, b in zip(state.limbs, call.limbs(loop))]
        changed = changed or wider != state.limbs
        state.limbs = wider
        state.written |= call.written()
    if state.get(loop.left, ("",))[0] != "left":
        raise Unproved("no cell counts the remaining length")
    if state.get(loop.message[shape.opens], ("",))[0] not in ("in", "out"):
        raise Unproved("what is authenticated does not move with the text")
    result = call.expect_output(cut(text, 0, 8 * step))
    if authenticated(h, call.r, waiting, state.mac, text if shape.opens else result, step) != call.accumulated(loop):
        raise Unproved("the accumulator is not that of the specification after a pass")
    return state, len(called) + 1, sum(run.machine.steps for run in runs)


def leave(kernel, loop, shape, state, rest, folder=None):
    """Proves the run to the end, with `rest` remaining bytes."""
    call, text, waiting, h = start(kernel, loop, shape, state, rest, 0, rest)
    call.go(head(kernel, loop), None)
    result = call.expect_output(text)
    padded = text and spec.pad16(text if shape.opens else result)
    h = authenticated(h, call.r, waiting, state.mac, padded, (rest + 15) // 16 * 16 - state.mac)
    # The counter at the call's start plus the blocks of the call, or that of the loop plus the rest: both are the same
    # number.
    call.finish(h, [call.counted(call.done + rest), add_modular(state.counter, const(rest // 64, 32))], state.written, folder)
    return call.machine.steps


# ---- All of it -------------------------------------------------------------------------------------------------------

def rests(loop, shape, quick):
    """The remaining bytes for which an exit is proved: every number without a step. For parts before others, multiples
    of 64 bytes."""
    found = range(loop.enough - loop.step, loop.enough)
    if not shape.flags & LAST:
        return [n for n in found if n % 64 == 0]
    if shape.in_place and loop.in_place:
        found = loop.in_place
    return found[5::101] if quick else found


def least(kernel):
    loop = loop_of(kernel)
    return loop and loop.least


def tasks(kernel, args):
    return [(str(shape), shape) for shape in (SHAPES[::3] if args.quick else SHAPES) if shape.opens in loop_of(kernel).opens]


def one(kernel, task, args, found):
    _, shape = task
    loop = loop_of(kernel)
    anew()
    state, *more = induction(kernel, loop, shape)
    found.add(*more)
    for rest in rests(loop, shape, args.quick):
        if len(terms.ATOMS) > 600_000:
            anew()
            state, _, _ = induction(kernel, loop, shape)
        found.end(f"{rest} bytes left", leave, kernel, loop, shape, state, rest, args.queries)


def planted(kernel, args, attempt):
    right = loop_of(kernel)

    def attempts(**change):
        loop = engine.changed(right, classes=[classes[:1] for classes in right.classes], **change)

        def show():
            anew()
            state, _, _ = induction(kernel, loop, Way())
            leave(kernel, loop, Way(), state, loop.enough - 59)
        return show
    (first, low), (second, high), *limbs = right.limbs
    attempt("the counter goes on by one more", attempts(blocks=right.blocks + 1))
    attempt("a pass has 64 bytes more", attempts(step=right.step + 64))
    attempt("limbs are in another order", attempts(limbs=[(second, low), (first, high), *limbs]))
    attempt("there is a pass with a pass less", attempts(enough=right.enough - right.step))
    attempt.without(LEFT_OUT[name_of(kernel)], attempts(), head(kernel, right))
