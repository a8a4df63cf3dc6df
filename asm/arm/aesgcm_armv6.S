/* AES-GCM (NIST SP 800-38D) in integer registers: makes a key, or seals or opens one packet or a part of one, in one
 * call.
 *
 *     void sealane_aesgcm_armv6(const args *a, void *scratch, const void *consts);
 *
 * CPU        ARMv6 (ldr and str of words at any address), little-endian, no vector unit
 * args       asm/args.h; writes OUT[BYTES] and, by flags, TAG[16], STATE[64] or KEY[960]
 * scratch    1312 bytes after the saved registers, wiped before the return; stack 0
 * consts     sealane_aesgcm_armv6_constants
 * registers  all but r10, r13, r14
 * branches   and addresses depend on BYTES, AD_BYTES, FLAGS and the number of rounds only
 *
 * AES (FIPS 197), bit-sliced, two blocks at a time: see aes_armv6.h.
 *
 * GHASH (6.4): see ../ghash.h. Each of the nine products of words consists of integer products, of every fourth bit
 * of one word and every fourth of the other. Columns in these are at most 15, so no carry reaches the next column,
 * and the lowest bit of a sum is the sum modulo 2.
 */
#include "../asm.S"

#if defined(__arm__)

isa armv6

/* Scratch, in addition to that of aes_armv6.h. */
#define FLAGS 424
#define IN 428
#define OUT 432
#define LEFT 436      /* bytes of text left */
#define COUNTER 440   /* of the next two blocks */
#define AVAILABLE 444 /* unused bytes at the end of the keystream */
#define PHASE 448     /* next input of GHASH */
#define PASS 452      /* text for the keystream */
#define BLOCKS 456    /* of GHASH, left */
#define MESSAGE 460   /* and where they are */
#define AD_LEFT 464   /* bytes of associated data left */
#define ROUNDS 468    /* left */
#define NEXT_KEY 472
#define KEYSTREAM 480    /* keystream of two blocks */
#define TAIL 512      /* a block for GHASH */
#define Y 528         /* GHASH so far, lowest word first */
#define MASK 544      /* encrypted J0 */
#define PREFIX 560    /* first 12 bytes of the counter block */
#define HASH_KEY 576  /* every fourth bit of words: see .Lghash */
#define PRODUCTS 720  /* nine of 64 bits */
#define FACTORS 792   /* nine words */
#define KEYS 832      /* planes 0 .. 7 of each round key */
#define WORDS 1312    /* set-up: the key schedule */
#define END 1568

#define PHASE_AD 0
#define PHASE_TEXT 1
#define PHASE_LENGTHS 2
#define PHASE_POLYVAL 3

#define PASS_KEYSTREAM 0
#define PASS_J0 1
#define PASS_SETUP 2

#define HASH_KEY_BYTES 144

constants sealane_aesgcm_armv6_constants
    .byte 1, 2, 4, 8, 16, 32, 64, 128, 27, 54, 0, 0, 0, 0, 0, 0 /* round constants */
endconstants

#include "aes_armv6.h"

/* ---- GHASH ---- */

#define factor r0
#define fourth r2 /* 0x11111111 */
#define b0 r3
#define b1 r4
#define b2 r5
#define product r6
#define product_high r7
#define term r8
#define term_high r9
#define result r11
#define result_high r12

/* product := every fourth bit of factor, from bit i on, times b. */
.macro first_product i, b
    and term, factor, fourth, lsl #\i
    umull product, product_high, term, \b
.endm

