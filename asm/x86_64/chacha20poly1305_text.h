/* ChaCha20-Poly1305 for CPUs where an operation on vectors takes one cycle: the text of the levels avx2, avx512vl and
 * ssse3. The first two differ in how a word rotates (KERNEL_VPROLD), and in where the sixteenth word of 8 blocks is.
 * ssse3 (KERNEL_SSE) has vectors of 128 bits and halves all numbers of blocks below; half a span takes one chain, and
 * the first pass is one like the others, over an empty span.
 *
 *     void KERNEL_NAME(const args *a, void *scratch, const void *consts);
 *
 * args       all SEALANE_ARG_* (asm/args.h); writes OUT[BYTES] and, by flags, TAG[16] or STATE[64]
 * scratch    at most 1.1 KiB behind the saved registers, wiped as far as written; stack 0
 * consts     KERNEL_CONSTANTS
 * registers  all but rsp, rbp; rsi holds scratch, displaced by FRAME until the end; AVX's vectors are zeroed
 * branches   and addresses depend on pointers, BYTES, AD_BYTES, FLAGS only
 *
 * ChaCha20 (RFC 8439, 2.3): a state of 4x4 words (constants; key; key; counter, nonce), 10 double rounds of
 *     a += b, d = (d ^ a) <<< 16;  c += d, b = (b ^ c) <<< 12;  a += b, d = (d ^ a) <<< 8;  c += d, b = (b ^ c) <<< 7
 * on the 4 columns, then on the 4 diagonals; the key stream block is the result plus the initial state. Block 0 has
 * the Poly1305 key r, s (2.6).
 * Poly1305 (2.5): h = (h + m) r mod p = 2^130 - 5 for each block m of 16 bytes and a one above it. With h = h0 + 2^64
 * h1 + 2^128 h2, r = r0 + 2^64 r1, 4 | r1 (clamped), and 2^130 = 5, that is 2^128 r1 = s1 := r1 + r1/4:
 *     h r = (h0 r0 + h1 s1) + 2^64 (h0 r1 + h1 r0 + h2 s1) + 2^128 (h2 r0),   then h += 5 (h >> 130) without those.
 * Two chains can share a long span of blocks, as each step waits for the one before: A has all but the last l, B those;
 * if A has added its last block, but not yet multiplied it, the sum of both is hA r^(l+1) + hB. The powers cost some 90
 * cycles that nothing hides: a packet has them where they save more, and else chain A alone.
 *
 * Two layouts. Rows: a vector has one row of two blocks' states; a set of four vectors is two blocks, and one to three
 * sets are in work together. Columns: a vector has one word of 8 blocks.
 *
 * The way of a packet. First pass: block 0 and the first text blocks, by
 *     1, 2 or 3 sets of rows    up to 64, 192, 320 bytes; what is opened and longer begins with as many blocks as leave
 *                               whole passes of 8
 *     columns                   otherwise
 * Passes of 8 blocks in columns follow, then, if sealed, 1 to 3 sets of rows. In each of them Poly1305 runs beside the
 * rounds: over what this pass opens, or over what the pass before sealed. The key stream of the first pass, and of a
 * pass that is not full, goes through STREAM. What the first pass opens in a long packet, avx2 authenticates beside the
 * two passes behind it (.Lbehind).
 *
 * Where passes begin, by the bytes of text in them:
 *               first pass                             later passes
 *     avx2      to 64 .Lone_set, 192 .Ltwo_sets,       to 128 .Lone_set_later, 256 .Ltwo_sets_later,
 *               320 .Lthree_sets, 448 .Lkey_columns    384 .Lthree_sets_later, 512 .Lcolumns
 *     avx512vl  to 64 .Lone_set, 192 .Ltwo_sets,       the same
 *               320 .Lthree_sets_later, 448 .Lcolumns
 *     ssse3     to 64 .Ltwo_sets_later,                to 128 .Ltwo_sets_later, 192 .Lthree_sets_later,
 *               128 .Lthree_sets_later, 192 .Lcolumns  256 .Lcolumns
 * A part that is not the first begins at .Lresume. A packet of 64 bytes that is sealed goes by .Lone_set (ssse3:
 * .Ltwo_sets_later; block 0 and the key stream), .Lkey_known (associated data), .Lxor (text), .Lpassed, .Lfinish
 * (Poly1305 of it) and .Ltag; opened, .Lfinish comes before .Lxor, and .Lfinal behind .Lpassed.
 */

/* Scratch, relative to the displaced rsi. */
#define FRAME (SEALANE_SCRATCH_SAVE_BYTES + 128)
#define ARGS -128
#define TABLE_AT -120       /* the constants */
#define IN -112
#define OUT -104
#define LEFT -96            /* bytes of IN */
#define CHUNK -88           /* bytes of them in this pass */
#define SPAN -80            /* what is being authenticated */
#define A_END -64           /* where chain A ends, */
#define B_END -56           /* and chain B, */
#if defined(KERNEL_SSE)
#define SPAN_END A_END      /* of which there is none; */
#else
#define SPAN_END B_END      /* with which the span ends; */
#endif
#define TAIL -48            /* bytes behind both: less than a block */
#define POWER_AT -40        /* r^(l+1), or 0 where chain B is empty */
#define COUNT -32
#define KEY_AT -24
#if defined(KERNEL_SSE)
#define AHEAD -16           /* bytes of key stream before STREAM: 64 in the first pass, then none (not avx2) */
#else
#define AHEAD -72
#define HELD -16            /* bytes of text before IN that the key stream in STREAM is for, */
#define LAG -12             /* and how many of them are not authenticated yet (avx2, opening) */
#define POWERS_KNOWN -8     /* how many, or 0: then there is no chain B */
#endif
#define H 0                 /* h0, h1, h2 */
#define R 24                /* r0, r1, s1 */
#define NONCE_ROW 48        /* row d of the next block: counter, nonce */
#define MASKS (64-4*8)      /* + 4 left: the bytes of words <<< 8, then 16 */
#define S 128
#if defined(KERNEL_SSE)
#define VECTOR 16
#define KEY 160             /* aligned */
#define STREAM 256          /* key stream of up to 4 blocks; block 0 before it */
#define C_ROW(i) (512+16*(i))
#define END 576
#else
#define VECTOR 32
#define POWERS 160          /* r^2, r^4, r^8, r^16, three words each */
#define STREAM 320          /* key stream of up to 8 blocks; block 0 before it */
#define C_ROW(i) (832+32*(i))
#define END 960
#endif
#define SET (4*VECTOR)      /* bytes of key stream of a set of rows, */
#define COLUMNS (16*VECTOR) /* and of columns */

#define CONST_SIGMA 0
#if defined(KERNEL_SSE)
#define CONST_ROWS 16       /* 0 in word 0 */
#define CONST_ROWS2 32      /* 1 */
#define CONST_ROWS4 48      /* 2 */
#define CONST_COUNT 64      /* 0 to 3 */
#define CONST_SIGMAS 80     /* each word of sigma four times */
#define CONST_ROTATE 112    /* + 4 left: the bytes of words <<< 8, then 16 */
#define CONST_CLAMP 160     /* between these */
#else
#define CONST_CLAMP 16
#define CONST_ROWS 32       /* 0, 1 in word 0 of the lanes */
#define CONST_ROWS2 64      /* 2, 3 */
#define CONST_ROWS4 96      /* 4, 5 */
#define CONST_COUNT 128     /* 0 to 7 */
#define CONST_SIGMAS 160    /* each word of sigma eight times */
#define CONST_ROTATE 256    /* + 4 left: the bytes of words <<< 8, then 16 */
#endif

