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
#include "aes_key.h"
.macro expand_key
    expand_begin the_key, x22, t0
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
    rotate_and_add
    expand_word_end t0
.endm
