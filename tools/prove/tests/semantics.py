"""What isa/x86.py says of an instruction, beside what this CPU does: every instruction of the kernels, by mnemonic and form of
its operands, with random and edge inputs.

    tests.semantics [--inputs N] [--part I/N] [--neighbors] [--plant] OBJECT...

All inputs are taken as symbols, whose result is then evaluated (columns.py), and some as constants too, so that the
terms are tested as well as the folding of constants. Instructions that this CPU does not have are listed as not run. --plant
makes one instruction in a hundred wrong, which must be found. --neighbors takes what no kernel has
but a mutant may (mutation/mutate.py): forms made of these by turning one bit over, whose meaning is given as well. Then what the
prover refuses is no failure, and counted.
"""
import argparse
import collections
import ctypes
import mmap
import os
import random
import re
import subprocess
import tempfile
import time

import numpy as np
from capstone import x86_const as X
from isa import x86
from isa.code import STOPS
from run import kernels
from run.memory import Memory
from tests import columns
from values import terms
from values.terms import Unproved, const

BUFFER = 0x70000000  # behind the heap of a program that lies at the bottom
WINDOW = 256  # bytes of it that instructions may touch
GENERAL, VECTOR, MASK, FLAGS, MEMORY = 0, 128, 128 + 32 * 64, 128 + 32 * 64 + 64, 128 + 32 * 64 + 64 + 64
RECORD = MEMORY + WINDOW
FREE = [i for i in range(16) if i not in (x86.RSP, x86.RBP)]


def features():
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("flags"):
                return set(line.split(":")[1].split())
    return set()

CPU = features()
WIDE = "avx512bw" in CPU
# What capstone calls an instruction set, and Linux a feature.
NEEDS = {"avx": "avx", "avx2": "avx2", "bmi": "bmi1", "bmi1": "bmi1", "bmi2": "bmi2", "avx512": "avx512f", "ifma": "avx512ifma",
         "vlx": "avx512vl", "bwi": "avx512bw", "dqi": "avx512dq", "aes": "aes", "pclmul": "pclmulqdq", "sse41": "sse4_1",
         "ssse3": "ssse3", "sse2": "sse2", "sse1": "sse"}


LONGEST = 15  # bytes of an instruction


def frame():
    """Machine code around an instruction: for each of rsi records at rdi, all registers and the window from it, and back. Also
    where the instruction belongs."""
    lines = [".intel_syntax noprefix", "begin:"]
    lines += [f"push {r}" for r in ("rbx", "rbp", "r12", "r13", "r14", "r15", "rdi", "rsi")] + ["next:", "mov rbp, [rsp + 8]"]
    window = [(f"[rbp + {MEMORY + i}]", f"[rbx + {i}]") for i in range(0, WINDOW, 32)]
    lines += [f"mov ebx, {BUFFER}"] + [line for a, b in window for line in (f"vmovdqu ymm0, {a}", f"vmovdqu {b}, ymm0")]
    if WIDE:
        lines += [f"kmovq k{i}, [rbp + {MASK + 8 * i}]" for i in range(8)]
        lines += [f"vmovdqu64 zmm{i}, [rbp + {VECTOR + 64 * i}]" for i in range(32)]
    else:
        lines += [f"vmovdqu ymm{i}, [rbp + {VECTOR + 64 * i}]" for i in range(16)]
    lines += [f"push qword ptr [rbp + {FLAGS}]", "popfq"]
    lines += [f"mov {x86.NAMES64[i]}, [rbp + {GENERAL + 8 * i}]" for i in FREE]
    lines += ["instruction:", f".fill {LONGEST}, 1, 0x90"]
    lines += [f"mov [rbp + {GENERAL + 8 * i}], {x86.NAMES64[i]}" for i in FREE] + ["pushfq", f"pop qword ptr [rbp + {FLAGS}]"]
    if WIDE:
        lines += [f"vmovdqu64 [rbp + {VECTOR + 64 * i}], zmm{i}" for i in range(32)]
        lines += [f"kmovq [rbp + {MASK + 8 * i}], k{i}" for i in range(8)]
    else:
        lines += [f"vmovdqu [rbp + {VECTOR + 64 * i}], ymm{i}" for i in range(16)]
    lines += [f"mov ebx, {BUFFER}"] + [line for a, b in window for line in (f"vmovdqu ymm0, {b}", f"vmovdqu {a}, ymm0")]
    lines += [f"add qword ptr [rsp + 8], {RECORD}", "dec qword ptr [rsp]", "jnz next", "vzeroupper"]
    lines += [f"pop {r}" for r in ("rsi", "rdi", "r15", "r14", "r13", "r12", "rbp", "rbx")] + ["ret"]
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/f.s", "w") as f:
            f.write("\n".join(lines) + "\n")
        subprocess.run(["cc", "-c", "-o", d + "/f.o", d + "/f.s"], check=True)
        from elftools.elf.elffile import ELFFile
        with open(d + "/f.o", "rb") as f:
            elf = ELFFile(f)
            text = elf.get_section_by_name(".text").data()
            at, = [s["st_value"] for s in elf.get_section_by_name(".symtab").iter_symbols() if s.name == "instruction"]
    return text, at


