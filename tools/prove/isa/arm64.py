"""AArch64: the effect of each instruction on registers, flags and memory, in terms of values.

Capstone decodes instructions into text. The semantics follow Arm's manual (DDI 0487). tests/semantics.py
compares them with an emulator. An unknown instruction stops the run.
"""
import re

import capstone
from isa.code import ArmFlags, elements, known, split
from spec import reverse
from values import bits, linear, terms
from values.terms import (Unproved, add, add_modular, atom, both, carryless, cat, const, cut, either, equal, extend, inverse_sub_shift, invert,
    mix_columns, product, rotate_left, select, shift_left, shift_right, sign_fill, sub_shift, subtract, undefined, xor)

POINTER = 64
MACHINE = "EM_AARCH64"
BITWISE = "neon"  # levels with bit-sliced AES
ARGUMENTS = (0, 1, 2)


class Machine(ArmFlags):
    def __init__(self, memory):
        super().__init__()
        self.memory = memory
        self.general = [undefined(64)] * 31
        self.vector = [[undefined(32)] * 4 for _ in range(32)]
        self.steps = 0

    def fill_vectors(self, name):
        self.vector = [[name(f"vector{r}.{i}", 32) if not w.defined else w for i, w in enumerate(v)] for r, v in enumerate(self.vector)]


def decoder():
    return capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM)


def operands(text):
    """Splits text at the commas outside brackets."""
    return [o.strip() for o in re.findall(r"(?:\[[^\]]*\]!?|\{[^}]*\}(?:\[\d+\])?|[^,\[\]{}]+(?:\[[^\]]*\])?)+", text) if o.strip()]


def integer(text):
    return int(text.lstrip("#"), 0)


def width_of(name):
    return 64 if name[0] == "x" else 32


def number(name):
    if name in ("xzr", "wzr"):
        return None
    m = re.fullmatch(r"[xw](\d+)", name)
    if not m:
        raise Unproved(f"register {name} is not known")
    return int(m[1])


def read(name):
    n, w = number(name), width_of(name)
    if n is None:
        return lambda m: const(0, w)
    if w == 64:
        return lambda m: m.general[n]
    return lambda m: cut(m.general[n], 0, 32)


def write(name):
    n, w = number(name), width_of(name)
    if n is None:
        return lambda m, v: None
    if n in (18, 28, 29, 30):
        raise Unproved(f"{name} may not be written")
    if w == 64:
        def put(m, v):
            m.general[n] = v
    else:
        def put(m, v):
            m.general[n] = extend(v, 64)
    return put


SHIFTS = {"lsl": shift_left, "lsr": shift_right, "asr": sign_fill, "ror": lambda v, n: rotate_left(v, v.width - n % v.width)}


def second(ops, i, width):
    """Returns a function that computes the operand i, including the shift after it."""
    o = ops[i]
    if o.startswith("#"):
        v = integer(o) << (integer(ops[i + 1].removeprefix("lsl ")) if len(ops) > i + 1 else 0)
        return lambda m: const(v, width)
    f = read(o)
    if len(ops) > i + 1:
        how, _, n = ops[i + 1].partition(" ")
        n = integer(n) if n else 0
        if how == "uxtw":
            return lambda m: shift_left(extend(f(m), 64), n)
        g = SHIFTS[how]
        return lambda m: g(f(m), n)
    return f


def compared(ops):
    """The operands of an instruction whose result is not kept."""
    return ["xzr" if width_of(ops[0]) == 64 else "wzr", *ops]


def arithmetic(name, ops):
    flags = name in ("adds", "adcs", "subs", "cmp", "cmn")
    adds, carry = name in ("add", "adds", "adc", "adcs", "cmn"), name in ("adc", "adcs")
    if name in ("cmp", "cmn"):
        ops = compared(ops)
    if name == "neg":
        ops = [ops[0], compared(ops)[0], *ops[1:]]
    w = width_of(ops[0])
    put, a, b = write(ops[0]), read(ops[1]), second(ops, 2, w)

    def run(m):
        x, y = a(m), b(m)
        if w == 32 and not flags and not carry and (adds or y.constant is not None):  # a counter
            put(m, add_modular(x, y if adds else const(-y.constant, w)))
            return
        put(m, m.sum(x, y, adds, flags, carry))
    return run


