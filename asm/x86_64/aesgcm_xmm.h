/* AES-GCM (NIST SP 800-38D) for x86-64 with AES-NI: seals or opens a packet, or a part of one, in one pass; makes keys.
 * Two levels share this text. aesniavx has three operands, and loads that need no alignment. aesni (KERNEL_SSE) lacks
 * both, and runs on CPUs without AVX.
 *
 * void KERNEL_NAME(const args *a, void *scratch, const void *consts)
 *
 * Reads        args; key[960]; ad[ad_bytes], J0[16] or nonce[12] (FIRST); H[16] (SETUP, NONCE); state[64] (not FIRST);
 *              in[bytes]
 * Writes       out[bytes]; tag[16] (LAST); state[64] (not LAST); key[960] (SETUP); scratch, wiped again
 * Registers    all but rsp, rbp; stack 0
 * Branches and addresses depend on flags, pointers, lengths and the number of rounds only.
 *
 * Counter mode (6.5) makes eight blocks of keystream at a time, and GHASH processes eight between the rounds.
 * Sealing, these are the previous eight; opening, the same eight. The last one to eight blocks, the tail, are made in
 * their exact number. Sealing, the eight before them are authenticated meanwhile and reduced with the tail; the table
 * of H's powers serves both. If calls follow each other directly, AES waits for the code between its last round and
 * its first, which is kept short.
 *
 * GHASH (6.4) and its mathematics are in asm/ghash.h; its low, mid, high are lo, mi, hi here. Eight blocks at a time:
 * Y := (Y + c) H^8 + c' H^7 + .. with one reduction.
 */
#if defined(KERNEL_SSE)
#include "sse.h"
#define VEX
#define THREE 0      /* whether a tail of three blocks has its own code. It takes that of four where room is short. */
#else
#define VEX v
#define THREE 1
#endif

/* Constants. */
#define REVERSE 0    /* of 16 bytes */
#define POLY 16      /* P = 2^57 + 2^62 + 2^63, and 1: x^128 modulo the polynomial */
#define ROTATE 32    /* RotWord (FIPS 197, 5.2) of the first word, to all words */
#define RCON 48      /* round constants (FIPS 197, table 5), one byte each */
#define COUNT 64     /* 0, 1, 2, 3 */
#define FOUR 80      /* 4, 4, 4, 4 */
#define REVERSE4 96  /* of the bytes of a dword */
#define MASKS 112    /* 16 bytes from 16 - n on: n ones, 16 - n zeroes */
#define NUMBERS 144  /* counters 1 .. 30, each the last word of a block */
#define NUMBER(i) (NUMBERS + 16*((i) - 1))
#define SAME 624     /* 16 bytes stay as they are */

    constants KERNEL_CONSTANTS
    .byte 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
    .quad 0xc200000000000000, 1
    .byte 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0
    .byte 1, 2, 4, 8, 16, 32, 64, 128, 27, 54, 0, 0, 0, 0, 0, 0
    .long 0, 1, 2, 3
    .long 4, 4, 4, 4
    .byte 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12
    .quad -1, -1, 0, 0
    .irp tens, 0, 10, 20
    .irp ones, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
    .byte 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \tens + \ones
    .endr
    .endr
    .byte 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    endconstants

/* Scratch. */
#define J0 256       /* J0 or a later counter block, and the first round key */
#define BLOCKS 272   /* the next eight counter blocks, and the first round key */
#define SUMS 400     /* of the halves of four blocks */
#define SCRATCH_END 432

/* The key's table: the powers of H from H^17 to H. Each is followed by the sum of its halves and that of the next
 * lower power's halves. */
#define POWERS 17    /* for eight blocks, eight of the tail, and the lengths */
#define H(i) (SEALANE_GCM_KEY_TABLE + 32*(POWERS - (i)))
#define S(i) (H(i) + 16)
#define NEAR (H(0) + 128) /* fields within 128 bytes have short addresses */

