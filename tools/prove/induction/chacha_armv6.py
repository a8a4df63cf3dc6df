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
from induction.chacha_loop import ADS, Part, alike, general, head, in_row, inside, registers, scratch, texts
from induction.engine import SHAPES, Way, anew, text_named
from run import kernels
from run.kernels import Call
from spec.args import FIRST, LAST, WHOLE
from values import linear, terms
from values.terms import Unproved, add_modular, const, extend, same, symbol

NAME = "sealane_chacha20poly1305_armv6"
LEAST = 128
MESSAGE, LIMIT, PHASE, REMAINING, IN, OUT, REST, COUNTER = (scratch(o) for o in (256, 260, 264, 276, 280, 284, 340, 432))


class Loop:
    """head, limbs, pending: as in chacha_loop.Loop. places: cell -> its content in a run: "in", "out", "message", ...
    carries: the last limb is a carry, which is 0 in the first pass. Then the other limbs have separate bounds."""

    def __init__(self, head, limbs, places, carries=False, pending=False):
        self.head, self.limbs, self.places, self.carries, self.pending = head, limbs, places, carries, pending


class Layout:
    """The cells and addresses of a kernel."""

    phase, phase_text = PHASE, 2
    block_0 = True  # whether the loop that encrypts makes block 0
    ad_cases = callers = ({},)  # Call.cases for associated data, and for pointers that are read only before the loops

    def loops(self, shape):
        e = Loop(("add ip, r1, #0x80", 0), in_row([scratch(320 + 4 * i) for i in range(5)], 32),
                 {IN: "in", OUT: "out", REMAINING: "left", COUNTER: "counter"})
        a = Loop(("ldr r7, [r8]", 0), registers(range(2, 7), 32),
                 {general(8): "message", MESSAGE: "message", LIMIT: "limit", REST: "rest", COUNTER: "counter"})
        if shape.opens:
            a.places.update({IN: "begin in", OUT: "begin out", REMAINING: "bytes"})
        return e, a


LAYOUTS = {NAME: Layout()}  # chacha_risc.py has those of other instruction sets


class Invariant:
    """kept: cells with unchanged values. bounds: those of limbs, in the first pass or later. written: addresses in
    scratch. first: whether put() starts the first pass."""

    def __init__(self, loop):
        self.loop, self.cells, self.kept, self.written, self.first = loop, [c for c, _ in loop.limbs], None, set(), False
        self.bounds = {first: [0] * len(loop.limbs) for first in ((False, True) if loop.carries else (False,))}

    def enter(self, call):
        """Adds a run that has reached the loop. Cells with other values are no longer kept."""
        found = call.cells()
        if self.kept is None:
            special = {*self.loop.places, *self.cells}
            self.kept = {c: v for c, v in found.items() if v.defined and c not in special and linear.place(v) is None}
        before = len(self.kept)
        self.kept = {c: v for c, v in self.kept.items() if alike(found.get(c), v)}
        first = len(self.bounds) > 1 and call.get(self.cells[-1]).constant == 0
        wider = [max(m, call.get(c).most) for m, c in zip(self.bounds[first], self.cells)]
        self.written |= call.written()
        changed = before != len(self.kept) or wider != self.bounds[first]
        self.bounds = {**self.bounds, first: wider}
        return changed

    def put(self, call, **values):
        """Starts a run with this state. Returns its accumulator."""
        call.put(self.kept)
        for c, name in self.loop.places.items():
            call.set_cell(c, values[name])
        for i, (c, most) in enumerate(zip(self.cells, self.bounds[self.first])):
            call.set_cell(c, symbol(f"h{i} at most {most}", max(1, most.bit_length()), most))
        return call.accumulated(self.loop)


def expect_places(call, loop, **values):
    """Requires that the cells have these contents: each a (base, offset), or a value."""
    for cell, name in loop.places.items():
        got, want = call.get(cell), values[name]
        good = linear.place(got) == want if isinstance(want, tuple) else got.defined and same(got, want)
        if not good:
            raise Unproved(f"{name} at {cell} is not what it should be")


