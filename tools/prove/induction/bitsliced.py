"""The blocks of ARM's bit-sliced AES. blocks_arm.py and blocks_modes.py use these sections, which are proved for any round keys:

    Spread6, Spread8                               the round keys of one key are spread over the bits of several blocks
    Rounds6    integer registers of 32 bits        two blocks are encrypted or decrypted with these
    Rounds8    vectors of 64-bit ARM               eight blocks, or one or two by lookups
    First, Direct, Secret    vectors of 32 bits    eight blocks from a public or a secret counter on
    Of128, Of32, Cached                            the same after two rounds, from what 128 and 32 blocks share
    RoundsOf8                                      the rounds that are left
"""
import os
import re

import spec
from induction.engine import anew
from induction.sections import ROUNDS, SCHEDULE, Section, expect_blocks, expect_made, expect_rounds, expect_values, in_calls, in_direction, key_of, made, \
    rounds_of, size_of, words
from run import proof
from run.kernels import CONSTS, KEY, SCRATCH
from run.memory import Memory
from spec.args import ROOT
from values import terms
from values.terms import Unproved, cat, const, cut, extend, same, symbol

SCRATCH_AT, CONSTS_AT = 1, 2  # registers
SOURCES = os.path.join(ROOT, "asm")


def offsets(*paths):
    """The numbers that source files define."""
    found = {}
    for path in paths:
        with open(os.path.join(SOURCES, path)) as f:
            for name, text in re.findall(r"^#define (\w+) +([\w ()+*-]+?) *(?:/\*|$)", f.read(), re.M):
                if re.fullmatch(r"[\d ()+*-]+", text := re.sub(r"[A-Z]\w*", lambda m: str(found.get(m[0], m[0])), text)):
                    found[name] = eval(text)
    return found


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
        return [(f"key {i}", self.key_at(i) + first, SCHEDULE - first + size_of(bits_) + behind, True, False) for i in range(count)]

    def spread_bytes(self, key, *_):
        return self.lanes * size_of(key.width)

    def spread_keys_in(self, memory):
        """The keys of all lanes, whose round keys are spread."""
        return expect_made(memory, "spread keys", range(self.spread.place, SCRATCH + self.at[self.keys_end], 4), self.spread_bytes)

    def show_blocks(self, bits_, keys, spread):
        for section in self.rounds:
            section.show(bits_, keys, spread)


