/* Key expansion (FIPS 197, 5.2) around its SubBytes, for all AES kernels of 32-bit ARM. r12 is the word before the
 * next one, which is made at r5. r7: words to make; r8: words of the key; r9: the next word's number modulo r8.
 */

/* The key, at r7, to r5; r6: rounds. After it r9 is 0, the number of the first word to make. */
.macro expand_begin
    mov r9, r8
.Lexpand_key:
    ldr r12, [r7], #4
    subs r9, r9, #1
    str r12, [r5], #4
    bne .Lexpand_key
    add r7, r6, #1
    rsb r7, r8, r7, lsl #2                  /* words to make */
.endm

/* Goes to .Lexpand_sub for words that have SubBytes; with keys of 256 bits, these include the words in the middle. */
.macro expand_word_begin
.Lexpand_word:
    cmp r9, #0
    moveq r12, r12, ror #8                  /* RotWord */
    beq .Lexpand_sub
    cmp r8, #8
    cmpeq r9, #4
    bne .Lexpand_plain
.Lexpand_sub:
.endm

/* r12, with the round constant added where r9 is 0, and the word r8 words back make the next word. */
.macro expand_word_end
.Lexpand_plain:
    ldr r3, [r5, -r8, lsl #2]
    add r9, r9, #1
    eor r12, r12, r3
    str r12, [r5], #4
    cmp r9, r8
    moveq r9, #0
    subs r7, r7, #1
    bne .Lexpand_word
.endm
