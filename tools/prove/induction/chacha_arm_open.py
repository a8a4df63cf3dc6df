"""Opening ChaCha20-Poly1305 with NEON on 32-bit ARM, for every length, by induction.

    induction.chacha_arm_open [--quick] [--planted] [--jobs N] [--queries FOLDER] OBJECT...

Here Poly1305 is faster than ChaCha20: a pass decrypts 256 bytes and authenticates up to 288. So Poly1305 is ahead by
a growing number of bytes, until it reaches the end of the text. At the start of the loop, d is its lead, a multiple
of 16, and e is the number of bytes that it has left. d + e bytes are left to decrypt. These are proved:

    base    from the first instruction to the second pass
    steps   for any d, and any e of at least 336: d grows by 32. And for each smaller e, and any d with which a pass
            depends only on e: it authenticates 32 bytes at a time, while it can.
    exits   for each d and e without such a step, to the return

The state is as in chacha_armv6.py. Authenticated bytes are read before anything is written; this is checked.
"""
from induction import engine
from induction.chacha_armv6 import Invariant, Loop, expect_accumulator, expect_places
from induction.chacha_loop import CARRY, LEFT, LOOPS, PRODUCT, TEXT, authenticated, beginnings, head, inside, loop_of, scratch, texts
from induction.engine import Way, anew, text_named
from isa import arm32
from run import kernels
from spec.args import FIRST, LAST
from values import linear, terms
from values.terms import Unproved, add_modular, const, cut

AHEAD, FAST, PASS = kernels.IN + 0x1000001, 288, 256
E_ANY = 336
IN, OUT, REMAINING, MESSAGE, COUNTER = (scratch(o) for o in (268, 272, 264, 296, 464))
SEALING = LOOPS[arm32, "neon"]
LOOP = Loop(SEALING.head, SEALING.limbs, {IN: "in", OUT: "out", REMAINING: "left", MESSAGE: "message", COUNTER: "counter"}, pending=True)


def least(kernel):
    return SEALING.least if loop_of(kernel) is SEALING else None


