/* AES-GCM (NIST SP 800-38D) for x86-64 with AES-NI: seals or opens a packet, or a part of one, in one pass; makes keys.
 * The text of two levels: aesniavx has three operands and loads that need no alignment; aesni (KERNEL_SSE) has not, and
 * runs on CPUs without AVX.
 *
 * void KERNEL_NAME(const args *a, void *scratch, const void *consts)
 *
 * Reads        args; key[960]; ad[ad_bytes], J0[16] or nonce[12] (FIRST); state[64] (not FIRST); in[bytes]
 * Writes       out[bytes]; tag[16] (LAST); state[64] (not LAST); key[960] (SETUP); scratch, wiped again
 * Registers    all but rsp, rbp; stack 0
 * Branches and addresses depend on flags, pointers, lengths and the number of rounds only.
 *
 * Counter mode (6.5) makes eight blocks of keystream at a time, and GHASH takes in eight between the rounds: sealing,
 * the eight before; opening, the same. The last one to eight blocks, the tail, are made four or eight at a time;
 * sealing, the eight before them are taken in meanwhile and not reduced but with the tail, for which there are so many
 * powers of H.
 *
 * GHASH (6.4) and its mathematics are in asm/ghash.h; its low, mid, high are lo, mi, hi here. Eight blocks at a time:
 * Y := (Y + c) H^8 + c' H^7 + .. with one reduction.
 */
#if defined(KERNEL_SSE)
#include "sse.h"
#define VEX
#else
#define VEX v
#endif

/* Constants. */
#define REVERSE 0    /* of 16 bytes */
#define POLY 16      /* P = 2^57 + 2^62 + 2^63, and 1: what is over when a polynomial is multiplied by x */
#define ROTATE 32    /* RotWord (FIPS 197, 5.2) of the first word, to all words */
#define RCON 48      /* round constants (FIPS 197, table 5), one byte each */
#define COUNT 64     /* 0, 1, 2, 3 */
#define FOUR 80      /* 4, 4, 4, 4 */
#define REVERSE4 96  /* of the bytes of a dword */
#define MASKS 112    /* 16 bytes from 16 - n on: n ones, 16 - n zeroes */
#define NUMBERS 144  /* counters 1 .. 5, each the last word of a block */

    constants KERNEL_CONSTANTS
    .byte 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
    .quad 0xc200000000000000, 1
    .byte 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0
    .byte 1, 2, 4, 8, 16, 32, 64, 128, 27, 54, 0, 0, 0, 0, 0, 0
    .long 0, 1, 2, 3
    .long 4, 4, 4, 4
    .byte 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12
    .quad -1, -1, 0, 0
    .irp i, 1, 2, 3, 4, 5
    .byte 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \i
    .endr
    endconstants

/* Scratch. */
#define J0 256       /* J0 or a later counter block, and the first round key */
#define MASK 272     /* the encrypted J0 */
#define BLOCKS 288   /* the next eight counter blocks, and the first round key */
#define SUMS 416     /* of the halves of four blocks */
#define SCRATCH_END 448

/* The key's table: powers of H from H^17 to H, each followed by the sum of its halves and that of the next lower
 * one's. */
#define POWERS 17    /* eight blocks, eight of the tail, the lengths */
#define H(i) (SEALANE_GCM_KEY_TABLE + 32*(POWERS - (i)))
#define S(i) (H(i) + 16)
#define NEAR (H(0) + 128) /* what is within 128 bytes has a short address */

/* Integer registers. */
#define counter ecx  /* of the next block */
#define key r10
#define mac r12      /* what is authenticated next */
#define phase r12d   /* while a key is made: the word's number modulo words */
#define power r13    /* key less 32 m, plus NEAR: at H(i) - NEAR from it is H^(m+i) */
#define word3 r13d   /* the first round key's last word */
#define steps r14    /* of eight blocks, to be encrypted */
#define flags r15d
#define flag_bits r15b /* tests of those are shorter */
#define rounds ebx   /* times 16 */
#define little_power rsi /* for little packets, which need no scratch memory */

