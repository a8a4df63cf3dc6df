"""Tests how isa/riscv_vector.py decodes vector instructions: like the comments in Go's assembly, which tools/gas2go takes from disassemblers and,
for AES and GHASH, from its own table.

    tests.encodings [--plant]

--plant exchanges the first two sources of each instruction, which the test must find.
"""
import argparse
import glob
import os
import re

from isa import riscv_vector
from run.report import summary
from spec.args import ROOT

INTEGER = "zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6".split()
# The order of fields in text, by the end of a name.
OPERANDS = {"vsetvli": "dsv", "vsetivli": "dne", "8.v": "xp", "32.v": "xp", "vssseg8e32.v": "xpt", "vv": "xyz", ".vx": "xys", ".vi": "xyn",
            "vmv.v.v": "xz", "vmv.v.x": "xs", "vmv.v.i": "xk", "vmv.s.x": "xs", "vmv.x.s": "dy", "vmv1r.v": "xy", "vid.v": "x",
            "vbrev8.v": "xy", "vrev8.v": "xy", ".vs": "xy", "vgmul.vv": "xy"}


def operand(name, f):
    """The text of a field."""
    if name == "p":
        return f"({INTEGER[f['s']]})"
    if name in "ve":
        vtype = f[name]
        return f"e{8 << (vtype >> 3 & 7)},m{1 << (vtype & 7)},{'ta' if vtype & 64 else 'tu'},{'ma' if vtype & 128 else 'mu'}"
    if name in "std":
        return INTEGER[f[name]]
    return str(f[name] - (f[name] >> 4 << 5)) if name == "k" else str(f[name]) if name == "n" else f"v{f[name]}"


def text(code, plant):
    name, f = riscv_vector.fields(code, 0)
    order = OPERANDS[max((end for end in OPERANDS if name.endswith(end)), key=len)]
    if plant:
        order = order[:-2] + order[-1] + order[-2:-1]
    return f"{name} " + ",".join(operand(o, f) for o in order) + (",v0.t" if f.get("u") == 0 else "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plant", action="store_true")
    args = parser.parse_args()
    lines = set()
    for path in glob.glob(os.path.join(ROOT, "internal", "kernel", "*_riscv64.s")):
        with open(path) as file:
            lines |= set(re.findall(r"WORD \$0x(\w+) // (v.*)", file.read()))
    mine = [(said, text(bytes.fromhex(code)[::-1], args.plant)) for code, said in sorted(lines)]
    unused = {name for _, _, name, _ in riscv_vector.KNOWN} - {said.split()[0] for _, said in lines}
    results = [(said, None if here == said else here) for said, here in mine]
    return summary("encodings", results + [(name, "no kernel has it") for name in sorted(unused)], first=args.plant)
