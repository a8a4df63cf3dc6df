/* AES-GCM (NIST SP 800-38D) for x86-64 with AVX-512: seals or opens many packets, each with its own key.
 *
 * void sealane_aesgcm_batch_avx512(const args *a, void *scratch, const void *consts)
 *
 * Needs        AVX512F, VL, BW; AES-NI, VAES; PCLMULQDQ, VPCLMULQDQ; BMI2
 * Reads        args; of every lane ad[ad_bytes], key[960] as sealane_aesgcm_avx512 made it, nonce[12], in[bytes]
 * Writes       of every lane out[bytes], tag[16]; scratch (SEALANE_BATCH_SCRATCH_BYTES), wiped again
 * Registers    all but rsp, rbp; stack 0
 * Branches and addresses depend on flags, pointers, lengths and the numbers of rounds only.
 *
 * Four packets at a time, whose rounds are interleaved, or two if they fill the execution units. A row is a 512-bit
 * register: four blocks of one packet, so that a round key is one 128-bit word in all lanes. The encrypted J0 of a
 * packet, the mask of its tag, goes with its rows. Keys of more than 10 rounds begin with what they have more, and then
 * all are in step.
 *
 * GHASH and its mathematics are in asm/ghash.h. Each packet's blocks are multiplied by falling powers of its own H;
 * then the four lanes of each of the four sums are added up in such a way that lane p has what is packet p's, and
 * blocks of lengths, associated data, reduction and tags are done for four packets in one register.
 *
 * Packets of as many rows, at most four, and no more than a block of associated data go straight; others step by step.
 * Those of STREAM_LEAST to STREAM_MOST bytes go one after the other (aesgcm_stream.h).
 */
#include "../asm.S"

    isa .avx, .avx2, .bmi2, .aes, .pclmul, .avx512f, .avx512vl, .avx512bw, .vaes, .vpclmulqdq

/* Constants. */
#define REVERSE 0    /* of 16 bytes */
#define POLY 16      /* P = 2^57 + 2^62 + 2^63 (asm/ghash.h) */
#define REVERSE4 32  /* of the bytes of a dword */
#define FIRST 48     /* the counter in J0: 1 */
#define COUNTERS 64  /* the first counter blocks of the text: rows of 2 3 4 5, 6 7 8 9, and so on, bytes reversed */
#define COUNT 320    /* 2 6 10 14, 3 7 11 15 and so on: dword i of lane j is the counter of block j of row i */
#define SIXTEEN 384
#define STREAM 448   /* counter blocks from J0's on: rows of 1 2 3 4 and so on, as many as a packet in a stream has */
#define STREAM_ROWS 36

    constants sealane_aesgcm_batch_avx512_constants
    .byte 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
    .quad 0xc200000000000000, 0
    .byte 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12
    .long 0, 0, 0, 0x01000000
    .irp counter, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17
    .long 0, 0, 0, \counter << 24
    .endr
    .long 2, 6, 10, 14, 3, 7, 11, 15, 4, 8, 12, 16, 5, 9, 13, 17
    .long 16, 0, 0, 0
    .fill 12, 4, 0
    .set counter, 1
    .rept 4*STREAM_ROWS
    .long 0, 0, 0, counter << 24
    .set counter, counter + 1
    .endr
    endconstants

/* The key's table, as aesgcm_avx512.S has it: powers fall from H^20 to H; S(i) has the sums of halves of H^i and of
 * H^(i-4). */
#define H(i) (SEALANE_GCM_KEY_TABLE + 16*(20 - (i)))
#define S(i) (SEALANE_GCM_KEY_TABLE + 320 + 16*(20 - (i)))
#define ROUND_KEY(i) (SEALANE_GCM_KEY_SCHEDULE + 16*(i))
#define LANE(p, slot) lane + SEALANE_LANE_STRIDE*(p) + SEALANE_LANE_##slot

/* Bytes of packets that are done in a stream. It takes no less than two groups of four rows, J0 being among them: four
 * rows of text are faster side by side. */
#define STREAM_LEAST 257
#define STREAM_MOST (64*STREAM_ROWS - 16)

