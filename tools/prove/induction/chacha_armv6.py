"""ChaCha20-Poly1305 in integer registers on 32-bit ARM, for every length, by induction.

    induction.chacha_armv6 [--quick] [--planted] [--jobs N] [--queries FOLDER] OBJECT...

The kernel has two consecutive loops: E encrypts 64 bytes in a pass, and A authenticates 16. When sealing, E is
first, and A authenticates its output; when opening, A is first. Each loop has an invariant. The address of its text,
the remaining length, the counter and the accumulator have any value, in the cells given here. Every other cell has
its value from the start of the loop, or counts as never written. Which of the two holds is found by trial. These are
proved:

    base    from the first instruction to the first loop, for all lengths; when opening, for each number of bytes after
            whole blocks
    steps   of E and of A
    between from E's last pass, of 1 to 64 bytes, to A; or from A's last block and the bytes after it to E
    exit    from A's last block and the bytes after it, or from E's last pass, to the return

Cells that E does not change are the same for A, and vice versa. So the first loop's state is part of the second one's.
"""
import itertools

import spec
from induction import chacha_arm, engine
from induction.chacha_arm import ADS, LONGEST, general, scratch
from induction.engine import SHAPES, Way, anew, find, text_named
from run import kernels
from run.kernels import AD, Call, text_symbols
from run.packets import chacha_left, h_before, residue
from spec.args import FIRST, LAST, WHOLE
from values import linear, terms
from values.terms import Unproved, add_modular, const, extend, same, symbol

NAME = "sealane_chacha20poly1305_armv6"
LEAST = 128
WEIGHTS = (0, 32, 64, 96, 128)
MESSAGE, LIMIT, PHASE, REMAINING, IN, OUT, REST, COUNTER = (scratch(o) for o in (256, 260, 264, 276, 280, 284, 340, 432))
IN_MEMORY = [scratch(320 + 4 * i) for i in range(5)]
IN_REGISTERS = [general(r) for r in range(2, 7)]
PHASE_TEXT = 2


class Loop:
    """begin: the text of its first instruction, and which of those instructions it is. limbs: the cells of the
    accumulator. places: cell -> its content in a run: "in", "out", "message", ... carries: the last limb is a
    carry, which is 0 in the first pass. Then the other limbs have separate bounds."""

    def __init__(self, begin, step, limbs, places, weights=WEIGHTS, carries=False):
        self.begin, self.step, self.limbs, self.places, self.weights, self.carries = begin, step, limbs, places, weights, carries


class Layout:
    """The cells and addresses of a kernel."""

    phase, phase_text = PHASE, PHASE_TEXT
    block_0 = True  # whether the loop that encrypts makes block 0
    ad_cases = callers = ({},)  # Call.cases for associated data, and for pointers that are read only before the loops

    def loops(self, shape):
        e = Loop(("add ip, r1, #0x80", 0), 64, IN_MEMORY, {IN: "in", OUT: "out", REMAINING: "left", COUNTER: "counter"})
        a = Loop(("ldr r7, [r8]", 0), 16, IN_REGISTERS,
                 {general(8): "message", MESSAGE: "message", LIMIT: "limit", REST: "rest", COUNTER: "counter"})
        if shape.opens:
            a.places.update({IN: "begin in", OUT: "begin out", REMAINING: "bytes"})
        return e, a


LAYOUTS = {NAME: Layout()}  # chacha_risc.py has those of other instruction sets


def head(kernel, loop):
    if kernel.head is None:
        kernel.head = {}
    if loop.begin not in kernel.head:
        kernel.head[loop.begin] = find(kernel, *loop.begin).address
    return kernel.head[loop.begin]


class Part(chacha_arm.Part):
    def known(self, v, what):
        found = linear.place(v)
        if what == "an address" and found and found[0] is self.message and abs(found[1]) < kernels.FAR:
            return found[0].address + found[1]
        return super().known(v, what)

    message = None


