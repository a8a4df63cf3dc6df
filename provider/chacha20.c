/* Plain ChaCha20 with OpenSSL's IV: a 4-byte little-endian block counter, and the 12-byte nonce of RFC 8439.
 *
 * Runs of blocks go through the ChaCha20-Poly1305 kernel as the middle of a packet, whose Poly1305 key is zero and
 * whose tag is not used. As in OpenSSL, the 32-bit counter carries into the next word. */
#include "cipher.h"

#include <openssl/params.h>

#include "keystream.h"
#include "skey.h"

static const cipher_shape shape = {.key_bytes = 32, .iv_bytes = 16, .mode = 0, .aead = 0};

typedef struct {
    const core *core;
    const sealane_level *level;
    int key_set;
    int ahead;         /* key stream was made once since init or the last long piece, so the next is made ahead */
    size_t used, made; /* bytes of keystream */
    uint64_t next;     /* counter of the first block after keystream */
    uint64_t at;       /* counter of the block with the last byte, unless that byte ended a run of blocks */
    unsigned part;     /* used bytes of that block: a new key without an IV starts after it */
    uint8_t key[32];
    uint8_t nonce[12]; /* the first 4 bytes belong to the counter, and are set before each use */
    uint8_t keystream[KEYSTREAM_AHEAD];
} context;

static void *new_context(void *provider)
{
    const core *from = provider;
    context *c = core_is_well(from) ? core_allocate(from, sizeof *c) : NULL;
    if (c != NULL) {
        c->core = from;
        c->level = chacha20_level();
    }
    return c;
}

static void free_context(void *v)
{
    context *c = v;
    if (c != NULL)
        core_free(c->core, c, sizeof *c);
}

static void *duplicate(void *v)
{
    const context *c = v;
    context *copy = c == NULL ? NULL : core_allocate(c->core, sizeof *copy);
    if (copy != NULL)
        *copy = *c;
    return copy;
}

/* ---- The key stream ---- */

/* How many of `bytes` can be processed before the 32-bit counter wraps around. */
static size_t up_to_carry(const context *c, size_t bytes)
{
    const uint64_t left = (((uint64_t)1 << 32) - (uint32_t)c->next) * KEYSTREAM_BLOCK;
    return bytes < left ? bytes : (size_t)left;
}

static const uint8_t *nonce_of_next(context *c)
{
    store32(c->nonce, (uint32_t)(c->next >> 32));
    return c->nonce;
}

static void refill(context *c)
{
    c->made = c->ahead ? up_to_carry(c, KEYSTREAM_AHEAD) : KEYSTREAM_BLOCK;
    c->used = 0;
    c->ahead = 1;
    keystream_make(c->level, c->key, nonce_of_next(c), (uint32_t)c->next, c->keystream, c->made);
    c->next += c->made / KEYSTREAM_BLOCK;
}

static size_t take_made(context *c, uint8_t *out, const uint8_t *in, size_t bytes)
{
    const size_t left = c->made - c->used, n = bytes < left ? bytes : left;
    keystream_xor(out, in, c->keystream + c->used, n);
    c->used += n;
    return n;
}

static void crypt(context *c, uint8_t *out, const uint8_t *in, size_t bytes)
{
    size_t n = take_made(c, out, in, bytes);
    in += n, out += n, bytes -= n;
    while (bytes >= KEYSTREAM_SMALL) {
        n = up_to_carry(c, bytes - bytes % KEYSTREAM_BLOCK);
        keystream_blocks(c->level, c->key, nonce_of_next(c), (uint32_t)c->next, out, in, n);
        c->next += n / KEYSTREAM_BLOCK;
        c->ahead = 0;
        in += n, out += n, bytes -= n;
    }
    while (bytes != 0) {
        refill(c);
        n = take_made(c, out, in, bytes);
        in += n, out += n, bytes -= n;
    }
}

/* Tracks the position of the default provider. */
static void count(context *c, size_t bytes)
{
    if (c->part != 0) {
        const size_t left = KEYSTREAM_BLOCK - c->part, n = bytes < left ? bytes : left;
        c->part += (unsigned)n;
        bytes -= n;
        if (bytes == 0)
            return;
        c->at++;
    }
    c->at += bytes / KEYSTREAM_BLOCK;
    c->part = bytes % KEYSTREAM_BLOCK;
}

/* The first block without a used byte. */
static uint64_t next_block(const context *c)
{
    return c->at + (c->part + KEYSTREAM_BLOCK - 1) / KEYSTREAM_BLOCK;
}

/* ---- EVP functions ---- */

static int set_params(void *v, const OSSL_PARAM params[])
{
    const context *c = v;
    found_params found;
    if (params == NULL)
        return 1;
    find_params(&found, params);
    return cipher_set_lengths(c->core, &shape, &found);
}

