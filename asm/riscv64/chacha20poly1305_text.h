/* ChaCha20-Poly1305 in the integer registers of RV64, for all levels: the file that includes this names KERNEL, and
 * may define WITH_ZBB.
 *
 * args       all SEALANE_ARG_* (asm/args.h); writes OUT[BYTES] and, by flags, TAG[16] or STATE[64]
 * scratch    200 bytes behind the saved registers, wiped before the return; stack 0
 * registers  all but ra, sp, gp, tp and s11; a0 and a1 hold args and scratch throughout
 * branches   and addresses depend on BYTES, AD_BYTES, FLAGS and pointers only
 * alignment  words and double words are loaded and stored where they are aligned: elsewhere a CPU may trap, and take
 *            hundreds of cycles. Texts at other addresses are processed byte by byte.
 *
 * ChaCha20 (RFC 8439, 2.3): a state of 4x4 words (constants; key; key; counter, nonce), 10 double rounds of
 *     a += b, d = (d ^ a) <<< 16;  c += d, b = (b ^ c) <<< 12;  a += b, d = (d ^ a) <<< 8;  c += d, b = (b ^ c) <<< 7
 * on the 4 columns, then on the 4 diagonals; the keystream block is the result plus the initial state. The upper halves
 * of the registers hold anything.
 *
 * Poly1305 (2.5): h = (h + m) r mod 2^130 - 5 for each block m of 16 bytes and a one above it. With h = h0, h1, h2 and
 * r = r0, r1 in words of 64 bits, 4 | r1 (clamped), and 2^130 = 5, that is 2^128 r1 = s1 := r1 + r1/4:
 *     h r = (h0 r0 + h1 s1) + 2^64 (h0 r1 + h1 r0 + h2 s1) + 2^128 h2 r0,
 * then h += 5 (h >> 130) without these bits. r0, r1 < 2^60 and h2 < 10, so h2 s1 and each upper half fit 64 bits.
 */

/* ChaCha20: the 16 words; factors of rotations, and loaded values; double rounds left; text, none for block 0. */
#define w0 t0
#define w1 t1
#define w2 t2
#define w3 t3
#define w4 t4
#define w5 t5
#define w6 t6
#define w7 a2
#define w8 a3
#define w9 a4
#define w10 a5
#define w11 a6
#define w12 a7
#define w13 s0
#define w14 s1
#define w15 s2
#define k0 s3
#define k1 s4
#define k2 s5
#define k3 s6
#define count s7
#define input s8
#define output s9
#define remaining s10

/* Poly1305: the accumulator, r0, r1, r1 + r1/4; the authenticated bytes: whole blocks up to limit, rest bytes behind
 * them, and their kind; products and carries. */
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
#define v0 s7
#define v1 s8

#include "../chacha20poly1305_scalar.h"

/* ---- ChaCha20 ---- */

/* Words, rotated to the left. */
.macro rotate bits, d0, d1, d2, d3
#if defined(WITH_ZBB)
    roriw_zbb \d0, \d0, 32 - \bits
    roriw_zbb \d1, \d1, 32 - \bits
    roriw_zbb \d2, \d2, 32 - \bits
    roriw_zbb \d3, \d3, 32 - \bits
#else
    slliw k0, \d0, \bits
    slliw k1, \d1, \bits
    slliw k2, \d2, \bits
    slliw k3, \d3, \bits
    srliw \d0, \d0, 32 - \bits
    srliw \d1, \d1, 32 - \bits
    srliw \d2, \d2, 32 - \bits
    srliw \d3, \d3, 32 - \bits
    or \d0, \d0, k0
    or \d1, \d1, k1
    or \d2, \d2, k2
    or \d3, \d3, k3
#endif
.endm

/* \a += \b, \d = (\d ^ \a) <<< \bits, of four quarter rounds side by side */
.macro quarter_step bits, a0, a1, a2, a3, b0, b1, b2, b3, d0, d1, d2, d3
    add \a0, \a0, \b0
    add \a1, \a1, \b1
    add \a2, \a2, \b2
    add \a3, \a3, \b3
    xor \d0, \d0, \a0
    xor \d1, \d1, \a1
    xor \d2, \d2, \a2
    xor \d3, \d3, \a3
    rotate \bits, \d0, \d1, \d2, \d3