#if defined(KERNEL_SSE)
#include "sse.h"
#elif !defined(KERNEL_VPROLD)
#define KERNEL_LAG          /* see .Lbehind: it pays where six instructions go into a cycle, and costs 1.4 KiB */
#endif
#if defined(KERNEL_SSE) || defined(KERNEL_VPROLD)
#define KERNEL_AHEAD        /* the first pass, from 193 bytes on (ssse3: any), is one like the others, of no span */
#endif
#include "chacha20_columns.h"


// ---- ChaCha20, rows -------------------------------------------------------------------------------------------------
#define SET0 ymm0, ymm3, ymm6, ymm9
#define SET1 ymm1, ymm4, ymm7, ymm10
#define SET2 ymm2, ymm5, ymm8, ymm11
#define U0 ymm12
#define U1 ymm13
#define ROWS16 ymm14
#define ROWS8 ymm15

.macro rows_half a, b, c, d, t
    vpaddd \a, \a, \b
    vpxor \d, \d, \a
    rotate_bytes ROTATE_1, \d, ROWS16
    vpaddd \c, \c, \d
    vpxor \b, \c, \b
    rotate_row ROTATE_2, \b, \t
.endm

.macro rows_other_half order_a, order_c, a, b, c, d, t
    vpaddd \a, \a, \b
    vpxor \d, \d, \a
    rotate_bytes ROTATE_3, \d, ROWS8
    vpaddd \c, \c, \d
    vpxor \b, \c, \b
    vpshufd \a, \a, \order_a
    rotate_row ROTATE_4, \b, \t
    vpshufd \d, \d, 0x4e
    vpshufd \c, \c, \order_c
.endm

// Columns if a and c rotate by 1 and 3 words before the next round, diagonals if by 3 and 1: b, always last, stays.
.macro rows_round sets, order_a, order_c
    rows_half SET0, U0
  .if \sets > 1
    rows_half SET1, U1
  .endif
  .if \sets > 2
    rows_half SET2, U0
  .endif
    rows_other_half \order_a, \order_c, SET0, U0
  .if \sets > 1
    rows_other_half \order_a, \order_c, SET1, U1
  .endif
  .if \sets > 2
    rows_other_half \order_a, \order_c, SET2, U0
  .endif
.endm

.macro rows_column_round sets
    rows_round \sets, 0x93, 0x39
.endm

.macro rows_diagonal_round sets
    rows_round \sets, 0x39, 0x93
.endm

// the initial states of the next blocks; the constants at rdx, the key at rax
.macro rows_begin sets
    vbroadcasti128 ymm9, [rsi+NONCE_ROW]
    vbroadcasti128 ymm0, [rdx+CONST_SIGMA]
    vbroadcasti128 ymm3, [rax]
    vbroadcasti128 ymm6, [rax+16]
  .if \sets > 2
    vmovdqa ymm2, ymm0
    vmovdqa ymm5, ymm3
    vmovdqa ymm8, ymm6
    vpaddd ymm11, ymm9, [rdx+CONST_ROWS4]
  .endif
  .if \sets > 1
    vmovdqa ymm1, ymm0
    vmovdqa ymm4, ymm3
    vmovdqa ymm7, ymm6
    vpaddd ymm10, ymm9, [rdx+CONST_ROWS2]
  .endif
    vpaddd ymm9, ymm9, [rdx+CONST_ROWS]
#if !defined(KERNEL_VPROLD)
    vmovdqa ROWS16, [rdx+CONST_ROTATE+4*16]
    vmovdqa ROWS8, [rdx+CONST_ROTATE+4*8]
#endif
.endm

// added again
.macro rows_end sets
    vbroadcasti128 U0, [rdx+CONST_SIGMA]
    vbroadcasti128 U1, [rax]
    vbroadcasti128 ROWS16, [rax+16]
    vbroadcasti128 ROWS8, [rsi+NONCE_ROW]
    rows_add SET0, CONST_ROWS
  .if \sets > 1
    rows_add SET1, CONST_ROWS2
  .endif
  .if \sets > 2
    rows_add SET2, CONST_ROWS4
  .endif
.endm

.macro rows_add a, b, c, d, counters
    vpaddd \a, \a, U0
    vpaddd \b, \b, U1
    vpaddd \c, \c, ROWS16
    vpaddd \d, \d, ROWS8
    vpaddd \d, \d, [rdx+\counters]
.endm

#if defined(KERNEL_SSE)
// the block of a set, at that place of rcx
.macro rows_block a, b, c, d, place
    movdqa [rcx+\place], \a
    movdqa [rcx+\place+16], \b
    movdqa [rcx+\place+32], \c
    movdqa [rcx+\place+48], \d
.endm
#else
// block 2i+1 of a set, then block 2i, at that place of ROWS_AT
#if defined(KERNEL_VPROLD)
#define ROWS_AT rcx
#else
#define ROWS_AT rsi+STREAM
#endif
.macro rows_odd_block a, b, c, d, place
    vperm2i128 U0, \a, \b, 0x31
    vperm2i128 U1, \c, \d, 0x31
    vmovdqa [ROWS_AT+\place], U0
    vmovdqa [ROWS_AT+\place+32], U1
.endm

.macro rows_even_block a, b, c, d, place
    vinserti128 U0, \a, \b, 1
    vinserti128 U1, \c, \d, 1
    vmovdqa [ROWS_AT+\place], U0
    vmovdqa [ROWS_AT+\place+32], U1
.endm

.macro rows_later_sets sets, place
  .if \sets > 1
    rows_even_block ymm1, xmm4, ymm7, xmm10, \place
    rows_odd_block ymm1, ymm4, ymm7, ymm10, \place+64
  .endif
  .if \sets > 2
    rows_even_block ymm2, xmm5, ymm8, xmm11, \place+128
    rows_odd_block ymm2, ymm5, ymm8, ymm11, \place+192
  .endif
.endm
#endif

// ---- ChaCha20, columns ----------------------------------------------------------------------------------------------
// word i of the row at \from, which is aligned where there is no AVX
.macro broadcast_word to, from, i
#if defined(KERNEL_SSE)
    pshufd \to, [\from], 0x55*\i
#else
    vpbroadcastd \to, [\from+4*\i]
#endif
.endm

// the initial states of the next eight blocks; the constants at rdx, the key at rdi
.macro columns_begin
#if !defined(KERNEL_VPROLD)
    vmovdqa A0, [rdx+CONST_ROTATE+4*8]
    vmovdqa A1, [rdx+CONST_ROTATE+4*16]
    vmovdqa [rsi+MASKS+4*8], A0
    vmovdqa [rsi+MASKS+4*16], A1
#endif
    broadcast_word C0, rdi+16, 3
#if !defined(KERNEL_VPROLD)
    vmovdqa [rsi+C_ROW(3)], C0
#else
    vmovdqa C3, C0