/* The IV that continues after the block of the last byte. */
static int get_updated_iv(const context *c, OSSL_PARAM *p)
{
    uint8_t iv[16];
    if (p == NULL)
        return 1;
    store64(iv, next_block(c));
    memcpy(iv + 8, c->nonce + 4, 8);
    p->return_size = sizeof iv;
    if (p->data_type != OSSL_PARAM_OCTET_STRING || (p->data != NULL && p->data_size < sizeof iv)) {
        RAISE(c->core, PROV_R_FAILED_TO_SET_PARAMETER);
        return 0;
    }
    if (p->data != NULL)
        memcpy(p->data, iv, sizeof iv);
    return 1;
}

static int get_params(void *v, OSSL_PARAM params[])
{
    const context *c = v;
    found_params found;
    find_params(&found, params);
    return cipher_get_lengths(c->core, &shape, &found) && get_updated_iv(c, found_at(&found, PARAM_UPDATED_IV));
}

static const OSSL_PARAM *settable(void *v, void *provider)
{
    static const OSSL_PARAM known[] = {
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, NULL),
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_IVLEN, NULL),
        OSSL_PARAM_END,
    };
    (void)v, (void)provider;
    return known;
}

static const OSSL_PARAM *gettable(void *v, void *provider)
{
    static const OSSL_PARAM known[] = {
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, NULL),
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_IVLEN, NULL),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_UPDATED_IV, NULL, 0),
        OSSL_PARAM_END,
    };
    (void)v, (void)provider;
    return known;
}

static int shape_params(OSSL_PARAM params[])
{
    return cipher_get_params(&shape, params);
}

static int init(void *v, const unsigned char *key, size_t key_bytes, const unsigned char *iv, size_t iv_bytes,
                const OSSL_PARAM params[])
{
    context *c = v;
    if (!cipher_init_lengths(c->core, &shape, key, key_bytes, iv, iv_bytes))
        return 0;
    if (key != NULL) {
        memcpy(c->key, key, sizeof c->key);
        c->key_set = 1;
    }
    if (iv != NULL) {
        c->at = load64(iv);
        c->part = 0;
        memcpy(c->nonce, (const uint8_t *)iv + 4, sizeof c->nonce);
    }
    if (key != NULL || iv != NULL) {
        /* OpenSSL before 3.6 starts within the partly used block; with the same key, that is the same key stream. */
        c->next = c->at = next_block(c);
        c->part = 0;
        c->used = c->made = 0;
        c->ahead = 0;
    }
    return set_params(c, params);
}

/* OpenSSL 3.5: the key is an object. */
static int encrypt_skey_init(void *v, void *skeydata, const unsigned char *iv, size_t iv_bytes,
                             const OSSL_PARAM params[])
{
    const skey *k = skeydata;
    return init(v, k == NULL ? NULL : k->key, k == NULL ? 0 : k->bytes, iv, iv_bytes, params);
}

static int decrypt_skey_init(void *v, void *skeydata, const unsigned char *iv, size_t iv_bytes,
                             const OSSL_PARAM params[])
{
    const skey *k = skeydata;
    return init(v, k == NULL ? NULL : k->key, k == NULL ? 0 : k->bytes, iv, iv_bytes, params);
}

static int key_set(const context *c)
{
    if (!c->key_set)
        RAISE(c->core, PROV_R_NO_KEY_SET);
    return c->key_set;
}

static int update(void *v, unsigned char *out, size_t *out_bytes, size_t out_size, const unsigned char *in,
                  size_t bytes)
{
    context *c = v;
    if (!key_set(c))
        return 0;
    if (out_size < bytes) {
        RAISE(c->core, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
        return 0;
    }
    if (in != out && overlap(out, bytes, in, bytes)) {
        memmove(out, in, bytes);
        in = out;
    }
    crypt(c, out, in, bytes);
    count(c, bytes);
    *out_bytes = bytes;
    return 1;
}

static int final(void *v, unsigned char *out, size_t *out_bytes, size_t out_size)
{
    (void)out, (void)out_size;
    if (!key_set(v))
        return 0;
    *out_bytes = 0;
    return 1;
}

const OSSL_DISPATCH chacha20_functions[] = {
    FUNCTION(NEWCTX, new_context),
    FUNCTION(FREECTX, free_context),
    FUNCTION(DUPCTX, duplicate),
    FUNCTION(ENCRYPT_INIT, init),
    FUNCTION(DECRYPT_INIT, init),
    FUNCTION(ENCRYPT_SKEY_INIT, encrypt_skey_init),
    FUNCTION(DECRYPT_SKEY_INIT, decrypt_skey_init),
    FUNCTION(UPDATE, update),
    FUNCTION(FINAL, final),
    FUNCTION(CIPHER, update),
    FUNCTION(GET_PARAMS, shape_params),
    FUNCTION(GETTABLE_PARAMS, cipher_gettable_params),
    FUNCTION(GET_CTX_PARAMS, get_params),
    FUNCTION(GETTABLE_CTX_PARAMS, gettable),
    FUNCTION(SET_CTX_PARAMS, set_params),
    FUNCTION(SETTABLE_CTX_PARAMS, settable),
    {0, NULL},
};