class KeysSection(Section):
    """behind: how many bytes after a key's round keys are read."""

    pointers, behind, first = (SCRATCH_AT,), 0, SCHEDULE

    @property
    def place(self):
        return SCRATCH + self.kernel.at["KEYS"]

    def show(self, bits_, keys):
        """Returns the spread round keys."""
        k = self.kernel
        memory, spread = self.alone(self.registers(bits_), k.schedule_cells(keys), *k.key_regions(bits_, len(keys), self.first, self.behind)).memory, \
            k.spread_keys(keys * (k.lanes // len(keys)))
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
        """The effect of any such section: the spread keys are there."""
        found = made("spread keys", tuple(keys), self.kernel.spread_bytes(*keys))
        yield
        m.memory.cells.update(zip(range(self.place, self.place + 4 * len(found), 4), found))


# ---- Integer registers of 32-bit ARM --------------------------------------------------------------------------------------

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
        return {SCRATCH + self.at["KEYS"] + 32 * n + 4 * k: self.plane(n, k, [key[n] for key in keys]) for n in range(len(keys[0])) for k in range(8)}


class Spread6(KeysSection):
    """The number of rounds is read from the key."""

    pointers, first, KEY_AT = (SCRATCH_AT, CONSTS_AT), 0, 4

    def registers(self, bits_):
        return {self.KEY_AT: self.pointer("key 0", KEY)}

    def effect(self, m):
        at = m.known(m.general[self.KEY_AT], "an address")
        key = key_of(m, at + SCHEDULE)
        expect_rounds(m, at + ROUNDS, key.width)
        yield from self.put_keys(m, self.kernel.lanes * (key,))


class Rounds6(Section):
    """Two blocks. put_direction(memory, bits_) prepares memory, and returns regions. expect_direction(m, key) requires this state."""

    pointers, inverse = (SCRATCH_AT,), 0
    columns = (0, 3, 5, 7), (2, 4, 6, 8)  # the registers of each block

    def show(self, bits_, keys, spread):
        k, blocks, memory = self.kernel, [words(f"block {i} ") for i in range(2)], Memory()
        memory.cells.update(spread)
        regions = self.put_direction(memory, bits_)
        results = in_direction(self.inverse, keys, blocks)
        registers = {r: v for block, of in zip(blocks, self.columns) for r, v in zip(of, terms.parts_of(block, 32))}
        memory = self.alone(registers, memory.cells, *regions).memory
        expect_blocks([memory.peek(SCRATCH + k.at["KEYSTREAM"] + 16 * i, 16) for i in range(2)], results)

    def effect(self, m):
        k, keys = self.kernel, self.kernel.spread_keys_in(m.memory)
        self.expect_direction(m, keys[0])
        results = in_calls(self.inverse, keys, [cat(*(m.general[r] for r in of)) for of in self.columns])
        yield
        for i, v in enumerate(results):
            m.memory.poke(SCRATCH + k.at["KEYSTREAM"] + 16 * i, v)


# ---- Vectors of 64-bit ARM ------------------------------------------------------------------------------------------------

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
                    found[SCRATCH + self.at["KEYS"] + 128 * n + 16 * i + 4 * w] = cat(*(cut(v, 8 * b + i, 1) for b in order for v in key))
        return found


class Spread8(KeysSection):
    pointers, behind = (SCRATCH_AT, CONSTS_AT), 16
    KEY_AT, ROUNDS_AT = 6, 23

    def registers(self, bits_):
        return {self.KEY_AT: self.pointer("key 0", KEY), self.ROUNDS_AT: const(rounds_of(bits_), 64)}

    def effect(self, m):
        key = key_of(m, m.known(m.general[self.KEY_AT], "an address") + SCHEDULE, self.behind)
        if m.general[self.ROUNDS_AT].constant != rounds_of(key.width):
            raise Unproved("another number of rounds")
        yield from self.put_keys(m, 8 * (key,))


class Rounds8(Section):
    """Eight blocks, or one or two by lookups."""

    pointers = SCRATCH_AT, CONSTS_AT
    ROUNDS_AT, KEYS_AT = 23, (12, 13)

    def __init__(self, kernel, begin, end, inverse, count):
        super().__init__(kernel, begin, end)
        self.inverse, self.count, self.vectors = inverse, count, {}
        if count < 8:  # those of load_table
            at = kernel.at["LOOKUP_INVERSE" if inverse else "LOOKUP_SBOX"]
            self.vectors = {16 + i: int.from_bytes(kernel.constants[at + 16 * i:at + 16 * i + 16], "little") for i in range(16)}
            self.vectors |= {10 + i: int.from_bytes(16 * bytes([b]), "little") for i, b in enumerate((64, 128, 27))}

    def first(self, bits_):
        """The offset of the round key that comes first."""
        return SCHEDULE + 16 * rounds_of(bits_) * self.inverse

    def show(self, bits_, keys, spread):
        k, blocks = self.kernel, [words(f"block {i} ") for i in range(self.count)]
        results = in_direction(self.inverse, keys, blocks)
        few = self.count if self.vectors else 0
        registers = {self.ROUNDS_AT: const(rounds_of(bits_), 64), **{self.KEYS_AT[i]: self.pointer(f"key {i}", k.key_at(i), self.first(bits_)) for i in range(few)}}
        m = self.alone(registers, k.schedule_cells(keys[:few]) if few else spread, *k.key_regions(bits_, few),
                       vectors={**{i: const(v, 128) for i, v in self.vectors.items()}, **dict(enumerate(blocks))}).machine
        expect_blocks([cat(*v) for v in m.vector[:self.count]], results)

    def effect(self, m):
        k, rounds = self.kernel, m.general[self.ROUNDS_AT].constant
        if self.count == 8:
            keys = k.spread_keys_in(m.memory)
        elif any(cat(*m.vector[i]).constant != v for i, v in self.vectors.items()):
            raise Unproved("no table")
        else:
            first = self.first(32 * (rounds - 6)) - SCHEDULE
            keys = [key_of(m, m.known(m.general[r], "an address") - first) for r in self.KEYS_AT[:self.count]]
        if any(rounds != rounds_of(key.width) for key in keys if key.width > 1):
            raise Unproved("another number of rounds")
        results = in_calls(self.inverse, keys, [cat(*v) for v in m.vector[:self.count]])
        yield
        for i, v in enumerate(results):
            m.vector[i] = terms.parts_of(v, 32)


# ---- Vectors of 32-bit ARM ------------------------------------------------------------------------------------------------

def name_many(schedule, block):
    """Names the S-boxes of the first two rounds for 128 counters from that of a block on. Round 2 is also computed once
    for bytes that depend on the counter's last byte. The S-box of that byte is omitted, and the results are not used."""
    for i in range(128):
        spec.aes(schedule[:3], spec.counter_block(block, i))
    sub = terms.sub_shift(terms.xor(block, schedule[0]))
    sub = cat(cut(sub, 0, 24), const(0x63, 8), cut(sub, 32, 96))  # the last byte is now that of row 3 in the first column
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
        return {SCRATCH + self.at["KEYS"] + 128 * (n - 1) + 16 * (7 - i) + 4 * w:
                cat(*(cut(v, 8 * (4 * w + b) + i, 1) for b in range(4) for v in key))
                for n in range(1, len(keys[0])) for key in ([self.formatted(n, k[n]) for k in keys],) for i in range(8) for w in range(4)}

    def spread_bytes(self, key, *_):
        return 128 * rounds_of(key.width)

    def expect_key(self, memory, key):
        """Requires the spread round keys of one key."""
        if set(self.spread_keys_in(memory)) != {key}:
            raise Unproved("two keys")

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

    def show_blocks(self, bits_, keys, spread):
        def first():
            key = self.any_keys(bits_)[0]
            nonce = words("nonce", 3)
            return key, nonce, {**self.spread_keys(8 * [key]), **self.first.show(self.schedule_cells([key]), nonce, bits_)}
        key, nonce, cells = first()
        for section, counter in ((self.direct, cat(const(0, 3), symbol("counter", 29))), (self.secret, symbol("any counter", 32))):
            if section in self.sections:
                section.show(bits_, cells, key, nonce, counter, {3: counter})
        for section in (self.rounds, self.later):
            section.show(bits_, cells, key)
        # Blocks of other counters would be the input of other S-boxes.
        key, nonce, cells = first()
        upper = symbol("upper", 25)
        at = lambda low: cat(const(low, 7), upper)
        name_many(key, cat(nonce, spec.reverse(at(0))))
        of_128 = self.of_128.show(bits_, cells, upper)
        for low in range(0, 128, 8):
            scratch = Memory()
            scratch.cells.update(of_128)
            scratch.put_number(SCRATCH + self.at["COUNTER"], terms.add_modular(at(low), const(8, 32)))
            scratch.cells.update(self.of_32.show(bits_, scratch.cells, at(low)))
            self.cached.show(bits_, scratch.cells, key, nonce, at(low), {})


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
        key, nonce = key_of(m, m.known(m.general[self.KEY_AT], "an address") + SCHEDULE), cat(*m.vector[:3])
        if not nonce.defined or m.vector[3].constant != 0:
            raise Unproved("no nonce")
        yield
        m.memory.cells.update(zip(self.place, made("first input", (key, nonce), 16)))


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
        return SCRATCH + self.kernel.at["KEYS"] + done * 128

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
        """The effect of a section that leaves planes in registers."""
        (key, nonce), round_keys = of, terms.add(32, m.general[SCRATCH_AT], const(self.round_keys(self.done) - SCRATCH, 32))[0]
        blocks = [cat(nonce, spec.reverse(terms.add_modular(counter, const(i, 32)))) for i in range(8)]
        yield
        for r, v in zip(self.PLANES_AT, made(f"planes {self.done}", (key, *blocks), 128)):
            m.vector[r] = v
        m.general[self.ROUND_KEYS_AT] = round_keys


class Direct(OfCounters):
    def effect(self, m):
        counter = m.known(m.general[3], "a counter")
        if counter % 8:
            raise Unproved("a counter that is no multiple of 8")
        yield from self.blocks(m, self.of(m), const(counter, 32))


class Secret(OfCounters):
    def effect(self, m):
        if not m.general[3].defined:
            raise Unproved("no counter")
        yield from self.blocks(m, self.of(m), m.general[3])


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
        yield
        m.memory.cells.update(zip(self.kernel.of_128_blocks, made("128 blocks", (*of, const(upper, 25)), 576)))
        m.memory.put_number(SCRATCH + self.kernel.at["CACHED_128"], const(upper, 32))


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
        yield
        m.memory.cells.update(zip(self.kernel.cells("VARYING_2", 384), made("32 blocks", (*of, const(counter >> 5, 27)), 384)))
        m.memory.put_number(SCRATCH + self.kernel.at["CACHED_32"], const(counter >> 5, 32))


class Cached(Of32):
    """The first two rounds."""

    show, done = OfCounters.show, 2

    def effect(self, m):
        of, counter = self.of(m), self.counter(m)
        if expect_made(m.memory, "32 blocks", self.kernel.cells("VARYING_2", 384)) != (*of, const(counter >> 5, 27)):
            raise Unproved("other blocks")
        yield from self.blocks(m, of, const(counter, 32))


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
        expect_blocks([cat(*(m.vector[r] for r in self.BLOCKS_AT[4 * i:4 * i + 4])) for i in range(8)], results)
        if m.general[4] is not symbol("pass", 32):
            raise Unproved("another purpose of the pass")

    def effect(self, m):
        key, *blocks = expect_values([m.vector[r] for r in self.PLANES_AT], f"planes {self.done}")
        if self.of(m, False)[0] is not key:
            raise Unproved("two keys")
        purpose = m.memory.number(SCRATCH + self.kernel.at["PASS"], 4)
        results = in_calls(0, 8 * [key], blocks)
        yield
        for r, v in zip(self.BLOCKS_AT, (w for v in results for w in terms.parts_of(v, 32))):
            m.vector[r] = v
        m.general[4] = purpose