/* Integer registers. */
#define counter ecx  /* of the next block */
#define key r10
#define mac r12      /* the next bytes to authenticate */
#define phase r12d   /* while a key is made: the word's number modulo words */
#define power r13    /* key less 32 m, plus NEAR: at H(i) - NEAR from it is H^(m+i) */
#define word3 r13d   /* the first round key's last word */
#define steps r14    /* of eight blocks, to be encrypted */
#define flags r15d
#define flag_bits r15b /* their low byte, whose tests are shorter */
#define rounds ebx   /* times 16 */
#define last_power rsi /* power of the last blocks, in place of scratch */

/* Flags besides those of the call. They replace the key where it is no longer needed. */
#define BEHIND 0x20  /* the eight blocks at mac are not authenticated yet; never with POLYVAL, which has the same bit */
#define PLAIN 0x40   /* a whole packet with a nonce of 12 bytes and no associated data, and of at most */
#define PLAIN_MOST 384 /* bytes: then all of its counters are in the table */
#define FRESH 0x80   /* nothing was authenticated before the tail */
#define WHOLE 0      /* a packet that ends with these blocks; for a short packet, the key is still there */
#define PART 1       /* more parts follow, or came before */

/* Vector registers: 0 .. 7 keystream, and */
#define rk xmm8
#define lo xmm9
#define mi xmm10
#define hi xmm11     /* between blocks: GHASH so far */
#define block_a xmm12
#define block_b xmm13
#define mask xmm13   /* at the end: the encrypted J0 */
#define tmp xmm14
#define tmp2 xmm15
#define shuffle xmm4 /* of the bytes of associated data's blocks */

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

.macro load_shuffle at:vararg
    vmovdqu shuffle, \at
.endm

/* tmp := P times the lower half of v. */
.macro times_p v, first
    product_of tmp, [consts+POLY], \v, 0x00
.endm

/* The sum of the halves of a block at \at, in integer registers. It saves two shuffles on the port that is busiest on
 * some CPUs. It is used for pairs 1 and 3. For all pairs it would be too many instructions for other CPUs. */
.macro scalar_sum step, i, at:vararg
    .if \step == 0
    mov rax, [\at]
    xor rax, [\at + 8]
    .else
    bswap rax
    mov [scratch + SUMS + 8*\i], rax
    .endif
.endm

/* Multiplies two of eight blocks at mac by powers of H, from base + H(8) on. It is cut into steps to put between
 * other work. */
.macro multiply_pair step, pair, base, scalar=1
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
    .elseif \step == 3 && !(\pair & \scalar)
    vpunpcklqdq tmp, block_a, block_b
    .elseif \step == 4 && !(\pair & \scalar)
    vpunpckhqdq tmp2, block_a, block_b
    .elseif \step == 5 && !(\pair & \scalar)
    vpxor tmp, tmp, tmp2                                                            /* sums of halves of a and of b */
    .elseif \step == 6
    product (\pair == 0), lo, [\base + H(8 - 2*\pair)], block_a, 0x00
    .elseif \step == 8
    product (\pair == 0), hi, [\base + H(8 - 2*\pair)], block_a, 0x11
    .elseif \step == 10
    product 0, lo, [\base + H(7 - 2*\pair)], block_b, 0x00
    .elseif \step == 12
    product 0, hi, [\base + H(7 - 2*\pair)], block_b, 0x11
    .elseif \step == 14 && !(\pair & \scalar)
    product (\pair == 0), mi, [\base + S(8 - 2*\pair)], tmp, 0x00
    .elseif \step == 15 && !(\pair & \scalar)
    product 0, mi, [\base + S(8 - 2*\pair)], tmp, 0x11
    .elseif \step == 14
    vmovq tmp, qword ptr [scratch+SUMS+8*(\pair-1)]
    product 0, mi, [\base + S(8 - 2*\pair)], tmp, 0x00
    .elseif \step == 15
    vmovq tmp, qword ptr [scratch+SUMS+8*\pair]
    product 0, mi, [\base + S(8 - 2*\pair)], tmp, 0x01
    .endif
    .if \scalar && !(\pair & 1) && (\step == 7 || \step == 9)
    scalar_sum ((\step - 7)/2), \pair, mac + 32*\pair + 32
    .elseif \scalar && !(\pair & 1) && (\step == 11 || \step == 13)
    scalar_sum ((\step - 11)/2), (\pair + 1), mac + 32*\pair + 48
    .endif
