/* AES-GCM (NIST SP 800-38D) for x86-64 with AVX2 and VAES: seals or opens a packet, or a part of one, in one pass;
 * makes keys.
 *
 * void sealane_aesgcm_avx2(const args *a, void *scratch, const void *consts)
 *
 * Needs        AVX2; AES-NI, VAES; PCLMULQDQ, VPCLMULQDQ
 * Reads        args; key[960]; ad[ad_bytes], J0[16] or nonce[12] (FIRST); H[16] (SETUP, NONCE); state[64] (not FIRST);
 *              in[bytes]
 * Writes       out[bytes]; tag[16] (LAST); state[64] (not LAST); key[960] (SETUP); scratch, wiped again
 * Registers    all but rsp, rbp; stack 0
 * Branches and addresses depend on flags, pointers, lengths and the number of rounds only.
 *
 * A vector of 256 bits has two blocks. Counter mode (6.5) makes eight vectors of keystream at a time, and GHASH
 * processes eight between the rounds. Sealing, these are the previous eight; opening, the same eight.
 *
 * GHASH (6.4) and its mathematics are in asm/ghash.h; its low, mid, high are lo, mi, hi here. The two halves of Y add
 * up every second block; eight vectors at a time, Y := (Y + c) H^16 + c' H^14 + .. + c'' H^2. The last m blocks are
 * multiplied by H^m .. H, and the halves are summed. If m is 1, the other half needs no multiplication.
 */
#include "../asm.S"

    isa .avx, .avx2, .aes, .pclmul, .vaes, .vpclmulqdq

/* Constants. */
#define REVERSE 0    /* of 16 bytes */
#define POLY 16      /* P = 2^57 + 2^62 + 2^63, and 1: the carry when a polynomial is multiplied by x */
#define ROTATE 32    /* RotWord (FIPS 197, 5.2) of the first word, to all words */
#define RCON 48      /* round constants (FIPS 197, table 5), one byte each */
#define COUNT 64     /* 0 2 4 6, 1 3 5 7: dword i of half j is the counter of block j of vector i */
#define EIGHT 96
#define REVERSE4 112 /* of the bytes of a dword */
#define MASKS 128    /* 32 bytes from 32 - n on: n ones, 32 - n zeroes */
#define SAME 192     /* 16 bytes stay as they are */

    constants sealane_aesgcm_avx2_constants
    .byte 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
    .quad 0xc200000000000000, 1
    .byte 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0
    .byte 1, 2, 4, 8, 16, 32, 64, 128, 27, 54, 0, 0, 0, 0, 0, 0
    .long 0, 2, 4, 6, 1, 3, 5, 7
    .long 8, 8, 8, 8
    .byte 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12
    .quad -1, -1, -1, -1, 0, 0, 0, 0
    .byte 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    endconstants

/* Scratch. */
#define J0 256       /* J0 and the first round key, in both halves */
#define COUNTERS 288 /* of the next four vectors: see COUNT */
#define WORD3 320    /* the first round key's last word, eight times */
#define MASK 352     /* the encrypted J0 */
#define KEYSTREAM 384   /* the last blocks' keystream */
#define SCRATCH_END 640

/* The key's table. Powers fall from H^18 to H; beside the i-th is a pair of sums of halves, of H^i and H^(i-2). */
#define H(i) (SEALANE_GCM_KEY_TABLE + 16*(18 - (i)))
#define S(i) (SEALANE_GCM_KEY_TABLE + 288 + 16*(18 - (i)))

/* Integer registers. */
#define key r12
#define mac r10      /* the next bytes to authenticate */
#define phase r10d   /* while a key is made: the word's number modulo words */
#define power r13    /* key less 16 (18 - m): its H(18) is H^m */
#define steps r14    /* of eight vectors, to be encrypted */
#define flags r15d
#define flag_bits r15b /* their low byte, whose tests are shorter */
#define rounds ebx

