/* ChaCha20-Poly1305 with AVX2: seals or opens one packet, or one part of a long one, in one call.
 *
 *     void sealane_chacha20poly1305_avx2(const args *a, void *scratch, const void *consts);
 *
 * CPU        x86-64 with AVX2, BMI2
 * args       all SEALANE_ARG_* (asm/args.h); writes OUT[BYTES] and, by flags, TAG[16] or STATE[64]
 * scratch    2.2 KiB behind the saved registers, wiped before the return; stack 0
 * consts     sealane_chacha20poly1305_avx2_constants
 * registers  all but rsp, rbp; rsi holds scratch, displaced by FRAME until the end; vectors are zeroed
 * branches   and addresses depend on BYTES, AD_BYTES, FLAGS only
 *
 * ChaCha20 (RFC 8439, 2.3): a state of 4x4 words (constants; key; key; counter, nonce), 10 double rounds of
 *     a += b, d = (d ^ a) <<< 16;  c += d, b = (b ^ c) <<< 12;  a += b, d = (d ^ a) <<< 8;  c += d, b = (b ^ c) <<< 7
 * on the 4 columns, then on the 4 diagonals; the key stream block is the result plus the initial state.
 * Block 0, the Poly1305 key (2.6), is made in integer registers while the vectors make the first text's blocks.
 *
 * Poly1305 (2.5): h = (h + m) r mod p = 2^130 - 5 for each block m of 16 bytes and a one above it. With h = h0 + 2^64 h1 +
 * 2^128 h2, r = r0 + 2^64 r1, 4 | r1 (clamped), and 2^130 = 5, that is 2^128 r1 = s1 := r1 + r1/4:
 *     h r = (h0 r0 + h1 s1) + 2^64 (h0 r1 + h1 r0 + h2 s1) + 2^128 (h2 r0),   then h += 5 (h >> 130) without these bits.
 * Two chains share a span of n blocks, as each step waits for the one before: A takes n - l, B the last l, and their sum is
 * hA r^l + hB, for l = 2^k or 2^k + 2^j next to n/2. They run beside ChaCha20 where there is text: what is opened next, or
 * was sealed in the pass before.
 */
#include "../asm.S"

#if defined(__x86_64__)

isa .sse2 .ssse3 .sse4.1 .avx .avx2 .bmi2

/* Scratch, relative to the displaced rsi: what the loops use lies within 127 bytes. */
#define FRAME (SEALANE_SCRATCH_SAVE_BYTES + 128)
#define INITIAL -128        /* initial state; word 12 counts the first block of the vectors' */
#define R_KEY -64           /* r0, r1, s1 */
#define H -40               /* h0, h1, h2 */
#define S_KEY -16
#define SCALAR 0            /* rows a and c of the block in integer registers, where they are not there */
#define COUNT 32            /* rounds left; 0 outside of the loops */
#define MODE 40             /* MODE_*: where the chunk's blocks come from */
#define STAGE 48            /* STAGE_* */
#define SCALAR_ON 56        /* do the integer registers make a block now? */
#define EXTRA 64            /* 64 if they make the chunk's first block too, else 0 */
#define AFTER 72            /* AFTER_*: what follows the span or the powers */
#define SPAN_END 80         /* what is being authenticated: end of its whole blocks, */
#define SPAN_B 88           /* where chain B began, */
#define SPAN_TAIL 96        /* bytes behind the whole blocks, */
#define SPAN_POWER 104      /* offsets in POWERS of r^(2^k) and */
#define SPAN_POWER2 112     /* r^(2^j), or 0 */
#define ARGS 120
#define TABLE 128           /* the constants */
#define IN 136
#define OUT 144
#define LEFT 152            /* bytes of IN */
#define CHUNK 160           /* bytes of them in this pass */
#define BLOCKS 168          /* blocks of the vectors in this pass */
#define POWERS_LAST 176     /* log2 of the highest that chains may use, 0 for none */
#define POWERS_AT 184       /* the highest that is known */
#define POWERS_END 192      /* and the highest that is needed */
#define POWERS 200          /* r, r^2, r^4, .. r^32, three words each */
#define STREAM 352          /* key stream of the EXTRA block, then of */
#define COPY 416            /* four blocks, or of the areas' eight that text ends in */
#define SMALL_END 768       /* a packet of one pass by rows uses nothing from here */
#define MASK16 928
#define MASK8 960
#define ROW(i) (992+32*(i)) /* area A: word i of 8 blocks */
#define AREA 512            /* from area A to area B */
#define END 2048

#define MODE_SCALAR 0       /* EXTRA only: up to 64 bytes */
#define MODE_ROWS 1         /* 4 blocks, each vector a row of two: up to 256 bytes, or 320 with EXTRA */
#define MODE_COLUMNS 2      /* area A: up to 512 bytes, or 576; the key's pass keeps it in vectors */
#define MODE_WIDE 3         /* areas A and B: up to 1024 bytes, or 1088 */

#define STAGE_BEGIN 0
#define STAGE_KEY 1         /* r and s are known */
#define STAGE_POWERS 2      /* and the powers of r, or their places in the rounds are settled */

#define AFTER_OUTPUT 0
#define AFTER_KEY 1         /* the second half of the key's pass */
#define AFTER_SPAN 2        /* authenticate the chunk */
#define AFTER_ROUND 3       /* the second half of the key's pass, with powers or text beside it */
#define AFTER_TAG 4
#define AFTER_RESUME 5

#define CONST_SIGMA 0
#define CONST_ROTATE16 32
#define CONST_ROTATE8 64
#define CONST_COUNT 96      /* 0 to 7 */
#define CONST_EIGHT 128
#define CONST_ROWS 160      /* 0, 1 in word 0 of the lanes */
#define CONST_ROWS2 192     /* 2, 3 */
#define TABLE_AT rdx

/* GNU as and clang choose the same, shorter encoding if a low register is the last operand of vpxor and vpor. */

// a += b, d = (d ^ a) <<< 16 or 8
.macro vector_ad a, b, d, e, f, g, mask
    vpaddd \a, \a, \b
    vpaddd \e, \e, \f
    vpxor \d, \a, \d
    vpxor \g, \e, \g
    vpshufb \d, \d, \mask
    vpshufb \g, \g, \mask
.endm

// c += d, b = (b ^ c) <<< left
.macro vector_cb c, d, b, g, h, f, left, t, u
    vpaddd \c, \c, \d
    vpaddd \g, \g, \h
    vpxor \b, \c, \b
    vpxor \f, \g, \f
    vpslld \t, \b, \left
    vpslld \u, \f, \left
    vpsrld \b, \b, 32-\left
    vpsrld \f, \f, 32-\left
    vpor \b, \t, \b
    vpor \f, \u, \f
.endm

// ---- ChaCha20, 8 blocks: one word of each in a register, c2 and c3 or c0 and c1 in area A ----------------------------
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

