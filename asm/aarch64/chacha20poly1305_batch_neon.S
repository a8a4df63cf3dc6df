/* ChaCha20-Poly1305 with NEON: seals or opens many packets, each with its own key, in one call.
 *
 *     void sealane_chacha20poly1305_batch_neon(const args *a, void *scratch, const void *consts);
 *
 * CPU        ARMv8-A with Advanced SIMD; no crypto extensions
 * args       SEALANE_BATCH_* and FLAGS (asm/args.h); of every lane reads AD, KEY, NONCE, IN[BYTES]; writes OUT[BYTES],
 *            TAG[16]
 * scratch    1408 bytes after the saved registers, wiped before the return; stack 0
 * consts     sealane_chacha20poly1305_batch_neon_constants
 * registers  all but sp, x18, x28, x29, x30; x1 holds scratch throughout
 * branches   and addresses depend on the lanes' pointers and lengths, and on FLAGS only
 *
 * The ChaCha20 blocks (RFC 8439, 2.3) of all packets follow each other: block 0 of a packet, which is its Poly1305
 * key (2.6), then the blocks of its text. Each pass makes four of them, whichever packets they belong to; a vector
 * holds one word of four blocks. That fills the vectors with packets of any lengths, including the blocks that a
 * single packet would not need.
 *
 * Integer registers authenticate the output of a pass beside the next pass's rounds, with Poly1305 (2.5) as in
 * chacha20poly1305_neon.S. Each of the four records gets two double rounds, for its up to five messages or for r and
 * s. The messages are the padded ciphertext and, after the last block, the lengths. Records are in order, so one
 * accumulator is enough. Beside the last two double rounds, integer registers assign the next pass's blocks.
 *
 * In-order cores run a vector instruction and another one in a cycle. So all other work stands between vector
 * instructions, and every block has the same instructions. Block 0 encrypts zeroes, and a packet's last bytes are
 * encrypted in a copy.
 */
#include "../asm.S"

#if defined(__aarch64__)

isa neon

#include "chacha20poly1305_neon_interleaved.h"

/* No blocks by rows beside the set. At most one instruction of the messages follows a vector instruction. */
.set ROW_ITEMS, 0
.set poly_burst, 1

#define CONST_SIGMA 0
#define CONST_MASK 32     /* 64 bytes of ones, then 64 of zeroes */
#define CONST_ZEROES 96
#define CONST_WORK 160

/* Scratch. */
#define POLY_S 256
#define TAG 272           /* output address of the packet that is authenticated */
#define CONSTS 280
#define MESSAGE 288
#define WORK_LEFT 296
#define TODO 304          /* two sets of four blocks: the pass's, which are to be authenticated, and the next one's */
#define COPY (TODO + 2*TODO_BYTES) /* of the pass's four blocks: the last of a packet, padded */
#define END (COPY + 4*64)

/* A block of a set. */
#define BLOCK_D 0         /* row d of the initial state: counter, nonce */
#define BLOCK_KEY 16
#define BLOCK_LANE 24
#define BLOCK_IN 32       /* 64 bytes to encrypt: of the text, of zeroes or of the copy */
#define BLOCK_OUT 40
#define BLOCK_RECORD 48   /* bytes to authenticate, or r and s; */
#define BLOCK_LENGTHS 112 /* and, after the last of a packet, its lengths */
#define BLOCK_BYTES 128
#define TODO_WORK 512     /* 8 bits for each block and each of its two double rounds */
#define TODO_PARTS 520    /* 8 bits for each block: its bytes if they are not 64 */
#define TODO_BYTES 528

/* The work beside a double round: the number of messages, at most 3, and whether a packet begins. Above that is how
 * many times 16 bytes to skip.
 */
#define WORK_BEGINS 2
#define WORK_SKIP 3
#define work(messages, begins, skip) ((messages) | (begins) << WORK_BEGINS | (skip) << WORK_SKIP)

/* Registers, beside those of the rounds. */
#define args x0
#define todo x2           /* the pass's blocks; */
#define next message      /* the next pass's, while there are no messages */
#define lane x3           /* the next block: whose */
#define block x4          /* and which */
#define last_lane x5
#define flags w6
#define work_left u3
#define rounds_done x14          /* double rounds done */
#define sigma v21

/* flags in addition to the caller's: no block is left, only records; there were copies. */
#define DRAIN 8
#define COPIED 9

/* ---- Giving out blocks ---- */

/* Temporaries, which change their meaning. */
#define lane_ t0
#define record_ t0
#define bytes_ t1
#define whole_ t1
#define ad_bytes_ t2
#define copy_ t2
#define key_ t3
#define begins_ t3
#define nonce_ t4
#define low_ t4
#define index_ t4
#define out_ u0
#define in_ u1
#define some_w w7         /* u0 */
#define some_x u0
#define high_ u1
#define offset_ x14
#define other_in_ x14
#define left_ x11
#define none_ x0          /* -64 */
#define five_ u2
#define work_ u3          /* CONST_WORK */
#define nonce_low_w w12
#define nonce_low_ x12    /* of the packet whose blocks are being assigned; its nonce may be overwritten soon */
#define nonce_high_ x13

