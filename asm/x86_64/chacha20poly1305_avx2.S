/* ChaCha20-Poly1305 (RFC 8439) for x86-64 with AVX2 and BMI2: seals or opens one packet, or one part of a long one.
 *
 *     void sealane_chacha20poly1305_avx2(const args *a, void *scratch, const void *consts);
 */
#include "../asm.S"
isa .sse2, .ssse3, .sse4.1, .avx, .avx2, .bmi, .bmi2

// ---- Scratch ---------------------------------------------------------------------------------------------------------
#define INITIAL 256   /* the 16 words of the initial ChaCha20 state; word 12 counts the first block of area A */
#define TABLE 320
#define ARGS 328
#define IN 336
#define OUT 344
#define LEFT 352      /* bytes still to be read from IN */
#define CHUNK 360     /* bytes of them that the current pass covers */
#define BLOCKS 368    /* blocks that the vector units make in the current pass */
#define EXTRA 376     /* bytes of key stream made by the integer units, which go in front of theirs */
#define AFTER 384     /* where to go when the current span is authenticated */
#define COUNT 392
#define H 400
#define S_KEY 424
#define POWERS 440    /* r, r^2, r^4, .. r^32, three words each */
#define POWERS_LAST 584 /* log2 of the last */
#define R_KEY 624     /* r0, r1, s1 */
#define STAGE 648     /* 0 until the Poly1305 key is known */
#define SPAN_END 592  /* what is being authenticated: end of its whole blocks */
#define SPAN_B 600    /* where chain B starts */
#define SPAN_TAIL 608 /* bytes behind the whole blocks */
#define SPAN_POWER 616 /* log2 of chain B's blocks, 0 if it has none */
#define SCALAR 1216    /* words of the scalar block that are not in registers */
#define STREAM 1280    /* key stream of the scalar block */
#define COPY 704      /* 512 bytes: key stream of the last, partial 8 blocks */
#define AREA_A 1344
#define AREA 704      /* bytes from area A to area B */
#define BIAS 128

// ---- One area: the state of 8 blocks, and what a loop needs that moves from area to area -----------------------------
#define ROW(i) (32*(i)-BIAS)
#define MASK16 (512-BIAS)
#define MASK8 (544-BIAS)
#define COUNTERS (576-BIAS)
#define R0 (608-BIAS)
#define R1 (616-BIAS)
#define S1 (624-BIAS)
#define STEP (632-BIAS)
#define PASSES (640-BIAS)
#define PATTERN (648-BIAS)
#define AREA_END 656
#define BASE (AREA_A+BIAS)

#define TO_CHUNK 0
#define TO_OUTPUT 1
#define TO_FINAL 2

// ---- ChaCha20, 8 blocks: one word of each in a register --------------------------------------------------------------
#define A0 ymm0
#define A1 ymm1
#define A2 ymm2
#define A3 ymm3
#define B0 ymm4
#define B1 ymm5
#define B2 ymm6
#define B3 ymm7
#define D0 ymm8
#define D1 ymm9
#define D2 ymm10
#define D3 ymm11
#define C0 ymm12
#define C1 ymm13
#define T0 ymm14
#define T1 ymm15

// a += b, d = (d ^ a) <<< 16 or 8
.macro vector_ad base, a, b, d, e, f, g, mask
    vpaddd \a, \a, \b
    vpaddd \e, \e, \f
    vpxor \d, \d, \a
    vpxor \g, \g, \e
    vpshufb \d, \d, [\base+\mask]
    vpshufb \g, \g, [\base+\mask]
.endm

// the same, a, b and d from memory, for two neighbouring columns
.macro vector_ad_load base, a, b, d, e, f, g, row
    vmovdqa \b, [\base+ROW(4+\row)]
    vmovdqa \f, [\base+ROW(5+\row)]
    vpaddd \a, \b, [\base+ROW(0+\row)]
    vpaddd \e, \f, [\base+ROW(1+\row)]
    vpxor \d, \a, [\base+ROW(12+\row)]
    vpxor \g, \e, [\base+ROW(13+\row)]
    vpshufb \d, \d, [\base+MASK16]
    vpshufb \g, \g, [\base+MASK16]
.endm

// b = (b ^ c) <<< left
.macro vector_b c, b, g, f, left
    vpxor \b, \b, \c
    vpxor \f, \f, \g
    vpslld T0, \b, \left
    vpslld T1, \f, \left
    vpsrld \b, \b, 32-\left
    vpsrld \f, \f, 32-\left
    vpor \b, \b, T0
    vpor \f, \f, T1
.endm

// c += d, b = (b ^ c) <<< left
.macro vector_cb c, d, b, g, h, f, left
    vpaddd \c, \c, \d
    vpaddd \g, \g, \h
    vector_b \c, \b, \g, \f, \left
.endm

.macro vector_cb_load base, row, row2, c, d, b, g, h, f, left
    vpaddd \c, \d, [\base+ROW(\row)]
    vpaddd \g, \h, [\base+ROW(\row2)]
    vector_b \c, \b, \g, \f, \left
.endm

