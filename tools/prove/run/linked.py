"""Checks the code that C links. The proofs are of Go's object, which is the body of a kernel alone.

    run.linked SOURCE...

The source is assembled as for a C library, for each calling convention. The code must have, in this order:

    begin   The stack pointer is lowered, and each register that the convention preserves is stored in a slot of its
            own.
    body    Go's instructions, in their order and with the same branch targets. It names no other preserved register
            and not the stack pointer, and has no return.
    end     The registers are loaded from their slots. On 32-bit ARM, MIPS and RISC-V the frame is zeroed. Then the
            stack pointer is restored, and the code returns.

On x86-64, Linux and macOS have slots below the stack pointer, and kernels may save their registers later or on some
paths only. Then each path must save them before it changes one, load them before it returns, and not read one after
that.

No-ops do not count. On MIPS and RISC-V the body is the same bit for bit, because jumps are relative. On big-endian
32-bit MIPS, a pointer argument is the second word of its slot, not the first, so its load reads four bytes further.
Calls of Go's code show which loads these are.

The exit status is 1 if a condition does not hold.
"""
import argparse
import glob
import io
import os
import re
import struct
import subprocess
import tempfile
from typing import NamedTuple
from unittest import mock

from elftools.elf.elffile import ELFFile
from isa import arm32, arm64, x86
from run import proof
from run.kernels import ARGS, Kernel
from run.memory import Memory
from run.packets import GcmShape, Setup, Shape
from run.report import summary
from spec.args import A, FIRST, LAST
from values.terms import Unproved

CLANG = ["clang", "-Wno-unused-command-line-argument"]
STATIC = "-nostdlib -static -Wl,--no-relax,-e,0,--build-id=none".split()
ARM, ARM64 = ["arm-linux-gnueabihf-gcc", "-c"], ["aarch64-linux-gnu-gcc", "-c"]
MIPS = {"mips": "mips-linux-gnu-gcc mipsel-linux-gnu-gcc",
        "mips64": "mips64-linux-gnuabi64-gcc mips64el-linux-gnuabi64-gcc"}
# Folder of sources -> convention -> command. Go's object is that of Linux, or, on MIPS and RISC-V, of the same compiler.
CONVENTIONS = {
    "x86_64": {"Linux": ["cc", "-c"], "Linux, CET": ["cc", "-c", "-fcf-protection"],
               "macOS": [*CLANG, "-c", "--target=x86_64-apple-macos11"],
               "Windows": [*CLANG, "-c", "--target=x86_64-w64-mingw32"], "ms_abi": ["cc", "-c", "-DSEALANE_TEST_WIN64"]},
    "aarch64": {"Linux": ARM64, "Linux, BTI": [*ARM64, "-mbranch-protection=standard"],
                "macOS": [*CLANG, "-c", "--target=arm64-apple-macos11"],
                "Windows": [*CLANG, "-c", "--target=aarch64-w64-mingw32"]},
    "arm": {"Linux": ARM}, **{isa: {name: [name, "-c"] for name in names.split()} for isa, names in MIPS.items()},
    "riscv64": {"riscv64-linux-gnu-gcc": ["riscv64-linux-gnu-gcc", *STATIC]},
}


# ---- Frames -----------------------------------------------------------------------------------------

class Frame(NamedTuple):
    """Instructions before and after a body, and Go's after it. Each is text, or a word of MIPS and RISC-V. others: a
    pattern of the registers that the body must not name."""

    begin: list
    end: list
    go_end: list
    others: str = "$^"


def number(n):
    return str(n) if n < 10 else f"{n:#x}"


