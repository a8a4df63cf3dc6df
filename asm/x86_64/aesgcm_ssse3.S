/* AES-GCM (NIST SP 800-38D) for x86-64 with SSSE3, without AES-NI: seals or opens a packet, or a part of one, in one
 * pass; makes keys.
 *
 * void sealane_aesgcm_ssse3(const args *a, void *scratch, const void *consts)
 *
 * Needs        SSSE3
 * Reads        args; key[960]; ad[ad_bytes], J0[16] or nonce[12] (FIRST); H[16] (SETUP, NONCE); state[64] (not FIRST);
 *              in[bytes]
 * Writes       out[bytes]; tag[16] (LAST); state[64] (not LAST); key[960] (SETUP); scratch, wiped again
 * Registers    all but rsp, rbp; stack 0
 * Branches and addresses depend on flags, pointers, lengths and the number of rounds only.
 *
 * AES by vector permutations is in aes_ssse3.h. Two counter blocks are encrypted side by side. The first two are J0,
 * which gives the mask of the tag, and the first block of text, which is made again with the second.
 *
 * GHASH (6.4): byte q of a block y has the coefficients of x^(8 q) to x^(8 q + 7), from its highest bit on. Two
 * tables have byte r of n(x) H and of x^4 n(x) H for the 16 nibbles n, r from 0 to 15. A nibble of byte q of y,
 * looked up there, gives a part of byte q + r of the product. So with W_r the sum of the lookups of all high and all
 * low nibbles,
 *     y H = W_0 + x^8 W_1 + .. + x^120 W_15,    x^128 = 1 + x + x^2 + x^7.
 * Horner's rule moves a byte per table beyond x^127. At the end, tables multiply the collected bytes by x^128.
 *
 * A packet is processed as follows. .Lencrypt makes two blocks of keystream, .Lhash authenticates a text, and the
 * code after each of them depends on the phase.
 */
#include "../asm.S"

    isa .sse2, .ssse3

/* Constants. */
#define FOLD 0        /* nibbles times 1 + x + x^2 + x^7: byte 0 of high ones and of low ones, then byte 1 */
#define BITS 64       /* ones where nibble n has the bit of x^0, then of x^1 .. x^3 */
#define ONE 128       /* 1 in each byte */
#define REVERSE 144   /* of 16 bytes */
#define POLY 160      /* 1 + x + x^2 + x^7, its bytes reversed */
#define PERMUTE 176

/* Integer registers. */
#define mac r11       /* the next bytes to authenticate, */
#define mac_left r12  /* its bytes */
#define phase r13d
#define flags r14d
#define key r15
#define key_0 key
#define key_1 key

#include "aes_ssse3.h"

    constants sealane_aesgcm_ssse3_constants
    .byte 0x00, 0x1c, 0x38, 0x24, 0x70, 0x6c, 0x48, 0x54, 0xe1, 0xfd, 0xd9, 0xc5, 0x91, 0x8d, 0xa9, 0xb5
    .byte 0x00, 0x01, 0x03, 0x02, 0x07, 0x06, 0x04, 0x05, 0x0e, 0x0f, 0x0d, 0x0c, 0x09, 0x08, 0x0a, 0x0b
    .byte 0x00, 0x20, 0x40, 0x60, 0x80, 0xa0, 0xc0, 0xe0, 0x00, 0x20, 0x40, 0x60, 0x80, 0xa0, 0xc0, 0xe0
    .byte 0x00, 0xc2, 0x84, 0x46, 0x08, 0xca, 0x8c, 0x4e, 0x10, 0xd2, 0x94, 0x56, 0x18, 0xda, 0x9c, 0x5e
    .quad 0, -1
    .quad 0xffffffff00000000, 0xffffffff00000000
    .quad 0xffff0000ffff0000, 0xffff0000ffff0000
    .quad 0xff00ff00ff00ff00, 0xff00ff00ff00ff00
    .quad 0x0101010101010101, 0x0101010101010101
    .byte 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
    .quad 0, 0xe100000000000000
    permute_constants
    endconstants

/* Scratch. */
#define COUNTER 256   /* the counter block, 0 in place of the counter */
#define MASK 272      /* the encrypted J0 */
#define Y 288         /* GHASH so far */
#define KEYSTREAM 304    /* two blocks of keystream, for a text that ends in them */
#define TAIL 336      /* bytes to authenticate, padded with zeroes to a block */
#define LAST_KEY 352  /* where the last round key is, from the key */
#define SHIFTED 256   /* while a key is made: H x^0 .. H x^7 */
#define SCRATCH_END 384

