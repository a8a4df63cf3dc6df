"""Shared code of MIPS and RISC-V: carries without flags, which are comparisons; and code that tests the alignment of
addresses.
"""
import functools
import itertools
import operator

from isa.code import known
from spec import reverse
from values import linear, terms
from values.linear import Undecided
from values.terms import ATOMS, Unproved, add, add_modular, cat, const, cut, either, equal, extend, shift_left, subtract, tainted, undefined


def encodings(text, widths):
    """Returns the 32-bit instructions in text as (mask, match, name, [(field, lowest bit)]). In text, a name is
    followed by constant bits and by fields, whose widths are given."""
    found, name = [], None
    for token in text.split():
        if not token.isdigit() and token not in widths:
            name, at = token, 32
            found.append([0, 0, name, []])
            continue
        at -= widths.get(token) or len(token)
        if token in widths:
            found[-1][3].append((token, at))
        else:
            found[-1][0] |= (1 << len(token)) - 1 << at
            found[-1][1] |= int(token, 2) << at
        assert at >= 0, name
    return found


def decoded(code, pc, known, widths, reserved, big=False):
    """Returns an instruction's name and fields. No instruction may use a reserved register."""
    bytes_ = code[pc:pc + 4] if pc >= 0 else b""
    n = int.from_bytes(bytes_, "big" if big else "little")
    for mask, match, name, fields in known if len(bytes_) == 4 else ():
        if n & mask == match:
            found = {f: n >> at & (1 << widths[f]) - 1 for f, at in fields}
            if any(found.get(r) in reserved for r in "std"):
                raise Unproved(f"{name} of a reserved register")
            return name, found
    raise Unproved(f"no known instruction at {pc:#x}: {bytes_.hex()}")


def text_of(name, fields):
    return f"{name} " + ", ".join(f"{k} {v}" for k, v in fields.items())


def signed(n, bits):
    return n - (n >> bits - 1 << bits)


class Registers:
    """32 registers. The first is always 0."""

    def __init__(self, memory, bits):
        self.memory, self.bits, self.general, self.vector, self.steps = memory, bits, [undefined(bits)] * 32, [], 0
        self.half, self.half_stored = {}, None  # the first half of an unaligned access

    def known(self, v, what):
        return known(v, what)

    def fill_vectors(self, name):
        pass

    def read(self, r):
        return self.general[r] if r else const(0, self.bits)

    def write(self, r, v):
        self.half.pop(r, None)
        if r:
            self.general[r] = v

    def address(self, r, offset, size=1):
        a = self.known(self.read(r), "an address") + offset & (1 << self.bits) - 1
        base, by = linear.any_place(self.read(r)) or (None, 0)
        if base is None or base.modulus % size:
            self.memory.aligned(a, size)
        elif any((n + by + offset) % size for n in base.of):
            raise Unproved(f"an access of {size} bytes that may not be aligned")
        return a

    def ordered(self, v):
        """Bytes of memory as a number, or the opposite."""
        return reverse(v) if self.memory.big else v

    def load(self, r, base, offset, size, whole=extend):
        """whole: how the value fills a register."""
        self.write(r, whole(self.ordered(self.memory.load(self.address(base, offset, size), size)), self.bits))

    def stored(self, at, v):
        self.memory.store(at, v)
        self.half.clear()
        self.half_stored = None

    def store(self, r, base, offset, size):
        self.stored(self.address(base, offset, size), self.ordered(extend(self.read(r), 8 * size)))

    def half_access(self, loads, size, r, base, offset, first):
        """Executes half of an unaligned access (lwl, lwr, ...). It accesses the bytes from an address to the end of its
        word, or from the word's start to the address. first: whether the address is that of the first byte. The number
        of bytes depends on the address, but both halves together access all bytes. So the result is unknown after the
        first half, and known after the second. In between, nothing may be stored, and the register must not change."""
        at = self.address(base, offset) - (0 if first else size - 1)
        key = at, size, not first
        if loads:
            v = self.memory.load(at, size)
            whole = self.half.get(r) == key
            self.write(r, from_word(self.ordered(v), self.bits) if whole else tainted(self.bits))
            if not whole:
                self.half[r] = at, size, first
            return
        v = self.ordered(extend(self.read(r), 8 * size))
        whole = self.half_stored == (*key, v)
        self.stored(at, v if whole else tainted(8 * size))
        if not whole:
            self.half_stored = at, size, first, v


def of_registers(f):
    """Returns the meaning of an instruction: a function of its fields that returns a function of the machine."""
    return lambda s, t, d: lambda m: m.write(d, f(m.read(s), m.read(t)))


# ---- Words in registers of 64 bits ------------------------------------------------------------------------------------------

_words = terms.memo()


def from_word(v, bits):
    """A word, sign-extended to a register."""
    return cat(v, *[cut(v, v.width - 1, 1)] * (bits - v.width)) if bits > v.width else v


def is_word(v):
    if v.width == 32:
        return True
    r = _words.get(v)
    if r is None:
        r = _words[v] = from_word(cut(v, 0, 32), v.width) is v
    return r


