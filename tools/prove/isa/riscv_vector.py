"""RISC-V's vectors: the effect of each vector instruction, in addition to riscv.py, in terms of values.

Encodings and semantics follow the RISC-V manual (V 1.0, Zvkb, Zvkg, Zvkned). tests/semantics.py compares them
with an emulator, and tests/encodings.py compares the encodings with disassemblers. An object is for vectors of one
length in bits: that of its symbol vlen, or 128. vsetvli may be asked for more elements than a register group holds,
but fewer than twice as many. Then the group is full; with the symbol fewest, it has as few as the manual allows:
half of those asked for.

vl and vtype are the same for all data. vstart is 0, as the calling convention requires. Instructions may leave
elements after vl, and masked-off ones, unchanged, or overwrite them with ones (ta, ma). Such elements count as
unknown data. Reserved encodings and settings are refused.
"""
import functools

import spec
from isa import riscv
from isa.integer import decoded, encodings, from_word, signed, text_of
from isa.lanes import elements, split
from values import linear, terms
from values.terms import (X127, Unproved, add_modular, aes_inverse_round, aes_round, cat, const, cut, extend, field_product, mix_columns, rotate_left,
                          shift_left, shift_right, tainted, xor)

# Fields as in riscv.py. x, y and z are vector registers; n and k are 5-bit numbers, k signed; u is 0 if masked; v and e
# are vtype.
ENCODINGS = """
vsetvli  0 v s 111 d 1010111    vsetivli 11 e n 111 d 1010111
vle8.v   000000 1 00000 s 000 x 0000111    vle32.v  000000 1 00000 s 110 x 0000111
vse8.v   000000 1 00000 s 000 x 0100111    vse32.v  000000 1 00000 s 110 x 0100111    vssseg8e32.v 111010 1 t s 110 x 0100111
vadd.vv  000000 u y z 000 x 1010111    vadd.vx  000000 u y s 100 x 1010111
vxor.vv  001011 1 y z 000 x 1010111    vor.vv   001010 1 y z 000 x 1010111
vsll.vi  100101 1 y n 011 x 1010111    vsrl.vi  101000 1 y n 011 x 1010111    vror.vi  010100 1 y n 011 x 1010111
vmv.v.v  010111 1 00000 z 000 x 1010111    vmv.v.x  010111 1 00000 s 100 x 1010111    vmv.v.i 010111 1 00000 k 011 x 1010111
vmv.s.x  010000 1 00000 s 110 x 1010111    vmv.x.s  010000 1 y 00000 010 d 1010111    vmv1r.v 100111 1 y 00000 011 x 1010111
vid.v    010100 1 00000 10001 010 x 1010111
vslideup.vi 001110 1 y n 011 x 1010111    vslidedown.vx 001111 1 y s 100 x 1010111    vslide1down.vx 001111 1 y s 110 x 1010111
vbrev8.v 010010 1 y 01000 010 x 1010111    vrev8.v  010010 1 y 01001 010 x 1010111
vaesz.vs 101001 1 y 00111 010 x 1110111    vaesem.vs 101001 1 y 00010 010 x 1110111    vaesef.vs 101001 1 y 00011 010 x 1110111
vaesdm.vs 101001 1 y 00000 010 x 1110111    vaesdf.vs 101001 1 y 00001 010 x 1110111
vaeskf1.vi 100010 1 y n 010 x 1110111    vaeskf2.vi 101010 1 y n 010 x 1110111
vgmul.vv 101000 1 y 10001 010 x 1110111    vghsh.vv 101100 1 y z 010 x 1110111
"""
WIDTHS = {**riscv.WIDTHS, **dict.fromkeys("xyznk", 5), "u": 1, "v": 11, "e": 10}
KNOWN = encodings(ENCODINGS, WIDTHS)
BLOCK = 4  # in elements


