"""The blocks of ARM's bit-sliced AES. blocks_gcm.py and blocks_modes.py use these sections, which are proved for any
round keys:

    Spread6, Spread8                 the round keys of one key are spread over the bits of several blocks
    Rounds6    32-bit integers       two blocks are encrypted or decrypted with these
    Rounds8    vectors of arm64      eight blocks, or one or two by lookups
    Direct     vectors of arm        eight blocks from a counter on: the first round's input
    Of128, Of32, Cached              the same after two rounds, from what 128 and 32 blocks share
    RoundsOf8                        the rounds that are left
"""
import struct

import spec
from induction.engine import anew
from induction.sections import (ROUNDS, SCHEDULE, BlocksSection, Making, Section, counter_blocks, expect_blocks,
    expect_made, expect_rounds, in_calls, key_of, made, rounds_of, size_of, words, words_of, words_of_vectors)
from run import proof
from run.kernels import CONSTS, KEY, SCRATCH
from run.memory import Memory
from values import terms
from values.terms import Unproved, cat, const, cut, extend, parts_of, same, symbol

SCRATCH_AT, CONSTS_AT = 1, 2  # registers


def with_constant(n, v):
    """The n-th round key. All but the first have the S-box's constant."""
    return terms.xor(v, const(int.from_bytes(16 * b"\x63", "little"), 128)) if n else v


class Sliced:
    """A kernel. lanes: how many blocks it processes at once. formatted(n, v): the n-th round key as set-up leaves it.
    spread_keys(keys): the cells of the spread round keys of all lanes. keys_end: what follows these in scratch."""

    def any_keys(self, bits_):
        """Any round keys of each lane."""
        anew()
        proof.mode(True, self.ascending)
        return [[words(f"round key {lane} {n} ") for n in range(rounds_of(bits_) + 1)] for lane in range(self.lanes)]

    def expect_schedule(self, cells, schedule):
        memory = Memory()
        memory.cells.update(cells)
        for n, v in enumerate(schedule):
            if not same(memory.peek(KEY + SCHEDULE + 16 * n, 16), self.formatted(n, v)):
                raise Unproved(f"round key {n} is not that of the specification")

    def schedule_cells(self, keys):
        """Keys in memory, in the format of set-up."""
        memory = Memory()
        for lane, key in enumerate(keys):
            memory.put_number(self.key_at(lane) + ROUNDS, const(len(key) - 1, 64))
            for n, v in enumerate(key):
                memory.poke(self.key_at(lane) + SCHEDULE + 16 * n, self.formatted(n, v))
        return memory.cells

    def key_at(self, lane):
        return KEY + 0x800 * lane

    def key_regions(self, bits_, count, first=SCHEDULE, behind=0):
        """The readable bytes of some keys. first: their first offset, 0 if the number of rounds is read, too."""
        size = SCHEDULE - first + size_of(bits_) + behind
        return [(f"key {i}", self.key_at(i) + first, size) for i in range(count)]

    def spread_bytes(self, key, *_):
        return self.lanes * size_of(key.width)

    def spread_keys_in(self, memory):
        """The keys of all lanes, whose round keys are spread."""
        return self.spread.made_in(memory)

    def show_blocks(self, bits_, keys, spread):
        for section in self.rounds:
            section.show(bits_, keys, spread)