#endif
    broadcast_word D0, rsi+NONCE_ROW, 0
    vmovdqa A0, [rdx+CONST_SIGMAS]
    vmovdqa A1, [rdx+CONST_SIGMAS+VECTOR]
    vmovdqa A2, [rdx+CONST_SIGMAS+2*VECTOR]
    vmovdqa A3, [rdx+CONST_SIGMAS+3*VECTOR]
    vpaddd D0, D0, [rdx+CONST_COUNT]
    broadcast_word B0, rdi, 0
    broadcast_word B1, rdi, 1
    broadcast_word B2, rdi, 2
    broadcast_word B3, rdi, 3
    broadcast_word D1, rsi+NONCE_ROW, 1
    broadcast_word D2, rsi+NONCE_ROW, 2
    broadcast_word D3, rsi+NONCE_ROW, 3
    broadcast_word C0, rdi+16, 0
    broadcast_word C1, rdi+16, 1
    broadcast_word C2, rdi+16, 2
.endm

.macro add_word to, from, i, t
    broadcast_word \t, \from, \i
    vpaddd \to, \t, \to
.endm

.macro transpose_four x, y, z, w, s, t     // result in order: y, w, s, t
    vpunpckldq \s, \x, \y
    vpunpckhdq \x, \x, \y
    vpunpckldq \t, \z, \w
    vpunpckhdq \z, \z, \w
    vpunpcklqdq \y, \s, \t
    vpunpckhqdq \w, \s, \t
    vpunpcklqdq \s, \x, \z
    vpunpckhqdq \t, \x, \z
.endm

// 32 bytes of blocks i and i + 4, or of block i alone, xored with what lies at in or not
.macro columns_pair x, y, place, in, out
#if defined(KERNEL_SSE)
  .ifnc \in, nothing
    movdqu A0, [\in+\place]
    movdqu A2, [\in+\place+16]
    pxor \x, A0
    pxor xmm\y, A2
  .endif
    movdqu [\out+\place], \x
    movdqu [\out+\place+16], xmm\y
#else
    vinserti128 A0, \x, xmm\y, 1
    vperm2i128 A2, \x, ymm\y, 0x31
  .ifnc \in, nothing
    vpxor A0, A0, [\in+\place]
    vpxor A2, A2, [\in+\place+256]
  .endif
    vmovdqu [\out+\place], A0
    vmovdqu [\out+\place+256], A2
#endif
.endm

// key stream of eight blocks; the constants at rdx, the key at rax
.macro columns_end in, out
#if defined(KERNEL_VPROLD)
    vmovdqa [rsi+C_ROW(3)], C3
#endif
    vmovdqa [rsi+C_ROW(0)], C0
    vmovdqa [rsi+C_ROW(1)], C1
    vmovdqa [rsi+C_ROW(2)], C2
    vpaddd A0, A0, [rdx+CONST_SIGMAS]
    vpaddd A1, A1, [rdx+CONST_SIGMAS+VECTOR]
    vpaddd A2, A2, [rdx+CONST_SIGMAS+2*VECTOR]
    vpaddd A3, A3, [rdx+CONST_SIGMAS+3*VECTOR]
    add_word B0, rax, 0, T0
    add_word B1, rax, 1, C0
    add_word B2, rax, 2, C1
    add_word B3, rax, 3, C2
    transpose_four A0, A1, A2, A3, C0, C1
    transpose_four B0, B1, B2, B3, C2, T0
    columns_pair A1, 5, 0, \in, \out
    columns_pair A3, 7, 64, \in, \out
    columns_pair C0, 14, 128, \in, \out
    columns_pair C1, 15, 192, \in, \out
    broadcast_word A0, rax+16, 0
    broadcast_word A1, rax+16, 1
    broadcast_word A2, rax+16, 2
    broadcast_word A3, rax+16, 3
    vpaddd A0, A0, [rsi+C_ROW(0)]
    vpaddd A1, A1, [rsi+C_ROW(1)]
    vpaddd A2, A2, [rsi+C_ROW(2)]
    vpaddd A3, A3, [rsi+C_ROW(3)]
    add_word D0, rsi+NONCE_ROW, 0, B0
    vpaddd D0, D0, [rdx+CONST_COUNT]
    add_word D1, rsi+NONCE_ROW, 1, B1
    add_word D2, rsi+NONCE_ROW, 2, B2
    add_word D3, rsi+NONCE_ROW, 3, B3
    transpose_four A0, A1, A2, A3, B0, B1
    transpose_four D0, D1, D2, D3, B2, B3
    columns_pair A1, 9, 32, \in, \out
    columns_pair A3, 11, 96, \in, \out
    columns_pair B0, 6, 160, \in, \out
    columns_pair B1, 7, 224, \in, \out
.endm

// ---- Poly1305 -------------------------------------------------------------------------------------------------------
#define HA0 r8              /* chain A */
#define HA1 r9
#define HA2 r10
#define MA r11              /* its next block */
#define HB0 r12             /* chain B */
#define HB1 r13
#define HB2 r14
#define MB r15
#define X0 rax
#define X1 rbx
#define Y0 rcx
#define Y1 rdi
#define P0 rax              /* a product of five words */
#define P1 rcx
#define P2 rbx
#define P3 rdi
#define P4 r11

.macro poly_load
    mov HA0, [rsi+H]
    mov HA1, [rsi+H+8]
    mov HA2, [rsi+H+16]
.endm

.macro poly_store
    mov [rsi+H], HA0
    mov [rsi+H+8], HA1
    mov [rsi+H+16], HA2
.endm

.macro poly_add h0, h1, h2, m
    add \h0, [\m]
    adc \h1, [\m+8]
    adc \h2, 1
    add \m, 16
.endm

// the next block comes into the sums x = (h0, X1), y = (Y0, Y1) of this product
.macro poly_add_next h0, m
  .ifnb \m
    add \h0, [\m]
    adc X1, 0
    add Y0, [\m+8]
    adc Y1, 1
    add \m, 16
  .endif
.endm

// h = x + y 2^64, with x = (h0, h1) and y = (Y0, Y1): what reaches 2^130 turns back; the carry from there stays above
.macro poly_fold h0, h1, h2
    mov \h2\()d, edi
    and \h2\()d, 3
    shr Y1, 2
    lea Y1, [Y1+4*Y1]                       // 2^130 = 5
    add \h0, Y1
    adc \h1, Y0
    adc \h2, 0
.endm

// h r, or h r + m: the next product waits for less if m comes into the sums of this one. What reaches 2^130 turns back
// as soon as y is there; so h is below (5 + 2^-60) 2^128, and h2 <= 11 in the sum of two such and a block, with h1 <
// 2^8 then: x1 < 2^64, as r0 < 2^60 and s1 < 1.25 2^60.
#if defined(KERNEL_SSE)
.macro poly_multiply h0, h1, h2, m
    mov rax, [rsi+R+8]
    mul \h0                                 // y = h0 r1: rcx, rdi
    mov Y0, rax
    mov Y1, rdx
    mov rax, [rsi+R]
    mul \h0                                 // x = h0 r0: h0, rbx
    mov \h0, rax
    mov X1, rdx
    poly_add_next \h0, \m
    mov rax, [rsi+R]
    mul \h1                                 // y += h1 r0
    add Y0, rax
    adc Y1, rdx
    mov rax, [rsi+R+16]
    mul \h1                                 // h1 s1
    mov \h1, [rsi+R+16]
    imul \h1, \h2                           // x += h2 s1 2^64: see above
    imul \h2, [rsi+R]                       // y += h2 r0 2^64
    add Y1, \h2
    add \h1, X1
    add \h0, rax
    adc \h1, rdx
    poly_fold \h0, \h1, \h2
