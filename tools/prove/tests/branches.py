"""Compares the prover's branches and returns with the CPU, or with qemu: each condition, taken and not, forward and
backward, near and far. run/abi.py proves what the frame does with the stack.

    tests.branches [--plant]

--plant inverts the prover's branches, which the test must find.
"""
import argparse
import tempfile

from isa import arm32, arm64, x86
from isa.code import Code, invert
from mutation.machine import Server, assemble
from run.memory import Memory
from values.terms import Unproved, const

ARGS, SCRATCH, CONSTS = 0x10000, 0x20000, 0x30000
EDGES = (0, 1, 2, 3, 4, 5, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 0x123456789abcdef0)
CONDITIONS = {x86: "b ae e ne be a s ns o no l ge le g", arm64: "eq ne hs lo mi pl vs vc hi ls ge lt gt le", arm32: "eq ne hs lo mi pl vs vc hi ls ge lt gt le"}
SET = {x86: ("cmp rax, rcx", "sub rax, rcx", "add rax, rcx", "cmp eax, ecx"), arm64: ("cmp x3, x4", "adds x3, x3, x4", "cmp w3, w4"),
       arm32: ("cmp r3, r4", "adds r3, r3, r4")}
HEAD = {x86: "mov rax, [rdi]\nmov rcx, [rdi+8]\n{}\n", arm64: "ldp x3, x4, [x0]\n{}\n", arm32: "ldr r3, [r0]\nldr r4, [r0, #8]\n{}\n"}
ANSWER = {x86: "mov qword ptr [rdi+16], {}\nret\n", arm64: "mov x5, #{}\nstr x5, [x0, #16]\nret\n", arm32: "mov r5, #{}\nstr r5, [r0, #16]\nbx lr\n"}


def sources(isa):
    """Programs that store 1 or 2."""
    answer = ANSWER[isa].format
    for condition in CONDITIONS[isa].split():
        jump = {x86: f"j{condition}", arm64: f"b.{condition}", arm32: f"b{condition}"}[isa]
        for n, flags in enumerate(SET[isa]):
            head, far = HEAD[isa].format(flags), ".skip 200, 0\n" if n == 1 else ""
            yield f"{flags}; {jump}", f"{head}{jump} 1f\n{answer(1)}{far}1:{answer(2)}"
            if n == 0:
                go = "jmp" if isa is x86 else "b"
                yield f"{flags}; {jump} back", f"{go} 2f\n1:{answer(2)}{far}2:{head}{jump} 1b\n{answer(1)}"
    if isa is arm64:
        for r in ("x3", "w3"):
            for jump in (f"cbz {r}", f"cbnz {r}", f"tbz {r}, #0", f"tbnz {r}, #31"):
                yield jump, f"{HEAD[isa].format('')}{jump}, 1f\n{answer(1)}1:{answer(2)}"


def here(isa, code, a, b, plant):
    memory = Memory()
    memory.region("args", ARGS, 64, True, True, 8)
    memory.put(ARGS, content(a, b))
    m = isa.Machine(memory)
    for r, v in zip(isa.ARGUMENTS, (ARGS, SCRATCH, CONSTS)):
        m.general[r] = const(v, isa.POINTER)
    if plant:
        condition = m.condition
        m.condition = lambda c: invert(condition(c))
    Code(code, isa.meaning).run(m)
    return memory.peek(ARGS + 16, 4).constant


def content(a, b):
    return a.to_bytes(8, "little") + b.to_bytes(8, "little") + bytes(48)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plant", action="store_true")
    args = parser.parse_args()
    passed = failed = 0
    for isa in (x86, arm64, arm32):
        with tempfile.TemporaryDirectory() as folder:
            server, run = Server(isa, folder), 0
            for what, text in sources(isa):
                code = assemble(isa, text, folder)
                wrong = []
                for a in EDGES:
                    for b in EDGES:
                        got = server.call(code, (ARGS, SCRATCH, CONSTS), [(ARGS, content(a, b), True, True)])
                        try:
                            mine = here(isa, code, a, b, args.plant)
                        except Unproved as e:
                            mine = str(e)
                        run += 1
                        if got is None or mine != int.from_bytes(got[1][16:20], "little"):
                            wrong.append(f"{a:#x}, {b:#x}: {mine} here")
                passed, failed = passed + (not wrong), failed + bool(wrong)
                if wrong:
                    print(f"FAIL {isa.__name__.removeprefix('isa.')} {what}: {wrong[0]}")
                if wrong and args.plant:
                    break
            server.close()
            print(f"{isa.__name__.removeprefix('isa.')}: {run} runs", flush=True)
    print(f"branches: {passed} passed, {failed} failed, 0 not run")
    return 1 if failed else 0
