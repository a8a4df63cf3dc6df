/* ChaCha20-Poly1305 with NEON: seals or opens one packet, or one part of a long one, in one call.
 *
 *     void sealane_chacha20poly1305_neon(const args *a, void *scratch, const void *consts);
 *
 * CPU        ARMv7-A with NEON, little-endian
 * args       all SEALANE_ARG_* (asm/args.h); writes OUT[BYTES] and, by flags, TAG[16] or STATE[64]
 * scratch    672 bytes behind the saved registers, wiped before the return; stack 0
 * consts     sealane_chacha20poly1305_neon_constants
 * registers  all but r10, r13, r14; r1 holds scratch, displaced by FRAME until the end
 * branches   and addresses depend on BYTES, AD_BYTES, FLAGS only
 *
 * ChaCha20 (RFC 8439, 2.3): a state of 4x4 words (constants; key; key; counter, nonce), 10 double rounds of
 *     a += b, d = (d ^ a) <<< 16;  c += d, b = (b ^ c) <<< 12;  a += b, d = (d ^ a) <<< 8;  c += d, b = (b ^ c) <<< 7
 * on the 4 columns, then on the 4 diagonals; the keystream block is the result plus the initial state. Here a vector holds
 * one word of 4 blocks, so that 16 vectors, a "set", are 4 blocks; the first set makes the Poly1305 key (2.6) along with 3
 * blocks of text. The last block of a packet may be made in integer registers: there no rotation is an instruction, b and d
 * are kept as they were before it, and are rotated on the way where they are used.
 *
 * Poly1305 (2.5): h = (h + m) r mod 2^130 - 5 for each block m of 16 bytes and a one above it. With h = h0 .. h4 and
 * r = r0 .. r3 in words, 4 | r1, r2, r3 (clamped), and 2^130 = 5, that is 2^128 ri = si := ri + ri/4:
 *     h r = (h0 r0 + h1 s3 + h2 s2 + h3 s1) + 2^32 (h0 r1 + h1 r0 + h2 s3 + h3 s2 + h4 s1)
 *         + 2^64 (h0 r2 + h1 r1 + h2 r0 + h3 s3 + h4 s2) + 2^96 (h0 r3 + h1 r2 + h2 r1 + h3 r0 + h4 s3) + 2^128 (h4 r0),
 * then h += 5 (h >> 130) without these bits. Each sum stays below 2^64: ri < 2^28, h4 < 10.
 *
 * In vectors, two lanes take turns at the blocks, in limbs of 26 bits, 4 blocks at a time: H = H r^4 + (m0, m1) r^2 + (m2, m3).
 * In the end h = (H.lane0 r + H.lane1) r, in integer registers again.
 */
#include "../asm.S"

#if defined(__arm__)

isa neon

/* Scratch, relative to the displaced r1. */
#define FRAME (SEALANE_SCRATCH_SAVE_BYTES + 32)
#define MESSAGE -32   /* authenticate from here */
#define LIMIT -28     /* up to here */
#define PHASE -24     /* what is made or authenticated: PHASE_* */
#define FLAGS -20
#define ARGS -16
#define REMAINING -12 /* bytes of text to encrypt */
#define IN -8
#define OUT -4
#define LEFT 0        /* double rounds left, in pairs */
#define POLY_RS 4     /* s1, s2, s3, r0 .. r3: ldmib reaches the first */
#define POLY_R0 16
#define POLY_R1 20
#define POLY_R2 24
#define POLY_R3 28
#define POLY_H 32     /* h0 .. h4 */
#define REST 52       /* bytes behind the whole blocks of what is authenticated */
#define POLY_S 64
#define TAIL 80       /* the last bytes, padded with zeroes to 16, or the lengths */
#define STATE 96      /* initial state of the next block */
#define BLOCK 160     /* keystream of up to 4 blocks; before, words of rows c and d that have no register */
#define START 416     /* rows b and d of the initial state, rotated as the rounds want them; d without the counter */
#define SET_C 448     /* row c of the set */
#define STREAM 512    /* unused keystream begins here */
#define STREAM_BYTES 516
#define CONSTANTS 520
#define POWERS 544    /* limbs of r^2: l0 .. l4, 5 l1 .. 5 l4, nothing; then of r^4; at the end, of the sums */
#define END 640

#define CONST_SIGMA 0
#define CONST_COUNT 16 /* 0, 1, 2, 3 */

#define VECTOR_MINIMUM 160 /* bytes from which Poly1305 is worth its powers of r */

#define PHASE_KEY 0
#define PHASE_AD 1
#define PHASE_TEXT 2
#define PHASE_LENGTHS 3

/* ChaCha20: rows a, b; two or three of the words of rows c and d. */
#define a0 r2
#define a1 r3
#define a2 r4
#define a3 r5
#define b0 r6
#define b1 r7
#define b2 r8
#define b3 r9
#define cx r0
#define dy r11
#define dz r12

