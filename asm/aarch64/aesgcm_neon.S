/* AES-GCM (NIST SP 800-38D) for CPUs without the crypto extensions: seals or opens a packet, or a part of one; makes
 * keys.
 *
 *     void sealane_aesgcm_neon(const args *a, void *scratch, const void *consts);
 *
 * CPU        ARMv8-A with Advanced SIMD
 * args       all SEALANE_ARG_* (asm/args.h); writes OUT[BYTES] and, by flags, TAG[16], STATE[64] or KEY[960]
 * scratch    3392 bytes after the saved registers, wiped before the return; stack 0
 * consts     sealane_aesgcm_neon_constants
 * registers  all but sp, x18, x28, x29, x30; x1 holds scratch throughout
 * branches   and addresses depend on BYTES, AD_BYTES, FLAGS, ROUNDS only
 *
 * AES (FIPS 197) processes eight blocks at a time, bit-sliced (aes_neon.h), and up to four blocks at the end by
 * lookups (aes_lookup.h).
 *
 * GHASH (6.4) also processes eight blocks at a time, each in its own place: vector i has bytes i and i + 8 of all
 * eight. With the bits of each byte reversed, a block is a polynomial with 16 digits of x^8, and pmull multiplies
 * digits. After each eight blocks, every place is multiplied by H^8. After the last eight, the places are multiplied
 * by H^8 .. H, and their sum is GHASH. The last block is in the last place, and zeroes precede the first block.
 * Karatsuba's method, applied twice, takes 144 multiplications.
 */
#include "../asm.S"

#if defined(__aarch64__)

    isa neon

/* Scratch. */
#define ROUND_KEYS 256 /* 15 bit-sliced */
#define WORK 2176
/* From there: */
#define KEYSTREAM 0       /* eight blocks of keystream */
#define TO_HASH 128    /* eight blocks to be authenticated */
#define PLACES 256     /* the eight places of GHASH so far, as vectors */
#define FACTORS 384    /* vectors to be multiplied: 8; 4 sums; 8 sums of their halves; 4 sums of these */
#define LOW 768        /* 15 columns of products */
#define HIGH 1008
#define MASK 1248      /* the encrypted J0 */
#define BLOCK 1264     /* the counter block without the counter */
#define CARRY 1280     /* GHASH to be added to the first block */
#define PART_IN 1296   /* a partial block, padded with zeroes */
#define PART_OUT 1312
#define POWERS 1328    /* setting up a key: H^8 to H */
#define WORK_END 1456
#define SCRATCH_END 3632

/* The key's tables: factors in 8 vectors, with digits i and i + 8 for all places; 4 sums of i and i + 4; 4 with the
 * sum of the halves of i and i + 4; 4 halves with the sum of those. */
#define SAME 0         /* H^8 for every place */
#define EACH 288       /* H^8 to H */

/* Integer registers. */
#include "aes_registers.h"
#define src x3
#define dst x4
#define text_left x5        /* bytes of text */
#define key x6
#define work x7
#define table x8
#define few x8          /* address for the next of a few blocks */
#define counter w9
#define round_key x14
#define key_0 t2         /* of lookups */
#define key_1 t3
#define round x15
#define fill x16       /* address for the next block to be authenticated */
#define full x17
#define keystream x19     /* the next block of keystream */
#define pending x20    /* the first block to be authenticated, to which the earlier sum must be added; or 0 */
#define groups x21     /* of eight blocks, to be authenticated */
#define flags w22
#define SPREAD 64       /* with the flags of asm/args.h: there are bit-sliced round keys */
#define rounds x23
#define ad x24
#define ad_left x25
#define after x26      /* authenticating: 0 associated data, 1 text, 2 lengths, 3 to set up a key */
#define masked x27     /* not 0: the encrypted J0 is in MASK */
#define rest x27       /* bytes of the last block */

#include "aes_neon.h"

    constants sealane_aesgcm_neon_constants
    aes_rows
    lookup_constants
    endconstants

/* ---- GHASH ----------------------------------------------------------------------------------------------------- */

