/* The code that the AES-GCM kernels of one packet share, for any width of their vectors. Registers have the same
 * names in all. The includer has named key, flags, power, steps and rounds before. If it uses the macros for 128 and
 * 256 bits, it has also named lo, mi, hi and tmp; hi is register 11 there.
 */

/* Integer registers. */
#define args rdi
#define scratch rsi
#define consts rdx
#define src r8
#define dst r9
#define text_left r11 /* bytes of text, or of the tail */

#include "aesgcm_text.h"

/* While a key is set up. */
#define words r8     /* in the key */
#define word r9      /* the next one, in bytes from the beginning of the schedule */
#define end r11      /* of the schedule */

/* ---- The beginning of a call, 128 and 256 bits ---- */

/* Reads the arguments of a call. In a first part, GHASH starts at 0, and rax points to J0 or to the nonce. J0 is also
 * loaded into xmm0. */
.macro call_begin
    mov flags, [args + SEALANE_ARG_FLAGS]
    mov key, [args + SEALANE_ARG_KEY]
    test flag_bits, SEALANE_FLAG_SETUP
    jnz .Lsetup
    mov src, [args + SEALANE_ARG_IN]
    mov dst, [args + SEALANE_ARG_OUT]
    mov text_left, [args + SEALANE_ARG_BYTES]
    test flag_bits, SEALANE_FLAG_POLYVAL
    jnz .Lpolyval
    test flag_bits, SEALANE_FLAG_FIRST
    jz .Lcontinue
    vpxor hi, hi, hi
    mov rax, [args + SEALANE_ARG_NONCE]
    test flag_bits, SEALANE_FLAG_NONCE
    jnz .Lnonce
    vmovdqu xmm0, [rax]
.endm

/* For J0 at rax, \counter := its counter + 1. .Lnonce is for a nonce of 12 bytes, which is loaded into xmm0. */
.macro counter_or_nonce counter
    mov \counter, [rax + 12]
    bswap \counter
    inc \counter
    jmp .Lad_begin
.Lnonce:
    nonce_words
.endm

/* xmm0 := the nonce at rax. It is loaded by words, since separate stores may just have written them. */
.macro nonce_words
    vmovd xmm0, dword ptr [rax]
    vpinsrd xmm0, xmm0, [rax + 4], 1
    vpinsrd xmm0, xmm0, [rax + 8], 2
.endm

/* The beginning of a call that has a separate path up to `most` bytes. That path is for a whole packet, with at
 * most one block of associated data and a nonce of 12 bytes. Longer packets of this kind, and those without text,
 * go to `longer`. */
.macro little_begin longer, most=64
    mov eax, [args + SEALANE_ARG_FLAGS]
    and eax, ~SEALANE_FLAG_OPEN
    cmp eax, SEALANE_FLAG_FIRST + SEALANE_FLAG_LAST + SEALANE_FLAG_NONCE
    jne .Lbegin
    mov text_left, [args + SEALANE_ARG_BYTES]
    lea rax, [text_left - 1]
    cmp rax, \most
    jae \longer
    cmp qword ptr [args + SEALANE_ARG_AD_BYTES], 16
    ja .Lbegin
    mov rax, [args + SEALANE_ARG_NONCE]
    mov key, [args + SEALANE_ARG_KEY]
    nonce_words
.endm

/* ---- GHASH, 128 and 256 bits ---- */

/* hi := lo + 2^64 (mi + lo + hi) + 2^128 hi, reduced (asm/ghash.h), in six steps. The includer defines times_p, which
 * sets tmp := P times the lower half of v. Its second argument is 1 in the first call. */
.macro reduce step
    .if \step == 0
    times_p lo, 1                                                               /* P w */
    .elseif \step == 1
    vpxor mi, mi, lo
    vpxor mi, mi, hi
    vpshufd lo, lo, 0x4e
    .elseif \step == 2
    vpxor mi, mi, lo
    vpxor mi, mi, tmp
    .elseif \step == 3
    times_p mi, 0
    .elseif \step == 4
    vpshufd mi, mi, 0x4e
    vpxor hi, hi, mi
    .else
    vpxor hi, hi, tmp
    .endif
.endm

.macro reduce_all
    .irp i, 0, 1, 2, 3, 4, 5
    reduce \i
    .endr
