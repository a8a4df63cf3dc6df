"""Compares the prover's semantics of instructions with the CPU, or with qemu: what semantics.py, semantics_arm.py and
semantics_risc.py share.

    tests.semantics* [--inputs N] [--seed S] [--part I/N] [--neighbors] [--plant] OBJECT...

A *form* stands for all instructions with its mnemonic and kinds of operands. The prover executes each form of the kernels
on symbols, and columns.py evaluates the result for random and edge inputs. It also executes some inputs as constants,
because constants take other code paths. --neighbors compares forms that only mutants have: those of the kernels
with one bit inverted, if the prover accepts them. --plant makes the first of each ten forms wrong, which the
test must find.
"""
import argparse
import collections
import random
import re
import tempfile
import time

import numpy as np
from isa.code import STOPS
from mutation.machine import WINDOW, Server, assemble
from run import kernels
from run.memory import Memory
from tests import columns
from values import terms
from values.terms import Unproved, const, symbol

BUFFER, RECORDS = 0x30000800, 0x40000000  # addresses: the memory that an instruction may access, and the records
AIM = BUFFER + 128  # where addresses point
LEAST = 3  # inputs of a group that also run as constants; in large groups one in 50
PER_GROUP, GROUPS = 1000, 2  # the most inputs of a group, the fewest groups
CONTROLLED = 40  # groups, if inputs other than addresses must be equal within a group