/* Vectors: rows a, b, d of a set, two of row c, two temporaries. */
#define va0 q0
#define va1 q1
#define va2 q2
#define va3 q3
#define vb0 q4
#define vb1 q5
#define vb2 q6
#define vb3 q7
#define vd0 q8
#define vd1 q9
#define vd2 q10
#define vd3 q11
#define vc0 q12
#define vc1 q13
#define vt0 q14
#define vt1 q15
#define half_set r11  /* address of c0, c1 */
#define other_half r12 /* of c2, c3 */

/* Poly1305: accumulator, sums, factors. */
#define h0 r2
#define h1 r3
#define h2 r4
#define h3 r5
#define h4 r6
#define x r7
#define y r8
#define z r9
#define w r11
#define p0 r0
#define p1 r12

/* ---- ChaCha20 in vectors ---- */

/* Four quarter rounds (RFC 8439, 2.1), two by two; where a pair ends the next begins, for more that can issue at once.
 * Before, the first pair's row c is in registers; meanwhile it goes to \to and the other's comes from \from. */
.macro vector_begin ax, bx, dx, ay, by, dy
    vadd.i32 \ax, \ax, \bx
    vadd.i32 \ay, \ay, \by
    veor \dx, \dx, \ax
    veor \dy, \dy, \ay
    vrev32.16 \dx, \dx
    vrev32.16 \dy, \dy
.endm

.macro vector_middle ax, bx, dx, ay, by, dy
    vadd.i32 vc0, vc0, \dx
    vadd.i32 vc1, vc1, \dy
    veor vt0, \bx, vc0
    veor vt1, \by, vc1
    vshl.i32 \bx, vt0, #12
    vshl.i32 \by, vt1, #12
    vsri.32 \bx, vt0, #20
    vsri.32 \by, vt1, #20
    vadd.i32 \ax, \ax, \bx
    vadd.i32 \ay, \ay, \by
    veor vt0, \dx, \ax
    veor vt1, \dy, \ay
    vshl.i32 \dx, vt0, #8
    vshl.i32 \dy, vt1, #8
    vsri.32 \dx, vt0, #24
    vsri.32 \dy, vt1, #24
    vadd.i32 vc0, vc0, \dx
    vadd.i32 vc1, vc1, \dy
.endm

.macro vector_quarters ea, eb, ed, fa, fb, fd, ga, gb, gd, ha, hb, hd, to, from
    vector_begin \ea, \eb, \ed, \fa, \fb, \fd
    vector_middle \ea, \eb, \ed, \fa, \fb, \fd
    vadd.i32 \ga, \ga, \gb
    vadd.i32 \ha, \ha, \hb
    veor vt0, \eb, vc0
    veor vt1, \fb, vc1
    vstmia \to, {vc0, vc1}
    veor \gd, \gd, \ga
    veor \hd, \hd, \ha
    vshl.i32 \eb, vt0, #7
    vshl.i32 \fb, vt1, #7
    vldmia \from, {vc0, vc1}
    vrev32.16 \gd, \gd
    vrev32.16 \hd, \hd
    vsri.32 \eb, vt0, #25
    vsri.32 \fb, vt1, #25
    vector_middle \ga, \gb, \gd, \ha, \hb, \hd
    veor vt0, \gb, vc0
    veor vt1, \hb, vc1
    vshl.i32 \gb, vt0, #7
    vshl.i32 \hb, vt1, #7
    vsri.32 \gb, vt0, #25
    vsri.32 \hb, vt1, #25
.endm

/* A double round of the set; c2, c3 are in memory before and after, c0, c1 in registers. */
.macro vector_double_round
    vector_quarters va0, vb0, vd0, va1, vb1, vd1, va2, vb2, vd2, va3, vb3, vd3, half_set, other_half
    vector_quarters va0, vb1, vd3, va1, vb2, vd0, va2, vb3, vd1, va3, vb0, vd2, other_half, half_set
.endm

/* The four words at r2, each 4 times. */
.macro broadcast_row e0, e1, f0, f1, g0, g1, h0, h1
    vld1.32 {\e0[], \e1[]}, [r2]!
    vld1.32 {\f0[], \f1[]}, [r2]!
    vld1.32 {\g0[], \g1[]}, [r2]!
    vld1.32 {\h0[], \h1[]}, [r2]!
.endm

/* A row of the set: adds the initial one, from r2, and turns 4 words of 4 blocks into 16 bytes of each, at r3, 64 apart. */
.macro store_row e, f, g, h, e1, f1, g0, h0, t, t0, t1, u, u0, u1
    vld1.32 {\t0[], \t1[]}, [r2]!
    vld1.32 {\u0[], \u1[]}, [r2]!
    vadd.i32 \e, \e, \t
    vadd.i32 \f, \f, \u
    vld1.32 {\t0[], \t1[]}, [r2]!
    vld1.32 {\u0[], \u1[]}, [r2]!
    vtrn.32 \e, \f
    vadd.i32 \g, \g, \t
    vadd.i32 \h, \h, \u
    vtrn.32 \g, \h
    vswp \e1, \g0
    vswp \f1, \h0
    vst1.32 {\e}, [r3:128], r4
    vst1.32 {\f}, [r3:128], r4
    vst1.32 {\g}, [r3:128], r4
    vst1.32 {\h}, [r3:128], r5
