"""AES-GCM with bit-sliced AES, on ARM and MIPS. Blocks are proved once, for all data; then calls.

    induction.blocks_gcm [--quick] [--planted] [--jobs N] [--part I/N] OBJECT...

bits.py takes seconds for bit-sliced AES. So the set-up of keys and these sections (sections.py) are proved separately.
Each kernel has a section Spread, which spreads the round keys from set-up over the bits of several blocks. The others
are:

    armv6            Rounds     two blocks are encrypted with these
                     Product    the sum of GHASH and a block is multiplied by H, whose table set-up has made
    neon, 64 bits    Rounds8    eight blocks are encrypted with these, or one or two by lookups
                     Places     eight blocks are added to eight sums, which are multiplied by powers of H
    neon, 32 bits    First, Direct, Of128, Of32, Cached, RoundsOf8    eight blocks from a counter on: see bitsliced.py
                     Group      up to eight blocks are multiplied by powers of H and added
    mips             Keystream  8 or 16 blocks are encrypted with these, from any counter on. The nonce is in the first
                                round key
                     Powers     factors are made from any four powers of H
                     Sum        1 to 4 blocks are multiplied by their powers and added
"""
import functools
import operator
import struct

import spec
from induction.bitsliced import (CONSTS_AT, SCRATCH_AT, Counters, Planes6, Planes8, Rounds6, Rounds8, Spread6, Spread8)
from induction.sections import (CALLS, OF, SCHEDULE, SET_UP, TABLE, Gcm, Making, Products, Section, counter_blocks,
    element, expect_blocks, expect_rounds, functions, in_calls, key_of, offsets, rounds_of, size_of, words, words_of,
    words_of_vectors)
from isa.integer import from_word
from run import packets
from run.kernels import ARGS, IN, KEY, SCRATCH, Call
from run.memory import Memory
from values import linear, terms
from values.terms import Unproved, cat, const, cut, field_power, field_product, parts_of, symbol, tainted


# ---- ARM ------------------------------------------------------------------------------------------------------------

class ArmGcm(Gcm):
    called = packets.GcmShape(150, ad=20)

    def encryption(self, bits_, cells, schedule):
        self.expect_schedule(cells, schedule)
        keys = self.any_keys(bits_)
        self.show_blocks(bits_, self.lanes * keys[:1], self.spread.show(bits_, keys[:1]))

    def spread_in_macro(self):
        """The section of the macro spread_or_setup."""
        begin = self.insn("add r5, r1, {}", "KEYS")
        return Spread6(self, begin, self.insn("ldr r3, [r1, {}]", "FLAGS", behind=begin))


class Armv6(Planes6, ArmGcm):
    """Integer registers of 32 bits: two blocks at once, and one product at a time."""

    file, table_bytes = "arm/aesgcm_armv6.S", 144

    def __init__(self, path):
        super().__init__(path, "arm/aes_armv6.h")
        self.spread = self.spread_in_macro()
        self.two = Rounds(self, self.place("begin_rounds"), self.place("ldr r4, [r1, #PASS]", ".Llast_round:"))
        behind = "str r3, [r1, #MESSAGE]"
        self.product = Product(self, self.place("store_factors", behind), self.place("ldr r4, [r1, #BLOCKS]", behind))
        self.rounds = [self.two]
        self.sections = self.spread, self.two, self.product


class Rounds(Rounds6):
    """The number of rounds is read from the key."""

    def put_direction(self, memory, bits_):
        memory.put_number(KEY, const(rounds_of(bits_), 64))
        memory.put_number(SCRATCH + self.kernel.at["ARGS"], Call(self.kernel).callers("args", ARGS))
        return ("rounds", KEY, 8),

    def expect_direction(self, m, key):
        expect_rounds(m, self.key(m, self.found(m, "ARGS")), key.width)