// A double round in four parts of four lines. Between two lines the caller places integer work.
#define VECTOR_1A(base) vector_ad_load base, A0, B0, D0, A1, B1, D1, 0
#define VECTOR_1B(base) vector_cb_load base, 8, 9, C0, D0, B0, C1, D1, B1, 12
#define VECTOR_1C(base) vector_ad base, A0, B0, D0, A1, B1, D1, MASK8
#define VECTOR_1D(base) vector_cb C0, D0, B0, C1, D1, B1, 7
#define VECTOR_2A(base) vector_store base, C0, 8, C1, 9; vector_ad_load base, A2, B2, D2, A3, B3, D3, 2
#define VECTOR_2B(base) vector_cb_load base, 10, 11, C0, D2, B2, C1, D3, B3, 12
#define VECTOR_2C(base) vector_ad base, A2, B2, D2, A3, B3, D3, MASK8
#define VECTOR_2D(base) vector_cb C0, D2, B2, C1, D3, B3, 7
#define VECTOR_3A(base) vector_ad base, A0, B1, D3, A1, B2, D0, MASK16
#define VECTOR_3B(base) vector_cb C0, D3, B1, C1, D0, B2, 12
#define VECTOR_3C(base) vector_ad base, A0, B1, D3, A1, B2, D0, MASK8; vector_store base, A0, 0, A1, 1; vector_store base, D3, 15, D0, 12
#define VECTOR_3D(base) vector_cb C0, D3, B1, C1, D0, B2, 7; vector_store base, C0, 10, C1, 11; vector_store base, B1, 5, B2, 6
#define VECTOR_4A(base) vector_ad base, A2, B3, D1, A3, B0, D2, MASK16
#define VECTOR_4B(base) vector_cb_load base, 8, 9, C0, D1, B3, C1, D2, B0, 12
#define VECTOR_4C(base) vector_ad base, A2, B3, D1, A3, B0, D2, MASK8; vector_store base, A2, 2, A3, 3; vector_store base, D1, 13, D2, 14
#define VECTOR_4D(base) vector_cb C0, D1, B3, C1, D2, B0, 7; vector_store base, C0, 8, C1, 9; vector_store base, B3, 7, B0, 4

.macro vector_store base, x, row, y, row2
    vmovdqa [\base+ROW(\row)], \x
    vmovdqa [\base+ROW(\row2)], \y
.endm

// ---- ChaCha20, one block in integer registers: b and d there, two each of a and c, the others in memory --------------
#define XA0 eax
#define XA1 ebx
#define XC0 ecx
#define XC1 edx
#define XB0 r8d
#define XB1 r9d
#define XB2 r10d
#define XB3 r11d
#define XD0 r12d
#define XD1 r13d
#define XD2 r14d
#define XD3 edi
#define AREAP r15

.macro scalar_ad b, d, f, g, left
    add XA0, \b
    add XA1, \f
    xor \d, XA0
    xor \g, XA1
    rol \d, \left
    rol \g, \left
.endm
.macro scalar_cb d, b, g, f, left
    add XC0, \d
    add XC1, \g
    xor \b, XC0
    xor \f, XC1
    rol \b, \left
    rol \f, \left
.endm
.macro scalar_a_swap put, get
    mov [rsi+SCALAR+4*\put], XA0
    mov [rsi+SCALAR+4*\put+4], XA1
    mov XA0, [rsi+SCALAR+4*\get]
    mov XA1, [rsi+SCALAR+4*\get+4]
.endm
.macro scalar_c_swap put, get
    mov [rsi+SCALAR+4*\put], XC0
    mov [rsi+SCALAR+4*\put+4], XC1
    mov XC0, [rsi+SCALAR+4*\get]
    mov XC1, [rsi+SCALAR+4*\get+4]
.endm

#define SCALAR_1A scalar_ad XB0, XD0, XB1, XD1, 16
#define SCALAR_1B scalar_cb XD0, XB0, XD1, XB1, 12
#define SCALAR_1C scalar_ad XB0, XD0, XB1, XD1, 8; scalar_a_swap 0, 2
#define SCALAR_1D scalar_cb XD0, XB0, XD1, XB1, 7; scalar_c_swap 8, 10
#define SCALAR_2A scalar_ad XB2, XD2, XB3, XD3, 16
#define SCALAR_2B scalar_cb XD2, XB2, XD3, XB3, 12
#define SCALAR_2C scalar_ad XB2, XD2, XB3, XD3, 8; scalar_a_swap 2, 0
#define SCALAR_2D scalar_cb XD2, XB2, XD3, XB3, 7
#define SCALAR_3A scalar_ad XB1, XD3, XB2, XD0, 16
#define SCALAR_3B scalar_cb XD3, XB1, XD0, XB2, 12
#define SCALAR_3C scalar_ad XB1, XD3, XB2, XD0, 8; scalar_a_swap 0, 2
#define SCALAR_3D scalar_cb XD3, XB1, XD0, XB2, 7; scalar_c_swap 10, 8
#define SCALAR_4A scalar_ad XB3, XD1, XB0, XD2, 16
#define SCALAR_4B scalar_cb XD1, XB3, XD2, XB0, 12
#define SCALAR_4C scalar_ad XB3, XD1, XB0, XD2, 8; scalar_a_swap 2, 0
#define SCALAR_4D scalar_cb XD1, XB3, XD2, XB0, 7

