"""AArch64: the effect of each instruction on registers, flags and memory, in terms of values.

Capstone decodes instructions into text. The semantics follow Arm's manual (DDI 0487). tests/semantics_arm.py
compares them with an emulator. An unknown instruction stops the run.
"""
import re

import capstone
from isa.code import ArmFlags, elements, known, overflow_of, split
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
        v = integer(o) & ((1 << width) - 1)
        if len(ops) > i + 1:
            how, n = ops[i + 1].split()
            v = (v << integer(n)) & ((1 << width) - 1)
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


def arithmetic(name, ops):
    flags = name in ("adds", "adcs", "subs", "cmp", "cmn", "sbcs", "negs")
    base = {"cmp": "sub", "cmn": "add"}.get(name, name.removesuffix("s") if flags else name)
    if name == "neg":
        base, ops = "sub", [ops[0], "xzr" if ops[0][0] == "x" else "wzr", *ops[1:]]
    if name in ("cmp", "cmn"):
        ops = ["xzr" if width_of(ops[0]) == 64 else "wzr", *ops]
    w = width_of(ops[0])
    put, a, b = write(ops[0]), read(ops[1]), second(ops, 2, w)
    carry = base in ("adc", "sbc")

    def run(m):
        x, y = a(m), b(m)
        if base in ("add", "adc"):
            if flags or carry or w == 64:
                r, c = add(w, x, y, carry=m.bit(m.carry) if carry else None)
            else:
                r, c = add_modular(x, y), None
            v = overflow_of(x, y, r)
        elif not flags and not carry and w == 32 and y.constant is not None:  # a counter
            put(m, add_modular(x, const(-y.constant % (1 << w), w)))
            return
        else:
            r, c = subtract(w, x, y, invert(m.bit(m.carry)) if carry else None)
            c, v = invert(c), overflow_of(x, invert(y), r)
        if flags:
            m.carry, m.overflow, m.result = c, v, r
        put(m, r)
    return run


def compare_if(name, ops):
    """ccmp: compares, or sets the given flags."""
    a, w = read(ops[0]), width_of(ops[0])
    b, nzcv, code = second(ops[:2], 1, w), integer(ops[2]), ops[3]

    def run(m):
        if known(m.condition(code), "a condition"):
            x, y = a(m), b(m)
            r, c = subtract(w, x, y)
            m.carry, m.overflow, m.result = invert(c), overflow_of(x, invert(y), r), r
        else:
            if (nzcv & 12) == 12:
                raise Unproved("flags of no number")
            m.carry, m.overflow = const(nzcv >> 1 & 1, 1), const(nzcv & 1, 1)
            m.result = const(0 if nzcv & 4 else 1 << 63 if nzcv & 8 else 1, 64)
    return run


LOGIC = {"and": both, "ands": both, "tst": both, "orr": either, "eor": xor, "bic": lambda a, b: both(a, invert(b)),
         "orn": lambda a, b: either(a, invert(b)), "eon": lambda a, b: xor(a, invert(b))}


def logic(name, ops):
    if name == "tst":
        ops = ["xzr" if width_of(ops[0]) == 64 else "wzr", *ops]
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
    """ubfx, sbfx, extr, rev, mul, umulh, madd, clz, csel and similar instructions."""
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
        return lambda m: put(m, (lambda v: cat(*(cut(v, i, 8) for i in range(w - 8, -8, -8))))(s[0](m)))
    if name == "mul":
        return lambda m: put(m, cut(product(s[0](m), s[1](m)), 0, w))
    if name == "umulh":
        return lambda m: put(m, cut(product(s[0](m), s[1](m)), 64, 64))
    if name == "madd":
        return lambda m: put(m, add(w, cut(product(s[0](m), s[1](m)), 0, w), s[2](m))[0])
    if name == "clz":
        return lambda m: put(m, const(w - known(s[0](m), "a number whose zeroes are counted").bit_length(), w))
    code = ops[-1]
    if name == "csel":
        return lambda m: put(m, select(m.condition(code), s[0](m), s[1](m)))
    if name == "csinc":
        return lambda m: put(m, select(m.condition(code), s[0](m), add_modular(s[1](m), const(1, w))))
    if name == "cset":
        return lambda m: put(m, extend(m.condition(code), w))
    if name == "csetm":
        return lambda m: put(m, cat(*[m.condition(code)] * w))
    raise Unproved(f"{name} is not known")


# ---- Memory -----------------------------------------------------------------------------------------------------------

