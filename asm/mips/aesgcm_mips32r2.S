/* AES-GCM in integer registers.
 *
 *     void sealane_aesgcm_mips32r2(const args *a, void *scratch, const void *consts);
 *
 * CPU        MIPS32 release 2 (rotr, wsbh, ins; maddu in HI and LO), either byte order, no release 6
 * the rest   aesgcm_text.h
 *
 * GHASH: each of the nine products of words is a sum over POWERS blocks. It consists of 25 sums of integer products,
 * of every fifth bit of one word and every fifth of the other. Five at a time have their bits in the same places, and
 * are added. A column is at most 31, except for one group of five, which is done in two parts. So no carry reaches
 * the next column, and the lowest bit of a sum is the sum modulo 2.
 */
#include "../asm.S"

#if defined(__mips__) && defined(_ABIO32) && _MIPS_SIM == _ABIO32 && __mips_isa_rev >= 2 && __mips_isa_rev < 6

isa mips32r2

#include "words.h"

#define KERNEL sealane_aesgcm_mips32r2
#define COLUMNS 9
#define FACTOR 24 /* bytes: a block's word, and every fifth bit of the word of its power */
#define END 3360

#include "aesgcm_names.h"

/* A row of a round key, for all blocks. */
.macro load_key x, at, from
    lw \x, \at(\from)
.endm

.macro to_halves x
.endm

.macro rotation_masks m1, m3
.endm

.macro rotate_row n, x, t, m1, m3
    rotr \x, \x, 8*\n
.endm

/* x0 .. x7 := the counters of the next pass. */
.macro counters
    addiu x1, x0, 1
    addiu x2, x0, 2
    addiu x3, x0, 3
    addiu x4, x0, 4
    addiu x5, x0, 5
    addiu x6, x0, 6
    addiu x7, x0, 7
    addiu x8, x0, 8
    sw x8, COUNTER(scratch)
.endm

#define low0 x10    /* sums of products for bit i */
#define low1 x11
#define low2 x12
#define low3 x13
#define low4 x14
#define high0 x15
#define high1 x16
#define high2 x17
#define high3 x18
#define high4 x19
#define low x20     /* the last product, available 5 cycles after mflo */
#define high x21

/* The last product to \low_sum and \high_sum. */
.macro take_product low_sum, high_sum
    xor \low_sum, \low_sum, low
    xor \high_sum, \high_sum, high
    mflo low
    mfhi high
.endm

/* d0 x0 + .. + d4 x4 begins; the product before it goes to sums. */
.macro products x0, x1, x2, x3, x4, low_sum, high_sum
    multu d0, \x0
    maddu d1, \x1
    maddu d2, \x2
    maddu d3, \x3
    maddu d4, \x4
    take_product \low_sum, \high_sum
.endm

/* The columns of all sums that belong to their bits, by masks, in \s0. */
.macro join_fifths s0, s1, s2, s3, s4, m0, m1, m2, m3, m4
    and \s0, \s0, \m0
    and \s1, \s1, \m1
    and \s2, \s2, \m2
    or \s0, \s0, \s1
    and \s3, \s3, \m3
    or \s0, \s0, \s2
    and \s4, \s4, \m4
    or \s0, \s0, \s3
    or \s0, \s0, \s4
.endm

/* The places of the low and the high word of a column's product. */
#define RESULT_LOW LAST_FACTORS
#define RESULT_HIGH LAST_FACTORS - FACTOR

.macro load_results column, l0, h0, l1, h1, l2, h2
    lw \l0, RESULT_LOW + COLUMN*\column(scratch)
    lw \h0, RESULT_HIGH + COLUMN*\column(scratch)
    lw \l1, RESULT_LOW + COLUMN*(\column + 1)(scratch)
    lw \h1, RESULT_HIGH + COLUMN*(\column + 1)(scratch)
    lw \l2, RESULT_LOW + COLUMN*(\column + 2)(scratch)
    lw \h2, RESULT_HIGH + COLUMN*(\column + 2)(scratch)
.endm

/* Every fifth bit of \x to the factors at x4; x10 .. x14: masks. */
.macro store_fifths column, x
    every_fifth \x
    four sw, \column*COLUMN + 4, x4, x15, x16, x17, x18
    sw x19, \column*COLUMN + 20(x4)
.endm

/* A power of the hash key, in x0 .. x3. */
.macro store_power
    store_fifths 0, x0
    store_fifths 1, x1
    xor x7, x0, x1
    store_fifths 2, x7
    store_fifths 3, x2
    store_fifths 4, x3
    xor x7, x2, x3
    store_fifths 5, x7
    xor x0, x0, x2
    store_fifths 6, x0
    xor x1, x1, x3
    store_fifths 7, x1
    xor x7, x0, x1
    store_fifths 8, x7
