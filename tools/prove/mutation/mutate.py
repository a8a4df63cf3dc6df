"""Mutants: kernels with one instruction changed, which the prover must refuse.

    mutation.mutate [--count N] [--seed S] [--settle] OBJECT...

A mutant has one instruction of a kernel with another register, another constant, another offset or another operation (a
bit of its encoding turned over), dropped (as a carry or a wipe that was forgotten), or exchanged with the next. What then
is no instruction, or none that the prover knows, is not counted. It is tried in a few short calls that reach the
instruction, until one is refused: of a quick run's calls, or with --settle of a full run's. (Where a call takes seconds,
AES being made of bit operations, it is run once for many: where it first comes to the instruction of a mutant, a child
process goes on with the mutant.) With --settle, those that are refused for none are then looked at in every call of a
full run that reaches them:

    refused         one of these calls is refused, after all
    no difference   whatever the registers are: the same instruction in another encoding, or two that change nothing
    same state      registers, flags and memory behind the instruction are the same in all these calls
    soon the same   if not at once, they are some instructions later: what differed is dead
    specified       if not even that, all of the specification holds in 40 of the calls in which something differs, or in all
    undecided       there was no time to say

The middle four compute what the kernel computes, the first of them for all calls, the others for all that were run. What
is listed as "same state" of an instruction that looks at lengths may show that calls are missing in the full run.
"""
import argparse
import array
import collections
import copy
import hashlib
import json
import mmap
import multiprocessing
import os
import random
import re
import signal
import sys
import time

import capstone
from capstone import x86_const as X
from isa import arm32, arm64, riscv, x86
from isa.code import STOPS, Code, known
from run import kernels, lists, memory, modes, packets, proof
from spec import reduction
from values import terms
from values.linear import Undecided
from values.terms import Unproved, symbol

TRIES = 8  # calls that a mutant is run for first
TRIES_SETTLED = 4  # where those that are not refused are looked at further
SHORT = 60  # of the calls that reach it, from how many of the shortest these are
SECONDS, LONGER = 12, 60  # of processor's time for one of them; LONGER where AES is made of bit operations. A mutant that takes more is undecided
PROVED, PROVED_BITWISE = 40, 5  # calls of those in which something differs, at most, in which a mutant is tried further
SOON = 300  # instructions in which a state may become the same again
SETS_UP = 2000, 40_000  # more instructions than the set-up of a key takes; where AES is made of bit operations
TOGETHER = 40  # mutants of one run of a call
CHECKED = 10  # of the refused, how many must differ where those that are not are looked at


class TooLong(Exception):
    pass


def too_long(*_):
    raise TooLong


def limit(seconds):
    signal.signal(signal.SIGVTALRM, too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)

_kernel = _shapes = _reached = _steps = _mutants = _refused = _proved = None
_calls = []  # what proof.run has run


def remember(call, trace=None, run=kernels.Call.run):
    _calls[:] = [call]
    return run(call, trace)


def begin(path, full, calls):
    global _kernel, _shapes
    sys.setrecursionlimit(20000)
    reduction.EFFORT = 100_000_000  # what the solver cannot say then is not shown, hence refused
    kernels.Call.run = remember
    _kernel = kernels.Kernel(path)
    if full:
        found = list(lists.shapes(_kernel, False))
        chosen = set(random.Random(str(_kernel)).sample(range(len(found)), min(calls or len(found), len(found))))
        # None of those is left out that alone are compared with the specification, nor set-ups; nor those of modes
        # where each lane has one block, which are refused soonest.
        soon = lambda s: _kernel.bitwise and _kernel.of_modes and proof.full(_kernel, s) and 0 < s.size <= 128
        _shapes = [s for i, s in enumerate(found)
                   if i in chosen or getattr(s, "function", False) or sets_up(s) or soon(s)]
    else:
        _shapes = modes.shapes(_kernel, True) if _kernel.of_modes else lists.shapes(_kernel, True)


def function(i):
    """Whether the results of a call are compared with the specification."""
    return not _kernel.bitwise or getattr(_shapes[i], "function", False)


def plainly(i, trace=None):
    """A call without a look at its results; in the terms in which it is proved, so that these are not forgotten in between. Where the
    kernel asks for the alignment of a pointer, for each."""
    try:
        return one_way(i, trace)
    except Undecided as e:
        before, steps = kernels.Call.cases, 0
        try:
            for case in e.cases:
                kernels.Call.cases = {**before, e.pointer: case}
                steps += plainly(i, trace)
        finally:
            kernels.Call.cases = before
        return steps


