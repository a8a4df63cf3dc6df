"""The properties of each kernel for ad.py: where associated data are authenticated, the size of a pass, and the
cells of the accumulator. ad.py does not rely on them, but proves them."""
import spec
from induction import chacha_avx512, chacha_loop, gcm_ce
from induction.engine import instructions
from isa import arm32, arm64, x86
from run.kernels import SCRATCH
from run.packets import one_time
from spec.args import A, FIRST
from values import terms
from values.terms import P, Unproved, cat, const, cut, extend, field_power, field_product, symbol

CUT, REVERSED, LOADED = "the tail is not cut off", "bytes are not reversed", "the block is not loaded"
FRAME = SCRATCH + chacha_loop.FRAME


def text_of(insn):
    return f"{insn.mnemonic} {insn.op_str}"


class Kind:
    """The properties of a section. step: bytes of a pass. places: its start, its end and its loop. leasts: the fewest
    bytes of associated data with which it is proved. They are `block` for texts of at most `short` bytes, or sealed ones
    of a length in `sealed`, if these take another path with fewer. text: the cell with the length of the text, if the
    section tests that. moved: cells that the section only moves, such as the call's flags. inside, behind: cells of the
    accumulator, in the loop and after the section."""

    modulus = 1  # entry and exits depend on the length modulo this number
    counts_blocks = False  # the remaining length is counted in blocks
    given = {}  # cells of the pointer and the length at the start of the section
    most_bytes, text_before = None, 300  # the limit of associated data, if any; bytes of text in the run to the section
    opens, parts = (False, True), True  # of few bytes: whether calls that seal or open have it, and all kinds of calls

    def __init__(self, step, places, least=1, short=-1, sealed=(), block=17, text=None, moved=()):
        self.step, self.places, self.block, self.text, self.moved = step, places, block, text, moved
        self.short, self.sealed = short, sealed
        self.leasts = (least, block) if short >= 0 else (least,)

    def least(self, text, opens):
        """The fewest bytes of associated data with which a text goes through the section."""
        return self.leasts[text <= self.short or not opens and text in self.sealed]

    def few(self, residue, least):
        """Returns the numbers of bytes with which the loop may not be reached, and the fewest with which it is."""
        if self.most_bytes:
            return self.tried(least), None
        return (range(least, self.block), self.block) if self.text else ((), least)

    def tried(self, least):
        """The lengths with which the needed cells are found. The proof shows that these suffice for all lengths."""
        if self.most_bytes:
            return range(least, self.most_bytes + 1)
        return *range(max(1, least), max(17, least + 1)), self.step, self.step + 1, 2 * self.step + 13

    def taken(self, residue):
        """The bytes before the induction starts. The loop is then reached for the second time."""
        return 0

    def rests(self, residue):
        """The numbers of bytes without a step."""
        return range(1, self.step + 1)

    def set(self, call, cells, most):
        """Sets the accumulator to any number within the bounds."""
        call.change({c: symbol(f"ad y{i}", 32) for i, c in enumerate(cells)})

    def most(self, call, cells):
        """Bounds of the accumulator."""
        return ()

    def key(self, bits):
        return one_time(FIRST)[0]

    def absorb(self, h, key, text):
        return spec.poly1305(h, key, spec.pad16(text)) if text else h


class Poly1305(Kind):
    """A cell of the accumulator is a list of the cells of a limb. exact: whether the length modulo 16 is processed
    separately, and the loop stops after the whole blocks. Otherwise it counts bytes."""

    def __init__(self, places, inside, behind, exact=True, **more):
        super().__init__(16, places, **more)
        self.inside, self.behind, self.modulus = inside, behind, 16 if exact else 1
        self.width = 64 if len(inside) == 3 else 32

    def few(self, residue, least):
        if self.modulus == 1:
            return range(least, 16), 16
        return [residue] if residue >= least else [], 16 + residue

    def rests(self, residue):
        return [16 + residue] if self.modulus > 1 else range(16, 32)

    def parts(self, call, cells):
        found = call.cells()
        return [cat(*(found.get(c, terms.undefined(32)) for c in limb)) for limb in cells]

    def value(self, call, cells, r):
        limbs = self.parts(call, cells)
        if not all(v.defined for v in limbs):
            raise Unproved("the accumulator is not there")
        return sum(v.residue << self.width * i for i, v in enumerate(limbs)) % P

    def set(self, call, cells, most):
        most, = most  # of the highest limb
        for i, limb in enumerate(cells):
            v = symbol(f"ad h{i}", self.width)
            if i == len(cells) - 1:
                v = extend(symbol(f"ad h{i} at most {most}", max(1, most.bit_length()), most), self.width)
            bits = self.width // len(limb)
            call.change({c: cut(v, bits * j, bits) for j, c in enumerate(limb)})

    def most(self, call, cells):
        return self.parts(call, cells)[-1].most,


