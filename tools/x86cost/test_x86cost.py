#!/usr/bin/env python3
"""Tests x86cost's tables of instructions and pipelines. Each line is one check; the last ones show that they can
fail.

The assembler gets the programs' text unchanged; registers and latencies are those of the vendors' manuals.
"""

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import table
import x86cost

# Instruction (Intel's order), its bytes, registers read, its addresses, registers written, bytes loaded, bytes
# stored.
REGISTERS = (
    ("add rax, rbx", "4801d8", "rax rbx", "", "rax flags", 0, 0),
    ("adc rax, [rsi+8]", "48134608", "rax flags", "rsi", "rax flags", 8, 0),
    ("add [rdi], rcx", "48010f", "rcx", "rdi", "flags", 8, 8),
    ("mov [rdi+rcx*8], rdx", "488914cf", "rdx", "rdi rcx", "", 0, 8),
    ("mov eax, ecx", "89c8", "rcx", "", "rax", 0, 0),
    ("lea rax, [rbx+rcx]", "488d040b", "rbx rcx", "", "rax", 0, 0),
    ("cmp rax, [rsi]", "483b06", "rax", "rsi", "flags", 8, 0),
    ("mul rbx", "48f7e3", "rax rbx", "", "rax rdx flags", 0, 0),
    ("mulx r8, r9, [rsi]", "c462b3f606", "rdx", "rsi", "r8 r9", 8, 0),
    ("rorx eax, ebx, 7", "c4e37bf0c307", "rbx", "", "rax", 0, 0),
    ("push rbx", "53", "rbx", "", "", 0, 8),
    ("pop rbx", "5b", "", "", "rbx", 8, 0),
    ("jne +0", "7500", "flags", "", "", 0, 0),
    ("xor eax, eax", "31c0", "", "", "rax flags", 0, 0),
    ("pxor xmm0, xmm0", "660fefc0", "", "", "v0", 0, 0),
    ("pxor xmm0, xmm1", "660fefc1", "v0 v1", "", "v0", 0, 0),
    ("pshufb xmm0, [rsi]", "660f380006", "v0", "rsi", "v0", 16, 0),
    ("pshufd xmm0, xmm1, 1", "660f70c101", "v1", "", "v0", 0, 0),
    ("aesenc xmm0, xmm1", "660f38dcc1", "v0 v1", "", "v0", 0, 0),
    ("movdqu [rdi], xmm3", "f30f7f1f", "v3", "rdi", "", 0, 16),
    ("vpaddd ymm0, ymm1, ymm2", "c5f5fec2", "v1 v2", "", "v0", 0, 0),
    ("vpxor ymm0, ymm1, [rsi]", "c5f5ef06", "v1", "rsi", "v0", 32, 0),
    ("vptest ymm0, ymm1", "c4e27d17c1", "v0 v1", "", "flags", 0, 0),
    ("vextracti128 xmm1, ymm0, 1", "c4e37d39c101", "v0", "", "v1", 0, 0),
    ("vpmadd52luq zmm0, zmm1, zmm2", "62f2f548b4c2", "v0 v1 v2", "", "v0", 0, 0),
    ("vpaddd zmm0{k1}, zmm1, zmm2", "62f17549fec2", "k1 v0 v1 v2", "", "v0", 0, 0),
    ("vpaddd zmm0{k1}{z}, zmm1, zmm2", "62f175c9fec2", "k1 v1 v2", "", "v0", 0, 0),
    ("kmovd k1, eax", "c5fb92c8", "rax", "", "k1", 0, 0),
)

# A toy CPU's rows: everything takes one cycle on one of two ports, loads go through a third.
TOY = x86cost.Cpu(4, 64, 32, 16, 5, 6, 12, 4, 5)
WORK, LOAD, STORE = ((0, 1),), ((2,),), ((3,),)
ROW = {
    "add": x86cost.Row(1, 1, list(WORK), []), "mov_load": x86cost.Row(1, 4, [], list(LOAD)),
    "mov_store": x86cost.Row(1, 1, [], list(STORE)), "imul": x86cost.Row(1, 3, [(0,)], []),
    "mov": x86cost.Row(1, 1, list(WORK), []), "jmp": x86cost.Row(1, 1, [(1,)], []),
    "xor": x86cost.Row(1, 1, list(WORK), []), "endbr64": x86cost.Row(2, 100, list(WORK), []),
}
ADD_A, ADD_B, ADD_C, ADD_D = "4801d8", "4801d9", "4801da", "4801de"  # add rax, rcx, rdx or rsi, rbx
IMUL, MOV_AB, MOV_BA = "480fafc3", "4889d8", "4889c3"  # imul rax, rbx; mov rax, rbx; mov rbx, rax
STORE_A, STORE_AL, LOAD_A = "488907", "8807", "488b07"  # mov [rdi], rax; mov [rdi], al; mov rax, [rdi]