def address(text, behind):
    """Returns a function of the machine that computes the address, and updates its register."""
    inside = [o.strip() for o in text[1:text.index("]")].split(",")]
    base = number(inside[0])
    offset, index, by = 0, None, 0
    if len(inside) > 1:
        if inside[1].startswith("#"):
            offset = integer(inside[1])
        else:
            index = read(inside[1])
            if len(inside) > 2:
                how, _, n = inside[2].partition(" ")
                if how not in ("lsl", "uxtw"):
                    raise Unproved(f"address {text}")
                by = integer(n) if n else 0
                if how == "uxtw":
                    plain = index
                    index = lambda m: extend(plain(m), 64)
            elif width_of(inside[1]) != 64:
                raise Unproved(f"address {text}")
    before = text.endswith("!")

    def at(m):
        v = m.general[base]
        b = m.known(v, "an address")
        moved = lambda by: const(b + by, 64) if v.constant is not None else add(64, v, const(by, 64))[0]
        if behind is not None:
            step = behind if isinstance(behind, int) else known(behind(m), "an address")
            m.general[base] = moved(step)
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


def load_store(name, ops):
    is_load, pair = name.startswith("ld"), name in ("ldp", "stp")
    registers = ops[:2] if pair else ops[:1]
    rest = ops[len(registers):]
    behind = None
    if len(rest) > 1:
        behind = integer(rest[1]) if rest[1].startswith("#") else read(rest[1])
    at = address(rest[0], behind)
    size = BYTES[registers[0][0]]
    if name.endswith("b"):
        size = 1
    elif name.endswith("h"):
        size = 2
    steps = []
    for r in registers:
        if r[0] in "qds":
            n = int(r[1:])
            if is_load:
                def f(m, a, n=n):
                    w = m.memory.load_words(a, size // 4)
                    m.vector[n] = [*w, *[const(0, 32)] * (4 - len(w))]
            else:
                def f(m, a, n=n):
                    m.memory.store_words(a, m.vector[n][:size // 4])
        elif is_load:
            put, w = write(r), width_of(r)

            def f(m, a, put=put, w=w):
                put(m, extend(m.memory.load(a, size), w))
        else:
            get = read(r)

            def f(m, a, get=get):
                m.memory.store(a, cut(get(m), 0, 8 * size))
        steps.append(f)
    if len(steps) == 1:
        f = steps[0]
        return lambda m: f(m, at(m))
    f, g = steps

    def two(m):
        a = at(m)
        f(m, a)
        g(m, a + size)
    return two


def single(name, ops):
    """ld1 and st1 of one element: st1 {v.s}[i], [x], x"""
    r = re.fullmatch(r"\{v(\d+)\.([sd])\}\[(\d+)\]", ops[0])
    if not r:
        raise Unproved(f"{name} {ops}")
    n, w, i = int(r[1]), {"s": 1, "d": 2}[r[2]], int(r[3])
    behind = None
    if len(ops) > 2:
        behind = integer(ops[2]) if ops[2].startswith("#") else read(ops[2])
    at = address(ops[1], behind)
    if name == "st1":
        return lambda m: m.memory.store_words(at(m), m.vector[n][w * i:w * i + w])

    def load(m):
        words = list(m.vector[n])
        words[w * i:w * i + w] = m.memory.load_words(at(m), w)
        m.vector[n] = words
    return load


# ---- Vectors ------------------------------------------------------------------------------------------------------------

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
            out = []
            for i in range(0, n, 2):
                out += [x[i + first], y[i + first]]
            return out
        if which == "uzp":
            return [*x, *y][first::2]
        half = n // 2 * first
        return [e for i in range(n // 2) for e in (x[half + i], y[half + i])]
    return run


BY_ELEMENTS = {name + str(k + 1): interleave(name, k) for name in ("trn", "zip", "uzp") for k in (0, 1)}
BY_ELEMENTS["cmtst"] = lambda x, y: [cat(*[invert(equal(both(a, b), const(0, a.width)))] * a.width) for a, b in zip(x, y)]
BY_ELEMENTS["cmeq"] = lambda x, y: [cat(*[equal(a, b)] * a.width) for a, b in zip(x, y)]
BY_ELEMENTS["sub"] = lambda x, y: [subtract(a.width, a, b)[0] for a, b in zip(x, y)]


def add_elements(x, y):
    return [add_modular(a, b) if a.width == 32 else add(a.width, a, b)[0] for a, b in zip(x, y)]


BY_ELEMENTS["add"] = add_elements


def shift_insert(name, w, n):
    if name == "shl":
        return lambda d, s: shift_left(s, n)
    if name == "ushr":
        return lambda d, s: shift_right(s, n) if n < w else const(0, w)
    if name == "sshr":
        return lambda d, s: sign_fill(s, min(n, w - 1))
    if name == "sli":
        return lambda d, s: cat(*([cut(d, 0, n)] if n else []), cut(s, 0, w - n))
    if name == "sri":
        return lambda d, s: cat(*([cut(s, n, w - n)] if n < w else []), cut(d, w - n, n))
    raise Unproved(name)


def reverse_bits(v):
    return cat(*(cut(v, i, 1) for i in range(v.width - 1, -1, -1)))


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


def polynomial(ops, high):
    """pmull of bytes or of 64 bits."""
    (d, _, _), (a, w, size), (b, _, _) = map(vector, ops)
    o = 2 if high else 0

    def run(m):
        x, y = m.vector[a][o:o + 2], m.vector[b][o:o + 2]
        if w == 64:
            m.vector[d] = split([carryless(cat(*x), cat(*y))])
        else:
            m.vector[d] = split([cut(carryless(p, q), 0, 16) for p, q in zip(elements(x, 8), elements(y, 8))])
    return run


def remembered(f, ops):
    """Returns f, with its results kept: the instruction reads and writes only vectors."""
    numbers = sorted({int(r) for o in ops for r in re.findall(r"\bv(\d+)", o)})
    memo = terms.memo()

    def run(m):
        v = m.vector
        key = tuple([tuple(v[n]) for n in numbers])
        found = memo.get(key)
        if found is None:
            f(m)
            memo[key] = tuple([tuple(v[n]) for n in numbers])
            return
        for n, words in zip(numbers, found):
            v[n] = words
    return run


def by_each(f):
    """Applies f to each element separately."""
    return lambda *vectors: [f(*e) for e in zip(*vectors)]


def whole_vectors(name, ops):
    """Returns (width, old, others, function) for an instruction that computes elements from elements, or None. The
    width of elements is 0 if the text has it. old: whether the old destination is the first operand. others: how many
    other operands there are. The function takes lists of elements."""
    if name == "eor" and ops[1:2] == ops[2:]:
        return 32, False, 2, lambda x, y: [const(0, 32)] * len(x)
    if name in ("eor", "and", "orr", "bic", "orn"):
        return 32, False, 2, by_each(LOGIC[name])
    if name in ("mvn", "not"):
        return 32, False, 1, by_each(invert)
    if name == "mov" and lane(ops[0]) is None:
        return 32, False, 1, list
    if name in ("bit", "bif", "bsl"):  # bit: x where y; bif: x where not y; bsl: x where the old bit is set, else y
        order = {"bit": (0, 1, 2), "bif": (1, 0, 2), "bsl": (2, 1, 0)}[name]

        def choose(*three):
            old, x, y = (three[i] for i in order)
            return xor(old, both(xor(old, x), y))
        return 32, True, 2, by_each(choose)
    if name == "ext":
        n = integer(ops[3])
        return 8, False, 2, lambda x, y: [*x, *y][n:n + len(x)]
    if name == "cmlt" and ops[2] == "#0":
        return 0, False, 1, by_each(lambda e: sign_fill(e, e.width - 1))
    if name in ("shl", "ushr", "sshr", "sli", "sri"):
        return 0, True, 1, by_each(shift_insert(name, vector(ops[0])[1], integer(ops[2])))
    if name == "rbit":
        return 8, False, 1, by_each(reverse_bits)
    if name in ("rev16", "rev32", "rev64"):
        group = int(name[3:]) // vector(ops[0])[1]
        return 0, False, 1, lambda x: [e for i in range(0, len(x), group) for e in reversed(x[i:i + group])]
    if name in ("aese", "aesd"):
        f = sub_shift if name == "aese" else inverse_sub_shift
        return 128, True, 1, by_each(lambda old, key: f(xor(old, key)))
    if name in ("aesmc", "aesimc"):
        return 128, False, 1, by_each(lambda e: mix_columns(e, name == "aesimc"))
    return (0, False, 2, BY_ELEMENTS[name]) if name in BY_ELEMENTS else None


def simd(name, ops):
    if ops[0][0] == "v" and lane(ops[0]) is None and (found := whole_vectors(name, ops)):
        w, old, count, f = found
        (d, wide, size), *sources = (vector(o) for o in ops if not o.startswith("#"))
        if len(sources) != count:
            raise Unproved(f"instruction {name} {', '.join(ops)} is not known")
        w, numbers, put = w or wide, [d] * old + [n for n, _, _ in sources], put_vector(d, size)
        together = list if w == 32 else split
        return lambda m: put(m, together(f(*(elements(narrow(m.vector[n], size), w) for n in numbers))))
    if name in ("pmull", "pmull2"):
        return polynomial(ops, name == "pmull2")
    if name in ("mov", "ins", "umov"):
        to, what = lane(ops[0]), lane(ops[1])
        if to is None:  # to a general register
            n, w, i = what
            put, wide = write(ops[0]), width_of(ops[0])
            return lambda m: put(m, extend(elements(m.vector[n], w)[i], wide))
        n, w, i = to
        get = (lambda m: elements(m.vector[what[0]], w)[what[2]]) if what else \
            (lambda m, g=None if what else read(ops[1]): cut(g(m), 0, w))

        def insert(m):
            e = list(elements(m.vector[n], w))
            e[i] = get(m)
            m.vector[n] = split(e)
        return insert
    if name == "fmov":
        if not re.fullmatch(r"d\d+ x\w+|x\w+ d\d+", " ".join(ops)):
            raise Unproved(f"{name} {', '.join(ops)}")
        if ops[0][0] == "d":
            n, g = int(ops[0][1:]), read(ops[1])
            return lambda m: m.vector.__setitem__(n, split([g(m)]) + [const(0, 32)] * 2)
        put, n = write(ops[0]), int(ops[1][1:])
        return lambda m: put(m, cat(*m.vector[n][:2]))
    if name == "dup":
        d, w, size = vector(ops[0])
        put, what = put_vector(d, size), lane(ops[1])
        if what:
            return lambda m: put(m, split([elements(m.vector[what[0]], w)[what[2]]] * (8 * size // w)))
        g = read(ops[1])
        return lambda m: put(m, split([cut(g(m), 0, w)] * (8 * size // w)))
    if name == "movi":
        d, w, size = vector(ops[0])
        v, put = integer(ops[1]), put_vector(d, size)
        if len(ops) > 2:
            how, n = ops[2].split()
            if how != "lsl":
                raise Unproved(f"movi {ops}")
            v <<= integer(n)
        return lambda m: put(m, split([const(v, w)] * (8 * size // w)))
    if name in ("tbl", "tbx"):
        (d, _, size), (b, _, _) = vector(ops[0]), vector(ops[2])
        tables, put = [vector(v.strip())[0] for v in ops[1].strip("{}").split(",")], put_vector(d, size)

        def look(m):
            table = [e for a in tables for e in elements(m.vector[a], 8)]
            beyond = elements(narrow(m.vector[d], size), 8) if name == "tbx" else None
            put(m, split(look_up(table, elements(narrow(m.vector[b], size), 8), beyond)))
        return look
    if name == "shrn":
        (d, w, size), (a, wide, _) = map(vector, ops[:2])
        n, put = integer(ops[2]), put_vector(d, size)
        return lambda m: put(m, split([cut(e, n, w) for e in elements(m.vector[a], wide)]))
    raise Unproved(f"instruction {name} {', '.join(ops)} is not known")


def step(name, ops):
    """Returns the function of an instruction that does not branch."""
    if name in ("hint", "nop", "bti"):
        return lambda m: None
    if any(re.match(r"\{?v\d", o) for o in ops[:2]) or name == "fmov":
        if name in ("st1", "ld1"):
            return single(name, ops)
        vectors = all(re.match(r"\{?v\d|#|lsl #", o) for o in ops)
        return remembered(simd(name, ops), ops) if vectors else simd(name, ops)
    if name in ("mov", "movz"):
        put, w = write(ops[0]), width_of(ops[0])
        g = second(ops, 1, w)
        return lambda m: put(m, g(m))
    if name == "movn":
        put, w = write(ops[0]), width_of(ops[0])
        g = second(ops, 1, w)
        return lambda m: put(m, invert(g(m)))
    if name == "movk":
        put, g, w = write(ops[0]), read(ops[0]), width_of(ops[0])
        at = integer(ops[2].split()[1]) if len(ops) > 2 else 0
        v = const(integer(ops[1]), 16)

        def keep(m):
            old = g(m)
            put(m, cat(*([cut(old, 0, at)] if at else []), v, *([cut(old, at + 16, w - at - 16)] if at + 16 < w else [])))
        return keep
    if name == "mvn":
        put, g = write(ops[0]), second(ops, 1, width_of(ops[0]))
        return lambda m: put(m, invert(g(m)))
    if name in ("add", "adds", "adc", "adcs", "sub", "subs", "sbc", "sbcs", "cmp", "cmn", "neg", "negs"):
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
    if name in ("cbz", "cbnz"):
        g = read(ops[0])
        test = lambda m: equal(g(m), const(0, width_of(ops[0])))
        return None, pc + 4, (test if name == "cbz" else lambda m: invert(test(m)), integer(ops[1])), text
    if name in ("tbz", "tbnz"):
        g, i = read(ops[0]), integer(ops[1])
        bit = lambda m: cut(g(m), i, 1)
        return None, pc + 4, (bit if name == "tbnz" else lambda m: invert(bit(m)), integer(ops[2])), text
    if name in ("bl", "blr", "br"):
        raise Unproved("a call or an indirect jump")
    return step(name, ops), pc + 4, None, text
