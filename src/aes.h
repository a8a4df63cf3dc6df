/* AES (FIPS 197) in constant-time C: bit-sliced, as many blocks side by side as a machine word has room for. */
#ifndef SEALANE_SRC_AES_H
#define SEALANE_SRC_AES_H

#include <stddef.h>
#include <stdint.h>

/* Bit k of every byte of AES_LANES blocks lies in word k of eight. */
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

/* The round keys as encryption wants them, ready for all lanes. To be wiped. */
typedef struct aes_keys {
    int rounds;
    aes_word words[AES_ROUNDS_MAX + 1][8];
} aes_keys;

/* The key schedule, compact: of each round key 16 bytes. schedule may be where key is. */
void sealane_aes_expand(uint8_t schedule[AES_SCHEDULE_BYTES], const uint8_t *key, int rounds);

/* Spreads a schedule over the lanes. */
void sealane_aes_spread(aes_keys *keys, const uint8_t schedule[AES_SCHEDULE_BYTES], int rounds);

/* Sets the keys of one lane alone, where each has its own; all have as many rounds. */
void sealane_aes_spread_lane(aes_keys *keys, int lane, const uint8_t schedule[AES_SCHEDULE_BYTES], int rounds);

/* Encrypts AES_LANES blocks; in place is allowed. Decryption has the same keys. */
void sealane_aes_encrypt(const aes_keys *keys, uint8_t out[AES_BATCH], const uint8_t in[AES_BATCH]);
void sealane_aes_decrypt(const aes_keys *keys, uint8_t out[AES_BATCH], const uint8_t in[AES_BATCH]);

/* Encrypts AES_LANES counter blocks: prefix and the big-endian counter, counter + 1, ... */
void sealane_aes_counters(const aes_keys *keys, uint8_t out[AES_BATCH], const uint8_t prefix[12], uint32_t counter);

/* Overwrites the stack below the caller's frame, where the portable kernels have theirs. */
void sealane_aes_burn_stack(void);

#endif