/* Vector registers: 0 .. 7 keystream, and */
#define rk ymm8
#define lo ymm9
#define mi ymm10
#define hi ymm11     /* between vectors: GHASH so far, to be added to the next */
#define block_a ymm12
#define block_b ymm13
#define tmp ymm14
#define tmp2 ymm15
#define shuffle ymm2 /* of the bytes of associated data's blocks */

#include "aesgcm_kernel.h"

/* ---- GHASH ----------------------------------------------------------------------------------------------------- */

/* sum := or += v * h, with the same h for both halves or not. */
.macro product init, sum, v, broadcast, h, halves
    .if \broadcast
    vbroadcasti128 tmp2, \h
    vpclmulqdq tmp2, \v, tmp2, \halves
    .else
    vpclmulqdq tmp2, \v, \h, \halves
    .endif
    .if \init
    vmovdqa \sum, tmp2
    .else
    vpxor \sum, \sum, tmp2
    .endif
.endm

/* lo, mi, hi += block_a h for the power at `at`. */
.macro multiply at:vararg
    vpshufd tmp, block_a, 0x4e
    vpxor tmp, tmp, block_a
    product 0, lo, block_a, 0, [\at], 0x00
    product 0, hi, block_a, 0, [\at], 0x11
    product 0, mi, tmp, 0, [\at + S(0) - H(0)], 0x00
.endm

/* tmp := P times the lower half of v; P is in tmp2 from the first on. */
.macro times_p v, first
    .if \first
    vbroadcasti128 tmp2, [consts + POLY]
    .endif
    vpclmulqdq tmp, \v, tmp2, 0x00
.endm

/* xmm11 := the sum of hi's halves. */
.macro sum_halves
    vextracti128 xmm14, hi, 1
    vpxor xmm11, xmm11, xmm14
.endm

.macro clear_sums
    vpxor lo, lo, lo
    vpxor mi, mi, mi
    vpxor hi, hi, hi
.endm

.macro load_shuffle at:vararg
    vbroadcasti128 shuffle, \at
.endm

/* Two of eight vectors at mac, cut into steps to put between other work. */
.macro multiply_pair step, pair
    .if \step == 0
    vbroadcasti128 tmp, [consts + REVERSE]
    vmovdqu block_a, [mac + 64*\pair]
    .elseif \step == 1
    vpshufb block_a, block_a, tmp
    vmovdqu block_b, [mac + 64*\pair + 32]
    .elseif \step == 2
    .if \pair == 0
    vpxor block_a, block_a, hi
    .endif
    vpshufb block_b, block_b, tmp
    .elseif \step == 3
    vpunpcklqdq tmp, block_a, block_b
    .elseif \step == 4
    vpunpckhqdq tmp2, block_a, block_b
    .elseif \step == 5
    vpxor tmp, tmp, tmp2                                                        /* sums of halves of a and of b */
    .elseif \step == 6
    product (\pair == 0), lo, block_a, 1, [key + H(16 - 4*\pair)], 0x00
    .elseif \step == 8
    product (\pair == 0), hi, block_a, 1, [key + H(16 - 4*\pair)], 0x11
    .elseif \step == 10
    product 0, lo, block_b, 1, [key + H(14 - 4*\pair)], 0x00
    .elseif \step == 12
    product 0, hi, block_b, 1, [key + H(14 - 4*\pair)], 0x11
    .elseif \step == 14
    product (\pair == 0), mi, tmp, 1, [key + S(16 - 4*\pair)], 0x00
    .elseif \step == 15
    product 0, mi, tmp, 1, [key + S(16 - 4*\pair)], 0x11
    .endif
.endm

.macro hash_step step, vectors
    .if (\step) < 64
    multiply_pair ((\step) & 15), ((\step)/16)
    .elseif ((\step) & 1) && (\step) < 76
    reduce ((\step-65)/2)
    .endif
.endm

/* ---- AES ------------------------------------------------------------------------------------------------------- */

