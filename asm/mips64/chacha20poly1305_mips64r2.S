/* ChaCha20-Poly1305 in integer registers: seals or opens one packet, or one part of a long one, in one call.
 *
 *     void sealane_chacha20poly1305_mips64r2(const args *a, void *scratch, const void *consts);
 *
 * CPU        MIPS64 release 2 (rotr, dsbh, dshd, ins, dinsu; dmultu to HI and LO), either byte order, no release 6
 * the rest   ../mips/chacha20poly1305_text.h
 *
 * Poly1305 (RFC 8439, 2.5): h = (h + m) r mod 2^130 - 5 for each block m of 16 bytes and a one above it. With h + m =
 * m0, m1, h2 and r = r0, r1 in words of 64 bits, 4 | r1 (clamped), and 2^130 = 5, that is 2^128 r1 = s1 := r1 + r1/4:
 *     h r = (m0 r0 + m1 s1) + 2^64 (m0 r1 + m1 r0 + h2 s1) + 2^128 h2 r0
 * The next block adds 5 (h >> 130) and drops these bits. r0, r1 < 2^60, and h2 <= 6 with the block. So h2 s1 and
 * each upper half fit 64 bits, and so does 5/4 of 2^128's word.
 */
#include "../asm.S"

#if defined(__mips__) && defined(_ABI64) && _MIPS_SIM == _ABI64 && __mips_isa_rev >= 2 && __mips_isa_rev < 6

isa mips64r2

#define KERNEL sealane_chacha20poly1305_mips64r2

/* h; r; s1; h + m, and, while nothing is authenticated, m2 and m3; halves of the other products. */
#define h0 $8
#define h1 $9
#define h2 $10
#define r0 $11
#define r1 $12
#define s1 $13
#define m0 $14
#define m1 $15
#define m2 $16
#define m3 $17
#define a0 $18
#define a1 $19
#define b0 $20
#define c0 $21
#define c1 $22
#define d0 $6

#include "../mips/chacha20poly1305_names.h"

/* Converts between a number and its 8 bytes in memory, least significant first. */
.macro little8 x
#if defined(__MIPSEB__)
    dsbh \x, \x
    dshd \x, \x
#endif
.endm

.macro encrypt2 at, x, y
    add_initial \at, \x, \y
    any_address ldl, ldr, 8, k0, \at, input
    dinsu \x, \y, 32, 32
    little8 \x
    xor \x, \x, k0
    any_address sdl, sdr, 8, \x, \at, output
.endm

.macro encrypt2_aligned at, x, y
    add_initial \at, \x, \y
    ld k0, \at(input)
    dinsu \x, \y, 32, 32
    little8 \x
    xor \x, \x, k0
    sd \x, \at(output)
.endm

.macro poly_key
    ld r0, POLY_R(scratch)
    ld r1, POLY_R + 8(scratch)
    dsrl s1, r1, 2
    daddu s1, s1, r1
.endm

.macro poly_zero
    .irp h, h0, h1, h2
    or \h, $0, $0
    .endr
.endm

.macro poly_load at, from
    ld h0, \at(\from)
    ld h1, \at + 8(\from)
    ld h2, \at + 16(\from)
.endm

.macro poly_save at, to
    sd h0, \at(\to)
    sd h1, \at + 8(\to)
    sd h2, \at + 16(\to)
.endm

/* k0 = 5 (h >> 130), and h without these bits */
.macro poly_excess
    dsrl k0, h2, 2
    daddu k0, k0, h2
    andi h2, h2, 3
    dsubu k0, k0, h2
.endm

.macro load_block
    ld m0, 0(message)
    ld m1, 8(message)
.endm

.macro load_any_block
    any_address2 ldl, ldr, 8, m0, m1, 0, message
.endm

/* A product's halves arrive about 5 cycles after they are read: they are added after the next two products. */
.macro poly_loop load
1:  \load
    daddu h2, h2, k0
    poly_excess
    little8 m0
    little8 m1
    add_word m0, h0
    dmultu m0, r0
    add_word m1, h1
    mflo h0                             /* m0 r0 */
    mfhi h1
    dmultu m1, s1
    daddu h2, h2, k0
    daddiu h2, h2, 1
    daddiu message, message, 16
    mflo a0                             /* m1 s1 */
    mfhi a1
    dmultu m0, r1
    mflo b0                             /* m0 r1 */
    mfhi k0
    dmultu m1, r0
    carry_word h0, a0
    daddu h1, h1, a1
    mflo c0                             /* m1 r0 */
    mfhi c1
    dmultu h2, s1
    daddu h1, h1, a0                    /* carry of the first sum */
    carry_word h1, b0
    daddu k0, k0, b0
    mflo d0                             /* h2 s1 */
    dmultu h2, r0
    carry_word h1, c0
    daddu k0, k0, c1
    daddu k0, k0, c0
    carry_word h1, d0
    daddu k0, k0, d0
    bne message, limit, 1b
      mflo h2
    b .Lrest
      daddu h2, h2, k0
.endm

.macro poly_fold
    poly_excess
    carry_word h0, k0
    carry_word h1, k0
    daddu h2, h2, k0
.endm

/* tag = (h mod 2^130 - 5) + s mod 2^128; h < 2p, and h >= p if h + 5 reaches 2^130 */
.macro poly_tag
    daddiu k0, h0, 5
    sltiu k0, k0, 5
    daddu k1, h1, k0
    sltu k0, k1, k0
    daddu h2, h2, k0
    dsrl h2, h2, 2                      /* 0 or 1 */
    dsll k0, h2, 2
    daddu k0, k0, h2
    ld m0, POLY_S(scratch)
    ld m1, POLY_S + 8(scratch)
    load_pointer k1, SEALANE_ARG_TAG, args
    add_word m0, h0
    daddu m1, m1, h1
    daddu m1, m1, k0
    little8 m0
    little8 m1
    any_address sdl, sdr, 8, m0, 0, k1
    any_address sdl, sdr, 8, m1, 8, k1
.endm

#include "../mips/chacha20poly1305_text.h"

constants sealane_chacha20poly1305_mips64r2_constants
    .long 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574
endconstants

#endif
