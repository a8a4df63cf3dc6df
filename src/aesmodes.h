/* AES in the modes that do not authenticate (NIST SP 800-38A, IEEE 1619): what front ends need besides the kernels. */
#ifndef SEALANE_SRC_AESMODES_H
#define SEALANE_SRC_AESMODES_H

#include "../include/sealane.h"
#include "kernel.h"
#include "level.h"

/* The kernels of the portable levels; scratch and consts are not used. */
sealane_kernel sealane_aes_portable;
sealane_kernel sealane_chacha20masks_portable;

/* A key for a kernel: SEALANE_AES_KEY_* of asm/args.h. */
typedef struct sealane_aes_schedules {
    uint64_t rounds, unused;
    uint8_t schedule[SEALANE_AES_KEY_INVERSE - SEALANE_AES_KEY_SCHEDULE];
    uint8_t inverse[SEALANE_AES_KEY_BYTES - SEALANE_AES_KEY_INVERSE];
} sealane_aes_schedules;

_Static_assert(SEALANE_AES_KEY_ROUNDS == SEALANE_GCM_KEY_ROUNDS && SEALANE_AES_KEY_SCHEDULE == SEALANE_GCM_KEY_SCHEDULE,
               "kernels share the code that makes schedules");

/* What a valid key holds, and the level that it was made by; NULL if *key is none. */
const sealane_aes_schedules *sealane_aes_schedules_of(const sealane_aes_key *key, const sealane_level **level);

/* For the provider, whose contexts have one key after another of one length, often for a few blocks each. A key that
 * only encrypts: what it has for decryption may stay as it was. Nothing is wiped before; 0 if there is no such key. */
int sealane_aes_key_encrypts(sealane_aes_key *key, const uint8_t *raw, size_t key_bytes);

/* Whole blocks in counter mode, of a key and arguments that have been checked. */
void sealane_aes_ctr_blocks(const sealane_aes_key *k, uint8_t counter[16], uint8_t *out, const uint8_t *in,
                            size_t bytes);

/* The tweak of the next block (IEEE 1619, section 5.2): times x in GF(2^128), little-endian. */
void sealane_xts_double(uint8_t tweak[16]);

#endif
