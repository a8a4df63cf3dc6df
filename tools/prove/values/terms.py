"""Values of a known width, whose bits are constants, undefined, or slices of atoms.

A value is a sequence of pieces, lowest bits first. A piece is (atom, low, width): bits low .. low + width - 1 of an
atom. CONST is an atom whose "low" is the constant itself. UNDEF is for bits that nothing has written. TAINT is for
the result of an operation on such bits: it is unknown, and may depend on data. Adjacent pieces that continue each
other are merged. So equal bits have equal pieces, whatever shuffles, rotations, masks and loads have moved them.
Values are interned: equal pieces are the same object.

An atom is an input symbol or the result of an operation on values. The same operation on the same values is the same
atom.

    sum   exact sum of its operands, as wide as its bound requires; with a minus, 2^w is added so that it is not
          negative
    mul   exact product
    xor   exclusive or (operands and a constant), at most 32 bits: vectors and words are cut there
    and, or, select, equal, ...   functions of bits without further rules
    sbox, mixcol   the two non-trivial parts of an AES round; clmul   product of polynomials over GF(2)

Besides its upper bound, each value has two numbers:

    residue   its integer modulo p = 2^130 - 5, at a random point. Symbols have random residues. So have the bits above
              a cut: the high part u of x = low + 2^k u. The residues of sums and products follow from their operands.
              If two polynomials in these unknowns differ, their residues are equal with a probability of at most degree
              / p (Schwartz-Zippel), for any cuts and carries in between. So an equation that holds here holds for all
              data.
    image     the same over GF(2^128): bit i stands for y^i, sums are exclusive ors, products carry-less ones. y is 1/x,
              or x.
"""
import bisect
import functools
import gc
import itertools
import os
import random
import secrets

gc.disable()  # there are millions of values without cycles, and collection would take a quarter of the time

CONST, UNDEF, TAINT = -1, -2, -3
P = (1 << 130) - 5
# The random point at which polynomials are compared. Each run uses another one, so no code can be made to fit it.
SEED = int(os.environ.get("SEALANE_POINT") or secrets.randbits(64))
RANDOM = random.Random(SEED)

# GF(2^128) = GF(2)[x] / (x^128 + x^7 + x^2 + x + 1). GHASH reverses the bits: bit i of a byte-swapped block is
# x^(127-i). So a block is x^127 times its image in y = 1/x.
POLYNOMIAL = (1 << 128) | 0x87


DIGITS = int.from_bytes(255 * b"0", "big")
BITS = int.from_bytes(255 * b"\1", "big")


def field_product(a, b):
    """The product in GF(2^128). Each bit becomes a byte of an integer. A byte of the integers' product then counts the
    pairs of bits that contribute to it, at most 128."""
    spread = [int.from_bytes(f"{n:b}".encode(), "big") & BITS for n in (a, b)]
    r = int((spread[0] * spread[1] & BITS | DIGITS).to_bytes(255, "big"), 2)
    while high := r >> 128:
        r = r & (1 << 128) - 1 ^ high ^ high << 1 ^ high << 2 ^ high << 7
    return r


def field_power(a, n):
    r = 1
    while n:
        if n & 1:
            r = field_product(r, a)
        a = field_product(a, a)
        n >>= 1
    return r


X127 = 1 << 127
Y_POWERS = []
ascending = False  # whether y is x, for kernels that reverse the bits of bytes, instead of 1/x


def set_order(ascending_):
    """Chooses the field element of bit i: x^i or x^-i."""
    global ascending
    ascending = ascending_
    y = 2 if ascending else field_power(2, (1 << 128) - 2)
    Y_POWERS[:] = [1]
    for _ in range(512):
        Y_POWERS.append(field_product(Y_POWERS[-1], y))


set_order(False)


def times_y(a, n):
    """a y^n. For 1/x: shifts to the right. An odd value is made even first."""
    if n > 64:
        return field_product(a, Y_POWERS[n])
    if a and ascending:
        for _ in range(n):
            a <<= 1
            if a >> 128:
                a ^= POLYNOMIAL
    elif a:
        for _ in range(n):
            a = (a ^ POLYNOMIAL) >> 1 if a & 1 else a >> 1
    return a


def constant_image(c):
    r, i = 0, 0
    while c:
        if c & 1:
            r ^= Y_POWERS[i]
        c >>= 1
        i += 1
    return r


class Unproved(Exception):
    """A property does not hold, or could not be shown."""

    value = None  # the value that would have to be known, if that is the cause
    address = None  # of the wrong byte


