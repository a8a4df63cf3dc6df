/* ChaCha20-Poly1305 with vectors of 256 bits, for CPUs where an operation on one takes a cycle. Levels avx2 and
 * avx512vl share this text. They differ in how a word rotates (KERNEL_VPROLD).
 *
 *     void KERNEL_NAME(const args *a, void *scratch, const void *consts);
 *
 * args       all SEALANE_ARG_* (asm/args.h); writes OUT[BYTES] and, by flags, TAG[16] or STATE[64]
 * scratch    at most 1.1 KiB after the saved registers, wiped as far as written; stack 0
 * consts     KERNEL_CONSTANTS
 * registers  all but rsp, rbp; rsi holds scratch, displaced by FRAME until the end; vectors are zeroed
 * branches   and addresses depend on pointers, BYTES, AD_BYTES, FLAGS only
 *
 * ChaCha20 (RFC 8439, 2.3): a state of 4x4 words (constants; key; key; counter, nonce), 10 double rounds of
 *     a += b, d = (d ^ a) <<< 16;  c += d, b = (b ^ c) <<< 12;  a += b, d = (d ^ a) <<< 8;  c += d, b = (b ^ c) <<< 7
 * on the 4 columns, then on the 4 diagonals; the keystream block is the result plus the initial state. Block 0 has
 * the Poly1305 key r, s (2.6). Poly1305 is explained in chacha20poly1305_integer.h.
 * Two chains can share a long span of blocks, as each step of Poly1305 waits for the previous one. A has all blocks
 * except the last l, B those. If A has added its last block, but not yet multiplied it, the sum of both is hA r^(l+1)
 * + hB. The powers cost some 90 cycles that nothing hides. A packet uses them where they save more, and otherwise
 * chain A alone.
 *
 * A pass makes the keystream of two, four, six or eight blocks. Up to six are made by rows, in which a vector has one
 * row of two blocks' states. Eight are made by columns, in which a vector has one word of each block.
 *     blocks               2                4                6                8
 *     first pass           to 64 bytes      to 192           to 320           to 448: block 0 is the first one
 *     label                .Lfirst_2        .Lfirst_4        .Lfirst_6        .Lfirst_8
 *     later pass           to 128           to 256           to 384           to 512
 *     label                .Llater_2        .Llater_4        .Llater_6        .Llater_8
 * In .Lfirst_4 and .Lfirst_6 two blocks, block 0 among them, are made ahead of the others, which end beside Poly1305.
 * A longer packet's first pass takes 448 bytes when sealing. When opening, it takes as many blocks as leave whole
 * passes of 8. Beside the rounds of a later pass, Poly1305 processes its span. That is the input of this pass when
 * opening, and the output of the previous pass when sealing. When a long packet is opened, the first pass leaves its
 * keystream in KEYSTREAM. Its text is authenticated beside the next two passes, and then decrypted (.Lbehind).
 *
 * The path of a packet starts with one of .Lfirst_*, and with .Lpowers if two chains are used. .Lkey_known processes
 * the associated data, .Lrounds_1 or .Lrounds_2 the rest of the first pass, .Lauthenticate the rest of the span, and
 * .Lxor the text. .Lpassed ends at .Lnext, .Lauthenticate or .Lfinal. .Ltag comes last. Later passes begin at
 * .Lnext, a part that is not the first at .Lresume.
 */
/* Scratch, relative to the displaced rsi; the rest is in chacha20poly1305_integer.h. */
#define SPAN -80            /* the bytes to authenticate in this pass */
#define A_END -64           /* where chain A ends, */
#define B_END -56           /* and chain B, which ends with the whole blocks of the span */
#define POWER_AT -40        /* r^(l+1), or 0 where chain B is empty */
#define COUNT -32           /* double rounds to go, */
#define SECOND_ENDS -31     /* and in its second byte whether the second of two groups ends before the first */
#define LAGGING -28         /* groups of the first pass that have rounds to go */
#define WAITING -16         /* bytes of text before IN that the keystream in KEYSTREAM waits for, */
#define UNAUTHENTICATED -12 /* and how many of them are not authenticated yet */
#define POWERS_KNOWN -8     /* how many, or 0: then there is no chain B */
#define VECTOR 32
#define MASKS (64-4*8)      /* + 4 left: the bytes of words <<< 8, then 16 */
#define POWERS 160          /* r^2, r^4, r^8, r^16, three words each */
#define KEYSTREAM 320          /* keystream of up to 8 blocks; block 0 before it */
#define C_ROW(i) (832+32*(i))
#define END 960

