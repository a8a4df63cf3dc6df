"""Plants faults in the source of kernels, as an attacker would. The prover must refuse each, and accept the kernel without it.

    mutation.faults [NAME...]

A fault is a change of the source, and the calls of a full run that it is tried in.
The exit status is 1 if the prover accepts a fault or refuses a kernel, or if a fault does not fit the source.
"""
import argparse
import contextlib
import functools
import importlib
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

from induction import engine, sectioned, sections
from run import linked, lists, modes, packets, proof
from run.kernels import Kernel
from run.report import summary
from spec.args import A, FIRST, LAST, OPEN, ROOT, WHOLE
from values.terms import Unproved

COMPILERS = {isa + order: command for isa, found in linked.CONVENTIONS.items() for order, command in zip(("", "el"), found.values())}
ENTRY, LEAVE = r"^( *function (?:KERNEL\w*|sealane_\w+)(?:, later)?\n)", r"^( *endfunction\b)"
ABI, OBJECT = "abi", "object"


class Every(NamedTuple):
    """The tasks of an induction whose names match a pattern. quick: as with --quick."""

    induction: str
    names: str
    quick: bool = False


class Fault:
    """kernel: ISA/name. changes: (file, pattern, replacement). calls: a function that selects calls of a full run, or of
    --lanes. Or it is ABI for the code that C links (run/linked.py); OBJECT for only reading the object; or Every."""

    def __init__(self, what, kernel, changes, calls):
        self.what, self.kernel, self.changes, self.calls = what, kernel, changes, calls
        self.isa, self.name = kernel.split("/")
        self.source = f"{self.isa.removesuffix('el')}/{self.name}.S"


def first(what, kernel, text, calls):
    """A fault that the kernel executes first. The branch target .Lplanted is its end, so that it returns at once."""
    fault = Fault(what, kernel, [], calls)
    file = FILES.get(kernel, fault.source)
    lines = "".join(f"    {line}\n" for line in text.split("; "))
    fault.changes = [(file, ENTRY, r"\1" + lines), (file, LEAVE, r".Lplanted:\n\1")]
    return fault


def when(what, kernel, calls, **slots):
    """A fault of x86-64 in calls whose slots of arguments hold these numbers."""
    return first(what, kernel, "; ".join(f"cmp dword ptr [rdi+SEALANE_{slot}], {n}; jne 9f" for slot, n in slots.items()) + "; jmp .Lplanted; 9:", calls)


@functools.cache
def calls(kind=object, **wanted):
    """Selects the calls whose attributes have these values, or one of those in a tuple."""
    wanted = {name: v if isinstance(v, tuple) else (v,) for name, v in wanted.items()}
    return lambda s: isinstance(s, kind) and all(getattr(s, name, "none") in vs for name, vs in wanted.items())


def of_bytes(*sizes, flags=WHOLE):
    return calls(size=sizes, ad=0, flags=flags)


def of_gcm(*sizes, flags=WHOLE, **more):
    return calls(packets.GcmShape, size=sizes, ad=0, flags=flags, given=False, **more)


def of_counter(counter, *sizes):
    """Middle parts of AES-GCM, where the counter is public; it is one more in the state."""
    return of_gcm(*sizes, flags=0, counter=counter, j0=False)


def of_mode(mode, *blocks):
    return calls(mode=mode, blocks=blocks, lanes=0)


def of_mixed_lanes(s):
    """Three or four lanes of a batch, of different lengths: with separate keys, one key, and one for each two."""
    return isinstance(s, packets.BatchShape) and len(s.lanes) in (3, 4) and 1 < len(set(s.lanes)) and max(s.lanes) < (200,)


SOME, ONE = of_bytes(0, 10, 64, 65), of_bytes(65)
POLYVAL, OF_AD = calls(packets.PolyvalShape, size=(33, 560)), calls(ad=29, opens=False, flags=WHOLE)
NEON, RISCV, MIPS = "aarch64/chacha20poly1305_neon", "riscv64/chacha20poly1305_zbb", "mips/chacha20poly1305_mips32r2"
MIPSEL, MIPS64, MIPS64EL = "mipsel/chacha20poly1305_mips32r2", "mips64/chacha20poly1305_mips64r2", "mips64el/chacha20poly1305_mips64r2"
SSSE3, AVX512, BATCH = (f"x86_64/chacha20poly1305_{level}" for level in ("ssse3", "avx512", "batch_avx2"))
RVV, ZVKB, ZVKNED, GCM_ZVKNED = (f"riscv64/{name}" for name in ("chacha20poly1305_rvv", "chacha20poly1305_zvkb", "aes_zvkned", "aesgcm_zvkned"))
VECTORS, FIRST_KEY_BYTE = "riscv64/chacha20poly1305_vector.h", "vsetivli zero, 1, e8, m1, ta, ma; ld t0, SEALANE_ARG_KEY(a0); vle8.v v1, (t0); vmv.x.s t1, v1; "
AES, GCM = "x86_64/aes_aesni", "x86_64/aesgcm_aesni"
MACROS, TEXT, GCM_TEXT, MIPS64_TEXT = "asm.S", SSSE3 + ".S", "x86_64/aesgcm_kernel.h", MIPS64 + ".S"
FILES = {MIPS: "mips/chacha20poly1305_text.h", RVV: VECTORS, NEON: NEON + ".h", GCM: "x86_64/aesgcm_xmm.h"}  # of functions

ADD_64 = [("x86_64/aes_instructions.h", r"vpaddd (\\to, \\x, \\y)", r"vpaddq \1")]  # in counters of 32 bits
# Beginnings of faults of three lanes or more, with the first one's key in rcx; of an operation; of a middle part's counter. Others go on at 9.
KEYS_OF_LANES = "cmp dword ptr [rdi+SEALANE_BATCH_COUNT], 3; jb 9f; mov rax, [rdi+SEALANE_BATCH_LANES]; mov rcx, [rax+SEALANE_LANE_KEY]; "
IF_MODE = "cmp dword ptr [rdi+SEALANE_MODE_OPERATION], SEALANE_AES_{}; jne 9f; "
IF_COUNTER = "ldr x3, [x0, #SEALANE_ARG_FLAGS]; and x3, x3, #~SEALANE_FLAG_OPEN; cmp x3, #SEALANE_FLAG_NONCE; b.ne 9f; " \
    "ldr x4, [x0, #SEALANE_ARG_STATE]; ldr w3, [x4, #SEALANE_GCM_STATE_COUNTER+12]; rev w3, w3; cmn w3, #{}; b.eq {}; 9:"