class Value:
    """A width in bits, pieces, the greatest possible integer, and the bits that may be ones."""

    # constant: the integer, if it is the same for all data, else None. defined: whether something has written all bits.
    # starts: the offsets of many pieces. Most other attributes are computed on demand.
    __slots__ = ("width", "pieces", "constant", "most", "ones", "defined", "starts", "residue", "image")

    def __init__(self, width, pieces):
        self.width, self.pieces, self.constant = width, pieces, None
        if len(pieces) == 1:
            (atom, low, _), = pieces
            self.defined = atom >= CONST
            if atom == CONST:
                self.constant = low

    def __getattr__(self, name):
        if name in ("most", "ones"):
            self._bounds()
        elif name == "defined":
            self.defined = all(atom >= CONST for atom, _, _ in self.pieces)
        elif name == "starts":
            self.starts = [0, *itertools.accumulate(w for _, _, w in self.pieces)]
        elif name in ("residue", "image"):
            if not self.defined:
                raise Unproved("arithmetic on memory that nothing has written")
            setattr(self, name, self._residue() if name == "residue" else self._image())
        else:
            raise AttributeError(name)
        return getattr(self, name)

    def _bounds(self):
        most, ones, at = 0, 0, 0
        for atom, low, w in self.pieces:
            if atom == CONST:
                m = o = low
            elif atom < CONST:
                m = o = (1 << w) - 1
            else:
                a = ATOMS[atom]
                m = a.most >> low if low + w >= a.width else (1 << w) - 1
                o = (1 << m.bit_length()) - 1
            most += m << at
            ones |= o << at
            at += w
        self.most, self.ones = most, ones

    def _residue(self):
        r, at = 0, 0
        for atom, low, w in self.pieces:
            r += (low if atom == CONST else ATOMS[atom].residue_from(low) - (ATOMS[atom].residue_from(low + w) << w)) << at
            at += w
        return r % P

    def _image(self):
        r = 0
        for atom, low, w in reversed(self.pieces):
            if atom == CONST:
                r = times_y(r, w) ^ constant_image(low)
            else:
                a = ATOMS[atom]
                r = times_y(r ^ a.image_from(low + w), w) ^ a.image_from(low)
        return r

    def __repr__(self):
        return f"<{self.width}: " + " ".join(
            f"{low:#x}/{w}" if atom == CONST else f"?/{w}" if atom < CONST else f"{ATOMS[atom]}[{low}+{w}]"
            for atom, low, w in self.pieces) + ">"


class Atom:
    __slots__ = ("number", "kind", "operands", "extra", "width", "most", "bits", "residues", "images")

    def __init__(self, number, kind, operands, extra, width, most):
        self.number, self.kind, self.operands, self.extra = number, kind, operands, extra
        self.width, self.most, self.bits = width, most, most.bit_length()
        self.residues = self.images = None

    def residue_from(self, low):
        """The residue of the atom without its lowest `low` bits."""
        if self.most >> low == 0:
            return 0
        if self.residues is None:
            self.residues = {}
        r = self.residues.get(low)
        if r is None:
            if low == 0:
                if self.kind == "sum":
                    r = self.extra
                    for sign, v in self.operands:
                        r += v.residue if sign > 0 else -v.residue
                elif self.kind == "mul":
                    r = self.operands[0].residue * self.operands[1].residue
                elif self.kind == "xor" and len(self.operands) == 1 and self.extra == (1 << self.width) - 1:
                    r = self.extra - next(iter(self.operands)).residue
            r = RANDOM.randrange(P) if r is None else r % P
            self.residues[low] = r
        return r

    def image_from(self, low):
        if self.most >> low == 0:
            return 0
        if self.images is None:
            self.images = {}
        r = self.images.get(low)
        if r is None:
            if self.kind == "xor":  # a part of it is the exclusive or of its operands' parts
                r = constant_image(self.extra >> low)
                for v in self.operands:
                    r ^= cut(v, low, self.width - low).image
            elif low == 0 and self.kind == "clmul":
                r = field_product(self.operands[0].image, self.operands[1].image)
            else:
                r = RANDOM.getrandbits(128)
            self.images[low] = r
        return r

    def __repr__(self):
        return f"{self.kind}{self.extra if self.kind == 'symbol' else ''}#{self.number}"


_memos, _kept = [], []


def memo():
    """Returns a dictionary of results by operands, which forget_results() empties."""
    _memos.append({})
    return _memos[-1]


def kept(operation):
    """Keeps an operation's results until forget()."""
    _kept.append(functools.cache(operation))
    return _kept[-1]


