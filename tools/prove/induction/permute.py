"""AES and GHASH by vector permutations (x86-64's aes_ssse3 and aesgcm_ssse3). Blocks are proved once, for all data;
then calls.

    induction.permute [--quick] [--planted] [--jobs N] [--part I/N] OBJECT...

A block uses hundreds of lookups, which take bits.py seconds. So these sections (sections.py) are proved separately:

    Rounds     two blocks are encrypted or decrypted, under two keys from set-up, of each length
    Product    (X + Y) H by the table of H replaces Y
"""
import spec
from induction.sections import (BITS, CALLS, OF, SCHEDULE, SET_UP, TABLE, BlocksSection, Gcm, Modes, Products,
    functions, key_of, size_of, words_of, words_of_vectors)
from run import modes, packets
from run.kernels import KEY
from spec.args import A
from values.terms import Unproved

RDX, RSI, R11, R12, R15 = 2, 6, 11, 12, 15
INVERSE = A["AES_KEY_INVERSE"]
KEY_1 = KEY + 0x800  # a second key, in a separate section


class Rounds(BlocksSection):
    pointers = RSI, RDX
    source = target = words_of_vectors(0, 5)

    def __init__(self, kernel, first, begin, end):
        """first: the offset of the first round key."""
        super().__init__(kernel, begin, end)
        self.first, self.inverse = first, first == INVERSE

    def last(self, bits_):
        return {"LAST_KEY": self.first + size_of(bits_) - 16}

    def show(self, bits_, cells, schedules):
        keys = self.kernel.keys.items()
        self.show_blocks(schedules, {**self.last(bits_), **{r: self.pointer(f"key {r}", at) for r, at in keys}}, cells,
                         *((f"key {r}", at + self.first, size_of(bits_)) for r, at in keys))

    def keys(self, m):
        found = [key_of(m, m.known(m.general[r], "an address") + self.first, kind=self.kernel.made_keys[self.first])
                 for r in self.kernel.keys]
        for key in found:
            self.expect(m, self.last(key.width))
        return (2 * found)[:2]


class Product(Products):
    """(X + Y) H."""

    pointers = RSI, RDX

    def decoded(self, blocks):
        return [spec.reverse(v) for v in blocks]

    def inputs(self, m):
        return [[(v, 1) for v in self.decoded(self.blocks(m, words_of_vectors(0) + self.target))]]

    def table_in(self, m):
        return self.kernel.table_of(m.memory, m.known(m.general[R15], "an address") + TABLE)

    def show(self, cells, h):
        """cells: a key from set-up with the table of h."""
        state = {R15: self.pointer("key", KEY), **self.in_cells(self.target, words_of("y", 1))}
        self.show_sums(h, state, cells, self.kernel.table)


class Permuted:
    """bytes_: faults in constants of aes_ssse3.h, as (name, the byte to change)."""

    bytes_ = [("a nibble's inverse is another", 16 + 7), ("a nibble's inverse times a is another", 32 + 9),
              ("a nibble goes to another byte of the basis", 48 + 3), ("a lookup of SubBytes is another", 80 + 30),
              ("a lookup of its double is another", 112 + 1), ("a lookup of the last round is another", 144 + 15),
              ("a byte of the opposite row comes from another row", 176 + 4),
              ("ShiftRows takes a byte from another column", 192 + 5),
              ("a byte of the next row comes from another row", 208 + 11)]

    def without_byte(self, at):
        before = self.constants
        try:
            self.constants = bytes(b ^ (i == at) for i, b in enumerate(before))
            self.show(BITS[:1])
        finally:
            self.constants = before

    @classmethod
    def planted(cls, kernel, args, attempt):
        permuted = attempt.kernel = cls(kernel.path)
        for what, at in cls.bytes_:
            attempt(what, lambda: permuted.without_byte(permuted.at["PERMUTE"] + at))
        super().planted(kernel, args, attempt)


