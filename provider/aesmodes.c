/* AES-CTR (NIST SP 800-38A, section 6.5), AES-CBC (section 6.2; aescbc.c) and AES-XTS (IEEE 1619) like OpenSSL's
 * default provider. Results, return values and errors are the same, with differences on the safe side. Setting "num",
 * the position in a counter block, continues with that block's key stream. The default provider uses its buffer,
 * which is zero in a new context. XTS and CBC encrypt or decrypt as the last init said; the default provider keeps
 * the direction of the last key. */
#include "aesmodes.h"

#include <openssl/params.h>

#include "../src/aesmodes.h"
#include "skey.h"

#if defined(__GNUC__)
#define UNROLLED _Pragma("GCC unroll 16")
#else
#define UNROLLED
#endif

enum { UNIT_MAX = 1 << 24 /* the most bytes per tweak */ };

const sealane_level *aes_level(void)
{
    const sealane_table *table = &sealane_tables[SEALANE_AES];
    return &table->levels[sealane_level_of_process(table)];
}

static int is_mode(const context *c, unsigned mode)
{
    return c->shape->mode == mode;
}

int aes_raise(const context *c, int reason)
{
    RAISE(c->core, reason);
    return 0;
}

/* ---- Life ---- */

static void *new_context(void *provider, const cipher_shape *shape)
{
    const core *from = provider;
    context *c = core_is_well(from) ? core_allocate(from, sizeof *c) : NULL;
    if (c != NULL) {
        c->core = from;
        c->shape = shape;
        c->pad = 1;
        if (sealane_aes_ctr_init(&c->ctr, c->iv, 128) != SEALANE_OK)
            core_free(from, c, sizeof *c), c = NULL; /* cannot happen */
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
    if (copy != NULL) {
        *copy = *c;
        if (c->tls_mac == c->cbc.mac)
            copy->tls_mac = copy->cbc.mac;
    }
    return copy;
}

/* ---- Parameters ---- */

/* The position of the next byte in its block; 0 if a new block starts. For CBC, the value that was set, without an
 * effect. */
static size_t place(const context *c)
{
    return is_mode(c, EVP_CIPH_CBC_MODE) || c->num != 0 ? c->num : (BLOCK - c->ctr.left) % BLOCK;
}

static int take_number(const context *c, const OSSL_PARAM *p, size_t most, size_t *value)
{
    size_t number;
    if (p == NULL)
        return 1;
    if (!param_get_size(p, &number) || number > most)
        return aes_raise(c, PROV_R_FAILED_TO_GET_PARAMETER);
    *value = number;
    return 1;
}

/* Whether this is the only parameter, and has that many bytes; name_bytes includes the zero. OpenSSL gets and sets one
 * parameter at every init, and strcmp would take longer than setting up a key. */
static inline int is_alone(const OSSL_PARAM p[], const char *name, size_t name_bytes, size_t bytes)
{
    if (p->key == NULL || p[1].key != NULL || p->data_type != OSSL_PARAM_UNSIGNED_INTEGER || p->data_size != bytes)
        return 0;
    UNROLLED
    for (size_t i = 0; i < name_bytes; i++)
        if (p->key[i] != name[i])
            return 0;
    return p->data != NULL;
}

#define IS_ALONE(p, name, type) is_alone(p, name, sizeof name, sizeof(type))

/* As EVP passes it with every init since 3.5. */
static int is_padding_alone(const OSSL_PARAM p[])
{
    return IS_ALONE(p, OSSL_CIPHER_PARAM_PADDING, unsigned);
}

/* At every init OpenSSL before 3.2 asks for the length of a key or an IV. */
static int answer_length_alone(const context *c, OSSL_PARAM p[])
{
    const int key = IS_ALONE(p, OSSL_CIPHER_PARAM_KEYLEN, size_t);
    if (!key && !IS_ALONE(p, OSSL_CIPHER_PARAM_IVLEN, size_t))
        return 0;
    *(size_t *)p->data = key ? c->shape->key_bytes : c->shape->iv_bytes;
    p->return_size = sizeof(size_t);
    return 1;
}

/* The parameters that CTR and CBC share. The caller applies the position. */
static int set_shared_params(context *c, const OSSL_PARAM params[], size_t most, size_t *num)
{
    found_params found;
    size_t bits;
    if (is_padding_alone(params)) {
        c->pad = *(const unsigned *)params->data != 0;
        return 1;
    }
    find_params(&found, params);
    if (!take_number(c, found_at(&found, PARAM_PADDING), UINT32_MAX, &c->pad) ||
        !take_number(c, found_at(&found, PARAM_USE_BITS), UINT32_MAX, &bits) ||
        !take_number(c, found_at(&found, PARAM_TLS_VERSION), UINT32_MAX, &c->tls_version) ||
        !take_number(c, found_at(&found, PARAM_TLS_MAC_SIZE), SIZE_MAX, &c->tls_mac_bytes) ||
        !take_number(c, found_at(&found, PARAM_NUM), most, num))
        return 0;
    c->pad = c->pad != 0;
    return 1;
}

static int set_cbc_params(void *v, const OSSL_PARAM params[])
{
    context *c = v;
    return params == NULL || set_shared_params(c, params, UINT32_MAX, &c->num);
}

static int set_ctr_params(void *v, const OSSL_PARAM params[])
{
    context *c = v;
    if (params == NULL)
        return 1;
    size_t num = place(c);
    if (!set_shared_params(c, params, BLOCK - 1, &num))
        return 0;
    if (num != place(c)) {
        c->num = num;
        c->ctr.left = 0;
    }
    return 1;
}

static int set_xts_params(void *v, const OSSL_PARAM params[])
{
    const context *c = v;
    found_params found;
    size_t bytes = c->shape->key_bytes;
    if (params == NULL || is_padding_alone(params))
        return 1;
    find_params(&found, params);
    return take_number(c, found_at(&found, PARAM_KEYLEN), SIZE_MAX, &bytes) && bytes == c->shape->key_bytes;
}

static int answer_iv(const context *c, OSSL_PARAM *p, const uint8_t iv[BLOCK])
{
    if (p == NULL)
        return 1;
    p->return_size = BLOCK;
    if (p->data_type == OSSL_PARAM_OCTET_PTR && p->data != NULL)
        *(const void **)p->data = iv;
    else if (p->data_type == OSSL_PARAM_OCTET_STRING && p->data != NULL && p->data_size >= BLOCK)
        memcpy(p->data, iv, BLOCK);
    else if (p->data != NULL || (p->data_type != OSSL_PARAM_OCTET_PTR && p->data_type != OSSL_PARAM_OCTET_STRING))
        return aes_raise(c, PROV_R_FAILED_TO_SET_PARAMETER);
    return 1;
}

static int answer_tls_mac(const context *c, OSSL_PARAM *p)
{
    if (p == NULL)
        return 1;
    if (p->data_type != OSSL_PARAM_OCTET_PTR)
        return aes_raise(c, PROV_R_FAILED_TO_SET_PARAMETER);
    p->return_size = c->tls_mac_bytes;
    if (p->data != NULL)
        *(const void **)p->data = c->tls_mac;
    return 1;
}

static NOINLINE int get_all_params(const context *c, OSSL_PARAM params[])
{
    found_params found;
    const uint8_t *now = is_mode(c, EVP_CIPH_CBC_MODE)   ? c->cbc.chain
                         : is_mode(c, EVP_CIPH_CTR_MODE) ? c->ctr.counter
                                                         : c->iv;
    find_params(&found, params);
    return cipher_get_lengths(c->core, c->shape, &found) &&
           cipher_answer(c->core, found_at(&found, PARAM_PADDING), c->pad) &&
           answer_iv(c, found_at(&found, PARAM_IV), c->iv) && answer_iv(c, found_at(&found, PARAM_UPDATED_IV), now) &&
           cipher_answer(c->core, found_at(&found, PARAM_NUM), place(c)) &&
           answer_tls_mac(c, found_at(&found, PARAM_TLS_MAC));
}

static int get_params(void *v, OSSL_PARAM params[])
{
    return answer_length_alone(v, params) || get_all_params(v, params);
}

static const OSSL_PARAM *gettable(void *v, void *provider)
{
    static const OSSL_PARAM known[] = {
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, NULL),
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_IVLEN, NULL),
        OSSL_PARAM_uint(OSSL_CIPHER_PARAM_PADDING, NULL),
        OSSL_PARAM_uint(OSSL_CIPHER_PARAM_NUM, NULL),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_IV, NULL, 0),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_UPDATED_IV, NULL, 0),
        OSSL_PARAM_octet_ptr(OSSL_CIPHER_PARAM_TLS_MAC, NULL, 0),
        OSSL_PARAM_END,
    };
    (void)v, (void)provider;
    return known;
}

