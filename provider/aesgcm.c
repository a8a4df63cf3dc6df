/* AES-GCM (NIST SP 800-38D; in TLS 1.2, RFC 5288) like OpenSSL's default provider: the same results, return values
 * and errors, with differences on the safe side. A key may be set within a packet without a new IV. The packet then
 * starts again with that key; the default provider of 3.0 continues with a zero counter block. A packet that failed
 * to open takes no more text. If a TLS record's part of an IV is longer than the IV, that is an error. */
#if defined(__linux__) && !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE /* getentropy */
#endif
#include <unistd.h>
#if defined(__APPLE__)
#include <sys/random.h>
#endif

#include <openssl/evp.h>
#include <openssl/params.h>

#include "cipher.h"
#include "gcm_packet.h"
#include "skey.h"

enum { TAG_BYTES = 16, TLS_AAD_BYTES = 13, TLS_FIXED_BYTES = 4, TLS_EXPLICIT_BYTES = 8, IV_BYTES = 12, IV_MAX = 128 };

#define NO_TAG ((size_t)-1)

/* The state of the IV: absent; waiting for the first call of the packet; in use; used up. */
enum { IV_NONE, IV_WAITING, IV_IN_USE, IV_USED };

typedef struct {
    const core *core;
    const cipher_shape *shape;
    int enc, has_key, has_record;
    int iv_state, iv_generates; /* iv_generates: the last 8 bytes of the IV count records */
    size_t iv_bytes, tls_pad;
    size_t tag_bytes; /* or NO_TAG */
    uint64_t records; /* sealed with this key */
    uint8_t iv[IV_MAX];
    uint8_t tag[TAG_BYTES]; /* computed, or to compare with; or the associated data of a TLS record */
    gcm_packet packet;
} context;

const sealane_level *aesgcm_level(void)
{
    const sealane_table *table = &sealane_tables[SEALANE_AESGCM];
    return &table->levels[sealane_level_of_process(table)];
}

/* ---- Life ---- */

