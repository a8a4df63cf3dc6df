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
from induction.blocks_arm import CONSTS_AT, SCRATCH_AT, offsets
from induction.engine import anew, find
from induction.sections import BITS, OF, Section, Sectioned, call, cipher, expect_made, made, restore, rounds_of, size_of, words
from run import modes, proof
from run.kernels import ARGS, KEY, SCRATCH, Call
from run.memory import Memory
from spec import modes as spec_modes
from spec.args import ROOT, A
from values import bits, terms
from values.terms import Unproved, cat, const, cut, same, symbol, tainted

ROUNDS, SCHEDULE = A["AES_KEY_ROUNDS"], A["AES_KEY_SCHEDULE"]
LANES = 0x100000  # an address


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
        """Returns the first instruction of the first such line of the source, or after such a label, behind another one."""
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
            keys = [[words(f"round key {lane} {n} ") for n in range(rounds_of(bits_) + 1)] for lane in range(self.lanes)]
            spread = self.lane_keys.show(bits_, keys)
            if self.spread.show(bits_, keys[:1]) != self.spread_keys([keys[0]] * self.lanes):
                raise Unproved("other round keys of one key")
            for section in self.rounds:
                section.show(bits_, keys, spread)
            cases += 4 + len(self.rounds)
        anew()
        return cases, steps + sum(s.steps for s in self.sections)

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

    def spread_size(self, key, *_):
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
        found = made("spread keys", tuple(keys), self.kernel.spread_size(*keys))
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
        keys = expect_made(memory, "spread keys", range(k.lane_keys.place, SCRATCH + k.at["END"], 4), k.spread_size)
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
        keys = [self.key_of(m, m.known(m.memory.load(lanes + i * A["LANE_STRIDE"] + A["MODE_LANE_KEY"], 8), "an address") + SCHEDULE) for i in range(n)]
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
            keys = expect_made(m.memory, "spread keys", range(k.lane_keys.place, SCRATCH + k.scratch_bytes, 4), k.spread_size)
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


KERNELS = {("EM_ARM", "sealane_aes_armv6"): Armv6, ("EM_AARCH64", "sealane_aes_neon"): Neon64}


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
