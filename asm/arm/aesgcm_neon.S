/* AES-GCM (NIST SP 800-38D) with NEON: makes a key, or seals or opens one packet or a part of one, in one call.
 *
 *     void sealane_aesgcm_neon(const args *a, void *scratch, const void *consts);
 *
 * CPU        ARMv7-A with NEON, little-endian; no AES instructions
 * args       asm/args.h; writes OUT[BYTES] and, by flags, TAG[16], STATE[64] or KEY[960]
 * scratch    3680 bytes behind the saved registers, wiped before the return; stack 0
 * consts     sealane_aesgcm_neon_constants
 * registers  all but r10, r13, r14
 * branches   and addresses depend on BYTES, AD_BYTES, FLAGS, the number of rounds, and with the flag NONCE the counter only
 *
 * AES (FIPS 197), bit-sliced: bit b of byte p in register k is bit k of byte p of block b, of eight blocks whose counters
 * begin at a multiple of eight unless they are secret. Bytes stand row by row, p = 4 r + c. ShiftRows is never done (Adomnicai and Peyrin, "Fixslicing
 * AES-like ciphers", TCHES 2021): after n rounds column c of row r lies at column c + n r, and MixColumns looks for it there:
 * with a' the next row and t = a + a', a column becomes 2 t + a' + t''. Round keys are laid out likewise.
 *
 * GHASH: a block with its bytes reversed is a polynomial, and the product of two such is theirs divided by x, so that powers
 * of H are kept multiplied by x. Up to eight blocks are multiplied by H^8 .. H and reduced once. By Karatsuba's rule
 * a product of 128 bits is nine of 32: with words a0 .. a3 those of a0, a2 and of a1, a3 side by side, of a0 + a1, a2 + a3, and
 * of a0 + a2 and so on, two blocks of these side by side. vmull.p8 makes eight products of bytes; bytes i of a word and
 * (i + k) mod 4 of the other are summed up over all blocks for k = 0 .. 3, and only the sums are moved to their places.
 */
#include "../asm.S"

#if defined(__arm__)

isa neon

/* Constants. */
#define CONST_ROWS 0      /* four times 16: where the bytes of a round key go after 0 .. 3 rounds without ShiftRows */
#define CONST_COLUMNS 64  /* twice 16: and the text after 10 or 14, or after 12 rounds */
#define CONST_NEXT 96     /* twice 16: the next row after 1, 3 rounds */
#define CONST_LANES 128   /* the numbers of eight blocks in the last byte of the counter: bits 0, 1, 2 */
#define CONST_RCON 152    /* round constants */
#define CONST_POLY 168    /* x^128 + x^7 + x^2 + x + 1 as it is added when a polynomial is multiplied by x */
#define CONST_SHIFTS 184  /* 0, 8, 16, 24; 1, 1, 1, 1 */
#define CONST_NUMBERS 216 /* 0 .. 15 */
#define CONST_FIXED_1 232 /* ones in the bytes that are the same for 128 blocks in round 1, */
#define CONST_FIXED_2 248 /* in round 2; */
#define CONST_VARYING 264 /* where the others are in round 2, twice */
#define CONST_SPREAD_1 272 /* what they get in MixColumns of round 1 from 1, 2, 3 times the one that varies; of four passes */
#define CONST_SPREAD_2 288 /* what all bytes get in round 2 */

/* Scratch. */
#define SPILL 256            /* nine vectors */
#define BASE 400             /* first round's input but for the counter */
#define Y 416                /* GHASH so far: first half, second half, bytes reversed */
#define MASK 432             /* encrypted J0 */
#define ARGS 448
#define CONSTS 452
#define FLAGS 456
#define IN 460
#define OUT 464
#define LEFT 468             /* bytes of text left */
#define COUNTER 472          /* of the next eight blocks */
#define SKIP 476             /* bytes of their keystream not to use */
#define AVAILABLE 480        /* unused bytes at the end of the keystream */
#define PHASE 484            /* what GHASH goes on with */
#define PASS 488             /* what the keystream is for */
#define BLOCKS 492           /* of GHASH, left */
#define MESSAGE 496          /* and where they are */
#define AD_LEFT 500          /* bytes of associated data left */
#define POWER 504            /* set-up: where the next power of H goes */
#define KEYS 512             /* planes 7 .. 0 of each round key but the first */
#define DATA (KEYS + 14*128) /* operands of products */
#define SUMS (DATA + 192)    /* those of sums of words */
#define RESULT (DATA + 288)  /* six vectors of products */
#define STREAM (RESULT + 96) /* keystream of eight blocks */
#define TAIL (STREAM + 128)  /* the last blocks, and that of the lengths */
#define PREFIX (TAIL + 144)  /* first 12 bytes of the counter block */
#define CACHED_128 (PREFIX + 12)   /* which 128 blocks, counted from the first, the following are for */
#define CACHED_32 508              /* and which 32 */
#define ROUND_2 (PREFIX + 16)      /* planes after round 2, but for what varies */
#define VARYING_2 (ROUND_2 + 128)  /* what varies in round 2: see keep_varying */
#define VARYING_1 (VARYING_2 + 384) /* what varies in round 1 */
#define ROUND_1 (VARYING_1 + 384)  /* of each plane after round 1 the bytes that vary in round 2, but for what varies in 1 */
#define END (ROUND_1 + 64)

