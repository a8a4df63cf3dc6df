#!/usr/bin/env python3
"""Modeled core cycles of one call of x86-64 code, on CPUs that are not at hand.

step.c, a ptrace single-stepper, runs the program on the CPU at hand and records the instructions and the
registers of one pass through a marked region. Two models of other CPUs replay that trace:

- `model`: a scheduler of this program's own, over LLVM's instruction tables (ports, latencies).
  It also models effects that llvm-mca leaves out: true addresses of loads and stores (forwarding, and its failures),
  ports chosen when an instruction is renamed, eliminated moves, fusion, taken branches, overlap of one call with the
  next;
- `mca`: llvm-mca itself, on the executed instructions as straight-line code.

README.md says how reliable the figures are. Every number of cycles is modeled, none is measured.

Exit status: 0 when done, 2 on any error.
"""

import argparse
import bisect
import functools
import hashlib
import json
import os
import re
import struct
import subprocess
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

LLVM_WANTED, LLVM_OLDEST = 22, 21  # the version that the figures were checked with; the oldest that prints whole tables
STEPS_SECONDS = 300
TRIES = 10  # until Go's scheduler does not interfere: see step.c
ROUND = 6  # the pass through the region that is recorded
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "x86cost"


class X86costError(Exception):
    """A run that gives no answer: a wrong argument, a missing tool, a program that failed."""

    def __init__(self, text: str, status: int = 0):
        super().__init__(text)
        self.status = status  # of the program


