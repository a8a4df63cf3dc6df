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
from induction.chacha_armv6 import LEAST, Invariant, Layout, Loop, attempts, blocks_from, every_end, expect_accumulator, expect_places
from induction.chacha_loop import CARRY, PRODUCT, ROTATION, TEXT, WIPE, Part, general, head, in_row, registers, scratch
from induction.engine import BOTH, SHAPES, Found, Way, anew
from run import packets, proof
from run.kernels import AD, ARGS, IN, KEY, NONCE, OUT, Call, text_symbols
from run.packets import Shape
from spec.args import A, FIRST, WHOLE
from values import linear, terms
from values.terms import Unproved, const, extend, symbol

STATE = 256
POLY_H = STATE + 128
COUNTER = scratch(STATE + 48)
AUTHENTICATED = "message", "limit", "rest"


def cases(address, modulus, *classes):
    """Call.cases of a pointer. The classes of residues are usually the multiples and the others."""
    return [{address: (modulus, of)} for of in classes or ((0,), tuple(range(1, modulus)))]


def encrypting(begin, pointers, words, big=False):
    """The loop that encrypts. The accumulator is in scratch, as 64-bit numbers. pointers: the registers of input,
    output and remaining bytes."""
    return Loop(begin, in_row([scratch(POLY_H + 4 * (i ^ big)) for i in range(words)], 32), places(pointers, "in", "out", "left"))


def places(numbers, *names):
    return {**dict(zip(map(general, numbers), names)), COUNTER: "counter"}


def of_message(shape):
    """The residues of the address of the authenticated text."""
    return Call.cases[IN + 1 if shape.opens or shape.in_place else OUT + 3][1]


