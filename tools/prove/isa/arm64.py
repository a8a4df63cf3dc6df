"""AArch64: the effect of each instruction on registers, flags and memory, in terms of values.

Capstone decodes instructions into text. The semantics follow Arm's manual (DDI 0487). tests/semantics.py
compares them with an emulator. An unknown instruction stops the run.
"""
import functools
import re

import capstone
from isa.code import ArmFlags, known
from isa.lanes import by_elements, each, elements, interleave, look_up, split
from spec import reverse
from values import linear, terms
from values.terms import (Unproved, add, add_modular, both, carryless, cat, const, cut, either, equal, extend,
    inverse_sub_shift, invert,
    mix_columns, product, rotate_left, select, shift_left, shift_right, sign_fill, sub_shift, subtract, undefined, xor)

POINTER = 64
MACHINE = "EM_AARCH64"
ARGUMENTS = (0, 1, 2)


class Machine(ArmFlags):
    def __init__(self, memory):
        super().__init__(memory)
        self.general = [undefined(64)] * 31
        self.vector = [[undefined(32)] * 4 for _ in range(32)]

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


def with_flags(name, ops):
    """Returns the plain name and operands of an instruction, and whether it sets flags."""
    zero = "xzr" if width_of(ops[0]) == 64 else "wzr"
    if name == "neg":
        return "sub", [ops[0], zero, *ops[1:]], False
    if name in ("cmp", "cmn", "tst"):
        return {"cmp": "sub", "cmn": "add", "tst": "and"}[name], [zero, *ops], True
    return name.removesuffix("s"), ops, name.endswith("s")


def arithmetic(name, ops):
    name, ops, flags = with_flags(name, ops)
    w, adds, carry = width_of(ops[0]), name != "sub", name == "adc"
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


LOGIC = {"and": both, "tst": both, "orr": either, "eor": xor, "bic": lambda a, b: both(a, invert(b))}


def logic(name, ops):
    name, ops, flags = with_flags(name, ops)
    put, a, b, f = write(ops[0]), read(ops[1]), second(ops, 2, width_of(ops[0])), LOGIC[name]

    def run(m):
        r = f(a(m), b(m))
        if flags:
            m.carry = m.overflow = const(0, 1)
            m.result = r
        put(m, r)
    return run


def shift(name, ops):
    put, a, f = write(ops[0]), read(ops[1]), SHIFTS[name]
    if ops[2].startswith("#"):
        n, of_length = integer(ops[2]), name in ("lsl", "lsr")
        return lambda m: put(m, of_length and linear.shift(a(m), n, name == "lsr") or f(a(m), n))
    c = read(ops[2])
    return lambda m: put(m, f(v := a(m), known(c(m), "the count of a shift") % v.width))


def low_product(x, y):
    return cut(product(x, y), 0, x.width)


def unsigned_field(v, low, n):
    k = linear.low_bits(v, (1 << n) - 1 << low)
    return shift_right(k, low) if k else extend(cut(v, low, n), v.width)


def keep(old, v, at=0):
    """movk: replaces 16 bits."""
    return cat(*(p for p in (cut(old, 0, at), const(v, 16), cut(old, at + 16, old.width - at - 16)) if p.width))


# Functions of registers, and of the numbers after them.
PLAIN = {
    "rev": reverse, "mul": low_product, "umulh": lambda x, y: cut(product(x, y), 64, 64),
    "madd": lambda x, y, z: add(x.width, low_product(x, y), z)[0], "extr": lambda x, y, n: cut(cat(y, x), n, x.width),
    "ubfx": unsigned_field,
    "sbfx": lambda v, low, n: sign_fill(shift_left(v, v.width - low - n), v.width - n), "movk": keep,
}
# Functions of the bit of a condition, and of registers.
CONDITIONAL = {"cset": lambda c: c, "csel": select,
               "csinc": lambda c, x, y: select(c, x, add_modular(y, const(1, y.width)))}


def compute(name, ops):
    put, w, conditional = write(ops[0]), width_of(ops[0]), name in CONDITIONAL
    sources = [read(o) for o in (ops if name == "movk" else ops[1:]) if re.fullmatch(r"[xw](\d+|zr)", o)]
    if conditional:
        f, code = CONDITIONAL[name], ops[-1]
        return lambda m: put(m, extend(f(m.condition(code), *[s(m) for s in sources]), w))
    f, numbers = PLAIN[name], [integer(o.removeprefix("lsl ")) for o in ops if "#" in o]
    return lambda m: put(m, f(*[s(m) for s in sources], *numbers))


# ---- Memory ----------------------------------------------------------------------------------------------------------

