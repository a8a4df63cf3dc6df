#!/usr/bin/env python3
"""Writes the table of modeled cycles on x86-64: sealane beside its peers, in C and Go, on CPUs that are not at hand.

The programs are those of make bench, with --region. A table is written completely or not at all. Failed rows are
named, and the exit status is 1.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean

import x86cost

HERE = Path(__file__).parent
ALGORITHMS = ("ChaCha20-Poly1305", "AES-128-GCM", "AES-256-GCM")
OPS = ("seal", "open")
FIRST = {"ChaCha20-Poly1305": "sealane avx512mix"}  # first in asm/levels.json on every modeled CPU that has its features
SWEEP = {"ChaCha20-Poly1305": "x/crypto", "AES-128-GCM": "standard library"}  # in Go: no size may be slower than this level

# Settings that make a peer behave as on the modeled CPU. SEALANE_BENCH_PEERS is for ipsec-mb and libgcrypt.
# Bits of OPENSSL_ia32cap switch off AVX-512, and VAES and VPCLMULQDQ. The C library copies.
NO_AVX512 = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=" + ",".join(f"-AVX512{x}" for x in ("F", "VL", "BW", "DQ", "CD"))}
OWN = ("asm", "src", "include", "internal/aead", "internal/kernel")  # files that sealane's own rows depend on, beside bench
PEERS = {
    "aesni": NO_AVX512 | {"SEALANE_BENCH_PEERS": "aesni", "OPENSSL_ia32cap": ":~0x600d0230000"},
    "vaes": NO_AVX512 | {"SEALANE_BENCH_PEERS": "vaes", "OPENSSL_ia32cap": ":~0xd0230000"},
    "avx512": {},
}
LIBC = {"GLIBC_TUNABLES": NO_AVX512["GLIBC_TUNABLES"] + ",-AVX2,-AVX_Fast_Unaligned_Load,-BMI2,-ERMS"}
GO = "cpu.avx2=off,cpu.bmi2=off,cpu.adx=off,cpu.erms=off,cpu.fma=off,cpu.sha=off,cpu.avx512f=off,cpu.vpclmulqdq=off"
PEERS |= {  # CPUs before AVX2, each with its own; OPENSSL_ia32cap has what leaf 1 of CPUID lacks, and all of leaf 7
    "nehalem": LIBC | {"SEALANE_BENCH_PEERS": "ssse3", "OPENSSL_ia32cap": "~0x1e40100200000000:0",
                       "GODEBUG": f"{GO},cpu.avx=off,cpu.bmi1=off,cpu.aes=off,cpu.pclmulqdq=off"},
    "ivybridge": LIBC | {"SEALANE_BENCH_PEERS": "avx", "OPENSSL_ia32cap": "~0x40100000000000:0",
                         "GODEBUG": f"{GO},cpu.bmi1=off"},
    "btver2": LIBC | {"SEALANE_BENCH_PEERS": "avx", "OPENSSL_ia32cap": "~0x100040000000:0x8", "GODEBUG": GO},
}
PEERS["goldmont"] = PEERS["nehalem"]  # for ChaCha20-Poly1305; its AES instructions have no model
MODELS = {  # of CPUs by vendor, family and model, as /proc/cpuinfo has them
    ("GenuineIntel", 6): {60: "haswell", 63: "haswell", 69: "haswell", 70: "haswell", 94: "skylake", 78: "skylake",
                          142: "skylake", 158: "skylake", 106: "icelake-server", 108: "icelake-server",
                          151: "alderlake", 154: "alderlake", 183: "alderlake",
                          167: "alderlake"},  # Sapphire to Granite Rapids as a virtual machine reports it: the same core
    ("AuthenticAMD", 23): {49: "znver2", 96: "znver2", 104: "znver2", 113: "znver2"},
    ("AuthenticAMD", 25): {1: "znver3", 33: "znver3", 80: "znver3", 17: "znver4", 97: "znver4"},
}


PORTABLE_MOST = 1420  # bytes of portable code: longer traces of it take minutes and give the same result per byte


@dataclass(frozen=True)
class Row:
    """One candidate at one size: recorded once and modeled for some CPUs."""

    language: str
    algorithm: str
    candidate: str
    op: str
    size: int
    peers: str  # key of PEERS
    cpus: tuple[str, ...]

    def title(self) -> str:
        return f"{self.language}, {self.algorithm}, {self.candidate} ({self.peers}), {self.op} {self.size} bytes"


@dataclass(frozen=True)
class Done:
    row: Row
    result: dict
    error: str = ""


def model(job: tuple[Row, argparse.Namespace]) -> Done:
    row, options = job
    dash = "-" if row.language == "Go" else "--"
    program = options.go_program if row.language == "Go" else options.c_program
    command = [program, f"{dash}alg", row.algorithm, f"{dash}region", row.candidate, f"{dash}bytes", str(row.size)]
    command += [f"{dash}open"] * (row.op == "open")
    marks = ("main.markStart", "main.markEnd") if row.language == "Go" else ("mark_start", "mark_end")
    os.environ.update(PEERS[row.peers])
    try:
        recorded = x86cost.record(argparse.Namespace(command=command, start=marks[0], end=marks[1], round=6))
        return Done(row, cycles(x86cost.read_trace(recorded), row.cpus, options.cache))
    except (x86cost.X86costError, OSError) as error:
        return Done(row, {}, str(error))
    finally:
        for name in PEERS[row.peers]:
            del os.environ[name]


def cycles(trace: x86cost.Trace, cpus: tuple[str, ...], cache: Path) -> dict:
    """The modeled cycles by CPU, kept as long as trace, program and LLVM are the same."""
    lines = x86cost.assembly(trace.code)
    needs = x86cost.features(lines, trace.code)
    what = repr((trace.code, trace.order, trace.taken, trace.accesses, x86cost.llvm_version())).encode()
    digest = hashlib.sha256(what + Path(x86cost.__file__).read_bytes())
    kept = cache / digest.hexdigest()
    known = json.loads(kept.read_text()) if kept.exists() else {}
    for cpu in cpus:
        if cpu not in known and not set(needs) - x86cost.HAS[cpu]:
            known[cpu] = x86cost.model_cycles(trace, lines, cpu)
    cache.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(known))
    return {"needs": needs, "instructions": len(trace.order), "cycles": {c: known[c] for c in cpus if c in known}}


def candidates(options: argparse.Namespace, language: str, algorithm: str, old: str = "") -> list[str]:
    """All but portable code. For a CPU before AVX2 that is named: all that run there."""
    program, dash = (options.go_program, "-") if language == "Go" else (options.c_program, "--")
    environment = os.environ | (PEERS[old] if old else {})
    names = x86cost.run([program, f"{dash}alg", algorithm, f"{dash}list"], env=environment).splitlines()
    return [name for name in names if old or name != "sealane portable"]


def taken(algorithm: str, name: str, cpu: str) -> bool:
    """Whether a candidate belongs in the table of a CPU before AVX2. Excluded are candidates that need AVX2, and AES
    without the CPU's AES instructions."""
    if cpu == "goldmont" and algorithm != "ChaCha20-Poly1305":
        return False
    slow = algorithm != "ChaCha20-Poly1305" and "aes" in x86cost.HAS[cpu] and name in ("sealane ssse3", "sealane portable")
    return not slow and not re.match("sealane avx(2|512)", name)


