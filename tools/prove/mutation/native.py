"""Mutants that mutate.py says compute the same, beside the kernel, on this CPU or, of others, in an emulator: the calls of a full
run with random data, among them as many zeroes and ones as make carries. On MIPS and RISC-V every second call has aligned texts.

    mutation.native [--calls N] [--seed S] RECORD OBJECT...
    mutation.native --first COUNT [--tries N] [--seconds N] [--calls N] [--seed S] [--plant | --refuse] RECORD OBJECT...

RECORD is what mutate.py --record has written. A mutant that leaves other results behind than the kernel, or does not come
to its end, must be refused in that call, which mutate.py has not run then: this is added to the record. Exit status 1 if it
is not: then the prover is wrong. Or if of mutants that were refused before, some of which are run too, fewer than half
leave other results: then nothing is seen here.

--first is for kernels of which a call of the prover takes a second, AES being made of bit operations, and goes before
mutate.py --settle. COUNT mutants, the same ones, are run here, in calls from the shortest on, each with a key that
the mutant itself has made, until one leaves something else behind or does not come to its end; the prover must refuse
it in that very call. This is recorded; those that leave the same are left to mutate.py. The kernel itself, taken for
a mutant, must not be refused. --plant: a prover that refuses nothing, so that it must fail; --refuse: everything.
"""
import argparse
import collections
import contextlib
import json
import multiprocessing
import random
import tempfile
import time

from mutation import mutate
from mutation.machine import Server
from run import kernels, lists, modes, packets, proof
from values import terms
from values.terms import const, symbol

CALLS = kernels, packets, modes  # that make symbols

REFUSED = 10
TOGETHER = 100  # mutants of one run of a call


@contextlib.contextmanager
def aligned(kernel, number):
    """Where kernels have other ways for texts that are aligned: every second call."""
    before = packets.IN, packets.OUT, packets.AD
    if kernel.isa.MACHINE in ("EM_MIPS", "EM_RISCV") and number % 2:
        packets.IN, packets.OUT, packets.AD = before[0] + 7, before[1] + 5, before[2] + 7
    try:
        yield
    finally:
        packets.IN, packets.OUT, packets.AD = before


