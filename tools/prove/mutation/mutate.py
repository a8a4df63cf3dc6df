"""Mutants: kernels with one changed instruction, which the prover must refuse.

    mutation.mutate [--count N] [--seed S] [--calls N] [--seconds N] [--plant | --refuse] OBJECT...

A mutant differs from the kernel in one instruction. It lacks the instruction, has it exchanged with the next one, or
has one bit of its encoding inverted. That changes a register, constant, offset or operation. A mutant that the prover
cannot decode does not count.

Each mutant runs beside the kernel first (native.py), in a few calls of a full run that reach the instruction. If it
leaves other results, or does not end, the prover must refuse it in that very call. Otherwise the prover is wrong, and
the exit status is 1. The prover must not refuse the kernel itself in place of a mutant, and at least half of the mutants
must leave other results.

--plant is a prover that refuses nothing, --refuse one that refuses everything; both must fail.
"""
import argparse
import collections
import contextlib
import multiprocessing
import random
import signal
import sys
import tempfile
import time

from induction import sectioned
from isa import x86
from isa.code import STOPS, Code
from mutation.machine import Server
from mutation.native import Native
from run import kernels, lists, modes, packets
from spec import reduction
from values import terms
from values.terms import Unproved

TRIES = 24  # the most calls of a mutant beside the kernel
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


def length(code, pc):
    """Bytes of the instruction at an address. On MIPS, a branch has its delay slot."""
    isa = _kernel.isa
    if isa is x86:
        return next(isa.decoder().disasm(code[pc:pc + 16], pc)).size
    return 8 if isa.MACHINE == "EM_MIPS" and isa.fields(code, pc)[0] in isa.BRANCHES else 4


def mutants(seed, count):
    """(address, description, code) of each mutant. A smaller count gives the first mutants of a larger one."""
    steps = {pc: _kernel.isa.meaning(_kernel.code, pc) for pc in sorted(_reached)}
    places = [pc for pc, (_, after, _, text) in steps.items()
              if after is not None and text not in ("nop", "endbr64", "lfence")]
    seen = set()
    for lap in range(100):  # each lap changes each instruction once
        for at in random.Random(f"{seed} {lap}").sample(places, len(places)):
            if len(seen) == count:
                return
            mutant = mutate(random.Random(f"{seed} {lap} {at}"), at, steps[at][3])
            if mutant and mutant[2] not in seen:
                seen.add(mutant[2])
                yield mutant


def mutate(rng, at, text):
    """A mutant of an instruction, or None after 30 attempts."""
    code, isa = _kernel.code, _kernel.isa
    size, nop = length(code, at), NOP[isa.MACHINE]
    end = at + size
    for _ in range(30):
        kind, new = rng.random(), bytearray(code)
        if kind < 0.15:
            one = at if isa is x86 else rng.randrange(at, end, 4)
            n = size if isa is x86 else 4
            new[one:one + n] = nop * (n // len(nop))
            what = f"without {text}" + f", {one - at} bytes further" * (one > at)
        elif kind < 0.25:
            if end >= len(code):
                continue
            n = length(code, end)
            new[at:end + n] = code[end:end + n] + code[at:end]
            what = f"{text} behind what follows it"
        else:
            bit = rng.randrange(8 * size)
            new[at + bit // 8] ^= 1 << bit % 8
            try:
                other = isa.meaning(bytes(new), at)[3]
                if other == text or length(bytes(new), at) != size:
                    continue
            except (Unproved, *STOPS):
                continue  # the prover cannot decode it
            what = f"{other} for {text}"
        if new != code:
            return at, what, bytes(new)
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
    at, _, code = _mutants[n]
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


def calls_beside(at, differ):
    """The calls in which a mutant runs beside the kernel. Half are the shortest, half are drawn from those of at most three
    times as many instructions. If a key's set-up reaches the instruction, calls with keys of that length count too. Those in
    which other mutants differ come first."""
    reach = {i for _, i in _reached[at]}
    bits = {_shapes[i].bits for i in reach if sets_up(_shapes[i])}
    calls = sorted((_steps[i], i) for i, s in enumerate(_shapes)
                   if not sets_up(s) and (i in reach or bits and s.bits in bits and s.size))
    found, more = calls[:TRIES // 2], [c for c in calls[TRIES // 2:] if c[0] <= 3 * calls[0][0]]
    found += random.Random(at).sample(more, min(len(more), TRIES - len(found)))
    return [i for _, i in sorted(found, key=lambda c: (-len(differ.get(c[1], ())), c))]


class NoMachine(Exception):
    pass


def beside():
    """The first call in which each mutant leaves other results: call -> mutants. Some have no such call."""
    differ, kept = collections.defaultdict(list), {}
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Server(_kernel.isa, folder)) as server:
        native = Native(_kernel, server)
        for n, (at, _, code) in enumerate(_mutants):
            if n % 100 == 0:
                terms.forget()
            for i in calls_beside(at, differ):
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
    return differ


def itself(differ):
    """Why the prover refuses the kernel in place of a mutant, in the call in which most mutants differ; or None."""
    _mutants.append((0, "as it is", _kernel.code))
    return as_mutant(max(differ, key=lambda i: len(differ[i])), len(_mutants) - 1)


def of_kernel(path, args, until):
    """The numbers of a kernel's mutants: refused, errors of the prover, not run."""
    global _mutants
    begun = time.time()
    begin(path, args.calls)
    cover()
    _mutants = list(mutants(args.seed, args.count))
    try:
        differ = beside()
    except NoMachine:
        print(f"not run: {_kernel}, which does not come to its end on this machine")
        return 0, 0, len(_mutants)
    count, whys = sum(map(len, differ.values())), collections.Counter()
    for i, n, why in refusals(differ, until):
        whys[why] += 1
        if why is None:
            at, what, _ = _mutants[n]
            print(f"FAIL {_kernel} at {at:#x}: {what}: another result in {_shapes[i]}, not refused there", flush=True)
    wrong, left_out = whys[None], whys[NOT_RUN]
    refused = count - wrong - left_out
    print(f"{_kernel}: {refused} of {count} mutants refused where they leave something else, {left_out} not run; "
          f"{len(_mutants) - count} leave the same; {time.time() - begun:.0f} s", flush=True)
    if 2 * count < len(_mutants):
        wrong += 1
        print(f"FAIL {_kernel}: fewer than half of the mutants leave something else", flush=True)
    if differ and (why := itself(differ)) is not None:
        wrong += 1
        print(f"FAIL {_kernel}: refused in place of a mutant: {why}", flush=True)
    terms.forget()
    return refused, wrong, left_out


def main():
    global refuses
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100, help="the number of mutants of each kernel")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", type=int, default=60, help="the number of calls, drawn from a full run's")
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
    refused, wrong, left_out = map(sum, zip(*counts))
    print(f"{len(args.objects) - len(counts)} kernels not begun; seed {args.seed}")
    print(f"mutants: {refused} passed, {wrong} failed, {left_out} not run")
    return 1 if wrong or not refused + left_out else 0