def run(command: list[str], **options) -> str:
    """The output of a command that must succeed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, **options)
    except subprocess.TimeoutExpired as error:
        raise X86costError(f"{command[0]} did not end within {error.timeout:.0f} s") from None
    except FileNotFoundError as error:
        raise X86costError(f"{error.filename} not found; README.md says what to install") from None
    if done.returncode != 0:
        raise X86costError(f"{' '.join(command)}: {done.returncode}\n{done.stderr.strip()}", done.returncode)
    return done.stdout


@functools.cache
def llvm() -> int:
    """The major version of LLVM that is used: X86COST_LLVM, or 22, or the newest there is that can be."""
    asked = os.environ.get("X86COST_LLVM")
    versions = [int(asked)] if asked and asked.isdecimal() else [LLVM_WANTED, *range(40, LLVM_OLDEST - 1, -1)]
    for version in versions:
        if version >= LLVM_OLDEST and shutil.which(f"llvm-mca-{version}"):
            return version
    wanted = asked or LLVM_WANTED
    raise X86costError(f"no llvm-mca-{wanted}, or older than {LLVM_OLDEST}: README.md says what to install")


def llvm_version() -> str:
    """In full: other versions have other tables, and give other figures."""
    return re.search(r"LLVM version (\S+)", run([f"llvm-mca-{llvm()}", "--version"]))[1]


# Traces ------------------------------------------------------------------------------------------

RECORD = struct.Struct("=Q16s17Q")  # struct record of step.c
SYSTEM_CALL = 3  # its exit status
REGISTERS = "rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15 fs".split()


def stepper() -> Path:
    """step.c as a program, built on first use into the cache."""
    source = Path(__file__).with_name("step.c")
    built = CACHE / f"step-{hashlib.sha256(source.read_bytes()).hexdigest()[:16]}"
    if not built.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        unfinished = built.with_suffix(f".{os.getpid()}")
        run(["cc", "-O2", "-o", str(unfinished), str(source)])
        unfinished.rename(built)
    return built


def functions(binary: str) -> dict[str, int]:
    """The addresses of the functions of a binary by name."""
    lines = run([f"llvm-nm-{llvm()}", "--defined-only", binary]).splitlines()
    symbols = (line.split(maxsplit=2) for line in lines if len(line.split(maxsplit=2)) == 3)
    return {name: int(address, 16) for address, kind, name in symbols if kind in "TtWw"}


@dataclass(frozen=True)
class Trace:
    """One pass through the region: the distinct instructions, and which of them ran, in order."""

    code: list[bytes]  # of the distinct instructions, each 16 bytes from its address on
    order: list[int]  # indices into code
    taken: list[bool]  # whether the next instruction is not the one that follows
    accesses: list[tuple]  # (load address, store address), each possibly None
    operations: list  # Operation of each of code


def record(options: argparse.Namespace) -> list[tuple]:
    binary = options.command[0]
    header = Path(binary).read_bytes()[:20]
    if header[:4] != b"\x7fELF" or struct.unpack_from("<H", header, 16)[0] != 2:
        raise X86costError(f"{binary} is not a program linked at a fixed address: use -no-pie")
    addresses = functions(binary)
    for mark in (options.start, options.end):
        if mark not in addresses:
            raise X86costError(f"{binary} has no function {mark}: stripped, or inlined?")
    marks = [f"{addresses[mark]:x}" for mark in (options.start, options.end)]
    godebug = ",".join(filter(None, (os.environ.get("GODEBUG"), "asyncpreemptoff=1")))
    quiet = {"GODEBUG": godebug, "GOMAXPROCS": "1", "GOGC": "off"}
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/trace"
        command = [str(stepper()), *marks, str(options.round), path, *options.command]
        for left in reversed(range(TRIES)):
            try:
                run(command, env=os.environ | quiet, timeout=STEPS_SECONDS)
                break
            except X86costError as error:
                if error.status != SYSTEM_CALL or left == 0:
                    raise
        return list(RECORD.iter_unpack(Path(path).read_bytes()))


# Instructions ------------------------------------------------------------------------------------


@dataclass
class Operation:
    """A decoded instruction."""

    mnemonic: str = ""
    text: str = ""
    size: int = 0
    reads: tuple = ()  # registers the operation needs, its addresses left out
    addresses: tuple = ()  # registers that addresses are made of
    writes: tuple = ()
    load: int = 0  # bytes
    store: int = 0
    memory: tuple = ()  # base, index, scale, displacement, segment, of the operand in memory
    push: int = 0  # -8: a store below rsp; +8: a load at rsp
    vector: bool = False
    jump: bool = False
    conditional: bool = False
    fuses: bool = False  # with a conditional jump that follows
    move: str = ""  # "gpr" or "vector" for a move between whole registers
    zeroing: bool = False
    indexed: bool = False
    three: bool = False  # three operands, one of them in memory


FLAG_READERS = re.compile(r"^(adc|sbb|adcx|adox|set|cmov|j[^m]|rcl|rcr|lahf|pushf)")
NO_FLAGS = re.compile(
    r"^(mov|lea|mulx|rorx|shlx|shrx|sarx|bswap|not|push|pop|nop|call|ret|jmp|endbr|pdep|pext|xchg|vzero|pref)"
)
ACCUMULATE = re.compile(r"^v(fm|fnm|pmadd52|pternlog|permi2|permt2|pdp)")
SSE_COPY = re.compile(r"^(mov|lddqu|pshuf[dhl]|pabs|pmov|aesimc|aeskeygen|sqrtp|cvt|pextr)")
PARENT = {}
for _name in "ax cx dx bx sp bp si di".split():
    for _alias in (f"r{_name}", f"e{_name}", _name):
        PARENT[_alias] = f"r{_name}"
    for _alias in (f"{_name}l", f"{_name[0]}l", f"{_name[0]}h"):
        PARENT.setdefault(_alias, f"r{_name}")
for _number in range(8, 16):
    for _suffix in ("", "d", "w", "b"):
        PARENT[f"r{_number}{_suffix}"] = f"r{_number}"
for _number in range(8):
    PARENT[f"k{_number}"] = f"k{_number}"
for _number in range(32):
    for _letter in "xyz":
        PARENT[f"{_letter}mm{_number}"] = f"v{_number}"


MASK = re.compile(r"^k[0-7]$")
COMPARE_VECTORS = ("vptest", "ptest", "vucomisd", "ucomisd", "vcomisd", "comisd")
ONLY_READ = ("cmp", "test", "vptest", "ptest", "push", "call", "jmp", "mul", "div", "imul", "bt", "vbroadcasti128", "ucomisd")
ONLY_WRITTEN = re.compile(r"^(v?mov|v?pextr|vextract|set|v?movnt|pop|vpcompress|v?stmxcsr)")
ZEROING = re.compile(r"^(xor|sub|v?pxord?q?|v?xorp[sd]|v?psub[bwdq])$")
VECTOR_MOVE = re.compile(r"^v?mov(dqa|dqu|aps|ups|apd|upd)(32|64)?$")


class Decoder:
    """The effects of instructions, from capstone and, for vectors, from rules."""

    def __init__(self):
        try:
            import capstone
        except ImportError:
            raise X86costError("no capstone: README.md says what to install") from None
        self.capstone = capstone
        self.disassembler = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
        self.disassembler.detail = True

    def decode(self, code: bytes) -> Operation:
        insn = next(self.disassembler.disasm(code, 0x1000), None)
        if insn is None:
            raise X86costError(f"capstone does not know the instruction {code.hex()}")
        name = insn.mnemonic.split()[-1]
        op = Operation(insn.mnemonic, f"{insn.mnemonic} {insn.op_str}", insn.size)
        registers = [insn.reg_name(o.reg) for o in insn.operands if o.type == self.capstone.x86.X86_OP_REG]
        op.vector = any(re.match(r"[xyz]mm", r) for r in registers)
        op.jump = insn.group(self.capstone.CS_GRP_JUMP) or name in ("call", "ret")
        op.conditional = op.jump and name not in ("jmp", "call", "ret")
        op.fuses = name in ("cmp", "test", "add", "sub", "inc", "dec", "and")
        op.three = len(insn.operands) >= 3
        reads, writes, addresses = set(), set(), set()
        for position, operand in enumerate(insn.operands):
            if operand.type == self.capstone.x86.X86_OP_MEM:
                self.memory_operand(insn, name, op, operand, position == 0, reads, addresses)
            elif operand.type == self.capstone.x86.X86_OP_REG:
                self.register_operand(insn, name, op, operand, position, reads, writes)
        self.implicit(insn, name, op, reads, writes)
        if self.same_registers(insn, name, op):
            reads = set()
        op.reads, op.writes, op.addresses = tuple(reads), tuple(writes), tuple(addresses)
        return op

    @staticmethod
    def memory_operand(insn, name, op, operand, first, reads, addresses) -> None:
        memory = operand.mem
        base, index = (insn.reg_name(r) if r else None for r in (memory.base, memory.index))
        parts = {PARENT[r] for r in (base, index) if r in PARENT}
        if name == "lea" or name.startswith(("prefetch", "nop")):
            reads |= parts if name == "lea" else set()
            return
        addresses |= parts
        segment = insn.reg_name(memory.segment) if memory.segment else ""
        start = "rip" if base == "rip" else PARENT.get(base)
        op.memory = (start, PARENT.get(index), memory.scale, memory.disp, segment)
        op.indexed = bool(memory.index)
        writes_it = first and name not in ONLY_READ
        if writes_it:
            op.store = operand.size
        if not first or not writes_it or not ONLY_WRITTEN.match(name):
            op.load = operand.size

    def register_operand(self, insn, name, op, operand, position, reads, writes) -> None:
        register = PARENT.get(insn.reg_name(operand.reg))
        if register is None:
            return
        if MASK.match(register) and op.vector:
            (writes if position == 0 else reads).add(register)
            if position == 1 and "{z}" not in insn.op_str and writes and not name.startswith("vpcmp"):
                reads |= writes  # elements outside the mask stay
        elif op.vector:
            # Vector code by rule: the first operand is written; without VEX it is mostly read too.
            if name in COMPARE_VECTORS or position > 0:
                reads.add(register)
                return
            writes.add(register)
            kept = not name.startswith("v") and not SSE_COPY.match(name) and register[0] == "v"
            half = name in ("movhps", "movhpd") and len(insn.operands) == 2 and op.load == 0
            if ACCUMULATE.match(name) or kept or half:
                reads.add(register)
        elif name == "mulx":
            (writes if position < 2 else reads).add(register)
        else:
            if operand.access & self.capstone.CS_AC_READ or not operand.access and position > 0:
                reads.add(register)
            if operand.access & self.capstone.CS_AC_WRITE or not operand.access and position == 0:
                writes.add(register)

    @staticmethod
    def implicit(insn, name, op, reads, writes) -> None:
        """Effects that no operand shows. The stack engine moves rsp without a port or a wait."""
        if name == "mulx":
            reads.add("rdx")
        if name in ("mul", "imul", "div", "idiv") and len(insn.operands) == 1:
            reads.add("rax")
            writes |= {"rax", "rdx"}
            reads |= {"rdx"} if "div" in name else set()
        if name in ("push", "call"):
            op.push, op.store = -8, 8
        if name in ("pop", "ret"):
            op.push, op.load, op.store = 8, 8, 0
        if name in ("cdq", "cqo"):
            reads.add("rax")
            writes.add("rdx")
        if op.vector or name.startswith(("v", "k")):
            writes |= {"flags"} if name in COMPARE_VECTORS or name.startswith(("kortest", "ktest")) else set()
        elif not NO_FLAGS.match(name) and not op.jump and not name.startswith(("set", "cmov")):
            writes.add("flags")
        if FLAG_READERS.match(name):
            reads.add("flags")

    def same_registers(self, insn, name, op) -> bool:
        """Marks moves that renaming does, and whether the result is 0 for any register content."""
        operands = insn.operands
        if len(operands) < 2 or any(o.type != self.capstone.x86.X86_OP_REG for o in operands):
            return False
        op.zeroing = len({o.reg for o in operands[-2:]}) == 1 and bool(ZEROING.match(name))
        if len(operands) == 2 and operands[0].reg != operands[1].reg:
            if name == "mov" and {o.size for o in operands} <= {4, 8}:
                op.move = "gpr"
            elif VECTOR_MOVE.match(name) and all(insn.reg_name(o.reg)[1:3] == "mm" for o in operands):
                op.move = "vector"
        return op.zeroing


def read_trace(records: list[tuple]) -> Trace:
    decoder = Decoder()
    index_of, code, operations, order, taken, accesses = {}, [], [], [], [], []
    previous = None
    for address, opcode, *values in records:
        key = (address, opcode)
        if key not in index_of:
            op = decoder.decode(opcode)
            index_of[key] = len(code)
            code.append(opcode[: op.size])
            operations.append(op)
        index = index_of[key]
        op = operations[index]
        if previous is not None:
            if previous == address:  # a "rep": one record for each repetition
                continue
            taken[-1] = address != previous + operations[order[-1]].size
        registers = dict(zip(REGISTERS, values))
        load = store = None
        if op.memory:
            base, scaled, scale, displacement, segment = op.memory
            at = displacement + (registers[scaled] * scale if scaled else 0)
            at += address + op.size if base == "rip" else registers[base] if base else 0
            at += registers["fs"] if segment == "fs" else 0
            at &= (1 << 64) - 1
            load = at if op.load else None
            store = at if op.store and not op.push else None
        if op.push == 8:
            load = registers["rsp"]
        if op.push == -8:
            store = registers["rsp"] - 8
        order.append(index)
        accesses.append((load, store))
        taken.append(False)
        previous = address
    return Trace(code, order, taken, accesses, operations)


def features(lines: list[str], code: list[bytes]) -> list[str]:
    """The features beyond SSE4.2 that the executed code needs: a CPU without them runs other code."""
    needed = set()
    for line, one in zip(lines, code):
        mnemonic = line.split()[0]
        if one[0] == 0x62:
            needed.add("avx512")
        if re.match(r"v[a-z]+\d* .*%[xyz]mm", line.replace("\t", " ")):
            needed.add("avx")
        needed |= {name for name in ("aes", "pclmulqdq") if re.match(f"v?{name}", mnemonic)}
        if mnemonic.startswith("movbe"):
            needed.add("movbe")
        if re.match(r"(andn|bextr|bls(i|r|msk))[lq]$", mnemonic):
            needed.add("bmi1")
        if "ymm" in line:
            needed.add("avx2")
            needed |= {"vaes"} if mnemonic.startswith("vaes") else set()
            needed |= {"vpclmulqdq"} if mnemonic.startswith("vpclmul") else set()
        if re.match(r"(mulx|rorx|shlx|shrx|sarx|pdep|pext)[lq]$", mnemonic):
            needed.add("bmi2")
        if mnemonic.startswith(("adcx", "adox")):
            needed.add("adx")
    return sorted(needed)


def assembly(code: list[bytes]) -> list[str]:
    """Instructions in LLVM's assembly language."""
    encoded = "\n".join(" ".join(map(hex, one)) for one in code)
    output = run([f"llvm-mc-{llvm()}", "--disassemble", "--triple=x86_64-linux-gnu", "-mattr=+avx512f,+vaes"],
                 input=encoded)
    lines = [line.strip().split("#")[0].strip() for line in output.splitlines()]
    lines = [line for line in lines if line and not line.startswith(".")]
    lines = [re.sub(r"^(lock|notrack)\s+", "", line) for line in lines]
    if len(lines) != len(code):
        raise X86costError(f"llvm-mc knows {len(lines)} of {len(code)} distinct instructions")
    return lines


