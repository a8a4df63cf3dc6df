"""AES-GCM with bit-sliced AES on ARM. Blocks are proved once, for all data; then calls.

    induction.blocks_arm [--quick] [--planted] [--jobs N] [--part I/N] OBJECT...

This is like blocks_mips.py, with these sections:

    Spread     the round keys from set-up are spread over the bits of several blocks
    Rounds     any blocks are encrypted with these
    Product    the sum of GHASH and a block is multiplied by H, whose table set-up has made
"""
import os
import re

import spec
from induction.engine import find
from induction.sections import OF, SCHEDULE, TABLE, Gcm, Section, call, cipher, element, expect_made, expect_rounds, factor, made, number, rounds_of, \
    schedule_bytes, size_of, words
from run import packets
from run.kernels import ARGS, KEY, SCRATCH, Call
from run.memory import Memory
from spec.args import ROOT
from values import terms
from values.terms import ATOMS, Unproved, atom, cat, const, field_product, same

CALLER = 1  # the register of scratch


def offsets(path):
    """The numbers that a source file defines."""
    found = {}
    with open(os.path.join(ROOT, "asm", path)) as f:
        for name, text in re.findall(r"^#define (\w+) +([\w ()+*-]+?) *(?:/\*|$)", f.read(), re.M):
            if re.fullmatch(r"[\d ()+*-]+", text := re.sub(r"[A-Z]\w*", lambda m: str(found.get(m[0], m[0])), text)):
                found[name] = eval(text)
    return found


class Armv6(Gcm):
    """Two blocks at once. The section Product needs no copy of the table's form: any table from set-up is proved to multiply."""

    at_once, table_bytes = 1, 144  # set-up encrypts two blocks of zeroes

    def __init__(self, path):
        super().__init__(path)
        self.at = {**offsets("arm/aes_armv6.h"), **offsets("arm/aesgcm_armv6.S")}
        at = lambda text, name, behind=0: find(self, text.format(f"#{self.at[name]:#x}"), 0, behind).address
        spread = at("add r5, r1, {}", "KEYS")
        counter = at("str fp, [r1, {}]", "COUNTER", at("str r4, [r1, {}]", "PASS"))
        product = at("str r3, [r1, {}]", "MESSAGE", at("str r5, [r1, {}]", "PHASE"))
        self.spread = Spread(self, spread, at("ldr r3, [r1, {}]", "FLAGS", spread))
        self.rounds = Rounds(self, counter + 16, at("ldr r4, [r1, {}]", "PASS", counter))
        self.product = Product(self, product + 4, at("ldr r4, [r1, {}]", "BLOCKS", product))
        self.sections = self.spread, self.rounds, self.product

    def expect_table(self, cells, h):
        self.product.show(cells, h)

    def encryption(self, bits_, cells, schedule):
        self.rounds.show(bits_, self.spread.show(bits_, cells), schedule)


def spread_bytes(key):
    """The size of spread round keys: 32 bytes for each."""
    return 2 * size_of(key.width)


class Spread(Section):
    pointers = CALLER,

    @property
    def place(self):
        return SCRATCH + self.kernel.at["KEYS"]

    def show(self, bits_, cells):
        """Proves the section for a key from set-up. Returns the spread round keys."""
        memory = self.alone({4: self.pointer("key", KEY)}, cells, ("rounds", KEY, 8, True, False),
                            ("schedule", KEY + SCHEDULE, size_of(bits_), True, False)).memory
        return {a: memory.peek(a, 4) for a in range(self.place, self.place + 2 * size_of(bits_), 4)}

    def effect(self, m):
        key, memory = m.known(m.general[4], "an address"), m.memory
        schedule = expect_made(memory, "round key", range(key + SCHEDULE, key + TABLE, 4), schedule_bytes)
        memory.allowed(key + SCHEDULE, schedule_bytes(*schedule), False)
        expect_rounds(m, key, schedule[0].width)
        found = made("spread key", schedule, spread_bytes(*schedule))
        return lambda: memory.cells.update(zip(range(self.place, self.place + 4 * len(found), 4), found))


