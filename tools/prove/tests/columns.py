"""Evaluates a value for many inputs at once. A column is an array with one number, of any length, for each input."""
import functools
import operator

import numpy as np
from values.terms import ATOMS, CONST, INVERSE_SBOX, SBOX, Unproved

EDGES = [0, 1, 2, 3, 5, 0x7f, 0x80, 0xff, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffb, 1 << 32, (1 << 44) - 1, (1 << 52) - 1, 1 << 52,
         (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 5, 0x0ffffffc0fffffff]


def pool(seed, size=1 << 19):
    """Numbers of 64 bits: three in ten edges, two of any length, the others any."""
    rng = np.random.default_rng(seed)
    numbers, kind = rng.integers(0, 1 << 64, size, dtype=np.uint64), rng.random(size)
    numbers = np.where(kind < 0.5, numbers >> rng.integers(0, 64, size, dtype=np.uint64), numbers)
    return np.where(kind < 0.3, np.array(EDGES, dtype=np.uint64)[rng.integers(0, len(EDGES), size)], numbers)


def carryless(a, b):
    """Of 64 bits each."""
    a, b = a.astype(np.uint64), b.astype(np.uint64)
    low, high = a & 0, a & 0
    for i in range(64):
        mask = -(b >> i & 1)
        low ^= a << i & mask
        high ^= a >> 1 >> 63 - i & mask
    return low.astype(object) | high.astype(object) << 64


def gmul(a, b):
    """Blocks of GHASH with their bytes reversed: bit i is that of x^(127 - i)."""
    r = a & 0
    for i in reversed(range(128)):
        r ^= a * (b >> i & 1)
        a = a >> 1 ^ (a & 1) * (0xe1 << 120)
    return r


def mixed(v):
    """FIPS 197, 5.1.3, of a column of four bytes."""
    a = [v >> 8 * i & 0xff for i in range(4)]
    twice = [(x << 1 ^ (x >> 7) * 0x1b) & 0xff for x in a]
    all_ = a[0] ^ a[1] ^ a[2] ^ a[3]
    return sum((twice[i] ^ twice[(i + 1) % 4] ^ all_ ^ a[i]) << 8 * i for i in range(4))


# The operations of atoms, of the columns of their operands.
OPERATIONS = {
    "mul": operator.mul, "clmul": carryless, "gmul": gmul, "and": operator.and_, "or": operator.or_,
    "select": lambda condition, x, y: np.where(condition != 0, x, y),
    "equal": lambda x, y: (x == y).astype(int).astype(object),
    "sbox": lambda x: SBOXES[x.astype(int)], "isbox": lambda x: INVERSE_SBOXES[x.astype(int)],
    "look": lambda index, before, *table: np.select([index == i for i in range(len(table))], table, before),
    "mixcol": mixed, "imixcol": lambda x: mixed(mixed(mixed(x))),  # the matrix has order 4
}
SBOXES, INVERSE_SBOXES = (np.array(table, dtype=object) for table in (SBOX, INVERSE_SBOX))


class Columns:
    """given: a function from a symbol's name to its column."""

    def __init__(self, given, rows):
        self.given, self.rows = given, rows
        self.value, self.atom = functools.cache(self.of_value), functools.cache(self.of_atom)

    def of_value(self, v):
        parts, at = [], 0
        for n, low, w in v.pieces:
            if n < CONST:
                raise Unproved("undefined bits have no value")
            part = low if n == CONST else self.atom(n) >> low & (1 << w) - 1
            parts.append(part << at)
            at += w
        total = functools.reduce(operator.or_, parts)
        return total if v.constant is None else np.full(self.rows, total, dtype=object)

    def of_atom(self, n):
        a = ATOMS[n]
        if a.kind == "symbol":
            r = self.given(a.extra).astype(object)
        elif a.kind == "sum":
            r = a.extra + sum(sign * self.value(v) for sign, v in a.operands)
        elif a.kind == "xor":
            r = functools.reduce(operator.xor, map(self.value, a.operands), a.extra)
        elif a.kind in OPERATIONS:
            r = OPERATIONS[a.kind](*map(self.value, a.operands))
        else:
            raise Unproved(f"{a.kind} has no value")
        if (r < 0).any() or (r > a.most).any():
            raise AssertionError(f"{a} is out of its bounds")
        return r


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
