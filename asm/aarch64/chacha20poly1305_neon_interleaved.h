/* Rounds of ChaCha20, with a word of 4 blocks in each vector, and Poly1305 in integer registers. Their single
 * instructions are spread evenly among each other, because in-order cores issue neighbors together.
 */

/* Vectors: rows a, b, c, d of a set; temporaries. */
#define va0 v0
#define va1 v1
#define va2 v2
#define va3 v3
#define vb0 v4
#define vb1 v5
#define vb2 v6
#define vb3 v7
#define vc0 v8
#define vc1 v9
#define vc2 v10
#define vc3 v11
#define vd0 v12
#define vd1 v13
#define vd2 v14
#define vd3 v15
#define vt0 v16
#define vt1 v17
#define vt2 v18
#define vt3 v19
#define rotate8 v20

/* Poly1305: accumulator, next message block, r, temporaries. */
#define scratch x1
#define h0 x19
#define h1 x20
#define h2 x21
#define message x22
#define t0 x23
#define t1 x24
#define t2 x25
#define t3 x26
#define t4 x27
#define t5 x11
#define m0 x12
#define m1 x13
#define r0 x15
#define r1 x16
#define s1 x17
#define one x0

/* Between the rounds. */
#define u0 x7
#define u1 x8
#define u2 x9
#define u3 x10
#define u0d w7
#define u1d w8
#define u2d w9
#define u3d w10

/* Steps of four quarter rounds (RFC 8439, 2.1). A table look-up rotates by 8 in one instruction, on Cortex-A72 in
 * three. */
#define ROTATE_BYTES_FIXED
#include "../chacha20.h"
#if defined(SIX)
.set STEPS, 15
#else
.set STEPS, 14
#endif

.macro rotate_8 d, t
    .if STEPS == 15
    shl \d\().4s, \t\().4s, #ROTATE_3
    .else
    tbl \d\().16b, {\t\().16b}, rotate8.16b
    .endif
.endm

/* ---- Poly1305 ---- */

/* h = (h + m0 + 2^64 m1 + 2^128) r: instruction 0..24 of a block, in POLY_PERIOD cycles. That is the fewest for an
 * in-order core that runs one of them per cycle. The top word comes first, so that 5 (h r >> 130) is ready before the
 * low words. The carry from these then stays in h2, which is at most 5 afterwards. poly_due is when such a core is
 * ready for the instruction that follows. The next message is loaded ahead.
 */
.set POLY_ITEMS, 25
.set POLY_LOADS_NEXT, 8
.set POLY_LOAD, 3
.set POLY_PERIOD, 33
.macro poly_then cycle
    .set poly_item, poly_item + 1
    .set poly_due, poly_start + \cycle
.endm

.macro poly_next
    .if poly_item == 0
    adds h0, h0, m0
    poly_then 1
    .elseif poly_item == 1
    umulh t3, h0, r0
    poly_then 5
    .elseif poly_item == 2
    umulh t0, h0, r1
    poly_then 6
    .elseif poly_item == 3
    adcs h1, h1, m1
    poly_then 9
    .elseif poly_item == 4
    umulh t1, h1, r0
    poly_then 10
    .elseif poly_item == 5
    adc h2, h2, one
    poly_then 13
    .elseif poly_item == 6
    madd t0, h2, r0, t0
    poly_then 15
    .elseif poly_item == 7
    mul t4, h1, s1
    poly_then 16
    .elseif poly_item == POLY_LOADS_NEXT
    .if poly_left > 1
    ldp m0, m1, [message], #16
    .endif
    poly_then 17
    .elseif poly_item == 9
    umulh t5, h1, s1
    poly_then 18
    .elseif poly_item == 10
    add t0, t0, t1                          /* h r >> 128 without carries, below 2^64 */
    poly_then 19
    .elseif poly_item == 11
    and t2, t0, #-4
    poly_then 20
    .elseif poly_item == 12
    add t2, t2, t0, lsr #2                  /* 5 (h r >> 130), below 2^64 */
    poly_then 21
    .elseif poly_item == 13
    madd t3, h2, s1, t3
    poly_then 22
    .elseif poly_item == 14
    and h2, t0, #3
    poly_then 23
    .elseif poly_item == 15
    mul t1, h1, r0
    poly_then 24
    .elseif poly_item == 16
    adds t2, t2, t4
    poly_then 25
    .elseif poly_item == 17
    mul t4, h0, r0
    poly_then 26
    .elseif poly_item == 18
    adc t3, t3, t5                          /* below 2^64 */
    poly_then 27
    .elseif poly_item == 19
    mul t5, h0, r1
    poly_then 28
    .elseif poly_item == 20
    adds t3, t3, t1
    poly_then 29
    .elseif poly_item == 21
    adc h2, h2, xzr
    poly_then 30
    .elseif poly_item == 22
    adds h0, t4, t2
    poly_then 31
    .elseif poly_item == 23
    adcs h1, t3, t5
    poly_then 32
    .else
    adc h2, h2, xzr
    .set poly_item, 0
    .set poly_left, poly_left - 1
    .set poly_start, poly_start + POLY_PERIOD
    .set poly_due, poly_start
    .endif
