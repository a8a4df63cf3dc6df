"""32-bit ARM: the effect of each instruction on registers, flags and memory, in terms of values.

Capstone decodes instructions into text. The semantics follow Arm's manuals (DDI 0406, DDI 0487).
tests/semantics_arm.py compares them with an emulator. An unknown instruction stops the run.
"""
import re

import capstone
from isa.arm64 import BY_ELEMENTS, add_elements, integer, look_up, operands, shift_insert
from isa.code import ArmFlags, elements, known, overflow_of, split
from values import terms
from values.terms import (Unproved, add, add_modular, both, carryless, cat, const, cut, either, extend, inverse_sub_shift, invert, mix_columns,
    product, rotate_left, shift_left, shift_right, sign_fill, sub_shift, subtract, undefined, xor)

POINTER = 32
MACHINE = "EM_ARM"
BITWISE = "neon|armv6"  # levels with bit-sliced AES
ARGUMENTS = (0, 1, 2)
REGISTERS = {**{f"r{i}": i for i in range(16)}, "sb": 9, "sl": 10, "fp": 11, "ip": 12, "sp": 13, "lr": 14}
CONDITIONS = "eq ne cs hs cc lo mi pl vs vc hi ls ge lt gt le".split()


class Machine(ArmFlags):
    def __init__(self, memory):
        super().__init__()
        self.memory = memory
        self.general = [undefined(32)] * 16
        self.vector = [undefined(32)] * 64  # two words for each of d0, d1, ...
        self.steps = 0

    def fill_vectors(self, name):
        self.vector = [name(f"vector{i}", 32) if not w.defined else w for i, w in enumerate(self.vector)]


def decoder():
    return capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_ARM | capstone.CS_MODE_V8)


def number(name):
    n = REGISTERS.get(name)
    if n is None or n in (10, 13, 14, 15):
        raise Unproved(f"register {name} is not known")
    return n


def read(name):
    n = number(name)
    return lambda m: m.general[n]


def write(name):
    n = number(name)

    def put(m, v):
        m.general[n] = v
    return put


SHIFTS = {"lsl": shift_left, "lsr": shift_right, "asr": sign_fill, "ror": lambda v, n: rotate_left(v, v.width - n % v.width)}


def shifted(f, how, n):
    """Returns a function that computes the shifted value and the last bit shifted out, or None."""
    g = SHIFTS[how]

    def run(m):
        v = f(m)
        out = None if n == 0 else cut(v, 32 - n, 1) if how == "lsl" else cut(v, n - 1, 1)
        return (terms.lengths and how == "lsr" and terms.lengths.shift(v, n, True)) or (g(v, n) if n else v), out
    return run


def second(ops, i):
    """Returns a function that computes the operand i, including the shift after it, and the shifter's carry."""
    o = ops[i]
    if o.startswith("#"):
        v, n = integer(o) & 0xffffffff, 0
        if len(ops) > i + 1:
            n = integer(ops[i + 1])
            v = (v >> n | v << (32 - n)) & 0xffffffff
        carry = v >> 31 if v > 0xff or n else None  # the top bit of a rotated constant

        def run(m):
            return const(v, 32), None if carry is None else const(carry, 1)
        return run
    f = read(o)
    if len(ops) > i + 1:
        how, n = ops[i + 1].split()
        if not n.startswith("#"):
            raise Unproved("a shift by a register")
        return shifted(f, how, integer(n))
    return lambda m: (f(m), None)


def arithmetic(name, flags, ops):
    if name in ("cmp", "cmn"):
        ops, base, flags, put = [None, *ops], {"cmp": "sub", "cmn": "add"}[name], True, None
    else:
        if len(ops) == 2 or ops[2].startswith(("lsl", "lsr", "asr", "ror")):
            ops = [ops[0], *ops]
        base, put = name, write(ops[0])
    a, b = read(ops[1]), second(ops, 2)
    carry = base in ("adc", "sbc", "rsc")
    itself = base in ("sub", "sbc") and ops[2:] == ops[1:2]  # then only the carry matters

    def run(m):
        x, (y, _) = a(m), b(m)
        if itself and not x.defined:
            x = y = const(0, 32)
        if base in ("rsb", "rsc"):
            x, y = y, x
        if base in ("add", "adc"):
            if flags or carry or number_like(x) or number_like(y):
                r, c = add(32, x, y, carry=m.bit(m.carry) if carry else None, closely=True)
            else:
                r, c = add_modular(x, y), None
            v = overflow_of(x, y, r)
        else:
            r, c = subtract(32, x, y, invert(m.bit(m.carry)) if carry else None)
            if y.constant is not None and not flags and not carry:
                r = add_modular(x, const(-y.constant, 32))
            c, v = invert(c), overflow_of(x, invert(y), r)
        if flags:
            m.carry, m.overflow, m.result = c, v, r
        if put:
            put(m, r)
    return run


