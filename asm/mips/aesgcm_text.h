/* AES-GCM (NIST SP 800-38D) in integer registers: makes a key, or seals or opens one packet or a part of one, in one
 * call. mips32r2 and mips64r2 share this text; WORD is the number of bytes in a register.
 *
 *     void KERNEL(const args *a, void *scratch, const void *consts);
 *
 * args       asm/args.h; writes OUT[BYTES] and, by flags, TAG[16], STATE[64] or KEY[960]
 * scratch    up to END after the saved registers, wiped before the return; stack 0
 * registers  all but $23, $26 to $31; $5 holds scratch throughout
 * branches   and addresses depend on BYTES, AD_BYTES, FLAGS and the number of rounds only; each is followed by its
 *            delay slot, which is indented
 *
 * AES (FIPS 197) is bit-sliced, 2*WORD blocks at a time. In each half of 4 bytes, word 8 r + i has bit i of row r,
 * and that of column c in block b is at 8 c + b. ShiftRows rotates halves, and the rows that MixColumns adds are in
 * separate words. With a' the next row and t = a + a', a column becomes 2 t + a' + t''.
 *
 * GHASH (6.4): see ../ghash.h. The .S file multiplies.
 */

/* w is the lowest remaining word. Adds w (x^127 + x^126 + x^121 + 1) to the word 128 bits above w, and to the word
 * below that. */
.macro reduce w, before, behind, t
    sllw \t, \w, 8*WORD - 1
    xor \before, \before, \t
    sllw \t, \w, 8*WORD - 2
    xor \before, \before, \t
    sllw \t, \w, 8*WORD - 7
    xor \before, \before, \t
    srlw \t, \w, 1
    xor \behind, \behind, \w
    xor \behind, \behind, \t
    srlw \t, \w, 2
    xor \behind, \behind, \t
    srlw \t, \w, 7
    xor \behind, \behind, \t
.endm

.macro constant x, value
    lui \x, (\value) >> 16
    ori \x, \x, (\value) & 0xffff
.endm

#include "aes_sbox_mips.h"

/* The same byte in all of a word. */
.macro bytes x, byte
    constant \x, 0x01010101 * \byte
    to_halves \x
.endm

/* Four numbers of 4 bytes. */
.macro four op, at, from, r0, r1, r2, r3
    \op \r0, \at(\from)
    \op \r1, \at + 4(\from)
    \op \r2, \at + 8(\from)
    \op \r3, \at + 12(\from)
.endm

.macro four_words op, at, from, r0, r1, r2, r3
    \op \r0, \at(\from)
    \op \r1, \at + WORD(\from)
    \op \r2, \at + 2*WORD(\from)
    \op \r3, \at + 3*WORD(\from)
.endm

.macro five_words op, at, from, r0, r1, r2, r3, r4
    four_words \op, \at, \from, \r0, \r1, \r2, \r3
    \op \r4, \at + 4*WORD(\from)
.endm

/* ---- AES ---- */

/* Exchanges bits of a and b: those of b where mask has ones, and those of a that are n higher. */
.macro swap_bits n, a, b, mask, t, right=srlw, left=sllw
    \right \t, \a, \n
    xor \t, \t, \b
    and \t, \t, \mask
    xor \b, \b, \t
    \left \t, \t, \n
    xor \a, \a, \t
.endm

/* In x0 .. x7, exchanges bit k of each byte of word i with bit i of the same byte of word k. */
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

/* In four numbers of 4 bytes, exchanges byte k of number i with byte i of number k. */
.macro transpose_bytes w0, w1, w2, w3
    constant x4, 0x00ff00ff
    swap_bits 8, \w0, \w1, x4, x5, srl, sll
    swap_bits 8, \w2, \w3, x4, x5, srl, sll
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
    lw x1, ROW(\from)
    lw x2, 2*ROW(\from)
    lw x3, 3*ROW(\from)
