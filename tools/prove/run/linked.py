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

def text_of(path):
    """Returns the machine code in an object: in ELF that of the function, in other formats the text section, which has
    only it."""
    with open(path, "rb") as f:
        data = f.read()
    if data[:4] == b"\x7fELF":
        elf = ELFFile(io.BytesIO(data))
        s, = (s for s in elf.get_section_by_name(".symtab").iter_symbols() if s["st_info"]["type"] == "STT_FUNC")
        return elf.get_section(s["st_shndx"]).data()[s["st_value"]:s["st_value"] + s["st_size"]]
    if data[:4] == b"\xcf\xfa\xed\xfe":  # Mach-O of 64 bits
        at, text, symbols = 32, None, None
        for _ in range(struct.unpack_from("<I", data, 16)[0]):
            command, size = struct.unpack_from("<2I", data, at)
            if command == 0x19:  # LC_SEGMENT_64
                for i in range(struct.unpack_from("<I", data, at + 64)[0]):
                    section = at + 72 + 80 * i
                    if data[section:section + 16].rstrip(b"\0") == b"__text":
                        text = struct.unpack_from("<QI4xII", data, section + 40)
            elif command == 2:  # LC_SYMTAB
                symbols, = struct.unpack_from("<I", data, at + 8)
            at += size
        n, offset, relocations, count = text
        code = bytearray(data[offset:offset + n])
        for i in range(count):  # branches to labels, as the linker resolves them
            place, what = struct.unpack_from("<2I", data, relocations + 8 * i)
            if what >> 24 != 0x2d:  # X86_64_RELOC_BRANCH: of a symbol, 4 bytes, relative to the program counter
                raise Unproved(f"{path}: a relocation of kind {what >> 24:#x}")
            to, = struct.unpack_from("<Q", data, symbols + 16 * (what & 0xffffff) + 8)
            struct.pack_into("<i", code, place, to + struct.unpack_from("<i", code, place)[0] - place - 4)
        return bytes(code)
    sections, = struct.unpack_from("<H", data, 2)  # COFF
    for i in range(sections):
        name, _, _, n, offset = struct.unpack_from("<8s4I", data, 20 + 40 * i)
        if name.rstrip(b"\0") == b".text" and n:
            return data[offset:offset + n]
    raise Unproved(f"{path} has no text")


BRANCH = re.compile(rf"j\w+|b(\.\w\w)?|cbn?z|tbn?z|b({'|'.join(arm32.CONDITIONS)})")


class Insn:
    """text: without the target of a branch. names: the registers in it, and implicit ones."""

    def __init__(self, insn):
        self.address, self.name, self.target, operands = insn.address, insn.mnemonic, None, insn.op_str
        if BRANCH.fullmatch(self.name):
            operands, _, target = operands.rpartition(",")
            self.target = int(target.strip().lstrip("#"), 0)
        self.text = f"{self.name} {operands}".strip()
        self.nothing, self.returns = self.name in ("nop", "endbr64", "bti", "hint"), self.name in ("ret", "bx")
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
    found, moved, following = [*map(Insn, found)], {}, None
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
    compared = re.fullmatch(r"cmp (r\w+), (0x[\da-f]{1,3}|\d)", before)
    tested = re.fullmatch(rf"test (.*), {A['FLAG_OPEN']}", before)
    if compared and insn.name == "ja":
        r, most = compared[1], int(compared[2], 0)
        never = isinstance(facts.get(r), int) and facts[r] <= most
        return [(False, state.knowing(r, most))] + [(True, state)] * (not never)
    if compared and insn.name == "jae" and (less := re.fullmatch(rf"lea {compared[1]}, \[(r\w+) - 1\]", earlier)):
        return [(False, state.knowing(less[1], int(compared[2], 0))), (True, state)]
    if compared and insn.name == "je" and facts.get(compared[1]) == KEY:
        return [(False, state)]
    if tested and insn.name in ("je", "jne"):
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
        return (text_of if isa in FRAMES else Kernel)(path)
    command = CONVENTIONS[isa][name]
    if isa not in FRAMES:
        return prove_words(assembled(command, "-DSEALANE_GO"), assembled(command))
    go, (module, frames) = assembled(CONVENTIONS[isa]["Linux"], "-DSEALANE_GO"), FRAMES[isa]
    return prove_text(module, go, assembled(command), frames.get(name, frames.get("others")))


# On x86-64 and ARM: the file of isa/, and the frame of a convention.
FRAMES = {"x86_64": (x86, dict.fromkeys(("Windows", "ms_abi"), windows())), "aarch64": (arm64, {"others": of_arm64()}),
          "arm": (arm32, {"others": of_arm32(True)})}


def conventions(source, folder):
    """Yields (source and convention, reason of a refusal or None)."""
    isa, file = source.split(os.sep)[-2:]
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
