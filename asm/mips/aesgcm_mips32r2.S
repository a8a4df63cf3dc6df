/* AES-GCM (NIST SP 800-38D) in integer registers: makes a key, or seals or opens one packet or a part of one, in one
 * call.
 *
 *     void sealane_aesgcm_mips32r2(const args *a, void *scratch, const void *consts);
 *
 * CPU        MIPS32 release 2 (rotr, wsbh, ins; maddu in HI and LO), either byte order, no release 6
 * args       asm/args.h; writes OUT[BYTES] and, by flags, TAG[16], STATE[64] or KEY[960]
 * scratch    3104 bytes behind the saved registers, wiped before the return; stack 0
 * consts     sealane_aesgcm_mips32r2_constants
 * registers  all but $23, $26 to $31; $5 holds scratch throughout
 * branches   and addresses depend on BYTES, AD_BYTES, FLAGS and the number of rounds only; each is followed by its
 *            delay slot, which is indented
 *
 * AES (FIPS 197), bit-sliced, eight blocks at a time: word 8 r + i has bit i of row r, that of column c in block b at
 * 8 c + b. ShiftRows rotates words, and the rows that MixColumns adds are in words of their own: with a' the next row
 * and t = a + a', a column becomes 2 t + a' + t''.
 *
 * GHASH (6.4): see ../ghash.h. Each of the nine products of words is a sum over POWERS blocks, made of 25 sums of
 * integer products, of every fifth bit of one word and every fifth of the other. Those of five whose bits fall in the
 * same places are added. A column is 31 at most, but for one five, which is done in two parts: no carry reaches the
 * next column, and the lowest bit of a sum is the sum modulo 2.
 */
#include "../asm.S"

#if defined(__mips__) && defined(_ABIO32) && _MIPS_SIM == _ABIO32 && __mips_isa_rev >= 2 && __mips_isa_rev < 6

isa mips32r2

#include "words.h"

#define POWERS 4  /* of the hash key; a power of 2 */
#define FACTOR 24 /* bytes: a block's word, and every fifth bit of the word of its power */
#define COLUMN 96 /* the same word of POWERS blocks */

/* Scratch. */
#define STATE 256     /* word 8 r + i */
#define KEYS 384      /* the same of each round key */
#define WORDS KEYS    /* set-up: the key schedule */
#define TABLE 2304    /* nine columns */
#define FIFTHS 3168   /* five masks, from that of bit 0 on */
#define Y 3188        /* GHASH so far, lowest word first */
#define MASK 3204     /* encrypted J0 */
#define TAIL 3220     /* a block for GHASH */
#define STREAM 3236   /* a block of keystream */
#define ARGS 3252
#define FLAGS 3256
#define IN 3260
#define OUT 3264
#define LEFT 3268     /* bytes of text left */
#define AD 3272
#define AD_LEFT 3276  /* bytes of associated data left */
#define COUNTER 3280  /* of the next eight blocks */
#define UNUSED 3284   /* address of the next block of keystream, among the first eight words */
#define ROUNDS 3288   /* left */
#define NEXT_KEY 3292
#define PASS 3296     /* what the keystream is for */
#define PHASE 3300    /* what GHASH goes on with */
#define SLOT 3304     /* address of the next block's factors */
#define START 3308    /* of those of the first block of these POWERS */
#define LIMIT 3312    /* of those behind the column's last */
#define POWER 3316    /* set-up: where the next power goes */
#define NEXT_WORD 3320 /* set-up: of the schedule */
#define WORDS_LEFT 3324
#define PLACE 3328    /* the word's number modulo those of the key */
#define KEY_WORDS 3332
#define CONSTANT 3336 /* of the round */
#define END 3360

#define LAST_SLOT TABLE + COLUMN - FACTOR

#define PHASE_AD 0
#define PHASE_TEXT 1
#define PHASE_LENGTHS 2
#define PHASE_SETUP 3

#define PASS_KEYSTREAM 0
#define PASS_J0 1
#define PASS_SETUP 2

#define x0 $8
#define x1 $9
#define x2 $10
#define x3 $11
#define x4 $12
#define x5 $13
#define x6 $14
#define x7 $15
#define x8 $16
#define x9 $17
#define x10 $18
#define x11 $19
#define x12 $20
#define x13 $21
#define x14 $22
#define x15 $24
#define x16 $25
#define x17 $1
#define x18 $2
#define x19 $3
#define x20 $7
#define x21 $6
#define x22 $4

#include "aes_sbox_mips32r2.h"

.macro constant x, value
    lui \x, (\value) >> 16
    ori \x, \x, (\value) & 0xffff
.endm

/* The same byte four times. */
.macro bytes x, byte
    constant \x, 0x01010101 * \byte
.endm

.macro four op, at, from, r0, r1, r2, r3
    \op \r0, \at(\from)
    \op \r1, \at + 4(\from)
    \op \r2, \at + 8(\from)
    \op \r3, \at + 12(\from)
.endm

/* ---- AES ---- */

/* Bits of a and b, for which mask is the mask, change places. */
.macro swap_bits n, a, b, mask, t
    srl \t, \a, \n
    xor \t, \t, \b
    and \t, \t, \mask
    xor \b, \b, \t
    sll \t, \t, \n
    xor \a, \a, \t
.endm