.macro columns_pair a, b, d, e, f, g
    vector_ad \a, \b, \d, \e, \f, \g, [rsi+MASK16]
    vector_cb C0, \d, \b, C1, \g, \f, 12, T0, T1
    vector_ad \a, \b, \d, \e, \f, \g, [rsi+MASK8]
    vector_cb C0, \d, \b, C1, \g, \f, 7, T0, T1
.endm

.macro columns_c_swap put, get
    vmovdqa [rsi+ROW(\put)], C0
    vmovdqa [rsi+ROW(\put+1)], C1
    vmovdqa C0, [rsi+ROW(\get)]
    vmovdqa C1, [rsi+ROW(\get+1)]
.endm

.macro columns_round
    columns_pair A0, B0, D0, A1, B1, D1
    columns_c_swap 8, 10
    columns_pair A2, B2, D2, A3, B3, D3
.endm

.macro columns_diagonal_round
    columns_pair A0, B1, D3, A1, B2, D0
    columns_c_swap 10, 8
    columns_pair A2, B3, D1, A3, B0, D2
.endm

// ---- ChaCha20, 4 blocks: a row of two of them in a register. Between the rounds a, c and d turn, as b is always last --
#define E0 ymm0
#define F0 ymm1
#define G0 ymm2
#define H0 ymm3
#define E1 ymm4
#define F1 ymm5
#define G1 ymm6
#define H1 ymm7
#define U0 ymm8
#define U1 ymm9
#define ROWS16 ymm10
#define ROWS8 ymm11

.macro rows_round turn_a, turn_d, turn_c
    vector_ad E0, F0, H0, E1, F1, H1, ROWS16
    vector_cb G0, H0, F0, G1, H1, F1, 12, U0, U1
    vector_ad E0, F0, H0, E1, F1, H1, ROWS8
    vpshufd E0, E0, \turn_a
    vpshufd E1, E1, \turn_a
    vector_cb G0, H0, F0, G1, H1, F1, 7, U0, U1
    vpshufd H0, H0, \turn_d
    vpshufd H1, H1, \turn_d
    vpshufd G0, G0, \turn_c
    vpshufd G1, G1, \turn_c
.endm

// ---- ChaCha20, 8 blocks in an area: b in registers, as it closes a round and opens the next; a, c, d in memory --------
//
// The word of a, b, c, d at place p is put where the next round wants it, at place 1-p, 2-p, 3-p, -p mod 4: this turns
// columns into diagonals and diagonals into columns alike, so every round is the same code.
#define WA0 ymm0
#define WA1 ymm1
#define WA2 ymm2
#define WA3 ymm3
#define WB0 ymm4
#define WB1 ymm5
#define WB2 ymm6
#define WB3 ymm7
#define KA0 ymm8            /* places 0 and 2 */
#define KA2 ymm9
#define KD0 ymm10
#define KD2 ymm11
#define KC0 ymm12
#define KC2 ymm13
#define KT0 ymm14
#define KT2 ymm15
#define KA1 ymm10           /* places 1 and 3, while what is left of the others waits for its place */
#define KA3 ymm11
#define KD1 ymm14
#define KD3 ymm15
#define KC1 ymm8
#define KC3 ymm9
#define KT1 ymm12
#define KT3 ymm13

.macro area_round area, b0, b1, b2, b3
    vpaddd KA0, \b0, [rsi+AREA*\area+ROW(0)]       // a += b
    vpaddd KA2, \b2, [rsi+AREA*\area+ROW(2)]
    vpxor KD0, KA0, [rsi+AREA*\area+ROW(12)]     // d = (d ^ a) <<< 16
    vpxor KD2, KA2, [rsi+AREA*\area+ROW(14)]
    vpshufb KD0, KD0, [rsi+MASK16]
    vpshufb KD2, KD2, [rsi+MASK16]
    vpaddd KC0, KD0, [rsi+AREA*\area+ROW(8)]    // c += d
    vpaddd KC2, KD2, [rsi+AREA*\area+ROW(10)]
    vpxor \b0, KC0, \b0                           // b = (b ^ c) <<< 12
    vpxor \b2, KC2, \b2
    vpslld KT0, \b0, 12
    vpslld KT2, \b2, 12
    vpsrld \b0, \b0, 20
    vpsrld \b2, \b2, 20
    vpor \b0, KT0, \b0
    vpor \b2, KT2, \b2
    vpaddd KA0, KA0, \b0                          // a += b
    vpaddd KA2, KA2, \b2
    vpxor KD0, KD0, KA0                        // d = (d ^ a) <<< 8
    vpxor KD2, KD2, KA2
    vpshufb KD0, KD0, [rsi+MASK8]
    vpshufb KD2, KD2, [rsi+MASK8]
    vmovdqa [rsi+AREA*\area+ROW(12)], KD0
    vmovdqa [rsi+AREA*\area+ROW(14)], KD2
    vpaddd KC0, KC0, KD0                      // c += d
    vpaddd KC2, KC2, KD2
    vpxor \b0, KC0, \b0                           // b = (b ^ c) <<< 7
    vpxor \b2, KC2, \b2
    vpslld KT0, \b0, 7
    vpslld KT2, \b2, 7
    vpsrld KD0, \b0, 25
    vpsrld KD2, \b2, 25
    vpor \b2, KD0, KT0
    vpor \b0, KD2, KT2

    vpaddd KA1, \b1, [rsi+AREA*\area+ROW(1)]      // a += b
    vpaddd KA3, \b3, [rsi+AREA*\area+ROW(3)]
    vmovdqa [rsi+AREA*\area+ROW(1)], KA0
    vmovdqa [rsi+AREA*\area+ROW(3)], KA2
    vpxor KD1, KA1, [rsi+AREA*\area+ROW(13)]    // d = (d ^ a) <<< 16
    vpxor KD3, KA3, [rsi+AREA*\area+ROW(15)]
    vpshufb KD1, KD1, [rsi+MASK16]
    vpshufb KD3, KD3, [rsi+MASK16]
    vpaddd KC1, KD1, [rsi+AREA*\area+ROW(9)]     // c += d
    vpaddd KC3, KD3, [rsi+AREA*\area+ROW(11)]
    vmovdqa [rsi+AREA*\area+ROW(11)], KC0
    vmovdqa [rsi+AREA*\area+ROW(9)], KC2
    vpxor \b1, KC1, \b1                            // b = (b ^ c) <<< 12
    vpxor \b3, KC3, \b3
    vpslld KT1, \b1, 12
    vpslld KT3, \b3, 12
    vpsrld \b1, \b1, 20
    vpsrld \b3, \b3, 20
    vpor \b1, KT1, \b1
    vpor \b3, KT3, \b3
    vpaddd KA1, KA1, \b1                        // a += b
    vpaddd KA3, KA3, \b3
    vmovdqa [rsi+AREA*\area+ROW(0)], KA1
    vmovdqa [rsi+AREA*\area+ROW(2)], KA3
    vpxor KD1, KD1, KA1                       // d = (d ^ a) <<< 8
    vpxor KD3, KD3, KA3
    vpshufb KD1, KD1, [rsi+MASK8]
    vpshufb KD3, KD3, [rsi+MASK8]
    vmovdqa [rsi+AREA*\area+ROW(15)], KD1
    vmovdqa [rsi+AREA*\area+ROW(13)], KD3
    vpaddd KC1, KC1, KD1                        // c += d
    vpaddd KC3, KC3, KD3
    vmovdqa [rsi+AREA*\area+ROW(10)], KC1
    vmovdqa [rsi+AREA*\area+ROW(8)], KC3
    vpxor \b1, KC1, \b1                            // b = (b ^ c) <<< 7
    vpxor \b3, KC3, \b3
    vpslld KT1, \b1, 7
    vpslld KT3, \b3, 7
    vpsrld \b1, \b1, 25
    vpsrld \b3, \b3, 25
    vpor \b1, KT1, \b1
    vpor \b3, KT3, \b3
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
#define XB0_64 r8
#define XB1_64 r9
#define XB2_64 r10
#define XB3_64 r11
#define XD0_64 r12
#define XD1_64 r13
#define XD2_64 r14
#define XD3_64 rdi