#define CONST_SIGMA 0
#define CONST_CLAMP 16
#define CONST_ROWS 32       /* counters of the groups: 0, 1 in word 0 of the halves, */
#define CONST_ROWS2 64      /* 2, 3, */
#define CONST_ROWS4 96      /* 4, 5 */
#define CONST_COUNT 128     /* 0 to 7 */
#define CONST_SIGMAS 160    /* each word of sigma eight times */
#define CONST_ROTATE 256    /* + 4 left: the bytes of words <<< 8, then 16 */

#include "chacha20poly1305_integer.h"
#include "chacha20_columns.h"
#include "chacha20_rows.h"

constants KERNEL_CONSTANTS
    .ascii "expand 32-byte k"
    .quad 0x0ffffffc0fffffff, 0x0ffffffc0ffffffc
    .long 0, 0, 0, 0, 1, 0, 0, 0
    .long 2, 0, 0, 0, 3, 0, 0, 0
    .long 4, 0, 0, 0, 5, 0, 0, 0
    .long 0, 1, 2, 3, 4, 5, 6, 7
    .ascii "expaexpaexpaexpaexpaexpaexpaexpa"
    .ascii "nd 3nd 3nd 3nd 3nd 3nd 3nd 3nd 3"
    .ascii "2-by2-by2-by2-by2-by2-by2-by2-by"
    .ascii "te kte kte kte kte kte kte kte k"
#if !defined(KERNEL_VPROLD)
    .byte 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14     // words <<< 8
    .byte 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14
    .byte 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13     // <<< 16
    .byte 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13
#endif
endconstants

// ---- ChaCha20 by rows -----------------------------------------------------------------------------------------------
// stores the odd block of a group, then the even one, in KEYSTREAM
.macro rows_odd_block a, b, c, d, at
    vperm2i128 U0, \a, \b, 0x31
    vperm2i128 U1, \c, \d, 0x31
    vmovdqa [rsi+KEYSTREAM+\at], U0
    vmovdqa [rsi+KEYSTREAM+\at+32], U1
.endm

.macro rows_even_block a, b, c, d, at
    vinserti128 U0, \a, \b, 1
    vinserti128 U1, \c, \d, 1
    vmovdqa [rsi+KEYSTREAM+\at], U0
    vmovdqa [rsi+KEYSTREAM+\at+32], U1
.endm

.macro rows_later_groups groups, at
  .if \groups > 1
    rows_even_block ymm1, xmm4, ymm7, xmm10, \at
    rows_odd_block ymm1, ymm4, ymm7, ymm10, \at+64
  .endif
  .if \groups > 2
    rows_even_block ymm2, xmm5, ymm8, xmm11, \at+128
    rows_odd_block ymm2, ymm5, ymm8, ymm11, \at+192
  .endif
.endm

// ---- ChaCha20 by columns --------------------------------------------------------------------------------------------
// word i of the row at \from in all of a vector
.macro broadcast_word to, from, i
    vpbroadcastd \to, [\from+4*\i]
.endm

// 32 bytes of blocks i and i + 4, XORed with the bytes at `in` if that is given
.macro columns_store x, y, at, in, out
    vinserti128 A0, \x, xmm\y, 1
    vperm2i128 A2, \x, ymm\y, 0x31
  .ifnc \in, nothing
    vpxor A0, A0, [\in+\at]
    vpxor A2, A2, [\in+\at+256]
  .endif
    vmovdqu [\out+\at], A0
    vmovdqu [\out+\at+256], A2
.endm

// ---- Poly1305 -------------------------------------------------------------------------------------------------------
#define HB0 r12             /* chain B */
#define HB1 r13
#define HB2 r14
#define MB r15
#define P0 rax              /* a product of five words */
#define P1 rcx
#define P2 rbx
#define P3 rdi
#define P4 r11

