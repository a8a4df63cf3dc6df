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
import os
import re

import spec
from induction.engine import find
from induction.sections import OF, SCHEDULE, TABLE, Gcm, Section, call, cipher, element, expect_made, expect_rounds, expect_values, factor, made, number, rounds_of, \
    schedule_bytes, size_of, words
from run import packets
from run.kernels import ARGS, CONSTS, IN, KEY, SCRATCH, Call, name_many
from run.memory import Memory
from spec.args import ROOT, A
from values import linear, terms
from values.terms import ATOMS, Unproved, atom, cat, const, cut, extend, field_product, same, symbol

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
    """key_at, rounds_at: the registers of the key and of the number of rounds, if it is in one. spread_size: bytes of a
    spread round key."""

    at_once, rounds_at = 1, None

    def expect_table(self, cells, h):
        self.product.show(cells, h)

    def places(self, *sources):
        """Returns a function that finds an instruction, whose text may have offsets by name."""
        self.at = offsets(*sources)
        return lambda text, *names, behind=0: find(self, text.format(*(f"#{self.at[n]:#x}" for n in names)), 0, behind).address

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
        place = self.places("arm/aes_armv6.h", "arm/aesgcm_armv6.S")
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


def product(of, *pairs):
    """The number that is the sum of numbers, each times a power of h. of: the operands of the table of h."""
    y = atom("product", (*of, *(v for pair in pairs for v in (pair[0], const(pair[1], 8)))), None, 128, (1 << 128) - 1)
    found = ATOMS[y.pieces[0][0]]
    if found.images is None:
        found.images = {0: number(total(factor(*of), ((element(v), power) for v, power in pairs)))}
    return y


def total(h, pairs):
    """The sum of elements, each times a power of h."""
    result = 0
    for v, power in pairs:
        for _ in range(power):
            v = field_product(v, h)
        result ^= v
    return result


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
        y = product(expect_made(m.memory, "hash table", self.table), (x, 1))
        return lambda: m.memory.poke(self.y, y)


# ---- Vectors of 64-bit ARM ------------------------------------------------------------------------------------------------

class Neon64(Blocks):
    """Eight blocks at once, or one or two by lookups, and eight products."""

    table_bytes, key_at, rounds_at, spread_size = 576, 6, 23, 128
    WORK_AT, KEYS_AT, GROUPS_AT, FILL_AT = 7, (12, 13), 21, 16

    def __init__(self, path):
        super().__init__(path)
        place = self.places("aarch64/aes_neon.h", "aarch64/aes_lookup.h", "aarch64/aesgcm_neon.S")
        self.at["KEYS"] = self.at["ROUND_KEYS"]
        spread = place("add x14, x1, {}", "KEYS") - 4
        two = place("ldr q8, [x12], #0x10", behind=place("mov x13, x12"))
        one = place("ldr q8, [x12], #0x10", behind=place("stp q0, q1, [x8], #0x20"))
        eight = place("movi v30.16b, #0xcc")
        hash_ = place("ldp q0, q1, [x7, {}]", "TO_HASH")
        self.spread = Spread(self, spread, place("tbz w22, #0", behind=spread))
        self.rounds = [Encrypt(self, count, begin, end) for count, begin, end in (
            (1, one, place("str q0, [x8]", behind=one)), (2, two, place("add x10, x7", behind=two)), (8, eight, place("stp q0, q1, [x7]", behind=eight)))]
        self.product = Places(self, hash_, place("cbz x21", behind=hash_))
        self.sections = self.spread, *self.rounds, self.product

    def encryption(self, bits_, cells, schedule):
        spread = self.spread.show(bits_, cells)
        for section in self.rounds:
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
                if element(found) != total(h, ((spec.field_element(blocks[i]), power), (element(before[i]), power))):
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
        digits = self.digits([product(of, (x, power), (v, power)) for x, v, power in zip(blocks, before, self.powers(groups == 1))])

        def put():
            m.vector[:8] = [terms.parts_of(v, 32) for v in digits]
            m.general[k.GROUPS_AT] = const(groups - 1, 64)
            m.general[k.FILL_AT] = terms.add(64, m.general[k.WORK_AT], const(k.at["TO_HASH"], 64))[0]
        return put


# ---- Vectors of 32-bit ARM ------------------------------------------------------------------------------------------------

