"""Runs mutants beside the kernel, on this CPU or in qemu (machine.py), in the calls of a full run with random data.

    mutation.native [--calls N] RECORD OBJECT...
    mutation.native --first COUNT [--tries N] [--calls N] [--plant | --refuse] RECORD OBJECT...

RECORD is a file of mutate.py --record. The first form runs the mutants that mutate.py classified as the same. If one leaves
other results than the kernel, or does not end, the prover must refuse it in that very call. Otherwise the prover is
wrong, and the exit status is 1. Some refused mutants run too: at least half of them must leave other results.

--first runs COUNT mutants before mutate.py, each in up to N calls, with keys that the mutant itself sets up. It suits bit-sliced AES, where a
call takes the prover seconds. If a mutant leaves other results, the prover must refuse it in that very call. The record
keeps these mutants; the others remain for mutate.py. The prover must not refuse the kernel itself in place of a mutant.
--plant is a prover that refuses nothing, --refuse one that refuses everything; both must fail.

Data have many zeros and ones, which make carries. On MIPS and RISC-V every second call has aligned texts.
"""
import argparse
import collections
import contextlib
import multiprocessing
import random
import tempfile
import time

from mutation import mutate
from mutation.machine import Server
from run import kernels, lists, modes, packets, proof
from values import terms
from values.terms import const, symbol

CALLS = kernels, packets, modes  # modules whose symbols become random constants
SEED = 1
REFUSED = 10  # refused mutants that run too
TOGETHER = 100  # mutants in one run of a call


@contextlib.contextmanager
def aligned(kernel, number):
    """Aligns the texts of every second call, if the kernels branch on alignment."""
    before = packets.IN, packets.OUT, packets.AD
    if kernel.isa.MACHINE in ("EM_MIPS", "EM_RISCV") and number % 2:
        packets.IN, packets.OUT, packets.AD = before[0] + 7, before[1] + 5, before[2] + 7
    try:
        yield
    finally:
        packets.IN, packets.OUT, packets.AD = before