.macro poly_multiply h0, h1, h2, m
    mov rdx, \h0
    mulx Y1, Y0, [rsi+R+8]                  // y = h0 r1
    mulx X1, \h0, [rsi+R]                   // x = h0 r0
    poly_add_next \h0, \m
    mov rdx, \h1
    mulx X0, \h1, [rsi+R]                   // y += h1 r0
    add Y0, \h1
    adc Y1, X0
    mulx \h1, X0, [rsi+R+16]                // x += h1 s1
    mov rdx, \h2
    imul \h2, [rsi+R]                       // y += h2 r0 2^64
    imul rdx, [rsi+R+16]                    // x += h2 s1 2^64
    add Y1, \h2
    add X1, rdx
    add \h0, X0
    adc \h1, X1
    poly_fold \h0, \h1, \h2
.endm

// hA = (p0, p1, p2, p3, p4) mod 2^130 - 5, a little above 2^130 at most
.macro poly_reduce
    mov HA0, P2
    mov r10d, ebx
    mov rdx, P3
    mov HA1, P4
    and HA0, -4
    and r10d, 3
    shl rdx, 62
    shl HA1, 62
    shr P2, 2
    or P2, rdx
    add P0, HA0                             // + 4 floor(p / 2^130)
    adc P1, P3
    adc HA2, P4
    shr P3, 2
    shr P4, 2
    or P3, HA1
    add P0, P2                              // + floor(p / 2^130)
    adc P1, P3
    adc HA2, P4
    mov HA0, HA2
    and r10d, 3
    shr HA0, 2
    lea HA0, [HA0+4*HA0]
    add HA0, P0
    adc P1, 0
    adc HA2, 0
    mov HA1, P1
.endm

// hA *= the three words at [\at], all of them; changes MA
.macro poly_multiply_long at
    mov rdx, HA0
    xor r11d, r11d
    mulx P1, P0, [\at]
    mulx P2, P3, [\at+8]
    add P1, P3
    adc P2, 0
    mulx P3, rdx, [\at+16]
    add P2, rdx
    adc P3, 0
    mov rdx, HA1
    mulx HA1, HA0, [\at]
    add P1, HA0
    adc P2, HA1
    mulx HA1, HA0, [\at+16]
    adc P3, HA0
    adc P4, HA1
    mulx HA1, HA0, [\at+8]
    add P2, HA0
    adc P3, HA1
    adc P4, 0
    mov rdx, HA2
    mulx HA1, HA0, [\at]
    add P2, HA0
    adc P3, HA1
    adc P4, 0
    mulx HA1, HA0, [\at+8]
    add P3, HA0
    adc P4, HA1
    imul rdx, [\at+16]
    add P4, rdx
    poly_reduce
.endm

// hA = hA^2; keeps MB
.macro poly_square
    mov rdx, HA0
    mulx P1, P0, HA0                        // p0, p1 = h0^2
    mulx r13, r12, HA1
    mov rdx, HA1
    mulx P3, P2, HA1                        // p2, p3 = h1^2
    xor r11d, r11d
    add r12, r12
    adc r13, r13
    adc P3, 0                               // + 2 h0 h1 2^64
    add P1, r12
    adc P2, r13
    lea rdx, [HA2+HA2]
    mulx r13, r12, HA0                      // + 2 h0 h2 2^128
    adc P3, 0
    add P2, r12
    adc P3, r13
    mulx r13, r12, HA1                      // + 2 h1 h2 2^192
    adc P4, r13
    imul HA2, HA2                           // + h2^2 2^256
    add P3, r12
    adc P4, HA2
    poly_reduce
.endm

// the first ecx of r^2, r^4, r^8, r^16
.macro poly_powers none
    imul ecx, ecx, 24
    lea r14, [rsi+POWERS]
    lea r15, [rsi+POWERS+rcx]
    mov HA0, [rsi+R]
    mov HA1, [rsi+R+8]
    xor r10d, r10d
.Lpoly_powers\@:
    poly_square
    mov [r14], HA0
    mov [r14+8], HA1
    mov [r14+16], HA2
    add r14, 24
    cmp r14, r15
    jne .Lpoly_powers\@
.endm

// ---- Poly1305 of a span ---------------------------------------------------------------------------------------------
// two chains where that pays
#define TWO_CHAINS 14       /* blocks: B has 7 of them, */
#define TWO_LONG_CHAINS 24  /* or 15 */
.macro span_choose none
    xor ecx, ecx
    xor edx, edx
    cmp eax, 16*TWO_CHAINS
    jb .Lspan_choose\@
    cmp [rsi+POWERS_KNOWN], rdx
    je .Lspan_choose\@
    mov ecx, 7
    lea rdx, [rsi+POWERS+2*24]
    cmp eax, 16*TWO_LONG_CHAINS
    jb .Lspan_choose\@
    mov ecx, 15
    lea rdx, [rsi+POWERS+3*24]
