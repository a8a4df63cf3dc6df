"""ChaCha20-Poly1305 in the integer registers of MIPS and RISC-V, for every length, by the induction of chacha_armv6.py.

    induction.chacha_risc [--quick] [--planted] [--jobs N] [--queries FOLDER] OBJECT...

These kernels have other code paths for unaligned input, output, keys and nonces. For input and output, each path is
proved separately, from the first instruction to the return: a task has classes of residues of these pointers. Those
of key and nonce matter only before the loops.

Associated data of any length go through the authenticating loop, too. They have their own induction (Section). It
ends at the instruction after them, with any accumulator within bounds. Texts of every length then start from there.
"""
import itertools

import spec
from induction import chacha_armv6
from induction.chacha_arm import Part, general, scratch
from induction.chacha_armv6 import LEAST, Invariant, Layout, Loop, accumulated, expect_places, head, induction, leave
from induction.engine import BOTH, SHAPES, Found, Way, anew, find
from run import packets, proof
from run.kernels import AD, ARGS, IN, KEY, NONCE, OUT, Call, text_symbols
from run.packets import Shape
from spec.args import A, FIRST, LAST, WHOLE
from values import linear, terms
from values.terms import Unproved, const, extend, symbol

STATE = 256
POLY_H = STATE + 128
COUNTER = scratch(STATE + 48)


def cases(address, modulus, *classes):
    """Call.cases of a pointer. The classes of residues are usually the multiples and the others."""
    return [{address: (modulus, of)} for of in classes or ((0,), tuple(range(1, modulus)))]


def encrypting(begin, registers, words, big=False):
    """The loop that encrypts. The accumulator is in scratch, as 64-bit numbers. registers: of input, output and
    remaining bytes."""
    return Loop(begin, 64, [scratch(POLY_H + 4 * (i ^ big)) for i in range(words)],
                {**{general(r): what for r, what in zip(registers, ("in", "out", "left"))}, COUNTER: "counter"}, [32 * i for i in range(words)])


def authenticating(begin, registers, limbs, weights, carries=False):
    return Loop(begin, 16, [general(r) for r in limbs],
                {**{general(r): what for r, what in zip(registers, ("message", "limit", "rest"))}, COUNTER: "counter"}, weights, carries)


def of_message(shape):
    """The residues of the address of the authenticated text."""
    return Call.cases[IN + 1 if shape.opens or shape.in_place else OUT + 3][1]


