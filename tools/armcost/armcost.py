#!/usr/bin/env python3
"""Modeled cost, and a constant-time check, of 32-bit ARM and arm64 code, without ARM hardware.

QEMU runs the program; region.c, a QEMU plugin, records every instruction and every memory access
between two functions. `cost` replays that trace through models of real cores and prints cycles.
`ct` runs the program with two different secrets and compares the traces. README.md explains how
reliable the figures are: every number of cycles is modeled.

Exit status: 0 when done (`ct`: the traces agree), 1 when `ct` finds a difference, 2 on any error.
"""

import argparse
import collections
import hashlib
import itertools
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum, auto
from pathlib import Path

import capstone

import mips

LLVM_SUFFIX = os.environ.get("ARMCOST_LLVM", "-22")  # of llvm-mc, llvm-mca and llvm-nm, as the package llvm-22 names them
SEEDS = ("1", "2")  # equally long, so that arguments and environment lie at the same addresses
COST_RUNS = 3  # the shortest round of all of them counts
CT_RUNS = 10  # with each seed, before a difference counts as one; see ct()


class ArmcostError(Exception):
    """A run that gives no answer: a wrong argument, a missing tool, a program that failed."""


# Running the program -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """An instruction set: how to run it, how to decode it, and which cores are modeled for it."""

    qemu: str
    default_cpu: str  # the CPU that QEMU emulates, which determines the level
    decoder: tuple[int, int] | None  # architecture and mode for capstone; None: without a modeled core
    triple: str  # for LLVM, as are the attributes
    attributes: str
    in_order: tuple[str, ...]  # cores modeled by the scoreboard below
    out_of_order: tuple[str, ...]  # cores modeled by llvm-mca


ARM = Target(
    qemu="qemu-arm",
    default_cpu="cortex-a7",
    decoder=(capstone.CS_ARCH_ARM, capstone.CS_MODE_ARM | capstone.CS_MODE_V8),
    triple="armv8-linux-gnueabihf",
    attributes="+neon,+v8,+crypto",
    in_order=("cortex-a7", "cortex-a53"),
    out_of_order=("cortex-a72",),
)
ARM64 = Target(
    qemu="qemu-aarch64",
    default_cpu="cortex-a53",
    decoder=(capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM),
    triple="aarch64-linux-gnu",
    attributes="+neon,+crypto,+sha3,+v8.2a",
    in_order=("cortex-a53",),
    out_of_order=("cortex-a72", "neoverse-n1"),
)
# llvm-mca has tables of in-order cores of RISC-V, too.
RISCV64 = Target(
    qemu="qemu-riscv64",
    default_cpu="rv64",
    decoder=None,
    triple="riscv64-linux-gnu",
    attributes="+m,+a,+f,+d,+c,+zbb",
    in_order=(),
    out_of_order=("sifive-u74", "spacemit-x60", "sifive-p670"),
)
MIPS = Target(
    qemu="qemu-mips",
    default_cpu="24Kc",
    decoder=None,
    triple="mips-linux-gnu",
    attributes="",
    in_order=("mips-24k", "mips-74k"),
    out_of_order=(),
)
MIPSEL = replace(MIPS, qemu="qemu-mipsel", triple="mipsel-linux-gnu")
MIPS64 = replace(
    MIPS, qemu="qemu-mips64", default_cpu="MIPS64R2-generic", triple="mips64-linux-gnuabi64", in_order=("octeon",)
)
MIPS64EL = replace(MIPS64, qemu="qemu-mips64el", triple="mips64el-linux-gnuabi64")


