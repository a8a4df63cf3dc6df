/* ChaCha20 without authentication, with the kernels of ChaCha20-Poly1305. */
#include "../include/sealane.h"

#include "contract.h"
#include "dit.h"
#include "key.h"

enum { BLOCK_BYTES = 64, NONCE_BYTES = SEALANE_CHACHA20_NONCE_BYTES };

/* Runs a part in the middle of a packet. Its authentication has a zero key and yields nothing. */
void sealane_chacha20_part(const sealane_key *k, const uint8_t nonce[12], uint32_t counter, uint8_t *out,
                           const uint8_t *in, size_t bytes)
{
    sealane_state state = {.counter = counter};
    uint8_t nothing[16];
    const sealane_packet_args a = {
        .out = slot(out),
        .in = slot(in),
        .bytes = bytes,
        .key = slot(key_bytes_of(k)),
        .nonce = slot(nonce),
        .tag = slot(nothing),
        .state = slot(&state),
        .flags = SEALANE_FLAG_LAST,
    };
    sealane_call(key_level(k), &a);
}

static sealane_status mistake(const sealane_key *k, const uint8_t *nonce, uint64_t counter, const uint8_t *out,
                              const uint8_t *in, size_t bytes)
{
    const uint64_t blocks = (uint64_t)bytes / BLOCK_BYTES + (bytes % BLOCK_BYTES != 0);
    if (!key_valid(k) || key_alg(k) != SEALANE_CHACHA20_POLY1305)
        return SEALANE_INVALID_KEY;
    if (nonce == NULL)
        return SEALANE_NULL;
    if (blocks > UINT64_MAX - counter)
        return SEALANE_TOO_LONG;
    if (overlap(nonce, NONCE_BYTES, out, bytes))
        return SEALANE_OVERLAP;
    return text_mistake(out, in, bytes, LENGTH_MAX);
}

/* The first 4 bytes of an RFC 8439 nonce hold the upper half of the counter here. Kernels count with 32 bits, so each
 * part ends where that counter wraps around. */
int sealane_chacha20_xor(const sealane_key *k, const uint8_t nonce[NONCE_BYTES], uint64_t counter, uint8_t *out,
                         const uint8_t *in, size_t in_bytes)
{
    uint8_t long_nonce[12];
    const sealane_status why = mistake(k, nonce, counter, out, in, in_bytes);
    if (why != SEALANE_OK)
        return why;
    const uint64_t dit = dit_on();
    memcpy(long_nonce + 4, nonce, NONCE_BYTES);
    while (in_bytes > 0) {
        const uint64_t until = (((uint64_t)1 << 32) - (uint32_t)counter) * BLOCK_BYTES;
        const size_t n = in_bytes < until ? in_bytes : (size_t)until;
        store32(long_nonce, (uint32_t)(counter >> 32));
        sealane_chacha20_part(k, long_nonce, (uint32_t)counter, out, in, n);
        counter += until / BLOCK_BYTES; /* the next iteration only follows a whole part */
        out += n, in += n, in_bytes -= n;
    }
    sealane_burn_stack();
    dit_restore(dit);
    return SEALANE_OK;
}