# What, instructions with their rows and addresses (repeated 100 times in one call), cycles of one repetition.
CYCLES = (
    ("a chain of additions", ((ADD_A, "add", None),), 1),
    ("a chain of products", ((IMUL, "imul", None),), 3),
    ("two additions at a time", tuple((x, "add", None) for x in (ADD_A, ADD_B, ADD_C, ADD_D)), 2),
    ("moves of registers are free except for their place", ((MOV_AB, "mov", None), (MOV_BA, "mov", None)), 0.5),
    ("a store is forwarded to a load of it", ((STORE_A, "mov_store", 64), (LOAD_A, "mov_load", 64), (ADD_A, "add", None)), 6),
    ("endbr64 takes a place and nothing else", (("f30f1efa", "endbr64", None), (ADD_A, "add", None)), 1),
    ("a load elsewhere waits for none", ((STORE_A, "mov_store", 64), (LOAD_A, "mov_load", 128), (ADD_A, "add", None)), 1),
)
# A load of 8 bytes, one of which a store wrote, waits until the store has left, and longer.
BLOCKED = ((STORE_AL, "mov_store", 64), (LOAD_A, "mov_load", 64), (ADD_A, "add", None))

# Cycles of a chain by LLVM's tables with our corrections: published latencies of aesenc (uops.info, Agner Fog's tables).
LATENCIES = (
    ("aesenc xmm0, xmm1", "660f38dcc1", {"ivybridge": 7, "btver2": 3, "haswell": 7, "skylake": 4, "icelake-server": 3, "alderlake": 3, "znver2": 4}),
    ("vpaddd ymm0, ymm0, ymm2", "c5fdfec2", {"haswell": 1, "skylake": 1, "znver2": 1, "znver3": 1, "znver4": 1}),
    ("imul rax, rbx", "480fafc3", {"haswell": 3, "skylake": 3, "alderlake": 3, "znver3": 3}),
    ("vpmadd52luq zmm0, zmm1, zmm2", "62f2f548b4c2", {"icelake-server": 4, "znver4": 4}),
    ("mul rbx", "48f7e3", {"goldmont": 5, "btver2": 6}),
    ("adc rax, rbx", "4811d8", {"goldmont": 2}),
    ("pshufb xmm0, xmm1", "660f3800c1", {"goldmont": 1}),
    ("ror eax, 7", "c1c807", {"nehalem": 1, "ivybridge": 1, "btver2": 1}),
)
# The cycles per instruction of many independent ones. Ice Lake has two ports of 512 bits, and Zen 4 takes each for
# two cycles. Nehalem loads once a cycle. Jaguar has two pipes, and pshufb takes both units for two cycles.
THROUGHPUTS = (
    ("vpaddd zmm0, zmm1, zmm2", "62f17548fec2", {"icelake-server": 1 / 2, "znver4": 1 / 2}),
    ("vpaddd ymm0, ymm1, ymm2", "c5f5fec2", {"icelake-server": 1 / 3, "znver4": 1 / 4}),
    ("vprold zmm0, zmm1, 7", "62f17d4872c907", {"icelake-server": 1, "znver4": 1}),
    ("vaesenc zmm0, zmm1, zmm2", "62f27548dcc2", {"icelake-server": 1, "znver4": 1}),
    ("vaesenc ymm0, ymm1, ymm2", "c4e275dcc2", {"icelake-server": 1 / 2, "znver4": 1 / 2}),
    ("vpclmulqdq xmm0, xmm1, xmm2, 0", "c4e37144c200", {"ivybridge": 8, "btver2": 1}),
    ("vpshufb xmm0, xmm1, xmm2", "c4e27100c2", {"ivybridge": 1 / 2, "btver2": 2}),
    ("mov rax, rbx", "4889d8", {"goldmont": 1 / 3}),
    ("mov [rsi], rax", "488906", {"goldmont": 1, "nehalem": 1}),
    ("vpaddd xmm0, xmm1, xmm2", "c5f1fec2", {"ivybridge": 1 / 2, "btver2": 1 / 2}),
    ("movdqu xmm0, [rsi]", "f30f6f06", {"nehalem": 1, "ivybridge": 1 / 2, "btver2": 1}),
)

