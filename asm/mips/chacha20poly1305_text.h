/* ChaCha20-Poly1305 in the integer registers of MIPS, release 2 to 5, of 32 or 64 bits. The file that includes this
 * names KERNEL and the registers h0 to m3, has WORD, and defines
 *     addp, subp, addip, storew  add, subtract, add a constant, store: pointers, sizes, words of Poly1305
 *     load_pointer, load_size    from a slot of 8 bytes
 *     encrypt2, encrypt2_aligned 8 bytes of text, at any address or at a multiple of WORD
 *     poly_key, poly_zero        r from scratch, h = 0
 *     poly_load, poly_save       h from and to three slots of 8 bytes
 *     poly_loop                  h = (h + m + 2^128) r for each block up to limit, at least one; k0 = 0 at first
 *     load_block, load_any_block a block's words m0 ..., at a multiple of WORD or at any address
 *     poly_fold, poly_tag        h < 2^130 + 2^128; the tag of that
 *
 * args       all SEALANE_ARG_* (asm/args.h); writes OUT[BYTES] and, by flags, TAG[16] or STATE[64]
 * scratch    264 bytes after the saved registers, wiped before the return; stack 0
 * registers  all but $23, $26 to $31; $4 and $5 hold args and scratch throughout
 * branches   and addresses depend on BYTES, AD_BYTES, FLAGS and pointers only; each branch is followed by its delay
 *            slot, which is indented
 *
 * ChaCha20 (RFC 8439, 2.3): a state of 4x4 words (constants; key; key; counter, nonce), 10 double rounds of
 *     a += b, d = (d ^ a) <<< 16;  c += d, b = (b ^ c) <<< 12;  a += b, d = (d ^ a) <<< 8;  c += d, b = (b ^ c) <<< 7
 * on the 4 columns, then on the 4 diagonals; the keystream block is the result plus the initial state. The counter
 * enters the first quarter round of the columns only. The results of the others are the same for all blocks, and
 * are kept.
 */
#define STARTED END     /* words of the state after the first round, except those of the first column */
#define SCRATCH_END (STARTED + 64)

/* 16 bytes between aligned places. */
.macro copy16 at, from, to_at, to
    four lw, \at, \from, m0, m1, m2, m3
    four sw, \to_at, \to, m0, m1, m2, m3
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

.macro one_step a, b, d, bits
    addu \a, \a, \b
    xor \d, \d, \a
    rotr \d, \d, 32 - \bits
.endm

.macro quarter_round a, b, c, d
    one_step \a, \b, \d, ROTATE_1
    one_step \c, \d, \b, ROTATE_2
    one_step \a, \b, \d, ROTATE_3
    one_step \c, \d, \b, ROTATE_4
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

/* Words of the columns but the first. */
.macro started op
    four \op, STARTED, scratch, w1, w2, w3, w5
    four \op, STARTED + 16, scratch, w6, w7, w9, w10
    four \op, STARTED + 32, scratch, w11, w13, w14, w15
.endm

/* ---- the kernel ---- */

scratch_end SCRATCH_END
function KERNEL
    lw k0, SEALANE_ARG_FLAGS + LOW(args)
    load_size remaining, SEALANE_ARG_BYTES, args
    andi k1, k0, SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST
    or k1, k1, remaining
    beq k1, $0, .Ldone                  /* nothing to do */
      nop
    load_pointer k1, SEALANE_ARG_KEY, args
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
    load_pointer k1, SEALANE_ARG_NONCE, args
    sw $0, STATE + 48(scratch)
    .irp at, 0, 4, 8
    load_any w0, \at, k1
    little w0
    sw w0, STATE + 52 + \at(scratch)
    .endr

/* The first round of block 0. */
    four lw, STATE, scratch, w0, w1, w2, w3
    four lw, STATE + 16, scratch, w4, w5, w6, w7
    four lw, STATE + 32, scratch, w8, w9, w10, w11
    four lw, STATE + 48, scratch, w12, w13, w14, w15
    columns
    started sw
    andi k0, k0, SEALANE_FLAG_FIRST
    bne k0, $0, .Ldiagonals
      or input, $0, $0

/* Another part of a packet continues where the previous one ended. */
    load_pointer k0, SEALANE_ARG_STATE, args
    lw k1, SEALANE_STATE_COUNTER + LOW(k0)
    copy16 SEALANE_STATE_R, k0, POLY_R, scratch
    copy16 SEALANE_STATE_S, k0, POLY_S, scratch
    sw k1, STATE + 48(scratch)
    poly_load SEALANE_STATE_H, k0
    poly_key
    b .Ltext
      nop

/* One block of keystream. */
.Lblock:
    lw w0, STATE(scratch)
    lw w4, STATE + 16(scratch)
    lw w12, STATE + 48(scratch)
    lw w8, STATE + 32(scratch)
    started lw
    quarter_round w0, w4, w8, w12
.Ldiagonals:
    addiu count, $0, 2
    diagonals
.Lrounds:
    double_round
    double_round
    double_round
    bne count, $0, .Lrounds
      addiu count, count, -1
    beq input, $0, .Lkey
      sltiu k0, remaining, 64
    bne k0, $0, .Lkeystream
      or k0, input, output
    andi k0, k0, WORD - 1
    bne k0, $0, .Lunaligned
      nop
    all_words encrypt2_aligned
.Lnext:
    lw k0, STATE + 48(scratch)
    addip input, input, 64
    addip remaining, remaining, -64
    addiu k0, k0, 1
    addip output, output, 64
    bne remaining, $0, .Lblock
      sw k0, STATE + 48(scratch)
    b .Lencrypted
      nop