// the initial state with the counter in eax
.macro scalar_begin
    mov XD0, eax
    mov XD1, [rsi+INITIAL+52]
    mov XD2, [rsi+INITIAL+56]
    mov XD3, [rsi+INITIAL+60]
    mov XA0, [rsi+INITIAL+8]
    mov XA1, [rsi+INITIAL+12]
    mov XC0, [rsi+INITIAL+40]
    mov XC1, [rsi+INITIAL+44]
    mov [rsi+SCALAR+8], XA0
    mov [rsi+SCALAR+12], XA1
    mov [rsi+SCALAR+40], XC0
    mov [rsi+SCALAR+44], XC1
    mov XA0, [rsi+INITIAL]
    mov XA1, [rsi+INITIAL+4]
    mov XB0, [rsi+INITIAL+16]
    mov XB1, [rsi+INITIAL+20]
    mov XB2, [rsi+INITIAL+24]
    mov XB3, [rsi+INITIAL+28]
    mov XC0, [rsi+INITIAL+32]
    mov XC1, [rsi+INITIAL+36]
.endm

// ---- Poly1305 --------------------------------------------------------------------------------------------------------
#define HA0 r8
#define HA1 r9
#define HA2 r10
#define HB0 r11
#define HB1 r12
#define HB2 r13
#define PA r14
#define PB r15
#define X0 rax
#define X1 rbx
#define Y0 rcx
#define Y1 rdi

.macro poly_add h0, h1, h2, from
    add \h0, [\from]
    adc \h1, [\from+8]
    adc \h2, 1
.endm

.macro poly_multiply r, h0, h1, h2         // h *= r, which lies at r: r0, r1, s1
    mov rdx, \h0
    mulx X1, X0, [\r]                   // x = h0 r0
    mulx Y1, Y0, [\r+8]                 // y = h0 r1
    mov rdx, \h1
    mulx \h1, \h0, [\r+16]              // x += h1 s1
    add X0, \h0
    adc X1, \h1
    mulx \h0, \h1, [\r]                 // y += h1 r0
    add Y0, \h1
    adc Y1, \h0
    mov rdx, \h2
    imul rdx, [\r+16]                   // y += h2 s1
    imul \h2, [\r]                      // z = h2 r0
    add Y0, rdx
    adc Y1, 0
    mov \h0, X0
    mov \h1, X1
    add \h1, Y0                             // h = x + y 2^64 + z 2^128
    adc Y1, \h2
    mov \h2, Y1
    and \h2, 3
    shr Y1, 2
    lea Y1, [Y1+4*Y1]                       // 2^130 = 5
    add \h0, Y1
    adc \h1, 0
    adc \h2, 0
.endm

.macro poly_block r, h0, h1, h2, from
    poly_add \h0, \h1, \h2, \from
    poly_multiply \r, \h0, \h1, \h2
    add \from, 16
.endm

// (HA0, HA1, HA2) *= the three words at [\at], all of them; uses all registers but rsi, rdi
.macro poly_multiply_long at
    mov rdx, HA0
    mulx rcx, rax, [\at]
    mulx rbx, r11, [\at+8]
    add rcx, r11
    adc rbx, 0
    mov rdx, HA1
    mulx r12, r11, [\at]
    xor r15d, r15d
    add rcx, r11
    adc rbx, r12
    mulx r14, r11, [\at+8]
    adc r14, 0
    add rbx, r11
    adc r14, 0
    mov rdx, [\at+16]
    mulx r12, r11, HA0
    add rbx, r11
    adc r14, r12
    adc r15, 0
    mulx r12, r11, HA1
    add r14, r11
    adc r15, r12
    mov rdx, HA2
    mulx r12, r11, [\at]
    add rbx, r11
    adc r14, r12
    adc r15, 0
    mulx r12, r11, [\at+8]
    add r14, r11
    adc r15, r12
    imul rdx, [\at+16]
    add r15, rdx
    mov r11, rbx
    mov r10d, ebx
    and r11, -4
    and r10d, 3
    add rax, r11
    adc rcx, r14
    adc r10, r15
    shrd rbx, r14, 2
    shrd r14, r15, 2
    shr r15, 2
    add rax, rbx
    adc rcx, r14
    adc r10, r15
    mov r11, r10
    shr r11, 2
    lea r11, [r11+4*r11]
    and r10d, 3
    add rax, r11
    adc rcx, 0
    adc r10, 0
    mov HA0, rax
    mov HA1, rcx
.endm

// ---- Output: words 8 half to 8 half + 7 of 8 blocks ------------------------------------------------------------------
.macro output_row to, row
    vpbroadcastd \to, [rsi+INITIAL+4*(\row)]
    vpaddd \to, \to, [AREAP+ROW(\row)]
.endm
.macro transpose_four x, y, z, w, s, t     // result in order: s, x, t, y
    vpunpckldq \s, \x, \y
    vpunpckhdq \x, \x, \y
    vpunpckldq \t, \z, \w
    vpunpckhdq \z, \z, \w
    vpunpcklqdq \y, \s, \t
    vpunpckhqdq \w, \s, \t
    vpunpcklqdq \s, \x, \z
    vpunpckhqdq \t, \x, \z
