"""Tests all.py --changed: which kernels it lists after a change of one file. Also tests that each run draws a new random
point.

    tests.record [--plant]

--plant takes the hash of a file that no part imports for the hash of each part, which the test must find.
"""
import argparse
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from unittest import mock

import all as everything
from run.report import summary
from spec.args import HERE, ROOT

NONE, EVERY = (lambda kernel: False), (lambda kernel: True)
# Files, and the kernels that all.py lists when one changes. Generated files have the kernels' code, others are the
# prover's.
CHANGES = [
    ("tools/prove/mutation/mutate.py", NONE), ("tools/prove/all.py", NONE),
    ("tools/prove/values/terms.py", EVERY), ("tools/prove/isa/x86.py", lambda kernel: kernel.startswith("x86_64/")),
    ("tools/prove/isa/arm32.py", lambda kernel: kernel.startswith("arm/")),
    ("tools/prove/isa/arm64.py", lambda kernel: kernel.startswith("a")), ("tools/prove/run/linked.py", EVERY),
    ("tools/prove/isa/mips.py", lambda kernel: kernel.startswith("mips")),
    ("tools/prove/isa/riscv.py", lambda kernel: kernel.startswith("riscv64")),
    ("tools/prove/isa/riscv_vector.py", lambda kernel: kernel.startswith("riscv64v")),
    ("tools/prove/induction/permute.py", lambda kernel: kernel.endswith("ssse3") and "aes" in kernel),
    ("tools/prove/induction/blocks_modes.py",
     lambda kernel: kernel in ("arm/aes_armv6", "arm/aes_neon", "aarch64/aes_neon")),
    ("tools/prove/induction/sections.py",
     lambda kernel: {*everything.parts_of(kernel)} & {*everything.IN_PLACE_OF_CALLS}),
    ("tools/prove/induction/gcm_ce.py",
     lambda kernel: {*everything.parts_of(kernel)} & {"induction.gcm_ce", "induction.ad"}),
    ("asm/args.h", EVERY), ("asm/asm.S", EVERY), ("tools/prove/prove.mk", EVERY),
    ("asm/x86_64/aes_modes.h", lambda kernel: re.fullmatch(r"x86_64/aes_(?!ssse3).*", kernel)),
    ("internal/kernel/aes_ce_arm64.s", lambda kernel: kernel == "aarch64/aes_ce"),
]
TERMS = os.path.join(HERE, "values", "terms.py")
code = everything.code


def entry(kernel, prover):
    parts = {part: {"prover": prover(part, kernel)} for part in everything.parts_of(kernel)}
    return {"kernel": kernel, "code": everything.generated(kernel), "parts": parts}


def listed(record, file=None):
    """Kernel -> why all.py lists it, if a line is added to a file."""
    changed = file and os.path.realpath(os.path.join(ROOT, file))
    added = lambda path: code(path) + b"pass\n" * (os.path.realpath(path) == changed)
    everything.prover.cache_clear()
    with mock.patch.object(everything, "code", added), contextlib.redirect_stdout(io.StringIO()) as out:
        everything.changed(record)
    everything.prover.cache_clear()
    lines = (line.partition(": ") for line in out.getvalue().splitlines()[1:])
    return {kernel: why for why, _, kernels in lines for kernel in kernels.split()}


def points():
    run = [sys.executable, "-c", f"import sys; sys.path.insert(0, {HERE!r}); from values.terms import SEED; print(SEED)"]
    return {subprocess.run(run, stdout=subprocess.PIPE, text=True, check=True).stdout for _ in range(2)}


def checks(prover):
    """(what is tested, what is found, what should be)"""
    kernels = everything.all_kernels()
    with tempfile.TemporaryDirectory() as folder:
        record = os.path.join(folder, "record")

        def write(left_out=None):
            with open(record, "w") as f:
                f.writelines(json.dumps(entry(k, prover)) + "\n" for k in kernels if k != left_out)
        write()
        yield "nothing has changed", listed(record), {}
        for file, of in CHANGES:
            why = everything.SAID[not file.startswith("internal")]
            yield file, listed(record, file), {k: why for k in kernels if of(k)}
        write(kernels[0])
        yield f"no line of {kernels[0]}", listed(record), {kernels[0]: everything.SAID[2]}
        for added, same in (("# A comment.\n", True), ("pass\n", False)):
            longer = os.path.join(folder, f"{same}.py")
            with open(TERMS) as f, open(longer, "w") as g:
                g.write(f.read() + added)
            yield f"a file with {added!r}", code(longer) == code(TERMS), same
    parts = everything.parts_of("riscv64v128/aes_zvkned")
    yield "parts of a kernel without an induction", parts, ["run.prove", "run.linked"]
    for kernel, missing in ("x86_64/aesgcm_avx512", []), ("x86_64/aesgcm_ssse3", ["induction.ad"]):
        said = "1 calls are left to induction.ad\n"
        yield f"calls of {kernel} that are left to another part", everything.missing_parts(kernel, said), missing
    yield "a point of its own", len(points()), 2


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plant", action="store_true")
    args = parser.parse_args()
    planted = lambda part, kernel: everything.digest(os.path.join(HERE, "mutation", "mutate.py"))
    found = checks(planted if args.plant else everything.by)
    results = ((what, None if got == want else f"{got}, not {want}") for what, got, want in found)
    return summary("record", results, first=True)