ATOMS = []
MANY = 600_000  # how many may accumulate until a run drops them all, at 1 to 4 KB each
SMALL = []  # all values below 64
_atoms = {}
_values = {}


def _intern(pieces, width):
    v = _values.get(pieces)
    if v is None:
        v = _values[pieces] = Value(width, pieces)
        n, low, _ = pieces[-1] if pieces else (CONST, 0, 0)
        if (width <= 6 or n == CONST or n >= 0 and ATOMS[n].bits - low <= 6) and v.most < 64 and v.defined:  # others have a higher bit
            SMALL.append(v)
    return v


def atom(kind, operands, extra, width, most):
    """Returns all bits of an operation's atom, as a value."""
    key = (kind, operands, extra, width)
    a = _atoms.get(key)
    if a is None:
        a = _atoms[key] = Atom(len(ATOMS), kind, operands, extra, width, most)
        ATOMS.append(a)
    return _intern(((a.number, 0, width),), width)


def symbol(name, width, most=None):
    return atom("symbol", (), name, width, (1 << width) - 1 if most is None else most)


def const(c, width):
    return _intern(((CONST, c & ((1 << width) - 1), width),), width)


def undefined(width):
    """Bits that nothing has written. They may be moved, and are not secret."""
    return _intern(((UNDEF, 0, width),), width)


def tainted(width):
    """The result of an operation on operands with bits that nothing has written."""
    return _intern(((TAINT, 0, width),), width)


def _join(pieces):
    """Merges adjacent pieces that continue each other."""
    out = []
    for piece in pieces:
        if out:
            atom1, low1, w1 = out[-1]
            atom2, low2, w2 = piece
            if atom1 == atom2 and (atom1 < 0 or low2 == low1 + w1):
                out[-1] = (atom1, low1 if atom1 >= 0 else low1 | low2 << w1, w1 + w2)
                continue
        out.append(piece)
    return tuple(out)


def join(pieces, width):
    return _intern(_join(pieces), width)


@kept
def cat(*values):
    """Concatenates values, lowest first."""
    if len(values) == 1:
        return values[0]
    return _intern(_join([piece for v in values for piece in v.pieces]), sum([v.width for v in values]))


@kept
def cut(v, low, width):
    """Bits low .. low + width - 1. Bits above the value are zeroes."""
    if low == 0 and width == v.width:
        return v
    pieces, at, end, whole = [], 0, low + width, v.pieces
    if len(whole) == 1 and end <= v.width:  # the usual case
        (atom_, plow, _), = whole
        if atom_ >= 0 and plow + end <= ATOMS[atom_].bits:
            return _intern(((atom_, plow + low, width),), width)
    if len(whole) > 8:  # only the pieces in the range
        first = bisect.bisect_right(v.starts, low, 0, len(whole)) - 1
        at, whole = v.starts[first], whole[first:bisect.bisect_left(v.starts, end, first, len(whole))]
    for atom_, plow, w in whole:
        lo, hi = at if at > low else low, at + w if at + w < end else end
        if lo < hi:
            n = hi - lo
            if atom_ == CONST:
                pieces.append((CONST, (plow >> (lo - at)) & ((1 << n) - 1), n))
            elif atom_ < CONST:
                pieces.append((atom_, 0, n))
            else:  # bits of an atom above its bound are zeroes
                plow += lo - at
                over = plow + n - ATOMS[atom_].bits
                if over < n:
                    pieces.append((atom_, plow, n - over if over > 0 else n))
                if over > 0:
                    pieces.append((CONST, 0, over if over < n else n))
        at += w
    if end > max(at, low):
        pieces.append((CONST, 0, end - max(at, low)))
    return _intern(_join(pieces), width)


def parts_of(v, width):
    """Splits a value into parts of `width` bits, the last possibly shorter."""
    return [cut(v, at, min(width, v.width - at)) for at in range(0, v.width, width)]


def extend(v, width):
    return cut(v, 0, width)


def shift_left(v, n, width=None):
    width = width or v.width
    if n >= width:
        return const(0, width)
    return cat(const(0, n), cut(v, 0, width - n)) if n else cut(v, 0, width)


def shift_right(v, n):
    return cut(v, n, v.width)


def rotate_left(v, n):
    n %= v.width
    return cat(cut(v, v.width - n, n), cut(v, 0, v.width - n)) if n else v


def sign_fill(v, n):
    """Arithmetic shift right: only of constants, or by all bits but one."""
    c = v.constant
    if c is not None:
        return const((c - ((c >> (v.width - 1)) << v.width)) >> n, v.width)
    top = cut(v, v.width - 1, 1)
    if top.constant == 0:
        return shift_right(v, n)
    return cat(cut(v, n, v.width - n), *[top] * n)