.endm
#else
.macro poly_multiply h0, h1, h2, m
    mov rdx, \h0
    mulx Y1, Y0, [rsi+R+8]                  // y = h0 r1
    mulx X1, \h0, [rsi+R]                   // x = h0 r0
    poly_add_next \h0, \m
    mov rdx, \h1
    mulx X0, \h1, [rsi+R]                   // y += h1 r0
    add Y0, \h1
    adc Y1, X0
    mulx \h1, X0, [rsi+R+16]                // x += h1 s1
    mov rdx, \h2
    imul \h2, [rsi+R]                       // y += h2 r0 2^64
    imul rdx, [rsi+R+16]                    // x += h2 s1 2^64: see above
    add Y1, \h2
    add X1, rdx
    add \h0, X0
    adc \h1, X1
    poly_fold \h0, \h1, \h2
.endm
#endif

#if !defined(KERNEL_SSE)
// hA = (p0, p1, p2, p3, p4) mod 2^130 - 5, a little above 2^130 at most
.macro poly_reduce
    mov HA0, P2
    mov r10d, ebx
    mov rdx, P3
    mov HA1, P4
    and HA0, -4
    and r10d, 3
    shl rdx, 62
    shl HA1, 62
    shr P2, 2
    or P2, rdx
    add P0, HA0                             // + 4 floor(p / 2^130)
    adc P1, P3
    adc HA2, P4
    shr P3, 2
    shr P4, 2
    or P3, HA1
    add P0, P2                              // + floor(p / 2^130)
    adc P1, P3
    adc HA2, P4
    mov HA0, HA2
    and r10d, 3
    shr HA0, 2
    lea HA0, [HA0+4*HA0]
    add HA0, P0
    adc P1, 0
    adc HA2, 0
    mov HA1, P1
.endm

// hA *= the three words at [\at], all of them; changes MA
.macro poly_multiply_long at
    mov rdx, HA0
    xor r11d, r11d
    mulx P1, P0, [\at]
    mulx P2, P3, [\at+8]
    add P1, P3
    adc P2, 0
    mulx P3, rdx, [\at+16]
    add P2, rdx
    adc P3, 0
    mov rdx, HA1
    mulx HA1, HA0, [\at]
    add P1, HA0
    adc P2, HA1
    mulx HA1, HA0, [\at+16]
    adc P3, HA0
    adc P4, HA1
    mulx HA1, HA0, [\at+8]
    add P2, HA0
    adc P3, HA1
    adc P4, 0
    mov rdx, HA2
    mulx HA1, HA0, [\at]
    add P2, HA0
    adc P3, HA1
    adc P4, 0
    mulx HA1, HA0, [\at+8]
    add P3, HA0
    adc P4, HA1
    imul rdx, [\at+16]
    add P4, rdx
    poly_reduce
.endm

// hA = hA^2; keeps MB
.macro poly_square
    mov rdx, HA0
    mulx P1, P0, HA0                        // p0, p1 = h0^2
    mulx r13, r12, HA1
    mov rdx, HA1
    mulx P3, P2, HA1                        // p2, p3 = h1^2
    xor r11d, r11d
    add r12, r12
    adc r13, r13
    adc P3, 0                               // + 2 h0 h1 2^64
    add P1, r12
    adc P2, r13
    lea rdx, [HA2+HA2]
    mulx r13, r12, HA0                      // + 2 h0 h2 2^128
    adc P3, 0
    add P2, r12
    adc P3, r13
    mulx r13, r12, HA1                      // + 2 h1 h2 2^192
    adc P4, r13
    imul HA2, HA2                           // + h2^2 2^256
    add P3, r12
    adc P4, HA2
    poly_reduce
.endm
#endif

// r0 is rax, r1 is rcx
.macro poly_key
    mov rdx, rcx
    mov [rsi+R], rax
    shr rdx, 2
    mov [rsi+R+8], rcx
    add rdx, rcx
    mov [rsi+R+16], rdx
.endm

// (In macros without a parameter Apple's assembler does not know \@: hence those that are named none.)

#if !defined(KERNEL_SSE)
// The first ecx of r^2, r^4, r^8, r^16
.macro poly_powers none
    imul ecx, ecx, 24
    lea r14, [rsi+POWERS]
    lea r15, [rsi+POWERS+rcx]
    mov HA0, [rsi+R]
    mov HA1, [rsi+R+8]
    xor r10d, r10d
.Lpoly_powers\@:
    poly_square
    mov [r14], HA0
    mov [r14+8], HA1
    mov [r14+16], HA2
    add r14, 24
    cmp r14, r15
    jne .Lpoly_powers\@
.endm
#endif

.macro xor_unaligned to, at, t
#if defined(KERNEL_SSE)
    movdqu \t, [\at]
    pxor \to, \t
#else
    vpxor \to, \to, [\at]
#endif
.endm

// add the last ecx bytes, 1 to 15, at \from and a one behind, padded with zeroes: by two or three overlapping loads
.macro poly_tail from
    cmp ecx, 8
    jb .Lpoly_tail_0\@
    mov rax, [\from]
    mov rdx, [\from+rcx-8]
    lea ecx, [rcx*8-120]
    neg ecx
    shr rdx, cl
    shr rdx, 8
    jmp .Lpoly_tail_2\@
.Lpoly_tail_0\@:
    cmp ecx, 4
    jb .Lpoly_tail_1\@
    mov eax, [\from]
    mov edx, [\from+rcx-4]
    lea ecx, [rcx*8-32]
    shl rdx, cl
    or rax, rdx
    xor edx, edx
    jmp .Lpoly_tail_2\@
.Lpoly_tail_1\@:
    movzx eax, byte ptr [\from]
    movzx edi, byte ptr [\from+rcx-1]
    mov ebx, ecx
    lea ecx, [rcx*8-8]
    shl edi, cl
    or eax, edi
    shr ebx, 1
    movzx edx, byte ptr [\from+rbx]
    lea ecx, [rbx*8]
    shl edx, cl
    or eax, edx
    xor edx, edx
.Lpoly_tail_2\@:
    add HA0, rax
    adc HA1, rdx
    adc HA2, 1
    poly_multiply HA0, HA1, HA2
.endm

#if defined(KERNEL_SSE)
// A span of eax bytes, at most 256, at MA: its first block
.macro span_begin none
    mov edi, eax
    and edi, 15
    mov [rsi+TAIL], rdi
    and eax, -16
    lea rdi, [MA+rax]
    mov [rsi+A_END], rdi
    mov [rsi+SPAN], MA
    poly_load
    test eax, eax
    jz .Lspan_begun\@
    poly_add HA0, HA1, HA2, MA
.Lspan_begun\@:
.endm
#else
// two chains where that pays
#define TWO_CHAINS 14       /* blocks: B has 7 of them, */
#define TWO_LONG_CHAINS 24  /* or 15 */
#define LAG_PASS (16*46)    /* bytes that .Lbehind has room for */
.macro span_choose none
    xor ecx, ecx
    xor edx, edx
    cmp eax, 16*TWO_CHAINS
    jb .Lspan_choose\@
    cmp [rsi+POWERS_KNOWN], rdx
    je .Lspan_choose\@
    mov ecx, 7
    lea rdx, [rsi+POWERS+2*24]
    cmp eax, 16*TWO_LONG_CHAINS
    jb .Lspan_choose\@
    mov ecx, 15
    lea rdx, [rsi+POWERS+3*24]
.Lspan_choose\@:
.endm

