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

from induction import chacha_arm, chacha_arm_open, chacha_armv6, chacha_avx512, chacha_x86, engine, gcm, gcm_ce
from induction.ad_kinds import LEFT_OUT, LEFT_OUT_PADDED, PADDED, Lanes, Sums, kind_of
from induction.engine import BOTH, anew
from isa import arm32, x86
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


class Recorder(dict):
    """Cells of memory. Records which were read before they were written."""

    def __init__(self, *args):
        super().__init__(*args)
        self.read, self.written = set(), set()

    def get(self, key, default=None):
        if key not in self.written:
            self.read.add(key)
        return super().get(key, default)

    def __setitem__(self, key, v):
        self.written.add(key)
        super().__setitem__(key, v)


class Registers(list):
    """Registers. Records which were read before they were written."""

    def __init__(self, *args):
        super().__init__(*args)
        self.read, self.written = set(), set()

    def numbers(self, n):
        return range(*n.indices(len(self))) if isinstance(n, slice) else (n,)

    def __getitem__(self, n):
        self.read.update(set(self.numbers(n)) - self.written)
        return super().__getitem__(n)

    def __setitem__(self, n, v):
        self.written.update(self.numbers(n))
        super().__setitem__(n, v)


class Lemma:
    """The proved properties of the section, without terms. needed: cells. changed: cell -> (kind, value, bits). The
    kind is "constant", "pointer" (of the caller), "argument", "cell" (its value at the start of the section), "data"
    (in scratch), or "dead". most: bounds of the accumulator after the section."""

    def __init__(self, needed):
        self.needed, self.changed, self.most = needed, None, ()


