/* AES (FIPS 197) in the modes that do not authenticate (NIST SP 800-38A; IEEE 1619), with the crypto extensions.
 *
 *     void sealane_aes_ce(const args *a, void *scratch, const void *consts);
 *
 * CPU        ARMv8-A with Advanced SIMD and AES
 * args       OUT, IN, BYTES, KEY, STATE, TOTAL, FLAGS (asm/args.h: SEALANE_AES_*); writes OUT[BYTES], STATE[16] or
 *            KEY[512]
 * scratch    none; stack 0
 * consts     not read
 * registers  all but sp, x18, x28, x29, x30
 * branches   and addresses depend on BYTES, COUNT, BYTES_EACH, OPERATION, ROUNDS only
 *
 * Eight blocks go through the rounds together. That suffices where aese and aesmc together have a latency of four
 * cycles, and two pairs start in a cycle. The round keys are in registers, the last ones in the same registers for
 * all key sizes. Longer keys have additional rounds before them. The remaining one to seven blocks go through the
 * rounds with one, two, four or eight states, some of which may be unused. Decryption is the equivalent inverse
 * cipher (5.3.5), with the keys in the order of their use. Each lane has its own key, which is read round by round. A
 * single lane is processed like a text.
 */
#include "../asm.S"

#if defined(__aarch64__)

    isa neon, aes

    constants sealane_aes_ce_constants
    .quad 0, 0
    endconstants

/* Integer registers. */
#include "aes_registers.h"
#define dst x3
#define src x4
#define text_left x5       /* bytes */
#define operation w6
#define state x7
#define low x8         /* the tweak */
#define high x9
#define counter w14
#define counter_wide x14
#define polynomial x15 /* 0x87 */
#define the_key x19
#define rounds w22
/* Rounds of lanes, whose keys are at x19 .. x26. */
#define lanes x3
#define count x4
#define total x5
#define at x7          /* bytes done */
#define step x8        /* from the first round key */
#define last_step x9   /* of the last round but one */

/* Vector registers: 0 .. 7 states; 8 .. 15 the blocks added to them at the end; 16 .. 29 round keys, and */
#define last_key v30
#define chain v31      /* the counter block, or the block that the first is chained to */

#include "aes_ce.h"
#include "aes_modes.h"

/* ---- Rounds ---------------------------------------------------------------------------------------------------- */

