/* ChaCha20-Poly1305 with AVX2: seals or opens one packet, or one part of a long one, in one call.
 *
 *     void sealane_chacha20poly1305_avx2(const args *a, void *scratch, const void *consts);
 *
 * CPU        x86-64 with AVX2, BMI2
 * The contract, the mathematics and the text are in chacha20poly1305_vex.h.
 */
#include "../asm.S"

#if defined(__x86_64__)

isa .sse2 .ssse3 .sse4.1 .avx .avx2 .bmi2

#define KERNEL_NAME sealane_chacha20poly1305_avx2
#define KERNEL_CONSTANTS sealane_chacha20poly1305_avx2_constants
#include "chacha20poly1305_vex.h"

#endif
