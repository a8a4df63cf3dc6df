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

#define KERNEL_SSE
#include "sse.h"
#include "aes_modes.h"
#include "aes_instructions.h"

    scratch_end MODE_SCRATCH_END

    constants sealane_aes_aesni_constants
    mode_constants
    endconstants

.macro x_broadcast to, at:vararg
    vmovdqu \to, \at
.endm

.macro x_broadcast_halves to, low, at
    vmovq \low, qword ptr [\at]
    movhps \low, [\at + 8]
.endm

.macro x_previous to, x, before
    vmovdqa \to, \before
.endm

    function sealane_aes_aesni
    mode_kernel aesimc
    endfunction
