#include "keystream.h"

#include "../src/dit.h"

#include "../src/portable.h"

/* The ChaCha20-Poly1305 kernel in the middle of a packet whose Poly1305 key is zero and whose tag is not used. */
static void by_kernel(const sealane_level *level, const uint8_t key[32], const uint8_t nonce[12], uint32_t counter,
                      uint8_t *out, const uint8_t *in, size_t bytes)
{
    SEALANE_SCRATCH(scratch);
    sealane_state state = {.counter = counter};
    const sealane_packet_args a = {
        .out = slot(out),
        .in = slot(in),
        .bytes = bytes,
        .key = slot(key),
        .nonce = slot(nonce),
        .state = slot(&state),
    };
    const uint64_t dit = dit_on();
    level->kernel(&a, scratch, level->consts);
    dit_restore(dit);
}

/* Short pieces at level avx512, with the compiler's vectors: up to 8 blocks by rows (keystream_rows.h), and up to 16 by
 * words, as in the kernels. */
#if defined(__x86_64__) && defined(__GNUC__)

typedef uint32_t row __attribute__((vector_size(16)));

#define NAME(x) x##_256
#define BLOCKS 2
#include "keystream_rows.h"

/* One vector holds word i of 16 blocks. */
typedef uint32_t words __attribute__((vector_size(64)));

#define TARGET __attribute__((target("avx512f,avx512vl,avx512bw")))
#define ROTATE(v, n) v = (v) << (n) | (v) >> (32 - (n))
#define QUARTER_ROUND(a, b, c, d) \
    do {                          \
        a += b, d ^= a;           \
        ROTATE(d, 16);            \
        c += d, b ^= c;           \
        ROTATE(b, 12);            \
        a += b, d ^= a;           \
        ROTATE(d, 8);             \
        c += d, b ^= c;           \
        ROTATE(b, 7);             \
    } while (0)

/* Interleaves the low or high halves of each 16 bytes of two vectors, by words or by pairs of words. */
#define EACH4(a, b, c, d) \
    a, b, c, d, a + 4, b + 4, c + 4, d + 4, a + 8, b + 8, c + 8, d + 8, a + 12, b + 12, c + 12, d + 12
#define WORDS_LOW(a, b) __builtin_shufflevector(a, b, EACH4(0, 16, 1, 17))
#define WORDS_HIGH(a, b) __builtin_shufflevector(a, b, EACH4(2, 18, 3, 19))
#define PAIRS_LOW(a, b) __builtin_shufflevector(a, b, EACH4(0, 1, 16, 17))
#define PAIRS_HIGH(a, b) __builtin_shufflevector(a, b, EACH4(2, 3, 18, 19))
/* Combines 16-byte parts of two vectors: numbers 0 and 1, 2 and 3, 0 and 2, 1 and 3. */
#define FOURS(a, b, i, j, k, l)                                                                                   \
    __builtin_shufflevector(a, b, 4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3, 4 * j, 4 * j + 1, 4 * j + 2, 4 * j + 3, \
                            4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3, 4 * l, 4 * l + 1, 4 * l + 2, 4 * l + 3)

TARGET static inline void xor_block(uint8_t *out, const uint8_t *in, words keystream, size_t block, size_t bytes)
{
    if (64 * block < bytes) {
        words x;
        memcpy(&x, in + 64 * block, sizeof x);
        x ^= keystream;
        memcpy(out + 64 * block, &x, sizeof x);
    }
}