def portable(algorithm: str, name: str, cpu: str) -> bool:
    """Whether a candidate is portable code there: Go has no other AES without AES instructions."""
    return name == "sealane portable" or algorithm != "ChaCha20-Poly1305" and name == "standard library" and "aes" not in x86cost.HAS[cpu]


def rows(options: argparse.Namespace, has_avx512: bool) -> list[Row]:
    chosen = options.cpus.split(",")
    old = [cpu for cpu in chosen if cpu in PEERS]
    cpus = tuple(cpu for cpu in chosen if cpu not in PEERS)
    classes = {"aesni": [], "vaes": [], "avx512": []}
    for cpu in cpus:
        has = x86cost.HAS[cpu]
        newest = "avx512" if "avx512" in has and has_avx512 else "vaes" if "vaes" in has else "aesni"
        classes[newest].append(cpu)
    found = []
    for algorithm in options.algorithms.split(","):
        for language in options.languages.split(","):
            found += [Row(language, algorithm, name, "seal", int(size), cpu, (cpu,)) for cpu in old
                      for name in candidates(options, language, algorithm, cpu) if taken(algorithm, name, cpu)
                      for size in options.sizes.split(",") if int(size) <= PORTABLE_MOST or not portable(algorithm, name, cpu)]
            for name in candidates(options, language, algorithm) if cpus else ():
                same = language == "Go" or name.startswith("sealane ")  # whatever features the others may use
                groups = [("aesni", cpus)] if same else [(k, tuple(v)) for k, v in classes.items() if v]
                found += [Row(language, algorithm, name, op, int(size), peers, group)
                          for peers, group in groups for op in OPS for size in options.sizes.split(",")]
        if cpus and "Go" in options.languages.split(",") and algorithm in SWEEP:
            names = [n for n in candidates(options, "Go", algorithm) if n == SWEEP[algorithm] or n.startswith("sealane ")]
            sweep = sorted(set(sweep_sizes(options)) - set(map(int, options.sizes.split(","))))
            found += [Row("Go", algorithm, name, op, size, "aesni", cpus) for name in names for op in OPS for size in sweep]
    known = set(map(int, options.sizes.split(","))) if options.peers_from else set()
    found = [row for row in found if row.candidate.startswith("sealane ") or row.size not in known]
    return [row for row in found if re.search(options.only, row.title())]


