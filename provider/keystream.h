/* ChaCha20's key stream without a packet around it. */
#ifndef SEALANE_PROVIDER_KEYSTREAM_H
#define SEALANE_PROVIDER_KEYSTREAM_H

#include "../src/bytes.h"
#include "../src/cpu.h"
#include "../src/level.h"

enum {
    KEYSTREAM_BLOCK = 64,
    KEYSTREAM_AHEAD = 1024, /* made at once when text comes in small pieces: one block costs nearly as much as 16 */
    KEYSTREAM_SMALL = 256,  /* pieces below this are small */
    KEYSTREAM_SHORT = 2048  /* up to here no kernel is needed for the key stream alone */
};

/* out = in ^ key stream, for whole blocks whose counters do not pass 2^32. */
void keystream_blocks(const sealane_level *level, const uint8_t key[32], const uint8_t nonce[12], uint32_t counter,
                      uint8_t *out, const uint8_t *in, size_t bytes);

/* bytes of key stream: one block, or whole blocks up to KEYSTREAM_AHEAD. */
void keystream_make(const sealane_level *level, const uint8_t key[32], const uint8_t nonce[12], uint32_t counter,
                    uint8_t *keystream, size_t bytes);

/* out = in ^ keystream; in == out, or disjoint. */
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
