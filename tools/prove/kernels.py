"""Kernels in an object file, and calls of them: the layout of memory, and the conditions afterwards."""
import copy
import os
import random
import re

from elftools.elf.elffile import ELFFile

import arm32
import arm64
import bits
import linear
import reduction
import spec
import terms
import x86
from common import Code
from memory import Memory, ReadAgain
from terms import P, Unproved, cat, const, cut, extend, same, secret, symbol

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")


def offsets():
    """The numbers of asm/args.h, which the kernels themselves are assembled with."""
    found = {}
    with open(os.path.join(ROOT, "asm", "args.h")) as f:
        for m in re.finditer(r"^#define SEALANE_(\w+) (\d+)", f.read(), re.M):
            found[m[1]] = int(m[2])
    return found


A = offsets()
FIRST, LAST, OPEN = A["FLAG_FIRST"], A["FLAG_LAST"], A["FLAG_OPEN"]


ISAS = {"EM_X86_64": x86, "EM_AARCH64": arm64, "EM_ARM": arm32}


def lines_of(elf, start):
    """Address in the function -> file:line of the source, if the object says it."""
    if not elf.has_dwarf_info():
        return {}
    dwarf, found = elf.get_dwarf_info(), {}
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        files, version = program["file_entry"], program["version"]
        for entry in program.get_entries():
            if entry.state and not entry.state.end_sequence:
                name = files[entry.state.file - (version < 5)].name.decode()
                found[entry.state.address - start] = f"{os.path.basename(name)}:{entry.state.line}"
    return found


class Kernel:
    def __init__(self, path):
        with open(path, "rb") as f:
            elf = ELFFile(f)
            self.isa = ISAS[elf["e_machine"]]
            symbols = [s for s in elf.get_section_by_name(".symtab").iter_symbols() if s.name.startswith("sealane_")]
            functions = [s for s in symbols if s["st_info"]["type"] == "STT_FUNC"]
            self.path, self.name = path, ", ".join(s.name for s in functions)
            if len(functions) != 1 or not self.specified:
                raise Unproved(f"{path}: functions {self.name}, of which one can be proved that has a specification")
            function = functions[0]
            for s in elf.iter_sections():
                if s.name.startswith((".rela", ".rel.")) and s.num_relocations() and not re.search(r"\.eh_frame|\.debug|\.ARM\.ex", s.name):
                    raise Unproved(f"relocations in {s.name}")

            def content(s):
                data = elf.get_section(s["st_shndx"]).data()
                return data[s["st_value"]:s["st_value"] + s["st_size"]]
            self.code = content(function)
            self.scratch_end = next((s["st_value"] for s in symbols if s.name == "sealane_scratch_end"), None)
            constants = [s for s in symbols if s["st_info"]["type"] == "STT_OBJECT"]
            self.constants = content(constants[0]) if constants else b""
            self.lines = lines_of(elf, function["st_value"])
        self.steps, self.head = None, None
        # Kernels have the bytes behind the macros' part, up to the end of Go's frame (scratch_end); those of batches have all there are.
        self.scratch_from = A["SCRATCH_SAVE_BYTES"]
        self.scratch_bytes = A["BATCH_SCRATCH_BYTES"] if "_batch_" in self.name else self.scratch_end or A["SCRATCH_BYTES"]
        self.asked = False  # for the function of every call

    def __str__(self):
        return f"{self.isa.__name__} {self.name.removeprefix('sealane_')}"

    @property
    def bitwise(self):
        """Whether AES is made of bit operations."""
        return re.fullmatch(r"sealane_aes(gcm)?_(neon|armv6|ssse3)", self.name) is not None

    @property
    def bitsliced(self):
        """Whether a register has one bit of many blocks, some of which are not there."""
        return self.bitwise and self.isa is not x86

    @property
    def branches_on_counter(self):
        """Whether it branches on the counter of a part's AES-GCM where that is public (SEALANE_FLAG_NONCE)."""
        return self.bitsliced or self.name == "sealane_aesgcm_ce"

    @property
    def ascending(self):
        """Whether it turns the bits of bytes round before it multiplies: bit i is then x^i."""
        return self.isa is arm64 and self.name == "sealane_aesgcm_neon"

    @property
    def specified(self):
        """Whether there is a specification for it."""
        return re.fullmatch(r"sealane_(chacha20poly1305|aesgcm)_\w+", self.name) is not None or self.of_modes

    @property
    def of_modes(self):
        """Whether it is of the modes that do not authenticate, or makes masks."""
        return re.fullmatch(r"sealane_(aes|chacha20masks)_\w+", self.name) is not None

    def program(self):
        if self.steps is None:
            self.steps = Code(self.code, self.isa.meaning, self.lines)
        return self.steps

    @property
    def wide(self):
        """Whether it has AVX, whose upper halves are to be zero when it returns."""
        return self.isa is x86 and not self.name.endswith(("ssse3", "aesni"))


# Where things are. Alignments can be changed by a shape; everything is far from everything else.
ARGS, SCRATCH, CONSTS, KEY, NONCE, TAG, STATE = (0x10000 * i for i in range(1, 8))
AD, IN, OUT = 0x1000000, 0x2000000, 0x4000000


