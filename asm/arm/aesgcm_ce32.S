/* AES-GCM (NIST SP 800-38D) with the AES instructions of ARMv8 in 32-bit mode: makes a key, or seals or opens one packet or
 * a part of one, in one call.
 *
 *     void sealane_aesgcm_ce32(const args *a, void *scratch, const void *consts);
 *
 * CPU        ARMv8-A with AES and PMULL, little-endian
 * args       asm/args.h; writes OUT[BYTES] and, by flags, TAG[16], STATE[64] or KEY[960]
 * scratch    384 bytes behind the saved registers, wiped before the return; stack 0
 * consts     sealane_aesgcm_ce32_constants
 * registers  all but r10, r13, r14
 * branches   and addresses depend on BYTES, AD_BYTES, FLAGS and the number of rounds only
 *
 * Counter mode (6.5): eight blocks of keystream at a time.
 *
 * GHASH (6.4): a block with its bytes reversed is a polynomial, and the product of two such is theirs divided by x, so that
 * powers of H are kept multiplied by x. Up to eight blocks are multiplied by H^8 .. H, with three products each (Karatsuba:
 * a1 h1, a0 h0, (a1 + a0) (h1 + h0)), and reduced once: x^128 + x^7 + x^2 + x + 1 is 1 + 2^64 P + 2^128 in this order of bits,
 * P = 2^57 + 2^62 + 2^63, so that the lowest word w goes away with P w 2^64 + w 2^128, and then the next.
 */
#include "../asm.S"

#if defined(__arm__)

isa neon, aes, pmull

/* Constants. */
#define CONST_POLY 0  /* P; and 1, which is over when a polynomial is multiplied by x */
#define CONST_RCON 16 /* round constants */

/* Scratch. */
#define BASE 256     /* counter block without its counter */
#define Y 272        /* GHASH so far: first half, second half, bytes reversed */
#define MASK 288     /* encrypted J0 */
#define ARGS 304
#define CONSTS 308
#define FLAGS 312
#define IN 316
#define OUT 320
#define LEFT 324      /* bytes of text left */
#define COUNTER 328   /* of the next eight blocks */
#define AVAILABLE 332 /* unused bytes at the end of the keystream */
#define PHASE 336     /* what GHASH goes on with */
#define PASS 340      /* what the keystream is for */
#define BLOCKS 344    /* of GHASH, left */
#define MESSAGE 348   /* and where they are */
#define AD_LEFT 352   /* bytes of associated data left */
#define POWER 356     /* set-up: how many powers of H are left to make */
#define STREAM 368    /* keystream of eight blocks */
#define TAIL 496      /* the last blocks, and that of the lengths */
#define END 640

/* A power of H in the key: second half, first half, their sum. */
#define POWER_BYTES 24

#define PHASE_AD 0
#define PHASE_OPEN 1
#define PHASE_TEXT 2
#define PHASE_LENGTHS 3
#define PHASE_POWER 4

#define PASS_TEXT 0
#define PASS_STREAM 1
#define PASS_J0 2
#define PASS_SETUP 3

constants sealane_aesgcm_ce32_constants
    .byte 0, 0, 0, 0, 0, 0, 0, 0xc2
    .byte 1, 0, 0, 0, 0, 0, 0, 0
    .byte 1, 2, 4, 8, 16, 32, 64, 128, 27, 54, 0, 0, 0, 0, 0, 0
endconstants

/* ---- AES ---- */

.macro counter_block to, to_high
    rev r5, r3
    vmov \to, q15
    add r3, r3, #1
    vmov.32 \to_high[1], r5
.endm

.macro round key
    .irp block, q0, q1, q2, q3, q4, q5, q6, q7
    aese.8 \block, \key
    aesmc.8 \block, \block
    .endr
.endm

/* Text of two blocks, q8 being the last round key. */
.macro xor_text x, y, t, u
    vld1.8 {\t, \u}, [r3]!
    veor \x, \x, q8
    veor \y, \y, q8
    veor \t, \t, \x
    veor \u, \u, \y
    vst1.8 {\t, \u}, [r4]!
