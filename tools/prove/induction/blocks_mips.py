"""AES-GCM in integer registers (MIPS). Blocks are proved once, for all data; then calls.

    induction.blocks_mips [--quick] [--planted] [--jobs N] [--part I/N] OBJECT...

bits.py takes seconds for bit-sliced AES. So the set-up of keys and these sections of the code are proved separately.
Their data are arbitrary, and so are registers and scratch that a section does not read:

    Spread     the round keys from set-up are spread over the bits of many blocks; the nonce is added to the first round
               key
    Keystream  8 or 16 blocks are encrypted with these, from any counter on
    Powers     factors are made from any four powers of H
    Sum        1 to 4 blocks are multiplied by their powers and added

In calls, a section is one instruction, as in permute.py. The results of set-up and sections are then unknown
functions of the key, which only the next section can use. Other cells that a section changes are unknown after it.
"""
import spec
from induction.sections import CALLS, OF, SCHEDULE, SET_UP, TABLE, Gcm, Section, element, expect_blocks, expect_made, expect_rounds, functions, in_calls, \
    key_of, made, product, rounds_of, size_of, words
from isa.integer import from_word
from run import packets
from run.kernels import ARGS, KEY, SCRATCH, Call
from run.memory import Memory
from spec.args import A
from values import terms
from values.terms import Unproved, cat, const, cut, field_power, field_product, same, symbol, tainted

POWERS, SPREAD = 4, 128  # SPREAD: bytes of a spread round key
X = range(8, 16)  # registers x0 .. x7
ARGUMENTS, POINTER = 4, 5  # registers of the arguments and of scratch
INVERSE_X = field_power(2, (1 << 128) - 2)


