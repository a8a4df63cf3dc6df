"""32-bit ARM: the effect of each instruction on registers, flags and memory, in terms of values.

Capstone decodes instructions into text. The semantics follow Arm's manuals (DDI 0406, DDI 0487).
tests/semantics.py compares them with an emulator. An unknown instruction stops the run.
"""
import re

import capstone
from isa.arm64 import LANEWISE, LOGIC, SHIFTS, integer, lanewise, look_up, operands, remembered
from isa.code import ArmFlags, elements, known, split
from spec import reverse
from values import terms
from values.terms import Unproved, add, add_modular, carryless, cat, const, cut, extend, invert, product, shift_left, shift_right, undefined

POINTER = 32
MACHINE = "EM_ARM"
BITWISE = "neon|armv6"  # levels with bit-sliced AES
ARGUMENTS = (0, 1, 2)
REGISTERS = {**{f"r{i}": i for i in range(16)}, "sb": 9, "sl": 10, "fp": 11, "ip": 12, "sp": 13, "lr": 14}
CONDITIONS = list(ArmFlags.TESTS)


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
    ops, flags, put = three(flags, ops, name != "tst")
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


def offset_of(parts, text):
    """Returns a function of the machine that computes an offset: a number, or a register with a sign and a shift."""
    if parts[0].startswith("#"):
        n = integer(parts[0])
        return lambda m: n
    sign, by, f = -1 if parts[0].startswith("-") else 1, 0, read(parts[0].removeprefix("-"))
    if len(parts) > 1:
        how, n = parts[1].split()
        if how != "lsl":
            raise Unproved(f"address {text}")
        by = integer(n)
    return lambda m: sign * (known(f(m), "an address") << by)


def address(ops, i, size=0, alignment=1):
    """Returns a function of the machine that computes the address of operand i, and updates its register. If the operand
    does not say by how much, it is moved by `size`."""
    inside, before = re.fullmatch(r"\[([^\]]*)\](!?)", ops[i]).groups()
    first, *offset = [o.strip() for o in inside.split(",")]
    name, _, align = first.partition(":")
    base, alignment, behind = number(name), int(align, 0) // 8 if align else alignment, len(ops) > i + 1
    by = offset_of(ops[i + 1:] if behind else offset or ["#0"], ops[i])

    def at(m):
        v = m.general[base]
        a = m.known(v, "an address")
        if behind:
            m.general[base] = moved(v, by(m))
        elif before and size:
            m.general[base] = moved(v, size)
        else:
            n = by(m)
            a = (a + n) & 0xffffffff
            if before:
                m.general[base] = moved(v, n)
        if alignment > 1:
            m.memory.aligned(a, alignment)
        return a
    return at


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
    if name in ("ldrd", "strd"):
        a, b = number(ops[0]), number(ops[1])
        if a % 2 or b != a + 1:
            raise Unproved("registers of ldrd or strd")
        return transfer(name == "ldrd", "general", (a, b), address(ops, 2, alignment=4))
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
    if places != sorted(places) or loads and back and not vectors and r in places:
        raise Unproved("registers of a load of many")
    size, down, first = 4 * len(places), base.endswith(("db", "da")), base.endswith(("ib", "db"))
    low = -size if down and first else 4 - size if down else 4 if first and not vectors else 0

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


def shift_by_register(x, y, w):
    out = []
    for a, b in zip(elements(x, w), elements(y, w)):
        n = known(cut(b, 0, 8), "the count of a shift")
        n -= 256 if n & 0x80 else 0
        out.append(const(0, w) if abs(n) >= w else shift_left(a, n) if n >= 0 else shift_right(a, -n))
    return split(out)


def places_of(ops):
    """The places of all vector registers in operands."""
    names = {r for o in ops for r in re.findall(r"[dq]\d+", o)}
    for o in ops:
        if ends := re.fullmatch(r"\{d(\d+)-d(\d+)\}", o):
            names |= {f"d{n}" for n in range(int(ends[1]), int(ends[2]) + 1)}
    return [place(n) for n in sorted(names)]


ELEMENT = r"d(\d+)\[(\d)\]"
# The names of instructions in arm64.py's table.
PLAIN = {**{"v" + n: n for n in "and orr eor mov add ext bit bif bsl shl sli sri rev32 rev64".split()}, "vtst": "cmtst", "vshr": "ushr"}


