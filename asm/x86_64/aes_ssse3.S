/* AES in the modes that do not authenticate (NIST SP 800-38A, IEEE 1619) for x86-64 with SSSE3, without AES-NI.
 *
 * void sealane_aes_ssse3(const args *a, void *scratch, const void *consts)
 *
 * Needs        SSSE3
 * Reads        args; key[512]; state[16]; in[bytes]; lanes and their keys, states and texts
 * Writes       out[bytes]; state[16]; key[512] (SETUP); scratch, wiped again
 * Registers    all but rsp, rbp; stack 0
 * Branches and addresses depend on flags, pointers, lengths and the number of rounds only.
 *
 * Vector permutations (aes_ssse3.h) process two blocks side by side, of a text or one of each of two lanes. A single
 * remaining block is used twice. Decryption is the equivalent inverse cipher (FIPS 197, 5.3.5). All round keys except
 * the first and the last have gone through InvMixColumns, which is MixColumns of y + 4 (y + o(y)).
 */
#include "../asm.S"

    isa .sse2, .ssse3

/* Constants. */
#define PERMUTE 0
#define TIMES_2 464   /* of low nibbles, of high nibbles */
#define TIMES_4 496
#define NEXT_ROW 528
#define REVERSE 544   /* of 16 bytes */
#define SAME 560      /* 16 bytes stay as they are */

/* Scratch. */
#define OTHERS 256    /* terms added to two blocks: tweaks, or the blocks before them; or the counter block, and */
#define ORDER 272     /* a shuffle of its bytes: a leading counter is the last word after a reversal of all bytes */
#define LAST_KEY 288  /* where the last round key is, from the first */
#define SCRATCH_END 304

/* Integer registers. */
#define low rbx       /* the next tweak */
#define high r14
#define key_0 r11
#define key_1 r12
#define operation r13d
#define state r15
/* Integer registers of lanes. */
#define lane_0 r8
#define lane_1 r9
#define at r10        /* bytes done */
#define lanes_left rbx
#define total r14     /* bytes of a lane */

#include "aes_ssse3.h"

    constants sealane_aes_ssse3_constants
    permute_constants
    permute_inverse_constants
    .byte 0x00, 0x02, 0x04, 0x06, 0x08, 0x0a, 0x0c, 0x0e, 0x10, 0x12, 0x14, 0x16, 0x18, 0x1a, 0x1c, 0x1e
    .byte 0x00, 0x20, 0x40, 0x60, 0x80, 0xa0, 0xc0, 0xe0, 0x1b, 0x3b, 0x5b, 0x7b, 0x9b, 0xbb, 0xdb, 0xfb
    .byte 0x00, 0x04, 0x08, 0x0c, 0x10, 0x14, 0x18, 0x1c, 0x20, 0x24, 0x28, 0x2c, 0x30, 0x34, 0x38, 0x3c
    .byte 0x00, 0x40, 0x80, 0xc0, 0x1b, 0x5b, 0x9b, 0xdb, 0x36, 0x76, 0xb6, 0xf6, 0x2d, 0x6d, 0xad, 0xed
    .byte 1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12
    .byte 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
    .byte 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    endconstants

/* xmm0 := InvMixColumns(xmm0). */
.macro inverse_mix_columns
    movdqa xmm5, xmm0
    pshufb xmm0, opposite
    pxor xmm0, xmm5
    map_bytes xmm0, xmm1, xmm2, xmm3, xmm4, key_0, TIMES_4
    pxor xmm5, xmm0                             /* y + 4 (y + o) */
    movdqa xmm0, xmm5
    map_bytes xmm0, xmm1, xmm2, xmm3, xmm4, key_0, TIMES_2
    movdqa xmm1, xmm5
    pshufb xmm1, opposite
    pxor xmm0, xmm1                             /* u */
    pxor xmm5, xmm0                             /* v */
    pshufb xmm5, [consts + NEXT_ROW]
    pxor xmm0, xmm5
.endm

/* high:low := the next block's tweak: the previous one times x in GF(2^128), little-endian (IEEE 1619, 5.2). */
.macro next_tweak
    mov rax, high
    sar rax, 63
    and eax, 0x87
    shld high, low, 1
    add low, low
    xor low, rax
.endm

    scratch_end SCRATCH_END
    function sealane_aes_ssse3

/* ---- Begin ------------------------------------------------------------------------------------------------------- */
    mov operation, [args + SEALANE_MODE_OPERATION]
    mov src, [args + SEALANE_MODE_IN]
    cmp operation, SEALANE_AES_CBC_ENCRYPT
    jae .Llanes_begin