class KeysSection(Making):
    """behind: how many bytes after a key's round keys are read."""

    pointers, behind, first, kind = (SCRATCH_AT,), 0, SCHEDULE, "spread keys"

    @property
    def place(self):
        return SCRATCH + self.kernel.at["KEYS"]

    @property
    def cells(self):
        return range(self.place, SCRATCH + self.kernel.at[self.kernel.keys_end], 4)

    def size(self, *keys):
        return self.kernel.spread_bytes(*keys)

    def show(self, bits_, keys):
        """Returns the spread round keys."""
        k = self.kernel
        regions = k.key_regions(bits_, len(keys), self.first, self.behind)
        memory = self.alone(self.registers(bits_), k.schedule_cells(keys), *regions).memory
        spread = k.spread_keys(keys * (k.lanes // len(keys)))
        self.expect_changes(spread)
        if any(not same(memory.peek(a, 4), v) for a, v in spread.items()):
            raise Unproved("a round key is spread to other bits")
        return spread

    def expect_changes(self, spread):
        """Requires that no other scratch has changed. The number of these cells depends on the key."""
        if {("memory", a) for a in spread} != {c for c in self.changes if c[0] == "memory"}:
            raise Unproved("other scratch has changed than that of the round keys")
        self.changes = {c for c in self.changes if c[0] != "memory"}

    def put_keys(self, m, keys):
        return self.put_made(m, tuple(keys))


# ---- Integer registers of 32-bit ARM --------------------------------------------------------------------------------

class Planes6(Sliced):
    """The format of round keys of integer registers."""

    lanes, keys_end = 2, "END"

    def plane(self, n, k, keys):
        """Bit k of the bytes of two round keys: those of row r lie in column c + n r."""
        order = [(r, (column - n * r) % 4) for r in range(4) for column in range(4)]
        key = [with_constant(n, v) for v in keys]
        return cat(*(cut(v, 8 * (4 * c + r) + k, 1) for r, c in order for v in key))

    def formatted(self, n, v):
        """Two planes in a word."""
        planes = [self.plane(n, k, [v, v]) for k in range(8)]
        return cat(*(cut(planes[k + i % 2], i, 1) for k in range(0, 8, 2) for i in range(32)))

    def spread_keys(self, keys):
        return {self.spread.place + 32 * n + 4 * k: self.plane(n, k, [key[n] for key in keys])
                for n in range(len(keys[0])) for k in range(8)}


class Spread6(KeysSection):
    """The number of rounds is read from the key."""

    pointers, first, KEY_AT = (SCRATCH_AT, CONSTS_AT), 0, 4

    def registers(self, bits_):
        return {self.KEY_AT: self.pointer("key 0", KEY)}

    def operands(self, m):
        at = m.known(m.general[self.KEY_AT], "an address")
        key = key_of(m, at + SCHEDULE)
        expect_rounds(m, at + ROUNDS, key.width)
        return self.kernel.lanes * (key,)


class Rounds6(BlocksSection):
    """Two blocks. put_direction(memory, bits_) prepares memory, and returns regions. expect_direction(m, key) requires
    this state."""

    pointers = SCRATCH_AT,
    source = [[("general", r) for r in block] for block in ((0, 3, 5, 7), (2, 4, 6, 8))]

    @property
    def target(self):
        return self.words_at("KEYSTREAM", 2)

    def show(self, bits_, keys, spread):
        memory = Memory()
        regions = self.put_direction(memory, bits_)
        self.show_blocks(keys, {}, {**spread, **memory.cells}, *regions)

    def keys(self, m):
        keys = self.kernel.spread_keys_in(m.memory)
        self.expect_direction(m, keys[0])
        return keys


# ---- Vectors of 64-bit ARM ------------------------------------------------------------------------------------------

class Planes8(Sliced):
    """Round keys are as in the specification."""

    lanes, keys_end = 8, "KEYS_END"

    def formatted(self, n, v):
        return v

    def spread_keys(self, keys):
        """Vector i has bit i of all bytes. The n-th round keys are as before n times ShiftRows."""
        found = {}
        for n in range(len(keys[0])):
            key = [with_constant(n, k[n]) for k in keys]
            for i in range(8):
                for w in range(4):
                    order = [4 * ((w - n * r) % 4) + r for r in range(4)]
                    place = self.spread.place + 128 * n + 16 * i + 4 * w
                    found[place] = cat(*(cut(v, 8 * b + i, 1) for b in order for v in key))
        return found


class Spread8(KeysSection):
    pointers, behind = (SCRATCH_AT, CONSTS_AT), 16
    KEY_AT, ROUNDS_AT = 6, 23

    def registers(self, bits_):
        return {self.KEY_AT: self.pointer("key 0", KEY), self.ROUNDS_AT: rounds_of(bits_)}

    def operands(self, m):
        key = key_of(m, m.known(m.general[self.KEY_AT], "an address") + SCHEDULE, self.behind)
        self.expect(m, {self.ROUNDS_AT: rounds_of(key.width)})
        return 8 * (key,)


class Rounds8(BlocksSection):
    """Eight blocks, or one or two by lookups. These have the tables of load_table in vectors, and unspread keys."""

    pointers = SCRATCH_AT, CONSTS_AT
    ROUNDS_AT, KEYS_AT = 23, (12, 13)

    def __init__(self, kernel, begin, end, inverse, count):
        super().__init__(kernel, begin, end)
        self.inverse, self.keys_at, self.table = inverse, self.KEYS_AT[:count] if count < 8 else (), {}
        self.source = self.target = words_of_vectors(*range(count))
        if self.keys_at:
            at = kernel.at["LOOKUP_INVERSE" if inverse else "LOOKUP_SBOX"]
            table = kernel.constants[at:at + 256] + bytes(16 * [64] + 16 * [128] + 16 * [27])
            cells = (c for of in words_of_vectors(*range(16, 32), 10, 11, 12) for c in of)
            self.table = dict(zip(cells, struct.unpack("<76I", table)))

    def needs(self, bits_):
        return {self.ROUNDS_AT: rounds_of(bits_), **self.table}

    def first(self, bits_):
        """The offset of the round key that comes first."""
        return SCHEDULE + 16 * rounds_of(bits_) * self.inverse

    def show(self, bits_, keys, spread):
        k, n = self.kernel, len(self.keys_at)
        at = {r: self.pointer(f"key {i}", k.key_at(i), self.first(bits_)) for i, r in enumerate(self.keys_at)}
        cells = k.schedule_cells(keys[:n]) if n else spread
        self.show_blocks(keys, {**self.needs(bits_), **at}, cells, *k.key_regions(bits_, n))

    def keys(self, m):
        first = self.first(32 * (m.known(m.general[self.ROUNDS_AT], "a number") - 6)) - SCHEDULE
        keys = [key_of(m, m.known(m.general[r], "an address") - first) for r in self.keys_at]
        keys = keys or self.kernel.spread_keys_in(m.memory)
        for key in keys:
            if key.width > 1:
                self.expect(m, self.needs(key.width))
        return keys


# ---- Vectors of 32-bit ARM ------------------------------------------------------------------------------------------

def name_many(schedule, block):
    """Names the S-boxes of the first two rounds for 128 counters from that of a block on. Round 2 is also computed
    once for bytes that depend on the counter's last byte. The S-box of that byte is omitted, and the results are not
    used."""
    for i in range(128):
        spec.aes(schedule[:3], spec.counter_block(block, i))
    sub = terms.sub_shift(terms.xor(block, schedule[0]))
    sub = cat(cut(sub, 0, 24), const(0x63, 8), cut(sub, 32, 96))  # the last byte is now in row 3, column 0
    terms.sub_shift(terms.xor(terms.mix_columns(sub), schedule[1]))


class Counters(Sliced):
    """A kernel with the passes of aes_neon.h. With public counters, what 128 or 32 blocks share is computed once."""

    lanes = 8

    def formatted(self, n, v):
        """Row by row, after n rounds without ShiftRows."""
        v = with_constant(n, v)
        return cat(*(cut(v, 8 * (4 * ((c - n * r) % 4) + r), 8) for r in range(4) for c in range(4)))

    def spread_keys(self, keys):
        """Planes 7 to 0 of each round key but the first."""
        found = {}
        for n in range(1, len(keys[0])):
            key = [self.formatted(n, k[n]) for k in keys]
            for i in range(8):
                for w in range(4):
                    place = self.spread.place + 128 * (n - 1) + 16 * (7 - i) + 4 * w
                    found[place] = cat(*(cut(v, 8 * (4 * w + b) + i, 1) for b in range(4) for v in key))
        return found

    def spread_bytes(self, key, *_):
        return 128 * rounds_of(key.width)

    def expect_key(self, memory, key):
        """Requires the spread round keys of one key."""
        if set(self.spread_keys_in(memory)) != {key}:
            raise Unproved("two keys")

    def find_passes(self, place, first_input, end):
        """The sections of a pass, which ends at an instruction. place: as insn()."""
        left = place("ldr r7, [r1, {}]", "LEFT", behind=place("str r4, [r1, {}]", "PASS", behind=first_input))
        rounds = place("veor q13, q5, q6", behind=left)
        of_128 = place("str r6, [r1, {}]", "CACHED_128", behind=end)
        of_32 = place("ldr r3, [r1, {}]", "COUNTER", behind=of_128)
        cached = place("ldr r3, [r1, {}]", "COUNTER", behind=of_32 + 4)
        later, secret = (place(*of, behind=cached) for of in (("subs ip, ip, #4",), ("add r4, r2, {}", "CONST_SHIFTS")))
        self.first = First(self, first_input, place("vst1.8 {{d2, d3}}, [r8]", behind=first_input) + 4)
        self.direct, self.secret = Direct(self, left + 12, rounds, 3), Direct(self, secret, rounds, 0)
        self.of_128, self.of_32 = Of128(self, of_128, of_32), Of32(self, of_32, cached)
        self.cached = Cached(self, cached, later)
        self.rounds, self.later = (RoundsOf8(self, begin, end, done) for begin, done in ((rounds, 0), (later, 2)))
        return self.first, self.direct, self.secret, self.of_128, self.of_32, self.cached, self.rounds, self.later

    def show_blocks(self, bits_, keys, spread):
        def first():
            key, nonce = self.any_keys(bits_)[0], words("nonce", 3)
            first_input = self.first.show(self.schedule_cells([key]), nonce, bits_)
            return key, nonce, {**self.spread_keys(8 * [key]), **first_input}
        key, nonce, cells = first()
        for section in (self.direct, self.secret):
            if section in self.sections:
                section.show(bits_, cells, key, nonce, section.any_counter())
        for section in (self.rounds, self.later):
            section.show(bits_, cells, key)
        # Blocks of other counters would be the input of other S-boxes.
        key, nonce, cells = first()
        upper = symbol("upper", 25)
        at = lambda low: cat(const(low, 7), upper)
        name_many(key, cat(nonce, spec.reverse(at(0))))
        cells |= self.of_128.show(bits_, cells, at(0))
        for low in range(0, 128, 8):
            self.cached.show(bits_, cells | self.of_32.show(bits_, cells, at(low)), key, nonce, at(low))


class First(Making):
    """The first round's input, without the counter."""

    pointers = SCRATCH_AT, CONSTS_AT
    KEY_AT, NONCE_AT, kind, places = 9, [[("vector", i) for i in range(4)]], "first input", (("BASE", 16),)

    def show(self, cells, nonce, bits_):
        state = {self.KEY_AT: self.pointer("key", KEY), **self.in_cells(self.NONCE_AT, [cat(nonce, const(0, 32))])}
        return self.left_by(self.alone(state, cells, ("schedule", KEY + SCHEDULE, size_of(bits_))))

    def operands(self, m):
        key = key_of(m, m.known(m.general[self.KEY_AT], "an address") + SCHEDULE)
        nonce, = self.blocks(m, self.NONCE_AT)
        if not nonce.defined or cut(nonce, 96, 32).constant != 0:
            raise Unproved("no nonce")
        return key, cut(nonce, 0, 96)


def planes(states, done):
    """The bits of eight states, as words of the first eight vectors, after `done` rounds without ShiftRows."""
    byte = lambda p: 8 * (p // 4 + 4 * ((p - done * (p // 4)) % 4))
    vectors = (cat(*(cut(v, byte(p) + k, 1) for p in range(16) for v in states)) for k in range(8))
    return [w for v in vectors for w in parts_of(v, 32)]


class OfCounters(Section):
    """A section of a pass, which leaves the planes of eight blocks unless it says otherwise.

    first_done, done    how many rounds are done where it begins, and ends. If first_done is None, the section does not
                        use the pointer to round keys
    reads_first         whether vectors have the first round's input
    uses                the sections whose results it uses
    given(counter)      the state that tells the counter of the first block. counter(m) reads it
    """

    pointers = SCRATCH_AT, CONSTS_AT
    ROUND_KEYS_AT, ROUNDS_AT, COLUMNS_AT, FIRST_AT, PLANES_AT = 0, 12, 11, range(32, 36), range(32)
    first_done, done, reads_first, uses = 0, 0, True, ()

    def round_keys(self, done):
        return {self.ROUND_KEYS_AT: self.pointer("scratch", SCRATCH, self.kernel.at["KEYS"] + done * 128)}

    def needs(self, bits_):
        columns = self.kernel.at["CONST_COLUMNS"] + 16 * (bits_ == 192)
        return {self.ROUNDS_AT: rounds_of(bits_), self.COLUMNS_AT: self.pointer("consts", CONSTS, columns),
                **({} if self.first_done is None else self.round_keys(self.first_done))}

    def run(self, bits_, cells, state):
        first = zip(self.FIRST_AT, self.kernel.first.cells if self.reads_first else ())
        vectors = {("vector", r): cells[a] for r, a in first}
        return self.alone({**self.needs(bits_), "PASS": symbol("pass", 32), **vectors, **state}, cells)

    def given(self, counter):
        return {"COUNTER": terms.add_modular(counter, const(8, 32))}

    def counter(self, m):
        return terms.add_modular(self.found(m, "COUNTER"), const(-8, 32))

    def show(self, bits_, cells, schedule, nonce, counter):
        states = []
        for block in counter_blocks(nonce, counter):
            v = terms.xor(block, schedule[0])
            for round_key in schedule[1:self.done + 1]:
                v = terms.aes_round(v, round_key)
            states.append(v)
        m = self.run(bits_, cells, self.given(counter)).machine
        if not all(same(m.vector[r], v) for r, v in zip(self.PLANES_AT, planes(states, self.done))):
            raise Unproved(f"the blocks after {self.done} rounds are not what the specification says")

    def left(self, m):
        begin = self.round_keys(self.done)[self.ROUND_KEYS_AT].more
        return {self.ROUND_KEYS_AT: terms.add(32, m.general[SCRATCH_AT], const(begin, 32))[0]}

    def of(self, m):
        """Requires the state. Returns the key and the nonce."""
        k, memory = self.kernel, m.memory
        of = k.first.made_in(memory)
        k.expect_key(memory, of[0])
        if self.reads_first and [m.vector[r] for r in self.FIRST_AT] != [memory.cells[a] for a in k.first.cells]:
            raise Unproved("another first input")
        self.expect(m, self.needs(of[0].width))
        for shared in (getattr(k, name) for name in self.uses):
            if shared.made_in(memory) != (*of, shared.upper(self.counter(m))):
                raise Unproved("other blocks")
        return of

    def effect(self, m):
        (key, nonce), counter = self.of(m), self.counter(m)
        found = made(f"planes {self.done}", (key, *counter_blocks(nonce, counter)), 128)
        yield
        self.put(m, {("vector", r): v for r, v in zip(self.PLANES_AT, found)})


class Direct(OfCounters):
    """zeroes: how many of the counter's lowest bits are 0."""

    def __init__(self, kernel, begin, end, zeroes):
        super().__init__(kernel, begin, end)
        self.zeroes = zeroes

    def any_counter(self):
        counter = symbol(f"counter {self.zeroes}", 32 - self.zeroes)
        return cat(const(0, self.zeroes), counter) if self.zeroes else counter

    def given(self, counter):
        return {3: counter}

    def counter(self, m):
        counter = m.general[3]
        if not counter.defined or self.zeroes and cut(counter, 0, self.zeroes).constant != 0:
            raise Unproved("no counter, or one that is no multiple of 8")
        return counter


class Shared(OfCounters, Making):
    """What 2^bits blocks share. slot: the number that says of which blocks this is."""

    effect = Making.effect

    def upper(self, counter):
        return cut(counter, self.bits, 32 - self.bits)

    def show(self, bits_, cells, counter):
        return self.left_by(self.run(bits_, cells, self.given(counter)))

    def left(self, m):
        return {self.slot: extend(self.upper(self.counter(m)), 32)}

    def operands(self, m):
        return *self.of(m), self.upper(self.counter(m))


class Of128(Shared):
    bits, kind, slot, places = 7, "128 blocks", "CACHED_128", (("ROUND_1", 64), ("ROUND_2", 128), ("VARYING_1", 384))

    def given(self, counter):
        return {6: extend(self.upper(counter), 32)}

    def counter(self, m):
        if cut(m.general[6], 25, 7).constant != 0:
            raise Unproved("no counter")
        return cat(const(0, 7), cut(m.general[6], 0, 25))


class Of32(Shared):
    bits, kind, slot, places = 5, "32 blocks", "CACHED_32", (("VARYING_2", 384),)
    first_done, reads_first, uses = None, False, ("of_128",)


class Cached(OfCounters):
    """The first two rounds."""

    first_done, done, reads_first, uses = None, 2, False, ("of_128", "of_32")


class RoundsOf8(OfCounters):
    """The rounds of eight blocks after the first `done` ones."""

    reads_first = False
    target = [[("vector", r) for r in range(i, i + 4)] for i in (*range(32, 48, 4), *range(0, 16, 4))]

    def __init__(self, kernel, begin, end, done):
        super().__init__(kernel, begin, end)
        self.first_done = self.done = done

    def show(self, bits_, cells, schedule):
        states = words_of("state", 8)
        results = [spec.aes(schedule[self.done:], terms.xor(v, schedule[self.done])) for v in states]
        vectors = {("vector", r): v for r, v in zip(self.PLANES_AT, planes(states, self.done))}
        m = self.run(bits_, cells, vectors).machine
        expect_blocks(self.blocks(m, self.target), results)

    def left(self, m):
        return {4: self.found(m, "PASS")}

    def effect(self, m):
        key, *blocks = expect_made([m.vector[r] for r in self.PLANES_AT], f"planes {self.done}")
        if self.of(m)[0] is not key:
            raise Unproved("two keys")
        results = in_calls(0, 8 * [key], blocks)
        yield
        self.put(m, self.in_cells(self.target, results))