.Lunaligned:
    all_words encrypt2
    b .Lnext
      nop

/* The last bytes, fewer than 64. */
.Lkeystream:
    all_words keystream2
    lw k0, STATE + 48(scratch)
    addip count, scratch, BLOCK
    addiu k0, k0, 1
    sw k0, STATE + 48(scratch)
    sltiu k0, remaining, 4
    bne k0, $0, .Lbyte
      nop
.Lword:
    load_any k0, 0, input
    lw k1, 0(count)
    addip remaining, remaining, -4
    addip input, input, 4
    xor k0, k0, k1
    store_any k0, 0, output
    addip count, count, 4
    sltiu k1, remaining, 4
    beq k1, $0, .Lword
      addip output, output, 4
    beq remaining, $0, .Lencrypted
      nop
.Lbyte:
    lbu k0, 0(input)
    lbu k1, 0(count)
    addip input, input, 1
    addip count, count, 1
    xor k0, k0, k1
    addip remaining, remaining, -1
    sb k0, 0(output)
    bne remaining, $0, .Lbyte
      addip output, output, 1
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
    two_slots sw, POLY_R, scratch, w0, w1, w2, w3
    two_slots sw, POLY_S, scratch, w4, w5, w6, w7
    addiu k0, $0, 1
    sw k0, STATE + 48(scratch)
    poly_key
    poly_zero
    load_pointer message, SEALANE_ARG_AD, args
    load_size rest, SEALANE_ARG_AD_BYTES, args
    addiu phase, $0, PHASE_AD

/* Authenticate rest bytes at message, padded with zeroes. */
.Lauthenticate:
    andi k0, rest, 15
    subp limit, rest, k0
    addp limit, limit, message
    beq message, limit, .Lrest
      or rest, k0, $0
.Lblocks:
    andi k0, message, WORD - 1
    bne k0, $0, .Lblocks_anywhere
      or k0, $0, $0
    poly_loop load_block
.Lblocks_anywhere:
    poly_loop load_any_block
.Lrest:
    beq rest, $0, .Lauthenticated
      addip k1, scratch, TAIL
    .irp at, 0, 4, 8, 12
    sw $0, TAIL + \at(scratch)
    .endr
.Lpad:
    lbu k0, 0(message)
    addip rest, rest, -1
    addip message, message, 1
    sb k0, 0(k1)
    bne rest, $0, .Lpad
      addip k1, k1, 1
.Ltail:
    addip message, scratch, TAIL
    b .Lblocks
      addip limit, scratch, TAIL + 16

.Lauthenticated:
    lw k0, SEALANE_ARG_FLAGS + LOW(args)
    addiu m0, $0, PHASE_LENGTHS
    beq phase, m0, .Ltag
      andi k1, k0, SEALANE_FLAG_OPEN
    bne phase, $0, .Lwas_text
      nop

/* Open authenticates the text first, since it may be overwritten. */
.Ltext:
    lw k0, SEALANE_ARG_FLAGS + LOW(args)
    load_pointer message, SEALANE_ARG_IN, args
    andi k1, k0, SEALANE_FLAG_OPEN
    load_size rest, SEALANE_ARG_BYTES, args
    bne k1, $0, .Lauthenticate
      addiu phase, $0, PHASE_TEXT
    b .Lencrypt
      nop
.Lwas_text:
    beq k1, $0, .Lfinish
      nop

.Lencrypt:
    poly_save POLY_H, scratch
    load_size remaining, SEALANE_ARG_BYTES, args
    load_pointer input, SEALANE_ARG_IN, args
    load_pointer output, SEALANE_ARG_OUT, args
    bne remaining, $0, .Lblock
      nop
.Lencrypted:
    poly_load POLY_H, scratch
    poly_key
    lw k0, SEALANE_ARG_FLAGS + LOW(args)
    load_pointer message, SEALANE_ARG_OUT, args
    load_size rest, SEALANE_ARG_BYTES, args
    andi k1, k0, SEALANE_FLAG_OPEN
    beq k1, $0, .Lauthenticate
      addiu phase, $0, PHASE_TEXT

.Lfinish:
    andi k1, k0, SEALANE_FLAG_LAST
    beq k1, $0, .Lsave
      or rest, $0, $0
    lw m0, SEALANE_ARG_AD_BYTES + LOW(args)
    lw m1, SEALANE_ARG_AD_BYTES + HIGH(args)
    lw m2, SEALANE_ARG_TOTAL + LOW(args)
    lw m3, SEALANE_ARG_TOTAL + HIGH(args)
    .irp m, m0, m1, m2, m3
    little \m
    .endr
    four sw, TAIL, scratch, m0, m1, m2, m3
    b .Ltail
      addiu phase, $0, PHASE_LENGTHS

.Ltag:
    poly_fold
    poly_tag
    b .Lwipe
      nop

.Lsave:
    poly_fold
    load_pointer k0, SEALANE_ARG_STATE, args
    lw k1, STATE + 48(scratch)
    poly_save SEALANE_STATE_H, k0
    sw $0, SEALANE_STATE_H + 16 + HIGH(k0)
    copy16 POLY_R, scratch, SEALANE_STATE_R, k0
    copy16 POLY_S, scratch, SEALANE_STATE_S, k0
    sw k1, SEALANE_STATE_COUNTER + LOW(k0)
    sw $0, SEALANE_STATE_COUNTER + HIGH(k0)

.Lwipe:
    .set wiped, STATE
    .rept (SCRATCH_END - STATE) / WORD
    storew $0, wiped(scratch)
    .set wiped, wiped + WORD
    .endr
.Ldone:
endfunction
