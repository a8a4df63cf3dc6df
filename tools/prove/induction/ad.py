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
"""
import itertools

from induction import chacha_arm_open, chacha_armv6, chacha_avx512, chacha_loop, engine, gcm, gcm_ce
from induction.ad_kinds import LEFT_OUT, LEFT_OUT_PADDED, Lanes, Sums, kinds_of, text_of
from induction.engine import BOTH, anew
from isa import arm32
from run import kernels, lists, packets
from run.kernels import AD, SCRATCH, Call, text_symbols
from run.packets import GcmShape, Shape
from spec.args import A, FIRST
from values import linear, terms
from values.terms import Unproved, const, extend, same, secret, symbol

ARGUMENTS = ("out", "in", "bytes", "nonce", "tag", "state", "total", "flags")


def greatest(*bounds):
    return tuple(map(max, *bounds)) if len(bounds) > 1 else bounds[0]


def flat(cells):
    return [c for group in cells for c in (group if isinstance(group, list) else [group])]


def anything(cell, width):
    return symbol(f"anything in {cell}", width)


def alike(a, b):
    return a is b or a.constant is not None and a.constant == b.constant and a.width == b.width


class Stopped(Exception):
    """Ends a run at the start of the section."""


class Recorded:
    """Records which cells were read before they were written."""

    def __init__(self, *args):
        super().__init__(*args)
        self.read, self.written = set(), set()

    def cells(self, n):
        return range(*n.indices(len(self))) if isinstance(n, slice) else (n,)

    def reads(self, n):
        self.read.update(set(self.cells(n)) - self.written)

    def __setitem__(self, n, v):
        self.written.update(self.cells(n))
        super().__setitem__(n, v)


class Recorder(Recorded, dict):
    def get(self, key, default=None):
        self.reads(key)
        return super().get(key, default)


class Registers(Recorded, list):
    def __getitem__(self, n):
        self.reads(n)
        return super().__getitem__(n)


class Lemma:
    """The proved properties of the section, without terms. needed: cells. changed: cell -> (kind, value, bits). The
    kind is "constant", "pointer" (of the caller), "argument", "cell" (its value at the start of the section), "data"
    (in scratch), or "dead". most: bounds of the accumulator after the section."""

    def __init__(self, needed):
        self.needed, self.changed, self.most = needed, None, ()


class Section:
    """A kernel's section, with the terms of a process: the values of its cells at its start. j0: AES-GCM with any J0.
    least: the fewest bytes of associated data. number: that of its kind."""

    def __init__(self, kernel, j0=False, least=1, number=0, lemma=None):
        self.kernel, self.kind, self.j0, self.least, self.lemma = kernel, kinds_of(kernel)[number], j0, least, lemma
        self.width = kernel.isa.POINTER
        self.gcm = "aesgcm" in kernel.name
        self.begin, self.end, self.loop = self.kind.places(kernel)
        self.renew()

    def renew(self):
        """Makes new terms, after all were dropped."""
        self.pointer = self.base("ad", 1 << 20, 1 << self.width - 2, address=AD)
        most = self.kind.most_bytes
        self.bytes = self.base("ad bytes", self.least, most) if most else self.length("ad bytes", self.least)
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
        found, text = [], self.kind.text_before
        self.stop_there = found.append
        shape = GcmShape(text, j0=self.j0) if self.gcm else Shape(text)
        shape.section = self
        try:
            if self.gcm:
                packets.aesgcm(self.kernel, shape, None, False)
            else:
                packets.chacha20poly1305(self.kernel, shape, None, None, False)
        except Stopped:
            pass
        finally:
            self.stop_there = None
        return found[0]

    stop_there = None

    def alone(self, cells, size, pointer, n, begins=True):
        """Prepares a run of the section, or of a part of it. All other cells have any value. size: the bytes that it
        may read at the pointer. Returns the call, and these bytes."""
        call, text = Call(self.kernel), text_symbols("ad pass ", size)
        call.regions(("ad", AD, size, True, False), *([("key", kernels.KEY, A["GCM_KEY_BYTES"], True, False)] if self.gcm else []))
        m = call.machine
        call.change({c: anything(c, v.width) for c, v in call.cells().items()})
        call.change({("memory", a): anything(("memory", a), 32) for a in range(SCRATCH + self.kernel.scratch_from, SCRATCH + call.scratch_bytes, 4)})
        call.change(cells)
        call.change({c: pointer + 0 if what == "ad" else n for c, what in self.kind.given.items() if begins})
        call.before = call.cells()
        for name in ARGUMENTS:
            call.memory.poke(kernels.ARGS + A["ARG_" + name.upper()], symbol(f"argument {name}", 64))
        call.memory.poke(kernels.ARGS + A["ARG_KEY"], extend(call.callers("key", kernels.KEY), 64))
        call.memory.poke(kernels.ARGS + A["ARG_AD"], extend(pointer + 0, 64))
        call.memory.poke(kernels.ARGS + A["ARG_AD_BYTES"], extend(n, 64))
        if self.gcm:
            call.memory.cells.update(packets.gcm_key(self.kernel, self.bits)[0])

        def known(v, what):
            found = linear.place(v)
            if what == "an address" and found and found[0] is pointer and abs(found[1]) < 1 << 16:
                return AD + found[1]
            return call.known(v, what)
        m.known = known
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
            call.memory.cells = memory = Recorder(call.memory.cells)
            m = call.machine
            m.general, m.vector = Registers(m.general), Registers(m.vector)
            self.go(call, self.begin, self.end)
            needed |= {("memory", a) for a in memory.read} | {("general", i) for i in m.general.read}
            needed |= {c for c in reference if c[0] == "vector" and c[1] in m.vector.read}
        return {c for c in needed if c in reference and reference[c].defined}

    def prove(self, quick=False, needed=None):
        """Proves entry, steps and exits. Returns the numbers of cases and instructions."""
        kind = self.kind
        lemma = Lemma(needed or self.find_needed())
        reference = self.before().cells()
        self.values = {c: self.any_counter(c, reference[c]) for c in lemma.needed}
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

    def any_counter(self, cell, v):
        """The only data of a call that AES-GCM's section needs is the counter, which it only moves. Returns any
        number with as many bits."""
        bits = v.ones.bit_length()
        return extend(symbol(f"any counter in {cell}", bits), v.width) if self.gcm and secret(v) else v

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
        state = gcm.State()
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
        accumulator and the bytes."""
        number = isinstance(n, int)
        count = lambda by: lambda offset: const((n >> by) + offset, self.width) if number else n + offset
        end, behind = (pointer, n) if number else (linear.place(terms.add(self.width, pointer + 0, n + 0)[0])[0], 0)
        places = {"ad": lambda offset: pointer + offset, "whole": lambda offset: self.whole + offset, "blocks": count(4), "left": count(0),
                  "end": lambda offset: end + (behind + offset)}
        cells = {c: places[v[0]](v[1]) if isinstance(v, tuple) else v for c, v in state.items()}
        call, text = self.alone(cells, size, pointer, symbol("argument ad_bytes", self.width), False)
        # The code may read arguments again, but those of associated data have other values than in this run.
        call.memory.poke(kernels.ARGS + A["ARG_AD"], symbol("argument ad", 64))
        self.kind.set(call, self.kind.inside, bound)
        return call, self.kind.value(call, self.kind.inside, self.key), text

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
            call, h, text = self.from_loop(state, bound, kind.step, pointer, left)
            self.go(call, self.loop, self.loop)
            after, counts = call.cells(), {"whole": self.whole, "blocks": left}

            def good(cell, v):
                if not isinstance(v, tuple):
                    return alike(after[cell], v)
                offset = v[1] + moves.get(v[0], 0)
                if v[0] in counts:
                    return linear.place(after[cell]) == (counts[v[0]], offset)
                return self.place_of(after[cell], pointer, left) == (v[0], offset)
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
            call, h, text = self.from_loop(state, bound, rest, pointer, rest)
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
                data = cell[0] == "memory" and any(secret(v) for v in ends)
                changed[cell] = "data" if data else "dead", cell, first.width
        return changed

    # ---- Calls in which it is not executed ---------------------------------------------------------------------------

    def arguments(self, call):
        """Sets the arguments for associated data of any length."""
        call.memory.poke(kernels.ARGS + A["ARG_AD"], extend(self.pointer + 0, 64))
        call.memory.poke(kernels.ARGS + A["ARG_AD_BYTES"], extend(self.bytes + 0, 64))

    def through(self, call, stop=None):
        """Runs from the first instruction to `stop`, or to the return. Returns the accumulator after the section."""
        self.go(call, 0, self.begin)
        if self.stop_there:
            self.stop_there(call)
            raise Stopped
        found, m = call.cells(), call.machine
        for cell in self.lemma.needed:
            if cell in self.kind.moved:
                good = found[cell].defined
            elif cell in self.kind.given:
                good = linear.place(found[cell]) == ((self.pointer if self.kind.given[cell] == "ad" else self.bytes), 0)
            elif cell == self.kind.text:
                place = linear.place(found[cell])
                good = (place[0].least + place[1] if place else found[cell].constant) > self.kind.short
            else:
                v = self.value(cell)
                any_ = self.gcm and secret(v) and found[cell].most <= v.most
                good = found[cell].defined and (any_ or same(found[cell], v))
            if not good:
                raise Unproved(f"{cell} is not what the section was shown for")
        values = {"constant": const, "pointer": lambda v, _: linear.any_place(linear.pointer("of the caller", *v[0]))[0] + v[1],
                  "cell": lambda v, _: found[v], "argument": lambda v, _: call.memory.peek(kernels.ARGS + A["ARG_" + v.upper()], 8),
                  "data": lambda cell, width: symbol(f"ad left {cell}", width), "dead": lambda _, width: terms.undefined(width)}
        call.change({cell: values[what](v, width) for cell, (what, v, width) in self.lemma.changed.items()})
        self.kind.set(call, self.kind.behind, self.lemma.most)
        for flag in ("carry", "overflow", "result"):
            setattr(m, flag, None)
        h = self.kind.value(call, self.kind.behind, self.kind.key(self.bits))
        self.go(call, self.end, stop)
        return h

    def value(self, cell):
        if not self.values:
            reference = self.before().cells()
            self.values = {c: self.any_counter(c, reference[c]) for c in self.lemma.needed}
        return self.values[cell]


