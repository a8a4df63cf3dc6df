/* The code in integer registers that the ChaCha20-Poly1305 kernels for 32-bit ARM share. They define h0 .. h4, over,
 * and the layout of scratch: ARGS, FLAGS, PHASE, MESSAGE, LIMIT, REST, TAIL, STATE, POLY_S.
 */

#include "../chacha20.h"
#include "words.h"

/* A block in integer registers: a and b, and the needed words of c and d, whose rows are in memory. */
#define ia0 r2
#define ia1 r3
#define ia2 r4
#define ia3 r5
#define ib0 r6
#define ib1 r7
#define ib2 r8
#define ib3 r9
#define cx r0
#define dy r11
#define dz r12

/* \e, \f, \g, \h = themselves, rotated right by \bits (0: not), plus four words at cx; uses dy, dz. */
.macro add_initial e, f, g, h, bits
    ldmia cx!, {dy, dz}
    add \e, dy, \e, ror #\bits
    add \f, dz, \f, ror #\bits
    ldmia cx!, {dy, dz}
    add \g, dy, \g, ror #\bits
    add \h, dz, \h, ror #\bits
.endm

/* Flags, lengths and addresses; done if there is nothing to do. */
.macro begin
    ldr r3, [r0, #SEALANE_ARG_FLAGS]
    ldr r4, [r0, #SEALANE_ARG_BYTES]
    ldr r5, [r0, #SEALANE_ARG_IN]
    ldr r6, [r0, #SEALANE_ARG_OUT]
    orrs r7, r4, r3, lsl #30             /* nothing but OPEN: nothing to do */
    beq .Ldone
    add r1, r1, #FRAME
    ldr r11, [r0, #SEALANE_ARG_KEY]
    ldr r12, [r0, #SEALANE_ARG_NONCE]
.endm

/* The last bytes of the text, 4 + \bytes of them, or fewer than 4 from .Lxor_bytes on; then .Lencrypted. */
.macro xor_rest text, keystream, output, bytes, word, key
.Lxor_word:
    ldr \word, [\text], #4
    ldr \key, [\keystream], #4
    eor \word, \word, \key
    str \word, [\output], #4
    subs \bytes, \bytes, #4
    bpl .Lxor_word
.Lxor_bytes:
    adds \bytes, \bytes, #4
    beq .Lencrypted
.Lxor_byte:
    ldrb \word, [\text], #1
    ldrb \key, [\keystream], #1
    eor \word, \word, \key
    strb \word, [\output], #1
    subs \bytes, \bytes, #1
    bne .Lxor_byte
.endm

/* Another part of a packet continues where the previous one ended: r in r2 .. r5, s in its place. */
.macro continue_key
    ldr r12, [r0, #SEALANE_ARG_STATE]
    ldr r4, [r12, #SEALANE_STATE_COUNTER]
    str r4, [r1, #STATE + 48]
    load_words r12, r2, r3, r4, r5, SEALANE_STATE_S
    add r0, r1, #POLY_S
    stmia r0, {r2, r3, r4, r5}
    load_words r12, r2, r3, r4, r5, SEALANE_STATE_R
.endm

/* h += 5 (h >> 130) without these bits, h0 .. h3 coming from \e .. \h */
.macro poly_fold e, f, g, h
    bic over, h4, #3
    and h4, h4, #3
    add over, over, over, lsr #2
    adds h0, \e, over
    adcs h1, \f, #0
    adcs h2, \g, #0
    adcs h3, \h, #0
    adc h4, h4, #0
.endm

/* Loads h, too, from the state at r12. */
.macro continue_hash
    load_words r12, h0, h1, h2, h3, SEALANE_STATE_H
    ldr h4, [r12, #SEALANE_STATE_H + 16]
    poly_fold h0, h1, h2, h3
.endm

/* h mod p: h < 2p, and h >= p if h + 5 reaches 2^130; s in r7, r8, r9, r11. */
.macro poly_reduce
    adds r7, h0, #5
    adcs r7, h1, #0
    adcs r7, h2, #0
    adcs r7, h3, #0
    adc r7, h4, #0
    mov r7, r7, lsr #2                  /* 0 or 1 */
    add r7, r7, r7, lsl #2
    add r12, r1, #POLY_S
    adds h0, h0, r7
    adcs h1, h1, #0
    adcs h2, h2, #0
    adc h3, h3, #0
    ldmia r12, {r7, r8, r9, r11}
.endm

/* PHASE authenticates r9 bytes at r8. Whole blocks end at LIMIT, now in r9. REST bytes follow them. */
.macro begin_message
    str r12, [r1, #PHASE]
    and r7, r9, #15
    bic r9, r9, #15
    str r7, [r1, #REST]
    add r9, r8, r9
    strd r8, r9, [r1, #MESSAGE]
.endm

/* The block at r8 to r7, r9, r11, r12. */
.macro next_message
.Lpoly:
    load_words r8, r7, r9, r11, r12
    add r8, r8, #16
    str r8, [r1, #MESSAGE]
.endm

/* Copies \n bytes from \from to \to, by words and then by bytes. All three advance, and \word is used. Then goes to
 * \done. */
.macro copy_bytes from, to, n, word, done
    subs \n, \n, #4
    blo .Lcopy_bytes\@
.Lcopy_word\@:
    ldr \word, [\from], #4
    str \word, [\to], #4
    subs \n, \n, #4
    bhs .Lcopy_word\@
.Lcopy_bytes\@:
    adds \n, \n, #4
    beq \done
.Lcopy_byte\@:
    ldrb \word, [\from], #1
    strb \word, [\to], #1
    subs \n, \n, #1
    bne .Lcopy_byte\@
.endm

/* Continues with the whole blocks. After the last one come the bytes after it, at r8, padded with zeroes. Then PHASE
 * is complete. */
.macro authenticate_more
    ldrd r8, r9, [r1, #MESSAGE]
    cmp r8, r9
    bne .Lpoly
.Lrest:
    ldr r7, [r1, #REST]
    cmp r7, #0
    beq .Lauthenticated
    add r9, r1, #TAIL
    mov r0, #0
    store_words r9, r0, r0, r0, r0
    str r0, [r1, #REST]
    copy_bytes r8, r9, r7, r0, .Ltail
.Ltail:
    add r8, r1, #TAIL
    add r9, r8, #16
    str r9, [r1, #LIMIT]
    b .Lpoly

.Lauthenticated:
    ldr r12, [r1, #PHASE]
    ldr r11, [r1, #FLAGS]
    cmp r12, #PHASE_TEXT
    blo .Ltext
    bhi .Ltag
.endm

/* The tag, h0 .. h3, to r0. */
.macro store_tag
    store_words r0, h0, h1, h2, h3
    b .Lwipe
.endm

/* The lengths (RFC 8439, 2.8), if this is the last part. */
.macro authenticate_lengths
    ldr r0, [r1, #ARGS]
    tst r11, #SEALANE_FLAG_LAST
    beq .Lsave
    ldr r7, [r0, #SEALANE_ARG_AD_BYTES]
    ldr r8, [r0, #SEALANE_ARG_AD_BYTES + 4]
    ldr r9, [r0, #SEALANE_ARG_TOTAL]
    ldr r11, [r0, #SEALANE_ARG_TOTAL + 4]
    add r12, r1, #TAIL
    stmia r12, {r7, r8, r9, r11}
    mov r12, #PHASE_LENGTHS
    str r12, [r1, #PHASE]
    b .Ltail
.endm
