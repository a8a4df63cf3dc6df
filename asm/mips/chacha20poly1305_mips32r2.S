/* ChaCha20-Poly1305 in integer registers: seals or opens one packet, or one part of a long one, in one call.
 *
 *     void sealane_chacha20poly1305_mips32r2(const args *a, void *scratch, const void *consts);
 *
 * CPU        MIPS32 release 2 (rotr, wsbh, ins; maddu in HI and LO), either byte order, no release 6
 * args       all SEALANE_ARG_* (asm/args.h); writes OUT[BYTES] and, by flags, TAG[16] or STATE[64]
 * scratch    200 bytes behind the saved registers, wiped before the return; stack 0
 * consts     sealane_chacha20poly1305_mips32r2_constants
 * registers  all but $23, $26 to $31; $4 and $5 hold args and scratch throughout
 * branches   and addresses depend on BYTES, AD_BYTES, FLAGS only; each is followed by its delay slot, which is indented
 *
 * ChaCha20 (RFC 8439, 2.3): a state of 4x4 words (constants; key; key; counter, nonce), 10 double rounds of
 *     a += b, d = (d ^ a) <<< 16;  c += d, b = (b ^ c) <<< 12;  a += b, d = (d ^ a) <<< 8;  c += d, b = (b ^ c) <<< 7
 * on the 4 columns, then on the 4 diagonals; the keystream block is the result plus the initial state.
 *
 * Poly1305 (2.5): h = (h + m) r mod 2^130 - 5 for each block m of 16 bytes and a one above it. With h = h0 .. h4 and
 * r = r0 .. r3 in words, 4 | r1, r2, r3 (clamped), and 2^130 = 5, that is 2^128 ri = si := ri + ri/4:
 *     h r = (h0 r0 + h1 s3 + h2 s2 + h3 s1) + 2^32 (h0 r1 + h1 r0 + h2 s3 + h3 s2 + h4 s1)
 *         + 2^64 (h0 r2 + h1 r1 + h2 r0 + h3 s3 + h4 s2) + 2^96 (h0 r3 + h1 r2 + h2 r1 + h3 r0 + h4 s3) + 2^128 h4 r0,
 * then h += 5 (h >> 130) without these bits, which leaves h4 <= 4. ri < 2^28, and h4 <= 6 with the block: each
 * sum and the carry of the one before fit HI and LO, and 2^128's word is at most 11 2^28, of which 5/4 fit 32 bits.
 */
#include "../asm.S"

#if defined(__mips__) && defined(_ABIO32) && _MIPS_SIM == _ABIO32 && __mips_isa_rev >= 2 && __mips_isa_rev < 6

isa mips32r2


/* The lower and the upper word of a slot of 8 bytes. */
#if defined(__MIPSEB__)
#define LOW 4
#define HIGH 0
#else
#define LOW 0
#define HIGH 4
#endif

/* A pointer: in C the value of a slot, in Go its first word. */
#if defined(SEALANE_GO)
#define POINTER 0
#else
#define POINTER LOW
#endif

#define args $4
#define scratch $5
#define consts $6

/* ChaCha20: the 16 words; what is loaded; double rounds left; text, none for block 0. */
#define w0 $8
#define w1 $9
#define w2 $10
#define w3 $11
#define w4 $12
#define w5 $13
#define w6 $14
#define w7 $15
#define w8 $16
#define w9 $17
#define w10 $18
#define w11 $19
#define w12 $20
#define w13 $21
#define w14 $22
#define w15 $6
#define k0 $24
#define k1 $25
#define count $1
#define input $2
#define output $3
#define remaining $7

/* Poly1305: the accumulator, r, s1 .. s3; what is authenticated: whole blocks up to limit, rest bytes behind them, and
 * what they are; words of the product, and the message before. */
#define h0 $8
#define h1 $9
#define h2 $10
#define h3 $11
#define h4 $12
#define r0 $13
#define r1 $14
#define r2 $15
#define r3 $16
#define s1 $17
#define s2 $18
#define s3 $19
#define p0 $20
#define p1 $21
#define p2 $22
#define p3 $6
#define message $2
#define limit $3
#define rest $7
#define phase $1