def expect_accumulator(call, loop, h, where):
    if call.accumulated(loop) != h:
        raise Unproved(f"the accumulator is not that of the specification {where}")


def begin(kernel, shape, e, a, of=None, ad_bytes=0, section=None):
    """Runs from the first instruction to the first loop."""
    layout, opens = LAYOUTS[kernel.name], shape.opens
    first = a if opens else e
    place = head(kernel, first)
    call = Part(kernel, shape, ([], []), None, ad_bytes)
    call.left = call.length("bytes", LEAST, **({"modulus": 16, "of": (of,)} if opens else {}))
    call.set(bytes=call.left + 0)
    h = call.enter(place, ad_bytes, section)
    source, target, left = (call.source, 0), (call.target, 0), (call.left, 0)
    if opens:
        while call.get(layout.phase).constant != layout.phase_text:  # blocks of associated data
            call.go(place, place)
        end = linear.place(terms.add(call.width, call.source + 0, call.left + 0)[0])[0]
        expect_places(call, a, message=source, limit=(end, -of), rest=const(of, call.width), counter=call.counter,
                      **{"begin in": source, "begin out": target, "bytes": left})
    else:
        if shape.flags & FIRST and layout.block_0 and not section:
            call.go(place, place)
        expect_places(call, e, **{"in": source}, out=target, left=left, counter=call.counter)
    expect_accumulator(call, first, h, "where the loop begins")
    return call


def encrypting(kernel, shape, inv, n):
    """Starts a run at E with n remaining bytes, or (None) any number with which more than a pass follows."""
    size = n or 64
    call = inside(kernel, shape, texts(shape, size, again=False))
    call.left = call.length("left", 65)
    call.set(bytes=call.length("bytes", 1) + 0 if n is None else call.done + n)
    h = inv.put(call, **{"in": call.source + 0}, out=call.target + 0, counter=call.counter, left=call.left + 0 if n is None else const(n, call.width))
    return call, h, call.put_text(size)[0]


def step_e(kernel, shape, e, inv, blocks=1):
    call, h, text = encrypting(kernel, shape, inv, None)
    call.go(head(kernel, e), head(kernel, e))
    call.expect_output(text)
    counter = add_modular(call.counter, const(blocks, 32))
    expect_places(call, e, **{"in": (call.source, 64)}, out=(call.target, 64), left=(call.left, -64), counter=counter)
    expect_accumulator(call, e, h, "after a pass that encrypts")
    return call