.endm

/* All of the eight blocks in 64 steps, and one reduction in 12 more. */
.macro hash_step step
    .if (\step) < 64
    multiply_pair ((\step) & 15), ((\step)/16), key
    .elseif ((\step) & 1) && (\step) < 76
    reduce ((\step-65)/2)
    .endif
.endm

/* Block i of those in 0 .. 3 times its power of H, in nine steps. */
.macro hash_four_step i, step
    .if \step == 0
    vpshufb block_a, xmm\i, [consts+REVERSE]
    .elseif \step == 1
    vpshufd tmp, block_a, 0x4e
    .elseif \step == 2
    vpxor tmp, tmp, block_a
    .elseif \step == 3
    product 0, lo, [power + H(1-\i) - NEAR], block_a, 0x00
    .elseif \step == 5
    product 0, hi, [power + H(1-\i) - NEAR], block_a, 0x11
    .elseif \step == 7
    product 0, mi, [power + S(1-\i) - NEAR], tmp, 0x00
    .endif
.endm

/* block_a := the block of the lengths in bits, its bytes reversed. */
.macro lengths
    vmovq block_a, qword ptr [args+SEALANE_ARG_TOTAL]
    vmovhps block_a, block_a, [args+SEALANE_ARG_AD_BYTES]
    vpsllq block_a, block_a, 3
.endm

/* ---- AES ------------------------------------------------------------------------------------------------------- */

/* The next n counter blocks, four or eight, and the first round key. xmm0 has the same nonce, and rk is that round
 * key. */
.macro counters n
    .if \n == 8
    move_counters tmp, mi
    vpaddd tmp2, tmp, [consts+FOUR]
    vpshufb tmp2, tmp2, [consts+REVERSE4]
    vpxor tmp2, tmp2, mi
    vpshufb tmp, tmp, [consts+REVERSE4]
    vpxor tmp, tmp, mi
    .else
    move_counters tmp, tmp2
    vpshufb tmp, tmp, [consts+REVERSE4]
    vpxor tmp, tmp, tmp2
    .endif
    .irp i, 1, 2, 3, 4, 5, 6, 7
    .if \i < 4
    vinsertps xmm\i, xmm0, tmp, 0x30+64*\i                                      /* its word i instead of the last */
    .elseif \i < \n
    vinsertps xmm\i, xmm0, tmp2, 0x30+64*(\i-4)
    .endif
    .endr
    vinsertps xmm0, xmm0, tmp, 0x30
    add counter, \n
.endm

/* Four counters to `to`, and the first round key's last word, four times, to `last`. */
.macro move_counters to, last
    vmovd \to, counter
    vpshufd \last, rk, 0xff
    vpshufd \to, \to, 0
    vpaddd \to, \to, [consts+COUNT]
.endm

/* Block i of the next eight, which will be read after this eight. It is written as a whole, since it is read as a
 * whole. */
.macro next_counter i
    lea eax, [rcx + \i]
    bswap eax
    xor eax, word3
    mov [scratch + BLOCKS + 16*\i + 12], eax
.endm

/* A round of n blocks from register `first` on and, if given, of the block `extra`. Round number 0 stands for the
 * round whose number times 16 is in rax. hash: with each block, 1 adds a step of hashing eight blocks, and 2 a step
 * of hashing the previous four blocks. */
.macro round n, extra, number, hash=0, first=0
    .if \number
    vmovdqu rk, [key+SEALANE_GCM_KEY_SCHEDULE+16*\number]
    .else
    vmovdqu rk, [key+rax+SEALANE_GCM_KEY_SCHEDULE]
    .endif
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    .if \i >= \first && \i < \first + \n
    vaesenc xmm\i, xmm\i, rk
    .if \hash == 1
    hash_step (\n*(\number-1)+\i)
    .elseif \hash == 2
    .irp hashed, 0, 1, 2, 3
    hash_four_step \hashed, (4*(\number-1)+\i-4-9*\hashed)
    .endr
    .endif
    .endif
    .endr
    .ifnb \extra
    vaesenc \extra, \extra, rk
    .endif
.endm

