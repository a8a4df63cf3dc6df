"""Kernels in an object file, and a call of one: the layout of memory, and the conditions after every call."""
import importlib
import os
import pkgutil
import re

import isa
import spec
from elftools.elf.elffile import ELFFile
from isa.code import Code
from run.memory import Memory
from spec.args import A
from values import linear, terms
from values.terms import Unproved, cat, const, cut, extend, same, secret, symbol


def isa_of(elf):
    """The file of isa/ that says it is of an object's machine and width of pointers: adding another one changes no file that proves. A
    file for several widths and byte orders makes that of an object."""
    modules = (importlib.import_module(f"isa.{name}") for _, name, _ in pkgutil.iter_modules(isa.__path__))
    found = [m for m in modules if (elf["e_machine"], elf.elfclass) == (getattr(m, "MACHINE", None), getattr(m, "POINTER", elf.elfclass))]
    if len(found) != 1:
        raise Unproved(f"{len(found)} files of isa/ are of {elf['e_machine']}")
    return found[0].of(elf) if hasattr(found[0], "of") else found[0]


def lines_of(elf, start, size):
    """Address in the function -> file:line of the source, if the object says it. An entry is for all that follows until the next."""
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
    line = None
    return {a: line for a in range(size) if (line := found.get(a, line))}


class Kernel:
    def __init__(self, path):
        with open(path, "rb") as f:
            elf = ELFFile(f)
            self.isa = isa_of(elf)
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
                section = elf.get_section(s["st_shndx"])
                at = s["st_value"] - section["sh_addr"]  # which is 0 unless linked
                return section.data()[at:at + s["st_size"]]
            self.code = content(function)
            self.scratch_end = next((s["st_value"] for s in symbols if s.name == "sealane_scratch_end"), None)
            constants = [s for s in symbols if s["st_info"]["type"] == "STT_OBJECT"]
            self.constants = content(constants[0]) if constants else b""
            self.lines = lines_of(elf, function["st_value"], function["st_size"])
        self.steps, self.head = None, None
        # Kernels have the bytes behind the macros' part, up to the end of Go's frame (scratch_end); those of batches have all there are.
        self.scratch_from = A["SCRATCH_SAVE_BYTES"]
        self.scratch_bytes = A["BATCH_SCRATCH_BYTES"] if "_batch_" in self.name else self.scratch_end or A["SCRATCH_BYTES"]
        self.asked = False  # for the function of every call

    def __str__(self):
        return f"{self.isa.__name__.removeprefix('isa.')} {self.name.removeprefix('sealane_')}"

    @property
    def bitwise(self):
        """Whether AES is made of bit operations."""
        return re.fullmatch(f"sealane_aes(gcm)?_({self.isa.BITWISE})", self.name) is not None

    @property
    def bitsliced(self):
        """Whether a register has one bit of many blocks, some of which are not there."""
        return self.bitwise and self.isa.MACHINE != "EM_X86_64"

    @property
    def blocks_at_once(self):
        """How many blocks AES of bit operations encrypts at once, at most."""
        return 16 if self.name.endswith("mips64r2") else 8

    @property
    def branches_on_counter(self):
        """Whether it branches on the counter of a part's AES-GCM where that is public (SEALANE_FLAG_NONCE)."""
        return self.bitsliced or self.name == "sealane_aesgcm_ce"

    @property
    def ascending(self):
        """Whether it turns the bits of bytes round before it multiplies: bit i is then x^i."""
        return self.isa.MACHINE == "EM_AARCH64" and self.name == "sealane_aesgcm_neon"

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
        return self.isa.MACHINE == "EM_X86_64" and not self.name.endswith(("ssse3", "aesni"))


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


class Writer:
    """A trace of instructions that tells which one is the last to write a byte."""

    def __init__(self, memory, address):
        self.address, self.pc, self.last = address & ~3, None, None
        memory.cells = Watched(self, memory.cells)

    def add(self, pc):
        self.pc = pc


