"""Bit operations bit by bit, for AES made of them ("bit-sliced"), when terms.bitwise is set.

A bit is an exclusive or of base bits (bits of inputs, of the specification's S-boxes, of products), known by its image in
GF(2^128) (terms.py): every base bit's is random, and that of a sum is the sum, so that two different sums have one image
with a probability of 2^-128.

An "and" of bits is a function of the input of one S-box: of eight bits x of which it knows, from the specification, that
they are one (a group; x may be any linear image of them, inverted or not). It is kept by its truth table for all 256
values, its linear part apart. Where the rest of the table is that of a sum of output bits of an S-box of the specification
with this input, the bit is that sum again. So an S-box is right if its outputs are, whatever gates it is made of and
whatever basis the bits are held in; all between S-boxes is linear. With `strict`, an "and" of other bits stops the run:
a kernel has none where each of its lanes has a block, so that an error is refused where it first comes to an S-box.
"""
import functools
import sys

from values import terms
from values.terms import SBOX, Unproved, atom, cat, const, cut, tainted

FULL = (1 << 256) - 1
VARIABLES = [sum(1 << i for i in range(256) if i >> k & 1) for k in range(8)]
LINEAR = []  # truth tables of the 256 linear functions
for _m in range(256):
    _t = 0
    for _k in range(8):
        if _m >> _k & 1:
            _t ^= VARIABLES[_k]
    LINEAR.append(_t)
NOT_AFFINE = FULL ^ sum(1 << i for i in (0, 1, 2, 4, 8, 16, 32, 64, 128))
STEPS = [(1 << k, FULL & ~VARIABLES[k]) for k in range(8)]


def normal_form(table):
    """Table to algebraic normal form, and back."""
    for n, low in STEPS:
        table ^= (table & low) << n
    return table


def sums_of(numbers):
    """All 256 sums of eight numbers, by the mask of those in it."""
    found = [0]
    for n in numbers:
        found += [n ^ x for x in found]
    return found


SBOX_FORMS = [normal_form(sum(1 << x for x in range(256) if SBOX[x] >> k & 1)) for k in range(8)]
SBOX_SUMS = sums_of([f & NOT_AFFINE for f in SBOX_FORMS])


class Group:
    def __init__(self, basis):
        self.basis, self.known = basis, {}

    def affine(self, form):
        """The image of the affine part of a normal form."""
        r = form & 1
        for k in range(8):
            if form >> (1 << k) & 1:
                r ^= self.basis[k]
        return r


groups = []
spans = {}  # image, with its constant set -> [(group, mask, image)]
linear = {}  # image -> value
_parsed, _bits, _ands, _xors, _tables, _single, _rows = {}, {}, {}, {}, {}, {}, {}
strict = False


def forget():
    groups.clear()
    for d in (spans, linear, _parsed, _bits, _ands, _xors, _tables, _single, _rows, columns):
        d.clear()


def parse(v):
    """(image of the linear part, ((group, normal form of the rest), ...)) of a bit."""
    r = _parsed.get(v)
    if r is None:
        r = _parsed[v] = v.image, ()
        linear.setdefault(v.image, v)
    return r


def make(image, parts):
    if image < 2 and not parts:
        return const(image, 1)
    v = None if parts else linear.get(image)
    if v is None:
        if parts:
            v = atom("mixed", (), (image, parts), 1, 1)
        else:
            v = linear[image] = atom("bit", (), image, 1, 1)
            terms.ATOMS[v.pieces[0][0]].images[0] = image
        _parsed[v] = image, parts
    return v


def register(v, out):
    """The specification has an S-box from v to out."""
    forms = [parse(cut(v, i, 1)) for i in range(8)]
    if any(parts for _, parts in forms):
        raise Unproved("the specification's S-box has an input that is not linear")
    forms = [f for f, _ in forms]
    for g, mask, constant in groups_with(forms[0]):
        found = [next(((m, c) for g2, m, c in groups_with(f) if g2 == g), None) for f in forms]
        if None not in found:
            for d in (_ands, _xors, _tables):  # which knew less
                d.clear()
            terms.forget_operations()
            break
    else:
        g, all_, found = len(groups), sums_of(forms), None
        if len({x | 1 for x in all_}) != 256:
            raise Unproved("an S-box whose input is not free")
        groups.append(Group(forms))
        for m, x in enumerate(all_):
            if m:
                spans.setdefault(x | 1, []).append((g, m, x))
    group = groups[g]
    # The S-box's outputs over the group's basis.
    out_forms, sums = SBOX_FORMS, SBOX_SUMS
    if found:
        inputs = [LINEAR[m] ^ (FULL if c else 0) for m, c in found]
        at = [sum((t >> x & 1) << i for i, t in enumerate(inputs)) for x in range(256)]
        out_forms = [normal_form(sum((SBOX[at[x]] >> k & 1) << x for x in range(256))) for k in range(8)]
        sums = sums_of([f & NOT_AFFINE for f in out_forms])
    images = sums_of([cut(out, k, 1).image ^ group.affine(f) for k, f in enumerate(out_forms)])
    group.known.update(zip(sums[1:], images[1:]))


