"""Mutants: kernels with one changed instruction, which the prover must refuse.

    mutation.mutate [--count N] [--seed S] [--calls N] [--tries N] [--least N] [--seconds N] [--plant | --refuse] OBJECT...

A mutant differs from the kernel in one instruction. It lacks the instruction, has it exchanged with the next one, or
has one bit of its encoding inverted. That changes a register, constant, offset or operation. A mutant that the prover
cannot decode does not count.

Each mutant runs beside the kernel first (native.py), in a few calls of a full run that reach the instruction. If it
leaves other results, or does not end, the prover must refuse it in that very call. Otherwise the prover is wrong, and
the exit status is 1. The prover must not refuse the kernel itself in place of a mutant. Mutants that leave the same
results run in a few calls of the prover. It may refuse them: for a missing wipe, or a branch on data.

--plant is a prover that refuses nothing, --refuse one that refuses everything; both must fail.
"""
import argparse
import collections
import contextlib
import multiprocessing
import random
import re
import signal
import sys
import tempfile
import time

from induction import sectioned
from induction.sections import Sectioned
from isa import x86
from isa.code import STOPS, Code
from mutation.machine import Server
from mutation.native import Native
from run import kernels, lists, modes, packets
from spec import reduction
from values import terms
from values.terms import Unproved

TRIES, TRIES_IN_SECTIONS = 8, 1  # calls of the prover for a mutant that leaves the same; for a kernel in sections
SECONDS = 60  # of CPU for a call
MORE = 60_000  # instructions than three times the kernel's until a mutant counts as endless
TOGETHER = 40  # mutants in one task
NOT_RUN = "not run"


class TooLong(Exception):
    pass


def too_long(*_):
    raise TooLong

_kernel = _shapes = _reached = _steps = _mutants = None


def begin(path, calls):
    """Draws the calls of a kernel, always the same ones, besides all set-ups of keys."""
    global _kernel, _shapes
    _kernel = sectioned.opened(path)
    found = list(lists.shapes(_kernel, False))
    chosen = set(random.Random(str(_kernel)).sample(range(len(found)), min(calls, len(found))))
    _shapes = [s for i, s in enumerate(found) if i in chosen or sets_up(s)]


def sets_up(shape):
    return isinstance(shape, packets.Setup) or getattr(shape, "mode", None) == modes.SETUP


def reach(i):
    """A call, the number of its instructions, and their addresses."""
    tidy()
    trace = set()
    return i, Native(_kernel).go(_shapes[i], i, _kernel.code, trace), trace


def cover():
    """Fills _reached: address -> (number of instructions, call) of the calls that reach it, the short ones first."""
    global _reached, _steps
    _reached, _steps = collections.defaultdict(list), {}
    with multiprocessing.Pool() as pool:
        for i, steps, found in pool.imap_unordered(reach, range(len(_shapes)), 16):
            _steps[i] = steps
            for pc in found:
                _reached[pc].append((steps, i))
    for found in _reached.values():
        found.sort()


def tidy():
    if len(terms.ATOMS) > terms.MANY:
        terms.forget()


# ---- Making them ---------------------------------------------------------------------------------------------------------

NOP = {"EM_X86_64": b"\x90", "EM_AARCH64": bytes.fromhex("1f2003d5"), "EM_ARM": bytes.fromhex("00f020e3"), "EM_RISCV": bytes.fromhex("13000000"),
       "EM_MIPS": bytes(4)}


class Insn:
    """An instruction of MIPS or RISC-V, because capstone does not decode all of them. step: the address of its step,
    which is the branch for a delay slot."""

    size = 4

    def __init__(self, isa, code, address):
        self.address = address
        self.mnemonic, self.fields = isa.fields(code, address)
        self.op_str = ", ".join(f"{k} {v}" for k, v in self.fields.items())
        self.step = self.last = address


def step_of(insn):
    return insn.step if isinstance(insn, Insn) else insn.address


def listing():
    """Address -> instruction."""
    isa, kernel = _kernel.isa, _kernel
    if isa.MACHINE not in ("EM_MIPS", "EM_RISCV"):
        return {i.address: i for i in isa.decoder().disasm(kernel.code, 0)}
    found = {a: Insn(isa, kernel.code, a) for a in range(0, len(kernel.code), 4)}
    for a, insn in found.items() if isa.MACHINE == "EM_MIPS" else ():
        if (insn.mnemonic in isa.BRANCHES or insn.mnemonic in ("jr", "jal", "jalr")) and a + 4 in found:
            found[a + 4].step, insn.last = a, a + 4
    return found