/* Vector registers: 0 .. 7 keystream, and */
#define rk xmm8
#define y xmm8       /* in the tail: GHASH so far */
#define lo xmm9
#define mi xmm10
#define hi xmm11     /* between blocks: GHASH so far */
#define block_a xmm12
#define block_b xmm13
#define tmp xmm14
#define tmp2 xmm15

#include "aesgcm_kernel.h"

/* ---- GHASH ----------------------------------------------------------------------------------------------------- */

.macro product_of to, h, v, halves
#if defined(KERNEL_SSE)
    movups \to, \h                                                              /* a byte less than movdqu */
    pclmulqdq \to, \v, \halves
#else
    vpclmulqdq \to, \v, \h, (\halves >> 4) | ((\halves & 1) << 4)
#endif
.endm

/* sum := or += h * v. */
.macro product init, sum, h, v, halves
    .if \init
    product_of \sum, \h, \v, \halves
    .else
    product_of tmp2, \h, \v, \halves
    vpxor \sum, \sum, tmp2
    .endif
.endm

/* lo, mi, hi := or += block_a h, where h is followed by the sum of its halves. */
.macro multiply init, at:vararg
    vpshufd tmp, block_a, 0x4e
    vpxor tmp, tmp, block_a
    product \init, lo, [\at], block_a, 0x00
    product \init, hi, [\at], block_a, 0x11
    product \init, mi, [\at + 16], tmp, 0x00
.endm

/* tmp := P times the lower half of v. */
.macro times_p v, first
    product_of tmp, [consts+POLY], \v, 0x00
.endm

/* The sum of the halves of a block at \at, in integer registers: two shuffles less for the port that has the most to do
 * on some CPUs. Of pairs 1 and 3 that is; doing so for all of them would be too many instructions for others. */
.macro scalar_sum step, i, at:vararg
    .if \step == 0
    mov rax, [\at]
    xor rax, [\at + 8]
    .else
    bswap rax
    mov [scratch + SUMS + 8*\i], rax
    .endif
.endm

/* Two of eight blocks at mac times powers of H, from base + H(8) on, cut into steps to put between other work. */
.macro multiply_pair step, pair, base
    .if \step == 0
    vmovdqu block_a, [mac+32*\pair]
    vpshufb block_a, block_a, [consts+REVERSE]
    .elseif \step == 1
    .if \pair == 0
    vpxor block_a, block_a, hi
    .endif
    vmovdqu block_b, [mac+32*\pair+16]
    .elseif \step == 2
    vpshufb block_b, block_b, [consts+REVERSE]
    .elseif \step == 3 && !(\pair & 1)
    vpunpcklqdq tmp, block_a, block_b
    .elseif \step == 4 && !(\pair & 1)
    vpunpckhqdq tmp2, block_a, block_b
    .elseif \step == 5 && !(\pair & 1)
    vpxor tmp, tmp, tmp2                                                            /* sums of halves of a and of b */
    .elseif \step == 6
    product (\pair == 0), lo, [\base + H(8 - 2*\pair)], block_a, 0x00
    .elseif \step == 8
    product (\pair == 0), hi, [\base + H(8 - 2*\pair)], block_a, 0x11
    .elseif \step == 10
    product 0, lo, [\base + H(7 - 2*\pair)], block_b, 0x00
    .elseif \step == 12
    product 0, hi, [\base + H(7 - 2*\pair)], block_b, 0x11
    .elseif \step == 14 && !(\pair & 1)
    product (\pair == 0), mi, [\base + S(8 - 2*\pair)], tmp, 0x00
    .elseif \step == 15 && !(\pair & 1)
    product 0, mi, [\base + S(8 - 2*\pair)], tmp, 0x11
    .elseif \step == 14
    vmovq tmp, qword ptr [scratch+SUMS+8*(\pair-1)]
    product 0, mi, [\base + S(8 - 2*\pair)], tmp, 0x00
    .elseif \step == 15
    vmovq tmp, qword ptr [scratch+SUMS+8*\pair]
    product 0, mi, [\base + S(8 - 2*\pair)], tmp, 0x01
    .endif
    .if !(\pair & 1) && (\step == 7 || \step == 9)
    scalar_sum ((\step - 7)/2), \pair, mac + 32*\pair + 32
    .elseif !(\pair & 1) && (\step == 11 || \step == 13)
    scalar_sum ((\step - 11)/2), (\pair + 1), mac + 32*\pair + 48
    .endif
