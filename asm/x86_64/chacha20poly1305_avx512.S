/* ChaCha20-Poly1305 (RFC 8439) for x86-64 with AVX-512 IFMA: seals or opens a packet, or a part of one, in one pass.
 *
 * void sealane_chacha20poly1305_avx512(const args *a, void *scratch, const void *consts)
 *
 * Needs        AVX512F, VL, BW, IFMA; BMI2
 * Reads        args; ad[ad_bytes], key[32], nonce[12] (FIRST); state[64] (not FIRST); in[bytes]
 * Writes       out[bytes]; tag[16] (LAST); state[64] (not LAST); scratch, wiped again
 * Registers    all but rsp, rbp; stack 0
 * Branches and addresses depend on flags, pointers and lengths only.
 *
 * ChaCha20 (RFC 8439, 2.3) in passes of at most 32 blocks, laid out by their number:
 *   4, 8, 12  one to three sets of four registers; a register is one row of four blocks' states ("horizontal")
 *   16, 32    one or two sets of sixteen registers; a register is one word of sixteen blocks' states ("vertical")
 *   20, 24    sixteen blocks vertically, the others horizontally
 * Where this code is fastest a vector operation takes two cycles, so 20 rounds of 12 dependent steps take 480 for any
 * number of blocks. Meanwhile integer registers, whose operations take one cycle, make block 0 of a first pass, the
 * Poly1305 key (2.6), and r^2, r^3, r^4. Then vectors make r^5 .. r^24. Packets of up to 128 bytes need only r. The
 * bytes of text in a call choose its first pass: see the size classes below.
 *
 * Poly1305 (2.5), p = 2^130 - 5. Numbers are three limbs of 44 bits, x = x0 + 2^44 x1 + 2^88 x2; 2^132 = 20 mod p, so
 *   (x*y)0 = x0 y0 + 20 x1 y2 + 20 x2 y1     (x*y)1 = x0 y1 + x1 y0 + 20 x2 y2     (x*y)2 = x0 y2 + x1 y1 + x2 y0
 * and 20 y1, 20 y2 are kept beside y. vpmadd52luq/huq add the low and high 52 bits of each product: lo_i + 2^52 hi_i.
 * Element j of the accumulator sums every eighth block, three at a time: h := h r^24 + m r^16 + m' r^8 + m''. Before
 * the last m <= 16 blocks are added, with their own powers, element j is multiplied by r^(m+8-j). Then the elements are
 * summed.
 */
#include "../asm.S"

    isa .avx, .avx2, .bmi, .bmi2, .avx512f, .avx512vl, .avx512bw, .avx512ifma

/* Constants. */
#define SIGMA 0       /* "expand 32-byte k" */
#define CLAMP 16      /* RFC 8439, 2.5: the bits of r that are not zero */
#define FOUR 32       /* 4, 0, 0, 0: the counters of the next horizontal set */
#define SIXTEEN 48    /* 16, 0, 0, 0: from the first sixteen blocks to the next ones */
#define IOTA 64       /* 0 .. 15 */
#define COUNTERS 128  /* 0, 0, 0, 0, 1, 0, 0, 0, 2, ...: the counters of a horizontal set */
#define EVEN 192      /* 64-bit words 0, 2, .. 14 of two registers */
#define ODD 256       /* 1, 3, .. 15 */
#define STEP_ORDER 320 /* 0 4 1 5 2 6 3 7: the order in which vpunpck leaves blocks */
#define MASK44 384    /* 2^44 - 1 */
#define PAD 392       /* 2^128 in limb 2: the bit that RFC 8439, 2.5.1 adds to every block */
#define SHIFT8 400    /* 2^8: from 52 to 44 bits */
#define FOLD132 408   /* 20 = 2^132 mod p */
#define FOLD140 416   /* 5120 = 2^140 mod p */
#define ZERO 448      /* 64 zero bytes */

    constants sealane_chacha20poly1305_avx512_constants
    .ascii "expand 32-byte k"
    .quad 0x0ffffffc0fffffff, 0x0ffffffc0ffffffc
    .long 4, 0, 0, 0
    .long 16, 0, 0, 0
    .long 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    .long 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0
    .quad 0, 2, 4, 6, 8, 10, 12, 14
    .quad 1, 3, 5, 7, 9, 11, 13, 15
    .quad 0, 4, 1, 5, 2, 6, 3, 7
    .quad 0xfffffffffff, 0x10000000000, 256, 20, 5120, 0, 0, 0
    .quad 0, 0, 0, 0, 0, 0, 0, 0
    endconstants

/* Scratch. */
#define NONCE 256     /* row d of the next blocks' initial ChaCha20 state: counter, nonce */
#define SAVED_ARGS 272
#define SAVED_CONSTS 280
#define COUNT 288     /* of double rounds, while block 0 has all integer registers */
#define LENGTHS 288   /* of a short packet: where the block of lengths is */
#define CWORDS 320    /* row c of the block in integer registers */
#define BESIDE (COUNT - CWORDS) /* COUNT, from row c */
#define RKEY 336      /* r, 16 bytes */
#define SKEY 352      /* s, 16 bytes */
#define ACC 384       /* three limbs of h, of 8 elements */
#define POWERS 576    /* five limbs, y0, y1, y2, 20 y1, 20 y2, of each power: entry i is of r^(32-i), from 32 on zero */
#define LIMB 320
#define PARTIAL 2176  /* the last, incomplete 64 bytes of ciphertext, padded with zeroes */
#define SECOND 2240   /* of 32 blocks the second half's states; of 24, opening, the keystream of the last 8; or a short
                       * packet, as it is authenticated */
#define PACE 4        /* nops between the steps of a pass of 4 blocks */
#define R8 (8*24)      /* where in a limb those of r^8 .. r^1 begin, and so on */
#define R16 (8*16)
#define R24 (8*8)
#define NEAR 1344     /* the middle of POWERS */

/* Integer registers outside of the first pass. */
#define args rdi
#define scratch rsi
#define consts rdx
#define key r11       /* while a pass begins or ends */
#define chunk rcx     /* bytes that keystream in registers is applied to */
#define src r8
#define dst r9
#define text_left r10 /* bytes from here on */
#define mac r12       /* the next bytes to authenticate */
#define mleft r13     /* bytes to authenticate */
#define enough r14    /* how far */
#define powers rcx    /* scratch + NEAR, while Poly1305 multiplies: offsets from it need one byte */
#define acc_is r15d   /* what is in ACC: */
#define ADDEND 0      /* 0 or the accumulator of an earlier part, to be added to the next block, in element 0 */
#define SUM 1         /* a sum of earlier blocks, to be multiplied by a power of r */

/* Vector registers of Poly1305. */
#define lo0 zmm24
#define lo1 zmm25
#define lo2 zmm26
#define hi0 zmm27
#define hi1 zmm28
#define hi2 zmm29
#define vx zmm30
#define vt zmm31
/* The accumulator, where 16 registers are free for Poly1305. */
#define h0 zmm16
#define h1 zmm17
#define h2 zmm18
#define pad zmm19
#define more zmm20
#define vy zmm21
#define vz zmm22
#define mask44 zmm23

/* ---- Poly1305 -------------------------------------------------------------------------------------------------- */

/* acc += low (l) or high (h) 52 bits of v * power, where power is eight powers or one for all elements. */
.macro madd half, acc, v, base, offset, broadcast
    .if \broadcast
    vpmadd52\half\()uq \acc, \v, qword ptr [\base + \offset]{1to8}
    .else
    vpmadd52\half\()uq \acc, \v, [\base + \offset]
    .endif
.endm

