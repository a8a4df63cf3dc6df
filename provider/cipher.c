#include "cipher.h"

#include <openssl/evp.h>
#include <openssl/params.h>

const OSSL_PARAM *cipher_gettable_params(void *provider)
{
    static const OSSL_PARAM known[] = {
        OSSL_PARAM_uint(OSSL_CIPHER_PARAM_MODE, NULL),        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, NULL),
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_IVLEN, NULL),     OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_BLOCK_SIZE, NULL),
        OSSL_PARAM_int(OSSL_CIPHER_PARAM_AEAD, NULL),         OSSL_PARAM_int(OSSL_CIPHER_PARAM_CUSTOM_IV, NULL),
        OSSL_PARAM_int(OSSL_CIPHER_PARAM_CTS, NULL),          OSSL_PARAM_int(OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK, NULL),
        OSSL_PARAM_int(OSSL_CIPHER_PARAM_HAS_RAND_KEY, NULL), OSSL_PARAM_END,
    };
    (void)provider;
    return known;
}

int cipher_get_params(const cipher_shape *shape, OSSL_PARAM params[])
{
    const size_t values[PARAM_COUNT] = {
        [PARAM_MODE] = shape->mode,
        [PARAM_KEYLEN] = shape->key_bytes,
        [PARAM_IVLEN] = shape->iv_bytes,
        [PARAM_BLOCK_SIZE] = shape->mode == EVP_CIPH_CBC_MODE ? 16 : 1,
        [PARAM_AEAD] = (size_t)shape->aead,
        [PARAM_CUSTOM_IV] = shape->mode != EVP_CIPH_CTR_MODE && shape->mode != EVP_CIPH_CBC_MODE,
        [PARAM_CTS] = 0,
        [PARAM_TLS1_MULTIBLOCK] = 0,
        [PARAM_HAS_RAND_KEY] = 0,
    };
    static const param_name answered[] = {
        PARAM_MODE,         PARAM_AEAD,   PARAM_CUSTOM_IV,  PARAM_CTS,  PARAM_TLS1_MULTIBLOCK,
        PARAM_HAS_RAND_KEY, PARAM_KEYLEN, PARAM_BLOCK_SIZE, PARAM_IVLEN};
    found_params found;
    find_params(&found, params);
    for (size_t i = 0; i < sizeof answered / sizeof answered[0]; i++) {
        OSSL_PARAM *p = found_at(&found, answered[i]);
        if (p != NULL && !param_set_size(p, values[answered[i]]))
            return 0;
    }
    return 1;
}

int cipher_answer(const core *c, OSSL_PARAM *p, size_t value)
{
    if (p == NULL || param_set_size(p, value))
        return 1;
    RAISE(c, PROV_R_FAILED_TO_SET_PARAMETER);
    return 0;
}

int cipher_get_lengths(const core *c, const cipher_shape *shape, const found_params *found)
{
    return cipher_answer(c, found_at(found, PARAM_IVLEN), shape->iv_bytes) &&
           cipher_answer(c, found_at(found, PARAM_KEYLEN), shape->key_bytes);
}

static int only(const core *c, const OSSL_PARAM *p, size_t bytes, int reason)
{
    size_t value;
    if (p == NULL)
        return 1;
    if (!param_get_size(p, &value)) {
        RAISE(c, PROV_R_FAILED_TO_GET_PARAMETER);
        return 0;
    }
    if (value != bytes) {
        RAISE(c, reason);
        return 0;
    }
    return 1;
}

int cipher_set_lengths(const core *c, const cipher_shape *shape, const found_params *found)
{
    return only(c, found_at(found, PARAM_KEYLEN), shape->key_bytes, PROV_R_INVALID_KEY_LENGTH) &&
           only(c, found_at(found, PARAM_IVLEN), shape->iv_bytes, PROV_R_INVALID_IV_LENGTH);
}

int cipher_init_lengths(const core *c, const cipher_shape *shape, const void *key, size_t key_bytes, const void *iv,
                        size_t iv_bytes)
{
    if (iv != NULL && iv_bytes != shape->iv_bytes) {
        RAISE(c, PROV_R_INVALID_IV_LENGTH);
        return 0;
    }
    if (key != NULL && key_bytes != shape->key_bytes) {
        RAISE(c, PROV_R_INVALID_KEY_LENGTH);
        return 0;
    }
    return key == NULL || core_is_well(c);
}
