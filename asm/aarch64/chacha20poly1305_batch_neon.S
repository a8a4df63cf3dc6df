/* ChaCha20-Poly1305 with NEON: seals or opens many packets, each with its own key, in one call.
 *
 *     void sealane_chacha20poly1305_batch_neon(const args *a, void *scratch, const void *consts);
 *
 * CPU        ARMv8-A with Advanced SIMD; no crypto extensions
 * args       SEALANE_BATCH_* and FLAGS (asm/args.h); of every lane reads AD, KEY, NONCE, IN[BYTES]; writes OUT[BYTES], TAG[16]
 * scratch    800 bytes behind the saved registers, wiped before the return; stack 0
 * consts     sealane_chacha20poly1305_batch_neon_constants
 * registers  all but sp, x18, x28, x29, x30; x1 holds scratch throughout
 * branches   and addresses depend on the lanes' pointers and lengths, and on FLAGS only
 *
 * All packets' blocks of ChaCha20 (RFC 8439, 2.3) follow each other, block 0 of a packet, which is its Poly1305 key (2.6), then
 * those of its text. Each pass makes four of them, whosever they are: a vector holds one word of four blocks. That fills the
 * vectors with packets of any lengths, and with the blocks that a packet alone would not need.
 *
 * What a pass has made and encrypted, integer registers authenticate beside the next pass's rounds, Poly1305 (2.5) as in
 * chacha20poly1305_neon.S: each of the four records gets two double rounds, in which its up to five messages are dealt out
 * evenly: the ciphertext, padded, and behind the last block the lengths. Records are in order, so one accumulator is enough.
 */
#include "../asm.S"

#if defined(__aarch64__)

isa neon

#include "chacha20poly1305_neon_rounds.h"

/* No blocks by rows beside the set. */
.set ROW_ITEMS, 0

#define CONST_SIGMA 0
#define CONST_MASK 32     /* 64 bytes of ones, then 64 of zeroes */

/* Scratch. */
#define POLY_S 256
#define TODO 272          /* the pass's four blocks: */
#define TODO_D 0          /* row d of the initial state: counter, nonce */
#define TODO_LANE 16      /* 0: none */
#define TODO_BLOCK 24
#define TODO_KEY 32
#define TODO_BYTES 48
#define COPY 480          /* a last block of text, padded */
#define RECORDS 544       /* what the pass has made of them: */
#define RECORD_LANE 0
#define RECORD_WHAT 8     /* number of messages, and the bits below */
#define RECORD_MESSAGES 16 /* up to 5 */
#define RECORD_KEY 96     /* r and s */
#define RECORD_BYTES 128
#define END (RECORDS + 4*RECORD_BYTES)

#define BEGINS 3          /* a packet does; there is no text */
#define ENDS 4
#define WHAT_KEY (1 << BEGINS)
#define WHAT_END (1 << ENDS)

/* Registers, beside those of the rounds. */
#define args x0
#define consts x2
#define lane x3           /* the next block: whose */
#define block x4          /* and which */
#define lanes_end x5
#define flags w6
#define turn x14          /* double rounds done */
#define u4 x11
#define u5 x12
#define u6 x13
#define sigma v21

/* flags, beyond what the caller gave: no block is left, only records. */
#define DRAIN 8

/* ---- A pass begins ---- */

/* Block number at gets the next one to make; its key and row d go to registers. Between these, u1 is the key, and u5, u6 row d,
 * of the packet that is being given out. A nonce is read once: it may lie in the output. With none left, the last again.
 */
