/* Names and short macros, for the macros that chacha20poly1305_text.h uses. */

#include "words.h"

/* ChaCha20: the 16 words; the loaded word; double rounds left; text, or 0 for block 0. */
#define w0 $8
#define w1 $9
#define w2 $10
#define w3 $11
#define w4 $12
#define w5 $13
#define w6 $14
#define w7 $15
#define w8 $16
#define w9 $17
#define w10 $18
#define w11 $19
#define w12 $20
#define w13 $21
#define w14 $22
#define w15 $6
#define k0 $24
#define k1 $25
#define count $1
#define input $2
#define output $3
#define remaining $7

/* Poly1305: the authenticated bytes, which are whole blocks up to limit and rest bytes after them; their kind. */
#define message $2
#define limit $3
#define rest $7
#define phase $1

#include "../chacha20poly1305_scalar.h"

/* any_address of two, where the second half of a load does not wait for the first. */
.macro any_address2 left, right, bytes, x, y, at, from
#if defined(__MIPSEB__)
    \left \x, \at(\from)
    \left \y, \at + \bytes(\from)
    \right \x, \at + \bytes - 1(\from)
    \right \y, \at + 2*\bytes - 1(\from)
#else
    \right \x, \at(\from)
    \right \y, \at + \bytes(\from)
    \left \x, \at + \bytes - 1(\from)
    \left \y, \at + 2*\bytes - 1(\from)
#endif
.endm

/* Two numbers of 64 bits, each of two words. */
.macro two_slots op, at, from, x0, x1, x2, x3
    \op \x0, \at + LOW(\from)
    \op \x1, \at + HIGH(\from)
    \op \x2, \at + 8 + LOW(\from)
    \op \x3, \at + 8 + HIGH(\from)
.endm

/* Two words of keystream: \x += the initial state's at \at. */
.macro add_initial at, x, y
    lw k0, STATE + \at(scratch)
    lw k1, STATE + \at + 4(scratch)
    addu \x, \x, k0
    addu \y, \y, k1
.endm

/* \m += \h + k0; k0 becomes the carry. */
.macro add_word m, h
    addp \m, \m, \h
    sltu \h, \m, \h
    addp \m, \m, k0
    sltu k0, \m, k0
    addp k0, k0, \h
.endm

/* \h += \carry; \carry becomes the carry. */
.macro carry_word h, carry
    addp \h, \h, \carry
    sltu \carry, \h, \carry
.endm