/* Of x0 .. x7: bit k of each byte of word i and bit i of that of word k change places. */
.macro transpose
    bytes x8, 0x55
    swap_bits 1, x0, x1, x8, x9
    swap_bits 1, x2, x3, x8, x9
    swap_bits 1, x4, x5, x8, x9
    swap_bits 1, x6, x7, x8, x9
    bytes x8, 0x33
    swap_bits 2, x0, x2, x8, x9
    swap_bits 2, x1, x3, x8, x9
    swap_bits 2, x4, x6, x8, x9
    swap_bits 2, x5, x7, x8, x9
    bytes x8, 0x0f
    swap_bits 4, x0, x4, x8, x9
    swap_bits 4, x1, x5, x8, x9
    swap_bits 4, x2, x6, x8, x9
    swap_bits 4, x3, x7, x8, x9
.endm

/* Byte k of word i and byte i of word k change places. */
.macro transpose_bytes w0, w1, w2, w3
    constant x4, 0x00ff00ff
    swap_bits 8, \w0, \w1, x4, x5
    swap_bits 8, \w2, \w3, x4, x5
    srl x4, \w0, 16
    srl x5, \w1, 16
    ins \w0, \w2, 16, 16
    ins \w1, \w3, 16, 16
    ins \w2, x4, 0, 16
    ins \w3, x5, 0, 16
.endm

/* x3 .. x0 = the block of keystream at \from, as it lies in memory. */
.macro keystream_block from
#if defined(__MIPSEB__)
    lw x0, 0(\from)
    lw x1, 32(\from)
    lw x2, 64(\from)
    lw x3, 96(\from)
#else
    lw x3, 0(\from)
    lw x2, 32(\from)
    lw x1, 64(\from)
    lw x0, 96(\from)
#endif
    transpose_bytes x3, x2, x1, x0
.endm

#define a0 x0
#define a1 x1
#define a2 x2
#define a3 x3
#define t0 x4
#define t1 x5
#define t2 x6
#define t3 x7
#define top0 x8  /* t of plane 7 */
#define top1 x9
#define top2 x10
#define top3 x11
#define sum0 x12 /* all of plane i's but t of plane i - 1 */
#define sum1 x13
#define sum2 x14
#define sum3 x15
#define k0 x16
#define k1 x17
#define k2 x18
#define k3 x19
#define round_key x20

.macro mix_plane i
    lw a0, STATE + 4*\i(scratch)
    lw a1, STATE + 32 + 4*\i(scratch)
    lw a2, STATE + 64 + 4*\i(scratch)
    lw a3, STATE + 96 + 4*\i(scratch)
    rotr a1, a1, 8
    rotr a2, a2, 16
    rotr a3, a3, 24
    lw k0, 4*\i(round_key)
    lw k1, 32 + 4*\i(round_key)
    lw k2, 64 + 4*\i(round_key)
    lw k3, 96 + 4*\i(round_key)
    xor t0, a0, a1
    xor t1, a1, a2
    xor t2, a2, a3
    xor t3, a3, a0
.if \i == 7
    or top0, t0, $0
    or top1, t1, $0
    or top2, t2, $0
    or top3, t3, $0
.else
    xor sum0, sum0, t0
    xor sum1, sum1, t1
    xor sum2, sum2, t2
    xor sum3, sum3, t3
    store_plane (\i + 1)
.endif
    xor sum0, a1, t2
    xor sum1, a2, t3
    xor sum2, a3, t0
    xor sum3, a0, t1
    xor sum0, sum0, k0
    xor sum1, sum1, k1
    xor sum2, sum2, k2
    xor sum3, sum3, k3
.if \i == 0 || \i == 1 || \i == 3 || \i == 4
    xor sum0, sum0, top0                           /* x^8 = x^4 + x^3 + x + 1 */
    xor sum1, sum1, top1
    xor sum2, sum2, top2
    xor sum3, sum3, top3
.endif
.endm

.macro store_plane i
    sw sum0, STATE + 4*\i(scratch)
    sw sum1, STATE + 32 + 4*\i(scratch)
    sw sum2, STATE + 64 + 4*\i(scratch)
    sw sum3, STATE + 96 + 4*\i(scratch)
.endm

/* ShiftRows, MixColumns and AddRoundKey. */
.macro mix_columns
    .irp i, 7, 6, 5, 4, 3, 2, 1, 0
    mix_plane \i
    .endr
    store_plane 0
.endm

#undef a0
#undef a1
#undef a2
#undef a3
#undef t0
#undef t1
#undef t2
#undef t3
#undef k0
#undef k1
#undef k2
#undef k3

.macro eight op, at, from
    four \op, \at, \from, x0, x1, x2, x3
    four \op, \at + 16, \from, x4, x5, x6, x7
.endm

.macro last_words r, i, x, y
    lw x8, 32*\r + 4*\i(round_key)
    lw x9, 32*\r + 4*\i + 4(round_key)
.if \r > 0
    rotr \x, \x, 8*\r
    rotr \y, \y, 8*\r
.endif
    xor \x, \x, x8
    xor \y, \y, x9
.endm

