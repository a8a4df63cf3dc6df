"""AES in modes without authentication, bit-sliced, on ARM. Blocks are proved once, for all data; then calls.

    induction.blocks_modes [--quick] [--planted] [--jobs N] [--part I/N] OBJECT...

This is like blocks_arm.py. A key's set-up is proved to leave the specification's round keys in the kernel's format. These
sections are proved for any round keys, so also for those of lanes that are absent:

    Spread     the round keys of one key are spread over the bits of several blocks
    Lanes      the same with a key for each lane
    Rounds     blocks are encrypted or decrypted with these
"""
import os

import spec
from induction.blocks_arm import CONSTS_AT, SCRATCH_AT, Counters, functions, offsets
from induction.engine import anew, find
from induction.sections import BITS, OF, Section, Sectioned, call, cipher, expect_made, expect_rounds, made, restore, rounds_of, size_of, words
from run import modes, proof
from run.kernels import ARGS, KEY, SCRATCH, Call
from run.memory import Memory
from spec import modes as spec_modes
from spec.args import CTR, ROOT, A
from values import bits, terms
from values.terms import Unproved, cat, const, cut, same, symbol, tainted

ROUNDS, SCHEDULE = A["AES_KEY_ROUNDS"], A["AES_KEY_SCHEDULE"]
LANES = 0x100000  # an address
OF_ONE, BLOCKS_OF, COUNTERS = modes.of_one, modes.blocks_of, (0, 29, 0xfffffffd)


def with_constant(n, v):
    """The n-th round key. All but the first have the S-box's constant."""
    return terms.xor(v, const(int.from_bytes(16 * b"\x63", "little"), 128)) if n else v


