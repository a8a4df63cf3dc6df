/* AES-GCM (NIST SP 800-38D) for x86-64 with AES-NI: seals or opens a packet, or a part of one, in one pass; makes keys.
 *
 * void sealane_aesgcm_aesni(const args *a, void *scratch, const void *consts)
 *
 * Needs        SSSE3, SSE4.1; AES-NI; PCLMULQDQ. No AVX: there are CPUs without it that have these
 * Reads        args; key[960]; ad[ad_bytes], J0[16] or nonce[12] (FIRST); state[64] (not FIRST); in[bytes]
 * Writes       out[bytes]; tag[16] (LAST); state[64] (not LAST); key[960] (SETUP); scratch, wiped again
 * Registers    all but rsp, rbp; stack 0
 * Branches and addresses depend on flags, pointers, lengths and the number of rounds only.
 *
 * Counter mode (6.5) makes eight blocks of keystream at a time, and GHASH takes in eight between the rounds: sealing, the
 * eight before; opening, the same.
 *
 * GHASH (6.4) is Horner's rule in GF(2^128): Y := (Y + c) H for every block c; here Y := (Y + c) H^8 + c' H^7 + .. with
 * one reduction. GCM numbers the bits of a block from its first byte's highest, so a block with its bytes reversed is a
 * polynomial with the coefficients in falling order. The product of two such, as pclmulqdq makes it, is their product
 * divided by x, and 256 bits long: lo + 2^64 mi + 2^128 hi, where by Karatsuba mi = (a0 + a1)(b0 + b1) + lo + hi takes
 * three multiplications in place of four. The half that is too long is reduced from below: the polynomial,
 * x^128 + x^7 + x^2 + x + 1, is 1 + 2^64 P + 2^128 with P = 2^57 + 2^62 + 2^63, so adding P w 2^64 + w 2^128 removes the
 * lowest 64 bits w, and once more the next. That divides by x^128, as it were, and x times too little: the key's powers
 * of H are kept multiplied by x, whence all comes out even.
 */
#include "../asm.S"

    isa .sse2, .ssse3, .sse4.1, .aes, .pclmul

/* Constants. */
#define REVERSE 0    /* of 16 bytes */
#define POLY 16      /* P = 2^57 + 2^62 + 2^63, and 1: what is over when a polynomial is multiplied by x */
#define ROTATE 32    /* RotWord (FIPS 197, 5.2) of the first word, to all words */
#define RCON 48      /* round constants (FIPS 197, table 5), one byte each */
#define COUNT 64     /* 0, 1, 2, 3 */
#define FOUR 80      /* 4, 4, 4, 4 */
#define REVERSE4 96  /* of the bytes of a dword */
#define MASKS 112    /* 16 bytes from 16 - n on: n ones, 16 - n zeroes */

    constants sealane_aesgcm_aesni_constants
    .byte 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
    .quad 0xc200000000000000, 1
    .byte 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0
    .byte 1, 2, 4, 8, 16, 32, 64, 128, 27, 54, 0, 0, 0, 0, 0, 0
    .long 0, 1, 2, 3
    .long 4, 4, 4, 4
    .byte 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12
    .quad -1, -1, 0, 0
    endconstants

/* Scratch. */
#define J0 256       /* J0 and the first round key */
#define COUNTERS 272 /* of the next four blocks */
#define WORD3 288    /* the first round key's last word, four times */
#define MASK 304     /* the encrypted J0 */
#define STREAM 320   /* the last blocks' keystream */
#define SCRATCH_END 448

/* The key's table: powers of H from H^9 to H, each followed by the sum of its halves and that of the next lower one's. */
#define H(i) (SEALANE_GCM_KEY_TABLE + 32*(9 - (i)))
#define S(i) (H(i) + 16)

/* Integer registers. */
#define args rdi
#define scratch rsi
#define consts rdx
#define src r8
#define dst r9
#define mac r10      /* what is authenticated next */
#define left r11
#define key r12
#define power r13    /* key less 32 (9 - m): its H(9) is H^m */
#define steps r14    /* of eight blocks, to be encrypted */
#define flags r15d
#define rounds ebx

