/* AES-GCM (NIST SP 800-38D) for x86-64 with AVX-512: seals or opens a packet, or a part of one, in one pass; makes
 * keys.
 *
 * void sealane_aesgcm_avx512(const args *a, void *scratch, const void *consts)
 *
 * Needs        AVX512F, VL, BW; AES-NI, VAES; PCLMULQDQ, VPCLMULQDQ; BMI2
 * Reads        args; key[960]; ad[ad_bytes], J0[16] or nonce[12] (FIRST); H[16] (SETUP, NONCE); state[64] (not FIRST);
 *              in[bytes]
 * Writes       out[bytes]; tag[16] (LAST); state[64] (not LAST); key[960] (SETUP)
 * Registers    all but rsp, rbp; stack 0, scratch 0
 * Branches and addresses depend on flags, pointers, lengths and the number of rounds only.
 *
 * A vector of 512 bits has four blocks. Counter mode (6.5) makes one to eight vectors of keystream at a time. Between
 * the rounds, hash_step authenticates data. Sealing, that is ciphertext of the previous vectors, so few vectors are
 * left for the end. Opening, it is the input; the last vectors too are authenticated before they are decrypted. J0 is
 * encrypted in the last quarter of the last vector if that is free, as it is for most lengths.
 *
 * GHASH (6.4) and its mathematics are in asm/ghash.h; its low, mid, high are lo, mi, hi here. The four quarters of Y
 * add up every fourth block. Four vectors at a time, Y := (Y + c) H^16 + c' H^12 + c'' H^8 + c''' H^4. The last m
 * blocks (4 or more if others came before) are multiplied by H^m .. H, and the quarters are summed. One reduction
 * serves all the vectors that are added to it.
 */
#include "../asm.S"

    isa .avx, .avx2, .bmi2, .aes, .pclmul, .avx512f, .avx512vl, .avx512bw, .vaes, .vpclmulqdq

/* Constants. */
#define REVERSE 0    /* of 16 bytes */
#define POLY 16      /* P = 2^57 + 2^62 + 2^63, and 1: the carry when a polynomial is multiplied by x */
#define ROTATE 32    /* RotWord (FIPS 197, 5.2) of the first word, to all words */
#define RCON 48      /* round constants (FIPS 197, table 5), one byte each */
#define COUNT 64     /* of a nonce of 12 bytes, the first counters: dword i of quarter j is of block j of vector i */
#define REVERSE4 128 /* of the bytes of a dword */
#define SIXTEEN 144
#define ONE 160      /* a counter of 1, the last word of a block */
#define NUMBERS 192  /* and of 2 to 17 */
#define SAME 176     /* 16 bytes stay as they are */

    constants sealane_aesgcm_avx512_constants
    .byte 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
    .quad 0xc200000000000000, 1
    .byte 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0
    .byte 1, 2, 4, 8, 16, 32, 64, 128, 27, 54, 0, 0, 0, 0, 0, 0
    .long 2, 6, 10, 14, 3, 7, 11, 15, 4, 8, 12, 16, 5, 9, 13, 17
    .byte 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12
    .long 16, 0, 0, 0
    .byte 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1
    .byte 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    .irp i, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17
    .byte 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \i
    .endr
    endconstants

/* The key's table. Powers fall from H^20 to H; beside the i-th is a pair of sums of halves, of H^i and H^(i-4). Then
 * H^32, H^28, H^24, and their sums.
 */
#define H(i) (SEALANE_GCM_KEY_TABLE + 16*(20 - (i)))
#define S(i) (SEALANE_GCM_KEY_TABLE + 320 + 16*(20 - (i)))
#define H32 (SEALANE_GCM_KEY_TABLE + 640)
#define S24 (S(4) + 8)
#define S28 (S(3) + 8)
#define S32 (S(2) + 8)
#define EIGHTS 1840  /* from here on, eight vectors at a time are faster, */
#define OPEN_EIGHTS 560 /* and here, if they are opened; fewer bytes go four vectors at a time */
#define TAIL 304     /* the last vectors have fewer, but no fewer than 48 if there were others */

/* Integer registers. */
#define key rcx
#define mac r10      /* the next bytes to authenticate */
#define phase r10d   /* while a key is made: the word's number modulo words */
#define rounds dword ptr [key + SEALANE_GCM_KEY_ROUNDS]
#define steps r12    /* of eight vectors; at the end: 1 if `ad` has a block */
#define power r14    /* key less 16 (20 - m): its H(20) is H^m */
#define flags r15d

/* Vector registers: 0 .. 7 keystream, 20 .. 24 text, and */
#define rk zmm8
#define ra zmm9
#define rb zmm10
#define rc zmm11
#define rd zmm12
#define re zmm13
#define rf zmm14
#define reverse zmm15
#define lo zmm16
#define mi zmm17
#define hi zmm18
#define y zmm19      /* GHASH so far, to be added to the next vector */
#define poly zmm25
#define ctr zmm26    /* the next counters: see COUNT */
#define j0 zmm27     /* J0 and the first round key, in all quarters */
#define c0 rc        /* counters */
#define c1 rd
#define mask zmm28   /* the encrypted J0 */
#define sixteen zmm30
#define reverse4 zmm31
#define ad xmm14     /* the one block of associated data */
#define last_word k7 /* of the words of four blocks */
#define end_word k6  /* of the last vector: not of J0 in its last quarter */

#include "aesgcm_kernel.h"

/* ---- GHASH ----------------------------------------------------------------------------------------------------- */

/* For each block of a vector, a = a0 + 2^64 a1, and h has the same form (asm/ghash.h); hs has h0 + h1. With r = xmm
 * or ymm it processes less than a whole vector. lo is register 16, mi 17, hi 18.
 *   lo := or += a0 h0,   hi := or += a1 h1,   mi := or += (a0 + a1) (h0 + h1)
 */
