"""AES in modes without authentication, bit-sliced, on ARM. Blocks are proved once, for all data; then calls.

    induction.blocks_modes [--quick] [--planted] [--jobs N] [--part I/N] OBJECT...

This is like blocks_arm.py. A key's set-up is proved to leave the specification's round keys in the kernel's format. These
sections are proved for any round keys, so also for those of lanes that are absent:

    Spread     the round keys of one key are spread over the bits of several blocks
    Lanes      the same with a key for each lane
    Rounds     blocks are encrypted or decrypted with these
"""
import os

from induction import aes_modes, bitsliced
from induction.bitsliced import CONSTS_AT, SCRATCH_AT, Counters, KeysSection, Planes6, Planes8, Rounds6, Rounds8, Spread6, Spread8, offsets
from induction.engine import find
from induction.sections import CALLS, OF, ROUNDS, SCHEDULE, Modes, Section, expect_blocks, expect_rounds, functions, in_calls, in_direction, key_of, \
    replace, rounds_of, size_of, words
from run import modes
from run.kernels import ARGS, KEY, SCRATCH, Call
from run.memory import Memory
from spec.args import CTR, A
from values import terms
from values.terms import Unproved, cat, const, cut, same

LANES = 0x100000  # an address


class Blocks(Modes):
    """file: the kernel's source."""

    called = modes.ModeShape(CTR, 10)

    def __init__(self, path, *headers):
        super().__init__(path)
        self.at = offsets(*headers, self.file)
        with open(os.path.join(bitsliced.SOURCES, self.file)) as f:
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

    @classmethod
    def tasks(cls, kernel, args):
        return super().tasks(kernel, args) + [(task[0], None, task) for task in aes_modes.tasks(cls(kernel.path), args)]

    @classmethod
    def one(cls, kernel, task, args, found):
        if task[1]:
            return super().one(kernel, task, args, found)
        kernel = cls.in_calls(kernel.path, found.common)
        replace(kernel)
        aes_modes.one(kernel, task[2], args, found)

    def encryption(self, bits_, cells, schedule, one_way):
        self.expect_schedule(cells, schedule)
        self.expect_schedule(one_way, schedule)
        keys = self.any_keys(bits_)
        self.spread.show(bits_, keys[:1])
        self.show_blocks(bits_, keys, self.lane_keys.show(bits_, keys))

    def begin_of(self, place):
        return 0 if place == CALLS else self.place(place)

    @classmethod
    def planted(cls, kernel, args, attempt):
        super().planted(kernel, args, attempt)
        aes_modes.planted(attempt.kernel, args, attempt)


# ---- Integer registers of 32-bit ARM ------------------------------------------------------------------------------------