.macro scalar_ad b, d, f, g, left           // a += b, d = (d ^ a) <<< left
    add XA0, \b
    add XA1, \f
    xor \d, XA0
    xor \g, XA1
    rol \d, \left
    rol \g, \left
.endm

.macro scalar_cb d, b, g, f, left           // c += d, b = (b ^ c) <<< left
    add XC0, \d
    add XC1, \g
    xor \b, XC0
    xor \f, XC1
    rol \b, \left
    rol \f, \left
.endm

.macro scalar_a_swap put, get               // the other two words of row a
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

.macro scalar_columns b, d, f, g             // of two columns, or diagonals
    scalar_ad \b, \d, \f, \g, 16
    scalar_cb \d, \b, \g, \f, 12
    scalar_ad \b, \d, \f, \g, 8
.endm

.macro scalar_double_round
    scalar_columns XB0, XD0, XB1, XD1
    scalar_a_swap 0, 2
    scalar_cb XD0, XB0, XD1, XB1, 7
    scalar_c_swap 4, 6
    scalar_columns XB2, XD2, XB3, XD3
    scalar_a_swap 2, 0
    scalar_cb XD2, XB2, XD3, XB3, 7
    scalar_columns XB1, XD3, XB2, XD0
    scalar_a_swap 0, 2
    scalar_cb XD3, XB1, XD0, XB2, 7
    scalar_c_swap 6, 4
    scalar_columns XB3, XD1, XB0, XD2
    scalar_a_swap 2, 0
    scalar_cb XD1, XB3, XD2, XB0, 7
.endm

// the initial state, with the counter in eax and pointers to the constants, the key and the nonce
#define KEY_AT r15
#define NONCE_AT rdi

.macro scalar_begin
    mov XD0, eax
    mov rax, [TABLE_AT+8]
    mov rcx, [KEY_AT+24]
    mov [rsi+SCALAR+8], rax
    mov [rsi+SCALAR+24], rcx
    mov XA0, [TABLE_AT]
    mov XA1, [TABLE_AT+4]
    mov XB0, [KEY_AT]
    mov XB1, [KEY_AT+4]
    mov XB2, [KEY_AT+8]
    mov XB3, [KEY_AT+12]
    mov XC0, [KEY_AT+16]
    mov XC1, [KEY_AT+20]
    mov XD1, [NONCE_AT]
    mov XD2, [NONCE_AT+4]
    mov XD3, [NONCE_AT+8]
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
#define P0 rax              /* a product of five words; the last two where room is */
#define P1 rcx
#define P2 rbx
#define P3 r14
#define P4 r15
#define Q3 r13
#define Q4 rdi
#define L0 r11
#define L1 r12

.macro poly_add h0, h1, h2, from
    add \h0, [\from]
    adc \h1, [\from+8]
    adc \h2, 1
.endm

.macro poly_multiply r, h0, h1, h2         // h *= r, which lies at r: r0, r1, s1
    mov rdx, \h0
    mulx Y1, Y0, [\r+8]                     // y = h0 r1
    mulx X1, \h0, [\r]                      // x = h0 r0
    mov rdx, \h1
    mulx \h1, X0, [\r+16]                   // x += h1 s1
    add \h0, X0
    adc X1, \h1
    mulx X0, \h1, [\r]                      // y += h1 r0
    mov rdx, \h2
    imul rdx, [\r+16]                       // y += h2 s1: h2 < 12, so that it fits into the sum with x1 < 2.25 2^60
    imul \h2, [\r]                          // z = h2 r0
    add \h1, Y0
    adc X0, Y1
    add X1, rdx
    add \h1, X1                             // h = x + y 2^64 + z 2^128
    adc X0, \h2
    mov \h2, X0
    and \h2\()d, 3
    shr X0, 2
    lea X0, [X0+4*X0]                       // 2^130 = 5
    add \h0, X0
    adc \h1, 0
    adc \h2, 0
.endm

.macro poly_block r, h0, h1, h2, from
    poly_add \h0, \h1, \h2, \from
    poly_multiply \r, \h0, \h1, \h2
    add \from, 16
.endm

// hA = (p0, p1, p2, p3, p4) mod 2^130 - 5, a little above 2^130 at most
.macro poly_reduce p3, p4
    mov L0, P2
    mov r10d, ebx
    mov HA1, \p3
    mov L1, \p4
    and L0, -4
    and r10d, 3
    shl HA1, 62
    shl L1, 62
    shr P2, 2
    or P2, HA1
    add P0, L0                            // + 4 floor(p / 2^130)
    adc P1, \p3
    adc HA2, \p4
    shr \p3, 2
    shr \p4, 2
    or \p3, L1
    add P0, P2                            // + floor(p / 2^130)
    adc P1, \p3
    adc HA2, \p4
    mov L0, HA2
    and r10d, 3
    shr L0, 2
    lea L0, [L0+4*L0]
    add P0, L0
    adc P1, 0
    adc HA2, 0
    mov HA0, P0
    mov HA1, P1
.endm