def taken(e):
    """How many bytes a pass authenticates if e are left."""
    return min(FAST, e // 32 * 32)


def run(kernel, shape, inv, e=None, least=None, d=None):
    """Starts a run at the loop. If e is None, any numbers of bytes are left; if d is None, e bytes, with any d from
    `least` on. Returns the call, its text, the part of it that is authenticated next, and the accumulator."""
    n = PASS if d is None else d + e
    call = inside(kernel, shape, texts(shape, n, again=False), most=1 << 29)
    (text, _), ahead = call.put_text(n), None
    any_d = linear.Base("d", least or 0, 1 << 28, modulus=16, width=32)
    if d is not None:
        left, message, ahead = const(n, 32), call.source + d, cut(text, 8 * d, 8 * e) if e else None
    else:
        if e is None:
            length, any_e = linear.Base("left", PASS + 1, 1 << 29, width=32), linear.Base("e", E_ANY, 1 << 29, width=32)
            message, left = linear.Base("message", 1 << 20, 1 << 31, width=32), length + 0
            end = linear.place(terms.add(32, call.source + 0, left)[0])[0]
            linear.relate(end, message, any_e)
            linear.relate(message, call.source, any_d)
            call.left = length
        else:
            message, left = linear.place(terms.add(32, call.source + 0, any_d + 0)[0])[0], any_d + e
            call.left = any_d
        message.address, size = AHEAD, FAST if e is None else taken(e)
        if size:
            call.memory.region("text ahead", AHEAD, size, True, False)
            ahead = text_named("ahead", size)
            call.memory.poke(AHEAD, ahead)
            in_order(call, AHEAD, size)
        call.message, message = message, message + 0
    call.total = call.done + n if d is not None else call.length("bytes", 1) + 0
    call.set(bytes=call.total)
    h = inv.put(call, **{"in": call.source + 0}, out=call.target + 0, left=left, message=message, counter=call.counter)
    return call, text, ahead, h


def in_order(call, start, size):
    """Refuses reads of text ahead after text was written."""
    allowed, written = call.memory.allowed, []

    def check(address, n, write):
        allowed(address, n, write)
        if write and call.target.address <= address < call.target.address + PASS:
            written.append(address)
        if not write and written and start <= address < start + size:
            raise Unproved("text ahead is read when other text has been put out")
    call.memory.allowed = check


def step(kernel, shape, inv, e=None, least=None):
    call, text, ahead, h = run(kernel, shape, inv, e, least)
    place = head(kernel, LOOP)
    call.go(place, place)
    call.expect_output(text)
    by = FAST if e is None else taken(e)
    expect_places(call, LOOP, **{"in": (call.source, PASS)}, out=(call.target, PASS), left=(call.left, (e or 0) - PASS), message=(call.message, by),
                  counter=add_modular(call.counter, const(PASS // 64, 32)))
    expect_accumulator(call, LOOP, authenticated(h, call.r, None, 0, ahead, by), "after a pass")
    return call


def least_d(e):
    """From this d on, a pass depends only on e: a whole set is left to decrypt, and more than it authenticates."""
    least = max(16, PASS + 1 - e, PASS + 1 - taken(e))
    return (least + 15) // 16 * 16


def induction(kernel, shape, quick=False, section=None):
    """Returns the invariant, and the numbers of cases and instructions. section: includes associated data of any
    length (ad.py)."""
    inv, runs = Invariant(LOOP), []
    loop = engine.changed(SEALING, arrivals=2)
    for call in beginnings(kernel, loop, shape, section):
        ahead = linear.place(call.get(MESSAGE))[1] - call.done
        if ahead % 16 or ahead < 16 or loop.least - call.done - ahead < E_ANY:
            raise Unproved("the loop begins otherwise")
        expect_places(call, LOOP, **{"in": (call.source, call.done)}, out=(call.target, call.done), left=(call.left, -call.done),
                      message=(call.source, call.done + ahead), counter=add_modular(call.counter, const(call.done // 64, 32)))
        inv.enter(call)
        runs.append(call)
    some = range(0, E_ANY, 1 if shape.flags & LAST else 16)
    # Found with some e, then proved for all.
    few = [None, *some[::67], *some[1:40:13]]
    for e in few:
        while True:
            if not inv.enter(step(kernel, shape, inv, e, e is not None and least_d(e))):
                break
    kept, most = len(inv.kept), inv.bounds
    for e in few if quick else [None, *some]:
        runs.append(step(kernel, shape, inv, e, e is not None and least_d(e)))
        inv.enter(runs[-1])
    if (len(inv.kept), inv.bounds) != (kept, most):
        raise Unproved("the invariant does not stay")
    return inv, len(runs), sum(c.machine.steps for c in runs)


def leave(kernel, shape, inv, d, e, folder=None):
    call, text, ahead, h = run(kernel, shape, inv, e, None, d)
    call.go(head(kernel, LOOP), None)
    call.expect_output(text)
    h = authenticated(h, call.r, None, 0, terms.extend(ahead, (e + 15) // 16 * 128), (e + 15) // 16 * 16) if e else h
    call.finish(h, [call.counted(call.total)], inv.written, folder)
    return call.machine.steps


def ends(shape, quick):
    """The (d, e) without a step: all for whole packets with separate output and for parts before others; some for the
    rest."""
    found = [(d, e) for d in range(16, PASS + 32, 16) for e in range(E_ANY) if d + e <= PASS or d < least_d(e)]
    if not shape.flags & LAST:
        return [(d, e) for d, e in found if (d + e) % 64 == 0 and e % 16 == 0]
    if quick:
        return found[3::400]
    return found if shape.flags & FIRST and not shape.in_place else found[::23]


SHAPES = [s for s in engine.SHAPES if s.opens]


def tasks(kernel, args):
    """The ends of the first call are many, so it has several tasks."""
    return [(str(shape), shape, part, parts) for i, shape in enumerate(SHAPES[:1] if args.quick else SHAPES)
            for parts in (1 if i or args.quick else 4,) for part in range(parts)]


def one(kernel, task, args, found):
    _, shape, part, parts = task
    anew()
    inv, cases, steps = induction(kernel, shape, args.quick or part)
    found.add(0 if part else cases, steps)
    for d, e in ends(shape, args.quick)[part::parts]:
        if len(terms.ATOMS) > 600_000:
            anew()
            inv, _, _ = induction(kernel, shape, True)
        found.end(f"ahead by {d}, {e} bytes there", leave, kernel, shape, inv, d, e, args.queries)


def planted(kernel, args, attempt):
    def show():
        anew()
        inv, _, _ = induction(kernel, Way(opens=True), True)
        leave(kernel, Way(opens=True), inv, 32, 77)
    attempt.without([(TEXT, "str r7, [r1, #-0x34]"), (LEFT, "str r8, [r1, #-0x38]"), (PRODUCT, "umlal"), (CARRY, "adc r"),
                     ("not asked whether a set is authenticated", "bgt")], show, head(kernel, LOOP))
