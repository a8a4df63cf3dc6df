"""AES and GHASH by vector permutations (x86-64's aes_ssse3 and aesgcm_ssse3). Blocks are proved once, for all data;
then calls.

    induction.permute [--quick] [--planted] [--jobs N] [--part I/N] OBJECT...

A block uses hundreds of lookups, which take bits.py seconds. So these sections of the code are proved separately.
Their data are arbitrary, and so are all registers that a section does not read:

    rounds     two blocks are encrypted or decrypted, under two keys from set-up, of each length
    schedule   the set-up of these keys
    table      the table is made from a hash key of GHASH or, from another instruction on, of POLYVAL
    product    (X + Y) H by this table replaces Y

In calls, a section is one instruction. It requires the state for which the section was proved, and has the proved
results. Other registers that the section changes are unknown after it. Round keys and tables are then symbols that
only sections can use. AES is an unknown function: only equal blocks have equal results.
"""
import spec
from induction.engine import anew, find, instructions
from induction.sections import BITS, INVERSE_X127, OF, Section, Sectioned, call, cipher, functions, restore, rounds_of, size_of, words
from run import modes, packets, proof
from run.kernels import KEY, SCRATCH
from spec import modes as spec_modes
from spec.args import A
from values import terms
from values.terms import ATOMS, Unproved, atom, cat, const, field_product, same, symbol

RDX, RSI, R11, R12, R15 = 2, 6, 11, 12, 15
FORWARDS, BACKWARDS = A["AES_KEY_SCHEDULE"], A["AES_KEY_INVERSE"]  # offsets of the round keys
TABLE, TABLE_BYTES = A["GCM_KEY_TABLE"], 512
KEY_1 = KEY + 0x800  # a second key, in a separate section