.endm

/* All of eight blocks in 64 steps, and one reduction in 12 more. */
.macro hash_step step, base
    .if (\step) < 64
    multiply_pair ((\step) & 15), ((\step)/16), \base
    .elseif ((\step) & 1) && (\step) < 76
    reduce ((\step-65)/2)
    .endif
.endm

/* block_a := the block of the lengths in bits, its bytes reversed. */
.macro lengths
    vmovq block_a, qword ptr [args+SEALANE_ARG_TOTAL]
    vmovhps block_a, block_a, [args+SEALANE_ARG_AD_BYTES]
    vpsllq block_a, block_a, 3
.endm

/* ---- AES ------------------------------------------------------------------------------------------------------- */

/* The next n counter blocks and the first round key, to the registers from `first` on (0, or 4 of four), from xmm0,
 * which has the same nonce, and rk, that round key. */
.macro counters n, first=0
    .if \n == 8
    move_counters tmp, mi
    vpaddd tmp2, tmp, [consts+FOUR]
    vpshufb tmp2, tmp2, [consts+REVERSE4]
    vpxor tmp2, tmp2, mi
    .else
    move_counters tmp, xmm7
    .endif
    vpshufb tmp, tmp, [consts+REVERSE4]
    .if \n == 8
    vpxor tmp, tmp, mi
    .else
    vpxor tmp, tmp, xmm7
    .endif
    .irp i, 1, 2, 3, 4, 5, 6, 7
    .if \first && \i >= \first
    vinsertps xmm\i, xmm0, tmp, 0x30+64*(\i-\first)
    .elseif \first == 0 && \i < \n && \i < 4
    vinsertps xmm\i, xmm0, tmp, 0x30+64*\i                                      /* its word i instead of the last */
    .elseif \first == 0 && \i < \n
    vinsertps xmm\i, xmm0, tmp2, 0x30+64*(\i-4)
    .endif
    .endr
    .if \first == 0
    vinsertps xmm0, xmm0, tmp, 0x30
    .endif
    add counter, \n
.endm

/* To t four counters, and the first round key's last word four times. */
.macro move_counters to, last
    vmovd \to, counter
    vpshufd \last, rk, 0xff
    vpshufd \to, \to, 0
    vpaddd \to, \to, [consts+COUNT]
.endm

/* Block i of the next eight, to be read when this eight is done: a block is read as a whole. */
.macro next_counter i
    lea eax, [rcx + \i]
    bswap eax
    xor eax, word3
    mov [scratch + BLOCKS + 16*\i + 12], eax
.endm

/* A round of n blocks and, extra, of xmm12; number 0: the one whose number times 16 is in rax. hash: steps of hashing
 * with each block, from the base; 1: to the end, 2: all but the reduction. */
