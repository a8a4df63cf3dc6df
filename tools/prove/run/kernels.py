"""Kernels in an object file, and calls of them: the layout of memory, and the conditions after every call."""
import importlib
import os
import pkgutil
import re
from typing import NamedTuple

import isa
from elftools.elf.elffile import ELFFile
from isa.code import Code
from run.memory import FAR, Memory, Near
from spec.args import A
from values import linear, terms
from values.terms import Unproved, cat, const, cut, same, secret, symbol


def isa_of(elf):
    """Returns the file of isa/ for an object's machine and pointer width. So a new instruction set changes no file
    that proves others. If a file serves several widths or byte orders, it creates the one of the object."""
    modules = (importlib.import_module(f"isa.{name}") for _, name, _ in pkgutil.iter_modules(isa.__path__))
    found = [m for m in modules if (elf["e_machine"], elf.elfclass) == (getattr(m, "MACHINE", None), getattr(m, "POINTER", elf.elfclass))]
    if len(found) != 1:
        raise Unproved(f"{len(found)} files of isa/ are of {elf['e_machine']}")
    return found[0].of(elf) if hasattr(found[0], "of") else found[0]


def lines_of(elf, start, size):
    """Returns address in the function -> file:line of the source, if the object has it. An entry applies until the
    next one."""
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
                at = s["st_value"] - section["sh_addr"]  # sh_addr is 0 unless the object is linked
                return section.data()[at:at + s["st_size"]]
            self.code = content(function)
            self.scratch_end = next((s["st_value"] for s in symbols if s.name == "sealane_scratch_end"), None)
            constants = [s for s in symbols if s["st_info"]["type"] == "STT_OBJECT"]
            if len(constants) > 1:
                raise Unproved(f"{path}: {len(constants)} symbols of constants")
            self.constants = content(constants[0]) if constants else b""
            self.lines = lines_of(elf, function["st_value"], function["st_size"])
        self.steps, self.head = None, None
        # Kernels may use the bytes after those of the macros, up to the end of Go's frame (scratch_end); batch kernels
        # may use all.
        self.scratch_from = A["SCRATCH_SAVE_BYTES"]
        self.scratch_bytes = A["BATCH_SCRATCH_BYTES"] if "_batch_" in self.name else self.scratch_end or A["SCRATCH_BYTES"]

    def __str__(self):
        return f"{self.isa.__name__.removeprefix('isa.')} {self.name.removeprefix('sealane_')}"

    @property
    def branches_on_counter(self):
        """Whether the kernel branches on the counter of CTR, or of a part of AES-GCM if that is public
        (SEALANE_FLAG_NONCE). 32-bit ARM's aes_neon and aesgcm_neon keep what many counters share."""
        return self.name == "sealane_aesgcm_ce" or self.isa.MACHINE == "EM_ARM" and re.fullmatch("sealane_aes(gcm)?_neon", self.name) is not None

    @property
    def ascending(self):
        """Whether the bits of bytes are reversed before multiplication: bit i is then x^i."""
        return self.isa.MACHINE == "EM_AARCH64" and self.name == "sealane_aesgcm_neon"

    @property
    def has_siv(self):
        """Whether the instruction set's kernels have the operations of AES-GCM-SIV: POLYVAL, and counters that are
        little-endian."""
        return self.isa.MACHINE not in ("EM_MIPS", "EM_RISCV")

    @property
    def specified(self):
        """Whether there is a specification of the kernel."""
        return re.fullmatch(r"sealane_(chacha20poly1305|aesgcm)_\w+", self.name) is not None or self.of_modes

    @property
    def of_modes(self):
        """Whether the kernel has modes without authentication, or makes masks."""
        return re.fullmatch(r"sealane_(aes|chacha20masks)_\w+", self.name) is not None

    def program(self):
        if self.steps is None:
            self.steps = Code(self.code, self.isa.meaning, self.lines)
        return self.steps

    @property
    def wide(self):
        """Whether the kernel uses AVX, whose upper halves must be zero at its return."""
        return self.isa.MACHINE == "EM_X86_64" and not self.name.endswith(("ssse3", "aesni"))


# Addresses. A shape can change alignments. All regions are far from each other.
ARGS, SCRATCH, CONSTS, KEY, NONCE, TAG, STATE = (0x10000 * i for i in range(1, 8))
AD, IN, OUT = 0x1000000, 0x2000000, 0x4000000
LANES = 0x100000  # the array of lanes


class At(NamedTuple):
    """A pointer among the arguments, and the region that is there."""

    address: int
    size: int = 0
    read: bool = True
    write: bool = False


def texts_at(shape, source, target, size, size_out=None, read=False):
    """The arguments of a text and its result. read: the result may be read, because it is authenticated."""
    return {"in": At(source, size, True, shape.in_place),
            "out": At(source) if shape.in_place else At(target, size if size_out is None else size_out, read, True)}