class Permuted(Sectioned):
    """Finds the sections of a kernel."""

    def __init__(self, path):
        super().__init__(path)
        self.gcm, insns = "aesgcm" in self.name, instructions(self)
        text = [f"{i.mnemonic} {i.op_str}" for i in insns]
        place = lambda begin, number=0, behind=0: [i for i, t in enumerate(text) if i >= behind and t.startswith(begin)][number]
        memory = lambda i: int(text[i].split("rsi + ")[1].split("]")[0], 0)
        addresses = lambda begin, end: (insns[begin].address, insns[end].address)
        self.sections = []
        for i, t in enumerate(text[:-1]):
            if t.startswith("mov eax, 0x") and text[i + 1].startswith("movdqa xmm10"):
                # The first and last operations on the second block are additions of the key.
                end = [j for j in range(i, len(text)) if text[j] == "pxor xmm5, xmm9" and text[j - 1].startswith("movdqu xmm9")][1]
                self.sections.append(Rounds(self, int(t[9:], 0), memory(place("cmp eax, dword ptr [rsi", 0, i)), *addresses(i, end + 1)))
        if sorted(s.first for s in self.sections) != ([FORWARDS] if self.gcm else [FORWARDS, BACKWARDS]):
            raise Unproved("other rounds than forwards and backwards")
        if self.gcm:
            begin, product = place("mov r14, qword ptr [r15]"), place("pxor xmm0, xmmword ptr [rsi") - 1
            y, shifted, end = memory(product + 1), memory(place("lea r10, [rsi", -1)), place("jmp", -1)
            self.sections.append(Schedule(self, *addresses(begin, place("pxor xmm5, xmm5", 0, begin) - 1)))
            for reversed_ in (False, True):
                self.sections.append(TableOf(self, reversed_, *addresses(place(f"lea r10, [rsi + {shifted - 16 * reversed_:#x}]"), end)))
            self.sections.append(Product(self, y, *addresses(product, place(f"movdqa xmmword ptr [rsi + {y:#x}], xmm2", 0, product) + 1)))

    def show(self, lengths=BITS):
        """Proves the sections, and the set-up of aes_ssse3's keys."""
        restore()
        cases, by = 0, {type(s): s for s in self.sections}
        for bits_ in lengths:
            anew()
            proof.mode(True)
            name = "key"
            if self.gcm:
                by[Rounds].show(bits_, by[Schedule].show(bits_, name), (name, name))
                cases += 2
                continue
            cells, names = {}, [f"{name}{i}_" for i in range(2)]
            for name, at in zip(names, (KEY, KEY_1)):
                spec.key_schedule(words(name, bits_ // 32))
                made, one_way = (modes.key_cells(self, bits_, name, None, encrypts) for encrypts in (False, True))
                if any(v is not made[0].get(a) for a, v in one_way[0].items()):
                    raise Unproved("other round keys where no inverse is asked for")
                by[Rounds].steps += made[1] + one_way[1]
                cells.update({a - KEY + at: v for a, v in made[0].items()})
            for s in self.sections:
                s.show(bits_, cells, names)
            cases += 6
        for s in self.sections:
            if isinstance(s, TableOf):
                anew()
                proof.mode(True)
                s.show(by[Product])
                cases += 2
        anew()
        return cases, sum(s.steps for s in self.sections)

    def set_up(self, shape):
        """Whether show() has proved this set-up: that of aes_ssse3 is proved with the rounds."""
        return not self.gcm and shape.mode == modes.SETUP

    def replace(self):
        modes.key_cells = cells_of_calls


class Permuting(Section):
    pointers = RSI, RDX

    def run(self, keys, cells, vectors, *regions):
        """Runs the section separately, with these keys at R15, or at R11 and R12. Returns the call."""
        return self.alone({i: self.pointer(f"key {i}", at) for i, at in keys.items()}, cells, *regions, vectors=vectors)


def cells_of(address, v):
    return {address + 4 * i: w for i, w in enumerate(terms.parts_of(v, 32))}


def of_vector(m, i):
    return cat(*m.vector[i][:4])


def put_vector(m, i, v):
    m.vector[i] = (*terms.parts_of(v, 32), *m.vector[i][4:])


def name_of(v):
    """The name of the symbol that starts a value."""
    n = v.pieces[0][0]
    return ATOMS[n].extra if n >= 0 and ATOMS[n].kind == "symbol" else ""


def key_symbols(first, bits_, name):
    """The round keys in calls."""
    return {at: symbol(f"round keys {bits_} {name} {at}", 32) for at in range(first, first + size_of(bits_), 4)}


_names = {}  # first symbol -> (bits, name)


def remember(first, bits_, name):
    _names[f"round keys {bits_} {name} {first}"] = bits_, name
    return key_symbols(first, bits_, name)


def round_keys(m, key, first):
    """Returns the key whose round keys are there."""
    known = _names.get(name_of(m.memory.load(key + first, 4)))
    if known is None:
        raise Unproved("no round keys that set-up has made")
    for at, v in key_symbols(first, *known).items():
        if m.memory.load(key + at, 4) is not v:
            raise Unproved(f"another round key at {at}")
    return known


class Rounds(Permuting):
    def __init__(self, kernel, first, last_key, *places):
        super().__init__(kernel, *places)
        self.first, self.last_key, self.keys = first, last_key, {R15: KEY} if kernel.gcm else {R11: KEY, R12: KEY_1}

    def show(self, bits_, cells, names):
        """Proves the section for keys from set-up: `cells`, at KEY and KEY_1."""
        blocks, results = [words(f"block {i} ") for i in range(2)], []
        for name, block in zip(names, blocks):
            schedule = spec.key_schedule(words(name, bits_ // 32))
            results.append(spec.aes(schedule, block) if self.first == FORWARDS else spec_modes.decrypt(spec_modes.inverse_schedule(schedule), block))
        call = self.run(self.keys, {**cells, SCRATCH + self.last_key: const(self.first + size_of(bits_) - 16, 32)}, {0: blocks[0], 5: blocks[1]},
                        *((f"key {i}", at + self.first, size_of(bits_), True, False) for i, at in self.keys.items()))
        for i, v in zip((0, 5), results):
            if not same(of_vector(call.machine, i), v):
                raise Unproved(f"a block in register {i} is not what the specification says")

    def effect(self, m):
        results, last = {}, m.memory.load(SCRATCH + self.last_key, 4).constant
        for i, (r, _) in zip((0, 5), self.keys.items() if not self.kernel.gcm else [*self.keys.items()] * 2):
            bits_, name = round_keys(m, m.known(m.general[r], "an address"), self.first)
            if last != self.first + size_of(bits_) - 16:
                raise Unproved("another number of rounds")
            results[i] = cipher("aes" if self.first == FORWARDS else "inverse aes", words(name, bits_ // 32), of_vector(m, i))
        return lambda: [put_vector(m, i, v) for i, v in results.items()]


class Schedule(Permuting):
    """The set-up of AES-GCM: the section replaces the key by round keys."""

    writes = range(KEY + FORWARDS, KEY + TABLE)

    def show(self, bits_, name):
        key = words(name, bits_ // 32)
        spec.key_schedule(key)  # names the S-boxes
        cells = {**cells_of(KEY, const(rounds_of(bits_), 64)), **cells_of(KEY + FORWARDS, key)}
        return self.run({R15: KEY}, cells, {}, ("rounds", KEY, 8, True, False), ("schedule", KEY + FORWARDS, size_of(bits_), True, True)).memory.cells

    def effect(self, m):
        key = m.known(m.general[R15], "an address")
        rounds = m.memory.load(key, 8).constant
        bits_ = next((b for b in BITS if rounds_of(b) == rounds), None)
        v = bits_ and m.memory.load(key + FORWARDS, bits_ // 8)
        name = name_of(v).removesuffix("0") if v else ""
        if not v or v is not words(name, bits_ // 32):
            raise Unproved("no key to set up")
        made = remember(FORWARDS, bits_, name)
        return lambda: [m.memory.store(key + at, v) for at, v in made.items()]


_hash_keys = []  # of tables, as elements of the field


class TableOf(Permuting):
    writes = range(KEY + TABLE, KEY + TABLE + TABLE_BYTES)

    def __init__(self, kernel, reversed_, *places):
        super().__init__(kernel, *places)
        self.reversed = reversed_

    def hash_key(self, v):
        return spec.polyval_key(v) if self.reversed else spec.field_element(v)

    def show(self, product):
        """Proves the table, and the product by it."""
        key = words("hash key")
        call = self.run({R15: KEY}, {}, {0: key}, ("table", KEY + TABLE, TABLE_BYTES, True, True))
        product.show({a: v for a, v in call.memory.cells.items() if a in self.writes}, self.hash_key(key))

    def effect(self, m):
        key, v = m.known(m.general[R15], "an address"), of_vector(m, 0)
        if not v.defined:
            raise Unproved("no hash key")
        _hash_keys.append(self.hash_key(v))
        return lambda: [m.memory.store(key + TABLE + at, table_symbol(len(_hash_keys) - 1, at)) for at in range(0, TABLE_BYTES, 4)]


def table_symbol(number, at):
    return symbol(f"hash table {number} {at}", 32)


class Product(Permuting):
    def __init__(self, kernel, y, *places):
        super().__init__(kernel, *places)
        self.y = y

    def show(self, table, h):
        x, y = words("x"), words("y")
        call = self.run({R15: KEY}, {**table, **cells_of(SCRATCH + self.y, y)}, {0: x}, ("table", KEY + TABLE, TABLE_BYTES, True, False))
        if spec.field_element(call.memory.peek(SCRATCH + self.y, 16)) != field_product(spec.field_element(terms.xor(x, y)), h):
            raise Unproved("the product is not that of the specification")

    def effect(self, m):
        key = m.known(m.general[R15], "an address")
        name = name_of(m.memory.load(key + TABLE, 4)).split()
        number = int(name[2]) if name[:2] == ["hash", "table"] else None
        for at in range(0, TABLE_BYTES, 4):
            if m.memory.load(key + TABLE + at, 4) is not table_symbol(number, at):
                raise Unproved("no table that set-up has made")
        x = terms.xor(of_vector(m, 0), m.memory.load(SCRATCH + self.y, 16))
        if not x.defined:
            raise Unproved("a product of what nothing has written")
        product = atom("product", (x,), number, 128, (1 << 128) - 1)
        found = ATOMS[product.pieces[0][0]]
        if found.images is None:  # its reversed bytes are an element of the field, which is X127 times its image
            found.images = {0: field_product(field_product(spec.field_element(x), _hash_keys[number]), INVERSE_X127)}
        return lambda: m.memory.store(SCRATCH + self.y, spec.reverse(product))


# ---- Calls ------------------------------------------------------------------------------------------------------------------

def cells_of_calls(kernel, bits_, name, trace=None, encrypts=False):
    """Replaces modes.key_cells."""
    cells = {KEY + A["AES_KEY_ROUNDS"]: const(rounds_of(bits_), 32), KEY + A["AES_KEY_ROUNDS"] + 4: const(0, 32)}
    for first in (FORWARDS,) if encrypts else (FORWARDS, BACKWARDS):
        cells.update({KEY + at: v for at, v in remember(first, bits_, name).items()})
    return cells, 0


of, least, prepare, tasks, one = functions(dict.fromkeys((("EM_X86_64", f"sealane_{name}_ssse3") for name in ("aes", "aesgcm")), Permuted))


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
# Instructions to omit, in sections and in calls.
LEFT_OUT = {
    "aes": [("1/j is not added", "pxor xmm3, xmm1"), ("the second block's last lookup is left out", "pshufb xmm9, xmm7", -1),
            ("a round key is not added", "pxor xmm1, xmm2")],
    "aesgcm": [("1/j is not added", "pxor xmm3, xmm1"), ("Y is not added", "pxor xmm0, xmmword ptr [rsi"),
               ("what is beyond x^127 is lost", "palignr xmm3, xmm2, 0xf", 7),
               ("H is not moved on", "psrlq xmm0, 1"), ("a byte of the table is that before", "paddd xmm7")],
}
OF_CALLS = {
    "aes": [("the number of rounds is not there", "mov dword ptr [rsi + 0x120], ecx"), ("the counter does not go on", "add ebx, 2"),
            ("keystream is not wiped", "movdqa xmmword ptr [rsi + 0x100], xmm0", -1)],
    "aesgcm": [("the number of rounds is not there", "mov dword ptr [rsi + 0x160], eax"), ("the counter does not go on", "add ebx, 2"),
               ("the tag is without its mask", "pxor xmm0, xmmword ptr [rsi + 0x110]"), ("the lengths are not swapped", "bswap r11")],
}


def planted(kernel, args, attempt):
    name = "aesgcm" if "aesgcm" in kernel.name else "aes"
    permuted = attempt.kernel = Permuted(kernel.path)
    begin = permuted.constants.index(bytes(16 * [15]))
    bytes_ = [(what, begin + at) for what, at in BYTES + (INVERSE_BYTES if name == "aes" else [])] + ([FOLDED] if name == "aesgcm" else [])

    def other(at):
        before = permuted.constants
        try:
            permuted.constants = bytes(b ^ (i == at) for i, b in enumerate(before))
            permuted.show(BITS[:1])
        finally:
            permuted.constants = before
    for what, at in bytes_:
        attempt(what, lambda: other(at))
    for what, text, *number in LEFT_OUT[name]:
        attempt(what, lambda: permuted.show(BITS[:1]), find(permuted, text, *number))
    permuted.show(BITS[:1])
    permuted.in_sections()
    shape = modes.ModeShape(modes.CTR, 5) if name == "aes" else packets.GcmShape(100, ad=20)
    for what, text, *number in OF_CALLS[name]:
        attempt(what, lambda: call(attempt.kernel, shape), find(permuted, text, *number))
