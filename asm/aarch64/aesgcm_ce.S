/* AES-GCM (NIST SP 800-38D) with the crypto extensions: seals or opens a packet, or a part of one, in one pass; makes
 * keys.
 *
 *     void sealane_aesgcm_ce(const args *a, void *scratch, const void *consts);
 *
 * CPU        ARMv8-A with Advanced SIMD, AES and PMULL
 * args       all SEALANE_ARG_* (asm/args.h); writes OUT[BYTES] and, by flags, TAG[16], STATE[64] or KEY[960]
 * scratch    464 bytes after the saved registers, wiped before the return; stack 0
 * consts     sealane_aesgcm_ce_constants
 * registers  all but sp, x18, x28, x29, x30; x1 holds scratch throughout
 * branches   and addresses depend on BYTES, AD_BYTES, FLAGS, ROUNDS, and with NONCE on the counter, which is then
 *            public
 *
 * GHASH (6.4): see ../ghash.h. Eight blocks at a time, with one reduction.
 *
 * Counter mode (6.5) makes eight blocks at a time. As long as only the counter's last byte changes, only the first
 * column of the state after the first round (FIPS 197, 5.1) changes. The columns of four blocks come from one round.
 * Work that does not need aese or pmull is done in integer registers, beside them. A group of eight is encrypted
 * while the previous one is added to the text and authenticated, in the order given in aesgcm_ce.weave. The
 * remainder, J0 and up to seven blocks, comes first.
 */
#include "../asm.S"

#if defined(__aarch64__)

    isa neon, aes, pmull

/* Constants. */
#define POLY 0       /* P */
#define DIAGONAL 16  /* the bytes that the first round brings into the first column, four times */
#define BEGIN 32     /* counters of the group after the first, less the first's */
#define FOUR 48      /* 4 more */
#define MASKS 64     /* 16 bytes from 16 - n on: n ones, 16 - n zeroes */

    constants sealane_aesgcm_ce_constants
    .quad 0xc200000000000000, 0
    .byte 0, 5, 10, 15, 0, 5, 10, 15, 0, 5, 10, 15, 0, 5, 10, 15
    .byte 0, 0, 0, 9, 0, 0, 0, 10, 0, 0, 0, 11, 0, 0, 0, 8
    .byte 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 4
    .quad -1, -1, 0, 0
    endconstants

/* Scratch. */
#define KEYSTREAM 256   /* eight blocks of keystream, without the last round key */
#define HASH 384     /* eight blocks to be authenticated, bytes of halves reversed */
#define ARGS 512
#define MASK 528     /* the encrypted J0 */
#define PART_IN 544  /* a partial block, padded with zeroes */
#define PART_OUT 560
#define BLOCK 576    /* the counter block without the counter */
#define STATES 592    /* eight states after the first round */
#define SCRATCH_END 720

/* The key's table: H^9 to H, then the sums of their halves. */
#define SUMS 144

/* Integer registers. */
#include "aes_registers.h"
#define key x0         /* while groups are done */
#define src x3
#define dst x4
#define sums x5        /* of H^8 */
#define powers x6      /* H^8 */
#define last0 x8       /* the last round key */
#define last1 x9
#define u0 x14
#define u1 x15
#define u2 x16
#define u3 x17
#define groups x21
#define mode w22       /* rounds; bit 8: open */
#define next_state x23 /* after the first round */
#define stride x24     /* 16 */
#define counter w25
#define limit w26      /* 15, or 256 where the counter is secret */
#define begun x27      /* not 0: there is a group before */

/* POLYVAL. */
#define powers_end x20
#define in_text x21
#define lengths_follow x22 /* 1: their block is next */
#define flags_wide x26

/* Registers before and after groups. */
#define text_left x7        /* bytes of text */
#define the_key x19
#define blocks x20     /* before the groups */
#define flags w26
#define last_text x23       /* the last block of text, or its padded copy */
#define last_output x24
#define mask0 x21      /* ones where the last block has bytes */
#define mask1 x26
#define rest x27       /* bytes of the partial block, or 0 */

/* Vector registers: 0 .. 7 AES states, 16 .. 23 round keys, the tenth to third from the end, and */
#define low v8          /* GHASH so far, not reduced */
#define mid v9
#define high v10
#define more v11
#define block_a v12
#define block_b v13
#define half_sums v14
#define power_a v15
#define before_last v24 /* the round key */
#define count v25
#define count_key v26
#define four v27
#define poly v28
#define power_b v29
#define power_sums v30
#define product v31
/* Vectors while there are no groups. */
#define opening v25    /* all ones, or zeroes */
#define last_key v26
#define padding v27    /* ones where the last block has bytes */
/* Then. */
#define lengths v25
#define lengths_sum v27

/* ---- GHASH ----------------------------------------------------------------------------------------------------- */

/* high := low + 2^64 (mid + low + high) + 2^128 high, reduced, with its upper half first. If mid is swapped, its
 * lower half is first. */