# CPUs --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cpu:
    """Facts that LLVM's tables lack, in cycles and entries: the usual figures, calibrated on Zen 3 only."""

    width: int  # instructions (fused) renamed a cycle
    reorder: int  # entries of the reorder buffer
    queue: int  # entries of the schedulers, all together
    stores: int  # entries of the store buffer
    forward: int  # from a store's data to a load of it, general registers
    forward_vector: int
    blocked: int  # extra cycles of a load that a store cannot be forwarded to
    load: int  # latency of a load from the first-level cache, general registers
    load_vector: int
    fetch: int = 8  # instructions a cycle out of the cache of decoded ones; a taken branch ends the cycle
    gpr_moves: bool = True  # eliminated
    vector_moves: bool = True
    wide_load: int = 0  # extra latency of a 256-bit load
    fused_domain: bool = False  # a load or store and its operation are renamed as one
    wide_store: int = 32  # bytes that the cache takes a cycle
    fetch_bytes: int = 256  # of instructions a cycle; the default is more than any can take


# The extensions among those that features() distinguishes. A figure for code that a CPU cannot run means nothing.
AVX = {"avx", "aes", "pclmulqdq"}
OLD = AVX | {"movbe", "bmi1", "avx2", "bmi2", "adx"}
NEW = OLD | {"vaes", "vpclmulqdq"}
HAS = {
    "nehalem": set(), "ivybridge": AVX, "goldmont": {"aes", "pclmulqdq", "movbe"}, "btver2": AVX | {"movbe", "bmi1"},
    "haswell": OLD - {"adx"}, "skylake": OLD, "icelake-server": NEW | {"avx512"}, "alderlake": NEW,
    "znver2": OLD, "znver3": NEW, "znver4": NEW | {"avx512"},
}

