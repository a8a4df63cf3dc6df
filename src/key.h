/* The contents of a sealane_key. */
#ifndef SEALANE_SRC_KEY_H
#define SEALANE_SRC_KEY_H

#include "../include/sealane.h"
#include "aesgcm.h"
#include "bytes.h"
#include "contract.h"
#include "level.h"
#include "portable.h"

/* opaque[0]: the upper half is a mark, which shows that the key was set up and not wiped. The lower half has the number
 * of bytes cut from the tag (24 bits), the index of the level (5) and the algorithm (3). opaque[1] to [4]: the 32 bytes
 * of a ChaCha20 key. opaque[8] to [127]: an AES-GCM key. */
#define KEY_MARK 0x736c6b31
enum { CHACHA20_KEY_AT = 1 * sizeof(uint64_t), GCM_KEY_AT = 8 * sizeof(uint64_t) };

enum { KEY_ALG_BITS = 3, KEY_CUT_AT = 8, SHORTEST_TAG = 12 /* of any key */ };
_Static_assert(SEALANE_AES_192_GCM < 1 << KEY_ALG_BITS, "an algorithm's number is too large");

static inline uint64_t key_word(sealane_alg alg, int level, size_t tag_bytes)
{
    return (uint64_t)KEY_MARK << 32 | (uint64_t)(SEALANE_TAG_BYTES - tag_bytes) << KEY_CUT_AT |
           (uint64_t)level << KEY_ALG_BITS | (uint64_t)alg;
}

static inline int key_marked(const sealane_key *k)
{
    return k != NULL && k->opaque[0] >> 32 == KEY_MARK;
}

static inline sealane_alg key_alg(const sealane_key *k)
{
    return (sealane_alg)(k->opaque[0] & ((1 << KEY_ALG_BITS) - 1));
}

static inline unsigned key_index(const sealane_key *k)
{
    return k->opaque[0] >> KEY_ALG_BITS & 0x1f;
}

static inline size_t key_tag_bytes(const sealane_key *k)
{
    return SEALANE_TAG_BYTES - (size_t)(k->opaque[0] >> KEY_CUT_AT & 0xffffff);
}

static inline int is_gcm(sealane_alg alg)
{
    return alg == SEALANE_AES_128_GCM || alg == SEALANE_AES_192_GCM || alg == SEALANE_AES_256_GCM;
}

/* Whether an algorithm has tags of that length. */
static inline int tag_fits(sealane_alg alg, size_t tag_bytes)
{
    return tag_bytes <= SEALANE_TAG_BYTES && tag_bytes >= (is_gcm(alg) ? SHORTEST_TAG : SEALANE_TAG_BYTES);
}

/* The table with the levels of an algorithm. */
static inline const sealane_table *table_of(sealane_alg alg)
{
    return &sealane_tables[is_gcm(alg) ? SEALANE_AESGCM : SEALANE_CHACHA20POLY1305];
}

/* A fault elsewhere may overwrite keys. Whatever they contain, no index leaves its table. */
static inline int key_valid(const sealane_key *k)
{
    return key_marked(k) && key_alg(k) >= SEALANE_CHACHA20_POLY1305 && key_alg(k) <= SEALANE_AES_192_GCM &&
           key_index(k) < table_of(key_alg(k))->count && tag_fits(key_alg(k), key_tag_bytes(k));
}

static inline const sealane_level *key_level(const sealane_key *k)
{
    return &table_of(key_alg(k))->levels[key_index(k)];
}

/* The level of a key with a whole tag and 12-byte nonces, indexed by the lower half of its word; NULL if no such
 * key has that word. Only such words are smaller than PLAIN_KEYS. */
enum { PLAIN_KEYS = SEALANE_LEVELS_MAX << KEY_ALG_BITS };
extern HIDDEN const sealane_level *const sealane_plain_levels[PLAIN_KEYS];

static inline const uint8_t *key_bytes_of(const sealane_key *k)
{
    return (const uint8_t *)k + CHACHA20_KEY_AT;
}

static inline const sealane_gcm_key *gcm_key_of(const sealane_key *k)
{
    return (const sealane_gcm_key *)&k->opaque[GCM_KEY_AT / sizeof k->opaque[0]];
}