.macro take at, qb, qc, qd
    mov u0, xzr
    cmp lane, lanes_end
    b.eq .Ltaken_\at
    ldr u4, [lane, #SEALANE_LANE_BYTES]
    cbnz block, .Lgoes_on_\at
    ldp u1, u2, [lane, #SEALANE_LANE_KEY]
    ldr u5, [u2]
    ldr w13, [u2, #8]                       /* u6 */
    extr u6, u6, u5, #32
    lsl u5, u5, #32
.Lgoes_on_\at:
    bfi u5, block, #0, #32
    mov u0, lane
    mov u3, block
    cmp u4, block, lsl #6                   /* above: there are more */
    add u2, lane, #SEALANE_LANE_STRIDE
    add block, block, #1
    csel lane, lane, u2, hi
    csel block, block, xzr, hi
.Ltaken_\at:
    ldp q\qb, q\qc, [u1]
    fmov d\qd, u5
    mov v\qd\().d[1], u6
    stp u5, u6, [scratch, #TODO + TODO_BYTES*\at + TODO_D]
    stp u0, u3, [scratch, #TODO + TODO_BYTES*\at + TODO_LANE]
    str u1, [scratch, #TODO + TODO_BYTES*\at + TODO_KEY]
.endm

/* Words of four blocks from rows of each. */
.macro transpose_rows x0, x1, x2, x3, t0_, t1_, t2_, t3_
    trn1 \t0_\().4s, \x0\().4s, \x1\().4s
    trn2 \t1_\().4s, \x0\().4s, \x1\().4s
    trn1 \t2_\().4s, \x2\().4s, \x3\().4s
    trn2 \t3_\().4s, \x2\().4s, \x3\().4s
    trn1 \x0\().2d, \t0_\().2d, \t2_\().2d
    trn1 \x1\().2d, \t1_\().2d, \t3_\().2d
    trn2 \x2\().2d, \t0_\().2d, \t2_\().2d
    trn2 \x3\().2d, \t1_\().2d, \t3_\().2d
.endm

/* ---- A pass ends ---- */

/* Block number at, whose rows are k0..k3 but for the initial state: to its place in the packet, and to its record. */
.macro put at, k0, k1, k2, k3
    ldp u0, u1, [scratch, #TODO + TODO_BYTES*\at + TODO_LANE]
    ldr u2, [scratch, #TODO + TODO_BYTES*\at + TODO_KEY]
    ldr q30, [scratch, #TODO + TODO_BYTES*\at + TODO_D]
    add u6, scratch, #RECORDS + RECORD_BYTES*\at
    mov u5, xzr
    cbz u0, .Lput_\at
    ldp q28, q29, [u2]
    add v\k0\().4s, v\k0\().4s, sigma.4s
    cbz u1, .Lput_key_\at
    ldp u2, u3, [u0, #SEALANE_LANE_OUT]
    ldr u4, [u0, #SEALANE_LANE_BYTES]
    sub u1, u1, #1
    add u3, u3, u1, lsl #6
    add u2, u2, u1, lsl #6
    sub u4, u4, u1, lsl #6
    add v\k1\().4s, v\k1\().4s, v28.4s
    add v\k2\().4s, v\k2\().4s, v29.4s
    add v\k3\().4s, v\k3\().4s, v30.4s
    cmp u4, #64
    b.lo .Lput_part_\at
    ldp q22, q23, [u3]
    ldp q24, q25, [u3, #32]
    eor v\k0\().16b, v\k0\().16b, v22.16b
    eor v\k1\().16b, v\k1\().16b, v23.16b
    eor v\k2\().16b, v\k2\().16b, v24.16b
    eor v\k3\().16b, v\k3\().16b, v25.16b
    stp q\k0, q\k1, [u2]
    stp q\k2, q\k3, [u2, #32]
    mov u5, #4
    tbz flags, #2, .Lput_sealed_\at
    stp q22, q23, [u6, #RECORD_MESSAGES]
    stp q24, q25, [u6, #RECORD_MESSAGES + 32]
    b.ne .Lput_\at
    b .Lput_lengths_\at
.Lput_sealed_\at:
    stp q\k0, q\k1, [u6, #RECORD_MESSAGES]
    stp q\k2, q\k3, [u6, #RECORD_MESSAGES + 32]
    b.ne .Lput_\at
.Lput_lengths_\at:
    ldr u1, [u0, #SEALANE_LANE_AD_BYTES]
    ldr u2, [u0, #SEALANE_LANE_BYTES]
    stp u1, u2, [u6, #RECORD_MESSAGES + 64]
    mov u5, #WHAT_END + 5
    b .Lput_\at
.Lput_key_\at:
    ldr u2, [u0, #SEALANE_LANE_BYTES]
    add v\k1\().4s, v\k1\().4s, v28.4s
    mov u5, #WHAT_KEY
    stp q\k0, q\k1, [u6, #RECORD_KEY]
    cbnz u2, .Lput_\at
    ldr u1, [u0, #SEALANE_LANE_AD_BYTES]
    stp u1, u2, [u6, #RECORD_MESSAGES]
    mov u5, #WHAT_KEY + WHAT_END + 1
    b .Lput_\at
.Lput_part_\at:
    mov v24.16b, v\k0\().16b
    mov v25.16b, v\k1\().16b
    mov v26.16b, v\k2\().16b
    mov v27.16b, v\k3\().16b
    mov t0, #\at
    b .Lpart
.Lput_\at:
    stp u0, u5, [u6, #RECORD_LANE]
.endm

/* The u4 < 64 bytes at from to to, both of which move on. */
.macro copy_part name, from, to
    tbz u4, #5, .Lcopy16_\name
    ldp q28, q29, [\from], #32
    stp q28, q29, [\to], #32
.Lcopy16_\name:
    tbz u4, #4, .Lcopy8_\name
    ldr q28, [\from], #16
    str q28, [\to], #16
.Lcopy8_\name:
    tbz u4, #3, .Lcopy4_\name
    ldr t1, [\from], #8
    str t1, [\to], #8
.Lcopy4_\name:
    tbz u4, #2, .Lcopy2_\name
    ldr w24, [\from], #4                    /* t1 */
    str w24, [\to], #4
.Lcopy2_\name:
    tbz u4, #1, .Lcopy1_\name
    ldrh w24, [\from], #2
    strh w24, [\to], #2
.Lcopy1_\name:
    tbz u4, #0, .Lcopied_\name
    ldrb w24, [\from]
    strb w24, [\to]
.Lcopied_\name:
.endm

/* ---- The kernel ---- */

function sealane_chacha20poly1305_batch_neon
    ldp lane, u0, [args, #SEALANE_BATCH_LANES]
    ldr flags, [args, #SEALANE_ARG_FLAGS]
    ldp q21, q20, [consts, #CONST_SIGMA]    /* q20: rotate8 */
    mov one, #1
    mov block, xzr
    add lanes_end, lane, u0, lsl #6
    cbz u0, .Lwiped
    .irp at, 0, 1, 2, 3
    str xzr, [scratch, #RECORDS + RECORD_BYTES*\at + RECORD_WHAT]
    .endr

/* The words of the initial states of four blocks. */
.Lpass:
    ldp u5, u6, [scratch, #TODO + TODO_BYTES*3 + TODO_D]
    ldr u1, [scratch, #TODO + TODO_BYTES*3 + TODO_KEY]
    take 0, 4, 8, 12
    take 1, 5, 9, 13
    take 2, 6, 10, 14
    take 3, 7, 11, 15
    transpose_rows vb0, vb1, vb2, vb3, v16, v17, v18, v19
    transpose_rows vc0, vc1, vc2, vc3, v22, v23, v24, v25
    transpose_rows vd0, vd1, vd2, vd3, v26, v27, v28, v29
    dup va0.4s, sigma.s[0]
    dup va1.4s, sigma.s[1]
    dup va2.4s, sigma.s[2]
    dup va3.4s, sigma.s[3]
    mov turn, xzr
    begin 2*LAG, 0, 0, 0
    .set at, 0
    .rept LAG
    first_pair at
    .set at, at + 1
    .endr

/* Before double rounds 0, 2, 4, 6, 8: one record is done, the next begins. */
.Lrecord:
    add u2, scratch, turn, lsl #6           /* RECORD_BYTES each two */
    add u2, u2, #RECORDS
    cbz turn, .Lrecord_begins
    ldp u0, u1, [u2, #RECORD_LANE - RECORD_BYTES]
    tbz u1, #ENDS, .Lrecord_done

/* tag = (h mod 2^130 - 5) + s mod 2^128; h < 2p, and h >= p if h + 5 reaches 2^130. */
    ldr u1, [u0, #SEALANE_LANE_TAG]
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
.Lrecord_done:
    tbnz turn, #3, .Lrecords_done
.Lrecord_begins:
    ldp u0, u1, [u2, #RECORD_LANE]
    add message, u2, #RECORD_MESSAGES
    tbz u1, #BEGINS, .Lrecord_begun

/* r = the first words of block 0, clamped, s = the next (RFC 8439, 2.5.1, 2.6); then the associated data. */
    ldp t0, t1, [message, #RECORD_KEY - RECORD_MESSAGES]
    ldp t2, t3, [message, #RECORD_KEY - RECORD_MESSAGES + 16]
    mov u2, #0x0ffffffc0ffffffc
    orr u3, u2, #3
    and r0, t0, u3
    and r1, t1, u2
    stp t2, t3, [scratch, #POLY_S]
    add s1, r1, r1, lsr #2
    mov h0, xzr
    mov h1, xzr
    mov h2, xzr
    ldr u2, [u0, #SEALANE_LANE_AD_BYTES]
    cbz u2, .Lrecord_begun
    ldr message, [u0, #SEALANE_LANE_AD]
    mov u0, u2
    subs u0, u0, #16
    b.lo .Lad_tail
.Lad:
    poly_blocks 1
    subs u0, u0, #16
    b.hs .Lad
.Lad_tail:
    adds u0, u0, #16
    b.eq .Lad_done
    mov u1, message
    load_partial ad
    poly_loaded
.Lad_done:
    add u2, scratch, turn, lsl #6
    add u2, u2, #RECORDS
    ldr u1, [u2, #RECORD_WHAT]
    add message, u2, #RECORD_MESSAGES

/* So many messages, half of them beside each of two double rounds; at most 3. */
.Lrecord_begun:
    and u1, u1, #7
    tbnz flags, #DRAIN, .Ldrain
    add u0, u1, #1
    lsr u0, u0, #1
    sub u1, u1, u0
.Lrounds:
    cmp u0, #2
    b.hi .Lrounds_3
    b.eq .Lrounds_2
    cbnz u0, .Lrounds_1
    double_rounds 1, 0, 0
    b .Lturn
.Lrounds_1:
    double_rounds 1, 0, 1
    b .Lturn
.Lrounds_2:
    double_rounds 1, 0, 2
    b .Lturn
.Lrounds_3:
    double_rounds 1, 0, 3
.Lturn:
    add turn, turn, #1
    mov u0, u1
    tbnz turn, #0, .Lrounds
    b .Lrecord

.Ldrain_message:
    poly_blocks 1
    sub u1, u1, #1
.Ldrain:
    cbnz u1, .Ldrain_message
    add turn, turn, #2
    b .Lrecord

.Lrecords_done:
    tbnz flags, #DRAIN, .Lwipe
    double_rounds 1, 0, 0
    begin LAST_VECTORS, 0, 0, 0
    last_double_round

/* Rows of the blocks: 0 to 3 are in columns 2, the temporaries, 0, 3. */
    begin 0, 0, 0, 0
    .set vectors, 1
    transpose va0, va1, va2, va3, vt0, vb0, vb1, vb2, vb3, vt1
    transpose vc0, vc1, vc2, vc3, vt2, vd0, vd1, vd2, vd3, vt3
    put 0, 2, 6, 10, 14
    put 1, 16, 17, 18, 19
    put 2, 0, 4, 8, 12
    put 3, 3, 7, 11, 15
    cmp lane, lanes_end
    b.ne .Lpass
    orr flags, flags, #1 << DRAIN
    mov turn, xzr
    b .Lrecord

/* The last u4 bytes of a packet: lane u0, out u2, in u3, record u6, keystream v24..v27, number t0. */
.Lpart:
    movi v28.16b, #0
    stp q28, q28, [scratch, #COPY]
    stp q28, q28, [scratch, #COPY + 32]
    add u5, scratch, #COPY
    copy_part in, u3, u5
    ldr q28, [scratch, #COPY]
    ldr q29, [scratch, #COPY + 16]
    ldr q30, [scratch, #COPY + 32]
    ldr q31, [scratch, #COPY + 48]
    add u3, consts, #CONST_MASK + 64
    sub u3, u3, u4
    eor v24.16b, v24.16b, v28.16b
    eor v25.16b, v25.16b, v29.16b
    eor v26.16b, v26.16b, v30.16b
    eor v27.16b, v27.16b, v31.16b
    ldp q22, q23, [u3]
    and v24.16b, v24.16b, v22.16b
    and v25.16b, v25.16b, v23.16b
    ldp q22, q23, [u3, #32]
    and v26.16b, v26.16b, v22.16b
    and v27.16b, v27.16b, v23.16b
    stp q24, q25, [scratch, #COPY]
    stp q26, q27, [scratch, #COPY + 32]
    tbnz flags, #2, .Lpart_open
    mov v28.16b, v24.16b
    mov v29.16b, v25.16b
    mov v30.16b, v26.16b
    mov v31.16b, v27.16b
.Lpart_open:
    stp q28, q29, [u6, #RECORD_MESSAGES]
    stp q30, q31, [u6, #RECORD_MESSAGES + 32]
    add u5, scratch, #COPY
    copy_part out, u5, u2
    add u3, u4, #15
    lsr u3, u3, #4
    add u4, u6, u3, lsl #4
    ldr u1, [u0, #SEALANE_LANE_AD_BYTES]
    ldr u2, [u0, #SEALANE_LANE_BYTES]
    stp u1, u2, [u4, #RECORD_MESSAGES]
    add u5, u3, #WHAT_END + 1
    cmp t0, #1
    b.lo .Lput_0
    b.eq .Lput_1
    tbz t0, #0, .Lput_2
    b .Lput_3

.Lwipe:
    movi v0.16b, #0
    mov u0, #(END - SEALANE_SCRATCH_SAVE_BYTES) / 32
    add u1, scratch, #SEALANE_SCRATCH_SAVE_BYTES
.Lwipe_32:
    stp q0, q0, [u1], #32
    subs u0, u0, #1
    b.ne .Lwipe_32
.Lwiped:
endfunction

constants sealane_chacha20poly1305_batch_neon_constants
    .long 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574
    .byte 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14
    .quad -1, -1, -1, -1, -1, -1, -1, -1
    .quad 0, 0, 0, 0, 0, 0, 0, 0
endconstants

#endif
