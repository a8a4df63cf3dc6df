/* What a sealane_key holds. */
#ifndef SEALANE_SRC_KEY_H
#define SEALANE_SRC_KEY_H

#include "../include/sealane.h"
#include "aesgcm.h"
#include "bytes.h"
#include "level.h"
#include "portable.h"

/* opaque[0]: a mark in the upper half, by which a key that was never set up or was wiped is told; below it the level's
 * index and the algorithm. opaque[1] to [4]: the 32 bytes of a ChaCha20 key. opaque[8] to [127]: an AES-GCM key. */
#define KEY_MARK 0x736c6b31

static inline uint64_t key_word(sealane_alg alg, int level)
{
    return (uint64_t)KEY_MARK << 32 | (uint64_t)level << 8 | (uint64_t)alg;
}

static inline int key_valid(const sealane_key *k)
{
    return k != NULL && k->opaque[0] >> 32 == KEY_MARK;
}

static inline sealane_alg key_alg(const sealane_key *k)
{
    return (sealane_alg)(k->opaque[0] & 0xff);
}

static inline int is_gcm(sealane_alg alg)
{
    return alg == SEALANE_AES_128_GCM || alg == SEALANE_AES_192_GCM || alg == SEALANE_AES_256_GCM;
}

/* The table that an algorithm's levels are in. */
static inline const sealane_table *table_of(sealane_alg alg)
{
    return &sealane_tables[is_gcm(alg) ? SEALANE_AESGCM : SEALANE_CHACHA20POLY1305];
}

static inline const sealane_level *level_of(int table, const sealane_key *k)
{
    return &sealane_tables[table].levels[k->opaque[0] >> 8 & 0xff];
}

static inline const sealane_level *key_level(const sealane_key *k)
{
    return level_of(is_gcm(key_alg(k)) ? SEALANE_AESGCM : SEALANE_CHACHA20POLY1305, k);
}

static inline const uint8_t *key_bytes_of(const sealane_key *k)
{
    return (const uint8_t *)&k->opaque[1];
}

static inline const sealane_gcm_key *gcm_key_of(const sealane_key *k)
{
    return (const sealane_gcm_key *)&k->opaque[8];
}

/* The hash key H. */
void sealane_gcm_hash_key(uint8_t h[16], const sealane_level *level, const sealane_gcm_key *key);

/* Whole blocks into GHASH of a packet, in portable code. */
void sealane_gcm_absorb(sealane_gcm_state *state, const sealane_level *level, const sealane_gcm_key *key,
                        const uint8_t *in, size_t blocks);

/* J0 of a packet whose nonce does not have 12 bytes. */
void sealane_gcm_hash_nonce(uint8_t j0[16], const sealane_level *level, const sealane_gcm_key *key,
                            const uint8_t *nonce, size_t nonce_bytes);

/* J0 of a packet under k (NIST SP 800-38D, section 7.1). */
void sealane_begin_gcm(uint8_t j0[16], const sealane_key *k, const uint8_t *nonce, size_t nonce_bytes);

/* sealane_key_init with a level of the caller's choice; for tests and benchmarks. */
int sealane_key_init_at(sealane_key *k, sealane_alg alg, const uint8_t *key, size_t key_bytes, int level);

/* RFC 8439, section 2.8: the block counter has 32 bits, and block 0 makes the Poly1305 key. */
#define CHACHA20_TEXT_MAX (((uint64_t)1 << 38) - 64)

static inline size_t nonce_bytes_of(sealane_alg alg)
{
    return alg == SEALANE_XCHACHA20_POLY1305 ? SEALANE_XCHACHA20_POLY1305_NONCE_BYTES
                                             : SEALANE_CHACHA20_POLY1305_NONCE_BYTES;
}

static inline int nonce_fits(sealane_alg alg, size_t nonce_bytes)
{
    const uint64_t bytes = nonce_bytes; /* size_t has 32 bits on some processors */

    if (is_gcm(alg))
        return bytes != 0 && bytes <= AESGCM_AD_MAX;
    return nonce_bytes == nonce_bytes_of(alg);
}

static inline uint64_t text_max(sealane_alg alg)
{
    return is_gcm(alg) ? AESGCM_TEXT_MAX : CHACHA20_TEXT_MAX;
}

static inline uint64_t ad_max(sealane_alg alg)
{
    return is_gcm(alg) ? AESGCM_AD_MAX : UINT64_MAX;
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