class Product(Products):
    pointers = SCRATCH_AT,

    def inputs(self, m):
        return [[(cat(*m.general[5:9]), 1)]]

    def table_in(self, m):
        return self.kernel.table_of(m.memory, SCRATCH + self.kernel.at["HASH_KEY"])

    def show(self, cells, h):
        """cells: a key from set-up with the table of h, which calls copy to scratch."""
        to = SCRATCH + self.kernel.at["HASH_KEY"] - KEY - TABLE
        copied = {a + to: cells[a] for a in range(KEY + TABLE, KEY + TABLE + self.kernel.table_bytes, 4)}
        self.show_sums(h, {}, copied)


class Neon64(Planes8, ArmGcm):
    """Vectors of 64-bit ARM: eight blocks at once, or one or two by lookups, and eight products."""

    file, table_bytes = "aarch64/aesgcm_neon.S", 576
    KEY_AT, WORK_AT, GROUPS_AT, FILL_AT = 6, 7, 21, 16

    def __init__(self, path):
        super().__init__(path, "aarch64/aes_neon.h", "aarch64/aes_lookup.h")
        self.at |= {"KEYS": self.at["ROUND_KEYS"], "KEYS_END": self.at["WORK"]}
        self.spread = Spread8(self, self.place("spread_round_keys"), self.place(".Lexpanded:"))
        self.rounds = self.few, _, self.eight = [
            Rounds8(self, self.place(begin), self.place(end, begin), 0, count) for count, begin, end in (
                (1, "encrypt_few 1", "str q0, [few]"), (2, "encrypt_few 2", "add t0, work, #TO_HASH"),
                (8, "encrypt_blocks", "eight stp, work, KEYSTREAM"))]
        self.product = Places(self, self.place(".Lhash_begin:"), self.place("cbz groups, .Lhash_end"))
        self.sections = self.spread, *self.rounds, self.product


def reversed_bits(block):
    """With the bits of each byte reversed."""
    return cat(*(cut(block, i, 1) for byte in range(0, 128, 8) for i in range(byte + 7, byte - 1, -1)))


