/* Macros shared by all kernels: object formats, calling conventions, ISA gates.
 *
 * A kernel is    void name(const args *, void *scratch, const void *consts);
 * and is written
 *
 *     #include "../asm.S"
 *     isa .ssse3                         ; the extensions it may use (elsewhere isa_* below): no others assemble
 *     function sealane_thing_ssse3
 *         ...                            ; leaf: no stack, no calls, no relocations, no data
 *     endfunction                        ; the only way out: jump to its end to return early
 *
 * x86-64: rdi = args, rsi = scratch, rdx = consts. rsp and rbp may not be mentioned. At endfunction all other
 * registers may have any value, except the upper halves of vectors, which are zero.
 * arm (.arm mode): r0 = args, r1 = scratch, r2 = consts. r10, r13, r14 may not be mentioned, nor pc outside branches.
 * aarch64: x0 = args, x1 = scratch, x2 = consts. sp, x18, x28, x29, x30 may not be mentioned.
 * riscv64: a0 = args, a1 = scratch, a2 = consts. ra, sp, gp, tp, s11 may not be mentioned.
 * mips, mips64: $4 = args, $5 = scratch, $6 = consts. $23, $26 to $31 may not be mentioned. Delay slots are written
 * out.
 * On these architectures, all other registers may have any value at endfunction.
 * Scratch is 64-byte aligned. consts is 64-byte aligned in C, and in Go 32-byte, but 8-byte on arm, where loads from it
 * can have no alignment hints.
 * Built with SEALANE_GO the prologue and epilogue are empty, and the final return becomes Go's.
 *
 * In C the macros keep the registers that the calling convention preserves on the stack, and describe where (.cfi, on
 * Windows .seh). Debuggers, profilers and exceptions thus find the caller, and its registers, from every instruction
 * of a kernel. Bodies do not touch the stack pointer, so one rule holds from prologue to epilogue. test/unwind.c
 * steps through them.
 *
 * Constants are written between `constants name` and `endconstants`, in a read-only section: a kernel gets their
 * address as its third argument. Tables that Go needs are translated from there.
 */
#include "args.h"

/* The end of the kernel's scratch memory, stated before its function if it needs less than the maximum: a Go frame
 * has no more. make gen checks the accesses that it can follow, test/check.c the others. */
.macro scratch_end bytes
#if defined(SEALANE_GO)
    .if (\bytes) > SEALANE_SCRATCH_BYTES
    .error "more scratch memory than there is"
    .endif
    .set sealane_scratch_end, \bytes
#endif
.endm

#if defined(__APPLE__)
#define SEALANE_SYMBOL(name) _##name
#else
#define SEALANE_SYMBOL(name) name
#endif

/* Without ";" between statements, and with "%" instead of "@" before types: the start of a comment differs by
 * architecture. */
.macro begin_symbol name, type
#if defined(__APPLE__)
    .private_extern _\name
    .globl _\name
    .p2align 6
_\name:
#elif defined(_WIN32)
    .globl \name
    .p2align 6
\name:
#else
    .hidden \name
    .globl \name
    .type \name, \type
    .p2align 6
\name:
    .macro end_symbol
        .size \name, . - \name
        .purgem end_symbol
    .endm
#endif
.endm

.macro begin_function name
#if defined(__ELF__)
    .section .text.\name, "ax", %progbits
#else
    .text
#endif
#if defined(_WIN32)
    .def \name
    .scl 2
    .type 32
    .endef
#endif
    begin_symbol \name, %function
#if !defined(SEALANE_GO)
#if defined(_WIN32)
    .seh_proc \name
#else
    .cfi_startproc
#endif
#endif
.endm

/* After a function's last instruction. */
.macro end_function
#if !defined(SEALANE_GO)
#if defined(_WIN32)
    .seh_endproc
#else
    .cfi_endproc
#endif
#endif
#if defined(__ELF__)
    end_symbol
#endif
.endm

.macro constants name
#if defined(__APPLE__)
    .section __TEXT,__const
#elif defined(_WIN32)
    .section .rdata,"dr"
#else
    .section .rodata.\name, "a", %progbits
#endif
    begin_symbol \name, %object
.endm

.macro endconstants
#if defined(__ELF__)
    end_symbol
#endif
.endm

#if !defined(__x86_64__)

/* The base architecture and only the named optional extensions. */
.macro isa extensions:vararg
    .irp extension, \extensions
        isa_\extension
    .endr
