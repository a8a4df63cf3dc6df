"""32-bit ARM: the effect of each instruction on registers, flags and memory, in terms of values.

Capstone decodes instructions into text. The semantics follow Arm's manuals (DDI 0406, DDI 0487).
tests/semantics.py compares them with an emulator. An unknown instruction stops the run.
"""
import re

import capstone
from isa.arm64 import LOGIC, SHIFTS, addressed, by_lanes, integer, lanewise, moved, offset_of, one_change, operands
from isa.code import ArmFlags, known
from isa.lanes import elements, split
from spec import reverse
from values import linear, terms
from values.terms import Unproved, add, add_modular, cat, const, cut, extend, invert, product, undefined

POINTER = 32
MACHINE = "EM_ARM"
ARGUMENTS = (0, 1, 2)
REGISTERS = {**{f"r{i}": i for i in range(16)}, "sb": 9, "sl": 10, "fp": 11, "ip": 12, "sp": 13, "lr": 14}
CONDITIONS = list(ArmFlags.TESTS)


class Machine(ArmFlags):
    def __init__(self, memory):
        super().__init__(memory)
        self.general = [undefined(32)] * 16
        self.vector = [undefined(32)] * 64  # two words for each of d0, d1, ...

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


def shifted(f, how, n):
    """Returns a function that computes the shifted value and the last bit shifted out, or None."""
    g = SHIFTS[how]

    def run(m):
        v = f(m)
        out = None if n == 0 else cut(v, 32 - n, 1) if how == "lsl" else cut(v, n - 1, 1)
        return how == "lsr" and linear.shift(v, n, True) or (g(v, n) if n else v), out
    return run


def second(ops, i):
    """Returns a function that computes the operand i, including the shift after it, and the shifter's carry."""
    o = ops[i]
    if o.startswith("#"):
        v, n = integer(o) & 0xffffffff, integer(ops[i + 1]) if len(ops) > i + 1 else 0
        v = (v >> n | v << (32 - n)) & 0xffffffff
        rotated = v > 0xff or n  # then the carry is the top bit
        return lambda m: (const(v, 32), const(v >> 31, 1) if rotated else None)
    f = read(o)
    if len(ops) > i + 1:
        how, n = ops[i + 1].split()
        if not n.startswith("#"):
            raise Unproved("a shift by a register")
        return shifted(f, how, integer(n))
    return lambda m: (f(m), None)


def three(flags, ops, kept):
    """Returns the operands with a first source, whether the instruction sets flags, and a function that writes the result.
    That is None if the instruction does not keep it."""
    if not kept:
        return [None, *ops], True, None
    if len(ops) == 2 or ops[2].startswith(("lsl", "lsr", "asr", "ror")):
        ops = [ops[0], *ops]
    return ops, flags, write(ops[0])


def arithmetic(name, flags, ops):
    ops, flags, put = three(flags, ops, name not in ("cmp", "cmn"))
    a, b = read(ops[1]), second(ops, 2)
    adds, carry, backwards = name in ("add", "adc", "cmn"), name in ("adc", "sbc"), name == "rsb"
    itself = name in ("sub", "sbc") and ops[2:] == ops[1:2]  # then only the carry matters

    def run(m):
        x, (y, _) = a(m), b(m)
        if itself and not x.defined:
            x = y = const(0, 32)
        if backwards:
            x, y = y, x
        plain = not flags and not carry
        if plain and (y.constant is not None if not adds else not number_like(x) and not number_like(y)):
            r = add_modular(x, y if adds else const(-y.constant, 32))
        else:
            r = m.sum(x, y, adds, flags, carry, adds)
        if put:
            put(m, r)
    return run


def number_like(v):
    """Whether a value may be a limb of Poly1305, and not a word of ChaCha20: it has high parts of sums or products."""
    return any(n >= 0 and low >= 32 and terms.ATOMS[n].kind in ("sum", "mul") for n, low, _ in v.pieces)