.Lspan_choose\@:
.endm

// A span of eax bytes at MA: its first blocks
.macro span_begin none
    span_choose
    mov edi, eax
    and edi, 15
    mov [rsi+TAIL], rdi
    and eax, -16
    shl ecx, 4
    lea MB, [MA+rax]
    mov [rsi+POWER_AT], rdx
    mov [rsi+B_END], MB
    sub MB, rcx
    mov [rsi+A_END], MB
    mov [rsi+SPAN], MA
    poly_load
    xor r12d, r12d
    xor r13d, r13d
    xor r14d, r14d
    test ecx, ecx
    jz .Lspan_begin_a\@
    poly_add HB0, HB1, HB2, MB
.Lspan_begin_a\@:
    test eax, eax
    jz .Lspan_begun\@
    poly_add HA0, HA1, HA2, MA
.Lspan_begun\@:
.endm

// the next block of chain A or of chain B, if there is one; without one, span_step_b goes to \otherwise if that is
// given
.macro span_step_a none
    cmp MA, [rsi+A_END]
    je .Lspan_step_a\@
    poly_multiply HA0, HA1, HA2, MA
.Lspan_step_a\@:
.endm

.macro span_step_b otherwise
    cmp MB, [rsi+B_END]
  .ifb \otherwise
    je .Lspan_step_b\@
  .else
    je \otherwise
  .endif
    poly_multiply HB0, HB1, HB2, MB
.Lspan_step_b\@:
.endm

// h, after the chains have processed all their blocks
.macro span_end none
    mov rcx, [rsi+A_END]
    cmp rcx, [rsi+SPAN]
    je .Lspan_ended\@
    cmp qword ptr [rsi+POWER_AT], 0
    je .Lspan_one_chain\@
    poly_multiply HB0, HB1, HB2
    mov MB, [rsi+POWER_AT]
    poly_multiply_long MB                   // hA r^(l+1) + hB
    add HA0, HB0
    adc HA1, HB1
    adc HA2, HB2
    jmp .Lspan_ended\@
.Lspan_one_chain\@:
    poly_multiply HA0, HA1, HA2
.Lspan_ended\@:
    poly_store
.endm

// ---- Passes by rows -------------------------------------------------------------------------------------------------

// The initial rows are added to a group that ends before the others. rdx points to the constants, rax to the key.
.macro rows_end_early a, b, c, d, nonce, counters:vararg
    vbroadcasti128 U0, [rdx+CONST_SIGMA]
    vbroadcasti128 U1, [rax]
    vpaddd \a, \a, U0
    vpaddd \b, \b, U1
    vbroadcasti128 U0, [rax+16]
    vbroadcasti128 U1, [rsi+\nonce]
    vpaddd \c, \c, U0
    vpaddd \d, \d, U1
    vpaddd \d, \d, [rdx+\counters]
.endm

// a block of text, with its keystream in U0 and U1
.macro xor_block from, to
    vpxor U0, U0, [\from]
    vpxor U1, U1, [\from+32]
    vmovdqu [\to], U0
    vmovdqu [\to+32], U1
.endm

// the first bytes of this pass's text have been sealed; rax is their number
.macro text_done bytes
    mov eax, \bytes
    add [rsi+IN], rax
    add [rsi+OUT], rax
    sub [rsi+CHUNK], rax
    sub [rsi+LEFT], rax
.endm

// r and s, of block 0 in the lower halves of rows a and b
.macro rows_key a, b
    vpand U0, \a, [rdx+CONST_CLAMP]
    vmovdqa [rsi+S], \b
    vmovq rax, xmm12
    vpextrq rcx, xmm12, 1
    poly_key
.endm

// A first pass of one group: block 0 and a text block.
.macro first_pass_of_one_group none
    rows_begin 1
    mov ecx, 10
.Lfirst_pass_of_one_group\@:
    rows_column_round 1
    rows_diagonal_round 1
    sub ecx, 1
    jnz .Lfirst_pass_of_one_group\@
    rows_end 1
    rows_key ymm0, ymm3
    rows_odd_block GROUP0, 0
    mov dword ptr [rsi+NONCE_ROW], 1
    mov dword ptr [rsi+LAGGING], 0
.endm

