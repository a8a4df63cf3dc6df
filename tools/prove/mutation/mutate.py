"""Mutants: kernels with one changed instruction, which the prover must refuse.

    mutation.mutate [--count N] [--seed S] [--settle [--calls N]] [--record FILE] [--least N] [--seconds N] OBJECT...

A mutant differs from the kernel in one instruction. It lacks the instruction, has it exchanged with the next one, or
has one bit of its encoding inverted. That changes a register, constant, offset or operation. A mutant that the prover
cannot decode does not count. Each mutant runs in a few short calls that reach the instruction, until the prover refuses
one. These are calls of a quick run, or with --settle of a full run. With --settle, the remaining mutants run in all
calls of a full run that reach them. Results:

    refused         the prover refuses one of these calls
    no difference   the state after the instruction is the same, whatever the registers hold
    same state      registers, flags and memory after the instruction are the same in all these calls
    soon the same   the state is the same again after some more instructions
    specified       the state differs, but the specification holds in 40 of the calls in which it does, or in all
    undecided       the time was too short

The middle four compute what the kernel computes: the first for all calls, the others for the calls that ran. If an
instruction that tests a length has a mutant with the same state, the full run may lack calls.
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
from isa import x86
from isa.code import STOPS, Code, known
from run import kernels, lists, memory, modes, packets, proof
from spec import reduction
from values import terms
from values.linear import Undecided
from values.terms import Unproved, symbol

TRIES, TRIES_SETTLED = 8, 4  # first calls of a mutant; with --settle
SHORT = 60  # the shortest calls, from which most of these come
SECONDS, LONGER = 12, 60  # CPU seconds of a call, then the mutant is undecided; LONGER for bit-sliced AES
PROVED, PROVED_BITWISE = 40, 5  # the most calls that show a mutant as "specified"; for bit-sliced AES
SOON = 300  # instructions after which a state may be the same again
SETS_UP = 2000, 40_000  # more instructions than a key's set-up has; for bit-sliced AES
TOGETHER = 40  # mutants in one task
CHECKED = 10  # refused mutants that must have another state than the kernel


class TooLong(Exception):
    pass


def too_long(*_):
    raise TooLong


def limit(seconds):
    signal.signal(signal.SIGVTALRM, too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)

_kernel = _shapes = _reached = _steps = _mutants = _refused = _proved = None
_calls = []  # the last call


def remember(call, trace=None, run=kernels.Call.run):
    _calls[:] = [call]
    return run(call, trace)


def begin(path, full, calls):
    global _kernel, _shapes
    sys.setrecursionlimit(20000)
    reduction.EFFORT = 100_000_000  # beyond it the prover refuses
    kernels.Call.run = remember
    _kernel = kernels.Kernel(path)
    if full:
        found = list(lists.shapes(_kernel, False))
        chosen = set(random.Random(str(_kernel)).sample(range(len(found)), min(calls or len(found), len(found))))
        # For bit-sliced AES, all calls that the prover compares with the specification remain. So do calls of modes with
        # one block in each lane, which it refuses soonest, and set-ups of keys.
        soon = lambda s: _kernel.bitwise and _kernel.of_modes and proof.full(_kernel, s) and 0 < s.size <= 128
        _shapes = [s for i, s in enumerate(found)
                   if i in chosen or getattr(s, "function", False) or sets_up(s) or soon(s)]
    else:
        _shapes = modes.shapes(_kernel, True) if _kernel.of_modes else lists.shapes(_kernel, True)


def function(i):
    """Whether the prover compares the results of a call with the specification."""
    return not _kernel.bitwise or getattr(_shapes[i], "function", False)


def plainly(i, trace=None):
    """Runs a call without comparing its results, in the mode in which it is proved. Returns the number of
    instructions. If the kernel tests the alignment of a pointer, the call runs for each outcome."""
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
    """The number of a call's instructions, and their addresses."""
    tidy()
    trace = set()
    return i, plainly(i, trace), array.array("I", sorted(trace)).tobytes()


