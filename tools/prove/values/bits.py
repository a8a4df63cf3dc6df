"""Operations on single bits, for bit-sliced AES, if terms.bitwise is set.

A bit is an exclusive or of base bits: bits of inputs, of the specification's S-boxes, and of products. It is known
by its image in GF(2^128) (terms.py). The image of a base bit is random, and that of a sum is the sum of the images.
So two different sums have equal images with a probability of 2^-128.

An "and" of bits should be a function of the input of one S-box. The specification names these inputs: a group is
eight bits x that are one. The operands may have any linear image of x, inverted or not. The bit is stored as the
truth table for all 256 values of x, with the linear part separate. If the rest of the table is that of a sum of
output bits of a specified S-box for x, the bit becomes that sum. So an S-box is correct if its outputs
are, for any gates inside and any basis of the bits. Everything between S-boxes is linear. An "and" of other bits stops
the run, so an error is refused at the first S-box that it reaches.
"""
import functools
import sys

from values import terms
from values.terms import SBOX, Unproved, atom, cat, const

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
    """Converts a truth table to its algebraic normal form, and back."""
    for n, low in STEPS:
        table ^= (table & low) << n
    return table


def sums_of(numbers):
    """Returns all sums of some numbers, indexed by the mask of the numbers in the sum."""
    found = [0]
    for n in numbers:
        found += [n ^ x for x in found]
    return found


class Group:
    """Eight bits that are the input of S-boxes. For each S-box, known has the masks of sums of its outputs by normal
    form, and the images of these sums."""

    def __init__(self, number, basis):
        self.number, self.basis, self.known = number, basis, []  # the latest first

    def affine(self, form):
        """The image of the affine part of a normal form."""
        r = form & 1
        for k in range(8):
            if form >> (1 << k) & 1:
                r ^= self.basis[k]
        return r

    def output(self, form):
        """The image of the sum of outputs that has this normal form, ignoring the affine part, or None."""
        for masks, images in self.known:
            m = masks.get(form)
            if m is not None:
                return images[m]
        return None

    def bit(self, form):
        """The bit with a normal form."""
        image, rest = self.affine(form), form & NOT_AFFINE
        if not rest:
            return make(image)
        h = self.output(rest)
        return make(image, ((self.number, rest),)) if h is None else make(image ^ h)


# A bit is a number: 0 and 1 are themselves, and UNKNOWN is a bit with any value. For each bit, these lists have its
# piece, the image of its linear part, and ((group, normal form of the rest), ...).
UNKNOWN = 2
PIECES, IMAGES, PARTS = [(terms.CONST, 0, 1), (terms.CONST, 1, 1), (terms.TAINT, 0, 1)], [0, 1, None], [(), (), ()]
groups = []
spans = {}  # image with bit 0 set -> [(group, mask, image)]
linear, mixed = {0: 0, 1: 1}, {}  # image -> bit; (image, parts) -> bit
_numbers, _bits, _ands, _xors, _tables, _rows = {}, {}, {}, {}, {}, {}


def forget():
    for known in (PIECES, IMAGES, PARTS):
        del known[3:]
    groups.clear()
    for d in (spans, linear, mixed, _numbers, _bits, _ands, _xors, _tables, _rows, columns):
        d.clear()
    linear.update({0: 0, 1: 1})


def number(piece, image, parts):
    n = _numbers[piece] = len(PIECES)
    PIECES.append(piece)
    IMAGES.append(image)
    PARTS.append(parts)
    return n


def bit_of(atom_, low):
    """The number of a bit of an atom."""
    piece = atom_, low, 1
    r = _numbers.get(piece)
    if r is None:
        a = terms.ATOMS[atom_]
        image = terms.times_y(a.image_from(low + 1), 1) ^ a.image_from(low)
        r = number(piece, image, ())
        linear.setdefault(image, r)
    return r


def make(image, parts=()):
    """The number of the bit with this image and these parts."""
    r = mixed.get((image, parts)) if parts else linear.get(image)
    if r is None:
        a = terms.Atom(len(terms.ATOMS), "bit", (), None, 1, 1)
        if not parts:
            a.images = {0: image}  # otherwise it is random
        terms.ATOMS.append(a)
        r = number((a.number, 0, 1), image, parts)
        if parts:
            mixed[image, parts] = r
        else:
            linear[image] = r
    return r


