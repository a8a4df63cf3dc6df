"""AES-GCM with bit-sliced AES on ARM. Blocks are proved once, for all data; then calls.

    induction.blocks_arm [--quick] [--planted] [--jobs N] [--part I/N] OBJECT...

This is like blocks_mips.py, with these sections:

    Spread     the round keys from set-up are spread over the bits of several blocks
    Rounds     any blocks are encrypted with these
    Product    the sum of GHASH and a block is multiplied by H, whose table set-up has made
"""
import os
import re

import spec
from induction.engine import find
from induction.sections import OF, SCHEDULE, TABLE, Gcm, Section, call, cipher, element, expect_made, expect_rounds, factor, made, number, rounds_of, \
    schedule_bytes, size_of, words
from run import packets
from run.kernels import ARGS, KEY, SCRATCH, Call
from run.memory import Memory
from spec.args import ROOT, A
from values import linear, terms
from values.terms import ATOMS, Unproved, atom, cat, const, cut, field_product, same

SCRATCH_AT, CONSTS_AT = 1, 2  # registers


def offsets(*paths):
    """The numbers that source files define."""
    found = {}
    for path in paths:
        with open(os.path.join(ROOT, "asm", path)) as f:
            for name, text in re.findall(r"^#define (\w+) +([\w ()+*-]+?) *(?:/\*|$)", f.read(), re.M):
                if re.fullmatch(r"[\d ()+*-]+", text := re.sub(r"[A-Z]\w*", lambda m: str(found.get(m[0], m[0])), text)):
                    found[name] = eval(text)
    return found


class Blocks(Gcm):
    """key_at, rounds_at: the registers of the key and of the number of rounds, if it is in one. spread_size: bytes of a spread round
    key."""

    at_once, rounds_at = 1, None

    def expect_table(self, cells, h):
        self.product.show(cells, h)

    def places(self, sources, *found):
        """Returns a function that finds an instruction, whose text may have offsets by name."""
        self.at = offsets(*sources)
        return lambda text, *names, behind=0, number=0: find(self, text.format(*(f"#{self.at[n]:#x}" for n in names)), number, behind).address

    def expect_rounds_at(self, m, key):
        if self.rounds_at and m.general[self.rounds_at].constant != rounds_of(key.width):
            raise Unproved("another number of rounds")

    def spread_bytes(self, key):
        return size_of(key.width) // 16 * self.spread_size


