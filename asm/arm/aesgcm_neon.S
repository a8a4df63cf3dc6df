/* AES-GCM (NIST SP 800-38D) with NEON: makes a key, or seals or opens one packet or a part of one, in one call.
 *
 *     void sealane_aesgcm_neon(const args *a, void *scratch, const void *consts);
 *
 * CPU        ARMv7-A with NEON, little-endian; no AES instructions
 * args       asm/args.h; writes OUT[BYTES] and, by flags, TAG[16], STATE[64] or KEY[960]
 * scratch    3680 bytes after the saved registers, wiped before the return; stack 0
 * consts     sealane_aesgcm_neon_constants
 * registers  all but r10, r13, r14
 * branches   and addresses depend on BYTES, AD_BYTES, FLAGS, the number of rounds, and with the flag NONCE the counter
 *            only
 *
 * AES (FIPS 197), bit-sliced, eight blocks at a time: see aes_neon.h.
 *
 * GHASH (6.4): see ../ghash.h. Up to eight blocks are multiplied by H^8 .. H and reduced once. Of the nine products
 * of words, pairs stand side by side: those of a0, a2 and of a1, a3, of a0 + a1, a2 + a3, and of a0 + a2 and so on,
 * two blocks of these side by side. vmull.p8 makes eight products of bytes. Bytes i of a word and (i + k) mod 4 of
 * the other are summed up over all blocks for k = 0 .. 3, and only the sums are moved to their places.
 */
#include "../asm.S"

#if defined(__arm__)

isa neon

/* Scratch, in addition to that of aes_neon.h. */
#define Y 416                /* GHASH so far: first half, second half, bytes reversed */
#define MASK 432             /* encrypted J0 */
#define AVAILABLE 480        /* unused bytes at the end of the keystream */
#define PHASE 484            /* next input of GHASH */
#define PASS 488             /* text for the keystream */
#define BLOCKS 492           /* of GHASH, left */
#define MESSAGE 496          /* and where they are */
#define AD_LEFT 500          /* bytes of associated data left */
#define POWER 504            /* set-up: address for the next power of H */
#define DATA (KEYS + 14*128) /* operands of products */
#define SUMS (DATA + 192)    /* those of sums of words */
#define RESULT (DATA + 288)  /* six vectors of products */
#define KEYSTREAM (RESULT + 96) /* keystream of eight blocks */
#define TAIL (KEYSTREAM + 128)  /* the last blocks, and that of the lengths */
#define PREFIX (TAIL + 144)  /* first 12 bytes of the counter block */
#define CACHED_128 (PREFIX + 12)   /* which 128 blocks, counted from the first, the following are for */
#define ROUND_2 (PREFIX + 16)      /* planes after round 2, except the varying bytes */
#define VARYING_2 (ROUND_2 + 128)  /* the varying bytes of round 2: see keep_varying */
#define VARYING_1 (VARYING_2 + 384) /* the varying bytes of round 1 */
#define ROUND_1 (VARYING_1 + 384)  /* planes after round 1: bytes that vary in round 2 and not in 1 */
#define END (ROUND_1 + 64)

#define PHASE_AD 0
#define PHASE_OPEN 1
#define PHASE_TEXT 2
#define PHASE_LENGTHS 3
#define PHASE_TABLE 4
#define PHASE_POWER 5
#define PHASE_POLYVAL 6

#define PASS_TEXT 0
#define PASS_KEYSTREAM 1
#define PASS_J0 2
#define PASS_SETUP 3

#include "aes_neon.h"

constants sealane_aesgcm_neon_constants
    aes_rows
endconstants

/* ---- GHASH ---- */

