/* AES-GCM with AES-NI: seals or opens a packet, or a part of one, in one pass; makes keys.
 *
 * void sealane_aesgcm_aesni(const args *a, void *scratch, const void *consts)
 *
 * Needs SSSE3, SSE4.1; AES-NI; PCLMULQDQ
 * The contract, the mathematics and the text are in aesgcm_xmm.h.
 */
#include "../asm.S"

isa .sse2 .ssse3 .sse4.1 .aes .pclmul

#define KERNEL_NAME sealane_aesgcm_aesni
#define KERNEL_CONSTANTS sealane_aesgcm_aesni_constants
#define KERNEL_SSE
#include "aesgcm_xmm.h"