class Cpu(columns.Machines):
    by, words = "the CPU", RECORD // 8
    spoiled = "rax"

    def __init__(self):
        text, self.at = frame()
        self.page = mmap.mmap(-1, len(text), prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self.page[:] = text
        self.call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)(ctypes.addressof(ctypes.c_char.from_buffer(self.page)))
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
        got = libc.mmap(BUFFER, 8192, 3, 0x100022, -1, 0)  # private, anonymous, at this very address, where nothing else is
        if got != BUFFER:
            raise SystemExit("no memory at the address of the buffer")
        self.places = {x86.NAMES64[i]: (64, (GENERAL + 8 * i) // 4) for i in FREE}
        self.places |= {f"v{i}.{j}": (32, (VECTOR + 64 * i) // 4 + j) for i in range(32) for j in range(16)}
        self.places |= {f"k{i}": (64, (MASK + 8 * i) // 4) for i in range(8)}
        self.places |= {f"m{j}": (32, (MEMORY + j) // 4) for j in range(0, WINDOW, 4)}
        self.places["carry"] = 1, 8 * FLAGS
        self.hidden = set() if WIDE else {f"v{i}.{j}" for i in range(32) for j in range(16) if i > 15 or j > 7} | {f"k{i}" for i in range(8)}
        no = {at // 2 for n in self.hidden for _, at in (self.places[n],)} | {FLAGS // 8, x86.RSP, x86.RBP} | set(range(FLAGS // 8, MEMORY // 8))
        self.compared = np.array([i for i in range(self.words) if i not in no])

    def seen(self, name):
        return name not in self.hidden

    def load(self, insn):
        code = bytes(insn.bytes)
        self.page[self.at:self.at + LONGEST] = code + b"\x90" * (LONGEST - len(code))
        # Of zero and sign the machine keeps what they are of: one result that has both.
        self.reads_flags = insn.mnemonic.startswith(("cmov", "set"))

    def made(self, get):
        m = x86.Machine(Memory())
        m.general = [get(x86.NAMES64[i], 64) if i in FREE else terms.undefined(64) for i in range(16)]
        m.vector = [tuple([get(f"v{i}.{j}", 32) for j in range(16)]) for i in range(32)]
        m.mask = [get(f"k{i}", 64) for i in range(8)]
        m.carry, m.overflow = get("carry", 1), const(self.overflow, 1)
        m.result = const(self.result, 64) if self.reads_flags else None
        m.memory.region("buffer", BUFFER, WINDOW, True, True, 64)
        m.memory.cells = {BUFFER + j: get(f"m{j}", 32) for j in range(0, WINDOW, 4)}
        return m

    def values(self, m):
        found = {x86.NAMES64[i]: m.general[i] for i in FREE}
        for i, v in enumerate(m.vector):
            for j, w in enumerate(v):
                found[f"v{i}.{j}"] = w
        for i, v in enumerate(m.mask):
            found[f"k{i}"] = v
        for j in range(0, WINDOW, 4):
            found[f"m{j}"] = m.memory.cells[BUFFER + j]
        return found

    def run(self, which, records):
        out = records.copy()
        self.call(out.ctypes.data, len(out))
        return out

    def flags(self, m, records):
        word = records[:, FLAGS // 8]
        found = [("carry", m.carry, word & 1), ("overflow", m.overflow, (word >> 11) & 1)]
        if m.result is not None:
            found += [("zero", m.flag_zero(), (word >> 6) & 1), ("sign", m.flag_sign(), (word >> 7) & 1)]
        return found

    def spoil(self, m):
        m.general[0] = terms.xor(m.general[0], const(1, 64))

    def prepare(self, insn, rng, records):
        """Addresses in the window, and counts as kernels have them: not beyond what is defined."""
        first, fixed = records[0], set()
        zero, sign, self.overflow = rng.choice(((0, 0), (0, 1), (1, 0))) + (rng.randrange(2),)
        self.result = 0 if zero else (1 << 63) if sign else 1
        records[:, FLAGS // 8] = (records[:, FLAGS // 8] >> 11 & 1) | (2 | zero << 6 | sign << 7 | self.overflow << 11)
        name, ops = insn.mnemonic, insn.operands
        if name in ("shl", "shr", "sar", "rol", "ror", "shrd", "shld"):
            first[1] = rng.randrange(8 * ops[0].size)
        if name in ("bsr", "bsf"):
            for i in FREE:
                first[i] |= np.uint64(1 << rng.randrange(8 * ops[1].size))
        for o in ops:
            if o.type == X.X86_OP_MEM and name != "lea":
                base, index = (x86.GENERAL[insn.reg_name(r)][0] if r else None for r in (o.mem.base, o.mem.index))
                aim = BUFFER + rng.choice((0, 64, 128, 192) if self.aligned else (0, 5, 64, 77, 130, 192))
                if base is not None and base == index:
                    raise Unproved("base and index are one register")
                if index is not None:
                    first[index] = rng.randrange(16) if base is not None else (aim - o.mem.disp) // o.mem.scale
                    aim -= int(first[index]) * o.mem.scale
                    fixed.add(x86.NAMES64[index])
                if base is not None:
                    first[base] = (aim - o.mem.disp) % (1 << 64)
                    fixed.add(x86.NAMES64[base])
        return fixed


def form(insn):
    """Mnemonic and kinds of operands: what one test stands for."""
    kinds = []
    for o in insn.operands:
        if o.type == X.X86_OP_REG:
            n = insn.reg_name(o.reg)
            kinds.append(n[:3] if n[1:3] == "mm" else "k" if n[0] == "k" else f"r{8 * o.size}")
        elif o.type == X.X86_OP_MEM:
            kinds.append(f"m{8 * o.size}" + ("b" if "{1to" in insn.op_str else ""))
        else:
            # Controls and truth tables are part of an instruction's form; other constants are data.
            kinds.append(f"i{o.imm}" if insn.mnemonic.startswith(("v", "p", "insertps", "sh", "ro", "k")) else "i")
    registers = [o.reg for o in insn.operands if o.type == X.X86_OP_REG]
    return (insn.mnemonic, *kinds, "{z}" if "{z}" in insn.op_str else "",
            "same" if len(set(registers)) < len(registers) else "")


def missing(insn, md):
    """A feature of the instruction that this CPU lacks."""
    for g in insn.groups:
        name = md.group_name(g)
        need = NEEDS.get(name)
        if need and need not in CPU:
            return need
    if insn.mnemonic.startswith(("vaes", "vpclmul")):
        wide = any(o.size >= 32 for o in insn.operands)
        if wide and not {"vaes", "vpclmulqdq"} <= CPU:
            return "vaes"
    if "52" in insn.mnemonic and "avx512ifma" not in CPU:
        return "avx512ifma"
    return None


def skipped(insn):
    """Branches are in isa/code.py; what the macros save is on the stack, which the frame around a test needs."""
    return insn.mnemonic.startswith("j") or insn.mnemonic in ("ret", "endbr64", "nop", "lfence") or \
        re.search(r"\b([re]?[sb]p|[sb]pl|rip)\b", insn.op_str) is not None


def apart(f):
    """What a function gives, as text, in a process of its own, which an instruction that the CPU has not ends."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        said = f()
        os.write(theirs, (said or "").encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as f:
        said = f.read()
    return said if os.waitpid(child, 0)[1] == 0 else "a trap by the CPU"


def try_neighbors(cpu, forms, numbers, rng, args):
    """Of (what -> instruction): 0 if the CPU does the same with all of them that are not refused, or not compared."""
    passed, failed, refused, stopped, begun = 0, 0, 0, 0, time.monotonic()
    part, parts = map(int, args.part.split("/"))
    for i, (_, insn) in enumerate(sorted(forms.items(), key=lambda t: t[0])[part - 1::parts]):
        def one(i=i, insn=insn):
            try:
                return columns.compare(cpu, 0, insn, x86.meaning(bytes(insn.bytes), 0)[0], numbers, rng, args.inputs,
                                       args.plant and i % 100 == 7)[0]
            except (Unproved, *STOPS) as e:
                return f"stopped: {e}"
        cpu.load(insn)
        wrong = apart(one)
        if not wrong:
            passed += 1
        elif columns.differs(wrong):
            failed += 1
            print(f"FAIL {insn.mnemonic} {insn.op_str}: {wrong}")
        elif wrong.startswith("stopped"):
            stopped += 1
        else:
            refused += 1
    print(f"{passed} forms that are no kernel's, with {args.inputs} inputs each, {refused} refused, "
          f"{stopped} not compared; {time.monotonic() - begun:.0f} s")
    print(f"semantics: {passed} passed, {failed} failed, 0 not run")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=1000, help="of each form, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="1/1", help="the I-th of N parts of the forms, for a run in pieces")
    parser.add_argument("--neighbors", action="store_true")
    parser.add_argument("--plant", action="store_true")
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    rng, md = random.Random(args.seed), x86.decoder()
    forms = {}
    for path in args.objects:
        k = kernels.Kernel(path)
        for insn in md.disasm(k.code, 0):
            if not skipped(insn):
                forms.setdefault(form(insn), insn)
    cpu, numbers, begun = Cpu(), columns.pool(args.seed), time.monotonic()
    if args.neighbors:
        found = columns.neighbors(forms, form, x86, md, lambda i: skipped(i) or missing(i, md))
        return try_neighbors(cpu, found, numbers, rng, args)
    failed, passed, symbolic_too, not_run = [], 0, 0, collections.Counter()
    part, parts = map(int, args.part.split("/"))
    for number_of, (what, insn) in enumerate(sorted(forms.items(), key=lambda t: t[0])):
        if number_of % parts != part - 1:
            continue
        lack = missing(insn, md)
        if lack:
            not_run[f"{what[0]} ({lack})"] += 1
            continue
        cpu.load(insn)
        if len(terms.ATOMS) > 50_000:
            terms.forget()
        wrong, symbolic = columns.compare(cpu, 0, insn, x86.step(insn), numbers, rng, args.inputs,
                                          args.plant and number_of % 100 == 7)
        if wrong:
            failed.append((insn, wrong))
            print(f"FAIL {insn.mnemonic} {insn.op_str}: {wrong}")
        else:
            passed += 1
            symbolic_too += symbolic
    for what, n in sorted(not_run.items()):
        print(f"not run: {what}, {n} forms")
    print(f"{passed} forms with {args.inputs} inputs each; seed {args.seed}; {symbolic_too} forms with symbols too; "
          f"{time.monotonic() - begun:.0f} s")
    print(f"semantics: {passed} passed, {len(failed)} failed, {sum(not_run.values())} not run")
    return 1 if failed else 0
