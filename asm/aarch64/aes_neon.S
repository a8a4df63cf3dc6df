/* AES (FIPS 197) in the modes that do not authenticate (NIST SP 800-38A; IEEE 1619), for CPUs without the crypto
 * extensions.
 *
 *     void sealane_aes_neon(const args *a, void *scratch, const void *consts);
 *
 * CPU        ARMv8-A with Advanced SIMD
 * args       OUT, IN, BYTES, KEY, STATE, TOTAL, FLAGS (asm/args.h: SEALANE_AES_*); writes OUT[BYTES], STATE[16] or
 *            KEY[256]
 * scratch    2048 bytes after the saved registers, wiped before the return; stack 0
 * consts     sealane_aes_neon_constants
 * registers  all but sp, x18, x28, x29, x30
 * branches   and addresses depend on BYTES, COUNT, BYTES_EACH, OPERATION, ROUNDS only
 *
 * Eight blocks at a time, of a text or one of each of eight lanes, are bit-sliced (aes_neon.h). Lookups
 * (aes_lookup.h) process one or two at a time. They are used at the end of a text and of CBC encryption, for up to
 * four blocks or lanes, and for all masks.
 *
 * Decryption is the same rounds backwards: see ../aes_inverse_linear.h.
 */
#include "../asm.S"

#if defined(__aarch64__)

    isa neon

/* Scratch. */
#define OTHERS 256     /* eight blocks: tweaks, or those that lanes are chained to; the first: that of a text */
#define ROUND_KEYS 384 /* 15 bit-sliced */
#define SCRATCH_END 2304

/* Integer registers. */
#include "aes_registers.h"
#define src x3
#define dst x4
#define text_left x5        /* bytes of text */
#define key x6
#define key_0 t2         /* of lookups */
#define key_1 t3
#define at x7          /* bytes done of lanes */
#define state x8
#define counter w9
#define counter_wide x9
#define written x16        /* pieces of 128 bytes to be wiped, from OTHERS on */
#define round_key x14
#define round x15
#define little w19         /* 1: the first word of the block counts, little-endian */
#define lanes x20
#define count x21
#define operation w22
#define rounds x23
#define low x24         /* the tweak */
#define high x25
#define total x26
#define together x27   /* bytes of the text, or lanes, that are done together */

#include "aes_neon.h"
#include "aes_modes.h"

    constants sealane_aes_neon_constants
    aes_rows
    lookup_constants
    lookup_inverse_constants
    endconstants

/* ---- The inverse cipher ---------------------------------------------------------------------------------------- */

#include "../aes_inverse_linear.h"

.macro bits_move to, from
    mov \to\().16b, \from\().16b
.endm

.macro inverse_linear
    inverse_linear_of bits_add, bits_move, v, v16, v17, v18, v19, v20, v21
.endm