def groups_with(image):
    """(group, mask of its basis, constant) of the groups in whose inputs a sum of base bits is linear."""
    return [(g, m, (x ^ image) & 1) for g, m, x in spans.get(image | 1, ())]


def bits_of(v):
    r = _bits.get(v)
    if r is None:
        r = []
        for n, low, w in v.pieces:
            if n == terms.CONST:
                r += [const(low >> i & 1, 1) for i in range(w)]
            elif n < terms.CONST:
                r += [terms._intern(((n, 0, 1),), 1)] * w
            else:
                for i in range(low, low + w):
                    b = _single.get((n, i))
                    if b is None:
                        b = _single[n, i] = terms._intern(((n, i, 1),), 1)
                    r.append(b)
        _bits[v] = r
    return r


def xor_bits(x, y):
    if x is y:
        return const(0, 1)
    r = _xors.get((x, y))
    if r is None:
        (a, p), (b, q) = parse(x), parse(y)
        image = a ^ b
        if p and q:
            parts = dict(p)
            for g, f in q:
                f ^= parts.pop(g, 0)
                if f:
                    h = groups[g].known.get(f)
                    if h is None:
                        parts[g] = f
                    else:
                        image ^= h
            parts = tuple(sorted(parts.items()))
        else:
            parts = p or q
        r = _xors[x, y] = make(image, parts)
    return r


def table_over(v, g):
    """The truth table of a bit over a group's basis, or None."""
    key = (v, g)
    if key not in _tables:
        image, parts = parse(v)
        if image < 2:
            mask, constant = 0, image
        else:
            mask, constant = next(((m, c) for g2, m, c in groups_with(image) if g2 == g), (None, 0))
        if mask is None or len(parts) > 1 or (parts and parts[0][0] != g):
            _tables[key] = None
        else:
            _tables[key] = (normal_form(parts[0][1]) if parts else 0) ^ LINEAR[mask] ^ (FULL if constant else 0)
    return _tables[key]


def and_bits(x, y):
    if x is y:
        return x
    r = _ands.get((x, y))
    if r is None:
        for v in (x, y):
            image, parts = parse(v)
            candidates = [parts[0][0]] if parts else [g for g, _, _ in spans.get(image | 1, ())]
            if len(candidates) == 1 or (candidates and v is y):
                break
        for g in candidates:
            s, t = table_over(x, g), table_over(y, g)
            if s is not None and t is not None:
                f = normal_form(s & t)
                image, f = groups[g].affine(f), f & NOT_AFFINE
                h = groups[g].known.get(f)
                r = make(image, ((g, f),)) if f and h is None else make(image ^ (h or 0), ())
                break
        else:
            if strict:
                raise Unproved("an and of bits that are no functions of the input of one S-box")
            r = atom("and", frozenset((x, y)), None, 1, 1)
        _ands[x, y] = _ands[y, x] = r
    return r


def group_of(found):
    """A group that all of the bits are functions of the input of, with their tables; or None."""
    for v in found:
        image, parts = parse(v)
        if image >= 2 or parts:
            for g in [parts[0][0]] if parts else [g for g, _, _ in spans.get(image | 1, ())]:
                tables = [table_over(v, g) for v in found]
                if None not in tables:
                    return g, tables
            return None
    return None


@functools.lru_cache(1000)
def looked_up(values, tables):
    """The normal forms of the bits of a byte that is values[index], or the byte before: bits of both by their truth tables."""
    at = [sum((t >> x & 1) << i for i, t in enumerate(tables[:8])) for x in range(256)]
    return [normal_form(sum((values[at[x]] >> k & 1 if at[x] < len(values) else tables[8 + k] >> x & 1) << x for x in range(256)))
            for k in range(8)]


def look_up(table, control, before):
    """The byte of a table of constants that control says; before, if it says none of them."""
    index, old = bits_of(control), bits_of(before)
    values = [e.constant for e in table]
    if None in values:
        return look_up_linear(table, index)
    if found := group_of([*index, *old]):
        g, tables = found
        out = []
        for f in looked_up(tuple(values), tuple(tables)):
            image, f = groups[g].affine(f), f & NOT_AFFINE
            h = groups[g].known.get(f)
            out.append(make(image, ((g, f),)) if f and h is None else make(image ^ (h or 0), ()))
        return cat(*out)
    # Or a linear function of the bits that are no constants.
    free = [i for i, v in enumerate(index) if v.constant is None]
    base = sum(v.constant << i for i, v in enumerate(index) if v.constant is not None)
    linear_ = True
    for m in range(1 << len(free)):
        at = base + sum(1 << free[j] for j in range(len(free)) if m >> j & 1)
        want = values[base] if base < len(values) else None
        for j in range(len(free)):
            if m >> j & 1 and want is not None and base + (1 << free[j]) < len(values):
                want ^= values[base] ^ values[base + (1 << free[j])]
        if at >= len(values) or want != values[at]:
            linear_ = False
            break
    if linear_:
        r = const(values[base], 8)
        for j in free:
            d = values[base] ^ values[base + (1 << j)]
            r = terms.xor(r, cat(*(index[j] if d >> k & 1 else const(0, 1) for k in range(8))))
        return r
    if strict:
        raise Unproved("a lookup that is no function of the input of one S-box")
    return atom("look", (control, before, *table), None, 8, 255)


