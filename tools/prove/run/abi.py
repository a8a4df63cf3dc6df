"""Checks the code that C links. The proofs are of Go's object, which is the body of a kernel alone.

    run.abi [SOURCE...]

For each calling convention, the source is assembled as for a C library on Linux, macOS and Windows. For each, these
are shown:

    body    The instructions are those of Go's object, in their order, except no-ops, and branches have the same
            targets. Between them are only instructions of the frame: saves, loads, moves of the stack pointer and of
            arguments.
    frame   On every path, a preserved register is saved before the first change, and has the caller's value when the
            function returns. It is not read after it was restored. No used slot of the frame is lost. The stack pointer
            is restored. On 32-bit ARM, the whole frame is then zero.

The exit status is 1 if one is not shown.
"""
import io
import re
import struct

from elftools.elf.elffile import ELFFile
from isa import arm32, arm64, x86
from run import linked
from run.linked import assemble, results
from spec.args import A
from values.terms import Unproved

CLANG = ["clang", "-Wno-unused-command-line-argument"]
ISAS = {"x86_64": x86, "aarch64": arm64, "arm": arm32}
GO = {"x86_64": ["cc"], "aarch64": ["aarch64-linux-gnu-gcc"], "arm": ["arm-linux-gnueabihf-gcc"]}
VARIANTS = {
    "x86_64": {"Linux": ["cc"], "Linux, CET": ["cc", "-fcf-protection"], "macOS": [*CLANG, "--target=x86_64-apple-macos11"],
               "Windows": [*CLANG, "--target=x86_64-w64-mingw32"], "ms_abi": ["cc", "-DSEALANE_TEST_WIN64"]},
    "aarch64": {"Linux": GO["aarch64"], "Linux, BTI": [*GO["aarch64"], "-mbranch-protection=standard"],
                "macOS": [*CLANG, "--target=arm64-apple-macos11"], "Windows": [*CLANG, "--target=aarch64-w64-mingw32"]},
    "arm": {"Linux": GO["arm"]},
}
# The registers that a convention preserves, by the names of the whole registers in this file.
PRESERVED = {"x86_64": "rbx r12 r13 r14 r15", "ms": "rbx rdi rsi r12 r13 r14 r15 " + " ".join(f"v{i}" for i in range(6, 16)),
             "aarch64": " ".join([*(f"x{i}" for i in range(19, 29)), *(f"v{i}" for i in range(8, 16))]),
             "arm": " ".join([*(f"r{i}" for i in (4, 5, 6, 7, 8, 9, 10, 11)), *(f"d{i}" for i in range(8, 16))])}


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


BRANCH = {x86: r"j\w+", arm64: r"b(\.\w\w)?|cbn?z|tbn?z", arm32: f"b({'|'.join(arm32.CONDITIONS)})?"}


class Insn:
    def __init__(self, isa, insn):
        self.address, self.after, self.name, self.text = insn.address, insn.address + insn.size, insn.mnemonic, insn.op_str
        self.nothing = self.name in ("nop", "endbr64") or self.name == "bti" or self.name == "hint"
        self.returns = self.name in ("ret", "bx")
        self.branches = bool(re.fullmatch(BRANCH[isa], self.name))
        self.target = int(self.text.split(",")[-1].strip().lstrip("#"), 0) if self.branches else None
        self.other = self.text.rpartition(",")[0] if self.branches else self.text
        self.reads, self.writes = (set(map(insn.reg_name, r)) for r in insn.regs_access())

    def __str__(self):
        return f"at {self.address:#x} {self.name} {self.text}"


def instructions(isa, code):
    md, found = isa.decoder(), []
    md.detail = True
    for insn in md.disasm(code, 0):
        found.append(Insn(isa, insn))
    if not found or found[-1].after != len(code):
        raise Unproved(f"no instruction at {found[-1].after if found else 0:#x}")
    while found and not found[-1].returns:  # only padding follows the return
        if not found.pop().nothing:
            raise Unproved("code behind the return")
    return found