#define PHASE_AD 0
#define PHASE_OPEN 1
#define PHASE_TEXT 2
#define PHASE_LENGTHS 3
#define PHASE_TABLE 4
#define PHASE_POWER 5

#define PASS_TEXT 0
#define PASS_STREAM 1
#define PASS_J0 2
#define PASS_SETUP 3

constants sealane_aesgcm_neon_constants
    .byte 0, 4, 8, 12,  1, 5, 9, 13,  2, 6, 10, 14,  3, 7, 11, 15
    .byte 0, 4, 8, 12,  13, 1, 5, 9,  10, 14, 2, 6,  7, 11, 15, 3
    .byte 0, 4, 8, 12,  9, 13, 1, 5,  2, 6, 10, 14,  11, 15, 3, 7
    .byte 0, 4, 8, 12,  5, 9, 13, 1,  10, 14, 2, 6,  15, 3, 7, 11
    .byte 0, 6, 8, 14,  1, 7, 9, 15,  2, 4, 10, 12,  3, 5, 11, 13
    .byte 0, 4, 8, 12,  1, 5, 9, 13,  2, 6, 10, 14,  3, 7, 11, 15
    .byte 5, 6, 7, 4,  9, 10, 11, 8,  13, 14, 15, 12,  1, 2, 3, 0
    .byte 7, 4, 5, 6,  11, 8, 9, 10,  15, 12, 13, 14,  3, 0, 1, 2
    .byte 0, 0, 0, 0, 0, 0, 0, 0xaa
    .byte 0, 0, 0, 0, 0, 0, 0, 0xcc
    .byte 0, 0, 0, 0, 0, 0, 0, 0xf0
    .byte 1, 2, 4, 8, 16, 32, 64, 128, 27, 54, 0, 0, 0, 0, 0, 0
    .byte 0, 0, 0, 0, 0, 0, 0, 0xc2
    .byte 1, 0, 0, 0, 0, 0, 0, 0
    .long 0, 8, 16, 24, 1, 1, 1, 1
    .byte 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    .byte 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0
    .byte 0, 255, 255, 255, 255, 0, 255, 255, 255, 255, 0, 255, 255, 255, 255, 0
    .byte 0, 5, 10, 15, 0, 5, 10, 15
    .byte 0, 0, 8, 4, 1, 1, 9, 5, 2, 2, 10, 6, 3, 3, 11, 7
    .byte 4, 3, 2, 9, 10, 5, 0, 3, 0, 11, 6, 1, 2, 1, 8, 7
endconstants

/* ---- AES ---- */

#include "aes_sbox_neon.h"
#include "aes_mix_neon.h"

/* MixColumns after n rounds, and AddRoundKey. */
.macro mix_columns n
.if \n == 0
    mix_columns_even
.elseif \n == 2
    mix_columns_two
.else
    add r3, r2, #CONST_NEXT + 16*(\n/2)
    vld1.8 {q14}, [r3]
    mix_columns_odd
.endif
.endm

/* Planes of a block, or of bytes, that are the same in all lanes. */
.macro to_planes
    vmov.i8 q0, #1
    vmov.i8 q1, #2
    vmov.i8 q2, #4
    vmov.i8 q3, #8
    vtst.8 q0, q8, q0
    vmov.i8 q4, #16
    vtst.8 q1, q8, q1
    vmov.i8 q5, #32
    vtst.8 q2, q8, q2
    vmov.i8 q6, #64
    vtst.8 q3, q8, q3
    vmov.i8 q7, #128
    vtst.8 q4, q8, q4
    vtst.8 q5, q8, q5
    vtst.8 q6, q8, q6
    vtst.8 q7, q8, q7
