"""Every length at once, of ChaCha20-Poly1305 with RISC-V's vectors, by induction over passes.

    induction.chacha_vector [--quick] [--planted] [--jobs N] [--queries FOLDER] OBJECT...

A pass encrypts the blocks that vectors hold, 4 with vectors of 128 bits, and authenticates those of the previous pass.
Where it begins, scratch has the previous ciphertext, which the accumulator does not have yet. A packet's first pass
begins with block 0. It has a block of text less, and its ciphertext stands 64 bytes further on; this is a separate state.

    base    from the first instruction to the second pass
    step    from either state, to the second one: with more than 1,024 bytes left, the most that a pass may have, and
            with each number of blocks up to there that surely fills the vectors
    exit    from either state, for each number of bytes that such steps may leave, to the return; in place for every
            23rd

The states keep what no pass changes, which is found by trying.
"""
import itertools

import spec
from induction.chacha_armv6 import Invariant, Loop, expect_accumulator, expect_places
from induction.chacha_loop import ADS, CARRY, LONGEST, PRODUCT, Part, general, head, inside, registers, scratch, texts
from induction.engine import SHAPES, Way, anew, text_named
from run.kernels import SCRATCH
from spec.args import FIRST, LAST, WHOLE
from values import linear
from values.terms import add_modular, const, undefined

MOST = 1024  # bytes of a pass
LEAST = MOST + 1
TEXT, COUNTER = SCRATCH + 512, scratch(256 + 48)
DONE = general(26)
PASS = Loop(("ld s3, 0x50(a0)", 1), registers((5, 6, 7), 64), {DONE: "done", COUNTER: "counter"})
CRYPT = Loop(("ld s3, 0x50(a0)", 3), [], {})  # .Ltext