.macro multiply first, a, h, hs, r=zmm
    vpshufd \r\()11, \a, 0x4e
    vpxord \r\()11, \r\()11, \a                                                /* a0 + a1 */
    .if \first
    vpclmulqdq \r\()16, \a, \h, 0x00                                           /* a0 h0 */
    vpclmulqdq \r\()18, \a, \h, 0x11                                           /* a1 h1 */
    vpclmulqdq \r\()17, \r\()11, \hs, 0x00                                     /* (a0 + a1) (h0 + h1) */
    .else
    vpclmulqdq \r\()9, \a, \h, 0x00
    vpclmulqdq \r\()10, \a, \h, 0x11
    vpclmulqdq \r\()11, \r\()11, \hs, 0x00
    vpxord \r\()16, \r\()16, \r\()9
    vpxord \r\()18, \r\()18, \r\()10
    vpxord \r\()17, \r\()17, \r\()11
    .endif
.endm

/* The same for a h + b g, where hs has h0 + h1 and g0 + g1. */
.macro multiply_two first, a, b, h, g, hs
    vpunpcklqdq rc, \a, \b                                                      /* a0, b0 */
    vpunpckhqdq rd, \a, \b                                                      /* a1, b1 */
    vpxord rc, rc, rd                                                           /* a0 + a1, b0 + b1 */
    .if \first
    vpclmulqdq lo, \a, \h, 0x00
    vpclmulqdq ra, \b, \g, 0x00
    vpxord lo, lo, ra
    vpclmulqdq hi, \a, \h, 0x11
    vpclmulqdq rb, \b, \g, 0x11
    vpxord hi, hi, rb
    vpclmulqdq mi, rc, \hs, 0x00
    vpclmulqdq rd, rc, \hs, 0x11
    vpxord mi, mi, rd
    .else
    vpclmulqdq ra, \a, \h, 0x00
    vpclmulqdq rb, \b, \g, 0x00
    vpternlogd lo, ra, rb, 0x96
    vpclmulqdq ra, \a, \h, 0x11
    vpclmulqdq rb, \b, \g, 0x11
    vpternlogd hi, ra, rb, 0x96
    vpclmulqdq ra, rc, \hs, 0x00
    vpclmulqdq rb, rc, \hs, 0x11
    vpternlogd mi, ra, rb, 0x96
    .endif
.endm

/* out := lo + 2^64 (mi + lo + hi) + 2^128 hi, reduced. The lowest 64 bits w are folded upwards twice, as w becomes
 * 2^64 w + P w, with P of poly (asm/ghash.h).
 */
.macro reduce_to out, r=zmm
    vpternlogd \r\()17, \r\()16, \r\()18, 0x96                                 /* mi += lo + hi */
    vpclmulqdq \r\()9, \r\()16, \r\()25, 0x00                                  /* P w, w of lo */
    vpshufd \r\()16, \r\()16, 0x4e
    vpternlogd \r\()17, \r\()16, \r\()9, 0x96                                  /* mi += lo, halves exchanged, + P w */
    vpclmulqdq \r\()9, \r\()17, \r\()25, 0x00                                  /* P w, w of mi */
    vpshufd \r\()17, \r\()17, 0x4e
    vpxord \out, \r\()18, \r\()9
    vpxord \out, \out, \r\()17
.endm

/* xmm19 := the sum of y's quarters. */
.macro sum_quarters
    vextracti64x4 ymm9, y, 1
    vpxord ymm19, ymm19, ymm9
    vextracti32x4 xmm9, ymm19, 1
    vpxord xmm19, xmm19, xmm9
.endm

/* The blocks of a vector with their bytes reversed. With POLYVAL, the bytes stay in order. */
    .set of_polyval, 0
.macro reversed v
    .if !of_polyval
    vpshufb \v, \v, reverse
    .endif
.endm

/* y := y H^32 + the eight vectors at mac, vector r times H^(32-4r), cut into 80 steps to put between other work. A pair
 * of vectors is multiplied in 16 steps, while the next pair is made ready in every second of them:
 *
 *   steps   multiplied    made ready
 *    0..7                 2, 3
 *    8..23  2, 3          4, 5
 *   24..39  4, 5          6, 7
 *   40..55  6, 7          0, 1 and y
 *   56..71  0, 1
 *   72..79  the sum is reduced
 */

/* A pair of vectors a, b is made ready: pa, pb, and pc, the sums of their blocks' halves. */
.macro prepare step, a, b, pa, pb, pc
    .if \step == 0
    vmovdqu64 \pa, [mac + 64*\a]
    .elseif \step == 1
    reversed \pa
    .elseif \step == 2
    vmovdqu64 \pb, [mac + 64*\b]
    .elseif \step == 3
    reversed \pb
    .elseif \step == 4
    .if \a == 0
    vpxord \pa, \pa, y
    .endif
    .elseif \step == 5
    vpunpcklqdq \pc, \pa, \pb
    .elseif \step == 6
    vpunpckhqdq zmm24, \pa, \pb
    .else
    vpxord \pc, \pc, zmm24
    .endif
.endm

/* sum := or += the two products in ra, rb. */
.macro add_to sum, init
    .if \init
    vpxord \sum, ra, rb
    .else
    vpternlogd \sum, ra, rb, 0x96
    .endif
.endm

