/* AES (FIPS 197) in the modes that do not authenticate (NIST SP 800-38A; IEEE 1619), with the AES instructions of ARMv8
 * in 32-bit mode.
 *
 *     void sealane_aes_ce32(const args *a, void *scratch, const void *consts);
 *
 * CPU        ARMv8-A with AES, little-endian
 * args       OUT, IN, BYTES, KEY, STATE, TOTAL, FLAGS (asm/args.h: SEALANE_AES_*); writes OUT[BYTES], STATE[16] or
 *            KEY[512]
 * scratch    192 bytes after the saved registers, wiped before the return; stack 0
 * consts     sealane_aes_ce32_constants
 * registers  all but r10, r13, r14
 * branches   and addresses depend on BYTES, COUNT, BYTES_EACH, OPERATION and the number of rounds only
 *
 * Eight blocks are processed at a time. The remaining one to seven go through the rounds with one, two, four or eight
 * states, some of which may be unused. Decryption is the equivalent inverse cipher (5.3.5), its keys in the order of
 * their use. Lanes, six at a time, have keys of their own, read round by round.
 */
#include "../asm.S"

#if defined(__arm__)

isa neon, aes

#define CONST_RCON 0 /* round constants */

/* Scratch. */
#define CHAIN 256     /* the counter block, the tweak, or the block that the text is chained to */
#define ROUNDS 272
#define STATE 276
#define KEYS 280      /* the round keys */
#define COUNT 284     /* lanes left */
#define OTHERS 288    /* eight tweaks */
#define END 448

constants sealane_aes_ce32_constants
    .byte 1, 2, 4, 8, 16, 32, 64, 128, 27, 54, 0, 0, 0, 0, 0, 0
endconstants

#include "aes_ce32.h"
#include "aes_modes.h"

/* ---- Rounds ---- */

/* Applies \do to the first n states: 1, 2, 4 or 8. */
.macro for_states n, do, key
    \do q0, \key
.if \n > 1
    \do q1, \key
.endif
.if \n > 2
    \do q2, \key
    \do q3, \key
.endif
.if \n > 4
    \do q4, \key
    \do q5, \key
    \do q6, \key
    \do q7, \key
.endif
.endm

.macro encrypt_round x, key
    aese.8 \x, \key
    aesmc.8 \x, \x
.endm

.macro decrypt_round x, key
    aesd.8 \x, \key
    aesimc.8 \x, \x
.endm

.macro encrypt_last x, key
    aese.8 \x, \key
.endm

.macro decrypt_last x, key
    aesd.8 \x, \key
.endm

.macro add_to x, y
    veor \x, \x, \y
.endm

/* All rounds. r6: the keys, r7: the number of rounds. Changes q8, q9, r11 and r12. */
.macro all_rounds n, way
    mov r11, r6
    vld1.8 {q8, q9}, [r11]!
    sub r12, r7, #2
9:
    for_states \n, \way\()_round, q8
    vld1.8 {q8}, [r11]!
    subs r12, r12, #2
    for_states \n, \way\()_round, q9
    vld1.8 {q9}, [r11]!
    bne 9b
    for_states \n, \way\()_round, q8
    vld1.8 {q8}, [r11]
    for_states \n, \way\()_last, q9
    for_states \n, add_to, q8
.endm

/* ---- Blocks ---- */

/* Applies \do to each of r8 blocks, 1 to 7. Then goes to \to. */
.macro some do, to
    \do q0
    .irp i, 1, 2, 3, 4, 5, 6
    cmp r8, #\i
    beq \to
    \do q\i
    .endr
.endm

.macro load_block x
    vld1.8 {\x}, [r3]!
.endm

.macro store_block x
    vst1.8 {\x}, [r4]!
.endm

.macro load_eight a, b, c, d, e, f, g, h
    vld1.8 {\a, \b}, [r3]!
    vld1.8 {\c, \d}, [r3]!
    vld1.8 {\e, \f}, [r3]!
    vld1.8 {\g, \h}, [r3]!
.endm

.macro store_eight
    vst1.8 {q0, q1}, [r4]!
    vst1.8 {q2, q3}, [r4]!
    vst1.8 {q4, q5}, [r4]!
    vst1.8 {q6, q7}, [r4]!
.endm

.macro add_others
    veor q0, q0, q8
    veor q1, q1, q9
    veor q2, q2, q10
    veor q3, q3, q11
    veor q4, q4, q12
    veor q5, q5, q13
    veor q6, q6, q14
    veor q7, q7, q15
.endm

