/* Key expansion (FIPS 197, 5.2) around its SubWord, for all AES kernels of arm64. The files that include it name word,
 * the last one made; words, of the key; phase, the next word's number modulo words; rcon; next, where it goes; end;
 * t1d and t3d.
 */

/* \old: the key's first word. */
.macro expand_begin key_at, rounds_of, old
    sub words, \rounds_of, #6
    add \old, \key_at, #SEALANE_GCM_KEY_SCHEDULE
    add next, \old, words, lsl #2
    add end, \old, \rounds_of, lsl #4
    add end, end, #16
    mov phase, #0
    mov rcon, #1
    mov t3d, #0x1b
.endm

/* RotWord and the round constant. */
.macro rotate_and_add
    eor word, rcon, word, ror #8
    lsl rcon, rcon, #1
    cmp rcon, #256
    csel rcon, t3d, rcon, eq
.endm

/* The next word: word, plus the one that many words back. */
.macro expand_word_end old
.Lword_add:
    ldr t1d, [\old], #4
    add phase, phase, #1
    cmp phase, words
    csel phase, xzr, phase, eq
    eor word, word, t1d
    str word, [next], #4
    cmp next, end
    b.lo .Lword
.endm