/* Bytes of eight places in 0 .. 7 to vectors of digits in 16 .. 23, or back. */
.macro transpose_bytes
    trn1 v16.16b, v0.16b, v1.16b
    trn2 v17.16b, v0.16b, v1.16b
    trn1 v18.16b, v2.16b, v3.16b
    trn2 v19.16b, v2.16b, v3.16b
    trn1 v20.16b, v4.16b, v5.16b
    trn2 v21.16b, v4.16b, v5.16b
    trn1 v22.16b, v6.16b, v7.16b
    trn2 v23.16b, v6.16b, v7.16b
    trn1 v0.8h, v16.8h, v18.8h
    trn2 v2.8h, v16.8h, v18.8h
    trn1 v1.8h, v17.8h, v19.8h
    trn2 v3.8h, v17.8h, v19.8h
    trn1 v4.8h, v20.8h, v22.8h
    trn2 v6.8h, v20.8h, v22.8h
    trn1 v5.8h, v21.8h, v23.8h
    trn2 v7.8h, v21.8h, v23.8h
    trn1 v16.4s, v0.4s, v4.4s
    trn2 v20.4s, v0.4s, v4.4s
    trn1 v17.4s, v1.4s, v5.4s
    trn2 v21.4s, v1.4s, v5.4s
    trn1 v18.4s, v2.4s, v6.4s
    trn2 v22.4s, v2.4s, v6.4s
    trn1 v19.4s, v3.4s, v7.4s
    trn2 v23.4s, v3.4s, v7.4s
.endm

.macro product to, x, y, upper
    .if \upper
    pmull2 \to\().8h, \x\().16b, \y\().16b
    .else
    pmull \to\().8h, \x\().8b, \y\().8b
    .endif
.endm

.macro add_two c0, x0, c1, x1
    bits_add \c0, \c0, \x0
    bits_add \c1, \c1, \x1
.endm

.macro bits_of_bytes x
    rbit \x\().16b, \x\().16b
.endm

/* The next factors, while the last products are added. */
.macro load_factors item, x, y
    .if (\item) < 2
    ldp_pair (2*(\item)), work, \x + 32*(\item)
    .elseif \y >= 0
    ldp_pair (2*(\item)), table, \y + 32*(\item) - 64
    .endif
.endm

