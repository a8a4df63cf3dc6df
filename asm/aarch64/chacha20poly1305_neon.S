/* ChaCha20-Poly1305 with NEON: seals or opens one packet, or one part of a long one, in one call.
 *
 *     void sealane_chacha20poly1305_neon(const args *a, void *scratch, const void *consts);
 *
 * CPU        ARMv8-A with Advanced SIMD; no crypto extensions
 * args       all SEALANE_ARG_* (asm/args.h); writes OUT[BYTES] and, by flags, TAG[16] or STATE[64]
 * scratch    416 bytes behind the saved registers, wiped before the return; stack 0
 * consts     sealane_chacha20poly1305_neon_constants
 * registers  all but sp, x18, x28, x29, x30; x1 holds scratch throughout
 * branches   and addresses depend on BYTES, AD_BYTES, FLAGS only
 *
 * ChaCha20 (RFC 8439, 2.3): a state of 4x4 words (constants; key; key; counter, nonce), 10 double rounds of
 *     a += b, d = (d ^ a) <<< 16;  c += d, b = (b ^ c) <<< 12;  a += b, d = (d ^ a) <<< 8;  c += d, b = (b ^ c) <<< 7
 * on the 4 columns, then on the 4 diagonals; the keystream block is the result plus the initial state.
 * Here a vector holds one word of 4 blocks, so that 16 vectors, a "set", are 4 blocks. Since their 4 chains leave an
 * out-of-order core idle for a third of the time, two more blocks are made beside them, with a vector for each row of 4
 * words; the first of all is block 0, the Poly1305 key (2.6). Packets of up to 64 bytes need only these two.
 *
 * Poly1305 (2.5): h = (h + m) r mod 2^130 - 5 for each block m of 16 bytes and a one above it. With h = h0 + 2^64 h1 +
 * 2^128 h2, r = r0 + 2^64 r1, 4 | r1 (clamped), and 2^130 = 5, that is 2^128 r1 = s1 := r1 + r1/4:
 *     h r = (h0 r0 + h1 s1) + 2^64 (h0 r1 + h1 r0 + h2 s1) + 2^128 (h2 r0),   then h += 5 (h >> 130) without these bits.
 * Five of these accompany two double rounds, of the input (open) or of what was written one run before (seal).
 * The single instructions of all are dealt out evenly, since in-order cores issue what stands side by side.
 */
#include "../asm.S"

#if defined(__aarch64__)

isa neon

/* Scratch. */
#define POLY_S 256
#define IN 272
#define OUT 280
#define REMAINING 288     /* bytes of text to encrypt */
#define ARGS 296
#define STRIDE 304        /* blocks of text in this run: 5, of 6 with the key, or 6 */
#define FLAGS 312
#define AFTER 320         /* double rounds without authentication */
#define TAIL 336          /* last bytes of text as authenticated, padded with zeroes to 16 */
#define STATE 352         /* initial state but for the counter */
#define SHORT_END 416
#define INITIAL 416       /* initial state of the set, each word 4 times */

#define CONST_SIGMA 0
#define CONST_ROTATE8 16
#define CONST_COUNT 32    /* 0, 1, 2, 3 */

/* Vectors: rows a, b, c, d of a set; temporaries; two blocks of a row each and their temporaries. */
#define va0 v0
#define va1 v1
#define va2 v2
#define va3 v3
#define vb0 v4
#define vb1 v5
#define vb2 v6
#define vb3 v7
#define vc0 v8
#define vc1 v9
#define vc2 v10
#define vc3 v11
#define vd0 v12
#define vd1 v13
#define vd2 v14
#define vd3 v15
#define vt0 v16
#define vt1 v17
#define vt2 v18
#define vt3 v19
#define rotate8 v20

#define ra0 v21
#define rb0 v22
#define rc0 v23
#define rd0 v24
#define ra1 v25
#define rb1 v26
#define rc1 v27
#define rd1 v28
#define rt0 v29
#define rt1 v30

/* Poly1305: accumulator, next message block, r, temporaries. */
#define scratch x1
#define h0 x19
#define h1 x20
#define h2 x21
#define message x22
#define t0 x23
#define t1 x24
#define t2 x25
#define t3 x26
#define t4 x27
#define r0 x15
#define r1 x16
#define s1 x17
#define one x0

#define limit x2          /* authenticate up to here beside double rounds */
#define left x3           /* double rounds without authentication */

/* Between the rounds. */
#define in x2
#define out x3
#define bytes x4
#define args x5
#define flags w6
#define u0 x7
#define u1 x8
#define u2 x9
#define u3 x10
#define u4 x11
#define u5 x12
#define u6 x13
#define u7 x14
#define u0d w7
#define u1d w8
#define u2d w9
#define u3d w10

