"""Plants faults in the source of kernels, as an attacker would. The prover must refuse each, and accept the kernel without it.

    mutation.faults [--keep FOLDER] [NAME...]

A fault is a change of the source, and the calls of a full run that it is tried in. --keep leaves the objects in a folder.
The exit status is 1 if the prover accepts a fault or refuses a kernel, or if a fault does not fit the source.
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

COMPILERS = {"x86_64": "cc", "aarch64": "aarch64-linux-gnu-gcc", "arm": "arm-linux-gnueabihf-gcc",
             **{isa: c[0] for isa, c in frame.COMPILERS.items()}}
ENTRY, LEAVE = r"^( *function (?:KERNEL\w*|sealane_\w+)(?:, later)?\n)", r"^( *endfunction\b)"
ABI, OBJECT = "abi", "object"


class Fault:
    """kernel: ISA/name. changes: (file, pattern, replacement). calls: a function that selects calls of a full run; ABI: the code that C
    links (run/abi.py, run/frame.py); OBJECT: only reading the object."""

    def __init__(self, what, kernel, changes, calls):
        self.what, self.kernel, self.changes, self.calls = what, kernel, changes, calls


def first(what, kernel, text, calls):
    """A fault that the kernel executes first. The branch target .Lplanted is its end, so that it returns at once."""
    file = FILES.get(kernel, kernel + ".S")
    lines = "".join(f"    {line}\n" for line in text.split("; "))
    return Fault(what, kernel, [(file, ENTRY, r"\1" + lines), (file, LEAVE, r".Lplanted:\n\1")], calls)


def of_bytes(*sizes, flags=(FIRST | LAST,)):
    return lambda s: getattr(s, "size", None) in sizes and getattr(s, "ad", 0) == 0 and getattr(s, "flags", None) in flags


def of_polyval(s):
    return isinstance(s, packets.PolyvalShape) and s.size in (33, 560)


def of_ad(s):
    return getattr(s, "ad", 0) == 29 and not s.opens and s.flags == FIRST | LAST


SOME = of_bytes(0, 10, 64, 65)
MIPS, RISCV, NEON = "mips/chacha20poly1305_mips32r2", "riscv64/chacha20poly1305_zbb", "aarch64/chacha20poly1305_neon"
SSSE3, AVX512, BATCH = (f"x86_64/chacha20poly1305_{level}" for level in ("ssse3", "avx512", "batch_avx2"))
MACROS, TEXT, GCM_TEXT = "asm.S", SSSE3 + ".S", "x86_64/aesgcm_kernel.h"
FILES = {MIPS: "mips/chacha20poly1305_text.h", NEON: NEON + ".h"}  # of functions

FAULTS = [
    # Memory
    first("memory: a byte behind the input is read", SSSE3,
          "mov rax, [rdi+SEALANE_ARG_IN]; add rax, [rdi+SEALANE_ARG_BYTES]; movzx eax, byte ptr [rax]", of_bytes(10, 64)),
    first("memory: a byte behind the tag is written", SSSE3,
          "mov rax, [rdi+SEALANE_ARG_TAG]; mov byte ptr [rax+16], 0", SOME),
    first("memory: the key is written", SSSE3, "mov rax, [rdi+SEALANE_ARG_KEY]; mov byte ptr [rax], 0", SOME),
    Fault("a key at a multiple of 16 alone", SSSE3, [(TEXT, r"movdqu xmm0, \[rax\]\n( *movdqu xmm1, \[rax\+16\])", r"movdqa xmm0, [rax]\n\1")], SOME),
    Fault("a nonce behind the key", SSSE3, [(TEXT, r"movd xmm0, dword ptr \[r9\+8\]", """mov r9, [rdi+SEALANE_ARG_NONCE]
    sub r9, rax
    movd xmm0, dword ptr [rax+r9+8]
    mov r9, [rdi+SEALANE_ARG_NONCE]""")], SOME),
    first("a load of many from an odd address", "arm/chacha20poly1305_neon", "ldr r3, [r0, #SEALANE_ARG_NONCE]; ldm r3, {r4, r5}", SOME),
    first("two registers that nothing has written are said to be equal", SSSE3,
          "pcmpeqd xmm3, xmm4; movd eax, xmm3; add eax, 1; jnz .Lplanted", SOME),
    Fault("ret 8", SSSE3, [(MACROS, r"^    ret\n(    end_function)", r"    ret 8\n\1")], SOME),
    Fault("ret x5", NEON, [(MACROS, r"(add sp, sp, #FRAME_BYTES(?:.*\n)+?)    ret\n", r"\1    ret x5\n")], SOME),
    Fault("a jump to before the function", SSSE3,
          [(TEXT, ENTRY, r"\1.Lfirst:\n"), (TEXT, LEAVE, r"    jmp .Lfirst - (.Llast - .Lthere)\n.Lthere:\n\1"),
           (MACROS, r"^    ret\n(    end_function)", r"    ret\n    .skip 32, 0x90\n.Llast:\n\1")], SOME),
    Fault("a second function", SSSE3, [(TEXT, r"^(endfunction\n)", "\\1function sealane_chacha20poly1305_another\nendfunction\n")], OBJECT),
    # Input and output in one place
    Fault("in place: a load behind a store, texts of 8 to 15 bytes", SSSE3,
          [("x86_64/chacha20poly1305_integer.h",
            r"( *mov rdx, \[rax\+rcx-8\]\n)( *xor r11, \[rbx\]\n)( *xor rdx, \[rbx\+rcx-8\]\n)( *mov \[rdi\], r11\n)", r"\2\4\1\3")], of_bytes(10)),
    first("output that is input is told by its address", SSSE3,
          "mov rax, [rdi+SEALANE_ARG_IN]; cmp rax, [rdi+SEALANE_ARG_OUT]; je .Lplanted", SOME),
    # Constant time
    first("time: an address depends on the key", SSSE3,
          "mov rax, [rdi+SEALANE_ARG_KEY]; movzx eax, byte ptr [rax]; and eax, 7; movzx eax, byte ptr [rdi+rax]", SOME),
    first("time: a shift count depends on the key", SSSE3,
          "mov rcx, [rdi+SEALANE_ARG_KEY]; movzx ecx, byte ptr [rcx]; mov eax, 1; shl eax, cl; xor eax, eax", SOME),
    first("time: a mask of an access depends on the key", AVX512,
          "mov rax, [rdi+SEALANE_ARG_KEY]; kmovq k1, [rax]; vmovdqu8 zmm0{k1}{z}, [rdx]; vpxor xmm0, xmm0, xmm0", SOME),
    first("time: a branch depends on the text", SSSE3,
          "cmp dword ptr [rdi+SEALANE_ARG_BYTES], 0; je 9f; mov rax, [rdi+SEALANE_ARG_IN]; cmp byte ptr [rax], 0; je .Lplanted; 9:", SOME),
    first("MIPS: a branch on the key", MIPS, "load_pointer k1, SEALANE_ARG_KEY, args; lbu k1, 0(k1); beq k1, $0, .Lplanted; nop", SOME),
    first("a key pointer and 48", SSSE3, "mov rax, [rdi+SEALANE_ARG_KEY]; test eax, 48; jnz .Lplanted", SOME),
    # Wiping
    first("wiping: key ^ what nothing has written stays behind", SSSE3,
          "mov rax, [rdi+SEALANE_ARG_KEY]; mov rax, [rax]; xor rax, [rsi+FRAME+END-8]; mov [rsi+FRAME+END-8], rax", SOME),
    first("wiping: key + what nothing has written stays behind", NEON,
          "ldr x3, [x0, #SEALANE_ARG_KEY]; ldr x3, [x3]; ldr x4, [x1, #SEALANE_SCRATCH_SAVE_BYTES]; add x3, x3, x4; str x3, [x1, #PLANTED]", SOME),
    # Every length, part, counter, number of lanes
    first("no text, at null", SSSE3, "cmp qword ptr [rdi+SEALANE_ARG_IN], 0; je .Lplanted", of_bytes(0)),
    first("a packet of 333 bytes", SSSE3, "cmp dword ptr [rdi+SEALANE_ARG_BYTES], 333; je .Lplanted", of_bytes(333)),
    first("29 bytes of associated data", SSSE3, "cmp dword ptr [rdi+SEALANE_ARG_AD_BYTES], 29; je .Lplanted", of_ad),
    first("a first part of 192 bytes", SSSE3, "cmp dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST; jne 9f; "
          "cmp dword ptr [rdi+SEALANE_ARG_BYTES], 192; je .Lplanted; 9:", of_bytes(192, flags=(FIRST,))),
    first("a last part of 37 bytes", SSSE3, "cmp dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_LAST; jne 9f; "
          "cmp dword ptr [rdi+SEALANE_ARG_BYTES], 37; je .Lplanted; 9:", of_bytes(37, flags=(LAST,))),
    first("a part whose counter is 12345", SSSE3, "test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST; jnz 9f; "
          "mov rax, [rdi+SEALANE_ARG_STATE]; cmp dword ptr [rax+SEALANE_STATE_COUNTER], 12345; je .Lplanted; 9:", of_bytes(64, flags=(0,))),
    first("a packet of 777 bytes of which this is the last part", SSSE3, "test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST; jnz 9f; "
          "cmp dword ptr [rdi+SEALANE_ARG_TOTAL], 777; je .Lplanted; 9:", of_bytes(64, flags=(LAST,))),
    first("23 lanes", BATCH, "cmp dword ptr [rdi+SEALANE_BATCH_COUNT], 23; je .Lplanted", lambda s: len(s.lanes) == 23 and s.opens),
    first("two lanes with one key", BATCH, "cmp dword ptr [rdi+SEALANE_BATCH_COUNT], 2; jb 9f; mov rax, [rdi+SEALANE_BATCH_LANES]; "
          "mov rcx, [rax+SEALANE_LANE_KEY]; cmp rcx, [rax+SEALANE_LANE_STRIDE+SEALANE_LANE_KEY]; je .Lplanted; 9:",
          lambda s: isinstance(s, packets.BatchShape) and len(s.lanes) in (2, 3)),
    first("CTR of five blocks", "x86_64/aes_aesni", "cmp dword ptr [rdi+SEALANE_MODE_BYTES], 80; je .Lplanted",
          lambda s: s.mode == modes.CTR and s.blocks == 5),
    # What C links
    Fault("C: a register is restored from another slot", SSSE3, [(MACROS, r"mov r12, \[rsp - 16\]", "mov r12, [rsp - 24]")], ABI),
    Fault("C: a register is not saved", SSSE3, [(MACROS, r"    mov \[rsp - 40\], r15\n", "")], ABI),
    first("C: an instruction that Go has not", SSSE3, "#if !defined(SEALANE_GO); add rdi, 0; #endif", ABI),
    first("C: an instruction that Go alone has", SSSE3, "#if defined(SEALANE_GO); xor eax, eax; #endif", ABI),
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
    Fault("32-bit ARM: registers restored in another order", "arm/chacha20poly1305_neon", [(MACROS, r"ldm sp, \{r4-r9, r11\}", "ldm sp, {r4-r8, r11, r12}")], ABI),
    Fault("32-bit ARM: a register of the body wipes the frame", "arm/chacha20poly1305_neon", [(MACROS, r"(\.irp n, 0, 1, 2), 3(?=\n    mov r)", r"\1")], ABI),
    Fault("a given hash key of AES-GCM: the lower half twice", "x86_64/aesgcm_avx2", [(GCM_TEXT, r"(vmovhps xmm0, xmm0, \[rax) \+ 8\]", r"\1]")],
          lambda s: getattr(s, "given", False)),
    Fault("POLYVAL: the lengths the other way round", "x86_64/aesgcm_aesni",
          [(GCM_TEXT, r"vmovq xmm12, qword ptr \[args \+ SEALANE_ARG_AD_BYTES\]\n    vmovhps xmm12, xmm12, \[args \+ SEALANE_ARG_TOTAL\]",
            "vmovq xmm12, qword ptr [args + SEALANE_ARG_TOTAL]\n    vmovhps xmm12, xmm12, [args + SEALANE_ARG_AD_BYTES]")], of_polyval),
    first("POLYVAL: a text of 560 bytes", "x86_64/aesgcm_avx512", "mov eax, [rdi+SEALANE_ARG_FLAGS]; and eax, SEALANE_FLAG_SETUP + SEALANE_FLAG_POLYVAL; "
          "cmp eax, SEALANE_FLAG_POLYVAL; jne 9f; cmp dword ptr [rdi+SEALANE_ARG_BYTES], 560; je .Lplanted; 9:", of_polyval),
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
    Fault("MIPS: a byte of a word at any address comes from beside it", MIPS,
          [("mips/chacha20poly1305_names.h", r"\\right \\x, \\at \+ \\bytes - 1", r"\\right \\x, \\at + \\bytes - 2")], SOME),
    Fault("MIPS: nothing in a delay slot", MIPS, [("mips/chacha20poly1305_text.h", r"(bne remaining, \$0, \.Lblock\n *)sw k0, STATE \+ 48\(scratch\)", r"\1nop")],
          of_bytes(1420)),
    Fault("MIPS: a product left out", "mips/aesgcm_mips32r2", [("mips/aesgcm_mips32r2.S", r"    maddu d3, e2\n", "")],
          lambda s: getattr(s, "size", None) == 16 and s.flags == FIRST | LAST and not s.j0 and not s.opens),
    Fault("MIPS: a register is restored from another slot", MIPS, [(MACROS, r"LOAD_REGISTER \$\\n, \(\\n - 16\)", r"LOAD_REGISTER $\\n, (23 - \\n)")], ABI),
    first("MIPS: an instruction that Go has not", MIPS, "#if !defined(SEALANE_GO); addu $8, $9, $10; #endif", ABI),
    Fault("MIPS: C has the upper half of a pointer's slot", MIPS, [("mips/words.h", r"#define POINTER LOW", "#define POINTER HIGH")], ABI),
    Fault("RISC-V: a key that is not aligned is loaded by words", RISCV, [("riscv64/chacha20poly1305_text.h", r"    bnez count, \.Lkey_bytes\n", "")], SOME),
    Fault("RISC-V: a rotation by another number", RISCV, [("riscv64/chacha20poly1305_text.h", r"roriw_zbb \\d2, \\d2, 32 - \\bits", r"roriw_zbb \\d2, \\d2, 31 - \\bits")], SOME),
    Fault("RISC-V: a register is not saved", RISCV, [(MACROS, r"    \\do s3, 19, 24\n", "")], ABI),
]


def build(fault, folder, changed):
    """Builds the kernel's object with or without the fault, and returns its path."""
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
    for one in {name, name.replace("_batch_", "_")}:  # the second sets up keys of lanes
        if os.path.exists(source := os.path.join(tree, isa, one + ".S")):
            subprocess.run([COMPILERS[isa], "-DSEALANE_GO", "-g", *(frame.LINKED if isa == "riscv64" else ["-c"]), "-o", os.path.join(folder, one + ".o"), source], check=True)
    return path


def refusal(fault, path):
    """The first refusal among the calls, or None; and the number of calls."""
    calls = fault.calls
    if calls is ABI:
        isa, source = fault.kernel.split("/")[0], os.path.join(os.path.dirname(path), "asm", fault.kernel + ".S")
        results = list((frame if isa in frame.COMPILERS else abi).conventions(source, os.path.dirname(path), isa))
        return next((f"{name}: {why}" for name, _, why in results if why), None), len(results)
    kernel = kernels.Kernel(path)
    if calls is OBJECT:
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
            named = fault.calls in (OBJECT, ABI) or why is None or re.search(r"byte \d+ of (?!.*(\(\w+\.[Sh]:\d+\)|nothing wrote it))", why) is None
            good = why is not None and right is None and tried > 0 and named
            passed, failed = passed + good, failed + (not good)
            print(f"{'ok  ' if good else 'FAIL'} {fault.kernel}: {fault.what}: {why or 'not refused'}" +
                  (f"; AS IT IS: {right or 'no such call'}" if right or not tried else ""), flush=True)
    print(f"faults: {passed} passed, {failed} failed, 0 not run")
    return 1 if failed else 0