.endm
.macro output_pair x, y, block, half
    vinserti128 ymm12, \x, xmm\y, 1
    vperm2i128 ymm13, \x, ymm\y, 0x31
    vpxor ymm12, ymm12, [rax+64*\block+32*\half]
    vpxor ymm13, ymm13, [rax+64*\block+256+32*\half]
    vmovdqu [rcx+64*\block+32*\half], ymm12
    vmovdqu [rcx+64*\block+256+32*\half], ymm13
.endm
.macro output_half half
    output_row ymm0, 8*\half
    output_row ymm1, 8*\half+1
    output_row ymm2, 8*\half+2
    output_row ymm3, 8*\half+3
  .if \half
    vmovdqa ymm4, [AREAP+COUNTERS]
    vpaddd ymm4, ymm4, [AREAP+ROW(12)]
  .else
    output_row ymm4, 8*\half+4
  .endif
    output_row ymm5, 8*\half+5
    output_row ymm6, 8*\half+6
    output_row ymm7, 8*\half+7
    transpose_four ymm0, ymm1, ymm2, ymm3, ymm8, ymm9
    transpose_four ymm4, ymm5, ymm6, ymm7, ymm10, ymm11
    output_pair ymm1, 5, 0, \half
    output_pair ymm3, 7, 1, \half
    output_pair ymm8, 10, 2, \half
    output_pair ymm9, 11, 3, \half
.endm


function sealane_chacha20poly1305_avx2

// ---- Begin -----------------------------------------------------------------------------------------------------------
    mov [rsi+TABLE], rdx
    mov [rsi+ARGS], rdi
    mov rax, [rdi+SEALANE_ARG_OUT]
    mov rcx, [rdi+SEALANE_ARG_IN]
    mov rbx, [rdi+SEALANE_ARG_BYTES]
    mov r8, [rdi+SEALANE_ARG_KEY]
    mov r9, [rdi+SEALANE_ARG_NONCE]
    mov [rsi+OUT], rax
    mov [rsi+IN], rcx
    mov [rsi+LEFT], rbx
    vmovdqa xmm0, [rdx]
    vmovdqu ymm1, [r8]
    vmovdqa [rsi+INITIAL], xmm0
    vmovdqu [rsi+INITIAL+16], ymm1
    mov rax, [r9]
    mov ecx, [r9+8]
    mov [rsi+INITIAL+52], rax
    mov [rsi+INITIAL+60], ecx
    xor eax, eax
    mov [rsi+EXTRA], rax
    mov [rsi+STAGE], rax
    mov [rsi+SPAN_POWER], rax
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST
    jz .Lresume
    mov [rsi+H], rax
    mov [rsi+H+8], rax
    mov [rsi+H+16], rax
    mov dword ptr [rsi+INITIAL+48], 1
    cmp rbx, 512
    jbe .Lprepare
    mov dword ptr [rsi+INITIAL+48], 2
    mov dword ptr [rsi+EXTRA], 64
    jmp .Lprepare

.Lresume:
    mov r8, [rdi+SEALANE_ARG_STATE]
    mov dword ptr [rsi+STAGE], 2
    mov rax, [r8+SEALANE_STATE_H]
    mov rcx, [r8+SEALANE_STATE_H+8]
    mov rdx, [r8+SEALANE_STATE_H+16]
    mov [rsi+H], rax
    mov [rsi+H+8], rcx
    mov [rsi+H+16], rdx
    mov rax, [r8+SEALANE_STATE_R]
    mov rcx, [r8+SEALANE_STATE_R+8]
    mov r10, [r8+SEALANE_STATE_S]
    mov r11, [r8+SEALANE_STATE_S+8]
    mov edx, [r8+SEALANE_STATE_COUNTER]
    mov [rsi+INITIAL+48], edx
    mov [rsi+S_KEY], r10
    mov [rsi+S_KEY+8], r11
    jmp .Lpowers

// ---- A pass: set up the areas; keeps r8 to r15 -----------------------------------------------------------------------
.Lprepare:
    mov rdx, [rsi+TABLE]
    vpbroadcastd ymm0, [rsi+INITIAL]
    vpbroadcastd ymm1, [rsi+INITIAL+4]
    vpbroadcastd ymm2, [rsi+INITIAL+8]
    vpbroadcastd ymm3, [rsi+INITIAL+12]
    vpbroadcastd ymm4, [rsi+INITIAL+16]
    vpbroadcastd ymm5, [rsi+INITIAL+20]
    vpbroadcastd ymm6, [rsi+INITIAL+24]
    vpbroadcastd ymm7, [rsi+INITIAL+28]
    vpbroadcastd ymm8, [rsi+INITIAL+32]
    vpbroadcastd ymm9, [rsi+INITIAL+36]
    vpbroadcastd ymm10, [rsi+INITIAL+40]
    vpbroadcastd ymm11, [rsi+INITIAL+44]
    vpbroadcastd ymm12, [rsi+INITIAL+48]
    vpbroadcastd ymm13, [rsi+INITIAL+52]
    vpbroadcastd ymm14, [rsi+INITIAL+56]
    vpbroadcastd ymm15, [rsi+INITIAL+60]
    vpaddd ymm12, ymm12, [rdx+96]
    mov rbx, [rsi+LEFT]
    mov ecx, 512
    lea rdi, [rsi+BASE]
    cmp rcx, rbx
    sbb ecx, ecx
    neg ecx                                 // 1 if there are two areas, else 0
    lea eax, [rcx*8+8]
    mov [rsi+BLOCKS], rax
    shl eax, 6
    add rax, [rsi+EXTRA]
    cmp rbx, rax
    cmova rbx, rax
    mov [rsi+CHUNK], rbx
    imul eax, ecx, AREA
    mov [rdi+STEP], rax
    neg rax
    mov [rdi+AREA+STEP], rax
    lea eax, [rcx+10]
    mov [rdi+PASSES], eax
    mov dword ptr [rdi+AREA+PASSES], 10
    mov eax, [rsi+SPAN_POWER]
    sub eax, ecx
    sbb ebx, ebx
    andn eax, ebx, eax                      // no span: pattern 0
    mov eax, [rdx+160+4*rax]
    mov [rdi+PATTERN], eax
    mov [rdi+AREA+PATTERN], eax