/* ---- ChaCha20, a row of a block in each vector ---- */

/* Step 0..16 of four quarter rounds of a block (RFC 8439, 2.1), then b, c, d rotated by so many bytes, 8, and so many. */
.macro row_step step, a, b, c, d, t, left_b, left_d
    .if (\step) == 0 || (\step) == 7
    add \a\().4s, \a\().4s, \b\().4s
    .elseif (\step) == 1 || (\step) == 8
    eor \d\().16b, \d\().16b, \a\().16b
    .elseif (\step) == 2
    rev32 \d\().8h, \d\().8h
    .elseif (\step) == 3 || (\step) == 10
    add \c\().4s, \c\().4s, \d\().4s
    .elseif (\step) == 4 || (\step) == 11
    eor \t\().16b, \b\().16b, \c\().16b
    .elseif (\step) == 5
    shl \b\().4s, \t\().4s, #12
    .elseif (\step) == 6
    sri \b\().4s, \t\().4s, #20
    .elseif (\step) == 9
    tbl \d\().16b, {\d\().16b}, rotate8.16b
    .elseif (\step) == 12
    ext \d\().16b, \d\().16b, \d\().16b, #\left_d
    .elseif (\step) == 13
    shl \b\().4s, \t\().4s, #7
    .elseif (\step) == 14
    ext \c\().16b, \c\().16b, \c\().16b, #8
    .elseif (\step) == 15
    sri \b\().4s, \t\().4s, #25
    .else
    ext \b\().16b, \b\().16b, \b\().16b, #\left_b
    .endif
.endm

/* Instruction 0..67 of a double round of both blocks, which take turns. */
.set ROW_ITEMS, 68
.macro row_item item
    .if (\item) < 34 && (\item) % 2 == 0
    row_step ((\item)/2), ra0, rb0, rc0, rd0, rt0, 4, 12
    .elseif (\item) < 34
    row_step ((\item)/2), ra1, rb1, rc1, rd1, rt1, 4, 12
    .elseif (\item) % 2 == 0
    row_step ((\item)/2-17), ra0, rb0, rc0, rd0, rt0, 12, 4
    .else
    row_step ((\item)/2-17), ra1, rb1, rc1, rd1, rt1, 12, 4
    .endif
.endm