MORE_SCRATCH = r"^scratch_end FRAME \+ END\n", "scratch_end FRAME + END + 64\n"
# A long middle part of AES-GCM leaves another state, if it has what the text in place of {} asks for.
PART_WITH = """\\g<0>    test flag_bits, SEALANE_FLAG_FIRST + SEALANE_FLAG_POLYVAL
    jnz 9f{}
    cmp qword ptr [args + SEALANE_ARG_BYTES], 384
    jbe 9f
    vmovdqu [rax + SEALANE_GCM_STATE_Y], xmm0
9:
"""
FINISH_PART = r"^\.Lfinish_part:\n.*\n    vmovdqu \[rax \+ SEALANE_GCM_STATE_Y\], xmm11\n"
# The last block of a text of at least 128 bytes, of which it has 5, gets the counter in r2.
ARMV6, ARMV6_TEXT = "arm/chacha20poly1305_armv6", "arm/chacha20poly1305_armv6.S"
BLOCK, ENCRYPT = r"^\.Lblock:\n    add r12, r1, #STATE \+ 32\n", r"^\.Lencrypt:\n"
OF_LAST_BLOCK = """\\g<0>    ldr r2, [r1, #PHASE]
    cmp r2, #PHASE_TEXT
    ldreq r2, [r1, #60]
    cmpeq r2, #1
    ldreq r2, [r1, #REMAINING]
    cmpeq r2, #5
    bne 9f{}
    str r2, [r1, #STATE + 48]
9:
"""
KEPT_AT_ENCRYPT = """\\g<0>    ldr r12, [r1, #STATE + 48]
    str r12, [r1, #56]
    mov r12, #0
    ldr r11, [r1, #REMAINING]
    cmp r11, #128
    movhs r12, #1
    str r12, [r1, #60]
"""
COMPLEMENT = """    ldr r11, [r1, #FLAGS]
    tst r11, #7
    bne 9f
    ldr r2, [r1, #ARGS]
    ldr r2, [r2, #SEALANE_ARG_STATE]
    ldr r3, [r2, #SEALANE_STATE_S]
    mvn r3, r3
    str r3, [r2, #SEALANE_STATE_S]
9:
"""

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
    Fault("in place: a load behind a store, texts of 4 to 15 bytes", SSSE3,
          [("x86_64/chacha20poly1305_integer.h", r"( *mov \\y, \[rax.*\n)( *xor \\x.*\n)( *xor \\y.*\n)( *mov \[rdi\], \\x\n)", r"\2\4\1\3")], of_bytes(10)),
    first("output that is input is told by its address", SSSE3,
          "mov rax, [rdi+SEALANE_ARG_IN]; cmp rax, [rdi+SEALANE_ARG_OUT]; je .Lplanted", SOME),
    # Constant time
    first("time: an address depends on the key", SSSE3,
          "mov rax, [rdi+SEALANE_ARG_KEY]; movzx eax, byte ptr [rax]; and eax, 7; movzx eax, byte ptr [rdi+rax]", SOME),
    first("time: a shift count depends on the key", SSSE3,
          "mov rcx, [rdi+SEALANE_ARG_KEY]; movzx ecx, byte ptr [rcx]; mov eax, 1; shl eax, cl; xor eax, eax", SOME),
    first("time: a mask of an access depends on the key", AVX512,
          "mov rax, [rdi+SEALANE_ARG_KEY]; kmovq k1, [rax]; vmovdqu8 zmm0{k1}{z}, [rdx]; vpxor xmm0, xmm0, xmm0", SOME),
    first("time: a mask of bits to move depends on the key", AVX512,
          "mov rax, [rdi+SEALANE_ARG_KEY]; mov rax, [rax]; pdep rcx, rax, rax; xor ecx, ecx; xor eax, eax", SOME),
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
    when("a packet of 333 bytes", SSSE3, of_bytes(333), ARG_BYTES=333),
    when("an opened packet of 334 bytes", SSSE3, of_bytes(334), ARG_FLAGS=WHOLE | OPEN, ARG_BYTES=334),
    when("29 bytes of associated data", SSSE3, OF_AD, ARG_AD_BYTES=29),
    when("a first part of 192 bytes", SSSE3, of_bytes(192, flags=FIRST), ARG_FLAGS=FIRST, ARG_BYTES=192),
    when("a middle part of 384 bytes", SSSE3, of_bytes(384, flags=0), ARG_FLAGS=0, ARG_BYTES=384),
    when("a last part of 37 bytes", SSSE3, of_bytes(37, flags=LAST), ARG_FLAGS=LAST, ARG_BYTES=37),
    when("a text of 1,000,000 bytes", SSSE3, Every("chacha_loop", "seal", True), ARG_BYTES=1_000_000),
    Fault("1,000,000 bytes of associated data", SSSE3, [("x86_64/chacha20poly1305_integer.h", r"(jz \.Lpoly_ad_none\\@\n    poly_load\n)",
                                                         r"\1    cmp rcx, 1000000\n    je .Lplanted\n"), (TEXT, LEAVE, r".Lplanted:\n\1")], Every("ad", "seal 1, .*")),
    first("a last part of a packet with associated data", SSSE3, "cmp dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_LAST; jne 9f; "
          "cmp qword ptr [rdi+SEALANE_ARG_AD_BYTES], 0; jne .Lplanted; 9:", of_bytes(37, flags=LAST)),
    first("a part whose counter is 12345", SSSE3, "test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST; jnz 9f; "
          "mov rax, [rdi+SEALANE_ARG_STATE]; cmp dword ptr [rax+SEALANE_STATE_COUNTER], 12345; je .Lplanted; 9:",
          of_bytes(64, flags=0)),
    first("a packet of 777 bytes of which this is the last part", SSSE3, "test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST; jnz 9f; "
          "cmp dword ptr [rdi+SEALANE_ARG_TOTAL], 777; je .Lplanted; 9:", of_bytes(64, flags=LAST)),
    when("23 lanes", BATCH, lambda s: len(s.lanes) == 23 and s.opens, BATCH_COUNT=23),
    first("two lanes with one key", BATCH, "cmp dword ptr [rdi+SEALANE_BATCH_COUNT], 2; jb 9f; mov rax, [rdi+SEALANE_BATCH_LANES]; "
          "mov rcx, [rax+SEALANE_LANE_KEY]; cmp rcx, [rax+SEALANE_LANE_STRIDE+SEALANE_LANE_KEY]; je .Lplanted; 9:",
          lambda s: isinstance(s, packets.BatchShape) and len(s.lanes) in (2, 3)),
    when("AES-GCM: an opened packet of 157 bytes", GCM, of_gcm(157), ARG_FLAGS=WHOLE | OPEN | A["FLAG_NONCE"], ARG_BYTES=157),
    when("AES-GCM: a nonce of another length than 12 bytes, and 80 bytes of text", GCM, of_gcm(80), ARG_FLAGS=WHOLE, ARG_BYTES=80),
    first("AES-GCM: a last part reads the nonce", GCM, "cmp dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_LAST; jne 9f; "
          "mov rax, [rdi+SEALANE_ARG_NONCE]; movzx eax, byte ptr [rax]; 9:", of_gcm(64, flags=LAST)),
    first("AES-GCM: a key of 192 bits", GCM, "test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_SETUP; jnz 9f; mov rax, [rdi+SEALANE_ARG_KEY]; "
          "cmp dword ptr [rax+SEALANE_GCM_KEY_ROUNDS], 12; je .Lplanted; 9:", of_gcm(16, 17)),
    Fault("AES-GCM: only when the 32-bit counter wraps, it runs into the next one", GCM,
          [("x86_64/aesgcm_xmm.h", r"vpaddd (\\to, \\to, \[consts\+COUNT\])", r"vpaddq \1")], of_gcm(160, 192)),
    first("AES-GCM: a part whose counter is 2^32 - 1", "aarch64/aesgcm_ce", IF_COUNTER.format(1, ".Lplanted"), of_counter(0xfffffffe, 64)),
    first("AES-GCM: a part whose counter is 2^32 - 2 reads a byte behind the state", "aarch64/aesgcm_neon",
          IF_COUNTER.format(2, "8f") + "; b 9f; 8:; ldrb w3, [x4, #SEALANE_GCM_STATE_BYTES]; 9:", of_counter(0xfffffffd, 0, 64)),
    first("one key for all lanes", BATCH, KEYS_OF_LANES + "cmp rcx, [rax+2*SEALANE_LANE_STRIDE+SEALANE_LANE_KEY]; je .Lplanted; 9:", of_mixed_lanes),
    first("a key for each two lanes", BATCH, KEYS_OF_LANES + "cmp rcx, [rax+SEALANE_LANE_STRIDE+SEALANE_LANE_KEY]; jne 9f; "
          "cmp rcx, [rax+2*SEALANE_LANE_STRIDE+SEALANE_LANE_KEY]; jne .Lplanted; 9:", of_mixed_lanes),
    first("lanes with separate keys", BATCH, KEYS_OF_LANES + "cmp rcx, [rax+SEALANE_LANE_STRIDE+SEALANE_LANE_KEY]; jne .Lplanted; 9:",
          of_mixed_lanes),
    first("10 lanes with separate keys", BATCH, KEYS_OF_LANES + "cmp dword ptr [rdi+SEALANE_BATCH_COUNT], 10; jne 9f; "
          "cmp rcx, [rax+SEALANE_LANE_STRIDE+SEALANE_LANE_KEY]; jne .Lplanted; 9:", lambda s: len(s.lanes) == 10),
    first("masks with one key", "x86_64/chacha20masks_avx2", "mov rax, [rdi+SEALANE_MODE_LANES]; mov rcx, [rax+SEALANE_MODE_LANE_KEY]; "
          "cmp rcx, [rax+SEALANE_LANE_STRIDE+SEALANE_MODE_LANE_KEY]; je .Lplanted", calls(mode=None, lanes=3)),
    first("CBC encryption of 3 lanes with one key", AES, IF_MODE.format("CBC_ENCRYPT") + "mov rax, [rdi+SEALANE_MODE_LANES]; "
          "mov rcx, [rax+SEALANE_MODE_LANE_KEY]; cmp rcx, [rax+SEALANE_LANE_STRIDE+SEALANE_MODE_LANE_KEY]; je .Lplanted; 9:",
          calls(mode=modes.CBC_ENCRYPT, lanes=3)),
    first("16 lanes of other lengths, first 16 bytes", BATCH, "cmp dword ptr [rdi+SEALANE_BATCH_COUNT], 16; jne 9f; "
          "mov rax, [rdi+SEALANE_BATCH_LANES]; cmp dword ptr [rax+SEALANE_LANE_BYTES], 16; je .Lplanted; 9:", lambda s: [n for n, _ in s.lanes] == [*range(16, 32)]),
    when("masks of 19 lanes", "x86_64/chacha20masks_avx2", calls(mode=None, lanes=19), MODE_COUNT=19),
    when("masks of 37 lanes by AES", AES, calls(mode=modes.MASKS, lanes=37), MODE_OPERATION=modes.MASKS, MODE_COUNT=37),
    Fault("masks of 9 lanes: a branch on a word of scratch", "arm/aes_neon", [("arm/aes_neon.S", r" *ldr r0, \[r1, #ARGS\] .*used r0 \*/\n", "")],
          calls(mode=modes.MASKS, lanes=9, bits=128, same_key=False)),
    when("CBC encryption of 7 lanes", AES, calls(mode=modes.CBC_ENCRYPT, lanes=7),
         MODE_OPERATION=modes.CBC_ENCRYPT, MODE_COUNT=7),
    when("CTR of five blocks", AES, of_mode(modes.CTR, 5), MODE_OPERATION=modes.CTR, MODE_BYTES=80),
    when("XTS decryption of 7 blocks", AES, of_mode(modes.XTS_DECRYPT, 7), MODE_OPERATION=modes.XTS_DECRYPT, MODE_BYTES=112),
    when("CTR whose counter begins a block, of 33 blocks", AES, of_mode(modes.CTR_LITTLE, 33), MODE_OPERATION=modes.CTR_LITTLE, MODE_BYTES=528),
    first("CBC decryption with a key of 256 bits", AES, IF_MODE.format("CBC_DECRYPT") + "mov rax, [rdi+SEALANE_MODE_KEY]; "
          "cmp dword ptr [rax+SEALANE_AES_KEY_ROUNDS], 14; je .Lplanted; 9:", of_mode(modes.CBC_DECRYPT, 1, 2, 3)),
    first("the set-up of a key of 192 bits", AES, IF_MODE.format("SETUP") + "mov rax, [rdi+SEALANE_MODE_KEY]; "
          "cmp dword ptr [rax+SEALANE_AES_KEY_ROUNDS], 12; je .Lplanted; 9:", of_mode(modes.SETUP, 1)),
    Fault("CTR: only when the 32-bit counter wraps, it runs into the nonce", AES, ADD_64,
          of_mode(modes.CTR, 5)),
    # What C links
    Fault("C: a register is restored from another slot", SSSE3, [(MACROS, r"mov r12, \[rsp - 16\]", "mov r12, [rsp - 24]")], ABI),
    Fault("C: a register is not saved", SSSE3, [(MACROS, r"    mov \[rsp - 40\], r15\n", "")], ABI),
    first("macOS: an instruction that others have not", SSSE3, "#if defined(__APPLE__); add rdi, 0; #endif", ABI),
    first("C: an instruction that Go has not", SSSE3, "#if !defined(SEALANE_GO); add rdi, 0; #endif", ABI),
    first("C: an instruction that Go alone has", SSSE3, "#if defined(SEALANE_GO); xor eax, eax; #endif", ABI),
    Fault("C: a branch to elsewhere", SSSE3, [(TEXT, r"^( *)je \.Lauthenticate_tail", """#if defined(SEALANE_GO)
    je .Lauthenticate_tail
#else
    je .Lpassed
#endif""")], ABI),
    Fault("C: a register is touched before it is saved", "x86_64/aesgcm_avx512", [("x86_64/aesgcm_avx512.S", ENTRY, r"\1    mov r12, rax\n")], ABI),
    Fault("C: a path that does not save registers", GCM,
          [(MACROS, r"(\.cfi_remember_state\n)    save_registers\n", r"\1")], ABI),
    Fault("C: a path that does not load registers", GCM,
          [(MACROS, r"(macro restore_registers\n#if defined\(SEALANE_SAVES_LATER\)\n)    load_registers\n", r"\1")], ABI),
    Fault("C: a register is read after it was loaded", GCM,
          [(FILES[GCM], r"^    restore_registers\n", r"\g<0>    mov rax, r12\n")], ABI),
    Fault("Windows: a register is restored from another slot", SSSE3, [(MACROS, r"mov rsi, \[rsp \+ 208\]", "mov rsi, [rsp + 200]")], ABI),
    Fault("Windows: a vector register is not saved", SSSE3, [(MACROS, r"\.irp n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n    win64_save_vector",
                                                             ".irp n, 6, 7, 8, 9, 10, 11, 12, 13, 14\n    win64_save_vector")], ABI),
    Fault("AArch64: two pairs in one slot", NEON, [(MACROS, r"\\do x25, x26, 25, 112", r"\\do x25, x26, 25, 96")], ABI),
    Fault("32-bit ARM: registers restored in another order", "arm/chacha20poly1305_neon", [(MACROS, r"ldm sp, \{r4-r9, r11\}", "ldm sp, {r4-r8, r11, r12}")], ABI),
    Fault("32-bit ARM: a register of the body wipes the frame", "arm/chacha20poly1305_neon", [(MACROS, r"(\.irp n, 0, 1, 2), 3(?=\n    mov r)", r"\1")], ABI),
    Fault("MIPS: a register of the body wipes the frame", MIPS64, [(MACROS, r"STORE_REGISTER \$0,", "STORE_REGISTER $8,")], ABI),
    Fault("a given hash key of AES-GCM: the lower half twice", "x86_64/aesgcm_avx2", [(GCM_TEXT, r"(vmovhps xmm0, xmm0, \[rax) \+ 8\]", r"\1]")],
          calls(given=True)),
    Fault("POLYVAL: the lengths the other way round", "x86_64/aesgcm_aesni",
          [(GCM_TEXT, r"vmovq xmm12, qword ptr \[args \+ SEALANE_ARG_AD_BYTES\]\n    vmovhps xmm12, xmm12, \[args \+ SEALANE_ARG_TOTAL\]",
            "vmovq xmm12, qword ptr [args + SEALANE_ARG_TOTAL]\n    vmovhps xmm12, xmm12, [args + SEALANE_ARG_AD_BYTES]")], POLYVAL),
    when("POLYVAL: a middle part of 64 bytes", GCM, calls(packets.PolyvalShape, size=64),
         ARG_FLAGS=A["FLAG_POLYVAL"], ARG_BYTES=64),
    when("POLYVAL: a text of 560 bytes", "x86_64/aesgcm_avx512", POLYVAL,
         ARG_FLAGS=WHOLE | A["FLAG_POLYVAL"], ARG_BYTES=560),
    Fault("POLYVAL: a reduction left out between groups of eight blocks", "aarch64/aesgcm_ce",
          [("aarch64/aesgcm_ce.S", r"    reduce \\i, mid\n", "")], POLYVAL),
    Fault("POLYVAL: the block of the lengths as GHASH has it", "aarch64/aesgcm_neon",
          [("aarch64/aesgcm_neon.S", r"    tbz flags, #5, \.Llengths_append\n", "    b .Llengths_append\n")], POLYVAL),
    Fault("32-bit ARM, POLYVAL: the lengths the other way round", "arm/aesgcm_ce32",
          [("arm/aesgcm_text.h", r"length_in_bits SEALANE_ARG_TOTAL\n    length_in_bits SEALANE_ARG_AD_BYTES",
            "length_in_bits SEALANE_ARG_AD_BYTES\n    length_in_bits SEALANE_ARG_TOTAL")], POLYVAL),
    Fault("32-bit ARM, a counter at a block's begin: all blocks have the first one's", "arm/aes_ce32",
          [("arm/aes_ce32.S", r"(vmov\.32 \\first\[0\], r2\n)    add r2, r2, #1\n", r"\1")],
          of_mode(modes.CTR_LITTLE, 2, 9)),
    Fault("a counter at a block's begin that runs into the nonce", "x86_64/aes_aesni",
          ADD_64, of_mode(modes.CTR_LITTLE, 2, 9)),
    Fault("MIPS: a byte of a word at any address comes from beside it", MIPS,
          [("mips/chacha20poly1305_names.h", r"\\right \\x, \\at \+ \\bytes - 1", r"\\right \\x, \\at + \\bytes - 2")], SOME),
    Fault("MIPS, least significant byte first: a byte of a word at any address comes from beside it", MIPSEL,
          [("mips/words.h", r"#else\n    \\left \\x, \\at \+ \\bytes - 1", r"#else\n    \\left \\x, \\at + \\bytes - 2")], ONE),
    Fault("MIPS64, most significant byte first: bytes are not put in order", MIPS64, [(MIPS64_TEXT, r"    dsbh \\x, \\x\n", "")], ONE),
    Fault("MIPS64, least significant byte first: half a block at any address comes from beside it", MIPS64EL,
          [("mips/chacha20poly1305_names.h", r"(#else\n.*\n    \\right \\y, \\at \+ \\bytes)\(", r"\1 + 1(")], ONE),
    Fault("MIPS64: aligned text alone is stored elsewhere", MIPS64EL, [(MIPS64_TEXT, r"    sd \\x, \\at\(output\)", r"    sd \\x, 0(output)")], ONE),
    first("MIPS: input at a multiple of 4, output not", MIPS, "load_pointer k0, SEALANE_ARG_IN, args; andi k0, k0, 3; bne k0, $0, 9f; nop; "
          "load_pointer k0, SEALANE_ARG_OUT, args; andi k0, k0, 3; bne k0, $0, .Lplanted; nop; 9:", ONE),
    first("MIPS: associated data at an odd multiple of 2", MIPS, "load_pointer k0, SEALANE_ARG_AD, args; andi k1, k0, 1; bne k1, $0, 9f; nop; "
          "andi k0, k0, 2; bne k0, $0, .Lplanted; nop; 9:", OF_AD),
    Fault("MIPS: nothing in a delay slot", MIPS, [("mips/chacha20poly1305_text.h", r"(bne remaining, \$0, \.Lblock\n *)sw k0, STATE \+ 48\(scratch\)", r"\1nop")],
          of_bytes(1420)),
    Fault("MIPS: a product left out", "mips/aesgcm_mips32r2", [("mips/aesgcm_mips32r2.S", r"    maddu d3, e2\n", "")],
          calls(size=16, flags=WHOLE, j0=False, opens=False)),
    Fault("MIPS: a register is restored from another slot", MIPS, [(MACROS, r"LOAD_REGISTER \$\\n, \(\\n - 16\)", r"LOAD_REGISTER $\\n, (23 - \\n)")], ABI),
    first("MIPS: a return without restored registers", MIPS, "bne $4, $0, 9f; nop; jr $31; nop; 9:", ABI),
    first("C: a return without restored registers", NEON, "cbnz x0, 9f; ret; 9:", ABI),
    first("MIPS: an instruction that Go has not", MIPS, "#if !defined(SEALANE_GO); addu $8, $9, $10; #endif", ABI),
    Fault("MIPS: C has the upper half of a pointer's slot", MIPS, [("mips/words.h", r"#define POINTER LOW", "#define POINTER HIGH")], ABI),
    Fault("RISC-V: a key that is not aligned is loaded by words", RISCV, [("riscv64/chacha20poly1305_text.h", r"    bnez count, \.Lkey_bytes\n", "")], SOME),
    Fault("RISC-V: a rotation by another number", RISCV, [("riscv64/chacha20poly1305_text.h", r"roriw_zbb \\d2, \\d2, 32 - \\bits", r"roriw_zbb \\d2, \\d2, 31 - \\bits")], SOME),
    Fault("RISC-V: a register is not saved", RISCV, [(MACROS, r"    \\do s3, 19, 24\n", "")], ABI),
    # Vectors of 128 bits
    Fault("vectors: one counter for three blocks", RVV, [(VECTORS, r"(all_words add_word\n    vid\.v shifted0\n)",
          r"\1    li k0, 3\n    bne blocks, k0, 1f\n    vmv.v.i shifted0, 0\n1:\n")], of_bytes(10, 100)),
    Fault("vectors: whole words only are encrypted", RVV, [(VECTORS, r"    vxor\.vv v8, v8, v0\n", """    srli k1, k0, 2
    vsetvli zero, k1, e32, m8, ta, ma
    vxor.vv v8, v8, v0
    vsetvli zero, k0, e8, m8, ta, ma
""")], of_bytes(10, 64)),
    Fault("vectors: zeroes are expected behind vl", RVV, [(VECTORS, r"    copy_bytes k1, m4, k0, message\n", """    vsetvli zero, k1, e8, m4, ta, ma
    vle8.v v0, (k0)
    li k2, 64
    vsetvli zero, k2, e8, m4, ta, ma
    vse8.v v0, (message)
""")], OF_AD),
    Fault("vectors: the key's first half is not wiped", RVV, [(VECTORS, r"END_VECTOR - STATE\n    addi k0, a1, STATE$",
          "END_VECTOR - STATE - 32\n    addi k0, a1, STATE + 32")], SOME),
    Fault("vectors: 16 bytes of a nonce", RVV, [(VECTORS, r"li k2, 12$", "li k2, 16")], SOME),
    Fault("vectors: as many bytes as they hold", RVV, [(VECTORS, r"vsetvli k0, p0, e8, m8", "vsetvli k0, zero, e8, m8")], of_bytes(10, 100)),
    Fault("vectors: a shift of one element", ZVKB, [(VECTORS, r"^(\.Lrounds_done:\n)",
          r"\1    vsetivli zero, 1, e32, m1, tu, ma\n    vror_vi_zvkb w3, 1\n    vsetvli zero, blocks, e32, m1, ta, ma\n")], of_bytes(100)),
    first("vectors: a branch on the key", RVV, FIRST_KEY_BYTE + "beqz t1, .Lplanted", SOME),
    first("vectors: as many elements as a byte of the key says", RVV, FIRST_KEY_BYTE + "vsetvli zero, t1, e8, m1, ta, ma", SOME),
    first("vectors: a key at any address is loaded by words", RVV, "vsetivli zero, 4, e32, m1, ta, ma; ld t0, SEALANE_ARG_KEY(a0); vle32.v v1, (t0)", SOME),
    first("vectors: before their length is set", RVV, "vmv.v.i v1, 0", SOME),
    Fault("vectors, CBC: blocks are two behind", ZVKNED, [(ZVKNED + ".S", r"(vslideup\.vi v\(chain\), v\(text\)), 4", r"\1, 8")],
          calls(mode=modes.CBC_DECRYPT, bits=128, blocks=(*range(9),))),
    Fault("vectors, XTS: the tweak behind a last chunk", ZVKNED, [(ZVKNED + ".S", r"add t0, a2, bytes  ", "add t0, a2, chunk")],
          calls(mode=modes.XTS_ENCRYPT, bits=128, blocks=(*range(9),))),
    Fault("vectors, AES-GCM: the first chunk's power for the last", GCM_ZVKNED, [(GCM_ZVKNED + ".S", r"(bne src, last, \\label\n)    mv factors, weights\n", r"\1")],
          calls(size=200, bits=128, flags=WHOLE)),
    # Addresses
    first("an address that is right only in a run", SSSE3, "movzx eax, byte ptr [rdi+0x30000]", SOME),
    first("a constant address", SSSE3, "mov eax, 0x40000; movzx eax, byte ptr [rax]", SOME),
    first("AArch64: an index that reaches another buffer", NEON, "mov x3, #0x30000; ldrb w3, [x0, x3]", SOME),
    first("a pointer in the lowest 64 KiB", SSSE3, "cmp qword ptr [rdi+SEALANE_ARG_TAG], 65536; jb .Lplanted", SOME),
    first("AArch64: a tagged pointer", NEON, "ldr x3, [x0, #SEALANE_ARG_IN]; tbnz x3, #63, .Lplanted", SOME),
    Fault("a mask that leaves out bytes, which vpermq reads", "x86_64/aes_avx512",
          [("x86_64/aes_avx512.S", r"vmovdqu64 (\\to\{k1\}\{z\}, \[\\at\])", r"vpermq \1, 0xe4")], of_mode(modes.CTR, 1, 5)),
    first("AArch64: a store of the register that it moves", NEON,
          "add x3, x1, #PLANTED; .inst 0xf8008463; ldr x4, [x3, #-8]; cmp x3, x4; b.ne .Lplanted", SOME),
    first("32-bit ARM: a load of the register that it moves", "arm/chacha20poly1305_neon",
          "ldr r3, [r0, #SEALANE_ARG_NONCE]; .inst 0xe4933004", SOME),
    first("32-bit ARM: both halves of a product in one register", "arm/chacha20poly1305_neon", "mov r4, #3; mov r5, #5; .inst 0xe0833594", SOME),
    first("a prefix that VEX does not allow", AVX512, ".byte 0x66, 0xc5, 0xf9, 0x6f, 0xc1", SOME),
    # Secrets of other calls
    first("wiping: old output stays behind", SSSE3, "cmp dword ptr [rdi+SEALANE_ARG_BYTES], 0; je 9f; mov rax, [rdi+SEALANE_ARG_OUT]; "
          "movzx eax, byte ptr [rax]; mov [rsi+FRAME+END-8], al; 9:", SOME),
    first("wiping: the last packet's r stays behind", SSSE3, "cmp dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST; jne 9f; "
          "mov rax, [rdi+SEALANE_ARG_STATE]; mov rax, [rax+SEALANE_STATE_R]; mov [rsi+FRAME+END-8], rax; 9:", of_bytes(64, flags=FIRST)),
    Fault("wiping: old scratch in the upper half of a vector", "x86_64/chacha20poly1305_avx2",
          [("x86_64/chacha20poly1305_vex.h", r"^    vzeroupper\n", r"\g<0>    vmovdqu ymm5, [rsi+END-64]\n")], of_bytes(10)),
    Fault("wiping: a product stays behind associated data of any length", SSSE3, [(TEXT, *MORE_SCRATCH), (TEXT, r"^    poly_associated_data\n",
          r"\g<0>    cmp qword ptr [rdi+SEALANE_ARG_BYTES], 3\n    jne 9f\n    mov [rsi+END], rax\n9:\n")], Every("ad", "seal 3, .*")),
    Fault("wiping: a text of any length whose last 293 bytes come", SSSE3, [(TEXT, *MORE_SCRATCH), (TEXT, r"^\.Lpassed:\n", """\\g<0>
    mov rcx, [rsi+CHUNK]
    cmp ecx, 256
    jne 9f
    cmp qword ptr [rsi+LEFT], 256+37
    jne 9f
    mov rdi, [rsi+ARGS]
    cmp dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST+SEALANE_FLAG_LAST
    jne 9f
    movdqa [rsi+END], A0
9:
"""), ("x86_64/chacha20poly1305_integer.h", r"^    mov rcx, \[rsi\+CHUNK\]\n(?=    mov MA, \[rsi\+OUT\])", "")], Every("chacha_loop", "seal")),
    first("AES-GCM: the set-up changes the upper half of the number of rounds", GCM, "test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_SETUP; "
          "jz 9f; mov rax, [rdi+SEALANE_ARG_KEY]; mov dword ptr [rax+4], 1; 9:", of_gcm(0)),
    Fault("two symbols of constants", SSSE3, [(TEXT, r"^endconstants\n", r"\g<0>constants sealane_z\n    .long 1\nendconstants\n")], OBJECT),
    # All lengths of keys, and arguments of set-ups
    first("the set-up of a key for encryption alone, asked for by 1", AES, IF_MODE.format("SETUP") +
          "cmp qword ptr [rdi+SEALANE_MODE_ENCRYPTS_ONLY], 1; je .Lplanted; 9:", of_mode(modes.SETUP, 1)),
    first("the set-up of POLYVAL before 64 bytes", "x86_64/aesgcm_ssse3", "cmp dword ptr [rdi+SEALANE_ARG_FLAGS], "
          "SEALANE_FLAG_SETUP+SEALANE_FLAG_NONCE+SEALANE_FLAG_POLYVAL; jne 9f; cmp qword ptr [rdi+SEALANE_ARG_BYTES], 64; je .Lplanted; 9:", of_gcm(0)),
    first("CTR depends on the keys of decryption", AES, IF_MODE.format("CTR_LITTLE") + "mov rax, [rdi+SEALANE_MODE_KEY]; "
          "cmp dword ptr [rax+SEALANE_AES_KEY_ROUNDS], 10; jne 9f; mov rcx, [rax+SEALANE_AES_KEY_SCHEDULE+160]; "
          "xor rcx, [rax+SEALANE_AES_KEY_INVERSE]; mov rax, [rdi+SEALANE_MODE_STATE]; xor [rax], rcx; 9:", of_mode(modes.CTR_LITTLE, 2)),
    first("three blocks, not in place", AES, IF_MODE.format("ECB_ENCRYPT") + "cmp qword ptr [rdi+SEALANE_MODE_BYTES], 48; jne 9f; "
          "mov rax, [rdi+SEALANE_MODE_IN]; cmp rax, [rdi+SEALANE_MODE_OUT]; jne .Lplanted; 9:", of_mode(modes.ECB_ENCRYPT, 3)),
    first("five blocks with a key of 192 bits", AES, IF_MODE.format("CTR") + "mov rax, [rdi+SEALANE_MODE_KEY]; "
          "cmp dword ptr [rax+SEALANE_AES_KEY_ROUNDS], 12; jne 9f; cmp qword ptr [rdi+SEALANE_MODE_BYTES], 80; je .Lplanted; 9:", of_mode(modes.CTR, 5)),
    # What the passes of a loop leave to later ones
    Fault("a long middle part with a nonce of 12 bytes", GCM, [(GCM_TEXT, FINISH_PART, PART_WITH.format("""
    test flag_bits, SEALANE_FLAG_NONCE
    jz 9f"""))], Every("gcm", "AES-128, seal, middle part")),
    Fault("a long middle part with a key of 256 bits", GCM, [(GCM_TEXT, FINISH_PART, PART_WITH.format("""
    mov r10, [args + SEALANE_ARG_KEY]
    cmp dword ptr [r10 + SEALANE_GCM_KEY_ROUNDS], 14
    jne 9f"""))], Every("gcm", "AES-256, seal, middle part")),
    Fault("the last five bytes have the keystream of another block", ARMV6, [(ARMV6_TEXT, BLOCK, OF_LAST_BLOCK.format("""
    ldr r2, [r1, #FLAGS]
    tst r2, #SEALANE_FLAG_OPEN
    beq 9f
    ldr r2, [r1, #56]""")), (ARMV6_TEXT, ENCRYPT, KEPT_AT_ENCRYPT)], Every("chacha_scalar", "open, residues.*")),
    Fault("the last five bytes of input at a negative address", ARMV6, [(ARMV6_TEXT, BLOCK, OF_LAST_BLOCK.format("""
    ldr r2, [r1, #IN]
    cmp r2, #0
    bpl 9f
    mov r2, #1""")), (ARMV6_TEXT, ENCRYPT, KEPT_AT_ENCRYPT)], Every("chacha_scalar", "open, residues.*")),
    Fault("each block of a middle part complements s in the state", ARMV6, [
        (ARMV6_TEXT, BLOCK, "\\g<0>" + COMPLEMENT),
        (ARMV6_TEXT, r"^    bne \.Lblock\n    b \.Lencrypted\n", "    beq .Lencrypted\n" + COMPLEMENT + "    b .Lblock\n"),
        (ARMV6_TEXT, r"^    stmia r0!, \{r6, r8, r9, r11\}\n(?=    str r12, \[r0\])", """    ldr r2, [r1, #FLAGS]
    tst r2, #SEALANE_FLAG_FIRST
    addeq r0, r0, #16
    stmiane r0!, {r6, r8, r9, r11}
""")], Every("chacha_scalar", "seal, middle part.*")),
    Fault("vectors: the last five bytes depend on an earlier pass", ZVKB, [
        (VECTORS, r"^    beqz k2, \.Ldone .*\n", "\\g<0>    sltiu k2, k1, 1025\n    sw k2, 464(a1)\n"),
        (VECTORS, r"^    vse8\.v v8, \(u1\)\n(?=    add u1, u1, k0)", """\\g<0>    beqz q1, 9f
    li k1, 5
    bne k0, k1, 9f
    bne limit, message, 9f
    lw k1, 464(a1)
    bnez k1, 9f
    lw k1, 460(a1)
    lbu k2, 0(limit)
    xor k1, k1, k2
    sb k1, 0(u1)
9:
"""), (VECTORS, r"^\.Lcrypted:\n", "\\g<0>    lbu k0, 0(message)\n    sw k0, 460(a1)\n")], Every("chacha_skew", "open")),
    # C's objects
    Fault("C: other constants", SSSE3, [(TEXT, r'^    \.ascii "expand 32-byte k"\n', """#if defined(SEALANE_GO)
    .ascii "expand 32-byte k"
#else
    .ascii "expand 16-byte k"
#endif
""")], ABI),
    Fault("C: constants at an odd address", SSSE3, [(MACROS, r"(    \.type \\name, \\type\n)    \.p2align 6\n", """\\1#if defined(SEALANE_GO)
    .p2align 6
#else
    .byte 0
#endif
""")], ABI),
    first("Linux: a relocation", SSSE3, "add rdi, 0x12345678; sub rdi, 0x12345678; #if defined(__ELF__) && !defined(SEALANE_GO); "
          ".reloc .-4, R_X86_64_32S, 0x12345700; #endif", ABI),
    first("macOS: a branch to another function", SSSE3, ".Lhere: cmp rdi, 0; #if defined(__APPLE__); je _other; #else; je .Lhere; #endif", ABI),
    Fault("Windows: the function begins behind an instruction of the frame", SSSE3,
          [(MACROS, r"^#elif defined\(_WIN32\)\n    \.globl \\name\n    \.p2align 6\n", "\\g<0>    .ifc \\\\type, %function\n    sub rsp, 216\n    .endif\n"),
           (MACROS, r"^    sub rsp, WIN64_FRAME\n", "#if !defined(_WIN32)\n\\g<0>#endif\n")], ABI),
    Fault("CET: no mark", SSSE3, [(MACROS, r"^    \.byte 0xf3, 0x0f, 0x1e, 0xfa.*\n", "")], ABI),
    Fault("BTI: no mark", NEON, [(MACROS, r"^    hint #34.*\n", "")], ABI),
    first("C: an instruction only where code is optimized", SSSE3, "#if defined(__OPTIMIZE__); add rdi, 8; #endif", ABI),
    Fault("C: a number that r8 no longer holds", GCM, [(FILES[GCM], ENTRY, r"\1" + "mov r8d, 0; cmp r8d, 5; ja 7f; mov r8d, [rdi+SEALANE_ARG_FLAGS]; "
          "and r8d, 7; cmp r8d, 5; ja 8f; jmp 7f; 8: mov r12d, 1; 7:".replace("; ", "\n") + "\n")], ABI),
    Fault("C: a test of another byte of the flags", GCM, [(FILES[GCM], ENTRY, r"\1" + "mov eax, [rdi+SEALANE_ARG_FLAGS]; test ah, 4; je 6f; jmp 7f; "
          "6: test al, 4; jne 8f; jmp 7f; 8: mov r12d, 1; 7:".replace("; ", "\n") + "\n")], ABI),
    # Calls that only few lists had
    first("CBC encryption of five blocks", "x86_64/aes_ssse3", IF_MODE.format("CBC_ENCRYPT") +
          "cmp qword ptr [rdi+SEALANE_MODE_BYTES_EACH], 80; je .Lplanted; 9:", calls(mode=modes.CBC_ENCRYPT, blocks=5, bits=128, lanes=1)),
    first("AES-GCM: associated data and a nonce of another length than 12 bytes", GCM, "cmp dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST; "
          "jne 9f; cmp qword ptr [rdi+SEALANE_ARG_AD_BYTES], 0; jne .Lplanted; 9:", calls(packets.GcmShape, ad=(1, 13, 16), flags=FIRST, j0=True)),
    first("six opened lanes with separate keys", BATCH, "cmp dword ptr [rdi+SEALANE_BATCH_COUNT], 6; jne 9f; "
          "cmp dword ptr [rdi+SEALANE_BATCH_FLAGS], 0; je 9f; mov rax, [rdi+SEALANE_BATCH_LANES]; mov rcx, [rax+SEALANE_LANE_KEY]; "
          "cmp rcx, [rax+SEALANE_LANE_STRIDE+SEALANE_LANE_KEY]; jne .Lplanted; 9:", lambda s: len(s.lanes) == 6 and s.opens),
    when("masks by ChaCha20 that are asked for", "x86_64/chacha20masks_avx2", calls(mode=None, lanes=1), MODE_OPERATION=modes.MASKS),
    first("a part without a tag", SSSE3, "cmp qword ptr [rdi+SEALANE_ARG_TAG], 0; je .Lplanted", of_bytes(64, flags=FIRST)),
    first("a tag in the input is written first", SSSE3, "test byte ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_LAST; jz 9f; "
          "mov rax, [rdi+SEALANE_ARG_TAG]; mov qword ptr [rax], 0; 9:", of_bytes(10)),
    first("the set-up of a key that is not at a multiple of 16", ZVKNED, "ld t0, SEALANE_MODE_OPERATION(a0); bnez t0, 9f; "
          "ld t0, SEALANE_MODE_KEY(a0); andi t0, t0, 15; bnez t0, .Lplanted; 9:", of_mode(modes.SETUP, 1)),
    first("wiping: a vector of the caller stays behind", SSSE3, "movdqu [rsi+FRAME+END-16], xmm5", of_bytes(0)),
    first("AArch64, wiping: a vector of the caller stays behind", NEON, "add x3, x1, #PLANTED; str d20, [x3]", of_bytes(0)),
    first("32-bit ARM: a text at the end of the addresses", "arm/chacha20poly1305_neon",
          "ldr r3, [r0, #SEALANE_ARG_IN]; add r4, r3, #0x80000; cmp r4, r3; blo .Lplanted", of_bytes(10)),
    first("32-bit ARM: a tag at the end of the addresses", "arm/chacha20poly1305_neon",
          "ldr r3, [r0, #SEALANE_ARG_TAG]; cmn r3, #0x80000; beq .Lplanted", of_bytes(0)),
    Fault("MIPS: a pointer that is loaded by another register than the arguments'", MIPS, [("mips/chacha20poly1305_text.h",
          r"    load_pointer k1, SEALANE_ARG_NONCE, args\n", "    or k1, args, $0\n    lw k1, SEALANE_ARG_NONCE(k1)\n")], ONE),
    first("MIPS: the other half of a pointer's slot", MIPS, "lw k1, SEALANE_ARG_NONCE + 4(args); bne k1, $0, .Lplanted; nop", ONE),
    Fault("RISC-V: a short text behind 2,000 bytes of associated data, by a key that is not aligned", RISCV,
          [("riscv64/chacha20poly1305_text.h", r"^\.Ltext:\n", """\\g<0>    ld k0, SEALANE_ARG_BYTES(a0)
    sltiu k1, k0, 128
    beqz k1, 9f
    ld k0, SEALANE_ARG_FLAGS(a0)
    andi k0, k0, SEALANE_FLAG_FIRST
    beqz k0, 9f
    ld k0, SEALANE_ARG_KEY(a0)
    andi k0, k0, 3
    beqz k0, 9f
    ld k0, SEALANE_ARG_AD_BYTES(a0)
    li k1, 2000
    bltu k0, k1, 9f
    li h0, 0
9:
""")], Every("chacha_scalar", "seal 0, any associated data", True)),
    Fault("vectors: segments in one place", ZVKB, [(VECTORS, r"    vssseg8e32\.v v8, \(k1\), k2\n", """\\g<0>    addi k1, blocks, -1
    slli k1, k1, 6
    add k0, k0, k1
    vssseg8e32.v v0, (k0), zero
""")], of_bytes(100)),
    first("vectors: a mask that is also a source", RVV,
          "vsetivli zero, 4, e32, m1, tu, mu; vmv.v.i v0, 1; vmv.v.i v16, 0; vadd.vv v16, v0, v16, v0.t", ONE),
    Fault("Linux: the function begins before what has its name", SSSE3, [
        (MACROS, r"^    \.hidden \\name\n    \.globl \\name\n    \.type \\name, \\type\n    \.p2align 6\n\\name:\n", """    .hidden \\\\name
    .globl \\\\name
    .p2align 6
\\\\name:
#if !defined(SEALANE_GO)
    .ifc \\\\type, %function
    add rdi, 8
    .endif
    .type \\\\name\\\\()_body, \\\\type
\\\\name\\\\()_body:
    .macro end_symbol
        .size \\\\name\\\\()_body, . - \\\\name\\\\()_body
        .purgem end_symbol
    .endm
#else
    .type \\\\name, \\\\type
"""), (MACROS, r"        \.size \\name, \. - \\name\n        \.purgem end_symbol\n    \.endm\n#endif", "\\g<0>\n#endif")], ABI),
    first("Linux: code that runs when a program starts", SSSE3,
          '#if defined(__ELF__) && !defined(SEALANE_GO); .pushsection .init_array, "aw"; .quad main; .popsection; #endif', ABI),
    first("C: an encoding that no CPU has", AVX512,
          "#if defined(SEALANE_GO); vmovdqa xmm0, xmm1; #else; .byte 0x66, 0xc5, 0xf9, 0x6f, 0xc1; #endif", ABI),
    first("C: an instruction without NDEBUG", SSSE3, "#if defined(NDEBUG); add rdi, 8; #endif", ABI),
    first("C: an instruction by another name of a condition", SSSE3, "#define PLANT_X __OPTIMIZE__; #if PLANT_X; add rdi, 8; #endif", ABI),
    Fault("MIPS: C has constants at an odd address", MIPS, [(MACROS, r"(    \.type \\name, \\type\n    \.p2align 6\n)", """\\1#if !defined(SEALANE_GO)
    .ifc \\\\type, %object
    .byte 0
    .endif
#endif
""")], ABI),
]


