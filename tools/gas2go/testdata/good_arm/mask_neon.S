/* Xors with a constant: constants, both ends of the scratch memory, every register that a kernel may use.
 *
 *     void sealane_mask_neon(const args *, void *scratch, const void *consts);
 *
 * out[0..64) = in[0..64) ^ consts[0..64), by way of scratch.
 */
#include "../asm.S"

isa neon

function sealane_mask_neon
    ldr r3, [r0, #SEALANE_ARG_IN]
    ldr r4, [r0, #SEALANE_ARG_OUT]
    add r5, r1, #SEALANE_SCRATCH_SAVE_BYTES
    add r6, r1, #SEALANE_SCRATCH_BYTES - 64
    vld1.8 {d0-d3}, [r3]!
    vld1.8 {d4-d7}, [r3]
    vldmia r2, {d16-d23}
    veor q0, q0, q8
    veor q1, q1, q9
    veor q2, q2, q10
    veor q3, q3, q11
    vst1.8 {d0-d3}, [r5:128]
    vst1.8 {d0-d3}, [r6:128]
    vld1.8 {d8-d11}, [r6:128]
    vst1.8 {d8-d11}, [r4]!
    vst1.8 {d4-d7}, [r4]
    vmov.i8 q0, #0
    vmov.i8 q1, #0
    vst1.8 {d0-d3}, [r5:128]
    vst1.8 {d0-d3}, [r6:128]
    .irp r, 3, 4, 5, 6, 7, 8, 9, 11, 12
    mvn r\r, #0
    .endr
    .irp q, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    vmov.i8 q\q, #255
    .endr
endfunction

constants sealane_mask_neon_constants
    .irp digit, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, a, b, c, d, e, f
    .long 0x\digit\()1234567
    .endr
endconstants