class Machine(riscv.Machine):
    """vector: the words of each register. sew: bits of an element. group: registers of a group. kept, kept_masked:
    whether elements after vl, or masked-off ones, stay unchanged."""

    def __init__(self, memory, vlen, fewest):
        super().__init__(memory)
        self.vlen, self.fewest = vlen, fewest
        self.vector = [[terms.undefined(32)] * (vlen // 32) for _ in range(32)]
        self.vl = None

    def fill_vectors(self, name):
        self.vector = [[name(f"vector {i} {j}", 32) for j in range(self.vlen // 32)] for i in range(32)]

    def set_type(self, vtype, asked):
        """asked: the number of elements, or None for all."""
        self.sew, self.group = 8 << (vtype >> 3 & 7), 1 << (vtype & 7)
        if self.sew > 64 or self.group > 8 or vtype >> 8:
            raise Unproved(f"vtype {vtype:#x}")
        self.kept, self.kept_masked = not vtype & 64, not vtype & 128
        most = self.group * self.vlen // self.sew
        self.vl = most if asked is None or asked >= 2 * most else asked if asked <= most else -(-asked // 2) if self.fewest else most

    def registers(self, first, group=None):
        """Returns the words of a group."""
        group = group or self.group
        if first % group:
            raise Unproved(f"a group of {group} registers from v{first} on")
        return [w for words in self.vector[first:first + group] for w in words]

    def words(self, first):
        """Returns the words with elements below vl. Bits after vl are zero."""
        bits = self.vl * self.sew
        found = self.registers(first)[:-(-bits // 32)]
        return [*found[:-1], extend(cut(found[-1], 0, bits % 32), 32)] if bits % 32 else found

    def elements(self, first):
        return elements(self.words(first), self.sew)[:self.vl]

    def put_words(self, first, words):
        """Sets the words with elements below vl. Bits after vl in the last word are ignored."""
        old, bits = self.registers(first), self.vl * self.sew
        new = list(words)
        if rest := bits % 32:
            new[-1] = cat(cut(new[-1], 0, rest), cut(old[len(new) - 1], rest, 32 - rest) if self.kept else tainted(32 - rest))
        if new:  # otherwise nothing changes
            new += old[len(new):] if self.kept else [tainted(32)] * (len(old) - len(new))
            self.put_registers(first, new)

    def put_registers(self, first, words):
        size = self.vlen // 32
        for i in range(len(words) // size):
            self.vector[first + i] = words[size * i:size * (i + 1)]

    def put(self, first, found, unmasked=1):
        """Sets the elements below vl."""
        if not unmasked and found:
            if first == 0 or not self.kept_masked:
                raise Unproved("masked-off elements that do not stay as they are")
            mask = self.known(cut(cat(*self.vector[0]), 0, self.vl), "a mask")
            found = [e if mask >> i & 1 else old for i, (e, old) in enumerate(zip(found, self.elements(first)))]
        absent = -len(found) * self.sew % 32 // self.sew
        self.put_words(first, split([*found, *[const(0, self.sew)] * absent]))

    def number(self, r):
        """The value of an integer register, as an element."""
        return cut(self.read(r), 0, self.sew)

    def blocks(self, first):
        if self.sew != 32 or self.vl % BLOCK:
            raise Unproved(f"blocks in {self.vl} elements of {self.sew} bits")
        words = self.words(first)
        return [cat(*words[i:i + BLOCK]) for i in range(0, len(words), BLOCK)]

    def round_key(self, first, state):
        """The first block of a register."""
        if state <= first < state + self.group:
            raise Unproved(f"a round key in v{first}, among the blocks")
        return cat(*self.vector[first][:BLOCK])

    def put_blocks(self, first, found):
        self.put_words(first, split(found))


# ---- Memory -----------------------------------------------------------------------------------------------------------------

def place(m, s, size):
    """Returns the address of elements with `size` bits, and how many whole words and remaining bytes they fill."""
    if m.sew != size:
        raise Unproved(f"an access by {size} bits to elements of {m.sew}")
    return m.address(s, 0, size // 8), m.vl * size // 32, m.vl * size // 8 % 4


def load(size, m, s, x):
    at, words, rest = place(m, s, size)
    found = list(m.memory.load_words(at, words)) if words else []
    m.put_words(x, found + [extend(m.memory.load(at + 4 * words, rest), 32)] if rest else found)


def store(size, m, s, x):
    (at, words, rest), found = place(m, s, size), m.words(x)
    if words:
        m.memory.store_words(at, found[:words])
    if rest:
        m.memory.store(at + 4 * words, cut(found[words], 0, 8 * rest))


def store_segments(m, s, t, x):
    """Stores elements i of 8 registers side by side, at s + i t."""
    (at, _, _), stride = place(m, s, 32), m.known(m.read(t), "a stride")
    if m.group > 1 or x > 24 or stride % 4:
        raise Unproved(f"segments of {m.group} registers from v{x} on, {stride} bytes apart")
    if m.vl > 1 and not 32 <= stride < 1 << 32:
        raise Unproved(f"segments {stride} bytes apart, which are not stored in order")
    for i in range(m.vl):
        m.memory.store_words(at + i * stride, [m.vector[x + j][i] for j in range(8)])


# ---- Elements ---------------------------------------------------------------------------------------------------------------

def set_length(m, v, s, d):
    if s == d == 0:
        raise Unproved("vsetvli that keeps vl")
    m.set_type(v, m.known(m.read(s), "a number of elements") if s else None)
    m.write(d, const(m.vl, 64))


def set_length_to(m, e, n, d):
    m.set_type(e, n)
    m.write(d, const(m.vl, 64))


_results = terms.memo()


def each(f, *operands):
    """Returns f of each element, with the results kept."""
    key = f, *map(tuple, operands)
    r = _results.get(key)
    if r is None:
        r = _results[key] = [f(*e) for e in zip(*operands)]
    return r


def bitwise(f, m, x, y, z):
    m.put_words(x, each(f, m.words(y), m.words(z)))


def unmasked(m, x, *sources):
    """Returns x. The mask, v0, has elements of one bit, so it may be no source of others (RISC-V, V 5.2)."""
    if 0 in sources:
        raise Unproved("a mask that is also a source")
    return x


def shift(f, m, x, y, n):
    m.put(x, each(f, m.elements(y), [n % m.sew] * m.vl))


def slide(by, m, x, y, into=None):
    """Moves the elements from `by` on to the start. After the end of the group there are zeroes. into: the last
    element below vl."""
    whole = elements(m.registers(y), m.sew)
    found = [whole[i + by] if i + by < len(whole) else const(0, m.sew) for i in range(m.vl)]
    m.put(x, found if into is None else [*found[:-1], into][:m.vl])


def slide_up(m, x, y, n):
    if max(x, y) < min(x, y) + m.group:
        raise Unproved("vslideup of a group into itself")
    m.put(x, (m.elements(x)[:n] + m.elements(y))[:m.vl])


def first_element(m, x, s):
    if not m.kept:
        raise Unproved("vmv.s.x of all elements but one")
    if m.vl:
        m.vector[x] = split([m.number(s), *elements(m.vector[x], m.sew)[1:]])


def of_each(f, m, x, y):
    m.put(x, each(f, m.elements(y)))


def bits_reversed(v):
    """The bits of each byte in reverse order."""
    return cat(*(bit for byte in terms.parts_of(v, 8) for bit in reversed(terms.parts_of(byte, 1))))


# ---- AES and GHASH ----------------------------------------------------------------------------------------------------------

def cipher(f, m, x, y):
    key = m.round_key(y, x)
    m.put_blocks(x, [f(b, key) for b in m.blocks(x)])


def following(block, first):
    """Returns the words of a round key, from the words before them (FIPS 197, 5.2). `first` is added to the first one."""
    out = []
    for w in split([block]):
        out.append(xor(w, out[-1] if out else first))
    return cat(*out)


def expand(long, m, x, y, n):
    """vaeskf1: a round key of AES-128. vaeskf2: one of AES-256, from the previous two."""
    if not 1 + long <= n <= (14 if long else 10):
        raise Unproved(f"a round key of number {n}")
    found = []
    for before, b in zip(m.blocks(x if long else y), m.blocks(y)):
        last, odd = cut(b, 96, 32), long and n % 2
        last = spec.sub_word(last) if odd else xor(spec.sub_word(last, 1), spec.rcon(n // 2 if long else n))
        found.append(following(before, last))
    m.put_blocks(x, found)


def times_x(v):
    """A byte-reversed block times x (SP 800-38D, 6.3). Its bit i is the coefficient of x^(127-i)."""
    top = cut(v, 0, 1)
    return xor(shift_right(v, 1), cat(const(0, 120), top, const(0, 4), top, top, top))


def field_multiply(a, b):
    """The product of two blocks. Unless a factor is constant, it is an atom, which is known by its image."""
    if not (a.defined and b.defined):
        return tainted(128)
    a, b = spec.reverse(a), spec.reverse(b)
    if a.constant is not None:
        a, b = b, a
    if b.constant is not None:
        r = const(0, 128)
        for i in range(128 - (b.constant & -b.constant).bit_length() + 1 if b.constant else 0):
            r, a = xor(r, a) if b.constant >> 127 - i & 1 else r, times_x(a)
        return spec.reverse(r)
    r = terms.atom("gmul", (a, b) if a.pieces <= b.pieces else (b, a), None, 128, (1 << 128) - 1)
    atom = terms.ATOMS[r.pieces[0][0]]
    if atom.images is None:
        atom.images = {0: field_product(X127, field_product(a.image, b.image))}
    return spec.reverse(r)


def multiply(m, x, y):
    m.put_blocks(x, [field_multiply(a, b) for a, b in zip(m.blocks(x), m.blocks(y))])


def hash_(m, x, y, z):
    m.put_blocks(x, [field_multiply(xor(a, c), b) for a, b, c in zip(m.blocks(x), m.blocks(y), m.blocks(z))])


# ---- Instructions -----------------------------------------------------------------------------------------------------------

of = functools.partial
MEANINGS = {
    "srli": lambda m, s, a, d: m.write(d, linear.shift(m.read(s), a, True) or shift_right(m.read(s), a)),  # of lengths too
    "vsetvli": set_length, "vsetivli": set_length_to,
    "vle8.v": of(load, 8), "vle32.v": of(load, 32), "vse8.v": of(store, 8), "vse32.v": of(store, 32), "vssseg8e32.v": store_segments,
    "vadd.vv": lambda m, x, y, z, u: m.put(x if u else unmasked(m, x, y, z), each(add_modular, m.elements(y), m.elements(z)), u),
    "vadd.vx": lambda m, x, y, s, u: m.put(x if u else unmasked(m, x, y), each(add_modular, m.elements(y), [m.number(s)] * m.vl), u),
    "vxor.vv": of(bitwise, xor), "vor.vv": of(bitwise, terms.either),
    "vsll.vi": of(shift, shift_left), "vsrl.vi": of(shift, shift_right), "vror.vi": of(shift, lambda v, n: rotate_left(v, v.width - n)),
    "vmv.v.v": lambda m, x, z: m.put_words(x, m.words(z)), "vmv.v.x": lambda m, x, s: m.put(x, [m.number(s)] * m.vl),
    "vmv.v.i": lambda m, x, k: m.put(x, [const(signed(k, 5), m.sew)] * m.vl),
    "vmv.s.x": first_element, "vmv.x.s": lambda m, y, d: m.write(d, from_word(elements(m.vector[y], m.sew)[0], 64)),
    "vmv1r.v": lambda m, x, y: m.put_registers(x, list(m.vector[y])),
    "vid.v": lambda m, x: m.put(x, [const(i, m.sew) for i in range(m.vl)]),
    "vslideup.vi": slide_up, "vslidedown.vx": lambda m, x, y, s: slide(m.known(m.read(s), "a distance"), m, x, y),
    "vslide1down.vx": lambda m, x, y, s: slide(1, m, x, y, m.number(s)),
    "vbrev8.v": of(of_each, bits_reversed), "vrev8.v": of(of_each, spec.reverse),
    "vaesz.vs": of(cipher, xor), "vaesem.vs": of(cipher, aes_round), "vaesef.vs": of(cipher, lambda b, k: aes_round(b, k, True)),
    # The key is added before InvMixColumns, which is linear.
    "vaesdm.vs": of(cipher, lambda b, k: aes_inverse_round(b, mix_columns(k, True))),
    "vaesdf.vs": of(cipher, lambda b, k: aes_inverse_round(b, k, True)),
    "vaeskf1.vi": of(expand, False), "vaeskf2.vi": of(expand, True), "vgmul.vv": multiply, "vghsh.vv": hash_,
}


OPCODES = {match & 0x7f for _, match, _, _ in KNOWN}


def fields(code, pc):
    return decoded(code, pc, KNOWN if code[pc] & 0x7f in OPCODES else riscv.KNOWN, WIDTHS, riscv.RESERVED)


def meaning(code, pc):
    name, f = fields(code, pc)
    if name not in MEANINGS:
        return riscv.meaning(code, pc)
    run = MEANINGS[name]

    def step(m):
        if m.vl is None and {"x", "y"} & f.keys():
            raise Unproved("vectors without vsetvli")
        run(m, **f)
    return step, pc + 4, None, text_of(name, f)


class Isa:
    """riscv.py with vectors of `vlen` bits."""

    meaning, fields = staticmethod(meaning), staticmethod(fields)
    BY_INDUCTION = {"chacha20poly1305_rvv": 1025, "chacha20poly1305_zvkb": 1025}  # run/lists.py

    def __init__(self, vlen, fewest):
        self.vlen, self.fewest, self.__name__ = vlen, fewest, f"isa.riscv64v{vlen}{'fewest' if fewest else ''}"

    def __getattr__(self, name):
        return getattr(riscv, name)

    def Machine(self, memory):
        return Machine(memory, self.vlen, self.fewest)


def of_symbols(symbols):
    """Returns the instruction set of an object with these symbols."""
    vlen = symbols.get_symbol_by_name("vlen")
    return Isa(vlen[0]["st_value"] if vlen else 128, symbols.get_symbol_by_name("fewest") is not None)