class Counters:
    """A kernel with the passes of aes_neon.h. With public counters, what 128 or 32 blocks share is computed once."""

    def find_passes(self, place, first_input, end):
        """The sections of a pass, which ends at an instruction."""
        left = place("ldr r7, [r1, {}]", "LEFT", behind=place("str r4, [r1, {}]", "PASS", behind=first_input))
        rounds = place("veor q13, q5, q6", behind=left)
        of_128 = place("str r6, [r1, {}]", "CACHED_128", behind=end)
        of_32 = place("ldr r3, [r1, {}]", "COUNTER", behind=of_128)
        cached = place("ldr r3, [r1, {}]", "COUNTER", behind=of_32 + 4)
        later, secret = place("subs ip, ip, #4", behind=cached), place("add r4, r2, {}", "CONST_SHIFTS", behind=cached)
        self.first = First(self, first_input, place("vst1.8 {{d2, d3}}, [r8]", behind=first_input) + 4)
        self.direct, self.secret = Direct(self, left + 12, rounds), Secret(self, secret, rounds)
        self.of_128, self.of_32, self.cached = Of128(self, of_128, of_32), Of32(self, of_32, cached), Cached(self, cached, later)
        self.rounds, self.later = (RoundsOf8(self, begin, end, done) for begin, done in ((rounds, 0), (later, 2)))
        return self.first, self.direct, self.secret, self.of_128, self.of_32, self.cached, self.rounds, self.later

    def cells(self, name, size):
        return range(SCRATCH + self.at[name], SCRATCH + self.at[name] + size, 4)

    @property
    def of_128_blocks(self):
        return [*self.cells("ROUND_1", 64), *self.cells("ROUND_2", 128), *self.cells("VARYING_1", 384)]

    def show_shared(self, bits_, schedule, nonce, first, start, known):
        """The 128 blocks whose counters end with `start` and more. known: how many bits of the counter that is."""
        upper = symbol("upper", 32 - known)
        at = lambda low: cat(const(low, known), upper)
        name_many(schedule, cat(nonce, spec.reverse(at(start))), 0, 128)
        of_128 = self.of_128.show(bits_, first, cut(at(start), 7, 25))
        for low in range(start, start + 128, 8):
            scratch = Memory()
            scratch.cells.update(of_128)
            scratch.put_number(SCRATCH + self.at["COUNTER"], terms.add_modular(at(low), const(8, 32)))
            scratch.cells.update(self.of_32.show(bits_, scratch.cells, at(low)))
            self.cached.show(bits_, scratch.cells, schedule, nonce, at(low), {})


class Neon32(Counters, Blocks):
    """Eight blocks at once."""

    table_bytes, key_at, spread_size, at_once = 576, 4, 128, 8
    branches_on_counter = True

    def __init__(self, path):
        super().__init__(path)
        place = self.places("arm/aes_neon.h", "arm/aesgcm_neon.S")
        spread, first = place("add r5, r1, {}", "KEYS"), place("vld1.8 {{d4, d5}}, [r2]")
        passes = self.find_passes(place, first, place("cmp r4, #0", behind=place("str r4, [r1, {}]", "PASS", behind=first)))
        group = place("str r5, [r1, {}]", "PHASE", behind=self.secret.begin) + 12
        self.spread = Spread(self, spread, place("ldr r3, [r1, {}]", "FLAGS", behind=spread))
        self.product = Group(self, group, place("ldr r4, [r1, {}]", "BLOCKS", behind=group))
        self.sections = self.spread, *passes, self.product

    def spread_bytes(self, key):
        return rounds_of(key.width) * self.spread_size

    def expect_key(self, memory, key):
        """Requires the spread round keys of a key."""
        if expect_made(memory, "spread key", range(self.spread.place, SCRATCH + self.at["DATA"], 4), self.spread_bytes) != (key,):
            raise Unproved("two keys")

    def encryption(self, bits_, cells, schedule):
        nonce, first = self.first_input(bits_, cells)
        for section in (self.rounds, self.later):
            section.show(bits_, first, schedule)
        for section, counter in ((self.direct, cat(const(0, 3), symbol("counter", 29))), (self.secret, symbol("any counter", 32))):
            section.show(bits_, first, schedule, nonce, counter, {3: counter})
        # The counter's last byte is known. Otherwise it would be partly that of a block that set-up encrypts.
        for start in (0, 128):
            cells, schedule, _ = self.set_up_alone(bits_)
            self.show_shared(bits_, schedule, *self.first_input(bits_, cells), start, 8)

    def first_input(self, bits_, cells):
        nonce = words("nonce", 3)
        return nonce, {**self.spread.show(bits_, cells), **self.first.show(cells, nonce, bits_)}


