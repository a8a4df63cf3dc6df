"""Symbolic pointers and lengths: a base within bounds, plus a constant offset.

Each is a symbol, so other operations on it remain sound. The hooks of terms.py use these further rules. base + 3 + 5
is base + 8, and base + 8 - (base + 3) is 5. A comparison, a carry or some low bits are constant if they are the same
for all values of the base. A branch on anything else is refused, like a branch on data.
"""
import sys

from values import terms
from values.terms import cat, const, cut, extend, symbol


class Undecided(terms.Unproved):
    """The code tests whether a pointer of the caller is a multiple of `modulus`. Both cases must be proved."""

    def __init__(self, base, modulus):
        super().__init__("a branch on an alignment")
        self.pointer, fine = base.address, max(modulus, base.modulus)
        every = [r for r in range(fine) if r % base.modulus in base.of]
        self.cases = [(fine, tuple(r for r in every if (r % modulus == 0) == multiple)) for multiple in (True, False)]


class Base:
    """An integer from `least` to `most`. If `of` is given, its residue modulo `modulus` is one of these. address: the
    address that the pointer has in a run; only addresses base + constant may be near it. width: that of the
    registers that hold it."""

    made = 0

    def __init__(self, name, least, most, address=None, modulus=1, of=(0,), width=64):
        Base.made += 1
        self.width = width
        name = f"{name} {Base.made}"  # symbols have distinct names
        self.name, self.least, self.most, self.address, self.modulus, self.of = name, least, most, address, modulus, of
        self.quotient = self.multiple = None  # (base, offset, n): (base + offset) >> n, and that << n
        self.sum = None  # the two bases whose sum this is, or None
        self.rest = None  # the arguments of remainder(), if it is one
        self.callers = None  # for a pointer of the caller: the arguments of pointer()
        self.limits = False  # whether it is made from a pointer, or is one that has no address in a run

    @property
    def points(self):
        """Whether it is a pointer, or made from one. Its bounds are those of a run. Nothing may depend on them: a caller's
        pointer may be any number."""
        return self.limits or self.address is not None or self.sum is not None and any(b.points for b in self.sum)

    def __add__(self, offset):
        """base + offset as a value of its width, into which it must fit."""
        most = self.most + offset
        assert self.least + offset >= 0 and most >> self.width == 0
        half = 1 << self.width - 1
        if self.points:
            v = symbol(f"{self.name}{offset:+d}", self.width)
        elif self.least + offset >= half:  # negative, as a signed number
            v = cat(symbol(f"{self.name}{offset:+d}", self.width - 1, most - half), const(1, 1))
        else:
            v = extend(symbol(f"{self.name}{offset:+d}", most.bit_length(), most), self.width)
        _known[v] = self, offset
        _atoms[v.pieces[0][0]] = self, offset
        return v


_known, _atoms = {}, {}
_made = {}  # quotients, their multiples, and remainders
_further = {}  # (base, other base) -> their difference, which is a base too


def forget():
    for d in (_known, _atoms, _made, _further):
        d.clear()


def pointer(name, address, align, of, width, least=1 << 16):
    """A pointer of the caller, the same in all runs: any value with these residues. In a run it has the address
    `address`."""
    key = address, align, of, width, least
    if key not in _made:
        most = (1 << (62 if width == 64 else width)) - (1 << 20)
        _made[key] = Base(name, least, most, address=address, modulus=align, of=of, width=width)
        _made[key].callers = key
    return _made[key] + 0


def public(atom):
    """Whether an atom is a pointer or a length."""
    return atom in _atoms


def one_pointer(*values):
    """Refuses an address made from two pointers, because their addresses in a run are arbitrary."""
    places = [_known.get(v) for v in values]
    if sum(p is not None and p[0].address is not None for p in places) > 1:
        raise terms.Unproved("an address that is made of two pointers")


def relate(x, y, by):
    """Declares that x = y + by."""
    _further[x, y] = by


def _difference(x, y):
    """Returns x - y as (base, offset), or None. x and y are (base, offset)."""
    other = x[0].sum[x[0].sum[0] is y[0]] if x[0].sum and y[0] in x[0].sum else _further.get((x[0], y[0]))
    return (other, x[1] - y[1]) if other else None


def _negative(base, offset):
    """0 - (base + offset), which is not 0, in registers."""
    key = base, offset, "negative"
    if key not in _made:
        least, most = ((1 << base.width) - n - offset for n in (base.most, base.least))
        known = residues(base.modulus, [-r - offset for r in base.of])
        _made[key] = Base(f"-({base.name}{offset:+d})", least, most, width=base.width, **known)
        _made[key].limits = base.points
    return _made[key] + 0


NEAR = 1 << 15  # no pointer is so near the ends of the address space


def near(*places):
    """Whether no sum of a pointer and its offset can have wrapped around."""
    return all(not base.points or abs(offset) < NEAR for base, offset in places)


def residues(modulus, numbers):
    """The residues of a base, if the modulus is a power of two; otherwise nothing is known of them."""
    if modulus & (modulus - 1):
        return {}
    return {"modulus": modulus, "of": tuple(sorted({n % modulus for n in numbers}))}


def shift(v, n, right):
    """base + offset divided by 2^n, or such a quotient multiplied by 2^n; else None."""
    found = _known.get(v)
    if found is None:
        return None
    base, offset = found
    if not right and n == 1 and base.address is not None:
        return add((v, v), None)[0]
    if base.points:
        return None
    key = base, offset, n, right
    if key not in _made:
        if right:
            exact = base.modulus % (1 << n) == 0
            known = residues(base.modulus >> n, [r + offset >> n for r in base.of]) if exact else {}
            least, most = base.least + offset >> n, base.most + offset >> n
            if least == most:
                return const(least, base.width)
            made = Base(f"{base.name} / {1 << n}", least, most, width=base.width, **known)
            made.quotient = key[:3]
        elif base.quotient and offset == 0 and base.quotient[2] == n:
            made = Base(f"{base.name} * {1 << n}", base.least << n, base.most << n, width=base.width)
            made.multiple = base.quotient
        else:
            return None
        _made[key] = made
    return _made[key] + 0