// A span of eax bytes, at most 512, at MA: its first blocks
.macro span_begin none
    span_choose
    mov edi, eax
    and edi, 15
    mov [rsi+TAIL], rdi
    and eax, -16
    shl ecx, 4
    lea MB, [MA+rax]
    mov [rsi+POWER_AT], rdx
    mov [rsi+B_END], MB
    sub MB, rcx
    mov [rsi+A_END], MB
    mov [rsi+SPAN], MA
    poly_load
    xor r12d, r12d
    xor r13d, r13d
    xor r14d, r14d
    test ecx, ecx
    jz .Lspan_begin_a\@
    poly_add HB0, HB1, HB2, MB
.Lspan_begin_a\@:
    test eax, eax
    jz .Lspan_begun\@
    poly_add HA0, HA1, HA2, MA
.Lspan_begun\@:
.endm
#endif

// the next block of chain A, of chain B, if there is one; if not, on at \otherwise
.macro span_step_a none
    cmp MA, [rsi+A_END]
    je .Lspan_step_a\@
    poly_multiply HA0, HA1, HA2, MA
.Lspan_step_a\@:
.endm

.macro span_step_b otherwise
#if !defined(KERNEL_SSE)
    cmp MB, [rsi+B_END]
  .ifb \otherwise
    je .Lspan_step_b\@
  .else
    je \otherwise
  .endif
    poly_multiply HB0, HB1, HB2, MB
.Lspan_step_b\@:
#endif
.endm

// all chains have met all their blocks: h
.macro span_end none
    mov rcx, [rsi+A_END]
    cmp rcx, [rsi+SPAN]
    je .Lspan_ended\@
#if !defined(KERNEL_SSE)
    cmp qword ptr [rsi+POWER_AT], 0
    je .Lspan_one_chain\@
    poly_multiply HB0, HB1, HB2
    mov MB, [rsi+POWER_AT]
    poly_multiply_long MB                   // hA r^(l+1) + hB
    add HA0, HB0
    adc HA1, HB1
    adc HA2, HB2
    jmp .Lspan_ended\@
.Lspan_one_chain\@:
#endif
    poly_multiply HA0, HA1, HA2
.Lspan_ended\@:
    poly_store
.endm

// ---- Phases that the size classes share the text of -----------------------------------------------------------------

// where the key stream of this pass goes
.macro stream_at_rcx none
    lea rcx, [rsi+STREAM]
    sub rcx, [rsi+AHEAD]
.endm

#if defined(KERNEL_SSE)
// A pass by rows beside Poly1305
.macro pass_rows sets
    span_begin
    mov rdx, [rsi+TABLE_AT]
    mov rax, [rsi+KEY_AT]
    mov dword ptr [rsi+COUNT], 10
    rows_begin \sets
.Lpass_rows\@:
    rows_column_round \sets
    span_step_a
    rows_diagonal_round \sets
    span_step_a
    sub dword ptr [rsi+COUNT], 1
    jnz .Lpass_rows\@
    span_end
    mov rdx, [rsi+TABLE_AT]
    mov rax, [rsi+KEY_AT]
    stream_at_rcx
    rows_end \sets
    rows_block SET0, 0
    rows_block SET1, 64
  .if \sets > 2
    rows_block SET2, 128
  .endif
.endm
#else
// r and s: block 0 is the even one of the first set; the constants at rdx
.macro rows_key none
    vpand xmm12, xmm0, [rdx+CONST_CLAMP]
    vmovq rax, xmm12
    vpextrq rcx, xmm12, 1
    vmovdqa [rsi+S], xmm3
.endm

// First pass by rows: block 0 and 2 sets - 1 text blocks, beside nothing
.macro first_pass_rows sets
    rows_begin \sets
    mov ecx, 10
.Lfirst_pass_rows_0\@:
    rows_column_round \sets
    rows_diagonal_round \sets
    sub ecx, 1
    jnz .Lfirst_pass_rows_0\@
    rows_end \sets
    rows_key
#if defined(KERNEL_VPROLD)
    poly_key
    lea rcx, [rsi+STREAM]
#endif
    rows_odd_block ymm0, ymm3, ymm6, ymm9, 0
    rows_later_sets \sets, 64
#if !defined(KERNEL_VPROLD)
    poly_key
#endif
.endm

// A pass by rows beside Poly1305: a later one, or with KERNEL_AHEAD and three sets the first one too
.macro later_pass_rows sets
    span_begin
    mov rdx, [rsi+TABLE_AT]
    mov rax, [rsi+KEY_AT]
    mov dword ptr [rsi+COUNT], 10
    rows_begin \sets
.Llater_pass_rows\@:
    rows_column_round \sets
    span_step_b
    span_step_a
    rows_diagonal_round \sets
  .if \sets < 3
    span_step_b .Lno_chain_b\@
.Lno_chain_b_done\@:
  .else                                     // 3 sets have two chains whenever the span is long
    span_step_b
  .endif
    span_step_a
    sub dword ptr [rsi+COUNT], 1
    jnz .Llater_pass_rows\@
    mov rdx, [rsi+TABLE_AT]
    mov rax, [rsi+KEY_AT]
    rows_end \sets
#if defined(KERNEL_VPROLD)
  .if \sets == 3
    cmp dword ptr [rsi+AHEAD], 0
    je .Lpass_rows_0\@
    rows_key
    poly_key
.Lpass_rows_0\@:
  .endif
    stream_at_rcx
#endif
    rows_even_block ymm0, xmm3, ymm6, xmm9, 0
    rows_odd_block ymm0, ymm3, ymm6, ymm9, 64
    rows_later_sets \sets, 128
#if defined(KERNEL_VPROLD)
  .if \sets == 3
    cmp dword ptr [rsi+AHEAD], 0
    jne .Lpowers
  .endif
#endif
    jmp .Lfinish
  .if \sets < 3
.Lno_chain_b\@:
    span_step_a
    jmp .Lno_chain_b_done\@
  .endif
.endm
#endif

scratch_end FRAME + END
function KERNEL_NAME

// ---- Begin ----------------------------------------------------------------------------------------------------------
    add rsi, FRAME
    mov [rsi+TABLE_AT], rdx
    mov [rsi+ARGS], rdi
    mov r8, [rdi+SEALANE_ARG_OUT]
    mov rcx, [rdi+SEALANE_ARG_IN]
    mov rbx, [rdi+SEALANE_ARG_BYTES]
    mov rax, [rdi+SEALANE_ARG_KEY]
    mov r9, [rdi+SEALANE_ARG_NONCE]
    mov [rsi+OUT], r8
    mov [rsi+IN], rcx
    mov [rsi+LEFT], rbx
    mov [rsi+KEY_AT], rax
#if defined(KERNEL_SSE)
    movd xmm0, dword ptr [r9+8]
    movq xmm9, qword ptr [r9]
    punpcklqdq xmm9, xmm0
    pslldq xmm9, 4
    movdqu xmm0, [rax]
    movdqu xmm1, [rax+16]
    lea rax, [rsi+KEY]
    mov [rsi+KEY_AT], rax
    movdqa [rax], xmm0
    movdqa [rax+16], xmm1
#else
    vmovq xmm9, [r9]
    vpinsrd xmm9, xmm9, [r9+8], 2
    vpslldq xmm9, xmm9, 4
#endif
    vmovdqa [rsi+NONCE_ROW], xmm9
#if defined(KERNEL_LAG)
    mov qword ptr [rsi+HELD], 0             // and LAG
#endif
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST
    jz .Lresume
