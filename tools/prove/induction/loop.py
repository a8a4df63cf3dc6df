"""The loop of a kernel over long texts, for every length, by induction. chacha_loop.py, chacha_avx512.py, gcm.py and
gcm_ce.py say what ciphers, authenticators and kernels need.

The invariant is computed, and then proved. A cell is a register, a word of a vector register, a mask register, or four
bytes of scratch or stack. Pointers, lengths and limbs in memory may have eight. Where the loop starts again, a cell is
one of these:

    kept    as the run from the first instruction left it
    moving  the value in a run from the first instruction that continues a packet, if its loop starts with the counter
            X. X is the counter of this pass: any 32-bit number. Runs that start a packet must have the value of such a
            run.
    place   a pointer to text, the remaining length, or the number of passes. It is relative to the text from here on,
            so it moves by a pass.
    accumulator    a limb within a bound, which is computed too, or a word of GHASH
    dead    counts as never written

    base    from the first instruction to the loop, perhaps by classes of the length
    step    from any such state with enough remaining bytes to such a state, with the specification's output and
            accumulator. A cell with another value becomes dead, and the step is tried again, until nothing changes.
    exit    from any such state, for each number of remaining bytes without such a step, to the return

So the remaining cells are proved, however they were found. A loop may have several phases: after each pass,
authentication is at another offset. It has a state for each of them, and a step leads from each to the next one.
"""
import functools
import itertools

import spec
from induction import engine
from induction.engine import anew, text_named
from run.kernels import AD, SCRATCH, text_symbols
from spec.args import FIRST, LAST
from values import linear, terms
from values.terms import Unproved, add_modular, cat, const, cut, symbol

ADS = (40, 16, 13, 1, 0)  # bytes of associated data in the bases


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
    return None not in (new, v) and new.defined and (new is v or terms.same(new, v))


def message(text, n, mac=0, waiting=None):
    """The next n authenticated bytes. They start `mac` bytes after the start of the run, or with the waiting ones."""
    rest = text and cut(text, 8 * max(mac, 0), text.width - 8 * max(mac, 0))
    return cut(cat(*(v for v in (waiting, rest) if v and v.width)), 0, 8 * n) if n else None


class Part(engine.Part):
    """A run of a part of a call, with a cipher and an authenticator. BLOCK: bytes of the cipher's blocks. LONGEST:
    bytes of text. counter: of the run's first block. done: bytes of the call's text before the run, or before the loop
    in a run from the first instruction. passed: bytes of the run's text before the loop. mac: offset of the next
    authenticated byte from there. left, rest: the remaining length, and that after all passes. found: the cells where
    the loop begins."""

    done, passed, left, rest, name = None, 0, None, None, ""

    @classmethod
    def inside(cls, kernel, shape, regions, least=64, most=None, name="", **more):
        """A run that starts in the middle of a call, `least` to `most` bytes after its start, with any counter. name:
        distinguishes its symbols."""
        width = kernel.isa.POINTER
        done = linear.Base("done", least, (most or cls.LONGEST[width]) - cls.BLOCK, modulus=cls.BLOCK, width=width)
        call = cls(kernel, shape, regions, done, **more)
        call.done, call.counter, call.name = done, symbol(f"any counter{name}", 32), name
        return call

    def length(self, name, least, **more):
        return linear.Base(name, least, self.LONGEST[self.width], width=self.width, **more)

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

    def change(self, cells):
        super().change({c: v for c, v in cells.items() if c[0] != "memory8"})
        for (kind, a, *_), v in cells.items():
            if kind == "memory8":
                self.memory.put_number(a, terms.extend(v, 64))

    def written(self):
        """The addresses in scratch that the run has written, or that it started with."""
        return {a for a in self.memory.cells if SCRATCH <= a < SCRATCH + self.scratch_bytes}

    def put_text(self, n, lag=0):
        """Names n bytes of text, and `lag` bytes before them that are still to be authenticated. Returns both. A run
        from the first instruction has other names, because a cell may keep its text."""
        text, waiting = text_named(f"now{self.name}" if self.done else "begun", n), text_named("before", lag)
        self.poke(self.source.address, text)
        self.poke((self.source if self.shape.opens or self.shape.in_place else self.target).address - lag, waiting)
        return text, waiting

    def expect_output(self, text):
        """Requires that the output is the specification's result for this text. Returns it."""
        result = self.encrypted(text) if text else None
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
        return self.absorb(self.h_before(), ad and spec.pad16(ad))

    def here(self, v):
        """Returns a pointer or length as (kind, offset), relative to the start of the loop; or None."""
        found = linear.place(v)
        if found is None:
            return None
        base, offset = found
        if base is self.source or base is self.target:
            return "in" if base is self.source else "out", offset - self.passed
        return ("bytes", offset + self.passed) if base is self.left else ("unknown", 0)


