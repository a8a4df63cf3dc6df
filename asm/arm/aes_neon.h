/* AES (FIPS 197) with NEON and without AES instructions: the code that the kernels for 32-bit ARM share.
 *
 * Bit-sliced: bit b of byte p in register k is bit k of byte p of block b, for eight blocks. Blocks of public
 * counters begin at a multiple of eight. Bytes stand row by row, p = 4 r + c. ShiftRows is never executed (Adomnicai
 * and Peyrin, "Fixslicing AES-like ciphers", TCHES 2021). After n rounds, column c of row r lies at column c + n r,
 * and MixColumns looks for it there. With a' the next row and t = a + a', a column becomes 2 t + a' + t''. Round keys
 * use the same layout.
 *
 * Kernels define the layout of scratch, except these offsets.
 */
#define SPILL 256     /* nine vectors */
#define BASE 400      /* first round's input without the counter */
#define ARGS 448
#define CONSTS 452
#define FLAGS 456     /* whether the counter is public */
#define IN 460
#define OUT 464
#define LEFT 468      /* bytes of text left */
#define COUNTER 472   /* of the next eight blocks */
#define SKIP 476      /* bytes of their keystream not to use */
#define CACHED_32 508 /* which 32 blocks, counted from the first, VARYING_1 and ROUND_1 are for */
#define KEYS 512      /* planes 7 .. 0 of each round key but the first */

/* The constants begin with these. */
#define CONST_ROWS 0      /* four times 16: where the bytes of a round key go after 0 .. 3 rounds without ShiftRows */
#define CONST_COLUMNS 64  /* twice 16: and the text after 10 or 14, or after 12 rounds */
#define CONST_NEXT 96     /* twice 16: the next row after 1, 3 rounds */
#define CONST_COUNTS 128   /* the numbers of eight blocks in the last byte of the counter: bits 0, 1, 2 */
#define CONST_RCON 152    /* round constants */
#define CONST_POLY 168    /* x^128 + x^7 + x^2 + x + 1 as it is added when a polynomial is multiplied by x */
#define CONST_SHIFTS 184  /* 0, 8, 16, 24; 1, 1, 1, 1 */
#define CONST_NUMBERS 216 /* 0 .. 15 */
#define CONST_FIXED_1 232 /* ones in the bytes that are the same for 128 blocks in round 1, */
#define CONST_FIXED_2 248 /* in round 2; */
#define CONST_VARYING 264 /* where the others are in round 2, twice */
#define CONST_SPREAD_1 272 /* their terms in round 1's MixColumns, 1, 2, 3 times the varying byte; four passes */
#define CONST_SPREAD_2 288 /* term of all bytes in round 2 */
#define CONST_LOOKUP 304   /* of aes_lookup.h */

.macro aes_rows
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
.endm

/* Blocks 0 .. 7 from q0 .. q7, where their bytes stand row by row, to q8 .. q11, q0 .. q3. */
.macro all_to_columns
    to_columns d0, d1, d16, d17
    to_columns d2, d3, d18, d19
    to_columns d4, d5, d20, d21
    to_columns d6, d7, d22, d23
    to_columns d8, d9, d0, d1
    to_columns d10, d11, d2, d3
    to_columns d12, d13, d4, d5
    to_columns d14, d15, d6, d7
.endm

/* BASE := the counter block in q0, without its counter, plus the first round key of the key at r9. */
.macro first_input
    vld1.8 {q2}, [r2]                       /* CONST_ROWS */
    add r9, r9, #SEALANE_GCM_KEY_SCHEDULE
    vld1.8 {q3}, [r9]
    vtbl.8 d2, {d0, d1}, d4
    vtbl.8 d3, {d0, d1}, d5
    veor q1, q1, q3
    add r8, r1, #BASE
    vst1.8 {q1}, [r8]
.endm

/* x0 .. x7 += the eight vectors at \from. Afterwards \from points to the last two. */
.macro add_vectors from, x0=q0, x1=q1, x2=q2, x3=q3, x4=q4, x5=q5, x6=q6, x7=q7
    vld1.8 {q8, q9}, [\from]!
    vld1.8 {q10, q11}, [\from]!
    veor \x0, \x0, q8
    veor \x1, \x1, q9
    vld1.8 {q12, q13}, [\from]!
    veor \x2, \x2, q10
    veor \x3, \x3, q11
    vld1.8 {q14, q15}, [\from]
    veor \x4, \x4, q12
    veor \x5, \x5, q13
    veor \x6, \x6, q14
    veor \x7, \x7, q15
.endm

/* XORs 128 bytes of text at r3 with the keystream in q8 .. q11, q0 .. q3, and stores them at r4. Both advance. */
.macro xor_text
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
.endm