/* ShiftRows, and AddRoundKey; then word 8 r + b has row r of block b. */
.macro last_row r
    eight lw, STATE + 32*\r, scratch
    last_words \r, 0, x0, x1
    last_words \r, 2, x2, x3
    last_words \r, 4, x4, x5
    last_words \r, 6, x6, x7
    transpose
    eight sw, STATE + 32*\r, scratch
.endm

/* Plane i of the counters, \x, to the last column, and the first round key and the nonce; x8: mask of a column. */
.macro counter_plane i, x
    lw x10, KEYS + 4*\i(scratch)
    lw x11, KEYS + 32 + 4*\i(scratch)
    lw x12, KEYS + 64 + 4*\i(scratch)
    lw x13, KEYS + 96 + 4*\i(scratch)
    and x14, \x, x8
    sll x15, \x, 8
    sll x16, \x, 16
    sll x17, \x, 24
    and x15, x15, x8
    and x16, x16, x8
    xor x10, x10, x14
    xor x11, x11, x15
    xor x12, x12, x16
    xor x13, x13, x17
    sw x10, STATE + 4*\i(scratch)
    sw x11, STATE + 32 + 4*\i(scratch)
    sw x12, STATE + 64 + 4*\i(scratch)
    sw x13, STATE + 96 + 4*\i(scratch)
.endm

/* Bit i of row r of a round key, \x, of all columns, to all blocks; x8: 0x01010101. */
.macro spread_bit r, i, x, t
.if \i > 0
    srl x9, \x, \i
    and x9, x9, x8
.else
    and x9, \x, x8
.endif
    sll \t, x9, 8
    subu \t, \t, x9
    sw \t, 32*\r + 4*\i(round_key)
.endm

.macro spread_row r, x
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    spread_bit \r, \i, \x, x10
    .endr
.endm

/* Bit i of \x's bytes to row 0, and back from \y to \x; x9: 0x01010101. */
.macro word_to_plane i, x
    srl x10, \x, \i
    and x10, x10, x9
    sw x10, STATE + 4*\i(scratch)
.endm

.macro plane_to_word i, x, y
    sll \y, \y, \i
    xor \x, \x, \y
.endm

/* ---- GHASH ---- */

#define factors x22 /* of a block */
#define d0 x0       /* every fifth bit of its word, from bit i on */
#define d1 x1
#define d2 x2
#define d3 x3
#define d4 x4
#define e0 x5       /* of the word of its power */
#define e1 x6
#define e2 x7
#define e3 x8
#define e4 x9
#define low0 x10    /* sums of products for bit i */
#define low1 x11
#define low2 x12
#define low3 x13
#define low4 x14
#define high0 x15
#define high1 x16
#define high2 x17
#define high3 x18
#define high4 x19
#define low x20     /* the last product, which comes 5 cycles after mflo */
#define high x21

/* The last product to \low_sum and \high_sum. */
.macro take_product low_sum, high_sum
    xor \low_sum, \low_sum, low
    xor \high_sum, \high_sum, high
    mflo low
    mfhi high
.endm

/* The columns of all sums that belong to their bits, by masks, in \s0. */
.macro join_fifths s0, s1, s2, s3, s4, m0, m1, m2, m3, m4
    and \s0, \s0, \m0
    and \s1, \s1, \m1
    and \s2, \s2, \m2
    or \s0, \s0, \s1
    and \s3, \s3, \m3
    or \s0, \s0, \s2
    and \s4, \s4, \m4
    or \s0, \s0, \s3
    or \s0, \s0, \s4
.endm

/* Three products of words, low, high, of sums, to l0, h0, l1, h1, the product of two pairs of words. */
.macro join_pairs l0, h0, l1, h1, l2, h2
    xor \h0, \h0, \l1
    xor \l2, \l2, \l0
    xor \h2, \h2, \h1
    xor \l1, \h0, \h2
    xor \h0, \h0, \l2
.endm

/* Adds w (x^127 + x^126 + x^121 + 1) to the words that are three and four places behind w, the lowest that is left. */
.macro reduce w, third, fourth, t
    sll \t, \w, 31
    xor \third, \third, \t
    sll \t, \w, 30
    xor \third, \third, \t
    sll \t, \w, 25
    xor \third, \third, \t
    srl \t, \w, 1
    xor \fourth, \fourth, \w
    xor \fourth, \fourth, \t
    srl \t, \w, 2
    xor \fourth, \fourth, \t
    srl \t, \w, 7
    xor \fourth, \fourth, \t
.endm

/* Where the low and the high word of a column's product go. */
#define RESULT_LOW LAST_SLOT
#define RESULT_HIGH LAST_SLOT - FACTOR

.macro load_results column, l0, h0, l1, h1, l2, h2
    lw \l0, RESULT_LOW + COLUMN*\column(scratch)
    lw \h0, RESULT_HIGH + COLUMN*\column(scratch)
    lw \l1, RESULT_LOW + COLUMN*(\column + 1)(scratch)
    lw \h1, RESULT_HIGH + COLUMN*(\column + 1)(scratch)
    lw \l2, RESULT_LOW + COLUMN*(\column + 2)(scratch)
    lw \h2, RESULT_HIGH + COLUMN*(\column + 2)(scratch)
.endm

/* Every fifth bit of \x to the slot at x4; x10 .. x14: masks. */
.macro store_fifths column, x
    and x15, \x, x10
    and x16, \x, x11
    and x17, \x, x12
    and x18, \x, x13
    and x19, \x, x14
    four sw, \column*COLUMN + 4, x4, x15, x16, x17, x18
    sw x19, \column*COLUMN + 20(x4)
