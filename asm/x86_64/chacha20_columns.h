/* ChaCha20 (RFC 8439, 2.3) of 8 blocks on 256-bit vectors, or after sse.h of 4 blocks on 128-bit vectors. A vector
 * has one word of each block. The includer defines, for scratch at rsi,
 *
 *     MASKS       such that the bytes of words <<< 8 and 16 are at MASKS + 4*8 and MASKS + 4*16, for vpshufb
 *     C_ROW(3)    where c3 is stored, because 16 words and a temporary need 17 registers
 *
 * or KERNEL_VPROLD, which needs neither.
 */

#if !defined(KERNEL_VPROLD)
#define ROTATE_BYTES_FIXED
#endif
#include "../chacha20.h"

/* GNU as and clang choose the same, shorter encoding if a low register is the last operand of vpxor and vpor. */

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
#define C2 ymm14
#define T0 ymm15
#if defined(KERNEL_VPROLD)
#define C3 ymm15
#else
#define C3 memory           /* C_ROW(3) */
#endif

.macro rotate_row left, x, t               // x <<<= left, for ROTATE_2 and ROTATE_4
#if defined(KERNEL_VPROLD)
    vprold \x, \x, \left
#else
    vpslld \t, \x, \left
    vpsrld \x, \x, 32-\left
    vpor \x, \t, \x
#endif
.endm

.macro rotate_bytes left, x, mask          // for ROTATE_1 and ROTATE_3
#if defined(KERNEL_VPROLD)
    vprold \x, \x, \left
#else
    vpshufb \x, \x, \mask
#endif
.endm

// Two pairs of quarter rounds. The second is half a step later, so that one adds and shuffles while the other shifts.
// The pairs are columns 0, 1 and 2, 3, then the diagonals of b0, b1 and of b2, b3.

// pair 0: a += b, d = (d ^ a) <<< left_d;   pair 1: c += d, b = (b ^ c) <<< left_b;   either may be left out
.macro columns_step left_d, a0, b0, d0, a1, b1, d1, left_b, c2, d2, b2, c3, d3, b3
    columns_add_c \left_b, \c2, \d2, \b2
    columns_add \left_d, \a0, \b0, \d0
    columns_rotate \left_d, \d0
    columns_add_c \left_b, \c3, \d3, \b3
    columns_add \left_d, \a1, \b1, \d1
    columns_rotate \left_b, \b2
    columns_rotate \left_b, \b3
    columns_rotate \left_d, \d1
.endm

.macro columns_add left, a, b, d
  .if \left
    vpaddd \a, \a, \b
    vpxor \d, \d, \a
  .endif
.endm

.macro columns_add_c left, c, d, b
  .if \left
  .ifc \c, memory
#if defined(KERNEL_SSE)
    movdqa T0, [rsi+C_ROW(3)]
    paddd T0, \d
#else
    vpaddd T0, \d, [rsi+C_ROW(3)]
#endif
    vmovdqa [rsi+C_ROW(3)], T0
    vpxor \b, T0, \b
  .else
    vpaddd \c, \c, \d
    vpxor \b, \c, \b
  .endif
  .endif
.endm

.macro columns_rotate left, x
  .if \left
  .if \left & 7
    rotate_row \left, \x, T0
  .else
    rotate_bytes \left, \x, [rsi+MASKS+4*\left]
  .endif
  .endif
.endm

// The double round in four parts
.macro columns_part1
    columns_step ROTATE_1, A0, B0, D0, A1, B1, D1, 0, C1, D0, B2, C3, D0, B2
    columns_step ROTATE_1, A2, B2, D2, A3, B3, D3, ROTATE_2, C0, D0, B0, C1, D1, B1
.endm

.macro columns_part2
    columns_step ROTATE_3, A0, B0, D0, A1, B1, D1, ROTATE_2, C2, D2, B2, C3, D3, B3
    columns_step ROTATE_3, A2, B2, D2, A3, B3, D3, ROTATE_4, C0, D0, B0, C1, D1, B1
.endm

.macro columns_part3
    columns_step ROTATE_1, A3, B0, D2, A0, B1, D3, ROTATE_4, C2, D2, B2, C3, D3, B3
    columns_step ROTATE_1, A1, B2, D0, A2, B3, D1, ROTATE_2, C1, D2, B0, C2, D3, B1
.endm

.macro columns_part4
    columns_step ROTATE_3, A3, B0, D2, A0, B1, D3, ROTATE_2, C3, D0, B2, C0, D1, B3
    columns_step ROTATE_3, A1, B2, D0, A2, B3, D1, ROTATE_4, C1, D2, B0, C2, D3, B1
    columns_step 0, A0, B0, D0, A1, B1, D1, ROTATE_4, C3, D0, B2, C0, D1, B3