TARGET static void keystream_16(const uint8_t key[32], const uint8_t nonce[12], uint32_t counter, uint8_t *out,
                                const uint8_t *in, size_t bytes)
{
    static const uint32_t constants[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}; /* "expand 32-byte k" */
    const words numbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    words first[16], x[16];
#pragma GCC unroll 16
    for (int i = 0; i < 4; i++)
        first[i] = (words){0} + constants[i];
#pragma GCC unroll 16
    for (int i = 0; i < 8; i++)
        first[4 + i] = (words){0} + load32(key + 4 * i);
    first[12] = numbers + counter;
#pragma GCC unroll 16
    for (int i = 0; i < 3; i++)
        first[13 + i] = (words){0} + load32(nonce + 4 * i);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        x[i] = first[i];
    for (int i = 0; i < 10; i++) {
        QUARTER_ROUND(x[0], x[4], x[8], x[12]);
        QUARTER_ROUND(x[1], x[5], x[9], x[13]);
        QUARTER_ROUND(x[2], x[6], x[10], x[14]);
        QUARTER_ROUND(x[3], x[7], x[11], x[15]);
        QUARTER_ROUND(x[0], x[5], x[10], x[15]);
        QUARTER_ROUND(x[1], x[6], x[11], x[12]);
        QUARTER_ROUND(x[2], x[7], x[8], x[13]);
        QUARTER_ROUND(x[3], x[4], x[9], x[14]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        x[i] += first[i];
#pragma GCC unroll 16
    /* Part l of x[4 * i + j], 16 bytes, gets words 4 * i to 4 * i + 3 of block 4 * l + j. */
    for (int i = 0; i < 16; i += 4) {
        const words ab = WORDS_LOW(x[i], x[i + 1]), cd = WORDS_LOW(x[i + 2], x[i + 3]), AB = WORDS_HIGH(x[i], x[i + 1]),
                    CD = WORDS_HIGH(x[i + 2], x[i + 3]);
        x[i] = PAIRS_LOW(ab, cd);
        x[i + 1] = PAIRS_HIGH(ab, cd);
        x[i + 2] = PAIRS_LOW(AB, CD);
        x[i + 3] = PAIRS_HIGH(AB, CD);
    }
#pragma GCC unroll 16
    for (size_t j = 0; j < 4; j++) {
        const words a = FOURS(x[j], x[4 + j], 0, 1, 4, 5), b = FOURS(x[j], x[4 + j], 2, 3, 6, 7),
                    c = FOURS(x[8 + j], x[12 + j], 0, 1, 4, 5), d = FOURS(x[8 + j], x[12 + j], 2, 3, 6, 7);
        xor_block(out, in, FOURS(a, c, 0, 2, 4, 6), j, bytes);
        xor_block(out, in, FOURS(a, c, 1, 3, 5, 7), 4 + j, bytes);
        xor_block(out, in, FOURS(b, d, 0, 2, 4, 6), 8 + j, bytes);
        xor_block(out, in, FOURS(b, d, 1, 3, 5, 7), 12 + j, bytes);
    }
}

static int by_vectors(const sealane_level *level, const uint8_t key[32], const uint8_t nonce[12], uint32_t counter,
                      uint8_t *out, const uint8_t *in, size_t bytes)
{
    if (!keystream_is_fast(level) || bytes > KEYSTREAM_SHORT)
        return 0;
    if (bytes <= KEYSTREAM_SHORT / 2)
        keystream_short_256(key, nonce, counter, out, in, bytes);
    else
        keystream_16(key, nonce, counter, out, in, bytes);
    return 1;
}

#else

static int by_vectors(const sealane_level *level, const uint8_t key[32], const uint8_t nonce[12], uint32_t counter,
                      uint8_t *out, const uint8_t *in, size_t bytes)
{
    (void)level, (void)key, (void)nonce, (void)counter, (void)out, (void)in, (void)bytes;
    return 0;
}

#endif

void keystream_blocks(const sealane_level *level, const uint8_t key[32], const uint8_t nonce[12], uint32_t counter,
                      uint8_t *out, const uint8_t *in, size_t bytes)
{
    if (!by_vectors(level, key, nonce, counter, out, in, bytes))
        by_kernel(level, key, nonce, counter, out, in, bytes);
}

void keystream_make(const sealane_level *level, const uint8_t key[32], const uint8_t nonce[12], uint32_t counter,
                    uint8_t *keystream, size_t bytes)
{
    if (bytes == KEYSTREAM_BLOCK) {
        sealane_chacha20_block(keystream, key, nonce, counter);
        return;
    }
    memset(keystream, 0, bytes);
    keystream_blocks(level, key, nonce, counter, keystream, keystream, bytes);
}
