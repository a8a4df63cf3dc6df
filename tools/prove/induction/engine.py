"""The parts that all inductions share: worker processes, the report, and planted faults.

    induction.NAME [--quick] [--planted] [--jobs N] [--part I/N] [--queries FOLDER] OBJECT...

A file in this folder defines these names:

    least(kernel)               the shortest texts of the kernel that it proves, in bytes; None: it proves nothing of
                                the kernel
    tasks(kernel, args)         a list of (name, ...). prepare(kernel, args), if defined, first proves something for all
                                of them. It returns (cases, instructions, a value that one() gets as found.common)
    one(kernel, task, args, found)    proves a task, and counts in found
    planted(kernel, args, attempt)    attempts to prove wrong properties: attempt(name, function, an instruction to
                                      omit)
    OPTIONS                     further options of this induction, as (name, help), if any
    OF                          what it proves, for the report, if not texts from least() bytes
"""
import argparse
import copy
import multiprocessing
import os
import sys
import time
from typing import NamedTuple

from run import lists, packets, proof, prove
from run.kernels import ARGS, IN, OUT, POINTERS, STATE, Call, Kernel, text_symbols
from run.memory import WINDOW
from spec.args import A, FIRST, LAST, WHOLE
from values import linear, terms
from values.terms import Unproved

BOTH = (False, True)
PARTS = {WHOLE: "", FIRST: ", first part", 0: ", middle part", LAST: ", last part"}


class Way(NamedTuple):
    """The kind of a call."""

    flags: int = WHOLE
    opens: bool = False
    in_place: bool = False

    def __str__(self):
        return f"{'open' if self.opens else 'seal'}{PARTS[self.flags]}{', in place' if self.in_place else ''}"


SHAPES = [Way(flags, opens, in_place) for flags in PARTS for in_place in BOTH for opens in BOTH if flags == WHOLE or not in_place]


class Part(Call):
    """A run of a part of a call. Pointers to text have any value. One that is used as an address is near its base."""

    def __init__(self, kernel, shape, sizes, texts, done=None, ad_bytes=0, flags=0):
        """texts: (first byte, bytes, read, written) of in, and of out, relative to the start of the run. That is
        `done` bytes after the arguments' pointers."""
        super().__init__(kernel)
        self.shape, self.width = shape, kernel.isa.POINTER
        self.source, self.begin_in = self.pointer("in", IN + 1, done)
        self.target, self.begin_out = (self.source, self.begin_in) if shape.in_place else self.pointer("out", OUT + 3, done)
        packets.lay_out(self, shape, sizes, [(f"{base.name} + {first}", base.address + first, *more)
                                             for base, found in zip((self.source, self.target), texts) for first, *more in found], ad_bytes, flags=flags)
        if not shape.in_place:
            self.memory.apart(self.source.address, self.target.address, WINDOW)
        self.set(**{"in": self.begin_in + 0}, out=self.begin_out + 0)

    def pointer(self, name, address, done):
        """Returns the base of a text in a run, and that of the text of the call."""
        most, (modulus, of) = 1 << self.width - 2, self.cases.get(address, (1, (0,)))
        if done is None:
            base = linear.Base(name, 1 << 20, most, address=address, modulus=modulus, of=of, width=self.width)
            return base, base
        base = linear.Base(f"{name} of the call", 1 << 20, most, address=OUT << 2 if name == "out" else OUT << 1, modulus=modulus, of=of,
                           width=self.width)
        here = linear.place(terms.add(self.width, base + 0, done + 0)[0])[0]
        here.address, here.modulus, here.of = address, modulus, of  # done is a multiple of 64
        return here, base

    def set(self, **values):
        for name, v in values.items():
            put = self.memory.put_pointer if name in POINTERS else self.memory.put_number
            put(ARGS + A["ARG_" + name.upper()], v if name in POINTERS else terms.extend(v, 64))

    def go(self, start, stop):
        """A run to `stop` must not change the state of a later part: the next run starts with it as the caller left it."""
        before = self.bytes_of(STATE, STATE + 0x10000)
        self.kernel.program().run(self.machine, None, start, stop)
        if stop is not None and not self.shape.flags & FIRST and self.bytes_of(STATE, STATE + 0x10000) != before:
            raise Unproved("the state is written before the end")


def text_named(name, n):
    return text_symbols(f"text {name} ", n)


def anew():
    proof.mode()
    terms.forget()


def reason(e):
    return str(e) or ("terms too deep" if isinstance(e, RecursionError) else "a number out of its bounds")


class Found:
    """The results: cases and instructions, and errors. common: from prepare()."""

    def __init__(self, common=None):
        self.cases, self.steps, self.wrong, self.common = 0, 0, [], common

    def add(self, cases, steps):
        self.cases, self.steps = self.cases + cases, self.steps + steps

    def end(self, what, leave, *args):
        """Counts one case. leave returns its number of instructions."""
        try:
            self.add(1, leave(*args))
        except (Unproved, RecursionError) as e:
            self.wrong.append(f"{what}: {reason(e)}")