.endm

/* ---- GHASH: sums of products in q12, q13, q14 ---- */

.macro multiply_four first
    vld1.8 {q0, q1}, [r3]!
    vld1.8 {q2, q3}, [r3]!
    vld1.8 {d12, d13, d14}, [r5]!
    vrev64.8 q0, q0
    vrev64.8 q1, q1
    vld1.8 {d15, d16, d17}, [r5]!
    vrev64.8 q2, q2
    vrev64.8 q3, q3
    .if \first
    veor q0, q0, q15
    .endif
    vld1.8 {d18, d19, d20}, [r5]!
    veor d9, d2, d3
    veor d10, d4, d5
    veor d8, d0, d1
    veor d11, d6, d7
    vld1.8 {d21, d22, d23}, [r5]!
    .if \first
    vmull.p64 q12, d1, d12
    vmull.p64 q13, d0, d13
    vmull.p64 q14, d8, d14
    .else
    vmull.p64 q15, d1, d12
    vmull.p64 q0, d0, d13
    vmull.p64 q6, d8, d14
    .endif
    .if \first == 0
    veor q12, q12, q15
    .endif
    vmull.p64 q15, d3, d15
    .if \first == 0
    veor q13, q13, q0
    .endif
    vmull.p64 q0, d2, d16
    .if \first == 0
    veor q14, q14, q6
    .endif
    vmull.p64 q1, d9, d17
    vmull.p64 q6, d5, d18
    vmull.p64 q7, d4, d19
    vmull.p64 q2, d10, d20
    veor q12, q12, q15
    veor q13, q13, q0
    veor q14, q14, q1
    vmull.p64 q15, d7, d21
    vmull.p64 q0, d6, d22
    vmull.p64 q1, d11, d23
    veor q12, q12, q6
    veor q13, q13, q7
    veor q14, q14, q2
    veor q12, q12, q15
    veor q13, q13, q0
    veor q14, q14, q1
.endm

/* ---- the kernel ---- */

