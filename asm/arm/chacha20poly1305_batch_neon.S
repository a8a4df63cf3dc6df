/* ChaCha20-Poly1305 with NEON: seals or opens many packets, each with its own key, in one call.
 *
 *     void sealane_chacha20poly1305_batch_neon(const args *a, void *scratch, const void *consts);
 *
 * CPU        ARMv7-A with NEON, little-endian
 * args       SEALANE_BATCH_*, FLAGS; of every lane reads ad[ad_bytes], key[32], nonce[12], in[bytes], writes
 *            out[bytes], tag[16]
 * scratch    704 bytes after the saved registers, wiped before the return; stack 0
 * consts     sealane_chacha20poly1305_batch_neon_constants
 * registers  all but r10, r13, r14; r1 holds scratch, displaced by FRAME until the end
 * branches   and addresses depend on FLAGS, pointers and lengths only
 *
 * The packets' blocks of keystream fill sets of four places in order: block 0 of the first packet (its Poly1305 key),
 * block 1, .. , block 0 of the second, .. . A vector holds one word of four places. When a set is ready its text is
 * encrypted or decrypted, and the ciphertext replaces the keystream. Everything else is done in integer registers
 * between the vector instructions of the next set, one task with each of its double rounds. The first tasks find the
 * keys and rows d of the set after it. Further tasks follow the order of the places. They take r and s from block 0,
 * authenticate the text after it, two blocks of Poly1305 at a time, and make the tag. For packets of 64 bytes that
 * is nine tasks a set, as many as there are double rounds. Remaining tasks run alone after these. The arithmetic is
 * that of chacha20poly1305_neon.S.
 *
 * The minimum for a packet of 64 bytes is two blocks of 80 quarter rounds of 15 vector instructions. Done for four
 * places at a time, these are 600 instructions, and 24 more transpose and add. Cortex-A53 issues one per cycle, with
 * integer work beside it: 624 cycles. Cortex-A7 takes two cycles for each and issues nothing beside them: 1248. 38
 * are added for the words that find no register, and 200 for the multiplications of five blocks of Poly1305, 20 of
 * two cycles each: 1486. Other ways to make a block are slower there: about 900 cycles in integer registers, and 720
 * with a row in a vector, compared to 600.
 */
#include "../asm.S"

#if defined(__arm__)

isa neon

/* Scratch, relative to the displaced r1. */
#define FRAME (SEALANE_SCRATCH_SAVE_BYTES + 64)
#define FLAGS -64
#define FILL_LANE -60    /* the packet whose blocks are given places, */
#define FILL_LAST -56    /* the last one of all, */
#define FILL_BLOCK -52   /* and its next block */
#define LANE -44         /* the packet that is authenticated, */
#define LANES -40        /* and how many are left with it */
#define MORE -36         /* after LIMIT: 0: the lengths; MORE_AD: associated data or text; or bytes of text to come */
#define TEXT_MESSAGE -32 /* MESSAGE and LIMIT after the associated data */
#define MESSAGE -24      /* authenticate from here */
#define LIMIT -20        /* up to here */
#define POLY_S1 -16      /* r0 .. r3, s1 .. s3 */
#define POLY_S3 -8
#define POLY_R0 -4
#define SPILL_0 0        /* two vectors of the set */
#define SPILL_1 16
#define POLY_R1 32
#define POLY_R2 36
#define POLY_R3 40
#define PLACE 44          /* the next place to authenticate */
#define CRYPT_LANE 48    /* the packet whose text is encrypted next, */
#define CRYPT_LANES 52   /* it and those after it */
#define POLY_LOW 56      /* the lowest word of a product, until the others are there */
#define ROUNDS 60        /* double rounds left of the set */
#define POLY_S 64
#define TAIL 80          /* associated data, padded with zeroes */
#define CONSTANTS 112
#define CRYPT_LEFT 116   /* bytes of text to encrypt of the packet before CRYPT_LANE */
#define CRYPT_IN 120
#define CRYPT_OUT 124
#define ROWS 128         /* ROWS_0 or ROWS_1, which alternate: this set's */
#define REMAINING 132    /* bytes of text that are in later sets */
#define H 136            /* Poly1305's accumulator from set to set */
#define AD 156           /* associated data, */
#define AD_LEFT 160      /* bytes of it */
#define ROWS_0 176       /* by place: rows d of the initial states, */
#define KEYS 64          /* and where their keys are */
#define ROWS_1 256
#define BLOCK 384        /* a set's keystream, then the bytes to authenticate; aligned to 64 bytes */
#define END 640