def windows():
    slots = [(f"xmm{6 + i}", "movaps", "xmmword", 16 * i) for i in range(10)]
    slots += [(r, "mov", "qword", 160 + 8 * i) for i, r in enumerate("rbx r12 r13 r14 r15 rdi rsi".split())]
    place = lambda size, at: f"{size} ptr [rsp{f' + {number(at)}' if at else ''}]"
    saves = [f"{move} {place(size, at)}, {r}" for r, move, size, at in slots]
    loads = [f"{move} {r}, {place(size, at)}" for r, move, size, at in slots]
    return Frame(["sub rsp, 0xd8", *saves, "mov rdi, rcx", "mov rsi, rdx", "mov rdx, r8"],
                 [*loads, "add rsp, 0xd8", "ret"], ["ret"], STACK_X86)


def of_arm64():
    pairs = [f"{k}{i}, {k}{i + 1}" for k, first in (("d", 8), ("x", 19)) for i in range(first, first + 8, 2)]
    slots = [(pair, f"[sp{f', #{number(16 * i)}' if i else ''}]") for i, pair in enumerate(pairs)]
    return Frame(["sub sp, sp, #0x90", *(f"stp {pair}, {at}" for pair, at in slots), "str x27, [sp, #0x80]"],
                 ["ldr x27, [sp, #0x80]", *(f"ldp {pair}, {at}" for pair, at in slots), "add sp, sp, #0x90", "ret"],
                 ["ret"], r"w?sp|[wx](18|28|29|30)")


def of_arm32(vectors):
    """vectors: whether the kernel uses them."""
    saved, doubles = "{r4, r5, r6, r7, r8, sb, fp}", "{d8, d9, d10, d11, d12, d13, d14, d15}"
    wipe, rest = "stm sp!, {r0, r1, r2, r3}", "stm sp!, {r0, r1, r2}"
    return Frame([f"vpush {doubles}"] * vectors + [f"push {saved}"],
                 [f"ldm sp, {saved}", *(f"mov r{i}, #0" for i in range(4)), wipe, rest,
                  *[f"vldmia sp, {doubles}", *[wipe] * 4] * vectors, "bx lr"],
                 ["bx lr"], "sl|sp|lr" + "|[sdq][0-9]+" * (not vectors))