def whole(isa, name):
    """Returns the whole register of which a name is a part."""
    if isa is x86:
        if re.fullmatch(r"[xyz]mm\d+", name):
            return "v" + name[3:]
        return x86.NAMES64[x86.GENERAL[name][0]] if name in x86.GENERAL else name
    if isa is arm64:
        if m := re.fullmatch(r"[wx](\d+)", name):
            return "x" + m[1]
        return "v" + m[1] if (m := re.fullmatch(r"[vqdshb](\d+)", name)) else name
    if name in arm32.REGISTERS:
        return f"r{arm32.REGISTERS[name]}"
    return name


def mentioned(isa, insn):
    """Returns the registers that an instruction's text names, and its implicit ones."""
    text = re.sub(r"#?-?\b0x[\da-f]+|#-?\d+", "", insn.text)
    found = set(re.findall(r"[a-z]+\d*[a-z]?", text.replace("ptr", ""))) | insn.reads | insn.writes
    if isa is arm32:
        for n in re.findall(r"\bq(\d+)", insn.text):
            found |= {f"d{2 * int(n)}", f"d{2 * int(n) + 1}"}
        for a, b in re.findall(r"\bd(\d+)-d(\d+)|$^", insn.text):
            found |= {f"d{i}" for i in range(int(a), int(b) + 1)}
    if isa is arm64:
        found |= set(re.findall(r"[vqdshbwx]\d+", text))
    return {whole(isa, n) for n in found}


def frame(isa, insn):
    """Returns the effect of a frame instruction, [(effect, register, offset from the stack pointer)], or None."""
    name, text = insn.name, insn.text
    number = lambda t: int(t.replace(" ", "").lstrip("#"), 0) if t else 0
    if isa is x86:
        if m := re.fullmatch(r"rsp, (0x\w+|\d+)", text):
            return [("move", None, {"sub": -1, "add": 1}[name] * number(m[1]))] if name in ("sub", "add") else None
        if name in ("mov", "movaps") and (m := re.fullmatch(r"[xq]mm?word ptr \[rsp( [+-] \w+)?\], (\w+)|qword ptr \[rsp( [+-] \w+)?\], (\w+)", text)):
            return [("save", whole(isa, m[2] or m[4]), number(m[1] or m[3]))]
        if name in ("mov", "movaps") and (m := re.fullmatch(r"(\w+), (?:xmmword|qword) ptr \[rsp( [+-] \w+)?\]", text)):
            return [("load", whole(isa, m[1]), number(m[2]))]
        if name == "mov" and text in ("rdi, rcx", "rsi, rdx", "rdx, r8"):
            return [("argument", text[:3], 0)]
        return None
    if isa is arm64:
        if m := re.fullmatch(r"sp, sp, (#\w+)", text):
            return [("move", None, {"sub": -1, "add": 1}[name] * number(m[1]))]
        m = re.fullmatch(r"(\w\d+)(?:, (\w\d+))?, \[sp(?:, (#\w+))?\]", text)
        if not m or name not in ("stp", "str", "ldp", "ldr"):
            return None
        what, at = "save" if name[0] == "s" else "load", number(m[3])
        return [(what, whole(isa, r), at + 8 * i) for i, r in enumerate((m[1], m[2])) if r]
    if name == "mov" and (m := re.fullmatch(r"(r[0-3]), #0", text)):
        return [("zero", m[1], 0)]
    if m := re.fullmatch(r"(?:(sp!?), )?\{(.*)\}", text):
        size = 8 if name[0] == "v" else 4
        places = [(whole(isa, n), size * i) for i, n in enumerate(m[2].split(", "))]
        if name in ("push", "vpush"):
            return [("move", None, -size * len(places)), *(("save", r, at) for r, at in places)]
        if name in ("ldm", "vldmia") and m[1] == "sp":
            return [("load", r, at) for r, at in places]
        if name == "stm" and m[1] == "sp!":
            return [*(("wipe", r, at) for r, at in places), ("move", None, size * len(places))]
    return None