.endm

/* ---- ChaCha20 in integer registers ---- */

/* A quarter round (RFC 8439, 2.1), where b means b >>> 25 and d means d >>> 24; then c goes to \to, and the next from \from. */
.macro quarter a, b, c, d
    add \a, \a, \b, ror #25
    eor \d, \a, \d, ror #24
    add \c, \c, \d, ror #16
    eor \b, \c, \b, ror #25
    add \a, \a, \b, ror #20
    eor \d, \a, \d, ror #16
    add \c, \c, \d, ror #24
    eor \b, \c, \b, ror #20
.endm

.macro keep word, register
    str \register, [r1, #BLOCK + 4*(\word)]
.endm

.macro recall word, register
    ldr \register, [r1, #BLOCK + 4*(\word)]
.endm

/* Before and after, c1, d1, d2 are in cx, dy, dz; the others of their rows in memory. */
.macro double_round
    quarter a1, b1, cx, dy
    keep 9, cx
    recall 10, cx
    keep 13, dy
    quarter a2, b2, cx, dz
    keep 10, cx
    recall 8, cx
    recall 12, dy
    keep 14, dz
    quarter a0, b0, cx, dy
    keep 8, cx
    recall 11, cx
    recall 15, dz
    quarter a3, b3, cx, dz
    quarter a1, b2, cx, dy
    keep 11, cx
    recall 10, cx
    keep 12, dy
    quarter a0, b1, cx, dz
    keep 10, cx
    recall 8, cx
    recall 13, dy
    keep 15, dz
    quarter a2, b3, cx, dy
    keep 8, cx
    recall 9, cx
    recall 14, dz
    quarter a3, b0, cx, dz
.endm

/* \e, \f, \g, \h = themselves, rotated right by \bits (0: not), plus four words at cx; uses dy, dz. */
.macro add_initial e, f, g, h, bits
    ldmia cx!, {dy, dz}
    add \e, dy, \e, ror #\bits
    add \f, dz, \f, ror #\bits
    ldmia cx!, {dy, dz}
    add \g, dy, \g, ror #\bits
    add \h, dz, \h, ror #\bits
.endm

/* ---- Poly1305 ---- */

/* h += \m0 .. \m3 and 2^128 */
.macro poly_add m0, m1, m2, m3
    adds h0, h0, \m0
    adcs h1, h1, \m1
    adcs h2, h2, \m2
    adcs h3, h3, \m3
    adc h4, h4, #1
.endm

/* h += 5 (h >> 130) without these bits, h0 .. h3 coming from \e .. \h */
.macro poly_fold e, f, g, h
    bic w, h4, #3
    and h4, h4, #3
    add w, w, w, lsr #2
    adds h0, \e, w
    adcs h1, \f, #0
    adcs h2, \g, #0
    adcs h3, \h, #0
    adc h4, h4, #0
.endm

/* h = h r; column by column, the upper word of each sum and the product with h4 begin the next (umaal). */
.macro poly_multiply
    ldmib r1, {x, y, z, w}      /* s1, s2, s3, r0 */
    umull p0, p1, h3, x
    umlal p0, p1, h2, y
    mul x, h4, x                /* h4 s1 */
    umlal p0, p1, h1, z
    umlal p0, p1, h0, w
    umaal p1, x, h3, y
    mul y, h4, y                /* h4 s2 */
    umlal p1, x, h1, w
    ldr w, [r1, #POLY_R1]
    umlal p1, x, h2, z
    umlal p1, x, h0, w
    umaal x, y, h3, z
    mul z, h4, z                /* h4 s3 */
    umlal x, y, h1, w
    ldr w, [r1, #POLY_R0]
    umlal x, y, h2, w
    mul h4, w, h4               /* h4 r0 */
    ldr w, [r1, #POLY_R2]
    umlal x, y, h0, w
    umaal y, z, h1, w
    ldr w, [r1, #POLY_R3]
    umlal y, z, h0, w
    ldrd h0, h1, [r1, #POLY_R0]
    umlal y, z, h3, h0
    umlal y, z, h2, h1
    add h4, h4, z
    poly_fold p0, p1, x, y
.endm

/* The limbs of 26 bits of h in x, y, z, w, p1. */
.macro poly_split
    bic x, h0, #0xfc000000
    mov y, h0, lsr #26
    mov z, h1, lsr #20
    mov w, h2, lsr #14
    mov p1, h3, lsr #8
    orr y, y, h1, lsl #6
    orr z, z, h2, lsl #12
    orr w, w, h3, lsl #18
    orr p1, p1, h4, lsl #24
    bic y, y, #0xfc000000
    bic z, z, #0xfc000000
    bic w, w, #0xfc000000
.endm

.macro poly_store_power at
    poly_split
    add p0, r1, #\at
    stmia p0!, {x, y, z, w, p1}
    add y, y, y, lsl #2
    add z, z, z, lsl #2
    add w, w, w, lsl #2
    add p1, p1, p1, lsl #2
    stmia p0, {y, z, w, p1}
.endm

/* x, y, z, w, p0 = a lane of the sums, of limbs that may be larger than 26 bits. */
.macro poly_join lane
    ldr p0, [r1, #POWERS + 4*\lane]
    ldr p1, [r1, #POWERS + 4*\lane + 8]
    adds x, p0, p1, lsl #26
    mov y, p1, lsr #6
    ldr p0, [r1, #POWERS + 4*\lane + 16]
    adcs y, y, p0, lsl #20
    mov z, p0, lsr #12
    ldr p1, [r1, #POWERS + 4*\lane + 24]
    adcs z, z, p1, lsl #14
    mov w, p1, lsr #18
    ldr p0, [r1, #POWERS + 4*\lane + 32]
    adcs w, w, p0, lsl #8
    mov p0, p0, lsr #24
    adc p0, p0, #0
.endm

/* The next two blocks, in limbs. */
#define m0 d26
#define m1 d30
#define m2 d31
#define m3 d15
#define m4 d29
.macro vector_message
    vld4.32 {d26, d27, d28, d29}, [r8]!
    vshr.u32 m1, d26, #26
    vshr.u32 m2, d27, #20
    vshr.u32 m3, d28, #14
    vsli.32 m1, d27, #6
    vsli.32 m2, d28, #12
    vsli.32 m3, d29, #18
    vshr.u32 m4, d29, #8
    vbic.i32 m0, #0xfc000000
    vbic.i32 m1, #0xfc000000
    vbic.i32 m2, #0xfc000000
    vbic.i32 m3, #0xfc000000
    vorr.i32 m4, #0x01000000
.endm

.macro vector_add_message
    vadd.i32 d10, d10, m0
    vadd.i32 d11, d11, m1
    vadd.i32 d12, d12, m2
    vadd.i32 d13, d13, m3
    vadd.i32 d14, d14, m4
.endm

/* Sums q8 .. q12 of the products of limbs e .. i with a power: l0, l1; l2, l3; l4, s1; s2, s3; s4. */
.macro vector_multiply op, e, f, g, h, i, l01, l23, l4s1, s23, s4
    \op q8, \e, \l01[0]
    \op q9, \e, \l01[1]
    \op q10, \e, \l23[0]
    \op q11, \e, \l23[1]
    \op q12, \e, \l4s1[0]
    vmlal.u32 q8, \f, \s4[0]
    vmlal.u32 q9, \f, \l01[0]
    vmlal.u32 q10, \f, \l01[1]
    vmlal.u32 q11, \f, \l23[0]
    vmlal.u32 q12, \f, \l23[1]
    vmlal.u32 q8, \g, \s23[1]
    vmlal.u32 q9, \g, \s4[0]
    vmlal.u32 q10, \g, \l01[0]
    vmlal.u32 q11, \g, \l01[1]
    vmlal.u32 q12, \g, \l23[0]
    vmlal.u32 q8, \h, \s23[0]
    vmlal.u32 q9, \h, \s23[1]
    vmlal.u32 q10, \h, \s4[0]
    vmlal.u32 q11, \h, \l01[0]
    vmlal.u32 q12, \h, \l01[1]
    vmlal.u32 q8, \i, \l4s1[1]
    vmlal.u32 q9, \i, \s23[0]
    vmlal.u32 q10, \i, \s23[1]
    vmlal.u32 q11, \i, \s4[0]
    vmlal.u32 q12, \i, \l01[0]
.endm

/* d10 .. d14 = the sums, carried; two chains, from q11 and from q8. */
.macro vector_carry
    vmov.i64 q15, #0xffffffff
    vshr.u64 q13, q11, #26
    vshr.u64 q14, q8, #26
    vshr.u64 q15, q15, #6
    vadd.i64 q12, q12, q13
    vadd.i64 q9, q9, q14
    vand q11, q11, q15
    vand q8, q8, q15
    vshr.u64 q13, q12, #26
    vshr.u64 q14, q9, #26
    vand q12, q12, q15
    vand q9, q9, q15
    vadd.i64 q8, q8, q13
    vshl.i64 q13, q13, #2
    vadd.i64 q10, q10, q14
    vadd.i64 q8, q8, q13                /* 5 times what lies above 2^130 */
    vshr.u64 q14, q10, #26
    vand q10, q10, q15
    vshr.u64 q13, q8, #26
    vand q8, q8, q15
    vadd.i64 q11, q11, q14
    vadd.i64 q9, q9, q13
    vmovn.i64 d12, q10
    vmovn.i64 d10, q8
    vshr.u64 q14, q11, #26
    vand q11, q11, q15
    vmovn.i64 d11, q9
    vadd.i64 q12, q12, q14
    vmovn.i64 d13, q11
    vmovn.i64 d14, q12
.endm

/* ---- the kernel ---- */

function sealane_chacha20poly1305_neon
    ldr r3, [r0, #SEALANE_ARG_FLAGS]
    ldr r4, [r0, #SEALANE_ARG_BYTES]
    ldr r5, [r0, #SEALANE_ARG_IN]
    ldr r6, [r0, #SEALANE_ARG_OUT]
    orrs r7, r4, r3, lsl #30             /* nothing but OPEN: nothing to do */
    beq .Ldone
    add r1, r1, #FRAME
    ldr r11, [r0, #SEALANE_ARG_KEY]
    ldr r12, [r0, #SEALANE_ARG_NONCE]
    str r3, [r1, #FLAGS]
    str r0, [r1, #ARGS]
    str r4, [r1, #REMAINING]
    str r5, [r1, #IN]
    str r6, [r1, #OUT]
    str r2, [r1, #CONSTANTS]
    ldmia r2, {r4, r5, r6, r7}
    add r2, r1, #STATE
    stmia r2!, {r4, r5, r6, r7}
    ldr r4, [r11]
    ldr r5, [r11, #4]
    ldr r6, [r11, #8]
    ldr r7, [r11, #12]
    stmia r2!, {r4, r5, r6, r7}
    mov r4, r4, ror #7
    mov r5, r5, ror #7
    mov r6, r6, ror #7
    mov r7, r7, ror #7
    add r8, r1, #START
    stmia r8!, {r4, r5, r6, r7}
    ldr r4, [r11, #16]
    ldr r5, [r11, #20]
    ldr r6, [r11, #24]
    ldr r7, [r11, #28]
    stmia r2!, {r4, r5, r6, r7}
    mov r4, #0
    ldr r5, [r12]
    ldr r6, [r12, #4]
    ldr r7, [r12, #8]
    stmia r2, {r4, r5, r6, r7}
    mov r5, r5, ror #8
    mov r6, r6, ror #8
    mov r7, r7, ror #8
    stmia r8, {r4, r5, r6, r7}
    mov r4, #0
    str r4, [r1, #STREAM_BYTES]
    tst r3, #SEALANE_FLAG_FIRST
    mov r4, #PHASE_KEY
    str r4, [r1, #PHASE]
    bne .Lblock

/* Another part of a packet: go on where the one before ended. */
    ldr r12, [r0, #SEALANE_ARG_STATE]
    ldr r4, [r12, #SEALANE_STATE_COUNTER]
    str r4, [r1, #STATE + 48]
    ldr r2, [r12, #SEALANE_STATE_S]
    ldr r3, [r12, #SEALANE_STATE_S + 4]
    ldr r4, [r12, #SEALANE_STATE_S + 8]
    ldr r5, [r12, #SEALANE_STATE_S + 12]
    add r0, r1, #POLY_S
    stmia r0, {r2, r3, r4, r5}
    ldr r2, [r12, #SEALANE_STATE_R]
    ldr r3, [r12, #SEALANE_STATE_R + 4]
    ldr r4, [r12, #SEALANE_STATE_R + 8]
    ldr r5, [r12, #SEALANE_STATE_R + 12]
    add r0, r1, #POLY_R0
    stmia r0, {r2, r3, r4, r5}
    add r7, r3, r3, lsr #2
    add r8, r4, r4, lsr #2
    add r9, r5, r5, lsr #2
    stmib r1, {r7, r8, r9}
    ldr h0, [r12, #SEALANE_STATE_H]
    ldr h1, [r12, #SEALANE_STATE_H + 4]
    ldr h2, [r12, #SEALANE_STATE_H + 8]
    ldr h3, [r12, #SEALANE_STATE_H + 12]
    ldr h4, [r12, #SEALANE_STATE_H + 16]
    poly_fold h0, h1, h2, h3
    b .Ltext

/* More keystream: one block, or a set. */
.Lblock:
    ldr r2, [r1, #REMAINING]
    cmp r2, #64
    bhi .Lset
    add r12, r1, #STATE + 32
    ldmia r12, {r2, r3, r4, r5, r6}     /* c, counter */
    add r12, r1, #START + 20
    ldmia r12, {r7, r8, r9}
    mov r6, r6, ror #8
    add r12, r1, #BLOCK + 32
    stmia r12, {r2, r3, r4, r5, r6, r7, r8, r9}
    mov dy, r7                          /* d1, d2 */
    mov dz, r8
    mov r0, #5
    str r0, [r1, #LEFT]
    mov cx, r3                          /* c1 */
    add r2, r1, #START
    ldmia r2, {b0, b1, b2, b3}
    add r2, r1, #STATE
    ldmia r2, {a0, a1, a2, a3}
.Lrounds:
    double_round
    double_round
    keep 9, cx
    ldr cx, [r1, #LEFT]
    subs cx, cx, #1
    str cx, [r1, #LEFT]
    recall 9, cx
    bne .Lrounds

/* The keystream: words 0..7 from registers, then 8..15. */
    keep 9, cx
    keep 13, dy
    keep 14, dz
    add cx, r1, #STATE
    add_initial a0, a1, a2, a3, 0
    add_initial b0, b1, b2, b3, 25
    add dy, r1, #BLOCK
    stmia dy!, {a0, a1, a2, a3, b0, b1, b2, b3}
    ldmia dy, {a0, a1, a2, a3, b0, b1, b2, b3}
    add_initial a0, a1, a2, a3, 0
    add_initial b0, b1, b2, b3, 24
    add dy, r1, #BLOCK + 32
    stmia dy, {a0, a1, a2, a3, b0, b1, b2, b3}
    mov r5, #64
    b .Lkeystream

.Lset:
    add r2, r1, #STATE
    ldr r3, [r1, #CONSTANTS]
    add r3, r3, #CONST_COUNT
    add half_set, r1, #SET_C
    add other_half, half_set, #32
    broadcast_row d0, d1, d2, d3, d4, d5, d6, d7
    broadcast_row d8, d9, d10, d11, d12, d13, d14, d15
    broadcast_row d24, d25, d26, d27, d28, d29, d30, d31
    broadcast_row d16, d17, d18, d19, d20, d21, d22, d23
    vstmia other_half, {q14, q15}
    vld1.32 {q14}, [r3]
    vadd.i32 vd0, vd0, q14
    mov r0, #10
.Lset_rounds:
    vector_double_round
    subs r0, r0, #1
    bne .Lset_rounds
    ldr r6, [r1, #CONSTANTS]
    add r2, r1, #STATE
    add r3, r1, #BLOCK
    mov r4, #64
    mvn r5, #64*3 - 16 - 1              /* from the last block to the next row of the first */
    add r6, r6, #CONST_COUNT
    store_row q0, q1, q2, q3, d1, d3, d4, d6, q14, d28, d29, q15, d30, d31
    store_row q4, q5, q6, q7, d9, d11, d12, d14, q14, d28, d29, q15, d30, d31
    vldmia other_half, {q14, q15}
    vld1.32 {q2}, [r6]
    vadd.i32 vd0, vd0, q2
    store_row q12, q13, q14, q15, d25, d27, d28, d30, q0, d0, d1, q1, d2, d3
    store_row q8, q9, q10, q11, d17, d19, d20, d22, q0, d0, d1, q1, d2, d3
    mov r5, #256

/* r5 bytes of keystream are there. */
.Lkeystream:
    ldr r2, [r1, #STATE + 48]
    ldr r3, [r1, #PHASE]
    add r0, r1, #BLOCK
    add r2, r2, r5, lsr #6
    str r2, [r1, #STATE + 48]
    cmp r3, #PHASE_KEY
    bne .Lencrypt_stream
    add r0, r0, #64
    sub r5, r5, #64
    str r0, [r1, #STREAM]
    str r5, [r1, #STREAM_BYTES]

/* Block 0: r = its words 0..3, clamped, s = words 4..7 (RFC 8439, 2.6); then the associated data. */
    add r12, r1, #BLOCK
    ldmia r12, {r2, r3, r4, r5, r6, r7, r8, r9}
    bic r2, r2, #0xf0000000
    bic r3, r3, #0xf0000003
    bic r4, r4, #0xf0000003
    bic r5, r5, #0xf0000003
    add r12, r1, #POLY_S
    stmia r12, {r6, r7, r8, r9}
    add r12, r1, #POLY_R0
    stmia r12, {r2, r3, r4, r5}
    add r3, r3, r3, lsr #2
    add r4, r4, r4, lsr #2
    add r5, r5, r5, lsr #2
    stmib r1, {r3, r4, r5}
    mov h0, #0
    mov h1, #0
    mov h2, #0
    mov h3, #0
    mov h4, #0
    ldr r0, [r1, #ARGS]
    mov r12, #PHASE_AD
    ldr r8, [r0, #SEALANE_ARG_AD]
    ldr r9, [r0, #SEALANE_ARG_AD_BYTES]

/* Authenticate r9 bytes at r8, padded with zeroes. */
.Lauthenticate:
    str r12, [r1, #PHASE]
    and r7, r9, #15
    bic r9, r9, #15
    str r7, [r1, #REST]
    add r9, r8, r9
    strd r8, r9, [r1, #MESSAGE]
    sub r7, r9, r8
    cmp r7, #VECTOR_MINIMUM
    bhs .Lpoly_vector
    cmp r7, #0
    beq .Lrest
.Lpoly:
    ldr r7, [r8]
    ldr r9, [r8, #4]
    ldr r11, [r8, #8]
    ldr r12, [r8, #12]
    add r8, r8, #16
    str r8, [r1, #MESSAGE]
    poly_add r7, r9, r11, r12
    poly_multiply
    ldrd r8, r9, [r1, #MESSAGE]
    cmp r8, r9
    bne .Lpoly
.Lrest:
    ldr r7, [r1, #REST]
    cmp r7, #0
    beq .Lauthenticated
    add r9, r1, #TAIL
    mov r0, #0
    str r0, [r9]
    str r0, [r9, #4]
    str r0, [r9, #8]
    str r0, [r9, #12]
    str r0, [r1, #REST]
    subs r7, r7, #4
    blo .Lrest_bytes
.Lrest_words:
    ldr r0, [r8], #4
    str r0, [r9], #4
    subs r7, r7, #4
    bhs .Lrest_words
.Lrest_bytes:
    adds r7, r7, #4
    beq .Ltail
.Lrest_byte:
    ldrb r0, [r8], #1
    strb r0, [r9], #1
    subs r7, r7, #1
    bne .Lrest_byte
.Ltail:
    add r8, r1, #TAIL
    add r9, r8, #16
    str r9, [r1, #LIMIT]
    b .Lpoly

/* Whole blocks, 2 + 4 n of them. */
.Lpoly_vector:
    add r12, r1, #POLY_H
    stmia r12, {h0, h1, h2, h3, h4}
    add r12, r1, #POLY_R0
    ldmia r12, {h0, h1, h2, h3}
    mov h4, #0
    poly_multiply
    poly_store_power POWERS
    poly_multiply
    poly_multiply
    poly_store_power POWERS+40
    add r12, r1, #POLY_H
    ldmia r12, {h0, h1, h2, h3, h4}
    poly_split
    vmov.i32 q5, #0
    vmov.i32 q6, #0
    vmov.i32 d14, #0
    vmov.32 d10[0], x
    vmov.32 d11[0], y
    vmov.32 d12[0], z
    vmov.32 d13[0], w
    vmov.32 d14[0], p1
    add r12, r1, #POWERS
    vldmia r12, {d0-d9}
    ldrd r8, r9, [r1, #MESSAGE]
    sub r9, r9, r8
    sub r9, r9, #32
    mov r9, r9, lsr #6
    vector_message
    vector_add_message
.Lpoly_vector_loop:
    vector_message
    vector_multiply vmull.u32, d10, d11, d12, d13, d14, d5, d6, d7, d8, d9
    vector_multiply vmlal.u32, m0, m1, m2, m3, m4, d0, d1, d2, d3, d4
    vector_carry
    vector_message
    vector_add_message
    subs r9, r9, #1
    bne .Lpoly_vector_loop
    str r8, [r1, #MESSAGE]
    vstmia r12, {d10-d14}
    poly_join 0
    mov h0, x
    mov h1, y
    mov h2, z
    mov h3, w
    mov h4, p0
    poly_multiply
    poly_join 1
    adds h0, h0, x
    adcs h1, h1, y
    adcs h2, h2, z
    adcs h3, h3, w
    adc h4, h4, p0
    poly_fold h0, h1, h2, h3
    poly_multiply
    ldrd r8, r9, [r1, #MESSAGE]
    cmp r8, r9
    bne .Lpoly
    b .Lrest

.Lauthenticated:
    ldr r12, [r1, #PHASE]
    ldr r11, [r1, #FLAGS]
    cmp r12, #PHASE_TEXT
    blo .Ltext
    bhi .Ltag
    tst r11, #SEALANE_FLAG_OPEN
    beq .Lfinish
    b .Lencrypt

/* Open authenticates the text first, since it may be overwritten. */
.Ltext:
    ldr r11, [r1, #FLAGS]
    mov r12, #PHASE_TEXT
    tst r11, #SEALANE_FLAG_OPEN
    beq .Lencrypt
    ldr r8, [r1, #IN]
    ldr r9, [r1, #REMAINING]
    b .Lauthenticate

.Lencrypt:
    mov r12, #PHASE_TEXT
    str r12, [r1, #PHASE]
    add r12, r1, #POLY_H
    stmia r12, {h0, h1, h2, h3, h4}
    ldr r12, [r1, #REMAINING]
    cmp r12, #0
    beq .Lencrypted
    ldr r0, [r1, #STREAM]
    ldr r5, [r1, #STREAM_BYTES]
    cmp r5, #0
    beq .Lblock

/* Up to r5 bytes with the keystream at r0. */
.Lencrypt_stream:
    ldr r11, [r1, #REMAINING]
    ldr r2, [r1, #IN]
    ldr r3, [r1, #OUT]
.Lencrypt_64:
    subs r11, r11, #64
    blo .Lencrypt_partial
    vld1.32 {q0, q1}, [r0:128]!
    vld1.8 {q8, q9}, [r2]!
    vld1.32 {q2, q3}, [r0:128]!
    vld1.8 {q10, q11}, [r2]!
    veor q0, q0, q8
    veor q1, q1, q9
    veor q2, q2, q10
    veor q3, q3, q11
    vst1.8 {q0, q1}, [r3]!
    vst1.8 {q2, q3}, [r3]!
    subs r5, r5, #64
    bne .Lencrypt_64
    str r11, [r1, #REMAINING]
    str r2, [r1, #IN]
    str r3, [r1, #OUT]
    cmp r11, #0
    bne .Lblock
    b .Lencrypted

/* The last bytes, fewer than 64. */
.Lencrypt_partial:
    adds r11, r11, #64 - 16
    bmi .Lencrypt_words
.Lencrypt_16:
    vld1.32 {q0}, [r0:128]!
    vld1.8 {q8}, [r2]!
    veor q0, q0, q8
    vst1.8 {q0}, [r3]!
    subs r11, r11, #16
    bpl .Lencrypt_16
.Lencrypt_words:
    adds r11, r11, #16 - 4
    bmi .Lencrypt_bytes
.Lencrypt_word:
    ldr r4, [r2], #4
    ldr r5, [r0], #4
    eor r4, r4, r5
    str r4, [r3], #4
    subs r11, r11, #4
    bpl .Lencrypt_word
.Lencrypt_bytes:
    adds r11, r11, #4
    beq .Lencrypted
.Lencrypt_byte:
    ldrb r4, [r2], #1
    ldrb r5, [r0], #1
    eor r4, r4, r5
    strb r4, [r3], #1
    subs r11, r11, #1
    bne .Lencrypt_byte

.Lencrypted:
    add r12, r1, #POLY_H
    ldmia r12, {h0, h1, h2, h3, h4}
    ldr r11, [r1, #FLAGS]
    ldr r0, [r1, #ARGS]
    mov r12, #PHASE_TEXT
    tst r11, #SEALANE_FLAG_OPEN
    ldreq r8, [r0, #SEALANE_ARG_OUT]
    ldreq r9, [r0, #SEALANE_ARG_BYTES]
    beq .Lauthenticate

.Lfinish:
    ldr r0, [r1, #ARGS]
    tst r11, #SEALANE_FLAG_LAST
    beq .Lsave
    ldr r7, [r0, #SEALANE_ARG_AD_BYTES]
    ldr r8, [r0, #SEALANE_ARG_AD_BYTES + 4]
    ldr r9, [r0, #SEALANE_ARG_TOTAL]
    ldr r11, [r0, #SEALANE_ARG_TOTAL + 4]
    add r12, r1, #TAIL
    stmia r12, {r7, r8, r9, r11}
    mov r12, #PHASE_LENGTHS
    str r12, [r1, #PHASE]
    b .Ltail

/* tag = (h mod 2^130 - 5) + s mod 2^128; h < 2p, and h >= p if h + 5 reaches 2^130. */
.Ltag:
    adds r7, h0, #5
    adcs r7, h1, #0
    adcs r7, h2, #0
    adcs r7, h3, #0
    adc r7, h4, #0
    mov r7, r7, lsr #2                  /* 0 or 1 */
    add r7, r7, r7, lsl #2
    add r12, r1, #POLY_S
    adds h0, h0, r7
    adcs h1, h1, #0
    adcs h2, h2, #0
    adc h3, h3, #0
    ldmia r12, {r7, r8, r9, r11}
    ldr r0, [r1, #ARGS]
    ldr r0, [r0, #SEALANE_ARG_TAG]
    adds h0, h0, r7
    adcs h1, h1, r8
    adcs h2, h2, r9
    adc h3, h3, r11
    str h0, [r0]
    str h1, [r0, #4]
    str h2, [r0, #8]
    str h3, [r0, #12]
    b .Lwipe

.Lsave:
    ldr r9, [r0, #SEALANE_ARG_BYTES]
    ldr r0, [r0, #SEALANE_ARG_STATE]
    ldr r7, [r1, #FLAGS]
    ldr r8, [r0, #SEALANE_STATE_COUNTER]
    tst r7, #SEALANE_FLAG_FIRST
    movne r8, #1
    add r8, r8, r9, lsr #6              /* a set may have made more blocks than there were */
    str r8, [r0, #SEALANE_STATE_COUNTER]
    mov r7, #0
    stmia r0!, {h0, h1, h2, h3, h4, r7}
    add r12, r1, #POLY_R0
    ldmia r12, {r2, r3, r4, r5}
    add r12, r1, #POLY_S
    ldmia r12, {r6, r8, r9, r11}
    stmia r0!, {r2, r3, r4, r5}
    stmia r0!, {r6, r8, r9, r11}
    str r7, [r0, #4]

.Lwipe:
    vmov.i32 q0, #0
    vmov.i32 q1, #0
    sub r1, r1, #32
.rept (END + 32) / 32
    vst1.32 {q0, q1}, [r1:128]!
.endr
    sub r1, r1, #SEALANE_SCRATCH_SAVE_BYTES + END + 32
.Ldone:
endfunction

constants sealane_chacha20poly1305_neon_constants
    .long 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574
    .long 0, 1, 2, 3
endconstants

#endif