PROGRAM = """
int printf(const char *, ...);
__attribute__((noinline)) void mark_start(void) { __asm__ volatile(""); }
__attribute__((noinline)) void mark_end(void) { __asm__ volatile(""); }
int main(void)
{
    for (int i = 0; i < 8; i++) {
        mark_start();
        __asm__ volatile("mov $10, %%ecx\\n1:\\tadd %%rcx, %%rax\\n\\tdec %%ecx\\n\\tjnz 1b\\n\\tSTATEMENT" ::: "rax", "rcx", "memory", "r11");
        mark_end();
    }
    return 0;
}
"""

# The region waits for a signal in the first runs, as many as the second argument says; the first names a file that counts.
WAITS = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) void mark_start(void) { __asm__ volatile(""); }
__attribute__((noinline)) void mark_end(void) { __asm__ volatile(""); }
int main(int count, char **arguments)
{
    FILE *said = fopen(arguments[1], "a");
    fputc('.', said);
    int waits = ftell(said) <= atoi(arguments[2]);
    fclose(said);
    for (int i = 0; i < 8; i++) {
        mark_start();
        if (waits && i == 6)
            pause();
        mark_end();
    }
    return count == 0;
}
"""

NEEDS = {  # instruction: the extensions it needs beyond SSE4.2
    "660f3800c1": "", "660f38dcc1": "aes", "660f3a44c100": "pclmulqdq", "c5f1fec2": "avx", "c4e271dcc2": "aes avx",
    "480f38f006": "movbe", "c4e2f0f2c2": "bmi1", "c5f5fec2": "avx avx2", "c4e37bf0c307": "bmi2",
}

failed = passed = not_run = 0


def check(what: str, good: bool, detail: object = "") -> None:
    global failed, passed
    passed, failed = passed + good, failed + (not good)
    if not good:
        print(f"FAIL {what} {detail}")


def wrong_registers(decoder: x86cost.Decoder) -> list[str]:
    wrong = []
    for text, code, reads, addresses, writes, load, store in REGISTERS:
        op = decoder.decode(bytes.fromhex(code).ljust(16, b"\x90"))
        got = (set(op.reads), set(op.addresses), set(op.writes), op.load, op.store)
        if got != (set(reads.split()), set(addresses.split()), set(writes.split()), load, store):
            wrong.append(f"{text}: {got}")
    return wrong


def toy_cycles(decoder: x86cost.Decoder, body: tuple, cpu: x86cost.Cpu = TOY) -> float:
    """Of one repetition of a body, in calls of 100."""
    codes = [bytes.fromhex(code) for code, _, _ in body]
    operations = [decoder.decode(code.ljust(16, b"\x90")) for code in codes]
    accesses = [(at if op.load else None, at if op.store else None) for op, (_, _, at) in zip(operations, body)]
    order = list(range(len(body))) * 100
    trace = x86cost.Trace(codes, order, [False] * len(order), accesses * 100, operations)
    ends = x86cost.simulate(trace, [ROW[row] for _, row, _ in body], cpu, 3)
    return (ends[2] - ends[1]) / 100


def check_pipeline(decoder: x86cost.Decoder) -> None:
    for what, body, cycles in CYCLES:
        got = toy_cycles(decoder, body)
        check(what, abs(got - cycles) <= 0.05 * cycles, f"{got} cycles, expected {cycles}")
    got = toy_cycles(decoder, BLOCKED)
    check("a load that no store covers waits", got > TOY.blocked, got)
    narrow = dataclasses.replace(TOY, fetch_bytes=6)
    got = toy_cycles(decoder, tuple((x, "mov", None) for x in (MOV_AB, MOV_BA)), narrow)
    check("two instructions of 3 bytes are fetched from 6 bytes a cycle", got == 1, got)
    fetched = toy_cycles(decoder, CYCLES[2][1], dataclasses.replace(narrow, fetch_bytes=3))
    check("four are not from 3 bytes a cycle", fetched == 4, fetched)


def error_of(call) -> str:
    try:
        call()
    except x86cost.X86costError as error:
        return str(error)
    return ""


def built(directory: str, name: str, statement: str = "nop", *flags: str) -> str:
    source = Path(directory, f"{name}.c")
    source.write_text(PROGRAM.replace("STATEMENT", statement))
    x86cost.run(["cc", "-O1", *flags, "-o", str(source.with_suffix("")), str(source)])
    return str(source.with_suffix(""))


def options(program: str, start: str = "mark_start", turn: int = 6) -> argparse.Namespace:
    return argparse.Namespace(command=[program], start=start, end="mark_end", round=turn)


def check_traces() -> None:
    with tempfile.TemporaryDirectory() as directory:
        plain = built(directory, "plain", "nop", "-no-pie")
        trace = x86cost.read_trace(x86cost.record(options(plain)))
        adds = sum(trace.operations[i].mnemonic == "add" and "rcx" in trace.operations[i].text for i in trace.order)
        check("10 additions are recorded", adds == 10, adds)
        check("9 branches are taken", sum(t and trace.operations[i].mnemonic == "jne"
                                          for i, t in zip(trace.order, trace.taken)) == 9)
        pie = built(directory, "pie", "nop", "-pie", "-fPIE")
        check("a program that moves is refused", "fixed address" in error_of(lambda: x86cost.record(options(pie))))
        check("a mark that is missing is named", "no function nowhere" in error_of(
            lambda: x86cost.record(options(plain, "nowhere"))))
        check("a program that ends too early is found", "before the region ran 100 times" in error_of(
            lambda: x86cost.record(options(plain, turn=99))))
        # getpid
        system = built(directory, "system", "mov $39, %%eax\\n\\tsyscall", "-no-pie")
        check("a system call is refused", "system call" in error_of(
            lambda: x86cost.read_trace(x86cost.record(options(system)))))
        check_patience(directory)
        check("cycles are those of the CPUs that run the code", check_needs(plain, directory))
        for instruction, needs in NEEDS.items():
            line = x86cost.assembly([bytes.fromhex(instruction)])
            check(f"{line[0]} needs {needs}", x86cost.features(line, [bytes.fromhex(instruction)]) == needs.split())


def check_patience(directory: str) -> None:
    """A region that waits, as Go's does where the scheduler asked for its thread, is left at once, and tried again."""
    source, said = Path(directory, "waits.c"), Path(directory, "said")
    source.write_text(WAITS)
    x86cost.run(["cc", "-O1", "-no-pie", "-o", str(source.with_suffix("")), str(source)])
    waits = options(str(source.with_suffix("")))
    waits.command += [str(said), "2"]
    check("a region that waits twice is recorded the third time", not error_of(lambda: x86cost.record(waits)))
    check("the program ran three times", said.read_text() == "...", said.read_text())
    waits.command[2] = "1000"
    error = error_of(lambda: x86cost.record(waits))
    check("one that always waits is an error", "a system call inside the region" in error, error)