def run(command: list[str], **options) -> str:
    """The output of a command that must succeed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, **options)
    except FileNotFoundError as error:
        raise ArmcostError(f"{error.filename} not found; README.md says what to install") from None
    if done.returncode != 0:
        raise ArmcostError(f"{' '.join(command)}: {done.returncode}\n{done.stderr.strip()}")
    return done.stdout


def target_of(binary: str) -> Target:
    """The instruction set of an ELF executable, which must be linked at a fixed address."""
    try:
        header = Path(binary).read_bytes()[:20]
    except OSError as error:
        raise ArmcostError(error) from None
    big_endian = header[5:6] == b"\x02"
    elf_type, machine = struct.unpack_from(">HH" if big_endian else "<HH", header.ljust(20), 16)
    # EM_ARM, EM_AARCH64, EM_RISCV, EM_MIPS
    target = {40: ARM, 183: ARM64, 243: RISCV64}.get(machine)
    if machine == 8:
        target = {b"\x01": (MIPSEL, MIPS), b"\x02": (MIPS64EL, MIPS64)}[header[4:5]][big_endian]
    if header[:4] != b"\x7fELF" or target is None:
        raise ArmcostError(f"{binary} is not a program for 32-bit ARM, arm64, riscv64 or MIPS")
    if elf_type != 2:  # ET_EXEC
        raise ArmcostError(f"{binary} is position-independent: link it with -static -no-pie")
    return target


def functions(binary: str) -> dict[str, int]:
    """The addresses of the functions of a binary by name."""
    nm = f"llvm-nm{LLVM_SUFFIX}"
    if not shutil.which(nm):  # symbols are the same to any version; only the models need that one
        nm = "llvm-nm"
    lines = run([nm, "--defined-only", binary]).splitlines()
    symbols = (line.split(maxsplit=2) for line in lines)
    return {name: int(address, 16) for address, kind, name in symbols if kind in "TtWw"}


def plugin() -> Path:
    """region.c as a shared object, built on first use into the user's cache directory."""
    source = Path(__file__).with_name("region.c")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "armcost"
    built = cache / f"region-{hashlib.sha256(source.read_bytes()).hexdigest()[:16]}.so"
    if not built.exists():
        cache.mkdir(parents=True, exist_ok=True)
        unfinished = built.with_suffix(f".{os.getpid()}")
        flags = ["-O2", "-shared", "-fPIC", "-fvisibility=hidden"]
        run(["cc", *flags, "-o", str(unfinished), str(source)])
        unfinished.rename(built)
    return built


def record(options: argparse.Namespace, seed: str, directory: str) -> tuple[list[Path], str]:
    """Runs the program with this seed; returns the traces of its rounds and its output.

    Each pass through the region is a round. The first includes costs that occur only once, and is
    left out unless it is the only one.
    """
    binary, *arguments = options.command
    target, addresses = target_of(binary), functions(binary)
    for mark in (options.start, options.end):
        if mark not in addresses:
            raise ArmcostError(f"{binary} has no function {mark}: stripped, or inlined?")
    marks = f"start={addresses[options.start]:x},end={addresses[options.end]:x}"
    # setarch -R and -seed: no randomness from the kernel or from QEMU.
    command = ["setarch", "-R", target.qemu, "-seed", "1"]
    command += ["-cpu", options.cpu or target.default_cpu]
    command += ["-plugin", f"{plugin()},{marks},dir={directory}"]
    command += [binary, *(argument.replace("{seed}", seed) for argument in arguments)]
    # Go: no preemption by signal, one processor, no collector. C programs do not mind.
    godebug = ",".join(filter(None, (os.environ.get("GODEBUG"), "asyncpreemptoff=1")))
    quiet = {"GODEBUG": godebug, "GOMAXPROCS": "1", "GOGC": "off", "SEED": seed}
    output = run(command, env=os.environ | quiet)
    rounds = sorted(Path(directory).glob("region.*"), key=lambda path: int(path.suffix[1:]))
    if not rounds:
        raise ArmcostError(f"no region: {options.start} and then {options.end} never ran")
    return rounds[1:] or rounds, output


# Traces ------------------------------------------------------------------------------------------

RECORD = struct.Struct("=QIHH")  # struct record of region.c: address, opcode, size, kind
INSTRUCTION, LOAD_ACCESS, STORE_ACCESS = range(3)  # enum record_kind


@dataclass(frozen=True)
class Trace:
    """One round."""

    opcodes: list[int]  # of the instructions, in the order in which they ran
    loads: int  # accesses as QEMU makes them: one a register for ldm and stm
    stores: int


def read_trace(path: Path, riscv: bool = False) -> Trace:
    opcodes, accesses = [], collections.Counter()
    for address, opcode, size, kind in RECORD.iter_unpack(path.read_bytes()):
        if kind != INSTRUCTION:
            accesses[kind] += 1
        elif size == 4 or size == 2 and opcode & 3 != 3 and riscv:
            opcodes.append(opcode)
        else:
            # QEMU gives no size for the helpers that Linux puts at 0xffff0f60 to 0xffff0fe0.
            what = "Thumb code" if size else "a helper of the Linux kernel"
            raise ArmcostError(f"the region runs {what} at {address:#x}, which is not modeled")
    return Trace(opcodes, accesses[LOAD_ACCESS], accesses[STORE_ACCESS])