/* All rounds except the last (FIPS 197, 5.1), and all rounds of the extra block. Afterwards rk is the last round key.
 * next: also makes the counters of the next eight blocks, if there are any. */
.macro rounds_but_last n, extra, next=0, hash=0, first=0, from=1
    .if \from == 1
    round \n, \extra, 1, \hash, \first
    round \n, \extra, 2, \hash, \first
    .endif
    .if \next
    cmp steps, 1
    je 2f
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    next_counter \i
    .endr
2:
    .endif
    .irp i, 3, 4, 5, 6, 7, 8, 9
    round \n, \extra, \i, \hash, \first
    .endr
    mov eax, 160
    cmp rounds, eax
    je 2f
1:
    round \n, \extra, 0, 0, \first
    add eax, 16
    cmp eax, rounds
    jb 1b
2:
    vmovdqu rk, [key+rbx+SEALANE_GCM_KEY_SCHEDULE]
    .ifnb \extra
    vaesenclast \extra, \extra, rk
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

/* Stores the nonce, without the counter, and the first round key in all of the next eight blocks. */
.macro blocks_of v
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    vmovdqa [scratch+BLOCKS+16*\i], \v
    .endr
.endm

/* The last round of eight blocks, and their text. */
.macro encrypt hash=0
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    xor_unaligned block_a, rk, src+16*\i
    vaesenclast xmm\i, xmm\i, block_a
    vmovdqu [dst+16*\i], xmm\i
    .if \hash
    hash_step (72+\i)
    .endif
    .endr
    sub src, -128
    sub dst, -128
    add counter, 8
.endm

/* ---- The last blocks -------------------------------------------------------------------------------------------- */

/* Block i of the rest, if it exists and is whole. Its keystream lacks the last round, whose key is rk. Its product is
 * added to the sums. */
.macro last_block i, k, open
    cmp text_left, 16*\i + 16
    jb .Lblocks_end_\i
    .if \open
    vmovdqu block_a, [src+16*\i]
    vpxor tmp, block_a, rk
    vaesenclast \k, \k, tmp
    vmovdqu [dst+16*\i], \k
    vpshufb block_a, block_a, [consts+REVERSE]
    .else
    xor_unaligned block_a, rk, src+16*\i
    vaesenclast \k, \k, block_a
    vmovdqu [dst+16*\i], \k
    vpshufb block_a, \k, [consts+REVERSE]
    .endif
    multiply 0, last_power + H(1-\i) - NEAR
.endm

/* From here on J0 is not needed, so it is wiped. WHOLE or PART replaces the key. A part's nonce goes to the state, in
 * its next counter block. */
.macro end_counters
    test flag_bits, PLAIN
    jnz 1f
    mov eax, flags
    and eax, SEALANE_FLAG_FIRST + SEALANE_FLAG_LAST
    cmp eax, SEALANE_FLAG_FIRST + SEALANE_FLAG_LAST
    je 1f
    vmovdqu tmp, [key+SEALANE_GCM_KEY_SCHEDULE]
    vpxor tmp, tmp, [scratch+J0]
    mov r10d, PART
    test flag_bits, SEALANE_FLAG_LAST
    jnz 2f
    mov rax, [args + SEALANE_ARG_STATE]
    vmovdqu [rax + SEALANE_GCM_STATE_COUNTER], tmp
    jmp 2f
1:
    xor r10d, r10d                                                              /* WHOLE */
2:
    vpxor tmp, tmp, tmp
    vmovdqa [scratch+J0], tmp
.endm

/* Further values for the beginning of a packet. PLAIN is set if the packet is short enough. */
.macro plain_begin
    mov flags, [args + SEALANE_ARG_FLAGS]
    cmp text_left, PLAIN_MOST
    ja 1f
    or flags, PLAIN
1:
    mov src, [args + SEALANE_ARG_IN]
    mov dst, [args + SEALANE_ARG_OUT]
    mov rounds, [key + SEALANE_GCM_KEY_ROUNDS]
    shl rounds, 4
    vpxor block_a, block_a, [consts+NUMBER(1)]
    vmovdqa [scratch+J0], block_a
    vpxor hi, hi, hi
.endm