#include "../chacha20poly1305_scalar.h"

/* Between a word and the four bytes of it, least significant first, in memory. */
.macro little x
#if defined(__MIPSEB__)
    wsbh \x, \x
    rotr \x, \x, 16
#endif
.endm

/* A word as it lies at any address. */
.macro load_any x, at, from
#if defined(__MIPSEB__)
    lwl \x, \at(\from)
    lwr \x, \at + 3(\from)
#else
    lwl \x, \at + 3(\from)
    lwr \x, \at(\from)
#endif
.endm

.macro store_any x, at, to
#if defined(__MIPSEB__)
    swl \x, \at(\to)
    swr \x, \at + 3(\to)
#else
    swl \x, \at + 3(\to)
    swr \x, \at(\to)
#endif
.endm

/* Two numbers of 64 bits, each of two words. */
.macro two_slots op, at, from, x0, x1, x2, x3
    \op \x0, \at + LOW(\from)
    \op \x1, \at + HIGH(\from)
    \op \x2, \at + 8 + LOW(\from)
    \op \x3, \at + 8 + HIGH(\from)
.endm

/* ---- ChaCha20 ---- */

/* \a += \b, \d = (\d ^ \a) <<< \bits, of four quarter rounds side by side */
.macro quarter_step bits, a0, a1, a2, a3, b0, b1, b2, b3, d0, d1, d2, d3
    addu \a0, \a0, \b0
    addu \a1, \a1, \b1
    addu \a2, \a2, \b2
    addu \a3, \a3, \b3
    xor \d0, \d0, \a0
    xor \d1, \d1, \a1
    xor \d2, \d2, \a2
    xor \d3, \d3, \a3
    rotr \d0, \d0, 32 - \bits
    rotr \d1, \d1, 32 - \bits
    rotr \d2, \d2, 32 - \bits
    rotr \d3, \d3, 32 - \bits
.endm

/* Two words of keystream: \x += the initial state's at \at. */
.macro add_initial at, x, y
    lw k0, STATE + \at(scratch)
    lw k1, STATE + \at + 4(scratch)
    addu \x, \x, k0
    addu \y, \y, k1
.endm

.macro encrypt2 at, x, y
    add_initial \at, \x, \y
    load_any k0, \at, input
    load_any k1, \at + 4, input
    little \x
    little \y
    xor \x, \x, k0
    xor \y, \y, k1
    store_any \x, \at, output
    store_any \y, \at + 4, output
.endm

.macro keystream2 at, x, y
    add_initial \at, \x, \y
    little \x
    little \y
    sw \x, BLOCK + \at(scratch)
    sw \y, BLOCK + \at + 4(scratch)
.endm

.macro all_words do
    \do 0, w0, w1
    \do 8, w2, w3
    \do 16, w4, w5
    \do 24, w6, w7
    \do 32, w8, w9
    \do 40, w10, w11
    \do 48, w12, w13
    \do 56, w14, w15
.endm

/* ---- Poly1305 ---- */

/* \h += \m + \carry; \carry becomes what is above. */
.macro add_word h, m, carry
    addu \h, \h, \m
    sltu \m, \h, \m
    addu \h, \h, \carry
    sltu \carry, \h, \carry
    addu \carry, \carry, \m
.endm

/* The next column: \to is the word of the last one, \carry what is above it. */
.macro column to, carry, f0, f1, f2, f3, f4
    mflo \to
    mfhi \carry
    mtlo \carry
    mthi $0
    maddu h0, \f0
    maddu h1, \f1
    maddu h2, \f2
    maddu h3, \f3
    maddu h4, \f4
.endm

/* \h = \p + \carry; \carry becomes what is above. */
.macro carry_word h, p, carry
    addu \h, \p, \carry
    sltu \carry, \h, \carry
.endm