// If there are two or three groups, the last one begins first, so that r is known before the others end. The others
// end beside Poly1305, at .Lrounds_*. The last group has block 0 and one text block: the first when sealing, the last
// when opening. In KEYSTREAM this text block follows the blocks of the others. If three groups seal, the second
// begins before the first.
#define AHEAD_SEALING(groups) (4-(groups)) /* double rounds that the last group makes alone, */
#define AHEAD_OPENING 3
#define AHEAD_BOTH 3        /* and that it makes beside the second one */
.macro first_pass_by_rows groups, a, b, c, d
    mov ecx, 16*2                           // 16 times the number of the first block of the other groups,
    mov r8d, 16*1                           // and of the text block of this one
    mov r9d, AHEAD_SEALING(\groups)
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jz .Lfirst_pass_sealed\@
    mov ecx, 16*1
    mov r8d, 16*(2*\groups-1)
    mov r9d, AHEAD_OPENING
.Lfirst_pass_sealed\@:
    vpaddd xmm13, xmm9, [rdx+rcx+CONST_ROWS]
    vmovdqa xmm12, xmm9
    vmovdqa [rsi+S], xmm9                   // row d of block 0, until s is known
    vmovdqa [rsi+NONCE_ROW], xmm13
    mov [rsi+COUNT], r9d
    rows_begin \groups
    vpxor xmm13, xmm13, xmm13
    vinserti128 ymm13, ymm13, [rdx+r8+CONST_ROWS], 1
    vinserti128 \d, ymm12, xmm12, 1
    vpaddd \d, \d, ymm13
    mov ecx, 10
    sub ecx, r9d
.Lfirst_pass_ahead\@:
    rows_column_round 1, \groups-1
    rows_diagonal_round 1, \groups-1
    sub r9d, 1
    jnz .Lfirst_pass_ahead\@
  .if \groups > 2
    cmp r8d, 16*1
    jne .Lfirst_pass_all\@
    vmovdqa ymm12, ymm9                     // the second group makes the blocks before those of the first
    vmovdqa ymm9, ymm10
    vmovdqa ymm10, ymm12
    mov byte ptr [rsi+SECOND_ENDS], 1
    mov r9d, AHEAD_BOTH
    sub ecx, r9d
.Lfirst_pass_ahead_both\@:
    rows_column_round 2, 1
    rows_diagonal_round 2, 1
    sub r9d, 1
    jnz .Lfirst_pass_ahead_both\@
  .endif
.Lfirst_pass_all\@:
    rows_column_round \groups
    rows_diagonal_round \groups
    sub ecx, 1
    jnz .Lfirst_pass_all\@
    rows_end_early \a, \b, \c, \d, S, r8+CONST_ROWS-16
    rows_key \a, \b
    rows_odd_block \a, \b, \c, \d, 128*(\groups-1)
    mov dword ptr [rsi+LAGGING], \groups-1
.endm

// A later pass beside Poly1305. Without chain B, chain A takes its steps.
.macro later_pass_by_rows groups
    span_begin
    mov rdx, [rsi+TABLE_AT]
    mov rax, [rsi+KEY_AT]
    mov dword ptr [rsi+COUNT], 10
    rows_begin \groups
.Lrounds_\groups:
    rows_column_round \groups
    span_step_b
    span_step_a
    rows_diagonal_round \groups
  .if \groups < 3
    span_step_b .Lno_chain_b\@
.Lno_chain_b_done\@:
  .else                                     // 3 groups have two chains whenever the span is long
    span_step_b
  .endif
    span_step_a
    sub byte ptr [rsi+COUNT], 1
    jnz .Lrounds_\groups
    mov rdx, [rsi+TABLE_AT]
    mov rax, [rsi+KEY_AT]
  .if \groups == 2
    cmp byte ptr [rsi+SECOND_ENDS], 0
    jne .Lsecond_group
  .endif
    rows_end \groups
    rows_even_block ymm0, xmm3, ymm6, xmm9, 0
    rows_odd_block GROUP0, 64
    rows_later_groups \groups, 128
    jmp .Lauthenticate
  .if \groups < 3
.Lno_chain_b\@:
    span_step_a
    jmp .Lno_chain_b_done\@
  .endif
.endm

scratch_end FRAME + END
function KERNEL_NAME

