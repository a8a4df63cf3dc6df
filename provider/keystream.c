#include "keystream.h"

#include "../src/portable.h"

/* The kernel of ChaCha20-Poly1305 in the midst of a packet whose Poly1305 key is zero and whose tag nobody asks for. */
void keystream_blocks(const sealane_level *level, const uint8_t key[32], const uint8_t nonce[12], uint32_t counter,
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