.endm

/* \x += the initial state's words from \at on */
.macro add_initial at, x0, x1, x2, x3
    four lw, STATE + \at, a1, k0, k1, k2, k3
    add \x0, \x0, k0
    add \x1, \x1, k1
    add \x2, \x2, k2
    add \x3, \x3, k3
.endm

/* 16 bytes of text. */
.macro encrypt4 at, x0, x1, x2, x3
    add_initial \at, \x0, \x1, \x2, \x3
    four lw, \at, input, k0, k1, k2, k3
    xor \x0, \x0, k0
    xor \x1, \x1, k1
    xor \x2, \x2, k2
    xor \x3, \x3, k3
    four sw, \at, output, \x0, \x1, \x2, \x3
.endm

/* 16 bytes of keystream, kept in scratch. */
.macro keystream4 at, x0, x1, x2, x3
    add_initial \at, \x0, \x1, \x2, \x3
    four sw, BLOCK + \at, a1, \x0, \x1, \x2, \x3
.endm

/* The same for all 64. */
.macro all_words do
    \do 0, w0, w1, w2, w3
    \do 16, w4, w5, w6, w7
    \do 32, w8, w9, w10, w11
    \do 48, w12, w13, w14, w15
.endm

/* \bytes from \at(\from) to \scratch, by loads and stores of \size. */
.macro copy load, store, size, bytes, from, scratch, at=0
    .set copied, 0
    .rept \bytes / \size
    \load k3, \at + copied(\from)
    \store k3, \scratch + copied(a1)
    .set copied, copied + \size
    .endr
.endm

/* ---- Poly1305 ---- */

/* A block from message: p0, p1, by double words, words or bytes. */
.macro load_doubles
    ld p0, 0(message)
    ld p1, 8(message)
.endm

.macro load_words
    lwu p0, 0(message)
    lwu u0, 4(message)
    lwu p1, 8(message)
    lwu u1, 12(message)
    slli u0, u0, 32
    slli u1, u1, 32
    or p0, p0, u0
    or p1, p1, u1
.endm

.macro load_bytes
    lbu p0, 0(message)
    lbu p1, 8(message)
    .irp i, 1, 2, 3, 4, 5, 6, 7
    lbu u0, \i(message)
    lbu u1, \i + 8(message)
    slli u0, u0, 8*\i
    slli u1, u1, 8*\i
    or p0, p0, u0
    or p1, p1, u1
    .endr
.endm

/* Blocks up to limit, at least one: h = (h + m + 2^128) r. */
.macro authenticate load
1:  \load
    add h0, h0, p0
    sltu p0, h0, p0
    add h1, h1, p1
    sltu p1, h1, p1
    add h1, h1, p0
    sltu p0, h1, p0
    add h2, h2, p1
    add h2, h2, p0
    addi h2, h2, 1
    mul p0, h0, r0
    mulhu p1, h0, r0
    mul q0, h1, s1r
    mulhu q1, h1, s1r
    mul u0, h0, r1
    mulhu u1, h0, r1
    mul v0, h1, r0
    mulhu v1, h1, r0
    add p0, p0, q0                      /* h0 r0 + h1 s1 */
    mul k0, h2, s1r
    sltu q0, p0, q0
    add p1, p1, q1
    mul h2, h2, r0                      /* h2 r0 */
    add p1, p1, q0
    add u0, u0, v0                      /* h0 r1 + h1 r0 + h2 s1 + what is above 2^64 */
    sltu v0, u0, v0
    add u1, u1, v1
    add u1, u1, v0
    add u0, u0, k0
    sltu k0, u0, k0
    add p1, p1, u0
    sltu u0, p1, u0
    add u1, u1, k0
    add u1, u1, u0
    add h2, h2, u1
    srli k0, h2, 2
    andi k1, h2, -4
    andi h2, h2, 3
    add k0, k0, k1                      /* 5 (h >> 130) */
    add h0, p0, k0
    sltu k0, h0, k0
    add h1, p1, k0
    sltu k0, h1, k0
    add h2, h2, k0
    addi message, message, 16
    bne message, limit, 1b
    j .Lrest
