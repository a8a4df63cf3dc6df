/* Poly1305 in the integer registers of RV64, for the ChaCha20-Poly1305 kernels: names of registers, and macros.
 *
 * RFC 8439, 2.5: h = (h + m) r mod 2^130 - 5 for each block m of 16 bytes and a one above it. With h = h0, h1, h2 and
 * r = r0, r1 in words of 64 bits, 4 | r1 (clamped), and 2^130 = 5, that is 2^128 r1 = s1 := r1 + r1/4:
 *     h r = (h0 r0 + h1 s1) + 2^64 (h0 r1 + h1 r0 + h2 s1) + 2^128 h2 r0,
 * then h += 5 (h >> 130) without these bits. r0, r1 < 2^60 and h2 < 10, so h2 s1 and each upper half fit 64 bits.
 */
#include "../chacha20poly1305_scalar.h"

/* The accumulator, r0, r1, r1 + r1/4; the authenticated bytes, which are whole blocks up to limit and rest bytes after
 * them; their kind; products and carries; a block. */
#define h0 t0
#define h1 t1
#define h2 t2
#define r0 t3
#define r1 t4
#define s1r t5
#define message a2
#define limit a3
#define rest a4
#define phase a5
#define p0 a6
#define p1 a7
#define q0 s0
#define q1 s1
#define u0 s2
#define u1 t6
#define y0 s7
#define y1 s8
#define k0 s3
#define k1 s4
#define k2 s5
#define k3 s6
#define in0 k2
#define in1 k3

/* \bytes from \at(\from) to \scratch, by loads and stores of \size. */
.macro copy load, store, size, bytes, from, scratch, at=0
    .set copied, 0
    .rept \bytes / \size
    \load k3, \at + copied(\from)
    \store k3, \scratch + copied(a1)
    .set copied, copied + \size
    .endr
.endm

.macro load_key
    ld r0, POLY_R(a1)
    ld r1, POLY_R + 8(a1)
    srli s1r, r1, 2
    add s1r, s1r, r1
.endm

.macro poly_line number, instruction:vararg
    .if poly_item == \number
    \instruction
    .endif
.endm

.macro poly_load number, register, at
    .if poly_item == \number
    .if poly_at + 16 < poly_end
    ld \register, poly_at + 16 + \at(message)
    .endif
    .endif
.endm

/* The next instruction of h = (h + m + 2^128) r. The block is at poly_at from message, and the next
 * one, if it ends at poly_end or before, is loaded meanwhile. */
#define POLY_ITEMS 45
.macro poly_next
    poly_line 0, add h0, h0, in0
    poly_line 1, sltu in0, h0, in0
    poly_line 2, add h1, h1, in1
    poly_line 3, sltu in1, h1, in1
    poly_line 4, add h1, h1, in0
    poly_line 5, sltu in0, h1, in0
    poly_line 6, add h2, h2, in1
    poly_line 7, add h2, h2, in0
    poly_line 8, addi h2, h2, 1
    poly_line 9, mulhu p1, h0, r0
    poly_line 10, mulhu q1, h1, s1r
    poly_line 11, mul p0, h0, r0
    poly_line 12, mul q0, h1, s1r
    poly_line 13, mulhu u1, h0, r1
    poly_line 14, mulhu y1, h1, r0
    poly_line 15, mul u0, h0, r1
    poly_line 16, mul y0, h1, r0
    poly_line 17, mul k0, h2, s1r
    poly_load 18, in0, 0
    poly_line 19, mul h2, h2, r0        /* h2 r0 */
    poly_load 20, in1, 8
    poly_line 21, add p1, p1, q1
    poly_line 22, add p0, p0, q0        /* h0 r0 + h1 s1 */
    poly_line 23, sltu q0, p0, q0
    poly_line 24, add u1, u1, y1
    poly_line 25, add u0, u0, y0        /* h0 r1 + h1 r0 + h2 s1 + the carry above 2^64 */
    poly_line 26, sltu y0, u0, y0
    poly_line 27, add p1, p1, q0
    poly_line 28, add u0, u0, k0
    poly_line 29, sltu k0, u0, k0
    poly_line 30, add u1, u1, y0
    poly_line 31, add p1, p1, u0
    poly_line 32, sltu u0, p1, u0
    poly_line 33, add u1, u1, k0
    poly_line 34, add h2, h2, u1
    poly_line 35, add h2, h2, u0
    poly_line 36, srli k0, h2, 2
    poly_line 37, andi k1, h2, -4
    poly_line 38, add k0, k0, k1        /* 5 (h >> 130) */
    poly_line 39, andi h2, h2, 3
    poly_line 40, add h0, p0, k0
    poly_line 41, sltu k0, h0, k0
    poly_line 42, add h1, p1, k0
    poly_line 43, sltu k0, h1, k0
    poly_line 44, add h2, h2, k0
    .set poly_item, poly_item + 1
    .if poly_item == POLY_ITEMS
    .set poly_item, 0
    .set poly_at, poly_at + 16
    .endif
.endm

/* A whole block, which is in in0 and in1. */
.macro absorb
    .set poly_item, 0
    .set poly_at, 0
    .set poly_end, 0
    .rept POLY_ITEMS
    poly_next
    .endr
.endm

/* The end of a kernel.
 * tag = (h mod 2^130 - 5) + s mod 2^128; h < 2p, and h >= p if h + 5 reaches 2^130 */
.macro tag_or_state
.Ltag:
    addi k0, h0, 5
    sltiu k0, k0, 5
    add k1, h1, k0
    sltu k0, k1, k0
    add h2, h2, k0
    srli h2, h2, 2                      /* 0 or 1 */
    slli k0, h2, 2
    add k0, k0, h2
    ld p0, POLY_S(a1)
    ld p1, POLY_S + 8(a1)
    add h0, h0, k0
    sltu k0, h0, k0
    add h1, h1, k0
    add h0, h0, p0
    sltu p0, h0, p0
    add h1, h1, p1
    add h1, h1, p0
    ld k1, SEALANE_ARG_TAG(a0)
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    sb h0, \i(k1)
    sb h1, \i + 8(k1)
    srli h0, h0, 8
    srli h1, h1, 8
    .endr
    j .Lwipe

/* The state from which the next part of a packet continues. */
.Lsave:
    ld k0, SEALANE_ARG_STATE(a0)
    ld k1, POLY_S(a1)
    ld k2, POLY_S + 8(a1)
    lwu k3, STATE + 48(a1)
    sd h0, SEALANE_STATE_H(k0)
    sd h1, SEALANE_STATE_H + 8(k0)
    sd h2, SEALANE_STATE_H + 16(k0)
    sd r0, SEALANE_STATE_R(k0)
    sd r1, SEALANE_STATE_R + 8(k0)
    sd k1, SEALANE_STATE_S(k0)
    sd k2, SEALANE_STATE_S + 8(k0)
    sd k3, SEALANE_STATE_COUNTER(k0)
.endm

/* Loads what the previous part has stored. */
.macro load_state
    ld k0, SEALANE_ARG_STATE(a0)
    ld k1, SEALANE_STATE_COUNTER(k0)
    sw k1, STATE + 48(a1)
    copy ld, sd, 8, 16, k0, POLY_R, SEALANE_STATE_R
    copy ld, sd, 8, 16, k0, POLY_S, SEALANE_STATE_S
    ld h0, SEALANE_STATE_H(k0)
    ld h1, SEALANE_STATE_H + 8(k0)
    ld h2, SEALANE_STATE_H + 16(k0)
    load_key
.endm
