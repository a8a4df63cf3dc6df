/* ChaCha20-Poly1305 in vectors of any length from 128 bits on, for all levels of RV64. The file that includes this
 * defines KERNEL, and may define WITH_ZVKB.
 *
 * args       all SEALANE_ARG_* (asm/args.h); writes OUT[BYTES] and, by flags, TAG[16] or STATE[64]
 * scratch    END_VECTOR - STATE bytes after the saved registers, wiped before the return; stack 0
 * registers  all but ra, sp, gp, tp and s11; all vectors, vtype and vl; a0 and a1 hold args and scratch throughout
 * branches   and addresses depend on BYTES, AD_BYTES, FLAGS, pointers and the length of vectors only
 * alignment  any: vectors of bytes load and store text. Words are accessed in scratch, args and state only.
 *
 * ChaCha20 (RFC 8439, 2.3): a vector holds one word of several blocks, w0 to w15 hold whole blocks. 10 double rounds of
 *     a += b, d = (d ^ a) <<< 16;  c += d, b = (b ^ c) <<< 12;  a += b, d = (d ^ a) <<< 8;  c += d, b = (b ^ c) <<< 7
 * on the 4 columns, then on the 4 diagonals; the keystream is the result plus the initial state. Segment stores
 * transpose it into scratch, where the ciphertext replaces it. During the next pass, Poly1305 in integer registers
 * (poly1305.h) authenticates the ciphertext. The first pass begins with block 0.
 */

/* Scratch after that of all kernels: the keystream of a pass, then its ciphertext. BLOCK holds associated data. */
#define TEXT 512
#define MOST_BLOCKS 16                  /* of a pass */
#define END_VECTOR (TEXT + 64*MOST_BLOCKS)

/* The blocks of a pass, or 0 if no pass is under way; bytes of text that are done; double rounds left. */
#define blocks s9
#define done s10
#define count a4

/* The 16 words, and factors of rotations. */
#define w0 v0
#define w1 v1
#define w2 v2
#define w3 v3
#define w4 v4
#define w5 v5
#define w6 v6
#define w7 v7
#define w8 v8
#define w9 v9
#define w10 v10
#define w11 v11
#define w12 v12
#define w13 v13
#define w14 v14
#define w15 v15
#define shifted0 v16
#define shifted1 v17
#define shifted2 v18
#define shifted3 v19

#include "poly1305.h"

/* ---- rounds, beside Poly1305 ---- */

#define BESIDE 4                        /* Poly1305's blocks beside a double round */
#if defined(WITH_ZVKB)
#define DOUBLE_ROUND 96                 /* instructions */
#else
#define DOUBLE_ROUND 160
#endif

/* An instruction of ChaCha20, and the instructions of Poly1305 that are due after it. A double round has polys of them.
 */
.macro beside instruction:vararg
    \instruction
    .set vectors, vectors + 1
    .rept 2
    .if (poly_at / 16 * POLY_ITEMS + poly_item) * DOUBLE_ROUND < vectors * polys
    poly_next
    .endif
    .endr
.endm

/* \d <<<= \bits, with the factor \x */
.macro rotate bits, d0, d1, d2, d3
#if defined(WITH_ZVKB)
    .irp d, \d0, \d1, \d2, \d3
    beside vror_vi_zvkb \d, 32 - \bits
    .endr
#else
    beside vsll.vi shifted0, \d0, \bits
    beside vsll.vi shifted1, \d1, \bits
    beside vsll.vi shifted2, \d2, \bits
    beside vsll.vi shifted3, \d3, \bits
    .irp d, \d0, \d1, \d2, \d3
    beside vsrl.vi \d, \d, 32 - \bits
    .endr
    beside vor.vv \d0, \d0, shifted0
    beside vor.vv \d1, \d1, shifted1
    beside vor.vv \d2, \d2, shifted2
    beside vor.vv \d3, \d3, shifted3
#endif
.endm

/* \a += \b, \d = (\d ^ \a) <<< \bits, of four quarter rounds side by side */
.macro quarter_step bits, a0, a1, a2, a3, b0, b1, b2, b3, d0, d1, d2, d3
    beside vadd.vv \a0, \a0, \b0
    beside vadd.vv \a1, \a1, \b1
    beside vadd.vv \a2, \a2, \b2
    beside vadd.vv \a3, \a3, \b3
    beside vxor.vv \d0, \d0, \a0
    beside vxor.vv \d1, \d1, \a1
    beside vxor.vv \d2, \d2, \a2
    beside vxor.vv \d3, \d3, \a3
    rotate \bits, \d0, \d1, \d2, \d3