/* Terms of x*y with limb number `limb` of x: (x*y) += v * 2^(44 limb) * y. */
.macro times limb, v, base, offset, broadcast
    .if \limb == 0
    times_limbs 0, 1, 2, \v, \base, \offset, \broadcast                          /* x0 y0, x0 y1, x0 y2 */
    .elseif \limb == 1
    times_limbs 4, 0, 1, \v, \base, \offset, \broadcast                          /* 20 x1 y2, x1 y0, x1 y1 */
    .else
    times_limbs 3, 4, 0, \v, \base, \offset, \broadcast                          /* 20 x2 y1, 20 x2 y2, x2 y0 */
    .endif
.endm

/* lo, hi += v times three of a power's limbs, which are numbered as in POWERS. */
.macro times_limbs i0, i1, i2, v, base, offset, broadcast
    madd l, lo0, \v, \base, POWERS + \i0*LIMB + \offset, \broadcast
    madd h, hi0, \v, \base, POWERS + \i0*LIMB + \offset, \broadcast
    madd l, lo1, \v, \base, POWERS + \i1*LIMB + \offset, \broadcast
    madd h, hi1, \v, \base, POWERS + \i1*LIMB + \offset, \broadcast
    madd l, lo2, \v, \base, POWERS + \i2*LIMB + \offset, \broadcast
    madd h, hi2, \v, \base, POWERS + \i2*LIMB + \offset, \broadcast
.endm

/* lo, hi += x*y. */
.macro product x0, x1, x2, base, offset, broadcast=0
    times 0, \x0, \base, \offset, \broadcast
    times 1, \x1, \base, \offset, \broadcast
    times 2, \x2, \base, \offset, \broadcast
.endm

/* lo, hi += x r^8, with the limbs of x at `at`, `stride` bytes apart. */
.macro product_r8 at, stride
    .irp limb, 0, 1, 2
    vmovdqa64 vx, [\at + \limb*\stride]
    times \limb, vx, powers, R8-NEAR, 1
    .endr
.endm

/* lo, hi -> three limbs lo of 44 bits (lo2: slightly more). With nine products per limb no step overflows. 256 hi0,
 * 256 hi1 and 5120 hi2 stay below 2^52, as vpmadd52luq requires, since 20 y1 and 20 y2 are below 2^48.4.
 */
.macro carry
    vpmadd52luq lo2, hi1, qword ptr [consts + SHIFT8]{1to8}                     /* 2^52 2^44 = 2^88 2^8 */
    vpmadd52luq lo1, hi0, qword ptr [consts + SHIFT8]{1to8}                     /* 2^52 = 2^44 2^8 */
    vpmadd52luq lo0, hi2, qword ptr [consts + FOLD140]{1to8}                    /* 2^52 2^88 = 2^140 */
    vpsrlq vt, lo2, 44
    vpandq lo2, lo2, qword ptr [consts + MASK44]{1to8}
    vpmadd52luq lo0, vt, qword ptr [consts + FOLD132]{1to8}                      /* 2^88 2^44 = 2^132 */
    vpsrlq vt, lo0, 44
    vpandq lo0, lo0, qword ptr [consts + MASK44]{1to8}
    vpaddq lo1, lo1, vt
    vpsrlq vt, lo1, 44
    vpandq lo1, lo1, qword ptr [consts + MASK44]{1to8}
    vpaddq lo2, lo2, vt
.endm

.macro clear v
    vpxord xmm\v, xmm\v, xmm\v
.endm

.macro clear_lo
    clear 24
    clear 25
    clear 26
.endm

.macro clear_hi
    clear 27
    clear 28
    clear 29
.endm

/* The blocks in two registers -> limbs in l0, l1, l2. */
.macro limbs a, b, l0, l1, l2
    vpunpckhqdq vt, \a, \b
    vpunpcklqdq \l0, \a, \b
    vpsrlq \l1, \l0, 44
    vpandq \l0, \l0, mask44
    vpsrlq \l2, vt, 24
    vpsllq vt, vt, 20
    vpternlogq \l1, vt, mask44, 0xa8                                            /* (l1 | vt) & mask44 */
    vporq \l2, \l2, pad
.endm

/* ---- ChaCha20 -------------------------------------------------------------------------------------------------- */

#include "chacha20_zmm.h"

/* Horizontal set: rotating rows a, c and d brings the diagonals under each other. b is not rotated because it is
 * ready last; so no rotation waits. half 0 is the column round, half 1 the diagonal round.
 */
.macro set_step step, half, a, b, c, d
    quarter \step, \a, \b, \c, \d
    .if \step == 7
        .if \half
    vpshufd zmm\a, zmm\a, 0x39
        .else
    vpshufd zmm\a, zmm\a, 0x93
        .endif
    .elseif \step == 9
    vpshufd zmm\d, zmm\d, 0x4e
    .elseif \step == 10
        .if \half
    vpshufd zmm\c, zmm\c, 0x93
        .else
    vpshufd zmm\c, zmm\c, 0x39
        .endif
    .endif
.endm

/* The ways to lay out a pass. A round (of the longest: thirtytwo_round in chacha20_zmm.h): */
.macro eight_round half
    .irp step, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    set_step \step, \half, 0, 1, 2, 3
    set_step \step, \half, 4, 5, 6, 7
    .endr
.endm

.macro twelve_round half
    .irp step, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    set_step \step, \half, 0, 1, 2, 3
    set_step \step, \half, 4, 5, 6, 7
    set_step \step, \half, 8, 9, 10, 11
    .endr
.endm

.macro sixteen_round half
    .irp step, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    columns \half, 0, \step
    .endr
    .irp step, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    columns \half, 1, \step
    .endr
.endm

.macro twenty_round half
    sixteen_round \half
    .irp step, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    set_step \step, \half, 16, 17, 18, 19
    .endr
.endm

.macro twentyfour_round half
    sixteen_round \half
    .irp step, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    set_step \step, \half, 16, 17, 18, 19
    set_step \step, \half, 20, 21, 22, 23
    .endr
.endm

/* Rows of a horizontal set begin. */
.macro set_rows a, b, c
    vbroadcasti32x4 zmm\a, [consts + SIGMA]
    vbroadcasti32x4 zmm\b, [key]
    vbroadcasti32x4 zmm\c, [key + 16]
.endm

.macro set_copy a, b, c, from_a, from_b, from_c
    vmovdqa64 zmm\a, zmm\from_a
    vmovdqa64 zmm\b, zmm\from_b
    vmovdqa64 zmm\c, zmm\from_c
.endm

/* Row d of a horizontal set, from the nonce at rbx. */
.macro row_d d, counter:vararg
    mov eax, 0xeeee
    kmovw k1, eax
    knotw k2, k1
    vbroadcasti32x4 zmm\d{k1}{z}, [rbx - 4]
    vpbroadcastd zmm\d{k2}, \counter
    vpaddd zmm\d, zmm\d, [consts + COUNTERS]
.endm

.macro eight_begin
    row_d 3, ecx
    set_rows 0, 1, 2
    vbroadcasti32x4 vt, [consts + FOUR]
    vpaddd zmm7, zmm3, vt
    set_copy 4, 5, 6, 0, 1, 2
.endm

.macro twelve_begin
    eight_begin
    vpaddd zmm11, zmm7, vt
    set_copy 8, 9, 10, 0, 1, 2
.endm

.macro sixteen_begin
    vpbroadcastd zmm12, ecx
    vpaddd zmm12, zmm12, [consts + IOTA]
    .irp w, 0, 1, 2, 3
    vpbroadcastd zmm\w, [consts + SIGMA + 4*\w]
    .endr
    .irp w, 4, 5, 6, 7, 8, 9, 10, 11
    vpbroadcastd zmm\w, [key + 4*(\w - 4)]
    .endr
    .irp w, 13, 14, 15
    vpbroadcastd zmm\w, [rbx + 4*(\w - 13)]
    .endr
.endm

.macro twenty_begin
    sixteen_begin
    row_d 19, ecx
    set_rows 16, 17, 18
    vbroadcasti32x4 vt, [consts + SIXTEEN]
    vpaddd zmm19, zmm19, vt