def one_way(i, trace):
    if not _kernel.bitwise:
        proof.mode(False, False, _kernel.ascending, _kernel.of_modes)
        return proof._run(_kernel, _shapes[i], trace)
    return proof.run(_kernel, _shapes[i], trace)


def reach(i):
    """The instructions of a call and where they are."""
    tidy()
    trace = set()
    return i, plainly(i, trace), array.array("I", sorted(trace)).tobytes()


def cover(pool_of):
    """_reached: address -> (instructions, number) of the calls that reach it, shortest first; those that compare first."""
    global _reached, _steps
    _reached, _steps = collections.defaultdict(list), {}
    with pool_of() as pool:
        for i, steps, found in pool.imap_unordered(reach, range(len(_shapes)), 16):
            _steps[i] = steps
            for pc in array.array("I", found):
                _reached[pc].append((steps, i))
    for found in _reached.values():
        found.sort(key=lambda t: (not function(t[1]), t))


def tidy():
    if len(terms.ATOMS) > (3_000_000 if _kernel.bitwise else 400_000):
        terms.forget()


# ---- Making them ---------------------------------------------------------------------------------------------------------

def independent(first, second):
    """Whether two instructions can change places: neither writes what the other reads or writes."""
    reads1, writes1 = (set(map(first.reg_name, r)) for r in first.regs_access())
    reads2, writes2 = (set(map(second.reg_name, r)) for r in second.regs_access())
    # A vector register by its number, an integer register as a whole.
    whole = lambda names: {n[1:] if n[1:3] == "mm" else x86.GENERAL[n][0] if n in x86.GENERAL else n for n in names}
    reads1, writes1, reads2, writes2 = map(whole, (reads1, writes1, reads2, writes2))
    if writes1 & (reads2 | writes2) or writes2 & reads1:
        return False
    (m1, w1), (m2, w2) = (([o for o in i.operands if o.type == X.X86_OP_MEM and i.mnemonic != "lea"],
                           any(o.type == X.X86_OP_MEM and o.access & capstone.CS_AC_WRITE for o in i.operands)) for i in (first, second))
    if not m1 or not m2 or not (w1 or w2):
        return True
    a, b = m1[0], m2[0]
    return (a.mem.base, a.mem.index, a.mem.scale) == (b.mem.base, b.mem.index, b.mem.scale) and \
        (a.mem.disp + a.size <= b.mem.disp or b.mem.disp + b.size <= a.mem.disp)


NOP = {x86: b"\x90", arm64: bytes.fromhex("1f2003d5"), arm32: bytes.fromhex("00f020e3"), riscv: bytes.fromhex("13000000")}
MIPS_NOP = bytes(4)


class Insn:
    """An instruction of MIPS or RISC-V, as isa/ has it, whose decoder does not know them all. step: where the step begins that it is
    a part of: the branch before a delay slot."""

    size, operands = 4, ()

    def __init__(self, isa, code, address):
        self.address = address
        self.mnemonic, self.fields = isa.fields(code, address)
        self.op_str = ", ".join(f"{k} {v}" for k, v in self.fields.items())
        self.branch = self.mnemonic in isa.BRANCHES or self.mnemonic in ("jr", "jal", "jalr")
        self.step = self.last = address

    def writes(self):
        """The register; of a product 32, which stands for HI and LO."""
        if self.mnemonic in ("multu", "maddu", "dmultu"):
            return 32
        return None if self.branch or self.mnemonic.startswith(("sb", "sw", "sd")) else self.fields.get("d", self.fields.get("t"))

    def reads(self):
        return {32} if self.mnemonic in ("mflo", "mfhi", "maddu") else {self.fields.get("s"), self.fields.get("t")} - {0, None}


def listing():
    """Address -> instruction."""
    isa, kernel = _kernel.isa, _kernel
    if isa.MACHINE not in ("EM_MIPS", "EM_RISCV"):
        return {i.address: i for i in isa.decoder().disasm(kernel.code, 0)}
    found = {a: Insn(isa, kernel.code, a) for a in range(0, len(kernel.code), 4)}
    for a, insn in found.items() if isa.MACHINE == "EM_MIPS" else ():
        if insn.branch and a + 4 in found:
            found[a + 4].step, insn.last = a, a + 4
    return found


def targets_of(insns):
    """Where jumps go."""
    if isinstance(next(iter(insns.values())), Insn):
        steps = (_kernel.isa.meaning(_kernel.code, i.address) for i in insns.values() if i.branch)
        return {branch[1] if branch else after for _, after, branch, _ in steps}
    return {int(m[1], 0) for i in insns.values() if branches(i) and (m := re.search(r"#?(0x[0-9a-f]+)$", i.op_str))}