.endm

/* The following instructions process `blocks` message blocks, the first at [message]. */
.macro poly_begin blocks
    .set poly_item, 0
    .set poly_left, \blocks
    .set poly_start, POLY_LOAD
    .set poly_due, POLY_LOAD
    .if \blocks
    ldp m0, m1, [message], #16
    .endif
.endm

/* The message that is in t0 and t1. */
.macro poly_loaded
    poly_begin 0
    .set poly_item, 1
    .set poly_left, 1
    adds h0, h0, t0
    adcs h1, h1, t1
    adc h2, h2, one
    .rept POLY_ITEMS - 1
    .if poly_item == 3 || poly_item == 5
    .set poly_item, poly_item + 1
    .else
    poly_next
    .endif
    .endr
.endm

.macro poly_blocks blocks
    poly_begin \blocks
    .rept POLY_ITEMS*\blocks
    poly_next
    .endr
.endm

/* ---- ChaCha20, a word of 4 blocks in each vector, with the others in between ---- */

/* One aside follows every gap/8 instructions of the set. */
.set aside_gap, 16

/* At most this many of the messages' instructions follow one of the set's. */
.set poly_burst, 4

/* `vectors_` instructions of the set follow. Between them lie the given numbers for rows, column 0 and messages. */
.macro begin vectors_, rows_, columns_, messages
    .set vector, 0
    .set row, 0
    .set column, 0
    .set vectors, \vectors_
    .set rows, \rows_
    .set columns, \columns_
    .set aside, 0
    .set asides, 0
    .set polys, POLY_PERIOD*\messages + POLY_LOAD
    poly_begin \messages
.endm

/* The other instructions that follow an instruction of the set. */
.macro fill
    .rept (vector + 1)*rows/vectors - vector*rows/vectors
    row_item row
    .set row, row + 1
    .if row == ROW_ITEMS
    .set row, 0
    .endif
    .endr
    .if column < columns
    .if vector >= COLUMN_FROM + 4*column
    column_item column
    .set column, column + 1
    .endif
    .endif
    .if aside < asides
    .if 8*vector >= 8*aside_from + aside_gap*aside
    aside_item aside
    .set aside, aside + 1
    .endif
    .endif
    .rept poly_burst
    .if poly_left
    .if poly_due*vectors <= vector*polys
    poly_next
    .endif
    .endif
    .endr
    .set vector, vector + 1
.endm

.macro end
    .rept 8
    .if poly_left
    poly_next
    .endif
    .endr
    .if poly_left
    .error "a message is not done"
    .endif
.endm

/* A step of four quarter rounds of one column or diagonal of 4 blocks. */
.macro quarter_step a, b, c, d, t
    .if step == 0 || step == 7
    add \a\().4s, \a\().4s, \b\().4s
    .elseif step == 1
    eor \d\().16b, \d\().16b, \a\().16b
    .elseif step == 2
    rev32 \d\().8h, \d\().8h
    .elseif step == 3 || step == STEPS - 4
    add \c\().4s, \c\().4s, \d\().4s
    .elseif step == 4 || step == STEPS - 3
    eor \t\().16b, \b\().16b, \c\().16b
    .elseif step == 5
    shl \b\().4s, \t\().4s, #ROTATE_2
    .elseif step == 6
    sri \b\().4s, \t\().4s, #32-ROTATE_2
    .elseif step == 8
    eor \t\().16b, \d\().16b, \a\().16b
    .elseif step == 9
    rotate_8 \d, \t
    .elseif step == STEPS - 2
    shl \b\().4s, \t\().4s, #ROTATE_4
    .elseif step == STEPS - 1
    sri \b\().4s, \t\().4s, #32-ROTATE_4
    .else
    sri \d\().4s, \t\().4s, #32-ROTATE_3
    .endif
    fill
.endm

/* Double rounds by two pairs of quarter rounds. The second is LAG steps behind the first, which keeps the shift unit
 * busy; Neoverse N1 has only one. No pair may wait for the other's last step. So the first pair is columns 0, 1,
 * then the diagonals from 0 and 3, where b0, b1 come from the first pair again.
 */
.set LAG, 2
.macro first_pair at
    .set step, (\at) % STEPS
    .if (\at) % (2*STEPS) < STEPS
    quarter_step va0, vb0, vc0, vd0, vt0
    quarter_step va1, vb1, vc1, vd1, vt1
    .else
    quarter_step va0, vb1, vc2, vd3, vt0
    quarter_step va3, vb0, vc1, vd2, vt1
    .endif
.endm

