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
from induction.chacha_x86 import LONGEST, Part, state_before
from induction.engine import SHAPES, Way, anew, find
from run.kernels import AD, SCRATCH, text_symbols
from run.packets import chacha_left, one_time
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


def accumulated(call, r):
    """Returns the polynomial of the lanes, to which the next block has not been added."""
    h = 0
    for i, row in enumerate(limbs(call)):
        for j, v in enumerate(row):
            h += (v.residue << 44 * i) * pow(r.residue, 8 - ORDER[j], P)
    return h % P


def cells(call):
    found = {("general", i): v for i, v in enumerate(call.machine.general)}
    for a, v in call.memory.cells.items():
        if SCRATCH <= a < SCRATCH + call.scratch_bytes and not ACC <= a < ACC + 192 and a != COUNTER:
            found["memory", a] = v
    return found


def place_of(call, v, done):
    found = linear.place(v)
    if found is None or found[0] not in (call.source, call.target):
        return None
    return ("out" if found[0] is call.target and not call.shape.in_place else "in"), found[1] - done


def spec_text(flags, counter, text):
    key, nonce = [symbol(f"key{i}", 32) for i in range(8)], [symbol(f"nonce{i}", 32) for i in range(3)]
    return spec.cipher_text(key, counter, nonce, text)


class State(dict):
    """Cell -> value, or ("in" or "out", offset)."""


