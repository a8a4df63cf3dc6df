/* ChaCha20-Poly1305 (RFC 8439; in TLS, RFC 7905) like OpenSSL's default provider. Results, return values and errors
 * are the same for any order of calls, with differences on the safe side. Opening without a tag is an error; the
 * default provider of 3.0 accepts it. Text over RFC 8439's limit is refused; there it wraps into the nonce.
 * Associated data after text is refused, as since OpenSSL 3.6. A finished packet takes nothing more until a new IV is
 * set; the default provider continues with the same key stream or Poly1305 key. */
#include "cipher.h"
#include "packet.h"
#include "skey.h"

#include <openssl/params.h>

enum { TAG_BYTES = 16, TLS_AAD_BYTES = 13 };

#define NO_RECORD ((size_t)-1)

static const cipher_shape shape = {.key_bytes = 32, .iv_bytes = 12, .mode = 0, .aead = 1};

typedef struct {
    const core *core;
    int enc;
    int ended;           /* a tag or a failure has occurred with this nonce */
    size_t record_bytes; /* text size of the TLS record whose header was set, or NO_RECORD */
    size_t tag_bytes;    /* significant bytes of the tag; 0 until a tag is set */
    size_t tls_pad;
    uint8_t tag[TAG_BYTES]; /* computed, or to compare with */
    uint8_t iv[12];         /* the nonce, or with TLS 1.2 XORed with the record number to get it */
    uint8_t tls_aad[TLS_AAD_BYTES];
    packet packet;
} context;

/* ---- Life ---- */

static void *new_context(void *provider)
{
    const core *from = provider;
    context *c = core_is_well(from) ? core_allocate(from, sizeof *c) : NULL;
    if (c != NULL) {
        c->core = from;
        c->record_bytes = NO_RECORD;
        c->packet.level = chacha20_level();
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

/* ---- Parameters ---- */

/* RFC 7905, section 2: the record number is XORed into the last 8 bytes of the IV. Returns the overhead of a record. */
static size_t begin_record(context *c, const uint8_t *aad, size_t aad_bytes)
{
    if (aad_bytes != TLS_AAD_BYTES)
        return 0;
    memcpy(c->tls_aad, aad, TLS_AAD_BYTES);
    size_t bytes = (size_t)aad[TLS_AAD_BYTES - 2] << 8 | aad[TLS_AAD_BYTES - 1];
    if (!c->enc) {
        if (bytes < TAG_BYTES)
            return 0;
        bytes -= TAG_BYTES;
        c->tls_aad[TLS_AAD_BYTES - 2] = (uint8_t)(bytes >> 8);
        c->tls_aad[TLS_AAD_BYTES - 1] = (uint8_t)bytes;
    }
    c->record_bytes = bytes;
    c->ended = 0;
    packet_reset(&c->packet);
    memcpy(c->packet.nonce, c->iv, 4);
    for (int i = 4; i < 12; i++)
        c->packet.nonce[i] = c->iv[i] ^ c->tls_aad[i - 4];
    return TAG_BYTES;
}

static int set_tag(context *c, const OSSL_PARAM *p)
{
    if (p->data_size == 0 || p->data_size > TAG_BYTES) {
        RAISE(c->core, PROV_R_INVALID_TAG_LENGTH);
        return 0;
    }
    if (p->data != NULL) {
        if (c->enc) {
            RAISE(c->core, PROV_R_TAG_NOT_NEEDED);
            return 0;
        }
        memcpy(c->tag, p->data, p->data_size);
    }
    c->tag_bytes = p->data_size;
    return 1;
}

static int set_record(context *c, const OSSL_PARAM *p)
{
    const size_t pad = begin_record(c, p->data, p->data_size);
    if (pad == 0) {
        RAISE(c->core, PROV_R_INVALID_DATA);
        return 0;
    }
    c->tls_pad = pad;
    return 1;
}

static int set_fixed_iv(context *c, const OSSL_PARAM *p)
{
    if (p->data_size != sizeof c->iv) {
        RAISE(c->core, PROV_R_INVALID_IV_LENGTH);
        return 0;
    }
    memcpy(c->iv, p->data, sizeof c->iv);
    packet_set_nonce(&c->packet, c->iv);
    return 1;
}

static int set_bytes(context *c, const OSSL_PARAM *p, int (*set)(context *, const OSSL_PARAM *))
{
    if (p == NULL)
        return 1;
    if (p->data_type != OSSL_PARAM_OCTET_STRING) {
        RAISE(c->core, PROV_R_FAILED_TO_GET_PARAMETER);
        return 0;
    }
    return set(c, p);
}

static int set_params(void *v, const OSSL_PARAM params[])
{
    context *c = v;
    found_params found;
    if (params == NULL)
        return 1;
    if (is_tag_alone(params))
        return set_bytes(c, params, set_tag);
    find_params(&found, params);
    return cipher_set_lengths(c->core, &shape, &found) && set_bytes(c, found_at(&found, PARAM_TAG), set_tag) &&
           set_bytes(c, found_at(&found, PARAM_TLS_AAD), set_record) &&
           set_bytes(c, found_at(&found, PARAM_TLS_IV_FIXED), set_fixed_iv);
}

static int get_tag(const context *c, OSSL_PARAM *p)
{
    int reason = 0;
    if (p == NULL)
        return 1;
    if (p->data_type != OSSL_PARAM_OCTET_STRING)
        reason = PROV_R_FAILED_TO_SET_PARAMETER;
    else if (!c->enc)
        reason = PROV_R_TAG_NOT_SET;
    else if (p->data_size == 0 || p->data_size > TAG_BYTES)
        reason = PROV_R_INVALID_TAG_LENGTH;
    if (reason != 0) {
        RAISE(c->core, reason);
        return 0;
    }
    if (p->data != NULL)
        memcpy(p->data, c->tag, p->data_size);
    return 1;
}

static int get_params(void *v, OSSL_PARAM params[])
{
    const context *c = v;
    found_params found;
    if (is_tag_alone(params))
        return get_tag(c, params);
    find_params(&found, params);
    return cipher_get_lengths(c->core, &shape, &found) &&
           cipher_answer(c->core, found_at(&found, PARAM_TAGLEN), c->tag_bytes) &&
           cipher_answer(c->core, found_at(&found, PARAM_TLS_AAD_PAD), c->tls_pad) &&
           get_tag(c, found_at(&found, PARAM_TAG));
}

static const OSSL_PARAM *gettable(void *v, void *provider)
{
    static const OSSL_PARAM known[] = {
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, NULL),
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_IVLEN, NULL),
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_AEAD_TAGLEN, NULL),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, NULL, 0),
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD, NULL),
        OSSL_PARAM_END,
    };
    (void)v, (void)provider;
    return known;
}