#else
    lw x3, 0(\from)
    lw x2, ROW(\from)
    lw x1, 2*ROW(\from)
    lw x0, 3*ROW(\from)
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
    loadw a0, STATE + WORD*\i(scratch)
    loadw a1, STATE + ROW + WORD*\i(scratch)
    loadw a2, STATE + 2*ROW + WORD*\i(scratch)
    loadw a3, STATE + 3*ROW + WORD*\i(scratch)
    rotate_row 1, a1, k0, x21, x22
    rotate_row 2, a2, k0, x21, x22
    rotate_row 3, a3, k0, x21, x22
    load_key k0, 4*\i, round_key
    load_key k1, 32 + 4*\i, round_key
    load_key k2, 64 + 4*\i, round_key
    load_key k3, 96 + 4*\i, round_key
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
    storew sum0, STATE + WORD*\i(scratch)
    storew sum1, STATE + ROW + WORD*\i(scratch)
    storew sum2, STATE + 2*ROW + WORD*\i(scratch)
    storew sum3, STATE + 3*ROW + WORD*\i(scratch)
.endm

/* ShiftRows, MixColumns and AddRoundKey. */
.macro mix_columns
    rotation_masks x21, x22
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
    four_words \op, \at, \from, x0, x1, x2, x3
    four_words \op, \at + 4*WORD, \from, x4, x5, x6, x7
.endm

.macro last_words r, i, x, y
    load_key x8, 32*\r + 4*\i, round_key
    load_key x9, 32*\r + 4*\i + 4, round_key
.if \r > 0
    rotate_row \r, \x, x10, x11, x12
    rotate_row \r, \y, x10, x11, x12
.endif
    xor \x, \x, x8
    xor \y, \y, x9
.endm

/* ShiftRows, and AddRoundKey; then word 8 r + b has row r of block b, or of two blocks. Masks in x11 and x12. */
.macro last_row r
    eight loadw, STATE + ROW*\r, scratch
    last_words \r, 0, x0, x1
    last_words \r, 2, x2, x3
    last_words \r, 4, x4, x5
    last_words \r, 6, x6, x7
    transpose
    eight storew, STATE + ROW*\r, scratch
.endm

/* Plane i of the counters, \x, to the last column, and the first round key and the nonce; x8: mask of a column. */
.macro counter_plane i, x
    load_key x10, KEYS + 4*\i, scratch
    load_key x11, KEYS + 32 + 4*\i, scratch
    load_key x12, KEYS + 64 + 4*\i, scratch
    load_key x13, KEYS + 96 + 4*\i, scratch
    and x14, \x, x8
    sllw x15, \x, 8
    sllw x16, \x, 16
    sllw x17, \x, 24
    and x15, x15, x8
    and x16, x16, x8
.if WORD > 4
    and x17, x17, x8
.endif
    xor x10, x10, x14
    xor x11, x11, x15
    xor x12, x12, x16
    xor x13, x13, x17
    storew x10, STATE + WORD*\i(scratch)
    storew x11, STATE + ROW + WORD*\i(scratch)
    storew x12, STATE + 2*ROW + WORD*\i(scratch)
    storew x13, STATE + 3*ROW + WORD*\i(scratch)
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
    storew x10, STATE + WORD*\i(scratch)
.endm

.macro plane_to_word i, x, y
    sll \y, \y, \i
    xor \x, \x, \y
.endm

/* ---- GHASH ---- */

/* Three products of words, low, high, of sums, to l0, h0, l1, h1, the product of two pairs of words. */
.macro join_pairs l0, h0, l1, h1, l2, h2
    xor \h0, \h0, \l1
    xor \l2, \l2, \l0
    xor \h2, \h2, \h1
    xor \l1, \h0, \h2
    xor \h0, \h0, \l2
.endm

/* ---- the kernel ---- */

scratch_end END
function KERNEL
    lw x0, SEALANE_ARG_FLAGS + LOW(args)
    storew args, ARGS(scratch)
    five_words loadw, 0, consts, x1, x2, x3, x4, x5
    five_words storew, FIFTHS, scratch, x1, x2, x3, x4, x5
    sw x0, FLAGS(scratch)
    andi x1, x0, SEALANE_FLAG_SETUP
    bne x1, $0, .Lexpand
      andi x1, x0, SEALANE_FLAG_FIRST