/* lo, hi, mi := or += pa times the power at key + ha, + pb times that at key + hb; sa, sb: the sums of their halves. */
.macro multiply_pair step, init, ha, hb, sa, sb, pa, pb, pc
    .if \step == 0
    vbroadcasti32x4 rc, [key + \ha]
    vpclmulqdq ra, \pa, rc, 0x00
    .elseif \step == 2
    vbroadcasti32x4 rd, [key + \hb]
    vpclmulqdq rb, \pb, rd, 0x00
    .elseif \step == 4
    add_to lo, \init
    .elseif \step == 5
    vpclmulqdq ra, \pa, rc, 0x11
    .elseif \step == 8
    vpclmulqdq rb, \pb, rd, 0x11
    .elseif \step == 9
    add_to hi, \init
    .elseif \step == 10
    vpbroadcastq rc, [key + \sa]
    vpclmulqdq ra, \pc, rc, 0x00
    .elseif \step == 13
    vpbroadcastq rd, [key + \sb]
    vpclmulqdq rb, \pc, rd, 0x01
    .elseif \step == 15
    add_to mi, \init
    .endif
.endm

/* y := the sum, reduced as in reduce_to. */
.macro reduce_step step
    .if \step == 0
    vpclmulqdq ra, lo, poly, 0x00
    .elseif \step == 1
    vpternlogd mi, lo, hi, 0x96
    vpshufd lo, lo, 0x4e
    .elseif \step == 3
    vpternlogd mi, lo, ra, 0x96
    .elseif \step == 4
    vpclmulqdq ra, mi, poly, 0x00
    .elseif \step == 5
    vpshufd mi, mi, 0x4e
    .elseif \step == 7
    vmovdqa64 y, hi
    vpternlogd y, mi, ra, 0x96
    .endif
.endm

.macro eight_step step
    .if (\step) < 8
    prepare (\step), 2, 3, zmm13, zmm14, zmm20
    .elseif (\step) < 24
    multiply_pair (\step-8), 1, H32+32, H(20), S24, S(20), zmm13, zmm14, zmm20
    .if (\step) & 1
    prepare (\step-8)/2, 4, 5, zmm21, zmm22, zmm23
    .endif
    .elseif (\step) < 40
    multiply_pair (\step-24), 0, H(16), H(12), S(16), S(12), zmm21, zmm22, zmm23
    .if (\step) & 1
    prepare (\step-24)/2, 6, 7, zmm13, zmm14, zmm20
    .endif
    .elseif (\step) < 56
    multiply_pair (\step-40), 0, H(8), H(4), S(8), S(4), zmm13, zmm14, zmm20
    .if (\step) & 1
    prepare (\step-40)/2, 0, 1, zmm21, zmm22, zmm23
    .endif
    .elseif (\step) < 72
    multiply_pair (\step-56), 0, H32, H32+16, S32, S28, zmm21, zmm22, zmm23
    .else
    reduce_step (\step-72)
    .endif
.endm

/* Four vectors at mac, in 28 steps to put between the rounds of at most five vectors:
 *
 *   FOUR    y := lo, mi, hi + y H^16 + vector r times H^(16-4r), reduced
 *   AHEAD   lo, mi, hi := y H^32 + vector r times H^(32-4r); y := 0. FOUR is next, whose reduction serves both.
 */
#define FOUR 4
#define AHEAD 5

.macro four_step step, ahead
    .if (\step) < 4
    prepare (2*(\step)), 2, 3, zmm20, zmm21, zmm22
    prepare (2*(\step)+1), 2, 3, zmm20, zmm21, zmm22
    .elseif (\step) < 12
    .irp i, 0, 1
    .if \ahead
    multiply_pair (2*(\step-4)+\i), 1, H32+32, H(20), S24, S(20), zmm20, zmm21, zmm22
    .else
    multiply_pair (2*(\step-4)+\i), 0, H(8), H(4), S(8), S(4), zmm20, zmm21, zmm22
    .endif
    .endr
    prepare (\step-4), 0, 1, zmm23, zmm13, zmm14
    .elseif (\step) < 20
    .irp i, 0, 1
    .if \ahead
    multiply_pair (2*(\step-12)+\i), 0, H32, H32+16, S32, S28, zmm23, zmm13, zmm14
    .else
    multiply_pair (2*(\step-12)+\i), 0, H(16), H(12), S(16), S(12), zmm23, zmm13, zmm14
    .endif
    .endr
    .elseif !\ahead
    reduce_step (\step-20)
    .elseif (\step) == 20
    vpxord xmm19, xmm19, xmm19
    .endif
.endm

/* A step of GHASH, by `hash`: FOUR, AHEAD, or eight vectors. */
.macro hash_step step, hash
    .if \hash == 8
    eight_step (\step)
    .elseif (\step) % 8 < 4
    four_step ((\step)/8*4+(\step)%8), (\hash == AHEAD)
    .endif
.endm

/* The sums that FOUR adds to are still empty. */
.macro no_sums
    vpxord xmm16, xmm16, xmm16
    vpxord xmm17, xmm17, xmm17
    vpxord xmm18, xmm18, xmm18
.endm

/* ---- AES ------------------------------------------------------------------------------------------------------- */

/* Vector i: J0 and the first round key. Word 3 of each block, the counter, comes from `word` of from's. */
.macro counter_vector i, word, from, n, with_j0
    .if \i < \n
    vmovdqa64 zmm\i, j0
    .if \with_j0 && \i == \n - 1
    vpshufd zmm\i{end_word}, \from, 0x55*\word
    .else
    vpshufd zmm\i{last_word}, \from, 0x55*\word
    .endif
    .endif
.endm

/* ctr := the counters from `first` + more on. */
.macro counters_from first, more
    add \first, \more - 2                                                       /* COUNT begins with 2 */
    vpbroadcastd ctr, \first
    vpaddd ctr, ctr, [consts + COUNT]
.endm

/* j0 begins to be J0 and the first round key. */
.macro text_begin
    vbroadcasti32x4 rk, [key + SEALANE_GCM_KEY_SCHEDULE]
    vpxord j0, j0, rk
.endm

