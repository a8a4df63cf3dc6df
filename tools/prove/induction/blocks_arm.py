"""AES-GCM with bit-sliced AES on ARM. Blocks are proved once, for all data; then calls.

    induction.blocks_arm [--quick] [--planted] [--jobs N] [--part I/N] OBJECT...

This is like blocks_mips.py. Each kernel has a section Spread, which spreads the round keys from set-up over the bits of several
blocks. The others are:

    armv6            Rounds     two blocks are encrypted with these
                     Product    the sum of GHASH and a block is multiplied by H, whose table set-up has made
    neon, 64 bits    Encrypt    eight blocks are encrypted with these, or one or two by lookups
                     Places     eight blocks are added to eight sums, which are multiplied by powers of H
    neon, 32 bits    First, Direct, Secret         eight blocks from a public or a secret counter on
                     Of128, Of32, Cached           the same after two rounds, from what 128 and 32 blocks share
                     RoundsOf8                     the rounds that are left
                     Group                         up to eight blocks are multiplied by powers of H and added
"""
import spec
from induction.bitsliced import CONSTS_AT, SCRATCH_AT, Counters, Planes6, Planes8, Rounds6, Rounds8, Spread6, Spread8, offsets
from induction.engine import find
from induction.sections import CALLS, OF, SET_UP, TABLE, Gcm, Section, element, expect_rounds, functions, product, rounds_of, total, words
from run import packets
from run.kernels import ARGS, IN, KEY, SCRATCH, Call
from run.memory import Memory
from values import linear, terms
from values.terms import Unproved, cat, const, cut, field_product


class Blocks(Gcm):
    called = packets.GcmShape(150, ad=20)

    def expect_table(self, cells, h):
        self.product.show(cells, h)

    def encryption(self, bits_, cells, schedule):
        self.expect_schedule(cells, schedule)
        keys = self.any_keys(bits_)
        self.show_blocks(bits_, self.lanes * keys[:1], self.spread.show(bits_, keys[:1]))

    def begin_of(self, place):
        if place in ("few", "rounds") and isinstance(self.rounds, list):
            return self.rounds[0 if place == "few" else -1].begin
        return super().begin_of(place)

    def places(self, *sources):
        """Returns a function that finds an instruction, whose text may have offsets by name."""
        self.at = offsets(*sources)
        return lambda text, *names, behind=0: find(self, text.format(*(f"#{self.at[n]:#x}" for n in names)), 0, behind).address


# ---- Integer registers of 32-bit ARM ------------------------------------------------------------------------------------

class Armv6(Planes6, Blocks):
    """Two blocks at once, and one product at a time."""

    table_bytes = 144

    def __init__(self, path):
        super().__init__(path)
        place = self.places("arm/aes_armv6.h", "arm/aesgcm_armv6.S")
        spread = place("add r5, r1, {}", "KEYS")
        counter = place("str fp, [r1, {}]", "COUNTER", behind=place("str r4, [r1, {}]", "PASS"))
        product = place("str r3, [r1, {}]", "MESSAGE", behind=place("str r5, [r1, {}]", "PHASE"))
        self.spread = Spread6(self, spread, place("ldr r3, [r1, {}]", "FLAGS", behind=spread))
        self.rounds = [Rounds(self, counter + 16, place("ldr r4, [r1, {}]", "PASS", behind=counter))]
        self.product = Product(self, product + 4, place("ldr r4, [r1, {}]", "BLOCKS", behind=product))
        self.sections = self.spread, *self.rounds, self.product


class Rounds(Rounds6):
    """The number of rounds is read from the key."""

    def put_direction(self, memory, bits_):
        memory.put_number(KEY, const(rounds_of(bits_), 64))
        memory.put_number(SCRATCH + self.kernel.at["ARGS"], Call(self.kernel).callers("args", ARGS))
        return ("rounds", KEY, 8, True, False),

    def expect_direction(self, m, key):
        expect_rounds(m, self.key(m, m.memory.number(SCRATCH + self.kernel.at["ARGS"], 4)), key.width)


class Product(Section):
    pointers = SCRATCH_AT,

    @property
    def y(self):
        return SCRATCH + self.kernel.at["Y"]

    @property
    def table(self):
        at = SCRATCH + self.kernel.at["HASH_KEY"]
        return range(at, at + self.kernel.table_bytes, 4)

    def show(self, cells, h):
        """cells: a key from set-up with the table of h."""
        x = words("x")
        scratch = {a: cells[KEY + TABLE + i] for a, i in zip(self.table, range(0, self.kernel.table_bytes, 4))}
        memory = self.alone(dict(zip(range(5, 9), terms.parts_of(x, 32))), scratch).memory
        if element(memory.peek(self.y, 16)) != field_product(element(x), h):
            raise Unproved("the product is not that of the specification")

    def effect(self, m):
        x = cat(*m.general[5:9])
        if not x.defined:
            raise Unproved("a product of what nothing has written")
        y = product(self.kernel.table_of(m.memory, self.table[0]), (x, 1))
        yield
        m.memory.poke(self.y, y)


