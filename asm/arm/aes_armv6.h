/* AES (FIPS 197) in integer registers: the code that the kernels for ARMv6 share.
 *
 * Bit-sliced, two blocks at a time: a plane is a word, with bit k of row r, column c of block b at 8 r + 2 c + b.
 * ShiftRows is never executed (Adomnicai and Peyrin, "Fixslicing AES-like ciphers", TCHES 2021). After n rounds,
 * column c of row r lies at column c + n r, and MixColumns looks for it there. With a' the next row and t = a + a', a
 * column becomes 2 t + a' + t'', in which 2 t is t of the next lower plane. Round keys use the same layout.
 *
 * Kernels name where other things lie in scratch.
 */
#define PLANES 256    /* input of SubBytes */
#define SPILL 288
#define OUTPUT 384    /* of SubBytes */
#define ARGS 416
#define CONSTS 420

#include "aes_key.h"
#include "aes_sbox_armv6.h"

/* to := byte in all four bytes. */
.macro bytes to, byte
    mov \to, #\byte
    orr \to, \to, \to, lsl #8
    orr \to, \to, \to, lsl #16
.endm

#define plane r0
#define next r2
#define row_sum r3
#define sum r4
#define moved r5
#define row_sum_7 r6
#define mask r7
#define unmask r8
#define half r9
#define unhalf r11
#define round_key r12

/* Plane i after n rounds. Afterwards row_sum is the sum of the plane and its next row, and sum is the result except
 * for row_sum of plane i - 1. */