.endm

/* ---- the kernel ---- */

scratch_end END
function sealane_aesgcm_mips32r2
    lw x0, SEALANE_ARG_FLAGS + LOW(args)
    sw args, ARGS(scratch)
    four lw, 0, consts, x1, x2, x3, x4
    lw x5, 16(consts)
    four sw, FIFTHS, scratch, x1, x2, x3, x4
    sw x5, FIFTHS + 16(scratch)
    sw x0, FLAGS(scratch)
    andi x1, x0, SEALANE_FLAG_SETUP
    bne x1, $0, .Lexpand
      andi x1, x0, SEALANE_FLAG_FIRST

/* The first counter; the nonce's rows. */
    bne x1, $0, .Lnonce
      lw x7, SEALANE_ARG_NONCE + POINTER(args)
    lw x7, SEALANE_ARG_STATE + POINTER(args)
    or x1, $0, $0
    b .Lload_counter
      addiu x7, x7, SEALANE_GCM_STATE_COUNTER
.Lnonce:
    andi x1, x0, SEALANE_FLAG_NONCE
.Lload_counter:
    bne x1, $0, .Lgot_counter
      addiu x6, $0, 1
    load_any x6, 12, x7
    big x6
.Lgot_counter:
    load_any x0, 0, x7
    load_any x1, 4, x7
    load_any x2, 8, x7
    sw x6, COUNTER(scratch)
    little x0
    little x1
    little x2
    or x3, $0, $0
    transpose_bytes x0, x1, x2, x3

/* Round keys, the first with x0 .. x3 added. */
.Lspread:
    lw x7, SEALANE_ARG_KEY + POINTER(args)
    addiu round_key, scratch, KEYS
    lw x4, SEALANE_GCM_KEY_ROUNDS + LOW(x7)
    addiu x7, x7, SEALANE_GCM_KEY_SCHEDULE
    bytes x8, 0x01
.Lspread_key:
    four lw, 0, x7, x14, x15, x16, x17
    addiu x7, x7, 16
    xor x0, x0, x14
    xor x1, x1, x15
    xor x2, x2, x16
    xor x3, x3, x17
    spread_row 0, x0
    spread_row 1, x1
    spread_row 2, x2
    spread_row 3, x3
    addiu x4, x4, -1
    .irp x, x0, x1, x2, x3
    or \x, $0, $0
    .endr
    bgez x4, .Lspread_key
      addiu round_key, round_key, 128
    lw x0, FLAGS(scratch)
    addiu x4, scratch, TABLE
    andi x1, x0, SEALANE_FLAG_SETUP
    bne x1, $0, .Lpass
      addiu x1, $0, PASS_SETUP

/* Powers of the hash key, the highest first. */
    lw x5, SEALANE_ARG_KEY + POINTER(args)
    addiu x5, x5, SEALANE_GCM_KEY_TABLE
.Lpowers:
    four lw, FIFTHS, scratch, x10, x11, x12, x13
    lw x14, FIFTHS + 16(scratch)
    addiu x6, scratch, TABLE + COLUMN
.Lpower:
    four lw, 0, x5, x0, x1, x2, x3
    addiu x5, x5, 16
    store_fifths 0, x0
    store_fifths 1, x1
    xor x7, x0, x1
    store_fifths 2, x7
    store_fifths 3, x2
    store_fifths 4, x3
    xor x7, x2, x3
    store_fifths 5, x7
    xor x0, x0, x2
    store_fifths 6, x0
    xor x1, x1, x3
    store_fifths 7, x1
    xor x7, x0, x1
    store_fifths 8, x7
    addiu x4, x4, FACTOR
    bne x4, x6, .Lpower
      lw x0, FLAGS(scratch)
    andi x1, x0, SEALANE_FLAG_SETUP
    bne x1, $0, .Lnext_power
      lw x1, SEALANE_ARG_BYTES + LOW(args)

/* x3: blocks to authenticate. */
    lw x2, SEALANE_ARG_IN + POINTER(args)
    lw x3, SEALANE_ARG_OUT + POINTER(args)
    lw x4, SEALANE_ARG_AD + POINTER(args)
    sw x1, LEFT(scratch)
    sw x2, IN(scratch)
    sw x3, OUT(scratch)
    sw x4, AD(scratch)
    addiu x3, x1, 15
    andi x2, x0, SEALANE_FLAG_FIRST
    beq x2, $0, .Lcontinue
      srl x3, x3, 4
    lw x1, SEALANE_ARG_AD_BYTES + LOW(args)
    four sw, Y, scratch, $0, $0, $0, $0
    addiu x4, x1, 15
    srl x4, x4, 4
    sw x1, AD_LEFT(scratch)
    b .Lblocks
      addu x3, x3, x4
.Lcontinue:
    lw x7, SEALANE_ARG_STATE + POINTER(args)
    addiu x6, scratch, STATE + 32
    sw x6, UNUSED(scratch)
    .irp at, 0, 4, 8, 12
    load_any x4, SEALANE_GCM_STATE_Y + \at, x7
    load_any x5, SEALANE_GCM_STATE_MASK + \at, x7
    big x4
    sw x4, Y + 12 - \at(scratch)
    sw x5, MASK + \at(scratch)
    .endr