class PermutedModes(Permuted, Modes):
    file, made_keys = "x86_64/aes_ssse3.S", {SCHEDULE: "round key", INVERSE: "inverse round key"}
    keys = {R11: KEY, R12: KEY_1}  # registers of each block's key, and where it is in a separate section
    bytes_ = Permuted.bytes_ + [("a lookup of 14 times the inverse is another", 272 + 20),
                                ("a lookup of 9 times the inverse is another", 368 + 2),
                                ("InvShiftRows takes a byte from another column", 432 + 6)]

    def __init__(self, path):
        super().__init__(path)
        self.sections = [
            Rounds(self, first, self.place("all_rounds", label), self.place(f"cmp operation, SEALANE_AES_{end}", label))
            for first, label, end in ((INVERSE, ".Lblocks:", "CBC_DECRYPT"), (SCHEDULE, ".Lencrypt:", "CTR"))]

    def encryption(self, bits_, cells, schedule, one_way):
        if any(v is not cells.get(a) for a, v in one_way.items()):
            raise Unproved("other round keys where no inverse is asked for")
        schedules = schedule, modes.schedule_of(bits_, "other key")
        other = {a - KEY + KEY_1: v for a, v in modes.key_cells(self, bits_, "other key")[0].items()}
        for section in self.sections:
            section.show(bits_, {**cells, **other}, schedules)


class PermutedGcm(Permuted, Gcm):
    file, table_bytes, keys = "x86_64/aesgcm_ssse3.S", 512, {R15: KEY}
    bytes_ = Permuted.bytes_ + [("a byte of the reduction is another", 1 - 176)]  # of FOLD in aesgcm_ssse3.S

    def __init__(self, path):
        super().__init__(path)
        label = ".Lencrypt_blocks:"
        self.rounds = Rounds(self, SCHEDULE, self.place("all_rounds", label), self.place("cmp phase, TEXT", label))
        self.product = Product(self, self.place(".Lhash_product:"), self.place("jmp .Lhash", ".Lhash_product:"))
        self.sections = self.rounds, self.product

    def encryption(self, bits_, cells, schedule):
        self.rounds.show(bits_, cells, 2 * [schedule])


# ---- What must be refused ------------------------------------------------------------------------------------------

PermutedModes.called = modes.ModeShape(modes.CTR, 5)
PermutedModes.faults = {
    SET_UP: [("1/j is not added", "pxor xmm3, xmm1"),
             ("the second block's last lookup is left out", "pshufb xmm9, xmm7", -1),
             ("a round key is not added", "pxor xmm1, xmm2")],
    CALLS: [("the number of rounds is not there", "mov dword ptr [rsi + 0x120], ecx"),
            ("the counter does not go on", "add ebx, 2"),
            ("keystream is not wiped", "movdqa xmmword ptr [rsi + 0x100], xmm0", -1)],
}
PermutedGcm.called = packets.GcmShape(100, ad=20)
PermutedGcm.faults = {
    SET_UP: [("H is not moved on", "psrlq xmm0, 1"), ("a byte of the table is that before", "paddd xmm7")],
    "rounds": [("1/j is not added", "pxor xmm3, xmm1")],
    "product": [("Y is not added", "pxor xmm0, xmmword ptr [rsi"),
                ("what is beyond x^127 is lost", "palignr xmm3, xmm2, 0xf", 7)],
    CALLS: [("the number of rounds is not there", "mov dword ptr [rsi + 0x160], eax"),
            ("the counter does not go on", "add ebx, 2"),
            ("the tag is without its mask", "pxor xmm0, xmmword ptr [rsi + 0x110]"),
            ("the lengths are not swapped", "bswap r11")],
}

of, least, prepare, tasks, one, planted = functions({("EM_X86_64", "sealane_aes_ssse3"): PermutedModes,
                                                        ("EM_X86_64", "sealane_aesgcm_ssse3"): PermutedGcm})
