/* The instructions of aes_modes.h that are written the same way for all vectors. They have three operands, or two
 * with sse.h. */

/* Vectors of 512 bits have their own names for these. */
#if WIDTH == 4
#define VECTOR_XOR vpxord
#define VECTOR_LOAD vmovdqu64
#define VECTOR_MOVE vmovdqa64
#else
#define VECTOR_XOR vpxor
#define VECTOR_LOAD vmovdqu
#define VECTOR_MOVE vmovdqa
#endif

.macro x_xor to, x, y
    VECTOR_XOR \to, \x, \y
.endm

.macro x_zero_vector x
    VECTOR_XOR \x, \x, \x
.endm

.macro x_load to, at:vararg
    VECTOR_LOAD \to, \at
.endm

.macro x_store at:vararg
    VECTOR_LOAD \at
.endm

.macro x_move to, from
    VECTOR_MOVE \to, \from
.endm

.macro x_add to, x, y
    vpaddd \to, \x, \y
.endm

.macro x_shuffle to, x, y
    vpshufb \to, \x, \y
.endm

.macro x_enc x, y
    vaesenc \x, \x, \y
.endm

.macro x_enclast x, y
    vaesenclast \x, \x, \y
.endm

.macro x_dec x, y
    vaesdec \x, \x, \y
.endm

.macro x_declast x, y
    vaesdeclast \x, \x, \y
.endm

.macro x_multiply to, x, y, halves
    vpclmulqdq \to, \x, \y, \halves
.endm

.macro x_shift_up to, x
    vpslldq \to, \x, WIDTH
.endm

.macro x_shift_down to, x
    vpsrldq \to, \x, 16 - WIDTH
.endm

.macro x_bytes_up to, x
    vpslldq \to, \x, 8
.endm

.macro x_shift_left to, x, k
    vpsllq \to, \x, \k
.endm

.macro x_shift_right to, x, k
    vpsrlq \to, \x, \k
.endm

.macro x_zero x
    vpxor \x, \x, \x
.endm

.macro x_load_block to, at:vararg
    vmovdqu \to, xmmword ptr \at
.endm

.macro x_store_block at:vararg
    vmovdqu \at
.endm

.macro x_xor_block x, y
    vpxor \x, \x, \y
.endm

/* The second operand is in memory. SSE would require it to be aligned. */
.macro x_from instruction, x, at:vararg
#if defined(KERNEL_SSE)
    movdqu xmm0, \at
    \instruction \x, xmm0
#else
    v\instruction \x, \x, \at
#endif
.endm

.macro x_enc_from x, at:vararg
    x_from aesenc, \x, \at
.endm

.macro x_enclast_from x, at:vararg
    x_from aesenclast, \x, \at
.endm

.macro x_dec_from x, at:vararg
    x_from aesdec, \x, \at
.endm

.macro x_declast_from x, at:vararg
    x_from aesdeclast, \x, \at
.endm

/* \x holds the same block several times. Its block j is multiplied by x^j. */
.macro x_spread x
#if !defined(KERNEL_SSE)
    vpsllvq tmp, \x, [consts + LEFT]
    vpsrlvq tmp2, \x, [consts + RIGHT]
    vpclmulqdq spare, tmp2, poly, 0x01
    vpslldq tmp2, tmp2, 8
    x_xor tmp, tmp, spare
    x_xor \x, tmp, tmp2
#endif
.endm
