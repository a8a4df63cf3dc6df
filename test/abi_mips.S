/* Calls a kernel and records what its calling convention (System V, o32) says must not change; and calls that break
 * each rule on purpose (corrupters).
 *
 *     void abi_call(sealane_kernel *, const sealane_args *, void *scratch, const void *consts);
 *
 * abi_before and abi_after are in abi.h; their layout: */
#define SAVED 0         /* $16 to $23, $28, $30 */
#define SP 40
#define FRAME 64        /* 16 bytes of the callee's, the same registers, $31 */

#if defined(_ABIO32) && _MIPS_SIM == _ABIO32 && !defined(__PIE__)
    .text
    .abicalls
    .set noreorder
    .set noat

.macro registers op, block, at
    .set place, \at
    .irp n, 16, 17, 18, 19, 20, 21, 22, 23, 28, 30
    \op $\n, place(\block)
    .set place, place + 4
    .endr
.endm

/* Of a symbol: these programs are not moved. */
.macro address register, symbol
    lui \register, %hi(\symbol)
    addiu \register, \register, %lo(\symbol)
.endm

    .globl abi_call
    .ent abi_call
    .type abi_call, @function
abi_call:
    addiu $29, $29, -FRAME
    registers sw, $29, 16
    sw $31, 56($29)
    move $25, $4
    move $4, $5
    move $5, $6
    move $6, $7
    address $8, abi_before
    registers lw, $8, SAVED
    sw $29, SP($8)
    jalr $25
    nop
    address $8, abi_after
    registers sw, $8, SAVED
    sw $29, SP($8)
    address $8, abi_before
    lw $29, SP($8)
    registers lw, $29, 16
    lw $31, 56($29)
    jr $31
    addiu $29, $29, FRAME
    .end abi_call
    .size abi_call, . - abi_call

/* A kernel that runs the one in corrupt_inner and then breaks a rule. */
.macro corrupter name, register, by
    .globl corrupt_\name
    .ent corrupt_\name
    .type corrupt_\name, @function
corrupt_\name:
    addiu $29, $29, -24
    sw $31, 20($29)
    address $8, corrupt_inner
    lw $25, 0($8)
    jalr $25
    nop
    lw $31, 20($29)
    addiu $29, $29, 24
    jr $31
    addiu \register, \register, \by
    .end corrupt_\name
    .size corrupt_\name, . - corrupt_\name
.endm

    corrupter s0, $16, 1
    corrupter s1, $17, 1
    corrupter s2, $18, 1
    corrupter s3, $19, 1
    corrupter s4, $20, 1
    corrupter s5, $21, 1
    corrupter s6, $22, 1
    corrupter s7, $23, 1
    corrupter fp, $30, 1
    corrupter sp, $29, 8

#endif
    .section .note.GNU-stack, "", %progbits