/* The first counter; the nonce's rows. */
    bne x1, $0, .Lnonce
      load_pointer x7, SEALANE_ARG_NONCE, args
    load_pointer x7, SEALANE_ARG_STATE, args
    or x1, $0, $0
    b .Lload_counter
      addip x7, x7, SEALANE_GCM_STATE_COUNTER
.Lnonce:
    andi x1, x0, SEALANE_FLAG_NONCE
.Lload_counter:
    bne x1, $0, .Lgot_counter
      addip x6, $0, 1
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
    load_pointer x7, SEALANE_ARG_KEY, args
    addip round_key, scratch, KEYS
    lw x4, SEALANE_GCM_KEY_ROUNDS + LOW(x7)
    addip x7, x7, SEALANE_GCM_KEY_SCHEDULE
    constant x8, 0x01010101
.Lspread_key:
    four lw, 0, x7, x14, x15, x16, x17
    addip x7, x7, 16
    xor x0, x0, x14
    xor x1, x1, x15
    xor x2, x2, x16
    xor x3, x3, x17
    spread_row 0, x0
    spread_row 1, x1
    spread_row 2, x2
    spread_row 3, x3
    addip x4, x4, -1
    .irp x, x0, x1, x2, x3
    or \x, $0, $0
    .endr
    bgez x4, .Lspread_key
      addip round_key, round_key, 128
    lw x0, FLAGS(scratch)
    addip x4, scratch, TABLE
    andi x1, x0, SEALANE_FLAG_SETUP
    bne x1, $0, .Lpass
      addip x1, $0, PASS_SETUP

/* Powers of the hash key, the highest first. */
    load_pointer x5, SEALANE_ARG_KEY, args
    addip x5, x5, SEALANE_GCM_KEY_TABLE
.Lpowers:
    five_words loadw, FIFTHS, scratch, x10, x11, x12, x13, x14
    addip x6, scratch, TABLE + COLUMN
.Lpower:
    four lw, 0, x5, x0, x1, x2, x3
    addip x5, x5, 16
    store_power
    addip x4, x4, FACTOR
    bne x4, x6, .Lpower
      lw x0, FLAGS(scratch)
    andi x1, x0, SEALANE_FLAG_SETUP
    bne x1, $0, .Lnext_power
      load_size x1, SEALANE_ARG_BYTES, args

/* x3: blocks to authenticate. */
    load_pointer x2, SEALANE_ARG_IN, args
    load_pointer x3, SEALANE_ARG_OUT, args
    load_pointer x4, SEALANE_ARG_AD, args
    storew x1, LEFT(scratch)
    storew x2, IN(scratch)
    storew x3, OUT(scratch)
    storew x4, AD(scratch)
    addip x3, x1, 15
    andi x2, x0, SEALANE_FLAG_FIRST
    beq x2, $0, .Lcontinue
      srlw x3, x3, 4
    load_size x1, SEALANE_ARG_AD_BYTES, args
    four sw, Y, scratch, $0, $0, $0, $0
    addip x4, x1, 15
    srlw x4, x4, 4
    storew x1, AD_LEFT(scratch)
    b .Lblocks
      addp x3, x3, x4
.Lcontinue:
    load_pointer x7, SEALANE_ARG_STATE, args
    addip x6, scratch, STATE + ROW
    storew x6, UNUSED(scratch)
    .irp at, 0, 4, 8, 12
    load_any x4, SEALANE_GCM_STATE_Y + \at, x7
    load_any x5, SEALANE_GCM_STATE_MASK + \at, x7
    big x4
    sw x4, Y + 12 - \at(scratch)
    sw x5, MASK + \at(scratch)
    .endr

/* Groups of POWERS blocks are multiplied together. The first group may be smaller: it has the remainder. */
.Lblocks:
    andi x1, x0, SEALANE_FLAG_LAST
    srl x1, x1, 1
    addp x3, x3, x1
    nor x3, x3, $0
    addip x3, x3, 1
    andi x3, x3, POWERS - 1
    addip x1, $0, FACTOR
    mul x3, x3, x1
    addp x3, x3, scratch
    addip x3, x3, TABLE
    storew x3, START(scratch)
    storew x3, NEXT_FACTORS(scratch)
    beq x2, $0, .Ltext
      nop
    b .Lpass
      addip x1, $0, PASS_J0
