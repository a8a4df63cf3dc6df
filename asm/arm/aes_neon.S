/* AES (FIPS 197) in the modes that do not authenticate (NIST SP 800-38A; IEEE 1619) with NEON.
 *
 *     void sealane_aes_neon(const args *a, void *scratch, const void *consts);
 *
 * CPU        ARMv7-A with NEON, little-endian; no AES instructions
 * args       OUT, IN, BYTES, KEY, STATE, TOTAL, FLAGS (asm/args.h: SEALANE_AES_*); writes OUT[BYTES], STATE[16] or
 *            KEY[256]
 * scratch    3456 bytes after the saved registers, wiped before the return; stack 0
 * consts     sealane_aes_neon_constants
 * registers  all but r10, r13, r14
 * branches   and addresses depend on BYTES, COUNT, BYTES_EACH, OPERATION, the number of rounds and the counter only
 *
 * Eight blocks at a time, of a text or one of each of eight lanes; a partial group takes as long (aes_neon.h). Up to
 * three lanes at the end run individually, by lookups (aes_lookup.h).
 *
 * Decryption is the same rounds backwards: see ../aes_inverse_linear.h.
 */
#include "../asm.S"

#if defined(__arm__)

isa neon

/* Scratch, beside the offsets of aes_neon.h. */
#define CHAIN 416            /* the tweak, or the block that the text is chained to */
#define OPERATION 480
#define PART 484             /* bytes of the text, or lanes, that are done together */
#define PASS 488             /* text for the keystream */
#define LANES 492            /* the next */
#define COUNT 496            /* lanes left */
#define TOTAL 500            /* bytes of each; 0: masks */
#define AT 504               /* bytes of them done */
#define KEYSTREAM (KEYS + 14*128) /* keystream of eight blocks */
#define TAIL (KEYSTREAM + 128)  /* a block of first_rounds */
#define CACHED_128 (TAIL + 16)
#define ROUND_2 (TAIL + 32)
#define VARYING_2 (ROUND_2 + 128)
#define VARYING_1 (VARYING_2 + 384)
#define ROUND_1 (VARYING_1 + 384)
#define OTHERS (ROUND_1 + 64) /* eight tweaks, or the blocks that lanes are chained to */
#define ZEROES (OTHERS + 128) /* a round key */
#define END (ZEROES + 128)
#define WIPED 3712

#define PASS_TEXT 0
#define PASS_KEYSTREAM 1
#define PASS_BLOCKS 2

#include "aes_neon.h"
#include "aes_modes.h"

#define LAST_KEY PASS        /* of lookups: where the bytes of the last key go */
#define FEW 3                /* lanes that are done by lookups */
#include "aes_lookup.h"

constants sealane_aes_neon_constants
    aes_rows
    lookup_constants
endconstants

/* ---- The inverse cipher ---- */

#include "../aes_inverse_linear.h"

.macro inverse_linear
    inverse_linear_of veor, vmov, q, q8, q9, q10, q11, q12, q13
.endm

/* The same for planes where sub_bytes leaves them. Planes 0 and 2 go to q11 and q12. */
.macro inverse_linear_behind
    veor q0, q3, q9                     /* 0 + 3 */
    veor q2, q6, q1                     /* 2 + 5 */
    veor q5, q8, q10                    /* 4 + 7 */
    veor q7, q4, q15                    /* 6 + 1 */
    veor q11, q2, q10
    veor q12, q5, q15
    veor q10, q7, q8                    /* 7 */
    veor q15, q0, q4                    /* 1 */
    veor q8, q7, q9                     /* 4 */
    veor q4, q0, q1                     /* 6 */
    veor q9, q2, q3                     /* 3 */
    veor q1, q5, q6                     /* 5 */
.endm

/* AddRoundKey after that. Planes return to where sub_bytes leaves them. */
.macro add_round_key
    vld1.8 {q13, q14}, [r0]!
    vld1.8 {q2}, [r0]!
    veor q10, q10, q13
    veor q4, q4, q14
    vld1.8 {q13, q14}, [r0]!
    veor q1, q1, q2
    vld1.8 {q5}, [r0]!
    veor q8, q8, q13
    veor q9, q9, q14
    vld1.8 {q13, q14}, [r0]!
    veor q6, q12, q5
    veor q15, q15, q13
    veor q3, q11, q14
.endm