/* The purposes of the keystream and of GHASH. */
#define MASKING 0     /* the mask; the associated data */
#define TEXT 1
#define LENGTHS 2
#define KEY 3         /* the hash key */

    scratch_end SCRATCH_END
    function sealane_aesgcm_ssse3

/* ---- Begin ------------------------------------------------------------------------------------------------------- */
    mov flags, [args + SEALANE_ARG_FLAGS]
    mov key, [args + SEALANE_ARG_KEY]
    test flags, SEALANE_FLAG_POLYVAL
    jnz .Lpolyval
    mov eax, [key + SEALANE_GCM_KEY_ROUNDS]
    shl eax, 4
    add eax, SEALANE_GCM_KEY_SCHEDULE
    mov [scratch + LAST_KEY], eax
    test flags, SEALANE_FLAG_SETUP
    jnz .Lsetup
    mov src, [args + SEALANE_ARG_IN]
    mov dst, [args + SEALANE_ARG_OUT]
    mov text_left, [args + SEALANE_ARG_BYTES]
    test flags, SEALANE_FLAG_FIRST
    jz .Lcontinue
    pxor xmm1, xmm1
    mov rax, [args + SEALANE_ARG_NONCE]
    mov counter, 0x01000000
    movq xmm0, qword ptr [rax]
    movd xmm2, dword ptr [rax + 8]
    test flags, SEALANE_FLAG_NONCE
    jnz .Lnonce
    mov counter, [rax + 12]
.Lnonce:
    punpcklqdq xmm0, xmm2
    movdqa [scratch + COUNTER], xmm0
    movdqa [scratch + Y], xmm1
    bswap counter
    mov phase, MASKING
    jmp .Lencrypt
.Lcontinue:
    mov rax, [args + SEALANE_ARG_STATE]
    mov counter, [rax + SEALANE_GCM_STATE_COUNTER + 12]
    movq xmm0, qword ptr [rax + SEALANE_GCM_STATE_COUNTER]
    movd xmm2, dword ptr [rax + SEALANE_GCM_STATE_COUNTER + 8]
    movdqu xmm1, [rax + SEALANE_GCM_STATE_Y]
    movdqu xmm3, [rax + SEALANE_GCM_STATE_MASK]
    punpcklqdq xmm0, xmm2
    movdqa [scratch + COUNTER], xmm0
    movdqa [scratch + Y], xmm1
    movdqa [scratch + MASK], xmm3
    bswap counter
    jmp .Ltext_begin

/* POLYVAL (RFC 8452, section 3) is GHASH of blocks whose bytes are reversed. .Lhash_block reverses them, and the
 * table is made from POLYVAL's hash key times x (appendix A). The text is a single chunk, and nothing is encrypted. */
.Lpolyval:
    test flags, SEALANE_FLAG_SETUP
    jnz .Lpolyval_key
    mov src, [args + SEALANE_ARG_IN]
    mov text_left, [args + SEALANE_ARG_BYTES]
    mov rax, [args + SEALANE_ARG_STATE]
    pxor xmm1, xmm1
    test flags, SEALANE_FLAG_FIRST
    jnz .Lpolyval_first
    movdqu xmm1, [rax + SEALANE_GCM_STATE_Y]
    pshufb xmm1, [consts + REVERSE]
.Lpolyval_first:
    movdqa [scratch + Y], xmm1
    jz .Ltext_begin
    mov phase, MASKING
    jmp .Lhash_ad

/* ---- Text -------------------------------------------------------------------------------------------------------- */
.Ltext_begin:
    mov phase, TEXT
.Ltext:
    test text_left, text_left
    jz .Ltext_end
    mov chunk, text_left
    mov mac, src
    test flags, SEALANE_FLAG_POLYVAL
    jnz .Lhash_chunk
    mov chunk, 32
    cmp chunk, text_left
    cmova chunk, text_left
    test flags, SEALANE_FLAG_OPEN
    jz .Lencrypt
.Lhash_chunk:
    mov mac_left, chunk
    jmp .Lhash