/* h += 5 (h >> 130) without these bits, h0 .. h3 coming from \e .. \i; what is above is remaining in k0. */
.macro fold e, f, g, i
    srl k0, h4, 2
    sll k1, k0, 2
    addu k0, k0, k1
    andi h4, h4, 3
    carry_word h0, \e, k0
    carry_word h1, \f, k0
    carry_word h2, \g, k0
    carry_word h3, \i, k0
.endm

.macro load_key
    four lw, POLY_R, scratch, r0, r1, r2, r3
    srl s1, r1, 2
    srl s2, r2, 2
    srl s3, r3, 2
    addu s1, s1, r1
    addu s2, s2, r2
    addu s3, s3, r3
.endm

.macro hash op
    four \op, POLY_H, scratch, h0, h1, h2, h3
    \op h4, POLY_H + 16(scratch)
.endm

/* ---- the kernel ---- */

scratch_end END
function sealane_chacha20poly1305_mips32r2
    lw k0, SEALANE_ARG_FLAGS + LOW(args)
    lw remaining, SEALANE_ARG_BYTES + LOW(args)
    andi k1, k0, SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST
    or k1, k1, remaining
    beq k1, $0, .Ldone                  /* nothing to do */
      lw k1, SEALANE_ARG_KEY + POINTER(args)
    four lw, 0, consts, w0, w1, w2, w3
    four sw, STATE, scratch, w0, w1, w2, w3
    .irp at, 0, 8, 16, 24
    load_any w0, \at, k1
    load_any w1, \at + 4, k1
    little w0
    little w1
    sw w0, STATE + 16 + \at(scratch)
    sw w1, STATE + 20 + \at(scratch)
    .endr
    lw k1, SEALANE_ARG_NONCE + POINTER(args)
    sw $0, STATE + 48(scratch)
    .irp at, 0, 4, 8
    load_any w0, \at, k1
    little w0
    sw w0, STATE + 52 + \at(scratch)
    .endr
    andi k0, k0, SEALANE_FLAG_FIRST
    bne k0, $0, .Lblock
      or input, $0, $0

/* Another part of a packet: go on where the one before ended. */
    lw k0, SEALANE_ARG_STATE + POINTER(args)
    lw k1, SEALANE_STATE_COUNTER + LOW(k0)
    two_slots lw, SEALANE_STATE_R, k0, r0, r1, r2, r3
    sw k1, STATE + 48(scratch)
    two_slots lw, SEALANE_STATE_S, k0, p0, p1, p2, p3
    four sw, POLY_R, scratch, r0, r1, r2, r3
    four sw, POLY_S, scratch, p0, p1, p2, p3
    load_key
    two_slots lw, SEALANE_STATE_H, k0, p0, p1, p2, p3
    lw h4, SEALANE_STATE_H + 16 + LOW(k0)
    fold p0, p1, p2, p3
    b .Ltext
      addu h4, h4, k0

/* One block of keystream. */
.Lblock:
    four lw, STATE, scratch, w0, w1, w2, w3
    four lw, STATE + 16, scratch, w4, w5, w6, w7
    four lw, STATE + 32, scratch, w8, w9, w10, w11
    four lw, STATE + 48, scratch, w12, w13, w14, w15
    addiu count, $0, 10
.Lrounds:
    addiu count, count, -1
    double_round
    bne count, $0, .Lrounds
      sltiu k0, remaining, 64
    beq input, $0, .Lkey
      nop
    bne k0, $0, .Lkeystream
      nop
    all_words encrypt2
    lw k0, STATE + 48(scratch)
    addiu input, input, 64
    addiu remaining, remaining, -64
    addiu k0, k0, 1
    addiu output, output, 64
    bne remaining, $0, .Lblock
      sw k0, STATE + 48(scratch)
    b .Lencrypted
      nop

/* The last bytes, fewer than 64. */
.Lkeystream:
    all_words keystream2
    lw k0, STATE + 48(scratch)
    addiu count, scratch, BLOCK
    addiu k0, k0, 1
    sw k0, STATE + 48(scratch)
    sltiu k0, remaining, 4
    bne k0, $0, .Lbyte
      nop