def vector(name, ops):
    base, _, width = name.partition(".")
    w = int(width.lstrip("iusp")) if width else 32  # floating point is not supported
    to, what = re.fullmatch(ELEMENT, ops[0]), re.fullmatch(ELEMENT, ops[1])
    if base == "vmov" and to and w == 32:
        i, g = 2 * int(to[1]) + int(to[2]), read(ops[1])
        return lambda m: m.vector.__setitem__(i, g(m))
    if base == "vmov" and what and w == 32:
        i, put = 2 * int(what[1]) + int(what[2]), write(ops[0])
        return lambda m: put(m, m.vector[i])
    d, n = place(ops[0]), integer(ops[-1]) if ops[-1].startswith("#") else None
    size = 32 * (d.stop - d.start)
    if base == "vmov" and len(ops) == 3:
        a, b = read(ops[1]), read(ops[2])
        return lambda m: m.vector.__setitem__(d, [a(m), b(m)])
    if base == "vmov" and n is not None:
        return lambda m: m.vector.__setitem__(d, split([const(n, w)] * (size // w)))
    if base == "vdup" and what:
        k, i = place("d" + what[1]), int(what[2])
        return lambda m: m.vector.__setitem__(d, split([elements(m.vector[k], w)[i]] * (size // w)))
    if base == "vdup":
        g = read(ops[1])
        return lambda m: m.vector.__setitem__(d, split([cut(g(m), 0, w)] * (size // w)))
    if base in ("vtbl", "vtbx"):
        names, control = register_list(ops[1])[0], place(ops[2])

        def table(m):
            t = [b for n in names for b in elements(m.vector[place(n)], 8)]
            m.vector[d] = split(look_up(t, elements(m.vector[control], 8), elements(m.vector[d], 8) if base == "vtbx" else None))
        return table
    s, *others = (place(o) for o in ops[1:] if not o.startswith("#"))
    if base == "vmull" and width[0] == "p":
        t, = others

        def multiply_polynomials(m):
            m.vector[d] = split([extend(p, 2 * w) for p in map(carryless, elements(m.vector[s], w), elements(m.vector[t], w))])
        return multiply_polynomials
    if base == "vswp":
        def swap(m):
            m.vector[d], m.vector[s] = m.vector[s], m.vector[d]
        return swap
    if base in ("vtrn", "vzip") and d != s:
        f, g = LANEWISE[base[1:] + "1"][-1], LANEWISE[base[1:] + "2"][-1]

        def interleave(m):
            x, y = elements(m.vector[d], w), elements(m.vector[s], w)
            m.vector[d], m.vector[s] = split(f(x, y)), split(g(x, y))
        return interleave
    if base == "vshl" and n is None and width[0] == "u" and others:
        return lambda m: m.vector.__setitem__(d, shift_by_register(m.vector[s], m.vector[others[0]], w))
    plain = "sshr" if base == "vshr" and width[0] == "s" else PLAIN.get(base, base)
    found = lanewise(plain, w, n, [s] == others)
    if found is None or len(others) + 1 != found[2]:
        raise Unproved(f"instruction {name} {', '.join(ops)} is not known")
    w, f = found[0] or w, found[3]
    sources, together = [d] * found[1] + [s, *others], list if w == 32 else split
    return lambda m: m.vector.__setitem__(d, together(f(*[elements(m.vector[p], w) for p in sources])))


def step(name, flags, ops):
    if name == "nop":
        return lambda m: None
    if re.fullmatch(r"v(ld|st)(1\.\d+|r)", name):
        return vector_load_store(name, ops)
    if re.fullmatch(r"v?(ld|st)m(i[ab]|d[ab])?", name):
        return multiple(name, ops)
    if name.startswith(("v", "aes")):
        vectors = all(re.match(r"\{?[dq]\d|#", o) for o in ops)
        return remembered(vector(name, ops), places_of(ops)) if vectors else vector(name, ops)
    if name in ("add", "adc", "sub", "sbc", "rsb", "cmp", "cmn"):
        return arithmetic(name, flags, ops)
    if name in LOGIC:
        return logic(name, flags, ops)
    if name in ("mov", "mvn", *SHIFTS):
        return move(name, flags, ops)
    if name in ("mul", "umull", "umlal", "umaal") and not flags:
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