#include "aes_key.h"
#include "aes_sbox_neon_woven.h"
#include "aes_mix_neon_woven.h"

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

/* Planes of a block, or of bytes, that are the same in all eight blocks. */
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

/* In the planes that sub_bytes leaves, clears the bytes where the constant at \fixed has zeroes. */
.macro keep_fixed fixed
    add r3, r2, #\fixed
    vld1.8 {q0}, [r3]
    .irp plane, q10, q4, q1, q8, q9, q6, q15, q3
    vand \plane, \plane, q0
    .endr
.endm

/* For keep_varying: stores one plane, and those of twice and three times its bytes. */
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

/* For each plane that sub_bytes leaves, 0 first: its words, each followed by that of twice the bytes. Then the words
 * of three times the bytes. */
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

/* Word \t_low, \t_high of a stored plane: 1, 2, 3 times its bytes, placed by the index q15. */
.macro spread_plane low, high, t_low, t_high
    vld1.8 {\t_low}, [r3], r4
    vld1.32 {\t_high[0]}, [r5], r4
    vtbl.8 \low, {\t_low, \t_high}, d30
    vtbl.8 \high, {\t_low, \t_high}, d31
.endm

/* Prepares spread_planes for the eight blocks at the counter. Two bits of their number, from \bit on, choose among
 * the four words of each plane at \varying. \group := the number of the group that shares these words. */
.macro spread_varying bit, index, varying, group
    ldr r3, [r1, #COUNTER]
    mov r4, #48
    sub r3, r3, #8
    mov r6, r3, lsr #\bit
.ifnb \group
    str r6, [r1, #\group]
.endif
    and r6, r6, #3
    add r7, r2, #\index
    add r5, r1, #\varying + 32
    vld1.8 {q15}, [r7]
    add r5, r5, r6, lsl #2
    add r3, r1, #\varying
    add r3, r3, r6, lsl #3
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

/* A column of eight counters for .Lsecret_counter. */
.macro counter_block to
    vshl.u32 \to, q9, q10
    vadd.i32 q9, q9, q11
    vand \to, \to, q12
    veor \to, \to, q8
.endm

/* Round keys, in planes, to KEYS; r4: key. */
.macro spread_round_keys
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
.endm

/* A pass makes the keystream of eight blocks. r4, which says what it is for, stays in PASS. Code from .Lrounds on
 * does the same for planes in q0 .. q7, with round keys at r0, rounds in r12, CONST_COLUMNS in r11. The blocks are
 * then in q8 .. q11 and q0 .. q3, and r4 is PASS. */
.macro encrypt_counters
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
    cmp r7, #256                            /* less than three passes do not pay */
    bhi .Lcache_128
    add_counter r3
    add r4, r2, #CONST_COUNTS
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
    all_to_columns
.endm

/* For public counters: rounds that many blocks share are computed once. */
.macro first_rounds
/* In round 1 only the last byte of the counter varies within 128 blocks. SubBytes is done for all bytes of one block,
 * and for that byte of all blocks. MixColumns makes four bytes from it, the only ones that vary in round 2. */
.Lcache_128:
    str r6, [r1, #CACHED_128]
    mov r3, r6, lsl #7
    add_counter r3
    add r3, r1, #TAIL
    vst1.8 {q8}, [r3]
    to_planes
    sub_bytes
    keep_fixed CONST_FIXED_1
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
    keep_fixed CONST_FIXED_2
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
    spread_varying 5, CONST_SPREAD_1, VARYING_1, CACHED_32
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
    spread_varying 3, CONST_SPREAD_2, VARYING_2
    add r6, r1, #ROUND_2
    spread_planes
    add_vectors r6
    add r0, r1, #KEYS + 256
    subs r12, r12, #4
    b .Lround_3

/* The counter comes from GHASH, so eight blocks are made wherever it begins. */
.Lsecret_counter:
    add r4, r2, #CONST_SHIFTS
    vld1.8 {q10, q11}, [r4]                 /* 0, 8, 16, 24; 1, 1, 1, 1 */
    vmov.i32 q12, #0xff000000
    vdup.32 q9, r3
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
.endm

/* Key expansion (5.2); r4: key. Round keys are left row by row. */
.macro expand_key
    ldr r6, [r4, #SEALANE_GCM_KEY_ROUNDS]
    add r7, r4, #SEALANE_GCM_KEY_SCHEDULE
    sub r8, r6, #6                          /* words of key */
    add r5, r1, #KEYS
    expand_begin
    add r11, r2, #CONST_RCON
    expand_word_begin
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
    expand_word_end

/* Puts round keys in the layout of the rounds. SubBytes leaves its constant to the key that follows. */
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
.endm