def offset_of(parts, updates, read):
    """Returns a function of the machine and of a base register's value: the offset from it. That is a number, or a
    register with a sign and a shift. updates: whether it is added to the base register."""
    if parts[0].startswith("#"):
        n = integer(parts[0])
        return lambda m, base: n
    sign, index = -1 if parts[0].startswith("-") else 1, read(parts[0].removeprefix("-"))
    how, by = parts[1].split() if len(parts) > 1 else ("lsl", "#0")
    if how != "lsl":
        raise Unproved(f"an offset shifted by {how}")
    by = integer(by)

    def offset(m, base):
        i = index(m)
        if updates:
            return sign * (known(i, "an address") << by)
        linear.one_pointer(base, i)
        if (by or sign < 0) and linear.any_place(i):
            raise Unproved("an address that is a multiple of a pointer")
        return sign * (m.known(i, "an address") << by)
    return offset


def moved(v, by):
    """The pointer v, moved by `by` bytes."""
    return const(v.constant + by, v.width) if v.constant is not None else add(v.width, v, const(by, v.width))[0]


def addressed(base, offset, updates, behind):
    """Returns a function of the machine that computes an address, and updates its register. behind: whether the address
    is the register's value before that."""
    def at(m):
        v = m.general[base]
        a, n = m.known(v, "an address"), offset(m, v)
        if updates:
            m.general[base] = moved(v, n)
        return a if behind else a + n & (1 << v.width) - 1
    return at


def address(text, *behind):
    """behind: the number or register that is added to the register afterwards."""
    base, *inside = [o.strip() for o in text[1:text.index("]")].split(",")]
    parts, updates = list(behind) or inside or ["#0"], bool(behind) or text.endswith("!")
    if parts[0][0] == "w":
        raise Unproved(f"address {text}")
    return addressed(number(base), offset_of(parts, updates, read), updates, bool(behind))


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


def one_change(place, behind, registers, number):
    """Refuses a load or store of a register that it also moves: the manual leaves open what happens."""
    if (behind or place.endswith("!")) and number(re.match(r"\[(\w+)", place)[1]) in map(number, registers):
        raise Unproved(f"a load or store that moves its own register: {place}")


def load_store(name, ops):
    loads, count = name.startswith("ld"), 2 if name in ("ldp", "stp") else 1
    one_change(ops[count], ops[count + 1:], [r for r in ops[:count] if r[0] in "xw"], number)
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