/* Words 3 of the counter blocks of four vectors, and of the first round key. */
.macro counter_words to
    vpshufb \to, ctr, reverse4
    vpxord \to, \to, dword ptr [key + SEALANE_GCM_KEY_SCHEDULE + 12]{1to16}
.endm

/* Counter blocks, and the first round key, for vectors 0 .. n-1. with_j0: the last quarter of the last vector is J0.
 * last: no others follow. */
.macro counters n, with_j0=0, last=0
    counter_words c0
    .if \n > 4
    vpaddd ctr, ctr, sixteen
    counter_words c1
    .endif
    .if !\last
    vpaddd ctr, ctr, sixteen
    .endif
    .irp i, 0, 1, 2, 3
    counter_vector \i, \i, c0, \n, \with_j0
    .endr
    .irp i, 4, 5, 6, 7
    counter_vector \i, (\i-4), c1, \n, \with_j0
    .endr
.endm

/* The parts of vectors_but_last (aesgcm_kernel.h). */
.macro round_key at:vararg
    vbroadcasti32x4 rk, [\at]
.endm

.macro vector_round i
    vaesenc zmm\i, zmm\i, rk
.endm

.macro mask_round
    vaesenc mask, mask, rk
.endm

/* The next n whole vectors of text; between the rounds, `hash` vectors at mac are authenticated. */
.macro encrypt n, hash=0, short=0
    counters \n
    vectors_but_last \n, 0, \hash, \short
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    .if \i < \n
    vpxord zmm24, rk, [src + 64*\i]
    vaesenclast zmm\i, zmm\i, zmm24
    vmovdqu64 [dst + 64*\i], zmm\i
    .endif
    .if \hash == 8
    eight_step (72+\i)
    .endif
    .endr
    add src, 64*\n
    add dst, 64*\n
.endm

/* ---- The last n vectors; k1 selects the bytes of the last one ---- */

/* Loads their text into registers 20 and up. */
.macro load_vectors n
    .irp i, 0, 1, 2, 3, 4
    .if \i < \n - 1
    vmovdqu64 zmm2\i, [src + 64*\i]
    .elseif \i == \n - 1
    vmovdqu8 zmm2\i{k1}{z}, [src + 64*\i]
    .endif
    .endr
.endm

/* The last round of AES; rk is the last round key. Text becomes output in registers 0 and up, and in memory. with_j0:
 * `mask` is the last quarter of the last vector. */
.macro last_round n, with_j0
    .irp i, 0, 1, 2, 3, 4
    .if \i < \n
    vpxord ra, rk, zmm2\i
    vaesenclast zmm\i, zmm\i, ra
    .endif
    .if \i < \n - 1
    vmovdqu64 [dst + 64*\i], zmm\i
    .elseif \i == \n - 1
    vmovdqu8 [dst + 64*\i]{k1}, zmm\i
    .if \with_j0
    vextracti32x4 xmm28, zmm\i, 3
    .else
    vaesenclast mask, mask, rk
    .endif
    .endif
    .endr
.endm

/* Seal: keeps the ciphertext in registers 20 and up. */
.macro keep_vectors n
    .irp i, 0, 1, 2, 3, 4
    .if \i < \n - 1
    vmovdqa64 zmm2\i, zmm\i
    .elseif \i == \n - 1
    vmovdqu8 zmm2\i{k1}{z}, zmm\i
    .endif
    .endr
.endm

/* Encrypts the last n vectors of a longer packet, and J0. */
.macro tail n, hash, with_j0
    .if !\with_j0
    vmovdqa64 mask, j0
    .endif
    counters \n, \with_j0, 1
    vectors_but_last \n, (1-\with_j0), \hash, 1
    load_vectors \n
    last_round \n, \with_j0
    .if !\hash
    test flags, SEALANE_FLAG_OPEN
    jnz .Lfinish_sum
    .endif
    keep_vectors \n
    jmp .Lhash_vectors
.endm

/* The same for any number of vectors. Between the rounds, data is authenticated according to `hash`. Five vectors
 * have less than TAIL bytes, so J0 fits in the last one. */
.macro tail_of hash, with_j0
    cmp text_left, 64
    jbe 1f
    cmp text_left, 128
    jbe 2f
    cmp text_left, 192
    jbe 3f
    .if \with_j0
    cmp text_left, 256
    jbe 4f
    tail 5, \hash, 1
    .endif
4:  tail 4, \hash, \with_j0
3:  tail 3, \hash, \with_j0
2:  tail 2, \hash, \with_j0
1:  tail 1, \hash, \with_j0
.endm

/* The same, with J0 in the last vector if there is room: text_left modulo 64 is not 49 .. 63 or 0. */
.macro tails hash
    last_mask
    lea eax, [text_left + 15]
    test eax, 0x30
    jz 5f
    mov eax, 0x0888
    kmovd end_word, eax
    tail_of \hash, 1
5:  tail_of \hash, 0
.endm

/* ad := the block of associated data at mac, which has eax bytes. Changes r13 and k1. */
.macro ad_block
    mov r13d, -1
    bzhi r13d, r13d, eax
    kmovd k1, r13d
    vmovdqu8 ad{k1}{z}, [mac]
    vpshufb ad, ad, xmm15
.endm

/* k1 := a bit for each byte of the last vector. */
.macro last_mask
    mov rax, text_left
    neg rax
    mov r13, -1
    shrx r13, r13, rax
    kmovq k1, r13
.endm

/* block := the block of lengths in bits. With POLYVAL, the first half is the length of the associated data. */
.macro lengths_block block
    vmovq \block, qword ptr [args + SEALANE_ARG_TOTAL]
    vpinsrq \block, \block, [args + SEALANE_ARG_AD_BYTES], 1
    vpsllq \block, \block, 3
    test flags, SEALANE_FLAG_POLYVAL
    jz .Llengths\@
    vpshufd \block, \block, 0x4e