/* Loads all round keys, which begin at x, into registers. */
.macro load_round_keys x
    add t1, \x, rounds, uxtw #4
    ldr q30, [t1]
    ldp q28, q29, [t1, #-32]
    ldp q26, q27, [t1, #-64]
    ldp q24, q25, [t1, #-96]
    ldp q22, q23, [t1, #-128]
    ldp q20, q21, [t1, #-160]
    tbz rounds, #2, 1f
    ldp q18, q19, [t1, #-192]
    tbz rounds, #1, 1f
    ldp q16, q17, [t1, #-224]
1:
.endm

.macro encrypt_round x, round_key
    aes_round \x, \round_key
.endm

.macro decrypt_round x, round_key
    aesd \x\().16b, \round_key\().16b
    aesimc \x\().16b, \x\().16b
.endm

.macro encrypt_last x, round_key
    aese \x\().16b, \round_key\().16b
.endm

.macro decrypt_last x, round_key
    aesd \x\().16b, \round_key\().16b
.endm

/* States 0 .. n - 1 go through all rounds, without the addition of the last key. way: encrypt or decrypt. */
.macro all_rounds n, way
    tbz rounds, #2, 2f
    tbz rounds, #1, 1f
    some_rounds \n, \way, 16, 17
1:
    some_rounds \n, \way, 18, 19
2:
    some_rounds \n, \way, 20, 21, 22, 23, 24, 25, 26, 27, 28
    for_states \n, \way\()_last, v29
.endm

.macro some_rounds n, way, keys:vararg
    .irp k, \keys
    for_states \n, \way\()_round, v\k
    .endr
.endm

/* ---- Eight blocks ---------------------------------------------------------------------------------------------- */

.macro load_eight a, b, c, d, e, f, g, h
    ldp q\a, q\b, [src], #128
    ldp q\c, q\d, [src, #-96]
    ldp q\e, q\f, [src, #-64]
    ldp q\g, q\h, [src, #-32]
.endm

.macro store_eight
    stp q0, q1, [dst], #128
    stp q2, q3, [dst, #-96]
    stp q4, q5, [dst, #-64]
    stp q6, q7, [dst, #-32]
.endm

.macro add_to x, y
    eor \x\().16b, \x\().16b, \y\().16b
.endm

/* v<x> := v<y>, where the number y is an expression. */
.macro mov_from x, y
    .irp k, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    .if \k == \y
    copy v\x, v\k
    .endif
    .endr
.endm

.macro copy x, y
    mov \x\().16b, \y\().16b
.endm

/* States := states + the vectors from 8 on. */
.macro add_others
    add_to v0, v8
    add_to v1, v9
    add_to v2, v10
    add_to v3, v11
    add_to v4, v12
    add_to v5, v13
    add_to v6, v14
    add_to v7, v15
.endm

/* The same, where each is added to the next state and the last one to the chain. */
.macro add_chained
    add_to v0, chain
    add_to v1, v8
    add_to v2, v9
    add_to v3, v10
    add_to v4, v11
    add_to v5, v12
    add_to v6, v13
    add_to v7, v14
    copy chain, v15
.endm

/* For in-order cores, an integer operation stands beside each vector operation. */
.macro begin_counter i, x, word
    add \word, counter, #\i
    mov \x\().16b, chain.16b
.endm

.macro end_counter i, x, word
    rev \word, \word
    mov \x\().s[3], \word
.endm

.macro for_counters do
    \do 0, v0, w10
    \do 1, v1, w11
    \do 2, v2, w12
    \do 3, v3, w13
    \do 4, v4, w15
    \do 5, v5, w16
    \do 6, v6, w17
    \do 7, v7, w20
.endm

.macro next_counters
    for_counters begin_counter
    for_counters end_counter
.endm

/* The same where the first word counts, little-endian. */
.macro end_little_counter i, x, word
    mov \x\().s[0], \word
.endm

.macro next_little_counters
    for_counters begin_counter
    for_counters end_little_counter
.endm

/* x := the tweak. Then makes the tweak of the next block: times x in GF(2^128), little-endian (IEEE 1619, 5.2). */
.macro next_tweak x
    fmov d\x, low
    mov v\x\().d[1], high
    and t0, polynomial, high, asr #63
    extr high, high, low, #63
    eor low, t0, low, lsl #1
.endm

/* Eight tweaks, alternating between two pairs of registers. The upper half of one goes to its vector after the lower
 * half of the next. */
.macro tweak_low x, low_now, high_now
    and t0, polynomial, \high_now, asr #63
    fmov d\x, \low_now
.endm

.macro tweak_high x, low_now, high_now, low_next, high_next
    mov v\x\().d[1], \high_next
    extr \high_next, \high_now, \low_now, #63
    eor \low_next, t0, \low_now, lsl #1
.endm

.macro next_tweaks
    tweak_low 8, low, high
    extr x17, high, low, #63
    eor x16, t0, low, lsl #1
    tweak_low 9, x16, x17
    tweak_high 8, x16, x17, low, high
    tweak_low 10, low, high
    tweak_high 9, low, high, x16, x17
    tweak_low 11, x16, x17
    tweak_high 10, x16, x17, low, high
    tweak_low 12, low, high
    tweak_high 11, low, high, x16, x17
    tweak_low 13, x16, x17
    tweak_high 12, x16, x17, low, high
    tweak_low 14, low, high
    tweak_high 13, low, high, x16, x17
    tweak_low 15, x16, x17
    tweak_high 14, x16, x17, low, high
    mov v15.d[1], x17
.endm

/* Macros that run before the rounds. */
.macro plain
    load_eight 0, 1, 2, 3, 4, 5, 6, 7
.endm

.macro tweaked
    load_eight 0, 1, 2, 3, 4, 5, 6, 7
    next_tweaks
    add_others
.endm

.macro counted
    load_eight 8, 9, 10, 11, 12, 13, 14, 15
    next_counters
    add counter, counter, #8
.endm

.macro counted_little
    load_eight 8, 9, 10, 11, 12, 13, 14, 15
    next_little_counters
    add counter, counter, #8
.endm

.macro chained
    load_eight 8, 9, 10, 11, 12, 13, 14, 15
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    mov_from \i, \i + 8
    .endr
.endm

.macro add_none
.endm

/* Processes all groups of eight blocks. */
.macro groups label, before, after, way
\label:
    subs text_left, text_left, #128
    b.lo .Lrest
    \before
    all_rounds 8, \way
    for_states 8, add_to, last_key
    \after
    store_eight
    b \label
.endm

/* ---- The rest -------------------------------------------------------------------------------------------------- */

/* Applies \do to each of the remaining blocks. */
.macro some_blocks do, to
    .irp i, 0, 1, 2, 3, 4, 5, 6
    \do \i
    .if \i < 6
    cmp text_left, #\i + 1
    b.eq \to
    .endif
    .endr
.endm

.macro load_block i
    ldr q\i, [src, #16*\i]
.endm

.macro store_block i
    str q\i, [dst, #16*\i]
.endm

.macro tweak_block i
    .irp k, 8, 9, 10, 11, 12, 13, 14
    .if \k == \i + 8
    next_tweak \k
    .endif
    .endr
.endm

.macro rest_rounds way
    cmp text_left, #1
    b.eq 41f
    cmp text_left, #2
    b.eq 42f
    cmp text_left, #4
    b.ls 44f
    all_rounds 8, \way
    b .Lrest_done
44:
    all_rounds 4, \way
    b .Lrest_done
42:
    all_rounds 2, \way
    b .Lrest_done
41:
    all_rounds 1, \way
    b .Lrest_done
.endm

/* ---- Lanes ----------------------------------------------------------------------------------------------------- */

/* i-th of lanes: its key; its state, or zero. */
.macro lane_key i, k
    ldr x\k, [lanes, #SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_KEY]
    add x\k, x\k, #SEALANE_AES_KEY_SCHEDULE
.endm

.macro lane_begin i, k
    movi v\i\().16b, #0
    cbz total, 1f
    ldr t0, [lanes, #SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_CHAIN]
    ldr q\i, [t0]
1:
.endm

.macro lane_load i, k
    ldr t0, [lanes, #SEALANE_LANE_STRIDE*\i + SEALANE_MODE_LANE_IN]
    ldr q\k, [t0, at]
.endm

.macro lane_add i, k
    eor v\i\().16b, v\i\().16b, v\k\().16b
.endm

.macro lane_round_key i, k
    ldr q\k, [x\k, step]
.endm

/* A round, and the load of the next key, which no instruction needs for a while. */
.macro lane_round i, k
    aes_round v\i, v\k
    ldr q\k, [x\k, step]
.endm

.macro lane_last_round i, k
    aese v\i\().16b, v\k\().16b
    ldr q\k, [x\k, step]
.endm

.macro for_lanes n, do
    \do 0, 19
    .if \n > 1
    \do 1, 20
    .endif
    .if \n > 2
    \do 2, 21
    .endif
    .if \n > 3
    \do 3, 22
    .endif
    .if \n > 4
    \do 4, 23
    .endif
    .if \n > 5
    \do 5, 24
    .endif
    .if \n > 6
    \do 6, 25
    .endif
    .if \n > 7
    \do 7, 26
    .endif
.endm

/* n lanes from beginning to end. */
.macro do_lanes n
    for_lanes \n, lane_key
    for_lanes \n, lane_begin
    mov at, #0
2:
    for_lanes \n, lane_load
    for_lanes \n, lane_add
    mov step, #0
    for_lanes \n, lane_round_key
3:
    add step, step, #16
    for_lanes \n, lane_round
    cmp step, last_step
    b.lo 3b
    add step, step, #16
    for_lanes \n, lane_last_round
    for_lanes \n, lane_add
    for_lanes \n, lane_store
    add at, at, #16
    cmp at, total
    b.lo 2b
    cbz total, 4f
    for_lanes \n, lane_end
4:
    add lanes, lanes, #SEALANE_LANE_STRIDE*\n
    sub count, count, #\n
.endm

    scratch_end SEALANE_SCRATCH_SAVE_BYTES
    function sealane_aes_ce
    mode_begin the_key
    add t0, the_key, #SEALANE_AES_KEY_SCHEDULE
    add t1, the_key, #SEALANE_AES_KEY_INVERSE
    mov t3d, #DECRYPTING
    lsr t3d, t3d, operation
    tst t3d, #1
    csel t0, t1, t0, ne
    load_round_keys t0
    cmp operation, #SEALANE_AES_CTR_LITTLE
    b.eq .Lctr_little
    cmp operation, #SEALANE_AES_CTR
    b.lo .Lecb
    b.eq .Lctr
    cmp operation, #SEALANE_AES_XTS_ENCRYPT
    b.lo .Lcbc

    /* XTS: C = E(P + T) + T. */
    ldp low, high, [state]
    mov polynomial, #0x87
    b.ne .Lxts_decrypt
    groups .Lxts_encrypt, tweaked, add_others, encrypt
    groups .Lxts_decrypt, tweaked, add_others, decrypt

.Lecb:
    cmp operation, #SEALANE_AES_ECB_DECRYPT
    b.eq .Lecb_decrypt
    groups .Lecb_encrypt, plain, add_none, encrypt
    groups .Lecb_decrypt, plain, add_none, decrypt

.Lctr:
    ldr counter, [state, #12]
    ldr q31, [state]
    rev counter, counter
    add t0, counter_wide, text_left, lsr #4
    rev t0d, t0d
    str t0d, [state, #12]
    groups .Lctr_groups, counted, add_others, encrypt

.Lctr_little:
    ldr counter, [state]
    ldr q31, [state]
    add t0, counter_wide, text_left, lsr #4
    str t0d, [state]
    groups .Lctr_little_groups, counted_little, add_others, encrypt

.Lcbc:
    add t0, src, text_left
    ldr q31, [state]
    ldr q0, [t0, #-16]
    str q0, [state]
    groups .Lcbc_groups, chained, add_chained, decrypt

    /* The rest: up to seven blocks. */
.Lrest:
    adds text_left, text_left, #128
    b.eq .Lfinish
    lsr text_left, text_left, #4
    some_blocks load_block, .Lrest_loaded
.Lrest_loaded:
    cmp operation, #SEALANE_AES_CTR
    b.lo .Lrest_ecb
    b.eq .Lrest_ctr
    cmp operation, #SEALANE_AES_XTS_ENCRYPT
    b.lo .Lrest_cbc
    cmp operation, #SEALANE_AES_CTR_LITTLE
    b.eq .Lrest_ctr
    some_blocks tweak_block, .Lrest_tweaked
.Lrest_tweaked:
    add_others
    b .Lrest_rounds
.Lrest_cbc:
    mov v8.16b, chain.16b
    .irp i, 9, 10, 11, 12, 13, 14, 15
    mov_from \i, \i - 9
    .endr
    b .Lrest_rounds
.Lrest_ctr:
    .irp i, 8, 9, 10, 11, 12, 13, 14, 15
    mov_from \i, \i - 8
    .endr
    cmp operation, #SEALANE_AES_CTR
    b.ne .Lrest_little
    next_counters
    b .Lrest_rounds
.Lrest_little:
    next_little_counters
    b .Lrest_rounds
.Lrest_ecb:
    .irp i, 8, 9, 10, 11, 12, 13, 14, 15
    movi v\i\().16b, #0
    .endr
.Lrest_rounds:
    mov t0d, #DECRYPTING
    lsr t0d, t0d, operation
    tbnz t0d, #0, .Lrest_decrypt
    rest_rounds encrypt
.Lrest_decrypt:
    rest_rounds decrypt
.Lrest_done:
    add_others
    for_states 8, add_to, last_key
    some_blocks store_block, .Lfinish
.Lfinish:
    sub t0d, operation, #SEALANE_AES_XTS_ENCRYPT
    cmp t0d, #SEALANE_AES_XTS_DECRYPT - SEALANE_AES_XTS_ENCRYPT
    b.hi .Ldone
    stp low, high, [state]
    b .Ldone

    /* Lanes. */
    lanes_begin last_step
    lsl last_step, last_step, #4
    sub last_step, last_step, #16
.Llanes_more:
    cmp count, #8
    b.hs .Llanes8
    .irp n, 7, 6, 5, 4, 3, 2, 1
    cmp count, #\n
    b.eq .Llanes\n
    .endr
    b .Ldone
    .irp n, 8, 7, 6, 5, 4, 3, 2
.Llanes\n:
    do_lanes \n
    b .Llanes_more
    .endr

    /* A single lane, with the round keys in registers. */
.Llanes1:
    ldr the_key, [lanes, #SEALANE_MODE_LANE_KEY]
    ldr rounds, [the_key, #SEALANE_AES_KEY_ROUNDS]
    add t0, the_key, #SEALANE_AES_KEY_SCHEDULE
    load_round_keys t0
    lane_begin 0
    mov at, #0
.Llane_block:
    lane_load 0, 8
    eor v0.16b, v0.16b, v8.16b
    all_rounds 1, encrypt
    eor v0.16b, v0.16b, last_key.16b
    lane_store 0
    add at, at, #16
    cmp at, total
    b.lo .Llane_block
    cbz total, .Ldone
    lane_end 0
    b .Ldone

    /* Key set-up: the schedule, and the one for decryption in reverse order. */
.Lsetup:
    expand_key
    ldr t0, [args, #SEALANE_MODE_ENCRYPTS_ONLY]
    cbnz t0, .Ldone
    ldr q0, [end, #-16]!
    add t1, the_key, #SEALANE_AES_KEY_INVERSE
    add t0, the_key, #SEALANE_AES_KEY_SCHEDULE
.Linverse:
    str q0, [t1], #16
    ldr q0, [end, #-16]!
    aesimc v0.16b, v0.16b
    cmp end, t0
    b.ne .Linverse
    ldr q0, [end]
    str q0, [t1]
.Ldone:
    endfunction
#endif
