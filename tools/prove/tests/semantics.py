"""Compares the prover's semantics of instructions with this CPU, or with qemu.

    tests.semantics [--inputs N] [--seed S] [--part I/N] [--neighbors] [--plant] OBJECT...

A *form* stands for all instructions with its mnemonic and kinds of operands. The prover executes each form of the kernels
on symbols, and columns.py evaluates the result for random and edge inputs. It also executes some inputs as constants,
because constants take other code paths. --neighbors compares forms that only mutants have: those of the kernels
with one bit inverted, if the prover accepts them. --plant makes the first of each ten forms wrong, which the
test must find. Instructions that this CPU lacks are listed as not run.
"""
import argparse
import collections
import random
import re
import tempfile
import time

import numpy as np
from isa.code import STOPS
from run import kernels
from tests import columns
from tests.machines import AIM, BUFFER, TAKE, Arm32, Arm64, Cpu
from tests.machines_risc import Mips, RiscV, Vectors
from values import terms
from values.terms import Unproved, const, symbol

MACHINES = {"EM_X86_64": Cpu, "EM_AARCH64": Arm64, "EM_ARM": Arm32, "EM_MIPS": Mips, "EM_RISCV": RiscV}  # RISC-V's vectors: Vectors
LEAST = 3  # inputs of a group that also run as constants; in large groups one in 50
PER_GROUP, GROUPS = 1000, 2  # the most inputs of a group, the fewest groups
CONTROLLED = 40  # groups, if inputs other than addresses must be equal within a group


def results(machine, m, changed, out):
    """(what, the prover's value, the machine's column) of changed places and of flags."""
    values = machine.values(m)
    places = [(n, values[n], machine.column(out, n)) for n in sorted(changed - machine.hidden) if n in values]
    return places + [f for f in machine.flags(m, out) if f[1] is not None]


def execute(machine, step, m, plant):
    step(m)
    if plant:
        m.general[TAKE] = terms.xor(m.general[TAKE], const(1, machine.bits))


class Wrong(Exception):
    """A difference from the machine, or the prover refuses an instruction."""


def on_symbols(machine, insn, step, records, rng, plant):
    """Executes an instruction on symbols. Places that must be known get the first record's value in all records, and
    pointers a value for which the access is in the buffer. Returns (places that are known, those of them that are no
    pointers and that machine.prepare has not named, the state before, the machine). The machine is None if data decide
    that cannot be known."""
    prepared = machine.prepare(insn, rng, records) or set()
    known, pointers = set(prepared), []
    for _ in range(1000):
        for name in known:
            machine.fix(records, name)
        values = {name: int(machine.column(records[:1], name)[0]) for name in known}
        m = machine.made(insn, lambda name, w: const(values[name], w) if name in values else symbol(name, w))
        before = machine.values(m)
        try:
            execute(machine, step, m, plant)
            return known, known - prepared - set(pointers), before, m
        except Unproved as e:
            of_data = columns.symbols_of([e.value]) - known if getattr(e, "value", None) is not None else set()
            if "an address" in str(e) and of_data:
                for name in of_data:  # first a base, then an index
                    value = rng.randrange(16) if pointers else AIM + rng.choice((0, 1, 3, 5, 64, -51))
                    machine.put(records, name, value)
                    pointers.append(name)
            elif pointers and (at := re.search(r" bytes at (0x\w+) |buffer \+ (\d+) that is to be at a mult", str(e))):
                accessed = int(at[1], 16) if at[1] else BUFFER + int(at[2])
                machine.put(records, pointers[0], values[pointers[0]] + AIM - accessed)
            elif "depends on data" in str(e) and not of_data:
                return known, set(), before, None
            elif not of_data:
                raise Wrong(str(e)) from e
            known |= of_data
    raise Wrong("stopped: an access that no pointer moves to the buffer")