.endm

/* POLYVAL (RFC 8452, section 3), 128 and 256 bits. It is GHASH of blocks whose bytes are reversed, and the powers in
 * the table are those of its own hash key (appendix A). So the bytes of blocks stay in their order. Text and lengths
 * go through the loop for associated data, too, which returns to .Lpolyval_text. */
.macro polyval
.Lpolyval:
    vpxor hi, hi, hi
    load_shuffle [consts + SAME]
    mov rax, [args + SEALANE_ARG_STATE]
    test flag_bits, SEALANE_FLAG_FIRST
    jnz .Lpolyval_first
    vmovdqu xmm11, [rax + SEALANE_GCM_STATE_Y]
    jmp .Lpolyval_text
.Lpolyval_first:
    mov steps, [args + SEALANE_ARG_AD_BYTES]
    mov mac, [args + SEALANE_ARG_AD]
    test steps, steps
    jnz .Lad
.Lpolyval_text:
    mov steps, text_left
    mov mac, src
    xor text_left, text_left
    test steps, steps
    jnz .Lad
    mov rax, [args + SEALANE_ARG_STATE]                                            /* Y is its first */
    test flag_bits, SEALANE_FLAG_LAST
    jz .Lpolyval_end
    mov rax, [args + SEALANE_ARG_TAG]
    test flag_bits, SEALANE_FLAG_OPEN                                              /* lengths are in it */
    jnz .Lpolyval_end
    or flags, SEALANE_FLAG_OPEN
    vmovq xmm12, qword ptr [args + SEALANE_ARG_AD_BYTES]
    vmovhps xmm12, xmm12, [args + SEALANE_ARG_TOTAL]
    vpsllq xmm12, xmm12, 3
    vmovdqu [rax], xmm12
    mov mac, rax
    lea steps, [text_left + 16]
    jmp .Lad
.Lpolyval_end:
    vmovdqu [rax], xmm11
    jmp .Ldone
.endm

/* ---- AES, 256 and 512 bits ---- */

/* Round `number` of n vectors and, if extra, of the mask. The includer has round_key (rk := that), vector_round i
 * and mask_round. For `hash` it has hash_step: eight steps of GHASH in a round, over the blocks that `hash`
 * names. */
.macro vectors_round n, extra, number, hash=0
    round_key key + SEALANE_GCM_KEY_SCHEDULE + 16*\number
    round_of \n, \extra, \number, \hash
.endm

.macro round_of n, extra, number=0, hash=0
    .irp i, 0, 1, 2, 3, 4, 5, 6, 7
    .if \i < \n
    vector_round \i
    .endif
    .if \hash
    hash_step (8*(\number-1)+\i), \hash
    .endif
    .endr
    .if \extra
    mask_round
    .endif
.endm

/* All rounds except the last (FIPS 197, 5.1). Afterwards rk is the last round key. short: the rounds from 10 on,
 * which keys of 128 bits do not have, take less code and change r13. */
.macro vectors_but_last n, extra, hash=0, short=0
    .irp i, 1, 2, 3, 4, 5, 6, 7, 8, 9
    vectors_round \n, \extra, \i, \hash
    .endr
    .if \short
    mov r13d, rounds
    shl r13d, 4
    mov eax, 16*10
    cmp eax, r13d
    je 9f
8:
    .irp more, 0, 16
    round_key key + rax + SEALANE_GCM_KEY_SCHEDULE + \more
    round_of \n, \extra
    .endr
    add eax, 32
    cmp eax, r13d
    jb 8b
9:
    .else
    cmp rounds, 12
    jb 9f
    vectors_round \n, \extra, 10
    vectors_round \n, \extra, 11
    je 9f
    vectors_round \n, \extra, 12
    vectors_round \n, \extra, 13
9:
    mov eax, rounds
    shl eax, 4
    .endif
    round_key key + rax + SEALANE_GCM_KEY_SCHEDULE
.endm

/* ---- The end of a call, 128 and 256 bits ---- */

/* GHASH, in xmm11, becomes the tag, or goes to the state. The mask and the counter block without its counter also go
 * to the state. If the mask is still in a register, the counter block is left out. */
