/* Xors with a constant: constants, both ends of the scratch memory, every register that a kernel may use, an early way out.
 *
 *     void sealane_mask_neon(const args *, void *scratch, const void *consts);
 *
 * out[0..64) = in[0..64) ^ consts[0..64), by way of scratch; nothing if bytes is 0.
 */
#include "../asm.S"

isa neon

function sealane_mask_neon
    ldr x3, [x0, #SEALANE_ARG_BYTES]
    ldr x4, [x0, #SEALANE_ARG_IN]
    ldr x5, [x0, #SEALANE_ARG_OUT]
    cbz x3, 9f
    ldp q0, q1, [x4]
    ldp q2, q3, [x4, #32]
    ld1 {v4.16b-v7.16b}, [x2]
    .irp v, 0, 1, 2, 3
    eor v\v\().16b, v\v\().16b, v4.16b
    ext v4.16b, v4.16b, v4.16b, #0
    mov v4.16b, v5.16b
    mov v5.16b, v6.16b
    mov v6.16b, v7.16b
    .endr
    add x6, x1, #SEALANE_SCRATCH_BYTES - 64
    stp q0, q1, [x1, #SEALANE_SCRATCH_SAVE_BYTES]
    str q0, [x6, #48]
    ldp q8, q9, [x1, #SEALANE_SCRATCH_SAVE_BYTES]
    stp q8, q9, [x5]
    stp q2, q3, [x5, #32]
    stp xzr, xzr, [x6, #48]
    movi v0.16b, #0
    stp q0, q0, [x1, #SEALANE_SCRATCH_SAVE_BYTES]
    .irp r, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21, 22, 23, 24, 25, 26, 27
    mov x\r, #-1
    .endr
    .irp v, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    movi v\v\().16b, #255
    .endr
9:
endfunction

constants sealane_mask_neon_constants
    .irp digit, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, a, b, c, d, e, f
    .long 0x\digit\()1234567
    .endr
endconstants