def of_words(f):
    """Returns the bitwise operation f. Its result for two words is a word."""
    def of(x, y):
        if x.width > 32 and is_word(x) and is_word(y):
            return from_word(f(cut(x, 0, 32), cut(y, 0, 32)), x.width)
        return f(x, y)
    return of


# ---- Sums and comparisons -------------------------------------------------------------------------------------------------

_other = terms.memo()  # (sum, one operand) -> the other operand
_of_limbs = terms.memo()


def limb_like(v):
    """Whether a value may be a limb of Poly1305, and not a word of ChaCha20: it is small, or a sum of products. Its
    carry may be needed."""
    return v.width > 32 or v.constant is None and v.defined and v.most >> 31 == 0 or any(n >= 0 and of_limbs(n) for n, _, _ in v.pieces)


def of_limbs(n):
    r = _of_limbs.get(n)
    if r is None:
        a = ATOMS[n]
        r = _of_limbs[n] = a.kind == "mul" or a.kind == "sum" and (a.width > 36 or any(limb_like(v) for _, v in a.operands))
    return r


def plus(x, y):
    """x + y. For limbs, less() finds the carry of the result. For other values, constants are added first, as in the
    specification."""
    r = add(x.width, x, y, closely=True)[0] if limb_like(x) or limb_like(y) else add_modular(x, y)
    _other[r, x], _other[r, y] = y, x
    return r


def less(x, y):
    """Whether x < y. A sum is less than an operand if it overflowed."""
    other = _other.get((x, y))
    c = add(x.width, y, other, closely=True)[1] if other is not None else subtract(x.width, x, y)[1]
    return extend(c, x.width)


def minus(x, y):
    """x - y. Two forms are simplified: (a + b) - (b mod 2^n) is a + (b - b mod 2^n). If all bytes of b are 0 or 1, 2^8
    b - b repeats each bit eight times."""
    w, k = x.width, y.ones.bit_length()
    if y.constant is not None:
        return add_modular(x, const(-y.constant, w))
    if not y.ones & ~(((1 << w) - 1) // 255) and shift_left(y, 8) is x:
        return cat(*(cut(y, i // 8 * 8, 1) for i in range(w)))
    n = x.pieces[0][0]
    if n >= 0 and ATOMS[n].kind == "sum" and ATOMS[n].extra == 0 and cut(terms.join([(n, 0, ATOMS[n].width)], ATOMS[n].width), 0, w) is x:
        values = [v for _, v in ATOMS[n].operands]
        for i, v in enumerate(values):
            if k < w and cut(v, 0, k) is cut(y, 0, k) and all(s > 0 for s, _ in ATOMS[n].operands):
                values[i] = cat(const(0, k), cut(v, k, w - k))
                return add(w, *(extend(v, w) for v in values), closely=True)[0]
    return subtract(w, x, y)[0]


def equals(x, y):
    """Whether x equals y, as one bit. For two addresses: whether their difference is 0."""
    if linear.any_place(x) and linear.any_place(y) and (d := linear.subtract(x, y)):
        x, y = d[0], const(0, x.width)
    return equal(x, y)


# ---- Alignment --------------------------------------------------------------------------------------------------------------

_pointers = terms.memo()  # values made from pointers, of which only low bits matter -> the pointers, and a mask


def of_pointers(x, y):
    """The bitwise or of two values."""
    if not (linear.any_place(x) and linear.any_place(y)):
        return either(x, y)
    if (x, y) not in _pointers:
        _pointers[x, y] = r = terms.fresh(x.width)
        _pointers[r] = (x, y), -1
    return _pointers[x, y]


def residues(v, mask):
    """Returns the possible values of v & mask, if v is a pointer or made from pointers, otherwise None. Raises
    Undecided if it may be 0 or not."""
    if v in _pointers:
        pointers, low = _pointers[v]
        mask &= low
        found, undecided = [], None
        for p in pointers:
            try:
                found.append(residues(p, mask))
            except Undecided as e:
                undecided = e
        if any(0 not in f for f in found):
            return set(range(1, mask + 1))  # for any value of the others
        if undecided:
            raise undecided
        return {functools.reduce(operator.or_, each) for each in itertools.product(*found)}
    base, offset = linear.any_place(v) or (None, 0)
    if base is None or base.address is None:
        return None
    found = {(r + offset) & mask for r in range(max(base.modulus, mask + 1)) if r % base.modulus in base.of}
    if 0 in found and len(found) > 1:
        raise Undecided(base, mask + 1)
    return found


def low_bits(x, y):
    """The bitwise and of x and a constant."""
    mask = y.constant
    found = residues(x, mask) if mask and not mask & mask + 1 else None
    if found is None or len(found) == 1:
        return const(found.pop(), x.width) if found else terms.both(x, y)
    key = x, mask
    if key not in _pointers:
        _pointers[key] = made = linear.Base("low bits", min(found), max(found), width=x.width) + 0
        _pointers[made] = (x,), mask
    return _pointers[key]