static void *new_context(void *provider, const cipher_shape *shape)
{
    const core *from = provider;
    context *c = core_is_well(from) ? core_allocate(from, sizeof *c) : NULL;
    if (c != NULL) {
        c->core = from;
        c->shape = shape;
        c->iv_bytes = IV_BYTES;
        c->tag_bytes = NO_TAG;
        c->packet.level = aesgcm_level();
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

/* ---- IVs ---- */

static void begin(context *c)
{
    gcm_packet_begin(&c->packet, c->iv, c->iv_bytes);
    c->iv_state = IV_IN_USE;
}

/* A provider cannot use OpenSSL's random number generator, so it uses that of the operating system. */
static int random_bytes(uint8_t *out, size_t bytes)
{
    return getentropy(out, bytes) == 0;
}

static int generate_iv(context *c)
{
    if (c->iv_bytes < IV_BYTES || !random_bytes(c->iv, c->iv_bytes))
        return 0;
    c->iv_state = IV_WAITING;
    return 1;
}

/* RFC 5288, section 3: the fixed bytes belong to the connection, and the others count its records. */
static int set_fixed_iv(context *c, const uint8_t *iv, size_t bytes)
{
    if (bytes == (size_t)-1) {
        memcpy(c->iv, iv, c->iv_bytes);
    } else {
        if (bytes < TLS_FIXED_BYTES || bytes > c->iv_bytes || c->iv_bytes - bytes < TLS_EXPLICIT_BYTES)
            return 0;
        memcpy(c->iv, iv, bytes);
        if (c->enc && !random_bytes(c->iv + bytes, c->iv_bytes - bytes))
            return 0;
    }
    c->iv_generates = 1;
    c->iv_state = IV_WAITING;
    return 1;
}

/* Writes the end of the next record's IV, starts the packet with it, and increments it. */
static int next_iv(context *c, uint8_t *out, size_t bytes)
{
    if (!c->iv_generates || !c->has_key || c->iv_bytes < TLS_EXPLICIT_BYTES)
        return 0;
    if (bytes == 0 || bytes > c->iv_bytes)
        bytes = c->iv_bytes;
    begin(c);
    memcpy(out, c->iv + c->iv_bytes - bytes, bytes);
    uint8_t *counter = c->iv + c->iv_bytes - TLS_EXPLICIT_BYTES;
    store64_be(counter, load64_be(counter) + 1);
    return 1;
}

/* Takes the end of the IV from a received record. */
static int take_iv(context *c, const uint8_t *in, size_t bytes)
{
    if (!c->iv_generates || !c->has_key || c->enc || bytes > c->iv_bytes)
        return 0;
    memcpy(c->iv + c->iv_bytes - bytes, in, bytes);
    begin(c);
    return 1;
}

/* ---- Parameters ---- */

static int raise(const context *c, int reason)
{
    RAISE(c->core, reason);
    return 0;
}

static int set_tag(context *c, const OSSL_PARAM *p)
{
    if (p->data_type != OSSL_PARAM_OCTET_STRING || p->data == NULL || p->data_size > TAG_BYTES)
        return raise(c, PROV_R_FAILED_TO_GET_PARAMETER);
    memcpy(c->tag, p->data, p->data_size);
    if (p->data_size == 0 || c->enc)
        return raise(c, PROV_R_INVALID_TAG);
    c->tag_bytes = p->data_size;
    return 1;
}

static int set_iv_bytes(context *c, const OSSL_PARAM *p)
{
    size_t bytes;
    if (!param_get_size(p, &bytes))
        return raise(c, PROV_R_FAILED_TO_GET_PARAMETER);
    if (bytes == 0 || bytes > IV_MAX)
        return raise(c, PROV_R_INVALID_IV_LENGTH);
    if (bytes != c->iv_bytes && c->iv_state != IV_NONE)
        c->iv_state = IV_USED;
    c->iv_bytes = bytes;
    return 1;
}

/* The header of a TLS 1.2 record. Its length must be that of the text, without the explicit IV and the tag. */
static int set_record(context *c, const OSSL_PARAM *p)
{
    if (p->data_type != OSSL_PARAM_OCTET_STRING)
        return raise(c, PROV_R_FAILED_TO_GET_PARAMETER);
    if (p->data_size != TLS_AAD_BYTES)
        return raise(c, PROV_R_INVALID_AAD);
    memcpy(c->tag, p->data, TLS_AAD_BYTES);
    c->has_record = 1;
    uint8_t *length = c->tag + TLS_AAD_BYTES - 2;
    const size_t bytes = (size_t)length[0] << 8 | length[1], besides = TLS_EXPLICIT_BYTES + (c->enc ? 0 : TAG_BYTES);
    if (bytes < besides)
        return raise(c, PROV_R_INVALID_AAD);
    length[0] = (uint8_t)((bytes - besides) >> 8);
    length[1] = (uint8_t)(bytes - besides);
    c->tls_pad = TAG_BYTES;
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
    if ((p = found_at(&found, PARAM_TAG)) != NULL && !set_tag(c, p))
        return 0;
    if ((p = found_at(&found, PARAM_IVLEN)) != NULL && !set_iv_bytes(c, p))
        return 0;
    if ((p = found_at(&found, PARAM_TLS_AAD)) != NULL && !set_record(c, p))
        return 0;
    if ((p = found_at(&found, PARAM_TLS_IV_FIXED)) != NULL &&
        (p->data_type != OSSL_PARAM_OCTET_STRING || !set_fixed_iv(c, p->data, p->data_size)))
        return raise(c, PROV_R_FAILED_TO_GET_PARAMETER);
    if ((p = found_at(&found, PARAM_TLS_SET_IV_INV)) != NULL &&
        (p->data == NULL || p->data_type != OSSL_PARAM_OCTET_STRING || !take_iv(c, p->data, p->data_size)))
        return 0;
    return 1;
}

static int answer_bytes(OSSL_PARAM *p, const uint8_t *bytes, size_t n)
{
    p->return_size = n;
    if (p->data == NULL)
        return 1;
    if (p->data_type == OSSL_PARAM_OCTET_STRING && p->data_size >= n) {
        memcpy(p->data, bytes, n);
        return 1;
    }
    p->return_size = 0;
    return 0;
}

static int answer_pointer(OSSL_PARAM *p, const uint8_t *bytes, size_t n)
{
    if (p->data_type != OSSL_PARAM_OCTET_PTR)
        return 0;
    p->return_size = n;
    if (p->data != NULL)
        *(const void **)p->data = bytes;
    return 1;
}

static int get_iv(const context *c, OSSL_PARAM *p)
{
    if (p == NULL)
        return 1;
    if (c->iv_state == IV_NONE)
        return 0;
    if (c->iv_bytes > p->data_size)
        return raise(c, PROV_R_INVALID_IV_LENGTH);
    return answer_bytes(p, c->iv, c->iv_bytes) || answer_pointer(p, c->iv, c->iv_bytes) ||
           raise(c, PROV_R_FAILED_TO_SET_PARAMETER);
}

static int get_tag(const context *c, OSSL_PARAM *p)
{
    if (p == NULL)
        return 1;
    if (p->data_size == 0 || p->data_size > TAG_BYTES || !c->enc || c->tag_bytes == NO_TAG)
        return raise(c, PROV_R_INVALID_TAG);
    return answer_bytes(p, c->tag, p->data_size) || raise(c, PROV_R_FAILED_TO_SET_PARAMETER);
}

static int get_params(void *v, OSSL_PARAM params[])
{
    context *c = v;
    found_params found;
    if (is_tag_alone(params))
        return get_tag(c, params);
    find_params(&found, params);
    if (!cipher_answer(c->core, found_at(&found, PARAM_IVLEN), c->iv_bytes) ||
        !cipher_answer(c->core, found_at(&found, PARAM_KEYLEN), c->shape->key_bytes) ||
        !cipher_answer(c->core, found_at(&found, PARAM_TAGLEN), c->tag_bytes == NO_TAG ? TAG_BYTES : c->tag_bytes) ||
        !get_iv(c, found_at(&found, PARAM_IV)) || !get_iv(c, found_at(&found, PARAM_UPDATED_IV)) ||
        !cipher_answer(c->core, found_at(&found, PARAM_TLS_AAD_PAD), c->tls_pad) ||
        !get_tag(c, found_at(&found, PARAM_TAG)))
        return 0;
    const OSSL_PARAM *p = found_at(&found, PARAM_TLS_GET_IV_GEN);
    return p == NULL ||
           (p->data != NULL && p->data_type == OSSL_PARAM_OCTET_STRING && next_iv(c, p->data, p->data_size));
}

static const OSSL_PARAM *gettable(void *v, void *provider)
{
    static const OSSL_PARAM known[] = {
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, NULL),
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_IVLEN, NULL),
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_AEAD_TAGLEN, NULL),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_IV, NULL, 0),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_UPDATED_IV, NULL, 0),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, NULL, 0),
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD, NULL),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TLS1_GET_IV_GEN, NULL, 0),
        OSSL_PARAM_END,
    };
    (void)v, (void)provider;
    return known;
}