/* Vector registers: 0 .. 7 keystream, and */
#define rk xmm8
#define lo xmm9
#define mi xmm10
#define hi xmm11     /* between blocks: GHASH so far */
#define a xmm12
#define b xmm13
#define t xmm14
#define u xmm15

/* ---- GHASH ----------------------------------------------------------------------------------------------------- */

/* sum := or += h * v. */
.macro product init, sum, h, v, halves
    .if \init
    movdqu \sum, \h
    pclmulqdq \sum, \v, \halves
    .else
    movdqu u, \h
    pclmulqdq u, \v, \halves
    pxor \sum, u
    .endif
.endm

/* lo, mi, hi := or += a h, where h is followed by the sum of its halves. */
.macro multiply init, at:vararg
    pshufd t, a, 0x4e
    pxor t, a
    product \init, lo, [\at], a, 0x00
    product \init, hi, [\at], a, 0x11
    product \init, mi, [\at + 16], t, 0x00
.endm

/* hi := lo + 2^64 (mi + lo + hi) + 2^128 hi, reduced; in six steps. */
.macro reduce step
    .if \step == 0
    movdqa t, [consts + POLY]
    pclmulqdq t, lo, 0x00                                                       /* P w */
    .elseif \step == 1
    pxor mi, lo
    pxor mi, hi
    pshufd lo, lo, 0x4e
    .elseif \step == 2
    pxor mi, lo
    pxor mi, t
    .elseif \step == 3
    movdqa t, [consts + POLY]
    pclmulqdq t, mi, 0x00
    .elseif \step == 4
    pshufd mi, mi, 0x4e
    pxor hi, mi
    .else
    pxor hi, t
    .endif
.endm

.macro reduce_all
    .irp i, 0, 1, 2, 3, 4, 5
    reduce \i
    .endr
.endm

/* Two of eight blocks at mac, cut into steps to put between other work. */
.macro multiply_pair step, pair
    .if \step == 0
    movdqu a, [mac + 32*\pair]
    pshufb a, [consts + REVERSE]
    .elseif \step == 1
    .if \pair == 0
    pxor a, hi
    .endif
    movdqu b, [mac + 32*\pair + 16]
    .elseif \step == 2
    pshufb b, [consts + REVERSE]
    movdqa t, a
    .elseif \step == 3
    punpcklqdq t, b
    movdqa u, a
    .elseif \step == 4
    punpckhqdq u, b
    .elseif \step == 5
    pxor t, u                                                                   /* sums of halves of a and of b */
    .elseif \step == 6
    product (\pair == 0), lo, [key + H(8 - 2*\pair)], a, 0x00
    .elseif \step == 8
    product (\pair == 0), hi, [key + H(8 - 2*\pair)], a, 0x11
    .elseif \step == 10
    product 0, lo, [key + H(7 - 2*\pair)], b, 0x00
    .elseif \step == 12
    product 0, hi, [key + H(7 - 2*\pair)], b, 0x11
    .elseif \step == 14
    product (\pair == 0), mi, [key + S(8 - 2*\pair)], t, 0x00
    .elseif \step == 15
    product 0, mi, [key + S(8 - 2*\pair)], t, 0x11
    .endif
.endm

.macro hash_step step
    .if (\step) < 64
    multiply_pair ((\step) & 15), ((\step)/16)
    .elseif ((\step) & 1) && (\step) < 76
    reduce ((\step-65)/2)
    .endif
.endm

/* ---- AES ------------------------------------------------------------------------------------------------------- */

/* Counter blocks, and the first round key, for four blocks. */
.macro counters x0, x1, x2, x3
    movdqa t, [scratch + COUNTERS]
    movdqa u, [consts + FOUR]
    paddd u, t
    movdqa [scratch + COUNTERS], u
    pshufb t, [consts + REVERSE4]
    pxor t, [scratch + WORD3]
    movdqa \x0, [scratch + J0]
    movdqa \x1, \x0
    movdqa \x2, \x0
    movdqa \x3, \x0
    insertps \x0, t, 0x30                                                       /* its word i instead of the last */
    insertps \x1, t, 0x70
    insertps \x2, t, 0xb0
    insertps \x3, t, 0xf0
.endm