.endm

.macro load_key
    ld r0, POLY_R(a1)
    ld r1, POLY_R + 8(a1)
    srli s1r, r1, 2
    add s1r, s1r, r1
.endm

/* ---- the kernel ---- */

scratch_end END
function KERNEL
    ld k0, SEALANE_ARG_FLAGS(a0)
    ld remaining, SEALANE_ARG_BYTES(a0)
    andi k1, k0, SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST
    or k1, k1, remaining
    beqz k1, .Ldone                     /* nothing to do */
    copy lw, sw, 4, 16, a2, STATE
    ld k1, SEALANE_ARG_KEY(a0)
    ld k2, SEALANE_ARG_NONCE(a0)
    or count, k1, k2
    andi count, count, 3
    bnez count, .Lkey_bytes
    copy lw, sw, 4, 32, k1, STATE + 16
    copy lw, sw, 4, 12, k2, STATE + 52
    j .Lcopied
.Lkey_bytes:
    copy lbu, sb, 1, 32, k1, STATE + 16
    copy lbu, sb, 1, 12, k2, STATE + 52
.Lcopied:
    sw zero, STATE + 48(a1)
    li input, 0
    andi k0, k0, SEALANE_FLAG_FIRST
    bnez k0, .Lblock

/* Another part of a packet: go on where the one before ended. */
    ld k0, SEALANE_ARG_STATE(a0)
    ld k1, SEALANE_STATE_COUNTER(k0)
    sw k1, STATE + 48(a1)
    copy ld, sd, 8, 16, k0, POLY_R, SEALANE_STATE_R
    copy ld, sd, 8, 16, k0, POLY_S, SEALANE_STATE_S
    ld h0, SEALANE_STATE_H(k0)
    ld h1, SEALANE_STATE_H + 8(k0)
    ld h2, SEALANE_STATE_H + 16(k0)
    load_key
    j .Ltext

/* One block of keystream. */
.Lblock:
    four lw, STATE, a1, w0, w1, w2, w3
    four lw, STATE + 16, a1, w4, w5, w6, w7
    four lw, STATE + 32, a1, w8, w9, w10, w11
    four lw, STATE + 48, a1, w12, w13, w14, w15
    li count, 10
.Lrounds:
    double_round
    addi count, count, -1
    bnez count, .Lrounds
    beqz input, .Lkey
    sltiu k0, remaining, 64
    bnez k0, .Lkeystream
    or k0, input, output
    andi k0, k0, 3
    bnez k0, .Lkeystream
    all_words encrypt4
    lw k0, STATE + 48(a1)
    addi input, input, 64
    addi output, output, 64
    addi k0, k0, 1
    addi remaining, remaining, -64
    sw k0, STATE + 48(a1)
    bnez remaining, .Lblock
    j .Lencrypted

/* The last bytes, or a text that is not aligned. */
.Lkeystream:
    all_words keystream4
    lw k0, STATE + 48(a1)
    addi k0, k0, 1
    sw k0, STATE + 48(a1)
    addi k2, a1, BLOCK
    li count, 64
    bgeu remaining, count, .Lchunks
    mv count, remaining
.Lchunks:
    sub remaining, remaining, count
    sltiu k0, count, 16
    bnez k0, .Lchunked
.Lchunk:
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    lbu k0, \i(input)
    lbu k1, \i(k2)
    xor k0, k0, k1
    sb k0, \i(output)
    .endr
    addi k2, k2, 16
    addi input, input, 16
    addi output, output, 16
    addi count, count, -16
    sltiu k0, count, 16
    beqz k0, .Lchunk
.Lchunked:
    beqz count, .Lkeystream_used
.Lbyte:
    lbu k0, 0(input)
    lbu k1, 0(k2)
    addi input, input, 1
    xor k0, k0, k1
    addi k2, k2, 1
    sb k0, 0(output)
    addi count, count, -1
    addi output, output, 1
    bnez count, .Lbyte
.Lkeystream_used:
    bnez remaining, .Lblock
    j .Lencrypted

