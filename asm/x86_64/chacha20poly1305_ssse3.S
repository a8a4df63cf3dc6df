/* ChaCha20-Poly1305 with SSSE3: seals or opens one packet, or one part of a long one, in one call.
 *
 *     void sealane_chacha20poly1305_ssse3(const args *a, void *scratch, const void *consts);
 *
 * CPU        x86-64 with SSE2, SSSE3
 * args       all SEALANE_ARG_* (asm/args.h); writes OUT[BYTES] and, by flags, TAG[16] or STATE[64]
 * scratch    0.7 KiB after the saved registers, wiped as far as written; stack 0
 * registers  all but rsp, rbp; rsi holds scratch, displaced by FRAME until the end
 * branches   and addresses depend on pointers, BYTES, AD_BYTES, FLAGS only
 *
 * ChaCha20 (RFC 8439, 2.3): a state of 4x4 words (constants; key; key; counter, nonce), 10 double rounds of
 *     a += b, d = (d ^ a) <<< 16;  c += d, b = (b ^ c) <<< 12;  a += b, d = (d ^ a) <<< 8;  c += d, b = (b ^ c) <<< 7
 * on the 4 columns, then on the 4 diagonals; the keystream block is the result plus the initial state. Block 0 has
 * the Poly1305 key r, s (2.6). Poly1305 is explained in chacha20poly1305_integer.h.
 *
 * A pass makes the keystream of two, three or four blocks. Two and three are made by rows, in which a vector has one
 * row of one block's state. Four are made by columns, in which a vector has one word of each block.
 *     blocks               2                  3                    4
 *     text in a pass       to 128 bytes       to 192               to 256
 *     first pass           to 64              to 128               to 192: block 0 is the first one
 *     label                .Ltwo_blocks       .Lthree_blocks       .Lfour_blocks
 * Beside the rounds of a pass, Poly1305 processes its span. That is the input of this pass when opening, and the
 * output of the previous pass when sealing. The span of a first pass is empty.
 *
 * The path of a packet starts with .Lpass and one of the labels above; in the first pass r and s follow.
 * .Lkey_known processes the associated data, .Lauthenticate the rest of the span, and .Lxor the text.
 * .Lpassed ends at .Lnext, .Lauthenticate or .Lfinal. .Ltag comes last. A part that is not the first
 * begins at .Lresume.
 */
#include "../asm.S"

#if defined(__x86_64__)

isa .sse2 .ssse3

/* Scratch, relative to the displaced rsi; the rest is in chacha20poly1305_integer.h. */
#define SPAN -80            /* the bytes to authenticate in this pass, */
#define SPAN_END -64        /* and where its whole blocks end */
#define COUNT -32           /* double rounds to go */
#define BLOCK_ZERO -16      /* bytes of keystream before KEYSTREAM: 64 in the first pass, then 0 */
#define VECTOR 16
#define MASKS (64-4*8)      /* + 4 left: the bytes of words <<< 8, then 16 */
#define KEY 160             /* a copy, aligned */
#define KEYSTREAM 256          /* keystream of up to 4 blocks; block 0 before it */
#define C_ROW(i) (512+16*(i))
#define END 576

#define CONST_SIGMA 0
#define CONST_ROWS 16       /* counters of the groups: 0, */
#define CONST_ROWS2 32      /* 1, */
#define CONST_ROWS4 48      /* 2 */
#define CONST_COUNT 64      /* 0 to 3 */
#define CONST_SIGMAS 80     /* each word of sigma four times */
#define CONST_ROTATE 112    /* + 4 left: the bytes of words <<< 8, then 16 */
#define CONST_CLAMP 160     /* between these */

#define KERNEL_SSE         /* sse.h is slightly slower with an operand in memory: chacha20_columns.h */
#include "sse.h"
#include "chacha20poly1305_integer.h"
#include "chacha20_columns.h"
#include "chacha20_rows.h"

constants sealane_chacha20poly1305_ssse3_constants
    .ascii "expand 32-byte k"
    .long 0, 0, 0, 0
    .long 1, 0, 0, 0
    .long 2, 0, 0, 0
    .long 0, 1, 2, 3
    .ascii "expaexpaexpaexpa"
    .ascii "nd 3nd 3nd 3nd 3"
    .ascii "2-by2-by2-by2-by"
    .ascii "te kte kte kte k"
    .byte 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14     // words <<< 8
    .quad 0x0ffffffc0fffffff, 0x0ffffffc0ffffffc
    .byte 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13     // <<< 16
endconstants