.endm

#endif

#if defined(__x86_64__)

.intel_syntax noprefix

/* Only GNU as can switch extensions off; make gen assembles with it, so a wrong instruction is found there. */
.macro isa extensions:vararg
#if !defined(__clang__)
    .arch generic64
    .irp extension, \extensions
        .arch \extension
    .endr
#endif
.endm

/* The calling convention of Windows; the tests also build it for Linux, to run it there. */
#if defined(_WIN32) || defined(SEALANE_TEST_WIN64)
#define SEALANE_WIN64_CALLS
#define WIN64_FRAME 216     /* xmm6 to xmm15 and seven others; keeps the stack at multiples of 16 */
#elif defined(__ELF__) && !defined(SEALANE_GO)
#define SEALANE_SAVES_LATER
#endif

/* A vector register into the frame, and the same for unwinding. DWARF numbers it 17 + n. */
.macro win64_save_vector n
    movaps [rsp + 16*(\n - 6)], xmm\n
#if defined(_WIN32)
    .seh_savexmm xmm\n, 16*(\n - 6)
#else
    .cfi_rel_offset 17 + \n, 16*(\n - 6)
#endif
.endm

.macro win64_save name, dwarf, at
    mov [rsp + \at], \name
#if defined(_WIN32)
    .seh_savereg \name, \at
#else
    .cfi_rel_offset \dwarf, \at
#endif
.endm

/* The red zone: 128 bytes below the stack pointer that belong to a leaf. */
.macro save_registers
    mov [rsp - 8], rbx
    mov [rsp - 16], r12
    mov [rsp - 24], r13
    mov [rsp - 32], r14
    mov [rsp - 40], r15
    .cfi_offset 3, -16
    .cfi_offset 12, -24
    .cfi_offset 13, -32
    .cfi_offset 14, -40
    .cfi_offset 15, -48
.endm

.macro load_registers
    mov rbx, [rsp - 8]
    mov r12, [rsp - 16]
    mov r13, [rsp - 24]
    mov r14, [rsp - 32]
    mov r15, [rsp - 40]
.endm

/* later: where possible, the preserved registers are not saved before save_registers_later. The beginning of the
 * function does without those registers, and ends at the label that endfunction is given. In Mach-O no table can
 * describe that. */
.macro function name, later
    begin_function \name
#if !defined(SEALANE_GO)
#if defined(__CET__) && (__CET__ & 1)
    .byte 0xf3, 0x0f, 0x1e, 0xfa    /* endbr64, which the isa line may have switched off */
#endif
#if defined(SEALANE_WIN64_CALLS)
    sub rsp, WIN64_FRAME
#if defined(_WIN32)
    .seh_stackalloc WIN64_FRAME
#else
    .cfi_adjust_cfa_offset WIN64_FRAME
#endif
    .irp n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    win64_save_vector \n
    .endr
    win64_save rbx, 3, 160
    win64_save r12, 12, 168
    win64_save r13, 13, 176
    win64_save r14, 14, 184
    win64_save r15, 15, 192
    win64_save rdi, 5, 200
    win64_save rsi, 4, 208
#if defined(_WIN32)
    .seh_endprologue
#endif
    mov rdi, rcx
    mov rsi, rdx
    mov rdx, r8
#else
#if defined(SEALANE_SAVES_LATER)
    .ifb \later
    save_registers
    .endif
#else
    save_registers
#endif
#endif
#endif
.endm

.macro save_registers_later
#if defined(SEALANE_SAVES_LATER)
    save_registers
#endif
.endm

/* The same on a path that branches off earlier. registers_not_saved stands where the text of that path ends. */
.macro save_registers_there
#if defined(SEALANE_SAVES_LATER)
    .cfi_remember_state
    save_registers
#endif
.endm

/* Restores the saved registers, also before code that runs without having saved them. Their copies stay on the stack.
 */
.macro restore_registers
#if defined(SEALANE_SAVES_LATER)
    load_registers
#endif
.endm

.macro registers_not_saved
#if defined(SEALANE_SAVES_LATER)
    .cfi_restore_state
#endif
.endm

.macro endfunction unsaved
#if !defined(SEALANE_SAVES_LATER)
    .ifnb \unsaved
\unsaved:
    .endif