.macro round n, extra, number, hash=0
    movdqu rk, [key + SEALANE_GCM_KEY_SCHEDULE + 16*\number]
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    .if \i < \n
    aesenc xmm\i, rk
    .endif
    .if \hash
    hash_step (8*(\number-1)+\i)
    .endif
    .endr
    .if \extra
    aesenc xmm12, rk
    .endif
.endm

/* All rounds but the last (FIPS 197, 5.1); then rk is the last round key. */
.macro rounds_but_last n, extra, hash=0
    .irp i, 1, 2, 3, 4, 5, 6, 7, 8, 9
    round \n, \extra, \i, \hash
    .endr
    cmp rounds, 12
    jb 1f
    round \n, \extra, 10
    round \n, \extra, 11
    je 1f
    round \n, \extra, 12
    round \n, \extra, 13
1:
    mov eax, rounds
    shl eax, 4
    movdqu rk, [key + rax + SEALANE_GCM_KEY_SCHEDULE]
.endm

.macro encrypt hash=0
    counters xmm0, xmm1, xmm2, xmm3
    counters xmm4, xmm5, xmm6, xmm7
    rounds_but_last 8, 0, \hash
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    movdqu a, [src + 16*\i]
    pxor a, rk
    aesenclast xmm\i, a
    movdqu [dst + 16*\i], xmm\i
    .if \hash
    hash_step (72+\i)
    .endif
    .endr
    sub src, -128
    sub dst, -128
.endm

/* The last n blocks' keystream, and the encrypted J0, to scratch. */
.macro stream n
    counters xmm0, xmm1, xmm2, xmm3
    .if \n > 4
    counters xmm4, xmm5, xmm6, xmm7
    .endif
    movdqa xmm12, [scratch + J0]
    rounds_but_last \n, 1
    aesenclast xmm12, rk
    movdqa [scratch + MASK], xmm12
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    .if \i < \n
    aesenclast xmm\i, rk
    movdqa [scratch + STREAM + 16*\i], xmm\i
    .endif
    .endr
.endm

#include "aesgcm_text.h"

    scratch_end SCRATCH_END
    function sealane_aesgcm_aesni
    mov flags, [args + SEALANE_ARG_FLAGS]
    mov key, [args + SEALANE_ARG_KEY]
    test flags, SEALANE_FLAG_SETUP
    jnz .Lsetup
    mov src, [args + SEALANE_ARG_IN]
    mov dst, [args + SEALANE_ARG_OUT]
    mov left, [args + SEALANE_ARG_BYTES]
    test flags, SEALANE_FLAG_FIRST
    jz .Lcontinue
    pxor hi, hi
    mov rax, [args + SEALANE_ARG_NONCE]
    test flags, SEALANE_FLAG_NONCE
    jnz .Lnonce
    movdqu xmm0, [rax]
    mov ebx, [rax + 12]
    bswap ebx
    inc ebx
    jmp .Lad_begin
.Lnonce:                                                                        /* word by word, as it may have been written */
    movd xmm0, dword ptr [rax]
    pinsrd xmm0, [rax + 4], 1
    pinsrd xmm0, [rax + 8], 2
    mov ebx, 0x01000000
    pinsrd xmm0, ebx, 3
    mov ebx, 2
.Lad_begin:
    movd xmm7, ebx
    mov steps, [args + SEALANE_ARG_AD_BYTES]
    mov mac, [args + SEALANE_ARG_AD]
    test steps, steps
    jz .Lbegun

    /* Associated data, up to eight blocks at a time. */
.Lad:
    mov power, 128
    cmp steps, power
    cmovb power, steps
    add power, 15
    and power, -16
    add power, power
    neg power
    add power, key                                                              /* H(0) is of the first block */
    pxor xmm1, xmm1
    pxor xmm2, xmm2
    pxor xmm3, xmm3
.Lad_block:
    cmp steps, 16
    jb .Lad_partial
    movdqu a, [mac]
    jmp .Lad_multiply
.Lad_partial:
    mov eax, r14d
    load_partial a, mac, t
    mov steps, 16
.Lad_multiply:
    pshufb a, [consts + REVERSE]
    pxor a, hi
    multiply 1, power + H(0)
    pxor xmm1, lo
    pxor xmm2, mi
    pxor xmm3, hi
    pxor hi, hi
    add mac, 16
    sub steps, 16
    jz .Lad_reduce
    add power, 32
    cmp power, key
    jne .Lad_block