class Mips(Layout):
    phase, phase_text, block_0, callers = general(1), 1, False, [{}]

    def __init__(self, isa):
        self.bits, self.big = isa.POINTER, isa.big
        self.limbs = registers(range(8, 13 if self.bits == 32 else 11), self.bits)
        self.ad_cases = self.texts(AD)

    def texts(self, address):
        return cases(address, self.bits // 8)

    def loops(self, shape):
        return encrypting(("lw $t0, 0x100($a1)", 1), (2, 3, 7), 5 if self.bits == 32 else 6, self.big), self.authenticates(of_message(shape))

    def authenticates(self, residues):
        load, first = ("lw", "$s4") if self.bits == 32 else ("ld", "$t6")
        side = "" if residues == (0,) else "l" if self.big else "r"
        # $24 is a carry.
        return Loop((f"{load}{side} {first}, ($v0)", 0), [*self.limbs, (general(24), 128)], places((2, 3, 7), *AUTHENTICATED), True)

    def behind_ad(self):
        return Loop((f"lw $t8, {A['ARG_FLAGS'] + 4 * self.big:#x}($a0)", 1), self.limbs, {})


class RiscV(Layout):
    phase, phase_text, limbs = general(15), 1, registers((5, 6, 7), 64)
    callers = [dict(t) for t in ({**k, **n} for k in cases(KEY, 4) for n in cases(NONCE, 4) if k[KEY][1] == (0,) or n[NONCE][1] == (0,))]

    def __init__(self, isa):
        self.ad_cases = self.texts(AD)

    def texts(self, address):
        return cases(address, 8, (0,), (4,), (1, 2, 3, 5, 6, 7))

    def loops(self, shape):
        return encrypting(("lw t0, 0x100(a1)", 0), (24, 25, 26), 6), self.authenticates(of_message(shape))

    def authenticates(self, residues):
        load = {(0,): "ld", (4,): "lwu"}.get(residues, "lbu")
        return Loop((f"{load} s5, 0(a2)", 0), self.limbs, places((12, 13, 14), *AUTHENTICATED))

    def behind_ad(self):
        return Loop((f"ld s3, {A['ARG_FLAGS']:#x}(a0)", 1), self.limbs, {})


LAYOUTS = {"EM_MIPS": Mips, "EM_RISCV": RiscV}


def least(kernel):
    return LEAST if getattr(kernel.isa, "BY_INDUCTION", {}).get(kernel.name.removeprefix("sealane_")) == LEAST else None


# ---- Associated data of any length -----------------------------------------------------------------------------------

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
        """Runs from the first instruction to `stop`, or to the return. Returns the accumulator after them."""
        kernel, program = self.kernel, self.kernel.program()
        call.memory.put_number(ARGS + A["ARG_AD_BYTES"], const(0, 64))
        program.run(call.machine, None, 0, head(kernel, self.loop))
        self.arguments(call)
        found = call.cells()
        call.put({c: found[c] for c in self.kept})
        call.change({("memory", at): symbol(f"ad left {at}", 32) for at in self.written if ("memory", at) not in self.kept})
        limbs = [symbol(f"ad h{i} at most {most}", max(1, most.bit_length()), most) for i, most in enumerate(self.most)]
        call.change({c: extend(v, kernel.isa.POINTER) for (c, _), v in zip(self.loop.limbs, limbs)})
        program.run(call.machine, None, head(kernel, self.loop), stop)
        return packets.residue(limbs, [weight for _, weight in self.loop.limbs])


def ad_length(kernel, least, **more):
    return linear.Base("ad bytes", least, 1 << kernel.isa.POINTER - 4, width=kernel.isa.POINTER, **more)


def with_ad(kernel, shape, n, some=None):
    """The start of a call with n bytes of associated data, of which this run reads `some`."""
    call = Part(kernel, shape, ([], []))
    width, (modulus, of) = call.width, call.cases.get(AD, (1, (0,)))
    call.ad = linear.Base("ad", 1 << 20, 1 << width - 2, address=AD, modulus=modulus, of=of, width=width)
    if some:
        call.memory.region("ad here", AD, some, True, False, modulus if of == (0,) else 1)
        call.memory.poke(AD, text_symbols("ad ", some))
    call.set(ad=call.ad + 0, ad_bytes=n, bytes=call.length("bytes", 0) + 0)
    return call


def inside_ad(kernel, shape, inv, rest):
    """Starts a run at the loop, with the last whole block and `rest` bytes after it, or (None) with at least two
    blocks."""
    call = with_ad(kernel, shape, symbol("ad bytes", kernel.isa.POINTER), 16 + (rest or 0))
    call.values = blocks_from(call, call.ad, rest)
    return call, inv.put(call, **call.values)


def ad_shown(kernel, shape, behind, quick):
    """Proves associated data of every length, with the residues of Call.cases, from the first instruction to the one
    after them. Returns the numbers of cases and instructions."""
    layout, runs, program = LAYOUTS[kernel.isa.MACHINE](kernel.isa), [], kernel.program()
    place, rests, cases = head(kernel, behind.loop), range(0, 16, 5) if quick else range(16), Call.cases

    def is_behind(call, h, text, what):
        expect_accumulator(call, behind.loop, spec.poly1305(h, call.r, text and spec.pad16(text)), f"behind {what}")
        if call.get(layout.phase).constant != 0:
            raise Unproved("what is behind associated data is not reached first")
        behind.enter(call)
        runs.append(call)
    for n in rests:
        call = with_ad(kernel, shape, const(n, kernel.isa.POINTER), n)
        program.run(call.machine, None, 0, place)
        is_behind(call, 0, text_symbols("ad ", n), f"{n} bytes")
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
                expect_accumulator(call, loop, 0, "where associated data begin")
                inv.enter(call)
                runs.append(call)
            changed = True
            while changed:
                changed = False
                for inv.first in inv.bounds:
                    call, h = inside_ad(kernel, shape, inv, None)
                    program.run(call.machine, None, head(kernel, loop), head(kernel, loop))
                    expect_places(call, loop, **dict(call.values, message=(call.ad, 16)))
                    expect_accumulator(call, loop, spec.poly1305(h, call.r, text_symbols("ad ", 16)), "after a block")
                    changed = inv.enter(call) or changed
                    runs.append(call)
            for inv.first, rest in itertools.product(inv.bounds, rests):
                call, h = inside_ad(kernel, shape, inv, rest)
                program.run(call.machine, None, head(kernel, loop), place)
                is_behind(call, h, text_symbols("ad ", 16 + rest), f"a block and {rest} bytes")
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


# ---- All of it -------------------------------------------------------------------------------------------------------

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
    every_end(kernel, shape, args, found, section)


# Instructions that planted faults omit: the name of the fault, the start of their text, and which one it is.
LEFT_OUT = {
    ("EM_MIPS", 32): [(TEXT, "addiu $v0, $v0, 0x40"), (PRODUCT, "maddu", 2), (CARRY, "sltu", 4), (ROTATION, "rotr", 40),
                      (WIPE, "sw $zero, 0x110($a1)")],
    ("EM_MIPS", 64): [(TEXT, "daddiu $v0, $v0, 0x40"), (PRODUCT, "dmultu", 1), (CARRY, "sltu", 2), (ROTATION, "rotr", 40),
                      (WIPE, "sd $zero, 0x110($a1)")],
    ("EM_RISCV", 64): [(TEXT, "addi s8, s8, 0x40"), (PRODUCT, "mulhu", 2), (CARRY, "sltu", 2), (WIPE, "sd zero, 0x110(a1)")],
}
# The same for associated data alone.
MOVE, END, AD_CARRY = "associated data do not move", "their last bytes are left out", "a carry of theirs is dropped"
AD_LEFT_OUT = {
    "EM_MIPS": [(MOVE, ("addiu $v0, $v0, 0x10", "daddiu $v0, $v0, 0x10"), 1), (END, "sb $t8, ($t9)"), (AD_CARRY, "sltu", 8)],
    "EM_RISCV": [(MOVE, "addi a2, a2, 0x10", 2), (END, "sb s3, 0(s4)"), (AD_CARRY, "sltu", 12)],
}


def planted(kernel, args, attempt):
    case = {address: (8, (0,)) for address in (IN + 1, OUT + 3, KEY, NONCE)}
    kernel.program().LIMIT = 20_000


    def before():
        prepared(kernel, case)

    def associated():
        before()
        ad_shown(kernel, Way(WHOLE), Invariant(LAYOUTS[kernel.isa.MACHINE](kernel.isa).behind_ad()), True)
    attempt("the counter goes on by two", attempts(kernel, before, blocks=2))
    attempt("blocks of 32 bytes are authenticated", attempts(kernel, before, step=32))
    attempt.without(LEFT_OUT[kernel.isa.MACHINE, kernel.isa.POINTER], attempts(kernel, before))
    attempt.without(AD_LEFT_OUT[kernel.isa.MACHINE], associated)
