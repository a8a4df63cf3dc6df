/* AES in the modes that do not authenticate (NIST SP 800-38A, IEEE 1619) for x86-64 with AVX-512 and VAES.
 *
 * void sealane_aes_avx512(const args *a, void *scratch, const void *consts)
 *
 * Needs        AVX512F, VL, BW; AES-NI, VAES; PCLMULQDQ, VPCLMULQDQ
 * Reads        args; key[512]; state[16]; in[bytes]; lanes and their keys, states and texts
 * Writes       out[bytes]; state[16]; key[512] (SETUP); scratch, wiped again
 * Registers    all but rsp, rbp; stack 0
 * Branches and addresses depend on flags, pointers, lengths and the number of rounds only.
 *
 * The algorithm is in aes_modes.h.
 */
#include "../asm.S"

    isa .avx, .avx2, .aes, .pclmul, .avx512f, .avx512vl, .avx512bw, .vaes, .vpclmulqdq

#define WIDTH 4
#define V zmm
#define VECTOR(n) zmm##n
#define XMM1_TWICE xmm1, xmm1

#include "aes_modes.h"
#include "aes_instructions.h"

    scratch_end MODE_SCRATCH_END

    constants sealane_aes_avx512_constants
    mode_constants
    endconstants

.macro x_broadcast to, at:vararg
    vbroadcasti32x4 \to, \at
.endm

.macro x_broadcast_halves to, low, at
    vmovq \low, qword ptr [\at]
    vmovhps \low, \low, [\at + 8]
    vshufi32x4 \to, \to, \to, 0
.endm

/* One to three blocks, less than a vector. k1 has a bit for each of their quadwords. */
.macro x_partial_begin
    mov ecx, r10d
    shr ecx, 3
    mov eax, -1
    shl eax, cl
    not eax
    kmovw k1, eax
.endm

.macro x_load_partial to, at
    vmovdqu64 \to{k1}{z}, [\at]
.endm

.macro x_store_partial at, from
    vmovdqu64 [\at]{k1}, \from
.endm

.macro x_previous to, x, before
    valignq \to, \x, \before, 6
.endm

    function sealane_aes_avx512
    mode_kernel vaesimc, v
    vzeroupper
    endfunction
