/* AES-GCM in integer registers.
 *
 *     void sealane_aesgcm_mips64r2(const args *a, void *scratch, const void *consts);
 *
 * CPU        MIPS64 release 2 (rotr, wsbh, dshd, ins, dinsu; dmultu to HI and LO), either byte order, no release 6
 * the rest   ../mips/aesgcm_text.h
 *
 * GHASH: each of the three products of words of 64 bits (Karatsuba) is a sum over POWERS blocks. It consists of 25
 * integer products, of every fifth bit of one word and every fifth of the other. A column of bits is at most 13, so
 * no carry reaches the next one, and the lowest bit of a sum is the sum modulo 2. Five products have their columns in
 * the same places.
 */
#include "../asm.S"

#if defined(__mips__) && defined(_ABI64) && _MIPS_SIM == _ABI64 && __mips_isa_rev >= 2 && __mips_isa_rev < 6

isa mips64r2

#include "../mips/words.h"

#define KERNEL sealane_aesgcm_mips64r2
#define COLUMNS 3
#define FACTOR 48 /* bytes: a block's word, and every fifth bit of the word of its power */
#define END 3328

#include "../mips/aesgcm_names.h"

.macro to_halves x
    dinsu \x, \x, 32, 32
.endm

/* A row of a round key, for all blocks. */
.macro load_key x, at, from
    lw \x, \at(\from)
    to_halves \x
.endm

/* Masks for rotations to the right by 8 and by 24 bits: the result's bits that come from higher bits. */
.macro rotation_masks m1, m3
    constant \m1, 0x00ffffff
    to_halves \m1
    constant \m3, 0x000000ff
    to_halves \m3
.endm

/* Both halves, to the right by 8 n bits. */
.macro rotate_row n, x, t, m1, m3
.if \n == 2
    dshd \x, \x
    drotr \x, \x, 32
.else
    dsrl \t, \x, 8*\n
    dsll \x, \x, 32 - 8*\n
    xor \t, \t, \x
.if \n == 1
    and \t, \t, \m1
.else
    and \t, \t, \m3
.endif
    xor \x, \x, \t
.endif
.endm

/* Blocks follow each other in memory: the first half is that of the first. */
#if defined(__MIPSEB__)
#define LOWER 1
#define UPPER 0
#else
#define LOWER 0
#define UPPER 1
#endif

.macro counter_pair n, x
    addiu x9, x0, 2*\n + UPPER
    addiu \x, x0, 2*\n + LOWER
    dinsu \x, x9, 32, 32
.endm

/* x0 .. x7 := the counters of the next pass. */
.macro counters
    addiu x8, x0, 16
    sw x8, COUNTER(scratch)
    counter_pair 7, x7
    counter_pair 6, x6
    counter_pair 5, x5
    counter_pair 4, x4
    counter_pair 3, x3
    counter_pair 2, x2
    counter_pair 1, x1
    counter_pair 0, x0
.endm

/* ---- GHASH ---- */

#define PAIR0 x10, x11 /* products, which come 5 cycles after mflo */
#define PAIR1 x12, x13
#define sum_low x14    /* of five products */
#define sum_high x15
#define result_low x16 /* of a column */
#define result_high x17
#define mask_low x18
#define mask_high x19
#define limit x20

.macro product d, e, low, high
    dmultu \d, \e
    mflo \low
    mfhi \high
.endm

.macro add_product low, high
    xor sum_low, sum_low, \low
    xor sum_high, sum_high, \high
.endm

/* The bits of a sum that are its columns', those from bit n on. */
.macro keep_fifth n
    ld mask_low, FIFTHS + 8*\n(scratch)
    ld mask_high, FIFTHS + 8*((\n + 1) % 5)(scratch)
    and sum_low, sum_low, mask_low
    and sum_high, sum_high, mask_high
    xor result_low, result_low, sum_low
    xor result_high, result_high, sum_high
.endm

/* Five products, whose columns start at bit n. The last stays in low and high, the sum of the previous five is in
 * low2 and high2. */
.macro five_products n, low, high, low2, high2, a0, b0, a1, b1, a2, b2, a3, b3, a4, b4
    product \a0, \b0, \low, \high
