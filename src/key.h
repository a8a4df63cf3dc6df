/* What a sealane_key holds. */
#ifndef SEALANE_SRC_KEY_H
#define SEALANE_SRC_KEY_H

#include "../include/sealane.h"
#include "bytes.h"
#include "level.h"
#include "portable.h"

/* opaque[0]: a mark in the upper half, by which a key that was never set up or was wiped is told; below it the level's
 * index and the algorithm. opaque[1] to [4]: the 32 bytes of a ChaCha20 key. */
#define KEY_MARK ((uint64_t)0x736c6b31 << 32)

static inline uint64_t key_word(sealane_alg alg, int level)
{
    return KEY_MARK | (uint64_t)level << 8 | (uint64_t)alg;
}

static inline int key_valid(const sealane_key *k)
{
    return k != NULL && (k->opaque[0] & 0xffffffff00000000) == KEY_MARK;
}

static inline sealane_alg key_alg(const sealane_key *k)
{
    return (sealane_alg)(k->opaque[0] & 0xff);
}

static inline const sealane_level *key_level(const sealane_key *k)
{
    return &sealane_levels[k->opaque[0] >> 8 & 0xff];
}

static inline const uint8_t *key_bytes_of(const sealane_key *k)
{
    return (const uint8_t *)&k->opaque[1];
}

/* sealane_key_init with a level of the caller's choice; for tests and benchmarks. */
int sealane_key_init_at(sealane_key *k, sealane_alg alg, const uint8_t *key, size_t key_bytes, int level);

/* RFC 8439, section 2.8: the block counter has 32 bits, and block 0 makes the Poly1305 key. */
#define CHACHA20_TEXT_MAX (((uint64_t)1 << 38) - 64)

static inline size_t nonce_bytes_of(sealane_alg alg)
{
    return alg == SEALANE_XCHACHA20_POLY1305 ? SEALANE_XCHACHA20_POLY1305_NONCE_BYTES
                                             : SEALANE_CHACHA20_POLY1305_NONCE_BYTES;
}

/* XChaCha20 (draft-irtf-cfrg-xchacha-03, section 2.3) is ChaCha20 with a subkey, and four zero bytes and the rest of
 * the nonce as its nonce. */
static inline void xchacha_begin(uint8_t subkey[32], uint8_t subnonce[12], const sealane_key *k,
                                 const uint8_t nonce[24])
{
    sealane_hchacha20(subkey, key_bytes_of(k), nonce);
    memset(subnonce, 0, 4);
    memcpy(subnonce + 4, nonce + 16, 8);
}

#endif
