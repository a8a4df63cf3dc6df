"""Runs all parts of the prover: calls, inductions, and the code that C links. Keeps a record of the results.

    all [--record FILE [--again]] [--jobs N] [--queries FOLDER] OBJECT...
    all --changed FILE

--record: FILE has a line for each kernel, with the hash of its code and the results of each part of the prover. A part that
has a result for this code and these files of the prover runs again only with --again. --changed lists the kernels whose code
has changed since, or the files that prove them. The exit status is 1 if a proof fails.
"""
import argparse
import ast
import functools
import glob
import hashlib
import importlib.metadata
import io
import json
import os
import re
import resource
import subprocess
import sys
import tokenize

from spec.args import HERE, ROOT
from tests.imports import modules, paths


# The kernels of each induction.
INDUCTIONS = {
    "chacha_loop": r"x86_64/chacha20poly1305_(ssse3|avx2|avx512vl)|aarch64/chacha20poly1305_neon6?|arm/chacha20poly1305_neon",
    "chacha_avx512": r"x86_64/chacha20poly1305_avx512",
    "chacha_scalar": r"arm/chacha20poly1305_armv6|mips.*/chacha20poly1305_.*|riscv64/chacha20poly1305_(rv64|zbb)",
    "chacha_skew": r"arm/chacha20poly1305_neon|riscv64v.*/chacha20poly1305_.*",
    "gcm": r"x86_64/aesgcm_(aesni|aesniavx|avx2|avx512)|arm/aesgcm_ce32", "gcm_ce": r"aarch64/aesgcm_ce",
    "aes_modes": r"x86_64/aes_(?!ssse3).*|aarch64/aes_ce|arm/aes_ce32",
    "ad": r"x86_64/(chacha20poly1305_(ssse3|avx2|avx512vl|avx512)|aesgcm_(aesni|aesniavx|avx2|avx512))|"
          r"aarch64/(chacha20poly1305_neon6?|aesgcm_ce)|arm/(chacha20poly1305_(neon|armv6)|aesgcm_ce32)",
    "permute": r"x86_64/aes(gcm)?_ssse3",
    "blocks_gcm": r"aarch64/aesgcm_neon|arm/aesgcm_(neon|armv6)|mips.*/aesgcm_.*",
    "blocks_modes": r"aarch64/aes_neon|arm/aes_(neon|armv6)",
}
# Kernels whose calls another part shows, in place of run.prove.
IN_PLACE_OF_CALLS = {f"induction.{name}": INDUCTIONS[name] for name in ("permute", "blocks_gcm", "blocks_modes")}
OF_SOURCES = "run.linked"
ASK_SOLVER = re.compile(r"run\.prove|induction\.(ad|chacha_.*)")
# Architecture -> its name in Go, its file of isa/, the folder of its sources. RISC-V with vectors is one for each length of them in bits.
ARCHITECTURES = {"x86_64": ("amd64", "x86", "x86_64"), "aarch64": ("arm64", "arm64", "aarch64"), "arm": ("arm", "arm32", "arm"),
                 "mips": ("mips", "mips", "mips"), "mipsel": ("mipsle", "mips", "mips"),
                 "mips64": ("mips64", "mips", "mips64"), "mips64el": ("mips64le", "mips", "mips64"), "riscv64": ("riscv64", "riscv", "riscv64"),
                 **{f"riscv64v{vlen}": ("riscv64", "riscv_vector", "riscv64") for vlen in (128, 256, 512, 1024, "128fewest")}}
# Those that have only some of a folder's kernels. fewest: isa/riscv_vector.py.
KERNELS = {"riscv64": r".*_(rv64|zbb)", "riscv64v128fewest": r"chacha20poly1305_(rvv|zvkb)", **dict.fromkeys(
    ("riscv64v128", "riscv64v256", "riscv64v512", "riscv64v1024"), r".*_(rvv|zvkb|zvkned)")}
