"""Mutants: kernels with one instruction changed, which the prover must refuse.

    mutate.py [--count N] [--seed S] OBJECT...

A mutant has one instruction of a kernel with another register, another constant, another offset or another operation (a
bit of its encoding turned over), dropped (as a carry or a wipe that was forgotten), or exchanged with the next. It is run
for calls that reach the instruction, until one is refused. What is refused for none is listed: it is equivalent, or
else a fault of the prover.
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
import prove
import reduction
import terms
import x86
from capstone import x86_const as X
from terms import Unproved

TRIES = 8  # calls that a mutant is run for, at most
SECONDS = 30  # for a mutant; one that takes longer has not been decided, and counts as not refused


class TooLong(Exception):
    pass


def too_long(*_):
    raise TooLong

_kernel = _shapes = _reached = _tests = None


def begin(path):
    global _kernel, _shapes, _reached
    sys.setrecursionlimit(20000)
    common.Code.LIMIT = 60_000
    _kernel = kernels.Kernel(path)
    _shapes = kernels.shapes(_kernel, True)
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


def try_one(task):
    """How the mutant was refused, or None."""
    at, what, code = task
    if len(terms.ATOMS) > 400_000:
        terms.forget()
    original = _kernel.steps
    mutant = common.Code(code, _kernel.isa.meaning)
    mutant.steps = {a: s for a, s in original.steps.items() if not at - 16 < a < at + 32}
    _kernel.steps, _kernel.code = mutant, code
    calls = [shape for _, _, shape in _reached[at]]
    # The shortest calls, and some of all; where calls are of many modes, all.
    calls = calls if _kernel.of_modes else calls[:TRIES // 2] + calls[TRIES // 2::max(1, len(calls) // (TRIES // 2))]
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(SECONDS)
    reduction.TIMEOUT = 5  # what a solver cannot say in this time is not shown, hence refused
    try:
        for shape in calls:
            try:
                kernels.prove(_kernel, shape, None)
            except Unproved as e:
                return at, what, str(e)
            except (RecursionError, AssertionError, ValueError, IndexError, KeyError, TypeError, AttributeError) as e:
                return at, what, f"stopped: {type(e).__name__}"
    except TooLong:
        return at, what + " (too slow to decide)", None
    finally:
        signal.alarm(0)
        _kernel.steps, _kernel.code = original, original.code
    return at, what, None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--least", type=int, default=0, help="per cent that must be refused, else exit status 1")
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    refused = survived = 0
    for path in args.objects:
        begun = time.time()
        if not kernels.Kernel(path).specified:
            continue
        begin(path)
        tasks = list(mutants(random.Random(args.seed), args.count))
        alive = []
        reasons = collections.Counter()
        with multiprocessing.Pool(args.jobs) as pool:
            for at, what, error in pool.imap_unordered(try_one, tasks, 4):
                if error is None:
                    alive.append((at, what))
                else:
                    reasons["stopped by an error of the prover's own" if error.startswith("stopped") else
                            "another result" if "specification" in error or "tag" in error or "solver" in error else
                            "a secret left" if "still depends" in error else
                            "memory" if "bytes at" in error or "aligned" in error else
                            "a branch, address or count on data" if "depends on" in error else "otherwise"] += 1
        for at, what in sorted(alive):
            print(f"     {_kernel} at {at:#x}: {what}: not refused")
        print(f"{_kernel}: {len(tasks) - len(alive)} of {len(tasks)} mutants refused ("
              + ", ".join(f"{r}: {n}" for r, n in reasons.most_common()) + f"), {time.time() - begun:.0f} s", flush=True)
        refused, survived = refused + len(tasks) - len(alive), survived + len(alive)
        terms.forget()
    print(f"{refused} mutants refused, {survived} not")
    return 1 if 100 * refused < args.least * (refused + survived) else 0


if __name__ == "__main__":
    sys.exit(main())
