/* The code that the levels avx2, avx512vl and ssse3 of ChaCha20-Poly1305 share, besides ChaCha20: Poly1305 in integer
 * registers, the state between the parts of a packet, text and keystream. The includer defines its scratch memory, and
 *
 *     poly_multiply h0, h1, h2, m      h r, or h r + m and m += 16: by poly_add_next and poly_fold
 *
 * Poly1305 (RFC 8439, 2.5): h = (h + m) r mod p = 2^130 - 5 for each block m of 16 bytes and a one above it. With
 * h = h0 + 2^64 h1 + 2^128 h2, r = r0 + 2^64 r1, 4 | r1 (clamped), and 2^130 = 5, that is 2^128 r1 = s1 := r1 + r1/4:
 *     h r = (h0 r0 + h1 s1) + 2^64 (h0 r1 + h1 r0 + h2 s1) + 2^128 (h2 r0),   then h += 5 (h >> 130) without those.
 * The next product waits less if m is added to the sums of this one. Bits from 2^130 on are folded as soon as the
 * upper sum is ready. So h is below (5 + 2^-60) 2^128, and h2 <= 11 in the sum of two such values and a block, with
 * h1 < 2^8 then. The sum of h0 r0 and 2^64 h2 s1 fits in 128 bits, as r0 < 2^60 and s1 < 1.25 2^60.
 */

/* Scratch, relative to the displaced rsi. */
#define FRAME (SEALANE_SCRATCH_SAVE_BYTES + 128)
#define ARGS -128
#define TABLE_AT -120       /* the constants */
#define IN -112             /* the text of this pass */
#define OUT -104
#define LEFT -96            /* bytes of IN */
#define CHUNK -88           /* bytes of them in this pass */
#define TAIL -48            /* bytes after the whole blocks to authenticate: less than a block */
#define KEY_AT -24
#define H 0                 /* h0, h1, h2 */
#define R 24                /* r0, r1, s1 */
#define NONCE_ROW 48        /* row d of the next block: counter, nonce */
#define S 128

#define HA0 r8              /* h; in VEX's kernels that of chain A */
#define HA1 r9
#define HA2 r10
#define MA r11              /* its next block */
#define X0 rax              /* sums: X1 above h0, Y1 above Y0 */
#define X1 rbx
#define Y0 rcx
#define Y1 rdi

// Arguments: rdi, the output in r8, the input in rcx, its bytes in rbx, the key in rax, the nonce in r9
.macro arguments
    add rsi, FRAME
    mov [rsi+TABLE_AT], rdx
    mov [rsi+ARGS], rdi
    mov r8, [rdi+SEALANE_ARG_OUT]
    mov rcx, [rdi+SEALANE_ARG_IN]
    mov rbx, [rdi+SEALANE_ARG_BYTES]
    mov rax, [rdi+SEALANE_ARG_KEY]
    mov r9, [rdi+SEALANE_ARG_NONCE]
    mov [rsi+OUT], r8
    mov [rsi+IN], rcx
    mov [rsi+LEFT], rbx
    mov [rsi+KEY_AT], rax
.endm

.macro poly_load
    mov HA0, [rsi+H]
    mov HA1, [rsi+H+8]
    mov HA2, [rsi+H+16]
.endm

.macro poly_store
    mov [rsi+H], HA0
    mov [rsi+H+8], HA1
    mov [rsi+H+16], HA2
.endm

.macro poly_add h0, h1, h2, m
    add \h0, [\m]
    adc \h1, [\m+8]
    adc \h2, 1
    add \m, 16
.endm

// adds the next block to the sums x = (h0, X1), y = (Y0, Y1) of this product
.macro poly_add_next h0, m
  .ifnb \m
    add \h0, [\m]
    adc X1, 0
    add Y0, [\m+8]
    adc Y1, 1
    add \m, 16
  .endif
.endm

// h = x + y 2^64, with x = (h0, h1) and y = (Y0, Y1). Bits from 2^130 on are folded. Its carry may reach 2^130 again.
.macro poly_fold h0, h1, h2
    mov \h2\()d, edi
    and \h2\()d, 3
    shr Y1, 2
    lea Y1, [Y1+4*Y1]                       // 2^130 = 5
    add \h0, Y1
    adc \h1, Y0
    adc \h2, 0
.endm

// stores r, where r0 is in rax and r1 in rcx
.macro poly_key
    mov rdx, rcx
    mov [rsi+R], rax
    shr rdx, 2
    mov [rsi+R+8], rcx
    add rdx, rcx
    mov [rsi+R+16], rdx
.endm

// r and s of block 0, which lies before KEYSTREAM
.macro poly_key_of_block_0
    mov rdx, [rsi+TABLE_AT]
    mov rax, [rsi+KEYSTREAM-64]
    mov rcx, [rsi+KEYSTREAM-56]
    vmovdqa xmm1, [rsi+KEYSTREAM-48]
    and rax, [rdx+CONST_CLAMP]
    and rcx, [rdx+CONST_CLAMP+8]
    vmovdqa [rsi+S], xmm1
    poly_key