.Lad_reduce:
    movdqa lo, xmm1
    movdqa mi, xmm2
    movdqa hi, xmm3
    reduce_all
    test steps, steps
    jnz .Lad
    jmp .Lbegun

    /* Another part of a packet. */
.Lcontinue:
    mov rax, [args + SEALANE_ARG_STATE]
    movdqu hi, [rax + SEALANE_GCM_STATE_Y]
    pshufb hi, [consts + REVERSE]
    movdqu xmm0, [rax + SEALANE_GCM_STATE_COUNTER]
    mov ebx, [rax + SEALANE_GCM_STATE_COUNTER + 12]
    bswap ebx
    movd xmm7, ebx

.Lbegun:
    mov ebx, [key + SEALANE_GCM_KEY_ROUNDS]
    movdqu rk, [key + SEALANE_GCM_KEY_SCHEDULE]
    pshufd t, rk, 0xff
    pxor xmm0, rk
    movdqa [scratch + J0], xmm0
    movdqa [scratch + WORD3], t
    pshufd xmm7, xmm7, 0
    paddd xmm7, [consts + COUNT]
    movdqa [scratch + COUNTERS], xmm7

    /* Eight blocks at a time. Seal: encryption is a step ahead of authentication. */
    mov steps, left
    and left, 127
    shr steps, 7
    jz .Ltail
    mov mac, src
    test flags, SEALANE_FLAG_OPEN
    jnz .Lloop
    mov mac, dst
    encrypt
    dec steps
    jz .Llast_eight
.Lloop:
    encrypt 1
    sub mac, -128
    dec steps
    jnz .Lloop
    test flags, SEALANE_FLAG_OPEN
    jnz .Ltail
.Llast_eight:
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    multiply_pair \i, 0
    .endr
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    multiply_pair \i, 1
    .endr
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    multiply_pair \i, 2
    .endr
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    multiply_pair \i, 3
    .endr
    reduce_all

    /* What is left: fewer than eight blocks, block by block, and that of the lengths. */
.Ltail:
    cmp left, 64
    ja .Ltail_eight
    stream 4
    jmp .Ltail_stream
.Ltail_eight:
    stream 8
.Ltail_stream:
    movdqa xmm0, hi
    lea power, [left + 15]
    shr power, 4
    mov eax, flags
    and eax, SEALANE_FLAG_LAST
    shr eax, 1
    add power, rax
    jz .Lfinish                                                                 /* no blocks at all */
    shl power, 5
    neg power
    add power, key
    lea mac, [scratch + STREAM]
    pxor lo, lo
    pxor mi, mi
    pxor hi, hi
    mov steps, left
    sub steps, 16
    jb .Ltail_partial
.Ltail_block:
    movdqu a, [src]
    movdqa b, [mac]
    pxor b, a
    movdqu [dst], b
    test flags, SEALANE_FLAG_OPEN
    jnz .Ltail_multiply
    movdqa a, b
.Ltail_multiply:
    pshufb a, [consts + REVERSE]
    pxor a, xmm0
    pxor xmm0, xmm0
    multiply 0, power + H(0)
    add power, 32
    add src, 16
    add dst, 16
    add mac, 16
    sub steps, 16
    jae .Ltail_block
.Ltail_partial:
    add steps, 16
    jz .Ltail_lengths
    mov eax, r14d
    load_partial a, src, t
    movdqa b, a
    pxor b, [mac]
    mov mac, power
    store_partial b, dst
    mov power, mac
    test flags, SEALANE_FLAG_OPEN
    jnz .Ltail_last
    neg rax
    movdqu a, [consts + rax + MASKS + 16]
    pand a, b
.Ltail_last:
    pshufb a, [consts + REVERSE]
    pxor a, xmm0
    pxor xmm0, xmm0
    multiply 0, power + H(0)
.Ltail_lengths:
    test flags, SEALANE_FLAG_LAST
    jz .Ltail_reduce
    movq a, qword ptr [args + SEALANE_ARG_TOTAL]
    movhps a, qword ptr [args + SEALANE_ARG_AD_BYTES]
    psllq a, 3
    pxor a, xmm0
    multiply 0, key + H(1)