def compare_if(name, ops):
    """ccmp: compares, or sets the given flags."""
    a, w = read(ops[0]), width_of(ops[0])
    b, nzcv, code = second(ops[:2], 1, w), integer(ops[2]), ops[3]

    def run(m):
        if known(m.condition(code), "a condition"):
            m.sum(a(m), b(m), False, True)
        else:
            if (nzcv & 12) == 12:
                raise Unproved("flags of no number")
            m.carry, m.overflow = const(nzcv >> 1 & 1, 1), const(nzcv & 1, 1)
            m.result = const(0 if nzcv & 4 else 1 << 63 if nzcv & 8 else 1, 64)
    return run


LOGIC = {"and": both, "ands": both, "tst": both, "orr": either, "eor": xor, "bic": lambda a, b: both(a, invert(b))}


def logic(name, ops):
    if name == "tst":
        ops = compared(ops)
    w = width_of(ops[0])
    put, a, b, f, flags = write(ops[0]), read(ops[1]), second(ops, 2, w), LOGIC[name], name in ("ands", "tst")

    def run(m):
        r = f(a(m), b(m))
        if flags:
            m.carry = m.overflow = const(0, 1)
            m.result = r
        put(m, r)
    return run


def shift(name, ops):
    w = width_of(ops[0])
    put, a, f = write(ops[0]), read(ops[1]), SHIFTS[name]
    if ops[2].startswith("#"):
        n = integer(ops[2])

        def run(m):
            v = a(m)
            put(m, (name in ("lsl", "lsr") and linear.shift(v, n, name == "lsr")) or f(v, n))
        return run
    c = read(ops[2])
    return lambda m: put(m, f(a(m), known(c(m), "the count of a shift") % w))


def field(name, ops):
    """ubfx, sbfx, extr, rev, mul, umulh, madd, csel and similar instructions."""
    w, put = width_of(ops[0]), write(ops[0])
    s = [read(o) for o in ops[1:] if re.fullmatch(r"[xw](\d+|zr)", o)]
    if name in ("ubfx", "sbfx"):
        low, n = integer(ops[2]), integer(ops[3])
        if name == "ubfx":
            def bits(m):
                v = s[0](m)
                k = terms.lengths and terms.lengths.low_bits(v, ((1 << n) - 1) << low)
                put(m, shift_right(k, low) if k else extend(cut(v, low, n), w))
            return bits
        return lambda m: put(m, sign_fill(shift_left(s[0](m), w - low - n), w - n))
    if name == "extr":
        n = integer(ops[3])
        return lambda m: put(m, cut(cat(s[1](m), s[0](m)), n, w))
    if name == "rev":
        return lambda m: put(m, reverse(s[0](m)))
    if name == "mul":
        return lambda m: put(m, cut(product(s[0](m), s[1](m)), 0, w))
    if name == "umulh":
        return lambda m: put(m, cut(product(s[0](m), s[1](m)), 64, 64))
    if name == "madd":
        return lambda m: put(m, add(w, cut(product(s[0](m), s[1](m)), 0, w), s[2](m))[0])
    code = ops[-1]
    if name == "csel":
        return lambda m: put(m, select(m.condition(code), s[0](m), s[1](m)))
    if name == "csinc":
        return lambda m: put(m, select(m.condition(code), s[0](m), add_modular(s[1](m), const(1, w))))
    if name == "cset":
        return lambda m: put(m, extend(m.condition(code), w))
    raise Unproved(f"{name} is not known")


# ---- Memory -----------------------------------------------------------------------------------------------------------

def address(text, *behind):
    """Returns a function of the machine that computes the address, and updates its register. behind: the number or
    register that is added to it afterwards."""
    inside = [o.strip() for o in text[1:text.index("]")].split(",")]
    after = second(behind, 0, 64) if behind else None
    base = number(inside[0])
    offset, index, by = 0, None, 0
    if len(inside) > 1:
        if inside[1].startswith("#"):
            offset = integer(inside[1])
        else:
            index = read(inside[1])
            if len(inside) > 2:
                how, _, n = inside[2].partition(" ")
                if how != "lsl":
                    raise Unproved(f"address {text}")
                by = integer(n)
            if width_of(inside[1]) != 64:
                raise Unproved(f"address {text}")
    before = text.endswith("!")

    def at(m):
        v = m.general[base]
        b = m.known(v, "an address")
        moved = lambda by: const(b + by, 64) if v.constant is not None else add(64, v, const(by, 64))[0]
        if after:
            m.general[base] = moved(known(after(m), "an address"))
            return b
        a = b + offset
        if index:
            linear.one_pointer(v, i := index(m))
            if by and linear.any_place(i):
                raise Unproved("an address that is a multiple of a pointer")
            a += m.known(i, "an address") << by
        if before:
            m.general[base] = moved(a - b)
        return a & ((1 << 64) - 1)
    return at


