/* ChaCha20-Poly1305 in the integer registers of RV64, for all levels: the file that includes this names KERNEL, and
 * may define WITH_ZBB.
 *
 * args       all SEALANE_ARG_* (asm/args.h); writes OUT[BYTES] and, by flags, TAG[16] or STATE[64]
 * scratch    200 bytes after the saved registers, wiped before the return; stack 0
 * registers  all but ra, sp, gp, tp and s11; a0 and a1 hold args and scratch throughout
 * branches   and addresses depend on BYTES, AD_BYTES, FLAGS and pointers only
 * alignment  words and double words are loaded and stored where they are aligned: elsewhere a CPU may trap, and take
 *            hundreds of cycles. Texts at other addresses are processed byte by byte.
 *
 * ChaCha20 (RFC 8439, 2.3): a state of 4x4 words (constants; key; key; counter, nonce), 10 double rounds of
 *     a += b, d = (d ^ a) <<< 16;  c += d, b = (b ^ c) <<< 12;  a += b, d = (d ^ a) <<< 8;  c += d, b = (b ^ c) <<< 7
 * on the 4 columns, then on the 4 diagonals; the keystream block is the result plus the initial state. The upper halves
 * of the registers hold anything. Poly1305 is in poly1305.h.
 */

/* ChaCha20: the 16 words; double rounds left; text, or 0 for block 0. k0 to k3 hold factors of rotations, and loaded
 * values. */
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
#define count s7
#define input s8
#define output s9
#define remaining s10

#include "poly1305.h"

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

/* ---- Poly1305 ---- */

/* A block from message: in0, in1, by double words, words or bytes. */
.macro load_doubles
    ld in0, 0(message)
    ld in1, 8(message)
.endm

.macro load_words
    lwu in0, 0(message)
    lwu u0, 4(message)
    lwu in1, 8(message)
    lwu u1, 12(message)
    slli u0, u0, 32
    slli u1, u1, 32
    or in0, in0, u0
    or in1, in1, u1
.endm

.macro load_bytes
    lbu in0, 0(message)
    lbu in1, 8(message)
    .irp i, 1, 2, 3, 4, 5, 6, 7
    lbu u0, \i(message)
    lbu u1, \i + 8(message)
    slli u0, u0, 8*\i
    slli u1, u1, 8*\i
    or in0, in0, u0
    or in1, in1, u1
    .endr
.endm

/* Blocks up to limit, at least one. */
.macro authenticate load
1:  \load
    addi message, message, 16
    absorb
    bne message, limit, 1b
    j .Lrest
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

/* Another part of a packet continues where the previous one ended. */
    load_state
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

    tag_or_state

.Lwipe:
    .set wiped, STATE
    .rept (END - STATE) / 8
    sd zero, wiped(a1)
    .set wiped, wiped + 8
    .endr
.Ldone:
endfunction