# ---- All of it -------------------------------------------------------------------------------------------------------

def shapes(kernel, quick):
    """Calls with associated data of any length. They have every length of text below those of the induction; some
    are in place or parts."""
    gcm, (kind, *padded) = "aesgcm" in kernel.name, kinds_of(kernel)
    least = lists.BY_INDUCTION.get(kernel.name.removeprefix("sealane_"), chacha_avx512.LEAST + 256)
    sizes = [0, 1, 77, least - 1] if quick else range(least)
    few = [100] if quick else [n for n in (0, 1, 16, 64, 100, 200, 333, 512, 700, 1111, 1400) if n < least]
    bits = lambda n: {"bits": (128, 192, 256)[n % 3]} if gcm and not quick else {}
    make = GcmShape if gcm else Shape
    found = [make(n, opens=o, **bits(n)) for n in sizes for o in BOTH]
    found += [make(n, opens=o, in_place=True, **bits(n + 1)) for n in few for o in BOTH]
    # With another path: any few bytes, or each length. Texts of more than 256 bytes have one length of associated data.
    short = kind.sealed + 1
    ads = (5,) if quick else range(1, kind.block)
    for n, o in itertools.product((17,) if quick and short else range(short), BOTH):
        of_few = [number for number, k in enumerate(padded, 1) if n in k.texts]
        found += [of_kind(make(n, opens=o, **bits(n)), number, padded) for number in of_few]
        if kind.least(n, o) == kind.block:
            some = (kind.block - 1,) if of_few else ads if n <= 256 else ads[n % len(ads):][:1]
            found += [make(n, ad=ad, opens=o, **bits(n + ad)) for ad in some]
    found += [make(n, ad=ad, opens=ad % 2 == 0, flags=FIRST) for n in range(0, 0 if quick else short, 64) for ad in ads]
    texts = (64,) if quick else range(0, least, 64)
    found += [make(n, opens=o, flags=FIRST, **bits(n // 64)) for n in texts for o in BOTH]
    if gcm:
        found += [make(n, opens=o, j0=True) for n in few for o in BOTH]
    return found


def of_kind(shape, number, padded):
    shape.how = False, padded[number - 1].leasts[0], number
    return shape


def sections(kernel, common):
    """Returns the sections that prepare() has proved, for this process."""
    if not common["sections"]:
        common["sections"] = {how: Section(kernel, *how, lemma=lemma) for how, lemma in common["lemmas"].items()}
    return common["sections"]


def forget(kernel, common):
    anew()
    for s in sections(kernel, common).values():
        s.renew()


def one(kernel, task, args, found):
    _, shape = task
    if len(terms.ATOMS) > 600_000:
        forget(kernel, found.common)
    if isinstance(shape, int):
        found.add(1, bases(kernel, shape, args.quick, found.common))
        return
    if shape.ad == 0:
        how = getattr(shape, "how", None) or (getattr(shape, "j0", False), kinds_of(kernel)[0].least(shape.size, shape.opens))
        shape.section = sections(kernel, found.common)[how]
        shape.section.bits = getattr(shape, "bits", 128)
    found.add(1, packets.aesgcm(kernel, shape) if isinstance(shape, GcmShape) else packets.chacha20poly1305(kernel, shape, args.queries))


def long_calls(kernel, quick):
    """Returns the numbers of the calls that start a packet with a long text."""
    if kernel.name == gcm_ce.NAME:
        return [i for i, (number, *_) in enumerate(gcm_ce.tasks_of(quick)) if gcm_ce.SHAPES[number][0].flags & FIRST]
    all_ = gcm.SHAPES if "aesgcm" in kernel.name else engine.SHAPES
    found = [i for i, shape in enumerate(all_) if (shape[0] if isinstance(shape, tuple) else shape.flags) & FIRST]
    return found[:2] if quick else found


def chacha_state(kernel, number, section=None):
    """Returns what the induction of a long text computes, with associated data of any length or without, and the number
    of instructions."""
    shape = engine.SHAPES[number]
    if kernel.name == chacha_armv6.NAME:
        (_, _, *both), _, steps = chacha_armv6.induction(kernel, shape, section=section)
        return [(set(i.kept), i.bounds, i.written) for i in both], steps
    if kernel.name == chacha_avx512.NAME:
        state, _, steps = chacha_avx512.induction(kernel, shape, (13,), section)
        return (set(state), [(at.bounds, at.mac, set(at)) for at in state.phases], state.written), steps
    if shape.opens and kernel.isa is arm32:
        inv, _, steps = chacha_arm_open.induction(kernel, shape, True, section)
        return (set(inv.kept), inv.bounds, inv.written), steps
    state, _, steps = chacha_loop.induction(kernel, chacha_loop.loop_of(kernel), shape, section)
    return (set(state), state.limbs, state.written, state.mac, state.done), steps


def bases(kernel, number, quick, common):
    """Proves that the loop of a long text starts with the same state as without associated data, or as with 13 bytes.
    Returns the number of instructions."""
    forget(kernel, common)
    found = sections(kernel, common)
    if kernel.name == gcm_ce.NAME:
        number, residues, lasts, ends = gcm_ce.tasks_of(quick)[number]
        shape, given = gcm_ce.SHAPES[number]
        section = found[shape.j0 or not given, 1]
        state, _, steps = gcm.induction(kernel, gcm_ce.Groups(given), shape, residues, lasts, section=section)
        # For some lengths, fewer cells are kept than without associated data.
        return steps + sum(gcm_ce.leave(kernel, shape, state, residue, last, given) for residue, last in ends)
    if "aesgcm" in kernel.name:
        loop, shape = gcm.LOOPS[kernel.name], gcm.SHAPES[number]
        state, _, _ = gcm.induction(kernel, loop, shape)
        (given, word), written = loop.word(shape), set(state.written)
        call = loop.begin(kernel, shape, word, given, section=found[shape.j0, kinds_of(kernel)[0].leasts[0]])
        if state.arrive(call, state.words.cells(word), call.cells()) or gcm.blocks_before(call) != state.skipped:
            raise Unproved("with associated data the loop begins otherwise")
        if written != state.written:
            raise Unproved("with associated data more of scratch is written")
        return call.machine.steps
    before, _ = chacha_state(kernel, number)
    after, steps = chacha_state(kernel, number, found[False, kinds_of(kernel)[0].leasts[0]])
    if before != after:
        raise Unproved("with associated data the loop begins otherwise")
    return steps


def planted(kernel, args, attempt):
    """Plants faults, including wrong properties of the section."""
    right, *padded = kinds_of(kernel)
    kernel.program().LIMIT = 100_000
    anew()
    needed = Section(kernel, least=right.leasts[0]).find_needed()

    def wrong(what, insn=None, behind=None, numbers=(0,), text=300, **change):
        def show():
            anew()
            for number in numbers:
                section = Section(kernel, False, kinds_of(kernel)[number].leasts[0], number)
                section.kind = engine.changed(section.kind, **change)
                section.prove(True, None if number else needed)
                if behind:
                    behind(section)
                shape = (GcmShape if section.gcm else Shape)(text)
                shape.section = section
                (packets.aesgcm if section.gcm else packets.chacha20poly1305)(kernel, shape)
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

    of = kernel.isa, kernel.name.removeprefix("sealane_")
    left_out(LEFT_OUT[of], right)
    if padded:
        short = {"numbers": (1, 2)[:len(padded)], "text": padded[0].text_before}
        left_out(LEFT_OUT_PADDED[of], padded[0], "before a short text, ", **short)
        wrong("before a short text, the accumulator is another", behind=another, **short)
        if isinstance(right, Lanes):
            wrong("before a short text, another number of blocks", inside=right.inside, step=48, **short)
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
    kind, *padded = kinds_of(kernel)
    ways = list(itertools.product(BOTH if "aesgcm" in kernel.name else (False,), kind.leasts))
    ways += [(False, few.leasts[0], number) for number, few in enumerate(padded, 1)]
    for how in ways:
        anew()
        section = Section(kernel, *how)
        n, i = section.prove(args.quick)
        lemmas[how], cases, steps = section.lemma, cases + n, steps + i
    return cases, steps, {"lemmas": lemmas, "sections": {}}


def tasks(kernel, args):
    return [(f"long texts, {i}", i) for i in long_calls(kernel, args.quick)] + \
        [(f"{s}{'' if s.ad else ', any associated data'}", s) for s in shapes(kernel, args.quick)]