.Ltail_reduce:
    reduce_all
.Lfinish:
    mov rax, [args + SEALANE_ARG_STATE]
    movdqa xmm0, [scratch + MASK]
    test flags, SEALANE_FLAG_FIRST
    jnz .Lfinish_mask
    movdqu xmm0, [rax + SEALANE_GCM_STATE_MASK]
.Lfinish_mask:
    test flags, SEALANE_FLAG_LAST
    jz .Lfinish_part
    mov rax, [args + SEALANE_ARG_TAG]
    pshufb hi, [consts + REVERSE]
    pxor hi, xmm0
    movdqu [rax], hi
    jmp .Lwipe
.Lfinish_part:
    pshufb hi, [consts + REVERSE]
    movdqu [rax + SEALANE_GCM_STATE_Y], hi
    movdqu [rax + SEALANE_GCM_STATE_MASK], xmm0
    movdqu xmm0, [key + SEALANE_GCM_KEY_SCHEDULE]
    pxor xmm0, [scratch + J0]
    movdqu [rax + SEALANE_GCM_STATE_COUNTER], xmm0
    mov ebx, [scratch + COUNTERS]                                               /* 4 more than before the tail */
    shr left, 4
    lea ebx, [rbx + left - 4]
    bswap ebx
    mov [rax + SEALANE_GCM_STATE_COUNTER + 12], ebx
.Lwipe:
    pxor xmm0, xmm0
    .irp i, 0, 16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176
    movdqa [scratch + J0 + \i], xmm0
    .endr
    jmp .Ldone

    /* The key schedule (FIPS 197, 5.2) word by word; SubWord is the last round's SubBytes, four times the same word. */
#define words r8     /* of the key */
#define word r9      /* to be made, in bytes from the schedule's begin */
#define phase r10d
#define end r11
#define rcon r13
.Lsetup:
    mov ebx, [key + SEALANE_GCM_KEY_ROUNDS]
    pxor xmm1, xmm1
    lea r8d, [rbx - 6]
    mov end, rbx
    inc end
    shl end, 4
    lea word, [4*words]
    xor phase, phase
    mov rcon, consts
    lea r14, [key + SEALANE_GCM_KEY_SCHEDULE]
    mov rcx, r14
    mov eax, [r14 + word - 4]
    schedule_words words, word, phase, end, rcon, r14, rcx, ebx

    /* H (SP 800-38D, 7.1), its bytes reversed, times x. */
    movdqu xmm0, [r14]
    mov eax, 16
.Lhash_key:
    movdqu rk, [r14 + rax]
    add rax, 16
    cmp rax, end
    je .Lhash_key_last
    aesenc xmm0, rk
    jmp .Lhash_key
.Lhash_key_last:
    aesenclast xmm0, rk
    pshufb xmm0, [consts + REVERSE]
    movdqa xmm1, xmm0
    psrlq xmm1, 63
    pslldq xmm1, 8
    pshufd xmm2, xmm0, 0xff
    psrad xmm2, 31
    pshufd xmm3, [consts + POLY], 0x4e
    pand xmm2, xmm3
    paddq xmm0, xmm0
    por xmm0, xmm1
    pxor xmm0, xmm2

    /* Its powers. */
    pshufd xmm1, xmm0, 0x4e
    pxor xmm1, xmm0
    pxor xmm2, xmm2                                                             /* the lower power's sum */
    movdqa a, xmm0
    lea rax, [key + H(1)]
.Lpowers:
    movdqu [rax], a
    pshufd t, a, 0x4e
    pxor t, a
    movdqa b, t
    punpcklqdq b, xmm2
    movdqu [rax + 16], b
    movdqa xmm2, t
    movdqa lo, xmm0
    pclmulqdq lo, a, 0x00
    movdqa hi, xmm0
    pclmulqdq hi, a, 0x11
    movdqa mi, xmm1
    pclmulqdq mi, t, 0x00
    reduce_all
    movdqa a, hi
    sub rax, 32
    lea rcx, [key + H(9)]
    cmp rax, rcx
    jae .Lpowers

.Ldone:
    endfunction