class Mips(Layout):
    phase, phase_text, block_0, callers = general(1), 1, False, [{}]

    def __init__(self, isa):
        self.bits, self.big = isa.POINTER, isa.big
        self.ad_cases = self.texts(AD)

    def texts(self, address):
        return cases(address, self.bits // 8)

    def loops(self, shape):
        return encrypting(("lw $t0, 0x100($a1)", 1), (2, 3, 7), 5 if self.bits == 32 else 6, self.big), self.authenticates(of_message(shape))

    def authenticates(self, residues):
        # $24 is a carry.
        load, first, limbs = ("lw", "$s4", [*range(8, 13), 24]) if self.bits == 32 else ("ld", "$t6", [*range(8, 11), 24])
        side = "" if residues == (0,) else "l" if self.big else "r"
        return authenticating((f"{load}{side} {first}, ($v0)", 0), (2, 3, 7), limbs, [*range(0, 129, self.bits), 128], True)

    def behind_ad(self):
        flags = A["ARG_FLAGS"] + (4 if self.big else 0)
        return Loop((f"lw $t8, {flags:#x}($a0)", 1), 16, [general(r) for r in range(8, 13 if self.bits == 32 else 11)], {}, range(0, 129, self.bits))


class RiscV(Layout):
    phase, phase_text = general(15), 1
    callers = [dict(t) for t in ({**k, **n} for k in cases(KEY, 4) for n in cases(NONCE, 4) if k[KEY][1] == (0,) or n[NONCE][1] == (0,))]

    def __init__(self, isa):
        self.ad_cases = self.texts(AD)

    def texts(self, address):
        return cases(address, 8, (0,), (4,), (1, 2, 3, 5, 6, 7))

    def loops(self, shape):
        return encrypting(("lw t0, 0x100(a1)", 0), (24, 25, 26), 6), self.authenticates(of_message(shape))

    def authenticates(self, residues):
        load = {(0,): "ld", (4,): "lwu"}.get(residues, "lbu")
        return authenticating((f"{load} s5, 0(a2)", 0), (12, 13, 14), (5, 6, 7), (0, 64, 128))

    def behind_ad(self):
        return Loop((f"ld s3, {A['ARG_FLAGS']:#x}(a0)", 1), 16, [general(r) for r in (5, 6, 7)], {}, (0, 64, 128))


LAYOUTS = {"EM_MIPS": Mips, "EM_RISCV": RiscV}


def least(kernel):
    return LEAST if getattr(kernel.isa, "BY_INDUCTION", {}).get(kernel.name.removeprefix("sealane_")) == LEAST else None


# ---- Associated data of any length ------------------------------------------------------------------------------------------

class Section:
    """The proved results for associated data, without terms. kept: cells after them whose values are those without
    associated data. most: of the accumulator's limbs. written: addresses in scratch."""

    def __init__(self, kernel, found):
        self.kernel, self.layout = kernel, LAYOUTS[kernel.isa.MACHINE](kernel.isa)
        self.loop, (self.kept, self.most, self.written) = self.layout.behind_ad(), found
        self.bytes = ad_length(kernel, 0)

    def arguments(self, call):
        call.memory.put_number(ARGS + A["ARG_AD_BYTES"], extend(self.bytes + 0, 64))

    def through(self, call, stop=None):
        """Runs from the first instruction to `stop`, or to the return. Returns the accumulator after associated data."""
        kernel, program = self.kernel, self.kernel.program()
        call.memory.put_number(ARGS + A["ARG_AD_BYTES"], const(0, 64))
        program.run(call.machine, None, 0, head(kernel, self.loop))
        self.arguments(call)
        found = call.cells()
        call.put({c: found[c] for c in self.kept})
        call.change({("memory", at): symbol(f"ad left {at}", 32) for at in self.written if ("memory", at) not in self.kept})
        limbs = [symbol(f"ad h{i} at most {most}", max(1, most.bit_length()), most) for i, most in enumerate(self.most)]
        call.change({c: extend(v, kernel.isa.POINTER) for c, v in zip(self.loop.limbs, limbs)})
        program.run(call.machine, None, head(kernel, self.loop), stop)
        return packets.residue(limbs, self.loop.weights)


def ad_length(kernel, least, **more):
    return linear.Base("ad bytes", least, 1 << kernel.isa.POINTER - 4, width=kernel.isa.POINTER, **more)


def with_ad(kernel, shape, n, some=None):
    """The start of a call with n bytes of associated data, of which this run reads `some`."""
    call = Part(kernel, shape, ([], []))
    width, (modulus, of) = call.width, call.cases.get(AD, (1, (0,)))
    call.ad = linear.Base("ad", 1 << 20, 1 << width - 2, address=AD, modulus=modulus, of=of, width=width)
    if some:
        call.memory.region("ad here", AD, some, True, False, modulus if of == (0,) else 1)
        call.memory.poke(AD, ad_text(some))
    call.set(ad=call.ad + 0, ad_bytes=n, bytes=call.length("bytes", 0) + 0)
    return call


def ad_text(n):
    return text_symbols("ad ", n)


def inside_ad(kernel, shape, inv, rest):
    """Starts a run at the loop, with the last whole block and `rest` bytes after it, or (None) with at least two
    blocks."""
    call = with_ad(kernel, shape, symbol("ad bytes", kernel.isa.POINTER), 16 + (rest or 0))
    left = linear.Base("ad left", 32, 1 << call.width - 2, modulus=16, width=call.width)
    limit = linear.Base("ad limit", 1 << 20, (1 << call.width - 1) - 1, width=call.width)
    linear.relate(limit, call.ad, left)
    call.values = {"message": call.ad + 0, "limit": limit + 0 if rest is None else call.ad + 16, "counter": const(1, 32),
                   "rest": extend(symbol("rest", 4), call.width) if rest is None else const(rest, call.width)}
    return call, inv.put(call, **call.values)


def ad_shown(kernel, shape, behind, quick):
    """Proves associated data of every length, with the residues of Call.cases, from the first instruction to the one
    after them. Returns the numbers of cases and instructions."""
    layout, runs, program = LAYOUTS[kernel.isa.MACHINE](kernel.isa), [], kernel.program()
    place, rests, cases = head(kernel, behind.loop), range(0, 16, 5) if quick else range(16), Call.cases

    def is_behind(call, h, text, what):
        if accumulated(call, behind.loop) != spec.poly1305(h, call.r, text and spec.pad16(text)):
            raise Unproved(f"the accumulator is not that of the specification behind {what}")
        if call.get(layout.phase).constant != 0:
            raise Unproved("what is behind associated data is not reached first")
        behind.enter(call)
        runs.append(call)
    for n in rests:
        call = with_ad(kernel, shape, const(n, kernel.isa.POINTER), n)
        program.run(call.machine, None, 0, place)
        is_behind(call, 0, ad_text(n), f"{n} bytes")
    try:
        for case in layout.ad_cases:
            Call.cases = {**cases, **case}
            loop = layout.authenticates(case[AD][1])
            inv = Invariant(loop)
            for rest in range(16):
                n = ad_length(kernel, 16 + rest, modulus=16, of=(rest,))
                call = with_ad(kernel, shape, n + 0)
                program.run(call.machine, None, 0, head(kernel, loop))
                end = linear.place(terms.add(call.width, call.ad + 0, n + 0)[0])[0]
                expect_places(call, loop, message=(call.ad, 0), limit=(end, -rest), rest=const(rest, call.width), counter=const(1, 32))
                if accumulated(call, loop) != 0:
                    raise Unproved("the accumulator is not 0 where associated data begin")
                inv.enter(call)
                runs.append(call)
            changed = True
            while changed:
                changed = False
                for inv.first in inv.bounds:
                    call, h = inside_ad(kernel, shape, inv, None)
                    program.run(call.machine, None, head(kernel, loop), head(kernel, loop))
                    expect_places(call, loop, **dict(call.values, message=(call.ad, 16)))
                    if accumulated(call, loop) != spec.poly1305(h, call.r, ad_text(16)):
                        raise Unproved("the accumulator is not that of the specification after a block")
                    changed = inv.enter(call) or changed
                    runs.append(call)
            for inv.first, rest in itertools.product(inv.bounds, rests):
                call, h = inside_ad(kernel, shape, inv, rest)
                program.run(call.machine, None, head(kernel, loop), place)
                is_behind(call, h, ad_text(16 + rest), f"a block and {rest} bytes")
            behind.written |= inv.written
    finally:
        Call.cases = cases
    return len(runs), sum(c.machine.steps for c in runs)


def prepare(kernel, args):
    """Proves associated data for each kind of call that starts a packet. Returns their common results."""
    layout, found = LAYOUTS[kernel.isa.MACHINE](kernel.isa), Found()
    together = None
    for shape in [Way(flags, opens) for flags in (WHOLE, FIRST) for opens in BOTH][:1 if args.quick else 4]:
        prepared(kernel, {})
        behind = Invariant(layout.behind_ad())
        for case in layout.callers[:1 if args.quick else None]:
            Call.cases = case
            found.add(*ad_shown(kernel, shape, behind, args.quick))
        one = set(behind.kept), behind.bounds[False], behind.written
        together = one if together is None else (together[0] & one[0], [*map(max, together[1], one[1])], together[2] | one[2])
    return found.cases, found.steps, together


# ---- All of it --------------------------------------------------------------------------------------------------------------

def tasks(kernel, args):
    found, layout = [], LAYOUTS[kernel.isa.MACHINE](kernel.isa)
    for shape in SHAPES[3:4] if args.quick else SHAPES:
        for each in itertools.product(layout.texts(IN + 1), [{}] if shape.in_place else layout.texts(OUT + 3)):
            case = {k: v for d in each for k, v in d.items()}
            found.append((f"{shape}, residues " + ", ".join(f"{of} of {n}" for n, of in case.values()), shape, case))
    short = [(f"{s}, any associated data", s, layout.callers[0]) for s in short_texts(args.quick)]
    return found[::3] + short if args.quick else found + short


def short_texts(quick):
    """Calls with associated data of any length, and a text that is too short for the induction."""
    found = [Shape(n, opens=o) for n in ((0, 77) if quick else range(LEAST)) for o in BOTH]
    found += [Shape(n, opens=o, flags=FIRST) for n in (0, 64) for o in BOTH]
    return found + [Shape(n, opens=o, in_place=True) for n in (100,) for o in BOTH]


def prepared(kernel, case):
    anew()
    Call.cases, kernel.head = case, None
    chacha_armv6.LAYOUTS[kernel.name] = LAYOUTS[kernel.isa.MACHINE](kernel.isa)


def one(kernel, task, args, found):
    _, shape, case = task
    if isinstance(shape, Shape) and len(terms.ATOMS) < 600_000:
        Call.cases = case
    else:
        prepared(kernel, case)
    section = Section(kernel, found.common) if shape.flags & FIRST else None
    if isinstance(shape, Shape):
        shape.section = section
        found.add(1, proof.prove(kernel, shape, args.queries))
        return
    state, *more = induction(kernel, shape, section=section)
    found.add(*more)
    ends = (range(1, 65) if shape.opens else range(16)) if shape.flags & LAST else (64 if shape.opens else 0,)
    for n in ends[5::9] if args.quick else ends:
        found.end(f"end, {n} bytes", leave, kernel, shape, state, n, args.queries)


# Instructions that planted faults omit: the name of the fault, the start of their text, and which one it is.
LEFT_OUT = {
    ("EM_MIPS", 32): [("the text does not move", "addiu $v0, $v0, 0x40", 0), ("a product is left out", "maddu", 2), ("a carry is dropped", "sltu", 4),
                      ("a rotation is left out", "rotr", 40), ("a wipe is left out", "sw $zero, 0x110($a1)", 0)],
    ("EM_MIPS", 64): [("the text does not move", "daddiu $v0, $v0, 0x40", 0), ("a product is left out", "dmultu", 1), ("a carry is dropped", "sltu", 2),
                      ("a rotation is left out", "rotr", 40), ("a wipe is left out", "sd $zero, 0x110($a1)", 0)],
    ("EM_RISCV", 64): [("the text does not move", "addi s8, s8, 0x40", 0), ("a product is left out", "mulhu", 2), ("a carry is dropped", "sltu", 2),
                       ("a wipe is left out", "sd zero, 0x110(a1)", 0)],
}


# The same for associated data alone.
AD_LEFT_OUT = {
    "EM_MIPS": [("associated data do not move", ("addiu $v0, $v0, 0x10", "daddiu $v0, $v0, 0x10"), 1), ("their last bytes are left out", "sb $t8, ($t9)", 0),
                ("a carry of theirs is dropped", "sltu", 8)],
    "EM_RISCV": [("associated data do not move", "addi a2, a2, 0x10", 2), ("their last bytes are left out", "sb s3, 0(s4)", 0),
                 ("a carry of theirs is dropped", "sltu", 12)],
}


def planted(kernel, args, attempt):
    case = {address: (8, (0,)) for address in (IN + 1, OUT + 3, KEY, NONCE)}
    kernel.program().LIMIT = 20_000

    def wrong(what, text=None, number=0, **change):
        def show():
            prepared(kernel, case)
            state, _, _ = induction(kernel, Way(WHOLE), **change)
            leave(kernel, Way(WHOLE), state, 5)
        attempt(what, show, text and find(kernel, text, number))
    wrong("the counter goes on by two", blocks=2)
    wrong("blocks of 32 bytes are authenticated", step=32)
    for what, text, number in LEFT_OUT[kernel.isa.MACHINE, kernel.isa.POINTER]:
        wrong(what, text, number)

    def associated():
        prepared(kernel, case)
        ad_shown(kernel, Way(WHOLE), Invariant(LAYOUTS[kernel.isa.MACHINE](kernel.isa).behind_ad()), True)
    for what, text, number in AD_LEFT_OUT[kernel.isa.MACHINE]:
        attempt(what, associated, find(kernel, text, number))
