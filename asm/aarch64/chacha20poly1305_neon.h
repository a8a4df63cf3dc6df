#include "chacha20poly1305_neon_interleaved.h"

/* Scratch. */
#define POLY_S 256
#define ARGS 272
#define TAIL 288          /* last bytes of text as authenticated, padded with zeroes to 16 */
#define STATE 304         /* initial state with a counter of 0 */
#define SHORT_END 368
#define INITIAL 368       /* a0 + b0, b0, c0 before a set's first column round; after it b1 d2 a3 d3 c2 c1 a1 b2 b3 c3
                           * d1 a2 */

#define CONST_SIGMA 0
#define CONST_ROTATE8 16
#define CONST_COUNT 32    /* 0, 1, 2, 3 */

/* Two blocks of a row in each vector, for packets of up to 320 bytes. */
#define ra0 v21
#define rb0 v22
#define rc0 v23
#define rd0 v24
#define ra1 v25
#define rb1 v26
#define rc1 v27
#define rd1 v28
#define rt0 v29
#define rt1 v30
#define counts v31        /* the set's block counters */

/* For longer packets: the initial state by rows; the next set's column 0, and text. */
#define sa v24
#define sb v25
#define sc v26
#define sd v27
#define na v21
#define nb v22
#define nc v23
#define nd v28
#define nt v29
#define text3 v30

/* The text ahead. */
#define in x2
#define out x3
#define bytes x4
#define flags w6

#define limit x5          /* authenticate up to here beside rounds */
#define rounds_left x14          /* rounds without authentication */

/* Between the rounds. */
#define args x5
#define u4 x11
#define u5 x12
#define u6 x13
#define u7 x14

/* ---- ChaCha20, a row of a block in each vector ---- */

/* A step of one block. At the end b, c and d are rotated by left_b, 8 and left_d bytes. */
.set ROW_STEPS, STEPS + 3
.macro row_step step, a, b, c, d, t, left_b, left_d
    .if (\step) == 0 || (\step) == 7
    add \a\().4s, \a\().4s, \b\().4s
    .elseif (\step) == 1
    eor \d\().16b, \d\().16b, \a\().16b
    .elseif (\step) == 2
    rev32 \d\().8h, \d\().8h
    .elseif (\step) == 3 || (\step) == ROW_STEPS - 7
    add \c\().4s, \c\().4s, \d\().4s
    .elseif (\step) == 4 || (\step) == ROW_STEPS - 6
    eor \t\().16b, \b\().16b, \c\().16b
    .elseif (\step) == 5
    shl \b\().4s, \t\().4s, #ROTATE_2
    .elseif (\step) == 6
    sri \b\().4s, \t\().4s, #32-ROTATE_2
    .elseif (\step) == 8
    eor \t\().16b, \d\().16b, \a\().16b
    .elseif (\step) == 9
    rotate_8 \d, \t
    .elseif (\step) == ROW_STEPS - 5
    ext \d\().16b, \d\().16b, \d\().16b, #\left_d
    .elseif (\step) == ROW_STEPS - 4
    shl \b\().4s, \t\().4s, #ROTATE_4
    .elseif (\step) == ROW_STEPS - 3
    ext \c\().16b, \c\().16b, \c\().16b, #8
    .elseif (\step) == ROW_STEPS - 2
    sri \b\().4s, \t\().4s, #32-ROTATE_4
    .elseif (\step) == ROW_STEPS - 1
    ext \b\().16b, \b\().16b, \b\().16b, #\left_b
    .else
    sri \d\().4s, \t\().4s, #32-ROTATE_3
    .endif
.endm

/* The instructions of a double round of both blocks, which alternate. */
.set ROW_ITEMS, 4*ROW_STEPS
.macro row_item item
    .if (\item) < 2*ROW_STEPS && (\item) % 2 == 0
    row_step ((\item)/2), ra0, rb0, rc0, rd0, rt0, 4, 12
    .elseif (\item) < 2*ROW_STEPS
    row_step ((\item)/2), ra1, rb1, rc1, rd1, rt1, 4, 12
    .elseif (\item) % 2 == 0
    row_step ((\item)/2-ROW_STEPS), ra0, rb0, rc0, rd0, rt0, 12, 4
    .else
    row_step ((\item)/2-ROW_STEPS), ra1, rb1, rc1, rd1, rt1, 12, 4
    .endif
.endm