def look_up_linear(table, index):
    """The same of a table of data that is a linear function of the index: a sum of products of bits, as a multiplication is. The image
    of a product of bits is that of their images, so that equal sums of products have equal images."""
    free = [(i, v) for i, v in enumerate(index) if v.constant is None]
    base = sum(v.constant << i for i, v in enumerate(index) if v.constant is not None)
    key = tuple(table), base, tuple(i for i, _ in free)
    if key not in _rows:
        _rows[key] = rows_of(table, base, [1 << i for i, _ in free])
    inputs = [parse(v) for _, v in free]
    if any(parts for _, parts in inputs):
        raise Unproved("an index of a table of data that is no linear function")
    out = []
    for image, *steps in _rows[key]:
        for (u, _), v in zip(inputs, steps):
            image ^= terms.field_product(u, v)
        out.append(make(image, ()))
    return cat(*out)


def rows_of(table, base, weights):
    """Of each bit of a table's bytes its image where the index is `base`, and by how much each bit of the index changes it."""
    sums = sums_of([table[base + w].image ^ table[base].image for w in weights])
    if any(table[base + at].image != table[base].image ^ s for at, s in zip(sums_of(weights), sums)):
        raise Unproved("a table of data that is no linear function of the index")
    rows = [[parse(cut(v, k, 1)) for v in (table[base], *(terms.xor(table[base + w], table[base]) for w in weights))] for k in range(8)]
    if any(parts for row in rows for _, parts in row):
        raise Unproved("a table of data whose bits are no sums")
    return [[image for image, _ in row] for row in rows]


def operation(kind, a, b):
    """xor, both (and) or either (or)."""
    out = []
    for x, y in zip(bits_of(a), bits_of(b)):
        (n, low, _), (k, high, _) = x.pieces[0], y.pieces[0]
        if n < terms.CONST or k < terms.CONST:
            out.append(tainted(1))
            continue
        c, d = low if n == terms.CONST else None, high if k == terms.CONST else None
        if c is not None:
            x, y, c, d = y, x, d, c
        if kind == "xor":
            out.append(x if d == 0 else xor_bits(x, y))
        elif d is not None:
            out.append((y if d == 0 else x) if kind == "both" else (x if d == 0 else y))
        elif kind == "both":
            out.append(and_bits(x, y))
        else:
            out.append(xor_bits(xor_bits(x, y), and_bits(x, y)))
    r = cat(*out)
    _bits[r] = out
    return r


# Integer products of every fourth bit: a value -> how much may stand in each column of four bits. While it is less than 16, the lowest
# bit of a column is the sum modulo 2.
columns = {}


def spread_product(a, b):
    """The product of two such integers, or None."""
    found = [v.ones for v in (a, b)]
    lows = [((o & -o).bit_length() - 1) % 4 for o in found]
    if any(o == 0 or (o >> n) & ~0x1111111111111111 for o, n in zip(found, lows)) or a.width > 32 or b.width > 32:
        return None
    at, bound = sum(lows), {}
    for i in range(lows[0], a.width, 4):
        for j in range(lows[1], b.width, 4):
            if found[0] >> i & 1 and found[1] >> j & 1:
                bound[i + j] = bound.get(i + j, 0) + 1
    # The sums modulo 2 are all the bits of the product as polynomials that are not zero: it says one of them by the others.
    made, rest = {}, terms.field_product(a.image, b.image)
    order = sorted(bound)
    for i in order:
        v = made[i] = atom("column", (a, b), i, 1, 1)
        image = terms.RANDOM.getrandbits(128) if i != order[-1] else \
            terms.field_product(rest, terms.field_power(terms.Y_POWERS[1], ((1 << 128) - 1 - i) % ((1 << 128) - 1)))
        terms.ATOMS[v.pieces[0][0]].images[0] = image
        rest ^= terms.field_product(image, terms.Y_POWERS[i])
    return of_columns({i: (made[i], n) for i, n in bound.items()}, at % 4)


def of_columns(found, shift):
    out, at = [], 0
    for i in sorted(found):
        v, n = found[i]
        if i > at:
            out.append(const(0, i - at))
        w = n.bit_length()
        if i + w > 64 or w > 4:
            return None
        out += [v] + ([terms.fresh(w - 1)] if w > 1 else [])
        at = i + w
    if at < 64:
        out.append(const(0, 64 - at))
    r = cat(*out)
    columns[r] = shift, found
    return r


def spread_sum(a, b):
    x, y = columns.get(a), columns.get(b)
    if x is None or y is None or x[0] != y[0]:
        return None
    found = dict(x[1])
    for i, (v, n) in y[1].items():
        if i in found:
            found[i] = terms.xor(found[i][0], v), found[i][1] + n
        else:
            found[i] = v, n
    return of_columns(found, x[0])


terms.bits = sys.modules[__name__]