def get_vector(text):
    n, _, size = vector(text)
    return (lambda m: m.vector[n]) if size == 16 else lambda m: m.vector[n][:size // 4]


def put_vector(n, size):
    """Writes a vector. The bytes above size become zero."""
    def put(m, words):
        m.vector[n] = words if size == 16 else [*words, *[const(0, 32)] * (4 - size // 4)]
    return put


def element(text, width):
    """Returns a function of the machine: an element of a vector, a number, or the low bits of a register."""
    if found := lane(text):
        n, w, i = found
        return lambda m: elements(m.vector[n], w)[i]
    if text[0] == "#":
        return lambda m: const(integer(text), width)
    g = read(text)
    return lambda m: cut(g(m), 0, width)


def chosen(x, y, bit):
    """y where the bits are set, otherwise x."""
    return xor(x, both(xor(x, y), bit))


def shift_by(v, count):
    """Shifts to the left, or to the right by a negative number."""
    n = known(cut(count, 0, 8), "the count of a shift")
    n -= n >> 7 << 8
    return shift_left(v, n) if n >= 0 else shift_right(v, -n)


# Instructions that compute elements from elements. The width of elements is 0 if the text has it. Then: whether the old
# destination is the first operand; how many other operands there are; a function of lists of elements.
LANEWISE = {
    **{name: (32, False, 2, each(LOGIC[name])) for name in ("eor", "and", "orr", "bic")},
    "mvn": (32, False, 1, each(invert)), "mov": (32, False, 1, list), "bit": (32, True, 2, each(chosen)),
    "bif": (32, True, 2, each(lambda old, x, y: chosen(x, old, y))),
    "bsl": (32, True, 2, each(lambda old, x, y: chosen(y, x, old))),
    **{name + str(k + 1): (0, False, 2, interleave(name, k)) for name in ("trn", "zip", "uzp") for k in (0, 1)},
    "cmtst": (0, False, 2, each(lambda x, y: cat(*[invert(equal(both(x, y), const(0, x.width)))] * x.width))),
    "add": (0, False, 2, each(lambda x, y: add_modular(x, y) if x.width == 32 else add(x.width, x, y)[0])),
    "sub": (0, False, 2, each(lambda x, y: subtract(x.width, x, y)[0])), "ushl": (0, False, 2, each(shift_by)),
    "rbit": (8, False, 1, each(lambda v: cat(*reversed(terms.parts_of(v, 1))))),
    "aese": (128, True, 1, each(lambda old, key: sub_shift(xor(old, key)))),
    "aesd": (128, True, 1, each(lambda old, key: inverse_sub_shift(xor(old, key)))),
    "aesmc": (128, False, 1, each(mix_columns)), "aesimc": (128, False, 1, each(lambda e: mix_columns(e, True))),
    "tbl": (8, False, None, lambda *lists: look_up(sum(lists[:-1], []), lists[-1])),
    "tbx": (8, True, None, lambda old, *lists: look_up(sum(lists[:-1], []), lists[-1], old)),
}


def row(name, w, n, same):
    """Returns an entry like those of LANEWISE, or None."""
    if n is None and name == "eor" and same:
        return 32, False, 2, lambda x, y: [const(0, 32)] * len(x)
    if n is None and re.fullmatch(r"rev\d+", name):
        size = int(name[3:]) // w
        return 0, False, 1, lambda x: [e for i in range(0, len(x), size) for e in reversed(x[i:i + size])]
    if n is None and name in ("pmull", "pmull2"):
        half = lambda x: x[len(x) // 2:] if name == "pmull2" else x
        return w // 2, False, 2, lambda x, y: [extend(carryless(*e), w) for e in zip(half(x), half(y))]
    if n is None:
        return LANEWISE.get(name)
    if name == "ext":
        return 0, False, 2, lambda x, y: [*x, *y][n:n + len(x)]
    if name == "shrn":
        return 2 * w, False, 1, each(lambda v: cut(v, n, w))
    f = {"shl": lambda d, s: shift_left(s, n), "ushr": lambda d, s: shift_right(s, n),
         "sshr": lambda d, s: sign_fill(s, min(n, w - 1)), "cmlt": n == 0 and (lambda d, s: sign_fill(s, w - 1)),
         "sli": lambda d, s: cat(*([cut(d, 0, n)] if n else []), cut(s, 0, w - n)),
         "sri": lambda d, s: cat(*([cut(s, n, w - n)] if n < w else []), cut(d, w - n, n))}.get(name)
    return f and (0, True, 1, each(f))


@functools.cache
def lanewise(name, w, n, same):
    """Returns whether the old destination is the first source, the number of the others, and a function of registers.
    Returns None for an unknown instruction. w: the width of elements in the text. n: the constant operand, or None.
    same: whether the sources are one register."""
    found = row(name, w, n, same)
    return found and (*found[1:3], by_elements(found[0] or w, found[3]))


def by_lanes(name, w, ops, texts, get, put):
    """Returns the function of an instruction by elements. texts: the names of the vectors among the operands `ops`."""
    n = integer(ops[-1]) if ops[-1].startswith("#") else None
    old, count, f = lanewise(name, w, n, texts[1:2] == texts[2:]) or (False, 0, None)
    if f is None or count not in (len(texts) - 1, None):
        raise Unproved(f"instruction {name} {', '.join(ops)} is not known")
    sources = [get(t) for t in texts[not old:]]
    return lambda m: put(m, f([tuple(s(m)) for s in sources]))


def simd(name, ops):
    if name == "fmov" and re.fullmatch(r"d\d+ x\w+", " ".join(ops)):
        put, g = put_vector(int(ops[0][1:]), 8), read(ops[1])
        return lambda m: put(m, split([g(m)]))
    if name == "fmov" and re.fullmatch(r"x\w+ d\d+", " ".join(ops)):
        put, n = write(ops[0]), int(ops[1][1:])
        return lambda m: put(m, cat(*m.vector[n][:2]))
    if name == "mov" and (to := lane(ops[0])):
        n, w, i = to
        g = element(ops[1], w)

        def insert(m):
            e = list(elements(m.vector[n], w))
            e[i] = g(m)
            m.vector[n] = split(e)
        return insert
    if name == "mov" and lane(ops[1]):  # to a general register
        put, g, wide = write(ops[0]), element(ops[1], 0), width_of(ops[0])
        return lambda m: put(m, extend(g(m), wide))
    n, w, size = vector(ops[0])
    put = put_vector(n, size)
    if name in ("dup", "movi") and len(ops) == 2:
        g = element(ops[1], w)
        return lambda m: put(m, split([g(m)] * (8 * size // w)))
    texts = [t.strip() for o in ops if not o.startswith("#") for t in o.strip("{}").split(",")]
    return by_lanes(name, w, ops, texts, get_vector, put)


def step(name, ops):
    """Returns the function of an instruction that does not branch."""
    if name == "nop":
        return lambda m: None
    if name == "st1":
        return store_element(ops)
    if any(re.match(r"\{?v\d", o) for o in ops[:2]) or name == "fmov":
        return simd(name, ops)
    if name in ("mov", "mvn"):
        put, g = write(ops[0]), second(ops, 1, width_of(ops[0]))
        return (lambda m: put(m, invert(g(m)))) if name == "mvn" else lambda m: put(m, g(m))
    if name in ("add", "adds", "adc", "adcs", "sub", "subs", "cmp", "cmn", "neg"):
        return arithmetic(name, ops)
    if name == "ccmp":
        return compare_if(name, ops)
    if name in (*LOGIC, "ands"):
        return logic(name, ops)
    if name in SHIFTS:
        return shift(name, ops)
    if re.fullmatch(r"(ld|st)(r|rb|rh|ur|urb|urh|p)", name):
        return load_store(name, ops)
    if name in PLAIN or name in CONDITIONAL:
        return compute(name, ops)
    raise Unproved(f"{name} is not known")


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
