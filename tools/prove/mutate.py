"""Mutants: kernels with one instruction changed, which the prover must refuse.

    mutate.py [--count N] [--seed S] [--more N] OBJECT...

A mutant has one instruction of a kernel with another register, another constant, another offset or another operation (a
bit of its encoding turned over), dropped (as a carry or a wipe that was forgotten), or exchanged with the next. It is run
for calls that reach the instruction, until one is refused, and if none is for N short ones drawn from a full run. What is
refused for none is listed: it is equivalent, or wrong for other calls only, or else a fault of the prover.
"""
import argparse
import collections
import multiprocessing
import os
import random
import re
import signal
import sys
import time

import arm32
import arm64
import capstone
import common
import kernels
import modes
import prove
import reduction
import terms
import x86
from capstone import x86_const as X
from terms import Unproved

TRIES = 8  # calls that a mutant is run for, at most
MOST = 400  # bytes of text of those of a full run
SECONDS = 30  # of processor's time for a mutant; one that takes longer has not been decided, and counts as not refused


class TooLong(Exception):
    pass


def too_long(*_):
    raise TooLong

_kernel = _shapes = _reached = _more = None


def begin(path, more=0):
    global _kernel, _shapes, _reached, _more
    sys.setrecursionlimit(20000)
    common.Code.LIMIT = 60_000
    _kernel = kernels.Kernel(path)
    _shapes = modes.shapes(_kernel, True) if _kernel.of_modes else kernels.shapes(_kernel, True)
    size = lambda s: sum(n for n, _ in s.lanes) if isinstance(s, kernels.BatchShape) else getattr(s, "size", 0)
    _more = [s for s in kernels.shapes(_kernel, False) if size(s) <= MOST] if more else []
    _more = random.Random(str(_kernel)).sample(_more, min(more, len(_more)))
    _reached = collections.defaultdict(list)  # address -> the calls that reach it, shortest first
    for shape in _shapes:
        trace = set()
        steps = kernels.run(_kernel, shape, trace)
        for pc in trace:
            _reached[pc].append((steps, len(_reached[pc]), shape))
    for found in _reached.values():
        found.sort(key=lambda t: t[:2])


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


NOP = {x86: b"\x90", arm64: bytes.fromhex("1f2003d5"), arm32: bytes.fromhex("00f020e3")}


def branches(insn):
    """Also what cannot follow another instruction than its own."""
    return insn.mnemonic.startswith(("j", "b.", "cb", "tb")) or insn.mnemonic in ("ret", "bx") or \
        (_kernel.isa is not x86 and insn.mnemonic.startswith("b") and not insn.mnemonic.startswith(("bi", "bsl")))


def dependent(first, second):
    """Whether the second of two instructions of ARM reads the first register that the first names, and that is not a store."""
    register = re.match(r"[^,\[{]*", first.op_str)[0].strip().split(".")[0]
    return bool(register) and not first.mnemonic.startswith(("st", "vst", "cmp", "tst", "ccmp")) and \
        register.lstrip("wx") in [t.lstrip("wx") for t in re.split(r"\W+", second.op_str.partition(",")[2])] and register[0] not in "#{["