.Ltext_end:
    test flags, SEALANE_FLAG_LAST
    jz .Lstate
    mov phase, LENGTHS
    mov rax, [args + SEALANE_ARG_AD_BYTES]
    mov mac, [args + SEALANE_ARG_TOTAL]
    shl rax, 3
    shl mac, 3
    test flags, SEALANE_FLAG_POLYVAL
    jnz .Llengths
    bswap rax
    bswap mac
.Llengths:
    movq xmm0, rax
    movq xmm1, mac
    punpcklqdq xmm0, xmm1
    xor mac_left, mac_left
    jmp .Lhash_block

/* ---- Two blocks of keystream, from the counter on --------------------------------------------------------------- */
.Lencrypt:
    movdqa xmm0, [scratch + COUNTER]
    counter_blocks
.Lencrypt_blocks:
    all_rounds PERMUTE_IN, PERMUTE_OUT, mix, PERMUTE_SHIFT, SEALANE_GCM_KEY_SCHEDULE, [scratch + LAST_KEY]
    cmp phase, TEXT
    je .Lxor
    ja .Lhash_key
    movdqa [scratch + MASK], xmm0
    inc counter
.Lhash_ad:
    mov mac, [args + SEALANE_ARG_AD]
    mov mac_left, [args + SEALANE_ARG_AD_BYTES]
    jmp .Lhash
.Lxor:
    add counter, 2
    cmp chunk, 32
    jne .Lxor_part
    movdqu xmm1, [src]
    movdqu xmm2, [src + 16]
    pxor xmm0, xmm1
    pxor xmm5, xmm2
    movdqu [dst], xmm0
    movdqu [dst + 16], xmm5
    jmp .Lxored
.Lxor_part:
    movdqa [scratch + KEYSTREAM], xmm0
    movdqa [scratch + KEYSTREAM + 16], xmm5
    xor mac_left, mac_left
.Lxor_byte:
    mov al, [src + mac_left]
    xor al, [scratch + KEYSTREAM + mac_left]
    mov [dst + mac_left], al
    inc mac_left
    cmp mac_left, chunk
    jb .Lxor_byte
.Lxored:
    mov mac, dst
    mov mac_left, chunk
    test flags, SEALANE_FLAG_OPEN
    jz .Lhash
.Lchunk_end:
    add src, chunk
    add dst, chunk
    sub text_left, chunk
    jmp .Ltext

/* ---- GHASH of mac_left bytes at mac, the last block padded with zeroes ------------------------------------------- */
.Lhash:
    sub mac_left, 16
    jb .Lhash_tail
    movdqu xmm0, [mac]
    add mac, 16
.Lhash_block:
    test flags, SEALANE_FLAG_POLYVAL
    jz .Lhash_product
    pshufb xmm0, [consts + REVERSE]
.Lhash_product:
    movdqa nibble, [consts + PERMUTE_NIBBLE]
    pxor xmm0, [scratch + Y]
    nibbles xmm0, xmm1                          /* xmm1: of x^0 .. x^3 */
    pxor xmm2, xmm2                             /* the product, */
    pxor xmm3, xmm3                             /* and the terms beyond x^127 */
    .irp r, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
    movdqu xmm4, [key + SEALANE_GCM_KEY_TABLE + 32*\r]
    movdqu xmm5, [key + SEALANE_GCM_KEY_TABLE + 32*\r + 16]
    pshufb xmm4, xmm1
    pshufb xmm5, xmm0
    .if \r < 15
    palignr xmm3, xmm2, 15
    pslldq xmm2, 1
    .endif
    pxor xmm2, xmm4
    pxor xmm2, xmm5
    .endr
    nibbles xmm3, xmm1
    .irp byte, 0, 1
    movdqa xmm4, [consts + FOLD + 32*\byte]
    movdqa xmm5, [consts + FOLD + 32*\byte + 16]
    pshufb xmm4, xmm1
    pshufb xmm5, xmm3
    pxor xmm4, xmm5
    .if \byte
    pslldq xmm4, 1
    .endif
    pxor xmm2, xmm4
    .endr
    movdqa [scratch + Y], xmm2
    jmp .Lhash
.Lhash_tail:
    add mac_left, 16
    jz .Lhashed
    pxor xmm0, xmm0
    movdqa [scratch + TAIL], xmm0
.Lhash_byte:
    mov al, [mac + mac_left - 1]
    mov [scratch + TAIL + mac_left - 1], al
    dec mac_left
    jnz .Lhash_byte
    movdqa xmm0, [scratch + TAIL]
    jmp .Lhash_block