.Lgot_j0:
    keystream_block x7
    addip x7, x7, 4
    four sw, MASK, scratch, x3, x2, x1, x0
    storew x7, UNUSED(scratch)

/* Associated data. */
.Lad:
    loadw x6, AD_LEFT(scratch)
    loadw x7, AD(scratch)
    beq x6, $0, .Ltext
      sltiu x8, x6, 16
    bne x8, $0, .Lad_rest
      addip x9, x7, 16
    addip x6, x6, -16
    storew x9, AD(scratch)
    storew x6, AD_LEFT(scratch)
    b .Lghash_block
      addip x4, $0, PHASE_AD
.Lad_rest:
    addip x8, scratch, TAIL
    four sw, TAIL, scratch, $0, $0, $0, $0
    storew $0, AD_LEFT(scratch)
.Lad_byte:
    lbu x9, 0(x7)
    addip x6, x6, -1
    addip x7, x7, 1
    sb x9, 0(x8)
    bne x6, $0, .Lad_byte
      addip x8, x8, 1
    b .Lghash_tail
      addip x4, $0, PHASE_AD

/* Text, block by block. */
.Ltext:
    loadw x6, LEFT(scratch)
    loadw x7, UNUSED(scratch)
    addip x8, scratch, STATE + ROW
    beq x6, $0, .Llengths
      or x1, $0, $0                     /* PASS_KEYSTREAM */
    beq x7, x8, .Lpass
      loadw x8, IN(scratch)
    keystream_block x7
    loadw x9, OUT(scratch)
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
    addip x6, x6, -16
    addip x7, x7, 4
    addip x8, x8, 16
    addip x9, x9, 16
    storew x6, LEFT(scratch)
    storew x7, UNUSED(scratch)
    storew x8, IN(scratch)
    beq x10, $0, .Lsealed
      storew x9, OUT(scratch)
    or x3, x4, $0
    or x2, x5, $0
    or x1, x11, $0
    or x0, x12, $0
.Lsealed:
    b .Lghash
      addip x4, $0, PHASE_TEXT
.Lpartial:
    four sw, KEYSTREAM, scratch, x3, x2, x1, x0
    four sw, TAIL, scratch, $0, $0, $0, $0
    storew $0, LEFT(scratch)
    addip x7, scratch, KEYSTREAM
.Lbyte:
    lbu x0, 0(x8)
    lbu x1, 0(x7)
    addip x8, x8, 1
    xor x1, x1, x0
    bne x10, $0, .Lopened
      sb x1, 0(x9)
    or x0, x1, $0
.Lopened:
    sb x0, -16(x7)                      /* to TAIL */
    addip x9, x9, 1
    addip x6, x6, -1
    bne x6, $0, .Lbyte
      addip x7, x7, 1
    addip x4, $0, PHASE_TEXT

/* ---- GHASH, for x4, of TAIL, of the block at x7, or of that in x3 .. x0 as they lie in memory ---- */

.Lghash_tail:
    addip x7, scratch, TAIL
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
    loadw x5, NEXT_FACTORS(scratch)
    loadw x6, START(scratch)
    sw x4, PHASE(scratch)
    addip x7, scratch, TABLE + COLUMN
    bne x5, x6, .Lstore_words
      addip x6, x5, FACTOR
    four lw, Y, scratch, x8, x9, x10, x11
    xor x0, x0, x8
    xor x1, x1, x9
    xor x2, x2, x10
    xor x3, x3, x11
.Lstore_words:
    store_block
    bne x6, x7, .Lnext_block
      storew x6, NEXT_FACTORS(scratch)

/* The last of POWERS blocks. */
    loadw factors, START(scratch)
    storew x7, LIMIT(scratch)
    multiply

    addip x4, scratch, TABLE
    storew x4, START(scratch)
    storew x4, NEXT_FACTORS(scratch)
    join_and_reduce

.Lnext_block:
    lw x4, PHASE(scratch)
    addip x5, $0, PHASE_TEXT
    beq x4, x5, .Ltext
      addip x5, $0, PHASE_LENGTHS
    beq x4, $0, .Lad
      nop
    beq x4, x5, .Ltag
      loadw args, ARGS(scratch)