.Llengths\@:
.endm

/* ---- A whole packet of at most four vectors --------------------------------------------------------------------- */

/* A packet of n vectors. eax is 16 times the number of its blocks. */
.macro little n
.Llittle\n:
    load_vectors \n
    .if \n > 1
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jnz .Llittle_hash\n
    .endif
.Llittle_cipher\n:
    test al, 0x30
    jz .Llittle_apart\n
    little_cipher \n, 1
    jmp .Llittle_hash\n
.Llittle_apart\n:
    little_cipher \n, 0
.Llittle_hash\n:
    .irp i, 0, 1, 2, 3
    .if \i < \n
    vpshufb zmm\i, zmm2\i, reverse
    .endif
    .endr
    .if \n == 1
    multiply 0, zmm0, [mac + H(1)], [mac + S(1)]
    .else
    multiply_two 0, zmm0, zmm1, [mac + H(1)], [mac + H(1) + 64], [mac + S(1)]
    .endif
    .if \n == 3
    multiply 0, zmm2, [mac + H(1) + 128], [mac + S(1) + 128]
    .elseif \n == 4
    multiply_two 0, zmm2, zmm3, [mac + H(1) + 128], [mac + H(1) + 192], [mac + S(1) + 128]
    .endif
    reduce_to y
    sum_quarters
    .if \n > 1
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jz .Llittle_tag
    jmp .Llittle_cipher\n
    .else
    jmp .Llittle_tag
    .endif
.endm

/* Encrypts its vectors, and J0. */
.macro little_cipher n, with_j0
    .irp i, 0, 1, 2, 3
    .if \i < \n
    vpxord zmm\i, j0, [consts + NUMBERS + 64*\i]
    .endif
    .if \with_j0 && \i == \n - 1
    vinserti32x4 zmm\i, zmm\i, xmm28, 3
    .endif
    .endr
    vectors_but_last \n, (1-\with_j0)
    last_round \n, \with_j0
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    .if \n > 1
    jnz .Llittle_tag
    .else
    jnz .Llittle_hash\n
    .endif
    keep_vectors \n
.endm

/* ---- The kernel -------------------------------------------------------------------------------------------------- */

/* The bytes of text in a call choose its path:
 *
 *   1 .. 256        .Llittle1 to .Llittle4, a whole packet with at most one block of associated data
 *   less than TAIL  .Ltail: at most five vectors, and all that follows the other paths
 *   to EIGHTS       .Lfours: four vectors at a time, then .Ltail; opening, only to OPEN_EIGHTS
 *   more            .Leights: eight at a time, then .Lfours where four are left, then .Ltail
 */
    scratch_end 256
    function sealane_aesgcm_avx512, later

    /* A whole packet of 1 to 256 bytes, with at most one block of associated data and a nonce of 12 bytes. Open: its
     * vectors are authenticated before they are decrypted. */
    little_begin .Lbegin, 256
    vshufi32x4 j0, zmm0, zmm0, 0
    vbroadcasti32x4 rk, [key + SEALANE_GCM_KEY_SCHEDULE]
    vpxord j0, j0, rk
    vpxord xmm28, xmm27, [consts + ONE]
    vbroadcasti32x4 reverse, [consts + REVERSE]
    vbroadcasti32x4 poly, [consts + POLY]

    /* The sums begin with the block of lengths, whose other half is 0 without associated data. */
    lea eax, [8*text_left]
    vmovd xmm13, eax
    vpclmulqdq xmm16, xmm13, [key + H(1)], 0x00
    vpclmulqdq xmm17, xmm13, [key + S(1)], 0x00
    vpxord xmm18, xmm18, xmm18
    lea eax, [text_left + 15]
    and eax, 0x1f0                                                              /* bytes of the blocks */
    mov mac, key
    sub mac, rax                                                                /* its H(1) is of the first block */
    mov r8, [args + SEALANE_ARG_AD_BYTES]
    test r8d, r8d
    jnz .Llittle_ad
.Llittle_vectors:
    mov r8d, r11d
    neg r8d
    mov r9, -1
    shrx r9, r9, r8
    kmovq k1, r9                                                                /* the bytes that the last vector has */
    mov src, [args + SEALANE_ARG_IN]
    mov dst, [args + SEALANE_ARG_OUT]
    cmp text_left, 64
    ja .Llittle_more
    little 1
.Llittle_more:
    cmp text_left, 128
    jbe .Llittle2
    cmp text_left, 192
    ja .Llittle4
    little 3
    little 2
    little 4

.Llittle_tag:
    mov rax, [args + SEALANE_ARG_TAG]
    vpshufb xmm19, xmm19, xmm15
    vpxord xmm28, xmm28, xmm19
    vmovdqu64 [rax], xmm28
    vzeroupper
    jmp .Llittle_done

    /* The other half of the lengths' block, and the block of associated data. */
.Llittle_ad:
    lea r9d, [8*r8]
    vmovd xmm13, r9d
    vpclmulqdq xmm18, xmm13, [key + H(1)], 0x10
    vpclmulqdq xmm9, xmm13, [key + S(1)], 0x00
    vpxord xmm17, xmm17, xmm9
    mov r9d, -1
    bzhi r9d, r9d, r8d
    kmovd k1, r9d
    mov r9, [args + SEALANE_ARG_AD]
    vmovdqu8 ad{k1}{z}, [r9]
    vpshufb ad, ad, xmm15
    multiply 0, ad, [mac + H(2)], [mac + S(2)], xmm
    jmp .Llittle_vectors