// ---- Poly1305 of a span ---------------------------------------------------------------------------------------------
.macro poly_multiply h0, h1, h2, m
    mov rax, [rsi+R+8]
    mul \h0                                 // y = h0 r1
    mov Y0, rax
    mov Y1, rdx
    mov rax, [rsi+R]
    mul \h0                                 // x = h0 r0
    mov \h0, rax
    mov X1, rdx
    poly_add_next \h0, \m
    mov rax, [rsi+R]
    mul \h1                                 // y += h1 r0
    add Y0, rax
    adc Y1, rdx
    mov rax, [rsi+R+16]
    mul \h1                                 // h1 s1
    mov \h1, [rsi+R+16]
    imul \h1, \h2                           // x += h2 s1 2^64
    imul \h2, [rsi+R]                       // y += h2 r0 2^64
    add Y1, \h2
    add \h1, X1
    add \h0, rax
    adc \h1, rdx
    poly_fold \h0, \h1, \h2
.endm

// A span of eax bytes, at most 256, at MA: its first block
.macro span_begin none
    mov edi, eax
    and edi, 15
    mov [rsi+TAIL], rdi
    and eax, -16
    lea rdi, [MA+rax]
    mov [rsi+SPAN_END], rdi
    mov [rsi+SPAN], MA
    poly_load
    test eax, eax
    jz .Lspan_begun\@
    poly_add HA0, HA1, HA2, MA
.Lspan_begun\@:
.endm

// multiplies for the previous block, and adds the next one, if there is one
.macro span_step none
    cmp MA, [rsi+SPAN_END]
    je .Lspan_step\@
    poly_multiply HA0, HA1, HA2, MA
.Lspan_step\@:
.endm

// all blocks have been added: the last product, if the span had a block
.macro span_end none
    mov rcx, [rsi+SPAN_END]
    cmp rcx, [rsi+SPAN]
    je .Lspan_ended\@
    poly_multiply HA0, HA1, HA2
.Lspan_ended\@:
    poly_store
.endm

// ---- A pass by rows -------------------------------------------------------------------------------------------------
.macro rows_store a, b, c, d, at
    movdqa [rcx+\at], \a
    movdqa [rcx+\at+16], \b
    movdqa [rcx+\at+32], \c
    movdqa [rcx+\at+48], \d
.endm

// 2 or 3 blocks of keystream beside Poly1305
.macro pass_by_rows blocks
    span_begin
    mov rdx, [rsi+TABLE_AT]
    mov rax, [rsi+KEY_AT]
    mov dword ptr [rsi+COUNT], 10
    rows_begin \blocks
.Lpass_by_rows\@:
    rows_column_round \blocks
    span_step
    rows_diagonal_round \blocks
    span_step
    sub dword ptr [rsi+COUNT], 1
    jnz .Lpass_by_rows\@
    span_end
    mov rdx, [rsi+TABLE_AT]
    mov rax, [rsi+KEY_AT]
    lea rcx, [rsi+KEYSTREAM]
    sub rcx, [rsi+BLOCK_ZERO]
    rows_end \blocks
    rows_store GROUP0, 0
    rows_store GROUP1, 64
  .if \blocks > 2
    rows_store GROUP2, 128
  .endif
    jmp .Lkeystream_made
.endm

// ---- A pass by columns ----------------------------------------------------------------------------------------------
// word i of the row at \from in all of a vector
.macro broadcast_word to, from, i
    pshufd \to, [\from], 0x55*\i
.endm

// 32 bytes of a block, xored with the bytes at in or not
.macro columns_store x, y, at, in, out
  .ifnc \in, nothing
    movdqu A0, [\in+\at]
    movdqu A2, [\in+\at+16]
    pxor \x, A0
    pxor xmm\y, A2
  .endif
    movdqu [\out+\at], \x
    movdqu [\out+\at+16], xmm\y
.endm

scratch_end FRAME + END
function sealane_chacha20poly1305_ssse3

// ---- Begin ----------------------------------------------------------------------------------------------------------
    arguments
    movd xmm0, dword ptr [r9+8]
    movq xmm9, qword ptr [r9]
    punpcklqdq xmm9, xmm0
    pslldq xmm9, 4
    movdqu xmm0, [rax]
    movdqu xmm1, [rax+16]
    lea rax, [rsi+KEY]
    mov [rsi+KEY_AT], rax
    movdqa [rax], xmm0
    movdqa [rax+16], xmm1
    movdqa [rsi+NONCE_ROW], xmm9
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST
    jz .Lresume

