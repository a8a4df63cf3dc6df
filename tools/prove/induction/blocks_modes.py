"""AES in modes without authentication, bit-sliced, on ARM. Blocks are proved once, for all data; then calls.

    induction.blocks_modes [--quick] [--planted] [--jobs N] [--part I/N] OBJECT...

This is like blocks_gcm.py. A key's set-up is proved to leave the specification's round keys in the kernel's format.
These sections are proved for any round keys, so also for those of lanes that are absent:

    Spread     the round keys of one key are spread over the bits of several blocks
    Lanes      the same with a key for each lane
    Rounds     blocks are encrypted or decrypted with these

Then follow calls, and the inductions of aes_modes.py, both with sections.
"""
from induction import aes_modes
from induction.bitsliced import (CONSTS_AT, SCRATCH_AT, Counters, KeysSection, Planes6, Planes8, Rounds6, Rounds8,
    Spread6, Spread8)
from induction.sections import (CALLS, OF, ROUNDS, SCHEDULE, BlocksSection, Modes, expect_blocks, expect_rounds,
    functions, in_direction, key_of, replace, rounds_of, size_of, words_of)
from run import modes
from run.kernels import ARGS, KEY, LANES, SCRATCH, Call
from spec.args import CTR, A
from values import terms
from values.terms import Unproved, const, cut, same


class Blocks(Modes):
    called = modes.ModeShape(CTR, 10)

    def between(self, kind, begin, end, *more):
        """A section from a line or label of the source to one behind it."""
        return kind(self, self.place(begin), self.place(end, begin), *more)

    def zeroes(self, n):
        """The state of scratch with n words of zeroes."""
        at = SCRATCH + self.at["ZEROES"]
        return {("memory", a): 0 for a in range(at, at + 4 * n, 4)}

    @classmethod
    def tasks(cls, kernel, args):
        return super().tasks(kernel, args) + [(task[0], None, task) for task in aes_modes.tasks(cls(kernel.path), args)]

    @classmethod
    def one(cls, kernel, task, args, found):
        if task[1]:
            return super().one(kernel, task, args, found)
        replace(found.common)
        aes_modes.one(found.common, task[2], args, found)

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


class OfLanes:
    """A section whose keys are those of 1 to 8 lanes. Registers have a pointer to these, and their number."""

    def lanes(self, n):
        """State, values in memory, and regions for n lanes."""
        k, at = self.kernel, LANES + A["MODE_LANE_KEY"]
        pointers = {at + A["LANE_STRIDE"] * i: Call(k).callers(f"key {i}", k.key_at(i)) for i in range(n)}
        return {self.LANES_AT: self.pointer("lanes", LANES), self.COUNT_AT: n}, pointers, \
            ("lanes", LANES, n * A["LANE_STRIDE"])

    def keys_at(self, m):
        """The addresses of the lanes' keys."""
        lanes, n = (m.known(m.general[r], "an address") for r in (self.LANES_AT, self.COUNT_AT))
        if n not in self.COUNTS:
            raise Unproved("another number of lanes")
        size, at = self.kernel.isa.POINTER // 8, lanes + A["MODE_LANE_KEY"]
        return [m.known(m.memory.load(at + i * A["LANE_STRIDE"], size), "an address") for i in range(n)]


# ---- Integer registers of 32-bit ARM --------------------------------------------------------------------------------