#if defined(KERNEL_SSE)
    mov ecx, 192
    cmp rbx, rcx
    jbe 1f
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jnz 2f
    cmp rbx, 256
    ja 1f
    mov ecx, 128                            // in two passes by rows
    jmp 1f
2:  lea rcx, [rbx+63]                       // as many text blocks as leave whole passes of four to the columns
    and ecx, 3*64
1:  cmp rcx, rbx
    cmova rcx, rbx
    mov [rsi+CHUNK], rcx
    mov eax, 64
    mov [rsi+AHEAD], rax
    add ecx, eax
    mov MA, rsi
    xor eax, eax
    mov [rsi+H], rax
    mov [rsi+H+8], rax
    mov [rsi+H+16], rax
    jmp .Lpass

#else
    mov [rsi+CHUNK], rbx
    cmp rbx, 64
    jbe .Lone_set
    cmp rbx, 192
    jbe .Ltwo_sets
#if !defined(KERNEL_VPROLD)
    cmp rbx, 320
    jbe .Lthree_sets
#endif
    mov ecx, 448
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jz 1f
    lea rcx, [rbx+63]                       // as many text blocks as leave whole passes of eight to the columns
    and ecx, 7*64
1:  cmp rcx, rbx
    cmova rcx, rbx
    mov [rsi+CHUNK], rcx
    test ecx, ecx
    jz .Lone_set
    cmp ecx, 64
    jbe .Lone_set
    cmp ecx, 192
    jbe .Ltwo_sets
#if defined(KERNEL_VPROLD)
    xor eax, eax                            // a pass like the others, over an empty span
    mov qword ptr [rsi+AHEAD], 64
    mov [rsi+H], rax
    mov [rsi+H+8], rax
    mov [rsi+H+16], rax
    mov MA, rsi
    add ecx, 64
    jmp .Lpass
#else
    cmp ecx, 320
    jbe .Lthree_sets
    jmp .Lkey_columns
#endif

// ---- First pass, up to 64 bytes -------------------------------------------------------------------------------------
.Lone_set:
    first_pass_rows 1
    cmp qword ptr [rsi+LEFT], 64
    ja .Lpowers
    jmp .Lkey_known

// ---- First pass, up to 192 bytes ------------------------------------------------------------------------------------
.Ltwo_sets:
    first_pass_rows 2
    cmp qword ptr [rsi+LEFT], 192
    ja .Lpowers
    jmp .Lkey_known

#if !defined(KERNEL_VPROLD)
// ---- First pass, up to 320 bytes ------------------------------------------------------------------------------------
.Lthree_sets:
    first_pass_rows 3
    jmp .Lpowers

// ---- First pass, up to 448 bytes ------------------------------------------------------------------------------------
.Lkey_columns:
    mov rdi, rax
    columns_begin
    mov ecx, 10
1:  columns_part1
    columns_part2
    columns_part3
    columns_part4
    sub ecx, 1
    jnz 1b
    mov rdx, [rsi+TABLE_AT]
    mov rax, [rsi+KEY_AT]
    lea rcx, [rsi+STREAM-64]                // block 0 before it
    jmp .Lstream_columns
#endif

#endif

// ---- The powers of r, if there are to be two chains -----------------------------------------------------------------
// They pay in long packets, and where nothing hides the Poly1305 of 257 bytes or more: in a packet of one pass that of
// all, else that of what is opened in the first pass or sealed in the last one.
#define LONG_SEALED 961
#define LONG_OPENED 1152
.Lpowers:
#if !defined(KERNEL_SSE)
    mov rax, [rsi+LEFT]
    xor ecx, ecx
    mov [rsi+POWERS_KNOWN], rcx
    cmp rax, 16*TWO_CHAINS
    jb .Lkey_known
    mov rdi, [rsi+ARGS]
    mov edx, LONG_SEALED
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    mov edi, LONG_OPENED
    cmovnz edx, edi
    cmp rax, rdx
    jae 1f
    lea edx, [rax+63]                       // modulo 512: what is opened first, or less than what is sealed last
    test edx, 256
    jz .Lkey_known
1:  cmp rax, 321
    sbb ecx, -4                             // 4 if a span may be long, else 3
    mov [rsi+POWERS_KNOWN], rcx
    poly_powers
#endif

// ---- r, s and the first blocks' key stream are known: associated data -----------------------------------------------
.Lkey_known:
    mov dword ptr [rsi+NONCE_ROW], 1
    mov rdi, [rsi+ARGS]
    xor eax, eax
#if defined(KERNEL_AHEAD)
    mov [rsi+AHEAD], rax
#endif
#if !defined(KERNEL_SSE)
    mov [rsi+H], rax
    mov [rsi+H+8], rax
    mov [rsi+H+16], rax
#endif
    mov rcx, [rdi+SEALANE_ARG_AD_BYTES]
    test rcx, rcx
    jz .Lfirst_text
    poly_load
    mov MA, [rdi+SEALANE_ARG_AD]
    mov MB, rcx
    and ecx, 15
    and MB, -16
    mov [rsi+TAIL], rcx
    add MB, MA
    jmp 2f
1:  poly_add HA0, HA1, HA2, MA
    poly_multiply HA0, HA1, HA2
2:  cmp MA, MB
    jne 1b
    mov rcx, [rsi+TAIL]
    test ecx, ecx
    jz 1f
    poly_tail MA
1:  poly_store
    mov rdi, [rsi+ARGS]

.Lfirst_text:
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jz .Lxor
    mov MA, [rsi+IN]
    mov rax, [rsi+CHUNK]
#if defined(KERNEL_LAG)
    cmp qword ptr [rsi+LEFT], LONG_OPENED
    jb 1f
    mov [rsi+HELD], eax                     // the next pass authenticates it too
    mov [rsi+LAG], eax
    jmp .Lpassed
1:
#endif
    span_begin

// ---- Authenticate what is left of the span, its tail too ------------------------------------------------------------
.Lfinish:
#if defined(KERNEL_SSE)
    cmp MA, [rsi+A_END]
    je 1f
    poly_multiply HA0, HA1, HA2, MA
    jmp .Lfinish
1:
#else
    cmp MA, [rsi+A_END]
    je 1f
    poly_multiply HA0, HA1, HA2, MA
1:  cmp MB, [rsi+B_END]
    je 1f
    poly_multiply HB0, HB1, HB2, MB
    jmp .Lfinish
1:  cmp MA, [rsi+A_END]
    jne .Lfinish
#endif
    span_end
.Lfinish_tail:
    mov rcx, [rsi+TAIL]
    test ecx, ecx
    jz 1f
    mov MB, [rsi+SPAN_END]
    poly_tail MB
    poly_store
1:  cmp qword ptr [rsi+LEFT], 0             // nothing if it was what was sealed last
    je .Ltag
#if defined(KERNEL_LAG)
    cmp dword ptr [rsi+HELD], 0
    jne .Lpassed
#endif

// ---- Text ^ STREAM: whole vectors, the last one so that it ends with the text ---------------------------------------
.Lxor:
    mov rcx, [rsi+CHUNK]
    mov rax, [rsi+IN]
    mov rdi, [rsi+OUT]
    lea rbx, [rsi+STREAM]
    sub ecx, VECTOR
    jb 2f
    vmovdqu ymm1, [rax+rcx]
    xor_unaligned ymm1, rbx+rcx, ymm2
    xor edx, edx
    jmp 3f