/* Scratch. */
#define COPY 256     /* the last lanes, with others to make four */
#define NO_TAG 512   /* where those are put */
#define Y 576        /* GHASH of four packets so far */
#define COUNTER 640  /* the next counters: see COUNT */
#define LONGEST 704  /* bytes of text */
#define LONGEST_AD 712 /* and of associated data */
#define NOWHERE 768
#define END 1024

/* Registers. */
#define args rdi
#define lane rdi     /* the first of four */
#define scratch rsi
#define consts rdx
#define done r12     /* step by step: bytes of each packet that have been taken */
#define active r13d  /* two bits for every packet that has more */
#define packets_left r14
#define flags r15d
/* r8 .. r11 are the packets' keys at ten rounds from the end; rax, rbx, rcx are free. */

/* Rows of packet p in zmm 4p .. 4p + 3, its mask in 16 + p, its round key in 20 + p; then products in 24, 25, 26 (p =
 * 0) or 4p - 4, 4p - 3, 4p - 2.
 */
#define lo zmm24
#define mi zmm25
#define hi zmm26
#define y zmm29
#define poly zmm30
#define reverse zmm31
#define opening k5   /* all bits if packets are opened */
#define nonce_words k7

.macro packets do, more:vararg
    first_two \do, \more
    last_two \do, \more
.endm

.macro first_two do, more:vararg
    \do 0, r8, 0, 1, 2, 3, 16, 20, 24, 25, 26, \more
    \do 1, r9, 4, 5, 6, 7, 17, 21, 0, 1, 2, \more
.endm

.macro last_two do, more:vararg
    \do 2, r10, 8, 9, 10, 11, 18, 22, 4, 5, 6, \more
    \do 3, r11, 12, 13, 14, 15, 19, 23, 8, 9, 10, \more
.endm

/* ---- AES ------------------------------------------------------------------------------------------------------- */

/* Counter blocks and J0, and the first round key. Counters of rows are in 24 .. 27, or if first in consts. */
.macro begin p, keys, a, b, c, d, mask, rk, o0, o1, o2, n, first
    mov rcx, [LANE(\p, KEY)]
    mov rax, [LANE(\p, NONCE)]
    mov \keys, [rcx + SEALANE_GCM_KEY_ROUNDS]
    shl \keys, 4
    lea \keys, [rcx + \keys - 160]
    vmovdqu32 xmm\rk{nonce_words}{z}, [rax]
    vpxord xmm\rk, xmm\rk, [rcx + ROUND_KEY(0)]
    vpxord xmm\mask, xmm\rk, [consts + FIRST]
    vshufi32x4 zmm\rk, zmm\rk, zmm\rk, 0
    .if \first
    vpxord zmm\a, zmm\rk, [consts + COUNTERS]
    .if \n > 1
    vpxord zmm\b, zmm\rk, [consts + COUNTERS + 64]
    .endif
    .if \n > 2
    vpxord zmm\c, zmm\rk, [consts + COUNTERS + 128]
    .endif
    .if \n > 3
    vpxord zmm\d, zmm\rk, [consts + COUNTERS + 192]
    .endif
    .else
    vpxord zmm\a, zmm\rk, zmm24
    vpxord zmm\b, zmm\rk, zmm25
    vpxord zmm\c, zmm\rk, zmm26
    vpxord zmm\d, zmm\rk, zmm27
    .endif
    cmp rcx, \keys
    je 2f
1:
    one_round \p, rcx, \a, \b, \c, \d, \mask, \rk, \o0, \o1, \o2, \n, 1
    one_round \p, rcx, \a, \b, \c, \d, \mask, \rk, \o0, \o1, \o2, \n, 2
    add rcx, 32
    cmp rcx, \keys
    jne 1b
2:
.endm

.macro one_round p, keys, a, b, c, d, mask, rk, o0, o1, o2, n, number
    vbroadcasti32x4 zmm\rk, [\keys + ROUND_KEY(\number)]
    vaesenc zmm\a, zmm\a, zmm\rk
    .if \n > 1
    vaesenc zmm\b, zmm\b, zmm\rk
    .endif
    .if \n > 2
    vaesenc zmm\c, zmm\c, zmm\rk
    .endif
    .if \n > 3
    vaesenc zmm\d, zmm\d, zmm\rk
    .endif
    vaesenc xmm\mask, xmm\mask, xmm\rk
