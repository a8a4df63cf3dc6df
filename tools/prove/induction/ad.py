"""Associated data of every length: the loop over them by induction, then calls with any accumulator.

    induction.ad [--quick] [--planted] [--jobs N] [--part I/N] [--queries FOLDER] OBJECT...

A kernel processes associated data in a section of its code. It starts at the instruction that tests their length. It
ends where text starts, or at the next instruction if there is no text. First a run finds the cells that the section
reads. Then the section is run separately, with any values in all other cells. These are proved:

        entry   From its start to its loop, by classes of the length where necessary. The pointer, the end and the
                number of remaining bytes are correct, and the accumulator is that of the processed bytes.
        step    One pass of the loop, if enough bytes remain, from any accumulator: the new one is the specification's.
        exit    From the loop to the end of the section, for each number of bytes without a step.

So for any length, the section computes the specification's accumulator, within bounds. Another cell is unchanged, or a
constant, or an argument, or must not be used afterwards. Of scratch and registers, the section reads only `needed`.

Then calls are run without executing the section. The length of associated data is a symbol with bounds. Where the
section starts, the cells that it needs must be those of its proof. The cells that it changes are set to its results,
and the accumulator to any number within the bounds. The call continues at the end of the section. Its result must be
the specification's for associated data whose polynomial is that number. This is proved for every text that is too short
for an induction. It is also proved in the bases of the inductions, which must keep the same cells. ad_kinds.py has
the section of each kernel.

A call can stand for several: with associated data or without, and with both kinds of AES-GCM's nonces. Each of them
runs to the end of the section, and there one state stands for all (Section.join). So run.prove leaves some calls without
associated data to this file (lists.left_to_ad). It refuses to run if it does not have them all (has_all).
"""
import functools
import itertools
import operator

from induction import chacha_avx512, chacha_loop, chacha_scalar, chacha_skew, engine, gcm, gcm_ce
from induction.ad_kinds import LEFT_OUT, Lanes, Sums, kinds_of, text_of
from induction.engine import BOTH, anew
from induction.loop import State, induction
from isa import arm32
from run import kernels, lists, packets
from run.kernels import AD, ARGS, CONSTS, NONCE, SCRATCH, TAG, Call, text_symbols
from run.memory import Near
from run.packets import GcmShape, Shape
from spec.args import A, FIRST, WHOLE
from values import linear, terms
from values.terms import Unproved, cat, const, extend, same, secret, symbol

FLAGS = ARGS + A["ARG_FLAGS"]
# Whether a call has associated data, and of AES-GCM a further property of its nonce (Section.join).
STARTS = (True, None), (False, None), (True, "implied"), (True, "nonce"), (False, "nonce")
IMPLIED = 1 << 24  # the last word of J0 with a nonce of 12 bytes: the counter 1
ARGUMENTS = ("out", "in", "bytes", "nonce", "tag", "state", "total", "flags")


def greatest(*bounds):
    return tuple(map(max, *bounds)) if len(bounds) > 1 else bounds[0]


def flat(cells):
    return [c for group in cells for c in (group if isinstance(group, list) else [group])]


def anything(cell, width):
    return symbol(f"anything in {cell}", width)


def registers_of(machine):
    return {name: list(v) for name, v in vars(machine).items() if isinstance(v, list)}


def either(cell, values):
    """Returns a value that may be each of these: the bits in which constants differ are unknown."""
    numbers = [v.constant for v in values]
    if None not in numbers:
        other = functools.reduce(operator.or_, (n ^ numbers[0] for n in numbers))
        bit = lambda i: symbol(f"bit {i} of {cell}", 1) if other >> i & 1 else const(numbers[0] >> i, 1)
        return cat(*map(bit, range(values[0].width)))
    return (terms.tainted if any(map(secret, values)) else terms.undefined)(values[0].width)


def alike(a, b):
    return a is b or a.constant is not None and a.constant == b.constant and a.width == b.width


class Stopped(Exception):
    """Ends a call at the start of a section that has no lemma yet."""


def run_packet(kernel, shape, folder=None):
    return packets.aesgcm(kernel, shape) if "aesgcm" in kernel.name else packets.chacha20poly1305(kernel, shape, folder)