// ---- Begin ----------------------------------------------------------------------------------------------------------
    arguments
    vmovd xmm9, [r9]                        // by words: a load of bytes just written by two stores waits for both
    vpinsrd xmm9, xmm9, [r9+4], 1
    vpinsrd xmm9, xmm9, [r9+8], 2
    vpslldq xmm9, xmm9, 4
    vmovdqa [rsi+NONCE_ROW], xmm9
    mov qword ptr [rsi+WAITING], 0          // and UNAUTHENTICATED
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST
    jz .Lresume

// ---- Which first pass -----------------------------------------------------------------------------------------------
    mov [rsi+CHUNK], rbx
    cmp rbx, 64
    jbe .Lfirst_2
    cmp rbx, 192
    jbe .Lfirst_4
    cmp rbx, 320
    jbe .Lfirst_6
    mov ecx, 448
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jz 1f
    lea rcx, [rbx+63]                       // as many text blocks as leave whole passes of eight to the columns
    and ecx, 7*64
1:  cmp rcx, rbx
    cmova rcx, rbx
    mov [rsi+CHUNK], rcx
    test ecx, ecx
    jz .Lfirst_2
    cmp ecx, 64
    jbe .Lfirst_2
    cmp ecx, 192
    jbe .Lfirst_4
    cmp ecx, 320
    jbe .Lfirst_6
    jmp .Lfirst_8

.Lfirst_2:
    first_pass_of_one_group
    cmp qword ptr [rsi+LEFT], 64
    ja .Lpowers
    jmp .Lkey_known

.Lfirst_4:
    first_pass_by_rows 2, GROUP1
    cmp qword ptr [rsi+LEFT], 192
    ja .Lpowers
    jmp .Lkey_known

.Lfirst_6:
    first_pass_by_rows 3, GROUP2
    jmp .Lpowers

.Lfirst_8:
    mov rdi, rax
    columns_begin
    mov ecx, 10
1:  columns_part1
    columns_part2
    columns_part3
    columns_part4
    sub ecx, 1
    jnz 1b
    columns_rounds_end
    mov rdx, [rsi+TABLE_AT]
    mov rax, [rsi+KEY_AT]
    lea rcx, [rsi+KEYSTREAM-64]             // block 0 before it
    jmp .Lkeystream_8

// ---- The powers of r, if two chains are used ------------------------------------------------------------------------
// They save time in long packets, and where no rounds hide the Poly1305 of some hundred bytes. Such packets have 385 to
// 448 bytes, are sealed with 257 bytes or more in the last pass, or opened with 321 or more in the first one.
#define LONG_SEALED 961
#define LONG_OPENED 1152
#define TWO_CHAINS_FROM 385
.Lpowers:
    mov rax, [rsi+LEFT]
    xor ecx, ecx
    mov [rsi+POWERS_KNOWN], rcx
    cmp rax, TWO_CHAINS_FROM
    jb .Lkey_known
    mov rdi, [rsi+ARGS]
    mov edx, LONG_SEALED
    mov ebx, 256
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jz 1f
    mov edx, LONG_OPENED
    mov ebx, 256+128
1:  cmp rax, rdx
    jae 1f
    lea edx, [rax+63]                       // modulo 512: the bytes opened first, or fewer than those sealed last
    and edx, ebx
    cmp edx, ebx
    jne .Lkey_known
1:  mov ecx, 4
    mov [rsi+POWERS_KNOWN], rcx
    poly_powers

// ---- r, s and the first blocks' keystream are known: associated data -----------------------------------------------
.Lkey_known:
    mov rdi, [rsi+ARGS]
    xor eax, eax
    mov [rsi+H], rax
    mov [rsi+H+8], rax
    mov [rsi+H+16], rax
    poly_associated_data
    mov ecx, [rsi+LAGGING]
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jz 2f
    mov MA, [rsi+IN]
    mov rax, [rsi+CHUNK]
    cmp qword ptr [rsi+LEFT], LONG_OPENED
    jb 3f
    mov [rsi+WAITING], eax                  // the next pass authenticates it too
    mov [rsi+UNAUTHENTICATED], eax
    xor eax, eax
    jmp 3f
2:  test ecx, ecx
    jz .Lxor
    shl ecx, 7                              // the first text block, which follows those of the other groups
    mov rax, [rsi+IN]
    mov MA, [rsi+OUT]
    vmovdqa U0, [rsi+rcx+KEYSTREAM]
    vmovdqa U1, [rsi+rcx+KEYSTREAM+32]
    xor_block rax, MA
    text_done 64
