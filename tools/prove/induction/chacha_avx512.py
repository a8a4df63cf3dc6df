"""Long texts of chacha20poly1305_avx512, by induction.

    induction.chacha_avx512 [--quick] [--planted] [--jobs N] OBJECT...

A pass processes 2048 bytes, and Poly1305 24 blocks at a time. So the state repeats after three passes. As in gcm.py,
the kept cells are found, here from three passes. They are then proved for each of the passes, for any number of
remaining bytes with which there is such a pass. A cell is kept; or a place in the text, or the remaining length; or
the counter; or one of the 24 limbs of the accumulator; or dead. The bound of a limb is increased until a step from
it stays within it. When sealing and when opening, base and step are proved for every length. The exits from each of
the three phases are proved for the numbers of remaining bytes in the report.
"""
import spec
from induction import engine
from induction.chacha_loop import LONGEST, Part, alike, authenticated, inside, texts
from induction.engine import SHAPES, Way, anew, find
from run.kernels import SCRATCH
from spec.args import FIRST, LAST, WHOLE
from values import linear, terms
from values.terms import P, Unproved, add_modular, const, cut, extend, same, symbol

NAME = "sealane_chacha20poly1305_avx512"
PASS, AHEAD, LEAST = 2048, 384, 2048 + 1
PHASES = 3
OPTIONS = (("all", "every exit"),)
COUNTER, ACC, BUFFER = SCRATCH + 256, SCRATCH + 384, SCRATCH + 2240
ORDER = (0, 4, 1, 5, 2, 6, 3, 7)  # the block of each lane
LEFT = 10  # r10


def head(kernel):
    """Returns the start of the next pass: the last instruction in the code that increases the counter."""
    if kernel.head is None:
        kernel.head = find(kernel, "add dword ptr [rsi + 0x100], 0x10", -1).address
    return kernel.head


def limbs(call):
    return [[call.memory.peek(ACC + 64 * i + 8 * j, 8) for j in range(8)] for i in range(3)]


def bounds_of(call):
    return [max(v.most for v in row) for row in limbs(call)]


def accumulated(call, r):
    """Returns the polynomial of the lanes, to which the next block has not been added."""
    h = 0
    for i, row in enumerate(limbs(call)):
        for j, v in enumerate(row):
            h += (v.residue << 44 * i) * pow(r.residue, 8 - ORDER[j], P)
    return h % P


def cells(call):
    """The general registers and scratch, except the counter, the accumulator and the remaining length."""
    found = {("general", i): v for i, v in enumerate(call.machine.general) if i != LEFT}
    return found | {("memory", a): call.memory.cells[a] for a in call.written() if not ACC <= a < ACC + 192 and a != COUNTER}


def place_of(call, v, done):
    """A pointer to text as ("in" or "out", offset), `done` bytes after the start of the run; or None."""
    found = linear.place(v)
    if found is None or found[0] not in (call.source, call.target):
        return None
    return ("out" if found[0] is call.target and not call.shape.in_place else "in"), found[1] - done


class State(dict):
    """Cell -> value, or ("in" or "out", offset). mac: offset of the next authenticated byte."""

    def __init__(self, call, done):
        super().__init__()
        self.bounds = bounds_of(call)
        for cell, v in cells(call).items():
            place = place_of(call, v, done)
            if v.defined and (place or linear.place(v) is None):
                self[cell] = place or v
        mac = self.get(("general", 12))
        if not isinstance(mac, tuple):
            raise Unproved("what is authenticated next is not known")
        self.mac = mac[1]


