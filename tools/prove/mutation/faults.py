"""Faults as an enemy would plant them, in the source of kernels: each must be refused, and the kernel as it is must not.

    mutation.faults [--keep FOLDER] [NAME...]

A fault is a change of the source, and the calls of a full run that it is tried in. --keep leaves the objects in a folder.
Exit status 1 if a fault is not refused, cannot be planted, or a kernel as it is is refused in these calls.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

from run import abi, frame, kernels, lists, modes, packets, proof
from spec.args import FIRST, LAST, ROOT
from values.terms import Unproved

COMPILERS = {"x86_64": "cc", "aarch64": "aarch64-linux-gnu-gcc", "arm": "arm-linux-gnueabihf-gcc", **{isa: c[0] for isa, c in frame.COMPILERS.items()}}
TEXT, MACROS, ENTRY = "x86_64/chacha20poly1305_ssse3.S", "asm.S", r"^( *function (?:KERNEL\w*|sealane_\w+)(?:, later)?\n)"
GCM_KERNEL = "x86_64/aesgcm_kernel.h"
LEAVE = r"^( *endfunction\b)"


class Fault:
    """kernel: ISA/name. changes: (file, pattern, replacement). calls: which of a full run's; None: that the object is read; ABI: what
    C links, by run/abi.py or run/frame.py."""

    def __init__(self, what, kernel, changes, calls):
        self.what, self.kernel, self.changes, self.calls = what, kernel, changes, calls


def entry(file, text):
    """What is done first, with a way to return at once."""
    return [(file, ENTRY, r"\1" + text), (file, LEAVE, r".Lplanted:\n\1")]


def of_bytes(*sizes, flags=(FIRST | LAST,)):
    return lambda s: getattr(s, "size", None) in sizes and getattr(s, "ad", 0) == 0 and getattr(s, "flags", None) in flags


def of_polyval(s):
    return isinstance(s, packets.PolyvalShape) and s.size in (33, 560)


ABI = "abi"
SOME = of_bytes(0, 10, 64, 65)
MIPS, RISCV = "mips/chacha20poly1305_mips32r2", "riscv64/chacha20poly1305_zbb"
SSSE3, NEON, BATCH = "x86_64/chacha20poly1305_ssse3", "aarch64/chacha20poly1305_neon", "x86_64/chacha20poly1305_batch_avx2"

FAULTS = [
    Fault("in place: a load behind a store, texts of 8 to 15 bytes", SSSE3,
          [("x86_64/chacha20poly1305_integer.h",
            r"( *mov rdx, \[rax\+rcx-8\]\n)( *xor r11, \[rbx\]\n)( *xor rdx, \[rbx\+rcx-8\]\n)( *mov \[rdi\], r11\n)", r"\2\4\1\3")], of_bytes(10)),
    Fault("a last part of 37 bytes", SSSE3, entry(TEXT, """    cmp dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_LAST
    jne 9f
    cmp dword ptr [rdi+SEALANE_ARG_BYTES], 37
    je .Lplanted
9:
"""), of_bytes(37, flags=(LAST,))),
    Fault("a part whose counter is 12345", SSSE3, entry(TEXT, """    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST
    jnz 9f
    mov rax, [rdi+SEALANE_ARG_STATE]
    cmp dword ptr [rax+SEALANE_STATE_COUNTER], 12345
    je .Lplanted
9:
"""), of_bytes(64, flags=(0,))),
    Fault("a packet of 777 bytes of which this is the last part", SSSE3, entry(TEXT, """    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST
    jnz 9f
    cmp dword ptr [rdi+SEALANE_ARG_TOTAL], 777
    je .Lplanted
9:
"""), of_bytes(64, flags=(LAST,))),
    Fault("23 lanes", BATCH, entry("x86_64/chacha20poly1305_batch_avx2.S", """    cmp dword ptr [rdi+SEALANE_BATCH_COUNT], 23
    je .Lplanted
"""), lambda s: len(s.lanes) == 23 and s.opens),
    Fault("two lanes with one key", BATCH, entry("x86_64/chacha20poly1305_batch_avx2.S", """    cmp dword ptr [rdi+SEALANE_BATCH_COUNT], 2
    jb 9f
    mov rax, [rdi+SEALANE_BATCH_LANES]
    mov rcx, [rax+SEALANE_LANE_KEY]
    cmp rcx, [rax+SEALANE_LANE_STRIDE+SEALANE_LANE_KEY]
    je .Lplanted
