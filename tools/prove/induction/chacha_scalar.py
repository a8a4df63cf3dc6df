"""ChaCha20-Poly1305 in integer registers, on 32-bit ARM, MIPS and RISC-V, for every length, by induction.

    induction.chacha_scalar [--quick] [--planted] [--jobs N] [--queries FOLDER] OBJECT...

The kernels have two consecutive loops: E encrypts 64 bytes in a pass, and A authenticates 16. When sealing, E is
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

MIPS's and RISC-V's kernels have other code paths for unaligned pointers. For input and output, each path is proved
separately, from the first instruction to the return: a task has classes of residues of these pointers. Those of key
and nonce matter only before the loops, so only the runs from the first instruction have cases of them.

There, A also authenticates associated data. These have their own induction, up to the instruction after them. Texts of
every length then start from there, with any accumulator within bounds. ARM's associated data are in ad.py.
"""
import contextlib
import itertools
from typing import NamedTuple

import spec
from induction.chacha_loop import (ADS, CARRY, COUNTER, LEFT, OUTPUT, PRODUCT, ROTATION, TEXT, WIPE, Part, general, head,
                                   in_row, inside, registers, scratch)
from induction.engine import BOTH, SHAPES, Way, anew, text_named
from induction.loop import alike, texts
from run import packets
from run.kernels import AD, ARGS, IN, OUT, Call
from run.packets import Shape
from run.proof import in_cases, prove
from spec.args import A, FIRST, LAST, WHOLE
from values import linear, terms
from values.terms import Unproved, add_modular, const, extend, same, symbol

KERNELS = tuple(f"chacha20poly1305_{level}" for level in ("armv6", "mips32r2", "mips64r2", "rv64", "zbb"))
LEAST = 128
AHEAD = IN + 0x1000001  # where a run has the bytes that it authenticates next; no argument points there


class Loop(NamedTuple):
    """head, limbs, pending: as in chacha_loop.Loop. places: cell -> its content in a run: "source", "message", ...
    carries: the last limb is a carry, which is 0 in the first pass. Then the other limbs have separate bounds."""

    head: tuple
    limbs: list
    places: dict
    carries: bool = False
    pending: bool = False


# ---- Where kernels have what -----------------------------------------------------------------------------------------

class Layout(NamedTuple):
    """encrypts, authenticates: E, and A without its head. waiting: further places of A when opening. behind_ad: the
    instruction after associated data."""

    encrypts: Loop
    authenticates: Loop
    loads: dict  # residues of a text's address -> the instruction with which A starts
    phase: tuple  # a cell, and its content while A authenticates text
    faults: list  # instructions that planted faults omit: name, start of its text, which one
    waiting: dict = {}
    block_0: bool = False  # whether E makes block 0
    behind_ad: Loop | None = None
    ad_faults: list = []

    def a(self, residues, opens=False):
        loop = self.authenticates
        return loop._replace(head=(self.loads[residues], 0), places={**loop.places, **(self.waiting if opens else {})})

    def cases(self, address):
        """Call.cases of a pointer to text: each has its own code path. `loads` has all residues of a modulus."""
        return [{address: (sum(map(len, self.loads)), of)} for of in self.loads]


def places(cells, names, counter):
    return {**dict(zip(cells, names.split())), counter: "counter"}


def arm(isa):
    source, target, left, counter = (scratch(n) for n in (280, 284, 276, 432))
    return Layout(
        Loop(("add ip, r1, #0x80", 0), in_row([scratch(320 + 4 * i) for i in range(5)], 32),
             places((source, target, left), "source target left", counter)),
        Loop(None, registers(range(2, 7), 32),
             places((general(8), *map(scratch, (256, 260, 340))), "message message limit rest", counter)),
        {(0,): "ldr r7, [r8]"}, (scratch(264), 2),
        [(TEXT, "str r2, [r1, #-8]"), (OUTPUT, "str r3, [r1, #-4]"), (LEFT, "str fp, [r1, #-0xc]"),
         (COUNTER, "str r2, [r1, #0x90]"), ("what is authenticated does not move", "str r8, [r1, #-0x20]"),
         (PRODUCT, "umaal"), (CARRY, "adcs r3, ip"), (WIPE, "stm r1!", 3)],
        waiting={source: "begin_in", target: "begin_out", left: "left"}, block_0=True)