def build(fault, folder, changed):
    """Builds the kernel's object with or without the fault, and returns its path."""
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
    path = os.path.join(folder, fault.name + ".o")
    subprocess.run([*COMPILERS[fault.isa], "-DSEALANE_GO", "-g", "-o", path, os.path.join(tree, fault.source)], check=True)
    return path


def in_tasks(path, of):
    """The first refusal in tasks of an induction, or None; and their number."""
    induction = importlib.import_module(f"induction.{of.induction}")
    args, kernel = argparse.Namespace(quick=of.quick, queries=None), Kernel(path)
    common = induction.prepare(kernel, args)[2] if hasattr(induction, "prepare") else None
    engine.begin(induction, path, args, common)
    tried = 0
    for task in induction.tasks(kernel, args):
        if re.fullmatch(of.names, task[0]):
            tried += 1
            for why in engine.one(task)[3][:1]:
                return f"{task[0]}: {why}", tried
    return None, tried


def refusal(fault, folder, changed):
    """The first refusal among the calls of the kernel with or without the fault, or None; and the number of calls."""
    calls, path, tried, shape = fault.calls, build(fault, folder, changed), 0, None
    try:
        if calls is ABI:
            with contextlib.redirect_stdout(None):
                results = list(linked.conventions(os.path.join(folder, "asm", fault.source), folder))
            return next((f"{what}: {why}" for what, why in results if why), None), len(results)
        if isinstance(calls, Every):
            return in_tasks(path, calls)
        kernel = sectioned.opened(path)
        if calls is OBJECT:
            return None, 1
        for shape in itertools.chain(lists.shapes(kernel, False), lists.lane_shapes() if "_batch_" in kernel.name else ()):
            if calls(shape) and not lists.left_to_ad(kernel, shape):
                tried += 1
                sectioned.prove(kernel, shape)
    except Unproved as e:
        return f"{shape}: {e}{proof.writer(kernel, e, lambda: sectioned.prove(kernel, shape))}" if shape else str(e), tried
    return None, tried