class Modes(Sectioned):
    """file: the kernel's source. formatted(n, round key): the n-th round key as set-up leaves it."""

    gcm = False

    def __init__(self, path, *headers):
        super().__init__(path)
        self.at = offsets(*headers, self.file)
        with open(os.path.join(ROOT, "asm", self.file)) as f:
            self.source = [""] + [line.partition("/*")[0].strip() for line in f]
        self.starts = {}
        for pc, line in sorted(self.lines.items()):
            file, _, number = (line or "").partition(":")
            if file == os.path.basename(self.file):
                self.starts.setdefault(int(number), pc)

    def place(self, text, behind=None):
        """Returns the first instruction of the first such line of the source, or after such a label. `behind`: an
        earlier line."""
        first = self.source.index(text, self.source.index(behind) if behind else 0)
        return self.starts[min(n for n in self.starts if n >= first)]

    def set_up(self, shape):
        return shape.mode == modes.SETUP

    def replace(self):
        modes.key_cells = self.cells_of_calls

    def cells_of_calls(self, kernel, bits_, name, trace=None, encrypts=False):
        key = words(name, bits_ // 32)
        return {KEY + ROUNDS: const(rounds_of(bits_), 32), KEY + ROUNDS + 4: const(0, 32),
                **dict(zip(range(KEY + SCHEDULE, KEY + 256, 4), made("round key", (key,), size_of(bits_))))}, 0

    def show(self, quick=False):
        cases = steps = 0
        for bits_ in BITS[:1] if quick else BITS:
            restore()
            anew()
            proof.mode(False, True)
            bits.strict, schedule = True, spec.key_schedule(words("key", bits_ // 32))
            for encrypts in (False, True):
                cells, more = modes.key_cells(self, bits_, "key", None, encrypts)
                memory = Memory()
                memory.cells.update(cells)
                for n, v in enumerate(schedule):
                    if not same(memory.peek(KEY + SCHEDULE + 16 * n, 16), self.formatted(n, v)):
                        raise Unproved(f"round key {n} is not that of the specification")
                steps += more
            keys = self.any_keys(bits_)
            spread = self.lane_keys.show(bits_, keys)
            if self.spread.show(bits_, keys[:1]) != self.spread_keys([keys[0]] * self.lanes):
                raise Unproved("other round keys of one key")
            self.show_blocks(bits_, keys, spread)
            cases += 2 + len(self.sections)
        anew()
        return cases, steps + sum(s.steps for s in self.sections)

    def show_blocks(self, bits_, keys, spread):
        for section in self.rounds:
            section.show(bits_, keys, spread)

    def any_keys(self, bits_):
        """Any round keys of each lane."""
        anew()
        proof.mode(False, True)
        return [[words(f"round key {lane} {n} ") for n in range(rounds_of(bits_) + 1)] for lane in range(self.lanes)]

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

    def key_regions(self, bits_, count, behind=0):
        return [(f"key {i}", self.key_at(i), SCHEDULE + size_of(bits_) + behind, True, False) for i in range(count)]

    def spread_bytes(self, key, *_):
        return self.lanes * size_of(key.width)


class KeysSection(Section):
    """behind: how many bytes after a key's round keys are read."""

    pointers, behind = (SCRATCH_AT,), 0

    @property
    def place(self):
        return SCRATCH + self.kernel.at["KEYS"]

    def show(self, bits_, keys):
        """Returns the spread round keys."""
        k = self.kernel
        memory, spread = self.alone(self.registers(bits_), k.schedule_cells(keys), *k.key_regions(bits_, len(keys), self.behind)).memory, k.spread_keys(keys * (k.lanes // len(keys)))
        self.expect_changes(spread)
        if any(not same(memory.peek(a, 4), v) for a, v in spread.items()):
            raise Unproved("a round key is spread to other bits")
        return spread

    def expect_changes(self, spread):
        """Requires that no other scratch has changed. The number of these cells depends on the key."""
        if {("memory", a) for a in spread} != {c for c in self.changes if c[0] == "memory"}:
            raise Unproved("other scratch has changed than that of the round keys")
        self.changes = {c for c in self.changes if c[0] != "memory"}

    def key_of(self, m, at):
        """The key whose round keys are at an address."""
        memory = m.memory
        key, = expect_made(memory, "round key", range(at, at + 240, 4), lambda key: size_of(key.width))
        memory.allowed(at, size_of(key.width) + self.behind, False)
        return key

    def spread(self, m, keys):
        """Returns a function that puts the spread keys."""
        found = made("spread keys", tuple(keys), self.kernel.spread_bytes(*keys))
        return lambda: m.memory.cells.update(zip(range(self.place, self.place + 4 * len(found), 4), found))


# ---- Integer registers of 32-bit ARM ------------------------------------------------------------------------------------

class Spread6(KeysSection):
    KEY_AT = 4

    def registers(self, bits_):
        return {self.KEY_AT: self.pointer("key 0", KEY)}

    def effect(self, m):
        key_at = m.known(m.general[self.KEY_AT], "an address")
        key = self.key_of(m, key_at + SCHEDULE)
        m.memory.allowed(key_at, 8, False)
        if m.memory.number(key_at + ROUNDS, 4).constant != rounds_of(key.width):
            raise Unproved("another number of rounds")
        return self.spread(m, (key, key))


class Lanes6(KeysSection):
    KEYS_AT, WORDS_AT, TO_AT = (3, 4), 7, 8

    def registers(self, bits_):
        return {**{r: self.pointer(f"key {i}", self.kernel.key_at(i), SCHEDULE) for i, r in enumerate(self.KEYS_AT)},
                self.WORDS_AT: const(size_of(bits_) // 4, 32), self.TO_AT: self.pointer("scratch", SCRATCH, self.kernel.at["KEYS"])}

    def effect(self, m):
        keys = [self.key_of(m, m.known(m.general[r], "an address")) for r in self.KEYS_AT]
        if keys[0].width != keys[1].width or m.known(m.general[self.WORDS_AT], "a number") != size_of(keys[0].width) // 4 or \
                m.known(m.general[self.TO_AT], "an address") != self.place:
            raise Unproved("other round keys")
        return self.spread(m, keys)


class Rounds6(Section):
    """Two blocks."""

    pointers = SCRATCH_AT,
    columns = (0, 3, 5, 7), (2, 4, 6, 8)  # the registers of each block

    def __init__(self, kernel, begin, end, inverse):
        super().__init__(kernel, begin, end)
        self.inverse = inverse

    def show(self, bits_, keys, spread):
        k, blocks = self.kernel, [words(f"block {i} ") for i in range(2)]
        memory = Memory()
        memory.cells.update(spread)
        for name, v in {"ALL_ROUNDS": rounds_of(bits_), "DECRYPT": self.inverse}.items():
            memory.put_number(SCRATCH + k.at[name], const(v, 32))
        for i in range(8):
            memory.put_number(SCRATCH + k.at["ZEROES"] + 4 * i, const(0, 32))
        results = [spec_modes.decrypt(spec_modes.inverse_schedule(key), v) if self.inverse else spec.aes(key, v) for key, v in zip(keys, blocks)]
        registers = {r: v for block, of in zip(blocks, self.columns) for r, v in zip(of, terms.parts_of(block, 32))}
        memory = self.alone(registers, memory.cells).memory
        for i, v in enumerate(results):
            if not same(memory.peek(SCRATCH + k.at["KEYSTREAM"] + 16 * i, 16), v):
                raise Unproved(f"block {i} is not what the specification says")

    def effect(self, m):
        k, memory = self.kernel, m.memory
        keys = expect_made(memory, "spread keys", range(k.lane_keys.place, SCRATCH + k.at["END"], 4), k.spread_bytes)
        number = lambda name, at=0: memory.number(SCRATCH + k.at[name] + at, 4).constant
        if number("ALL_ROUNDS") != rounds_of(keys[0].width) or number("DECRYPT") != self.inverse or any(number("ZEROES", 4 * i) for i in range(8)):
            raise Unproved("another number of rounds or direction")
        results = [cipher("inverse aes" if self.inverse else "aes", key, cat(*(m.general[r] for r in of))) for key, of in zip(keys, self.columns)]

        def put():
            for i, v in enumerate(results):
                memory.poke(SCRATCH + k.at["KEYSTREAM"] + 16 * i, v)
        return put


class Armv6(Modes):
    file, lanes = "arm/aes_armv6.S", 2

    def __init__(self, path):
        super().__init__(path, "arm/aes_armv6.h")
        self.spread = Spread6(self, self.place("spread_round_keys"), self.place("ldr r3, [r1, #OPERATION]", "spread_round_keys"))
        self.lane_keys = Lanes6(self, self.place(".Llane_keys:") - 12, self.place("ldr r4, [r1, #TOTAL]", ".Llane_keys:"))
        end = self.place("ldr r0, [r1, #OPERATION]", ".Lgot_blocks:")
        self.rounds = [Rounds6(self, self.place(label), end, inverse) for inverse, label in enumerate((".Lencrypt:", ".Ldecrypt:"))]
        self.sections = self.spread, self.lane_keys, *self.rounds

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


# ---- Vectors of 64-bit ARM ------------------------------------------------------------------------------------------------

class Spread8(KeysSection):
    pointers, behind = (SCRATCH_AT, CONSTS_AT), 16
    KEY_AT, ROUNDS_AT = 6, 23

    def registers(self, bits_):
        return {self.KEY_AT: self.pointer("key 0", KEY), self.ROUNDS_AT: const(rounds_of(bits_), 64)}

    def effect(self, m):
        key = self.key_of(m, m.known(m.general[self.KEY_AT], "an address") + SCHEDULE)
        if m.general[self.ROUNDS_AT].constant != rounds_of(key.width):
            raise Unproved("another number of rounds")
        return self.spread(m, 8 * (key,))


class Lanes8(KeysSection):
    """Keys of some lanes. The bits of absent lanes may have any values."""

    pointers = SCRATCH_AT, CONSTS_AT
    LANES_AT, TOGETHER_AT, TO_AT, NUMBERS = 20, 27, 14, {23: rounds_of, 7: lambda bits_: SCHEDULE, 15: lambda bits_: 0}
    COUNTS = range(5, 9)

    def show(self, bits_, keys):
        k, spread = self.kernel, self.kernel.spread_keys(keys)
        for n in self.COUNTS:
            memory = Memory()
            memory.cells.update(k.schedule_cells(keys[:n]))
            for i in range(n):
                memory.poke(LANES + i * A["LANE_STRIDE"] + A["MODE_LANE_KEY"], Call(k).callers(f"key {i}", k.key_at(i)))
            registers = {self.LANES_AT: self.pointer("lanes", LANES), self.TOGETHER_AT: const(n, 64), self.TO_AT: self.pointer("scratch", SCRATCH, k.at["KEYS"]),
                         **{r: const(number(bits_), 64) for r, number in self.NUMBERS.items()}}
            after = self.alone(registers, memory.cells, ("lanes", LANES, n * A["LANE_STRIDE"], True, False), *k.key_regions(bits_, n)).memory
            if any(not same(cut(after.peek(a, 4), byte, n), cut(v, byte, n)) for a, v in spread.items() for byte in range(0, 32, 8)):
                raise Unproved("a round key is spread to other bits")
        self.expect_changes(spread)
        return spread

    def effect(self, m):
        lanes, n = m.known(m.general[self.LANES_AT], "an address"), m.known(m.general[self.TOGETHER_AT], "a number")
        if n not in self.COUNTS or m.known(m.general[self.TO_AT], "an address") != self.place:
            raise Unproved("another number of lanes, or another place")
        keys = [self.key_of(m, m.known(m.memory.load(lanes + i * A["LANE_STRIDE"] + A["MODE_LANE_KEY"], self.kernel.isa.POINTER // 8), "an address") + SCHEDULE)
                for i in range(n)]
        if any(key.width != keys[0].width for key in keys) or any(m.general[r].constant != number(keys[0].width) for r, number in self.NUMBERS.items()):
            raise Unproved("another number of rounds")
        return self.spread(m, [*keys, *(8 - n) * [const(0, 1)]])


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
        results = [spec_modes.decrypt(spec_modes.inverse_schedule(key), v) if self.inverse else spec.aes(key, v) for key, v in zip(keys, blocks)]
        few = self.count if self.vectors else 0
        registers = {self.ROUNDS_AT: const(rounds_of(bits_), 64), **{self.KEYS_AT[i]: self.pointer(f"key {i}", k.key_at(i), self.first(bits_)) for i in range(few)}}
        m = self.alone(registers, k.schedule_cells(keys[:few]) if few else spread, *k.key_regions(bits_, few),
                       vectors={**{i: const(v, 128) for i, v in self.vectors.items()}, **dict(enumerate(blocks))}).machine
        for i, v in enumerate(results):
            if not same(cat(*m.vector[i]), v):
                raise Unproved(f"block {i} is not what the specification says")

    def effect(self, m):
        k, rounds = self.kernel, m.general[self.ROUNDS_AT].constant
        if self.count == 8:
            keys = expect_made(m.memory, "spread keys", range(k.lane_keys.place, SCRATCH + k.scratch_bytes, 4), k.spread_bytes)
        elif any(cat(*m.vector[i]).constant != v for i, v in self.vectors.items()):
            raise Unproved("no table")
        else:
            first = self.first(32 * (rounds - 6)) - SCHEDULE
            keys = [k.lane_keys.key_of(m, m.known(m.general[r], "an address") - first) for r in self.KEYS_AT[:self.count]]
        if any(rounds != rounds_of(key.width) for key in keys if key.width > 1):
            raise Unproved("another number of rounds")
        results = [tainted(128) if key.width == 1 else cipher("inverse aes" if self.inverse else "aes", key, cat(*m.vector[i])) for i, key in enumerate(keys)]

        def put():
            for i, v in enumerate(results):
                m.vector[i] = terms.parts_of(v, 32)
        return put


class Neon64(Modes):
    file, lanes = "aarch64/aes_neon.S", 8

    def __init__(self, path):
        super().__init__(path, "aarch64/aes_neon.h", "aarch64/aes_lookup.h")
        self.at["KEYS"] = self.at["ROUND_KEYS"]
        self.spread = Spread8(self, self.place("spread_round_keys"), self.place(".Lbegin:"))
        self.lane_keys = Lanes8(self, self.place(".Llane_keys:"), self.place("mov at, #0", ".Llane_keys:"))
        chain = "cmp operation, #SEALANE_AES_CBC_ENCRYPT"
        self.rounds = [Rounds8(self, self.place(text), self.place(behind, text), inverse, count) for text, behind, inverse, count in (
            ("encrypt_blocks", chain, 0, 8), ("decrypt_blocks", "cmp operation, #SEALANE_AES_CBC_DECRYPT", 1, 8), ("encrypt_few 1", chain, 0, 1),
            ("encrypt_few 2", chain, 0, 2), ("decrypt_few 1", "b .Ldecrypted", 1, 1), ("decrypt_few 2", "b .Ldecrypted", 1, 2))]
        self.sections = self.spread, self.lane_keys, *self.rounds

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


# ---- Vectors of 32-bit ARM ------------------------------------------------------------------------------------------------

class Lanes32(Lanes8):
    LANES_AT, TOGETHER_AT, TO_AT, NUMBERS = 4, 8, 6, {12: rounds_of, 5: lambda bits_: SCHEDULE + 16}
    COUNTS = range(4, 9)


class Blocks32(Section):
    """Blocks in vectors: eight of a text, or one of each lane, or one by lookups. keys(m) returns their keys."""

    pointers = SCRATCH_AT, CONSTS_AT
    FROM, TO = range(32), (*range(32, 48), *range(16))
    inverse, counts = 0, (8,)

    def show(self, bits_, keys, spread):
        k = self.kernel
        for n in self.counts:
            of = keys if n > 1 and self.own_keys else 8 * keys[:1]
            blocks = [words(f"block {i} ") for i in range(8)]
            inputs = [v if i < n or not self.own_keys else terms.xor(v, of[i][0]) for i, v in enumerate(blocks)]  # absent lanes' first keys are not added
            results = [spec_modes.decrypt(spec_modes.inverse_schedule(key), v) if self.inverse else spec.aes(key, v) for key, v in zip(of, inputs)]
            memory = Memory()
            memory.cells.update(k.spread_keys(of))
            memory.cells.update(k.schedule_cells(of[:n]))
            memory.put_number(SCRATCH + k.at["ARGS"], Call(k).callers("args", ARGS))
            for i in range(32):
                memory.put_number(SCRATCH + k.at["ZEROES"] + 4 * i, const(0, 32))
            for i in range(n):
                memory.poke(LANES + i * A["LANE_STRIDE"] + A["MODE_LANE_KEY"], Call(k).callers(f"key {i}", k.key_at(i)))
            m = self.alone(self.registers(bits_, n), memory.cells, ("lanes", LANES, n * A["LANE_STRIDE"], True, False), *k.key_regions(bits_, n),
                           vectors=dict(zip(self.FROM, (w for v in blocks for w in terms.parts_of(v, 32))))).machine
            for i, v in enumerate(results[:n]):
                if not same(cat(*(m.vector[r] for r in self.TO[4 * i:4 * i + 4])), v):
                    raise Unproved(f"block {i} is not what the specification says")

    def effect(self, m):
        keys, more = self.keys(m)
        results = [tainted(128) if key.width == 1 else cipher("inverse aes" if self.inverse else "aes", key, cat(*(m.vector[r] for r in self.FROM[4 * i:4 * i + 4])))
                   for i, key in enumerate(keys)]

        def put():
            for r, v in zip(self.TO, (w for v in results for w in terms.parts_of(v, 32))):
                m.vector[r] = v
            more()
        return put

    def same_rounds(self, m, register, key):
        if m.general[register].constant != rounds_of(key.width):
            raise Unproved("another number of rounds")

    def end_of_pass(self, m):
        """A pass of blocks ends with its purpose."""
        purpose = const(self.kernel.at["PASS_BLOCKS"], 32)

        def put():
            m.general[4] = purpose
            m.memory.put_number(SCRATCH + self.kernel.at["PASS"], purpose)
        return put


class Text32(Blocks32):
    own_keys = False

    def registers(self, bits_, n):
        return {4: self.pointer("key 0", KEY), 12: const(rounds_of(bits_), 32)}

    def keys(self, m):
        key = self.kernel.lane_keys.key_of(m, m.known(m.general[4], "an address") + SCHEDULE)
        self.kernel.expect_key(m.memory, key)
        self.same_rounds(m, 12, key)
        return 8 * [key], self.end_of_pass(m)


class Decrypt32(Blocks32):
    own_keys, inverse = False, 1

    def registers(self, bits_, n):
        return {12: const(rounds_of(bits_), 32)}

    def keys(self, m):
        k, memory = self.kernel, m.memory
        if m.known(memory.number(SCRATCH + k.at["ARGS"], 4), "an address") != ARGS:
            raise Unproved("no pointer to arguments")
        key = k.lane_keys.key_of(m, m.known(memory.number(ARGS + A["MODE_KEY"], 4), "an address") + SCHEDULE)
        k.expect_key(memory, key)
        self.same_rounds(m, 12, key)
        if any(memory.number(SCRATCH + k.at["ZEROES"] + 4 * i, 4).constant != 0 for i in range(32)):
            raise Unproved("no zeroes")
        return 8 * [key], lambda: None


class OfLanes32(Blocks32):
    own_keys, counts = True, range(4, 9)

    def registers(self, bits_, n):
        return {4: self.pointer("lanes", LANES), 8: const(n, 32)}

    def keys(self, m):
        k, lanes, n = self.kernel, m.known(m.general[4], "an address"), m.known(m.general[8], "a number")
        keys = expect_made(m.memory, "spread keys", range(k.lane_keys.place, SCRATCH + k.at["KEYSTREAM"], 4), k.spread_bytes)
        at = [m.known(m.memory.load(lanes + i * A["LANE_STRIDE"] + A["MODE_LANE_KEY"], 4), "an address") for i in range(n)]
        if n not in self.counts or keys != (*(k.lane_keys.key_of(m, a + SCHEDULE) for a in at), *(8 - n) * [const(0, 1)]):
            raise Unproved("other keys")
        expect_rounds(m, at[0] + ROUNDS, keys[0].width)
        return keys, self.end_of_pass(m)


class One32(Blocks32):
    own_keys, counts, FROM, TO = True, (1,), range(4), range(4)

    def registers(self, bits_, n):
        return {9: self.pointer("key 0", KEY)}

    def keys(self, m):
        at = m.known(m.general[9], "an address")
        key = self.kernel.lane_keys.key_of(m, at + SCHEDULE)
        expect_rounds(m, at + ROUNDS, key.width)
        return [key], lambda: None


class Neon32(Counters, Modes):
    file, lanes = "arm/aes_neon.S", 8
    branches_on_counter, spread_size = True, 128

    def __init__(self, path):
        super().__init__(path, "arm/aes_neon.h")
        self.at["DATA"] = self.at["KEYSTREAM"]
        place = lambda text, *names, behind=0: find(self, text.format(*(f"#{self.at[n]:#x}" for n in names)), 0, behind).address
        end = self.place("cmp r4, #PASS_BLOCKS")
        passes = [s for s in self.find_passes(place, self.place("first_input"), end) if s is not self.secret]
        self.spread = Spread6(self, self.place("spread_round_keys"), self.place("ldr r0, [r1, #ARGS]", "spread_round_keys"))
        self.lane_keys = Lanes32(self, self.place(".Llane_keys:"), self.place("ldr r6, [r1, #TOTAL]", ".Llane_keys:"))
        self.blocks = [Text32(self, self.place("add r5, r2, #CONST_ROWS", "bne .Ldecrypt"), end), OfLanes32(self, self.place(".Llane_rows:"), end),
                       Decrypt32(self, self.place(".Ldecrypt:"), self.place("ldr r12, [r1, #OPERATION]", ".Lgot_blocks:")),
                       One32(self, self.place("encrypt_one"), self.place("ldr r3, [r4, #SEALANE_MODE_LANE_OUT]", "encrypt_one"))]
        self.sections = self.spread, self.lane_keys, *self.blocks, *passes

    def replace(self):
        super().replace()
        modes.of_one = self.of_one

    def of_one(self, kernel, shape, trace, function):
        """Replaces modes.of_one: the kernel branches on the counter of CTR, which is public."""
        def blocks_of(name, n):
            v = BLOCKS_OF(name, n)
            return cat(cut(v, 0, 96), spec.reverse(const(COUNTERS[shape.blocks % 3], 32))) if name == "state" and shape.mode == CTR else v
        modes.blocks_of = blocks_of
        return OF_ONE(kernel, shape, trace, function)

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
        if set(expect_made(memory, "spread keys", range(self.lane_keys.place, SCRATCH + self.at["KEYSTREAM"], 4), self.spread_bytes)) != {key}:
            raise Unproved("two keys")

    def show_blocks(self, bits_, keys, spread):
        for section in self.blocks:
            section.show(bits_, keys, spread)
        for start in range(2):  # blocks of other counters would be the input of other S-boxes
            keys = self.any_keys(bits_)
            nonce, cells = words("nonce", 3), self.schedule_cells(keys[:1])
            first = {**self.spread_keys(8 * keys[:1]), **self.first.show(cells, nonce, bits_)}
            if start == 0:
                counter = cat(const(0, 3), symbol("counter", 29))
                self.direct.show(bits_, first, keys[0], nonce, counter, {3: counter})
                for section in (self.rounds, self.later):
                    section.show(bits_, first, keys[0])
            else:
                self.show_shared(bits_, keys[0], nonce, first, 0, 7)


of, least, prepare, tasks, one = functions({("EM_ARM", "sealane_aes_armv6"): Armv6, ("EM_ARM", "sealane_aes_neon"): Neon32,
                                            ("EM_AARCH64", "sealane_aes_neon"): Neon64})


# ---- What must be refused -----------------------------------------------------------------------------------------------

# Instructions to omit, by kernel: the name of the fault, the label behind which they are, their text, and which one of these.
FAULTS = {
    Armv6: [("a round constant is not the next", ".Lexpand:", "str r2, [r1, #0x1a4]"), ("a plane has the other's bits", "spread_round_keys", "and fp, ip, r8, lsr #1"),
            ("lanes have one key", ".Llane_keys:", "orr sb, sb, fp, lsl #1"), ("a round key is not added", ".Lencrypt:", "eor r0, r0, sb"),
            ("an exclusive or is left out", ".Lround:", "eor", 20), ("a row stays in its column", ".Llast_round:", "eor r8, r8, fp, lsl #4"),
            ("a linear map is left out", ".Linverse:", "eor r7, r7, sb"), ("x^8 is not reduced", ".Linverse_mix:", "eor r4, r4, sb")],
    Neon64: [("a round constant is not the next", ".Lsetup:", "lsl w9, w9, #1"), ("S-boxes are without their constant", "spread_round_keys", "eor v18.16b, v18.16b, v31.16b"),
             ("lanes' S-boxes are without it", ".Llane_keys_loaded:", "mvn v5.16b"), ("an exclusive or is left out", ".Lencrypt:", "eor", 60),
             ("rows are not shifted", ".Lencrypt:", "tbl v6.16b, {v6.16b}, v11.16b"), ("a lookup is left out", ".Lone:", "tbl v6.16b, {v24.16b"),
             ("two blocks have one key", ".Ltwo:", "ldr q9, [x13], #0x10", 1), ("4 (y + o) is not added", ".Lfew_decrypt:", "shl v6.16b, v6.16b, #2"),
             ("a round key is not added", "decrypt_blocks", "eor v0.16b, v0.16b, v24.16b")],
    Neon32: [("a round constant is not the next", ".Lexpand:", "ldrbeq r3, [fp], #1"), ("a bit is that of another key", "spread_round_keys", "vtst.8 q3, q0, q10"),
             ("a lane's first key is not added", ".Llane_rows:", "veor q1, q1, q15"), ("an exclusive or is left out", ".Linverse_round:", "veor", 30),
             ("a lookup is left out", "encrypt_one", "vtbx.8 d2", 3), ("another group's bytes are taken", "first_rounds", "and r6, r6, #3", 1)],
}
# The same in calls.
OF_CALLS = {
    Armv6: [("a counter is used again", ".Lgroup:", "str fp, [r1, #0x1b8]"), ("a wipe is left out", ".Lwipe:", "stm r3!, {r4, r5, r6, r7}")],
    Neon64: [("a counter is used again", ".Lcounters_big:", "add w9, w9, #1"), ("the table of lookups is another", ".Lfew_encrypt:", "ldp q20, q21, [x10, #0x40]"),
             ("a wipe is left out", ".Lwipe:", "stp q0, q0, [x10], #0x20")],
    Neon32: [("what 128 blocks share is kept for others", "encrypt_counters", "lsr r6, r3, #7"), ("a wipe is left out", ".Lwipe_64:", "vst1.8 {d0, d1, d2, d3}, [r3]!")],
}


def planted(kernel, args, attempt):
    blocks = attempt.kernel = of(kernel)(kernel.path)

    def left_out(faults, show):
        for what, label, text, *number in faults:
            attempt(what, show, find(blocks, text, *number or (0,), blocks.place(label)))
    left_out(FAULTS[type(blocks)], lambda: blocks.show(True))
    blocks.show(True)
    attempt.kernel = type(blocks).in_calls(kernel.path, blocks.changes())
    left_out(OF_CALLS[type(blocks)], lambda: call(attempt.kernel, modes.ModeShape(CTR, 35 if type(blocks) is Neon32 else 10)))