.macro round n, extra, number, hash=0, base, first=0
    .if \number
    vmovdqu rk, [key+SEALANE_GCM_KEY_SCHEDULE+16*\number]
    .else
    vmovdqu rk, [key+rax+SEALANE_GCM_KEY_SCHEDULE]
    .endif
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    .if \i >= \first && \i < \first + \n
    vaesenc xmm\i, xmm\i, rk
    .if \hash == 1
    hash_step (\n*(\number-1)+\i), \base
    .elseif \hash == 2 && \n == 8 && \n*(\number-1)+\i < 64
    hash_step (\n*(\number-1)+\i), \base
    .elseif \hash == 2 && \n == 4 && \n*(\number-1)+\i < 32
    hash_step (2*(\n*(\number-1)+\i)), \base
    hash_step (2*(\n*(\number-1)+\i)+1), \base
    .endif
    .endif
    .endr
    .if \extra
    vaesenc xmm12, xmm12, rk
    .endif
.endm

/* All rounds but the last (FIPS 197, 5.1); then rk is the last round key. next: the counters of the next eight blocks
 * besides, if there are any. */
.macro rounds_but_last n, extra, next=0, hash=0, base, first=0
    round \n, \extra, 1, \hash, \base, \first
    round \n, \extra, 2, \hash, \base, \first
    .if \next
    cmp steps, 1
    je 2f
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    next_counter \i
    .endr
2:
    .endif
    .irp i, 3, 4, 5, 6, 7, 8, 9
    round \n, \extra, \i, \hash, \base, \first
    .endr
    mov eax, 160
    cmp rounds, eax
    je 2f
1:
    round \n, \extra, 0, 0, , \first
    add eax, 16
    cmp eax, rounds
    jb 1b
2:
    vmovdqu rk, [key+rbx+SEALANE_GCM_KEY_SCHEDULE]
    .if \extra
    vaesenclast xmm12, xmm12, rk
    vmovdqa [scratch+MASK], xmm12
    .endif
.endm

.macro xor_unaligned to, with, at
#if defined(KERNEL_SSE)
    movdqu \to, [\at]
    pxor \to, \with
#else
    vpxor \to, \with, [\at]
#endif
.endm

/* Eight blocks, whose counters are there. */
.macro encrypt extra, hash=0
    rounds_but_last 8, \extra, 1, \hash, key
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    xor_unaligned block_a, rk, src+16*\i
    vaesenclast xmm\i, xmm\i, block_a
    vmovdqu [dst+16*\i], xmm\i
    .if \hash
    hash_step (72+\i), key
    .endif
    .endr
    sub src, -128
    sub dst, -128
    add counter, 8
.endm

/* The next n blocks' keystream, to the registers from `first` on; from the first counter block in xmm0. */
.macro stream n, extra, hash=0, first=0
    counters \n, \first
    rounds_but_last \n, \extra, 0, \hash, power-NEAR, \first
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    .if \i >= \first && \i < \first + \n
    vaesenclast xmm\i, xmm\i, rk
    .endif
    .endr
.endm

/* power for the blocks of the tail and, LAST, that of the lengths; leaves whether it is LAST in the zero flag. */
.macro tail_powers
    lea rax, [text_left + 15]
    and eax, -16
    add eax, eax
    lea power, [key + NEAR]
    sub power, rax
    test flag_bits, SEALANE_FLAG_LAST
    jz 1f
    sub power, 32                                                               /* not 0 */
1:
.endm

/* Block i of the tail, if it is there and whole, with keystream k. */
.macro tail_block i, k
    cmp text_left, 16*\i + 16
    jb .Ltail_end_\i
    vmovdqu block_a, [src+16*\i]
    vpxor \k, \k, block_a
    vmovdqu [dst+16*\i], \k
    test flag_bits, SEALANE_FLAG_OPEN
    jnz 1f
    vmovdqa block_a, \k
1:
    vpshufb block_a, block_a, [consts+REVERSE]
    .if \i == 0
    vpxor block_a, block_a, y
    vpxor y, y, y
    .endif
    multiply 0, power + H(-\i) - NEAR
.endm

/* ---- Little packets -------------------------------------------------------------------------------------------- */

/* Block i of a little packet's text, if it is there and whole, with its keystream but for the last round, whose key is
 * rk; and sums += its product. */
