/* ChaCha20-Poly1305 with NEON: seals or opens many packets, each with its own key, in one call.
 *
 *     void sealane_chacha20poly1305_batch_neon(const args *a, void *scratch, const void *consts);
 *
 * CPU        ARMv7-A with NEON, little-endian
 * args       SEALANE_BATCH_*, FLAGS; of every lane reads ad[ad_bytes], key[32], nonce[12], in[bytes], writes out[bytes], tag[16]
 * scratch    640 bytes behind the saved registers, wiped before the return; stack 0
 * consts     sealane_chacha20poly1305_batch_neon_constants
 * registers  all but r10, r13, r14; r1 holds scratch, displaced by FRAME until the end
 * branches   and addresses depend on FLAGS, pointers and lengths only
 *
 * The packets' blocks of keystream, block 0 of the first packet (its Poly1305 key), block 1, .. , block 0 of the second, .. ,
 * fill sets of four slots one after the other; a vector holds one word of four slots. When a set is ready its text is
 * encrypted or decrypted, and the ciphertext takes the place of the keystream. Between the vector instructions of the next
 * set Poly1305 goes through the slots in their order: it takes r and s from block 0 and authenticates the associated data,
 * then the text of the others, and with the last makes the tag. The arithmetic is that of chacha20poly1305_neon.S.
 */
#include "../asm.S"

#if defined(__arm__)

isa neon

/* Scratch, relative to the displaced r1. */
#define FRAME (SEALANE_SCRATCH_SAVE_BYTES + 64)
#define FLAGS -64
#define FILL_LANE -60    /* the packet whose blocks are given slots, */
#define FILL_LANES -56   /* it and those behind it, */
#define FILL_BLOCK -52   /* its next block */
#define FILL_END -48     /* and how many it has */
#define LANE -44         /* the packet that is authenticated, */
#define LANES -40        /* it and those behind it, */
#define REMAINING -36    /* and bytes of its text to authenticate */
#define PHASE -32        /* what is authenticated: PHASE_* */
#define REST -28         /* bytes behind the whole blocks of that */
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
#define SLOT 44          /* the next slot to authenticate, 0 in the beginning */
#define CRYPT_LANE 48    /* the packet whose text is encrypted, */
#define CRYPT_LANES 52   /* it and those behind it, and in registers its text */
#define POLY_LOW 56      /* the lowest word of a product, until the others are there */
#define ROUNDS 60        /* double rounds left of the set */
#define POLY_S 64
#define TAIL 80          /* the last bytes of associated data, padded with zeroes to 16, or the lengths */
#define CONSTANTS 96
#define CRYPT_LEFT 100   /* bytes of text to encrypt; 0: block 0 of the next packet follows */
#define CRYPT_IN 104
#define CRYPT_OUT 108
#define ROWS_B 112       /* by slot: rows b, */
#define ROWS_D 176       /* d, */
#define ROWS_C 240       /* c of the initial states */
#define BLOCK 304        /* a set's keystream, then what is authenticated; behind it its end */
#define END 576

#define PHASE_AD 0
#define PHASE_TEXT 1
#define PHASE_LENGTHS 2

#include "chacha20poly1305_neon_rounds.h"