def of_mips(bits):
    add, store, load = (0x19, 0x3f, 0x37) if bits == 64 else (9, 0x2b, 0x23)
    moved = lambda by: add << 26 | 29 << 21 | 29 << 16 | by & 0xffff
    access = lambda opcode, r, at: opcode << 26 | 29 << 21 | r << 16 | at
    slots = [(r, bits // 8 * i) for i, r in enumerate(range(16, 23))]
    loads = [word for r, at in slots for word in (access(load, r, at), access(store, 0, at))]
    return Frame([moved(-bits), *(access(store, r, at) for r, at in slots)], [*loads, 0x03e00008, moved(bits)],
                 [0x03e00008, 0])


def of_riscv():
    moved = lambda by: (by & 0xfff) << 20 | 2 << 15 | 2 << 7 | 0x13
    store = lambda r, at: at >> 5 << 25 | r << 20 | 2 << 15 | 3 << 12 | (at & 31) << 7 | 0x23
    slots = [(r, 8 * i) for i, r in enumerate((8, 9, *range(18, 27)))]
    loads = [word for r, at in slots for word in (at << 20 | 2 << 15 | 3 << 12 | r << 7 | 3, store(0, at))]
    return Frame([moved(-96), *(store(r, at) for r, at in slots)], [*loads, moved(96), 0x00008067], [0x00008067])


STACK_X86 = "[re]?[sb]pl?"
RED_ZONE = "rbx r12 r13 r14 r15".split()
SAVES, LOADS = ([form.format(r, number(8 * i)) for i, r in enumerate(RED_ZONE, 1)]
                for form in ("mov qword ptr [rsp - {1}], {0}", "mov {0}, qword ptr [rsp - {1}]"))


# ---- Instructions -----------------------------------------------------------------------------------

class Object(NamedTuple):
    """The machine code in an object, its constants, and the alignment of these."""

    text: bytes
    constants: bytes
    align: int


def one(found, path, what):
    if len(found) != 1:
        raise Unproved(f"{path}: {len(found)} {what}, not one")
    return found[0]


def text_of(path, name):
    """Returns the machine code and constants in an object: in ELF those of the symbols, in other formats their sections,
    which have only them. The code has no relocations but branches in itself."""
    with open(path, "rb") as f:
        data = f.read()
    if data[:4] == b"\x7fELF":
        return of_elf(ELFFile(io.BytesIO(data)), path, name)
    return (of_macho if data[:4] == b"\xcf\xfa\xed\xfe" else of_coff)(data, path, name)


def of_elf(elf, path, name):
    symbols = [*elf.get_section_by_name(".symtab").iter_symbols()]
    function = one([s for s in symbols if s["st_info"]["type"] == "STT_FUNC"], path, "functions")
    places = [s for s in symbols if s["st_info"]["type"] == "STT_OBJECT"]
    only_these(elf, [function, *places], name)
    section = lambda s: elf.get_section(s["st_shndx"])
    content = lambda s: section(s).data()[s["st_value"]:s["st_value"] + s["st_size"]]
    used = {s["st_shndx"] for s in (function, *places)}
    for s in elf.iter_sections():
        if s["sh_type"] in ("SHT_REL", "SHT_RELA") and s["sh_info"] in used and s.num_relocations():
            raise Unproved(f"{path}: relocations in {s.name}")
    if not places:
        return Object(content(function), b"", 0)
    constants = one(places, path, "symbols of constants")
    at = constants["st_value"] | section(constants)["sh_addralign"]
    return Object(content(function), content(constants), at & -at)


def only_these(elf, symbols, name):
    """Requires that the first symbol is the one that C calls, and that no other of ours can be linked, nor other code or
    variables. After its link, an object of RISC-V has the linker's symbols too."""
    known = {s.name for s in symbols}
    for s in elf.get_section_by_name(".symtab").iter_symbols():
        if s["st_info"]["bind"] != "STB_LOCAL" and s.name not in known and (s.name.startswith("sealane_") or s["st_shndx"] == "SHN_UNDEF"):
            raise Unproved(f"another symbol, {s.name}")
    if symbols[0].name != name:
        raise Unproved(f"the function is {symbols[0].name}, not {name}")
    used = {s["st_shndx"] for s in symbols}
    for i, s in enumerate(elf.iter_sections()):
        if i not in used and s["sh_size"] and s["sh_flags"] & 2 and (s["sh_flags"] & 5 or s["sh_type"] == "SHT_INIT_ARRAY"):  # ALLOC, EXECINSTR, WRITE
            raise Unproved(f"a section {s.name}")


def of_macho(data, path, wanted):  # of 64 bits
    at, sections, symbols, names = 32, [], None, None
    for _ in range(struct.unpack_from("<I", data, 16)[0]):
        command, size = struct.unpack_from("<2I", data, at)
        if command == 0x19:  # LC_SEGMENT_64
            for i in range(struct.unpack_from("<I", data, at + 64)[0]):
                section = at + 72 + 80 * i
                sections.append((data[section:section + 16].rstrip(b"\0"), *struct.unpack_from("<2Q4I", data, section + 32)))
        elif command == 2:  # LC_SYMTAB
            symbols, count, names, _ = struct.unpack_from("<4I", data, at + 8)
        at += size
    of_text = one([i for i, s in enumerate(sections, 1) if s[0] == b"__text"], path, "sections of code")
    found = [struct.unpack_from("<I2BHQ", data, symbols + 16 * i) for i in range(count)]
    _, begin, n, offset, _, relocations, count = sections[of_text - 1]
    name = lambda s: data[names + s[0]:data.index(b"\0", names + s[0])]
    first = one([s for s in found if s[2] == of_text and name(s).startswith(b"_sealane_")], path, "functions")
    if name(first) != b"_" + wanted.encode():
        raise Unproved(f"{path}: another function")
    if others := {s[0] for s in sections if s[2]} - {b"__text", b"__const", b"__eh_frame", b"__compact_unwind"}:
        raise Unproved(f"{path}: further sections {others}")
    if first[4] != begin:
        raise Unproved(f"{path}: code before the function")
    code = bytearray(data[offset:offset + n])
    for i in range(count):  # branches to labels, as the linker resolves them
        place, what = struct.unpack_from("<2I", data, relocations + 8 * i)
        if what >> 24 != 0x2d or struct.unpack_from("<I", data, 4)[0] != 0x1000007:
            raise Unproved(f"{path}: a relocation of kind {what >> 24:#x}")  # not X86_64_RELOC_BRANCH of a symbol
        _, kind, where, _, to = found[what & 0xffffff]
        if kind & 0x0e != 0x0e or where != of_text:
            raise Unproved(f"{path}: a branch to another function")
        struct.pack_into("<i", code, place, to + struct.unpack_from("<i", code, place)[0] - place - 4)
    constants = [s for s in sections if s[0] == b"__const"]
    if not constants:
        return Object(bytes(code), b"", 0)
    _, _, n, offset, align, _, count = one(constants, path, "sections of constants")
    if count:
        raise Unproved(f"{path}: relocations in constants")
    return Object(bytes(code), data[offset:offset + n], 1 << align)


def of_coff(data, path, wanted):
    sections, _, symbols, count = struct.unpack_from("<HIII", data, 2)
    found = {}
    for i in range(sections):
        name, _, _, n, offset, _, _, relocations, _, flags = struct.unpack_from("<8s6I2HI", data, 20 + 40 * i)
        name = name.rstrip(b"\0")
        if n and name in (b".text", b".rdata"):
            if relocations or name in found:
                raise Unproved(f"{path}: relocations in {name.decode()}, or two such sections")
            found[name] = i + 1, data[offset:offset + n], 1 << (flags >> 20 & 15) >> 1
    if b".text" not in found:
        raise Unproved(f"{path} has no text")
    number_, text, _ = found[b".text"]
    table, i = [], 0
    while i < count:
        at = symbols + 18 * i
        name, value, section, kind, scope, more = struct.unpack_from("<8sIhHBB", data, at)
        if name[:4] == b"\0\0\0\0":
            begin = symbols + 18 * count + struct.unpack_from("<I", data, at + 4)[0]
            name = data[begin:data.index(b"\0", begin)]
        if section == number_ and scope == 2:
            table.append((name.rstrip(b"\0").decode(), value))
        i += 1 + more
    if one(table, path, "functions")[0] != wanted:
        raise Unproved(f"{path}: another function")
    if table[0][1]:
        raise Unproved(f"{path}: code before the function")
    _, constants, align = found.get(b".rdata", (0, b"", 0))
    return Object(text, constants, align)


BRANCH = re.compile(rf"j\w+|b(\.\w\w)?|cbn?z|tbn?z|b({'|'.join(arm32.CONDITIONS)})")


class Insn:
    """text: without the target of a branch. names: the registers in it, and implicit ones."""

    def __init__(self, insn, meaning):
        self.bytes, self.meaning = bytes(insn.bytes), meaning
        self.address, self.name, self.target, operands = insn.address, insn.mnemonic, None, insn.op_str
        if BRANCH.fullmatch(self.name):
            operands, _, target = operands.rpartition(",")
            self.target = int(target.strip().lstrip("#"), 0)
        self.text = f"{self.name} {operands}".strip()
        self.nothing, self.returns = self.name in ("nop", "endbr64", "bti"), self.name in ("ret", "bx")
        self.frame = None  # SAVES or LOADS, of which this is the first
        self.reads, self.writes = (set(map(insn.reg_name, found)) for found in insn.regs_access())
        self.names = self.reads | self.writes | set(re.findall(r"\b[a-z]\w*", operands))

    def __str__(self):
        return f"at {self.address:#x} {self.text}"


def instructions(isa, code):
    """Those that are no no-ops. A branch to a no-op is one to the instruction after it."""
    md = isa.decoder()
    md.detail = True
    found = [*md.disasm(code, 0)]
    if not found or found[-1].address + found[-1].size != len(code):
        raise Unproved("not all code is instructions")
    found, moved, following = [Insn(insn, lambda at: isa.meaning(code, at)) for insn in found], {}, None
    for insn in reversed(found):
        following = following if insn.nothing else insn.address
        moved[insn.address] = following
    for insn in found:
        insn.target = moved.get(insn.target, insn.target)
    return [insn for insn in found if not insn.nothing]


def between(code, texts, begin, end, whose):
    """Returns the code between these parts of a frame."""
    last = len(code) - len(end)
    for part, at, want in (("begin", 0, begin), ("end", last, end)):
        if at < 0 or texts[at:at + len(want)] != want:
            raise Unproved(f"{whose} {part} is another one")
    return code[len(begin):last]


def same(go, other, index):
    """Requires that a body has Go's instructions. index: address -> the number of the body's instruction there, or,
    where only those of the frame are, of the one after them."""
    go_index = {insn.address: i for i, insn in enumerate(go)}
    for mine, insn in zip(go, other):
        if mine.text != insn.text:
            raise Unproved(f"{insn}: where Go has {mine}")
        if mine.bytes != insn.bytes:  # a decoder may print alike what no CPU has
            insn.meaning(insn.address)
        if mine.target is not None:
            want = go_index.get(mine.target)
            if want is None or index.get(insn.target) != want:
                raise Unproved(f"{insn}: not to where Go's goes")
    if len(go) != len(other):
        raise Unproved(f"{len(other)} instructions, and Go has {len(go)}")


def prove_text(isa, go, other, frame):
    """Compares two forms of a kernel of x86-64 or ARM. frame None: on x86-64, slots below the stack pointer. Returns how
    many instructions are not Go's."""
    go, other = instructions(isa, go), instructions(isa, other)
    if frame is None:
        in_red_zone(go, other)
        return len(other) - len(go)
    if isa is arm32:
        frame = of_arm32(vectors=other[0].name == "vpush")
    between(go, [insn.text for insn in go], [], frame.go_end, "Go's")
    body = between(other, [insn.text for insn in other], frame.begin, frame.end, "the frame's")
    for insn in body:
        if insn.returns or any(re.fullmatch(frame.others, name) for name in insn.names):
            raise Unproved(f"{insn}: a return, or a register that is not saved")
    end = other[len(frame.begin) + len(body)]  # where Go's code returns
    same(go, [*body, go[-1]], {insn.address: i for i, insn in enumerate([*body, end])})
    return len(other) - len(go)


# ---- Paths with and without saved registers ---------------------------------------------------------

# Facts on a path: a register -> the greatest value that it has, or which argument. Whether the call opens is also one,
# because a path may test that twice.
ARGUMENTS, OPENS = "the arguments", "whether it opens"
KEY, FLAGS = f"qword ptr [rdi + {A['ARG_KEY']:#x}]", f"dword ptr [rdi + {A['ARG_FLAGS']:#x}]"


class State(NamedTuple):
    """Whether the registers of RED_ZONE are saved; those with values of the body; those that were loaded and not written
    since; the facts."""

    saved: bool = False
    body: frozenset = frozenset()
    loaded: frozenset = frozenset()
    facts: frozenset = frozenset({("rdi", ARGUMENTS)})

    def knowing(self, name, fact):
        return self._replace(facts=frozenset({**dict(self.facts), name: fact}.items()))

    def without(self, registers):
        """The facts about other registers."""
        return self._replace(facts=frozenset(fact for fact in self.facts if fact[0] not in registers))


def whole(names):
    return {x86.NAMES64[x86.GENERAL[n][0]] for n in names if n in x86.GENERAL}


def step(insn, state):
    """Returns the state after an instruction."""
    if (insn.returns or insn.frame is SAVES) and state.body:
        raise Unproved(f"{insn}: {', '.join(sorted(state.body))} is not the caller's")
    if insn.frame is SAVES:
        return state._replace(saved=True)
    if insn.frame is LOADS:
        if not state.saved:
            raise Unproved(f"{insn}: nothing has been saved")
        return state._replace(body=frozenset(), loaded=frozenset(RED_ZONE)).without(RED_ZONE)
    if insn.returns:
        return state
    if any(re.fullmatch(STACK_X86, name) for name in insn.names):
        raise Unproved(f"{insn}: the stack pointer, or a register that is not saved")
    reads, writes, used = whole(insn.reads), whole(insn.writes), whole(insn.names) & set(RED_ZONE)
    for r in used - state.body:
        if not state.saved:
            raise Unproved(f"{insn}: {r} has not been saved")
        if r in state.loaded and (r in reads or r not in writes):
            raise Unproved(f"{insn}: {r} may be read, which was loaded before")
    of_arguments = ("rdi", ARGUMENTS) in state.facts
    state = state._replace(body=state.body | used, loaded=state.loaded - used).without(writes)
    loaded = re.fullmatch(r"mov (\w+), (.*)", insn.text)
    if of_arguments and loaded and loaded[2] in (KEY, FLAGS):
        return state.knowing(*whole([loaded[1]]), loaded[2])
    return state


def ways(code, n, targets, state):
    """Returns (whether it branches, state) of the ways on from an instruction. A pointer is not a small number."""
    insn, facts = code[n], dict(state.facts)
    before = "" if insn.address in targets else code[n - 1].text
    earlier = "" if code[n - 1].address in targets else code[n - 2].text
    compared = re.fullmatch(rf"cmp ({'|'.join(x86.NAMES64)}), (0x[\da-f]{{1,3}}|\d)", before)
    tested = re.fullmatch(rf"test (.*), {A['FLAG_OPEN']}", before)
    if compared and insn.name == "ja":
        r, most = compared[1], int(compared[2], 0)
        never = isinstance(facts.get(r), int) and facts[r] <= most
        return [(False, state.knowing(r, most))] + [(True, state)] * (not never)
    if compared and insn.name == "jae" and (less := re.fullmatch(rf"lea {compared[1]}, \[(r\w+) - 1\]", earlier)):
        return [(False, state.knowing(less[1], int(compared[2], 0))), (True, state)]
    if compared and insn.name == "je" and facts.get(compared[1]) == KEY:
        return [(False, state)]
    if tested and insn.name in ("je", "jne") and x86.GENERAL.get(tested[1], (0, 0))[1] == 0:
        of_arguments = facts.get("rdi") == ARGUMENTS and tested[1] == FLAGS
        if of_arguments or FLAGS in map(facts.get, whole([tested[1]])):
            return [(branches, state.knowing(OPENS, opens)) for branches in (False, True)
                    if facts.get(OPENS, opens := branches == (insn.name == "jne")) == opens]
    return [(False, state)] * (insn.name != "jmp" and not insn.returns) + [(True, state)] * (insn.target is not None)


def in_red_zone(go, other):
    """Compares a form that has SAVES and LOADS in a row anywhere, and follows all its paths."""
    code, at, index, body = [], {}, {}, []
    while group := other[len(at):len(at) + len(RED_ZONE)]:
        group[0].frame = next((part for part in (SAVES, LOADS) if [insn.text for insn in group] == part), None)
        if group[0].frame is None:
            group = group[:1]
        at |= {insn.address: None for insn in group}  # nothing branches to between them
        at[group[0].address], index[group[0].address] = len(code), len(body)
        code.append(group[0])
        body += [insn for insn in group if group[0].frame is None]
    same(go, body, index)
    if not go[-1].returns:
        raise Unproved("the end is no return")
    targets = {insn.target for insn in code}
    seen, todo = set(), [(0, State())]
    while todo:
        place = n, state = todo.pop()
        if place not in seen:
            seen.add(place)
            todo += [(at[code[n].target] if branches else n + 1, after)
                     for branches, after in ways(code, n, targets, step(code[n], state))]


# ---- MIPS and RISC-V --------------------------------------------------------------------------------

POINTERS = [A["ARG_" + name] for name in "OUT IN AD KEY NONCE TAG STATE".split()]


def words(kernel):
    order = "big" if getattr(kernel.isa, "big", False) else "little"
    return [int.from_bytes(kernel.code[i:i + 4], order) for i in range(0, len(kernel.code), 4)]


class Loads:
    """A trace of instructions that records which ones load a pointer from its argument slot."""

    def __init__(self, kernel):
        self.isa, self.code, self.reached, self.pointers = kernel.isa, kernel.code, set(), set()

    def add(self, pc):
        slot = self.isa.fields(self.code, pc)[0] in ("jr", *self.isa.BRANCHES)
        self.pc = pc + 4 * slot  # in a step with a delay slot, only the slot may load
        self.reached |= {pc, self.pc}

    def load(self, memory, address, size, load=Memory.load):
        if address - ARGS in POINTERS:
            self.pointers.add(self.pc)
        return load(memory, address, size)


def pointer_loads(go, candidates):
    """Returns which of these instructions load a pointer. All of them must be reached."""
    loads, make, shapes = Loads(go), Shape, []
    if "aesgcm" in go.name:
        make, shapes = GcmShape, [Setup(256), GcmShape(64, opens=True, flags=FIRST, given=True)]
    shapes += [make(64, ad=5 * (flags & FIRST), opens=opens, flags=flags)
               for flags in (FIRST | LAST, FIRST, 0, LAST) for opens in (False, True)]
    with mock.patch.object(Memory, "load", lambda memory, address, size: loads.load(memory, address, size)):
        for shape in shapes:
            proof.in_cases(proof.run, go, shape, loads)
    if left := candidates - loads.reached:
        raise Unproved(f"no call reaches {min(left):#x}")
    return candidates & loads.pointers


def prove_words(go, other):
    """Compares two forms of a kernel. Returns how many instructions are not Go's."""
    isa, mine, code = go.isa, words(go), words(other)
    if go.constants != other.constants:
        raise Unproved("the constants are not Go's")
    frame = of_riscv() if isa.MACHINE == "EM_RISCV" else of_mips(isa.POINTER)
    go_body = between(mine, mine, [], frame.go_end, "Go's")
    body = between(code, code, frame.begin, frame.end, "the frame's")
    for i, word in enumerate(go_body):
        isa.fields(go.code, 4 * i)  # refuses reserved registers
        if word == frame.go_end[0]:
            raise Unproved(f"at {4 * i:#x} a return")
    if len(body) != len(go_body):
        raise Unproved(f"{len(body)} instructions, and Go has {len(go_body)}")
    pointers = set()
    if isa.MACHINE == "EM_MIPS" and isa.POINTER == 32 and isa.big:
        of_args = lambda word: word >> 21 == 0x23 << 5 | 4 and word & 0xffff in POINTERS
        pointers = pointer_loads(go, {4 * i for i, word in enumerate(go_body) if of_args(word)})
    for i, (x, y) in enumerate(zip(go_body, body)):
        of_pointer = 4 * i in pointers
        if y != x + 4 * of_pointer:
            at = 4 * (len(frame.begin) + i)
            raise Unproved(f"at {at:#x} {y:08x}: where Go has {x:08x}" + ", which loads a pointer" * of_pointer)
    return len(code) - len(go_body)


# ---- Command line -----------------------------------------------------------------------------------

def prove(isa, name, source, folder):
    """Compares the two forms of a source for a convention. Returns how many instructions are not Go's."""
    def assembled(command, *flags):
        path = os.path.join(folder, "a.o")
        subprocess.run([*command, *flags, "-o", path, source], check=True)
        name = "sealane_" + os.path.basename(source).removesuffix(".S")
        if isa in FRAMES:
            return text_of(path, name)
        with open(path, "rb") as f:
            found = of_elf(ELFFile(f), path, name)
        if found.constants and found.align < 64 and not flags:
            raise Unproved(f"constants are only at a multiple of {found.align}")
        return Kernel(path)
    command = CONVENTIONS[isa][name]
    if isa not in FRAMES:
        return prove_words(assembled(command, "-DSEALANE_GO"), assembled(command))
    go, (module, frames) = assembled(CONVENTIONS[isa]["Linux"], "-DSEALANE_GO"), FRAMES[isa]
    other, mark = assembled(command), MARKS.get(name, "")
    same_constants(go, other)
    if mark and mark != f"{(first := next(module.decoder().disasm(other.text, 0))).mnemonic} {first.op_str}".strip():
        raise Unproved(f"it does not begin with {mark}, to which calls by a pointer may go")
    return prove_text(module, go.text, other.text, frames.get(name, frames.get("others")))


def same_constants(go, other):
    """C's are aligned to 64 bytes (asm/asm.S). Sections of other formats than ELF may end with further zeroes."""
    if other.constants[:len(go.constants)] != go.constants or any(other.constants[len(go.constants):]):
        raise Unproved("the constants are not Go's")
    if go.constants and other.align < 64:
        raise Unproved(f"constants are only at a multiple of {other.align}")


# What functions begin with where indirect calls must land on it.
MARKS = {"Linux, CET": "endbr64", "Linux, BTI": "bti c"}
# On x86-64 and ARM: the file of isa/, and the frame of a convention.
FRAMES = {"x86_64": (x86, dict.fromkeys(("Windows", "ms_abi"), windows())), "aarch64": (arm64, {"others": of_arm64()}),
          "arm": (arm32, {"others": of_arm32(True)})}


# What a source may ask of a compiler: with these, each of the conventions above is as a library's user compiles it.
ASKED = {"__ELF__", "__APPLE__", "_WIN32", "__clang__", "__x86_64__", "__CET__", "__aarch64__", "__ARM_FEATURE_BTI_DEFAULT", "__arm__",
         "__riscv", "__riscv_xlen", "__mips__", "__mips64", "__mips_isa_rev", "__MIPSEB__", "_ABIO32", "_ABI64", "_MIPS_SIM"}


WORDS = ASKED | {"if", "elif", "ifdef", "ifndef", "defined", "SEALANE_GO", "SEALANE_TEST_WIN64"}


def conditions(source):
    """Refuses conditions on anything else, such as optimization."""
    folder, own = os.path.dirname(source), set()
    paths = source, *glob.glob(folder + "/*.h"), *glob.glob(os.path.dirname(folder) + "/*.[hS]")
    for path in glob.glob(os.path.dirname(folder) + "/**/*.[hS]", recursive=True):
        with open(path) as f:
            own |= {*re.findall(r"^\s*#\s*define\s+(\w+)", f.read(), re.M)} - {"NDEBUG", "DEBUG", "PIC", "linux", "unix"}
    for path in paths:
        with open(path) as f:
            for n, line in enumerate(f, 1):
                others = set(re.findall(r"\b_[A-Z_]\w*", line)) - ASKED - {"__TEXT", "__const"}
                if re.match(r"\s*#\s*(el)?if", line):
                    others |= set(re.findall(r"\b[A-Za-z]\w*", line.partition("/*")[0])) - WORDS - own
                if others:
                    raise Unproved(f"{path}:{n}: {', '.join(others)}, on which code must not depend")


def conventions(source, folder):
    """Yields (source and convention, reason of a refusal or None)."""
    isa, file = source.split(os.sep)[-2:]
    try:
        conditions(source)
    except Unproved as e:
        yield f"{isa}/{file}", str(e)
    for name in CONVENTIONS[isa]:
        what = f"{isa}/{file}, {name}"
        try:
            print(f"ok   {what}: {prove(isa, name, source, folder)} instructions of the frame", flush=True)
            yield what, None
        except Unproved as e:
            yield what, str(e)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sources", nargs="+")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return summary("linked", (result for source in args.sources for result in conventions(source, folder)))