/* The first time they fill what POWERS at a time leave over. */
.Lblocks:
    andi x1, x0, SEALANE_FLAG_LAST
    srl x1, x1, 1
    addu x3, x3, x1
    nor x3, x3, $0
    addiu x3, x3, 1
    andi x3, x3, POWERS - 1
    addiu x1, $0, FACTOR
    mul x3, x3, x1
    addu x3, x3, scratch
    addiu x3, x3, TABLE
    sw x3, START(scratch)
    sw x3, SLOT(scratch)
    beq x2, $0, .Ltext
      nop
    b .Lpass
      addiu x1, $0, PASS_J0
.Lgot_j0:
    keystream_block x7
    addiu x7, x7, 4
    four sw, MASK, scratch, x3, x2, x1, x0
    sw x7, UNUSED(scratch)

/* Associated data. */
.Lad:
    lw x6, AD_LEFT(scratch)
    lw x7, AD(scratch)
    beq x6, $0, .Ltext
      sltiu x8, x6, 16
    bne x8, $0, .Lad_rest
      addiu x9, x7, 16
    addiu x6, x6, -16
    sw x9, AD(scratch)
    sw x6, AD_LEFT(scratch)
    b .Lghash_block
      addiu x4, $0, PHASE_AD
.Lad_rest:
    addiu x8, scratch, TAIL
    four sw, TAIL, scratch, $0, $0, $0, $0
    sw $0, AD_LEFT(scratch)
.Lad_byte:
    lbu x9, 0(x7)
    addiu x6, x6, -1
    addiu x7, x7, 1
    sb x9, 0(x8)
    bne x6, $0, .Lad_byte
      addiu x8, x8, 1
    b .Lghash_tail
      addiu x4, $0, PHASE_AD

/* Text, block by block. */
.Ltext:
    lw x6, LEFT(scratch)
    lw x7, UNUSED(scratch)
    addiu x8, scratch, STATE + 32
    beq x6, $0, .Llengths
      or x1, $0, $0                     /* PASS_KEYSTREAM */
    beq x7, x8, .Lpass
      lw x8, IN(scratch)
    keystream_block x7
    lw x9, OUT(scratch)
    lw x10, FLAGS(scratch)
    sltiu x11, x6, 16
    bne x11, $0, .Lpartial
      andi x10, x10, SEALANE_FLAG_OPEN
    load_any x4, 0, x8
    load_any x5, 4, x8
    load_any x11, 8, x8
    load_any x12, 12, x8
    xor x3, x3, x4
    xor x2, x2, x5
    xor x1, x1, x11
    xor x0, x0, x12
    store_any x3, 0, x9
    store_any x2, 4, x9
    store_any x1, 8, x9
    store_any x0, 12, x9
    addiu x6, x6, -16
    addiu x7, x7, 4
    addiu x8, x8, 16
    addiu x9, x9, 16
    sw x6, LEFT(scratch)
    sw x7, UNUSED(scratch)
    sw x8, IN(scratch)
    beq x10, $0, .Lsealed
      sw x9, OUT(scratch)
    or x3, x4, $0
    or x2, x5, $0
    or x1, x11, $0
    or x0, x12, $0
.Lsealed:
    b .Lghash
      addiu x4, $0, PHASE_TEXT
.Lpartial:
    four sw, STREAM, scratch, x3, x2, x1, x0
    four sw, TAIL, scratch, $0, $0, $0, $0
    sw $0, LEFT(scratch)
    addiu x7, scratch, STREAM
.Lbyte:
    lbu x0, 0(x8)
    lbu x1, 0(x7)
    addiu x8, x8, 1
    xor x1, x1, x0
    bne x10, $0, .Lopened
      sb x1, 0(x9)
    or x0, x1, $0
.Lopened:
    sb x0, TAIL - STREAM(x7)
    addiu x9, x9, 1
    addiu x6, x6, -1
    bne x6, $0, .Lbyte
      addiu x7, x7, 1
    addiu x4, $0, PHASE_TEXT

/* ---- GHASH, for x4, of TAIL, of the block at x7, or of that in x3 .. x0 as they lie in memory ---- */

.Lghash_tail:
    addiu x7, scratch, TAIL
.Lghash_block:
    load_any x3, 0, x7
    load_any x2, 4, x7
    load_any x1, 8, x7
    load_any x0, 12, x7
.Lghash:
    .irp x, x0, x1, x2, x3
    big \x
    .endr
.Lghash_numbers:
    lw x5, SLOT(scratch)
    lw x6, START(scratch)
    sw x4, PHASE(scratch)
    addiu x7, scratch, TABLE + COLUMN
    bne x5, x6, .Lstore_words
      addiu x6, x5, FACTOR
    four lw, Y, scratch, x8, x9, x10, x11
    xor x0, x0, x8
    xor x1, x1, x9
    xor x2, x2, x10
    xor x3, x3, x11