.if \n > 0
    add_product \low2, \high2
    keep_fifth (\n - 1)
.endif
    product \a1, \b1, \low2, \high2
    or sum_low, \low, $0
    or sum_high, \high, $0
    product \a2, \b2, \low, \high
    add_product \low2, \high2
    product \a3, \b3, \low2, \high2
    add_product \low, \high
    product \a4, \b4, \low, \high
    add_product \low2, \high2
.endm

/* Multiplies all columns. */
.macro multiply
    ld factors, START(scratch)
    or limit, x7, $0
.Lcolumn:
    or result_low, $0, $0
    or result_high, $0, $0
.Lproduct:
    ld d4, 0(factors)
    five_words ld, FIFTHS, scratch, e0, e1, e2, e3, e4
    and d0, d4, e0
    and d1, d4, e1
    and d2, d4, e2
    and d3, d4, e3
    and d4, d4, e4
    five_words ld, 8, factors, e0, e1, e2, e3, e4
    five_products 0, PAIR0, PAIR1, d0, e0, d1, e4, d2, e3, d3, e2, d4, e1
    five_products 1, PAIR1, PAIR0, d0, e1, d1, e0, d2, e4, d3, e3, d4, e2
    five_products 2, PAIR0, PAIR1, d0, e2, d1, e1, d2, e0, d3, e4, d4, e3
    five_products 3, PAIR1, PAIR0, d0, e3, d1, e2, d2, e1, d3, e0, d4, e4
    five_products 4, PAIR0, PAIR1, d0, e4, d1, e3, d2, e2, d3, e1, d4, e0
    add_product PAIR0
    daddiu factors, factors, FACTOR
    keep_fifth 4
    bne factors, limit, .Lproduct
      daddiu d1, scratch, TABLE + COLUMNS*COLUMN
    ld d0, START(scratch)
    sd result_low, -FACTOR(factors)
    sd result_high, -2*FACTOR(factors)
    daddiu limit, factors, COLUMN
    dsubu d0, d0, scratch
    daddu d0, d0, factors
    bne factors, d1, .Lcolumn
      daddiu factors, d0, -(TABLE)
.endm

#define RESULT_LOW LAST_FACTORS
#define RESULT_HIGH LAST_FACTORS - FACTOR

.macro load_result column, low, high
    ld \low, RESULT_LOW + COLUMN*\column(scratch)
    ld \high, RESULT_HIGH + COLUMN*\column(scratch)
.endm

/* Y, from the columns. */
.macro join_and_reduce
    load_result 0, x0, x1
    load_result 1, x2, x3
    load_result 2, x4, x5
    join_pairs x0, x1, x2, x3, x4, x5
    reduce x0, x1, x2, x4
    reduce x1, x2, x3, x4
    dsrl x4, x2, 32
    dsrl x5, x3, 32
    four sw, Y, scratch, x2, x4, x3, x5
.endm

/* x0 and x2 = x0 .. x3, the lowest first. */
.macro join_halves
    dinsu x0, x1, 32, 32
    dinsu x2, x3, 32, 32
.endm

/* Every fifth bit of \x to the factors at x4; x10 .. x14: masks. */
.macro store_fifths column, x
    every_fifth \x
    five_words sd, \column*COLUMN + 8, x4, x15, x16, x17, x18, x19
.endm

/* A power of the hash key, in x0 .. x3. */
.macro store_power
    join_halves
    store_fifths 0, x0
    store_fifths 1, x2
    xor x0, x0, x2
    store_fifths 2, x0
.endm

/* A block, in x0 .. x3, to the factors at x5. */
.macro store_block
    join_halves
    sd x0, 0(x5)
    sd x2, COLUMN(x5)
    xor x0, x0, x2
    sd x0, 2*COLUMN(x5)
.endm

#include "../mips/aesgcm_text.h"

constants sealane_aesgcm_mips64r2_constants
    .quad 0x1084210842108421, 0x2108421084210842, 0x4210842108421084, 0x8421084210842108, 0x0842108421084210
    .quad 0 /* every fifth bit, from bit 0 to bit 4 on */
endconstants

#endif