static const OSSL_PARAM *settable_ctr(void *v, void *provider)
{
    static const OSSL_PARAM known[] = {
        OSSL_PARAM_uint(OSSL_CIPHER_PARAM_PADDING, NULL),        OSSL_PARAM_uint(OSSL_CIPHER_PARAM_NUM, NULL),
        OSSL_PARAM_uint(OSSL_CIPHER_PARAM_USE_BITS, NULL),       OSSL_PARAM_uint(OSSL_CIPHER_PARAM_TLS_VERSION, NULL),
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_TLS_MAC_SIZE, NULL), OSSL_PARAM_END,
    };
    (void)v, (void)provider;
    return known;
}

static const OSSL_PARAM *settable_cbc(void *v, void *provider)
{
    return settable_ctr(v, provider);
}

static const OSSL_PARAM *settable_xts(void *v, void *provider)
{
    static const OSSL_PARAM known[] = {
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, NULL),
        OSSL_PARAM_END,
    };
    (void)v, (void)provider;
    return known;
}

/* ---- Keys and initial values ---- */

static int is_xts(const context *c)
{
    return is_mode(c, EVP_CIPH_XTS_MODE);
}

/* XTS keeps no state between data units. CBC starts again with the last IV that was set. */
static int init(context *c, const unsigned char *key, size_t key_bytes, const unsigned char *iv, size_t iv_bytes,
                const OSSL_PARAM params[], int enc)
{
    const size_t half = is_xts(c) ? key_bytes / 2 : key_bytes;
    c->enc = enc;
    c->num = 0;
    if (!cipher_init_lengths(c->core, c->shape, NULL, 0, iv, iv_bytes))
        return 0;
    if (iv != NULL) {
        memcpy(c->iv, iv, BLOCK);
        c->has_iv = 1;
    }
    if (c->has_iv)
        memcpy(c->cbc.chain, c->iv, BLOCK);
    c->cbc.held_bytes = 0;
    if (!cipher_init_lengths(c->core, c->shape, key, key_bytes, NULL, 0))
        return 0;
    const int equal = key == NULL ? c->halves_equal : is_xts(c) && cipher_equal(key, key + half, half);
    if (equal && enc)
        return aes_raise(c, PROV_R_XTS_DUPLICATED_KEYS);
    c->halves_equal = equal;
    if (key != NULL) {
        c->has_key = sealane_aes_key_init(&c->key.text, key, half) == SEALANE_OK &&
                     (!is_xts(c) || sealane_aes_key_encrypts(&c->key.tweak, key + half, half));
        if (!c->has_key)
            return aes_raise(c, PROV_R_KEY_SETUP_FAILED);
    }
    return (is_xts(c) ? set_xts_params : set_cbc_params)(c, params);
}