_sums = {}


# ---- Bounds of sums -----------------------------------------------------------------------------------------------------
#
# Parts of one number have a bound together that is less than the sum of their own bounds. If a sum s is cut into low +
# 2^c carry, the carry is exactly (s - low) / 2^c. After this substitution, low cancels if it is added elsewhere, and
# high and low parts of a product become the product again. Each such form of a sum gives a bound; the least is used.

SCALE = 512  # coefficients are multiples of 2^-SCALE
STEPS = 24


def _expand(form, terms, constant, factor):
    """form += factor * (terms + constant). form: piece -> coefficient, None -> constant. Whole sums are replaced by
    their operands."""
    form[None] += factor * constant
    for sign_, v in terms:
        f = factor * sign_
        for n, low, w in v.pieces:
            if n == CONST:
                form[None] += f * low
            elif low == 0 and w == ATOMS[n].width and ATOMS[n].kind == "sum":
                _expand(form, ATOMS[n].operands, ATOMS[n].extra, f)
            else:
                form[n, low, w] = form.get((n, low, w), 0) + f
            f <<= w


def _most_of(form):
    most, done = form[None], set()
    for key, f in form.items():
        if key is None or f <= 0 or key in done:
            continue
        n, low, w = key
        a = ATOMS[n]
        top = (n, w, a.width - w)
        if low == 0 and w < a.width and form.get(top, 0) >= f << w:  # both parts of one number
            most += f * a.most + (form[top] - (f << w)) * (a.most >> w)
            done.add(top)
            done.add(key)
    for key, f in form.items():
        if key is not None and f > 0 and key not in done:
            n, low, w = key
            a = ATOMS[n]
            most += f * (a.most >> low if low + w >= a.width else (1 << w) - 1)
    return most >> SCALE


def bound_of_sum(live, total):
    """An upper bound of the sum of (sign, value) and a constant."""
    form = {None: 0}
    _expand(form, live, total, 1 << SCALE)
    best = _most_of(form)
    for _ in range(STEPS):
        # The carry of the latest sum first, because its sum is older.
        keys = [k for k, f in form.items() if k is not None and f >> (SCALE - 1) > 0 and k[1] and k[1] + k[2] >= ATOMS[k[0]].width
                and ATOMS[k[0]].kind == "sum"]
        if not keys:
            break
        key = max(keys)
        n, c, _ = key
        f = -(-form.pop(key) >> c)  # s - low is not negative
        _expand(form, ATOMS[n].operands, ATOMS[n].extra, f)
        _expand(form, ((-1, cut(_intern(((n, 0, ATOMS[n].width),), ATOMS[n].width), 0, c)),), 0, f)
        best = min(best, _most_of(form))
    return best


def _has_carry(v):
    n, low, w = v.pieces[0]
    return n >= 0 and low > 0 and ATOMS[n].kind == "sum" and low + w >= ATOMS[n].width


def exact_sum(terms, constant=0, fit=0):
    """The exact sum of (sign, value) and a constant, as a value of the required width. The sum must not be negative.
    If it does not seem to fit into `fit` bits, its bound is computed more closely."""
    key = (tuple(terms), constant)
    r = _sums.get(key)
    if r is not None:
        return r
    live = []
    total = constant
    for sign, v in terms:
        c = v.constant
        if c is not None:
            total += sign * c
        else:
            # Zeroes above an operand are cut off, so a number is the same operand at any width.
            live.append((sign, cut(v, 0, max(1, v.ones.bit_length()))))
    if len(live) == 3 and live[0] == live[1] and live[0][0] > 0 and live[2][1].width == 1 and live[0][1].width == 32:  # 2x + carry
        live[:2] = [(1, shift_left(live[0][1], 1, live[0][1].width + 1))]
    most = total + sum(v.most for sign, v in live if sign > 0)
    least = total - sum(v.most for sign, v in live if sign < 0)
    if least < 0:
        raise AssertionError("a sum that can be negative")
    if not live:
        r = const(total, max(1, total.bit_length()))
    elif len(live) == 1 and total == 0 and live[0][0] > 0:
        r = live[0][1]
    elif len(live) == 2 and total == 0 and live[0] == live[1] and live[0][0] > 0:
        r = shift_left(live[0][1], 1, live[0][1].width + 1)
    else:
        ones, disjoint = total, all(sign > 0 for sign, _ in live)
        for _, v in live:
            disjoint = disjoint and not ones & v.ones
            ones |= v.ones
        if disjoint:
            r = const(total, ones.bit_length())
            for _, v in live:
                r = merge(r, extend(v, r.width))
        else:
            live.sort(key=lambda t: (t[1].pieces, t[0]))
            if fit and (most >> fit or (most >> 16 == 0 and any(_has_carry(v) for _, v in live))):
                most = min(most, bound_of_sum(live, total))
            r = atom("sum", tuple(live), total, most.bit_length(), most)
    _sums[key] = r
    return r