def number_like(v):
    """Whether a value may be a limb of Poly1305, and not a word of ChaCha20: it has high parts of sums or products."""
    return any(n >= 0 and low >= 32 and terms.ATOMS[n].kind in ("sum", "mul") for n, low, _ in v.pieces)


LOGIC = {"and": both, "tst": both, "orr": either, "eor": xor, "teq": xor, "bic": lambda a, b: both(a, invert(b))}


def logic(name, flags, ops):
    if name in ("tst", "teq"):
        ops, flags, put = [None, *ops], True, None
    else:
        if len(ops) == 2 or ops[2].startswith(("lsl", "lsr", "asr", "ror")):
            ops = [ops[0], *ops]
        put = write(ops[0])
    a, b, f = read(ops[1]), second(ops, 2), LOGIC[name]

    def run(m):
        y, c = b(m)
        r = f(a(m), y)
        if flags:
            m.result = r
            if c is not None:
                m.carry = c
        if put:
            put(m, r)
    return run


def move(name, flags, ops):
    put = write(ops[0])
    if name in SHIFTS and len(ops) == 3:
        if not ops[2].startswith("#"):
            if flags:
                raise Unproved("flags of a shift by a register")
            a, n, f = read(ops[1]), read(ops[2]), SHIFTS[name]

            def by_register(m):
                c = known(cut(n(m), 0, 8), "the count of a shift")
                if c > 31 and name not in ("lsl", "lsr"):
                    raise Unproved("a shift by more than the width")
                put(m, const(0, 32) if c > 31 else f(a(m), c) if c else a(m))
            return by_register
        b = shifted(read(ops[1]), name, integer(ops[2]))
    else:
        b = second(ops, 1)

    def run(m):
        v, c = b(m)
        if name == "mvn":
            v = invert(v)
        if flags:
            m.result = v
            if c is not None:
                m.carry = c
        put(m, v)
    return run


def multiply(name, ops):
    if name == "mul":
        put, a, b = write(ops[0]), read(ops[1]), read(ops[2])
        return lambda m: put(m, cut(product(a(m), b(m)), 0, 32))
    low, high, a, b = write(ops[0]), write(ops[1]), read(ops[2]), read(ops[3])
    x, y = read(ops[0]), read(ops[1])

    def run(m):
        p = extend(product(a(m), b(m)), 64)
        if name == "umull":
            r = p
        elif name == "umlal":
            r = add(64, cat(x(m), y(m)), p)[0]
        else:
            r = add(64, p, x(m), y(m))[0]
        low(m, cut(r, 0, 32))
        high(m, cut(r, 32, 32))
    return run


# ---- Memory -----------------------------------------------------------------------------------------------------------

def moved(v, by):
    """The pointer v, moved by `by` bytes."""
    return const(v.constant + by, 32) if v.constant is not None else add(32, v, const(by, 32))[0]


def address(ops, i):
    """Returns a function of the machine that computes the address of operand i, and updates its register."""
    text = ops[i]
    m_ = re.fullmatch(r"\[([^\]]*)\](!?)", text)
    inside = [o.strip() for o in m_[1].split(",")]
    base_name, _, align = inside[0].partition(":")
    base, align = number(base_name), int(align, 0) // 8 if align else 0
    before = m_[2] == "!"
    offset, index, sign, by = 0, None, 1, 0

    def of(parts):
        o, i, s, b = 0, None, 1, 0
        if parts[0].startswith("#"):
            o = integer(parts[0])
        else:
            n = parts[0]
            if n.startswith("-"):
                s, n = -1, n[1:]
            i = read(n)
            if len(parts) > 1:
                how, n = parts[1].split()
                if how != "lsl":
                    raise Unproved(f"address {text}")
                b = integer(n)
        return o, i, s, b
    behind = None
    if len(ops) > i + 1:
        behind = of(ops[i + 1:])
    elif len(inside) > 1:
        offset, index, sign, by = of(inside[1:])

    def at(m, size=0):
        v = m.general[base]
        b = m.known(v, "an address")
        if behind is not None:
            o, j, s, n = behind
            m.general[base] = moved(v, o + (s * (known(j(m), "an address") << n) if j else 0))
            a = b
        else:
            by_ = offset + (sign * (known(index(m), "an address") << by) if index else 0)
            a = (b + by_) & 0xffffffff
            if before:
                m.general[base] = moved(v, size or by_)
                a = a if not size else b
        if align:
            m.memory.aligned(a, align)
        return a
    return at