/* Operands of the products of four blocks; the first ones get q15. */
.macro operands_of_four first
    vld1.8 {d2}, [r3]!
    vld1.8 {d0}, [r3]!
    vld1.8 {d3}, [r3]!
    vld1.8 {d1}, [r3]!
    vld1.8 {d10}, [r3]!
    vld1.8 {d8}, [r3]!
    vrev64.8 q1, q1
    vld1.8 {d11}, [r3]!
    vrev64.8 q0, q0
    vld1.8 {d9}, [r3]!
.if \first
    veor d2, d2, d30
    veor d0, d0, d31
.endif
    vrev64.8 q5, q5
    vrev64.8 q4, q4
    vtrn.32 q0, q1                          /* a0, a2, b0, b2; a1, a3, b1, b3 */
    vtrn.32 q4, q5
    veor q2, q0, q1
    vst1.8 {q0}, [r5]!
    veor q6, q4, q5
    vst1.8 {q1}, [r6]!
    vst1.8 {q4}, [r5]!
    vtrn.32 d0, d1                          /* a0, b0; a2, b2 */
    vtrn.32 d2, d3
    vst1.8 {q5}, [r6]!
    vtrn.32 d8, d9
    vtrn.32 d10, d11
    veor d0, d0, d1
    veor d2, d2, d3
    vst1.8 {q2}, [r7]!
    veor d1, d8, d9
    veor d3, d10, d11
    vst1.8 {q6}, [r7]!
    veor q2, q0, q1
    vst1.8 {q0}, [r8]!
    vst1.8 {q1}, [r9]!
    vst1.8 {q2}, [r11]!
.endm

/* Sums of products of bytes for k = 0 .. 3: q12 .. q15. */
.macro products d, swapped, h0, h1
    vmull.p8 q4, \d, \h0
    vmull.p8 q5, \d, \h1
    vmull.p8 q6, \swapped, \h0
    vmull.p8 q7, \swapped, \h1
    veor q12, q12, q4
    veor q13, q13, q5
    veor q14, q14, q6
    veor q15, q15, q7
.endm

/* The same for the first block. */
.macro first_products d, swapped, h0, h1
    vmull.p8 q12, \d, \h0
    vmull.p8 q13, \d, \h1
    vmull.p8 q14, \swapped, \h0
    vmull.p8 q15, \swapped, \h1
.endm

/* The same sums for two words of each of 2 n blocks, from r3 and r5. */
.macro products_of n
    vld1.8 {d0, d1}, [r3]!
    vld1.8 {d2, d3, d4, d5}, [r5]!
    vrev32.16 q3, q0
    first_products d0, d6, d2, d3
    products d1, d7, d4, d5
    .rept \n - 1
    vld1.8 {d0, d1}, [r3]!
    vld1.8 {d2, d3, d4, d5}, [r5]!
    vrev32.16 q3, q0
    products d0, d6, d2, d3
    products d1, d7, d4, d5
    .endr
.endm

/* Moves the sums to their places. These are bytes 0 2 4 6 of q12, 1 3 5 3 of q13, 2 4 2 4 of q14, 3 5 3 1 of q15. */
.macro place_bytes to
    vshl.u64 q0, q15, #16
    vshl.u64 q1, q14, #32
    vsri.u64 q0, q15, #48
    veor q1, q1, q14
    veor q0, q0, q13                        /* 1 3 5 3 */
    vshr.u64 q1, q1, #32
    vshl.u64 q2, q0, #16
    vshr.u64 q3, q0, #48
    vshl.u64 q1, q1, #16
    vshr.u64 q2, q2, #8
    vshl.u64 q3, q3, #24
    veor q12, q12, q1
    veor q2, q2, q3
    veor \to, q12, q2
.endm

/* The lowest word x, with y = (x^63 + x^62 + x^57) x: \low := next + y, \high := last + x + y's part above 64 bits. */
.macro reduce x, low, next, high, last
    vshl.u64 d6, \x, #63
    vshl.u64 d7, \x, #62
    vshr.u64 d16, \x, #1
    vshl.u64 d18, \x, #57
    vshr.u64 d17, \x, #2
    vshr.u64 d19, \x, #7
    veor d6, d6, d7
    veor d16, d16, d17
    veor d19, d19, \x
    veor d6, d6, d18
    veor d16, d16, d19
    veor \low, \next, d6
    veor \high, \last, d16
