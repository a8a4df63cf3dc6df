"""Values over many inputs at once, for what compares instructions with a machine.

Columns: what a value is for each of many inputs, in numbers of 64 bits, two of them where it is wider. Form: an instruction's
meaning on symbols, found once for a group of inputs and evaluated for all of them, and on constants for some of them, beside
what the machine made of the same inputs. In a group what decides an address, a count or a branch is the same.
"""
import re

import numpy as np
from isa.code import STOPS
from values import terms
from values.terms import ATOMS, CONST, INVERSE_SBOX, SBOX, Unproved, const, symbol

LEAST = 3  # inputs of a group that are also taken as constants; of many one in 50
PER_GROUP, GROUPS, CONTROLLED = 1000, 2, 40  # inputs of a group at most; groups at least; groups where something is the same in each
EDGES = [0, 1, 2, 3, 5, 0x7f, 0x80, 0xff, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffb, 1 << 32, (1 << 44) - 1, (1 << 52) - 1, 1 << 52,
         (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 5, 0x0ffffffc0fffffff]


def pool(seed, size=1 << 19):
    """Numbers of 64 bits: three in ten edges, two of any length, the others any."""
    rng = np.random.default_rng(seed)
    numbers, kind = rng.integers(0, 1 << 64, size, dtype=np.uint64), rng.random(size)
    numbers = np.where(kind < 0.5, numbers >> rng.integers(0, 64, size, dtype=np.uint64), numbers)
    return np.where(kind < 0.3, np.array(EDGES, dtype=np.uint64)[rng.integers(0, len(EDGES), size)], numbers)


# ---- Numbers of up to 128 bits: (low, high), high None where it is zero ------------------------------------------------------

def part(a, low, width):
    """Bits low .. low + width - 1."""
    lo, hi = a
    if low >= 64:
        lo, hi, low = (np.zeros_like(lo) if hi is None else hi), None, low - 64
    if low:
        lo, hi = (lo >> low) | (0 if hi is None else hi << (64 - low)), None if hi is None else hi >> low
    if width < 64:
        return lo & ((1 << width) - 1), None
    return lo, None if width == 64 or hi is None else hi & ((1 << min(64, width - 64)) - 1)


def placed(a, at):
    """a 2^at"""
    lo, hi = a
    if at == 0:
        return a
    if at >= 64:
        return np.zeros_like(lo), lo << (at - 64)
    return lo << at, (lo >> (64 - at)) | (0 if hi is None else hi << at)


def plus(a, b):
    lo = a[0] + b[0]
    return lo, (0 if a[1] is None else a[1]) + (0 if b[1] is None else b[1]) + (lo < a[0]).astype(np.uint64)


def negative(a):
    lo, hi = ~a[0], ~(np.zeros_like(a[0]) if a[1] is None else a[1])
    return plus((lo, hi), (np.ones_like(lo), None))


def times(a, b):
    """Of 64 bits each."""
    mask = 0xffffffff
    a0, a1, b0, b1 = a & mask, a >> 32, b & mask, b >> 32
    low, mid = a0 * b0, a0 * b1
    mid, other = (low >> 32) + (mid & mask), (mid >> 32)
    next_ = a1 * b0
    mid = mid + (next_ & mask)
    return (low & mask) | (mid << 32), a1 * b1 + other + (next_ >> 32) + (mid >> 32)


def carryless(a, b):
    lo, hi = np.zeros_like(a), np.zeros_like(a)
    for i in range(64):
        take = -((b >> i) & 1)
        lo ^= (a << i) & take
        if i:
            hi ^= (a >> (64 - i)) & take
    return lo, hi


def mixed(v):
    """FIPS 197, 5.1.3, of a column of four bytes."""
    a = [(v >> 8 * i) & 0xff for i in range(4)]
    twice = [((x << 1) ^ ((x >> 7) * 0x1b)) & 0xff for x in a]
    r = np.zeros_like(v)
    for i in range(4):
        r |= (twice[i] ^ twice[(i + 1) % 4] ^ a[(i + 1) % 4] ^ a[(i + 2) % 4] ^ a[(i + 3) % 4]) << 8 * i
    return r


TABLES = {"sbox": np.array(SBOX, dtype=np.uint64), "isbox": np.array(INVERSE_SBOX, dtype=np.uint64)}


class Columns:
    """given: a function from a symbol's name to its column."""

    def __init__(self, given, rows):
        self.given, self.rows, self.found = given, rows, {}

    def constant(self, c):
        return np.full(self.rows, c & (1 << 64) - 1, dtype=np.uint64), np.full(self.rows, c >> 64, dtype=np.uint64) if c >> 64 else None

    def value(self, v):
        if v.width > 128:
            raise Unproved("a value of more than 128 bits")
        lo = hi = None
        at = 0
        for n, low, w in v.pieces:
            if n < CONST:
                raise Unproved("undefined bits have no value")
            if n != CONST or low:
                x, y = placed(self.constant(low) if n == CONST else part(self.atom(n), low, w), at)
                lo = x if lo is None else lo | x
                hi = hi if y is None else y if hi is None else hi | y
            at += w
        return (np.zeros(self.rows, dtype=np.uint64) if lo is None else lo), hi if v.width > 64 else None

    def atom(self, n):
        r = self.found.get(n)
        if r is None:
            a = ATOMS[n]
            r = self.found[n] = self.compute(a)
            lo, hi = r
            most = a.most & (1 << 64) - 1, a.most >> 64
            if hi is None:
                within = most[1] or bool((lo <= most[0]).all())
            else:
                within = bool(((hi < most[1]) | (hi == most[1]) & (lo <= most[0])).all())
            if not within:
                raise AssertionError(f"{a} is out of its bounds")
        return r

    def compute(self, a):
        o, kind = a.operands, a.kind
        if kind == "symbol":
            return self.given(a.extra), None
        if a.width > 128:
            raise Unproved("an atom of more than 128 bits")
        if kind == "sum":
            total = self.constant(a.extra % (1 << 128))
            for sign, v in o:
                x = self.value(v)
                total = plus(total, x if sign > 0 else negative(x))
            return total[0], total[1] if a.width > 64 or a.extra < 0 or (total[1] != 0).any() else None
        if kind == "select":
            c, (x, x1), (y, y1) = self.value(o[0])[0] != 0, self.value(o[1]), self.value(o[2])
            none = np.zeros_like(x)
            return np.where(c, x, y), None if a.width <= 64 else np.where(c, none if x1 is None else x1, none if y1 is None else y1)
        v = [self.value(x) for x in o]
        if any(hi is not None for _, hi in v):
            raise Unproved(f"{kind} of more than 64 bits")
        v = [lo for lo, _ in v]
        if kind == "mul":
            lo, hi = times(*v)
            return lo, hi if a.width > 64 else None
        if kind == "clmul":
            return carryless(*v)
        if kind == "xor":
            r = np.full(self.rows, a.extra, dtype=np.uint64)
            for x in v:
                r ^= x
            return r, None
        x, y = (v * 2)[:2]
        if kind in ("and", "or"):
            return x & y if kind == "and" else x | y, None
        if kind == "equal":
            return (x == y).astype(np.uint64), None
        if kind == "borrow":
            return 1 - (y & (1 - x)), None
        if kind in TABLES:
            return TABLES[kind][x], None
        if kind == "look":  # index, what there was, table
            return np.select([x == i for i in range(len(v) - 2)], v[2:], y), None
        if kind in ("mixcol", "imixcol"):
            for _ in range(1 if kind == "mixcol" else 3):  # whose matrix has the order 4
                x = mixed(x)
            return x, None
        raise Unproved(f"{kind} has no value")


def symbols_of(values):
    """Names of the symbols that values are made of."""
    names, seen, todo = set(), set(), list(values)
    while todo:
        for n, _, _ in todo.pop().pieces:
            if n >= 0 and n not in seen:
                seen.add(n)
                a = ATOMS[n]
                if a.kind == "symbol":
                    names.add(a.extra)
                todo += [o[1] if isinstance(o, tuple) else o for o in a.operands]
    return names


def neighbors(forms, form, isa, md, skipped):
    """Of forms (what -> instruction): others, one bit turned over, whose meaning is given too. Mutants have them."""
    found = {}
    for insn in list(forms.values()):
        for bit in range(8 * insn.size):
            code = bytearray(insn.bytes)
            code[bit // 8] ^= 1 << bit % 8
            other = next(md.disasm(bytes(code), 0), None)
            if other is None or other.size != insn.size or skipped(other):
                continue
            what = form(other)
            if what in forms or what in found:
                continue
            try:
                isa.meaning(bytes(code), 0)
            except (Unproved, *STOPS):
                continue
            found[what] = other
    return found


# ---- An instruction -----------------------------------------------------------------------------------------------------------

class Machines:
    """What an instruction reads and writes, and where that is in a record of words of 64 bits. Subclasses say

        by, words    the machine's name; words of 64 bits of a record
        places       name -> (width, where: its word of 32 bits, of the carry its bit)
        compared     the words of a record, except flags, that must be the same here and there
        seen(name)   whether the machine reports the contents of a place
        made(get)    a machine whose places are get(name, width), the carry too
        values(m)    name -> value, of all places but the carry
        run(which, records)       what the machine makes of inputs
        flags(m, records)         (what, value or None, column) of flags behind the instruction
        prepare(insn, rng, records)   makes a group's addresses and counts, in its first record, and its flags but the carry, in
                     all; with self.aligned, addresses are. Gives the names of places that are fixed
        spoil(m), spoiled         makes the place `spoiled` wrong
    """

    def column(self, records, name):
        width, at = self.places[name]
        if width == 1:
            return (records.view(np.uint32)[:, at // 32] >> (at % 32) & 1).astype(np.uint64)
        if width == 64:
            return records[:, at // 2]
        return records.view(np.uint32)[:, at].astype(np.uint64)

    def fix(self, records, name):
        """The same in all records as in the first."""
        width, at = self.places[name]
        if width == 1:
            words = records.view(np.uint32)[:, at // 32]
            words &= ~np.uint32(1 << at % 32) & 0xffffffff
            words |= np.uint32(int(words[0]) & 1 << at % 32)
        else:
            words = records.view(np.uint32)[:, at:at + width // 32]
            words[:] = words[0].copy()


def group(machines, which, insn, step, records, rng, constants, plant):
    """Of one group: an error or None, whether symbols were taken, and whether more than addresses was fixed."""
    fixed = set(machines.prepare(insn, rng, records))
    addresses = set(fixed)
    symbolic = True
    while True:
        for name in fixed:
            machines.fix(records, name)
        known = {name: int(machines.column(records[:1], name)[0]) for name in fixed}
        machine = machines.made(lambda name, w: const(known[name], w) if name in known else symbol(name, w))
        before = machines.values(machine)
        try:
            step(machine)
            break
        except Unproved as e:
            if "to be at a multiple of" in str(e) and not machines.aligned:
                machines.aligned = True
                fixed = addresses = set(machines.prepare(insn, rng, records))
                continue
            of_data = symbols_of([e.value]) if getattr(e, "value", None) is not None else set()
            if of_data:
                fixed |= of_data
            elif "depends on data" in str(e):
                symbolic = False
                break
            else:
                return str(e), False, False
    out = machines.run(which, records)
    changed = {name for name, v in machines.values(machine).items() if v is not before[name]} if symbolic else set(machines.places) - {"carry"}
    used = set(machines.places)
    if symbolic:
        if plant:
            machines.spoil(machine)
            changed.add(machines.spoiled)
        after = machines.values(machine)
        columns = Columns(lambda name: machines.column(records, name), len(records))
        try:
            for name, v, got in [(n, after[n], machines.column(out, n)) for n in sorted(changed) if machines.seen(n)] + machines.flags(machine, out):
                if v is not None and (wrong := columns.value(v)[0] != got).any():
                    i = int(wrong.argmax())
                    return f"{name}: {int(columns.value(v)[0][i]):#x} here, {int(got[i]):#x} by {machines.by} (symbols)", True, False
        except (Unproved, AssertionError) as e:
            return str(e), True, False
        same = records.copy()
        for name in changed:
            width, at = machines.places[name]
            same.view(np.uint32)[:, at:at + width // 32] = out.view(np.uint32)[:, at:at + width // 32]
        if (wrong := (same != out)[:, machines.compared]).any():
            return f"word {machines.compared[int(wrong.any(0).argmax())]} of the record is another by {machines.by}, and not here", True, False
        used = fixed | changed | symbols_of([after[n] for n in changed] + [v for _, v, _ in machines.flags(machine, out) if v is not None])
    i = 0
    while i < min(constants, len(records)):
        record = records[i:i + 1]
        known = {name: int(machines.column(record, name)[0]) for name in used}
        machine = machines.made(lambda name, w: const(known[name], w) if name in known else terms.undefined(w))
        try:
            step(machine)
        except Unproved as e:
            return f"{e} (constants)", symbolic, False
        if plant:
            machines.spoil(machine)
        after = machines.values(machine)
        found = [(n, after[n], machines.column(out[i:i + 1], n)) for n in sorted(changed) if machines.seen(n)] + machines.flags(machine, out[i:i + 1])
        if len(used) < len(machines.places) and any(v is not None and not v.defined for _, v, _ in found):
            used = set(machines.places)  # something is read of which no result shows it
            continue
        for name, v, got in found:
            if v is not None and v.constant != int(got[0]):
                return f"{name}: {v} here, {int(got[0]):#x} by {machines.by} (constants)", symbolic, False
        i += 1
    return None, symbolic, bool(fixed - addresses)


def differs(wrong):
    """Whether an error is a difference from the machine; else the prover refuses an instruction with these inputs."""
    return re.search(" by the (CPU|emulator)", wrong) is not None or "out of its bounds" in wrong


def compare(machines, which, insn, step, numbers, rng, inputs, plant):
    """An instruction on many inputs: an error or None, and whether symbols were taken."""
    done, as_symbols, size = 0, False, min(PER_GROUP, -(-inputs // GROUPS))
    while done < inputs:
        n = min(size, inputs - done)
        start = rng.randrange(len(numbers) - n * machines.words + 1)
        records = numbers[start:start + n * machines.words].reshape(n, machines.words).copy()
        machines.aligned = False
        wrong, symbolic, controlled = group(machines, which, insn, step, records, rng, max(LEAST, n // 50), plant)
        if wrong:
            return wrong, symbolic
        as_symbols |= symbolic
        done += n
        if controlled or not symbolic:
            size = min(size, max(2, inputs // CONTROLLED))
    return None, as_symbols