class Lanes6(KeysSection):
    KEYS_AT, WORDS_AT, TO_AT = (3, 4), 7, 8

    def registers(self, bits_):
        return {**{r: self.pointer(f"key {i}", self.kernel.key_at(i), SCHEDULE) for i, r in enumerate(self.KEYS_AT)},
                self.WORDS_AT: const(size_of(bits_) // 4, 32), self.TO_AT: self.pointer("scratch", SCRATCH, self.kernel.at["KEYS"])}

    def effect(self, m):
        keys = [key_of(m, m.known(m.general[r], "an address")) for r in self.KEYS_AT]
        if keys[0].width != keys[1].width or m.known(m.general[self.WORDS_AT], "a number") != size_of(keys[0].width) // 4 or \
                m.known(m.general[self.TO_AT], "an address") != self.place:
            raise Unproved("other round keys")
        yield from self.put_keys(m, keys)


class Rounds(Rounds6):
    def __init__(self, kernel, begin, end, inverse):
        super().__init__(kernel, begin, end)
        self.inverse = inverse

    def put_direction(self, memory, bits_):
        at = self.kernel.at
        for offset, v in ((at["ALL_ROUNDS"], rounds_of(bits_)), (at["DECRYPT"], self.inverse), *((at["ZEROES"] + 4 * i, 0) for i in range(8))):
            memory.put_number(SCRATCH + offset, const(v, 32))
        return ()

    def expect_direction(self, m, key):
        at, number = self.kernel.at, lambda offset: m.memory.number(SCRATCH + offset, 4).constant
        if number(at["ALL_ROUNDS"]) != rounds_of(key.width) or number(at["DECRYPT"]) != self.inverse or any(number(at["ZEROES"] + 4 * i) for i in range(8)):
            raise Unproved("another number of rounds or direction")


class Armv6(Planes6, Blocks):
    file = "arm/aes_armv6.S"

    def __init__(self, path):
        super().__init__(path, "arm/aes_armv6.h")
        self.spread = Spread6(self, self.place("spread_round_keys"), self.place("ldr r3, [r1, #OPERATION]", "spread_round_keys"))
        self.lane_keys = Lanes6(self, self.place(".Llane_keys:") - 12, self.place("ldr r4, [r1, #TOTAL]", ".Llane_keys:"))
        end = self.place("ldr r0, [r1, #OPERATION]", ".Lgot_blocks:")
        self.rounds = [Rounds(self, self.place(label), end, inverse) for inverse, label in enumerate((".Lencrypt:", ".Ldecrypt:"))]
        self.sections = self.spread, self.lane_keys, *self.rounds


# ---- Vectors of 64-bit ARM ------------------------------------------------------------------------------------------------

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
        keys = [key_of(m, m.known(m.memory.load(lanes + i * A["LANE_STRIDE"] + A["MODE_LANE_KEY"], self.kernel.isa.POINTER // 8), "an address") + SCHEDULE)
                for i in range(n)]
        if any(key.width != keys[0].width for key in keys) or any(m.general[r].constant != number(keys[0].width) for r, number in self.NUMBERS.items()):
            raise Unproved("another number of rounds")
        yield from self.put_keys(m, [*keys, *(8 - n) * [const(0, 1)]])


class Neon64(Planes8, Blocks):
    file = "aarch64/aes_neon.S"

    def __init__(self, path):
        super().__init__(path, "aarch64/aes_neon.h", "aarch64/aes_lookup.h")
        self.at |= {"KEYS": self.at["ROUND_KEYS"], "KEYS_END": self.scratch_bytes}
        self.spread = Spread8(self, self.place("spread_round_keys"), self.place(".Lbegin:"))
        self.lane_keys = Lanes8(self, self.place(".Llane_keys:"), self.place("mov at, #0", ".Llane_keys:"))
        chain = "cmp operation, #SEALANE_AES_CBC_ENCRYPT"
        self.rounds = [Rounds8(self, self.place(text), self.place(behind, text), inverse, count) for text, behind, inverse, count in (
            ("encrypt_blocks", chain, 0, 8), ("decrypt_blocks", "cmp operation, #SEALANE_AES_CBC_DECRYPT", 1, 8), ("encrypt_few 1", chain, 0, 1),
            ("encrypt_few 2", chain, 0, 2), ("decrypt_few 1", "b .Ldecrypted", 1, 1), ("decrypt_few 2", "b .Ldecrypted", 1, 2))]
        self.sections = self.spread, self.lane_keys, *self.rounds


# ---- Vectors of 32-bit ARM ------------------------------------------------------------------------------------------------

class Lanes32(Lanes8):
    LANES_AT, TOGETHER_AT, TO_AT, NUMBERS = 4, 8, 6, {12: rounds_of, 5: lambda bits_: SCHEDULE + 16}
    COUNTS = range(4, 9)


class Blocks32(Section):
    """Blocks in vectors: eight of a text, or one of each lane, or one by lookups. keys(m) returns their keys. pass_ends: the
    section ends a pass, and leaves its purpose."""

    pointers = SCRATCH_AT, CONSTS_AT
    FROM, TO = range(32), (*range(32, 48), *range(16))
    inverse, counts, own_keys, pass_ends = 0, (8,), False, False

    def show(self, bits_, keys, spread):
        k = self.kernel
        for n in self.counts:
            of = keys if n > 1 and self.own_keys else 8 * keys[:1]
            blocks = [words(f"block {i} ") for i in range(8)]
            inputs = [v if i < n or not self.own_keys else terms.xor(v, of[i][0]) for i, v in enumerate(blocks)]  # absent lanes' first keys are not added
            results = in_direction(self.inverse, of, inputs)
            memory = Memory()
            memory.cells.update(k.spread_keys(of))
            memory.cells.update(k.schedule_cells(of[:n]))
            memory.put_number(SCRATCH + k.at["ARGS"], Call(k).callers("args", ARGS))
            for i in range(32):
                memory.put_number(SCRATCH + k.at["ZEROES"] + 4 * i, const(0, 32))
            for i in range(n):
                memory.poke(LANES + i * A["LANE_STRIDE"] + A["MODE_LANE_KEY"], Call(k).callers(f"key {i}", k.key_at(i)))
            m = self.alone(self.registers(bits_, n), memory.cells, ("lanes", LANES, n * A["LANE_STRIDE"], True, False), *k.key_regions(bits_, n, 0 if self.own_keys else SCHEDULE),
                           vectors=dict(zip(self.FROM, (w for v in blocks for w in terms.parts_of(v, 32))))).machine
            expect_blocks([cat(*(m.vector[r] for r in self.TO[4 * i:4 * i + 4])) for i in range(n)], results)

    def effect(self, m):
        keys = self.keys(m)
        results = in_calls(self.inverse, keys, [cat(*(m.vector[r] for r in self.FROM[4 * i:4 * i + 4])) for i in range(len(keys))])
        yield
        for r, v in zip(self.TO, (w for v in results for w in terms.parts_of(v, 32))):
            m.vector[r] = v
        if self.pass_ends:
            m.general[4] = const(self.kernel.at["PASS_BLOCKS"], 32)
            m.memory.put_number(SCRATCH + self.kernel.at["PASS"], m.general[4])

    def key_of_text(self, m, at):
        """Requires that the spread keys are those of the key at an address, whose number of rounds is in a register."""
        key = key_of(m, at + SCHEDULE)
        self.kernel.expect_key(m.memory, key)
        if m.general[12].constant != rounds_of(key.width):
            raise Unproved("another number of rounds")
        return 8 * [key]


class Text32(Blocks32):
    pass_ends = True

    def registers(self, bits_, n):
        return {4: self.pointer("key 0", KEY), 12: const(rounds_of(bits_), 32)}

    def keys(self, m):
        return self.key_of_text(m, m.known(m.general[4], "an address"))


class Decrypt32(Blocks32):
    inverse = 1

    def registers(self, bits_, n):
        return {12: const(rounds_of(bits_), 32)}

    def keys(self, m):
        memory, zeroes = m.memory, SCRATCH + self.kernel.at["ZEROES"]
        if any(memory.number(zeroes + 4 * i, 4).constant != 0 for i in range(32)):
            raise Unproved("no zeroes")
        return self.key_of_text(m, self.key(m, memory.number(SCRATCH + self.kernel.at["ARGS"], 4), "MODE_KEY"))


class OfLanes32(Blocks32):
    own_keys, pass_ends, counts = True, True, range(4, 9)

    def registers(self, bits_, n):
        return {4: self.pointer("lanes", LANES), 8: const(n, 32)}

    def keys(self, m):
        k, lanes, n = self.kernel, m.known(m.general[4], "an address"), m.known(m.general[8], "a number")
        keys = k.spread_keys_in(m.memory)
        at = [m.known(m.memory.load(lanes + i * A["LANE_STRIDE"] + A["MODE_LANE_KEY"], 4), "an address") for i in range(n)]
        if n not in self.counts or keys != (*(key_of(m, a + SCHEDULE) for a in at), *(8 - n) * [const(0, 1)]):
            raise Unproved("other keys")
        expect_rounds(m, at[0] + ROUNDS, keys[0].width)
        return keys


class One32(Blocks32):
    own_keys, counts, FROM, TO = True, (1,), range(4), range(4)

    def registers(self, bits_, n):
        return {9: self.pointer("key 0", KEY)}

    def keys(self, m):
        at = m.known(m.general[9], "an address")
        key = key_of(m, at + SCHEDULE)
        expect_rounds(m, at + ROUNDS, key.width)
        return [key]


class Neon32(Counters, Blocks):
    file, keys_end, called = "arm/aes_neon.S", "KEYSTREAM", modes.ModeShape(CTR, 35)

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

    def show_blocks(self, bits_, keys, spread):
        for section in self.blocks:
            section.show(bits_, keys, spread)
        super().show_blocks(bits_, keys, spread)


# ---- What must be refused -----------------------------------------------------------------------------------------------

# By the line or label of the source behind which the instruction is.
Armv6.faults = {
    ".Lexpand:": [("a round constant is not the next", "str r2, [r1, #0x1a4]")],
    "spread_round_keys": [("a plane has the other's bits", "and fp, ip, r8, lsr #1")],
    ".Llane_keys:": [("lanes have one key", "orr sb, sb, fp, lsl #1")],
    ".Lencrypt:": [("a round key is not added", "eor r0, r0, sb")], ".Lround:": [("an exclusive or is left out", "eor", 20)],
    ".Llast_round:": [("a row stays in its column", "eor r8, r8, fp, lsl #4")], ".Linverse:": [("a linear map is left out", "eor r7, r7, sb")],
    ".Linverse_mix:": [("x^8 is not reduced", "eor r4, r4, sb")],
    CALLS: [("a counter is used again", "str fp, [r1, #0x1b8]"), ("a wipe is left out", "stm r3!, {r4, r5, r6, r7}", 2)],
}
Neon64.faults = {
    ".Lsetup:": [("a round constant is not the next", "lsl w9, w9, #1")],
    "spread_round_keys": [("S-boxes are without their constant", "eor v18.16b, v18.16b, v31.16b")],
    ".Llane_keys_loaded:": [("lanes' S-boxes are without it", "mvn v5.16b")],
    ".Lencrypt:": [("an exclusive or is left out", "eor", 60), ("rows are not shifted", "tbl v6.16b, {v6.16b}, v11.16b")],
    ".Lone:": [("a lookup is left out", "tbl v6.16b, {v24.16b")], ".Ltwo:": [("two blocks have one key", "ldr q9, [x13], #0x10", 1)],
    ".Lfew_decrypt:": [("4 (y + o) is not added", "shl v6.16b, v6.16b, #2")],
    "decrypt_blocks": [("a round key is not added", "eor v0.16b, v0.16b, v24.16b")],
    CALLS: [("a counter is used again", "add w9, w9, #1", 8), ("the table of lookups is another", "ldp q20, q21, [x10, #0x40]", 1),
            ("a wipe is left out", "stp q0, q0, [x10], #0x20")],
}
Neon32.faults = {
    ".Lexpand:": [("a round constant is not the next", "ldrbeq r3, [fp], #1")],
    "spread_round_keys": [("a bit is that of another key", "vtst.8 q3, q0, q10")],
    ".Llane_rows:": [("a lane's first key is not added", "veor q1, q1, q15")],
    ".Linverse_round:": [("an exclusive or is left out", "veor", 30)], "encrypt_one": [("a lookup is left out", "vtbx.8 d2", 3)],
    "first_rounds": [("another group's bytes are taken", "and r6, r6, #3", 1)],
    CALLS: [("what 128 blocks share is kept for others", "lsr r6, r3, #7"), ("a wipe is left out", "vst1.8 {d0, d1, d2, d3}, [r3]!", 1)],
}

of, least, prepare, tasks, one, planted = functions({("EM_ARM", "sealane_aes_armv6"): Armv6, ("EM_ARM", "sealane_aes_neon"): Neon32,
                                                     ("EM_AARCH64", "sealane_aes_neon"): Neon64})