def begin(kernel, shape, ad_bytes=0, section=None):
    """Runs from the first instruction to the loop. section: associated data of any length (ad.py)."""
    flags, opens, in_place = shape
    # When opening after long associated data, Poly1305 processes more before the loop.
    ahead = 256 if opens and (ad_bytes or section) else 0
    size = PASS + ahead
    call = Part(kernel, shape, ([(0, size, True, in_place)], [] if in_place else [(0, size, not opens, True)]), ad_bytes)
    bytes_ = linear.Base("bytes", LEAST + ahead, LONGEST)
    call.set_arguments(const(ad_bytes, 64), bytes_ + 0)
    ad, text = text_symbols("ad", ad_bytes), text_symbols("text", size)
    if ad:
        call.memory.poke(AD, ad)
    call.memory.poke(call.source.address, text)
    if section:
        section.arguments(call)
        behind_ad = section.through(call, head(kernel))
    else:
        call.go(0, head(kernel))
    r, _ = one_time(flags)
    counter, h = const(1, 32), 0
    if not flags & FIRST:
        before, counter = state_before()
        counter, h = cut(counter, 0, 32), sum(v.residue << 64 * i for i, v in enumerate(before)) % P
    if linear.place(call.machine.general[LEFT]) != (bytes_, -PASS):
        raise Unproved("the bytes left are not what they should be")
    text = cut(text, 0, 8 * size)
    result = spec_text(flags, counter, cut(text, 0, 8 * PASS))
    call.expect("the text", call.target.address, result)
    state = State()
    for cell, v in cells(call).items():
        place = place_of(call, v, PASS)
        if v.defined and cell != ("general", LEFT) and (place or linear.place(v) is None):
            state[cell] = place or v
    mac = state.get(("general", 12))
    if not isinstance(mac, tuple) or mac[0] != ("in" if opens or in_place else "out"):
        raise Unproved("what is authenticated next is not known")
    done = PASS + mac[1]
    h = behind_ad if section else spec.poly1305(h, r, spec.pad16(ad) if ad else None)
    h = spec.poly1305(h, r, cut(text if opens else result, 0, 8 * done))
    if accumulated(call, r) != h:
        raise Unproved("the accumulator is not that of the specification where the loop begins")
    # The next pass first increases NONCE by 16.
    if not same(call.memory.peek(COUNTER, 4), add_modular(counter, const(PASS // 64 - 16, 32))):
        raise Unproved("the counter is not what it should be")
    state.mac, state.call, state.written = mac[1], call, {c[1] for c in cells(call) if c[0] == "memory"} | set(range(ACC, ACC + 192, 4)) | {COUNTER}
    return state


def start(kernel, shape, state, bounds, mac, ahead, left, more=0):
    """Starts a run at the loop, with `left` remaining bytes of text, and `more` bytes that can only be read."""
    flags, opens, in_place = shape
    lag = -mac if mac < 0 else 0
    before = [(-lag, lag, True, False)] if lag else []
    read = ahead + more
    if in_place:
        texts = before + [(0, read, True, True)], []
    else:
        texts = ([] if not opens else before) + [(0, read, True, False)], ([] if opens else before) + [(0, ahead, not opens, True)]
    call = Part(kernel, shape, texts)
    call.set_arguments(symbol("ad bytes", 64), linear.Base("total", LEAST, LONGEST) + 0)
    m = call.machine
    m.general = [terms.undefined(64)] * 16
    for cell, v in state.items():
        if isinstance(v, tuple):
            v = (call.source if v[0] == "in" else call.target) + v[1]
        if cell[0] == "general":
            m.general[cell[1]] = v
        else:
            call.memory.cells[cell[1]] = v
    m.general[LEFT] = left
    for i in range(3):
        for j in range(8):
            call.memory.poke(ACC + 64 * i + 8 * j, extend(symbol(f"acc {i} {j} below {bounds[i]}", bounds[i].bit_length(), bounds[i]), 64))
    call.memory.poke(COUNTER, symbol("counter", 32))
    source = text_symbols("text", read)
    call.memory.poke(call.source.address, source)
    behind = text_symbols("text before", lag) if lag else None
    if behind:
        call.memory.poke((call.source if opens or in_place else call.target).address - lag, behind)
    r, s = one_time(flags)
    return call, source, behind, r, s, accumulated(call, r)


def authenticated(h, r, opens, behind, mac, source, result, end):
    """Returns the accumulator of all bytes up to `end` bytes after the start of the run."""
    if behind:
        h = spec.poly1305(h, r, behind)
    first = max(mac, 0)
    text = source if opens else result
    return spec.poly1305(h, r, cut(text, 8 * first, 8 * (end - first))) if end > first else h


def next_counter(passes):
    return add_modular(symbol("counter", 32), const(16 + 32 * passes, 32))


def step(kernel, shape, state):
    """Finds from three passes the kept cells and the phases: (accumulator's bounds, offset of the next authenticated
    byte, cells). They are stored in the state. Then proves each pass. Returns the number of instructions."""
    bounds = [max(v.most for v in row) for row in limbs(state.call)]
    steps, place = 0, head(kernel)
    while True:
        left = linear.Base("left", 5 * PASS, LONGEST)
        call, source, behind, r, s, h = start(kernel, shape, state, bounds, state.mac, PHASES * PASS, left + 0, AHEAD)
        phases = [(bounds, state.mac, State(state))]
        for n in range(PHASES):
            call.go(place, place)
            found = cells(call)
            at = State()
            for cell, v in found.items():
                p = place_of(call, v, PASS * (n + 1))
                if v.defined and cell != ("general", LEFT) and (p or linear.place(v) is None):
                    at[cell] = p or v
            mac = at.get(("general", 12), (None, None))[1]
            if mac is None:
                raise Unproved("what is authenticated next is not known")
            if linear.place(call.machine.general[LEFT]) != (left, -PASS * (n + 1)):
                raise Unproved("the bytes left are not what they should be")
            if not same(call.memory.peek(COUNTER, 4), add_modular(symbol("counter", 32), const(32 * (n + 1), 32))):
                raise Unproved("the counter is not what it should be")
            phases.append(([max(v.most for v in row) for row in limbs(call)], mac, at))
        steps += call.machine.steps
        changed = False
        for cell, v in list(state.items()):
            new = at.get(cell)
            if not (new == v if isinstance(v, tuple) or isinstance(new, tuple) else new is not None and (new is v or same(new, v))):
                del state[cell]
                changed = True
        wider = [max(a, b) for a, b in zip(bounds, phases[-1][0])]
        if phases[-1][1] != state.mac:
            raise Unproved("after three passes authentication is elsewhere")
        state.written |= {c[1] for c in found if c[0] == "memory"}
        if not changed and wider == bounds:
            break
        bounds = wider
    # For a phase: places, and the cells that are kept in all phases.
    state.phases = [(b, mac, State({c: v for c, v in at.items() if isinstance(v, tuple) or (c in state and v is state[c])}))
                    for b, mac, at in phases[:-1]]
    return steps + sum(one_pass(kernel, shape, state, phase) for phase in range(PHASES))


def ends(state, phase):
    """For a phase: the fewest remaining bytes with a pass, and the range of those without one. When opening,
    authentication is ahead of the text. Then at least that many bytes exist, and a pass leaves that many."""
    ahead = [max(mac, 0) for _, mac, _ in state.phases]
    least = PASS + max(1, ahead[(phase + 1) % PHASES])
    return least, range(max(1, ahead[phase]), least)


def one_pass(kernel, shape, state, phase):
    """Proves the pass from a phase to the next, with any number of remaining bytes for which there is one. Returns the
    number of instructions."""
    flags, opens, _ = shape
    (bounds, mac, at), (wider, following, kept) = state.phases[phase], state.phases[(phase + 1) % PHASES]
    left = linear.Base("left", ends(state, phase)[0], LONGEST)
    call, source, behind, r, s, h = start(kernel, shape, at, bounds, mac, PASS, left + 0, max(0, following))
    call.go(head(kernel), head(kernel))
    found = cells(call)
    for cell, v in kept.items():
        new = found.get(cell)
        if new is None or (place_of(call, new, PASS) != v if isinstance(v, tuple) else not same(new, v)):
            raise Unproved(f"{cell} is not what it should be after a pass in phase {phase}")
    if any(v.most > most for row, most in zip(limbs(call), wider) for v in row):
        raise Unproved(f"a limb can be too great after a pass in phase {phase}")
    if linear.place(call.machine.general[LEFT]) != (left, -PASS):
        raise Unproved("the bytes left are not what they should be")
    if not same(call.memory.peek(COUNTER, 4), add_modular(symbol("counter", 32), const(32, 32))):
        raise Unproved("the counter is not what it should be")
    result = spec_text(flags, next_counter(0), cut(source, 0, 8 * PASS))
    call.expect("the text", call.target.address, result)
    h = authenticated(h, r, opens, behind, mac, source, result, PASS + following)
    if accumulated(call, r) != h:
        raise Unproved(f"the accumulator is not that of the specification after a pass in phase {phase}")
    state.written |= {c[1] for c in found if c[0] == "memory"}
    return call.machine.steps


def leave(kernel, shape, state, phase, rest, folder=None):
    """Proves the run from a phase with `rest` remaining bytes to the end."""
    flags, opens, _ = shape
    bounds, mac, at = state.phases[phase]
    call, source, behind, r, s, h = start(kernel, shape, at, bounds, mac, rest, const(rest, 64))
    total = linear.Base("total", PASS + rest, LONGEST) + 0  # there was one pass
    call.set_arguments(symbol("ad bytes", 64), total)
    call.go(head(kernel), None)
    call.left_behind()
    call.wiped(state.written)
    result = spec_text(flags, next_counter(0), source)
    call.expect("the text", call.target.address, result)
    if behind:
        h = spec.poly1305(h, r, behind)
    first = max(mac, 0)
    h = spec.poly1305(h, r, spec.pad16(cut(source if opens else result, 8 * first, 8 * (rest - first)))) if rest > first else h
    before = const(1, 64) if flags & FIRST else state_before()[1]
    chacha_left(call, flags, h, r, s, (symbol("ad bytes", 64), total), [terms.add(64, before, linear.shift(total, 6, True))[0]], folder)
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
    others = [begin(kernel, shape, ad_bytes) for ad_bytes in ads]
    if section:
        others.append(begin(kernel, shape, 0, section))
    for other in others:
        for cell in [c for c, v in state.items() if not isinstance(v, tuple) and
                     (not isinstance(other.get(c), terms.Value) or not same(v, other[c]))]:
            del state[cell]
        state.written |= other.written
    steps = state.call.machine.steps + step(kernel, shape, state)
    for other in others:  # after associated data, the loop starts in one of the phases
        at = [(bounds, at) for bounds, mac, at in state.phases if mac == other.mac]
        if not at or any(other.get(c) != v for c, v in at[0][1].items() if isinstance(v, tuple)) or \
                any(v.most > most for row, most in zip(limbs(other.call), at[0][0]) for v in row):
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


def planted(kernel, args, attempt):
    global ORDER
    place = head(kernel)

    def wrong(what, text=None, behind=place, shape=Way(), rest=77):
        def show():
            found = engine.Found()
            whole(kernel, shape, args, found, [rest])
            if found.wrong:
                raise Unproved(found.wrong[0])
        attempt(what, show, text and find(kernel, text, behind=behind))
    right = ORDER
    ORDER = tuple(range(8))
    wrong("lanes in another order")
    ORDER = right
    wrong("the counter does not go on", "add dword ptr [rsi + 0x100]")
    wrong("the bytes left do not change", "sub r10, rcx", 0)
    wrong("what is authenticated does not move", "add r12")
    wrong("a product is left out", "vpmadd52huq")
    wrong("a limb is not cut", "vpandq zmm26, zmm26")
    if not args.quick:
        wrong("a part's blocks are not counted", "shr r11, 6", 0, Way(0), 64)