/* Counter blocks, and the first round key, for four vectors, or the first two of them. */
.macro counters x0, x1, x2, x3
    vmovdqa tmp, [scratch + COUNTERS]
    vbroadcasti128 tmp2, [consts + EIGHT]
    vpaddd tmp2, tmp2, tmp
    vmovdqa [scratch + COUNTERS], tmp2
    vbroadcasti128 tmp2, [consts + REVERSE4]
    vpshufb tmp, tmp, tmp2
    vpxor tmp, tmp, [scratch + WORD3]
    vmovdqa tmp2, [scratch + J0]
    vpshufd \x0, tmp, 0x00
    vpshufd \x1, tmp, 0x55
    vpblendd \x0, tmp2, \x0, 0x88                                               /* its word i instead of the last */
    vpblendd \x1, tmp2, \x1, 0x88
    .ifnb \x2
    vpshufd \x2, tmp, 0xaa
    vpshufd \x3, tmp, 0xff
    vpblendd \x2, tmp2, \x2, 0x88
    vpblendd \x3, tmp2, \x3, 0x88
    .endif
.endm

.macro round_key at:vararg
    vbroadcasti128 rk, [\at]
.endm

.macro vector_round i
    vaesenc ymm\i, ymm\i, rk
.endm

.macro mask_round
    vaesenc xmm12, xmm12, xmm8
.endm

.macro encrypt hash=0
    counters ymm0, ymm1, ymm2, ymm3
    counters ymm4, ymm5, ymm6, ymm7
    vectors_but_last 8, 0, \hash
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    vpxor block_a, rk, [src + 32*\i]
    vaesenclast ymm\i, ymm\i, block_a
    vmovdqu [dst + 32*\i], ymm\i
    .if \hash
    hash_step (72+\i)
    .endif
    .endr
    add src, 256
    add dst, 256
.endm

/* The last n vectors' keystream, and the encrypted J0, to scratch. */
.macro keystream n
    .if \n > 2
    counters ymm0, ymm1, ymm2, ymm3
    .else
    counters ymm0, ymm1
    .endif
    .if \n > 6
    counters ymm4, ymm5, ymm6, ymm7
    .elseif \n > 4
    counters ymm4, ymm5
    .endif
    vmovdqa xmm12, [scratch + J0]
    vectors_but_last \n, 1, 0, 1
    vaesenclast xmm12, xmm12, xmm8
    vmovdqa [scratch + MASK], xmm12
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    .if \i < \n
    vaesenclast ymm\i, ymm\i, rk
    vmovdqa [scratch + KEYSTREAM + 32*\i], ymm\i
    .endif
    .endr
.endm

/* ---- Parts of vectors -------------------------------------------------------------------------------------------- */

/* block_a := the n < 32 bytes at `at`, padded with zeroes; n in eax. */
.macro load_vector at
    cmp eax, 16
    jb 4f
    vmovdqu xmm12, [\at]
    je 5f
    sub eax, 16
    add \at, 16
    load_partial xmm13, \at, xmm14, v
    add eax, 16
    sub \at, 16
    vinserti128 block_a, block_a, xmm13, 1
    jmp 5f
4:
    load_partial xmm12, \at, xmm14, v
5:
.endm

/* XORs a vector with its keystream, and adds y to the vector that is authenticated; ymm4 reverses bytes. */
.macro tail_vector keystream, y
    vmovdqu block_a, [src]
    vpxor block_b, block_a, \keystream
    vmovdqu [dst], block_b
    test flag_bits, SEALANE_FLAG_OPEN
    jnz 1f
    vmovdqa block_a, block_b
1:
    vpshufb block_a, block_a, ymm4
    .ifnb \y
    vpxor block_a, block_a, \y
    .endif
    multiply power + H(0)
    add power, 32
    add src, 32
    add dst, 32
.endm

/* lo, mi, hi += (block_a + y) times its power; y, in ymm0, is then 0. */
.macro multiply_next
    vbroadcasti128 tmp2, [consts + REVERSE]
    vpshufb block_a, block_a, tmp2
    vpxor block_a, block_a, ymm0
    vpxor ymm0, ymm0, ymm0
    multiply power + H(0)