.endm

// (Without a parameter, Apple's assembler does not support \@ in macros. Therefore some macros have a parameter named
// none.)

// adds the last ecx bytes, 1 to 15, at \from, followed by a one and zeroes; loads that overlap read them
.macro poly_tail from
    cmp ecx, 8
    jb .Lpoly_tail_0\@
    mov rax, [\from]
    mov rdx, [\from+rcx-8]
    lea ecx, [rcx*8-120]
    neg ecx
    shr rdx, cl
    shr rdx, 8
    jmp .Lpoly_tail_2\@
.Lpoly_tail_0\@:
    cmp ecx, 4
    jb .Lpoly_tail_1\@
    mov eax, [\from]
    mov edx, [\from+rcx-4]
    lea ecx, [rcx*8-32]
    shl rdx, cl
    or rax, rdx
    xor edx, edx
    jmp .Lpoly_tail_2\@
.Lpoly_tail_1\@:
    movzx eax, byte ptr [\from]
    movzx edi, byte ptr [\from+rcx-1]
    mov ebx, ecx
    lea ecx, [rcx*8-8]
    shl edi, cl
    or eax, edi
    shr ebx, 1
    movzx edx, byte ptr [\from+rbx]
    lea ecx, [rbx*8]
    shl edx, cl
    or eax, edx
    xor edx, edx
.Lpoly_tail_2\@:
    add HA0, rax
    adc HA1, rdx
    adc HA2, 1
    poly_multiply HA0, HA1, HA2
.endm

// authenticates the associated data; rdi points to the arguments before and after
.macro poly_associated_data none
    mov rcx, [rdi+SEALANE_ARG_AD_BYTES]
    test rcx, rcx
    jz .Lpoly_ad_none\@
    poly_load
    mov MA, [rdi+SEALANE_ARG_AD]
    mov r15, rcx                            // where its whole blocks end
    and ecx, 15
    and r15, -16
    mov [rsi+TAIL], rcx
    add r15, MA
    jmp .Lpoly_ad_next\@
.Lpoly_ad_block\@:
    poly_add HA0, HA1, HA2, MA
    poly_multiply HA0, HA1, HA2
.Lpoly_ad_next\@:
    cmp MA, r15
    jne .Lpoly_ad_block\@
    mov rcx, [rsi+TAIL]
    test ecx, ecx
    jz .Lpoly_ad_done\@
    poly_tail MA
.Lpoly_ad_done\@:
    poly_store
    mov rdi, [rsi+ARGS]
.Lpoly_ad_none\@:
.endm

// With LAST, the tag: adds the lengths, subtracts p from h if h is at least p, and adds s. Without, the state for the
// next part: h, below 2^131, r, s and the counter. From .Lfinal on, h is in scratch. r11 points to the arguments
// afterwards.
.macro tag_or_state none
.Lfinal:
    poly_load
.Ltag:
    mov r11, [rsi+ARGS]
    test dword ptr [r11+SEALANE_ARG_FLAGS], SEALANE_FLAG_LAST
    jz .Lstate\@
    add HA0, [r11+SEALANE_ARG_AD_BYTES]
    adc HA1, [r11+SEALANE_ARG_TOTAL]
    adc HA2, 1
    poly_multiply HA0, HA1, HA2
    mov rax, HA0
    mov rcx, HA1
    add rax, 5
    adc rcx, 0
    adc HA2, 0
    cmp HA2, 4
    cmovae HA0, rax
    cmovae HA1, rcx
    add HA0, [rsi+S]
    adc HA1, [rsi+S+8]
    mov rax, [r11+SEALANE_ARG_TAG]
    mov [rax], HA0
    mov [rax+8], HA1
    jmp .Lno_state\@
.Lstate\@:
    mov rcx, HA2
    and r10d, 3
    shr rcx, 2
    lea rcx, [rcx+4*rcx]
    add HA0, rcx
    adc HA1, 0
    adc HA2, 0
    mov rax, [r11+SEALANE_ARG_STATE]
    mov [rax+SEALANE_STATE_H], HA0
    mov [rax+SEALANE_STATE_H+8], HA1
    mov [rax+SEALANE_STATE_H+16], HA2
    mov rcx, [rsi+R]
    mov rdx, [rsi+R+8]
    mov [rax+SEALANE_STATE_R], rcx
    mov [rax+SEALANE_STATE_R+8], rdx
    mov rcx, [rsi+S]
    mov rdx, [rsi+S+8]
    mov [rax+SEALANE_STATE_S], rcx
    mov [rax+SEALANE_STATE_S+8], rdx
    mov ecx, [r11+SEALANE_ARG_FLAGS]
    and ecx, SEALANE_FLAG_FIRST             // counter: 1 with FIRST
    jnz .Lstate_counter\@
    mov rcx, [rax+SEALANE_STATE_COUNTER]
.Lstate_counter\@:
    mov rdx, [r11+SEALANE_ARG_BYTES]
    shr rdx, 6
    add rcx, rdx
    mov [rax+SEALANE_STATE_COUNTER], rcx