static const OSSL_PARAM *settable(void *v, void *provider)
{
    static const OSSL_PARAM known[] = {
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_IVLEN, NULL),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, NULL, 0),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TLS1_AAD, NULL, 0),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED, NULL, 0),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV, NULL, 0),
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
    if (iv != NULL) {
        if (iv_bytes == 0 || iv_bytes > IV_MAX)
            return raise(c, PROV_R_INVALID_IV_LENGTH);
        c->iv_bytes = iv_bytes;
        memcpy(c->iv, iv, iv_bytes);
        c->iv_state = IV_WAITING;
    }
    if (key != NULL) {
        if (key_bytes != c->shape->key_bytes)
            return raise(c, PROV_R_INVALID_KEY_LENGTH);
        if (!core_is_well(c->core))
            return 0;
        gcm_packet_set_key(&c->packet, key, key_bytes);
        c->has_key = 1;
        c->records = 0;
        if (c->iv_state == IV_IN_USE)
            c->iv_state = IV_WAITING;
    }
    return set_params(c, params);
}

INITS_BY(init)

/* A TLS 1.2 record without its header, in place: explicit IV, text, tag. */
static int record(context *c, uint8_t *out, size_t *out_bytes, const uint8_t *in, size_t bytes)
{
    uint8_t aad[TLS_AAD_BYTES], tag[TAG_BYTES];
    memcpy(aad, c->tag, sizeof aad);
    if (!c->has_key || out != in || bytes < TLS_EXPLICIT_BYTES + TAG_BYTES)
        return 0;
    if (c->enc && ++c->records == 0)
        return raise(c, PROV_R_TOO_MANY_RECORDS);
    if (c->enc ? !next_iv(c, out, TLS_EXPLICIT_BYTES) : !take_iv(c, out, TLS_EXPLICIT_BYTES))
        return 0;
    uint8_t *text = out + TLS_EXPLICIT_BYTES;
    const size_t text_bytes = bytes - TLS_EXPLICIT_BYTES - TAG_BYTES;
    gcm_packet_whole(&c->packet, text, tag, aad, sizeof aad, text, text_bytes, !c->enc);
    c->tag_bytes = TAG_BYTES;
    if (c->enc) {
        memcpy(text + text_bytes, tag, TAG_BYTES);
        *out_bytes = bytes;
        return 1;
    }
    if (!equal16(tag, text + text_bytes)) {
        memset(text, 0, text_bytes);
        return 0;
    }
    *out_bytes = text_bytes;
    return 1;
}