def load_store(name, ops):
    if name in ("ldrd", "strd"):
        at, a, b = address(ops, 2), number(ops[0]), number(ops[1])
        if a % 2 or b != a + 1:
            raise Unproved("registers of ldrd or strd")

        def double(m):
            p = at(m)
            m.memory.aligned(p, 4)
            if name == "ldrd":
                m.general[a], m.general[b] = m.memory.load_words(p, 2)
            else:
                m.memory.store_words(p, [m.general[a], m.general[b]])
        return double
    at, size = address(ops, 1), {"b": 1, "h": 2}.get(name[-1], 4)
    if name.startswith("ldr"):
        put = write(ops[0])
        return lambda m: put(m, extend(m.memory.load(at(m), size), 32))
    get = read(ops[0])

    def store(m):
        v = get(m)
        m.memory.store(at(m), cut(v, 0, 8 * size))
    return store


def register_list(text):
    """The register names of {r0, r1} or {d0, d1}, and the index after it, None, or "all"."""
    m = re.fullmatch(r"\{([^}]*)\}(?:\[(\d+)\])?", text)
    names = [n.strip() for n in m[1].split(",")]
    index = int(m[2]) if m[2] else None
    if names[0].endswith("]"):
        inside = names[0][names[0].index("[") + 1:-1]
        index = "all" if inside == "" else int(inside)
        names = [n[:n.index("[")] for n in names]
    return names, index


def double(name):
    if not re.fullmatch(r"d\d+", name):
        raise Unproved(f"register {name} is not known")
    return int(name[1:])