def mutants(rng, count):
    """(address, what was done, code)"""
    code, isa = _kernel.code, _kernel.isa
    md, nop = isa.decoder(), NOP[isa]
    insns = {i.address: i for i in md.disasm(code, 0) if i.address in _reached}
    places = [a for a, i in insns.items() if i.mnemonic not in ("endbr64", "nop", "lfence", "ret", "bx")]
    made, seen = 0, set()
    while made < count:
        at = rng.choice(places)
        insn = insns[at]
        kind = rng.random()
        new = bytearray(code)
        if kind < 0.15:
            new[at:at + insn.size] = nop * (insn.size // len(nop))
            what = f"without {insn.mnemonic} {insn.op_str}"
        elif kind < 0.25 and at + insn.size in insns and not branches(insn):
            after = insns[at + insn.size]
            if branches(after) or (independent(insn, after) if isa is x86 else not dependent(insn, after)):
                continue
            both = code[at:at + insn.size], code[after.address:after.address + after.size]
            new[at:after.address + after.size] = both[1] + both[0]
            what = f"{insn.mnemonic} {insn.op_str} behind {after.mnemonic} {after.op_str}"
        else:
            bit = rng.randrange(8 * insn.size)
            new[at + bit // 8] ^= 1 << bit % 8
            other = next(md.disasm(bytes(new[at:at + 16]), at), None)
            if other is None or other.size != insn.size or other.mnemonic in ("syscall", "int3", "hlt") or \
                    (other.mnemonic == insn.mnemonic and other.op_str == insn.op_str):
                continue
            if isa is not x86:
                try:
                    isa.meaning(bytes(new), at)
                except (Unproved, ValueError, KeyError, IndexError, TypeError, AttributeError):
                    continue  # not an instruction that the prover knows: refused at once
            elif other.mnemonic == insn.mnemonic in ("rol", "ror") and insn.operands[1].type == other.operands[1].type == X.X86_OP_IMM \
                    and insn.operands[0].reg == other.operands[0].reg and (insn.operands[1].imm - other.operands[1].imm) % 32 == 0:
                continue  # the same rotation
            what = f"{other.mnemonic} {other.op_str} for {insn.mnemonic} {insn.op_str}"
        new = bytes(new)
        if new == code or new in seen:
            continue
        seen.add(new)
        made += 1
        yield at, what, new


NOT_RUN = "not run"


def try_one(task):
    """How the mutant was refused, or None; or that its time did not come."""
    at, what, code, until = task
    if until and time.time() > until:
        return at, what, NOT_RUN
    if len(terms.ATOMS) > 400_000:
        terms.forget()
    original = _kernel.steps
    mutant = common.Code(code, _kernel.isa.meaning)
    mutant.steps = {a: s for a, s in original.steps.items() if not at - 16 < a < at + 32}
    _kernel.steps, _kernel.code = mutant, code
    calls = [shape for _, _, shape in _reached[at]]
    # The shortest calls, and some of all; where calls are of many modes, all.
    calls = calls if _kernel.of_modes else calls[:TRIES // 2] + calls[TRIES // 2::max(1, len(calls) // (TRIES // 2))]
    signal.signal(signal.SIGVTALRM, too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    reduction.TIMEOUT = 5  # what a solver cannot say in this time is not shown, hence refused
    try:
        for shape in calls + _more:
            try:
                kernels.prove(_kernel, shape, None)
            except Unproved as e:
                return at, what, str(e)
            except (RecursionError, AssertionError, ValueError, IndexError, KeyError, TypeError, AttributeError) as e:
                return at, what, f"stopped: {type(e).__name__}"
    except TooLong:
        return at, what + " (too slow to decide)", None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        _kernel.steps, _kernel.code = original, original.code
    return at, what, None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--more", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--least", type=int, default=0, help="per cent that must be refused, else exit status 1")
    parser.add_argument("--seconds", type=int, default=0, help="of all kernels together, after which no mutant begins")
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    refused = survived = left_out = 0
    first = time.time()
    for number, path in enumerate(args.objects, 1):
        begun = time.time()
        until = args.seconds and first + args.seconds * number / len(args.objects)
        if not kernels.Kernel(path).specified:
            continue
        begin(path, args.more)
        tasks = [(*mutant, until) for mutant in mutants(random.Random(args.seed), args.count)]
        alive, not_run = [], 0
        reasons = collections.Counter()
        with multiprocessing.Pool(args.jobs) as pool:
            for done, (at, what, error) in enumerate(pool.imap_unordered(try_one, tasks, 4), 1):
                if done % 100 == 0 and done < len(tasks):
                    print(f"     {_kernel}: {done} of {len(tasks)}, {len(alive)} not refused, {time.time() - begun:.0f} s", flush=True)
                if error is None:
                    alive.append((at, what))
                elif error == NOT_RUN:
                    not_run += 1
                else:
                    reasons["stopped by an error of the prover's own" if error.startswith("stopped") else
                            "another result" if "specification" in error or "tag" in error or "solver" in error else
                            "a secret left" if "still depends" in error else
                            "memory" if "bytes at" in error or "aligned" in error else
                            "a branch, address or count on data" if "depends on" in error else "otherwise"] += 1
        for at, what in sorted(alive):
            print(f"     {_kernel} at {at:#x}: {what}: not refused")
        tried = len(tasks) - not_run
        print(f"{_kernel}: {tried - len(alive)} of {tried} mutants refused ("
              + ", ".join(f"{r}: {n}" for r, n in reasons.most_common()) + f"), {not_run} not run, {time.time() - begun:.0f} s", flush=True)
        refused, survived, left_out = refused + tried - len(alive), survived + len(alive), left_out + not_run
        terms.forget()
    print(f"{refused} mutants refused, {survived} not, {left_out} not run; seed {args.seed}")
    return 1 if 100 * refused < args.least * (refused + survived) else 0


if __name__ == "__main__":
    sys.exit(main())
