/* Lanes of AES, each a text with a key of its own, for the aes_* kernels of arm64. The files that include this name
 * lanes, the next one; count, of those that are left; total, bytes of each; at, bytes of them done. q<i> is the state
 * of the i-th.
 */

.macro lane_store i, k
    ldr t0, [lanes, #SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_OUT]
    str q\i, [t0, at]
.endm

.macro lane_end i, k
    ldr t0, [lanes, #SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_CHAIN]
    str q\i, [t0]
.endm

/* Operations from CBC encryption on, as the flags say: that, or masks, of which total is 0. The first key's rounds. */
.macro lanes_begin rounds_of
.Llanes:
    mov total, #0
    b.hi .Llanes_masks
    ldr total, [args, #SEALANE_MODE_BYTES_EACH]
.Llanes_masks:
    ldp lanes, count, [args, #SEALANE_MODE_LANES]
    ldr t0, [lanes, #SEALANE_MODE_LANE_KEY]
    ldr \rounds_of, [t0, #SEALANE_AES_KEY_ROUNDS]
.endm