def add(width, *values, carry=None, closely=False):
    """The sum modulo 2^width, and the part above it. With undefined bits, both are unknown, as in all operations.
    Bounds of 32-bit sums, most of which are ChaCha20's, are computed closely only on demand."""
    return (_add.__wrapped__ if bitwise else _add)(width, values, carry, closely)


@kept  # but not if bitwise: more may be known of the operands later
def _add(width, values, carry, closely):
    if not all(v.defined for v in values) or (carry is not None and not carry.defined):
        return tainted(width), tainted(1)
    if bitwise and len(values) == 2 and (r := bits.spread_sum(*values)) is not None:
        return r, const(0, 1)
    if lengths and width >= 32 and (r := lengths.add(values, carry)) is not None:
        return r
    terms = [(1, v) for v in values]
    if carry is not None:
        terms.append((1, carry))
    s = exact_sum(terms, fit=width if width > 32 or closely else 0)
    return cut(s, 0, width), cut(s, width, max(1, s.width - width))


def add_modular(a, b):
    """The sum modulo 2^width of two values of one width, if the carry is not used. Constants are combined, so (x + 1)
    + 2 is x + 3."""
    return (_add_modular.__wrapped__ if bitwise else _add_modular)(a, b)


@kept  # as _add
def _add_modular(a, b):
    w = a.width
    if a.constant is not None:
        a, b = b, a
    c = b.constant
    if c is None:  # x + (y + 1) is (x + y) + 1
        for x, y in ((a, b), (b, a)):
            if len(y.pieces) == 1:
                (n, low, width), = y.pieces
                if n >= 0 and low == 0 and width == w and ATOMS[n].kind == "sum" and len(ATOMS[n].operands) == 1:
                    (sign_, only), = ATOMS[n].operands
                    if sign_ > 0 and only.width <= w:
                        return add_modular(add_modular(x, extend(only, w)), const(ATOMS[n].extra, w))
    if c is not None and lengths and len(a.pieces) > 1 and a.pieces[0][0] == CONST:  # a counter that ends with a known byte
        _, low, known = a.pieces[0]
        total = low + c
        return cat(const(total, known), add_modular(cut(a, known, w - known), const(total >> known, w - known)))
    if c is not None and len(a.pieces) == 1:
        (n, low, width), = a.pieces
        if n >= 0 and low == 0 and width == w and ATOMS[n].kind == "sum" and all(s > 0 for s, _ in ATOMS[n].operands):
            return cut(exact_sum(ATOMS[n].operands, (ATOMS[n].extra + c) % (1 << w)), 0, w)
    return add(w, a, b)[0]


@kept
def subtract(width, a, b, borrow=None):
    """a - b - borrow modulo 2^width, and the borrow, one bit."""
    if not (a.defined and b.defined and (borrow is None or borrow.defined)):
        return tainted(width), tainted(1)
    if a is b:
        return (const(0, width), const(0, 1)) if borrow is None else (cat(*[borrow] * width), borrow)
    if lengths and width >= 32 and (borrow is None or borrow.constant == 0) and (r := lengths.subtract(a, b)) is not None:
        return r
    s = exact_sum([(1, a), (-1, b), *([] if borrow is None else [(-1, borrow)])], 1 << width)
    return cut(s, 0, width), invert(cut(s, width, 1))


@kept
def product(a, b):
    """The exact product, as wide as its bound requires."""
    if not (a.defined and b.defined):
        return tainted(a.width + b.width)
    ca, cb = a.constant, b.constant
    if ca is not None and cb is not None:
        return const(ca * cb, max(1, (ca * cb).bit_length()))
    if ca is not None:
        return product(b, a)
    if cb == 0:
        return const(0, 1)
    if cb is not None and cb & (cb - 1) == 0:
        n = cb.bit_length() - 1
        return shift_left(a, n, a.width + n)
    if bitwise and (r := bits.spread_product(a, b)) is not None:
        return r
    most = a.most * b.most
    a, b = (cut(v, 0, max(1, v.ones.bit_length())) for v in (a, b))
    r = atom("mul", (a, b) if a.pieces <= b.pieces else (b, a), None, most.bit_length(), most)
    ATOMS[r.pieces[0][0]].residue_from(0)  # computed now, because a long message would make the recursion deep
    return r