class First(Section):
    """The first round's input, without the counter."""

    pointers = SCRATCH_AT, CONSTS_AT
    KEY_AT = 9

    @property
    def place(self):
        return self.kernel.cells("BASE", 16)

    def show(self, cells, nonce, bits_):
        memory = self.alone({self.KEY_AT: self.pointer("key", KEY)}, cells, ("schedule", KEY + SCHEDULE, size_of(bits_), True, False),
                            vectors=dict(enumerate((*terms.parts_of(nonce, 32), const(0, 32))))).memory
        return {a: memory.peek(a, 4) for a in self.place}

    def effect(self, m):
        key, nonce, memory = m.known(m.general[self.KEY_AT], "an address"), cat(*m.vector[:3]), m.memory
        of, = expect_made(memory, "round key", range(key + SCHEDULE, key + TABLE, 4), schedule_bytes)
        memory.allowed(key + SCHEDULE, 16, False)
        if not nonce.defined or m.vector[3].constant != 0:
            raise Unproved("no nonce")
        return lambda: memory.cells.update(zip(self.place, made("first input", (of, nonce), 16)))


def planes(states, done):
    """The bits of eight states, as words of the first eight vectors, after `done` rounds without ShiftRows."""
    byte = lambda p: 8 * (p // 4 + 4 * ((p - done * (p // 4)) % 4))
    return [w for k in range(8) for w in terms.parts_of(cat(*(cut(v, byte(p) + k, 1) for p in range(16) for v in states)), 32)]


class OfCounters(Section):
    """A section of a pass. first_done, done: how many rounds are done where it begins, and ends. Or first_done is None, and the
    section does not use the pointer to round keys."""

    pointers = SCRATCH_AT, CONSTS_AT
    ROUND_KEYS_AT, ROUNDS_AT, COLUMNS_AT, FIRST_AT, PLANES_AT = 0, 12, 11, range(32, 36), range(32)
    first_done = done = 0

    def columns(self, bits_):
        return self.kernel.at["CONST_COLUMNS"] + 16 * (bits_ == 192)

    def round_keys(self, done):
        return SCRATCH + self.kernel.at["KEYS"] + done * self.kernel.spread_size

    def run(self, bits_, cells, registers, vectors=None):
        k, memory = self.kernel, Memory()
        memory.cells.update(cells)
        memory.put_number(SCRATCH + k.at["PASS"], symbol("pass", 32))
        first = {r: cells[a] for r, a in zip(self.FIRST_AT, k.first.place)}
        if self.first_done is not None:
            registers = {self.ROUND_KEYS_AT: self.pointer("scratch", SCRATCH, self.round_keys(self.first_done) - SCRATCH), **registers}
        return self.alone({self.ROUNDS_AT: const(rounds_of(bits_), 32), self.COLUMNS_AT: self.pointer("consts", CONSTS, self.columns(bits_)), **registers},
                          memory.cells, vectors=vectors or first)

    def show(self, bits_, cells, schedule, nonce, counter, registers):
        """Proves that the section leaves the planes of eight blocks."""
        states = []
        for i in range(8):
            v = terms.xor(cat(nonce, spec.reverse(terms.add_modular(counter, const(i, 32)))), schedule[0])
            for round_key in schedule[1:self.done + 1]:
                v = terms.aes_round(v, round_key)
            states.append(v)
        m = self.run(bits_, cells, registers).machine
        if not all(same(m.vector[r], v) for r, v in zip(self.PLANES_AT, planes(states, self.done))):
            raise Unproved(f"the blocks after {self.done} rounds are not what the specification says")
        if m.known(m.general[self.ROUND_KEYS_AT], "an address") != self.round_keys(self.done):
            raise Unproved("other round keys")

    def of(self, m, first=True):
        """Returns the key and the nonce. first: the first round's input is needed."""
        k, memory = self.kernel, m.memory
        of = expect_made(memory, "first input", k.first.place)
        k.expect_key(memory, of[0])
        if first and [m.vector[r] for r in self.FIRST_AT] != [memory.cells[a] for a in k.first.place]:
            raise Unproved("another first input")
        bits_ = of[0].width
        expected = {self.ROUNDS_AT: rounds_of(bits_), self.COLUMNS_AT: CONSTS + self.columns(bits_)}
        if self.first_done is not None:
            expected[self.ROUND_KEYS_AT] = self.round_keys(self.first_done)
        if any(m.known(m.general[r], "an address") != v for r, v in expected.items()):
            raise Unproved("other round keys, or another number of rounds")
        return of

    def counter(self, m):
        """That of the pass's first block."""
        return (m.known(m.memory.number(SCRATCH + self.kernel.at["COUNTER"], 4), "a counter") - 8) % (1 << 32)

    def blocks(self, m, of, counter):
        """Returns a function that puts planes into registers."""
        (key, nonce), round_keys = of, terms.add(32, m.general[SCRATCH_AT], const(self.round_keys(self.done) - SCRATCH, 32))[0]
        blocks = [cat(nonce, spec.reverse(terms.add_modular(counter, const(i, 32)))) for i in range(8)]

        def put():
            for r, v in zip(self.PLANES_AT, made(f"planes {self.done}", (key, *blocks), 128)):
                m.vector[r] = v
            m.general[self.ROUND_KEYS_AT] = round_keys
        return put


class Direct(OfCounters):
    def effect(self, m):
        counter = m.known(m.general[3], "a counter")
        if counter % 8:
            raise Unproved("a counter that is no multiple of 8")
        return self.blocks(m, self.of(m), const(counter, 32))


class Secret(OfCounters):
    def effect(self, m):
        if not m.general[3].defined:
            raise Unproved("no counter")
        return self.blocks(m, self.of(m), m.general[3])


class Of128(OfCounters):
    """What 128 blocks share."""

    def show(self, bits_, cells, upper):
        memory, k = self.run(bits_, cells, {6: extend(upper, 32)}).memory, self.kernel
        if memory.number(SCRATCH + k.at["CACHED_128"], 4) is not extend(upper, 32):
            raise Unproved("other blocks")
        return {**cells, **{a: memory.peek(a, 4) for a in k.of_128_blocks}}

    def effect(self, m):
        of, upper = self.of(m), m.known(m.general[6], "a counter")
        if upper >> 25:
            raise Unproved("no counter")

        def put():
            m.memory.cells.update(zip(self.kernel.of_128_blocks, made("128 blocks", (*of, const(upper, 25)), 576)))
            m.memory.put_number(SCRATCH + self.kernel.at["CACHED_128"], const(upper, 32))
        return put


class Of32(OfCounters):
    """What 32 blocks share."""

    first_done = None

    def show(self, bits_, cells, counter):
        memory, k = self.run(bits_, cells, {}).memory, self.kernel
        if memory.number(SCRATCH + k.at["CACHED_32"], 4) is not extend(cut(counter, 5, 27), 32):
            raise Unproved("other blocks")
        return {a: memory.peek(a, 4) for a in k.cells("VARYING_2", 384)}

    def of(self, m):
        of, counter = super().of(m, False), self.counter(m)
        if expect_made(m.memory, "128 blocks", self.kernel.of_128_blocks) != (*of, const(counter >> 7, 25)):
            raise Unproved("other blocks")
        return of

    def effect(self, m):
        of, counter = self.of(m), self.counter(m)

        def put():
            m.memory.cells.update(zip(self.kernel.cells("VARYING_2", 384), made("32 blocks", (*of, const(counter >> 5, 27)), 384)))
            m.memory.put_number(SCRATCH + self.kernel.at["CACHED_32"], const(counter >> 5, 32))
        return put


class Cached(Of32):
    """The first two rounds."""

    show, done = OfCounters.show, 2

    def effect(self, m):
        of, counter = self.of(m), self.counter(m)
        if expect_made(m.memory, "32 blocks", self.kernel.cells("VARYING_2", 384)) != (*of, const(counter >> 5, 27)):
            raise Unproved("other blocks")
        return self.blocks(m, of, const(counter, 32))


class RoundsOf8(OfCounters):
    """The rounds of eight blocks after the first `done` ones."""

    BLOCKS_AT = *range(32, 48), *range(16)

    def __init__(self, kernel, begin, end, done):
        super().__init__(kernel, begin, end)
        self.first_done = self.done = done

    def show(self, bits_, cells, schedule):
        states = [words(f"state {i} ") for i in range(8)]
        results = [spec.aes(schedule[self.done:], terms.xor(v, schedule[self.done])) for v in states]
        m = self.run(bits_, cells, {}, dict(zip(self.PLANES_AT, planes(states, self.done)))).machine
        for i, v in enumerate(results):
            if not same(cat(*(m.vector[r] for r in self.BLOCKS_AT[4 * i:4 * i + 4])), v):
                raise Unproved(f"block {i} is not what the specification says")
        if m.general[4] is not symbol("pass", 32):
            raise Unproved("another purpose of the pass")

    def effect(self, m):
        key, *blocks = expect_values([m.vector[r] for r in self.PLANES_AT], f"planes {self.done}")
        if self.of(m, False)[0] is not key:
            raise Unproved("two keys")
        purpose = m.memory.number(SCRATCH + self.kernel.at["PASS"], 4)
        results = [cipher("aes", key, v) for v in blocks]

        def put():
            for r, v in zip(self.BLOCKS_AT, (w for v in results for w in terms.parts_of(v, 32))):
                m.vector[r] = v
            m.general[4] = purpose
        return put


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
        memory.allowed(key + TABLE, k.table_bytes, False)
        of = expect_made(memory, "hash table", range(key + TABLE, key + TABLE + k.table_bytes, 4))
        blocks, y = [spec.reverse(memory.load(at + 16 * i, 16)) for i in range(n)], cat(*(m.vector[r] for r in self.Y_AT))
        if not all(v.defined for v in (*blocks, y)):
            raise Unproved("products of what nothing has written")
        y = product(of, (y, n), *zip(blocks, range(n, 0, -1)))
        behind = terms.add(32, m.general[3], const(16 * n, 32))[0]

        def put():
            for r, v in zip(self.Y_AT, terms.parts_of(y, 32)):
                m.vector[r] = v
            memory.put_number(SCRATCH + k.at["MESSAGE"], behind)
            memory.put_number(SCRATCH + k.at["BLOCKS"], const(count - n, 32))
        return put


def functions(kernels):
    """What engine.py asks of an induction, for these kernels: least, prepare, tasks, one; and the class of a kernel."""
    of = lambda kernel: kernels.get((kernel.isa.MACHINE, kernel.name))
    return of, lambda kernel: of(kernel) and 0, *((lambda kernel, *more, name=name: getattr(of(kernel), name)(kernel, *more)) for name in ("prepare", "tasks", "one"))


of, least, prepare, tasks, one = functions({("EM_ARM", "sealane_aesgcm_armv6"): Armv6, ("EM_ARM", "sealane_aesgcm_neon"): Neon32,
                                            ("EM_AARCH64", "sealane_aesgcm_neon"): Neon64})


# ---- What must be refused -----------------------------------------------------------------------------------------------

# Instructions to omit, by kernel and section. Each has the name of the fault, the instruction's text, and which one of these
# it is.
SET_UP, CALLS = "set-up", "calls"
FAULTS = {
    Armv6: {
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
    },
    Neon64: {
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
    },
    Neon32: {
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
    },
}


def planted(kernel, args, attempt):
    blocks = attempt.kernel = of(kernel)(kernel.path)
    faults, given = FAULTS[type(blocks)], lambda polyval: blocks.set_up_alone(None, polyval)
    starts = {SET_UP: max(s.end for s in blocks.sections), CALLS: 0, **{name: s.begin for name, s in vars(blocks).items() if hasattr(s, "begin")}}
    starts |= {"few": blocks.sections[1].begin, "rounds": max(s.begin for s in blocks.rounds)} if type(blocks) is Neon64 else {}

    def show(name):
        if name == CALLS:
            return call(attempt.kernel, packets.GcmShape(400 if type(blocks) is Neon32 else 150, ad=20))
        if name == "product":
            return given(0)
        if name == SET_UP:
            given(0)
            given(1)
        return blocks.encryption(128, *blocks.set_up_alone(128)[:2])
    for name, of_section in faults.items():
        if name == CALLS:
            blocks.show(True)
            attempt.kernel = type(blocks).in_calls(kernel.path, blocks.changes())
        for what, text, *number in of_section:
            attempt(what, lambda: show(name), find(blocks, text, *number or (0,), starts[name]))
