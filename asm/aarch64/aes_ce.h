/* AES (FIPS 197) with the crypto extensions: what the kernels that have it do alike. */

.macro aes_round x, round_key
    aese \x\().16b, \round_key\().16b
    aesmc \x\().16b, \x\().16b
.endm

/* The key schedule (5.2) word by word; SubWord is a last round's SubBytes, four times the same word. The key is at
 * the_key, its rounds are in x22; t0, t1 and t3 are used, and v0 and v1. */
#define word w4        /* the last one made */
#define words x5       /* of the key */
#define phase x6
#define rcon w7
#define next x8        /* to be made */
#define end x9
.macro expand_key
    sub words, x22, #6
    add t0, the_key, #SEALANE_GCM_KEY_SCHEDULE
    add next, t0, words, lsl #2
    add end, t0, x22, lsl #4
    add end, end, #16
    mov phase, #0
    mov rcon, #1
    mov t3d, #0x1b
    movi v1.16b, #0
    ldur word, [next, #-4]
.Lword:
    cbz phase, .Lword_rotate
    cmp words, #8
    ccmp phase, #4, #0, eq
    b.ne .Lword_add
    dup v0.4s, word
    aese v0.16b, v1.16b
    umov word, v0.s[0]
    b .Lword_add
.Lword_rotate:
    dup v0.4s, word
    aese v0.16b, v1.16b
    umov word, v0.s[0]
    eor word, rcon, word, ror #8
    lsl rcon, rcon, #1
    cmp rcon, #256
    csel rcon, t3d, rcon, eq
.Lword_add:
    ldr t1d, [t0], #4
    add phase, phase, #1
    cmp phase, words
    csel phase, xzr, phase, eq
    eor word, word, t1d
    str word, [next], #4
    cmp next, end
    b.lo .Lword
.endm