.endm

.macro twentyfour_begin
    twenty_begin
    vbroadcasti32x4 vt, [consts + FOUR]
    vpaddd zmm23, zmm19, vt
    set_copy 20, 21, 22, 16, 17, 18
.endm

.macro thirtytwo_begin
    sixteen_begin
    set_copy 16, 17, 18, 0, 1, 2
    set_copy 19, 20, 21, 3, 4, 5
    set_copy 22, 23, 24, 6, 7, 8
    set_copy 25, 26, 27, 9, 10, 11
    set_copy 29, 30, 31, 13, 14, 15
    vpaddd zmm28, zmm12, dword ptr [consts + SIXTEEN]{1to16}
.endm

/* Four registers of four quarters of 128 bits, transposed. */
.macro transpose_quarters a, b, c, d
    vshufi32x4 zmm24, zmm\a, zmm\b, 0x44
    vshufi32x4 zmm25, zmm\c, zmm\d, 0x44
    vshufi32x4 zmm26, zmm\a, zmm\b, 0xee
    vshufi32x4 zmm27, zmm\c, zmm\d, 0xee
    vshufi32x4 zmm\a, zmm24, zmm25, 0x88
    vshufi32x4 zmm\b, zmm24, zmm25, 0xdd
    vshufi32x4 zmm\c, zmm26, zmm27, 0x88
    vshufi32x4 zmm\d, zmm26, zmm27, 0xdd
.endm

/* Rows a, b, c, d of a horizontal set end as four blocks of keystream; zmm31 is its initial row d. */
.macro set_end a, b, c, d
    vpaddd zmm\a, zmm\a, zmm28
    vpaddd zmm\b, zmm\b, zmm29
    vpaddd zmm\c, zmm\c, zmm30
    vpaddd zmm\d, zmm\d, zmm31
    transpose_quarters \a, \b, \c, \d
.endm

/* zmm31: the initial row d of blocks 0 to 3. */
.macro first_row_d
    vbroadcasti32x4 zmm31, [scratch + NONCE]
    vpaddd zmm31, zmm31, [consts + COUNTERS]
.endm

/* zmm31: the initial row d of blocks 16 to 19. */
.macro row_d_of_16
    first_row_d
    vbroadcasti32x4 zmm24, [consts + SIXTEEN]
    vpaddd zmm31, zmm31, zmm24
.endm

/* zmm31: from the initial row d of four blocks to that of the next four. */
.macro four_later
    vbroadcasti32x4 zmm24, [consts + FOUR]
    vpaddd zmm31, zmm31, zmm24
.endm

/* Eight blocks end; zmm31 is the initial row d of the first four. */
.macro eight_end a, b, c, d, e, f, g, h
    set_rows 28, 29, 30
    set_end \a, \b, \c, \d
    four_later
    set_end \e, \f, \g, \h
.endm

.macro sixteen_end
    .irp w, 0, 1, 2, 3
    vpaddd zmm\w, zmm\w, dword ptr [consts + SIGMA + 4*\w]{1to16}
    .endr
    .irp w, 4, 5, 6, 7, 8, 9, 10, 11
    vpaddd zmm\w, zmm\w, dword ptr [key + 4*(\w - 4)]{1to16}
    .endr
    .irp w, 12, 13, 14, 15
    vpaddd zmm\w, zmm\w, dword ptr [scratch + NONCE + 4*(\w - 12)]{1to16}
    .endr
    vpaddd zmm12, zmm12, [consts + IOTA]
    transpose_words 0, 1, 2, 3
    transpose_words 4, 5, 6, 7
    transpose_words 8, 9, 10, 11
    transpose_words 12, 13, 14, 15
    transpose_quarters 0, 4, 8, 12
    transpose_quarters 1, 5, 9, 13
    transpose_quarters 2, 6, 10, 14
    transpose_quarters 3, 7, 11, 15
.endm

/* ---- Size classes ----------------------------------------------------------------------------------------------- */

/* The bytes of text in a call choose its first pass, which is written out for each class. The numbers are bytes of
 * code:
 *
 *   bytes    blocks  first pass   code
 *   0             0  .Lempty        443  .Lshort follows: 796 for all the rest, with Poly1305 in integer registers
 *   .. 128        4  .Lfour         796  the same
 *   .. 512        8  .Leight       2077  .Lkey before the last rounds, .Lad after them
 *   .. 768       12  .Ltwelve      2489  the same
 *   .. 1024      16  .Lsixteen     2546  the same
 *   .. 1280      20  .Ltwenty      3132  the same
 *   .. 1536      24  .Ltwentyfour  3644  the same
 *   more         32  .Lthirtytwo   2363  the same; a later pass, of 32 blocks or the last 16, begins at .Lnext
 *
 * The first two are whole packets with at most 64 bytes of associated data; others of their length are of the class of
 * 8 blocks. The rest is the same for all others:
 *
 *   .Lkey            615  the key of Poly1305, and r to r^4
 *   .Lad             731  associated data, or the accumulator of an earlier part
 *   .Lkeystream     1125  the rounds' end; then sealing .Lapply .Lauthenticate, opening .Lauthenticate .Lapply
 *   .Lapply         1815  text and keystream; of 32 blocks the second half's states become keystream here
 *   .Lauthenticate  1350  Poly1305 of 24 blocks at a time
 *   .Lnext          2331  the rounds of a later pass; then .Lkeystream
 *   .Llast          1838  at most 16 blocks and that of the lengths, the tag or the state, wiping
 */
#define FOUR_BYTES 128
#define EIGHT_BYTES (64*8)
#define TWELVE_BYTES (64*12)
#define SIXTEEN_BYTES (64*16)
#define TWENTY_BYTES (64*20)
#define TWENTYFOUR_BYTES (64*24)
#define THIRTYTWO_BYTES (64*32)

/* ---- First pass: integer code beside the vectors' rounds ------------------------------------------------------- */

/* One block in integer registers: rows a, b and d in registers, row c in memory. From integer_begin to integer_end,
 * scratch points at row c, so that its addresses need one byte. */
#define a0 eax
#define a1 ebx
#define a2 ecx
#define a3 edx
#define b0 r8d
#define b1 r9d
#define b2 r10d
#define b3 r11d
#define d0 r12d
#define d1 r13d
#define d2 r14d
#define d3 r15d
#define cx edi
#define words scratch

.macro integer_begin
    mov d1, [rbx]
    mov d2, [rbx + 4]
    mov d3, [rbx + 8]
    add scratch, CWORDS
    mov rdi, [key + 16]
    mov [words], rdi
    mov rdi, [key + 24]
    mov [words + 8], rdi
    mov a0, [consts + SIGMA]
    mov a1, [consts + SIGMA + 4]
    mov a2, [consts + SIGMA + 8]
    mov b0, [key]
    mov b1, [key + 4]
    mov b2, [key + 8]
    mov b3, [key + 12]
    xor d0, d0                                                                  /* block 0 */
    mov a3, [consts + SIGMA + 12]
.endm

.macro integer_end
    sub scratch, CWORDS
.endm

/* A quarter round in three parts. */
.macro integer_part part, a, b, c, d
    .if \part == 0
    add \a, \b
    xor \d, \a
    rol \d, ROTATE_1
    mov cx, [words + 4*\c]
    add cx, \d
    .elseif \part == 1
    xor \b, cx
    rol \b, ROTATE_2
    add \a, \b
    xor \d, \a
    rol \d, ROTATE_3
    .else
    add cx, \d
    mov [words + 4*\c], cx
    xor \b, cx
    rol \b, ROTATE_4
    .endif
.endm

.macro integer_quarter a, b, c, d
    integer_part 0, \a, \b, \c, \d
    integer_part 1, \a, \b, \c, \d
    integer_part 2, \a, \b, \c, \d
.endm