def check_needs(program: str, directory: str) -> bool:
    new = built(directory, "new", "vaesenc %%ymm0, %%ymm1, %%ymm2", "-no-pie")
    cpus = ("haswell", "znver3")
    old_cycles, new_cycles = (
        table.cycles(x86cost.read_trace(x86cost.record(options(p))), cpus, Path(directory, "kept"))["cycles"]
        for p in (program, new))
    return set(old_cycles) == set(cpus) and set(new_cycles) == {"znver3"}


def check_latencies(decoder: x86cost.Decoder) -> None:
    for text, code, cpus in LATENCIES:
        one = bytes.fromhex(code)
        trace = x86cost.Trace([one], [0] * 200, [False] * 200, [(None, None)] * 200, [decoder.decode(one.ljust(16, b"\x90"))])
        for cpu, latency in cpus.items():
            got = x86cost.model_cycles(trace, x86cost.assembly([one]), cpu) / 200
            check(f"{text} on {cpu}", abs(got - latency) < 0.05, f"{got} cycles, expected {latency}")


def wrong_throughputs(decoder: x86cost.Decoder) -> list[str]:
    wrong = []
    for text, code, cpus in THROUGHPUTS:
        one = bytes.fromhex(code)
        trace = x86cost.Trace([one], [0] * 400, [False] * 400, [(None, None)] * 400, [decoder.decode(one.ljust(16, b"\x90"))])
        for cpu, cycles in cpus.items():
            got = x86cost.model_cycles(trace, x86cost.assembly([one]), cpu) / 400
            if abs(got - cycles) > 0.05 * cycles:
                wrong.append(f"{text} on {cpu}: {got} cycles, expected {cycles}")
    return wrong