static const OSSL_PARAM *settable(void *v, void *provider)
{
    static const OSSL_PARAM known[] = {
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, NULL),
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_IVLEN, NULL),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, NULL, 0),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TLS1_AAD, NULL, 0),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED, NULL, 0),
        OSSL_PARAM_END,
    };
    (void)v, (void)provider;
    return known;
}

static int shape_params(OSSL_PARAM params[])
{
    return cipher_get_params(&shape, params);
}

/* ---- Packets ---- */

/* A new IV starts a packet, and so does a new key with an IV that has not ended a packet. Otherwise the current packet
 * continues. */
static int init(context *c, const unsigned char *key, size_t key_bytes, const unsigned char *iv, size_t iv_bytes,
                const OSSL_PARAM params[], int enc)
{
    c->enc = enc;
    if (!cipher_init_lengths(c->core, &shape, key, key_bytes, iv, iv_bytes))
        return 0;
    if (key != NULL || iv != NULL) {
        packet_reset(&c->packet);
        c->record_bytes = NO_RECORD;
    }
    if (key != NULL)
        memcpy(c->packet.key, key, sizeof c->packet.key);
    if (iv != NULL) {
        memcpy(c->iv, iv, sizeof c->iv);
        memcpy(c->packet.nonce, iv, sizeof c->iv);
        c->ended = 0;
    }
    return set_params(c, params);
}

INITS_BY(init)

/* The end of a record: writes the tag after the text, or compares it with the bytes there. */
static int end_record(context *c, uint8_t *out, size_t *out_bytes, const uint8_t *in_tag, size_t bytes,
                      const uint8_t tag[TAG_BYTES])
{
    c->ended = 1;
    if (c->enc) {
        memcpy(c->tag, tag, TAG_BYTES);
        memcpy(out + bytes, tag, TAG_BYTES);
        *out_bytes = bytes + TAG_BYTES;
        return 1;
    }
    if (!equal16(tag, in_tag)) {
        memset(out, 0, bytes);
        *out_bytes = 0;
        return 0;
    }
    *out_bytes = bytes;
    return 1;
}

/* A whole TLS 1.2 record. */
static int record(context *c, uint8_t *out, size_t *out_bytes, const uint8_t *in)
{
    const size_t bytes = c->record_bytes;
    uint8_t tag[TAG_BYTES], in_tag[TAG_BYTES] = {0};
    if (!c->enc)
        memcpy(in_tag, in + bytes, TAG_BYTES);
    if (in != out && overlap(out, bytes, in, bytes)) {
        memmove(out, in, bytes);
        in = out;
    }
    packet_whole(&c->packet, out, tag, c->tls_aad, TLS_AAD_BYTES, in, bytes, !c->enc);
    c->record_bytes = NO_RECORD;
    return end_record(c, out, out_bytes, in_tag, bytes, tag);
}