.Lhashed:
    cmp phase, TEXT
    jb .Ltext_begin
    ja .Ltag
    test flags, SEALANE_FLAG_OPEN
    jnz .Lencrypt
    jmp .Lchunk_end

/* ---- End --------------------------------------------------------------------------------------------------------- */
.Ltag:
    mov rax, [args + SEALANE_ARG_TAG]
    movdqa xmm0, [scratch + Y]
    test flags, SEALANE_FLAG_POLYVAL
    jnz .Lpolyval_end
    pxor xmm0, [scratch + MASK]
    jmp .Lblock_end
.Lpolyval_end:
    pshufb xmm0, [consts + REVERSE]
.Lblock_end:
    movdqu [rax], xmm0
    jmp .Lwipe
.Lstate:
    mov rax, [args + SEALANE_ARG_STATE]                                         /* Y is its first */
    movdqa xmm0, [scratch + Y]
    test flags, SEALANE_FLAG_POLYVAL
    jnz .Lpolyval_end
    movdqa xmm0, [scratch + COUNTER]
    movdqa xmm1, [scratch + Y]
    movdqa xmm2, [scratch + MASK]
    bswap counter
    movdqu [rax + SEALANE_GCM_STATE_COUNTER], xmm0
    movdqu [rax + SEALANE_GCM_STATE_Y], xmm1
    movdqu [rax + SEALANE_GCM_STATE_MASK], xmm2
    mov [rax + SEALANE_GCM_STATE_COUNTER + 12], counter
.Lwipe:
    pxor xmm0, xmm0
    .irp at, 0, 16, 32, 48, 64, 80, 96, 112
    movdqa [scratch + COUNTER + \at], xmm0
    .endr
    jmp .Ldone

/* ---- Keys -------------------------------------------------------------------------------------------------------- */
.Lsetup:
    test flags, SEALANE_FLAG_NONCE
    jz .Lschedule
    mov rax, [args + SEALANE_ARG_NONCE]         /* H is given */
    movdqu xmm0, [rax]
    jmp .Lhash_key
.Lpolyval_key:
    mov rax, [args + SEALANE_ARG_NONCE]
    movdqu xmm0, [rax]                          /* its bytes are reversed */
    lea r10, [scratch + SHIFTED - 16]
    mov ecx, 9
    jmp .Ltimes_x_reversed
.Lschedule:
    mov r14, [key + SEALANE_GCM_KEY_ROUNDS]
    expand_words
    keys_to_basis
    pxor xmm0, xmm0
    pxor xmm5, xmm5
    mov phase, KEY
    jmp .Lencrypt_blocks

/* Multiplies H, in xmm0, by x^0 .. x^7. Since its bytes are reversed, it moves right by one bit. */
.Lhash_key:
    lea r10, [scratch + SHIFTED]
    mov ecx, 8
.Ltimes_x:
    movdqa [r10], xmm0
    pshufb xmm0, [consts + REVERSE]
.Ltimes_x_reversed:
    pshufd xmm1, xmm0, 0                        /* x^127 */
    movdqa xmm2, xmm0
    pslld xmm1, 31
    psrldq xmm2, 8
    psrad xmm1, 31
    psllq xmm2, 63
    pand xmm1, [consts + POLY]
    psrlq xmm0, 1
    pxor xmm1, xmm2
    pxor xmm0, xmm1
    pshufb xmm0, [consts + REVERSE]
    add r10, 16
    dec ecx
    jnz .Ltimes_x

/* Byte r of all nibbles' products is a sum of those of x^0 .. x^3 (and x^4 .. x^7). */
    lea rax, [key + SEALANE_GCM_KEY_TABLE]
    pxor xmm7, xmm7                             /* r */
    mov ecx, 16
.Ltable:
    .irp half, 0, 1
    pxor xmm0, xmm0
    .irp i, 0, 1, 2, 3
    movdqa xmm1, [scratch + SHIFTED + 64*\half + 16*\i]
    pshufb xmm1, xmm7
    pand xmm1, [consts + BITS + 16*\i]
    pxor xmm0, xmm1
    .endr
    movdqu [rax + 16*\half], xmm0
    .endr
    add rax, 32
    paddd xmm7, [consts + ONE]
    dec ecx
    jnz .Ltable
    jmp .Lwipe
.Ldone:
    endfunction