.Ltext_begin:
    mov key_0, [args + SEALANE_MODE_KEY]
    mov ecx, [key_0 + SEALANE_AES_KEY_ROUNDS]
    test operation, operation
    jz .Lsetup
    mov text_left, [args + SEALANE_MODE_BYTES]
    test text_left, text_left
    jz .Ldone
    mov dst, [args + SEALANE_MODE_OUT]
    mov state, [args + SEALANE_MODE_STATE]
    shl ecx, 4
    mov eax, SEALANE_AES_KEY_INVERSE
    test operation, 1
    jz .Lbackwards
    mov eax, SEALANE_AES_KEY_SCHEDULE
.Lbackwards:
    add ecx, eax
    mov [scratch + LAST_KEY], ecx
    mov key_1, key_0
    cmp operation, SEALANE_AES_CTR
    jb .Ltext
    movdqu xmm1, [state]
    jne .Lchain
    movdqa xmm2, [consts + SAME]
    cmp dword ptr [args + SEALANE_MODE_OPERATION], SEALANE_AES_CTR
    je .Lcounter_order
    movdqa xmm2, [consts + REVERSE]
.Lcounter_order:
    movdqa [scratch + ORDER], xmm2
    pshufb xmm1, xmm2
    movdqa [scratch + OTHERS], xmm1
    mov counter, [scratch + OTHERS + 12]
    bswap counter
    jmp .Ltext
.Lchain:
    movdqa [scratch + OTHERS], xmm1             /* CBC */
    mov low, [state]
    mov high, [state + 8]

/* ---- A text, two blocks at a time, or one ------------------------------------------------------------------------ */
.Ltext:
    mov ecx, 32
    cmp text_left, chunk
    cmovb chunk, text_left
    cmp operation, SEALANE_AES_CTR
    je .Lcounters
    movdqu xmm0, [src]
    movdqu xmm5, [src + chunk - 16]
    cmp operation, SEALANE_AES_XTS_ENCRYPT
    jb .Lblocks
    mov [scratch + OTHERS], low
    mov [scratch + OTHERS + 8], high
    cmp chunk, 32
    jne .Ltweaked
    next_tweak
.Ltweaked:
    mov [scratch + OTHERS + 16], low
    mov [scratch + OTHERS + 24], high
    next_tweak
    pxor xmm0, [scratch + OTHERS]
    pxor xmm5, [scratch + OTHERS + 16]
.Lblocks:
    test operation, 1
    jnz .Lencrypt
    all_rounds PERMUTE_BACK, PERMUTE_BACK_OUT, unmix, PERMUTE_UNSHIFT, SEALANE_AES_KEY_INVERSE, [scratch + LAST_KEY]
    cmp operation, SEALANE_AES_CBC_DECRYPT
    je .Lchained
    jb .Lstore
    jmp .Ladd
.Lcounters:
    movdqa xmm0, [scratch + OTHERS]
    pslldq xmm0, 4
    psrldq xmm0, 4
    counter_blocks
    pshufb xmm0, [scratch + ORDER]
    pshufb xmm5, [scratch + ORDER]
    add counter, 2
.Lencrypt:
    all_rounds PERMUTE_IN, PERMUTE_OUT, mix, PERMUTE_SHIFT, SEALANE_AES_KEY_SCHEDULE, [scratch + LAST_KEY]
    cmp operation, SEALANE_AES_CTR
    jb .Lstore
    je .Lxor
    cmp operation, SEALANE_AES_CBC_ENCRYPT
    jae .Llanes_encrypted
.Ladd:
    pxor xmm0, [scratch + OTHERS]
    pxor xmm5, [scratch + OTHERS + 16]
    jmp .Lstore
.Lxor:
    movdqu xmm1, [src]
    movdqu xmm2, [src + chunk - 16]
    pxor xmm0, xmm1
    pxor xmm5, xmm2
    jmp .Lstore
.Lchained:
    movdqu xmm1, [src]
    movdqu xmm2, [src + chunk - 16]
    pxor xmm0, [scratch + OTHERS]
    pxor xmm5, xmm1
    movdqa [scratch + OTHERS], xmm2
.Lstore:
    movdqu [dst], xmm0
    cmp chunk, 32
    jne .Lstored
    movdqu [dst + 16], xmm5
.Lstored:
    add src, chunk
    add dst, chunk
    sub text_left, chunk
    jnz .Ltext

/* ---- What the next call begins with ------------------------------------------------------------------------------ */
    cmp operation, SEALANE_AES_CTR
    jb .Lwipe
    je .Lctr_end
    cmp operation, SEALANE_AES_CBC_DECRYPT
    jne .Lxts_end
    movdqa xmm1, [scratch + OTHERS]
    movdqu [state], xmm1
    jmp .Lwipe