class Section:
    """A kernel's section, with the terms of a process: the values of its cells at its start. j0: AES-GCM with any J0.
    least: the fewest bytes of associated data."""

    def __init__(self, kernel, j0=False, least=1, padded=0, lemma=None):
        self.kernel, self.kind, self.j0, self.least, self.lemma = kernel, kind_of(kernel, padded), j0, least, lemma
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

    def alone(self, cells, pieces, pointer, n, begins=True):
        """Prepares a run of the section, or of a part of it. All other cells have any value. pieces: the bytes that
        it may read, as (offset from pointer, bytes)."""
        call = Call(self.kernel)
        call.regions(*[("ad", AD + first, size, True, False) for first, size in pieces if size],
                     *([("key", kernels.KEY, A["GCM_KEY_BYTES"], True, False)] if self.gcm else []))
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
        return call

    def go(self, call, start, stop):
        if self.kernel.program().run(call.machine, None, start, stop) != (stop is not None):
            raise Unproved(f"{stop:#x} is not reached")

    def find_needed(self):
        """Returns the cells that the section reads before it writes them."""
        reference, needed = self.before().cells(), set()
        for n in self.kind.tried(self.least):
            call = self.alone(reference, [(0, n)], self.pointer, const(n, self.width))
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
        call = self.alone(self.values, [(0, done)], self.pointer, n + 0)
        text = text_symbols("ad pass ", done)
        if text:
            call.memory.poke(AD, text)
        self.go(call, self.begin, self.loop)
        if done:
            self.go(call, self.loop, self.loop)
        if kind.value(call, kind.inside, self.key) != kind.absorb(0, self.key, text):
            raise Unproved("the accumulator is not that of the specification where the loop begins")
        self.count(call)
        state = {}
        for cell, v in call.cells().items():
            if cell in flat(kind.inside) or v is anything(cell, v.width):
                continue
            place = self.place_of(v, self.pointer, n)
            if place and place[0] != "unknown":  # relative to the loop
                state[cell] = place[0], place[1] + {"ad": -done, "left": done}.get(place[0], 0)
            elif not place:
                state[cell] = v
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

    def put(self, state, pieces, pointer, n):
        """Prepares a run from the start of the loop. n: a base, or a number."""
        number = isinstance(n, int)
        whole = self.whole
        left = const(n, self.width) if number else n + 0

        def value(v):
            if not isinstance(v, tuple):
                return v
            what, offset = v
            if what == "ad":
                return pointer + offset
            if what == "whole":
                return whole + offset
            if what == "blocks":
                return const((n >> 4) + offset, self.width) if number else n + offset
            if what == "left":
                return const(n + offset, self.width) if number else n + offset
            if number:
                return pointer + (n + offset)
            return linear.place(terms.add(self.width, pointer + 0, left)[0])[0] + offset
        cells = {c: value(v) for c, v in state.items()}
        call = self.alone(cells, pieces, pointer, symbol("argument ad_bytes", self.width), False)
        # The code may read arguments again, but those of associated data have other values than in this run.
        call.memory.poke(kernels.ARGS + A["ARG_AD"], symbol("argument ad", 64))
        return call

    def step(self, state, bound, residue, rests):
        """Proves a step, after removing the cells that are not kept from the state. Returns the bounds of the
        accumulator. If it stays within the given bounds, these are returned."""
        kind = self.kind
        while True:
            pointer = self.base("ad in a pass", 1 << 20, 1 << self.width - 2, address=AD)
            self.whole = self.length("ad whole", rests[0], modulus=kind.modulus, of=(residue,))
            left = self.base("ad blocks", (kind.step + rests[0]) >> 4, 1 << self.width - 5) if kind.counts_blocks else \
                self.length("ad left", kind.step + rests[0], modulus=kind.modulus, of=(residue,))
            call = self.put(state, [(0, kind.step)], pointer, left)
            kind.set(call, kind.inside, bound)
            h = kind.value(call, kind.inside, self.key)
            text = text_symbols("ad pass ", kind.step)
            call.memory.poke(AD, text)
            self.go(call, self.loop, self.loop)
            after, wrong = call.cells(), []
            for cell, v in state.items():
                if isinstance(v, tuple):
                    what, offset = v
                    by = {"ad": kind.step, "left": -kind.step, "blocks": -(kind.step >> 4)}.get(what, 0)
                    if what in ("whole", "blocks"):
                        good = linear.place(after[cell]) == (self.whole if what == "whole" else left, offset + by)
                    else:
                        good = self.place_of(after[cell], pointer, left) == (what, offset + by)
                    if not good:
                        wrong.append(cell)
                elif not alike(after[cell], v):
                    wrong.append(cell)
            if not wrong:
                break
            for cell in wrong:
                del state[cell]
        if kind.value(call, kind.inside, self.key) != kind.absorb(h, self.key, text):
            raise Unproved("the accumulator is not that of the specification after a pass")
        self.count(call)
        return greatest(bound, kind.most(call, kind.inside))

    def finish(self, state, bound, rest):
        """Proves the run to the end of the section, with `rest` bytes. It starts at the loop, or without a bound at
        the start of the section."""
        kind = self.kind
        if bound is None:
            call, h = self.alone(self.values, [(0, rest)], self.pointer, const(rest, self.width)), 0
        else:
            pointer = self.base("ad at the end", 1 << 20, 1 << self.width - 2, address=AD)
            call = self.put(state, [(0, rest)], pointer, rest)
            kind.set(call, kind.inside, bound)
            h = kind.value(call, kind.inside, self.key)
        text = text_symbols("ad pass ", rest)
        if text:
            call.memory.poke(AD, text)
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
                changed[cell] = "data" if data else "dead", None, first.width
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
        values = {}
        for cell, (what, v, width) in self.lemma.changed.items():
            values[cell] = const(v, width) if what == "constant" else linear.any_place(linear.pointer("of the caller", *v[0]))[0] + v[1] \
                if what == "pointer" else found[v] if what == "cell" else \
                call.memory.peek(kernels.ARGS + A["ARG_" + v.upper()], 8) if what == "argument" else \
                symbol(f"ad left {cell}", width) if what == "data" else terms.undefined(width)
        call.change(values)
        self.kind.set(call, self.kind.behind, self.lemma.most)
        for flag in ("carry", "overflow", "result"):
            setattr(m, flag, None)
        h = self.kind.value(call, self.kind.behind, None)
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
    gcm = "aesgcm" in kernel.name
    least = lists.BY_INDUCTION.get(kernel.name.removeprefix("sealane_"), chacha_avx512.LEAST + 256)
    sizes = [0, 1, 77, least - 1] if quick else range(least)
    few = [100] if quick else [n for n in (0, 1, 16, 64, 100, 200, 333, 512, 700, 1111, 1400) if n < least]
    bits = lambda n: {"bits": (128, 192, 256)[n % 3]} if gcm and not quick else {}
    make = GcmShape if gcm else Shape
    found = [make(n, opens=o, **bits(n)) for n in sizes for o in BOTH]
    found += [make(n, opens=o, in_place=True, **bits(n + 1)) for n in few for o in BOTH]
    # Each length with another path. Texts of more than 256 bytes have one length of associated data.
    short = kind_of(kernel).short + 1
    ads = (5,) if quick else range(1, kind_of(kernel).block)
    texts = (17,) if quick and short else range(short)
    some = lambda n: ads if n <= 256 else ads[n % len(ads):][:1]
    if kernel.name == chacha_avx512.NAME:
        found += [padded_shape(n, blocks, o) for n in texts for blocks in range(1, len(PADDED) + 1) for o in BOTH]
        found += [make(n, ad=64, opens=o) for n in texts for o in BOTH]
    else:
        found += [make(n, ad=ad, opens=o, **bits(n + ad)) for n in texts for ad in some(n) for o in BOTH]
    found += [make(n, ad=ad, opens=ad % 2 == 0, flags=FIRST) for n in range(0, 0 if quick else short, 64) for ad in ads]
    texts = (64,) if quick else range(0, least, 64)
    found += [make(n, opens=o, flags=FIRST, **bits(n // 64)) for n in texts for o in BOTH]
    if gcm:
        found += [make(n, opens=o, j0=True) for n in few for o in BOTH]
    return found


def padded_shape(n, blocks, opens):
    shape = Shape(n, opens=opens)
    shape.how = False, PADDED[blocks - 1].leasts[0], blocks
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
        how = getattr(shape, "how", None) or (getattr(shape, "j0", False), kind_of(kernel).least(shape.size))
        shape.section = sections(kernel, found.common)[how]
    found.add(1, packets.aesgcm(kernel, shape) if isinstance(shape, GcmShape) else packets.chacha20poly1305(kernel, shape, args.queries))


def long_calls(kernel, quick):
    """Returns the numbers of the calls that start a packet with a long text."""
    if kernel.name == gcm_ce.NAME:
        return [i for i, (number, *_) in enumerate(gcm_ce.tasks_of(quick)) if gcm_ce.SHAPES[number][0].flags & FIRST]
    all_ = gcm.SHAPES if "aesgcm" in kernel.name else chacha_x86.SHAPES if kernel.isa is x86 else chacha_arm.SHAPES
    found = [i for i, shape in enumerate(all_) if (shape[0] if isinstance(shape, tuple) else shape.flags) & FIRST]
    return found[:2] if quick else found


def arm_bases(kernel, number, sections):
    """As bases(): proves that the state of the induction is the same with associated data of any length."""
    shape, section, steps = chacha_arm.SHAPES[number], sections[False, 0], 0
    if kernel.name == chacha_armv6.NAME:
        (_, _, *before), _, _ = chacha_armv6.induction(kernel, shape)
        (_, _, *after), _, steps = chacha_armv6.induction(kernel, shape, section=section)
        pairs = [((set(i.kept), i.bounds, i.written) for i in pair) for pair in zip(before, after)]
    elif shape.opens and kernel.isa is arm32:
        loop, pairs = chacha_arm_open.loop_of(kernel), []
        for of in loop.classes:
            before, _, _ = chacha_arm_open.induction(kernel, loop, shape, of, True)
            after, _, n = chacha_arm_open.induction(kernel, loop, shape, of, True, section)
            pairs.append((set(i.kept), i.bounds, i.written) for i in (before, after))
            steps += n
    else:
        loop, pairs = chacha_arm.loop_of(kernel), []
        for of in loop.classes:
            before, _, _ = chacha_arm.induction(kernel, loop, shape, of)
            after, _, n = chacha_arm.induction(kernel, loop, shape, of, section)
            pairs.append((set(s), s.limbs, s.written, s.mac) for s in (before, after))
            steps += n
    if any(a != b for a, b in pairs):
        raise Unproved("with associated data the loop begins otherwise")
    return steps


def bases(kernel, number, quick, common):
    """Proves that the loop of a long text starts with the same state as without associated data, or as with 13 bytes.
    Returns the number of instructions."""
    forget(kernel, common)
    found = sections(kernel, common)
    if kernel.name == gcm_ce.NAME:
        number, residues, lasts, ends = gcm_ce.tasks_of(quick)[number]
        shape, given = gcm_ce.SHAPES[number]
        section = found[shape.j0 or not given, 1]
        state, _, steps = gcm_ce.induction(kernel, shape, residues, lasts, given, section=section)
        # For some lengths, fewer cells are kept than without associated data.
        return steps + sum(gcm_ce.leave(kernel, shape, state, residue, last, given) for residue, last in ends)
    if "aesgcm" not in kernel.name and kernel.isa is not x86:
        return arm_bases(kernel, number, found)
    if "aesgcm" in kernel.name:
        loop, shape = gcm.LOOPS[kernel.name], gcm.SHAPES[number]
        state, _ = gcm.induction(kernel, loop, shape)
        cells, written = set(state), set(state.written)
        section = found[shape.j0, kind_of(kernel).leasts[0]]
        steps = gcm.with_ad(kernel, loop, shape, state, state.kind, 0, section)
        if cells != set(state):
            raise Unproved(f"with associated data {sorted(cells - set(state))} is otherwise where the loop begins")
        if written != state.written:
            raise Unproved("with associated data more of scratch is written")
        return steps
    if kernel.name == chacha_avx512.NAME:
        states = []
        for section in (None, found[False, 1]):
            state, _, steps = chacha_avx512.induction(kernel, chacha_x86.SHAPES[number], (13,), section)
            states.append((set(state), [(bounds, mac, set(at)) for bounds, mac, at in state.phases], state.written))
        if states[0] != states[1]:
            raise Unproved("with associated data the loop begins otherwise")
        return steps
    loop, shape = chacha_x86.LOOPS[kernel.name], chacha_x86.SHAPES[number]
    kept, steps = None, 0
    for first, of in loop.classes(*shape[:2]):
        call = chacha_x86.base(kernel, loop, shape, 13, first, of)
        if kept is None:
            kept = chacha_x86.Kept(call, loop)
        kept.check(call, loop)
        written = set(kept.written)
        call = chacha_x86.base(kernel, loop, shape, 0, first, of, found[False, 1])
        kept.check(call, loop)
        steps += call.machine.steps
        if kept.written != written:
            raise Unproved("with associated data more of scratch is written")
    return steps


def planted(kernel, args, attempt):
    """Plants faults, including wrong properties of the section."""
    right = kind_of(kernel)
    begin, end, loop = right.places(kernel)
    insns = list(kernel.isa.decoder().disasm(kernel.code[begin:end], begin))
    if not begin <= loop < end:
        insns += kernel.isa.decoder().disasm(kernel.code[loop:loop + 256], loop)
    anew()
    kernel.program().LIMIT = 100_000
    needed = Section(kernel, least=right.leasts[0]).find_needed()

    def wrong(what, insn=None, behind=None, **change):
        kind = engine.changed(right, **change)

        def show():
            anew()
            section = Section(kernel, least=right.leasts[0])
            section.kind = kind
            section.prove(True, needed)
            if behind:
                behind(section)
            shape = (GcmShape if section.gcm else Shape)(300)
            shape.section = section
            (packets.aesgcm if section.gcm else packets.chacha20poly1305)(kernel, shape)
        attempt(what, show, insn)

    def wrong_padded(what, insn=None, behind=None, **change):
        def show():
            anew()
            for blocks in (1, 2):
                section = Section(kernel, least=PADDED[blocks - 1].leasts[0], padded=blocks)
                section.kind = engine.changed(section.kind, **change)
                section.prove(True)
                if behind:
                    behind(section)
                shape = Shape(100)
                shape.section = section
                packets.chacha20poly1305(kernel, shape)
        attempt("before a short text, " + what, show, insn)

    def another(section):
        """The accumulator after the section differs from that of the lemma."""
        value = section.kind.value
        section.kind.value = lambda *args: value(*args) ^ 1

    def other_key(section):
        cell = max(c for c in section.lemma.needed if c not in (right.text, *right.moved, *right.given))
        section.values[cell] = const(12345, section.values[cell].width)

    for what, text, number in LEFT_OUT[kernel.isa, kernel.name.removeprefix("sealane_")]:
        wrong(what, [i for i in insns if f"{i.mnemonic} {i.op_str}".startswith(text)][number])
    if isinstance(right, Lanes):
        first, behind_it, _ = PADDED[0].places(kernel)
        insns_short = list(kernel.isa.decoder().disasm(kernel.code[first:behind_it], first))
        for what, text, number in LEFT_OUT_PADDED:
            wrong_padded(what, [i for i in insns_short if f"{i.mnemonic} {i.op_str}".startswith(text)][number])
        wrong_padded("another number of blocks", inside=right.inside, step=48)
        wrong_padded("the accumulator is another", behind=another)
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
    return kind_of(kernel) and 0


def prepare(kernel, args):
    lemmas, cases, steps = {}, 0, 0
    ways = list(itertools.product(BOTH if "aesgcm" in kernel.name else (False,), kind_of(kernel).leasts))
    if kernel.name == chacha_avx512.NAME:
        ways += [(False, kind.leasts[0], blocks) for blocks, kind in enumerate(PADDED, 1)]
    for how in ways:
        anew()
        section = Section(kernel, *how)
        n, i = section.prove(args.quick)
        lemmas[how], cases, steps = section.lemma, cases + n, steps + i
    return cases, steps, {"lemmas": lemmas, "sections": {}}


def tasks(kernel, args):
    return [(f"long texts, {i}", i) for i in long_calls(kernel, args.quick)] + \
        [(f"{s}{'' if s.ad else ', any associated data'}", s) for s in shapes(kernel, args.quick)]
