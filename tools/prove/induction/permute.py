"""AES and GHASH by vector permutations (x86-64's aes_ssse3 and aesgcm_ssse3). Blocks are proved once, for all data;
then calls.

    induction.permute [--quick] [--planted] [--jobs N] [--part I/N] OBJECT...

A block uses hundreds of lookups, which take bits.py seconds. So these sections of the code are proved separately.
Their data are arbitrary, and so are all registers that a section does not read:

    Rounds     two blocks are encrypted or decrypted, under two keys from set-up, of each length
    Product    (X + Y) H by the table of H replaces Y

In calls, a section is one instruction. It requires the state for which the section was proved, and has the proved
results. Other registers that the section changes are unknown after it. Round keys and tables are then unknown functions of
the key that only sections can use. AES is an unknown function: only equal blocks have equal results.
"""
import spec
from induction.engine import instructions
from induction.sections import BITS, CALLS, OF, SCHEDULE, SET_UP, TABLE, Gcm, Modes, Section, expect_blocks, functions, in_calls, in_direction, key_of, \
    product, size_of, words
from run import modes, packets
from run.kernels import KEY, SCRATCH
from run.memory import Memory
from spec.args import A
from values import terms
from values.terms import Unproved, cat, const, field_product

RDX, RSI, R11, R12, R15 = 2, 6, 11, 12, 15
INVERSE = A["AES_KEY_INVERSE"]
KEY_1 = KEY + 0x800  # a second key, in a separate section


class Permuted:
    """Finds the sections of a kernel."""

    def __init__(self, path):
        super().__init__(path)
        insns = instructions(self)
        text = [f"{i.mnemonic} {i.op_str}" for i in insns]
        place = lambda begin, behind=0: next(i for i, t in enumerate(text) if i >= behind and t.startswith(begin))
        memory = lambda i: int(text[i].split("rsi + ")[1].split("]")[0], 0)
        addresses = lambda begin, end: (insns[begin].address, insns[end].address)
        self.sections = []
        for i, t in enumerate(text[:-1]):
            if t.startswith("mov eax, 0x") and text[i + 1].startswith("movdqa xmm10"):
                # The first and last operations on the second block are additions of the key.
                end = [j for j in range(i, len(text)) if text[j] == "pxor xmm5, xmm9" and text[j - 1].startswith("movdqu xmm9")][1]
                self.sections.append(Rounds(self, int(t[9:], 0), memory(place("cmp eax, dword ptr [rsi", i)), *addresses(i, end + 1)))
        if sorted(s.first for s in self.sections) != sorted(self.made_keys):
            raise Unproved("other rounds than forwards and backwards")
        if self.gcm:
            begin = place("pxor xmm0, xmmword ptr [rsi") - 1
            y = memory(begin + 1)
            self.product = Product(self, y, *addresses(begin, place(f"movdqa xmmword ptr [rsi + {y:#x}], xmm2", begin) + 1))
            self.sections.append(self.product)

    def begin_of(self, place):
        return 0


class PermutedModes(Permuted, Modes):
    made_keys = {SCHEDULE: "round key", INVERSE: "inverse round key"}
    keys = (R11, KEY), (R12, KEY_1)  # registers of each block's key, and where it is in a separate section

    def encryption(self, bits_, cells, schedule, one_way):
        if any(v is not cells.get(a) for a, v in one_way.items()):
            raise Unproved("other round keys where no inverse is asked for")
        schedules = schedule, modes.schedule_of(bits_, "other key")
        other = {a - KEY + KEY_1: v for a, v in modes.key_cells(self, bits_, "other key")[0].items()}
        for section in self.sections:
            section.show(bits_, {**cells, **other}, schedules)


class PermutedGcm(Permuted, Gcm):
    table_bytes, keys = 512, 2 * ((R15, KEY),)

    def expect_table(self, cells, h):
        self.product.show(cells, h)

    def encryption(self, bits_, cells, schedule):
        self.sections[0].show(bits_, cells, 2 * [schedule])


class Permuting(Section):
    pointers = RSI, RDX

    @staticmethod
    def block(m, i):
        return cat(*m.vector[i][:4])


class Rounds(Permuting):
    BLOCKS_AT = 0, 5

    def __init__(self, kernel, first, last_key, *places):
        """first: the offset of the first round key. last_key: the offset in scratch of the last one's offset."""
        super().__init__(kernel, *places)
        self.first, self.last_key, self.inverse = first, last_key, first == INVERSE

    def last(self, bits_):
        return self.first + size_of(bits_) - 16

    def show(self, bits_, cells, schedules):
        blocks = [words(f"block {i} ") for i in range(2)]
        results = in_direction(self.inverse, schedules, blocks)
        registers = {r: self.pointer(f"key {r}", at) for r, at in self.kernel.keys}
        m = self.alone(registers, {**cells, SCRATCH + self.last_key: const(self.last(bits_), 32)},
                       *((f"key {r}", at + self.first, size_of(bits_), True, False) for r, at in dict(self.kernel.keys).items()),
                       vectors=dict(zip(self.BLOCKS_AT, blocks))).machine
        expect_blocks([self.block(m, i) for i in self.BLOCKS_AT], results)

    def effect(self, m):
        keys = [key_of(m, m.known(m.general[r], "an address") + self.first, kind=self.kernel.made_keys[self.first]) for r, _ in self.kernel.keys]
        last = m.memory.load(SCRATCH + self.last_key, 4).constant
        if any(last != self.last(key.width) for key in keys):
            raise Unproved("another number of rounds")
        results = in_calls(self.inverse, keys, [self.block(m, i) for i in self.BLOCKS_AT])
        yield
        for i, v in zip(self.BLOCKS_AT, results):
            m.vector[i] = (*terms.parts_of(v, 32), *m.vector[i][4:])