class Watched(dict):
    """Cells of memory."""

    def __init__(self, writer, cells):
        super().__init__(cells)
        self.writer = writer

    def __setitem__(self, address, v):
        if address == self.writer.address:
            self.writer.last = self.writer.pc
        super().__setitem__(address, v)


class Call:
    """One call of a kernel: memory and registers as the caller sets them."""

    watched = written_at = None  # an address, and where the instruction is that writes there last: proof.writer()
    cases = {}  # where a pointer points in a run -> (modulus, residues) that it is shown for: proof.prove
    symbolic = True  # pointers are anything with the alignment that callers guarantee; else where they point in a run

    def __init__(self, kernel):
        self.kernel, self.memory, self.scratch_bytes = kernel, Memory(getattr(kernel.isa, "big", False)), kernel.scratch_bytes
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
        return found[self.kernel.isa.POINTER == 32]

    def callers(self, name, address):
        """A pointer of the caller's, as a value. To no bytes, it may be null."""
        if not self.symbolic:
            return const(address, self.kernel.isa.POINTER)
        least = [] if name.split()[0] not in ("in", "out", "ad") or self.memory.at(address) and self.memory.at(address).start == address else [0]
        return linear.pointer(name, address, *self.cases.get(address, (self.alignment(name), (0,))), self.kernel.isa.POINTER, *least)

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
                modulus, of = self.cases.get(r[1], (1, (1,)))
                self.memory.region(*r, align=modulus if of == (0,) else self.alignment(r[0]))
        self.memory.put(self.consts, self.kernel.constants)

    def arguments(self, kind="ARG", **values):
        for name, v in values.items():
            at = ARGS + A[f"{kind}_{name.upper()}"]
            if v is not None and name in POINTERS:
                self.memory.put_pointer(at, self.callers(name, v))
            else:
                self.memory.put_number(at, symbol(f"no {name}", 64) if v is None else v if isinstance(v, terms.Value) else const(v, 64))

    def fill(self):
        """Fills scratch and vector registers with arbitrary values. Values that are added and cancel there then count as no use of
        unwritten bytes; an example is the bits of an absent block when bits are transposed. Arbitrary values are not in a result."""
        for at in range(SCRATCH + self.kernel.scratch_from, SCRATCH + self.scratch_bytes, 4):
            self.memory.cells[at] = symbol(f"before {at}", 32)
        self.machine.fill_vectors(symbol)

    def run(self, trace=None):
        if self.watched is not None:
            trace = Writer(self.memory, self.watched)
        try:
            self.kernel.program().run(self.machine, trace)
        finally:
            if self.watched is not None and trace.last is not None:
                Call.written_at = trace.last
        self.left_behind()
        return self.machine.steps

    def left_behind(self):
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
            elif cell[0] == "vector" and self.kernel.isa.MACHINE == "EM_X86_64":
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
        for i, (x, y) in enumerate(zip(terms.parts_of(got, 32), terms.parts_of(value, 32))):
            for at in range(0, x.width, 8) if x is not y else ():
                if not same(cut(x, at, 8), cut(y, at, 8)):
                    e = Unproved(f"byte {4 * i + at // 8} of {what} is not what the specification says")
                    e.address = address + 4 * i + at // 8
                    raise e


def begins_with_many(kernel):
    """Whether the first two rounds are done for the next 128 counters at once."""
    return kernel.isa.MACHINE == "EM_ARM" and kernel.name.endswith("_neon")


def name_many(schedule, block, first, behind):
    """The S-boxes of the first two rounds of counters from `first`, a multiple of 128 where a block's is 0, on. Round 2 is done once
    too for bytes that the last byte of the counter decides on, whose S-box is left out then: their results are not used."""
    for i in range(first, behind):
        spec.aes(schedule[:3], spec.counter_block(block, i))
        if (i - first) % 128 == 0:
            sub = terms.sub_shift(terms.xor(spec.counter_block(block, i), schedule[0]))
            sub = cat(cut(sub, 0, 24), const(0x63, 8), cut(sub, 32, 96))  # the last byte is that of row 3 of the first column now
            terms.sub_shift(terms.xor(terms.mix_columns(sub), schedule[1]))