.endm

/* The last round of the mask. */
.macro last_mask p, keys, a, b, c, d, mask, rk, more:vararg
    vbroadcasti32x4 zmm\rk, [\keys + ROUND_KEY(10)]
    vaesenclast xmm\mask, xmm\mask, xmm\rk
.endm

.macro encrypt which, n, first
    \which begin, \n, \first
    .irp number, 1, 2, 3, 4, 5, 6, 7, 8, 9
    \which one_round, \n, \number
    .endr
    \which last_mask
.endm

/* The last round of a row, and its text: the row becomes what is to be authenticated. */
.macro crypt_row row, rk, at
    vmovdqu64 zmm27, [rax + \at]
    vpxord zmm28, zmm27, zmm\rk
    vaesenclast zmm\row, zmm\row, zmm28
    vmovdqu64 [rcx + \at], zmm\row
    vmovdqa64 zmm\row{opening}, zmm27
    vpshufb zmm\row, zmm\row, reverse
.endm

/* The same where some bytes are missing. */
.macro crypt_part row, rk, at, k
    vmovdqu8 zmm27{\k}{z}, [rax + \at]
    vpxord zmm28, zmm27, zmm\rk
    vaesenclast zmm\row, zmm\row, zmm28
    vmovdqu8 [rcx + \at]{\k}, zmm\row
    vmovdqu8 zmm\row{\k}{z}, zmm\row
    vmovdqa64 zmm\row{opening}, zmm27
    vpshufb zmm\row, zmm\row, reverse
.endm

/* The same where none may be there: masked accesses of nothing are slow. */
.macro crypt_any row, rk, at, k
    kortestq \k, \k
    jnz 4f
    vpxord zmm\row, zmm\row, zmm\row
    jmp 5f
4:
    crypt_part \row, \rk, \at, \k
5:
.endm

/* ---- GHASH ----------------------------------------------------------------------------------------------------- */

/* lo, mi, hi := or += a h, where the even qwords of sums have the sums of h's halves. */
.macro multiply first, a, h, sums, o0, o1, o2, t0, t1
    vpshufd zmm\t0, zmm\a, 0x4e
    vpxord zmm\t0, zmm\t0, zmm\a
    .if \first
    vpclmulqdq zmm\o0, zmm\a, \h, 0x00
    vpclmulqdq zmm\o2, zmm\a, \h, 0x11
    vpclmulqdq zmm\o1, zmm\t0, \sums, 0x00
    .else
    vpclmulqdq zmm\t1, zmm\a, \h, 0x00
    vpxord zmm\o0, zmm\o0, zmm\t1
    vpclmulqdq zmm\t1, zmm\a, \h, 0x11
    vpxord zmm\o2, zmm\o2, zmm\t1
    vpclmulqdq zmm\t1, zmm\t0, \sums, 0x00
    vpxord zmm\o1, zmm\o1, zmm\t1
    .endif
.endm

/* ... a h + b g, where sums has those of both. */
.macro multiply_two first, a, b, h, g, sums, o0, o1, o2, t0, t1, t2
    vpunpcklqdq zmm\t0, zmm\a, zmm\b
    vpunpckhqdq zmm\t1, zmm\a, zmm\b
    vpxord zmm\t0, zmm\t0, zmm\t1
    .if \first
    vpclmulqdq zmm\o0, zmm\a, \h, 0x00
    vpclmulqdq zmm\t1, zmm\b, \g, 0x00
    vpxord zmm\o0, zmm\o0, zmm\t1
    vpclmulqdq zmm\o2, zmm\a, \h, 0x11
    vpclmulqdq zmm\t1, zmm\b, \g, 0x11
    vpxord zmm\o2, zmm\o2, zmm\t1
    vpclmulqdq zmm\o1, zmm\t0, \sums, 0x00
    vpclmulqdq zmm\t1, zmm\t0, \sums, 0x11
    vpxord zmm\o1, zmm\o1, zmm\t1
    .else
    vpclmulqdq zmm\t1, zmm\a, \h, 0x00
    vpclmulqdq zmm\t2, zmm\b, \g, 0x00
    vpternlogd zmm\o0, zmm\t1, zmm\t2, 0x96
    vpclmulqdq zmm\t1, zmm\a, \h, 0x11
    vpclmulqdq zmm\t2, zmm\b, \g, 0x11
    vpternlogd zmm\o2, zmm\t1, zmm\t2, 0x96
    vpclmulqdq zmm\t1, zmm\t0, \sums, 0x00
    vpclmulqdq zmm\t2, zmm\t0, \sums, 0x11
    vpternlogd zmm\o1, zmm\t1, zmm\t2, 0x96
    .endif