INTEL = {"fused_domain": True, "wide_load": 1}
CPUS = {  # README.md states the sources of the first four
    "nehalem": Cpu(4, 128, 36, 32, 5, 6, 12, 4, 5, 4, False, False, fused_domain=True, wide_store=16, fetch_bytes=16),
    "ivybridge": Cpu(4, 168, 54, 36, 5, 6, 12, 5, 6, 6, wide_store=16, **INTEL),
    "goldmont": Cpu(3, 78, 60, 24, 5, 6, 12, 3, 5, 3, False, False, fused_domain=True, wide_store=16),
    "btver2": Cpu(2, 64, 50, 20, 4, 6, 14, 3, 5, 2, False, False, wide_store=16),
    "haswell": Cpu(4, 192, 60, 42, 5, 6, 12, 5, 6, 6, **INTEL),
    "skylake": Cpu(4, 224, 97, 56, 5, 6, 12, 5, 6, 6, **INTEL),
    "icelake-server": Cpu(5, 352, 160, 72, 5, 6, 13, 5, 6, 6, gpr_moves=False, wide_store=64, **INTEL),
    "alderlake": Cpu(6, 512, 200, 112, 5, 6, 14, 5, 7, 8, wide_store=64, **INTEL),
    "znver2": Cpu(6, 224, 128, 48, 7, 8, 14, 4, 7, 8),
    "znver3": Cpu(6, 256, 160, 64, 7, 8, 14, 4, 7, 8),
    "znver4": Cpu(6, 320, 160, 64, 7, 8, 14, 4, 7, 8),
}


@dataclass
class Row:
    """An instruction in LLVM's tables of one CPU."""

    uops: int
    latency: int
    ports: list[tuple[int, ...]]  # for each use of a port, the ports that do
    memory_ports: list[tuple[int, ...]]  # those of addresses and of the cache


MEMORY_PORT = {
    "nehalem": "^SBPort23$", "ivybridge": "^SBPort23$", "goldmont": "MEC", "btver2": "AGU$",
    "haswell": "23|237|^HWPort7$", "skylake": "23|237", "icelake-server": "23|78|^ICXPort(2|3|7|8)",
    "alderlake": "02|03|07|08|10", "znver2": "AGU|LSU|Load|Store", "znver3": "AGU|LSU|Load|Store",
    "znver4": "AGU|LSU|Load|Store",
}