.macro ldp_pair first, base, at
    .if (\first) == 0
    ldp q0, q1, [\base, #\at]
    .elseif (\first) == 2
    ldp q2, q3, [\base, #\at]
    .elseif (\first) == 4 && \at < 256
    ldp q4, q5, [\base, #\at]
    .elseif (\first) == 6 && \at < 288
    ldp q6, q7, [\base, #\at]
    .elseif (\first) == 4
    ldp d4, d5, [\base, #\at]
    .else
    ldp d6, d7, [\base, #\at - 16]
    .endif
.endm

/* Seven columns := four digits in 0 .. 3 times four in 4 .. 7. Then loads the next digits of FACTORS and of the
 * table. */
.macro multiply_four upper, next_x, next_y, c0, c1, c2, c3, c4, c5, c6
    product \c0, v0, v4, \upper
    product \c1, v0, v5, \upper
    product \c2, v0, v6, \upper
    product \c3, v0, v7, \upper
    product v8, v1, v4, \upper
    product v9, v1, v5, \upper
    product v10, v1, v6, \upper
    product \c4, v1, v7, \upper
    product v12, v2, v4, \upper
    product v13, v2, v5, \upper
    product v14, v2, v6, \upper
    product \c5, v2, v7, \upper
    product v11, v3, v4, \upper
    product v15, v3, v5, \upper
    bits_add \c1, \c1, v8
    product v8, v3, v6, \upper
    product \c6, v3, v7, \upper
    bits_add \c2, \c2, v9
    load_factors 0, \next_x, \next_y
    bits_add \c3, \c3, v10
    bits_add \c4, \c4, v14
    load_factors 1, \next_x, \next_y
    bits_add \c2, \c2, v12
    bits_add \c3, \c3, v13
    load_factors 2, \next_x, \next_y
    bits_add \c5, \c5, v8
    bits_add \c4, \c4, v15
    load_factors 3, \next_x, \next_y
    bits_add \c3, \c3, v11
.endm

/* The same, but the products are added to the columns. */
.macro multiply_add_four upper, next_x, next_y, c0, c1, c2, c3, c4, c5, c6
    product v8, v0, v4, \upper
    product v9, v0, v5, \upper
    product v10, v0, v6, \upper
    product v11, v0, v7, \upper
    product v12, v1, v7, \upper
    product v13, v2, v7, \upper
    product v14, v3, v7, \upper
    product v15, v1, v4, \upper
    bits_add \c0, \c0, v8
    bits_add \c1, \c1, v9
    bits_add \c2, \c2, v10
    bits_add \c3, \c3, v11
    bits_add \c4, \c4, v12
    bits_add \c5, \c5, v13
    bits_add \c6, \c6, v14
    bits_add \c1, \c1, v15
    product v8, v1, v5, \upper
    product v9, v1, v6, \upper
    product v10, v2, v6, \upper
    product v11, v3, v6, \upper
    product v12, v2, v4, \upper
    product v13, v2, v5, \upper
    product v14, v3, v5, \upper
    product v15, v3, v4, \upper
    bits_add \c2, \c2, v8
    load_factors 0, \next_x, \next_y
    bits_add \c3, \c3, v9
    bits_add \c4, \c4, v10
    load_factors 1, \next_x, \next_y
    bits_add \c5, \c5, v11
    bits_add \c2, \c2, v12
    load_factors 2, \next_x, \next_y
    bits_add \c3, \c3, v13
    bits_add \c4, \c4, v14
    load_factors 3, \next_x, \next_y
    bits_add \c3, \c3, v15
.endm

/* 15 columns, in 16 .. 30, from the two products of four digits in the first 7 and the last 7, and a third of their
 * sums in 0 .. 7 (Karatsuba). */
.macro multiply_middle upper, next_x, next_y
    bits_add v20, v20, v24
    bits_add v21, v21, v25
    bits_add v22, v22, v26
    bits_add v23, v19, v27
    bits_add v24, v20, v28
    bits_add v25, v21, v29
    bits_add v26, v22, v30
    bits_add v20, v20, v16
    bits_add v21, v21, v17
    bits_add v22, v22, v18
    multiply_add_four \upper, \next_x, \next_y, v20, v21, v22, v23, v24, v25, v26
.endm

/* Multiplies eight digits, of lower or upper halves, by those of the table. Then loads the next digits. */
.macro multiply_eight upper, next_x, next_y
    multiply_four \upper, FACTORS + 64, 64, v16, v17, v18, v19, v20, v21, v22
    multiply_four \upper, FACTORS + 128, 128, v24, v25, v26, v27, v28, v29, v30
    multiply_middle \upper, \next_x, \next_y
.endm

.macro store_columns base, at=0
    eight_more stp, \base, \at
    stp q24, q25, [\base, #\at + 128]
    stp q26, q27, [\base, #\at + 160]
    stp q28, q29, [\base, #\at + 192]
    str q30, [\base, #\at + 224]
.endm

/* Columns k and k + 8 of the whole product, and columns k + 1 and k + 9 of the product of sums so far. */
.macro combine k, low0, high0, low1, high1
    ldr q0, [work, #LOW + 16*\k + 128]
    ldr q1, [work, #HIGH + 16*\k]
    ldr q6, [work, #LOW + 16*\k + 144]
    ldr q7, [work, #HIGH + 16*\k + 16]
    ldp q2, q8, [work, #LOW + 16*\k]
    ldr q3, [work, #HIGH + 16*\k + 128]
    bits_add v0, v0, v1
    ldr q9, [work, #HIGH + 16*\k + 144]
    bits_add v6, v6, v7
    bits_add v4, \low0, v2
    bits_add v10, \low1, v8
    bits_add v5, \high0, v3
    bits_add v11, \high1, v9
    bits_add \low0, v4, v0
    bits_add \low1, v10, v6
    bits_add \high0, v5, v0
    bits_add \high1, v11, v6
.endm

/* Digits of both halves: the lower bytes of a column, plus the upper bytes of the column before. */
.macro carry to0, low0, high0, before_low, before_high, to1, low1, high1, free
    uzp1 \to0\().16b, \low0\().16b, \high0\().16b
    uzp2 v31.16b, \before_low\().16b, \before_high\().16b
    uzp2 \free\().16b, \low0\().16b, \high0\().16b
    uzp1 \to1\().16b, \low1\().16b, \high1\().16b
    bits_add \to0, \to0, v31
    bits_add \to1, \to1, \free
.endm

/* A digit of both halves, times x^128, that is x^7 + x^2 + x + 1. */
.macro fold digit, f, g
    pmull \f\().8h, \digit\().8b, v24.8b
    pmull2 \g\().8h, \digit\().16b, v24.16b
.endm

/* A table at t0 of the digits in 16 .. 23. */
.macro sum_of_halves to, x, y
    ext v0.16b, \x\().16b, \x\().16b, #8
    ext v1.16b, \y\().16b, \y\().16b, #8
    bits_add v0, v0, \x
    bits_add v1, v1, \y
    trn1 \to\().2d, v0.2d, v1.2d
.endm

.macro halves_sum to, x
    ext \to\().16b, \x\().16b, \x\().16b, #8
    bits_add \to, \to, \x
.endm

.macro write_table
    eight_more stp, t0
    bits_add v24, v16, v20
    bits_add v25, v17, v21
    bits_add v26, v18, v22
    bits_add v27, v19, v23
    stp q24, q25, [t0, #128]
    stp q26, q27, [t0, #160]
    sum_of_halves v24, v16, v20
    sum_of_halves v25, v17, v21
    sum_of_halves v26, v18, v22
    sum_of_halves v27, v19, v23
    stp q24, q25, [t0, #192]
    stp q26, q27, [t0, #224]
    halves_sum v16, v24
    halves_sum v17, v25
    halves_sum v18, v26
    halves_sum v19, v27
    stp d16, d17, [t0, #256]
    stp d18, d19, [t0, #272]
.endm

/* ---- A packet -------------------------------------------------------------------------------------------------- */

#include "aesgcm_text.h"

/* The bytes of a block reversed. */
.macro reverse x
    rev64 \x\().16b, \x\().16b
    ext \x\().16b, \x\().16b, \x\().16b, #8
.endm

/* Appends v0 to the blocks to be authenticated. */
.macro append
    str q0, [fill], #16
    cmp fill, full
    b.eq .Lhash
.endm

.macro next_counter x
    rev t0d, counter
    add counter, counter, #1
    mov \x\().16b, v15.16b
    mov \x\().s[3], t0d
.endm

.macro copy_block x
    mov \x\().16b, v0.16b
.endm

/* Copies the digits of the first place to all places. */
.macro first_place x
    dup v0.16b, \x\().b[0]
    dup v1.16b, \x\().b[8]
    trn1 \x\().2d, v0.2d, v1.2d
.endm

    scratch_end (SCRATCH_END + 63) & ~63 /* wiped 64 bytes at a time */
    function sealane_aesgcm_neon
    ldr flags, [args, #SEALANE_ARG_FLAGS]
    ldr key, [args, #SEALANE_ARG_KEY]
    add work, scratch, #WORK
    tbnz flags, #5, .Lpolyval
    ldr rounds, [key, #SEALANE_GCM_KEY_ROUNDS]
    tbnz flags, #3, .Lsetup
    ldp dst, src, [args, #SEALANE_ARG_OUT]
    ldr text_left, [args, #SEALANE_ARG_BYTES]
    mov ad_left, #0
    mov masked, #0
    tbz flags, #0, .Lcontinue
    ldr t0, [args, #SEALANE_ARG_NONCE]
    tbnz flags, #4, .Lnonce
    ldp t1, t2, [t0]
    lsr t3, t2, #32
    rev counter, t3d
    b .Lfirst
.Lnonce:                                    /* word by word, as it may have been written */
    ldp t1d, t2d, [t0]
    orr t1, t1, t2, lsl #32
    ldr t2d, [t0, #8]
    mov counter, #1
.Lfirst:
    ldr ad_left, [args, #SEALANE_ARG_AD_BYTES]
    ldr ad, [args, #SEALANE_ARG_AD]
    movi v0.16b, #0
    b .Lbegin
.Lcontinue:
    ldr t0, [args, #SEALANE_ARG_STATE]
    ldr q0, [t0, #SEALANE_GCM_STATE_Y]
    ldp t1, t2, [t0, #SEALANE_GCM_STATE_COUNTER]
    lsr t3, t2, #32
    rev counter, t3d
    b .Lbegin

    /* POLYVAL (RFC 8452, section 3) is GHASH of blocks whose bytes are reversed (appendix A). Its text is
     * handled as additional associated data. */
.Lpolyval:
    tbnz flags, #3, .Lpolyval_key
    ldr src, [args, #SEALANE_ARG_IN]
    ldr text_left, [args, #SEALANE_ARG_BYTES]
    mov t1, #0
    mov t2, #0
    tbnz flags, #0, .Lfirst
    mov ad_left, #0
    ldr t0, [args, #SEALANE_ARG_STATE]
    ldr q0, [t0, #SEALANE_GCM_STATE_Y]
    reverse v0
.Lbegin:
    add t0, work, #BLOCK
    stp t1, t2, [t0]
    str q0, [work, #CARRY]

    /* The number of blocks to be authenticated, and zeroes before them. */
    movi v1.16b, #0
    .irp i, 0, 32, 64, 96, 128, 160, 192, 224
    stp q1, q1, [work, #TO_HASH + \i]
    .endr
    add groups, text_left, #15
    add t1, ad_left, #15
    lsr groups, groups, #4
    add groups, groups, t1, lsr #4
    ubfx t2d, flags, #1, #1
    add groups, groups, t2
    neg t1, groups
    and t1, t1, #7
    add fill, work, #TO_HASH
    add full, work, #PLACES
    add fill, fill, t1, lsl #4
    tst flags, #SEALANE_FLAG_FIRST
    csel pending, fill, xzr, eq
    add groups, groups, #7
    lsr groups, groups, #3
    tbnz flags, #5, .Lad

    /* The round keys, bit-sliced, if there is more than a few blocks. */
.Lexpand:
    add keystream, work, #TO_HASH
    add t0, text_left, #16
    tst flags, #SEALANE_FLAG_FIRST
    csel t0, text_left, t0, eq
    cmp t0, #16*FEW
    b.ls .Lexpanded
    orr flags, flags, #SPREAD
    spread_round_keys
.Lexpanded:
    tbz flags, #0, .Lad                                                         /* J0 is not needed */

    /* Eight blocks of keystream, or the last few. */
.Lencrypt:
    ldr q15, [work, #BLOCK]
    add t0, text_left, #15
    add t1, text_left, #31
    cmp masked, #0
    csel t0, t1, t0, eq
    and t0, t0, #-16
    cmp t0, #16*FEW
    b.hi .Lencrypt_eight
    sub keystream, keystream, t0
    mov few, keystream
    load_table LOOKUP_SBOX
.Lencrypt_few:
    next_counter v0
    add key_0, key, #SEALANE_GCM_KEY_SCHEDULE
    mov key_1, key_0
    add t0, work, #TO_HASH - 16
    cmp few, t0
    b.eq .Lencrypt_one
    next_counter v1
    encrypt_few 2
    add t0, work, #TO_HASH
    stp q0, q1, [few], #32
    cmp few, t0
    b.ne .Lencrypt_few
    b .Lencrypted
.Lencrypt_one:
    encrypt_few 1
    str q0, [few]
    b .Lencrypted
.Lencrypt_eight:
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    next_counter v\i
    .endr
    encrypt_blocks
    eight stp, work, KEYSTREAM
    add keystream, work, #KEYSTREAM
.Lencrypted:
    ldr q0, [keystream]
    tbnz flags, #3, .Lhash_key
    cbnz masked, .Ltext
    str q0, [work, #MASK]
    add keystream, keystream, #16

    /* Associated data. */
.Lad:
    mov masked, #1
    mov after, #0
    cbz ad_left, .Ltext
    next_ad ad, ad_left, work, #0
    tbz flags, #5, .Lad_append
    reverse v0
.Lad_append:
    append
    b .Lad

    /* Text. */
.Ltext:
    cbz text_left, .Ltext_end
    tbnz flags, #5, .Lpolyval_text
    add t2, work, #TO_HASH
    sub t0, t2, keystream
    cbz t0, .Lencrypt
    mov after, #1
    sub t1, full, fill                                                          /* whole blocks: the least of */
    cmp t0, t1                                                                  /* keystream, room, text */
    csel t0, t0, t1, lo
    and t1, text_left, #-16
    cmp t0, t1
    csel t0, t0, t1, lo
    cbz t0, .Ltext_partial
    sub text_left, text_left, t0
    tbnz flags, #2, .Ltext_open
.Ltext_seal:
    ldr q0, [src], #16
    ldr q1, [keystream], #16
    subs t0, t0, #16
    bits_add v0, v0, v1
    str q0, [dst], #16
    str q0, [fill], #16
    b.ne .Ltext_seal
    b .Ltext_done
.Ltext_open:
    ldr q0, [src], #16
    ldr q1, [keystream], #16
    subs t0, t0, #16
    str q0, [fill], #16
    bits_add v1, v0, v1
    str q1, [dst], #16
    b.ne .Ltext_open
.Ltext_done:
    cmp fill, full
    b.eq .Lhash
    b .Ltext
.Ltext_append:
    append
    b .Ltext
.Ltext_partial:
    mov rest, text_left
    mov text_left, #0
    add t3, work, #PART_IN
    stp xzr, xzr, [t3]
    copy_partial rest, src, t3
    ldr q0, [work, #PART_IN]
    ldr q1, [keystream], #16
    bits_add v1, v0, v1
    str q1, [work, #PART_OUT]
    add t3, work, #PART_OUT
    copy_partial rest, t3, dst
    tbnz flags, #2, .Ltext_append
    add t3, work, #PART_IN                                                      /* zeroes follow its bytes */
    copy_partial rest, dst, t3
    ldr q0, [work, #PART_IN]
    b .Ltext_append

.Lpolyval_text:
    mov ad, src
    mov ad_left, text_left
    mov text_left, #0
    b .Lad

    /* The lengths. */
.Ltext_end:
    tbz flags, #1, .Lstate
    mov after, #2
    ldr t0, [args, #SEALANE_ARG_AD_BYTES]
    ldr t1, [args, #SEALANE_ARG_TOTAL]
    lsl t0, t0, #3
    lsl t1, t1, #3
    rev t0, t0
    rev t1, t1
    fmov d0, t0
    mov v0.d[1], t1
    tbz flags, #5, .Llengths_append
    ext v0.16b, v0.16b, v0.16b, #8
.Llengths_append:
    append

    /* Eight blocks are authenticated. */
.Lhash:
    cbz pending, .Lhash_begin
    ldr q0, [pending]
    ldr q1, [work, #CARRY]
    bits_add v0, v0, v1
    str q0, [pending]
    mov pending, #0
.Lhash_begin:
    eight ldp, work, TO_HASH
    bits_of_bytes v0
    ldp q24, q25, [work, #PLACES]
    bits_of_bytes v1
    bits_of_bytes v2
    ldp q26, q27, [work, #PLACES + 32]
    bits_of_bytes v3
    bits_of_bytes v4
    ldp q28, q29, [work, #PLACES + 64]
    bits_of_bytes v5
    bits_of_bytes v6
    ldp q30, q31, [work, #PLACES + 96]
    bits_of_bytes v7
    transpose_bytes
    add fill, work, #TO_HASH
    add table, key, #SEALANE_GCM_KEY_TABLE + SAME
    add t0, key, #SEALANE_GCM_KEY_TABLE + EACH
    subs groups, groups, #1
    csel table, t0, table, eq
    bits_add v16, v16, v24
    bits_add v17, v17, v25
    bits_add v18, v18, v26
    bits_add v19, v19, v27
    bits_add v20, v20, v28
    bits_add v21, v21, v29
    bits_add v22, v22, v30
    bits_add v23, v23, v31
    bits_add v0, v16, v20
    bits_add v1, v17, v21
    stp q16, q17, [work, #FACTORS + 0]
    bits_add v2, v18, v22
    bits_add v3, v19, v23
    stp q18, q19, [work, #FACTORS + 32]
    ext v4.16b, v16.16b, v16.16b, #8
    ext v5.16b, v17.16b, v17.16b, #8
    stp q20, q21, [work, #FACTORS + 64]
    ext v6.16b, v18.16b, v18.16b, #8
    ext v7.16b, v19.16b, v19.16b, #8
    stp q22, q23, [work, #FACTORS + 96]
    ext v8.16b, v20.16b, v20.16b, #8
    ext v9.16b, v21.16b, v21.16b, #8
    stp q0, q1, [work, #FACTORS + 128]
    ext v10.16b, v22.16b, v22.16b, #8
    ext v11.16b, v23.16b, v23.16b, #8
    stp q2, q3, [work, #FACTORS + 160]
    bits_add v4, v4, v16
    bits_add v5, v5, v17
    bits_add v6, v6, v18
    bits_add v7, v7, v19
    bits_add v8, v8, v20
    bits_add v9, v9, v21
    bits_add v10, v10, v22
    bits_add v11, v11, v23
    stp q4, q5, [work, #FACTORS + 192]
    bits_add v12, v4, v8
    stp q6, q7, [work, #FACTORS + 224]
    bits_add v13, v5, v9
    stp q8, q9, [work, #FACTORS + 256]
    bits_add v14, v6, v10
    stp q10, q11, [work, #FACTORS + 288]
    bits_add v15, v7, v11
    mov v0.16b, v16.16b
    mov v1.16b, v17.16b
    mov v2.16b, v18.16b
    mov v3.16b, v19.16b
    ldp q4, q5, [table]
    stp q12, q13, [work, #FACTORS + 320]
    ldp q6, q7, [table, #32]
    stp q14, q15, [work, #FACTORS + 352]

    /* The product of lower halves, that of upper halves, and that of their sums. */
    multiply_eight 0, FACTORS, 0
    store_columns work, LOW
    multiply_eight 1, FACTORS + 192, 192
    add t1, work, #HIGH
    store_columns t1
    multiply_four 0, FACTORS + 256, -1, v16, v17, v18, v19, v20, v21, v22
    multiply_four 1, FACTORS + 320, 256, v24, v25, v26, v27, v28, v29, v30
    multiply_middle 0, FACTORS, -1

    /* Columns 8 .. 22 in 16 .. 30; 23 .. 30 are the last of the upper product, 0 .. 7 the first of the lower one. */
    ldr q12, [work, #LOW + 16*7]
    ldr q13, [t1, #16*7]
    combine 0, v16, v24, v17, v25
    combine 2, v18, v26, v19, v27
    combine 4, v20, v28, v21, v29
    ldr q0, [work, #LOW + 16*14]
    ldr q1, [t1, #16*6]
    ldr q2, [work, #LOW + 16*6]
    ldr q3, [t1, #16*14]
    bits_add v12, v12, v13
    bits_add v22, v22, v2
    bits_add v0, v0, v1
    bits_add v30, v30, v3
    bits_add v23, v23, v12
    ldp q8, q9, [t1, #112]
    bits_add v22, v22, v0
    ldp q10, q11, [t1, #144]
    bits_add v30, v30, v0
    ldp q12, q13, [t1, #176]
    ldp q14, q15, [t1, #208]

    /* Digits 16 .. 31, in 0 .. 7. */
    carry v0, v24, v9, v23, v8, v1, v25, v10, v2
    carry v2, v26, v11, v25, v10, v3, v27, v12, v4
    carry v4, v28, v13, v27, v12, v5, v29, v14, v6
    movi v24.16b, #0
    uzp1 v7.16b, v8.16b, v24.16b
    uzp2 v25.16b, v30.16b, v15.16b
    uzp1 v6.16b, v30.16b, v15.16b
    uzp2 v31.16b, v29.16b, v14.16b
    movi v24.16b, #0x87
    bits_add v7, v7, v25
    bits_add v6, v6, v31

    /* Reduced to columns 0 .. 7 in 8 .. 15, and 8 .. 15 in 16 .. 23. */
    ldp q8, q9, [work, #LOW]
    fold v0, v27, v28
    ldp q10, q11, [work, #LOW + 32]
    fold v7, v25, v26
    ldp q12, q13, [work, #LOW + 64]
    fold v1, v29, v30
    ldp q14, q15, [work, #LOW + 96]
    bits_add v8, v8, v27
    bits_add v16, v16, v28
    fold v2, v27, v28
    bits_add v15, v15, v25
    bits_add v23, v23, v26
    shrn v26.8b, v26.8h, #8                                                     /* digit 16 masked */
    bits_add v9, v9, v29
    bits_add v17, v17, v30
    fold v3, v29, v30
    pmull v26.8h, v26.8b, v24.8b
    bits_add v10, v10, v27
    bits_add v18, v18, v28
    fold v4, v27, v28
    bits_add v11, v11, v29
    bits_add v19, v19, v30
    fold v5, v29, v30
    bits_add v8, v8, v26
    bits_add v12, v12, v27
    bits_add v20, v20, v28
    fold v6, v27, v28
    bits_add v13, v13, v29
    bits_add v21, v21, v30
    movi v24.16b, #0
    bits_add v14, v14, v27
    bits_add v22, v22, v28
    carry v0, v8, v16, v24, v15, v1, v9, v17, v2
    carry v2, v10, v18, v9, v17, v3, v11, v19, v4
    carry v4, v12, v20, v11, v19, v5, v13, v21, v6
    carry v6, v14, v22, v13, v21, v7, v15, v23, v25
    cbz groups, .Lhash_end
    eight stp, work, PLACES
    cbz after, .Lad
    b .Ltext

    /* The places are added up. */
.Lhash_end:
    transpose_bytes
    bits_add v16, v16, v17
    bits_add v18, v18, v19
    bits_add v20, v20, v21
    bits_add v22, v22, v23
    bits_add v16, v16, v18
    bits_add v20, v20, v22
    bits_add v16, v16, v20
    rbit v16.16b, v16.16b
    cmp after, #3
    b.eq .Lpower
    str q16, [work, #CARRY]
    cbz after, .Lad
    cmp after, #1
    b.eq .Ltext

    /* The tag, or the state. */
    ldr t0, [args, #SEALANE_ARG_TAG]
    tbnz flags, #5, .Lpolyval_sum
    ldr t1, [args, #SEALANE_ARG_STATE]
    ldr q0, [work, #MASK]
    tbnz flags, #0, .Ltag
    ldr q0, [t1, #SEALANE_GCM_STATE_MASK]
.Ltag:
    bits_add v0, v0, v16
    str q0, [t0]
    b .Lwipe
.Lpolyval_state:
    ldr t0, [args, #SEALANE_ARG_STATE]
    ldr q16, [work, #CARRY]
.Lpolyval_sum:
    reverse v16
    str q16, [t0]
    b .Lwipe
.Lstate:
    tbnz flags, #5, .Lpolyval_state
    ldr t1, [args, #SEALANE_ARG_STATE]
    ldr q2, [work, #MASK]
    ldr q0, [work, #CARRY]
    tbnz flags, #0, .Lstate_mask
    ldr q2, [t1, #SEALANE_GCM_STATE_MASK]
.Lstate_mask:
    ldr q1, [work, #BLOCK]
    add t0, work, #TO_HASH
    sub t0, t0, keystream                                                          /* keystream that was not used */
    sub counter, counter, t0d, lsr #4
    rev counter, counter
    mov v1.s[3], counter
    stp q0, q1, [t1, #SEALANE_GCM_STATE_Y]
    str q2, [t1, #SEALANE_GCM_STATE_MASK]

.Lwipe:
    movi v0.16b, #0
    tbz flags, #6, .Lwipe_rest
    add t0, scratch, #ROUND_KEYS
    add rounds, rounds, #1
    wipe_128 rounds
.Lwipe_rest:
    add t0, scratch, #WORK
    mov t1, #WORK_END
.Lwipe_work:
    stp q0, q0, [t0], #32
    subs t1, t1, #32
    b.hi .Lwipe_work
    b .Ldone

    /* The key schedule. */
.Lsetup:
    tbnz flags, #4, .Lgiven_hash_key
    expand_key

    /* H (SP 800-38D, 7.1) is the first block of keystream, the counter block being zero. */
    add t0, work, #BLOCK
    stp xzr, xzr, [t0]
    mov counter, #0
    mov text_left, #0
    mov masked, #0
    orr flags, flags, #SEALANE_FLAG_FIRST
    mov pending, #0
    b .Lexpand

    /* POLYVAL's hash key is reversed, and multiplied by x. */
.Lpolyval_key:
    ldr t0, [args, #SEALANE_ARG_NONCE]
    mov pending, #0
    ldp t1, t2, [t0]
    mov t0, #0xe100000000000000
    lsl t3, t1, #63
    and t3, t0, t3, asr #63
    extr t1, t2, t1, #1
    eor t2, t3, t2, lsr #1
    rev t1, t1
    rev t2, t2
    fmov d0, t2
    mov v0.d[1], t1
    b .Lhash_key

.Lgiven_hash_key:
    ldr t0, [args, #SEALANE_ARG_NONCE]
    mov pending, #0
    ldr q0, [t0]

    /* Makes a table of H, temporarily in the place of the table of all powers. */
.Lhash_key:
    mov after, #3
    add t1, work, #POWERS
    str q0, [t1, #112]
    movi v1.16b, #0
    .irp i, 0, 32, 64, 96, 128, 160, 192, 224
    stp q1, q1, [work, #TO_HASH + \i]
    .endr
    str q0, [work, #TO_HASH + 112]
    rbit v0.16b, v0.16b
    .irp i, 1, 2, 3, 4, 5, 6, 7
    copy_block v\i
    .endr
    transpose_bytes
    add t0, key, #SEALANE_GCM_KEY_TABLE + EACH
    write_table
    mov round, #112

    /* The powers. Each is the block of the last place times H. */
.Lnext_power:
    mov groups, #1
    b .Lhash
.Lpower:
    sub round, round, #16
    add t1, work, #POWERS
    str q16, [t1, round]
    str q16, [work, #TO_HASH + 112]
    cbnz round, .Lnext_power
    eight ldp, t1
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    bits_of_bytes v\i
    .endr
    transpose_bytes
    add t0, key, #SEALANE_GCM_KEY_TABLE + EACH
    eight_more stp, work, FACTORS
    write_table
    eight_more ldp, work, FACTORS
    .irp i, 16, 17, 18, 19, 20, 21, 22, 23
    first_place v\i
    .endr
    add t0, key, #SEALANE_GCM_KEY_TABLE + SAME
    write_table
    b .Lwipe

.Ldone:
    endfunction
#endif