.Lbegin:
    save_registers_later
    mov flags, [args + SEALANE_ARG_FLAGS]
    mov key, [args + SEALANE_ARG_KEY]
    vbroadcasti32x4 reverse, [consts + REVERSE]
    vbroadcasti32x4 poly, [consts + POLY]
    test flags, SEALANE_FLAG_SETUP
    jnz .Lsetup
    test flags, SEALANE_FLAG_POLYVAL
    jz .Lpacket

    /* POLYVAL (RFC 8452, section 3). It is GHASH of blocks whose bytes are reversed, and the powers in the table are
     * those of its own hash key (appendix A). So the bytes of blocks stay in their order. */
    vbroadcasti32x4 reverse, [consts + SAME]
    xor steps, steps
    vpxord mask, mask, mask
    vpxord xmm19, xmm19, xmm19
    mov rax, [args + SEALANE_ARG_AD_BYTES]
    mov mac, [args + SEALANE_ARG_AD]
    test flags, SEALANE_FLAG_FIRST
    jz .Lpolyval_part
    test rax, rax
    jnz .Lad
    jmp .Lpolyval_text
.Lpolyval_part:
    mov rax, [args + SEALANE_ARG_STATE]
    vmovdqu64 xmm19, [rax + SEALANE_GCM_STATE_Y]
    .set of_polyval, 1
.Lpolyval_text:
    mov mac, [args + SEALANE_ARG_IN]
    mov text_left, [args + SEALANE_ARG_BYTES]
    cmp text_left, TAIL
    jb .Lpolyval_tail
.Lpolyval_eights:
    cmp text_left, 512 + 48
    jb .Lpolyval_four
    .irp step, 0, 1, 2, 3, 4, 5, 6, 7
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
    eight_step (10*\step + \i)
    .endr
    .endr
    add mac, 512
    sub text_left, 512
    jmp .Lpolyval_eights
.Lpolyval_four:
    cmp text_left, TAIL
    jb .Lpolyval_tail
    no_sums
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27
    four_step \i, 0
    .endr
    add mac, 256
    sub text_left, 256
.Lpolyval_tail:
    .set of_polyval, 0
    mov src, mac
    test text_left, text_left
    jnz .Ltail_hash
    test flags, SEALANE_FLAG_LAST
    jnz .Llengths_alone
    jmp .Lfinish_sum

.Lpacket:
    mov src, [args + SEALANE_ARG_IN]
    mov dst, [args + SEALANE_ARG_OUT]
    mov text_left, [args + SEALANE_ARG_BYTES]
    vpbroadcastd sixteen, [consts + SIXTEEN]
    vbroadcasti32x4 reverse4, [consts + REVERSE4]
    mov eax, 0x8888
    kmovd last_word, eax
    test flags, SEALANE_FLAG_FIRST
    jz .Lcontinue
    vpxord xmm19, xmm19, xmm19
    mov rax, [args + SEALANE_ARG_NONCE]
    test flags, SEALANE_FLAG_NONCE
    jnz .Lnonce
    vbroadcasti32x4 j0, [rax]
    mov ebx, [rax + 12]
    bswap ebx
    counters_from ebx, 1
    jmp .Lad_begin
.Lnonce:
    nonce_words
    vpor xmm0, xmm0, [consts + ONE]
    vshufi32x4 j0, zmm0, zmm0, 0
    vmovdqu64 ctr, [consts + COUNT]
.Lad_begin:
    xor steps, steps
    lea r13, [text_left - TAIL]
    cmp r13, EIGHTS - TAIL
    jae .Lad_any
    test flags, SEALANE_FLAG_OPEN
    jnz .Lad_any
    mov rax, [args + SEALANE_ARG_AD_BYTES]
    lea r13, [rax - 1]
    cmp r13, 16
    jb .Lfour_ad
.Lad_any:
    mov rax, [args + SEALANE_ARG_AD_BYTES]
    test rax, rax
    jz .Lbegun
    mov mac, [args + SEALANE_ARG_AD]
    cmp rax, 16
    ja .Lad
    lea r13, [text_left - 1]
    cmp r13, 256
    jae .Lad

    /* One block of associated data, and not much text: the block waits in `ad`, and is authenticated later. */
    inc steps
    ad_block
    jmp .Lbegun

    /* Associated data, up to four blocks at a time. */
.Lad:
    mov r12d, 64
    cmp rax, r12
    cmovb r12, rax
    mov r13, -1
    bzhi r13, r13, r12
    kmovq k1, r13
    vmovdqu8 zmm20{k1}{z}, [mac]
    vpshufb zmm20, zmm20, reverse
    vpxord zmm20, zmm20, y
    lea power, [r12 + 15]
    and power, -16
    neg power
    add power, key
    multiply 1, zmm20, [power + H(0)], [power + S(0)]
    reduce_to y
    sum_quarters
    add mac, r12
    sub rax, r12
    jnz .Lad
    xor steps, steps
    jmp .Lbegun

    /* Another part of a packet. */
.Lcontinue:
    xor steps, steps
    mov rax, [args + SEALANE_ARG_STATE]
    vmovdqu64 xmm19, [rax + SEALANE_GCM_STATE_Y]
    vpshufb zmm19, zmm19, reverse
    vbroadcasti32x4 j0, [rax + SEALANE_GCM_STATE_COUNTER]
    mov ebx, [rax + SEALANE_GCM_STATE_COUNTER + 12]
    bswap ebx
    counters_from ebx, 0

.Lbegun:
    test flags, SEALANE_FLAG_POLYVAL
    jnz .Lpolyval_text
    text_begin
    mov mac, dst
    test flags, SEALANE_FLAG_OPEN
    cmovnz mac, src
    cmp text_left, TAIL
    jb .Ltail
    lea steps, [text_left - TAIL]
    cmp text_left, EIGHTS
    jae .Leight
    test flags, SEALANE_FLAG_OPEN
    jz .Lfour
    lea steps, [text_left - 48]
    cmp text_left, OPEN_EIGHTS
    jb .Lfours_begin

    /* Eight vectors at a time. Seal: encryption is a step ahead of authentication. */