def check_loads() -> None:
    """A load of AVX-512 needs no port of vectors on Ice Lake, except with a mask."""
    lines = ["vmovdqu64\t(%rsi), %zmm1", "vbroadcasti32x4\t(%rsi), %zmm1", "vpbroadcastd\t4(%rsi), %zmm1",
             "vmovdqu8\t(%rsi), %zmm1 {%k1} {z}", "vpaddd\t(%rsi), %zmm1, %zmm2"]
    ports = [len(row.ports) for row in x86cost.tables(lines, "icelake-server")]
    check("loads on Ice Lake", ports == [0, 0, 0, 1, 1], ports)


def failing_row_is_reported() -> bool:
    """Whether a failing row is named, fails the command and leaves the table unchanged."""
    with tempfile.TemporaryDirectory() as directory:
        output = Path(directory, "table.md")
        output.write_text("as it was")
        program = Path(directory, "bench")
        program.write_text('#!/bin/sh\n[ "$3" = --list ] && echo nobody\n')
        program.chmod(0o755)
        command = [sys.executable, str(Path(__file__).with_name("table.py")), "--c-program", str(program)]
        command += ["--go-program", str(program), "--languages", "C", "--cache", directory, "--sizes", "64", str(output)]
        done = subprocess.run(command, capture_output=True, text=True)
        named = "FAIL C, ChaCha20-Poly1305, nobody (aesni), seal 64 bytes" in done.stderr
        return done.returncode == 1 and named and output.read_text() == "as it was"


def check_table() -> None:
    cells = {"a": 300, "b": 200, "sealane avx2": 100, "sealane ssse3": 90}
    check("the best peer is compared with the best level", table.Figures.ratio(cells) == (2.0, "b", "sealane avx2"))
    check("a level that is named is compared", table.Figures.ratio(cells, "sealane ssse3") == (200 / 90, "b", "sealane ssse3"))
    figures = table.Figures([])
    chacha, gcm = ("Go", "ChaCha20-Poly1305", "seal", 64), ("C", "AES-128-GCM", "seal", 64)
    figures.at(*chacha, "x").update({"peer": 1, "sealane avx512": 1, "sealane avx512mix": 2})
    figures.at(*chacha, "y").update({"sealane avx2": 1, "sealane ssse3": 1})
    figures.at(*gcm, "x").update({"sealane a": 600, "sealane b": 400})
    taken = [figures.level(*k[:2], c) for k, c in ((chacha, "x"), (chacha, "y"), (gcm, "x"))]
    check("the level is the one that a first key takes", taken == ["sealane avx512mix", "sealane avx2", "sealane a"], taken)
    figures.at(*chacha, "znver3").update({"sealane avx2": 500, "peer": 900})
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "measured.json")
        cell = {"op": "seal", "bytes": 64, "ad": 0, "keys": 1, "batch": 0, "ns": {"sealane avx2": 200, "peer": 300, "stranger": 1}}
        tables = {"Go": {"clock_ghz": 2, "cells": [cell, cell | {"ad": 13, "ns": {"sealane avx2": 1}}]}}
        machine = {"cpu": "AMD EPYC (family 25, model 1)"}
        path.write_text(json.dumps({"machine": machine, "algorithm": "ChaCha20-Poly1305", "tables": tables}))
        unknown = Path(directory, "unknown.json")
        unknown.write_text(json.dumps({"machine": {"cpu": "AMD EPYC (family 26, model 2)"}}))
        measured = table.references([path, unknown], figures)
        earlier = Path(directory, "earlier.json")
        kept = {"algorithm": "AES-128-GCM", "language": "C", "op": "seal", "cpu": "x", "bytes": 64}
        modelled = {"peer": 9, "sealane a": 1, "away*": 7, "sealane c": 3}
        earlier.write_text(json.dumps({"llvm": x86cost.llvm_version(), "cells": [kept | {"modelled": modelled}]}))
        refused = error_of(lambda: figures.add_rest(earlier))
        figures.add_rest(earlier, mix=True)
    check("rows of sealane's own of an unknown commit are refused, by name", "C, AES-128-GCM, sealane c" in refused, refused)
    check("what is kept is said", "(of a commit that it does not name): C, AES-128-GCM, peer; C, AES-128-GCM, sealane c."
          in table.kept(figures), table.kept(figures))
    rest = figures.at("C", "AES-128-GCM", "seal", 64, "x")
    check("figures that were not modeled again come from an earlier table, in their place",
          list(rest.items()) == [("peer", 9), ("sealane a", 600), ("sealane c", 3), ("sealane b", 400)], rest)
    check("modeled over measured", [(r.model, r.errors) for r in measured] ==
          [("znver3", {(*chacha, "sealane avx2"): 1.25, (*chacha, "peer"): 1.5})], measured)
    again = [*measured, table.Reference("twice as wrong", "y", {(*chacha, "sealane avx2"): 1, (*chacha, "peer"): 4 * 1.5 / 1.25})]
    factors = [table.correction(r, chacha, "sealane avx2", "peer") for r in (measured, again)]
    check("a ratio is corrected by the mean of all CPUs", [round(f, 6) for f in factors] == [round(1.25 / 1.5, 6), round(1.25 / 3, 6)], factors)
    check("peers in C run other code", table.correction(measured, ("C", *chacha[1:]), "sealane avx2", "peer") is None)
    check("without a measurement it is not", table.correction(measured, chacha, "sealane avx2", "stranger") is None)
    check("a row that fails fails the table", failing_row_is_reported())