def bits_of(v):
    """The numbers of a value's bits."""
    r = _bits.get(v)
    if r is None:
        r = []
        for n, low, w in v.pieces:
            if n == terms.CONST:
                r += [low >> i & 1 for i in range(w)]
            elif n < terms.CONST:
                r += [UNKNOWN] * w
            else:
                r += [bit_of(n, i) for i in range(low, low + w)]
        _bits[v] = r
    return r


def value(found):
    """The value with these bits."""
    r = terms.join([PIECES[i] for i in found], len(found))
    _bits[r] = found
    return r


def register(v, out):
    """Declares that the specification has an S-box from v to out."""
    found = bits_of(v)
    if any(PARTS[i] for i in found):
        raise Unproved("the specification's S-box has an input that is not linear")
    forms = [IMAGES[i] for i in found]
    for g, mask, constant in groups_with(forms[0]):
        found = [next(((m, c) for g2, m, c in groups_with(f) if g2 == g), None) for f in forms]
        if None not in found:
            for d in (_ands, _xors, _tables):  # their results used less information
                d.clear()
            terms.forget_results()
            break
    else:
        g, all_, found = len(groups), sums_of(forms), tuple((1 << k, 0) for k in range(8))
        if len({x | 1 for x in all_}) != 256:
            raise Unproved("an S-box whose input is not free")
        groups.append(Group(g, forms))
        for m, x in enumerate(all_):
            if m:
                spans.setdefault(x | 1, []).append((g, m, x))
    out_forms, masks = outputs(tuple(found))
    images = [IMAGES[i] for i in bits_of(out)]
    groups[g].known.insert(0, (masks, sums_of([i ^ groups[g].affine(f) for i, f in zip(images, out_forms)])))


@functools.lru_cache(1000)
def outputs(inputs):
    """Returns the normal forms of an S-box's outputs over a group's basis. The inputs are (mask, constant) over the
    same basis. Also returns the masks of sums of outputs, by their normal forms without the affine part."""
    tables = [LINEAR[m] ^ (FULL if c else 0) for m, c in inputs]
    at = [sum((t >> x & 1) << i for i, t in enumerate(tables)) for x in range(256)]
    forms = [normal_form(sum((SBOX[at[x]] >> k & 1) << x for x in range(256))) for k in range(8)]
    return forms, {f: m for m, f in enumerate(sums_of([f & NOT_AFFINE for f in forms])) if m}


def groups_with(image):
    """Returns (group, mask of its basis, constant) for each group in whose inputs a sum of base bits is linear."""
    return [(g, m, (x ^ image) & 1) for g, m, x in spans.get(image | 1, ())]


def xor_bits(x, y):
    if not (PARTS[x] and PARTS[y]):
        return make(IMAGES[x] ^ IMAGES[y], PARTS[x] or PARTS[y])
    key = x << 32 | y
    r = _xors.get(key)
    if r is None:
        image, parts = IMAGES[x] ^ IMAGES[y], dict(PARTS[x])
        for g, f in PARTS[y]:
            f ^= parts.pop(g, 0)
            if f:
                h = groups[g].output(f)
                if h is None:
                    parts[g] = f
                else:
                    image ^= h
        r = _xors[key] = make(image, tuple(sorted(parts.items())))
    return r


def table_over(x, g):
    """The truth table of a bit over a group's basis, or None."""
    key = x << 32 | g
    if key not in _tables:
        image, parts = IMAGES[x], PARTS[x]
        if image < 2:
            mask, constant = 0, image
        else:
            mask, constant = next(((m, c) for g2, m, c in groups_with(image) if g2 == g), (None, 0))
        if mask is None or len(parts) > 1 or (parts and parts[0][0] != g):
            _tables[key] = None
        else:
            _tables[key] = (normal_form(parts[0][1]) if parts else 0) ^ LINEAR[mask] ^ (FULL if constant else 0)
    return _tables[key]


def candidates(x):
    """The groups of whose inputs a bit may be a function."""
    return [PARTS[x][0][0]] if PARTS[x] else [g for g, _, _ in spans.get(IMAGES[x] | 1, ())]