# ---- Vectors of 64-bit ARM ------------------------------------------------------------------------------------------------

class Neon64(Planes8, Blocks):
    """Eight blocks at once, or one or two by lookups, and eight products."""

    table_bytes = 576
    KEY_AT, WORK_AT, GROUPS_AT, FILL_AT = 6, 7, 21, 16

    def __init__(self, path):
        super().__init__(path)
        place = self.places("aarch64/aes_neon.h", "aarch64/aes_lookup.h", "aarch64/aesgcm_neon.S")
        self.at |= {"KEYS": self.at["ROUND_KEYS"], "KEYS_END": self.at["WORK"]}
        spread = place("add x14, x1, {}", "KEYS") - 4
        two = place("ldr q8, [x12], #0x10", behind=place("mov x13, x12"))
        one = place("ldr q8, [x12], #0x10", behind=place("stp q0, q1, [x8], #0x20"))
        eight = place("movi v30.16b, #0xcc")
        hash_ = place("ldp q0, q1, [x7, {}]", "TO_HASH")
        self.spread = Spread8(self, spread, place("tbz w22, #0", behind=spread))
        self.rounds = [Rounds8(self, begin, end, 0, count) for count, begin, end in (
            (1, one, place("str q0, [x8]", behind=one)), (2, two, place("add x10, x7", behind=two)), (8, eight, place("stp q0, q1, [x7]", behind=eight)))]
        self.product = Places(self, hash_, place("cbz x21", behind=hash_))
        self.sections = self.spread, *self.rounds, self.product


def reversed_bits(block):
    """With the bits of each byte reversed."""
    return cat(*(cut(block, i, 1) for byte in range(0, 128, 8) for i in range(byte + 7, byte - 1, -1)))