def first_difference(a: Path, b: Path) -> tuple[int, int]:
    """Where two different traces part: how many records in, and after which instruction."""
    address = 0
    traces = (RECORD.iter_unpack(path.read_bytes()) for path in (a, b))
    for index, (one, other) in enumerate(itertools.zip_longest(*traces)):
        if one != other:
            return index, address
        if one[3] == INSTRUCTION:
            address = one[0]
    raise AssertionError("the traces are equal")


# In-order cores ----------------------------------------------------------------------------------


class Kind(StrEnum):
    """The resources that an instruction needs on an in-order core."""

    INT = auto()
    INT_IMMEDIATE = auto()  # has an immediate operand, or is a plain move
    INT_SHIFTED = auto()  # shifts an operand on its way
    LOAD = auto()
    STORE = auto()
    BRANCH = auto()
    MULTIPLY = auto()
    MULTIPLY_64 = auto()  # 64 by 64 bits, low half
    MULTIPLY_HIGH = auto()  # 64 by 64 bits, high half
    VECTOR_64 = auto()  # on 64-bit registers, or scalar in the vector unit
    VECTOR_128 = auto()
    VECTOR_MULTIPLY = auto()
    VECTOR_LOAD = auto()
    VECTOR_STORE = auto()
    AES = auto()
    AES_MIX = auto()


SIMPLE = {Kind.INT_IMMEDIATE, Kind.BRANCH}
MEMORY = {Kind.LOAD, Kind.STORE, Kind.VECTOR_LOAD, Kind.VECTOR_STORE}
MULTIPLIES = {Kind.MULTIPLY, Kind.MULTIPLY_64, Kind.MULTIPLY_HIGH}
VECTOR_WIDE = {Kind.VECTOR_128, Kind.VECTOR_MULTIPLY, Kind.AES, Kind.AES_MIX}
VECTOR = VECTOR_WIDE | {Kind.VECTOR_64, Kind.VECTOR_LOAD, Kind.VECTOR_STORE}

# Mnemonics by their beginning; the first match counts. Those with a v are 32-bit ARM's.
VECTOR_KINDS = (
    (("ld", "vld", "vpop"), Kind.VECTOR_LOAD),
    (("st", "vst", "vpush"), Kind.VECTOR_STORE),
    (("mul", "mla", "umull", "umlal", "pmull", "vmul", "vmla"), Kind.VECTOR_MULTIPLY),
    (("tbl", "tbx", "vtbl", "vtbx"), Kind.VECTOR_128),
    (("aesmc", "aesimc"), Kind.AES_MIX),
    (("aes",), Kind.AES),
)
INTEGER_KINDS = (
    (("ld", "pop"), Kind.LOAD),
    (("st", "push"), Kind.STORE),
    (("umulh", "smulh"), Kind.MULTIPLY_HIGH),
    (("mul", "mla", "mls", "madd", "msub", "umul", "umlal", "umaal", "umaddl"), Kind.MULTIPLY),
    (("smull", "smlal", "smaddl"), Kind.MULTIPLY),
)


@dataclass(frozen=True)
class Operation:
    """A decoded instruction."""

    kind: Kind
    beats: int  # of a load or store: registers; in the vector unit, units of 64 bits
    reads: frozenset[str]
    writes: frozenset[str]
    accumulators: frozenset[str] = frozenset()  # those of reads that a product is added to


