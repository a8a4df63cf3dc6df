#include "keystream.h"

#include "../src/portable.h"

/* The kernel of ChaCha20-Poly1305 in the midst of a packet whose Poly1305 key is zero and whose tag nobody asks for. */
static void by_kernel(const sealane_level *level, const uint8_t key[32], const uint8_t nonce[12], uint32_t counter,
                      uint8_t *out, const uint8_t *in, size_t bytes)
{
    SEALANE_SCRATCH(scratch);
    sealane_state state = {.counter = counter};
    const sealane_args a = {
        .out = slot(out),
        .in = slot(in),
        .bytes = bytes,
        .key = slot(key),
        .nonce = slot(nonce),
        .state = slot(&state),
    };
    level->kernel(&a, scratch, level->consts);
}

#if defined(__GNUC__) && (!defined(__BYTE_ORDER__) || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/* Short pieces, in the compiler's vectors, as wide as each level has them. */
typedef uint32_t row __attribute__((vector_size(16)));

#define NAME(x) x##_any
#define BLOCKS 1
#define TARGET
#include "keystream_rows.h"

#if defined(__x86_64__)
#define NAME(x) x##_avx2
#define BLOCKS 2
#define TARGET __attribute__((target("avx2")))
#include "keystream_rows.h"

#define NAME(x) x##_avx512
#define BLOCKS 4
#define TARGET __attribute__((target("avx512f,avx512vl,avx512bw,prefer-vector-width=512")))
#include "keystream_rows.h"
#endif

static int by_vectors(const sealane_level *level, const uint8_t key[32], const uint8_t nonce[12], uint32_t counter,
                      uint8_t *out, const uint8_t *in, size_t bytes)
{
    if (bytes > KEYSTREAM_SHORT)
        return 0;
#if defined(__x86_64__)
    if (level->needs & SEALANE_X86_AVX512F)
        keystream_short_avx512(key, nonce, counter, out, in, bytes);
    else if (level->needs & SEALANE_X86_AVX2)
        keystream_short_avx2(key, nonce, counter, out, in, bytes);
    else
#endif
        keystream_short_any(key, nonce, counter, out, in, bytes);
    (void)level;
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
