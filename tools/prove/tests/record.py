"""Tests all.py --changed: which kernels it lists after a change of one file. Also tests that each run draws a new random point.

    tests.record [--plant]

--plant takes the hash of a file that no part imports for the hash of each part, which the test must find.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

import all as everything
from spec.args import HERE, ROOT

NONE, EVERY = (lambda kernel: False), (lambda kernel: True)
# Files, and the kernels that all.py lists when one changes. Generated files have the kernels' code, others are the prover's.
CHANGES = [
    ("tools/prove/mutation/mutate.py", NONE), ("tools/prove/all.py", NONE),
    ("tools/prove/values/terms.py", EVERY), ("tools/prove/isa/x86.py", lambda kernel: kernel.startswith("x86_64/")),
    ("tools/prove/isa/arm32.py", lambda kernel: kernel.startswith("arm/")), ("tools/prove/isa/arm64.py", lambda kernel: kernel.startswith("a")),
    ("tools/prove/run/abi.py", lambda kernel: "run.abi" in everything.parts_of(kernel)),
    ("tools/prove/isa/mips.py", lambda kernel: kernel.startswith("mips")), ("tools/prove/isa/riscv.py", lambda kernel: kernel.startswith("riscv64")),
    ("tools/prove/isa/riscv_vector.py", lambda kernel: kernel.startswith("riscv64v")),
    ("tools/prove/induction/permute.py", lambda kernel: kernel.endswith("ssse3") and "aes" in kernel),
    ("tools/prove/induction/blocks_modes.py", lambda kernel: kernel in ("arm/aes_armv6", "arm/aes_neon", "aarch64/aes_neon")),
    ("tools/prove/induction/sections.py", lambda kernel: any(part in everything.parts_of(kernel) for part in everything.IN_PLACE_OF_CALLS)),
    ("tools/prove/induction/gcm_ce.py", lambda kernel: any(part in everything.parts_of(kernel) for part in ("induction.gcm_ce", "induction.ad"))),
    ("internal/kernel/aes_ce_arm64.s", lambda kernel: kernel == "aarch64/aes_ce"),
]


def entry(kernel, prover):
    return {"kernel": kernel, "code": everything.generated(kernel), "parts": {part: {"prover": prover(part, kernel)} for part in everything.parts_of(kernel)}}


def said(root, record):
    """Kernel -> why all.py lists it."""
    command = [sys.executable, os.path.join(root, "tools", "prove"), "all", "--changed", record]
    lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return {kernel: why for why, _, kernels in (line.partition(": ") for line in lines[1:]) for kernel in kernels.split()}


def tree(folder):
    """Copies the files that all.py reads."""
    shutil.copytree(HERE, os.path.join(folder, "tools", "prove"), ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(os.path.join(ROOT, "internal", "kernel"), os.path.join(folder, "internal", "kernel"))
    shutil.copytree(os.path.join(ROOT, "asm"), os.path.join(folder, "asm"))


def points():
    run = [sys.executable, "-c", f"import sys; sys.path.insert(0, {HERE!r}); from values import terms; print(terms.SEED)"]
    return [subprocess.run(run, stdout=subprocess.PIPE, text=True, check=True).stdout for _ in range(2)]


def results(prover):
    kernels = everything.all_kernels()
    with tempfile.TemporaryDirectory() as root:
        tree(root)
        record = os.path.join(root, "record")

        def write(left_out=None):
            with open(record, "w") as f:
                f.writelines(json.dumps(entry(k, prover)) + "\n" for k in kernels if k != left_out)
        write()
        yield "nothing has changed", said(root, record) == {}

        def after(file, added):
            path = os.path.join(root, file)
            with open(path) as f:
                before = f.read()
            with open(path, "a") as f:
                f.write(added)
            listed = said(root, record)
            with open(path, "w") as f:
                f.write(before)
            return listed
        for file, of in CHANGES:
            why = everything.SAID[not file.startswith("internal")]
            yield file, after(file, "pass\n") == {k: why for k in kernels if of(k)}
        yield "a comment", after("tools/prove/values/terms.py", "# A comment.\n") == {}
        write(kernels[0])
        yield f"no line of {kernels[0]}", said(root, record) == {kernels[0]: everything.SAID[2]}
    yield "parts of a kernel without an induction", everything.parts_of("riscv64v128/aes_zvkned") == ["run.prove", "run.frame"]
    first, second = points()
    yield "a point of its own", first != second


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plant", action="store_true")
    args = parser.parse_args()
    planted = lambda part, kernel: everything.digest(os.path.join(HERE, "mutation", "mutate.py"))
    passed = failed = 0
    for what, good in results(planted if args.plant else everything.by):
        passed, failed = passed + good, failed + (not good)
        if not good:
            print(f"FAIL {what}", flush=True)
            break
    print(f"record: {passed} passed, {failed} failed, 0 not run")
    return 1 if failed else 0