def match(isa, go, other):
    """Returns for each instruction of `other` the index of Go's instruction, or None if it belongs to the frame.
    Registers are set to zero only at the end."""
    i, found = 0, []
    for insn in other:
        mine = go[i] if i < len(go) else None
        if mine and (insn.name, insn.other, insn.branches) == (mine.name, mine.other, mine.branches):
            found.append(i)
            i += 1
        elif (actions := frame(isa, insn)) is not None:
            if i < len(go) - 1 and any(what in ("zero", "wipe") for what, _, _ in actions):
                raise Unproved(f"{insn}: not at the end")
            found.append(None)
        else:
            raise Unproved(f"{insn}: where Go has {mine}")
    if i < len(go):
        raise Unproved(f"{go[i]} is missing")
    return found


def same_branches(go, other, found):
    begins = {}  # address -> the instruction of Go's code that follows there, after those of the frame
    following = None
    for insn, i in zip(reversed(other), reversed(found)):
        following = following if i is None else i
        begins[insn.address] = following
    index = {insn.address: i for i, insn in enumerate(go)}
    for insn, i in zip(other, found):
        if insn.branches:
            want = index.get(go[i].target)
            if want is None or begins.get(insn.target) != want:
                raise Unproved(f"{insn}: not to where Go's goes")


# States of a preserved register: the caller's value, untouched; used by the body; restored; one of the last two.
ENTRY, BODY, RESTORED, EITHER = range(4)
KEY, FLAGS, OPENS = f"qword ptr [rdi + {A['ARG_KEY']:#x}]", f"dword ptr [rdi + {A['ARG_FLAGS']:#x}]", "whether it opens"


def step(isa, insn, i, state, preserved):
    """Returns the state after an instruction: (bytes by which the stack pointer is lower, slot -> register, facts), and
    register -> its state. A fact is the greatest value of a register, or that it holds the argument KEY or FLAGS.
    Another one is whether the call opens, because a path may test that twice."""
    (depth, slots, known), registers = state
    slots, registers, known = dict(slots), dict(registers), dict(known)
    if i is None:
        for what, r, offset in frame(isa, insn):
            if what == "move":
                depth -= offset
                slots = {at: r for at, r in slots.items() if isa is x86 and at >= -depth - 128 or at >= -depth}
            elif what == "argument":
                if registers.get(r, RESTORED) == ENTRY and r not in slots.values():
                    raise Unproved(f"{insn}: {r} has not been saved")
                if r in registers:
                    registers[r] = BODY
            elif what == "save":
                if registers.get(r) not in (ENTRY, RESTORED):
                    raise Unproved(f"{insn}: {r} is not the caller's")
                if offset < (-128 if isa is x86 and depth == 0 else 0) or depth and offset >= depth:
                    raise Unproved(f"{insn}: not in the frame")
                slots = {at: s for at, s in slots.items() if at != offset - depth}
                slots[offset - depth] = r
            elif what == "wipe":
                if known.get(r) != 0:
                    raise Unproved(f"{insn}: {r} is not zero")
            elif what == "load":
                if slots.get(offset - depth) != r:
                    raise Unproved(f"{insn}: that slot does not hold {r}")
                registers[r] = RESTORED
    elif insn.returns:
        wrong = [r for r in preserved if registers[r] in (BODY, EITHER)]
        if wrong or depth:
            raise Unproved(f"{insn}: {', '.join(wrong) or 'the stack pointer'} is not the caller's")
    else:
        reads = {whole(isa, n) for n in insn.reads}
        for r in mentioned(isa, insn) & set(preserved):
            if registers[r] != BODY:
                if r not in slots.values():
                    raise Unproved(f"{insn}: {r} has not been saved")
                if registers[r] != ENTRY and (r in reads or r not in {whole(isa, n) for n in insn.writes}):
                    raise Unproved(f"{insn}: {r} may be read, which was restored before")
                registers[r] = BODY
    for r in {whole(isa, n) for n in insn.writes}:
        known.pop(r, None)
    if i is None:
        known |= {r: 0 for what, r, _ in frame(isa, insn) if what == "zero"}
    if isa is x86 and insn.name == "mov" and (m := re.fullmatch(r"(\w+), ([qd]word ptr \[rdi \+ 0x\w+\])", insn.text)) and m[2] in (KEY, FLAGS):
        known[whole(isa, m[1])] = m[2]
    return (depth, tuple(sorted(slots.items())), tuple(sorted(known.items()))), registers