function sealane_chacha20poly1305_batch_neon
    ldr r3, [r0, #SEALANE_BATCH_COUNT]
    ldr r4, [r0, #SEALANE_ARG_FLAGS]
    ldr r5, [r0, #SEALANE_BATCH_LANES]
    cmp r3, #0
    beq .Ldone
    add r1, r1, #FRAME
    mov r7, #0
    mov r0, #PHASE_LENGTHS
    str r2, [r1, #CONSTANTS]
    str r4, [r1, #FLAGS]
    str r5, [r1, #FILL_LANE]
    str r3, [r1, #FILL_LANES]
    str r5, [r1, #LANE]
    str r3, [r1, #LANES]
    str r5, [r1, #CRYPT_LANE]
    str r3, [r1, #CRYPT_LANES]
    str r7, [r1, #CRYPT_LEFT]
    str r7, [r1, #SLOT]
    str r0, [r1, #PHASE]
    mov r8, r5
    b .Lfill_lane

/* Blocks for the four slots of a set; h stays in its registers. */
.Lset:
    ldr r8, [r1, #FILL_LANES]
    add r7, r1, #ROWS_B
    cmp r8, #0
    moveq r0, #0
    beq .Lbegun
.Lfill:
    ldr r0, [r1, #FILL_LANE]
    ldr r8, [r1, #FILL_BLOCK]
    ldr r12, [r0, #SEALANE_LANE_NONCE]
    ldr r0, [r0, #SEALANE_LANE_KEY]
    ldr r9, [r12]
    ldr r11, [r12, #4]
    ldr r12, [r12, #8]
    vld1.8 {q0, q1}, [r0]
    add r0, r7, #ROWS_D - ROWS_B
    stmia r0, {r8, r9, r11, r12}
    add r0, r7, #ROWS_C - ROWS_B
    ldr r9, [r1, #FILL_END]
    vst1.32 {q0}, [r7:128]!
    vst1.32 {q1}, [r0:128]
    add r8, r8, #1
    cmp r8, r9
    str r8, [r1, #FILL_BLOCK]
    beq .Lfill_next
.Lfill_slot:
    add r0, r1, #ROWS_B + 64
    cmp r7, r0
    bne .Lfill
    b .Lfilled

.Lfill_next:
    ldr r8, [r1, #FILL_LANE]
    ldr r9, [r1, #FILL_LANES]
    add r8, r8, #SEALANE_LANE_STRIDE
    subs r9, r9, #1
    str r8, [r1, #FILL_LANE]
    str r9, [r1, #FILL_LANES]
    beq .Lfilled
.Lfill_lane:
    ldr r9, [r8, #SEALANE_LANE_BYTES]
    mov r8, #0
    ands r11, r9, #63
    mov r9, r9, lsr #6
    str r8, [r1, #FILL_BLOCK]
    add r9, r9, #1
    addne r9, r9, #1
    str r9, [r1, #FILL_END]
    cmp r7, #0
    bne .Lfill_slot
    b .Lset

.Lfilled:
    ldr r9, [r1, #CONSTANTS]
    add r7, r1, #ROWS_B
    slots_begin
    mov r0, #9
.Lbegun:
    str r0, [r1, #ROUNDS]
    ldr r0, [r1, #SLOT]
    cmp r0, #0
    bne .Lslot

/* All slots of the set before are authenticated. */
.Lrounds:
    ldr r0, [r1, #ROUNDS]
    cmp r0, #0
    beq .Lset_end
.Lset_rounds:
    set_rounds
.Lset_end:
    set_end
    ldr r8, [r1, #CONSTANTS]
    add r7, r1, #ROWS_B
    add r9, r1, #BLOCK
    mov r12, #64
    mvn r11, #64*3 - 16 - 1              /* from the last slot to the next row of the first */
    slots_store
    add r0, r1, #BLOCK
    str r0, [r1, #SLOT]

/* The text of the slots from r0 on. */
    ldr r11, [r1, #CRYPT_LEFT]
    ldr r7, [r1, #CRYPT_IN]
    ldr r9, [r1, #CRYPT_OUT]
.Lcrypt:
    cmp r11, #0
    bne .Lcrypt_text
    ldr r11, [r1, #CRYPT_LANES]
    ldr r8, [r1, #CRYPT_LANE]
    subs r11, r11, #1
    blo .Lset
    add r12, r8, #SEALANE_LANE_STRIDE
    str r11, [r1, #CRYPT_LANES]
    str r12, [r1, #CRYPT_LANE]
    ldr r11, [r8, #SEALANE_LANE_BYTES]
    ldr r7, [r8, #SEALANE_LANE_IN]
    ldr r9, [r8, #SEALANE_LANE_OUT]
    add r0, r0, #64
.Lcrypt_next:
    add r8, r1, #BLOCK + 256
    cmp r0, r8
    bne .Lcrypt
    str r11, [r1, #CRYPT_LEFT]
    str r7, [r1, #CRYPT_IN]
    str r9, [r1, #CRYPT_OUT]
    b .Lset

.Lcrypt_text:
    ldr r12, [r1, #FLAGS]
    subs r11, r11, #64
    blo .Lcrypt_partial
    mov r8, r0
    tst r12, #SEALANE_FLAG_OPEN
    vld1.32 {q0, q1}, [r8:128]!
    vld1.8 {q8, q9}, [r7]!
    vld1.32 {q2, q3}, [r8:128]
    vld1.8 {q10, q11}, [r7]!
    veor q0, q0, q8
    veor q1, q1, q9
    veor q2, q2, q10
    veor q3, q3, q11
    vst1.8 {q0, q1}, [r9]!
    vst1.8 {q2, q3}, [r9]!
    beq .Lcrypt_sealed
    vst1.32 {q8, q9}, [r0:128]!
    vst1.32 {q10, q11}, [r0:128]!
    b .Lcrypt_next
.Lcrypt_sealed:
    vst1.32 {q0, q1}, [r0:128]!
    vst1.32 {q2, q3}, [r0:128]!
    b .Lcrypt_next

/* Fewer than 64 bytes, padded with zeroes to blocks of Poly1305. */
.Lcrypt_partial:
    adds r11, r11, #64 - 16
    bmi .Lcrypt_words
.Lcrypt_16:
    vld1.32 {q0}, [r0:128]
    vld1.8 {q8}, [r7]!
    tst r12, #SEALANE_FLAG_OPEN
    veor q0, q0, q8
    vst1.8 {q0}, [r9]!
    bne .Lcrypt_opened
    vmov q8, q0
.Lcrypt_opened:
    vst1.32 {q8}, [r0:128]!
    subs r11, r11, #16
    bpl .Lcrypt_16
.Lcrypt_words:
    adds r11, r11, #16 - 4
    bmi .Lcrypt_bytes
.Lcrypt_word:
    ldr r8, [r7], #4
    ldr r12, [r0]
    str r8, [r0]
    eor r8, r8, r12
    ldr r12, [r1, #FLAGS]
    str r8, [r9], #4
    tst r12, #SEALANE_FLAG_OPEN
    streq r8, [r0]
    add r0, r0, #4
    subs r11, r11, #4
    bpl .Lcrypt_word
.Lcrypt_bytes:
    adds r11, r11, #4
    beq .Lcrypt_pad
.Lcrypt_byte:
    ldrb r8, [r7], #1
    ldrb r12, [r0]
    strb r8, [r0]
    eor r8, r8, r12
    ldr r12, [r1, #FLAGS]
    strb r8, [r9], #1
    tst r12, #SEALANE_FLAG_OPEN
    strbeq r8, [r0]
    add r0, r0, #1
    subs r11, r11, #1
    bne .Lcrypt_byte
.Lcrypt_pad:
    tst r0, #15
    strbne r11, [r0], #1
    bne .Lcrypt_pad
    sub r8, r0, r1
    add r8, r8, #63 - BLOCK % 64
    bic r8, r8, #63
    add r0, r1, r8
    add r0, r0, #BLOCK % 64
    b .Lcrypt_next

/* The slot at r0: block 0, or text. */
.Lslot:
    ldr r8, [r1, #PHASE]
    ldr r7, [r1, #REMAINING]
    cmp r8, #PHASE_TEXT
    beq .Ltext
    ldmia r0, {r2, r3, r4, r5, r6, r7, r8, r9}
    poly_key
    ldr r0, [r1, #LANE]
    mov r12, #PHASE_AD
    ldr r7, [r0, #SEALANE_LANE_BYTES]
    ldr r8, [r0, #SEALANE_LANE_AD]
    ldr r9, [r0, #SEALANE_LANE_AD_BYTES]
    str r7, [r1, #REMAINING]

/* Authenticate r9 bytes at r8, padded with zeroes. */
.Lauthenticate:
    and r7, r9, #15
    bic r9, r9, #15
    str r12, [r1, #PHASE]
    add r9, r8, r9
    str r7, [r1, #REST]
    strd r8, r9, [r1, #MESSAGE]
.Lpoly_next:
    ldr r0, [r1, #ROUNDS]
    subs r7, r9, r8
    beq .Lrest
    subs r0, r0, #1
    blo .Lpoly
    str r0, [r1, #ROUNDS]
    cmp r7, #32
    blo .Lpoly_one
    set_round_blocks
    ldrd r8, r9, [r1, #MESSAGE]
    b .Lpoly_next
.Lpoly_one:
    set_round_block
    b .Lpoly_done
.Lpoly:
    ldr r7, [r8]
    ldr r9, [r8, #4]
    ldr r11, [r8, #8]
    ldr r12, [r8, #12]
    add r8, r8, #16
    str r8, [r1, #MESSAGE]
    adds h0, h0, r7
    adcs h1, h1, r9
    adcs h2, h2, r11
    adcs h3, h3, r12
    ldrd x, y, [r1, #POLY_S1]
    adc h4, h4, #1
    ldr w, [r1, #POLY_S3]
    ldr z, [r1, #POLY_R0]
    poly_multiply
.Lpoly_done:
    ldrd r8, r9, [r1, #MESSAGE]
    cmp r8, r9
    bne .Lpoly_next
.Lrest:
    ldr r7, [r1, #REST]
    ldr r12, [r1, #PHASE]
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
    str r8, [r1, #MESSAGE]
    b .Lpoly_next

.Lauthenticated:
    ldr r7, [r1, #REMAINING]
    cmp r12, #PHASE_TEXT
    bhi .Ltag
    mov r12, #PHASE_TEXT
    str r12, [r1, #PHASE]
    cmp r7, #0
    beq .Lfinish
.Lnext_slot:
    ldr r0, [r1, #SLOT]
    add r7, r1, #BLOCK + 192
    cmp r0, r7
    add r0, r0, #64
    str r0, [r1, #SLOT]
    bne .Lslot
    b .Lrounds

/* r7 bytes of text remain. */
.Ltext:
    cmp r7, #64
    movlo r9, r7
    movhs r9, #64
    sub r7, r7, r9
    add r9, r9, #15
    mov r8, r0
    str r7, [r1, #REMAINING]
    bic r9, r9, #15
    mov r12, #PHASE_TEXT
    b .Lauthenticate

.Lfinish:
    ldr r0, [r1, #LANE]
    ldr r7, [r0, #SEALANE_LANE_AD_BYTES]
    ldr r8, [r0, #SEALANE_LANE_AD_BYTES + 4]
    ldr r9, [r0, #SEALANE_LANE_BYTES]
    ldr r11, [r0, #SEALANE_LANE_BYTES + 4]
    add r12, r1, #TAIL
    stmia r12, {r7, r8, r9, r11}
    mov r12, #PHASE_LENGTHS
    str r12, [r1, #PHASE]
    b .Ltail

.Ltag:
    poly_tag
    ldr r7, [r1, #LANE]
    ldr r8, [r1, #LANES]
    ldr r0, [r7, #SEALANE_LANE_TAG]
    add r7, r7, #SEALANE_LANE_STRIDE
    subs r8, r8, #1
    str r7, [r1, #LANE]
    str r8, [r1, #LANES]
    str h0, [r0]
    str h1, [r0, #4]
    str h2, [r0, #8]
    str h3, [r0, #12]
    bne .Lnext_slot

.Lwipe:
    vmov.i32 q0, #0
    vmov.i32 q1, #0
    sub r1, r1, #64
.rept (END + 64) / 32
    vst1.32 {q0, q1}, [r1:128]!
.endr
    sub r1, r1, #SEALANE_SCRATCH_SAVE_BYTES + END + 64
.Ldone:
endfunction

constants sealane_chacha20poly1305_batch_neon_constants
    .long 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574
endconstants

#endif