class Spread(Section):
    pointers = SCRATCH_AT, CONSTS_AT

    @property
    def place(self):
        return SCRATCH + self.kernel.at["KEYS"]

    def show(self, bits_, cells):
        """Proves the section for a key from set-up. Returns the spread round keys."""
        k = self.kernel
        memory = self.alone({k.key_at: self.pointer("key", KEY), **({k.rounds_at: const(rounds_of(bits_), 64)} if k.rounds_at else {})}, cells,
                            ("key", KEY, A["GCM_KEY_BYTES"], True, False)).memory
        cells = {("memory", a) for a in range(self.place, self.place + k.spread_bytes(words("key", bits_ // 32)), 4)}
        if cells != {cell for cell in self.changes if cell[0] == "memory"}:
            raise Unproved("other scratch has changed than that of the round keys")
        self.changes -= cells  # their number depends on the key
        return {a: memory.peek(a, 4) for _, a in cells}

    def effect(self, m):
        k, key, memory = self.kernel, m.known(m.general[self.kernel.key_at], "an address"), m.memory
        schedule = expect_made(memory, "round key", range(key + SCHEDULE, key + TABLE, 4), schedule_bytes)
        memory.allowed(key, A["GCM_KEY_BYTES"], False)
        expect_rounds(m, key, schedule[0].width)
        k.expect_rounds_at(m, schedule[0])
        found = made("spread key", schedule, k.spread_bytes(*schedule))
        return lambda: memory.cells.update(zip(range(self.place, self.place + 4 * len(found), 4), found))


# ---- Integer registers of 32-bit ARM ------------------------------------------------------------------------------------

class Armv6(Blocks):
    """Two blocks at once, and one product at a time."""

    table_bytes, key_at, spread_size = 144, 4, 32

    def __init__(self, path):
        super().__init__(path)
        place = self.places(("arm/aes_armv6.h", "arm/aesgcm_armv6.S"))
        spread = place("add r5, r1, {}", "KEYS")
        counter = place("str fp, [r1, {}]", "COUNTER", behind=place("str r4, [r1, {}]", "PASS"))
        product = place("str r3, [r1, {}]", "MESSAGE", behind=place("str r5, [r1, {}]", "PHASE"))
        self.spread = Spread(self, spread, place("ldr r3, [r1, {}]", "FLAGS", behind=spread))
        self.rounds = Rounds(self, counter + 16, place("ldr r4, [r1, {}]", "PASS", behind=counter))
        self.product = Product(self, product + 4, place("ldr r4, [r1, {}]", "BLOCKS", behind=product))
        self.sections = self.spread, self.rounds, self.product

    def encryption(self, bits_, cells, schedule):
        self.rounds.show(bits_, self.spread.show(bits_, cells), schedule)


class Rounds(Section):
    pointers = SCRATCH_AT,
    columns = (0, 3, 5, 7), (2, 4, 6, 8)  # the registers of each block

    def show(self, bits_, cells, schedule):
        """cells: the results of Spread."""
        k, blocks = self.kernel, [words(f"block {i} ") for i in range(len(self.columns))]
        memory = Memory()
        memory.cells.update(cells)
        memory.put_number(KEY, const(rounds_of(bits_), 64))
        memory.put_number(SCRATCH + k.at["ARGS"], Call(k).callers("args", ARGS))
        results = [spec.aes(schedule, block) for block in blocks]
        registers = {r: v for block, of in zip(blocks, self.columns) for r, v in zip(of, terms.parts_of(block, 32))}
        memory = self.alone(registers, memory.cells, ("rounds", KEY, 8, True, False)).memory
        for i, v in enumerate(results):
            if not same(memory.peek(SCRATCH + k.at["KEYSTREAM"] + 16 * i, 16), v):
                raise Unproved(f"block {i} is not what the specification says")

    def effect(self, m):
        k, memory = self.kernel, m.memory
        key, = expect_made(memory, "spread key", range(k.spread.place, SCRATCH + k.at["END"], 4), k.spread_bytes)
        expect_rounds(m, self.key(m, memory.number(SCRATCH + k.at["ARGS"], 4)), key.width)
        results = [cipher("aes", key, cat(*(m.general[r] for r in of))) for of in self.columns]

        def put():
            for i, v in enumerate(results):
                memory.poke(SCRATCH + k.at["KEYSTREAM"] + 16 * i, v)
        return put


def product(of, x, power, added=0):
    """The number that is (x + added) h^power, with the operands of the table of h."""
    y = atom("product", (*of, x, const(power, 8), *([added] if added else [])), None, 128, (1 << 128) - 1)
    found = ATOMS[y.pieces[0][0]]
    if found.images is None:
        result = element(x) ^ (element(added) if added else 0)
        for _ in range(power):
            result = field_product(result, factor(*of))
        found.images = {0: number(result)}
    return y


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
        y = product(expect_made(m.memory, "hash table", self.table), x, 1)
        return lambda: m.memory.poke(self.y, y)


# ---- Vectors of 64-bit ARM ------------------------------------------------------------------------------------------------

class Neon64(Blocks):
    """Eight blocks at once, or one or two by lookups, and eight products."""

    table_bytes, key_at, rounds_at, spread_size = 576, 6, 23, 128
    WORK_AT, KEYS_AT, GROUPS_AT, FILL_AT = 7, (12, 13), 21, 16

    def __init__(self, path):
        super().__init__(path)
        place = self.places(("aarch64/aes_neon.h", "aarch64/aes_lookup.h", "aarch64/aesgcm_neon.S"))
        self.at["KEYS"] = self.at["ROUND_KEYS"]
        spread = place("add x14, x1, {}", "KEYS") - 4
        two = place("ldr q8, [x12], #0x10", behind=place("mov x13, x12"))
        one = place("ldr q8, [x12], #0x10", behind=place("stp q0, q1, [x8], #0x20"))
        eight = place("movi v30.16b, #0xcc")
        hash_ = place("ldp q0, q1, [x7, {}]", "TO_HASH")
        self.spread = Spread(self, spread, place("tbz w22, #0", behind=spread))
        self.encrypt = [Encrypt(self, count, begin, end) for count, begin, end in (
            (1, one, place("str q0, [x8]", behind=one)), (2, two, place("add x10, x7", behind=two)), (8, eight, place("stp q0, q1, [x7]", behind=eight)))]
        self.product = Places(self, hash_, place("cbz x21", behind=hash_))
        self.sections = self.spread, *self.encrypt, self.product

    def encryption(self, bits_, cells, schedule):
        spread = self.spread.show(bits_, cells)
        for section in self.encrypt:
            section.show(bits_, spread if section.count == 8 else cells, schedule)


class Encrypt(Section):
    """Encrypts `count` blocks in the first vectors."""

    pointers = SCRATCH_AT, CONSTS_AT

    def __init__(self, kernel, count, begin, end):
        super().__init__(kernel, begin, end)
        self.count, self.vectors, at = count, {}, kernel.at["LOOKUP_SBOX"]
        if count < 8:  # those of load_table
            table = kernel.constants[at:at + 256]
            self.vectors = {16 + i: int.from_bytes(table[16 * i:16 * i + 16], "little") for i in range(16)}
            self.vectors |= {10 + i: int.from_bytes(16 * bytes([b]), "little") for i, b in enumerate((64, 128, 27))}

    def show(self, bits_, cells, schedule):
        k, blocks = self.kernel, [words(f"block {i} ") for i in range(self.count)]
        results = [spec.aes(schedule, block) for block in blocks]
        keys = {r: self.pointer("key", KEY, SCHEDULE) for r in k.KEYS_AT if self.vectors}
        m = self.alone({k.rounds_at: const(rounds_of(bits_), 64), **keys}, cells, ("schedule", KEY + SCHEDULE, size_of(bits_), True, False),
                       vectors={**{i: const(v, 128) for i, v in self.vectors.items()}, **dict(enumerate(blocks))}).machine
        for i, v in enumerate(results):
            if not same(cat(*m.vector[i]), v):
                raise Unproved(f"block {i} is not what the specification says")

    def effect(self, m):
        k, memory = self.kernel, m.memory
        if self.count == 8:
            key, = expect_made(memory, "spread key", range(k.spread.place, SCRATCH + k.at["WORK"], 4), k.spread_bytes)
        else:
            keys = {m.known(m.general[r], "an address") for r in k.KEYS_AT[:self.count]}
            if len(keys) > 1 or any(cat(*m.vector[i]).constant != v for i, v in self.vectors.items()):
                raise Unproved("two keys, or no table")
            at, = keys
            memory.allowed(at, TABLE - SCHEDULE, False)
            key, = expect_made(memory, "round key", range(at, at + TABLE - SCHEDULE, 4), schedule_bytes)
        k.expect_rounds_at(m, key)
        results = [cipher("aes", key, cat(*m.vector[i])) for i in range(self.count)]

        def put():
            for i, v in enumerate(results):
                m.vector[i] = terms.parts_of(v, 32)
        return put


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
            m = self.alone({k.key_at: self.pointer("key", KEY), k.WORK_AT: self.pointer("scratch", SCRATCH, k.at["WORK"]), k.GROUPS_AT: groups},
                           memory.cells, ("table", KEY + TABLE, k.table_bytes, True, False)).machine
            for i, (power, found) in enumerate(zip(self.powers(last), self.numbers([cat(*v) for v in m.vector[:8]]))):
                result = spec.field_element(blocks[i]) ^ element(before[i])
                for _ in range(power):
                    result = field_product(result, h)
                if element(found) != result:
                    raise Unproved(f"place {i} is not that of the specification")

    def effect(self, m):
        k, memory = self.kernel, m.memory
        work, key = (m.known(m.general[r], "an address") for r in (k.WORK_AT, k.key_at))
        groups = m.known(m.general[k.GROUPS_AT], "a number")
        if work != SCRATCH + k.at["WORK"] or groups < 1:
            raise Unproved("no scratch, or no groups")
        memory.allowed(key + TABLE, k.table_bytes, False)
        of = expect_made(memory, "hash table", range(key + TABLE, key + TABLE + k.table_bytes, 4))
        blocks = [reversed_bits(memory.peek(work + k.at["TO_HASH"] + 16 * i, 16)) for i in range(8)]
        before = self.numbers([memory.peek(work + k.at["PLACES"] + 16 * i, 16) for i in range(8)])
        if not all(v.defined for v in (*blocks, *before)):
            raise Unproved("products of what nothing has written")
        digits = self.digits([product(of, *v) for v in zip(blocks, self.powers(groups == 1), before)])

        def put():
            m.vector[:8] = [terms.parts_of(v, 32) for v in digits]
            m.general[k.GROUPS_AT] = const(groups - 1, 64)
            m.general[k.FILL_AT] = terms.add(64, m.general[k.WORK_AT], const(k.at["TO_HASH"], 64))[0]
        return put


KERNELS = {("EM_ARM", "sealane_aesgcm_armv6"): Armv6, ("EM_AARCH64", "sealane_aesgcm_neon"): Neon64}


def of(kernel):
    return KERNELS.get((kernel.isa.MACHINE, kernel.name))


def least(kernel):
    return of(kernel) and 0


def prepare(kernel, args):
    return of(kernel).prepare(kernel, args)


def tasks(kernel, args):
    return of(kernel).tasks(kernel, args)


def one(kernel, task, args, found):
    return of(kernel).one(kernel, task, args, found)


# ---- What must be refused -----------------------------------------------------------------------------------------------

# Instructions to omit: the name of the fault, their text, and which one after the start of that code.
OF_SET_UP = [("a round constant is not the next", "str r2, [r1, #0x1a4]"), ("H is not multiplied by x", "lsl r5, r5, #1"),
             ("a bit that leaves H is lost", "eor r8, r8, r2"), ("POLYVAL and GHASH have one table", "tst r3, #0x20"), ("a bit has no place", "and r8, r0, ip, lsl #3")]
LEFT_OUT = {
    "spread": [("a plane has the other's bits", "and fp, ip, r8, lsr #1"), ("blocks have different keys", "orr sb, sb, sb, lsl #1")],
    "rounds": [("an exclusive or is left out", "eor", 200), ("a round key is not added", "ldr r4, [ip"), ("rows stay in their columns", "eor r8, r8, fp, lsl #4"),
               ("rounds are not counted", "subs r0, r0, #4")],
    "product": [("a product is left out", "umlal"), ("columns are not apart", "and r8, r0, r2, lsl #2"), ("a bit is not reduced", "eor r3, r3, fp, lsl #31"),
                ("columns stay in one product", "orr fp, fp, r6")],
}
OF_CALLS = [("a counter is used again", "str fp, [r1, #0x1b8]"), ("Y is not added", "eor r8, r8, r0"), ("lengths are in bytes", "lsl r5, r5, #3"),
            ("the tag is without its mask", "eor r7, r7, r0"), ("a wipe is left out", "stm r3!, {r4, r5, r6, r7}"),
            ("the hash key's table is incomplete", "str r7, [r5], #4")]


def planted(kernel, args, attempt):
    blocks = attempt.kernel = Armv6(kernel.path)
    given = lambda polyval: blocks.set_up_alone(None, polyval)

    def left_out(faults, show, begin=0):
        for what, text, *number in faults:
            attempt(what, show, find(blocks, text, *number or (0,), begin))
    left_out(OF_SET_UP, lambda: (blocks.set_up_alone(128), given(0), given(1)), blocks.product.end)
    cells, schedule, _ = blocks.set_up_alone(128)
    for section, faults in LEFT_OUT.items():
        left_out(faults, (lambda: given(0)) if section == "product" else lambda: blocks.encryption(128, cells, schedule), getattr(blocks, section).begin)
    blocks.show(True)
    attempt.kernel = Armv6.in_calls(kernel.path, blocks.changes())
    left_out(OF_CALLS, lambda: call(attempt.kernel, packets.GcmShape(100, ad=20)))
