/* The front end: checks what callers hand in, and runs whole packets through a kernel. */
#include "key.h"

int sealane_key_init_at(sealane_key *k, sealane_alg alg, const uint8_t *key, size_t key_bytes, int level)
{
    if (k == NULL || key == NULL || key_bytes != 32 || level < 0)
        return -1;
    if (alg != SEALANE_CHACHA20_POLY1305 && alg != SEALANE_XCHACHA20_POLY1305)
        return -1;
    k->opaque[0] = key_word(alg, level);
    memcpy(&k->opaque[1], key, 32);
    return 0;
}

int sealane_key_init(sealane_key *k, sealane_alg alg, const uint8_t *key, size_t key_bytes)
{
    return sealane_key_init_at(k, alg, key, key_bytes, sealane_level_of_process());
}

void sealane_key_wipe(sealane_key *k)
{
    if (k != NULL)
        wipe(k, sizeof *k);
}

const char *sealane_impl_name(const sealane_key *k)
{
    return key_valid(k) ? key_level(k)->name : "none";
}

/* The packet with all its pointers, as both directions are given it. */
typedef struct {
    const sealane_key *key;
    uint8_t *out;
    const uint8_t *nonce, *ad, *in;
    size_t nonce_bytes, ad_bytes, bytes;
} packet;

static inline int well_formed(const packet *p, const uint8_t *tag)
{
    if (!key_valid(p->key) || p->nonce == NULL || tag == NULL)
        return 0;
    const uint64_t bytes = p->bytes; /* size_t may be too narrow for the comparison */
    if (p->nonce_bytes != nonce_bytes_of(key_alg(p->key)) || bytes > CHACHA20_TEXT_MAX)
        return 0;
    if (p->ad_bytes != 0 && (p->ad == NULL || overlap(p->out, p->bytes, p->ad, p->ad_bytes)))
        return 0;
    if (p->bytes != 0) {
        if (p->in == NULL || p->out == NULL)
            return 0;
        if (p->out != p->in && overlap(p->out, p->bytes, p->in, p->bytes))
            return 0;
        if (overlap(p->out, p->bytes, p->nonce, p->nonce_bytes) || overlap(p->out, p->bytes, tag, SEALANE_TAG_BYTES))
            return 0;
    }
    return 1;
}

static inline void run(const packet *p, const uint8_t *key, const uint8_t *nonce, uint8_t *tag, uint64_t direction)
{
    SEALANE_SCRATCH(scratch);
    const sealane_level *level = key_level(p->key);
    const sealane_args a = {
        .out = slot(p->out),
        .in = slot(p->in),
        .bytes = p->bytes,
        .ad = slot(p->ad),
        .ad_bytes = p->ad_bytes,
        .key = slot(key),
        .nonce = slot(nonce),
        .tag = slot(tag),
        .total = p->bytes,
        .flags = SEALANE_FLAG_FIRST | SEALANE_FLAG_LAST | direction,
    };
    level->kernel(&a, scratch, level->consts);
}

static void run_xchacha(const packet *p, uint8_t *tag, uint64_t direction)
{
    uint8_t subkey[32], subnonce[12];
    xchacha_begin(subkey, subnonce, p->key, p->nonce);
    run(p, subkey, subnonce, tag, direction);
    wipe(subkey, sizeof subkey);
}

static inline void run_either(const packet *p, uint8_t *tag, uint64_t direction)
{
    if (key_alg(p->key) == SEALANE_CHACHA20_POLY1305)
        run(p, key_bytes_of(p->key), p->nonce, tag, direction);
    else
        run_xchacha(p, tag, direction);
}

int sealane_seal(const sealane_key *k, uint8_t *out, uint8_t tag[16], const uint8_t *nonce, size_t nonce_bytes,
                 const uint8_t *ad, size_t ad_bytes, const uint8_t *in, size_t in_bytes)
{
    const packet p = {k, out, nonce, ad, in, nonce_bytes, ad_bytes, in_bytes};
    if (!well_formed(&p, tag))
        return -1;
    run_either(&p, tag, 0);
    return 0;
}

int sealane_open(const sealane_key *k, uint8_t *out, const uint8_t tag[16], const uint8_t *nonce, size_t nonce_bytes,
                 const uint8_t *ad, size_t ad_bytes, const uint8_t *in, size_t in_bytes)
{
    const packet p = {k, out, nonce, ad, in, nonce_bytes, ad_bytes, in_bytes};
    uint8_t expected[16];
    if (!well_formed(&p, tag))
        return -1;
    run_either(&p, expected, SEALANE_FLAG_OPEN);
    const int authentic = equal16(expected, tag);
    wipe(expected, sizeof expected);
    if (!authentic) {
        if (in_bytes != 0)
            memset(out, 0, in_bytes);
        return -1;
    }
    return 0;
}