.endm

/* A double round, and \beside blocks of Poly1305 from message on. */
.macro double_round_beside beside
    .set vectors, 0
    .set poly_item, 0
    .set poly_at, 0
    .set poly_end, 16*\beside
    .set polys, POLY_ITEMS*\beside
    double_round
.endm

/* \do with each word of the initial state, in k0 or k1, and the vector for it */
.macro all_words do
    .set word, 0
    .irp w, w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15
    lw k0, STATE + 4*word(a1)
    \do \w
    .set word, word + 1
    .endr
.endm

.macro set_word w
    vmv.v.x \w, k0
.endm

.macro add_word w
    vadd.vx \w, \w, k0
.endm

/* \bytes, which \length bytes of vectors of \lmul hold, from \from to \to */
.macro copy_bytes length, lmul, from, to
    vsetvli zero, \length, e8, \lmul, ta, ma
    vle8.v v0, (\from)
    vse8.v v0, (\to)
.endm

/* \register = FIRST if block 0 is in this pass, or 0 */
.macro is_first register, other
    ld \register, SEALANE_ARG_FLAGS(a0)
    sltiu \other, done, 1
    and \register, \register, \other    /* FIRST is 1 */
.endm

/* ---- the kernel ---- */

scratch_end END_VECTOR
function KERNEL
    ld k0, SEALANE_ARG_FLAGS(a0)
    ld k1, SEALANE_ARG_BYTES(a0)
    andi k2, k0, SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST
    or k2, k2, k1
    beqz k2, .Ldone                     /* nothing to do */
    li k2, 16
    addi k3, a1, STATE
    copy_bytes k2, m1, a2, k3
    ld k1, SEALANE_ARG_KEY(a0)
    li k2, 32
    addi k3, a1, STATE + 16
    copy_bytes k2, m2, k1, k3
    ld k1, SEALANE_ARG_NONCE(a0)
    li k2, 12
    addi k3, a1, STATE + 52
    copy_bytes k2, m1, k1, k3
    sw zero, STATE + 48(a1)
    li done, 0
    mv limit, message                   /* nothing to authenticate; a2 points to consts still */
    andi k0, k0, SEALANE_FLAG_FIRST
    bnez k0, .Lpass

/* Another part of a packet continues where the previous one ended. */
    load_state
    ld k0, SEALANE_ARG_BYTES(a0)
    beqz k0, .Lfinish

/* A pass has as many blocks as vectors hold, or as are left. */
.Lpass:
    is_first k0, k1
    ld k1, SEALANE_ARG_BYTES(a0)
    li k2, MOST_BLOCKS
    sub k1, k1, done
    addi k1, k1, 63
    srli k1, k1, 6
    add k1, k1, k0
    bltu k1, k2, .Lfew
    mv k1, k2
.Lfew:
    vsetvli blocks, k1, e32, m1, ta, ma
    all_words set_word
    vid.v shifted0
    vadd.vv w12, w12, shifted0
    li count, 10
.Lrounds:
    sub k0, limit, message
    sltiu k0, k0, 16*BESIDE
    bnez k0, .Lalone
    ld in0, 0(message)
    ld in1, 8(message)
    double_round_beside BESIDE
    addi message, message, 16*BESIDE
    addi count, count, -1
    bnez count, .Lrounds
    j .Lrounds_done
.Lalone:
    double_round_beside 0
    addi count, count, -1
    bnez count, .Lrounds
.Lrounds_done:
    li phase, PHASE_TEXT

/* Authenticate the rest up to limit. */
.Lauthenticate:
    beq message, limit, .Lauthenticated
.Lblock:
    ld in0, 0(message)
    ld in1, 8(message)
    addi message, message, 16
    absorb
    bne message, limit, .Lblock
.Lauthenticated:
    li k1, PHASE_TEXT
    bltu phase, k1, .Lad
    bltu k1, phase, .Ltag
    beqz blocks, .Lfinish

/* The keystream goes to scratch. */
    all_words add_word
    vid.v shifted0
    vadd.vv w12, w12, shifted0
    addi k0, a1, TEXT
    addi k1, a1, TEXT + 32
    li k2, 64
    vssseg8e32.v v0, (k0), k2
    vssseg8e32.v v8, (k1), k2
    lw k0, STATE + 48(a1)
    add k0, k0, blocks
    sw k0, STATE + 48(a1)
    is_first k0, k1
    beqz k0, .Ltext

