/* AES in the modes that do not authenticate (NIST SP 800-38A, IEEE 1619) for x86-64 with AVX2 and VAES.
 *
 * void sealane_aes_avx2(const args *a, void *scratch, const void *consts)
 *
 * Needs        AVX2; AES-NI, VAES; PCLMULQDQ, VPCLMULQDQ
 * Reads        args; key[512]; state[16]; in[bytes]; lanes and their keys, states and texts
 * Writes       out[bytes]; state[16]; key[512] (SETUP); scratch, wiped again
 * Registers    all but rsp, rbp; stack 0
 * Branches and addresses depend on flags, pointers, lengths and the number of rounds only.
 *
 * The algorithm is in aes_modes.h.
 */
#include "../asm.S"

    isa .avx, .avx2, .aes, .pclmul, .vaes, .vpclmulqdq

#define WIDTH 2
#define V ymm
#define VECTOR(n) ymm##n
#define XMM1_TWICE xmm1, xmm1

#include "aes_modes.h"
#include "aes_instructions.h"

    scratch_end MODE_SCRATCH_END

    constants sealane_aes_avx2_constants
    mode_constants
    endconstants

.macro x_broadcast to, at:vararg
    vbroadcasti128 \to, \at
.endm

.macro x_broadcast_halves to, low, at
    vmovq \low, qword ptr [\at]
    vmovhps \low, \low, [\at + 8]
    vinserti128 \to, \to, \low, 1
.endm

/* One block, which fills half a vector. */
.macro x_partial_begin
.endm

.macro x_load_partial to, at
    .ifc \to, ymm9
    vmovdqu xmm9, [\at]
    .else
    vmovdqu xmm10, [\at]
    .endif
.endm

.macro x_store_partial at, from
    vmovdqu [\at], xmm0
.endm

.macro x_previous to, x, before
    vperm2i128 \to, \before, \x, 0x21
.endm

    function sealane_aes_avx2
    mode_kernel vaesimc, v
    vzeroupper
    endfunction
