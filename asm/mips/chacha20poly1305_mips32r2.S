/* ChaCha20-Poly1305 in integer registers: seals or opens one packet, or one part of a long one, in one call.
 *
 *     void sealane_chacha20poly1305_mips32r2(const args *a, void *scratch, const void *consts);
 *
 * CPU        MIPS32 release 2 (rotr, wsbh, ins; maddu in HI and LO), either byte order, no release 6
 * the rest   chacha20poly1305_text.h
 *
 * Poly1305 (RFC 8439, 2.5): h = (h + m) r mod 2^130 - 5 for each block m of 16 bytes and a one above it. With h + m =
 * m0 .. m3, h4 and r = r0 .. r3 in words, 4 | r1, r2, r3 (clamped), and 2^130 = 5, that is 2^128 ri = si := ri + ri/4:
 *     h r = (m0 r0 + m1 s3 + m2 s2 + m3 s1) + 2^32 (m0 r1 + m1 r0 + m2 s3 + m3 s2 + h4 s1)
 *         + 2^64 (m0 r2 + m1 r1 + m2 r0 + m3 s3 + h4 s2) + 2^96 (m0 r3 + m1 r2 + m2 r1 + m3 r0 + h4 s3) + 2^128 h4 r0
 * The next block adds 5 (h >> 130) and drops these bits. ri < 2^28, and h4 <= 6 with the block. Each sum and the
 * carry of the previous one fit HI and LO. 2^128's word is at most 11 2^28, and 5/4 of it fit 32 bits.
 *
 * What is read from HI and LO arrives 5 cycles later on 24K: the next sum's products come before the carry to it.
 */
#include "../asm.S"

#if defined(__mips__) && defined(_ABIO32) && _MIPS_SIM == _ABIO32 && __mips_isa_rev >= 2 && __mips_isa_rev < 6

isa mips32r2

#define KERNEL sealane_chacha20poly1305_mips32r2

/* h; r; s1 to s3; h + m; 1 while there are blocks. */
#define h0 $8
#define h1 $9
#define h2 $10
#define h3 $11
#define h4 $12
#define r0 $13
#define r1 $14
#define r2 $15
#define r3 $16
#define s1 $17
#define s2 $18
#define s3 $19
#define m0 $20
#define m1 $21
#define m2 $22
#define m3 $6
#define one k1

#include "chacha20poly1305_names.h"

.macro store_aligned x, at, to
    sw \x, \at(\to)
.endm

/* Two words: \x += the initial state's, and with the text in k0 and k1. */
.macro encrypted at, x, y, store
    little \x
    little \y
    xor \x, \x, k0
    xor \y, \y, k1
    \store \x, \at, output
    \store \y, \at + 4, output
.endm

.macro encrypt2 at, x, y
    add_initial \at, \x, \y
    any_address2 lwl, lwr, 4, k0, k1, \at, input
    encrypted \at, \x, \y, store_any
.endm

.macro encrypt2_aligned at, x, y
    add_initial \at, \x, \y
    lw k0, \at(input)
    lw k1, \at + 4(input)
    encrypted \at, \x, \y, store_aligned
.endm

.macro poly_key
    two_slots lw, POLY_R, scratch, r0, r1, r2, r3
    srl s1, r1, 2
    srl s2, r2, 2
    srl s3, r3, 2
    addu s1, s1, r1
    addu s2, s2, r2
    addu s3, s3, r3
.endm

.macro poly_zero
    .irp h, h0, h1, h2, h3, h4
    or \h, $0, $0
    .endr
.endm

.macro poly_load at, from
    two_slots lw, \at, \from, h0, h1, h2, h3
    lw h4, \at + 16 + LOW(\from)
.endm

.macro poly_save at, to
    two_slots sw, \at, \to, h0, h1, h2, h3
    sw h4, \at + 16 + LOW(\to)
.endm

/* HI and LO = a sum of products of m0 .. m3, and of h4, and the carry of the previous sum; then its word, k0
 * above. */
.macro sum h, f0, f1, f2, f3, f4
    multu m0, \f0
    maddu m1, \f1
    maddu m2, \f2
    maddu m3, \f3
    .ifnb \f4
    maddu h4, \f4
    maddu k0, one
    .endif
    mflo \h
    mfhi k0
.endm

/* k0 = 5 (h >> 130), and h without these bits */
.macro poly_excess
    srl k0, h4, 2
    addu k0, k0, h4
    andi h4, h4, 3
    subu k0, k0, h4
.endm

.macro load_block
    four lw, 0, message, m0, m1, m2, m3
.endm

.macro load_any_block
    any_address2 lwl, lwr, 4, m0, m1, 0, message
    any_address2 lwl, lwr, 4, m2, m3, 8, message
.endm

.macro poly_loop load
    addiu one, $0, 1
1:  \load
    addu h4, h4, k0
    poly_excess
    .irp m, m0, m1, m2, m3
    little \m
    .endr
    add_word m0, h0
    add_word m1, h1
    add_word m2, h2
    add_word m3, h3
    addu h4, h4, k0
    addiu h4, h4, 1
    sum h0, r0, s3, s2, s1
    sum h1, r1, r0, s3, s2, s1
    sum h2, r2, r1, r0, s3, s2
    sum h3, r3, r2, r1, r0, s3
    addiu message, message, 16
    bne message, limit, 1b
      mul h4, h4, r0
    b .Lrest
      addu h4, h4, k0
.endm

.macro poly_fold
    poly_excess
    .irp h, h0, h1, h2, h3
    carry_word \h, k0
    .endr
    addu h4, h4, k0
.endm

/* tag = (h mod 2^130 - 5) + s mod 2^128; h < 2p, and h >= p if h + 5 reaches 2^130 */
.macro poly_tag
    addiu k0, h0, 5
    sltiu k0, k0, 5
    .irp h, h1, h2, h3
    addu k1, \h, k0
    sltu k0, k1, k0
    .endr
    addu h4, h4, k0
    srl h4, h4, 2                       /* 0 or 1 */
    sll k0, h4, 2
    addu k0, k0, h4
    two_slots lw, POLY_S, scratch, m0, m1, m2, m3
    load_pointer k1, SEALANE_ARG_TAG, args
    add_word m0, h0
    add_word m1, h1
    add_word m2, h2
    addu m3, m3, h3
    addu m3, m3, k0
    .irp m, m0, m1, m2, m3
    little \m
    .endr
    store_any m0, 0, k1
    store_any m1, 4, k1
    store_any m2, 8, k1
    store_any m3, 12, k1
.endm

#include "chacha20poly1305_text.h"

constants sealane_chacha20poly1305_mips32r2_constants
    .long 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574
endconstants

#endif
