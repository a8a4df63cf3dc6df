/* ChaCha20-Poly1305 in integer registers: seals or opens one packet, or one part of a long one, in one call.
 *
 *     void sealane_chacha20poly1305_armv6(const args *a, void *scratch, const void *consts);
 *
 * CPU        ARMv6 (umaal; ldr and str of words at any address), little-endian, no vector unit
 * args       all SEALANE_ARG_* (asm/args.h); writes OUT[BYTES] and, by flags, TAG[16] or STATE[64]
 * scratch    288 bytes after the saved registers, wiped before the return; stack 0
 * consts     sealane_chacha20poly1305_armv6_constants
 * registers  all but r10, r13, r14; r1 holds scratch, displaced by FRAME until the end
 * branches   and addresses depend on BYTES, AD_BYTES, FLAGS only
 *
 * ChaCha20 (RFC 8439, 2.3): a state of 4x4 words (constants; key; key; counter, nonce), 10 double rounds of
 *     a += b, d = (d ^ a) <<< 16;  c += d, b = (b ^ c) <<< 12;  a += b, d = (d ^ a) <<< 8;  c += d, b = (b ^ c) <<< 7
 * on the 4 columns, then on the 4 diagonals; the keystream block is the result plus the initial state. Here no
 * rotation is an instruction. b and d stay unrotated, and the instructions that use them rotate them.
 *
 * Poly1305 (2.5): h = (h + m) r mod 2^130 - 5 for each block m of 16 bytes and a one above it. With h = h0 .. h4 and
 * r = r0 .. r3 in words, 4 | r1, r2, r3 (clamped), and 2^130 = 5, that is 2^128 ri = si := ri + ri/4:
 *     h r = (h0 r0 + h1 s3 + h2 s2 + h3 s1) + 2^32 (h0 r1 + h1 r0 + h2 s3 + h3 s2 + h4 s1)
 *         + 2^64 (h0 r2 + h1 r1 + h2 r0 + h3 s3 + h4 s2) + 2^96 (h0 r3 + h1 r2 + h2 r1 + h3 r0 + h4 s3) + 2^128 h4 r0,
 * then h += 5 (h >> 130) without these bits. Each sum stays below 2^64: ri < 2^28, h4 < 10.
 */
#include "../asm.S"

#if defined(__arm__)

isa armv6

/* Scratch, relative to the displaced r1. */
#define FRAME (SEALANE_SCRATCH_SAVE_BYTES + 32)
#define MESSAGE -32   /* authenticate from here */
#define LIMIT -28     /* up to here */
#define PHASE -24     /* the current step: PHASE_* */
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
#define REST 52       /* bytes after the whole authenticated blocks */
#define POLY_S 64
#define TAIL 80       /* the last bytes, padded with zeroes to 16, or the lengths */
#define STATE 96      /* initial state of the next block */
#define BLOCK 160     /* words of rows c and d that have no register; then the keystream */
#define START 224     /* rows b and d of the initial state, rotated for the rounds; d without the counter */
#define END 256

#define PHASE_KEY 0
#define PHASE_AD 1
#define PHASE_TEXT 2
#define PHASE_LENGTHS 3

/* Poly1305: the accumulator; 5 (h >> 130). */
#define h0 r2
#define h1 r3
#define h2 r4
#define h3 r5
#define h4 r6
#define over r11
/* Factors: s1 .. s3, and one of r0 .. r3 at a time; then r0 and r1 where h is done. */
#define poly_s1 r7
#define poly_s2 r8
#define poly_s3 r9
#define poly_r r11
#define late_r0 r2
#define late_r1 r3
/* Words of the product by weight, 2^0 to 2^128; from p2 on they take the place of s1 .. s3. */
#define p0 r0
#define p1 r12
#define p2 r7
#define p3 r8
#define p4 r9

#include "chacha20poly1305_text.h"

/* ---- ChaCha20 ---- */

#include "chacha20poly1305_armv6_woven.h"

/* ---- Poly1305 ---- */

/* h += \m0 .. \m3 and 2^128 */
.macro poly_add m0, m1, m2, m3
    adds h0, h0, \m0
    adcs h1, h1, \m1
    adcs h2, h2, \m2
    adcs h3, h3, \m3
    adc h4, h4, #1
.endm