.Leight:
    shr steps, 9
    mov rax, steps
    shl rax, 9
    sub text_left, rax
    test flags, SEALANE_FLAG_OPEN
    jnz .Leights
    encrypt 8, 0, 1
    dec steps
.Leights:
    encrypt 8, 8
    add mac, 512
    dec steps
    jnz .Leights
    test flags, SEALANE_FLAG_OPEN
    jnz .Lfours_begin
    encrypt 4, 8, 1
    add mac, 512
    sub text_left, 256
.Lfours_begin:
    no_sums
    jmp .Lfours_more

    /* Four vectors at a time. Seal: authentication is a step behind encryption, and from the second step on, two
     * steps share a reduction. One block of associated data is summed with the first four vectors. */
.Lfour_ad:
    mov mac, [args + SEALANE_ARG_AD]
    ad_block
    multiply 1, ad, [key + H(17)], [key + S(17)], xmm
    text_begin
    mov mac, dst
    jmp .Lfour_begun
.Lfour:
    no_sums
.Lfour_begun:
    encrypt 4, 0, 1
    sub text_left, 256
.Lfours_more:
    cmp text_left, TAIL
    jb .Lfours_end
    encrypt 4, FOUR
    add mac, 256
    sub text_left, 256
    cmp text_left, TAIL
    jb .Lfours_reduced
    test flags, SEALANE_FLAG_OPEN
    jnz .Lfours_begin
    encrypt 4, AHEAD
    add mac, 256
    sub text_left, 256
    jmp .Lfours_more
.Lfours_reduced:
    no_sums
.Lfours_end:
    xor steps, steps
    test flags, SEALANE_FLAG_OPEN
    jnz .Ltail
    tails FOUR

    /* The rest, at most five vectors. */
.Ltail:
    test text_left, text_left
    jz .Ltail0
    test flags, SEALANE_FLAG_OPEN
    jz .Ltail_vectors

    /* Open: authenticate these vectors before they are decrypted. */
.Ltail_hash:
    last_mask
    .irp i, 0, 1, 2, 3
    cmp text_left, 64*\i + 64
    jbe .Lopen_vector\i
    vmovdqu64 zmm2\i, [src + 64*\i]
    .endr
    .irp i, 4, 3, 2, 1, 0
.Lopen_vector\i:
    vmovdqu8 zmm2\i{k1}{z}, [src + 64*\i]
    .if \i
    jmp .Lhash_vectors
    .endif
    .endr

    /* Authenticate these vectors and the block of lengths. */
.Lhash_vectors:
    lea power, [text_left + 15]
    shr power, 4
    mov eax, flags
    shr eax, 1
    and eax, 1                                                                  /* LAST */
    add power, rax
    shl power, 4
    neg power
    add power, key
    vpxord xmm13, xmm13, xmm13
    test eax, eax
    jz .Lhash_lengths
    lengths_block xmm13
.Lhash_lengths:
    test steps, steps
    jnz .Lhash_ad
    multiply 1, xmm13, [key + H(1)], [key + S(1)], xmm
.Lhash_text:
    vpshufb zmm20, zmm20, reverse
    vpxord zmm20, zmm20, y
    cmp text_left, 64
    jbe .Lhash_one
    vpshufb zmm21, zmm21, reverse
    multiply_two 0, zmm20, zmm21, [power + H(0)], [power + H(0) + 64], [power + S(0)]
    cmp text_left, 128
    jbe .Lfinish
    vpshufb zmm22, zmm22, reverse
    cmp text_left, 192
    jbe .Lhash_three
    vpshufb zmm23, zmm23, reverse
    multiply_two 0, zmm22, zmm23, [power + H(0) + 128], [power + H(0) + 192], [power + S(0) + 128]
    cmp text_left, 256
    jbe .Lfinish
    vpshufb zmm24, zmm24, reverse
    multiply 0, zmm24, [power + H(0) + 256], [power + S(0) + 256]
    jmp .Lfinish
.Lhash_ad:
    vinserti128 ymm13, ymm13, ad, 1
    vmovdqu xmm0, [key + H(1)]
    vmovdqu xmm1, [key + S(1)]
    vinserti128 ymm0, ymm0, [power + H(1)], 1
    vinserti128 ymm1, ymm1, [power + S(1)], 1
    multiply 1, ymm13, ymm0, ymm1, ymm
    jmp .Lhash_text
.Lhash_three:
    multiply 0, zmm22, [power + H(0) + 128], [power + S(0) + 128]
    jmp .Lfinish
.Lhash_one:
    multiply 0, zmm20, [power + H(0)], [power + S(0)]
.Lfinish:
    reduce_to y
    sum_quarters
    test flags, SEALANE_FLAG_OPEN
    jz .Lfinish_sum
.Ltail_vectors:
    tails 0
.Lfinish_sum:
    vpshufb ymm0, ymm19, ymm15
    mov rax, [args + SEALANE_ARG_STATE]
    test flags, SEALANE_FLAG_FIRST + SEALANE_FLAG_POLYVAL
    jnz .Lfinish_mask
    vmovdqu64 xmm28, [rax + SEALANE_GCM_STATE_MASK]
.Lfinish_mask:
    test flags, SEALANE_FLAG_LAST
    jz .Lfinish_part
    mov rax, [args + SEALANE_ARG_TAG]
    vpxord xmm28, xmm28, xmm0
    vmovdqu64 [rax], xmm28
    jmp .Ldone