class Calls:
    """Lets a server execute the calls of run/kernels.py, with random constants for symbols: the kernel, and mutants beside it."""

    def __init__(self, kernel, server, rng):
        self.kernel, self.server, self.rng = kernel, server, rng
        self.codes, self.differ = {}, {}

    def __enter__(self):
        self.kept = symbol, kernels.Call.run
        kernels.Call.symbolic = False
        for module in CALLS:
            module.symbol = self.symbol
        kernels.Call.run = lambda call, trace=None: self.run(call)
        return self

    def __exit__(self, *_):
        for module in CALLS:
            module.symbol = self.kept[0]
        kernels.Call.run = self.kept[1]
        kernels.Call.symbolic = True
        forget_keys()
        self.server.close()

    def symbol(self, name, width, most=None):
        if name not in self.known:
            some = self.rng.getrandbits(width)
            self.known[name] = self.rng.choice((some, some, some, 0, (1 << width) - 1)) if most is None else min(most, some)
        return const(self.known[name], width)

    def parts(self, call):
        """The memory of a call for the server."""
        found = []
        for r in call.memory.regions:
            if r.name != "stack":
                v = call.memory.peek(r.start, r.end - r.start)
                # Unwritten bytes differ each time.
                content = b"".join((low if n == -1 else self.rng.getrandbits(w)).to_bytes(-(-w // 8), "little") for n, low, w in v.pieces) \
                    if all(w % 8 == 0 for _, _, w in v.pieces) else None
                if content is None:
                    raise SystemExit("a value of bits")
                found.append((r.start, content, r.write, self.compared(r.name)))
        return found

    def compared(self, name):
        return name != "scratch"

    def put(self, call, content):
        """Copies the server's bytes into the call's memory."""
        at = 0
        for r in call.memory.regions:
            if r.write and r.name != "stack":
                call.memory.put(r.start, content[at:at + r.end - r.start])
                at += r.end - r.start

    def run(self, call):
        """Executes a call of the kernel, and notes which mutants leave other results."""
        parts = self.parts(call)
        arguments = kernels.ARGS, kernels.SCRATCH, call.consts
        got = self.server.call(call.kernel.code, arguments, parts)
        if got is None:
            raise SystemExit(f"{self.kernel} as it is: not at its end")
        if call.kernel is self.kernel:
            # A difference in AES-GCM's key belongs to the call that sets it up.
            set_up = any(r.name == "key" and r.write for r in call.memory.regions)
            kept, at = got[0], packets.Setup(self.shape.bits) if set_up else self.shape
            for n, code in self.codes.items():
                if n not in self.differ:
                    other = self.server.call(code, arguments, parts)
                    if other is None or other[0] != kept:
                        self.differ[n] = at
        self.put(call, got[1])
        return 0


class Stopped(Exception):
    pass


def forget_keys():
    packets._keys.clear()
    modes._keys.clear()


class Alone(Calls):
    """Calls of one code, which also sets up its keys. The contents of keys are not compared."""

    def compared(self, name):
        return name != "scratch" and not name.startswith("key")

    def run(self, call):
        got = self.server.call(call.kernel.code, (kernels.ARGS, kernels.SCRATCH, call.consts), self.parts(call))
        if got is None:
            raise Stopped
        self.left = got[0]
        self.put(call, got[1])
        return 0

    def behind(self, i, code):
        """A number that stands for the results of call i of mutate.py with this code, on the same data each time; or None."""
        self.rng, self.known = random.Random(i), {}
        forget_keys()
        kept, self.kernel.code = self.kernel.code, code
        try:
            with aligned(self.kernel, i):
                proof._run(self.kernel, mutate._shapes[i], None)
        except Stopped:
            return None
        finally:
            self.kernel.code = kept
        return self.left


def calls_of(kernel, at, differ, tries):
    """The calls in which a mutant runs. Half are the shortest, half are drawn from those of at most three times as many
    instructions. If a key's set-up reaches the instruction, calls with keys of that length count too. Calls with a block in
    each lane come first, because the prover refuses them soonest, and those in which other mutants differ."""
    shapes, steps = mutate._shapes, mutate._steps
    reach = {i for _, i in mutate._reached[at]}
    bits = {shapes[i].bits for i in reach if mutate.sets_up(shapes[i])}
    full = lambda i: kernel.bitwise and proof.full(kernel, shapes[i])
    calls = sorted((not full(i), steps[i], i) for i, s in enumerate(shapes)
                   if not mutate.sets_up(s) and (i in reach or bits and s.bits in bits and s.size))
    found, more = calls[:tries // 2], [c for c in calls[tries // 2:] if c[1] <= 3 * calls[0][1]]
    found += random.Random(at).sample(more, min(len(more), tries - len(found)))
    return [i for _, _, i in sorted(found, key=lambda c: (c[0], -len(differ.get(c[2], ())), c))]


def first_calls(kernel, todo, tries):
    """The first call in which each mutant leaves other results: call -> mutants; and the mutants without such a call."""
    differ, same, kept = collections.defaultdict(list), [], {}
    with tempfile.TemporaryDirectory() as folder, Alone(kernel, Server(kernel.isa, folder), None) as alone:
        for done, n in enumerate(todo):
            at, _, _, code = mutate._mutants[n]
            if done % 100 == 0:
                terms.forget()
            for i in calls_of(kernel, at, differ, tries):
                if i not in kept:
                    kept[i] = alone.behind(i, kernel.code)
                    if kept[i] is None or alone.behind(i, kernel.code) != kept[i]:
                        raise SystemExit(f"{kernel}: not at its end, or not twice the same: {mutate._shapes[i]}")
                if alone.behind(i, code) != kept[i]:
                    differ[i].append(n)
                    break
            else:
                same.append(n)
    return differ, same


def unchanged(kernel, differ):
    """Why the prover refuses the kernel itself in place of a mutant, in the call in which most mutants differ; or None."""
    i = max(differ, key=lambda i: len(differ[i]))
    at = mutate._mutants[differ[i][0]][0]
    mutate._mutants.append((at, "as it is", at, kernel.code))
    kernel.asked = True
    try:
        return mutate.explore(i, [len(mutate._mutants) - 1], None, 0)[len(mutate._mutants) - 1]
    finally:
        mutate._mutants.pop()


def first(path, args):
    """(mutants refused in a call in which they differ, not refused there, not run) of a kernel."""
    begun = time.time()
    mutate.begin(path, True, args.calls)
    kernel = mutate._kernel
    mutate.cover(lambda: multiprocessing.Pool(1))
    mutate._mutants = list(mutate.mutants(SEED, args.first))
    record = mutate.Record(args.record)
    todo = record.missing()
    differ, same = first_calls(kernel, todo, args.tries)
    print(f"     {kernel}: {len(todo) - len(same)} of {len(todo)} mutants leave something else in {len(differ)} calls, "
          f"{time.time() - begun:.0f} s", flush=True)
    if args.plant or args.refuse:
        mutate.refuses = lambda i: "planted" if args.refuse else None
    found, left = {}, collections.defaultdict(list)
    for n in same:  # a call without a comparison may refuse these: for a missing wipe, or a caller's register
        for _, i in [c for c in mutate._reached[mutate._mutants[n][0]] if not mutate.function(c[1])][:1]:
            left[i].append(n)
    tasks = [(i, those, True) for i, those in differ.items()] + [(i, those, False) for i, those in left.items()]
    for i, those, compared in sorted(tasks, key=lambda task: mutate._steps[task[0]]):
        kernel.asked = compared
        for j in range(0, len(those), TOGETHER):
            for n, why in mutate.explore(i, those[j:j + TOGETHER], None, 0).items():
                if compared:
                    found[n] = why
                if why not in (None, mutate.NO_TIME):
                    record.add(n, "refused", why, 0)
                elif why is None and compared:
                    at, what = mutate._mutants[n][:2]
                    print(f"FAIL {kernel} at {at:#x}: {what}: another result in {mutate._shapes[i]}, "
                          "where it is not refused", flush=True)
    wrong, refused_itself = sum(why is None for why in found.values()), 0
    if differ and (why := unchanged(kernel, differ)) is not None:
        refused_itself = 1
        print(f"FAIL {kernel}: refused in place of a mutant: {why}", flush=True)
    kernel.asked = False
    left_out = sum(why == mutate.NO_TIME for why in found.values())
    refused_too = sum(mutate.name_of(n) in record.known for n in same)
    print(f"{kernel}: {len(found) - wrong - left_out} of {len(found)} mutants refused in the call in which they leave "
          f"something else, {left_out} not run; {len(same)} leave the same, of which {refused_too} are refused; "
          f"{time.time() - begun:.0f} s", flush=True)
    terms.forget()
    return len(found) - wrong - left_out, wrong + refused_itself, left_out


def same_under_its_own(kernel, code, shapes, bits):
    """Whether calls with keys of that length that a mutant has set up leave the kernel's results."""
    mutate._shapes = [s for s in shapes if s.bits == bits and not mutate.sets_up(s)]
    with tempfile.TemporaryDirectory() as folder, Alone(kernel, Server(kernel.isa, folder), None) as alone:
        return all(alone.behind(i, code) == alone.behind(i, kernel.code) is not None for i in range(len(mutate._shapes)))


def refused(kernel, shape, at, code):
    """Why the prover refuses a mutant in a call, or None."""
    kernel.asked = True
    mutate._shapes, mutate._mutants = [shape], [(at, None, None, code)]
    mutate._steps = {0: proof.run(kernel, shape, None)}
    try:
        return mutate.as_mutant(0, 0)
    finally:
        kernel.asked = False


def last(path, args):
    """(mutants that leave the kernel's results or are refused, others, not run) of a kernel, among those that mutate.py classified."""
    kernel = mutate._kernel = kernels.Kernel(path)
    record, codes = mutate.Record(args.record), {}
    for name in record.known:
        at, code = name.split()
        at, code = int(at, 16), bytes.fromhex(code)
        codes[name] = at, kernel.code[:at] + code + kernel.code[at + len(code):]
    same = [name for name, d in record.known.items() if d["kind"] not in ("refused", "undecided")]
    before = sorted(name for name, d in record.known.items() if d["kind"] == "refused")
    before = random.Random(SEED).sample(before, min(REFUSED, len(before)))
    shapes, rng = list(lists.shapes(kernel, False)), random.Random(SEED)
    if args.calls:
        shapes = rng.sample(shapes, min(args.calls, len(shapes)))
    with tempfile.TemporaryDirectory() as folder, Calls(kernel, Server(kernel.isa, folder), rng) as calls:
        calls.codes = {name: codes[name][1] for name in same + before}
        for number, shape in enumerate(shapes):
            calls.shape, calls.known = shape, {}
            forget_keys()
            terms.forget()
            with aligned(kernel, number):
                proof._run(kernel, shape, None)
    seen, wrong, gone, others = sum(name in before for name in calls.differ), 0, 0, 0
    for name, shape in sorted(calls.differ.items()):
        if name in before:
            continue
        d = record.known[name]
        why = refused(kernel, shape, *codes[name])
        if why is None and isinstance(shape, packets.Setup) and same_under_its_own(kernel, codes[name][1], shapes, shape.bits):
            others += 1
        elif why is None or why == mutate.NO_TIME:
            wrong += 1
            print(f"FAIL {kernel} at {d['what']}: {d['kind']}: another result in {shape}, where it is not refused")
        else:
            gone += 1
            record.write(d | {"kind": "refused", "why": why, "calls": 0})
    if blind := 2 * seen < len(before):
        print(f"FAIL {kernel}: of {len(before)} refused mutants only {seen} leave other results")
    print(f"{kernel}: {len(same) - wrong - gone} of {len(same)} mutants leave the kernel's results in {len(shapes)} calls, "
          f"{others} of these under keys that hold something else, {gone} do not in a call in which they are refused; "
          f"of {len(before)} refused before {seen} leave others", flush=True)
    terms.forget()
    return len(same) - wrong, wrong + blind, 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=0, help="the most calls of each kernel, drawn from a full run's")
    parser.add_argument("--first", type=int, default=0, help="the number of mutants to run before mutate.py")
    parser.add_argument("--tries", type=int, default=24, help="with --first, the most calls of a mutant")
    parser.add_argument("--plant", action="store_true", help="with --first, a prover that refuses nothing")
    parser.add_argument("--refuse", action="store_true", help="with --first, a prover that refuses everything")
    parser.add_argument("record")
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    passed, failed, left_out = map(sum, zip(*((first if args.first else last)(path, args) for path in args.objects)))
    print(f"native: {passed} passed, {failed} failed, {left_out} not run")
    return 1 if failed or args.first and not passed else 0