.macro integer_double_round
    integer_quarter a0, b0, 0, d0
    integer_quarter a1, b1, 1, d1
    integer_quarter a2, b2, 2, d2
    integer_quarter a3, b3, 3, d3
    integer_quarter a0, b1, 2, d3
    integer_quarter a1, b2, 3, d0
    integer_quarter a2, b3, 0, d1
    integer_quarter a3, b0, 1, d2
.endm

/* For one set. On Zen 5 a vector operation takes two cycles if it has to wait for its operands, but one if they are
 * ready when it is dispatched. An integer double round and some nops between the steps delay it until then, after
 * lfence has let all earlier instructions finish. A double round then takes 33 cycles, not 47. (64 bytes: 497 cycles;
 * without lfence 607; with it and 0, 2, 3, 5 nops 591, 516, 561, 519.)
 */
.macro four_quarter third, half, a, b, c, d
    .irp part, 0, 1, 2
    set_step (3*\third + \part), \half, 0, 1, 2, 3
    integer_part \part, \a, \b, \c, \d
    .rept PACE
    nop
    .endr
    .endr
.endm

.macro four_double_round
    four_quarter 0, 0, a0, b0, 0, d0
    four_quarter 1, 0, a1, b1, 1, d1
    four_quarter 2, 0, a2, b2, 2, d2
    four_quarter 3, 0, a3, b3, 3, d3
    four_quarter 0, 1, a0, b1, 2, d3
    four_quarter 1, 1, a1, b2, 3, d0
    four_quarter 2, 1, a2, b3, 0, d1
    four_quarter 3, 1, a3, b0, 1, d2
.endm

/* Registers of the step after block 0: r, 5/4 r1, a power of r. */
#define r0 r14
#define r1 r15
#define s1 rdi        /* 2^128 = 5/4 mod p, and 4 divides r1 */
#define p0 r8
#define p1 r9
#define p2 rcx

/* p := p r mod p, p2 at most 4 before and after. */
.macro power_times_r
    mov rdx, r0
    mulx r11, r10, p0                                                           /* p0 r0 */
    mulx rbx, rax, p1                                                           /* 2^64 p1 r0 */
    mov r12, p2
    imul r12, s1                                                                /* 2^64 p2 5/4 r1 */
    imul p2, r0                                                                 /* 2^128 p2 r0 */
    mov rdx, s1
    add rax, r12
    adc rbx, p2
    mulx p2, r12, p1                                                            /* p1 5/4 r1 */
    mov rdx, r1
    add r10, r12
    adc r11, p2
    mulx p2, r12, p0                                                            /* 2^64 p0 r1 */
    add rax, r12
    adc rbx, p2
    add r11, rax
    adc rbx, 0
    mov p2, rbx                                                                 /* 2^130 = 5 */
    mov rax, rbx
    and ecx, 3
    and rbx, -4
    shr rax, 2
    add rbx, rax
    mov p0, r10
    mov p1, r11
    add p0, rbx
    adc p1, 0
    adc p2, 0
.endm

/* A power of r into some elements of the powers, limb by limb. */
.macro power_elements
    mov rax, p0
    mov r10, p0
    shrd r10, p1, 44
    mov rbx, p1
    shrd rbx, p2, 24
    and rax, r13
    and r10, r13
    vpbroadcastq lo0{k1}, rax
    vpbroadcastq lo1{k1}, r10
    vpbroadcastq lo2{k1}, rbx
.endm