static int text(context *c, uint8_t *out, size_t *out_bytes, const uint8_t *in, size_t bytes)
{
    const int is_record = c->record_bytes != NO_RECORD;
    const size_t text_bytes = is_record ? c->record_bytes : bytes;
    uint8_t tag[TAG_BYTES], in_tag[TAG_BYTES] = {0};
    *out_bytes = 0;
    c->record_bytes = NO_RECORD;
    if (is_record && bytes != text_bytes + TAG_BYTES) {
        (void)packet_text(&c->packet, out, in, 0, !c->enc); /* ends the associated data, as in the default provider */
        return 0;
    }
    if (is_record)
        memcpy(in_tag, in + text_bytes, TAG_BYTES);
    if (in != out && overlap(out, text_bytes, in, text_bytes)) {
        memmove(out, in, text_bytes);
        in = out;
    }
    if (!packet_text(&c->packet, out, in, text_bytes, !c->enc)) {
        RAISE(c->core, PROV_R_CIPHER_OPERATION_FAILED);
        return 0;
    }
    *out_bytes = bytes;
    if (!is_record)
        return 1;
    packet_tag(&c->packet, tag);
    return end_record(c, out, out_bytes, in_tag, text_bytes, tag);
}

static int end_packet(context *c)
{
    uint8_t tag[TAG_BYTES];
    packet_tag(&c->packet, tag);
    c->ended = 1;
    if (c->enc) {
        memcpy(c->tag, tag, TAG_BYTES);
        return 1;
    }
    if (c->tag_bytes == 0) {
        RAISE(c->core, PROV_R_TAG_NOT_SET);
        return 0;
    }
    return cipher_equal(tag, c->tag, c->tag_bytes);
}

/* All functions except init call this. out is NULL for associated data; in is NULL for the end of the packet. */
static int cipher(void *v, unsigned char *out, size_t *out_bytes, size_t out_size, const unsigned char *in,
                  size_t bytes)
{
    context *c = v;
    if (out_size < bytes) {
        RAISE(c->core, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
        return 0;
    }
    if (c->ended) {
        RAISE(c->core, PROV_R_CIPHER_OPERATION_FAILED);
        return 0;
    }
    if (c->record_bytes != NO_RECORD && !packet_begun(&c->packet)) {
        if (out != NULL && (in == NULL || bytes != c->record_bytes + TAG_BYTES))
            return 0;
        if (out != NULL)
            return record(c, out, out_bytes, in);
        (void)packet_ad(&c->packet, c->tls_aad, TLS_AAD_BYTES);
    }
    if (in != NULL && out != NULL)
        return text(c, out, out_bytes, in, bytes);
    const int ok = in == NULL ? end_packet(c) : packet_ad(&c->packet, in, bytes);
    if (!ok && in != NULL)
        RAISE(c->core, PROV_R_INVALID_AAD);
    *out_bytes = ok ? bytes : 0;
    return ok;
}

static int update(void *v, unsigned char *out, size_t *out_bytes, size_t out_size, const unsigned char *in,
                  size_t bytes)
{
    if (bytes == 0) {
        *out_bytes = 0;
        return 1;
    }
    return cipher(v, out, out_bytes, out_size, in, bytes);
}

static int final(void *v, unsigned char *out, size_t *out_bytes, size_t out_size)
{
    (void)out_size;
    return cipher(v, out, out_bytes, 0, NULL, 0);
}

const OSSL_DISPATCH chacha20_poly1305_functions[] = {
    FUNCTION(NEWCTX, new_context),
    FUNCTION(FREECTX, free_context),
    FUNCTION(DUPCTX, duplicate),
    FUNCTION(ENCRYPT_INIT, encrypt_init),
    FUNCTION(DECRYPT_INIT, decrypt_init),
    FUNCTION(ENCRYPT_SKEY_INIT, encrypt_skey_init),
    FUNCTION(DECRYPT_SKEY_INIT, decrypt_skey_init),
    FUNCTION(UPDATE, update),
    FUNCTION(FINAL, final),
    FUNCTION(CIPHER, cipher),
    FUNCTION(GET_PARAMS, shape_params),
    FUNCTION(GETTABLE_PARAMS, cipher_gettable_params),
    FUNCTION(GET_CTX_PARAMS, get_params),
    FUNCTION(GETTABLE_CTX_PARAMS, gettable),
    FUNCTION(SET_CTX_PARAMS, set_params),
    FUNCTION(SETTABLE_CTX_PARAMS, settable),
    {0, NULL},
};
