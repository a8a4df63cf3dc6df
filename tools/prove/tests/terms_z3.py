"""Compares the operations of values/terms.py with Z3, and the specification with published vectors.

    tests.terms_z3 [--count N] [--seed S] [--plant value | bound]

The test builds random expressions in values/terms.py, and separately as bit vectors for Z3 that are wide enough for every
result. Z3 checks that no value exceeds its bound, and evaluates it for random inputs as columns.py does.
--plant makes the values one too large, or the bounds one too small, which the test must find.
"""
import argparse
import collections
import random

import numpy as np
import z3
import spec
from run import modes
from run.report import summary
from spec import modes as aes
from tests import columns
from values import terms
from values.terms import add, cat, const, cut, either, exact_sum, extend, merge, product, rotate_left, shift_left, shift_right, subtract, symbol, xor

WIDE = 256
Pair = collections.namedtuple("Pair", "value other")  # a value, and the bit vector of WIDE bits that stands for it in Z3


def low(other, width):
    return other & z3.BitVecVal((1 << width) - 1, WIDE)


def grow(rng, pool):
    """A value made from two of the pool."""
    a, b = rng.choice(pool), rng.choice(pool)
    w = rng.choice((32, 64, 64))
    x, y = Pair(extend(a.value, w), low(a.other, w)), Pair(extend(b.value, w), low(b.other, w))
    kind = rng.choice("add sub mul cut shift merge xor rotate carry join".split())
    if kind in ("add", "carry"):
        r, c = add(w, x.value, y.value, closely=True)
        s = x.other + y.other
        return Pair(r, low(s, w)) if kind == "add" else Pair(c, z3.LShR(s, w))
    if kind == "sub":
        r, borrow = subtract(w, x.value, y.value)
        return Pair(cat(r, borrow), low(x.other - y.other, w) | z3.If(z3.ULT(x.other, y.other), z3.BitVecVal(1 << w, WIDE), z3.BitVecVal(0, WIDE)))
    if kind == "mul":
        p = product(cut(x.value, 0, 32), cut(y.value, 0, 32))
        return Pair(extend(p, 64), low(x.other, 32) * low(y.other, 32))
    if kind == "cut":
        at, n = rng.randrange(a.value.width), rng.choice((1, 2, 3, 8, 26, 32, 44))
        return Pair(cut(a.value, at, n), low(z3.LShR(a.other, at), n))
    if kind == "shift":
        n = rng.randrange(w)
        return Pair(shift_left(x.value, n), low(x.other << n, w)) if rng.random() < 0.5 else Pair(shift_right(x.value, n), z3.LShR(x.other, n))
    if kind == "merge":
        n = rng.randrange(1, w)
        u, v = extend(cut(x.value, 0, n), w), shift_left(extend(cut(y.value, 0, w - n), w), n)
        return Pair((merge if rng.random() < 0.5 else either)(u, v), low(x.other, n) | low(low(y.other, w - n) << n, w))
    if kind == "xor":
        return Pair(xor(x.value, y.value), x.other ^ y.other)
    if kind == "join":
        c = rng.getrandbits(16)
        s = exact_sum([(1, x.value), (1, y.value), (1, cut(x.value, w // 2, w // 2))], c, fit=w)
        return Pair(s, x.other + y.other + z3.LShR(x.other, w // 2) + c)
    n = rng.randrange(w)
    return Pair(rotate_left(x.value, n), low(x.other << n, w) | z3.LShR(x.other, w - n))


def constant(text):
    data = bytes.fromhex(text)
    return const(int.from_bytes(data, "little"), 8 * len(data))


def vectors():
    """(source, the specification's result, the published bytes)."""
    words = lambda v: [cut(v, i, 32) for i in range(0, v.width, 32)]
    counting = bytes(range(32)).hex()
    yield "RFC 8439, 2.3.2", spec.chacha20_block(words(constant(counting)), 1, words(constant("000000090000004a00000000"))), \
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4ed2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
    r, s = spec.one_time_key(constant("85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b"))
    h = spec.poly1305(0, r, constant(b"Cryptographic Forum Research Group".hex()))
    yield "RFC 8439, 2.5.2", const(h + s.constant, 128), "a8061dc1305136c6c22b8baf0c0127a9"
    plain = constant("00112233445566778899aabbccddeeff")
    for n, answer in (16, "69c4e0d86a7b0430d8cdb78070b4c55a"), (24, "dda97ca4864cdfe06eaf70a0ec0d7191"), (32, "8ea2b7ca516745bfeafc49904b496089"):
        schedule = spec.key_schedule(constant(counting[:2 * n]))
        yield f"FIPS 197, C, {8 * n} bits", spec.aes(schedule, plain), answer
        yield f"FIPS 197, C, {8 * n} bits, inverse", aes.decrypt(aes.inverse_schedule(schedule), constant(answer)), "00112233445566778899aabbccddeeff"
    zero = spec.key_schedule(const(0, 128))
    hash_key = spec.field_element(spec.aes(zero, const(0, 128)))
    y = spec.ghash(0, hash_key, constant("0388dace60b6a392f328c2b971b2fe78" + 15 * "00" + "80"))
    yield "GCM, test case 2", const(y ^ spec.field_element(constant("f38cbb1ad69223dcc3457ae5b6b0f885")), 128), 32 * "0"
    out, _ = aes.result_of(modes.XTS_ENCRYPT, zero, const(0, 256), spec.aes(zero, const(0, 128)))
    yield "IEEE 1619, vector 1", out, "917cf69ebd68b2ec9b9fe9a3eadda692cd43d2f59598ed858c02c2652fbf922e"


def wrong(pair, bounds, rng, plant):
    """How the two differ, or None."""
    v = pair.value
    if v.width > 128 or not v.defined:
        return None
    names = sorted(bounds)
    rows = 12
    given = {n: [rng.choice((0, bounds[n][1], rng.randrange(bounds[n][1] + 1))) for _ in range(rows)] for n in names}
    evaluated = columns.Columns(lambda n: np.array(given[n], dtype=object), rows).value(v)
    for i in range(rows):
        mine = evaluated[i]
        put = [(z3.BitVec(n, bounds[n][0]), z3.BitVecVal(given[n][i], bounds[n][0])) for n in names]
        theirs = z3.simplify(z3.substitute(low(pair.other, v.width), *put)).as_long()
        if mine + (plant == "value") != theirs:
            return f"{mine:#x} and not {theirs:#x}"
        if theirs > v.most - (plant == "bound") or plant is None and theirs & ~v.ones:
            return f"{theirs:#x} is more than {v.most:#x}, or has other bits than {v.ones:#x}"
    solver = z3.Solver()
    solver.set("rlimit", 300_000)
    solver.add(*(z3.ULE(z3.BitVec(n, bounds[n][0]), bounds[n][1]) for n in names), z3.UGT(low(pair.other, v.width), z3.BitVecVal(v.most, WIDE)))
    if solver.check() == z3.sat:
        return f"can be more than {v.most:#x}: {solver.model()}"
    return None


def checks(args):
    """(what, how it is wrong or None)"""
    rng = random.Random(args.seed)
    for what, value, published in vectors():
        good = value.constant == constant(published).constant and value.width == 4 * len(published)
        yield what, None if good else f"{value} and not {published}"
    for n in range(args.count):
        terms.forget()
        bounds = {f"x{i}": (w, rng.choice(((1 << w) - 1, (1 << w) - 1, rng.getrandbits(w)))) for i, w in enumerate((64, 64, 32, 32, 3, 1))}
        pool = [Pair(symbol(name, width, most), z3.ZeroExt(WIDE - width, z3.BitVec(name, width))) for name, (width, most) in bounds.items()]
        for _ in range(8):
            pool.append(grow(rng, pool))
            yield f"expression {n}: {pool[-1].value}", (why := wrong(pool[-1], bounds, rng, args.plant))
            if why:
                break


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plant", choices=("value", "bound"))
    args = parser.parse_args()
    return summary("terms", checks(args), first=args.plant)