def accesses(insn):
    """The registers that an instruction reads, and those that it writes. Except on x86-64 these are the first of its text or
    fields, unless it stores or compares."""
    if _kernel.isa is x86:  # parts of a register stand for the register
        whole = lambda n: n[1:] if n[1:3] == "mm" else x86.GENERAL[n][0] if n in x86.GENERAL else n
        return [set(map(whole, map(insn.reg_name, found))) for found in insn.regs_access()]
    if isinstance(insn, Insn):
        found, no_result = [(f in "xyz", insn.fields[f]) for f in "dxtsyz" if f in insn.fields], ("sb", "sw", "sd", "vse", "vss")
        product = ["product"] * (insn.mnemonic in ("multu", "maddu", "dmultu", "mflo", "mfhi"))
        found = found + product if insn.mnemonic.startswith("mf") else product + found
    else:
        found, no_result = [n.lstrip("wx") for n in re.findall(r"\b[a-z]\w*", insn.op_str)], ("st", "vst", "cmp", "tst", "ccmp")
    writes = 0 if insn.mnemonic.startswith(no_result) else 1
    return set(found[writes:]), set(found[:writes])


def related(first, second):
    """Whether one of two instructions writes a register that the other reads or writes."""
    (reads, writes), (reads_then, writes_then) = accesses(first), accesses(second)
    return bool(writes & (reads_then | writes_then) or writes_then & reads)


def mutants(seed, count):
    """(address, description, end, code) of each mutant. A smaller count gives the first mutants of a larger one."""
    insns = listing()
    places = [a for a, i in insns.items() if i.mnemonic not in ("endbr64", "nop", "lfence", "ret", "bx", "jr", "jalr")]
    seen = set()
    for lap in range(100):  # each lap changes each instruction once
        for at in random.Random(f"{seed} {lap}").sample(places, len(places)):
            if len(seen) == count:
                return
            mutant = step_of(insns[at]) in _reached and mutate(random.Random(f"{seed} {lap} {at}"), insns, at)
            if mutant and mutant[3] not in seen:
                seen.add(mutant[3])
                yield mutant