def ways(other, at, n, about):
    """Returns the next instructions, and the facts known there. A pointer is not a small number."""
    insn, before = other[n], other[n - 1]
    target, following = at.get(insn.target), n + 1
    compared = re.fullmatch(r"(r\w+), (0x[\da-f]{1,3}|\d)", before.text) if before.name == "cmp" else None
    if compared and insn.name in ("je", "ja", "jae"):
        r, c, known = compared[1], int(compared[2], 0), dict(about[2])
        if insn.name == "jae" and (less := re.fullmatch(rf"{r}, \[(r\w+) - 1\]", other[n - 2].text)) and other[n - 2].name == "lea":
            return [(following, (*about[:2], tuple(sorted((known | {less[1]: c}).items())))), (target, about)]
        if insn.name == "je" and known.get(r) == KEY:
            return [(following, about)]
        if insn.name == "ja":
            return [(following, (*about[:2], tuple(sorted((known | {r: c}).items()))))] + ([(target, about)] if not isinstance(known.get(r), int) or known[r] > c else [])
    if insn.name in ("je", "jne") and before.name == "test" and (tested := re.fullmatch(rf"(.*), {A['FLAG_OPEN']}", before.text)):
        known = dict(about[2])
        if FLAGS in (tested[1], known.get(x86.GENERAL.get(tested[1], (None,))[0] is not None and whole(x86, tested[1]))):
            return [(to, (*about[:2], tuple(sorted((known | {OPENS: opens}).items()))))
                    for to, opens in ((target, insn.name == "jne"), (following, insn.name == "je")) if known.get(OPENS, opens) == opens]
    if insn.returns:
        return []
    return ([(target, about)] if insn.branches else []) + ([] if insn.name in ("jmp", "b") else [(following, about)])


def join(v, w):
    return v if v == w else EITHER if {v, w} - {ENTRY} == {BODY, RESTORED} or EITHER in (v, w) else max(v, w)


def frames(isa, other, found, preserved):
    """Follows the paths from each instruction until no state changes."""
    at = {insn.address: n for n, insn in enumerate(other)}
    states, todo = {(0, (0, (), ())): dict.fromkeys(preserved, ENTRY)}, [(0, (0, (), ()))]
    while todo:
        n, about = todo.pop()
        insn = other[n]
        about, after = step(isa, insn, found[n], (about, states[n, about]), preserved)
        for place in ways(other, at, n, about):
            new = {r: join(states[place][r], v) for r, v in after.items()} if place in states else after
            if states.get(place) != new:
                states[place] = new
                todo.append(place)


def prove(isa_name, go, code, windows):
    """Compares two forms of a kernel. Returns how many instructions are not Go's."""
    isa = ISAS[isa_name]
    go, other = ([i for i in instructions(isa, c)] for c in (go, code))
    # A branch to a no-op is one to the instruction after it.
    for insns in (go, other):
        moved, following = {}, None
        for insn in reversed(insns):
            following = following if insn.nothing else insn.address
            moved[insn.address] = following
        for insn in insns:
            if insn.branches:
                insn.target = moved.get(insn.target, insn.target)
        insns[:] = [i for i in insns if not i.nothing]
    found = match(isa, go, other)
    same_branches(go, other, found)
    frames(isa, other, found, PRESERVED["ms" if windows else isa_name].split())
    return len(other) - len(go)


def conventions(source, folder, isa_name):
    """Yields the result of each calling convention."""
    text = lambda command, *flags: text_of(assemble(command, source, folder, "-c", *flags))
    go, variants = text(GO[isa_name], "-DSEALANE_GO"), VARIANTS[isa_name]
    return results(variants, lambda name: prove(isa_name, go, text(variants[name]), isa_name == "x86_64" and name in ("Windows", "ms_abi")))


def main():
    return linked.main("abi", VARIANTS, conventions)