# Files that all parts rest on: what the specification knows of arguments, and the versions of packages.
ARGS, PACKAGES = os.path.join(ROOT, "asm", "args.h"), os.path.join(HERE, "prove.mk")
SAID = ("changed since they were proved", "proved by another version of the prover, or in part", "without a record")


def digest(*names):
    return hashlib.sha256(b"".join(map(code, names))).hexdigest()


@functools.cache
def code(path):
    """The bytes of a file that count. In Python these are not comments, docstrings and empty lines, and in sources
    without strings not comments. Of the Makefile only the versions of packages count."""
    with open(path, "rb") as f:
        text = f.read()
    if path.endswith((".S", ".h")):
        rest = re.sub(rb"/\*.*?\*/|//[^\n]*", b" ", text, flags=re.S)
        if b'"' in rest or b"'" in rest:  # what looks like a comment may be in a string, and spaces count there
            return text
        return b"\n".join(b" ".join(line.split()) for line in rest.split(b"\n") if line.strip())
    if path == PACKAGES:
        return b"\n".join(re.findall(rb"^PROVE_PACKAGES := .*|^pass$", text, re.M))
    if not path.endswith(".py"):
        return text
    lines = text.decode().split("\n")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            docstring = node.body[0]
            lines[docstring.lineno - 1:docstring.end_lineno] = [""] * (docstring.end_lineno - docstring.lineno + 1)
    for token in tokenize.tokenize(io.BytesIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    return "".join(line.rstrip() + "\n" for line in lines if line.strip()).encode()


graph_of_files = functools.cache(lambda: dict(modules()))


@functools.cache
def prover(part, isa):
    """The hash of the code of all files that a part of the prover imports, except other instruction sets."""
    graph, own = graph_of_files(), f"isa.{isa}"
    found, following = set(), {part, own} | ({"induction.engine"} if part.startswith("induction.") else set())
    while following:
        found |= following
        following = {m for name in following for m in graph.get(name, ())
                     if name.startswith("isa.") or not m.startswith("isa.") or m in ("isa.code", own)} - found
    return digest(*(paths()[name] for name in sorted(found & set(graph))), ARGS, PACKAGES)


def generated(kernel):
    """The hash of a kernel's generated Go file, which has its machine code and constants."""
    isa, name = kernel.split("/")
    return digest(os.path.join(ROOT, "internal", "kernel", f"{name}_{ARCHITECTURES[isa][0]}.s"))


def source(kernel):
    isa, name = kernel.split("/")
    return os.path.join(ROOT, "asm", ARCHITECTURES[isa][2], name + ".S")


def parts_of(kernel):
    inductions = [f"induction.{name}" for name, kernels in INDUCTIONS.items() if re.fullmatch(kernels, kernel)]
    calls = next((part for part, kernels in IN_PLACE_OF_CALLS.items() if re.fullmatch(kernels, kernel)), "run.prove")
    return [*([] if calls in inductions else [calls]), *inductions, OF_SOURCES]


def missing_parts(kernel, said):
    """Returns the parts to which a part says that it leaves calls, and that are not among those of the kernel."""
    return [other for other in re.findall(r"are left to ([\w.]+)", said) if other not in parts_of(kernel)]


def by(part, kernel):
    found = prover(part, ARCHITECTURES[kernel.split("/")[0]][1])
    # What C links is not in the generated file.
    return hashlib.sha256((found + digest(*sources(kernel))).encode()).hexdigest() if part == OF_SOURCES else found


def sources(kernel):
    """A kernel's source and the files that it includes."""
    found, following = [], [source(kernel)]
    while following:
        path = os.path.realpath(following.pop())
        if path not in found:
            found.append(path)
            following += [os.path.join(os.path.dirname(path), name.decode())
                          for name in re.findall(rb'^\s*(?:#\s*include|\.include|\.incbin)\s+"([^"]+)"', code(path), re.M)]
    return sorted(found)


def open_parts(kernel, entry):
    """The parts for which a record's entry has no result for this code and these files."""
    return [part for part in parts_of(kernel)
            if entry.get("code") != generated(kernel) or entry["parts"].get(part, {}).get("prover") != by(part, kernel)]


def read(record):
    if not os.path.exists(record):
        return {}
    with open(record) as f:
        return {entry["kernel"]: entry for entry in map(json.loads, f)}


def all_kernels():
    found = [(isa, os.path.basename(p).removesuffix(".S")) for isa, (_, _, folder) in ARCHITECTURES.items()
             for p in glob.glob(os.path.join(ROOT, "asm", folder, "*.S"))]
    return sorted(f"{isa}/{name}" for isa, name in found if re.fullmatch(KERNELS.get(isa, ".*"), name))


def changed(record):
    """Lists the kernels whose record is not current."""
    known, same, found = read(record), 0, {text: [] for text in SAID}
    for kernel in all_kernels():
        entry = known.get(kernel)
        if entry is None:
            found[SAID[2]].append(kernel)
        elif open_parts(kernel, entry):
            found[SAID[entry["code"] == generated(kernel)]].append(kernel)
        else:
            same += 1
    print(f"proof: {same} kernels are as this prover has proved them")
    for text, kernels in found.items():
        if kernels:
            print(f"{text}: {' '.join(kernels)}")


def processor_time():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def prove(part, path, kernel, args):
    """Runs a part for a kernel. Returns its entry for the record, or None after a failure."""
    options = [] if part == OF_SOURCES else ["--jobs", str(args.jobs)]
    options += ["--queries", args.queries] if args.queries and ASK_SOLVER.fullmatch(part) else []
    before, said = processor_time(), ""
    command = [sys.executable, HERE, part, *options, source(kernel) if part == OF_SOURCES else path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        for line in run.stdout:
            print(line, end="", flush=True)
            said += line
    if missing := missing_parts(kernel, said):
        print(f"FAIL {kernel}: {part} leaves calls to {' and '.join(missing)}, which does not run for it", flush=True)
    counts = re.search(r"^[\w.]+: ([1-9]\d*) passed, 0 failed, 0 not run\n\Z", said, re.M)
    if run.returncode or missing or not counts:
        return None
    points = [int(p) for p in re.findall(r"SEALANE_POINT=(\d+)", said)]
    seconds = round(processor_time() - before)
    return {"prover": by(part, kernel), "cases": int(counts[1]), "seconds": seconds, "points": points}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--changed")
    parser.add_argument("--record")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--queries")
    parser.add_argument("objects", nargs="*")
    args = parser.parse_args()
    if args.changed:
        return changed(args.changed)
    known, wrong = read(args.record) if args.record else {}, []
    for name, version in re.findall(r"(\S+)==(\S+)", code(PACKAGES).decode()):
        if importlib.metadata.version(name) != version:
            raise SystemExit(f"{name} is not {version}, as {PACKAGES} says")
    for path in args.objects:
        kernel = "/".join(path.removesuffix(".o").split(os.sep)[-2:])
        entry = known.get(kernel, {})
        todo = parts_of(kernel) if args.again else open_parts(kernel, entry)
        kept = entry.get("parts", {}) if entry.get("code") == generated(kernel) else {}
        entry = known[kernel] = {"kernel": kernel, "code": generated(kernel), "parts": {p: kept[p] for p in parts_of(kernel) if p in kept}}
        for part in todo:
            shown = prove(part, path, kernel, args)
            if shown is None:
                wrong.append(f"{kernel}: {part}")
                entry["parts"].pop(part, None)
                continue
            entry["parts"][part] = shown
            if args.record:
                with open(args.record, "w") as f:
                    f.writelines(json.dumps(known[k]) + "\n" for k in sorted(known) if known[k]["parts"])
    for text in wrong:
        print(f"FAIL {text}")
    failed = len({text.partition(":")[0] for text in wrong})
    print(f"all: {len(args.objects) - failed} passed, {failed} failed, 0 not run")
    return 1 if wrong else 0