def multiple(name, ops):
    """ldm, stm; vldm, vstm."""
    vectors = name.startswith("v")
    base, text = name.removeprefix("v"), ops[0]
    back = text.endswith("!")
    r, names = number(text.rstrip("!")), register_list(ops[1])[0]
    down, first = base.endswith(("db", "da")), base.endswith(("ib", "db"))
    is_load = base.startswith("ldm")
    if vectors:
        numbers = [double(n) for n in names]
        size = 8 * len(numbers)
    else:
        numbers = [number(n) for n in names]
        if numbers != sorted(numbers) or (is_load and back and r in numbers):
            raise Unproved("registers of a load of many")
        size = 4 * len(numbers)
    low = -size if down and first else 4 - size if down else 4 if first and not vectors else 0

    def run(m):
        v = m.general[r]
        b = m.known(v, "an address")
        a = b + low
        m.memory.aligned(a, 4)
        if is_load:
            words = m.memory.load_words(a, size // 4)
            if back:
                m.general[r] = moved(v, -size if down else size)
            if vectors:
                for i, n in enumerate(numbers):
                    m.vector[2 * n:2 * n + 2] = words[2 * i:2 * i + 2]
            else:
                for n, w in zip(numbers, words):
                    m.general[n] = w
        else:
            if vectors:
                words = [w for n in numbers for w in m.vector[2 * n:2 * n + 2]]
            else:
                words = [m.general[n] for n in numbers]
            m.memory.store_words(a, words)
            if back:
                m.general[r] = moved(v, -size if down else size)
    return run


def vector_load_store(name, ops):
    """vld1 and vst1 of whole registers, of one element, or of one element to all; vldr, vstr."""
    base, _, width = name.partition(".")
    if base in ("vldr", "vstr"):
        n, at = double(ops[0]), address(ops, 1)

        def one(m):
            a = at(m)
            m.memory.aligned(a, 4)
            if base == "vldr":
                m.vector[2 * n:2 * n + 2] = m.memory.load_words(a, 2)
            else:
                m.memory.store_words(a, m.vector[2 * n:2 * n + 2])
        return one
    names, index = register_list(ops[0])
    numbers, w = [double(n) for n in names], int(width)
    at, n = address(ops, 1), numbers[0]
    size = w // 8 if index is not None else 8 * len(numbers)
    if index == "all":
        def spread(m):
            v = m.memory.load(at(m, size), size)
            for k in numbers:
                m.vector[2 * k:2 * k + 2] = split([v] * (64 // w))
        return spread
    if index is not None:
        if w != 32:
            raise Unproved(name)
        if base == "vld1":
            def element(m):
                m.vector[2 * n + index] = m.memory.load(at(m, size), 4)
            return element
        return lambda m: m.memory.store(at(m, size), m.vector[2 * n + index])
    if base == "vld1":
        def load(m):
            words = m.memory.load_words(at(m, size), size // 4)
            for i, k in enumerate(numbers):
                m.vector[2 * k:2 * k + 2] = words[2 * i:2 * i + 2]
        return load
    return lambda m: m.memory.store_words(at(m, size), [x for k in numbers for x in m.vector[2 * k:2 * k + 2]])


# ---- Vectors ------------------------------------------------------------------------------------------------------------

def place(text):
    """The range of words of a vector register."""
    m = re.fullmatch(r"([dq])(\d+)", text)
    if not m:
        raise Unproved(f"vector {text}")
    k = {"d": 2, "q": 4}[m[1]]
    return slice(k * int(m[2]), k * int(m[2]) + k)


def by_words(f):
    return lambda x, y, w: [f(a, b) for a, b in zip(x, y)]


def shift_by_register(x, y, w):
    out = []
    for a, b in zip(elements(x, w), elements(y, w)):
        n = known(cut(b, 0, 8), "the count of a shift")
        n -= 256 if n & 0x80 else 0
        out.append(const(0, w) if abs(n) >= w else shift_left(a, n) if n >= 0 else shift_right(a, -n))
    return split(out)


TWO = {"vand": by_words(both), "veor": by_words(xor), "vorr": by_words(either), "vbic": by_words(lambda a, b: both(a, invert(b))),
       "vtst": lambda x, y, w: split(BY_ELEMENTS["cmtst"](elements(x, w), elements(y, w))),
       "vceq": lambda x, y, w: split(BY_ELEMENTS["cmeq"](elements(x, w), elements(y, w))),
       "vadd": lambda x, y, w: split(add_elements(elements(x, w), elements(y, w))),
       "vsub": lambda x, y, w: split([subtract(w, a, b)[0] for a, b in zip(elements(x, w), elements(y, w))]),
       "vshl": shift_by_register}


def remembered(f, ops):
    """Returns f, with its results kept: the instruction reads and writes only vectors."""
    names = {r for o in ops for r in re.findall(r"[dq]\d+", o)}
    for o in ops:
        if ends := re.fullmatch(r"\{d(\d+)-d(\d+)\}", o):
            names |= {f"d{n}" for n in range(int(ends[1]), int(ends[2]) + 1)}
    slices = [place(n) for n in sorted(names)]
    memo = terms.memo()

    def run(m):
        v = m.vector
        key = tuple([w for s in slices for w in v[s]])
        found = memo.get(key)
        if found is None:
            f(m)
            memo[key] = [v[s] for s in slices]
            return
        for s, words in zip(slices, found):
            v[s] = words
    return run


def vector(name, ops):
    base, _, width = name.partition(".")
    w = int(width.lstrip("iusp")) if width else 32  # floating point is not supported
    if base == "vmov":
        if re.fullmatch(r"[dq]\d+", ops[0]) and ops[1].startswith("#"):
            d, v = place(ops[0]), integer(ops[1])
            n = 32 * (d.stop - d.start) // w
            return lambda m: m.vector.__setitem__(d, split([const(v, w)] * n))
        if re.fullmatch(r"[dq]\d+", ops[0]) and len(ops) == 3:
            d, a, b = place(ops[0]), read(ops[1]), read(ops[2])
            return lambda m: m.vector.__setitem__(d, [a(m), b(m)])
        if re.fullmatch(r"[dq]\d+", ops[1]) and re.fullmatch(r"[dq]\d+", ops[0]):
            d, s = place(ops[0]), place(ops[1])
            return lambda m: m.vector.__setitem__(d, m.vector[s])
        e = re.fullmatch(r"d(\d+)\[(\d)\]", ops[0])
        if e and w == 32:
            i, g = 2 * int(e[1]) + int(e[2]), read(ops[1])
            return lambda m: m.vector.__setitem__(i, g(m))
        e = re.fullmatch(r"d(\d+)\[(\d)\]", ops[1])
        if e and w == 32:
            i, put = 2 * int(e[1]) + int(e[2]), write(ops[0])
            return lambda m: put(m, m.vector[i])
        raise Unproved(f"{name} {ops}")
    d = place(ops[0])
    if base == "vdup":
        n = 32 * (d.stop - d.start) // w
        e = re.fullmatch(r"d(\d+)\[(\d)\]", ops[1])
        if e:
            k, i = place("d" + e[1]), int(e[2])
            return lambda m: m.vector.__setitem__(d, split([elements(m.vector[k], w)[i]] * n))
        g = read(ops[1])
        return lambda m: m.vector.__setitem__(d, split([cut(g(m), 0, w)] * n))
    if base in ("vtbl", "vtbx"):
        names, control = register_list(ops[1])[0], place(ops[2])

        def table(m):
            t = [b for n in names for b in elements(m.vector[place(n)], 8)]
            m.vector[d] = split(look_up(t, elements(m.vector[control], 8), elements(m.vector[d], 8) if base == "vtbx" else None))
        return table
    s = place(ops[1])
    if base == "vmull":
        t = place(ops[2])
        if w == 64:
            return lambda m: m.vector.__setitem__(d, split([carryless(cat(*m.vector[s]), cat(*m.vector[t]))]))
        if width != "p8":
            raise Unproved(name)
        return lambda m: m.vector.__setitem__(d, split([cut(carryless(p, q), 0, 16)
                                                        for p, q in zip(elements(m.vector[s], 8), elements(m.vector[t], 8))]))
    if base == "vext":
        t, n = place(ops[2]), integer(ops[3]) * w
        return lambda m: m.vector.__setitem__(d, split([cut(cat(*m.vector[s], *m.vector[t]), n, 32 * (d.stop - d.start))]))
    if base in ("vbit", "vbif", "vbsl"):
        t = place(ops[2])

        def choose(m):
            out = []
            for old, x, y in zip(m.vector[d], m.vector[s], m.vector[t]):
                old, x, y = {"vbit": (old, x, y), "vbif": (x, old, y), "vbsl": (y, x, old)}[base]
                out.append(xor(old, both(xor(old, x), y)))
            m.vector[d] = out
        return choose
    if base == "vswp":
        def swap(m):
            m.vector[d], m.vector[s] = m.vector[s], m.vector[d]
        return swap
    if base in ("vtrn", "vzip", "vuzp") and d != s:
        f, g = BY_ELEMENTS[base[1:] + "1"], BY_ELEMENTS[base[1:] + "2"]

        def interleave(m):
            x, y = elements(m.vector[d], w), elements(m.vector[s], w)
            m.vector[d], m.vector[s] = split(f(x, y)), split(g(x, y))
        return interleave
    if base.startswith("vrev"):
        group = int(base[4:]) // w

        def reverse(m):
            e = elements(m.vector[s], w)
            m.vector[d] = split([x for i in range(0, len(e), group) for x in reversed(e[i:i + group])])
        return reverse
    if base in ("vshl", "vshr", "vsli", "vsri") and ops[-1].startswith("#"):
        how = {"vshl": "shl", "vshr": "sshr" if width[0] == "s" else "ushr", "vsli": "sli", "vsri": "sri"}[base]
        f = shift_insert(how, w, integer(ops[-1]))
        if len(ops) != 3:
            raise Unproved(name)
        return lambda m: m.vector.__setitem__(d, split([f(x, y) for x, y in zip(elements(m.vector[d], w), elements(m.vector[s], w))]))
    if base == "vmvn":
        return lambda m: m.vector.__setitem__(d, [invert(x) for x in m.vector[s]])
    if base == "aese":
        return lambda m: m.vector.__setitem__(d, split([sub_shift(xor(cat(*m.vector[d]), cat(*m.vector[s])))]))
    if base == "aesd":
        return lambda m: m.vector.__setitem__(d, split([inverse_sub_shift(xor(cat(*m.vector[d]), cat(*m.vector[s])))]))
    if base in ("aesmc", "aesimc"):
        return lambda m: m.vector.__setitem__(d, split([mix_columns(cat(*m.vector[s]), base == "aesimc")]))
    if base not in TWO or base == "vshl" and width[0] != "u":
        raise Unproved(f"instruction {name} {', '.join(ops)} is not known")
    f = TWO[base]
    s, t = (s, place(ops[2])) if len(ops) > 2 else (d, s)
    if base == "veor" and s == t:
        return lambda m: m.vector.__setitem__(d, [const(0, 32)] * (d.stop - d.start))
    return lambda m: m.vector.__setitem__(d, f(m.vector[s], m.vector[t], w))


def step(name, flags, ops):
    if name in ("nop", "hint"):
        return lambda m: None
    if re.fullmatch(r"v(ld|st)(1\.\d+|r)", name):
        return vector_load_store(name, ops)
    if re.fullmatch(r"v?((ld|st)m(i[ab]|d[ab])?|push|pop)", name):  # this name may look like one with a condition
        return multiple(name, ops)
    if name.startswith(("v", "aes")):
        vectors = all(re.match(r"\{?[dq]\d|#", o) for o in ops)
        return remembered(vector(name, ops), ops) if vectors else vector(name, ops)
    if name in ("add", "adc", "sub", "sbc", "rsb", "rsc", "cmp", "cmn"):
        return arithmetic(name, flags, ops)
    if name in LOGIC:
        return logic(name, flags, ops)
    if name in ("mov", "mvn", *SHIFTS):
        return move(name, flags, ops)
    if name in ("mul", "umull", "umlal", "umaal") and not flags:
        return multiply(name, ops)
    if name == "rev":
        put, g = write(ops[0]), read(ops[1])
        return lambda m: put(m, (lambda v: cat(*(cut(v, i, 8) for i in (24, 16, 8, 0))))(g(m)))
    if re.fullmatch(r"(ldr|str)(b|h|d)?", name):
        return load_store(name, ops)
    raise Unproved(f"instruction {name} {', '.join(ops)} is not known")


NAMES = sorted("add adc sub sbc rsb rsc cmp cmn and tst orr eor teq bic mov mvn lsl lsr asr ror mul umull umlal umaal rev nop "
               "ldr ldrb ldrh ldrd str strb strh strd ldm ldmib ldmdb ldmda stm stmib stmdb stmda push pop".split(), key=len, reverse=True)


def parts(mnemonic):
    """Returns a mnemonic's (name, whether it sets flags, condition or None)."""
    if many := re.fullmatch(rf"(v(?:ldm|stm|ldmia|stmia|ldmdb|stmdb|push|pop))({'|'.join(CONDITIONS)})", mnemonic):
        return many[1], False, many[2]
    if mnemonic.startswith(("v", "aes")):
        return mnemonic, False, None
    for name in NAMES:
        if mnemonic.startswith(name):
            rest = mnemonic[len(name):]
            flags = rest.startswith("s") and rest[1:] in ("", *CONDITIONS) and not name.startswith(("ld", "st"))  # ldrhs is ldrh
            rest = rest[1:] if flags else rest
            if rest == "" or rest in CONDITIONS:
                return name, flags, rest or None
    raise Unproved(f"instruction {mnemonic} is not known")


def unspecified(name, word):
    """Whether the instruction has bits that capstone ignores: some that should be zero, or an invalid number of
    doubles."""
    kind = word >> 25 & 7
    if kind in (0, 1) and name in ("cmp", "cmn", "tst", "teq"):
        return word >> 12 & 15
    if kind in (0, 1) and name in ("mov", "mvn", *SHIFTS):
        return word >> 16 & 15
    if kind == 0 and re.fullmatch(r"(ldr|str)[hd]", name) and not word & 1 << 22:  # the offset is a register
        return word >> 8 & 15
    count, first = word & 0xff, word >> 12 & 15 | word >> 18 & 16
    return re.match(r"v(ld|st)m", name) and not (count % 2 == 0 and 2 <= count <= 32 and 2 * first + count <= 64)


_md = decoder()


def meaning(code, pc):
    insn = next(_md.disasm(code[pc:pc + 4], pc), None) if pc >= 0 else None
    if insn is None:
        raise Unproved(f"no instruction at {pc:#x}")
    mnemonic, ops, text = insn.mnemonic, operands(insn.op_str), f"{insn.mnemonic} {insn.op_str}"
    if mnemonic == "bx" and ops == ["lr"]:
        return None, None, None, text
    if mnemonic == "b":
        return None, integer(ops[0]), None, text
    if mnemonic[0] == "b" and mnemonic[1:] in CONDITIONS:
        return None, pc + 4, (lambda m: m.condition(mnemonic[1:]), integer(ops[0])), text
    name, flags, code_ = parts(mnemonic)
    if unspecified(name, int.from_bytes(code[pc:pc + 4], "little")):
        raise Unproved(f"instruction {text} with bits that should be others")
    f = step(name, flags, ops)
    if code_ is None:
        return f, pc + 4, None, text

    def run(m):
        if known(m.condition(code_), "a condition"):
            f(m)
    return run, pc + 4, None, text