def and_bits(x, y):
    if x == y:
        return x
    key = x << 32 | y if x < y else y << 32 | x
    r = _ands.get(key)
    if r is None:
        found = candidates(x)
        if len(found) != 1:
            found = candidates(y) or found
        for g in found:
            s, t = table_over(x, g), table_over(y, g)
            if s is not None and t is not None:
                r = groups[g].bit(normal_form(s & t))
                break
        else:
            raise Unproved("an and of bits that are no functions of the input of one S-box")
        _ands[key] = r
    return r


def group_of(found):
    """Returns a group of whose inputs all the bits are functions, and their tables; or None."""
    for x in found:
        if x > 1:
            for g in candidates(x):
                tables = [table_over(v, g) for v in found]
                if None not in tables:
                    return g, tables
            return None
    return None


@functools.lru_cache(1000)
def looked_up(values, tables):
    """Returns the normal forms of the bits of the byte values[index], or of the old byte if the index is too great.
    Both are given by the truth tables of their bits."""
    at = [sum((t >> x & 1) << i for i, t in enumerate(tables[:8])) for x in range(256)]
    return [normal_form(sum((values[at[x]] >> k & 1 if at[x] < len(values) else tables[8 + k] >> x & 1) << x for x in range(256)))
            for k in range(8)]


def look_up(table, control, before):
    """Looks up a byte in a table of constants. control is the index; before is the result if the index is too great."""
    index, old = bits_of(control), bits_of(before)
    values = [e.constant for e in table]
    if None in values:
        return look_up_linear(table, index)
    if found := group_of([*index, *old]):
        g, tables = found
        return value([groups[g].bit(f) for f in looked_up(tuple(values), tuple(tables))])
    # Otherwise, the byte must be a linear function of the index bits that are not constant.
    free = [i for i, v in enumerate(index) if v > 1]
    base = sum(v << i for i, v in enumerate(index) if v < 2)
    weights = [1 << i for i in free]
    steps = [values[base + w] ^ values[base] for w in weights] if base + sum(weights) < len(values) else None
    if steps is not None and all(values[base + at] == values[base] ^ d for at, d in zip(sums_of(weights), sums_of(steps))):
        r = const(values[base], 8)
        for i, d in zip(free, steps):
            r = terms.xor(r, value([index[i] if d >> k & 1 else 0 for k in range(8)]))
        return r
    raise Unproved("a lookup that is no function of the input of one S-box")


def look_up_linear(table, index):
    """Looks up a byte in a table of data that is a linear function of the index. The result is a sum of products of
    bits, as in a multiplication. The image of a product of bits is the product of their images, so equal sums of
    products have equal images."""
    free = [(i, v) for i, v in enumerate(index) if v > 1]
    base = sum(v << i for i, v in enumerate(index) if v < 2)
    key = tuple(table), base, tuple(i for i, _ in free)
    if key not in _rows:
        _rows[key] = rows_of(table, base, [1 << i for i, _ in free])
    if any(PARTS[v] for _, v in free):
        raise Unproved("an index of a table of data that is no linear function")
    out = []
    for image, *steps in _rows[key]:
        for (_, u), v in zip(free, steps):
            image ^= terms.field_product(IMAGES[u], v)
        out.append(make(image))
    return value(out)


def rows_of(table, base, weights):
    """Returns, for each bit of a table's bytes, its image at index `base`, and how much each bit of the index changes
    it."""
    sums = sums_of([table[base + w].image ^ table[base].image for w in weights])
    if any(table[base + at].image != table[base].image ^ s for at, s in zip(sums_of(weights), sums)):
        raise Unproved("a table of data that is no linear function of the index")
    rows = list(zip(*(bits_of(v) for v in (table[base], *(terms.xor(table[base + w], table[base]) for w in weights)))))
    if any(PARTS[x] for row in rows for x in row):
        raise Unproved("a table of data whose bits are no sums")
    return [[IMAGES[x] for x in row] for row in rows]


