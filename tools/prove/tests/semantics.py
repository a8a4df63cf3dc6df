"""Compares isa/x86.py with this CPU, by the forms of the kernels' instructions; instructions.py says how.

Instructions that this CPU lacks are listed as not run. The test skips branches (branches.py has them) and instructions
with the stack pointer.
"""
import re

import numpy as np
from capstone import x86_const as X
from isa import x86
from tests import instructions
from tests.instructions import BUFFER
from values.terms import Unproved

with open("/proc/cpuinfo") as _f:
    CPU = next((set(line.split(":")[1].split()) for line in _f if line.startswith("flags")), set())
WIDE = "avx512bw" in CPU
# Capstone's names of instruction sets, and Linux's of features.
NEEDS = {"avx": "avx", "avx2": "avx2", "bmi": "bmi1", "bmi1": "bmi1", "bmi2": "bmi2", "avx512": "avx512f", "ifma": "avx512ifma",
         "vlx": "avx512vl", "bwi": "avx512bw", "dqi": "avx512dq", "aes": "aes", "pclmul": "pclmulqdq", "sse41": "sse4_1",
         "ssse3": "ssse3", "sse2": "sse2", "sse1": "sse"}


class Cpu(instructions.Machine):
    by, slots, masks, vectors, lanes = "the CPU", 26, 8, 512, 16
    free = [i for i in range(16) if i not in (x86.RSP, x86.RBP)]
    flag_bits, zero, sign, set_flags = {"carry": 0, "zero": 6, "sign": 7, "overflow": 11}, "flag_zero", "flag_sign", 2
    hidden = frozenset() if WIDE else frozenset([*(f"v{j}" for j in range(512) if j >= 256 or j % 16 > 7), *(f"k{i}" for i in range(8))])

    def moves(self):
        """(register, place in a record) pairs with the instruction that moves them."""
        vectors = [(f"zmm{i}", 26 + 8 * i, "vmovdqu64") for i in range(32)] if WIDE else [(f"ymm{i}", 26 + 8 * i, "vmovdqu") for i in range(16)]
        return vectors + [(f"k{i}", 16 + i, "kmovq") for i in range(8 if WIDE else 0)], [(x86.NAMES64[i], i, "mov") for i in self.free]

    def before(self):
        first, last = self.moves()
        load = lambda moves: [f"{op} {r}, [rbp + {8 * at}]" for r, at, op in moves]
        return ["push rbp", "mov rbp, rdi", *load(first), "push qword ptr [rbp + 200]", "popfq", *load(last)]

    def after(self):
        last, first = self.moves()
        store = lambda moves: [f"{op} [rbp + {8 * at}], {r}" for r, at, op in moves]
        return [*store(first), "pushfq", "pop qword ptr [rbp + 200]", *store(last), "vzeroupper", "pop rbp", "ret"]

    def made(self, insn, get):
        m = super().made(insn, get)
        m.mask = [get(f"k{i}", 64) for i in range(8)]
        if not insn.mnemonic.startswith(("cmov", "set")):
            m.result = None  # only these read zero and sign
        return m

    def values(self, m):
        return super().values(m) | {f"k{i}": v for i, v in enumerate(m.mask)}

    def prepare(self, insn, rng, records):
        """Counts stay in the range that the manual defines, as in kernels."""
        self.random_flags(rng, records)
        first, fixed = records[0], set()
        name, ops = insn.mnemonic, insn.operands

        def put(register, value):
            first[register] = value % (1 << 64)
            fixed.add(f"g{register}")
        if name in ("shl", "shr", "sar", "rol", "ror", "shrd", "shld"):
            first[1] = rng.randrange(8 * ops[0].size)
        if name in ("bsr", "bsf"):
            for i in self.free:
                first[i] |= np.uint64(1 << rng.randrange(8 * ops[1].size))
        for o in ops:
            if o.type == X.X86_OP_MEM and name != "lea":
                base, index = (x86.GENERAL[insn.reg_name(r)][0] if r else None for r in (o.mem.base, o.mem.index))
                aim = BUFFER + rng.choice((0, 64, 128, 192) if self.aligned else (0, 5, 64, 77, 130, 192)) - o.mem.disp
                if base is not None and base == index:
                    raise Unproved("base and index are one register")
                if index is not None:
                    put(index, rng.randrange(16) if base is not None else aim // o.mem.scale)
                    aim -= int(first[index]) * o.mem.scale
                if base is not None:
                    put(base, aim)
        return fixed

    def form(self, insn):
        if insn.mnemonic.startswith("j") or insn.mnemonic in ("ret", "endbr64", "nop", "lfence") or \
                re.search(r"\b([re]?[sb]p|[sb]pl|rip)\b", insn.op_str):
            return None
        kinds, registers = [], [o.reg for o in insn.operands if o.type == X.X86_OP_REG]
        for o in insn.operands:
            if o.type == X.X86_OP_REG:
                n = insn.reg_name(o.reg)
                kinds.append(n[:3] if n[1:3] == "mm" else "k" if n[0] == "k" else f"r{8 * o.size}")
            elif o.type == X.X86_OP_MEM:
                kinds.append(f"m{8 * o.size}" + ("b" if "{1to" in insn.op_str else ""))
            else:  # controls and truth tables are part of the form; other constants are data
                kinds.append(f"i{o.imm}" if insn.mnemonic.startswith(("v", "p", "insertps", "sh", "ro", "k")) else "i")
        return insn.mnemonic, *kinds, "{z}" if "{z}" in insn.op_str else "", "same" if len(set(registers)) < len(registers) else ""

    def lacks(self, insn):
        name, needs = insn.mnemonic, {NEEDS[g] for g in map(insn.group_name, insn.groups) if g in NEEDS}
        if name.startswith(("vaes", "vpclmul")) and any(o.size >= 32 for o in insn.operands):
            needs |= {"vaes", "vpclmulqdq"}
        if "52" in name:
            needs.add("avx512ifma")
        return min(needs - CPU, default=None)


def main():
    return instructions.main(lambda isa: Cpu)
