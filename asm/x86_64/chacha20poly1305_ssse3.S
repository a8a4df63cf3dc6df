/* ChaCha20-Poly1305 with SSSE3: seals or opens one packet, or one part of a long one, in one call.
 *
 *     void sealane_chacha20poly1305_ssse3(const args *a, void *scratch, const void *consts);
 *
 * CPU        x86-64 with SSE2, SSSE3
 * The contract, the mathematics and the text are in chacha20poly1305_text.h.
 */
#include "../asm.S"

#if defined(__x86_64__)

isa .sse2 .ssse3

#define KERNEL_NAME sealane_chacha20poly1305_ssse3
#define KERNEL_CONSTANTS sealane_chacha20poly1305_ssse3_constants
#define KERNEL_SSE
#include "chacha20poly1305_text.h"

#endif