def operation(kind, a, b):
    """Computes xor, both (and) or either (or)."""
    if kind == "xor":
        return value([UNKNOWN if x == UNKNOWN or y == UNKNOWN else xor_bits(x, y) if PARTS[x] or PARTS[y] else
                      r if (r := linear.get(IMAGES[x] ^ IMAGES[y])) is not None else make(IMAGES[x] ^ IMAGES[y])
                      for x, y in zip(bits_of(a), bits_of(b))])
    out = []
    for x, y in zip(bits_of(a), bits_of(b)):
        if x == UNKNOWN or y == UNKNOWN:
            out.append(UNKNOWN)
            continue
        if x < 2:
            x, y = y, x
        if y < 2:
            out.append(x if y == (kind == "both") else y)
        elif kind == "both":
            out.append(and_bits(x, y))
        else:
            out.append(xor_bits(xor_bits(x, y), and_bits(x, y)))
    return value(out)


def mix_column(v):
    """FIPS 197, 5.1.3, as exclusive ors of the four bytes' bits."""
    b = bits_of(v)
    if any(PARTS[x] for x in b):
        raise Unproved("MixColumns of bits that are no sums")
    image = [[IMAGES[x] for x in b[i:i + 8]] for i in range(0, 32, 8)]
    # Multiplication by x modulo x^8 + x^4 + x^3 + x + 1.
    twice = [[a[7], a[0] ^ a[7], a[1], a[2] ^ a[7], a[3] ^ a[7], *a[4:7]] for a in image]
    return value([make(twice[i][k] ^ twice[(i + 1) % 4][k] ^ image[(i + 1) % 4][k] ^ image[(i + 2) % 4][k] ^ image[(i + 3) % 4][k])
                  for i in range(4) for k in range(8)])


# Integer products of numbers with every fourth or fifth bit. Value -> for each column: the position of its lowest bit,
# that bit, and the greatest count of the column. While no column overflows into the next, its lowest bit is the sum
# modulo 2.
columns = {}


def sparse(ones):
    return not ones & (ones << 1 | ones << 2 | ones << 3)


@functools.cache
def inverse_power(y, n):
    return terms.field_power(y, ((1 << 128) - 1 - n) % ((1 << 128) - 1))


def spread_product(a, b):
    """The product of two such integers, or None."""
    x, y = a.ones, b.ones
    if not x or not y or not sparse(x) or not sparse(y) or a.width > 64 or b.width > 64:
        return None
    width, bound = 64 if max(a.width, b.width) <= 32 else 128, {}
    for i in range(a.width):
        for j in range(b.width) if x >> i & 1 else ():
            if y >> j & 1:
                bound[i + j] = bound.get(i + j, 0) + 1
    # The sums modulo 2 are all the nonzero bits of the product as polynomials. So one of them follows from the others.
    made, rest = {}, terms.field_product(a.image, b.image)
    order = sorted(bound)
    for i in order:
        v = made[i] = atom("column", (a, b), i, 1, 1)
        image = terms.RANDOM.getrandbits(128) if i != order[-1] else \
            terms.field_product(rest, inverse_power(terms.Y_POWERS[1], i))
        terms.ATOMS[v.pieces[0][0]].images = {0: image}
        rest ^= terms.field_product(image, terms.Y_POWERS[i])
    return of_columns({i: (made[i], n) for i, n in bound.items()}, width)


def of_columns(found, width):
    out, at = [], 0
    for i in sorted(found):
        v, n = found[i]
        w = n.bit_length()
        if i < at or i + w > width:
            return None
        if i > at:
            out.append(const(0, i - at))
        out += [v] + ([terms.fresh(w - 1)] if w > 1 else [])
        at = i + w
    if at < width:
        out.append(const(0, width - at))
    r = cat(*out)
    columns[r] = found
    return r


def spread_sum(a, b):
    if a not in columns and b not in columns:
        return None
    x, y = (columns.get(v) or sparse(v.ones) and {i: (terms.cut(v, i, 1), 1) for i in range(v.width) if v.ones >> i & 1} for v in (a, b))
    if x is False or y is False:
        return None
    found = dict(x)
    for i, (v, n) in y.items():
        if i in found:
            found[i] = terms.xor(found[i][0], v), found[i][1] + n
        else:
            found[i] = v, n
    return of_columns(found, a.width)


terms.bits = sys.modules[__name__]