.endm

#include "aesgcm_text.h"

/* ---- the kernel ---- */

scratch_end 3936
function sealane_aesgcm_neon
    take_arguments ldr r4, [r0, #SEALANE_ARG_KEY]
    tst r3, #SEALANE_FLAG_POLYVAL
    bne .Lpolyval

/* Round keys, in planes. */
    spread_or_setup

    message_begin_or_continue
    rev r7, r7
    add r8, r12, #SEALANE_GCM_STATE_MASK
    vld1.8 {q0}, [r8]
    add r9, r1, #MASK
    vst1.8 {q0}, [r9]
    vld1.8 {q15}, [r12]
    vrev64.8 q15, q15

/* r4 .. r6: prefix; r7: counter; q15: GHASH. */
.Lbegin:
    mvn r8, #0
    str r8, [r1, #CACHED_128]
    str r8, [r1, #CACHED_32]
    add r8, r1, #Y
    vst1.8 {q15}, [r8]
    add r8, r1, #PREFIX
    stmia r8, {r4, r5, r6}
    mov r8, #0
    tst r3, #SEALANE_FLAG_NONCE
    andne r8, r7, #7
    bicne r7, r7, #7
    mov r8, r8, lsl #4
    str r7, [r1, #COUNTER]
    str r8, [r1, #SKIP]
    ldr r9, [r0, #SEALANE_ARG_KEY]
    vmov d0, r4, r5
    mov r7, #0
    vmov d1, r6, r7
    first_input
    tst r3, #SEALANE_FLAG_FIRST
    beq .Ltext
    mov r4, #PASS_J0
    b .Lpass
.Lgot_j0:
    ldr r3, [r1, #SKIP]
    add r4, r1, #KEYSTREAM
    add r4, r4, r3
    vld1.8 {q0}, [r4]
    add r5, r1, #MASK
    vst1.8 {q0}, [r5]
    rsb r3, r3, #112
    mov r4, #0
    str r3, [r1, #AVAILABLE]
    str r4, [r1, #SKIP]

/* Associated data. */
    associated_data zero_tail_vector

/* Text: 128 bytes with a pass, or fewer with the rest of the last pass's keystream. */
    text_left
    bne .Lkeystream
    ldr r8, [r1, #SKIP]
    mov r4, #PASS_KEYSTREAM
    cmp r6, #128
    blo .Lpass
    cmp r8, #0
    bne .Lpass
    ldr r9, [r1, #FLAGS]
    tst r9, #SEALANE_FLAG_OPEN
    ldrne r3, [r1, #IN]
    movne r4, #8
    movne r5, #PHASE_OPEN
    bne .Lghash
.Lopen:
    mov r4, #PASS_TEXT
    b .Lpass
.Lgot_text:
    ldr r3, [r1, #IN]
    ldr r4, [r1, #OUT]
    xor_text
    ldr r6, [r1, #LEFT]
    ldr r9, [r1, #FLAGS]
    str r3, [r1, #IN]
    str r4, [r1, #OUT]
    sub r6, r6, #128
    str r6, [r1, #LEFT]
    tst r9, #SEALANE_FLAG_OPEN
    bne .Ltext
    sub r3, r4, #128
    mov r4, #8
    mov r5, #PHASE_TEXT
    b .Lghash

.Lgot_keystream:
    ldr r7, [r1, #SKIP]
    mov r8, #0
    rsb r7, r7, #128
    str r8, [r1, #SKIP]
    str r7, [r1, #AVAILABLE]
    b .Ltext

    text_keystream
    text_end
    add r4, r1, #PREFIX
    ldmia r4, {r4, r5, r6}
    ldr r7, [r1, #COUNTER]
    ldr r8, [r1, #SKIP]
    ldr r9, [r1, #AVAILABLE]
    add r7, r7, r8, lsr #4
    save_counter r3, r9

.Lwipe:
    vmov.i8 q0, #0
    vmov.i8 q1, #0
    vmov.i8 q2, #0
    vmov.i8 q3, #0
    add r3, r1, #SPILL
    mov r4, #(END - SPILL)/160
    vmov.i8 q4, #0
.Lwipe_160:
    vstmia r3!, {q0, q1, q2, q3, q4}
    subs r4, r4, #1
    vstmia r3!, {q0, q1, q2, q3, q4}
    bne .Lwipe_160
    b .Ldone

/* ---- A pass: keystream of eight blocks, for r4 ---- */

.Lpass:
    encrypt_counters
    cmp r4, #PASS_TEXT
    beq .Lgot_text
    add r3, r1, #KEYSTREAM
    vst1.8 {q8, q9}, [r3]!
    vst1.8 {q10, q11}, [r3]!
    vst1.8 {q0, q1}, [r3]!
    vst1.8 {q2, q3}, [r3]!
    cmp r4, #PASS_J0
    blo .Lgot_keystream
    beq .Lgot_j0
    b .Lgot_hash_key

    first_rounds

/* ---- GHASH of r4 > 0 blocks at r3, for r5 ---- */

.Lghash:
    str r5, [r1, #PHASE]
    add r5, r1, #Y
    vld1.8 {q15}, [r5]
.Lghash_group:
    subs r4, r4, #8
    blo .Lghash_few
    str r4, [r1, #BLOCKS]
    add r5, r1, #DATA
    add r6, r5, #64
    add r7, r5, #128
    add r8, r5, #192
    add r9, r5, #224
    add r11, r5, #256
    operands_of_four 1
    operands_of_four 0
    mov r12, #4
    b .Lghash_products

/* Operands of the products of r12 < 8 blocks, two at a time. If r12 is odd, the first block is alone. */
.Lghash_few:
    add r12, r4, #8
    mov r4, #0
    str r4, [r1, #BLOCKS]
    and r9, r12, #1
    add r12, r12, r9
    mov r12, r12, lsr #1
    rsb r11, r12, #4                        /* missing pairs */
    add r4, r1, #DATA
    add r5, r4, r11, lsl #4                 /* of a0, a2 */
    add r6, r5, #64                         /* of a1, a3 */
    add r7, r5, #128                        /* of their sums */
    add r4, r1, #SUMS
    add r4, r4, r11, lsl #3                 /* of a0 + a2; of a1 + a3; of all */
    mov r8, #32
    mov r0, r12
    vmov.i8 q0, #0
    vmov.i8 q1, #0
    tst r12, #1
    beq .Lghash_even
    sub r2, r4, #8
    vst1.8 {d0}, [r2], r8                   /* nothing beside the first pair */
    vst1.8 {d0}, [r2], r8
    vst1.8 {d0}, [r2]
.Lghash_even:
    cmp r9, #0
    beq .Lghash_pair
    vld1.8 {d3}, [r3]!
    vld1.8 {d1}, [r3]!
    vrev64.8 q1, q1
    vrev64.8 q0, q0
    veor d3, d3, d30
    veor d1, d1, d31
    b .Lghash_operands
.Lghash_pair:
    vld1.8 {d2}, [r3]!
    vld1.8 {d0}, [r3]!
    vld1.8 {d3}, [r3]!
    vld1.8 {d1}, [r3]!
    vrev64.8 q1, q1
    vrev64.8 q0, q0
    veor d2, d2, d30
    veor d0, d0, d31
.Lghash_operands:
    vmov.i8 q15, #0
    vtrn.32 q0, q1                          /* a0, a2, b0, b2; a1, a3, b1, b3 */
    veor q2, q0, q1
    vst1.8 {q0}, [r5]!
    vst1.8 {q1}, [r6]!
    vtrn.32 d0, d1                          /* a0, b0; a2, b2 */
    vtrn.32 d2, d3
    vst1.8 {q2}, [r7]!
    veor d0, d0, d1
    veor d2, d2, d3
    veor d1, d0, d2
    vst1.8 {d0}, [r4], r8
    vst1.8 {d2}, [r4], r8
    vst1.8 {d1}, [r4], r8
    sub r4, r4, #88
    subs r0, r0, #1
    bne .Lghash_pair

.Lghash_products:
    str r3, [r1, #MESSAGE]
    ldr r4, [r1, #PHASE]
    ldr r0, [r1, #ARGS]
    ldr r5, [r0, #SEALANE_ARG_KEY]
    add r5, r5, #SEALANE_GCM_KEY_TABLE
    add r3, r1, #DATA
    cmp r4, #PHASE_TABLE
    beq .Ltable

/* Six sums of products, three of all blocks and three of pairs of them; eight blocks first. */
    cmp r12, #4
    bne .Lproducts_few
    products_of 4
    place_bytes q8
    products_of 4
    place_bytes q9
    products_of 4
    place_bytes q10
    products_of 2
    place_bytes q12
    veor d22, d24, d25
    products_of 2
    place_bytes q12
    veor d23, d24, d25
    products_of 2
    place_bytes q12
    veor d26, d24, d25
    b .Lproducts_sum
.Lproducts_few:
    mov r6, r11, lsl #4
    mov r7, r11, lsl #5
    add r9, r1, #RESULT
    mov r8, #6
    add r3, r3, r6
    add r5, r5, r7
.Lproducts:
    vld1.8 {d0, d1}, [r3]!
    vld1.8 {d2, d3, d4, d5}, [r5]!
    vrev32.16 q3, q0
    subs r4, r12, #1
    first_products d0, d6, d2, d3
    products d1, d7, d4, d5
    beq .Lproducts_bytes
.Lproducts_two:
    vld1.8 {d0, d1}, [r3]!
    vld1.8 {d2, d3, d4, d5}, [r5]!
    vrev32.16 q3, q0
    subs r4, r4, #1
    products d0, d6, d2, d3
    products d1, d7, d4, d5
    bne .Lproducts_two

.Lproducts_bytes:
    place_bytes q12
    vst1.8 {q12}, [r9]!

    add r3, r3, r6
    add r5, r5, r7
    sub r8, r8, #1
    cmp r8, #3
    bhi .Lproducts
    blo .Lproducts_next
    sub r3, r3, r6
    sub r5, r5, r7
    add r12, r12, #1
    mov r12, r12, lsr #1
    rsb r6, r12, #2
    mov r7, r6, lsl #5
    mov r6, r6, lsl #4
    add r3, r3, r6
    add r5, r5, r7
    b .Lproducts
.Lproducts_next:
    cmp r8, #0
    bne .Lproducts

/* The whole product, from those of words. Karatsuba's rule makes the products of the halves, and the whole from
 * these. */
    sub r9, r9, #96
    vld1.8 {q8, q9}, [r9]!
    vld1.8 {q10, q11}, [r9]!
    vld1.8 {q12, q13}, [r9]
    veor d22, d22, d23
    veor d23, d24, d25
    veor d26, d26, d27
.Lproducts_sum:
    veor q10, q10, q8
    veor q10, q10, q9
    vshl.u64 q0, q10, #32
    vshr.u64 q1, q10, #32
    veor d26, d26, d22
    veor q0, q0, q8                         /* first words of both products */
    veor d26, d26, d23
    veor q1, q1, q9                         /* second words */
    vshl.u64 d4, d26, #32
    vshr.u64 d5, d26, #32
    veor d4, d4, d22
    veor d5, d5, d23
    veor d6, d1, d2
    veor d4, d4, d0
    veor d5, d5, d3
    veor d4, d4, d6                         /* the sum of 64-bit words is d0, d4, d5, d3 */
    veor d5, d5, d6
    reduce d0, d4, d4, d5, d5
    reduce d4, d31, d5, d30, d3

    ldr r4, [r1, #BLOCKS]
    ldr r3, [r1, #MESSAGE]
    cmp r4, #0
    bne .Lghash_group
    add r5, r1, #Y
    ldr r4, [r1, #PHASE]
    vst1.8 {q15}, [r5]
    cmp r4, #PHASE_OPEN
    blo .Lad
    beq .Lopen
    cmp r4, #PHASE_LENGTHS
    blo .Ltext
    beq .Ltag
    cmp r4, #PHASE_POLYVAL
    beq .Lpolyval_more
    b .Lpower

    polyval 128, 8, reverse_vector

/* ---- Key set-up ---- */

/* Key expansion (FIPS 197, 5.2); r4: key. */
    take_hash_key_or_expand q8
    b .Lspread

/* H, the encrypted block of zeroes. */
.Lsetup:
    add r4, r4, #SEALANE_GCM_KEY_SCHEDULE
    vld1.8 {q0}, [r4]
    add r5, r1, #BASE
    vst1.8 {q0}, [r5]
    mov r5, #0
    str r5, [r1, #COUNTER]
    mov r4, #PASS_SETUP
    b .Lpass
.Lgot_hash_key:
    vrev64.8 q15, q8
    add r3, r1, #TAIL
    vmov.i8 q0, #0
    vmov.i8 q1, #0
    vst1.8 {q0, q1}, [r3]!
    vst1.8 {q0, q1}, [r3]!
    vst1.8 {q0, q1}, [r3]!
    mov r4, #112
    vst1.8 {q0, q1}, [r3]
    str r4, [r1, #POWER]

/* q15 has a power. Its product with x, or for POLYVAL the power itself, goes to its place. The higher ones are still
 * zero. Then the table is made. */
.Lpower:
    ldr r4, [r1, #POWER]
    ldr r2, [r1, #CONSTS]
    add r6, r1, #KEYSTREAM
    vrev64.8 q0, q15
    vst1.8 {q0}, [r6]                       /* to be multiplied by H */
    add r2, r2, #CONST_POLY
    vld1.8 {q3}, [r2]
    vshr.s64 d0, d30, #63
    vshr.u64 d4, d31, #63
    vadd.i64 q1, q15, q15
    vorr d2, d2, d4
    vand d6, d6, d0
    vand d7, d7, d0
    ldr r5, [r1, #FLAGS]
    veor q1, q1, q3
    tst r5, #SEALANE_FLAG_POLYVAL
    beq .Ltimes_x
    vmov q1, q15
.Ltimes_x:
    vrev64.8 q1, q1
    add r3, r1, #TAIL
    add r5, r3, r4
    vst1.8 {q1}, [r5]
    vmov.i8 q15, #0
    add r5, r1, #Y
    vst1.8 {q15}, [r5]
    mov r4, #8
    mov r5, #PHASE_TABLE
    b .Lghash
.Ltable:
    mov r4, #18
.Ltable_two:
    vld1.8 {q0}, [r3]!
    vshr.u32 q1, q0, #8
    subs r4, r4, #1
    vsli.u32 q1, q0, #24
    vst1.8 {d0}, [r5]!
    vst1.8 {d2}, [r5]!
    vst1.8 {d1}, [r5]!
    vst1.8 {d3}, [r5]!
    bne .Ltable_two
    ldr r6, [r1, #POWER]
    add r3, r1, #KEYSTREAM
    mov r4, #1
    subs r6, r6, #16
    mov r5, #PHASE_POWER
    str r6, [r1, #POWER]
    bpl .Lghash
    b .Lwipe

.Ldone:
endfunction

#endif