def compare_group(machine, insn, step, records, rng, constants, plant):
    """Compares a group of inputs. Returns whether the prover executed symbols, and whether more than addresses had to be
    equal in the group."""
    fixed, controls, before, m = on_symbols(machine, insn, step, records, rng, plant)
    out = machine.run(insn, records)
    if out is None:
        raise Wrong(f"a trap by {machine.by}")
    used = set(machine.places)
    if m is None:
        changed = used - {"carry"}
    else:
        after = machine.values(m)
        changed = {name for name, v in after.items() if v is not before[name]}
        evaluate = columns.Columns(lambda name: machine.column(records, name), len(records)).value
        try:
            for name, v, got in results(machine, m, changed, out):
                mine = evaluate(v)
                if (wrong := mine != got).any():
                    i = int(wrong.argmax())
                    raise Wrong(f"{name}: {int(mine[i]):#x} here, {int(got[i]):#x} by {machine.by} (symbols)")
        except (Unproved, AssertionError) as e:
            raise Wrong(str(e)) from e
        same = records.copy()
        for name in changed:
            width, at = machine.places[name]
            same.view(np.uint32)[:, at:at + width // 32] = out.view(np.uint32)[:, at:at + width // 32]
        if (wrong := (same != out)[:, machine.compared]).any():
            raise Wrong(f"word {machine.compared[int(wrong.any(0).argmax())]} of the record is changed by {machine.by}, and not here")
        used = fixed | changed | columns.symbols_of([*(after[n] for n in changed), *(v for _, v, _ in machine.flags(m, out) if v is not None)])
    i = 0
    while i < min(constants, len(records)):
        record = records[i:i + 1]
        known = {name: int(machine.column(record, name)[0]) for name in used}
        one = machine.made(insn, lambda name, w: const(known[name], w) if name in known else terms.undefined(w))
        try:
            execute(machine, step, one, plant)
        except Unproved as e:
            raise Wrong(f"{e} (constants)") from e
        found = results(machine, one, changed, out[i:i + 1])
        if len(used) < len(machine.places) and any(not v.defined for _, v, _ in found):
            used = set(machine.places)  # the instruction reads a place that no result shows
            continue
        for name, v, got in found:
            if v.constant != int(got[0]):
                raise Wrong(f"{name}: {v} here, {int(got[0]):#x} by {machine.by} (constants)")
        i += 1
    return m is not None, bool(controls)


def compare(machine, insn, numbers, rng, inputs, plant):
    """Compares an instruction on many inputs. Returns whether the prover executed symbols."""
    done, symbolic, size = 0, False, min(PER_GROUP, -(-inputs // GROUPS))
    try:
        step = machine.step(insn)
        while done < inputs:
            n = min(size, inputs - done)
            start = rng.randrange(len(numbers) - n * machine.words + 1)
            records = numbers[start:start + n * machine.words].reshape(n, machine.words).copy()
            as_symbols, controlled = compare_group(machine, insn, step, records, rng, max(LEAST, n // 50), plant)
            symbolic |= as_symbols
            done += n
            if controlled or not as_symbols:
                size = min(size, max(2, inputs // CONTROLLED))
    except (Unproved, *STOPS) as e:
        raise Wrong(f"stopped: {e}") from e
    return symbolic


def test(machine, kernels_, args, numbers):
    """Compares all forms of kernels with one instruction set. Returns the numbers passed, failed and not run."""
    rng, begun, forms, count, not_run = random.Random(args.seed), time.monotonic(), {}, collections.Counter(), collections.Counter()
    for kernel in kernels_:
        for what, insn in machine.forms(kernel):
            if what is not None:
                forms.setdefault(what, insn)
    if args.neighbors:
        forms = machine.neighbors(forms)
    part, parts = map(int, args.part.split("/"))
    found = []
    for what in sorted(forms)[part - 1::parts]:
        if lack := machine.lacks(forms[what]):
            not_run[f"{forms[what].mnemonic} ({lack})"] += 1
        else:
            found.append(forms[what])
    for k, insn in enumerate(found):
        if len(terms.ATOMS) > 50_000:
            terms.forget()
        try:
            symbolic = compare(machine, insn, numbers, rng, args.inputs, args.plant and k % 10 == 0)
            count["passed"] += 1
            count["with symbols too"] += symbolic
        except Wrong as e:
            wrong = str(e)
            if args.neighbors and wrong.startswith("a trap"):
                count["trapped"] += 1  # Reserved bits, which the decoder ignores. No kernel has them: its own forms must not trap.
            elif args.neighbors and not re.search(" by the (CPU|emulator)|out of its bounds", wrong):  # the prover refuses it
                count["not compared" if wrong.startswith("stopped") else "refused"] += 1
            else:
                count["failed"] += 1
                print(f"FAIL {insn.mnemonic} {insn.op_str}: {wrong}")
    for what, n in sorted(not_run.items()):
        print(f"not run: {what}, {n} forms")
    print(f"{machine.isa.__name__.removeprefix('isa.')}: " + ", ".join(f"{n} {kind}" for kind, n in count.items()) +
          f"; {args.inputs} inputs each, seed {args.seed}; {time.monotonic() - begun:.0f} s", flush=True)
    return count["passed"], count["failed"], not_run.total()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=1000, help="the most inputs for each form")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="1/1", help="I/N: the I-th of N parts of the forms")
    parser.add_argument("--neighbors", action="store_true", help="forms that only mutants have")
    parser.add_argument("--plant", action="store_true", help="make some forms wrong")
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    by_isa, numbers, counts = collections.defaultdict(list), columns.pool(args.seed), []
    for kernel in map(kernels.Kernel, args.objects):
        by_isa[kernel.isa.__name__].append(kernel)
    for found in by_isa.values():
        terms.forget()
        isa = found[0].isa
        with tempfile.TemporaryDirectory() as folder:
            machine = (Vectors if hasattr(isa, "vlen") else MACHINES[isa.MACHINE])(isa, folder)
            counts.append(test(machine, found, args, numbers))
            machine.server.close()
    passed, failed, not_run = map(sum, zip(*counts))
    print(f"semantics: {passed} passed, {failed} failed, {not_run} not run")
    return 1 if failed else 0