class Calls:
    """Calls of run/kernels.py with random constants for symbols, made by a server, of a kernel and of mutants of it."""

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
        packets._keys.clear()
        modes._keys.clear()
        self.server.close()

    def symbol(self, name, width, most=None):
        if name not in self.known:
            some = self.rng.getrandbits(width)
            self.known[name] = self.rng.choice((some, some, some, 0, (1 << width) - 1)) if most is None else min(most, some)
        return const(self.known[name], width)

    def parts(self, call):
        """What a server is given of a call."""
        found = []
        for r in call.memory.regions:
            if r.name != "stack":
                v = call.memory.peek(r.start, r.end - r.start)
                # For unwritten bytes: values that differ each time.
                content = b"".join((low if n == -1 else self.rng.getrandbits(w)).to_bytes(-(-w // 8), "little") for n, low, w in v.pieces) \
                    if all(w % 8 == 0 for _, _, w in v.pieces) else None
                if content is None:
                    raise SystemExit("a value of bits")
                found.append((r.start, content, r.write, self.compared(r.name)))
        return found

    def compared(self, name):
        return name != "scratch"

    def put(self, call, content):
        """Into memory what has come back."""
        at = 0
        for r in call.memory.regions:
            if r.write and r.name != "stack":
                call.memory.put(r.start, content[at:at + r.end - r.start])
                at += r.end - r.start

    def run(self, call):
        """Leaves in memory what the kernel leaves there; notes whose mutants leave something else."""
        parts = self.parts(call)
        arguments = kernels.ARGS, kernels.SCRATCH, call.consts
        got = self.server.call(call.kernel.code, arguments, parts)
        if got is None:
            raise SystemExit(f"{self.kernel} as it is: not at its end")
        if call.kernel is self.kernel:
            # What a key of AES-GCM holds is looked at by the call that sets it up.
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


class Alone(Calls):
    """Calls of a kernel as it is now, and of its key set-up. What a key holds is its own, and not compared."""

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
        """A number for the memory left behind in call i of mutate.py, with the same data each time; or None."""
        self.rng, self.known = random.Random(i), {}
        packets._keys.clear()
        modes._keys.clear()
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
    """Calls that a mutant is run in: half of them the shortest, half drawn from those of at most three times as many
    instructions; if it is reached when a key is set up, of those with keys of that length. Those where each lane has a
    block, which the prover refuses soonest, and others differ in, first."""
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
    """The first call in which each mutant leaves something else: call -> mutants; and those that leave the same."""
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


def unchanged(kernel, differ, until):
    """Why the kernel itself is refused where it is taken for a mutant, in the call that most differ in; or None."""
    i = max(differ, key=lambda i: len(differ[i]))
    at = mutate._mutants[differ[i][0]][0]
    mutate._mutants.append((at, "as it is", at, kernel.code))
    kernel.asked = True
    try:
        return mutate.explore(i, [len(mutate._mutants) - 1], None, until)[len(mutate._mutants) - 1]
    finally:
        mutate._mutants.pop()


def first(path, args):
    """(mutants refused in a call in which they leave something else behind, not refused there, not run) of a kernel."""
    begun, until = time.time(), args.seconds and time.time() + args.seconds
    mutate.begin(path, True, args.calls)
    kernel = mutate._kernel
    mutate.cover(lambda: multiprocessing.Pool(1))
    mutate._mutants = list(mutate.mutants(args.seed, args.first, None))
    record = mutate.Record(args.record)
    todo = [n for n in range(len(mutate._mutants)) if n not in record.known]
    differ, same = first_calls(kernel, todo, args.tries)
    print(f"     {kernel}: {len(todo) - len(same)} of {len(todo)} mutants leave something else in {len(differ)} calls, "
          f"{time.time() - begun:.0f} s", flush=True)
    if args.plant or args.refuse:
        mutate.refuses = lambda i: "planted" if args.refuse else None
    found, left = {}, collections.defaultdict(list)
    for n in same:  # what data do not show, but a call that is not compared: a wipe left out, a caller's register
        for _, i in [c for c in mutate._reached[mutate._mutants[n][0]] if not mutate.function(c[1])][:1]:
            left[i].append(n)
    tasks = [(i, those, True) for i, those in differ.items()] + [(i, those, False) for i, those in left.items()]
    for i, those, compared in sorted(tasks, key=lambda task: mutate._steps[task[0]]):
        kernel.asked = compared
        for j in range(0, len(those), TOGETHER):
            for n, why in mutate.explore(i, those[j:j + TOGETHER], None, until).items():
                if compared:
                    found[n] = why
                if why is None and compared:
                    at, what = mutate._mutants[n][:2]
                    print(f"FAIL {kernel} at {at:#x}: {what}: another result in {mutate._shapes[i]}, "
                          "where it is not refused", flush=True)
                elif why not in (None, mutate.NOT_RUN, mutate.NO_TIME):
                    record.add(n, "refused", why, 0)
    wrong, refused_itself = sum(why is None for why in found.values()), 0
    if differ and (why := unchanged(kernel, differ, until)) not in (None, mutate.NOT_RUN):
        refused_itself = 1
        print(f"FAIL {kernel}: refused as it is, where it goes on like a mutant: {why}", flush=True)
    kernel.asked = False
    left_out = sum(why in (mutate.NOT_RUN, mutate.NO_TIME) for why in found.values())
    refused_too = sum(n in record.known for n in same)
    print(f"{kernel}: {len(found) - wrong - left_out} of {len(found)} mutants refused in the call in which they leave "
          f"something else, {left_out} not run; {len(same)} leave the same, of which {refused_too} are refused; "
          f"{time.time() - begun:.0f} s", flush=True)
    terms.forget()
    return len(found) - wrong - left_out, wrong + refused_itself, left_out


def same_under_its_own(kernel, code, shapes, bits):
    """Whether calls under keys of that length that a mutant has made leave what they leave under the kernel's."""
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=0, help="at most this many of each kernel, drawn from a full run's")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="this many mutants, before mutate.py")
    parser.add_argument("--tries", type=int, default=24, help="with --first, calls of a mutant, at most")
    parser.add_argument("--seconds", type=int, default=0, help="with --first, for each kernel, at most")
    parser.add_argument("--plant", action="store_true", help="with --first, a prover that refuses nothing")
    parser.add_argument("--refuse", action="store_true", help="with --first, one that refuses everything")
    parser.add_argument("record")
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    if args.first:
        passed, failed, left_out = map(sum, zip(*(first(path, args) for path in args.objects)))
        print(f"native: {passed} passed, {failed} failed, {left_out} not run")
        return 1 if failed or not passed else 0
    passed = failed = 0
    for path in args.objects:
        kernel = mutate._kernel = kernels.Kernel(path)
        found = {}
        with open(args.record) as f:
            for line in f:
                d = json.loads(line)
                if d["kernel"] == [str(kernel), mutate.digest()] and "name" in d:
                    found[d["name"]] = d
        codes = {}
        for name in found:
            at, code = name.split()
            at, code = int(at, 16), bytes.fromhex(code)
            codes[name] = at, kernel.code[:at] + code + kernel.code[at + len(code):]
        same = [name for name, d in found.items() if d["kind"] not in ("refused", "undecided")]
        before = sorted(name for name, d in found.items() if d["kind"] == "refused")
        before = random.Random(args.seed).sample(before, min(REFUSED, len(before)))
        shapes, rng = list(lists.shapes(kernel, False)), random.Random(args.seed)
        if args.calls:
            shapes = rng.sample(shapes, min(args.calls, len(shapes)))
        with tempfile.TemporaryDirectory() as folder, Calls(kernel, Server(kernel.isa, folder), rng) as calls:
            calls.codes = {name: codes[name][1] for name in same + before}
            for number, shape in enumerate(shapes):
                calls.shape, calls.known = shape, {}
                packets._keys.clear()
                modes._keys.clear()
                terms.forget()
                with aligned(kernel, number):
                    proof._run(kernel, shape, None)
        wrong = seen = gone = others = 0
        for name, shape in sorted(calls.differ.items()):
            if name in before:
                seen += 1
                continue
            d = found[name]
            why = refused(kernel, shape, *codes[name])
            if why is None and isinstance(shape, packets.Setup) and same_under_its_own(kernel, codes[name][1], shapes, shape.bits):
                others += 1
                continue
            if why is None or why == mutate.NO_TIME:
                wrong += 1
                print(f"FAIL {kernel} at {d['what']}: {d['kind']}: another result in {shape}, where it is not refused")
                continue
            gone += 1
            with open(args.record, "a") as f:
                f.write(json.dumps(d | {"kind": "refused", "why": why, "calls": 0}) + "\n")
        if 2 * seen < len(before):
            print(f"FAIL {kernel}: of {len(before)} that are refused only {seen} leave other results")
        print(f"{kernel}: {len(same) - wrong - gone} of {len(same)} mutants leave the kernel's results in {len(shapes)} calls, "
              f"{others} of these under keys that hold something else, {gone} do not in a call in which they are refused; "
              f"of {len(before)} refused before {seen} leave others", flush=True)
        failed += wrong + (2 * seen < len(before))
        passed += len(same) - wrong
        terms.forget()
    print(f"native: {passed} passed, {failed} failed, 0 not run")
    return 1 if failed else 0