3:  span_begin
    cmp dword ptr [rsi+LAGGING], 1
    je .Lrounds_1
    ja .Lrounds_2

// ---- Authenticate the rest of the span, its tail too ----------------------------------------------------------------
.Lauthenticate:
    cmp MB, [rsi+B_END]
    je 2f
1:  poly_multiply HB0, HB1, HB2, MB
    cmp MA, [rsi+A_END]
    je .Lauthenticate
3:  poly_multiply HA0, HA1, HA2, MA
    cmp MB, [rsi+B_END]
    jne 1b
2:  cmp MA, [rsi+A_END]
    jne 3b
    mov dword ptr [rsi+COUNT], 1            // back to .Lauthenticate_tail
    jmp .Lspan_end
.Lauthenticate_tail:
    authenticate_tail B_END, MB
    cmp dword ptr [rsi+WAITING], 0
    jne .Lpassed

// ---- Text and keystream ---------------------------------------------------------------------------------------------
.Lxor:
    xor_vectors
    cmp ecx, 16
    jb 2f
    vmovdqu xmm0, [rax]
    vmovdqu xmm1, [rax+rcx-16]
    vpxor xmm0, xmm0, [rbx]
    vpxor xmm1, xmm1, [rbx+rcx-16]
    vmovdqu [rdi], xmm0
    vmovdqu [rdi+rcx-16], xmm1
    jmp .Lpassed
2:  xor_short

// ---- A pass is over -------------------------------------------------------------------------------------------------
.Lpassed:
    pass_over

// ---- Next pass: ecx bytes of keystream, beside Poly1305 over eax at MA ---------------------------------------------
.Lnext:
    next_chunk 512
    cmp dword ptr [rsi+WAITING], 0
    jne .Lbehind
    cmp ecx, 128
    jbe .Llater_2
    cmp ecx, 256
    jbe .Llater_4
    cmp ecx, 384
    jbe .Llater_6

// ---- Eight blocks, beside Poly1305 over as many ---------------------------------------------------------------------
.Llater_8:
    pass_by_columns_begin
    cmp dword ptr [rsi+WAITING], 0
    jne .Lbehind_rounds
6:  columns_part1
    span_step_b
    columns_part2
    span_step_a
    columns_part3
    span_step_b 8f
7:  columns_part4
    span_step_a
    sub dword ptr [rsi+COUNT], 1
    jnz 6b
    span_step_a                             // without chain B, one of 32 blocks is left
.Lspan_over:
    columns_rounds_end
.Lspan_end:
    span_end
    cmp dword ptr [rsi+COUNT], 0
    jne .Lauthenticate_tail
    cmp dword ptr [rsi+WAITING], 0
    jne .Lwaited
.Lout_8:
    mov rdx, [rsi+TABLE_AT]
    mov rax, [rsi+KEY_AT]
    lea rcx, [rsi+KEYSTREAM]
    cmp dword ptr [rsi+CHUNK], 512
    jne .Lkeystream_8
    mov rbx, [rsi+IN]
    mov rcx, [rsi+OUT]
    columns_end rbx, rcx
    jmp .Lpassed
8:  span_step_a                             // without chain B, A takes three blocks a double round
    jmp 7b

.Lkeystream_8:                              // the keystream, to rcx
    columns_end nothing, rcx
    lea rdx, [rsi+KEYSTREAM]
    cmp rcx, rdx
    je .Lauthenticate_tail

// ---- Block 0 is among those of the first pass by columns: r and s ---------------------------------------------------
    poly_key_of_block_0
    mov dword ptr [rsi+NONCE_ROW], 1
    mov dword ptr [rsi+LAGGING], 0
    jmp .Lpowers

.Llater_2:
    later_pass_by_rows 1

.Llater_4:
    later_pass_by_rows 2

.Llater_6:
    later_pass_by_rows 3

// ---- The second of three groups of a first pass ends, if it seals: its text becomes part of the span ----------------
.Lsecond_group:
    rows_end_early GROUP1, NONCE_ROW, CONST_ROWS
    mov rax, [rsi+IN]
    mov rdi, [rsi+OUT]
    vinserti128 U0, ymm1, xmm4, 1
    vinserti128 U1, ymm7, xmm10, 1
    xor_block rax, rdi
    vperm2i128 U0, ymm1, ymm4, 0x31
    vperm2i128 U1, ymm7, ymm10, 0x31
    xor_block rax+64, rdi+64
    text_done 128
    add [rsi+A_END], rax
    add [rsi+B_END], rax
    add MB, rax
    add dword ptr [rsi+NONCE_ROW], 2
    mov dword ptr [rsi+COUNT], AHEAD_BOTH
    jmp .Lrounds_1

