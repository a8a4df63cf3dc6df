/* Parameters: look-up by name, and conversion of numbers.
 *
 * OpenSSL passes an array of parameters for every tag and every TLS record. Each is examined once: its first letters
 * leave only one possible name. */
#ifndef SEALANE_PROVIDER_PARAMS_H
#define SEALANE_PROVIDER_PARAMS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <openssl/core.h>
#include <openssl/core_names.h>

/* From OpenSSL 3.2's headers. */
#ifndef OSSL_CIPHER_PARAM_SPEED
#define OSSL_CIPHER_PARAM_SPEED "speed"
#endif

typedef enum {
    PARAM_UNKNOWN,
    PARAM_KEYLEN,
    PARAM_IVLEN,
    PARAM_IV,
    PARAM_UPDATED_IV,
    PARAM_TAG,
    PARAM_TAGLEN,
    PARAM_TLS_AAD,
    PARAM_TLS_AAD_PAD,
    PARAM_TLS_IV_FIXED,
    PARAM_TLS_GET_IV_GEN,
    PARAM_TLS_SET_IV_INV,
    PARAM_MODE,
    PARAM_BLOCK_SIZE,
    PARAM_AEAD,
    PARAM_CUSTOM_IV,
    PARAM_CTS,
    PARAM_TLS1_MULTIBLOCK,
    PARAM_HAS_RAND_KEY,
    PARAM_PADDING,
    PARAM_NUM,
    PARAM_USE_BITS,
    PARAM_TLS_VERSION,
    PARAM_TLS_MAC,
    PARAM_TLS_MAC_SIZE,
    PARAM_SPEED,
    PARAM_COUNT
} param_name;

static inline param_name param_if(const char *key, const char *name, param_name is)
{
    return strcmp(key, name) == 0 ? is : PARAM_UNKNOWN;
}

static inline param_name param_tls(const char *key)
{
    if (strcmp(key, OSSL_CIPHER_PARAM_AEAD_TLS1_AAD) == 0)
        return PARAM_TLS_AAD;
    if (strcmp(key, OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD) == 0)
        return PARAM_TLS_AAD_PAD;
    if (strcmp(key, OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED) == 0)
        return PARAM_TLS_IV_FIXED;
    if (strcmp(key, OSSL_CIPHER_PARAM_AEAD_TLS1_GET_IV_GEN) == 0)
        return PARAM_TLS_GET_IV_GEN;
    if (strcmp(key, OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV) == 0)
        return PARAM_TLS_SET_IV_INV;
    if (strcmp(key, OSSL_CIPHER_PARAM_TLS_VERSION) == 0)
        return PARAM_TLS_VERSION;
    if (strcmp(key, OSSL_CIPHER_PARAM_TLS_MAC) == 0)
        return PARAM_TLS_MAC;
    if (strcmp(key, OSSL_CIPHER_PARAM_TLS_MAC_SIZE) == 0)
        return PARAM_TLS_MAC_SIZE;
    return param_if(key, OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK, PARAM_TLS1_MULTIBLOCK);
}

static inline param_name param_named(const char *key)
{
    switch (key[0]) {
    case 'a':
        return param_if(key, OSSL_CIPHER_PARAM_AEAD, PARAM_AEAD);
    case 'b':
        return param_if(key, OSSL_CIPHER_PARAM_BLOCK_SIZE, PARAM_BLOCK_SIZE);
    case 'c':
        return key[1] == 't' ? param_if(key, OSSL_CIPHER_PARAM_CTS, PARAM_CTS)
                             : param_if(key, OSSL_CIPHER_PARAM_CUSTOM_IV, PARAM_CUSTOM_IV);
    case 'h':
        return param_if(key, OSSL_CIPHER_PARAM_HAS_RAND_KEY, PARAM_HAS_RAND_KEY);
    case 'i':
        return strcmp(key, OSSL_CIPHER_PARAM_IVLEN) == 0 ? PARAM_IVLEN : param_if(key, OSSL_CIPHER_PARAM_IV, PARAM_IV);
    case 'k':
        return param_if(key, OSSL_CIPHER_PARAM_KEYLEN, PARAM_KEYLEN);
    case 'm':
        return param_if(key, OSSL_CIPHER_PARAM_MODE, PARAM_MODE);
    case 'n':
        return param_if(key, OSSL_CIPHER_PARAM_NUM, PARAM_NUM);
    case 'p':
        return param_if(key, OSSL_CIPHER_PARAM_PADDING, PARAM_PADDING);
    case 's':
        return param_if(key, OSSL_CIPHER_PARAM_SPEED, PARAM_SPEED);
    case 't':
        if (key[1] == 'l')
            return param_tls(key);
        return strcmp(key, OSSL_CIPHER_PARAM_AEAD_TAG) == 0
                   ? PARAM_TAG
                   : param_if(key, OSSL_CIPHER_PARAM_AEAD_TAGLEN, PARAM_TAGLEN);
    case 'u':
        return key[1] == 's' ? param_if(key, OSSL_CIPHER_PARAM_USE_BITS, PARAM_USE_BITS)
                             : param_if(key, OSSL_CIPHER_PARAM_UPDATED_IV, PARAM_UPDATED_IV);
    default:
        return PARAM_UNKNOWN;
    }
}

/* Whether the tag is the only parameter. For nearly every packet, it is the only one requested. */
static inline int is_tag_alone(const OSSL_PARAM params[])
{
    const char *key = params[0].key;
    _Static_assert(sizeof OSSL_CIPHER_PARAM_AEAD_TAG == 4, "\"tag\"");
    return key != NULL && key[0] == 't' && key[1] == 'a' && key[2] == 'g' && key[3] == 0 && params[1].key == NULL;
}

/* The first parameter of each name. `has` shows which are present; zeroing the others would cost more than checking
 * it. */
typedef struct {
    uint32_t has;
    OSSL_PARAM *at[PARAM_COUNT];
} found_params;
_Static_assert(PARAM_COUNT <= 32, "bits");

static inline void find_params(found_params *found, const OSSL_PARAM params[])
{
    found->has = 0;
    for (; params != NULL && params->key != NULL; params++) {
        const param_name name = param_named(params->key);
        if (!(found->has >> name & 1))
            found->at[name] = (OSSL_PARAM *)params; /* read-only parameters are never written through it */
        found->has |= (uint32_t)1 << name;
    }
}

/* NULL if it is missing. */
static inline OSSL_PARAM *found_at(const found_params *found, param_name name)
{
    return found->has >> name & 1 ? found->at[name] : NULL;
}

/* Reads a number of any size that OpenSSL supports; 0 if it does not fit or is not a number. */
int param_get_size(const OSSL_PARAM *p, size_t *value);
int param_set_size(OSSL_PARAM *p, size_t value);

#endif
