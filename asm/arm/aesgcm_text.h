/* The code that the AES-GCM kernels for 32-bit ARM share. They define .Lghash (r4 blocks at r3, then on by the phase
 * in r5) and .Lpass between its parts. They also define the layout of scratch.
 */

#include "words.h"

/* r3 := FLAGS. Does \also on the way. Goes to .Lexpand if a key is to be set up. */
.macro take_arguments also:vararg
    ldr r3, [r0, #SEALANE_ARG_FLAGS]
    \also
    str r0, [r1, #ARGS]
    str r2, [r1, #CONSTS]
    str r3, [r1, #FLAGS]
    tst r3, #SEALANE_FLAG_SETUP
    bne .Lexpand
.endm

/* Stores the round keys in the layout of the rounds. When a key is set up, goes to .Lsetup. */
.macro spread_or_setup
.Lspread:
    ldr r0, [r1, #ARGS]
    ldr r4, [r0, #SEALANE_ARG_KEY]
    spread_round_keys
    ldr r3, [r1, #FLAGS]
    tst r3, #SEALANE_FLAG_SETUP
    bne .Lsetup
.endm

/* The text's place and length. For a first part, r4 .. r6 := the nonce's prefix, and r7 := the counter. */
.macro message_begin
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
.endm

/* r6 := bytes of text left, r7 := bytes of keystream left. The flags say whether r7 is 0. */
.macro text_left
.Ltext:
    ldr r6, [r1, #LEFT]
    ldr r7, [r1, #AVAILABLE]
    cmp r6, #0
    beq .Llengths
    cmp r7, #0
.endm

/* TAIL = 0; r6: TAIL, r5: 0. */
.macro zero_tail_vector
    vmov.i8 q0, #0
    add r6, r1, #TAIL
    vst1.8 {q0}, [r6]
.endm

.macro zero_tail_words
    add r6, r1, #TAIL
    store_words r6, r5, r5, r5, r5
.endm

/* Whole blocks, then the rest, padded with zeroes. */
.macro associated_data zero_tail
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
    \zero_tail
.Lad_byte:
    ldrb r7, [r3], #1
    subs r4, r4, #1
    strb r7, [r6], #1
    bne .Lad_byte
    mov r4, #1
    add r3, r1, #TAIL
    mov r5, #PHASE_AD
    b .Lghash
.endm

/* A byte (b) or a word of text at r3 is combined with the keystream at r8 and stored at r4. The ciphertext also goes
 * to r7. r5: bytes left, r9: FLAGS. */
.macro xor_one b, bytes
    ldr\b r0, [r3], #\bytes
    ldr\b r2, [r8], #\bytes
    tst r9, #SEALANE_FLAG_OPEN
    eor r2, r2, r0
    str\b r2, [r4], #\bytes
    moveq r0, r2
    str\b r0, [r7], #\bytes
    subs r5, r5, #\bytes
.endm

/* All r5 bytes. */
.macro xor_bytes
.Lxor_byte:
    xor_one b, 1
    bne .Lxor_byte
.endm

/* POLYVAL (RFC 8452, section 3) of associated data, text and lengths. It is GHASH of blocks with their bytes
 * reversed, up to \most bytes at a time, with a table of the hash key itself. (Appendix A: GHASH's factor x cancels
 * the one that its order of bits loses.) The first half of a sum is at Y + \half. \reverse_block reverses a block at
 * r3 into r7, and advances both. \whole may process more of the r6 bytes left at r3. r3: FLAGS.
 */
.macro polyval most, half, reverse_block, whole:vararg
.Lpolyval:
    mov r4, #0
    mov r5, #0
    mov r6, #0
    mov r7, #0
    tst r3, #SEALANE_FLAG_FIRST
    bne .Lpolyval_begin
    ldr r12, [r0, #SEALANE_ARG_STATE]
    load_words r12, r4, r5, r6, r7
.Lpolyval_begin:
    str r4, [r1, #Y + \half]
    str r5, [r1, #Y + \half + 4]
    str r6, [r1, #Y + 8 - \half]
    str r7, [r1, #Y + 12 - \half]
    beq .Lpolyval_text
    ldr r3, [r0, #SEALANE_ARG_AD]
    ldr r6, [r0, #SEALANE_ARG_AD_BYTES]
    mov r5, #0
    b .Lpolyval_data
.Lpolyval_text:
    ldr r3, [r0, #SEALANE_ARG_IN]
    ldr r6, [r0, #SEALANE_ARG_BYTES]
    mov r5, #1
.Lpolyval_data:
    str r3, [r1, #IN]
    str r5, [r1, #PASS]                     /* 0: associated data, 1: text, 2: lengths */
    str r6, [r1, #LEFT]
.Lpolyval_more:
    ldr r6, [r1, #LEFT]
    ldr r3, [r1, #IN]
    cmp r6, #0
    beq .Lpolyval_next
    \whole
    cmp r6, #\most
    movhi r5, #\most
    movls r5, r6
    sub r6, r6, r5
    add r4, r5, #15
    str r6, [r1, #LEFT]
    mov r4, r4, lsr #4
    add r7, r1, #KEYSTREAM
    subs r5, r5, #16
    blo .Lpolyval_partial
.Lpolyval_block:
    \reverse_block
    subs r5, r5, #16
    bhs .Lpolyval_block
.Lpolyval_partial:
    adds r5, r5, #16
    beq .Lpolyval_ghash
    mov r8, #0
    str r8, [r7], #4
    str r8, [r7], #4
    str r8, [r7], #4
    str r8, [r7], #4
.Lpolyval_byte:
    ldrb r8, [r3], #1
    subs r5, r5, #1
    strb r8, [r7, #-1]!
    bne .Lpolyval_byte
.Lpolyval_ghash:
    str r3, [r1, #IN]
    add r3, r1, #KEYSTREAM
    mov r5, #PHASE_POLYVAL
    b .Lghash
.Lpolyval_next:
    ldr r0, [r1, #ARGS]
    ldr r5, [r1, #PASS]
    ldr r8, [r1, #FLAGS]
    cmp r5, #1
    blo .Lpolyval_text
    ldr r12, [r0, #SEALANE_ARG_TAG]
    bhi .Lpolyval_sum
    tst r8, #SEALANE_FLAG_LAST
    ldreq r12, [r0, #SEALANE_ARG_STATE]
    beq .Lpolyval_sum
    mov r5, #2
    str r5, [r1, #PASS]
    add r7, r1, #KEYSTREAM
    length_in_bits SEALANE_ARG_TOTAL
    length_in_bits SEALANE_ARG_AD_BYTES
    mov r4, #1
    b .Lpolyval_ghash
.Lpolyval_sum:
    ldr r4, [r1, #Y + \half]
    ldr r5, [r1, #Y + \half + 4]
    ldr r6, [r1, #Y + 8 - \half]
    ldr r7, [r1, #Y + 12 - \half]
    store_words r12, r4, r5, r6, r7
    b .Lwipe
.endm

/* The length at \bytes, in bits, to r7. */
.macro length_in_bits bytes
    ldr r5, [r0, #\bytes]
    ldr r6, [r0, #\bytes + 4]
    mov r6, r6, lsl #3
    orr r6, r6, r5, lsr #29
    mov r5, r5, lsl #3
    rev r6, r6
    rev r5, r5
    str r6, [r7], #4
    str r5, [r7], #4
.endm

/* ---- NEON only ---- */

/* Goes to .Lgot_hash_key, with H in \h, if the caller gives H. Otherwise makes the round keys. r4: key. */
.macro take_hash_key_or_expand h
.Lexpand:
    tst r3, #SEALANE_FLAG_NONCE
    beq .Lschedule
    ldr r5, [r0, #SEALANE_ARG_NONCE]
    tst r3, #SEALANE_FLAG_POLYVAL
    vld1.8 {\h}, [r5]
    beq .Lgot_hash_key
    vrev64.8 \h, \h
    vext.8 \h, \h, \h, #8
    b .Lgot_hash_key
.Lschedule:
    expand_key
.endm

.macro reverse_vector
    vld1.8 {q0}, [r3]!
    vrev64.8 q0, q0
    vext.8 q0, q0, q0, #8
    vst1.8 {q0}, [r7]!
.endm

/* message_begin, and q15 := 0, GHASH so far. .Lcontinue points r12 to the state, and loads its prefix and counter. */
.macro message_begin_or_continue
    message_begin
    vmov.i8 q15, #0
    b .Lbegin
.Lcontinue:
    ldr r12, [r0, #SEALANE_ARG_STATE]
    load_words r12, r4, r5, r6, r7, SEALANE_GCM_STATE_COUNTER
.endm

/* r6 bytes of text with the remaining r7 bytes of the keystream; the ciphertext goes to TAIL, too. */
.macro text_keystream
.Lkeystream:
    add r8, r1, #KEYSTREAM + 128
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
    blo .Lkeystream_partial
.Lkeystream_block:
    vld1.8 {q0}, [r3]!
    vld1.8 {q1}, [r8]!
    tst r9, #SEALANE_FLAG_OPEN
    veor q1, q1, q0
    vst1.8 {q1}, [r4]!
    beq .Lkeystream_seal
    vst1.8 {q0}, [r7]!
    subs r5, r5, #16
    bhs .Lkeystream_block
    b .Lkeystream_partial
.Lkeystream_seal:
    vst1.8 {q1}, [r7]!
    subs r5, r5, #16
    bhs .Lkeystream_block
.Lkeystream_partial:
    str r3, [r1, #IN]
    str r4, [r1, #OUT]
    adds r5, r5, #16
    beq .Lkeystream_blocks
    vmov.i8 q0, #0
    vst1.8 {q0}, [r7]
    add r11, r7, #16
    subs r5, r5, #4
    blo .Lkeystream_bytes
.Lkeystream_word:
    xor_one , 4
    bhs .Lkeystream_word
.Lkeystream_bytes:
    adds r5, r5, #4
    beq .Lkeystream_padded
    xor_bytes
.Lkeystream_padded:
    mov r7, r11
.Lkeystream_blocks:
    add r4, r12, #15
    mov r4, r4, lsr #4
    cmp r6, #0
    add r3, r1, #TAIL
    bne .Lkeystream_ghash
    tst r9, #SEALANE_FLAG_LAST
    bne .Llast_lengths
.Lkeystream_ghash:
    mov r5, #PHASE_TEXT
    b .Lghash
.endm

/* All text is authenticated, or will be with r4 blocks at r3, which end at r7. Then come the lengths in bits, and the
 * tag. In earlier parts, stores the part of the state that is in vectors. */
.macro text_end
.Llengths:
    ldr r9, [r1, #FLAGS]
    mov r4, #0
    tst r9, #SEALANE_FLAG_LAST
    beq .Lsave
    add r7, r1, #TAIL
    mov r3, r7

.Llast_lengths:
    ldr r0, [r1, #ARGS]
    length_in_bits SEALANE_ARG_AD_BYTES
    length_in_bits SEALANE_ARG_TOTAL
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
.endm

/* Stores prefix and counter, r4 .. r7, in the state at \state. The \unused bytes of keystream will be made again. */
.macro save_counter state, unused
    sub r7, r7, \unused, lsr #4
    rev r7, r7
    store_words \state, r4, r5, r6, r7, SEALANE_GCM_STATE_COUNTER
.endm