class Invariant:
    """kept: cells with unchanged values. bounds: those of limbs, in the first pass or later. written: addresses in
    scratch. first: whether put() starts the first pass."""

    def __init__(self, loop):
        self.loop, self.kept, self.written, self.first = loop, None, set(), False
        self.bounds = {first: [0] * len(loop.limbs) for first in ((False, True) if getattr(loop, "carries", False) else (False,))}

    def enter(self, call):
        """Adds a run that has reached the loop. Cells with other values are no longer kept."""
        found = call.cells()
        if self.kept is None:
            special = {*self.loop.places, *self.loop.limbs}
            self.kept = {c: v for c, v in found.items() if v.defined and c not in special and linear.place(v) is None}
        before = len(self.kept)
        self.kept = {c: v for c, v in self.kept.items() if c in found and found[c].defined and (found[c] is v or same(found[c], v))}
        first = len(self.bounds) > 1 and call.get(self.loop.limbs[-1]).constant == 0
        wider = [max(m, call.get(c).most) for m, c in zip(self.bounds[first], self.loop.limbs)]
        self.written |= {c[1] for c in found if c[0] == "memory"}
        changed = before != len(self.kept) or wider != self.bounds[first]
        self.bounds = {**self.bounds, first: wider}
        return changed

    def put(self, call, **values):
        call.put(self.kept)
        cells = {c: values[name] for c, name in self.loop.places.items()}
        for i, (c, most) in enumerate(zip(self.loop.limbs, self.bounds[self.first])):
            cells[c] = symbol(f"h{i} at most {most}", max(1, most.bit_length()), most)
        for c, v in cells.items():
            call.set_cell(c, v)
        return accumulated(call, self.loop)


def accumulated(call, loop):
    limbs = [call.get(c) for c in loop.limbs]
    if not all(v.defined for v in limbs):
        raise Unproved("the accumulator is not there")
    return residue(limbs, getattr(loop, "weights", WEIGHTS))


def expect_places(call, loop, **values):
    """Requires that the cells have these contents: each a (base, offset), or a value."""
    for cell, name in loop.places.items():
        got, want = call.get(cell), values[name]
        good = linear.place(got) == want if isinstance(want, tuple) else got.defined and same(got, want)
        if not good:
            raise Unproved(f"{name} at {cell} is not what it should be")


def begin(kernel, shape, e, a, of=None, ad_bytes=0, section=None):
    """Runs from the first instruction to the first loop. section: associated data of any length (ad.py)."""
    layout = LAYOUTS[kernel.name]
    opens, counter = shape.opens, symbol("state counter", 32)
    call = Part(kernel, shape, ([], []), None, ad_bytes, counter)
    call.left = call.length("bytes", LEAST, **({"modulus": 16, "of": (of,)} if opens else {}))
    call.set(bytes=call.left + 0, ad_bytes=const(ad_bytes, 64))
    ad = text_symbols("ad ", ad_bytes)
    if ad:
        call.memory.poke(AD, ad)
    h = 0 if shape.flags & FIRST else residue(h_before())
    if section:
        section.arguments(call)
        h = section.through(call, head(kernel, a if opens else e))
    else:
        h = spec.poly1305(h, call.r, spec.pad16(ad) if ad else None)
    places = {"in": (call.source, 0), "out": (call.target, 0), "left": (call.left, 0), "counter": call.counter}
    if not opens:
        if not section:
            call.go(0, head(kernel, e))
            if shape.flags & FIRST and layout.block_0:
                call.go(head(kernel, e), head(kernel, e))
        expect_places(call, e, **places)
    else:
        if not section:
            call.go(0, head(kernel, a))
        while call.get(layout.phase).constant != layout.phase_text:  # blocks of associated data
            call.go(head(kernel, a), head(kernel, a))
        end = linear.place(terms.add(call.width, call.source + 0, call.left + 0)[0])[0]
        expect_places(call, a, message=(call.source, 0), limit=(end, -of), rest=const(of, call.width), counter=call.counter,
                      **{"begin in": (call.source, 0), "begin out": (call.target, 0), "bytes": (call.left, 0)})
    if accumulated(call, a if opens else e) != h:
        raise Unproved("the accumulator is not that of the specification where the loop begins")
    return call


X = "any counter"


def already_done(kernel):
    return linear.Base("done", 64, LONGEST[kernel.isa.POINTER] >> 1, modulus=64, width=kernel.isa.POINTER)


