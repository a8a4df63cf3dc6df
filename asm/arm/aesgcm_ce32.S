/* AES-GCM (NIST SP 800-38D) with the AES instructions of ARMv8 in 32-bit mode. Makes a key, or seals or opens one
 * packet or a part of one, in one call.
 *
 *     void sealane_aesgcm_ce32(const args *a, void *scratch, const void *consts);
 *
 * CPU        ARMv8-A with AES and PMULL, little-endian
 * args       asm/args.h; writes OUT[BYTES] and, by flags, TAG[16], STATE[64] or KEY[960]
 * scratch    384 bytes after the saved registers, wiped before the return; stack 0
 * consts     sealane_aesgcm_ce32_constants
 * registers  all but r10, r13, r14
 * branches   and addresses depend on BYTES, AD_BYTES, FLAGS and the number of rounds only
 *
 * Counter mode (6.5): eight blocks of keystream at a time.
 *
 * GHASH (6.4): see ../ghash.h. Up to eight blocks are multiplied by H^8 .. H, with three products each, and reduced
 * once.
 */
#include "../asm.S"

#if defined(__arm__)

isa neon, aes, pmull

/* Constants. */
#define CONST_POLY 0  /* P; and 1, the carry when a polynomial is multiplied by x */
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
#define PHASE 336     /* next input of GHASH */
#define PASS 340      /* text for the keystream */
#define MESSAGE 348   /* end of GHASH's last input */
#define AD_LEFT 352   /* bytes of associated data left */
#define POWER 356     /* set-up: how many powers of H are left to make */
#define KEYSTREAM 368    /* keystream of eight blocks */
#define TAIL 496      /* the last blocks, and that of the lengths */
#define END 640

/* A power of H in the key: second half, first half, their sum. */
#define POWER_BYTES 24

#define PHASE_AD 0
#define PHASE_TEXT 1
#define PHASE_LENGTHS 2
#define PHASE_POLYVAL 3
#define PHASE_POWER 4

#define PASS_TEXT 0
#define PASS_KEYSTREAM 1
#define PASS_J0 2
#define PASS_SETUP 3

constants sealane_aesgcm_ce32_constants
    .byte 0, 0, 0, 0, 0, 0, 0, 0xc2
    .byte 1, 0, 0, 0, 0, 0, 0, 0
    .byte 1, 2, 4, 8, 16, 32, 64, 128, 27, 54, 0, 0, 0, 0, 0, 0
endconstants

/* ---- AES ---- */

#include "aes_ce32.h"

/* ---- GHASH: sums of products of second halves, of first halves, and of sums of both, in q0, q1, q2 ---- */

/* Two blocks with their bytes reversed. Their powers of H are in d6 .. d11, and the sums of their halves in d12 and
 * d13. */
.macro multiply_two init, x, x_first, x_second, y, y_first, y_second
.if \init
    vmull.p64 q0, \x_second, d6
    vmull.p64 q1, \x_first, d7
    vmull.p64 q3, \y_second, d9
    vmull.p64 \y, \y_first, d10
    vmull.p64 q2, d12, d8
    vmull.p64 q5, d13, d11
    veor q0, q0, q3
    veor q1, q1, \y
.else
    vmull.p64 q7, \x_second, d6
    vmull.p64 \x, \x_first, d7
    vmull.p64 q3, \y_second, d9
    vmull.p64 \y, \y_first, d10
    vmull.p64 q4, d12, d8
    vmull.p64 q5, d13, d11
    veor q0, q0, q7
    veor q1, q1, \x
    veor q0, q0, q3
    veor q1, q1, \y
    veor q2, q2, q4
.endif
.endm

/* The last part of multiply_two, and the inputs of the next two blocks. */
.macro next_two x, x_first, x_second, y, y_first, y_second, reversed=1
    vld1.8 {d6, d7, d8}, [r5]!
    .if \reversed
    vrev64.8 \x, \x
    vrev64.8 \y, \y
    .endif
    veor q2, q2, q5
    vld1.8 {d9, d10, d11}, [r5]!
    veor d12, \x_first, \x_second
    veor d13, \y_first, \y_second
.endm

#include "aesgcm_text.h"