def bytes_of_pass(kernel):
    return min(MOST, 64 * kernel.isa.vlen // 32)


def limit(kernel):
    """With more bytes left, a pass has as many blocks as vectors hold. A CPU may choose fewer if these are not twice
    as many."""
    n = bytes_of_pass(kernel)
    return min(MOST, 2 * n - 64 if kernel.isa.fewest else n)


class State(Invariant):
    """lead: bytes ahead of the ciphertext in scratch, 64 of block 0 or none."""

    def __init__(self, lead):
        super().__init__(PASS)
        self.lead = lead


def arrive(call, state, done, blocks, ciphertext, h):
    """A run is where a pass begins. done: bytes; blocks: that it has encrypted; ciphertext: what scratch should have;
    h: the accumulator."""
    expect_places(call, PASS, done=done, counter=add_modular(call.counter, const(blocks, 32)))
    call.expect("the ciphertext in scratch", TEXT + state.lead, ciphertext)
    expect_accumulator(call, PASS, h, "where a pass begins")
    return state.enter(call)


def begin(kernel, shape, state, ad_bytes):
    """From the first instruction to the second pass."""
    n, place = bytes_of_pass(kernel) - state.lead, head(kernel, PASS)
    call = Part(kernel, shape, texts(shape, n, again=False), None, ad_bytes)
    call.set(bytes=call.length("bytes", LEAST) + 0)
    text, _ = call.put_text(n)
    h = call.enter(place, ad_bytes)
    call.go(place, place)
    result = call.expect_output(text)
    arrive(call, state, const(n, 64), n // 64, text if shape.opens else result, h)
    return call


def start(kernel, shape, state, size, bounds=None):
    """A run from where a pass begins, with `size` bytes of text. bounds: of the bytes left, if these are others.
    Returns it, the accumulator after the previous ciphertext, and the text."""
    call = inside(kernel, shape, texts(shape, size, again=False))
    call.set(bytes=call.done + size)
    if bounds:
        all_ = call.length("bytes", 64)
        linear.relate(all_, call.done, linear.Base("left", *bounds))
        call.set(bytes=all_ + 0)
    h = state.put(call, done=call.done + 0, counter=call.counter)
    before = text_named("before", bytes_of_pass(kernel) - state.lead)
    call.poke(TEXT + state.lead, before)
    return call, spec.poly1305(h, call.r, before), call.put_text(size)[0]


def step(kernel, shape, state, following, bounds, blocks=0):
    """bounds: of the bytes left."""
    n = bytes_of_pass(kernel)
    call, h, text = start(kernel, shape, state, n, bounds)
    call.go(head(kernel, PASS), head(kernel, PASS))
    result = call.expect_output(text)
    return call, arrive(call, following, (call.done, n), n // 64 + blocks, text if shape.opens else result, h)


def induction(kernel, shape, blocks=0):
    """Returns the states, and the numbers of cases and instructions."""
    states, first = {lead: State(lead) for lead in (64, 0)}, 64 if shape.flags & FIRST else 0
    runs = [begin(kernel, shape, states[first], n) for n in (ADS if first else (0,))]
    lefts = [(LEAST, LONGEST[64]), *((n + 1, n + 64) for n in range(limit(kernel), MOST, 64))]
    if first:
        runs += [step(kernel, shape, states[64], states[0], left, blocks)[0] for left in lefts]
    changed = True
    while changed:
        found = [step(kernel, shape, states[0], states[0], left, blocks) for left in lefts]
        changed = any(more for _, more in found)
        runs += [call for call, _ in found]
    states[64].written = states[0].written = states[64].written | states[0].written
    return [states[lead] for lead in dict.fromkeys((first, 0))], len(runs), sum(c.machine.steps for c in runs)


def rounds(kernel, shape, state, n):
    """The first part of a pass, before it has text, with any number of bytes left that are as many blocks as n. Returns
    the cells there, without lengths and pointers, and the number of instructions."""
    least = (n - 1) // 64 * 64 + 1
    call, *_ = start(kernel, shape, state, 0, (least, least + 63))
    call.go(head(kernel, PASS), head(kernel, CRYPT))
    return {c: undefined(v.width) if linear.place(v) else v for c, v in call.cells().items()}, call.machine.steps


def leave(kernel, shape, state, n, cells, folder=None):
    """To the return. cells: from rounds()."""
    call, h, text = start(kernel, shape, state, n)
    call.put(cells)
    call.set_cell(DONE, call.done + 0)
    call.go(head(kernel, CRYPT), None)
    result = call.expect_output(text)
    authenticated = text if shape.opens else result
    h = spec.poly1305(h, call.r, spec.pad16(authenticated) if shape.flags & LAST else authenticated)
    call.finish(h, [add_modular(call.counter, const(n // 64, 32))], state.written, folder)
    return call.machine.steps


def least(kernel):
    return LEAST if kernel.name.endswith(("chacha20poly1305_rvv", "chacha20poly1305_zvkb")) else None


def tasks(kernel, args):
    return [(str(shape), shape) for shape in (SHAPES[:1] if args.quick else SHAPES)]


def one(kernel, task, args, found):
    _, shape = task
    anew()
    states, *more = induction(kernel, shape)
    found.add(*more)
    for state in states:
        most = limit(kernel)
        few = (LEAST if state.lead else most + 1) - bytes_of_pass(kernel) + state.lead
        ends = [n for n in range(few, most + 1) if shape.flags & LAST or n % 64 == 0]
        ends = ends[7::50] if args.quick else ends[::23 if shape.in_place else 1]
        for _, same in itertools.groupby(ends, lambda n: (n - 1) // 64):
            first, *others = same
            cells, steps = rounds(kernel, shape, state, first)
            found.add(0, steps)
            for n in (first, *others):
                found.end(f"end, {n} bytes", leave, kernel, shape, state, n, cells, args.queries)


def planted(kernel, args, attempt):
    def attempts(opens=False, **change):
        def show():
            anew()
            states, _, _ = induction(kernel, Way(WHOLE, opens), **change)
            leave(kernel, Way(WHOLE, opens), states[0], 5, rounds(kernel, Way(WHOLE, opens), states[0], 5)[0])
        return show
    place = head(kernel, PASS)
    attempt("the counter goes on by one more", attempts(blocks=1))
    attempt.without([("what is done does not change", "add s10, s10, a6"), (PRODUCT, "mulhu", 2)], attempts(), place)
    attempt.without([(CARRY, "sltu", 2)], attempts(True), place)