1:  vmovdqu ymm0, [rax+rdx]
    vpxor ymm0, ymm0, [rbx+rdx]
    vmovdqu [rdi+rdx], ymm0
    add edx, VECTOR
3:  cmp edx, ecx
    jb 1b
    vmovdqu [rdi+rcx], ymm1
    jmp .Lpassed

2:  add ecx, VECTOR
#if !defined(KERNEL_SSE)
    cmp ecx, 16
    jb 2f
    vmovdqu xmm0, [rax]
    vmovdqu xmm1, [rax+rcx-16]
    vpxor xmm0, xmm0, [rbx]
    vpxor xmm1, xmm1, [rbx+rcx-16]
    vmovdqu [rdi], xmm0
    vmovdqu [rdi+rcx-16], xmm1
    jmp .Lpassed
2:
#endif
    cmp ecx, 8
    jb 2f
    mov r11, [rax]
    mov rdx, [rax+rcx-8]
    xor r11, [rbx]
    xor rdx, [rbx+rcx-8]
    mov [rdi], r11
    mov [rdi+rcx-8], rdx
    jmp .Lpassed
2:  cmp ecx, 4
    jb 2f
    mov r11d, [rax]
    mov edx, [rax+rcx-4]
    xor r11d, [rbx]
    xor edx, [rbx+rcx-4]
    mov [rdi], r11d
    mov [rdi+rcx-4], edx
    jmp .Lpassed
1:  movzx edx, byte ptr [rax+rcx-1]
    xor dl, [rbx+rcx-1]
    mov [rdi+rcx-1], dl
    sub ecx, 1
2:  test ecx, ecx
    jnz 1b

// ---- A pass is over -------------------------------------------------------------------------------------------------
.Lpassed:
    mov rcx, [rsi+CHUNK]
    mov MA, [rsi+OUT]
    mov rdi, [rsi+ARGS]
    mov rdx, [rsi+LEFT]
    mov ebx, ecx
    lea rax, [MA+rcx]
    shr ebx, 6
    mov [rsi+OUT], rax
    add [rsi+IN], rcx
    add [rsi+NONCE_ROW], ebx
    mov rax, rcx
    sub rdx, rcx
    mov [rsi+LEFT], rdx
    jnz .Lnext
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jnz .Lfinal
    span_begin                              // what was sealed last
    jmp .Lfinish

// ---- Next pass ------------------------------------------------------------------------------------------------------
.Lnext:
    mov ecx, COLUMNS
    cmp rdx, rcx
    cmovb rcx, rdx
    mov [rsi+CHUNK], rcx
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    cmovnz rax, rcx
    cmovnz MA, [rsi+IN]
#if defined(KERNEL_LAG)
    cmp dword ptr [rsi+HELD], 0
    jne .Lbehind
#endif
.Lpass:                                     // ecx bytes of key stream, beside Poly1305 over eax at MA
#if !defined(KERNEL_SSE)
    cmp ecx, SET
    jbe .Lone_set_later
#endif
    cmp ecx, 2*SET
    jbe .Ltwo_sets_later
    cmp ecx, 3*SET
    jbe .Lthree_sets_later

// ---- Up to 512 bytes, beside Poly1305 over 512 ----------------------------------------------------------------------
.Lcolumns:
    mov rdx, [rsi+TABLE_AT]
    mov rdi, [rsi+KEY_AT]
    mov dword ptr [rsi+COUNT], 10
    columns_begin
    span_begin
#if defined(KERNEL_LAG)
    cmp dword ptr [rsi+HELD], 0
    jne .Lbehind_rounds
#endif
6:  columns_part1
    span_step_b
    columns_part2
    span_step_a
    columns_part3
    span_step_b 8f
7:  columns_part4
    span_step_a
    sub dword ptr [rsi+COUNT], 1
    jnz 6b
#if !defined(KERNEL_SSE)
    span_step_a                             // one of 32 blocks is left if there is no chain B
#endif
.Lspan_over:
    span_end
#if defined(KERNEL_LAG)
    cmp dword ptr [rsi+HELD], 0
    jne .Lheld
#endif
.Lcolumns_out:
    mov rdx, [rsi+TABLE_AT]
    mov rax, [rsi+KEY_AT]
    lea rcx, [rsi+STREAM]
    cmp dword ptr [rsi+CHUNK], COLUMNS
    jne 5f
    mov rbx, [rsi+IN]
    mov rcx, [rsi+OUT]
    columns_end rbx, rcx
    jmp .Lpassed
#if !defined(KERNEL_SSE)
8:  span_step_a                             // where there is no chain B, A takes three blocks a double round
    jmp 7b
#endif
5:
#if defined(KERNEL_AHEAD)
    stream_at_rcx
#endif
.Lstream_columns:
    columns_end nothing, rcx
.Lstream_made:
    lea rdx, [rsi+STREAM]
    cmp rcx, rdx
    je .Lfinish_tail

// ---- Block 0 is among those of the pass: r and s --------------------------------------------------------------------
    mov rdx, [rsi+TABLE_AT]
    mov rax, [rsi+STREAM-64]
    mov rcx, [rsi+STREAM-56]
    vmovdqa xmm1, [rsi+STREAM-48]
    and rax, [rdx+CONST_CLAMP]
    and rcx, [rdx+CONST_CLAMP+8]
    vmovdqa [rsi+S], xmm1
    poly_key
    jmp .Lpowers

#if defined(KERNEL_SSE)
// ---- Up to 128 bytes ------------------------------------------------------------------------------------------------
.Ltwo_sets_later:
    pass_rows 2
    jmp .Lstream_made

// ---- Up to 192 bytes ------------------------------------------------------------------------------------------------
.Lthree_sets_later:
    pass_rows 3
    jmp .Lstream_made

#else
// ---- Up to 128 bytes ------------------------------------------------------------------------------------------------
.Lone_set_later:
    later_pass_rows 1

// ---- Up to 256 bytes ------------------------------------------------------------------------------------------------
.Ltwo_sets_later:
    later_pass_rows 2

// ---- Up to 384 bytes ------------------------------------------------------------------------------------------------
.Lthree_sets_later:
    later_pass_rows 3
#endif

#if defined(KERNEL_LAG)
// ---- Up to 512 bytes that are opened, beside Poly1305 over more: the second and third pass of a long packet ---------
// r is known behind the first pass only: its text, 448 bytes at most, is authenticated beside these two. What is not
// authenticated yet may not be overwritten, if it is opened in place, so its key stream waits in STREAM.
.Lbehind:
    mov edx, [rsi+LAG]
    add eax, edx
    sub MA, rdx
    xor edx, edx
    cmp eax, LAG_PASS                       // more only in the second pass, which is never the last one
    jbe 1f
    lea edx, [rax-LAG_PASS]
    mov eax, LAG_PASS
1:  mov [rsi+LAG], edx
    jmp .Lcolumns
.Lbehind_rounds:                            // room for 46 blocks: 30 steps of chain A, of 31 blocks, and 14 of B, of 15
    columns_part1
    span_step_a
    span_step_b
    columns_part2
    span_step_a
    columns_part3
    span_step_b
    columns_part4
    span_step_a
    sub dword ptr [rsi+COUNT], 1
    jnz .Lbehind_rounds
    jmp .Lspan_over
.Lheld:                                     // the text before IN is authenticated now
    mov ecx, [rsi+HELD]
    mov rax, [rsi+IN]
    mov rdi, [rsi+OUT]
    lea rbx, [rsi+STREAM]
    sub rax, rcx
    sub rdi, rcx
    xor edx, edx