.macro mix_plane n, i
    ldr plane, [r1, #OUTPUT + 4*\i]
.if \n == 0
    eor row_sum, plane, plane, ror #8
.else
    and next, mask, plane, ror #(8 + 2*\n)
    and moved, unmask, plane, ror #(2*\n)
    orr next, next, moved
    eor row_sum, plane, next
.endif
.if \i == 7
    mov row_sum_7, row_sum
.else
    eor sum, sum, row_sum
    str sum, [r1, #PLANES + 4*(\i + 1)]
.endif
    ldr sum, [round_key, #4*\i]
.if \n == 0
    eor sum, sum, plane, ror #8
.else
    eor sum, sum, next
.endif
.if \n & 1
    and moved, half, row_sum, ror #20
    eor sum, sum, moved
    and moved, unhalf, row_sum, ror #12
    eor sum, sum, moved
.else
    eor sum, sum, row_sum, ror #16
.endif
.if \i == 0 || \i == 1 || \i == 3 || \i == 4
    eor sum, sum, row_sum_7                        /* x^8 = x^4 + x^3 + x + 1 */
.endif
.endm

/* MixColumns after n rounds, and AddRoundKey. */
.macro mix_columns n
    ldr round_key, [r1, #NEXT_KEY]
.if \n == 1
    bytes mask, 0x3f
.elseif \n == 2
    bytes mask, 0x0f
.elseif \n == 3
    bytes mask, 0x03
.endif
.if \n > 0
    mvn unmask, mask
.endif
.if \n & 1
    bytes half, 0x0f
    mvn unhalf, half
.endif
    mix_plane \n, 7
    mix_plane \n, 6
    mix_plane \n, 5
    mix_plane \n, 4
    mix_plane \n, 3
    mix_plane \n, 2
    mix_plane \n, 1
    mix_plane \n, 0
    add round_key, round_key, #32
    str sum, [r1, #PLANES]
    str round_key, [r1, #NEXT_KEY]
.endm

#undef plane
#undef next
#undef row_sum
#undef sum
#undef moved
#undef row_sum_7
#undef mask
#undef unmask
#undef half
#undef unhalf
#undef round_key

/* Bits of a and b, for which r12 is the mask, change places. */
.macro swap_bits n, a, b
    eor r11, \b, \a, lsr #\n
    and r11, r11, r12
    eor \b, \b, r11
    eor \a, \a, r11, lsl #\n
.endm

/* Columns of both blocks, interleaved, to planes, or back: r0, r2 .. r8. */
.macro transpose
    bytes r12, 0x55
    swap_bits 1, r0, r2
    swap_bits 1, r3, r4
    swap_bits 1, r5, r6
    swap_bits 1, r7, r8
    bytes r12, 0x33
    swap_bits 2, r0, r3
    swap_bits 2, r2, r4
    swap_bits 2, r5, r7
    swap_bits 2, r6, r8
    bytes r12, 0x0f
    swap_bits 4, r0, r5
    swap_bits 4, r2, r6
    swap_bits 4, r3, r7
    swap_bits 4, r4, r8
.endm

/* Round keys to KEYS, from two planes in a word; r4: key. */
.macro spread_round_keys
    add r5, r1, #KEYS
    ldr r6, [r4, #SEALANE_GCM_KEY_ROUNDS]
    add r7, r4, #SEALANE_GCM_KEY_SCHEDULE
    mov r6, r6, lsl #2
    add r6, r6, #4
    bytes r12, 0x55
.Lspread_two:
    ldr r8, [r7], #4
    subs r6, r6, #1
    and r9, r12, r8
    and r11, r12, r8, lsr #1
    orr r9, r9, r9, lsl #1
    orr r11, r11, r11, lsl #1
    str r9, [r5], #4
    str r11, [r5], #4
    bne .Lspread_two
.endm

/* Two planes += those at r12. */
.macro add_two first, second
    ldmia r12!, {r9, r11}
    eor \first, \first, r9
    eor \second, \second, r11
.endm

/* Planes in r0, r2 .. r8 += those at r12. */
.macro add_planes
    add_two r0, r2
    add_two r3, r4
    add_two r5, r6
    add_two r7, r8
.endm

/* Moves rows to their places after 10 and 14 rounds. */
.macro straighten
    mov r12, #0x0f00
    orr r12, r12, r12, lsl #16              /* rows 1 and 3 are two columns off */
    .irp plane, r0, r2, r3, r4, r5, r6, r7, r8
    eor r11, \plane, \plane, lsr #4
    and r11, r11, r12
    eor \plane, \plane, r11
    eor \plane, \plane, r11, lsl #4
    .endr
.endm

/* Columns of both blocks, interleaved in r0, r2 .. r8, to planes, with the first round key. */
.macro begin_rounds
    transpose
    add r12, r1, #KEYS
    add_planes
    str r12, [r1, #NEXT_KEY]
    add r9, r1, #PLANES
    stmia r9, {r0, r2, r3, r4, r5, r6, r7, r8}
.endm

/* The output of the last SubBytes to columns, with the last round key. ROUNDS is 0 if all rows are where they
 * belong. */
.macro end_rounds
    add r12, r1, #OUTPUT
    ldmia r12, {r0, r2, r3, r4, r5, r6, r7, r8}
    ldr r12, [r1, #NEXT_KEY]
    add_planes
    ldr r9, [r1, #ROUNDS]
    cmp r9, #0
    beq .Lin_place
    straighten
.Lin_place:
    transpose
.endm

/* Wipes scratch, from PLANES to END. */
.macro wipe
    mov r4, #0
    mov r5, #0
    mov r6, #0
    mov r7, #0
    add r3, r1, #PLANES
    mov r2, #(END - PLANES)/32
.Lwipe_32:
    stmia r3!, {r4, r5, r6, r7}
    subs r2, r2, #1
    stmia r3!, {r4, r5, r6, r7}
    bne .Lwipe_32
.endm

/* Key expansion (5.2). r0: arguments. Round keys get the layout of the rounds, two planes in a word. SubBytes uses
 * all registers, so the state of the expansion is kept in scratch. */
.macro expand_key
    ldr r4, [r0, #SEALANE_ARG_KEY]
    add r5, r1, #WORDS
    ldr r6, [r4, #SEALANE_GCM_KEY_ROUNDS]
    add r7, r4, #SEALANE_GCM_KEY_SCHEDULE
    sub r8, r6, #6                          /* words of key */
    expand_begin
    expand_word_begin
    add r0, r1, #IN
    stmia r0, {r5, r7, r8, r9}
    bytes r11, 1
    add r3, r1, #PLANES
    .irp bit, 0, 1, 2, 3, 4, 5, 6, 7
    and r0, r11, r12, lsr #\bit
    str r0, [r3], #4
    .endr
    sub_bytes
    bytes r11, 1
    bytes r12, 0x63
    add r3, r1, #OUTPUT
    .irp bit, 0, 1, 2, 3, 4, 5, 6, 7
    ldr r0, [r3], #4
    and r0, r0, r11
    eor r12, r12, r0, lsl #\bit
    .endr
    add r0, r1, #IN
    ldmia r0, {r5, r7, r8, r9}
    cmp r9, #0
    bne .Lexpand_plain
    ldr r2, [r1, #CONSTS]
    ldrb r0, [r2], #1
    str r2, [r1, #CONSTS]
    eor r12, r12, r0
    expand_word_end

/* Puts round keys in the layout of the rounds: rows are moved, and a word has two planes. SubBytes leaves its
 * constant to the key that follows. */
    ldr r0, [r1, #ARGS]
    ldr r4, [r0, #SEALANE_ARG_KEY]
    ldr r6, [r4, #SEALANE_GCM_KEY_ROUNDS]
    add r4, r4, #SEALANE_GCM_KEY_SCHEDULE
    add r5, r1, #WORDS
    mov r9, #0                              /* n */
    str r6, [r1, #ROUNDS]
    str r4, [r1, #NEXT_KEY]
    str r5, [r1, #MESSAGE]
.Lexpand_rows:
    ldr r5, [r1, #MESSAGE]
    add r3, r1, #PLANES
    mov r11, #0                             /* 4 column + row */
.Lexpand_byte:
    and r6, r11, #3
    mul r7, r6, r9
    mov r8, r11, lsr #2
    sub r8, r8, r7
    and r8, r8, #3
    add r6, r6, r8, lsl #2
    ldrb r6, [r5, r6]
    add r11, r11, #1
    strb r6, [r3], #1
    cmp r11, #16
    bne .Lexpand_byte
    add r5, r5, #16
    str r9, [r1, #COUNTER]
    str r5, [r1, #MESSAGE]
    ldr r0, [r1, #PLANES]
    ldr r3, [r1, #PLANES + 4]
    ldr r5, [r1, #PLANES + 8]
    ldr r7, [r1, #PLANES + 12]
    mov r2, r0
    mov r4, r3
    mov r6, r5
    mov r8, r7
    transpose
    ldr r9, [r1, #COUNTER]
    cmp r9, #0
    mvnne r0, r0
    mvnne r2, r2
    mvnne r6, r6
    mvnne r7, r7
    bytes r12, 0x55
    and r0, r0, r12
    and r2, r2, r12
    and r3, r3, r12
    and r4, r4, r12
    and r5, r5, r12
    and r6, r6, r12
    and r7, r7, r12
    and r8, r8, r12
    ldr r12, [r1, #NEXT_KEY]
    orr r0, r0, r2, lsl #1
    orr r3, r3, r4, lsl #1
    orr r5, r5, r6, lsl #1
    orr r7, r7, r8, lsl #1
    str r0, [r12], #4
    str r3, [r12], #4
    str r5, [r12], #4
    str r7, [r12], #4
    str r12, [r1, #NEXT_KEY]
    ldr r6, [r1, #ROUNDS]
    add r9, r9, #1
    cmp r9, r6
    bls .Lexpand_rows
.endm
