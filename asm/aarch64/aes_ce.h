/* AES (FIPS 197) with the crypto extensions: the code that its kernels share. */

.macro aes_round x, round_key
    aese \x\().16b, \round_key\().16b
    aesmc \x\().16b, \x\().16b
.endm

/* \do with each of the states 0 .. n - 1, and y. */
.macro for_states n, do, y
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    .if \i < \n
    \do v\i, \y
    .endif
    .endr
.endm

/* The key schedule (5.2) by vectors. Each word of a vector is SubWord of the word before the vector, plus the
 * previous vector's words up to the same place. SubWord is SubBytes in a last round of four copies of the word.
 * the_key points to the key, and x22 is its number of rounds. t0, t1, t2 and v0 to v7 are used. Afterwards `end` is
 * the address after the last round key.
 */
#define next x8        /* to be made */
#define end x9
#define rcon w11
#define rcon_over w12  /* the constant after 0x80 */
#define zero v1
#define word v2        /* four times */
#define rotating v7    /* for tbl: RotWord of the last word, four times */

/* word := SubWord(word). x := the words that follow its own, from x, word and, if round_constant, rcon. */
.macro expand_vector x, round_constant=0
    ext v5.16b, zero.16b, \x\().16b, #8
    ext v6.16b, zero.16b, \x\().16b, #4
    aese word.16b, zero.16b
    ext v4.16b, zero.16b, \x\().16b, #12
    eor v5.16b, v5.16b, v6.16b
    .if \round_constant
    dup v6.4s, rcon
    lsl rcon, rcon, #1
    eor \x\().16b, \x\().16b, v4.16b
    cmp rcon, #256
    eor v5.16b, v5.16b, word.16b
    csel rcon, rcon_over, rcon, eq
    eor \x\().16b, \x\().16b, v6.16b
    .else
    eor \x\().16b, \x\().16b, v4.16b
    eor v5.16b, v5.16b, word.16b
    .endif
    eor \x\().16b, \x\().16b, v5.16b
.endm

.macro expand_rotated x, before
    tbl word.16b, {\before\().16b}, rotating.16b
    expand_vector \x, 1
.endm

.macro expand_key
    add next, the_key, #SEALANE_GCM_KEY_SCHEDULE + 16
    add end, next, x22, lsl #4
    mov t0d, #0x0e0d
    ldur q0, [next, #-16]
    movk t0d, #0x0c0f, lsl #16
    mov rcon, #1
    dup rotating.4s, t0d
    mov rcon_over, #0x1b
    movi zero.16b, #0
    tbz x22, #2, .Lexpand_128
    tbz x22, #1, .Lexpand_192
    ldr q3, [next], #16
.Lexpand_256:
    expand_rotated v0, v3
    str q0, [next], #16
    cmp next, end
    b.eq .Lexpanded
    dup word.4s, v0.s[3]
    expand_vector v3
    str q3, [next], #16
    b .Lexpand_256
.Lexpand_192:
    movi v3.16b, #8
    sub rotating.16b, rotating.16b, v3.16b
    ldr d3, [next], #8
.Lexpand_six:
    expand_rotated v0, v3
    str q0, [next], #16
    cmp next, end
    b.eq .Lexpanded
    shl v4.2d, v3.2d, #32
    dup word.4s, v0.s[3]
    eor v3.16b, v3.16b, v4.16b
    eor v3.16b, v3.16b, word.16b
    str d3, [next], #8
    b .Lexpand_six
.Lexpand_128:
    expand_rotated v0, v0
    str q0, [next], #16
    cmp next, end
    b.ne .Lexpand_128
.Lexpanded:
.endm
