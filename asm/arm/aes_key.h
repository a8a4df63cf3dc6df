/* Key expansion (FIPS 197, 5.2) around its SubBytes, for all AES kernels of 32-bit ARM. r12: the word before the next,
 * which is made at r5; r7: words to make, r8: words of the key, r9: the next one's number modulo r8.
 */

/* Before SubBytes of r12, to .Lexpand_sub, for the words that have it; of keys of 256 bits those in the middle, too. */
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

/* r12, with the round constant added where r9 is 0, and the word r8 before make the next one. */
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