// ---- Opening a long packet: the second and third pass ---------------------------------------------------------------
// r is known only after the first pass. Its text, at most 448 bytes, is authenticated beside these two passes.
// Opening in place must not overwrite bytes before they are authenticated. Therefore the keystream of these bytes
// waits in KEYSTREAM.
#define BEHIND (16*46)      /* bytes that a pass can authenticate */
.Lbehind:
    mov edx, [rsi+UNAUTHENTICATED]
    add eax, edx
    sub MA, rdx
    xor edx, edx
    cmp eax, BEHIND                         // more only in the second pass, which is never the last one
    jbe 1f
    lea edx, [rax-BEHIND]
    mov eax, BEHIND
1:  mov [rsi+UNAUTHENTICATED], edx
    jmp .Llater_8
.Lbehind_rounds:                            // up to 46 blocks: 31 of chain A in 30 steps, 15 of B in 14 steps
    columns_part1
    span_step_a
    span_step_b
    columns_part2
    span_step_a
    columns_part3
    span_step_b
    columns_part4
    span_step_a
    sub dword ptr [rsi+COUNT], 1
    jnz .Lbehind_rounds
    jmp .Lspan_over
.Lwaited:                                   // the text before IN is authenticated now
    mov ecx, [rsi+WAITING]
    mov rax, [rsi+IN]
    mov rdi, [rsi+OUT]
    lea rbx, [rsi+KEYSTREAM]
    sub rax, rcx
    sub rdi, rcx
    xor edx, edx
1:  vmovdqu T0, [rax+rdx]
    vpxor T0, T0, [rbx+rdx]
    vmovdqu [rdi+rdx], T0
    add edx, 32
    cmp edx, ecx
    jb 1b
    xor ecx, ecx
    cmp [rsi+UNAUTHENTICATED], ecx
    mov [rsi+WAITING], ecx
    je .Lout_8
    mov dword ptr [rsi+WAITING], 512        // the text of this pass is not
    mov rdx, [rsi+TABLE_AT]
    mov rax, [rsi+KEY_AT]
    lea rcx, [rsi+KEYSTREAM]
    jmp .Lkeystream_8

// ---- A later part of a long packet begins ---------------------------------------------------------------------------
.Lresume:
    mov r8, [rdi+SEALANE_ARG_STATE]
    state_load_h
    vmovdqu xmm0, [r8+SEALANE_STATE_S]
    vmovdqa [rsi+S], xmm0
    state_load_r
    mov qword ptr [rsi+CHUNK], 0
    mov ecx, 4
    mov [rsi+POWERS_KNOWN], rcx
    poly_powers
    jmp .Lpassed

// ---- Tag, or state for the next part --------------------------------------------------------------------------------
    tag_or_state

// ---- Wipe: all up to the keystream of one text block, of three or five, or everything ------------------------------
    mov rbx, [r11+SEALANE_ARG_BYTES]
    vpxor xmm0, xmm0, xmm0
  .irp place, -128, -96, -64, -32, 0, 32, 128, KEYSTREAM, KEYSTREAM+32
    vmovdqa [rsi+\place], ymm0
  .endr
    test dword ptr [r11+SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST
    jz 1f
    cmp rbx, 64
    jbe 2f
    lea rcx, [rsi+KEYSTREAM+192]
    cmp rbx, 192
    jbe 3f
    lea rcx, [rsi+KEYSTREAM+320]
    cmp rbx, 320
    jbe 3f
1:  lea rcx, [rsi+END]
3:  lea rax, [rsi+64]
1:  vmovdqa [rax], ymm0
    vmovdqa [rax+32], ymm0
    vmovdqa [rax+64], ymm0
    vmovdqa [rax+96], ymm0
    sub rax, -128
    cmp rax, rcx
    jb 1b
2:
  .irp n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    vpxor xmm\n, xmm\n, xmm\n            // vzeroall takes longer
  .endr
    vzeroupper
    sub rsi, FRAME
endfunction
