/* AES (FIPS 197) in the modes that do not authenticate (NIST SP 800-38A; IEEE 1619), in integer registers.
 *
 *     void sealane_aes_armv6(const args *a, void *scratch, const void *consts);
 *
 * CPU        ARMv6 (ldr and str of words at any address), little-endian, no vector unit
 * args       OUT, IN, BYTES, KEY, STATE, TOTAL, FLAGS (asm/args.h: SEALANE_AES_*); writes OUT[BYTES], STATE[16] or
 *            KEY[256]
 * scratch    1088 bytes after the saved registers, wiped before the return; stack 0
 * consts     sealane_aes_armv6_constants
 * registers  all but r10, r13, r14
 * branches   and addresses depend on BYTES, COUNT, BYTES_EACH, OPERATION and the number of rounds only
 *
 * Two blocks are processed at a time: two of a text, or one of each of two lanes. A single block takes as long. See
 * aes_armv6.h. Encryption and decryption share one SubBytes, and loop over the rounds.
 *
 * Decryption is the same rounds backwards: see ../aes_inverse_linear.h.
 */
#include "../asm.S"

#if defined(__arm__)

isa armv6

/* Scratch, in addition to that of aes_armv6.h. */
#define OPERATION 424
#define IN 428
#define OUT 432
#define LEFT 436       /* bytes of text left */
#define COUNTER 440    /* of the next block */
#define MESSAGE 444    /* of expand_key */
#define DECRYPT 448    /* 0: encrypt */
#define COUNT 452      /* lanes left */
#define LANES 456      /* the next */
#define TOTAL 460      /* bytes of each; 0: masks */
#define ALL_ROUNDS 464
#define ROUNDS 468     /* of end_rounds and expand_key */
#define NEXT_KEY 472
#define ROUND 476      /* rounds between the state and the first round key */
#define PART 480       /* bytes of the text, or lanes, that are done together */
#define AT 484         /* bytes of lanes done */
#define KEYSTREAM 496     /* two blocks that come from the rounds */
#define OTHERS 528     /* two tweaks, or the blocks that lanes are chained to */
#define CHAIN 560      /* the tweak, or the block that the text is chained to */
#define ZEROES 576     /* a round key */
#define KEYS 608       /* planes 0 .. 7 of each round key */
#define WORDS 1088     /* set-up: the key schedule */
#define END 1344

#include "aes_armv6.h"
#include "aes_modes.h"
#include "words.h"

constants sealane_aes_armv6_constants
    .byte 1, 2, 4, 8, 16, 32, 64, 128, 27, 54, 0, 0, 0, 0, 0, 0 /* round constants */
endconstants

/* ---- The inverse cipher ---- */