.endm

/* q8 += the counter \c, a byte in each row's last column. */
.macro add_counter c
    and r4, \c, #0xff000000
    mov r5, \c, lsl #8
    and r5, r5, #0xff000000
    mov r6, \c, lsl #16
    and r6, r6, #0xff000000
    mov r7, \c, lsl #24
    vmov d18, r4, r5
    vmov d19, r6, r7
    veor q8, q8, q9
.endm

/* Clears all bytes of the planes that sub_bytes leaves but those of q0. */
.macro keep_fixed
    .irp plane, q10, q4, q1, q8, q9, q6, q15, q3
    vand \plane, \plane, q0
    .endr
.endm

/* One plane for keep_varying, with that of twice the bytes. */
.macro keep_plane plane, below, top
    vmov q11, \plane
.ifb \top
    vmov q12, \below
.else
    veor q12, \below, \top
.endif
    veor q13, \plane, \below
.ifnb \top
    veor q13, q13, \top
.endif
    vzip.32 q11, q12
    vst1.8 {q11, q12}, [r3]!
    vst1.8 {q13}, [r3]!
.endm

/* For each plane, 0 first, that sub_bytes leaves: its words, each followed by that of twice the bytes; then those of thrice. */
.macro keep_varying
    keep_plane q3, q10
    keep_plane q15, q3, q10
    keep_plane q6, q15
    keep_plane q9, q6, q10
    keep_plane q8, q9, q10
    keep_plane q1, q8
    keep_plane q4, q1
    keep_plane q10, q4
.endm

/* A plane, word \t_low, \t_high of what is kept of one: 1, 2, 3 times its bytes where the index q15 wants them. */
.macro spread_plane low, high, t_low, t_high
    vld1.8 {\t_low}, [r3], r4
    vld1.32 {\t_high[0]}, [r5], r4
    vtbl.8 \low, {\t_low, \t_high}, d30
    vtbl.8 \high, {\t_low, \t_high}, d31
.endm

.macro spread_planes
    spread_plane d0, d1, d16, d17
    spread_plane d2, d3, d18, d19
    spread_plane d4, d5, d20, d21
    spread_plane d6, d7, d22, d23
    spread_plane d8, d9, d16, d17
    spread_plane d10, d11, d18, d19
    spread_plane d12, d13, d20, d21
    spread_plane d14, d15, d22, d23
.endm

/* Bits i of a, for i with i & n, and i - n of b change places, \mask having those of the others. */
.macro swap_bits n, mask, a, b, t, u
    vshl.u8 \t, \b, #\n
    vshr.u8 \u, \a, #\n
    vbif \a, \t, \mask
    vbit \b, \u, \mask
.endm

/* Planes to blocks, or back. */
.macro transpose
    vmov.i8 q15, #0x55
    swap_bits 1, q15, q0, q1, q8, q9
    swap_bits 1, q15, q2, q3, q10, q11
    swap_bits 1, q15, q4, q5, q8, q9
    swap_bits 1, q15, q6, q7, q10, q11
    vmov.i8 q15, #0x33
    swap_bits 2, q15, q0, q2, q8, q9
    swap_bits 2, q15, q1, q3, q10, q11
    swap_bits 2, q15, q4, q6, q8, q9
    swap_bits 2, q15, q5, q7, q10, q11
    vmov.i8 q15, #0x0f
    swap_bits 4, q15, q0, q4, q8, q9
    swap_bits 4, q15, q1, q5, q10, q11
    swap_bits 4, q15, q2, q6, q8, q9
    swap_bits 4, q15, q3, q7, q10, q11
.endm

/* Bytes of a block from rows to columns. */
.macro to_columns block_low, block_high, low, high
    vtbl.8 \low, {\block_low, \block_high}, d28
    vtbl.8 \high, {\block_low, \block_high}, d29
.endm

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

/* Those of two words each of 2 n blocks, from r3 and r5. */
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

/* To their places: of q12 the bytes 0 2 4 6, of q13 1 3 5 3, of q14 2 4 2 4, of q15 3 5 3 1. */
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