def expect_moved(call, left, passes):
    """Requires that the remaining length and the counter are those after some passes."""
    if linear.place(call.machine.general[LEFT]) != (left, -PASS * passes):
        raise Unproved("the bytes left are not what they should be")
    # The next pass first increases NONCE by 16.
    if not same(call.memory.peek(COUNTER, 4), add_modular(call.counter, const(PASS // 64 * passes - 16, 32))):
        raise Unproved("the counter is not what it should be")


def begin(kernel, shape, ad_bytes=0, section=None):
    """Runs from the first instruction to the loop. section: associated data of any length (ad.py)."""
    opens = shape.opens
    # When opening after long associated data, Poly1305 processes more before the loop.
    ahead = 256 if opens and (ad_bytes or section) else 0
    size = PASS + ahead
    call = Part(kernel, shape, texts(shape, size), None, ad_bytes)
    bytes_ = call.length("bytes", LEAST + ahead)
    call.set(bytes=bytes_ + 0)
    text, _ = call.put_text(size)
    h = call.enter(head(kernel), ad_bytes, section)
    expect_moved(call, bytes_, 1)
    result = call.expect_output(cut(text, 0, 8 * PASS))
    state = State(call, PASS)
    if state["general", 12][0] != ("in" if opens or shape.in_place else "out"):
        raise Unproved("what is authenticated next is not known")
    h = spec.poly1305(h, call.r, cut(text if opens else result, 0, 8 * (PASS + state.mac)))
    if accumulated(call, call.r) != h:
        raise Unproved("the accumulator is not that of the specification where the loop begins")
    state.steps, state.written = call.machine.steps, call.written()
    return state


def start(kernel, shape, state, ahead, left, more=0):
    """Starts a run at the loop, with `left` remaining bytes of text, and `more` bytes that can only be read. Returns
    the call, the text, the bytes before it that are still to be authenticated, and the accumulator."""
    lag = max(0, -state.mac)
    call = inside(kernel, shape, texts(shape, ahead, more, lag), PASS)
    call.set(bytes=call.length("bytes", LEAST) + 0)
    bases = {"in": call.source, "out": call.target}
    call.put({c: bases[v[0]] + v[1] if isinstance(v, tuple) else v for c, v in state.items()})
    call.machine.general[LEFT] = left
    for i, most in enumerate(state.bounds):
        for j in range(8):
            call.memory.poke(ACC + 64 * i + 8 * j, extend(symbol(f"acc {i} {j} below {most}", most.bit_length(), most), 64))
    call.memory.poke(COUNTER, call.counter)
    call.counter = add_modular(call.counter, const(16, 32))
    return call, *call.put_text(ahead + more, lag), accumulated(call, call.r)


def step(kernel, shape, state):
    """Finds from three passes the kept cells and the phases: states with other places. They are stored in the state.
    Then proves each pass. Returns the number of instructions."""
    steps, place, changed = 0, head(kernel), True
    while changed:
        left = linear.Base("left", 5 * PASS, LONGEST[64])
        call, *_ = start(kernel, shape, state, PHASES * PASS, left + 0, AHEAD)
        phases = [state]
        for n in range(1, PHASES + 1):
            call.go(place, place)
            expect_moved(call, left, n)
            phases.append(State(call, PASS * n))
        steps += call.machine.steps
        at = phases.pop()
        if at.mac != state.mac:
            raise Unproved("after three passes authentication is elsewhere")
        gone = [c for c, v in state.items() if not (at.get(c) == v if isinstance(v, tuple) or isinstance(at.get(c), tuple) else alike(at.get(c), v))]
        for cell in gone:
            del state[cell]
        wider = [max(a, b) for a, b in zip(state.bounds, at.bounds)]
        changed, state.bounds = gone or wider != state.bounds, wider
        state.written |= call.written()
    # For a phase: places, and the cells that are kept in all phases.
    for at in phases[1:]:
        for cell in [c for c, v in at.items() if not (isinstance(v, tuple) or c in state and v is state[c])]:
            del at[cell]
    state.phases = phases
    return steps + sum(one_pass(kernel, shape, state, phase) for phase in range(PHASES))


def ends(state, phase):
    """For a phase: the fewest remaining bytes with a pass, and the range of those without one. When opening,
    authentication is ahead of the text. Then at least that many bytes exist, and a pass leaves that many."""
    ahead = [max(at.mac, 0) for at in state.phases]
    least = PASS + max(1, ahead[(phase + 1) % PHASES])
    return least, range(max(1, ahead[phase]), least)


def one_pass(kernel, shape, state, phase):
    """Proves the pass from a phase to the next, with any number of remaining bytes for which there is one. Returns the
    number of instructions."""
    at, following = state.phases[phase], state.phases[(phase + 1) % PHASES]
    left = linear.Base("left", ends(state, phase)[0], LONGEST[64])
    call, text, waiting, h = start(kernel, shape, at, PASS, left + 0, max(0, following.mac))
    call.go(head(kernel), head(kernel))
    found = cells(call)
    for cell, v in following.items():
        new = found.get(cell)
        if new is None or (place_of(call, new, PASS) != v if isinstance(v, tuple) else not same(new, v)):
            raise Unproved(f"{cell} is not what it should be after a pass in phase {phase}")
    if any(new > most for new, most in zip(bounds_of(call), following.bounds)):
        raise Unproved(f"a limb can be too great after a pass in phase {phase}")
    expect_moved(call, left, 1)
    result = call.expect_output(cut(text, 0, 8 * PASS))
    h = authenticated(h, call.r, waiting, at.mac, text if shape.opens else result, PASS + following.mac - at.mac)
    if accumulated(call, call.r) != h:
        raise Unproved(f"the accumulator is not that of the specification after a pass in phase {phase}")
    state.written |= call.written()
    return call.machine.steps


def leave(kernel, shape, state, phase, rest, folder=None):
    """Proves the run from a phase with `rest` remaining bytes to the end."""
    at = state.phases[phase]
    call, text, waiting, h = start(kernel, shape, at, rest, const(rest, 64))
    call.set(bytes=call.done + rest)
    call.go(head(kernel), None)
    result = call.expect_output(text)
    h = authenticated(h, call.r, waiting, at.mac, spec.pad16(text if shape.opens else result), (rest + 15) // 16 * 16 - at.mac)
    call.finish(h, [call.counted(call.done + rest)], state.written, folder)
    return call.machine.steps


ADS = (1, 13, 16, 40, 200)


def rests(shape, state, phase, everything):
    """The remaining bytes for which an exit is run. With `everything`, these are all, for whole packets with separate
    output and for parts before others. Otherwise, whole packets have those near each multiple of 64, in one phase
    each, and other calls some."""
    flags, _, in_place = shape
    found = ends(state, phase)[1]
    if not flags & LAST:
        return [n for n in found if n % (64 if everything else 64 * 15) == (0 if everything else 64 + 320 * phase)]
    if flags != WHOLE or in_place:
        return [n + 320 * phase for n in (1, 64, 577)]
    if everything:
        return found
    return [n for i, n in enumerate(n for n in found if n % 64 in (0, 1, 63)) if i % PHASES == phase]


def induction(kernel, shape, ads, section=None):
    """Proves the base, also with associated data, and the steps. Returns the state, and the numbers of cases and
    instructions."""
    state = begin(kernel, shape)
    others = [begin(kernel, shape, ad_bytes) for ad_bytes in ads] + ([begin(kernel, shape, 0, section)] if section else [])
    for other in others:
        for cell in [c for c, v in state.items() if not isinstance(v, tuple) and
                     (not isinstance(other.get(c), terms.Value) or not same(v, other[c]))]:
            del state[cell]
        state.written |= other.written
    steps = state.steps + step(kernel, shape, state)
    for other in others:  # after associated data, the loop starts in one of the phases
        at = next((at for at in state.phases if at.mac == other.mac), None)
        if at is None or any(other.get(c) != v for c, v in at.items() if isinstance(v, tuple)) or \
                any(new > most for new, most in zip(other.bounds, at.bounds)):
            raise Unproved("after associated data the loop begins in another way")
    return state, 1 + PHASES + len(others), steps


def whole(kernel, shape, args, found, few=None, part=(0, 1)):
    """Proves the base, also with associated data, the step and the exits, or the I-th of N parts of these."""
    anew()
    state, *more = induction(kernel, shape, ADS if shape[0] & FIRST and not few else ())
    found.add(*more)
    for phase in range(PHASES):
        for rest in list(few or rests(shape, state, phase, args.all))[part[0]::part[1]]:
            if len(terms.ATOMS) > 1_500_000:
                anew()  # and make the same state of new terms
                again = begin(kernel, shape)
                for cell in [c for c in again if c not in state]:
                    del again[cell]
                again.written |= state.written
                found.add(0, step(kernel, shape, again))
                state = again
            found.end(f"{rest} bytes left in phase {phase}", leave, kernel, shape, state, phase, rest, args.queries)


def least(kernel):
    return LEAST if kernel.name == NAME else None


def tasks(kernel, args):
    return [(str(shape), shape, (i, 4 if args.all else 1))
            for shape in SHAPES[:1 if args.quick else None] for i in range(4 if args.all else 1)]


def one(kernel, task, args, found):
    _, shape, part = task
    whole(kernel, shape, args, found, [577] if args.quick else None, part)


# Instructions that planted faults omit: (name of the fault, start of their text).
LEFT_OUT = [("the counter does not go on", "add dword ptr [rsi + 0x100]"), ("what is authenticated does not move", "add r12"),
            ("a product is left out", "vpmadd52huq"), ("a limb is not cut", "vpandq zmm26, zmm26")]


def planted(kernel, args, attempt):
    global ORDER

    def attempts(shape=Way(), rest=77):
        def show():
            found = engine.Found()
            whole(kernel, shape, args, found, [rest])
            if found.wrong:
                raise Unproved(found.wrong[0])
        return show
    right = ORDER
    ORDER = tuple(range(8))
    attempt("lanes in another order", attempts())
    ORDER = right
    attempt.without(LEFT_OUT, attempts(), head(kernel))
    attempt.without([("the bytes left do not change", "sub r10, rcx")], attempts())
    if not args.quick:
        attempt.without([("a part's blocks are not counted", "shr r11, 6")], attempts(Way(0), 64))