/* Block 0 is ready. Its first half is r and s (RFC 8439, 2.6), unless an earlier part has stored them. */
.macro one_time_key
    mov rdi, [scratch + SAVED_ARGS]
    add a0, 0x61707865                                                          /* "expa" */
    add a1, 0x3320646e                                                          /* "nd 3" */
    add a2, 0x79622d32                                                          /* "2-by" */
    add a3, 0x6b206574                                                          /* "te k" */
    shl rbx, 32
    shl rdx, 32
    lea r0, [rax + rbx]
    lea r1, [rcx + rdx]
    mov rdx, [scratch + SAVED_CONSTS]
    mov rcx, [rdi + SEALANE_ARG_KEY]
    add r8d, [rcx]
    add r9d, [rcx + 4]
    add r10d, [rcx + 8]
    add r11d, [rcx + 12]
    shl r9, 32
    shl r11, 32
    or r8, r9
    or r10, r11
    and r0, [rdx + CLAMP]
    and r1, [rdx + CLAMP + 8]
    test dword ptr [rdi + SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST
    jnz 1f
    mov rbx, [rdi + SEALANE_ARG_STATE]
    mov r0, [rbx + SEALANE_STATE_R]
    mov r1, [rbx + SEALANE_STATE_R + 8]
    mov r8, [rbx + SEALANE_STATE_S]
    mov r10, [rbx + SEALANE_STATE_S + 8]
1:  mov [scratch + RKEY], r0
    mov [scratch + RKEY + 8], r1
    mov [scratch + SKEY], r8
    mov [scratch + SKEY + 8], r10
.endm

#define keep r10d     /* elements that already hold their power */
#define latest r11    /* scratch, less 64 bytes for each eight powers above r^8: the latest ones are at R8 from here */
#define before r12    /* bytes from the latest eight down to the next */
#define steps r14d    /* steps that are left */

/* r^4 r^3 r^2 r, twice, from R8 on, followed by zeroes. Three steps of more_powers make the other powers:
 *   4 3 2 1 4 3 2 1 -> 8 7 6 5 4 3 2 1 -> 16 .. 9 -> 24 .. 17
 */
.macro first_powers
    mov r13, [rdx + MASK44]
    mov s1, r1
    shr s1, 2
    add s1, r1
    mov p0, r0
    mov p1, r1
    xor ecx, ecx
    mov dword ptr [scratch + COUNT], 0x88                                       /* elements of r^2, twice */
    mov ebx, 0xff
    kmovw k1, ebx
    power_elements
1:  power_times_r
    shr dword ptr [scratch + COUNT], 1
    kmovw k1, [scratch + COUNT]
    power_elements
    cmp dword ptr [scratch + COUNT], 0x11
    jne 1b
    mov consts, [scratch + SAVED_CONSTS]
    mov args, [scratch + SAVED_ARGS]
    mov latest, scratch
    save_powers
    clear 30
    .irp i, 0, 1, 2, 3, 4
    vmovdqa64 [scratch + POWERS + \i*LIMB + R8 + 64], vx
    .endr
    lea powers, [scratch + NEAR]
    mov keep, 0xf0
    xor r12d, r12d                                                              /* the first step stays in place */
    mov steps, 3
.endm

/* The latest powers: lo, and 20 times its upper limbs. */
.macro save_powers
    clear 27
    clear 28
    vpmadd52luq hi0, lo1, qword ptr [consts + FOLD132]{1to8}
    vpmadd52luq hi1, lo2, qword ptr [consts + FOLD132]{1to8}
    vmovdqa64 [latest + POWERS + R8], lo0
    vmovdqa64 [latest + POWERS + 1*LIMB + R8], lo1
    vmovdqa64 [latest + POWERS + 2*LIMB + R8], lo2
    vmovdqa64 [latest + POWERS + 3*LIMB + R8], hi0
    vmovdqa64 [latest + POWERS + 4*LIMB + R8], hi1
.endm

/* Multiplies the latest powers, except for the kept elements, by the power at R8. The results go `before` bytes
 * below. */
.macro more_powers
    clear_lo
    clear_hi
    kmovw k1, keep
    product_r8 latest + POWERS + R8, LIMB
    carry
    vpblendmq lo0{k1}, lo0, [latest + POWERS + R8]
    vpblendmq lo1{k1}, lo1, [latest + POWERS + 1*LIMB + R8]
    vpblendmq lo2{k1}, lo2, [latest + POWERS + 2*LIMB + R8]
    sub latest, before
    save_powers
    xor keep, keep
    mov r12d, 64
.endm

/* The first pass of 8 to 24 blocks: ten double rounds of the vectors, beside which integer code makes block 0, the
 * key and the powers of r. Block 0's ten double rounds run beside the first six of the vectors: 2, 1, 2, 2, 1 and 2
 * of them. COUNT has a bit for each of the six, the first one lowest. It is 1 if two double rounds of block 0 run
 * beside it. The bit above these ends the loop. .Lkey is shared by all classes, and continues at .Lpowers_\blocks.
 */
#define TWO_BESIDE 0b101101
#define SIX_END (1 << 6)
.macro first_pass blocks
    \blocks\()_begin
    integer_begin
    mov dword ptr [words + BESIDE], SIX_END + TWO_BESIDE
2:  \blocks\()_round 0
    integer_double_round
    \blocks\()_round 1
    shr dword ptr [words + BESIDE], 1
    jnc 3f
    integer_double_round
3:  cmp dword ptr [words + BESIDE], 1
    jne 2b
    integer_end
    jmp .Lkey
.Lpowers_\blocks:
    \blocks\()_round 0
    dec steps
    js 5f                                                                       /* the last double round */
    more_powers
5:  \blocks\()_round 1
    test steps, steps
    jns .Lpowers_\blocks
.endm

.macro save_acc l0, l1, l2
    vmovdqa64 [scratch + ACC], \l0
    vmovdqa64 [scratch + ACC + 64], \l1
    vmovdqa64 [scratch + ACC + 128], \l2
.endm

/* Registers 16 to 31 wait until the first half has been applied. */
.macro save_second_half
    .irp i, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    vmovdqa64 [scratch + SECOND + 64*(\i - 16)], zmm\i
    .endr
.endm

/* h := h r^8 + m, of the next 8 blocks at mac. */
.macro step_of_8
    vmovdqu64 vx, [mac]
    vmovdqu64 vy, [mac + 64]
    limbs vx, vy, lo0, lo1, lo2
    clear_hi
    product h0, h1, h2, powers, R8-NEAR, 1
    carry
    vmovdqa64 h0, lo0
    vmovdqa64 h1, lo1
    vmovdqa64 h2, lo2
    add mac, 128
    sub mleft, 128
.endm

/* lo + 2^52 hi += v * y. */
.macro madd_pair lo, hi, v, y
    vpmadd52luq \lo, \v, \y
    vpmadd52huq \hi, \v, \y
.endm

/* k1 := the bytes of the given length after its last whole 64 bytes, and rax := their offset. The length is given by
 * the names of a register for 32 and for 64 bits. Jumps to `none` if there are none. */
.macro incomplete bytes_32, bytes, none
    mov eax, \bytes_32
    and eax, 63
    jz \none
    mov rbx, -1
    bzhi rax, rbx, rax
    kmovq k1, rax
    mov rax, \bytes
    and rax, -64
.endm

/* Bytes 64 j to 64 j + 63 of the rest to authenticate: from mac, from PARTIAL, or nothing. */
.macro last_bytes j, into
    .if \j
    lea rax, [mac + 64*\j]
    .else
    mov rax, mac
    .endif
    lea rbx, [scratch + PARTIAL]
    cmp mleft, 64*\j + 64
    cmovb rax, rbx
    lea rbx, [consts + ZERO]
    .if \j
    cmp mleft, 64*\j
    .else
    test mleft, mleft
    .endif
    cmovbe rax, rbx
    vmovdqu64 \into, [rax]
.endm

/* The blocks of two registers -> limbs in vx, vy, vz, in natural order. */
.macro natural_limbs a, b
    vmovdqu64 vx, [consts + EVEN]
    vpermi2q vx, \a, \b                                                         /* low halves */
    vmovdqu64 vt, [consts + ODD]
    vpermi2q vt, \a, \b                                                         /* high halves */
    vpsrlq vy, vx, 44
    vpandq vx, vx, mask44
    vpsrlq vz, vt, 24
    vpsllq vt, vt, 20
    vpternlogq vy, vt, mask44, 0xa8
    vporq vz, vz, qword ptr [consts + PAD]{1to8}
.endm

/* The tag, h mod p + s, where h is in rax, r11, mleft. */
.macro write_tag
    mov rbx, rax                                                                /* h - p, if that is not negative */
    mov mac, r11
    add rbx, 5
    adc mac, 0
    adc mleft, 0
    shr mleft, 2
    cmovnz rax, rbx
    cmovnz r11, mac
    mov rbx, [args + SEALANE_ARG_TAG]
    add rax, [scratch + SKEY]
    adc r11, [scratch + SKEY + 8]
    mov [rbx], rax
    mov [rbx + 8], r11
.endm

/* ---------------------------------------------------------------------------------------------------------------- */

    scratch_end SECOND + 16*64
    function sealane_chacha20poly1305_avx512

    /* The initial state; the first block of text is number 1. */
    mov [scratch + SAVED_ARGS], args
    mov [scratch + SAVED_CONSTS], consts
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST + SEALANE_FLAG_LAST
    jnz .Lbegin
    cmp qword ptr [args + SEALANE_ARG_BYTES], 0
    je .Lfinish
.Lbegin:
    mov key, [args + SEALANE_ARG_KEY]
    mov rbx, [args + SEALANE_ARG_NONCE]
    mov ecx, 1
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST
    jnz .Lcounter
    mov rcx, [args + SEALANE_ARG_STATE]
    mov ecx, [rcx + SEALANE_STATE_COUNTER]
.Lcounter:
    mov rax, [rbx]
    mov r8d, [rbx + 8]
    mov [scratch + NONCE], ecx
    mov [scratch + NONCE + 4], rax
    mov [scratch + NONCE + 12], r8d

    /* The class. */
    mov r9, [args + SEALANE_ARG_BYTES]
    cmp r9, TWENTYFOUR_BYTES
    ja .Lthirtytwo
    cmp r9, TWENTY_BYTES
    ja .Ltwentyfour
    cmp r9, SIXTEEN_BYTES
    ja .Ltwenty
    cmp r9, TWELVE_BYTES
    ja .Lsixteen
    cmp r9, EIGHT_BYTES
    ja .Ltwelve
    cmp r9, FOUR_BYTES
    ja .Leight
    mov eax, [args + SEALANE_ARG_FLAGS]
    and eax, SEALANE_FLAG_FIRST + SEALANE_FLAG_LAST
    cmp eax, SEALANE_FLAG_FIRST + SEALANE_FLAG_LAST
    jne .Leight
    cmp qword ptr [args + SEALANE_ARG_AD_BYTES], 64
    ja .Leight
    test r9, r9
    jz .Lempty

    /* ---- A short packet, at once: four blocks of keystream, Poly1305 in integer registers ----------------------- */
.Lfour:
    row_d 3, ecx
    set_rows 0, 1, 2
    integer_begin
    mov dword ptr [words + BESIDE], 10
    lfence                                                                      /* see four_quarter */
.Lfour_rounds:
    four_double_round
    sub dword ptr [words + BESIDE], 1
    jnz .Lfour_rounds
    jmp .Lshort
.Lempty:                                                                        /* no text: block 0 alone */
    integer_begin
    mov dword ptr [words + BESIDE], 10
.Lempty_rounds:
    integer_double_round
    sub dword ptr [words + BESIDE], 1
    jnz .Lempty_rounds

    /* The authenticated data is put together in SECOND: RFC 8439, 2.8. */
.Lshort:
    integer_end
    one_time_key
    mov args, [scratch + SAVED_ARGS]
    mov consts, [scratch + SAVED_CONSTS]
    mov key, [args + SEALANE_ARG_KEY]
    mov src, [args + SEALANE_ARG_IN]
    mov dst, [args + SEALANE_ARG_OUT]
    mov text_left, [args + SEALANE_ARG_BYTES]
    mov rbx, [args + SEALANE_ARG_AD_BYTES]
    mov r12, [args + SEALANE_ARG_AD]
    set_rows 28, 29, 30
    first_row_d
    set_end 0, 1, 2, 3
    mov rax, -1
    lea r13, [scratch + SECOND]
    test rbx, rbx                                                         /* no access with an empty mask: it is slow */
    jz .Lfour_text
    bzhi rcx, rax, rbx
    kmovq k1, rcx
    vmovdqu8 zmm4{k1}{z}, [r12]
    vmovdqu64 [r13], zmm4
    lea rcx, [rbx + 15]
    and rcx, -16
    add r13, rcx
.Lfour_text:
    mov rcx, text_left
    test rcx, rcx
    jz .Lfour_lengths
    sub rcx, 64
    jbe .Lfour_last
    vpxorq zmm4, zmm0, [src]
    vmovdqu64 zmm5, [src]
    vmovdqu64 [dst], zmm4
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jnz .Lfour_first
    vmovdqa64 zmm5, zmm4
.Lfour_first:
    vmovdqu64 [r13], zmm5
    add src, 64
    add dst, 64
    add r13, 64
    mov text_left, rcx
    vmovdqa64 zmm0, zmm1
.Lfour_last:
    bzhi rcx, rax, text_left
    kmovq k1, rcx
    vmovdqu8 zmm5{k1}{z}, [src]
    vpxorq zmm4, zmm0, zmm5
    vmovdqu8 [dst]{k1}, zmm4
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jnz .Lfour_second
    vmovdqu8 zmm5{k1}{z}, zmm4
.Lfour_second:
    vmovdqu64 [r13], zmm5
    add text_left, 15
    and text_left, -16
    add r13, text_left
.Lfour_lengths:
    mov rax, [args + SEALANE_ARG_TOTAL]
    mov [r13], rbx
    mov [r13 + 8], rax
    mov [scratch + LENGTHS], r13
    mov s1, r1
    shr s1, 2
    add s1, r1
    xor p0, p0
    xor p1, p1
    xor ecx, ecx
    lea r13, [scratch + SECOND]
.Lfour_block:
    add p0, [r13]                                                               /* p := (p + m) r */
    adc p1, [r13 + 8]
    adc p2, 1
    power_times_r
    add r13, 16
    cmp r13, [scratch + LENGTHS]
    jbe .Lfour_block
    clear 30
    .irp i, 0, 1, 2, 3
    vmovdqa64 [scratch + SECOND + 64*\i], vx
    .endr
    mov rax, p0
    mov r11, p1
    mov mleft, p2
    mov args, [scratch + SAVED_ARGS]
    write_tag
    clear 30
    vmovdqa64 [scratch + CWORDS], vx
    jmp .Lfinish

    /* ---- First passes: up to 8 blocks --------------------------------------------------------------------------- */
.Leight:
    first_pass eight
    jmp .Lad

    /* Up to 12 blocks. */
.Ltwelve:
    first_pass twelve
    jmp .Lad

    /* Up to 16 blocks. */
.Lsixteen:
    first_pass sixteen
    jmp .Lad

    /* Up to 20 and 24 blocks: sixteen vertically, the others horizontally. */
.Ltwenty:
    first_pass twenty
    mov key, [args + SEALANE_ARG_KEY]
    row_d_of_16
    set_rows 28, 29, 30
    set_end 16, 17, 18, 19
    jmp .Lad
.Ltwentyfour:
    first_pass twentyfour
    mov key, [args + SEALANE_ARG_KEY]
    row_d_of_16
    eight_end 16, 17, 18, 19, 20, 21, 22, 23
    jmp .Lad

    /* More: 32 blocks a pass. No vector register is free for the powers of r, so they are made after the rounds. */
.Lthirtytwo:
    thirtytwo_begin
    integer_begin
    mov dword ptr [words + BESIDE], 10
.Lthirtytwo_beside_block0:
    thirtytwo_round 0
    integer_double_round
    thirtytwo_round 1
    sub dword ptr [words + BESIDE], 1
    jnz .Lthirtytwo_beside_block0
    integer_end
    save_second_half

    /* Block 0 is ready: the key, and the first powers of r. */
.Lkey:
    one_time_key
    first_powers
    mov rax, [args + SEALANE_ARG_BYTES]
    cmp rax, EIGHT_BYTES
    jbe .Lpowers_eight
    cmp rax, TWELVE_BYTES
    jbe .Lpowers_twelve
    cmp rax, SIXTEEN_BYTES
    jbe .Lpowers_sixteen
    cmp rax, TWENTY_BYTES
    jbe .Lpowers_twenty
    cmp rax, TWENTYFOUR_BYTES
    jbe .Lpowers_twentyfour
.Lpowers_thirtytwo:
    more_powers
    dec steps
    jnz .Lpowers_thirtytwo

    /* ---- Associated data, or the accumulator of an earlier part ------------------------------------------------- */
.Lad:
    mov src, [args + SEALANE_ARG_IN]
    mov dst, [args + SEALANE_ARG_OUT]
    mov text_left, [args + SEALANE_ARG_BYTES]
    clear_lo
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST
    jnz .Lad_first

    /* The accumulator of an earlier part. */
    mov acc_is, ADDEND
    mov rbx, [args + SEALANE_ARG_STATE]
    mov rax, [rbx + SEALANE_STATE_H]
    mov r11, [rbx + SEALANE_STATE_H + 8]
    mov rbx, [rbx + SEALANE_STATE_H + 16]
    mov r13, r11
    shl rbx, 40
    shr r11, 24
    or rbx, r11                                                                 /* limb 2 */
    mov r11, rax
    shrd r11, r13, 44
    and r11, [consts + MASK44]                                                  /* limb 1 */
    and rax, [consts + MASK44]                                                  /* limb 0 */
    vmovq xmm24, rax
    vmovq xmm25, r11
    vmovq xmm26, rbx
    save_acc lo0, lo1, lo2
    jmp .Lad_done

    /* The associated data, padded to blocks: RFC 8439, 2.8. Eight blocks are processed per step; the first step takes
     * the remainder, in the highest elements. The window of 128 bytes at rbx has associated data from byte r11 on, up
     * to byte r13.
     */
.Lad_first:
    save_acc lo0, lo1, lo2
    mov acc_is, ADDEND
    mov r13, [args + SEALANE_ARG_AD_BYTES]
    test r13, r13
    jz .Lad_done
    mov rbx, [args + SEALANE_ARG_AD]
    lea r11, [r13 + 15]
    shr r11, 4
    neg r11
    and r11d, 7                                                                 /* empty elements */
    mov eax, 0xff
    shlx eax, eax, r11d
    shl r11, 4
    sub rbx, r11
    add r13, r11
.Lad_step:
    movzx r12d, al                                                       /* blocks 0 to 3: even elements; 4 to 7: odd */
    shr r12d, 4
    mov r14d, 0x55
    pdep eax, eax, r14d
    add r14d, r14d
    pdep r12d, r12d, r14d
    or eax, r12d
    kmovw k3, eax
    mov r12d, 128
    cmp r13, r12
    cmovb r12, r13
    mov rax, -1
    bzhi r14, rax, r12                                                          /* bytes of the first half */
    bzhi rax, rax, r11
    andn rax, rax, r14
    kmovq k1, rax
    xor eax, eax
    sub r12, 64
    cmovb r12, rax
    sub r11, 64
    cmovb r11, rax
    mov rax, -1
    bzhi r14, rax, r12                                                          /* of the second */
    bzhi rax, rax, r11
    andn rax, rax, r14
    kmovq k2, rax
    vmovdqu8 vx{k1}{z}, [rbx]
    vmovdqu8 vt{k2}{z}, [rbx + 64]
    vpunpcklqdq lo0, vx, vt
    vpunpckhqdq vt, vx, vt
    vpsrlq lo1, lo0, 44
    vpandq lo0, lo0, qword ptr [consts + MASK44]{1to8}
    vpsrlq lo2, vt, 24
    vpsllq vt, vt, 20
    vpternlogq lo1, vt, qword ptr [consts + MASK44]{1to8}, 0xa8
    vporq lo2{k3}, lo2, qword ptr [consts + PAD]{1to8}
    cmp acc_is, SUM
    jne .Lad_save
    clear_hi
    product_r8 scratch + ACC, 64                                                /* h r^8 + m */
    carry
.Lad_save:
    save_acc lo0, lo1, lo2
    mov acc_is, SUM
    add rbx, 128
    xor r11d, r11d
    mov eax, 0xff
    sub r13, 128
    ja .Lad_step
.Lad_done:
    mov mac, dst
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    cmovnz mac, src

    /* ---- Keystream ---------------------------------------------------------------------------------------------- */

    /* The rounds of up to 12 blocks, or of the first 16, end as keystream in registers 0 to 15. For 20 and 24 blocks,
     * registers 16 to 23 have the keystream of the others.
     */
.Lkeystream:
    mov key, [args + SEALANE_ARG_KEY]
    cmp qword ptr [args + SEALANE_ARG_BYTES], TWELVE_BYTES
    ja .Lsixteen_end
    first_row_d
    eight_end 0, 1, 2, 3, 4, 5, 6, 7
    cmp qword ptr [args + SEALANE_ARG_BYTES], EIGHT_BYTES
    jbe .Ltext
    four_later
    set_end 8, 9, 10, 11
    jmp .Ltext
.Lsixteen_end:
    sixteen_end
.Ltext:
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jz .Lapply
    lea mleft, [src + text_left]
    lea enough, [src + THIRTYTWO_BYTES]
    sub mleft, mac
    cmp text_left, SIXTEEN_BYTES
    jbe .Lauthenticate
    cmp qword ptr [args + SEALANE_ARG_BYTES], TWENTYFOUR_BYTES
    ja .Lauthenticate                                                           /* the second half is in SECOND */
    .irp i, 16, 17, 18, 19, 20, 21, 22, 23
    vmovdqa64 [scratch + SECOND + 64*(\i - 16)], zmm\i
    .endr
    jmp .Lauthenticate

    /* Open: the pass has been authenticated, and is decrypted now. Poly1305 has used the registers from 16 on. */
.Lauthenticated:
    cmp text_left, SIXTEEN_BYTES
    jbe .Lapply
    cmp qword ptr [args + SEALANE_ARG_BYTES], TWENTYFOUR_BYTES
    ja .Lapply                                                                  /* it still is */
    vpxord xmm31, xmm31, xmm31
    .irp i, 16, 17, 18, 19, 20, 21, 22, 23
    vmovdqa64 zmm\i, [scratch + SECOND + 64*(\i - 16)]
    vmovdqa64 [scratch + SECOND + 64*(\i - 16)], zmm31
    .endr

    /* ---- Text and keystream ------------------------------------------------------------------------------------- */
.Lapply:
    mov chunk, text_left
    cmp text_left, SIXTEEN_BYTES
    jbe .Lapply_blocks                                                          /* registers 0 to 15 */
    cmp qword ptr [args + SEALANE_ARG_BYTES], TWENTYFOUR_BYTES
    jbe .Lapply_blocks                                                          /* to 23 */

    /* The first half of 32 blocks. Then the second half's states become keystream. */
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    vpxorq zmm\i, zmm\i, [src + 64*\i]
    vmovdqu64 [dst + 64*\i], zmm\i
    .endr
    add src, SIXTEEN_BYTES
    add dst, SIXTEEN_BYTES
    sub text_left, SIXTEEN_BYTES
    add dword ptr [scratch + NONCE], 16
    vpxord xmm31, xmm31, xmm31
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    vmovdqa64 zmm\i, [scratch + SECOND + 64*\i]
    vmovdqa64 [scratch + SECOND + 64*\i], zmm31
    .endr
    mov key, [args + SEALANE_ARG_KEY]
    sixteen_end
    mov ecx, SIXTEEN_BYTES
    cmp text_left, chunk
    cmovb chunk, text_left

    /* Block i has its keystream in register i; the last block may be incomplete. */
.Lapply_blocks:
    mov eax, ecx
    shr eax, 6                                                                  /* whole blocks */
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23
    vmovdqa64 vx, zmm\i
    cmp al, \i
    jbe .Lapply_partial
    vpxorq vx, vx, [src + 64*\i]
    vmovdqu64 [dst + 64*\i], vx
    .endr
    jmp .Lapplied
.Lapply_partial:
    incomplete ecx, chunk, .Lapplied
    vmovdqu8 vt{k1}{z}, [src + rax]
    vpxorq vx, vx, vt
    vmovdqu8 [dst + rax]{k1}, vx
    vmovdqu8 vx{k1}{z}, vx
    vmovdqa64 [scratch + PARTIAL], vx
.Lapplied:
    add src, chunk
    add dst, chunk
    sub text_left, chunk
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jnz .Lopened
    mov mleft, dst
    sub mleft, mac
    mov enough, -1

    /* ---- Poly1305 of whole steps -------------------------------------------------------------------------------- */

    /* Authenticates the bytes at mac up to `enough`, or all whole steps of the mleft bytes. The first step of 8
     * blocks needs no multiplication, so it is short.
     */
.Lauthenticate:
    lea powers, [scratch + NEAR]
    vmovdqa64 h0, [scratch + ACC]
    vmovdqa64 h1, [scratch + ACC + 64]
    vmovdqa64 h2, [scratch + ACC + 128]
    vpbroadcastq mask44, [consts + MASK44]
    vpbroadcastq pad, [consts + PAD]
    cmp acc_is, SUM
    je .Lauthenticate_steps
    cmp mleft, 240
    jbe .Lauthenticate_steps
    vmovdqu64 vx, [mac]
    vmovdqu64 vy, [mac + 64]
    limbs vx, vy, vx, vy, vz
    vpaddq h0, h0, vx                                                           /* h + m */
    vpaddq h1, h1, vy
    vpaddq h2, h2, vz
    mov acc_is, SUM
    add mac, 128
    sub mleft, 128
.Lauthenticate_steps:
    cmp mleft, 384
    jb .Lauthenticated_steps
    cmp mac, enough
    jae .Lauthenticated_steps
.Ltriple:                                                                       /* h r^24 + m r^16 + m' r^8 + m'' */
    vmovdqu64 vx, [mac + 256]
    vmovdqu64 vy, [mac + 320]
    limbs vx, vy, lo0, lo1, lo2
    clear_hi
    vmovdqu64 vx, [mac]
    vmovdqu64 vy, [mac + 64]
    limbs vx, vy, vx, vy, vz
    product vx, vy, vz, powers, R16-NEAR, 1
    vmovdqu64 vx, [mac + 128]
    vmovdqu64 vy, [mac + 192]
    limbs vx, vy, vx, vy, vz
    product vx, vy, vz, powers, R8-NEAR, 1
    product h0, h1, h2, powers, R24-NEAR, 1
    carry
    vmovdqa64 h0, lo0
    vmovdqa64 h1, lo1
    vmovdqa64 h2, lo2
    add mac, 384
    sub mleft, 384
    cmp mac, enough
    jae .Ltriples_done
    cmp mleft, 384
    jae .Ltriple
.Ltriples_done:
    mov acc_is, SUM
.Lauthenticated_steps:
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jnz .Lauthenticated_open
    test text_left, text_left
    jz .Llast
    save_acc h0, h1, h2
    jmp .Lnext
.Lauthenticated_open:
    cmp text_left, THIRTYTWO_BYTES
    jbe .Llast
.Lauthenticate_pass:                                                      /* 24 blocks may not be left */
    cmp mac, enough
    jae .Lauthenticated_pass
    step_of_8
    jmp .Lauthenticate_pass
.Lauthenticated_pass:
    save_acc h0, h1, h2
    jmp .Lapply

.Lopened:
    test text_left, text_left
    jz .Lfinish

    /* ---- The next pass ------------------------------------------------------------------------------------------ */
.Lnext:
    add dword ptr [scratch + NONCE], 16
    mov key, [args + SEALANE_ARG_KEY]
    mov ecx, [scratch + NONCE]
    lea rbx, [scratch + NONCE + 4]
    mov eax, 10
    cmp text_left, SIXTEEN_BYTES
    ja .Lnext_thirtytwo
    sixteen_begin
.Lnext_sixteen_rounds:
    sixteen_round 0
    sixteen_round 1
    dec eax
    jnz .Lnext_sixteen_rounds
    jmp .Lsixteen_end
.Lnext_thirtytwo:
    thirtytwo_begin
.Lnext_thirtytwo_rounds:
    thirtytwo_round 0
    thirtytwo_round 1
    dec eax
    jnz .Lnext_thirtytwo_rounds
    save_second_half
    jmp .Lsixteen_end

    /* ---- The end ------------------------------------------------------------------------------------------------ */

    /* All text is processed. At most 16 blocks are left, including the block of lengths. */
.Llast:
    cmp mleft, 240
    jbe .Llast_blocks
    step_of_8
    jmp .Llast
.Llast_blocks:
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jz .Llast_load
    incomplete r13d, mleft, .Llast_load
    vmovdqu8 vx{k1}{z}, [mac + rax]
    vmovdqa64 [scratch + PARTIAL], vx
.Llast_load:
    last_bytes 0, lo0
    last_bytes 1, lo1
    last_bytes 2, pad
    last_bytes 3, more
    add mleft, 15
    shr mleft, 4                                                                /* blocks */
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_LAST
    jz .Llast_natural
    vpxord xmm31, xmm31, xmm31
    vmovlps xmm31, xmm31, [args + SEALANE_ARG_AD_BYTES]
    vmovhps xmm31, xmm31, [args + SEALANE_ARG_TOTAL]
    vshufi32x4 vt, vt, vt, 0
    lea eax, [mleft + mleft]
    mov ebx, 3
    shlx eax, ebx, eax
    kmovd k1, eax
    vmovdqa64 lo0{k1}, vt
    kshiftrd k1, k1, 8
    vmovdqa64 lo1{k1}, vt
    kshiftrd k1, k1, 8
    vmovdqa64 pad{k1}, vt
    kshiftrd k1, k1, 8
    vmovdqa64 more{k1}, vt
    inc mleft
.Llast_natural:
    lea rbx, [8*mleft]
    neg rbx
    add rbx, scratch
    natural_limbs lo0, lo1
    clear_lo
    clear_hi
    cmp acc_is, ADDEND
    jne .Llast_first
    vpaddq vx, vx, h0
    vpaddq vy, vy, h1
    vpaddq vz, vz, h2
.Llast_first:
    product vx, vy, vz, rbx, 8*32                                           /* m blocks: r^m .. */
    cmp mleft, 8
    jbe .Llast_sum
    natural_limbs pad, more
    product vx, vy, vz, rbx, 8*40                                           /* r^(m-8) .. */
.Llast_sum:
    cmp acc_is, SUM
    jne .Llast_fold
    vmovdqu64 vt, [consts + STEP_ORDER]                                         /* r^(m+8) .. */
    vpermq zmm19, vt, [rbx + POWERS + 0*LIMB + 8*24]
    vpermq zmm20, vt, [rbx + POWERS + 1*LIMB + 8*24]
    vpermq zmm21, vt, [rbx + POWERS + 2*LIMB + 8*24]
    vpermq zmm22, vt, [rbx + POWERS + 3*LIMB + 8*24]
    vpermq zmm23, vt, [rbx + POWERS + 4*LIMB + 8*24]
    madd_pair lo0, hi0, h0, zmm19
    madd_pair lo1, hi1, h0, zmm20
    madd_pair lo2, hi2, h0, zmm21
    madd_pair lo0, hi0, h1, zmm23
    madd_pair lo1, hi1, h1, zmm19
    madd_pair lo2, hi2, h1, zmm20
    madd_pair lo0, hi0, h2, zmm22
    madd_pair lo1, hi1, h2, zmm23
    madd_pair lo2, hi2, h2, zmm19

    /* The elements' sum: 2^0 rax + 2^44 r11 + 2^88 mleft + 2^140 mac. */
.Llast_fold:
    clear 30                                                           /* secrets are wiped while the sum waits */
    .irp i, 0, 1, 2
    vmovdqa64 [scratch + ACC + 64*\i], vx
    .irp j, 0, 1, 2, 3, 4
    vmovdqa64 [scratch + POWERS + \j*LIMB + R24 + 64*\i], vx
    .endr
    .endr
    vpmadd52luq lo1, hi0, qword ptr [consts + SHIFT8]{1to8}
    vpmadd52luq lo2, hi1, qword ptr [consts + SHIFT8]{1to8}
    vpunpcklqdq vy, lo0, lo1
    vpunpckhqdq vz, lo0, lo1
    vpunpcklqdq vx, lo2, hi2
    vpunpckhqdq vt, lo2, hi2
    vpaddq vy, vy, vz
    vpaddq vx, vx, vt
    vextracti64x4 ymm22, vy, 1
    vextracti64x4 ymm31, vx, 1
    vpaddq ymm21, ymm21, ymm22
    vpaddq ymm30, ymm30, ymm31
    vextracti32x4 xmm22, ymm21, 1
    vextracti32x4 xmm31, ymm30, 1
    vpaddq xmm21, xmm21, xmm22
    vpaddq xmm30, xmm30, xmm31
    vpunpckhqdq xmm22, xmm21, xmm21
    vpunpckhqdq xmm31, xmm30, xmm30
    vmovq rax, xmm21
    vmovq r11, xmm22
    vmovq mleft, xmm30
    vmovq mac, xmm31
    imul mac, mac, 5120                                                         /* 2^140 mod p */
    mov rbx, r11
    shl rbx, 44
    shr r11, 20
    mov r14, mleft
    shl r14, 24
    shr mleft, 40
    add rax, mac
    adc r11, 0
    add rax, rbx
    adc r11, r14
    adc mleft, 0
    mov rbx, mleft                                                              /* 2^130 = 5 */
    mov r14, mleft
    and rbx, -4
    shr r14, 2
    and r13d, 3                                                                 /* mleft */
    add rbx, r14
    add rax, rbx
    adc r11, 0
    adc mleft, 0
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_LAST
    jnz .Ltag
    mov rbx, [args + SEALANE_ARG_STATE]
    mov [rbx + SEALANE_STATE_H], rax
    mov [rbx + SEALANE_STATE_H + 8], r11
    mov [rbx + SEALANE_STATE_H + 16], mleft
    vmovdqu64 xmm30, [scratch + RKEY]
    vmovdqu64 xmm31, [scratch + SKEY]
    vmovdqu64 [rbx + SEALANE_STATE_R], xmm30
    vmovdqu64 [rbx + SEALANE_STATE_S], xmm31
    mov r11, [args + SEALANE_ARG_BYTES]
    shr r11, 6
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST
    mov eax, 1
    cmovz eax, [rbx + SEALANE_STATE_COUNTER]
    add rax, r11
    mov [rbx + SEALANE_STATE_COUNTER], rax
    jmp .Lwipe
.Ltag:
    write_tag
.Lwipe:
    clear 30
    vmovdqa64 [scratch + CWORDS], vx
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jnz .Lauthenticated

.Lfinish:
    vpxor xmm0, xmm0, xmm0
    vmovdqa64 [scratch + NONCE], zmm0                                           /* and the pointers, and COUNT */
    vmovdqa64 [scratch + PARTIAL], zmm0
    vzeroupper
    endfunction
