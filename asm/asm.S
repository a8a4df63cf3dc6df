/* Macros shared by all kernels: object formats, calling conventions, ISA gates.
 *
 * A kernel is    void name(const args *, void *scratch, const void *consts);
 * and is written
 *
 *     #include "../asm.S"
 *     isa .ssse3                         ; the extensions it may use, nothing else assembles (ARM: neon, armv6, aes, pmull)
 *     function sealane_thing_ssse3
 *         ...                            ; leaf: no stack, no calls, no relocations, no data
 *     endfunction                        ; the only way out: jump to its end to return early
 *
 * x86-64: rdi = args, rsi = scratch, rdx = consts. rsp and rbp may not be mentioned. At endfunction rsi must hold scratch
 * again; everything else may hold anything, the upper vector halves zero.
 * arm (.arm mode): r0 = args, r1 = scratch, r2 = consts. r10, r13, r14 may not be mentioned, nor pc outside branches.
 * aarch64: x0 = args, x1 = scratch, x2 = consts. sp, x18, x28, x29, x30 may not be mentioned.
 * On both r1/x1 must hold scratch again at endfunction; everything else may hold anything.
 * Scratch is 64-byte aligned. consts is 64-byte aligned in C, and in Go 32-byte on arm64, 16-byte on amd64 and 8-byte on
 * arm, where loads from it can have no alignment hints.
 * Built with SEALANE_GO the prologue and epilogue are empty, and the final return becomes Go's.
 *
 * Constants are written between `constants name` and `endconstants`, in a read-only section: a kernel gets their
 * address as its third argument. Tables that Go needs are translated from there.
 */
#include "args.h"

/* Where the kernel's scratch memory ends, before its function, if it needs less than there is: a Go frame has no more.
 * make gen sees what it can see of that, test/check.c the rest. */
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

/* No ";" between statements and "%" instead of "@" before types: the comment characters differ between architectures. */
.macro begin_function name
#if defined(__APPLE__)
    .text
    .private_extern _\name
    .globl _\name
    .p2align 6
_\name:
#elif defined(_WIN32)
    .text
    .globl \name
    .def \name
    .scl 2
    .type 32
    .endef
    .p2align 6
\name:
#else
    .section .text.\name, "ax", %progbits
    .hidden \name
    .globl \name
    .type \name, %function
    .p2align 6
\name:
    .macro endfunction_size
        .size \name, . - \name
        .purgem endfunction_size
    .endm
#endif
.endm

.macro constants name
#if defined(__APPLE__)
    .section __TEXT,__const
    .private_extern _\name
    .globl _\name
    .p2align 6
_\name:
#elif defined(_WIN32)
    .section .rdata,"dr"
    .globl \name
    .p2align 6
\name:
#else
    .section .rodata.\name, "a", %progbits
    .hidden \name
    .globl \name
    .type \name, %object
    .p2align 6
\name:
    .macro endconstants_size
        .size \name, . - \name
        .purgem endconstants_size
    .endm
#endif
.endm

.macro endconstants
#if defined(__ELF__)
    endconstants_size
#endif
.endm

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
#endif

.macro function name
    begin_function \name
#if !defined(SEALANE_GO)
#if defined(__CET__) && (__CET__ & 1)
    .byte 0xf3, 0x0f, 0x1e, 0xfa    /* endbr64, which the isa line may have switched off */
#endif
#if defined(SEALANE_WIN64_CALLS)
    mov [rdx + SEALANE_SCRATCH_SAVE + 40], rdi
    mov [rdx + SEALANE_SCRATCH_SAVE + 48], rsi
    mov rdi, rcx
    mov rsi, rdx
    mov rdx, r8
    movups [rsi + SEALANE_SCRATCH_SAVE + 64], xmm6
    movups [rsi + SEALANE_SCRATCH_SAVE + 80], xmm7
    movups [rsi + SEALANE_SCRATCH_SAVE + 96], xmm8
    movups [rsi + SEALANE_SCRATCH_SAVE + 112], xmm9
    movups [rsi + SEALANE_SCRATCH_SAVE + 128], xmm10
    movups [rsi + SEALANE_SCRATCH_SAVE + 144], xmm11
    movups [rsi + SEALANE_SCRATCH_SAVE + 160], xmm12
    movups [rsi + SEALANE_SCRATCH_SAVE + 176], xmm13
    movups [rsi + SEALANE_SCRATCH_SAVE + 192], xmm14
    movups [rsi + SEALANE_SCRATCH_SAVE + 208], xmm15
#endif
    mov [rsi + SEALANE_SCRATCH_SAVE], rbx
    mov [rsi + SEALANE_SCRATCH_SAVE + 8], r12
    mov [rsi + SEALANE_SCRATCH_SAVE + 16], r13
    mov [rsi + SEALANE_SCRATCH_SAVE + 24], r14
    mov [rsi + SEALANE_SCRATCH_SAVE + 32], r15
#endif
.endm