class Rounds(Section):
    pointers = CALLER,
    columns = (0, 3, 5, 7), (2, 4, 6, 8)  # the registers of each block

    def show(self, bits_, cells, schedule):
        """cells: the results of Spread."""
        k, blocks = self.kernel, [words(f"block {i} ") for i in range(len(self.columns))]
        memory = Memory()
        memory.cells.update(cells)
        memory.put_number(KEY, const(rounds_of(bits_), 64))
        memory.put_number(SCRATCH + k.at["ARGS"], Call(k).callers("args", ARGS))
        results = [spec.aes(schedule, block) for block in blocks]
        registers = {r: v for block, of in zip(blocks, self.columns) for r, v in zip(of, terms.parts_of(block, 32))}
        memory = self.alone(registers, memory.cells, ("rounds", KEY, 8, True, False)).memory
        for i, v in enumerate(results):
            if not same(memory.peek(SCRATCH + k.at["KEYSTREAM"] + 16 * i, 16), v):
                raise Unproved(f"block {i} is not what the specification says")

    def effect(self, m):
        k, memory = self.kernel, m.memory
        key, = expect_made(memory, "spread key", range(k.spread.place, SCRATCH + k.at["END"], 4), spread_bytes)
        expect_rounds(m, self.key(m, memory.number(SCRATCH + k.at["ARGS"], 4)), key.width)
        results = [cipher("aes", key, cat(*(m.general[r] for r in of))) for of in self.columns]

        def put():
            for i, v in enumerate(results):
                memory.poke(SCRATCH + k.at["KEYSTREAM"] + 16 * i, v)
        return put


class Product(Section):
    pointers = CALLER,

    @property
    def y(self):
        return SCRATCH + self.kernel.at["Y"]

    @property
    def table(self):
        at = SCRATCH + self.kernel.at["HASH_KEY"]
        return range(at, at + self.kernel.table_bytes, 4)

    def show(self, cells, h):
        """cells: a key from set-up with the table of h."""
        x = words("x")
        scratch = {a: cells[KEY + TABLE + i] for a, i in zip(self.table, range(0, self.kernel.table_bytes, 4))}
        memory = self.alone(dict(zip(range(5, 9), terms.parts_of(x, 32))), scratch).memory
        if element(memory.peek(self.y, 16)) != field_product(element(x), h):
            raise Unproved("the product is not that of the specification")

    def effect(self, m):
        of = expect_made(m.memory, "hash table", self.table)
        x = cat(*m.general[5:9])
        if not x.defined:
            raise Unproved("a product of what nothing has written")
        y = atom("product", (*of, x), None, 128, (1 << 128) - 1)
        found = ATOMS[y.pieces[0][0]]
        if found.images is None:
            found.images = {0: number(field_product(element(x), factor(*of)))}
        return lambda: m.memory.poke(self.y, y)


def least(kernel):
    return 0 if kernel.bitwise and kernel.isa.MACHINE == "EM_ARM" and kernel.name == "sealane_aesgcm_armv6" else None


prepare, tasks, one = Armv6.prepare, Armv6.tasks, Armv6.one


# ---- What must be refused -----------------------------------------------------------------------------------------------

# Instructions to omit: the name of the fault, their text, and which one after the start of that code.
OF_SET_UP = [("a round constant is not the next", "str r2, [r1, #0x1a4]"), ("H is not multiplied by x", "lsl r5, r5, #1"),
             ("a bit that leaves H is lost", "eor r8, r8, r2"), ("POLYVAL and GHASH have one table", "tst r3, #0x20"), ("a bit has no place", "and r8, r0, ip, lsl #3")]
LEFT_OUT = {
    "spread": [("a plane has the other's bits", "and fp, ip, r8, lsr #1"), ("blocks have different keys", "orr sb, sb, sb, lsl #1")],
    "rounds": [("an exclusive or is left out", "eor", 200), ("a round key is not added", "ldr r4, [ip"), ("rows stay in their columns", "eor r8, r8, fp, lsl #4"),
               ("rounds are not counted", "subs r0, r0, #4")],
    "product": [("a product is left out", "umlal"), ("columns are not apart", "and r8, r0, r2, lsl #2"), ("a bit is not reduced", "eor r3, r3, fp, lsl #31"),
                ("columns stay in one product", "orr fp, fp, r6")],
}
OF_CALLS = [("a counter is used again", "str fp, [r1, #0x1b8]"), ("Y is not added", "eor r8, r8, r0"), ("lengths are in bytes", "lsl r5, r5, #3"),
            ("the tag is without its mask", "eor r7, r7, r0"), ("a wipe is left out", "stm r3!, {r4, r5, r6, r7}"),
            ("the hash key's table is incomplete", "str r7, [r5], #4")]


def planted(kernel, args, attempt):
    blocks = attempt.kernel = Armv6(kernel.path)
    given = lambda polyval: blocks.set_up_alone(None, polyval)

    def left_out(faults, show, begin=0):
        for what, text, *number in faults:
            attempt(what, show, find(blocks, text, *number or (0,), begin))
    left_out(OF_SET_UP, lambda: (blocks.set_up_alone(128), given(0), given(1)), blocks.product.end)
    cells, schedule, _ = blocks.set_up_alone(128)
    for section, faults in LEFT_OUT.items():
        left_out(faults, (lambda: given(0)) if section == "product" else lambda: blocks.encryption(128, cells, schedule), getattr(blocks, section).begin)
    blocks.show(True)
    attempt.kernel = Armv6.in_calls(kernel.path, blocks.changes())
    left_out(OF_CALLS, lambda: call(attempt.kernel, packets.GcmShape(100, ad=20)))