def mutate(rng, insns, at):
    """A mutant of an instruction, or None after 30 attempts."""
    code, isa, insn = _kernel.code, _kernel.isa, insns[at]
    md, nop = isa.decoder(), NOP[isa.MACHINE]
    begin, last = step_of(insn), insn.last if isinstance(insn, Insn) else at
    for _ in range(30):
        kind = rng.random()
        new, end = bytearray(code), last + insn.size
        if kind < 0.15:
            new[at:at + insn.size] = nop * (insn.size // len(nop))
            what = f"without {insn.mnemonic} {insn.op_str}"
        elif kind < 0.25:
            after = insns.get(at + insn.size)
            if after is None or not related(insn, after):
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
            if other is None or other.size != insn.size or (other.mnemonic, other.op_str) == (insn.mnemonic, insn.op_str):
                continue
            try:
                isa.meaning(bytes(new), begin)
            except (Unproved, *STOPS):
                continue  # the prover cannot decode it
            what = f"{other.mnemonic} {other.op_str} for {insn.mnemonic} {insn.op_str}"
        if new != code:
            return begin, what, end, bytes(new)
    return None


# ---- Trying them ---------------------------------------------------------------------------------------------------------

def refuses(i):
    """Why the prover refuses _kernel in a call, or None."""
    try:
        sectioned.prove(_kernel, _shapes[i])
    except Unproved as e:
        return str(e)
    except STOPS as e:
        return f"stopped: {type(e).__name__}"
    return None


def as_mutant(i, n):
    """Why the prover refuses a mutant in a call, or None, or NOT_RUN."""
    tidy()
    at, _, _, code = _mutants[n]
    kept = Code.LIMIT, _kernel.program(), _kernel.code
    mutant = Code(code, _kernel.isa.meaning)
    mutant.steps = {a: s for a, s in kept[1].steps.items() if not at - 16 < a < at + 32}
    signal.signal(signal.SIGVTALRM, too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    Code.LIMIT, _kernel.steps, _kernel.code = 3 * _steps[i] + MORE, mutant, code
    try:
        return refuses(i)
    except TooLong:
        return NOT_RUN
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        Code.LIMIT, _kernel.steps, _kernel.code = kept
        for key in [k for k in kernels._keys if k[1] is code]:
            del kernels._keys[key]


def attempt(task):
    """The mutants of a task, and why the prover refuses each in that call."""
    i, those, until = task
    return i, {n: NOT_RUN if until and time.time() > until else as_mutant(i, n) for n in those}


def refusals(of_call, until):
    """(call, mutant, why the prover refuses it) of all mutants. of_call: call -> mutants."""
    tasks = [(i, of_call[i][j:j + TOGETHER], until) for i in sorted(of_call, key=_steps.get) for j in range(0, len(of_call[i]), TOGETHER)]
    with multiprocessing.Pool() as pool:
        for i, found in pool.imap_unordered(attempt, tasks):
            for n, why in found.items():
                yield i, n, why


def calls_beside(at, differ, tries):
    """The calls in which a mutant runs beside the kernel. Half are the shortest, half are drawn from those of at most three
    times as many instructions. If a key's set-up reaches the instruction, calls with keys of that length count too. Those in
    which other mutants differ come first."""
    reach = {i for _, i in _reached[at]}
    bits = {_shapes[i].bits for i in reach if sets_up(_shapes[i])}
    calls = sorted((_steps[i], i) for i, s in enumerate(_shapes)
                   if not sets_up(s) and (i in reach or bits and s.bits in bits and s.size))
    found, more = calls[:tries // 2], [c for c in calls[tries // 2:] if c[0] <= 3 * calls[0][0]]
    found += random.Random(at).sample(more, min(len(more), tries - len(found)))
    return [i for _, i in sorted(found, key=lambda c: (-len(differ.get(c[1], ())), c))]


class NoMachine(Exception):
    pass


def beside(tries):
    """The first call in which each mutant leaves other results: call -> mutants; and the mutants without such a call."""
    differ, same, kept = collections.defaultdict(list), [], {}
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Server(_kernel.isa, folder)) as server:
        native = Native(_kernel, server)
        for n, (at, _, _, code) in enumerate(_mutants):
            if n % 100 == 0:
                terms.forget()
            for i in calls_beside(at, differ, tries):
                run = lambda code, i=i: native.results(_shapes[i], i, code)
                if i not in kept:
                    kept[i] = run(_kernel.code)
                    if kept[i] is None:
                        raise NoMachine
                    if run(_kernel.code) != kept[i]:
                        raise SystemExit(f"{_kernel}: not twice the same: {_shapes[i]}")
                if run(code) != kept[i]:
                    differ[i].append(n)
                    break
            else:
                same.append(n)
    return differ, same


def itself(differ):
    """Why the prover refuses the kernel in place of a mutant, in the call in which most mutants differ; or None."""
    _mutants.append((0, "as it is", 0, _kernel.code))
    return as_mutant(max(differ, key=lambda i: len(differ[i])), len(_mutants) - 1)


def of_kernel(path, args, until):
    """The numbers of a kernel's mutants: refused, errors of the prover, others, not run."""
    global _mutants
    begun = time.time()
    begin(path, args.calls)
    cover()
    _mutants = list(mutants(args.seed, args.count))
    try:
        differ, same = beside(args.tries)
    except NoMachine:
        print(f"not run: {_kernel}, which does not come to its end on this machine")
        return 0, 0, 0, len(_mutants)
    where = lambda n: f"{_kernel} at {_mutants[n][0]:#x}: {_mutants[n][1]}"
    wrong = left_out = 0
    for i, n, why in refusals(differ, until):
        left_out += why == NOT_RUN
        if why is None:
            wrong += 1
            print(f"FAIL {where(n)}: another result in {_shapes[i]}, where it is not refused", flush=True)
    good = len(_mutants) - len(same) - wrong - left_out
    calls = collections.defaultdict(list)
    for n in same:
        for _, i in _reached[_mutants[n][0]][:TRIES_IN_SECTIONS if isinstance(_kernel, Sectioned) else TRIES]:
            calls[i].append(n)
    too = {n for _, n, why in refusals(calls, until) if why not in (None, NOT_RUN)}
    for n in sorted(set(same) - too):
        print(f"     {where(n)}: the same, and not refused")
    print(f"{_kernel}: {good} of {len(_mutants) - len(same)} mutants refused in a call in which they leave something else, {left_out} not run; "
          f"{len(same)} leave the same, of which {len(too)} are refused; {time.time() - begun:.0f} s", flush=True)
    if 2 * len(same) > len(_mutants):
        wrong += 1
        print(f"FAIL {_kernel}: fewer than half of the mutants leave something else", flush=True)
    if differ and (why := itself(differ)) is not None:
        wrong += 1
        print(f"FAIL {_kernel}: refused in place of a mutant: {why}", flush=True)
    terms.forget()
    return good + len(too), wrong, len(same) - len(too), left_out


def main():
    global refuses
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100, help="the number of mutants of each kernel")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", type=int, default=60, help="the number of calls, drawn from a full run's")
    parser.add_argument("--tries", type=int, default=24, help="the most calls of a mutant beside the kernel")
    parser.add_argument("--least", type=int, default=0, help="the percentage that must be refused, otherwise exit status 1")
    parser.add_argument("--seconds", type=int, default=0, help="the time for all kernels, in an order drawn from the seed")
    parser.add_argument("--plant", action="store_true", help="a prover that refuses nothing")
    parser.add_argument("--refuse", action="store_true", help="a prover that refuses everything")
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    sys.setrecursionlimit(20000)
    reduction.EFFORT = 100_000_000  # beyond it the prover refuses
    if args.plant or args.refuse:
        refuses = lambda i: "planted" if args.refuse else None
    if args.seconds:
        random.Random(args.seed).shuffle(args.objects)
    until = args.seconds and time.time() + args.seconds
    counts = [of_kernel(path, args, until) for path in args.objects if not (until and time.time() > until)]
    refused, wrong, others, left_out = map(sum, zip(*counts))
    print(f"{others} others leave the same; {len(args.objects) - len(counts)} kernels not begun; seed {args.seed}")
    print(f"mutants: {refused} passed, {wrong} failed, {left_out} not run")
    return 1 if wrong or 100 * refused < args.least * (refused + wrong + others) or not refused + left_out else 0
