/* AES (FIPS 197) without the crypto extensions: the code that the kernels for plain NEON share.
 *
 * Eight blocks at a time, bit-sliced: vector i has bit i of all their bytes. Its byte p has the bits of byte p of the
 * eight blocks. SubBytes is the circuit of Boyar and Peralta (2010) without its complements. 0x63 is in the round
 * keys, since MixColumns does not change a state of equal bytes. ShiftRows is left out until the end. Round r works
 * on the state as it would be before r of them, with other rotations in MixColumns (Adomnicai and Peyrin, 2021).
 *
 * Kernels name the registers scratch, consts, key, rounds, round, round_key and t0 to t3, and ROUND_KEYS in scratch.
 */

/* At the beginning of the constants. */
#define NEXT_ROW 0     /* byte of the next row in the same column, in rounds r = 0 .. 3 modulo 4 */
#define OPPOSITE 64    /* of the row after that, r odd */
#define SHIFTED 80     /* bytes as r times ShiftRows undone puts them, r = 0 .. 3 modulo 4 */
#define LOOKUP 144     /* of aes_lookup.h */

.macro aes_rows
    .byte 1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12
    .byte 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12, 1, 2, 3, 0
    .byte 9, 10, 11, 8, 13, 14, 15, 12, 1, 2, 3, 0, 5, 6, 7, 4
    .byte 13, 14, 15, 12, 1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8
    .byte 10, 11, 8, 9, 14, 15, 12, 13, 2, 3, 0, 1, 6, 7, 4, 5
    .byte 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    .byte 0, 13, 10, 7, 4, 1, 14, 11, 8, 5, 2, 15, 12, 9, 6, 3
    .byte 0, 9, 2, 11, 4, 13, 6, 15, 8, 1, 10, 3, 12, 5, 14, 7
    .byte 0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11
.endm

/* Vectors of bits: 0 .. 7 before SubBytes, bit i in i; after it bits 7 .. 0 in */
#define b7 v16
#define b6 v12
#define b5 v9
#define b4 v2
#define b3 v3
#define b2 v14
#define b1 v8
#define b0 v10

.macro bits_add to, x, y
    eor \to\().16b, \x\().16b, \y\().16b
.endm

.macro bits_and to, x, y
    and \to\().16b, \x\().16b, \y\().16b
.endm