def words_of(name, n):
    return [symbol(f"{name}{i}", 32) for i in range(n)]


def text_symbols(name, size):
    """size bytes of data: 32-bit symbols, the last possibly shorter."""
    return cat(*(symbol(f"{name}{i}", 8 * min(4, size - i)) for i in range(0, size, 4))) if size else None


# Alignments that callers guarantee (asm/asm.S, asm/args.h, src/kernel.h): with 64-bit pointers, and Go's with 32-bit
# ones.
ALIGNMENTS = {"scratch": (64, 64), "consts": (32, 8), **dict.fromkeys(("args", "lanes"), (8, 4))}
ALIGNMENT_OF_OWN = {"key": (8, 4), "rounds": (8, 4), "schedule": (8, 4), "inverse": (8, 4), "state": (8, 4)}  # of a level's keys and states
POINTERS = {"out", "in", "ad", "key", "nonce", "tag", "state", "chain", "lanes"}


class Writer(dict):
    """Memory cells that are a trace of instructions too. It records the last one to write a byte."""

    pc = last = None

    def __init__(self, cells, address):
        super().__init__(cells)
        self.address = address & ~3

    def add(self, pc):
        self.pc = pc

    def __setitem__(self, address, v):
        if address == self.address:
            self.last = self.pc
        super().__setitem__(address, v)


