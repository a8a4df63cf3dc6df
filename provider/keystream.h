/* ChaCha20 key stream outside a packet. */
#ifndef SEALANE_PROVIDER_KEYSTREAM_H
#define SEALANE_PROVIDER_KEYSTREAM_H

#include "../src/bytes.h"
#include "../src/cpu.h"
#include "../src/level.h"

enum {
    KEYSTREAM_BLOCK = 64,
    KEYSTREAM_AHEAD = 1024, /* made at once for small pieces: one block takes nearly as long as 16 */
    KEYSTREAM_SMALL = 256,  /* smaller pieces are small */
    KEYSTREAM_SHORT = 1024  /* up to this length the kernel is not the fastest code */
};

/* The level of ChaCha20-Poly1305 in this process. Called only after the provider has checked that there is one. */
static inline const sealane_level *chacha20_level(void)
{
    return &sealane_tables[SEALANE_CHACHA20POLY1305].levels[sealane_level_of_process(sealane_tables)];
}

/* 1 if plain key stream is not slower than OpenSSL's. Otherwise the default provider keeps ChaCha20. Kernels below
 * avx512 are too slow for pieces of a few hundred bytes. */
static inline int keystream_is_fast(const sealane_level *level)
{
#if defined(__x86_64__) && defined(__GNUC__)
    return (level->needs & SEALANE_X86_AVX512F) != 0;
#else
    (void)level;
    return 0;
#endif
}

/* out = in XOR key stream, for whole blocks whose counters do not pass 2^32. */
void keystream_blocks(const sealane_level *level, const uint8_t key[32], const uint8_t nonce[12], uint32_t counter,
                      uint8_t *out, const uint8_t *in, size_t bytes);

/* Makes key stream: one block, or several whole blocks up to KEYSTREAM_AHEAD. */
void keystream_make(const sealane_level *level, const uint8_t key[32], const uint8_t nonce[12], uint32_t counter,
                    uint8_t *keystream, size_t bytes);

/* out = in XOR keystream; in is equal to out, or disjoint. */
static inline void keystream_xor(uint8_t *out, const uint8_t *in, const uint8_t *keystream, size_t bytes)
{
    for (; bytes >= 8; out += 8, in += 8, keystream += 8, bytes -= 8) {
        uint64_t x, k;
        memcpy(&x, in, 8);
        memcpy(&k, keystream, 8);
        x ^= k;
        memcpy(out, &x, 8);
    }
    while (bytes-- > 0)
        *out++ = *in++ ^ *keystream++;
}

#endif