/* As in RFC 3686 and SSH, the first bytes of the text use a new block. OpenSSL's random generator calls init twice per
 * draw, so this does only what CTR needs. */
static int ctr_init(context *c, const unsigned char *key, size_t key_bytes, const unsigned char *iv, size_t iv_bytes,
                    const OSSL_PARAM params[], int enc)
{
    c->enc = enc;
    c->num = 0;
    c->ctr.left = 0;
    if (iv != NULL) {
        if (iv_bytes != BLOCK)
            return cipher_init_lengths(c->core, c->shape, NULL, 0, iv, iv_bytes);
        memcpy(c->iv, iv, BLOCK);
        memcpy(c->ctr.counter, iv, BLOCK); /* the stream starts with a new block */
        c->has_iv = 1;
    }
    if (key != NULL) {
        if (!cipher_init_lengths(c->core, c->shape, key, key_bytes, NULL, 0))
            return 0;
        c->has_key = sealane_aes_key_encrypts(&c->key.text, key, key_bytes);
        if (!c->has_key)
            return aes_raise(c, PROV_R_KEY_SETUP_FAILED);
    }
    return params == NULL || set_ctr_params(c, params);
}

INIT_BY(ctr_encrypt, ctr_init, 1)
INIT_BY(ctr_decrypt, ctr_init, 0)
INIT_BY(cbc_encrypt, init, 1)
INIT_BY(cbc_decrypt, init, 0)
INIT_BY(xts_encrypt, init, 1)
INIT_BY(xts_decrypt, init, 0)