class Product(Permuting):
    def __init__(self, kernel, y, *places):
        super().__init__(kernel, *places)
        self.y = SCRATCH + y

    def show(self, cells, h):
        """cells: a key from set-up with the table of h."""
        x, y, memory = words("x"), words("y"), Memory()
        memory.cells.update(cells)
        memory.poke(self.y, y)
        table = "table", KEY + TABLE, self.kernel.table_bytes, True, False
        memory = self.alone({R15: self.pointer("key", KEY)}, memory.cells, table, vectors={0: x}).memory
        if spec.field_element(memory.peek(self.y, 16)) != field_product(spec.field_element(terms.xor(x, y)), h):
            raise Unproved("the product is not that of the specification")

    def effect(self, m):
        of = self.kernel.table_of(m.memory, m.known(m.general[R15], "an address") + TABLE)
        x = terms.xor(self.block(m, 0), m.memory.load(self.y, 16))
        if not x.defined:
            raise Unproved("a product of what nothing has written")
        y = product(of, (spec.reverse(x), 1))
        yield
        m.memory.store(self.y, spec.reverse(y))


# ---- What must be refused -----------------------------------------------------------------------------------------------

# Faults in constants of aes_ssse3.h: the bytes to change.
BYTES = [("a nibble's inverse is another", 16 + 7), ("a nibble's inverse times a is another", 32 + 9),
         ("a nibble goes to another byte of the basis", 48 + 3), ("a lookup of SubBytes is another", 80 + 30),
         ("a lookup of its double is another", 112 + 1), ("a lookup of the last round is another", 144 + 15),
         ("a byte of the opposite row comes from another row", 176 + 4), ("ShiftRows takes a byte from another column", 192 + 5),
         ("a byte of the next row comes from another row", 208 + 11)]
INVERSE_BYTES = [("a lookup of 14 times the inverse is another", 272 + 20), ("a lookup of 9 times the inverse is another", 368 + 2),
                 ("InvShiftRows takes a byte from another column", 432 + 6)]
# The same for aesgcm_ssse3.S, relative to its first byte.
FOLDED = "a byte of the reduction is another", 1
PermutedModes.called = modes.ModeShape(modes.CTR, 5)
PermutedModes.faults = {
    SET_UP: [("1/j is not added", "pxor xmm3, xmm1"), ("the second block's last lookup is left out", "pshufb xmm9, xmm7", -1),
             ("a round key is not added", "pxor xmm1, xmm2")],
    CALLS: [("the number of rounds is not there", "mov dword ptr [rsi + 0x120], ecx"), ("the counter does not go on", "add ebx, 2"),
            ("keystream is not wiped", "movdqa xmmword ptr [rsi + 0x100], xmm0", -1)],
}
PermutedGcm.called = packets.GcmShape(100, ad=20)
PermutedGcm.faults = {
    SET_UP: [("1/j is not added", "pxor xmm3, xmm1"), ("Y is not added", "pxor xmm0, xmmword ptr [rsi"),
             ("what is beyond x^127 is lost", "palignr xmm3, xmm2, 0xf", 7),
             ("H is not moved on", "psrlq xmm0, 1"), ("a byte of the table is that before", "paddd xmm7")],
    CALLS: [("the number of rounds is not there", "mov dword ptr [rsi + 0x160], eax"), ("the counter does not go on", "add ebx, 2"),
            ("the tag is without its mask", "pxor xmm0, xmmword ptr [rsi + 0x110]"), ("the lengths are not swapped", "bswap r11")],
}

of, least, prepare, tasks, one, others = functions({("EM_X86_64", "sealane_aes_ssse3"): PermutedModes,
                                                    ("EM_X86_64", "sealane_aesgcm_ssse3"): PermutedGcm})


def planted(kernel, args, attempt):
    permuted = attempt.kernel = of(kernel)(kernel.path)
    begin = permuted.constants.index(bytes(16 * [15]))

    def other(at):
        before = permuted.constants
        try:
            permuted.constants = bytes(b ^ (i == at) for i, b in enumerate(before))
            permuted.show(BITS[:1])
        finally:
            permuted.constants = before
    for what, at in BYTES + (INVERSE_BYTES if not permuted.gcm else []):
        attempt(what, lambda: other(begin + at))
    if permuted.gcm:
        attempt(FOLDED[0], lambda: other(FOLDED[1]))
    others(kernel, args, attempt)
