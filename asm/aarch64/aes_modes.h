/* The code that the aes_* kernels of arm64 share: arguments, and lanes, each a text with a key of its own. The files
 * that include this define lanes (the next one), count (lanes left), total (bytes of each) and at (bytes of them
 * done). q<i> is the state of lane i.
 */

/* Bits of the operations that decrypt blocks. */
#define DECRYPTING (1 << SEALANE_AES_ECB_DECRYPT | 1 << SEALANE_AES_CBC_DECRYPT | 1 << SEALANE_AES_XTS_DECRYPT)

/* The arguments of an operation on one text; to .Lsetup, .Llanes, or .Ldone if there is no text. */
.macro mode_begin key
    ldr operation, [args, #SEALANE_MODE_OPERATION]
    cmp operation, #SEALANE_AES_CTR_LITTLE
    b.eq 1f
    cmp operation, #SEALANE_AES_CBC_ENCRYPT
    b.hs .Llanes
1:
    ldr \key, [args, #SEALANE_MODE_KEY]
    ldr rounds, [\key, #SEALANE_AES_KEY_ROUNDS]
    cbz operation, .Lsetup
    ldp dst, src, [args, #SEALANE_MODE_OUT]
    ldr text_left, [args, #SEALANE_MODE_BYTES]
    ldr state, [args, #SEALANE_MODE_STATE]
    cbz text_left, .Ldone
.endm

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