.macro rows_load
    ldp q21, q22, [scratch, #STATE]
    ldp q23, q24, [scratch, #STATE + 32]
    mov ra1.16b, ra0.16b
    mov rb1.16b, rb0.16b
    mov rc1.16b, rc0.16b
    mov rd1.16b, rd0.16b
.endm

/* The rest of a turn, beside the next set's first instructions: 0..18. It leaves u0 = the end of the bytes that may be
 * authenticated now, u1 = bytes up to there. The flags belong to Poly1305.
 */
.set ASIDES, 19
.macro aside_item item
    .if \item == 0
    ldp q10, q9, [scratch, #INITIAL + 64]
    .elseif \item == 1
    ldp q1, q6, [scratch, #INITIAL + 96]
    .elseif \item == 2
    stp q16, q17, [out, #64]
    .elseif \item == 3
    stp q18, q19, [out, #96]
    .elseif \item == 4
    ldp q7, q11, [scratch, #INITIAL + 128]
    .elseif \item == 5
    ldp q13, q2, [scratch, #INITIAL + 160]
    .elseif \item == 6
    add in, in, #256
    .elseif \item == 7
    add out, out, #256
    .elseif \item == 8
    sub bytes, bytes, #256
    .elseif \item == 9
    sub u2, bytes, #256
    .elseif \item == 10
    and u1, u2, u2, asr #63
    .elseif \item == 11
    sbfx u2, x6, #2, #1                     /* of flags: open or not */
    .elseif \item == 12
    add u1, u1, #256
    .elseif \item == 13
    add u0, in, u1                          /* open: all that is there */
    .elseif \item == 14
    eor u0, u0, out
    .elseif \item == 15
    and u0, u0, u2
    .elseif \item == 16
    eor u0, u0, out                         /* seal: the written ciphertext */
    .elseif \item == 17
    mov rounds_left, #4
    .else
    sub u1, u0, message
    .endif
.endm

/* The first column round differs between blocks only in column 0, since only the counter does; instruction 0..12 of
 * that. Of the diagonals, a1 + b2 and d1 = (d1 ^ (a2 + b3)) <<< 16 are known too.
 */
.set COLUMN_ITEMS, 13
.set COLUMN_FROM, LAST_VECTORS + 21
.macro column_item item
    .if \item == 0
    eor nd.16b, na.16b, counts.16b
    .elseif \item == 1
    rev32 nd.8h, nd.8h
    .elseif \item == 2
    add nc.4s, nc.4s, nd.4s
    .elseif \item == 3
    eor nt.16b, nb.16b, nc.16b
    .elseif \item == 4
    shl nb.4s, nt.4s, #ROTATE_2
    .elseif \item == 5
    sri nb.4s, nt.4s, #32-ROTATE_2
    .elseif \item == 6
    add va0.4s, na.4s, nb.4s
    .elseif \item == 7
    eor nd.16b, nd.16b, va0.16b
    .elseif \item == 8
    tbl vd0.16b, {nd.16b}, rotate8.16b
    .elseif \item == 9
    add vc0.4s, nc.4s, vd0.4s
    .elseif \item == 10
    eor nt.16b, nb.16b, vc0.16b
    .elseif \item == 11
    shl vb0.4s, nt.4s, #ROTATE_4
    .else
    sri vb0.4s, nt.4s, #32-ROTATE_4
    .endif
.endm

.macro load_column_0
    ldp q21, q22, [scratch, #INITIAL + 192] /* na, nb */
    ldr q23, [scratch, #INITIAL + 224]      /* nc */
.endm

/* Columns 0 to 3 of the next set, whose counters are there. */
.macro start
    load_column_0
    ldp q5, q14, [scratch, #INITIAL]
    ldp q3, q15, [scratch, #INITIAL + 32]
    ldp q10, q9, [scratch, #INITIAL + 64]
    ldp q1, q6, [scratch, #INITIAL + 96]
    ldp q7, q11, [scratch, #INITIAL + 128]
    ldp q13, q2, [scratch, #INITIAL + 160]
    .set column, 0
    .rept COLUMN_ITEMS
    column_item column
    .set column, column + 1
    .endr
.endm

/* The first diagonals; begin must have counted DIAGONAL_VECTORS. */
.set DIAGONAL_VECTORS, 4*STEPS - 4 + 2*LAG
.macro first_diagonals
    .set skip1, STEPS + 1
    .set skip2, STEPS + 3
    steps STEPS, 2*STEPS, 0, 1
    end
.endm

/* ---- output ---- */

/* The initial state's rows added to a block. */
.macro add_state k0, k1, k2, k3, a, b, c, d
    vec add \k0\().4s, \k0\().4s, \a\().4s
    vec add \k1\().4s, \k1\().4s, \b\().4s
    vec add \k2\().4s, \k2\().4s, \c\().4s
    vec add \k3\().4s, \k3\().4s, \d\().4s
.endm

/* XORs a whole block of text with the keystream k0..k3, if there is one. */
.macro encrypt_block partial, k0, k1, k2, k3
    subs bytes, bytes, #64
    b.lo \partial
    ldp q1, q5, [in], #32
    ldp q9, q13, [in], #32
    eor v1.16b, v1.16b, \k0\().16b
    eor v5.16b, v5.16b, \k1\().16b
    eor v9.16b, v9.16b, \k2\().16b
    eor v13.16b, v13.16b, \k3\().16b
    stp q1, q5, [out], #32
    stp q9, q13, [out], #32
.endm

/* Without a whole block of text: moves the keystream to fixed registers. */
.macro partial_block name, k0, k1, k2, k3
.Lpartial_\name:
    mov v0.16b, \k0\().16b
    mov v1.16b, \k1\().16b
    mov v2.16b, \k2\().16b
    mov v3.16b, \k3\().16b
    b .Lpartial
.endm

/* XORs a block k0..k3 of a full set with its text in x0..x3. Vectors are given by number. Then loads the next block's
 * text there, and stores the last block, early and late enough for in-order cores.
 */
.macro turn_block k0, k1, k2, k3, x0, x1, x2, x3, from, p0, p1, p2, p3, to, n0, n1, n2, n3
    vec add v\k0\().4s, v\k0\().4s, sa.4s
    vec add v\k1\().4s, v\k1\().4s, sb.4s
    .ifnb \to
    stp q\p0, q\p1, [out, #\to]
    .endif
    vec add v\k2\().4s, v\k2\().4s, sc.4s
    vec add v\k3\().4s, v\k3\().4s, sd.4s
    .ifnb \to
    stp q\p2, q\p3, [out, #\to + 32]
    .endif
    vec eor v\k0\().16b, v\k0\().16b, v\x0\().16b
    vec eor v\k1\().16b, v\k1\().16b, v\x1\().16b
    .ifnb \from
    ldp q\n0, q\n1, [in, #\from]
    .endif
    vec eor v\k2\().16b, v\k2\().16b, v\x2\().16b
    vec eor v\k3\().16b, v\k3\().16b, v\x3\().16b
    .ifnb \from
    ldp q\n2, q\n3, [in, #\from + 32]
    .endif
.endm

/* The last double round of a full set, its output, and the start of the next set. Beside these, TURN_MESSAGES
 * messages are authenticated. When opening, they are the last 64 bytes of the set, and must be loaded before its
 * output is stored over them.
 */
.set TURN_MESSAGES, 4
.macro turn
    begin LAST_VECTORS+66+DIAGONAL_VECTORS, 0, COLUMN_ITEMS, TURN_MESSAGES
    last_double_round
    load_column_0
    movi text3.4s, #4
    vec add vd0.4s, vd0.4s, counts.4s
    transpose va0, va1, va2, va3, vt0, vb0, vb1, vb2, vb3, vt1
    ldp q1, q5, [in, #128]
    vec add counts.4s, counts.4s, text3.4s
    transpose vc0, vc1, vc2, vc3, vt2, vd0, vd1, vd2, vd3, vt3
    ldp q9, q13, [in, #160]
    turn_block 0, 4, 8, 12, 1, 5, 9, 13, 0, , , , , , 1, 5, 9, 13
    turn_block 2, 6, 10, 14, 1, 5, 9, 13, 192, 0, 4, 8, 12, 128, 1, 5, 9, 13
    turn_block 3, 7, 11, 15, 1, 5, 9, 13, 64, 2, 6, 10, 14, 0, 21, 28, 23, 30
    .if poly_left*POLY_ITEMS - poly_item > 2*POLY_ITEMS - POLY_LOADS_NEXT - 1
    .error "a message is not loaded before it is stored over"
    .endif
    turn_block 16, 17, 18, 19, 21, 28, 23, 30, , 3, 7, 11, 15, 192
    ldp q5, q14, [scratch, #INITIAL]
    ldp q3, q15, [scratch, #INITIAL + 32]
    .rept COLUMN_ITEMS - column
    column_item column
    .set column, column + 1
    .endr
    .set asides, ASIDES
    .set aside_from, vector
    first_diagonals
.endm

/* Rows a and b of block 0, by the numbers of their vectors, to t0 .. t3. */
.macro take_key a, b
    fmov t0, d\a
    mov t1, v\a\().d[1]
    fmov t2, d\b
    mov t3, v\b\().d[1]
.endm

/* ---- the kernel ---- */

/* flags in addition to the caller's: one set and a block by rows; block 0 is still to be used. */
#define ROWS 8
#define KEY_PENDING 9
#define FIRST_RUN 10

scratch_end 608
function KERNEL
    str x0, [scratch, #ARGS]
    ldp q24, q20, [x2, #CONST_SIGMA]        /* q20: rotate8 */
    ldr q31, [x2, #CONST_COUNT]
    ldr flags, [x0, #SEALANE_ARG_FLAGS]
    ldp x10, x11, [x0, #SEALANE_ARG_KEY]    /* key, nonce */
    ldr bytes, [x0, #SEALANE_ARG_BYTES]
    ldp out, in, [x0, #SEALANE_ARG_OUT]
    ldp q25, q26, [x10]
    ldr x8, [x11]
    ldr w9, [x11, #8]
    lsl x7, x8, #32
    extr x8, x9, x8, #32                    /* x8:x7 = 0, nonce */
    stp q24, q25, [scratch, #STATE]
    str q26, [scratch, #STATE + 32]
    stp x7, x8, [scratch, #STATE + 48]
    fmov d27, x7
    mov v27.d[1], x8
    mov one, #1
    tbz flags, #0, .Lresume
    cmp bytes, #64
    b.hi .Lwhole

/* A packet of at most 64 bytes: rows of blocks 0 and 1. */
    mov w7, #1
    mov v0.16b, v24.16b
    mov v1.16b, v25.16b
    mov v2.16b, v26.16b
    mov v3.16b, v27.16b
    mov v4.16b, v24.16b
    mov v5.16b, v25.16b
    mov v6.16b, v26.16b
    mov v28.16b, v27.16b
    mov v28.s[0], w7
    mov v7.16b, v28.16b
    mov rounds_left, #10
.Lshort_rounds:
    .irp offset, 4, 12
    add v0.4s, v0.4s, v1.4s
    add v4.4s, v4.4s, v5.4s
    eor v3.16b, v3.16b, v0.16b
    eor v7.16b, v7.16b, v4.16b
    rev32 v3.8h, v3.8h
    rev32 v7.8h, v7.8h
    add v2.4s, v2.4s, v3.4s
    add v6.4s, v6.4s, v7.4s
    eor vt0.16b, v1.16b, v2.16b
    eor vt1.16b, v5.16b, v6.16b
    shl v1.4s, vt0.4s, #ROTATE_2
    shl v5.4s, vt1.4s, #ROTATE_2
    sri v1.4s, vt0.4s, #32-ROTATE_2
    sri v5.4s, vt1.4s, #32-ROTATE_2
    add v0.4s, v0.4s, v1.4s
    add v4.4s, v4.4s, v5.4s
    eor v3.16b, v3.16b, v0.16b
    eor v7.16b, v7.16b, v4.16b
    tbl v3.16b, {v3.16b}, rotate8.16b
    tbl v7.16b, {v7.16b}, rotate8.16b
    add v2.4s, v2.4s, v3.4s
    add v6.4s, v6.4s, v7.4s
    eor vt0.16b, v1.16b, v2.16b
    eor vt1.16b, v5.16b, v6.16b
    ext v3.16b, v3.16b, v3.16b, #(16 - \offset)
    ext v7.16b, v7.16b, v7.16b, #(16 - \offset)
    shl v1.4s, vt0.4s, #ROTATE_4
    shl v5.4s, vt1.4s, #ROTATE_4
    sri v1.4s, vt0.4s, #32-ROTATE_4
    sri v5.4s, vt1.4s, #32-ROTATE_4
    ext v2.16b, v2.16b, v2.16b, #8
    ext v6.16b, v6.16b, v6.16b, #8
    ext v1.16b, v1.16b, v1.16b, #\offset
    ext v5.16b, v5.16b, v5.16b, #\offset
    .endr
    sub rounds_left, rounds_left, #1
    cbnz rounds_left, .Lshort_rounds
    add v16.4s, v0.4s, v24.4s               /* block 0: r, s */
    add v17.4s, v1.4s, v25.4s
    add va0.4s, v4.4s, v24.4s               /* block 1 */
    add vb0.4s, v5.4s, v25.4s
    add vc0.4s, v6.4s, v26.4s
    add vd0.4s, v7.4s, v28.4s
    take_key 16, 17
    b .Lkey

.Lresume:
    ldr args, [scratch, #ARGS]
    ldr args, [args, #SEALANE_ARG_STATE]
    ldp h0, h1, [args, #SEALANE_STATE_H]
    ldp h2, r0, [args, #SEALANE_STATE_H + 16]
    ldp r1, t2, [args, #SEALANE_STATE_R + 8]
    ldp t3, x7, [args, #SEALANE_STATE_S + 8]
    stp t2, t3, [scratch, #POLY_S]
    tst flags, #SEALANE_FLAG_OPEN
    csel message, in, out, ne
    add s1, r1, r1, lsr #2
    cbz bytes, .Lencrypted
#if defined(SIX)
    cmp bytes, #256
    b.ls .Lcolumns
    orr flags, flags, #1 << ROWS
#endif
    b .Lcolumns

/* One set and two blocks by rows, the first of which is block 0; or only sets, with block 0 in element 0 of the
 * first. */
.Lwhole:
    orr flags, flags, #1 << KEY_PENDING
#if defined(SIX)
    orr flags, flags, #1 << ROWS
    orr flags, flags, #1 << FIRST_RUN
    mov w7, #1
#else
    mov w7, #0
    cmp bytes, #320
    b.hi .Lcolumns
    orr flags, flags, #1 << ROWS
    mov w7, #1
#endif

/* Counters from w7 on. The first column round, by rows; its columns 1, 2, 3 are those of all sets. */
.Lcolumns:
    dup v30.4s, w7
    add v16.4s, sa.4s, sb.4s
    dup nb.4s, v25.s[0]
    dup nc.4s, v26.s[0]
    add counts.4s, counts.4s, v30.4s
    eor v19.16b, sd.16b, v16.16b
    dup na.4s, v16.s[0]
    str q23, [scratch, #INITIAL + 224]
    rev32 v19.8h, v19.8h
    column_item 0
    stp q21, q22, [scratch, #INITIAL + 192]
    add v18.4s, sc.4s, v19.4s
    column_item 1
    eor v30.16b, sb.16b, v18.16b
    column_item 2
    shl v17.4s, v30.4s, #ROTATE_2
    column_item 3
    sri v17.4s, v30.4s, #32-ROTATE_2
    column_item 4
    add v16.4s, v16.4s, v17.4s
    column_item 5
    eor v19.16b, v19.16b, v16.16b
    column_item 6
    tbl v19.16b, {v19.16b}, rotate8.16b
    column_item 7
    dup va3.4s, v16.s[3]
    add v18.4s, v18.4s, v19.4s
    column_item 8
    dup vd2.4s, v19.s[2]
    eor v30.16b, v17.16b, v18.16b
    column_item 9
    dup vd3.4s, v19.s[3]
    shl v17.4s, v30.4s, #ROTATE_4
    column_item 10
    dup vc2.4s, v18.s[2]
    sri v17.4s, v30.4s, #32-ROTATE_4
    column_item 11
    dup vc1.4s, v18.s[1]
    ext v30.16b, v17.16b, v17.16b, #4
    column_item 12
    dup vb1.4s, v17.s[1]
    add v30.4s, v16.4s, v30.4s              /* a1 + b2, a2 + b3 */
    dup vb2.4s, v17.s[2]
    dup vb3.4s, v17.s[3]
    dup va2.4s, v30.s[2]
    dup vd1.4s, v19.s[1]
    stp q5, q14, [scratch, #INITIAL]
    dup va1.4s, v30.s[1]
    eor vd1.16b, vd1.16b, va2.16b
    stp q3, q15, [scratch, #INITIAL + 32]
    dup vc3.4s, v18.s[3]
    rev32 vd1.8h, vd1.8h                    /* (d1 ^ a2) <<< 16 */
    stp q10, q9, [scratch, #INITIAL + 64]
    stp q1, q6, [scratch, #INITIAL + 96]
    stp q7, q11, [scratch, #INITIAL + 128]
    stp q13, q2, [scratch, #INITIAL + 160]
    b .Lstarted

.Lnext:
    movi v30.4s, #4
.Lnext_counts:
    add counts.4s, counts.4s, v30.4s
    start
.Lstarted:
    tbnz flags, #ROWS, .Lrows
    begin DIAGONAL_VECTORS, 0, 0, 0
    first_diagonals
    mov rounds_left, #4
    tbnz flags, #KEY_PENDING, .Lquiet

/* The set's first double round is done. The next eight authenticate what they can, except the part kept for a turn. */
    .set aside, 9
    .rept ASIDES - 9
    aside_item aside
    .set aside, aside + 1
    .endr
#if !defined(SIX)
.Lrounds:
    cmp bytes, #256
    b.ls .Lrounds_of_last
    cmp u1, #160
    b.lo .Lquiet
    mov rounds_left, #2
    add limit, message, #96
    cmp u1, #256
    b.lo .Lbusy_3
    mov rounds_left, #0
    add limit, message, #192
.Lbusy_3:
    double_rounds 2, 0, 3
    cmp message, limit
    b.ne .Lbusy_3
    cbz rounds_left, .Lset_done
    b .Lquiet
.Lrounds_of_last:
#endif
#if defined(SIX)
    mov u2, #256                            /* as much as there is time for */
    cmp u1, u2
    csel u1, u1, u2, lo
#endif
    sub rounds_left, rounds_left, u1, lsr #6
    and u1, u1, #-64
    add limit, message, u1
    cbz u1, .Lquiet
.Lbusy_4:
    double_rounds 2, 0, 4
    cmp message, limit
    b.ne .Lbusy_4
    cbz rounds_left, .Lset_done
.Lquiet:
    double_rounds 2, 0, 0
    sub rounds_left, rounds_left, #1
    cbnz rounds_left, .Lquiet
    tbnz flags, #KEY_PENDING, .Lset_quiet
.Lset_done:
    sub u1, u0, message
#if !defined(SIX)
    cmp bytes, #256
    b.ls .Lset_last
    cmp u1, #16*TURN_MESSAGES
    b.lo .Lset_quiet
    b.eq .Lturn
    tbnz flags, #2, .Lset_quiet             /* open: all of it must be authenticated first */
.Lturn:
    turn
    b .Lrounds

.Lset_last:
#endif
    cmp u1, #32
    b.lo .Lset_quiet
    begin LAST_VECTORS, 0, 0, 2
    last_double_round
    end
    b .Lopen_rest_check
.Lset_quiet:
    begin LAST_VECTORS, 0, 0, 0
    last_double_round
    tbnz flags, #KEY_PENDING, .Lset
    b .Lopen_rest_check

/* A set and two blocks by rows: block 0 before the set and one block after it, or both after it. */
.Lrows:
    umov w7, counts.s[3]
    rows_load
    add w7, w7, #1
#if defined(SIX)
    tbnz flags, #FIRST_RUN, .Lrows_first
    mov rd0.s[0], w7
    add w7, w7, #1
.Lrows_first:
#endif
    mov rd1.s[0], w7
    begin DIAGONAL_VECTORS, ROW_ITEMS, 0, 0
    first_diagonals
    mov rounds_left, #8
#if defined(SIX)
    tbnz flags, #KEY_PENDING, .Lrows_quiet
    mov u1, #384
    cmp bytes, u1
    csel u1, bytes, u1, lo
    add u0, in, u1                          /* open: all that is there */
    tst flags, #SEALANE_FLAG_OPEN
    csel u0, u0, out, ne                    /* seal: what has been written */
    sub u1, u0, message
    cmp u1, #80
    b.lo .Lrows_quiet
    lsr u1, u1, #4
    mov u2, #52
    mul u1, u1, u2
    mov u2, #4
    lsr u1, u1, #8                          /* a fifth of up to 28 */
    cmp u1, u2
    csel u1, u1, u2, lo
    sub rounds_left, rounds_left, u1, lsl #1
    add u1, u1, u1, lsl #2
    add limit, message, u1, lsl #4
.Lrows_busy:
    double_rounds 2, 1, 5
    cmp message, limit
    b.ne .Lrows_busy
    cbz rounds_left, .Lrows_done
#endif
.Lrows_quiet:
    double_rounds 1, 1, 0
    sub rounds_left, rounds_left, #1
    cbnz rounds_left, .Lrows_quiet
#if defined(SIX)
    tbnz flags, #KEY_PENDING, .Lrows_quiet_last
.Lrows_done:
    sub u1, u0, message
    cmp u1, #64
    b.lo .Lrows_quiet_last
    begin LAST_VECTORS, ROW_ITEMS, 0, 4
    last_double_round
    end
    b .Lopen_rest_check
.Lrows_quiet_last:
#endif
    begin LAST_VECTORS, ROW_ITEMS, 0, 0
    last_double_round
    tbnz flags, #KEY_PENDING, .Lset

/* Open: authenticate the rest before it may be overwritten. */
    b .Lopen_rest_check
.Lopen_rest:
    poly_blocks 1
.Lopen_rest_check:
    tbz flags, #2, .Lset
    sub u1, u0, message
    cmp u1, #16
    b.hs .Lopen_rest

/* The set's keystream: blocks 0 to 3 are in columns 2, the temporaries, 0, 3. */
.Lset:
    begin 0, 0, 0, 0
    .set vectors, 1
    add vd0.4s, vd0.4s, counts.4s
    transpose va0, va1, va2, va3, vt0, vb0, vb1, vb2, vb3, vt1
    ldp q1, q5, [scratch, #STATE]
    transpose vc0, vc1, vc2, vc3, vt2, vd0, vd1, vd2, vd3, vt3
    ldp q9, q13, [scratch, #STATE + 32]
    add_state va2, vb2, vc2, vd2, v1, v5, v9, v13
    add_state vt0, vt1, vt2, vt3, v1, v5, v9, v13
    add_state va0, vb0, vc0, vd0, v1, v5, v9, v13
    add_state va3, vb3, vc3, vd3, v1, v5, v9, v13
    tbz flags, #KEY_PENDING, .Lencrypt_0
    tbz flags, #ROWS, .Lkey_of_set
    add v1.4s, v1.4s, ra0.4s
    add v5.4s, v5.4s, rb0.4s
    take_key 1, 5
    b .Lkey

/* Block 0 is done: r = its words 0..3, clamped, s = words 4..7 (RFC 8439, 2.6); then the associated data. */
.Lkey_of_set:
    take_key 2, 6
.Lkey:
    ldr args, [scratch, #ARGS]
    mov u2, #0x0ffffffc0ffffffc
    orr u3, u2, #3
    and r0, t0, u3
    and r1, t1, u2
    stp t2, t3, [scratch, #POLY_S]
    add s1, r1, r1, lsr #2
    ldp message, u0, [args, #SEALANE_ARG_AD]
    mov h0, xzr
    mov h1, xzr
    mov h2, xzr
    subs u0, u0, #16
    b.lo .Lad_tail
.Lad:
    poly_blocks 1
    subs u0, u0, #16
    b.hs .Lad
    ad_tail
    tbnz flags, #2, .Lad_open
    mov message, out
.Lfirst:
    cmp bytes, #64
    b.ls .Lfirst_short
    bic flags, flags, #1 << KEY_PENDING
    tbz flags, #ROWS, .Lencrypt_1
    b .Lencrypt_0
.Lad_open:
    mov message, in                         /* before it may be overwritten */
#if defined(SIX)
    mov u0, #320
    cmp bytes, u0
    csel u0, bytes, u0, lo
#else
    mov u0, #192
    cmp bytes, #320
    csel u0, bytes, u0, ls
#endif
    and u0, u0, #-16
    add u0, u0, in
    cmp message, u0
    b.hs .Lfirst
.Lopen_first:
    poly_blocks 1
    cmp message, u0
    b.lo .Lopen_first
    b .Lfirst
.Lfirst_short:
    cbz bytes, .Lencrypted
    encrypt_block .Lpartial_2, va0, vb0, vc0, vd0
    b .Lencrypted

.Lencrypt_0:
    encrypt_block .Lpartial_0, va2, vb2, vc2, vd2
.Lencrypt_1:
    encrypt_block .Lpartial_1, vt0, vt1, vt2, vt3
    encrypt_block .Lpartial_2, va0, vb0, vc0, vd0
    encrypt_block .Lpartial_3, va3, vb3, vc3, vd3
    cbz bytes, .Lencrypted
    tbz flags, #ROWS, .Lnext
    ldp q1, q5, [scratch, #STATE]
    ldp q9, q13, [scratch, #STATE + 32]
    umov w7, counts.s[3]
    begin 0, 0, 0, 0
    .set vectors, 1
    add w7, w7, #1
#if defined(SIX)
    tbnz flags, #FIRST_RUN, .Lencrypt_5
    mov v13.s[0], w7
    add w7, w7, #1
    add_state ra0, rb0, rc0, rd0, v1, v5, v9, v13
    encrypt_block .Lpartial_4, ra0, rb0, rc0, rd0
    cbz bytes, .Lencrypted
    ldp q1, q5, [scratch, #STATE]
    ldp q9, q13, [scratch, #STATE + 32]
.Lencrypt_5:
#endif
    mov v13.s[0], w7
    add_state ra1, rb1, rc1, rd1, v1, v5, v9, v13
    encrypt_block .Lpartial_5, ra1, rb1, rc1, rd1
#if defined(SIX)
    cbz bytes, .Lencrypted
    mov w7, #6
    ubfx w8, flags, #FIRST_RUN, #1
    sub w7, w7, w8
    dup v30.4s, w7
    bic flags, flags, #1 << FIRST_RUN
    cmp bytes, #256
    b.hi .Lnext_counts
    bic flags, flags, #1 << ROWS
    b .Lnext_counts
#else
    b .Lencrypted
#endif

    partial_block 0, va2, vb2, vc2, vd2
    partial_block 1, vt0, vt1, vt2, vt3
    partial_block 3, va3, vb3, vc3, vd3
#if defined(SIX)
    partial_block 4, ra0, rb0, rc0, rd0
#endif
    partial_block 5, ra1, rb1, rc1, rd1
.Lpartial_2:
    mov v1.16b, vb0.16b
    mov v2.16b, vc0.16b
    mov v3.16b, vd0.16b

/* The last bytes + 64 < 64 bytes, with keystream v0..v3. */
.Lpartial:
    tbz bytes, #5, .Lpartial_16
    ldp q24, q25, [in], #32
    eor v24.16b, v24.16b, v0.16b
    eor v25.16b, v25.16b, v1.16b
    stp q24, q25, [out], #32
    mov v0.16b, v2.16b
    mov v1.16b, v3.16b
.Lpartial_16:
    tbz bytes, #4, .Lpartial_tail
    ldr q24, [in], #16
    eor v24.16b, v24.16b, v0.16b
    str q24, [out], #16
    mov v0.16b, v1.16b
.Lpartial_tail:
    ands u0, bytes, #15
    b.eq .Lencrypted
    mov u1, in
    load_partial text
    fmov u4, d0
    mov u5, v0.d[1]
    eor u4, u4, t0
    eor u5, u5, t1
    lsl u2, u0, #3
    mov u3, #-1
    lsl u3, u3, u2                          /* ones above the tail, modulo 8 bytes */
    bic u6, u5, u3                          /* 8..15 bytes */
    bic u7, u4, u3                          /* 1..7 bytes */
    tst u0, #8
    csel u5, u6, xzr, ne
    csel u4, u4, u7, ne
    tst flags, #SEALANE_FLAG_OPEN
    csel t0, t0, u4, ne
    csel t1, t1, u5, ne
    stp t0, t1, [scratch, #TAIL]
    tbnz u0, #3, .Lstore8
    tbnz u0, #2, .Lstore4
    lsr u1, u0, #1                          /* 1..3: first, middle, last byte */
    strb w11, [out]                         /* u4 */
    lsl u2, u1, #3
    lsr u3, u4, u2
    strb u3d, [out, u1]
    sub u1, u0, #1
    lsl u2, u1, #3
    lsr u3, u4, u2
    strb u3d, [out, u1]
    b .Lencrypted
.Lstore4:
    str w11, [out]
    sub u1, u0, #4
    sub u2, u2, #32
    lsr u3, u4, u2
    str u3d, [out, u1]
    b .Lencrypted
.Lstore8:
    str u4, [out]
    sub u1, u0, #8
    lsr u3, u4, u2                          /* shifts count modulo 64; for 8 bytes u5 is 0 */
    neg u2, u2
    lsl u5, u5, u2
    orr u3, u3, u5
    str u3, [out, u1]

/* All text is encrypted: seal has to authenticate the rest of it. */
.Lencrypted:
    ldr args, [scratch, #ARGS]
    ldr u0, [args, #SEALANE_ARG_BYTES]
    tbnz flags, #2, .Lauthenticated
    ldr u1, [args, #SEALANE_ARG_OUT]
    and u2, u0, #-16
    add u1, u1, u2
    sub u2, u1, message
    subs u2, u2, #64
    b.lo .Lauthenticate_check
.Lauthenticate_4:
    poly_blocks 4
    subs u2, u2, #64
    b.hs .Lauthenticate_4
    b .Lauthenticate_check
.Lauthenticate:
    poly_blocks 1
.Lauthenticate_check:
    cmp message, u1
    b.ne .Lauthenticate
.Lauthenticated:
    tbz flags, #1, .Lsave
    tst u0, #15
    b.eq .Llengths
    ldp t0, t1, [scratch, #TAIL]
    poly_loaded
.Llengths:
    ldr args, [scratch, #ARGS]
    ldr t0, [args, #SEALANE_ARG_AD_BYTES]
    ldr t1, [args, #SEALANE_ARG_TOTAL]
    poly_loaded

/* tag = (h mod 2^130 - 5) + s mod 2^128; h < 2p, and h >= p if h + 5 reaches 2^130. */
    ldr u1, [args, #SEALANE_ARG_TAG]
    ldp t2, t3, [scratch, #POLY_S]
    adds t0, h0, #5
    adcs t1, h1, xzr
    adc h2, h2, xzr
    cmp h2, #4
    csel h0, t0, h0, hs
    csel h1, t1, h1, hs
    adds h0, h0, t2
    adc h1, h1, t3
    stp h0, h1, [u1]
    ldr u0, [args, #SEALANE_ARG_BYTES]
    b .Lwipe

.Lsave:
    ldr u1, [args, #SEALANE_ARG_STATE]
    ldp t2, t3, [scratch, #POLY_S]
    mov u2, #1
    tbnz flags, #0, .Lsave_counter
    ldr u2, [u1, #SEALANE_STATE_COUNTER]
.Lsave_counter:
    add u2, u2, u0, lsr #6
    stp h0, h1, [u1, #SEALANE_STATE_H]
    stp h2, r0, [u1, #SEALANE_STATE_H + 16]
    stp r1, t2, [u1, #SEALANE_STATE_R + 8]
    stp t3, u2, [u1, #SEALANE_STATE_S + 8]

.Lwipe:
    movi v0.16b, #0
    .irp offset, 0, 32, 64
    stp q0, q0, [scratch, #SEALANE_SCRATCH_SAVE_BYTES + \offset]
    .endr
    str q0, [scratch, #SEALANE_SCRATCH_SAVE_BYTES + 96]
    tbz flags, #0, .Lwipe_long
    cmp u0, #64                             /* bytes */
    b.ls .Lwiped
.Lwipe_long:
    .irp offset, 0, 32, 64, 96, 128, 160, 192
    stp q0, q0, [scratch, #INITIAL + \offset]
    .endr
    str q0, [scratch, #INITIAL + 224]
.Lwiped:
endfunction

constants CONSTANTS
    .long 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574
    .byte 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14
    .long 0, 1, 2, 3
endconstants
