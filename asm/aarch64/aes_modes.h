/* The code that the aes_* kernels of arm64 share: arguments and lanes. A lane is a text with its own key. The files
 * that include this define lanes (the next one), count (lanes left), total (bytes of each) and at (bytes of them
 * done). q<i> is the state of lane i.
 */

/* Bits of the operations that decrypt blocks. */
#define DECRYPTING (1 << SEALANE_AES_ECB_DECRYPT | 1 << SEALANE_AES_CBC_DECRYPT | 1 << SEALANE_AES_XTS_DECRYPT)

/* Loads the arguments of an operation on one text. Goes to .Lsetup, .Llanes, or .Ldone if there is no text. */
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

/* CBC encryption or masks, as the flags say. total is 0 for masks. \rounds_of := the number of rounds of the first
 * key. */
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
