/* AES-GCM-SIV (RFC 8452) like OpenSSL's default provider since 3.2: associated data in pieces, and then the text in one
 * update, which seals or opens it. It differs on the safe side: an init starts a packet without the associated data of
 * the last one. A key, an IV and, to open, a tag must have been set. Forged text is not released, and a packet without
 * text does not open. */
#include <openssl/evp.h>
#include <openssl/params.h>

#include "../include/sealane.h"
#include "cipher.h"
#include "skey.h"

/* From OpenSSL 3.2's headers. */
#ifndef EVP_CIPH_GCM_SIV_MODE
#define EVP_CIPH_GCM_SIV_MODE 0x10005
#endif

enum { IV_BYTES = SEALANE_AES_GCM_SIV_NONCE_BYTES, TAG_BYTES = SEALANE_TAG_BYTES, AD_ROOM = 256 };

typedef struct {
    const core *core;
    const cipher_shape *shape;
    int enc, has_key, has_iv, has_tag;
    int is_done,
        is_authentic; /* is_done: the text was processed; is_authentic: it was sealed, or opened successfully */
    int has_many;     /* parameter "speed": each update is a separate text */
    uint8_t iv[IV_BYTES], tag[TAG_BYTES];
    sealane_gcm_siv_key key;
    size_t ad_bytes, ad_room;
    uint8_t
        *ad; /* kept until the text arrives: first_ad, or allocated memory, which grows to the largest size needed */
    uint8_t first_ad[AD_ROOM];
} context;

static int raise(const context *c, int reason)
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
        c->ad = c->first_ad;
        c->ad_room = AD_ROOM;
    }
    return c;
}

static void free_ad(context *c)
{
    if (c->ad != c->first_ad)
        core_free(c->core, c->ad, c->ad_room);
}

static void free_context(void *v)
{
    context *c = v;
    if (c != NULL) {
        free_ad(c);
        core_free(c->core, c, sizeof *c);
    }
}

static void *duplicate(void *v)
{
    const context *c = v;
    context *copy = c == NULL ? NULL : core_allocate(c->core, sizeof *copy);
    if (copy == NULL)
        return NULL;
    *copy = *c;
    copy->ad = copy->first_ad;
    if (c->ad == c->first_ad)
        return copy;
    copy->ad = core_allocate(c->core, c->ad_room);
    if (copy->ad == NULL) {
        core_free(c->core, copy, sizeof *copy);
        return NULL;
    }
    memcpy(copy->ad, c->ad, c->ad_bytes);
    return copy;
}

/* ---- Parameters ---- */

static int set_tag(context *c, const OSSL_PARAM *p)
{
    if (p->data_type != OSSL_PARAM_OCTET_STRING || p->data == NULL || p->data_size != TAG_BYTES)
        return raise(c, PROV_R_FAILED_TO_GET_PARAMETER);
    if (!c->enc) {
        c->is_authentic =
            c->is_authentic && cipher_equal(c->tag, p->data, TAG_BYTES); /* the text was opened with the previous tag */
        memcpy(c->tag, p->data, TAG_BYTES);
        c->has_tag = 1;
    }
    return 1;
}

static int set_many(context *c, const OSSL_PARAM *p)
{
    size_t many;
    if (!param_get_size(p, &many))
        return raise(c, PROV_R_FAILED_TO_GET_PARAMETER);
    c->has_many = many != 0;
    return 1;
}

static int set_params(void *v, const OSSL_PARAM params[])
{
    context *c = v;
    found_params found;
    const OSSL_PARAM *p;
    if (params == NULL)
        return 1;
    if (is_tag_alone(params))
        return set_tag(c, params);
    find_params(&found, params);
    return ((p = found_at(&found, PARAM_TAG)) == NULL || set_tag(c, p)) &&
           ((p = found_at(&found, PARAM_SPEED)) == NULL || set_many(c, p)) &&
           cipher_set_lengths(c->core, c->shape, &found);
}

static int get_tag(const context *c, OSSL_PARAM *p)
{
    if (p == NULL || p->data_type != OSSL_PARAM_OCTET_STRING)
        return 1;
    if (!c->enc || !c->is_authentic || p->data_size != TAG_BYTES)
        return raise(c, PROV_R_FAILED_TO_SET_PARAMETER);
    p->return_size = TAG_BYTES;
    if (p->data != NULL)
        memcpy(p->data, c->tag, TAG_BYTES);
    return 1;
}

static int get_params(void *v, OSSL_PARAM params[])
{
    const context *c = v;
    found_params found;
    if (is_tag_alone(params))
        return get_tag(c, params);
    find_params(&found, params);
    return get_tag(c, found_at(&found, PARAM_TAG)) &&
           cipher_answer(c->core, found_at(&found, PARAM_TAGLEN), TAG_BYTES) &&
           cipher_answer(c->core, found_at(&found, PARAM_KEYLEN), c->shape->key_bytes);
}

static const OSSL_PARAM *gettable(void *v, void *provider)
{
    static const OSSL_PARAM known[] = {
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, NULL),
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_AEAD_TAGLEN, NULL),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, NULL, 0),
        OSSL_PARAM_END,
    };
    (void)v, (void)provider;
    return known;
}

static const OSSL_PARAM *settable(void *v, void *provider)
{
    static const OSSL_PARAM known[] = {
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, NULL),
        OSSL_PARAM_uint(OSSL_CIPHER_PARAM_SPEED, NULL),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, NULL, 0),
        OSSL_PARAM_END,
    };
    (void)v, (void)provider;
    return known;
}