.Lstore_words:
    xor x8, x0, x1
    xor x9, x2, x3
    sw x0, 0(x5)
    sw x1, COLUMN(x5)
    xor x0, x0, x2
    xor x1, x1, x3
    sw x8, 2*COLUMN(x5)
    sw x2, 3*COLUMN(x5)
    sw x3, 4*COLUMN(x5)
    xor x8, x0, x1
    sw x9, 5*COLUMN(x5)
    sw x0, 6*COLUMN(x5)
    sw x1, 7*COLUMN(x5)
    sw x8, 8*COLUMN(x5)
    bne x6, x7, .Lnext_block
      sw x6, SLOT(scratch)

/* The last of POWERS blocks. */
    lw factors, START(scratch)
    sw x7, LIMIT(scratch)
.Lcolumn:
    .irp x, low0, low1, low2, low3, low4, high0, high1, high2, high3, high4, low, high
    or \x, $0, $0
    .endr
.Lproduct:
    lw d4, 0(factors)
    lw d0, FIFTHS(scratch)
    lw e0, 4(factors)
    lw d1, FIFTHS + 4(scratch)
    and d0, d0, d4
    lw e4, 20(factors)
    multu d0, e0
    lw d2, FIFTHS + 8(scratch)
    and d1, d1, d4
    lw e3, 16(factors)
    maddu d1, e4
    lw d3, FIFTHS + 12(scratch)
    and d2, d2, d4
    lw e1, FIFTHS + 16(scratch)
    maddu d2, e3
    lw e2, 12(factors)
    and d3, d3, d4
    and d4, d4, e1
    lw e1, 8(factors)
    maddu d3, e2
    maddu d4, e1
    take_product low1, high1                /* of the block before */
    multu d0, e4
    maddu d1, e3
    maddu d2, e2
    maddu d3, e1
    maddu d4, e0
    take_product low0, high0
    multu d0, e3
    maddu d1, e2
    maddu d2, e1
    maddu d3, e0
    maddu d4, e4
    take_product low4, high4
    multu d0, e2
    maddu d1, e1
    maddu d2, e0
    maddu d3, e4
    maddu d4, e3
    take_product low3, high3
    multu d0, e1
    lw d0, LIMIT(scratch)
    maddu d1, e0
    addiu factors, factors, FACTOR
    take_product low2, high2
    multu d2, e4
    maddu d3, e3
    maddu d4, e2
    xor low1, low1, low
    xor high1, high1, high
    mflo low
    bne factors, d0, .Lproduct
      mfhi high
    four lw, FIFTHS, scratch, d0, d1, d2, d3
    lw d4, FIFTHS + 16(scratch)
    xor low1, low1, low
    xor high1, high1, high
    join_fifths low0, low1, low2, low3, low4, d0, d1, d2, d3, d4
    join_fifths high0, high1, high2, high3, high4, d3, d4, d0, d1, d2
    lw e0, START(scratch)
    addiu e1, scratch, TABLE + 9*COLUMN
    addiu e2, factors, COLUMN
    sw low0, -FACTOR(factors)
    sw high0, -2*FACTOR(factors)
    subu e0, e0, scratch
    sw e2, LIMIT(scratch)
    addu e0, e0, factors
    bne factors, e1, .Lcolumn
      addiu factors, e0, -TABLE

    addiu x4, scratch, TABLE
    sw x4, START(scratch)
    sw x4, SLOT(scratch)
    load_results 0, x0, x1, x2, x3, x4, x5
    load_results 3, x6, x7, x8, x9, x10, x11
    load_results 6, x12, x13, x14, x15, x16, x17
    join_pairs x0, x1, x2, x3, x4, x5
    join_pairs x6, x7, x8, x9, x10, x11
    join_pairs x12, x13, x14, x15, x16, x17

/* 256 bits in x0 .. x3, x6 .. x9: the products of low and of high halves, and that of sums added in the middle. */
    xor x2, x2, x6
    xor x3, x3, x7
    xor x12, x12, x0
    xor x13, x13, x1
    xor x14, x14, x8
    xor x15, x15, x9
    xor x6, x2, x14
    xor x7, x3, x15
    xor x2, x2, x12
    xor x3, x3, x13
    reduce x0, x3, x6, x4
    reduce x1, x6, x7, x4
    reduce x2, x7, x8, x4
    reduce x3, x8, x9, x4
    four sw, Y, scratch, x6, x7, x8, x9

.Lnext_block:
    lw x4, PHASE(scratch)
    addiu x5, $0, PHASE_TEXT
    beq x4, x5, .Ltext
      addiu x5, $0, PHASE_LENGTHS
    beq x4, $0, .Lad
      nop
    beq x4, x5, .Ltag
      lw args, ARGS(scratch)

/* Another power of the hash key, for POWER, below the one before. */
    lw x5, POWER(scratch)
    four lw, Y, scratch, x0, x1, x2, x3
    lw x6, SEALANE_ARG_KEY + POINTER(args)
    four sw, 0, x5, x0, x1, x2, x3
    addiu x6, x6, SEALANE_GCM_KEY_TABLE
    bne x5, x6, .Lmultiply_power
      addiu x5, x5, -16
    b .Lwipe
      nop
.Lnext_power:
    lw x5, SEALANE_ARG_KEY + POINTER(args)
    addiu x5, x5, SEALANE_GCM_KEY_TABLE + 16*(POWERS - 2)
    four lw, 16, x5, x0, x1, x2, x3