def check_llvm() -> None:
    def with_llvm(version: str) -> str:
        os.environ["X86COST_LLVM"] = version
        x86cost.llvm.cache_clear()
        return error_of(x86cost.llvm)

    before = os.environ.get("X86COST_LLVM")
    check("an LLVM that is not there is named", "no llvm-mca-99" in with_llvm("99"))
    check("an LLVM that is too old is refused", "older than 21" in with_llvm("14"))
    del os.environ["X86COST_LLVM"]
    if before:
        os.environ["X86COST_LLVM"] = before
    x86cost.llvm.cache_clear()


def main() -> int:
    global not_run
    decoder = x86cost.Decoder()
    wrong = wrong_registers(decoder)
    check("registers", not wrong, "\n".join(wrong))
    check_pipeline(decoder)
    check_llvm()
    if error_of(x86cost.llvm):
        not_run = 1
        print(f"not run: traces, tables and latencies: {error_of(x86cost.llvm)}")
    else:
        check_traces()
        check_latencies(decoder)
        wrong = wrong_throughputs(decoder)
        check("throughputs", not wrong, "\n".join(wrong))
        check_loads()
        check_table()
        # Planted: LLVM's own rows of 512 bits.
        rule = x86cost.corrected_avx512
        x86cost.corrected_avx512 = lambda row, line, cpu, flat: row
        wrong = wrong_throughputs(decoder)
        check("wrong rows of AVX-512 are found", len(wrong) == 5, wrong)
        x86cost.corrected_avx512 = rule
        # Planted: two loads a cycle on Nehalem, Sandy Bridge's carry-less products, Silvermont's two pipes.
        x86cost.corrected_old = lambda row, line, cpu, flat: row
        x86cost.CORRECTIONS["ivybridge"] = []
        wrong = wrong_throughputs(decoder)
        check("wrong rows of CPUs before AVX2 are found", len(wrong) >= 3, wrong)
    # Planted: vector code by capstone's word alone, a CPU that forwards every store at once, one without free moves.
    x86cost.ACCUMULATE = x86cost.SSE_COPY = x86cost.re.compile("")
    check("a wrong rule for vectors is found", len(wrong_registers(decoder)) >= 4)
    fast = x86cost.Cpu(4, 64, 32, 16, 0, 0, 0, 4, 5, gpr_moves=False)
    found = [what for what, body, cycles in CYCLES if abs(toy_cycles(decoder, body, fast) - cycles) > 0.05 * cycles]
    check("a wrong pipeline is found", len(found) == 2, found)
    print(f"x86cost: {passed} passed, {failed} failed, {not_run} not run")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
