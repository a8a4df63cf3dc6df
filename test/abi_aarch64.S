/* Calls a kernel and records the registers that the calling convention (AAPCS64) preserves. Corrupters break each
 * rule on purpose.
 *
 *     void abi_call(sealane_kernel *, const sealane_args *, void *scratch, const void *consts);
 *
 * abi_before and abi_after are in abi.h; their layout: */
#define X19 0           /* x19 to x29 */
#define SP 96
#define FPCR 104
#define VECTORS 112     /* d8 to d15 */

#if defined(__ARM_FEATURE_BTI_DEFAULT)
#define LANDING_PAD hint #34
#else
#define LANDING_PAD
#endif

    .text

.macro address register, symbol
    adrp \register, \symbol
    add \register, \register, :lo12:\symbol
.endm

.macro registers pair, single, block
    \pair x19, x20, [\block, #X19]
    \pair x21, x22, [\block, #X19 + 16]
    \pair x23, x24, [\block, #X19 + 32]
    \pair x25, x26, [\block, #X19 + 48]
    \pair x27, x28, [\block, #X19 + 64]
    \single x29, [\block, #X19 + 80]
    \pair d8, d9, [\block, #VECTORS]
    \pair d10, d11, [\block, #VECTORS + 16]
    \pair d12, d13, [\block, #VECTORS + 32]
    \pair d14, d15, [\block, #VECTORS + 48]
.endm

.macro preserved instruction
    \instruction x19, x20, [sp, #16]
    \instruction x21, x22, [sp, #32]
    \instruction x23, x24, [sp, #48]
    \instruction x25, x26, [sp, #64]
    \instruction x27, x28, [sp, #80]
    \instruction d8, d9, [sp, #96]
    \instruction d10, d11, [sp, #112]
    \instruction d12, d13, [sp, #128]
    \instruction d14, d15, [sp, #144]
.endm

    .globl abi_call
    .type abi_call, %function
abi_call:
    LANDING_PAD
    stp x29, x30, [sp, #-160]!
    preserved stp
    mov x16, x0
    mov x0, x1
    mov x1, x2
    mov x2, x3
    address x9, abi_before
    registers ldp, ldr, x9
    mov x10, sp
    str x10, [x9, #SP]
    mrs x10, fpcr
    str x10, [x9, #FPCR]
    blr x16
    address x9, abi_after
    address x10, abi_before
    registers stp, str, x9
    mov x11, sp
    str x11, [x9, #SP]
    ldr x11, [x10, #SP]
    mov sp, x11
    mrs x11, fpcr
    str x11, [x9, #FPCR]
    ldr x11, [x10, #FPCR]
    msr fpcr, x11
    preserved ldp
    ldp x29, x30, [sp], #160
    ret
    .size abi_call, . - abi_call

/* A kernel that runs the one in corrupt_inner and then breaks a rule. */
.macro corrupter name, breakage:vararg
    .globl corrupt_\name
    .type corrupt_\name, %function
corrupt_\name:
    LANDING_PAD
    stp x29, x30, [sp, #-16]!
    address x9, corrupt_inner
    ldr x9, [x9]
    blr x9
    ldp x29, x30, [sp], #16
    \breakage
    ret
    .size corrupt_\name, . - corrupt_\name
.endm

    .irp register, x19, x20, x21, x22, x23, x24, x25, x26, x27, x28
    corrupter \register, add \register, \register, #1
    .endr
    corrupter sp, add sp, sp, #16
    corrupter d8, mvn v8.8b, v8.8b
    corrupter d15, mvn v15.8b, v15.8b

    .globl corrupt_fpcr
    .type corrupt_fpcr, %function
corrupt_fpcr:
    LANDING_PAD
    stp x29, x30, [sp, #-16]!
    address x9, corrupt_inner
    ldr x9, [x9]
    blr x9
    mrs x9, fpcr
    eor x9, x9, #1 << 22    /* rounding */
    msr fpcr, x9
    ldp x29, x30, [sp], #16
    ret
    .size corrupt_fpcr, . - corrupt_fpcr

#if defined(__ARM_FEATURE_BTI_DEFAULT)
    .section .note.gnu.property, "a", %note
    .p2align 3
    .long 4, 16, 5
    .asciz "GNU"
    .long 0xc0000000, 4, 3, 0
#endif
    .section .note.GNU-stack, "", %progbits