// hA = hA^2; keeps PA, PB
.macro poly_square
    mov rdx, HA0
    mulx P1, P0, HA0                      // p0, p1 = h0^2
    mulx L1, L0, HA1
    mov rdx, HA1
    mulx Q3, P2, HA1                      // p2, p3 = h1^2
    xor edi, edi
    add L0, L0
    adc L1, L1
    adc Q3, 0                              // + 2 h0 h1 2^64
    add P1, L0
    adc P2, L1
    lea rdx, [HA2+HA2]
    mulx L1, L0, HA0                      // + 2 h0 h2 2^128
    adc Q3, 0
    add P2, L0
    adc Q3, L1
    mulx L1, L0, HA1                      // + 2 h1 h2 2^192
    adc Q4, L1
    imul HA2, HA2                           // + h2^2 2^256
    add Q3, L0
    adc Q4, HA2
    poly_reduce Q3, Q4
.endm

// hA *= the three words at [\at], all of them; uses all registers but rsi, HB2 and rdi
.macro poly_multiply_long at
    mov rdx, HA0
    mulx P1, P0, [\at]
    mulx P2, L0, [\at+8]
    add P1, L0
    adc P2, 0
    mov rdx, HA1
    mulx L1, L0, [\at]
    xor r15d, r15d
    add P1, L0
    adc P2, L1
    mulx P3, L0, [\at+8]
    adc P3, 0
    add P2, L0
    adc P3, 0
    mov rdx, [\at+16]
    mulx L1, L0, HA0
    add P2, L0
    adc P3, L1
    adc P4, 0
    mulx L1, L0, HA1
    add P3, L0
    adc P4, L1
    mov rdx, HA2
    mulx L1, L0, [\at]
    add P2, L0
    adc P3, L1
    adc P4, 0
    mulx L1, L0, [\at+8]
    add P3, L0
    adc P4, L1
    imul rdx, [\at+16]
    add P4, rdx
    poly_reduce P3, P4
.endm

// ---- Output: 8 of the 16 words of 8 blocks, a vector each; turned to 32 bytes of each block, and xored -----------------
#define AREAP r10
#define INPUT r8
#define OUTPUT r9
#define BYTES rbx            /* of input left */
#define BYTES_32 ebx
#define FROM rax             /* what is xored, where to */
#define TO rcx
#define WORDS r11            /* of the initial state */
#define WORDS_END r12
#define PARTIAL edi          /* 1 if less than 8 blocks are left */
#define COUNTERS ymm15       /* what word 12 has in each block above INITIAL's */
#define W0 ymm0
#define W1 ymm1
#define W2 ymm2
#define W3 ymm3
#define W4 ymm4
#define W5 ymm5
#define W6 ymm6
#define W7 ymm7
#define W8 ymm8
#define W9 ymm9
#define W10 ymm10
#define W11 ymm11
#define W12 ymm12
#define W13 ymm13

.macro output_row to, row
    vpbroadcastd \to, [WORDS+4*\row]
    vpaddd \to, \to, [AREAP+ROW(\row)]
.endm

.macro transpose_four x, y, z, w, s, t     // result in order: y, w, s, t
    vpunpckldq \s, \x, \y
    vpunpckhdq \x, \x, \y
    vpunpckldq \t, \z, \w
    vpunpckhdq \z, \z, \w
    vpunpcklqdq \y, \s, \t
    vpunpckhqdq \w, \s, \t
    vpunpcklqdq \s, \x, \z
    vpunpckhqdq \t, \x, \z
.endm

.macro output_pair x, y, block
    vinserti128 W12, \x, xmm\y, 1
    vperm2i128 W13, \x, ymm\y, 0x31
    vpxor W12, W12, [FROM+64*\block]
    vpxor W13, W13, [FROM+64*\block+256]
    vmovdqu [TO+64*\block], W12
    vmovdqu [TO+64*\block+256], W13
.endm

scratch_end 2432
function sealane_chacha20poly1305_avx2

// ---- Begin -----------------------------------------------------------------------------------------------------------
    add rsi, FRAME
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
    vmovdqa xmm0, [TABLE_AT]
    vmovdqu ymm1, [r8]
    vmovq xmm2, [r9]
    vpinsrd xmm2, xmm2, [r9+8], 2
    vpslldq xmm2, xmm2, 4
    vmovdqa [rsi+INITIAL], xmm0
    vmovdqu [rsi+INITIAL+16], ymm1
    xor eax, eax
    mov [rsi+MODE], eax
    mov [rsi+STAGE], rax
    mov [rsi+EXTRA], rax
    mov dword ptr [rsi+SCALAR_ON], 1
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_FIRST
    jz .Lresume
    mov [rsi+H], rax
    mov [rsi+H+8], rax
    mov [rsi+H+16], rax
    cmp rbx, 320
    ja 2f
    cmp rbx, 64
    jbe 1f

    // 65 to 320 bytes: rows
    mov dword ptr [rsi+MODE], MODE_ROWS
    mov ecx, 256
    cmp rcx, rbx
    adc eax, 1                              // the vector units start at block 1, or 2
    vpinsrd xmm2, xmm2, eax, 0
    vmovdqa [rsi+INITIAL+48], xmm2
    sub eax, 1
    shl eax, 6
    mov [rsi+EXTRA], eax
    mov dword ptr [rsi+BLOCKS], 4
    mov [rsi+CHUNK], rbx
    vmovdqa ROWS16, [TABLE_AT+CONST_ROTATE16]
    vmovdqa ROWS8, [TABLE_AT+CONST_ROTATE8]
    vinserti128 H0, ymm2, xmm2, 1
    vinserti128 E0, ymm0, xmm0, 1
    vpermq G0, ymm1, 0xee
    vpermq F0, ymm1, 0x44
    vpaddd H1, H0, [TABLE_AT+CONST_ROWS2]
    vpaddd H0, H0, [TABLE_AT+CONST_ROWS]
    vmovdqa E1, E0
    vmovdqa F1, F0
    vmovdqa G1, G0
    jmp .Lkey_pass

    // up to 64 bytes
1:  vmovdqa [rsi+INITIAL+48], xmm2
    mov [rsi+CHUNK], rbx
    mov dword ptr [rsi+EXTRA], 64
    jmp .Lkey_pass

    // more than 320 bytes
2:  mov ecx, 512
    cmp rcx, rbx
    adc eax, 1
    vpinsrd xmm2, xmm2, eax, 0
    vmovdqa [rsi+INITIAL+48], xmm2
    sub eax, 1
    shl eax, 6
    mov [rsi+EXTRA], eax
    cmp rbx, 576
    jbe 1f
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jnz 3f
    lea rax, [rbx-1025]
    cmp rax, 64
    jb .Lareas                              // 1025 to 1088 bytes
3:  mov dword ptr [rsi+EXTRA], 0            // so that the second half has integer registers to spare
    mov dword ptr [rsi+INITIAL+48], 1
    jmp .Lareas

    // 321 to 576 bytes: columns