#endif
#if !defined(SEALANE_GO)
#if defined(SEALANE_WIN64_CALLS)
    .irp n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movaps xmm\n, [rsp + 16*(\n - 6)]
    .endr
    mov rbx, [rsp + 160]
    mov r12, [rsp + 168]
    mov r13, [rsp + 176]
    mov r14, [rsp + 184]
    mov r15, [rsp + 192]
    mov rdi, [rsp + 200]
    mov rsi, [rsp + 208]
    add rsp, WIN64_FRAME
#if !defined(_WIN32)
    .cfi_adjust_cfa_offset -WIN64_FRAME
    .irp n, 3, 4, 5, 12, 13, 14, 15, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32
    .cfi_restore \n
    .endr
#endif
#else
    load_registers
#endif
#endif
#if defined(SEALANE_SAVES_LATER)
    .ifnb \unsaved
    .irp n, 3, 12, 13, 14, 15
    .cfi_restore \n
    .endr
\unsaved:
    .endif
#endif
    ret
    end_function
.endm

#elif defined(__arm__)

.syntax unified

/* DWARF numbers d0 256. */
.macro isa_neon
    .arch armv7-a
    .fpu neon
    .macro save_vectors
        vpush {d8-d15}
        .cfi_adjust_cfa_offset 64
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        .cfi_rel_offset 264 + \n, 8*\n
        .endr
    .endm
    .macro restore_vectors
        vldm sp, {d8-d15}
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7
        .cfi_restore 264 + \n
        .endr
        .rept 4
        wipe_frame 16, r0-r3
        .endr
    .endm
.endm

/* AES and PMULL of ARMv8, which the assemblers enable only together. */
.macro isa_aes
    .arch armv8-a
    .fpu crypto-neon-fp-armv8
.endm

.macro isa_pmull
.endm

.macro isa_armv6
    .arch armv6
    .fpu softvfp
    .macro save_vectors
    .endm
    .macro restore_vectors
    .endm
.endm

/* Callers may be Thumb code: the symbol's type and instruction set make calls switch, and bx returns to either.
 * Debuggers and profilers unwind by .debug_frame. The surrounding C has no tables for exceptions, and so neither have
 * kernels. */
.macro function name
    .arm
#if !defined(SEALANE_GO)
    .cfi_sections .debug_frame
#endif
    begin_function \name
#if !defined(SEALANE_GO)
    save_vectors
    push {r4-r9, r11}
    .cfi_adjust_cfa_offset 28
    .irp n, 4, 5, 6, 7, 8, 9
    .cfi_rel_offset \n, 4*(\n - 4)
    .endr
    .cfi_rel_offset 11, 24
#endif
.endm

/* Wipes a part of the frame and removes it. */
.macro wipe_frame bytes, registers:vararg
    stm sp!, {\registers}
    .cfi_adjust_cfa_offset -\bytes
.endm

/* The caller's registers may hold secrets, so the frame is wiped. */
.macro endfunction
#if !defined(SEALANE_GO)
    ldm sp, {r4-r9, r11}
    .irp n, 4, 5, 6, 7, 8, 9, 11
    .cfi_restore \n
    .endr
    .irp n, 0, 1, 2, 3
    mov r\n, #0
    .endr
    wipe_frame 16, r0-r3
    wipe_frame 12, r0-r2
    restore_vectors
#endif
    bx lr
    end_function
.endm

#elif defined(__aarch64__)

.macro isa_neon
    .arch armv8-a
.endm

/* The assembler has one extension for both. isa_pmull exists because the table of levels names it. */
.macro isa_aes
    .arch_extension aes
.endm

.macro isa_pmull
.endm

#define FRAME_BYTES 144     /* d8 to d15, x19 to x27, and padding */

/* Two registers of a frame, and the same for unwinding: DWARF's number of the first, and Windows's name of the
 * pair. */