#define MORE_AD 0x80000000

#include "chacha20poly1305_neon_woven.h"
#include "chacha20poly1305_batch_neon_woven.h"

/* Besides the registers named there: bytes_left in whole blocks; bytes of text in the places; the place after them. */
#define padded r0
#define in_places r11
#define next_place r11
/* Associated data: LANE; its address; a word of it; the address of its copy; bytes left. */
#define this_lane r12
#define ad_at r8
#define ad_word r11
#define tail_at r7
#define part r12
#define zero_0 r0
#define zero_1 r9
#define zero_2 r12

/* A byte (b) or a word of the text at r7 is combined with the keystream at r0 and stored at r9. The ciphertext also
 * goes to r0. r11: bytes left, r5: flags. */
.macro crypt_one b, bytes
    ldr\b r8, [r7], #\bytes
    ldr\b r12, [r0]
    tst r5, #SEALANE_FLAG_OPEN
    eor r12, r12, r8
    str\b\()eq r12, [r0], #\bytes
    str\b\()ne r8, [r0], #\bytes
    str\b r12, [r9], #\bytes
    subs r11, r11, #\bytes
.endm

/* A block of keystream to its place. */
.macro store_place to, a, b, c, d
    vst1.32 {\a}, [\to:128]!
    vst1.32 {\b}, [\to:128]!
    vst1.32 {\c}, [\to:128]!
    vst1.32 {\d}, [\to:128]
.endm