1:
  .irp row, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    vmovdqa [rdi+ROW(\row)], ymm\row
  .endr
    vmovdqa [rdi+COUNTERS], ymm12
    vpaddd ymm12, ymm12, [rdx+128]
    vmovdqa ymm0, [rdx+32]
    vmovdqa [rdi+MASK16], ymm0
    vmovdqa ymm0, [rdx+64]
    vmovdqa [rdi+MASK8], ymm0
    vpbroadcastd ymm0, [rsi+INITIAL]
    mov rax, [rsi+R_KEY]
    mov rbx, [rsi+R_KEY+8]
    mov [rdi+R0], rax
    mov [rdi+R1], rbx
    mov rax, [rsi+R_KEY+16]
    mov [rdi+S1], rax
    add rdi, AREA
    sub ecx, 1
    jns 1b
    cmp dword ptr [rsi+STAGE], 0
    je .Lkey_pass

// ---- Key stream for a chunk, while a span is authenticated -----------------------------------------------------------
    add rsi, BASE
    .p2align 6
.Ltext_pass:
    VECTOR_1A(rsi)
    VECTOR_1B(rsi)
    VECTOR_1C(rsi)
    VECTOR_1D(rsi)
    shr dword ptr [rsi+PATTERN], 1
    jnc 1f
    poly_block rsi+R0, HA0, HA1, HA2, PA
    poly_block rsi+R0, HB0, HB1, HB2, PB
1:  VECTOR_2A(rsi)
    VECTOR_2B(rsi)
    VECTOR_2C(rsi)
    VECTOR_2D(rsi)
    shr dword ptr [rsi+PATTERN], 1
    jnc 1f
    poly_block rsi+R0, HA0, HA1, HA2, PA
    poly_block rsi+R0, HB0, HB1, HB2, PB
1:  VECTOR_3A(rsi)
    VECTOR_3B(rsi)
    VECTOR_3C(rsi)
    VECTOR_3D(rsi)
    shr dword ptr [rsi+PATTERN], 1
    jnc 1f
    poly_block rsi+R0, HA0, HA1, HA2, PA
    poly_block rsi+R0, HB0, HB1, HB2, PB
1:  VECTOR_4A(rsi)
    VECTOR_4B(rsi)
    VECTOR_4C(rsi)
    VECTOR_4D(rsi)
    mov rax, [rsi+STEP]
    sub dword ptr [rsi+PASSES], 1
    lea rsi, [rsi+rax]
    jnz .Ltext_pass
    sub rsi, BASE
    jmp .Lfinish

// ---- The first chunk's key stream, while the integer units make block 0, and block 1 if there are two areas ----------
.Lkey_pass:
    lea AREAP, [rsi+BASE]
    xor eax, eax
.Lscalar_block:
    scalar_begin
    mov dword ptr [rsi+COUNT], 10
    .p2align 6
.Lkey_double_round:
    SCALAR_1A
    VECTOR_1A(AREAP)
    SCALAR_1B
    VECTOR_1B(AREAP)
    SCALAR_1C
    VECTOR_1C(AREAP)
    SCALAR_1D
    VECTOR_1D(AREAP)
    SCALAR_2A
    VECTOR_2A(AREAP)
    SCALAR_2B
    VECTOR_2B(AREAP)
    SCALAR_2C
    VECTOR_2C(AREAP)
    SCALAR_2D
    VECTOR_2D(AREAP)
    SCALAR_3A
    VECTOR_3A(AREAP)
    SCALAR_3B
    VECTOR_3B(AREAP)
    SCALAR_3C
    VECTOR_3C(AREAP)
    SCALAR_3D
    VECTOR_3D(AREAP)
    SCALAR_4A
    VECTOR_4A(AREAP)
    SCALAR_4B
    VECTOR_4B(AREAP)
    SCALAR_4C
    VECTOR_4C(AREAP)
    SCALAR_4D
    VECTOR_4D(AREAP)
    add AREAP, [AREAP+STEP]
    sub dword ptr [rsi+COUNT], 1
    jnz .Lkey_double_round
    cmp dword ptr [rsi+STAGE], 0
    jne .Lscalar_stream

    add XB0, [rsi+INITIAL+16]               // s = words 4 to 7
    add XB1, [rsi+INITIAL+20]
    add XB2, [rsi+INITIAL+24]
    add XB3, [rsi+INITIAL+28]
    mov [rsi+S_KEY], XB0
    mov [rsi+S_KEY+4], XB1
    mov [rsi+S_KEY+8], XB2
    mov [rsi+S_KEY+12], XB3
    mov ecx, [rsi+SCALAR+8]                 // r = words 0 to 3, clamped
    mov edx, [rsi+SCALAR+12]
    add eax, [rsi+INITIAL]
    add ebx, [rsi+INITIAL+4]
    add ecx, [rsi+INITIAL+8]
    add edx, [rsi+INITIAL+12]
    shl rbx, 32
    shl rdx, 32
    or rax, rbx
    or rcx, rdx
    movabs rbx, 0x0ffffffc0fffffff
    movabs rdx, 0x0ffffffc0ffffffc
    and rax, rbx
    and rcx, rdx
    mov [rsi+R_KEY], rax
    mov [rsi+R_KEY+8], rcx
    mov dword ptr [rsi+STAGE], 1
    mov eax, 1
    cmp dword ptr [rsi+EXTRA], 0
    jne .Lscalar_block
    jmp .Lkey_known