class Lanes(Kind):
    """chacha20poly1305_avx512: eight blocks at a time. The remaining ones come first, in the highest lanes."""

    modulus = 128

    def __init__(self):
        super().__init__(128, x86_places, short=128, block=65)
        self.inside = self.behind = [[("memory", chacha_avx512.ACC + 64 * i + 4 * j) for j in range(16)] for i in range(3)]

    def taken(self, residue):
        return (residue - 1) // 16 * 16 + 16 if residue else 128

    def few(self, residue, least):
        return [n for n in (residue or 128,) if n >= least], (residue or 128) + 128

    def rests(self, residue):
        return [(residue - 1) % 16 + 113]

    def value(self, call, cells, r):
        if not all(v.defined for row in chacha_avx512.limbs(call) for v in row):
            raise Unproved("the accumulator is not there")
        return chacha_avx512.accumulated(call, r)

    def set(self, call, cells, most):
        for i in range(3):
            for j in range(8):
                v = symbol(f"ad acc {i} {j} at most {most[i]}", most[i].bit_length(), most[i])
                call.memory.poke(chacha_avx512.ACC + 64 * i + 8 * j, extend(v, 64))

    def most(self, call, cells):
        return tuple(max(v.most for v in row) for row in chacha_avx512.limbs(call))


class Padded(Kind):
    """chacha20poly1305_avx512 with a short text. Associated data of 1 to 4 blocks are copied to scratch, with the last
    block padded, and authenticated later. Each length is run. The greatest, 64 bytes, is proved by calls only: a
    comparison of a range of lengths that includes its limit has no result."""

    given = {("general", 3): "bytes", ("general", 12): "ad"}
    text_before, texts, parts = 100, range(129), False
    left_out = [(CUT, "bzhi rcx", 0), ("the tail is not stored", "vmovdqu64 zmmword ptr [r13]", 0),
                ("blocks are not counted whole", "and rcx", 0), ("text follows elsewhere", "add r13", 0)]

    def __init__(self, blocks):
        super().__init__(16 * blocks, places("test rbx, rbx; je"), least=16 * blocks - 15)
        self.most_bytes = min(self.step, 63)
        self.inside = self.behind = [("memory", chacha_avx512.BUFFER + 4 * i) for i in range(4 * blocks)]

    def value(self, call, cells, r):
        return spec.poly1305(0, r, call.memory.peek(chacha_avx512.BUFFER, self.step))