def cover(pool_of):
    """Fills _reached: address -> (number of instructions, call) of the calls that reach it. Calls that compare come
    first, then short ones."""
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
    """Whether two instructions of x86 can change places: neither writes what the other reads or writes."""
    reads1, writes1 = (set(map(first.reg_name, r)) for r in first.regs_access())
    reads2, writes2 = (set(map(second.reg_name, r)) for r in second.regs_access())
    # Parts of a register stand for the register.
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


NOP = {"EM_X86_64": b"\x90", "EM_AARCH64": bytes.fromhex("1f2003d5"), "EM_ARM": bytes.fromhex("00f020e3"), "EM_RISCV": bytes.fromhex("13000000"),
       "EM_MIPS": bytes(4)}


class Insn:
    """An instruction of MIPS or RISC-V, because capstone does not decode all of them. step: the address of its step,
    which is the branch for a delay slot."""

    size, operands = 4, ()

    def __init__(self, isa, code, address):
        self.address = address
        self.mnemonic, self.fields = isa.fields(code, address)
        self.op_str = ", ".join(f"{k} {v}" for k, v in self.fields.items())
        self.branch = self.mnemonic in isa.BRANCHES or self.mnemonic in ("jr", "jal", "jalr")
        self.step = self.last = address

    def writes(self):
        """The register; 32 stands for HI and LO, (x,) for a vector."""
        if self.mnemonic in ("multu", "maddu", "dmultu"):
            return 32
        if self.branch or self.mnemonic.startswith(("sb", "sw", "sd", "vse", "vss")):
            return None
        return self.fields.get("d", (self.fields["x"],) if "x" in self.fields else self.fields.get("t"))

    def reads(self):
        vectors = {(self.fields[f],) for f in "xyz" if f in self.fields and (f != "x" or self.mnemonic.startswith(("vse", "vss", "vaes", "vgh", "vgm")))}
        return {32} if self.mnemonic in ("mflo", "mfhi", "maddu") else {self.fields.get("s"), self.fields.get("t"), *vectors} - {0, None}


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
    """The targets of branches."""
    if isinstance(next(iter(insns.values())), Insn):
        steps = (_kernel.isa.meaning(_kernel.code, i.address) for i in insns.values() if i.branch)
        return {branch[1] if branch else after for _, after, branch, _ in steps}
    return {int(m[1], 0) for i in insns.values() if branches(i) and (m := re.search(r"#?(0x[0-9a-f]+)$", i.op_str))}


def branches(insn):
    """Whether an instruction is a branch or in a delay slot."""
    if isinstance(insn, Insn):
        return insn.branch or insn.step != insn.address
    return insn.mnemonic.startswith(("j", "b.", "cb", "tb")) or insn.mnemonic in ("ret", "bx") or \
        (_kernel.isa is not x86 and insn.mnemonic.startswith("b") and not insn.mnemonic.startswith(("bi", "bsl")))


def dependent(first, second):
    """Whether the second of two instructions reads the register that the first writes. On ARM that is the first
    register of its text, except for stores and comparisons."""
    if isinstance(first, Insn):
        return first.writes() in second.reads()
    register = re.match(r"[^,\[{]*", first.op_str)[0].strip().split(".")[0]
    return bool(register) and not first.mnemonic.startswith(("st", "vst", "cmp", "tst", "ccmp")) and \
        register.lstrip("wx") in [t.lstrip("wx") for t in re.split(r"\W+", second.op_str.partition(",")[2])] and register[0] not in "#{["


def mutants(seed, count):
    """(address, description, end, code) of each mutant. A smaller count gives the first mutants of a larger one."""
    insns = listing()
    targets = targets_of(insns)
    places = [a for a, i in insns.items() if i.mnemonic not in ("endbr64", "nop", "lfence", "ret", "bx", "jr", "jalr")]
    made, seen = 0, set()
    for lap in range(100):  # each lap changes each instruction once
        for at in random.Random(f"{seed} {lap}").sample(places, len(places)):
            if made == count:
                return
            if getattr(insns[at], "step", at) in _reached and (mutant := mutate(random.Random(f"{seed} {lap} {at}"), insns, targets, at)) and mutant[3] not in seen:
                seen.add(mutant[3])
                made += 1
                yield mutant


