/* AES (FIPS 197) with the AES instructions of ARMv8 in 32-bit mode: the code that its kernels share. */

#include "aes_key.h"

/* A round of eight states. */
.macro round key
    .irp block, q0, q1, q2, q3, q4, q5, q6, q7
    aese.8 \block, \key
    aesmc.8 \block, \block
    .endr
.endm

/* Key expansion (5.2), in place; r0: arguments, r4: then the key, r5: then its end, r6: then the rounds. The round
 * constants are at CONST_RCON. */
.macro expand_key
    ldr r4, [r0, #SEALANE_ARG_KEY]
    add r11, r2, #CONST_RCON
    ldr r6, [r4, #SEALANE_GCM_KEY_ROUNDS]
    add r5, r4, #SEALANE_GCM_KEY_SCHEDULE
    sub r8, r6, #6                          /* words of key */
    add r5, r5, r8, lsl #2
    add r7, r6, #1
    rsb r7, r8, r7, lsl #2                  /* words to make */
    ldr r12, [r5, #-4]
    mov r9, #0
    vmov.i8 q1, #0
    expand_word_begin
    vdup.32 q0, r12
    aese.8 q0, q1                           /* four equal columns: ShiftRows does nothing */
    cmp r9, #0
    vmov.32 r12, d0[0]
    ldrbeq r3, [r11], #1
    eoreq r12, r12, r3
    expand_word_end
.endm