.macro save_pair x, y, dwarf, at, seh
    stp \x, \y, [sp, #\at]
#if defined(_WIN32)
    \seh \x, \at
#else
    .cfi_rel_offset \dwarf, \at
    .cfi_rel_offset \dwarf + 1, \at + 8
#endif
.endm

.macro restore_pair x, y, dwarf, at, seh
    ldp \x, \y, [sp, #\at]
#if defined(_WIN32)
    \seh \x, \at
#elif !defined(__APPLE__)
    .cfi_restore \dwarf
    .cfi_restore \dwarf + 1
#endif
.endm

.macro all_pairs do
    \do d8, d9, 72, 0, .seh_save_fregp
    \do d10, d11, 74, 16, .seh_save_fregp
    \do d12, d13, 76, 32, .seh_save_fregp
    \do d14, d15, 78, 48, .seh_save_fregp
    \do x19, x20, 19, 64, .seh_save_regp
    \do x21, x22, 21, 80, .seh_save_regp
    \do x23, x24, 23, 96, .seh_save_regp
    \do x25, x26, 25, 112, .seh_save_regp
.endm

.macro function name
    begin_function \name
#if !defined(SEALANE_GO)
#if defined(__ARM_FEATURE_BTI_DEFAULT)
    hint #34    /* bti c */
#if defined(_WIN32)
    .seh_nop
#endif
#endif
    sub sp, sp, #FRAME_BYTES
#if defined(_WIN32)
    .seh_stackalloc FRAME_BYTES
#else
    .cfi_adjust_cfa_offset FRAME_BYTES
#endif
    all_pairs save_pair
    str x27, [sp, #128]
#if defined(_WIN32)
    .seh_save_reg x27, 128
    .seh_endprologue
#else
    .cfi_rel_offset 27, 128
#endif
#endif
.endm

/* In Mach-O every label that stays in the symbol table begins a separate piece. No table can then give the distance
 * of the end from the beginning. Unwinding is right there, except at the one instruction between the last two. */
.macro endfunction
#if !defined(SEALANE_GO)
#if defined(_WIN32)
    .seh_startepilogue
#endif
    ldr x27, [sp, #128]
#if defined(_WIN32)
    .seh_save_reg x27, 128
#elif !defined(__APPLE__)
    .cfi_restore 27
#endif
    all_pairs restore_pair
    add sp, sp, #FRAME_BYTES
#if defined(_WIN32)
    .seh_stackalloc FRAME_BYTES
    .seh_endepilogue
#elif !defined(__APPLE__)
    .cfi_adjust_cfa_offset -FRAME_BYTES
#endif
#endif
    ret
    end_function
.endm

#elif defined(__riscv)

/* No 16-bit instructions, and no code that the linker changes. The extensions after M are those of the calling
 * convention. LLVM's assembler supports this directive only from version 17 on. */
.macro isa_m
    .option norvc
    .option norelax
#if !defined(__clang__)
    .option arch, rv64imafd
#endif
.endm

/* Instructions are given by their encoding, for assemblers that do not know them. */
.macro isa_zbb
    .macro roriw_zbb to, from, bits
        .insn i 0x1b, 5, \to, \from, 0x600 + \bits
    .endm
.endm

/* Vectors, in the version 1.0 of the extension. */
.macro isa_v
#if defined(__clang__)
    .attribute arch, "rv64imafdv1p0"
#else
    .option arch, +v
#endif
.endm

/* Instructions are given by their encoding, and registers by the numbers of vector registers. */
.macro isa_zvkb
    .macro vrev8_v_zvkb to, from
        .insn r 0x57, 2, 0x25, x\to, x9, x\from
    .endm
    .macro vbrev8_v_zvkb to, from
        .insn r 0x57, 2, 0x25, x\to, x8, x\from
    .endm
    /* For v0 to v15, by their names. */
    .macro vror_vi_zvkb register, bits
        .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        .ifc \register, v\n
        .insn u 0x57, x\n, 0x52003 + (\n << 8) + ((\bits) << 3)
        .endif
        .endr
    .endm
.endm

.macro isa_zvkg
    .macro vghsh_vv_zvkg sum, factor, block
        .insn r 0x77, 2, 0x59, x\sum, x\block, x\factor
    .endm
    .macro vgmul_vv_zvkg product, factor
        .insn r 0x77, 2, 0x51, x\product, x17, x\factor
    .endm
.endm

.macro isa_zvkned
    .macro vaesz_vs_zvkned state, round_key
        .insn r 0x77, 2, 0x53, x\state, x7, x\round_key
    .endm
    .macro vaesem_vs_zvkned state, round_key
        .insn r 0x77, 2, 0x53, x\state, x2, x\round_key
    .endm
    .macro vaesef_vs_zvkned state, round_key
        .insn r 0x77, 2, 0x53, x\state, x3, x\round_key
    .endm
    .macro vaesdm_vs_zvkned state, round_key
        .insn r 0x77, 2, 0x53, x\state, x0, x\round_key
    .endm
    .macro vaesdf_vs_zvkned state, round_key
        .insn r 0x77, 2, 0x53, x\state, x1, x\round_key
    .endm
    .macro vaeskf1_vi_zvkned next, round_key, number
        .insn r 0x77, 2, 0x45, x\next, x\number, x\round_key
    .endm
    .macro vaeskf2_vi_zvkned next, round_key, number
        .insn r 0x77, 2, 0x55, x\next, x\number, x\round_key
    .endm
.endm

#define FRAME_BYTES 96     /* s0 to s10, and padding */

.macro all_saved do
    \do s0, 8, 0
    \do s1, 9, 8
    \do s2, 18, 16
    \do s3, 19, 24
    \do s4, 20, 32
    \do s5, 21, 40
    \do s6, 22, 48
    \do s7, 23, 56
    \do s8, 24, 64
    \do s9, 25, 72
    \do s10, 26, 80
.endm

.macro save_one x, dwarf, at
    sd \x, \at(sp)
    .cfi_rel_offset \dwarf, \at
.endm

/* The caller's registers may hold secrets, so the frame is wiped. */
.macro restore_one x, dwarf, at
    ld \x, \at(sp)
    .cfi_restore \dwarf
    sd zero, \at(sp)
.endm

.macro function name
    begin_function \name
#if !defined(SEALANE_GO)
    addi sp, sp, -FRAME_BYTES
    .cfi_adjust_cfa_offset FRAME_BYTES
    all_saved save_one
#endif
.endm

.macro endfunction
#if !defined(SEALANE_GO)
    all_saved restore_one
    addi sp, sp, FRAME_BYTES
    .cfi_adjust_cfa_offset -FRAME_BYTES
#endif
    ret
    end_function
.endm

#elif defined(__mips__)

.macro mips_isa release
    .set nomips16
    .set nomicromips
    .set \release
    .set noreorder
    .set nomacro
    .set noat
.endm

.macro isa_mips32r2
    mips_isa mips32r2
.endm

.macro isa_mips64r2
    mips_isa mips64r2
.endm

/* $16 to $22, and padding. */
#if defined(__mips64)
#define FRAME_BYTES 64
#define ADD_TO_STACK daddiu
#define STORE_REGISTER sd
#define LOAD_REGISTER ld
#else
#define FRAME_BYTES 32
#define ADD_TO_STACK addiu
#define STORE_REGISTER sw
#define LOAD_REGISTER lw
#endif

.macro function name
    begin_function \name
#if !defined(SEALANE_GO)
    ADD_TO_STACK $29, $29, -FRAME_BYTES
    .cfi_adjust_cfa_offset FRAME_BYTES
    .irp n, 16, 17, 18, 19, 20, 21, 22
    STORE_REGISTER $\n, (\n - 16)*(FRAME_BYTES / 8)($29)
    .cfi_rel_offset \n, (\n - 16)*(FRAME_BYTES / 8)
    .endr
#endif
.endm

/* The caller's registers may hold secrets, so the frame is wiped. */
.macro endfunction
#if defined(SEALANE_GO)
    jr $31
    nop
#else
    .irp n, 16, 17, 18, 19, 20, 21, 22
    LOAD_REGISTER $\n, (\n - 16)*(FRAME_BYTES / 8)($29)
    .cfi_restore \n
    STORE_REGISTER $0, (\n - 16)*(FRAME_BYTES / 8)($29)
    .endr
    jr $31
    ADD_TO_STACK $29, $29, FRAME_BYTES
    .cfi_adjust_cfa_offset -FRAME_BYTES
#endif
    end_function
.endm

#endif

#if defined(__ELF__)
#if defined(__x86_64__) && defined(__CET__) && !defined(SEALANE_GO)
/* Intel CET: every indirect branch target here is marked, and returns are returns. */
.section .note.gnu.property, "a", @note
    .p2align 3
    .long 4, 16, 5
    .asciz "GNU"
    .long 0xc0000002, 4, __CET__, 0
#endif
#if defined(__aarch64__) && defined(__ARM_FEATURE_BTI_DEFAULT) && !defined(SEALANE_GO)
/* Every indirect branch target here is a landing pad, and the return address never leaves its register. */
.section .note.gnu.property, "a", %note
    .p2align 3
    .long 4, 16, 5
    .asciz "GNU"
    .long 0xc0000000, 4, 3, 0
#endif
.section .note.GNU-stack, "", %progbits
.text
#endif