class Loop:
    """What a kernel's loop is like; begin() and the steps prove it. step: bytes of a pass. blocks: of the cipher in a
    pass. least: the shortest text that is proved. arrivals: how often the start of the loop is reached before the
    induction starts. places: the kinds of places. phases: number of states. ahead: the most authenticated bytes ahead
    of the text. further: blocks to another counter that shows which cells depend on it. splits: whether kept cells may
    depend on the class of the length.

    A subclass has a class of runs, part, and defines:

        place(kernel, shape)        the start of the loop
        sizes(shape, of, absorbs)   the bytes of text in a run from the first instruction, and the shortest text, for a
                                    class of the length, and with associated data or without
        processed(call)             the bytes of text before the loop
        authenticated(call)         Part.mac
        fewest(at)                  the fewest remaining bytes with a state, or a run that has reached the loop
        accumulator()               the cells of the accumulator
    """

    phases, arrivals, further, ahead, splits = 1, 1, None, 0, False
    places = "in", "out", "bytes"

    def make(self, kernel, shape, regions, least=None, **more):
        """A run from the first instruction, or from the loop, with at least `least` bytes before it."""
        call = self.part(kernel, shape, regions, **more) if least is None else \
            self.part.inside(kernel, shape, regions, least, **more)
        call.loop = self
        return call

    def reached(self, shape, section):
        return self.arrivals

    def ads(self, i):
        """Bytes of associated data for the class i of lengths."""
        return ADS if i == 0 else (0,)

    def residues(self, shape):
        """The classes of the length: residues modulo `step` with which a call starts in the same way; or None."""
        return None,

    def regions(self, shape, size, least):
        return texts(shape, size)

    def lay_out(self, kernel, shape, size, least, of, **more):
        """Prepares a run from the first instruction."""
        call = self.make(kernel, shape, self.regions(shape, size, least), **more)
        call.left = call.length("bytes", least, **({"modulus": self.step, "of": of} if of else {}))
        return call

    def begin(self, kernel, shape, counter=None, ad_bytes=0, of=None, section=None):
        """Runs from the first instruction to the loop. counter: of a later part. of: the class of the length. section:
        associated data of any length (ad.py)."""
        place, (size, least) = self.place(kernel, shape), self.sizes(shape, of, ad_bytes or section)
        call = self.lay_out(kernel, shape, size, least, of, counter=counter, ad_bytes=ad_bytes)
        call.set(bytes=call.left + 0)
        text, _ = call.put_text(size)
        h = call.enter(place, ad_bytes, section)
        for _ in range(self.reached(shape, section) - 1):
            call.go(place, place)
        call.done = call.passed = done = self.processed(call)
        if not 0 <= done <= size or done % call.BLOCK:
            raise Unproved(f"{done} bytes were processed before the loop")
        call.mac = self.authenticated(call)
        if not 0 <= done + call.mac <= size or call.mac % 16 or call.mac > 0 and not shape.opens:
            raise Unproved(f"what is authenticated next is not known: {call.mac}")
        if call.left.least - done < self.fewest(call):
            raise Unproved("the loop begins with less than the exits are for")
        result = call.expect_output(message(text, done))
        if call.accumulated(self) != call.absorb(h, message(text if shape.opens else result, done + call.mac)):
            raise Unproved("the accumulator is not that of the specification where the loop begins")
        call.found = call.cells()
        return call

    def beginnings(self, kernel, shape, residues=None, section=None, counter=None):
        """Yields all runs from the first instruction to the loop."""
        for i, of in enumerate(residues or self.residues(shape)):
            if section:
                yield self.begin(kernel, shape, counter, 0, of, section)
            for ad_bytes in self.ads(i) if shape.flags & FIRST else (0,):
                yield self.begin(kernel, shape, counter, ad_bytes, of)

    def remains(self, call, at, rest, enough):
        """Kind of a place -> base or number, for `rest` remaining bytes, or (None) any number from `enough` on."""
        call.left = call.length("left", enough) if rest is None else rest
        return {"bytes": call.left}

    def some(self, shape):
        """Whether only some exits are proved."""
        return False

    def rests(self, shape, at, args):
        """The remaining bytes for which an exit is proved: every number without a step, or some. For parts before
        others, multiples of 64 bytes."""
        low, high = self.fewest(at), self.step + self.fewest(at.following) - 1
        found, begin = range(low, high + 1), low // 64 * 64
        if not shape.flags & LAST:
            return [n for n in found if n % 64 == 0]
        some = {low, low + 1, (low + high) // 2, high - 1, high, *(begin + n for n in (16, 63, 64, 65))}
        few = sorted(some.intersection(found))
        return few[2::3] if args.quick else few if self.some(shape) else found


def next_counter(counter, blocks):
    """A later counter. Its last byte is a constant if that of the counter is."""
    return add_modular(counter, const(blocks, 32))


def any_counter(last, name="any counter"):
    """Any counter, or any with this last byte."""
    return symbol(name, 32) if last is None else cat(const(last, 8), symbol(f"upper bytes of {name}", 24))


class State(dict):
    """Cell -> value, or (kind, offset) of a place. kinds: of cells. begins: the counter of a later part.
    continued: counter -> the run from the first instruction that continues a packet. skipped: blocks from that counter
    to the loop. limbs: bounds of the accumulator. mac: as in Part. done: the fewest bytes before it. written: addresses
    in scratch. by_class: the values of kept cells that depend on the length. following: the state after a pass, or None
    as long as it is unknown."""

    def __init__(self, loop=None, call=None, before=None):
        """Of a run that has reached the loop. before: the state of the previous phase."""
        super().__init__()
        self.loop, self.kinds, self.written, self.by_class = loop, {}, set(), {}
        self.phases = before.phases if before else []
        self.phase = len(self.phases)
        self.phases.append(self)
        if call:
            self.mac, self.done, self.rest, self.limbs = call.mac, call.done, call.rest, call.bounds(loop)
        if before:
            self.done, self.begins = before.done, before.begins
            self.continued, self.skipped = before.continued, before.skipped
            for cell, v in call.found.items():
                at = call.here(v)
                if at and at[0] in loop.places:
                    self.add(cell, at, "place")
                elif not at and before.kinds.get(cell, "place") != "place" and cell in before:
                    self.add(cell, before[cell], before.kinds[cell])

    @property
    def following(self):
        phase = (self.phase + 1) % self.loop.phases
        return self.phases[phase] if phase < len(self.phases) else None

    def add(self, cell, v, kind):
        self[cell], self.kinds[cell] = v, kind

    def keep(self, good):
        """Removes the cells for which good(cell, value) is false. Returns whether there are such."""
        wrong = [cell for cell, v in self.items() if not good(cell, v)]
        for cell in wrong:
            del self[cell]
        return bool(wrong)

    def like(self, call):
        """The cells of a run that continues a packet, and whose loop begins with the counter of this call's."""
        return self.continued(next_counter(call.counter, call.done // call.BLOCK - self.skipped)).found

    def widen(self, call):
        """Extends the bounds by those of a run. Returns whether anything changes."""
        self.written |= call.written()
        before, self.limbs = self.limbs, [max(a, b) for a, b in zip(self.limbs, call.bounds(self.loop))]
        return before != self.limbs

    def arrive(self, call, exact):
        """Keeps the cells that a run has where the loop begins, and extends the bounds. exact: the values of moving
        ones. Returns whether anything changes."""
        def good(cell, v):
            new, kind = call.found.get(cell), self.kinds[cell]
            return call.here(new) == v if kind == "place" else alike(new, exact.get(cell) if kind == "moving" else v)
        return self.widen(call) | self.keep(good)

    def classify(self, calls, x):
        """Finds the cells that are kept, move or are places in all runs to the loop. x: any counter."""
        limbs, exact = self.loop.accumulator(), [(call, self.like(call)) for call in calls]
        moved, further = (self.continued(next_counter(x, n)).found for n in (0, self.loop.further or self.loop.blocks))
        alike_in = [call for call in calls if call.mac == self.mac]
        for cell, v in calls[-1].found.items():
            if cell in limbs or not v.defined:
                continue
            at, other, values = calls[-1].here(v), moved.get(cell), [call.found.get(cell) for call in calls]
            if at:
                if at[0] in self.loop.places and all(call.here(call.found.get(cell)) == at for call in alike_in):
                    self.add(cell, at, "place")
            elif other is not further.get(cell) and not linear.place(other) and \
                    all(alike(call.found.get(cell), cells.get(cell)) for call, cells in exact):
                self.add(cell, v, "moving")
            elif all(alike(new, v) for new in values):
                self.add(cell, v, "kept")
            elif self.loop.splits and not any(map(linear.place, values)):
                self.split(cell, v.width, calls)
        for call in calls:
            self.widen(call)

    def split(self, cell, width, calls):
        """A kept cell may have another value for each class of lengths. It is undefined if it has not been written, or
        differs with associated data. In a step, it has any value, and must keep it."""
        for of in {call.left.of for call in calls}:
            v, *others = [call.found.get(cell) for call in calls if call.left.of == of]
            good = v is not None and v.defined and all(alike(other, v) for other in others)
            self.by_class.setdefault(of, {})[cell] = v if good else terms.tainted(width) if any(map(terms.secret, filter(None, (v, *others)))) else terms.undefined(width)
        self.add(cell, symbol(f"kept {cell}", width), "kept")


def start(kernel, loop, shape, at, counter, ahead, more=0, rest=None, enough=0):
    """Starts a run at the loop, with `ahead` bytes of text, and `more` bytes that can only be read. counter: of the
    continued run. rest, enough: as for Loop.remains(). Returns the call, the text, the bytes before it that are still
    to be authenticated, and the accumulator."""
    lag, of_call = max(0, -at.mac), {"counter": at.begins} if at.begins is not None else {}
    call = loop.make(kernel, shape, texts(shape, ahead, more, lag), at.done, **of_call)
    call.counter = next_counter(counter, at.skipped)
    bases = {"in": call.source, "out": call.target, **loop.remains(call, at, rest, enough)}
    now = at.continued(counter).found

    def value(cell, v):
        if at.kinds[cell] != "place":
            return now[cell] if at.kinds[cell] == "moving" else v
        base, offset = bases[v[0]], v[1]
        return const(base + offset, call.width) if isinstance(base, int) else base + offset
    call.put({cell: value(cell, v) for cell, v in at.items()}, at.written)
    call.put_accumulator(loop, at.limbs)
    return call, *call.put_text(ahead + more, lag), call.accumulated(loop)


def one_step(kernel, loop, shape, at, counter, calls):
    """Proves a step from a state with such a counter, to what its following state becomes. calls: the runs from the
    first instruction. Returns whether the states have changed, and the number of instructions."""
    place, following = loop.place(kernel, shape), at.following
    ahead, enough = (loop.ahead, 3 * loop.step) if following is None else (following.mac, loop.fewest(following))
    call, text, waiting, h = start(kernel, loop, shape, at, counter, loop.step, max(0, ahead), None, loop.step + enough)
    call.set(bytes=call.length("any bytes", loop.least) + 0)
    call.go(place, place)
    call.passed, call.found = loop.step, call.cells()
    call.mac = loop.authenticated(call)
    if following is None:
        following = State(loop, call, at)
    if call.mac != following.mac:
        raise Unproved("after a pass authentication is elsewhere")
    now, exact = (at.continued(next_counter(counter, n)).found for n in (0, loop.blocks))
    # A cell may have had the values of continued runs by chance.
    unmoved = [c for c, v in at.items() if at.kinds[c] == "moving" and call.found.get(c) is now[c] and
               not alike(now[c], exact.get(c)) and all(alike(begun.found.get(c), v) for begun in calls)]
    changed = following.arrive(call, exact) or bool(unmoved)
    for state, cell in itertools.product(at.phases, unmoved):
        state.add(cell, calls[-1].found[cell], "kept")
    result = call.expect_output(cut(text, 0, 8 * loop.step))
    more = message(text if shape.opens else result, loop.step + call.mac - at.mac, at.mac, waiting)
    if call.accumulated(loop) != call.absorb(h, more):
        raise Unproved("the accumulator is not that of the specification after a pass")
    return changed, call.machine.steps


def induction(kernel, loop, shape, residues=None, lasts=(None,), section=None):
    """Finds the kept cells, by as many steps as necessary. residues: classes of the length, if not all; lasts: of
    counters, their last bytes (gcm_ce.py). section: includes associated data of any length (ad.py). Returns the state,
    without dead cells, and the numbers of cases and instructions."""
    later = shape._replace(flags=shape.flags & LAST)
    continued = functools.cache(lambda counter: loop.begin(kernel, later, counter))
    x, begins = any_counter(lasts[0]), any_counter(lasts[0], "the call's counter")
    # A cell may keep the counter of the call, which is another one than that of the loop.
    begins = None if shape.flags & FIRST else begins
    calls = [continued(begins)] if shape == later and not residues else \
        list(loop.beginnings(kernel, shape, residues, section, begins))
    state = State(loop, calls[-1])
    state.begins = begins
    state.continued, state.skipped = continued, continued(x).done // loop.part.BLOCK
    state.done = min(call.done for call in calls)
    if any(loop.fewest(call) != loop.fewest(state) for call in calls if call.mac == state.mac):
        raise Unproved("the length that is left after the loop is another")
    state.classify(calls, x)
    steps, changed = sum(call.machine.steps for call in calls), True
    while changed:
        changed, known = False, len(state.phases)
        for call in calls:
            if call.mac != state.mac:
                at = next((at for at in state.phases if at.mac == call.mac), None)
                if at is None and known == loop.phases:
                    raise Unproved("where authentication is when the loop begins depends on the call")
                changed |= at is None or at.arrive(call, state.like(call))
        for i, last in itertools.product(range(loop.phases), lasts):
            more, n = one_step(kernel, loop, shape, state.phases[i], any_counter(last), calls)
            changed, steps = changed or more, steps + n
        changed |= known < loop.phases
    if not any(state.kinds[cell] == "place" and v[0] in ("steps", "bytes") for cell, v in state.items()):
        raise Unproved("no cell counts the remaining length")
    for at in state.phases:
        state.written |= at.written
        at.written = state.written
    return state, len(calls) + loop.phases * len(lasts), steps


def leave(kernel, loop, shape, at, rest, folder=None, last=None):
    """Proves the run to the end, with `rest` remaining bytes. last: the last byte of the counter, if not any."""
    call, text, waiting, h = start(kernel, loop, shape, at, any_counter(last), rest, 0, rest)
    call.set(bytes=call.done + rest)
    call.go(loop.place(kernel, shape), None)
    result = call.expect_output(text)
    padded = text and spec.pad16(text if shape.opens else result)
    more = message(padded, (rest + 15) // 16 * 16 - at.mac, at.mac, waiting)
    # The counter at the call's start plus the blocks of the call, or that of the loop plus the rest: both are the same
    # number.
    counters = [call.counted(call.done + rest), next_counter(call.counter, rest // call.BLOCK)]
    call.finish(call.absorb(h, more), counters, at.written, folder)
    return call.machine.steps


def prove(kernel, loop, shape, args, found, part=(0, 1), most=terms.MANY):
    """Proves the induction, and its exits or the I-th of N parts of them. most: terms with which the process begins
    anew."""
    anew()
    state, cases, steps = induction(kernel, loop, shape)
    found.add(0 if part[0] else cases, steps)
    ends = [(i, rest) for i, at in enumerate(state.phases) for rest in loop.rests(shape, at, args)]
    for i, rest in ends[part[0]::part[1]]:
        if len(terms.ATOMS) > most:
            anew()
            state, _, _ = induction(kernel, loop, shape)
        what = f"{rest} bytes left" + (f" in phase {i}" if loop.phases > 1 else "")
        found.end(what, leave, kernel, loop, shape, state.phases[i], rest, args.queries)


def attempts(kernel, right, *shapes):
    """Returns what makes attempts to prove a loop with other properties, for planted faults: a function of these."""
    def attempt(before=anew, **change):
        loop = engine.changed(right, **change)

        def show():
            before()
            for shape in shapes:
                state, _, _ = induction(kernel, loop, shape, loop.residues(shape)[:1])
                for at in state.phases:
                    rest = loop.fewest(at.following) + loop.step - 59
                    leave(kernel, loop, shape, at, rest if shape.flags & LAST else rest & -64)
        return show
    return attempt