def authenticating(kernel, shape, inv, rest, step=16):
    """Starts a run at A, with the last whole block and `rest` bytes after it, or (None) any number of blocks, at least
    two."""
    call = inside(kernel, shape, ([], []))
    width, at = call.width, call.source.address if shape.opens else call.target.address
    modulus, of = call.cases.get(at, (1, (0,)))
    call.message = message = linear.Base("message", 1 << 20, 1 << width - 2, address=kernels.IN + 1, modulus=modulus, of=of, width=width)
    text = text_named("now", step + (rest or 0))
    call.memory.region("message", message.address, text.width // 8, True, False, modulus if of == (0,) else 1)
    call.memory.poke(message.address, text)
    call.left = call.length("bytes", LEAST)
    call.values = {**blocks_from(call, message, rest, step), "begin in": call.begin_in + 0, "begin out": call.begin_out + 0, "bytes": call.left + 0}
    call.set(bytes=call.left + 0)
    return call, inv.put(call, **call.values), text


def blocks_from(call, message, rest, step=16):
    """The values of A where it authenticates from `message` on. rest: as for authenticating()."""
    width = call.width
    left = linear.Base("blocks left", 32, 1 << width - 2, modulus=16, width=width)
    limit = linear.Base("limit", 1 << 20, (1 << width - 1) - 1, width=width)
    linear.relate(limit, message, left)
    return {"message": message + 0, "limit": limit + 0 if rest is None else message + step, "counter": call.counter,
            "rest": extend(symbol("rest", 4), width) if rest is None else const(rest, width)}


def step_a(kernel, shape, a, inv, step=16):
    call, h, text = authenticating(kernel, shape, inv, None, step)
    call.go(head(kernel, a), head(kernel, a))
    expect_places(call, a, **dict(call.values, message=(call.message, step)))
    expect_accumulator(call, a, spec.poly1305(h, call.r, text), "after a block")
    return call


def induction(kernel, shape, blocks=1, step=16, section=None):
    """Proves both invariants. section: includes associated data of any length. Returns the loops, the invariants, and
    the numbers of cases and instructions."""
    layout, cases = LAYOUTS[kernel.name], Call.cases
    e, a = layout.loops(shape)
    first, second = Invariant(a if shape.opens else e), Invariant(e if shape.opens else a)
    last, runs = shape.flags & LAST, []
    for i, of in enumerate((range(16) if last else (0,)) if shape.opens else (None,)):
        some = (ADS if i == 0 else (ADS[1 + i % 4],)) if shape.flags & FIRST else (0,)
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
            expect_accumulator(call, e, spec.poly1305(h, call.r, spec.pad16(text)), "behind the text")
            v = call.values
            expect_places(call, e, counter=v["counter"], left=v["bytes"], **{"in": v["begin in"], "out": v["begin out"]})
            second.enter(call)
            runs.append(call)
    else:
        for n in range(1, 65) if last else (64,):
            call, h, text = encrypting(kernel, shape, first, n)
            call.go(head(kernel, e), head(kernel, a))
            call.expect_output(text)
            expect_places(call, a, message=(call.begin_out, 0), limit=(call.target, n & -16), rest=const(n & 15, call.width),
                          counter=add_modular(call.counter, const(1, 32)))
            expect_accumulator(call, a, h, "after the last pass that encrypts")
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
        call, h, text = encrypting(kernel, shape, second, number)
        call.go(head(kernel, e), None)
        call.expect_output(text)
        call.finish(h, [add_modular(call.counter, const(1, 32))], second.written, folder)
    else:
        for second.first in second.bounds:
            call, h, text = authenticating(kernel, shape, second, number)
            call.go(head(kernel, a), None)
            call.finish(spec.poly1305(h, call.r, spec.pad16(text)), [call.counter], second.written, folder)
    return call.machine.steps


def least(kernel):
    return LEAST if kernel.name == NAME else None


def tasks(kernel, args):
    return [(str(shape), shape) for shape in (SHAPES[3:4] if args.quick else SHAPES)]


def every_end(kernel, shape, args, found, section=None):
    """Proves the induction and its exits."""
    state, *more = induction(kernel, shape, section=section)
    found.add(*more)
    ends = (range(1, 65) if shape.opens else range(16)) if shape.flags & LAST else (64 if shape.opens else 0,)
    for n in ends[5::9] if args.quick else ends:
        found.end(f"end, {n} bytes", leave, kernel, shape, state, n, args.queries)


def one(kernel, task, args, found):
    anew()
    every_end(kernel, task[1], args, found)


# What planted faults omit, when sealing: (name of the fault, start of an instruction's text, which one).
LEFT_OUT = [("the text does not move", "str r2, [r1, #-8]"), ("the output does not move", "str r3, [r1, #-4]"),
            ("the remaining length does not change", "str fp, [r1, #-0xc]"), ("the counter does not go on", "str r2, [r1, #0x90]"),
            ("what is authenticated does not move", "str r8, [r1, #-0x20]"), ("a product is left out", "umaal"), ("a wipe is left out", "stm r1!", 3)]


def attempts(kernel, before=anew, opens=False, **change):
    """What planted faults attempt. before: is called first. change: of arguments of induction()."""
    def show():
        before()
        state, _, _ = induction(kernel, Way(WHOLE, opens), **change)
        leave(kernel, Way(WHOLE, opens), state, 5)
    return show


def planted(kernel, args, attempt):
    place = head(kernel, Layout().loops(Way())[0])
    attempt("the counter goes on by two", attempts(kernel, blocks=2))
    attempt("blocks of 32 bytes are authenticated", attempts(kernel, step=32))
    attempt.without(LEFT_OUT[:1] if args.quick else LEFT_OUT, attempts(kernel), place)
    if not args.quick:
        attempt.without([("a carry is dropped", "adcs r3, ip")], attempts(kernel, opens=True), place)