/* product += the product with b3, which has one bit less in each of the columns that may be full. */
.macro add_product i, j
    ldr term_high, [r1, #HASH_KEY + 16*\j + 12]
    and term, factor, fourth, lsl #\i
    umlal product, product_high, term, term_high
.endm

/* product := product + the product with b, without carries. */
.macro xor_product i, b
    and term, factor, fourth, lsl #\i
    umull term, term_high, term, \b
    eor product, product, term
    eor product_high, product_high, term_high
.endm

/* result += the columns of product that belong to bit i. */
.macro take_columns i
    and product, product, fourth, lsl #\i
    and product_high, product_high, fourth, lsl #\i
    orr result, result, product
    orr result_high, result_high, product_high
.endm

/* Product j of nine. */
.macro multiply j
    ldr factor, [r1, #FACTORS + 4*\j]
    ldr b0, [r1, #HASH_KEY + 16*\j]
    ldr b1, [r1, #HASH_KEY + 16*\j + 4]
    ldr b2, [r1, #HASH_KEY + 16*\j + 8]
    first_product 0, b0
    add_product 1, \j
    xor_product 2, b2
    xor_product 3, b1
    and result, product, fourth
    and result_high, product_high, fourth
    first_product 0, b1
    add_product 2, \j
    xor_product 1, b0
    xor_product 3, b2
    take_columns 1
    first_product 0, b2
    add_product 3, \j
    xor_product 1, b1
    xor_product 2, b0
    take_columns 2
    first_product 3, b0
    xor_product 1, b2
    xor_product 2, b1
    ldr b0, [r1, #HASH_KEY + 16*\j + 12]
    xor_product 0, b0
    take_columns 3
    str result, [r1, #PRODUCTS + 8*\j]
    str result_high, [r1, #PRODUCTS + 8*\j + 4]
.endm

#undef factor
#undef fourth
#undef b0
#undef b1
#undef b2
#undef product
#undef product_high
#undef term
#undef term_high
#undef result
#undef result_high

/* r2 .. r5 := the product of two pairs of words, from three products of words. */
.macro join at
    add r0, r1, #PRODUCTS + \at
    ldmia r0, {r2, r3, r4, r5, r6, r7}      /* low, high, of sums */
    eor r6, r6, r2
    eor r7, r7, r3
    eor r6, r6, r4
    eor r7, r7, r5
    eor r3, r3, r6
    eor r4, r4, r7
.endm

/* The words x are the lowest remaining ones: \next_high += x_low (x^63 + x^62 + x^57) and so on. */
.macro reduce x_low, x_high, next_high, low, high
    eor \next_high, \next_high, \x_low, lsl #31
    eor \low, \low, \x_low
    eor \high, \high, \x_high
    eor \next_high, \next_high, \x_low, lsl #30
    eor \low, \low, \x_low, lsr #1
    eor \high, \high, \x_high, lsr #1
    eor \next_high, \next_high, \x_low, lsl #25
    eor \low, \low, \x_high, lsl #31
    eor \high, \high, \x_high, lsr #2
    eor \low, \low, \x_low, lsr #2
    eor \high, \high, \x_high, lsr #7
    eor \low, \low, \x_high, lsl #30
    eor \low, \low, \x_low, lsr #7
    eor \low, \low, \x_high, lsl #25
.endm

/* Stores factors of r5 .. r8: for the low half, the high half and their sum, each the low word, the high word and
 * their sum. */
.macro store_factors
    add r3, r1, #FACTORS
    eor r9, r5, r6
    stmia r3!, {r5, r6, r9}
    eor r9, r7, r8
    stmia r3!, {r7, r8, r9}
    eor r5, r5, r7
    eor r6, r6, r8
    eor r9, r5, r6
    stmia r3, {r5, r6, r9}
.endm

#include "aesgcm_text.h"

/* ---- the kernel ---- */

scratch_end 1568
function sealane_aesgcm_armv6
    take_arguments

/* Round keys, from two planes in a word, and the hash key. */
    ldr r4, [r0, #SEALANE_ARG_KEY]
    tst r3, #SEALANE_FLAG_POLYVAL
    bne .Lhash_table
    spread_or_setup
.Lhash_table:
    add r4, r4, #SEALANE_GCM_KEY_TABLE
    add r5, r1, #HASH_KEY
    mov r6, #HASH_KEY_BYTES/4
.Lhash_key:
    ldr r7, [r4], #4
    subs r6, r6, #1
    str r7, [r5], #4
    bne .Lhash_key
    tst r3, #SEALANE_FLAG_POLYVAL
    bne .Lpolyval

    message_begin
    store_words r1, r11, r11, r11, r11, Y
    add r8, r1, #PREFIX
    stmia r8, {r4, r5, r6}
    str r7, [r1, #COUNTER]
    mov r4, #PASS_J0
    b .Lpass
.Lcontinue:
    ldr r12, [r0, #SEALANE_ARG_STATE]
    load_words r12, r4, r5, r6, r7, SEALANE_GCM_STATE_Y
    rev r4, r4
    rev r5, r5
    rev r6, r6
    rev r7, r7
    str r4, [r1, #Y + 12]
    str r5, [r1, #Y + 8]
    str r6, [r1, #Y + 4]
    str r7, [r1, #Y]
    load_words r12, r4, r5, r6, r7, SEALANE_GCM_STATE_MASK
    add r8, r1, #MASK
    stmia r8, {r4, r5, r6, r7}
    load_words r12, r4, r5, r6, r7, SEALANE_GCM_STATE_COUNTER
    add r8, r1, #PREFIX
    rev r7, r7
    stmia r8, {r4, r5, r6}
    str r7, [r1, #COUNTER]
    b .Ltext
.Lgot_j0:
    add r3, r1, #KEYSTREAM
    ldmia r3, {r4, r5, r6, r7}
    add r3, r1, #MASK
    stmia r3, {r4, r5, r6, r7}
    mov r3, #16
    str r3, [r1, #AVAILABLE]

/* Associated data. */
    associated_data zero_tail_words

/* Text, block by block; the ciphertext goes to TAIL, too. */
    text_left
    moveq r4, #PASS_KEYSTREAM
    beq .Lpass
    add r8, r1, #KEYSTREAM + 32
    sub r8, r8, r7
    ldr r3, [r1, #IN]
    sub r7, r7, #16
    ldr r4, [r1, #OUT]
    str r7, [r1, #AVAILABLE]
    ldr r9, [r1, #FLAGS]
    subs r6, r6, #16
    blo .Lpartial
    str r6, [r1, #LEFT]
    ldr r0, [r3], #4
    ldr r2, [r3], #4
    ldr r5, [r3], #4
    ldr r6, [r3], #4
    str r3, [r1, #IN]
    add r7, r1, #TAIL
    tst r9, #SEALANE_FLAG_OPEN
    ldr r11, [r8]
    stmiane r7, {r0, r2, r5, r6}
    ldr r12, [r8, #4]
    eor r0, r0, r11
    ldr r11, [r8, #8]
    eor r2, r2, r12
    ldr r12, [r8, #12]
    eor r5, r5, r11
    eor r6, r6, r12
    str r0, [r4], #4
    stmiaeq r7, {r0, r2, r5, r6}
    str r2, [r4], #4
    mov r3, r7
    str r5, [r4], #4
    mov r5, #PHASE_TEXT
    str r6, [r4], #4
    str r4, [r1, #OUT]
    mov r4, #1
    b .Lghash
.Lpartial:
    add r5, r6, #16
    mov r6, #0
    str r6, [r1, #LEFT]
    add r7, r1, #TAIL
    store_words r7, r6, r6, r6, r6
    xor_bytes
    add r3, r1, #TAIL
    mov r4, #1
    mov r5, #PHASE_TEXT
    b .Lghash

/* The lengths in bits. */
.Llengths:
    ldr r9, [r1, #FLAGS]
    tst r9, #SEALANE_FLAG_LAST
    beq .Lsave
    ldr r0, [r1, #ARGS]
    add r3, r1, #TAIL
    ldr r5, [r0, #SEALANE_ARG_AD_BYTES]
    ldr r4, [r0, #SEALANE_ARG_AD_BYTES + 4]
    ldr r7, [r0, #SEALANE_ARG_TOTAL]
    ldr r6, [r0, #SEALANE_ARG_TOTAL + 4]
    mov r4, r4, lsl #3
    orr r4, r4, r5, lsr #29
    mov r5, r5, lsl #3
    mov r6, r6, lsl #3
    orr r6, r6, r7, lsr #29
    mov r7, r7, lsl #3
    rev r4, r4
    rev r5, r5
    rev r6, r6
    rev r7, r7
    stmia r3, {r4, r5, r6, r7}
    mov r4, #1
    mov r5, #PHASE_LENGTHS
    b .Lghash

.Ltag:
    ldr r0, [r1, #ARGS]
    add r3, r1, #Y
    ldr r12, [r0, #SEALANE_ARG_TAG]
    ldmia r3, {r4, r5, r6, r7}
    add r3, r1, #MASK
    rev r7, r7
    rev r6, r6
    rev r5, r5
    rev r4, r4
    ldmia r3, {r0, r2, r8, r9}
    eor r7, r7, r0
    eor r6, r6, r2
    eor r5, r5, r8
    eor r4, r4, r9
    store_words r12, r7, r6, r5, r4
    b .Lwipe

.Lsave:
    ldr r0, [r1, #ARGS]
    add r3, r1, #Y
    ldr r12, [r0, #SEALANE_ARG_STATE]
    ldmia r3, {r4, r5, r6, r7}
    rev r7, r7
    rev r6, r6
    rev r5, r5
    rev r4, r4
    store_words r12, r7, r6, r5, r4, SEALANE_GCM_STATE_Y
    add r3, r1, #MASK
    ldmia r3, {r4, r5, r6, r7}
    store_words r12, r4, r5, r6, r7, SEALANE_GCM_STATE_MASK
    add r3, r1, #PREFIX
    ldmia r3, {r4, r5, r6}
    ldr r7, [r1, #COUNTER]
    ldr r8, [r1, #AVAILABLE]
    save_counter r12, r8

.Lwipe:
    wipe
    b .Ldone

/* ---- A pass: keystream of two blocks, for r4 ---- */

.Lpass:
    str r4, [r1, #PASS]
    add r9, r1, #PREFIX
    ldr r11, [r1, #COUNTER]
    ldmia r9, {r0, r3, r5}
    rev r7, r11
    add r8, r11, #1
    add r11, r11, #2
    rev r8, r8
    str r11, [r1, #COUNTER]
    mov r2, r0
    mov r4, r3
    mov r6, r5
.Lpass_columns:
    begin_rounds
    ldr r0, [r1, #ARGS]
    ldr r0, [r0, #SEALANE_ARG_KEY]
    ldr r0, [r0, #SEALANE_GCM_KEY_ROUNDS]
    str r0, [r1, #ROUNDS]
.Lrounds:
    sub_bytes
    mix_columns 1
    sub_bytes
    ldr r0, [r1, #ROUNDS]
    subs r0, r0, #4
    str r0, [r1, #ROUNDS]
    bmi .Llast_round                        /* 10 or 14 rounds */
    mix_columns 2
    sub_bytes
    mix_columns 3
    sub_bytes
    ldr r0, [r1, #ROUNDS]
    cmp r0, #0
    beq .Llast_round                        /* 12 */
    mix_columns 0
    b .Lrounds

.Llast_round:
    end_rounds
    add r12, r1, #KEYSTREAM
    stmia r12!, {r0, r3, r5, r7}
    stmia r12, {r2, r4, r6, r8}
    ldr r4, [r1, #PASS]
    mov r5, #32
    cmp r4, #PASS_J0
    beq .Lgot_j0
    bhi .Lgot_hash_key
    str r5, [r1, #AVAILABLE]
    b .Ltext

/* ---- GHASH of r4 > 0 blocks at r3, for r5 ---- */

.Lghash:
    str r5, [r1, #PHASE]
.Lghash_block:
    add r0, r1, #Y
    str r4, [r1, #BLOCKS]
    ldmia r0, {r5, r6, r7, r8}
    ldr r0, [r3], #4
    ldr r2, [r3], #4
    ldr r4, [r3], #4
    ldr r9, [r3], #4
    rev r0, r0
    rev r2, r2
    rev r4, r4
    rev r9, r9
    eor r8, r8, r0
    eor r7, r7, r2
    eor r6, r6, r4
    eor r5, r5, r9
    str r3, [r1, #MESSAGE]

    store_factors
    bytes r2, 0x11
    multiply 0
    multiply 1
    multiply 2
    multiply 3
    multiply 4
    multiply 5
    multiply 6
    multiply 7
    multiply 8

/* 256 bits in r11, r12, r2, r3, r6 .. r9: the products of low and of high halves, and that of sums added in the
 * middle. */
    join 0
    stmia r0, {r2, r3, r4, r5}
    join 24
    stmia r0, {r2, r3, r4, r5}
    join 48
    sub r0, r0, #24
    ldmia r0, {r6, r7, r8, r9}
    sub r0, r0, #24
    eor r2, r2, r6
    eor r3, r3, r7
    eor r4, r4, r8
    eor r5, r5, r9
    eor r6, r6, r4
    eor r7, r7, r5
    ldmia r0!, {r11, r12}
    ldmia r0, {r4, r5}
    eor r2, r2, r11
    eor r3, r3, r12
    eor r6, r6, r4
    eor r7, r7, r5
    eor r2, r2, r4
    eor r3, r3, r5
    reduce r11, r12, r3, r6, r7
    reduce r2, r3, r7, r8, r9
    add r0, r1, #Y
    stmia r0, {r6, r7, r8, r9}
    ldr r4, [r1, #BLOCKS]
    ldr r3, [r1, #MESSAGE]
    subs r4, r4, #1
    bne .Lghash_block
    ldr r5, [r1, #PHASE]
    cmp r5, #PHASE_TEXT
    beq .Ltext
    blo .Lad
    cmp r5, #PHASE_LENGTHS
    beq .Ltag
    b .Lpolyval_more

/* ---- POLYVAL ---- */

.macro reverse_words
    ldr r8, [r3], #4
    ldr r9, [r3], #4
    ldr r11, [r3], #4
    ldr r12, [r3], #4
    rev r8, r8
    rev r9, r9
    rev r11, r11
    str r8, [r7, #12]
    rev r12, r12
    str r9, [r7, #8]
    str r11, [r7, #4]
    str r12, [r7], #16
.endm

    polyval 32, 0, reverse_words

/* ---- Key set-up ---- */

/* Key expansion (FIPS 197, 5.2). SubBytes uses all registers, so the state of the expansion is kept in scratch. */
.Lexpand:
    tst r3, #SEALANE_FLAG_NONCE
    beq .Lschedule
    ldr r0, [r0, #SEALANE_ARG_NONCE]        /* H is given */
    add r12, r1, #KEYSTREAM
    tst r3, #SEALANE_FLAG_POLYVAL
    load_words r0, r5, r6, r7, r8
    bne .Lgot_polyval_key
    stmia r12, {r5, r6, r7, r8}
    b .Lgot_hash_key
.Lschedule:
    expand_key
    b .Lspread

/* H, the encrypted block of zeroes. */
.Lsetup:
    mov r4, #PASS_SETUP
    str r4, [r1, #PASS]
.irp word, r0, r2, r3, r4, r5, r6, r7, r8
    mov \word, #0
.endr
    b .Lpass_columns

/* H x; then every fourth bit of its words and of their sums, in the order of the factors. */
.Lgot_hash_key:
    ldr r5, [r1, #KEYSTREAM + 12]
    ldr r6, [r1, #KEYSTREAM + 8]
    ldr r7, [r1, #KEYSTREAM + 4]
    ldr r8, [r1, #KEYSTREAM]
    rev r5, r5
    rev r6, r6
    rev r7, r7
    rev r8, r8
    mov r9, r8, asr #31
    mov r8, r8, lsl #1
    orr r8, r8, r7, lsr #31
    mov r7, r7, lsl #1
    orr r7, r7, r6, lsr #31
    mov r6, r6, lsl #1
    orr r6, r6, r5, lsr #31
    mov r5, r5, lsl #1
    and r2, r9, #0xc2000000
    eor r8, r8, r2
    and r2, r9, #1
    eor r5, r5, r2
.Lgot_polyval_key:
    store_factors
    ldr r0, [r1, #ARGS]
    ldr r4, [r0, #SEALANE_ARG_KEY]
    add r4, r4, #SEALANE_GCM_KEY_TABLE
    add r3, r1, #FACTORS
    bytes r12, 0x11
    mov r2, #9
.Lfourths:
    ldr r0, [r3], #4
    subs r2, r2, #1
    and r5, r0, r12
    and r6, r0, r12, lsl #1
    and r7, r0, r12, lsl #2
    and r8, r0, r12, lsl #3
    str r5, [r4], #4
    str r6, [r4], #4
    str r7, [r4], #4
    str r8, [r4], #4
    bne .Lfourths
    b .Lwipe

.Ldone:
endfunction

#endif