/* The same after SubBytes, with AddRoundKey. */
.macro inverse_linear_add
    bits_add v17, b0, b3
    ldp q24, q25, [round_key]
    bits_add v18, b2, b5
    bits_add v19, b4, b7
    ldp q26, q27, [round_key, #32]
    bits_add v20, b6, b1
    bits_add v0, v18, b7
    ldp q28, q29, [round_key, #64]
    bits_add v1, v17, b6
    bits_add v7, v20, b4
    ldp q30, q31, [round_key, #96]
    bits_add v4, v20, b3
    bits_add v5, v19, b2
    bits_add v6, v17, b5
    bits_add v3, v18, b0
    bits_add v2, v19, b1
    bits_add v0, v0, v24
    bits_add v1, v1, v25
    bits_add v7, v7, v31
    bits_add v4, v4, v28
    bits_add v5, v5, v29
    bits_add v6, v6, v30
    bits_add v3, v3, v27
    bits_add v2, v2, v26
.endm

/* InvMixColumns (5.3.3). */
.macro inverse_mix_columns odd
    opposite_row v17, v0, \odd
    opposite_row v18, v1, \odd
    opposite_row v19, v2, \odd
    opposite_row v20, v3, \odd
    opposite_row v21, v4, \odd
    opposite_row v22, v5, \odd
    opposite_row v23, v6, \odd
    opposite_row v24, v7, \odd
    bits_add v17, v17, v0
    bits_add v18, v18, v1
    bits_add v19, v19, v2
    bits_add v20, v20, v3
    bits_add v21, v21, v4
    bits_add v22, v22, v5
    bits_add v23, v23, v6
    bits_add v24, v24, v7
    bits_add b2, v2, v17        /* x^8 = x^4 + x^3 + x + 1 */
    bits_add b3, v3, v18
    bits_add b5, v5, v20
    bits_add b7, v7, v22
    bits_add b6, v6, v21
    bits_add v17, v23, v24
    bits_add b4, v4, v19
    bits_add b0, v0, v23
    bits_add b1, v1, v17
    bits_add b3, b3, v23
    bits_add b2, b2, v24
    bits_add b5, b5, v24
    bits_add b4, b4, v17
    mix_columns \odd, 0
.endm

/* Decrypts the eight blocks in 0 .. 7. */
.macro decrypt_blocks
    and t0, rounds, #3
    add t0, consts, t0, lsl #4
    add round_key, scratch, #ROUND_KEYS
    ldr q11, [t0, #SHIFTED]
    add round_key, round_key, rounds, lsl #7
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    shift_rows v\i
    .endr
    transpose_bits
    eight_more ldp, round_key
    add_others
    mov round, rounds
.Linverse_round:
    inverse_linear
    substitute
    sub round_key, round_key, #128
    inverse_linear_add
    subs round, round, #1
    b.eq .Linverse_last
    mix_by_round inverse_mix_columns, .Linverse_round
.Linverse_last:
    transpose_bits
.endm

/* ---- Blocks ---------------------------------------------------------------------------------------------------- */

/* Applies \do to each of together/step blocks, 1 to 8, then goes to \to. The second number is that of another vector.
 */
.macro some do, step, to
    \do 0, 16
    some_end 1, \step, \to
    \do 1, 17
    some_end 2, \step, \to
    \do 2, 18
    some_end 3, \step, \to
    \do 3, 19
    some_end 4, \step, \to
    \do 4, 20
    some_end 5, \step, \to
    \do 5, 21
    some_end 6, \step, \to
    \do 6, 22
    some_end 7, \step, \to
    \do 7, 23
.endm

.macro some_end i, step, to
    cmp together, #\step*\i
    b.eq \to
.endm

.macro load_block i, k
    ldr q\i, [src, #16*\i]
.endm

.macro load_beside i, k
    ldr q\k, [src, #16*\i]
.endm

.macro store_block i, k
    str q\i, [dst, #16*\i]
.endm

.macro load_others
    eight_more ldp, scratch, OTHERS
.endm

.macro next_counter i, k
    rev t0d, counter
    add counter, counter, #1
    mov v\i\().16b, v24.16b
    mov v\i\().s[3], t0d
.endm

.macro next_little i, k
    mov v\i\().16b, v24.16b
    mov v\i\().s[0], counter
    add counter, counter, #1
.endm

/* Stores the tweak of a block, and makes that of the next: times x in GF(2^128), little-endian (IEEE 1619, 5.2). */
.macro tweak_block i, k
    stp low, high, [scratch, #OTHERS + 16*\i]
    and t0, t1, high, asr #63
    extr high, high, low, #63
    eor low, t0, low, lsl #1
.endm

/* ---- Lanes ----------------------------------------------------------------------------------------------------- */

.macro lane_key i, k
    ldr t0, [lanes, #SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_KEY]
    ldr q\i, [t0, at]
.endm

.macro lane_begin i, k
    ldr t0, [lanes, #SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_CHAIN]
    ldr q\i, [t0]
    str q\i, [scratch, #OTHERS + 16*\i]
.endm

.macro lane_load i, k
    ldr t0, [lanes, #SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_IN]
    ldr q\i, [t0, at]
.endm

/* Applies \do to one or two lanes, in v0 and v1. Afterwards the flags say whether there was one. */
.macro two_lanes do, to
    \do 0, 2
    cmp together, #1
    b.eq \to
    \do 1, 3
.endm

.macro lane_beside i, k
    ldr t0, [lanes, #SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_IN]
    ldr q\k, [t0, at]
.endm

/* Loads the block that the lane is chained to. */
.macro lane_chain i, k
    ldr t0, [lanes, #SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_CHAIN]
    ldr q\i, [t0]
.endm

.macro complement x
    mvn \x\().16b, \x\().16b
.endm

    scratch_end SCRATCH_END
    function sealane_aes_neon
    mode_begin key
    cmp operation, #SEALANE_AES_CTR_LITTLE
    cset little, eq
    mov t0d, #SEALANE_AES_CTR
    csel operation, t0d, operation, eq
    mov written, #1
    cmp text_left, #16*FEW
    b.ls .Lbegin
    add written, rounds, #2
    spread_round_keys

    /* Values carried from group to group. */
.Lbegin:
    cmp operation, #SEALANE_AES_CTR
    b.lo .Lgroup
    b.eq .Lctr
    cmp operation, #SEALANE_AES_CBC_DECRYPT
    b.ne .Lxts
    ldr q0, [state]
    add t0, src, text_left
    ldr q1, [t0, #-16]
    str q0, [scratch, #OTHERS]
    str q1, [state]
    b .Lgroup
.Lctr:
    cbnz little, .Lctr_little
    ldr counter, [state, #12]
    rev counter, counter
    add t0, counter_wide, text_left, lsr #4
    rev t0d, t0d
    str t0d, [state, #12]
    b .Lgroup
.Lctr_little:
    ldr counter, [state]
    add t0, counter_wide, text_left, lsr #4
    str t0d, [state]
    b .Lgroup
.Lxts:
    ldp low, high, [state]

.Lgroup:
    mov together, #128
    mov t0, #32
    cmp text_left, #16*FEW
    csel together, together, t0, hi
    cmp text_left, together
    csel together, text_left, together, lo
    cmp operation, #SEALANE_AES_CTR
    b.eq .Lcounters
    some load_block, 16, .Lloaded
.Lloaded:
    cmp operation, #SEALANE_AES_XTS_ENCRYPT
    b.lo .Lway
    mov t1, #0x87
    some tweak_block, 16, .Ltweaked
.Ltweaked:
    load_others
    add_others
.Lway:
    mov t0d, #DECRYPTING
    lsr t0d, t0d, operation
    cmp together, #32
    tbz t0d, #0, .Lencrypt_text
    b.ls .Lfew_decrypt
    decrypt_blocks
.Ldecrypted:
    cmp operation, #SEALANE_AES_CBC_DECRYPT
    b.eq .Lchained
    b .Lencrypted
.Lcounters:
    ldr q24, [state]
    cbz little, .Lcounters_big
    some next_little, 16, .Lcounted
    b .Lcounted
.Lcounters_big:
    some next_counter, 16, .Lcounted
.Lcounted:
    cmp together, #32
.Lencrypt_text:
    b.ls .Lfew_encrypt
.Lencrypt:
    encrypt_blocks
    cmp operation, #SEALANE_AES_CBC_ENCRYPT
    b.hs .Llane_done
.Lencrypted:
    cmp operation, #SEALANE_AES_CTR
    b.lo .Lstore
    b.eq .Ltext
    load_others
    b .Ladd
.Lchained:
    some load_beside, 16, .Lchain
.Lchain:
    add t0, src, together
    ldr q25, [scratch, #OTHERS]
    ldr q24, [t0, #-16]
    bits_add v0, v0, v25
    str q24, [scratch, #OTHERS]
    bits_add v1, v1, v16
    bits_add v2, v2, v17
    bits_add v3, v3, v18
    bits_add v4, v4, v19
    bits_add v5, v5, v20
    bits_add v6, v6, v21
    bits_add v7, v7, v22
    b .Lstore
.Ltext:
    some load_beside, 16, .Ladd
.Ladd:
    add_others
.Lstore:
    some store_block, 16, .Lstored
.Lstored:
    subs text_left, text_left, together
    add src, src, together
    add dst, dst, together
    b.ne .Lgroup
    cmp operation, #SEALANE_AES_XTS_ENCRYPT
    b.lo .Lwipe
    stp low, high, [state]
    b .Lwipe

    /* One block or two. */
.Lfew_decrypt:
    load_table LOOKUP_INVERSE
    add key_0, key, #SEALANE_AES_KEY_SCHEDULE
    add key_0, key_0, rounds, lsl #4
    mov key_1, key_0
    b.eq .Ltwo_decrypt
    decrypt_few 1
    b .Ldecrypted
.Ltwo_decrypt:
    decrypt_few 2
    b .Ldecrypted
.Lfew_encrypt:
    load_table LOOKUP_SBOX
    add key_0, key, #SEALANE_AES_KEY_SCHEDULE
    mov key_1, key_0
    b.eq .Ltwo
.Lone:
    encrypt_few 1
    cmp operation, #SEALANE_AES_CBC_ENCRYPT
    b.hs .Lfew_done
    b .Lencrypted
.Ltwo:
    encrypt_few 2
    cmp operation, #SEALANE_AES_CBC_ENCRYPT
    b.lo .Lencrypted

    /* The same for lanes, each up to its end. */
.Lfew_done:
    two_lanes lane_store, .Lfew_stored
.Lfew_stored:
    add at, at, #16
    cmp at, total
    b.lo .Lfew_block
    cbz total, .Llanes_done
    two_lanes lane_end, .Llanes_done
    b .Llanes_done
.Lfew_lanes:
    mov t0, #2
    cmp count, t0
    csel together, count, t0, lo
    load_table LOOKUP_SBOX
    mov at, #0
    movi v0.16b, #0
    movi v1.16b, #0
    cbz total, .Lfew_block
    two_lanes lane_chain, .Lfew_block
.Lfew_block:
    two_lanes lane_beside, .Lfew_loaded
.Lfew_loaded:
    bits_add v0, v0, v2
    bits_add v1, v1, v3
    ldr key_0, [lanes, #SEALANE_MODE_LANE_KEY]
    add key_0, key_0, #SEALANE_AES_KEY_SCHEDULE
    b.eq .Lone                                                                  /* together is 1 */
    ldr key_1, [lanes, #SEALANE_LANE_STRIDE + SEALANE_MODE_LANE_KEY]
    add key_1, key_1, #SEALANE_AES_KEY_SCHEDULE
    b .Ltwo

    /* Up to eight lanes at a time: the round keys of each, block by block like texts. */
    lanes_begin rounds
    mov written, #0
.Llanes_more:
    cbz total, .Lfew_lanes
    cmp count, #FEW
    b.ls .Lfew_lanes
    add written, rounds, #2
    mov together, #8
    cmp count, together
    csel together, count, together, lo
    mov at, #SEALANE_AES_KEY_SCHEDULE
    add round_key, scratch, #ROUND_KEYS
    mov round, #0
.Llane_keys:
    some lane_key, 1, .Llane_keys_loaded
.Llane_keys_loaded:
    and t0, round, #3
    add t0, consts, t0, lsl #4
    ldr q11, [t0, #SHIFTED]
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    shift_rows v\i
    .endr
    transpose_bits
    cbz round, .Llane_keys_store
    complement v0                                                               /* 0x63 */
    complement v1
    complement v5
    complement v6
.Llane_keys_store:
    stp q0, q1, [round_key], #32
    stp q2, q3, [round_key], #32
    stp q4, q5, [round_key], #32
    stp q6, q7, [round_key], #32
    add round, round, #1
    add at, at, #16
    cmp round, rounds
    b.ls .Llane_keys
    mov at, #0
    some lane_begin, 1, .Llane_block
.Llane_block:
    some lane_load, 1, .Llane_loaded
.Llane_loaded:
    load_others
    add_others
    b .Lencrypt
.Llane_done:
    some lane_store, 1, .Llane_stored
.Llane_stored:
    eight stp, scratch, OTHERS
    add at, at, #16
    cmp at, total
    b.lo .Llane_block
    some lane_end, 1, .Llanes_done
.Llanes_done:
    add lanes, lanes, together, lsl #6
    subs count, count, together
    b.ne .Llanes_more
    cbz written, .Ldone

.Lwipe:
    movi v0.16b, #0
    add t0, scratch, #OTHERS
    wipe_128 written
    b .Ldone

.Lsetup:
    expand_key
.Ldone:
    endfunction
#endif
