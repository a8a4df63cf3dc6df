#include "keystream.h"

#include "../src/dit.h"

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
    const uint64_t dit = dit_on();
    level->kernel(&a, scratch, level->consts);
    dit_restore(dit);
}

/* Short pieces on the level avx512, in the compiler's vectors of 256 and of 512 bits: the former are done sooner, the
 * latter with more. */
#if defined(__x86_64__) && defined(__GNUC__)

typedef uint32_t row __attribute__((vector_size(16)));

#define NAME(x) x##_256
#define BLOCKS 2
#include "keystream_rows.h"

#define NAME(x) x##_512
#define BLOCKS 4
#include "keystream_rows.h"

static int by_vectors(const sealane_level *level, const uint8_t key[32], const uint8_t nonce[12], uint32_t counter,
                      uint8_t *out, const uint8_t *in, size_t bytes)
{
    if (!keystream_is_fast(level) || bytes > KEYSTREAM_SHORT)
        return 0;
    if (bytes <= KEYSTREAM_SHORT / 2)
        keystream_short_256(key, nonce, counter, out, in, bytes);
    else
        keystream_short_512(key, nonce, counter, out, in, bytes);
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