.set TAKE_BEGIN_ITEMS, 9
.macro take_begin_item item
    .if \item == 0
    lsl next, scratch, #1
    .elseif \item == 1
    ldr work_, [scratch, #CONSTS]
    .elseif \item == 2
    sub next, next, todo
    .elseif \item == 3
    ldr nonce_low_w, [todo, #BLOCK_BYTES*3 + BLOCK_D + 4]
    .elseif \item == 4
    mov none_, #-64
    .elseif \item == 5
    ldr nonce_high_, [todo, #BLOCK_BYTES*3 + BLOCK_D + 8]
    .elseif \item == 6
    add next, next, #2*TODO + TODO_BYTES
    .elseif \item == 7
    add work_, work_, #CONST_WORK
    .else
    mov five_, #5
    .endif
.endm

/* Instructions 0..45 that assign a block, number `at` of the next four. If no lane is left, it is a block without
 * bytes. */
.set TAKE_ITEMS, 46
.macro take_item at, item
    .if \item == 0
    cmp lane, last_lane
    .elseif \item == 1
    csel lane_, lane, last_lane, ls
    .elseif \item == 2
    lsl offset_, block, #6
    .elseif \item == 3
    ldr bytes_, [lane_, #SEALANE_LANE_BYTES]
    .elseif \item == 4
    ldp ad_bytes_, key_, [lane_, #SEALANE_LANE_AD_BYTES]
    .elseif \item == 5
    ldr nonce_, [lane_, #SEALANE_LANE_NONCE]
    .elseif \item == 6
    csel bytes_, bytes_, none_, ls
    .elseif \item == 7
    sub offset_, offset_, #64               /* of the block in the text; of block 0 -64 */
    .elseif \item == 8
    ldr some_w, [nonce_]
    .elseif \item == 9
    ldur high_, [nonce_, #4]
    .elseif \item == 10
    stp ad_bytes_, bytes_, [next, #BLOCK_BYTES*(\at) + BLOCK_LENGTHS]
    .elseif \item == 11
    sub left_, bytes_, offset_              /* from the block to the end */
    .elseif \item == 12
    cmp block, #0
    .elseif \item == 13
    csel nonce_low_, some_x, nonce_low_, eq
    .elseif \item == 14
    csel nonce_high_, high_, nonce_high_, eq
    .elseif \item == 15
    stp key_, lane_, [next, #BLOCK_BYTES*(\at) + BLOCK_KEY]
    .elseif \item == 16
    ldp out_, in_, [lane_, #SEALANE_LANE_OUT]
    .elseif \item == 17
    orr low_, block, nonce_low_, lsl #32
    .elseif \item == 18
    lsr whole_, left_, #6
    .elseif \item == 19
    add copy_, scratch, #COPY + 64*(\at)
    .elseif \item == 20
    add out_, out_, offset_
    .elseif \item == 21
    add in_, in_, offset_
    .elseif \item == 22
    sub other_in_, work_, #CONST_WORK - CONST_ZEROES
    .elseif \item == 23
    add record_, next, #BLOCK_BYTES*(\at) + BLOCK_RECORD
    .elseif \item == 24
    csel other_in_, other_in_, copy_, eq
    .elseif \item == 25
    csel copy_, record_, copy_, eq          /* which is stored last */
    .elseif \item == 26
    cset begins_, eq
    .elseif \item == 27
    ccmp whole_, #1, #0, ne                 /* hs: 64 bytes of text */
    .elseif \item == 28
    csel out_, out_, copy_, hs
    .elseif \item == 29
    csel in_, in_, other_in_, hs
    .elseif \item == 30
    stp low_, nonce_high_, [next, #BLOCK_BYTES*(\at) + BLOCK_D]
    .elseif \item == 31
    stp in_, out_, [next, #BLOCK_BYTES*(\at) + BLOCK_IN]
    .elseif \item == 32
    cmp whole_, #0
    .elseif \item == 33
    add index_, left_, #15
    .elseif \item == 34
    csel some_x, left_, xzr, eq
    .elseif \item == 35
    lsr index_, index_, #4                  /* messages left, */
    .elseif \item == 36
    strb some_w, [next, #TODO_PARTS + (\at)]
    .elseif \item == 37
    cmp index_, #5
    .elseif \item == 38
    csel index_, index_, five_, lo          /* at most 5, */
    .elseif \item == 39
    add index_, index_, begins_, lsl #3     /* and 8 more where a packet begins */
    .elseif \item == 40
    add lane_, lane, #SEALANE_LANE_STRIDE
    .elseif \item == 41
    cmp left_, #64
    .elseif \item == 42
    ldrh some_w, [work_, index_, lsl #1]
    .elseif \item == 43
    csel lane, lane, lane_, hi
    .elseif \item == 44
    csinc block, xzr, block, ls
    .else
    strh some_w, [next, #TODO_WORK + 2*(\at)]
    .endif
.endm

/* ---- Packets begin and end ---- */

/* tag = (h mod 2^130 - 5) + s mod 2^128; h < 2p, and h >= p if h + 5 reaches 2^130. */
.set TAG_ITEMS, 12
.macro tag_item item
    .if \item == 0
    adds t0, h0, #5
    .elseif \item == 1
    ldp t4, t5, [scratch, #POLY_S]
    .elseif \item == 2
    adcs t1, h1, xzr
    .elseif \item == 3
    ldr u0, [scratch, #TAG]
    .elseif \item == 4
    adc t2, h2, xzr
    .elseif \item == 5
    ldr u1, [message, #BLOCK_LANE - BLOCK_RECORD]
    .elseif \item == 6
    cmp t2, #4
    .elseif \item == 7
    csel h0, t0, h0, hs
    .elseif \item == 8
    csel h1, t1, h1, hs
    .elseif \item == 9
    adds h0, h0, t4
    .elseif \item == 10
    adc h1, h1, t5
    .else
    stp h0, h1, [u0]
    .endif
.endm

/* The tag of the packet that ends, and the key of the one that begins: r = the first words of block 0, clamped, s =
 * the next (RFC 8439, 2.5.1, 2.6). Leaves lane u1, bytes of associated data t5.
 */
.set KEY_ITEMS, TAG_ITEMS + 15
.macro key_item item
    .if \item < TAG_ITEMS
    tag_item \item
    .elseif \item == TAG_ITEMS
    ldp t0, t1, [message]
    .elseif \item == TAG_ITEMS + 1
    mov u0, #0x0ffffffc0ffffffc
    .elseif \item == TAG_ITEMS + 2
    ldp t2, t3, [message, #16]
    .elseif \item == TAG_ITEMS + 3
    ldr t4, [u1, #SEALANE_LANE_TAG]
    .elseif \item == TAG_ITEMS + 4
    and r1, t1, u0
    .elseif \item == TAG_ITEMS + 5
    orr u0, u0, #3
    .elseif \item == TAG_ITEMS + 6
    ldr t5, [u1, #SEALANE_LANE_AD_BYTES]
    .elseif \item == TAG_ITEMS + 7
    stp t2, t3, [scratch, #POLY_S]
    .elseif \item == TAG_ITEMS + 8
    add s1, r1, r1, lsr #2
    .elseif \item == TAG_ITEMS + 9
    str t4, [scratch, #TAG]
    .elseif \item == TAG_ITEMS + 10
    and r0, t0, u0
    .elseif \item == TAG_ITEMS + 11
    mov h0, xzr
    .elseif \item == TAG_ITEMS + 12
    mov h1, xzr
    .elseif \item == TAG_ITEMS + 13
    mov h2, xzr
    .else
    add message, message, #32
    .endif
.endm

/* Advances to the work of the next double round. */
.set ADVANCE_ITEMS, 4
.macro advance_item item
    .if \item == 0
    ubfx u0, work_left, #WORK_SKIP, #8 - WORK_SKIP
    .elseif \item == 1
    lsr work_left, work_left, #8
    .elseif \item == 2
    add message, message, u0, lsl #4
    .else
    add rounds_done, rounds_done, #1
    .endif
.endm

/* ---- Other work spread among the rounds ---- */

#define IN_2 u0
#define OUT_2 u1
#define IN_3 u2
#define OUT_3 u3
#define IN_0 x11
#define OUT_0 x12
#define IN_1 x13
#define OUT_1 x14
#define KEY_2 t0
#define KEY_3 t1
#define KEY_0 t2
#define KEY_1 t3
#define NEXT_0 t4
#define NEXT_1 x0
#define NEXT_2 IN_2
#define NEXT_3 IN_3
#define parts_w w23       /* of the pass's blocks; KEY_2 */
#define parts t0
#define next_parts_w w24  /* KEY_3 */
#define next_parts t1
#define next_work_w w25   /* KEY_0 */
#define next_work t2

#define in_todo(at, what, more) [todo, #BLOCK_BYTES*at + BLOCK_##what + more]
#define in_next(at, what) [next, #BLOCK_BYTES*at + BLOCK_##what]

/* Loads for the first of the pass's blocks to be stored, */
.set LOAD_ITEMS, 7
.macro load_item item
    .if \item == 0
    ldp IN_2, OUT_2, in_todo(2, IN, 0)
    .elseif \item == 1
    ldr KEY_2, in_todo(2, KEY, 0)
    .elseif \item == 2
    ldp IN_3, OUT_3, in_todo(3, IN, 0)
    .elseif \item == 3
    ldp q22, q23, [IN_2]
    .elseif \item == 4
    ldp q28, q29, [KEY_2]
    .elseif \item == 5
    ldp q24, q25, [IN_2, #32]
    .else
    ldr q30, in_todo(2, D, 0)
    .endif
.endm

/* for the others, */
.set LOAD_MORE_ITEMS, 9
.macro load_more_item item
    .if \item == 0
    ldp q26, q27, [IN_3]
    .elseif \item == 1
    ldr KEY_3, in_todo(3, KEY, 0)
    .elseif \item == 2
    ldp IN_0, OUT_0, in_todo(0, IN, 0)
    .elseif \item == 3
    ldr KEY_0, in_todo(0, KEY, 0)
    .elseif \item == 4
    ldp IN_1, OUT_1, in_todo(1, IN, 0)
    .elseif \item == 5
    ldr KEY_1, in_todo(1, KEY, 0)
    .elseif \item == 6
    ldr NEXT_0, in_next(0, KEY)
    .elseif \item == 7
    ldr NEXT_1, in_next(1, KEY)
    .else
    ldr NEXT_2, in_next(2, KEY)
    .endif
.endm

/* and, later, for the second of them. */
.set LOAD_LATE_ITEMS, 9
.macro load_late_item item
    .if \item == 0
    ldp q31, q1, [IN_3, #32]
    .elseif \item == 1
    ldr q5, [KEY_3]
    .elseif \item == 2
    ldr parts_w, [todo, #TODO_PARTS]
    .elseif \item == 3
    ldr NEXT_3, in_next(3, KEY)
    .elseif putting_opened && \item == 4
    stp q22, q23, in_todo(2, RECORD, 0)
    .elseif putting_opened && \item == 6
    stp q24, q25, in_todo(2, RECORD, 32)
    .elseif putting_opened && \item == 7
    stp q26, q27, in_todo(3, RECORD, 0)
    .elseif putting_opened && \item == 8
    stp q31, q1, in_todo(3, RECORD, 32)
    .endif
.endm

.set ASIDE_TAKE, 0
.set ASIDE_BEGIN, 1
.set ASIDE_ADVANCE, 2
.set ASIDE_LOAD_MORE, 3
.set ASIDE_LOAD_LATE, 4
.macro aside_item item
    .if aside_kind == ASIDE_TAKE
    .if \item < TAKE_BEGIN_ITEMS
    take_begin_item \item
    .elseif \item < TAKE_BEGIN_ITEMS + 4*TAKE_ITEMS
    take_item ((\item-TAKE_BEGIN_ITEMS)/TAKE_ITEMS), ((\item-TAKE_BEGIN_ITEMS)%TAKE_ITEMS)
    .else
    load_item (\item - TAKE_BEGIN_ITEMS - 4*TAKE_ITEMS)
    .endif
    .elseif aside_kind == ASIDE_BEGIN && \item < KEY_ITEMS
    key_item \item
    .elseif aside_kind == ASIDE_BEGIN
    advance_item (\item - KEY_ITEMS)
    .elseif aside_kind == ASIDE_ADVANCE
    advance_item \item
    .elseif aside_kind == ASIDE_LOAD_MORE
    load_more_item \item
    .else
    load_late_item \item
    .endif
.endm

.macro asides_begin kind, count, from, gap
    .set aside_kind, \kind
    .set asides, \count
    .set aside_from, \from
    .set aside_gap, \gap
.endm

/* The rest of the asides. */
.macro asides_end
    .rept asides - aside
    aside_item aside
    .set aside, aside + 1
    .endr
.endm

/* The first four instructions of a double round. Between them, the code selects the work beside the round. */
.macro start_round from, to
    .set at, \from
    .rept \to - \from
    .set step, LAG
    .if at == 0
    quarter_step va0, vb0, vc0, vd0, vt0
    .elseif at == 1
    quarter_step va1, vb1, vc1, vd1, vt1
    .endif
    .set step, 0
    .if at == 2
    quarter_step va2, vb2, vc2, vd2, vt2
    .elseif at == 3
    quarter_step va3, vb3, vc3, vd3, vt3
    .endif
    .set at, at + 1
    .endr
.endm

/* The other instructions of the double round. */
.macro rest_of_round messages, kind, count, from, gap
    begin ROUND_VECTORS-4, 0, 0, \messages
    asides_begin \kind, \count, \from, \gap
    .set skip1, 0
    .set skip2, 0
    steps 1, 2*STEPS, 1, 1
    end
    asides_end
    begin 1, 0, 0, 0
.endm

/* A double round from its fourth instruction on, beside \messages messages. The next one follows, unless eight are
 * done. */
.macro end_round messages, from
    start_round 3, 4
    rest_of_round \messages, ASIDE_ADVANCE, ADVANCE_ITEMS, \from, 8
    tbz rounds_done, #3, .Lround
.endm

/* ---- From pass to pass ---- */

/* A row of four blocks from rows of each. */
.macro transpose_row x0, x1, x2, x3, t0_, t1_, t2_, t3_
    trn1 \t0_\().4s, \x0\().4s, \x1\().4s
    trn2 \t1_\().4s, \x0\().4s, \x1\().4s
    trn1 \t2_\().4s, \x2\().4s, \x3\().4s
    trn2 \t3_\().4s, \x2\().4s, \x3\().4s
    trn1 \x0\().2d, \t0_\().2d, \t2_\().2d
    trn1 \x1\().2d, \t1_\().2d, \t3_\().2d
    trn2 \x2\().2d, \t0_\().2d, \t2_\().2d
    trn2 \x3\().2d, \t1_\().2d, \t3_\().2d
.endm

.macro sealed instruction:vararg
    .if !putting_opened
    \instruction
    .endif
.endm

.macro opened instruction:vararg
    .if putting_opened
    \instruction
    .endif
.endm

/* The first steps of the first pair, LAG in all. */
.macro set_step at
    begin 1, 0, 0, 0
    first_pair \at
.endm

/* Transposes the set's blocks, adds their initial states and the text, and stores them. Also makes the next set's
 * initial states. There are two vector instructions for every two cycles in which registers are loaded or stored.
 */
.macro put_and_begin opened_
    .set putting_opened, \opened_
    begin 1, 0, 0, 0
    asides_begin ASIDE_LOAD_MORE, LOAD_MORE_ITEMS, 0, 8
    transpose va0, va1, va2, va3, vt0, vb0, vb1, vb2, vb3, vt1
    asides_end
    begin 1, 0, 0, 0
    asides_begin ASIDE_LOAD_LATE, LOAD_LATE_ITEMS, 0, 8
    transpose vc0, vc1, vc2, vc3, vt2, vd0, vd1, vd2, vd3, vt3
    asides_end
    begin 1, 0, 0, 0
    add v0.4s, v0.4s, sigma.4s
    add v4.4s, v4.4s, v28.4s
    ldr q9, [KEY_3, #16]
    add v8.4s, v8.4s, v29.4s
    add v12.4s, v12.4s, v30.4s
    ldr q13, in_todo(3, D, 0)
    eor v22.16b, v22.16b, v0.16b
    eor v23.16b, v23.16b, v4.16b
    ldp q28, q29, [KEY_0]
    eor v24.16b, v24.16b, v8.16b
    eor v25.16b, v25.16b, v12.16b
    ldr q30, in_todo(0, D, 0)
    add v3.4s, v3.4s, sigma.4s
    add v7.4s, v7.4s, v5.4s
    stp q22, q23, [OUT_2]
    add v11.4s, v11.4s, v9.4s
    add v15.4s, v15.4s, v13.4s
    stp q24, q25, [OUT_2, #32]
    eor v3.16b, v3.16b, v26.16b
    eor v7.16b, v7.16b, v27.16b
    sealed stp q22, q23, in_todo(2, RECORD, 0)
    opened ldp q22, q23, [IN_0]
    eor v11.16b, v11.16b, v31.16b
    eor v15.16b, v15.16b, v1.16b
    sealed stp q24, q25, in_todo(2, RECORD, 32)
    opened ldp q24, q25, [IN_0, #32]
    add v2.4s, v2.4s, sigma.4s
    ldr q5, [KEY_1]
    add v6.4s, v6.4s, v28.4s
    ldr next_parts_w, [next, #TODO_PARTS]
    add v10.4s, v10.4s, v29.4s
    sealed ldp q22, q23, [IN_0]
    opened stp q22, q23, in_todo(0, RECORD, 0)
    add v14.4s, v14.4s, v30.4s
    add v16.4s, v16.4s, sigma.4s
    sealed ldp q24, q25, [IN_0, #32]
    opened stp q24, q25, in_todo(0, RECORD, 32)
    add v17.4s, v17.4s, v5.4s
    ldr q9, [KEY_1, #16]
    orr parts, parts, next_parts, lsl #32
    eor v22.16b, v22.16b, v2.16b
    ldr q13, in_todo(1, D, 0)
    eor v23.16b, v23.16b, v6.16b
    ldp q26, q27, [IN_1]
    eor v24.16b, v24.16b, v10.16b
    eor v25.16b, v25.16b, v14.16b
    ldp q31, q28, [IN_1, #32]
    add v18.4s, v18.4s, v9.4s
    add v19.4s, v19.4s, v13.4s
    dup va2.4s, sigma.s[2]
    ldp q4, q8, [NEXT_0]
    opened stp q26, q27, in_todo(1, RECORD, 0)
    eor v26.16b, v26.16b, v16.16b
    eor v27.16b, v27.16b, v17.16b
    opened stp q31, q28, in_todo(1, RECORD, 32)
    ldp q5, q9, [NEXT_1]
    eor v31.16b, v31.16b, v18.16b
    eor v28.16b, v28.16b, v19.16b
    ldp q6, q10, [NEXT_2]
    ldrh next_work_w, [next, #TODO_WORK]
    trn1 v16.4s, vb0.4s, vb1.4s
    trn2 v17.4s, vb0.4s, vb1.4s
    ldp q1, q0, [NEXT_3]
    trn1 v18.4s, vc0.4s, vc1.4s
    trn2 v19.4s, vc0.4s, vc1.4s
    ldr q12, in_next(0, D)
    ldr q13, in_next(1, D)
    trn1 v29.4s, v6.4s, v1.4s
    trn2 v30.4s, v6.4s, v1.4s
    ldr q14, in_next(2, D)
    ldr q1, in_next(3, D)
    trn1 vc0.4s, v10.4s, v0.4s
    trn2 vc1.4s, v10.4s, v0.4s
    stp q3, q7, [OUT_3]
    trn1 vb0.2d, v16.2d, v29.2d
    trn2 vb2.2d, v16.2d, v29.2d
    sealed stp q3, q7, in_todo(3, RECORD, 0)
    trn1 vb1.2d, v17.2d, v30.2d
    dup va0.4s, sigma.s[0]
    stp q11, q15, [OUT_3, #32]
    trn2 vb3.2d, v17.2d, v30.2d
    trn1 v16.4s, vd0.4s, vd1.4s
    sealed stp q11, q15, in_todo(3, RECORD, 32)
    trn2 v17.4s, vd0.4s, vd1.4s
    trn1 v29.4s, vd2.4s, v1.4s
    stp q22, q23, [OUT_0]
    trn2 v30.4s, vd2.4s, v1.4s
    trn2 vc2.2d, v18.2d, vc0.2d
    stp q24, q25, [OUT_0, #32]
    dup va1.4s, sigma.s[1]
    trn1 vc0.2d, v18.2d, vc0.2d
    sealed stp q22, q23, in_todo(0, RECORD, 0)
    trn2 vc3.2d, v19.2d, vc1.2d
    trn1 vc1.2d, v19.2d, vc1.2d
    sealed stp q24, q25, in_todo(0, RECORD, 32)
    trn1 vd0.2d, v16.2d, v29.2d
    trn1 vd1.2d, v17.2d, v30.2d
    ldr work_left, [todo, #TODO_WORK]
    set_step 0
    stp q26, q27, [OUT_1]
    trn2 vd2.2d, v16.2d, v29.2d
    trn2 vd3.2d, v17.2d, v30.2d
    stp q31, q28, [OUT_1, #32]
    mov rounds_done, xzr
    dup va3.4s, sigma.s[3]
    mov one, #1
    sealed stp q26, q27, in_todo(1, RECORD, 0)
    set_step 1
    sealed stp q31, q28, in_todo(1, RECORD, 32)
    add u0, todo, #BLOCK_RECORD
    mov todo, next
    mov message, u0
.endm

/* The same for the first set. */
.macro begin_first
    ldr u0, in_next(0, KEY)
    ldr u1, in_next(1, KEY)
    ldr u2, in_next(2, KEY)
    ldr u3, in_next(3, KEY)
    ldp q4, q8, [u0]
    ldp q5, q9, [u1]
    ldp q6, q10, [u2]
    ldp q7, q11, [u3]
    ldr q12, in_next(0, D)
    ldr q13, in_next(1, D)
    ldr q14, in_next(2, D)
    ldr q15, in_next(3, D)
    transpose_row vb0, vb1, vb2, vb3, v16, v17, v18, v19
    transpose_row vc0, vc1, vc2, vc3, v22, v23, v24, v25
    transpose_row vd0, vd1, vd2, vd3, v26, v27, v28, v29
    dup va0.4s, sigma.s[0]
    dup va1.4s, sigma.s[1]
    dup va2.4s, sigma.s[2]
    dup va3.4s, sigma.s[3]
    set_step 0
    set_step 1
    mov rounds_done, xzr
    mov one, #1
    mov work_left, xzr
    mov todo, next
.endm

#define u4 x11
#define u5 x12
#define u6 x13
/* 2^bit bytes, if that bit is set in u4, by way of a register; h: of two bytes. */
.macro copy_if bit, register, from, to, h
    tbz u4, #\bit, .Lcopied\@
    ldr\h \register, [\from], #1 << \bit
    str\h \register, [\to], #1 << \bit
.Lcopied\@:
.endm

/* The u4 < 64 bytes at from to to, both of which move on. */
.macro copy_part name, from, to
    tbz u4, #5, .Lcopy16_\name
    ldp q28, q29, [\from], #32
    stp q28, q29, [\to], #32
.Lcopy16_\name:
    copy_if 4, q28, \from, \to
    copy_if 3, t1, \from, \to
    copy_if 2, w24, \from, \to              /* t1 */
    copy_if 1, w24, \from, \to, h
    tbz u4, #0, .Lcopied_\name
    ldrb w24, [\from]
    strb w24, [\to]
.Lcopied_\name:
.endm

/* ---- The kernel ---- */

function sealane_chacha20poly1305_batch_neon
    ldp lane, u0, [args, #SEALANE_BATCH_LANES]
    ldr flags, [args, #SEALANE_BATCH_FLAGS]
    ldp q21, q20, [x2, #CONST_SIGMA]    /* q20: rotate8 */
    str x2, [scratch, #CONSTS]
    cbz u0, .Lwipe
    mov block, xzr
    sub u0, u0, #1
    add last_lane, lane, u0, lsl #6
    add next, scratch, #TODO

/* No packet has begun, so the result of authentication before that is discarded. */
    add u0, scratch, #MESSAGE
    str u0, [scratch, #TAG]
    mov h0, xzr
    mov h1, xzr
    mov h2, xzr
    stp xzr, xzr, [scratch, #POLY_S]
    .set aside, TAKE_BEGIN_ITEMS
    asides_begin ASIDE_TAKE, TAKE_BEGIN_ITEMS + 4*TAKE_ITEMS, 0, 0
    mov none_, #-64
    add work_, x2, #CONST_WORK
    mov five_, #5
    asides_end
    begin_first
    ldr parts_w, [todo, #TODO_PARTS]
    mov next_work, #1
    lsl parts, parts, #32
    cbnz parts, .Lparts_in

/* A double round, and beside it a part of the work that the previous pass has left. */
.Lround:
    begin 1, 0, 0, 0
    start_round 0, 1
    tbnz work_left, #WORK_BEGINS, .Lround_begins
    start_round 1, 2
    tbnz work_left, #1, .Lround_2_3
    start_round 2, 3
    tbnz work_left, #0, .Lround_1
    end_round 0, 80
    b .Lrounds_done
.Lround_1:
    end_round 1, 80
    b .Lrounds_done
.Lround_begins:
    start_round 1, 4
    rest_of_round 0, ASIDE_BEGIN, KEY_ITEMS + ADVANCE_ITEMS, 0, 24
    cbnz t5, .Lad
.Lround_begun:
    tbz rounds_done, #3, .Lround
    b .Lrounds_done
.Lround_2_3:
    start_round 2, 3
    tbnz work_left, #0, .Lround_3
    end_round 2, 100
    b .Lrounds_done
.Lround_3:
    end_round 3, 100

/* The last two double rounds, and beside them the next pass's blocks are given out. */
.Lrounds_done:
    begin ROUND_VECTORS+LAST_VECTORS, 0, 0, 0
    asides_begin ASIDE_TAKE, TAKE_BEGIN_ITEMS + 4*TAKE_ITEMS + LOAD_ITEMS, 0, 8
    .set skip1, 0
    .set skip2, 0
    steps 0, 4*STEPS, 1, 0
    asides_end
    tbnz flags, #2, .Lput_open
    put_and_begin 0
    cbnz parts, .Lparts_out
    cbnz next_work, .Lround
    b .Llast
.Lput_open:
    put_and_begin 1
    cbnz parts, .Lparts_out
.Lput:
    cbnz next_work, .Lround

/* No block is left, only the work of the last pass. */
.Llast:
    orr flags, flags, #1 << DRAIN
.Ldrain:
    tbz work_left, #WORK_BEGINS, .Ldrain_begun
    .set aside, 0
    asides_begin ASIDE_BEGIN, KEY_ITEMS, 0, 0
    asides_end
    cbnz t5, .Lad
.Ldrain_begun:
    and u1, work_left, #3
    cbz u1, .Ldrain_advance
.Ldrain_message:
    poly_blocks 1
    subs u1, u1, #1
    b.ne .Ldrain_message
.Ldrain_advance:
    .set aside, 0
    asides_begin ASIDE_ADVANCE, ADVANCE_ITEMS, 0, 0
    asides_end
    tbz rounds_done, #3, .Ldrain
    .set aside, 0
    .rept TAG_ITEMS
    tag_item aside
    .set aside, aside + 1
    .endr
    b .Lwipe

/* The associated data, t5 bytes, of lane u1. */
.Lad:
    stp message, work_left, [scratch, #MESSAGE]
    ldr message, [u1, #SEALANE_LANE_AD]
    subs u0, t5, #16
    b.lo .Lad_tail
.Lad_block:
    poly_blocks 1
    subs u0, u0, #16
    b.hs .Lad_block
    ad_tail
    ldp message, work_left, [scratch, #MESSAGE]
    tbz flags, #DRAIN, .Lround_begun
    b .Ldrain_begun

/* Last blocks of packets have `parts` bytes, 8 bits for each of the pass's blocks. They are copied to their place
 * when they are encrypted. In the record, zeroes follow them up to 16 bytes, then the lengths.
 */
.Lparts_out:
    sub u1, message, #BLOCK_RECORD
    add u2, scratch, #COPY
    and u0, parts, #0xffffffff
    cbz u0, .Lparts_in
.Lpart_out:
    ands u4, u0, #0xff
    b.eq .Lpart_put
    ldr u6, [scratch, #CONSTS]
    add u6, u6, #CONST_MASK + 64
    ldp q22, q23, [u1, #BLOCK_RECORD]
    sub u6, u6, u4
    ldp q24, q25, [u1, #BLOCK_RECORD + 32]
    ldp q26, q27, [u6]
    ldp q28, q29, [u6, #32]
    add u6, u4, #15
    and v22.16b, v22.16b, v26.16b
    lsr u6, u6, #4
    and v23.16b, v23.16b, v27.16b
    add u6, u1, u6, lsl #4
    ldr q30, [u1, #BLOCK_LENGTHS]
    and v24.16b, v24.16b, v28.16b
    and v25.16b, v25.16b, v29.16b
    stp q22, q23, [u1, #BLOCK_RECORD]
    stp q24, q25, [u1, #BLOCK_RECORD + 32]
    str q30, [u6, #BLOCK_RECORD]
    ldr u5, [u1, #BLOCK_LANE]
    ldr t3, [u5, #SEALANE_LANE_BYTES]
    ldr t4, [u5, #SEALANE_LANE_OUT]
    sub t3, t3, u4
    add t4, t4, t3
    mov t3, u2
    copy_part out, t3, t4
.Lpart_put:
    lsr u0, u0, #8
    add u1, u1, #BLOCK_BYTES
    add u2, u2, #64
    cbnz u0, .Lpart_out

/* Partial blocks of the next pass are copied before they are encrypted. Zeroes follow them. */
.Lparts_in:
    lsr u0, parts, #32
    cbz u0, .Lput
    orr flags, flags, #1 << COPIED
    movi v30.16b, #0
    mov u1, todo
    add u2, scratch, #COPY
.Lpart_in:
    ands u4, u0, #0xff
    b.eq .Lpart_copied
    ldr u5, [u1, #BLOCK_LANE]
    stp q30, q30, [u2]
    stp q30, q30, [u2, #32]
    ldp t3, t4, [u5, #SEALANE_LANE_IN]      /* BYTES is the next */
    sub t4, t4, u4
    add t3, t3, t4
    mov t4, u2
    copy_part in, t3, t4
.Lpart_copied:
    lsr u0, u0, #8
    add u1, u1, #BLOCK_BYTES
    add u2, u2, #64
    cbnz u0, .Lpart_in
    b .Lput

.Lwipe:
    movi v0.16b, #0
    mov u0, #(COPY - SEALANE_SCRATCH_SAVE_BYTES + 127) / 128
    mov u1, #(END - SEALANE_SCRATCH_SAVE_BYTES + 127) / 128
    add u2, scratch, #SEALANE_SCRATCH_SAVE_BYTES
    tst flags, #1 << COPIED
    csel u0, u0, u1, eq
.Lwipe_128:
    stp q0, q0, [u2]
    stp q0, q0, [u2, #32]
    subs u0, u0, #1
    stp q0, q0, [u2, #64]
    stp q0, q0, [u2, #96]
    add u2, u2, #128
    b.ne .Lwipe_128
.Lwiped:
endfunction

constants sealane_chacha20poly1305_batch_neon_constants
    .long 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574
    .byte 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14
    .quad -1, -1, -1, -1, -1, -1, -1, -1
    .quad 0, 0, 0, 0, 0, 0, 0, 0

/* The work that a block leaves, by the messages left in its packet; 5 stands for more. A record is 8 times 16 bytes. */
    .byte 0, 0
    .byte work(1, 0, 0), work(1, 0, 6)
    .byte work(2, 0, 0), work(1, 0, 5)
    .byte work(2, 0, 0), work(2, 0, 4)
    .byte work(3, 0, 0), work(2, 0, 3)
    .byte work(2, 0, 0), work(2, 0, 4)
    .byte 0, 0, 0, 0

/* Of block 0, which is a message less than 64 bytes of text: 0 if there is no packet, 4 if it has no text. */
    .byte 0, 0
    .byte 0, 0, 0, 0, 0, 0
    .byte work(0, 1, 2), work(1, 0, 3)
    .byte work(0, 1, 0), work(0, 0, 6)
    .byte 0, 0, 0, 0
endconstants

#endif