.macro finish mask
    mov rax, [args + SEALANE_ARG_STATE]
    .ifb \mask
    vmovdqa xmm0, [scratch + MASK]
    .else
    vmovdqa xmm0, \mask
    .endif
    test flag_bits, SEALANE_FLAG_FIRST
    jnz .Lfinish_mask
    vmovdqu xmm0, [rax + SEALANE_GCM_STATE_MASK]
.Lfinish_mask:
    test flag_bits, SEALANE_FLAG_LAST
    jz .Lfinish_part
    mov rax, [args + SEALANE_ARG_TAG]
    vpshufb xmm11, xmm11, [consts + REVERSE]
    vpxor xmm11, xmm11, xmm0
    vmovdqu [rax], xmm11
    jmp .Lwipe
.Lfinish_part:
    vpshufb xmm11, xmm11, [consts + REVERSE]
    vmovdqu [rax + SEALANE_GCM_STATE_Y], xmm11
    vmovdqu [rax + SEALANE_GCM_STATE_MASK], xmm0
    .ifb \mask
    vmovdqu xmm0, [key + SEALANE_GCM_KEY_SCHEDULE]
    vpxor xmm0, xmm0, [scratch + J0]
    vmovdqu [rax + SEALANE_GCM_STATE_COUNTER], xmm0
    .endif
.endm

/* ---- Keys ---- */

/* The key schedule (FIPS 197, 5.2), word by word. SubWord is SubBytes in a last round of four copies of the word. */
.macro setup_begin rcon, schedule, most
.Lsetup:
    test flags, SEALANE_FLAG_NONCE
    jz .Lschedule
    mov rax, [args + SEALANE_ARG_NONCE]                                            /* H is given */
    vmovq xmm0, qword ptr [rax]                                                    /* as it was just written */
    vmovhps xmm0, xmm0, [rax + 8]
    test flags, SEALANE_FLAG_POLYVAL
    jz .Lgiven_hash_key
    mov eax, \most                                                                 /* bytes that powers are for */
    cmp rax, [args + SEALANE_ARG_BYTES]
    cmova rax, [args + SEALANE_ARG_BYTES]
    jmp .Lpolyval_key
.Lschedule:
    mov ebx, [key + SEALANE_GCM_KEY_ROUNDS]
    vpxor xmm1, xmm1, xmm1
    lea r8d, [rbx - 6]
    mov end, rbx
    inc end
    shl end, 4
    lea word, [4*words]
    xor phase, phase
    mov \rcon, consts
    lea \schedule, [key + SEALANE_GCM_KEY_SCHEDULE]
.endm

/* xmm0 := H (SP 800-38D, 7.1), its bytes reversed; the schedule at r14. 128 and 256 bits. */
.macro hash_key_block
    vmovdqu xmm0, [r14]
    mov eax, 16
.Lhash_key:
    vmovdqu xmm8, [r14 + rax]
    add rax, 16
    cmp rax, end
    je .Lhash_key_last
    vaesenc xmm0, xmm0, xmm8
    jmp .Lhash_key
.Lhash_key_last:
    vaesenclast xmm0, xmm0, xmm8
.Lgiven_hash_key:
    vpshufb xmm0, xmm0, [consts + REVERSE]
.endm

/* xmm0 := xmm0 times x (asm/ghash.h); xmm1: the highest bit of each half, in bit 0. 128 and 256 bits. */
.macro hash_key_times_x
    vpslldq xmm1, xmm1, 8
    vpshufd xmm2, xmm0, 0xff
    vpsrad xmm2, xmm2, 31
    vpshufd xmm3, [consts + POLY], 0x4e
    vpand xmm2, xmm2, xmm3
    vpaddq xmm0, xmm0, xmm0
    vpor xmm0, xmm0, xmm1
    vpxor xmm0, xmm0, xmm2
.endm

/* Another part of a packet: Y, bytes reversed, to acc; the counter block to xmm0, and its counter. 128 and 256 bits. */
.macro continue_part acc, counter
    mov rax, [args + SEALANE_ARG_STATE]
    vmovdqu \acc, [rax + SEALANE_GCM_STATE_Y]
    vpshufb \acc, \acc, [consts + REVERSE]
    vmovdqu xmm0, [rax + SEALANE_GCM_STATE_COUNTER]
    mov \counter, [rax + SEALANE_GCM_STATE_COUNTER + 12]
    bswap \counter
.endm