def sweep_sizes(options: argparse.Namespace) -> list[int]:
    return [int(size) for size in options.sweep.split(",") if size]


def host() -> str:
    """The name of the CPU at hand."""
    field = dict(re.findall(r"^(\w[\w ]*?)\s*: (.*)$", Path("/proc/cpuinfo").read_text().split("\n\n")[0], re.M))
    return f"{field['model name']} (family {field['cpu family']}, model {field['model']})"


def model_of(cpu: str) -> str | None:
    """The model of a CPU that make bench measured."""
    family, number = map(int, re.search(r"\(family (\d+), model (\d+)\)", cpu).groups())
    vendor = "AuthenticAMD" if cpu.startswith("AMD") else "GenuineIntel"
    return MODELS.get((vendor, family), {}).get(number)


def git(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run(["git", "-C", str(HERE), *words], capture_output=True, text=True)


def revision() -> str:
    """The commit of sealane's own rows, with a + if the files in work differ from it. Empty if unknown."""
    folders = [f":/{name}" for name in OWN]
    head = git("rev-parse", "HEAD")
    if head.returncode:
        return ""
    return head.stdout.strip() + "+" * bool(git("status", "--porcelain", "--", *folders).stdout)


def same_code(commit: str) -> bool:
    """Whether that commit has the same kernels and front ends as the files in work."""
    folders = [f":/{name}" for name in OWN]
    untracked = git("ls-files", "--others", "--exclude-standard", "--", *folders)
    return bool(re.fullmatch("[0-9a-f]{40}", commit)) and not untracked.stdout and (
        git("diff", "--quiet", commit, "--", *folders).returncode == 0)


class Figures:
    """Modeled cycles of candidates, and of those of peers.json that are not at hand."""

    def __init__(self, done: list[Done]):
        self.kept = {}  # "LANGUAGE, ALGORITHM, CANDIDATE" -> the commit of the earlier table that its rows are of
        self.cycles = {}  # (language, algorithm, op, size, cpu) -> {candidate: cycles}, in the order of candidates
        for one in done:
            for cpu, count in one.result["cycles"].items():
                self.at(one.row.language, one.row.algorithm, one.row.op, one.row.size, cpu)[one.row.candidate] = count

    def add_elsewhere(self, others: list[dict]) -> None:
        """Those of libraries that are not at hand."""
        for peer in others:
            for size, figures in peer["by_message_bytes"].items():
                for cpu, count in figures["modelled_cycles"].items():
                    key = ("C", peer["algorithm"], "seal", int(size), cpu)
                    if key in self.cycles and not set(peer["needs"]) - x86cost.HAS[cpu]:
                        self.cycles[key][f"{peer['name']}*"] = count

    def add_peers(self, path: Path) -> None:
        """Those of an earlier table, of the same LLVM, before sealane's own."""
        earlier = json.loads(path.read_text())
        if earlier["llvm"] != x86cost.llvm_version():
            raise x86cost.X86costError(f"{path} is of LLVM {earlier['llvm']}")
        for cell in earlier["cells"]:
            key = (cell["language"], cell["algorithm"], cell["op"], cell["bytes"], cell["cpu"])
            peers = {n: c for n, c in cell["modelled"].items() if not n.startswith("sealane ")}
            if key in self.cycles:
                self.cycles[key] = peers | self.cycles[key]

    def add_rest(self, path: Path, mix: bool = False) -> None:
        """Adds from an earlier table of the same LLVM the figures that were not modeled again, each in its old place. Rows of
        sealane's own levels only if they are of the code that is here now, or if it may be mixed."""
        earlier = json.loads(path.read_text())
        if earlier["llvm"] != x86cost.llvm_version():
            raise x86cost.X86costError(f"{path} is of LLVM {earlier['llvm']}")
        commit = earlier.get("commit", "")
        for cell in earlier["cells"]:
            now = self.cycles.get((cell["language"], cell["algorithm"], cell["op"], cell["bytes"], cell["cpu"]), {})
            for name in cell["modelled"]:
                if name not in now and not name.endswith("*"):
                    row = f"{cell['language']}, {cell['algorithm']}, {name}"
                    self.kept[row] = earlier.get("kept", {}).get(row, commit)
        own = {row: at for row, at in self.kept.items() if ", sealane " in row and not same_code(at)}
        if own and not mix:
            raise x86cost.X86costError(f"{path} has rows of other code: {', '.join(own)}; model them again, or use --mix")
        for cell in earlier["cells"]:
            now = self.at(cell["language"], cell["algorithm"], cell["op"], cell["bytes"], cell["cpu"])
            rest = {n: now.get(n, c) for n, c in cell["modelled"].items() if not n.endswith("*")}
            again = dict(now)
            now.clear()
            now.update(rest | again)

    def at(self, *key) -> dict[str, int]:
        return self.cycles.setdefault(key, {})

    def level(self, language: str, algorithm: str, cpu: str) -> str | None:
        """The level that a first key takes: FIRST if the CPU runs it, otherwise the first level that it runs."""
        cells = self.cycles.get((language, algorithm, "seal", 64, cpu), {})
        names = [name for name in cells if name.startswith("sealane ")]
        return FIRST[algorithm] if FIRST.get(algorithm) in names else next(iter(names), None)

    @staticmethod
    def ratio(cells: dict[str, int], level: str | None = None) -> tuple[float, str, str] | None:
        """The best peer's cycles over those of that level, or the first that the CPU runs; both names."""
        ours = level if level in cells else next((name for name in cells if name.startswith("sealane ")), None)
        peers = {k: v for k, v in cells.items() if not k.startswith("sealane ")}
        if ours is None or not peers:
            return None
        best = min(peers, key=peers.get)
        return peers[best] / cells[ours], best, ours


@dataclass
class Reference:
    """A CPU with both a model and results of make bench. It shows the error of the model."""

    cpu: str  # its name
    model: str
    errors: dict[tuple, float]  # (language, algorithm, op, size, candidate) -> modeled over measured cycles


def references(paths: list[Path], figures: Figures) -> list[Reference]:
    """One for each CPU. The errors of one language and algorithm have the clock's error in common, which ratios cancel."""
    found = {}
    for path in paths:
        raw = json.loads(path.read_text())
        cpu, model = raw["machine"]["cpu"], model_of(raw["machine"]["cpu"])
        if model is None:
            continue
        errors = found.setdefault(cpu, Reference(cpu, model, {})).errors
        for language, table in raw["tables"].items():
            for cell in table["cells"]:
                if cell["ad"] or cell["keys"] != 1 or cell["batch"]:
                    continue
                key = (language, raw["algorithm"], cell["op"], cell["bytes"])
                modeled = figures.cycles.get((*key, model), {})
                for name, ns in cell["ns"].items():
                    if name in modeled:
                        errors[*key, name] = modeled[name] / (ns * table["clock_ghz"])
    return list(found.values())


def correction(measured: list[Reference], key: tuple, ours: str, peer: str) -> float | None:
    """The ratio of two candidates, measured over modeled, as the geometric mean of all CPUs that have both, or None.
    This is only for Go: peers in C run other code on the measured CPUs than on the modeled ones."""
    if key[0] != "Go":
        return None
    errors = [r.errors[*key, ours] / r.errors[*key, peer] for r in measured
              if (*key, ours) in r.errors and (*key, peer) in r.errors]
    return geometric_mean(errors) if errors else None


def grid(head: list[str], body: list[list[str]]) -> str:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"


def markdown(figures: Figures, options: argparse.Namespace, at_hand: str, measured: list[Reference]) -> str:
    sizes = options.sizes.split(",")
    text = f"""\
# Modeled cycles on x86-64 CPUs that have no results

Written by `make {"bench-x86-sweep" if options.sweep else "bench-x86"}`; do not edit. **Every figure is modeled** by tools/x86cost with the tables of LLVM
{x86cost.llvm_version()}; none is measured. The cycles themselves are in the .json beside this. Traced on {at_hand}.
One warm call, no associated data, key set up before. A star marks libraries of tools/x86cost/peers.json, which has sealing only.

## Times as fast as the best peer

Each figure is the cycles of the peer that takes the fewest, over those of the level that a first key takes. Above 1 sealane is faster.
Levels: {levels(figures, options)}.
"""
    text += kept(figures)
    if measured:
        text += f"""
The figure in brackets, in Go, is corrected. It is scaled by the measured over the modeled ratio of the same two candidates at the same size,
on the CPUs that have both: {", ".join(f"{r.cpu} ({r.model})" for r in measured)}.
"""
    text += "\n"
    for algorithm in options.algorithms.split(","):
        for language in options.languages.split(","):
            body = []
            for cpu in shown(options, measured):
                for op in OPS:
                    line = [f"{cpu}, {op}"]
                    for size in map(int, sizes):
                        plain = figures.ratio(figures.at(language, algorithm, op, size, cpu), figures.level(language, algorithm, cpu))
                        factor = correction(measured, (language, algorithm, op, size), plain[2], plain[1]) if plain else None
                        line.append((f"{plain[0]:.2f} {plain[1]}" if plain else "") + (f" ({plain[0] * factor:.2f})" if factor else ""))
                    body.append(line)
            text += f"### {algorithm}, {language}\n\n" + grid(["bytes", *sizes], body)
    return text + wrong(options, measured) + sweep(figures, options, measured)


def old_markdown(figures: Figures, options: argparse.Namespace, at_hand: str) -> str:
    """The table of CPUs before AVX2: cycles of every candidate, and how many times those of the level that a first key takes."""
    sizes = list(map(int, options.sizes.split(",")))
    text = f"""\
# Modeled cycles on x86-64 CPUs before AVX2

Written by `make bench-x86-old`; do not edit. **Every figure is modeled** by [tools/x86cost](../../tools/x86cost/README.md#cpus-before-avx2)
with the tables of LLVM {x86cost.llvm_version()}; none is measured. The tool's page states the source of each parameter and the CPUs left out.
Traced on {at_hand}. Libraries behave as on the modeled CPU. One warm call seals, without associated data.

A figure is in cycles. In brackets it is divided by the cycles of the level that sealane chooses, the first line. Above 1 sealane is faster.
Portable code is modeled up to {PORTABLE_MOST} bytes. x/crypto has no assembly below AVX2; tsasm is wireguard-go's copy of the older one.

"""
    for algorithm in options.algorithms.split(","):
        for language in options.languages.split(","):
            for cpu in options.cpus.split(","):
                cells = [figures.at(language, algorithm, "seal", size, cpu) for size in sizes]
                if not all(cells):
                    continue
                own = [name for name in cells[0] if name.startswith("sealane ")]
                names, level = [*own, *(name for name in cells[0] if name not in own)], own[0]
                body = [[name, *(f"{cell[name]} ({cell[name] / cell[level]:.2f})" if name in cell else "" for cell in cells)]
                        for name in names]
                text += f"## {cpu}: {algorithm}, {language}\n\n" + grid(["bytes", *map(str, sizes)], body)
    return text.rstrip("\n") + "\n"


def shown(options: argparse.Namespace, measured: list[Reference]) -> list[str]:
    """The CPUs without results."""
    return [cpu for cpu in options.cpus.split(",") if cpu not in {r.model for r in measured}]


def wrong(options: argparse.Namespace, measured: list[Reference]) -> str:
    """How wrong the model is where make bench has run: modeled over measured cycles of every candidate."""
    sizes = list(map(int, options.sizes.split(",")))
    text = "## Modeled over measured cycles\n\n" if measured else ""
    for r in measured:
        for algorithm in options.algorithms.split(","):
            for language in options.languages.split(","):
                names = dict.fromkeys((op, name) for lang, alg, op, _, name in r.errors if (lang, alg) == (language, algorithm))
                body = [[f"{name}, {op}", *(f"{r.errors[language, algorithm, op, size, name]:.2f}"
                                           if (language, algorithm, op, size, name) in r.errors else "" for size in sizes)]
                        for op, name in names]
                if body:
                    text += f"### {r.cpu} as {r.model}: {algorithm}, {language}\n\n" + grid(["bytes", *map(str, sizes)], body)
    return text


def kept(figures: Figures) -> str:
    """Which rows are not of this run: one line for each commit."""
    every = {f"{language}, {algorithm}, {name}" for (language, algorithm, *_), cells in figures.cycles.items() for name in cells
             if not name.endswith("*")}
    text = ""
    for commit in sorted(set(figures.kept.values())):
        rows_of = [row for row, at in figures.kept.items() if at == commit]
        text += f"\nOf an earlier table ({f'commit {commit[:12]}' if commit else 'of a commit that it does not name'}): "
        text += f"{'all rows' if every == set(rows_of) else '; '.join(rows_of)}.\n"
    return text


def levels(figures: Figures, options: argparse.Namespace) -> str:
    """Which CPU takes which, in the order of the table."""
    found = []
    for algorithm in options.algorithms.split(","):
        taken = {}
        for cpu in options.cpus.split(","):
            names = {figures.level(language, algorithm, cpu) for language in options.languages.split(",")} - {None}
            taken.setdefault(" or ".join(sorted(name.removeprefix("sealane ") for name in names)), []).append(cpu)
        found += [f"{algorithm} {name} on {', '.join(cpus)}" for name, cpus in taken.items() if name]
    return "; ".join(found)


def sweep(figures: Figures, options: argparse.Namespace, measured: list[Reference]) -> str:
    """The least that a Go program gains, size by size."""
    sizes = sweep_sizes(options)
    if not sizes or "Go" not in options.languages.split(","):
        return ""
    text = "## Size by size, Go\n\nThe same ratio, modeled and not corrected, to x/crypto (ChaCha20-Poly1305) and the standard library (AES-128-GCM).\n\n"
    for algorithm in (a for a in options.algorithms.split(",") if a in SWEEP):
        body, lost = [], []
        for cpu in shown(options, measured):
            for op in OPS:
                ratios = []
                for size in sizes:
                    cells = figures.at("Go", algorithm, op, size, cpu)
                    kept = {n: c for n, c in cells.items() if n == SWEEP[algorithm] or n.startswith("sealane ")}
                    ratio = figures.ratio(kept, figures.level("Go", algorithm, cpu))
                    ratios.append(f"{ratio[0]:.2f}" if ratio else "")
                    if ratio and ratio[0] < 1:
                        lost.append(f"{cpu} {op} {size} ({ratio[0]:.2f})")
                body.append([f"{cpu}, {op}", *ratios])
        text += f"### {algorithm}, {SWEEP[algorithm]}\n\n" + grid(["bytes", *map(str, sizes)], body)
        text += f"Slower: {', '.join(lost) or 'none'}.\n\n"
    return text


def raw(figures: Figures, options: argparse.Namespace, at_hand: str) -> str:
    """All modeled cycles, one line for each algorithm, language, operation, CPU and size."""
    about = "Modelled core cycles of one warm call, none measured. Written by make bench-x86; do not edit."
    head = {"about": about, "llvm": x86cost.llvm_version(), "traced_on": at_hand, "commit": revision()}
    head |= {"kept": figures.kept} if figures.kept else {}
    cells = [
        json.dumps({"algorithm": algorithm, "language": language, "op": op, "cpu": cpu, "bytes": size, "modelled": cycles})
        for (language, algorithm, op, size, cpu), cycles in sorted(figures.cycles.items())
        if cycles
    ]
    return json.dumps(head)[:-1] + ', "cells": [\n' + ",\n".join(cells) + "\n]}\n"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--c-program", required=True, help="bench-c")
    parser.add_argument("--go-program", required=True, help="bench-go")
    parser.add_argument("--cache", required=True, type=Path, help="stores the cycles of modeled traces")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="rows at a time")
    parser.add_argument("--algorithms", default=",".join(ALGORITHMS))
    parser.add_argument("--languages", default="Go,C")
    parser.add_argument("--cpus", default=",".join(cpu for cpu in x86cost.CPUS if cpu not in PEERS))
    parser.add_argument("--sizes", default="64,256,576,1024,1420,4096,16384")
    parser.add_argument("--sweep", default="", metavar="SIZES", help="further sizes for Go beside one peer")
    parser.add_argument("--only", default="", metavar="TEXT", help="only rows whose title matches this regular expression")
    parser.add_argument("--rest-from", type=Path, metavar="JSON", help="earlier table with the rows that --only leaves out")
    parser.add_argument("--mix", action="store_true", help="allows sealane's own rows from other code")
    parser.add_argument("--peers-from", type=Path, metavar="JSON", help="the peers' figures of an earlier table")
    parser.add_argument("--measured", type=Path, nargs="*", default=[], help="results of make bench, for the correction")
    parser.add_argument("output", type=Path, help="a .md file; - for the terminal")
    options = parser.parse_args()
    try:
        at_hand = host()
        done, failed = [], 0
        has_avx512 = "avx512ifma" in Path("/proc/cpuinfo").read_text()
        todo = rows(options, has_avx512)
        with ProcessPoolExecutor(options.jobs) as pool:
            for one in pool.map(model, [(row, options) for row in todo]):
                done.append(one)
                failed += bool(one.error)
                print(f"FAIL {one.row.title()}: {one.error}" if one.error else
                      f"{one.row.title()}: {one.result['cycles']} modeled", file=sys.stderr)
        if failed or not (todo or options.rest_from):
            print(f"x86cost: {failed} of {len(todo)} rows failed; {options.output} is unchanged", file=sys.stderr)
            return 1
        listed = json.loads((HERE / "peers.json").read_text())["peers"]
        figures = Figures(done)
        if options.rest_from:
            figures.add_rest(options.rest_from, options.mix)
            for row, commit in figures.kept.items():
                print(f"kept from {options.rest_from}, commit {commit or 'unknown'}: {row}", file=sys.stderr)
        figures.add_elsewhere([peer for peer in listed if peer.get("elsewhere")])
        if options.peers_from:
            figures.add_peers(options.peers_from)
        old = all(cpu in PEERS for cpu in options.cpus.split(","))
        text = (old_markdown(figures, options, at_hand) if old else
                markdown(figures, options, at_hand, references(options.measured, figures)))
    except (x86cost.X86costError, OSError, subprocess.SubprocessError) as error:
        print(f"x86cost: {error}", file=sys.stderr)
        return 1
    if str(options.output) == "-":
        print(text)
    else:
        options.output.write_text(text)
    if str(options.output) != "-" and not old:
        options.output.with_suffix(".json").write_text(raw(figures, options, at_hand))
    return 0


if __name__ == "__main__":
    sys.exit(main())