static int end_packet(context *c)
{
    uint8_t tag[TAG_BYTES];
    if (!c->enc && c->tag_bytes == NO_TAG)
        return raise(c, PROV_R_TAG_NOT_SET);
    gcm_packet_tag(&c->packet, tag);
    if (!c->enc && !cipher_equal(tag, c->tag, c->tag_bytes)) {
        c->iv_state = IV_USED;
        return 0;
    }
    if (c->enc) {
        memcpy(c->tag, tag, TAG_BYTES);
        c->tag_bytes = TAG_BYTES;
    }
    c->iv_state = IV_USED;
    return 1;
}

/* All functions except init call this. out is NULL for associated data; in is NULL for the end of the packet. */
static int process(context *c, uint8_t *out, size_t *out_bytes, const uint8_t *in, size_t bytes)
{
    *out_bytes = 0;
    if (c->has_record) {
        const int ok = record(c, out, out_bytes, in, bytes);
        c->has_record = 0;
        c->iv_state = IV_USED;
        return ok;
    }
    if (!c->has_key || c->iv_state == IV_USED)
        return 0;
    if (c->iv_state == IV_NONE && (!c->enc || !generate_iv(c)))
        return 0;
    if (c->iv_state == IV_WAITING)
        begin(c);
    if (in == NULL)
        return end_packet(c);
    if (out != NULL && in != out && overlap(out, bytes, in, bytes)) {
        memmove(out, in, bytes);
        in = out;
    }
    if (out == NULL ? !gcm_packet_ad(&c->packet, in, bytes) : !gcm_packet_text(&c->packet, out, in, bytes, !c->enc))
        return 0;
    *out_bytes = bytes;
    return 1;
}

static int cipher(void *v, unsigned char *out, size_t *out_bytes, size_t out_size, const unsigned char *in,
                  size_t bytes)
{
    context *c = v;
    if (out_size < bytes)
        return raise(c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (!process(c, out, out_bytes, in, bytes))
        return 0;
    *out_bytes = bytes;
    return 1;
}

static int update(void *v, unsigned char *out, size_t *out_bytes, size_t out_size, const unsigned char *in,
                  size_t bytes)
{
    context *c = v;
    if (bytes == 0) {
        *out_bytes = 0;
        return 1;
    }
    if (out_size < bytes)
        return raise(c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    return process(c, out, out_bytes, in, bytes) || raise(c, PROV_R_CIPHER_OPERATION_FAILED);
}

static int final(void *v, unsigned char *out, size_t *out_bytes, size_t out_size)
{
    (void)out_size;
    if (!process(v, out, out_bytes, NULL, 0))
        return 0;
    *out_bytes = 0;
    return 1;
}

/* ---- The three key lengths ---- */

#define CIPHER(bits)                                                                        \
    static const cipher_shape shape_##bits = {                                              \
        .key_bytes = bits / 8, .iv_bytes = IV_BYTES, .mode = EVP_CIPH_GCM_MODE, .aead = 1}; \
    static void *new_context_##bits(void *provider)                                         \
    {                                                                                       \
        return new_context(provider, &shape_##bits);                                        \
    }                                                                                       \
    static int shape_params_##bits(OSSL_PARAM params[])                                     \
    {                                                                                       \
        return cipher_get_params(&shape_##bits, params);                                    \
    }                                                                                       \
    const OSSL_DISPATCH aes_##bits##_gcm_functions[] = {                                    \
        FUNCTION(NEWCTX, new_context_##bits),                                               \
        FUNCTION(FREECTX, free_context),                                                    \
        FUNCTION(DUPCTX, duplicate),                                                        \
        FUNCTION(ENCRYPT_INIT, encrypt_init),                                               \
        FUNCTION(DECRYPT_INIT, decrypt_init),                                               \
        FUNCTION(ENCRYPT_SKEY_INIT, encrypt_skey_init),                                     \
        FUNCTION(DECRYPT_SKEY_INIT, decrypt_skey_init),                                     \
        FUNCTION(UPDATE, update),                                                           \
        FUNCTION(FINAL, final),                                                             \
        FUNCTION(CIPHER, cipher),                                                           \
        FUNCTION(GET_PARAMS, shape_params_##bits),                                          \
        FUNCTION(GETTABLE_PARAMS, cipher_gettable_params),                                  \
        FUNCTION(GET_CTX_PARAMS, get_params),                                               \
        FUNCTION(GETTABLE_CTX_PARAMS, gettable),                                            \
        FUNCTION(SET_CTX_PARAMS, set_params),                                               \
        FUNCTION(SETTABLE_CTX_PARAMS, settable),                                            \
        {0, NULL},                                                                          \
    };

CIPHER(128)
CIPHER(192)
CIPHER(256)