def _constant_segments(a, b):
    """The positions at which constants of either value start or end, and exclusive ors that were cut before. Between
    them, both values are bits of atoms, and stay together."""
    cuts = {0, a.width}
    for v in (a, b):
        at = 0
        for atom_, _, w in v.pieces:
            if atom_ == CONST or (atom_ >= 0 and ATOMS[atom_].width < 32 and ATOMS[atom_].kind == "xor"):
                cuts.add(at)
                cuts.add(at + w)
            at += w
    return sorted(cuts)


def merge(a, b):
    """The bitwise or of two values without common set bits."""
    out = []
    cuts = sorted({*a.starts, *b.starts})  # where a piece of either starts or ends
    for lo, hi in zip(cuts, cuts[1:]):
        x, y = cut(a, lo, hi - lo), cut(b, lo, hi - lo)
        out.append(y if x.constant == 0 else x if y.constant == 0 else either(x, y))
    return cat(*out)


def of_text(v):
    return any(n >= 0 and ATOMS[n].kind == "symbol" and ATOMS[n].extra.startswith("text") for n, _, _ in v.pieces)


bitwise = False  # bit by bit: see bits.py
bits = lengths = None  # the modules bits.py and linear.py, which import this file and set these names
_fresh = itertools.count()


def fresh(width):
    """Unknown data."""
    return atom("fresh", (), next(_fresh), width, (1 << width) - 1)


def _chunked(operation):
    """Applies an operation to parts: of 32 bits, and of bytes in texts, because kernels cut these at any byte."""
    known = memo()

    def whole(a, b):
        key = (a, b)
        r = known.get(key)
        if r is None and bitwise and (a.constant is None or b.constant is None):
            r = known[key] = known[b, a] = bits.operation(operation.__name__, a, b)
        if r is None and lengths and operation.__name__ == "both" and (r := lengths.clear_low(a, b)) is not None:
            known[key] = known[b, a] = r
        if r is None:
            assert a.width == b.width, (a, b)
            out = []
            for at in range(0, a.width, 32):
                w = min(32, a.width - at)
                x, y = cut(a, at, w), cut(b, at, w)
                if not (x.defined and y.defined):
                    out.append(tainted(w))
                    continue
                cuts = _constant_segments(x, y)
                if of_text(x) or of_text(y):
                    cuts = sorted({*cuts, *range(0, w, 8)})
                for lo, hi in zip(cuts, cuts[1:]):
                    out.append(operation(cut(x, lo, hi - lo), cut(y, lo, hi - lo)))
            r = known[key] = known[b, a] = cat(*out)
        return r
    return whole


def _parts(v):
    """The operands and constant of v as an exclusive or."""
    if v.constant is not None:
        return frozenset(), v.constant
    (n, low, w), = v.pieces[:1]
    if len(v.pieces) == 1 and n >= 0 and ATOMS[n].kind == "xor" and low == 0 and w == ATOMS[n].width:
        return ATOMS[n].operands, ATOMS[n].extra
    return frozenset((v,)), 0


def _xor_of(operands, extra, width):
    """The opposite of _parts."""
    if not operands:
        return const(extra, width)
    if len(operands) == 1 and extra == 0:
        return next(iter(operands))
    return atom("xor", operands, extra, width, (1 << width) - 1)


@_chunked
def xor(a, b):
    (a_operands, a_extra), (b_operands, b_extra) = _parts(a), _parts(b)
    return _xor_of(a_operands ^ b_operands, a_extra ^ b_extra, a.width)


def invert(v):
    return xor(v, const(-1, v.width))


def _by_bit(a, c, keep):
    """a where the constant's bits are `keep`, else the constant's own bits."""
    out, at = [], 0
    while at < a.width:
        bit, end = (c >> at) & 1, at
        while end < a.width and (c >> end) & 1 == bit:
            end += 1
        out.append(cut(a, at, end - at) if bit == keep else const(-bit, end - at))
        at = end
    return cat(*out)


@_chunked
def both(a, b):
    """Bitwise and."""
    if a.constant is not None:
        a, b = b, a
    c = b.constant
    if c is not None:
        return (lengths and lengths.low_bits(a, c)) or _by_bit(a, c, 1)
    if a is b:
        return a
    return atom("and", frozenset((a, b)), None, a.width, (1 << a.width) - 1)