.macro rows_load
    ldp q21, q22, [scratch, #STATE]
    ldp q23, q24, [scratch, #STATE + 32]
    mov ra1.16b, ra0.16b
    mov rb1.16b, rb0.16b
    mov rc1.16b, rc0.16b
    mov rd1.16b, rd0.16b
.endm

/* ---- Poly1305 ---- */

/* h = (h + t0 + 2^64 t1 + 2^128) r: instruction 0..25; the first loads the message. */
.set POLY_ITEMS, 26
.macro poly_item item
    .if (\item) == 0
    ldp t0, t1, [message], #16
    .elseif (\item) == 1
    adds h0, h0, t0
    .elseif (\item) == 2
    adcs h1, h1, t1
    .elseif (\item) == 3
    adc h2, h2, one
    .elseif (\item) == 4
    mul t2, h0, r0                          /* low h0 r0 */
    .elseif (\item) == 5
    umulh t3, h0, r0                        /* high h0 r0 */
    .elseif (\item) == 6
    mul t0, h1, s1                          /* low h1 s1 */
    .elseif (\item) == 7
    umulh t1, h1, s1                        /* high h1 s1 */
    .elseif (\item) == 8
    mul t4, h0, r1                          /* low h0 r1 */
    .elseif (\item) == 9
    adds t2, t2, t0
    .elseif (\item) == 10
    umulh h0, h0, r1                        /* high h0 r1 */
    .elseif (\item) == 11
    adc t3, t3, t1
    .elseif (\item) == 12
    mul t0, h1, r0                          /* low h1 r0 */
    .elseif (\item) == 13
    umulh t1, h1, r0                        /* high h1 r0 */
    .elseif (\item) == 14
    madd h0, h2, r0, h0                     /* + h2 r0 */
    .elseif (\item) == 15
    adds t4, t4, t0
    .elseif (\item) == 16
    madd t3, h2, s1, t3                     /* + h2 s1, below 2^64 */
    .elseif (\item) == 17
    adc h0, h0, t1                          /* h r = t2 + 2^64 (t3 + t4) + 2^128 h0 */
    .elseif (\item) == 18
    adds h1, t4, t3
    .elseif (\item) == 19
    adc t1, h0, xzr                         /* h r = t2 + 2^64 h1 + 2^128 t1 */
    .elseif (\item) == 20
    and t0, t1, #-4
    .elseif (\item) == 21
    and h2, t1, #3
    .elseif (\item) == 22
    add t0, t0, t1, lsr #2                  /* 5 (h r >> 130) */
    .elseif (\item) == 23
    adds h0, t2, t0
    .elseif (\item) == 24
    adcs h1, h1, xzr
    .else
    adc h2, h2, xzr
    .endif
.endm

/* From the first instruction on, or, with 1, with a message that is in t0 and t1. */
.macro poly_block first=0
    .set poly, \first
    .rept POLY_ITEMS - \first
    poly_item poly
    .set poly, poly + 1
    .endr
.endm

/* ---- ChaCha20, a word of 4 blocks in each vector, with the others in between ---- */

/* Behind each of the set's instructions: the next of the others. */
.set VECTOR_ITEMS, 112
.macro fill
    .rept (vector + 1)*rows/vectors - vector*rows/vectors
    row_item row
    .set row, row + 1
    .if row == ROW_ITEMS
    .set row, 0
    .endif
    .endr
    .rept (vector + 1)*polys/vectors - vector*polys/vectors
    poly_item poly
    .set poly, poly + 1
    .if poly == POLY_ITEMS
    .set poly, 0
    .endif
    .endr
    .set vector, vector + 1
.endm

.macro vector_add x, y
    add \x\().4s, \x\().4s, \y\().4s
    fill
.endm

.macro vector_xor x, y, z
    eor \x\().16b, \y\().16b, \z\().16b
    fill
.endm

.macro vector_rotate16 x
    rev32 \x\().8h, \x\().8h
    fill
.endm

.macro vector_rotate8 x
    tbl \x\().16b, {\x\().16b}, rotate8.16b
    fill
.endm

.macro vector_left x, t, count
    shl \x\().4s, \t\().4s, #\count
    fill
.endm

/* Inserts what a left rotation brings in from the right. */
.macro vector_right x, t, count
    sri \x\().4s, \t\().4s, #(32 - \count)
    fill
.endm

/* Four quarter rounds (RFC 8439, 2.1): columns, or with b, c, d rotated, diagonals. */
.macro vector_half ax, bx, cx, dx, ay, by, cy, dy, az, bz, cz, dz, aw, bw, cw, dw, left_d, left_b
    vector_add \ax, \bx
    vector_add \ay, \by
    vector_add \az, \bz
    vector_add \aw, \bw
    vector_xor \dx, \dx, \ax
    vector_xor \dy, \dy, \ay
    vector_xor \dz, \dz, \az
    vector_xor \dw, \dw, \aw
    .if \left_d == 16
    vector_rotate16 \dx
    vector_rotate16 \dy
    vector_rotate16 \dz
    vector_rotate16 \dw
    .else
    vector_rotate8 \dx
    vector_rotate8 \dy
    vector_rotate8 \dz
    vector_rotate8 \dw
    .endif
    vector_add \cx, \dx
    vector_add \cy, \dy
    vector_add \cz, \dz
    vector_add \cw, \dw
    vector_xor vt0, \bx, \cx
    vector_xor vt1, \by, \cy
    vector_xor vt2, \bz, \cz
    vector_xor vt3, \bw, \cw
    vector_left \bx, vt0, \left_b
    vector_left \by, vt1, \left_b
    vector_left \bz, vt2, \left_b
    vector_left \bw, vt3, \left_b
    vector_right \bx, vt0, \left_b
    vector_right \by, vt1, \left_b
    vector_right \bz, vt2, \left_b
    vector_right \bw, vt3, \left_b
.endm

.macro vector_quarters ax, bx, cx, dx, ay, by, cy, dy, az, bz, cz, dz, aw, bw, cw, dw
    vector_half \ax, \bx, \cx, \dx, \ay, \by, \cy, \dy, \az, \bz, \cz, \dz, \aw, \bw, \cw, \dw, 16, 12
    vector_half \ax, \bx, \cx, \dx, \ay, \by, \cy, \dy, \az, \bz, \cz, \dz, \aw, \bw, \cw, \dw, 8, 7
.endm

/* Double rounds of the set and, with pair 1, of the two blocks; and so many message blocks in all. */
.macro double_rounds count, pair, messages
    .set vector, 0
    .set row, 0
    .set poly, 0
    .set vectors, VECTOR_ITEMS*\count
    .set rows, ROW_ITEMS*\count*\pair
    .set polys, POLY_ITEMS*\messages
    .rept \count
    vector_quarters va0, vb0, vc0, vd0, va1, vb1, vc1, vd1, va2, vb2, vc2, vd2, va3, vb3, vc3, vd3
    vector_quarters va0, vb1, vc2, vd3, va1, vb2, vc3, vd0, va2, vb3, vc0, vd1, va3, vb0, vc1, vd2
    .endr
.endm

/* ---- output ---- */

/* The set's words w0..w3 become 16 bytes each of its blocks 0..3; row of the initial state added. */
.macro transpose_row row, w0, w1, w2, w3
    ldp q16, q17, [scratch, #INITIAL + 64*\row]
    ldp q18, q19, [scratch, #INITIAL + 64*\row + 32]
    add \w0\().4s, \w0\().4s, vt0.4s
    add \w1\().4s, \w1\().4s, vt1.4s
    add \w2\().4s, \w2\().4s, vt2.4s
    add \w3\().4s, \w3\().4s, vt3.4s
    trn1 vt0.4s, \w0\().4s, \w1\().4s
    trn2 vt1.4s, \w0\().4s, \w1\().4s
    trn1 vt2.4s, \w2\().4s, \w3\().4s
    trn2 vt3.4s, \w2\().4s, \w3\().4s
    trn1 \w0\().2d, vt0.2d, vt2.2d
    trn1 \w1\().2d, vt1.2d, vt3.2d
    trn2 \w2\().2d, vt0.2d, vt2.2d
    trn2 \w3\().2d, vt1.2d, vt3.2d
.endm

/* A block of text with keystream k0..k3, if there is a whole one. */
.macro encrypt_block partial, k0, k1, k2, k3
    subs bytes, bytes, #64
    b.lo \partial
    ldp q16, q17, [in], #32
    ldp q18, q19, [in], #32
    eor v16.16b, v16.16b, \k0\().16b
    eor v17.16b, v17.16b, \k1\().16b
    eor v18.16b, v18.16b, \k2\().16b
    eor v19.16b, v19.16b, \k3\().16b
    stp q16, q17, [out], #32
    stp q18, q19, [out], #32
.endm

/* Where there is not: the keystream into fixed registers. */
.macro partial_block name, k0, k1, k2, k3
.Lpartial_\name:
    mov v0.16b, \k0\().16b
    mov v1.16b, \k1\().16b
    mov v2.16b, \k2\().16b
    mov v3.16b, \k3\().16b
    b .Lpartial
.endm

/* t0, t1 = the u0 (1..15) bytes at u1 and zeroes, not reading beyond them; uses u2, u3. */
.macro load_partial name
    lsl u2, u0, #3
    mov t1, xzr
    tbnz u0, #3, .Lload8_\name
    tbnz u0, #2, .Lload4_\name
    lsr u2, u0, #1                          /* 1..3: first, middle, last byte */
    ldrb w23, [u1]
    ldrb u3d, [u1, u2]
    lsl u2, u2, #3
    lsl u3, u3, u2
    orr t0, t0, u3
    sub u2, u0, #1
    ldrb u3d, [u1, u2]
    lsl u2, u2, #3
    lsl u3, u3, u2
    orr t0, t0, u3
    b .Lloaded_\name
.Lload4_\name:
    sub u3, u0, #4
    ldr u3d, [u1, u3]
    sub u2, u2, #32
    lsl u3, u3, u2
    ldr w23, [u1]
    orr t0, t0, u3
    b .Lloaded_\name
.Lload8_\name:
    sub u3, u0, #8
    ldr t1, [u1, u3]
    mov u3, #120
    sub u2, u3, u2                          /* 8 (15 - bytes) */
    lsr t1, t1, u2
    lsr t1, t1, #8
    ldr t0, [u1]
.Lloaded_\name:
.endm

/* ---- the kernel ---- */

function sealane_chacha20poly1305_neon
    str x0, [scratch, #ARGS]
    ldp q24, q20, [x2, #CONST_SIGMA]        /* q20: rotate8 */
    ldr q28, [x2, #CONST_COUNT]
    ldr flags, [x0, #SEALANE_ARG_FLAGS]
    ldp x10, x11, [x0, #SEALANE_ARG_KEY]    /* key, nonce */
    ldr x14, [x0, #SEALANE_ARG_BYTES]
    ldp x12, x13, [x0, #SEALANE_ARG_OUT]    /* out, in */
    ldp q25, q26, [x10]
    ldr x8, [x11]
    ldr w9, [x11, #8]
    str flags, [scratch, #FLAGS]
    stp x13, x12, [scratch, #IN]
    str x14, [scratch, #REMAINING]
    lsl x7, x8, #32
    extr x8, x9, x8, #32                    /* x8:x7 = 0, nonce */
    stp q24, q25, [scratch, #STATE]
    str q26, [scratch, #STATE + 32]
    stp x7, x8, [scratch, #STATE + 48]
    fmov d27, x7
    mov v27.d[1], x8
    mov one, #1
    mov w7, #1
    tbz flags, #0, .Lresume
    cmp x14, #64
    b.hi .Llong

/* A packet of at most 64 bytes: rows of blocks 0 and 1. */
    mov v0.16b, v24.16b
    mov v1.16b, v25.16b
    mov v2.16b, v26.16b
    mov v3.16b, v27.16b
    mov v4.16b, v24.16b
    mov v5.16b, v25.16b
    mov v6.16b, v26.16b
    mov v28.16b, v27.16b
    mov v28.s[0], w7
    mov v7.16b, v28.16b
    mov left, #10
.Lshort_rounds:
    .irp offset, 4, 12
    add v0.4s, v0.4s, v1.4s
    add v4.4s, v4.4s, v5.4s
    eor v3.16b, v3.16b, v0.16b
    eor v7.16b, v7.16b, v4.16b
    rev32 v3.8h, v3.8h
    rev32 v7.8h, v7.8h
    add v2.4s, v2.4s, v3.4s
    add v6.4s, v6.4s, v7.4s
    eor vt0.16b, v1.16b, v2.16b
    eor vt1.16b, v5.16b, v6.16b
    shl v1.4s, vt0.4s, #12
    shl v5.4s, vt1.4s, #12
    sri v1.4s, vt0.4s, #20
    sri v5.4s, vt1.4s, #20
    add v0.4s, v0.4s, v1.4s
    add v4.4s, v4.4s, v5.4s
    eor v3.16b, v3.16b, v0.16b
    eor v7.16b, v7.16b, v4.16b
    tbl v3.16b, {v3.16b}, rotate8.16b
    tbl v7.16b, {v7.16b}, rotate8.16b
    add v2.4s, v2.4s, v3.4s
    add v6.4s, v6.4s, v7.4s
    eor vt0.16b, v1.16b, v2.16b
    eor vt1.16b, v5.16b, v6.16b
    ext v3.16b, v3.16b, v3.16b, #(16 - \offset)
    ext v7.16b, v7.16b, v7.16b, #(16 - \offset)
    shl v1.4s, vt0.4s, #7
    shl v5.4s, vt1.4s, #7
    sri v1.4s, vt0.4s, #25
    sri v5.4s, vt1.4s, #25
    ext v2.16b, v2.16b, v2.16b, #8
    ext v6.16b, v6.16b, v6.16b, #8
    ext v1.16b, v1.16b, v1.16b, #\offset
    ext v5.16b, v5.16b, v5.16b, #\offset
    .endr
    sub left, left, #1
    cbnz left, .Lshort_rounds
    add v16.4s, v0.4s, v24.4s               /* block 0: r, s */
    add v17.4s, v1.4s, v25.4s
    add v0.4s, v4.4s, v24.4s                /* block 1 */
    add v1.4s, v5.4s, v25.4s
    add v2.4s, v6.4s, v26.4s
    add v3.4s, v7.4s, v28.4s
    fmov t0, d16
    mov t1, v16.d[1]
    fmov t2, d17
    mov t3, v17.d[1]
    b .Lkey

/* The initial state of the set, with counters from w7 on. */
.Lresume:
    ldr args, [scratch, #ARGS]
    ldr args, [args, #SEALANE_ARG_STATE]
    ldp h0, h1, [args, #SEALANE_STATE_H]
    ldp h2, r0, [args, #SEALANE_STATE_H + 16]
    ldp r1, t2, [args, #SEALANE_STATE_R + 8]
    ldp t3, x7, [args, #SEALANE_STATE_S + 8]
    stp t2, t3, [scratch, #POLY_S]
    tst flags, #SEALANE_FLAG_OPEN
    csel message, x13, x12, ne
    add s1, r1, r1, lsr #2
    cbz x14, .Lencrypted
.Llong:
    dup v29.4s, w7
    add v12.4s, v29.4s, v28.4s
    dup v0.4s, v24.s[0]
    dup v1.4s, v24.s[1]
    dup v2.4s, v24.s[2]
    dup v3.4s, v24.s[3]
    dup v4.4s, v25.s[0]
    dup v5.4s, v25.s[1]
    dup v6.4s, v25.s[2]
    dup v7.4s, v25.s[3]
    stp q0, q1, [scratch, #INITIAL]
    stp q2, q3, [scratch, #INITIAL + 32]
    dup v8.4s, v26.s[0]
    dup v9.4s, v26.s[1]
    stp q4, q5, [scratch, #INITIAL + 64]
    stp q6, q7, [scratch, #INITIAL + 96]
    dup v10.4s, v26.s[2]
    dup v11.4s, v26.s[3]
    dup v13.4s, v27.s[1]
    dup v14.4s, v27.s[2]
    dup v15.4s, v27.s[3]
    stp q8, q9, [scratch, #INITIAL + 128]
    stp q10, q11, [scratch, #INITIAL + 160]
    stp q12, q13, [scratch, #INITIAL + 192]
    stp q14, q15, [scratch, #INITIAL + 224]
    tbz flags, #0, .Lrun
    mov w2, #5
    str w2, [scratch, #STRIDE]
    rows_load
    mov rd1.s[0], w2
    mov left, #10
.Lkey_rounds:
    double_rounds 1, 1, 0
    sub left, left, #1
    cbnz left, .Lkey_rounds
    ldp q16, q17, [scratch, #STATE]
    add v16.4s, v16.4s, ra0.4s
    add v17.4s, v17.4s, rb0.4s
    fmov t0, d16
    mov t1, v16.d[1]
    fmov t2, d17
    mov t3, v17.d[1]

/* Block 0 is done: r = its words 0..3 (t0, t1), clamped, s = words 4..7 (t2, t3; RFC 8439, 2.6); then the associated data. */
.Lkey:
    ldr args, [scratch, #ARGS]
    mov u2, #0x0ffffffc0ffffffc
    orr u3, u2, #3
    and r0, t0, u3
    and r1, t1, u2
    stp t2, t3, [scratch, #POLY_S]
    add s1, r1, r1, lsr #2
    ldp message, u0, [args, #SEALANE_ARG_AD]
    mov h0, xzr
    mov h1, xzr
    mov h2, xzr
    subs u0, u0, #16
    b.lo .Lad_tail
.Lad:
    poly_block
    subs u0, u0, #16
    b.hs .Lad
.Lad_tail:
    adds u0, u0, #16
    b.eq .Lad_done
    mov u1, message
    load_partial ad
    poly_block 1
.Lad_done:
    ldr flags, [scratch, #FLAGS]
    ldp in, out, [scratch, #IN]
    ldr bytes, [scratch, #REMAINING]
    tbnz flags, #2, .Lad_open
    mov message, out
    cmp bytes, #64
    b.hi .Lencrypt_set
    cbz bytes, .Lencrypted
    b .Lencrypt_short
.Lad_open:
    mov message, in                         /* before it may be overwritten */
    mov u0, #320
    cmp bytes, u0
    csel u0, bytes, u0, lo
    and u0, u0, #-16
    add u0, u0, in
    cmp message, u0
    b.hs .Lopen_first_done
.Lopen_first:
    poly_block
    cmp message, u0
    b.lo .Lopen_first
.Lopen_first_done:
    cmp bytes, #64
    b.hi .Lencrypt_set
    cbz bytes, .Lencrypted
.Lencrypt_short:
    encrypt_block .Lpartial, v0, v1, v2, v3
    b .Lencrypted

/* The next 6 blocks, or the last 4: how many pairs of double rounds shall authenticate five message blocks each? */
.Lrun:
    ldr flags, [scratch, #FLAGS]
    ldp in, out, [scratch, #IN]
    ldr bytes, [scratch, #REMAINING]
    add u0, in, bytes                       /* open: all that is there */
    tst flags, #SEALANE_FLAG_OPEN
    csel u0, u0, out, ne                    /* seal: what has been written */
    sub u0, u0, message
    mov u1, #400
    cmp u0, u1
    csel u0, u0, u1, lo
    lsr u0, u0, #4
    mov u1, #52
    mul u0, u0, u1
    lsr u0, u0, #8                          /* a fifth of up to 25 */
    mov u2, #10
    sub u2, u2, u0, lsl #1
    str u2, [scratch, #AFTER]
    add u0, u0, u0, lsl #2
    add u1, message, u0, lsl #4
    ldp q0, q1, [scratch, #INITIAL]
    ldp q2, q3, [scratch, #INITIAL + 32]
    ldp q4, q5, [scratch, #INITIAL + 64]
    ldp q6, q7, [scratch, #INITIAL + 96]
    ldp q8, q9, [scratch, #INITIAL + 128]
    ldp q10, q11, [scratch, #INITIAL + 160]
    ldp q12, q13, [scratch, #INITIAL + 192]
    ldp q14, q15, [scratch, #INITIAL + 224]
    cmp bytes, #256
    b.ls .Llast

    rows_load
    umov w2, v12.s[3]
    add w3, w2, #1
    add w2, w2, #2
    mov rd0.s[0], w3
    mov rd1.s[0], w2
    mov w2, #6
    str w2, [scratch, #STRIDE]
    cmp message, u1
    mov limit, u1
    b.eq .Lsix_quiet
.Lsix_rounds:
    double_rounds 2, 1, 5
    cmp message, limit
    b.ne .Lsix_rounds
.Lsix_quiet:
    ldr left, [scratch, #AFTER]
    cbz left, .Lsix_done
.Lsix_quiet_rounds:
    double_rounds 1, 1, 0
    sub left, left, #1
    cbnz left, .Lsix_quiet_rounds
.Lsix_done:
    mov u7, #384
    b .Lrun_end

.Llast:
    cmp message, u1
    mov limit, u1
    b.eq .Llast_quiet
.Llast_rounds:
    double_rounds 2, 0, 5
    cmp message, limit
    b.ne .Llast_rounds
.Llast_quiet:
    ldr left, [scratch, #AFTER]
    cbz left, .Llast_done
.Llast_quiet_rounds:
    double_rounds 1, 0, 0
    sub left, left, #1
    cbnz left, .Llast_quiet_rounds
.Llast_done:
    mov u7, #256

/* The run's keystream is there. Open: authenticate the rest of its input before it may be overwritten. */
.Lrun_end:
    ldr flags, [scratch, #FLAGS]
    ldp in, out, [scratch, #IN]
    ldr bytes, [scratch, #REMAINING]
    tbz flags, #2, .Lencrypt_set
    cmp bytes, u7
    csel u7, bytes, u7, lo
    and u7, u7, #-16
    add u7, u7, in
    b .Lopen_rest_check
.Lopen_rest:
    poly_block
.Lopen_rest_check:
    cmp message, u7
    b.lo .Lopen_rest

.Lencrypt_set:
    transpose_row 0, va0, va1, va2, va3
    transpose_row 1, vb0, vb1, vb2, vb3
    transpose_row 2, vc0, vc1, vc2, vc3
    transpose_row 3, vd0, vd1, vd2, vd3
    encrypt_block .Lpartial_0, va0, vb0, vc0, vd0
    encrypt_block .Lpartial_1, va1, vb1, vc1, vd1
    encrypt_block .Lpartial_2, va2, vb2, vc2, vd2
    encrypt_block .Lpartial_3, va3, vb3, vc3, vd3
    cbz bytes, .Lencrypted
    ldr w13, [scratch, #STRIDE]             /* u6 */
    ldp q12, q13, [scratch, #INITIAL + 192]
    ldp q0, q1, [scratch, #STATE]
    ldp q2, q3, [scratch, #STATE + 32]
    umov w12, v12.s[3]
    add w12, w12, #1
    tbnz u6, #0, .Lsecond_row_block
    mov v3.s[0], w12
    add ra0.4s, ra0.4s, v0.4s
    add rb0.4s, rb0.4s, v1.4s
    add rc0.4s, rc0.4s, v2.4s
    add rd0.4s, rd0.4s, v3.4s
    encrypt_block .Lpartial_4, ra0, rb0, rc0, rd0
    cbz bytes, .Lencrypted
    add w12, w12, #1
.Lsecond_row_block:
    mov v3.s[0], w12
    add ra1.4s, ra1.4s, v0.4s
    add rb1.4s, rb1.4s, v1.4s
    add rc1.4s, rc1.4s, v2.4s
    add rd1.4s, rd1.4s, v3.4s
    encrypt_block .Lpartial_5, ra1, rb1, rc1, rd1
    cbz bytes, .Lencrypted
    dup v14.4s, w13
    add v12.4s, v12.4s, v14.4s
    str q12, [scratch, #INITIAL + 192]
.Lnext:
    stp in, out, [scratch, #IN]
    str bytes, [scratch, #REMAINING]
    b .Lrun

    partial_block 1, va1, vb1, vc1, vd1
    partial_block 2, va2, vb2, vc2, vd2
    partial_block 3, va3, vb3, vc3, vd3
    partial_block 4, ra0, rb0, rc0, rd0
    partial_block 5, ra1, rb1, rc1, rd1
.Lpartial_0:
    mov v1.16b, vb0.16b
    mov v2.16b, vc0.16b
    mov v3.16b, vd0.16b

/* The last bytes + 64 < 64 bytes, with keystream v0..v3. */
.Lpartial:
    tbz bytes, #5, .Lpartial_16
    ldp q24, q25, [in], #32
    eor v24.16b, v24.16b, v0.16b
    eor v25.16b, v25.16b, v1.16b
    stp q24, q25, [out], #32
    mov v0.16b, v2.16b
    mov v1.16b, v3.16b
.Lpartial_16:
    tbz bytes, #4, .Lpartial_tail
    ldr q24, [in], #16
    eor v24.16b, v24.16b, v0.16b
    str q24, [out], #16
    mov v0.16b, v1.16b
.Lpartial_tail:
    ands u0, bytes, #15
    b.eq .Lencrypted
    mov u1, in
    load_partial text
    ldr flags, [scratch, #FLAGS]
    fmov u4, d0
    mov u5, v0.d[1]
    eor u4, u4, t0
    eor u5, u5, t1
    lsl u2, u0, #3
    mov u3, #-1
    lsl u3, u3, u2                          /* ones above the tail, modulo 8 bytes */
    bic u6, u5, u3                          /* 8..15 bytes */
    bic u7, u4, u3                          /* 1..7 bytes */
    tst u0, #8
    csel u5, u6, xzr, ne
    csel u4, u4, u7, ne
    tst flags, #SEALANE_FLAG_OPEN
    csel t0, t0, u4, ne
    csel t1, t1, u5, ne
    stp t0, t1, [scratch, #TAIL]
    tbnz u0, #3, .Lstore8
    tbnz u0, #2, .Lstore4
    lsr u1, u0, #1                          /* 1..3: first, middle, last byte */
    strb w11, [out]                         /* u4 */
    lsl u2, u1, #3
    lsr u3, u4, u2
    strb u3d, [out, u1]
    sub u1, u0, #1
    lsl u2, u1, #3
    lsr u3, u4, u2
    strb u3d, [out, u1]
    b .Lencrypted
.Lstore4:
    str w11, [out]
    sub u1, u0, #4
    sub u2, u2, #32
    lsr u3, u4, u2
    str u3d, [out, u1]
    b .Lencrypted
.Lstore8:
    str u4, [out]
    sub u1, u0, #8
    lsr u3, u4, u2                          /* shifts count modulo 64; for 8 bytes u5 is 0 */
    neg u2, u2
    lsl u5, u5, u2
    orr u3, u3, u5
    str u3, [out, u1]

/* All text is encrypted: seal has to authenticate what is left of it. */
.Lencrypted:
    ldr args, [scratch, #ARGS]
    ldr flags, [scratch, #FLAGS]
    ldr u0, [args, #SEALANE_ARG_BYTES]
    tbnz flags, #2, .Lauthenticated
    ldr u1, [args, #SEALANE_ARG_OUT]
    and u2, u0, #-16
    add u1, u1, u2
    cmp message, u1
    b.eq .Lauthenticated
.Lauthenticate:
    poly_block
    cmp message, u1
    b.ne .Lauthenticate
.Lauthenticated:
    tbz flags, #1, .Lsave
    tst u0, #15
    b.eq .Llengths
    ldp t0, t1, [scratch, #TAIL]
    poly_block 1
.Llengths:
    ldr args, [scratch, #ARGS]
    ldr t0, [args, #SEALANE_ARG_AD_BYTES]
    ldr t1, [args, #SEALANE_ARG_TOTAL]
    poly_block 1

/* tag = (h mod 2^130 - 5) + s mod 2^128; h < 2p, and h >= p if h + 5 reaches 2^130. */
    ldr u1, [args, #SEALANE_ARG_TAG]
    ldp t2, t3, [scratch, #POLY_S]
    adds t0, h0, #5
    adcs t1, h1, xzr
    adc h2, h2, xzr
    cmp h2, #4
    csel h0, t0, h0, hs
    csel h1, t1, h1, hs
    adds h0, h0, t2
    adc h1, h1, t3
    stp h0, h1, [u1]
    ldr u0, [args, #SEALANE_ARG_BYTES]
    b .Lwipe

.Lsave:
    ldr u1, [args, #SEALANE_ARG_STATE]
    ldp t2, t3, [scratch, #POLY_S]
    mov u2, #1
    tbnz flags, #0, .Lsave_counter
    ldr u2, [u1, #SEALANE_STATE_COUNTER]
.Lsave_counter:
    add u2, u2, u0, lsr #6
    stp h0, h1, [u1, #SEALANE_STATE_H]
    stp h2, r0, [u1, #SEALANE_STATE_H + 16]
    stp r1, t2, [u1, #SEALANE_STATE_R + 8]
    stp t3, u2, [u1, #SEALANE_STATE_S + 8]

.Lwipe:
    movi v0.16b, #0
    .irp offset, 0, 32, 64, 96, 128
    stp q0, q0, [scratch, #SEALANE_SCRATCH_SAVE_BYTES + \offset]
    .endr
    tbz flags, #0, .Lwipe_long
    cmp u0, #64                             /* bytes */
    b.ls .Lwiped
.Lwipe_long:
    .irp offset, 0, 32, 64, 96, 128, 160, 192, 224
    stp q0, q0, [scratch, #SHORT_END + \offset]
    .endr
.Lwiped:
endfunction

constants sealane_chacha20poly1305_neon_constants
    .long 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574
    .byte 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14
    .long 0, 1, 2, 3
endconstants

#endif