.macro little_block i, k, open
    cmp text_left, 16*\i + 16
    jb .Llittle_end_\i
    .if \open
    vmovdqu block_a, [src+16*\i]
    vpxor block_b, block_a, rk
    vaesenclast \k, \k, block_b
    vmovdqu [dst+16*\i], \k
    vpshufb block_a, block_a, [consts+REVERSE]
    .else
    xor_unaligned block_a, rk, src+16*\i
    vaesenclast \k, \k, block_a
    vmovdqu [dst+16*\i], \k
    vpshufb block_a, \k, [consts+REVERSE]
    .endif
    multiply 0, little_power + H(1-\i) - NEAR
.endm

    scratch_end SCRATCH_END
    function KERNEL_NAME, later

    /* A whole packet of 1 to 64 bytes, with at most one block of associated data and a nonce of 12 bytes. */
    mov eax, [args + SEALANE_ARG_FLAGS]
    and eax, ~SEALANE_FLAG_OPEN
    cmp eax, SEALANE_FLAG_FIRST + SEALANE_FLAG_LAST + SEALANE_FLAG_NONCE
    jne .Lbegin
    mov text_left, [args + SEALANE_ARG_BYTES]
    lea rax, [text_left - 1]
    cmp rax, 64
    jae .Lbegin
    cmp qword ptr [args + SEALANE_ARG_AD_BYTES], 16
    ja .Lbegin

    /* Five counter blocks and the first round key: J0's, which becomes the mask, and the text's. */
    mov rax, [args + SEALANE_ARG_NONCE]
    mov key, [args + SEALANE_ARG_KEY]
    nonce_words
    vmovdqu rk, [key+SEALANE_GCM_KEY_SCHEDULE]
    vpxor xmm0, xmm0, rk
    vpxor xmm4, xmm0, [consts+NUMBERS]
    vpxor xmm1, xmm0, [consts+NUMBERS+32]
    vpxor xmm2, xmm0, [consts+NUMBERS+48]
    vpxor xmm3, xmm0, [consts+NUMBERS+64]
    vpxor xmm0, xmm0, [consts+NUMBERS+16]

    /* The sums begin with the block of lengths, whose other half is 0 without associated data. */
    lea eax, [8*r11]
    vmovd block_a, eax
    product 1, lo, [key + H(1)], block_a, 0x00
    product 1, mi, [key + S(1)], block_a, 0x00
    vpxor hi, hi, hi
    lea eax, [r11 + 15]
    and eax, 0x70
    add eax, eax
    lea little_power, [key + NEAR]
    sub little_power, rax                                                       /* its H(1) is of the first block */
    mov rax, [args + SEALANE_ARG_AD_BYTES]
    test eax, eax
    jnz .Llittle_ad
.Llittle_rounds:
    .irp i, 1, 2, 3, 4, 5, 6, 7, 8, 9
    round 5, 0, \i
    .endr
    mov eax, 160
    mov ecx, [key + SEALANE_GCM_KEY_ROUNDS]
    shl ecx, 4
    cmp ecx, eax
    jne .Llittle_more_rounds
.Llittle_last_round:
    vmovdqu rk, [key+rcx+SEALANE_GCM_KEY_SCHEDULE]
    vaesenclast xmm4, xmm4, rk
    mov src, [args + SEALANE_ARG_IN]
    mov dst, [args + SEALANE_ARG_OUT]
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jnz .Llittle_open
    .irp i, 0, 1, 2, 3
    little_block \i, xmm\i, 0
    .endr
.Llittle_reduce:
    reduce_all
    mov rax, [args + SEALANE_ARG_TAG]
    vpshufb hi, hi, [consts+REVERSE]
    vpxor hi, hi, xmm4
    vmovdqu [rax], hi
    jmp .Llittle_done
.Llittle_open:
    .irp i, 0, 1, 2, 3
    little_block \i, xmm\i, 1
    .endr
    jmp .Llittle_reduce

    /* The text ends within block i, or before it. */
    .irp i, 3, 2, 1, 0