def two_loops(head, source, message, words, big, limbs, carries=False):
    """E and A on MIPS and RISC-V. source, message: registers of their places. While E runs, the accumulator is in
    scratch, as 64-bit numbers."""
    state = 256
    counter, h = scratch(state + 48), [scratch(state + 128 + 4 * (i ^ big)) for i in range(words)]
    return (Loop(head, in_row(h, 32), places(map(general, source), "source target left", counter)),
            Loop(None, limbs, places(map(general, message), "message limit rest", counter), carries))


MOVE, END = "associated data do not move", "their last bytes are left out"
AD_CARRY = "a carry of theirs is dropped"


def mips(isa):
    wide, side = isa.POINTER == 64, "l" if isa.big else "r"
    load, add, product, carry, store = ("ld{} $t6, ($v0)", "daddiu", ("dmultu", 1), 2, "sd") if wide else \
        ("lw{} $s4, ($v0)", "addiu", ("maddu", 2), 4, "sw")
    limbs, at = registers(range(8, 11 if wide else 13), isa.POINTER), (2, 3, 7)
    return Layout(
        *two_loops(("lw $t0, 0x100($a1)", 1), at, at, 6 if wide else 5, isa.big, [*limbs, (general(24), 128)], True),
        {(0,): load.format(""), tuple(range(1, isa.POINTER // 8)): load.format(side)}, (general(1), 1),
        [(TEXT, f"{add} $v0, $v0, 0x40"), (PRODUCT, *product), (CARRY, "sltu", carry), (ROTATION, "rotr", 40),
         (WIPE, f"{store} $zero, 0x110($a1)")],
        behind_ad=Loop((f"lw $t8, {A['ARG_FLAGS'] + 4 * isa.big:#x}($a0)", 1), limbs, {}),
        ad_faults=[(MOVE, f"{add} $v0, $v0, 0x10", 1), (END, "sb $t8, ($t9)"), (AD_CARRY, "sltu", 8)])


def riscv(isa):
    limbs = registers((5, 6, 7), 64)
    return Layout(
        *two_loops(("lw t0, 0x100(a1)", 0), (24, 25, 26), (12, 13, 14), 6, False, limbs),
        {(0,): "ld s5, 0(a2)", (4,): "lwu s5, 0(a2)", (1, 2, 3, 5, 6, 7): "lbu s5, 0(a2)"}, (general(15), 1),
        [(TEXT, "addi s8, s8, 0x40"), (PRODUCT, "mulhu", 2), (CARRY, "sltu", 2), (WIPE, "sd zero, 0x110(a1)")],
        block_0=True,
        behind_ad=Loop((f"ld s3, {A['ARG_FLAGS']:#x}(a0)", 1), limbs, {}),
        ad_faults=[(MOVE, "addi a2, a2, 0x10", 2), (END, "sb s3, 0(s4)"), (AD_CARRY, "sltu", 12)])


LAYOUTS = {"EM_ARM": arm, "EM_MIPS": mips, "EM_RISCV": riscv}


def layout_of(kernel):
    return LAYOUTS[kernel.isa.MACHINE](kernel.isa)


def case_of(address):
    """A modulus, and the residues of the pointer with this address in a run."""
    return Call.cases.get(address, (1, (0,)))


@contextlib.contextmanager
def aligned(*cases):
    """Sets further Call.cases."""
    before = Call.cases
    Call.cases = {k: v for case in (before, *cases) for k, v in case.items()}
    try:
        yield
    finally:
        Call.cases = before


# ---- Invariants with places, also for chacha_skew.py -----------------------------------------------------------------

def at_most(name, most):
    """A limb of an accumulator with this bound."""
    return symbol(f"{name} at most {most}", max(1, most.bit_length()), most)


def end_of(call, base, length):
    """The base that is the sum of a pointer and a length."""
    return linear.place(terms.add(call.width, base + 0, length + 0)[0])[0]


def later(call, blocks):
    return add_modular(call.counter, const(blocks, 32))


def here(call, done=0, **more):
    """The contents of the places of a loop that encrypts, `done` bytes after the start of a run."""
    return {"source": (call.source, done), "target": (call.target, done), "left": (call.left, -done),
            "counter": later(call, done // 64), **more}


class Invariant:
    """What holds wherever a loop begins. kept: cells with unchanged values. bounds: those of limbs, in the first pass
    or later. written: addresses in scratch. first: whether put() starts the first pass."""

    def __init__(self, kernel, loop, name=""):
        """name: distinguishes the symbols of runs from here, which another loop's kept cells may have."""
        self.loop, self.at, self.cells, self.name = loop, head(kernel, loop), [c for c, _ in loop.limbs], name
        self.kept, self.written, self.first = None, set(), False
        self.bounds = {first: [0] * len(loop.limbs) for first in ((False, True) if loop.carries else (False,))}

    def enter(self, call):
        """Adds a run that has reached the loop. Cells with other values are no longer kept. Returns whether the
        invariant has changed."""
        found = call.cells()
        if self.kept is None:
            special = {*self.loop.places, *self.cells}
            self.kept = {c: v for c, v in found.items() if v.defined and c not in special and linear.place(v) is None}
        kept = {c: v for c, v in self.kept.items() if alike(found.get(c), v)}
        first = self.loop.carries and call.get(self.cells[-1]).constant == 0
        bounds = [max(most, call.get(c).most) for most, c in zip(self.bounds[first], self.cells)]
        changed = len(kept) != len(self.kept) or bounds != self.bounds[first]
        self.kept, self.bounds[first] = kept, bounds
        self.written |= call.written()
        return changed

    def until_stable(self, step):
        """Repeats a step from this invariant, until none changes it."""
        changed = True
        while changed:
            changed = False
            for self.first in self.bounds:
                changed = step(self) or changed

    def put(self, call, **values):
        """Starts a run with this state. Returns its accumulator."""
        call.put(self.kept, self.written)
        for c, name in self.loop.places.items():
            v = values[name]
            call.set_cell(c, v[0] + v[1] if isinstance(v, tuple) else v)
        for i, (c, most) in enumerate(zip(self.cells, self.bounds[self.first])):
            call.set_cell(c, at_most(f"h{i}{self.name}", most))
        return call.accumulated(self.loop)


class Proof:
    """The induction of one kind of call. section: includes associated data of any length. A subclass defines prove(),
    which finds and proves the invariants. leave() proves a run to the return. ends() has its arguments, each after a
    name."""

    def __init__(self, kernel, shape, quick=False, section=None):
        self.kernel, self.shape, self.quick, self.section = kernel, shape, quick, section
        self.cases = self.steps = 0

    def arrive(self, call, inv, h, where, **values):
        """Requires, where a loop begins, that the accumulator is h, and that the loop's places have these contents:
        each a (base, offset), or a value. Returns whether the run has changed the invariant."""
        for cell, name in inv.loop.places.items():
            got, want = call.get(cell), values[name]
            good = linear.place(got) == want if isinstance(want, tuple) else got.defined and same(got, want)
            if not good:
                raise Unproved(f"{name} at {cell} is not what it should be")
        if call.accumulated(inv.loop) != h:
            raise Unproved(f"the accumulator is not that of the specification {where}")
        self.cases, self.steps = self.cases + 1, self.steps + call.machine.steps
        return inv.enter(call)

    def show(self, found, queries):
        """Proves everything, and counts it in `found`."""
        self.prove()
        found.add(self.cases, self.steps)
        ends, self.quick = self.ends(), True
        for what, *end in ends:
            if len(terms.ATOMS) > terms.MANY:
                anew()
                self.prove()
            found.end(what, self.leave, *end, queries)


def attempts(end, proof, *arguments, **change):
    """What planted faults attempt: an induction, and an end of it if any."""
    def show():
        anew()
        made = proof(*arguments, **change)
        made.prove()
        if end:
            made.leave(*end)
    return show


# ---- Loop A, of text and of associated data --------------------------------------------------------------------------

class Blocks(Proof):
    """before_a() starts a call that is in A. It returns the call, the address whose residues in Call.cases are those of
    the next block, and the contents of further places. step: the bytes of a pass, which planted faults change."""

    step = 16

    def authenticate(self, inv, rest, to):
        """Runs A from the last whole block, with `rest` bytes after it, or (None) from any number of blocks, at least
        two. Returns the call and the accumulator."""
        call, at, more = self.before_a()
        width, (modulus, of), size = call.width, case_of(at), self.step + (rest or 0)
        call.message = message = linear.Base("message", 1 << 20, 1 << width - 2, AHEAD, modulus, of, width)
        call.memory.region("message", AHEAD, size, True, False, modulus if of == (0,) else 1)
        text = text_named("block", size)
        call.memory.poke(AHEAD, text)
        limit = linear.Base("limit", 1 << 20, (1 << width - 1) - 1, width=width)
        limit.limits = True
        linear.relate(limit, message, linear.Base("blocks left", 32, 1 << width - 2, modulus=16, width=width))
        call.values = {"message": (message, 0), "limit": (limit, 0) if rest is None else (message, self.step),
                       "rest": extend(symbol("rest", 4), width) if rest is None else const(rest, width),
                       "counter": call.counter, **more}
        h = inv.put(call, **call.values)
        call.go(inv.at, to)
        return call, spec.poly1305(h, call.r, spec.pad16(text))

    def step_a(self, inv):
        call, h = self.authenticate(inv, None, inv.at)
        values = {**call.values, "message": (call.message, self.step)}
        return self.arrive(call, inv, h, "after a block", **values)

    def arrive_first(self, call, inv, h, message, n, rest, **more):
        """Where A begins with all n bytes of a message, and `rest` of them are after whole blocks."""
        self.arrive(call, inv, h, "where the loop begins", message=(message, 0), rest=const(rest, call.width),
                    limit=(end_of(call, message, n), -rest), counter=call.counter, **more)


class TwoLoops(Blocks):
    """The loops of text. blocks: by how many E moves the counter on."""

    def __init__(self, *arguments, blocks=1, step=16, **more):
        super().__init__(*arguments, **more)
        self.blocks, self.step = blocks, step

    def prove(self):
        layout, opens, last = layout_of(self.kernel), self.shape.opens, self.shape.flags & LAST
        self.layout, self.at = layout, IN + 1 if opens or self.shape.in_place else OUT + 3
        self.e = Invariant(self.kernel, layout.encrypts, " of E")
        self.a = Invariant(self.kernel, layout.a(case_of(self.at)[1], opens), " of A")
        self.invariants = first, second = (self.a, self.e) if opens else (self.e, self.a)
        rests = range(16) if last else (0,)
        for i, of in enumerate(rests if opens else (None,)):
            some = (0,) if not self.shape.flags & FIRST else ADS if i == 0 else (ADS[1 + i % 4],)
            for ad_bytes, section in [*((n, None) for n in some), *([(0, self.section)] if self.section else [])]:
                for case in layout.cases(AD) if ad_bytes else ({},):
                    with aligned(case):
                        in_cases(self.begin, of, ad_bytes, section)
        first.until_stable(self.next)
        for first.first, n in itertools.product(first.bounds, rests if opens else range(1, 65) if last else (64,)):
            self.between(n)
        second.written |= first.written
        second.until_stable(self.next)

    def begin(self, of, ad_bytes, section):
        """Runs from the first instruction to the first loop."""
        opens, at = self.shape.opens, self.invariants[0].at
        call = Part(self.kernel, self.shape, ([], []), None, ad_bytes)
        call.left = call.length("bytes", LEAST, **({"modulus": 16, "of": (of,)} if opens else {}))
        call.set(bytes=call.left + 0)
        h = call.enter(at, ad_bytes, section)
        if opens:
            cell, text = self.layout.phase
            while call.get(cell).constant != text:  # blocks of associated data
                call.go(at, at)
            self.arrive_first(call, self.a, h, call.source, call.left, of, **self.waiting(call))
        else:
            if self.shape.flags & FIRST and self.layout.block_0 and not section:
                call.go(at, at)
            self.arrive(call, self.e, h, "where the loop begins", **here(call))
        return call.machine.steps

    def waiting(self, call):
        """What E needs after A."""
        return {"begin_in": (call.begin_in, 0), "begin_out": (call.begin_out, 0), "left": (call.left, 0)}

    def before_a(self):
        call = inside(self.kernel, self.shape, ([], []), name=self.a.name)
        call.left = call.length("bytes", LEAST)
        call.set(bytes=call.left + 0)
        return call, self.at, self.waiting(call)

    def encrypt(self, n, to):
        """Runs E with n remaining bytes, or (None) any number with which more than a pass follows."""
        size = n or 64
        call = inside(self.kernel, self.shape, texts(self.shape, size, again=False), name=self.e.name)
        call.left = call.length("left", 65)
        call.set(bytes=call.done + n if n else call.length("bytes", 1) + 0)
        h = self.e.put(call, **here(call, **({"left": const(n, call.width)} if n else {})))
        text, _ = call.put_text(size)
        call.go(self.e.at, to)
        call.expect_output(text)
        return call, h

    def next(self, inv):
        """A step."""
        if inv is self.a:
            return self.step_a(inv)
        call, h = self.encrypt(None, inv.at)
        counter = later(call, self.blocks)
        return self.arrive(call, inv, h, "after a pass that encrypts", **here(call, 64, counter=counter))

    def between(self, n):
        """When opening, from A's last block and n bytes to E; when sealing, from E's last n bytes to A."""
        if self.shape.opens:
            call, h = self.authenticate(self.a, n, self.e.at)
            self.arrive(call, self.e, h, "behind the text", source=(call.begin_in, 0), target=(call.begin_out, 0),
                        left=(call.left, 0), counter=call.counter)
        else:
            call, h = self.encrypt(n, self.a.at)
            self.arrive(call, self.a, h, "after the last pass that encrypts", message=(call.begin_out, 0),
                        limit=(call.target, n & -16), rest=const(n & 15, call.width), counter=later(call, 1))

    def ends(self):
        """When opening, the bytes of E's last pass; when sealing, those after the last whole block."""
        ends = range(1, 65) if self.shape.opens else range(16)
        if not self.shape.flags & LAST:
            ends = ends[-1:] if self.shape.opens else ends[:1]
        return [(f"end, {n} bytes", n) for n in (ends[5::9] if self.quick else ends)]

    def leave(self, n, folder=None):
        second = self.invariants[1]
        for second.first in second.bounds:
            call, h = self.encrypt(n, None) if self.shape.opens else self.authenticate(second, n, None)
            call.finish(h, [later(call, 1) if self.shape.opens else call.counter], second.written, folder)
        return call.machine.steps


# ---- Associated data of any length on MIPS and RISC-V ----------------------------------------------------------------

def ad_length(kernel, least, **more):
    return linear.Base("ad bytes", least, 1 << kernel.isa.POINTER - 4, width=kernel.isa.POINTER, **more)


class AssociatedData(Blocks):
    """From the first instruction to the one after associated data of every length, with each alignment."""

    def prove(self):
        self.layout, self.rests = layout_of(self.kernel), range(0, 16, 5) if self.quick else range(16)
        self.behind = Invariant(self.kernel, self.layout.behind_ad)
        for n in self.rests:
            in_cases(self.few, n)
        for case in self.layout.cases(AD):
            with aligned(case):
                self.blocks(Invariant(self.kernel, self.layout.a(case[AD][1])))

    def call(self, n=0, **arguments):
        call = Part(self.kernel, self.shape, ([], []), None, n)
        call.set(bytes=call.length("bytes", 0) + 0, **arguments)
        return call

    def before_a(self):
        return self.call(ad_bytes=symbol("ad bytes", self.kernel.isa.POINTER)), AD, {}

    def few(self, n):
        """Fewer than 16 bytes."""
        call = self.call(n)
        return self.end(call, call.enter(self.behind.at, n), f"{n} bytes")

    def begin(self, inv, rest):
        n = ad_length(self.kernel, 16 + rest, modulus=16, of=(rest,))
        ad = linear.Base("ad", 1 << 20, 1 << n.width - 2, AD, *case_of(AD), n.width)
        call = self.call(ad=ad + 0, ad_bytes=n + 0)
        call.go(0, inv.at)
        self.arrive_first(call, inv, 0, ad, n, rest)
        return call.machine.steps

    def blocks(self, inv):
        """More bytes, through the loop."""
        for rest in range(16):
            in_cases(self.begin, inv, rest)
        inv.until_stable(self.step_a)
        for inv.first, rest in itertools.product(inv.bounds, self.rests):
            self.end(*self.authenticate(inv, rest, self.behind.at), f"a block and {rest} bytes")
        self.behind.written |= inv.written

    def end(self, call, h, what):
        self.arrive(call, self.behind, h, f"behind {what}")
        if call.get(self.layout.phase[0]).constant != 0:
            raise Unproved("what is behind associated data is not reached first")
        return call.machine.steps


class Section:
    """The proved results for associated data, without terms. kept: cells after them whose values are those without
    associated data. most: of the accumulator's limbs. written: addresses in scratch."""

    def __init__(self, kernel, found):
        self.kernel, self.loop, (self.kept, self.most, self.written) = kernel, layout_of(kernel).behind_ad, found
        self.bytes = ad_length(kernel, 0)

    def arguments(self, call):
        call.memory.put_number(ARGS + A["ARG_AD_BYTES"], extend(self.bytes + 0, 64))

    def through(self, call, stop=None):
        """Runs from the first instruction to `stop`, or to the return. Returns the accumulator after them."""
        program, behind = self.kernel.program(), head(self.kernel, self.loop)
        call.memory.put_number(ARGS + A["ARG_AD_BYTES"], const(0, 64))
        program.run(call.machine, None, 0, behind)
        self.arguments(call)
        found = call.cells()
        call.put({c: found[c] for c in self.kept})
        left = [("memory", at) for at in self.written]
        call.change({cell: symbol(f"ad left {cell[1]}", 32) for cell in left if cell not in self.kept})
        limbs = [at_most(f"ad h{i}", most) for i, most in enumerate(self.most)]
        call.change({c: extend(v, self.kernel.isa.POINTER) for (c, _), v in zip(self.loop.limbs, limbs)})
        program.run(call.machine, None, behind, stop)
        return packets.residue(limbs, [weight for _, weight in self.loop.limbs])


def prepare(kernel, args):
    """Proves associated data for each kind of call that starts a packet. Returns their common results."""
    if not layout_of(kernel).behind_ad:
        return 0, 0, None
    found = []
    for flags, opens in itertools.product((WHOLE, FIRST), BOTH):
        anew()
        made = AssociatedData(kernel, Way(flags, opens), args.quick)
        made.prove()
        behind = made.behind
        found.append((made.cases, made.steps, set(behind.kept), behind.bounds[False], behind.written))
        if args.quick:
            break
    cases, steps, kept, most, written = zip(*found)
    return sum(cases), sum(steps), (set.intersection(*kept), [*map(max, zip(*most))], set.union(*written))


# ---- All of it -------------------------------------------------------------------------------------------------------

def least(kernel):
    return LEAST if kernel.name.endswith(KERNELS) else None


def classes(layout, shape):
    """Call.cases of input and output."""
    return itertools.product(layout.cases(IN + 1), [{}] if shape.in_place else layout.cases(OUT + 3))


def tasks(kernel, args):
    layout, found = layout_of(kernel), []
    for shape in SHAPES[3:4] if args.quick else SHAPES:
        for case in classes(layout, shape):
            residues = [f"{of} of {modulus}" for d in case for modulus, of in d.values()]
            found.append((f"{shape}, residues {', '.join(residues)}", shape, case))
    short = short_texts(args.quick) if layout.behind_ad else []
    return found[::3 if args.quick else 1] + [(f"{s}, any associated data", s, ({},)) for s in short]


def short_texts(quick):
    """Calls with associated data of any length, and a text that is too short for the induction."""
    found = [Shape(n, opens=o) for n in ((0, 77) if quick else range(LEAST)) for o in BOTH]
    found += [Shape(n, opens=o, flags=FIRST) for n in (0, 64) for o in BOTH]
    return found + [Shape(100, opens=o, in_place=True) for o in BOTH]


def one(kernel, task, args, found):
    _, shape, case = task
    short = isinstance(shape, Shape)
    if not short or len(terms.ATOMS) > terms.MANY:
        anew()
    with aligned(*case):
        section = Section(kernel, found.common) if found.common and shape.flags & FIRST else None
        if short:
            shape.section = section
            found.add(1, prove(kernel, shape, args.queries))
        else:
            TwoLoops(kernel, shape, args.quick, section).show(found, args.queries)


def planted(kernel, args, attempt):
    layout = layout_of(kernel)
    kernel.program().LIMIT = 20_000
    with aligned(*next(classes(layout, Way()))):
        def of_text(opens=False, **change):
            return attempts((5,), TwoLoops, kernel, Way(WHOLE, opens), **change)
        attempt("the counter goes on by two", of_text(blocks=2))
        attempt("blocks of 32 bytes are authenticated", of_text(step=32))
        attempt.without(layout.faults, of_text())
        attempt.without([f for f in layout.faults if f[0] == CARRY], of_text(opens=True))
        if layout.behind_ad:
            attempt.without(layout.ad_faults, attempts(None, AssociatedData, kernel, Way(), True))