.macro load_others
    add r0, r1, #OTHERS
    vld1.8 {q8, q9}, [r0]!
    vld1.8 {q10, q11}, [r0]!
    vld1.8 {q12, q13}, [r0]!
    vld1.8 {q14, q15}, [r0]
.endm

/* The counter in r2, of the block in q15, and those after it. */
.macro next_counter x, first, last
    vmov \x, q15
    rev r0, r2
    add r2, r2, #1
    vmov.32 \last[1], r0
.endm

/* The same where the first word counts, little-endian. */
.macro next_little_counter x, first, last
    vmov \x, q15
    vmov.32 \first[0], r2
    add r2, r2, #1
.endm

.macro for_counters do
    \do q0, d0, d1
    \do q1, d2, d3
    \do q2, d4, d5
    \do q3, d6, d7
    \do q4, d8, d9
    \do q5, d10, d11
    \do q6, d12, d13
    \do q7, d14, d15
.endm

.macro next_counters
    for_counters next_counter
.endm

.macro next_little_counters
    for_counters next_little_counter
.endm

.macro tweak_block x
    store_tweak r0, r2, r6, r7, r11, r12
.endm

.macro begin_tweaks
    add r0, r1, #CHAIN
    ldmia r0, {r2, r6, r7, r11}
    add r0, r1, #OTHERS
.endm