.Lscalar_stream:
    add eax, [rsi+INITIAL]
    add ebx, [rsi+INITIAL+4]
    add ecx, [rsi+INITIAL+32]
    add edx, [rsi+INITIAL+36]
    add XB0, [rsi+INITIAL+16]
    add XB1, [rsi+INITIAL+20]
    add XB2, [rsi+INITIAL+24]
    add XB3, [rsi+INITIAL+28]
    add XD0, 1
    add XD1, [rsi+INITIAL+52]
    add XD2, [rsi+INITIAL+56]
    add XD3, [rsi+INITIAL+60]
    mov [rsi+STREAM], eax
    mov [rsi+STREAM+4], ebx
    mov [rsi+STREAM+16], XB0
    mov [rsi+STREAM+20], XB1
    mov [rsi+STREAM+24], XB2
    mov [rsi+STREAM+28], XB3
    mov [rsi+STREAM+32], ecx
    mov [rsi+STREAM+36], edx
    mov [rsi+STREAM+48], XD0
    mov [rsi+STREAM+52], XD1
    mov [rsi+STREAM+56], XD2
    mov [rsi+STREAM+60], XD3
    mov eax, [rsi+SCALAR+8]
    mov ebx, [rsi+SCALAR+12]
    mov ecx, [rsi+SCALAR+40]
    mov edx, [rsi+SCALAR+44]
    add eax, [rsi+INITIAL+8]
    add ebx, [rsi+INITIAL+12]
    add ecx, [rsi+INITIAL+40]
    add edx, [rsi+INITIAL+44]
    mov [rsi+STREAM+8], eax
    mov [rsi+STREAM+12], ebx
    mov [rsi+STREAM+40], ecx
    mov [rsi+STREAM+44], edx

.Lkey_known:
    mov rax, [rsi+R_KEY]
    mov rcx, [rsi+R_KEY+8]

// ---- r = (rax, rcx): s1 and the powers that this many bytes need -----------------------------------------------------
.Lpowers:
    mov [rsi+R_KEY], rax
    mov [rsi+R_KEY+8], rcx
    mov HA0, rax
    mov HA1, rcx
    mov rdx, rcx
    shr rdx, 2
    add rdx, rcx
    mov [rsi+R_KEY+16], rdx
    xor HA2, HA2
    mov [rsi+POWERS], rax
    mov [rsi+POWERS+8], rcx
    mov [rsi+POWERS+16], HA2
    mov rcx, [rsi+LEFT]
    mov eax, 1024
    cmp rcx, rax
    cmova rcx, rax
    shr ecx, 4
    or ecx, 2
    bsr ecx, ecx
    sub ecx, 1                              // 0 to 5
    mov [rsi+POWERS_LAST], rcx
    imul ecx, ecx, 24
    lea rcx, [rsi+POWERS+rcx]
    lea rdi, [rsi+POWERS]
    mov [rsi+COUNT], rcx
    cmp rdi, rcx
    je 2f
1:  poly_multiply_long rdi
    add rdi, 24
    mov [rdi], HA0
    mov [rdi+8], HA1
    mov [rdi+16], HA2
    cmp rdi, [rsi+COUNT]
    jne 1b
2:  mov rdi, [rsi+ARGS]
    cmp dword ptr [rsi+STAGE], 2
    je .Lnext
    mov PA, [rdi+SEALANE_ARG_AD]
    mov rax, [rdi+SEALANE_ARG_AD_BYTES]
    mov dword ptr [rsi+AFTER], TO_CHUNK
    xor edi, edi

// ---- Span of rax bytes at PA: chain A takes all blocks but the last 2^k, chain B these. Then a pass if edi -----------
.Lspan:
    mov ecx, eax
    and ecx, 15
    and rax, -16
    mov [rsi+SPAN_TAIL], rcx
    lea PB, [PA+rax]
    mov [rsi+SPAN_END], PB
    shr rax, 4
    or rax, 1
    bsr rcx, rax
    sub ecx, 1
    xor eax, eax
    cmp ecx, [rsi+POWERS_LAST]
    cmovg ecx, [rsi+POWERS_LAST]
    cmp ecx, 2
    cmovl ecx, eax
    mov [rsi+SPAN_POWER], ecx
    mov eax, 1
    shl eax, cl
    and eax, -2
    shl eax, 4
    sub PB, rax
    mov [rsi+SPAN_B], PB
    mov HA0, [rsi+H]
    mov HA1, [rsi+H+8]
    mov HA2, [rsi+H+16]
    xor r11d, r11d
    xor r12d, r12d
    xor r13d, r13d
    test edi, edi
    jnz .Lprepare