.macro reduce item, swapped=high
    .if (\item) == 0
    pmull more.1q, low.1d, poly.1d                                               /* P w */
    .elseif (\item) == 1
    eor mid.16b, mid.16b, low.16b
    .elseif (\item) == 2
    ext low.16b, low.16b, low.16b, #8
    .elseif (\item) == 3
    eor mid.16b, mid.16b, high.16b
    .elseif (\item) == 4
    eor low.16b, low.16b, more.16b
    .elseif (\item) == 5
    eor mid.16b, mid.16b, low.16b
    .elseif (\item) == 6
    pmull more.1q, mid.1d, poly.1d
    .elseif (\item) == 7
    eor high.16b, high.16b, more.16b
    .elseif (\item) == 8
    ext \swapped\().16b, \swapped\().16b, \swapped\().16b, #8
    .else
    eor high.16b, high.16b, mid.16b
    .endif
.endm

.macro reduce_all swapped=high
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
    reduce \i, \swapped
    .endr
.endm

/* low, mid, more := or += x h, of one block; the sum of its halves goes to half_sums. */
.macro multiply init, x, h, h_sum
    ext half_sums.16b, \x\().16b, \x\().16b, #8
    .if \init
    pmull2 low.1q, \x\().2d, \h\().2d
    eor half_sums.16b, half_sums.16b, \x\().16b
    pmull more.1q, \x\().1d, \h\().1d
    pmull mid.1q, half_sums.1d, \h_sum\().1d
    .else
    pmull2 product.1q, \x\().2d, \h\().2d
    eor half_sums.16b, half_sums.16b, \x\().16b
    pmull \h\().1q, \x\().1d, \h\().1d
    pmull half_sums.1q, half_sums.1d, \h_sum\().1d
    eor low.16b, low.16b, product.16b
    eor more.16b, more.16b, \h\().16b
    eor mid.16b, mid.16b, half_sums.16b
    .endif
.endm

/* += x power_a + y power_b, with the sums of their halves in z; item 0 .. 11. */
.macro multiply_pair item, x, y, z
    .if (\item) == 0
    pmull2 product.1q, \x\().2d, power_a.2d
    .elseif (\item) == 1
    pmull power_a.1q, \x\().1d, power_a.1d
    .elseif (\item) == 2
    pmull2 \x\().1q, \y\().2d, power_b.2d
    .elseif (\item) == 3
    pmull power_b.1q, \y\().1d, power_b.1d
    .elseif (\item) == 4
    pmull2 \y\().1q, \z\().2d, power_sums.2d
    .elseif (\item) == 5
    pmull power_sums.1q, \z\().1d, power_sums.1d
    .elseif (\item) == 6
    eor low.16b, low.16b, product.16b
    .elseif (\item) == 7
    eor more.16b, more.16b, power_a.16b
    .elseif (\item) == 8
    eor mid.16b, mid.16b, \y\().16b
    .elseif (\item) == 9
    eor low.16b, low.16b, \x\().16b
    .elseif (\item) == 10
    eor more.16b, more.16b, power_b.16b
    .else
    eor mid.16b, mid.16b, power_sums.16b
    .endif
.endm

/* ---- AES ------------------------------------------------------------------------------------------------------- */

#include "aes_ce.h"

.macro aes_last_round x, round_key
    aese \x\().16b, \round_key\().16b
.endm

.macro add_last_key x
    eor \x\().16b, \x\().16b, last_key.16b
.endm

/* x := a counter block, in two steps: the block without its counter, from a vector; then the counter. */
.macro counter_block x, without
    mov \x\().16b, \without\().16b
.endm

.macro counter_value x, value
    mov \x\().s[3], \value
.endm