function sealane_aesgcm_ce32
    ldr r3, [r0, #SEALANE_ARG_FLAGS]
    str r0, [r1, #ARGS]
    str r2, [r1, #CONSTS]
    str r3, [r1, #FLAGS]
    tst r3, #SEALANE_FLAG_SETUP
    bne .Lexpand
    ldr r4, [r0, #SEALANE_ARG_IN]
    ldr r5, [r0, #SEALANE_ARG_OUT]
    ldr r6, [r0, #SEALANE_ARG_BYTES]
    str r4, [r1, #IN]
    str r5, [r1, #OUT]
    str r6, [r1, #LEFT]
    mov r11, #0
    str r11, [r1, #AVAILABLE]
    tst r3, #SEALANE_FLAG_FIRST
    beq .Lcontinue
    ldr r12, [r0, #SEALANE_ARG_NONCE]
    tst r3, #SEALANE_FLAG_NONCE
    ldr r4, [r12]
    ldr r5, [r12, #4]
    ldr r6, [r12, #8]
    movne r7, #1
    ldreq r7, [r12, #12]
    reveq r7, r7
    vmov.i8 q15, #0
    b .Lbegin
.Lcontinue:
    ldr r12, [r0, #SEALANE_ARG_STATE]
    ldr r4, [r12, #SEALANE_GCM_STATE_COUNTER]
    ldr r5, [r12, #SEALANE_GCM_STATE_COUNTER + 4]
    ldr r6, [r12, #SEALANE_GCM_STATE_COUNTER + 8]
    ldr r7, [r12, #SEALANE_GCM_STATE_COUNTER + 12]
    add r8, r12, #SEALANE_GCM_STATE_MASK
    rev r7, r7
    vld1.8 {q0}, [r8]
    add r9, r1, #MASK
    vld1.8 {q15}, [r12]
    vst1.8 {q0}, [r9]
    vrev64.8 q15, q15

/* r4 .. r6: prefix; r7: counter; q15: GHASH. */
.Lbegin:
    add r8, r1, #Y
    vst1.8 {q15}, [r8]
    str r7, [r1, #COUNTER]
    add r8, r1, #BASE
    mov r7, #0
    stmia r8, {r4, r5, r6, r7}
    tst r3, #SEALANE_FLAG_FIRST
    beq .Ltext
    mov r4, #PASS_J0
    b .Lpass
.Lgot_j0:
    add r5, r1, #MASK
    vst1.8 {q0}, [r5]
    mov r3, #112
    str r3, [r1, #AVAILABLE]

/* Associated data: whole blocks, then what is left, filled up with zeroes. */
    ldr r0, [r1, #ARGS]
    ldr r3, [r0, #SEALANE_ARG_AD]
    ldr r4, [r0, #SEALANE_ARG_AD_BYTES]
    str r4, [r1, #AD_LEFT]
    movs r4, r4, lsr #4
    mov r5, #PHASE_AD
    bne .Lghash
    str r3, [r1, #MESSAGE]
.Lad:
    ldr r4, [r1, #AD_LEFT]
    mov r5, #0
    ands r4, r4, #15
    beq .Ltext
    str r5, [r1, #AD_LEFT]
    ldr r3, [r1, #MESSAGE]
    vmov.i8 q0, #0
    add r6, r1, #TAIL
    vst1.8 {q0}, [r6]
.Lad_byte:
    ldrb r7, [r3], #1
    subs r4, r4, #1
    strb r7, [r6], #1
    bne .Lad_byte
    mov r4, #1
    add r3, r1, #TAIL
    mov r5, #PHASE_AD
    b .Lghash

/* Text: 128 bytes with a pass, or what the last pass left of its keystream. */
.Ltext:
    ldr r6, [r1, #LEFT]
    ldr r7, [r1, #AVAILABLE]
    cmp r6, #0
    beq .Llengths
    cmp r7, #0
    bne .Lstream
    mov r4, #PASS_STREAM
    cmp r6, #128
    blo .Lpass
    ldr r9, [r1, #FLAGS]
    tst r9, #SEALANE_FLAG_OPEN
    ldrne r3, [r1, #IN]
    movne r4, #8
    movne r5, #PHASE_OPEN
    bne .Lghash
.Lopen:
    mov r4, #PASS_TEXT
    b .Lpass
.Lgot_text:
    ldr r3, [r1, #IN]
    ldr r4, [r1, #OUT]
    xor_text q0, q1, q10, q11
    xor_text q2, q3, q12, q13
    xor_text q4, q5, q10, q11
    xor_text q6, q7, q12, q13
    ldr r6, [r1, #LEFT]
    ldr r9, [r1, #FLAGS]
    str r3, [r1, #IN]
    str r4, [r1, #OUT]
    sub r6, r6, #128
    str r6, [r1, #LEFT]
    tst r9, #SEALANE_FLAG_OPEN
    bne .Ltext
    sub r3, r4, #128
    mov r4, #8
    mov r5, #PHASE_TEXT
    b .Lghash

.Lgot_stream:
    mov r7, #128
    str r7, [r1, #AVAILABLE]
    b .Ltext

/* The ciphertext goes to TAIL, too. */
.Lstream:
    add r8, r1, #STREAM + 128
    sub r8, r8, r7
    cmp r7, r6
    movhi r5, r6
    movls r5, r7
    sub r6, r6, r5
    sub r7, r7, r5
    str r6, [r1, #LEFT]
    str r7, [r1, #AVAILABLE]
    ldr r3, [r1, #IN]
    ldr r4, [r1, #OUT]
    ldr r9, [r1, #FLAGS]
    add r7, r1, #TAIL
    tst r9, #SEALANE_FLAG_OPEN
    mov r12, r5
    subs r5, r5, #16
    blo .Lstream_partial
.Lstream_block:
    vld1.8 {q0}, [r3]!
    vld1.8 {q1}, [r8]!
    tst r9, #SEALANE_FLAG_OPEN
    veor q1, q1, q0
    vst1.8 {q1}, [r4]!
    beq .Lstream_seal
    vst1.8 {q0}, [r7]!
    subs r5, r5, #16
    bhs .Lstream_block
    b .Lstream_partial
.Lstream_seal:
    vst1.8 {q1}, [r7]!
    subs r5, r5, #16
    bhs .Lstream_block
.Lstream_partial:
    str r3, [r1, #IN]
    str r4, [r1, #OUT]
    adds r5, r5, #16
    beq .Lstream_blocks
    vmov.i8 q0, #0
    vst1.8 {q0}, [r7]
    add r11, r7, #16
.Lstream_byte:
    ldrb r0, [r3], #1
    ldrb r2, [r8], #1
    tst r9, #SEALANE_FLAG_OPEN
    eor r2, r2, r0
    strb r2, [r4], #1
    moveq r0, r2
    strb r0, [r7], #1
    subs r5, r5, #1
    bne .Lstream_byte
    mov r7, r11
.Lstream_blocks:
    add r4, r12, #15
    mov r4, r4, lsr #4
    cmp r6, #0
    add r3, r1, #TAIL
    bne .Lstream_ghash
    tst r9, #SEALANE_FLAG_LAST
    bne .Llast_lengths
.Lstream_ghash:
    mov r5, #PHASE_TEXT
    b .Lghash

/* All text is done. */
.Llengths:
    ldr r9, [r1, #FLAGS]
    mov r4, #0
    tst r9, #SEALANE_FLAG_LAST
    beq .Lsave
    add r7, r1, #TAIL
    mov r3, r7

/* Behind r4 blocks at r3, which end at r7, the lengths in bits. */
.Llast_lengths:
    ldr r0, [r1, #ARGS]
    ldr r5, [r0, #SEALANE_ARG_AD_BYTES]
    ldr r6, [r0, #SEALANE_ARG_AD_BYTES + 4]
    mov r6, r6, lsl #3
    orr r6, r6, r5, lsr #29
    mov r5, r5, lsl #3
    rev r6, r6
    rev r5, r5
    str r6, [r7], #4
    str r5, [r7], #4
    ldr r5, [r0, #SEALANE_ARG_TOTAL]
    ldr r6, [r0, #SEALANE_ARG_TOTAL + 4]
    mov r6, r6, lsl #3
    orr r6, r6, r5, lsr #29
    mov r5, r5, lsl #3
    rev r6, r6
    rev r5, r5
    str r6, [r7], #4
    str r5, [r7], #4
    add r4, r4, #1
    mov r5, #PHASE_LENGTHS
    b .Lghash

.Ltag:
    ldr r0, [r1, #ARGS]
    ldr r3, [r0, #SEALANE_ARG_TAG]
    add r4, r1, #MASK
    add r5, r1, #Y
    vld1.8 {q0}, [r5]
    vld1.8 {q1}, [r4]
    vrev64.8 q0, q0
    veor q0, q0, q1
    vst1.8 {q0}, [r3]
    b .Lwipe

.Lsave:
    ldr r0, [r1, #ARGS]
    ldr r3, [r0, #SEALANE_ARG_STATE]
    add r4, r1, #Y
    vld1.8 {q0}, [r4]
    add r4, r1, #MASK
    vld1.8 {q1}, [r4]
    vrev64.8 q0, q0
    add r4, r3, #SEALANE_GCM_STATE_MASK
    vst1.8 {q0}, [r3]
    vst1.8 {q1}, [r4]
    add r4, r1, #BASE
    ldmia r4, {r4, r5, r6}
    ldr r7, [r1, #COUNTER]
    ldr r9, [r1, #AVAILABLE]
    sub r7, r7, r9, lsr #4
    rev r7, r7
    str r4, [r3, #SEALANE_GCM_STATE_COUNTER]
    str r5, [r3, #SEALANE_GCM_STATE_COUNTER + 4]
    str r6, [r3, #SEALANE_GCM_STATE_COUNTER + 8]
    str r7, [r3, #SEALANE_GCM_STATE_COUNTER + 12]

.Lwipe:
    vmov.i8 q0, #0
    vmov.i8 q1, #0
    add r3, r1, #BASE
    mov r4, #(END - BASE)/64
.Lwipe_64:
    vst1.8 {q0, q1}, [r3]!
    subs r4, r4, #1
    vst1.8 {q0, q1}, [r3]!
    bne .Lwipe_64
    b .Ldone

/* ---- A pass: keystream of eight blocks, for r4 ---- */

.Lpass:
    str r4, [r1, #PASS]
    add r6, r1, #BASE
    ldr r0, [r1, #ARGS]
    vld1.8 {q15}, [r6]
    ldr r3, [r1, #COUNTER]
    ldr r0, [r0, #SEALANE_ARG_KEY]
    counter_block q0, d1
    counter_block q1, d3
    ldr r12, [r0, #SEALANE_GCM_KEY_ROUNDS]
    add r0, r0, #SEALANE_GCM_KEY_SCHEDULE
    vld1.8 {q8, q9}, [r0]!
    counter_block q2, d5
    counter_block q3, d7
    vld1.8 {q10, q11}, [r0]!
    counter_block q4, d9
    counter_block q5, d11
    counter_block q6, d13
    counter_block q7, d15
    str r3, [r1, #COUNTER]
    round q8
    round q9
    vld1.8 {q8, q9}, [r0]!
    round q10
    round q11
    vld1.8 {q10, q11}, [r0]!
    round q8
    round q9
    vld1.8 {q8, q9}, [r0]!
    round q10
    round q11
    cmp r12, #12
    blo .Llast_rounds
    round q8
    round q9
    vld1.8 {q8, q9}, [r0]!
    beq .Llast_rounds
    round q8
    round q9
    vld1.8 {q8, q9}, [r0]!
.Llast_rounds:
    round q8
    .irp block, q0, q1, q2, q3, q4, q5, q6, q7
    aese.8 \block, q9
    .endr
    vld1.8 {q8}, [r0]
    cmp r4, #PASS_TEXT
    beq .Lgot_text
    .irp block, q0, q1, q2, q3, q4, q5, q6, q7
    veor \block, \block, q8
    .endr
    add r3, r1, #STREAM
    vst1.8 {q0, q1}, [r3]!
    vst1.8 {q2, q3}, [r3]!
    vst1.8 {q4, q5}, [r3]!
    vst1.8 {q6, q7}, [r3]!
    cmp r4, #PASS_J0
    blo .Lgot_stream
    beq .Lgot_j0
    b .Lgot_hash_key

/* ---- GHASH of r4 > 0 blocks at r3, for r5 ---- */

.Lghash:
    add r6, r1, #Y
    str r5, [r1, #PHASE]
    vld1.8 {q15}, [r6]
    ldr r0, [r1, #ARGS]
    ldr r6, [r1, #CONSTS]
    ldr r0, [r0, #SEALANE_ARG_KEY]
    add r0, r0, #SEALANE_GCM_KEY_TABLE
.Lghash_group:
    mov r5, r0
    subs r4, r4, #8
    blo .Lghash_few
    multiply_four 1
    multiply_four 0
.Lreduce:
    vld1.8 {d15}, [r6]                      /* P */
    veor q14, q14, q12
    veor q14, q14, q13
    vmull.p64 q0, d24, d15
    veor d25, d25, d28
    veor d26, d26, d29
    veor d25, d25, d0
    veor d26, d26, d24
    vmull.p64 q2, d25, d15
    veor d26, d26, d1
    veor d27, d27, d25
    veor d31, d26, d4
    veor d30, d27, d5
    cmp r4, #0
    bgt .Lghash_group
    add r6, r1, #Y
    ldr r5, [r1, #PHASE]
    vst1.8 {q15}, [r6]
    str r3, [r1, #MESSAGE]
    cmp r5, #PHASE_OPEN
    blo .Lad
    beq .Lopen
    cmp r5, #PHASE_LENGTHS
    blo .Ltext
    beq .Ltag
    b .Lpower

/* Fewer than eight blocks. */
.Lghash_few:
    add r4, r4, #8                          /* 1 .. 7 */
    rsb r7, r4, #8
    add r7, r7, r7, lsl #1
    add r5, r5, r7, lsl #3                  /* POWER_BYTES */
    vmov.i8 q12, #0
    vmov.i8 q13, #0
    vmov.i8 q14, #0
.Lghash_block:
    vld1.8 {q0}, [r3]!
    subs r4, r4, #1
    vrev64.8 q0, q0
    vld1.8 {d4, d5, d6}, [r5]!
    veor q0, q0, q15
    veor d2, d0, d1
    vmov.i8 q15, #0
    vmull.p64 q8, d1, d4
    vmull.p64 q9, d0, d5
    vmull.p64 q10, d2, d6
    veor q12, q12, q8
    veor q13, q13, q9
    veor q14, q14, q10
    bne .Lghash_block
    b .Lreduce

/* ---- Key set-up ---- */

/* Key expansion (FIPS 197, 5.2), in place. */
.Lexpand:
    ldr r4, [r0, #SEALANE_ARG_KEY]
    add r11, r2, #CONST_RCON
    ldr r6, [r4, #SEALANE_GCM_KEY_ROUNDS]
    add r5, r4, #SEALANE_GCM_KEY_SCHEDULE
    sub r8, r6, #6                          /* words of key */
    add r5, r5, r8, lsl #2
    add r7, r6, #1
    rsb r7, r8, r7, lsl #2                  /* words to make */
    ldr r12, [r5, #-4]
    mov r9, #0
    vmov.i8 q1, #0
.Lexpand_word:
    cmp r9, #0
    moveq r12, r12, ror #8                  /* RotWord */
    beq .Lexpand_sub
    cmp r8, #8
    cmpeq r9, #4
    bne .Lexpand_plain
.Lexpand_sub:
    vdup.32 q0, r12
    aese.8 q0, q1                           /* four equal columns: ShiftRows does nothing */
    cmp r9, #0
    vmov.32 r12, d0[0]
    ldrbeq r3, [r11], #1
    eoreq r12, r12, r3
.Lexpand_plain:
    ldr r3, [r5, -r8, lsl #2]
    add r9, r9, #1
    eor r12, r12, r3
    str r12, [r5], #4
    cmp r9, r8
    moveq r9, #0
    subs r7, r7, #1
    bne .Lexpand_word

/* H, the encrypted block of zeroes. */
    add r5, r1, #BASE
    vst1.8 {q1}, [r5]
    mov r9, #0
    str r9, [r1, #COUNTER]
    mov r4, #PASS_SETUP
    b .Lpass
.Lgot_hash_key:
    mov r4, #8
    vrev64.8 q15, q0
    str r4, [r1, #POWER]

/* A power is in q15: it times x goes to its place. */
.Lpower:
    ldr r4, [r1, #POWER]
    ldr r2, [r1, #CONSTS]
    ldr r0, [r1, #ARGS]
    add r6, r1, #STREAM
    vrev64.8 q0, q15
    vst1.8 {q0}, [r6]                       /* to be multiplied by H */
    vld1.8 {q3}, [r2]                       /* CONST_POLY */
    ldr r5, [r0, #SEALANE_ARG_KEY]
    vshr.s64 d0, d30, #63
    vshr.u64 d4, d31, #63
    vadd.i64 q1, q15, q15
    sub r4, r4, #1
    vorr d2, d2, d4
    vand d6, d6, d0
    vand d7, d7, d0
    add r5, r5, #SEALANE_GCM_KEY_TABLE
    add r7, r4, r4, lsl #1
    veor d5, d2, d6
    veor d4, d3, d7
    add r5, r5, r7, lsl #3                  /* POWER_BYTES */
    veor d6, d4, d5
    vst1.8 {d4, d5, d6}, [r5]
    vmov.i8 q15, #0
    add r5, r1, #Y
    vst1.8 {q15}, [r5]
    str r4, [r1, #POWER]
    cmp r4, #0
    beq .Lwipe
    add r3, r1, #STREAM
    mov r4, #1
    mov r5, #PHASE_POWER
    b .Lghash

.Ldone:
endfunction

#endif