function sealane_chacha20poly1305_batch_neon
    ldr r3, [r0, #SEALANE_BATCH_COUNT]
    ldr r4, [r0, #SEALANE_BATCH_FLAGS]
    ldr r5, [r0, #SEALANE_BATCH_LANES]
    cmp r3, #0
    beq .Ldone
    add r1, r1, #FRAME
    sub r7, r3, #1
    add r7, r5, r7, lsl #6               /* SEALANE_LANE_STRIDE */
    add r8, r1, #BLOCK + 256
    mov r9, #0
    mov r11, #ROWS_1
    str r2, [r1, #CONSTANTS]
    str r4, [r1, #FLAGS]
    str r5, [r1, #FILL_LANE]
    str r7, [r1, #FILL_LAST]
    str r9, [r1, #FILL_BLOCK]
    str r5, [r1, #LANE]
    str r3, [r1, #LANES]
    str r5, [r1, #CRYPT_LANE]
    str r3, [r1, #CRYPT_LANES]
    str r9, [r1, #CRYPT_LEFT]
    str r9, [r1, #REMAINING]
    str r8, [r1, #PLACE]
    str r11, [r1, #ROWS]
    fill

/* Blocks for the four places of a set. */
.Lset:
    ldr r7, [r1, #ROWS]
    ldr r9, [r1, #CONSTANTS]
    rsb r7, r7, #ROWS_0 + ROWS_1
    str r7, [r1, #ROWS]
    add r7, r1, r7
    add r2, r7, #KEYS
    ldmia r2, {r2, r3, r4, r5}
    places_begin
    set_round_fill
    cmp bytes_left, #0
    bne .Ltext
    cmp place, places_end
    beq .Lrest
.Lkey:
    set_round_key
    beq .Lkey_alone
    cmp ad_bytes, #0
    bne .Lassociated_data
.Lmessage:
    cmp bytes_left, #16
    bls .Lmessage_end
    set_round_blocks
    bne .Lmessage
    b .Lalone
.Lmessage_end:
    bne .Lmessage_read
    set_round_block
    beq .Lalone
.Lmessage_read:
    cmp more, #0
    bne .Lmore
    set_round_finish
    beq .Lfinished_alone
    cmp place, places_end
    bne .Lkey

/* All places of the set before are authenticated. */
.Lrest:
    ldr r0, [r1, #ROUNDS]
.Lset_rounds:
    set_rounds
.Lset_end:
    set_end_next
    bne .Lset_store
    places_crypt
    bne .Lset_opened
    store_place r0, q1, q12, q0, q5
    store_place r8, q3, q6, q10, q4
    orrs r3, r3, r4
    bne .Lset
    b .Lcrypted
.Lset_opened:
    vst1.32 {q7, q8}, [r0:128]!
    vst1.32 {q13, q14}, [r0:128]
    store_place r8, q9, q11, q2, q15
    orrs r3, r3, r4
    bne .Lset
    b .Lcrypted
.Lset_store:
    add r9, r1, #BLOCK
    mov r12, #64
    mvn r11, #64*3 - 16 - 1              /* from the last place to the next row of the first */
    places_store

/* Encrypts or decrypts the text of the places. r0: the next place, r3: their end, r7, r9: text, r11: bytes of it, r4:
 * the next packet, r6: it and those after it. */
    ldr r11, [r1, #CRYPT_LEFT]
    add r0, r1, #BLOCK
    ldr r7, [r1, #CRYPT_IN]
    cmp r11, #0
    ldr r9, [r1, #CRYPT_OUT]
    ldr r5, [r1, #FLAGS]
    add r3, r0, #256
    ldr r4, [r1, #CRYPT_LANE]
    ldr r6, [r1, #CRYPT_LANES]
    bne .Lcrypt_text
.Lcrypt_packet:
    subs r6, r6, #1
    blo .Lcrypted
    ldr r11, [r4, #SEALANE_LANE_BYTES]
    add r0, r0, #64
    ldr r7, [r4, #SEALANE_LANE_IN]
    ldr r9, [r4, #SEALANE_LANE_OUT]
    cmp r11, #0
    add r4, r4, #SEALANE_LANE_STRIDE
    beq .Lcrypt_next
.Lcrypt_text:
    cmp r0, r3
    beq .Lcrypt_save
    subs r11, r11, #64
    blo .Lcrypt_partial
    mov r8, r0
    vld1.8 {q8, q9}, [r7]!
    vld1.32 {q0, q1}, [r8:128]!
    vld1.8 {q10, q11}, [r7]!
    vld1.32 {q2, q3}, [r8:128]
    veor q0, q0, q8
    veor q1, q1, q9
    tst r5, #SEALANE_FLAG_OPEN
    veor q2, q2, q10
    vst1.8 {q0, q1}, [r9]!
    veor q3, q3, q11
    vst1.8 {q2, q3}, [r9]!
    bne .Lcrypt_opened
    vst1.32 {q0, q1}, [r0:128]!
    vst1.32 {q2, q3}, [r0:128]!
    cmp r11, #0
    bne .Lcrypt_text
.Lcrypt_next:
    cmp r0, r3
    bne .Lcrypt_packet
.Lcrypt_save:
    orrs r12, r6, r11
    str r4, [r1, #CRYPT_LANE]
    str r6, [r1, #CRYPT_LANES]
    str r11, [r1, #CRYPT_LEFT]
    str r7, [r1, #CRYPT_IN]
    str r9, [r1, #CRYPT_OUT]
    bne .Lset

/* All text is encrypted; the remaining places are authenticated without rounds. */
.Lcrypted:
    mov r12, #0
    add r0, r1, #H
    str r12, [r1, #ROUNDS]
    ldmia r0, {h0, h1, h2, h4, h3}
    ldr bytes_left, [r1, #REMAINING]
    cmp bytes_left, #0
    beq .Lkey_begin
    b .Ltext

.Lcrypt_opened:
    vst1.32 {q8, q9}, [r0:128]!
    vst1.32 {q10, q11}, [r0:128]!
    cmp r11, #0
    bne .Lcrypt_text
    b .Lcrypt_next

/* Fewer than 64 bytes, padded with zeroes to blocks of Poly1305. */
.Lcrypt_partial:
    adds r11, r11, #64 - 16
    bmi .Lcrypt_words
.Lcrypt_16:
    vld1.32 {q0}, [r0:128]
    vld1.8 {q8}, [r7]!
    veor q0, q0, q8
    tst r5, #SEALANE_FLAG_OPEN
    vst1.8 {q0}, [r9]!
    bne .Lcrypt_16_opened
    vmov q8, q0
.Lcrypt_16_opened:
    vst1.32 {q8}, [r0:128]!
    subs r11, r11, #16
    bpl .Lcrypt_16
.Lcrypt_words:
    adds r11, r11, #16 - 4
    bmi .Lcrypt_bytes
.Lcrypt_word:
    crypt_one , 4
    bpl .Lcrypt_word
.Lcrypt_bytes:
    adds r11, r11, #4
    beq .Lcrypt_pad
.Lcrypt_byte:
    crypt_one b, 1
    bne .Lcrypt_byte
.Lcrypt_pad:
    tst r0, #15
    strbne r11, [r0], #1
    bne .Lcrypt_pad
    add r0, r0, #63
    bic r0, r0, #63
    b .Lcrypt_next

/* The places have the next bytes_left bytes of the packet's text, or as many as go into them. */
.Ltext:
    add message, r1, #BLOCK
    cmp bytes_left, #256
    movlo in_places, bytes_left
    movhs in_places, #256
    sub more, bytes_left, in_places
    add padded, in_places, #15
    bic padded, padded, #15
    add limit, message, padded
    strd message, limit, [r1, #MESSAGE]
    add next_place, limit, #63
    bic next_place, next_place, #63
    str next_place, [r1, #PLACE]
    str more, [r1, #MORE]
    str more, [r1, #REMAINING]

/* Continue with rounds, or without if none are left. */
.Lon:
    ldr rounds, [r1, #ROUNDS]
    cmp rounds, #0
    bne .Lmessage

.Lalone:
    cmp bytes_left, #0
    beq .Lalone_more
.Lalone_block:
    poly_block
    cmp bytes_left, #0
    bne .Lalone_block
.Lalone_more:
    cmp more, #0
    bne .Lmore_alone
    poly_finish
    cmp lanes, #0
    beq .Lwipe
.Lfinished_alone:
    cmp place, places_end
    beq .Lset_end
.Lkey_begin:
    poly_begin
.Lkey_alone:
    cmp ad_bytes, #0
    beq .Lalone

/* ad_bytes of associated data, from a copy, and then the text. */
.Lassociated_data:
    ldrd message, limit, [r1, #MESSAGE]
    ldr this_lane, [r1, #LANE]
    strd message, limit, [r1, #TEXT_MESSAGE]
    ldr ad_at, [this_lane, #SEALANE_LANE_AD]
.Lad_blocks:
    mov zero_0, #0
    mov zero_1, #0
    mov zero_2, #0
    add tail_at, r1, #TAIL
    stmia tail_at!, {zero_0, zero_1, zero_2}
    stmia tail_at!, {zero_0, zero_1, zero_2}
    stmia tail_at, {zero_0, zero_1}
    cmp ad_bytes, #32
    movlo part, ad_bytes
    movhs part, #32
    sub ad_bytes, ad_bytes, part
    add padded, part, #15
    sub tail_at, tail_at, #24
    bic padded, padded, #15
    str ad_bytes, [r1, #AD_LEFT]
    copy_bytes ad_at, tail_at, part, ad_word, .Lad_copied
.Lad_copied:
    str ad_at, [r1, #AD]
    add message, r1, #TAIL
    mov more, #MORE_AD
    add limit, message, padded
    strd message, limit, [r1, #MESSAGE]
    str more, [r1, #MORE]
    b .Lon

/* The rest of the associated data, or the text after it. */
.Lmore:
    bpl .Lrest
    b .Lmore_ad
.Lmore_alone:
    bpl .Lset_end
.Lmore_ad:
    ldr ad_bytes, [r1, #AD_LEFT]
    ldr ad_at, [r1, #AD]
    cmp ad_bytes, #0
    bne .Lad_blocks
    ldrd message, limit, [r1, #TEXT_MESSAGE]
    ldr more, [r1, #REMAINING]
    strd message, limit, [r1, #MESSAGE]
    str more, [r1, #MORE]
    sub bytes_left, limit, message
    b .Lon

.Lwipe:
    wipe
.Ldone:
endfunction

constants sealane_chacha20poly1305_batch_neon_constants
    .long 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574
endconstants

#endif