1:  mov dword ptr [rsi+MODE], MODE_COLUMNS
    mov dword ptr [rsi+BLOCKS], 8
    mov [rsi+CHUNK], rbx
    vmovdqa ymm8, [TABLE_AT+CONST_ROTATE16]
    vmovdqa ymm9, [TABLE_AT+CONST_ROTATE8]
    vmovdqa [rsi+MASK16], ymm8
    vmovdqa [rsi+MASK8], ymm9
    vpbroadcastd B0, [r8]
    vpbroadcastd B1, [r8+4]
    vpbroadcastd B2, [r8+8]
    vpbroadcastd B3, [r8+12]
    vpbroadcastd D0, xmm2                   // before A2, which is there
    vpbroadcastd A0, [TABLE_AT]
    vpbroadcastd A1, [TABLE_AT+4]
    vpbroadcastd A2, [TABLE_AT+8]
    vpbroadcastd A3, [TABLE_AT+12]
    vpbroadcastd D1, [r9]
    vpbroadcastd D2, [r9+4]
    vpbroadcastd D3, [r9+8]
    vpaddd D0, D0, [TABLE_AT+CONST_COUNT]
    vpbroadcastd C0, [r8+24]
    vpbroadcastd C1, [r8+28]
    vmovdqa [rsi+ROW(10)], C0
    vmovdqa [rsi+ROW(11)], C1
    vpbroadcastd C0, [r8+16]
    vpbroadcastd C1, [r8+20]
    jmp .Lkey_pass

// ---- Begin a pass over areas; keeps r8 to r15 ------------------------------------------------------------------------
.Lareas:
    mov TABLE_AT, [rsi+TABLE]
    mov rax, [rsi+EXTRA]
    mov rbx, [rsi+LEFT]
    lea rcx, [rax+512]
    cmp rcx, rbx
    sbb ecx, ecx
    neg ecx                                 // 1 if both are needed, else 0
    lea edi, [rcx*8+8]
    mov [rsi+BLOCKS], edi
    shl edi, 6
    add rax, rdi
    cmp rbx, rax
    cmova rbx, rax
    mov [rsi+CHUNK], rbx
    add ecx, MODE_COLUMNS
    mov [rsi+MODE], ecx
    mov dword ptr [rsi+COUNT], 20
    vmovdqa KA0, [TABLE_AT+CONST_ROTATE16]
    vmovdqa KA2, [TABLE_AT+CONST_ROTATE8]
    vmovdqa [rsi+MASK16], KA0
    vmovdqa [rsi+MASK8], KA2
  .irp word, 0, 1, 2, 3, 8, 9, 10, 11, 13, 14, 15
    vpbroadcastd KA0, [rsi+INITIAL+4*\word]
    vmovdqa [rsi+ROW(\word)], KA0
    vmovdqa [rsi+AREA+ROW(\word)], KA0
  .endr
    vpbroadcastd KA0, [rsi+INITIAL+48]
    vpaddd KA2, KA0, [TABLE_AT+CONST_EIGHT]
    vpaddd KA0, KA0, [TABLE_AT+CONST_COUNT]
    vpaddd KA2, KA2, [TABLE_AT+CONST_COUNT]
    vmovdqa [rsi+ROW(12)], KA0
    vmovdqa [rsi+AREA+ROW(12)], KA2
    vpbroadcastd WA0, [rsi+INITIAL+16]
    vpbroadcastd WA1, [rsi+INITIAL+20]
    vpbroadcastd WA2, [rsi+INITIAL+24]
    vpbroadcastd WA3, [rsi+INITIAL+28]
    vmovdqa WB0, WA0
    vmovdqa WB1, WA1
    vmovdqa WB2, WA2
    vmovdqa WB3, WA3
    cmp dword ptr [rsi+STAGE], 0
    je .Lkey_pass

// ---- The rounds of areas, while a span is authenticated, or r squared, or the integer registers make a block -----------
.Lround:                                    // 10 or 20 times: a round of each area, two steps of each chain
    area_round 0, WA0, WA1, WA2, WA3
    cmp dword ptr [rsi+SCALAR_ON], 0
    jne 2f
    cmp PA, [rsi+SPAN_B]
    je 1f
    poly_block rsi+R_KEY, HA0, HA1, HA2, PA
1:  cmp PB, [rsi+SPAN_END]
    je 1f
    poly_block rsi+R_KEY, HB0, HB1, HB2, PB
1:  cmp dword ptr [rsi+MODE], MODE_WIDE
    jne 3f
2:  area_round 1, WB0, WB1, WB2, WB3
    cmp dword ptr [rsi+SCALAR_ON], 0
    je 3f
    scalar_double_round
    sub dword ptr [rsi+COUNT], 1
    jnz .Lround
    jmp .Lhalf_done
3:  cmp PA, [rsi+SPAN_B]
    je .Lidle
    poly_block rsi+R_KEY, HA0, HA1, HA2, PA
    cmp PB, [rsi+SPAN_END]
    je .Lround_end
    poly_block rsi+R_KEY, HB0, HB1, HB2, PB
.Lround_end:
    sub dword ptr [rsi+COUNT], 1
    jnz .Lround
.Lareas_done:
    vmovdqa [rsi+ROW(4)], WA0
    vmovdqa [rsi+ROW(5)], WA1
    vmovdqa [rsi+ROW(6)], WA2
    vmovdqa [rsi+ROW(7)], WA3
    vmovdqa [rsi+AREA+ROW(4)], WB0
    vmovdqa [rsi+AREA+ROW(5)], WB1
    vmovdqa [rsi+AREA+ROW(6)], WB2
    vmovdqa [rsi+AREA+ROW(7)], WB3
    cmp dword ptr [rsi+STAGE], 1
    jne .Lfinish

.Lfirst_stream_known:
    mov dword ptr [rsi+SCALAR_ON], 0
    mov rdi, [rsi+ARGS]
    mov ecx, [rdi+SEALANE_ARG_FLAGS]
    and ecx, SEALANE_FLAG_OPEN
    shr ecx, 1                              // AFTER_OUTPUT or AFTER_SPAN
    mov [rsi+AFTER], ecx
    cmp dword ptr [rsi+STAGE], 1
    je .Lpowers
    jmp .Ldispatch

// ---- The key's pass: block 0 by the integer registers beside the first 10 rounds, block 1 if EXTRA beside the others ----
.Lkey_pass:
    mov KEY_AT, r8
    mov NONCE_AT, r9
    xor eax, eax
.Lscalar_block:
    scalar_begin
.Lkey_half:
    mov dword ptr [rsi+COUNT], 10
.Lkey_round:
    cmp dword ptr [rsi+MODE], MODE_COLUMNS
    ja .Lround
    je 4f
    cmp dword ptr [rsi+MODE], MODE_ROWS
    jb 6f
    test dword ptr [rsi+COUNT], 1
    jnz 3f
2:  rows_round 0x93, 0x4e, 0x39
    cmp dword ptr [rsi+SCALAR_ON], 0
    jne 6f