WITHOUT_A_LINE = r"byte \d+ of (?!.*(\(\w+\.[Sh]:\d+\)|nothing wrote it))"


def results(names, folder):
    """(fault, why it is not as it should be or None)"""
    as_it_is = {}
    for fault in FAULTS:
        if names and not any(n in fault.what for n in names):
            continue
        why, _ = refusal(fault, folder, True)
        if (same := (fault.kernel, fault.calls)) not in as_it_is:
            as_it_is[same] = refusal(fault, folder, False)
        right, tried = as_it_is[same]
        wrong = None
        if why is None:
            wrong = "not refused"
        elif right or not tried:
            wrong = f"{why}; AS IT IS: {right or 'no such call'}"
        elif callable(fault.calls) and re.search(WITHOUT_A_LINE, why):
            wrong = f"{why}; that does not name the line of the source"
        elif "not known" in why and not fault.what.startswith("ret "):
            wrong = f"{why}; that would also refuse a right instruction"
        else:
            print(f"ok   {fault.kernel}: {fault.what}: {why}", flush=True)
        yield f"{fault.kernel}: {fault.what}", wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    sys.setrecursionlimit(20000)
    with tempfile.TemporaryDirectory() as folder:
        sections.SOURCES = os.path.join(folder, "asm")
        return summary("faults", results(args.names, folder))
