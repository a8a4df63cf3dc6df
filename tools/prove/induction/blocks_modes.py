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
from induction.blocks_arm import SCRATCH_AT, offsets
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
KEY_1 = KEY + 0x800  # a second key, in a separate section


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


class KeysSection(Section):
    pointers = SCRATCH_AT,

    @property
    def place(self):
        return SCRATCH + self.kernel.at["KEYS"]

    def show(self, bits_, keys):
        """Returns the spread round keys."""
        k = self.kernel
        regions = [(f"key {i}", k.key_at(i), SCHEDULE + size_of(bits_), True, False) for i in range(len(keys))]
        memory = self.alone(self.registers(bits_), k.schedule_cells(keys), *regions).memory
        spread = k.spread_keys(keys * (k.lanes // len(keys)))
        if {("memory", a) for a in spread} != {c for c in self.changes if c[0] == "memory"}:
            raise Unproved("other scratch has changed than that of the round keys")
        self.changes = {c for c in self.changes if c[0] != "memory"}  # their number depends on the key
        if any(not same(memory.peek(a, 4), v) for a, v in spread.items()):
            raise Unproved("a round key is spread to other bits")
        return spread

    def key_of(self, m, at):
        """The key whose round keys are at an address."""
        memory = m.memory
        key, = expect_made(memory, "round key", range(at, at + 240, 4), lambda key: size_of(key.width))
        memory.allowed(at, size_of(key.width), False)
        return key

    def spread(self, m, keys):
        """Returns a function that puts the spread keys."""
        found = made("spread keys", tuple(keys), len(self.kernel.spread_keys([[const(0, 128)] * (rounds_of(keys[0].width) + 1)] * self.kernel.lanes)) * 4)
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
        keys = expect_made(memory, "spread keys", range(k.lane_keys.place, SCRATCH + k.at["END"], 4), lambda *keys: 2 * size_of(keys[0].width))
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
        """Bit k of the bytes of two round keys: those of row r lie in column c + n r. All but the first have the S-box's constant."""
        order = [(r, (column - n * r) % 4) for r in range(4) for column in range(4)]
        key = [terms.xor(v, const(0x63636363636363636363636363636363, 128)) if n else v for v in keys]
        return cat(*(cut(v, 8 * (4 * c + r) + k, 1) for r, c in order for v in key))

    def formatted(self, n, v):
        """Two planes in a word."""
        planes = [self.plane(n, k, [v, v]) for k in range(8)]
        return cat(*(cut(planes[k + i % 2], i, 1) for k in range(0, 8, 2) for i in range(32)))

    def spread_keys(self, keys):
        return {SCRATCH + self.at["KEYS"] + 32 * n + 4 * k: self.plane(n, k, [key[n] for key in keys]) for n in range(len(keys[0])) for k in range(8)}


KERNELS = {("EM_ARM", "sealane_aes_armv6"): Armv6}


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