.macro second_pair at
    .set step, (\at) % STEPS
    .if (\at) % (2*STEPS) < STEPS
    quarter_step va2, vb2, vc2, vd2, vt2
    quarter_step va3, vb3, vc3, vd3, vt3
    .else
    .if (\at) >= skip1
    quarter_step va1, vb2, vc3, vd0, vt2
    .endif
    .if (\at) >= skip2
    quarter_step va2, vb3, vc0, vd1, vt3
    .endif
    .endif
.endm

/* Steps from..to - 1. If before is 1, the first pair has already done LAG of them. If beyond is 1, it does LAG more. */
.macro steps from, to, before, beyond
    .set at, \from + LAG*\before
    .rept \to - \from + LAG - LAG*\before
    .if at < \to + LAG*\beyond
    first_pair at
    .endif
    .if at >= \from + LAG
    second_pair (at-LAG)
    .endif
    .set at, at + 1
    .endr
.endm

/* Double rounds of the set and, with pair 1, of two blocks by rows. `messages` blocks in all are authenticated. */
.set ROUND_VECTORS, 8*STEPS
.macro double_rounds count, pair, messages
    begin ROUND_VECTORS*\count, ROW_ITEMS*\count*\pair, 0, \messages
    .set skip1, 0
    .set skip2, 0
    steps 0, 2*STEPS*\count, 1, 1
    end
.endm

/* The last double round. `begin` precedes it, and `end` follows it. */
.set LAST_VECTORS, ROUND_VECTORS - 2*LAG
.macro last_double_round
    .set skip1, 0
    .set skip2, 0
    steps 0, 2*STEPS, 1, 0
.endm

.macro vec instruction:vararg
    \instruction
    fill
.endm

/* From two rows of the set, words w0..w3 and x0..x3 of the blocks in its elements, makes 16 bytes of each block.
 * Block 0 is in w2, x2; 1 in the temporaries wt, xt; 2 in w0, x0; 3 in w3, x3. w1, x1 are free then.
 */
.macro transpose w0, w1, w2, w3, wt, x0, x1, x2, x3, xt
    vec trn1 \wt\().4s, \w0\().4s, \w1\().4s
    vec trn2 \w1\().4s, \w0\().4s, \w1\().4s
    vec trn1 \w0\().4s, \w2\().4s, \w3\().4s
    vec trn2 \w3\().4s, \w2\().4s, \w3\().4s
    vec trn1 \xt\().4s, \x0\().4s, \x1\().4s
    vec trn2 \x1\().4s, \x0\().4s, \x1\().4s
    vec trn1 \x0\().4s, \x2\().4s, \x3\().4s
    vec trn2 \x3\().4s, \x2\().4s, \x3\().4s
    vec trn1 \w2\().2d, \wt\().2d, \w0\().2d
    vec trn2 \w0\().2d, \wt\().2d, \w0\().2d
    vec trn1 \wt\().2d, \w1\().2d, \w3\().2d
    vec trn2 \w3\().2d, \w1\().2d, \w3\().2d
    vec trn1 \x2\().2d, \xt\().2d, \x0\().2d
    vec trn2 \x0\().2d, \xt\().2d, \x0\().2d
    vec trn1 \xt\().2d, \x1\().2d, \x3\().2d
    vec trn2 \x3\().2d, \x1\().2d, \x3\().2d
.endm


/* t0, t1 = the u0 (1..15) bytes at u1 and zeroes, not reading beyond them; uses u2, u3. */
.macro load_partial name
    lsl u2, u0, #3
    mov t1, xzr
    tbnz u0, #3, .Lload8_\name
    tbnz u0, #2, .Lload4_\name
    lsr u2, u0, #1                          /* 1..3: first, middle, last byte */
    ldrb w23, [u1]
    ldrb u3d, [u1, u2]
    lsl u2, u2, #3
    lsl u3, u3, u2
    orr t0, t0, u3
    sub u2, u0, #1
    ldrb u3d, [u1, u2]
    lsl u2, u2, #3
    lsl u3, u3, u2
    orr t0, t0, u3
    b .Lloaded_\name
.Lload4_\name:
    sub u3, u0, #4
    ldr u3d, [u1, u3]
    sub u2, u2, #32
    lsl u3, u3, u2
    ldr w23, [u1]
    orr t0, t0, u3
    b .Lloaded_\name
.Lload8_\name:
    sub u3, u0, #8
    ldr t1, [u1, u3]
    mov u3, #120
    sub u2, u3, u2                          /* 8 (15 - bytes) */
    lsr t1, t1, u2
    lsr t1, t1, #8
    ldr t0, [u1]
.Lloaded_\name:
.endm

/* The 16 + u0 bytes of associated data at message, fewer than a block, padded with zeroes. */
.macro ad_tail
.Lad_tail:
    adds u0, u0, #16
    b.eq .Lad_done
    mov u1, message
    load_partial ad
    poly_loaded
.Lad_done:
.endm