def branches(insn):
    """Also what cannot follow another instruction than its own."""
    if isinstance(insn, Insn):
        return insn.branch or insn.step != insn.address
    return insn.mnemonic.startswith(("j", "b.", "cb", "tb")) or insn.mnemonic in ("ret", "bx") or \
        (_kernel.isa is not x86 and insn.mnemonic.startswith("b") and not insn.mnemonic.startswith(("bi", "bsl")))


def dependent(first, second):
    """Whether the second of two instructions of ARM reads the first register that the first names, and that is not a store; of MIPS and
    RISC-V, whether it reads what the first writes."""
    if isinstance(first, Insn):
        return first.writes() in second.reads()
    register = re.match(r"[^,\[{]*", first.op_str)[0].strip().split(".")[0]
    return bool(register) and not first.mnemonic.startswith(("st", "vst", "cmp", "tst", "ccmp")) and \
        register.lstrip("wx") in [t.lstrip("wx") for t in re.split(r"\W+", second.op_str.partition(",")[2])] and register[0] not in "#{["


def mutants(seed, count, only):
    """(address, what was done, where that ends, code). The first of many are those of few."""
    insns = listing()
    targets = targets_of(insns)
    places = [a for a, i in insns.items() if i.mnemonic not in ("endbr64", "nop", "lfence", "ret", "bx", "jr", "jalr") and (not only or a in only)]
    made, seen = 0, set()
    for lap in range(100):  # each instruction once before one is changed again; of few there may be fewer mutants
        for at in random.Random(f"{seed} {lap}").sample(places, len(places)):
            if made == count:
                return
            if getattr(insns[at], "step", at) in _reached and (mutant := mutate(random.Random(f"{seed} {lap} {at}"), insns, targets, at)) and mutant[3] not in seen:
                seen.add(mutant[3])
                made += 1
                yield mutant