def recorded(items):
    """A copy of a list or dictionary that records which items are read before they are written."""
    numbers = lambda n: range(*n.indices(len(items))) if isinstance(n, slice) else (n,)

    class Recorded(type(items)):
        def __getitem__(self, n):
            self.read.update(set(numbers(n)) - self.written)
            return super().__getitem__(n)

        def get(self, n, default=None):
            return self[n] if n in self else default

        def __setitem__(self, n, v):
            self.written.update(numbers(n))
            super().__setitem__(n, v)

    found = Recorded(items)
    found.read, found.written = set(), set()
    return found


class Lemma:
    """The proved properties of the section, without terms. needed: cells. changed: cell -> (kind, value, bits). The
    kind is "constant", "pointer" (of the caller), "argument", "cell" (its value at the start of the section), "data",
    or "dead". most: bounds of the accumulator after the section."""

    def __init__(self, needed):
        self.needed, self.changed, self.most = needed, None, ()


class Section:
    """A kernel's section, with the terms of a process: the values of its cells at its start. least: the fewest bytes of
    associated data besides none. number: that of its kind."""

    def __init__(self, kernel, least=1, number=0, lemma=None):
        self.kernel, self.kind, self.least, self.lemma = kernel, kinds_of(kernel)[number], least, lemma
        self.width = kernel.isa.POINTER
        self.gcm = "aesgcm" in kernel.name
        self.begin, self.end, self.loop = self.kind.places(kernel)
        self.renew()

    def renew(self):
        """Makes new terms, after all were dropped."""
        self.pointer = self.base("ad", 1 << 20, 1 << self.width - 2, address=AD)
        most = self.kind.most_bytes
        self.bytes = self.base("ad bytes", self.least, most) if most else self.length("ad bytes", self.least)
        self.any_length = self.length("any ad bytes", 0)
        self.values, self.bits = {}, 128

    def base(self, name, least, most, **more):
        return linear.Base(name, least, most, width=self.width, **more)

    def length(self, name, least, **more):
        """A length of associated data: on 32-bit ARM, less than half of the 32-bit address space."""
        return self.base(name, least, 1 << self.width - 4, **more)

    whole = None  # if a run counts whole blocks: the length, whose remainder is processed later

    # ---- The section by itself ---------------------------------------------------------------------------------------

    def before(self):
        """Runs a call up to the start of the section."""
        shape = GcmShape(self.kind.text_before, j0=self.kind.parts) if self.gcm else Shape(self.kind.text_before)
        shape.section = engine.changed(self, lemma=None)
        try:
            run_packet(self.kernel, shape)
        except Stopped as e:
            return e.args[0]

    def alone(self, cells, size, pointer, n, begins=True):
        """Prepares a run of the section, or of a part of it. All other cells have any value. size: the bytes that it
        may read at the pointer. Returns the call, and these bytes."""
        call, text = Call(self.kernel), text_symbols("ad pass ", size)
        key = [("key", kernels.KEY, A["GCM_KEY_BYTES"], True, False)] if self.gcm else []
        call.regions(("ad", AD, size, True, False), *key)
        widths = {("memory", a): 32 for a in range(SCRATCH + self.kernel.scratch_from, SCRATCH + call.scratch_bytes, 4)}
        widths.update({c: v.width for c, v in call.cells().items()})
        call.change({c: anything(c, width) for c, width in widths.items()} | cells)
        call.change({c: pointer + 0 if what == "ad" else n for c, what in self.kind.given.items() if begins})
        call.before = call.cells()
        for name in ARGUMENTS:
            call.memory.poke(ARGS + A["ARG_" + name.upper()], symbol(f"argument {name}", 64))
        call.memory.poke(ARGS + A["ARG_KEY"], extend(call.callers("key", kernels.KEY), 64))
        self.put(call, extend(pointer + 0, 64), extend(n, 64))
        if self.gcm:
            call.memory.cells.update(packets.gcm_key(self.kernel, self.bits)[0])

        def known(v, what):
            found = linear.place(v)
            if what == "an address" and found and found[0] is pointer and abs(found[1]) < 1 << 16:
                return Near(AD, found[1])
            return call.known(v, what)
        call.machine.known = known
        if text:
            call.memory.poke(AD, text)
        return call, text

    def go(self, call, start, stop):
        if self.kernel.program().run(call.machine, None, start, stop) != (stop is not None):
            raise Unproved(f"{stop:#x} is not reached")

    def find_needed(self):
        """Returns the cells that the section reads before it writes them."""
        reference, needed = self.before().cells(), set()
        for n in self.kind.tried(self.least):
            call, _ = self.alone(reference, n, self.pointer, const(n, self.width))
            m = call.machine
            read = {"memory": recorded(call.memory.cells), "general": recorded(m.general), "vector": recorded(m.vector)}
            call.memory.cells, m.general, m.vector = read.values()
            self.go(call, self.begin, self.end)
            needed |= {c for c, v in reference.items() if v.defined and c[0] in read and c[1] in read[c[0]].read}
        return needed

    def prove(self, quick=False, needed=None):
        """Proves entry, steps and exits. Returns the numbers of cases and instructions."""
        kind = self.kind
        lemma = Lemma(needed or self.find_needed())
        self.values = self.values_of(lemma.needed)
        for cell in lemma.needed & set(kind.moved):
            self.values[cell] = symbol(f"any {cell}", self.values[cell].width)
        if kind.text in self.values:
            self.values[kind.text] = self.length("text", kind.short + 1) + 0
        self.ends, self.cases, self.steps, self.touched = [], 0, 0, set()
        bound = None
        for self.bits in (128, 192, 256) if self.gcm and not quick else (128,):
            self.key = kind.key(self.bits)
            for residue in range(kind.modulus):
                bound = self.of_class(residue, bound, quick)
        lemma.most = greatest(*(kind.most(call, kind.behind) for call, _ in self.ends))
        lemma.changed = self.outcome()
        self.lemma = lemma
        return self.cases, self.steps

    def values_of(self, needed):
        """The values of the cells that the section needs. The only data of a call among them are AES-GCM's counter. As
        the section only moves it, it is any number with as many bits."""
        found = self.before().cells()
        counter = lambda c, v: extend(symbol(f"any counter in {c}", v.ones.bit_length()), v.width)
        return {c: counter(c, v) if self.gcm and secret(v) else v for c, v in found.items() if c in needed}

    def of_class(self, residue, bound, quick):
        """Proves all lengths with this residue. Returns a bound of the accumulator in the loop."""
        kind = self.kind
        rests = list(kind.rests(residue))
        # Fewer bytes than a pass, or with another path.
        few, low = kind.few(residue, self.least)
        for n in few:
            self.finish(self.values, None, n)
        if low is None:
            return bound
        n = self.length("ad bytes", low, modulus=kind.modulus, of=(residue,))
        done = kind.taken(residue)
        call, text = self.alone(self.values, done, self.pointer, n + 0)
        self.go(call, self.begin, self.loop)
        if done:
            self.go(call, self.loop, self.loop)
        if kind.value(call, kind.inside, self.key) != kind.absorb(0, self.key, text):
            raise Unproved("the accumulator is not that of the specification where the loop begins")
        self.count(call)
        state = State()
        for cell, v in call.cells().items():
            place = self.place_of(v, self.pointer, n) or (None, v)
            if cell in flat(kind.inside) or v is anything(cell, v.width) or place[0] == "unknown":
                continue
            # A place is relative to the loop.
            state[cell] = (place[0], place[1] + {"ad": -done, "left": done}.get(place[0], 0)) if place[0] else v
        bound = greatest(kind.most(call, kind.inside), *([bound] if bound is not None else []))
        while (found := self.step(state, bound, (residue - done) % kind.modulus, rests)) != bound:
            bound = found
        for rest in rests[:4] + rests[-4:] if quick and len(rests) > 8 else rests:
            self.finish(state, bound, rest)
        return bound

    def place_of(self, v, pointer, n):
        """Returns a pointer or length as ("ad", offset), ("end", offset), ("left", offset), ...; or None."""
        found = linear.place(v)
        if found is None:
            return None
        base, offset = found
        if base is pointer:
            return "ad", offset
        if base is n:
            return "whole" if self.kind.counts_blocks else "left", offset
        if self.kind.counts_blocks and base.quotient == (n, 0, 4):
            return "blocks", offset
        if base.sum and set(base.sum) == {pointer, n}:
            return "end", offset
        return "unknown", 0

    def from_loop(self, state, bound, size, pointer, n):
        """Prepares a run from the start of the loop, with `size` bytes. n: a base, or a number. Returns the call, the
        accumulator, the bytes, and for each kind of place its origin: (base or number, offset)."""
        if isinstance(n, int):
            at = {"ad": (pointer, 0), "end": (pointer, n), "left": (n, 0), "blocks": (n >> 4, 0)}
        else:
            end = linear.place(terms.add(self.width, pointer + 0, n + 0)[0])
            at = {"ad": (pointer, 0), "end": end, "left": (n, 0), "blocks": (n, 0)}
        at["whole"] = self.whole, 0

        def value(kind, offset):
            base, more = at[kind]
            return const(base + offset, self.width) if isinstance(base, int) else base + (more + offset)
        cells = {c: value(*v) if isinstance(v, tuple) else v for c, v in state.items()}
        call, text = self.alone(cells, size, pointer, symbol("argument ad_bytes", self.width), False)
        # The code may read arguments again, but those of associated data have other values than in this run.
        call.memory.poke(ARGS + A["ARG_AD"], symbol("argument ad", 64))
        self.kind.set(call, self.kind.inside, bound)
        return call, self.kind.value(call, self.kind.inside, self.key), text, at

    def step(self, state, bound, residue, rests):
        """Proves a step, after removing the cells that are not kept from the state. Returns the bounds of the
        accumulator. If it stays within the given bounds, these are returned."""
        kind, changed = self.kind, True
        moves = {"ad": kind.step, "left": -kind.step, "blocks": -(kind.step >> 4)}
        while changed:
            pointer = self.base("ad in a pass", 1 << 20, 1 << self.width - 2, address=AD)
            self.whole = self.length("ad whole", rests[0], modulus=kind.modulus, of=(residue,))
            left = self.base("ad blocks", (kind.step + rests[0]) >> 4, 1 << self.width - 5) if kind.counts_blocks else \
                self.length("ad left", kind.step + rests[0], modulus=kind.modulus, of=(residue,))
            call, h, text, at = self.from_loop(state, bound, kind.step, pointer, left)
            self.go(call, self.loop, self.loop)
            after = call.cells()

            def good(cell, v):
                if not isinstance(v, tuple):
                    return alike(after[cell], v)
                base, offset = at[v[0]]
                return linear.place(after[cell]) == (base, offset + v[1] + moves.get(v[0], 0))
            changed = state.keep(good)
        if kind.value(call, kind.inside, self.key) != kind.absorb(h, self.key, text):
            raise Unproved("the accumulator is not that of the specification after a pass")
        self.count(call)
        return greatest(bound, kind.most(call, kind.inside))

    def finish(self, state, bound, rest):
        """Proves the run to the end of the section, with `rest` bytes. It starts at the loop, or without a bound at
        the start of the section."""
        kind, h = self.kind, 0
        if bound is None:
            call, text = self.alone(self.values, rest, self.pointer, const(rest, self.width))
        else:
            pointer = self.base("ad at the end", 1 << 20, 1 << self.width - 2, address=AD)
            call, h, text, _ = self.from_loop(state, bound, rest, pointer, rest)
        self.go(call, self.begin if bound is None else self.loop, self.end)
        if kind.value(call, kind.behind, self.key) != kind.absorb(h, self.key, text):
            raise Unproved(f"the accumulator is not that of the specification behind {rest} bytes")
        self.count(call)
        self.ends.append((call, call.cells()))

    def count(self, call):
        self.cases, self.steps = self.cases + 1, self.steps + call.machine.steps
        self.touched |= {c for c, v in call.cells().items() if c not in call.before or not alike(v, call.before[c])}

    def outcome(self):
        """For each changed cell: what a call may use of it. Cells with their initial value at all ends are omitted."""
        moved = {self.values[c]: c for c in self.kind.moved if c in self.values}
        arguments = {symbol(f"argument {name}", 64): name for name in ARGUMENTS}
        changed = {}
        for cell in sorted(self.touched - set(flat(self.kind.behind))):
            ends = [found[cell] for _, found in self.ends]
            first, one = ends[0], all(alike(v, ends[0]) for v in ends)
            if one and cell in self.values and alike(first, self.values[cell]):
                continue
            if one and first.constant is not None:
                changed[cell] = "constant", first.constant, first.width
            elif one and (place := linear.any_place(first)) and place[0].callers:
                changed[cell] = "pointer", (place[0].callers, place[1]), first.width
            elif one and first in moved:
                changed[cell] = "cell", moved[first], first.width
            elif one and first in arguments:
                changed[cell] = "argument", arguments[first], 64
            else:
                changed[cell] = "data" if any(map(secret, ends)) else "dead", cell, first.width
        return changed

    # ---- Calls in which it is not executed ---------------------------------------------------------------------------

    def arguments(self, call):
        """Sets the arguments for associated data of any length."""
        self.put(call, extend(self.pointer + 0, 64), extend(self.bytes + 0, 64))

    @staticmethod
    def put(call, pointer, n):
        call.memory.poke(ARGS + A["ARG_AD"], pointer)
        call.memory.poke(ARGS + A["ARG_AD_BYTES"], n)

    def through(self, call, stop=None):
        """Runs from the first instruction to `stop`, or to the return. Returns the accumulator after the section."""
        starts, found, m, first = getattr(call.shape, "starts", STARTS[:1]), {}, call.machine, None
        registers, memory = registers_of(m), call.memory.cells
        for data, nonce in starts:
            vars(m).update({name: list(v) for name, v in registers.items()})
            call.memory.cells = dict(memory)
            if nonce == "implied":
                call.memory.poke(NONCE + 12, const(IMPLIED, 32))
            if nonce == "nonce":
                call.memory.at(NONCE).end = NONCE + 12
                call.memory.poke(FLAGS, terms.either(call.memory.peek(FLAGS, 8), const(A["FLAG_NONCE"], 64)))
            (self.skip if data else self.without)(call)
            found[data, nonce] = call.cells(), call.memory.cells
            first = first or registers_of(m)
        if len(starts) > 1:
            vars(m).update(first)
            self.join(call, memory, found)
        h = self.kind.value(call, self.kind.behind, self.kind.key(self.bits))
        self.go(call, self.end, stop)
        return h

    def skip(self, call):
        """Runs to the section, and sets what it leaves."""
        self.go(call, 0, self.begin)
        if not self.lemma:
            raise Stopped(call)
        found = self.require(call)
        values = {
            "constant": const, "cell": lambda v, _: found[v], "dead": lambda _, width: terms.undefined(width),
            "pointer": lambda v, _: linear.any_place(linear.pointer("of the caller", *v[0]))[0] + v[1],
            "argument": lambda v, _: call.memory.peek(ARGS + A["ARG_" + v.upper()], 8),
            "data": lambda _, width: terms.tainted(width)}
        call.change({cell: values[what](v, width) for cell, (what, v, width) in self.lemma.changed.items()})
        self.set_behind(call)

    def set_behind(self, call):
        self.kind.set(call, self.kind.behind, self.lemma.most)
        for flag in ("carry", "overflow", "result"):
            setattr(call.machine, flag, None)

    def without(self, call):
        """Runs to the end of the section without associated data. The accumulator must be 0, within the bounds."""
        kind, key = self.kind, self.kind.key(self.bits)
        self.put(call, extend(call.callers("ad", AD + 1), 64), const(0, 64))
        self.go(call, 0, self.end)
        most = kind.most(call, kind.behind)
        if kind.value(call, kind.behind, key) != 0 or any(map(operator.gt, most, self.lemma.most)):
            raise Unproved("without associated data, the accumulator is not 0 where text begins")
        self.set_behind(call)

    def join(self, call, before, found):
        """Sets a state that stands for those with which the starts arrive where text begins. Of the calls with any J0,
        "implied" is one with the last word that a nonce of 12 bytes implies. "nonce" is the call with such a nonce. If
        both arrive alike, the call with any J0 stands for the latter, too. The bits of other cells are unknown."""
        every, none = [cells for cells, _ in found.values()], terms.undefined(32)
        stands = [found[True, "implied" if nonce else None][0] for _, nonce in found]
        call.memory.cells = dict(found[True, None][1])
        if any(v is not before.get(at) for _, memory in found.values() for at, v in memory.items()
               if not (ARGS <= at < CONSTS or NONCE <= at < TAG)):
            raise Unproved("more than scratch is written before text begins")
        for cell in set().union(*every):
            values = [cells.get(cell, none) for cells in every]
            if not all(v is values[0] or same(v, cells.get(cell, none)) for v, cells in zip(values, stands)):
                call.change({cell: either(cell, values)})
        flags, n = [cat(*(memory[FLAGS + i] for i in (0, 4))) for _, memory in found.values()], self.any_length + 0
        call.memory.poke(FLAGS, either("flags", flags))
        self.put(call, symbol("argument ad", 64), extend(n, 64))
        call.lengths = extend(n, 64), call.lengths[1]

    def require(self, call):
        """Requires that the cells that the section needs have the values for which it was proved. Returns all cells."""
        found, self.values = call.cells(), self.values or self.values_of(self.lemma.needed)
        for cell in self.lemma.needed:
            if cell in self.kind.moved:
                good = found[cell].defined
            elif cell in self.kind.given:
                at = ARGS + A["ARG_AD" if self.kind.given[cell] == "ad" else "ARG_AD_BYTES"]
                good = same(found[cell], call.memory.peek(at, self.width // 8))
            elif cell == self.kind.text:
                place = linear.place(found[cell])
                good = (place[0].least + place[1] if place else found[cell].constant) > self.kind.short
            else:
                v = self.values[cell]
                any_ = self.gcm and secret(v) and found[cell].most <= v.most
                good = found[cell].defined and (any_ or same(found[cell], v))
            if not good:
                raise Unproved(f"{cell} is not what the section was shown for")
        return found


# ---- All of it -------------------------------------------------------------------------------------------------------

def starts_of(gcm):
    return STARTS if gcm else STARTS[:2]


def shapes(kernel, quick):
    """Calls with associated data of any length. They have every length of text below those of the induction; some
    are in place or parts. A shape's `starts` are the calls for which it stands, and `of` is its section."""
    gcm, (kind, *padded) = "aesgcm" in kernel.name, kinds_of(kernel)
    least = lists.BY_INDUCTION.get(kernel.name.removeprefix("sealane_"), chacha_avx512.LEAST + 256)
    sizes = [0, 1, 77, least - 1] if quick else range(least)
    few = [100] if quick else [n for n in (0, 1, 16, 64, 100, 200, 333, 512, 700, 1111, 1400) if n < least]
    bits = lambda n: {"bits": (128, 192, 256)[n % 3]} if gcm and not quick else {}
    make = GcmShape if gcm else Shape
    joined_from = lists.ANY_DATA.get(kernel.name.removeprefix("sealane_"), least)

    def any_data(n, opens, flags=WHOLE, number=0, **more):
        """A call through a section, which may stand for those without associated data and with both kinds of nonces."""
        joined = n >= joined_from and (not number or padded[number - 1].parts)
        shape = make(n, opens=opens, flags=flags, **{"j0": True} if joined and gcm else {}, **more)
        shape.starts = [start for start in starts_of(gcm) if start[0] or not number] if joined else STARTS[:1]
        shape.of = padded[number - 1].leasts[0] if number else kind.least(n, opens), number
        return shape
    found = [any_data(n, o, **bits(n)) for n in sizes for o in BOTH]
    found += [any_data(n, o, in_place=True, **bits(n + 1)) for n in few for o in BOTH]
    found += [any_data(n, o, FIRST, **bits(n // 64)) for n in ((64,) if quick else range(0, least, 64)) for o in BOTH]
    if gcm:
        found += [any_data(n, o, j0=True) for n in few for o in BOTH if n < joined_from]
    # With another path: any few bytes, or each length.
    ads = (5,) if quick else range(1, kind.block)
    for n, o in itertools.product((17, 400) if quick else range(least), BOTH):
        of_few = [(number, k) for number, k in enumerate(padded, 1) if n in k.texts and o in k.opens]
        for number, k in of_few:
            found += [any_data(n, o, flags, number, **bits(n)) for flags in (WHOLE, FIRST)
                      if flags == WHOLE or k.parts and n % 64 == 0]
        if n <= kind.short:
            found += [make(n, ad=ad, opens=o, **bits(n + ad)) for ad in ((kind.block - 1,) if of_few else ads)]
            parts = ads if n % 64 == 0 and not quick else ()
            found += [make(n, ad=ad, opens=o, flags=FIRST) for ad in parts if o == (ad % 2 == 0)]
    return found


def has_all(kernel, found):
    """Requires that calls stand for all those that run.prove leaves to this part."""
    left = {(s.size, s.opens, s.flags, getattr(s, "j0", False))
            for s in lists.shapes(kernel, False) if lists.left_to_ad(kernel, s)}
    for s in found:
        if not s.ad and not s.in_place:
            left -= {(s.size, s.opens, s.flags, nonce is None and isinstance(s, GcmShape))
                     for data, nonce in s.starts if not data}
    if left:
        raise Unproved(f"run.prove leaves {len(left)} calls to this part that it does not have, such as {min(left)}")


def sections(kernel, common):
    """Returns the sections that prepare() has proved, for this process."""
    if not common["sections"]:
        common["sections"] = {of: Section(kernel, *of, lemma=lemma) for of, lemma in common["lemmas"].items()}
    return common["sections"]


def forget(kernel, common):
    anew()
    for s in sections(kernel, common).values():
        s.renew()


def one(kernel, task, args, found):
    _, shape = task
    if len(terms.ATOMS) > terms.MANY:
        forget(kernel, found.common)
    if isinstance(shape, int):
        found.add(1, bases(kernel, shape, args.quick, found.common))
        return
    if shape.ad == 0:
        shape.section = sections(kernel, found.common)[shape.of]
        shape.section.bits = getattr(shape, "bits", 128)
    found.add(1, run_packet(kernel, shape, args.queries))


def long_calls(kernel, quick):
    """Returns the numbers of the calls that start a packet with a long text."""
    if kernel.name == gcm_ce.NAME:
        return [i for i, (number, *_) in enumerate(gcm_ce.tasks_of(quick)) if gcm_ce.SHAPES[number][0].flags & FIRST]
    all_ = gcm.SHAPES if "aesgcm" in kernel.name else engine.SHAPES
    found = [i for i, shape in enumerate(all_) if shape.flags & FIRST]
    return found[:2] if quick else found


def chacha_state(kernel, number, section=None):
    """Returns what the induction of a long text computes, with associated data of any length or without, and the number
    of instructions."""
    shape = engine.SHAPES[number]
    if kernel.isa is arm32 and (chacha_scalar.least(kernel) or shape.opens):
        kind = chacha_scalar.TwoLoops if chacha_scalar.least(kernel) else chacha_skew.Ahead
        proof = kind(kernel, shape, True, section)
        proof.prove()
        return [(set(i.kept), i.bounds, i.written) for i in proof.invariants], proof.steps
    loop = chacha_avx512.LOOP if kernel.name == chacha_avx512.NAME else chacha_loop.loop_of(kernel)
    state, _, steps = induction(kernel, loop, shape, section=section)
    return [(set(at), at.limbs, at.written, at.mac, at.done) for at in state.phases], steps


def bases(kernel, number, quick, common):
    """Proves that the loop of a long text starts with the same state as without associated data, or as with 13 bytes.
    Returns the number of instructions."""
    forget(kernel, common)
    found = sections(kernel, common)
    if kernel.name == gcm_ce.NAME:
        number, residues, lasts, ends = gcm_ce.tasks_of(quick)[number]
        shape, given = gcm_ce.SHAPES[number]
        section = found[1, 0]
        state, _, steps = induction(kernel, gcm_ce.Groups(given), shape, residues, lasts, section=section)
        # For some lengths, fewer cells are kept than without associated data.
        return steps + sum(gcm_ce.leave(kernel, shape, state, residue, last, given) for residue, last in ends)
    if "aesgcm" in kernel.name:
        loop, shape = gcm.LOOPS[kernel.name], gcm.SHAPES[number]
        state, _, _ = induction(kernel, loop, shape)
        written = set(state.written)
        call = loop.begin(kernel, shape, section=found[kinds_of(kernel)[0].leasts[0], 0])
        if state.arrive(call, state.like(call)) or call.done != state.done:
            raise Unproved("with associated data the loop begins otherwise")
        if written != state.written:
            raise Unproved("with associated data more of scratch is written")
        return call.machine.steps
    before, _ = chacha_state(kernel, number)
    after, steps = chacha_state(kernel, number, found[kinds_of(kernel)[0].leasts[0], 0])
    if before != after:
        raise Unproved("with associated data the loop begins otherwise")
    return steps


def planted(kernel, args, attempt):
    """Plants faults, including wrong properties of the section."""
    global IMPLIED
    right, *padded = kinds_of(kernel)
    kernel.program().LIMIT, name = 100_000, kernel.name.removeprefix("sealane_")
    joined = name in lists.ANY_DATA
    anew()
    needed = Section(kernel, least=right.leasts[0]).find_needed()

    def wrong(what, insn=None, behind=None, numbers=(0,), text=300, starts=STARTS[:1], **change):
        def show():
            anew()
            for number in numbers:
                section = Section(kernel, kinds_of(kernel)[number].leasts[0], number)
                section.kind = engine.changed(section.kind, **change)
                section.prove(True, None if number else needed)
                if behind:
                    behind(section)
                shape = GcmShape(text, j0=starts == STARTS) if section.gcm else Shape(text)
                shape.section, shape.starts = section, starts
                run_packet(kernel, shape)
        attempt(what, show, insn)

    def another(section):
        """The accumulator after the section differs from that of the lemma."""
        value = section.kind.value
        section.kind.value = lambda *args: value(*args) ^ 1

    def other_key(section):
        cell = max(c for c in section.lemma.needed if c not in (right.text, *right.moved, *right.given))
        section.values[cell] = const(12345, section.values[cell].width)

    def left_out(faults, kind, prefix="", **more):
        begin, end, loop = kind.places(kernel)
        insns = [i for i in engine.instructions(kernel, begin) if i.address < end]
        if loop and not begin <= loop < end:
            insns += [i for i in engine.instructions(kernel, loop) if i.address < loop + 256]
        for what, text, number in faults:
            wrong(prefix + what, [i for i in insns if text_of(i).startswith(text)][number], **more)

    def registers(section):
        """Without associated data, no general register is as the text's code needs it."""
        without = section.without

        def other(call):
            without(call)
            general = {("general", i) for i in range(len(call.machine.general))} - set(flat(section.kind.behind))
            call.change({cell: symbol(f"another {cell}", section.width) for cell in general})
        section.without = other

    of = kernel.isa, name
    if joined:
        starts = starts_of("aesgcm" in kernel.name)
        wrong("without associated data, registers are others", behind=registers, starts=starts)
        some = [s for s in shapes(kernel, False) if s.size != lists.ANY_DATA[name]]
        attempt("a length of text is left out", lambda: has_all(kernel, some))
    if joined and "aesgcm" in kernel.name:
        right_word, IMPLIED = IMPLIED, 2 << 24
        wrong("a nonce of 12 bytes implies another counter", starts=STARTS)
        IMPLIED = right_word
    left_out(LEFT_OUT[of], right)
    for text in sorted({few.text_before for few in padded}):
        of_text = [number for number, few in enumerate(padded, 1) if few.text_before == text][:2]
        few, more = padded[of_text[0] - 1], {"numbers": of_text, "text": text}
        left_out(few.left_out, few, f"few bytes before {text}: ", **more)
        wrong(f"few bytes before {text}: the accumulator is another", behind=another, **more)
        if isinstance(right, Lanes):
            wrong(f"few bytes before {text}: another number of blocks", inside=right.inside, step=48, **more)
    wrong("a pass has 16 bytes more", step=right.step + 16)
    if isinstance(right, Lanes):
        order, chacha_avx512.ORDER = chacha_avx512.ORDER, tuple(range(8))
        wrong("lanes in another order")
        chacha_avx512.ORDER = order
    elif isinstance(right, Sums):
        cells, gcm_ce.HASH = gcm_ce.HASH, [("vector", r, i) for r in (11, 9, 10) for i in range(4)]
        wrong("a sum is in another register")
        gcm_ce.HASH = cells
    else:
        wrong("the accumulator is elsewhere", inside=right.inside[1:] + right.inside[:1])
    wrong("the accumulator is another", behind=another)
    wrong("the section was shown for other cells", behind=other_key)


OF = "associated data of any length"


def least(kernel):
    return 0 if kinds_of(kernel) else None


def prepare(kernel, args):
    lemmas, cases, steps = {}, 0, 0
    for number, kind in enumerate(kinds_of(kernel)):
        for least_ in kind.leasts:
            anew()
            section = Section(kernel, least_, number)
            n, i = section.prove(args.quick)
            lemmas[least_, number], cases, steps = section.lemma, cases + n, steps + i
    return cases, steps, {"lemmas": lemmas, "sections": {}}


def tasks(kernel, args):
    # One after the other, calls with keys of one length and one kind of nonce share terms.
    found = sorted(shapes(kernel, args.quick), key=lambda s: (getattr(s, "bits", 0), getattr(s, "j0", False)))
    if not args.quick:
        has_all(kernel, found)
    return [(f"long texts, {i}", i) for i in long_calls(kernel, args.quick)] + \
        [(f"{s}{'' if s.ad else ', any associated data'}", s) for s in found]
