/* Calls a kernel and records the registers that the calling convention (AAPCS32) preserves. Corrupters break each
 * rule on purpose.
 *
 *     void abi_call(sealane_kernel *, const sealane_args *, void *scratch, const void *consts);
 *
 * abi_before and abi_after are in abi.h; their layout: */
#define R4 0            /* r4 to r11 */
#define SP 32
#define FPSCR 36
#define VECTORS 40      /* d8 to d15; only if abi_vector_bytes is not 0 */

    .syntax unified
    .arch armv5te
    .fpu vfpv3
    .arm
    .text

/* Relative to pc: no relocations in the text of a position-independent program. */
.macro address register, symbol
    ldr \register, 7f
6:  add \register, pc, \register
    b 8f
7:  .word \symbol - (6b + 8)
8:
.endm

    .globl abi_call
    .type abi_call, %function
abi_call:
    push {r4-r12, lr}
    sub sp, sp, #80
    address r12, abi_vector_bytes
    ldr r12, [r12]
    str r12, [sp, #64]
    str r0, [sp, #68]
    str r2, [sp, #72]
    str r3, [sp, #76]
    mov r3, r1
    address r12, abi_before
    str sp, [r12, #SP]
    ldr r0, [sp, #64]
    cmp r0, #0
    beq 1f
    vstmia sp, {d8-d15}
    vmrs r0, fpscr
    str r0, [r12, #FPSCR]
    add r0, r12, #VECTORS
    vldmia r0, {d8-d15}
1:
    add r0, r12, #R4
    ldm r0, {r4-r11}
    mov r0, r3
    ldr r1, [sp, #72]
    ldr r2, [sp, #76]
    ldr r12, [sp, #68]
    blx r12

    address r12, abi_after
    stm r12, {r4-r11}
    str sp, [r12, #SP]
    address r4, abi_before
    ldr sp, [r4, #SP]
    ldr r0, [sp, #64]
    cmp r0, #0
    beq 2f
    vmrs r0, fpscr
    str r0, [r12, #FPSCR]
    add r0, r12, #VECTORS
    vstmia r0, {d8-d15}
    ldr r0, [r4, #FPSCR]
    vmsr fpscr, r0
    vldmia sp, {d8-d15}
2:
    add sp, sp, #80
    pop {r4-r12, lr}
    bx lr
    .size abi_call, . - abi_call

/* A kernel that runs the one in corrupt_inner and then breaks a rule. */
.macro corrupter name, breakage:vararg
    .globl corrupt_\name
    .type corrupt_\name, %function
corrupt_\name:
    push {r12, lr}
    address r12, corrupt_inner
    ldr r12, [r12]
    blx r12
    pop {r12, lr}
    \breakage
    bx lr
    .size corrupt_\name, . - corrupt_\name
.endm

    .irp register, r4, r5, r6, r7, r8, r9, r10, r11
    corrupter \register, add \register, \register, #1
    .endr
    corrupter sp, add sp, sp, #8
    corrupter d8, vneg.f64 d8, d8
    corrupter d15, vneg.f64 d15, d15

    .globl corrupt_fpscr
    .type corrupt_fpscr, %function
corrupt_fpscr:
    push {r12, lr}
    address r12, corrupt_inner
    ldr r12, [r12]
    blx r12
    vmrs r12, fpscr
    eor r12, r12, #1 << 22  /* rounding */
    vmsr fpscr, r12
    pop {r12, lr}
    bx lr
    .size corrupt_fpscr, . - corrupt_fpscr

    .section .note.GNU-stack, "", %progbits