def mutate(rng, insns, targets, at):
    """A mutant of an instruction, or None if nothing that was tried is one."""
    code, isa, insn = _kernel.code, _kernel.isa, insns[at]
    md, nop = isa.decoder(), NOP.get(isa, MIPS_NOP)
    begin, last = getattr(insn, "step", at), getattr(insn, "last", at)
    for _ in range(30):
        kind = rng.random()
        new, end = bytearray(code), last + insn.size
        if kind < 0.15:
            new[at:at + insn.size] = nop * (insn.size // len(nop))
            what = f"without {insn.mnemonic} {insn.op_str}"
        elif kind < 0.25:
            if at + insn.size not in insns or branches(insn):
                continue
            after = insns[at + insn.size]
            if after.address in targets or branches(after) or (independent(insn, after) if isa is x86 else not dependent(insn, after)):
                continue
            both = code[at:at + insn.size], code[after.address:after.address + after.size]
            end = after.address + after.size
            new[at:end] = both[1] + both[0]
            what = f"{insn.mnemonic} {insn.op_str} behind {after.mnemonic} {after.op_str}"
        else:
            bit = rng.randrange(8 * insn.size)
            new[at + bit // 8] ^= 1 << bit % 8
            try:
                other = Insn(isa, bytes(new), at) if isinstance(insn, Insn) else next(md.disasm(bytes(new[at:at + 16]), at), None)
            except Unproved:
                continue
            if other is None or other.size != insn.size or other.mnemonic in ("syscall", "int3", "hlt") or \
                    (other.mnemonic == insn.mnemonic and other.op_str == insn.op_str):
                continue
            try:
                isa.meaning(bytes(new), begin)
            except (Unproved, *STOPS):
                continue  # not an instruction that the prover knows: refused at once
            if isa is x86 and other.mnemonic == insn.mnemonic in ("rol", "ror") and insn.operands[1].type == other.operands[1].type == X.X86_OP_IMM \
                    and insn.operands[0].reg == other.operands[0].reg and (insn.operands[1].imm - other.operands[1].imm) % 32 == 0:
                continue  # the same rotation
            what = f"{other.mnemonic} {other.op_str} for {insn.mnemonic} {insn.op_str}"
        if new != code:
            return begin, what, end, bytes(new)
    return None


# ---- Trying them ---------------------------------------------------------------------------------------------------------

NOT_RUN, NO_TIME, DIFFERS = "not run", "no time", "results that are not compared differ"


def refuses(i):
    """Why the kernel as it is now is refused in a call, or None."""
    try:
        proof.prove(_kernel, _shapes[i], None)
    except Unproved as e:
        return str(e)
    except STOPS as e:
        return f"stopped: {type(e).__name__}"
    return None


def results():
    """What the last call has left in memory that is not scratch."""
    return {a: v for a, v in _calls[0].memory.cells.items() if a >= RESULTS}


RESULTS = kernels.KEY  # below lie arguments, scratch, constants; and the stack


def without(steps, at):
    """The decoded instructions, except those that a change at an address may have changed."""
    return {a: s for a, s in steps.items() if not at - 16 < a < at + 32}


def most_steps(i):
    """How many instructions of a mutant, in a call or in the set-up of its key, are enough to say that it does not come
    to an end."""
    return (200_000 if _kernel.bitwise else 60_000) if sets_up(_shapes[i]) else 3 * _steps[i] + SETS_UP[_kernel.bitwise]


def sets_up(shape):
    return isinstance(shape, packets.Setup) or getattr(shape, "mode", None) == modes.SETUP


class Forks:
    """One run of a call, with children that go on as mutants."""

    def __init__(self, i, those, was, until):
        self.i, self.was, self.until, self.number, self.found = i, was, until, None, {}
        self.places = collections.defaultdict(list)
        for n in those:
            self.places[_mutants[n][0]].append(n)

    def run(self):
        refuses(self.i)  # the results that a mutant does not change are known then
        for keys in (packets._keys, modes._keys):  # a key is set up in the call
            for key in [k for k in keys if k[0] == _kernel.name]:
                del keys[key]
        program = self.program = _kernel.program()
        self.kept, program.steps = program.steps, dict(program.steps)
        for at in self.places:
            self.hook(at)
        try:
            why = refuses(self.i)
        except BaseException as e:
            if self.number is not None:  # a child goes nowhere else
                self.tell(NO_TIME if isinstance(e, TooLong) else f"stopped: {type(e).__name__}")
            raise
        finally:
            program.steps = self.kept
        if self.number is not None:
            if why is None and self.was is not None and results() != self.was:
                why = DIFFERS
            self.tell(why)
        if why is not None:
            raise RuntimeError(f"{_kernel} as it is: {_shapes[self.i]}: {why}")
        return self.found

    def hook(self, at):
        """Before the instruction there is run for the first time: a branch that comes back for a mutant."""
        step = self.kept.get(at) or self.program.meaning(self.program.code, at)
        f, after, branch, text = step
        way = [None, after]

        def condition(machine):
            for n in self.places[at]:
                if self.until and time.time() > self.until:
                    self.found[n] = NOT_RUN
                elif self.fork(n):
                    way[1] = at
                    return terms.const(1, 1)
            self.program.steps[at] = step
            if f is not None:
                f(machine)
                return terms.const(0, 1)
            way[1] = branch[1] if branch else after
            return branch[0](machine) if branch else terms.const(0, 1)
        way[0] = condition
        self.program.steps[at] = None, after, way, text

    def fork(self, n):
        """Whether this is the child."""
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            self.number, self.end = n, theirs
            at, _, _, self.program.code = _mutants[n]
            steps = self.program.steps  # the very one that is run
            for a in self.places:
                steps.pop(a, None)
            for a in [a for a in steps if at - 16 < a < at + 32]:
                del steps[a]
            limit(LONGER)
            Code.LIMIT = most_steps(self.i)
            return True
        os.close(theirs)
        said = b""
        while more := os.read(ours, 4096):
            said += more
        os.close(ours)
        os.waitpid(child, 0)
        self.found[n] = json.loads(said)["why"] if said else NO_TIME
        return False

    def tell(self, why):
        os.write(self.end, json.dumps({"why": why and why[:300]}).encode())
        os._exit(0)


class Changed:
    """The kernel is the mutant for a while."""

    def __init__(self, n):
        at, _, _, self.code = _mutants[n]
        self.mutant = Code(self.code, _kernel.isa.meaning)
        self.mutant.steps = without(_kernel.program().steps, at)

    def __enter__(self):
        self.kept = _kernel.steps, _kernel.code
        _kernel.steps, _kernel.code = self.mutant, self.code

    def __exit__(self, *_):
        _kernel.steps, _kernel.code = self.kept
        for keys in (packets._keys, modes._keys):
            for key in [k for k in keys if k[1] is self.code]:
                del keys[key]


def as_mutant(i, n):
    """Why a mutant is refused in a call, or None; or that its time did not come."""
    tidy()
    most = Code.LIMIT
    Code.LIMIT = most_steps(i)
    limit(LONGER if _kernel.bitwise else SECONDS)
    try:
        with Changed(n):
            return refuses(i)
    except TooLong:
        return NO_TIME
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        Code.LIMIT = most


def attempt(task):
    """Of a call and the numbers of mutants: number -> None, or why it is refused, NOT_RUN or NO_TIME."""
    i, those, until = task
    return i, explore(i, those, None, until)


def explore(i, those, was, until):
    """The same; where `was` is what the kernel leaves behind, DIFFERS if a mutant that is not refused leaves something else."""
    if not _kernel.bitwise:  # a child costs more than the instructions before
        found = {}
        for n in those:
            found[n] = NOT_RUN if until and time.time() > until else as_mutant(i, n)
        return found
    if until and time.time() > until:
        return dict.fromkeys(those, NOT_RUN)
    if was is None:  # else it is in terms of now
        tidy()
    return Forks(i, those, was, until).run()


def tries(at, most):
    """Calls that a mutant is run for first."""
    calls = [i for _, i in _reached[at]]
    if not _kernel.of_modes or most < TRIES:  # which has calls of many modes
        near = calls if _kernel.of_modes else calls[:SHORT]
        calls = near[:most // 2] + near[most // 2::max(1, len(near) // (most // 2))]
    if _kernel.bitwise:  # which takes seconds where it compares; native.py --first has done it where results differ
        compared, others = [i for i in calls if function(i)], [i for i in calls if not function(i)]
        calls = compared[:most // 2 if most == TRIES else 0] + others[:most // 2]
    return calls


def rounds(pool, numbers, most, until, tell):
    """Tries mutants in one call after the other; tell(number, why, call) of each. Returns those that are not refused."""
    chosen = {n: tries(_mutants[n][0], most) for n in numbers}
    for k in range(max(map(len, chosen.values()), default=0)):
        groups = collections.defaultdict(list)
        for n in numbers:
            if k < len(chosen[n]):
                groups[chosen[n][k]].append(n)
        tasks = [(i, groups[i][j:j + TOGETHER], until) for i in sorted(groups) for j in range(0, len(groups[i]), TOGETHER)]
        gone = set()
        for i, found in pool.imap_unordered(attempt, tasks):
            for n, why in found.items():
                if why is not None:
                    gone.add(n)
                    tell(n, why, i)
        numbers = [n for n in numbers if n not in gone]
    return numbers


# ---- The remaining mutants --------------------------------------------------------------------------------------------------------

class Overlay:
    """Cells of memory over others, which stay as they are."""

    def __init__(self, below):
        self.below, self.own = below, {}

    def get(self, a, default=None):
        v = self.own.get(a)
        return self.below.get(a, default) if v is None else v

    def __setitem__(self, a, v):
        self.own[a] = v


def twin(machine):
    other = copy.copy(machine)
    for name, v in vars(machine).items():
        if isinstance(v, list):
            setattr(other, name, [list(x) if isinstance(x, list) else x for x in v])
        elif isinstance(v, dict):
            setattr(other, name, dict(v))
    other.memory = copy.copy(machine.memory)
    other.memory.cells = Overlay(machine.memory.cells)
    stored, other.memory.regions = {}, [copy.copy(r) for r in machine.memory.regions]
    for r in other.memory.regions:  # input and output share one set of written bytes
        if r.stored is not None:
            r.stored = stored.setdefault(id(r.stored), set(r.stored))
    return other


def advance(program, machine, pc):
    """One instruction; where it goes on."""
    step = program.steps.get(pc)
    if step is None:
        step = program.steps[pc] = program.meaning(program.code, pc)
    f, after, branch, _ = step
    if f is not None:
        f(machine)
    elif branch is not None and known(branch[0](machine), "a branch"):
        return branch[1]
    return after


def through(program, machine, at, end):
    """Runs the instructions between, at most two; returns where it goes on."""
    pc = at
    for _ in range(2):
        if pc is None or not at <= pc < end:
            break
        pc = advance(program, machine, pc)
    return pc


def alike(a, b):
    return a is b or isinstance(a, (list, tuple)) and len(a) == len(b) and all(map(alike, a, b)) or isinstance(a, (dict, int)) and a == b


def flags(machine):
    return (machine.flag_zero(), machine.flag_sign()) if _kernel.isa is x86 else (machine.zero(), machine.negative())


def same_state(one, other):
    """Whether two machines are in the same state. What one leaves undefined, no proof of it has looked at."""
    for name, v in vars(one).items():
        if name in ("memory", "steps", "result") or v is None and name in ("carry", "overflow"):
            continue
        if not alike(v, getattr(other, name)):
            return False
    if getattr(one, "result", None) is not None and one.result is not other.result and (other.result is None or not alike(flags(one), flags(other))):
        return False
    cells = one.memory.cells, other.memory.cells
    return all(cells[0].get(a) is cells[1].get(a) for a in {*cells[0].own, *cells[1].own})


SAME, SAME_SOON, OTHER = range(3)


def compare(program, mutant, machine, at, end, soon=SOON):
    """Whether a mutant leaves the same state behind it, or some instructions later."""
    one, other = twin(machine), twin(machine)
    here = through(program, one, at, end)
    try:
        there = through(mutant, other, at, end)
        if here == there and same_state(one, other):
            return SAME
        for _ in range(soon):
            if here is None or there is None:
                break
            if here <= there:  # who is behind goes on
                step_both = here == there
                here = advance(program, one, here)
                if step_both:
                    there = advance(mutant, other, there)
            else:
                there = advance(mutant, other, there)
            if here == there and same_state(one, other):
                return SAME_SOON
    except (Unproved, *STOPS):
        pass
    return OTHER


def any_state(at, end, code):
    """Whether a mutant is the same in every state of the machine: one of symbols, except memory."""
    proof.mode(False, False)
    isa, machine = _kernel.isa, _kernel.isa.Machine(memory.Memory(getattr(_kernel.isa, "big", False)))

    def symbols(v, name):
        if isinstance(v, (list, tuple)):
            return type(v)(symbols(x, f"{name}.{i}") for i, x in enumerate(v))
        return symbol(name, v.width)
    for name, v in list(vars(machine).items()):
        if isinstance(v, (list, terms.Value)):
            setattr(machine, name, symbols(v, name))
    if hasattr(machine, "result"):
        machine.carry, machine.overflow, machine.result = symbol("carry", 1), symbol("overflow", 1), symbol("result", isa.POINTER)
    try:
        return compare(Code(_kernel.code, isa.meaning), Code(code, isa.meaning), machine, at, end, 0) == SAME
    except (Unproved, *STOPS):
        return False


def look(i, those):
    """Of a call: number -> SAME, SAME_SOON or OTHER of each of those mutants. One run for all of them."""
    tidy()
    program, found = _kernel.program(), dict.fromkeys(those, SAME)
    kept, changed = program.steps, collections.defaultdict(list)
    for n in those:
        at, _, end, code = _mutants[n]
        mutant = Code(code, _kernel.isa.meaning)
        mutant.steps = without(kept, at)
        changed[at].append((n, end, mutant))
    original = Code(_kernel.code, _kernel.isa.meaning)
    original.steps, program.steps = kept, dict(kept)
    for at, group in changed.items():
        f, after, branch, text = kept[at] if at in kept else program.meaning(program.code, at)

        def watch(m, at=at, group=group):
            for n, end, mutant in group:
                if found[n] != OTHER:
                    found[n] = max(found[n], compare(original, mutant, m, at, end))
        if f is not None:
            program.steps[at] = (lambda m, f=f, watch=watch: (watch(m), f(m))), after, branch, text
        else:
            condition, target = branch or (lambda m: terms.const(1, 1), after)
            program.steps[at] = None, after, (lambda m, c=condition, watch=watch: (watch(m), c(m))[1], target), text
    try:
        plainly(i, set())  # with a trace: a key is set up again
    finally:
        program.steps = kept
    return found


def settle(task):
    """Of a call and the survivors that reach it: number -> (SAME .., None or why it is refused or not shown), of those that it
    had the time for."""
    i, those, until = task
    those = [n for n in those if not _refused[n]]
    if not those or until and time.time() > until:
        return i, {}
    found = {n: (kind, None) for n, kind in look(i, those).items()}
    differ = [n for n in those if found[n][0] == OTHER and _proved[n] < (PROVED_BITWISE if _kernel.bitwise else PROVED)]
    if differ and (function(i) or not _kernel.bitwise):  # other calls of the latter compute what is new each time
        for n, why in explore(i, differ, None if function(i) else results(), until).items():
            if why == DIFFERS:  # compare after all
                _kernel.asked = True
                try:
                    why = explore(i, [n], None, until).get(n, NOT_RUN)
                finally:
                    _kernel.asked = False
            found[n] = OTHER, why
            _proved[n] += why is None
            if why not in (None, NOT_RUN):
                _refused[n] = 1
    return i, found


def compared(task):
    """Of a call that is compared with the specification, and the numbers of mutants: number -> None, or why it is refused or NOT_RUN."""
    i, those, until = task
    _kernel.asked = True
    try:
        return i, explore(i, [n for n in those if not _refused[n]], None, until)
    finally:
        _kernel.asked = False


def told_apart(dead):
    """Of mutants that are refused in a call, those that would be said to compute the same there: a fault of the
    classification."""
    for n, i in dead:
        if look(i, [n])[n] != OTHER:
            yield n, i


def classify(pool_of, alive, until, tell):
    """Says of each survivor what it is."""
    global _refused, _proved
    _refused, _proved = mmap.mmap(-1, len(_mutants)), mmap.mmap(-1, len(_mutants))  # seen by all that work
    reaching = collections.defaultdict(list)
    for n in alive:
        for _, i in _reached[_mutants[n][0]]:
            reaching[i].append(n)
    state, looked, missing, gone = dict.fromkeys(alive, SAME), collections.Counter(), set(), set()
    order = random.Random(1).sample(sorted(reaching), len(reaching))
    with pool_of() as pool:
        for i, found in pool.imap_unordered(settle, [(i, reaching[i], until) for i in order]):
            for n, (kind, why) in found.items():
                looked[n] += 1
                state[n] = max(state[n], kind)
                if why == NOT_RUN:
                    missing.add(n)
                elif why is not None and n not in gone:
                    gone.add(n)
                    tell(n, why, i)
    # Those that calls which compare do not reach.
    unproved = [n for n in alive if _kernel.bitwise and n not in gone | missing and state[n] == OTHER and not _proved[n]]
    tasks = collections.defaultdict(list)
    for n in unproved:
        for _, i in sorted(_reached[_mutants[n][0]])[:PROVED_BITWISE]:
            tasks[i].append(n)
    with pool_of() as pool:
        for i, found in pool.imap_unordered(compared, [(i, tasks[i], until) for i in sorted(tasks, key=lambda i: str(proof.alike(_kernel, _shapes[i])))]):
            for n, why in found.items():
                if why == NOT_RUN:
                    missing.add(n)
                elif why is not None and n not in gone:
                    gone.add(n)
                    tell(n, why, i)
                _proved[n] += why is None
    for n in alive:
        if n in gone:
            continue
        at, _, end, code = _mutants[n]
        if looked[n] < len(_reached[at]) or n in missing or state[n] == OTHER and not _proved[n]:
            tell(n, NO_TIME, None)
        else:
            tell(n, None, None, "no difference" if state[n] == SAME and any_state(at, end, code) else
                 ("same state", "soon the same", "specified")[state[n]], _proved[n] or looked[n])


def kind_of_refusal(error):
    return "stopped by an error of the prover's own" if error.startswith("stopped") else \
        "another result" if "specification" in error or "tag" in error or "solver" in error else \
        "a secret left" if "still depends" in error else \
        "memory" if "bytes at" in error or "aligned" in error else \
        "not at its end" if "not at its end" in error else \
        "a branch, address or count on data" if "depends on" in error else "otherwise"


def digest():
    return hashlib.sha256(_kernel.code + _kernel.constants).hexdigest()[:16]


class Record:
    """What is known of the mutants of a kernel: number -> (kind, why, calls). Kept in a file, if there is one."""

    def __init__(self, path):
        self.path, self.known, self.seconds = path, {}, 0
        self.kernel = str(_kernel), digest()
        names = {self.name(n): n for n in range(len(_mutants))}
        if path and os.path.exists(path):
            with open(path) as f:
                for line in f:
                    d = json.loads(line)
                    if tuple(d["kernel"]) != self.kernel:
                        continue
                    self.seconds += d.get("seconds", 0)
                    if d.get("name") in names:
                        self.known[names[d["name"]]] = d["kind"], d["why"], d["calls"]

    def name(self, n):
        at, _, end, code = _mutants[n]
        return f"{at:x} {code[at:end].hex()}"

    def write(self, **more):
        if self.path:
            with open(self.path, "a") as f:
                f.write(json.dumps({"kernel": self.kernel, **more}) + "\n")

    def add(self, n, kind, why, calls):
        self.known[n] = kind, why, calls
        self.write(name=self.name(n), what=_mutants[n][1], kind=kind, why=why, calls=calls)


def of_kernel(path, args, until):
    """(refused, same, undecided, not run) of the mutants of a kernel."""
    global _mutants
    begun, used = time.time(), sum(os.times()[:4])
    begin(path, args.settle, args.calls)
    pool_of = lambda: multiprocessing.Pool(args.jobs)
    cover(pool_of)
    if args.settle:
        print(f"     {_kernel}: {len(_reached)} instructions reached by {len(_shapes)} calls, {time.time() - begun:.0f} s", flush=True)
    _mutants = list(mutants(args.seed, args.count, args.at))
    record = Record(args.record)
    todo = [n for n in range(len(_mutants)) if n not in record.known]
    left_out, undecided, dead, done = [], [], [], 0

    def tell(n, why, i, kind="refused", calls=0):
        nonlocal done
        done += 1
        if why == NOT_RUN:
            left_out.append(n)
        elif why == NO_TIME and i is None and until and time.time() > until:
            left_out.append(n)
        elif why == NO_TIME:
            record.add(n, "undecided", why, 0)
        else:
            record.add(n, kind, why, calls)
            if kind == "refused":
                dead.append((n, i))
        if done % 100 == 0 and len(todo) > 100:
            print(f"     {_kernel}: {done} of {len(todo)}, {time.time() - begun:.0f} s", flush=True)
    with pool_of() as pool:
        alive = rounds(pool, todo, TRIES_SETTLED if args.settle else TRIES, until, tell)
    if args.settle and alive:
        print(f"     {_kernel}: {len(alive)} not refused at once, {time.time() - begun:.0f} s", flush=True)
        classify(pool_of, alive, until, tell)
    else:
        undecided += alive
    if args.settle and not (until and time.time() > until):
        for n, i in told_apart(dead[::max(1, len(dead) // CHECKED)]):
            print(f"FAIL {_kernel} at {_mutants[n][0]:#x}: {_mutants[n][1]}: refused in {_shapes[i]}, where its state is the kernel's")
            undecided.append(n)
    seconds = sum(os.times()[:4]) - used  # of this process and those that have ended
    record.write(seconds=round(seconds))
    classes, reasons = collections.Counter(), collections.Counter()
    for n, (kind, why, calls) in sorted(record.known.items()):
        classes[kind] += 1
        if kind == "refused":
            reasons[kind_of_refusal(why)] += 1
        else:
            print(f"     {_kernel} at {_mutants[n][0]:#x}: {_mutants[n][1]}: {kind}" + (f" ({calls} calls)" if calls > 1 else ""))
    for n in sorted(undecided) if not args.settle else ():
        print(f"     {_kernel} at {_mutants[n][0]:#x}: {_mutants[n][1]}: not refused")
    refused, unknown = classes.pop("refused", 0), len(undecided) + classes.pop("undecided", 0)
    print(f"{_kernel}: {refused} of {len(_mutants) - len(left_out)} mutants refused (" + ", ".join(f"{r}: {n}" for r, n in reasons.most_common()) + ")"
          + "".join(f", {n} {k}" for k, n in sorted(classes.items())) + f", {unknown} undecided, {len(left_out)} not run, "
          f"{seconds + record.seconds:.0f} s of CPU", flush=True)
    terms.forget()
    return refused, classes.total(), unknown, len(left_out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--settle", action="store_true", help="say of each that is not refused at once what it is")
    parser.add_argument("--calls", type=int, default=0, help="with --settle, at most this many of a full run, always the same")
    parser.add_argument("--record", help="a file to which what is known is added, and that is known is not tried again")
    parser.add_argument("--at", type=lambda t: int(t, 16), nargs="*", help="mutants of the instructions at these addresses only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--least", type=int, default=0, help="per cent that must be refused or shown the same, else exit status 1")
    parser.add_argument("--seconds", type=int, default=0, help="after which no kernel begins, in an order drawn from the seed, and no mutant")
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    paths = args.objects
    if args.seconds and len(paths) > 1:
        paths = [p for p in paths if not kernels.Kernel(p).bitwise]  # a call of these takes seconds
        random.Random(args.seed).shuffle(paths)
    until = args.seconds and time.time() + args.seconds
    refused = same = undecided = left_out = kernels_left = 0
    for path in paths:
        if until and time.time() > until:
            kernels_left += 1
            continue
        r, s, u, n = of_kernel(path, args, until)
        refused, same, undecided, left_out = refused + r, same + s, undecided + u, left_out + n
    print(f"{refused} mutants refused, {same} shown to compute the same, {undecided} undecided, {left_out} not run, "
          f"{kernels_left} kernels not begun; seed {args.seed}")
    return 1 if 100 * (refused + same) < args.least * (refused + same + undecided) else 0
