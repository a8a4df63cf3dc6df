"""All that is shown of kernels: their calls, their inductions, and the code that C links; and a record of it.

    all [--record FILE [--again]] [--jobs N] [--queries FOLDER] OBJECT...

--record: a line of FILE says of each kernel what was shown of which code, by which prover: one that stands there is not proved
again, unless with --again. tools/prove/changed says which kernels are others now. Exit status 1 if something is not shown.
"""
import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import time

from spec.args import HERE, ROOT


# Which induction shows texts and associated data of every length, of which kernels.
INDUCTIONS = {
    "chacha_x86": r"x86_64/chacha20poly1305_(ssse3|avx2|avx512vl)", "chacha_avx512": r"x86_64/chacha20poly1305_avx512",
    "gcm": r"x86_64/aesgcm_(aesni|aesniavx|avx2|avx512)|arm/aesgcm_ce32", "gcm_ce": r"aarch64/aesgcm_ce",
    "chacha_arm": r"aarch64/chacha20poly1305_neon6?|arm/chacha20poly1305_neon", "chacha_arm_open": r"arm/chacha20poly1305_neon",
    "chacha_armv6": r"arm/chacha20poly1305_armv6", "aes_modes": r".*/aes_(?!ssse3).*",
    "ad": r"x86_64/(chacha20poly1305_(ssse3|avx2|avx512vl|avx512)|aesgcm_(aesni|aesniavx|avx2|avx512))|"
          r"aarch64/(chacha20poly1305_neon6?|aesgcm_ce)|arm/(chacha20poly1305_(neon|armv6)|aesgcm_ce32)",
}
ASK_SOLVER = re.compile(r"run\.prove|induction\.(ad|chacha_.*)")
GOARCH = {"x86_64": "amd64", "aarch64": "arm64", "arm": "arm"}


def digest(*paths):
    """As tools/prove/changed makes it."""
    h = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as f:
            h.update(f.read())
    return h.hexdigest()


def prover():
    """Of all that proves, in the order of the files' paths."""
    return digest(*sorted(os.path.join(folder, f) for folder, _, files in os.walk(HERE) for f in files
                          if f.endswith(".py") and os.path.basename(folder) not in ("mutation", "tests")))


def generated(kernel):
    """Of a kernel's generated file: its machine code and constants, as Go and Rust have them."""
    isa, name = kernel.split("/")
    return digest(os.path.join(ROOT, "internal", "kernel", f"{name}_{GOARCH[isa]}.s"))


def run(*command):
    """What a part of the prover says, and (shown, failed)."""
    found = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
    said = []
    for line in found.stdout:
        print(line, end="", flush=True)
        said.append(line)
    counts = re.match(r"[\w.]+: (\d+) passed, (\d+) failed, 0 not run", said[-1] if said else "")
    if found.wait() or not counts:
        return said, (int(counts[1]) if counts else 0, int(counts[2]) if counts and int(counts[2]) else 1)
    return said, (int(counts[1]), int(counts[2]))


def parts_of(kernel):
    return ["run.prove", *(f"induction.{name}" for name, kernels in INDUCTIONS.items() if re.fullmatch(kernels, kernel)), "run.abi"]


def prove(path, kernel, args):
    """All of one kernel. Returns {part: cases}, whether something failed, and the random points."""
    shown, failed, points = {}, False, []
    for part in parts_of(kernel):
        options = [] if part == "run.abi" else ["--jobs", str(args.jobs)]
        options += ["--queries", args.queries] if args.queries and ASK_SOLVER.fullmatch(part) else []
        what = os.path.join(ROOT, "asm", kernel + ".S") if part == "run.abi" else path
        said, (n, wrong) = run(HERE, part, *options, what)
        shown[part.partition(".")[2]] = n
        failed = failed or wrong > 0 or n == 0
        points += re.findall(r"SEALANE_POINT=(\d+)", "".join(said))
    return shown, failed, points


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--record")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--queries")
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    known, wrong, passed = {}, [], 0
    if args.record and os.path.exists(args.record):
        with open(args.record) as f:
            known = {entry["kernel"]: entry for entry in map(json.loads, f)}
    by = prover()
    for path in args.objects:
        kernel = "/".join(path.removesuffix(".o").split(os.sep)[-2:])
        code = generated(kernel)
        entry = known.get(kernel, {})
        if args.record and not args.again and (entry.get("code"), entry.get("prover")) == (code, by):
            passed += 1
            continue
        begun = time.time()
        shown, failed, points = prove(path, kernel, args)
        if failed:
            wrong.append(kernel)
            continue
        passed += 1
        if args.record:
            known[kernel] = {"kernel": kernel, "code": code, "prover": by, "cases": shown, "seconds": round(time.time() - begun),
                             "points": [int(p) for p in points]}
            with open(args.record, "w") as f:
                f.writelines(json.dumps(known[k]) + "\n" for k in sorted(known))
    for kernel in wrong:
        print(f"FAIL {kernel}")
    print(f"all: {passed} passed, {len(wrong)} failed, 0 not run")
    return 1 if wrong else 0