/* steps := the eights to be encrypted while more than 128 bytes are left; text_left := the bytes after them. */
.macro whole_eights
    lea steps, [text_left - 1]
    shr steps, 7
    mov rax, steps
    shl rax, 7
    sub text_left, rax
.endm

    scratch_end SCRATCH_END
    function KERNEL_NAME, later

    /* A whole packet of 1 to 64 bytes, with at most one block of associated data and a nonce of 12 bytes. */
    little_begin .Llonger

    /* Five counter blocks and the first round key: J0's, which becomes the mask, and the text's. */
    vmovdqu rk, [key+SEALANE_GCM_KEY_SCHEDULE]
    vpxor xmm0, xmm0, rk
    vpxor mask, xmm0, [consts+NUMBER(1)]
    .irp i, 1, 2, 3, 0
    vpxor xmm\i, xmm0, [consts+NUMBER(2+\i)]
    .endr

    /* The sums begin with the block of lengths, whose other half is 0 without associated data. */
    lea eax, [8*r11]
    vmovd block_a, eax
    product 1, lo, [key + H(1)], block_a, 0x00
    product 1, mi, [key + S(1)], block_a, 0x00
    vpxor hi, hi, hi
    lea eax, [r11 + 15]
    and eax, 0x70
    add eax, eax
    lea last_power, [key + NEAR]
    sub last_power, rax                                                       /* its H(1) is of the first block */
    mov rax, [args + SEALANE_ARG_AD_BYTES]
    test eax, eax
    jnz .Llittle_ad
.Llittle_rounds:
    .irp i, 1, 2, 3, 4, 5, 6, 7, 8, 9
    round 4, mask, \i
    .endr
    mov eax, 160
    mov ecx, [key + SEALANE_GCM_KEY_ROUNDS]
    shl ecx, 4
    cmp ecx, eax
    jne .Llittle_more_rounds
.Llittle_last_round:
    vmovdqu rk, [key+rcx+SEALANE_GCM_KEY_SCHEDULE]
    vaesenclast mask, mask, rk
    mov src, [args + SEALANE_ARG_IN]
    mov dst, [args + SEALANE_ARG_OUT]

    /* The last blocks of any packet, or four blocks before them. Registers 0 .. 3 have keystream without the last
     * round. This code uses only registers that a short packet has saved. */
.Lblocks:
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jnz .Lblocks_open
    .irp i, 0, 1, 2, 3
    last_block \i, xmm\i, 0
    .endr
.Lblocks_whole:
    cmp text_left, 64
    ja .Lmore
.Lblocks_reduce:
    reduce_all
    cmp key, PART
    je .Lfinish
    mov rax, [args + SEALANE_ARG_TAG]
    vpshufb hi, hi, [consts+REVERSE]
    vpxor hi, hi, mask
    vmovdqu [rax], hi
    jmp .Llittle_done
.Lblocks_open:
    .irp i, 0, 1, 2, 3
    last_block \i, xmm\i, 1
    .endr
    jmp .Lblocks_whole

    /* The text ends within block i, or before it. */
    .irp i, 3, 2, 1, 0
.Lblocks_end_\i:
    vaesenclast xmm0, xmm\i, rk
    .if \i
    jmp .Lblocks_ragged
    .endif
    .endr
.Lblocks_ragged:
    mov eax, r11d
    and eax, 15
    jz .Lblocks_reduce
    and r11d, 48
    add src, text_left
    add dst, text_left
    lea last_power, [last_power + 2*text_left]
    load_partial block_a, src, tmp, VEX, r11, r11d
    vpxor xmm0, xmm0, block_a
    store_partial xmm0, dst, VEX, r11, r11d, r11b, r8, r8d
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jnz .Lragged_multiply
    neg rax
    vmovdqu block_a, [consts+rax+MASKS+16]
    vpand block_a, block_a, xmm0
.Lragged_multiply:
    vpshufb block_a, block_a, [consts+REVERSE]
    multiply 0, last_power + H(1) - NEAR
    jmp .Lblocks_reduce

    /* With associated data: the other half of the lengths' block, and the block of associated data. */
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
    multiply 0, last_power + H(2) - NEAR
    jmp .Llittle_rounds

    /* Further rounds, for longer keys. */