/* L^-1: planes 0 .. 7 come in r0, r2 .. r8 and leave in r8, r7, r2, r0, r4, r3, r6, r5. */
.macro inverse_linear
    eor r9, r7, r2                          /* 6 + 1 */
    str r9, [r1, #SPILL]
    eor r9, r0, r4                          /* 0 + 3 */
    eor r11, r3, r6                         /* 2 + 5 */
    eor r12, r5, r8                         /* 4 + 7 */
    eor r7, r7, r9                          /* 1 = 3 + 6 + 0 */
    eor r6, r6, r9                          /* 6 = 0 + 3 + 5 */
    ldr r9, [r1, #SPILL]
    eor r8, r8, r11                         /* 0 = 2 + 5 + 7 */
    eor r0, r0, r11                         /* 3 = 5 + 0 + 2 */
    eor r2, r2, r12                         /* 2 = 4 + 7 + 1 */
    eor r3, r3, r12                         /* 5 = 7 + 2 + 4 */
    eor r5, r5, r9                          /* 7 = 1 + 4 + 6 */
    eor r4, r4, r9                          /* 4 = 6 + 1 + 3 */
.endm

.macro store_planes at
    str r8, [r1, #\at]
    str r7, [r1, #\at + 4]
    str r2, [r1, #\at + 8]
    str r0, [r1, #\at + 12]
    str r4, [r1, #\at + 16]
    str r3, [r1, #\at + 20]
    str r6, [r1, #\at + 24]
    str r5, [r1, #\at + 28]
.endm

/* a + a'' of plane i, for which r12 is the mask after an odd number of rounds. */
.macro opposite_sum i, a, odd
.if \odd
    and r9, r12, \a, ror #20
    mov r11, \a, ror #12
    bic r11, r11, r12
    eor r9, r9, \a
    eor r9, r9, r11
.else
    eor r9, \a, \a, ror #16
.endif
    str r9, [r1, #SPILL + 4*\i]
.endm

/* The same for planes 0 .. 7, in r0, r2 .. r8. */
.macro opposite_sums odd
    opposite_sum 0, r0, \odd
    opposite_sum 1, r2, \odd
    opposite_sum 2, r3, \odd
    opposite_sum 3, r4, \odd
    opposite_sum 4, r5, \odd
    opposite_sum 5, r6, \odd
    opposite_sum 6, r7, \odd
    opposite_sum 7, r8, \odd
.endm

/* ---- Blocks ---- */

/* The words at \from are added to those of the first block or of the second. */
.macro add_words from, a, b, c, d
    ldmia \from!, {r9, r11}
    eor \a, \a, r9
    eor \b, \b, r11
    ldmia \from!, {r9, r11}
    eor \c, \c, r9
    eor \d, \d, r11
.endm

.macro add_others
    add r12, r1, #OTHERS
    add_words r12, r0, r3, r5, r7
    add_words r12, r2, r4, r6, r8
.endm

/* ---- the kernel ---- */

scratch_end END
function sealane_aes_armv6
    ldr r3, [r0, #SEALANE_MODE_OPERATION]
    str r0, [r1, #ARGS]
    str r2, [r1, #CONSTS]
    str r3, [r1, #OPERATION]
    mov r4, #0
    add r5, r1, #ZEROES
    .irp i, 0, 4, 8, 12, 16, 20, 24, 28
    str r4, [r5, #\i]
    .endr
    str r4, [r1, #DECRYPT]
    one_text_or_lanes r3
    cmp r3, #SEALANE_AES_SETUP
    beq .Lexpand
.Lone_text:
    ldr r4, [r0, #SEALANE_MODE_KEY]
    ldr r5, [r0, #SEALANE_MODE_IN]
    ldr r6, [r0, #SEALANE_MODE_OUT]
    ldr r7, [r0, #SEALANE_MODE_BYTES]
    mov r8, #DECRYPTING
    mov r8, r8, lsr r3
    and r8, r8, #1
    str r5, [r1, #IN]
    cmp r7, #0
    str r6, [r1, #OUT]
    beq .Lwipe
    str r7, [r1, #LEFT]
    str r8, [r1, #DECRYPT]
    ldr r6, [r4, #SEALANE_AES_KEY_ROUNDS]
    str r6, [r1, #ALL_ROUNDS]
    spread_round_keys
    ldr r3, [r1, #OPERATION]
    ldr r0, [r1, #ARGS]
    cmp r3, #SEALANE_AES_CTR
    blo .Lgroup
    ldr r0, [r0, #SEALANE_MODE_STATE]
    add r9, r1, #CHAIN
    load_words r0, r4, r5, r6, r7
    ldr r8, [r1, #LEFT]
    stmia r9, {r4, r5, r6, r7}
    beq .Lctr
    cmp r3, #SEALANE_AES_CBC_DECRYPT
    bne .Lgroup
    ldr r3, [r1, #IN]
    add r3, r3, r8
    sub r3, r3, #16
    load_words r3, r4, r5, r6, r7
    store_words r0, r4, r5, r6, r7
    b .Lgroup
.Lctr:
    rev r7, r7
    str r7, [r1, #COUNTER]
    add r7, r7, r8, lsr #4
    rev r7, r7
    str r7, [r0, #12]

/* ---- Two blocks or one of a text ---- */

.Lgroup:
    ldr r8, [r1, #LEFT]
    ldr r12, [r1, #OPERATION]
    cmp r8, #32
    movhs r8, #32
    str r8, [r1, #PART]
    cmp r12, #SEALANE_AES_CTR_LITTLE
    beq .Llittle_counters
    cmp r12, #SEALANE_AES_CTR
    bne .Lload
    add r9, r1, #CHAIN
    ldmia r9, {r0, r3, r5}
    ldr r11, [r1, #COUNTER]
    mov r2, r0
    rev r7, r11
    mov r4, r3
    add r8, r11, #1
    mov r6, r5
    add r11, r11, #2
    rev r8, r8
    str r11, [r1, #COUNTER]
    b .Lencrypt
.Llittle_counters:
    add r9, r1, #CHAIN
    ldmia r9, {r0, r3, r5, r7}
    add r2, r0, #1
    mov r4, r3
    add r11, r0, r8, lsr #4
    mov r6, r5
    str r11, [r9]
    mov r8, r7
    b .Lencrypt
.Lload:
    cmp r12, #SEALANE_AES_XTS_ENCRYPT
    blo .Lload_text
    add r0, r1, #CHAIN
    ldmia r0, {r4, r5, r6, r7}
    add r3, r1, #OTHERS
    store_tweak r3, r4, r5, r6, r7, r8
    ldr r8, [r1, #PART]
    cmp r8, #16
    beq .Ltweaked
    store_tweak r3, r4, r5, r6, r7, r8
.Ltweaked:
    stmia r0, {r4, r5, r6, r7}
.Lload_text:
    ldr r9, [r1, #IN]
    ldr r11, [r1, #PART]
    load_words r9, r0, r3, r5, r7
    cmp r11, #16
    addne r9, r9, #16
    load_words r9, r2, r4, r6, r8
    cmp r12, #SEALANE_AES_XTS_ENCRYPT
    blo .Lway
    add_others
.Lway:
    ldr r9, [r1, #DECRYPT]
    cmp r9, #0
    bne .Ldecrypt

/* ---- The rounds of r0, r2 .. r8: interleaved columns of both blocks ---- */

.Lencrypt:
    begin_rounds
    mov r0, #0
    str r0, [r1, #ROUND]
.Lround:
    sub_bytes
    ldr r0, [r1, #ROUND]
    ldr r2, [r1, #DECRYPT]
    ldr r3, [r1, #ALL_ROUNDS]
    cmp r2, #0
    bne .Linverse
    add r0, r0, #1
    str r0, [r1, #ROUND]
    cmp r0, r3
    beq .Llast_round
.Lmix:
    and r0, r0, #3
    cmp r0, #2
    beq .Lmix2
    bhi .Lmix3
    cmp r0, #1
    beq .Lmix1
    mix_columns 0
    b .Lmixed
.Lmix1:
    mix_columns 1
    b .Lmixed
.Lmix2:
    mix_columns 2
    b .Lmixed
.Lmix3:
    mix_columns 3
.Lmixed:
    ldr r2, [r1, #DECRYPT]
    cmp r2, #0
    beq .Lround
.Linverse_round:
    add r12, r1, #PLANES
    ldmia r12, {r0, r2, r3, r4, r5, r6, r7, r8}
    inverse_linear
    store_planes PLANES
    b .Lround

.Llast_round:
    subs r0, r0, #12
    str r0, [r1, #ROUNDS]
    end_rounds
    b .Lgot_blocks

.Ldecrypt:
    transpose
    ldr r9, [r1, #ALL_ROUNDS]
    str r9, [r1, #ROUND]
    cmp r9, #12
    beq .Ldecrypt_in_place
    straighten
.Ldecrypt_in_place:
    ldr r9, [r1, #ROUND]
    add r12, r1, #KEYS
    add r12, r12, r9, lsl #5
    add_planes
    add r12, r1, #PLANES
    stmia r12, {r0, r2, r3, r4, r5, r6, r7, r8}
    b .Linverse_round
.Linverse:
    add r12, r1, #OUTPUT
    ldmia r12, {r0, r2, r3, r4, r5, r6, r7, r8}
    inverse_linear
    store_planes OUTPUT
    ldr r9, [r1, #ROUND]
    add r12, r1, #OUTPUT
    ldmia r12, {r0, r2, r3, r4, r5, r6, r7, r8}
    subs r9, r9, #1
    str r9, [r1, #ROUND]
    add r12, r1, #KEYS
    add r12, r12, r9, lsl #5
    add_planes
    ldr r9, [r1, #ROUND]
    cmp r9, #0
    beq .Linverse_last
    tst r9, #1
    bne .Linverse_odd
    opposite_sums 0
    b .Linverse_mix
.Linverse_odd:
    bytes r12, 0x0f
    opposite_sums 1
.Linverse_mix:
    ldr r9, [r1, #SPILL + 24]
    ldr r11, [r1, #SPILL + 28]
    eor r0, r0, r9                          /* x^8 = x^4 + x^3 + x + 1 */
    eor r2, r2, r9
    eor r4, r4, r9
    eor r5, r5, r9
    eor r2, r2, r11
    eor r3, r3, r11
    eor r5, r5, r11
    eor r6, r6, r11
    add r12, r1, #SPILL
    add_two r3, r4
    add_two r5, r6
    add_two r7, r8
    add r12, r1, #OUTPUT
    stmia r12, {r0, r2, r3, r4, r5, r6, r7, r8}
    add r12, r1, #ZEROES
    str r12, [r1, #NEXT_KEY]
    ldr r0, [r1, #ROUND]
    b .Lmix
.Linverse_last:
    transpose
.Lgot_blocks:
    add r12, r1, #KEYSTREAM
    stmia r12!, {r0, r3, r5, r7}
    stmia r12, {r2, r4, r6, r8}
    ldr r0, [r1, #OPERATION]
    cmp r0, #SEALANE_AES_CTR_LITTLE
    beq .Ltext_done
    cmp r0, #SEALANE_AES_CBC_ENCRYPT
    bhs .Llane_done
.Ltext_done:
    ldr r2, [r1, #PART]
    ldr r3, [r1, #IN]
    ldr r4, [r1, #OUT]
    add r8, r1, #KEYSTREAM
.Lblock:
    ldmia r8!, {r5, r6, r7, r9}
    ldr r0, [r1, #OPERATION]
    add r12, r8, #OTHERS - KEYSTREAM - 16
    cmp r0, #SEALANE_AES_CTR
    blo .Lstore
    cmpne r0, #SEALANE_AES_CTR_LITTLE
    moveq r12, r3
    cmp r0, #SEALANE_AES_CBC_DECRYPT
    addeq r12, r1, #CHAIN
    ldr r0, [r12]
    ldr r11, [r12, #4]
    eor r5, r5, r0
    eor r6, r6, r11
    ldr r0, [r12, #8]
    ldr r11, [r12, #12]
    eor r7, r7, r0
    eor r9, r9, r11
    bne .Lstore
    .irp i, 0, 4, 8, 12
    ldr r0, [r3, #\i]
    str r0, [r12, #\i]
    .endr
.Lstore:
    store_words r4, r5, r6, r7, r9
    add r3, r3, #16
    subs r2, r2, #16
    add r4, r4, #16
    bne .Lblock
    ldr r2, [r1, #PART]
    ldr r5, [r1, #LEFT]
    str r3, [r1, #IN]
    str r4, [r1, #OUT]
    subs r5, r5, r2
    str r5, [r1, #LEFT]
    bne .Lgroup
    ldr r0, [r1, #OPERATION]
    cmp r0, #SEALANE_AES_XTS_ENCRYPT
    blo .Lwipe
    ldr r0, [r1, #ARGS]
    add r3, r1, #CHAIN
    ldr r0, [r0, #SEALANE_MODE_STATE]
    ldmia r3, {r4, r5, r6, r7}
    store_words r0, r4, r5, r6, r7
    b .Lwipe

/* ---- Lanes, two at a time ---- */

.Llanes:
    ldrne r4, [r1, #DECRYPT]                /* 0 */
    ldreq r4, [r0, #SEALANE_MODE_BYTES_EACH]
    ldr r5, [r0, #SEALANE_MODE_LANES]
    ldr r6, [r0, #SEALANE_MODE_COUNT]
    str r4, [r1, #TOTAL]
    str r5, [r1, #LANES]
    ldr r7, [r5, #SEALANE_MODE_LANE_KEY]
    str r6, [r1, #COUNT]
    ldr r7, [r7, #SEALANE_AES_KEY_ROUNDS]
    str r7, [r1, #ALL_ROUNDS]
.Llanes_more:
    ldr r5, [r1, #LANES]
    ldr r6, [r1, #COUNT]
    ldr r3, [r5, #SEALANE_MODE_LANE_KEY]
    cmp r6, #2
    movhs r6, #2
    str r6, [r1, #PART]
    mov r4, r3                              /* a single lane is used twice */
    ldrhs r4, [r5, #SEALANE_LANE_STRIDE + SEALANE_MODE_LANE_KEY]
    ldr r7, [r1, #ALL_ROUNDS]
    mov r7, r7, lsl #2
    add r7, r7, #4
    add r3, r3, #SEALANE_AES_KEY_SCHEDULE
    add r4, r4, #SEALANE_AES_KEY_SCHEDULE
    add r8, r1, #KEYS
    bytes r12, 0x55
.Llane_keys:
    ldr r0, [r3], #4
    ldr r2, [r4], #4
    subs r7, r7, #1
    and r9, r12, r0
    and r11, r12, r2
    orr r9, r9, r11, lsl #1
    bic r2, r2, r12
    and r0, r12, r0, lsr #1
    orr r0, r0, r2
    str r9, [r8], #4
    str r0, [r8], #4
    bne .Llane_keys
    ldr r4, [r1, #TOTAL]
    mov r0, #0
    str r0, [r1, #AT]
    cmp r4, #0
    beq .Llane_block
    ldr r0, [r5, #SEALANE_MODE_LANE_CHAIN]
    add r12, r1, #OTHERS
    load_words r0, r2, r3, r4, r7
    stmia r12!, {r2, r3, r4, r7}
    cmp r6, #2
    blo .Llane_block
    ldr r0, [r5, #SEALANE_LANE_STRIDE + SEALANE_MODE_LANE_CHAIN]
    load_words r0, r2, r3, r4, r7
    stmia r12!, {r2, r3, r4, r7}
.Llane_block:
    ldr r9, [r1, #LANES]
    ldr r12, [r1, #AT]
    ldr r11, [r1, #PART]
    ldr r0, [r9, #SEALANE_MODE_LANE_IN]
    cmp r11, #2
    mov r2, r0
    ldrhs r2, [r9, #SEALANE_LANE_STRIDE + SEALANE_MODE_LANE_IN]
    add r9, r0, r12
    add r11, r2, r12
    load_words r9, r0, r3, r5, r7
    load_words r11, r2, r4, r6, r8
    ldr r9, [r1, #TOTAL]
    cmp r9, #0
    beq .Lencrypt
    add_others
    b .Lencrypt
.Llane_done:
    ldr r2, [r1, #PART]
    ldr r3, [r1, #LANES]
    ldr r12, [r1, #AT]
    add r8, r1, #KEYSTREAM
.Llane_store:
    ldr r4, [r3, #SEALANE_MODE_LANE_OUT]
    ldmia r8!, {r5, r6, r7, r9}
    add r4, r4, r12
    store_words r4, r5, r6, r7, r9
    add r0, r8, #OTHERS - KEYSTREAM - 16
    add r3, r3, #SEALANE_LANE_STRIDE
    stmia r0, {r5, r6, r7, r9}
    subs r2, r2, #1
    bne .Llane_store
    ldr r0, [r1, #TOTAL]
    cmp r0, #0
    beq .Llanes_done
    add r12, r12, #16
    str r12, [r1, #AT]
    cmp r12, r0
    blo .Llane_block
    ldr r2, [r1, #PART]
    ldr r3, [r1, #LANES]
    add r8, r1, #KEYSTREAM
.Llane_end:
    ldr r4, [r3, #SEALANE_MODE_LANE_CHAIN]
    ldmia r8!, {r5, r6, r7, r9}
    store_words r4, r5, r6, r7, r9
    add r3, r3, #SEALANE_LANE_STRIDE
    subs r2, r2, #1
    bne .Llane_end
.Llanes_done:
    ldr r2, [r1, #PART]
    ldr r4, [r1, #COUNT]
    str r3, [r1, #LANES]
    subs r4, r4, r2
    str r4, [r1, #COUNT]
    bne .Llanes_more
    b .Lwipe

/* ---- The key ---- */

.Lexpand:
    expand_key

.Lwipe:
    wipe
endfunction

#endif
