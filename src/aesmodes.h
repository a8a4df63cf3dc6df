/* The unauthenticated modes of AES (NIST SP 800-38A, IEEE 1619): front-end functions in addition to the kernels. */
#ifndef SEALANE_SRC_AESMODES_H
#define SEALANE_SRC_AESMODES_H

#include "../include/sealane.h"
#include "kernel.h"
#include "level.h"

/* The kernels of the portable levels. They ignore scratch and consts. */
sealane_kernel sealane_aes_portable;
sealane_kernel sealane_chacha20masks_portable;

/* A key in kernel layout: SEALANE_AES_KEY_* of asm/args.h. */
typedef struct sealane_aes_schedules {
    uint64_t rounds, unused;
    uint8_t schedule[SEALANE_AES_KEY_INVERSE - SEALANE_AES_KEY_SCHEDULE];
    uint8_t inverse[SEALANE_AES_KEY_BYTES - SEALANE_AES_KEY_INVERSE];
} sealane_aes_schedules;

_Static_assert(SEALANE_AES_KEY_ROUNDS == SEALANE_GCM_KEY_ROUNDS && SEALANE_AES_KEY_SCHEDULE == SEALANE_GCM_KEY_SCHEDULE,
               "kernels share the code that makes schedules");

/* The schedules of a valid key, and the level that made them; NULL if *key is invalid. */
const sealane_aes_schedules *sealane_aes_schedules_of(const sealane_aes_key *key, const sealane_level **level);

/* Makes a key that only encrypts: its decryption schedule may be stale. Does not wipe the previous key. Returns 0 if
 * there is no such key. For the provider, whose contexts set many keys of one length, often for a few blocks each. */
int sealane_aes_key_encrypts(sealane_aes_key *key, const uint8_t *raw, size_t key_bytes);

/* Encrypts whole blocks in counter mode, with a key and arguments that were checked. */
void sealane_aes_ctr_blocks(const sealane_aes_key *k, uint8_t counter[16], uint8_t *out, const uint8_t *in,
                            size_t bytes);

/* The tweak of the next block (IEEE 1619, section 5.2): multiplied by x in GF(2^128), little-endian. */
void sealane_xts_double(uint8_t tweak[16]);

#endif
