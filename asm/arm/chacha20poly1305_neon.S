/* ChaCha20-Poly1305 with NEON: seals or opens one packet, or one part of a long one, in one call.
 *
 *     void sealane_chacha20poly1305_neon(const args *a, void *scratch, const void *consts);
 *
 * CPU        ARMv7-A with NEON, little-endian
 * args       all SEALANE_ARG_* (asm/args.h); writes OUT[BYTES] and, by flags, TAG[16] or STATE[64]
 * scratch    544 bytes after the saved registers, wiped before the return; stack 0
 * consts     sealane_chacha20poly1305_neon_constants
 * registers  all but r10, r13, r14; r1 holds scratch, displaced by FRAME until the end
 * branches   and addresses depend on BYTES, AD_BYTES, FLAGS only
 *
 * ChaCha20 (RFC 8439, 2.3): a state of 4x4 words (constants; key; key; counter, nonce), 10 double rounds of
 *     a += b, d = (d ^ a) <<< 16;  c += d, b = (b ^ c) <<< 12;  a += b, d = (d ^ a) <<< 8;  c += d, b = (b ^ c) <<< 7
 * on the 4 columns, then on the 4 diagonals; the keystream block is the result plus the initial state. A vector holds
 * one word of 4 blocks, and 16 vectors, a "set", are 4 blocks. The first set makes the Poly1305 key (2.6) along with
 * 3 blocks of text. If the text fills whole sets, it makes 4 blocks of text and leaves the key to integer registers.
 * Only the counter differs between blocks, so columns 1 .. 3 of the first round are made once for all of them. One or
 * two blocks are a "pair": there a vector is a row of a block.
 *
 * Poly1305 (2.5): h = (h + m) r mod 2^130 - 5 for each block m of 16 bytes and a one above it. With h = h0 .. h4 and
 * r = r0 .. r3 in words, 4 | r1, r2, r3 (clamped), and 2^130 = 5, that is 2^128 ri = si := ri + ri/4:
 *     h r = (h0 r0 + h1 s3 + h2 s2 + h3 s1) + 2^32 (h0 r1 + h1 r0 + h2 s3 + h3 s2 + h4 s1)
 *         + 2^64 (h0 r2 + h1 r1 + h2 r0 + h3 s3 + h4 s2) + 2^96 (h0 r3 + h1 r2 + h2 r1 + h3 r0 + h4 s3) + 2^128 h4 r0,
 * then h += 5 (h >> 130) without these bits. Each sum stays below 2^64, also with the next word's product with h4 in
 * its upper half: ri < 2^28, h4 < 8. It is computed in integer registers between the vector instructions of a set or
 * pair. Its input is the ciphertext so far when sealing, and the input when opening.
 */
#include "../asm.S"

#if defined(__arm__)

isa neon

/* Scratch, relative to the displaced r1. */
#define FRAME (SEALANE_SCRATCH_SAVE_BYTES + 64)
#define ARGS -64
#define FLAGS -60
#define REMAINING -56 /* bytes of text to encrypt */
#define IN -52
#define OUT -48
#define PHASE -44     /* the kind of authenticated bytes: PHASE_* */
#define REST -40      /* bytes after the whole authenticated blocks */
#define PENDING -36   /* 1: a block has been added to h, which has not been multiplied since */
#define LEFT -32      /* double rounds left, with Poly1305 and */
#define RIGHT -28     /* without */
#define MESSAGE -24   /* authenticate from here */
#define LIMIT -20     /* up to here */
#define POLY_S1 -16   /* r0 .. r3, s1 .. s3 */
#define POLY_S3 -8
#define POLY_R0 -4
#define POLY_R1 32
#define POLY_R2 36
#define POLY_R3 40
#define SPILL_0 0     /* two vectors of the set */
#define SPILL_1 16
#define KEYSTREAM 44     /* unused keystream begins here, or 0: it is in registers */
#define KEYSTREAM_BYTES 48 /* 1: the set in registers is text's and not yet used */
#define CONSTANTS 52
#define POLY_LOW 56   /* the lowest word of a product, until the others are there */
#define KEY_LEFT 60   /* double rounds left of the key's block */
#define POLY_S 64
#define TAIL 80       /* the last bytes, padded with zeroes to 16, or the lengths */
#define STATE 96      /* initial state of the next block */
#define BLOCK 160     /* keystream of up to 4 blocks */
#define START 416     /* words of the set after the part of the first round that all blocks share */
#define END 480

