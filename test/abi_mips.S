/* Calls a kernel and records the registers that the calling convention (System V, o32 or n64) preserves. Corrupters
 * break each rule on purpose.
 *
 *     void abi_call(sealane_kernel *, const sealane_args *, void *scratch, const void *consts);
 *
 * abi_before and abi_after are in abi.h: $16 to $23, $28, $30, and the stack pointer. */

#if !defined(__PIE__) && (defined(_ABIO32) && _MIPS_SIM == _ABIO32 || defined(_ABI64) && _MIPS_SIM == _ABI64)
    .text
    .abicalls
    .set noreorder
    .set noat

/* The address of a symbol: these programs are not moved. */
#if _MIPS_SIM == _ABIO32
#define WORD 4
#define STORE sw
#define LOAD lw
#define ADD addiu
#define ARGUMENTS 16    /* the save area that a callee may write */
.macro address register, symbol
    lui \register, %hi(\symbol)
    addiu \register, \register, %lo(\symbol)
.endm
#else
#define WORD 8
#define STORE sd
#define LOAD ld
#define ADD daddiu
#define ARGUMENTS 0
.macro address register, symbol
    lui \register, %highest(\symbol)
    daddiu \register, \register, %higher(\symbol)
    dsll \register, \register, 16
    daddiu \register, \register, %hi(\symbol)
    dsll \register, \register, 16
    daddiu \register, \register, %lo(\symbol)
.endm
#endif

#define SP (10 * WORD)
#define RETURN (ARGUMENTS + 10 * WORD)
#define FRAME (ARGUMENTS + 12 * WORD)

.macro registers op, block, at
    .set place, \at
    .irp n, 16, 17, 18, 19, 20, 21, 22, 23, 28, 30
    \op $\n, place(\block)
    .set place, place + WORD
    .endr
.endm

    .globl abi_call
    .ent abi_call
    .type abi_call, @function
abi_call:
    ADD $29, $29, -FRAME
    registers STORE, $29, ARGUMENTS
    STORE $31, RETURN($29)
    move $25, $4
    move $4, $5
    move $5, $6
    move $6, $7
    address $8, abi_before
    registers LOAD, $8, 0
    STORE $29, SP($8)
    jalr $25
    nop
    address $8, abi_after
    registers STORE, $8, 0
    STORE $29, SP($8)
    address $8, abi_before
    LOAD $29, SP($8)
    registers LOAD, $29, ARGUMENTS
    LOAD $31, RETURN($29)
    jr $31
    ADD $29, $29, FRAME
    .end abi_call
    .size abi_call, . - abi_call

/* A kernel that runs the one in corrupt_inner and then breaks a rule. */
.macro corrupter name, register, by
    .globl corrupt_\name
    .ent corrupt_\name
    .type corrupt_\name, @function
corrupt_\name:
    ADD $29, $29, -(ARGUMENTS + 2 * WORD)
    STORE $31, ARGUMENTS + WORD($29)
    address $8, corrupt_inner
    LOAD $25, 0($8)
    jalr $25
    nop
    LOAD $31, ARGUMENTS + WORD($29)
    ADD $29, $29, ARGUMENTS + 2 * WORD
    jr $31
    ADD \register, \register, \by
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
    corrupter sp, $29, 16

#endif
    .section .note.GNU-stack, "", %progbits
