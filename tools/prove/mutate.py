"""Mutants: kernels with one instruction changed, which the prover must refuse.

    mutate.py [--count N] [--seed S] [--settle] OBJECT...

A mutant has one instruction of a kernel with another register, another constant, another offset or another operation (a
bit of its encoding turned over), dropped (as a carry or a wipe that was forgotten), or exchanged with the next. It is run
for a few short calls that reach the instruction, until one is refused: of a quick run's calls, or with --settle of a full
run's. With --settle, those that are refused for none are then looked at in every call of a full run that reaches them:

    no difference   whatever the registers are: the same instruction in another encoding, or two that change nothing
    same state      registers, flags and memory behind the instruction are the same in all these calls
    same results    where they are not, text, tag and state come out as the same terms: what differs is dead
    specified       where not even that, all of the specification still holds
    refused         one of these calls is refused, after all
    undecided       there was no time to say

The first four compute what the kernel computes, the first for all calls, the others for all that were run. What is
listed as "same state" of an instruction that looks at lengths may show that calls are missing in the full run.
"""
import argparse
import array
import collections
import copy
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
import memory
import modes
import reduction
import terms
import x86
from capstone import x86_const as X
from terms import Unproved, symbol

TRIES = 8  # calls that a mutant is run for first
SHORT = 60  # of the calls that reach it, from how many of the shortest these are
SECONDS = 30  # of processor's time for them; a mutant that takes longer has not been decided
SETTLE = 90  # and for the rest of a full run
CHECKED = 10  # of the refused, how many must differ where those that are not are looked at
STOPS = (RecursionError, AssertionError, ValueError, IndexError, KeyError, TypeError, AttributeError)


class TooLong(Exception):
    pass


def too_long(*_):
    raise TooLong


def limit(seconds):
    signal.signal(signal.SIGVTALRM, too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)


_kernel = _shapes = _reached = _survivors = _reaching = None
_calls = []  # what kernels.run has run


def remember(call, trace=None, run=kernels.Call.run):
    _calls[:] = [call]
    return run(call, trace)


def begin(path, full, every):
    global _kernel, _shapes
    sys.setrecursionlimit(20000)
    common.Code.LIMIT = 60_000
    reduction.EFFORT = 100_000_000  # what the solver cannot say then is not shown, hence refused
    kernels.Call.run = remember
    _kernel = kernels.Kernel(path)
    _shapes = list(kernels.shapes(_kernel, False))[::every] if full else \
        modes.shapes(_kernel, True) if _kernel.of_modes else kernels.shapes(_kernel, True)


def reach(i):
    """The instructions of a call and where they are."""
    tidy()
    trace = set()
    return i, kernels.run(_kernel, _shapes[i], trace), array.array("I", sorted(trace)).tobytes()


def cover(pool_of):
    """_reached: address -> (instructions, number) of the calls that reach it, shortest first; those that compare first."""
    global _reached
    _reached = collections.defaultdict(list)
    with pool_of() as pool:
        for i, steps, found in pool.imap_unordered(reach, range(len(_shapes)), 16):
            for pc in array.array("I", found):
                _reached[pc].append((steps, i))
    for found in _reached.values():
        found.sort(key=lambda t: (_kernel.bitwise and not getattr(_shapes[t[1]], "function", False), t))


def tidy():
    if len(terms.ATOMS) > 400_000:
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