/* Another power of the hash key, for POWER, which is stored below the previous one. */
    loadw x5, POWER(scratch)
    four lw, Y, scratch, x0, x1, x2, x3
    load_pointer x6, SEALANE_ARG_KEY, args
    four sw, 0, x5, x0, x1, x2, x3
    addip x6, x6, SEALANE_GCM_KEY_TABLE
    bne x5, x6, .Lmultiply_power
      addip x5, x5, -16
    b .Lwipe
      nop
.Lnext_power:
    load_pointer x5, SEALANE_ARG_KEY, args
    addip x5, x5, SEALANE_GCM_KEY_TABLE + 16*(POWERS - 2)
    four lw, 16, x5, x0, x1, x2, x3
.Lmultiply_power:
    addip x6, scratch, LAST_FACTORS
    storew x5, POWER(scratch)
    storew x6, START(scratch)
    storew x6, NEXT_FACTORS(scratch)
    four sw, Y, scratch, $0, $0, $0, $0
    b .Lghash_numbers
      addip x4, $0, PHASE_SETUP

/* The lengths in bits. */
.Llengths:
    lw x4, FLAGS(scratch)
    loadw args, ARGS(scratch)
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
      addip x4, $0, PHASE_LENGTHS

.Ltag:
    load_pointer x7, SEALANE_ARG_TAG, args
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
    load_pointer x7, SEALANE_ARG_STATE, args
    loadw x6, UNUSED(scratch)
    .irp at, 0, 4, 8, 12
    lw x0, Y + 12 - \at(scratch)
    lw x1, MASK + \at(scratch)
    big x0
    store_any x0, SEALANE_GCM_STATE_Y + \at, x7
    store_any x1, SEALANE_GCM_STATE_MASK + \at, x7
    .endr
    lw x0, COUNTER(scratch)
    addip x2, scratch, STATE + ROW
    subp x6, x2, x6
    srl x6, x6, 2                       /* blocks of keystream to make again */
    subu x0, x0, x6
    big x0
    store_any x0, SEALANE_GCM_STATE_COUNTER + 12, x7
    lw x0, FLAGS(scratch)
    andi x0, x0, SEALANE_FLAG_FIRST
    beq x0, $0, .Lwipe
      load_pointer x6, SEALANE_ARG_NONCE, args
    .irp at, 0, 4, 8
    load_any x0, \at, x6
    store_any x0, SEALANE_GCM_STATE_COUNTER + \at, x7
    .endr

.Lwipe:
    addip x0, scratch, STATE
    addip x1, scratch, END
.Lwipe_words:
    four_words storew, 0, x0, $0, $0, $0, $0
    four_words storew, 4*WORD, x0, $0, $0, $0, $0
    addip x0, x0, 8*WORD
    bne x0, x1, .Lwipe_words
      nop
    b .Ldone
      nop

/* ---- A pass: keystream of eight blocks, for x1 ---- */

.Lpass:
    lw x0, COUNTER(scratch)
    sw x1, PASS(scratch)
    counters
    transpose
    lui x8, 0xff00
    to_halves x8
    counter_plane 0, x0
    counter_plane 1, x1
    counter_plane 2, x2
    counter_plane 3, x3
    counter_plane 4, x4
    counter_plane 5, x5
    counter_plane 6, x6
    counter_plane 7, x7
    loadw args, ARGS(scratch)
    addip round_key, scratch, KEYS + 128
    load_pointer x0, SEALANE_ARG_KEY, args
    storew round_key, NEXT_KEY(scratch)
    lw x0, SEALANE_GCM_KEY_ROUNDS + LOW(x0)
    b .Lsub_bytes
      sw x0, ROUNDS(scratch)
.Lround:
    mix_columns
    addip round_key, round_key, 128
    storew round_key, NEXT_KEY(scratch)