/* Block 0: r = its words 0..3, clamped, s = words 4..7 (RFC 8439, 2.6); then the associated data. */
    ld k0, TEXT(a1)
    ld k1, TEXT + 8(a1)
    ld k2, CLAMP(a2)
    ld k3, CLAMP + 8(a2)
    and k0, k0, k2
    and k1, k1, k3
    sd k0, POLY_R(a1)
    sd k1, POLY_R + 8(a1)
    copy ld, sd, 8, 16, a1, POLY_S, TEXT + 16
    load_key
    li h0, 0
    li h1, 0
    li h2, 0
    ld rest, SEALANE_ARG_AD_BYTES(a0)
.Lad:
    beqz rest, .Ltext
    ld k0, SEALANE_ARG_AD(a0)
    ld k1, SEALANE_ARG_AD_BYTES(a0)
    sub k1, k1, rest
    add k0, k0, k1                      /* the rest of it */
    li k1, 64
    addi message, a1, BLOCK
    vsetvli zero, k1, e8, m4, ta, ma
    vmv.v.i v0, 0
    vse8.v v0, (message)
    bgeu rest, k1, .Lad_bytes
    mv k1, rest
.Lad_bytes:
    copy_bytes k1, m4, k0, message
    sub rest, rest, k1
    add limit, message, k1
    addi limit, limit, 15
    andi limit, limit, -16              /* scratch is aligned to 64 */
    li phase, PHASE_AD
    j .Lblock

/* Text, as far as the keystream goes. Its ciphertext stays in scratch, padded with zeroes. */
.Ltext:
    is_first k0, k1
    slli k0, k0, 6
    slli p0, blocks, 6
    sub p0, p0, k0                      /* bytes of text in this pass */
    addi message, a1, TEXT
    add message, message, k0
    ld p1, SEALANE_ARG_BYTES(a0)
    ld u0, SEALANE_ARG_IN(a0)
    ld u1, SEALANE_ARG_OUT(a0)
    ld q1, SEALANE_ARG_FLAGS(a0)
    sub p1, p1, done
    add u0, u0, done
    add u1, u1, done
    andi q1, q1, SEALANE_FLAG_OPEN
    bgeu p1, p0, .Lwhole
    mv p0, p1
.Lwhole:
    sub p1, p1, p0                      /* and after it */
    add done, done, p0
    mv limit, message
    beqz p0, .Lcrypted
.Lcrypt:
    vsetvli k0, p0, e8, m8, ta, ma
    vle8.v v0, (u0)
    vle8.v v8, (limit)
    sub p0, p0, k0
    add u0, u0, k0
    vxor.vv v8, v8, v0
    vse8.v v8, (u1)
    add u1, u1, k0
    bnez q1, .Lopened
    vse8.v v8, (limit)
    j .Lsealed
.Lopened:
    vse8.v v0, (limit)
.Lsealed:
    add limit, limit, k0
    bnez p0, .Lcrypt
    neg k0, limit
    andi k0, k0, 15
    beqz k0, .Lcrypted
    vsetvli zero, k0, e8, m1, ta, ma
    vmv.v.i v0, 0
    vse8.v v0, (limit)
    add limit, limit, k0
.Lcrypted:
    bnez p1, .Lpass
    li blocks, 0
    li phase, PHASE_TEXT
    j .Lauthenticate

.Lfinish:
    ld k0, SEALANE_ARG_FLAGS(a0)
    andi k0, k0, SEALANE_FLAG_LAST
    beqz k0, .Lsave
    ld k0, SEALANE_ARG_AD_BYTES(a0)
    ld k1, SEALANE_ARG_TOTAL(a0)
    sd k0, BLOCK(a1)
    sd k1, BLOCK + 8(a1)
    addi message, a1, BLOCK
    addi limit, a1, BLOCK + 16
    li phase, PHASE_LENGTHS
    j .Lblock

    tag_or_state

.Lwipe:
    li k1, END_VECTOR - STATE
    addi k0, a1, STATE
    vsetvli k2, k1, e8, m8, ta, ma
    vmv.v.i v0, 0
    vmv.v.i v8, 0
    vmv.v.i v16, 0
.Lwiping:
    vsetvli k2, k1, e8, m8, ta, ma
    vse8.v v0, (k0)
    add k0, k0, k2
    sub k1, k1, k2
    bnez k1, .Lwiping
.Ldone:
endfunction