.Lfinish_part:
    vmovdqu [rax + SEALANE_GCM_STATE_Y], xmm0
    test flags, SEALANE_FLAG_POLYVAL
    jnz .Ldone
    vmovdqu64 [rax + SEALANE_GCM_STATE_MASK], xmm28
    vpxord xmm0, xmm27, [key + SEALANE_GCM_KEY_SCHEDULE]
    vmovdqu [rax + SEALANE_GCM_STATE_COUNTER], xmm0
    mov rbx, [args + SEALANE_ARG_BYTES]
    shr rbx, 4
    vpextrd r12d, xmm0, 3
    bswap r12d
    add ebx, r12d
    and flags, SEALANE_FLAG_FIRST                                               /* 1: from J0 to the first counter */
    add ebx, flags
    bswap ebx
    mov [rax + SEALANE_GCM_STATE_COUNTER + 12], ebx
    jmp .Ldone

.Ltail0:
    vmovdqa64 mask, j0
    vectors_but_last 0, 1
    vaesenclast mask, mask, rk
    test flags, SEALANE_FLAG_LAST
    jz .Lfinish_sum
.Llengths_alone:
    lengths_block xmm13
    vpxord xmm13, xmm13, xmm19
    multiply 1, xmm13, [key + H(1)], [key + S(1)], xmm
    reduce_to y
    sum_quarters
    jmp .Lfinish_sum

#define rcon r12
    setup_begin rcon, r13, TAIL
    lea r14, [key + SEALANE_GCM_KEY_SCHEDULE]
    mov eax, [r13 + word - 4]
    schedule_words words, word, phase, end, rcon, r13, r14, r15d, v

    /* H (SP 800-38D, 7.1), its bytes reversed, times x. */
    vmovdqu xmm0, [key + SEALANE_GCM_KEY_SCHEDULE]
    mov eax, 16
.Lhash_key:
    vaesenc xmm0, xmm0, [r13 + rax]
    add eax, 16
    lea r9d, [rax + 16]
    cmp r9, end
    jb .Lhash_key
    vaesenclast xmm0, xmm0, [r13 + rax]
.Lgiven_hash_key:
    vpshufb xmm0, xmm0, xmm15
    vpsrlq xmm1, xmm0, 63
    vpslldq xmm1, xmm1, 8
    vpsrad xmm2, xmm0, 31
    vpshufd xmm2, xmm2, 0xff
    vpshufd xmm3, xmm25, 0x4e
    vpand xmm2, xmm2, xmm3
    vpaddq xmm0, xmm0, xmm0
    vpor xmm0, xmm0, xmm1
    vpxor xmm0, xmm0, xmm2
    mov eax, TAIL
.Lpolyval_key:

    /* The powers of H. Each is the product of two that are known as early as possible, so the longest chain is five
     * products. A short text and its lengths use few powers. */
.macro power_of r, to, a, h
    vpshufd \r\()30, \h, 0x4e
    vpxord \r\()30, \r\()30, \h
    multiply 1, \a, \h, \r\()30, \r
    reduce_to \to, \r
.endm
    /* Stores four powers from H^i down, and the sums of their halves. Beside each sum is that of the power four
     * below. */
.macro store_powers i, v, lower
    vmovdqu64 [key + H(\i)], \v
    vpunpcklqdq zmm8, \v, \lower
    vpunpckhqdq zmm9, \v, \lower
    vpxord zmm8, zmm8, zmm9
    vmovdqu64 [key + S(\i)], zmm8
.endm
    power_of xmm, xmm1, xmm0, xmm0                                              /* H^2 */
    vinserti128 ymm1, ymm1, xmm0, 1                                             /* H^2, H */
    vpermq ymm0, ymm1, 0x44
    power_of ymm, ymm2, ymm1, ymm0                                              /* H^4, H^3 */
    vinserti64x4 zmm0, zmm2, ymm1, 1                                            /* H^4 .. H */
    cmp eax, 3*16
    jbe .Lpowers_4
    vshufi32x4 zmm6, zmm0, zmm0, 0                                              /* H^4 */
    power_of zmm, zmm1, zmm0, zmm6                                              /* H^8 .. */
    cmp eax, 7*16
    jbe .Lpowers_8
    vshufi32x4 zmm7, zmm1, zmm1, 0                                              /* H^8 */
    power_of zmm, zmm2, zmm0, zmm7                                              /* H^12 .. */
    power_of zmm, zmm3, zmm1, zmm7                                              /* H^16 .. */
    vshufi32x4 zmm7, zmm3, zmm3, 0                                              /* H^16 */
    power_of zmm, zmm4, zmm0, zmm7                                              /* H^20 .. */
    store_powers 20, zmm4, zmm3
    store_powers 16, zmm3, zmm2
    store_powers 12, zmm2, zmm1
    store_powers 8, zmm1, zmm0
    vinserti128 ymm3, ymm3, xmm2, 1
    vinserti128 ymm1, ymm1, xmm0, 1
    vinserti64x4 zmm3, zmm3, ymm1, 1                                            /* H^16, H^12, H^8, H^4 */
    power_of zmm, zmm3, zmm3, zmm7                                              /* H^32, H^28, H^24, H^20 */
    vmovdqu [key + H32], ymm3
    vextracti32x4 [key + H32 + 32], zmm3, 2
    vshufi32x4 zmm3, zmm3, zmm3, 0xc6                                           /* H^24, H^28, H^32, H^20 */
    store_powers 4, zmm0, zmm3
    jmp .Ldone
.Lpowers_8:
    store_powers 8, zmm1, zmm0
.Lpowers_4:
    store_powers 4, zmm0, zmm0
    vmovdqu64 [key + H(0)], zmm0                                                /* read beside the last, for no block */
    vmovdqu64 [key + S(0)], zmm0

.Ldone:
    vzeroupper
    endfunction .Llittle_done
