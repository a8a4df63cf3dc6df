/* AES-GCM with AES-NI and AVX: seals or opens a packet, or a part of one, in one pass; makes keys.
 *
 * void sealane_aesgcm_aesniavx(const args *a, void *scratch, const void *consts)
 *
 * Needs AVX; AES-NI; PCLMULQDQ
 * The contract, the mathematics and the text are in aesgcm_xmm.h.
 */
#include "../asm.S"

isa .avx .aes .pclmul

#define KERNEL_NAME sealane_aesgcm_aesniavx
#define KERNEL_CONSTANTS sealane_aesgcm_aesniavx_constants
#include "aesgcm_xmm.h"