9:
"""), lambda s: isinstance(s, packets.BatchShape) and len(s.lanes) in (2, 3)),
    Fault("wiping: key ^ what nothing has written stays behind", SSSE3, entry(TEXT, """    mov rax, [rdi+SEALANE_ARG_KEY]
    mov rax, [rax]
    xor rax, [rsi+FRAME+END-8]
    mov [rsi+FRAME+END-8], rax
"""), SOME),
    Fault("wiping: key + what nothing has written stays behind", NEON, entry("aarch64/chacha20poly1305_neon.h", """    ldr x3, [x0, #SEALANE_ARG_KEY]
    ldr x3, [x3]
    ldr x4, [x1, #SEALANE_SCRATCH_SAVE_BYTES]
    add x3, x3, x4
    str x3, [x1, #PLANTED]
"""), SOME),
    Fault("two registers that nothing has written are said to be equal", SSSE3, entry(TEXT, """    pcmpeqd xmm3, xmm4
    movd eax, xmm3
    add eax, 1
    jnz .Lplanted
"""), SOME),
    Fault("ret 8", SSSE3, [(MACROS, r"^    ret\n(    end_function)", r"    ret 8\n\1")], SOME),
    Fault("ret x5", NEON, [(MACROS, r"(add sp, sp, #FRAME_BYTES(?:.*\n)+?)    ret\n", r"\1    ret x5\n")], SOME),
    Fault("a jump to before the function", SSSE3,
          [(TEXT, ENTRY, r"\1.Lfirst:\n"), (TEXT, LEAVE, r"    jmp .Lfirst - (.Llast - .Lthere)\n.Lthere:\n\1"),
           (MACROS, r"^    ret\n(    end_function)", r"    ret\n    .skip 32, 0x90\n.Llast:\n\1")], SOME),
    Fault("a key pointer and 48", SSSE3, entry(TEXT, """    mov rax, [rdi+SEALANE_ARG_KEY]
    test eax, 48
    jnz .Lplanted
"""), SOME),
    Fault("a key at a multiple of 16 alone", SSSE3, [(TEXT, r"movdqu xmm0, \[rax\]\n( *movdqu xmm1, \[rax\+16\])", r"movdqa xmm0, [rax]\n\1")], SOME),
    Fault("a nonce behind the key", SSSE3, [(TEXT, r"movd xmm0, dword ptr \[r9\+8\]", """mov r9, [rdi+SEALANE_ARG_NONCE]
    sub r9, rax
    movd xmm0, dword ptr [rax+r9+8]
    mov r9, [rdi+SEALANE_ARG_NONCE]""")], SOME),
    Fault("a load of many from an odd address", "arm/chacha20poly1305_neon", entry("arm/chacha20poly1305_neon.S", """    ldr r3, [r0, #SEALANE_ARG_NONCE]
    ldm r3, {r4, r5}
"""), SOME),
    Fault("no text, at null", SSSE3, entry(TEXT, """    cmp qword ptr [rdi+SEALANE_ARG_IN], 0
    je .Lplanted
"""), of_bytes(0)),
    Fault("output that is input is told by its address", SSSE3, entry(TEXT, """    mov rax, [rdi+SEALANE_ARG_IN]
    cmp rax, [rdi+SEALANE_ARG_OUT]
    je .Lplanted
"""), SOME),
    Fault("C: a register is restored from another slot", SSSE3, [(MACROS, r"mov r12, \[rsp - 16\]", "mov r12, [rsp - 24]")], ABI),
    Fault("C: a register is not saved", SSSE3, [(MACROS, r"    mov \[rsp - 40\], r15\n", "")], ABI),
    Fault("C: an instruction that Go has not", SSSE3, entry(TEXT, "#if !defined(SEALANE_GO)\n    add rdi, 0\n#endif\n"), ABI),
    Fault("C: an instruction that Go alone has", SSSE3, entry(TEXT, "#if defined(SEALANE_GO)\n    xor eax, eax\n#endif\n"), ABI),
    Fault("C: a branch to elsewhere", SSSE3, [(TEXT, r"^( *)je \.Lauthenticate_tail", """#if defined(SEALANE_GO)
    je .Lauthenticate_tail
#else
    je .Lpassed
#endif""")], ABI),
    Fault("C: a register is touched before it is saved", "x86_64/aesgcm_avx512", [("x86_64/aesgcm_avx512.S", ENTRY, r"\1    mov r12, rax\n")], ABI),
    Fault("Windows: a register is restored from another slot", SSSE3, [(MACROS, r"mov rsi, \[rsp \+ 208\]", "mov rsi, [rsp + 200]")], ABI),
    Fault("Windows: a vector register is not saved", SSSE3, [(MACROS, r"\.irp n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n    win64_save_vector",
                                                             ".irp n, 6, 7, 8, 9, 10, 11, 12, 13, 14\n    win64_save_vector")], ABI),
    Fault("AArch64: two pairs in one slot", NEON, [(MACROS, r"\\do x25, x26, 25, 112", r"\\do x25, x26, 25, 96")], ABI),
    Fault("32-bit ARM: registers restored in another order", "arm/chacha20poly1305_neon", [(MACROS, r"pop \{r4-r9, r11\}", "pop {r4-r8, r11, r12}")], ABI),
    Fault("a given hash key of AES-GCM: the lower half twice", "x86_64/aesgcm_avx2", [(GCM_KERNEL, r"(vmovhps xmm0, xmm0, \[rax) \+ 8\]", r"\1]")],
          lambda s: getattr(s, "given", False)),
    Fault("POLYVAL: the lengths the other way round", "x86_64/aesgcm_aesni",
          [(GCM_KERNEL, r"vmovq xmm12, qword ptr \[args \+ SEALANE_ARG_AD_BYTES\]\n    vmovhps xmm12, xmm12, \[args \+ SEALANE_ARG_TOTAL\]",
            "vmovq xmm12, qword ptr [args + SEALANE_ARG_TOTAL]\n    vmovhps xmm12, xmm12, [args + SEALANE_ARG_AD_BYTES]")], of_polyval),
    Fault("POLYVAL: a text of 560 bytes", "x86_64/aesgcm_avx512", entry("x86_64/aesgcm_avx512.S", """    mov eax, [rdi+SEALANE_ARG_FLAGS]
    and eax, SEALANE_FLAG_SETUP + SEALANE_FLAG_POLYVAL
    cmp eax, SEALANE_FLAG_POLYVAL
    jne 9f
    cmp dword ptr [rdi+SEALANE_ARG_BYTES], 560
    je .Lplanted
9:
"""), of_polyval),
    Fault("POLYVAL: a reduction left out between groups of eight blocks", "aarch64/aesgcm_ce",
          [("aarch64/aesgcm_ce.S", r"    reduce \\i, mid\n", "")], of_polyval),
    Fault("POLYVAL: the block of the lengths as GHASH has it", "aarch64/aesgcm_neon",
          [("aarch64/aesgcm_neon.S", r"    tbz flags, #5, \.Llengths_append\n", "    b .Llengths_append\n")], of_polyval),
    Fault("32-bit ARM, POLYVAL: the lengths the other way round", "arm/aesgcm_ce32",
          [("arm/aesgcm_text.h", r"length_in_bits SEALANE_ARG_TOTAL\n    length_in_bits SEALANE_ARG_AD_BYTES",
            "length_in_bits SEALANE_ARG_AD_BYTES\n    length_in_bits SEALANE_ARG_TOTAL")], of_polyval),
    Fault("32-bit ARM, a counter at a block's begin: all blocks have the first one's", "arm/aes_ce32",
          [("arm/aes_ce32.S", r"(vmov\.32 \\first\[0\], r2\n)    add r2, r2, #1\n", r"\1")], lambda s: s.mode == modes.CTR_LITTLE and s.blocks in (2, 9)),
    Fault("a counter at a block's begin that runs into the nonce", "x86_64/aes_aesni",
          [("x86_64/aes_aesni.S", r"paddd (.+)", r"paddq \1")], lambda s: s.mode == modes.CTR_LITTLE and s.blocks in (2, 9)),
    Fault("MIPS: a branch on the key", MIPS, entry("mips/chacha20poly1305_text.h", """    load_pointer k1, SEALANE_ARG_KEY, args
    lbu k1, 0(k1)
    beq k1, $0, .Lplanted
      nop
"""), SOME),
    Fault("MIPS: a byte of a word at any address comes from beside it", MIPS,
          [("mips/chacha20poly1305_names.h", r"\\right \\x, \\at \+ \\bytes - 1", r"\\right \\x, \\at + \\bytes - 2")], SOME),
    Fault("MIPS: nothing in a delay slot", MIPS, [("mips/chacha20poly1305_text.h", r"(bne remaining, \$0, \.Lblock\n *)sw k0, STATE \+ 48\(scratch\)", r"\1nop")],
          of_bytes(1420)),
    Fault("MIPS: a product left out", "mips/aesgcm_mips32r2", [("mips/aesgcm_mips32r2.S", r"    maddu d3, e2\n", "")],
          lambda s: getattr(s, "size", None) == 16 and s.flags == FIRST | LAST and not s.j0 and not s.opens),
    Fault("MIPS: a register is restored from another slot", MIPS, [(MACROS, r"LOAD_REGISTER \$\\n, \(\\n - 16\)", r"LOAD_REGISTER $\\n, (23 - \\n)")], ABI),
    Fault("MIPS: an instruction that Go has not", MIPS, entry("mips/chacha20poly1305_text.h", "#if !defined(SEALANE_GO)\n    addu $8, $9, $10\n#endif\n"), ABI),
    Fault("MIPS: C has the upper half of a pointer's slot", MIPS, [("mips/words.h", r"#define POINTER LOW", "#define POINTER HIGH")], ABI),
    Fault("RISC-V: a key that is not aligned is loaded by words", RISCV, [("riscv64/chacha20poly1305_text.h", r"    bnez count, \.Lkey_bytes\n", "")], SOME),
    Fault("RISC-V: a rotation by another number", RISCV, [("riscv64/chacha20poly1305_text.h", r"roriw_zbb \\d2, \\d2, 32 - \\bits", r"roriw_zbb \\d2, \\d2, 31 - \\bits")], SOME),
    Fault("RISC-V: a register is not saved", RISCV, [(MACROS, r"    \\do s3, 19, 24\n", "")], ABI),
    Fault("a second function", SSSE3, [(TEXT, r"^(endfunction\n)", "\\1function sealane_chacha20poly1305_another\nendfunction\n")], None),
]


def build(fault, folder, changed):
    """The kernel's object, with the fault or without."""
    isa, name = fault.kernel.split("/")
    tree = os.path.join(folder, "asm")
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(os.path.join(ROOT, "asm"), tree)
    for file, pattern, replacement in fault.changes if changed else ():
        path = os.path.join(tree, file)
        with open(path) as f:
            text = f.read()
        new, n = re.subn(pattern, replacement.replace("PLANTED", "SEALANE_SCRATCH_SAVE_BYTES+344"), text, count=1, flags=re.M)
        if n == 0:
            raise SystemExit(f"{fault.what}: nothing in {file} is like {pattern}")
        with open(path, "w") as f:
            f.write(new)
    path = os.path.join(folder, name + ".o")
    for one in {name, name.replace("_batch_", "_")}:  # the keys of lanes too
        if os.path.exists(source := os.path.join(tree, isa, one + ".S")):
            subprocess.run([COMPILERS[isa], "-DSEALANE_GO", "-g", *(frame.LINKED if isa == "riscv64" else ["-c"]), "-o", os.path.join(folder, one + ".o"), source], check=True)
    return path


def refusal(fault, path):
    """Why the first of the calls is refused that is; and how many were tried."""
    calls = fault.calls
    if calls is ABI:
        isa, source = fault.kernel.split("/")[0], os.path.join(os.path.dirname(path), "asm", fault.kernel + ".S")
        results = list((frame if isa in frame.COMPILERS else abi).conventions(source, os.path.dirname(path), isa))
        return next((f"{name}: {why}" for name, _, why in results if why), None), len(results)
    kernel = kernels.Kernel(path)
    if calls is None:
        return None, 1
    kernel.asked, tried = True, 0
    for shape in lists.shapes(kernel, False):
        if calls(shape):
            tried += 1
            try:
                proof.prove(kernel, shape, None)
            except Unproved as e:
                return f"{shape}: {e}{proof.writer(kernel, shape, e)}", tried
    return None, tried


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    sys.setrecursionlimit(20000)
    passed, failed, as_it_is = 0, 0, {}
    with tempfile.TemporaryDirectory() as folder:
        for i, fault in enumerate(FAULTS):
            if args.names and not any(n in fault.what for n in args.names):
                continue
            try:
                path = build(fault, folder, True)
                if args.keep:
                    os.makedirs(args.keep, exist_ok=True)
                    shutil.copy(path, os.path.join(args.keep, f"{i}-{os.path.basename(path)}"))
                why, _ = refusal(fault, path)
            except Unproved as e:
                why = str(e)
            if (same := (fault.kernel, fault.calls)) not in as_it_is:
                try:
                    as_it_is[same] = refusal(fault, build(fault, folder, False))
                except Unproved as e:
                    as_it_is[same] = str(e), 0
            right, tried = as_it_is[same]
            # A refusal names the line of the source.
            named = fault.calls in (None, ABI) or why is None or re.search(r"byte \d+ of (?!.*(\(\w+\.[Sh]:\d+\)|nothing wrote it))", why) is None
            good = why is not None and right is None and tried > 0 and named
            passed, failed = passed + good, failed + (not good)
            print(f"{'ok  ' if good else 'FAIL'} {fault.kernel}: {fault.what}: {why or 'not refused'}" +
                  (f"; AS IT IS: {right or 'no such call'}" if right or not tried else ""), flush=True)
    print(f"faults: {passed} passed, {failed} failed, 0 not run")
    return 1 if failed else 0