.Lmultiply_power:
    addiu x6, scratch, LAST_SLOT
    sw x5, POWER(scratch)
    sw x6, START(scratch)
    sw x6, SLOT(scratch)
    four sw, Y, scratch, $0, $0, $0, $0
    b .Lghash_numbers
      addiu x4, $0, PHASE_SETUP

/* The lengths in bits. */
.Llengths:
    lw x4, FLAGS(scratch)
    lw args, ARGS(scratch)
    andi x4, x4, SEALANE_FLAG_LAST
    beq x4, $0, .Lsave
      lw x2, SEALANE_ARG_AD_BYTES + LOW(args)
    lw x3, SEALANE_ARG_AD_BYTES + HIGH(args)
    lw x0, SEALANE_ARG_TOTAL + LOW(args)
    lw x1, SEALANE_ARG_TOTAL + HIGH(args)
    srl x5, x2, 29
    sll x3, x3, 3
    srl x6, x0, 29
    sll x1, x1, 3
    or x3, x3, x5
    or x1, x1, x6
    sll x2, x2, 3
    sll x0, x0, 3
    b .Lghash_numbers
      addiu x4, $0, PHASE_LENGTHS

.Ltag:
    lw x7, SEALANE_ARG_TAG + POINTER(args)
    .irp at, 0, 4, 8, 12
    lw x0, Y + 12 - \at(scratch)
    lw x1, MASK + \at(scratch)
    big x0
    xor x0, x0, x1
    store_any x0, \at, x7
    .endr
    b .Lwipe
      nop

.Lsave:
    lw x7, SEALANE_ARG_STATE + POINTER(args)
    lw x6, UNUSED(scratch)
    .irp at, 0, 4, 8, 12
    lw x0, Y + 12 - \at(scratch)
    lw x1, MASK + \at(scratch)
    big x0
    store_any x0, SEALANE_GCM_STATE_Y + \at, x7
    store_any x1, SEALANE_GCM_STATE_MASK + \at, x7
    .endr
    lw x0, COUNTER(scratch)
    addiu x2, scratch, STATE + 32
    subu x6, x2, x6
    srl x6, x6, 2                       /* blocks of keystream to make again */
    subu x0, x0, x6
    big x0
    store_any x0, SEALANE_GCM_STATE_COUNTER + 12, x7
    lw x0, FLAGS(scratch)
    andi x0, x0, SEALANE_FLAG_FIRST
    beq x0, $0, .Lwipe
      lw x6, SEALANE_ARG_NONCE + POINTER(args)
    .irp at, 0, 4, 8
    load_any x0, \at, x6
    store_any x0, SEALANE_GCM_STATE_COUNTER + \at, x7
    .endr

.Lwipe:
    addiu x0, scratch, STATE
    addiu x1, scratch, END
.Lwipe_32:
    four sw, 0, x0, $0, $0, $0, $0
    four sw, 16, x0, $0, $0, $0, $0
    addiu x0, x0, 32
    bne x0, x1, .Lwipe_32
      nop
    b .Ldone
      nop

/* ---- A pass: keystream of eight blocks, for x1 ---- */

.Lpass:
    lw x0, COUNTER(scratch)
    sw x1, PASS(scratch)
    addiu x1, x0, 1
    addiu x2, x0, 2
    addiu x3, x0, 3
    addiu x4, x0, 4
    addiu x5, x0, 5
    addiu x6, x0, 6
    addiu x7, x0, 7
    addiu x8, x0, 8
    sw x8, COUNTER(scratch)
    transpose
    lui x8, 0xff00
    counter_plane 0, x0
    counter_plane 1, x1
    counter_plane 2, x2
    counter_plane 3, x3
    counter_plane 4, x4
    counter_plane 5, x5
    counter_plane 6, x6
    counter_plane 7, x7
    lw args, ARGS(scratch)
    addiu round_key, scratch, KEYS + 128
    lw x0, SEALANE_ARG_KEY + POINTER(args)
    sw round_key, NEXT_KEY(scratch)
    lw x0, SEALANE_GCM_KEY_ROUNDS + LOW(x0)
    b .Lsub_bytes
      sw x0, ROUNDS(scratch)
.Lround:
    mix_columns
    addiu round_key, round_key, 128
    sw round_key, NEXT_KEY(scratch)
.Lsub_bytes:
    sub_bytes 0
    sub_bytes 1
    sub_bytes 2
    sub_bytes 3
    lw x0, ROUNDS(scratch)
    lw round_key, NEXT_KEY(scratch)
    addiu x0, x0, -1
    bne x0, $0, .Lround
      sw x0, ROUNDS(scratch)
    last_row 0
    last_row 1
    last_row 2
    last_row 3
    lw x1, PASS(scratch)
    addiu x7, scratch, STATE
    addiu x0, $0, PASS_J0
    beq x1, x0, .Lgot_j0
      sw x7, UNUSED(scratch)
    beq x1, $0, .Ltext
      nop

/* ---- Key set-up ---- */

    keystream_block x7
    b .Lgot_block
      lw args, ARGS(scratch)

/* Key expansion (FIPS 197, 5.2). */
.Lexpand:
    andi x1, x0, SEALANE_FLAG_NONCE
    beq x1, $0, .Lschedule
      lw x7, SEALANE_ARG_NONCE + POINTER(args)
    load_any x3, 0, x7                  /* H is given */
    load_any x2, 4, x7
    load_any x1, 8, x7
    load_any x0, 12, x7