def encrypting(kernel, shape, inv, n):
    """Starts a run at E with n remaining bytes, or (None) any number with which more than a pass follows."""
    done = already_done(kernel)
    size = n or 64
    texts = [(0, size, True, shape.in_place)], [] if shape.in_place else [(0, size, False, True)]
    call = Part(kernel, shape, texts, done, 0, symbol("state counter", 32))
    call.left = call.length("left", 65)
    call.all_done, call.counter = done, symbol(X, 32)
    call.set(bytes=call.length("bytes", 1) + 0 if n is None else done + n, ad_bytes=symbol("ad bytes", 64))
    h = inv.put(call, **{"in": call.source + 0}, out=call.target + 0, counter=call.counter, left=call.left + 0 if n is None else const(n, call.width))
    text = text_named("now", size)
    call.memory.poke(call.source.address, text)
    return call, h, call.cipher(0, text)


def step_e(kernel, shape, e, inv, blocks=1):
    call, h, result = encrypting(kernel, shape, inv, None)
    call.go(head(kernel, e), head(kernel, e))
    call.expect("the text", call.target.address, result)
    expect_places(call, e, **{"in": (call.source, 64)}, out=(call.target, 64), left=(call.left, -64), counter=add_modular(call.counter, const(blocks, 32)))
    if accumulated(call, e) != h:
        raise Unproved("encrypting changes the accumulator")
    return call


def authenticating(kernel, shape, inv, rest, step=16):
    """Starts a run at A, with the last whole block and `rest` bytes after it, or (None) any number of blocks, at least
    two."""
    call = Part(kernel, shape, ([], []), already_done(kernel), 0, symbol("state counter", 32))
    width, at = call.width, call.source.address if shape.opens else call.target.address
    modulus, of = call.cases.get(at, (1, (0,)))
    call.message = message = linear.Base("message", 1 << 20, 1 << width - 2, address=kernels.IN + 1, modulus=modulus, of=of, width=width)
    size = step + (rest or 0)
    call.memory.region("message", message.address, size, True, False, modulus if of == (0,) else 1)
    text = text_named("now", size)
    call.memory.poke(message.address, text)
    left = linear.Base("blocks left", 32, 1 << width - 2, modulus=16, width=width)
    limit = linear.Base("limit", 1 << 20, (1 << width - 1) - 1, width=width)
    linear.relate(limit, message, left)
    call.left = call.length("bytes", LEAST)
    call.counter = symbol(X, 32)
    call.values = {"message": message + 0, "limit": limit + 0 if rest is None else message + step, "counter": call.counter,
                   "rest": extend(symbol("rest", 4), width) if rest is None else const(rest, width),
                   "begin in": call.begin_in + 0, "begin out": call.begin_out + 0, "bytes": call.left + 0}
    call.set(bytes=call.left + 0, ad_bytes=symbol("ad bytes", 64))
    return call, inv.put(call, **call.values), text


def step_a(kernel, shape, a, inv, step=16):
    call, h, text = authenticating(kernel, shape, inv, None, step)
    call.go(head(kernel, a), head(kernel, a))
    values = dict(call.values, message=(call.message, step))
    expect_places(call, a, **values)
    if accumulated(call, a) != spec.poly1305(h, call.r, text):
        raise Unproved("the accumulator is not that of the specification after a block")
    return call


def finish(kernel, shape, call, h, counter, written, folder):
    """Checks the results of the call. h: the accumulator after all text. counter: the one after it."""
    call.left_behind()
    call.wiped(written)
    chacha_left(call, shape.flags, h, call.r, call.s, (symbol("ad bytes", 64), symbol("total", 64)), [extend(counter, 64)], folder)