# Corrections of LLVM 22's tables: pattern of the instruction, micro-operations, latency without a load, ports.
# README.md lists those that rest on LLVM's rows for neighboring CPUs, and those that are not verified.
CORRECTIONS = {
    "nehalem": [(r"ro[lr][lq] ", 1, 1, ["SBPort05"])],
    "ivybridge": [(r"ro[lr][lq] ", 1, 1, ["SBPort05"]), (r"v?pclmul", 18, 14, ["SBPort015"] * 24)],
    "goldmont": [
        (r"pshufb", 1, 1, ["SLM_FPC_RSV0"]),
        (r"(adc|sbb)", 1, 2, ["SLM_IEC_RSV0"] * 2),
        (r"mulq", 1, 5, ["SLM_IEC_RSV1"] * 2),
    ],
    "haswell": [(r"mulx", 2, 4, ["HWPort1", "HWPort5"])],
    "skylake": [(r"mulx", 2, 4, ["SKLPort1", "SKLPort5"])],
    "icelake-server": [
        (r"mulx", 2, 4, ["ICXPort1", "ICXPort5"]),
        (r"v?aes(enc|dec)", 1, 3, ["ICXPort01"]),
    ],
    "alderlake": [
        (r"(xor|and|or)[lq]? .*%r?e?[a-z0-9]+, %", 1, 1, ["ADLPPort00_01_05_06_11"]),
        (r"(xor|and|or)[lq]? *\$", 1, 1, ["ADLPPort00_01_05_06_11"]),
        (r"ro[lr][lq] ", 1, 1, ["ADLPPort00_06"]),
        (r"v?aes(enc|dec)", 1, 3, ["ADLPPort00_01"]),
    ],
    "znver2": [(r"v?pclmulqdq", 4, 4, ["Zn2FPU0", "Zn2FPU0"])],
    "znver4": [(r"vpshufb .*%ymm.*%ymm", 1, 1, ["Zn4FPVShuf01"])],
}
# Loads and broadcasts of no mask.
EVEX_LOAD = r"v(movdq[au](8|16|32|64)|movup[sd]|movap[sd]|p?broadcast\w+) [^%]*\(.*\), %[xyz]mm\d+$"


def corrected_avx512(row: Row, line: str, cpu: str, flat: dict) -> Row:
    """LLVM's rows of AVX-512 that are wrong for both CPUs."""
    uops, latency, ports = row.uops, row.latency, row.ports
    if cpu == "icelake-server":
        if re.match(EVEX_LOAD, line):
            uops, ports = 1, []
        if line.startswith("vpmadd52"):
            latency = row.latency - 1
        if "%zmm" in line:  # no 512-bit operation goes to port 1
            closed = set(flat["ICXPort1"])
            ports = [tuple(port for port in group if port not in closed) or group for group in ports]
    if cpu == "znver4" and "%zmm" in line:  # a pipe takes one half after the other
        ports = [group for group in ports for _ in range(2)]
    return Row(uops, latency, ports, row.memory_ports)


def corrected(row: Row, line: str, cpu: str, flat: dict) -> Row:
    line = re.sub(r"\s+", " ", line)
    for pattern, uops, latency, ports in CORRECTIONS.get(cpu, ()):
        if re.match(pattern, line) and (line.startswith("mul") or not re.search(r"\)$", line)):
            if "(" in line:
                loads = CPUS[cpu].load_vector + ("ymm" in line and CPUS[cpu].wide_load)
                latency += loads if "mm" in line else CPUS[cpu].load
                uops += CPUS[cpu].fused_domain
            row = Row(uops, latency, [flat[name] for name in ports], row.memory_ports)
            break
    return corrected_avx512(row, line, cpu, flat)


LAST_PORT = 99  # beyond LLVM's own
BEFORE_AVX2 = [cpu for cpu, has in HAS.items() if "avx2" not in has]


