/* The instructions of aes_modes.h that are written the same for AVX2 and AVX-512: three operands, in vectors of any
 * width. */

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

.macro x_enc_from x, at:vararg
    vaesenc \x, \x, \at
.endm

.macro x_enclast_from x, at:vararg
    vaesenclast \x, \x, \at
.endm

.macro x_dec_from x, at:vararg
    vaesdec \x, \x, \at
.endm

.macro x_declast_from x, at:vararg
    vaesdeclast \x, \x, \at
.endm

/* Block j of a vector that has the same block everywhere: times x^j. */
.macro x_spread x
    vpsllvq tmp, \x, [consts + LEFT]
    vpsrlvq tmp2, \x, [consts + RIGHT]
    vpclmulqdq spare, tmp2, poly, 0x01
    vpslldq tmp2, tmp2, 8
    x_xor tmp, tmp, spare
    x_xor \x, tmp, tmp2
.endm
