"""Faults that tests with random data do not see, planted one by one; each must be refused.

    mutation.classic OBJECT...

    carry     an addition of a carry and nothing else is left out: wrong once in 2^32 or 2^64
    bound     a mask that leaves two bits of a limb leaves three
    rotation  one rotation of ChaCha20 by one bit more, in the last execution of its instruction only
    wipe      the last store of zeroes is left out
    scratch   16 bytes less of scratch than the kernel's source states

Kernels of ChaCha20-Poly1305 that work on single packets. And of AES's modes, when a key is made:

    behind    one more round key is stored than there are
    inverse   the question whether keys to decrypt are wanted is left out (x86-64)

Exit status 1 if one is not refused, or if a kernel has none.
"""
import re
import sys

from isa import arm32, arm64, x86
from run import kernels, modes, proof
from run.packets import Shape
from spec.args import A
from values import terms
from values.terms import Unproved

SHAPES = [Shape(64), Shape(700, ad=13, opens=True)]
MOST_SCRATCH = [*SHAPES, Shape(2300)]

CARRY = {x86: r"adc \w+, 0$", arm64: r"adc x\d+, x\d+, xzr$", arm32: r"adcs? \w+, \w+, #0$"}
BOUND = {x86: r"and \w+, 3$", arm64: r"and x\d+, x\d+, #3$", arm32: r"(and|bic) \w+, \w+, #3$"}
ROTATION = {x86: r"v?pslld [xyz]mm\d+,.* (7|0xc)$|vprold zmm\d+,.* (7|0xc)$|vprold [xy]mm\d+,.* (7|0xc)$",
            arm64: r"shl v\d+\.4s, v\d+\.4s, #(7|0xc)$", arm32: r"vshl\.i32 q\d+, q\d+, #(7|0xc)$|eor \w+, \w+, \w+, ror #"}
WIPE = {x86: r"v?mov\w* [xyz]mmword ptr \[rsi", arm64: r"stp q\d+, q\d+, \[x", arm32: r"(stm|vstm|vst1|strd)"}


def wider(isa, code):
    """The instruction with a mask of one bit more."""
    new = bytearray(code)
    if isa is x86:
        new[-1] = 7
    elif isa is arm64:  # imms, the number of ones less one
        word = int.from_bytes(code, "little")
        new[:] = ((word & ~(63 << 10)) | 2 << 10).to_bytes(4, "little")
    else:
        new[0] = 7
    return bytes(new)


def further(isa, code, text):
    """The rotation by one bit more, or one less."""
    new = bytearray(code)
    if isa is x86:
        new[-1] ^= 1
    elif isa is arm64:
        new[2] ^= 1  # immb
    elif text.startswith("v"):
        new[2] ^= 1
    else:
        new[0] ^= 0x80  # the lowest bit of the count
    return bytes(new)


def refused(kernel, shapes=SHAPES):
    """Whether it is, and why."""
    for shape in shapes:
        try:
            proof.prove(kernel, shape, None)
        except Unproved as e:
            return str(e)
    return None


def of_key(kernel):
    """Of a kernel of AES's modes: kind -> whether it is refused."""
    program, setup, found = kernel.program(), modes.ModeShape(modes.SETUP, bits=128, encrypts=True), {}
    proof.run(kernel, setup, trace := set())  # without an error, as it is
    good = dict(program.steps)

    def try_with(kind, pc, function):
        _, after, branch, text = good[pc]
        program.steps[pc] = function, after, branch, text
        try:
            proof.run(kernel, setup, set())  # a trace: the key is made again
            found.setdefault(kind, []).append(False)
        except Unproved:
            found.setdefault(kind, []).append(True)
        program.steps[pc] = good[pc]
    behind = kernels.KEY + A["AES_KEY_SCHEDULE"] + 16 * 11
    last = max(pc for pc in trace if good[pc][0])
    try_with("behind", last, lambda m: (good[last][0](m), m.memory.store(behind, terms.const(0, 128))))
    if kernel.isa is x86:
        for pc in sorted(pc for pc in trace if good[pc][3] == f"cmp qword ptr [rdi + {A['MODE_ENCRYPTS_ONLY']:#x}], 0"):
            try_with("inverse", pc, lambda m: None)
        found.setdefault("inverse", [False])
    return found


def main():
    sys.setrecursionlimit(20000)
    refusals, missed = 0, 0
    for path in sys.argv[1:]:
        kernel = kernels.Kernel(path)
        if kernel.of_modes and "chacha20" not in kernel.name:
            kinds = of_key(kernel)
            said = ", ".join(f"{kind} {sum(v)} of {len(v)} refused" for kind, v in kinds.items())
            print(f"{kernel}: {said}", flush=True)
            refusals += sum(map(sum, kinds.values()))
            missed += sum(len(v) - sum(v) for v in kinds.values())
        if "chacha20poly1305" not in kernel.name or "_batch_" in kernel.name:
            continue
        isa, program, count = kernel.isa, kernel.program(), {}
        proof.mode(False, False)
        if (e := refused(kernel)) is not None:
            print(f"FAIL {kernel}: as it is: {e}")
            missed += 1
            continue
        good = dict(program.steps)
        for pc, (f, after, branch, text) in good.items():
            if f is not None:
                def counted(m, f=f, pc=pc):
                    count[pc] = count.get(pc, 0) + 1
                    f(m)
                program.steps[pc] = counted, after, branch, text
        for shape in SHAPES:
            proof.prove(kernel, shape, None)
        program.steps.update(good)
        found = {kind: [pc for pc, s in sorted(good.items()) if s[0] and re.match(table[isa], s[3])]
                 for kind, table in (("carry", CARRY), ("bound", BOUND), ("rotation", ROTATION), ("wipe", WIPE))}
        # Of each kind the last few; the whole of a long list says no more.
        results = []
        for kind, places in found.items():
            for pc in places[-3:]:
                f, after, branch, text = good[pc]
                code = kernel.code[pc:after]
                if kind == "carry" or kind == "wipe":
                    program.steps[pc] = (lambda m: None), after, branch, text
                elif kind == "bound":
                    other = isa.meaning(kernel.code[:pc] + wider(isa, code), pc)
                    program.steps[pc] = other[0], after, branch, text
                else:
                    left = [count[pc]]
                    other = isa.meaning(kernel.code[:pc] + further(isa, code, text), pc)[0]

                    def late(m, f=f, other=other, left=left):
                        left[0] -= 1
                        (other if left[0] == 0 else f)(m)
                    program.steps[pc] = late, after, branch, text
                results.append((kind, pc, text, refused(kernel)))
                program.steps[pc] = good[pc]
        kernel.scratch_bytes -= 16
        found["scratch"] = [0]
        results.append(("scratch", 0, "", refused(kernel, MOST_SCRATCH)))
        kernel.scratch_bytes += 16
        for kind, pc, text, why in results:
            if why is None:
                print(f"     {kernel}: {kind} at {pc:#x} {text}: not refused")
        kinds = {kind: [why is not None for k, _, _, why in results if k == kind] for kind in found}
        print(f"{kernel}: " + ", ".join(f"{kind} {sum(v)} of {len(v)} refused" for kind, v in kinds.items()), flush=True)
        refusals += sum(map(sum, kinds.values()))
        missed += sum(len(v) - sum(v) for v in kinds.values())
        missed += sum(not v for kind, v in kinds.items() if kind in ("carry", "rotation", "scratch"))
        terms.forget()
    print(f"classic: {refusals} passed, {missed} failed, 0 not run")
    return 1 if missed else 0