class Ghash(Kind):
    def __init__(self, step, register, **more):
        super().__init__(step, x86_places, **more)
        self.inside = self.behind = [("vector", register, i) for i in range(4)]

    def value(self, call, cells, h):
        found = call.cells()
        v = cat(*(found[c] for c in cells))
        if not v.defined:
            raise Unproved("GHASH is not there")
        return field_product(terms.X127, v.image)

    def key(self, bits):
        key = cat(*(symbol(f"key{i}", 32) for i in range(bits // 32)))
        return spec.field_element(spec.aes(spec.key_schedule(key), const(0, 128)))

    def absorb(self, y, h, text):
        return spec.ghash(y, h, text) if text else y


class Block(Ghash):
    """One block of associated data with a short text: it is loaded, and authenticated later. Each length is run but 16
    bytes, as in Padded. given: the register with the length."""

    text_before, most_bytes, parts = 60, 15, False
    left_out = [(CUT, "bzhi r9d", 0), (REVERSED, "vpshufb", 0), (LOADED, "vmovdqu8", 0)]

    def __init__(self, most, register, given, begin, end):
        super().__init__(16, register)
        self.texts, self.places, self.given = range(1, most + 1), places(begin, end), {("general", given): "bytes"}

    def value(self, call, cells, h):
        return field_product(super().value(call, cells, h), h)


class Ahead(Ghash):
    """One block of associated data before a longer text that is sealed. It is multiplied by H^17, without a reduction.
    The product's parts are in the sums to which the first four vectors are added. There, Y is multiplied by H^16."""

    given, most_bytes, text_before = {("general", 0): "bytes"}, 16, 600
    opens, texts = (False,), range(304, 1840)
    left_out = [(CUT, "bzhi r13d", 0), (REVERSED, "vpshufb", 0), (LOADED, "vmovdqu8", 0),
                ("a product is left out", "vpclmul", 1)]

    def __init__(self):
        super().__init__(16, 0)
        self.places = places("mov r10, qword ptr [rdi + 0x18]; mov r13d, 0xffffffff", "vbroadcasti32x4 zmm8")
        self.inside = self.behind = [("vector", r, i) for r in (16, 17, 18) for i in range(4)]

    def value(self, call, cells, h):
        found = call.cells()
        low, mid, high = (cat(*(found[c] for c in cells[i:i + 4])) for i in (0, 4, 8))
        if not all(v.defined for v in (low, mid, high)):
            raise Unproved("GHASH is not there")
        low, mid, high = low.image, mid.image, high.image
        whole = low ^ terms.times_y(low ^ mid ^ high, 64) ^ terms.times_y(high, 128)
        # The reduction divides by y^128 = x^-128.
        for factor in terms.X127, field_power(2, 128), field_power(h, (1 << 128) - 1 - 16):
            whole = field_product(whole, factor)
        return whole


class Sums(Ghash):
    """arm64's aesgcm_ce: three sums of products that are not reduced."""

    given = {("general", 16): "ad", ("general", 17): "bytes"}

    def __init__(self):
        Kind.__init__(self, 128, places("cbz x17"))
        self.inside = self.behind = gcm_ce.HASH

    def value(self, call, cells, h):
        return gcm_ce.Groups.hash_of(call)


class Blocks(Ghash):
    """32-bit ARM's aesgcm_ce32: the section counts whole blocks, and the remainder stays in memory. The bytes of each
    half are reversed."""

    modulus, counts_blocks = 16, True

    def __init__(self):
        find = places("ldr r3, [r0, #0x18]", "ldr r6, [r1, #0x144]", "subs r5, r4, #8")
        Kind.__init__(self, 128, find, moved=(chacha_loop.scratch(324), chacha_loop.scratch(332)))
        self.inside = [("vector", n) for n in (62, 63, 60, 61)]
        self.behind = [chacha_loop.scratch(272 + o) for o in (8, 12, 0, 4)]

    def few(self, residue, least):
        return [residue] if residue >= least else [], 16 + residue

    def rests(self, residue):
        return range(16 + residue, 129 + residue, 16)


def x86_places(kernel):
    """Finds a section that starts with a test of the length, and is skipped if that is 0. Its loop ends with the
    last jump back."""
    insns, found = instructions(kernel), []
    for i, insn in enumerate(insns):
        if insn.mnemonic == "mov" and insn.op_str.endswith(f"+ {A['ARG_AD_BYTES']:#x}]"):
            register = insn.op_str.split(",")[0]
            for j in (i + 1, i + 2):
                if text_of(insns[j]) == f"test {register}, {register}" and insns[j + 1].mnemonic == "je":
                    found.append((insn.address, insns[j + 1].operands[0].imm))
    # If short packets have a separate path, the code has two tests.
    begin, end = found[-1]
    inside = [insn for insn in insns if begin < insn.address < end and insn.mnemonic.startswith("j")]
    return begin, end, [i.operands[0].imm for i in inside if begin < i.operands[0].imm < i.address][-1]


def places(begin, end=None, loop=None):
    """Finds a section by the texts of instructions. Its start is the first instruction whose text starts with `begin`.
    Its end and its loop are the first ones after that whose texts match. A text may include the next instruction's.
    Without an end, that is the target of the jump there, and the loop follows the jump."""
    def find(kernel):
        insns = instructions(kernel)
        texts = [f"{text_of(i)}; {text_of(after)}" for i, after in zip(insns, insns[1:])]
        at = next(n for n, text in enumerate(texts) if text.startswith(begin))
        if end is None:
            jump = next(n for n in range(at, len(insns)) if insns[n].mnemonic in ("je", "cbz"))
            return insns[at].address, int(insns[jump].op_str.split()[-1].lstrip("#"), 16), insns[jump + 1].address
        behind = lambda text: text and next(insns[n].address for n in range(at + 1, len(texts)) if texts[n].startswith(text))
        return insns[at].address, behind(end), behind(loop)
    return find


_X86 = [[("general", n)] for n in (8, 9, 10)], [[("memory", FRAME + 8 * i + o) for o in (0, 4)] for i in range(3)]
_ARM64 = [[("general", n)] for n in (19, 20, 21)]
_NEON32, _ARMV6 = ([[("general", n)] for n in numbers] for numbers in ((2, 3, 4, 6, 5), (2, 3, 4, 5, 6)))
_PLACES64 = places("ldp x22, x7, [x5, #0x18]", "tbnz w6, #2", "ldp x12, x13, [x22], #0x10")
_PLACES32 = places("ldr r8, [r0, #0x18]", "ldr r7, [r1, #-0x38]", "ldr r7, [r8]")
_PLACES6 = places("ldr r8, [r0, #0x18]", "ldr fp, [r1, #-0x14]; mov ip, #2", "ldr r7, [r8]")
KINDS = {
    (x86, "chacha20poly1305_ssse3"): Poly1305(x86_places, *_X86),
    (x86, "chacha20poly1305_avx2"): Poly1305(x86_places, *_X86),
    (x86, "chacha20poly1305_avx512vl"): Poly1305(x86_places, *_X86),
    (x86, "chacha20poly1305_avx512"): Lanes(),
    (x86, "aesgcm_aesni"): Ghash(128, 11, short=64),
    (x86, "aesgcm_aesniavx"): Ghash(128, 11, short=64),
    (x86, "aesgcm_avx2"): Ghash(256, 11),
    (x86, "aesgcm_avx512"): Ghash(64, 19, short=256, sealed=Ahead.texts, text=("general", 11)),
    (arm64, "chacha20poly1305_neon"): Poly1305(_PLACES64, _ARM64, _ARM64, False),
    (arm64, "chacha20poly1305_neon6"): Poly1305(_PLACES64, _ARM64, _ARM64, False),
    (arm64, "aesgcm_ce"): Sums(),
    (arm32, "aesgcm_ce32"): Blocks(),
    (arm32, "chacha20poly1305_neon"):
        Poly1305(_PLACES32, _NEON32, _NEON32, moved=(chacha_loop.scratch(320 - 60),)),
    (arm32, "chacha20poly1305_armv6"):
        Poly1305(_PLACES6, _ARMV6, _ARMV6, moved=(chacha_loop.scratch(288 - 20),)),
}

# Kinds of few bytes of associated data, if these take another path with a short text in a whole packet.
PADDED = {
    (x86, "chacha20poly1305_avx512"): [Padded(blocks) for blocks in range(1, 5)],
    (x86, "aesgcm_avx512"): [Block(256, 14, 8, "mov r9d, 0xffffffff; bzhi r9d, r9d, r8d", "vpshufd"), Ahead()],
}

# Instructions of a section that planted faults omit: (name of the fault, start of their text, which of them).
_POINTER, _LEFT, _PRODUCT = "the pointer does not move", "the remaining length does not change", "a product is left out"
_CARRY, _HIGH, _TAIL = "a carry is dropped", "2^128 is left out", "the tail is not cut off"
_POWER, _LANES, _TWICE = "the power is another", "lanes are not added up", "GHASH is counted twice"
_POLY1305 = [(_POINTER, "add r11, 0x10", 0), (_CARRY, "adc r9, rcx", 0), ("the last carry is dropped", "adc r10, 0", 0),
             (_PRODUCT, "imul", 0), (_HIGH, "adc r10, 1", 0), (_TAIL, "shr rdx", 1)]
_GHASH = [(_LEFT, "sub r14,", 0), (_PRODUCT, ("pclmul", "vpclmul"), 0), (_POWER, "neg r13", 0),
          (_TAIL, "shr rbx, cl", 1)]
_NEON64 = [(_LEFT, "subs x7, x7, #0x10", 1), (_PRODUCT, "umulh", 0), (_CARRY, "adcs x20, x26", 0),
           ("the last carry is dropped", "adc x21, x21, xzr", 1), (_HIGH, "adc x21, x21, x0", 0),
           ("the tail is another", "lsl x10", 0)]
LEFT_OUT = {
    (x86, "chacha20poly1305_ssse3"): _POLY1305,
    (x86, "chacha20poly1305_avx2"): _POLY1305,
    (x86, "chacha20poly1305_avx512vl"): _POLY1305,
    (x86, "chacha20poly1305_avx512"): [
        (_POINTER, "add rbx, 0x80", 0), (_LEFT, "sub r13, 0x80", 0), (_PRODUCT, "vpmadd52luq", 3),
        (_CARRY, "vpaddq zmm26, zmm26", 0), ("lanes are in another order", "pdep eax", 0), (_TAIL, "bzhi r14,", 0),
        ("empty lanes are read", "bzhi rax, rax, r11", 0), (_HIGH, "vporq", 0)],
    (x86, "aesgcm_aesni"): _GHASH + [(_POINTER, "add r12, 0x10", 0)],
    (x86, "aesgcm_aesniavx"): _GHASH + [(_POINTER, "add r12, 0x10", 0)],
    (x86, "aesgcm_avx2"): _GHASH + [(_POINTER, "add r10, 0x20", 0), (_LANES, "vextracti128", -1)],
    (x86, "aesgcm_avx512"): [
        (_LEFT, "sub rax, r12", 0), (_PRODUCT, "vpclmul", 0), (_POWER, "neg r14", 0), (_TAIL, "bzhi r13,", 0),
        (_POINTER, "add r10, r12", 0), (_LANES, "vextracti64x4", 0)],
    (arm64, "chacha20poly1305_neon"): _NEON64,
    (arm64, "chacha20poly1305_neon6"): _NEON64,
    (arm64, "aesgcm_ce"): [
        (_LEFT, "subs x17", 0), (_PRODUCT, "pmull", 4), ("a sum is not kept", "mov v10.16b", 0), (_POWER, "sub x14", 0),
        (_TWICE, "movi v10", 0)],
    (arm32, "aesgcm_ce32"): [
        (_LEFT, "mov r4, r5", 0), (_PRODUCT, "vmull.p64", 1), ("a sum is not reduced", "veor q2, q2, q1", 0),
        ("the tail is another", "strb r7", 0), (_TWICE, "vmov.i8 q15", 0)],
    (arm32, "chacha20poly1305_neon"): [
        (_POINTER, "str r8, [r1, #-0x18]", 0), (_PRODUCT, "umlal", 2), (_CARRY, "adcs r4, r0", 0),
        (_HIGH, "adc r5, r5, #1", 0), ("the tail is not padded", "str r0, [sb, #0xc]", 0)],
    (arm32, "chacha20poly1305_armv6"): [
        (_POINTER, "str r8, [r1, #-0x20]", 0), (_PRODUCT, "umaal", 2), (_CARRY, "adcs r4", 1),
        (_HIGH, "adc r6, r6, #1", 0), ("the tail is not padded", "str r0, [sb, #0xc]", 0)],
}


def kinds_of(kernel):
    """Returns the kinds of a kernel's sections. All but the first are those of few bytes."""
    of = kernel.isa, kernel.name.removeprefix("sealane_")
    return [KINDS[of], *PADDED.get(of, ())] if of in KINDS else []