.endm

// transposes four words of each block; the result is in the order y, w, s, t
.macro transpose_four x, y, z, w, s, t
    vpunpckldq \s, \x, \y
    vpunpckhdq \x, \x, \y
    vpunpckldq \t, \z, \w
    vpunpckhdq \z, \z, \w
    vpunpcklqdq \y, \s, \t
    vpunpckhqdq \w, \s, \t
    vpunpcklqdq \s, \x, \z
    vpunpckhqdq \t, \x, \z
.endm

.macro add_word to, from, i, t
    broadcast_word \t, \from, \i
    vpaddd \to, \t, \to
.endm

// the initial states of the next blocks; rdx points to the constants, rdi to the key
.macro columns_begin
#if !defined(KERNEL_VPROLD)
    vmovdqa A0, [rdx+CONST_ROTATE+4*8]
    vmovdqa A1, [rdx+CONST_ROTATE+4*16]
    vmovdqa [rsi+MASKS+4*8], A0
    vmovdqa [rsi+MASKS+4*16], A1
#endif
    broadcast_word C0, rdi+16, 3
#if defined(KERNEL_VPROLD)
    vmovdqa C3, C0
#else
    vmovdqa [rsi+C_ROW(3)], C0
#endif
    broadcast_word D0, rsi+NONCE_ROW, 0
    vmovdqa A0, [rdx+CONST_SIGMAS]
    vmovdqa A1, [rdx+CONST_SIGMAS+VECTOR]
    vmovdqa A2, [rdx+CONST_SIGMAS+2*VECTOR]
    vmovdqa A3, [rdx+CONST_SIGMAS+3*VECTOR]
    vpaddd D0, D0, [rdx+CONST_COUNT]
    broadcast_word B0, rdi, 0
    broadcast_word B1, rdi, 1
    broadcast_word B2, rdi, 2
    broadcast_word B3, rdi, 3
    broadcast_word D1, rsi+NONCE_ROW, 1
    broadcast_word D2, rsi+NONCE_ROW, 2
    broadcast_word D3, rsi+NONCE_ROW, 3
    broadcast_word C0, rdi+16, 0
    broadcast_word C1, rdi+16, 1
    broadcast_word C2, rdi+16, 2
.endm

// after the last round: c3 is in memory, and T0 is free
.macro columns_rounds_end
#if defined(KERNEL_VPROLD)
    vmovdqa [rsi+C_ROW(3)], C3
#endif
.endm

// their keystream; rdx points to the constants, rax to the key
.macro columns_end in, out
    vmovdqa [rsi+C_ROW(0)], C0
    vmovdqa [rsi+C_ROW(1)], C1
    vmovdqa [rsi+C_ROW(2)], C2
    vpaddd A0, A0, [rdx+CONST_SIGMAS]
    vpaddd A1, A1, [rdx+CONST_SIGMAS+VECTOR]
    vpaddd A2, A2, [rdx+CONST_SIGMAS+2*VECTOR]
    vpaddd A3, A3, [rdx+CONST_SIGMAS+3*VECTOR]
    add_word B0, rax, 0, T0
    add_word B1, rax, 1, C0
    add_word B2, rax, 2, C1
    add_word B3, rax, 3, C2
    transpose_four A0, A1, A2, A3, C0, C1
    transpose_four B0, B1, B2, B3, C2, T0
    columns_store A1, 5, 0, \in, \out
    columns_store A3, 7, 64, \in, \out
    columns_store C0, 14, 128, \in, \out
    columns_store C1, 15, 192, \in, \out
    broadcast_word A0, rax+16, 0
    broadcast_word A1, rax+16, 1
    broadcast_word A2, rax+16, 2
    broadcast_word A3, rax+16, 3
    vpaddd A0, A0, [rsi+C_ROW(0)]
    vpaddd A1, A1, [rsi+C_ROW(1)]
    vpaddd A2, A2, [rsi+C_ROW(2)]
    vpaddd A3, A3, [rsi+C_ROW(3)]
    add_word D0, rsi+NONCE_ROW, 0, B0
    vpaddd D0, D0, [rdx+CONST_COUNT]
    add_word D1, rsi+NONCE_ROW, 1, B1
    add_word D2, rsi+NONCE_ROW, 2, B2
    add_word D3, rsi+NONCE_ROW, 3, B3
    transpose_four A0, A1, A2, A3, B0, B1
    transpose_four D0, D1, D2, D3, B2, B3
    columns_store A1, 9, 32, \in, \out
    columns_store A3, 11, 96, \in, \out
    columns_store B0, 6, 160, \in, \out
    columns_store B1, 7, 224, \in, \out
.endm