// ---- First pass: block 0 and ecx bytes, beside an empty span --------------------------------------------------------
    mov ecx, 192
    cmp rbx, rcx
    jbe 1f
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jnz 2f
    cmp rbx, 256
    ja 1f
    mov ecx, 128                            // in two passes by rows
    jmp 1f
2:  lea rcx, [rbx+63]                       // as many text blocks as leave whole passes of four to the columns
    and ecx, 3*64
1:  cmp rcx, rbx
    cmova rcx, rbx
    mov [rsi+CHUNK], rcx
    mov eax, 64
    mov [rsi+BLOCK_ZERO], rax
    add ecx, eax
    mov MA, rsi
    xor eax, eax
    mov [rsi+H], rax
    mov [rsi+H+8], rax
    mov [rsi+H+16], rax
    jmp .Lpass

// ---- r, s and the first blocks' keystream are known: associated data -----------------------------------------------
.Lkey_known:
    mov dword ptr [rsi+NONCE_ROW], 1
    mov rdi, [rsi+ARGS]
    xor eax, eax
    mov [rsi+BLOCK_ZERO], rax
    poly_associated_data
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jz .Lxor
    mov MA, [rsi+IN]
    mov rax, [rsi+CHUNK]
    span_begin

// ---- Authenticate the rest of the span, its tail too ----------------------------------------------------------------
.Lauthenticate:
    cmp MA, [rsi+SPAN_END]
    je 1f
    poly_multiply HA0, HA1, HA2, MA
    jmp .Lauthenticate
1:  span_end
.Lauthenticate_tail:
    authenticate_tail SPAN_END, r15

// ---- Text and keystream ---------------------------------------------------------------------------------------------
.Lxor:
    xor_vectors
    xor_short

// ---- A pass is over -------------------------------------------------------------------------------------------------
.Lpassed:
    pass_over

// ---- Next pass ------------------------------------------------------------------------------------------------------
.Lnext:
    next_chunk 256
.Lpass:                                     // ecx bytes of keystream, beside Poly1305 over eax at MA
    cmp ecx, 128
    jbe .Ltwo_blocks
    cmp ecx, 192
    jbe .Lthree_blocks

// ---- Four blocks, beside Poly1305 over as many ----------------------------------------------------------------------
.Lfour_blocks:
    pass_by_columns_begin
1:  columns_part1
    columns_part2
    span_step
    columns_part3
    columns_part4
    span_step
    sub dword ptr [rsi+COUNT], 1
    jnz 1b
    span_end
    mov rdx, [rsi+TABLE_AT]
    mov rax, [rsi+KEY_AT]
    lea rcx, [rsi+KEYSTREAM]
    cmp dword ptr [rsi+CHUNK], 256
    jne 1f
    mov rbx, [rsi+IN]
    mov rcx, [rsi+OUT]
    columns_end rbx, rcx
    jmp .Lpassed
1:  lea rcx, [rsi+KEYSTREAM]
    sub rcx, [rsi+BLOCK_ZERO]
    columns_end nothing, rcx

// ---- The keystream is at rcx; r and s are in block 0, if that is part of it -----------------------------------------
.Lkeystream_made:
    lea rdx, [rsi+KEYSTREAM]
    cmp rcx, rdx
    je .Lauthenticate_tail
    poly_key_of_block_0
    jmp .Lkey_known

.Ltwo_blocks:
    pass_by_rows 2

.Lthree_blocks:
    pass_by_rows 3

// ---- A later part of a long packet begins ---------------------------------------------------------------------------
.Lresume:
    mov r8, [rdi+SEALANE_ARG_STATE]
    state_load_h
    movdqu xmm0, [r8+SEALANE_STATE_S]
    movdqa [rsi+S], xmm0
    state_load_r
    mov qword ptr [rsi+CHUNK], 0
    mov qword ptr [rsi+BLOCK_ZERO], 0
    jmp .Lpassed

// ---- Tag, or state for the next part --------------------------------------------------------------------------------
    tag_or_state

// ---- Wipe: all up to the keystream of one text block, or everything ------------------------------------------------
    pxor xmm0, xmm0
    lea rax, [rsi-128]
    test dword ptr [r11+SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST
    jz 1f
    lea rcx, [rsi+KEYSTREAM+64]
    cmp qword ptr [r11+SEALANE_ARG_BYTES], 64
    jbe 2f
1:  lea rcx, [rsi+END]
2:  movdqa [rax], xmm0
    movdqa [rax+16], xmm0
    movdqa [rax+32], xmm0
    movdqa [rax+48], xmm0
    add rax, 64
    cmp rax, rcx
    jb 2b
    sub rsi, FRAME
endfunction

#endif