.Lword:
    load_any k0, 0, input
    lw k1, 0(count)
    addiu remaining, remaining, -4
    addiu input, input, 4
    xor k0, k0, k1
    store_any k0, 0, output
    addiu count, count, 4
    sltiu k1, remaining, 4
    beq k1, $0, .Lword
      addiu output, output, 4
    beq remaining, $0, .Lencrypted
      nop
.Lbyte:
    lbu k0, 0(input)
    lbu k1, 0(count)
    addiu input, input, 1
    addiu count, count, 1
    xor k0, k0, k1
    addiu remaining, remaining, -1
    sb k0, 0(output)
    bne remaining, $0, .Lbyte
      addiu output, output, 1
    b .Lencrypted
      nop

/* Block 0: r = its words 0..3, clamped, s = words 4..7 (RFC 8439, 2.6); then the associated data. */
.Lkey:
    add_initial 0, w0, w1
    add_initial 8, w2, w3
    add_initial 16, w4, w5
    add_initial 24, w6, w7
    .irp w, w0, w1, w2, w3
    ins \w, $0, 28, 4
    .endr
    .irp w, w1, w2, w3
    ins \w, $0, 0, 2
    .endr
    four sw, POLY_R, scratch, w0, w1, w2, w3
    four sw, POLY_S, scratch, w4, w5, w6, w7
    addiu k0, $0, 1
    sw k0, STATE + 48(scratch)
    load_key
    .irp h, h0, h1, h2, h3, h4
    or \h, $0, $0
    .endr
    lw message, SEALANE_ARG_AD + POINTER(args)
    lw rest, SEALANE_ARG_AD_BYTES + LOW(args)
    addiu phase, $0, PHASE_AD

/* Authenticate rest bytes at message, padded with zeroes. */
.Lauthenticate:
    andi k0, rest, 15
    subu limit, rest, k0
    addu limit, limit, message
    beq message, limit, .Lrest
      or rest, k0, $0
.Lblocks:
    load_any p0, 0, message
    load_any p1, 4, message
    load_any p2, 8, message
    load_any p3, 12, message
    little p0
    little p1
    little p2
    little p3
    addu h0, h0, p0
    sltu p0, h0, p0
    add_word h1, p1, p0
    add_word h2, p2, p0
    add_word h3, p3, p0
    addu h4, h4, p0
    addiu h4, h4, 1
    multu h0, r0
    maddu h1, s3
    maddu h2, s2
    maddu h3, s1
    addiu message, message, 16
    column p0, p1, r1, r0, s3, s2, s1
    column p1, p2, r2, r1, r0, s3, s2
    column p2, p3, r3, r2, r1, r0, s3
    mflo p3
    mfhi k0
    mul h4, h4, r0
    addu h4, h4, k0
    fold p0, p1, p2, p3
    bne message, limit, .Lblocks
      addu h4, h4, k0
.Lrest:
    beq rest, $0, .Lauthenticated
      addiu k1, scratch, TAIL
    sw $0, TAIL(scratch)
    sw $0, TAIL + 4(scratch)
    sw $0, TAIL + 8(scratch)
    sw $0, TAIL + 12(scratch)
.Lpad:
    lbu k0, 0(message)
    addiu rest, rest, -1
    addiu message, message, 1
    sb k0, 0(k1)
    bne rest, $0, .Lpad
      addiu k1, k1, 1
.Ltail:
    addiu message, scratch, TAIL
    b .Lblocks
      addiu limit, scratch, TAIL + 16

.Lauthenticated:
    lw k0, SEALANE_ARG_FLAGS + LOW(args)
    addiu p0, $0, PHASE_LENGTHS
    beq phase, p0, .Ltag
      andi k1, k0, SEALANE_FLAG_OPEN
    bne phase, $0, .Lwas_text
      nop