.Llittle_more_rounds:
    round 4, mask, 0
    add eax, 16
    cmp eax, ecx
    jb .Llittle_more_rounds
    jmp .Llittle_last_round

    /* A longer packet, without associated data. Sealing more than 128 bytes begins with AES. */
.Llonger:
    test text_left, text_left
    jz .Lbegin
    cmp qword ptr [args + SEALANE_ARG_AD_BYTES], 0
    jne .Lbegin
    mov rax, [args + SEALANE_ARG_NONCE]
    mov key, [args + SEALANE_ARG_KEY]
    nonce_words
    vmovdqu rk, [key+SEALANE_GCM_KEY_SCHEDULE]
    vpxor block_a, xmm0, rk
    cmp text_left, 128
    jbe .Lplain
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jnz .Lplain
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    vpxor xmm\i, block_a, [consts+NUMBER(2+\i)]
    .endr
    round 8, , 1
    round 8, , 2
    save_registers_there
    plain_begin
    mov counter, 10
    whole_eights
    jmp .Lfirst_eight
    registers_not_saved
.Lplain:
    save_registers_there
    plain_begin
    mov counter, 2
    cmp text_left, 128
    jbe .Lplain_tail
    whole_eights
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    vpxor xmm\i, block_a, [consts+NUMBER(1^(2+\i))]                                 /* instead of J0's, which is 1 */
    .endr
    mov counter, 10
    jmp .Lopen_eights
.Lplain_tail:
    or flags, FRESH
    jmp .Ltail
    registers_not_saved

.Lbegin:
    save_registers_later
    call_begin
    counter_or_nonce counter
    vpxor xmm0, xmm0, [consts+NUMBER(1)]
    mov counter, 2
.Lad_begin:
    mov steps, [args + SEALANE_ARG_AD_BYTES]
    test steps, steps
    jz .Lbegun

    /* Associated data, up to eight blocks at a time. */
    mov mac, [args + SEALANE_ARG_AD]
    vmovd xmm7, counter
    load_shuffle [consts + REVERSE]
.Lad:
    mov power, 128
    cmp steps, power
    cmovb power, steps
    add power, 15
    and power, -16
    add power, power
    neg power
    add power, key                                                              /* H(0) is of the first block */
    vpshufd tmp, hi, 0x4e
    vpxor tmp, tmp, hi
    product 1, xmm5, [power + H(0)], hi, 0x00                                       /* Y's products: added last, so */
    product 1, xmm6, [power + H(0)], hi, 0x11                                       /* that the others do not wait */
    product 1, block_b, [power + S(0)], tmp, 0x00
    vpxor lo, lo, lo
    vpxor mi, mi, mi
    vpxor hi, hi, hi
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
    vpshufb block_a, block_a, shuffle
    multiply 0, power + H(0)
    add mac, 16
    sub steps, 16
    jz .Lad_reduce
    add power, 32
    cmp power, key
    jne .Lad_block
.Lad_reduce:
    vpxor lo, lo, xmm5
    vpxor mi, mi, block_b
    vpxor hi, hi, xmm6
    reduce_all
    test steps, steps
    jnz .Lad
    vmovd counter, xmm7
    jmp .Lbegun

    polyval

    /* Another part of a packet. */
.Lcontinue:
    continue_part hi, counter

.Lbegun:
    test flag_bits, SEALANE_FLAG_POLYVAL
    jnz .Lpolyval_text
    mov rounds, [key + SEALANE_GCM_KEY_ROUNDS]
    shl rounds, 4
    vmovdqu rk, [key+SEALANE_GCM_KEY_SCHEDULE]
    vpxor xmm0, xmm0, rk
    vmovdqa [scratch+J0], xmm0
    test text_left, text_left
    jz .Lno_text
    cmp text_left, 128
    jbe .Ltail

    /* Eight blocks at a time. Seal: encryption is a step ahead of authentication. */
    whole_eights
    vmovdqa block_a, xmm0
    counters 8
    test flag_bits, SEALANE_FLAG_OPEN
    jnz .Lopen_eights
    round 8, , 1
    round 8, , 2
