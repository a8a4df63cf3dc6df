"""Tests the scoreboard's tables of 32-bit instructions. Each line is one check; the last ones show that they can
fail."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import armcost
import mips

# Opcode, instruction, registers read, registers written (Arm Architecture Reference Manual, ARMv7-A).
REGISTERS = (
    (0xE0AC0792, "umlal r0, r12, r2, r7", "ip r0 r2 r7", "ip r0"),
    (0xE04C0792, "umaal r0, r12, r2, r7", "ip r0 r2 r7", "ip r0"),
    (0xE0203291, "mla r0, r1, r2, r3", "r1 r2 r3", "r0"),
    (0xE0922003, "adds r2, r2, r3", "r2 r3", "cpsr r2"),
    (0xE2B33000, "adcs r3, r3, #0", "cpsr r3", "cpsr r3"),
    (0xE2A55000, "adc r5, r5, #0", "cpsr r5", "r5"),
    (0xE0822003, "add r2, r2, r3", "r2 r3", "r2"),
    (0xE1510002, "cmp r1, r2", "r1 r2", "cpsr"),
    (0x10832004, "addne r2, r3, r4", "cpsr r2 r3 r4", "r2"),
    (0x1A000001, "bne #4", "cpsr pc", "pc"),
    (0xE4910004, "ldr r0, [r1], #4", "r1", "r0 r1"),
    (0xE14181D0, "ldrd r8, r9, [r1, #-16]", "r1", "r8 sb"),
    (0xE891001C, "ldm r1, {r2, r3, r4}", "r1", "r2 r3 r4"),
    (0xE921000C, "stmdb r1!, {r2, r3}", "r1 r2 r3", "r1"),
    (0xE92D0030, "push {r4, r5}", "r4 r5 sp", "sp"),
    (0xF4270A0C, "vld1.8 {d0, d1}, [r7], r12", "ip r7", "d0 d1 r7"),
    (0xF4A7088D, "vld1.32 {d0[1]}, [r7]!", "d0 r7", "d0 r7"),
    (0xF4090A0B, "vst1.8 {d0, d1}, [r9], r11", "d0 d1 fp sb", "sb"),
    (0xEC910B04, "vldmia r1, {d0, d1}", "r1", "d0 d1"),
    (0xECA10B04, "vstmia r1!, {d0, d1}", "d0 d1 r1", "r1"),
    (0xED2D8B04, "vpush {d8, d9}", "d8 d9 sp", "sp"),
    (0xED910B04, "vldr d0, [r1, #16]", "r1", "d0"),
    (0xF3B20001, "vswp d0, d1", "d0 d1", "d0 d1"),
    (0xF3BA00C2, "vtrn.32 q0, q1", "d0 d1 d2 d3", "d0 d1 d2 d3"),
    (0xF3BD0452, "vsri.32 q0, q1, #3", "d0 d1 d2 d3", "d0 d1"),
    (0xF3A30264, "vmlal.u32 q0, d3, d4[1]", "d0 d1 d3 d4", "d0 d1"),
    (0xEE201B10, "vmov.32 d0[1], r1", "d0 r1", "d0"),
)

UMULL, UMLAL, UMAAL, ADDS, ADCS = 0xE08C0792, 0xE0AC0792, 0xE04C0792, 0xE0922003, 0xE2B33000
VLDMIA, VADD = 0xEC910B04, 0xF2220842  # q0 from memory; vadd.i32 q0, q1, q1
USE_Q0 = 0xF2202840  # vadd.i32 q1, q0, q0

# Instructions in order, core, cycles. GCC's models of both cores forward a product to the next sum of products.
CYCLES = (
    ("a sum of products is forwarded", (UMULL, UMLAL, UMLAL), "cortex-a53", 3),
    ("a sum of products is forwarded", (UMULL, UMLAL, UMLAL), "cortex-a7", 5),
    ("the addends of umaal are waited for", (UMULL, UMAAL), "cortex-a53", 4),
    ("a carry is waited for", (ADDS, ADCS), "cortex-a53", 2),
    ("a load of several vectors is waited for", (VLDMIA, USE_Q0), "cortex-a53", 5),
)


# MIPS: a0 is an address, t0 a result, t1 takes it.
LW, LWL, LWR = 0x8C880000, 0x88880003, 0x98880000
ADDU, XOR, MOVE_A0 = 0x01084821, 0x01084826, 0x24840004  # addu t1, t0, t0; xor; addiu a0, a0, 4
MULTU, MADDU, MFLO, MTLO = 0x01490019, 0x71490001, 0x00004012, 0x01400013  # of t2 and t1, to and from t0 and t2
MIPS_CYCLES = (
    ("a load is waited for", (LW, ADDU), "mips-24k", 3),
    ("the rest of a word waits for its first half", (LWR, LWL), "mips-24k", 3),
    ("an address is needed earlier", (MOVE_A0, LW), "mips-24k", 3),
    ("a product is summed up at once", (MULTU, MADDU, MADDU), "mips-24k", 3),
    ("what HI or LO had is waited for", (MULTU, MFLO, ADDU), "mips-24k", 7),
    ("a sum of products waits for mtlo", (MTLO, MADDU), "mips-24k", 3),
    ("the two pipes work side by side", (ADDU, LW), "mips-74k", 2),
    ("an addition takes longer than xor", (0x01094021, XOR), "mips-74k", 4),
    ("what has its operands overtakes", (LW, ADDU, 0x014A5021), "mips-74k", 5),
    ("two additions issue together", (ADDU, 0x014A5021), "octeon", 1),
    ("two accesses do not", (LW, 0x8C890000), "octeon", 2),
)


def modelled(opcodes: tuple[int, ...], core: str) -> int:
    operations = [armcost.decode(armcost.ARM, opcode) for opcode in opcodes]
    return armcost.in_order_cycles(operations, armcost.IN_ORDER_CORES[core])


def wrong_registers(show: bool = True) -> int:
    wrong = 0
    for opcode, text, reads, writes in REGISTERS:
        operation = armcost.decode(armcost.ARM, opcode)
        if (operation.reads, operation.writes) != (set(reads.split()), set(writes.split())):
            wrong += 1
            if show:
                print(f"FAIL {text}: reads {set(operation.reads)}, writes {set(operation.writes)}")
    return wrong


# The output of llvm-mc, and whether the stored cycles of a trace are also used for one whose last number differs.
DISTANCES = (
    ("bl\t#-1234", True),
    ("beq\t#16", True),
    ("b.ne\t#-48", True),
    ("cbz\tx3, #12", True),
    ("tbnz\tw3, #31, #-20", True),
    ("adrp\tx0, #4096", True),
    ("bic\tr0, r1, #63", False),
    ("bfi\tw0, w1, #3, #4", False),
    ("add\tx1, x1, #16", False),
    ("ldr\tr0, [r1, #16]", False),
)


def table_of(output: Path, *options: str) -> subprocess.CompletedProcess:
    """Makes a table of two rows with a missing program."""
    table = [sys.executable, str(Path(__file__).with_name("table.py")), "--programs", str(output.parent)]
    table += ["--cache", str(output.parent), "--runs", "arm,cortex-a7,chacha,neon", "--sizes", "64", *options, str(output)]
    return subprocess.run(table, capture_output=True, text=True)


def failing_row_is_reported() -> bool:
    """Whether a failing row is named, fails the command and leaves the table unchanged."""
    with tempfile.TemporaryDirectory() as directory:
        output = Path(directory, "table.txt")
        output.write_text("as it was")
        done = table_of(output)
        named = "FAIL chacha at level neon, seal, 64 bytes" in done.stderr
        return done.returncode == 1 and named and output.read_text() == "as it was"


def other_rows_are_kept() -> bool:
    """Whether rows that are not asked for stay, and those that are do not."""
    title = "chacha at level neon, {}, 64 bytes, GOARCH=arm, CPU cortex-a7\ninstructions {}\n"
    rows = [title.format("seal", 1), title.format("open", 2)]
    with tempfile.TemporaryDirectory() as directory:
        output = Path(directory, "table.txt")
        output.write_text("Written by hand.\n\n" + "\n".join(rows) + "\nOther people's:\n")
        kept = table_of(output, "--only", "at level none").returncode == 0 and "\n".join(rows) in output.read_text()
        before = output.read_text()
        done = table_of(output, "--only", ", open,")
        named = "FAIL" in done.stderr and ", open," in done.stderr and ", seal," not in done.stderr
        return kept and done.returncode == 1 and named and output.read_text() == before


ROOT = Path(__file__).parents[2]
INCLUDED_BY = {"aes_mix_neon": "aes_neon", "aes_sbox_neon": "aes_neon"}
ASSEMBLERS = {"arm": ("arm-linux-gnueabihf-gcc", armcost.ARM), "aarch64": ("aarch64-linux-gnu-gcc", armcost.ARM64)}


def macro_operations(kernel: Path, names: list[str], directory: str) -> dict[str, list[armcost.Operation]]:
    """The instructions of a kernel's macros, from the assembler's machine code."""
    assembler, target = ASSEMBLERS[kernel.parent.name]
    lines = kernel.read_text().splitlines()
    end = next(at for at, line in enumerate(lines) if line.strip().startswith("function "))
    text = "\n".join(line for line in lines[:end] if not line.strip().startswith("scratch_end"))
    labels = "".join(f".L{label}:\n" for label in ("set_rounds", "set_poly", "set_key", "pair_rounds", "pair_poly"))
    source, compiled, code = (Path(directory, f"macros.{suffix}") for suffix in ("S", "o", "bin"))
    body = "".join(f"macro_{name}:\n{name}\n" for name in names)
    source.write_text(f"{text}\n.text\n{labels}{body}macro_end:\n#endif\n")
    subprocess.run([assembler, "-c", "-I", kernel.parent, "-o", compiled, source], check=True)
    subprocess.run([assembler.replace("gcc", "objcopy"), "-O", "binary", "-j", ".text", compiled, code], check=True)
    symbols = subprocess.run([assembler.replace("gcc", "nm"), compiled], capture_output=True, text=True, check=True).stdout
    places = sorted((int(line.split()[0], 16), line.split()[2]) for line in symbols.splitlines() if "macro_" in line)
    machine = code.read_bytes()
    opcodes = [int.from_bytes(machine[at : at + 4], "little") for at in range(0, len(machine), 4)]
    decoded = {opcode: armcost.decode(target, opcode) for opcode in set(opcodes)}
    ends = [end for end, _ in places[1:]]
    return {
        name.removeprefix("macro_"): [decoded[opcode] for opcode in opcodes[start // 4 : end // 4]]
        for (start, name), end in zip(places, ends)
    }


def different_scoreboards() -> tuple[int, int]:
    """How many figures of tools/weave there are, for each macro and core, and how many are not this program's."""
    weave = ["go", "run", "./tools/weave", "cycles"]
    table = subprocess.run(weave, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    kernels: dict[str, list[list[str]]] = {}
    for words in map(str.split, table.splitlines()):
        if words[0].endswith(".weave"):
            rows = kernels.setdefault(words[0].removesuffix(".weave"), [])
        else:
            rows.append(words)
    figures = wrong = 0
    for kernel, rows in kernels.items():
        with tempfile.TemporaryDirectory() as directory:
            isa = "arm" if (ROOT / "asm" / "arm" / f"{kernel}.weave").exists() else "aarch64"
            source = ROOT / "asm" / isa / f"{INCLUDED_BY.get(kernel, kernel)}.S"
            macros = macro_operations(source, [name for name, *_ in rows], directory)
        for name, _, *cells in rows:
            times = 3 if name.startswith(("set_round", "pair_round", "group_seal", "group_open")) else 1
            for core, _, cycles in zip(cells[::3], cells[1::3], cells[2::3]):
                figures += 1
                ours = armcost.in_order_cycles(macros[name] * times, armcost.IN_ORDER_CORES[core]) / times
                if f"{ours:.1f}" != cycles:
                    print(f"FAIL {kernel}: {name} on {core}: {ours:.1f} cycles, {cycles} with tools/weave")
                    wrong += 1
    return figures, wrong


def main() -> int:
    failed = wrong_registers()
    figures = 0
    if all(shutil.which(assembler) for assembler, _ in ASSEMBLERS.values()) and shutil.which("go"):
        figures, wrong = different_scoreboards()
        failed += wrong
        if figures < 40:
            print(f"FAIL only {figures} figures of tools/weave were compared")
            failed += 1
    for line, same in DISTANCES:
        if (armcost.DISTANCE.sub(r"\1", line) == armcost.DISTANCE.sub(r"\1", line + "1")) != same:
            print(f"FAIL {line}: kept cycles {'are not' if same else 'are'} used where the last number differs")
            failed += 1
    if not failing_row_is_reported():
        print("FAIL a row that fails does not fail the table")
        failed += 1
    if not other_rows_are_kept():
        print("FAIL a table made in part does not keep its other rows")
        failed += 1
    for what, opcodes, core, cycles in CYCLES:
        if (got := modelled(opcodes, core)) != cycles:
            print(f"FAIL {what} on {core}: {got} cycles, expected {cycles}")
            failed += 1
    for what, opcodes, core, cycles in MIPS_CYCLES:
        if (got := mips.cycles(list(opcodes), mips.CORES[core])) != cycles:
            print(f"FAIL {what} on {core}: {got} cycles, expected {cycles}")
            failed += 1
    try:
        mips.decode(0x46000000)  # add.s
        print("FAIL an instruction without a model is taken for another")
        failed += 1
    except ValueError:
        pass
    # Planted: the registers that capstone alone reports.
    armcost.arm_registers = lambda _, reads, writes: (reads, writes)
    if wrong_registers(show=False) < 10:
        print("FAIL what capstone leaves out is not found")
        failed += 1
    passed = len(REGISTERS) + len(DISTANCES) + len(CYCLES) + len(MIPS_CYCLES) + 4 + figures - failed
    print(f"armcost: {passed} passed, {failed} failed, {0 if figures else 1} not run")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