// ---- What the pass left of the span ----------------------------------------------------------------------------------
.Lfinish:
    cmp PB, [rsi+SPAN_END]
    je 2f
1:  poly_block rsi+R_KEY, HA0, HA1, HA2, PA
    poly_block rsi+R_KEY, HB0, HB1, HB2, PB
    cmp PB, [rsi+SPAN_END]
    jne 1b
2:  cmp PA, [rsi+SPAN_B]
    je 2f
1:  poly_block rsi+R_KEY, HA0, HA1, HA2, PA
    cmp PA, [rsi+SPAN_B]
    jne 1b
2:  mov eax, [rsi+SPAN_POWER]
    test eax, eax
    jz 2f
    mov [rsi+H], HB0
    mov [rsi+H+8], HB1
    mov [rsi+H+16], HB2
    imul eax, eax, 24
    lea rdi, [rsi+POWERS+rax]
    poly_multiply_long rdi                  // hA r^(2^k) + hB
    add HA0, [rsi+H]
    adc HA1, [rsi+H+8]
    adc HA2, [rsi+H+16]
2:  mov ecx, [rsi+SPAN_TAIL]
    test ecx, ecx
    jz 5f
    mov rbx, [rsi+SPAN_END]
    cmp ecx, 8
    jb 2f
    mov rax, [rbx]
    mov rdx, [rbx+rcx-8]
    lea ecx, [rcx*8-120]
    neg ecx
    shrx rdx, rdx, rcx
    shr rdx, 8
    jmp 4f
2:  xor edi, edi
    cmp ecx, 4
    jb 3f
    mov eax, [rbx]
    mov edx, [rbx+rcx-4]
    lea ecx, [rcx*8-32]
    shlx rdx, rdx, rcx
    or rax, rdx
    xor edx, edx
    jmp 4f
3:  movzx eax, byte ptr [rbx]
    movzx edi, byte ptr [rbx+rcx-1]
    lea edx, [rcx*8-8]
    shlx edi, edi, edx
    or eax, edi
    mov edi, ecx
    shr edi, 1
    movzx edx, byte ptr [rbx+rdi]
    shl edi, 3
    shlx edx, edx, edi
    or eax, edx
    xor edx, edx
4:  add HA0, rax
    adc HA1, rdx
    adc HA2, 1
    poly_multiply rsi+R_KEY, HA0, HA1, HA2
5:  mov [rsi+H], HA0
    mov [rsi+H+8], HA1
    mov [rsi+H+16], HA2
    mov eax, [rsi+AFTER]
    cmp eax, TO_OUTPUT
    je .Loutput
    ja .Lfinal
    mov dword ptr [rsi+AFTER], TO_OUTPUT
    mov rdi, [rsi+ARGS]
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jz .Loutput
    mov PA, [rsi+IN]
    mov rax, [rsi+CHUNK]
    xor edi, edi
    jmp .Lspan

// ---- Input ^ key stream ----------------------------------------------------------------------------------------------
.Loutput:
    mov rax, [rsi+IN]
    mov rcx, [rsi+OUT]
    mov rbx, [rsi+CHUNK]
    lea AREAP, [rsi+BASE]
    cmp dword ptr [rsi+EXTRA], 0
    je .Loutput_area
    vmovdqu ymm0, [rsi+STREAM]
    vmovdqu ymm1, [rsi+STREAM+32]
    vpxor ymm0, ymm0, [rax]
    vpxor ymm1, ymm1, [rax+32]
    vmovdqu [rcx], ymm0
    vmovdqu [rcx+32], ymm1
    add rax, 64
    add rcx, 64
    sub rbx, 64
.Loutput_area:
    mov r8, rax
    mov r9, rcx
    cmp rbx, 512
    jae 2f
    test rbx, rbx
    jz .Loutput_done
    lea rax, [rsi+COPY]
    mov rcx, rax
    vpxor xmm0, xmm0, xmm0
  .irp line, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    vmovdqa [rax+32*\line], ymm0
  .endr
2:  output_half 0
    output_half 1
    cmp rax, r8
    jne .Loutput_part
    add rax, 512
    add rcx, 512
    add AREAP, AREA
    sub rbx, 512
    jnz .Loutput_area
    jmp .Loutput_done

.Loutput_part:
    sub rbx, 32
    jb 2f
1:  vmovdqu ymm0, [r8]
    vpxor ymm0, ymm0, [rax]
    vmovdqu [r9], ymm0
    add rax, 32
    add r8, 32
    add r9, 32
    sub rbx, 32
    jae 1b
2:  test ebx, 16
    jz 1f
    vmovdqu xmm0, [r8]
    vpxor xmm0, xmm0, [rax]
    vmovdqu [r9], xmm0
    add rax, 16
    add r8, 16
    add r9, 16
1:  test ebx, 8
    jz 1f
    mov rdx, [r8]
    xor rdx, [rax]
    mov [r9], rdx
    add rax, 8
    add r8, 8
    add r9, 8