.endm

/* n rows of a packet, the first block by the power that rbx says: key - 16 (its exponent). */
.macro authenticate n, a, b, c, d, rk, o0, o1, o2
    .if \n == 1
    multiply 1, \a, [rbx + H(0)], [rbx + S(0)], \o0, \o1, \o2, 27, 28
    .else
    multiply_two 1, \a, \b, [rbx + H(0)], [rbx + H(0) + 64], [rbx + S(0)], \o0, \o1, \o2, 27, 28, \rk
    .endif
    .if \n == 3
    multiply 0, \c, [rbx + H(0) + 128], [rbx + S(0) + 128], \o0, \o1, \o2, 27, 28
    .elseif \n == 4
    multiply_two 0, \c, \d, [rbx + H(0) + 128], [rbx + H(0) + 192], [rbx + S(0) + 128], \o0, \o1, \o2, 27, 28, \rk
    .endif
.endm

/* a := the sum of a's lanes in lane 0, of b's in lane 1, of c's and d's. */
.macro sum_lanes a, b, c, d
    vshufi64x2 zmm12, zmm\a, zmm\b, 0x44
    vshufi64x2 zmm\a, zmm\a, zmm\b, 0xee
    vshufi64x2 zmm13, zmm\c, zmm\d, 0x44
    vshufi64x2 zmm\c, zmm\c, zmm\d, 0xee
    vpxord zmm\a, zmm\a, zmm12
    vpxord zmm\c, zmm\c, zmm13
    vshufi64x2 zmm12, zmm\a, zmm\c, 0x88
    vshufi64x2 zmm\a, zmm\a, zmm\c, 0xdd
    vpxord zmm\a, zmm\a, zmm12
.endm

.macro sum_packets
    sum_lanes 24, 0, 4, 8
    sum_lanes 25, 1, 5, 9
    sum_lanes 26, 2, 6, 10
.endm

/* hi := lo + 2^64 (mi + lo + hi) + 2^128 hi, reduced. */
.macro reduce
    vpternlogd mi, lo, hi, 0x96
    vpclmulqdq zmm0, lo, poly, 0x00                                             /* P w */
    vpshufd lo, lo, 0x4e
    vpternlogd mi, lo, zmm0, 0x96
    vpclmulqdq zmm0, mi, poly, 0x00
    vpshufd mi, mi, 0x4e
    vpternlogd hi, mi, zmm0, 0x96
.endm

/* Four 128-bit words, one of each packet, from xmm a .. a + 3 to zmm a. */
.macro pack a, b, c, d
    vinserti32x4 ymm\a, ymm\a, xmm\b, 1
    vinserti32x4 ymm\c, ymm\c, xmm\d, 1
    vinserti64x4 zmm\a, zmm\a, ymm\c, 1
.endm

/* ---- Packets with n rows each ---------------------------------------------------------------------------------- */

.macro straight_packet p, keys, a, b, c, d, mask, rk, o0, o1, o2, n
    mov rcx, [LANE(\p, BYTES)]
    mov rbx, -1
    lea eax, [rcx - 64*(\n-1)]
    bzhi rbx, rbx, rax
    kmovq k1, rbx
    lea ebx, [rcx + 31]
    and rbx, -16
    neg rbx
    add rbx, [LANE(\p, KEY)]                                                    /* less 16 (blocks and lengths) */
    mov rax, [LANE(\p, IN)]
    mov rcx, [LANE(\p, OUT)]
    .if \n == 1
    crypt_any \a, \rk, 0, k1
    .else
    crypt_row \a, \rk, 0
    .endif
    .if \n == 2
    crypt_part \b, \rk, 64, k1
    .elseif \n > 2
    crypt_row \b, \rk, 64
    .endif
    .if \n == 3
    crypt_part \c, \rk, 128, k1
    .elseif \n > 3
    crypt_row \c, \rk, 128
    crypt_part \d, \rk, 192, k1
    .endif
    authenticate \n, \a, \b, \c, \d, \rk, \o0, \o1, \o2