/* a + a'' of rows 0 and 1. That of rows 2 and 3 is the same or, after an odd number of rounds, two columns off. */
.macro half_sum to, low, high, odd
.if \odd
    vrev32.16 \to, \high
    veor \to, \to, \low
.else
    veor \to, \low, \high
.endif
.endm

.macro add_halves sum, low, high, odd
    veor \low, \low, \sum
.if \odd
    vrev32.16 \sum, \sum
.endif
    veor \high, \high, \sum
.endm

/* a + 4 (a + a''), in place. */
.macro inverse_mix odd
    half_sum d0, d6, d7, \odd           /* plane 0 */
    half_sum d1, d30, d31, \odd
    half_sum d4, d12, d13, \odd
    half_sum d5, d18, d19, \odd
    half_sum d10, d16, d17, \odd
    half_sum d11, d2, d3, \odd
    half_sum d14, d8, d9, \odd
    half_sum d15, d20, d21, \odd        /* plane 7 */
    veor d22, d14, d15
    veor d0, d0, d15                    /* x^8 = x^4 + x^3 + x + 1 */
    veor d1, d1, d14
    veor d4, d4, d22
    veor d5, d5, d15
    add_halves d10, d8, d9, \odd        /* plane 6 */
    add_halves d11, d20, d21, \odd
    add_halves d14, d6, d7, \odd        /* plane 0 */
    add_halves d22, d30, d31, \odd
    add_halves d0, d12, d13, \odd
    add_halves d1, d18, d19, \odd
    add_halves d4, d16, d17, \odd
    add_halves d5, d2, d3, \odd
.endm

/* ---- Blocks ---- */

/* Applies \do to each of r8/step blocks, 1 to 8, with the registers where it comes in and where it leaves. */
.macro some do, step, to
    \do 0, q0, q8
    some_end 1, \step, \to
    \do 1, q1, q9
    some_end 2, \step, \to
    \do 2, q2, q10
    some_end 3, \step, \to
    \do 3, q3, q11
    some_end 4, \step, \to
    \do 4, q4, q0
    some_end 5, \step, \to
    \do 5, q5, q1
    some_end 6, \step, \to
    \do 6, q6, q2
    some_end 7, \step, \to
    \do 7, q7, q3
.endm

.macro some_end i, step, to
    cmp r8, #\step*\i
    beq \to
.endm

.macro load_block i, x, y
    vld1.8 {\x}, [r3]!
.endm

.macro store_block i, x, y
    vst1.8 {\y}, [r4]!
.endm

.macro tweak_block i, x, y
    store_tweak r7, r2, r4, r5, r6, r9, r11
.endm

.macro add_others_before
    add r7, r1, #OTHERS
    add_vectors r7
.endm

/* A block's bytes row by row, or as the index in q14 has it. */
.macro swap_rows x, low, high, t, t_low, t_high
    vtbl.8 \t_low, {\low, \high}, d28
    vtbl.8 \t_high, {\low, \high}, d29
    vmov \x, \t
.endm

.macro all_to_rows
    swap_rows q0, d0, d1, q8, d16, d17
    swap_rows q1, d2, d3, q9, d18, d19
    swap_rows q2, d4, d5, q10, d20, d21
    swap_rows q3, d6, d7, q11, d22, d23
    swap_rows q4, d8, d9, q8, d16, d17
    swap_rows q5, d10, d11, q9, d18, d19
    swap_rows q6, d12, d13, q10, d20, d21
    swap_rows q7, d14, d15, q11, d22, d23
.endm

.macro add_to_all x
    .irp block, q0, q1, q2, q3, q4, q5, q6, q7
    veor \block, \block, \x
    .endr
.endm

/* ---- Lanes ---- */