def mutants(rng, count, only):
    """(address, what was done, where that ends, code)"""
    code, isa = _kernel.code, _kernel.isa
    md, nop = isa.decoder(), NOP[isa]
    insns = {i.address: i for i in md.disasm(code, 0) if i.address in _reached}
    targets = {int(m[1], 0) for i in md.disasm(code, 0) if branches(i) and (m := re.search(r"#?(0x[0-9a-f]+)$", i.op_str))}
    places = [a for a, i in insns.items() if i.mnemonic not in ("endbr64", "nop", "lfence", "ret", "bx") and (not only or a in only)]
    made, seen = 0, set()
    for _ in range(100 * count):  # of few instructions there may be fewer
        if made == count:
            break
        at = rng.choice(places)
        insn = insns[at]
        kind = rng.random()
        new, end = bytearray(code), at + insn.size
        if kind < 0.15:
            new[at:at + insn.size] = nop * (insn.size // len(nop))
            what = f"without {insn.mnemonic} {insn.op_str}"
        elif kind < 0.25 and at + insn.size in insns and not branches(insn):
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
        yield at, what, end, new

# ---- Trying them ---------------------------------------------------------------------------------------------------------

NOT_RUN, NO_TIME = "not run", "not looked at further: no time"


def refuses(i):
    """Why the kernel as it is now is refused in a call, or None."""
    try:
        kernels.prove(_kernel, _shapes[i], None)
    except Unproved as e:
        return str(e)
    except STOPS as e:
        return f"stopped: {type(e).__name__}"
    return None


class Changed:
    """The kernel is the mutant for a while."""

    def __init__(self, at, code):
        self.mutant, original = common.Code(code, _kernel.isa.meaning), _kernel.program()
        self.mutant.steps = {a: s for a, s in original.steps.items() if not at - 16 < a < at + 32}
        self.code = code

    def __enter__(self):
        self.kept = _kernel.steps, _kernel.code
        _kernel.steps, _kernel.code = self.mutant, self.code

    def __exit__(self, *_):
        _kernel.steps, _kernel.code = self.kept


def try_one(task):
    """(address, what was done, the end of it, code, how it was refused, or None; or that its time did not come)"""
    *mutant, until = task
    at, _, _, code = mutant
    if until and time.time() > until:
        return *mutant, NOT_RUN
    tidy()
    calls = [i for _, i in _reached[at]]
    if not _kernel.of_modes:  # which has calls of many modes
        near = calls[:SHORT]
        calls = near[:TRIES // 2] + near[TRIES // 2::max(1, len(near) // (TRIES // 2))]
    limit(SECONDS)
    try:
        with Changed(at, code):
            return *mutant, next(((i, why) for i in calls if (why := refuses(i))), None)
    except TooLong:
        return *mutant, None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


# ---- What is left --------------------------------------------------------------------------------------------------------

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
    other.memory = copy.copy(machine.memory)
    other.memory.cells = Overlay(machine.memory.cells)
    return other


def through(program, machine, at, end):
    """Runs what lies between, at most two instructions; where it goes on."""
    pc = at
    for _ in range(2):
        if pc is None or not at <= pc < end:
            break
        step = program.steps.get(pc)
        if step is None:
            step = program.steps[pc] = program.meaning(program.code, pc)
        f, pc, branch, _ = step
        if f is not None:
            f(machine)
        elif branch is not None and common.known(branch[0](machine), "a branch"):
            pc = branch[1]
    return pc


def alike(a, b):
    return a is b or isinstance(a, (list, tuple)) and len(a) == len(b) and all(map(alike, a, b))


def flags(machine):
    return (machine.flag_zero(), machine.flag_sign()) if _kernel.isa is x86 else (machine.zero(), machine.negative())


def same_state(one, other):
    """Whether two machines are in the same state. What one leaves undefined, no proof of it has looked at."""
    for name, v in vars(one).items():
        if name in ("memory", "steps", "result") or v is None and name in ("carry", "overflow"):
            continue
        if not alike(v, getattr(other, name)):
            return False
    if one.result is not None and one.result is not other.result and (other.result is None or not alike(flags(one), flags(other))):
        return False
    cells = one.memory.cells, other.memory.cells
    return all(cells[0].get(a) is cells[1].get(a) for a in {*cells[0].own, *cells[1].own})


def differs(program, mutant, machine, at, end):
    one, other = twin(machine), twin(machine)
    there = through(program, one, at, end)
    try:
        return through(mutant, other, at, end) != there or not same_state(one, other)
    except (Unproved, *STOPS):
        return True


def any_state(at, end, code):
    """Whether a mutant is the same in every state of the machine: one of symbols, but for memory."""
    kernels.mode(False, False)
    isa, machine = _kernel.isa, _kernel.isa.Machine(memory.Memory())

    def symbols(v, name):
        if isinstance(v, (list, tuple)):
            return type(v)(symbols(x, f"{name}.{i}") for i, x in enumerate(v))
        return symbol(name, v.width)
    for name, v in list(vars(machine).items()):
        if isinstance(v, list):
            setattr(machine, name, symbols(v, name))
    machine.carry, machine.overflow, machine.result = symbol("carry", 1), symbol("overflow", 1), symbol("result", isa.POINTER)
    try:
        return not differs(common.Code(_kernel.code, isa.meaning), common.Code(code, isa.meaning), machine, at, end)
    except (Unproved, *STOPS):
        return False


def look(i):
    """Of a call: the survivors that leave another state behind them. One run for all of them."""
    tidy()
    program, found = _kernel.program(), set()
    kept, changed = program.steps, collections.defaultdict(list)
    for n, (at, _, end, code) in enumerate(_survivors):
        if n in _reaching[i]:
            changed[at].append((n, end, common.Code(code, _kernel.isa.meaning)))
    original = common.Code(_kernel.code, _kernel.isa.meaning)
    original.steps, program.steps = kept, dict(kept)
    for at, those in changed.items():
        f, after, branch, text = kept[at] if at in kept else program.meaning(program.code, at)

        def watch(m, at=at, those=those):
            for n, end, mutant in those:
                if n not in found and differs(original, mutant, m, at, end):
                    found.add(n)
        if f is not None:
            program.steps[at] = (lambda m, f=f, watch=watch: (watch(m), f(m))), after, branch, text
        else:
            condition, target = branch or (lambda m: terms.const(1, 1), after)
            program.steps[at] = None, after, (lambda m, c=condition, watch=watch: (watch(m), c(m))[1], target), text
    try:
        kernels.run(_kernel, _shapes[i], set())
    finally:
        program.steps = kept
    return i, found


RESULTS = kernels.KEY  # what lies below: arguments, scratch, constants; and the stack


def results(i):
    """What a call leaves in memory that is not scratch."""
    kernels.run(_kernel, _shapes[i], set())
    stack = kernels.STACK
    return {a: v for a, v in _calls[0].memory.cells.items() if a >= RESULTS and not stack - _kernel.isa.STACK_BYTES <= a < stack}


def settle(task):
    """Of a survivor and the calls in which it leaves another state: its class, and in how many calls what was shown."""
    n, calls = task
    at, _, end, code = _survivors[n]
    if not calls:
        return n, "no difference" if any_state(at, end, code) else "same state", len(_reached[at])
    limit(SETTLE)
    rest, done = [], 0
    try:
        for i in calls:
            tidy()
            was = results(i)
            with Changed(at, code):
                try:
                    same = results(i) == was
                except (Unproved, *STOPS):
                    same = False
            if not same:
                rest.append(i)
        if not rest:
            return n, "same results", len(calls)
        asked, _kernel.asked = _kernel.asked, True
        with Changed(at, code):
            for i in rest:
                tidy()
                why = refuses(i)
                if why:
                    return n, f"refused: {_shapes[i]}: {why}", 1
                done += 1
        return n, "specified", len(calls)
    except TooLong:
        return n, f"undecided: {done} of {len(rest)} calls that differ were shown, of {len(calls)} looked at", done
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        _kernel.asked = False


def told_apart(dead):
    """Mutants that are refused in a call, and yet would be said to compute the same there: a fault of what classifies them."""
    global _survivors, _reaching
    for mutant, i in dead:
        _survivors, _reaching = [mutant], {i: {0}}
        at, _, _, code = mutant
        seen = bool(look(i)[1])
        was = results(i)
        try:
            with Changed(at, code):
                seen = seen and results(i) != was
        except (Unproved, *STOPS):
            pass
        if not seen:
            yield mutant, i


def classify(pool_of, alive, until):
    """(survivor, class) of each; those whose time did not come count as not run."""
    global _survivors, _reaching
    _survivors, _reaching = alive, collections.defaultdict(set)
    for n, (at, *_) in enumerate(alive):
        for _, i in _reached[at]:
            _reaching[i].add(n)
    calls = collections.defaultdict(list)
    looked = True
    with pool_of() as pool:
        for i, found in pool.imap_unordered(look, sorted(_reaching), 8):
            if until and time.time() > until:
                looked = False
                break
            for n in found:
                calls[n].append(i)
    if not looked:
        return [(mutant, NO_TIME, 0) for mutant in alive]
    steps = {i: s for found in _reached.values() for s, i in found}
    with pool_of() as pool:
        tasks = [(n, sorted(calls[n], key=steps.get)) for n in range(len(alive))]
        return [(alive[n], kind, count) for n, kind, count in pool.imap_unordered(settle, tasks, 1)]


def kind_of_refusal(error):
    return "stopped by an error of the prover's own" if error.startswith("stopped") else \
        "another result" if "specification" in error or "tag" in error or "solver" in error else \
        "a secret left" if "still depends" in error else \
        "memory" if "bytes at" in error or "aligned" in error else \
        "a branch, address or count on data" if "depends on" in error else "otherwise"


def of_kernel(path, args, until):
    """(refused, same, undecided, not run) of the mutants of a kernel."""
    begun = time.time()
    begin(path, args.settle, args.every)
    pool_of = lambda: multiprocessing.Pool(args.jobs)
    cover(pool_of)
    if args.settle:
        print(f"     {_kernel}: {len(_reached)} instructions reached by {len(_shapes)} calls, {time.time() - begun:.0f} s", flush=True)
    tasks = [(*mutant, until) for mutant in mutants(random.Random(args.seed), args.count, args.at)]
    alive, dead, not_run, reasons = [], [], 0, collections.Counter()
    with pool_of() as pool:
        for done, (*mutant, error) in enumerate(pool.imap_unordered(try_one, tasks, 4), 1):
            if done % 100 == 0 and done < len(tasks):
                print(f"     {_kernel}: {done} of {len(tasks)}, {len(alive)} not refused at once, {time.time() - begun:.0f} s", flush=True)
            if error is None:
                alive.append(tuple(mutant))
            elif error == NOT_RUN:
                not_run += 1
            else:
                reasons[kind_of_refusal(error[1])] += 1
                dead.append((tuple(mutant), error[0]))
    alive.sort(key=lambda m: m[:2])
    classes = collections.Counter()
    for (at, what, *_), kind, count in sorted(classify(pool_of, alive, until)) if args.settle and alive else \
            [(m, "not refused", 0) for m in alive]:
        print(f"     {_kernel} at {at:#x}: {what}: {kind}" + (f" ({count} calls)" if count > 1 else ""))
        if kind == NO_TIME:
            not_run += 1
        else:
            classes[kind.split(":")[0]] += 1
    if args.settle:
        for (at, what, *_), i in told_apart(dead[::max(1, len(dead) // CHECKED)]):
            print(f"FAIL {_kernel} at {at:#x}: {what}: refused in {_shapes[i]}, whose results are the kernel's")
            classes["undecided"] += 1
    tried = len(tasks) - not_run
    refused, undecided = sum(reasons.values()) + classes["refused"], classes["undecided"] + classes["not refused"]
    print(f"{_kernel}: {refused} of {tried} mutants refused (" + ", ".join(f"{r}: {n}" for r, n in reasons.most_common()) + ")"
          + "".join(f", {n} {k}" for k, n in sorted(classes.items())) + f", {not_run} not run, {time.time() - begun:.0f} s", flush=True)
    terms.forget()
    return refused, tried - refused - undecided, undecided, not_run


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--settle", action="store_true", help="say of each that is not refused at once what it is")
    parser.add_argument("--every", type=int, default=1, help="with --settle, of how many calls of a full run one is taken")
    parser.add_argument("--at", type=lambda t: int(t, 16), nargs="*", help="mutants of the instructions at these addresses only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--least", type=int, default=0, help="per cent that must be refused or shown the same, else exit status 1")
    parser.add_argument("--seconds", type=int, default=0, help="after which no kernel begins, in an order drawn from the seed, and no mutant")
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    paths = [p for p in args.objects if kernels.Kernel(p).specified]
    if args.seconds:
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


if __name__ == "__main__":
    sys.exit(main())