def corrected_old(row: Row, line: str, cpu: str, flat: dict) -> Row:
    """LLVM's row in the model's form, for CPUs before AVX2. Nehalem gets its own memory ports, in place of Sandy
    Bridge's."""
    ports, memory_ports = row.ports, row.memory_ports
    if cpu == "btver2":  # a pipe and its unit are one port, except where the unit is busy for longer
        pipes = sum(set(group) <= set(flat["JFPU01"]) for group in ports)
        units = [group for group in ports if pipes and not set(group) <= set(flat["JFPU01"])]
        ports = units if len(units) > pipes else [group for group in ports if group not in units]
    # The model counts from the last use of a port.
    latency = row.latency - max((-(-ports.count(group) // len(group)) - 1 for group in ports), default=0)
    if cpu == "goldmont":  # a third pipe for simple operations
        ports = [(*group, LAST_PORT) if group == flat["SLM_IEC_RSV01"] else group for group in ports]
    if cpu in ("nehalem", "goldmont"):  # one port loads, one has the addresses of stores
        load, store = ((unit,) for unit in (flat["SBPort23"] if cpu == "nehalem" else (*flat["SLM_MEC_RSV"], LAST_PORT + 1)))
        stores = re.match(r"(push|call)", line) or re.search(r"\)$", line) and not re.match(r"(cmp|test|mul|imul|jmp|pop)", line)
        memory_ports = [load] * len(memory_ports)
        if memory_ports and stores:
            memory_ports[-1] = store
    return Row(row.uops, latency, ports, memory_ports)


def tables(lines: list[str], cpu: str) -> list[Row]:
    """LLVM's rows for these instructions, with each group of ports replaced by the ports that it uses."""
    command = [f"llvm-mca-{llvm()}", "-mtriple=x86_64-linux-gnu", f"-mcpu={cpu}", "--instruction-tables=full"]
    command += ["-mattr=+avx512f,+vaes,+vpclmulqdq,+bmi2,+adx", "-skip-unsupported-instructions=any"]
    report = run(command, input="\n".join(lines) + "\n")
    listing, _, rest = report.partition("Instruction Info:")
    units, members, sizes = {}, {}, {}
    for name, count, names in re.findall(r"^\[\d+\][ \t]+- (\S+):(\d+)[ \t]*(.*)$", listing, re.M):
        sizes[name] = int(count)
        members[name] = [one.strip() for one in names.split(",") if one.strip()]
    for name, inner in members.items():
        if not inner:
            units[name] = [len(sum(units.values(), [])) + i for i in range(sizes[name])]
    flat = {}
    for name, inner in members.items():
        flat[name] = tuple(dict.fromkeys(u for one in inner for u in units[one])) if inner else tuple(units[name])
    rows = []
    body = rest.partition("Instructions:\n")[2].partition("\n\n")[0]
    for line in body.splitlines():
        match = re.match(r"^\s*(\d+)\s+(\d+)\s+(?:[\d.]+|-)\s+(?:\*\s+)?(?:\*\s+)?(?:U\s+)?(\d+)\s+(.*)$", line)
        if not match:
            raise X86costError(f"cannot read llvm-mca's line: {line}")
        uses = {}
        first = match[4].split()[0]
        if any(first.split(",")[0].split("[")[0] == name for name in flat):
            for one in first.split(","):
                if re.match(r"^\d+\]$", one):  # the second half of [acquired,released]
                    continue
                name, _, count = one.partition("[")
                uses[name] = int(count.rstrip("]").split(",")[-1]) if count.rstrip("]").isdigit() else 1
        left, ports, memory_ports, seen = {}, [], [], {}
        for name in sorted(uses, key=lambda n: (len(set(flat[n])), n)):
            group = frozenset(flat[name])
            if len(group) >= 8 and not name.startswith("Zn"):  # PortAny
                continue
            if name.startswith("Zn") and name.endswith(("Int", "FP")) and len(group) >= 6:
                continue
            inside = sum(n for other, n in seen.items() if other <= group)
            extra = uses[name] - inside
            if extra > 0:
                seen[group] = seen.get(group, 0) + extra
                is_memory = re.search(MEMORY_PORT[cpu], name)
                for _ in range(min(extra, 40)):
                    (memory_ports if is_memory else ports).append(tuple(sorted(group)))
        uops, latency = int(match[1]), int(match[2])
        if cpu.startswith("znver") and (uops <= 1 or re.search(r" I?MULX?(32|64)", line)):
            # In LLVM's tables, adc, sbb, mov of a constant and mul keep a pipe for several cycles. Those rows
            # were measured in chains of flags. Here they keep it for one cycle.
            ports = [group for n, group in enumerate(ports) if group not in ports[:n]]
        row = corrected(Row(uops, latency, ports, memory_ports), lines[len(rows)], cpu, flat)
        rows.append(corrected_old(row, lines[len(rows)], cpu, flat) if cpu in BEFORE_AVX2 else row)
    if len(rows) != len(lines):
        raise X86costError(f"llvm-mca's {cpu} knows {len(rows)} of {len(lines)} distinct instructions")
    return rows


# The model ---------------------------------------------------------------------------------------


class Port:
    """The cycles in which a port is taken, and the issue times of the operations that wait for it."""

    __slots__ = ("next_free", "issues", "cycle", "count")

    def __init__(self):
        self.next_free = {}
        self.issues = []
        self.cycle = self.count = -1

    def first_free(self, cycle: int) -> int:
        table, start = self.next_free, cycle
        while cycle in table:
            cycle = table[cycle]
        while start in table:  # path compression
            table[start], start = cycle, table[start]
        return cycle

    def take(self, cycle: int) -> None:
        self.next_free[cycle] = cycle + 1
        bisect.insort(self.issues, cycle)

    def waiting(self, now: int) -> int:
        issues = self.issues
        if len(issues) > 512:
            del issues[: bisect.bisect_right(issues, now)]
        return len(issues) - bisect.bisect_right(issues, now)


def prepared(trace: Trace, rows: list[Row], cpu: Cpu) -> list[tuple]:
    """Properties that are the same each time an instruction runs."""
    static = []
    for op, row in zip(trace.operations, rows):
        nop = op.mnemonic.startswith(("nop", "endbr"))
        fused = 1 if nop else row.uops or 1
        if cpu.fused_domain:
            unlaminated = op.indexed and (op.three or op.store and op.load)
            if op.load and fused > 1 and not unlaminated:
                fused -= 1
            if op.store and fused > 1:
                fused -= 1
        base = cpu.load_vector + (cpu.wide_load and op.load == 32) if op.vector else cpu.load
        latency = row.latency
        if op.load:
            latency = max(0 if re.match(r"^(v?mov|v?lddqu|vbroadcast|vpbroadcast|pop|ret)", op.mnemonic) else 1,
                          latency - base)
            if re.match(r"^(v?mov[^hl]|v?lddqu|pop)", op.mnemonic):
                latency = 0
        if op.store:
            latency = 1
        if op.mnemonic in ("call", "ret", "jmp") or op.jump:
            latency = 1
        if op.mnemonic.startswith("rep ") and not op.jump:
            latency = 20
        if nop:
            latency = 0  # LLVM takes endbr64 for an instruction of 100 cycles
        eliminated = op.zeroing or op.move == "gpr" and cpu.gpr_moves or op.move == "vector" and cpu.vector_moves
        if eliminated:
            latency = 0
        elif op.move:
            latency = max(latency, 1)
        port_list = [] if eliminated or nop else row.ports
        if op.move and not eliminated and not port_list:
            port_list = next((r.ports for o, r in zip(trace.operations, rows)
                              if r.ports and o.vector == op.vector and o.mnemonic in ("add", "vpxor")), [])
        memory = [] if eliminated or nop else row.memory_ports
        forward = cpu.forward_vector if op.vector else cpu.forward
        static.append((op, fused, base, latency, port_list, memory, forward))
    return static


def simulate(trace: Trace, rows: list[Row], cpu: Cpu, iterations: int, bind: bool = True) -> list[int]:
    """The cycles at which each of a number of equal calls retires."""
    ports = {}
    ready = {}
    written = {}  # by 4 bytes of memory: (store number, when its data is there, address, size, commit)
    store_commits, retired, queue = [], [], []
    fetch = dispatch = retire = commit = 0
    fetched = fetched_bytes = renamed = retired_now = uses = 0
    ends = []
    static = prepared(trace, rows, cpu)
    order, taken, accesses = trace.order, trace.taken, trace.accesses
    count = len(order)
    for iteration in range(iterations):
        skip_jump = False
        for position in range(count):
            op, fused, base, latency, port_list, memory_list, forward = static[order[position]]
            if skip_jump:
                fused, port_list, skip_jump = 0, [], False
            if op.fuses and not op.store and position + 1 < count:
                if static[order[position + 1]][0].conditional:
                    skip_jump = True
            # fetch
            if (fetched + fused > cpu.fetch or fetched_bytes + op.size > cpu.fetch_bytes) and fetched:
                fetch, fetched, fetched_bytes = fetch + 1, 0, 0
            fetched, fetched_bytes = fetched + fused, fetched_bytes + op.size
            # rename: in order, up to the width of a cycle, while there are entries
            at = max(dispatch, fetch)
            if len(retired) >= cpu.reorder:
                at = max(at, retired[-cpu.reorder])
            if op.store and len(store_commits) >= cpu.stores:
                at = max(at, store_commits[-cpu.stores])
            if fused and (port_list or memory_list):
                if len(queue) >= cpu.queue:
                    drop = bisect.bisect_right(queue, at)
                    if len(queue) - drop >= cpu.queue:
                        at = max(at, queue[len(queue) - cpu.queue])
                        drop = bisect.bisect_right(queue, at)
                    del queue[:drop]
            if at > dispatch:
                dispatch, renamed = at, 0
            elif renamed + fused > cpu.width and renamed:
                dispatch, renamed = dispatch + 1, 0
            renamed += fused
            while renamed > cpu.width:
                dispatch, renamed = dispatch + 1, renamed - cpu.width
            if fetch < dispatch - 12:  # the queue between fetch and rename is full
                fetch, fetched, fetched_bytes = dispatch - 12, 0, 0
            if taken[position]:
                fetch, fetched, fetched_bytes = fetch + 1, 0, 0
            now = dispatch
            load, store = accesses[position]
            # operands
            address_ready = now + 1
            for register in op.addresses:
                when = ready.get(register, 0)
                if when > address_ready:
                    address_ready = when
            start = now + 1
            for register in op.reads:
                when = ready.get(register, 0)
                if when > start:
                    start = when
            last_issue = 0
            memory_issue = address_ready
            for group in memory_list:
                uses += 1
                issue, port = choose(ports, group, address_ready, now, bind, uses)
                port.take(issue)
                memory_issue = max(memory_issue, issue)
            if memory_list:
                last_issue = memory_issue
            if load is not None:
                loaded = memory_issue + base
                size = op.load
                found, covered = None, True
                for piece in range(load >> 2, (load + size - 1 >> 2) + 1):
                    entry = written.get(piece)
                    if entry is None or entry[4] <= memory_issue:
                        continue
                    if found is None or entry[0] > found[0]:
                        found = entry
                if found is not None:
                    covered = found[2] <= load and load + size <= found[2] + found[3]
                    if covered:
                        loaded = max(loaded, found[1] + forward)
                    else:
                        loaded = max(loaded, found[4] + cpu.blocked)
                if loaded > start:
                    start = loaded
            finish = start
            for group in port_list:
                uses += 1
                issue, port = choose(ports, group, start, now, bind, uses)
                port.take(issue)
                if issue > last_issue:
                    last_issue = issue
                if issue > finish:
                    finish = issue
            done = finish + latency
            for register in op.writes:
                ready[register] = done
            if last_issue:
                bisect.insort(queue, last_issue)
            # retirement, in order, twice as many a cycle as are renamed
            complete = max(done, memory_issue) + 1
            if complete > retire:
                retire, retired_now = complete, 0
            retired_now += fused
            if retired_now > 8:
                retire, retired_now = retire + 1, retired_now - 8
            for _ in range(fused):
                retired.append(retire)
            if store is not None:
                commit = max(commit + (1 if op.store <= cpu.wide_store else 2), retire + 1)
                store_commits.append(commit)
                entry = (len(store_commits), finish + (op.load > 0), store, op.store, commit)
                for piece in range(store >> 2, (store + op.store - 1 >> 2) + 1):
                    written[piece] = entry
        ends.append(retire)
        del retired[: -cpu.reorder - 8]
    return ends


def choose(ports: dict, group: tuple, earliest: int, now: int, bind: bool, uses: int):
    """The port for one use.

    An operation is bound when renamed, to the port for which the least waited at the start of that cycle
    (bind). The alternative is the first free port, which no CPU can know.
    """
    best = None
    turn = uses % len(group)  # ties go round
    for number in group[turn:] + group[:turn]:
        port = ports.get(number)
        if port is None:
            port = ports[number] = Port()
        if bind:
            if port.cycle != now:
                port.cycle, port.count = now, port.waiting(now)
            key = port.count
        else:
            key = port.first_free(earliest)
        if best is None or key < best[0]:
            best = (key, port)
    return best[1].first_free(earliest), best[1]


def model_cycles(trace: Trace, lines: list[str], name: str, bind: bool = True) -> int:
    rows = tables(lines, name)
    if len(trace.order) > 50000:  # the first call will do
        return simulate(trace, rows, CPUS[name], 1, bind)[0]
    iterations = 5 if len(trace.order) < 20000 else 2
    ends = simulate(trace, rows, CPUS[name], iterations, bind)
    return round((ends[-1] - ends[0]) / (iterations - 1))


def mca_cycles(trace: Trace, lines: list[str], name: str) -> int:
    """The cycles that llvm-mca adds for a further call."""
    text = "".join(f"{lines[index]}\n" for index in trace.order)
    cycles = []
    for iterations in (1, 2):
        command = [f"llvm-mca-{llvm()}", "-mtriple=x86_64-linux-gnu", f"-mcpu={name}"]
        command += [f"-iterations={iterations}", "-call-latency=1", "-skip-unsupported-instructions=any"]
        command += ["-mattr=+avx512f,+vaes,+vpclmulqdq,+bmi2,+adx", "-all-views=0", "-summary-view=1"]
        report = run(command, input=text)
        cycles.append(int(re.search(r"^Total Cycles:\s+(\d+)", report, re.M)[1]))
    return cycles[1] - cycles[0]


def main() -> int:
    arguments = sys.argv[1:]
    parser = argparse.ArgumentParser(epilog="The program to run, and its arguments, follow --.")
    parser.add_argument("--start", default="mark_start", help="function at which the region starts")
    parser.add_argument("--end", default="mark_end", help="function at which it ends")
    parser.add_argument("--round", type=int, default=ROUND, help="which pass to record, from 0")
    parser.add_argument("--cpus", default=",".join(CPUS), help="the CPUs to model")
    parser.add_argument("--bytes", type=int, help="message length, for cycles per byte")
    parser.add_argument("--mca", action="store_true", help="run llvm-mca too")
    parser.add_argument("--dump", action="store_true", help="print the distinct instructions as they are understood")
    parser.add_argument("--json", action="store_true")
    split = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:split])
    options.command = arguments[split + 1 :]
    if not options.command:
        parser.error(parser.epilog)
    try:
        trace = read_trace(record(options))
        lines = assembly(trace.code)
        names = options.cpus.split(",")
        for name in names:
            if name not in CPUS:
                raise X86costError(f"no model of {name}; there are {', '.join(CPUS)}")
        if options.dump:
            rows = tables(lines, names[0])
            for line, op, row in zip(lines, trace.operations, rows):
                print(f"{line:60} r{op.reads} a{op.addresses} w{op.writes} L{op.load} S{op.store} "
                      f"{op.move}{'Z' if op.zeroing else ''} {row}")
            return 0
        needs = features(lines, trace.code)
        result = {
            "llvm": llvm_version(),
            "needs": needs,
            "instructions": len(trace.order),
            "loads": sum(load is not None for load, _ in trace.accesses),
            "stores": sum(store is not None for _, store in trace.accesses),
            "modelled_cycles": {name: model_cycles(trace, lines, name) for name in names if not set(needs) - HAS[name]},
        }
        if options.mca:
            result["llvm_mca_cycles"] = {name: mca_cycles(trace, lines, name) for name in result["modelled_cycles"]}
    except (X86costError, OSError) as error:
        print(f"x86cost: {error}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(result))
        return 0
    print(f"{'LLVM':16} {result['llvm']}")
    print(f"{'needs':16} {' '.join(result['needs']) or 'nothing beyond SSE4.2'}")
    for key in ("instructions", "loads", "stores"):
        print(f"{key:16}{result[key]:10}")
    for name in names:
        if name not in result["modelled_cycles"]:
            print(f"{name:16}      does not run this code")
            continue
        cycles = result["modelled_cycles"][name]
        line = f"{name:16}{cycles:10} cycles"
        line += f"{cycles / options.bytes:10.3f} cycles/byte" if options.bytes else ""
        line += f"   llvm-mca {result['llvm_mca_cycles'][name]}" if options.mca else ""
        print(line + "   modeled")
    return 0


if __name__ == "__main__":
    sys.exit(main())