class Machine:
    """An instruction set, and a machine that has it. A record of 64-bit words holds the state around one instruction:

        general registers, masks and flags (`slots` words, the flags in the last), vectors, and WINDOW bytes of memory

    A place is a part of a record: g0 .. general registers, k0 .. masks, v0 .. words of vectors, m0 .. memory, carry.
    Subclasses define the data below and

        before, after    assembly that loads a record's state at argument 0, and that stores it and returns
        decode(code)     the instruction, or None;  form(insn): its form, or None if the test skips it
        prepare(insn, rng, records)   sets addresses, counts and controls in the first record of a group, and returns the
                         places that must be equal in the whole group. With self.aligned, addresses are aligned
    """

    by, slots, masks, vectors, lanes = "the emulator", 34, 0, 0, 1  # vectors: number of words; lanes: words of a register
    flag_bits, set_flags = {}, 0  # the bits of the flags' word, and those that are always set
    zero, sign = "zero", "negative"  # functions of the prover's machine
    spoiled = 8  # the register that --plant changes
    aligned, hidden = False, frozenset()

    def __init__(self, isa, folder):
        self.isa, self.bits, self.big, self.server = isa, isa.POINTER, getattr(isa, "big", False), Server(isa, folder)
        self.frame = [assemble(isa, "\n".join(text), folder) for text in (self.before(), self.after())]
        self.places = {f"g{i}": (self.bits, 2 * i) for i in self.free} | {f"k{i}": (64, 32 + 2 * i) for i in range(self.masks)}
        self.places |= {f"v{j}": (32, 2 * self.slots + j) for j in range(self.vectors)}
        self.places |= self.more_places()
        self.words = self.slots + self.vectors // 2 + WINDOW // 8
        self.places |= {f"m{j}": (32, 2 * self.words + (j - WINDOW) // 4) for j in range(0, WINDOW, 4)}
        self.compared = np.array(sorted({at // 2 for name, (_, at) in self.places.items() if name not in self.hidden}))
        if self.flag_bits:
            self.places["carry"] = 1, 64 * (self.slots - 1) + self.flag_bits["carry"]

    def column(self, records, name):
        width, at = self.places[name]
        if width == 1:
            return (records.view(np.uint32)[:, at // 32] >> (at % 32) & 1).astype(np.uint64)
        return records[:, at // 2] if width == 64 else records.view(np.uint32)[:, at].astype(np.uint64)

    def fix(self, records, name):
        """Gives all records the first one's content of a place."""
        width, at = self.places[name]
        if width == 1:
            words = records.view(np.uint32)[:, at // 32]
            words &= ~np.uint32(1 << at % 32) & 0xffffffff
            words |= np.uint32(int(words[0]) & 1 << at % 32)
        else:
            words = records.view(np.uint32)[:, at:at + width // 32]
            words[:] = words[0].copy()

    def more_places(self):
        return {}

    def code(self, insn):
        return bytes(insn.bytes)

    def step(self, insn):
        """A function that executes the instruction."""
        return self.isa.meaning(self.code(insn), 0)[0]

    def lacks(self, insn):
        """The feature that this machine lacks, or None."""

    def forms(self, kernel):
        """(form, instruction) of a kernel."""
        for insn in self.isa.decoder().disasm(kernel.code, 0):
            yield self.form(insn), insn

    def decode(self, code):
        return next(self.isa.decoder().disasm(code, 0), None)

    def made(self, insn, get):
        """A machine of the prover whose places hold get(place, width)."""
        m = self.isa.Machine(Memory(self.big))
        for i in self.free:
            m.general[i] = get(f"g{i}", self.bits)
        words = [get(f"v{j}", 32) for j in range(self.vectors)]
        if words:
            one = type(m.vector[0])
            m.vector = words if self.lanes == 1 else [one(words[i:i + self.lanes]) for i in range(0, len(words), self.lanes)]
        if self.flag_bits:
            m.carry, m.overflow, m.result = get("carry", 1), const(self.overflow, 1), const(self.result, 64)
        m.memory.region("buffer", BUFFER, WINDOW, True, True, 64)
        m.memory.cells = {BUFFER + j: get(f"m{j}", 32) for j in range(0, WINDOW, 4)}
        return m

    def values(self, m):
        """Place -> value, except the carry."""
        found = {f"g{i}": m.general[i] for i in self.free}
        words = m.vector if self.lanes == 1 else [w for v in m.vector for w in v]
        found.update((f"v{j}", words[j]) for j in range(self.vectors))
        found.update((f"m{j}", m.memory.cells[BUFFER + j]) for j in range(0, WINDOW, 4))
        return found

    def flags(self, m, records):
        """(flag, value or None, column) of the flags after the instruction."""
        if not self.flag_bits:
            return []
        word = records[:, self.slots - 1]
        found = {"carry": m.carry, "overflow": m.overflow}
        found |= {"zero": getattr(m, self.zero)(), "sign": getattr(m, self.sign)()} if m.result is not None else {}
        return [(flag, v, word >> self.flag_bits[flag] & 1) for flag, v in found.items()]

    def random_flags(self, rng, records):
        """One choice of the flags for all records, except the carry. The prover derives zero and sign from one result."""
        zero, sign, self.overflow = *rng.choice(((0, 0), (0, 1), (1, 0))), rng.randrange(2)
        self.result = 0 if zero else 1 << 63 if sign else 1
        bit, word = self.flag_bits, self.slots - 1
        given = self.set_flags | zero << bit["zero"] | sign << bit["sign"] | self.overflow << bit["overflow"]
        records[:, word] = records[:, word] & (1 << bit["carry"]) | given

    def run(self, insn, records):
        """What the machine makes of the records, or None."""
        def ordered(r):
            if self.big:
                r = r.copy()
                r[:, :self.slots] = r[:, :self.slots].byteswap()
            return r
        code = self.frame[0] + self.code(insn) + self.frame[1]
        parts = [(BUFFER, bytes(WINDOW), False, False), (RECORDS, ordered(records).tobytes(), True, False)]
        got = self.server.call(code, (RECORDS, 0, 0), parts, len(records), 8 * self.words, BUFFER)
        return got and ordered(np.frombuffer(bytearray(got[1]), dtype=np.uint64).reshape(records.shape))

    def neighbors(self, forms):
        found = {}
        for insn in forms.values():
            code = self.code(insn)
            for bit in range(8 * len(code)):
                other = self.decode((int.from_bytes(code, "little") ^ 1 << bit).to_bytes(len(code), "little"))
                if other is None or other.size != len(code) or self.lacks(other):
                    continue
                what = self.form(other)
                if what is None or what in forms or what in found:
                    continue
                try:
                    self.step(other)
                except (Unproved, *STOPS):
                    continue
                found[what] = other
        return found


def symbols_of(values):
    """Names of the symbols that values depend on."""
    names, seen, todo = set(), set(), list(values)
    while todo:
        for n, _, _ in todo.pop().pieces:
            if n >= 0 and n not in seen:
                seen.add(n)
                a = terms.ATOMS[n]
                if a.kind == "symbol":
                    names.add(a.extra)
                todo += [o[1] if isinstance(o, tuple) else o for o in a.operands]
    return names


def results(machine, m, changed, out):
    """(what, the prover's value, the machine's column) of changed places and of flags."""
    values = machine.values(m)
    places = [(n, values[n], machine.column(out, n)) for n in sorted(changed - machine.hidden) if n in values]
    return places + [f for f in machine.flags(m, out) if f[1] is not None]


def execute(machine, step, m, plant):
    step(m)
    if plant:
        m.general[machine.spoiled] = terms.xor(m.general[machine.spoiled], const(1, machine.bits))


def compare_group(machine, insn, step, records, rng, constants, plant):
    """Compares a group of inputs. Returns an error or None, whether the prover executed symbols, and whether more than
    addresses had to be equal in the group."""
    machine.aligned = False
    addresses = set(machine.prepare(insn, rng, records))
    fixed = set(addresses)
    while True:
        for name in fixed:
            machine.fix(records, name)
        known = {name: int(machine.column(records[:1], name)[0]) for name in fixed}
        m = machine.made(insn, lambda name, w: const(known[name], w) if name in known else symbol(name, w))
        before = machine.values(m)
        try:
            execute(machine, step, m, plant)
            break
        except Unproved as e:
            of_data = symbols_of([e.value]) if getattr(e, "value", None) is not None else set()
            if "to be at a multiple of" in str(e) and not machine.aligned:
                machine.aligned = True
                addresses = set(machine.prepare(insn, rng, records))
                fixed = set(addresses)
            elif of_data:
                fixed |= of_data
            elif "depends on data" in str(e):
                m = None
                break
            else:
                return str(e), False, False
    out = machine.run(insn, records)
    if out is None:
        return f"a trap by {machine.by}", m is not None, False
    used = set(machine.places)
    if m is None:
        changed = used - {"carry"}
    else:
        after = machine.values(m)
        changed = {name for name, v in after.items() if v is not before[name]}
        evaluate = columns.Columns(lambda name: machine.column(records, name), len(records)).value
        try:
            for name, v, got in results(machine, m, changed, out):
                mine = evaluate(v)[0]
                if (wrong := mine != got).any():
                    i = int(wrong.argmax())
                    return f"{name}: {int(mine[i]):#x} here, {int(got[i]):#x} by {machine.by} (symbols)", True, False
        except (Unproved, AssertionError) as e:
            return str(e), True, False
        same = records.copy()
        for name in changed:
            width, at = machine.places[name]
            same.view(np.uint32)[:, at:at + width // 32] = out.view(np.uint32)[:, at:at + width // 32]
        if (wrong := (same != out)[:, machine.compared]).any():
            return f"word {machine.compared[int(wrong.any(0).argmax())]} of the record is changed by {machine.by}, and not here", True, False
        used = fixed | changed | symbols_of([*(after[n] for n in changed), *(v for _, v, _ in machine.flags(m, out) if v is not None)])
    i = 0
    while i < min(constants, len(records)):
        record = records[i:i + 1]
        known = {name: int(machine.column(record, name)[0]) for name in used}
        one = machine.made(insn, lambda name, w: const(known[name], w) if name in known else terms.undefined(w))
        try:
            execute(machine, step, one, plant)
        except Unproved as e:
            return f"{e} (constants)", m is not None, False
        found = results(machine, one, changed, out[i:i + 1])
        if len(used) < len(machine.places) and any(not v.defined for _, v, _ in found):
            used = set(machine.places)  # the instruction reads a place that no result shows
            continue
        for name, v, got in found:
            if v.constant != int(got[0]):
                return f"{name}: {v} here, {int(got[0]):#x} by {machine.by} (constants)", m is not None, False
        i += 1
    return None, m is not None, bool(fixed - addresses)


def compare(machine, insn, numbers, rng, inputs, plant):
    """Compares an instruction on many inputs. Returns an error or None, and whether the prover executed symbols."""
    done, symbolic, size = 0, False, min(PER_GROUP, -(-inputs // GROUPS))
    try:
        step = machine.step(insn)
        while done < inputs:
            n = min(size, inputs - done)
            start = rng.randrange(len(numbers) - n * machine.words + 1)
            records = numbers[start:start + n * machine.words].reshape(n, machine.words).copy()
            wrong, as_symbols, controlled = compare_group(machine, insn, step, records, rng, max(LEAST, n // 50), plant)
            if wrong:
                return wrong, as_symbols
            symbolic |= as_symbols
            done += n
            if controlled or not as_symbols:
                size = min(size, max(2, inputs // CONTROLLED))
    except (Unproved, *STOPS) as e:
        return f"stopped: {e}", False
    return None, symbolic


def differs(wrong):
    """Whether an error is a difference from the machine. Otherwise the prover refuses the instruction."""
    return re.search(" by the (CPU|emulator)", wrong) is not None or "out of its bounds" in wrong


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
        wrong, symbolic = compare(machine, insn, numbers, rng, args.inputs, args.plant and k % 10 == 0)
        if wrong and args.neighbors and wrong.startswith("a trap"):
            count["trapped"] += 1  # Reserved bits, which the decoder ignores. No kernel has them: its own forms must not trap.
        elif wrong and args.neighbors and not differs(wrong):
            count["not compared" if wrong.startswith("stopped") else "refused"] += 1
        elif wrong:
            count["failed"] += 1
            print(f"FAIL {insn.mnemonic} {insn.op_str}: {wrong}")
        else:
            count["passed"] += 1
            count["with symbols too"] += symbolic
    for what, n in sorted(not_run.items()):
        print(f"not run: {what}, {n} forms")
    print(f"{machine.isa.__name__.removeprefix('isa.')}: " + ", ".join(f"{n} {kind}" for kind, n in count.items()) +
          f"; {args.inputs} inputs each, seed {args.seed}; {time.monotonic() - begun:.0f} s", flush=True)
    return count["passed"], count["failed"], not_run.total()


def main(machine_of):
    """machine_of: the machine's class for an instruction set."""
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
            machine = machine_of(isa)(isa, folder)
            counts.append(test(machine, found, args, numbers))
            machine.server.close()
    passed, failed, not_run = map(sum, zip(*counts))
    print(f"semantics: {passed} passed, {failed} failed, {not_run} not run")
    return 1 if failed else 0