def mutate(rng, insns, targets, at):
    """A mutant of an instruction, or None after 30 attempts."""
    code, isa, insn = _kernel.code, _kernel.isa, insns[at]
    md, nop = isa.decoder(), NOP[isa.MACHINE]
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
                continue  # the prover cannot decode it
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
    """Why the prover refuses _kernel in a call, or None."""
    try:
        proof.prove(_kernel, _shapes[i], None)
    except Unproved as e:
        return str(e)
    except STOPS as e:
        return f"stopped: {type(e).__name__}"
    return None


def results():
    """The memory after the last call, except arguments, scratch, constants and the stack, which lie below the key."""
    return {a: v for a, v in _calls[0].memory.cells.items() if a >= kernels.KEY}


def without(steps, at):
    """The decoded instructions, except those that a change at an address may affect."""
    return {a: s for a, s in steps.items() if not at - 16 < a < at + 32}


def most_steps(i):
    """The number of instructions after which a mutant counts as one that does not end."""
    return (200_000 if _kernel.bitwise else 60_000) if sets_up(_shapes[i]) else 3 * _steps[i] + SETS_UP[_kernel.bitwise]


def sets_up(shape):
    return isinstance(shape, packets.Setup) or getattr(shape, "mode", None) == modes.SETUP


class Forks:
    """One run of a call. At the instruction of a mutant, a child process continues with the mutant's code."""

    def __init__(self, i, those, was, until):
        self.i, self.was, self.until, self.number, self.found = i, was, until, None, {}
        self.places = collections.defaultdict(list)
        for n in those:
            self.places[_mutants[n][0]].append(n)

    def run(self):
        refuses(self.i)  # so that children find the kernel's terms
        forget_keys(lambda k: k[0] == _kernel.name)  # so that the call sets up its key
        program = self.program = _kernel.program()
        self.kept, program.steps = program.steps, dict(program.steps)
        for at in self.places:
            self.hook(at)
        try:
            why = refuses(self.i)
        except BaseException as e:
            if self.number is not None:  # a child ends here
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
        """Puts a branch before the first execution of an instruction. It goes to the same address in a child, as the
        mutant."""
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
        """Starts a child process, and waits for its result. Returns True in the child."""
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            self.number, self.end = n, theirs
            at, _, _, self.program.code = _mutants[n]
            steps = self.program.steps  # the dictionary that the run uses
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


def forget_keys(which):
    for keys in (packets._keys, modes._keys):
        for key in list(filter(which, keys)):
            del keys[key]


def as_mutant(i, n):
    """Why the prover refuses a mutant in a call, or None, or NO_TIME."""
    tidy()
    at, _, _, code = _mutants[n]
    kept = Code.LIMIT, _kernel.program(), _kernel.code
    mutant = Code(code, _kernel.isa.meaning)
    mutant.steps = without(kept[1].steps, at)
    limit(LONGER if _kernel.bitwise else SECONDS)
    Code.LIMIT, _kernel.steps, _kernel.code = most_steps(i), mutant, code
    try:
        return refuses(i)
    except TooLong:
        return NO_TIME
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        Code.LIMIT, _kernel.steps, _kernel.code = kept
        forget_keys(lambda k: k[1] is code)


def attempt(task):
    i, those, until = task
    return i, explore(i, those, None, until)


def explore(i, those, was, until):
    """Runs mutants in a call. Returns number -> None, why the prover refuses it, NOT_RUN or NO_TIME. `was` has the
    kernel's results or is None; with them, DIFFERS stands for a mutant that has other results without a refusal."""
    if not _kernel.bitwise:  # a child would cost more than the instructions before
        return {n: NOT_RUN if until and time.time() > until else as_mutant(i, n) for n in those}
    if until and time.time() > until:
        return dict.fromkeys(those, NOT_RUN)
    if was is None:  # `was` has terms that tidy() would forget
        tidy()
    return Forks(i, those, was, until).run()