.Lsub_bytes:
    sub_bytes 0
    sub_bytes 1
    sub_bytes 2
    sub_bytes 3
    lw x0, ROUNDS(scratch)
    loadw round_key, NEXT_KEY(scratch)
    addip x0, x0, -1
    bne x0, $0, .Lround
      sw x0, ROUNDS(scratch)
    rotation_masks x11, x12
    last_row 0
    last_row 1
    last_row 2
    last_row 3
    lw x1, PASS(scratch)
    addip x7, scratch, STATE
    addip x0, $0, PASS_J0
    beq x1, x0, .Lgot_j0
      storew x7, UNUSED(scratch)
    beq x1, $0, .Ltext
      nop

/* ---- Key set-up ---- */

    keystream_block x7
    b .Lgot_block
      loadw args, ARGS(scratch)

/* Key expansion (FIPS 197, 5.2). */
.Lexpand:
    andi x1, x0, SEALANE_FLAG_NONCE
    beq x1, $0, .Lschedule
      load_pointer x7, SEALANE_ARG_NONCE, args
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
    load_pointer x5, SEALANE_ARG_KEY, args
    addip x4, scratch, LAST_FACTORS
    addip x5, x5, SEALANE_GCM_KEY_TABLE + 16*(POWERS - 1)
    four sw, 0, x5, x0, x1, x2, x3
    b .Lpowers
      nop

.Lschedule:
    load_pointer x7, SEALANE_ARG_KEY, args
    addip x8, scratch, WORDS
    lw x1, SEALANE_GCM_KEY_ROUNDS + LOW(x7)
    addip x7, x7, SEALANE_GCM_KEY_SCHEDULE
    addip x2, x1, -6
    addip x1, x1, 1
    sll x1, x1, 2
    subu x1, x1, x2
    sw x2, KEY_WORDS(scratch)
    sw x1, WORDS_LEFT(scratch)
    sw $0, PLACE(scratch)
    addip x1, $0, 1
    sw x1, CONSTANT(scratch)
.Lkey_word:
    load_any x0, 0, x7
    addip x2, x2, -1
    little x0
    addip x7, x7, 4
    sw x0, 0(x8)
    bne x2, $0, .Lkey_word
      addip x8, x8, 4
    storew x8, NEXT_WORD(scratch)
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
    constant x9, 0x01010101
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    word_to_plane \i, x0
    .endr
    sub_bytes 0
    eight loadw, STATE, scratch
    constant x8, 0x63636363
    plane_to_word 1, x0, x1
    plane_to_word 2, x0, x2
    plane_to_word 3, x0, x3
    plane_to_word 4, x0, x4
    plane_to_word 5, x0, x5
    plane_to_word 6, x0, x6
    plane_to_word 7, x0, x7
    xor x0, x0, x8
    lw x1, PLACE(scratch)
    loadw x8, NEXT_WORD(scratch)
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
    subp x2, x8, x2
    lw x2, 0(x2)
    addip x1, x1, 1
    xor x0, x0, x2
    subu x2, x1, x3
    lw x4, WORDS_LEFT(scratch)
    movz x1, $0, x2
    sw x0, 0(x8)
    addip x4, x4, -1
    sw x1, PLACE(scratch)
    sw x4, WORDS_LEFT(scratch)
    addip x8, x8, 4
    bne x4, $0, .Lword
      storew x8, NEXT_WORD(scratch)

/* Rows of round keys. SubBytes leaves its constant to the key that follows. */
    loadw args, ARGS(scratch)
    addip x8, scratch, WORDS
    load_pointer x7, SEALANE_ARG_KEY, args
    or x10, $0, $0
    lw x9, SEALANE_GCM_KEY_ROUNDS + LOW(x7)
    addip x7, x7, SEALANE_GCM_KEY_SCHEDULE
.Lrows:
    four lw, 0, x8, x0, x1, x2, x3
    transpose_bytes x0, x1, x2, x3
    .irp x, x0, x1, x2, x3
    xor \x, \x, x10
    .endr
    four sw, 0, x7, x0, x1, x2, x3
    constant x10, 0x63636363
    addip x9, x9, -1
    addip x8, x8, 16
    bgez x9, .Lrows
      addip x7, x7, 16
    .irp x, x0, x1, x2, x3
    or \x, $0, $0
    .endr
    b .Lspread
      sw $0, COUNTER(scratch)

.Ldone:
endfunction
