"""Plants faults in machine code that tests with random data miss. The prover must refuse each.

    mutation.classic OBJECT...

Kernels of ChaCha20-Poly1305 for single packets get the faults of FAULTS, each in the last three fitting instructions, and

    scratch   16 bytes less of scratch than the source states

Kernels of AES's modes get these, while they set up a key:

    behind    a round key is stored after the key
    inverse   decryption keys are made without the test whether the caller wants them (x86-64)

The exit status is 1 if the prover refuses the kernel itself, if it accepts a fault, or if a kernel has no place for
`carry`, `rotation` or `inverse`.
"""
import collections
import re
import sys

from isa import arm32, arm64, x86
from run import kernels, modes, proof
from run.packets import Shape
from run.report import summary
from spec.args import A
from values import terms
from values.terms import Unproved

SHAPES = [Shape(64), Shape(700, ad=13, opens=True)]
MOST_SCRATCH = [*SHAPES, Shape(2300)]


def without(*_):
    """No instruction."""


def wider(isa, code, _):
    """A mask of three bits for two."""
    if isa is not arm64:
        at = -1 if isa is x86 else 0
        code[at] = 7
    else:  # imms is the number of ones less one
        code[:] = (int.from_bytes(code, "little") & ~(63 << 10) | 2 << 10).to_bytes(4, "little")


def further(isa, code, text):
    """A rotation by one bit more or less."""
    if isa is x86:
        code[-1] ^= 1
    elif isa is arm64 or text.startswith("v"):
        code[2] ^= 1
    else:
        code[0] ^= 0x80


# The instructions by instruction set; what replaces them; whether only in their last execution.
FAULTS = {
    # a carry that is added alone: wrong once in 2^32 or 2^64
    "carry": ({x86: r"adc \w+, 0$", arm64: r"adc x\d+, x\d+, xzr$", arm32: r"adcs? \w+, \w+, #0$"}, without, False),
    # a limb of one bit too many
    "bound": ({x86: r"and \w+, 3$", arm64: r"and x\d+, x\d+, #3$", arm32: r"(and|bic) \w+, \w+, #3$"}, wider, False),
    # a rotation of ChaCha20
    "rotation": ({x86: r"v?pslld [xyz]mm\d+,.* (7|0xc)$|vprold [xyz]mm\d+,.* (7|0xc)$", arm64: r"shl v\d+\.4s, v\d+\.4s, #(7|0xc)$",
                  arm32: r"vshl\.i32 q\d+, q\d+, #(7|0xc)$|eor \w+, \w+, \w+, ror #"}, further, True),
    # the last store of zeros
    "wipe": ({x86: r"v?mov\w* [xyz]mmword ptr \[rsi", arm64: r"stp q\d+, q\d+, \[x", arm32: r"(stm|vstm|vst1|strd)"}, without, False),
}


def refusal(kernel, shapes=SHAPES):
    """Why the prover refuses one of the calls, or None."""
    for shape in shapes:
        try:
            proof.prove(kernel, shape, None)
        except Unproved as e:
            return str(e)
    return None


def of_key(kernel):
    """(kind, place, why the prover refuses it or None) of each fault in a key's set-up."""
    program, setup = kernel.program(), modes.ModeShape(modes.SETUP, bits=128, encrypts=True)
    proof.run(kernel, setup, trace := set())  # the kernel itself
    good = dict(program.steps)

    def refusal_with(pc, function):
        program.steps[pc] = function, *good[pc][1:]
        try:
            proof.run(kernel, setup, set())  # a trace makes the call set up its key again
        except Unproved as e:
            return str(e)
        finally:
            program.steps[pc] = good[pc]
    behind = kernels.KEY + A["AES_KEY_BYTES"]
    last = max(pc for pc in trace if good[pc][0])
    yield "behind", last, refusal_with(last, lambda m: (good[last][0](m), m.memory.store(behind, terms.const(0, 128))))
    if kernel.isa is x86:
        test = f"cmp qword ptr [rdi + {A['MODE_ENCRYPTS_ONLY']:#x}], 0"
        places = [pc for pc in sorted(trace) if good[pc][3] == test]
        yield from [("inverse", pc, refusal_with(pc, without)) for pc in places] or [("inverse", None, None)]


def of_packets(kernel):
    """The same of the faults in a call of ChaCha20-Poly1305."""
    isa, program, executed = kernel.isa, kernel.program(), collections.Counter()
    proof.mode()
    if (why := refusal(kernel)) is not None:
        raise SystemExit(f"{kernel} as it is: {why}")
    good = dict(program.steps)
    for pc, (f, *rest) in good.items():
        if f is not None:
            def counted(m, f=f, pc=pc):
                executed[pc] += 1
                f(m)
            program.steps[pc] = counted, *rest
    refusal(kernel)
    program.steps.update(good)
    for kind, (table, change, at_last) in FAULTS.items():
        places = [pc for pc, s in sorted(good.items()) if s[0] and re.match(table[isa], s[3])]
        if not places and kind in ("carry", "rotation"):
            yield kind, None, None
        for pc in places[-3:]:
            f, after, branch, text = good[pc]
            other, left = without, [executed[pc] if at_last else 1]
            if change is not without:
                change(isa, code := bytearray(kernel.code[pc:after]), text)
                other = isa.meaning(kernel.code[:pc] + bytes(code), pc)[0]

            def changed(m, f=f, other=other, left=left):
                left[0] -= 1
                (f if left[0] > 0 else other)(m)
            program.steps[pc] = changed, after, branch, text
            yield kind, pc, refusal(kernel)
            program.steps[pc] = good[pc]
    kernel.scratch_bytes -= 16
    yield "scratch", 0, refusal(kernel, MOST_SCRATCH)


def results(paths):
    """(fault, None if the prover refuses it)"""
    for kernel in map(kernels.Kernel, paths):
        good = collections.Counter()
        of_modes = kernel.of_modes and "chacha20" not in kernel.name
        if of_modes or "chacha20poly1305" in kernel.name and "_batch_" not in kernel.name:
            for kind, pc, why in (of_key if of_modes else of_packets)(kernel):
                good[kind] += why is not None
                yield f"{kernel}: {kind}", None if why else "no place for it" if pc is None else f"accepted at {pc:#x}"
        print(f"{kernel}: refused: " + ", ".join(f"{n} {kind}" for kind, n in good.items()), flush=True)
        terms.forget()


def main():
    sys.setrecursionlimit(20000)
    return summary("classic", results(sys.argv[1:]))
