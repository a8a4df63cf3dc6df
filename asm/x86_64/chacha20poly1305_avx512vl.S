/* ChaCha20-Poly1305 with AVX-512VL, without IFMA: seals or opens one packet, or one part of a long one, in one call.
 *
 *     void sealane_chacha20poly1305_avx512vl(const args *a, void *scratch, const void *consts);
 *
 * CPU        x86-64 with AVX-512F and VL, BMI2: Skylake-SP to Cooper Lake. 256-bit vectors, which cost no frequency.
 * The contract, the mathematics and the text are in chacha20poly1305_vex.h.
 */
#include "../asm.S"

#if defined(__x86_64__)

isa .sse2 .ssse3 .sse4.1 .avx .avx2 .bmi2 .avx512f .avx512vl

#define KERNEL_NAME sealane_chacha20poly1305_avx512vl
#define KERNEL_CONSTANTS sealane_chacha20poly1305_avx512vl_constants
#define KERNEL_VPROLD
#include "chacha20poly1305_vex.h"

#endif