class Places(Section):
    """Eight blocks are added to the places, which are multiplied by H^8, or at the end by H^8, H^7 .. H."""

    pointers = SCRATCH_AT, CONSTS_AT

    def digits(self, numbers):
        """Vectors of digits, from the numbers in all places."""
        return [cat(*(cut(v, 8 * j, 8) for j in (i, i + 8) for v in numbers)) for i in range(8)]

    def numbers(self, vectors):
        return [cat(*(cut(vectors[j % 8], 8 * (place + j // 8 * 8), 8) for j in range(16))) for place in range(8)]

    @staticmethod
    def powers(last):
        return range(8, 0, -1) if last else 8 * [8]

    def show(self, cells, h):
        k = self.kernel
        to_hash, places = (SCRATCH + k.at["WORK"] + k.at[name] for name in ("TO_HASH", "PLACES"))
        for last in (False, True):
            blocks, before = ([words(f"{name} {i} ") for i in range(8)] for name in ("block", "place"))
            memory = Memory()
            memory.cells.update(cells)
            for i, (block, digits) in enumerate(zip(blocks, self.digits(before))):
                memory.poke(to_hash + 16 * i, block)
                memory.poke(places + 16 * i, digits)
            groups = const(1, 64) if last else linear.Base("groups", 2, 1 << 60) + 0
            m = self.alone({k.KEY_AT: self.pointer("key", KEY), k.WORK_AT: self.pointer("scratch", SCRATCH, k.at["WORK"]), k.GROUPS_AT: groups},
                           memory.cells, ("table", KEY + TABLE, k.table_bytes, True, False)).machine
            for i, (power, found) in enumerate(zip(self.powers(last), self.numbers([cat(*v) for v in m.vector[:8]]))):
                if element(found) != total(h, ((spec.field_element(blocks[i]), power), (element(before[i]), power))):
                    raise Unproved(f"place {i} is not that of the specification")

    def effect(self, m):
        k, memory = self.kernel, m.memory
        work, key = (m.known(m.general[r], "an address") for r in (k.WORK_AT, k.KEY_AT))
        groups = m.known(m.general[k.GROUPS_AT], "a number")
        if work != SCRATCH + k.at["WORK"] or groups < 1:
            raise Unproved("no scratch, or no groups")
        of = k.table_of(memory, key + TABLE)
        blocks = [reversed_bits(memory.peek(work + k.at["TO_HASH"] + 16 * i, 16)) for i in range(8)]
        before = self.numbers([memory.peek(work + k.at["PLACES"] + 16 * i, 16) for i in range(8)])
        if not all(v.defined for v in (*blocks, *before)):
            raise Unproved("products of what nothing has written")
        digits = self.digits([product(of, (x, power), (v, power)) for x, v, power in zip(blocks, before, self.powers(groups == 1))])
        yield
        m.vector[:8] = [terms.parts_of(v, 32) for v in digits]
        m.general[k.GROUPS_AT] = const(groups - 1, 64)
        m.general[k.FILL_AT] = terms.add(64, m.general[k.WORK_AT], const(k.at["TO_HASH"], 64))[0]


# ---- Vectors of 32-bit ARM ------------------------------------------------------------------------------------------------

class Neon32(Counters, Blocks):
    """Eight blocks at once."""

    table_bytes, at_once, keys_end, called = 576, 8, "DATA", packets.GcmShape(400, ad=20)

    def __init__(self, path):
        super().__init__(path)
        place = self.places("arm/aes_neon.h", "arm/aesgcm_neon.S")
        spread, first = place("add r5, r1, {}", "KEYS"), place("vld1.8 {{d4, d5}}, [r2]")
        passes = self.find_passes(place, first, place("cmp r4, #0", behind=place("str r4, [r1, {}]", "PASS", behind=first)))
        group = place("str r5, [r1, {}]", "PHASE", behind=self.secret.begin) + 12
        self.spread = Spread6(self, spread, place("ldr r3, [r1, {}]", "FLAGS", behind=spread))
        self.product = Group(self, group, place("ldr r4, [r1, {}]", "BLOCKS", behind=group))
        self.sections = self.spread, *passes, self.product


class Group(Section):
    """Up to eight blocks of r4 at r3 are multiplied by the powers of H, the first one after Y is added."""

    pointers = SCRATCH_AT,
    Y_AT = 62, 63, 60, 61

    def show(self, cells, h):
        k = self.kernel
        for n in range(1, 9):
            for phases in ((0, k.at["PHASE_TABLE"] - 1), (k.at["PHASE_TABLE"] + 1, 31)):
                blocks, y, memory = [words(f"block {i} ") for i in range(n)], words("y"), Memory()
                memory.cells.update(cells)
                memory.poke(IN + 1, cat(*blocks))
                memory.put_number(SCRATCH + k.at["ARGS"], Call(k).callers("args", ARGS))
                memory.put_number(SCRATCH + k.at["PHASE"], linear.Base("phase", *phases, width=32) + 0)
                count = linear.Base("blocks", 8, 1 << 28, width=32)
                call = self.alone({3: self.pointer("in", IN + 1), 4: count + 0 if n == 8 else const(n, 32)}, memory.cells,
                                  ("in", IN + 1, 16 * n, True, False), ("table", KEY + TABLE, k.table_bytes, True, False),
                                  vectors=dict(zip(self.Y_AT, terms.parts_of(y, 32))))
                powers = range(n, 0, -1)
                result = total(h, ((spec.field_element(x), power) for x, power in zip(blocks, powers))) ^ total(h, ((element(y), n),))
                if element(cat(*(call.machine.vector[r] for r in self.Y_AT))) != result:
                    raise Unproved(f"the sum of {n} blocks is not that of the specification")
                if [call.memory.number(SCRATCH + k.at[name], 4) for name in ("MESSAGE", "BLOCKS")] != \
                        [self.pointer("in", IN + 1, 16 * n)(call), count + -8 if n == 8 else const(0, 32)]:
                    raise Unproved("the message does not go on")

    def effect(self, m):
        k, memory = self.kernel, m.memory
        at, count = m.known(m.general[3], "an address"), m.known(m.general[4], "a number")
        key = self.key(m, memory.number(SCRATCH + k.at["ARGS"], 4))
        n = min(count, 8)
        if n < 1 or m.known(memory.number(SCRATCH + k.at["PHASE"], 4), "a phase") == k.at["PHASE_TABLE"] or \
                any(kind == "memory" and at - 4 < a < at + 16 * n for kind, a in self.changes):
            raise Unproved("no blocks, or a section that changes them")
        of = k.table_of(memory, key + TABLE)
        blocks, y = [spec.reverse(memory.load(at + 16 * i, 16)) for i in range(n)], cat(*(m.vector[r] for r in self.Y_AT))
        if not all(v.defined for v in (*blocks, y)):
            raise Unproved("products of what nothing has written")
        y = product(of, (y, n), *zip(blocks, range(n, 0, -1)))
        behind = terms.add(32, m.general[3], const(16 * n, 32))[0]
        yield
        for r, v in zip(self.Y_AT, terms.parts_of(y, 32)):
            m.vector[r] = v
        memory.put_number(SCRATCH + k.at["MESSAGE"], behind)
        memory.put_number(SCRATCH + k.at["BLOCKS"], const(count - n, 32))


# ---- What must be refused -----------------------------------------------------------------------------------------------

Armv6.faults = {
    SET_UP: [("a round constant is not the next", "str r2, [r1, #0x1a4]"), ("H is not multiplied by x", "lsl r5, r5, #1"),
             ("a bit that leaves H is lost", "eor r8, r8, r2"), ("POLYVAL and GHASH have one table", "tst r3, #0x20"),
             ("a bit has no place", "and r8, r0, ip, lsl #3")],
    "spread": [("a plane has the other's bits", "and fp, ip, r8, lsr #1"), ("blocks have different keys", "orr sb, sb, sb, lsl #1")],
    "rounds": [("an exclusive or is left out", "eor", 200), ("a round key is not added", "ldr r4, [ip"),
               ("rows stay in their columns", "eor r8, r8, fp, lsl #4"), ("rounds are not counted", "subs r0, r0, #4")],
    "product": [("a product is left out", "umlal"), ("columns are not apart", "and r8, r0, r2, lsl #2"),
                ("a bit is not reduced", "eor r3, r3, fp, lsl #31"), ("columns stay in one product", "orr fp, fp, r6")],
    CALLS: [("a counter is used again", "str fp, [r1, #0x1b8]"), ("Y is not added", "eor r8, r8, r0"), ("lengths are in bytes", "lsl r5, r5, #3"),
            ("the tag is without its mask", "eor r7, r7, r0"), ("a wipe is left out", "stm r3!, {r4, r5, r6, r7}"),
            ("the hash key's table is incomplete", "str r7, [r5], #4")],
}
Neon64.faults = {
    SET_UP: [("a round constant is not the next", "lsl w9, w9, #1"), ("a power is the one before", "str q16, [x7, #0xf0]"),
             ("POLYVAL's H is not multiplied by x", "extr x11, x12, x11, #1"), ("a digit of H is another", "dup v0.16b, v17.b[0]")],
    "spread": [("S-boxes are without their constant", "eor v18.16b, v18.16b, v31.16b"), ("a bit is that of another key", "cmtst v3.16b, v16.16b, v11.16b")],
    "few": [("a lookup is left out", "tbl v6.16b, {v24.16b"), ("a round key is not added", "eor v0.16b, v0.16b, v8.16b", 1),
            ("x^8 is not reduced", "eor v4.16b, v4.16b, v2.16b")],
    "rounds": [("an exclusive or is left out", "eor", 100), ("rows are not shifted", "tbl v6.16b, {v6.16b}, v11.16b")],
    "product": [("a product is left out", "pmull v8.8h", 3), ("a digit is not reduced", "pmull v26.8h"), ("all places have one power", "csel x8, x10, x8, eq")],
    CALLS: [("a counter is used again", "add w9, w9, #1"), ("the table of lookups is another", "ldp q20, q21, [x10, #0x40]"),
            ("lengths are in bytes", "lsl x10, x10, #3"), ("places are not added up", "eor v18.16b, v18.16b, v19.16b", -1),
            ("a wipe is left out", "stp q0, q0, [x10], #0x20", -1)],
}
Neon32.faults = {
    SET_UP: [("a round constant is not the next", "ldrbeq r3, [fp], #1"), ("H is not multiplied by x", "vadd.i64 q1, q15, q15"),
             ("a power is the one before", "vst1.8 {d0, d1}, [r6]"), ("a digit of H is another", "vsli.32 q1, q0, #0x18")],
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
    CALLS: [("a counter is used again", "str r4, [r1, #0x1d8]"), ("what 128 blocks share is kept for others", "lsr r6, r3, #7"),
            ("lengths are in bytes", "lsl r5, r5, #3"), ("the tag is without its mask", "veor q0, q0, q1"),
            ("a wipe is left out", "vstmia r3!")],
}

of, least, prepare, tasks, one, planted = functions({("EM_ARM", "sealane_aesgcm_armv6"): Armv6, ("EM_ARM", "sealane_aesgcm_neon"): Neon32,
                                                     ("EM_AARCH64", "sealane_aesgcm_neon"): Neon64})