#define CONST_SIGMA 0
#define CONST_COUNT 16 /* 0, 1, 2, 3 */
#define CONST_ONE 32   /* 1, 0, 0, 0 */

#define PHASE_AD 0
#define PHASE_TEXT 1
#define PHASE_LENGTHS 2
#define PHASE_KEY 3

#include "chacha20poly1305_neon_woven.h"

/* ---- ChaCha20 ---- */

/* Column \k of the first round in integer registers, as far as set_begin leaves it. */
.macro column k, upto, a, b, c, d
    ldr r2, [r1, #STATE + 4*\k]
    ldr r3, [r1, #STATE + 16 + 4*\k]
    ldr r4, [r1, #STATE + 32 + 4*\k]
    ldr r5, [r1, #STATE + 48 + 4*\k]
    add r2, r2, r3
    eor r5, r5, r2
    add r4, r4, r5, ror #32-ROTATE_1
    eor r3, r3, r4
    mov r3, r3, ror #32-ROTATE_2
    add r2, r2, r3
    eor r5, r2, r5, ror #32-ROTATE_1
.if \upto > 9
    mov r5, r5, ror #32-ROTATE_3
    add r4, r4, r5
.endif
.if \upto > 12
    eor r3, r3, r4
    mov r3, r3, ror #32-ROTATE_4
.endif
    str r2, [r1, #\a]
    str r3, [r1, #\b]
    str r4, [r1, #\c]
    str r5, [r1, #\d]
.endm

/* ---- the kernel ---- */

/* The double rounds of a set or pair, `all` where LEFT, in r0, is 0: LEFT of them beside Poly1305, then RIGHT. */
.macro rounds_beside_poly kind, all
    cmp r0, #0
    moveq r0, #\all
    beq .L\kind\()_rounds
    ldrd poly_s1, poly_s2, [r1, #POLY_S1]
    ldr poly_s3, [r1, #POLY_S3]
    ldr poly_r0, [r1, #POLY_R0]
.L\kind\()_poly:
    \kind\()_rounds_poly
    ldr r0, [r1, #RIGHT]
    cmp r0, #0
    beq .L\kind\()_end
.L\kind\()_rounds:
    \kind\()_rounds
.L\kind\()_end:
.endm

scratch_end 800
function sealane_chacha20poly1305_neon
    begin
    vld1.32 {q0}, [r2]
    vld1.8 {q1, q2}, [r11]
    str r2, [r1, #CONSTANTS]
    sub r2, r1, #64
    mov r7, #0
    stmia r2, {r0, r3, r4, r5, r6}       /* ARGS .. OUT */
    str r7, [r1, #REST]
    str r7, [r1, #PENDING]
    str r7, [r1, #KEYSTREAM_BYTES]
    add r2, r1, #STATE
    ldr r8, [r12]
    ldr r9, [r12, #4]
    ldr r11, [r12, #8]
    vst1.32 {q0}, [r2:128]!
    vst1.32 {q1, q2}, [r2:128]!
    stmia r2, {r7, r8, r9, r11}
    cmp r4, #64
    bls .Lstarted

/* The common part of all sets: columns 1 .. 3 of the first round, and a0 + b0. */
    mov r12, r3
    mov r11, r4
    column 1, 15, START_A1, START_B1, START_C1, START_D1
    column 2, 9, START_A2, START_B2, START_C2, START_D2
    column 3, 12, START_A3, START_B3, START_C3, START_D3
    ldr r7, [r1, #STATE]
    ldr r8, [r1, #STATE + 16]
    ldr r9, [r1, #STATE + 32]
    add r7, r7, r8
    str r7, [r1, #START_A0]
    str r8, [r1, #START_B0]
    str r9, [r1, #START_C0]
    mov r3, r12
    mov r4, r11
.Lstarted:
    tst r3, #SEALANE_FLAG_FIRST
    beq .Lcontinue
    mov r3, #0
    mov r12, #PHASE_KEY
    str r3, [r1, #LEFT]
    str r12, [r1, #PHASE]
    cmp r4, #64
    bls .Lpair
    sub r4, r4, #1
    and r4, r4, #192
    cmp r4, #192
    bne .Lset

/* The text's blocks fill sets: the key's block is made in integer registers along with the first of them. */
    ldr r9, [r1, #CONSTANTS]
    mov r0, #1
    add r7, r1, #START
    str r0, [r1, #STATE + 48]
    str r0, [r1, #KEYSTREAM_BYTES]
    add r8, r1, #STATE + 48
    add r9, r9, #CONST_COUNT
    set_begin
    add r12, r1, #STATE + 32
    ldmia r12, {r2, r3, r4, r5}          /* c */
    add r12, r1, #STATE + 52
    ldmia r12, {r7, r8, r9}              /* d */
    mov r6, #0
    mov r7, r7, ror #ROTATE_3
    mov r8, r8, ror #ROTATE_3
    mov r9, r9, ror #ROTATE_3
    add r12, r1, #BLOCK + 32
    stmia r12, {r2, r3, r4, r5, r6, r7, r8, r9}
    mov r0, #9
    str r0, [r1, #KEY_LEFT]
    mov cx, r3
    mov dy, r7
    mov dz, r8
    add r2, r1, #STATE
    ldmia r2, {ia0, ia1, ia2, ia3, ib0, ib1, ib2, ib3}
    mov ib0, ib0, ror #ROTATE_4
    mov ib1, ib1, ror #ROTATE_4
    mov ib2, ib2, ror #ROTATE_4
    mov ib3, ib3, ror #ROTATE_4
.Lset_key:
    set_rounds_key
    set_end_key
    add r0, r1, #STATE
    ldmia r0!, {r11, r12}
    add ia0, ia0, r11
    add ia1, ia1, r12
    ldmia r0!, {r11, r12}
    add ia2, ia2, r11
    add ia3, ia3, r12
    add_initial ib0, ib1, ib2, ib3, 32-ROTATE_4
    poly_key
    b .Lassociated_data

/* Another part of a packet continues where the previous one ended. */
.Lcontinue:
    ldr r0, [r1, #ARGS]
    continue_key
    add r7, r3, r3, lsr #2
    add r8, r4, r4, lsr #2
    add r9, r5, r5, lsr #2
    add r0, r1, #POLY_R1
    stmia r0, {r3, r4, r5}
    sub r0, r1, #16
    str r2, [r1, #POLY_R0]
    stmia r0, {r7, r8, r9}
    continue_hash
    b .Ltext

/* More keystream: two blocks, or a set of four. Meanwhile Poly1305 processes the available part of its message. */
.Lmore:
    ldr r12, [r1, #FLAGS]
    ldr r8, [r1, #MESSAGE]
    ldr r7, [r1, #REMAINING]
    tst r12, #SEALANE_FLAG_OPEN
    ldreq r9, [r1, #OUT]
    ldrne r9, [r1, #IN]
    addne r9, r9, r7
    ldr r0, [r1, #PENDING]
    sub r9, r9, r8
    cmp r0, #0
    bne .Lmore_pending
    cmp r9, #16
    blo .Lmore_pending
    ldr r0, [r8]
    ldr r11, [r8, #4]
    ldr r12, [r8, #8]
    adds h0, h0, r0
    ldr r0, [r8, #12]
    adcs h1, h1, r11
    adcs h2, h2, r12
    adcs h3, h3, r0
    adc h4, h4, #1
    add r8, r8, #16
    sub r9, r9, #16
    mov r0, #1
    str r8, [r1, #MESSAGE]
    str r0, [r1, #PENDING]
.Lmore_pending:
    mov r9, r9, lsr #5
    cmp r7, #128
    bls .Lmore_pair
    cmp r9, #9
    movhi r9, #9
    rsb r0, r9, #9
    str r9, [r1, #LEFT]
    str r0, [r1, #RIGHT]

.Lset:
    ldr r9, [r1, #CONSTANTS]
    add r7, r1, #START
    add r8, r1, #STATE + 48
    add r9, r9, #CONST_COUNT
    set_begin
    ldr r0, [r1, #LEFT]
    rounds_beside_poly set, 9
    set_end
.Lset_ready:
    ldr r7, [r1, #REMAINING]
    ldr r12, [r1, #FLAGS]
    ldr r0, [r1, #PHASE]
    cmp r7, #256
    blo .Lset_store
    cmp r0, #PHASE_KEY
    beq .Lset_store
    mov r0, #0
    mov r11, #256
    str r0, [r1, #KEYSTREAM]
    tst r12, #SEALANE_FLAG_OPEN
    bne .Lopen

/* 256 bytes of text with the set. */
.Lset_xor:
    ldr r0, [r1, #CONSTANTS]
    ldr r7, [r1, #IN]
    ldr r9, [r1, #OUT]
    add r8, r1, #STATE
    mov r12, #64
    mvn r11, #64*3 - 16 - 1              /* from the last block to the next row of the first */
    add r0, r0, #CONST_COUNT
    set_xor
    ldr r0, [r1, #STATE + 48]
    ldr r8, [r1, #REMAINING]
    add r0, r0, #4
    subs r8, r8, #256
    str r0, [r1, #STATE + 48]
    str r7, [r1, #IN]
    str r9, [r1, #OUT]
    str r8, [r1, #REMAINING]
    bne .Lmore
    b .Lencrypted

.Lset_store:
    ldr r0, [r1, #CONSTANTS]
    add r8, r1, #STATE
    add r9, r1, #BLOCK
    mov r12, #64
    mvn r11, #64*3 - 16 - 1
    add r0, r0, #CONST_COUNT
    set_store
    mov r11, #256
    b .Lkeystream

.Lmore_pair:
    cmp r9, #10
    movhi r9, #10
    rsb r0, r9, #10
    str r9, [r1, #LEFT]
    str r0, [r1, #RIGHT]
.Lpair:
    ldr r8, [r1, #CONSTANTS]
    add r7, r1, #STATE
    add r8, r8, #CONST_ONE
    vldmia r7, {q0-q3}
    vldmia r7, {q4-q7}
    vld1.32 {q14}, [r8]
    vldmia r7, {q10-q13}
    ldr r0, [r1, #LEFT]
    vadd.i32 q7, q7, q14
    rounds_beside_poly pair, 10
    vadd.i32 q7, q7, q14
    vadd.i32 q0, q0, q10
    vadd.i32 q1, q1, q11
    vadd.i32 q2, q2, q12
    vadd.i32 q3, q3, q13
    add r0, r1, #BLOCK
    vadd.i32 q4, q4, q10
    vadd.i32 q5, q5, q11
    vadd.i32 q6, q6, q12
    vadd.i32 q7, q7, q13
    vstmia r0, {q0-q7}
    mov r11, #128

/* r11 bytes of keystream are available. */
.Lkeystream:
    ldr r9, [r1, #STATE + 48]
    ldr r8, [r1, #PHASE]
    ldr r12, [r1, #FLAGS]
    add r0, r1, #BLOCK
    add r9, r9, r11, lsr #6
    cmp r8, #PHASE_KEY
    str r9, [r1, #STATE + 48]
    beq .Lkey
    str r0, [r1, #KEYSTREAM]
    str r11, [r1, #KEYSTREAM_BYTES]
    tst r12, #SEALANE_FLAG_OPEN
    beq .Lcrypt

/* Open authenticates the text of r11 bytes of keystream before decrypting it, since it may be overwritten. */
.Lopen:
    ldr r7, [r1, #REMAINING]
    ldr r8, [r1, #MESSAGE]
    ldr r9, [r1, #IN]
    mov r12, #PHASE_TEXT
    sub r9, r9, r8
    cmp r7, r11
    addls r9, r9, r7
    bls .Lauthenticate
    adds r9, r9, r11
    bgt .Lauthenticate
.Lopened:
    ldr r0, [r1, #KEYSTREAM]
    ldr r11, [r1, #KEYSTREAM_BYTES]
    cmp r0, #0
    beq .Lset_xor

/* Up to r11 bytes with the keystream at r0. */
.Lcrypt:
    ldr r8, [r1, #REMAINING]
    ldr r7, [r1, #IN]
    ldr r9, [r1, #OUT]
.Lcrypt_64:
    subs r8, r8, #64
    blo .Lcrypt_partial
    vld1.32 {q0, q1}, [r0:128]!
    vld1.8 {q8, q9}, [r7]!
    vld1.32 {q2, q3}, [r0:128]!
    vld1.8 {q10, q11}, [r7]!
    veor q0, q0, q8
    veor q1, q1, q9
    veor q2, q2, q10
    veor q3, q3, q11
    vst1.8 {q0, q1}, [r9]!
    vst1.8 {q2, q3}, [r9]!
    subs r11, r11, #64
    bne .Lcrypt_64
    str r8, [r1, #REMAINING]
    str r7, [r1, #IN]
    str r9, [r1, #OUT]
    cmp r8, #0
    bne .Lmore
    b .Lencrypted

/* The last bytes, fewer than 64. */
.Lcrypt_partial:
    adds r8, r8, #64 - 16
    bmi .Lcrypt_words
.Lcrypt_16:
    vld1.32 {q0}, [r0:128]!
    vld1.8 {q8}, [r7]!
    veor q0, q0, q8
    vst1.8 {q0}, [r9]!
    subs r8, r8, #16
    bpl .Lcrypt_16
.Lcrypt_words:
    adds r8, r8, #16 - 4
    bmi .Lxor_bytes
    xor_rest r7, r0, r9, r8, r11, r12

.Lencrypted:
    ldr r12, [r1, #FLAGS]
    ldr r0, [r1, #ARGS]
    tst r12, #SEALANE_FLAG_OPEN
    bne .Lfinish
    ldr r9, [r0, #SEALANE_ARG_OUT]
    ldr r7, [r0, #SEALANE_ARG_BYTES]
    ldr r8, [r1, #MESSAGE]
    mov r12, #PHASE_TEXT
    add r9, r9, r7
    sub r9, r9, r8
    b .Lauthenticate

/* Block 0, then the associated data. */
.Lkey:
    sub r11, r11, #64
    add r12, r0, #64
    str r11, [r1, #KEYSTREAM_BYTES]
    str r12, [r1, #KEYSTREAM]
    ldmia r0, {r2, r3, r4, r5, r6, r7, r8, r9}
    poly_key
.Lassociated_data:
    ldr r0, [r1, #ARGS]
    ldr r8, [r0, #SEALANE_ARG_AD]
    ldr r9, [r0, #SEALANE_ARG_AD_BYTES]
    mov r12, #PHASE_AD

/* Authenticate r9 bytes at r8, padded with zeroes. */
.Lauthenticate:
    ldr r0, [r1, #PENDING]
    begin_message
    mov r7, #0
    cmp r0, #0
    str r7, [r1, #PENDING]
    bne .Lpoly_multiply
    cmp r8, r9
    beq .Lrest
    next_message
    adds h0, h0, r7
    adcs h1, h1, r9
    adcs h2, h2, r11
    adcs h3, h3, r12
    adc h4, h4, #1
.Lpoly_multiply:
    ldrd poly_s1, poly_s2, [r1, #POLY_S1]
    ldr poly_s3, [r1, #POLY_S3]
    ldr poly_r0, [r1, #POLY_R0]
    poly_multiply
    authenticate_more
    tst r11, #SEALANE_FLAG_OPEN
    bne .Lopened
    b .Lfinish

.Ltext:
    ldr r7, [r1, #REMAINING]
    ldr r12, [r1, #FLAGS]
    mov r0, #PHASE_TEXT
    str r0, [r1, #PHASE]
    cmp r7, #0
    beq .Lfinish
    tst r12, #SEALANE_FLAG_OPEN
    ldreq r8, [r1, #OUT]
    ldrne r8, [r1, #IN]
    ldr r11, [r1, #KEYSTREAM_BYTES]
    str r8, [r1, #MESSAGE]
    cmp r11, #1
    blo .Lmore
    beq .Lset_ready
    tst r12, #SEALANE_FLAG_OPEN
    bne .Lopen
    ldr r0, [r1, #KEYSTREAM]
    b .Lcrypt

.Lfinish:
    ldr r11, [r1, #FLAGS]
    authenticate_lengths
.Ltag:
    poly_tag
    ldr r0, [r1, #ARGS]
    ldr r0, [r0, #SEALANE_ARG_TAG]
    store_tag

.Lsave:
    ldr r9, [r0, #SEALANE_ARG_BYTES]
    ldr r0, [r0, #SEALANE_ARG_STATE]
    ldr r7, [r1, #FLAGS]
    ldr r8, [r0, #SEALANE_STATE_COUNTER]
    tst r7, #SEALANE_FLAG_FIRST
    movne r8, #1
    add r8, r8, r9, lsr #6              /* a set may have made more blocks than there were */
    str r8, [r0, #SEALANE_STATE_COUNTER]
    mov r9, h4
    mov r8, h3
    mov r11, #0
    stmia r0!, {h0, h1, h2, r8, r9, r11}
    ldr r2, [r1, #POLY_R0]
    add r12, r1, #POLY_R1
    ldmia r12, {r3, r4, r5}
    add r12, r1, #POLY_S
    ldmia r12, {r6, r7, r8, r9}
    stmia r0!, {r2, r3, r4, r5, r6, r7, r8, r9}
    str r11, [r0, #4]

.Lwipe:
    wipe
.Ldone:
endfunction

constants sealane_chacha20poly1305_neon_constants
    .long 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574
    .long 0, 1, 2, 3
    .long 1, 0, 0, 0
endconstants

#endif