/* H x, the highest word first in x3. */
.Lgot_block:
    .irp x, x0, x1, x2, x3
    big \x
    .endr
    sra x4, x3, 31
    sll x3, x3, 1
    srl x5, x2, 31
    or x3, x3, x5
    sll x2, x2, 1
    srl x5, x1, 31
    or x2, x2, x5
    sll x1, x1, 1
    srl x5, x0, 31
    or x1, x1, x5
    sll x0, x0, 1
    lui x5, 0xc200
    and x5, x5, x4
    xor x3, x3, x5
    andi x4, x4, 1
    xor x0, x0, x4
    lw x5, SEALANE_ARG_KEY + POINTER(args)
    addiu x4, scratch, LAST_SLOT
    addiu x5, x5, SEALANE_GCM_KEY_TABLE + 16*(POWERS - 1)
    four sw, 0, x5, x0, x1, x2, x3
    b .Lpowers
      nop

.Lschedule:
    lw x7, SEALANE_ARG_KEY + POINTER(args)
    addiu x8, scratch, WORDS
    lw x1, SEALANE_GCM_KEY_ROUNDS + LOW(x7)
    addiu x7, x7, SEALANE_GCM_KEY_SCHEDULE
    addiu x2, x1, -6
    addiu x1, x1, 1
    sll x1, x1, 2
    subu x1, x1, x2
    sw x2, KEY_WORDS(scratch)
    sw x1, WORDS_LEFT(scratch)
    sw $0, PLACE(scratch)
    addiu x1, $0, 1
    sw x1, CONSTANT(scratch)
.Lkey_word:
    load_any x0, 0, x7
    addiu x2, x2, -1
    little x0
    addiu x7, x7, 4
    sw x0, 0(x8)
    bne x2, $0, .Lkey_word
      addiu x8, x8, 4
    sw x8, NEXT_WORD(scratch)
.Lword:
    lw x0, -4(x8)
    lw x1, PLACE(scratch)
    lw x3, KEY_WORDS(scratch)
    beq x1, $0, .Lrotate
      xori x1, x1, 4
    xori x2, x3, 8
    or x1, x1, x2
    bne x1, $0, .Lplain                 /* of keys of 256 bits those in the middle, too */
      nop
    b .Lsubstitute
      nop
.Lrotate:
    rotr x0, x0, 8
.Lsubstitute:
    bytes x9, 0x01
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    word_to_plane \i, x0
    .endr
    sub_bytes 0
    eight lw, STATE, scratch
    bytes x8, 0x63
    plane_to_word 1, x0, x1
    plane_to_word 2, x0, x2
    plane_to_word 3, x0, x3
    plane_to_word 4, x0, x4
    plane_to_word 5, x0, x5
    plane_to_word 6, x0, x6
    plane_to_word 7, x0, x7
    xor x0, x0, x8
    lw x1, PLACE(scratch)
    lw x8, NEXT_WORD(scratch)
    bne x1, $0, .Lplain
      lw x1, CONSTANT(scratch)
    sll x2, x1, 24
    xor x0, x0, x1
    sra x2, x2, 31
    sll x1, x1, 1
    andi x2, x2, 0x11b
    xor x1, x1, x2
    sw x1, CONSTANT(scratch)
.Lplain:
    lw x3, KEY_WORDS(scratch)
    lw x1, PLACE(scratch)
    sll x2, x3, 2
    subu x2, x8, x2
    lw x2, 0(x2)
    addiu x1, x1, 1
    xor x0, x0, x2
    subu x2, x1, x3
    lw x4, WORDS_LEFT(scratch)
    movz x1, $0, x2
    sw x0, 0(x8)
    addiu x4, x4, -1
    sw x1, PLACE(scratch)
    sw x4, WORDS_LEFT(scratch)
    addiu x8, x8, 4
    bne x4, $0, .Lword
      sw x8, NEXT_WORD(scratch)

/* Rows of round keys. SubBytes leaves its constant to the key that follows. */
    lw args, ARGS(scratch)
    addiu x8, scratch, WORDS
    lw x7, SEALANE_ARG_KEY + POINTER(args)
    or x10, $0, $0
    lw x9, SEALANE_GCM_KEY_ROUNDS + LOW(x7)
    addiu x7, x7, SEALANE_GCM_KEY_SCHEDULE
.Lrows:
    four lw, 0, x8, x0, x1, x2, x3
    transpose_bytes x0, x1, x2, x3
    .irp x, x0, x1, x2, x3
    xor \x, \x, x10
    .endr
    four sw, 0, x7, x0, x1, x2, x3
    bytes x10, 0x63
    addiu x9, x9, -1
    addiu x8, x8, 16
    bgez x9, .Lrows
      addiu x7, x7, 16
    .irp x, x0, x1, x2, x3
    or \x, $0, $0
    .endr
    b .Lspread
      sw $0, COUNTER(scratch)

.Ldone:
endfunction

constants sealane_aesgcm_mips32r2_constants
    .long 0x42108421, 0x84210842, 0x08421084, 0x10842108, 0x21084210 /* every fifth bit, from bit 0 to bit 4 on */
    .long 0, 0, 0
endconstants

#endif