.macro end_tweaks
    add r0, r1, #CHAIN
    stmia r0, {r2, r6, r7, r11}
    ldr r6, [r1, #KEYS]
    ldr r7, [r1, #ROUNDS]
    load_others
    add_others
.endm

/* All groups of eight blocks, with a macro before the rounds and one after them. */
.macro groups label, before, after, way
\label:
    subs r5, r5, #128
    blo .Lrest
    \before
    all_rounds 8, \way
    \after
    store_eight
    b \label
.endm

.macro plain
    load_eight q0, q1, q2, q3, q4, q5, q6, q7
.endm

.macro nothing
.endm

.macro tweaked
    load_eight q0, q1, q2, q3, q4, q5, q6, q7
    begin_tweaks
    .rept 8
    tweak_block
    .endr
    end_tweaks
.endm

.macro add_tweaks
    load_others
    add_others
.endm

.macro add_text
    load_eight q8, q9, q10, q11, q12, q13, q14, q15
    add_others
    add r0, r1, #CHAIN
    vld1.8 {q15}, [r0]
.endm

.macro add_chained
    sub r0, r3, #128
    add r11, r1, #CHAIN
    vld1.8 {q9, q10}, [r0]!
    vld1.8 {q8}, [r11]
    vld1.8 {q11, q12}, [r0]!
    vld1.8 {q13, q14}, [r0]!
    vld1.8 {q15}, [r0]!
    add_others
    vld1.8 {q8}, [r0]
    vst1.8 {q8}, [r11]
.endm

.macro rest_rounds way
    cmp r8, #1
    beq 1f
    cmp r8, #2
    beq 2f
    cmp r8, #4
    bls 4f
    all_rounds 8, \way
    b .Lrest_done
4:
    all_rounds 4, \way
    b .Lrest_done
2:
    all_rounds 2, \way
    b .Lrest_done
1:
    all_rounds 1, \way
    b .Lrest_done
.endm

/* ---- Lanes: state, the block added to it, the address of its key ---- */

.macro for_lanes n, do
    \do 0, q0, q8, r4
.if \n > 1
    \do 1, q1, q9, r5
.endif
.if \n > 2
    \do 2, q2, q10, r6
.endif
.if \n > 3
    \do 3, q3, q11, r7
.endif
.if \n > 4
    \do 4, q4, q12, r8
.endif
.if \n > 5
    \do 5, q5, q13, r9
.endif
.endm

.macro lane_key i, x, y, k
    ldr \k, [r3, #SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_KEY]
    add \k, \k, #SEALANE_AES_KEY_SCHEDULE
.endm

.macro lane_zero i, x, y, k
    vmov.i8 \x, #0
.endm

.macro lane_begin i, x, y, k
    ldr r0, [r3, #SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_CHAIN]
    vld1.8 {\x}, [r0]
.endm

.macro lane_load i, x, y, k
    ldr r0, [r3, #SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_IN]
    add r0, r0, r2
    vld1.8 {\y}, [r0]
.endm

.macro lane_add i, x, y, k
    veor \x, \x, \y
.endm

.macro lane_round_key i, x, y, k
    vld1.8 {\y}, [\k]!
.endm

.macro lane_round i, x, y, k
    aese.8 \x, \y
    aesmc.8 \x, \x
.endm

.macro lane_last_round i, x, y, k
    aese.8 \x, \y
.endm

.macro lane_back i, x, y, k
    sub \k, \k, r0
.endm

.macro lane_store i, x, y, k
    ldr r0, [r3, #SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_OUT]
    add r0, r0, r2
    vst1.8 {\x}, [r0]
.endm

.macro lane_end i, x, y, k
    ldr r0, [r3, #SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_CHAIN]
    vst1.8 {\x}, [r0]
.endm

/* n lanes from beginning to end. */
.macro do_lanes n
    for_lanes \n, lane_key
    for_lanes \n, lane_zero
    cmp r11, #0
    beq 2f
    for_lanes \n, lane_begin
2:
    mov r2, #0
3:
    for_lanes \n, lane_load
    ldr r12, [r1, #ROUNDS]
    for_lanes \n, lane_add
    sub r12, r12, #1
4:
    for_lanes \n, lane_round_key
    subs r12, r12, #1
    for_lanes \n, lane_round
    bne 4b
    for_lanes \n, lane_round_key
    ldr r0, [r1, #ROUNDS]
    for_lanes \n, lane_last_round
    mov r0, r0, lsl #4
    for_lanes \n, lane_round_key
    add r0, r0, #16
    for_lanes \n, lane_add
    for_lanes \n, lane_back
    for_lanes \n, lane_store
    add r2, r2, #16
    cmp r2, r11
    blo 3b
    cmp r11, #0
    beq 5f
    for_lanes \n, lane_end
5:
    ldr r12, [r1, #COUNT]
    add r3, r3, #SEALANE_LANE_STRIDE*\n
    sub r12, r12, #\n
.endm

/* ---- the kernel ---- */

scratch_end END
function sealane_aes_ce32
    ldr r9, [r0, #SEALANE_MODE_OPERATION]
    one_text_or_lanes r9
    cmp r9, #SEALANE_AES_SETUP
    beq .Lexpand
.Lone_text:
    ldr r6, [r0, #SEALANE_MODE_KEY]
    ldr r5, [r0, #SEALANE_MODE_BYTES]
    ldr r8, [r0, #SEALANE_MODE_STATE]
    cmp r5, #0
    beq .Ldone
    ldr r7, [r6, #SEALANE_AES_KEY_ROUNDS]
    ldr r3, [r0, #SEALANE_MODE_IN]
    ldr r4, [r0, #SEALANE_MODE_OUT]
    mov r12, #DECRYPTING
    mov r12, r12, lsr r9
    tst r12, #1
    addeq r6, r6, #SEALANE_AES_KEY_SCHEDULE
    addne r6, r6, #SEALANE_AES_KEY_INVERSE
    str r7, [r1, #ROUNDS]
    str r6, [r1, #KEYS]
    str r8, [r1, #STATE]
    cmp r9, #SEALANE_AES_CTR
    blo .Lecb
    add r0, r1, #CHAIN
    vld1.8 {q15}, [r8]
    vst1.8 {q15}, [r0]
    beq .Lctr
    cmp r9, #SEALANE_AES_CBC_DECRYPT
    beq .Lcbc
    cmp r9, #SEALANE_AES_CTR_LITTLE
    beq .Lctr_little

    /* XTS: C = E(P + T) + T. */
    cmp r9, #SEALANE_AES_XTS_DECRYPT
    beq .Lxts_decrypt
    groups .Lxts_encrypt, tweaked, add_tweaks, encrypt
    groups .Lxts_decrypt, tweaked, add_tweaks, decrypt

.Lecb:
    cmp r9, #SEALANE_AES_ECB_DECRYPT
    beq .Lecb_decrypt
    groups .Lecb_encrypt, plain, nothing, encrypt
    groups .Lecb_decrypt, plain, nothing, decrypt

.Lctr:
    ldr r2, [r8, #12]
    rev r2, r2
    add r0, r2, r5, lsr #4
    rev r0, r0
    str r0, [r8, #12]
    groups .Lctr_groups, next_counters, add_text, encrypt

.Lctr_little:
    ldr r2, [r8]
    add r0, r2, r5, lsr #4
    str r0, [r8]
    groups .Lctr_little_groups, next_little_counters, add_text, encrypt

.Lcbc:
    add r0, r3, r5
    sub r0, r0, #16
    vld1.8 {q0}, [r0]
    vst1.8 {q0}, [r8]
    groups .Lcbc_groups, plain, add_chained, decrypt

    /* The rest: up to seven blocks. */
.Lrest:
    adds r5, r5, #128
    beq .Lfinish
    mov r8, r5, lsr #4
    cmp r9, #SEALANE_AES_CTR_LITTLE
    beq .Lrest_little
    cmp r9, #SEALANE_AES_CTR
    bne .Lrest_load
    next_counters
    b .Lrest_rounds
.Lrest_little:
    next_little_counters
    mov r9, #SEALANE_AES_CTR                /* the same from here on */
    b .Lrest_rounds
.Lrest_load:
    some load_block, .Lrest_loaded
.Lrest_loaded:
    sub r3, r3, r5
    cmp r9, #SEALANE_AES_XTS_ENCRYPT
    blo .Lrest_rounds
    begin_tweaks
    some tweak_block, .Lrest_tweaked
.Lrest_tweaked:
    end_tweaks
.Lrest_rounds:
    mov r12, #DECRYPTING
    mov r12, r12, lsr r9
    tst r12, #1
    bne .Lrest_decrypt
    rest_rounds encrypt
.Lrest_decrypt:
    rest_rounds decrypt
.Lrest_done:
    cmp r9, #SEALANE_AES_CTR
    blo .Lrest_store
    cmp r9, #SEALANE_AES_XTS_ENCRYPT
    bhs .Lrest_xts
    cmp r9, #SEALANE_AES_CTR
    vmov.i8 q8, #0
    mov r12, r8
    beq .Lrest_text
    add r0, r1, #CHAIN
    vld1.8 {q8}, [r0]
    veor q0, q0, q8
    .irp block, q1, q2, q3, q4, q5, q6
    subs r12, r12, #1
    beq .Lrest_store
    vld1.8 {q8}, [r3]!
    veor \block, \block, q8
    .endr
    b .Lrest_store
.Lrest_text:
    .irp block, q0, q1, q2, q3, q4, q5, q6
    vld1.8 {q8}, [r3]!
    subs r12, r12, #1
    veor \block, \block, q8
    beq .Lrest_store
    .endr
.Lrest_xts:
    add_tweaks
.Lrest_store:
    some store_block, .Lfinish
.Lfinish:
    cmp r9, #SEALANE_AES_XTS_ENCRYPT
    cmpne r9, #SEALANE_AES_XTS_DECRYPT
    bne .Lwipe
    add r0, r1, #CHAIN
    ldr r8, [r1, #STATE]
    vld1.8 {q0}, [r0]
    vst1.8 {q0}, [r8]
    b .Lwipe

/* ---- Lanes ---- */

.Llanes:
    mov r11, #0
    ldreq r11, [r0, #SEALANE_MODE_BYTES_EACH]
    ldr r3, [r0, #SEALANE_MODE_LANES]
    ldr r12, [r0, #SEALANE_MODE_COUNT]
    ldr r4, [r3, #SEALANE_MODE_LANE_KEY]
    ldr r4, [r4, #SEALANE_AES_KEY_ROUNDS]
    str r4, [r1, #ROUNDS]
.Llanes_more:
    str r12, [r1, #COUNT]
    cmp r12, #6
    bhs .Llanes6
    cmp r12, #4
    bhi .Llanes5
    beq .Llanes4
    cmp r12, #2
    bhi .Llanes3
    beq .Llanes2
    cmp r12, #1
    beq .Llanes1
    b .Lwipe
    .irp n, 6, 5, 4, 3, 2, 1
.Llanes\n:
    do_lanes \n
    b .Llanes_more
    .endr

/* ---- Key set-up: the schedule, and the one for decryption in reverse order ---- */

.Lexpand:
    expand_key
    ldr r7, [r0, #SEALANE_MODE_ENCRYPTS_ONLY]
    sub r5, r5, #16
    cmp r7, #0
    bne .Ldone
    add r7, r4, #SEALANE_AES_KEY_INVERSE
    vld1.8 {q0}, [r5]
    sub r6, r6, #1
.Linverse:
    sub r5, r5, #16
    vst1.8 {q0}, [r7]!
    subs r6, r6, #1
    vld1.8 {q0}, [r5]
    aesimc.8 q0, q0
    bne .Linverse
    sub r5, r5, #16
    vst1.8 {q0}, [r7]!
    vld1.8 {q0}, [r5]
    vst1.8 {q0}, [r7]
    b .Ldone

.Lwipe:
    vmov.i8 q0, #0
    vmov.i8 q1, #0
    add r3, r1, #CHAIN
    mov r4, #(END - CHAIN)/32
.Lwipe_32:
    vst1.8 {q0, q1}, [r3]!
    subs r4, r4, #1
    bne .Lwipe_32
.Ldone:
endfunction

#endif