1:  vmovdqu T0, [rax+rdx]
    vpxor T0, T0, [rbx+rdx]
    vmovdqu [rdi+rdx], T0
    add edx, VECTOR
    cmp edx, ecx
    jb 1b
    xor ecx, ecx
    cmp [rsi+LAG], ecx
    mov [rsi+HELD], ecx
    je .Lcolumns_out
    mov dword ptr [rsi+HELD], COLUMNS       // that of this pass is not
    mov rdx, [rsi+TABLE_AT]
    mov rax, [rsi+KEY_AT]
    lea rcx, [rsi+STREAM]
    jmp .Lstream_columns
#endif

// ---- A later part of a long packet begins ---------------------------------------------------------------------------
.Lresume:
    mov r8, [rdi+SEALANE_ARG_STATE]
    mov rax, [r8+SEALANE_STATE_H]
    mov rcx, [r8+SEALANE_STATE_H+8]
    mov rdx, [r8+SEALANE_STATE_H+16]
    mov [rsi+H], rax
    mov [rsi+H+8], rcx
    mov [rsi+H+16], rdx
    vmovdqu xmm0, [r8+SEALANE_STATE_S]
    vmovdqa [rsi+S], xmm0
    mov eax, [r8+SEALANE_STATE_COUNTER]
    mov [rsi+NONCE_ROW], eax
    mov rax, [r8+SEALANE_STATE_R]
    mov rcx, [r8+SEALANE_STATE_R+8]
    poly_key
    mov qword ptr [rsi+CHUNK], 0
#if defined(KERNEL_AHEAD)
    mov qword ptr [rsi+AHEAD], 0
#endif
#if !defined(KERNEL_SSE)
    mov ecx, 4
    mov [rsi+POWERS_KNOWN], rcx
    poly_powers
#endif
    jmp .Lpassed

// ---- Tag, or state for the next part --------------------------------------------------------------------------------
.Lfinal:
    poly_load
.Ltag:
    mov r11, [rsi+ARGS]
    test dword ptr [r11+SEALANE_ARG_FLAGS], SEALANE_FLAG_LAST
    jz 1f
    add HA0, [r11+SEALANE_ARG_AD_BYTES]
    adc HA1, [r11+SEALANE_ARG_TOTAL]
    adc HA2, 1
    poly_multiply HA0, HA1, HA2
    mov rax, HA0                            // h - p if that is not negative
    mov rcx, HA1
    add rax, 5
    adc rcx, 0
    adc HA2, 0
    cmp HA2, 4
    cmovae HA0, rax
    cmovae HA1, rcx
    add HA0, [rsi+S]
    adc HA1, [rsi+S+8]
    mov rax, [r11+SEALANE_ARG_TAG]
    mov [rax], HA0
    mov [rax+8], HA1
    jmp 2f
1:  mov rcx, HA2                            // h below 2^131
    and r10d, 3
    shr rcx, 2
    lea rcx, [rcx+4*rcx]
    add HA0, rcx
    adc HA1, 0
    adc HA2, 0
    mov rax, [r11+SEALANE_ARG_STATE]
    mov [rax+SEALANE_STATE_H], HA0
    mov [rax+SEALANE_STATE_H+8], HA1
    mov [rax+SEALANE_STATE_H+16], HA2
    mov rcx, [rsi+R]
    mov rdx, [rsi+R+8]
    mov [rax+SEALANE_STATE_R], rcx
    mov [rax+SEALANE_STATE_R+8], rdx
    mov rcx, [rsi+S]
    mov rdx, [rsi+S+8]
    mov [rax+SEALANE_STATE_S], rcx
    mov [rax+SEALANE_STATE_S+8], rdx
    mov ecx, [r11+SEALANE_ARG_FLAGS]
    and ecx, SEALANE_FLAG_FIRST             // counter: 1 with FIRST
    jnz 3f
    mov rcx, [rax+SEALANE_STATE_COUNTER]
3:  mov rdx, [r11+SEALANE_ARG_BYTES]
    shr rdx, 6
    add rcx, rdx
    mov [rax+SEALANE_STATE_COUNTER], rcx

#if defined(KERNEL_SSE)
2:  pxor xmm0, xmm0                         // wipe
    lea rax, [rsi-128]
    test dword ptr [r11+SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST
    jz 1f
    lea rcx, [rsi+STREAM+64]                // all up to the key stream of one text block,
    cmp qword ptr [r11+SEALANE_ARG_BYTES], 64
    jbe 2f
1:  lea rcx, [rsi+END]                      // or everything
2:  movdqa [rax], xmm0
    movdqa [rax+16], xmm0
    movdqa [rax+32], xmm0
    movdqa [rax+48], xmm0
    add rax, 64
    cmp rax, rcx
    jb 2b
#else
2:  mov rbx, [r11+SEALANE_ARG_BYTES]        // wipe: all up to the key stream of one text block,
    vpxor xmm0, xmm0, xmm0
  .irp place, -128, -96, -64, -32, 0, 32, 128, STREAM, STREAM+32
    vmovdqa [rsi+\place], ymm0
  .endr
    test dword ptr [r11+SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST
    jz 1f
    cmp rbx, 64
    jbe 2f
    lea rcx, [rsi+STREAM+192]               // of three, or five,
    cmp rbx, 192
    jbe 3f
    lea rcx, [rsi+STREAM+320]
    cmp rbx, 320
    jbe 3f
1:  lea rcx, [rsi+END]                      // or everything
3:  lea rax, [rsi+64]
1:  vmovdqa [rax], ymm0
    vmovdqa [rax+32], ymm0
    vmovdqa [rax+64], ymm0
    vmovdqa [rax+96], ymm0
    sub rax, -128
    cmp rax, rcx
    jb 1b
2:  vzeroall
#endif
    sub rsi, FRAME
endfunction

constants KERNEL_CONSTANTS
    .ascii "expand 32-byte k"
#if defined(KERNEL_SSE)
    .long 0, 0, 0, 0
    .long 1, 0, 0, 0
    .long 2, 0, 0, 0
    .long 0, 1, 2, 3
    .ascii "expaexpaexpaexpa"
    .ascii "nd 3nd 3nd 3nd 3"
    .ascii "2-by2-by2-by2-by"
    .ascii "te kte kte kte k"
    .byte 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14     // words <<< 8
    .quad 0x0ffffffc0fffffff, 0x0ffffffc0ffffffc
    .byte 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13     // <<< 16
#else
    .quad 0x0ffffffc0fffffff, 0x0ffffffc0ffffffc
    .long 0, 0, 0, 0, 1, 0, 0, 0
    .long 2, 0, 0, 0, 3, 0, 0, 0
    .long 4, 0, 0, 0, 5, 0, 0, 0
    .long 0, 1, 2, 3, 4, 5, 6, 7
    .ascii "expaexpaexpaexpaexpaexpaexpaexpa"
    .ascii "nd 3nd 3nd 3nd 3nd 3nd 3nd 3nd 3"
    .ascii "2-by2-by2-by2-by2-by2-by2-by2-by"
    .ascii "te kte kte kte kte kte kte kte k"
#if !defined(KERNEL_VPROLD)
    .byte 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14     // words <<< 8
    .byte 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14
    .byte 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13     // <<< 16
    .byte 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13
#endif
#endif
endconstants