@_chunked
def either(a, b):
    """Bitwise or."""
    if a.constant is not None:
        a, b = b, a
    if b.constant is not None:
        return _by_bit(a, b.constant, 0)
    if a is b:
        return a
    if not a.ones & b.ones:
        return merge(a, b)
    return atom("or", frozenset((a, b)), None, a.width, (1 << a.width) - 1)


def select(condition, a, b):
    """a if the single bit `condition` is set, else b."""
    c = condition.constant
    if c is not None:
        return a if c else b
    if not (condition.defined and a.defined and b.defined):
        return tainted(a.width)
    if a is b:
        return a
    return atom("select", (condition, a, b), None, a.width, max(a.most, b.most))


def equal(a, b):
    """Whether a equals b, as one bit."""
    if not (a.defined and b.defined):
        return tainted(1)
    if a.constant is not None and b.constant is not None:
        return const(a.constant == b.constant, 1)
    if a is b:
        return const(1, 1)
    if lengths and (r := lengths.equal(a, b)) is not None:
        return r
    for x, y in ((a, b), (b, a)):
        if y.constant is not None:  # bits of x that are constants, and others
            at = 0
            for n, low, w in x.pieces:
                if n == CONST and (y.constant >> at) & ((1 << w) - 1) != low:
                    return const(0, 1)
                at += w
        if y.constant == 0 and x.ones & (x.ones - 1) == 0:  # a single bit
            return invert(cut(x, x.ones.bit_length() - 1, 1))
    return atom("equal", frozenset((a, b)), None, 1, 1)


# ---- AES (FIPS 197) and polynomials over GF(2) ----------------------------------------------------------------------

def _sbox_table():
    """FIPS 197, 5.1.1: the inverse in GF(2^8), then an affine map."""
    powers, table = [1], []
    for _ in range(254):
        a = powers[-1]
        powers.append(a ^ a << 1 ^ (0x11b if a & 0x80 else 0))  # times 3
    inverse = {a: powers[-i] for i, a in enumerate(powers)}
    for a in range(256):
        b = inverse.get(a, 0)
        b ^= b << 1 ^ b << 2 ^ b << 3 ^ b << 4
        table.append((b ^ b >> 8) & 0xff ^ 0x63)
    return table


SBOX = _sbox_table()
INVERSE_SBOX = [SBOX.index(i) for i in range(256)]


by_image = False  # If set, exclusive ors are identified by their images, for code that collects bits from many places.
_by_image = memo()


def byte_of_xor(v):
    """Returns a byte of an exclusive or as an exclusive or of bytes, so that it does not depend on the neighboring
    bytes."""
    return _by_image.setdefault((v.image, v.width), v) if by_image else _byte_of_xor(v)


@kept
def _byte_of_xor(v):
    (n, low, _), = v.pieces[:1]
    if len(v.pieces) > 1 or n < 0 or ATOMS[n].kind != "xor" or ATOMS[n].width < 8:
        return v
    operands, extra = frozenset(), ATOMS[n].extra >> low & 255
    for o in ATOMS[n].operands:
        more, constant = _parts(_byte_of_xor(cut(o, low, 8)))
        operands ^= more
        extra ^= constant
    return _xor_of(operands, extra, 8)


def sbox(v, inverse=False):
    if not v.defined:
        return tainted(8)
    if v.constant is not None:
        return const((INVERSE_SBOX if inverse else SBOX)[v.constant], 8)
    if not bitwise:
        return atom("isbox" if inverse else "sbox", (byte_of_xor(v),), None, 8, 255)
    if inverse:
        return inverse_sbox_by_sbox(v)
    known, r = len(ATOMS), atom("sbox", (v,), None, 8, 255)
    if len(ATOMS) > known:
        bits.register(v, r)
    return r


def mix_column(v, inverse=False):
    """FIPS 197, 5.1.3 and 5.3.3, for one column of four bytes."""
    if not v.defined:
        return tainted(32)
    c = v.constant
    if inverse and (bitwise or c is not None):  # MixColumns three times: its matrix has order 4
        return mix_column(mix_column(mix_column(v)))
    if c is None:
        return bits.mix_column(v) if bitwise else atom("imixcol" if inverse else "mixcol", (v,), None, 32, (1 << 32) - 1)
    a = [(c >> 8 * i) & 0xff for i in range(4)]
    double = lambda x: ((x << 1) ^ (0x1b if x & 0x80 else 0)) & 0xff
    return const(sum((double(a[i]) ^ double(a[(i + 1) % 4]) ^ a[(i + 1) % 4] ^ a[(i + 2) % 4] ^ a[(i + 3) % 4]) << 8 * i
                     for i in range(4)), 32)