const uint8_t *aes_apart(uint8_t *out, const uint8_t *in, size_t bytes)
{
    if (in == NULL || out == NULL || in == out || !overlap(out, bytes, in, bytes))
        return in;
    memmove(out, in, bytes);
    return out;
}

/* ---- CTR ---- */

/* Moves to the position that was set, in the block before the next one. */
static NOINLINE int seek(context *c)
{
    uint8_t before[BLOCK];
    memcpy(before, c->ctr.counter, BLOCK);
    for (int i = BLOCK - 1; i >= 0 && before[i]-- == 0; i--)
        ;
    if (sealane_aes_ecb_encrypt(&c->key.text, c->ctr.stream, before, BLOCK) != SEALANE_OK)
        return 0;
    c->ctr.left = (uint32_t)(BLOCK - c->num);
    c->num = 0;
    return 1;
}

static int ctr_cipher(void *v, unsigned char *out, size_t *out_bytes, size_t out_size, const unsigned char *in,
                      size_t bytes)
{
    context *c = v;
    if (!c->has_key)
        return aes_raise(c, PROV_R_NO_KEY_SET);
    if (out_size < bytes)
        return aes_raise(c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    in = aes_apart(out, in, bytes);
    if (c->num == 0 && c->ctr.left == 0 && bytes % BLOCK == 0 && in != NULL && out != NULL)
        sealane_aes_ctr_blocks(&c->key.text, c->ctr.counter, out, in, bytes);
    else if ((c->num != 0 && !seek(c)) || sealane_aes_ctr_xor(&c->key.text, &c->ctr, out, in, bytes) != SEALANE_OK)
        return aes_raise(c, PROV_R_CIPHER_OPERATION_FAILED);
    *out_bytes = bytes;
    return 1;
}

/* For TLS, a stream cipher leaves the MAC in place and reports where it is. No TLS suite uses AES-CTR. */
static int ctr_update(void *v, unsigned char *out, size_t *out_bytes, size_t out_size, const unsigned char *in,
                      size_t bytes)
{
    context *c = v;
    if (c->has_key && bytes == 0) {
        *out_bytes = 0;
        return 1;
    }
    if (!ctr_cipher(v, out, out_bytes, out_size, in, bytes))
        return 0;
    if (c->enc || c->tls_version == 0 || c->tls_mac_bytes == 0)
        return 1;
    if (bytes < c->tls_mac_bytes)
        return 0;
    *out_bytes = bytes - c->tls_mac_bytes;
    c->tls_mac = out + *out_bytes;
    return 1;
}

static int ctr_final(void *v, unsigned char *out, size_t *out_bytes, size_t out_size)
{
    const context *c = v;
    (void)out, (void)out_size;
    if (!c->has_key)
        return aes_raise(c, PROV_R_NO_KEY_SET);
    *out_bytes = 0;
    return 1;
}

/* ---- XTS: every call is a data unit ---- */

static int xts_cipher(void *v, unsigned char *out, size_t *out_bytes, size_t out_size, const unsigned char *in,
                      size_t bytes)
{
    context *c = v;
    (void)out_size;
    if (!c->has_key || !c->has_iv || out == NULL || in == NULL || bytes < BLOCK)
        return 0;
    if (bytes > UNIT_MAX)
        return aes_raise(c, PROV_R_XTS_DATA_UNIT_IS_TOO_LARGE);
    in = aes_apart(out, in, bytes);
    if ((c->enc ? sealane_aes_xts_encrypt : sealane_aes_xts_decrypt)(&c->key, c->iv, out, in, bytes) != SEALANE_OK)
        return 0;
    *out_bytes = bytes;
    return 1;
}

static int xts_update(void *v, unsigned char *out, size_t *out_bytes, size_t out_size, const unsigned char *in,
                      size_t bytes)
{
    context *c = v;
    if (out_size < bytes)
        return aes_raise(c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    return xts_cipher(v, out, out_bytes, out_size, in, bytes) || aes_raise(c, PROV_R_CIPHER_OPERATION_FAILED);
}

static int xts_final(void *v, unsigned char *out, size_t *out_bytes, size_t out_size)
{
    (void)v, (void)out, (void)out_size;
    *out_bytes = 0;
    return 1;
}

/* ---- The key lengths ---- */

#define CIPHER(bits, name, MODE, keys)                                                               \
    static const cipher_shape shape_##bits##_##name = {                                              \
        .key_bytes = keys * bits / 8, .iv_bytes = BLOCK, .mode = EVP_CIPH_##MODE##_MODE, .aead = 0}; \
    static void *new_context_##bits##_##name(void *provider)                                         \
    {                                                                                                \
        return new_context(provider, &shape_##bits##_##name);                                        \
    }                                                                                                \
    static int shape_params_##bits##_##name(OSSL_PARAM params[])                                     \
    {                                                                                                \
        return cipher_get_params(&shape_##bits##_##name, params);                                    \
    }                                                                                                \
    const OSSL_DISPATCH aes_##bits##_##name##_functions[] = {                                        \
        FUNCTION(NEWCTX, new_context_##bits##_##name),                                               \
        FUNCTION(FREECTX, free_context),                                                             \
        FUNCTION(DUPCTX, duplicate),                                                                 \
        FUNCTION(ENCRYPT_INIT, name##_encrypt_init),                                                 \
        FUNCTION(DECRYPT_INIT, name##_decrypt_init),                                                 \
        FUNCTION(ENCRYPT_SKEY_INIT, name##_encrypt_skey_init),                                       \
        FUNCTION(DECRYPT_SKEY_INIT, name##_decrypt_skey_init),                                       \
        FUNCTION(UPDATE, name##_update),                                                             \
        FUNCTION(FINAL, name##_final),                                                               \
        FUNCTION(CIPHER, name##_cipher),                                                             \
        FUNCTION(GET_PARAMS, shape_params_##bits##_##name),                                          \
        FUNCTION(GETTABLE_PARAMS, cipher_gettable_params),                                           \
        FUNCTION(GET_CTX_PARAMS, get_params),                                                        \
        FUNCTION(GETTABLE_CTX_PARAMS, gettable),                                                     \
        FUNCTION(SET_CTX_PARAMS, set_##name##_params),                                               \
        FUNCTION(SETTABLE_CTX_PARAMS, settable_##name),                                              \
        {0, NULL},                                                                                   \
    };

CIPHER(128, cbc, CBC, 1)
CIPHER(192, cbc, CBC, 1)
CIPHER(256, cbc, CBC, 1)
CIPHER(128, ctr, CTR, 1)
CIPHER(192, ctr, CTR, 1)
CIPHER(256, ctr, CTR, 1)
CIPHER(128, xts, XTS, 2)
CIPHER(256, xts, XTS, 2)