.endm

/* hi := block_a times the power in ymm0. ymm1 has the sum of that power's halves. */
.macro power_step
    vpshufd tmp, block_a, 0x4e
    vpxor tmp, tmp, block_a
    vpclmulqdq lo, ymm0, block_a, 0x00
    vpclmulqdq hi, ymm0, block_a, 0x11
    vpclmulqdq mi, ymm1, tmp, 0x00
    reduce_all
.endm

    scratch_end SCRATCH_END
    function sealane_aesgcm_avx2
    call_begin
    counter_or_nonce ebx
    mov ebx, 0x01000000
    vpinsrd xmm0, xmm0, ebx, 3
    mov ebx, 2
.Lad_begin:
    vmovd xmm7, ebx
    mov steps, [args + SEALANE_ARG_AD_BYTES]
    mov mac, [args + SEALANE_ARG_AD]
    test steps, steps
    jz .Lbegun
    load_shuffle [consts + REVERSE]

    /* Associated data, up to eight vectors at a time. */
.Lad:
    mov power, 256
    cmp steps, power
    cmovb power, steps
    lea dst, [mac + power]                                                      /* where this step ends */
    add power, 15
    and power, -16
    neg power
    add power, key                                                              /* H(0) is of the first block */
    vpshufd tmp, hi, 0x4e
    vpxor tmp, tmp, hi
    vpclmulqdq ymm3, hi, [power + H(0)], 0x00                                   /* Y's products: added last, so that */
    vpclmulqdq ymm5, hi, [power + H(0)], 0x11                                   /* the others do not wait */
    vpclmulqdq ymm4, tmp, [power + S(0)], 0x00
    clear_sums
.Lad_vector:
    cmp steps, 32
    jb .Lad_partial
    vmovdqu block_a, [mac]
    jmp .Lad_multiply
.Lad_partial:
    mov eax, r14d
    load_vector mac
    mov dst, mac
    mov steps, 32
.Lad_multiply:
    vpshufb block_a, block_a, shuffle
    multiply power + H(0)
    add power, 32
    add mac, 32
    sub steps, 32
    cmp mac, dst
    jb .Lad_vector
    vpxor lo, lo, ymm3
    vpxor mi, mi, ymm4
    vpxor hi, hi, ymm5
    reduce_all
    sum_halves
    test steps, steps
    jnz .Lad
    mov dst, [args + SEALANE_ARG_OUT]
    jmp .Lbegun

    polyval

    /* Another part of a packet. */
.Lcontinue:
    continue_part xmm11, ebx
    vmovd xmm7, ebx

.Lbegun:
    test flag_bits, SEALANE_FLAG_POLYVAL
    jnz .Lpolyval_text
    mov ebx, [key + SEALANE_GCM_KEY_ROUNDS]
    vbroadcasti128 rk, [key + SEALANE_GCM_KEY_SCHEDULE]
    vpshufd tmp, rk, 0xff
    vinserti128 ymm0, ymm0, xmm0, 1
    vpxor ymm0, ymm0, rk
    vmovdqa [scratch + J0], ymm0
    vmovdqa [scratch + WORD3], tmp
    vpbroadcastd ymm7, xmm7
    vpaddd ymm7, ymm7, [consts + COUNT]
    vmovdqa [scratch + COUNTERS], ymm7

    /* Eight vectors at a time. Seal: encryption is a step ahead of authentication. If more parts follow, vectors are
     * left for the end, where halves are summed.
     */
    mov steps, text_left
    test flag_bits, SEALANE_FLAG_LAST
    jnz .Lsteps
    sub steps, 1
    adc steps, 0
.Lsteps:
    shr steps, 8
    jz .Lshort
    mov rax, steps
    shl rax, 8
    sub text_left, rax
    mov mac, src
    test flag_bits, SEALANE_FLAG_OPEN
    jnz .Lloop
    mov mac, dst
    encrypt
    dec steps
    jz .Llast_eight