.Llittle_end_\i:
    vaesenclast block_b, xmm\i, rk
    .if \i
    jmp .Llittle_ragged
    .endif
    .endr
.Llittle_ragged:
    mov eax, r11d
    and eax, 15
    jz .Llittle_reduce
    and r11d, 48
    add src, text_left
    add dst, text_left
    lea little_power, [little_power + 2*text_left]
    load_partial block_a, src, tmp, VEX, r11, r11d
    vpxor block_b, block_b, block_a
    store_partial block_b, dst, VEX, r11, r11d, r11b, r8, r10, r10b
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jnz .Llittle_ragged_multiply
    neg rax
    vmovdqu block_a, [consts+rax+MASKS+16]
    vpand block_a, block_a, block_b
.Llittle_ragged_multiply:
    vpshufb block_a, block_a, [consts+REVERSE]
    multiply 0, little_power + H(1) - NEAR
    jmp .Llittle_reduce

    /* The other half of the lengths' block, and the block of associated data. */
.Llittle_ad:
    lea ecx, [8*rax]
    vmovd block_a, ecx
    product 1, hi, [key + H(1)], block_a, 0x01
    product 0, mi, [key + S(1)], block_a, 0x00
    mov r8, [args + SEALANE_ARG_AD]
    cmp eax, 16
    je .Llittle_ad_whole
    load_partial block_a, r8, tmp, VEX, r9, r9d
    jmp .Llittle_ad_multiply
.Llittle_ad_whole:
    vmovdqu block_a, [r8]
.Llittle_ad_multiply:
    vpshufb block_a, block_a, [consts+REVERSE]
    multiply 0, little_power + H(2) - NEAR
    jmp .Llittle_rounds

    /* Of longer keys. */
.Llittle_more_rounds:
    round 5, 0, 0
    add eax, 16
    cmp eax, ecx
    jb .Llittle_more_rounds
    jmp .Llittle_last_round

.Lbegin:
    save_registers_later
    call_begin
    counter_or_nonce counter
    vpxor xmm0, xmm0, [consts+NUMBERS]
    mov counter, 2
.Lad_begin:
    mov steps, [args + SEALANE_ARG_AD_BYTES]
    test steps, steps
    jz .Lbegun

    /* Associated data, up to eight blocks at a time. */
    mov mac, [args + SEALANE_ARG_AD]
    vmovd xmm7, counter
.Lad:
    mov power, 128
    cmp steps, power
    cmovb power, steps
    add power, 15
    and power, -16
    add power, power
    neg power
    add power, key                                                              /* H(0) is of the first block */
    vpxor xmm1, xmm1, xmm1
    vpxor xmm2, xmm2, xmm2
    vpxor xmm3, xmm3, xmm3
.Lad_block:
    cmp steps, 16
    jb .Lad_partial
    vmovdqu block_a, [mac]
    jmp .Lad_multiply
.Lad_partial:
    mov eax, r14d
    load_partial block_a, mac, tmp, VEX
    mov steps, 16
.Lad_multiply:
    vpshufb block_a, block_a, [consts+REVERSE]
    vpxor block_a, block_a, hi
    multiply 1, power + H(0)
    vpxor xmm1, xmm1, lo
    vpxor xmm2, xmm2, mi
    vpxor xmm3, xmm3, hi
    vpxor hi, hi, hi
    add mac, 16
    sub steps, 16
    jz .Lad_reduce
    add power, 32
    cmp power, key
    jne .Lad_block
.Lad_reduce:
    vmovdqa lo, xmm1
    vmovdqa mi, xmm2
    vmovdqa hi, xmm3
    reduce_all
    test steps, steps
    jnz .Lad
    vmovd counter, xmm7
    jmp .Lbegun

    /* Another part of a packet. */