.endm

.macro straight n
.Lstraight\n:
    .if \n < 3
    encrypt packets, \n, 1
    packets straight_packet, \n
    .else
    encrypt first_two, \n, 1
    first_two straight_packet, \n
    encrypt last_two, \n, 1
    last_two straight_packet, \n
    .endif
    sum_packets
    jmp .Lfinish
.endm

/* ---- Step by step ---------------------------------------------------------------------------------------------- */

/* Up to 64 bytes of associated data. */
.macro ad_step p, keys, a, b, c, d, mask, rk, o0, o1, o2, more:vararg
    vpxord zmm\a, zmm\a, zmm\a
    mov rbx, [LANE(\p, KEY)]
    mov rcx, [LANE(\p, AD_BYTES)]
    sub rcx, done
    jbe 1f
    mov eax, 64
    cmp rcx, rax
    cmova rcx, rax
    mov rax, -1
    bzhi rax, rax, rcx
    kmovq k1, rax
    mov rax, [LANE(\p, AD)]
    vmovdqu8 zmm\a{k1}{z}, [rax + done]
    vextracti32x4 xmm27, y, \p
    vpshufb zmm\a, zmm\a, reverse
    vpxord zmm\a, zmm\a, zmm27
    add ecx, 15
    and ecx, -16
    sub rbx, rcx
    or active, 3 << (2*\p)
1:
    authenticate 1, \a, \b, \c, \d, \rk, \o0, \o1, \o2
.endm

/* Up to 256 bytes of text. */
.macro text_step p, keys, a, b, c, d, mask, rk, o0, o1, o2, more:vararg
    xor ebx, ebx
    mov rcx, [LANE(\p, BYTES)]
    sub rcx, done
    cmovb rcx, rbx
    mov eax, 256
    cmp rcx, rax
    cmova rcx, rax
    mov rax, -1
    cmp ecx, 64
    mov ebx, 64
    cmovb ebx, ecx
    bzhi rbx, rax, rbx
    kmovq k1, rbx
    part_mask k2, 64
    part_mask k3, 128
    part_mask k4, 192
    lea ebx, [rcx + 15]
    and rbx, -16
    neg rbx
    add rbx, [LANE(\p, KEY)]
    vextracti32x4 xmm\o1, y, \p
    vpxord xmm\o0, xmm\o0, xmm\o0
    test ecx, ecx
    jz 1f
    vmovdqa64 zmm\o0, zmm\o1
    or active, 3 << (2*\p)
1:
    mov rax, [LANE(\p, IN)]
    mov rcx, [LANE(\p, OUT)]
    add rax, done
    add rcx, done
    crypt_any \a, \rk, 0, k1
    crypt_any \b, \rk, 64, k2
    crypt_any \c, \rk, 128, k3
    crypt_any \d, \rk, 192, k4
    vpxord zmm\a, zmm\a, zmm\o0
    authenticate 2, \a, \b, \c, \d, \rk, \o0, \o1, \o2
    kortestq k3, k3
    jz 1f
    multiply_two 0, \c, \d, [rbx + H(0) + 128], [rbx + H(0) + 192], [rbx + S(0) + 128], \o0, \o1, \o2, 27, 28, \rk
1:
.endm

/* k := the bytes of a row that begins at `at`, of ecx; rax has all ones. */
.macro part_mask k, at
    xor ebx, ebx
    cmp ecx, \at
    jbe 3f
    lea ebx, [rcx - \at]
    cmp ebx, 64
    jbe 2f
    mov ebx, 64
2:
    bzhi rbx, rax, rbx
3:
    kmovq \k, rbx
.endm

/* The sums of a step to y, but for packets that had nothing. */
.macro end_step
    sum_packets
    reduce
    kmovd k6, active
    vmovdqa64 y{k6}, hi
    vmovdqa64 [scratch + Y], y
.endm