/* ---- the kernel ---- */

/* Eight blocks a += b, to r4, which advances. */
.macro add_and_store a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7
    veor \a0, \a0, \b0
    veor \a1, \a1, \b1
    veor \a2, \a2, \b2
    veor \a3, \a3, \b3
    vst1.8 {\a0, \a1}, [r4]!
    veor \a4, \a4, \b4
    veor \a5, \a5, \b5
    vst1.8 {\a2, \a3}, [r4]!
    veor \a6, \a6, \b6
    veor \a7, \a7, \b7
    vst1.8 {\a4, \a5}, [r4]!
    vst1.8 {\a6, \a7}, [r4]!
.endm

scratch_end 640
function sealane_aesgcm_ce32
    take_arguments
    tst r3, #SEALANE_FLAG_POLYVAL
    bne .Lpolyval
    message_begin_or_continue
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

/* Associated data. */
    associated_data zero_tail_vector

/* Text: 128 bytes with a pass, or fewer with the rest of the last pass's keystream. */
    text_left
    bne .Lkeystream
    mov r4, #PASS_KEYSTREAM
    cmp r6, #128
    blo .Lpass
    mov r4, #PASS_TEXT
    b .Lpass

.Lgot_keystream:
    mov r7, #128
    str r7, [r1, #AVAILABLE]
    b .Ltext

    text_keystream
    text_end
    add r4, r1, #BASE
    ldmia r4, {r4, r5, r6}
    ldr r7, [r1, #COUNTER]
    ldr r9, [r1, #AVAILABLE]
    save_counter r3, r9

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
    vmov q0, q15
    ldr r12, [r0, #SEALANE_GCM_KEY_ROUNDS]
    vmov q1, q15
    rev r5, r3
    vmov q2, q15
    add r6, r3, #1
    vmov q3, q15
    rev r6, r6
    vmov q4, q15
    add r7, r3, #2
    vmov q5, q15
    rev r7, r7
    vmov q6, q15
    add r8, r3, #3
    vmov q7, q15
    rev r8, r8
    vmov.32 d1[1], r5
    add r5, r3, #4
    vmov.32 d3[1], r6
    rev r5, r5
    vmov.32 d5[1], r7
    add r0, r0, #SEALANE_GCM_KEY_SCHEDULE
    vmov.32 d7[1], r8
    vld1.8 {q8, q9}, [r0]!
    vmov.32 d9[1], r5
    add r6, r3, #5
    rev r6, r6
    add r7, r3, #6
    vmov.32 d11[1], r6
    rev r7, r7
    add r8, r3, #7
    vmov.32 d13[1], r7
    rev r8, r8
    add r3, r3, #8
    vmov.32 d15[1], r8
    vld1.8 {q10, q11}, [r0]!
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
    cmp r4, #PASS_TEXT
    beq .Lpass_text
    round q8
    .irp block, q0, q1, q2, q3, q4, q5, q6, q7
    aese.8 \block, q9
    .endr
    vld1.8 {q8}, [r0]
    .irp block, q0, q1, q2, q3, q4, q5, q6, q7
    veor \block, \block, q8
    .endr
    add r3, r1, #KEYSTREAM
    vst1.8 {q0, q1}, [r3]!
    vst1.8 {q2, q3}, [r3]!
    vst1.8 {q4, q5}, [r3]!
    vst1.8 {q6, q7}, [r3]!
    cmp r4, #PASS_J0
    blo .Lgot_keystream
    beq .Lgot_j0
    b .Lgot_hash_key

/* The text of a pass, which GHASH takes from registers. */
.Lpass_text:
    ldr r3, [r1, #IN]
    ldr r9, [r1, #FLAGS]
    vld1.8 {q10, q11}, [r3]!
    ldr r4, [r1, #OUT]
    round q8
    vld1.8 {q12, q13}, [r3]!
    aese.8 q0, q9
    aese.8 q1, q9
    aese.8 q2, q9
    vld1.8 {q8}, [r0]                       /* the last round key */
    aese.8 q3, q9
    aese.8 q4, q9
    aese.8 q5, q9
    aese.8 q6, q9
    aese.8 q7, q9
    vld1.8 {q14, q15}, [r3]!
    .irp block, q0, q1, q2, q3, q4, q5, q6, q7
    veor \block, \block, q8
    .endr
    vld1.8 {q8, q9}, [r3]!
    tst r9, #SEALANE_FLAG_OPEN
    bne .Lpass_open
    add_and_store q10, q11, q12, q13, q14, q15, q8, q9, q0, q1, q2, q3, q4, q5, q6, q7
    b .Lpass_ghash
.Lpass_open:
    add_and_store q0, q1, q2, q3, q4, q5, q6, q7, q10, q11, q12, q13, q14, q15, q8, q9
.Lpass_ghash:
    add r7, r1, #Y
    ldr r5, [r1, #ARGS]
    vrev64.8 q10, q10
    vld1.8 {q7}, [r7]
    ldr r5, [r5, #SEALANE_ARG_KEY]
    vrev64.8 q11, q11
    ldr r12, [r1, #LEFT]
    add r5, r5, #SEALANE_GCM_KEY_TABLE
    str r3, [r1, #IN]
    vld1.8 {d6, d7, d8}, [r5]!
    sub r12, r12, #128
    str r4, [r1, #OUT]
    vld1.8 {d9, d10, d11}, [r5]!
    veor q10, q10, q7
    veor d13, d22, d23
    str r12, [r1, #LEFT]
    veor d12, d20, d21
    mov r4, #0
    multiply_two 1, q10, d20, d21, q11, d22, d23
    next_two q12, d24, d25, q13, d26, d27
    mov r12, #PHASE_TEXT
    str r12, [r1, #PHASE]
    multiply_two 0, q12, d24, d25, q13, d26, d27
    next_two q14, d28, d29, q15, d30, d31
    ldr r6, [r1, #CONSTS]
    multiply_two 0, q14, d28, d29, q15, d30, d31
    next_two q8, d16, d17, q9, d18, d19
    multiply_two 0, q8, d16, d17, q9, d18, d19
    veor q2, q2, q5
    b .Lreduce

/* ---- POLYVAL ---- */

.macro whole_groups
    cmp r6, #128
    bhs .Lpolyval_eight
.endm

    polyval 128, 8, reverse_vector, whole_groups

/* The same with halves, not bytes, in GHASH's order. */
.Lpolyval_eight:
    vld1.8 {q10, q11}, [r3]!
    add r7, r1, #Y
    ldr r5, [r1, #ARGS]
    vld1.8 {q7}, [r7]
    vld1.8 {q12, q13}, [r3]!
    sub r6, r6, #128
    ldr r5, [r5, #SEALANE_ARG_KEY]
    str r6, [r1, #LEFT]
    vld1.8 {q14, q15}, [r3]!
    add r5, r5, #SEALANE_GCM_KEY_TABLE
    vld1.8 {q8, q9}, [r3]!
    mov r12, #PHASE_POLYVAL
    str r3, [r1, #IN]
    veor d20, d20, d15
    vld1.8 {d6, d7, d8}, [r5]!
    veor d21, d21, d14
    vld1.8 {d9, d10, d11}, [r5]!
    veor d13, d22, d23
    str r12, [r1, #PHASE]
    veor d12, d20, d21
    mov r4, #0
    multiply_two 1, q10, d21, d20, q11, d23, d22
    next_two q12, d25, d24, q13, d27, d26, 0
    ldr r6, [r1, #CONSTS]
    multiply_two 0, q12, d25, d24, q13, d27, d26
    next_two q14, d29, d28, q15, d31, d30, 0
    multiply_two 0, q14, d29, d28, q15, d31, d30
    next_two q8, d17, d16, q9, d19, d18, 0
    multiply_two 0, q8, d17, d16, q9, d19, d18
    veor q2, q2, q5
    b .Lreduce

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
    subs r5, r4, #8
    movlo r5, #0
    sub r7, r4, r5                          /* 1 .. 8 */
    mov r4, r5
    mov r11, r5
    rsb r5, r7, #8
    add r5, r5, r5, lsl #1
    add r5, r0, r5, lsl #3                  /* POWER_BYTES */
    vmov.i8 q0, #0
    vmov.i8 q1, #0
    vmov.i8 q2, #0
.Lghash_block:
    vld1.8 {q8}, [r3]!
    subs r7, r7, #1
    vld1.8 {d6, d7, d8}, [r5]!
    vrev64.8 q8, q8
    veor q8, q8, q15
    vmov.i8 q15, #0
    veor d18, d16, d17
    vmull.p64 q10, d17, d6
    vmull.p64 q11, d16, d7
    vmull.p64 q12, d18, d8
    veor q0, q0, q10
    veor q1, q1, q11
    veor q2, q2, q12
    bne .Lghash_block

/* 256 bits to 128. */
.Lreduce:
    vld1.8 {d6}, [r6]                       /* P */
    veor q2, q2, q0
    ldr r5, [r1, #PHASE]
    veor q2, q2, q1
    ldr r8, [r1, #LEFT]
    vmull.p64 q4, d0, d6
    ldr r9, [r1, #AVAILABLE]
    veor d1, d1, d4
    veor d2, d2, d5
    veor d1, d1, d8
    str r3, [r1, #MESSAGE]
    veor d2, d2, d0
    add r7, r1, #Y
    vmull.p64 q5, d1, d6
    cmp r4, #0
    veor d2, d2, d9
    mov r4, #PASS_TEXT
    veor d3, d3, d1
    veor d31, d2, d10
    veor d30, d3, d11
    bne .Lghash_more
    cmp r5, #PHASE_TEXT
    vst1.8 {q15}, [r7]
    blo .Lad
    bhi .Lghash_end
    cmp r8, #128                            /* more text like this? */
    blo .Ltext
    cmp r9, #0
    beq .Lpass
    b .Ltext
.Lghash_end:
    cmp r5, #PHASE_POLYVAL
    blo .Ltag
    beq .Lpolyval_more
    b .Lpower
.Lghash_more:
    mov r4, r11
    b .Lghash_group

/* ---- Key set-up ---- */

/* Key expansion. */
    take_hash_key_or_expand q0

/* H, the encrypted block of zeroes. */
    add r5, r1, #BASE
    vst1.8 {q1}, [r5]
    mov r9, #0
    str r9, [r1, #COUNTER]
    mov r4, #PASS_SETUP
    b .Lpass
.Lgot_hash_key:
    ldr r3, [r1, #FLAGS]
    mov r4, #8
    vrev64.8 q15, q0
    mov r5, #0
    str r4, [r1, #POWER]
    tst r3, #SEALANE_FLAG_POLYVAL
    beq .Lall_powers
    ldr r0, [r1, #ARGS]
    ldr r5, [r0, #SEALANE_ARG_BYTES]
    add r5, r5, #15
    mov r5, r5, lsr #4
    rsbs r5, r5, #7                         /* a power for each block and for the lengths */
    movlo r5, #0
.Lall_powers:
    str r5, [r1, #AVAILABLE]

/* q15 has a power. Its product with x, or for POLYVAL the power itself, goes to its place. The loop ends when r4
 * reaches AVAILABLE, the number of powers not needed. */
.Lpower:
    ldr r4, [r1, #POWER]
    ldr r2, [r1, #CONSTS]
    ldr r0, [r1, #ARGS]
    add r6, r1, #KEYSTREAM
    vrev64.8 q0, q15
    vst1.8 {q0}, [r6]                       /* to be multiplied by H */
    ldr r3, [r1, #FLAGS]
    vld1.8 {q3}, [r2]                       /* CONST_POLY */
    tst r3, #SEALANE_FLAG_POLYVAL
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
    beq .Ltimes_x
    vext.8 q2, q15, q15, #8
.Ltimes_x:
    add r5, r5, r7, lsl #3                  /* POWER_BYTES */
    veor d6, d4, d5
    vst1.8 {d4, d5, d6}, [r5]
    vmov.i8 q15, #0
    add r5, r1, #Y
    vst1.8 {q15}, [r5]
    ldr r6, [r1, #AVAILABLE]
    str r4, [r1, #POWER]
    cmp r4, r6
    beq .Lwipe
    add r3, r1, #KEYSTREAM
    mov r4, #1
    mov r5, #PHASE_POWER
    b .Lghash

.Ldone:
endfunction

#endif