1:  test ebx, 4
    jz 1f
    mov edx, [r8]
    xor edx, [rax]
    mov [r9], edx
    add rax, 4
    add r8, 4
    add r9, 4
1:  test ebx, 2
    jz 1f
    movzx edx, word ptr [r8]
    xor dx, [rax]
    mov [r9], dx
    add rax, 2
    add r8, 2
    add r9, 2
1:  test ebx, 1
    jz .Loutput_done
    movzx edx, byte ptr [r8]
    xor dl, [rax]
    mov [r9], dl

.Loutput_done:
    mov rax, [rsi+CHUNK]
    mov ebx, [rsi+BLOCKS]
    mov PA, [rsi+OUT]
    add [rsi+IN], rax
    add [rsi+OUT], rax
    sub [rsi+LEFT], rax
    add [rsi+INITIAL+48], ebx
    mov qword ptr [rsi+EXTRA], 0
    mov rdi, [rsi+ARGS]
    mov ecx, TO_OUTPUT
    mov ebx, TO_FINAL
    cmp qword ptr [rsi+LEFT], 0
    cmove ecx, ebx
    mov [rsi+AFTER], ecx
    setne cl
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    movzx edi, cl
    jz .Lspan                               // seal: what was just written
    test edi, edi
    jz .Lfinal

.Lopen_next:
    mov PA, [rsi+IN]
    mov rcx, [rsi+LEFT]
    mov ebx, 512
    mov eax, 1024
    cmp rcx, rbx
    cmovbe rax, rbx
    cmp rcx, rax
    cmovb rax, rcx
    jmp .Lspan

.Lnext:                                     // a later part of a long packet begins
    mov dword ptr [rsi+STAGE], 1
    cmp qword ptr [rsi+LEFT], 0
    je .Lfinal
    mov dword ptr [rsi+AFTER], TO_OUTPUT
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    mov edi, 1
    jnz .Lopen_next
    mov PA, [rsi+IN]
    xor eax, eax
    jmp .Lspan

// ---- Tag, or state for the next part ---------------------------------------------------------------------------------
.Lfinal:
    mov HA0, [rsi+H]
    mov HA1, [rsi+H+8]
    mov HA2, [rsi+H+16]
    mov r11, [rsi+ARGS]
    test dword ptr [r11+SEALANE_ARG_FLAGS], SEALANE_FLAG_LAST
    jz 1f
    add HA0, [r11+SEALANE_ARG_AD_BYTES]
    adc HA1, [r11+SEALANE_ARG_TOTAL]
    adc HA2, 1
    poly_multiply rsi+R_KEY, HA0, HA1, HA2
    mov rax, HA0                            // h - p if that is not negative
    mov rcx, HA1
    add rax, 5
    adc rcx, 0
    adc HA2, 0
    cmp HA2, 4
    cmovae HA0, rax
    cmovae HA1, rcx
    add HA0, [rsi+S_KEY]
    adc HA1, [rsi+S_KEY+8]
    mov rax, [r11+SEALANE_ARG_TAG]
    mov [rax], HA0
    mov [rax+8], HA1
    jmp 2f
1:  mov rax, [r11+SEALANE_ARG_STATE]
    mov [rax+SEALANE_STATE_H], HA0
    mov [rax+SEALANE_STATE_H+8], HA1
    mov [rax+SEALANE_STATE_H+16], HA2
    mov rcx, [rsi+R_KEY]
    mov rdx, [rsi+R_KEY+8]
    mov [rax+SEALANE_STATE_R], rcx
    mov [rax+SEALANE_STATE_R+8], rdx
    mov rcx, [rsi+S_KEY]
    mov rdx, [rsi+S_KEY+8]
    mov [rax+SEALANE_STATE_S], rcx
    mov [rax+SEALANE_STATE_S+8], rdx
    mov ecx, [r11+SEALANE_ARG_FLAGS]
    and ecx, SEALANE_FLAG_FIRST             // counter: 1 with FIRST
    test ecx, ecx
    jnz 3f
    mov rcx, [rax+SEALANE_STATE_COUNTER]
3:  mov rdx, [r11+SEALANE_ARG_BYTES]
    shr rdx, 6
    add rcx, rdx
    mov [rax+SEALANE_STATE_COUNTER], rcx

2:  vpxor xmm0, xmm0, xmm0
    lea rax, [rsi+INITIAL]
    lea rcx, [rsi+AREA_A+2*AREA]
1:  vmovdqa [rax], ymm0
    vmovdqa [rax+32], ymm0
    add rax, 64
    cmp rax, rcx
    jne 1b
    vzeroall
endfunction

constants sealane_chacha20poly1305_avx2_constants
    .ascii "expand 32-byte k"
    .quad 0, 0
    .byte 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13     // 32-bit words <<< 16
    .byte 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13
    .byte 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14     // <<< 8
    .byte 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14
    .long 0, 1, 2, 3, 4, 5, 6, 7
    .long 8, 8, 8, 8, 8, 8, 8, 8
    .long 0
    .long 0x00040200                        // 2, 4, 8, 16, 30 steps of both chains, spread over 30 places
    .long 0x02080208
    .long 0x00492492
    .long 0x2aaaaaab
    .long 0x3fffffff
    .long 0, 0
endconstants