#include "aesgcm_stream.h"

    function sealane_aesgcm_batch_avx512
    mov packets_left, [args + SEALANE_BATCH_COUNT]
    mov flags, [args + SEALANE_ARG_FLAGS]
    mov lane, [args + SEALANE_BATCH_LANES]
    test packets_left, packets_left
    jz .Lend
    vbroadcasti32x4 reverse, [consts + REVERSE]
    vbroadcasti32x4 poly, [consts + POLY]
    mov eax, flags
    shl eax, 29
    sar eax, 31
    kmovd opening, eax
    mov eax, 7
    kmovd nonce_words, eax

.Lfour:
    mov rax, [LANE(0, BYTES)]
    sub rax, STREAM_LEAST
    cmp rax, STREAM_MOST - STREAM_LEAST
    jbe .Lstream
    cmp packets_left, 4
    jb .Lfew
.Lgo:
    /* All of the same number of rows, and at most one block of associated data? */
    mov rax, [LANE(0, AD_BYTES)]
    mov rbx, [LANE(1, AD_BYTES)]
    mov rcx, [LANE(2, AD_BYTES)]
    mov r8, [LANE(3, AD_BYTES)]
    cmp rax, rbx
    cmovb rax, rbx
    cmp rcx, r8
    cmovb rcx, r8
    cmp rax, rcx
    cmovb rax, rcx
    mov active, eax                                                             /* of a packet that goes straight */
    mov r8, [LANE(0, BYTES)]
    mov r9, [LANE(1, BYTES)]
    mov r10, [LANE(2, BYTES)]
    mov r11, [LANE(3, BYTES)]
    mov rbx, r8
    mov rcx, r10
    cmp rbx, r9
    cmovb rbx, r9
    cmp rcx, r11
    cmovb rcx, r11
    cmp rbx, rcx
    cmovb rbx, rcx
    cmp rax, 16
    ja .Lsteps
    vpxord y, y, y
    cmp rbx, 64
    jbe .Lstraight1
    cmp rbx, 256
    ja .Lsteps
    lea ecx, [rbx - 1]
    and ecx, -64                                                                /* more: all, if of as many rows */
    cmp r8, rcx
    jbe .Lsteps
    cmp r9, rcx
    jbe .Lsteps
    cmp r10, rcx
    jbe .Lsteps
    cmp r11, rcx
    jbe .Lsteps
    cmp ecx, 128
    jb .Lstraight2
    je .Lstraight3
    straight 4
    straight 3
    straight 2
    straight 1

.Lsteps:
    mov [scratch + LONGEST], rbx
    mov [scratch + LONGEST_AD], rax
    vpxord y, y, y
    xor done, done
    test rax, rax
    jz .Lad_done
.Lad_step:
    xor active, active
    packets ad_step
    end_step
    add done, 64
    cmp done, [scratch + LONGEST_AD]
    jb .Lad_step
.Lad_done:
    vmovdqa64 [scratch + Y], y
    vmovdqu64 zmm28, [consts + COUNT]
    xor done, done
.Ltext_step:
    vbroadcasti32x4 zmm27, [consts + REVERSE4]
    vpshufb zmm27, zmm28, zmm27
    vpaddd zmm28, zmm28, dword ptr [consts + SIXTEEN]{1to16}
    vmovdqa64 [scratch + COUNTER], zmm28
    mov eax, 0x8888
    kmovd k1, eax
    vpshufd zmm24{k1}{z}, zmm27, 0x00
    vpshufd zmm25{k1}{z}, zmm27, 0x55
    vpshufd zmm26{k1}{z}, zmm27, 0xaa
    vpshufd zmm27{k1}{z}, zmm27, 0xff
    encrypt packets, 4, 0
    vmovdqa64 y, [scratch + Y]
    xor active, active
    packets text_step
    end_step
    vmovdqa64 zmm28, [scratch + COUNTER]
    add done, 256
    cmp done, [scratch + LONGEST]
    jb .Ltext_step
    vpxord lo, lo, lo
    vpxord mi, mi, mi
    vpxord hi, hi, hi
    xor active, active

    /* Lengths. */
.Lfinish:
    mov r8, [LANE(0, KEY)]
    mov r9, [LANE(1, KEY)]
    mov r10, [LANE(2, KEY)]
    mov r11, [LANE(3, KEY)]
