"""Compares isa/arm64.py and isa/arm32.py with qemu, by the forms of the kernels' instructions; instructions.py says how.

The test skips branches (branches.py has them) and instructions with the stack pointer.
"""
import re

import numpy as np
from isa import arm32, arm64
from tests import instructions
from tests.instructions import AIM
from values.terms import Unproved

SKIPPED = re.compile(r"(b|b\..*|b(eq|ne|cs|hs|lo|cc|mi|pl|hi|ls|gt|lt|ge|le)|cbn?z|tbn?z|ret|bx|v?push|v?pop)$")


class Arm(instructions.Machine):
    flag_bits = {"carry": 29, "overflow": 28, "zero": 30, "sign": 31}

    def form(self, insn):
        """Shifts, lanes and lists of registers are part of the form."""
        text = insn.op_str
        if SKIPPED.match(insn.mnemonic) or "sp" in re.split(r"\W+", text):
            return None
        names = re.findall(r"\b[wxvqdsr]\d+\b|\b(?:sb|fp|ip)\b", re.sub(r"\[[^\]]*\]", "", text))
        same = "same" if len(set(names)) < len(names) else ""
        short = re.sub(r"\b(?:sb|fp|ip)\b", "r", re.sub(r"\b([wxvqdsr])\d+(?!\w)", r"\1", text))
        if not re.search(r"lsl|lsr|asr|ror|ext|shr|shl|sli|sri|rsb|\bv|^v", insn.mnemonic + " " + short):
            short = re.sub(r"#-?(0x)?[0-9a-f]+", "#", short)
        elif "[" in short and "{" not in short or insn.mnemonic in ("mov", "and", "orr", "add", "sub"):
            short = re.sub(r"(\[\w+, )#-?(0x)?[0-9a-f]+", r"\1#", short)
        return insn.mnemonic, short, same

    def prepare(self, insn, rng, records):
        """Counts and controls are those of kernels."""
        self.random_flags(rng, records)
        first, fixed, find = records[0], set(), self.isa.number
        name, text = insn.mnemonic, insn.op_str

        def put(register, value):
            first[register] = value % (1 << self.bits)
            fixed.add(f"g{register}")
        one = re.search(r"\[([a-z][^\]]*)\](!?)", text) if re.match(r"v?(ld|st)", name) else None
        many = re.match(r"(\w+)!?, \{", text) if re.match(r"v?(ldm|stm)", name) else None
        if many:
            put(find(many[1]), AIM)
        elif one:
            inside = [o.strip() for o in one[1].split(",")]
            base, aim = find(inside[0].split(":")[0]), AIM + (0 if ":" in inside[0] or name in ("ldrd", "strd") else rng.choice((0, 0, 1, 3)))
            if name.startswith(("vldr", "vstr")):
                aim &= ~3
            index = inside[1] if len(inside) > 1 else text[one.end():].strip(" ,")
            if len(inside) > 1 and index.startswith("#"):
                aim -= int(index[1:], 0)
            elif re.fullmatch(r"-?[a-z]\w*", index.split(",")[0]):
                i, value = find(index.split(",")[0].lstrip("-")), rng.randrange(16)
                if i == base:
                    raise Unproved("base and index are one register")
                put(i, value)
                if len(inside) > 1:
                    by = int(inside[2].split("#")[1], 0) if len(inside) > 2 and "#" in inside[2] else 0
                    aim -= (value << by) * (-1 if index.startswith("-") else 1)
            put(base, aim)
        bytes_ = first.view(np.uint8)[8 * self.slots:]
        if name.startswith(("tbl", "tbx", "vtbl", "vtbx")):
            at, size = int(re.search(r"(\d+)(\.\w+)?$", text)[1]), 16 if self.isa is arm64 else 8
            bytes_[size * at:size * (at + 1)] = [rng.choice((rng.randrange(16), rng.randrange(80), 255)) for _ in range(size)]
        if name.startswith("vshl.u32") and "#" not in text:
            at = 16 * int(re.search(r"q(\d+)$", text)[1])
            bytes_[at:at + 16].view(np.int32)[:] = [rng.choice((-31, -7, 0, 5, 31, -40, 40)) for _ in range(4)]
        return fixed


class Arm64(Arm):
    vectors, lanes = 128, 4
    free = [i for i in range(31) if i not in (18, 28, 29, 30)]

    def before(self):
        return ["mov x28, x0", "ldr x1, [x28, #264]", "msr nzcv, x1", *(f"ldr q{i}, [x28, #{272 + 16 * i}]" for i in range(32)),
                *(f"ldr x{i}, [x28, #{8 * i}]" for i in self.free)]

    def after(self):
        return [*(f"str x{i}, [x28, #{8 * i}]" for i in self.free), *(f"str q{i}, [x28, #{272 + 16 * i}]" for i in range(32)),
                "mrs x1, nzcv", "str x1, [x28, #264]", "ret"]


class Arm32(Arm):
    slots, vectors = 18, 64
    free = [i for i in range(13) if i != 10]

    def before(self):
        return ["push {r10, lr}", "mov r10, r0", "ldr r1, [r10, #136]", "msr cpsr_f, r1", "add r0, r10, #144", "vldmia r0!, {d0-d15}",
                "vldmia r0, {d16-d31}", *(f"ldr r{i}, [r10, #{8 * i}]" for i in self.free)]

    def after(self):
        return [*(f"str r{i}, [r10, #{8 * i}]" for i in self.free), "mrs r1, cpsr", "str r1, [r10, #136]", "add r0, r10, #144",
                "vstmia r0!, {d0-d15}", "vstmia r0, {d16-d31}", "pop {r10, pc}"]


def main():
    return instructions.main(lambda isa: Arm64 if isa is arm64 else Arm32)