.endm

/* A block, in x0 .. x3, to the factors at x5. */
.macro store_block
    xor x8, x0, x1
    xor x9, x2, x3
    sw x0, 0(x5)
    sw x1, COLUMN(x5)
    xor x0, x0, x2
    xor x1, x1, x3
    sw x8, 2*COLUMN(x5)
    sw x2, 3*COLUMN(x5)
    sw x3, 4*COLUMN(x5)
    xor x8, x0, x1
    sw x9, 5*COLUMN(x5)
    sw x0, 6*COLUMN(x5)
    sw x1, 7*COLUMN(x5)
    sw x8, 8*COLUMN(x5)
.endm

/* Multiplies all columns. */
.macro multiply
.Lcolumn:
    .irp x, low0, low1, low2, low3, low4, high0, high1, high2, high3, high4, low, high
    or \x, $0, $0
    .endr
.Lproduct:
    lw d4, 0(factors)
    lw d0, FIFTHS(scratch)
    lw e0, 4(factors)
    lw d1, FIFTHS + 4(scratch)
    and d0, d0, d4
    lw e4, 20(factors)
    multu d0, e0
    lw d2, FIFTHS + 8(scratch)
    and d1, d1, d4
    lw e3, 16(factors)
    maddu d1, e4
    lw d3, FIFTHS + 12(scratch)
    and d2, d2, d4
    lw e1, FIFTHS + 16(scratch)
    maddu d2, e3
    lw e2, 12(factors)
    and d3, d3, d4
    and d4, d4, e1
    lw e1, 8(factors)
    maddu d3, e2
    maddu d4, e1
    take_product low1, high1                /* of the block before */
    products e4, e3, e2, e1, e0, low0, high0
    products e3, e2, e1, e0, e4, low4, high4
    products e2, e1, e0, e4, e3, low3, high3
    multu d0, e1
    loadw d0, LIMIT(scratch)
    maddu d1, e0
    addip factors, factors, FACTOR
    take_product low2, high2
    multu d2, e4
    maddu d3, e3
    maddu d4, e2
    xor low1, low1, low
    xor high1, high1, high
    mflo low
    bne factors, d0, .Lproduct
      mfhi high
    four lw, FIFTHS, scratch, d0, d1, d2, d3
    lw d4, FIFTHS + 16(scratch)
    xor low1, low1, low
    xor high1, high1, high
    join_fifths low0, low1, low2, low3, low4, d0, d1, d2, d3, d4
    join_fifths high0, high1, high2, high3, high4, d3, d4, d0, d1, d2
    loadw e0, START(scratch)
    addip e1, scratch, TABLE + 9*COLUMN
    addip e2, factors, COLUMN
    sw low0, -FACTOR(factors)
    sw high0, -2*FACTOR(factors)
    subu e0, e0, scratch
    storew e2, LIMIT(scratch)
    addu e0, e0, factors
    bne factors, e1, .Lcolumn
      addip factors, e0, -(TABLE)
.endm

/* Y, from the columns. */
.macro join_and_reduce
    load_results 0, x0, x1, x2, x3, x4, x5
    load_results 3, x6, x7, x8, x9, x10, x11
    load_results 6, x12, x13, x14, x15, x16, x17
    join_pairs x0, x1, x2, x3, x4, x5
    join_pairs x6, x7, x8, x9, x10, x11
    join_pairs x12, x13, x14, x15, x16, x17

/* 256 bits in x0 .. x3, x6 .. x9: the products of low and of high halves, and that of sums added in the middle. */
    xor x2, x2, x6
    xor x3, x3, x7
    xor x12, x12, x0
    xor x13, x13, x1
    xor x14, x14, x8
    xor x15, x15, x9
    xor x6, x2, x14
    xor x7, x3, x15
    xor x2, x2, x12
    xor x3, x3, x13
    reduce x0, x3, x6, x4
    reduce x1, x6, x7, x4
    reduce x2, x7, x8, x4
    reduce x3, x8, x9, x4
    four sw, Y, scratch, x6, x7, x8, x9
.endm

#include "aesgcm_text.h"

constants sealane_aesgcm_mips32r2_constants
    .long 0x42108421, 0x84210842, 0x08421084, 0x10842108, 0x21084210 /* every fifth bit, from bit 0 to bit 4 on */
    .long 0, 0, 0
endconstants

#endif
