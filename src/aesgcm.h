/* AES-GCM (NIST SP 800-38D): front-end functions in addition to the kernels. */
#ifndef SEALANE_SRC_AESGCM_H
#define SEALANE_SRC_AESGCM_H

#include "kernel.h"

/* The kernel of the portable level. It ignores scratch and consts. */
sealane_kernel sealane_aesgcm_portable;

/* A key in kernel layout: SEALANE_GCM_KEY_* of asm/args.h. */
typedef struct sealane_gcm_key {
    uint64_t rounds, unused;
    uint8_t schedule[SEALANE_GCM_KEY_TABLE - SEALANE_GCM_KEY_SCHEDULE];
    uint8_t table[SEALANE_GCM_KEY_BYTES - SEALANE_GCM_KEY_TABLE];
} sealane_gcm_key;

/* The state between the parts of a packet, the same at every level. */
typedef struct sealane_gcm_state {
    _Alignas(uint64_t) uint8_t y[16]; /* GHASH so far */
    uint8_t counter[16];              /* the next counter block */
    uint8_t mask[16];                 /* the encrypted J0 */
    uint8_t unused[16];
} sealane_gcm_state;

_Static_assert(_Alignof(sealane_gcm_state) == _Alignof(sealane_state), "kernels are proved for one alignment of both");

/* The limits of plaintext, associated data (section 5.2.1.1) and nonce, in bytes. */
#define AESGCM_TEXT_MAX (((uint64_t)1 << 36) - 32)
#define AESGCM_AD_MAX (((uint64_t)1 << 61) - 1)

#endif
