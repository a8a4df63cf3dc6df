/* AES (FIPS 197) in constant-time C. It is bit-sliced and processes as many blocks side by side as fit in a machine
 * word. */
#ifndef SEALANE_SRC_AES_H
#define SEALANE_SRC_AES_H

#include <stddef.h>
#include <stdint.h>

/* Word k of eight holds bit k of every byte of AES_LANES blocks. */
#if UINTPTR_MAX > 0xffffffff && !defined(SEALANE_TEST_WORDS32)
typedef uint64_t aes_word;
#else
typedef uint32_t aes_word;
#endif

enum {
    AES_LANES = sizeof(aes_word) / 2, /* blocks at a time: 4, or 2 with 32-bit words */
    AES_BATCH = 16 * AES_LANES,       /* bytes at a time */
    AES_SCHEDULE_BYTES = 240,
    AES_ROUNDS_MAX = 14
};

/* Rounds for a key of 16, 24 or 32 bytes: 10, 12 or 14. */
static inline int aes_rounds(size_t key_bytes)
{
    return (int)(6 + key_bytes / 4);
}

/* The round keys for encryption in all lanes. Wipe after use. */
typedef struct aes_keys {
    int rounds;
    aes_word words[AES_ROUNDS_MAX + 1][8];
} aes_keys;

/* Makes the compact key schedule: 16 bytes per round key. schedule may be equal to key. */
void sealane_aes_expand(uint8_t schedule[AES_SCHEDULE_BYTES], const uint8_t *key, int rounds);

/* Copies a schedule to all lanes. */
void sealane_aes_spread(aes_keys *keys, const uint8_t schedule[AES_SCHEDULE_BYTES], int rounds);

/* Sets the keys of one lane; all lanes have the same number of rounds. */
void sealane_aes_spread_lane(aes_keys *keys, int lane, const uint8_t schedule[AES_SCHEDULE_BYTES], int rounds);

/* Encrypts AES_LANES blocks, possibly in place. Decryption uses the same keys. */
void sealane_aes_encrypt(const aes_keys *keys, uint8_t out[AES_BATCH], const uint8_t in[AES_BATCH]);
void sealane_aes_decrypt(const aes_keys *keys, uint8_t out[AES_BATCH], const uint8_t in[AES_BATCH]);

/* Encrypts AES_LANES counter blocks: prefix and the big-endian counter, counter + 1, ... */
void sealane_aes_counters(const aes_keys *keys, uint8_t out[AES_BATCH], const uint8_t prefix[12], uint32_t counter);

/* Overwrites the stack below the caller's frame, where the frames of the portable kernels were. */
void sealane_aes_burn_stack(void);

#endif