/* Block 0: r = its words 0..3, clamped, s = words 4..7 (RFC 8439, 2.6); then the associated data. */
.Lkey:
    keystream4 16, w4, w5, w6, w7
    add_initial 0, w0, w1, w2, w3
    .irp w, w0, w1, w2, w3
    slliw \w, \w, 4
    .endr
    .irp w, w0, w1, w2, w3
    srliw \w, \w, 4
    .endr
    .irp w, w1, w2, w3
    andi \w, \w, -4
    .endr
    four sw, POLY_R, a1, w0, w1, w2, w3
    copy ld, sd, 8, 16, a1, POLY_S, BLOCK + 16
    li k0, 1
    sw k0, STATE + 48(a1)
    load_key
    li h0, 0
    li h1, 0
    li h2, 0
    ld message, SEALANE_ARG_AD(a0)
    ld rest, SEALANE_ARG_AD_BYTES(a0)
    li phase, PHASE_AD

/* Authenticate rest bytes at message, padded with zeroes. */
.Lauthenticate:
    andi k0, rest, 15
    sub limit, rest, k0
    add limit, limit, message
    mv rest, k0
    beq message, limit, .Lrest
    andi k0, message, 7
    beqz k0, .Ldoubles
    andi k0, k0, 3
    beqz k0, .Lwords
    authenticate load_bytes
.Lwords:
    authenticate load_words
.Ldoubles:
    authenticate load_doubles
.Lrest:
    beqz rest, .Lauthenticated
    sd zero, TAIL(a1)
    sd zero, TAIL + 8(a1)
    addi k1, a1, TAIL
.Lpad:
    lbu k0, 0(message)
    addi message, message, 1
    addi rest, rest, -1
    sb k0, 0(k1)
    addi k1, k1, 1
    bnez rest, .Lpad
.Ltail:
    addi message, a1, TAIL
    addi limit, a1, TAIL + 16
    j .Ldoubles

.Lauthenticated:
    ld k0, SEALANE_ARG_FLAGS(a0)
    li k1, PHASE_TEXT
    andi k2, k0, SEALANE_FLAG_OPEN
    bltu k1, phase, .Ltag
    beq k1, phase, .Lwas_text

/* Open authenticates the text first, since it may be overwritten. */
.Ltext:
    ld k0, SEALANE_ARG_FLAGS(a0)
    ld message, SEALANE_ARG_IN(a0)
    andi k2, k0, SEALANE_FLAG_OPEN
    ld rest, SEALANE_ARG_BYTES(a0)
    li phase, PHASE_TEXT
    beqz k2, .Lencrypt
    j .Lauthenticate
.Lwas_text:
    beqz k2, .Lfinish

.Lencrypt:
    sd h0, POLY_H(a1)
    sd h1, POLY_H + 8(a1)
    sd h2, POLY_H + 16(a1)
    ld input, SEALANE_ARG_IN(a0)
    ld output, SEALANE_ARG_OUT(a0)
    ld remaining, SEALANE_ARG_BYTES(a0)
    bnez remaining, .Lblock
.Lencrypted:
    ld k0, SEALANE_ARG_FLAGS(a0)
    ld h0, POLY_H(a1)
    ld h1, POLY_H + 8(a1)
    ld h2, POLY_H + 16(a1)
    load_key
    andi k2, k0, SEALANE_FLAG_OPEN
    ld message, SEALANE_ARG_OUT(a0)
    ld rest, SEALANE_ARG_BYTES(a0)
    li phase, PHASE_TEXT
    beqz k2, .Lauthenticate

.Lfinish:
    andi k1, k0, SEALANE_FLAG_LAST
    beqz k1, .Lsave
    ld k0, SEALANE_ARG_AD_BYTES(a0)
    ld k1, SEALANE_ARG_TOTAL(a0)
    li phase, PHASE_LENGTHS
    li rest, 0
    sd k0, TAIL(a1)
    sd k1, TAIL + 8(a1)
    j .Ltail

/* tag = (h mod 2^130 - 5) + s mod 2^128; h < 2p, and h >= p if h + 5 reaches 2^130 */
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

.Lwipe:
    .set wiped, STATE
    .rept (END - STATE) / 8
    sd zero, wiped(a1)
    .set wiped, wiped + 8
    .endr
.Ldone:
endfunction