def logic(name, flags, ops):
    """Instructions whose carry, if there is one, is that of the second operand's shift."""
    if name in ("mov", "mvn", *SHIFTS):
        put, b = write(ops[0]), shifted(read(ops[1]), name, integer(ops[2])) if name in SHIFTS else second(ops, 1)
        f = (lambda m, y: invert(y)) if name == "mvn" else lambda m, y: y
    else:
        ops, flags, put = three(flags, ops, name != "tst")
        a, b, g = read(ops[1]), second(ops, 2), LOGIC[name]
        f = lambda m, y: g(a(m), y)

    def run(m):
        y, c = b(m)
        r = f(m, y)
        if flags:
            m.result = r
            if c is not None:
                m.carry = c
        if put:
            put(m, r)
    return run


def shift_by_register(name, ops):
    put, a, n, f = write(ops[0]), read(ops[1]), read(ops[2]), SHIFTS[name]

    def run(m):
        c = known(cut(n(m), 0, 8), "the count of a shift")
        if c > 31 and name not in ("lsl", "lsr"):
            raise Unproved("a shift by more than the width")
        put(m, const(0, 32) if c > 31 else f(a(m), c) if c else a(m))
    return run


# Multiplications with a result of 64 bits: functions of the product and of the old halves.
LONG = {"umull": lambda p, x, y: p, "umlal": lambda p, x, y: add(64, cat(x, y), p)[0],
        "umaal": lambda p, x, y: add(64, p, x, y)[0]}


def multiply(name, ops):
    a, b = read(ops[-2]), read(ops[-1])
    if name == "mul":
        put = write(ops[0])
        return lambda m: put(m, cut(product(a(m), b(m)), 0, 32))
    if ops[0] == ops[1]:
        raise Unproved("both halves of a product in one register")
    (low, high), (x, y), f = map(write, ops[:2]), map(read, ops[:2]), LONG[name]

    def run(m):
        r = f(extend(product(a(m), b(m)), 64), x(m), y(m))
        low(m, cut(r, 0, 32))
        high(m, cut(r, 32, 32))
    return run


# ---- Memory ----------------------------------------------------------------------------------------------------------

def address(ops, i, size=0, alignment=1):
    """Returns a function of the machine that computes the address of operand i, and updates its register. If the operand
    does not say by how much, it is moved by `size`."""
    inside, mark = re.fullmatch(r"\[([^\]]*)\](!?)", ops[i]).groups()
    first, *parts = [o.strip() for o in inside.split(",")]
    name, _, align = first.partition(":")
    alignment, behind = int(align, 0) // 8 if align else alignment, len(ops) > i + 1 or bool(mark and size)
    updates = behind or bool(mark)
    parts = ops[i + 1:] or ([f"#{size}"] if behind else parts or ["#0"])
    at = addressed(number(name), offset_of(parts, updates, read), updates, behind)

    def aligned(m):
        a = at(m)
        if alignment > 1:
            m.memory.aligned(a, alignment)
        return a
    return aligned


def transfer(loads, registers, places, at):
    """Returns a function that loads or stores words of "general" or "vector" registers."""
    def load(m):
        for p, w in zip(places, m.memory.load_words(at(m), len(places))):
            getattr(m, registers)[p] = w

    def store(m):
        words = [getattr(m, registers)[p] for p in places]
        m.memory.store_words(at(m), words)
    return load if loads else store


def load_store(name, ops):
    loads, size = name.startswith("ldr"), {"b": 1, "h": 2}.get(name[-1], 4)
    count = 2 if name[-1] == "d" else 1
    one_change(ops[count], ops[count + 1:], ops[:count], number)
    if count == 2:
        index = re.findall(r"-?(\w+)", ",".join(ops[count:]))[1:]
        if {*ops[:2]} & {*index}:
            raise Unproved("ldrd or strd of its index")
        a, b = number(ops[0]), number(ops[1])
        if a % 2 or b != a + 1:
            raise Unproved("registers of ldrd or strd")
        return transfer(loads, "general", (a, b), address(ops, 2, alignment=4))
    at = address(ops, 1)
    if loads:
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