.Lloop:
    encrypt 1
    add mac, 256
    dec steps
    jnz .Lloop
    test flag_bits, SEALANE_FLAG_OPEN
    jnz .Ltail
.Llast_eight:
    .irp pair, 0, 1, 2, 3
    .irp i, 0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 15
    multiply_pair \i, \pair
    .endr
    .endr
    reduce_all

    /* The rest: at most eight vectors, one at a time, and the block of lengths. */
.Ltail:
    cmp text_left, 64
    jbe .Ltail_two
    cmp text_left, 192
    ja .Ltail_eight
    cmp text_left, 128
    ja .Ltail_six
    keystream 4
    jmp .Ltail_keystream
.Ltail_two:
    keystream 2
    jmp .Ltail_keystream
.Ltail_six:
    keystream 6
    jmp .Ltail_keystream
.Ltail_eight:
    keystream 8
.Ltail_keystream:
    vmovdqa ymm0, hi
    lea power, [text_left + 15]
    shr power, 4
    mov eax, flags
    and eax, SEALANE_FLAG_LAST
    shr eax, 1
    add power, rax
    jz .Lfinish                                                                 /* no blocks at all */
    shl power, 4
    neg power
    add power, key
    lea mac, [scratch + KEYSTREAM]
    clear_sums
    mov steps, text_left
    sub steps, 32
    jb .Ltail_partial
.Ltail_vector:
    vmovdqu block_a, [src]
    vpxor block_b, block_a, [mac]
    vmovdqu [dst], block_b
    test flag_bits, SEALANE_FLAG_OPEN
    jnz .Ltail_multiply
    vmovdqa block_a, block_b
.Ltail_multiply:
    multiply_next
    add power, 32
    add src, 32
    add dst, 32
    add mac, 32
    sub steps, 32
    jae .Ltail_vector
.Ltail_partial:
    add steps, 32
    jz .Ltail_lengths
    mov eax, r14d
    load_vector src
    vpxor block_b, block_a, [mac]
    mov mac, power
    cmp eax, 16
    jb .Ltail_store
    vmovdqu [dst], xmm13
    je .Ltail_stored
    vextracti128 xmm14, block_b, 1
    sub eax, 16
    add dst, 16
    store_partial xmm14, dst, v
    add eax, 16
    jmp .Ltail_stored
.Ltail_store:
    store_partial xmm13, dst, v
.Ltail_stored:
    mov power, mac
    test flag_bits, SEALANE_FLAG_OPEN
    jnz .Ltail_last
    neg rax
    vpand block_a, block_b, [consts + rax + MASKS + 32]
.Ltail_last:
    multiply_next
.Ltail_lengths:
    test flag_bits, SEALANE_FLAG_LAST
    jz .Ltail_reduce
    vmovq xmm12, qword ptr [args + SEALANE_ARG_TOTAL]
    vpinsrq xmm12, xmm12, [args + SEALANE_ARG_AD_BYTES], 1
    vpsllq xmm12, xmm12, 3
    vpxor xmm12, xmm12, xmm0                                                    /* zero unless it is alone */
    multiply key + H(1)
.Ltail_reduce:
    reduce_all
    sum_halves
    vextracti128 xmm0, ymm0, 1
    vpxor xmm11, xmm11, xmm0
.Lfinish:
    finish
    mov ebx, [scratch + COUNTERS]                                               /* 8 or 16 more than before the tail */
    sub ebx, 8
    cmp text_left, 128
    jbe .Lfinish_counter
    sub ebx, 8
.Lfinish_counter:
    shr text_left, 4
    add ebx, r11d
    bswap ebx
    mov [rax + SEALANE_GCM_STATE_COUNTER + 12], ebx
