"""Every length at once, of ChaCha20-Poly1305 with RISC-V's vectors, by induction over passes.

    induction.chacha_vector [--quick] [--planted] [--jobs N] [--queries FOLDER] OBJECT...

A pass encrypts the blocks that vectors hold, 4 with vectors of 128 bits, and authenticates those of the previous pass.
Where it begins, scratch has the previous ciphertext, which the accumulator does not have yet. A packet's first pass
begins with block 0. It has a block of text less, and its ciphertext stands 64 bytes further on; this is a separate state.

    base    from the first instruction to the second pass
    step    from either state with more than 1,024 bytes left, the most that a pass may have, to the second state
    exit    from either state, for each number of bytes that such steps may leave, to the return; in place for every
            23rd

The states keep what no pass changes, which is found by trying.
"""
import spec
from induction import chacha_arm
from induction.chacha_arm import general, scratch
from induction.chacha_armv6 import Invariant, Loop, accumulated, expect_places
from induction.engine import SHAPES, Way, anew, find, text_named
from run.kernels import AD, SCRATCH, text_symbols
from run.packets import chacha_left, h_before, residue
from spec.args import FIRST, LAST, WHOLE
from values import linear
from values.terms import Unproved, add_modular, const, extend, symbol

ADS = (0, 1, 13, 16, 40)
MOST = 1024  # bytes of a pass
LEAST = MOST + 1
TEXT, COUNTER = SCRATCH + 512, scratch(256 + 48)
PASS = Loop(("ld s3, 0x50(a0)", 1), 0, [general(r) for r in (5, 6, 7)], {general(26): "done", COUNTER: "counter"}, (0, 64, 128))


def head(kernel):
    if kernel.head is None:
        kernel.head = find(kernel, *PASS.begin).address
    return kernel.head


def bytes_of_pass(kernel):
    return min(MOST, 64 * kernel.isa.vlen // 32)


class State(Invariant):
    """lead: bytes ahead of the ciphertext in scratch, 64 of block 0 or none."""

    def __init__(self, lead):
        super().__init__(PASS)
        self.lead = lead


def arrive(kernel, call, state, done, blocks, ciphertext, h):
    """A run is where a pass begins. done: bytes; blocks: that it has encrypted; ciphertext: what scratch should have; h:
    the accumulator."""
    expect_places(call, PASS, done=done, counter=add_modular(call.counter, const(blocks, 32)))
    call.expect("the ciphertext in scratch", TEXT + state.lead, ciphertext)
    if accumulated(call, PASS) != h:
        raise Unproved("the accumulator is not that of the specification where a pass begins")
    return state.enter(call)


def begin(kernel, shape, state, ad_bytes):
    """From the first instruction to the second pass."""
    lead = state.lead
    n = bytes_of_pass(kernel) - lead
    texts = [(0, n, True, shape.in_place)], [] if shape.in_place else [(0, n, False, True)]
    call = chacha_arm.Part(kernel, shape, texts, None, ad_bytes, symbol("state counter", 32))
    call.set(bytes=call.length("bytes", LEAST) + 0, ad_bytes=const(ad_bytes, 64))
    text, ad = text_named("now", n), text_symbols("ad ", ad_bytes)
    if ad:
        call.memory.poke(AD, ad)
    call.memory.poke(call.source.address, text)
    place = head(kernel)
    call.go(0, place)
    call.go(place, place)
    result = call.cipher(0, text)
    call.expect("the text", call.target.address, result)
    h = spec.poly1305(0, call.r, ad and spec.pad16(ad)) if shape.flags & FIRST else residue(h_before())
    arrive(kernel, call, state, const(n, 64), n // 64, text if shape.opens else result, h)
    return call


def inside(kernel, shape, state, n):
    """A run from where a pass begins with n bytes left, or (None) with more than MOST. Returns it, the accumulator after
    the previous ciphertext, the text, and the output."""
    done, size = linear.Base("done", 64, chacha_arm.LONGEST[64] >> 1, modulus=64), n or bytes_of_pass(kernel)
    texts = [(0, size, True, shape.in_place)], [] if shape.in_place else [(0, size, False, True)]
    call = chacha_arm.Part(kernel, shape, texts, done, 0, symbol("state counter", 32))
    call.done, call.counter = done, symbol("any counter", 32)
    if n is None:
        all_, left = call.length("bytes", LEAST), call.length("left", LEAST)
        linear.relate(all_, done, left)
        call.set(bytes=all_ + 0)
    else:
        call.set(bytes=done + n)
    call.set(ad_bytes=symbol("ad bytes", 64))
    h = state.put(call, done=done + 0, counter=call.counter)
    before, text = text_named("before", bytes_of_pass(kernel) - state.lead), text_named("now", size)
    call.memory.poke(TEXT + state.lead, before)
    call.memory.poke(call.source.address, text)
    return call, spec.poly1305(h, call.r, before), text, call.cipher(0, text)


def step(kernel, shape, state, following, blocks=0):
    call, h, text, result = inside(kernel, shape, state, None)
    n = bytes_of_pass(kernel)
    call.go(head(kernel), head(kernel))
    call.expect("the text", call.target.address, result)
    return call, arrive(kernel, call, following, (call.done, n), n // 64 + blocks, text if shape.opens else result, h)


def induction(kernel, shape, blocks=0):
    """Returns the states, and the numbers of cases and instructions."""
    states, first = {lead: State(lead) for lead in (64, 0)}, 64 if shape.flags & FIRST else 0
    runs = [begin(kernel, shape, states[first], n) for n in (ADS if first else (0,))]
    if first:
        runs.append(step(kernel, shape, states[64], states[0], blocks)[0])
    changed = True
    while changed:
        call, changed = step(kernel, shape, states[0], states[0], blocks)
        runs.append(call)
    states[64].written = states[0].written = states[64].written | states[0].written
    return [states[lead] for lead in dict.fromkeys((first, 0))], len(runs), sum(c.machine.steps for c in runs)


def leave(kernel, shape, state, n, folder=None):
    """To the return."""
    call, h, text, result = inside(kernel, shape, state, n)
    call.go(head(kernel), None)
    call.expect("the text", call.target.address, result)
    authenticated = text if shape.opens else result
    h = spec.poly1305(h, call.r, spec.pad16(authenticated) if shape.flags & LAST else authenticated)
    call.left_behind()
    call.wiped(state.written)
    counter = extend(add_modular(call.counter, const(n // 64, 32)), 64)
    chacha_left(call, shape.flags, h, call.r, call.s, (symbol("ad bytes", 64), symbol("total", 64)), [counter], folder)
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
        ends = [n for n in range(LEAST - bytes_of_pass(kernel) + state.lead, MOST + 1) if shape.flags & LAST or n % 64 == 0]
        for n in ends[7::50] if args.quick else ends[::23 if shape.in_place else 1]:
            found.end(f"end, {n} bytes", leave, kernel, shape, state, n, args.queries)


def planted(kernel, args, attempt):
    def wrong(what, text=None, number=0, opens=False, **change):
        def show():
            anew()
            states, _, _ = induction(kernel, Way(WHOLE, opens), **change)
            leave(kernel, Way(WHOLE, opens), states[0], 5)
        attempt(what, show, text and find(kernel, text, number, head(kernel)))
    wrong("the counter goes on by one more", blocks=1)
    wrong("what is done does not change", "add s10, s10, a6")
    wrong("a product is left out", "mulhu", 2)
    wrong("a carry is dropped", "sltu", 2, opens=True)