def text_symbols(name, size):
    """size bytes of data: symbols of 32 bits, the last as short as it is."""
    return cat(*(symbol(f"{name}{i}", 8 * min(4, size - i)) for i in range(0, size, 4))) if size else None


# What callers guarantee that pointers are multiples of (asm/asm.S, asm/args.h, src/kernel.h): on 64 bits, and of Go's on 32.
ALIGNMENTS = {"scratch": (64, 64), "consts": (32, 8), **dict.fromkeys(("args", "lanes"), (8, 4))}
ALIGNMENT_OF_OWN = {"key": (8, 4), "rounds": (8, 4), "schedule": (8, 4), "inverse": (8, 4), "state": (8, 4)}  # of a level's keys and states
FAR = 1 << 16
POINTERS = {"out", "in", "ad", "key", "nonce", "tag", "state", "lanes"}


class Call:
    """One call of a kernel: memory and registers as the caller sets them."""

    symbolic = True  # pointers are anything with the alignment that callers guarantee; else where they point in a run

    def __init__(self, kernel):
        self.kernel, self.memory, self.scratch_bytes = kernel, Memory(), kernel.scratch_bytes
        terms.lengths = linear
        isa, self.consts = kernel.isa, CONSTS
        self.machine = m = isa.Machine(self.memory)
        m.known = self.known
        for r, name, address in zip(isa.ARGUMENTS, ("args", "scratch", "consts"), (ARGS, SCRATCH, self.consts)):
            m.general[r] = self.callers(name, address)

    def alignment(self, name):
        """Of the target of a pointer of this name."""
        name, own = name.split()[0], "aes" in self.kernel.name or name == "state"
        if self.kernel.of_modes and name == "state":
            own = False
        found = ALIGNMENTS.get(name) or own and ALIGNMENT_OF_OWN.get(name) or (1, 1)
        return found[self.kernel.isa is arm32]

    def callers(self, name, address):
        """A pointer of the caller's, as a value. To no bytes, it may be null."""
        if not self.symbolic:
            return const(address, self.kernel.isa.POINTER)
        least = [] if name.split()[0] not in ("in", "out", "ad") or self.memory.at(address) and self.memory.at(address).start == address else [0]
        return linear.pointer(name, address, self.alignment(name), self.kernel.isa.POINTER, *least)

    def known(self, v, what):
        """Pointers point anywhere: one that is used as an address points near where it does in this run."""
        found = linear.any_place(v)
        if what == "an address" and found and found[0].address is not None and abs(found[1]) < FAR:
            return found[0].address + found[1]
        return type(self.machine).known(self.machine, v, what)

    def regions(self, *more):
        """More: (name, start, size, read, write)."""
        everything = [("args", ARGS, A["ARGS_BYTES"], True, False),
                      ("scratch", SCRATCH + self.kernel.scratch_from, self.scratch_bytes - self.kernel.scratch_from, True, True),
                      ("consts", self.consts, len(self.kernel.constants), True, False), *more]
        for r in everything:
            if r[2]:
                self.memory.region(*r, align=self.alignment(r[0]))
        self.memory.put(self.consts, self.kernel.constants)

    def arguments(self, kind="ARG", **values):
        for name, v in values.items():
            v = symbol(f"no {name}", 64) if v is None else extend(self.callers(name, v), 64) if name in POINTERS else \
                v if isinstance(v, terms.Value) else const(v, 64)
            self.memory.poke(ARGS + A[f"{kind}_{name.upper()}"], v)

    def fill(self):
        """Fills scratch and vector registers with arbitrary values. Values that are added and cancel there then count as no use of
        unwritten bytes; an example is the bits of an absent block when bits are transposed. Arbitrary values are not in a result."""
        for at in range(SCRATCH + self.kernel.scratch_from, SCRATCH + self.scratch_bytes, 4):
            self.memory.cells[at] = symbol(f"before {at}", 32)
        self.machine.fill_vectors(symbol)

    def run(self, trace=None):
        self.kernel.program().run(self.machine, trace)
        self.left_behind()
        return self.machine.steps

    def left_behind(self):
        m = self.machine
        for at in range(SCRATCH, SCRATCH + self.scratch_bytes, 4):
            v = self.memory.cells.get(at)
            if v is not None and secret(v) and v is not symbol(f"before {at}", 32):
                raise Unproved(f"scratch + {at - SCRATCH} still depends on data")
        self.upper_halves()

    def wiped(self, written):
        """Of scratch that a loop has written, that it is written again, without data."""
        for at in sorted(written):
            v = self.memory.cells.get(at, self.memory.unset)
            if SCRATCH <= at < SCRATCH + self.scratch_bytes and (not v.defined or secret(v)) and v is not symbol(f"before {at}", 32):
                raise Unproved(f"scratch + {at - SCRATCH}, which the loop has written, is not wiped")

    def upper_halves(self):
        m = self.machine
        if self.kernel.wide:
            for i in range(16):
                # Zero, or as the caller left it: nothing has written there.
                if any(w.constant != 0 and any(n != terms.UNDEF for n, _, _ in w.pieces) for w in m.vector[i][4:]):
                    raise Unproved(f"the upper half of vector register {i} is not zero")

    def cells(self):
        """Everything but the text, key and arguments: (kind, number) -> value."""
        m, found = self.machine, {}
        for i, v in enumerate(m.general):
            found["general", i] = v
        for i, words in enumerate(m.vector):
            if isinstance(words, terms.Value):
                found["vector", i] = words
                continue
            for j, v in enumerate(words):
                found["vector", i, j] = v
        for i, v in enumerate(getattr(m, "mask", ())):
            found["mask", i] = v
        for a, v in self.memory.cells.items():
            if SCRATCH <= a < SCRATCH + self.scratch_bytes:
                found["memory", a] = v
        return found

    def put(self, cells):
        m = self.machine
        m.general = [terms.undefined(self.kernel.isa.POINTER)] * len(m.general)
        self.change(cells)

    def change(self, cells):
        m = self.machine
        for cell, v in cells.items():
            if cell[0] == "general":
                m.general[cell[1]] = v
            elif cell[0] == "vector" and len(cell) == 2:
                m.vector[cell[1]] = v
            elif cell[0] == "vector" and self.kernel.isa is x86:
                m.set_word(cell[1], cell[2], v)
            elif cell[0] == "vector":
                m.vector[cell[1]] = [v if i == cell[2] else w for i, w in enumerate(m.vector[cell[1]])]
            elif cell[0] == "mask":
                m.mask[cell[1]] = v
            else:
                self.memory.cells[cell[1]] = v

    def expect(self, what, address, value):
        if value is None:
            return
        got = self.memory.peek(address, value.width // 8)
        if got is value:
            return
        for i in range(0, value.width, 8):
            if not same(cut(got, i, 8), cut(value, i, 8)):
                raise Unproved(f"byte {i // 8} of {what} is not what the specification says")


class Shape:
    """A call's lengths, flags, alignments. section: where associated data are of any length, what takes their place
    (adloops.py). both: apart, and so that it is shown in place too (Memory.apart)."""

    section, both = None, True

    def __init__(self, size, ad=0, opens=False, flags=FIRST | LAST, in_place=False):
        self.size, self.ad, self.opens, self.flags, self.in_place = size, ad, opens, flags, in_place

    def __str__(self):
        parts = [f"{'open' if self.opens else 'seal'} {self.size}"]
        if self.ad:
            parts.append(f"ad {self.ad}")
        if self.flags != FIRST | LAST:
            parts.append({FIRST: "first part", LAST: "last part", 0: "middle part"}[self.flags])
        if self.in_place:
            parts.append("in place")
        return ", ".join(parts)


def ad_length(shape):
    return extend(shape.section.bytes + 0, 64) if shape.section else const(shape.ad, 64)


def run_call(call, shape, trace):
    """To the end. Returns the number of instructions and, of associated data of any length, the accumulator behind."""
    if not shape.section:
        return call.run(trace), None
    shape.section.arguments(call)
    h = shape.section.through(call)
    call.left_behind()
    return call.machine.steps, h


def chacha20poly1305(kernel, shape, folder=None, trace=None, function=True):
    """One call of a kernel of whole packets and parts. Returns the number of instructions."""
    first, last = shape.flags & FIRST, shape.flags & LAST
    call = Call(kernel)
    n = shape.size
    source, target, ad_at = IN + 1, IN + 1 if shape.in_place else OUT + 3, AD + 1
    regions = [("key", KEY, 32, True, False), ("nonce", NONCE, 12, True, False)]
    if first:
        regions.append(("ad", ad_at, shape.ad, True, False))
    if last:
        regions.append(("tag", TAG, 16, False, True))
    if not first or not last:
        regions.append(("state", STATE, A["STATE_BYTES"], True, not last))
    regions.append(("in", source, n, True, shape.in_place))
    if not shape.in_place:
        regions.append(("out", target, n, True, True))  # what was written is read again to be authenticated
    call.regions(*regions)
    if not shape.in_place and shape.both:
        call.memory.apart(source, target)
    call.arguments(out=target, **{"in": source}, bytes=n, ad=ad_at, ad_bytes=shape.ad, key=KEY, nonce=NONCE, tag=TAG,
                   state=None if first and last else STATE, total=(total := total_of(shape, 64)), flags=shape.flags | (OPEN if shape.opens else 0))
    memory = call.memory
    key, nonce = [symbol(f"key{i}", 32) for i in range(8)], [symbol(f"nonce{i}", 32) for i in range(3)]
    memory.poke(KEY, cat(*key))
    memory.poke(NONCE, cat(*nonce))
    ad, text = text_symbols("ad", shape.ad), text_symbols("text", n)
    if ad and first:
        memory.poke(ad_at, ad)
    if text:
        memory.poke(source, text)

    counter = const(1, 64) if first else extend(symbol("state counter", 32), 64)
    if first:
        h = 0
        r, s = spec.one_time_key(spec.chacha20_block(key, 0, nonce))
    else:
        limbs = [symbol("h0", 64), symbol("h1", 64), symbol("h2", 3)]
        h = sum(v.residue << 64 * i for i, v in enumerate(limbs))
        r = terms.both(symbol("r", 128), const(0x0ffffffc0ffffffc0ffffffc0fffffff, 128))
        r = cat(*(cut(r, 32 * i, 32) for i in range(4)))
        s = cat(*(symbol(f"s{i}", 32) for i in range(4)))
        memory.poke(STATE + A["STATE_H"], cat(limbs[0], limbs[1], extend(limbs[2], 64)))
        memory.poke(STATE + A["STATE_R"], r)
        memory.poke(STATE + A["STATE_S"], s)
        memory.poke(STATE + A["STATE_COUNTER"], counter)

    steps, behind_ad = run_call(call, shape, trace)
    if not function:
        return steps
    result = spec.cipher_text(key, cut(counter, 0, 32), nonce, text)
    call.expect("the text", target, result)
    authenticated = text if shape.opens else result
    if first and ad:
        h = spec.poly1305(h, r, spec.pad16(ad))
    if behind_ad is not None:
        h = behind_ad
    if authenticated:
        h = spec.poly1305(h, r, spec.pad16(authenticated) if last else authenticated)
    if last:
        h = spec.poly1305(h, r, cat(ad_length(shape), total))
        reduction.prove(memory.peek(TAG, 16), h % P, s, folder, kernel.isa is arm32)
    else:
        state = [memory.peek(STATE + A["STATE_H"] + 8 * i, 8) for i in range(3)]
        if sum(v.residue << 64 * i for i, v in enumerate(state)) % P != h % P:
            raise Unproved("the accumulator in the state is not the polynomial of the specification")
        if sum(v.most << 64 * i for i, v in enumerate(state)) >= 1 << 131:
            raise Unproved(f"the accumulator in the state may reach 2^131 ({[hex(v.most) for v in state]})")
        call.expect("r in the state", STATE + A["STATE_R"], r)
        call.expect("s in the state", STATE + A["STATE_S"], s)
        call.expect("the counter in the state", STATE + A["STATE_COUNTER"], after_part(kernel, counter, n // 64))
    return steps


class GcmShape(Shape):
    """Of AES-GCM: with the length of the key, and a nonce of 12 bytes or any J0. counter: of parts, of kernels that branch on it
    where it is public. given: the table is then made again, of a hash key."""

    def __init__(self, size, bits=128, j0=False, counter=5, given=False, **more):
        super().__init__(size, **more)
        self.bits, self.j0, self.counter, self.given = bits, j0, counter, given

    def __str__(self):
        text = f"AES-{self.bits}, {super().__str__()}" + (", any J0" if self.j0 else "") + (", hash key given" if self.given else "")
        return text if self.flags & FIRST else f"{text}, counter {self.counter} or any"


class PolyvalShape(Shape):
    """POLYVAL of a given hash key, by a kernel of AES-GCM."""

    bits, j0 = 0, False

    def __str__(self):
        return "POLYVAL, " + super().__str__().removeprefix("seal ")


def total_of(shape, bits):
    """The bytes of text of a packet, of which this call's are a part: what the argument says."""
    return const(shape.size, 64) if shape.flags == FIRST | LAST else extend(symbol("packet bytes", bits), 64)


def after_part(kernel, counter, blocks):
    """The counter in the state. 32-bit ARM's kernels keep 32 bits of it; behind the last possible block that is another number,
    which is never read."""
    return extend(terms.add_modular(cut(counter, 0, 32), const(blocks, 32)), 64) if kernel.isa is arm32 else \
        terms.add(64, counter, const(blocks, 64))[0]


class Setup:
    """The call that makes a key."""

    def __init__(self, bits):
        self.bits = bits

    def __str__(self):
        return f"AES-{self.bits}, key set-up"


_keys = {}


def gcm_key(kernel, bits, trace=None, name="key"):
    """The memory of a key after set-up, and how many instructions that took."""
    found = _keys.get((kernel.name, kernel.code, bits, name))
    if found is None or found[2] is not symbol(f"{name}0", 32) or trace is not None:
        if kernel.bitwise and not terms.opaque:  # the S-boxes there are
            spec.key_schedule(cat(*(symbol(f"{name}{i}", 32) for i in range(bits // 32))))
        call = Call(kernel)
        call.regions(("key", KEY, A["GCM_KEY_BYTES"], True, True))
        call.arguments(key=KEY, flags=A["FLAG_SETUP"])
        call.memory.poke(KEY + A["GCM_KEY_ROUNDS"], const(bits // 32 + 6, 64))
        call.memory.poke(KEY + A["GCM_KEY_SCHEDULE"], cat(*(symbol(f"{name}{i}", 32) for i in range(bits // 32))))
        steps = call.run(trace)
        cells = {a: v for a, v in call.memory.cells.items() if KEY <= a < KEY + A["GCM_KEY_BYTES"]}
        found = _keys[kernel.name, kernel.code, bits, name] = (cells, steps, symbol(f"{name}0", 32))
    return found[:2]


def hash_key():
    return cat(*(symbol(f"hash key{i}", 32) for i in range(4)))


def given_key(kernel, before, flags, trace=None, longest=0):
    """The memory of a key, of which there is `before`, when its table is made of a hash key, as AES-GCM-SIV does; and how many
    instructions that took. SCHEDULE is neither read nor written, and ROUNDS is read only for AES-GCM."""
    call, table = Call(kernel), A["GCM_KEY_TABLE"]
    call.regions(("rounds", KEY, 0 if flags else 8, True, False), ("table", KEY + table, A["GCM_KEY_BYTES"] - table, True, True),
                 ("nonce", NONCE, 16, True, False))
    call.memory.cells.update({a: v for a, v in before.items() if a < KEY + 8})
    call.arguments(key=KEY, nonce=NONCE, bytes=longest, flags=A["FLAG_SETUP"] | A["FLAG_NONCE"] | flags)
    call.memory.poke(NONCE, hash_key())
    steps = call.run(trace)
    return {**before, **{a: v for a, v in call.memory.cells.items() if KEY + table <= a < KEY + A["GCM_KEY_BYTES"]}}, steps


def polyval(kernel, shape, trace=None, function=True):
    """One call, after the one that makes the table. OUT, NONCE and the key's schedule are not there."""
    first, last, n, ad_at, source = shape.flags & FIRST, shape.flags & LAST, shape.size, AD + 1, IN + 1
    longest = max(n, shape.ad) if first and last else 1 << 20
    cells, made = given_key(kernel, {}, A["FLAG_POLYVAL"], trace, longest)
    call, table = Call(kernel), A["GCM_KEY_TABLE"]
    regions = [("table", KEY + table, A["GCM_KEY_BYTES"] - table, True, False), ("in", source, n, True, False)]
    if first:
        regions.append(("ad", ad_at, shape.ad, True, False))
    regions.append(("tag", TAG, 16, True, True) if last else ("state", STATE, 16, True, True))  # lengths may be in the tag's place
    if last and not first:
        regions.append(("state", STATE, 16, True, False))
    call.regions(*regions)
    call.arguments(**{"in": source}, bytes=n, ad=ad_at, ad_bytes=shape.ad, key=KEY, tag=TAG, state=None if first and last else STATE,
                   out=None, nonce=None, total=(total := total_of(shape, 61)), flags=shape.flags | A["FLAG_POLYVAL"])
    memory = call.memory
    memory.cells.update(cells)
    ad, text, before = text_symbols("ad", shape.ad), text_symbols("text", n), cat(*(symbol(f"y{i}", 32) for i in range(4)))
    if ad and first:
        memory.poke(ad_at, ad)
    if text:
        memory.poke(source, text)
    if not first:
        memory.poke(STATE, before)
    steps = call.run(trace) + made
    if not function:
        return steps
    h = spec.polyval_key(hash_key())
    y = spec.polyval(0, h, ad) if first else spec.field_element(spec.reverse(before))
    y = spec.polyval(y, h, text)
    if last:
        y = spec.polyval(y, h, cat(terms.shift_left(const(shape.ad, 64), 3), terms.shift_left(total, 3)))
    if spec.field_element(spec.reverse(memory.peek(TAG if last else STATE, 16))) != y:
        raise Unproved("the sum is not that of the specification")
    return steps


def begins_with_many(kernel):
    """Whether the first two rounds are done for the next 128 counters at once."""
    return kernel.isa is arm32 and kernel.name.endswith("_neon")


def name_many(schedule, block, first, behind):
    """The S-boxes of the first two rounds of counters from `first`, a multiple of 128 where a block's is 0, on. Round 2 is done once
    too for bytes that the last byte of the counter decides on, whose S-box is left out then: their results are not used."""
    for i in range(first, behind):
        spec.aes(schedule[:3], spec.counter_block(block, i))
        if (i - first) % 128 == 0:
            sub = terms.sub_shift(terms.xor(spec.counter_block(block, i), schedule[0]))
            sub = cat(cut(sub, 0, 24), const(0x63, 8), cut(sub, 32, 96))  # the last byte is that of row 3 of the first column now
            terms.sub_shift(terms.xor(terms.mix_columns(sub), schedule[1]))


def aesgcm(kernel, shape, trace=None, function=True):
    """One call of an AES-GCM kernel, with a key that the kernel has set up. What the key holds is the level's own, so the
    set-up is shown by what packets under it are."""
    if isinstance(shape, PolyvalShape):
        return polyval(kernel, shape, trace, function)
    if function:
        schedule = spec.key_schedule(cat(*(symbol(f"key{i}", 32) for i in range(shape.bits // 32))))
        h = spec.field_element(hash_key() if getattr(shape, "given", False) else spec.aes(schedule, const(0, 128)))
        if kernel.bitwise:  # set-up encrypts eight blocks too
            for i in range(1, 8):
                spec.aes(schedule, const(i << 120, 128))
    cells, steps = gcm_key(kernel, shape.bits, trace if isinstance(shape, Setup) else None)
    if isinstance(shape, Setup):
        if function:  # with a text that takes all powers of H
            aesgcm(kernel, GcmShape(300 if kernel.bitwise else 600, bits=shape.bits, opens=True))
        return steps
    if shape.given:
        cells, _ = given_key(kernel, cells, 0, trace)
    first, last = shape.flags & FIRST, shape.flags & LAST
    call = Call(kernel)
    n = shape.size
    source, target, ad_at = IN + 1, IN + 1 if shape.in_place else OUT + 3, AD + 1
    regions = [("key", KEY, A["GCM_KEY_BYTES"], True, False), ("nonce", NONCE, 16 if shape.j0 else 12, True, False)]
    if first:
        regions.append(("ad", ad_at, shape.ad, True, False))
    if last:
        regions.append(("tag", TAG, 16, False, True))
    if not first or not last:
        regions.append(("state", STATE, A["GCM_STATE_BYTES"], True, not last))
    regions.append(("in", source, n, True, shape.in_place))
    if not shape.in_place:
        regions.append(("out", target, n, True, True))
    call.regions(*regions)
    if not shape.in_place and shape.both:
        call.memory.apart(source, target)
    flags = shape.flags | (OPEN if shape.opens else 0) | (0 if shape.j0 else A["FLAG_NONCE"])
    call.arguments(out=target, **{"in": source}, bytes=n, ad=ad_at, ad_bytes=shape.ad, key=KEY, nonce=NONCE, tag=TAG,
                   state=None if first and last else STATE, total=(total := total_of(shape, 61)), flags=flags)
    memory = call.memory
    memory.cells.update(cells)
    j0 = cat(*(symbol(f"nonce{i}", 32) for i in range(3)), symbol("nonce3", 32) if shape.j0 else const(1 << 24, 32))
    memory.poke(NONCE, cut(j0, 0, 128 if shape.j0 else 96))
    ad, text = text_symbols("ad", shape.ad), text_symbols("text", n)
    if ad and first:
        memory.poke(ad_at, ad)
    if text:
        memory.poke(source, text)
    y, begins, counter = 0, j0, 1
    mask = spec.aes(schedule, j0) if function else symbol("mask", 128)
    if not first:
        counter = shape.counter if kernel.bitwise or kernel.branches_on_counter and not shape.j0 else 0
        begins = spec.counter_block(j0, counter) if counter else cat(*(symbol(f"nonce{i}", 32) for i in range(3)), symbol("state counter", 32))
        before = cat(*(symbol(f"y{i}", 32) for i in range(4)))
        y = spec.field_element(before)
        memory.poke(STATE + A["GCM_STATE_Y"], before)
        memory.poke(STATE + A["GCM_STATE_COUNTER"], begins)
        memory.poke(STATE + A["GCM_STATE_MASK"], mask)
    if function:  # first: it says which S-boxes there are
        result = spec.gcm_text(schedule, begins, 1 if first else 0, text)
        if kernel.bitwise:  # eight blocks at a time, from such a number on; the first counter is 1
            for i in [*range((counter & -8) - 1, counter), *range(counter + n // 16, counter + n // 16 + 9)]:
                spec.aes(schedule, spec.counter_block(j0, i))
            if begins_with_many(kernel) and not shape.j0:
                name_many(schedule, j0, ((counter + 1) & -128) - 1, (counter + 1) | 127)
    steps, behind_ad = run_call(call, shape, trace)
    if not function:
        return steps
    call.expect("the text", target, result)
    authenticated = text if shape.opens else result
    if first:
        y = spec.ghash(y, h, ad) if behind_ad is None else behind_ad
    y = spec.ghash(y, h, authenticated)
    if last:
        lengths = cat(spec.reverse(terms.shift_left(ad_length(shape), 3)), spec.reverse(terms.shift_left(total, 3)))
        y = spec.ghash(y, h, lengths)
        if spec.field_element(memory.peek(TAG, 16)) != y ^ spec.field_element(mask):
            raise Unproved("the tag is not that of the specification")
    else:
        if spec.field_element(memory.peek(STATE + A["GCM_STATE_Y"], 16)) != y:
            raise Unproved("GHASH in the state is not that of the specification")
        call.expect("the counter in the state", STATE + A["GCM_STATE_COUNTER"], spec.counter_block(begins, (1 if first else 0) + n // 16))
        call.expect("the mask in the state", STATE + A["GCM_STATE_MASK"], mask)
    return steps


class BatchShape:
    """A call of a batch kernel: (bytes of text, of associated data) of each lane."""

    both = True

    def __init__(self, lanes, opens=False, in_place=False, bits=128, keys=0):
        self.lanes, self.opens, self.in_place, self.bits = lanes, opens, in_place, bits
        self.keys = keys

    def key_of(self, i):
        """The number of a lane's key."""
        return (i, 0, i // 2)[self.keys]

    def __str__(self):
        return f"{'open' if self.opens else 'seal'} {len(self.lanes)} lanes " + " ".join(f"{n}" + (f"+{a}" if a else "") for n, a in self.lanes) \
            + ("", ", of one key", ", a key for each two")[self.keys] + (", in place" if self.in_place else "")


LANES, LANE, STEP = 0x100000, 0x10000000, 0x1000000  # the array, and the targets of each lane's pointers


def batch(kernel, shape, folder=None, trace=None, function=True):
    """Lanes with keys, nonces and texts of their own."""
    call = Call(kernel)
    regions, lanes = [("lanes", LANES, A["LANE_STRIDE"] * len(shape.lanes), True, False)], []
    for i, (n, ad_bytes) in enumerate(shape.lanes):
        base, k = LANE + i * STEP, shape.key_of(i)
        lane = {"key": LANE + k * STEP, "nonce": base + 0x10001, "tag": base + 0x20001, "ad": base + 0x30001,
                "in": base + 0x100003, "bytes": n, "ad_bytes": ad_bytes}
        lane["out"] = lane["in"] if shape.in_place else base + 0x800001
        lanes.append(lane)
        if k == i or k == shape.key_of(i - 1) + 1:
            regions.append((f"key {k}", lane["key"], 32, True, False))
        regions += [(f"nonce {i}", lane["nonce"], 12, True, False),
                    (f"tag {i}", lane["tag"], 16, False, True), (f"ad {i}", lane["ad"], ad_bytes, True, False),
                    (f"in {i}", lane["in"], n, True, shape.in_place)]
        if not shape.in_place:
            regions.append((f"out {i}", lane["out"], n, True, True))
    call.regions(*regions)
    memory = call.memory
    for lane in lanes if not shape.in_place and shape.both else ():
        memory.apart(lane["in"], lane["out"])
    memory.poke(ARGS + A["BATCH_LANES"], extend(call.callers("lanes", LANES), 64))
    memory.poke(ARGS + A["BATCH_COUNT"], const(len(lanes), 64))
    memory.poke(ARGS + A["BATCH_FLAGS"], const(OPEN if shape.opens else 0, 64))
    for i, lane in enumerate(lanes):
        for slot in ("out", "in", "bytes", "ad", "ad_bytes", "key", "nonce", "tag"):
            v = const(lane[slot], 64) if slot.endswith("bytes") else extend(call.callers(f"{slot} {i}", lane[slot]), 64)
            memory.poke(LANES + i * A["LANE_STRIDE"] + A["LANE_" + slot.upper()], v)
        memory.poke(lane["key"], cat(*(symbol(f"key{shape.key_of(i)}_{j}", 32) for j in range(8))))
        memory.poke(lane["nonce"], cat(*(symbol(f"nonce{i}_{j}", 32) for j in range(3))))
        for what, size in (("ad", lane["ad_bytes"]), ("in", lane["bytes"])):
            if size:
                memory.poke(lane[what], text_symbols(f"{'text' if what == 'in' else 'ad'}{i}_", size))
    steps = call.run(trace)
    if not function:
        return steps
    for i, lane in enumerate(lanes):
        n, ad_bytes = lane["bytes"], lane["ad_bytes"]
        ad, text = text_symbols(f"ad{i}_", ad_bytes), text_symbols(f"text{i}_", n)
        nonce = [symbol(f"nonce{i}_{j}", 32) for j in range(3)]
        key = [symbol(f"key{shape.key_of(i)}_{j}", 32) for j in range(8)]
        result = spec.cipher_text(key, 1, nonce, text)
        call.expect(f"the text of lane {i}", lane["out"], result)
        authenticated = text if shape.opens else result
        r, s = spec.one_time_key(spec.chacha20_block(key, 0, nonce))
        h = 0
        for part in (ad, authenticated):
            if part:
                h = spec.poly1305(h, r, spec.pad16(part))
        h = spec.poly1305(h, r, const(ad_bytes | n << 64, 128))
        reduction.prove(memory.peek(lane["tag"], 16), h % P, s, folder, kernel.isa is arm32)
    return steps


# Calls of each kernel in a quick run, besides those that set up keys, by the time that one takes.
# FUNCTION: of a kernel whose AES is made of bit operations, the calls that mutate.py compares with the specification.
FUNCTION = 30
ENDS = 0, 5  # bytes of the last block that parts and counter blocks have there
QUICK = {"single": 8, "batch": 4, "bitwise": 3, "modes": 8}


def shapes(kernel, quick):
    import prove as shapes_of
    if kernel.of_modes:
        import modes
        found = modes.shapes(kernel, quick)
        if quick:
            if kernel.bitwise:
                found = [s for s in found if s.blocks * max(1, s.lanes) <= 13]
            random.Random(str(kernel)).shuffle(found)
            del found[QUICK["bitwise" if kernel.bitwise else "modes"]:]
        if kernel.bitwise:
            if quick:
                found[0] = modes.ModeShape(modes.XTS_DECRYPT, 2, 128)
            for s in found[:1] if quick else modes.compared(found):
                s.function = True
        return found
    if "_batch_" in kernel.name:
        found = list(shapes_of.batch_shapes(quick))
    else:
        induction = shapes_of.BY_INDUCTION.get(kernel.name.removeprefix("sealane_"))
        found = list((shapes_of.gcm_shapes if "aesgcm" in kernel.name else shapes_of.chacha_shapes)(quick, kernel.isa is not x86, induction))
    if kernel.bitwise:
        found = [s for s in found if not getattr(s, "given", False)]
    if not quick and kernel.bitwise:  # which takes long
        found = [s for s in found if isinstance(s, Setup) or s.size <= 700 and not (s.j0 and s.size % 16 not in ENDS)]
        short = [s for s in found if not isinstance(s, Setup) and s.size <= 200]
        for s in random.Random(str(kernel)).sample(short, FUNCTION) + [s for s in found if isinstance(s, PolyvalShape) and s.size in (0, 33, 64)]:
            s.function = True
    if not quick:
        return found
    # Every kernel runs others, so that together they run all; always the same ones.
    count = QUICK["batch" if "_batch_" in kernel.name else "bitwise" if kernel.bitwise else "single"]
    always = lambda s: isinstance(s, Setup) or getattr(s, "given", False)
    setup, rest = [s for s in found if always(s)], [s for s in found if not always(s)]
    if kernel.bitwise:
        rest = [s for s in rest if s.size <= 200]
    random.Random(str(kernel)).shuffle(rest)
    if "_batch_" in kernel.name:  # first as many lanes as callers give, then one that seals
        rest.sort(key=lambda s: len(s.lanes) != 64)
        rest[1:] = sorted(rest[1:], key=lambda s: s.opens)
    if kernel.bitwise:
        one = GcmShape(40, ad=21, opens=True, j0=True)
        one.function = True
        rest.insert(0, one)
        if kernel.isa is x86:
            rest.insert(1, PolyvalShape(20, ad=5))
            rest[1].function = True
    return setup + rest[:count]


def mode(opaque, bitwise, ascending=False, by_image=False):
    """How bit operations are taken, and the meaning of bits. Knowledge from another mode is dropped."""
    if (terms.opaque, terms.bitwise, terms.ascending, terms.by_image) != (opaque, bitwise, ascending, by_image):
        terms.forget()
        terms.opaque, terms.bitwise, terms.by_image = opaque, bitwise, by_image
        terms.set_order(ascending)


def full(kernel, shape):
    """Whether every lane of a kernel whose AES is made of bit operations has a block."""
    if not kernel.of_modes:
        return True  # that of a counter at least
    import modes
    lanes = 1 if kernel.isa is x86 else 2 if kernel.name.endswith("armv6") else 8
    return shape.mode != modes.SETUP and (shape.lanes or shape.blocks) % lanes == 0


_about = None


def alike(kernel, shape):
    """Calls with much in common. Others do not share their knowledge, where AES is made of bit operations: keys of all
    lengths have the same words, and a search of the facts about an S-box's input takes longer, the more there are."""
    return kernel.name, kernel.isa.POINTER, shape.bits, getattr(shape, "mode", None), getattr(shape, "j0", None)


def dear(kernel, shape):
    """Where AES is made of bit operations: calls of which each key takes seconds; parts, except some ends; and each block that is
    authenticated, of those that no other call has alike."""
    if getattr(shape, "lanes", 0) > 25:
        return True
    if kernel.of_modes or isinstance(shape, Setup):
        return False
    return shape.flags != FIRST | LAST and not (shape.size <= 200 and shape.size % 16 in ENDS) or \
        kernel.name.endswith("aesgcm_armv6") and (shape.size > 200 or shape.ad > 0)


def prove(kernel, shape, folder):
    """Apart and in place, unless the call is in place. Returns the number of instructions."""
    try:
        return prove_one(kernel, shape, folder)
    except ReadAgain:
        steps = 0
        for in_place in (False, True):
            twin = copy.copy(shape)
            twin.both, twin.in_place = False, in_place
            try:
                steps += prove_one(kernel, twin, folder)
            except Unproved as e:
                raise Unproved(f"{'in place' if in_place else 'apart'}: {e}") from None
        return steps


def prove_one(kernel, shape, folder):
    """Where AES is made of bit operations, without the function unless that is asked for."""
    global _about
    if kernel.bitwise and not (kernel.asked or getattr(shape, "function", False)):
        return run(kernel, shape, None)
    mode(False, kernel.bitwise, kernel.ascending, kernel.of_modes and not kernel.bitwise)
    bits.strict = kernel.bitwise and full(kernel, shape)
    if kernel.bitwise and _about != (_about := alike(kernel, shape)):
        terms.forget()
    if kernel.of_modes:
        import modes
        return modes.prove(kernel, shape)
    if "_batch_" in kernel.name:
        return batch(kernel, shape, folder)
    return aesgcm(kernel, shape) if "aesgcm" in kernel.name else chacha20poly1305(kernel, shape, folder)


def run(kernel, shape, trace):
    """Without looking at the result: which instructions are reached."""
    mode(True, False)
    return _run(kernel, shape, trace)


def _run(kernel, shape, trace):
    if kernel.of_modes:
        import modes
        return modes.prove(kernel, shape, trace, False)
    if "_batch_" in kernel.name:
        return batch(kernel, shape, None, trace, False)
    if "aesgcm" in kernel.name:
        return aesgcm(kernel, shape, trace, False)
    return chacha20poly1305(kernel, shape, None, trace, False)