/* ---- Packets ---- */

static int init(context *c, const unsigned char *key, size_t key_bytes, const unsigned char *iv, size_t iv_bytes,
                const OSSL_PARAM params[], int enc)
{
    c->enc = enc;
    c->ad_bytes = 0;
    c->is_done = c->is_authentic = 0;
    if (!cipher_init_lengths(c->core, c->shape, key, key_bytes, iv, iv_bytes))
        return 0;
    if (key != NULL) {
        c->has_key = sealane_aes_gcm_siv_key_init(&c->key, key, key_bytes) == SEALANE_OK;
        if (!c->has_key)
            return raise(c, PROV_R_KEY_SETUP_FAILED);
    }
    if (iv != NULL) {
        memcpy(c->iv, iv, IV_BYTES);
        c->has_iv = 1;
    }
    return set_params(c, params);
}

INITS_BY(init)

static int make_room(context *c, size_t bytes)
{
    const size_t room = bytes < SIZE_MAX / 2 ? 2 * bytes : bytes;
    uint8_t *ad = core_allocate(c->core, room);
    if (ad == NULL)
        return 0;
    memcpy(ad, c->ad, c->ad_bytes);
    free_ad(c);
    c->ad = ad;
    c->ad_room = room;
    return 1;
}

static int add_ad(context *c, const uint8_t *in, size_t bytes)
{
    if (c->is_done || bytes > SIZE_MAX - c->ad_bytes)
        return 0;
    if (bytes > c->ad_room - c->ad_bytes && !make_room(c, c->ad_bytes + bytes))
        return 0;
    memcpy(c->ad + c->ad_bytes, in, bytes);
    c->ad_bytes += bytes;
    return 1;
}

/* Forged text is zeroed, or in place restored; the final call then fails. */
static int text(context *c, uint8_t *out, const uint8_t *in, size_t bytes)
{
    if (!c->has_key)
        return raise(c, PROV_R_NO_KEY_SET);
    if (!c->enc && !c->has_tag)
        return raise(c, PROV_R_TAG_NOT_SET);
    const int is_second = c->is_done && !c->has_many;
    c->is_authentic = 0; /* a second text makes a packet not authentic */
    if (!c->has_iv || is_second)
        return 0;
    if (in != out && overlap(out, bytes, in, bytes)) {
        memmove(out, in, bytes);
        in = out;
    }
    const int status =
        c->enc ? sealane_aes_gcm_siv_seal(&c->key, out, c->tag, c->iv, IV_BYTES, c->ad, c->ad_bytes, in, bytes)
               : sealane_aes_gcm_siv_open(&c->key, out, c->tag, c->iv, IV_BYTES, c->ad, c->ad_bytes, in, bytes);
    c->is_done = 1;
    c->is_authentic = status == SEALANE_OK;
    return status == SEALANE_OK || status == SEALANE_NOT_AUTHENTIC;
}

/* out is NULL for associated data; in is NULL for the end of the packet. */
static int update(void *v, unsigned char *out, size_t *out_bytes, size_t out_size, const unsigned char *in,
                  size_t bytes)
{
    context *c = v;
    if (out_size < bytes)
        return raise(c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (in == NULL ? !c->is_authentic : out == NULL ? !add_ad(c, in, bytes) : !text(c, out, in, bytes))
        return 0;
    *out_bytes = bytes;
    return 1;
}

static int final(void *v, unsigned char *out, size_t *out_bytes, size_t out_size)
{
    (void)out_size;
    return update(v, out, out_bytes, 0, NULL, 0);
}

/* ---- The two key lengths ---- */

#define CIPHER(bits)                                                                            \
    static const cipher_shape shape_##bits = {                                                  \
        .key_bytes = bits / 8, .iv_bytes = IV_BYTES, .mode = EVP_CIPH_GCM_SIV_MODE, .aead = 1}; \
    static void *new_context_##bits(void *provider)                                             \
    {                                                                                           \
        return new_context(provider, &shape_##bits);                                            \
    }                                                                                           \
    static int shape_params_##bits(OSSL_PARAM params[])                                         \
    {                                                                                           \
        return cipher_get_params(&shape_##bits, params);                                        \
    }                                                                                           \
    const OSSL_DISPATCH aes_##bits##_gcm_siv_functions[] = {                                    \
        FUNCTION(NEWCTX, new_context_##bits),                                                   \
        FUNCTION(FREECTX, free_context),                                                        \
        FUNCTION(DUPCTX, duplicate),                                                            \
        FUNCTION(ENCRYPT_INIT, encrypt_init),                                                   \
        FUNCTION(DECRYPT_INIT, decrypt_init),                                                   \
        FUNCTION(ENCRYPT_SKEY_INIT, encrypt_skey_init),                                         \
        FUNCTION(DECRYPT_SKEY_INIT, decrypt_skey_init),                                         \
        FUNCTION(UPDATE, update),                                                               \
        FUNCTION(FINAL, final),                                                                 \
        FUNCTION(CIPHER, update),                                                               \
        FUNCTION(GET_PARAMS, shape_params_##bits),                                              \
        FUNCTION(GETTABLE_PARAMS, cipher_gettable_params),                                      \
        FUNCTION(GET_CTX_PARAMS, get_params),                                                   \
        FUNCTION(GETTABLE_CTX_PARAMS, gettable),                                                \
        FUNCTION(SET_CTX_PARAMS, set_params),                                                   \
        FUNCTION(SETTABLE_CTX_PARAMS, settable),                                                \
        {0, NULL},                                                                              \
    };

CIPHER(128)
CIPHER(256)
