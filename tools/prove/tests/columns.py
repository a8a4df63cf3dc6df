"""Evaluates a value for many inputs at once. A column has one 64-bit number for each input, and wider values have two columns."""
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


def gmul(a, b):
    """Blocks of GHASH with their bytes reversed: bit i is that of x^(127 - i). Of 128 bits each."""
    (lo, hi), (b_lo, b_hi) = ((v[0], np.zeros_like(v[0]) if v[1] is None else v[1]) for v in (a, b))
    out_lo, out_hi = np.zeros_like(lo), np.zeros_like(lo)
    for i in reversed(range(128)):
        take = -((b_hi >> i - 64 if i >= 64 else b_lo >> i) & 1)
        out_lo, out_hi = out_lo ^ lo & take, out_hi ^ hi & take
        lo, hi = lo >> 1 | hi << 63, hi >> 1 ^ (lo & 1) * np.uint64(0xe1 << 56)
    return out_lo, out_hi


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
        if kind == "gmul":
            return gmul(*v)
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
