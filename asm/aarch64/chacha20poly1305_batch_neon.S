/* ChaCha20-Poly1305 with NEON: seals or opens many packets, each with its own key, in one call.
 *
 *     void sealane_chacha20poly1305_batch_neon(const args *a, void *scratch, const void *consts);
 *
 * CPU        ARMv8-A with Advanced SIMD; no crypto extensions
 * args       SEALANE_BATCH_* and FLAGS (asm/args.h); of every lane reads AD, KEY, NONCE, IN[BYTES]; writes OUT[BYTES], TAG[16]
 * scratch    992 bytes behind the saved registers, wiped before the return; stack 0
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
#define CONSTS 272
#define WHATS 280
#define COPY 288          /* a last block of text, padded */
#define TODO 352          /* a pass's four blocks, and the next pass's: */
#define TODO_D 0          /* row d of the initial state: counter, nonce */
#define TODO_LANE 16      /* 0: none */
#define TODO_BLOCK 24
#define TODO_KEY 32
#define TODO_BYTES 48
#define RECORDS 736       /* what the pass has made of them: */
#define RECORD_LANE 0
#define RECORD_MESSAGES 16 /* up to 5 */
#define RECORD_KEY 96     /* r and s of a packet that begins */
#define RECORD_BYTES 128
#define END (RECORDS + 4*RECORD_BYTES)

/* What there is in a record, 8 bits each: the number of messages, and */
#define BEGINS 3          /* a packet does; there is no text */
#define ENDS 4
#define WHAT_KEY (1 << BEGINS)
#define WHAT_END (1 << ENDS)

/* Registers, beside those of the rounds. */
#define args x0
#define todo x2           /* the pass's blocks; */
#define next message      /* the next pass's, while there are no messages */
#define lane x3           /* the next block: whose */
#define block x4          /* and which */
#define last_lane x5
#define flags w6
#define turn x14          /* double rounds done */
#define count u0          /* messages for a double round, */
#define rest u1           /* and for the one behind it */
#define record u2
#define whats u3          /* of this record and those behind it */
#define new_whats t4      /* before the rounds */
#define u4 x11
#define u5 x12
#define u6 x13
#define sigma v21

/* flags, beyond what the caller gave: no block is left, only records. */
#define DRAIN 8

/* ---- A pass begins ---- */

/* Instructions 0..21 of giving out a block, number at of those to make next. From one to the next, u1 is the key, and u5, u6 are
 * row d, of the packet that is being given out, whose nonce may be overwritten soon. With none left, the last packet's again.
 */