class Places(Products):
    """Eight blocks are added to the places, which are multiplied by H^8, or at the end by H^8, H^7 .. H."""

    pointers, target = (SCRATCH_AT, CONSTS_AT), words_of_vectors(*range(8))

    def encoded(self, sums):
        """Vectors of digits, from the numbers in all places."""
        return [cat(*(cut(v, 8 * j, 8) for j in (i, i + 8) for v in sums)) for i in range(8)]

    def decoded(self, vectors):
        return [cat(*(cut(vectors[j % 8], 8 * (place + j // 8 * 8), 8) for j in range(16))) for place in range(8)]

    def needs(self):
        return {self.kernel.WORK_AT: self.pointer("scratch", SCRATCH, self.kernel.at["WORK"])}

    def addresses(self, name):
        """Of eight vectors."""
        at = SCRATCH + self.kernel.at["WORK"] + self.kernel.at[name]
        return range(at, at + 128, 16)

    def inputs(self, m):
        blocks, places = ([m.memory.peek(at, 16) for at in self.addresses(name)] for name in ("TO_HASH", "PLACES"))
        powers = range(8, 0, -1) if m.general[self.kernel.GROUPS_AT].constant == 1 else 8 * [8]
        return [[(reversed_bits(x), power), (v, power)] for x, v, power in zip(blocks, self.decoded(places), powers)]

    def left(self, m):
        k = self.kernel
        return {k.GROUPS_AT: terms.add(64, m.general[k.GROUPS_AT], const(-1, 64))[0],
                k.FILL_AT: terms.add(64, m.general[k.WORK_AT], const(k.at["TO_HASH"], 64))[0]}

    def table_in(self, m):
        self.expect(m, self.needs())
        if m.known(m.general[self.kernel.GROUPS_AT], "a number") < 1:
            raise Unproved("no groups")
        return self.kernel.table_of(m.memory, m.known(m.general[self.kernel.KEY_AT], "an address") + TABLE)

    def show(self, cells, h):
        k = self.kernel
        values = dict(zip((*self.addresses("TO_HASH"), *self.addresses("PLACES")), words_of("block", 16)))
        for groups in (1, linear.Base("groups", 2, 1 << 60) + 0):
            state = {k.KEY_AT: self.pointer("key", KEY), k.GROUPS_AT: groups, **self.needs()}
            self.show_sums(h, state, {**cells, **values}, k.table)


class Neon32(Counters, ArmGcm):
    """Vectors of 32-bit ARM: eight blocks at once."""

    file, table_bytes, at_once, keys_end = "arm/aesgcm_neon.S", 576, 8, "DATA"
    called = packets.GcmShape(400, ad=20)

    def __init__(self, path):
        super().__init__(path, "arm/aes_neon.h")
        self.spread = self.spread_in_macro()
        passes = self.find_passes(self.insn, self.place("first_input"), self.place("cmp r4, #PASS_TEXT"))
        group = ".Lghash_group:"
        self.product = Group(self, self.place(group), self.place("ldr r4, [r1, #BLOCKS]", group))
        self.sections = self.spread, *passes, self.product


class Group(Products):
    """Up to eight blocks of r4 at r3 are multiplied by the powers of H, the first one after Y is added."""

    pointers, target = (SCRATCH_AT,), [[("vector", r) for r in (62, 63, 60, 61)]]

    def count(self, m):
        """The number of blocks."""
        place = linear.any_place(m.general[4])
        if place and place[0].least + place[1] >= 8:
            return 8
        return min(m.known(m.general[4], "a number"), 8)

    def inputs(self, m):
        at, n = m.known(m.general[3], "an address"), self.count(m)
        blocks = [spec.reverse(m.memory.load(at + 16 * i, 16)) for i in range(n)]
        return [[*((y, n) for y in self.blocks(m, self.target)), *zip(blocks, range(n, 0, -1))]]

    def left(self, m):
        n, add = self.count(m), lambda r, by: terms.add(32, m.general[r], const(by, 32))[0]
        return {"MESSAGE": add(3, 16 * n), "BLOCKS": add(4, -n)}

    def table_in(self, m):
        k, at, n = self.kernel, m.known(m.general[3], "an address"), self.count(m)
        key = self.key(m, self.found(m, "ARGS"))
        if n < 1 or m.known(self.found(m, "PHASE"), "a phase") == k.at["PHASE_TABLE"] or \
                any(kind == "memory" and at - 4 < a < at + 16 * n for kind, a in self.changes):
            raise Unproved("no blocks, or a section that changes them")
        return k.table_of(m.memory, key + TABLE)

    def show(self, cells, h):
        k = self.kernel
        for n in range(1, 9):
            for phases in ((0, k.at["PHASE_TABLE"] - 1), (k.at["PHASE_TABLE"] + 1, 31)):
                count = n if n < 8 else linear.Base("blocks", 8, 1 << 28, width=32) + 0
                state = {3: self.pointer("in", IN + 1), 4: count, "ARGS": self.pointer("args", ARGS),
                         "PHASE": linear.Base("phase", *phases, width=32) + 0}
                values = {**cells, IN + 1: cat(*words_of("block", n))}
                self.show_sums(h, state, values, ("in", IN + 1, 16 * n), k.table)


# ---- MIPS -----------------------------------------------------------------------------------------------------------

X = range(8, 16)  # registers x0 .. x7
ARGUMENTS, POINTER = 4, 5  # registers of the arguments and of scratch
INVERSE_X = field_power(2, (1 << 128) - 2)


class Mips(Gcm):
    file, orders, called = "mips/aesgcm_text.h", (0,), packets.GcmShape(100, ad=20)

    def __init__(self, path):
        super().__init__(path)
        bits_, self.word = self.isa.POINTER, self.isa.POINTER // 8
        own = "mips/aesgcm_mips32r2.S" if bits_ == 32 else "mips64/aesgcm_mips64r2.S"
        self.at = at = offsets(own, "mips/aesgcm_names.h", WORD=self.word)
        self.at_once, self.powers_at_once, self.table_bytes = 2 * self.word, at["POWERS"], 16 * at["POWERS"]
        # Addresses of factors, which are made from powers: after each block's word.
        slots = range(self.slot_of(0), SCRATCH + at["FIFTHS"], at["FACTOR"])
        self.factors = [a for slot in slots for a in range(slot + self.word, slot + at["FACTOR"], 4)]
        # Every fifth bit, as in the constants.
        fifths = range(SCRATCH + at["FIFTHS"], SCRATCH + at["Y"], 4)
        masks = struct.iter_unpack("<I", self.constants[:5 * self.word])
        self.masks = {("memory", a): n for a, (n,) in zip(fifths, masks)}
        place = self.place
        self.spread = Spread(self, place(".Lspread:"), place("lw x0, FLAGS(scratch)", ".Lspread:"))
        self.powers = Powers(self, place(".Lpowers:"), place("andi x1, x0, SEALANE_FLAG_SETUP", ".Lpowers:"))
        self.keystream = Keystream(self, place("counters", ".Lpass:"), place("lw x1, PASS(scratch)", ".Lpass:"))
        self.sum = Sum(self, place("loadw factors, START(scratch)"), place(".Lnext_block:"))
        self.sections = self.spread, self.powers, self.keystream, self.sum

    def expect_table(self, cells, h):
        """Requires the powers of H divided by x, the highest first."""
        memory, power = Memory(self.isa.big), INVERSE_X
        memory.cells.update(cells)
        for i in reversed(range(self.powers_at_once)):
            power = field_product(power, h)
            if element(self.numbers(memory, KEY + TABLE + 16 * i)) != power:
                raise Unproved(f"power {self.powers_at_once - i} of the hash key is not that of the specification")

    def encryption(self, bits_, cells, schedule):
        self.keystream.show(bits_, self.spread.show(bits_, cells), schedule)

    def products(self):
        self.sum.show(*self.powers.show())
        return self.powers_at_once

    def slot_of(self, i):
        """The address of the i-th block's word in the first column."""
        return SCRATCH + self.at["TABLE"] + i * self.at["FACTOR"]

    def columns(self, x):
        """Words of a block and sums of them, as store_block stores them, with their offsets from the first."""
        with_sum = lambda x, y: (x, y, terms.xor(x, y))
        w = parts_of(x, 8 * self.word)
        if self.word == 4:
            w = *with_sum(*w[:2]), *with_sum(*w[2:]), terms.xor(w[0], w[2]), terms.xor(w[1], w[3])
        return [(i * self.at["COLUMN"], v) for i, v in enumerate((*w, terms.xor(*w[-2:])))]

    def number(self, v):
        """A number as it is in memory, or back."""
        return spec.reverse(v) if self.isa.big else v

    def numbers(self, memory, address):
        """Four 32-bit numbers, lowest first."""
        return cat(*(memory.number(address + 4 * i, 4) for i in range(4)))

    def in_numbers(self, address, v):
        return {address + 4 * i: self.number(part) for i, part in enumerate(parts_of(v, 32))}


class MipsSection(Section):
    pointers = POINTER,

    def lose(self, m):
        m.product, m.half_stored = tainted(2 * m.bits), None
        m.half.clear()


class Spread(MipsSection, Making):
    """The nonce is added to the first round key."""

    pointers, kind = (ARGUMENTS, POINTER), "spread key"

    @property
    def cells(self):
        return range(SCRATCH + self.kernel.at["KEYS"], SCRATCH + self.kernel.at["TABLE"], 4)

    def size(self, key, nonce):
        """128 bytes for each round key."""
        return 8 * size_of(key.width)

    def show(self, bits_, cells):
        """Proves the section for a key from set-up. Returns scratch."""
        nonce = words("nonce", 3)
        rows = {x: cat(*(cut(nonce, 32 * c + 8 * r, 8) for c in range(3)), const(0, self.kernel.isa.POINTER - 24))
                for r, x in enumerate(X[:4])}
        memory = self.alone(rows, cells, ("rounds", KEY, 8), ("schedule", KEY + SCHEDULE, size_of(bits_))).memory
        return {a: memory.cells[a] for a in self.cells if a in memory.cells}

    def operands(self, m):
        key = self.key(m, m.general[ARGUMENTS])
        of = key_of(m, key + SCHEDULE)
        expect_rounds(m, key, of.width)
        rows = [m.read(x) for x in X[:4]]
        if any(not v.defined or v.most >> 24 for v in rows):
            raise Unproved("no nonce")
        return of, cat(*(cut(v, 8 * c, 8) for c in range(3) for v in rows))


class Keystream(MipsSection):
    def place(self, row, block):
        return SCRATCH + self.kernel.at["STATE"] + self.kernel.at["ROW"] * row + 4 * block

    def show(self, bits_, cells, schedule):
        """cells: the results of Spread."""
        k, nonce, counter = self.kernel, words("nonce", 3), symbol("counter", 32)
        results = [spec.aes(schedule, block) for block in counter_blocks(nonce, counter, k.at_once)]
        state = {X[0]: from_word(counter, k.isa.POINTER), "ARGS": self.pointer("args", ARGS)}
        rounds = k.number(const(rounds_of(bits_), 64))
        m = self.alone(state, {**cells, KEY: rounds}, ("rounds", KEY, 8)).machine
        rows = [[m.memory.number(self.place(r, i), 4) for r in range(4)] for i in range(len(results))]
        expect_blocks([cat(*(cut(w, 8 * c, 8) for c in range(4) for w in of)) for of in rows], results)

    def left(self, m):
        return {"COUNTER": terms.add_modular(cut(m.read(X[0]), 0, 32), const(self.kernel.at_once, 32))}

    def effect(self, m):
        k, memory = self.kernel, m.memory
        key, nonce = k.spread.made_in(memory)
        expect_rounds(m, self.key(m, self.found(m, "ARGS", k.word)), key.width)
        counter = cut(m.read(X[0]), 0, 32)
        if not counter.defined or from_word(counter, m.bits) is not m.read(X[0]):
            raise Unproved("no counter")
        blocks = in_calls(0, k.at_once * [key], counter_blocks(nonce, counter, k.at_once))
        yield
        for i, v in enumerate(blocks):
            for r in range(4):
                memory.put_number(self.place(r, i), cat(*(cut(v, 32 * c + 8 * r, 8) for c in range(4))))


class Powers(MipsSection, Making):
    kind = "factor"

    @property
    def cells(self):
        return self.kernel.factors

    def needs(self):
        return {X[4]: self.pointer("scratch", SCRATCH, self.kernel.at["TABLE"]), **self.kernel.masks}

    def show(self):
        """Returns the factors, and the powers from which they are made."""
        k, powers = self.kernel, words_of("power", self.kernel.powers_at_once)
        state = {**self.needs(), X[5]: self.pointer("key", KEY, TABLE), "FLAGS": symbol("flags", 32)}
        return self.left_by(self.alone(state, k.in_numbers(KEY + TABLE, cat(*powers)), k.table)), powers

    def operands(self, m):
        self.expect(m, self.needs())
        return self.kernel.table_of(m.memory, m.known(m.read(X[5]), "an address"))

    def left(self, m):
        return {X[0]: from_word(self.found(m, "FLAGS"), m.bits)}


class Sum(MipsSection, Products):
    """By factors, which are made from powers of H."""

    def decoded(self, blocks):
        return [cat(*map(self.kernel.number, parts_of(v, 32))) for v in blocks]

    def slot(self, i):
        return self.pointer("scratch", SCRATCH, self.kernel.slot_of(i) - SCRATCH)

    def needs(self):
        return {X[7]: self.slot(self.kernel.powers_at_once), **self.kernel.masks}

    def first(self, m):
        """The place of the first block."""
        k = self.kernel
        begin, odd = divmod(m.known(self.found(m, "START", k.word), "an address") - k.slot_of(0), k.at["FACTOR"])
        if odd or not 0 <= begin < k.powers_at_once:
            raise Unproved("no blocks")
        return begin

    def inputs(self, m):
        k, blocks = self.kernel, []
        for i in range(self.first(m), k.powers_at_once):
            found = [m.memory.number(k.slot_of(i) + behind, k.word) for behind, _ in k.columns(const(0, 128))]
            x = cat(*found[:2]) if k.word == 8 else cat(*found[:2], *found[3:5])
            if any(v is not w and v.image != w.image for v, (_, w) in zip(found, k.columns(x))):
                raise Unproved("no block, or other sums of its words")
            blocks.append((x, k.powers_at_once - i))
        return [blocks]

    def left(self, m):
        more = const(-self.first(m) * self.kernel.at["FACTOR"], m.bits)
        return dict.fromkeys(("START", "NEXT_FACTORS"), terms.add(m.bits, self.found(m, "START", m.bits // 8), more)[0])

    def table_in(self, m):
        self.expect(m, self.needs())
        return self.kernel.powers.made_in(m.memory)

    def show(self, factors, powers):
        k = self.kernel
        for begin in range(len(powers)):
            blocks = words_of("block", len(powers))[begin:]
            columns = {k.slot_of(i) + at: k.number(w) for i, v in enumerate(blocks, begin) for at, w in k.columns(v)}
            call = self.alone({**self.needs(), "START": self.slot(begin)}, {**factors, **columns})
            y, = self.decoded(self.blocks(call.machine, self.target))
            products = [field_product(element(v), element(powers[-power])) for v, power in call.inputs[0]]
            if element(y) != field_product(functools.reduce(operator.xor, products), 2):
                raise Unproved(f"the sum of {len(blocks)} blocks is not that of the specification")


# ---- What must be refused -------------------------------------------------------------------------------------------

Armv6.faults = {
    SET_UP: [("a round constant is not the next", "str r2, [r1, #0x1a4]"),
             ("H is not multiplied by x", "lsl r5, r5, #1"), ("a bit that leaves H is lost", "eor r8, r8, r2"),
             ("POLYVAL and GHASH have one table", "tst r3, #0x20"), ("a bit has no place", "and r8, r0, ip, lsl #3")],
    "spread": [("a plane has the other's bits", "and fp, ip, r8, lsr #1"),
               ("blocks have different keys", "orr sb, sb, sb, lsl #1")],
    "two": [("an exclusive or is left out", "eor", 200), ("a round key is not added", "ldr r4, [ip"),
            ("rows stay in their columns", "eor r8, r8, fp, lsl #4"), ("rounds are not counted", "subs r0, r0, #4")],
    "product": [("a product is left out", "umlal"), ("columns are not apart", "and r8, r0, r2, lsl #2"),
                ("a bit is not reduced", "eor r3, r3, fp, lsl #31"), ("columns stay in one product", "orr fp, fp, r6")],
    CALLS: [("a counter is used again", "str fp, [r1, #0x1b8]"), ("Y is not added", "eor r8, r8, r0"),
            ("lengths are in bytes", "lsl r5, r5, #3"), ("the tag is without its mask", "eor r7, r7, r0"),
            ("a wipe is left out", "stm r3!, {r4, r5, r6, r7}"),
            ("the hash key's table is incomplete", "str r7, [r5], #4")],
}
Neon64.faults = {
    SET_UP: [("a round constant is not the next", "lsl w9, w9, #1"),
             ("a power is the one before", "str q16, [x7, #0xf0]"),
             ("POLYVAL's H is not multiplied by x", "extr x11, x12, x11, #1"),
             ("a digit of H is another", "dup v0.16b, v17.b[0]")],
    "spread": [("S-boxes are without their constant", "eor v18.16b, v18.16b, v31.16b"),
               ("a bit is that of another key", "cmtst v3.16b, v16.16b, v11.16b")],
    "few": [("a lookup is left out", "tbl v6.16b, {v24.16b"),
            ("a round key is not added", "eor v0.16b, v0.16b, v8.16b", 1),
            ("x^8 is not reduced", "eor v4.16b, v4.16b, v2.16b")],
    "eight": [("an exclusive or is left out", "eor", 100), ("rows are not shifted", "tbl v6.16b, {v6.16b}, v11.16b")],
    "product": [("a product is left out", "pmull v8.8h", 3), ("a digit is not reduced", "pmull v26.8h"),
                ("all places have one power", "csel x8, x10, x8, eq"),
                ("blocks are not gathered anew", "add x16, x7, #0x80")],
    CALLS: [("a counter is used again", "add w9, w9, #1"),
            ("the table of lookups is another", "ldp q20, q21, [x10, #0x40]"),
            ("lengths are in bytes", "lsl x10, x10, #3"),
            ("places are not added up", "eor v18.16b, v18.16b, v19.16b", -1),
            ("a wipe is left out", "stp q0, q0, [x10], #0x20", -1)],
}
Neon32.faults = {
    SET_UP: [("a round constant is not the next", "ldrbeq r3, [fp], #1"),
             ("H is not multiplied by x", "vadd.i64 q1, q15, q15"),
             ("a power is the one before", "vst1.8 {d0, d1}, [r6]"),
             ("a digit of H is another", "vsli.32 q1, q0, #0x18")],
    "spread": [("a bit is that of another key", "vtst.8 q3, q0, q10")],
    "first": [("the first round key is not added", "veor q1, q1, q3")],
    "direct": [("blocks have one counter", "veor d3, d3, d21"), ("the counter is not added", "veor q8, q8, q9")],
    "secret": [("blocks have one counter", "vadd.i32 q9, q9, q11")],
    "rounds": [("an exclusive or is left out", "veor", 100), ("rounds are not counted", "subs ip, ip, #4")],
    "of_128": [("fixed bytes vary", "vand q10, q10, q0"), ("blocks have one counter", "veor q5, q5, q14")],
    "of_32": [("a byte of the first round is not added", "veor d15, d15, d23")],
    "cached": [("another group's bytes are taken", "and r6, r6, #3"), ("a plane is not added", "veor q7, q7, q15")],
    "product": [("a product is left out", "vmull.p8 q4, d1", 2), ("a byte is not placed", "vsri.64 q0, q15, #0x30"),
                ("a bit is not reduced", "vshl.i64 d7"), ("Y is not added", "veor d0, d0, d31")],
    CALLS: [("a counter is used again", "str r4, [r1, #0x1d8]"),
            ("what 128 blocks share is kept for others", "lsr r6, r3, #7"), ("lengths are in bytes", "lsl r5, r5, #3"),
            ("the tag is without its mask", "veor q0, q0, q1"), ("a wipe is left out", "vstmia r3!")],
}
# Texts of instructions with 32 and 64 bits.
Mips.faults = {
    SET_UP: [("a round constant is not the next", "sll $t1, $t1, 1"), ("H is not divided by x", "sll $t0, $t0, 1"),
             ("a byte of a round key is in another row", "ins $t1, $t3", -1)],
    "spread": [("the nonce is not added", "xor $t0, $t0, $s6")],
    "keystream": [("a counter is another block's", "addiu $t2, $t0"), ("bytes stay in their columns", ("rotr", "dshd")),
                  ("an exclusive or is left out", "xor", 300), ("a round key is not added", "xor $s4, $s4, $t9")],
    "powers": [("a power has no factor", ("sw $t8", "sd $t8"))],
    "sum": [("a product is left out", ("maddu", "dmultu"), 2), ("columns are not apart", ("and $s2", "and $s6")),
            ("a bit is not reduced", ("sll $t4, $t0, 0x1f", "dsll32 $t4, $t0, 0x1f")),
            ("the next blocks have the last powers", ("sw $t4", "sd $t4"))],
    CALLS: [("keystream is used again", ("addiu $t7, $t7, 4", "daddiu $t7, $t7, 4"), 1),
            ("Y is not added", "xor $t0, $t0, $s0"), ("a sum of a block's words is left out", "xor $t0, $t0, $t2", 1),
            ("the lengths are in bytes", "sll $t0, $t0, 3"), ("the tag is without its mask", "xor $t0, $t0, $t1"),
            ("a wipe is left out", ("sw $zero, 4($t0)", "sd $zero, 8($t0)"))],
}

of, least, prepare, tasks, one, planted = functions({
    ("EM_ARM", "sealane_aesgcm_armv6"): Armv6, ("EM_ARM", "sealane_aesgcm_neon"): Neon32,
    ("EM_AARCH64", "sealane_aesgcm_neon"): Neon64, ("EM_MIPS", "sealane_aesgcm_mips32r2"): Mips,
    ("EM_MIPS", "sealane_aesgcm_mips64r2"): Mips})