.macro endfunction
#if !defined(SEALANE_GO)
    mov rbx, [rsi + SEALANE_SCRATCH_SAVE]
    mov r12, [rsi + SEALANE_SCRATCH_SAVE + 8]
    mov r13, [rsi + SEALANE_SCRATCH_SAVE + 16]
    mov r14, [rsi + SEALANE_SCRATCH_SAVE + 24]
    mov r15, [rsi + SEALANE_SCRATCH_SAVE + 32]
#if defined(SEALANE_WIN64_CALLS)
    movups xmm6, [rsi + SEALANE_SCRATCH_SAVE + 64]
    movups xmm7, [rsi + SEALANE_SCRATCH_SAVE + 80]
    movups xmm8, [rsi + SEALANE_SCRATCH_SAVE + 96]
    movups xmm9, [rsi + SEALANE_SCRATCH_SAVE + 112]
    movups xmm10, [rsi + SEALANE_SCRATCH_SAVE + 128]
    movups xmm11, [rsi + SEALANE_SCRATCH_SAVE + 144]
    movups xmm12, [rsi + SEALANE_SCRATCH_SAVE + 160]
    movups xmm13, [rsi + SEALANE_SCRATCH_SAVE + 176]
    movups xmm14, [rsi + SEALANE_SCRATCH_SAVE + 192]
    movups xmm15, [rsi + SEALANE_SCRATCH_SAVE + 208]
    mov rdi, [rsi + SEALANE_SCRATCH_SAVE + 40]
    mov rsi, [rsi + SEALANE_SCRATCH_SAVE + 48]
#endif
#endif
    ret
#if defined(__ELF__)
    endfunction_size
#endif
.endm

#elif defined(__arm__)

.syntax unified

/* The base architecture and nothing optional but what is named. */
.macro isa extensions:vararg
    .irp extension, \extensions
        isa_\extension
    .endr
.endm

.macro isa_neon
    .arch armv7-a
    .fpu neon
    .macro save_vectors
        add r3, r1, #SEALANE_SCRATCH_SAVE + 64
        vstmia r3, {d8-d15}
    .endm
    .macro restore_vectors
        add r3, r1, #SEALANE_SCRATCH_SAVE + 64
        vldmia r3, {d8-d15}
    .endm
.endm

/* Of ARMv8; the assemblers have AES and PMULL only together. */
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

/* Callers may be Thumb code: the symbol's type and instruction set make calls change over, and bx returns to either. */
.macro function name
    .arm
    begin_function \name
#if !defined(SEALANE_GO)
    stm r1, {r4-r9, r11}
    save_vectors
#endif
.endm

.macro endfunction
#if !defined(SEALANE_GO)
    restore_vectors
    ldm r1, {r4-r9, r11}
#endif
    bx lr
#if defined(__ELF__)
    endfunction_size
#endif
.endm

#elif defined(__aarch64__)

.macro isa extensions:vararg
    .irp extension, \extensions
        isa_\extension
    .endr
.endm

.macro isa_neon
    .arch armv8-a
.endm

/* One extension of the assembler's; pmull is named for the table of levels. */
.macro isa_aes
    .arch_extension aes
.endm

.macro isa_pmull
.endm

.macro function name
    begin_function \name
#if !defined(SEALANE_GO)
#if defined(__ARM_FEATURE_BTI_DEFAULT)
    hint #34    /* bti c */
#endif
    stp x19, x20, [x1, #SEALANE_SCRATCH_SAVE]
    stp x21, x22, [x1, #SEALANE_SCRATCH_SAVE + 16]
    stp x23, x24, [x1, #SEALANE_SCRATCH_SAVE + 32]
    stp x25, x26, [x1, #SEALANE_SCRATCH_SAVE + 48]
    str x27, [x1, #SEALANE_SCRATCH_SAVE + 64]
    stp d8, d9, [x1, #SEALANE_SCRATCH_SAVE + 80]
    stp d10, d11, [x1, #SEALANE_SCRATCH_SAVE + 96]
    stp d12, d13, [x1, #SEALANE_SCRATCH_SAVE + 112]
    stp d14, d15, [x1, #SEALANE_SCRATCH_SAVE + 128]
#endif
.endm

.macro endfunction
#if !defined(SEALANE_GO)
    ldp x19, x20, [x1, #SEALANE_SCRATCH_SAVE]
    ldp x21, x22, [x1, #SEALANE_SCRATCH_SAVE + 16]
    ldp x23, x24, [x1, #SEALANE_SCRATCH_SAVE + 32]
    ldp x25, x26, [x1, #SEALANE_SCRATCH_SAVE + 48]
    ldr x27, [x1, #SEALANE_SCRATCH_SAVE + 64]
    ldp d8, d9, [x1, #SEALANE_SCRATCH_SAVE + 80]
    ldp d10, d11, [x1, #SEALANE_SCRATCH_SAVE + 96]
    ldp d12, d13, [x1, #SEALANE_SCRATCH_SAVE + 112]
    ldp d14, d15, [x1, #SEALANE_SCRATCH_SAVE + 128]
#endif
    ret
#if defined(__ELF__)
    endfunction_size
#endif
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