.Lwipe:
    vpxor xmm0, xmm0, xmm0
    .irp i, 0, 32, 64, 96, 128, 160
    vmovdqa [scratch + J0 + \i], ymm0
    .endr
    cmp qword ptr [args + SEALANE_ARG_BYTES], 64
    jbe .Ldone
    .irp i, 192, 224, 256, 288, 320, 352
    vmovdqa [scratch + J0 + \i], ymm0
    .endr
    jmp .Ldone

    /* For 32 to 64 bytes of text and then the lengths, all intermediate results stay in registers. */
.Lshort:
    lea rax, [text_left - 32]
    cmp rax, 32
    ja .Ltail
    test flag_bits, SEALANE_FLAG_LAST
    jz .Ltail
    vbroadcasti128 tmp2, [consts + REVERSE4]
    vmovdqa xmm12, xmm0
    vpshufb ymm7, ymm7, tmp2
    vpxor ymm7, ymm7, tmp
    vpshufd ymm2, ymm7, 0x00
    vpshufd ymm1, ymm7, 0x55
    vpblendd ymm1, ymm0, ymm1, 0x88
    vpblendd ymm0, ymm0, ymm2, 0x88
    vectors_but_last 2, 1
    lea mac, [text_left + 31]                                                   /* of the blocks and the lengths */
    and mac, -16
    mov power, key
    sub power, mac
    vmovdqa ymm3, hi
    clear_sums
    vaesenclast ymm0, ymm0, rk
    vaesenclast ymm1, ymm1, rk
    vaesenclast xmm12, xmm12, xmm8
    vmovdqa [scratch + MASK], xmm12
    vbroadcasti128 ymm4, [consts + REVERSE]
    vmovdqa [scratch + KEYSTREAM + 32], ymm1
    lea mac, [scratch + KEYSTREAM + 32]
    tail_vector ymm0, ymm3
    vpxor ymm0, ymm0, ymm0
    lea steps, [text_left - 64]
    cmp text_left, 64
    jb .Ltail_partial
    tail_vector ymm1
    jmp .Ltail_lengths

#define rcon r13
    setup_begin rcon, r14, 256
    mov rcx, r14
    mov eax, [r14 + word - 4]
    schedule_words words, word, phase, end, rcon, r14, rcx, ebx, v

    /* H (SP 800-38D, 7.1), its bytes reversed, times x. */
    hash_key_block
    vpsrlq xmm1, xmm0, 63
    hash_key_times_x
    mov eax, 18*16
.Lpolyval_key:
    lea rcx, [rax + 15]
    and rcx, -16
    neg rcx
    lea rcx, [key + rcx + H(2)]                                                 /* after the last pair of powers */

    /* The powers are made two at a time: H^2, H; H^4, H^3. The following pairs are the last pair but one times H^4,
     * so that two products are in flight. */
    vpshufd xmm1, xmm0, 0x4e
    vpxor xmm1, xmm1, xmm0
    vmovdqa block_a, ymm0
    power_step                                                                  /* H^2 */
    vinserti128 ymm3, hi, xmm0, 1                                               /* H^2, H: the last powers, */
    vmovdqa block_a, ymm3                                                       /* and the next factor */
    vpxor ymm2, ymm2, ymm2                                                      /* the lower powers */
    lea rax, [key + H(2)]
.Lpowers_by:
    vinserti128 ymm0, hi, xmm11, 1                                              /* H^2, then H^4 */
    vpshufd ymm1, ymm0, 0x4e
    vpxor ymm1, ymm1, ymm0
.Lpowers:
    vmovdqu [rax], ymm3
    vpunpcklqdq tmp, ymm3, ymm2
    vpunpckhqdq tmp2, ymm3, ymm2
    vpxor tmp, tmp, tmp2
    vmovdqu [rax + S(0) - H(0)], tmp
    power_step
    vmovdqa block_a, ymm3
    vmovdqa ymm2, ymm3
    vmovdqa ymm3, hi
    sub rax, 32
    cmp rax, rcx
    jbe .Ldone
    lea r8, [key + H(4)]
    cmp rax, r8
    je .Lpowers_by
    jmp .Lpowers

.Ldone:
    vzeroupper
    endfunction