class Lanes6(KeysSection):
    KEYS_AT, WORDS_AT, TO_AT = (3, 4), 7, 8

    def needs(self, bits_):
        to = self.pointer("scratch", SCRATCH, self.kernel.at["KEYS"])
        return {self.WORDS_AT: size_of(bits_) // 4, self.TO_AT: to}

    def registers(self, bits_):
        keys = (self.pointer(f"key {i}", self.kernel.key_at(i), SCHEDULE) for i in range(2))
        return {**self.needs(bits_), **dict(zip(self.KEYS_AT, keys))}

    def operands(self, m):
        keys = tuple(key_of(m, m.known(m.general[r], "an address")) for r in self.KEYS_AT)
        for key in keys:
            self.expect(m, self.needs(key.width))
        return keys


class Rounds(Rounds6):
    def __init__(self, kernel, begin, end, inverse):
        super().__init__(kernel, begin, end)
        self.inverse = inverse

    def needs(self, bits_):
        return {"ALL_ROUNDS": rounds_of(bits_), "DECRYPT": self.inverse, **self.kernel.zeroes(8)}

    def show(self, bits_, keys, spread):
        self.show_blocks(keys, self.needs(bits_), spread)

    def keys(self, m):
        keys = self.kernel.spread_keys_in(m.memory)
        self.expect(m, self.needs(keys[0].width))
        return keys


class Armv6(Planes6, Blocks):
    file = "arm/aes_armv6.S"

    def __init__(self, path):
        super().__init__(path, "arm/aes_armv6.h")
        self.spread = self.between(Spread6, "spread_round_keys", "ldr r3, [r1, #OPERATION]")
        self.lane_keys = self.between(Lanes6, ".Llane_keys:", "ldr r4, [r1, #TOTAL]")
        self.lane_keys.begin -= 12
        end = self.place("ldr r0, [r1, #OPERATION]", ".Lgot_blocks:")
        self.rounds = [Rounds(self, self.place(at), end, inverse)
                       for inverse, at in enumerate((".Lencrypt:", ".Ldecrypt:"))]
        self.sections = self.spread, self.lane_keys, *self.rounds


# ---- Vectors of 64-bit ARM ------------------------------------------------------------------------------------------

class Lanes8(OfLanes, KeysSection):
    """Keys of some lanes. The bits of absent lanes may have any values."""

    pointers = SCRATCH_AT, CONSTS_AT
    LANES_AT, COUNT_AT, TO_AT, COUNTS = 20, 27, 14, range(5, 9)

    def needs(self, bits_):
        return {self.TO_AT: self.pointer("scratch", SCRATCH, self.kernel.at["KEYS"]), **self.numbers(rounds_of(bits_))}

    def numbers(self, rounds):
        return {23: rounds, 7: SCHEDULE, 15: 0}

    def show(self, bits_, keys):
        k, spread = self.kernel, self.kernel.spread_keys(keys)
        for n in self.COUNTS:
            state, pointers, lanes = self.lanes(n)
            values = {**k.schedule_cells(keys[:n]), **pointers}
            after = self.alone({**state, **self.needs(bits_)}, values, lanes, *k.key_regions(bits_, n)).memory
            for a, v in spread.items():
                if any(not same(cut(after.peek(a, 4), byte, n), cut(v, byte, n)) for byte in range(0, 32, 8)):
                    raise Unproved("a round key is spread to other bits")
        self.expect_changes(spread)
        return spread

    def operands(self, m):
        keys = [key_of(m, at + SCHEDULE) for at in self.keys_at(m)]
        for key in keys:
            self.expect(m, self.needs(key.width))
        return *keys, *(8 - len(keys)) * [const(0, 1)]


class Neon64(Planes8, Blocks):
    file = "aarch64/aes_neon.S"

    def __init__(self, path):
        super().__init__(path, "aarch64/aes_neon.h", "aarch64/aes_lookup.h")
        self.at |= {"KEYS": self.at["ROUND_KEYS"], "KEYS_END": self.scratch_bytes}
        self.spread = self.between(Spread8, "spread_round_keys", ".Lbegin:")
        self.lane_keys = self.between(Lanes8, ".Llane_keys:", "mov at, #0")
        chain, decrypted = (f"cmp operation, #SEALANE_AES_CBC_{name}CRYPT" for name in ("EN", "DE"))
        self.rounds = [self.between(Rounds8, *row) for row in (
            ("encrypt_blocks", chain, 0, 8), ("decrypt_blocks", decrypted, 1, 8),
            ("encrypt_few 1", chain, 0, 1), ("encrypt_few 2", chain, 0, 2),
            ("decrypt_few 1", "b .Ldecrypted", 1, 1), ("decrypt_few 2", "b .Ldecrypted", 1, 2))]
        self.sections = self.spread, self.lane_keys, *self.rounds


# ---- Vectors of 32-bit ARM ------------------------------------------------------------------------------------------

class Lanes32(Lanes8):
    LANES_AT, COUNT_AT, TO_AT, COUNTS = 4, 8, 6, range(4, 9)

    def numbers(self, rounds):
        return {12: rounds, 5: SCHEDULE + 16}


class Blocks32(OfLanes, BlocksSection):
    """Blocks in vectors: eight of a text with one key, or one of each lane, or one by lookups. own_keys: each block has
    the key of its lane, whose number of rounds is read."""

    pointers = SCRATCH_AT, CONSTS_AT
    LANES_AT, COUNT_AT, COUNTS, own_keys, ends_pass = 4, 8, (8,), False, True
    source = [[("vector", 4 * i + j) for j in range(4)] for i in range(8)]
    target = [[("vector", (32 + 4 * i + j) % 48) for j in range(4)] for i in range(8)]

    def left(self, m):
        """The purpose of the pass that ends."""
        purpose = const(self.kernel.at["PASS_BLOCKS"], 32)
        return {4: purpose, "PASS": purpose} if self.ends_pass else {}

    def show(self, bits_, keys, spread):
        k = self.kernel
        for n in self.COUNTS:
            of, blocks = keys if self.own_keys and n > 1 else 8 * keys[:1], words_of("block", 8)
            # Absent lanes' first keys are not added; this names their S-boxes.
            in_direction(0, of[n:], [terms.xor(v, key[0]) for v, key in zip(blocks[n:], of[n:])])
            results = in_direction(self.inverse, of[:n], blocks)
            state, pointers, lanes = self.lanes(n)
            values = {**k.spread_keys(of), **k.schedule_cells(of[:n]), **pointers}
            regions = lanes, *k.key_regions(bits_, n, 0 if self.own_keys else SCHEDULE)
            state = {**self.needs(bits_, state), **self.in_cells(self.source, blocks)}
            m = self.alone(state, values, *regions).machine
            expect_blocks(self.blocks(m, self.target), results)

    def of_text(self, m, at):
        """Requires that the spread keys are those of the key at an address, whose number of rounds is in a register."""
        key = key_of(m, at + SCHEDULE)
        self.kernel.expect_key(m.memory, key)
        self.expect(m, {12: rounds_of(key.width)})
        return 8 * [key]


class Text32(Blocks32):
    def needs(self, bits_, lanes):
        return {4: self.pointer("key 0", KEY), 12: rounds_of(bits_)}

    def keys(self, m):
        return self.of_text(m, m.known(m.general[4], "an address"))


class Decrypt32(Blocks32):
    inverse, ends_pass = 1, False

    def needs(self, bits_, lanes):
        return {12: rounds_of(bits_), "ARGS": self.pointer("args", ARGS), **self.kernel.zeroes(32)}

    def keys(self, m):
        self.expect(m, self.kernel.zeroes(32))
        return self.of_text(m, self.key(m, self.found(m, "ARGS", 4), "MODE_KEY"))


class OfLanes32(Blocks32):
    COUNTS, own_keys = range(4, 9), True

    def needs(self, bits_, lanes):
        return lanes

    def keys(self, m):
        keys, at = self.kernel.spread_keys_in(m.memory), self.keys_at(m)
        if keys != (*(key_of(m, a + SCHEDULE) for a in at), *(8 - len(at)) * [const(0, 1)]):
            raise Unproved("other keys")
        expect_rounds(m, at[0] + ROUNDS, keys[0].width)
        return keys


class One32(Blocks32):
    COUNTS, own_keys, ends_pass = (1,), True, False
    source = target = Blocks32.source[:1]

    def needs(self, bits_, lanes):
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
        end = self.place("cmp r4, #PASS_BLOCKS")
        passes = [s for s in self.find_passes(self.insn, self.place("first_input"), end) if s is not self.secret]
        self.spread = self.between(Spread6, "spread_round_keys", "ldr r0, [r1, #ARGS]")
        self.lane_keys = self.between(Lanes32, ".Llane_keys:", "ldr r6, [r1, #TOTAL]")
        self.blocks = [Text32(self, self.place("add r5, r2, #CONST_ROWS", "bne .Ldecrypt"), end),
                       OfLanes32(self, self.place(".Llane_rows:"), end),
                       self.between(Decrypt32, ".Ldecrypt:", "ldr r12, [r1, #OPERATION]"),
                       self.between(One32, "encrypt_one", "ldr r3, [r4, #SEALANE_MODE_LANE_OUT]")]
        self.sections = self.spread, self.lane_keys, *self.blocks, *passes

    def show_blocks(self, bits_, keys, spread):
        for section in self.blocks:
            section.show(bits_, keys, spread)
        super().show_blocks(bits_, keys, spread)


# ---- What must be refused -------------------------------------------------------------------------------------------

# By the line or label of the source behind which the instruction is.
Armv6.faults = {
    ".Lexpand:": [("a round constant is not the next", "str r2, [r1, #0x1a4]")],
    "spread_round_keys": [("a plane has the other's bits", "and fp, ip, r8, lsr #1")],
    ".Llane_keys:": [("lanes have one key", "orr sb, sb, fp, lsl #1")],
    ".Lencrypt:": [("a round key is not added", "eor r0, r0, sb")],
    ".Lround:": [("an exclusive or is left out", "eor", 20)],
    ".Llast_round:": [("a row stays in its column", "eor r8, r8, fp, lsl #4")],
    ".Linverse:": [("a linear map is left out", "eor r7, r7, sb")],
    ".Linverse_mix:": [("x^8 is not reduced", "eor r4, r4, sb")],
    CALLS: [("a counter is used again", "str fp, [r1, #0x1b8]"),
            ("a wipe is left out", "stm r3!, {r4, r5, r6, r7}", 2)],
}
Neon64.faults = {
    ".Lsetup:": [("a round constant is not the next", "lsl w9, w9, #1")],
    "spread_round_keys": [("S-boxes are without their constant", "eor v18.16b, v18.16b, v31.16b")],
    ".Llane_keys_loaded:": [("lanes' S-boxes are without it", "mvn v5.16b")],
    ".Lencrypt:": [("an exclusive or is left out", "eor", 60),
                   ("rows are not shifted", "tbl v6.16b, {v6.16b}, v11.16b")],
    ".Lone:": [("a lookup is left out", "tbl v6.16b, {v24.16b")],
    ".Ltwo:": [("two blocks have one key", "ldr q9, [x13], #0x10", 1)],
    ".Lfew_decrypt:": [("4 (y + o) is not added", "shl v6.16b, v6.16b, #2")],
    "decrypt_blocks": [("a round key is not added", "eor v0.16b, v0.16b, v24.16b")],
    CALLS: [("a counter is used again", "add w9, w9, #1", 8),
            ("the table of lookups is another", "ldp q20, q21, [x10, #0x40]", 1),
            ("a wipe is left out", "stp q0, q0, [x10], #0x20")],
}
Neon32.faults = {
    ".Lexpand:": [("a round constant is not the next", "ldrbeq r3, [fp], #1")],
    "spread_round_keys": [("a bit is that of another key", "vtst.8 q3, q0, q10")],
    ".Llane_rows:": [("a lane's first key is not added", "veor q1, q1, q15")],
    ".Linverse_round:": [("an exclusive or is left out", "veor", 30)],
    "encrypt_one": [("a lookup is left out", "vtbx.8 d2", 3)],
    "first_rounds": [("another group's bytes are taken", "and r6, r6, #3", 1)],
    CALLS: [("what 128 blocks share is kept for others", "lsr r6, r3, #7"),
            ("a wipe is left out", "vst1.8 {d0, d1, d2, d3}, [r3]!", 1)],
}

of, least, prepare, tasks, one, planted = functions({
    ("EM_ARM", "sealane_aes_armv6"): Armv6, ("EM_ARM", "sealane_aes_neon"): Neon32,
    ("EM_AARCH64", "sealane_aes_neon"): Neon64})
