/* Calls a kernel and records the registers that the calling convention (RISC-V psABI) preserves. Corrupters break
 * each rule on purpose.
 *
 *     void abi_call(sealane_kernel *, const sealane_args *, void *scratch, const void *consts);
 *
 * abi_before and abi_after are in abi.h; their layout: */
#define SAVED 0         /* s0 to s11 */
#define SP 96
#define FCSR 104
#define VECTORS 112     /* fs0 to fs11 */
#define FRAME 208

    .text

/* s0 to s11 and fs0 to fs11, from \at(\block) on. */
.macro registers integer, float, block
    .set at, 0
    .irp x, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11
    \integer \x, SAVED + at(\block)
    .set at, at + 8
    .endr
    .set at, 0
    .irp x, fs0, fs1, fs2, fs3, fs4, fs5, fs6, fs7, fs8, fs9, fs10, fs11
    \float \x, VECTORS + at(\block)
    .set at, at + 8
    .endr
.endm

    .globl abi_call
    .type abi_call, %function
abi_call:
    addi sp, sp, -FRAME
    sd ra, 96(sp)
    registers sd, fsd, sp
    mv t0, a0
    mv a0, a1
    mv a1, a2
    mv a2, a3
    lla t1, abi_before
    registers ld, fld, t1
    sd sp, SP(t1)
    frcsr t2
    sd t2, FCSR(t1)
    jalr t0
    lla t1, abi_after
    registers sd, fsd, t1
    sd sp, SP(t1)
    frcsr t2
    sd t2, FCSR(t1)
    lla t1, abi_before
    ld sp, SP(t1)
    ld t2, FCSR(t1)
    fscsr t2
    registers ld, fld, sp
    ld ra, 96(sp)
    addi sp, sp, FRAME
    ret
    .size abi_call, . - abi_call

/* A kernel that runs the one in corrupt_inner and then breaks a rule. */
.macro corrupter name, breakage:vararg
    .globl corrupt_\name
    .type corrupt_\name, %function
corrupt_\name:
    addi sp, sp, -16
    sd ra, 0(sp)
    lla t0, corrupt_inner
    ld t0, 0(t0)
    jalr t0
    ld ra, 0(sp)
    addi sp, sp, 16
    \breakage
    ret
    .size corrupt_\name, . - corrupt_\name
.endm

    .irp register, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11
    corrupter \register, addi \register, \register, 1
    .endr
    corrupter sp, addi sp, sp, 16
    corrupter fs0, fneg.d fs0, fs0
    corrupter fs11, fneg.d fs11, fs11
    corrupter fcsr, fsrmi t0, 1

    .section .note.GNU-stack, "", %progbits