.set TAKE_ITEMS, 22
.macro take_item at, item
    .if \item == 0
    cmp lane, last_lane
    .elseif \item == 1
    csel t0, lane, last_lane, ls
    .elseif \item == 2
    csel u0, lane, xzr, ls
    .elseif \item == 3
    ldp t1, t2, [t0, #SEALANE_LANE_KEY]
    .elseif \item == 4
    ldr t3, [t0, #SEALANE_LANE_BYTES]
    .elseif \item == 5
    lsl u3, block, #6
    .elseif \item == 6
    stp u0, block, [next, #TODO_BYTES*(\at) + TODO_LANE]
    .elseif \item == 7
    ldr t4, [t2]
    .elseif \item == 8
    ldr u2d, [t2, #8]
    .elseif \item == 9
    ccmp t3, u3, #2, ls                     /* above: the packet has more blocks, or there is none */
    .elseif \item == 10
    add t0, lane, #SEALANE_LANE_STRIDE
    .elseif \item == 11
    csel lane, lane, t0, hi
    .elseif \item == 12
    csinc block, xzr, block, ls
    .elseif \item == 13
    extr u2, u2, t4, #32
    .elseif \item == 14
    lsl t4, t4, #32
    .elseif \item == 15
    cmp u3, #0
    .elseif \item == 16
    csel u1, t1, u1, eq
    .elseif \item == 17
    csel u5, t4, u5, eq
    .elseif \item == 18
    csel u6, u2, u6, eq
    .elseif \item == 19
    bfxil u5, u3, #6, #32
    .elseif \item == 20
    str u1, [next, #TODO_BYTES*(\at) + TODO_KEY]
    .else
    stp u5, u6, [next, #TODO_BYTES*(\at) + TODO_D]
    .endif
.endm

.set ASIDES, 4*TAKE_ITEMS
.macro aside_item item
    take_item ((\item)/TAKE_ITEMS), ((\item)%TAKE_ITEMS)
.endm

/* The rest of the asides. */
.macro asides_end
    .rept ASIDES - aside
    aside_item aside
    .set aside, aside + 1
    .endr
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
    ldp u0, u1, [todo, #TODO_BYTES*\at + TODO_LANE]
    ldr u2, [todo, #TODO_BYTES*\at + TODO_KEY]
    ldr q30, [todo, #TODO_BYTES*\at + TODO_D]
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
    str u0, [u6, #RECORD_LANE]
    orr new_whats, new_whats, u5, lsl #8*\at
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
    ldp q21, q20, [x2, #CONST_SIGMA]    /* q20: rotate8 */
    str x2, [scratch, #CONSTS]
    cbz u0, .Lwipe
    mov one, #1
    mov block, xzr
    sub u0, u0, #1
    add last_lane, lane, u0, lsl #6
    add next, scratch, #TODO
    .set aside, 0
    asides_end
    mov new_whats, xzr

/* The words of the initial states of four blocks. */
.Lpass:
    mov todo, next
    mov whats, new_whats
    ldr t0, [todo, #TODO_BYTES*0 + TODO_KEY]
    ldr t1, [todo, #TODO_BYTES*1 + TODO_KEY]
    ldr t2, [todo, #TODO_BYTES*2 + TODO_KEY]
    ldr t3, [todo, #TODO_BYTES*3 + TODO_KEY]
    ldp q4, q8, [t0]
    ldp q5, q9, [t1]
    ldp q6, q10, [t2]
    ldp q7, q11, [t3]
    ldr q12, [todo, #TODO_BYTES*0 + TODO_D]
    ldr q13, [todo, #TODO_BYTES*1 + TODO_D]
    ldr q14, [todo, #TODO_BYTES*2 + TODO_D]
    ldr q15, [todo, #TODO_BYTES*3 + TODO_D]
    dup va0.4s, sigma.s[0]
    transpose_rows vb0, vb1, vb2, vb3, v16, v17, v18, v19
    mov turn, xzr
    transpose_rows vc0, vc1, vc2, vc3, v22, v23, v24, v25
    dup va1.4s, sigma.s[1]
    transpose_rows vd0, vd1, vd2, vd3, v26, v27, v28, v29
    dup va2.4s, sigma.s[2]
    add record, scratch, #RECORDS
    dup va3.4s, sigma.s[3]
    begin 2*LAG, 0, 0, 0
    .set at, 0
    .rept LAG
    first_pair at
    .set at, at + 1
    .endr
    b .Lrecord_begins

/* Before double rounds 2, 4, 6, 8: a record is done, and the next begins.
 * tag = (h mod 2^130 - 5) + s mod 2^128; h < 2p, and h >= p if h + 5 reaches 2^130.
 */
.Lrecord:
    tbz whats, #ENDS, .Lrecord_done
    ldr u0, [record, #RECORD_LANE]
    ldp t2, t3, [scratch, #POLY_S]
    adds t0, h0, #5
    adcs t1, h1, xzr
    adc h2, h2, xzr
    ldr u0, [u0, #SEALANE_LANE_TAG]
    cmp h2, #4
    csel h0, t0, h0, hs
    csel h1, t1, h1, hs
    adds h0, h0, t2
    adc h1, h1, t3
    stp h0, h1, [u0]
.Lrecord_done:
    lsr whats, whats, #8
    add record, record, #RECORD_BYTES
    tbnz turn, #3, .Lrecords_done
.Lrecord_begins:
    add message, record, #RECORD_MESSAGES
    tbz whats, #BEGINS, .Lrecord_begun

/* r = the first words of block 0, clamped, s = the next (RFC 8439, 2.5.1, 2.6); then the associated data. */
    ldr u0, [record, #RECORD_LANE]
    ldp t0, t1, [record, #RECORD_KEY]
    ldp t2, t3, [record, #RECORD_KEY + 16]
    mov u1, #0x0ffffffc0ffffffc
    mov h0, xzr
    orr t4, u1, #3
    mov h1, xzr
    and r1, t1, u1
    ldr u1, [u0, #SEALANE_LANE_AD_BYTES]
    and r0, t0, t4
    mov h2, xzr
    add s1, r1, r1, lsr #2
    stp t2, t3, [scratch, #POLY_S]
    cbz u1, .Lrecord_begun
    str whats, [scratch, #WHATS]
    ldr message, [u0, #SEALANE_LANE_AD]
    subs u0, u1, #16
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
    ldr whats, [scratch, #WHATS]
    add record, scratch, #RECORDS
    add record, record, turn, lsl #6        /* RECORD_BYTES each two */
    add message, record, #RECORD_MESSAGES

/* So many messages, half of them beside each of two double rounds; at most 3. */
.Lrecord_begun:
    and rest, whats, #7
    tbnz flags, #DRAIN, .Ldrain
    add count, rest, #1
    lsr count, count, #1
    sub rest, rest, count
.Lrounds:
    cmp count, #2
    b.hi .Lrounds_3
    b.eq .Lrounds_2
    cbnz count, .Lrounds_1
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
    mov count, rest
    tbnz turn, #0, .Lrounds
    b .Lrecord

.Ldrain_message:
    poly_blocks 1
    sub rest, rest, #1
.Ldrain:
    cbnz rest, .Ldrain_message
    add turn, turn, #2
    b .Lrecord

/* The last two double rounds, and beside them the next pass's blocks are given out. */
.Lrecords_done:
    tbnz flags, #DRAIN, .Lwipe
    lsl next, scratch, #1
    sub next, next, todo
    add next, next, #2*TODO + 4*TODO_BYTES
    ldr u1, [todo, #TODO_BYTES*3 + TODO_KEY]
    ldp u5, u6, [todo, #TODO_BYTES*3 + TODO_D]
    begin ROUND_VECTORS+LAST_VECTORS, 0, 0, 0
    .set asides, ASIDES
    .set aside_from, 0
    .set skip1, 0
    .set skip2, 0
    steps 0, 4*STEPS, 1, 0
    asides_end

/* Rows of the blocks: 0 to 3 are in columns 2, the temporaries, 0, 3. */
    begin 0, 0, 0, 0
    .set vectors, 1
    transpose va0, va1, va2, va3, vt0, vb0, vb1, vb2, vb3, vt1
    transpose vc0, vc1, vc2, vc3, vt2, vd0, vd1, vd2, vd3, vt3
    mov new_whats, xzr
    put 0, 2, 6, 10, 14
    put 1, 16, 17, 18, 19
    put 2, 0, 4, 8, 12
    put 3, 3, 7, 11, 15
    ldr u0, [next, #TODO_LANE]
    cbnz u0, .Lpass
    orr flags, flags, #1 << DRAIN
    mov turn, xzr
    mov whats, new_whats
    add record, scratch, #RECORDS
    b .Lrecord_begins

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
    ldr u3, [scratch, #CONSTS]
    add u3, u3, #CONST_MASK + 64
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