def words_of(names):
    """The places of the words of d registers."""
    if not all(re.fullmatch(r"d\d+", name) for name in names):
        raise Unproved(f"registers {names} are not known")
    return [2 * int(name[1:]) + i for name in names for i in (0, 1)]


def multiple(name, ops):
    """ldm, stm; vldm, vstm."""
    vectors, base, back = name.startswith("v"), name.removeprefix("v"), ops[0].endswith("!")
    r, names = number(ops[0].rstrip("!")), register_list(ops[1])[0]
    places, loads = words_of(names) if vectors else [number(n) for n in names], base.startswith("ldm")
    if places != sorted(places) or back and not vectors and r in places[not loads:]:
        raise Unproved("registers of a load of many")
    size, down = 4 * len(places), base.endswith("db")
    low = -size if down else 4 if base.endswith("ib") and not vectors else 0

    def at(m):
        v = m.general[r]
        a = m.known(v, "an address") + low
        m.memory.aligned(a, 4)
        if back:
            m.general[r] = moved(v, -size if down else size)
        return a
    return transfer(loads, "vector" if vectors else "general", places, at)


def vector_load_store(name, ops):
    """vld1 and vst1 of whole registers; vld1 of one element, or of one to all; vldr, vstr."""
    base, _, width = name.partition(".")
    loads = base in ("vldr", "vld1")
    if base in ("vldr", "vstr"):
        return transfer(loads, "vector", words_of(ops[:1]), address(ops, 1, alignment=4))
    names, index = register_list(ops[0])
    places, w = words_of(names), int(width)
    if index == "all":
        at = address(ops, 1, w // 8)

        def spread(m):
            v = cat(*[m.memory.load(at(m), w // 8)] * (32 // w))
            for p in places:
                m.vector[p] = v
        return spread
    if index is not None:
        if w != 32 or not loads:
            raise Unproved(name)
        places = [places[0] + index]
    return transfer(loads, "vector", places, address(ops, 1, 4 * len(places)))


# ---- Vectors ----------------------------------------------------------------------------------------------------------

def place(text):
    """The range of words of a vector register."""
    m = re.fullmatch(r"([dq])(\d+)", text)
    if not m:
        raise Unproved(f"vector {text}")
    k = {"d": 2, "q": 4}[m[1]]
    return slice(k * int(m[2]), k * int(m[2]) + k)


def get_vector(text):
    p = place(text)
    return lambda m: m.vector[p]


def put_vector(text):
    p = place(text)

    def put(m, words):
        m.vector[p] = words
    return put


def element(text, width):
    """Returns a function of the machine: an element of a vector, a number, or the low bits of a register."""
    if m := re.fullmatch(r"(d\d+)\[(\d)\]", text):
        get, i = get_vector(m[1]), int(m[2])
        return lambda m: elements(get(m), width)[i]
    if text[0] == "#":
        return lambda m: const(integer(text), width)
    g = read(text)
    return lambda m: cut(g(m), 0, width)


# The names of instructions in arm64.py's table.
PLAIN = {**{"v" + n: n for n in "and orr eor mov add ext bit bif bsl shl sli sri rev32 rev64 tbl tbx".split()},
         "vtst": "cmtst", "vshr.u": "ushr", "vshr.s": "sshr", "vshl.u": "ushl", "vmull.p": "pmull"}


def vector(name, ops):
    base, _, width = name.partition(".")
    w = int(width.lstrip("iusp")) if width else 32  # floating point is not supported
    if base == "vmov" and w == 32 and ops[0].endswith("]"):
        i, g = words_of([ops[0][:-3]])[int(ops[0][-2])], element(ops[1], 32)
        return lambda m: m.vector.__setitem__(i, g(m))
    if base == "vmov" and w == 32 and ops[1].endswith("]"):
        put, g = write(ops[0]), element(ops[1], 32)
        return lambda m: put(m, g(m))
    put = put_vector(ops[0])
    if base == "vmov" and len(ops) == 3:
        a, b = read(ops[1]), read(ops[2])
        return lambda m: put(m, [a(m), b(m)])
    if base == "vdup" or base == "vmov" and ops[1].startswith("#"):
        count, g = (2 if ops[0][0] == "d" else 4) * 32 // w, element(ops[1], w)
        return lambda m: put(m, split([g(m)] * count))
    if base in ("vswp", "vtrn", "vzip") and ops[0] != ops[1]:
        x, y, other = get_vector(ops[0]), get_vector(ops[1]), put_vector(ops[1])
        f, g = (lanewise(base[1:] + i, w, None, False)[-1] for i in "12") if base != "vswp" else \
            (lambda sources: sources[1], lambda sources: sources[0])

        def both_changed(m):
            sources = tuple(x(m)), tuple(y(m))
            put(m, f(sources))
            other(m, g(sources))
        return both_changed
    texts = [n for o in ops if not o.startswith("#") for n in (register_list(o)[0] if o[0] == "{" else [o])]
    plain = PLAIN.get(f"{base}.{width[:1]}") or PLAIN.get(base, base)
    return by_lanes(plain, 2 * w if plain == "pmull" else w, ops, texts, get_vector, put)


def step(name, flags, ops):
    if name == "nop":
        return lambda m: None
    if re.fullmatch(r"v(ld|st)(1\.\d+|r)", name):
        return vector_load_store(name, ops)
    if re.fullmatch(r"v?(ld|st)m(i[ab]|db)?", name):
        return multiple(name, ops)
    if name.startswith(("v", "aes")):
        return vector(name, ops)
    if name in ("add", "adc", "sub", "sbc", "rsb", "cmp", "cmn"):
        return arithmetic(name, flags, ops)
    if name in SHIFTS and not flags and not ops[2].startswith("#"):
        return shift_by_register(name, ops)
    if name in (*LOGIC, "mov", "mvn", *SHIFTS):
        return logic(name, flags, ops)
    if name in ("mul", *LONG) and not flags:
        return multiply(name, ops)
    if name == "rev":
        put, g = write(ops[0]), read(ops[1])
        return lambda m: put(m, reverse(g(m)))
    if re.fullmatch(r"(ldr|str)(b|h|d)?", name):
        return load_store(name, ops)
    raise Unproved(f"instruction {name} {', '.join(ops)} is not known")


def parts(insn):
    """Returns a mnemonic's (name with the type of elements, whether it sets flags, condition or None)."""
    mnemonic, dot, kind = insn.mnemonic.partition(".")
    name = "vmov" if mnemonic.startswith("vmov") else insn.insn_name()  # capstone also calls it fmdhr
    rest = mnemonic.removeprefix(name)  # hs of ldrhs, which is no ldrh
    flags, condition = rest.startswith("s"), rest.removeprefix("s")
    if condition not in ("", *CONDITIONS) or not mnemonic.startswith(name):
        raise Unproved(f"instruction {mnemonic} is not known")
    return name + dot + kind, flags, condition or None


def unspecified(name, word):
    """Whether the instruction has bits that capstone ignores: some that should be zero, or an invalid number of
    doubles."""
    kind = word >> 25 & 7
    if kind in (0, 1) and name in ("cmp", "cmn", "tst"):
        return word >> 12 & 15
    if kind in (0, 1) and name in ("mov", "mvn", *SHIFTS):
        return word >> 16 & 15
    if name == "mul":
        return word >> 12 & 15
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
    name, flags, code_ = parts(insn)
    if unspecified(name, int.from_bytes(code[pc:pc + 4], "little")):
        raise Unproved(f"instruction {text} with bits that should be others")
    f = step(name, flags, ops)
    if code_ is None:
        return f, pc + 4, None, text

    def run(m):
        if known(m.condition(code_), "a condition"):
            f(m)
    return run, pc + 4, None, text