.Lctr_end:
    shr chunk, 4                                /* two counters were taken, or one of the two */
    lea eax, [rbx + rcx - 2]
    cmp dword ptr [args + SEALANE_MODE_OPERATION], SEALANE_AES_CTR
    jne .Lctr_little
    bswap eax
    mov [state + 12], eax
    jmp .Lwipe
.Lctr_little:
    mov [state], eax
    jmp .Lwipe
.Lxts_end:
    mov [state], low
    mov [state + 8], high
.Lwipe:
    pxor xmm0, xmm0
    movdqa [scratch + OTHERS], xmm0
    movdqa [scratch + OTHERS + 16], xmm0
    movdqa [scratch + LAST_KEY], xmm0
    jmp .Ldone

/* ---- Lanes: CBC encryption, and masks, of two keys at a time ----------------------------------------------------- */
.Llanes_begin:
    cmp operation, SEALANE_AES_CTR_LITTLE
    mov eax, SEALANE_AES_CTR
    cmove operation, eax
    je .Ltext_begin
    mov lane_0, [args + SEALANE_MODE_LANES]
    mov lanes_left, [args + SEALANE_MODE_COUNT]
    mov total, [args + SEALANE_MODE_BYTES_EACH]
    cmp operation, SEALANE_AES_MASKS
    jne .Llanes
    mov total, 16
.Llanes:
    lea lane_1, [lane_0 + SEALANE_LANE_STRIDE]
    cmp lanes_left, 1
    cmove lane_1, lane_0                        /* the last is both */
    mov key_0, [lane_0 + SEALANE_MODE_LANE_KEY]
    mov key_1, [lane_1 + SEALANE_MODE_LANE_KEY]
    mov eax, [key_0 + SEALANE_AES_KEY_ROUNDS]
    shl eax, 4
    add eax, SEALANE_AES_KEY_SCHEDULE
    mov [scratch + LAST_KEY], eax
    xor at, at
    pxor xmm0, xmm0
    pxor xmm5, xmm5
    cmp operation, SEALANE_AES_MASKS
    je .Llanes_block
    mov rax, [lane_0 + SEALANE_MODE_LANE_CHAIN]
    mov rcx, [lane_1 + SEALANE_MODE_LANE_CHAIN]
    movdqu xmm0, [rax]
    movdqu xmm5, [rcx]
.Llanes_block:
    mov rax, [lane_0 + SEALANE_MODE_LANE_IN]
    mov rcx, [lane_1 + SEALANE_MODE_LANE_IN]
    movdqu xmm1, [rax + at]
    movdqu xmm2, [rcx + at]
    pxor xmm0, xmm1
    pxor xmm5, xmm2
    jmp .Lencrypt
.Llanes_encrypted:
    mov rax, [lane_0 + SEALANE_MODE_LANE_OUT]
    mov rcx, [lane_1 + SEALANE_MODE_LANE_OUT]
    movdqu [rax + at], xmm0
    movdqu [rcx + at], xmm5
    add at, 16
    cmp at, total
    jb .Llanes_block
    cmp operation, SEALANE_AES_MASKS
    je .Llanes_done
    mov rax, [lane_0 + SEALANE_MODE_LANE_CHAIN]
    mov rcx, [lane_1 + SEALANE_MODE_LANE_CHAIN]
    movdqu [rax], xmm0
    movdqu [rcx], xmm5
.Llanes_done:
    add lane_0, 2*SEALANE_LANE_STRIDE
    sub lanes_left, 2
    ja .Llanes
    jmp .Lwipe

/* ---- Keys -------------------------------------------------------------------------------------------------------- */
.Lsetup:
    mov r14d, ecx
    mov r15, [args + SEALANE_MODE_ENCRYPTS_ONLY]
    expand_words
    test r15, r15
    jnz .Lforward
    mov r9, [args + SEALANE_MODE_KEY]
    add r9, SEALANE_AES_KEY_INVERSE
    mov rax, r11
    movdqu xmm0, [rax]
.Linverse_key:
    pxor xmm0, [consts + PERMUTE_63]
    map_bytes xmm0, xmm1, xmm2, xmm3, xmm4, key_0, PERMUTE_BACK
    movdqu [r9], xmm0
    add r9, 16
    sub rax, 16
    movdqu xmm0, [rax]
    cmp rax, r10
    je .Linverse_last
    inverse_mix_columns
    jmp .Linverse_key
.Linverse_last:
    movdqu [r9], xmm0
.Lforward:
    keys_to_basis
.Ldone:
    endfunction