/* h = h r; column by column, the upper word of each sum and the product with h4 begin the next (umaal). */
.macro poly_multiply
    ldmib r1, {poly_s1, poly_s2, poly_s3, poly_r}       /* r0 */
    umull p0, p1, h3, poly_s1
    umlal p0, p1, h2, poly_s2
    mul p2, h4, poly_s1
    umlal p0, p1, h1, poly_s3
    umlal p0, p1, h0, poly_r                            /* h0 r0 */
    umaal p1, p2, h3, poly_s2
    mul p3, h4, poly_s2
    umlal p1, p2, h1, poly_r                            /* h1 r0 */
    ldr poly_r, [r1, #POLY_R1]
    umlal p1, p2, h2, poly_s3
    umlal p1, p2, h0, poly_r                            /* h0 r1 */
    umaal p2, p3, h3, poly_s3
    mul p4, h4, poly_s3
    umlal p2, p3, h1, poly_r                            /* h1 r1 */
    ldr poly_r, [r1, #POLY_R0]
    umlal p2, p3, h2, poly_r                            /* h2 r0 */
    mul h4, poly_r, h4                                  /* h4 r0 */
    ldr poly_r, [r1, #POLY_R2]
    umlal p2, p3, h0, poly_r                            /* h0 r2 */
    umaal p3, p4, h1, poly_r                            /* h1 r2 */
    ldr poly_r, [r1, #POLY_R3]
    umlal p3, p4, h0, poly_r                            /* h0 r3 */
    ldrd late_r0, late_r1, [r1, #POLY_R0]
    umlal p3, p4, h3, late_r0
    umlal p3, p4, h2, late_r1
    add h4, h4, p4
    poly_fold p0, p1, p2, p3
.endm

/* ---- the kernel ---- */

scratch_end 544
function sealane_chacha20poly1305_armv6
    begin
    str r3, [r1, #FLAGS]
    str r0, [r1, #ARGS]
    str r4, [r1, #REMAINING]
    str r5, [r1, #IN]
    str r6, [r1, #OUT]
    ldmia r2, {r4, r5, r6, r7}
    add r2, r1, #STATE
    stmia r2!, {r4, r5, r6, r7}
    load_words r11, r4, r5, r6, r7
    stmia r2!, {r4, r5, r6, r7}
    mov r4, r4, ror #ROTATE_4
    mov r5, r5, ror #ROTATE_4
    mov r6, r6, ror #ROTATE_4
    mov r7, r7, ror #ROTATE_4
    add r8, r1, #START
    stmia r8!, {r4, r5, r6, r7}
    load_words r11, r4, r5, r6, r7, 16
    stmia r2!, {r4, r5, r6, r7}
    mov r4, #0
    ldr r5, [r12]
    ldr r6, [r12, #4]
    ldr r7, [r12, #8]
    stmia r2, {r4, r5, r6, r7}
    mov r5, r5, ror #ROTATE_3
    mov r6, r6, ror #ROTATE_3
    mov r7, r7, ror #ROTATE_3
    stmia r8, {r4, r5, r6, r7}
    tst r3, #SEALANE_FLAG_FIRST
    mov r4, #PHASE_KEY
    str r4, [r1, #PHASE]
    bne .Lblock

/* Another part of a packet continues where the previous one ended. */
    continue_key
    add r0, r1, #POLY_R0
    stmia r0, {r2, r3, r4, r5}
    add r7, r3, r3, lsr #2
    add r8, r4, r4, lsr #2
    add r9, r5, r5, lsr #2
    stmib r1, {r7, r8, r9}
    continue_hash
    b .Ltext

/* One block of keystream. */
.Lblock:
    add r12, r1, #STATE + 32
    ldmia r12, {r2, r3, r4, r5, r6}     /* c, counter */
    add r12, r1, #START + 20
    ldmia r12, {r7, r8, r9}
    mov r6, r6, ror #ROTATE_3
    add r12, r1, #BLOCK + 32
    stmia r12, {r2, r3, r4, r5, r6, r7, r8, r9}
    mov dy, r7                          /* d1, d2 */
    mov dz, r8
    mov r0, #5
    str r0, [r1, #LEFT]
    mov cx, r3                          /* c1 */
    add r2, r1, #START
    ldmia r2, {ib0, ib1, ib2, ib3}
    add r2, r1, #STATE
    ldmia r2, {ia0, ia1, ia2, ia3}
.Lrounds:
    double_round
    double_round
    str cx, [r1, #BLOCK + 4*9]
    ldr cx, [r1, #LEFT]
    subs cx, cx, #1
    str cx, [r1, #LEFT]
    ldr cx, [r1, #BLOCK + 4*9]
    bne .Lrounds

/* The keystream: words 0..7 from registers, then 8..15. */
    str cx, [r1, #BLOCK + 4*9]
    str dy, [r1, #BLOCK + 4*13]
    str dz, [r1, #BLOCK + 4*14]
    add cx, r1, #STATE
    add_initial ia0, ia1, ia2, ia3, 0
    add_initial ib0, ib1, ib2, ib3, 32-ROTATE_4
    add dy, r1, #BLOCK
    stmia dy!, {ia0, ia1, ia2, ia3, ib0, ib1, ib2, ib3}
    ldmia dy, {ia0, ia1, ia2, ia3, ib0, ib1, ib2, ib3}
    add_initial ia0, ia1, ia2, ia3, 0
    add_initial ib0, ib1, ib2, ib3, 32-ROTATE_3
    add dy, r1, #BLOCK + 32
    stmia dy, {ia0, ia1, ia2, ia3, ib0, ib1, ib2, ib3}
    ldr r2, [r1, #STATE + 48]
    ldr r3, [r1, #PHASE]
    add r2, r2, #1
    str r2, [r1, #STATE + 48]
    cmp r3, #PHASE_KEY
    bne .Lencrypt_block

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
    begin_message
    cmp r8, r9
    beq .Lrest
    next_message
    poly_add r7, r9, r11, r12
    poly_multiply
    authenticate_more
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
    bne .Lblock
    b .Lencrypted

.Lencrypt_block:
    ldr r11, [r1, #REMAINING]
    ldr r2, [r1, #IN]
    ldr r3, [r1, #OUT]
    add r0, r1, #BLOCK
    subs r11, r11, #64
    blo .Lencrypt_partial
    str r11, [r1, #REMAINING]
.rept 4
    ldr r4, [r2], #4
    ldr r5, [r2], #4
    ldr r6, [r2], #4
    ldr r7, [r2], #4
    ldmia r0!, {r8, r9, r11, r12}
    eor r4, r4, r8
    eor r5, r5, r9
    eor r6, r6, r11
    eor r7, r7, r12
    str r4, [r3], #4
    str r5, [r3], #4
    str r6, [r3], #4
    str r7, [r3], #4
.endr
    str r2, [r1, #IN]
    str r3, [r1, #OUT]
    ldr r11, [r1, #REMAINING]
    cmp r11, #0
    bne .Lblock
    b .Lencrypted

/* The last bytes, fewer than 64. */
.Lencrypt_partial:
    adds r11, r11, #64 - 4
    bmi .Lxor_bytes
    xor_rest r2, r0, r3, r11, r4, r5

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
    authenticate_lengths
/* tag = (h mod 2^130 - 5) + s mod 2^128 */
.Ltag:
    poly_reduce
    ldr r0, [r1, #ARGS]
    ldr r0, [r0, #SEALANE_ARG_TAG]
    adds h0, h0, r7
    adcs h1, h1, r8
    adcs h2, h2, r9
    adc h3, h3, r11
    store_tag

.Lsave:
    ldr r0, [r0, #SEALANE_ARG_STATE]
    mov r7, #0
    stmia r0!, {h0, h1, h2, h3, h4, r7}
    add r12, r1, #POLY_R0
    ldmia r12, {r2, r3, r4, r5}
    add r12, r1, #POLY_S
    ldmia r12, {r6, r8, r9, r11}
    ldr r12, [r1, #STATE + 48]
    stmia r0!, {r2, r3, r4, r5}
    stmia r0!, {r6, r8, r9, r11}
    str r12, [r0]
    str r7, [r0, #4]

.Lwipe:
.irp word, r2, r3, r4, r5, r6, r7, r8, r9
    mov \word, #0
.endr
    sub r1, r1, #32
.rept 9
    stmia r1!, {r2, r3, r4, r5, r6, r7, r8, r9}
.endr
    sub r1, r1, #SEALANE_SCRATCH_SAVE_BYTES + 9*32
.Ldone:
endfunction

constants sealane_chacha20poly1305_armv6_constants
    .long 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574
endconstants

#endif