/* The additional rounds of AES-192 and AES-256, which come before the others, for the given states. */
.macro more_rounds states, key_schedule
    tbz mode, #2, 1f
    ldp q12, q13, [\key_schedule, #SEALANE_GCM_KEY_SCHEDULE + 16]
    extra_rounds \states
    tbz mode, #1, 1f
    ldp q12, q13, [\key_schedule, #SEALANE_GCM_KEY_SCHEDULE + 48]
    extra_rounds \states
1:
.endm

.macro extra_rounds states
    .irp k, 12, 13
    for_states \states, aes_round, v\k
    .endr
.endm

/* ---- Groups ---------------------------------------------------------------------------------------------------- */

#include "aesgcm_ce_woven.h"

/* Goes to the next group. Where other bytes of the counter than the last change, its states are made again. */
.macro next_group none_left, again
    cbz groups, \none_left
    b.hs \again
    b .Lfirst_rounds
.endm

/* Finds the last group's last block, and a mask of the bytes that count. */
.macro last_block
    ldr t0, [scratch, #ARGS]
    ldr t0, [t0, #SEALANE_ARG_BYTES]
    add last_text, src, #112
    add last_output, dst, #112
    add t1, scratch, #PART_IN
    add t2, scratch, #PART_OUT
    mov t3, #16
    ands t0, t0, #15
    csel last_text, last_text, t1, eq
    csel last_output, last_output, t2, eq
    csel t0, t3, t0, eq
    sub t0, consts, t0
    ldp mask0, mask1, [t0, #MASKS + 16]
.endm

/* If the lengths follow, they have the lowest power. Their product, or zeroes, goes to registers 3 .. 5. */
.macro last_powers
    ldr t2, [scratch, #ARGS]
    movi v3.16b, #0
    movi v4.16b, #0
    movi v5.16b, #0
    ldr t3d, [t2, #SEALANE_ARG_FLAGS]
    tbz t3d, #1, 1f
    load_lengths v1, t2
    sub powers, powers, #16
    sub sums, sums, #8
    ldr q2, [powers, #128]
    ldr d6, [sums, #64]
    ext v7.16b, v1.16b, v1.16b, #8
    eor v7.16b, v7.16b, v1.16b
    pmull2 v3.1q, v1.2d, v2.2d
    pmull v4.1q, v1.1d, v2.1d
    pmull v5.1q, v7.1d, v6.1d
1:
.endm

/* x := the block of the lengths in bits. */
.macro load_lengths x, from_args
    ldr t0, [\from_args, #SEALANE_ARG_AD_BYTES]
    ldr t1, [\from_args, #SEALANE_ARG_TOTAL]
    lsl t0, t0, #3
    lsl t1, t1, #3
    from_halves \x
.endm

/* x := t0 + 2^64 t1. */
.macro from_halves x
    mov \x\().d[0], t0
    mov \x\().d[1], t1
.endm

/* ---- Before the groups ----------------------------------------------------------------------------------------- */

#include "aesgcm_text.h"

/* Processes block \index of text, among blocks up to \number - 1. J0 is block 0; block 1 may be absent. The result
 * goes to vector x, and the block's keystream is in vector \index. */
.macro head_load index, number, x
    .if \index == \number - 1
    ldr q\x, [last_text]
    .else
    ldr q\x, [u0, #16*\index]
    .endif
.endm

.macro head_crypt index, number, x
    eor v\index\().16b, v\index\().16b, v\x\().16b
.endm

.macro head_store index, number, x
    .if \index == \number - 1
    str q\index, [last_output]
    .else
    str q\index, [u1, #16*\index]
    .endif
.endm

.macro head_choose index, number, x
    bit v\index\().16b, v\x\().16b, opening.16b
.endm

.macro head_pad index, number, x
    .if \index == \number - 1
    and v\index\().16b, v\index\().16b, padding.16b
    .endif
.endm

.macro head_reverse index, number, x
    rev64 v\index\().16b, v\index\().16b
.endm

.macro head_pair first, second, number, x, y
    trn1 v\x\().2d, v\first\().2d, v\second\().2d
    trn2 v\y\().2d, v\first\().2d, v\second\().2d
.endm

.macro head_sum first, second, number, x, y
    eor v\x\().16b, v\x\().16b, v\y\().16b
.endm

.macro head_powers first, number
    ldp q15, q29, [powers, #16*(8 - (\number - \first))]
    ldr q30, [sums, #8*(8 - (\number - \first))]
.endm

.macro head_multiply first, second, number, x, y
    .if \first > 2 || \number == 8
    head_powers \first, \number
    .endif
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    multiply_pair \i, v\first, v\second, v\x
    .endr
.endm

/* For blocks 2 to \number - 1. */
.macro head_all what, number
    .if \number > 2
    \what 2, \number, 12
    \what 3, \number, 13
    .endif
    .if \number > 4
    \what 4, \number, 0
    \what 5, \number, 1
    .endif
    .if \number > 6
    \what 6, \number, 14
    \what 7, \number, 15
    .endif
.endm

.macro head_pairs what, number
    .if \number > 2
    \what 2, 3, \number, 12, 13
    .endif
    .if \number > 4
    \what 4, 5, \number, 0, 1
    .endif
    .if \number > 6
    \what 6, 7, \number, 14, 15
    .endif
.endm

/* J0 and the first blocks of text: \number - 1 of them, or \number - 2. The last one is block \number - 1. */
.macro head number
    sub t0d, counter, #\number - 1
    add t0d, t0d, w20
    for_states \number, counter_block, v12
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    .if \i < \number
    rev t1d, t0d
    .if \i < \number - 1
    add t0d, t0d, #1
    .endif
    counter_value v\i, t1d
    .endif
    .endr
    for_states \number, aes_round, v14
    more_rounds \number, the_key
    reduce 0
    .set reduced, 1
    .irp k, 16, 17, 18, 19, 20, 21, 22, 23
    for_states \number, aes_round, v\k
    reduce reduced
    .set reduced, reduced + 1
    .endr
    reduce reduced
    sub t1, blocks, #\number
    add u0, src, t1, lsl #4
    add u1, dst, t1, lsl #4
    for_states \number, aes_last_round, before_last
    .irp i, 1, 2, 3, 4, 5, 6, 7
    .if \i < \number
    add_last_key v\i
    .endif
    .endr
    tbz blocks, #0, 2f
    eor v0.16b, v0.16b, last_key.16b
    head_load 1, \number, 12
    ldr q15, [powers, #16*(9 - \number)]
    ldr d30, [sums, #8*(9 - \number)]
    str q0, [scratch, #MASK]
    head_crypt 1, \number, 12
    head_store 1, \number, 12
    head_choose 1, \number, 12
    head_pad 1, \number, 12
    head_reverse 1, \number, 12
    eor v1.16b, v1.16b, high.16b
    movi high.16b, #0
    multiply 1, v1, power_a, power_sums
    b 3f
2:
    str q1, [scratch, #MASK]
    .if \number == 2
    ext more.16b, high.16b, high.16b, #8                                        /* no text: as before the reduction */
    movi low.16b, #0
    mov mid.16b, more.16b
    .else
    movi low.16b, #0
    movi mid.16b, #0
    movi more.16b, #0
    .endif
3:
    .if \number > 2
    head_all head_load, \number
    head_all head_crypt, \number
    head_all head_store, \number
    head_all head_choose, \number
    head_all head_pad, \number
    head_all head_reverse, \number
    .if \number < 8
    head_powers 2, \number
    .endif
    eor v2.16b, v2.16b, high.16b
    fmov d25, u2
    eor u2, u2, u3
    head_pairs head_pair, \number
    mov lengths.d[1], u3
    fmov d27, u2
    head_pairs head_sum, \number
    head_pairs head_multiply, \number
    .else
    fmov d25, u2
    eor u2, u2, u3
    mov lengths.d[1], u3
    fmov d27, u2
    .endif
.endm

/* ---- POLYVAL (RFC 8452, section 3) ----------------------------------------------------------------------------- */

/* GHASH of blocks whose bytes are reversed. So blocks, powers and sums have their lower half first here, and the
 * table is of the hash key itself. GHASH's key is multiplied by x (appendix A), and its order of bits loses a factor
 * x; the two cancel.
 */

/* Three pairs of blocks a and b, their powers and the sums of the powers' halves, and three vectors of their own. */
.macro for_pairs do
    \do v2, v3, v18, v19, v25, v12, v13, v14
    \do v4, v5, v20, v21, v26, v15, v29, v30
    \do v6, v7, v22, v23, v27, v31, v0, v1
.endm

/* u, a and t := the products of upper halves, of lower ones, and of sums. */
.macro pair_0 a, b, ha, hb, s, t, u, w
    trn1 \t\().2d, \a\().2d, \b\().2d
.endm
.macro pair_1 a, b, ha, hb, s, t, u, w
    trn2 \u\().2d, \a\().2d, \b\().2d
.endm
.macro pair_2 a, b, ha, hb, s, t, u, w
    pmull2 \w\().1q, \b\().2d, \hb\().2d
.endm
.macro pair_3 a, b, ha, hb, s, t, u, w
    eor \t\().16b, \t\().16b, \u\().16b
.endm
.macro pair_4 a, b, ha, hb, s, t, u, w
    pmull2 \u\().1q, \a\().2d, \ha\().2d
.endm
.macro pair_5 a, b, ha, hb, s, t, u, w
    pmull \b\().1q, \b\().1d, \hb\().1d
.endm
.macro pair_6 a, b, ha, hb, s, t, u, w
    pmull \a\().1q, \a\().1d, \ha\().1d
.endm
.macro pair_7 a, b, ha, hb, s, t, u, w
    eor \u\().16b, \u\().16b, \w\().16b
.endm
.macro pair_8 a, b, ha, hb, s, t, u, w
    pmull2 \w\().1q, \t\().2d, \s\().2d
.endm
.macro pair_9 a, b, ha, hb, s, t, u, w
    eor \a\().16b, \a\().16b, \b\().16b
.endm
.macro pair_10 a, b, ha, hb, s, t, u, w
    pmull \t\().1q, \t\().1d, \s\().1d
.endm

/* Powers of the hash key: x h, of each of some; the sums of halves are in sx and sh. */
.macro power_product lo, hi, mi, x, h, sx, sh
    pmull \lo\().1q, \x\().1d, \h\().1d
    pmull \mi\().1q, \sx\().1d, \sh\().1d
    pmull2 \hi\().1q, \x\().2d, \h\().2d
.endm

.macro reduce_powers some
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    power_\i v0, v1, v2, v3
    .if \some > 1
    power_\i v4, v5, v6, v7
    .endif
    .if \some > 2
    power_\i v8, v9, v10, v11
    power_\i v12, v13, v14, v15
    .endif
    .endr
.endm

/* hi := the power, lo := the sum of its halves. */
.macro power_0 lo, hi, mi, w
    pmull \w\().1q, \lo\().1d, poly.1d
.endm
.macro power_1 lo, hi, mi, w
    eor \mi\().16b, \mi\().16b, \lo\().16b
.endm
.macro power_2 lo, hi, mi, w
    ext \lo\().16b, \lo\().16b, \lo\().16b, #8
.endm
.macro power_3 lo, hi, mi, w
    eor \mi\().16b, \mi\().16b, \hi\().16b
.endm
.macro power_4 lo, hi, mi, w
    eor \lo\().16b, \lo\().16b, \w\().16b
.endm
.macro power_5 lo, hi, mi, w
    eor \mi\().16b, \mi\().16b, \lo\().16b
.endm
.macro power_6 lo, hi, mi, w
    pmull \w\().1q, \mi\().1d, poly.1d
.endm
.macro power_7 lo, hi, mi, w
    ext \mi\().16b, \mi\().16b, \mi\().16b, #8
.endm
.macro power_8 lo, hi, mi, w
    eor \hi\().16b, \hi\().16b, \w\().16b
.endm
.macro power_9 lo, hi, mi, w
    eor \hi\().16b, \hi\().16b, \mi\().16b
.endm
.macro power_10 lo, hi, mi, w
    ext \lo\().16b, \hi\().16b, \hi\().16b, #8
.endm
.macro power_11 lo, hi, mi, w
    eor \lo\().16b, \lo\().16b, \hi\().16b
.endm

.macro add_to x, y
    eor \x\().16b, \x\().16b, \y\().16b
.endm

/* Eight blocks at u2, those of pair 0 last: the sum so far, which is added to them, is reduced beside the others. */
.macro polyval_eight
    ldp q2, q3, [u2, #32]
    ldp q4, q5, [u2, #64]
    ldp q6, q7, [u2, #96]
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
    for_pairs pair_\i
    reduce \i, mid
    .endr
    ldp q3, q5, [u2], #128
    for_pairs pair_10
    add_to v3, high
    add_to v2, v4                                                               /* v2, v13, v12 += */
    add_to v13, v29
    pmull2 v29.1q, v5.2d, v17.2d
    trn1 v4.2d, v3.2d, v5.2d
    trn2 v7.2d, v3.2d, v5.2d
    pmull v5.1q, v5.1d, v17.1d
    add_to v12, v14
    add_to v15, v30
    add_to v4, v7
    pmull2 v30.1q, v3.2d, v16.2d
    pmull v3.1q, v3.1d, v16.1d
    add_to v31, v1
    add_to v12, v15
    pmull2 v7.1q, v4.2d, v24.2d
    pmull v4.1q, v4.1d, v24.1d
    add_to v2, v6
    add_to v13, v0
    add_to v12, v31
    add_to v2, v5
    add_to v13, v29
    add_to v12, v7
    eor low.16b, v2.16b, v3.16b
    eor high.16b, v13.16b, v30.16b
    eor mid.16b, v12.16b, v4.16b
.endm

    scratch_end SCRATCH_END
    function sealane_aesgcm_ce
    ldr the_key, [args, #SEALANE_ARG_KEY]
    ldr flags, [args, #SEALANE_ARG_FLAGS]
    tbnz flags, #5, .Lpolyval
    ldr t0, [args, #SEALANE_ARG_NONCE]
    ldr mode, [the_key, #SEALANE_GCM_KEY_ROUNDS]
    tbnz flags, #3, .Lsetup
    ldp dst, src, [args, #SEALANE_ARG_OUT]
    ldr text_left, [args, #SEALANE_ARG_BYTES]
    ldr q28, [consts, #POLY]
    add powers, the_key, #SEALANE_GCM_KEY_TABLE + 16
    movi low.16b, #0
    add sums, the_key, #SEALANE_GCM_KEY_TABLE + SUMS + 8
    movi mid.16b, #0
    add t1, the_key, mode, uxtw #4
    movi high.16b, #0
    ldp q16, q17, [t1, #SEALANE_GCM_KEY_SCHEDULE - 144]
    tbz flags, #0, .Lcontinue
    tbnz flags, #4, .Lnonce
    ldp u0, u1, [t0]
    ldp q18, q19, [t1, #SEALANE_GCM_KEY_SCHEDULE - 112]
    lsr t2, u1, #32
    ldp u2, u3, [args, #SEALANE_ARG_AD]
    rev counter, t2d
    b .Lfirst
.Lnonce:                                    /* word by word, as it may have been written */
    ldp w14, w15, [t0]
    ldr t2d, [t0, #8]
    ldp q18, q19, [t1, #SEALANE_GCM_KEY_SCHEDULE - 112]
    mov counter, #1
    orr u0, u0, u1, lsl #32
    ldp u2, u3, [args, #SEALANE_ARG_AD]
    mov u1, t2
.Lfirst:
    fmov d12, u0
    add t3, scratch, #BLOCK
    stp u0, u1, [t3]
    mov v12.d[1], u1
    cbz u3, .Lbegun

    /* Associated data, up to eight blocks at a time. */
.Lad:
    reduce_all
    movi low.16b, #0
    movi mid.16b, #0
    movi more.16b, #0
    mov t0, #128
    cmp u3, t0
    csel t0, u3, t0, lo
    add t0, t0, #15
    lsr t0, t0, #4
    sub u0, powers, t0, lsl #4
    sub u1, sums, t0, lsl #3
    add u0, u0, #128
    add u1, u1, #64
.Lad_block:
    next_ad u2, u3, scratch, xzr
    ldr q15, [u0], #16
    ldr d30, [u1], #8
    rev64 v0.16b, v0.16b
    eor v0.16b, v0.16b, high.16b
    movi high.16b, #0
    multiply 0, v0, power_a, power_sums
    cbz u3, .Lad_done
    add t0, powers, #128
    cmp u0, t0
    b.ne .Lad_block
    mov high.16b, more.16b
    b .Lad
.Lad_done:
    mov high.16b, more.16b
    b .Lbegun

    /* Another part of a packet. */
.Lcontinue:
    ldr t0, [args, #SEALANE_ARG_STATE]
    ldr q10, [t0, #SEALANE_GCM_STATE_Y]
    ldp u0, u1, [t0, #SEALANE_GCM_STATE_COUNTER]
    ldp q18, q19, [t1, #SEALANE_GCM_KEY_SCHEDULE - 112]
    rev64 high.16b, high.16b
    add t3, scratch, #BLOCK
    stp u0, u1, [t3]
    fmov d12, u0
    mov v12.d[1], u1
    ext high.16b, high.16b, high.16b, #8
    lsr t2, u1, #32
    rev counter, t2d
    mov mid.16b, high.16b
    sub counter, counter, #1

.Lbegun:
    add t1, the_key, mode, uxtw #4
    ldr u2, [args, #SEALANE_ARG_AD_BYTES]
    ldr u3, [args, #SEALANE_ARG_TOTAL]
    ldp q20, q21, [t1, #SEALANE_GCM_KEY_SCHEDULE - 80]
    add groups, text_left, #15
    add last_text, src, text_left
    ldp q22, q23, [t1, #SEALANE_GCM_KEY_SCHEDULE - 48]
    lsl u2, u2, #3
    lsl u3, u3, #3
    ldp q24, q26, [t1, #SEALANE_GCM_KEY_SCHEDULE - 16]
    add last_output, dst, text_left
    sub u0, last_text, #16
    ldr q14, [the_key, #SEALANE_GCM_KEY_SCHEDULE]
    ubfx blocks, groups, #4, #3
    lsr groups, groups, #7

    /* The text's last block, if it is not whole. */
    ands rest, text_left, #15
    sub last_output, last_output, #16
    mov u1, #16
    b.eq .Lwhole
    sub u0, last_text, rest
    add last_text, scratch, #PART_IN
    stp xzr, xzr, [last_text]
    copy_partial rest, u0, last_text
    mov u0, last_text
    mov u1, rest
    add last_output, scratch, #PART_OUT
.Lwhole:
    mov last_text, u0
    sub u1, consts, u1
    ldr q27, [u1, #MASKS + 16]
    ubfx t0d, flags, #2, #1
    neg t0d, t0d
    dup opening.4s, t0d

    /* Where no group follows, the block of the lengths has the lowest power. Otherwise this block belongs to the last
     * group. */
    cbnz groups, .Lhead_whole
    tbz flags, #1, .Lhead
    sub powers, powers, #16
    sub sums, sums, #8
    b .Lhead
.Lhead_whole:
    sub t0, blocks, #1
    add last_text, src, t0, lsl #4
    add last_output, dst, t0, lsl #4
    ldr q27, [consts, #MASKS]
.Lhead:
    cmp blocks, #2
    b.lo .Lhead2
    cmp blocks, #4
    b.lo .Lhead4
    cmp blocks, #6
    b.lo .Lhead6
    head 8
    b .Lhead_done
.Lhead6:
    head 6
    b .Lhead_done
.Lhead4:
    head 4
    b .Lhead_done
.Lhead2:
    head 2
.Lhead_done:
    add counter, counter, w20
    add counter, counter, #1
    add src, src, blocks, lsl #4
    add dst, dst, blocks, lsl #4
    cbnz groups, .Lgroups
    tbz flags, #1, .Lhead_part
    cbz text_left, .Lno_text
    ldr q15, [powers, #128]
    ldr d30, [sums, #64]
    pmull2 product.1q, lengths.2d, power_a.2d
    pmull power_a.1q, lengths.1d, power_a.1d
    pmull half_sums.1q, lengths_sum.1d, power_sums.1d
    eor low.16b, low.16b, product.16b
    eor high.16b, more.16b, power_a.16b
    eor mid.16b, mid.16b, half_sums.16b
    b .Lreduce
.Lhead_part:
    mov high.16b, more.16b
    b .Lreduce
.Lno_text:
    mov high.16b, more.16b
    reduce_all
    ldr q15, [powers, #128]
    ldr d30, [sums, #64]
    eor lengths.16b, lengths.16b, high.16b
    multiply 1, lengths, power_a, power_sums
    mov high.16b, more.16b
    b .Lreduce

    /* Groups of eight blocks. */
.Lgroups:
    mov high.16b, more.16b
    str args, [scratch, #ARGS]
    add t0, the_key, mode, uxtw #4
    ldp last0, last1, [t0, #SEALANE_GCM_KEY_SCHEDULE]
    mov key, the_key
    ldr q13, [key, #SEALANE_GCM_KEY_SCHEDULE]
    ldr q12, [scratch, #BLOCK]
    ldr q14, [consts, #DIAGONAL]
    ldp q15, q27, [consts, #BEGIN]
    mov v12.b[15], counter
    tbl count_key.16b, {v13.16b}, v14.16b
    tbl count.16b, {v12.16b}, v14.16b
    add count.16b, count.16b, v15.16b
    and t1d, flags, #SEALANE_FLAG_OPEN
    orr mode, mode, t1d, lsl #6
    tst flags, #SEALANE_FLAG_NONCE
    mov t1d, #15
    mov t2d, #256
    csel limit, t1d, t2d, ne
    mov stride, #16
    add next_state, scratch, #STATES
    mov begun, #0

    /* The states after the first round. */
.Lfirst_rounds:
    ldr q12, [scratch, #BLOCK]
    ldr q13, [key, #SEALANE_GCM_KEY_SCHEDULE]
    for_states 8, counter_block, v12
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    add t0d, counter, #\i
    rev t0d, t0d
    counter_value v\i, t0d
    .endr
    for_states 8, aes_round, v13
    stp q0, q1, [scratch, #STATES]
    stp q2, q3, [scratch, #STATES + 32]
    stp q4, q5, [scratch, #STATES + 64]
    stp q6, q7, [scratch, #STATES + 96]
    cbz begun, .Lfirst_group
.Lnext:
    tbnz mode, #8, .Lopen
.Lseal:
    more_rounds 8, key
    group_seal
    next_group .Lseal_last, .Lseal
.Lopen:
    more_rounds 8, key
    group_open
    next_group .Lopen_last, .Lopen

.Lfirst_group:
    more_rounds 8, key
    group_first
    sub next_state, next_state, #128
    add counter, counter, #8
    sub groups, groups, #1
    mov begun, #1
    add t0d, counter, #7
    and t0d, t0d, #255
    cmp t0d, limit
    next_group .Lone, .Lnext
.Lone:
    tbnz mode, #8, .Lopen_last

    /* The text and the hash of the last group, and the hash of the lengths. */
.Lseal_last:
    last_powers
    last_block
    last_seal
    b .Llast
.Lopen_last:
    last_powers
    last_block
    last_open
.Llast:
    mov the_key, key
    ldr args, [scratch, #ARGS]
    ldr flags, [args, #SEALANE_ARG_FLAGS]
    movi v0.16b, #0
    eor low.16b, low.16b, v3.16b
    eor high.16b, high.16b, v4.16b
    eor mid.16b, mid.16b, v5.16b
    .irp i, 0, 32, 64, 96, 128, 160, 192, 224
    stp q0, q0, [scratch, #KEYSTREAM + \i]
    .endr
    .irp i, 0, 32, 64, 96
    stp q0, q0, [scratch, #STATES + \i]
    .endr

.Lreduce:
    reduce_all
    rev64 high.16b, high.16b

    /* The end of the text, the tag or the state. */
    ldr text_left, [args, #SEALANE_ARG_BYTES]
    ldr dst, [args, #SEALANE_ARG_OUT]
    ands rest, text_left, #15
    b.eq .Lfinish
    add dst, dst, text_left
    sub dst, dst, rest
    add src, scratch, #PART_OUT
    copy_partial rest, src, dst
.Lfinish:
    ldr q0, [scratch, #MASK]
    ldr t0, [args, #SEALANE_ARG_STATE]
    tbnz flags, #0, .Lmask
    ldr q0, [t0, #SEALANE_GCM_STATE_MASK]
.Lmask:
    tbz flags, #1, .Lstate
    ldr t0, [args, #SEALANE_ARG_TAG]
    eor v0.16b, v0.16b, high.16b
    str q0, [t0]
    b .Lwipe
.Lstate:
    ldr q1, [scratch, #BLOCK]
    rev counter, counter
    mov v1.s[3], counter
    stp q10, q1, [t0, #SEALANE_GCM_STATE_Y]
    str q0, [t0, #SEALANE_GCM_STATE_MASK]
.Lwipe:
    movi v0.16b, #0
    stp q0, q0, [scratch, #ARGS]
    stp q0, q0, [scratch, #ARGS + 32]
    str q0, [scratch, #ARGS + 64]
    b .Ldone

    /* POLYVAL: associated data, text, lengths. */
.Lpolyval:
    add powers, the_key, #SEALANE_GCM_KEY_TABLE + 16
    ldr t0, [args, #SEALANE_ARG_STATE]
    add sums, the_key, #SEALANE_GCM_KEY_TABLE + SUMS + 8
    ldr q28, [consts, #POLY]
    tbnz flags, #3, .Lpolyval_key
    add powers_end, powers, #128
    movi low.16b, #0
    movi mid.16b, #0
    movi high.16b, #0
    ldp u2, u3, [args, #SEALANE_ARG_AD]
    mov in_text, #0
    mov lengths_follow, #0
    tbnz flags, #0, .Lpolyval_data
    ldr q10, [t0, #SEALANE_GCM_STATE_Y]
    mov mid.16b, high.16b
.Lpolyval_text:
    ldp u2, u3, [args, #SEALANE_ARG_IN]
    mov in_text, #1
    ubfx lengths_follow, flags_wide, #1, #1
.Lpolyval_data:
    subs u3, u3, #128
    b.lo .Lpolyval_rest
    ldp q16, q17, [powers]
    ldp q18, q19, [powers, #32]
    ldp q20, q21, [powers, #64]
    ldp q22, q23, [powers, #96]
    ldp q24, q25, [sums]
    ldp q26, q27, [sums, #32]
.Lpolyval_eight:
    polyval_eight
    subs u3, u3, #128
    b.hs .Lpolyval_eight

    /* Up to eight more blocks, including the lengths, with one reduction. */
.Lpolyval_rest:
    add u3, u3, #128
.Lpolyval_some:
    add t0, u3, #15
    add t0, lengths_follow, t0, lsr #4
    cbz t0, .Lpolyval_next
    mov t1, #8
    cmp t0, t1
    csel t0, t0, t1, lo
    reduce_all mid
    sub u0, powers_end, t0, lsl #4
    sub u1, sums, t0, lsl #3
    add u1, u1, #64
    movi low.16b, #0
    movi mid.16b, #0
    movi more.16b, #0
.Lpolyval_block:
    cbz u3, .Lpolyval_lengths
    next_ad u2, u3, scratch, xzr
.Lpolyval_multiply:
    ldr q15, [u0], #16
    ldr d30, [u1], #8
    eor v0.16b, v0.16b, high.16b
    movi high.16b, #0
    multiply 0, v0, power_a, power_sums                                         /* low is the upper product here */
    cmp u0, powers_end
    b.ne .Lpolyval_block
    mov high.16b, low.16b
    mov low.16b, more.16b
    cbnz lengths_follow, .Lpolyval_some                                         /* eight blocks before them */
.Lpolyval_next:
    cbz in_text, .Lpolyval_text
    reduce_all mid
    ldr t0, [args, #SEALANE_ARG_TAG]
    tbnz flags, #1, .Lpolyval_sum
    ldr t0, [args, #SEALANE_ARG_STATE]
.Lpolyval_sum:
    str q10, [t0]
    b .Lwipe
.Lpolyval_lengths:
    load_lengths v0, args
    mov lengths_follow, #0
    b .Lpolyval_multiply

    /* As many powers as text and lengths need: H; H^2; H^3, H^4; H^5 to H^8. */
.Lpolyval_key:
    ldr t0, [args, #SEALANE_ARG_NONCE]
    ldr t1, [args, #SEALANE_ARG_BYTES]
    ldr q16, [t0]
    ext v20.16b, v16.16b, v16.16b, #8
    eor v20.16b, v20.16b, v16.16b
    str q16, [powers, #112]
    str d20, [sums, #56]
    cbz t1, .Ldone
    power_product v0, v1, v2, v16, v16, v20, v20
    reduce_powers 1
    str q1, [powers, #96]
    str d0, [sums, #48]
    cmp t1, #16
    b.ls .Ldone
    mov v17.16b, v1.16b
    mov v21.16b, v0.16b
    power_product v4, v5, v6, v17, v17, v21, v21
    power_product v0, v1, v2, v17, v16, v21, v20
    reduce_powers 2
    stp q5, q1, [powers, #64]
    stp d4, d0, [sums, #32]
    cmp t1, #48
    b.ls .Ldone
    mov v19.16b, v5.16b
    mov v23.16b, v4.16b
    power_product v8, v9, v10, v19, v1, v23, v0
    power_product v12, v13, v14, v19, v19, v23, v23
    power_product v4, v5, v6, v19, v17, v23, v21
    power_product v0, v1, v2, v19, v16, v23, v20
    reduce_powers 4
    stp q13, q9, [powers]
    stp q5, q1, [powers, #32]
    stp d12, d8, [sums]
    stp d4, d0, [sums, #16]
    b .Ldone

    /* The key schedule. */
.Lsetup:
    tbz flags, #4, .Lschedule
    ldr q0, [t0]                                                                /* H is given, at NONCE */
    b .Lgiven_hash_key
.Lschedule:
    ldr mode, [the_key, #SEALANE_GCM_KEY_ROUNDS]
    expand_key

    /* H (SP 800-38D, 7.1) times x. */
    movi v0.16b, #0
    add t0, the_key, #SEALANE_GCM_KEY_SCHEDULE
    sub t1, end, #32
.Lhash_key:
    ldr q1, [t0], #16
    aese v0.16b, v1.16b
    cmp t0, t1
    b.hi .Lhash_key_last
    aesmc v0.16b, v0.16b
    b .Lhash_key
.Lhash_key_last:
    ldr q1, [t0]
    eor v0.16b, v0.16b, v1.16b
.Lgiven_hash_key:
    rev64 v0.16b, v0.16b
    umov t0, v0.d[0]
    umov t1, v0.d[1]
    ldr t2, [consts, #POLY]
    asr t3, t0, #63
    extr t0, t0, t1, #63
    lsl t1, t1, #1
    and t2, t2, t3
    and t3, t3, #1
    eor t0, t0, t2
    eor t1, t1, t3
    fmov d10, t0
    mov v10.d[1], t1

    /* Its powers. */
    ldr q28, [consts, #POLY]
    add t0, the_key, #SEALANE_GCM_KEY_TABLE + 128
    add t1, the_key, #SEALANE_GCM_KEY_TABLE + SUMS + 64
    mov v1.16b, high.16b
    ext v2.16b, high.16b, high.16b, #8
    eor v2.16b, v2.16b, high.16b
    mov t2, #9
.Lpower:
    ext v3.16b, high.16b, high.16b, #8
    eor v3.16b, v3.16b, high.16b
    str q10, [t0], #-16
    str d3, [t1], #-8
    pmull2 low.1q, high.2d, v1.2d
    pmull mid.1q, v3.1d, v2.1d
    pmull high.1q, high.1d, v1.1d
    reduce_all
    subs t2, t2, #1
    b.ne .Lpower

.Ldone:
    endfunction
#endif
