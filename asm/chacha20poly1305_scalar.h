/* The code in integer registers that the ChaCha20-Poly1305 kernels of RISC-V and MIPS share. They define
 * .macro quarter_step, and w0 to w15.
 */
#include "chacha20.h"

/* Scratch, relative to its register. */
#define STATE SEALANE_SCRATCH_SAVE_BYTES /* initial state of the next block */
#define BLOCK (STATE + 64)               /* keystream */
#define POLY_H (BLOCK + 64)
#define POLY_R (POLY_H + 24)
#define POLY_S (POLY_R + 16)
#define TAIL (POLY_S + 16)               /* the last bytes, padded with zeroes to 16, or the lengths */
#define END (TAIL + 16)

/* The kinds of authenticated data. */
#define PHASE_AD 0
#define PHASE_TEXT 1
#define PHASE_LENGTHS 2

/* Four quarter rounds side by side. */
.macro quarter_rounds a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3
    quarter_step ROTATE_1, \a0, \a1, \a2, \a3, \b0, \b1, \b2, \b3, \d0, \d1, \d2, \d3
    quarter_step ROTATE_2, \c0, \c1, \c2, \c3, \d0, \d1, \d2, \d3, \b0, \b1, \b2, \b3
    quarter_step ROTATE_3, \a0, \a1, \a2, \a3, \b0, \b1, \b2, \b3, \d0, \d1, \d2, \d3
    quarter_step ROTATE_4, \c0, \c1, \c2, \c3, \d0, \d1, \d2, \d3, \b0, \b1, \b2, \b3
.endm

.macro columns
    quarter_rounds w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15
.endm

.macro diagonals
    quarter_rounds w0, w1, w2, w3, w5, w6, w7, w4, w10, w11, w8, w9, w15, w12, w13, w14
.endm

.macro double_round
    columns
    diagonals
.endm

/* Four words, from \at on. */
.macro four op, at, from, x0, x1, x2, x3
    \op \x0, \at(\from)
    \op \x1, \at + 4(\from)
    \op \x2, \at + 8(\from)
    \op \x3, \at + 12(\from)
.endm