.Lcontinue:
    mov rax, [args + SEALANE_ARG_STATE]
    vmovdqu hi, [rax+SEALANE_GCM_STATE_Y]
    vpshufb hi, hi, [consts+REVERSE]
    vmovdqu xmm0, [rax+SEALANE_GCM_STATE_COUNTER]
    mov counter, [rax + SEALANE_GCM_STATE_COUNTER + 12]
    bswap counter

.Lbegun:
    mov rounds, [key + SEALANE_GCM_KEY_ROUNDS]
    shl rounds, 4
    vmovdqu rk, [key+SEALANE_GCM_KEY_SCHEDULE]
    vpxor xmm0, xmm0, rk
    vmovdqa [scratch+J0], xmm0
    test text_left, text_left
    jz .Lno_text
    lea steps, [text_left - 1]
    shr steps, 7
    jz .Ltail_alone

    /* Eight blocks at a time. Seal: encryption is a step ahead of authentication, and encrypts J0 with the first. */
    mov rax, steps
    shl rax, 7
    sub text_left, rax
    mov word3, [key + SEALANE_GCM_KEY_SCHEDULE + 12]
    cmp steps, 1
    je .Lone_eight
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    vmovdqa [scratch+BLOCKS+16*\i], xmm0
    .endr
.Lone_eight:
    vmovdqa xmm12, xmm0
    counters 8
    mov mac, src
    test flag_bits, SEALANE_FLAG_OPEN
    jnz .Lloop_counted
    mov mac, dst
    encrypt 1
    dec steps
    jz .Leights_end
.Lloop:
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    vmovdqa xmm\i, [scratch+BLOCKS+16*\i]
    .endr
.Lloop_counted:
    encrypt 0, 1
    sub mac, -128
    dec steps
    jnz .Lloop
    vpxor tmp, tmp, tmp
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    vmovdqa [scratch+BLOCKS+16*\i], tmp
    .endr
.Leights_end:
    sub counter, 8
    vmovdqa xmm0, [scratch+J0]
    vmovdqu rk, [key+SEALANE_GCM_KEY_SCHEDULE]
    test flag_bits, SEALANE_FLAG_OPEN
    jz .Ltail_behind

    /* The tail: up to four blocks, or up to eight; opening, whose authentication need not wait for them, again up to
     * four. One reduction is for all of them, the lengths, which come first as they are known, and, sealing, the last
     * of the eights. */
.Ltail_alone:
    vmovdqa xmm12, xmm0
    test flag_bits, SEALANE_FLAG_OPEN
    jnz .Ltail_alone_four
    cmp text_left, 64
    ja .Ltail_alone_eight
.Ltail_alone_four:
    stream 4, 1
    jmp .Ltail_alone_made
.Ltail_alone_eight:
    stream 8, 1
.Ltail_alone_made:
    tail_powers
    vmovdqa y, hi
    jnz .Ltail_lengths
    vpxor lo, lo, lo
    vpxor mi, mi, mi
    vpxor hi, hi, hi
    jmp .Ltail_blocks
.Ltail_lengths:
    lengths
    multiply 1, key + H(1)
    jmp .Ltail_blocks
.Ltail_behind:
    tail_powers
    cmp text_left, 64
    ja .Ltail_behind_eight
    stream 4, 0, 2
    jmp .Ltail_behind_made
.Ltail_behind_eight:
    stream 8, 0, 2
.Ltail_behind_made:
    vpxor y, y, y
    test flag_bits, SEALANE_FLAG_LAST
    jz .Ltail_blocks
    lengths
    multiply 0, key + H(1)
.Ltail_blocks:
    tail_block 0, xmm0
    tail_block 1, xmm1
    tail_block 2, xmm2
    tail_block 3, xmm3
    cmp text_left, 64
    je .Lreduce
    test flag_bits, SEALANE_FLAG_OPEN
    jz .Ltail_more
    vmovdqa xmm0, [scratch+J0]
    vmovdqu rk, [key+SEALANE_GCM_KEY_SCHEDULE]
    stream 4, 0, 0, 4
    vpxor y, y, y