/* Vectors 0 to 7, or 16 to 23; op: ldp or stp. */
.macro eight op, base, at=0
    \op q0, q1, [\base, #\at]
    \op q2, q3, [\base, #\at + 32]
    \op q4, q5, [\base, #\at + 64]
    \op q6, q7, [\base, #\at + 96]
.endm

.macro eight_more op, base, at=0
    \op q16, q17, [\base, #\at]
    \op q18, q19, [\base, #\at + 32]
    \op q20, q21, [\base, #\at + 64]
    \op q22, q23, [\base, #\at + 96]
.endm

/* SubBytes (5.1.1) without the 0x63; x0 and s0 are bits 7. Each operation uses results at least three operations
 * old, so none has to wait. Vectors up to 25. */
.macro substitute
    bits_add v8, v7, v1         /* y13 = x0 + x6 */
    bits_add v9, v4, v2         /* y14 = x3 + x5 */
    bits_add v5, v6, v5         /* t0 = x1 + x2 */
    bits_add v10, v7, v4        /* y9 = x0 + x3 */
    bits_add v11, v8, v9        /* y12 = y13 + y14 */
    bits_add v12, v5, v0        /* y1 = t0 + x7 */
    bits_add v13, v7, v2        /* y8 = x0 + x5 */
    bits_add v3, v3, v11        /* t1 = x4 + y12 */
    bits_add v1, v12, v1        /* y5 = y1 + x6 */
    bits_add v14, v12, v7       /* y2 = y1 + x0 */
    bits_add v2, v3, v2         /* y15 = t1 + x5 */
    bits_add v3, v3, v6         /* y20 = t1 + x1 */
    bits_add v6, v1, v13        /* y3 = y5 + y8 */
    bits_add v15, v2, v0        /* y6 = y15 + x7 */
    bits_add v16, v3, v10       /* y11 = y20 + y9 */
    bits_add v17, v2, v5        /* y10 = y15 + t0 */
    bits_and v18, v11, v2       /* t2 = y12 y15 */
    bits_add v5, v5, v16        /* y16 = t0 + y11 */
    bits_add v19, v17, v16      /* y17 = y10 + y11 */
    bits_and v20, v10, v16      /* t12 = y9 y11 */
    bits_and v21, v6, v15       /* t3 = y3 y6 */
    bits_add v22, v0, v16       /* y7 = x7 + y11 */
    bits_add v4, v12, v4        /* y4 = y1 + x3 */
    bits_and v23, v9, v19       /* t13 = y14 y17 */
    bits_and v24, v8, v5        /* t7 = y13 y16 */
    bits_and v25, v4, v0        /* t5 = y4 x7 */
    bits_add v23, v23, v20      /* t14 = t13 + t12 */
    bits_add v21, v21, v18      /* t4 = t3 + t2 */
    bits_add v25, v25, v18      /* t6 = t5 + t2 */
    bits_and v18, v1, v12       /* t8 = y5 y1 */
    bits_add v21, v21, v23      /* t17 = t4 + t14 */
    bits_add v7, v7, v5         /* y18 = x0 + y16 */
    bits_add v18, v18, v24      /* t9 = t8 + t7 */
    bits_add v21, v21, v3       /* t21 = t17 + y20 */
    bits_and v3, v14, v22       /* t10 = y2 y7 */
    bits_add v23, v18, v23      /* t19 = t9 + t14 */
    bits_and v18, v13, v17      /* t15 = y8 y10 */
    bits_add v24, v3, v24       /* t11 = t10 + t7 */
    bits_add v3, v8, v5         /* y21 = y13 + y16 */
    bits_add v20, v18, v20      /* t16 = t15 + t12 */
    bits_add v18, v17, v13      /* y19 = y10 + y8 */
    bits_add v3, v23, v3        /* t23 = t19 + y21 */
    bits_add v24, v24, v20      /* t20 = t11 + t16 */
    bits_add v20, v25, v20      /* t18 = t6 + t16 */
    bits_and v25, v21, v3       /* t26 = t21 t23 */
    bits_add v24, v24, v7       /* t24 = t20 + y18 */
    bits_add v20, v20, v18      /* t22 = t18 + y19 */
    bits_add v18, v3, v24       /* t30 = t23 + t24 */
    bits_add v7, v20, v25       /* t31 = t22 + t26 */
    bits_add v25, v24, v25      /* t27 = t24 + t26 */
    bits_add v21, v21, v20      /* t25 = t21 + t22 */
    bits_and v18, v7, v18       /* t32 = t31 t30 */
    bits_and v7, v21, v25       /* t28 = t25 t27 */
    bits_add v18, v18, v24      /* t33 = t32 + t24 */
    bits_add v20, v7, v20       /* t29 = t28 + t22 */
    bits_add v7, v25, v18       /* t35 = t27 + t33 */
    bits_add v3, v3, v18        /* t34 = t23 + t33 */
    bits_add v23, v20, v18      /* t42 = t29 + t33 */
    bits_and v24, v24, v7       /* t36 = t24 t35 */
    bits_and v0, v18, v0        /* z2 = t33 x7 */
    bits_and v10, v23, v10      /* z15 = t42 y9 */
    bits_add v25, v25, v24      /* t38 = t27 + t36 */
    bits_add v3, v24, v3        /* t37 = t36 + t34 */
    bits_and v16, v23, v16      /* z6 = t42 y11 */
    bits_and v25, v20, v25      /* t39 = t29 t38 */
    bits_add v24, v18, v3       /* t44 = t33 + t37 */
    bits_and v6, v3, v6         /* z10 = t37 y3 */
    bits_add v25, v21, v25      /* t40 = t25 + t39 */
    bits_and v2, v24, v2        /* z0 = t44 y15 */
    bits_and v24, v24, v11      /* z9 = t44 y12 */
    bits_add v11, v25, v3       /* t41 = t40 + t37 */
    bits_add v21, v20, v25      /* t43 = t29 + t40 */
    bits_and v12, v25, v12      /* z4 = t40 y1 */
    bits_add v23, v23, v11      /* t45 = t42 + t41 */
    bits_and v5, v21, v5        /* z3 = t43 y16 */
    bits_and v8, v21, v8        /* z12 = t43 y13 */
    bits_and v9, v23, v9        /* z16 = t45 y14 */
    bits_and v17, v11, v17      /* z8 = t41 y10 */
    bits_and v14, v20, v14      /* z14 = t29 y2 */
    bits_add v2, v2, v5         /* t53 = z0 + z3 */
    bits_add v10, v10, v9       /* t46 = z15 + z16 */
    bits_add v21, v0, v8        /* t50 = z2 + z12 */
    bits_and v23, v23, v19      /* z7 = t45 y17 */
    bits_add v19, v12, v10      /* t58 = z4 + t46 */
    bits_and v22, v20, v22      /* z5 = t29 y7 */
    bits_add v16, v16, v23      /* t54 = z6 + z7 */
    bits_add v21, v21, v2       /* t57 = t50 + t53 */
    bits_add v24, v24, v6       /* t49 = z9 + z10 */
    bits_add v23, v23, v17      /* t52 = z7 + z8 */
    bits_and v1, v25, v1        /* z13 = t40 y5 */
    bits_and v3, v3, v15        /* z1 = t37 y6 */
    bits_add v16, v5, v16       /* t59 = z3 + t54 */
    bits_add v24, v24, v19      /* t63 = t49 + t58 */
    bits_add v14, v14, v21      /* t61 = z14 + t57 */
    bits_add v23, v23, v19      /* t62 = t52 + t58 */
    bits_add v3, v3, v24        /* t66 = z1 + t63 */
    bits_add v1, v22, v1        /* t48 = z5 + z13 */
    bits_add v14, v14, v23      /* t65 = t61 + t62 */
    bits_and v13, v11, v13      /* z17 = t41 y8 */
    bits_add v12, v12, v16      /* t64 = z4 + t59 */
    bits_add v8, v8, v1         /* t56 = z12 + t48 */
    bits_and v4, v18, v4        /* z11 = t33 y4 */
    bits_add v22, v0, v22       /* t51 = z2 + z5 */
    bits_add v9, v9, v13        /* t55 = z16 + z17 */
    bits_add v2, v2, v3         /* s3 = t53 + t66 */
    bits_add v10, v10, v21      /* t60 = t46 + t57 */
    bits_add v4, v6, v4         /* t47 = z10 + z11 */
    bits_add v6, v12, v14       /* t67 = t64 + t65 */
    bits_add v8, v8, v23        /* s6 = t56 + t62 */
    bits_add v10, v1, v10       /* s7 = t48 + t60 */
    bits_add v3, v22, v3        /* s4 = t51 + t66 */
    bits_add v16, v16, v24      /* s0 = t59 + t63 */
    bits_add v14, v4, v14       /* s5 = t47 + t65 */
    bits_add v12, v12, v2       /* s1 = t64 + s3 */
    bits_add v9, v9, v6         /* s2 = t55 + t67 */
.endm

/* In two pairs, bits of x and the bits of y that are `by` places higher change places. */
.macro exchange x0, y0, x1, y1, by, higher
    shl v24.16b, \y0\().16b, #\by
    ushr v25.16b, \x0\().16b, #\by
    shl v26.16b, \y1\().16b, #\by
    ushr v27.16b, \x1\().16b, #\by
    bit \x0\().16b, v24.16b, \higher\().16b
    bif \y0\().16b, v25.16b, \higher\().16b
    bit \x1\().16b, v26.16b, \higher\().16b
    bif \y1\().16b, v27.16b, \higher\().16b
.endm

/* Transposes eight blocks in 0 .. 7 to vectors of bits, or back. */
.macro transpose_bits
    movi v30.16b, #0xcc
    movi v31.16b, #0xaa
    mov v24.16b, v0.16b
    mov v25.16b, v1.16b
    mov v26.16b, v2.16b
    mov v27.16b, v3.16b
    sli v0.16b, v4.16b, #4
    sli v1.16b, v5.16b, #4
    sli v2.16b, v6.16b, #4
    sli v3.16b, v7.16b, #4
    sri v4.16b, v24.16b, #4
    sri v5.16b, v25.16b, #4
    sri v6.16b, v26.16b, #4
    sri v7.16b, v27.16b, #4
    exchange v0, v2, v1, v3, 2, v30
    exchange v4, v6, v5, v7, 2, v30
    exchange v0, v1, v2, v3, 1, v31
    exchange v4, v5, v6, v7, 1, v31
.endm

.macro next_row to, x
    tbl \to\().16b, {\x\().16b}, v25.16b
.endm

.macro opposite_row to, x, odd
    .if \odd
    tbl \to\().16b, {\x\().16b}, v26.16b
    .else
    rev32 \to\().8h, \x\().8h
    .endif
.endm

/* \mix odd after round `round`, with the permutations that it needs; then to \again. */
.macro mix_by_round mix, again
    and t0, round, #3
    add t0, consts, t0, lsl #4
    ldr q25, [t0]
    tbz round, #0, .Leven\@
    ldr q26, [consts, #OPPOSITE]
    \mix 1
    b \again
.Leven\@:
    \mix 0
    b \again
.endm

/* Writes zeroes, from q0, to `pieces` times 128 bytes at t0. */
.macro wipe_128 pieces
.Lwipe_128\@:
    stp q0, q0, [t0], #32
    stp q0, q0, [t0], #32
    stp q0, q0, [t0], #32
    stp q0, q0, [t0], #32
    subs \pieces, \pieces, #1
    b.ne .Lwipe_128\@
.endm

/* MixColumns (5.1.3) and, if keyed, AddRoundKey: 2 (x + n) + n + o (x + n), where n is the next row's byte and o the
 * opposite row's. */
.macro mix_columns odd, keyed=1
    next_row v17, b0
    .if \keyed
    ldp q11, q13, [round_key], #32
    .endif
    next_row v18, b1
    next_row v19, b2
    .if \keyed
    ldp q15, q27, [round_key], #32
    .endif
    next_row v20, b3
    next_row v21, b4
    .if \keyed
    ldp q28, q29, [round_key], #32
    .endif
    next_row v22, b5
    next_row v23, b6
    .if \keyed
    ldp q30, q31, [round_key], #32
    .endif
    next_row v24, b7
    bits_add b0, b0, v17
    bits_add b1, b1, v18
    bits_add b2, b2, v19
    bits_add b3, b3, v20
    bits_add b4, b4, v21
    bits_add b5, b5, v22
    bits_add b6, b6, v23
    bits_add b7, b7, v24
    .if \keyed
    bits_add v17, v17, v11
    bits_add v18, v18, v13
    .endif
    opposite_row v0, b0, \odd
    opposite_row v1, b1, \odd
    opposite_row v4, b2, \odd
    opposite_row v5, b3, \odd
    opposite_row v6, b4, \odd
    opposite_row v7, b5, \odd
    opposite_row v11, b6, \odd
    opposite_row v13, b7, \odd
    .if \keyed
    bits_add v19, v19, v15
    bits_add v20, v20, v27
    bits_add v21, v21, v28
    bits_add v22, v22, v29
    bits_add v23, v23, v30
    bits_add v24, v24, v31
    .endif
    bits_add v17, v17, v0
    bits_add v18, v18, v1
    bits_add v19, v19, v4
    bits_add v20, v20, v5
    bits_add v21, v21, v6
    bits_add v22, v22, v7
    bits_add v23, v23, v11
    bits_add v24, v24, v13
    bits_add v18, v18, b7
    bits_add v20, v20, b7
    bits_add v21, v21, b7
    bits_add v0, v17, b7
    bits_add v5, v22, b4
    bits_add v4, v21, b3
    bits_add v1, v18, b0
    bits_add v3, v20, b2
    bits_add v2, v19, b1
    bits_add v6, v23, b5
    bits_add v7, v24, b6
.endm

.macro test_bit to, mask
    cmtst \to\().16b, v16.16b, \mask\().16b
.endm

.macro shift_rows x
    tbl \x\().16b, {\x\().16b}, v11.16b
.endm

/* The round keys, bit-sliced, to scratch. */
.macro spread_round_keys
    add t0, key, #SEALANE_GCM_KEY_SCHEDULE
    add round_key, scratch, #ROUND_KEYS
    mov round, #0
    movi v8.16b, #1
    movi v9.16b, #2
    movi v10.16b, #4
    movi v11.16b, #8
    movi v12.16b, #16
    movi v13.16b, #32
    movi v14.16b, #64
    movi v15.16b, #128
    ldr q16, [t0], #16
    ldr q17, [consts, #SHIFTED]
    tbl v16.16b, {v16.16b}, v17.16b
    movi v31.16b, #0x63
.Lexpand_round:
    add round, round, #1
    and t1, round, #3
    add t1, consts, t1, lsl #4
    ldr q18, [t0], #16                      /* the next one; after the last, the table */
    ldr q17, [t1, #SHIFTED]
    test_bit v0, v8
    test_bit v1, v9
    test_bit v2, v10
    test_bit v3, v11
    test_bit v4, v12
    stp q0, q1, [round_key], #32
    test_bit v5, v13
    bits_add v18, v18, v31
    stp q2, q3, [round_key], #32
    test_bit v6, v14
    test_bit v7, v15
    stp q4, q5, [round_key], #32
    cmp round, rounds
    tbl v16.16b, {v18.16b}, v17.16b
    stp q6, q7, [round_key], #32
    b.ls .Lexpand_round
.endm

/* 0 .. 7 := 0 .. 7 + 16 .. 23 */
.macro add_others
    bits_add v0, v0, v16
    bits_add v1, v1, v17
    bits_add v2, v2, v18
    bits_add v3, v3, v19
    bits_add v4, v4, v20
    bits_add v5, v5, v21
    bits_add v6, v6, v22
    bits_add v7, v7, v23
.endm

/* Encrypts the eight blocks in 0 .. 7. */
.macro encrypt_blocks
    transpose_bits
    add round_key, scratch, #ROUND_KEYS
    ldp q16, q17, [round_key], #32
    ldp q18, q19, [round_key], #32
    ldp q20, q21, [round_key], #32
    ldp q22, q23, [round_key], #32
    add_others
    mov round, #0
.Lround:
    add round, round, #1
    substitute
    cmp round, rounds
    b.eq .Lround_last
    mix_by_round mix_columns, .Lround
.Lround_last:
    and t0, round, #3
    add t0, consts, t0, lsl #4
    ldp q17, q18, [round_key], #32
    ldp q19, q20, [round_key], #32
    ldp q21, q22, [round_key], #32
    ldp q23, q24, [round_key], #32
    ldr q11, [t0, #SHIFTED]
    bits_add v4, b4, v21
    bits_add v3, b3, v20
    bits_add v0, b0, v17
    bits_add v1, b1, v18
    bits_add v2, b2, v19
    bits_add v5, b5, v22
    bits_add v6, b6, v23
    bits_add v7, b7, v24
    transpose_bits
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    shift_rows v\i
    .endr
.endm

/* Up to four blocks at the end of a text are done by lookups. */
#define FEW 4
#include "aes_lookup.h"