.macro lane_key i, x, y
    ldr r3, [r4, #SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_KEY]
    add r3, r3, r5
    vld1.8 {\x}, [r3]
.endm

.macro lane_add_key i, x, y
    ldr r3, [r4, #SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_KEY]
    add r3, r3, #SEALANE_AES_KEY_SCHEDULE
    vld1.8 {q15}, [r3]
    veor \x, \x, q15
.endm

.macro lane_begin i, x, y
    ldr r3, [r4, #SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_CHAIN]
    vld1.8 {q8}, [r3]
    vst1.8 {q8}, [r5]!
.endm

.macro lane_load i, x, y
    ldr r3, [r4, #SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_IN]
    add r3, r3, r5
    vld1.8 {\x}, [r3]
.endm

.macro lane_store i, x, y
    ldr r3, [r4, #SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_OUT]
    add r3, r3, r5
    vst1.8 {\y}, [r3]
.endm

.macro lane_end i, x, y
    ldr r3, [r4, #SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_CHAIN]
    vst1.8 {\y}, [r3]
.endm

/* ---- the kernel ---- */

scratch_end WIPED
function sealane_aes_neon
    ldr r3, [r0, #SEALANE_MODE_OPERATION]
    str r0, [r1, #ARGS]
    str r2, [r1, #CONSTS]
    str r3, [r1, #OPERATION]
    add r4, r1, #ZEROES
    vmov.i8 q0, #0
    vst1.8 {q0}, [r4]!
    vmov.i8 q1, #0
    vst1.8 {q0, q1}, [r4]!
    vst1.8 {q0, q1}, [r4]!
    vst1.8 {q0, q1}, [r4]!
    vst1.8 {q0}, [r4]
    one_text_or_lanes r3
.Lone_text:
    ldr r4, [r0, #SEALANE_MODE_KEY]
    cmp r3, #SEALANE_AES_SETUP
    beq .Lexpand
    ldr r5, [r0, #SEALANE_MODE_IN]
    ldr r6, [r0, #SEALANE_MODE_OUT]
    ldr r7, [r0, #SEALANE_MODE_BYTES]
    str r5, [r1, #IN]
    str r6, [r1, #OUT]
    cmp r7, #0
    str r7, [r1, #LEFT]
    beq .Lwipe
    spread_round_keys
    ldr r0, [r1, #ARGS]
    ldr r3, [r1, #OPERATION]
    ldr r4, [r0, #SEALANE_MODE_STATE]
    cmp r3, #SEALANE_AES_CTR
    blo .Lgroup
    beq .Lctr
    vld1.8 {q0}, [r4]
    add r5, r1, #CHAIN
    vst1.8 {q0}, [r5]
    cmp r3, #SEALANE_AES_CBC_DECRYPT
    bne .Lgroup
    ldr r3, [r1, #IN]
    ldr r7, [r1, #LEFT]
    add r3, r3, r7
    sub r3, r3, #16
    vld1.8 {q0}, [r3]
    vst1.8 {q0}, [r4]

/* ---- Eight blocks or fewer of a text ---- */

.Lgroup:
    ldr r8, [r1, #LEFT]
    ldr r3, [r1, #IN]
    cmp r8, #128
    movhs r8, #128
    ldr r12, [r1, #OPERATION]
    str r8, [r1, #PART]
    cmp r12, #SEALANE_AES_CTR_LITTLE
    beq .Llittle_counters
    some load_block, 16, .Lloaded
.Lloaded:
    cmp r12, #SEALANE_AES_XTS_ENCRYPT
    blo .Lway
    add r3, r1, #CHAIN
    ldmia r3, {r2, r4, r5, r6}
    add r7, r1, #OTHERS
    mov r11, #0x87
    some tweak_block, 16, .Ltweaked
.Ltweaked:
    stmia r3, {r2, r4, r5, r6}
    add_others_before
    b .Lway
.Llittle_counters:
    add r4, r1, #CHAIN
    ldr r5, [r4]
    vld1.8 {q0}, [r4]
    add r6, r5, r8, lsr #4
    str r6, [r4]
    .irp block, q1, q2, q3, q4, q5, q6, q7
    vmov \block, q0
    .endr
    .irp word, d2, d4, d6, d8, d10, d12, d14
    add r5, r5, #1
    vmov.32 \word[0], r5
    .endr
.Lway:
    ldr r0, [r1, #ARGS]
    ldr r2, [r1, #CONSTS]
    ldr r4, [r0, #SEALANE_MODE_KEY]
    mov r5, #DECRYPTING
    mov r5, r5, lsr r12
    tst r5, #1
    ldr r12, [r4, #SEALANE_AES_KEY_ROUNDS]
    bne .Ldecrypt
    add r5, r2, #CONST_ROWS
    vld1.8 {q14}, [r5]
    all_to_rows
    add r4, r4, #SEALANE_AES_KEY_SCHEDULE
    vld1.8 {q14}, [r4]
    add_to_all q14
.Lencrypt:                                  /* rows in q0 .. q7, r12: rounds */
    transpose
    mov r3, #PASS_BLOCKS
    str r3, [r1, #PASS]
    add r0, r1, #KEYS
    add r11, r2, #CONST_COLUMNS
    cmp r12, #12
    addeq r11, r11, #16
    b .Lrounds

/* r12: rounds left. */
.Ldecrypt:
    and r5, r12, #3
    add r5, r2, r5, lsl #4
    vld1.8 {q14}, [r5]                      /* CONST_ROWS */
    all_to_rows
    transpose
    add r0, r1, #KEYS - 128
    add r0, r0, r12, lsl #7
    add_vectors r0, q7, q6, q5, q4, q3, q2, q1, q0
.Linverse_round:
    inverse_linear
    sub_bytes
    subs r12, r12, #1
    inverse_linear_behind
    beq .Linverse_last
    add r0, r1, #KEYS - 128
    add r0, r0, r12, lsl #7
    add_round_key
    tst r12, #1
    add r0, r1, #ZEROES
    bne .Linverse_odd
    inverse_mix 0
    tst r12, #2
    bne .Linverse_two
    mix_columns 0
    b .Linverse_round
.Linverse_two:
    mix_columns 2
    b .Linverse_round
.Linverse_odd:
    inverse_mix 1
    and r3, r12, #2
    add r3, r2, r3, lsl #3
    add r3, r3, #CONST_NEXT
    vld1.8 {q14}, [r3]
    mix_columns_odd
    b .Linverse_round

/* The first round key. Its bytes are put row by row, too. */
.Linverse_last:
    vmov q0, q11
    vmov q2, q12
    vmov q5, q1
    vmov q7, q10
    vmov q11, q6
    vmov q6, q4
    vmov q1, q15
    vmov q3, q9
    vmov q4, q8
    transpose
    ldr r0, [r1, #ARGS]
    ldr r4, [r0, #SEALANE_MODE_KEY]
    add r4, r4, #SEALANE_AES_KEY_SCHEDULE
    vld1.8 {q15}, [r4]
    add r5, r2, #CONST_ROWS
    vld1.8 {q14}, [r5]
    add_to_all q15
    all_to_columns

.Lgot_blocks:
    ldr r12, [r1, #OPERATION]
    ldr r8, [r1, #PART]
    ldr r3, [r1, #IN]
    ldr r4, [r1, #OUT]
    cmp r12, #SEALANE_AES_CTR_LITTLE
    beq .Lcounted
    cmp r12, #SEALANE_AES_CBC_ENCRYPT
    bhs .Llane_done
    cmp r12, #SEALANE_AES_CBC_DECRYPT
    blo .Lstore
    beq .Lchained
    add r7, r1, #OTHERS
    vld1.8 {q4, q5}, [r7]!
    vld1.8 {q6, q7}, [r7]!
    vld1.8 {q12, q13}, [r7]!
    vld1.8 {q14, q15}, [r7]
    b .Ladd
.Lcounted:                                  /* adds the text in the same way */
    mov r7, r3
    subs r6, r8, #16
    add r5, r3, #16
    moveq r5, r3
    moveq r6, #16
    b .Lothers
.Lchained:                                  /* reads the last block again if there are fewer than seven */
    add r7, r1, #CHAIN
    mov r5, r3
    mov r6, r8
.Lothers:
    vld1.8 {q4}, [r7]
    .irp block, q5, q6, q7, q12, q13, q14, q15
    vld1.8 {\block}, [r5]!
    subs r6, r6, #16
    moveq r6, #16
    subeq r5, r5, #16
    .endr
    cmp r12, #SEALANE_AES_CBC_DECRYPT
    bne .Ladd
    add r5, r3, r8
    sub r5, r5, #16
    veor q8, q8, q4
    vld1.8 {q4}, [r5]
    vst1.8 {q4}, [r7]
    vmov.i8 q4, #0
.Ladd:
    veor q8, q8, q4
    veor q9, q9, q5
    veor q10, q10, q6
    veor q11, q11, q7
    veor q0, q0, q12
    veor q1, q1, q13
    veor q2, q2, q14
    veor q3, q3, q15
.Lstore:
    some store_block, 16, .Lstored
.Lstored:
    ldr r7, [r1, #LEFT]
    add r3, r3, r8
    str r3, [r1, #IN]
    str r4, [r1, #OUT]
    subs r7, r7, r8
    str r7, [r1, #LEFT]
    bne .Lgroup
    cmp r12, #SEALANE_AES_XTS_ENCRYPT
    blo .Lwipe
    ldr r0, [r1, #ARGS]
    ldr r4, [r0, #SEALANE_MODE_STATE]
    add r5, r1, #CHAIN
    vld1.8 {q0}, [r5]
    vst1.8 {q0}, [r4]
    b .Lwipe

/* ---- Counter mode ---- */

.Lctr:
    ldr r5, [r4]
    ldr r6, [r4, #4]
    vmov d0, r5, r6
    ldr r5, [r4, #8]
    ldr r7, [r4, #12]
    mov r6, #0
    vmov d1, r5, r6
    ldr r8, [r1, #LEFT]
    rev r7, r7
    add r8, r7, r8, lsr #4
    rev r8, r8
    str r8, [r4, #12]
    and r8, r7, #7
    bic r7, r7, #7
    mov r8, r8, lsl #4
    str r7, [r1, #COUNTER]
    str r8, [r1, #SKIP]
    mvn r8, #0
    str r8, [r1, #CACHED_128]
    str r8, [r1, #CACHED_32]
    mov r8, #SEALANE_FLAG_NONCE
    str r8, [r1, #FLAGS]
    ldr r2, [r1, #CONSTS]
    ldr r9, [r0, #SEALANE_MODE_KEY]
    first_input
.Lmore:
    ldr r6, [r1, #LEFT]
    ldr r8, [r1, #SKIP]
    cmp r6, #0
    beq .Lwipe
    mov r4, #PASS_KEYSTREAM
    cmp r6, #128
    blo .Lpass
    cmp r8, #0
    moveq r4, #PASS_TEXT
.Lpass:
    encrypt_counters
    cmp r4, #PASS_BLOCKS
    beq .Lgot_blocks
    cmp r4, #PASS_TEXT
    bne .Lkeystream
    ldr r3, [r1, #IN]
    ldr r4, [r1, #OUT]
    xor_text
    ldr r6, [r1, #LEFT]
    str r3, [r1, #IN]
    str r4, [r1, #OUT]
    sub r6, r6, #128
    str r6, [r1, #LEFT]
    b .Lmore

/* The first pass, if it begins before the counter, or the last. */
.Lkeystream:
    add r5, r1, #KEYSTREAM
    vst1.8 {q8, q9}, [r5]!
    vst1.8 {q10, q11}, [r5]!
    vst1.8 {q0, q1}, [r5]!
    vst1.8 {q2, q3}, [r5]!
    ldr r8, [r1, #SKIP]
    ldr r6, [r1, #LEFT]
    rsb r7, r8, #128
    ldr r3, [r1, #IN]
    sub r5, r5, r7
    ldr r4, [r1, #OUT]
    cmp r7, r6
    movhi r7, r6
    mov r8, #0
    sub r6, r6, r7
    str r8, [r1, #SKIP]
    str r6, [r1, #LEFT]
.Lkeystream_block:
    vld1.8 {q0}, [r3]!
    vld1.8 {q1}, [r5]!
    subs r7, r7, #16
    veor q0, q0, q1
    vst1.8 {q0}, [r4]!
    bne .Lkeystream_block
    str r3, [r1, #IN]
    str r4, [r1, #OUT]
    b .Lmore

    first_rounds

/* ---- Lanes, up to eight at a time ---- */

.Llanes:
    mov r5, #0
    ldreq r5, [r0, #SEALANE_MODE_BYTES_EACH]
    ldr r4, [r0, #SEALANE_MODE_LANES]
    ldr r6, [r0, #SEALANE_MODE_COUNT]
    str r5, [r1, #TOTAL]
    str r4, [r1, #LANES]
    str r6, [r1, #COUNT]
.Llanes_more:
    ldr r8, [r1, #COUNT]
    ldr r4, [r1, #LANES]
    cmp r8, #FEW
    bhi .Llanes_many

/* A lane, to its end. */
    ldr r7, [r1, #TOTAL]
    vmov.i8 q0, #0
    mov r6, #0
    cmp r7, #0
    beq .Lone_block
    ldr r3, [r4, #SEALANE_MODE_LANE_CHAIN]
    vld1.8 {q0}, [r3]
.Lone_block:
    ldr r3, [r4, #SEALANE_MODE_LANE_IN]
    ldr r9, [r4, #SEALANE_MODE_LANE_KEY]
    add r3, r3, r6
    vld1.8 {q1}, [r3]
    veor q0, q0, q1
    encrypt_one
    ldr r3, [r4, #SEALANE_MODE_LANE_OUT]
    ldr r7, [r1, #TOTAL]
    add r3, r3, r6
    vst1.8 {q0}, [r3]
    add r6, r6, #16
    cmp r6, r7
    blo .Lone_block
    cmp r7, #0
    ldrne r3, [r4, #SEALANE_MODE_LANE_CHAIN]
    add r4, r4, #SEALANE_LANE_STRIDE
    str r4, [r1, #LANES]
    beq .Lone_done
    vst1.8 {q0}, [r3]
.Lone_done:
    ldr r8, [r1, #COUNT]
    subs r8, r8, #1
    str r8, [r1, #COUNT]
    bne .Llanes_more
    ldr r0, [r1, #ARGS]                     /* lanes before these have used r0 */
    ldr r3, [r0, #SEALANE_MODE_COUNT]
    cmp r3, #FEW
    bhi .Lwipe
    add r3, r1, #ARGS                       /* the rest of scratch has not been used */
    mov r4, #1
    b .Lwipe_some

.Llanes_many:
    cmp r8, #8
    movhs r8, #8
    str r8, [r1, #PART]

/* Their round keys are like blocks. */
    ldr r3, [r4, #SEALANE_MODE_LANE_KEY]
    ldr r12, [r3, #SEALANE_AES_KEY_ROUNDS]
    mov r5, #SEALANE_AES_KEY_SCHEDULE + 16
    add r6, r1, #KEYS
.Llane_keys:
    some lane_key, 1, .Llane_keys_loaded
.Llane_keys_loaded:
    transpose
    .irp plane, q7, q6, q5, q4, q3, q2, q1, q0
    vst1.8 {\plane}, [r6]!
    .endr
    subs r12, r12, #1
    add r5, r5, #16
    bne .Llane_keys
    ldr r6, [r1, #TOTAL]
    mov r5, #0
    str r5, [r1, #AT]
    cmp r6, #0
    beq .Llane_block
    add r5, r1, #OTHERS
    some lane_begin, 1, .Llane_block
.Llane_block:
    ldr r4, [r1, #LANES]
    ldr r5, [r1, #AT]
    ldr r8, [r1, #PART]
    ldr r2, [r1, #CONSTS]
    some lane_load, 1, .Llane_loaded
.Llane_loaded:
    ldr r6, [r1, #TOTAL]
    cmp r6, #0
    beq .Llane_rows
    add_others_before
.Llane_rows:
    add r5, r2, #CONST_ROWS
    vld1.8 {q14}, [r5]
    all_to_rows
    some lane_add_key, 1, .Llane_ready
.Llane_ready:
    ldr r3, [r4, #SEALANE_MODE_LANE_KEY]
    ldr r12, [r3, #SEALANE_AES_KEY_ROUNDS]
    b .Lencrypt
.Llane_done:
    ldr r4, [r1, #LANES]
    ldr r5, [r1, #AT]
    ldr r6, [r1, #TOTAL]
    some lane_store, 1, .Llane_stored
.Llane_stored:
    cmp r6, #0
    beq .Llanes_done
    add r7, r1, #OTHERS
    vst1.8 {q8, q9}, [r7]!
    vst1.8 {q10, q11}, [r7]!
    vst1.8 {q0, q1}, [r7]!
    vst1.8 {q2, q3}, [r7]
    add r5, r5, #16
    str r5, [r1, #AT]
    cmp r5, r6
    blo .Llane_block
    some lane_end, 1, .Llanes_done
.Llanes_done:
    ldr r6, [r1, #COUNT]
    add r4, r4, #8*SEALANE_LANE_STRIDE
    str r4, [r1, #LANES]
    subs r6, r6, r8
    str r6, [r1, #COUNT]
    bne .Llanes_more
    b .Lwipe

/* ---- The key ---- */

.Lexpand:
    expand_key

.Lwipe:
    add r3, r1, #SPILL
    mov r4, #(WIPED - SPILL)/64
.Lwipe_some:
    vmov.i8 q0, #0
    vmov.i8 q1, #0
.Lwipe_64:
    vst1.8 {q0, q1}, [r3]!
    subs r4, r4, #1
    vst1.8 {q0, q1}, [r3]!
    bne .Lwipe_64
endfunction

#endif