def tries(at, most):
    """The calls in which a mutant runs first."""
    calls = [i for _, i in _reached[at]]
    if not _kernel.of_modes or most < TRIES:  # otherwise all calls of all modes
        near = calls if _kernel.of_modes else calls[:SHORT]
        calls = near[:most // 2] + near[most // 2::max(1, len(near) // (most // 2))]
    if _kernel.bitwise:  # comparing calls take seconds, and native.py --first has run those with other results
        compared, others = [i for i in calls if function(i)], [i for i in calls if not function(i)]
        calls = compared[:most // 2 if most == TRIES else 0] + others[:most // 2]
    return calls


def rounds(pool, numbers, most, until, tell):
    """Runs mutants in their first calls, until the prover refuses one: tell(number, why, call). Returns the mutants
    that it never refuses."""
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


# ---- The remaining mutants ------------------------------------------------------------------------------------------------

class Overlay:
    """Cells of memory on top of others, which do not change."""

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
    for r in other.memory.regions:  # input and output share a set of written bytes
        if r.stored is not None:
            r.stored = stored.setdefault(id(r.stored), set(r.stored))
    return other


def advance(program, machine, pc):
    """Executes one instruction. Returns the next address."""
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
    """Executes the instructions from `at` to `end`, at most two. Returns the next address."""
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
    """Whether two machines have the same state, except flags that the first leaves undefined."""
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
    """Whether a mutant has the kernel's state after its instruction, or some instructions later."""
    one, other = twin(machine), twin(machine)
    here = through(program, one, at, end)
    try:
        there = through(mutant, other, at, end)
        if here == there and same_state(one, other):
            return SAME
        for _ in range(soon):
            if here is None or there is None:
                break
            if here <= there:  # the lower address advances
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
    """Whether a mutant has the kernel's state for all contents of registers and flags; instructions that access
    memory do not count."""
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
    """Compares the states of mutants in one run of a call: number -> SAME, SAME_SOON or OTHER."""
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
        plainly(i, set())  # a trace makes the call set up its key again
    finally:
        program.steps = kept
    return found


def settle(task):
    """Examines mutants in a call that reaches them: number -> (SAME, SAME_SOON or OTHER; None or a refusal). Mutants
    without time are missing."""
    i, those, until = task
    those = [n for n in those if not _refused[n]]
    if not those or until and time.time() > until:
        return i, {}
    found = {n: (kind, None) for n, kind in look(i, those).items()}
    differ = [n for n in those if found[n][0] == OTHER and _proved[n] < (PROVED_BITWISE if _kernel.bitwise else PROVED)]
    if differ and (function(i) or not _kernel.bitwise):  # bit-sliced AES has new terms in each other call
        for n, why in explore(i, differ, None if function(i) else results(), until).items():
            if why == DIFFERS:  # then compare with the specification
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
    """explore() in a call that the prover compares with the specification."""
    i, those, until = task
    _kernel.asked = True
    try:
        return i, explore(i, [n for n in those if not _refused[n]], None, until)
    finally:
        _kernel.asked = False


def classify(pool_of, alive, until, tell):
    """Tells the class of each remaining mutant."""
    global _refused, _proved
    _refused, _proved = mmap.mmap(-1, len(_mutants)), mmap.mmap(-1, len(_mutants))  # shared by all processes
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
    # The mutants that no comparing call reaches.
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


def name_of(n):
    at, _, end, code = _mutants[n]
    return f"{at:x} {code[at:end].hex()}"


class Record:
    """The results of a kernel's mutants by name, in a file if there is one."""

    def __init__(self, path):
        self.path, self.known, self.seconds = path, {}, 0
        self.kernel = [str(_kernel), hashlib.sha256(_kernel.code + _kernel.constants).hexdigest()[:16]]
        if path and os.path.exists(path):
            with open(path) as f:
                for entry in map(json.loads, f):
                    if entry["kernel"] == self.kernel:
                        self.seconds += entry.get("seconds", 0)
                        self.known.update({entry["name"]: entry} if "name" in entry else {})

    def write(self, entry):
        if self.path:
            with open(self.path, "a") as f:
                f.write(json.dumps({"kernel": self.kernel, **entry}) + "\n")

    def add(self, n, kind, why, calls):
        entry = self.known[name_of(n)] = {"name": name_of(n), "what": _mutants[n][1], "kind": kind, "why": why, "calls": calls}
        self.write(entry)

    def missing(self):
        return [n for n in range(len(_mutants)) if name_of(n) not in self.known]


def of_kernel(path, args, until):
    """The numbers of a kernel's mutants: refused, same, undecided, not run."""
    global _mutants
    begun, used = time.time(), sum(os.times()[:4])
    begin(path, args.settle, args.calls)
    cover(multiprocessing.Pool)
    where = lambda n: f"{_kernel} at {_mutants[n][0]:#x}: {_mutants[n][1]}"
    if args.settle:
        print(f"     {_kernel}: {len(_reached)} instructions reached by {len(_shapes)} calls, {time.time() - begun:.0f} s", flush=True)
    _mutants = list(mutants(args.seed, args.count))
    record = Record(args.record)
    todo = record.missing()
    left_out, undecided, dead, done = [], [], [], 0

    def tell(n, why, i, kind="refused", calls=0):
        nonlocal done
        done += 1
        if why == NOT_RUN or why == NO_TIME and i is None and until and time.time() > until:
            left_out.append(n)
        else:
            record.add(n, "undecided" if why == NO_TIME else kind, why, calls)
            if why != NO_TIME and kind == "refused":
                dead.append((n, i))
        if done % 100 == 0 and len(todo) > 100:
            print(f"     {_kernel}: {done} of {len(todo)}, {time.time() - begun:.0f} s", flush=True)
    with multiprocessing.Pool() as pool:
        alive = rounds(pool, todo, TRIES_SETTLED if args.settle else TRIES, until, tell)
    if args.settle:
        if alive:
            print(f"     {_kernel}: {len(alive)} not refused at once, {time.time() - begun:.0f} s", flush=True)
            classify(multiprocessing.Pool, alive, until, tell)
        for n, i in dead[::max(1, len(dead) // CHECKED)] if not (until and time.time() > until) else ():
            if look(i, [n])[n] != OTHER:
                print(f"FAIL {where(n)}: refused in {_shapes[i]}, where its state is the kernel's")
                undecided.append(n)
    else:
        undecided += alive
        for n in sorted(undecided):
            print(f"     {where(n)}: not refused")
    seconds = sum(os.times()[:4]) - used  # of this process and those that have ended
    record.write({"seconds": round(seconds)})
    classes, reasons = collections.Counter(), collections.Counter()
    for n in range(len(_mutants)):
        if entry := record.known.get(name_of(n)):
            classes[entry["kind"]] += 1
            if entry["kind"] == "refused":
                reasons[kind_of_refusal(entry["why"])] += 1
            else:
                print(f"     {where(n)}: {entry['kind']}" + (f" ({entry['calls']} calls)" if entry["calls"] > 1 else ""))
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
    parser.add_argument("--settle", action="store_true", help="classify the mutants that the first calls do not refuse")
    parser.add_argument("--calls", type=int, default=0, help="with --settle, the most calls of a full run, always the same ones")
    parser.add_argument("--record", help="a file of results; its mutants do not run again")
    parser.add_argument("--least", type=int, default=0, help="the percentage that must be refused or the same, otherwise exit status 1")
    parser.add_argument("--seconds", type=int, default=0, help="the time for all kernels, in an order drawn from the seed")
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    paths = args.objects
    if args.seconds and len(paths) > 1:
        paths = [p for p in paths if not kernels.Kernel(p).bitwise]  # their calls take seconds
        random.Random(args.seed).shuffle(paths)
    until = args.seconds and time.time() + args.seconds
    counts = [of_kernel(path, args, until) for path in paths if not (until and time.time() > until)]
    refused, same, undecided, left_out = map(sum, zip(*counts))
    print(f"{refused} mutants refused, {same} shown to compute the same, {undecided} undecided, {left_out} not run, "
          f"{len(paths) - len(counts)} kernels not begun; seed {args.seed}")
    return 1 if 100 * (refused + same) < args.least * (refused + same + undecided) else 0