3:  rows_round 0x39, 0x4e, 0x93
    cmp dword ptr [rsi+SCALAR_ON], 0
    jne 6f
    sub dword ptr [rsi+COUNT], 2
    jnz 2b
    jmp .Lhalf_done
4:  test dword ptr [rsi+COUNT], 1
    jnz 5f
4:  columns_round
    cmp dword ptr [rsi+SCALAR_ON], 0
    jne 6f
5:  columns_diagonal_round
    cmp dword ptr [rsi+SCALAR_ON], 0
    jne 6f
    sub dword ptr [rsi+COUNT], 2
    jnz 4b
    jmp .Lhalf_done
6:  scalar_double_round
    sub dword ptr [rsi+COUNT], 1
    jnz .Lkey_round
.Lhalf_done:
    cmp dword ptr [rsi+STAGE], 0
    jne .Lsecond_half_done

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
    mov rdx, rcx
    shr rdx, 2
    add rdx, rcx
    mov [rsi+R_KEY+16], rdx
    mov dword ptr [rsi+STAGE], 1
    mov rdi, [rsi+ARGS]
    mov rax, [rdi+SEALANE_ARG_AD_BYTES]
    test rax, rax
    jz .Lsecond_half
    mov PA, [rdi+SEALANE_ARG_AD]
    mov dword ptr [rsi+POWERS_LAST], 0
    mov dword ptr [rsi+AFTER], AFTER_KEY
    xor edi, edi
    jmp .Lspan

.Lsecond_half:                              // the associated data are absorbed
    mov rbx, [rsi+LEFT]
    test rbx, rbx
    jz .Lfinal
    mov TABLE_AT, [rsi+TABLE]
    lea KEY_AT, [rsi+INITIAL+16]
    lea NONCE_AT, [rsi+INITIAL+52]
    mov eax, 1
    cmp dword ptr [rsi+EXTRA], 0
    jne .Lscalar_block
    mov dword ptr [rsi+SCALAR_ON], 0
    cmp dword ptr [rsi+MODE], MODE_WIDE
    jne .Lkey_half
    mov dword ptr [rsi+AFTER], AFTER_ROUND