def instructions(kernel, begin=0):
    return [i for i in kernel.isa.decoder().disasm(kernel.code, 0) if i.address >= begin]


def find(kernel, text, number=0, behind=0):
    """Returns one of the instructions after `behind` whose text starts with this text. number -1 is the last."""
    found = [i for i in instructions(kernel, behind) if f"{i.mnemonic} {i.op_str}".startswith(text)]
    if not found:
        raise Unproved(f"no {text}")
    return found[number]


class Planted:
    """Requires that wrong invariants are refused, and kernels without one of their instructions."""

    def __init__(self, kernel):
        self.kernel, self.results = kernel, []

    def __call__(self, what, show, insn=None):
        program, why = self.kernel.program(), None
        before = dict(program.steps)
        if insn:
            program.steps[insn.address] = (lambda m: None), insn.address + insn.size, None, f"{insn.mnemonic} {insn.op_str}"
        try:
            show()
        except (Unproved, AssertionError) as e:
            why = reason(e)
        program.steps.clear()
        program.steps.update(before)
        print(f"{'FAIL' if why is None else 'ok  '} {self.kernel}: planted: {what}: {why or 'not refused'}", flush=True)
        self.results.append(why is not None)

    def without(self, omitted, show, behind=0):
        """omitted: (name of the fault, as find() the start of an instruction's text, and which one after `behind`).
        Requires first that the kernel is not refused as it is."""
        try:
            show()
        except (Unproved, AssertionError) as e:
            print(f"FAIL {self.kernel}: planted: the kernel as it is: {reason(e)}", flush=True)
            self.results.append(False)
        for what, text, *number in omitted:
            self(what, show, find(self.kernel, text, *number, behind=behind))


def changed(what, **change):
    """Returns a copy with changed attributes."""
    found = copy.copy(what)
    vars(found).update(change)
    return found


_work = None


def begin(induction, path, args, common):
    global _work
    sys.setrecursionlimit(20000)
    _work = induction, Kernel(path), args, common
    anew()


def one(task):
    """Returns (name, cases, instructions, errors)."""
    induction, kernel, args, common = _work
    found = Found(common)
    try:
        induction.one(kernel, task, args, found)
    except (Unproved, RecursionError) as e:
        found.wrong.append(reason(e))
    return task[0], found.cases, found.steps, found.wrong


def main(induction):
    parser = argparse.ArgumentParser()
    for name, what in (("quick", "a few of all"), ("planted", "what is wrong must be refused"), *getattr(induction, "OPTIONS", ())):
        parser.add_argument(f"--{name}", action="store_true", help=what)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--part", default="1/1", help="the I-th of N parts")
    parser.add_argument("--queries")
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    sys.setrecursionlimit(20000)
    shown = failed = 0
    for path in args.objects:
        kernel, begun, before, found = Kernel(path), time.time(), prove.processor_time(), Found()
        least, of = induction.least(kernel), getattr(induction, "OF", "texts from {} bytes")
        try:
            if least is None:
                raise Unproved("there is no induction for it here")
            if least > (lists.by_induction(kernel) or least):
                raise Unproved(f"run/lists.py has calls up to another length than {least}")
            if hasattr(induction, "prepare"):
                found.cases, found.steps, found.common = induction.prepare(kernel, args)
            tasks = prove.chosen_part(induction.tasks(kernel, args), args.part)
        except Unproved as e:
            print(f"FAIL {kernel}: {e}", flush=True)
            failed += 1
            continue
        jobs, said = min(args.jobs, len(tasks)), 0
        with multiprocessing.Pool(jobs, begin, (induction, path, args, found.common)) as pool:
            for done, (name, cases, steps, wrong) in enumerate(pool.imap_unordered(one, tasks, max(1, min(8, len(tasks) // 8 // jobs))), 1):
                found.add(cases, steps)
                found.wrong += wrong
                for error in wrong:
                    print(f"FAIL {kernel}: {name}: {error}", flush=True)
                if time.time() - begun > said + 60:
                    said = time.time() - begun
                    print(f"     {kernel}: {done} of {len(tasks)}, {said:.0f} s", flush=True)
            pool.close()
            pool.join()
        print(f"{'FAIL' if found.wrong else 'ok  '} {kernel}: {of.format(least)}: {found.cases} beginnings, steps and ends, {found.steps:,} instructions, "
              f"{prove.processor_time() - before:.0f} s of CPU", flush=True)
        shown, failed = shown + found.cases, failed + len(found.wrong)
        if args.planted:
            attempt = Planted(kernel)
            induction.planted(kernel, args, attempt)
            shown, failed = shown + sum(attempt.results), failed + len(attempt.results) - sum(attempt.results)
    print(f"the random point is that of SEALANE_POINT={terms.SEED}")
    print(f"{induction.__name__}: {shown} passed, {failed} failed, 0 not run")
    return 1 if failed else 0