/* Open authenticates the text first, since it may be overwritten. */
.Ltext:
    lw k0, SEALANE_ARG_FLAGS + LOW(args)
    lw message, SEALANE_ARG_IN + POINTER(args)
    andi k1, k0, SEALANE_FLAG_OPEN
    lw rest, SEALANE_ARG_BYTES + LOW(args)
    bne k1, $0, .Lauthenticate
      addiu phase, $0, PHASE_TEXT
    b .Lencrypt
      nop
.Lwas_text:
    beq k1, $0, .Lfinish
      nop

.Lencrypt:
    hash sw
    lw remaining, SEALANE_ARG_BYTES + LOW(args)
    lw input, SEALANE_ARG_IN + POINTER(args)
    bne remaining, $0, .Lblock
      lw output, SEALANE_ARG_OUT + POINTER(args)
.Lencrypted:
    hash lw
    load_key
    lw k0, SEALANE_ARG_FLAGS + LOW(args)
    lw message, SEALANE_ARG_OUT + POINTER(args)
    lw rest, SEALANE_ARG_BYTES + LOW(args)
    andi k1, k0, SEALANE_FLAG_OPEN
    beq k1, $0, .Lauthenticate
      addiu phase, $0, PHASE_TEXT

.Lfinish:
    andi k1, k0, SEALANE_FLAG_LAST
    beq k1, $0, .Lsave
      or rest, $0, $0
    lw p0, SEALANE_ARG_AD_BYTES + LOW(args)
    lw p1, SEALANE_ARG_AD_BYTES + HIGH(args)
    lw p2, SEALANE_ARG_TOTAL + LOW(args)
    lw p3, SEALANE_ARG_TOTAL + HIGH(args)
    little p0
    little p1
    little p2
    little p3
    four sw, TAIL, scratch, p0, p1, p2, p3
    b .Ltail
      addiu phase, $0, PHASE_LENGTHS

/* tag = (h mod 2^130 - 5) + s mod 2^128; h < 2p, and h >= p if h + 5 reaches 2^130 */
.Ltag:
    addiu k1, $0, 5
    addiu k0, h0, 5
    sltu k0, k0, k1
    addu k1, h1, k0
    sltu k0, k1, k0
    addu k1, h2, k0
    sltu k0, k1, k0
    addu k1, h3, k0
    sltu k0, k1, k0
    addu h4, h4, k0
    srl h4, h4, 2                       /* 0 or 1 */
    sll k0, h4, 2
    addu k0, k0, h4
    four lw, POLY_S, scratch, p0, p1, p2, p3
    lw k1, SEALANE_ARG_TAG + POINTER(args)
    add_word h0, p0, k0
    add_word h1, p1, k0
    add_word h2, p2, k0
    addu h3, h3, p3
    addu h3, h3, k0
    .irp h, h0, h1, h2, h3
    little \h
    .endr
    store_any h0, 0, k1
    store_any h1, 4, k1
    store_any h2, 8, k1
    store_any h3, 12, k1
    b .Lwipe
      nop

.Lsave:
    lw k0, SEALANE_ARG_STATE + POINTER(args)
    four lw, POLY_S, scratch, p0, p1, p2, p3
    lw k1, STATE + 48(scratch)
    two_slots sw, SEALANE_STATE_H, k0, h0, h1, h2, h3
    sw h4, SEALANE_STATE_H + 16 + LOW(k0)
    sw $0, SEALANE_STATE_H + 16 + HIGH(k0)
    two_slots sw, SEALANE_STATE_R, k0, r0, r1, r2, r3
    two_slots sw, SEALANE_STATE_S, k0, p0, p1, p2, p3
    sw k1, SEALANE_STATE_COUNTER + LOW(k0)
    sw $0, SEALANE_STATE_COUNTER + HIGH(k0)

.Lwipe:
    .set wiped, STATE
    .rept (END - STATE) / 4
    sw $0, wiped(scratch)
    .set wiped, wiped + 4
    .endr
.Ldone:
endfunction

constants sealane_chacha20poly1305_mips32r2_constants
    .long 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574
endconstants

#endif