def induction(kernel, shape, blocks=1, step=16, section=None):
    """Proves both invariants. section: includes associated data of any length. Returns the loops, the invariants, and
    the numbers of cases and instructions."""
    layout, cases = LAYOUTS[kernel.name], Call.cases
    e, a = layout.loops(shape)
    first, second = Invariant(a if shape.opens else e), Invariant(e if shape.opens else a)
    last, runs = shape.flags & LAST, []
    for i, of in enumerate((range(16) if last else (0,)) if shape.opens else (None,)):
        some = ((0, *ADS) if i == 0 else (ADS[i % len(ADS)],)) if shape.flags & FIRST else (0,)
        for ad_bytes, any_ in [*((n, None) for n in some), *([(0, section)] if section else [])]:
            for caller, ad in itertools.product(layout.callers, layout.ad_cases if ad_bytes else ({},)):
                Call.cases = {**cases, **caller, **ad}
                runs.append(begin(kernel, shape, e, a, of, ad_bytes, any_))
                first.enter(runs[-1])
    Call.cases = cases

    def steps(inv):
        changed = True
        while changed:
            changed = False
            for inv.first in inv.bounds:
                runs.append(step_e(kernel, shape, e, inv, blocks) if inv.loop is e else step_a(kernel, shape, a, inv, step))
                changed = inv.enter(runs[-1]) or changed
    steps(first)
    if shape.opens:
        for first.first, rest in itertools.product(first.bounds, range(16) if last else (0,)):
            call, h, text = authenticating(kernel, shape, first, rest, step)
            call.go(head(kernel, a), head(kernel, e))
            if accumulated(call, e) != spec.poly1305(h, call.r, spec.pad16(text)):
                raise Unproved("the accumulator is not that of the specification behind the text")
            v = call.values
            expect_places(call, e, counter=v["counter"], left=v["bytes"], **{"in": v["begin in"], "out": v["begin out"]})
            second.enter(call)
            runs.append(call)
    else:
        for n in range(1, 65) if last else (64,):
            call, h, result = encrypting(kernel, shape, first, n)
            call.go(head(kernel, e), head(kernel, a))
            call.expect("the text", call.target.address, result)
            expect_places(call, a, message=(call.begin_out, 0), limit=(call.target, n & -16), rest=const(n & 15, call.width),
                          counter=add_modular(call.counter, const(1, 32)))
            if accumulated(call, a) != h:
                raise Unproved("encrypting changes the accumulator")
            second.enter(call)
            runs.append(call)
    second.written |= first.written
    steps(second)
    return (e, a, first, second), len(runs), sum(c.machine.steps for c in runs)


def leave(kernel, shape, state, number, folder=None):
    """Proves the run to the end. When opening, it starts at E with `number` remaining bytes. When sealing, it starts
    at A with `number` bytes after the last whole block."""
    e, a, _, second = state
    if shape.opens:
        call, h, result = encrypting(kernel, shape, second, number)
        call.go(head(kernel, e), None)
        call.expect("the text", call.target.address, result)
        finish(kernel, shape, call, h, add_modular(call.counter, const(1, 32)), second.written, folder)
    else:
        for second.first in second.bounds:
            call, h, text = authenticating(kernel, shape, second, number)
            call.go(head(kernel, a), None)
            finish(kernel, shape, call, spec.poly1305(h, call.r, spec.pad16(text)), call.counter, second.written, folder)
    return call.machine.steps


def least(kernel):
    return LEAST if kernel.name == NAME else None


def tasks(kernel, args):
    return [(str(shape), shape) for shape in (SHAPES[3:4] if args.quick else SHAPES)]


def one(kernel, task, args, found):
    _, shape = task
    anew()
    state, *more = induction(kernel, shape)
    found.add(*more)
    ends = (range(1, 65) if shape.opens else range(16)) if shape.flags & LAST else (64 if shape.opens else 0,)
    for n in ends[5::9] if args.quick else ends:
        found.end(f"end, {n} bytes", leave, kernel, shape, state, n, args.queries)


def planted(kernel, args, attempt):
    def wrong(what, text=None, number=0, opens=False, **change):
        def show():
            anew()
            state, _, _ = induction(kernel, Way(WHOLE, opens), **change)
            leave(kernel, Way(WHOLE, opens), state, 5)
        attempt(what, show, text and find(kernel, text, number, head(kernel, Layout().loops(Way(WHOLE, opens))[0])))
    wrong("the counter goes on by two", blocks=2)
    wrong("blocks of 32 bytes are authenticated", step=32)
    wrong("the text does not move", "str r2, [r1, #-8]")
    if args.quick:
        return
    wrong("the output does not move", "str r3, [r1, #-4]")
    wrong("the remaining length does not change", "str fp, [r1, #-0xc]")
    wrong("the counter does not go on", "str r2, [r1, #0x90]")
    wrong("what is authenticated does not move", "str r8, [r1, #-0x20]")
    wrong("a product is left out", "umaal")
    wrong("a carry is dropped", "adcs r3, ip", opens=True)
    wrong("a wipe is left out", "stm r1!", 3)
