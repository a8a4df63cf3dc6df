/* Macros shared by all kernels: object formats, calling conventions, ISA gates.
 *
 * A kernel is    void name(const args *, void *scratch, const void *consts);
 * and is written
 *
 *     #include "../asm.S"
 *     isa .ssse3                         ; the extensions it may use, nothing else assembles
 *     function sealane_thing_ssse3
 *         ...                            ; leaf: no stack, no calls, no relocations, no data
 *     endfunction                        ; the only way out: jump to its end to return early
 *
 * x86-64: rdi = args, rsi = scratch (64-byte aligned), rdx = consts (16-byte aligned). rsp and rbp may not be mentioned.
 * At endfunction rsi must hold scratch again; everything else may hold anything, the upper vector halves zero.
 * Built with SEALANE_GO the prologue and epilogue are empty, and the final ret becomes Go's.
 *
 * Constants are written between `constants name` and `endconstants`, in a read-only section: a kernel gets their
 * address as its third argument. Tables that Go needs are translated from there.
 */
#include "args.h"

#if defined(__x86_64__)

.intel_syntax noprefix

#if defined(__APPLE__)
#define SEALANE_SYMBOL(name) _##name
#else
#define SEALANE_SYMBOL(name) name
#endif

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
#if defined(__APPLE__)
    .text
    .private_extern _\name
    .globl _\name
    .p2align 6, 0x90
_\name:
#elif defined(_WIN32)
    .text
    .globl \name
    .def \name; .scl 2; .type 32; .endef
    .p2align 6, 0x90
\name:
#else
    .section .text.\name, "ax", @progbits
    .hidden \name
    .globl \name
    .type \name, @function
    .p2align 6, 0x90
\name:
    .macro endfunction_size
        .size \name, . - \name
        .purgem endfunction_size
    .endm
#endif
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
    .section .rodata.\name, "a", @progbits
    .hidden \name
    .globl \name
    .type \name, @object
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
.section .note.GNU-stack, "", @progbits
.text
#endif