.Lno_state\@:
.endm

// copies h from the state at r8 to scratch; changes rax, rcx, rdx
.macro state_load_h
    mov rax, [r8+SEALANE_STATE_H]
    mov rcx, [r8+SEALANE_STATE_H+8]
    mov rdx, [r8+SEALANE_STATE_H+16]
    mov [rsi+H], rax
    mov [rsi+H+8], rcx
    mov [rsi+H+16], rdx
.endm

// copies the counter and r from the state at r8
.macro state_load_r
    mov eax, [r8+SEALANE_STATE_COUNTER]
    mov [rsi+NONCE_ROW], eax
    mov rax, [r8+SEALANE_STATE_R]
    mov rcx, [r8+SEALANE_STATE_R+8]
    poly_key
.endm

// Authenticates the last bytes of a span, after its whole blocks, which end at scratch + \end. Uses \m. Goes to .Ltag
// if no text is left.
.macro authenticate_tail end, m
    mov rcx, [rsi+TAIL]
    test ecx, ecx
    jz .Lno_tail\@
    mov \m, [rsi+\end]
    poly_tail \m
    poly_store
.Lno_tail\@:
    cmp qword ptr [rsi+LEFT], 0
    je .Ltag
.endm

// Begins a pass by columns, beside Poly1305 over eax bytes at MA.
.macro pass_by_columns_begin
    mov rdx, [rsi+TABLE_AT]
    mov rdi, [rsi+KEY_AT]
    mov dword ptr [rsi+COUNT], 10
    columns_begin
    span_begin
.endm

// XORs the text of this pass with KEYSTREAM in whole vectors. The last vector ends with the text. Then goes to
// .Lpassed. If there is less than a vector, the macro ends with rcx bytes of text from rax to rdi, and the keystream
// at rbx.
.macro xor_vectors none
    mov rcx, [rsi+CHUNK]
    mov rax, [rsi+IN]
    mov rdi, [rsi+OUT]
    lea rbx, [rsi+KEYSTREAM]
    sub ecx, VECTOR
    jb .Lno_vector\@
    vmovdqu ymm1, [rax+rcx]
#if defined(KERNEL_SSE)
    movdqu xmm2, [rbx+rcx]
    pxor xmm1, xmm2
#else
    vpxor ymm1, ymm1, [rbx+rcx]
#endif
    xor edx, edx
    jmp .Lxor_vectors\@
.Lxor_vector\@:
    vmovdqu ymm0, [rax+rdx]
    vpxor ymm0, ymm0, [rbx+rdx]
    vmovdqu [rdi+rdx], ymm0
    add edx, VECTOR
.Lxor_vectors\@:
    cmp edx, ecx
    jb .Lxor_vector\@
    vmovdqu [rdi+rcx], ymm1
    jmp .Lpassed
.Lno_vector\@:
    add ecx, VECTOR
.endm

// XORs the first and the last \bytes of the text, which may overlap, by way of x and y. Goes to \fewer if the text is
// shorter.
.macro xor_ends bytes, x, y, fewer
    cmp ecx, \bytes
    jb \fewer
    mov \x, [rax]
    mov \y, [rax+rcx-\bytes]
    xor \x, [rbx]
    xor \y, [rbx+rcx-\bytes]
    mov [rdi], \x
    mov [rdi+rcx-\bytes], \y
    jmp .Lpassed
.endm

// XORs rcx < 16 bytes of text, from rax to rdi, with the keystream at rbx. Continues at .Lpassed, or after the macro.
.macro xor_short none
    xor_ends 8, r11, rdx, .Lxor_4\@
.Lxor_4\@:
    xor_ends 4, r11d, edx, .Lxor_bytes\@
.Lxor_byte\@:
    movzx edx, byte ptr [rax+rcx-1]
    xor dl, [rbx+rcx-1]
    mov [rdi+rcx-1], dl
    sub ecx, 1
.Lxor_bytes\@:
    test ecx, ecx
    jnz .Lxor_byte\@
.endm

// A pass is over. Its output is rax bytes at MA, and rdx bytes of the packet are left.
.macro pass_over
    mov rcx, [rsi+CHUNK]
    mov MA, [rsi+OUT]
    mov rdi, [rsi+ARGS]
    mov rdx, [rsi+LEFT]
    mov ebx, ecx
    lea rax, [MA+rcx]
    shr ebx, 6
    mov [rsi+OUT], rax
    add [rsi+IN], rcx
    add [rsi+NONCE_ROW], ebx
    mov rax, rcx
    sub rdx, rcx
    mov [rsi+LEFT], rdx
    jnz .Lnext
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jnz .Lfinal
    span_begin                              // the text sealed last
    jmp .Lauthenticate
.endm

// The next pass has rcx bytes of text, at most \most. It authenticates rax bytes at MA. If it opens, these are its
// own input.
.macro next_chunk most
    mov ecx, \most
    cmp rdx, rcx
    cmovb rcx, rdx
    mov [rsi+CHUNK], rcx
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    cmovnz rax, rcx
    cmovnz MA, [rsi+IN]
.endm