.Lfirst_eight:
    mov word3, [key + SEALANE_GCM_KEY_SCHEDULE + 12]
    cmp steps, 1
    je .Lone_eight
    blocks_of block_a
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    next_counter \i
    .endr
.Lone_eight:
    rounds_but_last 8, , from=3
    mov mac, dst
    encrypt
    dec steps
    jz .Leights_end
    jmp .Lloop
.Lopen_eights:
    mov word3, [key + SEALANE_GCM_KEY_SCHEDULE + 12]
    mov mac, src
    cmp steps, 1
    je .Lloop_counted
    blocks_of block_a
    jmp .Lloop_counted
.Lloop:
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    vmovdqa xmm\i, [scratch+BLOCKS+16*\i]
    .endr
.Lloop_counted:
    rounds_but_last 8, , next=1, hash=1
    encrypt 1
    sub mac, -128
    dec steps
    jnz .Lloop
    vpxor tmp, tmp, tmp
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    vmovdqa [scratch+BLOCKS+16*\i], tmp
    .endr
    vmovdqa [scratch+SUMS], tmp
    vmovdqa [scratch+SUMS+16], tmp
.Leights_end:
    sub counter, 8
    test flag_bits, SEALANE_FLAG_OPEN
    jnz .Ltail
    or flags, BEHIND

    /* The tail: up to four blocks, or four and then up to four. One reduction serves all of them, the lengths and,
     * sealing, the last of the eights. Counters are in a table if few blocks came before. */
.Ltail:
    lea rax, [text_left + 15]
    and eax, -16
    add eax, eax
    lea power, [key + NEAR]
    sub power, rax                                                              /* its H(1) is of the first block */
    vmovdqa xmm0, [scratch+J0]
    test flag_bits, PLAIN
    jz .Ltail_any
    mov eax, counter
    shl eax, 4
    add rax, consts
    .irp i, 1, 2, 3, 4, 5, 6, 7
    vpxor xmm\i, xmm0, [rax+NUMBER(1^\i)]
    .endr
    vpxor xmm0, xmm0, [rax+NUMBER(1^0)]
    add counter, 8
.Ltail_counted:
    cmp text_left, 64
    ja .Lfour_and_more
    vmovdqa xmm7, [scratch+J0]
    .if THREE
    cmp text_left, 48
    ja .Lkeystream4
    cmp text_left, 32
    ja .Lkeystream3
    .else
    cmp text_left, 32
    ja .Lkeystream4
    .endif
    cmp text_left, 16
    ja .Lkeystream2
    rounds_but_last 1, xmm7
    jmp .Lkeystreamed
.Lkeystream2:
    rounds_but_last 2, xmm7
    jmp .Lkeystreamed
    .if THREE
.Lkeystream3:
    rounds_but_last 3, xmm7
    jmp .Lkeystreamed
    .endif
.Lkeystream4:
    rounds_but_last 4, xmm7
    jmp .Lkeystreamed
.Lfour_and_more:
    rounds_but_last 4
.Lkeystreamed:
    test flag_bits, BEHIND
    jz .Lsums
    .irp pair, 0, 1, 2, 3
    .irp step, 0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 15
    multiply_pair \step, \pair, power-NEAR-32, 0
    .endr
    .endr
    test flag_bits, SEALANE_FLAG_LAST
    jz .Lsummed
    lengths
    multiply 0, key + H(1)
    jmp .Lsummed
.Lsums:
    vmovdqa block_b, hi
    vpxor lo, lo, lo
    vpxor mi, mi, mi
    vpxor hi, hi, hi
    test flag_bits, SEALANE_FLAG_LAST
    jz .Lsums_before
    lengths
    multiply 1, key + H(1)
    test flag_bits, FRESH
    jnz .Lsummed
.Lsums_before:
    vmovdqa block_a, block_b
    multiply 0, power + H(1) - NEAR
.Lsummed:
    vmovdqa mask, xmm7
    cmp text_left, 64
    jbe .Lkeystreams
    vmovdqa mask, [scratch+J0]
    test flag_bits, SEALANE_FLAG_OPEN
    jz .Lmore_keystreams