def inverse_affine(v):
    """Undoes the affine map of SubBytes, for one byte (FIPS 197, 5.3.2). With S(x) = A(1/x), the inverse is
    1/(A^-1(x)), and 1/x is A^-1(S(x))."""
    bit = [cut(v, i, 1) for i in range(8)]
    return xor(cat(*(xor(xor(bit[(i + 2) % 8], bit[(i + 5) % 8]), bit[(i + 7) % 8]) for i in range(8))), const(0x05, 8))


def inverse_sbox_by_sbox(v):
    return inverse_affine(sbox(inverse_affine(v)))


if any(inverse_sbox_by_sbox(const(_x, 8)).constant != INVERSE_SBOX[_x] for _x in range(256)):
    raise AssertionError("the inverse S-box is not the S-box between two affine maps")


@kept
def sub_shift(state, inverse=False):
    """SubBytes and ShiftRows of 128 bits, or InvSubBytes and InvShiftRows."""
    byte = [sbox(cut(state, 8 * i, 8), inverse) for i in range(16)]
    return cat(*(byte[(4 * c + (13 if inverse else 5) * r) % 16] for c in range(4) for r in range(4)))


def inverse_sub_shift(state):
    return sub_shift(state, True)


def mix_columns(state, inverse=False):
    return cat(*(mix_column(cut(state, 32 * i, 32), inverse) for i in range(4)))


@kept
def aes_round(state, key, last=False, inverse=False):
    """One round of the cipher on 128 bits: SubBytes, ShiftRows, MixColumns except in the last round, AddRoundKey."""
    sub = sub_shift(state, inverse)
    return xor(sub if last else mix_columns(sub, inverse), key)


def aes_inverse_round(state, key, last=False):
    """One round of the equivalent inverse cipher (FIPS 197, 5.3.5)."""
    return aes_round(state, key, last, True)


@kept
def carryless(a, b):
    """The 128-bit product of two 64-bit polynomials over GF(2). The top bit is 0."""
    if a.constant == 0 or b.constant == 0:
        return const(0, 128)  # for any other operand
    if not (a.defined and b.defined):
        return tainted(128)
    if a.constant is not None:
        a, b = b, a
    c = b.constant
    if c is not None and (by_image or a.constant is not None):  # a sum of shifts
        r = const(0, 128)
        for i in range(64):
            if (c >> i) & 1:
                r = xor(r, shift_left(a, i, 128))
        return r
    width = max(1, a.ones.bit_length() + b.ones.bit_length() - 1)
    return extend(atom("clmul", (a, b) if a.pieces <= b.pieces else (b, a), None, width, (1 << width) - 1), 128)


# ---- Equality ---------------------------------------------------------------------------------------------------------

def _linear(v):
    """The bits of v as exclusive ors of bits of other atoms: a list of (set, constant)."""
    out = []
    for n, low, w in v.pieces:
        for i in range(low, low + w):
            if n == CONST:
                out.append((frozenset(), (low >> (i - low)) & 1))
            elif n >= 0 and ATOMS[n].kind == "xor":
                bits, c = frozenset(), (ATOMS[n].extra >> i) & 1
                for o in ATOMS[n].operands:
                    (s, k), = _linear(cut(o, i, 1))
                    bits, c = bits ^ s, c ^ k
                out.append((bits, c))
            else:
                out.append((frozenset(((n, i),)), 0))
    return out


def same(a, b):
    """Whether two values have the same bits for all data. False may only mean that exclusive ors do not show it."""
    if a is b:
        return True
    if a.width != b.width or not a.defined or not b.defined:
        return False
    return (a.width == 8 and byte_of_xor(a) is byte_of_xor(b)) or (not by_image and _linear(a) == _linear(b))


def secret(v):
    """Whether a bit may depend on data."""
    return any(n == TAINT or n >= 0 and not (lengths and lengths.public(n)) for n, _, _ in v.pieces)


def forget():
    """Starts again, without atoms."""
    many = len(ATOMS) > 100_000
    for store in (ATOMS, SMALL, _atoms, _values, _sums):
        store.clear()
    for operation in _kept:
        operation.cache_clear()
    for more in (bits, lengths):
        if more:
            more.forget()
    forget_results()
    if many:
        gc.collect()


def forget_results():
    """Forgets the results of operations, but not the values."""
    for store in _memos:
        store.clear()