.Ltail_more:
    tail_block 4, xmm4
    tail_block 5, xmm5
    tail_block 6, xmm6
    tail_block 7, xmm7
    jmp .Lreduce

    /* It ends within block i, or before it. */
    .irp i, 7, 6, 5, 4, 3, 2, 1, 0
.Ltail_end_\i:
    vmovdqa block_b, xmm\i
    .if \i
    jmp .Ltail_ragged
    .endif
    .endr
.Ltail_ragged:
    mov eax, r11d
    and eax, 15
    jz .Lreduce
    and r11d, 0x70
    add src, text_left
    add dst, text_left
    lea power, [power + 2*text_left]
    load_partial block_a, src, tmp, VEX
    vpxor block_b, block_b, block_a
    mov mac, power
    store_partial block_b, dst, VEX
    mov power, mac
    test flag_bits, SEALANE_FLAG_OPEN
    jnz .Ltail_ragged_multiply
    neg rax
    vmovdqu block_a, [consts+rax+MASKS+16]
    vpand block_a, block_a, block_b
.Ltail_ragged_multiply:
    vpshufb block_a, block_a, [consts+REVERSE]
    vpxor block_a, block_a, y
    multiply 0, power + H(0) - NEAR
    jmp .Lreduce

.Lno_text:
    vmovdqa xmm12, xmm0
    rounds_but_last 0, 1
    test flag_bits, SEALANE_FLAG_LAST
    jz .Lfinish
    lengths
    vpxor block_a, block_a, hi
    multiply 1, key + H(1)
.Lreduce:
    reduce_all
.Lfinish:
    finish
    bswap counter
    mov [rax + SEALANE_GCM_STATE_COUNTER + 12], counter
.Lwipe:
    vpxor xmm0, xmm0, xmm0
    vmovdqa [scratch+J0], xmm0
    vmovdqa [scratch+MASK], xmm0
    vmovdqa [scratch+SUMS], xmm0
    vmovdqa [scratch+SUMS+16], xmm0
    jmp .Ldone

#define rcon r13
    setup_begin rcon, r14
    mov rcx, r14
    mov eax, [r14 + word - 4]
    schedule_words words, word, phase, end, rcon, r14, rcx, ebx, VEX

    /* H (SP 800-38D, 7.1), its bytes reversed, times x. */
    hash_key_block
    vmovdqa xmm1, xmm0
    vpsrlq xmm1, xmm1, 63
    hash_key_times_x

    /* Its powers: H^2, and from then on the last but one times that, so that two are on their way. */
    vpxor xmm2, xmm2, xmm2                                                          /* the lower power's sum */
    vmovdqa block_a, xmm0
    vmovdqa xmm3, xmm0
    lea rax, [key + H(1)]
    mov rcx, rax
.Lpowers:
    vmovdqu [rax], block_a
    vpshufd tmp, block_a, 0x4e
    vpxor tmp, tmp, block_a
    vpunpcklqdq block_b, tmp, xmm2
    vmovdqu [rax+16], block_b
    vmovdqa xmm2, tmp
    vpshufd xmm1, xmm0, 0x4e
    vpxor xmm1, xmm1, xmm0
    vpshufd mi, xmm3, 0x4e
    vpxor mi, mi, xmm3
    vpclmulqdq lo, xmm0, xmm3, 0x00
    vpclmulqdq hi, xmm0, xmm3, 0x11
    vpclmulqdq mi, mi, xmm1, 0x00
    reduce_all
    vmovdqa xmm3, block_a
    vmovdqa block_a, hi
    cmp rax, rcx
    jne 1f
    vmovdqa xmm0, hi
1:
    sub rax, 32
    lea r8, [key + H(POWERS)]
    cmp rax, r8
    jae .Lpowers

.Ldone:
    endfunction .Llittle_done