.Lkeystreams:
    end_counters
    mov last_power, power
    restore_registers
    jmp .Lblocks

    /* Keystream of the blocks after the first four. Seal: made before or while those are hashed. Open: made
     * afterwards. */
.Lmore_keystreams:
    .if THREE
    cmp text_left, 112
    ja .Lmore4
    cmp text_left, 96
    ja .Lmore3
    .else
    cmp text_left, 96
    ja .Lmore4
    .endif
    cmp text_left, 80
    ja .Lmore2
    rounds_but_last 1, mask, first=4
    jmp .Lmore_keystreamed
.Lmore2:
    rounds_but_last 2, mask, first=4
    jmp .Lmore_keystreamed
    .if THREE
.Lmore3:
    rounds_but_last 3, mask, first=4
    jmp .Lmore_keystreamed
    .endif
.Lmore4:
    test flag_bits, SEALANE_FLAG_OPEN
    jz .Lmore4_seal
    rounds_but_last 4, mask, first=4
.Lmore_keystreamed:
    test flag_bits, SEALANE_FLAG_OPEN
    jz .Lkeystreams
    mov key, mac
    jmp .Lmore_made

    /* Four blocks are done, and there are more. */
.Lmore:
    test dword ptr [args + SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jz .Lmore_blocks
    mov mac, key
    mov key, [args + SEALANE_ARG_KEY]
    mov flags, [args + SEALANE_ARG_FLAGS]
    mov rounds, [key + SEALANE_GCM_KEY_ROUNDS]
    shl rounds, 4
    jmp .Lmore_keystreams
.Lmore4_seal:
    .irp i, 0, 1, 2, 3
    xor_unaligned block_a, rk, src+16*\i
    vaesenclast xmm\i, xmm\i, block_a
    vmovdqu [dst+16*\i], xmm\i
    .endr
    rounds_but_last 4, mask, 0, 2, 4
    end_counters
    mov last_power, power
.Lmore_made:
    restore_registers
.Lmore_blocks:
    add src, 64
    add dst, 64
    sub text_left, 64
    sub last_power, -128
    vmovdqa xmm0, xmm4
    vmovdqa xmm1, xmm5
    vmovdqa xmm2, xmm6
    vmovdqa xmm3, xmm7
    jmp .Lblocks

.Ltail_any:
    vmovdqu rk, [key+SEALANE_GCM_KEY_SCHEDULE]
    test flag_bits, SEALANE_FLAG_LAST
    jnz .Ltail_counters
    add power, 32
.Ltail_counters:
    cmp text_left, 64
    ja .Ltail_counters8
    counters 4
    jmp .Ltail_counted
.Ltail_counters8:
    counters 8
    jmp .Ltail_counted

.Lno_text:
    vmovdqa mask, xmm0
    rounds_but_last 0, mask
    mov mac, key
    end_counters
    test flag_bits, SEALANE_FLAG_LAST
    jz .Lfinish
    lengths
    vpxor block_a, block_a, hi
    multiply 1, mac + H(1)
    reduce_all
.Lfinish:
    mov flags, [args + SEALANE_ARG_FLAGS]
    finish mask
    bswap counter
    mov [rax + SEALANE_GCM_STATE_COUNTER + 12], counter
.Lwipe:                                                                          /* is done */
    jmp .Ldone

#define rcon r13
    setup_begin rcon, r14, 128
    mov rcx, r14
    mov eax, [r14 + word - 4]
    schedule_words words, word, phase, end, rcon, r14, rcx, ebx, VEX

    /* H (SP 800-38D, 7.1), its bytes reversed, times x. */
    hash_key_block
    vmovdqa xmm1, xmm0
    vpsrlq xmm1, xmm1, 63
    hash_key_times_x
    mov eax, 16*POWERS
.Lpolyval_key:
    lea r8, [rax + 15]
    and r8, -16
    add r8, r8
    neg r8
    lea r8, [key + r8 + H(0)]                                                       /* the last power's */

    /* The powers: H^2, and from then on the last power but one times H^2, so that two products are in flight. */
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
    cmp rax, r8
    jae .Lpowers

.Ldone:
    endfunction .Llittle_done