.macro lengths p, keys, a, b, c, d, more:vararg
    vmovdqu xmm\a, [LANE(\p, BYTES)]
    vpunpcklqdq xmm\a, xmm\a, [LANE(\p, AD_BYTES)]
    vmovdqu xmm\b, [\keys + H(1)]
.endm
    packets lengths
    pack 0, 4, 8, 12
    pack 1, 5, 9, 13
    vpsllq zmm0, zmm0, 3
    vpxord zmm0, zmm0, y
    vpshufd zmm2, zmm1, 0x4e
    vpxord zmm2, zmm2, zmm1
    multiply 0, 0, zmm1, zmm2, 24, 25, 26, 3, 4
    test active, active
    jnz .Lad
.Lreduce:
    reduce
    pack 16, 17, 18, 19
    vpshufb hi, hi, reverse
    vpxord zmm16, zmm16, hi
    mov rax, [LANE(3, TAG)]
    vextracti32x4 [rax], zmm16, 3
    mov rax, [LANE(2, TAG)]
    vextracti32x4 [rax], zmm16, 2
    mov rax, [LANE(1, TAG)]
    vextracti32x4 [rax], zmm16, 1
    mov rax, [LANE(0, TAG)]
    vmovdqu64 [rax], xmm16
    add lane, 4*SEALANE_LANE_STRIDE
    sub packets_left, 4
    ja .Lfour
.Lwipe:
    vpxord zmm0, zmm0, zmm0
    .irp at, 0, 64, 128, 192, 256, 320, 384, 448, 512, 576, 640, 704
    vmovdqa64 [scratch + COPY + \at], zmm0
    .endr
    vzeroupper
    jmp .Lend

    /* A block of associated data of each, multiplied by the power before the text's. */
.Lad:
.macro ad_block p, keys, a, b, c, d, more:vararg
    mov rcx, [LANE(\p, AD_BYTES)]
    mov rbx, -1
    bzhi ebx, ebx, ecx
    kmovd k1, ebx
    mov rax, [LANE(\p, AD)]
    vpxord xmm\a, xmm\a, xmm\a
    test ecx, ecx
    jz 1f
    vmovdqu8 xmm\a{k1}{z}, [rax]
1:
    mov ebx, [LANE(\p, BYTES)]
    add ebx, 31
    and ebx, -16
    sub \keys, rbx
    vmovdqu xmm\b, [\keys + H(1)]
.endm
    packets ad_block
    pack 0, 4, 8, 12
    pack 1, 5, 9, 13
    vpshufb zmm0, zmm0, reverse
    vpshufd zmm2, zmm1, 0x4e
    vpxord zmm2, zmm2, zmm1
    multiply 0, 0, zmm1, zmm2, 24, 25, 26, 3, 4
    jmp .Lreduce

    /* Fewer than four are copied, and behind them comes the first again, for nobody; without its text if that is
     * long. */
.Lfew:
    vmovdqu64 zmm0, [lane]
    vmovdqa64 [scratch + COPY], zmm0
    xor eax, eax
    mov rbx, [LANE(0, BYTES)]
    cmp rbx, 256
    cmova rbx, rax
    .irp p, 1, 2, 3
    mov ecx, \p
    cmp packets_left, rcx
    lea rax, [lane + SEALANE_LANE_STRIDE*\p]
    cmovbe rax, lane
    vmovdqu64 zmm0, [rax]
    vmovdqa64 [scratch + COPY + SEALANE_LANE_STRIDE*\p], zmm0
    ja 1f
    lea rax, [scratch + NOWHERE]
    mov [scratch + COPY + SEALANE_LANE_STRIDE*\p + SEALANE_LANE_OUT], rax
    mov [scratch + COPY + SEALANE_LANE_STRIDE*\p + SEALANE_LANE_BYTES], rbx
    lea rax, [scratch + NO_TAG]
    mov [scratch + COPY + SEALANE_LANE_STRIDE*\p + SEALANE_LANE_TAG], rax
1:
    .endr
    lea lane, [scratch + COPY]
    jmp .Lgo

    stream
    test packets_left, packets_left
    jnz .Lfour
    jmp .Lwipe
.Lend:
    endfunction
