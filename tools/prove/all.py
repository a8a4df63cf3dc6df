"""All that is shown of kernels: their calls, their inductions, and the code that C links; and a record of it.

    all.py [--record FILE [--again]] [--jobs N] [--queries FOLDER] OBJECT...

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

from kernels import HERE, ROOT

# By which file texts and associated data of every length are shown, and of which kernels.
INDUCTIONS = {
    "loops.py": r"x86_64/chacha20poly1305_(ssse3|avx2|avx512vl)", "loops512.py": r"x86_64/chacha20poly1305_avx512",
    "gcmloops.py": r"x86_64/aesgcm_(aesni|aesniavx|avx2|avx512)|arm/aesgcm_ce32", "celoops.py": r"aarch64/aesgcm_ce",
    "armloops.py": r"aarch64/chacha20poly1305_neon6?|arm/chacha20poly1305_neon", "armopen.py": r"arm/chacha20poly1305_neon",
    "arm6loops.py": r"arm/chacha20poly1305_armv6", "modeloops.py": r".*/aes_(?!ssse3).*",
    "adloops.py": r"x86_64/(chacha20poly1305_(ssse3|avx2|avx512vl|avx512)|aesgcm_(aesni|aesniavx|avx2|avx512))|"
                  r"aarch64/(chacha20poly1305_neon6?|aesgcm_ce)|arm/(chacha20poly1305_(neon|armv6)|aesgcm_ce32)",
}
ASKED = {"loops.py", "loops512.py", "armloops.py", "armopen.py", "arm6loops.py", "adloops.py", "prove.py"}  # a solver
GOARCH = {"x86_64": "amd64", "aarch64": "arm64", "arm": "arm"}


def digest(*paths):
    """As tools/prove/changed makes it."""
    h = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as f:
            h.update(f.read())
    return h.hexdigest()


def prover():
    """Of all that proves, in the order of the files' names."""
    return digest(*sorted(os.path.join(HERE, f) for f in os.listdir(HERE) if f.endswith(".py")))


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
    counts = re.match(r"\w+: (\d+) passed, (\d+) failed, 0 not run", said[-1] if said else "")
    if found.wait() or not counts:
        return said, (int(counts[1]) if counts else 0, int(counts[2]) if counts and int(counts[2]) else 1)
    return said, (int(counts[1]), int(counts[2]))


def prove(path, kernel, args):
    """All of one kernel. Returns {part: cases}, whether something failed, and the random points."""
    shown, failed, points = {}, False, []
    for part in ["prove.py", *(f for f, kernels in INDUCTIONS.items() if re.fullmatch(kernels, kernel)), "abi.py"]:
        options = [] if part == "abi.py" else ["--jobs", str(args.jobs)] + (["--queries", args.queries] if args.queries and part in ASKED else [])
        what = os.path.join(ROOT, "asm", kernel + ".S") if part == "abi.py" else path
        said, (n, wrong) = run(os.path.join(HERE, part), *options, what)
        shown[part.removesuffix(".py")] = n
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


if __name__ == "__main__":
    sys.exit(main())