def remainder(base, offset, multiple):
    """base + offset minus the greatest multiple of 2^n that is at most base + o. This is the remainder of base + o,
    plus offset - o."""
    key = base, offset, multiple
    if key not in _made:
        _, o, n = multiple
        made = _made[key] = Base(f"{base.name} % {1 << n}", offset - o, offset - o + (1 << n) - 1, width=base.width)
        made.rest = key
    return _made[key] + 0


def place(v):
    """Returns the base and offset of a length, or of a position in a text, or None. The caller's pointers are
    excluded, because they never change."""
    found = _known.get(v)
    return None if found is None or found[0].callers else found


def any_place(v):
    """Returns the base and offset of a value, or None."""
    return _known.get(v)


def add(values, carry):
    """Returns the sum and the carry, if there is one base among constants, and the carry is always the same."""
    if not _known or (carry is not None and carry.constant is None):
        return None
    found, total = [], carry.constant if carry is not None else 0
    for v in values:
        c = v.constant
        if c is not None:
            total += c
        elif len(found) < 2 and v in _known:
            found.append(_known[v])
        else:
            return None
    if not found:
        return None
    if len(found) == 2:  # a pointer and a length: the end of a text
        (x, _), (y, _) = found
        if x.most + y.most >> x.width - 1 or (x.address is None) == (y.address is None) and x is not y or x.width != y.width:
            return None
        if (x, y) not in _made:
            made = _made[x, y] = _made[y, x] = Base(f"{x.name} + {y.name}", x.least + y.least, x.most + y.most, width=x.width)
            made.sum = x, y
        found = [(_made[x, y], found[0][1] + found[1][1])]
    base, offset = found[0]
    high = (base.least + offset + total) >> base.width
    if high != (base.most + offset + total) >> base.width:
        return None
    return base + (offset + total - (high << base.width)), terms.fresh(1) if base.points else const(high, max(1, high.bit_length()))


def subtract(a, b):
    """Returns a - b and the borrow."""
    x, y = _known.get(a), _known.get(b)
    if x and y and x[0] is y[0]:
        return const(x[1] - y[1], a.width), const(x[1] < y[1], 1) if near(x, y) else terms.fresh(1)
    if x and y and y[0].multiple and y[1] == 0 and y[0].multiple[0] is x[0] and x[1] >= y[0].multiple[1]:
        return remainder(*x, y[0].multiple), const(0, 1)
    if x and y and (d := _difference(x, y)) and d[0].least + d[1] >= 0:
        return d[0] + d[1], const(0, 1) if near(x, y) else terms.fresh(1)
    if x and y and (d := _difference(y, x)) and d[0].least + d[1] > 0:
        return _negative(*d), const(1, 1) if near(x, y) else terms.fresh(1)
    if x and b.constant is not None:
        base, offset = x[0], x[1] - b.constant
        if base.points:
            offset += (1 << base.width) if base.most + offset < 0 else 0
            borrow = const(1, 1) if b.constant == (1 << base.width) - 1 else terms.fresh(1)  # -1: no limit
            return (base + offset, borrow) if base.least + offset >= 0 and base.most + offset >> base.width == 0 else None
        if base.least + offset >= 0:
            return base + offset, const(0, 1)
        if base.most + offset < 0:
            return base + (offset + (1 << base.width)), const(1, 1)
    if y and a.constant is not None and (a.constant == 0 and near(y) or not y[0].points) and a.constant < y[0].least + y[1]:
        # Unless it is the negative, the difference is not base + constant, so it may have any value.
        return _negative(*y) if a.constant == 0 else terms.fresh(a.width), const(1, 1)
    return None


def _number(v):
    """As any_place, and of the lower bits of a register, if the number has no others."""
    base, offset = _known.get(v) or _atoms.get(v.pieces[0][0], (None, 0))
    return (base, offset) if base and (base.most + offset) >> v.width == 0 and cut(base + offset, 0, v.width) is v else None


def equal(a, b):
    x, y = _number(a), _number(b)
    if x and y and x[0] is y[0]:
        return const(x[1] == y[1], 1)
    for p, q in ((x, b.constant), (y, a.constant)):
        if p and q is not None and (q == 0 and near(p) or not p[0].points) and not p[0].least + p[1] <= q <= p[0].most + p[1]:
            return const(0, 1)
    return None


def low_bits(a, mask):
    """a & mask, if it is constant."""
    n, low, w = a.pieces[0]
    found = _atoms.get(n)
    if found is None or low or mask >> w:
        return None
    base, offset = found
    if base.modulus & (base.modulus - 1) or mask >= base.modulus:
        return None
    results = {(r + offset) & mask for r in base.of}
    return const(results.pop(), a.width) if len(results) == 1 else None


def clear_low(a, b):
    """a & -2^n, in either order of operands, if the low bits are constant: base + offset minus these."""
    for v, mask in ((a, b.constant), (b, a.constant)):
        if mask is not None and v in _known:
            low = ~mask & ((1 << v.width) - 1)
            base, offset = _known[v]
            if low & (low + 1) == 0 and (bits := low_bits(v, low)) is not None and base.least + offset >= bits.constant:
                return base + (offset - bits.constant)
    return None


terms.lengths = sys.modules[__name__]