def register_units(target: Target, name: str) -> list[str]:
    """The names under which dependences on a register are tracked: aliases share a unit."""
    letter, number = re.fullmatch(r"(?:([bhsdqvw])(\d+))?.*", name).groups()
    if target is ARM and letter in ("s", "d", "q"):
        first = {"s": int(number) // 2, "d": int(number), "q": 2 * int(number)}[letter]
        return [f"d{first}", f"d{first + 1}"] if letter == "q" else [f"d{first}"]
    if letter == "w":
        return [f"x{number}"]
    if letter:
        return [f"v{number}"]
    return [] if name in ("xzr", "wzr") else [name]


def kind_of(instruction: capstone.CsInsn, is_vector: bool) -> Kind:
    mnemonic, operands = instruction.mnemonic, instruction.op_str
    for prefixes, kind in VECTOR_KINDS if is_vector else INTEGER_KINDS:
        if mnemonic.startswith(prefixes):
            is_64 = mnemonic in ("mul", "madd", "msub") and operands.startswith("x")
            return Kind.MULTIPLY_64 if is_64 else kind
    if is_vector:
        is_wide = re.search(r"\bq\d|\.(16b|8h|4s|2d)", operands)
        return Kind.VECTOR_128 if is_wide else Kind.VECTOR_64
    groups = (capstone.CS_GRP_JUMP, capstone.CS_GRP_CALL, capstone.CS_GRP_RET)
    if any(map(instruction.group, groups)) or mnemonic in ("ret", "bx"):
        return Kind.BRANCH
    if re.search("lsl|lsr|ror|asr", operands) and not mnemonic.startswith("mov"):
        return Kind.INT_SHIFTED
    if "#" in operands or mnemonic in ("mov", "movz"):
        return Kind.INT_IMMEDIATE
    return Kind.INT


BLOCK = re.compile(r"(?:(\w+)(!?), )?\{(.*)\}")  # operands of ldm, stm, push, pop and the like for vectors
ADDRESS = re.compile(r"\[([a-z]\w*)[^]]*\](!|, .+)?$")
SCALAR = re.compile(r", (d\d+)\[\d+\]$")  # a lane that a vector is multiplied by
FLAGS = "cpsr"


def arm_registers(
    instruction: capstone.CsInsn, reads: frozenset[str], writes: frozenset[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """Registers that a 32-bit instruction reads and writes: capstone leaves out some of them."""
    mnemonic, operands = instruction.mnemonic, instruction.op_str
    block, address = BLOCK.fullmatch(operands), ADDRESS.search(operands)
    if block and mnemonic.startswith(("ldm", "stm", "vldm", "vstm", "push", "pop", "vpush", "vpop")):
        names = (name.strip() for name in block[3].split(","))
        moved = frozenset(unit for name in names for unit in register_units(ARM, name))
        base = frozenset([block[1] or "sp"])
        updated = base if block[2] or not block[1] else frozenset()
        is_load = mnemonic.startswith(("ldm", "vldm", "pop", "vpop"))
        reads, writes = (base, moved | updated) if is_load else (base | moved, updated)
    elif mnemonic.startswith(("vswp", "vtrn", "vzip", "vuzp")):
        reads = writes
    elif mnemonic.startswith(("umlal", "smlal", "umaal")):
        reads |= writes
    elif address and address[2]:
        writes |= {address[1]}
    if scalar := SCALAR.search(operands):
        reads |= {scalar[1]}
    if re.fullmatch(r"\{\w+\[\d+\]\}.*", operands):
        reads |= {unit for unit in writes if unit[0] == "d"}  # a lane: the others stay
    writes -= {FLAGS}
    with_carry = mnemonic.startswith(("adc", "sbc", "rsc", "rrx"))
    sets_flags = instruction.update_flags and (not with_carry or mnemonic[3:4] == "s")
    if sets_flags or mnemonic.startswith(("cmp", "cmn", "tst", "teq")):
        writes |= {FLAGS}
    if with_carry:
        reads |= {FLAGS}
    if instruction.cc not in (capstone.arm.ARM_CC_AL, capstone.arm.ARM_CC_INVALID):
        reads |= {FLAGS} | (writes - {"pc"})  # without the condition everything stays
    return reads, writes


def decode(target: Target, opcode: int) -> Operation:
    disassembler = capstone.Cs(*target.decoder)
    disassembler.detail = True
    instruction = next(disassembler.disasm(opcode.to_bytes(4, "little"), 0), None)
    if instruction is None:
        raise ArmcostError(f"capstone does not know the instruction {opcode:#010x}")
    reads, writes = (
        frozenset(u for r in registers for u in register_units(target, instruction.reg_name(r)))
        for registers in instruction.regs_access()
    )
    if target is ARM:
        reads, writes = arm_registers(instruction, reads, writes)
    is_vector = any(re.fullmatch(r"[dv]\d+", unit) for unit in reads | writes)
    kind = kind_of(instruction, is_vector)
    moved = writes if kind in (Kind.LOAD, Kind.VECTOR_LOAD) else reads
    beats = 1
    if is_vector:
        registers = sum(unit[0] in "dv" for unit in moved)
        beats = max(1, registers) * (1 if target is ARM else 2)
    elif instruction.mnemonic.startswith(("ldm", "pop", "stm", "push")):
        beats = instruction.op_str.split("{")[1].count(",") + 1
    accumulators = writes if instruction.mnemonic.startswith(("umlal", "smlal")) else frozenset()
    if target is ARM and instruction.mnemonic == "mla":
        accumulators = frozenset([instruction.reg_name(instruction.operands[3].reg)])
    return Operation(kind, beats, reads, writes, accumulators)


@dataclass(frozen=True)
class Core:
    """The rules of a dual-issue in-order core, in cycles.

    The constants are in cores.json, with their sources; tools/weave reads them too. They are supported by how close
    they come to the published speeds of known kernels: README.md has the table. Memory is a first-level cache that
    always hits; every branch is predicted.
    """

    latency: dict[Kind, int]  # from issue to the result; 1 where absent
    wide_vector: int  # how long a 128-bit operation keeps the vector pipe
    beats_a_cycle: int  # of a load or store
    multiply: int  # how long a 32-bit multiplication keeps the multiplier
    # Of two instructions that issue together, one must be simple, and both scalar. Nothing issues
    # while a vector operation or transfer keeps its pipe.
    restricted: bool

    def pipe(self, operation: Operation) -> tuple[str, int]:
        """The pipe that an operation needs, and for how long."""
        if operation.kind in MEMORY:
            return "memory pipe", -(-operation.beats // self.beats_a_cycle)
        if operation.kind in MULTIPLIES:
            longer = {Kind.MULTIPLY_64: 2, Kind.MULTIPLY_HIGH: 4}
            return "multiplier", longer.get(operation.kind, self.multiply)
        if operation.kind in VECTOR:
            return "vector pipe", self.wide_vector if operation.kind in VECTOR_WIDE else 1
        return "none", 0

    def result_latency(self, operation: Operation, register: str) -> int:
        if operation.kind in MEMORY and register in operation.reads and register[0] in "rx":
            return 1  # the address, updated
        return self.latency.get(operation.kind, 1)

    def may_pair(self, first: Kind, second: Kind) -> bool:
        """Whether two operations may issue in the same cycle, their operands being ready."""
        if self.restricted:
            return not VECTOR & {first, second} and bool(SIMPLE & {first, second})
        return not first == second == Kind.BRANCH


CORES_FILE = Path(__file__).with_name("cores.json")


def read_cores(text: str) -> dict[str, Core]:
    cores = {}
    for name, row in json.loads(text)["cores"].items():
        latency = {Kind(kind): cycles for kind, cycles in row["latency"].items()}
        if row["width"] != 2:
            raise ArmcostError(f"{CORES_FILE}: {name}: the scoreboard supports only cores of width 2")
        cores[name] = Core(latency, row["wide_vector"], row["beats_a_cycle"], row["multiply"], row["restricted"])
    return cores


IN_ORDER_CORES = read_cores(CORES_FILE.read_text())


def fuse_aes(operations: Iterable[Operation]) -> Iterator[Operation]:
    """Drops each AESMC or AESIMC after its AESE or AESD: the cores issue such a pair as one."""
    previous = None
    for operation in operations:
        is_second = operation.kind == Kind.AES_MIX and previous and previous.kind == Kind.AES
        if is_second and operation.writes <= previous.writes:
            previous = None
            continue
        previous = operation
        yield operation


def in_order_cycles(operations: Iterable[Operation], core: Core) -> int:
    """Cycles from the first issue to the last, on a scoreboard of registers and pipes."""
    ready = collections.defaultdict(int)  # the cycle from which a register or a pipe can be used
    addend = ready.copy()  # the same for a register that the multiplier adds a product to
    now, issued = 0, []
    for operation in fuse_aes(operations):
        pipe, busy = core.pipe(operation)
        earliest = max(
            now,
            ready[pipe],
            *(ready[register] for register in operation.reads - operation.accumulators),
            *(addend[register] for register in operation.accumulators),
        )
        if earliest == now and issued:
            if len(issued) == 2 or not core.may_pair(issued[0], operation.kind):
                earliest += 1
        if earliest > now:
            now, issued = earliest, []
        issued.append(operation.kind)
        for register in operation.writes:
            ready[register] = now + core.result_latency(operation, register)
            forwarded = operation.kind == Kind.MULTIPLY
            addend[register] = now + busy if forwarded else ready[register]
        ready[pipe] = now + busy
        if core.restricted and operation.kind in VECTOR and busy > 1:
            now += busy - 1
            issued = [operation.kind, operation.kind]
    return now + 1


# Out-of-order cores ------------------------------------------------------------------------------


def assembly(target: Target, opcodes: list[int]) -> str:
    """A trace in LLVM's assembly language, one instruction a line."""
    distinct = sorted(set(opcodes))
    short = target is RISCV64  # the lowest bits give the length of an instruction
    sizes = [2 if short and opcode & 3 != 3 else 4 for opcode in distinct]
    encoded = "\n".join(" ".join(map(hex, o.to_bytes(n, "little"))) for o, n in zip(distinct, sizes))
    command = [f"llvm-mc{LLVM_SUFFIX}", "--disassemble", f"--triple={target.triple}"]
    output = run([*command, f"-mattr={target.attributes}"], input=encoded)
    lines = [line.strip() for line in output.splitlines() if not line.strip().startswith(".")]
    lines = list(filter(None, lines))
    if len(lines) != len(distinct):
        raise ArmcostError(f"llvm-mc knows {len(lines)} of {len(distinct)} distinct instructions")
    text = dict(zip(distinct, lines))
    return "".join(f"{text[opcode]}\n" for opcode in opcodes)


def out_of_order_cycles(target: Target, text: str, core: str) -> int:
    """Cycles of a straight-line trace by llvm-mca. A call costs 1, its target being in the trace."""
    command = [f"llvm-mca{LLVM_SUFFIX}", f"--mtriple={target.triple}", f"-mcpu={core}"]
    command += [f"-mattr={target.attributes}", "-iterations=1", "-call-latency=1"]
    command += ["-skip-unsupported-instructions=any", "-all-views=0", "-summary-view=1"]
    report = run(command, input=text)
    skipped = text.count("\n") - int(re.search(r"^Instructions:\s+(\d+)", report, re.M)[1])
    if skipped:
        print(f"armcost: llvm-mca's {core} skipped {skipped} instructions", file=sys.stderr)
    return int(re.search(r"^Total Cycles:\s+(\d+)", report, re.M)[1])


# Commands ----------------------------------------------------------------------------------------


# A branch's distance or an address costs nothing, but changes with code elsewhere.
DISTANCE = re.compile(
    r"^((?:bl?(?:\.?(?:eq|ne|[hc]s|lo|cc|mi|pl|v[sc]|hi|l[set]|g[et]))?|[ct]bn?z|adrp)\s.*)#-?\w+$", re.M
)


def cache_file(directory: str, text: str) -> Path:
    """The cache entry for the cycles of a trace. The cycles depend on the trace and on the model."""
    digest = hashlib.sha256(Path(__file__).read_bytes() + CORES_FILE.read_bytes())
    digest.update(run([f"llvm-mca{LLVM_SUFFIX}", "--version"]).encode())
    digest.update(capstone.__version__.encode())
    digest.update(DISTANCE.sub(r"\1", text).encode())
    return Path(directory, digest.hexdigest()[:32])


def modelled_cycles(target: Target, opcodes: list[int], cache: str | None, more: list[str] = []) -> dict[str, int]:
    """Cycles of a trace by core; more: cores of llvm-mca beside the target's, which are not kept."""
    if target in (MIPS, MIPSEL, MIPS64, MIPS64EL):
        if target in (MIPS, MIPS64):
            opcodes = [int.from_bytes(opcode.to_bytes(4, "little"), "big") for opcode in opcodes]
        return {core: mips.cycles(opcodes, mips.CORES[core]) for core in target.in_order}
    text = assembly(target, opcodes)
    others = {core: out_of_order_cycles(target, text, core) for core in more}
    kept = cache and cache_file(cache, text)
    if kept and kept.exists():
        return json.loads(kept.read_text()) | others
    decoded = {opcode: decode(target, opcode) for opcode in set(opcodes)} if target.decoder else {}
    operations = [decoded[opcode] for opcode in opcodes] if decoded else []
    cycles = {core: in_order_cycles(operations, IN_ORDER_CORES[core]) for core in target.in_order}
    cycles |= {core: out_of_order_cycles(target, text, core) for core in target.out_of_order}
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        unfinished = kept.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps(cycles))
        unfinished.rename(kept)
    return cycles | others


def print_table(result: dict) -> None:
    for name in ("instructions", "loads", "stores"):
        print(f"{name:14}{result[name]:10}")
    for core, cycles in result["modelled_cycles"].items():
        per_byte = result.get("modelled_cycles_per_byte", {}).get(core)
        column = "" if per_byte is None else f"{per_byte:10.2f} cycles/byte"
        model = "in-order scoreboard" if core in IN_ORDER_CORES else "scoreboard" if core in mips.CORES else "llvm-mca"
        print(f"{core:14}{cycles:10} cycles{column}  modeled, {model}")


def shortest_round(options: argparse.Namespace) -> Trace:
    """The shortest round of a few runs, or of one run if all its rounds take equally long. Go's scheduler, not
    the code, makes other rounds longer."""
    traces = []
    for _ in range(COST_RUNS):
        with tempfile.TemporaryDirectory() as directory:
            rounds, _ = record(options, SEEDS[0], directory)
            shortest = min(rounds, key=lambda path: path.stat().st_size)
            traces.append(read_trace(shortest, target_of(options.command[0]) is RISCV64))
            if len(rounds) > 1 and len({path.stat().st_size for path in rounds}) == 1:
                break
    return min(traces, key=lambda trace: len(trace.opcodes))


def cost(options: argparse.Namespace) -> int:
    trace = shortest_round(options)
    cycles = modelled_cycles(target_of(options.command[0]), trace.opcodes, options.cache, options.core)
    result = {"instructions": len(trace.opcodes), "loads": trace.loads, "stores": trace.stores}
    result["modelled_cycles"] = cycles
    if options.bytes:
        per_byte = {core: round(count / options.bytes, 3) for core, count in cycles.items()}
        result["modelled_cycles_per_byte"] = per_byte
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        print_table(result)
    return 0


def ct(options: argparse.Namespace) -> int:
    """Looks for secrets in branches and addresses.

    Traces are equal to the last byte or they are different. Noise (a scheduler, an allocator that
    starts elsewhere) makes equal programs differ now and then. So the program runs until every
    round has left the same trace with both seeds. A leak keeps them apart in all runs.
    """
    seen = [collections.defaultdict(set), collections.defaultdict(set)]  # by seed: round, digests
    furthest = collections.defaultdict(tuple)  # by round: the latest of the first differences
    for _ in range(CT_RUNS):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            recordings = [record(options, *run) for run in zip(SEEDS, (one, other))]
            if recordings[0][1] == recordings[1][1]:
                raise ArmcostError("both seeds gave the same output: is the seed used at all?")
            for digests, (rounds, _) in zip(seen, recordings):
                for path in rounds:
                    digests[path.name].add(hashlib.sha256(path.read_bytes()).digest())
            apart = [name for name in seen[0] | seen[1] if not seen[0][name] & seen[1][name]]
            for name in apart:
                part = first_difference(Path(one, name), Path(other, name))
                furthest[name] = max(furthest[name], part)
        if not apart:
            print(f"PASS: {len(seen[0])} rounds, each with one trace for two secrets")
            return 0
    for name in apart:
        address = furthest[name][1]
        print(
            f"FAIL: {name}: the traces part after {address:#x} in {function_at(options, address)}"
        )
    return 1


def function_at(options: argparse.Namespace, address: int) -> str:
    below = [(start, name) for name, start in functions(options.command[0]).items()]
    return max((pair for pair in below if pair[0] <= address), default=(0, "?"))[1]


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(epilog="The program to run, and its arguments, follow --.")
    commands = parser.add_subparsers(required=True, metavar="cost|ct")
    for function, what in ((cost, "print modeled cycles"), (ct, "compare traces of two secrets")):
        command = commands.add_parser(function.__name__, help=what, epilog=parser.epilog)
        command.set_defaults(function=function)
        command.add_argument("--start", required=True, help="function at which the region starts")
        command.add_argument("--end", required=True, help="function at which it ends")
        command.add_argument("--cpu", help="the CPU that QEMU emulates, e.g. cortex-a7 or arm1176")
        if function is cost:
            command.add_argument("--bytes", type=int, help="message length, for cycles per byte")
            command.add_argument("--json", action="store_true")
            command.add_argument("--core", action="append", default=[], help="one more core, by llvm-mca's name")
            command.add_argument("--cache", metavar="DIR", help="stores the cycles of modeled traces")
    split = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:split])
    options.command = arguments[split + 1 :]
    if not options.command:
        parser.error(parser.epilog)
    return options


def main() -> int:
    try:
        options = parse_arguments(sys.argv[1:])
        return options.function(options)
    except ArmcostError as error:
        print(f"armcost: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