// ---- The powers of r that this many bytes need -----------------------------------------------------------------------
.Lpowers:
    mov HA0, [rsi+R_KEY]
    mov HA1, [rsi+R_KEY+8]
    xor eax, eax
    mov [rsi+POWERS], HA0
    mov [rsi+POWERS+8], HA1
    mov [rsi+POWERS+16], rax
    mov rcx, [rsi+LEFT]
    mov edx, 1024
    cmp rcx, rdx
    cmova rcx, rdx
    shr ecx, 4
    or ecx, 1
    bsr ecx, ecx
    sub ecx, 1                              // 2 to 5, or 0
    cmp ecx, 2
    cmovl ecx, eax
    mov dword ptr [rsi+STAGE], 2
    mov [rsi+POWERS_LAST], rcx
    imul ecx, ecx, 24
    lea rdi, [rsi+POWERS]
    add rcx, rdi
    mov [rsi+POWERS_AT], rdi
    mov [rsi+POWERS_END], rcx
    cmp rdi, rcx
    je .Ldispatch
    cmp dword ptr [rsi+AFTER], AFTER_ROUND
    jne .Lpower
    mov rax, [rsi+ARGS]
    test dword ptr [rax+SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    jnz .Lpower
    jmp .Ldispatch                          // the rounds of the second half have room for them

.Lidle:                                     // a round that has nothing to authenticate
    mov rdi, [rsi+POWERS_AT]
    cmp rdi, [rsi+POWERS_END]
    je .Lround_end
.Lpower:                                    // at rdi: the next square. Keeps PA and PB
    mov HA0, [rdi]
    mov HA1, [rdi+8]
    mov HA2, [rdi+16]
1:  poly_square
    mov rdi, [rsi+POWERS_AT]
    add rdi, 24
    mov [rsi+POWERS_AT], rdi
    mov [rdi], HA0
    mov [rdi+8], HA1
    mov [rdi+16], HA2
    cmp dword ptr [rsi+COUNT], 0
    jne 2f
    cmp rdi, [rsi+POWERS_END]
    jne 1b
    jmp .Ldispatch
2:  mov HA0, [rsi+H]
    mov HA1, [rsi+H+8]
    mov HA2, [rsi+H+16]
    jmp .Lround_end

.Ltext_round:                               // second half over areas: open authenticates the chunk beside it
    mov dword ptr [rsi+COUNT], 10
    mov dword ptr [rsi+AFTER], AFTER_OUTPUT
    mov PA, [rsi+IN]
    xor eax, eax
    mov rdi, [rsi+ARGS]
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    cmovnz rax, [rsi+CHUNK]
    mov edi, 2
    jmp .Lspan


// ---- The key's pass is over: key stream of EXTRA, and of rows ---------------------------------------------------------
.Lsecond_half_done:
    cmp dword ptr [rsi+EXTRA], 0
    je .Lvector_stream
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
    shl rbx, 32
    shl rdx, 32
    shl XB1_64, 32
    shl XB3_64, 32
    shl XD1_64, 32
    shl XD3_64, 32
    or rax, rbx
    or rcx, rdx
    or XB0_64, XB1_64
    or XB2_64, XB3_64
    or XD0_64, XD1_64
    or XD2_64, XD3_64
    mov [rsi+STREAM], rax
    mov [rsi+STREAM+16], XB0_64
    mov [rsi+STREAM+24], XB2_64
    mov [rsi+STREAM+32], rcx
    mov [rsi+STREAM+48], XD0_64
    mov [rsi+STREAM+56], XD2_64
    mov eax, [rsi+SCALAR+8]
    mov ebx, [rsi+SCALAR+12]
    mov ecx, [rsi+SCALAR+24]
    mov edx, [rsi+SCALAR+28]
    add eax, [rsi+INITIAL+8]
    add ebx, [rsi+INITIAL+12]
    add ecx, [rsi+INITIAL+40]
    add edx, [rsi+INITIAL+44]
    shl rbx, 32
    shl rdx, 32
    or rax, rbx
    or rcx, rdx
    mov [rsi+STREAM+8], rax
    mov [rsi+STREAM+40], rcx

.Lvector_stream:
    cmp dword ptr [rsi+MODE], MODE_ROWS
    jb .Lfirst_stream_known
    je 1f
    cmp dword ptr [rsi+MODE], MODE_WIDE
    je .Lareas_done
    vmovdqa [rsi+ROW(0)], A0
    vmovdqa [rsi+ROW(1)], A1
    vmovdqa [rsi+ROW(2)], A2
    vmovdqa [rsi+ROW(3)], A3
    vmovdqa [rsi+ROW(4)], B0
    vmovdqa [rsi+ROW(5)], B1
    vmovdqa [rsi+ROW(6)], B2
    vmovdqa [rsi+ROW(7)], B3
    vmovdqa [rsi+ROW(8)], C0
    vmovdqa [rsi+ROW(9)], C1
    vmovdqa [rsi+ROW(12)], D0
    vmovdqa [rsi+ROW(13)], D1
    vmovdqa [rsi+ROW(14)], D2
    vmovdqa [rsi+ROW(15)], D3
    jmp .Lfirst_stream_known
1:
    mov TABLE_AT, [rsi+TABLE]
    vbroadcasti128 ymm12, [rsi+INITIAL]
    vbroadcasti128 ymm13, [rsi+INITIAL+16]
    vbroadcasti128 ymm14, [rsi+INITIAL+32]
    vbroadcasti128 ymm15, [rsi+INITIAL+48]
    vpaddd E0, ymm12, E0
    vpaddd E1, ymm12, E1
    vpaddd F0, ymm13, F0
    vpaddd F1, ymm13, F1
    vpaddd G0, ymm14, G0
    vpaddd G1, ymm14, G1
    vpaddd H0, ymm15, H0
    vpaddd H1, ymm15, H1
    vpaddd H0, H0, [TABLE_AT+CONST_ROWS]
    vpaddd H1, H1, [TABLE_AT+CONST_ROWS2]
    vperm2i128 ymm8, E0, F0, 0x20
    vperm2i128 ymm9, G0, H0, 0x20
    vperm2i128 ymm10, E0, F0, 0x31
    vperm2i128 ymm11, G0, H0, 0x31
    vmovdqa [rsi+COPY], ymm8
    vmovdqa [rsi+COPY+32], ymm9
    vmovdqa [rsi+COPY+64], ymm10
    vmovdqa [rsi+COPY+96], ymm11
    vperm2i128 ymm8, E1, F1, 0x20
    vperm2i128 ymm9, G1, H1, 0x20
    vperm2i128 ymm10, E1, F1, 0x31
    vperm2i128 ymm11, G1, H1, 0x31
    vmovdqa [rsi+COPY+128], ymm8
    vmovdqa [rsi+COPY+160], ymm9
    vmovdqa [rsi+COPY+192], ymm10
    vmovdqa [rsi+COPY+224], ymm11
    jmp .Lfirst_stream_known

// ---- A later part of a long packet begins ----------------------------------------------------------------------------
.Lresume:
    mov r8, [rdi+SEALANE_ARG_STATE]
    mov dword ptr [rsi+AFTER], AFTER_RESUME
    mov [rsi+SCALAR_ON], eax
    mov [rsi+COUNT], eax
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
    vpinsrd xmm2, xmm2, [r8+SEALANE_STATE_COUNTER], 0
    vmovdqa [rsi+INITIAL+48], xmm2
    mov [rsi+S_KEY], r10
    mov [rsi+S_KEY+8], r11
    mov [rsi+R_KEY], rax
    mov [rsi+R_KEY+8], rcx
    mov rdx, rcx
    shr rdx, 2
    add rdx, rcx
    mov [rsi+R_KEY+16], rdx
    jmp .Lpowers
.Lresumed:
    mov rdi, [rsi+ARGS]
    cmp qword ptr [rsi+LEFT], 0
    je .Lfinal
    mov dword ptr [rsi+AFTER], AFTER_OUTPUT
    test dword ptr [rdi+SEALANE_ARG_FLAGS], SEALANE_FLAG_OPEN
    mov edi, 1
    jnz .Lopen_next
    mov PA, [rsi+IN]
    xor eax, eax
    jmp .Lspan

// ---- Authenticate rax bytes at PA: plan the chains; then finish them (edi = 0), or begin a pass (1) or go on (2) -------
.Lspan:
    mov ecx, eax
    and ecx, 15
    and rax, -16
    mov [rsi+SPAN_TAIL], rcx
    lea PB, [PA+rax]
    mov [rsi+SPAN_END], PB
    shr rax, 5                              // half of the blocks
    xor edx, edx
    mov [rsi+SPAN_POWER], edx
    mov [rsi+SPAN_POWER2], edx
    cmp rax, 4
    jb 1f
    cmp dword ptr [rsi+POWERS_LAST], 2
    jb 1f
    mov edx, 1
    bsr rcx, rax
    cmp ecx, [rsi+POWERS_LAST]
    cmova ecx, [rsi+POWERS_LAST]
    shlx rdx, rdx, rcx                      // l = 2^k
    imul ecx, ecx, 24
    mov [rsi+SPAN_POWER], ecx
    sub rax, rdx
    cmp rax, 4
    jb 1f
    bsr rcx, rax
    cmp ecx, [rsi+POWERS_LAST]
    cmova ecx, [rsi+POWERS_LAST]
    mov eax, 1
    shlx rax, rax, rcx                      // + 2^j
    add rdx, rax
    imul ecx, ecx, 24
    mov [rsi+SPAN_POWER2], ecx
1:  shl rdx, 4
    sub PB, rdx
    mov [rsi+SPAN_B], PB
    mov HA0, [rsi+H]
    mov HA1, [rsi+H+8]
    mov HA2, [rsi+H+16]
    xor r11d, r11d
    xor r12d, r12d
    xor r13d, r13d
    cmp edi, 1
    jb .Lfinish
    je .Lareas
    jmp .Lround

// ---- Authenticate what the pass left of the span ---------------------------------------------------------------------
.Lfinish:
    cmp PA, [rsi+SPAN_B]
    je 2f
1:  poly_block rsi+R_KEY, HA0, HA1, HA2, PA
    cmp PB, [rsi+SPAN_END]
    je 3f
    poly_block rsi+R_KEY, HB0, HB1, HB2, PB
3:  cmp PA, [rsi+SPAN_B]
    jne 1b
2:  mov eax, [rsi+SPAN_POWER]
    test eax, eax
    jz 2f
    mov [rsi+H], HB0
    mov [rsi+H+8], HB1
    mov [rsi+H+16], HB2
4:  lea rdi, [rsi+POWERS+rax]
    poly_multiply_long rdi                  // hA r^(2^k + 2^j) + hB
    mov eax, [rsi+SPAN_POWER2]
    mov dword ptr [rsi+SPAN_POWER2], 0
    test eax, eax
    jnz 4b
    add HA0, [rsi+H]
    adc HA1, [rsi+H+8]
    adc HA2, [rsi+H+16]
2:  mov ecx, [rsi+SPAN_TAIL]                // 1 to 15 bytes, padded with zeroes: by two or three overlapping loads
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
.Ldispatch:
    mov eax, [rsi+AFTER]
    test eax, eax                           // AFTER_OUTPUT
    jz .Loutput
    cmp eax, AFTER_SPAN
    jb .Lsecond_half
    je .Ltext
    cmp eax, AFTER_TAG
    jb .Ltext_round
    je .Lfinal_h
    jmp .Lresumed

.Ltext:
    mov PA, [rsi+IN]
    mov rax, [rsi+CHUNK]
    mov dword ptr [rsi+AFTER], AFTER_OUTPUT
    xor edi, edi
    jmp .Lspan

// ---- Input ^ key stream ----------------------------------------------------------------------------------------------
.Loutput:
    mov INPUT, [rsi+IN]
    mov OUTPUT, [rsi+OUT]
    mov BYTES, [rsi+CHUNK]
    lea FROM, [rsi+COPY]
    cmp dword ptr [rsi+EXTRA], 0
    je 1f
    sub FROM, 64
    cmp BYTES, 64
    jb .Loutput_last
  .irp word, 0, 2, 4, 6
    mov TO, [FROM+8*\word]
    mov rdx, [FROM+8*\word+8]
    xor TO, [INPUT+8*\word]
    xor rdx, [INPUT+8*\word+8]
    mov [OUTPUT+8*\word], TO
    mov [OUTPUT+8*\word+8], rdx
  .endr
    add FROM, 64
    add INPUT, 64
    add OUTPUT, 64
    sub BYTES, 64
    mov dword ptr [rsi+EXTRA], 0
1:  cmp dword ptr [rsi+MODE], MODE_COLUMNS
    jb .Loutput_part
.Loutput_areas:
    mov TABLE_AT, [rsi+TABLE]
    mov AREAP, rsi
    vmovdqa COUNTERS, [TABLE_AT+CONST_COUNT]
.Loutput_area:
    xor PARTIAL, PARTIAL
    mov FROM, INPUT
    mov TO, OUTPUT
    cmp BYTES, 512
    jae 2f
    test BYTES, BYTES
    jz .Loutput_done
    lea FROM, [rsi+COPY]
    mov TO, FROM
    vpxor xmm0, xmm0, xmm0
    sub PARTIAL, 4
3:  vmovdqa [TO], W0
    vmovdqa [TO+32], W0
    vmovdqa [TO+64], W0
    vmovdqa [TO+96], W0
    sub TO, -128
    add PARTIAL, 1
    jnz 3b
    mov TO, FROM
    add PARTIAL, 1
2:  lea WORDS, [rsi+INITIAL]
    lea WORDS_END, [WORDS+64]
    vpaddd W0, COUNTERS, [AREAP+ROW(12)]
    vpaddd COUNTERS, COUNTERS, [TABLE_AT+CONST_EIGHT]
    vmovdqa [AREAP+ROW(12)], W0
1:  output_row W0, 0
    output_row W1, 1
    output_row W2, 2
    output_row W3, 3
    output_row W4, 4
    output_row W5, 5
    output_row W6, 6
    output_row W7, 7
    transpose_four W0, W1, W2, W3, W8, W9
    transpose_four W4, W5, W6, W7, W10, W11
    output_pair W1, 5, 0
    output_pair W3, 7, 1
    output_pair W8, 10, 2
    output_pair W9, 11, 3
    add AREAP, 256
    add FROM, 32
    add TO, 32
    add WORDS, 32
    cmp WORDS, WORDS_END
    jne 1b
    test PARTIAL, PARTIAL
    jnz 1f
    add INPUT, 512
    add OUTPUT, 512
    sub BYTES, 512
    jnz .Loutput_area
    jmp .Loutput_done
1:  sub FROM, 64

.Loutput_part:
    sub BYTES, 32
    jb 2f
1:  vmovdqu W0, [INPUT]
    vpxor W0, W0, [FROM]
    vmovdqu [OUTPUT], W0
    add FROM, 32
    add INPUT, 32
    add OUTPUT, 32
    sub BYTES, 32
    jae 1b
2:  add BYTES, 32
.Loutput_last:                              // up to 63 bytes
    cmp BYTES_32, 16
    jb 1f
    mov TO, [FROM]
    mov rdx, [FROM+8]
    xor TO, [INPUT]
    xor rdx, [INPUT+8]
    mov [OUTPUT], TO
    mov [OUTPUT+8], rdx
    add FROM, 16
    add INPUT, 16
    add OUTPUT, 16
    sub BYTES_32, 16
    jmp .Loutput_last
1:  test BYTES_32, 8
    jz 1f
    mov rdx, [FROM]
    xor rdx, [INPUT]
    mov [OUTPUT], rdx
    add FROM, 8
    add INPUT, 8
    add OUTPUT, 8
1:  test BYTES_32, 4
    jz 1f
    mov edx, [INPUT]
    xor edx, [FROM]
    mov [OUTPUT], edx
    add FROM, 4
    add INPUT, 4
    add OUTPUT, 4
1:  test BYTES_32, 2
    jz 1f
    movzx edx, word ptr [INPUT]
    xor dx, [FROM]
    mov [OUTPUT], dx
    add FROM, 2
    add INPUT, 2
    add OUTPUT, 2
1:  test BYTES_32, 1
    jz .Loutput_done
    movzx edx, byte ptr [INPUT]
    xor dl, [FROM]
    mov [OUTPUT], dl

.Loutput_done:
    mov rax, [rsi+CHUNK]
    mov ebx, [rsi+BLOCKS]
    mov PA, [rsi+OUT]
    add [rsi+IN], rax
    add [rsi+OUT], rax
    sub [rsi+LEFT], rax
    add [rsi+INITIAL+48], ebx
    mov rdi, [rsi+ARGS]
    mov ecx, AFTER_OUTPUT
    mov ebx, AFTER_TAG
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

// ---- Tag, or state for the next part ---------------------------------------------------------------------------------
.Lfinal:
    mov HA0, [rsi+H]
    mov HA1, [rsi+H+8]
    mov HA2, [rsi+H+16]
.Lfinal_h:
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
1:  mov rcx, HA2                            // h below 2^131
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
    mov ecx, SMALL_END
    mov edx, END
    cmp dword ptr [rsi+MODE], MODE_COLUMNS
    cmovae ecx, edx
    add rcx, rsi
1:  vmovdqa [rax], ymm0
    vmovdqa [rax+32], ymm0
    vmovdqa [rax+64], ymm0
    vmovdqa [rax+96], ymm0
    sub rax, -128
    cmp rax, rcx
    jne 1b
    vzeroall
    sub rsi, FRAME
endfunction

constants sealane_chacha20poly1305_avx2_constants
    .ascii "expand 32-byte k"
    .long 2, 0, 0, 0
    .byte 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13     // 32-bit words <<< 16
    .byte 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13
    .byte 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14     // <<< 8
    .byte 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14
    .long 0, 1, 2, 3, 4, 5, 6, 7
    .long 8, 8, 8, 8, 8, 8, 8, 8
    .long 0, 0, 0, 0, 1, 0, 0, 0
    .long 2, 0, 0, 0, 3, 0, 0, 0
endconstants

#endif