/* The hash key H. */
void sealane_gcm_hash_key(uint8_t h[16], const sealane_level *level, const sealane_gcm_key *key);

/* Absorbs whole blocks into a packet's GHASH, in portable code. */
void sealane_gcm_absorb(sealane_gcm_state *state, const sealane_level *level, const sealane_gcm_key *key,
                        const uint8_t *in, size_t blocks);

/* Makes J0 for a nonce that does not have 12 bytes. */
void sealane_gcm_hash_nonce(uint8_t j0[16], const sealane_level *level, const sealane_gcm_key *key,
                            const uint8_t *nonce, size_t nonce_bytes);

/* Makes J0 of a packet with key k (NIST SP 800-38D, section 7.1); scratch is a kernel's scratch memory. */
void sealane_begin_gcm(uint8_t j0[16], const sealane_key *k, const uint8_t *nonce, size_t nonce_bytes, void *scratch);

/* sealane_key_init with a given level, for tests and benchmarks. */
int sealane_key_init_at(sealane_key *k, sealane_alg alg, const uint8_t *key, size_t key_bytes, int level);

/* Finds the caller's mistake in a packet with any key and nonce; SEALANE_OK if there is none. */
sealane_status sealane_mistake(const sealane_packet *p);

/* sealane_seal and sealane_open for one packet of a batch; 1 if it succeeded. */
int sealane_seal_op(sealane_op *op);
int sealane_open_op(sealane_op *op);

/* Erases an opened forgery: zeroes a separate output, or restores the ciphertext in place by applying the keystream
 * again. Returns SEALANE_NOT_AUTHENTIC. scratch is a kernel's scratch memory. */
sealane_status sealane_take_back(const sealane_packet *p, void *scratch);

/* 1 if the first tag_bytes bytes of two tags are equal. expected is wiped. */
int sealane_same_tag(uint8_t expected[SEALANE_TAG_BYTES], const uint8_t *tag, size_t tag_bytes);

/* RFC 8439, section 2.8: the block counter has 32 bits, and block 0 makes the Poly1305 key. */
#define CHACHA20_TEXT_MAX (((uint64_t)1 << 38) - 64)

static inline size_t nonce_bytes_of(sealane_alg alg)
{
    return alg == SEALANE_XCHACHA20_POLY1305 ? SEALANE_XCHACHA20_POLY1305_NONCE_BYTES
                                             : SEALANE_CHACHA20_POLY1305_NONCE_BYTES;
}

static inline uint64_t text_max(sealane_alg alg)
{
    return is_gcm(alg) ? AESGCM_TEXT_MAX : CHACHA20_TEXT_MAX;
}

static inline uint64_t ad_max(sealane_alg alg)
{
    return is_gcm(alg) ? AESGCM_AD_MAX : UINT64_MAX;
}

/* A limit, capped to the length of an object. */
static inline size_t length_within(uint64_t most)
{
    return most < LENGTH_MAX ? (size_t)most : LENGTH_MAX;
}

static inline int nonce_fits(sealane_alg alg, size_t nonce_bytes)
{
    if (is_gcm(alg))
        return nonce_bytes != 0 && nonce_bytes <= length_within(AESGCM_AD_MAX);
    return nonce_bytes == nonce_bytes_of(alg);
}

/* XORs ChaCha20 keystream, starting at block `counter`, which must not pass the last of 2^32. */
void sealane_chacha20_part(const sealane_key *k, const uint8_t nonce[12], uint32_t counter, uint8_t *out,
                           const uint8_t *in, size_t bytes);

/* XChaCha20 (draft-irtf-cfrg-xchacha-03, section 2.3) is ChaCha20 with a subkey. Its nonce is four zero bytes and the
 * rest of the nonce. */
static inline void xchacha_begin(uint8_t subkey[32], uint8_t subnonce[12], const sealane_key *k,
                                 const uint8_t nonce[24])
{
    sealane_hchacha20(subkey, key_bytes_of(k), nonce);
    memset(subnonce, 0, 4);
    memcpy(subnonce + 4, nonce + 16, 8);
}

#endif