/* The lowest word x: \low := next + (x^63 + x^62 + x^57) x, and \high := last + x and what that has beyond 64 bits. */
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
    ldr r3, [r0, #SEALANE_ARG_FLAGS]
    ldr r4, [r0, #SEALANE_ARG_KEY]
    str r0, [r1, #ARGS]
    str r2, [r1, #CONSTS]
    str r3, [r1, #FLAGS]
    tst r3, #SEALANE_FLAG_SETUP
    bne .Lexpand

/* Round keys, in planes. */
.Lspread:
    ldr r0, [r1, #ARGS]
    ldr r4, [r0, #SEALANE_ARG_KEY]
    add r5, r1, #KEYS
    ldr r6, [r4, #SEALANE_GCM_KEY_ROUNDS]
    add r7, r4, #SEALANE_GCM_KEY_SCHEDULE + 16
    vmov.i8 q8, #128
    vmov.i8 q9, #64
    vmov.i8 q10, #32
    vmov.i8 q11, #16
    vmov.i8 q12, #8
    vmov.i8 q13, #4
    vmov.i8 q14, #2
    vmov.i8 q15, #1
.Lspread_round:
    vld1.8 {q0}, [r7]!
    subs r6, r6, #1
    vtst.8 q1, q0, q8
    vtst.8 q2, q0, q9
    vtst.8 q3, q0, q10
    vtst.8 q4, q0, q11
    vst1.8 {q1, q2}, [r5]!
    vtst.8 q5, q0, q12
    vtst.8 q6, q0, q13
    vst1.8 {q3, q4}, [r5]!
    vtst.8 q7, q0, q14
    vtst.8 q0, q0, q15
    vst1.8 {q5, q6}, [r5]!
    vst1.8 {q7}, [r5]!
    vst1.8 {q0}, [r5]!
    bne .Lspread_round

    ldr r3, [r1, #FLAGS]
    tst r3, #SEALANE_FLAG_SETUP
    bne .Lsetup

    message_begin
    vmov.i8 q15, #0
    b .Lbegin
.Lcontinue:
    ldr r12, [r0, #SEALANE_ARG_STATE]
    ldr r4, [r12, #SEALANE_GCM_STATE_COUNTER]
    ldr r5, [r12, #SEALANE_GCM_STATE_COUNTER + 4]
    ldr r6, [r12, #SEALANE_GCM_STATE_COUNTER + 8]
    ldr r7, [r12, #SEALANE_GCM_STATE_COUNTER + 12]
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
    vld1.8 {q2}, [r2]                       /* CONST_ROWS */
    add r9, r9, #SEALANE_GCM_KEY_SCHEDULE
    vld1.8 {q3}, [r9]
    vtbl.8 d2, {d0, d1}, d4
    vtbl.8 d3, {d0, d1}, d5
    veor q1, q1, q3
    add r8, r1, #BASE
    vst1.8 {q1}, [r8]
    tst r3, #SEALANE_FLAG_FIRST
    beq .Ltext
    mov r4, #PASS_J0
    b .Lpass
.Lgot_j0:
    ldr r3, [r1, #SKIP]
    add r4, r1, #STREAM
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

/* Text: 128 bytes with a pass, or what the last pass left of its keystream. */
.Ltext:
    ldr r6, [r1, #LEFT]
    ldr r7, [r1, #AVAILABLE]
    cmp r6, #0
    beq .Llengths
    cmp r7, #0
    bne .Lstream
    ldr r8, [r1, #SKIP]
    mov r4, #PASS_STREAM
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
    vld1.8 {q4, q5}, [r3]!
    vld1.8 {q6, q7}, [r3]!
    veor q4, q4, q8
    veor q5, q5, q9
    vld1.8 {q12, q13}, [r3]!
    veor q6, q6, q10
    veor q7, q7, q11
    vst1.8 {q4, q5}, [r4]!
    veor q12, q12, q0
    veor q13, q13, q1
    vld1.8 {q14, q15}, [r3]!
    vst1.8 {q6, q7}, [r4]!
    veor q14, q14, q2
    veor q15, q15, q3
    vst1.8 {q12, q13}, [r4]!
    vst1.8 {q14, q15}, [r4]!
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

.Lgot_stream:
    ldr r7, [r1, #SKIP]
    mov r8, #0
    rsb r7, r7, #128
    str r8, [r1, #SKIP]
    str r7, [r1, #AVAILABLE]
    b .Ltext

    text_stream
    text_lengths

.Ltag:
    write_tag

.Lsave:
    save_hash
    add r4, r1, #PREFIX
    ldmia r4, {r4, r5, r6}
    ldr r7, [r1, #COUNTER]
    ldr r8, [r1, #SKIP]
    ldr r9, [r1, #AVAILABLE]
    add r7, r7, r8, lsr #4
    save_counter

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
    str r4, [r1, #PASS]
    ldr r3, [r1, #COUNTER]
    ldr r2, [r1, #CONSTS]
    ldr r9, [r1, #FLAGS]
    add r4, r3, #8
    str r4, [r1, #COUNTER]
    ldr r0, [r1, #ARGS]
    ldr r4, [r0, #SEALANE_ARG_KEY]
    ldr r12, [r4, #SEALANE_GCM_KEY_ROUNDS]
    add r0, r1, #KEYS
    add r11, r1, #BASE
    vld1.8 {q8}, [r11]
    add r11, r2, #CONST_COLUMNS
    cmp r12, #12
    addeq r11, r11, #16
    tst r9, #SEALANE_FLAG_NONCE
    beq .Lsecret_counter
    mov r5, r3, lsr #5
    ldr r6, [r1, #CACHED_32]
    ldr r7, [r1, #CACHED_128]
    cmp r5, r6
    beq .Lcached
    mov r6, r3, lsr #7
    cmp r6, r7
    beq .Lcache_32
    ldr r7, [r1, #LEFT]
    cmp r7, #256                            /* three passes, or it does not pay */
    bhi .Lcache_128
    add_counter r3
    add r4, r2, #CONST_LANES
    vld1.8 {d20, d21, d22}, [r4]
    to_planes
    veor d1, d1, d20
    veor d3, d3, d21
    veor d5, d5, d22
.Lrounds:
    sub_bytes
    mix_columns 1
    sub_bytes
    subs r12, r12, #4
    bmi .Llast_round                        /* 10 or 14 rounds */
    mix_columns 2
.Lround_3:
    sub_bytes
    mix_columns 3
    sub_bytes
    beq .Llast_round                        /* 12 */
    mix_columns 0
    b .Lrounds

.Llast_round:
    vld1.8 {q11, q12}, [r0]!
    vld1.8 {q13, q14}, [r0]!
    veor q7, q10, q11
    vld1.8 {q10, q11}, [r0]!
    veor q5, q1, q13
    veor q2, q6, q11
    veor q6, q4, q12
    vld1.8 {q12, q13}, [r0]
    veor q4, q8, q14
    veor q1, q15, q12
    veor q0, q3, q13
    veor q3, q9, q10

/* Planes to blocks. */
    transpose
    vld1.8 {q14}, [r11]
    ldr r4, [r1, #PASS]
    to_columns d0, d1, d16, d17
    to_columns d2, d3, d18, d19
    to_columns d4, d5, d20, d21
    to_columns d6, d7, d22, d23
    to_columns d8, d9, d0, d1
    to_columns d10, d11, d2, d3
    to_columns d12, d13, d4, d5
    to_columns d14, d15, d6, d7
    cmp r4, #PASS_TEXT
    beq .Lgot_text
    add r3, r1, #STREAM
    vst1.8 {q8, q9}, [r3]!
    vst1.8 {q10, q11}, [r3]!
    vst1.8 {q0, q1}, [r3]!
    vst1.8 {q2, q3}, [r3]!
    cmp r4, #PASS_J0
    blo .Lgot_stream
    beq .Lgot_j0
    b .Lgot_hash_key

/* In round 1 only the last byte of the counter varies within 128 blocks: SubBytes is done for all bytes of one block, and for
 * that one of all blocks. MixColumns makes four bytes of it, which are all that varies in round 2. */
.Lcache_128:
    str r6, [r1, #CACHED_128]
    mov r3, r6, lsl #7
    add_counter r3
    add r3, r1, #TAIL
    vst1.8 {q8}, [r3]
    to_planes
    sub_bytes
    add r3, r2, #CONST_FIXED_1
    vld1.8 {q0}, [r3]
    keep_fixed
    mix_columns 1
    add r3, r2, #CONST_VARYING
    vld1.8 {d16}, [r3]
    add r3, r1, #ROUND_1
    vtbl.8 d18, {d0, d1}, d16
    vtbl.8 d19, {d2, d3}, d16
    vtbl.8 d20, {d4, d5}, d16
    vtbl.8 d21, {d6, d7}, d16
    vtbl.8 d22, {d8, d9}, d16
    vtbl.8 d23, {d10, d11}, d16
    vtbl.8 d24, {d12, d13}, d16
    vtbl.8 d25, {d14, d15}, d16
    vst1.8 {q9, q10}, [r3]!
    vst1.8 {q11, q12}, [r3]
    sub_bytes
    add r3, r2, #CONST_FIXED_2
    vld1.8 {q0}, [r3]
    keep_fixed
    mix_columns 2
    add r3, r1, #ROUND_2
    vst1.8 {q0, q1}, [r3]!
    vst1.8 {q2, q3}, [r3]!
    vst1.8 {q4, q5}, [r3]!
    vst1.8 {q6, q7}, [r3]
    add r3, r1, #TAIL
    vld1.8 {q8}, [r3]
    vdup.8 q8, d17[7]
    add r3, r2, #CONST_NUMBERS
    to_planes
    vld1.8 {q8}, [r3]                       /* eight blocks to a byte */
    vmov.i8 q9, #0xaa
    vmov.i8 q10, #0xcc
    vmov.i8 q11, #0xf0
    vmov.i8 q12, #1
    veor q0, q0, q9
    vmov.i8 q13, #2
    veor q1, q1, q10
    vmov.i8 q14, #4
    veor q2, q2, q11
    vmov.i8 q15, #8
    vtst.8 q12, q12, q8
    vtst.8 q13, q13, q8
    vtst.8 q14, q14, q8
    vtst.8 q15, q15, q8
    veor q3, q3, q12
    veor q4, q4, q13
    veor q5, q5, q14
    veor q6, q6, q15
    sub_bytes
    add r3, r1, #VARYING_1
    keep_varying

/* SubBytes of round 2, of the four bytes that vary in 32 blocks. */
.Lcache_32:
    ldr r3, [r1, #COUNTER]
    mov r4, #48
    sub r3, r3, #8
    mov r6, r3, lsr #5
    str r6, [r1, #CACHED_32]
    and r6, r6, #3
    add r7, r2, #CONST_SPREAD_1
    add r5, r1, #VARYING_1 + 32
    vld1.8 {q15}, [r7]
    add r5, r5, r6, lsl #2
    add r3, r1, #VARYING_1
    add r3, r3, r6, lsl #3
    add r6, r1, #ROUND_1
    spread_planes
    vld1.8 {q8, q9}, [r6]!
    vld1.8 {q10, q11}, [r6]
    veor d0, d0, d16
    veor d1, d1, d16
    veor d2, d2, d17
    veor d3, d3, d17
    veor d4, d4, d18
    veor d5, d5, d18
    veor d6, d6, d19
    veor d7, d7, d19
    veor d8, d8, d20
    veor d9, d9, d20
    veor d10, d10, d21
    veor d11, d11, d21
    veor d12, d12, d22
    veor d13, d13, d22
    veor d14, d14, d23
    veor d15, d15, d23
    sub_bytes
    add r3, r1, #VARYING_2
    keep_varying

/* Two rounds are done. */
.Lcached:
    ldr r3, [r1, #COUNTER]
    mov r4, #48
    sub r3, r3, #8
    mov r6, r3, lsr #3
    and r6, r6, #3
    add r7, r2, #CONST_SPREAD_2
    add r5, r1, #VARYING_2 + 32
    vld1.8 {q15}, [r7]
    add r5, r5, r6, lsl #2
    add r3, r1, #VARYING_2
    add r3, r3, r6, lsl #3
    add r6, r1, #ROUND_2
    spread_planes
    vld1.8 {q8, q9}, [r6]!
    vld1.8 {q10, q11}, [r6]!
    veor q0, q0, q8
    veor q1, q1, q9
    vld1.8 {q12, q13}, [r6]!
    veor q2, q2, q10
    veor q3, q3, q11
    vld1.8 {q14, q15}, [r6]
    veor q4, q4, q12
    veor q5, q5, q13
    veor q6, q6, q14
    veor q7, q7, q15
    add r0, r1, #KEYS + 256
    subs r12, r12, #4
    b .Lround_3

/* The counter comes from GHASH: eight blocks wherever it begins. */
.Lsecret_counter:
    add r4, r2, #CONST_SHIFTS
    vld1.8 {q10, q11}, [r4]                 /* 0, 8, 16, 24; 1, 1, 1, 1 */
    vmov.i32 q12, #0xff000000
    vdup.32 q9, r3
.macro counter_block to
    vshl.u32 \to, q9, q10
    vadd.i32 q9, q9, q11
    vand \to, \to, q12
    veor \to, \to, q8
.endm
    counter_block q0
    counter_block q1
    counter_block q2
    counter_block q3
    counter_block q4
    counter_block q5
    counter_block q6
    counter_block q7
    transpose
    b .Lrounds

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

/* Operands of the products of r12 < 8 blocks, two at a time; of an odd number the first is alone. */
.Lghash_few:
    add r12, r4, #8
    mov r4, #0
    str r4, [r1, #BLOCKS]
    and r9, r12, #1
    add r12, r12, r9
    mov r12, r12, lsr #1
    rsb r11, r12, #4                        /* pairs that are not there */
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

/* The product from those of words: low and high halves' by Karatsuba's rule, then the whole by it. */
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
    b .Lpower

/* ---- Key set-up ---- */

/* Key expansion (FIPS 197, 5.2); r4: key. */
.Lexpand:
    ldr r6, [r4, #SEALANE_GCM_KEY_ROUNDS]
    add r7, r4, #SEALANE_GCM_KEY_SCHEDULE
    sub r8, r6, #6                          /* words of key */
    add r5, r1, #KEYS
    mov r9, r8
.Lexpand_key:
    ldr r12, [r7], #4
    subs r9, r9, #1
    str r12, [r5], #4
    bne .Lexpand_key
    add r7, r6, #1
    rsb r7, r8, r7, lsl #2                  /* words to make */
    add r11, r2, #CONST_RCON
.Lexpand_word:
    cmp r9, #0
    moveq r12, r12, ror #8                  /* RotWord */
    beq .Lexpand_sub
    cmp r8, #8
    cmpeq r9, #4
    bne .Lexpand_plain
.Lexpand_sub:
    vdup.32 q8, r12
    to_planes
    sub_bytes
    vmov.i8 q0, #128
    vmov.i8 q2, #64
    vand q10, q10, q0
    vmov.i8 q5, #32
    vand q4, q4, q2
    vmov.i8 q7, #16
    vand q1, q1, q5
    vmov.i8 q0, #8
    vand q8, q8, q7
    vmov.i8 q2, #4
    vand q9, q9, q0
    vmov.i8 q5, #2
    vand q6, q6, q2
    vmov.i8 q7, #1
    vand q15, q15, q5
    vand q3, q3, q7
    vorr q10, q10, q4
    vorr q1, q1, q8
    vorr q9, q9, q6
    vorr q15, q15, q3
    vmov.i8 q0, #0x63
    vorr q10, q10, q1
    vorr q9, q9, q15
    veor q10, q10, q0
    cmp r9, #0
    ldrbeq r3, [r11], #1
    veor q10, q10, q9
    vmov.32 r12, d20[0]
    eoreq r12, r12, r3
.Lexpand_plain:
    ldr r3, [r5, -r8, lsl #2]
    add r9, r9, #1
    eor r12, r12, r3
    str r12, [r5], #4
    cmp r9, r8
    moveq r9, #0
    subs r7, r7, #1
    bne .Lexpand_word

/* As the rounds have them; SubBytes leaves its constant to the key that follows. */
    add r5, r1, #KEYS
    add r7, r4, #SEALANE_GCM_KEY_SCHEDULE
    vmov.i8 q3, #0
    mov r8, #CONST_ROWS
.Lexpand_rows:
    add r3, r2, r8
    vld1.8 {q0}, [r5]!
    vld1.8 {q1}, [r3]
    add r8, r8, #16
    and r8, r8, #48
    vtbl.8 d4, {d0, d1}, d2
    vtbl.8 d5, {d0, d1}, d3
    veor q2, q2, q3
    vmov.i8 q3, #0x63
    vst1.8 {q2}, [r7]!
    subs r6, r6, #1
    bpl .Lexpand_rows
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

/* A power is in q15: it times x goes to its place, the higher ones are zero still, and the table is made. */
.Lpower:
    ldr r4, [r1, #POWER]
    ldr r2, [r1, #CONSTS]
    add r6, r1, #STREAM
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
    veor q1, q1, q3
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
    add r3, r1, #STREAM
    mov r4, #1
    subs r6, r6, #16
    mov r5, #PHASE_POWER
    str r6, [r1, #POWER]
    bpl .Lghash
    b .Lwipe

.Ldone:
endfunction

#endif
