/* AES in the modes that do not authenticate (NIST SP 800-38A, IEEE 1619) for x86-64 with AES-NI.
 *
 * void sealane_aes_aesni(const args *a, void *scratch, const void *consts)
 *
 * Needs        SSSE3, SSE4.1; AES-NI; PCLMULQDQ. No AVX: there are CPUs without it that have these
 * Reads        args; key[512]; state[16]; in[bytes]; lanes and their keys, states and texts
 * Writes       out[bytes]; state[16]; key[512] (SETUP); scratch, wiped again
 * Registers    all but rsp, rbp; stack 0
 * Branches and addresses depend on flags, pointers, lengths and the number of rounds only.
 *
 * The algorithm is in aes_modes.h.
 */
#include "../asm.S"

    isa .sse2, .ssse3, .sse4.1, .aes, .pclmul

#define WIDTH 1
#define V xmm
#define VECTOR(n) xmm##n
#define XMM1_TWICE xmm1

#include "aes_modes.h"

    scratch_end MODE_SCRATCH_END

    constants sealane_aes_aesni_constants
    mode_constants
    endconstants

/* Instructions with two operands: to is x, or not y. */
.macro x_xor to, x, y
    .ifnc \to, \x
    movdqa \to, \x
    .endif
    pxor \to, \y
.endm

.macro x_add to, x, y
    .ifnc \to, \x
    movdqa \to, \x
    .endif
    paddd \to, \y
.endm

.macro x_shuffle to, x, y
    .ifnc \to, \x
    movdqa \to, \x
    .endif
    pshufb \to, \y
.endm

.macro x_multiply to, x, y, halves
    .ifnc \to, \x
    movdqa \to, \x
    .endif
    pclmulqdq \to, \y, \halves
.endm

.macro x_load to, at:vararg
    movdqu \to, \at
.endm

.macro x_store at:vararg
    movdqu \at
.endm

.macro x_move to, from
    movdqa \to, \from
.endm

.macro x_broadcast to, at:vararg
    movdqu \to, \at
.endm

.macro x_broadcast_halves to, low, at
    movq \low, qword ptr [\at]
    movhps \low, [\at + 8]
.endm

.macro x_enc x, y
    aesenc \x, \y
.endm

.macro x_enclast x, y
    aesenclast \x, \y
.endm

.macro x_dec x, y
    aesdec \x, \y
.endm

.macro x_declast x, y
    aesdeclast \x, \y
.endm

.macro x_shift_up to, x
    .ifnc \to, \x
    movdqa \to, \x
    .endif
    pslldq \to, WIDTH
.endm

.macro x_shift_down to, x
    .ifnc \to, \x
    movdqa \to, \x
    .endif
    psrldq \to, 16 - WIDTH
.endm

.macro x_bytes_up to, x
    .ifnc \to, \x
    movdqa \to, \x
    .endif
    pslldq \to, 8
.endm

.macro x_shift_left to, x, k
    movdqa \to, \x
    psllq \to, \k
.endm

.macro x_shift_right to, x, k
    movdqa \to, \x
    psrlq \to, \k
.endm

.macro x_zero x
    pxor \x, \x
.endm

.macro x_zero_vector x
    pxor \x, \x
.endm

.macro x_load_block to, at:vararg
    movdqu \to, \at
.endm

.macro x_store_block at:vararg
    movdqu \at
.endm

.macro x_xor_block x, y
    pxor \x, \y
.endm

.macro x_enc_from x, at:vararg
    movdqu xmm0, \at
    aesenc \x, xmm0
.endm

.macro x_enclast_from x, at:vararg
    movdqu xmm0, \at
    aesenclast \x, xmm0
.endm

.macro x_dec_from x, at:vararg
    movdqu xmm0, \at
    aesdec \x, xmm0
.endm

.macro x_declast_from x, at:vararg
    movdqu xmm0, \at
    aesdeclast \x, xmm0
.endm

.macro x_spread x
.endm

.macro x_previous to, x, before
    movdqa \to, \before
.endm

    function sealane_aes_aesni
    mode_kernel aesimc
    endfunction