class Blocks(Gcm):
    """Finds the sections of a kernel, and the offsets of its numbers in scratch."""

    orders, table_bytes, called = (0,), 16 * POWERS, packets.GcmShape(100, ad=20)

    def __init__(self, path):
        super().__init__(path)
        self.word = word = self.isa.POINTER // 8
        load, add = ("ld", "daddiu") if word == 8 else ("lw", "addiu")
        self.row, self.at_once, self.factor = 8 * word, 2 * word, 6 * word
        self.state = A["SCRATCH_SAVE_BYTES"]
        self.keys = self.state + 4 * self.row
        self.table = self.keys + 15 * SPREAD
        self.fifths = self.table + (3 if word == 8 else 9) * POWERS * self.factor
        self.y = self.fifths + 5 * word
        self.arguments = self.y + 4 * 16
        self.flags, self.counter, passes, phase, self.slot, self.start = (self.arguments + n * word for n in (1, 7, 11, 12, 13, 14))
        # Addresses of factors, which are made from powers: after each block's word.
        self.factors = [a for at in range(self.slot_of(0), SCRATCH + self.fifths, self.factor) for a in range(at + word, at + self.factor, 4)]
        code = [self.isa.fields(self.code, pc) for pc in range(0, len(self.code), 4)]

        def place(name, behind=0, **fields):
            for i in range(behind // 4, len(code)):
                if code[i][0] == name and fields.items() <= code[i][1].items():
                    return 4 * i
            raise Unproved(f"no {name} {fields}")
        spread = place(add, s=POINTER, t=7, i=self.keys) - 4
        powers = place(add, s=POINTER, t=X[6], i=self.table + POWERS * self.factor) - 20
        self.spread = Spread(self, spread, place("bgez", spread, s=X[4]) + 8)
        self.powers = Powers(self, powers, place("bne", powers, s=X[4], t=X[6]) + 8)
        self.keystream = Keystream(self, place("sw", s=POINTER, t=X[1], i=passes) + 4, place("lw", s=POINTER, t=X[1], i=passes))
        self.sum = Sum(self, place(load, s=POINTER, t=4, i=self.start), place("lw", s=POINTER, t=X[4], i=phase))
        self.sections = self.spread, self.powers, self.keystream, self.sum

    def expect_table(self, cells, h):
        """Requires the powers of H divided by x, the highest first."""
        memory, power = Memory(self.isa.big), INVERSE_X
        memory.cells.update(cells)
        for i in reversed(range(POWERS)):
            power = field_product(power, h)
            if element(self.numbers(memory, KEY + TABLE + 16 * i)) != power:
                raise Unproved(f"power {POWERS - i} of the hash key is not that of the specification")

    def encryption(self, bits_, cells, schedule):
        self.keystream.show(bits_, self.spread.show(bits_, cells), schedule)

    def products(self):
        self.sum.show(*self.powers.show())
        return POWERS

    def slot_of(self, i):
        """The address of the i-th block's word in the first column."""
        return SCRATCH + self.table + i * self.factor

    def columns(self, x):
        """Words of a block and sums of them, as store_block stores them, with their offsets from the first."""
        w = terms.parts_of(x, 8 * self.word)
        if self.word == 4:
            w = [w[0], w[1], terms.xor(w[0], w[1]), w[2], w[3], terms.xor(w[2], w[3]), terms.xor(w[0], w[2]), terms.xor(w[1], w[3])]
        w.append(terms.xor(*w[-2:]))
        return [(i * POWERS * self.factor, v) for i, v in enumerate(w)]

    def masks(self):
        """Every fifth bit, as in the constants."""
        return const(int.from_bytes(self.constants[:5 * self.word], "little"), 40 * self.word)

    def numbers(self, memory, address, count=4):
        """Returns count 32-bit numbers, lowest first."""
        return cat(*(memory.number(address + 4 * i, 4) for i in range(count)))

    def put_numbers(self, memory, address, v):
        for i, part in enumerate(terms.parts_of(v, 32)):
            memory.put_number(address + 4 * i, part)


def spread_bytes(key, nonce):
    """The size of spread round keys."""
    return size_of(key.width) // 16 * SPREAD


# ---- Sections ---------------------------------------------------------------------------------------------------------------

class MipsSection(Section):
    pointers = POINTER,

    def lose(self, m):
        m.product, m.half_stored = tainted(2 * m.bits), None
        m.half.clear()


class Spread(MipsSection):
    pointers = ARGUMENTS, POINTER

    def show(self, bits_, cells):
        """Proves the section for a key from set-up. Returns scratch."""
        k, nonce = self.kernel, words("nonce", 3)
        rows = {x: cat(*(cut(nonce, 32 * c + 8 * r, 8) for c in range(3)), const(0, k.isa.POINTER - 24)) for r, x in enumerate(X[:4])}
        memory = self.alone(rows, cells, ("rounds", KEY, 8, True, False), ("schedule", KEY + SCHEDULE, size_of(bits_), True, False)).memory
        return {a: v for a, v in memory.cells.items() if SCRATCH + k.keys <= a < SCRATCH + k.table}

    def effect(self, m):
        k, memory, key = self.kernel, m.memory, self.key(m, m.general[ARGUMENTS])
        of = key_of(m, key + SCHEDULE)
        expect_rounds(m, key, of.width)
        rows = [m.read(x) for x in X[:4]]
        if any(not v.defined or v.most >> 24 for v in rows):
            raise Unproved("no nonce")
        nonce = cat(*(cut(v, 8 * c, 8) for c in range(3) for v in rows))
        found = made("spread key", (of, nonce), spread_bytes(of, nonce))
        yield
        memory.cells.update(zip(range(SCRATCH + k.keys, SCRATCH + k.table, 4), found))


class Keystream(MipsSection):
    def blocks(self, nonce, counter):
        return [cat(nonce, spec.reverse(terms.add_modular(counter, const(i, 32)))) for i in range(self.kernel.row // 4)]

    def place(self, row, block):
        return SCRATCH + self.kernel.state + self.kernel.row * row + 4 * block

    def show(self, bits_, cells, schedule):
        """cells: the results of Spread."""
        k, nonce, counter = self.kernel, words("nonce", 3), symbol("counter", 32)
        memory = Memory(k.isa.big)
        memory.cells.update(cells)
        memory.put_number(KEY, const(rounds_of(bits_), 64))
        memory.put_pointer(SCRATCH + k.arguments, Call(k).callers("args", ARGS))
        results = [spec.aes(schedule, block) for block in self.blocks(nonce, counter)]
        memory = self.alone({X[0]: from_word(counter, k.isa.POINTER)}, memory.cells, ("rounds", KEY, 8, True, False)).memory
        rows = [[memory.number(self.place(r, i), 4) for r in range(4)] for i in range(len(results))]
        expect_blocks([cat(*(cut(w, 8 * c, 8) for c in range(4) for w in of)) for of in rows], results)
        if not same(memory.number(SCRATCH + k.counter, 4), terms.add_modular(counter, const(len(results), 32))):
            raise Unproved("the counter is another")

    def effect(self, m):
        k, memory = self.kernel, m.memory
        key, nonce = expect_made(memory, "spread key", range(SCRATCH + k.keys, SCRATCH + k.table, 4), spread_bytes)
        expect_rounds(m, self.key(m, memory.number(SCRATCH + k.arguments, k.word)), key.width)
        counter = cut(m.read(X[0]), 0, 32)
        if not counter.defined or from_word(counter, m.bits) is not m.read(X[0]):
            raise Unproved("no counter")
        blocks = self.blocks(nonce, counter)
        blocks = in_calls(0, len(blocks) * [key], blocks)
        yield
        for i, v in enumerate(blocks):
            for r in range(4):
                memory.put_number(self.place(r, i), cat(*(cut(v, 32 * c + 8 * r, 8) for c in range(4))))
        memory.put_number(SCRATCH + k.counter, terms.add_modular(counter, const(len(blocks), 32)))


class Powers(MipsSection):
    def show(self):
        """Returns the factors, and the powers from which they are made."""
        k, powers = self.kernel, [words(f"power {i} ") for i in range(POWERS)]
        memory = Memory(k.isa.big)
        for i, v in enumerate(powers):
            k.put_numbers(memory, KEY + TABLE + 16 * i, v)
        memory.poke(SCRATCH + k.fifths, k.masks())
        memory = self.alone({X[4]: self.pointer("scratch", SCRATCH, k.table), X[5]: self.pointer("key", KEY, TABLE)}, memory.cells,
                            ("table", KEY + TABLE, 16 * POWERS, True, False)).memory
        return {a: memory.peek(a, 4) for a in k.factors}, powers

    def effect(self, m):
        k, memory, powers = self.kernel, m.memory, m.known(m.read(X[5]), "an address")
        if m.known(m.read(X[4]), "an address") != k.slot_of(0) or memory.peek(SCRATCH + k.fifths, 5 * k.word) is not k.masks():
            raise Unproved("no place for factors, or no masks")
        of = k.table_of(memory, powers)
        flags = memory.number(SCRATCH + k.flags, 4)
        yield
        memory.cells.update(zip(k.factors, made("factor", of, 4 * len(k.factors))))
        m.write(X[0], from_word(flags, m.bits))


class Sum(MipsSection):
    def show(self, factors, powers):
        k = self.kernel
        for count in range(1, POWERS + 1):
            begin, blocks = POWERS - count, [words(f"block {i} ") for i in range(count)]
            memory = Memory(k.isa.big)
            memory.cells.update(factors)
            memory.poke(SCRATCH + k.fifths, k.masks())
            memory.put_number(SCRATCH + k.start, self.pointer("scratch", SCRATCH, k.slot_of(begin) - SCRATCH)(Call(k)))
            for i, v in enumerate(blocks):
                for behind, w in k.columns(v):
                    memory.put_number(k.slot_of(begin + i) + behind, w)
            behind = k.slot_of(POWERS) - SCRATCH
            memory = self.alone({X[7]: self.pointer("scratch", SCRATCH, behind)}, memory.cells).memory
            result = 0
            for v, power in zip(blocks, powers[begin:]):
                result ^= field_product(element(v), element(power))
            if element(k.numbers(memory, SCRATCH + k.y)) != field_product(result, 2):
                raise Unproved(f"the sum of {count} blocks is not that of the specification")

    def effect(self, m):
        k, memory = self.kernel, m.memory
        begin, odd = divmod(m.known(memory.number(SCRATCH + k.start, k.word), "an address") - k.slot_of(0), k.factor)
        if odd or not 0 <= begin < POWERS or m.known(m.read(X[7]), "an address") != k.slot_of(POWERS) or \
                memory.peek(SCRATCH + k.fifths, 5 * k.word) is not k.masks():
            raise Unproved("no blocks, or no masks")
        of = expect_made(memory, "factor", k.factors)
        first, blocks = memory.number(SCRATCH + k.start, k.word), []
        for i in range(begin, POWERS):
            found = [memory.number(k.slot_of(i) + behind, k.word) for behind, _ in k.columns(const(0, 128))]
            x = cat(*found[:2]) if k.word == 8 else cat(*found[:2], *found[3:5])
            if not x.defined or any(v is not w and v.image != w.image for v, (_, w) in zip(found, k.columns(x))):
                raise Unproved("no block, or other sums of its words")
            blocks.append(x)
        y = product(of, *zip(blocks, range(len(blocks), 0, -1)))
        yield
        k.put_numbers(memory, SCRATCH + k.y, y)
        for at in (k.start, k.slot):
            memory.put_number(SCRATCH + at, terms.add(m.bits, first, const(-begin * k.factor, m.bits))[0])


# ---- What must be refused -----------------------------------------------------------------------------------------------

# Texts of instructions with 32 and 64 bits.
Blocks.faults = {
    SET_UP: [("a round constant is not the next", "sll $t1, $t1, 1"), ("H is not divided by x", "sll $t0, $t0, 1"),
             ("a byte of a round key is in another row", "ins $t1, $t3", -1)],
    "spread": [("the nonce is not added", "xor $t0, $t0, $s6")],
    "keystream": [("a counter is another block's", "addiu $t2, $t0"), ("bytes stay in their columns", ("rotr", "dshd")),
                  ("an exclusive or is left out", "xor", 300), ("a round key is not added", "xor $s4, $s4, $t9")],
    "powers": [("a power has no factor", ("sw $t8", "sd $t8"))],
    "sum": [("a product is left out", ("maddu", "dmultu"), 2), ("columns are not apart", ("and $s2", "and $s6")),
            ("a bit is not reduced", ("sll $t4, $t0, 0x1f", "dsll32 $t4, $t0, 0x1f"))],
    CALLS: [("keystream is used again", ("addiu $t7, $t7, 4", "daddiu $t7, $t7, 4"), 1), ("Y is not added", "xor $t0, $t0, $s0"),
            ("a sum of a block's words is left out", "xor $t0, $t0, $t2", 1), ("the lengths are in bytes", "sll $t0, $t0, 3"),
            ("the tag is without its mask", "xor $t0, $t0, $t1"), ("a wipe is left out", ("sw $zero, 4($t0)", "sd $zero, 8($t0)"))],
}

of, least, prepare, tasks, one, planted = functions(dict.fromkeys((("EM_MIPS", f"sealane_aesgcm_mips{n}r2") for n in (32, 64)), Blocks))