class Call:
    """One call of a kernel, with memory and registers as the caller sets them."""

    watched = written_at = None  # an address, and the instruction that writes there last: see proof.writer()
    cases = {}  # address of a pointer in a run -> (modulus, residues) of this case: see proof.prove
    symbolic = True  # pointers have any value with the guaranteed alignment; else their address in the run

    def __init__(self, kernel):
        self.kernel, self.memory, self.scratch_bytes = kernel, Memory(getattr(kernel.isa, "big", False)), kernel.scratch_bytes
        isa, self.consts = kernel.isa, CONSTS
        self.memory.by_pointers = self.symbolic
        self.machine = m = isa.Machine(self.memory)
        self.fill()  # the caller's secrets, for example of an earlier call
        if hasattr(m, "untouched"):
            m.untouched = m.vector[0]
            m.vector = [m.untouched] * len(m.vector)
        m.known = self.known
        for r, name, address in zip(isa.ARGUMENTS, ("args", "scratch", "consts"), (ARGS, SCRATCH, self.consts)):
            m.general[r] = self.callers(name, address)

    def alignment(self, name):
        """The guaranteed alignment of the pointer with this name."""
        name, own = name.split()[0], "aes" in self.kernel.name or name == "state"
        if self.kernel.of_modes and name == "state":
            own = False
        found = ALIGNMENTS.get(name) or own and ALIGNMENT_OF_OWN.get(name) or (1, 1)
        return found[self.kernel.isa.POINTER == 32]

    def callers(self, name, address):
        """A pointer of the caller, as a value. If no bytes are there, it may be null."""
        if not self.symbolic:
            return const(address, self.kernel.isa.POINTER)
        least = [] if name.split()[0] not in ("in", "out", "ad", "tag") or self.memory.at(address) and self.memory.at(address).start == address else [0]
        return linear.pointer(name, address, *self.cases.get(address, (self.alignment(name), (0,))), self.kernel.isa.POINTER, *least)

    def known(self, v, what):
        """A pointer may have any value. If it is used as an address, that is near the pointer's address in this run."""
        found = linear.any_place(v)
        if what == "an address" and found and found[0].address is not None and abs(found[1]) < FAR:
            return Near(found[0].address, found[1])
        return type(self.machine).known(self.machine, v, what)

    def regions(self, *more):
        """Declares the memory regions of a call. more: (name, start, size, read, write)."""
        everything = [("args", ARGS, A["ARGS_BYTES"], True, False),
                      ("scratch", SCRATCH + self.kernel.scratch_from, self.scratch_bytes - self.kernel.scratch_from, True, True),
                      ("consts", self.consts, len(self.kernel.constants), True, False), *more]
        for r in everything:
            if r[2]:
                modulus, of = self.cases.get(r[1], (1, (1,)))
                guaranteed = self.alignment(r[0]) if self.symbolic else r[1] & -r[1]
                self.memory.region(*r, align=modulus if of == (0,) else guaranteed)
        self.memory.put(self.consts, self.kernel.constants)

    def prepare(self, shape, *more, kind="ARG", lanes=(), **arguments):
        """Declares the regions of a call, and writes its arguments: numbers, At, or None for any value. more: further
        regions. lanes: the arguments of each lane, some of which have the same pointer."""
        if lanes:
            arguments["lanes"] = At(LANES, A["LANE_STRIDE"] * len(lanes))
        slots = [("", ARGS, name, v) for name, v in arguments.items()]
        for i, lane in enumerate(lanes):
            slots += [(f" {i}", LANES + i * A["LANE_STRIDE"], name, v) for name, v in lane.items()]
        regions = {}
        for number, _, name, v in slots:
            if isinstance(v, At):
                regions.setdefault((name, v.address), (name + number, *v))
        self.regions(*regions.values(), *more)
        self.memory.seals = not getattr(shape, "opens", True)
        for texts in (arguments, *lanes):
            if isinstance(texts.get("out"), At) and shape.both and not shape.in_place:
                self.memory.apart(texts["in"].address, texts["out"].address)
        of_lanes = "MODE_LANE" if kind == "MODE" else "LANE"
        for number, at, name, v in slots:
            at += A[f"{of_lanes if number else kind}_{name.upper()}"]
            self.put_argument(at, *(regions[name, v.address][:2] if isinstance(v, At) else (name, v)))

    def arguments(self, kind="ARG", **values):
        for name, v in values.items():
            self.put_argument(ARGS + A[f"{kind}_{name.upper()}"], name, v)

    def put_argument(self, at, name, v):
        if v is not None and name.split()[0] in POINTERS:
            self.memory.put_pointer(at, self.callers(name, v))
        else:
            self.memory.put_number(at, symbol(f"no {name}", 64) if v is None else v if isinstance(v, terms.Value) else const(v, 64))

    def run(self, trace=None):
        if self.watched is not None:
            trace = self.memory.cells = Writer(self.memory.cells, self.watched)
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
            if v is not None and secret(v):
                raise Unproved(f"scratch + {at - SCRATCH} still depends on data")
        self.upper_halves()

    def wiped(self, written):
        """Requires that scratch that a loop has written is written again, without data."""
        for at in sorted(written):
            v = self.memory.cells.get(at, self.memory.unset)
            if SCRATCH <= at < SCRATCH + self.scratch_bytes and (not v.defined or secret(v)):
                raise Unproved(f"scratch + {at - SCRATCH}, which the loop has written, is not wiped")

    def upper_halves(self):
        m = self.machine
        if self.kernel.wide:
            for i in range(16):
                # It is zero, or nothing has written the register. Memory that nothing has written may have any value.
                if m.vector[i] is not m.untouched and any(w.constant != 0 for w in m.vector[i][4:]):
                    raise Unproved(f"the upper half of vector register {i} is not zero")

    def cells(self):
        """Returns the state except text, key and arguments: (kind, number) -> value."""
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

    def fill(self):
        """Registers may have any data."""
        m = self.machine
        m.general = [terms.tainted(self.kernel.isa.POINTER)] * len(m.general)
        m.fill_vectors(lambda name, width: terms.tainted(width))
        if hasattr(m, "mask"):
            m.mask = [terms.tainted(64)] * len(m.mask)
        if hasattr(m, "product"):
            m.product = terms.tainted(2 * m.bits)

    def put(self, cells, written=()):
        """Sets the state. Other registers, and words of scratch at the addresses written, may have any data."""
        self.fill()
        self.memory.cells.update((a, terms.tainted(32)) for a in written)
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

    def bytes_of(self, address, end):
        return {a: v for a, v in self.memory.cells.items() if address <= a < end}

    def expect(self, what, address, value):
        if value is None:
            return
        got = self.memory.peek(address, value.width // 8)
        if got is value:
            return
        for i, (x, y) in enumerate(zip(terms.parts_of(got, 32), terms.parts_of(value, 32))):
            if x is not y and (at := other_byte(x, y)) is not None:
                e = Unproved(f"byte {4 * i + at} of {what} is not what the specification says")
                e.address = address + 4 * i + at
                raise e


@terms.kept
def other_byte(x, y):
    """Returns the first byte in which two words are not the same, or None."""
    return next((at // 8 for at in range(0, x.width, 8) if not same(cut(x, at, 8), cut(y, at, 8))), None)


_keys = {}


def key_after(kernel, bits, name, trace, size, *regions, kind="ARG", **arguments):
    """Returns the memory of an AES key after set-up, and the number of instructions."""
    key, first = (kernel.name, kernel.code, bits, name, *arguments.values(), *Call.cases.items()), symbol(f"{name}0", 32)
    found = _keys.get(key)
    if found is None or found[2] is not first or trace is not None:
        call = Call(kernel)
        call.prepare(None, *regions, kind=kind, key=At(KEY), **arguments)
        call.memory.put_number(KEY + A["AES_KEY_ROUNDS"], const(bits // 32 + 6, 64))
        call.memory.poke(KEY + A["AES_KEY_SCHEDULE"], cat(*words_of(name, bits // 32)))
        steps = call.run(trace)
        found = _keys[key] = call.bytes_of(KEY, KEY + size), steps, first
    return found[:2]
