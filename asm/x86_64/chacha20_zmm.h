/* ChaCha20 (RFC 8439, 2.1 and 2.3) on 512-bit vectors: the code that the kernels of one packet and of many share. */

#include "../chacha20.h"

/* A quarter round is 12 steps: a += b; d ^= a; d <<<= 16;  c += d; b ^= c; b <<<= 12;  and again with 8 and 7.
 * Step number `step` of one, on registers of any layout.
 */
.macro quarter step, a, b, c, d
    .if \step == 0 || \step == 6
    vpaddd zmm\a, zmm\a, zmm\b
    .elseif \step == 1 || \step == 7
    vpxord zmm\d, zmm\d, zmm\a
    .elseif \step == 2
    vprold zmm\d, zmm\d, ROTATE_1
    .elseif \step == 8
    vprold zmm\d, zmm\d, ROTATE_3
    .elseif \step == 3 || \step == 9
    vpaddd zmm\c, zmm\c, zmm\d
    .elseif \step == 4 || \step == 10
    vpxord zmm\b, zmm\b, zmm\c
    .elseif \step == 5
    vprold zmm\b, zmm\b, ROTATE_2
    .else
    vprold zmm\b, zmm\b, ROTATE_4
    .endif
.endm

/* Register w is word w of sixteen blocks, register 16 + w of the next sixteen. Two quarter rounds of the columns
 * (half 0) or of the diagonals (half 1). Of all orders that were tried, this one keeps the units busiest.
 */
.macro columns half, pair, step
    .if \half == 0
        .if \pair == 0
    quarter \step, 0, 4, 8, 12
    quarter \step, 1, 5, 9, 13
        .elseif \pair == 1
    quarter \step, 2, 6, 10, 14
    quarter \step, 3, 7, 11, 15
        .elseif \pair == 2
    quarter \step, 16, 20, 24, 28
    quarter \step, 17, 21, 25, 29
        .else
    quarter \step, 18, 22, 26, 30
    quarter \step, 19, 23, 27, 31
        .endif
    .else
        .if \pair == 0
    quarter \step, 0, 5, 10, 15
    quarter \step, 1, 6, 11, 12
        .elseif \pair == 1
    quarter \step, 2, 7, 8, 13
    quarter \step, 3, 4, 9, 14
        .elseif \pair == 2
    quarter \step, 16, 21, 26, 31
    quarter \step, 17, 22, 27, 28
        .else
    quarter \step, 18, 23, 24, 29
    quarter \step, 19, 20, 25, 30
        .endif
    .endif
.endm

/* Words w to w + 3 of sixteen blocks, transposed in each quarter, by way of t0 to t3: quarter l of register j becomes
 * these words of block 4 l + j. */
.macro transpose_words a0, a1, a2, a3, t0=24, t1=25, t2=26, t3=27
    vpunpckldq zmm\t0, zmm\a0, zmm\a1
    vpunpckhdq zmm\t1, zmm\a0, zmm\a1
    vpunpckldq zmm\t2, zmm\a2, zmm\a3
    vpunpckhdq zmm\t3, zmm\a2, zmm\a3
    vpunpcklqdq zmm\a0, zmm\t0, zmm\t2
    vpunpckhqdq zmm\a1, zmm\t0, zmm\t2
    vpunpcklqdq zmm\a2, zmm\t1, zmm\t3
    vpunpckhqdq zmm\a3, zmm\t1, zmm\t3
.endm

/* Half a double round of 32 blocks. */
.macro thirtytwo_round half
    .irp step, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    columns \half, 0, \step
    columns \half, 1, \step
    .endr
    .irp step, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    columns \half, 2, \step
    columns \half, 3, \step
    .endr
.endm