BYTES = {"q": 16, "d": 8, "s": 4, "x": 8, "w": 4}


def transfer(loads, register, size):
    """Returns a function of the machine and of an address, which loads or stores a register."""
    if register[0] in "qds":
        n = int(register[1:])
        put = put_vector(n, size)
        if loads:
            return lambda m, a: put(m, list(m.memory.load_words(a, size // 4)))
        return lambda m, a: m.memory.store_words(a, m.vector[n][:size // 4])
    if loads:
        put, w = write(register), width_of(register)
        return lambda m, a: put(m, extend(m.memory.load(a, size), w))
    get = read(register)
    return lambda m, a: m.memory.store(a, cut(get(m), 0, 8 * size))


def load_store(name, ops):
    loads, count = name.startswith("ld"), 2 if name in ("ldp", "stp") else 1
    at, size = address(*ops[count:]), {"b": 1, "h": 2}.get(name[-1], BYTES[ops[0][0]])
    f, *more = (transfer(loads, r, size) for r in ops[:count])
    if not more:
        return lambda m: f(m, at(m))
    g, = more

    def two(m):
        a = at(m)
        f(m, a)
        g(m, a + size)
    return two


def store_element(ops):
    """st1 {v.s}[i], [x], x"""
    r = re.fullmatch(r"\{v(\d+)\.([sd])\}\[(\d+)\]", ops[0])
    if not r:
        raise Unproved(f"st1 {ops}")
    n, w, i, at = int(r[1]), {"s": 1, "d": 2}[r[2]], int(r[3]), address(*ops[1:])
    return lambda m: m.memory.store_words(at(m), m.vector[n][w * i:w * i + w])


# ---- Vectors ----------------------------------------------------------------------------------------------------------

ELEMENT = {"b": 8, "h": 16, "s": 32, "d": 64, "q": 128}


def vector(text):
    """Returns (number, width of elements, bytes) of v1.16b."""
    r = re.fullmatch(r"\{?v(\d+)\.(\d+)([bhsdq])\}?", text)
    if not r:
        raise Unproved(f"vector {text}")
    w = ELEMENT[r[3]]
    return int(r[1]), w, int(r[2]) * w // 8


def lane(text):
    """Returns (number, width, index) of v1.s[2]."""
    r = re.fullmatch(r"v(\d+)\.([bhsd])\[(\w+)\]", text)
    return (int(r[1]), ELEMENT[r[2]], int(r[3], 0)) if r else None


def narrow(words, size):
    return words if size == 16 else words[:size // 4]


def put_vector(n, size):
    """Writes a vector. The bytes above size become zero."""
    if size == 16:
        def put(m, words):
            m.vector[n] = words
    else:
        def put(m, words):
            m.vector[n] = words + [const(0, 32)] * (4 - len(words))
    return put


def interleave(which, first):
    """Returns trn, zip or uzp as a function of two lists of elements."""
    def run(x, y):
        n = len(x)
        if which == "trn":
            return [e for i in range(0, n, 2) for e in (x[i + first], y[i + first])]
        if which == "uzp":
            return [*x, *y][first::2]
        half = n // 2 * first
        return [e for i in range(n // 2) for e in (x[half + i], y[half + i])]
    return run


def by_each(f):
    """Applies f to each element separately."""
    return lambda *vectors: list(map(f, *vectors))


def chosen(x, y, bit):
    """y where the bits are set, otherwise x."""
    return xor(x, both(xor(x, y), bit))


# Instructions that compute elements from elements. The width of elements is 0 if the text has it. Then: whether the old
# destination is the first operand; how many other operands there are; a function of lists of elements.
LANEWISE = {
    **{name: (32, False, 2, by_each(LOGIC[name])) for name in ("eor", "and", "orr", "bic")},
    "mvn": (32, False, 1, by_each(invert)), "mov": (32, False, 1, list), "bit": (32, True, 2, by_each(chosen)),
    "bif": (32, True, 2, by_each(lambda old, x, y: chosen(x, old, y))), "bsl": (32, True, 2, by_each(lambda old, x, y: chosen(y, x, old))),
    **{name + str(k + 1): (0, False, 2, interleave(name, k)) for name in ("trn", "zip", "uzp") for k in (0, 1)},
    "cmtst": (0, False, 2, by_each(lambda x, y: cat(*[invert(equal(both(x, y), const(0, x.width)))] * x.width))),
    "add": (0, False, 2, by_each(lambda x, y: add_modular(x, y) if x.width == 32 else add(x.width, x, y)[0])),
    "sub": (0, False, 2, by_each(lambda x, y: subtract(x.width, x, y)[0])),
    "rbit": (8, False, 1, by_each(lambda v: cat(*reversed(terms.parts_of(v, 1))))),
    "aese": (128, True, 1, by_each(lambda old, key: sub_shift(xor(old, key)))),
    "aesd": (128, True, 1, by_each(lambda old, key: inverse_sub_shift(xor(old, key)))),
    "aesmc": (128, False, 1, by_each(mix_columns)), "aesimc": (128, False, 1, by_each(lambda e: mix_columns(e, True))),
}


def lanewise(name, w, n, same):
    """Returns an entry like those of LANEWISE, or None. w: the width of elements in the text. n: the constant operand,
    or None. same: whether the sources are one register."""
    if n is None and name == "eor" and same:
        return 32, False, 2, lambda x, y: [const(0, 32)] * len(x)
    if n is None and re.fullmatch(r"rev\d+", name):
        size = int(name[3:]) // w
        return 0, False, 1, lambda x: [e for i in range(0, len(x), size) for e in reversed(x[i:i + size])]
    if n is None:
        return LANEWISE.get(name)
    if name == "ext":
        return 0, False, 2, lambda x, y: [*x, *y][n:n + len(x)]
    f = {"shl": lambda d, s: shift_left(s, n), "ushr": lambda d, s: shift_right(s, n),
         "sshr": lambda d, s: sign_fill(s, min(n, w - 1)), "cmlt": n == 0 and (lambda d, s: sign_fill(s, w - 1)),
         "sli": lambda d, s: cat(*([cut(d, 0, n)] if n else []), cut(s, 0, w - n)),
         "sri": lambda d, s: cat(*([cut(s, n, w - n)] if n < w else []), cut(d, w - n, n))}.get(name)
    return f and (0, True, 1, by_each(f))


def look_up(table, control, beyond=None):
    """tbl and tbx: looks up bytes of a table. An index beyond it gives zero, or the old byte. The index may be data,
    because the whole table is read."""
    out = []
    for i, c in enumerate(control):
        before = beyond[i] if beyond else const(0, 8)
        if (n := c.constant) is not None:
            out.append(table[n] if n < len(table) else before)
        elif not all(v.defined for v in (c, before, *table)):
            out.append(terms.tainted(8))
        elif terms.bitwise:
            out.append(bits.look_up(table, c, before))
        else:
            out.append(atom("look", (c, before, *table), None, 8, 255))
    return out


def polynomial(ops, o):
    """pmull of bytes or of 64 bits, from word o on."""
    (d, _, _), (a, w, _), (b, _, _) = map(vector, ops)

    def run(m):
        products = map(carryless, elements(m.vector[a][o:o + 2], w), elements(m.vector[b][o:o + 2], w))
        m.vector[d] = split([extend(p, 2 * w) for p in products])
    return run


def remembered(f, places):
    """Returns f, with its results kept: the instruction reads and writes only vectors, at these places."""
    memo = terms.memo()

    def run(m):
        v = m.vector
        key = tuple([tuple(v[p]) for p in places])
        found = memo.get(key)
        if found is None:
            f(m)
            memo[key] = [tuple(v[p]) for p in places]
            return
        for p, words in zip(places, found):
            v[p] = words
    return run


def simd(name, ops):
    if name == "fmov" and re.fullmatch(r"d\d+ x\w+", " ".join(ops)):
        n, g = int(ops[0][1:]), read(ops[1])
        return lambda m: m.vector.__setitem__(n, split([g(m)]) + [const(0, 32)] * 2)
    if name == "fmov" and re.fullmatch(r"x\w+ d\d+", " ".join(ops)):
        put, n = write(ops[0]), int(ops[1][1:])
        return lambda m: put(m, cat(*m.vector[n][:2]))
    to, what = lane(ops[0]), lane(ops[1])
    if name == "mov" and to:
        n, w, i = to
        g = None if what else read(ops[1])

        def insert(m):
            e = list(elements(m.vector[n], w))
            e[i] = elements(m.vector[what[0]], w)[what[2]] if what else cut(g(m), 0, w)
            m.vector[n] = split(e)
        return insert
    if name == "mov" and what:  # to a general register
        (n, w, i), put, wide = what, write(ops[0]), width_of(ops[0])
        return lambda m: put(m, extend(elements(m.vector[n], w)[i], wide))
    if name in ("pmull", "pmull2"):
        return polynomial(ops, 2 if name == "pmull2" else 0)
    (d, w, size), n = vector(ops[0]), integer(ops[-1]) if ops[-1].startswith("#") else None
    put, count = put_vector(d, size), 8 * size // w
    if name == "dup" and what:
        return lambda m: put(m, split([elements(m.vector[what[0]], w)[what[2]]] * count))
    if name == "dup":
        g = read(ops[1])
        return lambda m: put(m, split([cut(g(m), 0, w)] * count))
    if name == "movi" and len(ops) == 2:
        return lambda m: put(m, split([const(n, w)] * count))
    if name in ("tbl", "tbx"):
        b, tables = vector(ops[2])[0], [vector(v.strip())[0] for v in ops[1].strip("{}").split(",")]

        def look(m):
            table = [e for a in tables for e in elements(m.vector[a], 8)]
            beyond = elements(narrow(m.vector[d], size), 8) if name == "tbx" else None
            put(m, split(look_up(table, elements(narrow(m.vector[b], size), 8), beyond)))
        return look
    if name == "shrn":
        a, wide, _ = vector(ops[1])
        return lambda m: put(m, split([cut(e, n, w) for e in elements(m.vector[a], wide)]))
    sources, found = [vector(o)[0] for o in ops[1:] if not o.startswith("#")], lanewise(name, w, n, ops[1:2] == ops[2:])
    if found is None or len(sources) != found[2]:
        raise Unproved(f"instruction {name} {', '.join(ops)} is not known")
    w, f = found[0] or w, found[3]
    numbers, together = [d] * found[1] + sources, list if w == 32 else split
    return lambda m: put(m, together(f(*[elements(narrow(m.vector[n], size), w) for n in numbers])))


def step(name, ops):
    """Returns the function of an instruction that does not branch."""
    if name == "nop":
        return lambda m: None
    if name == "st1":
        return store_element(ops)
    if any(re.match(r"\{?v\d", o) for o in ops[:2]) or name == "fmov":
        f = simd(name, ops)
        numbers = sorted({int(r) for o in ops for r in re.findall(r"\bv(\d+)", o)})
        return remembered(f, numbers) if all(re.match(r"\{?v\d|#", o) for o in ops) else f
    if name in ("mov", "movz", "mvn"):
        put, g = write(ops[0]), second(ops, 1, width_of(ops[0]))
        return (lambda m: put(m, invert(g(m)))) if name == "mvn" else lambda m: put(m, g(m))
    if name == "movk":
        put, g, w = write(ops[0]), read(ops[0]), width_of(ops[0])
        at, v = integer(ops[2].split()[1]) if len(ops) > 2 else 0, const(integer(ops[1]), 16)

        def keep(m):
            old = g(m)
            put(m, cat(*(p for p in (cut(old, 0, at), v, cut(old, at + 16, w - at - 16)) if p.width)))
        return keep
    if name in ("add", "adds", "adc", "adcs", "sub", "subs", "cmp", "cmn", "neg"):
        return arithmetic(name, ops)
    if name == "ccmp":
        return compare_if(name, ops)
    if name in LOGIC:
        return logic(name, ops)
    if name in SHIFTS:
        return shift(name, ops)
    if re.fullmatch(r"(ld|st)(r|rb|rh|ur|urb|urh|p)", name):
        return load_store(name, ops)
    return field(name, ops)


_md = decoder()


def meaning(code, pc):
    insn = next(_md.disasm(code[pc:pc + 4], pc), None) if pc >= 0 else None
    if insn is None:
        raise Unproved(f"no instruction at {pc:#x}")
    name, ops, text = insn.mnemonic, operands(insn.op_str), f"{insn.mnemonic} {insn.op_str}"
    if name == "ret" and not ops:
        return None, None, None, text
    if name == "b":
        return None, integer(ops[0]), None, text
    if name.startswith("b."):
        return None, pc + 4, (lambda m: m.condition(name[2:]), integer(ops[0])), text
    if name in ("cbz", "cbnz", "tbz", "tbnz"):
        g, compares = read(ops[0]), name.startswith("c")
        zero = (lambda m: equal(g(m), const(0, width_of(ops[0])))) if compares else lambda m: invert(cut(g(m), integer(ops[1]), 1))
        return None, pc + 4, (zero if name[2] == "z" else lambda m: invert(zero(m)), integer(ops[-1])), text
    if name in ("bl", "blr", "br"):
        raise Unproved("a call or an indirect jump")
    return step(name, ops), pc + 4, None, text
